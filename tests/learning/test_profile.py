"""The card of the person: what they said of themselves, what their sessions show, and a part of their own."""

import json
import os
from pathlib import Path

import pytest

from kb.errors import NeedsPerson
from kb.knowledge_base import KnowledgeBase, make
from kb.learning.profile import MAX_ROWS, build_profile, write_card
from kb.records.model import Candidate
from tests.support.command_line import run
from tests.support.talk import said


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    make(str(home / ".kb"), {**os.environ, "HOME": str(home)})
    return home


def open_base(root: Path, home: Path) -> KnowledgeBase:
    return KnowledgeBase(str(root), {**os.environ, "HOME": str(home)})


def talk(root: Path, home: Path, tmp_path: Path, number: int, *texts: str) -> None:
    path = tmp_path / f"{number}.jsonl"
    path.write_text("".join(said("user", text) for text in texts))
    with open_base(root, home) as kb:
        kb.save_session(str(path), session=f"s{number}", folder=str(root))


def test_the_card_holds_what_was_said_and_what_sessions_show(root: Path, home: Path, tmp_path: Path) -> None:
    talk(
        root,
        home,
        tmp_path,
        1,
        "Fix the ledger rounding in the export",
        "call me Jo",
        "No emojis when you talk to me, ever.",
    )
    talk(root, home, tmp_path, 2, "Split the ledger table by month", "call me Joanna", "I use fish, not bash")
    pitfall = Candidate("pitfall", "The ledger lock times out", decision="It waits for the job.", why="One lock.",
                        impact_areas=("performance",), scope="global")  # fmt: skip
    with open_base(root, home) as kb:
        kb.write([pitfall])
        found = build_profile(kb, "global")
    assert found.claims == {"name": "Joanna", "shell": "fish"}
    assert found.wishes == ("No emojis when you talk to me, ever",)
    assert ("ledger", 2) in found.topics and found.pains == (("P001", "The ledger lock times out", 1),)


def test_the_persons_part_survives_and_the_machines_is_not_theirs_to_edit(
    root: Path, home: Path, tmp_path: Path
) -> None:
    talk(root, home, tmp_path, 1, "Fix the ledger", "call me Jo")
    card = home / ".kb" / "profile.md"
    with open_base(root, home) as kb:
        write_card(kb, build_profile(kb, "global"))
    mine = "## Notes\n\tmy own  words, byte for byte \n"
    card.write_text(card.read_text("utf-8").replace("## Notes\n", mine), encoding="utf-8")
    talk(root, home, tmp_path, 2, "Fix the ledger again", "I live in Oslo")
    with open_base(root, home) as kb:
        page = write_card(kb, build_profile(kb, "global"))
        assert page and mine in card.read_text("utf-8") and "Oslo" in card.read_text("utf-8")
        again = write_card(kb, build_profile(kb, "global"))
        assert again and not again.is_stale
        card.write_text(card.read_text("utf-8").replace("name: Jo", "name: Max"), encoding="utf-8")
        with pytest.raises(NeedsPerson):
            write_card(kb, build_profile(kb, "global"))


def test_lists_are_bounded(root: Path, home: Path) -> None:
    with open_base(home / ".kb", home) as kb:
        kb.write([
            Candidate("preference", f"No {word} when you talk to me", decision=f"Leave {word} out when you talk to me.",
                      scope="global", reusable=True)
            for word in "emojis jokes jargon apologies praise puns idioms slang memes riddles rhymes quotes".split()
        ])  # fmt: skip
    with open_base(root, home) as kb:
        assert len(build_profile(kb, "global").wishes) == MAX_ROWS


def test_without_a_base_of_their_own_nothing_is_written(root: Path, tmp_path: Path) -> None:
    with open_base(root, tmp_path / "nobody") as kb:
        assert write_card(kb, build_profile(kb, "global")) is None
    done = run(root, "profile", HOME=str(tmp_path / "nobody"))
    assert done.code == 0 and "kb init --user" in done.error
    assert json.loads(run(root, "profile", "--json", HOME=str(tmp_path / "nobody")).out)["claims"] == {}


def test_the_command_shows_the_card(root: Path, home: Path, tmp_path: Path) -> None:
    talk(root, home, tmp_path, 1, "Fix the ledger", "我叫林小雨", "以后跟我说话用中文就行")
    assert "林小雨" in run(root, "profile", HOME=str(home)).out
    assert json.loads(run(root, "profile", "--json", HOME=str(home)).out)["claims"]["name"] == "林小雨"
    assert not (root / "profile.md").exists() and (home / ".kb" / "profile.md").exists()


def test_an_agents_own_file_is_rendered_from_its_preferences(root: Path) -> None:
    with KnowledgeBase(str(root), {**os.environ}) as kb:
        kb.write([Candidate("preference", "Cat speaks plainly", decision="It says what it did not do.",
                            scope="agent/cat", reusable=True)])  # fmt: skip
    run(root, "memory", KB_AGENT="cat")
    soul = root / "memory-bank" / "agents" / "cat.md"
    assert "says what it did not do" in soul.read_text("utf-8")
    before = soul.read_bytes()
    run(root, "memory", KB_AGENT="cat")
    assert soul.read_bytes() == before
    run(root, "memory", KB_AGENT="dog")
    assert [path.name for path in soul.parent.iterdir()] == ["cat.md"]
    assert "Cat speaks" not in (root / "memory-bank" / "MEMORY.md").read_text("utf-8")
