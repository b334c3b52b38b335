"""Find the project a folder belongs to, and whether an agent's shell works in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.files import read_if_exists
from kb.git.git_process import find_common_dir, find_git_dir, read_first_line, run, scrub_environment
from kb.i18n import Message, msg
from kb.paths import FILE, is_trusted, user_home
from kb.records.kinds import PROJECT_FILE
from kb.records.model import GLOBAL, LIVE, OWN, SCOPE, Record, list_groups, recency_key
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.startup.process import sha256
from kb.text.segment import slugify

if TYPE_CHECKING:
    from kb.workspace import Workspace


_SCOPE = regex(SCOPE)
_CLAIMS = "claims.json"
"""Name → identity of the projects that have written here and have no mark yet."""
_KNOWN = "projects.json"
"""Cache: folder and time of its git settings → scope."""
_SHORTEST_TOKEN = 16
"""Characters below which the name of a folder is no token."""
_NAMING_REMOTES = (b"remote", b"include", b"worktreeconfig")
"""Words of which a repository's settings have one, in lower case, where they or what they include name a remote."""
_PROTOCOL = regex(r"^[a-z+]+://")
_USER = regex(r"^[^/]*@")


def resolve_scope(kb: Workspace, folder: str, *, claim: bool = False) -> str:
    """Return the scope for work in *folder*; with *claim*, under the lock, it is that project's alone from now on.

    `$KB_PROJECT` names it outright. Work inside the knowledge base's own repository belongs to the project that
    `kb.toml` names, or is global. Any other repository is known by its remote, or by its path where it has none.
    """
    if name := kb.environment.get("KB_PROJECT"):
        return f"project/{slugify(name)}"
    home, git_dir = _find_home(folder)
    if home == kb.root or (git_dir and git_dir == kb.repository.common_dir):
        return f"project/{slugify(kb.config.project)}" if kb.config.project else GLOBAL
    known, key = kb.state.load(_KNOWN) or {}, _build_cache_key(home, git_dir)
    if isinstance(scope := known.get(key), str):
        return scope
    own = find_identity(kb, home, git_dir)
    name = _choose_name(kb, home, own)
    if claim:
        kb.state.save(load_claims(kb) | {name: own}, _CLAIMS)
        kb.state.save(known | {key: f"project/{name}"}, _KNOWN)
    return f"project/{name}"


def find_identity(kb: Workspace, home: str, git_dir: str) -> str:
    """Return the identity of the repository at *home*, equal on every machine: its remote without user and protocol."""
    # a folder without a repository, and most repositories without a remote, need no git process: every hook asks this
    settings = (read_if_exists(os.path.join(git_dir, "config")) or b"").lower() if git_dir else b""
    url = ""
    if any(word in settings for word in _NAMING_REMOTES):
        output = run(["git", "-C", home, "config", "--get", "remote.origin.url"], scrub_environment(kb.environment))
        url = output.out.decode("utf-8", "replace").strip() if output.code == 0 else ""
    if url and not url.startswith(("/", ".", "file:")):
        plain = _USER.sub("", _PROTOCOL.sub("", url))
        return plain.replace(":", "/", 1).removesuffix("/").removesuffix(".git").lower()
    return "path:" + sha256(os.fsencode(git_dir or home)).hexdigest()[:12]


def _find_home(folder: str) -> tuple[str, str]:
    """Return the top folder of the project around *folder* and its git directory; worktrees belong to the main one."""
    folder = os.path.realpath(folder or os.getcwd())
    found = find_git_dir(folder)
    if found is None:
        return folder, ""
    shared = os.path.realpath(find_common_dir(found[1]))
    return (os.path.dirname(shared) if os.path.basename(shared) == ".git" else found[0]), shared


def _choose_name(kb: Workspace, home: str, own: str) -> str:
    """Return the name of the project at *home*, of identity *own*: that of its folder, unless another has it."""
    folder = os.path.basename(home)
    if len(folder) >= _SHORTEST_TOKEN:  # it may be a secret, and the name of a scope is in git
        from kb.safety.redaction import redact_text

        folder, _ = redact_text(folder, kb.config.masking)
    base, mark = slugify(folder), sha256(own.encode()).hexdigest()
    # two projects “api” of two owners: the second is “api-3f9a1c” everywhere, derived from its remote
    names = (base, f"{base}-{mark[:6]}", f"{base}-{mark[:12]}")
    for name in names:
        # the owner is in its mark, or in a claim of this clone
        path = os.path.join(kb.root, "content", "anchors", "projects", name, PROJECT_FILE)
        owners = [*(parse_owners(read_if_exists(path)) or ()), *filter(None, [load_claims(kb).get(name)])]
        if not owners or own in owners:
            return name
    return names[-1]


def load_claims(kb: Workspace) -> dict[str, str]:
    """Return name → identity of the projects that have written in this clone and have no mark yet."""
    return {str(name): str(own) for name, own in (kb.state.load(_CLAIMS) or {}).items()}


def parse_owners(data: bytes | None) -> list[str] | None:
    """Return the owners in a mark, or None if it is missing or unreadable."""
    try:
        return [str(owner) for owner in json.loads(data or b"")["identity"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _build_cache_key(home: str, git_dir: str) -> str:
    try:
        stamp = str(os.stat(os.path.join(git_dir, "config")).st_mtime_ns) if git_dir else ""
    except OSError:
        stamp = read_first_line(os.path.join(git_dir, "HEAD"))
    return f"{home}@{stamp}"


_KB_EDITS = "mended.json"


def is_agent_shell(environment: Mapping[str, str]) -> bool:
    """Return whether a command runs in the shell of an agent."""
    from kb.hosts import HOSTS

    return any(environment.get(host.shell_variable) for host in HOSTS.values())


def save_kb_edits(kb: Workspace, edits: Mapping[str, bytes]) -> None:
    """Remember files that kb has changed without a commit (`kb check --fix`, `kb memory`): an agent may commit them."""
    if edits:
        new = {path: sha256(data).hexdigest() for path, data in edits.items()}
        kb.state.save({**(kb.state.load(_KB_EDITS) or {}), **new}, _KB_EDITS)


def load_kb_edits(kb: Workspace) -> dict[str, str]:
    """Return the files that kb has changed without a commit → SHA-256 of the contents."""
    return dict(kb.state.load(_KB_EDITS) or {})


def list_compared_scopes(kb: Workspace, scope: str) -> list[str]:
    """Return the scopes whose records a candidate of *scope* may repeat or contradict."""
    return sorted({scope, *list_groups(kb.config.groups, scope), GLOBAL})


def name_scope_problem(kb: Workspace, scope: str) -> Message | None:
    """Return why nothing may be written to *scope*: it is none, or another agent's than the one who writes."""
    if not _SCOPE.fullmatch(scope):
        return msg("there is no scope {scope}", scope=scope)
    return msg("{scope} belongs to another agent", scope=scope) if kb.reader and not kb.can_see(scope) else None


OWN_BASE = "KB_OWN"
"""The variable that leaves out the person's own base ("off"), for servers that answer other people."""


def find_own_root(kb: Workspace) -> str:
    """Return the root of the person's own base (`~/.kb`), or "" if there is none or *kb* is that base."""
    root = user_home(kb.environment)
    if kb.environment.get(OWN_BASE) == "off" or not os.path.isfile(os.path.join(root, FILE)):
        return ""
    is_same = os.path.realpath(root) == os.path.realpath(kb.root)
    return "" if is_same or not is_trusted(root, kb.environment) else root


def open_own_base(kb: Workspace, root: str) -> Workspace:
    """Open the person's own base at *root*, without the environment variables that name a base or project for *kb*."""
    others = {key: value for key, value in kb.environment.items() if key not in ("KB_HOME", "KB_PROJECT")}
    return type(kb)(root, others, kb.now)


def list_own_records(kb: Workspace) -> list[Record]:
    """Return the records in the person's own base, newest first, or [] if there is none.

    Their ids begin with `me:`, their paths are absolute: they are beside a base that others read, and in no index of
    it.
    """
    if not (root := find_own_root(kb)):
        return []
    with open_own_base(kb, root) as own:
        records = own.sync_index(thorough=False).records()
    mine = [one for one in records if one.kind == "preference" and one.scope == GLOBAL and one.status in LIVE]
    newest = sorted(mine, key=recency_key, reverse=True)
    return [record._replace(id=OWN + record.id, path=os.path.join(root, record.path)) for record in newest]


def is_shared(kb: Workspace) -> bool:
    """Return whether others may read the knowledge base: all but the user's own one (`~/.kb`) without a remote."""
    if os.path.realpath(kb.root) != os.path.realpath(user_home(kb.environment)):
        return True
    return bool(kb.repository.run_git(["config", "--get-regexp", r"^remote\..*\.url$"]).out.strip())
