"""A tool keeps a record current, and what a person has written into it stays (MBANK-04)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Verdict
from tests.support.clones import FASTAPI, commits, decision
from tests.support.clones import one as handed_in
from tests.support.sealed import git


def one(kb: KnowledgeBase, candidate: Candidate) -> Verdict:
    """Write one candidate, which a person has decided, and return its verdict."""
    return handed_in(kb, candidate, decided=True)


def update(text: str, **changes: object) -> Candidate:
    """Return a tool's new text for D001."""
    return FASTAPI._replace(updates="D001", decision=text, **changes)  # type: ignore[arg-type]


def by_hand(root: Path, path: str, old: str, new: str) -> None:
    """Edit a record as a person and commit it."""
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))
    git(root, "commit", "-qam", "By hand")


def test_the_tools_own_text_is_replaced(kb: KnowledgeBase) -> None:
    one(kb, FASTAPI)
    assert one(kb, update("The backend uses FastAPI 0.110 everywhere.")).verdict == "updated"
    assert kb.record("D001").section("decision") == "The backend uses FastAPI 0.110 everywhere."
    assert one(kb, update("The backend uses FastAPI 0.110 everywhere.")).verdict == "unchanged"


def test_edits_elsewhere_in_the_block_are_kept(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, FASTAPI).path
    by_hand(root, path, "Callers give up after half a second anyway.", "Callers give up after a quarter.")
    verdict = one(kb, update("The backend of the shop uses FastAPI 0.110 everywhere.", why=""))
    assert verdict.verdict == "updated" and any("edited by hand" in reason for reason in verdict.reasons)
    assert kb.record("D001").section("why") == "Callers give up after a quarter."
    assert one(kb, update("The backend of the shop uses FastAPI 0.111 everywhere.", why="")).verdict == "updated"
    assert kb.record("D001").section("why") == "Callers give up after a quarter.", "the second time too"


@pytest.mark.parametrize("through", ["git", "kb edit", "then kb"])
def test_a_persons_words_on_the_same_lines_stay(kb: KnowledgeBase, root: Path, through: str) -> None:
    path = one(kb, FASTAPI).path
    if through == "kb edit":
        record = kb.record("D001")
        text = kb.text(record)
        kb.replace_text(record, text.replace("uses FastAPI.", "uses FastAPI, I say."), opened=text)
    else:
        by_hand(root, path, "uses FastAPI.", "uses FastAPI, I say.")
    if through == "then kb":
        kb.confirm("D001")
        one(kb, FASTAPI._replace(session="s5", why="The generated API documents save a week a year."))
    before = (root / path).read_text()
    verdict = one(kb, update("The backend uses FastAPI 0.110 everywhere."))
    assert verdict.verdict == "conflict" and (root / path).read_text() == before
    assert "0.110" in git(root, "show", f"{verdict.branch}:{path}")
    assert "I say" not in git(root, "show", f"{verdict.branch}:{path}")
    assert kb.reviews()[0].against == ("D001",)


def test_an_update_in_review_can_be_decided(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, FASTAPI).path
    by_hand(root, path, "uses FastAPI.", "uses FastAPI, I say.")
    tool = update("The backend uses FastAPI 0.110 everywhere.")
    branch = one(kb, tool).branch
    assert one(kb, tool).branch == branch and commits(root, f"main..{branch}") == 1
    kb.reject(branch)
    assert one(kb, tool).verdict == "refused"
    newer = one(kb, update("The backend uses FastAPI 0.111 everywhere."))
    kb.accept(newer.branch)
    assert kb.record("D001").section("decision") == "The backend uses FastAPI 0.111 everywhere."
    assert one(kb, update("The backend uses FastAPI 0.112 everywhere.")).verdict == "updated", "it is the tool's again"
    assert kb.check() == []


def test_uncommitted_edits_of_the_block(kb: KnowledgeBase, root: Path) -> None:
    path = root / one(kb, FASTAPI).path
    path.write_text(path.read_text().replace("uses FastAPI.", "uses FastAPI, I say."))
    mine = path.read_text()
    verdict = one(kb, update("The backend uses FastAPI 0.110 everywhere."))
    assert verdict.verdict == "conflict" and path.read_text() == mine
    assert "I say" not in git(root, "show", f"HEAD:{verdict.path}")


def test_an_unknown_record_is_refused(kb: KnowledgeBase) -> None:
    first, second = kb.write(
        [update("A text long enough for the gate.", title="Of nothing"), decision(0)], folder=kb.root
    )
    assert first.verdict == "refused" and "D001" in first.reasons[0]
    assert second.verdict == "created"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("<!-- MACHINE_BLOCK_END -->\n", ""),
        lambda text: text.replace("<!-- MACHINE_BLOCK_START -->\n", ""),
        lambda text: text + "<!-- USER_BLOCK_START -->\n<!-- USER_BLOCK_END -->\n",
        lambda text: text.replace("## Why", "<<<<<<< ours\n## Why\n=======\n>>>>>>> theirs"),
        lambda text: text[: len(text) // 2],
    ],
)
def test_a_damaged_record_is_not_touched(kb: KnowledgeBase, root: Path, damage: Callable[[str], str]) -> None:
    path = root / one(kb, FASTAPI).path
    path.write_text(damage(path.read_text()))
    git(root, "commit", "-qam", "Damaged")
    before, head = path.read_text(), git(root, "rev-parse", "HEAD")
    assert one(kb, update("The backend uses FastAPI 0.110 everywhere.")).verdict == "refused"
    assert path.read_text() == before and git(root, "rev-parse", "HEAD") == head
    assert kb.records() == []
    assert [problem.path for problem in kb.list_unreadable()] == [str(path.relative_to(root))]


def test_an_open_review_keeps_what_another_session_proposed(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, FASTAPI).path
    by_hand(root, path, "uses FastAPI.", "uses FastAPI, I say.")
    by_hand(root, path, "Callers give up after half a second anyway.", "Callers give up, I say.")
    first = one(kb, update("The backend of the whole shop uses FastAPI 0.110 everywhere.", why="", session="s8"))
    other = one(
        kb, update("", why="The measured clients of the whole shop give up at once, in every region.", session="s9")
    )
    assert other.branch == first.branch, "what can be merged is one review"
    text = git(root, "show", f"{first.branch}:{path}")
    assert "0.110" in text and "give up at once" in text
    third = one(kb, update("The backend of the whole shop uses FastAPI 0.111 only.", why="", session="s9"))
    assert third.branch == first.branch + "-2"
    assert "0.110" in git(root, "show", f"{first.branch}:{path}") and len(kb.reviews()) == 2
    fourth = one(kb, update("The backend of the whole shop uses FastAPI 0.112 only.", why="", session="s9"))
    assert fourth.branch == third.branch, "a session may change its mind"
