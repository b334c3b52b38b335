"""Agent hooks: `kb-hook EVENT < payload.json`. An event becomes one call of the library and one answer for its host.

A hook fails open: whatever goes wrong, the agent goes on, and `kb doctor` shows what it was. The exit codes: 0 done or
nothing to say, 1 kb failed; 2 (deny) is never used by mistake, hence no click here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

from kb.hooks.fast_path import can_skip_event
from kb.hosts import CLAUDE, EVENTS, HOSTS, NO_VALUES, SHARED, Host, find_guest, resolve_settings_path
from kb.paths import find_root
from kb.startup.lazy_regex import MULTILINE, regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import delay_gc, exit_process

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

USAGE = "usage: kb-hook EVENT [--host claude] < payload.json, or: kb-hook write < candidates.json"

MAX_PAYLOAD = 32_000_000
_TEXTS = """session_id cwd transcript_path agent_transcript_path prompt prompt_id source tool_name tool_use_id agent_id
    agent_type last_assistant_message prompt_response tool_error unclear_output""".split()
"""The fields of a payload that are text, or not there."""
_EXIT_KEYS = ("exitCode", "exit_code", "exit")
"""Under which a host gives the exit code."""
_EXIT_AREA = 300
"""Characters at either end of an output in which a host writes the exit code."""
_EXIT_CODE = regex(
    r"^(?:Exit Code: ?|Process exited with code |<(?:\w+: \w+ )?(?:exited|completed) with exit code |Exit code: )"
    r"[1-9]\d{0,3}>?\s*$",
    MULTILINE,
)
_owns_process = False
"""Whether this process is a hook and nothing else: then it may be ended at once."""


class _Caller(NamedTuple):
    """Whom a hook answers."""

    host: Host
    codec: ModuleType | None
    """Reads its payloads and writes its answers; None for Claude Code, whose payloads are kb's own."""
    event: str = ""
    given: Mapping[str, Any] = NO_VALUES
    """The payload as it came."""


def main(arguments: list[str] | None = None) -> None:
    """Answer one event and leave with its exit code."""
    if arguments is not None:
        sys.exit(_dispatch_command(arguments))
    global _owns_process
    _owns_process = True
    delay_gc()
    exit_process(_dispatch_command(sys.argv[1:]))


def _dispatch_command(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr)
        return 0 if words else 1
    if words[0] == "write":
        from kb.records.candidate import MAX_INPUT

        return write_candidates(sys.stdin.buffer.read(MAX_INPUT + 1), _get_current_folder())
    name = _parse_host(words)
    if name not in HOSTS:
        print(f"kb-hook: there is no host {name}; there are: {', '.join(HOSTS)}", file=sys.stderr)
        return 1
    host = HOSTS[name]
    caller = _Caller(host, None if host is CLAUDE else __import__(f"kb.hooks.{name}", fromlist=["render_response"]))
    try:
        return _process_event(words[0], caller, is_shared=SHARED in words)
    except Exception as error:  # a host may take a hook that fails for one that forbids
        return _answer_nothing(caller, f"{type(error).__name__}: {error}")


def _parse_host(words: list[str]) -> str:
    """Return the host that the command line names, in either of the usual ways."""
    for number, word in enumerate(words):
        if word.startswith("--host="):
            return word[len("--host=") :]
        if word == "--host":
            return words[number + 1] if number + 1 < len(words) else ""
    return CLAUDE.name


def _process_event(word: str, caller: _Caller, *, is_shared: bool) -> int:
    """Read the payload of an event and answer it; *is_shared*: the hook is one of a project's settings."""
    event = EVENTS.get(word) or caller.host.events.get(word) or (word if word in EVENTS.values() else "")
    if not event:
        return _answer_nothing(caller, f"there is no event {word}; there are: {', '.join(EVENTS)}")
    caller = caller._replace(event=event)
    # bytes: a host writes UTF-8 whatever the locale of its shell is
    data = sys.stdin.buffer.read(MAX_PAYLOAD)
    try:
        given = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        return _answer_nothing(caller, f"the payload is not JSON: {error}")
    if not isinstance(given, dict):
        return _answer_nothing(caller, "the payload is not a JSON object")
    name = caller.host.name
    if caller.codec is None and (guest := find_guest(given, os.environ)):
        from kb.hooks import foreign_hooks

        # these programs take every exit code but 0 for a denial
        name, caller = guest.name, caller._replace(host=caller.host._replace(failed=0), codec=foreign_hooks)
    elif is_shared and _is_answered_by_user_hook(word, caller.host):
        return _answer_nothing(caller)
    caller = caller._replace(given=given)
    payload = caller.codec.normalise_payload(event, given) if caller.codec else given
    if payload is None:  # nothing to kb
        return _answer_nothing(caller)
    payload = _clean_payload(add_tool_error(event, payload), name)
    root = find_root(payload["cwd"] if os.path.isdir(payload["cwd"]) else _get_current_folder(), os.environ)
    if root is None or can_skip_event(event, payload, root):
        return _answer_nothing(caller)
    return _handle_with_deadline(caller, payload, root)


def _is_answered_by_user_hook(word: str, host: Host) -> bool:
    """Return whether the user's settings of *host* have kb's hook of the event *word*, so that it is asked as well."""
    try:
        with open(resolve_settings_path(host.hooks, "", os.environ), "rb") as file:
            data = file.read()
    except OSError:
        return False
    if not host.entry:  # a plugin, of which a user has one
        return b"kb-hook" in data and f'"{SHARED}"'.encode() not in data
    # as `install.build_hooks` writes it; the quote: a path with a space
    tail = "" if host is CLAUDE else f" --host {host.name}"
    return any(f'kb-hook{quote} {word}{tail}"'.encode() in data for quote in ("", "'"))


def add_tool_error(event: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *payload* with `tool_error`, what a call that failed has printed; one that a person stopped did not."""
    if event == "PostToolUseFailure":
        error = payload.get("error") or payload.get("error_message")
        return payload if payload.get("is_interrupt") is True else {**payload, "tool_error": error}
    if event == "PostToolUse" and "tool_error" not in payload:
        return {**payload, "tool_error": find_exit_failure(payload.get("tool_response"))}
    return payload


def find_exit_failure(response: object) -> str:
    """Return what a command printed whose *response* says that it failed; "" for one that succeeded.

    Not every host says so in a field: Gemini CLI writes "Exit Code: 1" below the output, Codex "Process exited with
    code 1" above it, Copilot "<shellId: 0 completed with exit code 1>" below.
    """
    if isinstance(response, dict):
        held = response.get("metadata")
        codes = [each.get(key) for each in (response, held) if isinstance(each, dict) for key in _EXIT_KEYS]
        if not any(type(code) is int and code for code in codes):
            return ""
        texts = (response.get(key) for key in ("stdout", "stderr", "output", "content"))
        return "\n".join(text for text in texts if isinstance(text, str)) or "?"
    if not isinstance(response, str) or "xit" not in response:
        return ""
    ends = f"{response[:_EXIT_AREA]}\n{response[-_EXIT_AREA:]}"
    return response if _EXIT_CODE.search(ends) else ""


def _clean_payload(payload: Mapping[str, Any], host: str) -> dict[str, Any]:
    """Return *payload* with every text as it can be written to a file, and "" or {} for what is none.

    Two hosts may give their sessions the same id: kb's names the host, unless it is Claude Code.
    """
    # a lone surrogate ("\ud83d", as a cut emoji leaves it) cannot be written to a file, nor can NUL be in a path
    made = {**payload, "host": host}
    for key in _TEXTS:
        value = payload.get(key)
        made[key] = value.encode("utf-8", "replace").decode().replace("\0", "") if isinstance(value, str) else ""
    given = payload.get("tool_input")
    made["tool_input"] = given if isinstance(given, dict) else {}
    if made["session_id"] and host != CLAUDE.name:
        made["session_id"] += f"-{host}"
    return made


def _get_current_folder() -> str:
    """Return the current folder, or the top of the disk when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _handle_with_deadline(caller: _Caller, payload: dict[str, Any], root: str) -> int:
    from kb.hooks import claude, events
    from kb.hooks.tool_events import remember_failure
    from kb.hosts import HookResponse
    from kb.state import state_folder

    caller = caller._replace(codec=caller.codec or claude)
    event, render = caller.event, (caller.codec or claude).render_response
    late, too_late = events.compute_limits(caller.host, event)
    # made beforehand: the thread that ends a late process may load nothing
    silence = render(event, HookResponse(), caller.given)
    try:
        with (
            events.force_exit_after(too_late if _owns_process else 0, silence, caller.host.failed),
            events.enforce_deadline(late),
        ):
            decision = events.handle_event(event, payload, root)
    except (
        Exception,
        events.DeadlineExceeded,
    ) as error:  # a hook never stops the agent: the failure is named and kept for `kb doctor`
        remember_failure(root, event, error)
        return _answer_nothing(caller, state_folder.redact_message(f"{event}: {error}"))
    _print_answer(render(event, decision, caller.given))
    return 0


def _answer_nothing(caller: _Caller, problem: str = "") -> int:
    """Answer with nothing, in the words of the host, and report a *problem*; return the exit code."""
    if problem:
        print(f"kb-hook: {problem}", file=sys.stderr)
    if caller.codec:
        from kb.hosts import HookResponse

        _print_answer(caller.codec.render_response(caller.event, HookResponse(), caller.given))
    return caller.host.failed if problem else 0


def _print_answer(answer: str) -> None:
    """Print an answer as every host reads it: in UTF-8, whatever the locale; a lone surrogate becomes a mark."""
    sys.stdout.buffer.write(answer.encode("utf-8", "replace"))


def write_candidates(data: bytes, folder: str) -> int:
    """Put the candidates in *data* through the gate, print the verdicts as JSON, and return `kb write`'s exit code.

    This is the gate for programs, without what a person's command line costs.
    """
    from kb.errors import KbError
    from kb.knowledge_base import KnowledgeBase
    from kb.records import candidate
    from kb.records.model import choose_exit_code
    from kb.state import state_folder

    try:
        candidates = candidate.parse_candidates(data, "stdin")
        with KnowledgeBase.open(folder, os.environ) as kb:
            verdicts = kb.write(candidates, folder=folder)
    except KbError as error:
        print(state_folder.redact_message(f"kb: {error}\n    → {error.hint}"), file=sys.stderr)
        return error.exit_code
    rows = [{**v._asdict(), "similar": [s._asdict() for s in v.similar]} for v in verdicts]
    json.dump(rows, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
    return choose_exit_code(verdicts)
