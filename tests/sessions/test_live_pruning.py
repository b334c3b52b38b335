"""At tool calls: long files are read in parts, long search results shortened, and mostly nothing is said at all."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kb.hooks import claude
from kb.hooks.fast_path import can_skip_event, count_lines
from kb.hosts import EVENTS, HookResponse
from tests.support.sessions import Session
from tests.support.timing import within

HOOK = "from kb.hooks import main; main()"


def called(root: Path, word: str, **payload: Any) -> dict[str, Any]:
    """Run a hook as a process of its own and return what it prints."""
    data = json.dumps({"session_id": "s1", "cwd": str(root), "hook_event_name": EVENTS[word], **payload}).encode()
    done = subprocess.run([sys.executable, "-c", HOOK, word], input=data, capture_output=True, check=False, cwd=root,
                          env={**os.environ, "KB_HOME": str(root)})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    output = json.loads(done.stdout) if done.stdout.strip() else {}
    return dict(output.get("hookSpecificOutput", {}))


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    path = tmp_path / "long.py"
    path.write_text("".join(f"row {n}\n" for n in range(5000)))
    return path


# -- reading in parts ------------------------------------------------------------------------------


def test_a_long_file_is_read_in_parts_and_the_agent_is_told(root: Path, long_file: Path) -> None:
    given = {"file_path": str(long_file)}
    said = called(root, "pre-tool", tool_name="Read", tool_input=given)
    assert said["updatedInput"] == {**given, "limit": 1000} and "permissionDecision" not in said
    assert "offset=1001" in said["additionalContext"] and "5000" in said["additionalContext"]
    said = called(root, "pre-tool", tool_name="Read", tool_input={**given, "offset": 1001})
    assert said["updatedInput"] == {**given, "offset": 1001, "limit": 1000}


@pytest.mark.parametrize("more", [{"limit": 3000}, {"offset": 4500}, {"offset": "x"}], ids=str)
def test_a_read_that_is_a_part_already_stays(root: Path, long_file: Path, more: dict[str, Any]) -> None:
    assert called(root, "pre-tool", tool_name="Read", tool_input={"file_path": str(long_file), **more}) == {}


@pytest.mark.parametrize("content", [b"row\n" * 900, b"\0" + b"row\n" * 5000, None], ids=["short", "binary", "none"])
def test_other_files_are_read_as_they_are(root: Path, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "f").write_bytes(content)
    assert called(root, "pre-tool", tool_name="Read", tool_input={"file_path": str(tmp_path / "f")}) == {}


def test_a_notebook_is_not_read_by_lines(root: Path, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text("{}\n" * 5000)
    assert called(root, "pre-tool", tool_name="Read", tool_input={"file_path": str(tmp_path / "n.ipynb")}) == {}


@pytest.mark.parametrize("given", [None, 7, {}, {"file_path": 7}, {"file_path": "a\0b"}, {"file_path": "/"}], ids=str)
def test_a_strange_input_is_left_alone(root: Path, given: object) -> None:
    assert called(root, "pre-tool", tool_name="Read", tool_input=given) == {}


def test_the_size_of_a_part_is_a_setting(root: Path, long_file: Path) -> None:
    settings = root / "dcp-config.yaml"
    settings.write_text("dcp:\n  truncation:\n    read_chunk_size: 70\n")
    given = {"file_path": str(long_file)}
    for _ in range(2):
        said = called(root, "pre-tool", tool_name="Read", tool_input=given)
        assert said["updatedInput"] == {**given, "limit": 70}
    settings.write_text("dcp:\n  auto_strategies:\n    truncation: false\n")
    assert called(root, "pre-tool", tool_name="Read", tool_input=given) == {}


def test_of_a_file_without_an_end_only_a_part_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with within(1):
        assert count_lines(str(tmp_path / "huge"), 1000) == 0
    (tmp_path / "wide").write_bytes(b"x" * (3 << 20) + b"\n" * 5)
    assert count_lines(str(tmp_path / "wide"), 1000) == 5


# -- search results --------------------------------------------------------------------------------


def test_of_500_paths_200_are_left_and_the_newest_is_among_them(root: Path, tmp_path: Path) -> None:
    names = [str(tmp_path / f"file_{n}.py") for n in range(500)]
    Path(names[499]).write_text("")
    response = {"filenames": names, "durationMs": 3, "numFiles": 500, "truncated": False}
    said = called(root, "post-tool", tool_name="Glob", tool_input={"pattern": "**"}, tool_response=response)
    short = said["updatedToolOutput"]
    assert len(short["filenames"]) == short["numFiles"] == 200 and short["truncated"] is True
    assert names[499] in short["filenames"] and short["filenames"] == [n for n in names if n in short["filenames"]]
    assert set(short) == set(response) and short["durationMs"] == 3 and "narrow the search" in said["additionalContext"]


def test_a_long_grep_gets_half_of_the_room_and_keeps_what_the_task_is_about(root: Path, tmp_path: Path) -> None:
    session = Session("why does the webhook retry fail?")
    session.step(used=190_000)
    rows = [f"src/file_{n}.py:{n}:some matching line of text" for n in range(4000)]
    rows[3999] = "src/queue.py:7:the webhook retry gives up"
    response = {"mode": "content", "numFiles": 0, "filenames": [], "content": "\n".join(rows), "numLines": 4000}
    said = called(root, "post-tool", tool_name="Grep", tool_input={"pattern": "line"}, tool_response=response,
                  transcript_path=session.write(tmp_path / "t.jsonl"))  # fmt: skip
    content = said["updatedToolOutput"]["content"]
    assert rows[3999] in content and len(content) < 4 * 5000 and content.splitlines()[-1].startswith("[kb: ")
    assert {**said["updatedToolOutput"], "content": ""} == {**response, "content": ""}


@pytest.mark.parametrize(
    ("tool", "response"),
    [("Glob", {"filenames": [f"/w/{n}" for n in range(200)], "numFiles": 200}), ("Grep", {"content": "x" * 30_000}),
     ("Grep", "a\n" * 9000), ("Grep", None), ("Grep", [1]), ("Glob", {"filenames": [1] * 900}),
     ("Bash", "x" * 900_000)],
    ids=["200 paths", "short", "text", "none", "list", "numbers", "another tool"],
)  # fmt: skip
def test_what_is_short_enough_or_strange_stays(root: Path, tool: str, response: object) -> None:
    assert called(root, "post-tool", tool_name=tool, tool_input={"pattern": "x"}, tool_response=response) == {}


def test_no_key_is_printed_that_the_host_does_not_list() -> None:
    decision = HookResponse(context="told", updated_input={"a": 1}, updated_output={"a": 1})
    for event, listed in {"PreToolUse": "updatedInput", "PostToolUse": "updatedToolOutput", "Stop": ""}.items():
        output = json.loads(claude.render_response(event, decision, {}) or "{}")
        said = output.get("hookSpecificOutput", {})
        assert set(said) == ({"hookEventName", "additionalContext", listed} if listed else set())


# -- nothing to say --------------------------------------------------------------------------------


def test_mostly_nothing_is_opened(root: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("row\n" * 500)
    assert can_skip_event(
        "PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": str(tmp_path / "f")}}, str(root)
    )
    assert can_skip_event("PostToolUse", {"tool_name": "Grep", "tool_response": {"content": "x" * 900}}, str(root))
    assert can_skip_event("UserPromptSubmit", {"prompt": " \n"}, str(root))
    assert not can_skip_event("Stop", {}, str(root))


def test_a_tool_call_with_nothing_to_say_loads_no_knowledge_base(root: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("row\n" * 500)
    data = json.dumps(
        {"cwd": str(root), "tool_name": "Read", "tool_input": {"file_path": str(tmp_path / "f")}}
    ).encode()
    code = "import atexit, sys; atexit.register(lambda: print('kb.knowledge_base' in sys.modules)); " + HOOK
    for word, expected in (("pre-tool", b"False\n"), ("session-start", b"True\n")):
        done = subprocess.run([sys.executable, "-c", code, word], input=data, check=True, capture_output=True, cwd=root)
        assert done.stdout.endswith(expected)
