"""What kb has published stays in git's index, whatever a git command that ran beside it writes back."""

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.faultpoint import KILL, run
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from tests.support.clones import decision, one
from tests.support.sealed import Clock, git


@contextmanager
def index_written_back(root: Path) -> Iterator[None]:
    """Do what `git stash push -- PATH` and `git merge` do that read the index before and write it after the block."""
    index = root / ".git" / "index"
    before = root.parent / "index-as-it-was"
    shutil.copy(index, before)
    yield
    os.replace(before, index)


def in_index(root: Path, path: str) -> str:
    """Return the object that git's index has for *path*; "" for none."""
    return "".join(git(root, "ls-files", "-s", "--", path).split()[1:2])


def in_commit(root: Path, path: str) -> str:
    """Return the object that the last commit has for *path*; "" for none."""
    return "".join(git(root, "ls-tree", "HEAD", "--", path).split()[2:3])


@pytest.mark.parametrize("call", ["write", "search", "check"])
def test_a_new_record_is_back_in_the_index_after_the_next_call(
    kb: KnowledgeBase, root: Path, clock: Clock, call: str
) -> None:
    one(kb, decision(0))
    with index_written_back(root):
        path = one(kb, decision(1)).path
    assert in_index(root, path) == ""
    with KnowledgeBase(str(root), os.environ, clock) as other:
        if call == "write":
            one(other, decision(2))
        elif call == "search":
            other.recall("deadlines")
        else:
            other.check()
    assert in_index(root, path) == in_commit(root, path) != ""
    assert git(root, "status", "--porcelain") == ""


def test_the_next_commit_of_a_person_keeps_the_record(kb: KnowledgeBase, root: Path) -> None:
    (root / "code.txt").write_text("a\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", "Their work")
    with index_written_back(root):
        path = one(kb, decision(0)).path
    kb.records()
    (root / "code.txt").write_text("b\n")
    git(root, "commit", "-qam", "More of it")
    assert in_commit(root, path)


def test_what_was_added_to_a_record_is_put_back_too(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, decision(0, session="s1", host="test")).path
    with index_written_back(root):
        fact = "The deadline of the nightly export is two hours."
        assert one(kb, decision(0, why=fact, session="s2", host="test")).verdict == "appended"
    assert in_index(root, path) != in_commit(root, path)
    kb.records()
    assert in_index(root, path) == in_commit(root, path)


def test_a_file_edited_meanwhile_keeps_its_edit(kb: KnowledgeBase, root: Path) -> None:
    with index_written_back(root):
        path = one(kb, decision(0)).path
    with (root / path).open("a") as file:
        file.write("\nMy own words.\n")
    kb.records()
    assert in_index(root, path) == in_commit(root, path)
    assert (root / path).read_text().endswith("\nMy own words.\n")


def test_the_person_is_told_once(kb: KnowledgeBase, root: Path) -> None:
    with index_written_back(root):
        path = one(kb, decision(0)).path
    told, silent = one(kb, decision(1)), one(kb, decision(2))
    assert [path in reason for reason in told.reasons].count(True) == 1
    assert not any(path in reason for reason in silent.reasons)


@pytest.mark.parametrize("words", [["-a"], []])
def test_what_a_commit_has_taken_out_is_committed_again(kb: KnowledgeBase, root: Path, words: list[str]) -> None:
    """No call of kb's came between the git command that dropped the record and the commit that deleted it."""
    one(kb, decision(0))
    with index_written_back(root):
        path = one(kb, decision(1)).path
    (root / "code.txt").write_text("a\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", "Their work", *words)
    assert in_commit(root, path) == ""
    told = one(kb, decision(2))
    assert in_commit(root, path) == in_index(root, path) != ""
    assert any(path in reason for reason in told.reasons)
    assert git(root, "status", "--porcelain") == ""
    assert kb.check() == []


def removed(root: Path, path: str) -> None:
    git(root, "rm", "-q", path)
    git(root, "commit", "-qm", "Remove")


def reverted(root: Path, path: str) -> None:
    git(root, "revert", "--no-edit", "HEAD")


def reset(root: Path, path: str) -> None:
    git(root, "reset", "-q", "--soft", "HEAD~1")
    git(root, "reset", "-q")


@pytest.mark.parametrize("act", [removed, reverted, reset])
def test_what_a_person_has_taken_out_is_not_committed_again(kb: KnowledgeBase, root: Path, act: object) -> None:
    one(kb, decision(0))
    path = one(kb, decision(1)).path
    act(root, path)  # type: ignore[operator]
    one(kb, decision(2))
    assert in_commit(root, path) == ""


@pytest.mark.parametrize("call", ["read", "write"])
def test_it_is_back_before_a_merge_is_concluded(kb: KnowledgeBase, root: Path, call: str) -> None:
    """`git merge` wrote the old index back, and could not move HEAD, because kb had: the person commits by hand."""
    git(root, "switch", "-q", "-c", "side")
    (root / "code.txt").write_text("a\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", "Their work")
    git(root, "switch", "-q", "main")
    one(kb, decision(0))
    git(root, "merge", "-q", "--no-commit", "--no-ff", "side")
    merge_head = (root / ".git" / "MERGE_HEAD").read_bytes()
    (root / ".git" / "MERGE_HEAD").unlink()
    with index_written_back(root):
        path = one(kb, decision(1)).path
    (root / ".git" / "MERGE_HEAD").write_bytes(merge_head)
    if call == "read":
        kb.records()
    else:
        assert one(kb, decision(2)).spooled
    git(root, "commit", "-qm", "Merge")
    assert in_commit(root, path)


# -- what a person does stays done ----------------------------------------------------------------


def deleted(root: Path, path: str) -> None:
    git(root, "rm", "-q", path)


def older_staged(root: Path, path: str) -> None:
    git(root, "checkout", "-q", "HEAD~1", "--", path)


def edit_staged(root: Path, path: str) -> None:
    with (root / path).open("a") as file:
        file.write("\nMine.\n")
    git(root, "add", path)


@pytest.mark.parametrize("act", [deleted, older_staged, edit_staged])
def test_what_a_person_has_staged_stays_staged(kb: KnowledgeBase, root: Path, act: object) -> None:
    path = one(kb, decision(0, session="s1", host="test")).path
    one(kb, decision(0, why="The deadline of the nightly export is two hours.", session="s2", host="test"))
    act(root, path)  # type: ignore[operator]
    before = git(root, "status", "--porcelain"), in_index(root, path)
    kb.records()
    one(kb, decision(1))
    assert (git(root, "status", "--porcelain"), in_index(root, path)) == before


def test_a_path_that_is_taken_out_again_stays_out_and_is_named(kb: KnowledgeBase, root: Path) -> None:
    """`git rm --cached` leaves what a git command leaves that wrote an old index back."""
    path = one(kb, decision(0)).path
    git(root, "rm", "-q", "--cached", path)
    kb.records()
    assert in_index(root, path)
    git(root, "rm", "-q", "--cached", path)
    kb.records()
    one(kb, decision(1))
    assert in_index(root, path) == ""
    assert [(finding.rule, finding.severity) for finding in kb.check() if finding.path == path] == [
        ("index", "warning")
    ]


def test_an_index_as_kb_left_it_is_not_compared(kb: KnowledgeBase, root: Path, tmp_path: Path, clock: Clock) -> None:
    """A hook pays for this only when somebody else has written the index."""
    one(kb, decision(0))
    kb.records()
    log = tmp_path / "commands"
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    path = f"{shim.parent}:{os.environ['PATH']}"
    with KnowledgeBase(str(root), {**os.environ, "PATH": path}, clock) as other:
        before = os.environ["PATH"]
        os.environ["PATH"] = path
        try:
            other.records()
        finally:
            os.environ["PATH"] = before
    assert "diff-files" in log.read_text()
    assert "diff-index" not in log.read_text() and "cat-file" not in log.read_text()


# -- with git itself ------------------------------------------------------------------------------


def test_a_stash_of_a_path_that_was_held_up(kb: KnowledgeBase, root: Path, clock: Clock, tmp_path: Path) -> None:
    """The filter of a large file holds `git stash push -- PATH` up after it has read the index, as git-lfs would."""
    waits, goes_on = tmp_path / "waits", tmp_path / "goes-on"
    slow = f"sh -c 'touch {waits}; while [ ! -e {goes_on} ]; do sleep 0.02; done; cat'"
    (root / ".gitattributes").write_text("*.bin filter=slow\n")
    (root / "large.bin").write_text("x\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "A large file")
    (root / "large.bin").write_text("y\n")
    stash = subprocess.Popen(
        ["git", "-c", f"filter.slow.clean={slow}", "-c", "filter.slow.smudge=cat", "stash", "push", "-q", "--",
         "large.bin"], cwd=root,
    )  # fmt: skip
    try:
        while not waits.exists():
            assert stash.poll() is None
        with KnowledgeBase(str(root), os.environ, clock) as other:
            verdict = one(other, decision(0))
    finally:
        goes_on.touch()
        stash.wait()
    if verdict.spooled:
        assert kb.land()
    path = kb.records()[0].path
    assert in_index(root, path) == in_commit(root, path) != ""


# -- what a person committed before the checkout had followed -----------------------------------------


def kill_write(root: Path, boundary: str, number: int) -> str:
    """Let a process write and kill it at the first *boundary* of that name; return the path that it published."""
    stdin = json.dumps(candidate_to_json(decision(number))).encode()
    before = git(root, "rev-parse", "HEAD").strip()
    assert run(("kb-hook", "write"), str(root), stdin, dict(os.environ), boundary, KILL).code == -9
    (root / ".git" / "index.lock").unlink(missing_ok=True)
    return git(root, "diff", "--name-only", before, "HEAD").strip()


@pytest.mark.parametrize("arrived", [True, False])
def test_a_record_that_never_arrived_is_not_deleted_by_the_commit_of_a_person(
    kb: KnowledgeBase, root: Path, clock: Clock, *, arrived: bool
) -> None:
    """The process that published it died before git's index had it, or before the checkout had it either."""
    clock.seconds = time.time()  # that process has the machine's clock
    one(kb, decision(0))
    path = kill_write(root, "rename kb-index", 1)
    assert path and in_index(root, path) == ""
    if not arrived:
        (root / path).unlink()
    (root / "code.txt").write_text("a\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qam", "Their work")
    assert in_commit(root, path) == ""
    one(kb, decision(2))
    assert in_commit(root, path) == in_index(root, path) != ""
    assert (root / path).exists() and (root / "code.txt").exists()
    assert git(root, "status", "--porcelain") == "" and kb.check() == []


def test_what_was_published_is_remembered_by_whom_ever_died_after_that(kb: KnowledgeBase, root: Path) -> None:
    """The process died before the index of the records kept that it had published."""
    one(kb, decision(0))
    with index_written_back(root):
        path = kill_write(root, "COMMIT", 1)
    assert path
    git(root, "commit", "-q", "--allow-empty", "-m", "Their work")
    assert in_commit(root, path) == ""
    one(kb, decision(2))
    assert in_commit(root, path) == in_index(root, path) != ""
