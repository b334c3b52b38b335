"""Agent hooks: `kb-hook EVENT < payload.json`. An event becomes one call of the library and one answer for its host.

A hook fails open: whatever goes wrong, the agent goes on, and `kb doctor` shows what it was. The exit codes: 0 done or
nothing to say, 1 kb failed; 2 (deny) is never used by mistake, hence no click here.
"""

from __future__ import annotations

import json
import os
import sys

from kb.home import found
from kb.hosts.quick import says_nothing
from kb.process import begin, leave

USAGE = "usage: kb-hook EVENT [--host claude] < payload.json, or: kb-hook write < candidates.json"
EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "subagent-stop": "SubagentStop",
    "subagent-start": "SubagentStart",
    "session-end": "SessionEnd",
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
}
"""The events kb answers, by the word of the command line and by the name in the payload."""

MAX_PAYLOAD = 32_000_000


def main(arguments: list[str] | None = None) -> None:
    """Answer one event and leave with its exit code."""
    if arguments is not None:
        sys.exit(_code(arguments))
    begin()
    leave(_code(sys.argv[1:]))


def _code(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr)
        return 0 if words else 1
    return _write() if words[0] == "write" else _answer(words)


def _answer(words: list[str]) -> int:
    data = sys.stdin.buffer.read(MAX_PAYLOAD)
    try:
        payload = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        print(f"kb-hook: the payload is not JSON: {error}", file=sys.stderr)
        return 1
    if not isinstance(payload, dict):
        print("kb-hook: the payload is not a JSON object", file=sys.stderr)
        return 1
    event = EVENTS.get(words[0]) or (words[0] if words[0] in EVENTS.values() else "")
    if not event:
        print(f"kb-hook: there is no event {words[0]}; there are: {', '.join(EVENTS)}", file=sys.stderr)
        return 1
    if (host := _host(words)) != "claude":
        print(f"kb-hook: there is no host {host}; there is: claude", file=sys.stderr)
        return 1
    folder = payload.get("cwd")
    root = found(folder if isinstance(folder, str) and os.path.isdir(folder) else _here(), os.environ)
    if root is None or says_nothing(event, payload, root):
        return 0
    return _called(event, payload, root)


def _host(words: list[str]) -> str:
    """Return the host that the command line names, in either of the usual ways."""
    for number, word in enumerate(words):
        if word.startswith("--host="):
            return word[len("--host=") :]
        if word == "--host":
            return words[number + 1] if number + 1 < len(words) else ""
    return "claude"


def _here() -> str:
    """Return the current folder, or the top of the disk when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def _called(event: str, payload: dict[str, object], root: str) -> int:
    from kb.hosts import claude, events
    from kb.knowledge import failures

    try:
        decision = events.answered(event, payload, root)
    except Exception as error:  # a hook never stops the agent: the failure is kept for `kb doctor` and named
        events.remember_failure(root, event, error)
        print(failures.safe(f"kb-hook: {event}: {error}"), file=sys.stderr)
        return 1
    if output := claude.rendered(event, decision):
        sys.stdout.write(output)
    return 0


def _write() -> int:
    from kb.candidate import MAX_INPUT
    from kb.hosts.write import written

    return written(sys.stdin.buffer.read(MAX_INPUT + 1), _here())
