"""Webhooks: who may call one, what becomes of the call, and that one which is forged or replayed does no harm."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kb.errors import KbError
from kb.hub.code_hosts import SyncQueue
from tests.hub.conftest import ALPHA, World
from tests.support.hub_world import (
    SECRET,
    TeamRecord,
    build_server,
    call_in_process,
    open_hub,
    write_config,
    write_team,
)

BODY = json.dumps({"repository": {"clone_url": "http://169.254.169.254/latest/meta-data"}, "ref": "refs/heads/main"})


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[TestClient]:
    with call_in_process(build_server(world.hub)) as found:
        yield found


def sign(host: str, body: str = BODY, secret: str = SECRET) -> dict[str, str]:
    """Return the headers by which *host* shows that it knows *secret*."""
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    if host == "gitlab":
        return {"X-Gitlab-Token": secret}
    return {"X-Gitea-Signature": signature} if host == "gitea" else {"X-Hub-Signature-256": f"sha256={signature}"}


@pytest.mark.parametrize("host", ["github", "gitlab", "gitea"])
def test_a_call_that_is_signed_is_accepted_at_once(client: TestClient, host: str) -> None:
    answer = client.post(f"/hooks/{host}/alpha", content=BODY, headers=sign(host))
    assert answer.status_code == 202 and answer.json() == {"status": "accepted"}


@pytest.mark.parametrize("host", ["github", "gitlab", "gitea"])
def test_a_call_that_is_forged_is_as_one_for_nothing(client: TestClient, host: str) -> None:
    nothing = client.post(f"/hooks/{host}/nothing", content=BODY, headers=sign(host))
    forged: list[dict[str, Any]] = [
        {},
        sign(host, secret="guessed"),
        sign(host, BODY + " ") if host != "gitlab" else {"X-Gitlab-Token": SECRET[:-1]},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": b"sha256=\xe4"},
    ]
    for headers in forged:
        answer = client.post(f"/hooks/{host}/alpha", content=BODY, headers=headers)
        assert (answer.status_code, answer.content) == (nothing.status_code, nothing.content) == (401, answer.content)
    # the secret of one repository opens no other one, though it is a good one
    for name in ("beta", "open", "ALPHA", "alpha.git"):
        assert client.post(f"/hooks/{host}/{name}", content=BODY, headers=sign(host)).content == nothing.content
    assert client.post("/hooks/svn/alpha", content=BODY, headers={}).content == nothing.content
    assert client.get(f"/hooks/{host}/alpha").status_code in (404, 405)


def test_a_body_beyond_the_limit_is_not_read(client: TestClient) -> None:
    answer = client.post("/hooks/github/alpha", content=b"x" * 4_000_001)
    assert answer.status_code == 413


def test_a_push_is_seen_within_seconds_and_fetched_from_where_the_settings_say(tmp_path: Path) -> None:
    """The address in the body of the call leads elsewhere: nobody goes there."""
    write_team(tmp_path / "alpha", ALPHA[:1])
    with open_hub(write_config(tmp_path, {"alpha": ["*"]})) as hub, call_in_process(build_server(hub)) as client:
        assert client.get("/api/v1/search?query=zeppelin").json()["answers"] == []
        write_team(tmp_path / "alpha", [*ALPHA[:1], TeamRecord("D009", "Fly by zeppelin", "We fly by zeppelin.")])
        begun = time.monotonic()
        assert client.post("/hooks/github/alpha", content=BODY, headers=sign("github")).status_code == 202
        while not (found := client.get("/api/v1/search?query=zeppelin").json()["answers"]):
            assert time.monotonic() - begun < 60
            time.sleep(0.05)
        assert found[0]["name"] == "alpha:D009"


# -- what waits in the background -------------------------------------------------------------------


class Fetcher:
    """Takes down what is fetched."""

    def __init__(self, *failing: BaseException) -> None:
        self.calls: list[list[str] | None] = []
        self.ended = 0
        self.failing = list(failing)

    async def sync(self, names: Any) -> None:
        self.calls.append(names and list(names))
        await asyncio.sleep(0.01)
        self.ended += 1
        if self.failing:
            raise self.failing.pop()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something *holds*, however busy the machine is; fail when it never does."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def run_queue(queue: SyncQueue, work: Any) -> None:
    async def run() -> None:
        task = asyncio.create_task(queue.run_forever())
        await work()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_calls_that_come_together_or_again_are_one_fetch() -> None:
    fetcher, now = Fetcher(), [100.0]
    queue = SyncQueue(fetcher.sync, 0, lambda: now[0])

    async def work() -> None:
        for _ in range(50):
            queue.request("alpha")
        queue.request("beta")
        await until(lambda: fetcher.ended == 1)
        assert fetcher.calls == [["alpha", "beta"]]
        queue.request("alpha")  # replayed a moment later: it waits
        await asyncio.sleep(0.05)
        assert len(fetcher.calls) == 1
        now[0] += 2.5
        queue.request("gamma")
        await until(lambda: sum(len(call or []) for call in fetcher.calls) >= 4)
        assert sorted(name for call in fetcher.calls[1:] for name in call or []) == ["alpha", "gamma"]

    run_queue(queue, work)


def test_all_are_fetched_now_and_then_and_an_error_ends_nothing() -> None:
    fetcher, now = Fetcher(KbError("no network"), RuntimeError("the database is away")), [0.0]
    queue = SyncQueue(fetcher.sync, 300, lambda: now[0])

    def has_fetched_all(times: int) -> bool:
        return fetcher.calls.count(None) == times and fetcher.ended == len(fetcher.calls) == 2 * times

    async def work() -> None:
        for number in range(1, 4):
            now[0] = 300.5 * number
            queue.request(f"r{number}")
            await until(partial(has_fetched_all, number))
        assert fetcher.calls.count(None) == 3 and queue.failures == 2 and queue.runs == len(fetcher.calls)

    run_queue(queue, work)
