"""The settings of a hub, `hub.toml`: which repositories it mirrors, who may read each, and where it keeps its data.

data = "hub-data"
polling = 300

[[repository]]
name = "payments"
url = "https://git.example.com/payments/knowledge.git"
groups = ["payments", "platform"]
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.records.model import SCOPE

FILE = "hub.toml"
DSN = "KB_HUB_DSN"
"""The environment variable with a PostgreSQL database; without it, the index is one SQLite file per repository."""
EVERYBODY = "*"
"""The group of everybody who is logged in."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
"""A repository name, which also names a folder and is written before a colon."""
_RESERVED = frozenset({"global", "me", "con", "prn", "aux", "nul"})
"""Names that mean something else before the colon of a citation, or are no valid file names on some systems."""
_BRANCH = re.compile(r"(?!-)(?!.*(?:\.\.|@\{|//|\.lock(?:/|\Z)|/\Z|\.\Z))[\w./+@#-]{1,200}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_SCP = re.compile(r"(?:[\w.-]{1,64}@)?(\w[\w.-]{0,254}):(?!/)[^\s:]{1,1000}")
"""git@host:path, as for ssh."""
_PORTS = {"https": 443, "ssh": 22, "http": 80}
_HEADER = re.compile(r"\s*\[\[\s*repository\s*\]\]")
_TABLE = re.compile(r"\s*\[")


class RepositoryConfig(NamedTuple):
    """One `[[repository]]` of hub.toml."""

    name: str
    """Letters, digits, dots, hyphens and underscores; the part before the colon in `payments:D014`."""
    url: str
    """https:// or ssh:// (or git@host:path); file:// and loopback hosts only with `allow_local = true`."""
    branch: str = "main"
    groups: tuple[str, ...] = ()
    """The groups whose members may read it; "*" is everybody who is logged in. Without a group nobody may read it."""
    folder: str = ""
    """The folder of the knowledge base in the repository; "" for the top."""
    token: str = ""
    """The environment variable that holds an access token for https://; "" for none."""
    webhook_secret: str = ""
    """The environment variable that holds the secret of the code host's webhook; "" for none."""


class HubConfig(NamedTuple):
    """The settings from `hub.toml` and the environment."""

    path: str
    """The file."""
    data: str
    """The folder of mirrors and indexes, absolute."""
    repositories: tuple[RepositoryConfig, ...]
    polling: int = 300
    """Seconds between two fetches; 0: only on webhooks and `kb hub sync`."""
    dsn: str = ""
    """From KB_HUB_DSN, never from the file."""
    project_groups: Mapping[str, tuple[str, ...]] = {}
    """Group name → its projects or repositories, which get the records of scope group/NAME first."""
    allow_local: bool = False
    fetch_seconds: int = 120
    fetch_megabytes: int = 512
    tables: Mapping[str, Mapping[str, Any]] = {}
    """The other tables of the file (`[auth]`, `[server]`, …), unparsed, for the doors that read them."""

    def find_readable(self, groups: frozenset[str]) -> frozenset[str]:
        """Return the names of the repositories that a member of *groups* may read."""
        return frozenset(one.name for one in self.repositories if EVERYBODY in one.groups or groups & {*one.groups})

    def find_shared(self, name: str) -> frozenset[str]:
        """Return the names of the repositories that every reader of the repository *name* may read.

        A page shown to all its readers, as in a wiki, may only contain these.
        """
        groups = {group for one in self.repositories if one.name == name for group in one.groups}
        readers = [frozenset[str]()] if EVERYBODY in groups or not groups else [frozenset({group}) for group in groups]
        return frozenset.intersection(*map(self.find_readable, readers)) | {name}


def load_hub_config(path: str, environment: Mapping[str, str]) -> HubConfig:
    """Return the settings in the file *path*; raise BadInput with file and line for a mistake in it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        hint = msg("make one, or name it: --config PATH")
        raise BadInput(msg("there is no file {path}", path=path), hint=hint) from None
    except UnicodeDecodeError:
        raise BadInput(msg("the file is not valid UTF-8"), path=path) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        problem = msg("not valid TOML: {problem}", problem=error)
        raise BadInput(problem, path=path, line=int(line[1]) if line else 0) from None
    return _HubFile(path, text).build(values, environment.get(DSN, ""))


# -- addresses ----------------------------------------------------------------------------------------


def split_url(url: str, *, allow_local: bool) -> tuple[str, str, int]:
    """Return scheme, host and port of a repository URL; raise BadInput for one a hub does not fetch from.

    This checks only the text; `mirrors.resolve_address` checks the addresses of the host.
    """
    unknown = msg("{url} is not the address of a repository", url=hide_password(url))
    hint = msg("use https://HOST/PATH or ssh://git@HOST/PATH")
    if not url or url.startswith("-") or not url.isprintable() or " " in url or "::" in url.partition("/")[0]:
        raise BadInput(unknown, hint=hint)
    if "://" not in url:
        if scp := _SCP.fullmatch(url):
            return "ssh", scp[1], _PORTS["ssh"]
        raise BadInput(unknown, hint=hint)
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        raise BadInput(unknown, hint=hint) from None
    if parts.password:
        problem = msg("the address of a repository must hold no password")
        raise BadInput(problem, hint=msg('name the variable that has it: token = "NAME"'))
    if scheme == "file" and allow_local and not host:
        return scheme, "", 0
    if scheme not in ("https", "ssh") and not (scheme == "http" and allow_local):
        problem = msg("a hub does not fetch from {scheme}://", scheme=scheme)
        raise BadInput(problem, hint=msg("for a trial on this machine: allow_local = true"))
    if not host or host.startswith("-") or (parts.username or "").startswith("-"):
        raise BadInput(unknown, hint=hint)
    return scheme, host, port or _PORTS[scheme]


def hide_password(text: str) -> str:
    """Return *text* without user names and passwords in its URLs."""
    return re.sub(r"(?<=://)[^/@\s]{1,500}@", "…@", text)


# -- the file -----------------------------------------------------------------------------------------


class _HubFile:
    """The text of a hub.toml, to find the line of a mistake."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._lines = text.split("\n")

    def build(self, values: Mapping[str, Any], dsn: str) -> HubConfig:
        """Return the settings in *values*, the parsed file."""
        defaults = HubConfig("", "", ())._asdict()
        known = {key: defaults[key] for key in ("polling", "allow_local", "fetch_seconds", "fetch_megabytes")}
        tables: dict[str, Mapping[str, Any]] = {}
        given: dict[str, Any] = {}
        for key, value in values.items():
            if key == "project_groups":
                given[key] = self._build_project_groups(value)
            elif isinstance(value, dict):
                tables[key] = value
            elif key in known:
                if type(value) is not type(known[key]) or (isinstance(value, int) and value < 0):
                    self.refuse(msg("the setting {key} cannot be {value}", key=key, value=repr(value)), key)
                given[key] = value
            elif key not in ("data", "repository"):
                self.refuse(msg("there is no setting {key}", key=key), key)
        rows = values.get("repository", [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self.refuse(msg("a repository is a table of its own: [[repository]]"), "repository")
        allow_local = bool(given.get("allow_local"))
        repositories = tuple(self._build_repository(row, at, allow_local) for at, row in enumerate(rows))
        self._refuse_twins(repositories)
        data = values.get("data", "hub-data")
        if not isinstance(data, str) or not data:
            self.refuse(msg("the setting {key} cannot be {value}", key="data", value=repr(data)), "data")
        folder = os.path.join(os.path.dirname(os.path.abspath(self.path)), os.path.expanduser(data))
        return HubConfig(self.path, os.path.normpath(folder), repositories, dsn=dsn, tables=tables, **given)

    def _build_project_groups(self, table: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(table, dict):
            self.refuse(msg("{name} is a table: [{name}]", name="project_groups"), "project_groups")
        groups: dict[str, tuple[str, ...]] = {}
        for name, members in table.items():
            is_list = isinstance(members, list) and all(isinstance(one, str) and one for one in members)
            if not is_list or not re.fullmatch(SCOPE, f"group/{name}"):
                self.refuse(msg("the setting {key} cannot be {value}", key=name, value=repr(members)), name)
            groups[name] = tuple(members)
        return groups

    def _build_repository(self, row: Mapping[str, Any], at: int, allow_local: bool) -> RepositoryConfig:
        for key, value in row.items():
            if key not in RepositoryConfig._fields:
                self.refuse(msg("there is no setting {key}", key=f"repository.{key}"), key, at)
            is_list = isinstance(value, list) and all(isinstance(one, str) and one for one in value)
            if not (is_list if key == "groups" else isinstance(value, str)):
                self.refuse(msg("the setting {key} cannot be {value}", key=key, value=repr(value)), key, at)
        for key in ("name", "url"):
            if not row.get(key):
                self.refuse(msg("a repository needs the key {key}", key=key), "", at)
        made = RepositoryConfig(**{**row, "groups": tuple(row.get("groups", ()))})
        if not _NAME.fullmatch(made.name) or made.name.lower() in _RESERVED:
            self.refuse(msg("{name} cannot be the name of a repository", name=made.name), "name", at)
        if not _BRANCH.fullmatch(made.branch):
            self.refuse(msg("{name} cannot be the name of a branch", name=made.branch), "branch", at)
        if made.folder and (os.path.normpath(made.folder) != made.folder or made.folder.startswith(("/", ".."))):
            self.refuse(msg("{path} is not a folder within a repository", path=made.folder), "folder", at)
        for key in ("token", "webhook_secret"):
            value = getattr(made, key)
            if value and not _VARIABLE.fullmatch(value):
                # never print the value: somebody may have written the secret itself here
                self.refuse(msg("{key} names an environment variable, as TEAM_TOKEN", key=key), key, at)
        try:
            split_url(made.url, allow_local=allow_local)
        except BadInput as error:
            self.refuse(error.message, "url", at, hint=error.hint)
        return made

    def _refuse_twins(self, repositories: tuple[RepositoryConfig, ...]) -> None:
        # ignoring case: two mirrors must not share a folder on a case-insensitive file system
        seen: set[str] = set()
        for at, one in enumerate(repositories):
            if one.name.lower() in seen:
                self.refuse(msg("two repositories have the name {name}", name=one.name), "name", at)
            seen.add(one.name.lower())

    def refuse(self, problem: Message, key: str, at: int = -1, hint: Message | str = "") -> None:
        """Raise BadInput with *problem* in the line of *key*, in repository number *at* or at the top."""
        raise BadInput(problem, path=self.path, line=self._find_line(key, at), hint=hint)

    def _find_line(self, key: str, at: int) -> int:
        inside, start = -1, 0
        for number, line in enumerate(self._lines, 1):
            if _HEADER.match(line):
                inside, start = inside + 1, number if inside + 1 == at else start
            elif _TABLE.match(line) and at >= 0 and inside >= at:
                break
            elif (at < 0 or inside == at) and key and re.match(rf"\s*\[*[\"']?{re.escape(key)}[\"']?\s*[=\].]", line):
                return number
        return start
