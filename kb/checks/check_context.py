"""Findings of a check and their output as text and JSON; CheckContext: all records of a check, parsed once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kb.adr.adopted import list_record_files
from kb.config import Config
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.blocks import add_markers
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, find_key_line, parse_front_matter
from kb.records.model import GLOBAL, Record, list_aliases, parse_scope_name
from kb.records.record_file import read
from kb.text.segment import one_line, split_lines

if TYPE_CHECKING:
    from typing import Any

Severity = Literal["error", "warning"]
FRESH_UID = ""
"""Value of `Finding.change["uid"]` that asks `build_fixes` for a new uid."""
ADD_MARKERS = ""
"""Key of `Finding.change` that asks for block markers around a handwritten text; no front matter key is empty."""
_SEVERITIES = {"error": msg("error"), "warning": msg("warning")}


class RecordSource(NamedTuple):
    """One record file of the checkout."""

    path: str
    """Relative to the knowledge base, with forward slashes."""
    data: bytes
    record: Record | None = None
    """The record, if it is already known and need not be parsed."""


class Finding(NamedTuple):
    """One problem: where it is, and the one next step."""

    rule: str
    severity: Severity
    path: str
    line: int
    """1-based."""
    message: Message
    fix: Message
    change: Mapping[str, Any] = {}
    """Front matter keys and the values that fix the problem safely; empty if a person has to decide."""

    @property
    def is_fixable(self) -> bool:
        """Whether `build_fixes` can fix it."""
        return bool(self.change)


# -- fixing ---------------------------------------------------------------------------------------


def build_fixes(
    findings: Iterable[Finding], sources: Iterable[RecordSource], new_uid: Callable[[], str]
) -> dict[str, bytes]:
    """Return the new bytes of every file that can be fixed; only front matter and markers change.

    Leave out a file if the result does not parse back as intended.
    """
    wanted: dict[str, dict[str, Any]] = defaultdict(dict)
    for finding in findings:
        wanted[finding.path].update(finding.change)
    fixed: dict[str, bytes] = {}
    for path, data, _ in sources:
        changes = wanted.get(path)
        if not changes:
            continue
        needs_markers = changes.pop(ADD_MARKERS, False)
        if changes.get("uid") == FRESH_UID:
            changes["uid"] = new_uid()
        try:
            old = decode_record(data, path)
            new = edit_front_matter(old, changes, path) if changes else old
            read(new.encode(), path)
            is_same_body = new[find_body_start(new) :] == old[find_body_start(old) :]
            is_as_meant = parse_front_matter(new, path) == {**parse_front_matter(old, path), **changes}
        except BadRecord:
            continue
        if is_same_body and is_as_meant:  # otherwise leave it to a person
            fixed[path] = (add_markers(new) if needs_markers else new).encode()
    return fixed


# -- showing --------------------------------------------------------------------------------------


def format_text(findings: Iterable[Finding], language: str = "en") -> str:
    """Return two lines per finding: the location, which terminals can open, with the problem; then the next step."""
    rows = []
    for f in findings:
        severity, message, fix = (texts.translate(language) for texts in (_SEVERITIES[f.severity], f.message, f.fix))
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
    """Return one line that counts problems and affected files; *records* is the number of records checked."""
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


Key = tuple[str, str]
"""A scope and an id, which identify a record within one knowledge base."""

_SCOPE_FOLDER = re.compile(r"content/[^/]+/(?:(global)|(projects|groups|agents)/([^/]+))/(?:([A-Z]{1,2}\d{3,})[-.])?")
_TOP_LEVEL = re.compile(r"[^\s#-]|---|\.\.\.")
_ID_PARTS = re.compile(r"([A-Z]{1,2})(\d{3,})")


class CheckedText(NamedTuple):
    """A text that may cite records, with the scope in which its citations are resolved: a record, session or page."""

    path: str
    text: str
    scope: str
    is_record: bool = False


class MergeVersions(NamedTuple):
    """The three versions of a merged file: both sides and their common ancestor."""

    base: Record | None
    ours: Record
    theirs: Record


class CheckSurroundings(NamedTuple):
    """What a check knows beyond the records; rules skip what is not given."""

    today: str = ""
    """The day of the check, YYYY-MM-DD."""
    files: frozenset[str] | None = None
    """Every file of the knowledge base, relative to it, or None if not known."""
    trees: Mapping[str, frozenset[str]] = {}
    """Project name → the files of its tree, relative to its root; only projects whose tree is known."""
    changes: Mapping[str, Mapping[str, float | None]] = {}
    """Record path → impact paths as written → share of lines changed since the record was confirmed.

    1.0 means as many changed lines as the file has; None means that the path has vanished since."""
    foreign: Mapping[str, frozenset[str]] = {}
    """Path of an imported record → those of its impact paths that the project's tree never had."""
    adopted: Mapping[str, str] = {}
    """Path of an undecided or unconfirmed record in an adopted folder → the day on which that was adopted."""
    fixes: Mapping[str, bool] = {}
    """Path of a record that names the commit of its fix → whether the project's repository has that commit."""
    branches: Mapping[str, Mapping[Key, str]] = {}
    """Other branch → its records with their uids."""
    trunk: str = ""
    """The one of *branches* that the others are merged into; its records keep their ids."""
    was: Mapping[str, str] = {}
    """Uid → status before the change that is checked (on the trunk)."""
    texts: tuple[CheckedText, ...] = ()
    """Further texts to check for citations, links and secrets."""
    merges: Mapping[str, MergeVersions] = {}
    """Path of a record that both sides of the last merge changed → its versions."""
    clean: frozenset[str] = frozenset()
    """Digests of texts in which the rules that read one text alone found nothing before."""
    contradictions: Mapping[tuple[str, str], Message] = {}
    """Paths of a recently changed record and another one → why their words contradict each other."""


class LoadedRecord(NamedTuple):
    """A parsed record with the text of its file."""

    record: Record
    text: str

    @property
    def age_key(self) -> tuple[str, str, str]:
        """The sort key that puts the older of two records first."""
        return self.record.date or "9999", self.record.uid, self.record.path

    def report(
        self,
        rule: str,
        key: str,
        message: Message,
        fix: Message,
        *,
        severity: Severity = "error",
        item: str = "",
        change: Mapping[str, Any] = {},
    ) -> Finding:
        """Return a finding at the front matter *key*; for a key with several values, on the line of *item*."""
        line = find_key_line(self.text, key)
        if item and line > 1:
            for number, row in enumerate(split_lines(self.text)[line - 1 :], line):
                if number > line and _TOP_LEVEL.match(row):
                    break
                if item in row:
                    line = number
                    break
        return Finding(rule, severity, self.record.path, line, message, fix, change)


class UnreadableFile(NamedTuple):
    """A file that is not a valid record, with the error."""

    source: RecordSource
    error: BadRecord


class CheckContext(NamedTuple):
    """The input of the rules."""

    records: tuple[LoadedRecord, ...]
    broken: tuple[UnreadableFile, ...]
    texts: tuple[CheckedText, ...]
    """The texts of the records, and the further texts of the surroundings."""
    by_key: Mapping[Key, tuple[LoadedRecord, ...]]
    known: frozenset[Key]
    """Every key in use, including those of unreadable files (taken from the file names)."""
    former: Mapping[Key, Key]
    """Key of a record before it was renumbered → its key now."""
    successors: Mapping[Key, tuple[LoadedRecord, ...]]
    """Record → the records that supersede it as a whole in its scope."""
    surroundings: CheckSurroundings
    config: Config

    def is_clean(self, text: str) -> bool:
        """Return whether *text* was checked before and had no findings."""
        return bool(self.surroundings.clean) and digest_text(text) in self.surroundings.clean

    def resolve_reference(self, scope: str, reference: str) -> Key | None:
        """Return the key that *reference* ("D001", "shop:D001") has in *scope* or globally, or None."""
        return _resolve_key(self.known, self.former, scope, reference)

    def resolve_all(self, scope: str, references: Iterable[str]) -> set[Key]:
        """Return the keys to which *references* resolve in *scope*."""
        return {key for reference in references if (key := self.resolve_reference(scope, reference))}

    def iter_free_ids(self, scope: str, prefix: str) -> Iterator[str]:
        """Yield free ids with *prefix* in *scope*, above every number in use here or on another branch."""
        taken = [key for keys in (self.known, *self.surroundings.branches.values()) for key in keys]
        parts = [_ID_PARTS.fullmatch(id) for owner, id in taken if owner == scope]
        number = max((int(m[2]) for m in parts if m and m[1] == prefix), default=0)
        while True:
            number += 1
            yield f"{prefix}{number:03}"


def load_check_context(
    sources: Iterable[RecordSource], surroundings: CheckSurroundings, config: Config
) -> CheckContext:
    """Read every source once and return the input of the rules."""
    records: list[LoadedRecord] = []
    broken: list[UnreadableFile] = []
    files = list_record_files(config)
    for source in sources:
        try:
            text = decode_record(source.data, source.path)
            records.append(LoadedRecord(source.record or files.parse(text, source.path), text))
        except BadRecord as error:
            broken.append(UnreadableFile(source, error))
    return build_check_context(tuple(records), tuple(broken), surroundings, config)


def build_check_context(
    records: tuple[LoadedRecord, ...],
    broken: tuple[UnreadableFile, ...],
    surroundings: CheckSurroundings,
    config: Config,
) -> CheckContext:
    """Build the input of the rules from parsed records and unreadable files."""
    by_key: dict[Key, tuple[LoadedRecord, ...]] = {}
    for one in sorted(records, key=lambda one: one.age_key):
        by_key[one.record.key] = (*by_key.get(one.record.key, ()), one)
    # an unreadable file keeps its id: D007-x.md is D007, whatever is wrong inside
    known = frozenset([*by_key, *(key for b in broken if all(key := parse_folder_key(b.source.path)))])
    former = {(one.record.scope, alias): one.record.key for one in records for alias in list_aliases(one.record.extra)}
    successors: dict[Key, tuple[LoadedRecord, ...]] = {}
    for one in records:
        for reference in one.record.supersedes:
            old = _resolve_key(known, former, one.record.scope, reference)
            # a record of the project shop that supersedes a global one replaces it in shop only
            if old and one.record.scope in (old[0], GLOBAL):
                successors[old] = (*successors.get(old, ()), one)
    texts = (*(CheckedText(one.record.path, one.text, one.record.scope, True) for one in records), *surroundings.texts)
    return CheckContext(records, broken, texts, by_key, known, former, successors, surroundings, config)


def _resolve_key(known: frozenset[Key], former: Mapping[Key, Key], scope: str, reference: str) -> Key | None:
    """Return the key of *known* to which *reference* resolves in *scope*, or that of a renumbered record, or None."""
    # "D004" in shop is shop's D004, else the global one; "global:D004" and "shop:D004" name their scope
    project, _, id = reference.rpartition(":")
    named = (parse_scope_name(project), id)
    keys = [named] if project else [(scope, id), (GLOBAL, id)]
    return next((key for key in keys if key in known), None) or next((former[k] for k in keys if k in former), None)


def digest_text(text: str) -> str:
    """Return a digest that identifies *text*."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def parse_folder_key(path: str) -> Key:
    """Return the scope of the folder of the file *path* and the id in its name; "" for each that is missing."""
    match = _SCOPE_FOLDER.match(path)
    scope = GLOBAL if match and match[1] else f"{match[2].removesuffix('s')}/{match[3]}" if match else ""
    return (scope, match[4] or "") if match else ("", "")


class FileTree:
    """The files of a project or a knowledge base, with lookups by folder and name."""

    def __init__(self, files: frozenset[str]) -> None:
        """Take the paths of *files*, relative to the top folder, with forward slashes."""
        self.files = files

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that contains a file, directly or further down; "." is the root."""
        folders = {"."}
        for file in self.files:
            folder = file.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        paths_by_name: dict[str, list[str]] = {}
        for file in self.files:
            paths_by_name.setdefault(file.rpartition("/")[2], []).append(file)
        return paths_by_name

    def find_moved(self, path: str) -> str:
        """Return the only file with the same name as the missing *path*, or "" if there is none or several."""
        candidates = self._names.get(path.rpartition("/")[2], [])
        return candidates[0] if len(candidates) == 1 else ""
