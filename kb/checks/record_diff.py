"""Diff the records of a branch part by part, and describe in words what merging them will do."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.checks.check_context import Finding
from kb.i18n import Message, msg
from kb.records.kinds import ADR_SECTIONS, join_section_labels, status_name
from kb.records.model import GLOBAL, Record, SimilarRecord, Status
from kb.text.segment import clip, one_line, split_sentences

MAX_SHOWN_CHARACTERS = 200
"""Characters shown of each side of a change."""
_LEAD = 40
"""Characters of common text shown before the difference."""
_TITLE = 60
"""Characters of a title in a sentence about a merge."""

_KEYS = ("title", "kind", "scope", "id", "date", "tags", "impact", "supersedes", "amends", "coexists_with", "claims")

STEPS = ("new", "changed", "superseded", "amended", "removed")


class PartChange(NamedTuple):
    """One changed part of a record."""

    name: str
    """A front matter key, the canonical name or the heading of a section, or "user"."""
    before: str
    after: str
    """The old and new text, cut to the difference; both are "" if only the order changed."""
    is_section: bool = False


class RecordChange(NamedTuple):
    """One record that a branch changes."""

    step: str
    """One of STEPS; "superseded" takes precedence over any other change."""
    record: Record
    """The record after the merge; for a removed one, as it was."""
    before: Record | None = None
    """The record in the merge base, with its current status on the other side."""
    parts: tuple[PartChange, ...] = ()
    by: tuple[Record, ...] = ()
    """The records that supersede it, or otherwise those that newly amend it."""
    similar: tuple[SimilarRecord, ...] = ()
    """For a new record, the existing records similar to it."""
    elsewhere: tuple[str, ...] = ()
    """The parts that the other line of history has also changed since the merge base."""

    @property
    def status_change(self) -> tuple[str, str] | None:
        """The status before and after, or None if it did not change."""
        old = self.before.status if self.before else self.record.status
        return (old, self.record.status) if old != self.record.status else None


class Comparison(NamedTuple):
    """The checkout compared with the revision it is to be merged into."""

    revision: str
    base: str
    """The merge base."""
    changes: tuple[RecordChange, ...]
    meaning: tuple[Message, ...]
    """The effects of the merge, in sentences."""
    findings: tuple[Finding, ...]
    """Problems in the changed files, in other files because of them, and between this and other branches."""
    elsewhere: Mapping[str, int]
    """Severity → number of findings in files that this branch does not change."""
    uncommitted: int = 0
    """Number of record files in the checkout that differ from HEAD."""
    branches: tuple[str, ...] = ()
    """The open branches that were read."""
    unseen: int = 0
    """Number of open branches, the oldest ones, that were not read."""
    uncompared: int = 0
    """Number of changed records whose text was not compared with others because there are too many."""
    shared: frozenset[str] = frozenset()
    """The ids used by records of projects: a global record with such an id must be named with its scope."""


def diff_records(before: Iterable[Record], after: Iterable[Record], world: Mapping[str, Record]) -> list[RecordChange]:
    """Return how the records of the changed files differ between *before* and *after*.

    *world* has every record after the merge, by identity, to look up which record amends or supersedes which.
    """
    olds = {record.identity: record for record in before}
    news = {record.identity: record for record in after}
    changes = [RecordChange("removed", record, record) for key, record in olds.items() if key not in news]
    for key, record in news.items():
        old = olds.get(key)
        is_ended = old is not None and record.status == Status.SUPERSEDED != old.status
        step = "new" if old is None else "superseded" if is_ended else "changed"
        changes.append(RecordChange(step, record, old, tuple(diff_parts(old, record)) if old else ()))
    amending = _find_amending(changes, world)
    shown: list[RecordChange] = []
    for change in changes:
        by = amending.pop(change.record.identity, ())
        if change.step != "changed" or change.parts or change.status_change or by:
            shown.append(change._replace(by=_find_successors(change.record, world) or by))
    shown += [RecordChange("amended", world[key], world[key], by=by) for key, by in amending.items()]
    return sorted(shown, key=lambda c: (STEPS.index(c.step), c.record.scope, len(c.record.id), c.record.id))


def _find_successors(record: Record, world: Mapping[str, Record]) -> tuple[Record, ...]:
    """Return the records that supersede *record*; none unless it is superseded."""
    return tuple(
        one
        for one in (world.values() if record.status == Status.SUPERSEDED else ())
        if one.supersedes and one.scope == record.scope and has_reference_to(one.supersedes, record)
    )


def _find_amending(changes: Iterable[RecordChange], world: Mapping[str, Record]) -> dict[str, tuple[Record, ...]]:
    """Map the identity of each newly amended record to the changed records that amend it."""
    by: dict[str, tuple[Record, ...]] = {}
    by_name = _group_by_name(world.values())
    for change in changes:
        earlier = change.before.amends if change.before else ()
        for reference in (reference for reference in change.record.amends if reference not in earlier):
            for record in by_name.get((change.record.scope, reference), ()):
                by[record.identity] = (*by.get(record.identity, ()), change.record)
    return by


def _group_by_name(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Group *records* by scope and by each of their names there."""
    records_by_name: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        for own in _list_names(record):
            records_by_name.setdefault((record.scope, own), []).append(record)
    return records_by_name


def has_reference_to(references: Iterable[str], record: Record) -> bool:
    """Return whether one of *references*, written in the scope of *record*, names it."""
    return not _list_names(record).isdisjoint(references)


def _list_names(record: Record) -> set[str]:
    return {record.id, record.uid, f"{record.scope.removeprefix('project/')}:{record.id}"} - {""}


# -- parts ----------------------------------------------------------------------------------------


def diff_parts(old: Record, new: Record) -> Iterator[PartChange]:
    """Yield the differences between two versions of a record, except its status and kb's own bookkeeping."""
    for key in _KEYS:
        one, other = getattr(old, key), getattr(new, key)
        if one != other:
            yield PartChange(key, *diff_texts(_format_value(one), _format_value(other)))
    mine, theirs = _collect_sections(old), _collect_sections(new)
    for name in dict.fromkeys([*mine, *theirs]):
        one, other = mine.get(name, ""), theirs.get(name, "")
        if one_line(one) != one_line(other):
            yield PartChange(name, *diff_texts(one, other), is_section=True)
    if one_line(old.user) != one_line(new.user):
        yield PartChange("user", *diff_texts(old.user, new.user))


def _format_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {item}" if item else str(key) for key, item in value.items())
    return "\n".join(value) if isinstance(value, tuple) else str(value)


def _collect_sections(record: Record) -> dict[str, str]:
    """Return the texts of the sections by canonical name, or by heading for sections without one."""
    texts: dict[str, str] = {}
    for section in record.sections:
        name = section.name or one_line(section.heading)
        texts[name] = f"{texts[name]}\n{section.text}" if name in texts else section.text
    return texts


def diff_texts(before: str, after: str) -> tuple[str, str]:
    """Return the lines and sentences found in only one text, each cut to MAX_SHOWN_CHARACTERS."""
    mine, theirs = ([one_line(sentence) for sentence in split_sentences(text)] for text in (before, after))
    # moved sentences are no difference: "A. B." and "B. A." give ("", "")
    gone = " ".join(sentence for sentence in mine if sentence not in theirs)
    come = " ".join(sentence for sentence in theirs if sentence not in mine)
    start = len(posixpath.commonprefix([gone, come]))
    return _cut_text(gone, start), _cut_text(come, start)


def _cut_text(text: str, start: int) -> str:
    """Cut *text* to MAX_SHOWN_CHARACTERS, keeping little of what precedes the difference at *start*."""
    if len(text) > MAX_SHOWN_CHARACTERS and start > 2 * _LEAD:
        text = "…" + text[start - _LEAD :]
    return clip(text, MAX_SHOWN_CHARACTERS)


# -- what a merge will mean -----------------------------------------------------------------------


def summarise_merge(changes: Iterable[RecordChange], world: Mapping[str, Record], language: str) -> tuple[Message, ...]:
    """Return which records will be accepted after the merge and which no longer are, each once.

    *world* has every record after the merge, by identity; *language* is that of the section names.
    """
    mentioned: set[str] = set()
    sentences: list[Message] = []
    by_name = _group_by_name(world.values())
    for change in changes:
        if change.step == "new":
            sentences.append(_describe_new(change.record, by_name, mentioned))
        else:
            sentences += _describe_change(change, mentioned, language)
    return tuple(sentences or [msg("accepted records stay as they are")])


def _describe_new(new: Record, by_name: Mapping[tuple[str, str], Sequence[Record]], mentioned: set[str]) -> Message:
    """Describe the effect of a new record, and add the records it ends to *mentioned*."""
    name = _format_names([new])
    if new.status == Status.PROPOSED:
        return msg("{name} is only proposed: it is not binding yet", name=name)
    if new.status != Status.ACCEPTED:
        return msg("{name} is kept, as {status}", name=name, status=status_name(new.status))
    replaced: dict[str, Record] = {}
    for reference in new.supersedes:  # a record of its own scope, else the global one
        for record in by_name.get((new.scope, reference)) or by_name.get((GLOBAL, reference), ()):
            replaced[record.path] = record
    overridden = [record for record in replaced.values() if record.scope != new.scope]
    ended = [old for old in replaced.values() if old.scope == new.scope and old.status == Status.SUPERSEDED]
    mentioned |= {record.path for record in ended}
    if ended:
        return msg("{name} is accepted; {old} no longer is", name=name, old=_format_names(ended))
    if overridden:
        return msg("{name} applies in its project instead of {old}", name=name, old=_format_names(overridden))
    return msg("{name} is accepted", name=name)


def _format_names(records: Sequence[Record]) -> Message:
    """Return the names of *records* for a sentence; ids are rewritten for the reader later."""
    first, *others = [msg("[{id}] “{title}”", id=one.scoped_id, title=clip(one.title, _TITLE)) for one in records]
    for other in others:
        first = msg("{one} and {other}", one=first, other=other)
    return first


def _describe_change(change: RecordChange, mentioned: set[str], language: str) -> Iterator[Message]:
    record, old = change.record, change.before
    name = _format_names([record])
    is_accepted = record.status == Status.ACCEPTED
    was_accepted = old is not None and old.status == Status.ACCEPTED
    by = [one for one in change.by if one.status == Status.ACCEPTED]
    if change.step == "removed":
        yield msg("{name} was deleted with its file", name=name)
    elif change.step != "superseded" and by and is_accepted:
        yield msg("{name} stays accepted, except where {other} says otherwise", name=name, other=_format_names(by))
    elif change.step == "superseded" and by:
        if record.path not in mentioned:
            yield msg("{name} is no longer accepted; {other} replaces it", name=name, other=_format_names(by))
    elif change.status_change and is_accepted:
        yield msg("{name} is accepted from now on", name=name)
    elif change.status_change and (was_accepted or change.step == "superseded"):
        yield msg("{name} is no longer accepted, and nothing replaces it", name=name)
    if change.step != "changed":
        return
    if old and old.id != record.id:
        yield msg("{name} was called {old} before", name=name, old=old.id)
    changed = [part.name for part in change.parts if part.is_section and part.name in ADR_SECTIONS]
    if changed and is_accepted and not change.status_change:
        yield msg("{name} says something else: {sections}", name=name, sections=join_section_labels(changed, language))
