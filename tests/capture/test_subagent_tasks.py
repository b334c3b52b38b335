"""A sub-agent is told what belongs to its own task, and never to another's."""

import os
from pathlib import Path

import pytest

from kb.hooks.fast_path import can_skip_event
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.capture.test_proposals import Talk
from tests.support.talk import answered, called, said

MONEY, LOGO = "How are refund amounts kept in the ledger?", "Which colours has the logo of the home page?"


@pytest.fixture
def talk(root: Path) -> Talk:
    with KnowledgeBase(str(root), os.environ) as kb:
        kb.write([
            Candidate("constraint", "Refund amounts in the ledger are cents", scope="project/shop", reusable=True,
                      decision="Refund amounts in the ledger are integer cents."),
            Candidate("constraint", "Colours of the logo on the home page are blue", scope="project/shop",
                      reusable=True, decision="The logo of the home page has two colours, both blue."),
            Candidate("decision", "The ledger of refund amounts is in PostgreSQL", scope="project/shop", reusable=True,
                      decision="The ledger of refund amounts is kept in PostgreSQL."),
        ], decided=True)  # fmt: skip
    return Talk(root)


def calls(talk: Talk, prompt: str, kind: str = "Explore", number: int = 1) -> None:
    talk.event("PreToolUse", tool_name="Agent", tool_use_id=f"c{number}",
               tool_input={"subagent_type": kind, "description": "look", "prompt": prompt})  # fmt: skip


def starts(talk: Talk, kind: str = "Explore", **more: object) -> str:
    return talk.event("SubagentStart", agent_type=kind, agent_id="a1", **more)[0]


def test_the_first_agent_of_a_session_is_told_before_the_transcript_has_the_call(talk: Talk, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "go"))
    calls(talk, MONEY)
    assert "cents" in starts(talk, transcript_path=str(path))


def test_each_is_told_its_own(talk: Talk) -> None:
    calls(talk, MONEY)
    assert "cents" in starts(talk)
    calls(talk, LOGO, number=2)
    told = starts(talk)
    assert "blue" in told and "cents" not in told
    calls(talk, MONEY, "Plan", 3)
    calls(talk, LOGO, number=4)
    told = starts(talk)
    assert "blue" in told and "cents" not in told
    assert "PostgreSQL" in starts(talk, "Plan")


def test_one_of_several_alike_is_told_nothing_of_anothers(talk: Talk) -> None:
    calls(talk, MONEY)
    calls(talk, LOGO, number=2)
    assert starts(talk) == "" == starts(talk)


def test_an_earlier_prompts_call_is_not_meant(talk: Talk) -> None:
    calls(talk, MONEY)
    talk.say("Something else, please")
    assert starts(talk) == ""


def test_an_answered_call_in_the_transcript_is_not_meant(talk: Talk, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "go") + called("Agent", {"subagent_type": "Explore", "prompt": MONEY}))
    assert "cents" in starts(talk, transcript_path=str(path)), "hooks that were installed before know no more"
    with open(path, "a") as file:
        file.write(answered("c1"))
    assert starts(talk, transcript_path=str(path)) == ""
    with open(path, "a") as file:
        for number, prompt in enumerate((MONEY, LOGO), 2):
            file.write(called("Agent", {"subagent_type": "Explore", "prompt": prompt}, f"c{number}"))
    assert starts(talk, transcript_path=str(path)) == ""


@pytest.mark.parametrize(
    "given", [{}, {"prompt": 7}, {"subagent_type": ["x"], "prompt": "a\0b"}, {"prompt": "长" * 9000}]
)
def test_odd_calls_stop_nothing(talk: Talk, given: dict[str, object]) -> None:
    assert talk.event("PreToolUse", tool_name="Task", tool_input=given) == ("", "")
    starts(talk, "general-purpose")


def test_a_call_for_an_agent_is_not_passed_over(talk: Talk) -> None:
    assert not can_skip_event("PreToolUse", {"tool_name": "Agent", "tool_input": {"prompt": "x"}}, str(talk.root))
    assert can_skip_event("PreToolUse", {"tool_name": "TodoWrite", "tool_input": {"todos": []}}, str(talk.root))
