"""The server of the hub: it translates calls over the network into those of `kb.organisation`, and answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.routing import Route

from kb.errors import BadInput
from kb.hub.callers import build_authority
from kb.hub.door_settings import DoorSettings, read_door_settings, read_secret
from kb.hub.org_tools import build_mcp_app
from kb.hub.request_limits import JsonLines, Metrics, RequestLimits
from kb.hub.rest import MCP_PATH, Reception, build_routes
from kb.hub.webhooks import SyncQueue
from kb.i18n import msg
from kb.mcp.http_server import ListenAddress, bind_socket, bracket_host, build_timeout_protocol, parse_address

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from kb.organisation.hub import Hub

METRICS_TOKEN = "KB_HUB_METRICS_TOKEN"
"""The environment variable with the token that opens /metrics, or with _FILE after it the file that has it."""
_STOP_SECONDS = 10
"""Seconds that running calls may still take when the hub is stopped."""
_MAX_CONNECTIONS = 1000
"""Connections that are open at the same time; a caller beyond them is told to come back."""


class HubServer(NamedTuple):
    """A hub that is ready to answer."""

    app: ASGIApp
    reception: Reception
    queue: SyncQueue
    metrics: Metrics
    where: ListenAddress


def choose_address(settings: DoorSettings, address: str = "") -> ListenAddress:
    """Return where the hub listens: at *address*, or where its settings say; raise BadInput.

    Other machines reach it only where callers have to say who they are.
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
) -> HubServer:
    """Return the server of *hub*, which listens at *where*; it writes its log with *write_line*."""
    url = settings.server.url.rstrip("/") or f"http://{bracket_host(where.host)}:{where.port}"
    authority = build_authority(settings, url + MCP_PATH, hub.config)
    reception = Reception(hub, settings, authority, url, environment)
    metrics = Metrics()
    queue = SyncQueue(lambda names: reception.run_sync(lambda: _sync(hub, names)), hub.config.polling)
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


class _AsgiEndpoint:
    """An ASGI application at one path: a route takes an object for that, and a function for something else."""

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
    """Return the names by which the hub may be called, with and without its port."""
    hosts = ["127.0.0.1", "localhost", "[::1]", bracket_host(where.host), *where.names]
    return [name.lower() for host in hosts for name in (host, f"{host}:{where.port}")]


def open_settings(hub: Hub) -> DoorSettings:
    """Return what the hub's file says about its doors; raise BadInput."""
    config = hub.config
    return read_door_settings(config.tables, [one.name for one in config.repositories], config.path)


def serve_hub(hub: Hub, environment: Mapping[str, str], address: str, announce: Callable[[str], None]) -> None:
    """Answer for *hub* until the user stops it; *announce* is told by which address."""
    settings = open_settings(hub)
    where = choose_address(settings, address)
    with bind_socket(where) as listening:
        # the port is known only now: with :0 the system has chosen it
        where = where._replace(port=listening.getsockname()[1])
        made = build_hub_server(hub, environment, where, settings)
        announce(made.reception.url)
        _run_server(made.app, listening)


def _run_server(app: ASGIApp, listening: socket.socket) -> None:
    import uvicorn

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for name in ("uvicorn.access", "httpx2", "httpcore2", "mcp"):  # they would write addresses with what is asked
        logging.getLogger(name).setLevel(logging.WARNING)
    protocol: Any = build_timeout_protocol  # any callable that makes a protocol will do, though a class is annotated
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
