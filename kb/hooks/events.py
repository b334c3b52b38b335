"""What kb does at each event of an agent's session, whatever the host."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kb.errors import BadInput, GitFailed, IndexFailed, KbError
from kb.guard.response import ASK, DENY, Decision, joined
from kb.hooks.compare_files import compared
from kb.hooks.deadline import Late
from kb.hooks.fast_path import SPAWNS
from kb.hooks.guard_fast_path import may_write
from kb.i18n import msg
from kb.index.lookup import name_of
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Verdict
from kb.records.record_paths import openable
from kb.sessions.typed_prompt import persons_words
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import hook_failures

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.save_session import Saved
    from kb.capture.usage_alerts import Lit

_MEASURED = frozenset({"context_usage_percent", "context_tokens"})
"""Fields of a payload in which a host tells how full the context is."""
_WISHES = ("详细说说", "简要概括", "存档一下", "加载上下文", "修剪上下文", "继续", "continue")
"""Words without which no prompt is a wish to kb itself; then nothing is loaded to look."""
_LONGEST_WISH = 80
_COUNTED = 1_000_000
"""Lines of a file that are counted; of a longer one it is told that there are more."""
_TOLD = ("created", "updated", "appended", "conflict")
"""The verdicts a person is told at once: these changed something (MBANK-20: no write is hidden)."""


def answered(event: str, payload: Mapping[str, Any], root: str) -> Decision:
    """Do what *event* calls for and return the answer.

    What a session has brought is not lost with a failure: the wish to save it is spooled, and the failure goes on.
    A call with which no failure came ends those of its event.
    """
    before = hook_failures.stamp(root)
    try:
        try:
            made = _handled(event, payload, root)
        except IndexFailed:  # a damaged one has been thrown away; with the next opening it is built anew
            made = _handled(event, payload, root)
    except (Exception, Late):
        if event in SAVING:
            _keep_for_later(payload, root)
        raise
    if any(before) and before == hook_failures.stamp(root):
        hook_failures.overcome(root, os.environ, event, time.time())
    return made


def _handled(event: str, payload: Mapping[str, Any], root: str) -> Decision:
    with KnowledgeBase(root, os.environ, folder=_text(payload, "cwd")) as kb:
        return HANDLERS[event](kb, payload)


def _text(payload: Mapping[str, Any], key: str) -> str:
    """Return a text of the payload as it can be written to a file."""
    value = payload.get(key)
    return value.encode("utf-8", "replace").decode().replace("\0", "") if isinstance(value, str) else ""


def _transcript(payload: Mapping[str, Any], key: str = "transcript_path") -> str:
    return os.path.expanduser(_text(payload, key))


class _Session(NamedTuple):
    """Whose event it is."""

    session: str
    folder: str
    host: str = "claude"


def _session(payload: Mapping[str, Any]) -> _Session:
    return _Session(_text(payload, "session_id"), _text(payload, "cwd"), _text(payload, "host") or "claude")


def session_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Land what earlier sessions left, and tell the new one what it should know."""
    try:
        landed = kb.land()
    except IndexFailed:
        raise
    except (KbError, OSError) as error:
        landed = []
        remember_failure(kb.root, "SessionStart", error)
    project = kb.project(_text(payload, "cwd"))
    session, source = _text(payload, "session_id"), _text(payload, "source")
    told = kb.start_of_session(session, source=source, project=project)
    return Decision(context=told, message=report(kb, landed, _text(payload, "cwd")))


def user_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Answer a prompt with what the knowledge base has on it, and say when the context fills up; mostly nothing.

    What a host or another agent has put into it is no word of the person; a prompt that is nothing else begins no turn.
    """
    payload = {**payload, "prompt": persons_words(_text(payload, "prompt")).strip()}
    if not payload["prompt"]:
        return _goes_on(kb, payload)
    if said := _asked(kb, payload):
        return said
    return joined(*(look(kb, payload) for look in AT_PROMPT))


def _goes_on(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Note that the turn goes on under the name that the host gave to a prompt of nobody's."""
    from kb.capture.turns import go_on

    go_on(kb, _text(payload, "session_id"), _text(payload, "prompt_id"))
    return Decision()


def _lit_at_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    lit = _light(kb, payload)
    return Decision(context=lit.context, message=lit.message) if lit else Decision()


def _records_on(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    project = kb.project(_text(payload, "cwd"))
    told = kb.answer_to_prompt(_text(payload, "prompt"), project=project, folder=_text(payload, "cwd"))
    if told:
        from kb.state.session_log import READ, Log

        Log(kb, _text(payload, "session_id")).add(READ, "kb prompt")
    return Decision(context=told)


def _begun(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Begin a person's turn: what was read before does not count, and what is proposed may be answered."""
    from kb.capture.turns import begin

    session = _text(payload, "session_id")
    if not session or payload.get("agent_id"):  # a sub-agent's prompt is an agent's word
        return Decision()
    told = begin(kb, session, _text(payload, "prompt"), _text(payload, "prompt_id"), _text(payload, "cwd"))
    return Decision(context=told.context, message=told.message) if told else Decision()


def _asked(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision | None:
    """Return the answer where the prompt is a wish to kb itself and nothing else."""
    prompt, path = _text(payload, "prompt"), _transcript(payload)
    if len(prompt) > _LONGEST_WISH or not any(word in prompt for word in _WISHES):
        return None
    from kb.capture.prompt_commands import answered

    try:
        said = answered(kb, prompt, path=path, **_session(payload)._asdict())
    except BadInput as error:  # no transcript to work on
        return Decision(message=f"kb: {error.translate(kb.config.language)}")
    return Decision(context=said.context, message=said.message) if said else None


def subagent_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Give a sub-agent the hints for its role and task; the host does not say the task, but the call for it did."""
    from kb.guard.subagent_tasks import take_task

    avatar = _text(payload, "agent_type")
    task = _text(payload, "prompt") or take_task(kb, _text(payload, "session_id"), avatar, _transcript(payload))
    project = kb.project(_text(payload, "cwd"))
    return Decision(context=kb.hint_for_avatar(avatar, task, project=project, quiet=True))


def pre_compact(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Keep the session before the host forgets it: candidates, compact form, archive, session index.

    Where the red light has just archived it, it is not archived again for the same compaction.
    """
    from kb.capture.usage_alerts import put_out

    path = _transcript(payload)
    if not _usable(kb, "PreCompact", path, needed=True):
        return Decision()
    is_archived = "red" in put_out(kb, _text(payload, "session_id"))
    saved = kb.save_session(path, archive=not is_archived, **_session(payload)._asdict())
    told = (_kept(kb, "PreCompact", saved), report(kb, saved.verdicts, _text(payload, "cwd")))
    return Decision(context=saved.compact, message="\n".join(filter(None, told)))


def stop(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Extract what is new, unless the last extraction is too recent: then a later event takes it along."""
    path, agent = _whose(payload)
    changed = Decision() if agent else compared(kb, payload, "Stop")
    usable = _usable(kb, "Stop", path)
    if usable and agent:
        from kb.sessions.active_sessions import Desk

        Desk(kb, _text(payload, "session_id")).hear(_transcript(payload), _text(payload, "cwd"))
    answer = _last_answer(payload, agent)
    saved = kb.save_when_due(path, agent=agent, answer=answer, **_session(payload)._asdict()) if usable else None
    verdicts = saved.verdicts if saved else ()
    lit = None if agent or not usable else _light(kb, payload, heard=False)
    asked = "" if agent else _proposed(kb, payload, verdicts)
    kept = _kept(kb, "Stop", saved) if saved else ""
    told = (changed.message, kept, report(kb, verdicts, _text(payload, "cwd")), lit.message if lit else "", asked)
    return Decision(message="\n".join(filter(None, told)))


def _last_answer(payload: Mapping[str, Any], agent: str) -> str:
    """Return the last answer of the agent, as the host tells it before its transcript may have it.

    What a compaction's own agent says is a summary of what others said: that one has no type.
    """
    if agent and not _text(payload, "agent_type"):
        return ""
    return _text(payload, "last_assistant_message") or _text(payload, "prompt_response")


def _proposed(kb: KnowledgeBase, payload: Mapping[str, Any], verdicts: Sequence[Verdict]) -> str:
    """Ask the person whether to keep what the turn has brought, mostly nothing."""
    from kb.capture.turns import end

    whose = _session(payload)
    return end(kb, whose.session, whose.folder, whose.host, verdicts)


def _light(kb: KnowledgeBase, payload: Mapping[str, Any], *, only_told: bool = False, heard: bool = True) -> Lit | None:
    """Do what the use of the context calls for, if anything; where that fails, the event is answered all the same."""
    if not payload.keys() & _MEASURED and not _size(_transcript(payload)):
        return None
    from kb.capture import usage_alerts

    try:
        return usage_alerts.lit(
            kb, _text(payload, "session_id"), _transcript(payload), percent=usage_alerts.told_by_host(payload),
            folder=_text(payload, "cwd"), host=_session(payload).host, only_told=only_told, heard=heard,
        )  # fmt: skip
    except (KbError, OSError) as error:
        remember_failure(kb.root, "context use", error)
        return None


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _whose(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the transcript of the agent that stops, and its name; "" for the session itself."""
    path = _transcript(payload, "agent_transcript_path")
    return (path, _text(payload, "agent_id")) if path else (_transcript(payload), "")


def session_end(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Spool the session: the host waits 1.5 s at most, so the next call does the work."""
    kb.end_session(_transcript(payload), **_session(payload)._asdict())
    return Decision()


def pre_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Answer a tool call before it is made: with the strictest of what looks at it."""
    return joined(*(look(kb, payload) for look in BEFORE_TOOL))


def _read_in_parts(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Let a long file be read in parts."""
    from kb.hooks.fast_path import lines_in
    from kb.sessions.live_pruning import part_of_file

    given = payload.get("tool_input")
    path = given.get("file_path") if isinstance(given, dict) else None
    made = None
    if payload.get("tool_name") == "Read" and isinstance(given, dict) and isinstance(path, str):
        made = part_of_file(kb, given, lines_in(path, _COUNTED)) if given.get("limit") is None else None
    return Decision(updated_input=made.value, updated_note=kb.words(made.note)) if made else Decision()


def _guarded(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Ask the guard: was the memory read, and who may write there."""
    from kb.guard.decide import Seen, ruled

    given = payload.get("tool_input")
    seen = Seen(_text(payload, "tool_name"), given if isinstance(given, dict) else {}, _text(payload, "session_id"),
                _text(payload, "prompt_id"), _text(payload, "cwd"))  # fmt: skip
    ruling = ruled(kb, seen)
    if not may_write(payload) or ruling.permission == DENY:
        return ruling
    return joined(ruling, compared(kb, payload, "PreToolUse", asked=ruling.permission == ASK))


def _task_given(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Remember what a sub-agent is asked for: when it starts, the host does not say."""
    given = payload.get("tool_input")
    if payload.get("tool_name") in SPAWNS and isinstance(given, dict):
        from kb.guard.subagent_tasks import remember_task

        remember_task(kb, _text(payload, "session_id"), given, _text(payload, "tool_use_id"))
    return Decision()


def _lit_at_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Tell of the context at a tool call: in a session that works alone this is where it hears of it."""
    lit = _light(kb, payload, only_told=True)
    return Decision(context=lit.context) if lit else Decision()


def post_tool(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Shorten the result of a search before the agent reads it, and tell of records that a command has changed."""
    from kb.sessions.live_pruning import shorter_result

    given, tool = payload.get("tool_input"), _text(payload, "tool_name")
    made = shorter_result(kb, tool, given if isinstance(given, dict) else {}, payload.get("tool_response"),
                          transcript=_transcript(payload), folder=_text(payload, "cwd"))  # fmt: skip
    shorter = Decision(updated_output=made.value, updated_note=kb.words(made.note)) if made else Decision()
    changed = compared(kb, payload, "PostToolUse") if may_write(payload) else Decision()
    return joined(shorter, changed, _lit_at_tool(kb, payload))


def messages(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Decision:
    """Prune the messages that go to the model, where a host hands them over."""
    from kb.sessions.live_pruning import edits

    return Decision(updated_output=edits(kb, payload.get("messages"), begun=payload.get("pruning") is True) or None)


Look = Callable[[KnowledgeBase, Mapping[str, "Any"]], Decision]
BEFORE_TOOL: tuple[Look, ...] = (_guarded, _read_in_parts, _task_given, _lit_at_tool)
"""What looks at a tool call before it is made. One more is a function and a word here; `quick.py` lets it be asked."""
AT_PROMPT: tuple[Look, ...] = (_begun, _lit_at_prompt, _records_on)
"""What looks at a prompt."""

HANDLERS: Mapping[str, Look] = {
    "SessionStart": session_start,
    "UserPromptSubmit": user_prompt,
    "SubagentStart": subagent_start,
    "PreCompact": pre_compact,
    "Stop": stop,
    "SubagentStop": stop,
    "SessionEnd": session_end,
    "PreToolUse": pre_tool,
    "PostToolUse": post_tool,
    "Messages": messages,
}
SAVING = frozenset({"PreCompact", "Stop", "SubagentStop", "SessionEnd"})
"""Events at whose failure the session is spooled, or what its sub-agent said is put off."""


def _usable(kb: KnowledgeBase, event: str, path: str, *, needed: bool = False) -> bool:
    """Return whether there is a transcript to read; one that is no file, or is *needed* and missing, is reported.

    A host names the file of a session before it writes the first line to it: that it is missing is no failure of kb's.
    """
    from kb.sessions.transcript_files import has_words, read_transcript

    if has_words(path):
        return True
    is_there = os.path.exists(path)
    if needed or is_there:
        try:
            read_transcript(path)
        except KbError as error:
            remember_failure(kb.root, event, error, by_host=not is_there)
            print(hook_failures.safe(f"kb-hook: {event}: {error}"), file=sys.stderr)
    return False


def _keep_for_later(payload: Mapping[str, Any], root: str) -> None:
    from kb.capture.save_session import keep_for_later
    from kb.sessions.active_sessions import Job

    path, agent = _whose(payload)
    try:
        keep_for_later(root, os.environ, Job(path, **_session(payload)._asdict(), agent=agent))
    except OSError as error:
        print(f"kb-hook: not even the spool can be written: {error}", file=sys.stderr)


def report(kb: KnowledgeBase, verdicts: Iterable[Verdict], folder: str = "") -> str:
    """Return what a person is told of *verdicts*: what was written and how it is undone; "" for nothing."""
    rows = []
    for verdict in verdicts:
        if verdict.verdict not in _TOLD:
            continue
        name, path = name_of(kb, verdict), openable(kb.root, verdict.path, folder)
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
        rows.append(kb.words(said))
    return "\n".join(rows)


def _kept(kb: KnowledgeBase, event: str, saved: Saved) -> str:
    """Return what a person is told of a session that git refused to take, mostly ""; `kb doctor` shows it too.

    The agent goes on, and nothing is lost: this is no reason to answer with a failure.
    """
    if not saved.kept:
        return ""
    remember_failure(kb.root, event, GitFailed(saved.kept))
    return hook_failures.safe(f"kb: {saved.kept}")


def remember_failure(root: str, event: str, error: BaseException, *, by_host: bool = False) -> None:
    """Keep a failure where `kb doctor` finds it; *by_host*: the host gave nothing to work on."""
    problem = f"{type(error).__name__}: {error}"
    failure = hook_failures.Failure(hook_failures.iso(time.time()), event, problem, by_host=by_host)
    hook_failures.remember(root, os.environ, failure)
