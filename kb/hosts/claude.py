"""Claude Code: how an answer is written (https://code.claude.com/docs/en/hooks)."""

import json
from typing import Any

from kb.hosts.events import Reply

SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart"})
"""Events whose answer may carry text to the model; what others print is discarded by the host."""
LIMIT = 10_000
"""The host cuts every text at so many characters."""


def rendered(event: str, reply: Reply) -> str:
    """Return what the hook prints for *reply*, or "" for nothing to say."""
    output: dict[str, Any] = {}
    if reply.context and event in SPEAKING:
        output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": reply.context[:LIMIT]}
    if reply.message:
        output["systemMessage"] = reply.message[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""
