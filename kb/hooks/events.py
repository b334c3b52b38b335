"""Handle the events of an agent's session, independent of the host; tool calls are in `tool_events`.

Payloads are clean here: the texts in them can be written to a file, and are "" where the host gives none.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.errors import BadInput, GitFailed, IndexFailed, KbError
from kb.hooks.tool_events import (
    Handler,
    compare_protected_files,
    get_transcript_path,
    handle_post_tool,
    handle_pre_tool,
    raise_usage_alert,
    remember_failure,
)
from kb.hosts import CLAUDE, DENY, HOSTS, HookResponse, Host, merge_responses
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import resolve_openable_path, sanitise_session_id
from kb.records.model import Verdict
from kb.sessions.host_input import extract_typed_text
from kb.startup.namedtuple import TYPE_CHECKING
from kb.startup.process import signal
from kb.state import state_folder
from kb.state.project import find_own_root

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    Payload = Mapping[str, Any]

_SOFT_TIMEOUT_SHARE, _HARD_TIMEOUT_SHARE = 0.8, 0.9
"""The parts of the host's time after which kb gives up, and after which a hook that waits for others is ended."""
_SESSION_END_SECONDS = 1.2
"""Seconds at the end of a session where kb is a plugin: the host gives all hooks of plugins together 1.5."""
_COMMAND_WORDS = (
    *("详细说说", "展开", "简要概括", "压缩", "存档", "加载上下文", "修剪", "继续"),
    *("continue", "expand the", "sum up", "archive th", "load the", "prune the"),
)
"""Words without which no prompt is a command to kb itself; then nothing is loaded to look."""
_MAX_COMMAND_CHARACTERS = 80
"""Characters of a prompt that can be a command."""
_REPORTED_VERDICTS = ("created", "updated", "appended", "conflict")
"""The verdicts a person is told at once: these changed something (MBANK-20: no write is hidden)."""


# -- time limits: stop before the host kills the hook, so that it can report -------------------------


class DeadlineExceeded(BaseException):
    """The time is over. It is no Exception, so nothing that goes on after a failure goes on after this."""


def compute_limits(host: Host, event: str) -> tuple[float, float]:
    """Return after how many seconds kb gives up at *event*, kb's name of it, and after how many it is ended."""
    if event == "SessionEnd" and "CLAUDE_PLUGIN_ROOT" in os.environ:
        return _SESSION_END_SECONDS, _SESSION_END_SECONDS + 0.1
    given = min((row.seconds or 10 for row in host.event_rows if row.event == event), default=10)
    return _SOFT_TIMEOUT_SHARE * given, _HARD_TIMEOUT_SHARE * given


@contextlib.contextmanager
def enforce_deadline(limit: float) -> Iterator[None]:
    """Raise DeadlineExceeded in the block after *limit* seconds."""

    def raise_at_alarm(number: int, frame: FrameType | None) -> None:
        raise DeadlineExceeded(f"not done within {limit:g} s")

    try:
        before = signal.signal(signal.SIGALRM, raise_at_alarm)
    except ValueError:  # not the main thread: who calls from another one keeps its own time
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def force_exit_after(limit: float, answer: str, code: int) -> Iterator[None]:
    """End the process with *answer* and *code* after *limit* seconds (0: never), whatever the block is waiting for."""
    # Python answers an alarm between its own steps only: not while a dead network disk or SQLite lets it wait
    over = _thread.allocate_lock()
    over.acquire()

    def exit_when_late() -> None:
        if not over.acquire(timeout=limit):
            os.write(1, answer.encode())
            os._exit(code)

    if limit:
        _thread.start_new_thread(exit_when_late, ())
    try:
        yield
    finally:
        over.release()


# -- every event -------------------------------------------------------------------------------------


def handle_event(event: str, payload: Payload, root: str) -> HookResponse:
    """Do what *event* calls for and return the answer.

    What a session has brought is not lost with a failure: the request to save it is spooled, and the failure goes on.
    A call with which no failure came ends those of its event.
    """
    before = state_folder.read_log_stamp(root)
    try:
        try:
            made = _run_handler(event, payload, root)
        except IndexFailed:  # a damaged one has been thrown away; with the next opening it is built again
            made = _run_handler(event, payload, root)
    except (Exception, DeadlineExceeded):
        if event in _SESSION_SAVING_EVENTS:
            _spool_session(payload, root)
        raise
    if any(before) and before == state_folder.read_log_stamp(root):
        state_folder.mark_recovered(root, os.environ, event, time.time())
    return made


def _run_handler(event: str, payload: Payload, root: str) -> HookResponse:
    # what belongs to one agent alone is told to that one: the host says who it is, where the user has not
    environment = {"KB_AGENT": payload.get("host") or CLAUDE.name, **os.environ}
    with KnowledgeBase(root, environment, folder=payload.get("cwd", "")) as kb:
        return HANDLERS[event](kb, payload)


def _get_session(payload: Payload) -> dict[str, Any]:
    """Return whose event it is: session, folder and host."""
    return {
        "session": payload.get("session_id", ""),
        "folder": payload.get("cwd", ""),
        "host": payload.get("host") or CLAUDE.name,
    }


# -- the beginning -----------------------------------------------------------------------------------


def handle_session_start(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Land what earlier sessions left, and tell the new one what it should know."""
    from kb.context import cures
    from kb.context.give_hints import build_start_context

    landed: list[Verdict] = []
    try:
        landed = kb.land()
    except IndexFailed:
        raise
    except (KbError, OSError) as error:
        remember_failure(kb.root, "SessionStart", error)
    if find_own_root(kb) and os.path.isdir(kb.state.path("proposals")):
        from kb.capture.proposals import land_personal

        landed += land_personal(kb)
    cures.save_known_errors(kb)
    folder = payload.get("cwd", "")
    session, source = payload.get("session_id", ""), payload.get("source", "")
    context = build_start_context(kb, session, source=source, project=kb.project(folder))
    if source in ("compact", "resume"):
        from kb.capture.handover import take_question

        context = "\n\n".join(filter(None, (context, take_question(kb, session, resumed=True))))
    return HookResponse(context=context, message=format_report(kb, landed, folder))


def handle_subagent_start(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Give a sub-agent the hints for its role and task; the host does not say the task, but the call for it did."""
    from kb.hooks.tool_events import take_task
    from kb.state.session_log import SessionLog

    avatar = payload.get("agent_type", "")
    task = payload.get("prompt") or take_task(kb, payload.get("session_id", ""), avatar, get_transcript_path(payload))
    project, agent = kb.project(payload.get("cwd", "")), payload.get("agent_id", "")
    told = SessionLog(kb, payload.get("session_id", ""), agent) if agent else None
    return HookResponse(context=kb.hint_for_avatar(avatar, task, project=project, quiet=True, told=told))


# -- a prompt ----------------------------------------------------------------------------------------


def handle_user_prompt(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Answer a prompt with what the knowledge base has on it, and say when the context fills up; usually nothing.

    What a host or another agent has put into it is not the person's; a prompt that is nothing else begins no turn, and
    the turn goes on under the name that the host gave to it.
    """
    payload = {**payload, "prompt": extract_typed_text(payload.get("prompt", "")).strip()}
    if not payload["prompt"]:
        from kb.capture.turns import continue_turn

        continue_turn(kb, payload.get("session_id", ""), payload.get("prompt_id", ""))
        return HookResponse()
    if done := _run_prompt_command(kb, payload):
        return done
    session, folder = payload.get("session_id", ""), payload.get("cwd", "")
    answers: list[Any] = []
    if session and not payload.get("agent_id"):  # a sub-agent's prompt is an agent's, and begins no turn of a person
        from kb.capture.turns import begin_turn

        answers.append(begin_turn(kb, session, payload["prompt"], payload.get("prompt_id", ""), folder))
    answers.append(raise_usage_alert(kb, payload))
    answers.append(_ask_for_handover(kb, payload))
    from kb.state.session_log import READ, SessionLog

    log = SessionLog(kb, session, payload.get("agent_id", ""))
    context = kb.answer_to_prompt(payload["prompt"], project=kb.project(folder), folder=folder, told=log)
    if context:  # what has been told needs not be read
        log.add(READ, "kb prompt")
    return merge_responses(*map(_respond, answers), HookResponse(context=context))


def _ask_for_handover(kb: KnowledgeBase, payload: Payload) -> HookResponse | None:
    """Return what the agent is asked about what the session settled, where something waits and the host says it."""
    from kb.state.session_log import HANDOVER

    session = payload.get("session_id", "")
    host = HOSTS.get(payload.get("host", ""), CLAUDE)
    if not session or payload.get("agent_id") or not host.tells_model("UserPromptSubmit"):
        return None
    # usually nothing waits: then this is one look for a file, and nothing is loaded
    if not os.path.exists(kb.state.path("active", sanitise_session_id(session), HANDOVER)):
        return None
    from kb.capture.handover import take_question

    return HookResponse(context=take_question(kb, session))


def _run_prompt_command(kb: KnowledgeBase, payload: Payload) -> HookResponse | None:
    """Return the answer where the prompt is a command to kb itself and nothing else."""
    prompt = payload["prompt"]
    if len(prompt) > _MAX_COMMAND_CHARACTERS or not any(word in prompt.lower() for word in _COMMAND_WORDS):
        return None
    from kb.capture.prompt_commands import answer_phrase

    try:
        answer = answer_phrase(kb, prompt, path=get_transcript_path(payload), **_get_session(payload))
    except BadInput as error:  # no transcript to work on
        return HookResponse(message=f"kb: {error.translate(kb.config.language)}")
    return _respond(answer) if answer else None


def _respond(answer: Any) -> HookResponse:
    """Return an *answer* with a text for the model and one for the person, or None, as a response."""
    return HookResponse(context=answer.context, message=answer.message) if answer else HookResponse()


# -- the end -----------------------------------------------------------------------------------------


def handle_pre_compact(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Keep the session before the host forgets it: candidates, compact form, archive, session index.

    Where the red light has just archived it, it is not archived again for the same compaction.
    """
    from kb.capture.usage_alerts import reset_alerts
    from kb.state.session_log import SessionLog

    SessionLog(kb, payload.get("session_id", ""), payload.get("agent_id", "")).forget_told()
    path = get_transcript_path(payload)
    if not _has_transcript(kb, "PreCompact", path, needed=True):
        return HookResponse()
    # the context is small again afterwards: the alerts of 70 %, 85 % and 95 % may come again
    is_archived = "red" in reset_alerts(kb, payload.get("session_id", ""))
    saved = kb.save_session(path, archive=not is_archived, **_get_session(payload))
    refusal = _report_git_refusal(kb, "PreCompact", saved.kept)
    report = format_report(kb, saved.verdicts, payload.get("cwd", ""))
    return HookResponse(context=saved.compact, message="\n".join(filter(None, (refusal, report))))


def handle_stop(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Extract what is new, unless the last extraction is too recent: then a later event takes it along."""
    path, agent = _resolve_agent_transcript(payload)
    owner = _get_session(payload)
    # a sub-agent ends while its session goes on: what changed since is looked at when that one's turn ends
    changed = HookResponse() if agent else compare_protected_files(kb, payload, "Stop")
    verdicts: Sequence[Verdict] = ()
    messages = [changed.message]
    usable = _has_transcript(kb, "Stop", path)
    if usable and agent:
        from kb.sessions.active_sessions import ActiveSession

        parent = get_transcript_path(payload)
        ActiveSession(kb, owner["session"]).register_transcript(parent, owner["folder"])
    if usable:
        answer = _get_last_answer(payload, agent)
        if saved := kb.save_when_due(path, agent=agent, answer=answer, **owner):
            verdicts = saved.verdicts
            messages.append(_report_git_refusal(kb, "Stop", saved.kept))
    messages.append(format_report(kb, verdicts, owner["folder"]))
    if not agent:
        from kb.capture.turns import end_turn

        alert = raise_usage_alert(kb, payload, heard=False) if usable else None
        messages += [alert.message if alert else "", end_turn(kb, **owner, verdicts=verdicts)]
    response = HookResponse(message="\n".join(filter(None, messages)))
    return merge_responses(response, _hold_up_for_handover(kb, payload)) if not agent else response


def _hold_up_for_handover(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Return the question that holds up the end of a turn where the settings want that, once in a session."""
    session, host = payload.get("session_id", ""), HOSTS.get(payload.get("host", ""), CLAUDE)
    is_wanted = kb.config.handover == "stop" and "Stop" in host.blocking and session and not payload.get("agent_id")
    # a turn that was held up before, by whichever hook, is not held up again: it would go on for ever
    if not is_wanted or payload.get("stop_hook_active"):
        return HookResponse()
    from kb.capture.handover import take_question

    question = take_question(kb, session, blocking=True)
    return HookResponse(DENY, question) if question else HookResponse()


def _resolve_agent_transcript(payload: Payload) -> tuple[str, str]:
    """Return the transcript of the agent that stops, and its name; "" for the session itself."""
    path = get_transcript_path(payload, "agent_transcript_path")
    return (path, payload.get("agent_id", "")) if path else (get_transcript_path(payload), "")


def _get_last_answer(payload: Payload, agent: str) -> str:
    """Return the last answer of the agent, as the host reports it, perhaps before its transcript has it.

    What a compaction's own agent says is a summary of what others said: that one has no type.
    """
    if agent and not payload.get("agent_type"):
        return ""
    return payload.get("last_assistant_message") or payload.get("prompt_response") or ""


def handle_session_end(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Spool the session: the host waits 1.5 s at most, so the next call does the work."""
    kb.end_session(get_transcript_path(payload), **_get_session(payload))
    return HookResponse()


def handle_messages(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Prune the messages that go to the model, where a host hands them over."""
    from kb.sessions.prune_transcript import plan_live_edits

    edits = plan_live_edits(kb, payload.get("messages"), begun=payload.get("pruning") is True)
    return HookResponse(updated_output=edits or None)


HANDLERS: Mapping[str, Handler] = {
    "SessionStart": handle_session_start,
    "UserPromptSubmit": handle_user_prompt,
    "SubagentStart": handle_subagent_start,
    "PreCompact": handle_pre_compact,
    "Stop": handle_stop,
    "SubagentStop": handle_stop,
    "SessionEnd": handle_session_end,
    "PreToolUse": handle_pre_tool,
    "PostToolUse": handle_post_tool,
    "PostToolUseFailure": handle_post_tool,
    "Messages": handle_messages,
}
_SESSION_SAVING_EVENTS = frozenset({"PreCompact", "Stop", "SubagentStop", "SessionEnd"})
"""Events at whose failure the session is spooled, or what its sub-agent said is put off."""


def _has_transcript(kb: KnowledgeBase, event: str, path: str, *, needed: bool = False) -> bool:
    """Return whether there is a transcript to read; one that is not a file, or is *needed* and missing, is reported.

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
            print(state_folder.redact_message(f"kb-hook: {event}: {error}"), file=sys.stderr)
    return False


def _spool_session(payload: Payload, root: str) -> None:
    from kb.capture.save_session import spool_for_later
    from kb.sessions.active_sessions import ExtractionJob

    path, agent = _resolve_agent_transcript(payload)
    try:
        spool_for_later(root, os.environ, ExtractionJob(path, **_get_session(payload), agent=agent))
    except OSError as error:
        print(f"kb-hook: not even the spool can be written: {error}", file=sys.stderr)


# -- what a person is told ---------------------------------------------------------------------------


def format_report(kb: KnowledgeBase, verdicts: Iterable[Verdict], folder: str = "") -> str:
    """Return what a person is told of *verdicts*: what was written, its text and how it is undone; "" for nothing."""
    told = [verdict for verdict in verdicts if verdict.verdict in _REPORTED_VERDICTS]
    if not told:  # mostly so: then nothing is loaded
        return ""
    from kb.history.timeline import list_changed_lines

    rows = []
    for verdict in told:
        name, path = qualify_name(kb, verdict), resolve_openable_path(kb.root, verdict.path, folder)
        text = msg("kb: changed: [{id}] {title} ({path}); what changed: kb log -p {id}")
        if verdict.branch:
            text = msg("kb: [{id}] {title} contradicts what is decided; see: kb review show {branch}")
        elif verdict.verdict == "created":
            text = msg("kb: new: [{id}] {title} ({path}); undo it: kb rm {id}")
        values = {"id": name, "title": verdict.title, "path": path, "branch": verdict.branch}
        rows.append(kb.localise(text._replace(values=values)))
        if verdict.commit and not verdict.branch:
            changed = list_changed_lines(kb, verdict.commit, verdict.path, title=verdict.title)
            rows += [f"    {line}" for line in changed]
    return "\n".join(rows)


def _report_git_refusal(kb: KnowledgeBase, event: str, reason: str) -> str:
    """Return what a person is told of a session that git refused to take, usually ""; `kb doctor` shows it too.

    The agent goes on, and nothing is lost: this is no reason to answer with a failure.
    """
    if not reason:
        return ""
    remember_failure(kb.root, event, GitFailed(reason))
    return state_folder.redact_message(f"kb: {reason}")
