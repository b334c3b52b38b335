"""kb stays out of the way of a person's git commands, and what one of them loses beside it is kept and named."""

import subprocess
import time
from pathlib import Path
from threading import Thread

import pytest

from kb.git.git_process import list_rewriting_commands
from kb.knowledge_base import KnowledgeBase
from kb.writing import publish
from tests.support.clones import decision, one
from tests.support.sealed import git

needs_proc = pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="the system does not say what runs")


def held_up(root: Path, tmp_path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """Start `git stash push` that its filter holds up until the file returned is there."""
    waits, goes_on = tmp_path / "waits", tmp_path / "goes-on"
    (root / ".gitattributes").write_text("*.bin filter=slow\n")
    (root / "large.bin").write_text("x\n")
    git(root, "add", ".gitattributes", "large.bin")
    git(root, "commit", "-qm", "A large file", "--", ".gitattributes", "large.bin")
    (root / "large.bin").write_text("y\n")
    slow = f"touch {waits}; while [ ! -e {goes_on} ]; do sleep 0.02; done; cat"
    words = ["git", "-c", f"filter.slow.clean={slow}", "-c", "filter.slow.smudge=cat", "stash", "push", "-q", "--"]
    stash = subprocess.Popen([*words, "large.bin"], cwd=root)
    while not waits.exists():
        assert stash.poll() is None
        time.sleep(0.01)
    return stash, goes_on


@needs_proc
def test_a_command_that_puts_work_away_is_waited_for(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    stash, goes_on = held_up(root, tmp_path)
    assert list_rewriting_commands(str(root)) == ["stash"]
    waiting = Thread(target=publish.wait_for_git, args=(kb.repository,))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    goes_on.touch()
    assert stash.wait() == 0
    waiting.join()
    assert one(kb, decision(0)).verdict == "created"


@needs_proc
def test_a_stash_that_was_popped_is_not_named_after_a_command_that_loses_nothing(
    kb: KnowledgeBase, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one(kb, decision(0))
    (root / "notes.txt").write_text("zero\n")
    git(root, "add", "notes.txt")
    git(root, "commit", "-qm", "Notes")
    (root / "notes.txt").write_text("one\n")
    git(root, "stash")
    git(root, "stash", "pop")
    (root / "notes.txt").write_text("two\n")
    monkeypatch.setattr(publish, "PATIENCE", 0.1)
    stash, goes_on = held_up(root, tmp_path)
    publish.note_concurrent_merge(kb, publish.wait_for_git(kb.repository))
    goes_on.touch()
    stash.wait()
    publish.rescue_lost_work(kb)
    assert publish.report_rescued_work(kb) is None


@needs_proc
def test_a_command_that_takes_too_long_is_not_waited_for(
    kb: KnowledgeBase, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "PATIENCE", 0.1)
    stash, goes_on = held_up(root, tmp_path)
    publish.wait_for_git(kb.repository)
    assert stash.poll() is None
    goes_on.touch()
    stash.wait()


@needs_proc
def test_git_of_kbs_own_and_of_other_places_is_not_waited_for(root: Path, tmp_path: Path) -> None:
    stash, goes_on = held_up(root, tmp_path)
    assert list_rewriting_commands(str(tmp_path / "elsewhere")) == []
    goes_on.touch()
    stash.wait()
    assert list_rewriting_commands(str(root)) == []


def test_work_that_a_merge_did_not_bring_back_is_kept_and_named(kb: KnowledgeBase, root: Path) -> None:
    """What `git merge` leaves that was refused at the lock: the work is in a commit without a name."""
    (root / "code.txt").write_text("a\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", "Code")
    (root / "mine.txt").write_text("staged\n")
    git(root, "add", "mine.txt")
    (root / "code.txt").write_text("b\n")
    saved = git(root, "stash", "create").strip()
    git(root, "reset", "-q", "--hard")
    kb.index.set_note("beside", f'[{time.time()}, "merge"]')
    told, silent = one(kb, decision(0)), one(kb, decision(1))
    ref = f"refs/kb/rescue/work-{saved[:12]}"
    assert [f"git stash apply --index {ref}" in reason for reason in told.reasons].count(True) == 1
    assert not any(ref in reason for reason in silent.reasons)
    git(root, "stash", "apply", "-q", "--index", ref)
    assert (root / "mine.txt").read_text() == "staged\n" and (root / "code.txt").read_text() == "b\n"
    assert git(root, "diff", "--cached", "--name-only") == "mine.txt\n"


@pytest.mark.parametrize("applied", [True, False], ids=["brought back", "stashed"])
def test_work_that_is_there_is_not_named(kb: KnowledgeBase, root: Path, applied: bool) -> None:
    (root / "mine.txt").write_text("staged\n")
    git(root, "add", "mine.txt")
    if applied:
        git(root, "stash", "create")
    else:
        git(root, "stash", "push", "-q")
    kb.index.set_note("beside", f'[{time.time()}, "merge"]')
    publish.rescue_lost_work(kb)
    assert publish.report_rescued_work(kb) is None
    assert git(root, "for-each-ref", "refs/kb/rescue") == ""
