"""A lock that a dead git has left is named with its remedy by the call that meets it, not by the doctor alone."""

import os
import time
from pathlib import Path

import pytest

from kb.doctor import run_checks
from kb.errors import Busy
from kb.git.git_process import CommandOutput, build_git_error
from kb.knowledge_base import KnowledgeBase
from kb.sync.sync import SyncRun, sync_with_remote
from tests.support.clones import decision, one
from tests.support.sealed import Clock, git
from tests.support.team import FIXTURES, Team

base, team = FIXTURES


def left(path: Path, seconds: float = 3600) -> Path:
    """Leave a lock that nobody has let go of for so many *seconds*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - seconds, time.time() - seconds))
    return path


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock", "HEAD.lock"])
def test_the_verdict_names_the_lock_and_the_doctor_that_takes_it_away(
    kb: KnowledgeBase, root: Path, name: str, clock: Clock
) -> None:
    lock = left(root / ".git" / name)
    verdict = one(kb, decision(0))
    assert verdict.spooled and str(lock) in verdict.reasons[0] and "60 minutes" in verdict.reasons[0]
    assert "kb doctor --fix" in verdict.next
    run_checks(str(root), str(root), os.environ, fix=True)
    assert not lock.exists()
    assert [landed.verdict for landed in kb.land()] == ["created"]


def test_a_lock_that_is_held_just_now_is_no_dead_ones(kb: KnowledgeBase, root: Path) -> None:
    lock = left(root / ".git" / "index.lock", 1)
    verdict = one(kb, decision(0))
    assert verdict.reasons[0] == f"another git process has locked {lock}" and "kb doctor --fix" in verdict.next


def test_a_lock_that_a_killed_sync_left_is_named(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    one(ann, decision(0))
    sync_with_remote(ann)
    lock = left(Path(bob.root) / ".git" / "refs" / "kb" / "remotes" / "origin" / "heads" / "main.lock")
    with pytest.raises(Busy) as caught:
        sync_with_remote(bob)
    assert str(lock) in str(caught.value) and "kb doctor --fix" in str(caught.value.hint)
    run_checks(bob.root, bob.root, os.environ, fix=True)
    assert sync_with_remote(bob).received


def test_what_git_says_of_a_lock_is_read_wherever_it_says_it() -> None:
    said = "error: cannot lock ref 'refs/x': Unable to create '/a b/.git/refs/x.lock': File exists.\n\nAnother git"
    assert "/a b/.git/refs/x.lock" in str(build_git_error(["fetch"], CommandOutput(128, b"", said)))


def test_a_sync_that_meets_a_detached_head_says_so(team: Team) -> None:
    """Somebody has checked out a commit after the sync had begun."""
    ann = team.clone("ann")
    git(ann.root, "checkout", "-q", "--detach")
    with pytest.raises(Busy, match="no branch is checked out"):
        SyncRun(ann)
