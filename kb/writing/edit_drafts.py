"""What a person types in an editor, kept under `.kb/edits/` until it is committed, whatever happens meanwhile.

The editor works on a file there from the start, so that nothing rests on kb being alive when it ends. Beside it stands
which process waits for the editor; without that process the file is left over, and told.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb.files import read_if_exists, remove_file, write_atomic
from kb.records.model import Record
from kb.text.segment import slugify

if TYPE_CHECKING:
    from kb.workspace import Workspace

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
    path = _reserve_file(folder, record.id if _ID.fullmatch(record.id) else slugify(record.id))
    kb.state.save({"pid": os.getpid(), "uid": record.uid, "opened": text}, FOLDER, os.path.basename(path) + _WAITING)
    write_draft(path, text)
    return EditDraft(path, record.uid)


def _reserve_file(folder: str, stem: str) -> str:
    """Make an empty file that nobody else has, and return its path."""
    for number in itertools.count(1):
        path = os.path.join(folder, f"{stem}-{number}.md" if number > 1 else f"{stem}.md")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")


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
    return list(_iter_abandoned_drafts(kb))


def _iter_abandoned_drafts(kb: Workspace) -> Iterator[EditDraft]:
    try:
        names = sorted(os.listdir(kb.state.path(FOLDER)))
    except OSError:
        return
    for name in names:
        if not name.endswith(".md"):
            continue
        draft = EditDraft(kb.state.path(FOLDER, name))
        waiting = kb.state.load(FOLDER, name + _WAITING)
        if waiting is None:
            yield draft
        elif not _is_running(waiting.get("pid")) and read_draft(draft) != str(waiting.get("opened", "")).encode():
            yield draft._replace(uid=str(waiting.get("uid", "")))


def _is_running(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
