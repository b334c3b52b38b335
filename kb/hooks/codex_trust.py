"""Which of kb's hooks does Codex run? It runs none that the person has not trusted, and says nothing about it.

What is trusted stands in the user's `config.toml`, a table for each hook: `[hooks.state."FILE:EVENT:GROUP:NUMBER"]`
with the SHA-256 of the hook as canonical JSON. Seen in Codex 0.169.0, for hooks of the user and of a project alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.hooks import codex, install
from kb.hooks.settings_file import content

if TYPE_CHECKING:
    from typing import Any


def untrusted(path: str, environment: Mapping[str, str]) -> list[str]:
    """Return the events of kb's hooks in *path* that Codex does not run: not trusted, changed since, or turned off."""
    trusted = _trusted(environment)
    text = (content(path) or b"").decode("utf-8-sig", "replace")
    if not text.strip():
        return []
    return [
        event
        for event, group, number, hook in install.ours_in(text)
        if not any(_runs(trusted, _key(file, event, group, number), event, hook) for file in _spellings(path))
    ]


def _trusted(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what the user's settings say of hooks, by key; nothing where they cannot be read."""
    import tomllib

    config = os.path.join(os.path.dirname(codex.settings_file("", environment)), "config.toml")
    try:
        hooks = tomllib.loads((content(config) or b"").decode("utf-8", "replace")).get("hooks")
    except tomllib.TOMLDecodeError:
        return {}
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return state if isinstance(state, dict) else {}


def _spellings(path: str) -> set[str]:
    return {os.path.abspath(path), os.path.realpath(path)}


def _key(path: str, event: str, group: int, number: int) -> str:
    return f"{path}:{_label(event)}:{group}:{number}"


def _label(event: str) -> str:
    """Return an event's name as the settings write it ("PreToolUse": "pre_tool_use")."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _runs(trusted: Mapping[str, Any], key: str, event: str, hook: install.Hook) -> bool:
    state = trusted.get(key)
    return (
        isinstance(state, dict)
        and state.get("enabled") is not False
        and state.get("trusted_hash") == digest(event, hook)
    )


def digest(event: str, hook: install.Hook) -> str:
    """Return the hash by which Codex knows a hook again."""
    call = {"async": False, "command": hook.command, "timeout": hook.timeout, "type": "command"}
    about = {"event_name": _label(event), "hooks": [call], **({"matcher": hook.matcher} if hook.matcher else {})}
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
