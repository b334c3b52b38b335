"""Agents where they can be told from people: in the shells they run commands in, and by what they have staged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

from kb.guard.call_targets import BANK
from kb.i18n import msg
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.state import record_stamps
from kb.state.project import is_agent_shell
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.workspace import Workspace

_MENDED = "mended.json"
_GOING_ON = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""What stands in a git directory while git itself brings changes together."""


def check_staged_changes(kb: Workspace) -> Iterator[Finding]:
    """Report what an agent is about to commit that only kb writes: kb commits by itself (MBANK-37, second line)."""
    if kb.config.writer == "direct" or not is_agent_shell(kb.environment):
        return
    from kb.checks.findings import Finding  # a plain call asks only whose shell it is

    if any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in _GOING_ON):
        return
    mended = kb.state.load(_MENDED) or {}
    seen = record_stamps.load_snapshot(kb.root)
    for path, oid in _list_staged(kb).items():
        if seen and _is_undone(seen, path, oid):
            continue
        if path in mended and mended[path] == sha256(kb.repository.run_git(["cat-file", "blob", oid]).out).hexdigest():
            continue
        message = msg("an agent has staged a change here, where only kb writes")
        fix = msg("take it back: git restore --staged --worktree {path}; then: kb write", path=path)
        yield Finding("writer", "error", path, 1, message, fix)


def _is_undone(seen: GuardSnapshot, path: str, oid: str) -> bool:
    """Return whether the blob *oid* is what *path* had before a change of an agent: undoing it is no change."""
    from kb.guard.outside_changes import LEFT  # it asks this module what was mended

    oid = oid if oid.strip("0") else GONE
    entry = seen.files.get(path, FileStamp(GONE))
    return entry.mark == LEFT + oid or (entry.mark == GONE and entry.oid == oid != GONE)


def _list_staged(kb: Workspace) -> dict[str, str]:
    """Return path and blob of what is staged where only kb writes; in the index of the commit that is being made."""
    repository = kb.repository
    kept = [f"{CONTENT}/{folder}" for folder in sorted({kind.folder for kind in KINDS})]
    kept += [f"{CONTENT}/sessions", BANK]
    words = ("diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "-z", "HEAD", "--")
    index = os.path.realpath(os.path.join(repository.top, kb.environment.get("GIT_INDEX_FILE") or os.devnull))
    own = index if index.startswith(os.path.realpath(repository.git_dir) + os.sep) else ""
    output = repository.run_git([*words, *(repository.prefix + folder for folder in kept)], index=own)
    parts = os.fsdecode(output.out).split("\0") if not output.code else []
    rows = zip(parts[::2], parts[1::2], strict=False)
    return {path.removeprefix(repository.prefix): about.split(" ")[3] for about, path in rows}
