"""Bring what a person has typed together with what became of the record while the editor was open."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import Overtaken
from kb.files import content
from kb.i18n import Message, msg
from kb.merge.merge_record import Merged, merged
from kb.records.model import Record

if TYPE_CHECKING:
    from kb.writing.transaction import Writing

_LABELS = ("typed", "committed")


class Typed(NamedTuple):
    """A file as the next commit is to have it."""

    before: bytes | None
    """The file from which the checkout follows: the one in the tip, or where that is committed as well, its own."""
    now: bytes
    removed: Sequence[Message] = ()
    """What one side removed and the other left alone."""


def with_what_came(writing: Writing, record: Record, opened: bytes, typed: bytes, committed: bytes | None) -> Typed:
    """Return *typed*, which was made of the file *opened*, with all that others have done to it since.

    *committed* is the file in the tip when it was opened; None: not known. Where the person's own edits were not
    committed then, they are now, and so are those made since. Raise Overtaken where both changed the same lines.
    """
    tip = writing.text_of(record.path)
    opened, typed = _with_ends_of(tip, opened), _with_ends_of(tip, typed)
    if committed is None:
        committed = opened if _was_committed(writing, record.path, opened) else tip
    if tip is None or committed is None:
        return _with_what_is_here(writing, record, opened, typed, committed)
    committed = _with_ends_of(tip, committed)
    if opened == committed:
        found = _merged(record, opened, typed, tip, seen=tip, committed=tip)
        return Typed(tip, found.data, found.removed)
    mine = _with_what_is_here(writing, record, opened, typed, committed)
    found = _merged(record, committed, mine.now, tip, seen=tip, committed=tip)
    return Typed(mine.before, found.data, (*mine.removed, *found.removed))


def _with_what_is_here(writing: Writing, record: Record, opened: bytes, typed: bytes, committed: bytes | None) -> Typed:
    """Return *typed* with what the checkout has by now besides *opened*, committed or not."""
    here = content(os.path.join(writing.kb.root, *record.path.split("/")))
    if here is None:
        raise Overtaken(msg("the file was taken away while it was open in the editor"), path=record.path)
    other = _with_ends_of(writing.text_of(record.path), here)
    found = _merged(record, opened, typed, other, seen=here, committed=committed)
    return Typed(here, found.data, found.removed)


def _merged(record: Record, base: bytes, typed: bytes, other: bytes, *, seen: bytes, committed: bytes | None) -> Merged:
    found = merged(base, typed, other, path=record.path, labels=_LABELS)
    if found.conflicts:
        raise Overtaken(
            msg("somebody has changed the same lines while this was open in the editor"),
            path=record.path, hint=msg("both versions stand in it between marks; write what holds"),
            marked=found.data, seen=seen, committed=committed,
        )  # fmt: skip
    return found


def _was_committed(writing: Writing, path: str, data: bytes) -> bool:
    """Return whether *data* is the file *path* in the tip or in a commit before it: then it had no other edits."""
    tip = writing.text_of(path)
    if tip is None or data == tip:
        return tip is not None
    repository = writing.kb.repository
    words = ("log", "--format=%H", "--no-renames", writing.head.oid, "--", repository.full(path))
    commits = repository.git(*words).decode("ascii").split()
    return data in (_with_ends_of(tip, blob or b"") for blob in repository.blobs([(one, path) for one in commits]))


def _with_ends_of(tip: bytes | None, data: bytes) -> bytes:
    """Return *data* with the line ends of the *tip*: git may write others into the checkout."""
    if tip is None or b"\r\n" in tip:
        return data
    return data.replace(b"\r\n", b"\n")
