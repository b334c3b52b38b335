"""Nothing that a caller sees changes when a repository that they may not read is added, changed or removed."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.hub.conftest import ALPHA, BETA, OPEN, identity
from tests.support.hub_world import (
    SECRET,
    TeamRecord,
    build_server,
    call_in_process,
    open_hub,
    write_config,
    write_team,
)
from tests.support.identity import run_issuer
from tests.support.postgres import PostgresServer

OTHER = [
    TeamRecord("D001", "Keep card data for 90 days", "Card data is kept 90 days in PostgreSQL."),
    TeamRecord("D002", "Buy a competitor", "We buy a competitor in the spring.", more="supersedes: [alpha:D001]\n"),
    TeamRecord("D098", "Buy cards for days", "Shared with the shop.", scope="group/all"),
    TeamRecord("D099", "支付用 MySQL", "支付数据存入 MySQL。", scope="project/pay"),
]
WORLDS: dict[str, list[TeamRecord] | None] = {"absent": None, "there": BETA, "changed": OTHER, "empty": []}
QUERIES = (
    "card,data,card data,MySQL,vault,competitor,spring,支付,订单,days,beta,team,D001,postgres,ninety,*,crad,card OR x,"
    "valt,comptitor,vau"
)
WORDS = st.sampled_from(QUERIES.split(","))
NAMES = ["alpha", "beta", "open", "gamma", "Beta", "beta.git"]
IDS = ["D001", "D002", "D099", "P001", "D007", "beta:D001", "D1"]
REPOSITORIES = st.sampled_from(NAMES)
SEARCHES = st.fixed_dictionaries(
    {"query": WORDS},
    optional={
        "repository": REPOSITORIES,
        "kind": st.sampled_from(["decision", "pitfall", "none"]),
        "scope": st.sampled_from(["global", "project/shop", "project/pay"]),
        "status": st.sampled_from(["accepted", "proposed"]),
        "limit": st.integers(0, 4),
        "project": st.sampled_from(["shop", "pay", "beta"]),
    },
)
LISTS = st.fixed_dictionaries(
    {},
    optional={
        "repository": REPOSITORIES,
        "limit": st.integers(1, 3),
        "scope": st.sampled_from(["global", "project/pay"]),
    },
)
CALLS = st.one_of(
    st.tuples(st.just("/api/v1/search"), SEARCHES),
    st.tuples(st.just("/api/v1/records"), LISTS),
)
PLAIN = "repositories compare records records.json openapi.json".split()
OTHERS = [
    *(f"/api/v1/{name}" for name in PLAIN),
    *("/readyz", "/healthz", "/metrics", "/.well-known/oauth-protected-resource", "/nothing"),
    *(f"/api/v1/repositories/{name}/records/{one}" for name in NAMES for one in IDS),
    *(f"/api/v1/repositories/{name}/records.json" for name in NAMES),
    *(f"/api/v1/compare?repository={name}" for name in NAMES),
]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def clients(
    request: pytest.FixtureRequest, sealed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, TestClient]]:
    """Somebody of the team alpha, at a hub of each of the worlds, with each of the engines."""
    with ExitStack() as stack:
        database = stack.enter_context(closing(PostgresServer())) if request.param == "postgres" else None
        issuer = stack.enter_context(run_issuer())
        token = issuer.make_token()
        found = {}
        for world, records in WORLDS.items():
            top = tmp_path_factory.mktemp(world)
            teams = {"alpha": ALPHA, "open": OPEN} | ({} if records is None else {"beta": records})
            for name, theirs in teams.items():
                write_team(top / name, theirs)
            readers = {"alpha": ["a"], "open": ["*"], "beta": ["b"]}
            path = write_config(top, {name: readers[name] for name in sorted(teams)}, identity(issuer))
            dsn = {}
            if database:
                database.execute(f"CREATE DATABASE {world}")
                dsn = {"KB_HUB_DSN": database.dsn.replace("/postgres?", f"/{world}?")}
            hub = stack.enter_context(open_hub(path, **dsn))
            server = build_server(hub, HOOK_BETA="a secret of the team beta")
            found[world] = stack.enter_context(call_in_process(server, token))
        yield found


def see(client: TestClient, path: str, query: dict[str, Any], method: str = "GET", **more: Any) -> tuple[Any, ...]:
    """Return all that a caller sees of an answer."""
    answer = client.request(method, path, params=query, **more)
    return answer.status_code, answer.content, sorted(answer.headers.items())


@given(CALLS)
def test_no_answer_tells_of_what_its_caller_may_not_read(
    clients: dict[str, TestClient], call: tuple[str, dict[str, Any]]
) -> None:
    seen = {world: see(client, *call) for world, client in clients.items()}
    assert all(one == seen["absent"] for one in seen.values())


@given(
    st.sampled_from(["beta", "gamma", "alpha"]),
    st.sampled_from(["github", "gitlab", "gitea", "svn"]),
    st.binary(max_size=30),
)
def test_no_webhook_tells_which_repositories_there_are(
    clients: dict[str, TestClient], name: str, host: str, body: bytes
) -> None:
    headers = {
        "X-Gitlab-Token": SECRET + "x",
        "X-Hub-Signature-256": "sha256=" + "0" * 64,
        "X-Gitea-Signature": "0" * 64,
    }
    seen = [
        see(client, f"/hooks/{host}/{name}", {}, "POST", content=body, headers=headers) for client in clients.values()
    ]
    assert all(one == seen[0] for one in seen) and seen[0][0] == 401
    assert seen[0] == see(clients["there"], "/hooks/github/nothing", {}, "POST", content=b"")


@given(st.sampled_from(["beta", "gamma"]), st.booleans())
def test_no_write_tells_which_repositories_there_are(clients: dict[str, TestClient], name: str, is_dry: bool) -> None:
    body = {"candidates": [{"kind": "decision", "title": "Use one vault for all secrets"}], "dry_run": is_dry}
    path = f"/api/v1/repositories/{name}/proposals"
    seen = [see(client, path, {}, "POST", json=body) for client in clients.values()]
    assert all(one == seen[0] for one in seen) and seen[0][0] == 404


def test_no_address_tells_of_what_its_caller_may_not_read(clients: dict[str, TestClient]) -> None:
    for path in OTHERS:
        seen = {world: see(client, path, {}) for world, client in clients.items()}
        assert all(one == seen["absent"] for one in seen.values()), path


def test_the_worlds_do_differ_for_who_may_read_them(clients: dict[str, TestClient]) -> None:
    """The test above would pass on a hub that answers nothing: alpha's own records have to be found."""
    for client in clients.values():
        assert client.get("/api/v1/search?query=card").json()["answers"][0]["name"] == "alpha:D001"
        assert [row["name"] for row in client.get("/api/v1/repositories").json()["repositories"]] == ["alpha", "open"]
