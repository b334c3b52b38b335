"""Webhooks: a code host says that a repository has changed, and it is fetched soon, in the background.

Nothing in what the host sends is used but its signature: which repository is fetched says the address of the call, and
from where, `hub.toml`. So a call that is forged is refused, and one that is replayed fetches what is there anyway.
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
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LOG = logging.getLogger("kb.hub")
_PAUSE = 2.0
"""Seconds between two fetches of one repository, however many calls come."""
_SHA256 = "sha256="


def is_genuine(host: str, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether who sent *body* knows the *secret*, in the manner of *host*: a signature, or the secret itself.

    *headers*: by names in lower case. The comparison takes as long whatever is shown.
    """
    if host == "gitlab":
        return hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), secret.encode())
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    shown = headers.get("x-gitea-signature" if host == "gitea" else "x-hub-signature-256", "")
    return hmac.compare_digest(shown.removeprefix(_SHA256).encode(), signature.encode())


class SyncRequests(Protocol):
    """What takes the calls of webhooks, and counts what came of them."""

    @property
    def runs(self) -> int:
        """How often something was fetched."""

    @property
    def failures(self) -> int:
        """How often that failed."""

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon; asked again before that, it is fetched once."""

    async def run_forever(self) -> None:
        """Do what is to be done for that in this process, until the task is cancelled."""


class ForwardedRequests:
    """Hands calls on to the one process that fetches for several that answer."""

    def __init__(self, calls: Connection, counts: Sequence[int]) -> None:
        """Write into *calls*; *counts*: how often that process has fetched, and how often it failed."""
        self._calls = calls
        self._counts = counts
        os.set_blocking(calls.fileno(), False)

    @property
    def runs(self) -> int:
        """How often something was fetched."""
        return self._counts[0]

    @property
    def failures(self) -> int:
        """How often that failed."""
        return self._counts[1]

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon: a name is short enough to be written at once, whoever else writes."""
        with contextlib.suppress(OSError):  # a hundred wait already, or nobody fetches any longer
            self._calls.send_bytes(repository.encode())

    async def run_forever(self) -> None:
        """Do nothing: another process fetches."""
        await asyncio.Event().wait()


class SyncQueue:
    """Fetches repositories in the background: each at most every `_PAUSE` seconds, and all of them now and then."""

    def __init__(
        self,
        sync: Callable[[Sequence[str] | None], Awaitable[object]],
        interval: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Fetch with *sync*, which takes names or None for all; all at once and every *interval* seconds (0: never)."""
        self._sync = sync
        self._interval = interval
        self._now = now
        self._wanted: set[str] = set()
        self._fetched: dict[str, float] = {}
        self._called = asyncio.Event()
        self.runs = 0
        """How often something was fetched."""
        self.failures = 0

    def request(self, repository: str) -> None:
        """Have *repository* fetched soon; asked again before that, it is fetched once."""
        self._wanted.add(repository)
        self._called.set()

    async def run_forever(self) -> None:
        """Fetch what is asked for, until the task is cancelled; an error is logged and ends nothing."""
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
        except Exception as error:  # whatever it is, the next call or round tries again
            self.failures += 1
            _LOG.error("cannot fetch %s: %s", ", ".join(names or ["all"]), error)
        ended = self._now()
        self._fetched.update(dict.fromkeys(names or [], ended))
