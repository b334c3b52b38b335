"""The words of a trade are loaded once and search finds by them."""

from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.writing.file_changes import add_groups, list_groups
from tests.support.command_line import run
from tests.support.sealed import git


def test_words_that_are_loaded_find_what_says_it_otherwise(kb: KnowledgeBase, root: Path) -> None:
    said = Candidate(
        "pattern", "Chargebacks go through the ledger", "Each has a contra entry.", why="The audit wants to see it."
    )
    assert kb.write([said._replace(reusable=True)], folder=str(root))[0].verdict == "created"
    assert kb.recall("Rückbuchung") == []
    groups = add_groups(kb, "# payments\n- [Rückbuchung, chargebacks]\n- [退款, refund]\n", "industry.yaml")
    assert [group.words for group in groups] == [("rückbuchung", "chargebacks"), ("退款", "refund")]
    assert [answer.record.title for answer in kb.recall("Rückbuchung")] == [said.title]
    head = git(root, "rev-parse", "HEAD")
    assert add_groups(kb, "- [chargebacks, Rückbuchung]\n- [退款, refund]", "again.yaml") == []
    assert git(root, "rev-parse", "HEAD") == head and git(root, "status", "--short") == ""
    assert [group.words for group in add_groups(kb, "- [x, y]\n- [退款, refund]\n- [x, y]", "more.yaml")] == [
        ("x", "y")
    ]
    assert len(list_groups(kb)) == 3


def test_what_the_user_wrote_stays_and_a_bad_line_is_named(kb: KnowledgeBase, root: Path) -> None:
    path = root / "content/synonyms.yaml"
    path.write_text("# ours\n- [a b, c]")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Words")
    add_groups(kb, "- [d, e]", "f")
    assert path.read_text() == "# ours\n- [a b, c]\n- [d, e]\n"
    with pytest.raises(BadInput, match="f:2: this is not a group"):
        add_groups(kb, "- [d, e]\nwords", "f")
    with pytest.raises(BadInput, match="no group of synonyms"):
        add_groups(kb, "# nothing\n", "f")
    assert path.read_text().endswith("- [d, e]\n")


def test_the_command_loads_and_lists(root: Path) -> None:
    assert "no synonyms of your own yet" in run(root, "keywords").error
    (root / "industry.yaml").write_text("- [退款, refund]\n")
    loaded = run(root, "keywords", "load", "industry.yaml")
    assert (loaded.out, loaded.error) == ("退款, refund\n", "groups added: 1\n")
    assert run(root, "keywords").out == "退款, refund\n" and '"refund"' in run(root, "keywords", "--json").out
    assert run(root, "keywords", "load", "nothing.yaml").code == 2
