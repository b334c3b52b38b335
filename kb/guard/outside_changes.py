"""Find out what changed in the files that only kb writes, against a snapshot of them. Who changed it: `attribution`."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping

from kb.errors import KbError
from kb.files import write_atomic
from kb.git import worktree
from kb.git.repository import Head
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import record_stamps
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.workspace import Workspace

COPIED, LEFT = "k", "a"
"""Marks of files; behind LEFT stands what the file had before, for an agent may take its change back."""
SETTINGS = tuple(record_stamps.SETTINGS.split("\n"))
COPIES = "copies"
"""The folder, in that of the guard, for contents that no commit has: what a person has not committed yet."""
_LARGEST = 8_000_000
"""Bytes of a file of which a copy is kept."""
_MANY = 400
"""Paths above which git is asked for a whole tree, and not for each."""
DAYS = 90
"""Days for which a text is kept at least that no file needs: what a person has stashed may come back."""


class OutsideChange(NamedTuple):
    """A file that is not as it was."""

    path: str
    before: str
    """Git's name of the content that it had; GONE: it was not there."""
    mark: str
    """The mark of the file in the snapshot."""
    after: str
    """Git's name of the content that it has; GONE: it is not there."""
    data: bytes | None
    changed: int
    """When, nanoseconds of the file system's clock; 0 for what is gone."""


class SnapshotDiff(NamedTuple):
    """The snapshot, and what is otherwise now."""

    before: GuardSnapshot
    now: GuardSnapshot
    """With the stamps of now; what changed has the content of now."""
    changes: tuple[OutsideChange, ...]


# -- looking -----------------------------------------------------------------------------------------


def compare_snapshot(kb: Workspace, folder: str) -> SnapshotDiff | None:
    """Return how the files differ from the snapshot; None where there was none: then it is taken."""
    before = record_stamps.load_snapshot(kb.root)
    if before is None:
        _take_snapshot(kb, folder)
        return None
    head = kb.repository.head()
    known = {path for path in before.folders if os.path.isabs(path)} | _find_memory_banks(kb, folder)
    folders, stamps = _scan_folders(kb.root, known)
    files: dict[str, FileStamp] = {}
    changes = []
    fresh = tuple(bank + "/" for bank in known if bank not in before.folders)
    for path, stamp in stamps.items():
        entry = before.files.get(path, FileStamp(GONE))
        if entry.stamp == stamp:
            files[path] = entry
            continue
        data = _read_data(kb.root, path)
        oid = _hash_blob(kb, data)
        files[path] = FileStamp(stamp, oid, entry.mark if oid == entry.oid else GONE)
        if path.startswith(fresh):  # of a memory bank that was not looked at before: nothing in it has changed
            files[path] = _copy_content(kb, files[path], data)
        elif oid != entry.oid:
            changes.append(OutsideChange(path, entry.oid, entry.mark, oid, data, int(stamp.partition(":")[0])))
    for path, entry in before.files.items():
        if path not in stamps and entry.oid != GONE:
            changes.append(OutsideChange(path, entry.oid, entry.mark, GONE, None, 0))
        elif path not in stamps and entry.mark != GONE:  # an agent has removed it, and may put it back
            files[path] = entry
    now = GuardSnapshot(head.ref, head.oid, kb.config.guard, kb.config.writer, folders, files)
    return SnapshotDiff(before, now, tuple(changes))


def _take_snapshot(kb: Workspace, folder: str) -> None:
    """Take the first snapshot: what no commit has is copied."""
    head = kb.repository.head()
    folders, stamps = _scan_folders(kb.root, _find_memory_banks(kb, folder))
    known = read_tree_oids(kb, head, stamps)
    try:
        differs = worktree.list_differing_files(kb.repository, head.oid, [""])
    except KbError:  # a filter that fails, for instance: then every file is read
        differs = set(stamps)
    files = {}
    for path, stamp in stamps.items():
        oid = known.get(path, GONE)
        if oid == GONE or path in differs:
            data = _read_data(kb.root, path)
            entry = FileStamp(stamp, _hash_blob(kb, data))
            files[path] = entry if entry.oid == oid else _copy_content(kb, entry, data)
        else:
            files[path] = FileStamp(stamp, oid)
    _save_snapshot(kb, GuardSnapshot(head.ref, head.oid, kb.config.guard, kb.config.writer, folders, files))
    _delete_old_copies(kb, files)


def adopt_changes(
    kb: Workspace, diff: SnapshotDiff, changes: Iterable[OutsideChange], left: Iterable[str] = ()
) -> None:
    """Keep what is there now as what there is to be: what an agent has *left* so with that mark.

    Of the other *changes*, what no commit has is copied.
    """
    changes, left = list(changes), set(left)
    known = read_tree_oids(kb, Head(diff.now.ref, diff.now.head), [change.path for change in changes])
    files = dict(diff.now.files)
    for change in changes:
        entry = files.get(change.path, FileStamp(GONE))
        if change.path in left:
            mark = change.mark if change.mark.startswith(LEFT) else LEFT + change.before
            files[change.path] = entry._replace(mark=mark)
        elif change.after != GONE:
            is_known = known.get(change.path) == change.after
            files[change.path] = entry._replace(mark=GONE) if is_known else _copy_content(kb, entry, change.data)
    _save_snapshot(kb, diff.now._replace(files=files))
    _delete_old_copies(kb, files)


def can_revert_change(kb: Workspace, path: str, *, removes: bool) -> bool:
    """Return whether the file *path* stands as an agent left it, so that the agent may take its change back.

    *removes*: by removing it, which only what was not there before may be.
    """
    snapshot = record_stamps.load_snapshot(kb.root)
    entry = snapshot.files.get(record_stamps.to_snapshot_key(kb.root, path)) if snapshot else None
    if entry is None or not entry.mark.startswith(LEFT):
        return False
    return not removes or entry.mark == LEFT + GONE


def adopt_all_changes(kb: Workspace, diff: SnapshotDiff) -> None:
    """Keep everything as it is now: it was no agent."""
    if diff.before != diff.now or diff.changes:
        adopt_changes(kb, diff, diff.changes)


def refresh_snapshot(kb: Workspace, folder: str, left: Iterable[OutsideChange]) -> None:
    """Take the snapshot again after files were put back; the changes in *left* stand as the agent has made them."""
    if diff := compare_snapshot(kb, folder):
        adopt_changes(kb, diff, diff.changes, [change.path for change in left])


def _save_snapshot(kb: Workspace, snapshot: GuardSnapshot) -> None:
    kb.state.ensure_folder()
    write_atomic(record_stamps.get_snapshot_file(kb.root), record_stamps.encode_snapshot(kb.root, snapshot))


def _find_memory_banks(kb: Workspace, folder: str) -> set[str]:
    found = {*record_stamps.iter_memory_banks(folder), *record_stamps.iter_memory_banks(kb.root)}
    return {record_stamps.to_snapshot_key(kb.root, bank) for bank in found}


def _scan_folders(root: str, banks: Iterable[str]) -> tuple[dict[str, FileStamp], dict[str, str]]:
    """Return the folders, and the stamps of the files, that only kb writes."""
    folders: dict[str, FileStamp] = {}
    files: dict[str, str] = {name: record_stamps.compute_stamp(os.path.join(root, name)) for name in SETTINGS}
    tops = [f"{CONTENT}/{name}" for name in sorted({kind.folder for kind in KINDS})]
    waiting = [*tops, f"{CONTENT}/sessions", *sorted(banks)]
    while waiting:
        folder = waiting.pop()
        full = os.path.join(root, folder)
        folders[folder] = FileStamp(record_stamps.compute_stamp(full))
        if os.path.islink(full):
            continue
        with contextlib.suppress(OSError), os.scandir(full) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}")
                elif not (entry.name.startswith(".kb-") and entry.name.endswith(".tmp")):
                    files[f"{folder}/{entry.name}"] = record_stamps.compute_stamp(entry.path)
    return folders, {path: found for path, found in files.items() if found != GONE or path in SETTINGS}


def _read_data(root: str, path: str) -> bytes | None:
    """Return what stands in a file, or where a link leads; None where there is neither."""
    full = os.path.join(root, path)
    try:
        if os.path.islink(full):
            return os.fsencode(os.readlink(full))
        file = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(file).st_mode)
            return opened.read() if is_file else None
    except (OSError, ValueError):
        return None


def _hash_blob(kb: Workspace, data: bytes | None) -> str:
    """Return git's name of *data*; GONE for None."""
    return GONE if data is None else kb.repository.compute_oid(b"blob", data)


# -- contents ----------------------------------------------------------------------------------------


def _copy_content(kb: Workspace, entry: FileStamp, data: bytes | None) -> FileStamp:
    """Keep a copy of *data*, the content of *entry*, which no commit has."""
    if data is None or len(data) > _LARGEST:
        return entry
    if not has_copy(kb, entry.oid):
        kb.state.ensure_folder()
        write_atomic(record_stamps.guard_path(kb.root, COPIES, entry.oid), data)
    return entry._replace(mark=COPIED)


def has_copy(kb: Workspace, oid: str) -> bool:
    """Return whether a copy of the content *oid* is kept."""
    return os.path.exists(record_stamps.guard_path(kb.root, COPIES, oid))


def read_content(kb: Workspace, oid: str) -> bytes | None:
    """Return the content that git names *oid*, from a copy or a commit; None where it is lost."""
    with contextlib.suppress(OSError), open(record_stamps.guard_path(kb.root, COPIES, oid), "rb") as file:
        return file.read()
    output = kb.repository.run_git(["cat-file", "blob", oid])
    return None if output.code else output.out


def _delete_old_copies(kb: Workspace, files: Mapping[str, FileStamp]) -> None:
    used = {entry.oid for entry in files.values()}
    with contextlib.suppress(OSError), os.scandir(record_stamps.guard_path(kb.root, COPIES)) as entries:
        for entry in entries:
            if entry.name not in used and kb.now() - entry.stat().st_mtime > DAYS * 86_400:
                os.unlink(entry.path)


def read_tree_oids(kb: Workspace, head: Head, paths: Iterable[str]) -> dict[str, str]:
    """Return git's names of the contents that the files *paths* have in the commit of *head*; none for the others."""
    inside = [path for path in paths if not os.path.isabs(path)]
    if not head.oid or not inside:
        return {}
    names = (
        [kb.repository.to_git_path(path) for path in inside] if len(inside) <= _MANY else [kb.repository.prefix or "."]
    )
    listed = kb.repository.git("ls-tree", "-r", "-z", "--full-tree", head.oid, "--", *names, check=False)
    rows = (os.fsdecode(row).split("\t", 1) for row in listed.split(b"\0") if row)
    return {kb.repository.to_kb_path(path): about.split()[2] for about, path in rows}
