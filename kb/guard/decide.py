"""What the guard says to a tool call: one look at the call, one at the session, one ruling."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.guard import policy
from kb.guard.call_paths import parse_effects
from kb.guard.call_targets import (
    CallFolders,
    classify_path,
    expand_call_path,
    filter_project_paths,
    find_call_folders,
    is_inside,
    is_likely_protected,
    resolve_real_path,
)
from kb.guard.file_access import CallEffects, CallPath
from kb.guard.machine_blocks import can_change_block
from kb.guard.response import DENY, WARN, HookResponse, merge_responses
from kb.guard.risk import FILE as RISK_FILE
from kb.guard.risk import HIGH, PATTERNS, RiskLevel, RiskSettings, assess_risk, render_defaults
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.index.schema import Filter
from kb.records.model import GLOBAL, Record, Status
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.session_log import NOTICED, QUOTED, READ, SessionLog

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_ASKED_ABOUT = 20
"""Paths of one call for which constraints are looked up."""


class PendingCall(NamedTuple):
    """A tool call, as a host tells of it before it is made."""

    tool: str
    given: Mapping[str, Any]
    session: str = ""
    prompt: str = ""
    """What the host calls the prompt that it is made for; "" where it does not say."""
    folder: str = ""


def decide_call(kb: Workspace, seen: PendingCall) -> HookResponse:
    """Return what the guard says to the call *seen*, and remember what it reads of the memory."""
    call = parse_effects(seen.tool, seen.given, _build_variables(kb, seen))
    ground = find_call_folders(kb, seen.folder)
    log = SessionLog(kb, seen.session)
    if seen.prompt and not log.is_current_prompt(seen.prompt):
        log.begin_prompt(seen.prompt)
    _log_reads(call, ground, log)
    refused = _refuse_forbidden(kb, seen, call, ground)
    if refused.permission == DENY or not (call.writes or call.many):
        return refused
    paths = [path + "/" if place.whole and os.path.isdir(path) else path
             for place in call.writes for path in expand_call_path(place, ground)]  # fmt: skip
    written = filter_project_paths(paths, ground)
    if not written and not call.many:
        return refused
    many = call.many or any(path.endswith("/") for path in written)
    return merge_responses(refused, *_check_written_paths(kb, written, ground, log, many=many))


def _build_variables(kb: Workspace, seen: PendingCall) -> dict[str, str]:
    known = {name: value for name in ("HOME", "USER", "TMPDIR", "KB_HOME") if (value := kb.environment.get(name))}
    return {**known, "PWD": seen.folder or kb.root}


# -- what was read -----------------------------------------------------------------------------------


def _log_reads(call: CallEffects, ground: CallFolders, log: SessionLog) -> None:
    """Remember what *call* reads of the memory, by its real path (MBANK-30)."""
    for place in call.reads:
        for path in expand_call_path(place, ground):
            real = resolve_real_path(path)
            if any(is_inside(real, top) for top in ground.memory_folders):
                log.add(READ, real)
    for word in call.asked:
        if word != "proposal":
            log.add(READ, f"kb {word}")


def _list_required_files(kb: Workspace, ground: CallFolders, settings: RiskSettings) -> list[str]:
    """Return the files of the memory bank of which one must have been read; none where there are none to read."""
    if not ground.bank:
        return []
    patterns = [os.path.join(ground.bank, *parts) for parts in (("details", "patterns.md"), ("patterns.md",))]
    index = [os.path.join(ground.bank, "MEMORY.md")]
    there = [[path for path in group if os.path.isfile(path) and os.access(path, os.R_OK)]
             for group in (patterns, index)]  # fmt: skip
    return there[0] or there[1] if settings.requires == PATTERNS else [*there[0], *there[1]]


def _find_reading_step(
    kb: Workspace, ground: CallFolders, settings: RiskSettings, log: SessionLog, paths: Sequence[str], *, is_high: bool
) -> Message | None:
    """Return how the memory is to be read; None where it has been, or where nothing in it is about the call."""
    reads = log.list_turn_values(READ)
    if wanted := _list_required_files(kb, ground, settings):
        if any(is_inside(resolve_real_path(path), read) for path in wanted for read in reads if os.path.isfile(read)):
            return None
        return msg("read {path}", path=_shorten_path(wanted[0], ground))
    if reads:
        return None
    project = kb.project(ground.folder)
    if record := _find_governing_record(kb, project, paths):
        return msg("run: {command}", command=f"kb show {qualify_name(kb, record)}")
    is_own = is_inside(kb.root, ground.project)
    scopes = [project, GLOBAL] if is_own else [project] if project != GLOBAL else []
    if is_high and scopes and kb.sync_index(thorough=False).list_titles(scopes, 1):
        return msg("run: {command}", command="kb list")
    return None


def _find_governing_record(kb: Workspace, project: str, paths: Sequence[str]) -> Record | None:
    """Return an accepted record whose impact names one of *paths*, or a folder above; None for none."""
    scopes = tuple({project, GLOBAL})
    for path in paths[:_ASKED_ABOUT]:
        wanted = Filter(scopes=scopes, statuses=(Status.ACCEPTED,), path=path.rstrip("/"))
        if found := kb.sync_index(thorough=False).records(wanted):
            return found[0]
    return None


def _shorten_path(path: str, ground: CallFolders) -> str:
    return os.path.relpath(path, ground.project) if is_inside(path, ground.project) else path


class GuardStatus(NamedTuple):
    """How the guard stands in a folder."""

    mode: str
    notice: Message | None
    read: tuple[str, ...]
    """What must have been read, any of these files; () for any record."""
    risks: tuple[tuple[str, RiskLevel], ...]
    """The paths that were asked about, each with its risk."""


def load_guard_status(kb: Workspace, folder: str, paths: Sequence[str] = ()) -> GuardStatus:
    """Return how the guard stands in *folder*, and what it thinks of writing each of *paths*; raise BadRisk."""
    from kb.guard.risk_settings import load_risk_settings

    settings, ground = load_risk_settings(kb.root), find_call_folders(kb, folder)
    mode = policy.resolve_mode(kb.environment.get(policy.MODE), kb.config.guard)
    read = tuple(_shorten_path(path, ground) for path in _list_required_files(kb, ground, settings))
    there = [(path, filter_project_paths([os.path.join(ground.folder, path)], ground)) for path in paths]
    return GuardStatus(
        mode.name, mode.notice, read, tuple((path, assess_risk(inside, settings)) for path, inside in there)
    )


def render_default_settings() -> str:
    """Return `risk.yaml` with the defaults, every key with its meaning."""
    return render_defaults()


# -- who may write -----------------------------------------------------------------------------------


def _refuse_forbidden(kb: Workspace, seen: PendingCall, call: CallEffects, ground: CallFolders) -> HookResponse:
    """Return the refusal of what only kb, or only a person, may do (MBANK-25, 37)."""
    language = kb.config.language
    if call.forges:
        return policy.rule_on_forged(call.forges).translate(language)
    is_free = kb.config.writer == "direct"
    for place in call.writes:
        if is_likely_protected(place) and not is_free:
            return policy.rule_on_protected(place.path.replace("\0", "…"), "record").translate(language)
        for path in expand_call_path(place, ground):
            what = classify_path(path, ground, whole=place.whole)
            if what and not (is_free and what != "state") and not _is_requested_revert(kb, place, path):
                return policy.rule_on_protected(_shorten_path(path, ground), what).translate(language)
            if not what and not is_free and can_change_block(path, seen.tool, seen.given):
                return policy.rule_on_protected(_shorten_path(path, ground), "block").translate(language)
    if call.decides:
        return policy.rule_on_decision(call.decides).translate(language)
    return _ask_about_settings(kb, call, ground)


def _is_requested_revert(kb: Workspace, place: CallPath, path: str) -> bool:
    """Return whether the write to *path* is what kb itself asks for after a change outside kb."""
    if not place.back:
        return False
    from kb.guard.outside_changes import can_revert_change

    return can_revert_change(kb, resolve_real_path(path), place.back)


def _ask_about_settings(kb: Workspace, call: CallEffects, ground: CallFolders) -> HookResponse:
    from kb.config import FILE

    own = {os.path.join(kb.root, name) for name in (FILE, RISK_FILE)}
    for place in call.writes:
        for path in expand_call_path(place, ground):
            if resolve_real_path(path) in own:
                return policy.rule_on_settings(os.path.basename(path)).translate(kb.config.language)
    return HookResponse()


# -- what should have been read, and what holds --------------------------------------------------------


def _check_written_paths(
    kb: Workspace, written: Sequence[str], ground: CallFolders, log: SessionLog, *, many: bool
) -> list[HookResponse]:
    """Return what is said of writing the paths *written*: what should have been read, and the constraints on them."""
    kept = log.load_quiet()
    patterns = kept.get("patterns", []) if kept.get("project") == ground.project else [""]
    if kept.get("settled") is True and not any(_can_match_path(path, patterns) for path in written):
        return []  # it has spoken for this prompt
    language = kb.config.language
    mode = policy.resolve_mode(kb.environment.get(policy.MODE), kb.config.guard)
    try:
        from kb.guard.risk_settings import load_cached_settings

        settings, trouble = load_cached_settings(kb), None
    except BadInput as error:
        settings, trouble = RiskSettings(), error
    said = []
    if not log.list_session_values(NOTICED):
        notices = [kb.localise(mode.notice)] if mode.notice else []
        notices += [f"kb: {trouble.translate(language)}"] if trouble else []
        if notices:
            log.add(NOTICED)
            said.append(HookResponse(message="\n".join(notices)))
    risk = assess_risk(written, settings, many=many)
    is_asked = mode.name != policy.OFF and log.session
    step = _find_reading_step(kb, ground, settings, log, written, is_high=risk.name == HIGH) if is_asked else None
    key = step.translate("en") if step else ""
    is_first = not log.list_turn_values(WARN) and key not in log.list_session_values(WARN)
    ruling = policy.rule_on_unread(mode.name, risk, step)
    if ruling.permission and not log.add(ruling.permission, key):
        ruling = policy.Ruling()
    if ruling.permission == DENY or (ruling.permission and is_first):
        said.append(ruling.translate(language))
    constraints = _build_constraint_filter(kb, ground)
    patterns = sorted(
        {_extract_literal_prefix(path) for path in kb.sync_index(thorough=False).list_impact_paths(constraints)}
    )
    said.append(_quote_constraints(kb, constraints, [path for path in written if _can_match_path(path, patterns)], log))
    settled = step is None or mode.name != policy.BLOCK
    log.save_quiet({"settled": settled, "prompt": log.prompt, "patterns": patterns, "project": ground.project})
    return said


def _build_constraint_filter(kb: Workspace, ground: CallFolders) -> Filter:
    """Return what asks for the accepted constraints of the project."""
    project = kb.project(ground.folder)
    return Filter(kinds=("constraint",), scopes=tuple({project, GLOBAL}), statuses=(Status.ACCEPTED,))


def _quote_constraints(kb: Workspace, constraints: Filter, written: Sequence[str], log: SessionLog) -> HookResponse:
    """Quote the constraints on what is written, each once in a session."""
    known = set(log.list_session_values(QUOTED))
    on_paths = [
        (path, kb.index.records(constraints._replace(path=path.rstrip("/")))) for path in written[:_ASKED_ABOUT]
    ]
    found = {record.uid: record for _, records in on_paths for record in records if record.uid not in known}
    if not found:
        return HookResponse()
    from kb.context.hint_text import render_prompt_hint

    hint = render_prompt_hint(list(found.values()), kb.config)
    for record in hint.shown:
        log.add(QUOTED, record.uid)
    about = next(path for path, records in on_paths if any(record.uid in found for record in records))
    head = kb.localise(msg("kb: what holds for {path}:", path=about))
    return HookResponse(context=f"{head}\n{hint.text}") if hint.text else HookResponse()


def _can_match_path(path: str, patterns: Sequence[str]) -> bool:
    return path.casefold().startswith(tuple(patterns))


def _extract_literal_prefix(path: str) -> str:
    """Return the beginning of an impact path that no wildcard stands in, in small letters."""
    return _WILD.split(path, maxsplit=1)[0].rstrip("/").casefold()


_WILD = regex(r"[*?\[]")
