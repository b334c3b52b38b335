"""What a merge will mean, in words: which records hold from then on, and which no longer do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.checks.record_diff import RecordChange, group_by_name
from kb.i18n import Message, msg
from kb.records.kinds import ADR_SECTIONS, join_section_labels, status_name
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import clip

_TITLE = 60


def summarise_merge(changes: Iterable[RecordChange], world: Mapping[str, Record], language: str) -> tuple[Message, ...]:
    """Return what will hold after the merge and what no longer will, each said once.

    *world* holds every record as it will be after the merge; *language* is that of the sections' names.
    """
    told: set[str] = set()
    said: list[Message] = []
    called = group_by_name(world.values())
    for change in changes:
        said += (
            _describe_new(change, called, told) if change.step == "new" else _describe_change(change, told, language)
        )
    return tuple(said or [msg("what holds stays as it is")])


def format_record_name(record: Record) -> Message:
    """Return how a sentence calls *record*; its id is to be written for the reader."""
    return msg("[{id}] “{title}”", id=record.scoped_id, title=clip(record.title, _TITLE))


def _describe_new(
    change: RecordChange, called: Mapping[tuple[str, str], Sequence[Record]], told: set[str]
) -> Iterator[Message]:
    new = change.record
    if new.status == Status.PROPOSED:
        yield msg("{name} is only proposed: it binds nobody yet", name=format_record_name(new))
        return
    if new.status != Status.ACCEPTED:
        yield msg("{name} is kept, as {status}", name=format_record_name(new), status=status_name(new.status))
        return
    replaced = _find_replaced(new, called)
    ended = [record for record in replaced if record.scope == new.scope and record.status == Status.SUPERSEDED]
    overridden = [record for record in replaced if record.scope != new.scope]
    told |= {record.path for record in ended}
    if ended:
        yield msg("{name} holds, and {old} no longer does", name=format_record_name(new), old=_join_names(ended))
    elif overridden:
        yield msg(
            "{name} holds in its project instead of {old}", name=format_record_name(new), old=_join_names(overridden)
        )
    else:
        yield msg("{name} holds", name=format_record_name(new))


def _find_replaced(new: Record, called: Mapping[tuple[str, str], Sequence[Record]]) -> list[Record]:
    """Return what *new* supersedes: of its own scope, else of the global one."""
    found: dict[str, Record] = {}
    for reference in new.supersedes:
        for record in called.get((new.scope, reference)) or called.get((GLOBAL, reference), ()):
            found[record.path] = record
    return list(found.values())


def _join_names(records: Iterable[Record]) -> Message:
    found = [format_record_name(record) for record in records]
    said = found[0]
    for further in found[1:]:
        said = msg("{one} and {other}", one=said, other=further)
    return said


def _describe_change(change: RecordChange, told: set[str], language: str) -> Iterator[Message]:
    record = change.record
    held = change.before is not None and change.before.status == Status.ACCEPTED
    by = [one for one in change.by if one.status == Status.ACCEPTED]
    if change.step == "removed":
        yield msg("{name} is gone with its file", name=format_record_name(record))
    elif change.step != "superseded" and by and record.status == Status.ACCEPTED:
        yield msg(
            "{name} holds, but for what {other} says otherwise", name=format_record_name(record), other=_join_names(by)
        )
    elif change.step == "superseded" and by:
        if record.path not in told:
            yield msg(
                "{name} no longer holds; {other} takes its place",
                name=format_record_name(record),
                other=_join_names(by),
            )
    elif change.status_change and record.status == Status.ACCEPTED:
        yield msg("{name} holds from now on", name=format_record_name(record))
    elif change.status_change and (held or change.step == "superseded"):
        yield msg("{name} no longer holds, and nothing takes its place", name=format_record_name(record))
    if change.step == "changed":
        yield from _describe_edits(change, language)


def _describe_edits(change: RecordChange, language: str) -> Iterator[Message]:
    record, old = change.record, change.before
    if old and old.id != record.id:
        yield msg("{name} was called {old} before", name=format_record_name(record), old=old.id)
    changed = [part.name for part in change.parts if part.is_section and part.name in ADR_SECTIONS]
    if changed and record.status == Status.ACCEPTED and not change.status_change:
        yield msg(
            "{name} says otherwise: {sections}",
            name=format_record_name(record),
            sections=join_section_labels(changed, language),
        )
