"""Storms: writers of every door, SIGKILL and SIGSTOP, a person at git, in clones of many shapes; then an audit.

    python -m bench.storm [--seeds 1-20] [--shapes plain,worktree,…] [--seconds 8] [--writers 6] [--calm]

What is random follows from the seed, the order of events from the machine as well: a seed that found something is run
again a few times. *--calm* kills nobody. The audit looks for records that were acknowledged and are gone, or were
written twice, on whatever branches; for numbers given out twice; for a person's files in commits of kb's or nowhere;
for records that git's index has otherwise than HEAD though no person wrote into them; for an index of the records from
which a new one differs; for what is still spooled. It asks git, `kb check` and `kb doctor`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.faultcases import decision, git
from bench.stormacts import Storm
from bench.stormdisk import fill
from bench.stormdoors import write
from bench.stormperson import work
from bench.stormworld import DISK, RECORDS, SHAPES, built, environment, unmount
from kb import doctor
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json

_ACKNOWLEDGED = frozenset({"created", "appended", "updated", "held", "conflict"})
_TITLE = re.compile(r"^title: [\"']?(.*?)[\"']?\r?$", re.M)
_UID = re.compile(r"^uid: [\"']?(\w+)", re.M)
_NUMBER = re.compile(r"content/anchors/(.*)/([A-Z]+[0-9]+)-")
_THEIRS = re.compile("/D(?:" + "|".join(f"{number:03}" for number in range(1, RECORDS + 1)) + ")-")
"""The records that the person writes into."""
_LONG_AGO = 7_200
"""Seconds: so old are locks made that dead processes left, for the doctor not to wait a minute."""


def storm(folder: Path, seed: int, shape: str, *, seconds: float, writers: int, calm: bool) -> tuple[Storm, list[str]]:
    """Run one storm in *folder*, which is empty, and return it with what was wrong afterwards."""
    outer = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment(folder, outer))
    try:
        return _stormed(Storm(built(folder, shape), seed, dict(os.environ)), shape, seconds, writers, calm=calm)
    finally:
        unmount(folder)
        os.environ.clear()
        os.environ.update(outer)


def _stormed(running: Storm, shape: str, seconds: float, writers: int, *, calm: bool) -> tuple[Storm, list[str]]:
    threads = [threading.Thread(target=write, args=(running, number)) for number in range(writers)]
    threads += [threading.Thread(target=fill if shape == DISK else work, args=(running,))]
    threads += [] if calm else [threading.Thread(target=running.kill)]
    threading.excepthook = lambda failed: running.trouble.append("".join(traceback.format_exception(failed.exc_value)))
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    running.over.set()
    for thread in threads:
        thread.join()
    return running, [*running.trouble, *_audit(running)]


# -- the audit ---------------------------------------------------------------------------------------


def _audit(running: Storm) -> Iterator[str]:
    """Let everything come to rest, and yield what is wrong then."""
    place, second = running.world.place, running.world.second
    yield from _at_rest(running)
    for clone in (place, second):
        yield from bad_refs(clone)
        yield from _foreign_files(clone)
        yield from _stale_index(clone)
    yield from _written_twice(running)
    yield from _lost(running)
    yield from _facts(running)
    yield from _lost_files(running)
    yield from _lost_notes(running)
    rows = git(place, "diff", "--cached", "--name-status", "--no-renames", "--", "content").splitlines()
    yield from (f"git's index has otherwise: {row}" for row in rows if not _THEIRS.search(row))
    for clone in (place, second):
        fsck = subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=clone, capture_output=True, text=True)
        yield from (f"fsck: {row}" for row in fsck.stderr.splitlines() if "notice:" not in row)
        with KnowledgeBase.at(str(clone)) as kb:
            yield from (
                f"check: {found}" for found in kb.check() if found.severity == "error" and found.rule != "branch-id"
            )
        outcomes = doctor.run_checks(str(clone), str(clone), os.environ)
        yield from (f"doctor: {one.name}: {one.said}" for one in outcomes if one.state == doctor.FAILED)


def _at_rest(running: Storm) -> Iterator[str]:
    """Go home to main, take away old locks as a person would, and let what was spooled land."""
    git(running.world.place, "config", "commit.gpgSign", "false")
    for clone in (running.world.place, running.world.second):
        _grow_old_locks(clone)
        doctor.run_checks(str(clone), str(clone), os.environ, fix=True)
    if not running.git("branch", "--show-current").stdout.startswith("main"):
        running.git("commit", "-qam", "Put down")
        running.git("switch", "-q", "main")
    for number, clone in enumerate((running.world.place, running.world.second)):
        for attempt in range(4):
            last = candidate_to_json(decision(attempt, title=f"Come to rest {number}-{attempt}", claims={}))
            words = [str(Path(sys.executable).parent / "kb-hook"), "write"]
            done = subprocess.run(words, cwd=clone, input=json.dumps(last).encode(), capture_output=True, check=False)
        doctor.run_checks(str(clone), str(clone), os.environ, fix=True)  # hands in again what five kills have set aside
        with KnowledgeBase.at(str(clone)) as kb:
            yield from (f"still spooled: {path} {done.stdout.decode()[:300]}" for path in kb.state.list_spooled())


def _grow_old_locks(clone: Path) -> None:
    shared = git(clone, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    own = git(clone, "rev-parse", "--absolute-git-dir").strip()
    for folder in {shared, own}:
        for path in Path(folder).rglob("*.lock"):
            os.utime(path, (time.time() - _LONG_AGO,) * 2)


def _refs(clone: Path) -> list[str]:
    return git(clone, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/kb/inbox", "refs/kb/rejected").split()


def texts_of(clone: Path, ref: str) -> dict[str, str]:
    """Return path and text of the files of kb's in *ref*."""
    rows = [row.split("\t", 1) for row in git(clone, "ls-tree", "-r", "-z", ref).split("\0") if row]
    found = {path: meta.split()[2] for meta, path in rows if path.startswith("content/") or "inbox" in ref}
    done = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=clone, input="".join(f"{oid}\n" for oid in found.values()).encode(),
        capture_output=True, check=True,
    )  # fmt: skip
    texts: dict[str, str] = {}
    at = 0
    for path in found:
        end = done.stdout.index(b"\n", at)
        size = int(done.stdout[at:end].split()[-1])
        texts[path] = done.stdout[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + 2 + size
    return texts


def bad_refs(clone: Path) -> Iterator[str]:
    """Yield the titles and the numbers that a branch has twice."""
    for ref in _refs(clone):
        texts = {path: text for path, text in texts_of(clone, ref).items() if path.startswith("content/anchors/")}
        titles = Counter(found[1] for text in texts.values() if (found := _TITLE.search(text)))
        numbers = Counter(found.groups() for path in texts if (found := _NUMBER.match(path)))
        yield from (f"{ref}: {name} is there {n} times" for name, n in (titles + numbers).items() if n > 1)


def _foreign_files(clone: Path) -> Iterator[str]:
    """Yield the files of the person's that a commit of kb's has."""
    form = "--format=%x01%h %(trailers:key=Kb-Op,valueonly,separator=)"
    for chunk in git(clone, "log", "--all", "--no-merges", "--min-parents=1", form, "--name-only").split("\1")[1:]:
        head, *names = chunk.split("\n")
        if head.partition(" ")[2].strip():
            yield from (f"{head} has {name}" for name in names if name.startswith(("mine-", "code.txt")))


def _written_twice(running: Storm) -> Iterator[str]:
    """Yield the titles of candidates that became more than one record, be it on different branches."""
    uids: dict[str, set[str]] = {}
    for clone in (running.world.place, running.world.second):
        for ref in _refs(clone):
            for path, text in texts_of(clone, ref).items():
                title, uid = _TITLE.search(text), _UID.search(text)
                if path.startswith("content/anchors/") and title and uid:
                    uids.setdefault(title[1], set()).add(uid[1])
    yield from (f"written {len(found)} times: {title}" for title, found in uids.items() if len(found) > 1)


def _stale_index(clone: Path) -> Iterator[str]:
    """Yield what the index of the records says otherwise than one made anew."""
    before = _indexed(clone)
    for path in (clone / ".kb").glob("index.db*"):
        path.unlink()
    now = _indexed(clone)
    yield from (f"the index of {clone.name} has {row}" for row in sorted(before - now))
    yield from (f"the index of {clone.name} lacks {row}" for row in sorted(now - before))


def _indexed(clone: Path) -> set[str]:
    with KnowledgeBase.at(str(clone)) as kb:
        return {repr(one) for one in (*kb.records(), *kb.held())}


def _lost(running: Storm) -> Iterator[str]:
    """Yield what was acknowledged and is in no branch, review or inbox of either clone."""
    clones = (running.world.place, running.world.second)
    everything = "\n".join(text for clone in clones for ref in _refs(clone) for text in texts_of(clone, ref).values())
    for one in running.told:
        if one.verdict in _ACKNOWLEDGED and one.title not in everything:
            yield f"lost: {one}"
    yield from (f"lost review: {title}" for title in running.world.disputed if title not in everything)


def _facts(running: Storm) -> Iterator[str]:
    """Yield the facts that are in no branch, and those that one branch has twice."""
    counts: Counter[str] = Counter()
    for clone in (running.world.place, running.world.second):
        for ref in _refs(clone):
            everything = "\n".join(texts_of(clone, ref).values())
            found = {fact: everything.count(fact) for fact in running.facts}
            counts.update(fact for fact, n in found.items() if n)
            yield from (f"{ref} has {n} times: {fact}" for fact, n in found.items() if n > 1)
    yield from (f"lost: {fact}" for fact in running.facts if not counts[fact])


def _lost_notes(running: Storm) -> Iterator[str]:
    """Yield the lines of the person's that are in no branch, stash, reflog or dangling commit, nor in the checkout."""
    place = running.world.place
    texts = [path.read_text() for path in place.glob("content/anchors/global/*.md")]
    texts += [git(place, "log", "--all", "--reflog", "-m", "-p", "--format=", "--", "content")]
    missing = [note for note in running.notes if not any(note in text for text in texts)]
    lost = re.findall(r"dangling commit (\w+)", git(place, "fsck", "--no-reflogs")) if missing else []
    shown = "".join(git(place, "show", "-m", commit) for commit in lost)
    yield from (f"a line of the person's is gone: {note}" for note in missing if note not in shown)


def _lost_files(running: Storm) -> Iterator[str]:
    """Yield the person's files that are in no branch, stash or reflog, and not in the checkout either."""
    place = running.world.place
    known = git(place, "log", "--all", "--reflog", "-m", "--format=", "--name-only") + git(place, "ls-files")
    listed = set(known.split())
    for name in running.files:
        if name not in listed and not (place / name).exists():
            yield f"a file of the person's is gone: {name}"


# -- many of them ------------------------------------------------------------------------------------


def main() -> int:
    """Run storms and print what each found; return 1 where one found something."""
    asked = _arguments()
    first, _, last = asked.seeds.partition("-")
    wrong = 0
    for seed in range(int(first), int(last or first) + 1):
        for shape in asked.shapes.split(","):
            folder = Path(tempfile.mkdtemp(prefix=f"storm-{shape}-{seed}-"))
            running, found = storm(
                folder, seed, shape, seconds=asked.seconds, writers=asked.writers, calm=asked.calm
            )  # fmt: skip
            counts = ", ".join(f"{name} {n}" for name, n in sorted(running.counts.items()))
            print(f"{shape} {seed}: {len(running.told)} verdicts; {len(found)} wrong; {counts}", flush=True)
            for row in found:
                print(f"    {row}", flush=True)
            wrong += bool(found)
            if found:
                print(f"    kept: {folder}", flush=True)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-3", help="one, or the first and the last of many: 1-20")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="some of: " + ", ".join(SHAPES))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--calm", action="store_true", help="kill nobody")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
