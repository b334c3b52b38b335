"""REST: what is asked and answered, by whom, and what an error, a log line and a metric give away."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kb.errors import BadInput
from kb.hub import choose_address
from kb.hub.door_settings import DoorSettings, IdentitySettings, ServerSettings
from tests.hub.conftest import ALPHA, OPEN, ORDER, World
from tests.support.hub_world import build_server, call_in_process, open_hub, write_config, write_team


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[TestClient]:
    """Somebody of the team alpha."""
    server = build_server(world.hub, world.lines, KB_HUB_METRICS_TOKEN="m" * 20)
    with call_in_process(server, world.issuer.make_token()) as found:
        yield found


def get(client: TestClient, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


# -- what is answered -------------------------------------------------------------------------------


def test_a_search_asks_all_repositories_that_its_caller_may_read(world: World, client: TestClient) -> None:
    found = get(client, "/api/v1/search", query="card data")
    assert [row["name"] for row in found["answers"]] == ["alpha:D001"] and found["repositories"] == {"alpha": 1}
    assert found["answers"][0]["title"] == "Keep card data for 90 days" and found["answers"][0]["tags"] == ["pci"]
    both = {"Authorization": f"Bearer {world.issuer.make_token(groups=['a', 'b'])}"}
    answer = client.get("/api/v1/search", params={"query": "card data"}, headers=both).json()
    assert {row["name"] for row in answer["answers"]} == {"alpha:D001", "beta:D001"}
    assert get(client, "/api/v1/search", query="订单")["answers"][0]["name"] == "alpha:D002"


def test_filters_narrow_what_is_found(client: TestClient) -> None:
    assert get(client, "/api/v1/search", query="orders", kind="pitfall")["answers"][0]["id"] == "P001"
    assert get(client, "/api/v1/search", query="card data", status="rejected")["answers"] == []
    assert get(client, "/api/v1/search", query="card data", since="2026-11-21")["answers"] == []
    assert len(get(client, "/api/v1/records", scope="project/shop")["records"]) == 1
    assert len(get(client, "/api/v1/records", repository="open")["records"]) == 1
    assert [row["id"] for row in get(client, "/api/v1/records", tag="pci")["records"]] == ["D001"]


def test_records_are_listed_page_by_page(client: TestClient) -> None:
    names, after = [], ""
    while True:
        page = get(client, "/api/v1/records", limit=1, **({"after": after} if after else {}))
        names += [row["name"] for row in page["records"]]
        if not (after := page["next"]):
            break
    assert sorted(names) == ["alpha:D001", "alpha:D002", "alpha:P001", "open:D007"] and len(names) == 4


def test_a_record_is_shown_whole_as_json_and_markdown(client: TestClient) -> None:
    record = get(client, "/api/v1/repositories/alpha/records/D001")["record"]
    assert [part["name"] for part in record["sections"]] == ["decision", "why"]
    assert get(client, f"/api/v1/repositories/alpha/records/{record['uid']}")["record"] == record
    page = client.get("/api/v1/repositories/alpha/records/D001?format=markdown")
    assert page.headers["content-type"] == "text/markdown; charset=utf-8"
    assert page.text.startswith("---\nid: D001\n") and "kept for 90 days" in page.text


def test_repositories_are_counted_and_compared(client: TestClient) -> None:
    assert get(client, "/api/v1/repositories")["repositories"] == [
        {"name": "alpha", "records": 3}, {"name": "open", "records": 1}
    ]  # fmt: skip
    report = get(client, "/api/v1/compare")
    assert {"contradictions", "duplicates", "links", "compared", "repository"} == set(report)
    assert "beta" not in json.dumps(report)


def test_a_portal_gets_title_text_and_place_of_each_record(client: TestClient) -> None:
    whole = get(client, "/api/v1/records.json")
    first = next(one for one in whole["documents"] if one["name"] == "alpha:D001")
    assert "kept for 90 days" in first["text"] and first["title"] == "Keep card data for 90 days"
    assert "kept for 90 days" in client.get(first["location"]).text
    assert len(get(client, "/api/v1/repositories/open/records.json")["documents"]) == 1
    page = get(client, "/api/v1/records.json", limit=3)
    assert (
        len(page["documents"]) == 3 and len(get(client, "/api/v1/records.json", after=page["next"])["documents"]) == 1
    )


def test_an_answer_is_not_sent_twice(world: World, client: TestClient) -> None:
    first = client.get("/api/v1/search?query=card")
    again = client.get("/api/v1/search?query=card", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b"" and again.headers["etag"] == first.headers["etag"]
    other = {"Authorization": f"Bearer {world.issuer.make_token(groups=['b'])}"}
    assert client.get("/api/v1/search?query=card", headers=other).headers["etag"] != first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache" and "Authorization" in first.headers["vary"]


BAD = [
    ("/api/v1/search", 400),
    ("/api/v1/search?query=", 400),
    ("/api/v1/search?query=x&limit=0", 400),
    ("/api/v1/search?query=x&limit=51", 400),
    ("/api/v1/search?query=x&limit=1e1", 400),
    ("/api/v1/search?query=x&limit=" + "9" * 5000, 400),
    ("/api/v1/search?query=x&kind=nothing", 400),
    ("/api/v1/search?query=x&since=yesterday", 400),
    ("/api/v1/search?query=x&query=y", 400),
    ("/api/v1/search?query=x&colour=red", 400),
    ("/api/v1/search?query=" + "x" * 2001, 400),
    ("/api/v1/search?query=%ff%fe", 200),
    ("/api/v1/search?query=x%00y", 200),
    ("/api/v1/search?query=%22%20OR%201=1%20--", 200),
    ("/api/v1/records?after=made-up", 404),
    ("/api/v1/repositories/alpha/records/D999", 404),
    ("/api/v1/repositories/alpha/records/D001?format=xml", 400),
    ("/api/v1/repositories/alpha/records/..%2f..%2fkb.toml", 404),
    ("/api/v1/repositories/../../etc/passwd/records/D001", 404),
    ("/api/v1/repositories/..%2f..%2fetc/records/D001", 404),
    ("/api/v1/repositories/%2e%2e/records/D001", 404),
    ("/api/v1/nothing", 404),
    ("/", 404),
]


@pytest.mark.parametrize(("path", "status"), BAD, ids=[path[:60] for path, _ in BAD])
def test_what_cannot_be_asked_is_an_error_in_words(client: TestClient, path: str, status: int) -> None:
    """Path traversal, too: a name that leads elsewhere names no record."""
    answer = client.get(path)
    assert answer.status_code == status
    if status != 200:
        error = answer.json()["error"]
        assert set(error) == {"code", "message"} and "Traceback" not in answer.text and len(error["message"]) < 400


def test_other_methods_are_not_known(client: TestClient) -> None:
    assert client.delete("/api/v1/records").status_code == 405
    assert client.put("/api/v1/repositories/alpha/records/D001").status_code == 405


def test_errors_are_in_the_language_that_is_asked_for(client: TestClient) -> None:
    answer = client.get("/api/v1/repositories/alpha/records/D999", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert answer.json()["error"]["message"] == "没有这条记录，或者您无权阅读"


# -- who calls --------------------------------------------------------------------------------------


def test_nobody_is_answered_without_a_token(world: World, client: TestClient) -> None:
    for shown in ("", "Basic eDp5", "Bearer", "Bearer x.y.z", f"Bearer {world.issuer.make_token(aud='other')}"):
        answer = client.get("/api/v1/search?query=x", headers={"Authorization": shown})
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith("Bearer ") and "/.well-known/oauth-protected-resource/mcp" in challenge
        assert ('error="invalid_token"' in challenge) == ("." in shown)


def test_a_token_allows_what_its_scope_says(world: World, client: TestClient) -> None:
    nothing = {"Authorization": f"Bearer {world.issuer.make_token(scope='openid')}"}
    answer = client.get("/api/v1/search?query=x", headers=nothing)
    assert answer.status_code == 403 and 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    reader = {"Authorization": f"Bearer {world.issuer.make_token(scope='kb:read')}"}
    answer = client.post("/api/v1/repositories/alpha/proposals", json={"candidates": []}, headers=reader)
    assert answer.status_code == 403 and "kb:write" in answer.json()["error"]["message"]


def test_what_may_not_be_read_is_as_if_it_were_not_there(client: TestClient) -> None:
    for form in (
        "/api/v1/repositories/{}/records/D001",
        "/api/v1/repositories/{}/records/D001?format=markdown",
        "/api/v1/repositories/{}/records.json",
        "/api/v1/search?query=card&repository={}",
        "/api/v1/records?repository={}",
    ):
        hidden, absent = client.get(form.format("beta")), client.get(form.format("gamma"))
        assert (hidden.status_code, hidden.content, dict(hidden.headers)) == (
            absent.status_code, absent.content, dict(absent.headers)
        )  # fmt: skip
    for name in ("beta", "gamma"):
        answer = client.post(f"/api/v1/repositories/{name}/proposals", json={"candidates": []})
        assert answer.status_code == 404 and "beta" not in answer.text


def test_without_identity_only_this_machine_is_answered_and_only_what_everybody_may_read(tmp_path: Path) -> None:
    write_team(tmp_path / "alpha", ALPHA)
    write_team(tmp_path / "open", OPEN)
    path = write_config(tmp_path, {"alpha": ["a"], "open": ["*"]})
    with open_hub(path) as hub, call_in_process(build_server(hub)) as client:
        assert get(client, "/api/v1/repositories")["repositories"] == [{"name": "open", "records": 1}]
        assert get(client, "/api/v1/search", query="card data")["answers"] == []
        answer = client.post("/api/v1/repositories/open/proposals", json={"candidates": []})
        assert answer.status_code == 403, "who does not say who they are writes nothing"


def test_other_machines_reach_only_a_hub_that_asks_who_they_are() -> None:
    with pytest.raises(BadInput, match="nobody has to say who they are"):
        choose_address(DoorSettings(ServerSettings(url="https://hub.test")), "0.0.0.0:8740")
    asks = DoorSettings(identity=IdentitySettings("https://i.test", "https://i.test/k"))
    with pytest.raises(BadInput, match="not a name that a client calls"):
        choose_address(asks, "0.0.0.0:8740")
    asks = DoorSettings(ServerSettings(url="https://hub.test"), IdentitySettings("https://i.test", "https://i.test/k"))
    assert choose_address(asks, "0.0.0.0:8740").names == ("hub.test",)
    assert choose_address(DoorSettings()).is_local


# -- around it --------------------------------------------------------------------------------------


def test_health_and_readiness_say_nothing_else(client: TestClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = client.get(path, headers={"Authorization": ""})
        assert answer.status_code == 200 and answer.json() == {"status": "ok"}


def test_an_index_that_does_not_answer_is_not_ready(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with call_in_process(build_server(world.hub)) as client:
        monkeypatch.setattr(type(world.hub), "is_ready", lambda *_: 1 / 0)
        assert client.get("/readyz").status_code == 503 and client.get("/healthz").status_code == 200
        monkeypatch.setattr(type(world.hub), "is_ready", lambda *_: False)
        assert client.get("/readyz").json() == {"status": "not ready"}


def test_metrics_are_for_who_has_their_token_and_name_no_repository(client: TestClient) -> None:
    get(client, "/api/v1/repositories/alpha/records/D001")
    hidden = client.get("/metrics", headers={"Authorization": "Bearer wrong"})
    absent = client.get("/nothing", headers={"Authorization": "Bearer wrong"})
    assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content) == (404, absent.content)
    text = client.get("/metrics", headers={"Authorization": "Bearer " + "m" * 20}).text
    assert 'route="/api/v1/repositories/{repository}/records/{id}",status="200"' in text
    assert "alpha" not in text and "D001" not in text


def test_a_log_line_has_neither_token_nor_query(world: World, client: TestClient) -> None:
    world.lines.clear()
    token = world.issuer.make_token()
    client.get("/api/v1/search?query=mergers+and+acquisitions", headers={"Authorization": f"Bearer {token}"})
    [line] = map(json.loads, world.lines)
    assert line["route"] == "/api/v1/search" and line["status"] == 200 and line["caller"] == "u-1" and line["ms"] > 0
    assert "mergers" not in world.lines[0] and token not in world.lines[0]


def test_a_page_in_a_browser_cannot_call_the_hub_by_a_name_of_its_own(client: TestClient) -> None:
    answer = client.get("/healthz", headers={"Host": "evil.test"})
    assert answer.status_code == 421
    headers = client.get("/healthz").headers
    assert headers["x-content-type-options"] == "nosniff" and "access-control-allow-origin" not in headers


def test_a_failure_of_its_own_is_told_without_its_words(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    server = build_server(world.hub)
    with call_in_process(server, world.issuer.make_token()) as client:
        monkeypatch.setattr(type(world.hub), "count", lambda *_: 1 / 0)
        answer = client.get("/api/v1/repositories")
    assert answer.status_code == 500 and "ZeroDivision" not in answer.text and "division" not in answer.text


def test_rest_hands_on_what_a_record_says_and_markup_does_no_harm(client: TestClient) -> None:
    answer = client.get("/api/v1/repositories/alpha/records/P001")
    assert ORDER in answer.json()["record"]["sections"][0]["text"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
