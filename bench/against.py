"""How long a pull request of 20 records takes to compare with a main of 10,000, from nothing and with an index.

python -m bench.against [--size 10000] [--branches 20] [--place DIR]
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench import corpus
from bench.speed import KB, wall, whole
from kb.records.blocks import edit_section
from kb.records.front_matter import decode_record, edit_front_matter
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL
from kb.records.record_file import render

SECONDS, MEGABYTES = 5, 500
SCOPES = ("global", "project/p1", "project/p2", "project/p3")


def git(place: Path, *words: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True, text=True).stdout


def new_record(place: Path, number: int, supersedes: tuple[str, ...] = ()) -> None:
    """Write the record *number*, which nobody has yet, into the checkout."""
    scope = SCOPES[number % len(SCOPES)] if not supersedes else GLOBAL
    record = corpus.record(number * len(KINDS), scope, random.Random(number))._replace(supersedes=supersedes)
    file = place / record.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(record), encoding="utf-8")


def edited(place: Path, path: str, changes: dict[str, str], decision: str) -> None:
    """Change the front and the decision of the record in the file *path*."""
    text = edit_front_matter(decode_record((place / path).read_bytes()), changes)
    (place / path).write_text(edit_section(text, "decision", decision), encoding="utf-8")


def fill(place: Path, size: int, branches: int) -> None:
    """Make the branches: a pull request with 12 new, 5 changed and 3 superseded records, a main that moved, others."""
    files = sorted(git(place, "ls-files", "content/anchors").splitlines())
    files = [file for file in files if file.endswith(".md")]
    there = [file for file in files if file.startswith("content/anchors/global/D")]

    def commit(branch: str) -> None:
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"Fill {branch}")

    for branch in range(branches):
        git(place, "switch", "-qc", f"work-{branch}", "main")
        for number in range(5):
            new_record(place, 2 * size + branch * 10 + number)
        commit(f"work-{branch}")
        git(place, "update-ref", f"refs/remotes/origin/work-{branch}", f"work-{branch}")
    git(place, "switch", "-qc", "request", "main")
    for number in range(12):
        superseded = there[number].rpartition("/")[2].partition("-")[0]
        new_record(place, 3 * size + number, (superseded,) if number < 3 else ())
    for file in there[:3]:
        edited(place, file, {"status": "superseded"}, "It was so.")
    for file in files[40:45]:
        edited(place, file, {}, "It is otherwise now, and that is what changed.")
    commit("request")
    git(place, "switch", "-q", "main")
    for number in range(10):
        new_record(place, 4 * size + number)
    for file in files[60:80]:
        edited(place, file, {}, "Main has changed this meanwhile.")
    commit("main")
    git(place, "update-ref", "refs/remotes/origin/main", "main")
    git(place, "switch", "-q", "request")


def built(place: Path, size: int, branches: int) -> Path:
    """Return a clone that holds all of it, made once."""
    target = place / f"against-{size}-{branches}"
    if not (target / ".filled").exists():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(corpus.build(place / str(size), size), target, symlinks=True)
        shutil.rmtree(target / ".kb", ignore_errors=True)
        (target / ".git" / "info" / "exclude").write_text(".ready\n.filled\n")
        fill(target, size, branches)
        git(target, "gc", "-q")
        (target / ".filled").touch()
    return target


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--size", type=int, default=10_000)
    words.add_argument("--branches", type=int, default=20)
    words.add_argument("--place", default=str(Path(tempfile.gettempdir()) / "kb-bench"))
    given = words.parse_args()
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "bench")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "bench@example.com")
    place = built(Path(given.place), given.size, given.branches)
    command = [KB, "check", "--against", "origin/main", "--format", "markdown"]
    print("| what | took | peak | must | met |\n|---|---|---|---|---|")
    shutil.rmtree(place / ".kb", ignore_errors=True)
    what = f"kb check --against, N={given.size:,}, 20 records, {given.branches} branches"
    whole(f"{what}, as in CI: no index", command, place, SECONDS, MEGABYTES)
    wall([KB, "list", "--kind", "CK"], place)
    whole(f"{what}, with an index", command, place, SECONDS, MEGABYTES)


if __name__ == "__main__":
    main()
