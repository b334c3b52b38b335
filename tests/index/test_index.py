"""The index is a cache: it agrees with the files, whatever happens to them, and can be thrown away."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.index.database import Index
from kb.index.schema import compute_index_terms
from kb.knowledge_base import KnowledgeBase
from kb.text.segment import build_index_terms
from tests.support.clones import FASTAPI, FLASK, decision, one
from tests.support.sealed import Clock, git


def matching(index: Index, word: str) -> list[str]:
    """Return the ids of the records that the index finds *word* in."""
    return sorted(record.id for record in index.load_rows(index.find_matching_rows(f'"{word}"')).values())


def answers(kb: KnowledgeBase) -> object:
    """Return what an index says, apart from its own bookkeeping."""
    index = kb.sync_index()
    words = ("gateway", "FastAPI", "时区", "支付", "mine", "zebra")
    return (
        index.records(),
        [matching(index, word.lower()) for word in words],
        [index.count_by_column(column) for column in ("kind", "scope", "status", "tag")],
        [name for name, _ in index.list_held_entries()],
        sorted(index.list_broken()),
    )


def agrees(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    """Check that an index built from nothing gives the same answers."""
    before = answers(kb)
    path = root / ".kb" / "index.db"
    kb.close()
    aside = path.with_name("aside.db")
    path.rename(aside)
    with KnowledgeBase(str(root), os.environ, clock) as other:
        other.held()
        assert answers(other) == before
        other.close()
    aside.replace(path)


def test_it_agrees_after_writes_of_every_sort(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    kb.write([decision(n) for n in range(5)], folder=str(root))
    one(kb, decision(0, why="A later fact about the nightly export.", session="s2", host="t"))
    one(kb, FASTAPI)
    one(kb, FLASK)
    agrees(kb, root, clock)
    kb.accept(kb.reviews()[0].branch)
    kb.change_status("D001", "deprecated", why="Gone.", decided=True)
    kb.supersede("D002", by="D003", decided=True)
    agrees(kb, root, clock)


@pytest.mark.parametrize("place", ["user", "front", "broken", "gone"])
def test_it_agrees_after_writing_into_a_dirty_file(kb: KnowledgeBase, root: Path, clock: Clock, place: str) -> None:
    path = root / one(kb, decision(0)).path
    text = path.read_text()
    edits = {
        "user": text.replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n"),
        "front": text.replace("date: 2026-11-21\n", "date: 2026-11-21\ntags: [zebra]\n"),
        "broken": text.replace("<!-- MACHINE_BLOCK_END -->", ""),
    }
    path.write_text(edits[place]) if place in edits else path.unlink()
    one(kb, decision(0, why="A later fact about the nightly export.", session="s2", host="t"))
    agrees(kb, root, clock)


def test_it_follows_hand_edits_pulls_and_branches(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    path = root / one(kb, decision(0)).path
    path.write_text(path.read_text().replace("in one place", "in one zebra place"))
    assert matching(kb.sync_index(), "zebra") == ["D001"]
    git(root, "commit", "-qam", "By hand")
    git(root, "switch", "-qc", "feature")
    one(kb, decision(1))
    git(root, "switch", "-q", "main")
    assert [record.id for record in kb.records()] == ["D001"]
    git(root, "merge", "-q", "feature")
    assert [record.id for record in kb.records()] == ["D001", "D002"]
    agrees(kb, root, clock)


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 200])
def test_a_damaged_index_is_built_anew(kb: KnowledgeBase, root: Path, clock: Clock, damage: bytes) -> None:
    one(kb, decision(0))
    kb.close()
    (root / ".kb" / "index.db").write_bytes(damage)
    for end in ("-wal", "-shm"):
        (root / ".kb" / f"index.db{end}").unlink(missing_ok=True)
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert one(other, decision(1)).id == "D002"
        assert len(other.records()) == 2


# -- the terms that are stored --------------------------------------------------------------------

PIECES = [
    "消息", "队列", "，", "-", "—", "HTTPServer", "snake_case", "café", "e\u0301", "\u0301x", "ﬁ", "ａ１", "１.５",
    "한국", "a" * 120, "字" * 120, "x消息y", "don't", "İ",
]  # fmt: skip
SPACES = [" ", "  ", "\n", "\t", "\u3000", "\xa0", "\x1c", "\x85", "\u2028", "\u200b", ""]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from(SPACES), st.text(max_size=4))).map("".join))
def test_terms_that_are_remembered_are_those_of_the_whole_text(text: str) -> None:
    assert compute_index_terms(text) == compute_index_terms(text) == build_index_terms(text)
