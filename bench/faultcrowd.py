"""Many writers beside a person at work: processes in one clone and its worktrees, and all that a person does with git.

Every writer is a process of its own, half of them with a `kb-hook` process for each write. The person meanwhile
commits, stages, stashes, switches branches, rebases, packs, and edits the records that are being added to.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.faultcases import decision, git
from bench.faultpoint import run
from bench.faultsteps import theirs, unsound
from bench.writers import said
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import build_candidates as candidates_of
from kb.records.candidate import candidate_to_json

_HERE = Path(__file__).parent.parent
_FIRST = 10
"""The number of the decision that is D001; there are three."""
_DONE = frozenset({"created", "appended", "updated", "unchanged", "held", "conflict"})
_PATIENCE = 120
"""Seconds that the writers may take."""
WRITERS, EACH = 6, 5
Told = Sequence[Sequence[Sequence[Any]]]
"""For each writer and candidate the verdicts."""


# -- a writer ----------------------------------------------------------------------------------------


def _is_fact(number: int) -> bool:
    return number % 4 == 3


def wanted(writer: int, number: int) -> dict[str, Any]:
    """Return what a writer writes as its *number*-th: something new, or every fourth time a fact to what is there."""
    one = said(writer, number)
    if not _is_fact(number):
        return one
    fact = f"{str(one['title']).removeprefix('Keep ')} was the ground for it."
    return candidate_to_json(decision(_FIRST + (writer + number) % 3, why=fact, session=f"w{writer}-{number}"))


def write(place: str, writer: int, way: str) -> Iterator[list[Any]]:
    """Write what *writer* has to, through the library or by a hook each time; yield the verdicts on each."""
    for number in range(EACH):
        one = wanted(writer, number)
        if way == "hook":
            told = run(("kb-hook", "write"), place, json.dumps(one).encode(), dict(os.environ))
            yield json.loads(told.out) if told.code in (0, 3, 4) else [told.code, told.error]
        else:
            with KnowledgeBase(place, os.environ) as kb:
                yield [verdict._asdict() for verdict in kb.write(candidates_of(one, "crowd"), folder=place)]


# -- the person --------------------------------------------------------------------------------------


class Person:
    """Somebody at work in *place* and in the linked worktree *side*."""

    def __init__(self, place: Path, side: Path, chance: random.Random) -> None:
        """Begin on the branch main."""
        self.place, self.side = place, side
        self.chance = chance
        self.done: Counter[str] = Counter()
        self.notes: list[str] = []
        """Lines that were written into records."""
        self.files: dict[str, str] = {}
        """What was committed or staged, and where it is to be found: in a branch, or staged."""
        self.stashed = False

    def work(self) -> None:
        """Do one thing, if git lets one."""
        ways = (self._commit, self._stage, self._note, self._note, self._keep_note, self._stash, self._unstash,
                self._switch, self._rebase, self._pack)  # fmt: skip
        way = self.chance.choice(ways)
        if way():
            self.done[way.__name__.strip("_").replace("_", " ")] += 1

    def end(self) -> None:
        """Finish what is under way and return to main."""
        self._tried(self.side, "rebase", "--abort")
        for _ in range(20):
            self._unstash()
            if not self.stashed and self._tried(self.place, "switch", "-q", "main"):
                return
            self._settle()
            time.sleep(0.05)

    def _tried(self, place: Path, *words: str) -> bool:
        command = ["git", "-C", str(place), *words]
        return not subprocess.run(command, capture_output=True, check=False).returncode

    def _new(self, kind: str) -> str:
        name = f"{kind}-{len(self.files)}.txt"
        (self.place / name).write_text(f"This is {name}\n")
        self.files[name] = kind
        return name

    def _commit(self) -> bool:
        name = self._new("committed")
        for _ in range(50):
            if self._tried(self.place, "add", name) and self._tried(self.place, "commit", "-qm", name, "--", name):
                return True
            time.sleep(0.02)
        return False

    def _stage(self) -> bool:
        name = self._new("staged")
        while not self._tried(self.place, "add", name):
            time.sleep(0.02)
        return True

    def _note(self) -> bool:
        """Edit a record as an editor does that looks whether the file has changed since it was opened."""
        if self.stashed:
            return False
        path = self.chance.choice(self._records())
        text = path.read_text()
        mark = "<!-- USER_BLOCK_START -->\n"
        note = f"note {len(self.notes)} of mine"
        beside = path.parent / f".{path.name}.swp"
        beside.write_text(text.replace(mark, f"{mark}\n{note}\n"))
        if path.read_text() == text:
            os.replace(beside, path)
            self.notes.append(note)
            return True
        beside.unlink()
        return False

    def _records(self) -> list[Path]:
        return sorted((self.place / "content/anchors/global").glob("D00[123]-*.md"))

    def _keep_note(self) -> bool:
        path = self.chance.choice(self._records())
        return self._tried(self.place, "commit", "-qm", "My notes", "--", str(path))

    def _settle(self) -> None:
        """Commit the notes, so that no branch is in the way of another."""
        for path in self._records():
            self._tried(self.place, "commit", "-qm", "My notes", "--", str(path))

    def _stash(self) -> bool:
        """Put the notes aside; where git made the entry and could not clear the files, do without it."""
        if self.stashed:
            return False
        is_cleared = self._tried(self.place, "stash", "push", "-q", "--", *map(str, self._records()))
        is_made = git(self.place, "stash", "list").count("\n") > 1
        if is_made and not is_cleared:
            git(self.place, "stash", "drop", "-q")
        self.stashed = is_made and is_cleared
        return self.stashed

    def _unstash(self) -> bool:
        if not self.stashed or git(self.place, "diff", "--name-only", "--", "content"):
            return False
        if not self._tried(self.place, "stash", "pop", "-q"):
            return False
        self.stashed = False
        return True

    def _switch(self) -> bool:
        if self.stashed:
            return False
        if git(self.place, "branch", "--show-current").strip() != "main":
            return self._tried(self.place, "switch", "-q", "main")
        return self._tried(self.place, "switch", "-q", "-c", f"topic-{self.done['switch']}")

    def _rebase(self) -> bool:
        """Put the side branch upon main; where somebody was faster, leave the branch as they left it."""
        if self._tried(self.side, "rebase", "-q", "main"):
            return True
        if not self._tried(self.side, "rebase", "--quit"):
            return False
        self._tried(self.side, "switch", "-q", "--force", "side")
        return False

    def _pack(self) -> bool:
        return self._tried(self.place, "gc", "-q")


# -- the scene ---------------------------------------------------------------------------------------


def crowded(place: Path, chance: random.Random, notes: Counter[str]) -> Iterator[str]:
    """Let everybody write beside a person; count in *notes* what was done, and yield what is wrong afterwards."""
    before = theirs(place)
    side = place.parent / "side"
    git(place, "worktree", "add", "-q", "-b", "side", str(side))
    person = Person(place, side, chance)
    started = [_started(side if number % 3 == 2 else place, number) for number in range(WRITERS)]
    end = time.monotonic() + _PATIENCE
    while any(one.poll() is None for one in started) and time.monotonic() < end:
        person.work()
    told = [json.loads(one.communicate()[0] or "[]") for one in started]
    person.end()
    notes.update(person.done)
    notes.update(str(one["verdict"]) for rows in told for row in rows for one in row if isinstance(one, dict))
    for where in (place, side):
        with KnowledgeBase(str(where), os.environ) as kb:
            kb.land()
            kb.records()
    yield from _verdicts(told)
    yield from _kept(place, told)
    yield from _untouched(place, person, before)
    for where in (place, side):
        yield from (f"{where.name}: {problem}" for problem in unsound(where))


def _started(place: Path, number: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "bench.faultcrowd", str(place), str(number), ("library", "hook")[number % 2]]
    return subprocess.Popen(command, cwd=_HERE, stdout=subprocess.PIPE)


def _verdicts(told: Told) -> Iterator[str]:
    """Yield where a candidate has not exactly one verdict that can be."""
    for writer, rows in enumerate(told):
        if len(rows) != EACH:
            yield f"writer {writer} heard {len(rows)} of {EACH} verdicts"
        for number, row in enumerate(rows):
            if len(row) != 1 or not isinstance(row[0], dict) or row[0]["verdict"] not in _DONE:
                yield f"writer {writer}, {number}: {row}"


def _kept(place: Path, told: Told) -> Iterator[str]:
    """Yield what of the written is not there exactly once: a file, a commit entry, a number, a fact."""
    trees = _trees(place)
    files: dict[str, set[tuple[str, str]]] = defaultdict(set)
    numbers: dict[str, set[str]] = defaultdict(set)
    for path, text in ((path, text) for tree in trees.values() for path, text in tree.items()):
        front = dict(row.split(": ", 1) for row in text.split("\n---")[0].splitlines() if ": " in row)
        files[front["title"].strip('"')].add((front["uid"].strip('"'), path))
        numbers[front["id"]].add(front["uid"])
    yield from (f"the number {one} has {len(uids)} records" for one, uids in numbers.items() if len(uids) != 1)
    rows = git(
        place, "log", "--exclude=kb/review/*", "--branches", "--format=%(trailers:key=Kb-Uid,valueonly,separator=%x2C)"
    ).split()
    commits = Counter(uid for row in rows for uid in row.split(","))
    for writer, number in ((writer, number) for writer in range(len(told)) for number in range(EACH)):
        one = wanted(writer, number)
        if _is_fact(number):
            yield from _once_in_each(one["why"], trees)
        elif len(files[one["title"]]) != 1:
            yield f"“{one['title']}” has the files {files[one['title']]}; heard: {told[writer][number]}"
        else:
            ((uid, path),) = files[one["title"]]
            if commits[uid] != 1:
                yield f"{path} has {commits[uid]} commits"


def _once_in_each(fact: str, trees: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield where *fact* is not once in some branch, or more than once in any."""
    times = [sum(text.count(fact) for text in tree.values()) for tree in trees.values()]
    if max(times) != 1:
        yield f"“{fact}” is there {times} times"


def _trees(place: Path) -> dict[str, dict[str, str]]:
    """Return the records of every branch by path."""
    found: dict[str, dict[str, str]] = {}
    for branch in git(place, "for-each-ref", "--format=%(refname)", "refs/heads").split():
        names = git(place, "ls-tree", "-r", "-z", "--name-only", branch, "content/anchors").split("\0")
        asked = [name for name in names if name.endswith(".md")]
        command = ["git", "-C", str(place), "cat-file", "--batch=%(objectsize)"]
        lines = "".join(f"{branch}:{name}\n" for name in asked).encode()
        data = subprocess.run(command, input=lines, capture_output=True, check=True).stdout
        files = {}
        for name in asked:
            size, _, data = data.partition(b"\n")
            files[name], data = data[: int(size)].decode(), data[int(size) + 1 :]
        found[branch] = files
    return found


def _untouched(place: Path, person: Person, before: dict[str, str]) -> Iterator[str]:
    """Yield what of the person's is not as they left it."""
    now = theirs(place)
    yield from (f"their {key} differs: {now[key]!r}" for key in ("files", "stash", "head") if now[key] != before[key])
    texts = [path.read_text() for path in (place / "content/anchors/global").glob("D00[123]-*.md")]
    texts += [text for files in _trees(place).values() for text in files.values()]
    yield from (f"“{note}” is gone" for note in person.notes if not any(f"\n{note}\n" in text for text in texts))
    yield from (f"“{note}” is there twice" for note in person.notes if any(t.count(f"\n{note}\n") > 1 for t in texts))
    rows = {row[3:]: row[:2] for row in git(place, "status", "--porcelain", "--untracked-files=all").splitlines()}
    there = git(place, "log", "--branches", "--name-only", "--format=").split()
    for name, kind in person.files.items():
        if kind == "staged" and rows.pop(name, "") != "A ":
            yield f"{name} is no longer staged"
        if kind == "committed" and name not in there and rows.pop(name, "") == "":
            yield f"{name} is gone"
    for name, letters in rows.items():
        lines = [row for row in git(place, "diff", "-U0", "--", name).splitlines()[4:] if row[:1] in "+-"]
        is_note = letters == " M" and all(row == "+" or row.startswith("+note ") for row in lines)
        if f"{letters} {name}" not in before["status"] and not is_note:
            yield f"status: {letters} {name} {lines[:6]}"


if __name__ == "__main__":
    print(json.dumps(list(write(sys.argv[1], int(sys.argv[2]), sys.argv[3]))))
