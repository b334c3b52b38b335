"""A file that a person has damaged in the checkout: what it says in the tip still holds for the way in."""

from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, FLASK, one
from tests.support.command_line import run
from tests.support.sealed import git

DAMAGE = {
    "empty": lambda data: b"",
    "no head": lambda data: data.partition(b"---\n<!--")[2],
    "not closed": lambda data: data.replace(b"\n---\n", b"\n", 1),
    "a conflict": lambda data: b"<<<<<<< ours\n" + data + b"=======\n>>>>>>> theirs\n",
    "no text": lambda data: b"\xff\xfe" + data,
}


@pytest.fixture(params=DAMAGE)
def damaged(request: pytest.FixtureRequest, kb: KnowledgeBase, root: Path) -> Path:
    """A record whose file was damaged, as the index knows."""
    assert one(kb, FASTAPI).verdict == "created"
    path = root / kb.records()[0].path
    path.write_bytes(DAMAGE[request.param](path.read_bytes()))
    assert kb.records() == [] and len(kb.list_unreadable()) == 1
    return path


def test_what_it_says_is_not_written_again(kb: KnowledgeBase, root: Path, damaged: Path) -> None:
    before, tip = damaged.read_bytes(), git(root, "rev-parse", "HEAD")
    verdict = one(kb, FASTAPI)
    assert (verdict.verdict, verdict.id) == ("unchanged", "D001")
    assert git(root, "rev-parse", "HEAD") == tip and damaged.read_bytes() == before


def test_more_of_it_waits_until_it_is_mended(kb: KnowledgeBase, root: Path, damaged: Path) -> None:
    """Nothing is written over the damage, and never a twin beside it."""
    before, tip = damaged.read_bytes(), git(root, "rev-parse", "HEAD")
    more = FASTAPI._replace(session="s9", why="Its extensions cover what we need.")
    verdict = one(kb, more)
    assert verdict.verdict == "held" and damaged.name in verdict.reasons[0] and damaged.name in verdict.next
    assert verdict.next.endswith(f"kb inbox promote {verdict.id}")
    assert git(root, "rev-parse", "HEAD") == tip and damaged.read_bytes() == before
    assert [path.name for path in damaged.parent.glob("*.md")] == [damaged.name]


def test_its_contrary_is_for_a_person(kb: KnowledgeBase, root: Path, damaged: Path) -> None:
    before = damaged.read_bytes()
    verdict = one(kb, FLASK)
    assert (verdict.verdict, verdict.id) == ("conflict", "D002")
    assert "status: superseded" in git(root, "show", f"{verdict.branch}:{damaged.relative_to(root)}")
    assert damaged.read_bytes() == before


def test_two_of_one_call_are_one(kb: KnowledgeBase, damaged: Path) -> None:
    more = FASTAPI._replace(session="s9", why="Its extensions cover what we need.")
    first, second = kb.write([more, more], folder=kb.root)
    assert (first.verdict, first.id) == (second.verdict, second.id) and first.verdict == "held"


def test_of_another_scope_it_says_nothing(kb: KnowledgeBase, damaged: Path) -> None:
    assert one(kb, FASTAPI._replace(scope="project/shop")).verdict == "created"


def test_a_file_that_was_restored_is_found_at_once(kb: KnowledgeBase, root: Path, damaged: Path) -> None:
    """`git checkout` of the damaged file is enough; no other command has to look first."""
    assert run(root, "confirm", "D001").code == 1
    git(root, "checkout", "-q", "--", str(damaged))
    assert run(root, "confirm", "D001").code == 0
    damaged.write_bytes(b"")
    assert run(root, "confirm", "D001").code == 1
    git(root, "checkout", "-q", "--", str(damaged))
    more = FASTAPI._replace(session="s9", why="Its extensions cover what we need.")
    assert one(kb, more).verdict == "appended"
