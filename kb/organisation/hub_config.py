"""The settings of a hub, `hub.toml`: which repositories it mirrors, who may read each, and where it keeps its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

FILE = "hub.toml"
DSN = "KB_HUB_DSN"
"""The environment variable that names a PostgreSQL database; without it the index is one SQLite file per repository."""


class RepositoryConfig(NamedTuple):
    """One `[[repository]]` of hub.toml."""

    name: str
    """Letters, digits, dots, hyphens and underscores; what stands before the colon in `payments:D014`."""
    url: str
    """https:// or ssh:// (or git@host:path); file:// and loopback hosts only with `allow_local = true`."""
    branch: str = "main"
    groups: tuple[str, ...] = ()
    """The groups whose members may read it; "*" is everybody who is logged in. Without any nobody reads it."""
    folder: str = ""
    """The folder of the knowledge base in the repository; "" for its top."""
    token: str = ""
    """The environment variable that holds an access token for https://; "" for none."""
    webhook_secret: str = ""
    """The environment variable that holds the secret of the code host's webhook; "" for none."""


class HubConfig(NamedTuple):
    """What `hub.toml` and the environment say."""

    path: str
    """The file."""
    data: str
    """The folder of mirrors and indexes, absolute."""
    repositories: tuple[RepositoryConfig, ...]
    polling: int = 300
    """Seconds between two looks for new commits; 0: only webhooks and `kb hub sync`."""
    dsn: str = ""
    """From KB_HUB_DSN, never from the file."""
    allow_local: bool = False
    fetch_seconds: int = 120
    fetch_megabytes: int = 512
    tables: Mapping[str, Mapping[str, Any]] = {}
    """The other tables of the file (`[auth]`, `[server]`, …) as they are written, for the doors that read them."""

    def find_readable(self, groups: frozenset[str]) -> frozenset[str]:
        """Return the names of the repositories that a member of *groups* may read."""
        return frozenset(one.name for one in self.repositories if "*" in one.groups or groups & {*one.groups})
