"""Agent hooks: `kb-hook EVENT < payload.json`. An event becomes one call of the library and one answer for its host.

A hook fails open: whatever goes wrong, the agent goes on, and `kb doctor` shows what it was. The exit codes: 0 done or
nothing to say, 1 kb failed; 2 (deny) is never used by mistake, hence no click here.
"""

from __future__ import annotations

import json
import os
import sys

from kb.hooks.fast_path import can_skip_event
from kb.hooks.host_table import EVENTS, HOSTS
from kb.paths import find_root
from kb.startup.namedtuple import TYPE_CHECKING
from kb.startup.process import delay_gc, exit_process

if TYPE_CHECKING:
    from types import ModuleType

USAGE = "usage: kb-hook EVENT [--host claude] < payload.json, or: kb-hook write < candidates.json"

MAX_PAYLOAD = 32_000_000
_owns_process = False
"""Whether this process is a hook and nothing else: then it may be ended at once."""


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
    return _run_write() if words[0] == "write" else _answer_event(words)


def _answer_event(words: list[str]) -> int:
    name = _parse_host(words)
    if name not in HOSTS:
        print(f"kb-hook: there is no host {name}; there are: {', '.join(HOSTS)}", file=sys.stderr)
        return 1
    host = None if name == "claude" else __import__(f"kb.hooks.{name}", fromlist=["EVENTS"])
    try:
        return _process_event(words[0], host, name)
    except Exception as error:  # a host may take a hook that fails for one that forbids
        return _answer_nothing(host, "", f"{type(error).__name__}: {error}")


def _process_event(word: str, host: ModuleType | None, name: str) -> int:
    """Read the payload of an event and answer it; *host* is None for Claude Code, whose payloads are kb's own."""
    own = host.EVENTS if host else {}
    event = EVENTS.get(word) or own.get(word) or (word if word in EVENTS.values() else "")
    if not event:
        return _answer_nothing(host, "", f"there is no event {word}; there are: {', '.join(EVENTS)}")
    data = sys.stdin.buffer.read(MAX_PAYLOAD)
    try:
        given = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        return _answer_nothing(host, event, f"the payload is not JSON: {error}")
    if not isinstance(given, dict):
        return _answer_nothing(host, event, "the payload is not a JSON object")
    if host is None and (guest := _detect_foreign_host(given)):
        from kb.hooks import foreign_hooks as host

        name = guest
    payload = _normalise_payload(host, name, event, given) if host else given
    if payload is None:
        return _answer_nothing(host, event, "", given)
    folder = payload.get("cwd")
    root = find_root(folder if isinstance(folder, str) and os.path.isdir(folder) else _get_current_folder(), os.environ)
    if root is None or can_skip_event(event, payload, root):
        return _answer_nothing(host, event, "", given)
    return _handle_with_deadline(event, payload, root, host, given)


def _detect_foreign_host(given: dict[str, object]) -> str:
    """Return the program that runs Claude Code's hooks besides Claude Code, mostly ""."""
    if "cursor_version" not in given and "COPILOT_CLI" not in os.environ:
        return ""
    from kb.hooks.foreign_hooks import detect_program

    return detect_program(given, os.environ)


def _normalise_payload(host: ModuleType, name: str, event: str, given: dict[str, object]) -> dict[str, object] | None:
    """Return the payload in kb's fields; None where the event is nothing to kb.

    Two hosts may give their sessions the same id: kb's names the host.
    """
    payload: dict[str, object] | None = host.normalise_payload(event, given)
    if payload is None:
        return None
    session = payload.get("session_id")
    return {**payload, "host": name, "session_id": f"{session}-{name}" if session else ""}


def _answer_nothing(host: ModuleType | None, event: str, problem: str, given: dict[str, object] | None = None) -> int:
    """Answer with nothing, in the words of the *host*, and tell a *problem*; return the exit code."""
    if problem:
        print(f"kb-hook: {problem}", file=sys.stderr)
    if host:
        from kb.guard.response import HookResponse

        _print_answer(host.render_response(event, HookResponse(), given or {}))
    return (host.FAILED if host else 1) if problem else 0


def _parse_host(words: list[str]) -> str:
    """Return the host that the command line names, in either of the usual ways."""
    for number, word in enumerate(words):
        if word.startswith("--host="):
            return word[len("--host=") :]
        if word == "--host":
            return words[number + 1] if number + 1 < len(words) else ""
    return "claude"


def _get_current_folder() -> str:
    """Return the current folder, or the top of the disk when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _handle_with_deadline(
    event: str, payload: dict[str, object], root: str, host: ModuleType | None, given: dict[str, object]
) -> int:
    from kb.guard.response import HookResponse
    from kb.hooks import claude, events
    from kb.hooks.deadline import Late, compute_limits, enforce_deadline, force_exit_after
    from kb.state import hook_failures

    host = host or claude
    late, too_late = compute_limits(host, event)
    silence = host.render_response(event, HookResponse(), given)
    try:
        with force_exit_after(too_late if _owns_process else 0, silence, host.FAILED), enforce_deadline(late):
            decision = events.handle_event(event, payload, root)
    except (Exception, Late) as error:  # a hook never stops the agent: the failure is kept for `kb doctor` and named
        events.remember_failure(root, event, error)
        return _answer_nothing(host, event, hook_failures.redact_message(f"{event}: {error}"), given)
    _print_answer(host.render_response(event, decision, given))
    return 0


def _print_answer(answer: str) -> None:
    """Print an answer as every host reads it: in UTF-8, whatever the locale; half a character becomes a mark."""
    sys.stdout.buffer.write(answer.encode("utf-8", "replace"))


def _run_write() -> int:
    from kb.hooks.write_hook import write_candidates
    from kb.records.candidate import MAX_INPUT

    return write_candidates(sys.stdin.buffer.read(MAX_INPUT + 1), _get_current_folder())
