"""What a storm holds: processes of kb's under way, some of which are killed or stopped, and what was heard of them."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.stormworld import World
from kb.state.state_folder import UNREADABLE

_BIN = Path(sys.executable).parent


class Told(NamedTuple):
    """A verdict that a process gave before it ended."""

    title: str
    verdict: str
    commit: str


class Storm:
    """Everything that is under way; each writer, the person and the killer of processes is a thread."""

    def __init__(self, world: World, seed: int, environment: dict[str, str]) -> None:
        """Begin in *world*; everything random follows from *seed*."""
        self.world, self.seed, self.environment = world, seed, environment
        self.over = threading.Event()
        self.told: list[Told] = []
        self.facts: list[str] = []
        """What was added to records, and acknowledged."""
        self.files: list[str] = []
        """The files that the person made."""
        self.notes: list[str] = []
        """The lines that the person wrote into records."""
        self.counts: Counter[str] = Counter()
        self.trouble: list[str] = []
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @contextlib.contextmanager
    def started(self, words: Sequence[str], place: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Lend a process of kb's that may be killed at any moment."""
        process = subprocess.Popen(
            [str(_BIN / words[0]), *words[1:]], cwd=place, env=self.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._running[process.pid] = process
        try:
            yield process
        finally:
            del self._running[process.pid]

    def called(self, words: Sequence[str], place: Path, stdin: object = None) -> bytes:
        """Run a command of kb's that may be killed at any moment, and return what it printed."""
        with self.started(words, place) as process:
            out, error = self._ended(process, words, stdin)
        self.counts[f"{words[0]} {words[1]}: {process.returncode}"] += 1
        if b"Traceback" in error:
            self.trouble.append(error.decode()[-1500:])
        return out

    def _ended(self, process: subprocess.Popen[bytes], words: Sequence[str], stdin: object) -> tuple[bytes, bytes]:
        try:
            return process.communicate(json.dumps(stdin).encode(), timeout=120)
        except subprocess.TimeoutExpired:
            self.trouble.append(f"{words} did not end")
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()

    def written(self, out: bytes, door: str) -> list[Told]:
        """Note the verdicts that a process printed, and return them."""
        try:
            said = json.loads(out or b"[]")
        except ValueError:  # cut off: nothing was said
            return []
        return self.heard(said["verdicts"] if isinstance(said, dict) else said, door)

    def heard(self, rows: Sequence[Mapping[str, Any]], door: str) -> list[Told]:
        """Note the verdicts of *rows*, and return them."""
        self.counts.update(f"{door} {row['verdict']}" for row in rows)
        reasons = (reason for row in rows for reason in row.get("reasons", ()))
        self.trouble += [reason for reason in reasons if UNREADABLE in reason]
        told = [Told(row["title"], row["verdict"], row.get("commit", "")) for row in rows]
        self.told += told
        return told

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

    # git

    def git(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run git as a person does; it may be refused."""
        place = self.world.place
        return subprocess.run(
            ["git", *words], cwd=place, env=self.environment, capture_output=True, text=True, check=False
        )


def _go_on(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGCONT)
