"""The server of the hub: it translates network calls into calls of `kb.organisation`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from prometheus_client.multiprocess import mark_process_dead
from starlette.applications import Starlette
from starlette.routing import Route

from kb.errors import BadInput
from kb.hub.callers import build_authority
from kb.hub.code_hosts import ForwardedRequests, SyncQueue, SyncRequests
from kb.hub.door_settings import DoorSettings, read_door_settings, read_secret
from kb.hub.org_tools import build_mcp_app
from kb.hub.request_limits import SHARED_METRICS, JsonLines, Metrics, RequestLimits
from kb.hub.rest import MCP_PATH, Reception, build_routes
from kb.i18n import msg
from kb.mcp.http_server import ListenAddress, bind_socket, bracket_host, build_timeout_protocol, parse_address
from kb.organisation.hub import Hub

if TYPE_CHECKING:
    import socket
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from starlette.types import ASGIApp


METRICS_TOKEN = "KB_HUB_METRICS_TOKEN"
"""The environment variable with the token for /metrics; with the suffix _FILE, the path of its file."""
_STOP_SECONDS = 10
"""Seconds to wait for running calls when the hub is stopped."""
_LOOK_SECONDS = 1.0
"""Seconds between two checks that every process is running."""
_MAX_CONNECTIONS = 1000
"""Maximum number of open connections; further callers are asked to retry."""


class HubServer(NamedTuple):
    """A hub that is ready to answer."""

    app: ASGIApp
    reception: Reception
    queue: SyncRequests
    metrics: Metrics
    where: ListenAddress


def choose_address(settings: DoorSettings, address: str = "") -> ListenAddress:
    """Return the address of the hub: *address*, or else the one in its settings; raise BadInput.

    Other machines can reach it only if callers must identify themselves.
    """
    text = address or settings.server.address
    named = urlsplit(settings.server.url).netloc.rpartition("@")[2] if settings.server.url else ""
    names = tuple(filter(None, (named, *settings.server.names)))
    where = parse_address(text, names or ("localhost",), remote=True)
    if not where.is_local and not settings.has_identity:
        message = msg("other machines can reach {host}, and nobody has to say who they are", host=where.host)
        hint = msg("add [identity] or [code_host] to hub.toml, or listen at 127.0.0.1")
        raise BadInput(message, hint=hint)
    if not where.is_local and not names:
        message = msg("{host} is not a name that a client calls", host=where.host)
        raise BadInput(message, hint=msg("say in [server] of hub.toml by which url they call it"))
    return where


def build_hub_server(
    hub: Hub,
    environment: Mapping[str, str],
    where: ListenAddress,
    settings: DoorSettings,
    write_line: Callable[[str], None] | None = None,
    forwarded: SyncRequests | None = None,
) -> HubServer:
    """Return the server of *hub*, which listens at *where* and writes its log with *write_line*.

    *forwarded* gets the webhook requests and polls; without it this process fetches.
    """
    url = _build_url(settings, where)
    authority = build_authority(settings, url + MCP_PATH, hub.config)
    reception = Reception(hub, settings, authority, url, environment)
    metrics = Metrics()
    queue: SyncRequests = forwarded or SyncQueue(
        lambda names: reception.run_sync(lambda: _sync(hub, names)), hub.config.polling
    )
    hosts = _list_hosts(where)
    inner, let_through = build_mcp_app(reception, hosts)

    @contextlib.asynccontextmanager
    async def run_beside(app: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            syncing = asyncio.create_task(queue.run_forever())
            try:
                yield
            finally:
                syncing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await syncing
                await asyncio.to_thread(reception.close)

    routes = [
        Route(MCP_PATH, endpoint=_AsgiEndpoint(let_through)),
        *build_routes(reception, metrics, read_secret(environment, METRICS_TOKEN), queue),
    ]
    app = RequestLimits(
        Starlette(routes=routes, lifespan=run_beside),
        metrics,
        hosts=hosts,
        max_body=settings.server.max_body,
        seconds=settings.server.request_seconds,
        concurrency=settings.server.concurrency,
        write_line=write_line,
    )
    return HubServer(app, reception, queue, metrics, where)


def _build_url(settings: DoorSettings, where: ListenAddress) -> str:
    return settings.server.url.rstrip("/") or f"http://{bracket_host(where.host)}:{where.port}"


class _AsgiEndpoint:
    """An ASGI application at one path; a route calls a plain function in another way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, *given: Any) -> None:
        await self._app(*given)


def _sync(hub: Hub, names: Sequence[str] | None) -> None:
    log = logging.getLogger("kb.hub")
    for report in hub.sync(names):
        if report.error:
            log.error("%s stays as it was: %s", report.name, report.error)
        elif report.before != report.after:
            log.info("%s: %d updated, %d removed", report.name, report.updated, report.removed)


def _list_hosts(where: ListenAddress) -> list[str]:
    """Return the accepted host names of the hub, with and without its port."""
    hosts = ["127.0.0.1", "localhost", "[::1]", bracket_host(where.host), *where.names]
    return [name.lower() for host in hosts for name in (host, f"{host}:{where.port}")]


def open_settings(hub: Hub) -> DoorSettings:
    """Return the door settings in the hub's file; raise BadInput."""
    config = hub.config
    return read_door_settings(config.tables, [one.name for one in config.repositories], config.path)


def serve_hub(hub: Hub, environment: Mapping[str, str], address: str, announce: Callable[[str], None]) -> None:
    """Serve *hub* until the user stops it; call *announce* with its address."""
    settings = open_settings(hub)
    where = choose_address(settings, address)
    with bind_socket(where) as listening:
        # only now the port is known: with :0 the system has chosen it
        where = where._replace(port=listening.getsockname()[1])
        if settings.server.processes == 1:
            made = build_hub_server(hub, environment, where, settings)
            announce(made.reception.url)
            _run_server(made.app, listening)
        else:
            _write_json_log()
            with _Workers(hub, environment, where, listening, settings.server.processes) as workers:
                announce(_build_url(settings, where))
                asyncio.run(workers.run_until_stopped())


def _run_server(app: ASGIApp, listening: socket.socket) -> None:
    import uvicorn

    _write_json_log()
    protocol: Any = build_timeout_protocol  # any callable that returns a protocol works, though a class is annotated
    config = uvicorn.Config(
        app,
        http=protocol,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _write_json_log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for name in ("uvicorn.access", "httpx2", "httpcore2", "mcp"):  # their lines would contain addresses with queries
        logging.getLogger(name).setLevel(logging.WARNING)


# -- several processes ------------------------------------------------------------------------------


class _Workers:
    """Processes that serve one socket; this process fetches for all and restarts any that ends."""

    def __init__(
        self, hub: Hub, environment: Mapping[str, str], where: ListenAddress, listening: socket.socket, count: int
    ) -> None:
        self._hub = hub
        self._context = multiprocessing.get_context("spawn")  # a fork would share the database connections
        self._calls, calls = self._context.Pipe(duplex=False)
        self._counts = self._context.Array("Q", 2, lock=False)
        self._given = (hub.config.path, dict(environment), where, listening, calls, self._counts)
        self._queue = SyncQueue(lambda names: asyncio.to_thread(_sync, hub, names), hub.config.polling)
        self._running: list[SpawnProcess] = []
        self._count = count

    def __enter__(self) -> _Workers:
        self._metrics = tempfile.TemporaryDirectory(prefix="kb-hub-")
        os.environ[SHARED_METRICS] = self._metrics.name
        self._start_missing()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._running:
            one.terminate()
        for one in self._running:
            one.join(_STOP_SECONDS + 5)
            one.kill()
        del os.environ[SHARED_METRICS]
        self._metrics.cleanup()

    def _start_missing(self) -> None:
        """Start the missing processes."""
        for one in [one for one in self._running if not one.is_alive()]:
            self._running.remove(one)
            mark_process_dead(one.pid, self._metrics.name)  # type: ignore[no-untyped-call]
            logging.getLogger("kb.hub").error("a process ended with %s; another takes its place", one.exitcode)
        for _ in range(self._count - len(self._running)):
            one = self._context.Process(target=_serve_beside, args=self._given, daemon=True)
            one.start()
            self._running.append(one)

    async def run_until_stopped(self) -> None:
        """Fetch new commits and keep the processes running until this one is stopped."""
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        loop.add_reader(self._calls.fileno(), lambda: self._queue.request(self._calls.recv_bytes().decode()))
        syncing = asyncio.create_task(self._queue.run_forever())
        while not stopped.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await stopped.wait()
            if not stopped.is_set():
                self._start_missing()
            self._counts[0], self._counts[1] = self._queue.runs, self._queue.failures
        loop.remove_reader(self._calls.fileno())
        syncing.cancel()


def _serve_beside(
    path: str,
    environment: Mapping[str, str],
    where: ListenAddress,
    listening: socket.socket,
    calls: Connection,
    counts: Sequence[int],
) -> None:
    """Serve the hub of the file *path* in this worker process until it or its parent is stopped."""
    hub = Hub.open(path, environment)
    parent = multiprocessing.parent_process()

    def stop_with_parent() -> None:
        if parent:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_with_parent, daemon=True).start()
    try:
        forwarded = ForwardedRequests(calls, counts)
        _run_server(build_hub_server(hub, environment, where, open_settings(hub), forwarded=forwarded).app, listening)
    finally:
        hub.close()
