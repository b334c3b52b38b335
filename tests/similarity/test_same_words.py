"""The same words are one record, in whatever kind they come; and a damaged file hides no record from being found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, commits, decision, one
from tests.support.sealed import git

ZH = FASTAPI._replace(
    kind="constraint", title="所有输出必须脱敏，绝不能包含 Git token",
    decision="所有输出必须脱敏，绝不能包含 Git token。", claims={},
)  # fmt: skip


@pytest.mark.parametrize("first", [FASTAPI._replace(kind="constraint"), ZH], ids=["en", "zh"])
def test_the_same_text_in_another_kind_is_one_record(kb: KnowledgeBase, root: Path, first: object) -> None:
    before = one(kb, first)  # type: ignore[arg-type]
    again = one(kb, first._replace(kind="decision", session="s9"))  # type: ignore[attr-defined]
    assert (before.verdict, again.id) == ("created", before.id) and again.verdict in ("updated", "appended")
    assert [record.occurrences for record in kb.records()] == [2]


def test_one_title_over_another_text_is_another_record(kb: KnowledgeBase) -> None:
    one(kb, FASTAPI)
    other = FASTAPI._replace(kind="pitfall", decision="It closed the pool at every deploy until 0.95.", session="s9")
    assert one(kb, other._replace(claims={})).verdict == "created" and len(kb.records()) == 2


DAMAGE: list[Callable[[str], str]] = [
    lambda text: text.replace("<!-- MACHINE_BLOCK_START -->\n", ""),
    lambda text: text.replace("<!-- MACHINE_BLOCK_END -->\n", ""),
    lambda text: text.replace("## Why", "<<<<<<< ours\n## Why\n=======\n>>>>>>> theirs"),
    lambda text: text.replace("## Why", "<<<<<<< ours\n## Why"),
    lambda text: text.replace("status: accepted", "status: [accepted"),
    lambda text: text[: len(text) // 2],
]


@pytest.mark.parametrize("damage", DAMAGE, ids=["start", "end", "conflict", "leftover", "front", "half"])
@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "not committed"])
def test_a_damaged_file_stops_the_write_of_what_it_may_say(
    kb: KnowledgeBase, root: Path, damage: Callable[[str], str], is_committed: bool
) -> None:
    path = root / one(kb, FASTAPI).path
    path.write_text(damage(path.read_text("utf-8")), "utf-8")
    if is_committed:
        git(root, "commit", "-qam", "Damaged")
    before, head = path.read_bytes(), commits(root)
    verdict = one(kb, FASTAPI._replace(session="s9", why="A later fact about the generated documents of the API."))
    assert verdict.verdict == "held" and path.name in verdict.reasons[0] and path.name in verdict.next
    assert path.read_bytes() == before and commits(root) == head, "nothing is written over it or beside it"
    assert one(kb, decision(3)).verdict == "created", "what has nothing to do with it is written"


def test_what_was_held_is_written_once_the_file_is_mended(kb: KnowledgeBase, root: Path) -> None:
    path = root / one(kb, FASTAPI).path
    whole = path.read_text("utf-8")
    path.write_text(DAMAGE[0](whole), "utf-8")
    held = one(kb, FASTAPI._replace(session="s9", why="A later fact about the generated documents of the API."))
    path.write_text(whole, "utf-8")
    assert kb.promote(held.id).verdict == "appended" and len(kb.records()) == 1
