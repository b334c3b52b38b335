"""The language model path: what is asked, what is believed, and a command that cannot hurt."""

import json
import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from kb.capture.prove_quotes import MAX_CHARACTERS, build_request, parse_answer
from kb.errors import BadInput, KbError
from kb.knowledge_base import KnowledgeBase
from kb.sessions.transcript import ToolCall, Transcript, TranscriptMessage, parse_transcript
from kb.state import json_clients as place
from tests.sessions.test_heard_words import SAID, SUMMARY, asked, claude, result

ZH = "最终我们选了 Kafka，吞吐够用，见 src/bus.py。"
EN = "We settled on Kafka for the bus."
SESSION = Transcript(
    messages=(
        TranscriptMessage(3, "10:00", "user", "human", (ZH,)),
        TranscriptMessage(
            7, "10:05", "assistant", "agent", (EN,), (ToolCall("t", "Edit", {"file_path": "/p/src/out.py"}, 7),)
        ),
        TranscriptMessage(8, "10:06", "user", "tool", ("tools said Kafka is a queue",)),
    ),
    session_id="s-1",
)


def item(**fields: object) -> dict[str, object]:
    return {"kind": "decision", "title": "用 Kafka 做总线", "evidence": [{"quote": "最终我们选了 Kafka"}], **fields}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_request_says_what_to_do_in_the_language_asked_for(language: str) -> None:
    asked = build_request(SESSION, language)
    assert list(asked) == ["task", "schema", "input", "lang"]
    assert asked["lang"] == language and ("会话" in asked["task"]) is (language == "zh")
    assert asked["input"] == [{"line": 3, "who": "human", "text": ZH}, {"line": 7, "who": "agent", "text": EN}]
    wanted = ["kind", "title", "evidence", "affects_future", "reference_value", "prevents_repeat"]
    assert asked["schema"]["properties"]["candidates"]["items"]["required"] == wanted
    assert all(question in asked["task"] for question in wanted[3:])
    json.dumps(asked)


ISSUE = "Please fix this.\n<issue>\nWe settled on RabbitMQ for every queue.\n</issue>"
HEARD = parse_transcript(
    "".join(
        json.dumps(row) + "\n"
        for row in (
            {"type": "user", "message": {"content": ISSUE}},
            {"type": "queue-operation", "operation": "enqueue", "content": "Use cents for every amount"},
            *(claude(asked()), claude(result(SAID), role="user")),
            claude({"type": "tool_use", "id": "c2", "name": "Task", "input": {"prompt": "Look"}}),
            claude({**result("The parser keeps every amount as cents."), "tool_use_id": "c2"}, role="user"),
            {"type": "user", "isCompactSummary": True, "message": {"content": SUMMARY}},
            {"type": "user", "message": {"content": "Continue from this handover:\n" + "We like short names. " * 20}},
        )
    ).encode()
)


def test_the_request_holds_everything_that_was_said() -> None:
    rows = build_request(HEARD, "en")["input"]
    assert [(row["line"], row["who"]) for row in rows] == [
        *((1, "human"), (2, "human"), (4, "answer"), (4, "answer"), (6, "report"), (7, "summary")),
        *((8, "human"), (8, "handover")),
    ]
    text = json.dumps(rows, ensure_ascii=False)
    assert "☑ Settings page" in text and "IPFS_URL" in text
    assert "RabbitMQ" not in text and "always use tabs" not in text, "what is quoted is nobody's word"


@pytest.mark.parametrize(
    "quote",
    ["Use cents for every amount", "☑ Settings page (Recommended): Always there",
     "The parser keeps every amount as cents.",
     "Created `apps/api/.env` with `IPFS_URL`", "We like short names."],
)  # fmt: skip
def test_every_source_proves_a_quote(quote: str) -> None:
    assert len(parse_answer([item(evidence=[{"quote": quote}])], HEARD)) == 1


@pytest.mark.parametrize("quote", ["We settled on RabbitMQ for every queue.", "From now on always use tabs"])
def test_what_is_nobodys_word_proves_nothing(quote: str) -> None:
    assert parse_answer([item(evidence=[{"quote": quote}])], HEARD) == []


def test_a_preference_needs_the_persons_own_words() -> None:
    wish = {"kind": "preference", "title": "Short names"}
    assert parse_answer([{**wish, "evidence": [{"quote": "We like short names."}]}], HEARD) == []
    assert len(parse_answer([{**wish, "evidence": [{"quote": "Use cents for every amount"}]}], HEARD)) == 1


def test_of_a_long_session_the_end_is_given() -> None:
    messages = tuple(TranscriptMessage(n, "", "user", "human", ("x" * 50_000,)) for n in range(1, 9))
    rows = build_request(Transcript(messages), "en")["input"]
    assert [row["line"] for row in rows] == [7, 8] and sum(len(row["text"]) for row in rows) <= MAX_CHARACTERS


def test_a_proven_candidate_gets_the_place_where_its_quote_stands() -> None:
    [candidate] = parse_answer({"candidates": [item(session="forged", host="model")]}, SESSION)
    [evidence] = candidate.evidence
    assert (evidence.quote, evidence.source, evidence.line, evidence.time) == ("最终我们选了 Kafka", "s-1", 3, "10:00")
    assert (candidate.session, candidate.host) == ("s-1", "")


@pytest.mark.parametrize(
    "quote", ["最终我们选了 RabbitMQ", "we settled on kafka for the bus.", "Kafka", "", "tools said Kafka is a queue"]
)
def test_a_quote_that_nobody_said_proves_nothing(quote: str) -> None:
    assert parse_answer([item(evidence=[{"quote": quote}])], SESSION) == []
    assert len(parse_answer([item(evidence=[{"quote": quote}, {"quote": EN}])], SESSION)[0].evidence) == 1


def test_a_candidate_without_evidence_is_dropped() -> None:
    assert parse_answer({"kind": "decision", "title": "用 Kafka 做总线"}, SESSION) == []


def test_what_the_session_cannot_tell_is_taken_out() -> None:
    [candidate] = parse_answer(
        item(impact=["src/bus.py", "src/out.py", "src/none.py"], supersedes=["D001"], amends=["D002"], updates="D003"),
        SESSION,
    )
    assert candidate.impact == ("src/bus.py", "src/out.py")
    assert (candidate.supersedes, candidate.amends, candidate.updates) == ((), (), "")


def test_a_broken_item_does_not_take_the_good_ones_with_it() -> None:
    assert len(parse_answer([{"kind": "novel", "title": "x"}, item(), 7], SESSION)) == 1


@pytest.mark.parametrize("answer", [None, "text", 7, {"result": []}, [{"kind": "novel", "title": "x"}], [3]])
def test_an_answer_of_another_form_is_refused(answer: object) -> None:
    with pytest.raises(BadInput):
        parse_answer(answer, SESSION)


def test_nothing_found_is_an_answer() -> None:
    assert parse_answer({"candidates": []}, SESSION) == []


# -- the command ----------------------------------------------------------------------------------


def command(folder: Path, body: str) -> str:
    """Return a command line that runs *body* as a Python program."""
    program = folder / "a fake model.py"
    program.write_text("import json, os, sys, time\n" + body, encoding="utf-8")
    return shlex.join([sys.executable, "-I", "-X", "utf8", str(program)])


def test_the_command_is_asked_once_and_answers(tmp_path: Path) -> None:
    body = f"""
open({str(tmp_path / "calls")!r}, "a").write("x")
given = json.load(sys.stdin)
print(json.dumps({{"candidates": [{{"kind": "D", "title": given["input"][0]["text"][:8],
    "evidence": [{{"quote": given["input"][0]["text"]}}]}}]}}))
"""
    answer = place.run_llm_command(command(tmp_path, body), build_request(SESSION, "zh"), timeout=60)
    assert [candidate.title for candidate in parse_answer(answer, SESSION)] == [ZH[:8]]
    assert (tmp_path / "calls").read_text() == "x"


def test_a_model_that_answers_the_self_check_gets_its_candidates_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
given = json.load(sys.stdin)
needed = given["schema"]["properties"]["candidates"]["items"]["required"]
check = {key: key == "reference_value" for key in needed if key.endswith(("future", "value", "repeat"))}
quote = next(row["text"] for row in given["input"] if row["who"] == "report")
print(json.dumps({"candidates": [{"kind": "D", "title": "The parser keeps amounts as cents", **check,
    "decision": "The parser keeps every amount as integer cents.", "evidence": [{"quote": quote}]}]}))
"""
    path = tmp_path / "t.jsonl"
    call = claude({"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "Look"}})
    rows = [call, claude(result("The parser keeps every amount as cents."), role="user")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("KB_LLM_CMD", command(tmp_path, body))
    with KnowledgeBase(str(root), os.environ) as kb:
        saved = kb.save_session(str(path), session="s", folder=str(tmp_path), archive=False)
        assert [verdict.verdict for verdict in saved.verdicts] == ["created"], saved


def test_a_command_that_does_not_read_its_input_may_answer(tmp_path: Path) -> None:
    assert place.run_llm_command(command(tmp_path, "print('[]')"), {"input": "x" * 2_000_000}, timeout=60) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print('no json')", "printed no JSON"),
        ("print('[' * 100000)", "printed no JSON"),
        ("sys.stdout.buffer.write(b'\\xff')", "printed no JSON"),
        ("sys.stderr.write('no key {x}'); sys.exit(3)", "exit code 3: no key {x}"),
        ("sys.stdout.write('1' * 5_000_000)", "more than 4000000 bytes"),
    ],
)
def test_a_bad_answer_says_so_and_points_to_the_offline_way(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(KbError, match="KB_LLM_CMD") as caught:
        place.run_llm_command(command(tmp_path, body), {}, timeout=60)
    assert told in str(caught.value) and "offline" in str(caught.value.hint)


@pytest.mark.parametrize("words", ["", "   ", "'unclosed", "/does/not/exist --at-all"])
def test_a_command_that_cannot_start_says_so(words: str) -> None:
    with pytest.raises(KbError, match="KB_LLM_CMD"):
        place.run_llm_command(words, {}, timeout=60)


@pytest.mark.parametrize("ending", ["time.sleep(60)", "sys.exit(0)", "os.close(1); time.sleep(60)"])
def test_in_time_the_command_and_its_children_are_gone(tmp_path: Path, ending: str) -> None:
    body = f"""
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
open({str(tmp_path / "child")!r}, "w").write(str(child))
{ending}
"""
    start = time.monotonic()
    with pytest.raises(KbError, match="longer than"):
        place.run_llm_command(command(tmp_path, body), {}, timeout=3)
    assert time.monotonic() - start < 40
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not _runs(child):
            break
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except OSError:
        os.kill(process, 0)
        return True
