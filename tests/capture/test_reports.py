"""The report of a sub-agent that explored answers its question; one that wrote, or hardly looked, reports nothing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kb.capture.extract import extract_candidates
from kb.capture.reports import build_report_files, find_reports
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import build_candidates, candidate_to_json
from kb.records.model import Candidate
from kb.sessions.transcript import Transcript, parse_transcript
from kb.writing.gate import assess_admission
from kb.writing.inbox import list_held
from tests.capture.test_proposals import Talk

TASK = (
    "You are a careful researcher.\n\nExplore the payment module of this project. I need to understand:\n\n"
    "1. How refunds are rounded\n2. Which tests cover them\n3. Be thorough\n"
)
LEAD = "Refunds are rounded half up in `src/refund.py`, once per order and never per line."
REPORT = (
    f"Perfect! Now I have a complete picture. Let me write the report:\n\n## Refunds\n\n{LEAD}\n\n"
    + "- `src/ledger.py` keeps integer cents; a float never reaches it, since the parser refuses one.\n"
    + "- The tests in tests/test_refund.py cover half cents, zero and a refund above the order's total.\n" * 4
)
FILES = ["src/refund.py", "src/ledger.py", "tests/test_refund.py", "README.md", "docs/index.md"]


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "sessionId": "s1",
        "cwd": "/w/shop",
        "message": {"role": "user", "content": content},
        **more,
    }


def agent(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "sessionId": "s1", "message": {"role": "assistant", "content": list(blocks)}, **more}


def use(name: str, number: int = 0, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{name}{number}", "name": name, "input": given}


def reads(count: int) -> list[dict[str, Any]]:
    return [use("Read", n, file_path=f"/w/shop/{FILES[n % len(FILES)]}") for n in range(count)]


def own(calls: list[dict[str, Any]], report: str = REPORT, task: str = TASK) -> list[dict[str, Any]]:
    side = {"isSidechain": True, "agentId": "a1"}
    rows = [user(task, **side), *(agent(call, **side) for call in calls)]
    return [*rows, agent({"type": "text", "text": report}, **side)]


def text(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def read(rows: list[dict[str, Any]]) -> Transcript:
    return parse_transcript(text(rows))


def found(rows: list[dict[str, Any]]) -> list[Candidate]:
    return [candidate for _, candidate in find_reports(read(rows))]


def test_an_exploration_answers_the_question_of_its_task() -> None:
    [made] = found(own([*reads(5), use("Grep", pattern="round"), use("Bash", command="ls -l src 2>/dev/null")]))
    assert made.kind == "learning"
    assert made.title == ("Explore the payment module of this project: How refunds are rounded; Which tests cover them")
    assert made.decision.startswith(LEAD) and len(made.decision) <= 600 and "Let me" not in made.decision
    assert made.sections["explored"].splitlines()[:2] == ["7 calls: Read ×5, Grep ×1, Bash ×1", "- `src/refund.py`"]
    assert made.impact == ("src/refund.py", "src/ledger.py", "tests/test_refund.py"), "what it read and names"
    assert made.cost == 7 and made.evidence[0].quote == LEAD and made.evidence[0].source.startswith("s1/reports/")
    assert build_candidates(candidate_to_json(made)) == [made]


@pytest.mark.parametrize(
    "rows",
    [
        own([*reads(5), use("Edit", file_path="a.py", old_string="a", new_string="b")]),
        own([*reads(5), use("Bash", command="echo x > notes.txt")]),
        own([*reads(5), use("Bash", command="git commit -m x")]),
        own(reads(4)), own(reads(9), LEAD), own(reads(9), "```\ncode\n```\n" * 60),
        own(reads(9), task="Phase: 14\nGoal: users can share files with each other in peace."),
    ],
    ids=["edits", "writes a file", "commits", "hardly looked", "short", "code only", "no question"],
)  # fmt: skip
def test_another_agent_reports_nothing(rows: list[dict[str, Any]]) -> None:
    assert found(rows) == []


def test_a_session_of_a_person_is_no_report() -> None:
    rows = [{**row, "isSidechain": False} for row in own(reads(9))]
    assert found(rows) == []


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("Where are refunds rounded? Which tests cover it?", "Where are refunds rounded? Which tests cover it?"),
        ("梳理登录流程，说明：\n- 如何签发令牌\n- 是否会过期", "梳理登录流程，说明: 如何签发令牌; 是否会过期"),
        ("I need to thoroughly understand how login works in this project.", "How login works in this project"),
    ],
)
def test_the_title_is_the_question(task: str, title: str) -> None:
    assert [one.title for one in found(own(reads(9), task=task))] == [title]


def test_a_summary_leads_the_answer() -> None:
    report = (
        REPORT
        + "\n## Summary\n\nRounding happens in one place only, so a change of the rule needs one edit and one test.\n"
    )
    [made] = found(own(reads(9), report))
    assert made.decision == "Rounding happens in one place only, so a change of the rule needs one edit and one test."
    zh = (
        "## 结论\n\n退款只在一处舍入，按订单而不是按行，因此修改规则只需要改一个文件并补一个测试。\n\n"
        + "细节很多。" * 120
    )
    [made] = found(own(reads(9), zh))
    assert made.decision.startswith("退款只在一处舍入")


def parent(progress: bool = True) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": TASK, "subagent_type": "Explore"}}
    inner = [{key: row[key] for key in ("type", "message")} for row in own(reads(12))[:-1]]
    told = {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": f"{REPORT}\nagentId: a1 (for resuming)\n<usage>x</usage>",
    }
    rows = [
        {"type": "progress", "parentToolUseID": "c1", "data": {"type": "agent_progress", "message": one}}
        for one in inner
    ]
    return [user("Fix refunds"), agent(call), *(rows if progress else []), user([told])]


def test_the_parents_transcript_gives_the_same() -> None:
    [mine], [theirs] = found(own(reads(12))), found(parent())
    same = ("kind", "title", "decision", "impact", "sections", "cost")
    assert [getattr(mine, name) for name in same] == [getattr(theirs, name) for name in same]
    assert found(parent(progress=False)) == [], "what it did is not known"
    assert [one for one in extract_candidates(read(parent())) if one.kind == "learning"] == [
        theirs._replace(session="s1")
    ]
    [(name, whole)] = build_report_files(read(parent())).items()
    assert theirs.evidence[0].source == f"s1/{name}" and REPORT.strip() in whole and "<usage>" not in whole


def test_what_was_dear_passes_the_gate(kb: KnowledgeBase) -> None:
    dear, cheap = found(own(reads(12)))[0], found(own(reads(6)))[0]
    assert list(map(str, assess_admission(dear, 1, kb.config).grounds)) == ["costly: it took 12 calls to find out"]
    assert not assess_admission(cheap, 1, kb.config).admitted
    page = {"type": "tool_result", "tool_use_id": "tRead0", "content": "rounding of refunds, " * 5_000}
    rows = own(reads(6))
    [long] = found([*rows[:-1], user([page], isSidechain=True), rows[-1]])
    assert assess_admission(long, 1, kb.config).admitted, "few calls that read much"


def test_a_report_is_proposed_and_archived(root: Path, tmp_path: Path) -> None:
    talk = Talk(root)
    main, side = tmp_path / "main.jsonl", tmp_path / "agent-a1.jsonl"
    main.write_bytes(text(parent()))
    side.write_bytes(text(own(reads(12))))
    paths = {"transcript_path": str(main), "agent_transcript_path": str(side)}
    talk.event("SubagentStop", agent_id="a1", agent_type="Explore", **paths)
    with KnowledgeBase(str(root), os.environ) as kb:
        [record] = kb.records()
        assert (record.kind, record.status) == ("learning", "proposed")
        assert "12 calls" in record.section("explored") and record.section("decision").startswith(LEAD)
    talk.event("PreCompact", transcript_path=str(main), trigger="manual")
    [report] = (root / "content" / "sessions").glob("*/reports/*.md")
    assert REPORT.strip() in report.read_text(encoding="utf-8")
    with KnowledgeBase(str(root), os.environ) as kb:
        assert len(kb.records()) == 1, "the parent's transcript says it again"
        assert report.name in kb.records()[0].section("evidence")


def test_a_cheap_report_waits(root: Path, tmp_path: Path) -> None:
    side = tmp_path / "agent-a1.jsonl"
    side.write_bytes(text(own(reads(6))))
    Talk(root).event("SubagentStop", agent_id="a1", agent_type="Explore", agent_transcript_path=str(side))
    with KnowledgeBase(str(root), os.environ) as kb:
        assert kb.records() == [] and [held.candidate.kind for held in list_held(kb)] == ["learning"]
