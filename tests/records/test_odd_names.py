"""Names that are no UTF-8, as any folder or file on Linux can have: no write, no session and no answer is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb.files import json_bytes
from kb.knowledge_base import KnowledgeBase
from tests.hooks.test_hooks import Host
from tests.support.clones import FASTAPI, decision, one
from tests.support.sealed import Clock, git
from tests.support.talk import ZH, transcript
from tests.writing.test_group_commit import candidate, waiting

ODD = os.fsdecode(b"caf\xe9")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder whose name is Latin-1."""
    place = tmp_path / ODD
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    return place


@pytest.mark.parametrize("value", [{"a": ODD}, {ODD: [ODD, "中文"]}, {"a": "中文"}])
def test_half_characters_come_back(value: object) -> None:
    assert json.loads(json_bytes(value)) == value
    assert json.loads(json_bytes(value, indent=1, sort_keys=True).decode()) == value


def test_a_write_from_there_is_spooled_and_lands(kb: KnowledgeBase, root: Path, odd: Path) -> None:
    (root / ".git" / "MERGE_HEAD").write_text("0" * 40)
    (held,) = kb.write([decision(0)], folder=str(odd))
    assert held.spooled and len(kb.state.list_spooled()) == 1
    (root / ".git" / "MERGE_HEAD").unlink()
    (landed,) = kb.land()
    assert (landed.verdict, landed.scope) == ("created", held.scope)


def test_a_writer_from_there_waits_in_the_queue(kb: KnowledgeBase, odd: Path) -> None:
    theirs = waiting(kb, candidate(1), folder=str(odd))
    one(kb, decision(0))
    assert [verdict.verdict for verdict in theirs.read_answer()] == ["created"]


def test_a_knowledge_base_there_does_what_any_does(root: Path, odd: Path, clock: Clock) -> None:
    place = root.rename(odd / "kb")
    with KnowledgeBase(str(place), os.environ, clock) as kb:
        assert one(kb, FASTAPI).verdict == "created"
        kb.confirm("D001")
        assert kb.recall("FastAPI") and kb.answer_to_prompt("FastAPI as the backend framework?")
        kb.check()
    program = str(Path(sys.executable).parent / "kb")
    for line in ("list --json", "show D001", "check --json", "doctor --json", "hint t2", "search FastAPI"):
        done = subprocess.run([program, *line.split()], cwd=place, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr and done.returncode == 0, (line, done.stderr)


def test_hooks_answer_there(root: Path, odd: Path, tmp_path: Path) -> None:
    host = Host(root.rename(odd / "kb"), tmp_path / "work")
    path = transcript(tmp_path / "s.jsonl", ZH)
    for word in ("session-start", "pre-compact", "user-prompt", "stop", "subagent-start", "session-end"):
        answer = host.run(word, path=path, prompt="FastAPI?", agent_type="眼")
        assert (answer.code, answer.error) == (0, ""), word
    with KnowledgeBase(str(host.root), os.environ) as kb:
        kb.land()
        assert len(kb.records()) == 1 and len(kb.sessions()) == 1
    assert git(host.root, "status", "--porcelain") == ""
