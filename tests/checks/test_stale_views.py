"""What is made from the records and committed beside them is named by `kb check` once it is older than they are."""

from pathlib import Path

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.support.clones import decision
from tests.support.command_line import run
from tests.support.sealed import git


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


def test_the_anchors_of_the_layout_say_that_they_are_a_copy(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    """Whoever opens the file after a write reads in its first line where the records are; no anchor has that line."""
    path = root / ".wukong/context/anchors.md"
    assert run(root, "layout", "migrate", "project").code == 0 and path.read_text("utf-8") == ""
    kb.write([decision(1, scope="global")])
    assert run(root, "layout", "migrate", "project").code == 0
    first = path.read_text("utf-8").split("\n\n")[0]
    assert first.count("kb layout migrate project") == 2 and "副本" in first and "copy" in first
    assert "layout is project already" in run(root, "layout", "migrate", "project").error
    for line_end in ("\n", "\r\n"):
        other = tmp_path / "anchors.md"
        other.write_bytes(path.read_bytes().replace(b"\n", line_end.encode()))
        ran = run(root, "import", "wukong", str(other))
        assert ran.code == 0 and "unchanged" in ran.out and len(kb.records()) == 1, ran.out
    assert run(root, "layout", "migrate", "user").code == 0 and "copy of" not in kb.text(kb.records()[0])


def test_the_anchors_of_a_tree_made_before_are_up_to_date(root: Path, kb: KnowledgeBase) -> None:
    """A tree without the line about the copy is not stale for that."""
    kb.write([decision(1, scope="global")])
    assert run(root, "layout", "migrate", "project").code == 0
    path = root / ".wukong/context/anchors.md"
    path.write_text("## " + path.read_text("utf-8").split("## ", 1)[1], "utf-8")
    git(root, "commit", "-qam", "As it was")
    assert rows(root, "layout") == []


def test_a_verification_that_failed_is_named_until_it_passes(root: Path, kb: KnowledgeBase) -> None:
    kb.write([decision(1, scope="global", verification="```sh\ntest -e done\n```")])
    [record] = kb.records()
    assert run(root, "verify", record.id, "--run", "--yes").code == 1
    assert len(rows(root, "verification")) == 1
    (root / "done").touch()
    git(root, "add", "done")
    assert run(root, "verify", record.id, "--run", "--yes").code == 0 and rows(root, "verification") == []
