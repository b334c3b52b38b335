"""The shells of agents: where commands run in one, and what kb has made there that nobody has committed."""

from __future__ import annotations

from collections.abc import Mapping

from kb.startup.hashes import sha256
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MENDED = "mended.json"


SHELLS = ("CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "COPILOT_CLI")
"""Variables that agents set in the shells they run commands in."""


def is_agent_shell(environment: Mapping[str, str]) -> bool:
    """Return whether a command runs in the shell of an agent."""
    return any(environment.get(name) for name in SHELLS)


def save_kb_edits(kb: Workspace, mended: Mapping[str, bytes]) -> None:
    """Remember what kb has made of files without a commit (`kb check --fix`, `kb memory`): an agent may commit that."""
    if mended:
        new = {path: sha256(data).hexdigest() for path, data in mended.items()}
        kb.state.save({**(kb.state.load(_MENDED) or {}), **new}, _MENDED)


def load_kb_edits(kb: Workspace) -> dict[str, str]:
    """Return the files that kb has made and not committed, each with the SHA-256 of what it made of them."""
    return dict(kb.state.load(_MENDED) or {})
