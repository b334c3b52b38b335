"""The spool: nothing is lost, nothing lands twice, and what cannot be read is named."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kb.errors import GitFailed, KbError
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate
from kb.writing import spool
from kb.writing.pipeline import write
from tests.support.clones import FASTAPI, FLASK, SMALL, commits, committed, decision, one
from tests.support.command_line import run
from tests.support.sealed import Clock, git


@pytest.fixture
def busy(root: Path) -> Path:
    """A file that makes the repository look as if a merge were in progress."""
    return root / ".git" / "MERGE_HEAD"


def spooled(kb: KnowledgeBase, busy: Path, *candidates: object, folder: str = "") -> None:
    """Write while the repository cannot take it."""
    busy.write_text("0" * 40)
    verdicts = kb.write(list(candidates), folder=folder or kb.root)  # type: ignore[arg-type]
    busy.unlink()
    assert all(verdict.spooled and verdict.verdict == "held" for verdict in verdicts)


def test_it_lands_in_order(kb: KnowledgeBase, busy: Path, clock: Clock) -> None:
    for number in range(3):
        spooled(kb, busy, decision(number))
        clock.seconds += 1
    assert len(kb.state.list_spooled()) == 3
    assert [verdict.id for verdict in kb.land()] == ["D001", "D002", "D003"]
    assert [record.title for record in kb.records()] == [decision(n).title for n in range(3)]
    assert kb.state.list_spooled() == []


def test_every_sort_of_verdict_lands(kb: KnowledgeBase, busy: Path) -> None:
    spooled(kb, busy, FASTAPI, FLASK, SMALL)
    assert [verdict.verdict for verdict in kb.land()] == ["created", "conflict", "held"]
    assert len(kb.reviews()) == 1 and len(kb.held()) == 1


@pytest.mark.parametrize("candidate", [FASTAPI, FLASK, SMALL, decision(0)])
def test_what_landed_already_does_not_land_again(kb: KnowledgeBase, root: Path, busy: Path, candidate: object) -> None:
    """A process that dies between writing and clearing leaves its file: the second landing changes nothing."""
    if candidate is FLASK:
        one(kb, FASTAPI)
    spooled(kb, busy, candidate)
    (path,) = kb.state.list_spooled()
    copy = Path(path).read_bytes()
    kb.land()
    before = git(root, "for-each-ref"), kb.records(), kb.held()
    Path(path).write_bytes(copy)
    kb.land()
    assert (git(root, "for-each-ref"), kb.records(), kb.held()) == before


def test_a_session_stays_in_the_spool_where_the_index_cannot_be_used(
    kb: KnowledgeBase, root: Path, tmp_path: Path, clock: Clock
) -> None:
    """A damaged index is thrown away when that is seen; a full disk is told in the same way."""
    said = {"role": "assistant", "content": f"[D] {decision(0).title}\n- Why: {decision(0).why}, see [D001]"}
    transcript = tmp_path / "00000000-1111-4222-8333-000000000001.jsonl"
    row = {"type": "assistant", "message": said, "sessionId": transcript.stem, "cwd": str(root)}
    transcript.write_text(json.dumps(row) + "\n")
    wish = {"transcript": str(transcript), "session": transcript.stem, "folder": str(root), "host": "claude"}
    one(kb, decision(1))
    os.makedirs(kb.state.path("active", transcript.stem))
    kb.state.spool_job(clock(), {"save": wish})
    kb.close()
    index = root / ".kb" / "index.db"
    data = index.read_bytes()
    index.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert other.land() == []
        assert len(other.state.list_spooled()) == 1 and other.state.list_quarantined() == []
    with KnowledgeBase(str(root), os.environ, clock) as other:
        other.land()
        assert other.state.list_spooled() == other.state.list_quarantined() == []


def test_the_scope_is_that_of_the_caller(
    kb: KnowledgeBase, root: Path, busy: Path, tmp_path: Path, clock: Clock
) -> None:
    with KnowledgeBase(str(root), {**os.environ, "KB_PROJECT": "shop"}, clock) as other:
        spooled(other, busy, decision(0))
    assert [verdict.scope for verdict in kb.land()] == ["project/shop"]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"clone": "*", "folder": "/"}', b'{"folder": "/"}', b"[" * 100_000,
        b'{"clone": "*", "folder": "/", "candidates": 3}', b'{"clone": "*", "save": {}}',
        b'{"clone": "*", "folder": "/", "candidates": [{"kind": "x"}]}',
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_set_aside_and_named(kb: KnowledgeBase, root: Path, busy: Path, data: bytes) -> None:
    spooled(kb, busy, decision(0))
    bad = root / ".kb" / "spool" / "00000000000001-1-1.json"
    data = data.replace(b"*", kb.state.clone_mark.encode())
    bad.write_bytes(data)
    verdict = one(kb, decision(1))
    assert verdict.verdict == "created" and any(bad.name in reason for reason in verdict.reasons)
    assert len(committed(root)) == 2 and kb.state.list_spooled() == []
    assert bad.with_name(bad.name + ".unreadable").read_bytes() == data
    assert not any(bad.name in reason for reason in one(kb, decision(2)).reasons), "named once"


def test_what_still_cannot_be_written_stays(kb: KnowledgeBase, root: Path, busy: Path) -> None:
    spooled(kb, busy, decision(0))
    busy.write_text("0" * 40)
    assert kb.land() == []
    assert one(kb, decision(1)).spooled and len(kb.state.list_spooled()) == 2
    busy.unlink()
    before = commits(root)
    kb.land()
    assert commits(root) == before + 2


def test_where_nothing_can_be_kept_the_write_fails(root: Path, busy: Path, tmp_path: Path, clock: Clock) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    (root / ".kb").rename(root / ".was") if (root / ".kb").exists() else None
    (root / ".kb").write_text("a file where a folder must be")
    busy.write_text("0" * 40)
    with (
        KnowledgeBase(str(root), {**os.environ, "XDG_STATE_HOME": str(nowhere)}, clock) as kb,
        pytest.raises(KbError, match="merge is in progress"),
    ):
        kb.write([decision(0)], folder=str(root))


def test_two_knowledge_bases_have_two_spools(tmp_path: Path) -> None:
    from kb.state.state_folder import StateFolder

    first = StateFolder("/a/b-c", os.environ)._elsewhere
    assert len({first, StateFolder("/a-b/c", os.environ)._elsewhere, StateFolder("/a/b/c", os.environ)._elsewhere}) == 3


def test_what_is_spooled_is_the_documented_form(kb: KnowledgeBase, busy: Path) -> None:
    spooled(kb, busy, FASTAPI)
    (path,) = kb.state.list_spooled()
    value = json.loads(Path(path).read_text())
    assert value["candidates"][0]["claims"] == {"backend.framework": "FastAPI"}
    from kb.records.candidate import build_candidates

    assert build_candidates(value["candidates"]) == [FASTAPI._replace(scope="global")]


def test_one_file_that_cannot_be_written_does_not_hold_up_the_others(
    kb: KnowledgeBase, root: Path, busy: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    spooled(kb, busy, decision(0))
    clock.seconds += 1
    spooled(kb, busy, decision(1))

    def failing(place: KnowledgeBase, candidates: list[Candidate], **options: Any) -> object:
        if candidates[0].title == decision(0).title:
            raise GitFailed("no")
        return write(place, candidates, **options)

    monkeypatch.setattr("kb.writing.pipeline.write", failing)
    assert [verdict.title for verdict in kb.land()] == [decision(1).title]
    assert len(kb.state.list_spooled()) == 1
    monkeypatch.undo()
    assert [verdict.title for verdict in kb.land()] == [decision(0).title]


def test_a_folder_that_cannot_be_is_passed_over(kb: KnowledgeBase, root: Path, busy: Path) -> None:
    spooled(kb, busy, decision(0))
    (path,) = map(Path, kb.state.list_spooled())
    value = json.loads(path.read_text())
    value["candidates"][0].pop("scope")
    path.write_text(json.dumps(value | {"folder": "/" + "x" * 300}))
    assert [verdict.verdict for verdict in kb.land()] == ["created"] and kb.state.list_spooled() == []


def test_only_what_is_spooled_is_promised_to_land(kb: KnowledgeBase, root: Path, busy: Path) -> None:
    one(kb, decision(0))
    busy.write_text("0" * 40)
    with pytest.raises(KbError) as caught:
        kb.confirm("D001")
    assert "land" not in str(caught.value.hint) and kb.state.list_spooled() == []
    assert "next call" in one(kb, decision(1)).reasons[-1]


# -- a job that does not end --------------------------------------------------------------------------


def test_a_job_whose_time_is_over_twice_is_set_aside(
    kb: KnowledgeBase, busy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spooled(kb, busy, decision(0))
    (path,) = kb.state.list_spooled()
    before = Path(path).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(spool, "JOB_SECONDS", 0.2)
        patched.setattr("kb.writing.pipeline.write", endless)
        assert kb.land() == []
        assert kb.land() == []
    assert kb.state.list_spooled() == [path]
    (verdict,) = kb.land()
    assert verdict.verdict == "refused" and "started 2 times" in verdict.reasons[0]
    (kept,) = kb.state.list_quarantined()
    assert Path(kept).read_bytes() == before and kept in verdict.reasons[0]
    assert kb.state.list_spooled() == [] and kb.land() == []


def endless(place: KnowledgeBase, candidates: list[Candidate], **options: object) -> NoReturn:
    """Never come to an end, as a search that goes back over a text again and again."""
    while True:
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_end_of_the_time_that_a_finalizer_swallows_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def __del__(self) -> None:
            while True:
                pass

    def swallow() -> None:
        Slow()
        while True:
            pass

    monkeypatch.setattr(spool, "JOB_SECONDS", 0.1)
    with pytest.raises(spool.JobTooLong), spool.track_attempt(os.devnull + "/none"):
        swallow()


def stopped(path: str, times: int) -> None:
    """Note for the job in *path* that so many processes began it and were killed."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    Path(path + ".begun").write_text(" ".join([str(ended.pid)] * times))


def test_a_job_whose_process_was_killed_a_few_times_is_written(kb: KnowledgeBase, busy: Path) -> None:
    spooled(kb, busy, decision(0))
    (path,) = kb.state.list_spooled()
    stopped(path, spool.STOPPED_TRIES - 1)
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert kb.state.list_quarantined() == [] and not Path(path + ".begun").exists()


def test_a_job_that_was_stopped_every_time_does_not_hold_up_the_next_write(kb: KnowledgeBase, busy: Path) -> None:
    spooled(kb, busy, decision(0))
    (path,) = kb.state.list_spooled()
    stopped(path, spool.STOPPED_TRIES)
    verdict = one(kb, decision(1))
    assert verdict.verdict == "created" and any("started 5 times" in reason for reason in verdict.reasons)
    assert kb.state.list_quarantined() and not Path(path + ".begun").exists()


def test_a_job_that_another_process_has_begun_is_not_counted(kb: KnowledgeBase, busy: Path) -> None:
    spooled(kb, busy, decision(0))
    (path,) = kb.state.list_spooled()
    Path(path + ".begun").write_text(f"{os.getpid()} {os.getpid()}")
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert not list(Path(path).parent.glob("*.begun"))


@pytest.mark.parametrize("words", [("write", "-"), ("write", "-", "--yes"), None], ids=["stdin", "click", "options"])
def test_settings_that_cannot_be_read_cost_nothing(
    kb: KnowledgeBase, root: Path, words: tuple[str, ...] | None
) -> None:
    candidate = decision(0, impact=("kb.toml",))
    whole = (root / "kb.toml").read_text("utf-8")
    (root / "kb.toml").write_text("<<<<<<< ours\nname = 1\n=======\n>>>>>>> theirs\n", "utf-8")
    options = ("write", "--kind", "decision", "--title", candidate.title, "--decision", candidate.decision,
               "--why", candidate.why, "--area", "architecture", "--scope", "global")  # fmt: skip
    ran = run(root, *(words or options), stdin=json.dumps(candidate_to_json(candidate)).encode())
    assert ran.code == 3 and "kb.toml" in ran.error and "the next call that can writes it" in ran.error
    assert len(kb.state.list_spooled()) == 1
    (root / "kb.toml").write_text(whole, "utf-8")
    assert run(root, "write", "-", stdin=json.dumps(candidate_to_json(decision(1))).encode()).code == 0
    assert {record.title for record in kb.records()} == {candidate.title, decision(1).title}
