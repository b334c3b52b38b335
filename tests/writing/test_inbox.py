"""The inbox: what the gate keeps back, in git and out of the way."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from kb.doctor import run_checks
from kb.errors import UnknownId
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.writing.inbox import find_held
from tests.support.clones import FASTAPI, SMALL, commits, one, seen
from tests.support.sealed import git

INBOX = "refs/kb/inbox"


def test_a_second_session_lets_it_through(kb: KnowledgeBase, root: Path) -> None:
    head, before = git(root, "rev-parse", "HEAD"), seen(root)
    held = one(kb, SMALL)
    assert held.verdict == "held" and held.reasons and held.next
    assert git(root, "rev-parse", "HEAD") == head and seen(root) == before
    assert one(kb, SMALL).verdict == "held", "the same session does not count twice"
    assert [len(entry.sightings) for entry in kb.held()] == [1]
    through = one(kb, SMALL._replace(session="s2"))
    assert (through.verdict, through.id) == ("created", "D001")
    assert kb.held() == [] and git(root, "ls-tree", INBOX) == ""


def test_without_a_session_nothing_is_counted_twice(kb: KnowledgeBase) -> None:
    for _ in range(3):
        assert one(kb, SMALL._replace(session="")).verdict == "held"


def test_the_same_in_other_words_counts(kb: KnowledgeBase) -> None:
    first = SMALL._replace(title="设置页按钮用蓝色显示", decision="设置页的按钮统一用蓝色显示，不再用灰色。")
    assert one(kb, first).verdict == "held"
    assert one(kb, first._replace(title="设置页按钮都用蓝色显示", session="s2")).verdict == "created"


def test_the_contrary_does_not_count(kb: KnowledgeBase) -> None:
    said = "We {} the blue settings button on every page of the shop."
    one(kb, SMALL._replace(title="Enable the blue settings button", decision=said.format("enable")))
    contrary = SMALL._replace(title="Disable the blue settings button", decision=said.format("disable"), session="s2")
    assert one(kb, contrary).verdict == "held"
    assert len(kb.held()) == 2


def test_two_sessions_in_one_call(kb: KnowledgeBase, root: Path) -> None:
    before = commits(root)
    words = [v.verdict for v in kb.write([SMALL, SMALL._replace(session="s2")], folder=str(root))]
    assert words == ["held", "created"] and kb.held() == []
    assert commits(root) == before + 1 and git(root, "fsck", "--strict") == ""


SEATS = FASTAPI._replace(
    title="Seats are numbered by the hall", decision="The hall gives every seat its number; a ticket copies it.",
    claims={}, impact=(),
)  # fmt: skip
SEATS_AGAIN = SEATS._replace(
    title="Where the number of a seat comes from", decision="We ask the hall and print what it answers.",
    session="s2",
)  # fmt: skip


@pytest.mark.parametrize("answer", [{"supersedes": ("D001",)}, {"coexists_with": {"D001": "two halls"}}])
def test_what_is_asked_waits_and_passes_with_an_answer(kb: KnowledgeBase, answer: dict[str, object]) -> None:
    one(kb, SEATS)
    asked = one(kb, SEATS_AGAIN)
    assert asked.verdict == "held" and "D001" in asked.reasons[0] and "coexists_with D001" in asked.next
    [held] = kb.held()
    assert (held.name, held.candidate.decision) == (asked.id, SEATS_AGAIN.decision)
    assert asked.reasons[0] in held.reasons
    assert one(kb, SEATS_AGAIN._replace(**answer)).verdict == "created"  # type: ignore[arg-type]
    assert not kb.held()


def test_a_session_is_not_asked_about_its_own_records(kb: KnowledgeBase) -> None:
    one(kb, SEATS)
    assert one(kb, SEATS_AGAIN._replace(session=SEATS.session)).verdict == "created"


def test_a_person_is_only_told(kb: KnowledgeBase) -> None:
    one(kb, SEATS)
    [verdict] = kb.write([SEATS_AGAIN], folder=kb.root, decided=True)
    assert verdict.verdict == "created" and "D001" in [similar.id for similar in verdict.similar]


def test_what_earlier_sightings_knew_is_kept(kb: KnowledgeBase) -> None:
    one(kb, SMALL._replace(why="The designer has asked for it twice.", tags=("design",)))
    one(kb, SMALL._replace(session="s2"))
    (record,) = kb.records()
    assert record.section("why") == "The designer has asked for it twice." and record.tags == ("design",)


def test_it_survives_cloning(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    one(kb, SMALL)
    git(tmp_path, "clone", "-q", "--mirror", str(root), str(tmp_path / "mirror.git"))
    git(tmp_path, "clone", "-q", str(tmp_path / "mirror.git"), str(tmp_path / "other"))
    other = tmp_path / "other"
    with KnowledgeBase.at(str(other)) as there:
        assert there.held() == []
        git(other, "fetch", "-q", "origin", f"{INBOX}:{INBOX}")
        assert [entry.candidate.title for entry in there.held()] == [SMALL.title]
        assert one(there, SMALL._replace(session="s2")).verdict == "created"
    git(root, "fetch", "-q", str(other), f"+{INBOX}:{INBOX}")
    assert kb.held() == []


def test_show_drop_promote(kb: KnowledgeBase, root: Path) -> None:
    name = one(kb, SMALL).id
    assert find_held(kb, name[:5]).candidate.title == SMALL.title
    assert kb.drop(name).name == name and kb.held() == []
    with pytest.raises(UnknownId):
        find_held(kb, name)
    name = one(kb, SMALL).id
    before = seen(root)
    assert kb.promote(name).verdict == "created"
    assert kb.held() == [] and seen(root) == before


def test_promoting_still_looks_for_contradictions(kb: KnowledgeBase) -> None:
    weak = FASTAPI._replace(
        title="Use Flask as the backend framework",
        decision="Flask it is, for the backend.",
        impact_areas=(),
        impact=(),
        claims={"backend.framework": "Flask"},
        confidence=0.1,
    )
    name = one(kb, weak).id
    one(kb, FASTAPI)
    verdict = kb.promote(name)
    assert verdict.verdict == "conflict" and kb.held() == []


def test_an_unreadable_entry_is_passed_over(kb: KnowledgeBase, root: Path) -> None:
    one(kb, SMALL)
    blob = git(root, "hash-object", "-w", "kb.toml").strip()
    listing = git(root, "ls-tree", INBOX) + f"100644 blob {blob}\tbroken.json\n"
    tree = subprocess.run(
        ["git", "-C", str(root), "mktree"], input=listing, capture_output=True, text=True, check=True
    ).stdout.strip()
    git(root, "update-ref", INBOX, git(root, "commit-tree", tree, "-p", INBOX, "-m", "Broken").strip())
    assert [entry.candidate.title for entry in kb.held()] == [SMALL.title]


@pytest.mark.parametrize(
    "wrong",
    [{"sightings": ["x"]}, {"sightings": 3}, {"sightings": [{"session": 1}]}, {"reasons": [1]}, {"reasons": {}},
     {"candidate": []}, {"candidate": {"kind": "decision"}}, [], None, "x"],
)  # fmt: skip
def test_what_somebody_else_laid_there_stops_nobody(kb: KnowledgeBase, root: Path, wrong: object) -> None:
    one(kb, SMALL)
    name = kb.held()[0].name + ".json"
    entry = json.loads(git(root, "show", f"{INBOX}:{name}"))
    changed = {**entry, **wrong} if isinstance(wrong, dict) else wrong
    words = ["git", "-C", str(root), "hash-object", "-w", "--stdin"]
    given = json.dumps(changed).encode()
    blob = subprocess.run(words, input=given, capture_output=True, check=True).stdout.decode().strip()
    made = subprocess.run(
        ["git", "-C", str(root), "mktree"],
        input=f"100644 blob {blob}\t{name}\n".encode(),
        capture_output=True,
        check=True,
    )
    commit = git(root, "commit-tree", "-m", "x", made.stdout.decode().strip()).strip()
    git(root, "update-ref", INBOX, commit)
    found = {outcome.name: outcome for outcome in run_checks(str(root), str(root), os.environ)}["inbox"]
    assert found.state == "note" and found.said.values["name"] == name
    assert kb.held() == []
    assert one(kb, FASTAPI).verdict == "created"
    assert one(kb, SMALL._replace(session="s2")).verdict == "held"
    assert [held.candidate.title for held in kb.held()] == [SMALL.title]


def test_the_contrary_under_the_same_title_does_not_take_its_place(kb: KnowledgeBase) -> None:
    blue = SMALL._replace(claims={"button.color": "blue"}, why="Blue is the colour of the brand since spring.")
    red = SMALL._replace(
        decision="The button on the settings page is red.", claims={"button.color": "red"}, session="s2",
        why="Red is seen at once by everyone who looks for it.",
    )  # fmt: skip
    names = [one(kb, blue).id, one(kb, red).id]
    assert len(set(names)) == 2
    assert {entry.name: entry.candidate.claims["button.color"] for entry in kb.held()} == dict(
        zip(names, ("blue", "red"), strict=True)
    )


def test_the_same_decision_under_another_title_is_a_second_sighting(kb: KnowledgeBase, root: Path) -> None:
    said = Candidate(
        "constraint", "Invoice numbers start with the year", why="The bookkeeping clerk sorts by it.",
        decision="Every invoice number starts with four digits of the year.", session="a1", host="t",
    )  # fmt: skip
    assert kb.write([said], folder=str(root))[0].verdict == "held"
    again = said._replace(title="Invoice numbers begin with the year", session="a2")
    (verdict,) = kb.write([again], folder=str(root))
    assert verdict.verdict == "created"
    record = kb.record(verdict.id)
    assert (record.occurrences, record.sources) == (2, ("t/a1", "t/a2"))
    assert kb.held() == []


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        (("s1", "s2"), "seen in 2 sessions"), (("", "s2"), "seen at least 2 times"),
        (("s1", ""), "seen at least 2 times"), (("s1", "s2", "s3"), "seen in 3 sessions"),
        (("s1", "s2", "s2"), "seen at least 3 times"), (("s1", "s2", ""), "seen at least 3 times"),
        (("", "s2", "s3"), "seen in 2 sessions"),
    ],
)  # fmt: skip
def test_only_sessions_are_called_sessions(kb: KnowledgeBase, sessions: tuple[str, ...], told: str) -> None:
    """The first two count in the inbox, a third in the record; a session that says it again adds no session."""
    reasons = ("It matches the brand.", "Grey looked disabled to testers.", "Accessibility audits demand contrast.")
    for session, why in zip(sessions, reasons, strict=False):
        verdict = one(kb, SMALL._replace(session=session, why=why))
    assert f"repeated: {told}" in verdict.reasons
