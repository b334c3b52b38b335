"""Many writers at once on one clone: what is lost, how many a second, how long one waits.

    python -m bench.writers [--processes 16] [--each 25] [--size 200] [--place DIR]
    python -m bench.writers --processes 4 --each 500 --size 10000

The yardstick of each run is `git add && git commit` of one file a time under a lock, by as many processes, in a copy
of the same repository. A loss is a write that was reported done and is not in HEAD exactly once.
"""

import argparse
import fcntl
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench import corpus
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import build_candidates

HOOK = str(Path(sys.executable).parent / "kb-hook")

Times = list[float]
Work = Callable[[Path, int, int], Times]


def said(writer: int, number: int) -> dict[str, object]:
    """Return a candidate like no other, of writer and number."""
    words = corpus.word(writer * 7_919 + number * 104_729 + 17)
    return {
        "kind": "decision", "title": f"Keep {words} apart from {words[::-1]} ({writer}-{number})",
        "decision": f"The {words} part has a process of its own, and the rest calls it.",
        "why": f"because {words} grows without bound", "impact_areas": ["architecture"], "scope": "global",
        "session": f"s{writer}", "host": "bench",
    }  # fmt: skip


def by_library(place: Path, writer: int, each: int) -> Times:
    """Write *each* candidates through one open KnowledgeBase."""
    times: Times = []
    with KnowledgeBase.open(str(place), dict(os.environ)) as kb:
        for number in range(each):
            began = time.perf_counter()
            (verdict,) = kb.write(build_candidates(said(writer, number), "bench"), folder=str(place))
            times.append(time.perf_counter() - began)
            assert verdict.verdict == "created", verdict
    return times


def by_hook(place: Path, writer: int, each: int) -> Times:
    """Write *each* candidates, each by a `kb-hook write` of its own."""
    times: Times = []
    for number in range(each):
        began = time.perf_counter()
        done = subprocess.run(
            [HOOK, "write"], cwd=place, input=json.dumps(said(writer, number)).encode(), capture_output=True, check=True
        )
        times.append(time.perf_counter() - began)
        assert json.loads(done.stdout)[0]["verdict"] == "created", done.stdout
    return times


def by_git(place: Path, writer: int, each: int) -> Times:
    """Commit *each* files with git, one process after the other under a lock."""
    times: Times = []
    with open(place / ".git" / "bench-lock", "w") as lock:
        for number in range(each):
            file = place / "content" / "anchors" / "global" / f"N{writer}-{number}.txt"
            file.write_text("x" * 1500)
            began = time.perf_counter()
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run(["sh", "-c", f"git add '{file}' && git commit -q -m x"], cwd=place, check=True)
            fcntl.flock(lock, fcntl.LOCK_UN)
            times.append(time.perf_counter() - began)
    return times


def together(work: Work, place: Path, processes: int, each: int) -> tuple[float, Times]:
    """Let *processes* do *work* at once; return how many are done a second, and how long each took."""
    began = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        rows = pool.starmap(work, [(place, writer, each) for writer in range(processes)], chunksize=1)
    took = time.perf_counter() - began
    return processes * each / took, [one for row in rows for one in row]


def lost(place: Path, processes: int, each: int) -> int:
    """Return how many of the writes are not in HEAD exactly once, or not in the checkout, or not in the index."""
    wanted = [str(said(writer, number)["title"]) for writer in range(processes) for number in range(each)]
    git = ["git", "-C", str(place)]
    names = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    titles: Counter[str] = Counter()
    for name in names.stdout.splitlines():
        if name.endswith(".md") and "/D" in name:
            text = (place / name).read_text(encoding="utf-8") if (place / name).exists() else ""
            titles.update(
                line[len("title: ") :].strip("\"'") for line in text.splitlines() if line.startswith("title: ")
            )
    with KnowledgeBase.open(str(place), dict(os.environ)) as kb:
        known = Counter(record.title for record in kb.records())
    assert not subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=True).stdout, "not clean"
    subprocess.run([*git, "fsck", "--no-dangling"], capture_output=True, check=True)
    return sum(1 for title in wanted if titles[title] != 1 or known[title] != 1)


def row(what: str, rate: float, base: float, times: Times, missing: object, must: float) -> None:
    """Print one line of the table."""
    ordered = sorted(times)
    p50, p95, top = (1000 * x for x in (statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1]))
    met = "–" if not must else "yes" if rate / base >= must and not missing else "NO"
    asked = f"≥ {must}×" if must else ""
    print(
        f"| {what:32} | {rate:7.1f} | {rate / base:5.2f}× | {asked:7} | {p50:6.0f} / {p95:6.0f} / {top:6.0f}"
        f" | {missing!s:>4} | {met} |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--processes", type=int, default=16)
    words.add_argument("--each", type=int, default=25)
    words.add_argument("--size", type=int, default=200, help="records that are there before")
    words.add_argument("--place", default=str(Path(tempfile.gettempdir()) / "kb-bench"))
    given = words.parse_args()
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "bench")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "bench@example.com")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    whole = Path(tempfile.mkdtemp(dir=given.place if os.path.isdir(given.place) else None))
    try:
        base = corpus.build(Path(given.place) / f"writers-{given.size}", given.size)
        measure(base, whole, given.processes, given.each)
    finally:
        shutil.rmtree(whole)


def measure(base: Path, whole: Path, processes: int, each: int) -> None:
    """Measure the ways of writing, each in a copy of *base* below *whole*."""
    print(f"{processes} processes × {each} writes; ms of one write: median / 95 % / longest")
    print("| way | a second | ratio | must | ms | lost | met |\n|---|---|---|---|---|---|---|")

    def copy(name: str) -> Path:
        return Path(shutil.copytree(base, whole / name, symlinks=True))

    rate, times = together(by_git, copy("git"), processes, each)
    row("git add && git commit, locked", rate, rate, times, 0, 0)
    for what, work, must in (("library", by_library, 1.5), ("kb-hook, a process each", by_hook, 0.6)):
        place = copy(work.__name__)
        mine, times = together(work, place, processes, each)
        row(what, mine, rate, times, lost(place, processes, each), must)
    place = copy("single")
    single, times = together(by_library, place, 1, 50)
    row("library, one process", single, rate, times, lost(place, 1, 50), 0)
    place = copy("batch")
    many = [value for number in range(500) for value in [said(0, number)]]
    began = time.perf_counter()
    with KnowledgeBase.open(str(place), dict(os.environ)) as kb:
        kb.write(build_candidates(many, "bench"), folder=str(place))
    batch = 500 / (time.perf_counter() - began)
    print(f"batch of 500: {batch:.0f} a second, {batch / single:.1f} × one at a time by the library (must: ≥ 20×)")


if __name__ == "__main__":
    main()
