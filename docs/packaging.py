"""The files by which others install or read kb: plugins of agent programs, the MCP registry's entry, the schema.

They are made from the tables of hosts, events and kinds by `python -m docs.generate`, and stand where each program
looks for them: most at the top of the repository.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kb import __version__
from kb.checks.file_rules import build_front_matter_schema
from kb.hooks import install, plugin
from kb.hosts import CLAUDE, CODEX, GEMINI, SERVER_ARGUMENTS, SERVER_PROGRAM, Host
from kb.installation import PACKAGE

PROGRAM = "kb-hook"
"""How a plugin calls kb: by name, for nobody knows where it is installed."""
CLAUDE_FOLDER = ".claude-plugin/kb"
CODEX_FOLDER = ".agents/plugins/kb"
NAMESPACE = "io.github.OWNER"
"""Who publishes; the release workflow puts the owner of the repository in."""
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_TITLE = "kb: decisions of a team"
_SUMMARY = "Search, read and write the decisions of a team, kept as markdown in git."
"""At most 100 characters: the MCP registry takes no more."""


def files() -> dict[str, str]:
    """Return the files by their paths from the top of the repository."""
    values = {
        "docs/schema/front-matter.schema.json": build_front_matter_schema(),
        "gemini-extension.json": build_gemini_extension(),
        "server.json": build_server_entry(),
        **build_codex_plugin(),
    }
    written = {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in values.items()}
    return {**plugin.render_claude_plugin(PROGRAM, install.WORDS, mcp=True, folder=CLAUDE_FOLDER), **written}


def build_server(host: Host) -> dict[str, Any]:
    """Return the entry of kb's MCP server as *host* has it in its settings."""
    places = {SERVER_PROGRAM: "kb", SERVER_ARGUMENTS: ["mcp"]}
    return {key: places.get(value, value) for key, value in host.mcp_entry.items()}


def build_codex_plugin() -> Mapping[str, Any]:
    """Return the plugin for Codex, and the marketplace that offers it; at its own top Codex would find no plugin."""
    about = {"name": "kb", "version": __version__, "description": plugin.ABOUT}
    hooks = json.loads(install.add_hooks(CODEX, "", install.build_hooks(CODEX, PROGRAM)))
    return {
        ".agents/plugins/marketplace.json": {
            "name": plugin.MARKETPLACE,
            "interface": {"displayName": _TITLE},
            "plugins": [
                {
                    "name": "kb",
                    "source": {"source": "local", "path": f"./{CODEX_FOLDER}"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Productivity",
                }
            ],
        },
        f"{CODEX_FOLDER}/.codex-plugin/plugin.json": {
            **about,
            "license": "MIT",
            "hooks": "./hooks/hooks.json",
            "mcpServers": "./.mcp.json",
        },
        f"{CODEX_FOLDER}/hooks/hooks.json": hooks,
        f"{CODEX_FOLDER}/.mcp.json": {CLAUDE.mcp_key: {"kb": build_server(CODEX)}},
    }


def build_gemini_extension() -> dict[str, Any]:
    """Return the extension of Gemini CLI: the server, and the protocol that says when to use it.

    It has no hooks: an extension's are in a folder `hooks` at its top, which is that of the repository.
    """
    return {
        "name": "kb",
        "version": __version__,
        "description": plugin.ABOUT,
        GEMINI.mcp_key: {"kb": build_server(GEMINI)},
        "contextFileName": "kb/templates/agents/en/protocol.md",
    }


def build_server_entry() -> dict[str, Any]:
    """Return the entry for the MCP registry: kb from PyPI, run by uvx together with the SDK."""
    (sdk,) = _list_needs("mcp")
    return {
        "$schema": SERVER_SCHEMA,
        "name": f"{NAMESPACE}/kb",
        "title": _TITLE,
        "description": _SUMMARY,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": PACKAGE,
                "version": __version__,
                "runtimeHint": "uvx",
                "runtimeArguments": [{"type": "named", "name": "--with", "value": sdk}],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
                "environmentVariables": [
                    {"name": "KB_HOME", "description": "The knowledge base to serve.", "format": "filepath"}
                ],
            }
        ],
    }


def _list_needs(extra: str) -> list[str]:
    """Return what the *extra* needs, as pyproject.toml has it."""
    with Path(__file__).parents[1].joinpath("pyproject.toml").open("rb") as file:
        needs: list[str] = tomllib.load(file)["project"]["optional-dependencies"][extra]
    return needs
