"""Which project a folder belongs to. Two projects with the same base name never share a scope (SHI-07)."""

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING

from kb.record import GLOBAL
from kb.store.git.command import run, scrubbed
from kb.store.git.layout import enclosing, first_line
from kb.text import slugify

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

MARK = "project.json"
"""The file in a project's folder that says whose it is: {"identity": [...]}."""


def scope_for(kb: "KnowledgeBase", folder: str) -> str:
    """Return the scope for work in *folder*.

    `$KB_PROJECT` names it outright. Work inside the knowledge base's own repository belongs to the project that
    `kb.toml` names, or is global. Any other repository is known by its remote, or by its path where it has none.
    """
    if name := kb.environment.get("KB_PROJECT"):
        return f"project/{slugify(name)}"
    found = enclosing(os.path.realpath(folder or os.getcwd()))
    top = found[0] if found else os.path.realpath(folder or os.getcwd())
    if top == kb.root or (found and top == kb.repository.top):
        return f"project/{kb.config.project}" if kb.config.project else GLOBAL
    key = f"{top}@{_stamp(found[1] if found else '')}"
    known = kb.state.load("projects.json") or {}
    if isinstance(known, dict) and isinstance(known.get(key), str):
        return str(known[key])
    return f"project/{_name(kb, top, identity(kb, top))}"


def remember(kb: "KnowledgeBase", folder: str, scope: str) -> None:
    """Keep what `scope_for` found, once the project's mark is written."""
    found = enclosing(os.path.realpath(folder))
    top = found[0] if found else os.path.realpath(folder)
    known = kb.state.load("projects.json") or {}
    key = f"{top}@{_stamp(found[1] if found else '')}"
    if known.get(key) != scope:
        kb.state.save({**known, key: scope}, "projects.json")


def identity(kb: "KnowledgeBase", top: str) -> str:
    """Return what makes the repository at *top* itself on every machine: its remote without user and protocol."""
    output = run(["git", "-C", top, "config", "--get", "remote.origin.url"], scrubbed(kb.environment))
    url = output.out.decode("utf-8", "replace").strip() if output.code == 0 else ""
    if url and not url.startswith(("/", ".", "file:")):
        plain = re.sub(r"^[a-z+]+://", "", url)
        return re.sub(r"^[^@/]*@", "", plain).replace(":", "/", 1).removesuffix(".git").lower()
    return "path:" + hashlib.sha256(os.path.realpath(top).encode()).hexdigest()[:12]


def mark(kb: "KnowledgeBase", folder: str, scope: str) -> dict[str, bytes]:
    """Return the file that claims *scope* for the repository around *folder*, or {} where it is claimed already."""
    if scope == GLOBAL:
        return {}
    path = f"content/anchors/projects/{scope.removeprefix('project/')}/{MARK}"
    if os.path.exists(os.path.join(kb.root, path)):
        return {}
    found = enclosing(os.path.realpath(folder)) if folder else None
    owners = [identity(kb, found[0])] if found and found[0] != kb.repository.top else []
    return {path: json.dumps({"identity": owners}, indent=1).encode() + b"\n"}


def _name(kb: "KnowledgeBase", top: str, own: str) -> str:
    base = slugify(os.path.basename(top))
    for name in (base, f"{base}-{hashlib.sha256(own.encode()).hexdigest()[:6]}"):
        owners = _owners(os.path.join(kb.root, "content", "anchors", "projects", name, MARK))
        if owners is None or not owners or own in owners:
            return name
    return f"{base}-{hashlib.sha256(own.encode()).hexdigest()[:12]}"


def _owners(path: str) -> list[str] | None:
    try:
        with open(path, encoding="utf-8") as file:
            return [str(owner) for owner in json.load(file)["identity"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _stamp(git_dir: str) -> str:
    try:
        return str(os.stat(os.path.join(git_dir, "config")).st_mtime_ns) if git_dir else ""
    except OSError:
        return first_line(os.path.join(git_dir, "commondir"))
