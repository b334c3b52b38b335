"""A person's word on a proposal is asked before anything is written out of a session."""

import json
import os
from pathlib import Path

import pytest

from kb.checks.run_checks import check_records
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record
from tests.capture.test_proposals import Talk
from tests.support.talk import said

EN = "From now on refunds above 500 euros need a second approval by finance, because of the audit."
ZH = "以后所有超过 500 元的退款都必须由财务二次审批，因为审计要求。"
REWORDED = {
    EN: "Decision: Refunds above 500 euros need a second approval by finance, because the audit asks for it.",
    ZH: "决定：超过 500 元的退款必须由财务二次审批，因为审计要求。",
}
LONG = (
    "From now on every refund above 500 euros must be approved by a second person in finance, because the auditors "
    "found four payments in the books of last year that nobody could explain, and asked for it in their report."
)


class Session(Talk):
    """A session with a transcript, which the host writes as it goes."""

    def __init__(self, root: Path, path: Path, session: str = "s1") -> None:
        super().__init__(root, session)
        self.path = path
        self.hear("user", "Please make refunds safe against retries.")
        self.stop()

    def hear(self, role: str, text: str) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(said(role, text))

    def say(self, prompt: str, **more: object) -> tuple[str, str]:
        answer = super().say(prompt, **more)
        self.hear("user", prompt)
        self.hear("assistant", "Understood.")
        return answer

    def stop(self, **more: object) -> str:
        return super().stop(transcript_path=str(self.path), **more)

    def end(self) -> None:
        self.event("SessionEnd", transcript_path=str(self.path))
        self.event("SessionStart", source="startup")

    def kept(self) -> list[Record]:
        with KnowledgeBase(str(self.root), os.environ) as kb:
            return kb.records()


def wait(root: Path) -> None:
    """Let the pause between two extractions be over."""
    (root / "kb.toml").write_text("pause = 0\n")


@pytest.fixture(params=[EN, ZH], ids=["en", "zh"])
def sentence(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(root: Path, tmp_path: Path) -> Session:
    return Session(root, tmp_path / "t.jsonl")


def test_no_holds_when_the_extraction_was_put_off(session: Session, sentence: str) -> None:
    session.say(sentence)
    assert "mb:write" in session.stop(), "the pause puts the extraction off, so it is proposed"
    session.say("mb:no")
    wait(session.root)
    session.say("What is next?")
    session.stop()
    session.hear("assistant", REWORDED[sentence])
    session.stop()
    session.end()
    assert session.records() == []


@pytest.mark.parametrize("host", ["copilot", "cursor"])
def test_no_holds_in_a_host_that_shows_no_proposals(session: Session, sentence: str, host: str) -> None:
    session.say(sentence, host=host)
    assert session.stop(host=host) == ""
    session.say("mb:no", host=host)
    wait(session.root)
    session.hear("assistant", REWORDED[sentence])
    session.stop(host=host)
    session.end()
    assert session.records() == []


def test_no_holds_in_the_next_session_too(session: Session, sentence: str, tmp_path: Path) -> None:
    session.say(sentence)
    session.stop()
    session.say("mb:no")
    session.end()
    wait(session.root)
    other = Session(session.root, tmp_path / "u.jsonl", "s2")
    other.hear("assistant", REWORDED[sentence])
    other.stop()
    other.end()
    assert other.records() == []


def test_another_matter_is_written_after_a_no(session: Session) -> None:
    session.say(EN)
    session.stop()
    session.say("mb:no")
    wait(session.root)
    session.hear("assistant", "Decision: All modules read the clock through one function, because tests need it.")
    session.stop()
    assert len(session.records()) == 1


def test_yes_writes_once_accepted_and_whole(session: Session, sentence: str) -> None:
    session.say(sentence)
    session.stop()
    session.say("mb:write")
    wait(session.root)
    session.say("What is next?")
    session.stop()
    session.hear("assistant", REWORDED[sentence])
    session.stop()
    session.end()
    [record] = session.kept()
    assert (record.kind, record.status, record.title) == ("constraint", "accepted", sentence)
    assert record.section("why")
    with KnowledgeBase(str(session.root), os.environ) as kb:
        assert [finding for finding in check_records(kb) if finding.rule == "sections"] == []


def test_a_sentence_longer_than_a_title_is_cut_at_its_reason(session: Session) -> None:
    shown = session.say(LONG) and session.stop()
    assert "…" not in shown.splitlines()[1] and "asked for it in their report" not in shown
    session.say("mb:write")
    [record] = session.kept()
    assert LONG.startswith(record.title) and "asked for it in their report" in record.section("decision")


def test_what_the_person_is_asked_about_waits_for_the_answer(session: Session) -> None:
    session.say(EN)
    session.stop()
    wait(session.root)
    session.say("Go on with the ledger.")
    session.stop()
    assert session.records() == [], "nobody has answered yet"
    session.say("mb:no")
    session.stop()
    session.end()
    assert session.records() == []


def test_what_nobody_answered_is_judged_when_the_session_has_ended(session: Session) -> None:
    session.say(EN)
    session.stop()
    wait(session.root)
    session.say("Go on with the ledger.")
    session.stop()
    session.end()
    assert len(session.records()) == 1
    assert session.statuses() == ["confirmed"], "it is not proposed a second time"


def test_what_waits_survives_an_archive_of_the_same_state(session: Session) -> None:
    session.say(EN)
    session.stop()
    wait(session.root)
    session.event("PreCompact", transcript_path=str(session.path))
    assert session.records() == []
    session.end()
    assert len(session.records()) == 1


def test_a_cursor_that_was_damaged_loses_no_more_than_what_waits(session: Session) -> None:
    session.say(EN)
    session.stop()
    wait(session.root)
    session.say("Go on.")
    session.stop()
    [cursor] = (session.root / ".kb/cursors").glob("*.json")
    kept = json.loads(cursor.read_text())
    assert kept["asked"]
    cursor.write_text(json.dumps({**kept, "asked": [{"kind": 7}]}))
    session.end()
    assert session.records() == []


def test_the_question_begins_with_what_is_proposed(session: Session, sentence: str) -> None:
    session.say(sentence)
    first, proposed, how = session.stop().splitlines()
    assert "mb:" not in first and sentence in proposed and "mb:write" in how and "kb proposal confirm" in how
