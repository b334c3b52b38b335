"""A megabyte of text that is made to cost time takes two seconds at any door."""

import json
import os
import random
import resource
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.mcp import tool_functions
from kb.merge.merge_record import merge_record
from tests.safety.test_clean_warnings import record
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.timing import slowness

HOOK = [sys.executable, "-c", "from kb.hooks import main; main()"]
LENGTH = 300_000
"""Bytes of the text of all kinds: it may take its part of the time that a megabyte may."""
_RNG = random.Random(11)
TEXTS = {
    "numbers without a gap": "+86131-1111-1111", "brackets": "[", "half links": "[a](",
    "keys": "AI" + "za" + "".join(_RNG.choice(string.ascii_letters + string.digits) for _ in range(35)),
    "sentences": "改用.a避免了. ", "assignments": "password=a1b2c3d4e5 ",
}  # fmt: skip
_A_MEGABYTE = 2.0
"""Seconds of processor time that a megabyte may take on an idle machine."""
_START, _BUILD = 0.8, 2.4
"""Seconds of processor time of a start, and of patterns compiled for the first time; of a wiki that says little."""
Door = Callable[[Path, str], Callable[[], object]]


def repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit.encode()))


def seconds(door: Door, root: Path, text: str) -> float:
    """Return the processor time that *text* takes at *door*, that of the processes waited for included."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    call = door(root, text)
    start = used()
    call()
    return used() - start


def of_all_kinds(length: int) -> str:
    """Return a text of *length* bytes that has the same share of every kind, in paragraphs of their own."""
    return "\n\n".join(repeated(unit, length // len(TEXTS)) for unit in TEXTS.values())


def allowed(door: Door) -> float:
    """Return the processor time that *door* may take for a text of `LENGTH` bytes on an idle machine."""
    return (_BUILD if door is shown_in_the_wiki else _START) + _A_MEGABYTE * LENGTH / 1_000_000


def holds(door: Door, places: Callable[[], Path]) -> None:
    """Fail when a text of all kinds takes too long; a machine that is busy or slow is allowed for when it does."""
    took = seconds(door, places(), of_all_kinds(LENGTH))
    if took > allowed(door) and took > allowed(door) * slowness():
        each = {kind: round(seconds(door, places(), repeated(unit, LENGTH)), 1) for kind, unit in TEXTS.items()}
        pytest.fail(f"{took:.2f} s, where {allowed(door):.2f} s are meant to do; of each kind alone: {each}")


# -- the doors --------------------------------------------------------------------------------------


def candidate(text: str) -> dict[str, str]:
    return {
        "kind": "decision", "title": "Keep walrus apart from tiger", "decision": f"The walrus part: {text}",
        "why": "because it grows", "scope": "global",
    }  # fmt: skip


def written(root: Path, text: str) -> Callable[[], object]:
    return lambda: run(root, "write", "-", stdin=json.dumps(candidate(text)).encode())


def written_by_an_agent(root: Path, text: str) -> Callable[[], object]:
    def call() -> None:
        with KnowledgeBase(str(root), os.environ) as kb:
            tool_functions.write_candidates(kb, str(root), {"candidates": [candidate(text)]})

    return call


def searched(root: Path, text: str) -> Callable[[], object]:
    pulled(root, text)
    words = "\n".join(paragraph[:15_000] for paragraph in text.split("\n\n"))
    return lambda: run(root, "search", words)


def checked(root: Path, text: str) -> Callable[[], object]:
    pulled(root, text)
    return lambda: run(root, "check")


def shown_in_the_wiki(root: Path, text: str) -> Callable[[], object]:
    pulled(root, text)
    return lambda: run(root, "wiki", "build", "--no-strict", "-o", str(root.parent / f"{root.name}-site"))


def merged_by_git(root: Path, text: str) -> Callable[[], object]:
    base, ours, theirs = (record("P009", "pitfall", "global", words).encode() for words in ("x", text, f"y {text}"))
    return lambda: merge_record(base, ours, theirs, path="content/anchors/global/P009-hostile.md")


def imported(root: Path, text: str) -> Callable[[], object]:
    folder = root.parent / f"{root.name}-adr"
    folder.mkdir()
    page = f"# 1. Use x\n\n## Status\n\nAccepted\n\n## Context\n\n{text}\n\n## Decision\n\n{text}\n"
    (folder / "0001-x.md").write_text(page)
    return lambda: run(root, "import", "adr", str(folder))


def pulled(root: Path, text: str) -> None:
    path = root / "content/anchors/global/P009-hostile.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record("P009", "pitfall", "global", text))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Pulled")


def hooked(event: str) -> Door:
    session = "aaaaaaaa-1111-4222-8333-000000000001"

    def door(root: Path, text: str) -> Callable[[], object]:
        shared = {"cwd": str(root), "sessionId": session}
        rows = [
            {**shared, "type": "user", "uuid": "u1", "timestamp": "2026-11-20T02:10:01.666Z",
             "message": {"role": "user", "content": f"look. {text}"}},
            {**shared, "type": "assistant", "uuid": "a1", "timestamp": "2026-11-20T02:11:01.666Z",
             "message": {"role": "assistant", "model": "m", "id": "m1", "type": "message",
                         "content": [{"type": "text", "text": text}]}},
        ]  # fmt: skip
        transcript = root.parent / f"{root.name}.jsonl"
        transcript.write_text("\n".join(map(json.dumps, rows)) + "\n")
        given = json.dumps({
            "session_id": session, "transcript_path": str(transcript), "cwd": str(root), "prompt": text,
            "tool_name": "Bash", "tool_input": {"command": f"echo {text}"}, "trigger": "auto",
        })  # fmt: skip
        return lambda: subprocess.run(
            [*HOOK, event], input=given.encode(), cwd=root, env=os.environ, capture_output=True, check=True, timeout=300
        )

    return door


DOORS: dict[str, Door] = {
    "write": written, "MCP write": written_by_an_agent, "wiki": shown_in_the_wiki, "search": searched, "check": checked,
    "merge driver": merged_by_git, "import adr": imported,
    **{event: hooked(event) for event in ("pre-compact", "stop", "user-prompt", "pre-tool")},
}  # fmt: skip


@pytest.fixture
def places(root: Path) -> Callable[[], Path]:
    """Return a fresh copy of a knowledge base each time it is called."""
    number = iter(range(100))

    def copied() -> Path:
        place = root.parent / f"copy{next(number)}"
        subprocess.run(["cp", "-a", str(root), str(place)], check=True)
        return place

    return copied


@pytest.mark.parametrize("door", DOORS)
def test_no_door_is_held_open_by_a_hostile_text(door: str, places: Callable[[], Path]) -> None:
    holds(DOORS[door], places)


@pytest.mark.parametrize("door", ["write", "MCP write", "check", "pre-compact"])
def test_a_megabyte_of_secrets_holds_no_door_open(door: str, places: Callable[[], Path]) -> None:
    took = seconds(DOORS[door], places(), repeated(TEXTS["assignments"], 1_000_000))
    assert took <= _A_MEGABYTE or took <= _A_MEGABYTE * slowness()


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if kind != "assignments"])
def test_no_kind_alone_holds_a_hook_up(kind: str, places: Callable[[], Path]) -> None:
    door = DOORS["pre-compact"]
    took = seconds(door, places(), repeated(TEXTS[kind], LENGTH))
    assert took <= allowed(door) or took <= allowed(door) * slowness()


def test_a_very_long_section_is_shown_as_it_stands(root: Path) -> None:
    pulled(root, f"Long {'wide <b>word</b> ' * 20_000}")
    done = run(root, "wiki", "build", "-o", str(root.parent / "site"))
    assert done.code == 0, done.error
    page = (root.parent / "site/anchors/global/P009.html").read_text()
    assert "characters, shown as they stand in the file" in page
    assert "<b>word" not in page and "wide &lt;b&gt;word" in page
