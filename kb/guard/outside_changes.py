"""Detect changes made outside kb in the files that only kb writes, and attribute them: compare with a snapshot.

Commits that an agent's call made are found by HEAD's reflog and, where that says nothing, by the dates.
`set_aside` undoes and reports what is found here.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.errors import KbError
from kb.files import write_atomic
from kb.git import worktree
from kb.git.objects import is_ancestor
from kb.git.repository import UNDER_WAY, Head
from kb.records.kinds import CONTENT, KINDS
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import sha256
from kb.state import record_stamps
from kb.state.project import load_kb_edits
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.workspace import Workspace

MARK_COPIED, MARK_LEFT_BY_AGENT = "k", "a"
"""Marks of files; behind MARK_LEFT_BY_AGENT stands what the file had before, for an agent may take its change back."""
SETTINGS = tuple(record_stamps.SETTINGS.split("\n"))
COPIES = "copies"
"""The folder, in that of the guard, for contents that no commit has: what a person has not committed yet."""
_MAX_COPY_BYTES = 8_000_000
"""Bytes of a file of which a copy is kept."""
_MAX_LISTED_PATHS = 400
"""Paths above which git is asked for a whole tree, and not for each."""
DAYS = 90
"""Days for which a text is kept at least that no file needs: what a person has stashed may come back."""


_LOG = (
    *"log --raw --no-abbrev --no-renames --no-show-signature -z".split(),
    "--format=%x01%H %ct %at%x02%(trailers)%x02",
)
_MAX_REFLOG_MOVES = 400
"""Moves of HEAD that are looked at: so many commits no call makes."""
_MAX_COMMITS = "5000"
_REPLAYING_COMMANDS = ("rebase", "pull", "cherry-pick")
"""Reflog prefixes of commands that replay changes on other commits, and may combine two changes of one file."""


class OutsideChange(NamedTuple):
    """A file that is not as it was."""

    path: str
    before: str
    """The blob id of the content that it had; GONE: it was not there."""
    mark: str
    """The mark of the file in the snapshot."""
    after: str
    """The blob id of the content that it has; GONE: it is not there."""
    data: bytes | None
    changed: int
    """When, nanoseconds of the file system's clock; 0 for what is gone."""


class SnapshotDiff(NamedTuple):
    """A snapshot and its differences from the current files."""

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
    """Accept the current files as the new baseline; those in *left* are marked as left by an agent.

    Of the other *changes*, what no commit has is copied.
    """
    changes, left = list(changes), set(left)
    known = read_tree_oids(kb, Head(diff.now.ref, diff.now.head), [change.path for change in changes])
    files = dict(diff.now.files)
    for change in changes:
        entry = files.get(change.path, FileStamp(GONE))
        if change.path in left:
            mark = change.mark if change.mark.startswith(MARK_LEFT_BY_AGENT) else MARK_LEFT_BY_AGENT + change.before
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
    if entry is None or not entry.mark.startswith(MARK_LEFT_BY_AGENT):
        return False
    return not removes or entry.mark == MARK_LEFT_BY_AGENT + GONE


def adopt_all_changes(kb: Workspace, diff: SnapshotDiff) -> None:
    """Accept all current files as the new baseline: no agent made these changes."""
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
    """Return the contents of a file or the target of a link; None where there is neither."""
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
    """Return the blob id of *data*; GONE for None."""
    return GONE if data is None else kb.repository.compute_oid(b"blob", data)


# -- contents ----------------------------------------------------------------------------------------


def _copy_content(kb: Workspace, entry: FileStamp, data: bytes | None) -> FileStamp:
    """Keep a copy of *data*, the content of *entry*, which no commit has."""
    if data is None or len(data) > _MAX_COPY_BYTES:
        return entry
    if not has_copy(kb, entry.oid):
        kb.state.ensure_folder()
        write_atomic(record_stamps.guard_path(kb.root, COPIES, entry.oid), data)
    return entry._replace(mark=MARK_COPIED)


def has_copy(kb: Workspace, oid: str) -> bool:
    """Return whether a copy of the content *oid* is kept."""
    return os.path.exists(record_stamps.guard_path(kb.root, COPIES, oid))


def read_content(kb: Workspace, oid: str) -> bytes | None:
    """Return the content with the blob id *oid*, from a copy or a commit; None where it is lost."""
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
    """Return the blob ids that the files *paths* have in the commit of *head*; none for the others."""
    inside = [path for path in paths if not os.path.isabs(path)]
    if not head.oid or not inside:
        return {}
    names = (
        [kb.repository.to_git_path(path) for path in inside]
        if len(inside) <= _MAX_LISTED_PATHS
        else [kb.repository.prefix or "."]
    )
    listed = kb.repository.git("ls-tree", "-r", "-z", "--full-tree", head.oid, "--", *names, check=False)
    rows = (os.fsdecode(row).split("\t", 1) for row in listed.split(b"\0") if row)
    return {kb.repository.to_kb_path(path): about.split()[2] for about, path in rows}


# -- who changed it ----------------------------------------------------------------------------------


class AttributedChanges(NamedTuple):
    """What an agent's call has done."""

    edits: tuple[OutsideChange, ...] = ()
    """Changed outside kb."""
    discarded: tuple[OutsideChange, ...] = ()
    """A person's text that no commit has, and that git has put a committed one in place of."""
    moved: tuple[OutsideChange, ...] = ()
    """Taken out of the checkout, or given another status, because another commit is checked out."""


class _LoggedCommit(NamedTuple):
    oid: str
    commit_time: int
    author_time: int
    """When its author wrote it; `--amend`, a rebase and `filter-branch` keep that."""
    is_by_kb: bool
    rows: tuple[tuple[str, str], ...]
    """Path and content of each file that it changed."""


def is_merge_in_progress(kb: Workspace) -> bool:
    """Return whether git is in the middle of bringing changes together: what it has then is not yet anybody's."""
    return any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in UNDER_WAY)


def attribute_changes(kb: Workspace, diff: SnapshotDiff, began: int, allowed: Sequence[str] = ()) -> AttributedChanges:
    """Return what the call that *began* then (nanoseconds) has done; what kb, a person or git has done is not in it."""
    head, paths = Head(diff.now.ref, diff.now.head), [change.path for change in diff.changes]
    has_moved = diff.before.head != head.oid
    known = read_tree_oids(kb, head, paths)
    earlier = read_tree_oids(kb, Head("", diff.before.head), paths) if has_moved else known
    is_same_branch = has_moved and diff.before.ref == diff.now.ref
    is_fast_forward = is_same_branch and is_ancestor(kb.repository, diff.before.head, diff.now.head)
    inside = [kb.repository.to_git_path(path) for path in paths if not os.path.isabs(path)]
    by_call: set[tuple[str, str]] = set()
    if has_moved and inside:
        by_call = _find_committed_changes(kb, diff.before.head, head, inside[:_MAX_LISTED_PATHS], began)
    ours = load_kb_edits(kb)
    edits: list[OutsideChange] = []
    discarded: list[OutsideChange] = []
    moved: list[OutsideChange] = []
    for change in diff.changes:
        before = earlier.get(change.path, GONE)
        is_by_kb = change.data is not None and ours.get(change.path) == sha256(change.data).hexdigest()
        if change.path in allowed or is_by_kb:
            continue
        # a person's text that was away for a while, as with `git stash pop`; or what an agent had left
        if (change.after != GONE and has_copy(kb, change.after)) or change.mark == MARK_LEFT_BY_AGENT + change.after:
            continue
        # no commit has it, or one has that this call made
        if known.get(change.path, GONE) != change.after or (change.path, change.after) in by_call:
            edits.append(change)
        # a person's text that no commit had: `git checkout .` took it away
        elif change.mark == MARK_COPIED and change.before not in (GONE, before):
            (edits if change.after == GONE and not has_moved else discarded).append(change)
        # `git switch old`: a record that is accepted on the branch left behind is gone, or a draft, on this one
        elif has_moved and not is_fast_forward and change.before == before and _has_status_changed(kb, change):
            moved.append(change)
    return AttributedChanges(tuple(edits), tuple(discarded), tuple(moved))


def _has_status_changed(kb: Workspace, change: OutsideChange) -> bool:
    """Return whether a record is gone, or has another status than it had."""
    if change.before == GONE or not change.path.startswith(f"{CONTENT}/") or not change.path.endswith(".md"):
        return False
    return change.after == GONE or _parse_status(read_content(kb, change.before)) != _parse_status(change.data)


def _parse_status(data: bytes | None) -> bytes:
    """Return what the front matter says of the status; b"" for a text that says nothing."""
    rows = (data or b"")[:64_000].split(b"\n---", 1)[0].split(b"\n")
    return next((row[7:].strip() for row in rows if row.startswith(b"status:")), b"")


# -- what was committed ------------------------------------------------------------------------------


def _find_committed_changes(
    kb: Workspace, before: str, now: Head, paths: Sequence[str], began: int
) -> set[tuple[str, str]]:
    """Return path and content of what has changed at *paths* by plain commits, not by kb, from *before* to *now*.

    They were made here and since *began* (nanoseconds). A merge brings what others have committed, and what was rebased
    was there before: only new content counts.
    """
    if not now.oid:
        return set()
    words = [*_LOG, now.oid, *([f"^{before}"] if before else []), "--not", "--remotes"]
    start = began // 10**9
    made = list(_iter_commits(kb, [*words, "--", *paths]))
    moves = _read_head_reflog(kb)
    since = next((at for at, (oid, _) in enumerate(moves) if oid == before), 0)
    reasons = dict(moves[:since])  # why HEAD came to each commit: of several the first, by which it was made
    is_moved_by_kb = bool(moves) and moves[0][1].startswith("kb")  # as by a sync that gives commits new parents
    fresh, older = [], []
    for one in made:
        reason = reasons.get(one.oid, "")
        if reason.startswith("commit") or (min(one.commit_time, one.author_time) >= start and not one.is_by_kb):
            fresh.append(one)
        elif not reason.startswith(_REPLAYING_COMMANDS) and not (one.is_by_kb and is_moved_by_kb):
            older.append(one)
    if any(one.commit_time < start for one in older):  # of a branch that was there before, or made to look so
        others = [f"--exclude={now.ref.removeprefix('refs/heads/')}", "--branches", "--tags"]
        alone = {one.oid for one in _iter_commits(kb, [*words, *others, "--", *paths])}
        older = [one for one in older if one.commit_time >= start or one.oid in alone]
    if older:  # a rewritten commit keeps the time of its author, so the old one is found by that
        replaced = _list_unreachable_times(kb, before, now.oid)
        older = [one for one in older if one.author_time in replaced]
        oids, others = {one.oid for one in older}, ["-n", _MAX_COMMITS, "--all", "--reflog", "--", *paths]
        found = _iter_commits(kb, [*_LOG, *others]) if older else ()
        contents = {row for commit in found if commit.oid not in oids for row in commit.rows}
        older = [one._replace(rows=tuple(row for row in one.rows if row not in contents)) for one in older]
    return {row for one in (*fresh, *older) for row in one.rows}


def _read_head_reflog(kb: Workspace) -> list[tuple[str, str]]:
    """Return where HEAD has gone and why, as its log says, the last move first."""
    listed = kb.repository.git("log", "-g", "-n", str(_MAX_REFLOG_MOVES), "--format=%H %gs", "HEAD", check=False)
    rows = (row.partition(" ") for row in listed.decode("utf-8", "replace").splitlines())
    return [(oid, reason) for oid, _, reason in rows]


def _list_unreachable_times(kb: Workspace, before: str, now: str) -> set[int]:
    """Return when the commits were written that HEAD does not lead to any more.

    They are asked for whatever files they are about: what `filter-branch` puts into a commit was not in it before.
    """
    left = filter(None, (before, "--not", now))
    listed = kb.repository.git("log", "--format=%at", "-n", _MAX_COMMITS, "--all", "--reflog", *left, check=False)
    return set(map(int, listed.split()))


def _iter_commits(kb: Workspace, words: Sequence[str]) -> Iterator[_LoggedCommit]:
    listed = os.fsdecode(kb.repository.git(*words, check=False))
    for part in listed.split("\x01")[1:]:
        about, trailers, rest = part.split("\x02", 2)
        oid, commit_time, author_time = about.split()
        parts = [word for word in rest.replace("\n", "\0").split("\0") if word]
        rows = []
        for meta, name in zip(parts[::2], parts[1::2], strict=False):
            blob = meta.split(" ")[3] if meta.startswith(":") else ""
            rows.append((kb.repository.to_kb_path(name), GONE if not blob.strip("0") else blob))
        yield _LoggedCommit(oid, int(commit_time), int(author_time), "Kb-" in trailers, tuple(rows))
