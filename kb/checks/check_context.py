"""All records of one check, parsed once and put where the rules find them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.findings import Finding, Key, Secrets, Severity, Source, Surroundings, Text, Vague
from kb.config import Config
from kb.errors import BadRecord
from kb.i18n import Message
from kb.records.front_matter import decode, key_line
from kb.records.model import GLOBAL, Record, aliases_of
from kb.records.record_file import record_of
from kb.text.line_ends import lines

if TYPE_CHECKING:
    from typing import Any

_PLACE = re.compile(r"content/[^/]+/(?:(global)|projects/([^/]+))/(?:([A-Z]{1,2}\d{3,})[-.])?")
_TOP_LEVEL = re.compile(r"[^\s#-]|---|\.\.\.")
_ID_PARTS = re.compile(r"([A-Z]{1,2})(\d{3,})")


class Opened(NamedTuple):
    """A record that could be read, with the text of its file."""

    record: Record
    text: str

    @property
    def key(self) -> Key:
        """The scope and id it goes by."""
        return self.record.scope, self.record.id

    @property
    def age(self) -> tuple[str, str, str]:
        """What sorts the older of two records first."""
        return self.record.date or "9999", self.record.uid, self.record.path


class Broken(NamedTuple):
    """A file that is no record, and why."""

    source: Source
    error: BadRecord


class Shelf(NamedTuple):
    """What the rules look at."""

    opened: tuple[Opened, ...]
    broken: tuple[Broken, ...]
    texts: tuple[Text, ...]
    """The opened records and the further texts."""
    by_key: Mapping[Key, tuple[Opened, ...]]
    known: frozenset[Key]
    """Every key that is taken here, those of unreadable files (by their names) included."""
    former: Mapping[Key, Key]
    """Key that a record had before it was renumbered → its key."""
    successors: Mapping[Key, tuple[Opened, ...]]
    """Record → the records that supersede it as a whole where it holds."""
    surroundings: Surroundings
    config: Config
    secrets: Secrets
    vague: Vague

    def is_clean(self, text: str) -> bool:
        """Return whether *text* was looked at before, and nothing was found in it."""
        return bool(self.surroundings.clean) and digest_of(text) in self.surroundings.clean

    def find(self, scope: str, reference: str) -> Key | None:
        """Return what *reference* ("D001", "shop:D001") means in *scope*: there, then globally; None if nothing."""
        return found_key(self.known, self.former, scope, reference)


def digest_of(text: str) -> str:
    """Return what tells *text* from any other."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


Rule = Callable[[Shelf], Iterator[Finding]]


def shelf(
    sources: Iterable[Source], surroundings: Surroundings, config: Config, secrets: Secrets, vague: Vague
) -> Shelf:
    """Read every source once and put it on the shelf."""
    opened: list[Opened] = []
    broken: list[Broken] = []
    for source in sources:
        try:
            text = decode(source.data, source.path)
            opened.append(Opened(source.record or record_of(text, source.path), text))
        except BadRecord as error:
            broken.append(Broken(source, error))
    return arranged(opened, broken, surroundings, config, secrets, vague)


def arranged(
    opened: Sequence[Opened],
    broken: Sequence[Broken],
    surroundings: Surroundings,
    config: Config,
    secrets: Secrets,
    vague: Vague,
) -> Shelf:
    """Put on the shelf what has been read."""
    by_key: dict[Key, tuple[Opened, ...]] = {}
    for one in sorted(opened, key=lambda one: one.age):
        by_key[one.key] = (*by_key.get(one.key, ()), one)
    known = frozenset([*by_key, *(key for b in broken if (key := key_of_path(b.source.path)))])
    former = {(one.record.scope, alias): one.key for one in opened for alias in aliases_of(one.record.extra)}
    texts = [Text(one.record.path, one.text, one.record.scope, True) for one in opened]
    return Shelf(
        opened=tuple(opened),
        broken=tuple(broken),
        texts=(*texts, *surroundings.texts),
        by_key=by_key,
        known=known,
        former=former,
        successors=_successors(opened, known, former),
        surroundings=surroundings,
        config=config,
        secrets=secrets,
        vague=vague,
    )


def found_key(known: frozenset[Key], former: Mapping[Key, Key], scope: str, reference: str) -> Key | None:
    """Return which of *known* the *reference* means when it stands in *scope*; else what had that number before."""
    project, _, id = reference.rpartition(":")
    named = (project if project == GLOBAL else f"project/{project}", id)
    keys = [named] if project else [(scope, id), (GLOBAL, id)]
    return next((key for key in keys if key in known), None) or next(
        (former[key] for key in keys if key in former), None
    )


def _successors(
    opened: Iterable[Opened], known: frozenset[Key], former: Mapping[Key, Key]
) -> Mapping[Key, tuple[Opened, ...]]:
    """Return who supersedes whom; a project's record only overrides a global one, which stays in force elsewhere."""
    successors: dict[Key, list[Opened]] = defaultdict(list)
    for one in opened:
        for reference in one.record.supersedes:
            key = found_key(known, former, one.record.scope, reference)
            if key and one.record.scope in (key[0], GLOBAL):
                successors[key].append(one)
    return {key: tuple(found) for key, found in successors.items()}


def scope_of_path(path: str) -> str:
    """Return the scope whose folder *path* stands in, or ""."""
    match = _PLACE.match(path)
    if match is None:
        return ""
    return GLOBAL if match.group(1) else f"project/{match.group(2)}"


def key_of_path(path: str) -> Key | None:
    """Return the scope and id that the name of a record file promises, or None."""
    match = _PLACE.match(path)
    return (scope_of_path(path), match.group(3)) if match and match.group(3) else None


def folders_of(files: Iterable[str]) -> frozenset[str]:
    """Return every folder that holds one of *files*, directly or deeper; "." is the root."""
    folders = {"."}
    for file in files:
        folder = file.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


def next_ids(shelf: Shelf, scope: str, prefix: str) -> Iterator[str]:
    """Yield the free ids of *prefix* in *scope*, above every number taken here or on another branch."""
    taken = [id for owner, id in shelf.known if owner == scope]
    for branch in shelf.surroundings.branches.values():
        taken += [id for owner, id in branch if owner == scope]
    numbers = [int(m.group(2)) for id in taken if (m := _ID_PARTS.fullmatch(id)) and m.group(1) == prefix]
    number = max(numbers, default=0)
    while True:
        number += 1
        yield f"{prefix}{number:03}"


def finding(
    rule: str,
    one: Opened,
    message: Message,
    fix: Message,
    *,
    severity: Severity = "error",
    key: str = "",
    item: str = "",
    change: Mapping[str, Any] | None = None,
) -> Finding:
    """Return a finding at the frontmatter *key* of a record, on the line of *item* where its value has several."""
    line = line_of_item(one.text, key, item) if key else 1
    return Finding(rule, severity, one.record.path, line, message, fix, change or {})


def line_of_item(text: str, key: str, item: str = "") -> int:
    """Return the 1-based line on which *item* stands in the value of the front's *key*; the key's own without one."""
    first = key_line(text, key)
    if not item or first == 1:
        return first
    for number, row in enumerate(lines(text)[first - 1 :], first):
        if number > first and _TOP_LEVEL.match(row):
            break
        if item in row:
            return number
    return first
