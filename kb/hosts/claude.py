"""Claude Code: how an answer is written, and where its hooks stand (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.hosts.events import Reply

SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PostToolUse"})
"""Events whose answer may carry text to the model; what others print is discarded by the host."""
REWRITING: Mapping[str, str] = {"PreToolUse": "updatedInput", "PostToolUse": "updatedToolOutput"}
"""Events whose answer may put something in the place of what a tool is given, or of what it answered.

No decision stands beside it: whether the call is permitted stays with the person.
"""
LIMIT = 10_000
"""The host cuts every text at so many characters."""
TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 120,
    "UserPromptSubmit": 10,
    "PreCompact": 120,
    "Stop": 120,
    "SubagentStop": 120,
    "SubagentStart": 10,
    "SessionEnd": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
}
"""The events kb is called at, each with the seconds after which the host goes on without it.

Those that extract get as long as a KB_LLM_CMD may take and more. At SessionEnd all hooks share 1.5 s unless a hook in
a settings file asks for more.
"""

MATCHERS: Mapping[str, str] = {"PreToolUse": "Read", "PostToolUse": "Glob|Grep"}
"""The tools at which an event is wanted; at others the host need not call."""


def rendered(event: str, reply: Reply) -> str:
    """Return what the hook prints for *reply*, or "" for nothing to say."""
    output: dict[str, Any] = {}
    said: dict[str, Any] = {}
    if reply.context and event in SPEAKING:
        said["additionalContext"] = reply.context[:LIMIT]
    if reply.value is not None and event in REWRITING:
        said[REWRITING[event]] = reply.value
    if said:
        output["hookSpecificOutput"] = {"hookEventName": event, **said}
    if reply.message:
        output["systemMessage"] = reply.message[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""


def settings_file(folder: str, environment: Mapping[str, str]) -> str:
    """Return the settings that hold in the project at *folder*, or with "" those of the user."""
    if folder:
        return os.path.join(folder, ".claude", "settings.json")
    home = environment.get("HOME") or os.path.expanduser("~")
    return os.path.join(environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json")
