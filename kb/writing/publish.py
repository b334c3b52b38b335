"""Publish what a call has planned: the refs in one transaction, then checkout and index follow."""

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
"""What the checkout has still to follow: the commit it is to follow, and for each path the one it still has.

Where it has followed, and the index of the records has not yet kept what it knows of that: both commits, and no path.
"""
_BESIDE, _KEPT = "beside", "kept work"
"""Notes: the git command that ran while kb published, as JSON [seconds, command]; the refs nobody was told of yet."""
_WINDOW = 120
"""Seconds before and after it in which such a command has saved what it put away."""
_REFS = "refs/kb/rescue/work-"
_LOSING = "merge"
"""The one command that may lose work: the others put it into the stash list before they touch a file.

What `git stash` made and `git stash pop` brought back looks just like it: only a merge is a reason to look.
"""


def publish_moves(
    kb: Workspace,
    head: Head,
    moves: Sequence[RefMove],
    changes: Changes,
    reason: str,
    mover: BackgroundCommand | None = None,
) -> dict[str, str]:
    """Make all *moves* or none, the first from *head*; return what became of the file of each of *changes*.

    Raise LostRace when a ref, or what is checked out, is no longer as *head* and *moves* say. *mover* is the command
    that moves refs, begun ahead.
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
    # A file that has still to follow an earlier commit is compared with the version the checkout has, not with the tip:
    # else what kb itself has not written yet would look like a person's edit, and stay as it is for ever.
    follows = {path: (behind.get(path, before), now) for path, (before, now) in changes.items()}
    stamp = read_index_stamp(kb.repository)
    reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
    others = wait_for_git(kb.repository)
    # Written before the refs move: a process that dies from here on leaves what the checkout has still to follow.
    _save_intent(kb, tip, {**dict.fromkeys(changes, head.oid), **owed})
    try:
        # git's lock is held as short as can be: a git command may need it meanwhile
        with worktree.hold_index(kb.repository) as following:
            if kb.repository.head() != head:
                raise LostRace(head.ref)
            following.start_reading_flags(edited)
            if stamp != read_index_stamp(kb.repository):  # somebody has staged something since it was read
                reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
            was_synced, was_compared = index_sync.is_synced(kb, head.oid), dropped_records.is_index_unchanged(kb)
            kb.repository.update_refs(moves, reason, mover)
            outcomes = following.apply_published(follows, tip, reserved)
    except (LostRace, KbError):
        with contextlib.suppress(OSError):
            _save_intent(kb, head.oid, owed)  # nothing has moved
        raise
    # From here on nothing may fail the call: it is published, and files and index catch up with the next one.
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
    """Return each path as it is in its revision; in "" there is none."""
    asked = [(revision, path) for path, revision in revisions.items() if revision]
    found = zip(asked, kb.repository.read_blobs(asked), strict=True)
    return {**dict.fromkeys(revisions), **{path: data for (_, path), data in found}}


def _update_index(kb: Workspace, outcomes: Mapping[str, str], changes: Changes) -> None:
    """Let the index know which files are as planned; the others it reads as the user has them, or left them since."""
    records = {path: outcome for path, outcome in outcomes.items() if kb.files.is_record_path(path)}
    stamps = {}
    for path in (path for path, outcome in records.items() if outcome == CLEAN):
        stamp = read_file_stamp(kb.root, path)  # before the file is read: who edits it in between is seen next time
        mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
        texts = {None if data is None else data.replace(b"\r\n", b"\n") for data in (mine, changes[path][1])}
        if stamp and len(texts) == 1 and mine is not None:
            stamps[path] = stamp
    kb.index.save_stamps(stamps)
    kb.index.reload_files([path for path in records if path not in stamps])


# -- what the checkout has still to follow --------------------------------------------------------


def catch_up_checkout(kb: Workspace) -> bool:
    """Let the checkout follow what was published by a process that ended, or could not write a file, before it did.

    Return whether there was any such file.
    """
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
        if intent:  # its files have followed, but it died before the index kept what it had given out
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
        # what was there before it was published is nothing that a person has staged
        theirs = {path: entry for path, entry in staged.items() if entry.data != changes[path][0]}
        outcomes = following.apply_published(changes, head, theirs)
    _save_intent(kb, head, {path: owed[path] for path, outcome in outcomes.items() if outcome == FAILED})
    for old in sorted(set(owed.values()) - {head}):
        dropped_records.remember_published(kb, old, head)
    return True


def list_pending_files(kb: Workspace) -> dict[str, str]:
    """Return path → commit of the files that are still as they were in that commit."""
    paths = (kb.state.load(_INTENT) or {}).get("paths")
    return {str(path): str(old) for path, old in paths.items()} if isinstance(paths, dict) else {}


def clear_followed(kb: Workspace) -> None:
    """Forget what the checkout has followed, once the index of the records has kept what it knows of that."""
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
    """Return what to tell a person of a file that could not follow; None for one that did."""
    if outcome == KEPT:
        return msg("it is committed; {path} stays as you have it", path=path)
    if outcome == FAILED:
        return msg("it is committed; {path} could not be written, the next call tries again", path=path)
    return None


def recommit_undone(kb: Workspace, head: Head) -> Head:
    """Commit again what was undone in *head* and return what is checked out then; to be called under the lock.

    Raise LostRace where somebody else moves the branch meanwhile.
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
# `git merge` with uncommitted work saves it as a commit that nothing names, resets, and brings it back. When another
# process holds the lock on the index at that moment, it does not bring it back, and says nothing. So kb waits while
# such a command works in the repository. Where one was there all the same, kb looks at its next call for work that was
# saved and not brought back, keeps it under a ref, and names it.


def wait_for_git(repository: Repository) -> list[str]:
    """Wait until no git command moves a person's uncommitted work about here; return those there after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while (commands := list_rewriting_commands(repository.top)) and time.monotonic() < end:
        time.sleep(0.02)
    return commands


def note_concurrent_merge(kb: Workspace, before: Sequence[str]) -> None:
    """Note a merge that ran *before* kb took the lock or runs now; `rescue_lost_work` looks what became of the work."""
    if _LOSING in (*before, *list_rewriting_commands(kb.repository.top)):
        kb.index.set_note(_BESIDE, json.dumps([time.time(), _LOSING]))


def rescue_lost_work(kb: Workspace) -> None:
    """Keep under a ref what a git command beside kb has put away and not brought back."""
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
                kept = [*json.loads(kb.index.get_note(_KEPT) or "[]"), [command, ref]]
                kb.index.set_note(_KEPT, json.dumps(kept))


def report_rescued_work(kb: Workspace) -> Message | None:
    """Return what to tell a person of work that was kept since this was last asked; None for nothing."""
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
    """Return the commits that `git stash create` made around the moment *since* and that no stash names."""
    recent = []
    top = os.path.join(repository.common_dir, "objects")
    for folder in (name for name in os.listdir(top) if len(name) == 2):  # loose objects: `git stash create` packs none
        with contextlib.suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
            for entry in entries:
                if not entry.name.startswith("tmp") and abs(entry.stat().st_mtime - since) < _WINDOW:
                    recent.append(folder + entry.name)
    rows = repository.git("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in recent).encode()).decode()
    found = [row.split(" ")[0] for row in rows.splitlines() if " commit " in row]
    texts = read_objects(repository, found)
    stashes = repository.run_git(["log", "--walk-reflogs", "--format=%H", "refs/stash", "--"]).out.decode().split()
    return [oid for oid in found if oid not in stashes and b"\n\nWIP on " in texts[oid]]


def _is_restored(kb: Workspace, commit: str) -> bool:
    """Return whether the checkout has every file as the saved work *commit* has it, or HEAD has moved on with it."""
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
