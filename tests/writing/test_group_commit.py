"""Writers that meet: the holder of the lock writes for those who wait, and nothing rests on an answer."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kb.errors import Busy
from kb.git.repository import CommitStep, Repository
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Verdict
from kb.writing import pipeline
from kb.writing.group_commit import QueuedWriter, WriteRequest
from kb.writing.quality import ParsedCandidate
from kb.writing.transaction import Transaction
from tests.support.sealed import git

TITLES = ("Use PostgreSQL for orders", "会话令牌放进 Redis", "Serve images from a bucket", "Retry payments three times")


def candidate(number: int, **more: object) -> Candidate:
    plain = Candidate(
        "decision", TITLES[number], decision=f"{TITLES[number]}, and nothing else does it.", why="It is simple to run.",
        impact_areas=("architecture",), scope="global", session=f"s{number}",
    )  # fmt: skip
    return plain._replace(**more)


def waiting(kb: KnowledgeBase, *candidates: Candidate, **more: object) -> QueuedWriter:
    """Return a writer who has asked, and hears nothing yet."""
    writer = QueuedWriter(kb, WriteRequest(candidates, kb.root)._replace(**more))
    assert not writer.is_queued_and_answered()
    return writer


def queue(kb: KnowledgeBase) -> list[str]:
    return sorted(os.listdir(kb.state.path("queue")))


def write(kb: KnowledgeBase, number: int) -> Verdict:
    (verdict,) = kb.write([candidate(number)], folder=kb.root)
    return verdict


def test_the_holder_writes_for_all_who_wait_each_call_a_commit(kb: KnowledgeBase, root: Path) -> None:
    first, second = waiting(kb, candidate(1)), waiting(kb, candidate(2), candidate(3))
    before = int(git(root, "rev-list", "--count", "HEAD"))
    mine = write(kb, 0)
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 3
    assert first.has_answer() and second.has_answer()
    told = [mine, *first.read_answer(), *second.read_answer()]
    assert [(v.verdict, v.id, v.title) for v in told] == [
        ("created", f"D00{number + 1}", title) for number, title in enumerate(TITLES)
    ]
    session = "--format=%(trailers:key=Kb-Session,valueonly)"
    assert [git(root, "log", "-1", session, v.commit).strip() for v in told] == ["s0", "s1", "s2", "s2"]
    assert git(root, "show", "--format=", "--name-only", "-z", told[1].commit).strip("\0") == told[1].path
    assert git(root, "status", "--porcelain") == "" and git(root, "fsck", "--strict") == ""
    assert [record.title for record in kb.records()] == list(TITLES)
    assert queue(kb) == []


@pytest.mark.parametrize("form", ["sha1", "sha256"])
@pytest.mark.parametrize("parent", [True, False])
def test_many_commits_are_those_that_git_makes_one_by_one(tmp_path: Path, form: str, *, parent: bool) -> None:
    git(tmp_path, "init", "-q", f"--object-format={form}")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-02T03:04:05+0800")
    repository = Repository(str(tmp_path), {**os.environ, **dates})
    people = ({}, {"GIT_AUTHOR_NAME": " 张三; <x> ", "GIT_AUTHOR_EMAIL": "z@example.cn"}, {"GIT_COMMITTER_NAME": "C"})
    messages = ("One", "Two\n\nKb-Op: created\n", "三\n\n\n", "\nFour", "")
    steps = [CommitStep({f"{n}.md": b"%d" % n}, messages[n % 5], people[n * n % 3]) for n in range(12)]
    first = repository.build_commit("", {"x": b"x"}, "x", stage=str(tmp_path / ".git")) if parent else ""
    together = repository.build_commits(first, steps, stage=str(tmp_path / ".git"))
    alone = [first]
    for step in steps:
        alone.append(repository.build_commits(alone[-1], [step], stage=str(tmp_path / ".git"))[0])
    assert together == alone[1:]
    assert git(tmp_path, "fsck", "--strict", "--no-dangling", together[-1]) == ""


def test_one_who_waits_loads_little(root: Path) -> None:
    code = (
        "import os, sys\nfrom kb.records.candidate import Candidate\nfrom kb.knowledge_base import KnowledgeBase\n"
        "from kb.writing import group_commit as group\n"
        "group.QueuedWriter.wait_for_answer = lambda _: []\n"
        "assert KnowledgeBase(sys.argv[1], os.environ).write([Candidate('decision', 'x')]) == []\n"
        "heavy = ('kb.similarity', 'kb.safety', 'kb.writing.pipeline')\n"
        "print(*(name for name in sys.modules if name.startswith(heavy)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_commit_names_the_one_who_asked(root: Path, kb: KnowledgeBase) -> None:
    who = {"GIT_AUTHOR_NAME": "王芳", "GIT_AUTHOR_EMAIL": "wang@example.com"}
    with KnowledgeBase(str(root), {**os.environ, **who}, kb.now) as other:
        theirs = waiting(other, candidate(1))
    mine = write(kb, 0)
    (heard,) = theirs.read_answer()
    assert git(root, "log", "-1", "--format=%an", heard.commit).strip() == "王芳"
    assert git(root, "log", "-1", "--format=%an", mine.commit).strip() != "王芳"


def test_what_waits_is_masked_and_its_writer_is_told(kb: KnowledgeBase) -> None:
    secret = "ghp_" + "a1B2" * 9
    theirs = waiting(kb, candidate(1, why=f"The token {secret} was in the log."))
    assert secret not in "".join(Path(kb.state.path("queue", name)).read_text() for name in queue(kb))
    write(kb, 0)
    (heard,) = theirs.read_answer()
    assert any("github-token" in reason for reason in heard.reasons)


def test_what_two_ask_for_is_written_once(kb: KnowledgeBase) -> None:
    one, other = waiting(kb, candidate(1)), waiting(kb, candidate(1, session="another"))
    write(kb, 0)
    assert [one.read_answer()[0].verdict, other.read_answer()[0].verdict] == ["created", "updated"]
    assert [(record.id, record.occurrences) for record in kb.records()] == [("D001", 1), ("D002", 2)]


def test_a_writer_that_died_waiting_is_written_all_the_same(kb: KnowledgeBase) -> None:
    waiting(kb, candidate(1))
    write(kb, 0)
    assert [record.title for record in kb.records()] == [TITLES[0], TITLES[1]]


def test_a_holder_that_died_before_it_answered_costs_nothing(kb: KnowledgeBase) -> None:
    theirs = waiting(kb, candidate(1))
    kept = Path(kb.state.path("queue", queue(kb)[0]))
    data = kept.read_bytes()
    write(kb, 0)
    theirs.withdraw_request()
    kept.write_bytes(data)
    again = write(kb, 2)
    assert again.verdict == "created"
    (row,) = json.loads(Path(f"{kept}.answer").read_text())["verdicts"]
    assert (row["verdict"], row["id"]) == ("unchanged", "D002")


def test_one_that_gets_the_lock_with_its_answer_takes_the_answer(kb: KnowledgeBase, root: Path) -> None:
    """The holder answers and lets go of the lock: the writer may get that before it looks for the answer."""
    theirs = waiting(kb, candidate(1))
    write(kb, 0)
    heads = git(root, "rev-list", "--count", "HEAD")
    (verdict,) = pipeline.write(kb, [candidate(1)], folder=kb.root, queued_writer=theirs)
    assert verdict.verdict == "created"
    assert git(root, "rev-list", "--count", "HEAD") == heads


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"clone": "*"}', '{"clone": "*", "candidates": 3}', "\0",
     '{"clone": "*", "by": {}, "candidates": [{"kind": 1}], "folder": "", "masked": []}'],
)  # fmt: skip
def test_a_request_that_cannot_be_read_is_left_to_its_writer(kb: KnowledgeBase, text: str) -> None:
    waiting(kb, candidate(1))
    path = Path(kb.state.path("queue", queue(kb)[0]))
    path.write_text(text.replace("*", kb.state.clone_mark))
    assert write(kb, 0).verdict == "created"
    assert queue(kb) == [f"{path.name}.own"]


def test_a_request_that_cannot_be_planned_does_not_harm_the_others(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = pipeline.judge_candidate

    def stumble(transaction: Transaction, request: WriteRequest, parsed: ParsedCandidate, *more: Any) -> Verdict:
        if parsed.candidate.title == TITLES[2]:
            raise ZeroDivisionError
        return judge(transaction, request, parsed, *more)

    monkeypatch.setattr(pipeline, "judge_candidate", stumble)
    good, bad = waiting(kb, candidate(1)), waiting(kb, candidate(2))
    mine = write(kb, 0)
    assert (mine.verdict, good.read_answer()[0].verdict) == ("created", "created")
    assert not bad.has_answer()
    bad.withdraw_request()
    assert [record.title for record in kb.records()] == list(TITLES[:2])
    assert queue(kb) == [] and git(root, "status", "--porcelain") == ""


def test_nobody_waits_for_the_trouble_of_another(kb: KnowledgeBase, root: Path) -> None:
    theirs = waiting(kb, candidate(1))
    (root / ".git" / "index.lock").touch()
    verdict = write(kb, 0)
    assert verdict.spooled
    with pytest.raises(Busy, match="another git process"):
        theirs.read_answer()
    (root / ".git" / "index.lock").unlink()
    write(kb, 2)
    assert {record.title for record in kb.records()} == {TITLES[0], TITLES[2]}


def test_the_impatience_of_one_is_no_answer_to_another(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = waiting(kb, candidate(1))
    monkeypatch.setattr("kb.git.repository.QUEUE", 0.1)
    with (
        kb.repository.hold_lock(),
        KnowledgeBase(str(root), os.environ) as mine,
        pytest.raises(Busy, match="is writing"),
    ):
        pipeline.write(mine, [candidate(0)], folder=mine.root, raise_when_busy=True)
    assert not theirs.has_answer()


def test_one_whose_request_cannot_be_laid_down_waits_for_the_lock(kb: KnowledgeBase) -> None:
    """On a full disk a request cannot be written; a file in place of the folder stands for that."""
    Path(kb.state.ensure_folder(), "queue").write_text("")
    with ThreadPoolExecutor() as pool:
        with kb.repository.hold_lock():
            writer = pool.submit(_written_elsewhere, kb.root)
            time.sleep(0.3)
            assert not writer.done()
        assert writer.result() == "created"


def _written_elsewhere(root: str) -> str:
    with KnowledgeBase.at(root) as other:
        return write(other, 0).verdict


def test_answers_that_nobody_fetched_go_after_a_while(kb: KnowledgeBase) -> None:
    waiting(kb, candidate(1))
    write(kb, 0)
    (answer,) = queue(kb)
    write(kb, 2)
    assert queue(kb) == [answer]
    old = time.time() - 100
    os.utime(kb.state.path("queue", answer), (old, old))
    write(kb, 3)
    assert queue(kb) == []
