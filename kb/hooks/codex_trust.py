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
from kb.hooks.settings_file import read_settings

if TYPE_CHECKING:
    from typing import Any


def find_untrusted_events(path: str, environment: Mapping[str, str]) -> list[str]:
    """Return the events of kb's hooks in *path* that Codex does not run: not trusted, changed since, or turned off."""
    trusted = _load_trust_state(environment)
    text = (read_settings(path) or b"").decode("utf-8-sig", "replace")
    if not text.strip():
        return []
    return [
        event
        for event, group, number, hook in install.find_own_hooks(text)
        if not any(
            _is_trusted(trusted, _build_state_key(file, event, group, number), event, hook)
            for file in _list_path_spellings(path)
        )
    ]


def _load_trust_state(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what the user's settings say of hooks, by key; nothing where they cannot be read."""
    import tomllib

    config = os.path.join(os.path.dirname(codex.resolve_settings_path("", environment)), "config.toml")
    try:
        hooks = tomllib.loads((read_settings(config) or b"").decode("utf-8", "replace")).get("hooks")
    except tomllib.TOMLDecodeError:
        return {}
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return state if isinstance(state, dict) else {}


def _list_path_spellings(path: str) -> set[str]:
    return {os.path.abspath(path), os.path.realpath(path)}


def _build_state_key(path: str, event: str, group: int, number: int) -> str:
    return f"{path}:{_format_event_name(event)}:{group}:{number}"


def _format_event_name(event: str) -> str:
    """Return an event's name as the settings write it ("PreToolUse": "pre_tool_use")."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _is_trusted(trusted: Mapping[str, Any], key: str, event: str, hook: install.Hook) -> bool:
    state = trusted.get(key)
    return (
        isinstance(state, dict)
        and state.get("enabled") is not False
        and state.get("trusted_hash") == hash_hook(event, hook)
    )


def hash_hook(event: str, hook: install.Hook) -> str:
    """Return the hash by which Codex knows a hook again."""
    call = {"async": False, "command": hook.command, "timeout": hook.timeout, "type": "command"}
    about = {
        "event_name": _format_event_name(event),
        "hooks": [call],
        **({"matcher": hook.matcher} if hook.matcher else {}),
    }
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
