"""Find out what changed in the files that only kb writes, and who changed it: an agent's call, a person, git or kb."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from kb.errors import KbError
from kb.files import write_atomic
from kb.git import worktree
from kb.git.git_log import is_ancestor
from kb.git.repository import Head
from kb.guard import agent_commits
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.startup.hashes import sha256
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import record_stamps as snapshots
from kb.state.project import load_kb_edits
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.workspace import Workspace

COPIED, LEFT = "k", "a"
"""Marks of files; behind LEFT stands what the file had before, for an agent may take its change back."""
SETTINGS = tuple(snapshots.SETTINGS.split("\n"))
COPIES = "copies"
"""The folder, in that of the guard, for contents that no commit has: what a person has not committed yet."""
_LARGEST = 8_000_000
"""Bytes of a file of which a copy is kept."""
_MANY = 400
"""Paths above which git is asked for a whole tree, and not for each."""
DAYS = 90
"""Days for which a text is kept at least that no file needs: what a person has stashed may come back."""
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


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


class AttributedChanges(NamedTuple):
    """What an agent's call has done."""

    edits: tuple[OutsideChange, ...] = ()
    """Changed outside kb."""
    discarded: tuple[OutsideChange, ...] = ()
    """A person's text that no commit has, and that git has put a committed one in the place of."""
    moved: tuple[OutsideChange, ...] = ()
    """Taken out of the checkout, or given another status, because another commit is checked out."""


# -- looking -----------------------------------------------------------------------------------------


def compare_snapshot(kb: Workspace, folder: str) -> SnapshotDiff | None:
    """Return how the files differ from the snapshot; None where there was none: then it is taken."""
    before = snapshots.load_snapshot(kb.root)
    if before is None:
        _take_snapshot(kb, folder)
        return None
    head = kb.repository.head()
    known = {path for path in before.folders if os.path.isabs(path)} | _find_memory_banks(kb, folder)
    folders, stamps = _scan_folders(kb.root, known)
    files: dict[str, FileStamp] = {}
    changes = []
    fresh = tuple(bank + "/" for bank in known if bank not in before.folders)
    for path, found in stamps.items():
        entry = before.files.get(path, FileStamp(GONE))
        if entry.stamp != found:
            data = _read_data(kb.root, path)
            oid = _hash_blob(kb, data)
            if oid != entry.oid and not path.startswith(fresh or ("\0",)):
                changes.append(OutsideChange(path, entry.oid, entry.mark, oid, data, int(found.partition(":")[0])))
            entry = FileStamp(found, oid, entry.mark if oid == entry.oid else GONE)
            if path.startswith(fresh or ("\0",)):
                entry = _copy_content(kb, entry, data)
        files[path] = entry
    gone = [path for path in before.files if path not in stamps]
    files |= {path: entry for path in gone if (entry := before.files[path]).oid == GONE and entry.mark != GONE}
    changes += [OutsideChange(path, before.files[path].oid, before.files[path].mark, GONE, None, 0) for path in gone
                if before.files[path].oid != GONE]  # fmt: skip
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
    for path, found in stamps.items():
        oid = known.get(path, GONE)
        if oid == GONE or path in differs:
            data = _read_data(kb.root, path)
            entry = FileStamp(found, _hash_blob(kb, data))
            files[path] = entry if entry.oid == oid else _copy_content(kb, entry, data)
        else:
            files[path] = FileStamp(found, oid)
    _save_snapshot(kb, GuardSnapshot(head.ref, head.oid, kb.config.guard, kb.config.writer, folders, files))
    _delete_old_copies(kb, files)


def adopt_changes(
    kb: Workspace, seen: SnapshotDiff, changes: Iterable[OutsideChange], left: Iterable[str] = ()
) -> None:
    """Keep what is there now as what there is to be: what an agent has *left* so with that mark.

    Of the other *changes*, what no commit has is copied.
    """
    changes, left = list(changes), set(left)
    known = read_tree_oids(kb, Head(seen.now.ref, seen.now.head), [change.path for change in changes])
    files = dict(seen.now.files)
    for change in changes:
        entry = files.get(change.path, FileStamp(GONE))
        if change.path in left:
            mark = change.mark if change.mark.startswith(LEFT) else LEFT + change.before
            files[change.path] = entry._replace(mark=mark)
        elif change.after != GONE:
            is_known = known.get(change.path) == change.after
            files[change.path] = entry._replace(mark=GONE) if is_known else _copy_content(kb, entry, change.data)
    _save_snapshot(kb, seen.now._replace(files=files))
    _delete_old_copies(kb, files)


def can_revert_change(kb: Workspace, path: str, *, removes: bool) -> bool:
    """Return whether the file *path* stands as an agent left it, so that the agent may take its change back.

    *removes*: by removing it, which only what was not there before may be.
    """
    seen = snapshots.load_snapshot(kb.root)
    entry = seen.files.get(snapshots.to_snapshot_key(kb.root, path)) if seen else None
    if entry is None or not entry.mark.startswith(LEFT):
        return False
    return not removes or entry.mark == LEFT + GONE


def adopt_all_changes(kb: Workspace, seen: SnapshotDiff) -> None:
    """Keep everything as it is now: it was no agent."""
    is_as_saved = seen.before == seen.now and not seen.changes
    if not is_as_saved:
        adopt_changes(kb, seen, seen.changes)


def refresh_snapshot(kb: Workspace, folder: str, left: Iterable[OutsideChange]) -> None:
    """Take the snapshot again after files were put back; the changes in *left* stand as the agent has made them."""
    if seen := compare_snapshot(kb, folder):
        adopt_changes(kb, seen, seen.changes, [change.path for change in left])


def _save_snapshot(kb: Workspace, made: GuardSnapshot) -> None:
    kb.state.ensure_folder()
    write_atomic(snapshots.get_snapshot_file(kb.root), snapshots.encode_snapshot(kb.root, made))


def _find_memory_banks(kb: Workspace, folder: str) -> set[str]:
    found = {*snapshots.iter_memory_banks(folder), *snapshots.iter_memory_banks(kb.root)}
    return {snapshots.to_snapshot_key(kb.root, bank) for bank in found}


def _scan_folders(root: str, banks: Iterable[str]) -> tuple[dict[str, FileStamp], dict[str, str]]:
    """Return the folders, and the stamps of the files, that only kb writes."""
    folders: dict[str, FileStamp] = {}
    files: dict[str, str] = {name: snapshots.compute_stamp(os.path.join(root, name)) for name in SETTINGS}
    tops = [f"{CONTENT}/{name}" for name in sorted({kind.folder for kind in KINDS})]
    waiting = [*tops, f"{CONTENT}/sessions", *sorted(banks)]
    while waiting:
        folder = waiting.pop()
        place = os.path.join(root, folder)
        folders[folder] = FileStamp(snapshots.compute_stamp(place))
        if os.path.islink(place):
            continue
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}")
                elif not (entry.name.startswith(".kb-") and entry.name.endswith(".tmp")):
                    files[f"{folder}/{entry.name}"] = snapshots.compute_stamp(entry.path)
    return folders, {path: found for path, found in files.items() if found != GONE or path in SETTINGS}


def _read_data(root: str, path: str) -> bytes | None:
    """Return what stands in a file, or where a link leads; None where there is neither."""
    place = os.path.join(root, path)
    try:
        if os.path.islink(place):
            return os.fsencode(os.readlink(place))
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(file).st_mode)
            return opened.read() if is_file else None
    except (OSError, ValueError):
        return None


def _hash_blob(kb: Workspace, data: bytes | None) -> str:
    return GONE if data is None else kb.repository.compute_oid(b"blob", data)


# -- contents ----------------------------------------------------------------------------------------


def _copy_content(kb: Workspace, entry: FileStamp, data: bytes | None) -> FileStamp:
    """Keep a copy of *data*, the content of *entry*, which no commit has."""
    if data is None or len(data) > _LARGEST:
        return entry
    path = snapshots.guard_path(kb.root, COPIES, entry.oid)
    if not os.path.exists(path):
        kb.state.ensure_folder()
        write_atomic(path, data)
    return entry._replace(mark=COPIED)


def read_content(kb: Workspace, oid: str) -> bytes | None:
    """Return the content that git names *oid*, from a copy or a commit; None where it is lost."""
    with contextlib.suppress(OSError), open(snapshots.guard_path(kb.root, COPIES, oid), "rb") as file:
        return file.read()
    output = kb.repository.run_git(["cat-file", "blob", oid])
    return None if output.code else output.out


def _delete_old_copies(kb: Workspace, files: Mapping[str, FileStamp]) -> None:
    used = {entry.oid for entry in files.values()}
    with contextlib.suppress(OSError), os.scandir(snapshots.guard_path(kb.root, COPIES)) as entries:
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


# -- judging -----------------------------------------------------------------------------------------


def is_merge_in_progress(kb: Workspace) -> bool:
    """Return whether git is in the middle of bringing changes together: what it has then is not yet anybody's."""
    return any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in _UNDER_WAY)


def attribute_changes(kb: Workspace, seen: SnapshotDiff, began: int, allowed: Sequence[str] = ()) -> AttributedChanges:
    """Return what the call that *began* then (nanoseconds) has done; what kb, a person or git has done is not in it."""
    head = Head(seen.now.ref, seen.now.head)
    has_moved = seen.before.head != head.oid
    names = [kb.repository.to_git_path(change.path) for change in seen.changes if not os.path.isabs(change.path)]
    known = read_tree_oids(kb, head, [change.path for change in seen.changes])
    earlier = (
        read_tree_oids(kb, Head("", seen.before.head), [change.path for change in seen.changes]) if has_moved else known
    )
    has_left = has_moved and not _is_fast_forward(kb, seen)
    by_call = (
        agent_commits.find_committed_changes(kb, seen.before.head, head, names[:_MANY], began)
        if has_moved and names
        else set()
    )
    ours = load_kb_edits(kb)
    edits: list[OutsideChange] = []
    discarded: list[OutsideChange] = []
    moved: list[OutsideChange] = []
    for change in seen.changes:
        is_committed = known.get(change.path, GONE) == change.after
        was_text = change.mark == COPIED and change.before not in (GONE, earlier.get(change.path, GONE))
        if change.path in allowed or (change.data is not None and _is_written_by_kb(change, ours)):
            continue
        if _is_restored_text(kb, change) or change.mark == LEFT + change.after:
            continue
        if not is_committed or (change.path, change.after) in by_call:
            edits.append(change)
        elif was_text:
            (edits if change.after == GONE and not has_moved else discarded).append(change)
        elif has_left and change.before == earlier.get(change.path, GONE) and _has_status_changed(kb, change):
            moved.append(change)
    return AttributedChanges(tuple(edits), tuple(discarded), tuple(moved))


def _is_fast_forward(kb: Workspace, seen: SnapshotDiff) -> bool:
    """Return whether the same branch is checked out, with more commits: then no record is left behind."""
    return seen.before.ref == seen.now.ref and is_ancestor(kb.repository, seen.before.head, seen.now.head)


def _is_written_by_kb(change: OutsideChange, ours: Mapping[str, str]) -> bool:
    return ours.get(change.path) == sha256(change.data or b"").hexdigest()


def _is_restored_text(kb: Workspace, change: OutsideChange) -> bool:
    """Return whether a person's text that was away for a while, as with `git stash pop`, is there again."""
    return change.after != GONE and os.path.exists(snapshots.guard_path(kb.root, COPIES, change.after))


def _has_status_changed(kb: Workspace, change: OutsideChange) -> bool:
    """Return whether a record is gone, or has another status than it had."""
    if change.before == GONE or not change.path.startswith(f"{CONTENT}/") or not change.path.endswith(".md"):
        return False
    if change.after == GONE:
        return True
    return _parse_status(read_content(kb, change.before)) != _parse_status(change.data)


def _parse_status(data: bytes | None) -> bytes:
    """Return what the front matter says of the status; b"" for a text that says nothing."""
    rows = (data or b"")[:64_000].split(b"\n---", 1)[0].split(b"\n")
    return next((row[7:].strip() for row in rows if row.startswith(b"status:")), b"")
