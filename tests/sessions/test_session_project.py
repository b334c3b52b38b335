"""A session is one of the project in whose folder it worked: nobody is answered with another project's."""

import json
import os
from pathlib import Path

import pytest

from kb.hooks import events
from kb.knowledge_base import KnowledgeBase
from tests.support.command_line import Ran, run
from tests.support.sealed import git
from tests.support.sessions import Session


class Places:
    """Two projects of one knowledge base, and a session of one of them."""

    def __init__(self, root: Path, tmp_path: Path) -> None:
        self.root, self.tmp_path = root, tmp_path
        self.shop, self.fresh = tmp_path / "a" / "shop", tmp_path / "b" / "shop"
        for folder in (self.shop, self.fresh):
            folder.mkdir(parents=True)
            git(folder, "init", "-q")
        self.archive = self.saved("aaaa1111", "给退款接口加上幂等键", self.shop)

    def transcript(self, session: str, task: str, folder: Path) -> str:
        talk = Session(task)
        talk.step("决定：退款走异步队列，因为银行接口很慢，影响整体架构。", used=20_000)
        talk.idle(3)
        talk.rows = [row.replace('"s-1"', f'"{session}","cwd":"{folder}"') for row in talk.rows]
        return talk.write(self.tmp_path / f"{session}.jsonl")

    def saved(self, session: str, task: str, folder: Path) -> str:
        path = self.transcript(session, task, folder)
        events.handle_event("PreCompact", {"transcript_path": path, "session_id": session, "cwd": str(folder)},
                        str(self.root))  # fmt: skip
        with KnowledgeBase.at(str(self.root)) as kb:
            return next(one.name for one in kb.sessions() if one.session == session)

    def run(self, place: Path, *words: str) -> Ran:
        return run(place, *words, KB_HOME=str(self.root))

    def prompt(self, place: Path, text: str) -> str:
        payload = {"prompt": text, "cwd": str(place), "session_id": "new", "transcript_path": ""}
        return events.handle_event("UserPromptSubmit", payload, str(self.root)).context


@pytest.fixture
def places(root: Path, tmp_path: Path) -> Places:
    return Places(root, tmp_path)


COMMANDS = [["存档"], ["压缩"], ["展开"], ["修剪"], ["form"], ["session", "status"], ["compact", "--budget", "500"],
            ["context", "usage"]]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_new_project_is_not_answered_with_another_s_session(places: Places, words: list[str]) -> None:
    ran = places.run(places.fresh, *words)
    assert ran.code == 1 and not ran.out
    assert "no session of shop-" in ran.error and "name the transcript" in ran.error
    own = places.run(places.shop, *words)
    assert own.code == 0 and own.out


@pytest.mark.parametrize("words", [["压缩", "aaaa"], ["session", "status", "aaaa"]], ids=" ".join)
def test_who_names_a_session_by_its_id_gets_it_anywhere(places: Places, words: list[str]) -> None:
    assert places.run(places.fresh, *words).code == 0
    assert "begins with bbbb" in places.run(places.shop, words[0], *words[1:-1], "bbbb").error


def test_the_newest_of_another_project_does_not_hide_one_s_own(places: Places) -> None:
    places.saved("bbbb2222", "Rewrite the search page", places.fresh)
    os.utime(places.tmp_path / "bbbb2222.jsonl", (2_000_000_000, 2_000_000_000))
    status = json.loads(places.run(places.shop, "session", "status", "--json").out)
    assert status["session"] == "aaaa1111"
    status = json.loads(places.run(places.fresh, "session", "status", "--json").out)
    assert status["session"] == "bbbb2222"


def test_what_an_older_kb_kept_is_told_by_the_transcript(places: Places) -> None:
    for path in (places.root / ".kb" / "cursors").glob("*.json"):
        kept = json.loads(path.read_text())
        path.write_text(json.dumps({key: kept[key] for key in kept if key not in ("scope", "folder")}))
    assert places.run(places.shop, "压缩").code == 0
    assert places.run(places.fresh, "压缩").code == 1


def test_a_sub_agent_gets_the_form_of_its_own_project_s_session(places: Places) -> None:
    words = ("spawn", "--avatar", "身", "--task", "write the refund tests")
    assert "退款" in places.run(places.shop, *words).out
    assert "退款走异步队列" not in places.run(places.fresh, *words).out
    by_id = places.run(places.fresh, *words, "--session", "aaaa1111"[:4])
    assert "给退款接口加上幂等键" in by_id.out
    assert places.run(places.shop, *words, "--session", "nobody").code == 1


def test_a_new_project_goes_on_with_its_own_archives(places: Places) -> None:
    told = places.prompt(places.fresh, "加载上下文")
    assert "幂等键" not in told and "kb session list --all" in told
    assert "幂等键" in places.prompt(places.shop, "加载上下文")
    assert "幂等键" in places.prompt(places.shop, "继续给退款接口加上幂等键")
    assert "幂等键" not in places.prompt(places.fresh, "继续给退款接口加上幂等键")
    assert "幂等键" in places.prompt(places.fresh, f"继续{places.archive}"), "its name is its own"
    ran = places.run(places.fresh, "load", "幂等键")
    assert ran.code == 1 and "kb session list --all" in ran.error
    assert places.run(places.shop, "load", "幂等键").code == 0


def test_the_list_is_the_project_s(places: Places) -> None:
    assert places.archive in places.run(places.shop, "session", "list").out
    ran = places.run(places.fresh, "session", "list")
    assert not ran.out and "kb session list --all" in ran.error
    assert places.archive in places.run(places.fresh, "session", "list", "--all").out
    assert places.archive in places.run(places.fresh, "session", "list", "--project", "shop").out
    assert places.archive in places.run(places.root, "session", "list").out


def test_the_anchors_of_a_project_are_its_own_and_the_global_ones(places: Places) -> None:
    places.saved("bbbb2222", "Rewrite the search page", places.fresh)
    places.run(places.root, "write", "--kind", "decision", "--title", "Keep amounts in integer cents", "--area",
               "architecture", "--why", "Floats lose money when they are added up")  # fmt: skip
    scopes = {record["scope"] for record in json.loads(places.run(places.shop, "锚点", "--json").out)}
    assert scopes == {"project/shop", "global"}
    assert len({record["scope"] for record in json.loads(places.run(places.root, "锚点", "--json").out)}) == 3
