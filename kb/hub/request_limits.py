"""ASGI layers around every call to the hub: limits, log line, metrics and safe headers.

A log line contains neither token nor query, and a metric names no repository, because their readers may not be allowed
to read the records.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from kb.i18n import Message, msg

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as AsgiMessage

ROUTE, CALLER = "kb.route", "kb.caller"
"""Scope keys under which a door stores the route and the caller."""
SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder for the counts of several processes in `prometheus_client`."""
UNPROTECTED = frozenset({"/healthz", "/readyz"})
"""Probes that are answered however busy the hub is."""
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"vary", b"Authorization, Accept-Language"),
)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30)

BUSY = msg("the hub is busy; try again in a moment")
TOO_LONG = msg("the body of the request is too long")
TOO_SLOW = msg("the request took too long")
WRONG_HOST = msg("the hub is not called by that name")


def choose_language(scope: Scope) -> str:
    """Return the caller's language: "zh" if the header begins with it, else "en"."""
    accepted = dict(scope.get("headers", ())).get(b"accept-language", b"")
    return "zh" if accepted.lower().startswith(b"zh") else "en"


async def send_error(
    scope: Scope, send: Send, status: int, code: str, message: Message, headers: Collection[tuple[bytes, bytes]] = ()
) -> None:
    """Answer with an error: its *code* for programs and its *message* for people, as JSON."""
    words = {"code": code, "message": message.translate(choose_language(scope))}
    body = json.dumps({"error": words}, ensure_ascii=False).encode()
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [(b"content-type", b"application/json"), length, *headers]})
    await send({"type": "http.response.body", "body": body})


class Metrics:
    """The metrics of the hub, in a registry of their own."""

    def __init__(self) -> None:
        """Create the counters."""
        self.registry = CollectorRegistry()
        labels = ("route", "status")
        self.requests = Counter("kb_hub_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "kb_hub_request_seconds", "Seconds a request took.", ("route",), buckets=_BUCKETS, registry=self.registry
        )
        # the modes say how to combine the values of several processes
        self.running = Gauge(
            "kb_hub_requests_running", "Requests being answered.", registry=self.registry, multiprocess_mode="livesum"
        )
        self.syncs = Gauge("kb_hub_syncs", "Fetches since the start.", registry=self.registry, multiprocess_mode="max")
        self.sync_failures = Gauge(
            "kb_hub_sync_failures", "Fetches that failed.", registry=self.registry, multiprocess_mode="max"
        )

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus, combined over all processes."""
        if SHARED_METRICS not in os.environ:
            return generate_latest(self.registry)
        gathered = CollectorRegistry()
        MultiProcessCollector(gathered)  # type: ignore[no-untyped-call]
        return generate_latest(gathered)


class RequestLimits:
    """The outermost layer: enforces the limits and writes the log line of a request."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        *,
        hosts: Collection[str],
        max_body: int,
        seconds: float,
        concurrency: int,
        write_line: Callable[[str], None] | None = None,
    ) -> None:
        """Wrap *app*; *hosts*: accepted host names, lower-case; empty for any."""
        self._app = app
        self._metrics = metrics
        self._hosts = frozenset(hosts)
        self._max_body = max_body
        self._seconds = seconds
        self._concurrency = concurrency
        self._running = 0
        self._write_line = write_line or _print_line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        seen = {"status": 0, "bytes": 0}

        async def send_and_count(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                given = {name.lower() for name, _ in message.get("headers", ())}
                more = [header for header in _HEADERS if header[0] not in given]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            seen["bytes"] += len(message.get("body", b""))
            await send(message)

        self._running += 1
        self._metrics.running.set(self._running)
        try:
            await self._answer(scope, receive, send_and_count, seen)
        finally:
            self._running -= 1
            self._metrics.running.set(self._running)
            self._log(scope, seen, time.monotonic() - begun)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, seen: dict[str, int]) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        length = headers.get(b"content-length", b"0")
        if self._hosts and host not in self._hosts:  # a page in a browser may use any name that resolves to this host
            await send_error(scope, send, 421, "wrong_host", WRONG_HOST)
        elif self._running > self._concurrency and scope["path"] not in UNPROTECTED:
            await send_error(scope, send, 503, "busy", BUSY, [(b"retry-after", b"1")])
        elif length.isdigit() and int(length) > self._max_body:
            await send_error(scope, send, 413, "too_long", TOO_LONG, [(b"connection", b"close")])
        else:
            await self._run(scope, receive, send, seen)

    async def _run(self, scope: Scope, receive: Receive, send: Send, seen: dict[str, int]) -> None:
        try:
            # up to the last byte of the answer: a client that sends or reads one byte a second is disconnected
            async with asyncio.timeout(self._seconds):
                body = await self._read_body(receive)
                if body is None:
                    await send_error(scope, send, 413, "too_long", TOO_LONG, [(b"connection", b"close")])
                else:
                    await self._app(scope, _replay_body(body, receive), send)
        except TimeoutError:
            if seen["status"]:
                raise ClientTooSlow from None  # the server then closes the connection: half an answer is useless
            await send_error(scope, send, 503, "too_slow", TOO_SLOW, [(b"connection", b"close")])

    async def _read_body(self, receive: Receive) -> bytes | None:
        """Return the body, or None if it exceeds the limit; read no more than that."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._max_body:
                return None
            if message["type"] != "http.request" or not message.get("more_body"):
                return bytes(body)

    def _log(self, scope: Scope, seen: dict[str, int], seconds: float) -> None:
        # the route, not the path: a path contains ids, and a query string search words
        route = str(scope.get(ROUTE, "-"))
        caller = scope.get(CALLER)
        self._metrics.requests.labels(route, str(seen["status"])).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "method": scope["method"],
            "route": route,
            "status": seen["status"],
            "ms": round(seconds * 1000, 1),
            "bytes": seen["bytes"],
            "caller": getattr(caller, "subject", ""),
        }
        self._write_line(json.dumps(line, ensure_ascii=False))


class ClientTooSlow(Exception):
    """The answer could not be sent in time."""


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that yields the received *body* first, then further messages."""
    is_given = False

    async def hand_on() -> AsgiMessage:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return hand_on


def _print_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class JsonLines(logging.Formatter):
    """Formats log records of the hub and its server as JSON lines, like those of requests."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; of an exception only its type, because its text may quote the caller."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0]:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)
