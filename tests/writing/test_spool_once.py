"""A spooled write lands once, whatever branch is checked out when the process that lands it dies or waits."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from bench.faultpoint import KILL, run
from kb.errors import Busy, GitFailed
from kb.git.objects import filter_existing_commits, is_ancestor
from kb.git.revisions import find_merge_base
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate
from kb.writing import group_commit
from kb.writing.group_commit import QueuedWriter, WriteRequest
from kb.writing.pipeline import write
from kb.writing.spool import spool_candidates
from tests.support.clones import FASTAPI, FLASK, SMALL, decision, one
from tests.support.sealed import Clock, git


@pytest.fixture
def busy(root: Path) -> Path:
    """A file that makes the repository look as if a merge were in progress."""
    return root / ".git" / "MERGE_HEAD"


def spooled(kb: KnowledgeBase, busy: Path, candidate: Candidate) -> Path:
    """Write while the repository cannot take it, and return the file of the spool."""
    busy.write_text("0" * 40)
    assert one(kb, candidate).spooled
    busy.unlink()
    return Path(kb.state.list_spooled()[0])


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


def test_a_job_that_changed_nothing_does_not_land_on_another_branch(
    kb: KnowledgeBase, root: Path, busy: Path, clock: Clock
) -> None:
    git(root, "branch", "topic")
    one(kb, decision(0))
    path = spooled(kb, busy, decision(0))
    copy = path.parent / "copy"
    shutil.copy(path, copy)
    assert [verdict.verdict for verdict in kb.land()] == ["unchanged"]
    copy.rename(path)
    git(root, "switch", "-q", "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert other.land() == []
    assert len(everywhere(root)) == 1


# -- from the queue to the spool -------------------------------------------------------------------


def asking(kb: KnowledgeBase, candidate: Candidate, job: str = "") -> QueuedWriter:
    """Return a writer whose request lies in the queue."""
    writer = QueuedWriter(kb, WriteRequest([candidate], kb.root), job)
    assert not writer.is_queued_and_answered()
    return writer


def kill_holder(root: Path, boundary: str) -> None:
    """Let another process write, for those who wait as well, and kill it at the last *boundary* of that name."""
    words, stdin = ("kb-hook", "write"), json.dumps(candidate_to_json(decision(9))).encode()
    copy = root.with_name("copy")
    shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns("queue", "spool"))
    with KnowledgeBase(str(copy), os.environ) as other:
        asking(other, decision(0))
    names = [row.strip() for row in run(words, str(copy), stdin, dict(os.environ)).boundaries]
    at = max(number for number, name in enumerate(names, 1) if name == boundary)
    assert run(words, str(root), stdin, dict(os.environ), at, KILL).code == -9


def check_out(root: Path, *where: str) -> None:
    """Check out another commit as a person does after a crash of whatever held git's lock."""
    (root / ".git" / "index.lock").unlink(missing_ok=True)
    git(root, "checkout", "-q", "--force", *where)


@pytest.mark.parametrize(
    ("boundary", "is_published"),
    [("link index", False), ("rename kb-index", True), ("unlink follow.json", True)],
)
def test_a_queued_write_lands_once_whenever_its_holder_dies(
    kb: KnowledgeBase, root: Path, clock: Clock, boundary: str, *, is_published: bool
) -> None:
    """The holder moved the refs and died before it answered; the writer then finds no branch, and a person another."""
    git(root, "branch", "topic")
    writer = asking(kb, decision(0))
    kill_holder(root, boundary)
    check_out(root, "--detach")
    (verdict,) = write(kb, [decision(0)], folder=kb.root, queued_writer=writer)
    assert (verdict.verdict, verdict.spooled) == (("created", False) if is_published else ("held", True))
    assert not is_published or decision(0).title in git(root, "show", verdict.commit)
    check_out(root, "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert len(other.land()) == (0 if is_published else 1)
    assert len([path for path in everywhere(root) if "order-ledger" in path or "gateway" in path]) == 1
    assert os.listdir(kb.state.path("queue")) == [] and kb.state.list_spooled() == []


def test_the_next_holder_answers_for_one_that_died(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    git(root, "branch", "topic")
    writer = asking(kb, decision(0))
    kill_holder(root, "rename kb-index")
    check_out(root, "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert one(other, decision(1)).verdict == "created"
    (verdict,) = writer.read_answer()
    assert verdict.verdict == "created"
    assert sum("gateway-deadlines" in path for path in everywhere(root)) == 1


def test_one_that_gives_up_waiting_is_written_once_by_a_holder_that_has_read_its_request(
    kb: KnowledgeBase, root: Path, clock: Clock
) -> None:
    git(root, "branch", "topic")
    writer = asking(kb, decision(0))
    path = Path(kb.state.path("queue", writer.call.job))
    request = path.read_bytes()
    assert writer.read_answer_or_withdraw() is None and not path.exists()
    (held,) = spool_candidates(
        kb, [decision(0)], kb.root, Busy(msg("another kb is writing in {path}", path="")), job=writer.call.job
    )
    path.write_bytes(request)
    assert held.spooled and [
        verdict.verdict for verdict in write(kb, [decision(1)], folder=kb.root, raise_when_busy=True)
    ] == ["created"]
    git(root, "switch", "-q", "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert other.land() == []
    assert len(everywhere(root)) == 2 and kb.state.list_spooled() == []


def test_a_job_that_waits_in_the_queue_to_land_is_known_by_its_name(
    kb: KnowledgeBase, root: Path, busy: Path, clock: Clock
) -> None:
    """One process lands it and waits, another writes it and dies, and the first dies as well."""
    git(root, "branch", "topic")
    path = spooled(kb, busy, decision(0))
    copy = path.with_name("copy")
    path.rename(copy)
    asking(kb, decision(0), path.name)
    kill_holder(root, "rename kb-index")
    copy.rename(path)
    check_out(root, "topic")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert other.land() == []
        assert one(other, decision(1)).verdict == "created"
    assert sum("gateway-deadlines" in name for name in everywhere(root)) == 1


# -- where git cannot look ---------------------------------------------------------------------------


@pytest.fixture
def broken(kb: KnowledgeBase, root: Path) -> tuple[str, str]:
    """The first and the last commit of a history from which one in between was lost."""
    for number in range(3):
        one(kb, decision(number))
    first, lost, last = git(root, "rev-list", "--reverse", "-3", "HEAD").split()
    (root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    return first, last


def test_a_job_stays_where_git_cannot_look_whether_it_was_written(kb: KnowledgeBase, broken: tuple[str, str]) -> None:
    group_commit.note_commits(kb, ["job"], [broken[0]])
    with pytest.raises(GitFailed):
        group_commit.has_landed(kb, "job")


def test_a_history_that_cannot_be_read_is_no_answer(kb: KnowledgeBase, broken: tuple[str, str]) -> None:
    """Git exits with 1, which stands for no, and only prints that it could not read an object."""
    first, last = broken
    with pytest.raises(GitFailed):
        is_ancestor(kb.repository, first, last)
    with pytest.raises(GitFailed):
        find_merge_base(kb, first, last)


def test_what_is_not_there_is_no_ancestor(kb: KnowledgeBase, root: Path) -> None:
    head = git(root, "rev-parse", "HEAD").strip()
    assert is_ancestor(kb.repository, head, head)
    assert not is_ancestor(kb.repository, "1" * 40, head) and not is_ancestor(kb.repository, head, "")
    assert filter_existing_commits(kb.repository, ["1" * 40, head]) == [head]


def test_a_partial_clone_does_not_ask_its_remote_for_what_is_not_here(kb: KnowledgeBase, root: Path) -> None:
    head = git(root, "rev-parse", "HEAD").strip()
    git(root, "remote", "add", "origin", str(root / "nowhere"))
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.partialCloneFilter", "blob:none")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "core.repositoryFormatVersion", "1")
    assert filter_existing_commits(kb.repository, [head, "1" * 40]) == [head]
    assert not is_ancestor(kb.repository, "1" * 40, head)
