"""A line of commits: what each of them says, and what it changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from kb.errors import NeedsPerson
from kb.git.git_process import build_git_error, is_inconclusive, parse_batch
from kb.git.repository import Repository
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

_WHO = regex(r"(.*?) ?<([^<>]*)> ([0-9-]+ [-+0-9]+)")
_NONE, _REGULAR, _EXECUTABLE = "000000", "100644", "100755"


class Commit(NamedTuple):
    """A commit as it is stored."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    """Name, address and time as git writes them."""
    committer: str
    message: str

    @property
    def operation(self) -> str:
        """What kb did, by its trailer; "" for a commit that kb did not write."""
        rows = self.message.rstrip().rpartition("\n\n")[2].splitlines()
        return next((row.removeprefix("Kb-Op: ") for row in rows if row.startswith("Kb-Op: ")), "")

    def build_identity_environment(self) -> Mapping[str, str]:
        """Return author with time, and committer without, as git's environment names them."""
        found: dict[str, str] = {}
        for role, words in (("AUTHOR", self.author), ("COMMITTER", self.committer)):
            if match := _WHO.fullmatch(words):
                found |= {f"GIT_{role}_NAME": match[1], f"GIT_{role}_EMAIL": match[2]}
                found |= {"GIT_AUTHOR_DATE": "@" + match[3]} if role == "AUTHOR" else {}
        return found


class FileDifference(NamedTuple):
    """A file in which two trees differ."""

    name: str
    """From the top of the repository."""
    old: str
    """The object; "" where there is none."""
    new: str
    is_plain: bool
    """Whether it is an ordinary file on both sides, whose name is on one line, and stays executable or not."""


def list_commits(repository: Repository, tip: str, *without: str) -> list[Commit]:
    """Return the commits of *tip* that no commit of *without* has, along the first parents, oldest first."""
    options = ("--first-parent", "--topo-order", "--reverse", "--format=%H")
    oids = repository.git("log", *options, tip, "--not", *filter(None, without), "--").decode().split()
    found = read_objects(repository, oids)
    return [_parse_commit(oid, found[oid]) for oid in oids]


def count_commits(repository: Repository, tip: str, *without: str) -> int:
    """Return how many commits *tip* has that no commit of *without* has."""
    if not tip or tip in without:
        return 0
    return repository.git("log", "--format=%H", tip, "--not", *filter(None, without), "--").count(b"\n")


def is_ancestor(repository: Repository, old: str, new: str) -> bool:
    """Return whether *new* is *old* or came from it; nothing came from no commit, or from one that is not there.

    Raise GitFailed where git could not look: taken for no, that would replay, rename or rescue what has arrived.
    """
    if not (old and new):
        return False
    if old == new:
        return True
    output = repository.run_git(["merge-base", "--is-ancestor", old, new])
    if is_inconclusive(output) and len(filter_existing_commits(repository, (old, new))) == 2:
        raise build_git_error(["merge-base"], output)
    return not output.code


def filter_existing_commits(repository: Repository, commits: Sequence[str]) -> list[str]:
    """Return those of *commits*, full object names, that the repository has; raise GitFailed where git cannot look."""
    if not commits:
        return []
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    output = repository.run_git(["cat-file", "--batch-check"], asked, GIT_NO_LAZY_FETCH="1")
    if output.code and "promisor remote" in output.error:  # an old git asks the remote for what is not here
        return [oid for oid in commits if len(commits) > 1 and filter_existing_commits(repository, [oid])]
    if output.code:
        raise build_git_error(["cat-file"], output)
    return [row.split(" ")[0] for row in output.out.decode().splitlines() if not row.endswith(" missing")]


def resolve_tree(repository: Repository, revision: str) -> str:
    """Return the tree of *revision*; for "" the empty one."""
    if not revision:
        return repository.compute_oid(b"tree", b"")
    return repository.git("rev-parse", "-q", "--verify", f"{revision}^{{tree}}").decode().strip()


def diff_trees(repository: Repository, pairs: Sequence[tuple[str, str]]) -> list[list[FileDifference]]:
    """Return the files in which each pair of trees differs, with one git process.

    Raise NeedsPerson where one of them has a name that no checkout may have.
    """
    compared = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    if not compared:
        return [[] for _ in pairs]
    lines = "".join(f"{old} {new}\n" for old, new in compared).encode()
    out = repository.git("diff-tree", "--stdin", "-r", "-z", "--no-renames", "--full-index", stdin=lines)
    found: dict[tuple[str, str], list[FileDifference]] = {pair: [] for pair in compared}
    at = 0
    current = compared[0]
    while at < len(out):
        if out[at : at + 1] != b":":  # the line of the pair, before its differences
            end = out.index(b"\n", at)
            old, _, new = out[at:end].decode().partition(" ")
            current = (old, new)
            at = end + 1
            continue
        middle = out.index(b"\0", at)
        end = out.index(b"\0", middle + 1)
        found[current].append(_parse_difference(out[at + 1 : middle].decode(), os.fsdecode(out[middle + 1 : end])))
        at = end + 1
    refuse_unsafe_paths((one.name for rows in found.values() for one in rows if one.new), repository.to_git_path(".kb"))
    return [found.get(pair, []) for pair in pairs]


def _parse_difference(meta: str, name: str) -> FileDifference:
    before, after, old, new, _ = meta.split(" ")
    modes = {before, after} - {_NONE}
    is_plain = (modes == {_REGULAR} or (modes == {_EXECUTABLE} and before != _NONE)) and "\n" not in name
    return FileDifference(name, old if old.strip("0") else "", new if new.strip("0") else "", is_plain)


def read_objects(repository: Repository, oids: Iterable[str]) -> dict[str, bytes]:
    """Return the content of each of the objects *oids*, with one git process."""
    wanted = [oid for oid in dict.fromkeys(oids) if oid]
    if not wanted:
        return {}
    out = repository.git("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
    found = {oid: data for oid, _, data in parse_batch(out) if data is not None}
    if len(found) < len(wanted):
        raise ValueError(f"git has not all of {wanted}")
    return found


def _parse_commit(oid: str, data: bytes) -> Commit:
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    rows = [row.split(" ", 1) for row in head.split("\n") if row and not row.startswith(" ")]
    fields = {row[0]: row[1] for row in rows if len(row) == 2}
    parents = tuple(row[1] for row in rows if row[0] == "parent")
    return Commit(oid, fields["tree"], parents, fields.get("author", ""), fields.get("committer", ""), message)


_UNSEEN = regex("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of a name, so that what holds them is another name."""


def is_unsafe_path(name: str) -> bool:
    """Return whether the path *name* leaves its tree, or enters git's own folder, on any system that kb may run on."""
    parts = _UNSEEN.sub("", name).replace("\\", "/").split("/")
    return any(part.partition(":")[0].rstrip(" .").lower() in ("", ".git", "git~1") for part in parts)


def refuse_unsafe_paths(names: Iterable[str], own: str) -> None:
    """Raise NeedsPerson where one of *names* leads out of its tree, or into *own*, the folder of this clone's state."""
    for name in names:
        if is_unsafe_path(name) or f"{name}/".lower().startswith(f"{own}/".lower()):
            raise NeedsPerson(
                msg("a commit contains {path}, which must never be checked out", path=name),
                hint=msg("do not merge it; see who made it: git log --all -- {path}", path=name),
            )
