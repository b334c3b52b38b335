"""Interrupt kb at every step, and by everything else: what is lost, doubled or left lying about.

    python -m bench.faults [--short] [--only WORD] [--points N] [--modes kill,ENOSPC] [--seed N]
                           [--rows FILE] [--write-docs]

The short form takes two minutes, the long one an hour. `--write-docs` puts the tables into docs/reliability.md. With
`--rows` a run that was cut off goes on where it stopped.
"""

import argparse
import json
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from bench.faultcases import OPERATIONS
from bench.faultsteps import LONG, sealed, stepped, workshop
from bench.faultworld import SCENES, Stage

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
_MARK = "<!-- Made by `python -m bench.faults --write-docs` from here on; do not edit. -->\n"
SHORT = 2
"""At so many boundaries each fault is tried in the short form, at others for every fault."""


class Row(NamedTuple):
    """One line of a table."""

    name: str
    boundaries: int
    tried: Counter[str]
    mended: int
    """After how many faults the doctor had something to report and repair."""
    wrong: tuple[str, ...]


def operation(number: int, points: int, modes: Sequence[str]) -> Row:
    """Step through one operation."""
    boundaries, results = stepped(OPERATIONS[number], points, modes)
    wrong = tuple(
        f"{r.fault.mode} at {r.fault.at} {r.boundary}: {' / '.join(r.problems)}" for r in results if r.problems
    )
    tried = Counter(result.fault.mode for result in results)
    return Row(OPERATIONS[number].name, boundaries, tried, sum(bool(r.mended) for r in results), wrong)


def scene(number: int, times: int, seed: int) -> Row:
    """Play one scene a number of times."""
    one = SCENES[number]
    with tempfile.TemporaryDirectory(dir=workshop()) as name, sealed(Path(name) / "home"):
        stage = Stage()
        wrong: list[str] = []
        for turn in range(times):
            wrong += [
                f"turn {turn}: {problem}" for problem in one.play(stage, random.Random(f"{seed} {number} {turn}"))
            ]
    return Row(one.name, times, stage.notes, 0, tuple(wrong))


def _operation(given: tuple[int, int, Sequence[str]]) -> Row:
    return operation(*given)


def _scene(given: tuple[int, int, int]) -> Row:
    return scene(*given)


class Rows:
    """The rows of a run, also those of a run that was cut off."""

    def __init__(self, path: str) -> None:
        """Keep them in the file *path*; "" for none."""
        self._path = path
        self._known: dict[str, Row] = {}
        lines = Path(path).read_text(encoding="utf-8").splitlines() if path and Path(path).exists() else []
        for value in map(json.loads, lines):
            row = Row(**value)._replace(tried=Counter(value["tried"]), wrong=tuple(value["wrong"]))
            self._known[row.name] = row

    def of(self, names: Sequence[str], made: Callable[[list[int]], Iterator[Row]]) -> list[Row]:
        """Return the rows of *names*; those that are not there yet are *made* by their places."""
        for row in made([place for place, name in enumerate(names) if name not in self._known]):
            self._known[row.name] = row
            _tell(row)
            if self._path:
                with open(self._path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row._asdict(), ensure_ascii=False) + "\n")
        return [self._known[name] for name in names]


def _tell(row: Row) -> None:
    about = f"{row.boundaries}, {dict(row.tried)}, mended {row.mended}, wrong {len(row.wrong)}"
    print(f"{row.name}: {about}", *row.wrong[:40], sep="\n    ", flush=True)


def tables(operations: Sequence[Row], scenes: Sequence[Row], points: int) -> str:
    """Return the tables of the page, of a run at so many *points*."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    tried = sum(row.tried.total() for row in operations) + sum(row.boundaries for row in scenes)
    wrong = sum(len(row.wrong) for row in (*operations, *scenes))
    where = f"at {points} boundaries of each operation or more" if points else "at every boundary"
    killed = sum(row.boundaries for row in scenes if "killed at random" in row.name)
    lines = [
        f"Last run: {time.strftime('%Y-%m-%d')}, {git}, Python {platform.python_version()}, {platform.system()};"
        f" {tried} faults, each sort {where}; {killed} processes killed at random."
        f" Something was wrong afterwards: {wrong} times.\n",
        "| operation | boundaries | " + " | ".join(LONG) + " | doctor had to repair | wrong |",
        "|---|--:|" + "--:|" * (len(LONG) + 2),
    ]
    for row in operations:
        counts = " | ".join(str(row.tried[mode]) for mode in LONG)
        lines.append(f"| {row.name} | {row.boundaries} | {counts} | {row.mended} | {len(row.wrong)} |")
    lines += ["", "| scene | times | wrong | how; what the doctor named |", "|---|--:|--:|---|"]
    for row in scenes:
        notes = ", ".join(f"{word} {n}" for word, n in sorted(row.tried.items()))
        lines.append(f"| {row.name} | {row.boundaries} | {len(row.wrong)} | {notes} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Try everything and print what came of it; return 1 when something was wrong."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--short", action="store_true")
    words.add_argument("--only", default="")
    words.add_argument("--points", type=int, default=0, help="boundaries to try for each fault; 0: all")
    words.add_argument("--modes", default=",".join(LONG))
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--rows", default="", metavar="FILE", help="keep what is done in FILE, and do only the rest")
    words.add_argument("--write-docs", action="store_true")
    given = words.parse_args()
    modes, points = given.modes.split(","), given.points or (SHORT if given.short else 0)
    picked = [n for n, o in enumerate(OPERATIONS) if re.search(given.only, o.name) and (o.short or not given.short)]
    scened = [n for n, s in enumerate(SCENES) if re.search(given.only, s.name)]
    rows = Rows(given.rows)
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        scenes = rows.of(
            [SCENES[n].name for n in scened],
            lambda left: pool.map(
                _scene, [(scened[at], _times(scened[at], short=given.short), given.seed) for at in left]
            ),
        )
        operations = rows.of(
            [OPERATIONS[n].name for n in picked],
            lambda left: pool.map(_operation, [(picked[at], points, modes) for at in left]),
        )
    if given.write_docs:
        text = PAGE.read_text(encoding="utf-8").partition(_MARK)[0]
        PAGE.write_text(text + _MARK + "\n" + tables(operations, scenes, points), encoding="utf-8")
    return 1 if any(row.wrong for row in (*operations, *scenes)) else 0


def _times(number: int, *, short: bool) -> int:
    return SCENES[number].short if short else SCENES[number].long


if __name__ == "__main__":
    sys.exit(main())
