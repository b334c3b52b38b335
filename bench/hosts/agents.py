"""The agent programs that are run: how each is installed, prepared, and given one prompt."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PORT = 8400
_URL = f"http://127.0.0.1:{PORT}"
_KEY = "dummy-key-for-a-fake-server-000000000000"


class Agent(NamedTuple):
    """One agent program."""

    package: str
    """On npm."""
    command: Sequence[str]
    """What runs one prompt without a screen; `{prompt}` is replaced."""
    environment: Mapping[str, str]
    prepare: Callable[[Path, Path], None]
    """Writes its settings for the scripted model into a home folder (first) for a project (second)."""


def _prepare_claude(home: Path, project: Path) -> None:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
    values = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
        "autoUpdates": False,
        "projects": {str(project): trusted},
    }
    _write_json(home / ".claude.json", values)


def _prepare_codex(home: Path, project: Path) -> None:
    text = f"""model = "gpt-6.1-sol"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.fake]
name = "Fake"
base_url = "{_URL}/v1"
wire_api = "responses"
requires_openai_auth = false

[projects."{project}"]
trust_level = "trusted"
"""
    (home / ".codex").mkdir(parents=True)
    (home / ".codex/config.toml").write_text(text)


def _prepare_gemini(home: Path, project: Path) -> None:
    values = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "ide": {"enabled": False, "hasSeenNudge": True},
        "model": {"name": "gemini-2.5-pro"},
    }
    _write_json(home / ".gemini/settings.json", values)
    _write_json(home / ".gemini/trustedFolders.json", {str(project): "TRUST_FOLDER"})


def _prepare_opencode(home: Path, project: Path) -> None:
    model = {"name": "Fake model", "tool_call": True, "limit": {"context": 200_000, "output": 8192}}
    options = {"baseURL": f"{_URL}/v1", "apiKey": "dummy"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": {"fake-model": model}}
    values = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "provider": {"fake": provider},
    }
    _write_json(home / ".config/opencode/opencode.json", values)


def _prepare_nothing(home: Path, project: Path) -> None:
    pass


def _write_json(path: Path, values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=2))


AGENTS: Mapping[str, Agent] = {
    "claude": Agent(
        "@anthropic-ai/claude-code",
        ("claude", "-p", "{prompt}", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(*)", "mcp__kb"),
        {
            "ANTHROPIC_BASE_URL": _URL,
            "ANTHROPIC_API_KEY": _KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        _prepare_claude,
    ),
    "opencode": Agent(
        "opencode-ai",
        ("opencode", "run", "{prompt}"),
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        _prepare_opencode,
    ),
    "codex": Agent(
        "@openai/codex",
        ("codex", "exec", "--dangerously-bypass-hook-trust", "{prompt}"),
        {},
        _prepare_codex,
    ),
    "gemini": Agent(
        "@google/gemini-cli",
        ("gemini", "--yolo", "-p", "{prompt}"),
        {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": _URL,
            "GEMINI_TELEMETRY_ENABLED": "false",
            "NO_BROWSER": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        _prepare_gemini,
    ),
    "copilot": Agent(
        "@github/copilot",
        ("copilot", "--allow-all-tools", "--allow-all-paths", "-p", "{prompt}"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{_URL}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "gpt-4.1",
        },
        _prepare_nothing,
    ),
}
"""By the names `kb hooks install` takes. Cursor's agent is not on npm."""
