"""All records of one check, parsed once and put where the rules find them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.findings import CheckedText, CheckSurroundings, Finding, Key, RecordSource, Secrets, Severity, Vague
from kb.config import Config
from kb.errors import BadRecord
from kb.i18n import Message
from kb.records.front_matter import decode_record, find_key_line
from kb.records.model import GLOBAL, Record, list_aliases
from kb.records.record_file import parse_record
from kb.text.line_ends import split_lines

if TYPE_CHECKING:
    from typing import Any

_PLACE = re.compile(r"content/[^/]+/(?:(global)|projects/([^/]+))/(?:([A-Z]{1,2}\d{3,})[-.])?")
_TOP_LEVEL = re.compile(r"[^\s#-]|---|\.\.\.")
_ID_PARTS = re.compile(r"([A-Z]{1,2})(\d{3,})")


class LoadedRecord(NamedTuple):
    """A record that could be read, with the text of its file."""

    record: Record
    text: str

    @property
    def key(self) -> Key:
        """The scope and id it goes by."""
        return self.record.scope, self.record.id

    @property
    def age_key(self) -> tuple[str, str, str]:
        """What sorts the older of two records first."""
        return self.record.date or "9999", self.record.uid, self.record.path


class UnreadableFile(NamedTuple):
    """A file that is no record, and why."""

    source: RecordSource
    error: BadRecord


class CheckContext(NamedTuple):
    """What the rules look at."""

    opened: tuple[LoadedRecord, ...]
    broken: tuple[UnreadableFile, ...]
    texts: tuple[CheckedText, ...]
    """The opened records and the further texts."""
    by_key: Mapping[Key, tuple[LoadedRecord, ...]]
    known: frozenset[Key]
    """Every key that is taken here, those of unreadable files (by their names) included."""
    former: Mapping[Key, Key]
    """Key that a record had before it was renumbered → its key."""
    successors: Mapping[Key, tuple[LoadedRecord, ...]]
    """Record → the records that supersede it as a whole where it holds."""
    surroundings: CheckSurroundings
    config: Config
    secrets: Secrets
    vague: Vague

    def is_clean(self, text: str) -> bool:
        """Return whether *text* was looked at before, and nothing was found in it."""
        return bool(self.surroundings.clean) and digest_text(text) in self.surroundings.clean

    def resolve_reference(self, scope: str, reference: str) -> Key | None:
        """Return what *reference* ("D001", "shop:D001") means in *scope*: there, then globally; None if nothing."""
        return resolve_key(self.known, self.former, scope, reference)


def digest_text(text: str) -> str:
    """Return what tells *text* from any other."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


Rule = Callable[[CheckContext], Iterator[Finding]]


def load_check_context(
    sources: Iterable[RecordSource], surroundings: CheckSurroundings, config: Config, secrets: Secrets, vague: Vague
) -> CheckContext:
    """Read every source once and put it on the shelf."""
    opened: list[LoadedRecord] = []
    broken: list[UnreadableFile] = []
    for source in sources:
        try:
            text = decode_record(source.data, source.path)
            opened.append(LoadedRecord(source.record or parse_record(text, source.path), text))
        except BadRecord as error:
            broken.append(UnreadableFile(source, error))
    return build_check_context(opened, broken, surroundings, config, secrets, vague)


def build_check_context(
    opened: Sequence[LoadedRecord],
    broken: Sequence[UnreadableFile],
    surroundings: CheckSurroundings,
    config: Config,
    secrets: Secrets,
    vague: Vague,
) -> CheckContext:
    """Put on the shelf what has been read."""
    by_key: dict[Key, tuple[LoadedRecord, ...]] = {}
    for one in sorted(opened, key=lambda one: one.age_key):
        by_key[one.key] = (*by_key.get(one.key, ()), one)
    known = frozenset([*by_key, *(key for b in broken if (key := parse_path_key(b.source.path)))])
    former = {(one.record.scope, alias): one.key for one in opened for alias in list_aliases(one.record.extra)}
    texts = [CheckedText(one.record.path, one.text, one.record.scope, True) for one in opened]
    return CheckContext(
        opened=tuple(opened),
        broken=tuple(broken),
        texts=(*texts, *surroundings.texts),
        by_key=by_key,
        known=known,
        former=former,
        successors=_find_successors(opened, known, former),
        surroundings=surroundings,
        config=config,
        secrets=secrets,
        vague=vague,
    )


def resolve_key(known: frozenset[Key], former: Mapping[Key, Key], scope: str, reference: str) -> Key | None:
    """Return which of *known* the *reference* means when it stands in *scope*; else what had that number before."""
    project, _, id = reference.rpartition(":")
    named = (project if project == GLOBAL else f"project/{project}", id)
    keys = [named] if project else [(scope, id), (GLOBAL, id)]
    return next((key for key in keys if key in known), None) or next(
        (former[key] for key in keys if key in former), None
    )


def _find_successors(
    opened: Iterable[LoadedRecord], known: frozenset[Key], former: Mapping[Key, Key]
) -> Mapping[Key, tuple[LoadedRecord, ...]]:
    """Return who supersedes whom; a project's record only overrides a global one, which stays in force elsewhere."""
    successors: dict[Key, list[LoadedRecord]] = defaultdict(list)
    for one in opened:
        for reference in one.record.supersedes:
            key = resolve_key(known, former, one.record.scope, reference)
            if key and one.record.scope in (key[0], GLOBAL):
                successors[key].append(one)
    return {key: tuple(found) for key, found in successors.items()}


def parse_folder_scope(path: str) -> str:
    """Return the scope whose folder *path* stands in, or ""."""
    match = _PLACE.match(path)
    if match is None:
        return ""
    return GLOBAL if match.group(1) else f"project/{match.group(2)}"


def parse_path_key(path: str) -> Key | None:
    """Return the scope and id that the name of a record file promises, or None."""
    match = _PLACE.match(path)
    return (parse_folder_scope(path), match.group(3)) if match and match.group(3) else None


def collect_folders(files: Iterable[str]) -> frozenset[str]:
    """Return every folder that holds one of *files*, directly or deeper; "." is the root."""
    folders = {"."}
    for file in files:
        folder = file.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


def iter_free_ids(shelf: CheckContext, scope: str, prefix: str) -> Iterator[str]:
    """Yield the free ids of *prefix* in *scope*, above every number taken here or on another branch."""
    taken = [id for owner, id in shelf.known if owner == scope]
    for branch in shelf.surroundings.branches.values():
        taken += [id for owner, id in branch if owner == scope]
    numbers = [int(m.group(2)) for id in taken if (m := _ID_PARTS.fullmatch(id)) and m.group(1) == prefix]
    number = max(numbers, default=0)
    while True:
        number += 1
        yield f"{prefix}{number:03}"


def make_finding(
    rule: str,
    one: LoadedRecord,
    message: Message,
    fix: Message,
    *,
    severity: Severity = "error",
    key: str = "",
    item: str = "",
    change: Mapping[str, Any] | None = None,
) -> Finding:
    """Return a finding at the frontmatter *key* of a record, on the line of *item* where its value has several."""
    line = find_item_line(one.text, key, item) if key else 1
    return Finding(rule, severity, one.record.path, line, message, fix, change or {})


def find_item_line(text: str, key: str, item: str = "") -> int:
    """Return the 1-based line on which *item* stands in the value of the front's *key*; the key's own without one."""
    first = find_key_line(text, key)
    if not item or first == 1:
        return first
    for number, row in enumerate(split_lines(text)[first - 1 :], first):
        if number > first and _TOP_LEVEL.match(row):
            break
        if item in row:
            return number
    return first
