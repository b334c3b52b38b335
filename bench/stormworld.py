"""Where a storm takes place: a clone in one of many shapes, with a remote and a second clone."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.faultcases import decision, git
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate

_ABOUT = "[user]\n name=A Person\n email=person@example.com\n[init]\n defaultBranch=main\n[gc]\n autoDetach=false\n"
_ATTRIBUTES = "*.md text=auto eol=crlf\ncontent/**/*.md ident\n*.txt text eol=crlf\n"
_FIRST = 10
RECORDS = 3
"""Records that facts and lines are added to; after them come twice as many that a person decides on."""
MARK = b"<!-- USER_BLOCK_START -->"
DISK = "disk"
"""The shape whose clone is on a small disk, and the folder where that is mounted."""
_SIZE = "12m"


class World(NamedTuple):
    """The folders of a storm."""

    top: Path
    place: Path
    """The clone in which everybody works."""
    second: Path
    """Another clone of the same remote."""
    disputed: tuple[str, ...] = ()
    """The titles of what contradicts a record, and is a review."""


def subject(number: int) -> str:
    """Return what the *number*-th record of a storm is about."""
    return decision(_FIRST + number).title.removeprefix("Keep ").removesuffix(" simple")


def _store(number: int, name: str, title: str) -> Candidate:
    claim = {f"store{number}.engine": name}
    text = f"The {subject(RECORDS + number)} are kept in {name}."
    more = {"claims": claim, "impact": ("code.txt",), "session": f"{name}{number}"}
    return decision(_FIRST + RECORDS + number, title=title, decision=text, **more)


def _in_force(number: int) -> Candidate:
    return _store(number, "PostgreSQL", f"Use PostgreSQL for {subject(RECORDS + number)}")


def _against(number: int) -> Candidate:
    return _store(number, "MongoDB", f"Use MongoDB for {subject(RECORDS + number)}")


def environment(top: Path, outer: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with a home of its own below *top*, in which git waits for no editor."""
    home = top / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(_ABOUT)
    kept = {key: outer[key] for key in ("PATH", "LANG", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH") if key in outer}
    return {**kept, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true", "LC_ALL": "C.UTF-8"}


def built(top: Path, shape: str) -> World:
    """Make the remote, three records in it, and both clones; the first has the *shape* of that name."""
    seed, remote = top / "seed", top / "remote.git"
    form = ["--object-format=sha256"] if shape == "sha256" else []
    for place, words in ((seed, form), (remote, ["--bare", *form])):
        place.mkdir()
        git(place, "init", "-q", "-b", "main", *words)
    made, _ = make(str(seed), os.environ, name="storm")
    with made:
        _prepare(seed, shape)
        made.write([decision(_FIRST + number) for number in range(RECORDS)], folder=str(seed))
        made.write([_in_force(number) for number in range(2 * RECORDS)], folder=str(seed))
    git(seed, "push", "-q", str(remote), "main")
    place = SHAPES[shape](top)
    git(top, "clone", "-q", str(remote), "second")
    with KnowledgeBase.at(str(top / "second")) as kb:
        kb.records()
    with KnowledgeBase.at(str(place)) as kb:
        verdicts = kb.write([_against(number) for number in range(2 * RECORDS)], folder=str(place))
    return World(top, place, top / "second", tuple(verdict.title for verdict in verdicts))


def _prepare(seed: Path, shape: str) -> None:
    """Commit what a shape has in its files."""
    if shape == "attributes":
        _append(seed / ".gitattributes", _ATTRIBUTES)
    elif shape == "filter":
        git(seed, "config", "--global", "filter.mark.clean", "sed s/^/X/")
        git(seed, "config", "--global", "filter.mark.smudge", "sed s/^X//")
        git(seed, "config", "--global", "filter.mark.required", "true")
        _append(seed / ".gitattributes", "*.bin filter=mark\n")
        (seed / "large.bin").write_text("data\n" * 100)
    (seed / "code.txt").write_text("code\n")
    git(seed, "add", ".")
    git(seed, "commit", "-qm", "What is no record")


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _cloned(*options: str, settings: Mapping[str, str] = {}) -> Callable[[Path], Path]:
    def clone(top: Path) -> Path:
        git(top, "clone", "-q", *options, f"file://{top}/remote.git", "clone")
        for key, value in settings.items():
            git(top / "clone", "config", key, value)
        return top / "clone"

    return clone


def _partial(top: Path) -> Path:
    git(top / "remote.git", "config", "uploadpack.allowFilter", "true")
    return _cloned("--filter=blob:none")(top)


def _sparse(top: Path) -> Path:
    place = _cloned()(top)
    git(place, "sparse-checkout", "set", "content")
    return place


def _packed(top: Path) -> Path:
    place = _cloned()(top)
    git(place, "pack-refs", "--all")
    return place


def _worktree(top: Path) -> Path:
    git(top, "clone", "-q", str(top / "remote.git"), "main")
    git(top / "main", "switch", "-q", "-c", "elsewhere")
    git(top / "main", "worktree", "add", "-q", str(top / "clone"), "main")
    return top / "clone"


def _worktree_of_bare(top: Path) -> Path:
    git(top, "clone", "-q", "--bare", str(top / "remote.git"), "bare.git")
    git(top / "bare.git", "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git(top / "bare.git", "worktree", "add", "-q", str(top / "clone"), "main")
    return top / "clone"


def _submodule(top: Path) -> Path:
    outer = top / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top / "remote.git"), "clone")
    git(outer, "commit", "-qm", "Outer")
    git(outer / "clone", "switch", "-q", "main")
    return outer / "clone"


def _unsigned(top: Path) -> Path:
    """Clone so that every commit has to be signed, by a program that fails; `at_rest` undoes that."""
    return _cloned(settings={"commit.gpgSign": "true", "gpg.program": "false"})(top)


def _failing_hooks(top: Path) -> Path:
    hooks = top / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-checkout", "pre-push", "commit-msg"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    return _cloned(settings={"core.hooksPath": str(hooks)})(top)


def _small_disk(top: Path) -> Path:
    """Clone onto a disk of its own, which only root can mount; `unmount` takes it away."""
    (top / DISK).mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(top / DISK)], check=True)
    place = top / DISK / "clone"
    git(top, "clone", "-q", f"file://{top}/remote.git", str(place))
    return place


def unmount(top: Path) -> None:
    """Take away what a shape has mounted below *top*."""
    if (top / DISK).is_mount():
        subprocess.run(["umount", "--lazy", str(top / DISK)], check=True)


SHAPES: Mapping[str, Callable[[Path], Path]] = {
    "plain": _cloned(),
    "worktree": _worktree,
    "worktree-of-bare": _worktree_of_bare,
    "sha256": _cloned(),
    "shallow": _cloned("--depth=1"),
    "sparse": _sparse,
    "partial": _partial,
    "submodule": _submodule,
    "packed": _packed,
    "autocrlf": _cloned(settings={"core.autocrlf": "true", "core.safecrlf": "true"}),
    "attributes": _cloned(),
    "filter": _cloned(),
    "hooks": _failing_hooks,
    "unsigned": _unsigned,
    "manyfiles": _cloned(settings={"feature.manyFiles": "true", "core.splitIndex": "true"}),
    **({DISK: _small_disk} if os.geteuid() == 0 else {}),
}
