"""Faults that no call to the system shows: processes killed at random, a full disk, damaged files, odd clocks."""

import atexit
import contextlib
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.faultcases import Operation, as_stdin, decision, git
from bench.faultcrowd import crowded
from bench.faultpoint import SLOW, run
from bench.faultsteps import Bench, Fault, grow_old, leftovers, lies, mended, unsound, workshop
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate

_HOOK = (str(Path(sys.executable).parent / "kb-hook"), "write")
_LONGEST = 0.25
"""Seconds within which a process is killed: a write takes about half as long."""
DAY = 86_400


class Scene(NamedTuple):
    """One fault of the world, tried a number of times."""

    name: str
    play: Callable[["Stage", random.Random], Iterator[str]]
    long: int
    short: int


class Stage:
    """Copies of one clone, and how to ask in them."""

    def __init__(self) -> None:
        """Begin with a clone that has three records."""
        self.bench = _prepare_bench()
        self.notes: Counter[str] = Counter()

    def start(self, place: Path, candidate: Candidate) -> subprocess.Popen[bytes]:
        """Let a process of its own begin to write *candidate*."""
        process = subprocess.Popen(
            _HOOK, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdin
        process.stdin.write(as_stdin(candidate))
        process.stdin.close()
        process.stdin = None
        return process

    def write(self, place: Path, *candidates: Candidate) -> Iterator[str]:
        """Write, and yield what was said that is not so."""
        ended = run(("kb-hook", "write"), str(place), as_stdin(*candidates), dict(os.environ))
        yield from lies(place, ended, Fault(0, "EIO"))

    def ends_well(self, place: Path, *candidates: Candidate) -> Iterator[str]:
        """Ask again for *candidates*, let the doctor repair, ask once more; yield what is wrong then."""
        yield from self.write(place, *candidates)
        grow_old(place)
        self.notes.update(mended(place))
        yield from self.write(place, *candidates)
        with KnowledgeBase(str(place), os.environ) as kb:
            titles = Counter(record.title for record in kb.records())
        for candidate in candidates:
            if titles[candidate.title] != 1:
                yield f"“{candidate.title}” is there {titles[candidate.title]} times"
        yield from unsound(place)
        if left := leftovers(place):
            yield f"left: {', '.join(left)}"


@cache
def _prepare_bench() -> Bench:
    """Prepare the clone that the scenes of this process copy; it is deleted when the process ends."""
    folder = Path(tempfile.mkdtemp(dir=workshop()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    def prepare(place: Path) -> None:
        with KnowledgeBase(str(place), os.environ) as kb:
            kb.write([decision(n) for n in (10, 11, 12)], folder=str(place))

    return Bench(Operation("scene", prepare, ("kb-hook", "write"), as_stdin(decision(0))), folder)


def _killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Kill a writer and its git commands at a random moment."""
    with stage.bench.copy() as place:
        process = stage.start(place, decision(1))
        time.sleep(chance.uniform(0, _LONGEST))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        yield from stage.ends_well(place, decision(1))


def _one_of_four(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Let four write at once, and kill one of them."""
    with stage.bench.copy() as place:
        processes = [stage.start(place, decision(number)) for number in range(4)]
        time.sleep(chance.uniform(0, 2 * _LONGEST))
        with contextlib.suppress(ProcessLookupError):
            os.kill(processes[0].pid, signal.SIGKILL)
        for process in processes[1:]:
            out, error = process.communicate()  # the one killed may have written for it, and not told it
            if process.returncode or not any(word in out for word in (b'"created"', b'"unchanged"')):
                yield f"a writer ended with {process.returncode}: {out.decode()[:300]} {error.decode()[-300:]}"
        processes[0].communicate()
        yield from stage.ends_well(place, *map(decision, range(4)))


def _full(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Fill the disk up to a few kilobytes, write, and make room again."""
    with stage.bench.copy() as place, _small_disk(place) as (disk, how):
        stage.notes[how] += 1
        words = as_stdin(decision(1))
        if disk == place:
            ended = _limited(disk, words, chance.choice((0, 200, 600, 1500, 4000, 9000)))
        else:
            filler = disk.parent / "filler"
            _fill(filler, chance.choice((0, 4, 8, 12, 16, 24, 32, 40, 60, 90)) * 1024)
            os.environ["HOME"], home = str(disk.parent), os.environ["HOME"]
            ended = run(("kb-hook", "write"), str(disk), words, dict(os.environ))
            os.environ["HOME"] = home
            filler.unlink()
        yield from lies(disk, ended, Fault(0, "ENOSPC"))
        os.environ["HOME"], home = str(disk.parent), os.environ["HOME"]
        yield from stage.ends_well(disk, decision(1))
        os.environ["HOME"] = home


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[tuple[Path, str]]:
    """Lend a copy of *place* on a disk of 3 MB; where none can be mounted, *place* itself."""
    folder = place.parent / "disk"
    folder.mkdir()
    if not _mounted("tmpfs", folder, "tmpfs", 0, "size=3m"):
        yield place, "files limited in size"
        return
    try:
        yield Path(shutil.copytree(place, folder / "kb", symlinks=True)), "small tmpfs"
    finally:
        _libc().umount2(os.fsencode(folder), 2)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mounted(source: str, target: Path, kind: str, flags: int, data: str) -> bool:
    mount = _libc().mount
    mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
    return bool(mount(source.encode(), os.fsencode(target), kind.encode(), flags, data.encode()) == 0)


def _fill(path: Path, leave: int) -> None:
    about = os.statvfs(path.parent)
    with open(path, "wb") as file, contextlib.suppress(OSError):
        file.write(b"x" * max(0, about.f_bavail * about.f_bsize - leave))


def _limited(place: Path, words: bytes, size: int) -> object:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    done = subprocess.run(_HOOK, cwd=place, input=words, capture_output=True, preexec_fn=limit, check=False)
    from bench.faultpoint import Ended

    return Ended(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"), [])


_BIND, _REMOUNT, _READ_ONLY = 4096, 32, 1


def _read_only(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Write in a clone that is read-only, and again when it is not."""
    with stage.bench.copy() as place:
        is_bound = _mounted(str(place), place, "none", _BIND, "")
        if is_bound and _mounted("none", place, "none", _BIND | _REMOUNT | _READ_ONLY, ""):
            stage.notes["read-only bind mount"] += 1
            ended = run(("kb-hook", "write"), str(place), as_stdin(decision(1)), dict(os.environ))
            yield from lies(place, ended, Fault(0, "EROFS"))
            asked = run(("kb", "search", "cache"), str(place), b"", dict(os.environ))
            if asked.code:
                yield f"a question on a read-only disk: {asked.error.strip()}"
        else:
            stage.notes["every call fails with EROFS"] += 1
            ended = run(("kb-hook", "write"), str(place), as_stdin(decision(1)), dict(os.environ), -1, "EROFS")
            yield from lies(place, ended, Fault(-1, "EROFS"))
        if is_bound:
            _libc().umount2(os.fsencode(place), 2)
        yield from stage.ends_well(place, decision(1))


_LOCKS = ("refs/heads/main.lock", "index.lock", "packed-refs.lock", "HEAD.lock", "kb-index.lock", "refs/kb/inbox.lock")


def _locked(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Write beside a lock that a dead git process has left."""
    lock = _LOCKS[sum(stage.notes[name] for name in _LOCKS) % len(_LOCKS)]
    stage.notes[lock] += 1
    with stage.bench.copy() as place:
        path = place / ".git" / lock
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        yield from stage.write(place, decision(1))
        yield from stage.ends_well(place, decision(1))


def _damaged_index(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Write beside an index, its log or its memory that is cut off, empty, or holds anything."""
    with stage.bench.copy() as place:
        files = [place / ".kb" / f"index.db{end}" for end in ("", "-wal", "-shm")]
        with KnowledgeBase(str(place), os.environ) as kb:
            kb.records()
            as_open = {path: path.read_bytes() for path in files if path.exists()}
        for path, data in as_open.items():  # as a process that died leaves them
            path.write_bytes(data)
        _damage(chance.choice((files[0], *files)), chance)
        asked = run(("kb", "search", "cache"), str(place), b"", dict(os.environ))
        if "Traceback" in asked.error:
            yield f"a question: {asked.error.strip().splitlines()[-1]}"
        yield from stage.write(place, decision(1))
        yield from stage.ends_well(place, decision(1))


def _damage(path: Path, chance: random.Random) -> None:
    data = path.read_bytes() if path.exists() else b""
    start = chance.randrange(len(data) + 1)
    holes = bytes(chance.randrange(256) for _ in range(64))
    path.write_bytes(
        chance.choice((data[:start], b"", bytes(len(data)), holes * 40, data[:start] + holes + data[start + 64 :]))
    )


def _damaged_state(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Write beside state, spool and queue files that are cut off or hold anything."""
    with stage.bench.copy() as place:
        (place / ".git/index.lock").touch()
        yield from stage.write(place, decision(2))
        (place / ".git/index.lock").unlink()
        names = ("follow.json", "config.json", "sessions.json", "numbers.json", "log", "queue/0-1.json")
        with KnowledgeBase(str(place), os.environ) as kb:
            (spooled,) = kb.state.list_spooled()
        for path in (*(place / ".kb" / name for name in names), place / ".git/kb/numbers.json", Path(spooled)):
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = path.read_bytes() if path.exists() else b'{"new": "0", "paths": {"a": "b"}}'
            path.write_bytes(kept if path == Path(spooled) and chance.random() < 0.5 else b"")
            if not path.read_bytes():
                path.write_bytes(kept)
                _damage(path, chance)
        yield from stage.write(place, decision(1))
        for aside in (place / ".kb/spool").glob("*.unreadable"):
            if "set aside" not in mended(place):
                yield "the doctor does not name what was set aside"
            aside.unlink(missing_ok=True)
        yield from stage.ends_well(place, decision(1), decision(2))


def _clock_back(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Let the clock jump back by a day between two writes."""
    with stage.bench.copy() as place:
        now = time.time()
        for number, at in enumerate((now, now - DAY, now - DAY, now + 1)):
            with KnowledgeBase(str(place), os.environ, lambda at=at: at) as kb:  # type: ignore[misc]
                (verdict,) = kb.write([decision(number)], folder=str(place))
                if verdict.verdict != "created":
                    yield f"{verdict.verdict} at {at - now:+.0f} s: {verdict.reasons}"
        yield from stage.ends_well(place, *map(decision, range(4)))


def _slow(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Let two write on a disk on which every fsync and rename takes 20 ms."""
    with stage.bench.copy() as place:
        pid = os.fork()
        if not pid:
            run(("kb-hook", "write"), str(place), as_stdin(decision(1)), dict(os.environ), 0, SLOW)
            os._exit(0)
        ended = run(("kb-hook", "write"), str(place), as_stdin(decision(2)), dict(os.environ), 0, SLOW)
        os.waitpid(pid, 0)
        if [row["verdict"] for row in json.loads(ended.out)] != ["created"]:
            yield f"{ended.out.decode()} {ended.error}"
        if git(place, "rev-list", "--count", "HEAD") == git(stage.bench.base, "rev-list", "--count", "HEAD"):
            yield "nothing was written"
        yield from stage.ends_well(place, decision(1), decision(2))


def _crowd(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Let six processes write in two worktrees while a person works there."""
    with stage.bench.copy() as place:
        yield from crowded(place, chance, stage.notes)


SCENES: tuple[Scene, ...] = (
    Scene("a writer and its git killed at random", _killed, 200, 6),
    Scene("four writers, one killed at random", _one_of_four, 60, 4),
    Scene("a full disk", _full, 30, 3),
    Scene("a read-only disk", _read_only, 2, 1),
    Scene("a lock left over", _locked, 12, 1),
    Scene("a damaged index", _damaged_index, 30, 3),
    Scene("damaged state, spool and queue", _damaged_state, 20, 2),
    Scene("the clock jumps back a day", _clock_back, 2, 1),
    Scene("a slow disk, two writers", _slow, 5, 1),
    Scene("six writers in two worktrees beside a person at work", _crowd, 15, 1),
)
"""What is tried, how often in the long form and in the short one."""
