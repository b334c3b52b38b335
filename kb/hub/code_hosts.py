"""Code hosts (GitHub, GitLab, Gitea): how to ask each one for a caller's rights, and what to do on its webhooks.

A webhook says that a repository has changed; the repository is then fetched in the background. Of what the host sends
only the signature is used: the address of the call names the repository, and `hub.toml` says where to fetch it. So a
forged call is refused, and a replayed one only fetches what is there anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LOG = logging.getLogger("kb.hub")
_PAUSE = 2.0
"""Seconds between two fetches of one repository, however many calls come."""
_SHA256 = "sha256="


class CodeHost(NamedTuple):
    """One kind of code host: its API for a caller's rights, and how it signs its webhooks."""

    branches: str
    """The API path of the branches: they are shown to readers of the content, not to those who only see the name."""
    scheme: str
    """What precedes the token in the header."""
    names: tuple[str, ...]
    """The fields of the answer at /user with a person's name, the best first."""
    webhook_header: str
    """The header of a webhook with its signature or secret, lower-case."""
    is_signed: bool = True
    """Whether the header has an HMAC-SHA256 of the body; otherwise it has the secret itself."""


CODE_HOSTS: Mapping[str, CodeHost] = {
    "github": CodeHost("/repos/{path}/branches?per_page=1", "Bearer", ("name", "login"), "x-hub-signature-256"),
    "gitlab": CodeHost(
        "/projects/{quoted}/repository/branches?per_page=1",
        "Bearer",
        ("name", "username"),
        "x-gitlab-token",
        is_signed=False,
    ),
    "gitea": CodeHost("/repos/{path}/branches?limit=1", "token", ("full_name", "login"), "x-gitea-signature"),
}
"""The supported code hosts: a new one is a row here."""


def is_genuine(host: str, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether the sender of *body* knows the *secret*; a *host* that is not supported counts as GitHub.

    *headers*: by names in lower case. The comparison takes the same time whatever the sender shows.
    """
    code_host = CODE_HOSTS.get(host, CODE_HOSTS["github"])
    shown = headers.get(code_host.webhook_header, "")
    if not code_host.is_signed:
        return hmac.compare_digest(shown.encode(), secret.encode())
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(shown.removeprefix(_SHA256).encode(), signature.encode())


# -- webhooks ----------------------------------------------------------------------------------------


class SyncRequests(Protocol):
    """Fetches repositories when webhooks ask for it, and counts the fetches."""

    @property
    def runs(self) -> int:
        """How many fetches were made."""

    @property
    def failures(self) -> int:
        """How many fetches failed."""

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon; several requests before the fetch count as one."""

    async def run_forever(self) -> None:
        """Fetch in this process what is requested, until the task is cancelled."""


class ForwardedRequests:
    """Forwards requests to the one process that fetches, where several processes answer calls."""

    def __init__(self, calls: Connection, counts: Sequence[int]) -> None:
        """Write requests into *calls*; *counts* has the fetches of that process, and how many failed."""
        self._calls = calls
        self._counts = counts
        os.set_blocking(calls.fileno(), False)

    @property
    def runs(self) -> int:
        """How many fetches were made."""
        return self._counts[0]

    @property
    def failures(self) -> int:
        """How many fetches failed."""
        return self._counts[1]

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon; a name is short enough for one atomic write to the pipe."""
        with contextlib.suppress(OSError):  # the pipe is full, or the other process has ended
            self._calls.send_bytes(repository.encode())

    async def run_forever(self) -> None:
        """Do nothing: another process fetches."""
        await asyncio.Event().wait()


class SyncQueue:
    """Fetches requested repositories in the background, each at most every `_PAUSE` seconds, and all regularly."""

    def __init__(
        self,
        sync: Callable[[Sequence[str] | None], Awaitable[object]],
        interval: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Fetch with *sync*, which takes names (None: all); fetch all now and each *interval* seconds (0: never)."""
        self._sync = sync
        self._interval = interval
        self._now = now
        self._wanted: set[str] = set()
        self._fetched: dict[str, float] = {}
        self._called = asyncio.Event()
        self.runs = 0
        """How many fetches were made."""
        self.failures = 0

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon; several requests before the fetch count as one."""
        self._wanted.add(repository)
        self._called.set()

    async def run_forever(self) -> None:
        """Fetch what is requested, until the task is cancelled; log errors and go on."""
        next_round = self._now() if self._interval else float("inf")
        while True:
            ready = [name for name in self._wanted if self._get_delay(name) <= 0]
            if ready:
                self._wanted.difference_update(ready)
                await self._fetch(sorted(ready))
            elif self._now() >= next_round:
                await self._fetch(None)
                next_round = self._now() + self._interval
            else:
                delays = [*map(self._get_delay, self._wanted), next_round - self._now()]
                self._called.clear()
                await self._wait_for_call(min(delays))

    def _get_delay(self, name: str) -> float:
        return self._fetched.get(name, float("-inf")) + _PAUSE - self._now()

    async def _wait_for_call(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(None if seconds == float("inf") else max(seconds, 0.01)):
                await self._called.wait()
        except TimeoutError:
            return

    async def _fetch(self, names: Sequence[str] | None) -> None:
        self.runs += 1
        try:
            await self._sync(names)
        except Exception as error:  # the next request or round tries again
            self.failures += 1
            _LOG.error("cannot fetch %s: %s", ", ".join(names or ["all"]), error)
        ended = self._now()
        self._fetched.update(dict.fromkeys(names or [], ended))
