"""Interrupt kb at every step and look whether anything was lost, doubled or left lying about.

Every operation is first counted without a fault, then run once for each of its calls to the system and each fault, in
a fresh copy of the same clone. After the fault the same is asked for again, as an agent does that heard nothing. What
must come of it: exactly what comes of asking twice without a fault.
"""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.faultcases import ASKED, REPORTED, RUN, SPOOLED, Operation, git
from bench.faultpoint import ALWAYS, ERRORS, KILL, ORPHAN, Ended, run
from kb import doctor
from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase, make
from kb.records.record_file import read
from kb.state.state_folder import StateFolder

_UID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_TITLE = re.compile(r"^title: (.*)$", re.MULTILINE)
_STAMP = re.compile(r"\d{8}-\d{6}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*?(?=[\"\s]|$)")
_CHECKED = frozenset({
    "repository", "state folder", "index", "records", "spool", "set aside", "queue", "locks", "leftovers", "refs",
    "driver", "permissions", "checkout",
})  # fmt: skip
_MERGING: set[tuple[bytes, ...]] = set()
"""Configurations and attributes of clones in which the doctor has found that the merge driver merges."""
_MINUTE = 100


class Fault(NamedTuple):
    """A fault at the boundary *at*, counted from 1; ALWAYS for all of them."""

    at: int
    mode: str


class Result(NamedTuple):
    """What came of one fault in one operation."""

    operation: str
    fault: Fault
    boundary: str
    problems: tuple[str, ...]
    mended: tuple[str, ...] = ()
    """What the doctor had to repair."""


def environment(home: Path) -> dict[str, str]:
    """Return an environment that takes nothing from this machine but its programs."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    who = {f"GIT_{r}_{p}": v for r in ("AUTHOR", "COMMITTER") for p, v in (("NAME", "F"), ("EMAIL", "f@example.com"))}
    days = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-11-21T00:00:00Z")
    home.mkdir(parents=True, exist_ok=True)
    return {**kept, **who, **days, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}


@contextlib.contextmanager
def sealed(home: Path) -> Iterator[Mapping[str, str]]:
    """Work in such an environment."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(given := environment(home) | {k: before[k] for k in ("PATH",) if k in before})
    try:
        yield given
    finally:
        os.environ.clear()
        os.environ.update(before)


def workshop() -> str:
    """Return where clones are copied to: memory where there is some, as the disk is not what is tested."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


# -- a clone, and a person at work in it ------------------------------------------------------------


def prepared(operation: Operation, folder: Path) -> Path:
    """Make the clone in which *operation* is done, with a person's staged, edited, new and stashed work in it."""
    place = folder / "kb"
    made, _ = make(str(place), os.environ, name="kb")
    made.close()
    (place / "one.txt").write_text("a\nb\nc\n")
    git(place, "add", "one.txt")
    git(place, "commit", "-qm", "Their work")
    (place / "one.txt").write_text("stashed\n")
    git(place, "stash", "push", "-q")
    (place / "one.txt").write_text("staged\n")
    git(place, "add", "one.txt")
    (place / "one.txt").write_text("staged, then edited\n")
    (place / "new.txt").write_text("untracked\n")
    operation.prepare(place)
    return place


def theirs(place: Path) -> dict[str, str]:
    """Return what is a person's in a clone, and must not change."""
    names = ("one.txt", "new.txt")
    return {
        "files": "".join(f"{name}: {(place / name).read_text()}" for name in names),
        "staged": "\n".join(r for r in git(place, "diff", "--cached", "--raw", "--no-abbrev").splitlines()),
        "dirty": "\n".join(r for r in git(place, "diff", "--no-ext-diff").splitlines() if r[:1] in "+-"),
        "stash": git(place, "stash", "list", "--format=%H"),
        "head": (place / ".git/HEAD").read_text(),
        "status": git(place, "status", "--porcelain", "--untracked-files=all"),
    }


def said(place: Path) -> dict[str, Any]:
    """Return what a clone and its remote hold, without what differs from run to run: uids, times, rescue refs."""
    remote = place.parent / "remote.git"
    found = _refs(place)
    return found | ({f"remote {ref}": tree for ref, tree in _refs(remote).items()} if remote.exists() else {})


def _refs(place: Path) -> dict[str, Any]:
    refs = git(place, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/kb").split()
    return {ref: _tree(place, ref) for ref in refs if not ref.startswith("refs/kb/rescue/")}


def _tree(place: Path, ref: str) -> dict[str, str]:
    rows = [row.split("\t", 1) for row in git(place, "ls-tree", "-r", "-z", ref).split("\0")[:-1]]
    names = "".join(f"{meta.split()[2]}\n" for meta, _ in rows)
    done = subprocess.run(
        ["git", "-C", str(place), "cat-file", "--batch"], input=names.encode(), capture_output=True, check=True
    )
    found, rest = {}, done.stdout
    for _, name in rows:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        text, rest = rest[:size].decode(), rest[size + 1 :]
        found[_STAMP.sub("TIME", name)] = _STAMP.sub("TIME", _UID.sub("UID", text))
    return found


def leftovers(place: Path) -> list[str]:
    """Return what a process left lying about: locks and half files."""
    found = []
    for folder, folders, files in os.walk(place):
        if folder.endswith((".kb", "/kb")) and "locks" in folders:
            folders.remove("locks")
        names = [n for n in files if n.endswith((".lock", ".tmp")) or n in ("kb-index", "kb-held")]
        names += (
            [n for n in folders if n == "stage" or n.startswith("merge-")] if folder.endswith(("kb", ".kb")) else []
        )
        found += [os.path.relpath(os.path.join(folder, name), place) for name in names]
    return sorted(found)


# -- one fault ---------------------------------------------------------------------------------------


class Bench:
    """One operation, its clone, and what comes of it undisturbed."""

    def __init__(self, operation: Operation, folder: Path) -> None:
        """Prepare the clone and do the operation twice without a fault."""
        self.operation = operation
        self.folder = folder
        self.base = prepared(operation, folder / "base")
        with self.copy() as place:
            first = self.call(place)
            assert first.code in (0, 3, 4), (operation.name, first)
            self.boundaries = first.boundaries
            self.call(place)
            self.wanted, self.theirs, self.left = said(place), theirs(place), leftovers(place)
            problems = list(unsound(place))
            assert not problems and not self.left, (operation.name, problems, self.left)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """Lend a copy of the clone."""
        folder = self.folder / RUN
        try:
            shutil.copytree(self.base.parent, folder, symlinks=True)
            _own(folder / "kb", self.base)
            yield folder / "kb"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def call(self, place: Path, fault: Fault | None = None) -> Ended:
        """Do the operation, with a fault or without."""
        about = {**os.environ, **self.operation.environment}
        at, mode = fault or (0, KILL)
        return run(self.operation.words, str(place), self.operation.stdin, about, at, mode)

    def after(self, fault: Fault) -> Result:
        """Do the operation with *fault*, look, do it again, look again."""
        with self.copy() as place:
            ended = self.call(place, fault)
            _settled()
            problems = [*lies(place, ended, fault), *_broken(place)]
            grow_old(place)
            again = self.call(place)
            if "Traceback" in again.error:
                problems.append(f"asked again: {again.error.strip().splitlines()[-1]}")
            third = self.call(place) if fault.mode in ERRORS or again.code not in (0, 3, 4) else again
            problems += [f"asked again: {third.error.strip()}"] if "Traceback" in third.error else []
            named = mended(place)
            is_loose = self.operation.loose in (SPOOLED, ASKED) and fault.mode in ERRORS
            problems += self._lacking(place) if is_loose else self._differences(place)
            problems += unsound(place)
            name = self.boundaries[fault.at - 1] if fault.at != ALWAYS else "all"
            return Result(self.operation.name, fault, name, tuple(problems), tuple(named))

    def _lacking(self, place: Path) -> Iterator[str]:
        """Yield what is wrong where the order may be another, by titles."""
        wanted, now = ({t for tree in s.values() for t in _TITLE.findall("".join(tree.values()))}
                       for s in (self.wanted, said(place)))  # fmt: skip
        if not now <= wanted:
            yield f"there is more than was asked for: {sorted(now - wanted)}"
        own = {candidate["title"] for candidate in json.loads(self.operation.stdin)}
        own = wanted if self.operation.loose == SPOOLED else own
        if not own <= now:
            yield f"its own is missing: {sorted(own - now)}"

    def _differences(self, place: Path) -> Iterator[str]:
        now = said(place)
        for ref in self.wanted.keys() | now.keys():
            was, has = self.wanted.get(ref), now.get(ref)
            if was is None or has is None:
                yield f"{ref} {'is there' if was is None else 'is missing'}"
            elif was != has:
                names = sorted(n for n in was.keys() | has.keys() if was.get(n) != has.get(n))
                names = [n for n in names if not (self.operation.loose == REPORTED and "/sessions/" in n and n in has)]
                yield from [f"{ref} differs in {', '.join(names[:4])}"] if names else []
        mine = theirs(place)
        yield from (f"their {key} differs: {mine[key]!r}" for key in mine if mine[key] != self.theirs[key])
        if left := leftovers(place):
            yield f"left: {', '.join(left)}"


def _settled() -> None:
    """Wait for the git commands that a killed process leaves: they end when nobody talks to them."""
    time.sleep(0.03)


def lies(place: Path, ended: Ended, fault: Fault) -> Iterator[str]:
    """Yield what a process said that is not so."""
    if fault.mode in ERRORS and "Traceback" in ended.error:
        yield f"a traceback: {ended.error.strip().splitlines()[-1]}"
    if fault.mode in ERRORS and ended.code < 0:
        yield f"ended by signal {-ended.code}"
    with contextlib.suppress(ValueError, TypeError):
        for verdict in json.loads(ended.out):
            if verdict["commit"] and not git(place, "for-each-ref", f"--contains={verdict['commit']}"):
                yield f"says {verdict['verdict']}, and no ref has {verdict['commit']}"
            if verdict["verdict"] in ("created", "updated", "appended") and not verdict["commit"]:
                yield f"says {verdict['verdict']} without a commit"
            if verdict.get("spooled") and not _spool(place):
                yield "says spooled, and nothing is"


def _own(place: Path, base: Path) -> None:
    """Let what a copy of *base* has in `.kb/` be its own: kb believes no other clone's."""
    before, now = (StateFolder(str(one), os.environ).clone_mark for one in (base, place))
    for path in (place / ".kb").rglob("*.json"):
        path.write_bytes(path.read_bytes().replace(before.encode(), now.encode()))
    index = place / ".kb" / "index.db"
    if index.exists():
        with contextlib.closing(sqlite3.connect(index)) as db:
            db.execute(f"PRAGMA application_id={zlib.crc32(now.encode()) >> 1}")


def _spool(place: Path) -> list[str]:
    with KnowledgeBase(str(place), os.environ) as kb:
        return kb.state.list_spooled()


def _broken(place: Path) -> Iterator[str]:
    """Yield what must never be, not even before the next call: a broken repository, a half record."""
    for repository in (one for one in (place, place.parent / "remote.git") if one.exists()):
        try:
            if words := git(repository, "fsck", "--strict", "--no-dangling"):
                yield f"fsck: {words}"
        except subprocess.CalledProcessError as error:
            yield f"fsck: {error} {error.stderr}"
    for path in (place / "content/anchors").rglob("[!.]*.md"):
        try:
            read(path.read_bytes(), str(path))
        except KbError as error:
            yield f"{path.name}: {error}"


def grow_old(place: Path) -> None:
    """Let a minute and more go by for what was left: what is younger may be somebody's who is still writing."""
    old = time.time() - _MINUTE
    for path in leftovers(place):
        with contextlib.suppress(OSError):
            os.utime(place / path, (old, old))


def mended(place: Path) -> list[str]:
    """Return what the doctor reports and repairs; what it cannot repair it reports again."""
    named = [o.name for o in _examined(place) if o.state != doctor.OK]
    if named:
        _examined(place, fix=True)
    return named


def _examined(place: Path, *, fix: bool = False) -> list[doctor.DoctorOutcome]:
    """Return what the doctor says of a clone; the merge driver is tried once for all that are configured alike."""
    files = (place / ".git" / "config", place / "content" / ".gitattributes")
    configured = tuple(path.read_bytes() if path.is_file() else b"" for path in files)
    names = _CHECKED - {"driver"} if configured in _MERGING else _CHECKED
    checks = [check for check in doctor.CHECKS if str(check.name) in names]
    outcomes = doctor.run_checks(str(place), str(place), os.environ, fix=fix, checks=checks)
    if any(outcome.name == "driver" and outcome.state == doctor.OK for outcome in outcomes):
        _MERGING.add(configured)
    return outcomes


def unsound(place: Path) -> Iterator[str]:
    """Yield what is wrong with a clone in which everything is done."""
    yield from _broken(place)
    with KnowledgeBase(str(place), os.environ) as kb:
        yield from (f"check: {f}" for f in kb.check() if f.severity == "error")
        records = kb.records()
        names = Counter((record.scope, record.id) for record in records)
        uids = Counter(record.uid for record in records)
        titles = Counter(record.title for record in records)
        for words in (names, uids, titles):
            yield from (f"{name} is there {n} times" for name, n in words.items() if n > 1)
        if kb.state.list_spooled():
            yield "the spool is not empty"
        if kb.state.list_quarantined():
            yield "something was set aside"
    for outcome in _examined(place):
        if outcome.state != doctor.OK and outcome.name != "reviews":
            yield f"doctor: {outcome.name}: {outcome.said}"
    status = git(place, "status", "--porcelain", "--untracked-files=all")
    yield from (f"status: {row}" for row in status.splitlines() if ".kb" in row or ".tmp" in row)


# -- all of them -------------------------------------------------------------------------------------


def faults(boundaries: Sequence[str], points: int, modes: Iterable[str]) -> Iterator[Fault]:
    """Yield the faults of an operation with *boundaries*, at about *points* of them for each mode; 0: at all."""
    for number, mode in enumerate(modes):
        fitting = [at for at, boundary in enumerate(boundaries, 1) if _fits(mode, boundary)]
        every = max(1, len(fitting) // points) if points else 1
        yield from (Fault(at, mode) for at in fitting[number * every // 6 :: every])
        if mode in ERRORS and mode != "EIO":
            yield Fault(ALWAYS, mode)


def _fits(mode: str, boundary: str) -> bool:
    """Return whether a fault can happen at a boundary: only git leaves orphans, and only a sick disk fails to sync."""
    if mode == ORPHAN:
        return boundary.startswith("git ")
    return mode not in ERRORS or mode == "EIO" or not boundary.startswith("fsync")


def stepped(operation: Operation, points: int, modes: Sequence[str]) -> tuple[int, list[Result]]:
    """Step through one operation; return how many boundaries it has and what came of each fault."""
    with tempfile.TemporaryDirectory(dir=workshop()) as name, sealed(Path(name) / "home"):
        bench = Bench(operation, Path(name))
        return len(bench.boundaries), [bench.after(fault) for fault in faults(bench.boundaries, points, modes)]


LONG = (KILL, ORPHAN, "ENOSPC", "EACCES", "EROFS", "EIO")
