"""Finding: one problem that a check reports; safe fixes, and output for a person, a program, a pull request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, parse_front_matter
from kb.records.model import Record
from kb.records.record_file import read
from kb.text.segment import one_line

Severity = Literal["error", "warning"]
FRESH_UID = ""
"""The change of a finding whose new value only the world outside can give."""
_SEVERITIES = {"error": msg("error"), "warning": msg("warning")}


class RecordSource(NamedTuple):
    """One record file of the checkout."""

    path: str
    """Relative to the knowledge base, with forward slashes."""
    data: bytes
    record: Record | None = None
    """What the file says, where that is known without reading it."""


class Finding(NamedTuple):
    """One thing that is wrong, where, and the one next step."""

    rule: str
    severity: Severity
    path: str
    line: int
    """1-based."""
    message: Message
    fix: Message
    change: Mapping[str, Any] = {}
    """The front matter keys whose new values settle it safely; empty where only a person can."""

    @property
    def is_fixable(self) -> bool:
        """Whether `build_fixes` settles it."""
        return bool(self.change)


# -- fixing ---------------------------------------------------------------------------------------


def build_fixes(
    findings: Iterable[Finding], sources: Iterable[RecordSource], new_uid: Callable[[], str]
) -> dict[str, bytes]:
    """Return the new bytes of every file that can be settled: a changed value in the front matter, and no other byte.

    A result that does not read back as meant is left out.
    """
    wanted: dict[str, dict[str, Any]] = defaultdict(dict)
    for finding in findings:
        wanted[finding.path].update(finding.change)
    fixed: dict[str, bytes] = {}
    for path, data, _ in sources:
        changes = wanted.get(path)
        if not changes:
            continue
        if changes.get("uid") == FRESH_UID:
            changes["uid"] = new_uid()
        try:
            old = decode_record(data, path)
            new = edit_front_matter(old, changes, path)
            read(new.encode(), path)
            is_same_body = new[find_body_start(new) :] == old[find_body_start(old) :]
            is_as_meant = parse_front_matter(new, path) == {**parse_front_matter(old, path), **changes}
        except BadRecord:
            continue
        if is_same_body and is_as_meant:  # else a person has to look at it
            fixed[path] = new.encode()
    return fixed


# -- showing --------------------------------------------------------------------------------------


def format_text(findings: Iterable[Finding], language: str = "en") -> str:
    """Return two lines for each finding: where, which a terminal can open, with what is wrong; the next step."""
    rows = []
    for f in findings:
        severity, message, fix = (said.translate(language) for said in (_SEVERITIES[f.severity], f.message, f.fix))
        rows.append(f"{one_line(f.path)}:{f.line}: {severity}: {one_line(message)} [{f.rule}]\n    → {one_line(fix)}\n")
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
        file, title = _escape_property(folder + f.path), _escape_property(f"kb: {f.rule}")
        rows.append(f"::{f.severity} file={file},line={f.line},title={title}::{_escape_value(message)}\n")
    return "".join(rows)


def _escape_value(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    # in a property "::error file=a%2Cb.md,line=1" a comma or colon would end the value
    return _escape_value(text).replace(":", "%3A").replace(",", "%2C")


def summarise_findings(findings: Sequence[Finding], language: str = "en", records: int = 0) -> str:
    """Return one line that counts what was found in how many files; *records*: how many were checked."""
    if not findings:
        return msg("records: {records}; no problems found", records=records).translate(language)
    errors = sum(f.severity == "error" for f in findings)
    counts = msg(
        "records: {records}; errors: {errors}, warnings: {warnings}, in files: {files}",
        records=records,
        errors=errors,
        warnings=len(findings) - errors,
        files=len({f.path for f in findings}),
    ).translate(language)
    fixable = sum(f.is_fixable for f in findings)
    offer = msg("fixable by kb check --fix: {count}", count=fixable).translate(language)
    return f"{counts}; {offer}" if fixable else counts
