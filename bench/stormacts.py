"""What happens in a storm: writers of every door, a person at git, and processes that are killed and stopped."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench.stormworld import World
from bench.writers import said

_BIN = Path(sys.executable).parent
_WRITERS_EACH = 10_000
"""Candidates that one writer can have."""


class Told(NamedTuple):
    """A verdict that a process gave before it ended."""

    title: str
    verdict: str
    commit: str


class Storm:
    """Everything that is under way; each actor is a thread."""

    def __init__(self, world: World, seed: int, environment: dict[str, str]) -> None:
        """Begin in *world*; everything random follows from *seed*."""
        self.world, self.seed, self.environment = world, seed, environment
        self.over = threading.Event()
        self.told: list[Told] = []
        self.files: list[str] = []
        """The files that the person made."""
        self.counts: Counter[str] = Counter()
        self.trouble: list[str] = []
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    # writers

    def write(self, writer: int) -> None:
        """Write until the storm is over, through one door or another."""
        chance = random.Random(self.seed * 1000 + writer)
        number = writer * _WRITERS_EACH
        while not self.over.is_set():
            number += 1
            door = chance.choice(("write", "write", "hook", "hook", "hook", "session", "sync"))
            place = self.world.second if chance.random() < 0.2 else self.world.place
            getattr(self, f"_by_{door}")(place, number)

    def _by_write(self, place: Path, number: int) -> None:
        self._written(self._called(("kb", "write", "--json", "-"), place, said(self.seed, number)), "write")

    def _by_hook(self, place: Path, number: int) -> None:
        self._written(self._called(("kb-hook", "write"), place, said(self.seed, number)), "hook")

    def _by_session(self, place: Path, number: int) -> None:
        one = said(self.seed, number)
        words = f"[D] {one['title']}\n- Why: {one['why']}, and the architecture needs it.\n"
        name = f"{number:08x}-1111-4222-8333-{self.seed:012x}"
        path = self.world.top / f"{name}.jsonl"
        rows = [
            {"type": kind, "cwd": str(place), "sessionId": name, "message": {"role": kind, "content": text}}
            for kind, text in (("user", "Please look at it."), ("assistant", words))
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        asked = {"session_id": name, "transcript_path": str(path), "cwd": str(place), "hook_event_name": "PreCompact"}
        self._called(("kb-hook", "pre-compact"), place, asked)

    def _by_sync(self, place: Path, number: int) -> None:
        self._called(("kb", "sync"), place, number)

    def _called(self, words: tuple[str, ...], place: Path, stdin: object) -> bytes:
        """Run a command of kb's that may be killed at any moment, and return what it printed."""
        process = subprocess.Popen(
            [str(_BIN / words[0]), *words[1:]], cwd=place, env=self.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._running[process.pid] = process
        try:
            out, error = process.communicate(json.dumps(stdin).encode(), timeout=120)
        except subprocess.TimeoutExpired:
            self.trouble.append(f"{words} did not end")
            os.killpg(process.pid, signal.SIGKILL)
            out, error = process.communicate()
        finally:
            del self._running[process.pid]
        self.counts[f"{words[0]} {words[1]}: {process.returncode}"] += 1
        if b"Traceback" in error:
            self.trouble.append(error.decode()[-1500:])
        return out

    def _written(self, out: bytes, door: str) -> None:
        with contextlib.suppress(ValueError):  # cut off: nothing was said
            rows: list[dict[str, Any]] = json.loads(out or b"[]")
            self.counts.update(f"{door} {row['verdict']}" for row in rows)
            self.told += [Told(row["title"], row["verdict"], row.get("commit", "")) for row in rows]

    # who kills

    def kill(self) -> None:
        """Kill or stop a process of kb's, with its git or without, every now and then."""
        chance = random.Random(self.seed + 7)
        while not self.over.wait(chance.uniform(0.05, 0.4)):
            for pid in chance.sample(list(self._running), min(1, len(self._running))):
                with contextlib.suppress(OSError):
                    end = chance.choice((os.kill, os.killpg))
                    if chance.random() < 0.6:
                        end(pid, signal.SIGKILL)
                        self.counts["killed"] += 1
                    else:
                        os.killpg(pid, signal.SIGSTOP)
                        threading.Timer(chance.uniform(0.1, 2), _go_on, (pid,)).start()
                        self.counts["stopped"] += 1

    # the person

    def work(self) -> None:
        """Commit, stage, stash, branch, merge and edit as a person does, until the storm is over."""
        chance = random.Random(self.seed + 13)
        acts = (
            self._commit, self._stage, self._edit, self._keep, self._stash, self._unstash, self._branch, self._home,
            self._merge, self._rebase, self._pack,
        )  # fmt: skip
        while not self.over.wait(chance.uniform(0.02, 0.3)):
            act = chance.choice(acts)
            self.counts[f"person {act.__name__[1:]}"] += 1
            act(chance)
        for words in (("rebase", "--quit"), ("merge", "--abort")):
            self.git(*words)

    def git(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run git as the person does; it may be refused."""
        place = self.world.place
        return subprocess.run(
            ["git", *words], cwd=place, env=self.environment, capture_output=True, text=True, check=False
        )

    def _new_file(self) -> str:
        name = f"mine-{len(self.files)}.txt"
        (self.world.place / name).write_text(f"{name}\n")
        self.files.append(name)
        return name

    def _commit(self, chance: random.Random) -> None:
        name = self._new_file()
        self.git("add", name)
        self.git("commit", "-qm", f"Add {name}", "--", name)

    def _stage(self, chance: random.Random) -> None:
        self.git("add", self._new_file())

    def _edit(self, chance: random.Random) -> None:
        with (self.world.place / "code.txt").open("a") as file:
            file.write(f"{len(self.files)}\n")

    def _keep(self, chance: random.Random) -> None:
        self.git("commit", "-qm", "Keep", "-a")

    def _stash(self, chance: random.Random) -> None:
        if not self.git("stash", "list").stdout:
            self.git("stash", "push", "-q", *chance.choice(((), ("--", "code.txt"))))

    def _unstash(self, chance: random.Random) -> None:
        self.git("stash", "pop", "-q")

    def _branch(self, chance: random.Random) -> None:
        self.git("switch", "-q", "-c", f"topic-{self.counts['person branch']}")

    def _home(self, chance: random.Random) -> None:
        self.git("switch", "-q", "main")

    def _merge(self, chance: random.Random) -> None:
        name = f"topic-{chance.randint(1, max(1, self.counts['person branch']))}"
        if self.git("merge", "-q", "--no-edit", name).returncode:
            self.git("merge", "--abort")

    def _rebase(self, chance: random.Random) -> None:
        on = self.git("branch", "--show-current").stdout
        if on.startswith("topic") and self.git("rebase", "-q", "--autostash", "main").returncode:
            self.git("rebase", "--quit")

    def _pack(self, chance: random.Random) -> None:
        self.git(*chance.choice((("gc", "-q"), ("pack-refs", "--all"), ("status",))))


def _go_on(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGCONT)
