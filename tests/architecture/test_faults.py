"""kb is interrupted: the short form of `make bench-faults`, and the doctor on what interrupted processes leave."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.faultcases import OPERATIONS
from bench.faultpoint import ERRORS, KILL, run
from bench.faults import SHORT, operation, scene
from bench.faultworld import SCENES
from kb import doctor
from kb.errors import Busy
from kb.files import list_half_written, remove_half_written, write_atomic
from kb.git import worktree
from kb.git.repository import Repository
from kb.knowledge_base import KnowledgeBase
from kb.sync.sync import sync_with_remote
from tests.support.clones import decision, one
from tests.support.sealed import Clock, git

STEPPED = [number for number, one in enumerate(OPERATIONS) if one.short]


@pytest.mark.parametrize("number", STEPPED, ids=lambda number: OPERATIONS[number].name)
def test_an_operation_survives_faults_at_its_boundaries(number: int) -> None:
    """Every operation is killed and meets one sort of error; `make bench-faults` tries each sort at every boundary."""
    modes = (KILL, [*ERRORS][number % len(ERRORS)])
    row = operation(number, SHORT, modes)
    assert {*row.tried} == {*modes} and row.wrong == ()


@pytest.mark.parametrize("number", range(len(SCENES)), ids=lambda number: SCENES[number].name)
def test_a_knowledge_base_survives(number: int) -> None:
    assert scene(number, SCENES[number].short, seed=1).wrong == ()


def test_the_harness_kills_and_fails_where_it_says(root: Path) -> None:
    """A harness that never interrupts would find nothing."""
    call = ("kb-hook", "write"), str(root), b"[]"
    whole = run(("kb", "status", "D001", "deprecated"), str(root), b"", dict(os.environ))
    assert whole.code == 1 and len(whole.boundaries) > 2
    assert run(*call, dict(os.environ), 1, "kill").code in (0, 1, -9)
    killed = run(("kb", "search", "x"), str(root), b"", dict(os.environ), 2, "kill")
    assert killed.code == -9 and len(killed.boundaries) == 2


# -- what was found once ---------------------------------------------------------------------------


def test_half_files_go_with_the_next_write_but_not_those_of_a_living_writer(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    old, young = root / ".kb" / ".kb-1.tmp", root / ".kb" / ".kb-2.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 100,) * 2)
    assert list_half_written(str(root / ".kb")) == [str(old)]
    one(kb, decision(1))
    assert not old.exists() and young.exists()
    remove_half_written(str(root / ".kb"), 0)
    assert not young.exists()


def test_a_write_whose_index_was_lost_is_not_counted_twice(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    index = (root / ".kb" / "index.db").read_bytes()
    log = root / ".kb" / "index.db-wal"
    kept = log.read_bytes() if log.exists() else b""
    again = decision(0, why="The deadline of the nightly export is two hours.", session="s2", host="test")
    assert one(kb, again).verdict == "appended"
    kb.close()
    (root / ".kb" / "index.db").write_bytes(index)
    (root / ".kb" / "index.db-shm").unlink(missing_ok=True)
    log.write_bytes(kept)
    assert one(kb, again).verdict == "unchanged"
    assert [record.occurrences for record in kb.records()] == [2]


def test_what_is_saved_while_git_merges_is_kept(kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / one(kb, decision(0)).path
    mark, real = "<!-- USER_BLOCK_START -->\n", worktree.merge_file_versions
    path.write_text(path.read_text().replace(mark, f"{mark}line 0\n"))
    saved = [0]

    def merged(kept: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
        found = real(kept, mine, base, other)
        if len(saved) < 5:
            path.write_text(path.read_text().replace(mark, f"{mark}line {len(saved)}\n"))
            saved.append(len(saved))
        return found

    monkeypatch.setattr(worktree, "merge_file_versions", merged)
    again = decision(0, why="The deadline of the nightly export is two hours.", session="s2", host="test")
    assert one(kb, again).verdict == "appended"
    text = path.read_text()
    assert len(saved) > 2 and all(f"line {number}\n" in text for number in saved) and "nightly export" in text


def test_a_sync_makes_good_what_a_dead_process_has_left(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(root, "remote", "add", "origin", f"file://{tmp_path}/remote.git")
    one(kb, decision(0))
    (root / ".git" / "kb-held").touch()
    os.link(root / ".git" / "kb-held", root / ".git" / "index.lock")
    assert sync_with_remote(kb).sent and not (root / ".git" / "index.lock").exists()


def test_a_merge_that_git_cannot_make_is_no_conflict(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kb.repository
    assert worktree.merge_file_versions(kept, b"a\n", b"b\n", b"c\n") is None
    monkeypatch.setattr(kept, "private", "/proc/nowhere")
    with pytest.raises((Busy, OSError)):
        worktree.merge_file_versions(kept, b"a\n", b"b\n", b"c\n")


def test_questions_are_answered_where_nothing_can_be_written(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    kb.close()
    (root / ".kb" / "index.db").unlink()
    (root / ".kb").rename(root / "was")
    (root / ".kb").write_text("a file where a folder must be")
    assert [record.id for record in kb.records()] == ["D001"]


def test_what_is_written_survives_a_loss_of_power(
    root: Path, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is owed is synced, objects are written out, the ref is synced, and its name; then the file, and its name."""
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.readlink(f"/proc/self/fd/{file}")), real(file))[1])
    log = tmp_path / "trace"
    about = {"GIT_TRACE2_EVENT": str(log), "GIT_TRACE2_CONFIG_PARAMS": "core.fsync,core.fsyncmethod"}
    with KnowledgeBase(str(root), {**os.environ, **about}, clock) as kb:
        one(kb, decision(0))
    half, records = f".kb-{os.getpid()}.tmp", "content/anchors/global"
    wanted = [f".kb/{half}", ".git/refs/heads", f"{records}/{half}", records]
    assert synced == [str(root / name) for name in wanted]
    told: dict[str, dict[str, str]] = {}
    for event in map(json.loads, log.read_text().splitlines()):
        if event["event"] == "def_param":
            told.setdefault(event["sid"], {})[event["param"].lower()] = event["value"]
        elif event["event"] == "cmd_name":
            told[event["name"]] = told.setdefault(event["sid"], {})
    for name in ("hash-object", "commit-tree"):
        assert told[name] == {"core.fsync": "objects", "core.fsyncmethod": "writeout-only"}
    assert told["update-ref"] == {"core.fsync": "reference", "core.fsyncmethod": "fsync"}


# -- the doctor ------------------------------------------------------------------------------------


def examined(root: Path, *, fix: bool = False, names: Sequence[str] = ()) -> dict[str, doctor.DoctorOutcome]:
    checks = [check for check in doctor.CHECKS if not names or str(check.name) in names]
    outcomes = doctor.run_checks(str(root), str(root), os.environ, fix=fix, checks=checks)
    return {outcome.name: outcome for outcome in outcomes}


def outcome_of(name: str, root: Path, *, fix: bool = False) -> doctor.DoctorOutcome:
    """Return how the check *name* goes, without the others."""
    return examined(root, fix=fix, names=[name])[name]


def aged(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - 100,) * 2)
    return path


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock", "packed-refs.lock", "refs/kb/inbox.lock"])
def test_an_old_lock_is_named_and_taken_away(kb: KnowledgeBase, root: Path, name: str) -> None:
    lock = aged(root / ".git" / name)
    outcome = outcome_of("locks", root)
    assert outcome.state == doctor.FAILED and name in str(outcome.said) and outcome.remedy
    assert outcome_of("locks", root, fix=True).fixed and not lock.exists()


def test_a_lock_of_a_kb_that_died_is_taken_away_at_once(kb: KnowledgeBase, root: Path) -> None:
    lock, mark = root / ".git" / "index.lock", root / ".git" / "kb-held"
    mark.touch()
    os.link(mark, lock)
    with kb.repository.hold_lock():
        assert outcome_of("locks", root, fix=True).state == doctor.OK and lock.exists(), "somebody is at work"
    assert outcome_of("locks", root).state == doctor.FAILED
    found = examined(root, fix=True)
    assert found["locks"].fixed and found["repository"].state == doctor.OK and not lock.exists()


def test_a_young_lock_is_somebodys(kb: KnowledgeBase, root: Path) -> None:
    lock = root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    assert outcome_of("locks", root, fix=True).state == doctor.OK and lock.exists()


@pytest.mark.parametrize("name", [".kb/.kb-1.tmp", ".kb/active/s1/.kb-1.tmp", ".git/kb/.kb-1.tmp", "content/.kb-1.tmp"])
def test_a_half_file_is_named_and_taken_away(kb: KnowledgeBase, root: Path, name: str) -> None:
    half = aged(root / name)
    assert str(half) in str(outcome_of("leftovers", root).said)
    assert outcome_of("leftovers", root, fix=True).state == doctor.OK and not half.exists()


def test_a_file_that_could_not_follow_its_commit_is_named_and_written(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(worktree, "write_atomic", full)
        path = root / one(kb, decision(0)).path
    assert not path.exists() and outcome_of("checkout", root).state == doctor.NOTE
    assert outcome_of("checkout", root, fix=True).fixed and path.exists()
    assert git(root, "status", "--porcelain") == "" and outcome_of("checkout", root).state == doctor.OK


def test_a_broken_ref_is_named(kb: KnowledgeBase, root: Path) -> None:
    assert outcome_of("refs", root).state == doctor.OK
    (root / ".git" / "refs" / "heads" / "torn").write_text("12")
    outcome = outcome_of("refs", root)
    assert outcome.state == doctor.FAILED and "torn" in str(outcome.said)


def test_a_clone_without_the_driver_gets_it(kb: KnowledgeBase, root: Path) -> None:
    git(root, "config", "--unset", "merge.kb.driver")
    assert outcome_of("driver", root).state == doctor.NOTE
    outcome = outcome_of("driver", root, fix=True)
    assert outcome.fixed and outcome.state == doctor.OK


def test_a_call_that_nobody_answers_is_counted(kb: KnowledgeBase, root: Path) -> None:
    aged(root / ".kb" / "queue" / "00000000000000000001-1.json")
    assert outcome_of("queue", root).state == doctor.NOTE


def test_whole_files_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(str(path), b"old")
    write_atomic(str(path), b"new", synced=True)
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]
