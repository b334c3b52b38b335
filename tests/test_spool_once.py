"""A spooled write lands once, whatever branch is checked out when the process that lands it dies or waits."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from clones import FASTAPI, FLASK, SMALL, decision, one
from conftest import Clock, git

from kb.knowledge import KnowledgeBase
from kb.record import Candidate


@pytest.fixture
def busy(root: Path) -> Path:
    """A file that makes the repository look as if a merge were in progress."""
    return root / ".git" / "MERGE_HEAD"


def spooled(kb: KnowledgeBase, busy: Path, candidate: Candidate) -> Path:
    """Write while the repository cannot take it, and return the file of the spool."""
    busy.write_text("0" * 40)
    assert one(kb, candidate).spooled
    busy.unlink()
    return Path(kb.state.spooled()[0])


def everywhere(root: Path) -> list[str]:
    """Return the record files of all branches, once for each branch that has one."""
    refs = git(root, "for-each-ref", "--format=%(refname)", "refs/heads").split()
    rows = [git(root, "ls-tree", "-r", "--name-only", ref, "--", "content/anchors").splitlines() for ref in refs]
    return sorted(row for some in rows for row in some if row.endswith(".md"))


@pytest.mark.parametrize("candidate", [decision(0), SMALL, FLASK])
def test_a_job_whose_file_outlived_its_landing_does_not_land_on_another_branch(
    kb: KnowledgeBase, root: Path, busy: Path, clock: Clock, candidate: Candidate
) -> None:
    """The process died after the ref had moved and before the file was gone; then the person switched."""
    if candidate is FLASK:
        one(kb, FASTAPI)
    git(root, "branch", "topic")
    path = spooled(kb, busy, candidate)
    copy = path.parent / "copy"
    shutil.copy(path, copy)
    assert kb.land()
    copy.rename(path)
    before = git(root, "for-each-ref")
    git(root, "switch", "-q", "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert other.land() == []
    assert git(root, "for-each-ref") == before
    assert not path.exists()


def test_a_job_that_another_process_lands_is_left_to_it(kb: KnowledgeBase, root: Path, busy: Path) -> None:
    path = spooled(kb, busy, decision(0))
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert kb.land() == []
        assert one(kb, decision(1)).verdict == "created"
    assert path.exists()
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert len(everywhere(root)) == 2


def test_a_job_whose_commit_is_on_no_branch_lands(kb: KnowledgeBase, root: Path, busy: Path) -> None:
    """The process died between noting the commits and moving the ref."""
    path = spooled(kb, busy, decision(0))
    copy = path.parent / "copy"
    shutil.copy(path, copy)
    kb.land()
    copy.rename(path)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert len(everywhere(root)) == 1
