"""The last answer comes with the event, before the host has written it to the transcript."""

import json
import os
from pathlib import Path

import pytest

from kb.capture.save_session import add_answer
from kb.knowledge_base import KnowledgeBase
from kb.sessions.transcript import parse_transcript
from tests.capture.test_proposals import Talk
from tests.support.talk import EN, ZH, said

MODEL = """
import json, pathlib, sys
sys.stdin.read()
calls = pathlib.Path(__file__).with_suffix(".calls")
again = calls.exists()
calls.touch()
title = "The database holds the key that makes a retry harmless" if again else "Keys of refunds are kept in PostgreSQL"
print(json.dumps([{"kind": "decision", "title": title, "decision": title + ", in one table.", "reusable": True,
                   "evidence": [{"quote": "QUOTE"}]}]))
"""
PROMPT = said("user", "Please implement the order service")


@pytest.fixture
def talk(root: Path) -> Talk:
    (root / "kb.toml").write_text("pause = 0\n")
    return Talk(root)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "t.jsonl"
    place.write_text(PROMPT, encoding="utf-8")
    return place


def seen(talk: Talk) -> list[tuple[str, int, int]]:
    with KnowledgeBase(str(talk.root), os.environ) as kb:
        return [(one.title, one.occurrences, len(one.sources)) for one in kb.records()]


@pytest.mark.parametrize("answer", [EN, ZH])
@pytest.mark.parametrize("key", ["last_assistant_message", "prompt_response"])
def test_it_is_kept_though_the_file_does_not_have_it(talk: Talk, path: Path, answer: str, key: str) -> None:
    assert "kb: new: [D001]" in talk.stop(transcript_path=str(path), **{key: f"Done.\n\n{answer}"})


@pytest.mark.parametrize("parts", [[EN], [EN, "All is tested."]])
def test_it_is_not_counted_again_when_the_file_has_it(talk: Talk, path: Path, parts: list[str]) -> None:
    given = {"transcript_path": str(path), "last_assistant_message": "\n".join(parts)}
    talk.stop(**given)
    before = seen(talk)
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(said("assistant", part) for part in parts))
    assert talk.stop(**given) == ""
    talk.event("PreCompact", transcript_path=str(path))
    talk.event("SessionEnd", transcript_path=str(path))
    talk.event("SessionStart", source="startup")
    assert seen(talk) == before and len(before) == 1


def test_a_model_that_words_it_anew_does_not_count_it_again(
    talk: Talk, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quote = "we keep the keys of all refunds in PostgreSQL from now on"
    command = tmp_path / "model.py"
    command.write_text(MODEL.replace("QUOTE", quote))
    monkeypatch.setenv("KB_LLM_CMD", f"python3 {command}")
    given = {"transcript_path": str(path), "last_assistant_message": f"As agreed {quote} from here."}
    talk.stop(**given)
    assert len(seen(talk)) == 1
    with open(path, "a", encoding="utf-8") as file:
        file.write(said("assistant", given["last_assistant_message"]))
    talk.stop(transcript_path=str(path))
    assert len(seen(talk)) == 1


def test_a_sub_agents_last_answer_is_kept_and_a_compactions_own_is_not(talk: Talk, path: Path, tmp_path: Path) -> None:
    own = tmp_path / "a1.jsonl"
    own.write_text(said("user", "Find it", isSidechain=True), encoding="utf-8")
    given = {"transcript_path": str(path), "agent_transcript_path": str(own), "agent_id": "a1"}
    talk.event("SubagentStop", **given, agent_type="", last_assistant_message=EN)
    assert seen(talk) == []
    talk.event("SubagentStop", **given, agent_type="Explore", last_assistant_message=EN)
    assert len(seen(talk)) == 1


def test_an_answer_with_a_secret_is_masked(talk: Talk, path: Path) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    answer = f"Decision: All deployments use the key {key} because the architecture asks for it."
    talk.stop(transcript_path=str(path), last_assistant_message=answer)
    kept = "".join(
        p.read_text("utf-8", "replace") for p in talk.root.rglob("*") if p.is_file() and ".git" not in p.parts
    )
    assert len(seen(talk)) == 1 and key not in kept


def test_what_the_file_has_is_not_added() -> None:
    lines = (PROMPT + said("assistant", "One.", "Two.") + said("assistant", "Three.")).encode()
    held = parse_transcript(lines)
    assert add_answer(held, "Three.") is held and add_answer(held, "Two.\nThree.") is held
    assert add_answer(held, " ") is held
    again = parse_transcript(lines + said("user", "And now?").encode())
    assert add_answer(again, "Three.").messages[-1].texts == ("Three.",), "it is the answer to the last prompt"
    assert add_answer(held, "Four.").messages[-1].line == held.lines + 1 == 4
    assert json.dumps(add_answer(held, "Four.").messages[-1].texts) == '["Four."]'
