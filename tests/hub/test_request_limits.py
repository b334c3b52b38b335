"""What a client that is slow, long-winded or in a crowd gets, over real connections on this machine."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import httpx2
import pytest

from kb.hub.door_settings import DoorSettings, ServerSettings
from kb.hub.request_limits import CALLER, ClientTooSlow, JsonLines, Metrics, RequestLimits
from kb.hub.rest import READERS, HubError, Reception
from kb.mcp import http_server
from tests.hub.conftest import World
from tests.support.hub_world import listen


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server wait half a second where it would wait ten, and a minute."""
    monkeypatch.setattr(http_server, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(http_server, "_DRAIN_SECONDS", 0.5)


@pytest.fixture
def served(quick: None, world: World) -> Iterator[tuple[str, int]]:
    """The hub and its port."""
    with listen(world.hub) as (url, _):
        yield url, int(url.rpartition(":")[2])


@pytest.fixture
def impatient(quick: None, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The hub with a second for each call, and its port."""
    changed = world.hub.config._replace(
        tables={**world.hub.config.tables, "server": {**world.hub.config.tables["server"], "request_seconds": 1}}
    )
    monkeypatch.setattr(world.hub, "config", changed)
    with listen(world.hub) as (url, _):
        yield url, int(url.rpartition(":")[2])


def test_a_client_that_does_not_finish_its_headers_is_let_go(impatient: tuple[str, int]) -> None:
    with closing(socket.create_connection(("127.0.0.1", impatient[1]), 60)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert read_all(connection) == b""  # it is the server that closes


def test_a_client_that_does_not_finish_its_body_is_let_go(impatient: tuple[str, int]) -> None:
    with closing(socket.create_connection(("127.0.0.1", impatient[1]), 60)) as connection:
        head = b"POST /hooks/github/alpha HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head + b"x")
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 503") and b"took too long" in answer


def test_who_would_wait_too_long_for_an_answer_is_told_to_come_back(world: World) -> None:
    settings = DoorSettings(ServerSettings(wait_seconds=0.3))
    reception = Reception(world.hub, settings, None, "http://hub.test", {})
    may_end = threading.Event()
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        may_end.wait()
        return number

    async def crowd() -> None:
        running = [asyncio.create_task(reception.run(lambda at=at: work(at))) for at in range(READERS)]
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(reception.run(lambda at=at: work(at))) for at in (8, 9)]
        begin = time.monotonic()
        for one in waiting:
            with pytest.raises(HubError) as refused:
                await one
            assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
        assert time.monotonic() - begin < 3
        cancelled = asyncio.create_task(reception.run(lambda: work(10)))
        await asyncio.sleep(0)
        cancelled.cancel()  # a client that has gone takes no turn
        late = [asyncio.create_task(reception.run(lambda at=at: work(at))) for at in (11, 12)]
        await asyncio.sleep(0)
        may_end.set()
        assert await asyncio.gather(*running, *late) == [*range(READERS), 11, 12]

    asyncio.run(crowd())
    reception.close()
    assert sorted(begun[:READERS]) == [*range(READERS)] and sorted(begun[READERS:]) == [11, 12]


def test_a_long_body_is_refused_whether_it_says_so_or_not(served: tuple[str, int]) -> None:
    with httpx2.Client(base_url=served[0]) as client:
        assert client.post("/hooks/github/alpha", content=b"x" * 4_000_001).status_code == 413

        def pour() -> Iterator[bytes]:
            for _ in range(100):
                yield b"x" * 65536

        # the server closes the connection while the rest is still being sent
        with suppress(httpx2.HTTPError):
            assert client.post("/hooks/github/alpha", content=pour()).status_code == 413


def test_strange_requests_are_no_fault_of_the_server(served: tuple[str, int]) -> None:
    for words in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"):
        with closing(socket.create_connection(("127.0.0.1", served[1]), 60)) as connection:
            try:
                connection.sendall(words)
                assert b" 500 " not in read_all(connection)[:20]
            except (BrokenPipeError, ConnectionResetError):
                pass  # closed while the rest was still being sent
    with httpx2.Client(base_url=served[0]) as client:
        assert client.get("/healthz").status_code == 200


# -- the layer by itself ----------------------------------------------------------------------------

Message = dict[str, Any]
SCOPE: Message = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"host", b"hub.test")]}


def run_layer(
    app: Any, *, scope: Message = SCOPE, more: list[Message] | None = None, send: Any = None, **rules: Any
) -> tuple[list[Message], list[str]]:
    """Return what *app* answers behind the limits, and the lines of the log."""
    sent: list[Message] = []
    lines: list[str] = []
    pending = list(more or [{"type": "http.request", "body": b""}])

    async def receive() -> Message:
        return pending.pop(0) if pending else {"type": "http.disconnect"}

    async def keep(message: Message) -> None:
        sent.append(message)

    given = {"hosts": ["hub.test"], "max_body": 10, "seconds": 0.2, "concurrency": 2, **rules}
    layer = RequestLimits(app, Metrics(), write_line=lines.append, **given)
    asyncio.run(layer(dict(scope), receive, send or keep))  # type: ignore[arg-type]
    return sent, lines


async def answer_ok(scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_a_body_in_parts_comes_whole_and_one_too_long_comes_not_at_all() -> None:
    parts = [{"type": "http.request", "body": b"12345", "more_body": True}, {"type": "http.request", "body": b"67890"}]
    assert run_layer(answer_ok, more=parts)[0][1]["body"] == b"1234567890"
    parts = [{"type": "http.request", "body": b"123456", "more_body": True} for _ in range(1000)]
    assert run_layer(answer_ok, more=parts)[0][0]["status"] == 413 and len(parts) == 1000


def test_a_call_that_takes_too_long_is_ended() -> None:
    async def sleep(scope: Message, receive: Any, send: Any) -> None:
        await asyncio.sleep(30)

    [start, _], [line] = run_layer(sleep)
    assert start["status"] == 503 and json.loads(line)["status"] == 503


def test_a_client_that_reads_too_slowly_is_dropped() -> None:
    sent: list[Message] = []

    async def block(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            await asyncio.sleep(30)  # the connection takes no more

    with pytest.raises(ClientTooSlow):
        run_layer(answer_ok, send=block)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def test_calls_beyond_the_limit_are_told_to_come_back_and_health_is_answered() -> None:
    lines: list[str] = []

    async def work() -> list[int]:
        gate = asyncio.Event()
        statuses: list[int] = []

        async def wait(scope: Message, receive: Any, send: Any) -> None:
            await gate.wait()
            await answer_ok(scope, receive, send)

        layer = RequestLimits(wait, Metrics(), hosts=[], max_body=10, seconds=5, concurrency=2, write_line=lines.append)  # type: ignore[arg-type]

        async def call(path: str) -> None:
            async def receive() -> Message:
                return {"type": "http.request", "body": b""}

            async def keep(message: Message) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])

            await layer({**SCOPE, "path": path}, receive, keep)  # type: ignore[arg-type]

        running = [asyncio.create_task(call("/x")) for _ in range(2)]
        await asyncio.sleep(0)
        await call("/x")
        running.append(asyncio.create_task(call("/healthz")))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*running)
        return statuses

    assert sorted(asyncio.run(work())) == [200, 200, 200, 503]


def test_a_line_names_the_route_and_who_called() -> None:
    class Who:
        subject = "u-1\nforged"

    async def app(scope: Message, receive: Any, send: Any) -> None:
        scope["kb.route"], scope[CALLER] = "/api/v1/search", Who()
        await answer_ok(scope, receive, send)

    _, [line] = run_layer(app, scope={**SCOPE, "query_string": b"query=secret"})
    assert "secret" not in line and "\n" not in line and json.loads(line)["route"] == "/api/v1/search"


def test_what_the_server_itself_logs_is_json_without_the_words_of_an_exception() -> None:
    import logging
    import sys

    try:
        raise ValueError("the token abc")
    except ValueError:
        record = logging.LogRecord("kb.hub", logging.ERROR, "x.py", 1, "a call failed", (), sys.exc_info())
    line = json.loads(JsonLines().format(record))
    assert line["exception"] == "ValueError" and "abc" not in json.dumps(line) and line["level"] == "error"


def test_calls_that_run_are_finished_when_the_server_stops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    count = type(world.hub).count
    begun = threading.Event()

    def count_slowly(*given: Any) -> Any:
        begun.set()
        time.sleep(0.5)
        return count(*given)

    monkeypatch.setattr(type(world.hub), "count", count_slowly)
    answers: list[int] = []
    token = world.issuer.make_token()

    def call(url: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        answers.append(httpx2.get(f"{url}/api/v1/repositories", headers=headers).status_code)

    with listen(world.hub) as (url, _):
        thread = threading.Thread(target=call, args=(url,))
        thread.start()
        assert begun.wait(60)
    thread.join(60)
    assert answers == [200]
