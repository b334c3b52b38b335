"""What is made from the records and committed beside them is named by `kb check` once it is older than they are."""

from pathlib import Path

from clones import decision
from command_line import run
from conftest import git

from kb.knowledge import KnowledgeBase
from kb.record import Candidate


def rows(root: Path, rule: str) -> list[str]:
    """Return what `kb check` says under *rule*."""
    return [row for row in run(root, "check").out.splitlines() if f"[{rule}]" in row]


def test_a_memory_that_is_older_than_the_records_is_named(root: Path, kb: KnowledgeBase) -> None:
    assert rows(root, "memory") == []
    kb.write([decision(1, scope="global")])
    assert run(root, "memory").code == 0 and rows(root, "memory") == []
    kb.write([Candidate("preference", "Answer in Chinese", "Answer in Chinese.", scope="global", affects_future=True)])
    assert any("MEMORY.md" in row for row in rows(root, "memory"))
    assert run(root, "memory").code == 0 and rows(root, "memory") == []


def test_the_anchors_of_the_layout_are_named_once_older_than_the_records(root: Path, kb: KnowledgeBase) -> None:
    kb.write([decision(1, scope="global")])
    assert run(root, "layout", "migrate", "project").code == 0 and rows(root, "layout") == []
    kb.write([Candidate("preference", "Answer in Chinese", "Answer in Chinese.", scope="global", affects_future=True)])
    assert len(rows(root, "layout")) == 1
    assert run(root, "layout", "migrate", "project").code == 0 and rows(root, "layout") == []


def test_a_verification_that_failed_is_named_until_it_passes(root: Path, kb: KnowledgeBase) -> None:
    kb.write([decision(1, scope="global", verification="```sh\ntest -e done\n```")])
    [record] = kb.records()
    assert run(root, "verify", record.id, "--run", "--yes").code == 1
    assert len(rows(root, "verification")) == 1
    (root / "done").touch()
    git(root, "add", "done")
    assert run(root, "verify", record.id, "--run", "--yes").code == 0 and rows(root, "verification") == []
