"""The doors by which a storm writes: each a function that asks kb once or a few times, in a process that may die."""

import json
import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.stormacts import Storm
from bench.stormworld import RECORDS, subject
from bench.writers import said

_WRITERS_EACH = 10_000
"""Candidates that one writer can have."""
_CALLS = 8
"""Writes of one `kb mcp`."""
_HEAD = re.compile(r"refs/heads/(kb/review/.*)")

Door = Callable[[Storm, random.Random, Path, int], None]


def write(storm: Storm, writer: int) -> None:
    """Write until *storm* is over, through one door or another."""
    chance = random.Random(storm.seed * 1000 + writer)
    number = writer * _WRITERS_EACH
    while not storm.over.is_set():
        number += _CALLS
        place = storm.world.second if chance.random() < 0.2 else storm.world.place
        chance.choice(_DOORS)(storm, chance, place, number)


def _write(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    many = [said(storm.seed, number + n) for n in range(chance.choice((1, 1, 1, 4)))]
    storm.written(storm.called(("kb", "write", "--json", "-"), place, many), "write")


def _hook(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    storm.written(storm.called(("kb-hook", "write"), place, said(storm.seed, number)), "hook")


def _fact(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    """Add a fact to a record that every clone has."""
    fact = f"The cluster measured {number} requests a second in the test of seed {storm.seed}."
    title = f"Keep {subject(chance.randrange(RECORDS))} simple"
    one = {**said(storm.seed, number), "title": title, "decision": "", "why": fact}
    told = storm.written(storm.called(("kb-hook", "write"), place, one), "fact")
    storm.facts += [fact for one in told if one.verdict in ("appended", "updated", "created")]


def _session(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    one = said(storm.seed, number)
    words = f"[D] {one['title']}\n- Why: {one['why']}, and the architecture needs it.\n"
    name = f"{number:08x}-1111-4222-8333-{storm.seed:012x}"
    path = storm.world.top / f"{name}.jsonl"
    rows = [
        {"type": kind, "cwd": str(place), "sessionId": name, "message": {"role": kind, "content": text}}
        for kind, text in (("user", "Please look at it."), ("assistant", words))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    word, event = chance.choice((("pre-compact", "PreCompact"), ("stop", "Stop"), ("session-end", "SessionEnd")))
    asked = {"session_id": name, "transcript_path": str(path), "cwd": str(place), "hook_event_name": event}
    storm.called(("kb-hook", word), place, asked)


def _import(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    one = said(storm.seed, number)
    folder = storm.world.top / f"adr-{number}"
    folder.mkdir()
    parts = ("Status", "Accepted"), ("Context", one["why"]), ("Decision", one["decision"])
    text = f"# {number}. {one['title']}\n\nDate: 2026-01-02\n" + "".join(f"\n## {a}\n\n{b}\n" for a, b in parts)
    (folder / f"{number}-one.md").write_text(text)
    words = ("kb", "import", "adr", str(folder), "--scope", "project/imported", "--json")
    storm.written(storm.called(words, place), "import")


def _mcp(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    """Write through one `kb mcp` that stays, until the storm is over or the process is killed."""
    with storm.started(("kb", "mcp"), place) as process:
        try:
            for answer in _answers(storm, process, number):
                storm.heard(answer["result"]["structuredContent"]["verdicts"], "mcp")
        except (BrokenPipeError, EOFError, ValueError):
            storm.counts["mcp died"] += 1
        except KeyError:
            storm.trouble.append(f"mcp: {answer}")
        _end(process)


def _answers(storm: Storm, process: subprocess.Popen[bytes], number: int) -> Iterator[Mapping[str, Any]]:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "storm", "version": "1"}}
    _asked(process, "initialize", client)
    for n in range(_CALLS):
        if storm.over.is_set():
            break
        arguments = {"candidates": [said(storm.seed, number + n)]}
        yield _asked(process, "tools/call", {"name": "write", "arguments": arguments})


def _asked(process: subprocess.Popen[bytes], method: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode())
    process.stdin.write(b"\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise EOFError
    answer: Mapping[str, Any] = json.loads(line)
    return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a server end that hears no more; one that is stopped is killed."""
    try:
        process.communicate(timeout=20)
    except (subprocess.TimeoutExpired, ValueError, BrokenPipeError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _accept(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    """Accept a review as a person does."""
    if reviews := _HEAD.findall(storm.git("for-each-ref", "--format=%(refname)", "refs/heads/kb/review").stdout):
        storm.called(("kb", "review", "accept", chance.choice(reviews), "--yes"), storm.world.place)


def _decide(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    """Deprecate a record that nobody adds to, or accept it again, as a person does."""
    first, other = (f"D{RECORDS + n:03}" for n in chance.sample(range(1, 2 * RECORDS + 1), 2))
    words = chance.choice((
        ("rm", first), ("supersede", first, "--by", other), ("status", first, "deprecated"),
        ("status", first, "proposed"), ("status", first, "accepted"),
    ))  # fmt: skip
    storm.called(("kb", *words, "--scope", "global", "--yes"), storm.world.place)


def _sync(storm: Storm, chance: random.Random, place: Path, number: int) -> None:
    storm.called(("kb", "sync"), place)


_DOORS: tuple[Door, ...] = (
    _write, _write, _write, _hook, _hook, _hook, _hook, _session, _session, _fact, _fact, _mcp, _import, _accept,
    _decide, _sync,
)  # fmt: skip
"""What is there more often is chosen more often."""
