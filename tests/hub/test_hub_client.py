"""`kb search --org`: what a laptop asks a hub, with whose token, and what it shows when the hub does not answer."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kb.errors import KbError
from kb.organisation import hub_client
from kb.organisation.hub_client import read_token, search_hub
from tests.hub.conftest import World
from tests.support.command_line import run
from tests.support.hub_world import listen
from tests.support.identity import serve_json
from tests.support.sealed import git

ROWS = {
    "answers": [
        {"name": "alpha:D001", "title": "Keep\u202e it", "scope": "global", "status": "accepted", "snippet": "«keep»"}
    ]
}


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    """An environment with a state folder of its own."""
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with listen(world.hub) as (address, _):
        yield address


def test_the_hub_answers_a_laptop(world: World, url: str, state: dict[str, str]) -> None:
    mine = {**state, "KB_HUB_URL": url, "KB_HUB_TOKEN": world.issuer.make_token()}
    reply = search_hub("card data", {"kind": "decision", "limit": 5, "tag": ""}, mine)
    assert [row["name"] for row in reply.answers] == ["alpha:D001"] and reply.note is None
    [kept] = Path(state["XDG_STATE_HOME"]).rglob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) & 0o077 == 0 or stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert mine["KB_HUB_TOKEN"] not in kept.read_text()
    kept.write_text(kept.read_text().replace("90 days", "99 days"))
    assert "99 days" in search_hub("card data", {"kind": "decision", "limit": 5}, mine).answers[0]["title"], "not sent"
    other = {**mine, "KB_HUB_TOKEN": world.issuer.make_token(groups=["b"])}
    assert [row["name"] for row in search_hub("card data", {"kind": "decision", "limit": 5}, other).answers] == [
        "beta:D001"
    ]


def test_the_command_prints_what_the_hub_answers(state: dict[str, str], tmp_path: Path) -> None:
    """Also where there is no knowledge base; what hides in a text is shown."""
    with serve_json(lambda path, headers: (200, ROWS)) as address:
        mine = {**state, "KB_HUB_URL": address}
        done = run(tmp_path, "search", "--org", "keep", **mine)
        assert (done.code, done.out) == (0, "alpha:D001  Keep⟨U+202E⟩ it  (global, accepted)\n       «keep»\n")
        done = run(tmp_path, "search", "--org", "keep", "--json", **mine)
        assert json.loads(done.out)[0]["name"] == "alpha:D001"
        done = run(tmp_path, "search", "--org", "keep", "--regex", "x", **mine)
        assert done.code == 2 and "with --org go words" in done.error
    done = run(tmp_path, "search", "--org", "keep", **state)
    assert done.code == 1 and "no hub is known here" in done.error and "KB_HUB_URL" in done.error


def test_the_hub_is_told_which_project_asks(state: dict[str, str], tmp_path: Path) -> None:
    """That of the current folder, so that what its groups share comes first; elsewhere none."""
    asked: list[str] = []

    def answer(path: str, headers: dict[str, str]) -> tuple[int, Any]:
        asked.append(path)
        return 200, ROWS

    base = tmp_path / "base"
    base.mkdir()
    git(base, "init", "-q")
    (base / "kb.toml").write_text('project = "shop"\n')
    with serve_json(answer) as address:
        for place in (base, tmp_path):
            assert run(place, "search", "--org", "keep", **state, KB_HUB_URL=address).code == 0
    assert "project=shop" in asked[0] and "project" not in asked[1]


def test_a_hub_that_is_away_is_answered_for_from_what_is_kept(state: dict[str, str]) -> None:
    asked: list[dict[str, str]] = []

    def answer(path: str, headers: dict[str, str]) -> tuple[int, Any]:
        asked.append(headers)
        return 200, ROWS

    with serve_json(answer) as address:
        mine = {**state, "KB_HUB_URL": address, "KB_HUB_TOKEN": "t"}
        assert len(search_hub("keep", {}, mine).answers) == 1
    away = search_hub("keep", {}, mine)
    assert len(away.answers) == 1 and "this is its answer of" in str(away.note)
    assert asked[0]["authorization"] == "Bearer t"
    with pytest.raises(KbError, match="does not answer"):
        search_hub("never asked", {}, mine)


@pytest.mark.parametrize(
    ("status", "value", "words"),
    [
        (
            401,
            {"error": {"code": "x", "message": "the token is not accepted"}},
            "answers 401: the token is not accepted",
        ),
        (500, "oops", "answers 500"),
        (200, {"answers": 3}, "does not answer like a hub"),
        (200, [], "does not answer like a hub"),
        (302, "http://169.254.169.254/", "answers 302"),
    ],
)
def test_an_answer_that_is_none_is_told_in_words(state: dict[str, str], status: int, value: Any, words: str) -> None:
    with serve_json(lambda path, headers: (status, value)) as address, pytest.raises(KbError, match=words) as error:
        search_hub("keep", {}, {**state, "KB_HUB_URL": address})
    assert (status == 401) == ("KB_HUB_TOKEN_FILE" in str(error.value.hint))


def test_a_token_goes_over_a_safe_line_alone(state: dict[str, str]) -> None:
    for address in ("http://hub.example.com", "ftp://hub.example.com", "https://me@hub.example.com"):
        with pytest.raises(KbError, match="neither https nor on this machine"):
            search_hub("keep", {}, {**state, "KB_HUB_URL": address, "KB_HUB_TOKEN": "t"})


def test_a_token_comes_from_a_variable_a_file_or_a_command(state: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    command = f"{sys.executable} -c 'print(\"from-command\")'"
    assert read_token({"KB_HUB_TOKEN": "t "}) == "t" and read_token({}) == ""
    assert read_token({"KB_HUB_TOKEN_FILE": str(file)}) == "from-file"
    assert read_token({"KB_HUB_TOKEN_COMMAND": command}) == "from-command"
    for bad in ("false", "no-such-command-here", "'", ""):
        if bad:
            with pytest.raises(KbError, match="KB_HUB_TOKEN_COMMAND"):
                read_token({"KB_HUB_TOKEN_COMMAND": bad})
    with pytest.raises(KbError, match="cannot read KB_HUB_TOKEN_FILE"):
        read_token({"KB_HUB_TOKEN_FILE": str(tmp_path / "none")})


def test_no_more_answers_are_kept_than_are_of_use(state: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_client, "_MAX_KEPT", 3)
    with serve_json(lambda path, headers: (200, ROWS)) as address:
        for number in range(6):
            search_hub(f"keep {number}", {}, {**state, "KB_HUB_URL": address})
    assert len(list(Path(state["XDG_STATE_HOME"]).rglob("*.json"))) == 3
