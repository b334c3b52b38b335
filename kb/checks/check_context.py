"""Findings of a check, as text and JSON; CheckContext: all records of one check, parsed once, with index and trees."""

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
"""The change of a finding whose new value only the world outside can give."""
ADD_MARKERS = ""
"""The key of a change that puts the block markers around a text written by hand: no key of a front matter is empty."""
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
    """Return the new bytes of every file that can be settled: front matter or markers change, and no other byte.

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
        if is_same_body and is_as_meant:  # else a person has to look at it
            fixed[path] = (add_markers(new) if needs_markers else new).encode()
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


Key = tuple[str, str]
"""A scope and an id: what names a record within one knowledge base."""

_SCOPE_FOLDER = re.compile(r"content/[^/]+/(?:(global)|(projects|groups|agents)/([^/]+))/(?:([A-Z]{1,2}\d{3,})[-.])?")
_TOP_LEVEL = re.compile(r"[^\s#-]|---|\.\.\.")
_ID_PARTS = re.compile(r"([A-Z]{1,2})(\d{3,})")


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
    foreign: Mapping[str, frozenset[str]] = {}
    """Path of an imported record → those of its impact paths that its project's tree has never had."""
    fixes: Mapping[str, bool] = {}
    """Path of a record that names the commit which fixed it → whether the project's repository has that commit."""
    branches: Mapping[str, Mapping[Key, str]] = {}
    """Other branch → the records on it with their uids."""
    trunk: str = ""
    """Which of *branches* the others are merged into; its records keep their ids."""
    was: Mapping[str, str] = {}
    """Uid → status before the change that is checked (on the trunk)."""
    texts: tuple[CheckedText, ...] = ()
    """Further texts whose citations, links and secrets are looked at."""
    merges: Mapping[str, MergeVersions] = {}
    """Path of a record that both sides of the last merge have changed → what they made of it."""
    clean: frozenset[str] = frozenset()
    """Digests of texts in which the rules that look at one text alone have found nothing before."""
    contradictions: Mapping[tuple[str, str], Message] = {}
    """Paths of two records, of which the first has just changed → why, by their words, they cannot both hold."""


class LoadedRecord(NamedTuple):
    """A record that could be read, with the text of its file."""

    record: Record
    text: str

    @property
    def age_key(self) -> tuple[str, str, str]:
        """What sorts the older of two records first."""
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
        """Return a finding at the front matter *key*, on the line of *item* where its value has several."""
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
    """A file that is not a record, and why."""

    source: RecordSource
    error: BadRecord


class CheckContext(NamedTuple):
    """What the rules look at."""

    records: tuple[LoadedRecord, ...]
    broken: tuple[UnreadableFile, ...]
    texts: tuple[CheckedText, ...]
    """Those of the records and the further ones."""
    by_key: Mapping[Key, tuple[LoadedRecord, ...]]
    known: frozenset[Key]
    """Every key that is taken here, those of unreadable files (by their names) included."""
    former: Mapping[Key, Key]
    """Key that a record had before it was renumbered → its key."""
    successors: Mapping[Key, tuple[LoadedRecord, ...]]
    """Record → the records that supersede it as a whole where it is accepted."""
    surroundings: CheckSurroundings
    config: Config

    def is_clean(self, text: str) -> bool:
        """Return whether *text* was looked at before, and nothing was found in it."""
        return bool(self.surroundings.clean) and digest_text(text) in self.surroundings.clean

    def resolve_reference(self, scope: str, reference: str) -> Key | None:
        """Return what *reference* ("D001", "shop:D001") means in *scope*: there, then globally; None if nothing."""
        return _resolve_key(self.known, self.former, scope, reference)

    def resolve_all(self, scope: str, references: Iterable[str]) -> set[Key]:
        """Return the records that *references* mean in *scope*."""
        return {key for reference in references if (key := self.resolve_reference(scope, reference))}

    def iter_free_ids(self, scope: str, prefix: str) -> Iterator[str]:
        """Yield the free ids of *prefix* in *scope*, above every number taken here or on another branch."""
        taken = [key for keys in (self.known, *self.surroundings.branches.values()) for key in keys]
        parts = [_ID_PARTS.fullmatch(id) for owner, id in taken if owner == scope]
        number = max((int(m[2]) for m in parts if m and m[1] == prefix), default=0)
        while True:
            number += 1
            yield f"{prefix}{number:03}"


def load_check_context(
    sources: Iterable[RecordSource], surroundings: CheckSurroundings, config: Config
) -> CheckContext:
    """Read every source once and return what the rules look at."""
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
    """Return what the rules look at, from what has been read."""
    by_key: dict[Key, tuple[LoadedRecord, ...]] = {}
    for one in sorted(records, key=lambda one: one.age_key):
        by_key[one.record.key] = (*by_key.get(one.record.key, ()), one)
    # a file that cannot be read keeps its id taken: D007-x.md is D007, whatever is wrong inside
    known = frozenset([*by_key, *(key for b in broken if all(key := parse_folder_key(b.source.path)))])
    former = {(one.record.scope, alias): one.record.key for one in records for alias in list_aliases(one.record.extra)}
    successors: dict[Key, tuple[LoadedRecord, ...]] = {}
    for one in records:
        for reference in one.record.supersedes:
            old = _resolve_key(known, former, one.record.scope, reference)
            # a record of the project shop that supersedes a global one replaces it for shop alone
            if old and one.record.scope in (old[0], GLOBAL):
                successors[old] = (*successors.get(old, ()), one)
    texts = (*(CheckedText(one.record.path, one.text, one.record.scope, True) for one in records), *surroundings.texts)
    return CheckContext(records, broken, texts, by_key, known, former, successors, surroundings, config)


def _resolve_key(known: frozenset[Key], former: Mapping[Key, Key], scope: str, reference: str) -> Key | None:
    """Return which of *known* the *reference* means in a text of *scope*; else what had that number before."""
    # "D004" in shop is shop's, else the global one; "global:D004" and "shop:D004" are what they say
    project, _, id = reference.rpartition(":")
    named = (parse_scope_name(project), id)
    keys = [named] if project else [(scope, id), (GLOBAL, id)]
    return next((key for key in keys if key in known), None) or next((former[k] for k in keys if k in former), None)


def digest_text(text: str) -> str:
    """Return a digest that identifies *text*."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def parse_folder_key(path: str) -> Key:
    """Return the scope whose folder the file *path* is in, and the id that its name promises; "" for either."""
    match = _SCOPE_FOLDER.match(path)
    scope = GLOBAL if match and match[1] else f"{match[2].removesuffix('s')}/{match[3]}" if match else ""
    return (scope, match[4] or "") if match else ("", "")


class FileTree:
    """The files of a project or a knowledge base, with what is asked about them."""

    def __init__(self, files: frozenset[str]) -> None:
        """Take the paths of *files*, relative to their top, with forward slashes."""
        self.files = files

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that holds a file, directly or deeper; "." is the root."""
        folders = {"."}
        for file in self.files:
            folder = file.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in self.files:
            found.setdefault(file.rpartition("/")[2], []).append(file)
        return found

    def find_moved(self, path: str) -> str:
        """Return the only file that is called as the missing *path* is; "" for none, or several."""
        found = self._names.get(path.rpartition("/")[2], [])
        return found[0] if len(found) == 1 else ""
