"""What `kb check` looks at and what it finds: values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, parse_front_matter
from kb.records.model import Record
from kb.records.record_file import read
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any


Severity = Literal["error", "warning"]
Key = tuple[str, str]
"""A scope and an id: what names a record within one knowledge base."""


Secrets = Callable[[str], Iterable[tuple[int, str]]]
"""Finds secrets in a text: the 1-based line and the name of the rule, for each."""

Vague = Callable[[str], bool]
"""Tells whether a title could stand over any record."""


FRESH_UID = ""
"""The change of a finding whose new value only the world outside can give."""


class RecordSource(NamedTuple):
    """One record file as it stands in the checkout."""

    path: str
    """Relative to the knowledge base, with forward slashes."""
    data: bytes
    record: Record | None = None
    """What the file says, where that is known without reading it."""


class CheckedText(NamedTuple):
    """A text that may cite records, seen from a scope: a record, an archived session, a page."""

    path: str
    text: str
    scope: str
    is_record: bool = False


class MergeVersions(NamedTuple):
    """What a merge has put together: one file as it was on both sides and where they parted."""

    base: Record | None
    ours: Record
    theirs: Record


class CheckSurroundings(NamedTuple):
    """What is known of the world around the records; what is left out is not checked."""

    today: str = ""
    """The day of the check, YYYY-MM-DD."""
    files: frozenset[str] | None = None
    """Every file of the knowledge base, relative to it; None: not known."""
    trees: Mapping[str, frozenset[str]] = {}
    """Project name → the files of its tree, relative to its root; a project that is not known here is left out."""
    changes: Mapping[str, Mapping[str, float | None]] = {}
    """Path of a record → its impact paths, as it writes them → share of lines changed since it was confirmed.

    1.0: as many as the file has; None: the path has vanished since."""
    fixes: Mapping[str, bool] = {}
    """Path of a record that names the commit which fixed it → whether the project's repository has that commit."""
    branches: Mapping[str, Mapping[Key, str]] = {}
    """Other branch → the records on it with their uids."""
    trunk: str = ""
    """Which of *branches* the others are merged into; what stands there keeps its id."""
    was: Mapping[str, str] = {}
    """Uid → status before the change that is checked (on the trunk)."""
    texts: tuple[CheckedText, ...] = ()
    """Further texts whose citations, links and secrets are looked at."""
    merges: Mapping[str, MergeVersions] = {}
    """Path of a record that both sides of the last merge have changed → what they made of it."""
    clean: frozenset[str] = frozenset()
    """`digest_of` texts in which the rules that look at one text alone have found nothing before."""
    clashes: Mapping[tuple[str, str], Message] = {}
    """Paths of two records, of which the first has just changed → why, by their words, they cannot both hold."""


class Finding(NamedTuple):
    """One thing that is wrong, where it stands, and the one next step."""

    rule: str
    severity: Severity
    path: str
    line: int
    """1-based."""
    message: Message
    fix: Message
    change: Mapping[str, Any] = {}
    """The frontmatter keys whose new values settle it safely; empty where only a person can."""

    @property
    def is_fixable(self) -> bool:
        """Whether `fixes` settles it."""
        return bool(self.change)


def build_fixes(
    findings: Iterable[Finding], sources: Iterable[RecordSource], new_uid: Callable[[], str]
) -> dict[str, bytes]:
    """Return the new bytes of every file that can be settled; a result that does not read back as meant is left out."""
    wanted: dict[str, dict[str, Any]] = defaultdict(dict)
    for finding in findings:
        wanted[finding.path].update(finding.change)
    fixed: dict[str, bytes] = {}
    for source in sources:
        changes = dict(wanted.get(source.path, {}))
        if changes.get("uid") == FRESH_UID:
            changes["uid"] = new_uid()
        new = _fix_source(source, changes) if changes else None
        if new is not None:
            fixed[source.path] = new
    return fixed


def _fix_source(source: RecordSource, changes: Mapping[str, Any]) -> bytes | None:
    try:
        old = decode_record(source.data, source.path)
        new = edit_front_matter(old, changes, source.path)
        read(new.encode(), source.path)
        same_body = new[find_body_start(new) :] == old[find_body_start(old) :]
        as_meant = parse_front_matter(new, source.path) == {**parse_front_matter(old, source.path), **changes}
    except BadRecord:
        return None
    return new.encode() if same_body and as_meant else None


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
