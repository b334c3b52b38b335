"""Teams: clones of one remote that write, edit, delete and sync in random order, also killed; in the end all agree.

    python -m bench.team [--seeds 1-20] [--clones 3] [--steps 60]

In the end every clone syncs until nothing moves. Then all must stand at the same commit, no number and no title may be
there twice, and every text that was acknowledged has to be there, unless somebody deleted its record.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.faultcases import git
from bench.storm import bad_refs, texts_of
from bench.stormworld import environment
from bench.writers import said
from kb.errors import NeedsPerson
from kb.knowledge_base import KnowledgeBase, make

_BIN = Path(sys.executable).parent
_MARK = "<!-- USER_BLOCK_START -->\n"
_ROUNDS = 4
_OUTER = dict(os.environ)


class Team:
    """Clones of one remote, and the texts that have to survive."""

    def __init__(self, folder: Path, seed: int, clones: int) -> None:
        """Make the remote in *folder*, with nothing in it, and the clones."""
        self.chance = random.Random(seed)
        self.seed = seed
        self.number = 0
        self.counts: Counter[str] = Counter()
        self.kept: dict[str, str] = {}
        """Text → title of the record that has it."""
        remote = folder / "remote.git"
        git(folder, "init", "-q", "--bare", "-b", "main", str(remote))
        made, _ = make(str(folder / "seed"), os.environ, name="team")
        made.close()
        git(folder / "seed", "push", "-q", str(remote), "main")
        self.clones = [folder / f"clone-{number}" for number in range(clones)]
        for clone in self.clones:
            git(folder, "clone", "-q", str(remote), clone.name)

    def step(self) -> None:
        """Let one clone do one thing."""
        acts: tuple[Callable[[Path], object], ...] = (
            self._write, self._write, self._write, self._fact, self._edit, self._edit, self._delete, self._sync,
            self._sync, self._killed_sync, self._pull,
        )  # fmt: skip
        act = self.chance.choice(acts)
        self.counts[act.__name__[1:]] += 1
        act(self.chance.choice(self.clones))

    def come_together(self) -> None:
        """Commit what is edited and sync everybody until all have what all have."""
        for clone in self.clones:
            self._git(clone, "merge", "--abort")
            self._git(clone, "commit", "-qam", "Put down")
        for _ in range(_ROUNDS):
            for clone in self.clones:
                if self._sync(clone) == NeedsPerson.exit_code:
                    self._bring_together(clone)

    def _bring_together(self, clone: Path) -> None:
        """Merge as a person does where both sides changed the same lines: keep those of both, and files over none."""
        self.counts["brought together"] += 1
        if not self._git(clone, "pull", "-q", "--no-rebase", "--no-edit"):
            rows = git(clone, "ls-files", "--unmerged", "-z").split("\0")[:-1]
            stages: dict[str, dict[str, str]] = {}
            for meta, path in (row.split("\t", 1) for row in rows):
                stages.setdefault(path, {})[meta.split()[2]] = meta.split()[1]
            for path, found in stages.items():
                (clone / path).write_bytes(_of_both(clone, path, found))
            self._git(clone, "add", "--", *stages)
            self._git(clone, "commit", "-q", "--no-edit")
        self._kb(clone, "kb", "renumber")

    def _kb(self, clone: Path, *words: str, stdin: object = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(_BIN / words[0]), *words[1:]], cwd=clone, input=json.dumps(stdin), capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def _git(self, clone: Path, *words: str) -> bool:
        return not subprocess.run(["git", *words], cwd=clone, capture_output=True, check=False).returncode

    def _written(self, clone: Path, one: dict[str, object], text: str) -> None:
        done = self._kb(clone, "kb-hook", "write", stdin=one)
        if done.returncode in (0, 4) and json.loads(done.stdout)[0]["verdict"] in ("created", "appended", "updated"):
            self.kept[text] = str(one["title"])

    def _write(self, clone: Path) -> None:
        self.number += 1
        one = said(self.seed, self.number)
        self._written(clone, one, str(one["title"]))

    def _fact(self, clone: Path) -> None:
        """Add a fact to a record that this clone has: of one it has not it would write a second."""
        titles = "\n".join(_title(path.read_text()) for path in clone.glob("content/anchors/global/*.md"))
        numbers = re.findall(rf"\({self.seed}-([0-9]+)\)$", titles, re.M)  # a file's name may be cut off
        if not numbers:
            return
        self.number += 1
        fact = f"The cluster measured {self.number} requests a second in the test of seed {self.seed}."
        one = said(self.seed, int(self.chance.choice(sorted(numbers))))
        self._written(clone, {**one, "why": fact, "session": f"f{self.number}"}, fact)

    def _edit(self, clone: Path) -> None:
        """Write a line into a record as a person does, and commit it."""
        paths = sorted(clone.glob("content/anchors/global/*.md"))
        if not paths:
            return
        self.number += 1
        path, note = self.chance.choice(paths), f"Note {self.number} of a person."
        text = path.read_text()
        path.write_text(text.replace(_MARK, f"{_MARK}{note}\n", 1))
        if _MARK in text and self._git(clone, "commit", "-qm", note, "--", str(path.relative_to(clone))):
            self.kept[note] = _title(text)

    def _delete(self, clone: Path) -> None:
        paths = sorted(clone.glob("content/anchors/global/*.md"))
        if len(paths) > 3:
            path = self.chance.choice(paths)
            title = _title(path.read_text())
            if self._git(clone, "rm", "-q", str(path)) and self._git(clone, "commit", "-qm", "Delete"):
                self.kept = {text: one for text, one in self.kept.items() if one != title}

    def _sync(self, clone: Path) -> int:
        code = self._kb(clone, "kb", "sync").returncode
        self.counts[f"sync: {code}"] += 1
        return code

    def _killed_sync(self, clone: Path) -> None:
        process = subprocess.Popen(
            [str(_BIN / "kb"), "sync"], cwd=clone, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(self.chance.uniform(0.05, 0.8))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for lock in (clone / ".git").rglob("*.lock"):
            lock.unlink()

    def _pull(self, clone: Path) -> None:
        """Merge without kb, as a person does, who gives a number taken twice to one record alone."""
        if self._git(clone, "pull", "-q", "--no-rebase", "--no-edit"):
            self.counts[f"renumber: {self._kb(clone, 'kb', 'renumber').returncode}"] += 1
        else:
            self._git(clone, "merge", "--abort")

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong when all have come together."""
        tips = {git(clone, "rev-parse", "main").strip() for clone in self.clones}
        if len(tips) > 1:
            yield f"the clones stand at {sorted(tips)}"
        for clone in self.clones:
            yield from bad_refs(clone)
            refs = git(clone, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/kb").split()
            everything = "\n".join(text for ref in refs for text in texts_of(clone, ref).values())
            yield from (f"{clone.name} lost: {text}" for text in self.kept if text not in everything)
            with KnowledgeBase.at(str(clone)) as kb:
                yield from (f"check: {found}" for found in kb.check() if found.severity == "error")


def _of_both(clone: Path, path: str, stages: Mapping[str, str]) -> bytes:
    """Return the file that the merge left at *path*, with the lines of both sides where both changed some.

    Of a file that one side deleted, what the other has: git's index has these *stages*.
    """
    if "2" not in stages or "3" not in stages:
        blob = stages.get("2") or stages.get("3")
        return subprocess.run(["git", "cat-file", "blob", str(blob)], cwd=clone, capture_output=True, check=True).stdout
    kept, is_base = [], False
    for line in (clone / path).read_bytes().splitlines(keepends=True):
        if line.startswith((b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")):
            is_base = line.startswith(b"|||||||")
        elif not is_base:
            kept.append(line)
    return b"".join(kept)


def _title(text: str) -> str:
    return next((row[7:].strip("\"'") for row in text.splitlines() if row.startswith("title: ")), "")


def team(folder: Path, seed: int, *, clones: int, steps: int) -> tuple[Team, list[str]]:
    """Let a team work in *folder*, which is empty, and return it with what was wrong in the end."""
    os.environ.clear()
    os.environ.update(environment(folder, _OUTER))
    working = Team(folder, seed, clones)
    for _ in range(steps):
        working.step()
    working.come_together()
    return working, list(working.wrong())


def main() -> int:
    """Let teams work and print what each found; return 1 where one found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-3", help="one, or the first and the last of many: 1-20")
    parser.add_argument("--clones", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    bad = 0
    for seed in range(int(first), int(last or first) + 1):
        folder = Path(tempfile.mkdtemp(prefix=f"team-{seed}-"))
        working, found = team(folder, seed, clones=asked.clones, steps=asked.steps)
        counts = ", ".join(f"{name} {n}" for name, n in sorted(working.counts.items()))
        print(f"team {seed}: {len(working.kept)} texts; {len(found)} wrong; {counts}", flush=True)
        for row in found:
            print(f"    {row}", flush=True)
        bad += bool(found)
        print(f"    kept: {folder}" if found else "", end="\n" if found else "", flush=True)
        if not found:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
