"""Take over finished records of other tools: one commit, however many."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.citations import redirected
from kb.records.kinds import BY_NAME
from kb.records.model import SCOPE, Record, Verdict
from kb.records.record_paths import folder_of, scope_of, ulids
from kb.safety import redaction
from kb.text.segment import clip, normalise, one_line, slugify

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace
    from kb.writing.transaction import Writing

_SCOPE = re.compile(SCOPE)
_ID = re.compile(r"([A-Z]{1,3})\d{3,9}")

_NAMED_LOST = 5
"""How many of the files that a record's links no longer reach are told by name."""

Names = Mapping[tuple[str, str], str]
"""What became of an id: (scope, old id) → new id."""


class Brought(NamedTuple):
    """One record on its way in."""

    record: Record
    """Masked, with the id and the path it gets; for one that is here already, that one."""
    wanted: str
    """The id it came with."""
    origin: str = ""
    """The file it was read from, if it is the only one of its file."""
    masked: tuple[str, ...] = ()
    known: bool = False
    objection: Message | None = None


def import_records(
    kb: Workspace,
    records: Sequence[Record],
    *,
    origin: str,
    progress: Callable[[int], None] | None = None,
    dry_run: bool = False,
) -> list[Verdict]:
    """Write *records* as one commit and return a verdict for each.

    An id is kept where it is free in its scope, else the next free one is given and the links among *records* follow.
    A record that the knowledge base has already, by title and text, is `unchanged`. Secrets are masked. *progress* is
    told after each record how many are done.
    """
    from kb.writing.edit import alone
    from kb.writing.transaction import Writing

    if dry_run:
        writing = Writing(kb, "", "")
        with writing.transaction(keep=False):
            return _bring_all(writing, records, progress)
    verdicts: list[Verdict] = []

    def step(writing: Writing) -> None:
        verdicts[:] = _bring_all(writing, records, progress)

    alone(kb, step, f"Import records from {origin}", "imported")
    return verdicts


def _bring_all(writing: Writing, records: Sequence[Record], progress: Callable[[int], None] | None) -> list[Verdict]:
    present = writing.kb.index.records()
    private = writing.kb.config.masking
    safe = lru_cache(maxsize=1024)(
        lambda text: redaction.redact(text, private)
    )  # headings, tags and "" come in every one
    arrivals = _named(writing, present, [_arrival(record, safe) for record in records])
    renamed: dict[tuple[str, str], str] = {}
    for one in arrivals:
        renamed.setdefault((one.record.scope, one.wanted), one.record.id)
    places = _Places(present, arrivals)
    verdicts = []
    uids = ulids(writing.kb.now())
    for number, one in enumerate(arrivals, 1):
        verdicts.append(_brought(writing, one, renamed, places, uids))
        if progress:
            progress(number)
    return verdicts


def _arrival(record: Record, safe: Callable[[str], tuple[str, tuple[redaction.Masked, ...]]]) -> Brought:
    """Return *record* without secrets, control characters in its title, and ids that cannot be kept."""
    rules: set[str] = set()

    def masked(text: str) -> str:
        shown, masks = safe(text)
        rules.update(mask.rule for mask in masks)
        return shown

    done = record._replace(
        title=one_line(masked(record.title)),
        tags=tuple(map(masked, record.tags)),
        impact=tuple(map(masked, record.impact)),
        sources=tuple(map(masked, record.sources)),
        claims=_masked(record.claims, masked),
        coexists_with=_masked(record.coexists_with, masked),
        sections=tuple(s._replace(heading=masked(s.heading), text=masked(s.text)) for s in record.sections),
        user=masked(record.user),
        extra=_masked(record.extra, masked),
    )
    origin = done.sources[0] if len(done.sources) == 1 else ""
    return Brought(done, record.id, origin, tuple(sorted(rules)), objection=_objection(done))


def _masked(value: Any, masked: Callable[[str], str]) -> Any:
    """Return a frontmatter *value* with every text in it masked."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {_masked(key, masked): _assigned(key, item, masked) for key, item in value.items()}
    return [_masked(item, masked) for item in value] if isinstance(value, list | tuple) else value


def _assigned(key: object, value: Any, masked: Callable[[str], str]) -> Any:
    """Return *value* masked as an assignment to *key* would be, for the key may be what gives a secret away."""
    if isinstance(value, str):
        safe = masked(f"{key}: {value}")
        if safe.startswith(f"{key}: "):
            return safe[len(f"{key}: ") :]
    return _masked(value, masked)


def _objection(record: Record) -> Message | None:
    """Return why *record* cannot be taken over."""
    if not _SCOPE.fullmatch(record.scope):
        return msg("there is no scope {scope}", scope=record.scope)
    if record.kind not in BY_NAME:
        return msg("there is no kind {kind}", kind=record.kind)
    return None if record.title else msg("the title shows nothing")


def _named(writing: Writing, present: Sequence[Record], arrivals: Sequence[Brought]) -> list[Brought]:
    """Return *arrivals* with ids and paths: first all that can keep their ids, then new ones for the rest."""
    index = writing.kb.index
    same = {_mark(record): record for record in present}
    unreadable = {(scope_of(path), path.rpartition("/")[2].partition("-")[0]) for path, _, _ in index.broken()}
    for scope, record_id in unreadable:
        if _ID.fullmatch(record_id):
            index.reserve(scope, record_id)
    taken = {(record.scope, record.id) for record in present} | unreadable
    found = list(arrivals)
    unnamed: list[int] = []
    for place, one in enumerate(arrivals):
        record = one.record
        match = _ID.fullmatch(record.id)
        if one.objection:
            continue
        if known := same.get(_mark(record)):
            found[place] = one._replace(record=known, known=True)
        elif match and match[1] == BY_NAME[record.kind].prefix and (record.scope, record.id) not in taken:
            taken.add((record.scope, record.id))
            index.reserve(record.scope, record.id)
            found[place] = one._replace(record=_housed(record))
        else:
            unnamed.append(place)
    for place in unnamed:
        record = found[place].record
        fresh = index.next_id(record.scope, BY_NAME[record.kind].prefix)
        index.reserve(record.scope, fresh)
        found[place] = found[place]._replace(record=_housed(record._replace(id=fresh)))
    return found


def _housed(record: Record) -> Record:
    """Return *record* with the path its scope, id and title give it."""
    folder = folder_of(record.scope, BY_NAME[record.kind].folder)
    return record._replace(path=f"{folder}/{record.id}-{slugify(record.title)}.md")


def _mark(record: Record) -> tuple[str, str, str]:
    """Return what makes a record the same as one that was taken over before, wherever its links lead by now."""
    texts = " ".join(normalise(redirected(section.text, lambda _: ".")) for section in record.sections)
    return record.scope, normalise(record.title), " ".join(texts.split())


def _brought(writing: Writing, one: Brought, renamed: Names, places: _Places, uids: Iterator[str]) -> Verdict:
    if one.objection:
        verdict = writing.verdict("refused", one.record, [one.objection])
        return verdict._replace(id="", path="", uid="", status="")
    if one.known:
        return writing.verdict("unchanged", one.record, [])
    record, lost = _relinked(writing.kb, one, places)

    def follow(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(renamed.get((record.scope, old), old) for old in ids)

    done = record._replace(
        uid=record.uid or next(uids),
        supersedes=follow(record.supersedes),
        amends=follow(record.amends),
        coexists_with=dict(zip(follow(list(record.coexists_with)), record.coexists_with.values(), strict=True)),
    )
    try:
        writing.add(done, "imported")
    except BadRecord as error:
        return writing.verdict("refused", done, [error.message])._replace(id="", path="", uid="", status="")
    said = [msg("masked: {rules}", rules=", ".join(one.masked))] if one.masked else []
    if one.wanted and one.wanted != done.id:
        said.append(msg("its id {old} is in use here; it is {new} now", old=one.wanted, new=done.id))
    if lost:
        more = f", … ({len(lost)})" if len(lost) > _NAMED_LOST else ""
        named = ", ".join(clip(path, 80) for path in lost[:_NAMED_LOST])
        said.append(msg("it links to files that were not imported: {paths}", paths=named + more))
    return writing.verdict("created", done, said)


# -- links between files --------------------------------------------------------------------------


class _Places:
    """Where the records stand as which files were taken over, this time or before."""

    def __init__(self, present: Sequence[Record], arrivals: Sequence[Brought]) -> None:
        self._files: dict[tuple[str, str, str], str] = {}
        self._ends: dict[tuple[str, str, str], tuple[str, str]] = {}
        """The end of an earlier file's name → file and path; "" where several files end so."""
        for old in present:
            for file in map(_folded, old.sources):
                self._files[old.scope, old.kind, file] = old.path
                for end in _ends(file):
                    known, _ = self._ends.setdefault((old.scope, old.kind, end), (file, ""))
                    self._ends[old.scope, old.kind, end] = (file, old.path) if known == file else ("", "")
        told: set[tuple[str, str, str]] = set()
        for one in arrivals:
            key = (one.record.scope, one.record.kind, _folded(one.origin))
            if one.origin and not one.objection:
                self._files[key] = "" if key in told else one.record.path
                told.add(key)

    def of(self, file: str, record: Record) -> str:
        """Return the path of what *file* was taken over as, among its like; "" if nothing, or nobody can tell.

        A file that comes alone has no folder in its name, others of its folder that came together have: its name is
        the end of theirs.
        """
        key = (record.scope, record.kind, _folded(file))
        return self._files[key] if key in self._files else self._ends.get(key, ("", ""))[1]


def _ends(file: str) -> Iterator[str]:
    """Yield what stands behind each slash of *file*."""
    at = file.find("/")
    while at >= 0:
        yield file[at + 1 :]
        at = file.find("/", at + 1)


def _folded(path: str) -> str:
    """Return *path* so that two ways of writing it are equal: composed or not, in any case."""
    return unicodedata.normalize("NFC", path).casefold()


def _relinked(kb: Workspace, one: Brought, places: _Places) -> tuple[Record, list[str]]:
    """Return the record with its links to other files leading there from its new place, and the paths of those lost.

    A file that was taken over is where its record is; another one is reached if it lies in the same repository.
    """
    record = one.record
    lost: dict[str, None] = {}

    def lead(path: str) -> str:
        file = posixpath.normpath(posixpath.join(posixpath.dirname(one.origin), path))
        for name in (file, f"{file}.md"):
            if place := places.of(name, record):
                return posixpath.relpath(place, posixpath.dirname(record.path))
        there = _lead_within(kb, one, file)
        if not there:
            lost[path] = None
        return there

    if not one.origin:
        return record, []
    sections = (s._replace(heading=redirected(s.heading, lead), text=redirected(s.text, lead)) for s in record.sections)
    return record._replace(sections=tuple(sections)), list(lost)


def _lead_within(kb: Workspace, one: Brought, file: str) -> str:
    """Return the way from the record's new place to *file*, if that lies where the record comes from, in one tree."""
    for top in dict.fromkeys((kb.root, kb.repository.top)) if not file.startswith("..") else ():
        if all(os.path.exists(os.path.join(top, *name.split("/"))) for name in (one.origin, file)):
            place = os.path.join(kb.root, *posixpath.dirname(one.record.path).split("/"))
            return os.path.relpath(os.path.join(top, *file.split("/")), place).replace(os.sep, "/")
    return ""
