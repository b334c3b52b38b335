"""Decide on a tool call before it runs: parse the call, look up the session, return one response.

The rules are in `policy`; `outside_changes` finds what a call has changed in spite of them, and `set_aside` handles it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.config import FILE
from kb.errors import BadInput
from kb.guard import policy
from kb.guard.action_hints import ActionHints, PendingEdit
from kb.guard.call_paths import (
    CallFolders,
    can_change_block,
    classify_path,
    expand_call_path,
    filter_project_paths,
    find_call_folders,
    is_inside,
    is_likely_protected,
    list_text_edits,
    parse_effects,
    resolve_real_path,
)
from kb.guard.policy import HIGH, PATTERNS, RISK_FILE, RiskLevel, RiskSettings
from kb.guard.programs import REMOVED, CallEffects, CallPath
from kb.hosts import DENY, WARN, HookResponse, merge_responses
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.index.schema import Filter
from kb.records.model import GLOBAL, Record, Status
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.session_log import NOTICED, READ, SessionLog

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_MAX_LOOKUP_PATHS = 20
"""Maximum number of paths of one call to look up records for."""
_MAX_SEEN_FILES = 500
"""Maximum number of files per prompt whose citations are remembered as checked."""


class PendingCall(NamedTuple):
    """A tool call, as a host reports it before it runs."""

    tool: str
    given: Mapping[str, Any]
    session: str = ""
    prompt: str = ""
    """The host's id of the prompt it belongs to, or ""."""
    folder: str = ""
    agent: str = ""
    """The host's id of the calling sub-agent, or "" for the session itself."""


def decide_call(kb: Workspace, pending: PendingCall) -> HookResponse:
    """Return the guard's decision on the call *pending*, and remember what memory it reads."""
    known = {name: value for name in ("HOME", "USER", "TMPDIR", "KB_HOME") if (value := kb.environment.get(name))}
    call = parse_effects(pending.tool, pending.given, {**known, "PWD": pending.folder or kb.root})
    folders = find_call_folders(kb, pending.folder)
    log = SessionLog(kb, pending.session, pending.agent)
    # if no event has announced a new prompt, its first call does
    if pending.prompt and not log.is_current_prompt(pending.prompt):
        log.begin_prompt(pending.prompt)
    _log_reads(call, folders, log)
    refused = _refuse_forbidden(kb, pending, call, folders)
    if refused.permission == DENY or not (call.writes or call.is_unbounded):
        return refused
    paths = [
        path + "/" if each.whole and os.path.isdir(path) else path
        for each in call.writes
        for path in expand_call_path(each, folders)
    ]
    written = filter_project_paths(paths, folders)
    if not written and not call.is_unbounded:
        return refused
    many = call.is_unbounded or any(path.endswith("/") for path in written)
    return merge_responses(refused, *_check_written_paths(kb, written, pending, folders, log, many=many))


# -- what was read -----------------------------------------------------------------------------------


def _log_reads(call: CallEffects, folders: CallFolders, log: SessionLog) -> None:
    """Remember the memory files that *call* reads, by real path (MBANK-30)."""
    for path in (path for each in call.reads for path in expand_call_path(each, folders)):
        real = resolve_real_path(path)
        if any(is_inside(real, top) for top in folders.memory_folders):
            log.add(READ, real)
    for word in call.asked:
        # `kb proposal list` shows no records, so it does not count as reading
        if word != "proposal":
            log.add(READ, f"kb {word}")


def _list_required_files(folders: CallFolders, settings: RiskSettings) -> list[str]:
    """Return the memory bank files of which one must have been read; [] if there are none."""
    if not folders.bank:
        return []
    names = ("details/patterns.md", "patterns.md", "MEMORY.md")
    files = [os.path.join(folders.bank, *name.split("/")) for name in names]
    readable = [path for path in files if os.path.isfile(path) and os.access(path, os.R_OK)]
    patterns = [path for path in readable if path != files[-1]]
    return patterns if patterns and settings.requires == PATTERNS else readable


def _find_reading_step(
    kb: Workspace, folders: CallFolders, settings: RiskSettings, log: SessionLog, paths: Sequence[str], *, is_high: bool
) -> Message | None:
    """Return how to read the memory, or None if it has been read or nothing in it is about the call."""
    reads = log.list_turn_values(READ)
    if wanted := _list_required_files(folders, settings):
        if any(is_inside(resolve_real_path(path), read) for path in wanted for read in reads if os.path.isfile(read)):
            return None
        return msg("read {path}", path=_shorten_path(wanted[0], folders))
    if reads:
        return None
    project = kb.project(folders.folder)
    if record := _find_governing_record(kb, project, paths):
        return msg("run: {command}", command=f"kb show {qualify_name(kb, record)}")
    # global records alone are no memory of this project, unless they are in it
    is_own = is_inside(kb.root, folders.project)
    scopes = [project, GLOBAL] if is_own else [project] if project != GLOBAL else []
    if is_high and scopes and kb.sync_index(thorough=False).list_titles(scopes, 1):
        return msg("run: {command}", command="kb list")
    return None


def _find_governing_record(kb: Workspace, project: str, paths: Sequence[str]) -> Record | None:
    """Return an accepted record whose impact names one of *paths* or a folder above it, or None."""
    scopes = kb.own_scopes(project)
    for path in paths[:_MAX_LOOKUP_PATHS]:
        wanted = Filter(scopes=scopes, statuses=(Status.ACCEPTED,), path=path)
        if found := kb.sync_index(thorough=False).records(wanted):
            return found[0]
    return None


def _shorten_path(path: str, folders: CallFolders) -> str:
    return os.path.relpath(path, folders.project) if is_inside(path, folders.project) else path


class GuardStatus(NamedTuple):
    """The state of the guard in a folder."""

    mode: str
    notice: Message | None
    read: tuple[str, ...]
    """The files of which one must have been read; () for any record."""
    risks: tuple[tuple[str, RiskLevel], ...]
    """The requested paths, each with its risk."""


def load_guard_status(kb: Workspace, folder: str, paths: Sequence[str] = ()) -> GuardStatus:
    """Return the guard's state in *folder*, and the risk of writing *paths*; raise BadRiskSettings."""
    settings, folders = policy.load_risk_settings(kb.root), find_call_folders(kb, folder)
    mode = policy.resolve_mode(kb.environment.get(policy.MODE), kb.config.guard)
    read = tuple(_shorten_path(path, folders) for path in _list_required_files(folders, settings))
    inside = [filter_project_paths([os.path.join(folders.folder, path)], folders) for path in paths]
    risks = [policy.assess_risk(written, settings) for written in inside]
    return GuardStatus(mode.name, mode.notice, read, tuple(zip(paths, risks, strict=True)))


# -- who may write -----------------------------------------------------------------------------------


def _refuse_forbidden(kb: Workspace, pending: PendingCall, call: CallEffects, folders: CallFolders) -> HookResponse:
    """Return the refusal of a call that only kb or only a person may make, or None (MBANK-25, 37)."""
    if call.forged_answer:
        what, shown = "forged", call.forged_answer
    elif protected := _find_protected(kb, pending, call, folders):
        shown, what = protected
    elif call.decides:
        what, shown = "decision", call.decides
    else:
        written = [path for each in call.writes for path in expand_call_path(each, folders)]
        own = [os.path.join(kb.root, name) for name in (FILE, RISK_FILE)]
        what, shown = (
            "settings",
            next((os.path.basename(path) for path in written if resolve_real_path(path) in own), ""),
        )
    return policy.rule_on(what, shown).translate(kb.config.language) if shown else HookResponse()


def _find_protected(
    kb: Workspace, pending: PendingCall, call: CallEffects, folders: CallFolders
) -> tuple[str, str] | None:
    """Return the first written path that only kb may write, as shown to people, with its owner, or None.

    With the writer "direct", agents may write everything except kb's own state.
    """
    is_free = kb.config.writer == "direct"
    for each in call.writes:
        if is_likely_protected(each) and not is_free:
            return each.path.replace("\0", "…"), "record"
        for path in expand_call_path(each, folders):
            what = classify_path(path, folders, whole=each.whole)
            if not what and not is_free and can_change_block(path, pending.tool, pending.given):
                what = "block"
            is_allowed = not what or (is_free and what != "state")
            if not is_allowed and (what == "block" or not _is_requested_revert(kb, each, path)):
                return _shorten_path(path, folders), what
    return None


def _is_requested_revert(kb: Workspace, target: CallPath, path: str) -> bool:
    """Return whether the write to *path* is the undo that kb requested after a change outside kb."""
    if not target.undo_kind:
        return False
    from kb.guard.outside_changes import can_revert_change

    return can_revert_change(kb, resolve_real_path(path), removes=target.undo_kind == REMOVED)


# -- what should have been read, and what holds --------------------------------------------------------


def _check_written_paths(
    kb: Workspace, written: Sequence[str], pending: PendingCall, folders: CallFolders, log: SessionLog, *, many: bool
) -> list[HookResponse]:
    """Return the response to writing the paths *written*: what should have been read, and the governing records."""
    quiet = log.load_quiet()
    responses: list[HookResponse] = []
    settled = quiet.get("settled") is True and quiet.get("project") == folders.project  # it was shown for this prompt
    if not settled:
        settled, responses = _check_reading(kb, written, folders, log, many=many)
        quiet = {}
    hints = ActionHints(kb, kb.project(folders.folder), log, folders.folder)
    edits = _list_pending_edits(written, pending, folders)
    seen = sorted({*quiet.get("files", ()), *written})[:_MAX_SEEN_FILES]
    if not any(response.permission == DENY for response in responses):
        responses.append(hints.tell(edits))
    about = {"settled": settled, "prompt": log.prompt, "project": folders.project, "files": seen}
    log.save_quiet({**about, **hints.list_marks()})
    return responses


def _list_pending_edits(written: Sequence[str], pending: PendingCall, folders: CallFolders) -> list[PendingEdit]:
    """Return the edits of the files *written*, as far as the call shows them."""
    edits = list_text_edits(pending.tool, pending.given)
    return [
        PendingEdit(
            path,
            os.path.join(folders.project, path),
            tuple(one for one in edits if not one.path or one.path.endswith(path) or path.endswith(one.path)),
        )
        for path in written
    ]


def _check_reading(
    kb: Workspace, written: Sequence[str], folders: CallFolders, log: SessionLog, *, many: bool
) -> tuple[bool, list[HookResponse]]:
    """Return whether later writes of this prompt may pass, and the response on what should have been read."""
    mode = policy.resolve_mode(kb.environment.get(policy.MODE), kb.config.guard)
    settings, responses = _load_settings(kb, mode, log)
    risk = policy.assess_risk(written, settings, many=many)
    is_asked = mode.name != policy.OFF and log.session
    step = _find_reading_step(kb, folders, settings, log, written, is_high=risk.name == HIGH) if is_asked else None
    key = step.translate("en") if step else ""
    is_first = not log.list_turn_values(WARN) and key not in log.list_session_values(WARN)
    ruling = policy.rule_on_unread(mode.name, risk, step)
    if ruling.permission and not log.add(ruling.permission, key):
        ruling = policy.Ruling()  # if it cannot be remembered, it would be repeated at every call
    if ruling.permission == DENY or (ruling.permission and is_first):
        responses.append(ruling.translate(kb.config.language))
    return step is None or mode.name != policy.BLOCK, responses


def _load_settings(kb: Workspace, mode: policy.GuardMode, log: SessionLog) -> tuple[RiskSettings, list[HookResponse]]:
    """Return the risk settings, and a message, once per session, if they cannot be used."""
    notices = [kb.localise(mode.notice)] if mode.notice else []
    try:
        settings = policy.load_cached_settings(kb)
    except BadInput as error:
        settings = RiskSettings()
        notices.append(f"kb: {error.translate(kb.config.language)}")
    if not notices or log.list_session_values(NOTICED):
        return settings, []
    log.add(NOTICED)
    return settings, [HookResponse(message="\n".join(notices))]
