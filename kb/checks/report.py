"""Show findings: to a person, to a program, to a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb.checks.findings import Finding
from kb.i18n import msg
from kb.text.segment import one_line

_SEVERITY = {"error": msg("error"), "warning": msg("warning")}


def format_text(findings: Iterable[Finding], language: str = "en") -> str:
    """Return two lines for each finding: the place, which a terminal can open, with what is wrong; the next step."""
    rows = []
    for f in findings:
        severity = _SEVERITY[f.severity].translate(language)
        rows.append(
            f"{one_line(f.path)}:{f.line}: {severity}: {one_line(f.message.translate(language))} [{f.rule}]\n"
            f"    → {one_line(f.fix.translate(language))}\n"
        )
    return "".join(rows)


def format_json(findings: Iterable[Finding], language: str = "en") -> list[dict[str, object]]:
    """Return the findings as values for JSON."""
    return [
        {
            "rule": f.rule,
            "severity": f.severity,
            "path": f.path,
            "line": f.line,
            "message": f.message.translate(language),
            "fix": f.fix.translate(language),
            "fixable": f.is_fixable,
        }
        for f in findings
    ]


def format_github(findings: Iterable[Finding], language: str = "en", prefix: str = "") -> str:
    """Return the workflow commands that put each finding beside its line in a pull request.

    *prefix* is the folder of the knowledge base within its repository. GitHub shows ten errors and ten warnings of a
    step, so the errors come first.
    """
    folder = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    rows = []
    for f in sorted(findings, key=lambda f: f.severity != "error"):
        message = f"{one_line(f.message.translate(language))}\n→ {one_line(f.fix.translate(language))}"
        place = f"file={_escape_property(folder + f.path)},line={f.line},title={_escape_property(f'kb: {f.rule}')}"
        rows.append(f"::{f.severity} {place}::{_escape_value(message)}\n")
    return "".join(rows)


def _escape_value(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_value(text).replace(":", "%3A").replace(",", "%2C")


def summarise_findings(findings: Sequence[Finding], language: str = "en", records: int = 0) -> str:
    """Return one line that counts what was found in how many files; *records*: how many were checked."""
    if not findings:
        return msg("records: {records}; nothing to complain of", records=records).translate(language)
    errors = sum(f.severity == "error" for f in findings)
    counts = msg(
        "records: {records}; errors: {errors}, warnings: {warnings}, in files: {files}",
        records=records,
        errors=errors,
        warnings=len(findings) - errors,
        files=len({f.path for f in findings}),
    ).translate(language)
    fixable = sum(f.is_fixable for f in findings)
    offer = msg("settled by kb check --fix: {count}", count=fixable).translate(language)
    return f"{counts}; {offer}" if fixable else counts
