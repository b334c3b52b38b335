"""Bring what a person has typed together with what became of the record while the editor was open."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import ConcurrentEdit
from kb.files import read_if_exists
from kb.i18n import Message, msg
from kb.merge.merge_record import MergedRecord, merge_record
from kb.records.model import Record

if TYPE_CHECKING:
    from kb.writing.transaction import Transaction

_LABELS = ("typed", "committed")


class MergedEdit(NamedTuple):
    """A file as the next commit is to have it."""

    before: bytes | None
    """The file from which the checkout follows: the one in the tip, or where that is committed as well, its own."""
    now: bytes
    removed: Sequence[Message] = ()
    """What one side removed and the other left alone."""


def merge_with_tip(
    writing: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed*, which was made of the file *opened*, with all that others have done to it since.

    *committed* is the file in the tip when it was opened; None: not known. Where the person's own edits were not
    committed then, they are now, and so are those made since. Raise Overtaken where both changed the same lines.
    """
    tip = writing.read_planned(record.path)
    opened, typed = _match_line_ends(tip, opened), _match_line_ends(tip, typed)
    if committed is None:
        committed = opened if _was_committed(writing, record.path, opened) else tip
    if tip is None or committed is None:
        return _merge_with_checkout(writing, record, opened, typed, committed)
    committed = _match_line_ends(tip, committed)
    if opened == committed:
        found = _merge_or_refuse(record, opened, typed, tip, seen=tip, committed=tip)
        return MergedEdit(tip, found.data, found.removed)
    mine = _merge_with_checkout(writing, record, opened, typed, committed)
    found = _merge_or_refuse(record, committed, mine.now, tip, seen=tip, committed=tip)
    return MergedEdit(mine.before, found.data, (*mine.removed, *found.removed))


def _merge_with_checkout(
    writing: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed* with what the checkout has by now besides *opened*, committed or not."""
    here = read_if_exists(os.path.join(writing.kb.root, *record.path.split("/")))
    if here is None:
        raise ConcurrentEdit(msg("the file was taken away while it was open in the editor"), path=record.path)
    other = _match_line_ends(writing.read_planned(record.path), here)
    found = _merge_or_refuse(record, opened, typed, other, seen=here, committed=committed)
    return MergedEdit(here, found.data, found.removed)


def _merge_or_refuse(
    record: Record, base: bytes, typed: bytes, other: bytes, *, seen: bytes, committed: bytes | None
) -> MergedRecord:
    found = merge_record(base, typed, other, path=record.path, labels=_LABELS)
    if found.conflicts:
        raise ConcurrentEdit(
            msg("somebody has changed the same lines while this was open in the editor"),
            path=record.path, hint=msg("both versions stand in it between marks; write what holds"),
            marked=found.data, seen=seen, committed=committed,
        )  # fmt: skip
    return found


def _was_committed(writing: Transaction, path: str, data: bytes) -> bool:
    """Return whether *data* is the file *path* in the tip or in a commit before it: then it had no other edits."""
    tip = writing.read_planned(path)
    if tip is None or data == tip:
        return tip is not None
    repository = writing.kb.repository
    words = ("log", "--format=%H", "--no-renames", writing.head.oid, "--", repository.to_git_path(path))
    commits = repository.git(*words).decode("ascii").split()
    return data in (
        _match_line_ends(tip, blob or b"") for blob in repository.read_blobs([(one, path) for one in commits])
    )


def _match_line_ends(tip: bytes | None, data: bytes) -> bytes:
    """Return *data* with the line ends of the *tip*: git may write others into the checkout."""
    if tip is None or b"\r\n" in tip:
        return data
    return data.replace(b"\r\n", b"\n")
