"""Repositories of all shapes, each with a person's work in it, and what must hold before and after kb writes there."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.support.clones import FASTAPI, WHOLE, decision, one
from tests.support.sealed import Clock, git

KAFKA = Candidate(
    "decision", "Carry events through Kafka", **WHOLE | {"decision": "Events travel through Kafka."},  # type: ignore[arg-type]
    claims={"events.carrier": "Kafka"}, session="s4",
)  # fmt: skip
RABBIT = KAFKA._replace(
    title="Carry events through RabbitMQ", decision="Events travel through RabbitMQ.",
    claims={"events.carrier": "RabbitMQ"}, session="s5",
)  # fmt: skip
SEEDS = (FASTAPI, decision(0), KAFKA)
"""What every knowledge base holds."""
ODD_NAMES = tuple(
    os.fsdecode(name)
    for name in (
        b"new\nline", b"tab\there", b"-dash", b'"quoted"', b"back\\slash", b"star*[x]?", b":(top)colon",
        b"%41$HOME`id`", b"caf\xc3\xa9", b"cafe\xcc\x81", b"not-utf8-\xff\xfe", b" space ", b"...", b"CON",
        b"#hash!;&|<>", b"\x01\x7f",
    )
)  # fmt: skip
"""Names in which every kind of character stands that a file system allows."""


class Shape(NamedTuple):
    """A repository in which kb is to work."""

    root: Path
    environment: Mapping[str, str] = os.environ
    trouble: str = ""
    """What kb says (a part of it) where it cannot write."""
    way_out: Callable[[], object] = lambda: None
    """What helps against the trouble."""
    cut_off: bool = False
    """git itself cannot tell everything about it."""

    def opened(self) -> KnowledgeBase:
        """Open the knowledge base."""
        return KnowledgeBase(str(self.root), self.environment, Clock())


def seeded(empty: Path, place: Path) -> Path:
    """Make the repository that most shapes are made from: records, an open review, and other files."""
    shutil.copytree(empty, place, symlinks=True)
    for name in ("one.txt", "two.txt", "three.txt"):
        (place / name).write_text("a\nb\nc\n")
    git(place, "add", "one.txt", "two.txt", "three.txt")
    git(place, "commit", "-qm", "Other work")
    with KnowledgeBase(str(place), os.environ, Clock()) as kb:
        kb.write(SEEDS, folder=str(place))
        assert one(kb, RABBIT).branch
    return place


def with_work(root: Path) -> None:
    """Leave staged, dirty, untracked and stashed work, and files of odd names, in the work tree *root*."""
    for name in ("one.txt", "two.txt", "three.txt"):
        if not (root / name).exists():
            (root / name).write_text("a\nb\nc\n")
            git(root, "add", name)
    if ok(root, "rev-parse", "-q", "--verify", "HEAD"):
        (root / "one.txt").write_text("stashed\n")
        git(root, "stash", "push", "-q", "--", "one.txt")
    (root / "one.txt").write_text("staged\n")
    git(root, "add", "one.txt")
    git(root, "rm", "-q", "--cached", "three.txt")
    (root / "one.txt").write_text("staged, then edited\n")
    (root / "two.txt").write_text("dirty\n")
    odd = root / "odd names"
    odd.mkdir()
    for number, name in enumerate(ODD_NAMES):
        (odd / name).write_text("x\n")
        if number % 2:
            git(root, "--literal-pathspecs", "add", "--", f"odd names/{name}")


def ok(root: Path, *arguments: str) -> bool:
    """Return whether a git command succeeds."""
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False).returncode == 0


def listing(root: Path, *arguments: str) -> bytes:
    """Return what git prints, in bytes."""
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False).stdout


class State(NamedTuple):
    """What a person sees of a clone, but for the records."""

    head: bytes
    status: bytes
    staged: bytes
    stash: bytes
    branches: frozenset[bytes]
    """Without the one that is checked out and reviews."""
    settings: bytes


def state(root: Path) -> State:
    """Return what must be the same after kb has written."""
    head = listing(root, "symbolic-ref", "-q", "HEAD") or listing(root, "rev-parse", "HEAD")
    form = "--format=%(refname) %(objectname)"
    others = listing(root, "for-each-ref", form, "refs/heads", "refs/tags", "refs/remotes").splitlines()
    return State(
        head,
        listing(root, "status", "--porcelain=v1", "-z", "--untracked-files=all"),
        listing(root, "diff", "--cached", "--raw", "--no-abbrev", "-z"),
        listing(root, "stash", "list", "--format=%H"),
        frozenset(row for row in others if not row.startswith((head.strip() + b" ", b"refs/heads/kb/review/"))),
        b"".join(path.read_bytes() for path in folder(root).glob("config*")),
    )


def folder(root: Path) -> Path:
    """Return the git directory that all worktrees share."""
    return root / (os.fsdecode(listing(root, "rev-parse", "--git-common-dir")).rstrip("\n") or ".git")


def left_over(root: Path) -> list[str]:
    """Return the files that only stand there while kb or git writes."""
    own = root / (os.fsdecode(listing(root, "rev-parse", "--git-dir")).rstrip("\n") or ".git")
    places = {folder(root).resolve(), own.resolve(), (root / ".kb").resolve(), (root / "content").resolve()}
    names = (name for place in places for _, folders, files in os.walk(place) for name in (*folders, *files))
    wanted = (".lock", ".tmp")
    return [name for name in names if name.endswith(wanted) or name in ("kb-index", "kb-held", "stage")]


def files(root: Path) -> dict[str, bytes]:
    """Return every file of the clone but what is kb's own and git's objects, which nothing may point to yet."""
    found = {}
    for place in {root.resolve(), folder(root).resolve()}:
        for path in place.rglob("*"):
            if path.is_file() and not {".kb", "kb", "objects"} & set(path.relative_to(place).parts):
                found[str(path)] = path.read_bytes()
    return found


def tips(root: Path) -> tuple[int, int]:
    """Return how many commits the checked-out branch has on its first-parent line, and how often HEAD has moved."""
    count = listing(root, "rev-list", "--count", "--first-parent", "HEAD")
    return int(count or 0), len(listing(root, "reflog", "--format=%H", "HEAD").splitlines())


def is_sound(root: Path) -> str:
    """Return what git finds wrong with the repository."""
    done = subprocess.run(
        ["git", "-C", str(root), "fsck", "--strict", "--no-dangling", "--no-progress"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else done.stdout + done.stderr
