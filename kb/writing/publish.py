"""Publish the plan of a call: move the refs in one transaction, then update checkout and index."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence

from kb.errors import Busy, IndexFailed, KbError
from kb.files import read_file_stamp, read_if_exists, remove_half_written
from kb.git import dropped_records, worktree
from kb.git.commit_message import format_commit_message
from kb.git.git_process import list_rewriting_commands
from kb.git.objects import diff_trees, read_objects, resolve_tree
from kb.git.repository import PATIENCE, Head, LostRace, RefMove, Repository
from kb.git.worktree import CLEAN, FAILED, KEPT, Changes, read_index_stamp
from kb.i18n import Message, msg
from kb.index import index_sync, record_ids
from kb.records.kinds import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.git.git_process import BackgroundCommand
    from kb.workspace import Workspace


_INTENT = "follow.json"
"""Pending checkout updates: the published commit, and for each path the commit whose version the checkout still has.

After the update, until the index has saved its state, the file has both commits and no path.
"""
_BESIDE, _KEPT = "beside", "kept work"
"""Notes in the index: the git command that ran beside kb, as JSON [seconds, command]; rescue refs not yet reported."""
_WINDOW = 120
"""Seconds before and after that command in which its saved work must have been committed."""
_REFS = "refs/kb/rescue/work-"
_LOSING = "merge"
"""The only command that may lose work: the others put it into the stash list before they touch a file.

Commits of `git stash` that `git stash pop` restored look the same, so only a merge is a reason to check.
"""


def publish_moves(
    kb: Workspace,
    head: Head,
    moves: Sequence[RefMove],
    changes: Changes,
    reason: str,
    mover: BackgroundCommand | None = None,
) -> dict[str, str]:
    """Make all *moves* or none, the first from *head*; return how the checkout took each file of *changes*.

    Raise LostRace if a ref or the checked-out branch has changed from *head* and *moves*. *mover* is the git command
    that moves refs, started in advance.
    """
    if not changes:
        kb.repository.update_refs(moves, reason, mover)
        record_ids.save_shared_numbers(kb)
        return {}
    if link := worktree.find_link_above(kb.repository, changes):
        hint = msg("put a folder in its place: git keeps nothing behind links")
        raise Busy(msg("{path} is a link", path=link), hint=hint)
    edited = [path for path, (before, _) in changes.items() if before is not None]
    tip = moves[0].new
    owed = list_pending_files(kb)
    behind = _read_files(kb, {path: old for path, old in owed.items() if path in changes})
    # Compare a file with a pending update with the version the checkout has, not with the tip: otherwise kb's own
    # pending change would look like a person's edit and would never be written.
    follows = {path: (behind.get(path, before), now) for path, (before, now) in changes.items()}
    stamp = read_index_stamp(kb.repository)
    reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
    others = wait_for_git(kb.repository)
    # Written before the refs move: if the process dies from here on, the pending updates are on disk.
    _save_intent(kb, tip, {**dict.fromkeys(changes, head.oid), **owed})
    try:
        # hold git's lock only briefly: a git command may need it
        with worktree.hold_index(kb.repository) as following:
            if kb.repository.head() != head:
                raise LostRace(head.ref)
            following.start_reading_flags(edited)
            if stamp != read_index_stamp(kb.repository):  # the user has staged something since the index was read
                reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
            was_synced, was_compared = index_sync.is_synced(kb, head.oid), dropped_records.is_index_unchanged(kb)
            kb.repository.update_refs(moves, reason, mover)
            outcomes = following.apply_published(follows, tip, reserved)
    except (LostRace, KbError):
        with contextlib.suppress(OSError):
            _save_intent(kb, head.oid, owed)  # nothing has moved
        raise
    # From here on nothing may fail the call: it is published, and the next call catches up with files and index.
    with contextlib.suppress(OSError, IndexFailed):
        failed = {path: head.oid for path, outcome in outcomes.items() if outcome == FAILED}
        still = {**failed, **{path: old for path, old in owed.items() if path in failed or path not in changes}}
        _save_intent(kb, tip, still, head.oid)
        _update_index(kb, outcomes, changes)
        note_concurrent_merge(kb, others)
        index_sync.mark_commit_seen(kb, tip)
        dropped_records.remember_published(kb, head.oid, tip, changes)
        if was_compared:
            dropped_records.mark_index_compared(kb, following.stamp)
        if was_synced and all(outcome == CLEAN for outcome in outcomes.values()):
            index_sync.mark_synced(kb, tip, following.stamp)
        else:
            index_sync.mark_dirty(kb, outcomes)
        record_ids.save_shared_numbers(kb)
    return outcomes


def _read_files(kb: Workspace, revisions: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return the file of each path in its revision; for the revision "", None."""
    asked = [(revision, path) for path, revision in revisions.items() if revision]
    blobs = zip(asked, kb.repository.read_blobs(asked), strict=True)
    return {**dict.fromkeys(revisions), **{path: data for (_, path), data in blobs}}


def _update_index(kb: Workspace, outcomes: Mapping[str, str], changes: Changes) -> None:
    """Tell the index which files are as planned; it reads the others as the user has them."""
    records = {path: outcome for path, outcome in outcomes.items() if kb.files.is_record_path(path)}
    stamps = {}
    for path in (path for path, outcome in records.items() if outcome == CLEAN):
        stamp = read_file_stamp(kb.root, path)  # read first, so that the next call notices an edit in between
        mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
        texts = {None if data is None else data.replace(b"\r\n", b"\n") for data in (mine, changes[path][1])}
        if stamp and len(texts) == 1 and mine is not None:
            stamps[path] = stamp
    kb.index.save_stamps(stamps)
    kb.index.reload_files([path for path in records if path not in stamps])


# -- what the checkout has still to follow --------------------------------------------------------


def catch_up_checkout(kb: Workspace) -> bool:
    """Update checkout files that an earlier process published but did not write, and return whether there were any."""
    repository = kb.repository
    worktree.release_abandoned_lock(repository)
    kb.state.remove_half_written()
    remove_half_written(repository.private, 0)
    intent: Mapping[str, Any] = kb.state.load(_INTENT) or {}
    if "old" in intent:
        dropped_records.remember_published(kb, intent["old"], intent["new"])
    owed = list_pending_files(kb)
    for folder in {os.path.dirname(path) for path in owed}:
        remove_half_written(os.path.join(kb.root, *folder.split("/")), 0)
    if not owed:
        if intent:  # its files are updated, but the process died before the index saved its state
            if intent.get("new") != repository.head().oid:
                record_ids.reserve_ids_from_history(kb)
            _save_intent(kb, "", {})
        return False
    if repository.find_commit_obstacle():
        return False
    head = repository.head().oid
    if intent.get("new") != head:
        record_ids.reserve_ids_from_history(kb)
        dropped_records.note_undone_paths(kb, owed, intent.get("new", ""), head)
    before, now = _read_files(kb, owed), _read_files(kb, dict.fromkeys(owed, head))
    changes = {path: (before[path], now[path]) for path in owed if before[path] != now[path]}
    with worktree.hold_index(repository) as following:
        following.start_reading_flags(list(changes))
        staged = worktree.read_staged_files(repository, head, list(changes))
        # the version from before the publication was not staged by a person
        theirs = {path: entry for path, entry in staged.items() if entry.data != changes[path][0]}
        outcomes = following.apply_published(changes, head, theirs)
    _save_intent(kb, head, {path: owed[path] for path, outcome in outcomes.items() if outcome == FAILED})
    for old in sorted(set(owed.values()) - {head}):
        dropped_records.remember_published(kb, old, head)
    return True


def list_pending_files(kb: Workspace) -> dict[str, str]:
    """Return path → commit of the files whose checkout still has the version of that commit."""
    paths = (kb.state.load(_INTENT) or {}).get("paths")
    return {str(path): str(old) for path, old in paths.items()} if isinstance(paths, dict) else {}


def clear_followed(kb: Workspace) -> None:
    """Delete the finished checkout updates, once the index has saved its state."""
    if not list_pending_files(kb):
        _save_intent(kb, "", {})


def _save_intent(kb: Workspace, new: str, paths: Mapping[str, str], old: str | None = None) -> None:
    if paths or old is not None:
        done = {} if old is None else {"old": old}
        kb.state.save({"new": new, "paths": paths, **done}, _INTENT, synced=bool(paths))
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path(_INTENT))


def explain_outcome(path: str, outcome: str) -> Message | None:
    """Return a message on a file that could not be updated in the checkout, or None if it was."""
    if outcome == KEPT:
        return msg("it is committed; {path} stays as you have it", path=path)
    if outcome == FAILED:
        return msg("it is committed; {path} could not be written, the next call tries again", path=path)
    return None


def recommit_undone(kb: Workspace, head: Head) -> Head:
    """Commit again the records undone in *head* and return the new head; call this while holding the lock.

    Raise LostRace if another process moves the branch meanwhile.
    """
    changes = dropped_records.find_undone_changes(kb)
    if not changes:
        dropped_records.forget_undone(kb)
        return head
    subject = "Put back what a git command beside kb had dropped"
    body = "\n".join(f"- {path}" for path in sorted(changes))
    message = format_commit_message(subject, body, {"Kb-Op": "restored"})
    with kb.state.open_stage() as stage:
        files = {path: now for path, (_, now) in changes.items()}
        commit = kb.repository.build_commit(head.oid, files, message, stage=stage)
    publish_moves(kb, head, [RefMove(head.ref, commit, head.oid)], changes, f"kb: {subject}")
    there = kb.repository.list_files(commit, CONTENT)
    dropped_records.note_put_back(kb, [(path, there.get(path, "")) for path in changes])
    dropped_records.forget_undone(kb)
    return head._replace(oid=commit)


# -- git commands that a person runs meanwhile ----------------------------------------------------
#
# `git merge` with uncommitted work saves it as a commit without a ref, resets, and restores it. If another process
# holds the lock on the index at that moment, git silently does not restore it. So kb waits while such a command runs in
# the repository. If one ran all the same, the next call of kb looks for saved work that was not restored, keeps it
# under a ref, and reports it.


def wait_for_git(repository: Repository) -> list[str]:
    """Wait until no git command is moving uncommitted work; return the commands still running after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while (commands := list_rewriting_commands(repository.top)) and time.monotonic() < end:
        time.sleep(0.02)
    return commands


def note_concurrent_merge(kb: Workspace, before: Sequence[str]) -> None:
    """Save that a merge ran *before* kb took the lock or runs now; `rescue_lost_work` checks its work later."""
    if _LOSING in (*before, *list_rewriting_commands(kb.repository.top)):
        kb.index.set_note(_BESIDE, json.dumps([time.time(), _LOSING]))


def rescue_lost_work(kb: Workspace) -> None:
    """Keep under a ref the work that a concurrent git command has saved and not restored."""
    noted = kb.index.get_note(_BESIDE)
    if not noted or list_rewriting_commands(kb.repository.top):
        return
    kb.index.set_note(_BESIDE, "")
    since, command = json.loads(noted)
    with contextlib.suppress(KbError):
        for commit in _find_stash_commits(kb.repository, since):
            if not _is_restored(kb, commit):
                ref = _REFS + commit[:12]
                move = RefMove(ref, commit, kb.repository.resolve_ref(ref))
                kb.repository.update_refs([move], "kb: keep uncommitted work")
                rescued = [*json.loads(kb.index.get_note(_KEPT) or "[]"), [command, ref]]
                kb.index.set_note(_KEPT, json.dumps(rescued))


def report_rescued_work(kb: Workspace) -> Message | None:
    """Return a message on work rescued since the last call, or None."""
    noted = json.loads(kb.index.get_note(_KEPT) or "[]")
    if not noted:
        return None
    kb.index.set_note(_KEPT, "")
    command, ref = noted[-1]
    return msg(
        "git {command} ran beside kb and did not bring back what was not committed; if you miss it: "
        "git stash apply --index {ref}",
        command=command,
        ref=ref,
    )


def _find_stash_commits(repository: Repository, since: float) -> list[str]:
    """Return the commits that `git stash create` made around the time *since* and that are in no stash."""
    recent = []
    top = os.path.join(repository.common_dir, "objects")
    for folder in (name for name in os.listdir(top) if len(name) == 2):  # loose: `git stash create` packs none
        with contextlib.suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
            for entry in entries:
                if not entry.name.startswith("tmp") and abs(entry.stat().st_mtime - since) < _WINDOW:
                    recent.append(folder + entry.name)
    rows = repository.git("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in recent).encode()).decode()
    commits = [row.split(" ")[0] for row in rows.splitlines() if " commit " in row]
    texts = read_objects(repository, commits)
    stashes = repository.run_git(["log", "--walk-reflogs", "--format=%H", "refs/stash", "--"]).out.decode().split()
    return [oid for oid in commits if oid not in stashes and b"\n\nWIP on " in texts[oid]]


def _is_restored(kb: Workspace, commit: str) -> bool:
    """Return whether every file of the saved work *commit* is in the checkout or in a later HEAD."""
    repository = kb.repository
    base, saved, now = (resolve_tree(repository, revision) for revision in (commit + "^1", commit, "HEAD"))
    changes, moved = diff_trees(repository, [(base, saved), (base, now)])
    texts = read_objects(repository, [one.new for one in changes])
    since = {one.name for one in moved}
    return all(
        one.name in since
        or read_if_exists(os.path.join(repository.top, *one.name.split("/"))) == (texts[one.new] if one.new else None)
        for one in changes
    )
