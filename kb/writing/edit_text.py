"""Let a person edit the text of a record, and bring it together with what became of the record meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import ConcurrentEdit
from kb.files import read_if_exists, remove_file, write_atomic
from kb.i18n import Message, msg
from kb.merge.merge_record import MergedRecord, merge_record
from kb.records.model import Record
from kb.state.state_folder import is_process_running
from kb.text.segment import slugify

if TYPE_CHECKING:
    from kb.workspace import Workspace
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
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed*, which was made of the file *opened*, with all that others have done to it since.

    *committed* is the file in the tip when it was opened; None: not known. Where the person's own edits were not
    committed then, they are now, and so are those made since. Raise Overtaken where both changed the same lines.
    """
    tip = transaction.read_planned(record.path)
    opened, typed = _match_line_ends(tip, opened), _match_line_ends(tip, typed)
    if committed is None:
        committed = opened if _was_committed(transaction, record.path, opened) else tip
    if tip is None or committed is None:
        return _merge_with_checkout(transaction, record, opened, typed, committed)
    committed = _match_line_ends(tip, committed)
    if opened == committed:
        found = _merge_or_refuse(record, opened, typed, tip, seen=tip, committed=tip)
        return MergedEdit(tip, found.data, found.removed)
    mine = _merge_with_checkout(transaction, record, opened, typed, committed)
    found = _merge_or_refuse(record, committed, mine.now, tip, seen=tip, committed=tip)
    return MergedEdit(mine.before, found.data, (*mine.removed, *found.removed))


def _merge_with_checkout(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed* with what the checkout has by now besides *opened*, committed or not."""
    here = read_if_exists(os.path.join(transaction.kb.root, *record.path.split("/")))
    if here is None:
        raise ConcurrentEdit(msg("the file was taken away while it was open in the editor"), path=record.path)
    other = _match_line_ends(transaction.read_planned(record.path), here)
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
            marked=found.data, seen=seen, committed=committed
        )  # fmt: skip
    return found


def _was_committed(transaction: Transaction, path: str, data: bytes) -> bool:
    """Return whether *data* is the file *path* in the tip or in a commit before it: then it had no other edits."""
    tip = transaction.read_planned(path)
    if tip is None or data == tip:
        return tip is not None
    repository = transaction.kb.repository
    asked = ("log", "--format=%H", "--no-renames", transaction.head.oid, "--", repository.to_git_path(path))
    blobs = repository.read_blobs([(commit, path) for commit in repository.git(*asked).decode("ascii").split()])
    return data in (_match_line_ends(tip, blob or b"") for blob in blobs)


def _match_line_ends(tip: bytes | None, data: bytes) -> bytes:
    """Return *data* with the line ends of the *tip*: git may write others into the checkout."""
    if tip is None or b"\r\n" in tip:
        return data
    return data.replace(b"\r\n", b"\n")


# -- what is being typed --------------------------------------------------------------------------
#
# What a person types in an editor is kept under `.kb/edits/` until it is committed, whatever happens meanwhile. The
# editor works on a file there from the start, so that nothing depends on kb being alive when it ends. A second file
# names the process that waits for the editor; without that process the draft is abandoned, and `kb doctor` reports it.


FOLDER = "edits"
_WAITING = ".json"
_ID = re.compile(r"[A-Z]{1,3}[0-9]{3,9}")


class EditDraft(NamedTuple):
    """A file in which somebody edits a record, or has."""

    path: str
    uid: str = ""
    """The uid of its record; "" where nobody knows."""


def create_draft(kb: Workspace, record: Record, text: str) -> EditDraft:
    """Return a new file with *text* for an editor; it says which process waits for that editor."""
    kb.state.ensure_folder()
    folder = kb.state.path(FOLDER)
    os.makedirs(folder, exist_ok=True)
    stem = record.id if _ID.fullmatch(record.id) else slugify(record.id)
    for name in itertools.chain([f"{stem}.md"], (f"{stem}-{number}.md" for number in itertools.count(2))):
        path = os.path.join(folder, name)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # nobody else has it now
            break
    kb.state.save({"pid": os.getpid(), "uid": record.uid, "opened": text}, FOLDER, name + _WAITING)
    write_draft(path, text)
    return EditDraft(path, record.uid)


def write_draft(path: str, text: str) -> None:
    """Let the file *path* of an editor hold *text*."""
    write_atomic(path, text.encode())


def read_draft(draft: EditDraft) -> bytes:
    """Return what the editor has left in *draft*; nothing where it has taken the file away."""
    return read_if_exists(draft.path) or b""


def release_draft(draft: EditDraft) -> None:
    """Leave *draft* where it is: nobody waits for its editor any more."""
    remove_file(draft.path + _WAITING)


def delete_draft(draft: EditDraft) -> None:
    """Take *draft* away: it is committed, or nothing was typed."""
    remove_file(draft.path)
    remove_file(draft.path + _WAITING)


def list_abandoned_drafts(kb: Workspace) -> list[EditDraft]:
    """Return what was typed and never committed: its editor or kb has ended; what nobody has changed is no loss."""
    found: list[EditDraft] = []
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(kb.state.path(FOLDER)))
    for name in (name for name in names if name.endswith(".md")):
        draft = EditDraft(kb.state.path(FOLDER, name))
        waiting = kb.state.load(FOLDER, name + _WAITING)
        if waiting is None:
            found.append(draft)
            continue
        process, opened = waiting.get("pid"), str(waiting.get("opened", "")).encode()
        is_waited_for = isinstance(process, int) and is_process_running(process)
        if not is_waited_for and read_draft(draft) != opened:
            found.append(draft._replace(uid=str(waiting.get("uid", ""))))
    return found
