"""What kb does at each event of an agent's session, whatever the host."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kb.errors import BadInput, GitFailed, IndexFailed, KbError
from kb.guard.response import ASK, DENY, HookResponse, merge_responses
from kb.hooks.compare_files import compare_protected_files
from kb.hooks.deadline import Late
from kb.hooks.fast_path import SPAWNS
from kb.hooks.guard_fast_path import may_write
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Verdict
from kb.records.record_paths import resolve_openable_path
from kb.sessions.host_input import extract_typed_text
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import hook_failures

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.save_session import SavedSession
    from kb.capture.usage_alerts import UsageAlert

_MEASURED = frozenset({"context_usage_percent", "context_tokens"})
"""Fields of a payload in which a host tells how full the context is."""
_WISHES = ("详细说说", "简要概括", "存档一下", "加载上下文", "修剪上下文", "继续", "continue")
"""Words without which no prompt is a wish to kb itself; then nothing is loaded to look."""
_LONGEST_WISH = 80
_COUNTED = 1_000_000
"""Lines of a file that are counted; of a longer one it is told that there are more."""
_TOLD = ("created", "updated", "appended", "conflict")
"""The verdicts a person is told at once: these changed something (MBANK-20: no write is hidden)."""


def handle_event(event: str, payload: Mapping[str, Any], root: str) -> HookResponse:
    """Do what *event* calls for and return the answer.

    What a session has brought is not lost with a failure: the wish to save it is spooled, and the failure goes on.
    A call with which no failure came ends those of its event.
    """
    before = hook_failures.read_log_stamp(root)
    try:
        try:
            made = _run_handler(event, payload, root)
        except IndexFailed:  # a damaged one has been thrown away; with the next opening it is built anew
            made = _run_handler(event, payload, root)
    except (Exception, Late):
        if event in SAVING:
            _spool_session(payload, root)
        raise
    if any(before) and before == hook_failures.read_log_stamp(root):
        hook_failures.mark_recovered(root, os.environ, event, time.time())
    return made


def _run_handler(event: str, payload: Mapping[str, Any], root: str) -> HookResponse:
    with KnowledgeBase(root, os.environ, folder=_get_text(payload, "cwd")) as kb:
        return HANDLERS[event](kb, payload)


def _get_text(payload: Mapping[str, Any], key: str) -> str:
    """Return a text of the payload as it can be written to a file."""
    value = payload.get(key)
    return value.encode("utf-8", "replace").decode().replace("\0", "") if isinstance(value, str) else ""


def _get_transcript_path(payload: Mapping[str, Any], key: str = "transcript_path") -> str:
    return os.path.expanduser(_get_text(payload, key))


class _EventSession(NamedTuple):
    """Whose event it is."""

    session: str
    folder: str
    host: str = "claude"


def _get_session(payload: Mapping[str, Any]) -> _EventSession:
    return _EventSession(
        _get_text(payload, "session_id"), _get_text(payload, "cwd"), _get_text(payload, "host") or "claude"
    )


def handle_session_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Land what earlier sessions left, and tell the new one what it should know."""
    try:
        landed = kb.land()
    except IndexFailed:
        raise
    except (KbError, OSError) as error:
        landed = []
        remember_failure(kb.root, "SessionStart", error)
    project = kb.project(_get_text(payload, "cwd"))
    session, source = _get_text(payload, "session_id"), _get_text(payload, "source")
    told = kb.start_of_session(session, source=source, project=project)
    return HookResponse(context=told, message=format_report(kb, landed, _get_text(payload, "cwd")))


def handle_user_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Answer a prompt with what the knowledge base has on it, and say when the context fills up; mostly nothing.

    What a host or another agent has put into it is no word of the person; a prompt that is nothing else begins no turn.
    """
    payload = {**payload, "prompt": extract_typed_text(_get_text(payload, "prompt")).strip()}
    if not payload["prompt"]:
        return _continue_turn(kb, payload)
    if said := _run_prompt_command(kb, payload):
        return said
    return merge_responses(*(look(kb, payload) for look in AT_PROMPT))


def _continue_turn(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Note that the turn goes on under the name that the host gave to a prompt of nobody's."""
    from kb.capture.turns import continue_turn

    continue_turn(kb, _get_text(payload, "session_id"), _get_text(payload, "prompt_id"))
    return HookResponse()


def _alert_at_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    lit = _handle_usage_alert(kb, payload)
    return HookResponse(context=lit.context, message=lit.message) if lit else HookResponse()


def _recall_at_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    project = kb.project(_get_text(payload, "cwd"))
    told = kb.answer_to_prompt(_get_text(payload, "prompt"), project=project, folder=_get_text(payload, "cwd"))
    if told:
        from kb.state.session_log import READ, SessionLog

        SessionLog(kb, _get_text(payload, "session_id")).add(READ, "kb prompt")
    return HookResponse(context=told)


def _begin_turn(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Begin a person's turn: what was read before does not count, and what is proposed may be answered."""
    from kb.capture.turns import begin_turn

    session = _get_text(payload, "session_id")
    if not session or payload.get("agent_id"):  # a sub-agent's prompt is an agent's word
        return HookResponse()
    told = begin_turn(
        kb, session, _get_text(payload, "prompt"), _get_text(payload, "prompt_id"), _get_text(payload, "cwd")
    )
    return HookResponse(context=told.context, message=told.message) if told else HookResponse()


def _run_prompt_command(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse | None:
    """Return the answer where the prompt is a wish to kb itself and nothing else."""
    prompt, path = _get_text(payload, "prompt"), _get_transcript_path(payload)
    if len(prompt) > _LONGEST_WISH or not any(word in prompt for word in _WISHES):
        return None
    from kb.capture.prompt_commands import answer_phrase

    try:
        said = answer_phrase(kb, prompt, path=path, **_get_session(payload)._asdict())
    except BadInput as error:  # no transcript to work on
        return HookResponse(message=f"kb: {error.translate(kb.config.language)}")
    return HookResponse(context=said.context, message=said.message) if said else None


def handle_subagent_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Give a sub-agent the hints for its role and task; the host does not say the task, but the call for it did."""
    from kb.guard.subagent_tasks import take_task

    avatar = _get_text(payload, "agent_type")
    task = _get_text(payload, "prompt") or take_task(
        kb, _get_text(payload, "session_id"), avatar, _get_transcript_path(payload)
    )
    project = kb.project(_get_text(payload, "cwd"))
    return HookResponse(context=kb.hint_for_avatar(avatar, task, project=project, quiet=True))


def handle_pre_compact(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Keep the session before the host forgets it: candidates, compact form, archive, session index.

    Where the red light has just archived it, it is not archived again for the same compaction.
    """
    from kb.capture.usage_alerts import reset_alerts

    path = _get_transcript_path(payload)
    if not _has_transcript(kb, "PreCompact", path, needed=True):
        return HookResponse()
    is_archived = "red" in reset_alerts(kb, _get_text(payload, "session_id"))
    saved = kb.save_session(path, archive=not is_archived, **_get_session(payload)._asdict())
    told = (_report_git_refusal(kb, "PreCompact", saved), format_report(kb, saved.verdicts, _get_text(payload, "cwd")))
    return HookResponse(context=saved.compact, message="\n".join(filter(None, told)))


def handle_stop(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Extract what is new, unless the last extraction is too recent: then a later event takes it along."""
    path, agent = _resolve_agent_transcript(payload)
    changed = HookResponse() if agent else compare_protected_files(kb, payload, "Stop")
    usable = _has_transcript(kb, "Stop", path)
    if usable and agent:
        from kb.sessions.active_sessions import ActiveSession

        ActiveSession(kb, _get_text(payload, "session_id")).register_transcript(
            _get_transcript_path(payload), _get_text(payload, "cwd")
        )
    answer = _get_last_answer(payload, agent)
    saved = kb.save_when_due(path, agent=agent, answer=answer, **_get_session(payload)._asdict()) if usable else None
    verdicts = saved.verdicts if saved else ()
    lit = None if agent or not usable else _handle_usage_alert(kb, payload, heard=False)
    asked = "" if agent else _end_turn(kb, payload, verdicts)
    kept = _report_git_refusal(kb, "Stop", saved) if saved else ""
    told = (
        changed.message,
        kept,
        format_report(kb, verdicts, _get_text(payload, "cwd")),
        lit.message if lit else "",
        asked,
    )
    return HookResponse(message="\n".join(filter(None, told)))


def _get_last_answer(payload: Mapping[str, Any], agent: str) -> str:
    """Return the last answer of the agent, as the host tells it before its transcript may have it.

    What a compaction's own agent says is a summary of what others said: that one has no type.
    """
    if agent and not _get_text(payload, "agent_type"):
        return ""
    return _get_text(payload, "last_assistant_message") or _get_text(payload, "prompt_response")


def _end_turn(kb: KnowledgeBase, payload: Mapping[str, Any], verdicts: Sequence[Verdict]) -> str:
    """Ask the person whether to keep what the turn has brought, mostly nothing."""
    from kb.capture.turns import end_turn

    whose = _get_session(payload)
    return end_turn(kb, whose.session, whose.folder, whose.host, verdicts)


def _handle_usage_alert(
    kb: KnowledgeBase, payload: Mapping[str, Any], *, only_told: bool = False, heard: bool = True
) -> UsageAlert | None:
    """Do what the use of the context calls for, if anything; where that fails, the event is answered all the same."""
    if not payload.keys() & _MEASURED and not _get_file_size(_get_transcript_path(payload)):
        return None
    from kb.capture import usage_alerts

    try:
        return usage_alerts.raise_alerts(
            kb,
            _get_text(payload, "session_id"),
            _get_transcript_path(payload),
            percent=usage_alerts.parse_host_percent(payload),
            folder=_get_text(payload, "cwd"),
            host=_get_session(payload).host,
            only_told=only_told,
            heard=heard,
        )
    except (KbError, OSError) as error:
        remember_failure(kb.root, "context use", error)
        return None


def _get_file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _resolve_agent_transcript(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the transcript of the agent that stops, and its name; "" for the session itself."""
    path = _get_transcript_path(payload, "agent_transcript_path")
    return (path, _get_text(payload, "agent_id")) if path else (_get_transcript_path(payload), "")


def handle_session_end(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Spool the session: the host waits 1.5 s at most, so the next call does the work."""
    kb.end_session(_get_transcript_path(payload), **_get_session(payload)._asdict())
    return HookResponse()


def handle_pre_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Answer a tool call before it is made: with the strictest of what looks at it."""
    return merge_responses(*(look(kb, payload) for look in BEFORE_TOOL))


def _limit_long_read(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Let a long file be read in parts."""
    from kb.hooks.fast_path import count_lines
    from kb.sessions.prune_transcript import limit_read

    given = payload.get("tool_input")
    path = given.get("file_path") if isinstance(given, dict) else None
    made = None
    if payload.get("tool_name") == "Read" and isinstance(given, dict) and isinstance(path, str):
        made = limit_read(kb, given, count_lines(path, _COUNTED)) if given.get("limit") is None else None
    return HookResponse(updated_input=made.value, updated_note=kb.localise(made.note)) if made else HookResponse()


def _guard_tool_call(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Ask the guard: was the memory read, and who may write there."""
    from kb.guard.decide import PendingCall, decide_call

    given = payload.get("tool_input")
    seen = PendingCall(
        _get_text(payload, "tool_name"),
        given if isinstance(given, dict) else {},
        _get_text(payload, "session_id"),
        _get_text(payload, "prompt_id"),
        _get_text(payload, "cwd"),
    )
    ruling = decide_call(kb, seen)
    if not may_write(payload) or ruling.permission == DENY:
        return ruling
    return merge_responses(ruling, compare_protected_files(kb, payload, "PreToolUse", asked=ruling.permission == ASK))


def _remember_agent_task(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Remember what a sub-agent is asked for: when it starts, the host does not say."""
    given = payload.get("tool_input")
    if payload.get("tool_name") in SPAWNS and isinstance(given, dict):
        from kb.guard.subagent_tasks import remember_task

        remember_task(kb, _get_text(payload, "session_id"), given, _get_text(payload, "tool_use_id"))
    return HookResponse()


def _alert_at_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Tell of the context at a tool call: in a session that works alone this is where it hears of it."""
    lit = _handle_usage_alert(kb, payload, only_told=True)
    return HookResponse(context=lit.context) if lit else HookResponse()


def handle_post_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Shorten the result of a search before the agent reads it, and tell of records that a command has changed."""
    from kb.sessions.prune_transcript import shorten_result

    given, tool = payload.get("tool_input"), _get_text(payload, "tool_name")
    made = shorten_result(kb, tool, given if isinstance(given, dict) else {}, payload.get("tool_response"),
                          transcript=_get_transcript_path(payload), folder=_get_text(payload, "cwd"))  # fmt: skip
    shorter = HookResponse(updated_output=made.value, updated_note=kb.localise(made.note)) if made else HookResponse()
    changed = compare_protected_files(kb, payload, "PostToolUse") if may_write(payload) else HookResponse()
    return merge_responses(shorter, changed, _alert_at_tool(kb, payload))


def handle_messages(kb: KnowledgeBase, payload: Mapping[str, Any]) -> HookResponse:
    """Prune the messages that go to the model, where a host hands them over."""
    from kb.sessions.prune_transcript import plan_live_edits

    return HookResponse(
        updated_output=plan_live_edits(kb, payload.get("messages"), begun=payload.get("pruning") is True) or None
    )


Look = Callable[[KnowledgeBase, Mapping[str, "Any"]], HookResponse]
BEFORE_TOOL: tuple[Look, ...] = (_guard_tool_call, _limit_long_read, _remember_agent_task, _alert_at_tool)
"""What looks at a tool call before it is made. One more is a function and a word here; `quick.py` lets it be asked."""
AT_PROMPT: tuple[Look, ...] = (_begin_turn, _alert_at_prompt, _recall_at_prompt)
"""What looks at a prompt."""

HANDLERS: Mapping[str, Look] = {
    "SessionStart": handle_session_start,
    "UserPromptSubmit": handle_user_prompt,
    "SubagentStart": handle_subagent_start,
    "PreCompact": handle_pre_compact,
    "Stop": handle_stop,
    "SubagentStop": handle_stop,
    "SessionEnd": handle_session_end,
    "PreToolUse": handle_pre_tool,
    "PostToolUse": handle_post_tool,
    "Messages": handle_messages,
}
SAVING = frozenset({"PreCompact", "Stop", "SubagentStop", "SessionEnd"})
"""Events at whose failure the session is spooled, or what its sub-agent said is put off."""


def _has_transcript(kb: KnowledgeBase, event: str, path: str, *, needed: bool = False) -> bool:
    """Return whether there is a transcript to read; one that is no file, or is *needed* and missing, is reported.

    A host names the file of a session before it writes the first line to it: that it is missing is no failure of kb's.
    """
    from kb.sessions.host_input import has_content, read_transcript

    if has_content(path):
        return True
    is_there = os.path.exists(path)
    if needed or is_there:
        try:
            read_transcript(path)
        except KbError as error:
            remember_failure(kb.root, event, error, by_host=not is_there)
            print(hook_failures.redact_message(f"kb-hook: {event}: {error}"), file=sys.stderr)
    return False


def _spool_session(payload: Mapping[str, Any], root: str) -> None:
    from kb.capture.save_session import spool_for_later
    from kb.sessions.active_sessions import ExtractionJob

    path, agent = _resolve_agent_transcript(payload)
    try:
        spool_for_later(root, os.environ, ExtractionJob(path, **_get_session(payload)._asdict(), agent=agent))
    except OSError as error:
        print(f"kb-hook: not even the spool can be written: {error}", file=sys.stderr)


def format_report(kb: KnowledgeBase, verdicts: Iterable[Verdict], folder: str = "") -> str:
    """Return what a person is told of *verdicts*: what was written and how it is undone; "" for nothing."""
    rows = []
    for verdict in verdicts:
        if verdict.verdict not in _TOLD:
            continue
        name, path = qualify_name(kb, verdict), resolve_openable_path(kb.root, verdict.path, folder)
        if verdict.branch:
            said = msg(
                "kb: [{id}] {title} contradicts what is decided; see: kb review show {branch}",
                id=name, title=verdict.title, branch=verdict.branch,
            )  # fmt: skip
        elif verdict.verdict == "created":
            said = msg(
                "kb: new: [{id}] {title} ({path}); undo it: kb rm {id}",
                id=name, title=verdict.title, path=path,
            )  # fmt: skip
        else:
            said = msg("kb: changed: [{id}] {title} ({path})", id=name, title=verdict.title, path=path)
        rows.append(kb.localise(said))
    return "\n".join(rows)


def _report_git_refusal(kb: KnowledgeBase, event: str, saved: SavedSession) -> str:
    """Return what a person is told of a session that git refused to take, mostly ""; `kb doctor` shows it too.

    The agent goes on, and nothing is lost: this is no reason to answer with a failure.
    """
    if not saved.kept:
        return ""
    remember_failure(kb.root, event, GitFailed(saved.kept))
    return hook_failures.redact_message(f"kb: {saved.kept}")


def remember_failure(root: str, event: str, error: BaseException, *, by_host: bool = False) -> None:
    """Keep a failure where `kb doctor` finds it; *by_host*: the host gave nothing to work on."""
    problem = f"{type(error).__name__}: {error}"
    failure = hook_failures.HookFailure(hook_failures.format_time(time.time()), event, problem, by_host=by_host)
    hook_failures.save_failure(root, os.environ, failure)
