"""Serve MCP over streamable HTTP on this machine: checks the token and the Host header."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, KbError, describe_os_error
from kb.files import remove_file
from kb.i18n import msg
from kb.paths import state_home

if TYPE_CHECKING:
    from typing import Any

    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
DEFAULT = "127.0.0.1:8735"
HEADER_SECONDS = 10.0
"""Seconds within which all headers of a request must arrive."""
_DRAIN_SECONDS = 60.0
"""Seconds to wait for a slow client to read an answer before its connection is closed."""


class AccessToken(NamedTuple):
    """The token a client must send."""

    secret: str
    path: str
    """Its file, readable only by the user."""
    is_new: bool


def ensure_token(root: str, environment: Mapping[str, str], *, anew: bool = False) -> AccessToken:
    """Return the token of the knowledge base at *root*; make one if it is missing or not private to the user.

    It is in the user's state folder, because files in a clone or an archive are not secret.
    """
    mark = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    path = os.path.join(state_home(environment), "mcp", f"{mark}.token")
    is_there = os.path.lexists(path)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        rights = os.stat(path, follow_symlinks=False)
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
        # a token that others could read or write is known to them
        if len(token) >= 32 and not anew and not rights.st_mode & 0o077 and rights.st_uid == os.getuid():
            return AccessToken(token, path, False)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    made = secrets.token_urlsafe(32)
    fresh = f"{path}.{os.getpid()}"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(made + "\n")
    try:
        if anew or is_there:
            os.replace(fresh, path)
        else:
            os.link(fresh, path)
    except FileExistsError:  # another server was first: use its token
        return ensure_token(root, environment)
    finally:
        remove_file(fresh)
    return AccessToken(made, path, True)


class ListenAddress(NamedTuple):
    """The address of the server."""

    host: str
    port: int
    names: tuple[str, ...] = ()
    """Further names by which clients call it."""

    @property
    def is_local(self) -> bool:
        """Whether no other machine can reach it."""
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"http://{bracket_host(self.host)}:{self.port}{PATH}"


def bracket_host(host: str) -> str:
    """Return *host* as in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def parse_address(text: str, names: Sequence[str] = (), *, remote: bool = False) -> ListenAddress:
    """Parse the address *text* (HOST:PORT); raise BadInput if other machines can reach it, unless *remote* is set."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or not host.strip("[]"):
        raise BadInput(msg("{text} is not an address", text=text), hint=msg("for example: {example}", example=DEFAULT))
    parsed = ListenAddress(host.strip("[]"), int(port), tuple(names))
    if not parsed.is_local and not remote:
        message = msg("other machines can reach {host}; anyone with the token can read and write", host=parsed.host)
        raise BadInput(message, hint=msg("use {example}, or confirm with --remote", example=DEFAULT))
    if parsed.host in ("0.0.0.0", "::", "") and not names:
        message = msg("{host} is not a name that a client calls", host=parsed.host)
        raise BadInput(message, hint=msg("say which name they use: --name kb.example.com"))
    return parsed


def bind_socket(where: ListenAddress) -> socket.socket:
    """Return a socket that listens at *where*; raise KbError if that fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)  # asyncio needs it to set TCP_NODELAY
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()
    except OSError as error:
        shown = f"{where.host}:{where.port}"
        message = msg("cannot listen on {address}: {problem}", address=shown, problem=describe_os_error(error))
        raise KbError(message, hint=msg("use another port: --address 127.0.0.1:0 picks a free one")) from None
    return made


def serve(server: Server[Any], where: ListenAddress, listening: socket.socket, secret: str) -> None:
    """Serve at *where*, on the socket *listening*, clients that send *secret*, until the user stops the server."""
    import anyio
    import uvicorn

    made = build_app(server, where._replace(port=listening.getsockname()[1]), secret)
    protocol: Any = build_timeout_protocol  # any callable that returns a protocol works, though a class is annotated
    config = uvicorn.Config(
        made, http=protocol, log_config=None, log_level="warning", ws="none", timeout_graceful_shutdown=1
    )
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listening]))


def build_timeout_protocol(**given: Any) -> Any:
    """Return uvicorn's protocol for one connection, closed if two checks in a row find no request being answered.

    uvicorn itself waits for the rest of a request as long as the client keeps the connection open.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    made: Any = AutoHTTPProtocol(**given)
    idle_before = False

    def close_if_idle() -> None:
        nonlocal idle_before
        cycle, transport = made.cycle, made.transport
        is_idle = cycle is None or cycle.response_complete
        if is_idle and idle_before and transport is not None:
            transport.close()
            # unsent data keeps a closed connection open as long as its client does not read
            made.loop.call_later(_DRAIN_SECONDS, transport.abort)
        if transport is None or not transport.is_closing():
            idle_before = is_idle
            made.loop.call_later(HEADER_SECONDS / 2, close_if_idle)

    made.loop.call_later(HEADER_SECONDS / 2, close_if_idle)
    return made


def build_app(server: Server[Any], where: ListenAddress, secret: str) -> ASGIApp:
    """Return the web application, which requires *secret* and a Host header with a name of *where*."""
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.responses import PlainTextResponse

    # a web page in a browser may use any name that resolves to this host: DNS rebinding
    hosts = ["127.0.0.1", "localhost", "[::1]", bracket_host(where.host), *where.names]
    named = [name for host in hosts for name in (host, f"{host}:{where.port}")]
    rules = TransportSecuritySettings(
        allowed_hosts=named, allowed_origins=[f"{scheme}://{name}" for name in named for scheme in ("http", "https")]
    )
    inner = server.streamable_http_app(streamable_http_path=PATH, json_response=True, transport_security=rules)
    expected = f"Bearer {secret}".encode()

    async def check_token(scope: Scope, receive: Receive, send: Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        # compared in constant time, so that the timing reveals nothing about the token
        if scope["type"] == "http" and not hmac.compare_digest(shown, expected):
            words = "kb mcp: show the token, as the header Authorization: Bearer TOKEN\n"
            refusal = PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
        else:
            await inner(scope, receive, send)

    return check_token
