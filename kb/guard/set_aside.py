"""Handle changes made outside kb: keep the agent's version on a ref, restore the files, notify once."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence

from kb.errors import BadRecord, KbError
from kb.files import remove_file, write_atomic
from kb.git import worktree
from kb.git.commit_message import format_commit_message
from kb.git.repository import Head, RefMove
from kb.guard import policy
from kb.guard.outside_changes import (
    DAYS,
    MARK_COPIED,
    SETTINGS,
    AttributedChanges,
    OutsideChange,
    SnapshotDiff,
    adopt_all_changes,
    attribute_changes,
    compare_snapshot,
    is_merge_in_progress,
    read_content,
    read_tree_oids,
    refresh_snapshot,
)
from kb.hosts import HookResponse
from kb.i18n import Message, msg
from kb.records import record_file
from kb.records.kinds import CONTENT
from kb.records.model import Record
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import record_stamps
from kb.state.record_stamps import GONE
from kb.state.session_log import OWED, SessionLog

if TYPE_CHECKING:
    from kb.workspace import Workspace

KEPT_REFS = "refs/kb/kept/"
"""Prefix of the refs of rescued texts, which are never pushed; each new one deletes expired ones."""
_TIME = "%Y%m%d-%H%M%S"
_MAX_NAMED_PATHS = 5
"""Maximum number of paths in a message."""
_MAX_COMMAND_PATHS = 20
"""Maximum number of paths in a command; if there are more, use their folders."""


class Caller(NamedTuple):
    """The session and agent of a call."""

    session: str
    folder: str
    host: str


def check_before_call(kb: Workspace, caller: Caller, *, asked: bool = False) -> HookResponse:
    """Check the files before a call that can write: changes since the last call are a person's and stay.

    *asked*: the person is asked about this call, so it may change the settings. If the last call did not report its end
    (some hosts do not report failed calls), the changes since then are attributed to it.
    """
    response = HookResponse()
    if record_stamps.read_call_start(kb.root, caller.session):
        response = check_after_call(kb, caller)
    else:
        diff = compare_snapshot(kb, caller.folder)
        if diff and not record_stamps.has_other_calls(kb.root, caller.session):
            adopt_all_changes(kb, diff)
    record_stamps.mark_call_started(kb.root, caller.session, record_stamps.SETTINGS if asked else "")
    return response


def check_after_call(kb: Workspace, caller: Caller) -> HookResponse:
    """Return the response to a finished call; it is empty if the call has changed nothing outside kb."""
    began = record_stamps.read_call_start(kb.root, caller.session)
    allowed = record_stamps.read_allowed_file(kb.root, caller.session).split("\n")
    if not kb.state.clone_mark:  # it existed before the call
        compare_snapshot(kb, caller.folder)
        path = os.path.relpath(kb.state.folder, kb.root)
        message = msg(
            "kb: {path}, kb's own state, was deleted; what can be rebuilt is rebuilt. Next: tell the person", path=path
        )
        gone = kb.localise(message)
        return HookResponse(context=gone, message=gone)
    record_stamps.mark_call_ended(kb.root, caller.session)
    diff = compare_snapshot(kb, caller.folder)
    # files with conflict markers belong to nobody yet: check them after the merge
    if not diff or is_merge_in_progress(kb):
        return HookResponse()
    return _handle_changes(kb, caller, diff, began, allowed)


def check_end_of_turn(kb: Workspace, caller: Caller) -> HookResponse:
    """Check all files at the end of a turn with calls that could write.

    If there are so many files that each call checks only some, report what has changed since the turn began.
    """
    running = record_stamps.read_call_start(kb.root, caller.session)
    since = record_stamps.read_turn_start(kb.root, caller.session)
    allowed = record_stamps.read_allowed_file(kb.root, caller.session).split("\n")
    record_stamps.mark_turn_ended(kb.root, caller.session)
    diff = compare_snapshot(kb, caller.folder) if running or since else None
    if not diff or is_merge_in_progress(kb):
        return HookResponse()
    if not running:
        if len(diff.now.files) <= record_stamps.MOST:
            adopt_all_changes(kb, diff)
            return HookResponse()
        diff = diff._replace(changes=tuple(one for one in diff.changes if one.changed >= since))
    response = _handle_changes(kb, caller, diff, running or since, allowed, only_named=not running)
    if response.context:
        SessionLog(kb, caller.session).add(OWED, response.context)
    return response


def _handle_changes(
    kb: Workspace, caller: Caller, diff: SnapshotDiff, began: int, allowed: Sequence[str], *, only_named: bool = False
) -> HookResponse:
    """Handle the changes as the settings from before the call require, and report it."""
    mode = policy.resolve_mode(kb.environment.get(policy.MODE), diff.before.mode).name
    attributed = AttributedChanges()
    if diff.changes and mode != policy.OFF:
        attributed = attribute_changes(kb, diff, began, allowed)
    if diff.before.writer == "direct" or attributed == AttributedChanges():
        adopt_all_changes(kb, diff)
        return HookResponse()
    is_blocking = mode == policy.BLOCK and not only_named
    # restore settings in every mode but off: an agent could switch the guard off with them
    back = [one for one in attributed.edits if is_blocking or (one.path in SETTINGS and not only_named)]
    remaining = [one for one in attributed.edits if one not in back]
    notices: list[tuple[Message, bool]] = []  # each with whether the person is notified too
    if back:
        notices.append((_revert_changes(kb, caller, diff, back), True))
        if committed := _list_committed(kb, diff, back):
            notices.append((_format_commit_warning(kb, diff, committed), True))
    if remaining:
        paths, command = _format_paths([one.path for one in remaining]), _format_undo_commands(kb, diff, remaining)
        warning = msg(
            "kb: {paths} changed outside kb, unchecked. Next: submit it with kb write, then: {command}",
            paths=paths,
            command=command,
        )
        notices.append((warning, False))
    if lost := [one for one in (*attributed.discarded, *remaining) if one.mark == MARK_COPIED and one.before != GONE]:
        notices.append((_keep_lost_text(kb, lost), True))
    if attributed.moved:
        notices.append((_format_moved_warning(diff, attributed.moved), False))
    refresh_snapshot(kb, caller.folder, remaining)
    texts = [(kb.localise(text), for_person) for text, for_person in notices]
    person = "\n".join(text for text, for_person in texts if for_person)
    return HookResponse(context="\n".join(text for text, _ in texts), message=person)


# -- block -------------------------------------------------------------------------------------------


def _revert_changes(kb: Workspace, caller: Caller, diff: SnapshotDiff, changes: Sequence[OutsideChange]) -> Message:
    """Commit the agent's version of *changes* to a branch, restore the files, and return a message with the branch."""
    inside = [change for change in changes if not os.path.isabs(change.path)]
    others = [one for one in changes if os.path.isabs(one.path) or _redact_data(kb, one.data) != one.data]
    branch = _commit_review_branch(kb, caller, diff, inside) if inside else ""
    ref = save_to_kept_ref(kb, {_build_kept_path(change): change.data for change in others}) if others else ""
    lost = [change.path for change in changes if not _restore_file(kb, change)]
    _unstage(kb, inside)
    if lost:
        message = msg(
            "kb: {paths} changed outside kb and cannot be restored; this version is kept as {ref}. Ask the person."
        )
    elif all(change.path in SETTINGS for change in changes):
        message = msg(
            "kb: {paths} was restored: only the person may change the settings of the knowledge base. The new "
            "version is kept as {ref}. Next: ask the person"
        )
    else:
        message = msg(
            "kb: {paths} changed outside kb and was restored; the new version is kept as {ref}. Next: submit it with "
            "kb write"
        )
    paths = _format_paths(lost or [change.path for change in changes])
    return message._replace(values={"paths": paths, "ref": ", ".join(filter(None, (branch, ref)))})


def _list_committed(kb: Workspace, diff: SnapshotDiff, changes: Sequence[OutsideChange]) -> list[str]:
    """Return the files of *changes* whose agent's version is in the present HEAD."""
    after = {one.path: one.after for one in changes if not os.path.isabs(one.path)}
    now = read_tree_oids(kb, kb.repository.head(), after)
    before = read_tree_oids(kb, Head("", diff.before.head), after)
    return [path for path, oid in after.items() if now.get(path, GONE) == oid != before.get(path, GONE)]


def _format_commit_warning(kb: Workspace, diff: SnapshotDiff, paths: Sequence[str]) -> Message:
    """Return the command that undoes the agent's commit: kb reverts no commit of others itself.

    The command restores the files from the earlier commit into git's index, and does not touch uncommitted text.
    """
    where = paths if len(paths) <= _MAX_COMMAND_PATHS else sorted({os.path.dirname(path) for path in paths})
    if diff.before.head:
        restore = _format_git_command(kb, "restore", f"--source={diff.before.head[:12]}", "--staged", "--", *where)
    else:
        restore = _format_git_command(kb, "rm", "-q", "--cached", "--", *paths)
    return msg(
        "kb: a commit holds the changed {paths} as well, so git shows them as edited. Next, to undo that: {command}",
        paths=_format_paths(paths),
        command=_append_commit(kb, restore),
    )


def _commit_review_branch(kb: Workspace, caller: Caller, diff: SnapshotDiff, changes: Sequence[OutsideChange]) -> str:
    """Commit *changes* to a review branch of their own, on what was checked out before the call; return its name."""
    repository = kb.repository
    # based on the HEAD before the call: the review must not be compared with the agent's own commit
    tip = diff.before.head or repository.head().oid
    first = next((one for one in changes if _read_record(kb, one)), changes[0])
    record = _read_record(kb, first)
    name = record.id if record else os.path.basename(first.path).partition(".")[0]
    against = [known.id for change in changes if (known := _read_record(kb, change))]
    trailers = {
        "Kb-Op": "review",
        "Kb-Session": caller.session,
        "Kb-Host": caller.host,
        "Kb-Uid": record.uid if record else "",
        "Kb-Path": first.path,
        "Kb-Against": ",".join(dict.fromkeys(against)),
    }
    masked = {change.path: _redact_data(kb, change.data) for change in changes}
    paths = [change.path for change in changes]
    shown = _format_paths(paths)
    reason = kb.localise(msg("An agent changed {paths} outside kb; the files were restored.", paths=shown))
    words = format_commit_message(f"Keep what an agent changed outside kb: {name}", reason, trailers)
    with repository.hold_lock(), kb.state.open_stage() as stage:
        ref = _find_free_ref(kb, f"refs/heads/kb/review/{name}-outside")
        commit = repository.build_commit(tip, masked, words, stage=stage)
        repository.update_refs([RefMove(ref, commit, "")], "kb: changed outside kb")
    return ref.removeprefix("refs/heads/")


def _find_free_ref(kb: Workspace, stem: str) -> str:
    """Return *stem* with the first number that makes a free ref name."""
    names = (stem if number == 1 else f"{stem}-{number}" for number in itertools.count(1))
    return next(name for name in names if not kb.repository.resolve_ref(name))


def _redact_data(kb: Workspace, data: bytes | None) -> bytes | None:
    """Return *data* without secrets: a review branch goes to the remote with the next sync."""
    from kb.safety.redaction import redact_text

    try:
        return redact_text(data.decode(), kb.config.masking)[0].encode() if data else data
    except UnicodeDecodeError:
        return data


def _read_record(kb: Workspace, change: OutsideChange) -> Record | None:
    """Return the record in the file of *change*, before or after it, or None."""
    before = read_content(kb, change.before) if change.before != GONE else None
    for data in (before, change.data):
        try:
            if data is not None and change.path.startswith(f"{CONTENT}/") and change.path.endswith(".md"):
                return record_file.read(data, change.path)
        except BadRecord:
            continue
    return None


def _restore_file(kb: Workspace, change: OutsideChange) -> bool:
    """Restore the file of *change* and return whether that succeeded."""
    path = os.path.join(kb.root, change.path)
    if record_stamps.compute_stamp(path).partition(":")[0] != (str(change.changed) if change.changed else GONE):
        return False  # somebody has changed it since the check
    before = None if change.before == GONE else read_content(kb, change.before)
    if change.before != GONE and before is None:
        return False
    if os.path.islink(path) or before is None:
        remove_file(path)
    if before is not None:
        folders = change.path.split("/")[:-1] if not os.path.isabs(change.path) else []
        for count in range(1, len(folders) + 1):  # links or files may have replaced its folders
            above = os.path.join(kb.root, *folders[:count])
            if os.path.islink(above) or os.path.isfile(above):
                os.unlink(above)
        write_atomic(path, before)
    return True


def _unstage(kb: Workspace, changes: Iterable[OutsideChange]) -> None:
    """Remove the agent's versions from git's index, but not what a person has staged."""
    paths = []
    for change in changes:
        listed = kb.repository.git("ls-files", "-s", "-z", "--", kb.repository.to_git_path(change.path), check=False)
        staged = listed.split(b" ")[1].decode() if listed else GONE
        if staged == change.after:
            paths.append(change.path)
    if paths:
        with contextlib.suppress(KbError), worktree.hold_index(kb.repository) as following:
            following.reset_index_paths(dict.fromkeys(paths, False), "HEAD")


# -- warn, and what is kept --------------------------------------------------------------------------


def _format_undo_commands(kb: Workspace, diff: SnapshotDiff, changes: Sequence[OutsideChange]) -> str:
    """Return the commands that undo *changes*; committed ones are restored from the earlier commit."""
    known = read_tree_oids(kb, kb.repository.head(), [change.path for change in changes])
    committed = _list_committed(kb, diff, changes) if diff.before.head else []
    paths = [one.path for one in changes if one.path not in committed and one.path in known]
    new = [one.path for one in changes if one.path not in committed and one.path not in known]
    both = ("--staged", "--worktree", "--")
    commands = [_format_git_command(kb, "restore", *both, *paths[:_MAX_NAMED_PATHS])] if paths else []
    commands += (
        [shlex.join(["rm", "--", *(os.path.join(kb.root, path) for path in new[:_MAX_NAMED_PATHS])])] if new else []
    )
    if committed:
        undone = _format_git_command(
            kb, "restore", f"--source={diff.before.head[:12]}", *both, *committed[:_MAX_NAMED_PATHS]
        )
        commands.append(_append_commit(kb, undone))
    return "; ".join(commands)


def _append_commit(kb: Workspace, restore: str) -> str:
    """Return the command *restore*, followed by the one that commits the result."""
    return f"{restore} && {_format_git_command(kb, 'commit', '-m', 'Undo changes outside kb')}"


def _format_git_command(kb: Workspace, *words: str) -> str:
    return shlex.join(["git", "-C", kb.root, *words])


def _keep_lost_text(kb: Workspace, changes: Sequence[OutsideChange]) -> Message:
    """Keep a person's uncommitted text under a ref, and return a message on how to restore it."""
    contents = {_build_kept_path(change): read_content(kb, change.before) for change in changes}
    ref, paths = save_to_kept_ref(kb, contents), list(contents)
    return msg(
        "kb: {paths} had uncommitted text that a command of the agent discarded; it is kept as {ref}. Restore it "
        "with: {command}",
        paths=_format_paths([change.path for change in changes]),
        ref=ref,
        command=_format_git_command(kb, "restore", f"--source={ref}", "--", *paths[:_MAX_NAMED_PATHS]),
    )


def save_to_kept_ref(kb: Workspace, contents: Mapping[str, bytes | None]) -> str:
    """Commit *contents* (path → bytes) under a ref of their own that is never pushed; return the ref.

    Delete such refs older than DAYS.
    """
    stamp = time.strftime(_TIME, time.gmtime(kb.now()))
    with kb.repository.hold_lock(), kb.state.open_stage() as stage:
        ref = _find_free_ref(kb, KEPT_REFS + stamp)
        words = format_commit_message("Keep text that no commit has", "", {"Kb-Op": "kept"})
        commit = kb.repository.build_commit(kb.repository.head().oid, dict(contents), words, stage=stage)
        oldest = KEPT_REFS + time.strftime(_TIME, time.gmtime(kb.now() - DAYS * 86_400))  # their names contain the date
        rows = (row.split(" ") for row in kb.repository.list_refs(KEPT_REFS, form="%(refname) %(objectname)"))
        moves = [RefMove(ref, commit, ""), *(RefMove(old, "", oid) for old, oid in rows if old < oldest)]
        kb.repository.update_refs(moves, "kb: keep text that no commit has")
    return ref


def _build_kept_path(change: OutsideChange) -> str:
    """Return the path of a content in that commit: a file outside the knowledge base keeps its whole path."""
    return "outside" + change.path if os.path.isabs(change.path) else change.path


def _format_moved_warning(diff: SnapshotDiff, changes: Sequence[OutsideChange]) -> Message:
    gone = [change.path for change in changes if change.after == GONE]
    command = f"git switch {diff.before.ref.removeprefix('refs/heads/')}" if diff.before.ref else ""
    if diff.before.ref == diff.now.ref or not command:
        command = f"git log {diff.before.head[:12]}"
    message = msg(
        "kb: with the commit that is checked out now these records have another status: {paths}. "
        "They are as they were in {before}: {command}"
    )
    if gone:
        message = msg(
            "kb: with the commit that is checked out now these records are gone: {paths}. They are in {before}: "
            "{command}"
        )
    paths = _format_paths(gone or [change.path for change in changes])
    return message._replace(values={"paths": paths, "before": diff.before.head[:12], "command": command})


def _format_paths(paths: Sequence[str]) -> str:
    shown = ", ".join(" ".join(path.split()) for path in paths[:_MAX_NAMED_PATHS])
    return shown if len(paths) <= _MAX_NAMED_PATHS else f"{shown} … ({len(paths)})"
