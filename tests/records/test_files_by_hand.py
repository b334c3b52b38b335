"""A record written by hand without block markers is read, found, checked and merged, and `kb check --fix` wraps it."""

from pathlib import Path

import pytest

from kb.errors import BadRecord
from kb.knowledge_base import KnowledgeBase
from kb.records.blocks import MACHINE_START, MARKERS, add_markers, find_record_blocks
from kb.records.record_file import parse_record
from tests.support.clones import decision, one
from tests.support.command_line import run, run_at_terminal
from tests.support.sealed import git

FRONT = """---
id: D050
kind: decision
title: Deploy on Mondays
status: accepted
scope: global
date: 2026-03-01
confirmed: 2026-03-01
---
"""
BODY = "# Deploy on Mondays\n\n## Decision\n\nWe deploy on Mondays.\n\n## 理由\n\nNobody is there on Saturday.\n"


@pytest.fixture
def by_hand(root: Path) -> Path:
    """A record file that a person wrote, committed."""
    path = root / "content" / "anchors" / "global" / "D050-deploy.md"
    path.write_text(FRONT + BODY, "utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "By hand")
    return path


def test_it_is_read_and_found(kb: KnowledgeBase, root: Path, by_hand: Path) -> None:
    record = kb.record("D050")
    assert record.section("decision") == "We deploy on Mondays."
    assert record.section("why") == "Nobody is there on Saturday." and record.user == ""
    assert "D050" in run(root, "search", "saturday").out and "Saturday" in run(root, "show", "D050").out


def test_check_wraps_it_and_changes_nothing_else(kb: KnowledgeBase, root: Path, by_hand: Path) -> None:
    rules = {found.rule: found for found in kb.check()}
    assert rules.keys() == {"bare", "uid"} and rules["bare"].severity == "warning" and rules["bare"].line == 10
    assert kb.check(fix=True) == []
    text = by_hand.read_text("utf-8")
    uid = next(line for line in text.split("\n") if line.startswith("uid"))
    assert text == FRONT.replace("kind:", f"{uid}\nkind:", 1) + add_markers(FRONT + BODY).removeprefix(FRONT)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("body", [BODY, BODY.rstrip("\n"), ""])
def test_wrapping_keeps_the_record(body: str, newline: str) -> None:
    text = (FRONT + body).replace("\n", newline)
    before, wrapped = parse_record(text), add_markers(text)
    assert parse_record(wrapped) == before and body.replace("\n", newline) in wrapped
    assert newline == "\n" or "\n" not in wrapped.replace("\r\n", "")


@pytest.mark.parametrize("lost", MARKERS)
def test_a_lost_marker_is_still_an_error(lost: str) -> None:
    with pytest.raises(BadRecord, match="is missing"):
        find_record_blocks(add_markers(FRONT + BODY).replace(lost + "\n", ""))


def test_the_same_decision_is_no_second_record(kb: KnowledgeBase, by_hand: Path) -> None:
    candidate = decision(0)._replace(
        title="Deploy on Mondays", decision="We deploy on Mondays.", why="Nobody is there on Saturday."
    )
    assert one(kb, candidate).id == "D050" and len(kb.records()) == 1


def test_kb_writes_into_it_and_leaves_the_text(kb: KnowledgeBase, root: Path, by_hand: Path) -> None:
    assert run_at_terminal(root, "status", "D050", "deprecated", "--why", "A new rota.").code == 0
    text = by_hand.read_text("utf-8")
    assert "status: deprecated" in text and "A new rota." in text and MACHINE_START not in text
    assert BODY.rstrip("\n") in text
    assert run(root, "write", "--updates", "D050", "--verification", "Look at the rota.").code in (0, 4)
    assert "Nobody is there on Saturday." in by_hand.read_text("utf-8")
