"""Codex CLI (https://developers.openai.com/codex/hooks): the payload of Claude Code, and no key it does not list.

It runs no hook that the person has not trusted, and says nothing about it. What is trusted is in the user's
`config.toml`, a table for each hook: `[hooks.state."FILE:EVENT:GROUP:NUMBER"]` with the SHA-256 of the hook as
canonical JSON. Seen in Codex 0.169.0, for hooks of the user and of a project alike.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kb.hosts import ALLOW, ASK, CODEX, DENY, HookResponse, resolve_settings_path

if TYPE_CHECKING:
    from kb.hooks.install import Hook

_UNREAD_EVENTS = ("SessionEnd", "PreCompact")
"""Events at which nothing that is printed is read."""


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields: they are the host's.

    Newer models call their shell from a script, and then no exit code comes with the output: it may be an error.
    """
    response, made = payload.get("tool_response"), dict(payload)
    if event == "PostToolUse" and payload.get("tool_name") == "Bash" and isinstance(response, str):
        made["unclear_output"] = response
    return made


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints: no bare "allow" and no change of an output, which the host does not know.

    The host knows the permission "ask" and supports it nowhere: it reports a failed hook and makes the call. So what a
    person is to be asked about is denied.
    """
    if event in _UNREAD_EVENTS:
        return ""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if event == "PreToolUse" and decision.permission in (ASK, DENY):
        reason = decision.refusal_text[: CODEX.limit] or DENY
        specific |= {"permissionDecision": DENY, "permissionDecisionReason": reason}
    elif event == "PreToolUse" and decision.permission == ALLOW and decision.updated_input is not None:
        specific |= {"permissionDecision": "allow", "updatedInput": decision.updated_input}
    elif event in CODEX.blocking and decision.permission == DENY:
        output |= {"decision": "block", "reason": decision.reason[: CODEX.limit] or DENY}
    if decision.model_text and event in CODEX.speaking:
        specific["additionalContext"] = decision.model_text[: CODEX.limit]
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if decision.person_text:
        output["systemMessage"] = decision.person_text[: CODEX.limit]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""


# -- which hooks does it run? ----------------------------------------------------------------------


def find_disabling_files(paths: list[str]) -> list[str]:
    """Return the files beside the hooks at *paths* in which the user has switched off all hooks."""
    found = []
    for beside in (os.path.join(os.path.dirname(path), "config.toml") for path in paths):
        features = _load_config(beside).get("features")
        if isinstance(features, dict) and features.get("hooks", features.get("codex_hooks")) is False:
            found.append(beside)
    return found


def find_untrusted_events(path: str, environment: Mapping[str, str]) -> list[str]:
    """Return the events of kb's hooks in *path* that Codex does not run: not trusted, changed since, or turned off."""
    from kb.hooks.install import find_own_hooks
    from kb.hooks.settings_file import read_settings

    text = (read_settings(path) or b"").decode("utf-8-sig", "replace")
    if not text.strip():
        return []
    hooks = _load_config(resolve_settings_path(CODEX.mcp, "", environment)).get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    trusted, real = state if isinstance(state, dict) else {}, os.path.realpath(path)
    found = []
    for event, group, number, hook in find_own_hooks(text):
        keys = [f"{file}:{_format_event_name(event)}:{group}:{number}" for file in (os.path.abspath(path), real)]
        entries = [entry for key in keys if isinstance(entry := trusted.get(key), dict)]
        wanted = hash_hook(event, hook)
        if not any(one.get("trusted_hash") == wanted and one.get("enabled") is not False for one in entries):
            found.append(event)
    return found


def _load_config(path: str) -> Mapping[str, Any]:
    """Return what a `config.toml` says; nothing where it cannot be read."""
    import tomllib

    from kb.hooks.settings_file import read_settings

    try:
        return tomllib.loads((read_settings(path) or b"").decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return {}


def _format_event_name(event: str) -> str:
    """Return an event's name as the settings write it ("PreToolUse": "pre_tool_use")."""
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in event).removeprefix("_")


def hash_hook(event: str, hook: Hook) -> str:
    """Return the hash by which Codex recognises a hook."""
    from hashlib import sha256

    call = {"async": False, "command": hook.command, "timeout": hook.timeout, "type": "command"}
    matched = {"matcher": hook.matcher} if hook.matcher else {}
    about = {"event_name": _format_event_name(event), "hooks": [call], **matched}
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"
