"""How long things take, beside a yardstick taken in the same run: medians of whole processes.

python -m bench.speed [--runs 11] [--sizes 1000,10000] [--place DIR]
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import kb
from bench import corpus

BIN = Path(sys.executable).parent
HOOK, KB, PYTHON = str(BIN / "kb-hook"), str(BIN / "kb"), sys.executable


def wall(command: list[str], place: Path, stdin: bytes = b"") -> float:
    """Return the wall milliseconds of one run; fail loudly when it fails."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=place, input=stdin, capture_output=True, check=False)
    took = (time.perf_counter() - began) * 1000
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"{command} failed: {done.stderr.decode()}")
    return took


def paired(yardstick: Callable[[int], float], subject: Callable[[int], float], runs: int) -> tuple[float, float]:
    """Return the medians of both, run in turn, the first of each left out."""
    pairs = [(yardstick(number), subject(number)) for number in range(runs + 1)][1:]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def row(what: str, base: float, took: float, must: float) -> None:
    """Print one line of the table."""
    ratio = took / base
    print(
        f"| {what:58} | {base:7.1f} | {took:7.1f} | {ratio:5.2f}× | ≤ {must}× | {'yes' if ratio <= must else 'NO'} |",
        flush=True,
    )


def starts(place: Path, runs: int) -> None:
    """Measure what does not write, over the knowledge base at *place*."""
    bare = lambda _: wall([PYTHON, "-c", "pass"], place)  # noqa: E731
    name = json.loads(subprocess.run([KB, "list", "--json"], cwd=place, capture_output=True, check=True).stdout)[0][
        "id"
    ]
    nowhere = Path(tempfile.mkdtemp())
    prompt = json.dumps(
        {"prompt": "why do we retry the webhook and cache the search index? 退款窗口", "cwd": str(place)}
    ).encode()
    empty = json.dumps({"prompt": "", "cwd": str(place)}).encode()
    read = json.dumps({"tool_name": "Read", "tool_input": {"file_path": __file__}, "cwd": str(place)}).encode()
    for what, command, stdin, folder, must in (
        ("kb-hook, no knowledge base", [HOOK, "user-prompt"], b"{}", nowhere, 2.5),
        ("kb-hook, nothing to do", [HOOK, "user-prompt"], empty, place, 2.5),
        ("kb-hook pre-tool, nothing to do", [HOOK, "pre-tool"], read, place, 2.5),
        ("kb-hook user-prompt, one hint", [HOOK, "user-prompt"], prompt, place, 4),
        ("kb --help", [KB, "--help"], b"", place, 5),
        ("kb show", [KB, "show", "--scope", "global", name], b"", place, 5),
        ("kb search", [KB, "search", "退款窗口"], b"", place, 6),
    ):
        base, took = paired(bare, lambda _, c=command, s=stdin, f=folder: wall(c, f, s), runs)  # type: ignore[misc]
        row(what, base, took, must)


def hooks(place: Path, runs: int) -> None:
    """Measure every hook that only reads, for a host of kb's own words and for one of others: 95 in 100 are as fast."""
    session = {"session_id": "bench", "cwd": str(place), "source": "startup", "agent_type": "Explore"}
    prompt = {"prompt": "why do we retry the webhook and cache the search index? 退款窗口"}
    paths = [f"src/part{n:03}/module_{n:03}.py" for n in range(500)]
    read = {"tool_name": "Read", "tool_input": {"file_path": __file__}}
    searched = {"tool_name": "Glob", "tool_input": {"pattern": "*"}, "tool_response": {"filenames": paths}}
    for word, more in (("user-prompt", prompt), ("subagent-start", prompt), ("session-start", {}), ("pre-tool", read),
                       ("post-tool", searched)):  # fmt: skip
        for host in ("claude", "gemini"):
            payload = json.dumps({**session, **more}).encode()
            command = [HOOK, word, "--host", host]
            pairs = [(wall([PYTHON, "-c", "pass"], place), wall(command, place, payload)) for _ in range(runs + 1)][1:]
            base, took = (sorted(side)[round(0.95 * (len(side) - 1))] for side in zip(*pairs, strict=True))
            row(f"kb-hook {word} of {host}, p95, N=10,000", base, took, 4)


def writes(place: Path, size: int, runs: int) -> None:
    """Measure one record written, whole process, beside git add and commit of one file in the same repository."""
    limits = {1_000: (4.5, 7.0), 10_000: (2.0, 3.0), 100_000: (1.2, 2.0)}.get(size, (4.5, 7.0))
    mark = time.time_ns()

    def git(number: int) -> float:
        file = place / "content" / "anchors" / "global" / f"note-{time.time_ns()}.txt"
        file.write_text("x" * 1500)
        return wall(["sh", "-c", f"git add '{file}' && git commit -q -m x"], place)

    def candidate(number: int) -> bytes:
        words = corpus.word(mark + number * 7919)
        value = {"kind": "decision", "title": f"Keep {words} apart from {words[::-1]}",
                 "why": f"because {words} grows without bound",
                 "decision": f"The {words} part has a process of its own, and the rest calls it.",
                 "impact_areas": ["architecture"],
                 "scope": "global", "session": "bench"}  # fmt: skip
        return json.dumps(value).encode()

    for what, command, must in (
        ("kb-hook write", [HOOK, "write"], limits[0]),
        ("kb write -", [KB, "write", "-"], limits[1]),
    ):
        base, took = paired(git, lambda n, c=command: wall(c, place, candidate(n + (50 if c[0] == KB else 0))), runs)  # type: ignore[misc]
        row(f"{what}, N={size:,} (yardstick: git add && git commit)", base, took, must)


def whole(what: str, command: list[str], place: Path, seconds: float, megabytes: int, stdin: bytes = b"") -> None:
    """Measure one long command: its wall time and the peak memory of the largest of its processes."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=place, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss // 1024
    good = took <= seconds and peak <= megabytes and process.returncode == 0
    print(
        f"| {what} | {took:.2f} s | {peak} MB | ≤ {seconds} s, ≤ {megabytes} MB | {'yes' if good else 'NO'} |",
        flush=True,
    )


def big(place: Path, size: int) -> None:
    """Measure what takes long: an index built from nothing, and at 1,000 records a session of 3 MB."""
    for end in ("", "-wal", "-shm"):
        (place / ".kb" / f"index.db{end}").unlink(missing_ok=True)
    if size == 10_000:
        whole(f"index from nothing, N={size:,}", [KB, "list", "--kind", "CK"], place, 15, 500)
    else:
        wall([KB, "list", "--kind", "CK"], place)
    if size == 1_000:
        transcript = place.parent / "session.jsonl"
        transcript.write_bytes(corpus.transcript(3_000_000))
        payload = {"hook_event_name": "PreCompact", "session_id": f"s{time.time_ns()}", "cwd": str(place),
                   "trigger": "auto", "transcript_path": str(transcript)}  # fmt: skip
        whole("PreCompact on 3 MB, N=1,000", [HOOK, "pre-compact"], place, 2, 250, json.dumps(payload).encode())


def imports(place: Path) -> None:
    """Measure the import of 10,000 ADR files into an empty knowledge base."""
    source = place.parent / "adrs"
    if not source.exists():
        source.mkdir()
        for number in range(10_000):
            (source / f"{number:05}-{corpus.word(number)}.md").write_text(corpus.adr(number), encoding="utf-8")
    target = Path(tempfile.mkdtemp(dir=place.parent)) / "kb"
    subprocess.run([KB, "init", str(target)], check=True, capture_output=True)
    whole("kb import of 10,000 ADRs", [KB, "import", "adr", str(source), "--scope", "global"], target, 60, 500)


def main() -> None:
    """Print the tables."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--runs", type=int, default=11)
    words.add_argument("--sizes", default="1000,10000")
    words.add_argument("--place", default=str(Path(tempfile.gettempdir()) / "kb-bench"))
    given = words.parse_args()
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "bench")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "bench@example.com")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(str(Path(kb.__file__).parent), quiet=1)
    print("| what | yardstick ms | ms | ratio | must | met |\n|---|---|---|---|---|---|")
    for size in map(int, given.sizes.split(",")):
        place = corpus.build(Path(given.place) / str(size), size)
        big(place, size)
        if size == 10_000:
            imports(place)
            starts(place, given.runs)
            hooks(place, given.runs)
        writes(place, size, given.runs)


if __name__ == "__main__":
    main()
