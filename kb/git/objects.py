"""Read trees and commits; write them with few git processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from kb.errors import GitFailed, NeedsPerson
from kb.files import read_if_exists, write_file
from kb.git.commit_message import parse_operation
from kb.git.git_process import BackgroundCommand, build_git_error, is_inconclusive, parse_batch
from kb.i18n import Message, msg
from kb.startup.lazy_regex import DOTALL, bytes_regex, regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.git.repository import CommitStep, Repository


_WHO = regex(r"(.*?) ?<([^<>]*)> ([0-9-]+ [-+0-9]+)")
_ENTRIES = {width: bytes_regex(rb"(\d+) ([^\0]+)\0.{%d}" % width, DOTALL) for width in (20, 32)}
_FILE, _FOLDER = b"100644", b"40000"
_INVISIBLE_CHARACTERS = regex("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems ignore in a name, so that a name with them is another file's name."""


class Commit(NamedTuple):
    """A commit as it is stored."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    """Name, email address and time as git writes them."""
    committer: str
    message: str

    @property
    def operation(self) -> str:
        """The value of its `Kb-Op` trailer, or "" for a commit that kb did not write."""
        return parse_operation(self.message)

    def build_identity_environment(self) -> Mapping[str, str]:
        """Return author with time, and committer without, as git's environment variables."""
        variables: dict[str, str] = {}
        for role, words in (("AUTHOR", self.author), ("COMMITTER", self.committer)):
            if match := _WHO.fullmatch(words):
                variables |= {f"GIT_{role}_NAME": match[1], f"GIT_{role}_EMAIL": match[2]}
                variables |= {"GIT_AUTHOR_DATE": "@" + match[3]} if role == "AUTHOR" else {}
        return variables


class FileDifference(NamedTuple):
    """A file that differs between two trees."""

    name: str
    """The path from the top of the repository."""
    old: str
    """The object, or ""."""
    new: str
    is_plain: bool
    """Whether it is a regular file on both sides, its name has no line break, and its executable bit is unchanged."""


# -- reading --------------------------------------------------------------------------------------


def list_commits(repository: Repository, tip: str, *exclude: str) -> list[Commit]:
    """Return the commits in *tip* that are in no commit of *exclude*, along first parents, oldest first."""
    options = ("--first-parent", "--topo-order", "--reverse", "--format=%H")
    oids = repository.git("log", *options, tip, "--not", *filter(None, exclude), "--").decode().split()
    commits = []
    for oid, data in read_objects(repository, oids).items():
        head, _, message = data.decode("utf-8", "replace").partition("\n\n")
        rows = [
            row.partition(" ") for row in head.split("\n") if row.find(" ") > 0
        ]  # a signature continues after a space
        fields = {key: value for key, _, value in rows}
        parents = tuple(value for key, _, value in rows if key == "parent")
        author, committer = fields.get("author", ""), fields.get("committer", "")
        commits.append(Commit(oid, fields["tree"], parents, author, committer, message))
    return commits


def count_commits(repository: Repository, tip: str, *exclude: str) -> int:
    """Return the number of commits in *tip* that are in no commit of *exclude*."""
    if not tip or tip in exclude:
        return 0
    return repository.git("log", "--format=%H", tip, "--not", *filter(None, exclude), "--").count(b"\n")


def is_ancestor(repository: Repository, old: str, new: str) -> bool:
    """Return whether *new* is *old* or a descendant; False if either commit is empty or missing.

    Raise GitFailed if git could not look: a wrong False would replay, rename or rescue commits that have arrived.
    """
    if not (old and new) or old == new:
        return bool(old and new)
    output = repository.run_git(["merge-base", "--is-ancestor", old, new])
    if is_inconclusive(output) and len(filter_existing_commits(repository, (old, new))) == 2:
        raise build_git_error(["merge-base"], output)
    return not output.code


def filter_existing_commits(repository: Repository, commits: Sequence[str]) -> list[str]:
    """Return those of *commits* (full object names) that the repository has; raise GitFailed if git cannot look."""
    if not commits:
        return []
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    output = repository.run_git(["cat-file", "--batch-check"], asked, GIT_NO_LAZY_FETCH="1")
    if output.code and "promisor remote" in output.error:  # an old git asks the remote for missing objects
        return [oid for oid in commits if len(commits) > 1 and filter_existing_commits(repository, [oid])]
    if output.code:
        raise build_git_error(["cat-file"], output)
    return [row.split(" ")[0] for row in output.out.decode().splitlines() if not row.endswith(" missing")]


def resolve_tree(repository: Repository, revision: str) -> str:
    """Return the tree of *revision*; for "" the empty tree."""
    if not revision:
        return repository.compute_oid(b"tree", b"")
    return repository.git("rev-parse", "-q", "--verify", f"{revision}^{{tree}}").decode().strip()


def diff_commits(repository: Repository, old: str, new: str) -> list[FileDifference]:
    """Return the files that differ between two commits; "" stands for the empty tree."""
    return diff_trees(repository, [(resolve_tree(repository, old), resolve_tree(repository, new))])[0]


def diff_trees(repository: Repository, pairs: Sequence[tuple[str, str]]) -> list[list[FileDifference]]:
    """Return the files that differ in each pair of trees, with one git process.

    Raise NeedsPerson if one of them has a name that no checkout may have.
    """
    compared = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    if not compared:
        return [[] for _ in pairs]
    lines = "".join(f"{old} {new}\n" for old, new in compared).encode()
    out = repository.git("diff-tree", "--stdin", "-r", "-z", "--no-renames", "--full-index", stdin=lines)
    differences: dict[tuple[str, str], list[FileDifference]] = {pair: [] for pair in compared}
    rows = differences[compared[0]]
    at = 0
    while at < len(out):
        if out[at : at + 1] != b":":  # the header line of a pair does not end with NUL
            end = out.index(b"\n", at)
            old, _, new = out[at:end].decode().partition(" ")
            rows = differences[old, new]
        else:
            middle = out.index(b"\0", at)
            end = out.index(b"\0", middle + 1)
            rows.append(_parse_difference(out[at + 1 : middle].decode(), os.fsdecode(out[middle + 1 : end])))
        at = end + 1
    own = repository.to_git_path(".kb/").lower()  # the state folder of this clone
    for name in (one.name for some in differences.values() for one in some if one.new):
        if is_unsafe_path(name) or f"{name}/".lower().startswith(own):
            raise NeedsPerson(
                msg("a commit contains {path}, which must never be checked out", path=name),
                hint=msg("do not merge it; see who made it: git log --all -- {path}", path=name),
            )
    return [differences.get(pair, []) for pair in pairs]


def _parse_difference(meta: str, name: str) -> FileDifference:
    before, after, old, new, _ = meta.split(" ")
    modes = {before, after} - {"000000"}
    # a new executable file is not plain: kb writes none, and a person should decide what may run
    is_plain = (modes == {"100644"} or (modes == {"100755"} and before != "000000")) and "\n" not in name
    return FileDifference(name, old if old.strip("0") else "", new if new.strip("0") else "", is_plain)


def is_unsafe_path(name: str) -> bool:
    """Return whether the path *name* leaves its tree, or enters git's own folder, on any supported system."""
    # Windows reads a backslash as a separator, "git~1" and ".git:stream" as ".git", and drops trailing dots
    shown = name if name.isascii() else _INVISIBLE_CHARACTERS.sub("", name)
    parts = shown.replace("\\", "/").split("/")
    return any(part.partition(":")[0].rstrip(" .").lower() in ("", ".git", "git~1") for part in parts)


def read_objects(repository: Repository, oids: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the objects *oids*, with one git process."""
    wanted = [oid for oid in dict.fromkeys(oids) if oid]
    if not wanted:
        return {}
    out = repository.git("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
    contents = {oid: data for oid, _, data in parse_batch(out) if data is not None}
    if len(contents) < len(wanted):
        raise ValueError(f"git has not all of {wanted}")
    return contents


# -- building trees -------------------------------------------------------------------------------
#
# Only the folders that lead to the changed files are read and written. An index of the whole tree would also work, but
# takes time in proportion to the tree: 30 ms for 10,000 files, against 5 ms here.


def patch_tree(
    repository: Repository, parent: str, steps: Sequence[Mapping[str, bytes | None]], stage: str
) -> list[str]:
    """Return the tree of *parent* ("": an empty one) after each of *steps*: changes by full name; None deletes.

    Files pass git's own filters for their paths. *stage* is an empty folder for temporary files.
    """
    if broken := next((name for changes in steps for name in changes if "\n" in name), ""):
        raise GitFailed(
            msg("{path} cannot be written: its name has a line break", path=broken.replace("\n", "\\n")),
            hint=msg("give the file, or the folder above it, another name"),
        )
    folders = _list_parent_folders(name for changes in steps for name in changes)
    questions = os.fsencode("".join(f"{parent}:{folder}\n" for folder in folders))
    reading = repository.start("cat-file", "--batch", stdin=questions) if parent else None
    writing = _start_storing(repository, "tree")
    try:
        blobs = _store_blobs(repository, steps, stage)
        trees: dict[str, bytes] = {}
        output = reading.wait_for_output() if reading else None
        if output and output.code:
            raise build_git_error(["cat-file"], output)
        for folder, (_, kind, data) in zip(folders, parse_batch(output.out), strict=True) if output else ():
            if data is not None and kind != "tree":
                hint = msg("put a folder in its place")
                raise GitFailed(msg("{path} is not a folder in the last commit", path=folder), hint=hint)
            trees[folder] = data or b""  # a folder that does not exist yet starts empty
        made: list[tuple[str, str]] = []
        tops = [_apply_changes(repository, trees, files, made, stage) for files in blobs]
        _store_files(repository, writing, made, msg("git stored other trees than were built"))
        return tops
    finally:
        writing.wait_for_output()


def _list_parent_folders(names: Iterable[str]) -> list[str]:
    """Return all folders above the files, deepest first, "" for the top."""
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(name.count("/") + 1)}
    return sorted(folders, key=lambda folder: (-folder.count("/") - bool(folder), folder))


def _start_storing(repository: Repository, kind: str) -> BackgroundCommand:
    return repository.start("hash-object", "-t", kind, "-w", "--no-filters", "--stdin-paths", stdin=None)


def _store_files(
    repository: Repository, command: BackgroundCommand, made: Sequence[tuple[str, str]], otherwise: Message
) -> None:
    """Let a waiting *command* store the files of *made*, each under the name its object must get."""
    names = "".join(f"{os.path.relpath(path, repository.top)}\n" for path, _ in made)
    output = command.send_input(os.fsencode(names))
    if output.code:
        raise build_git_error(["hash-object"], output)
    if output.out.decode().split() != [oid for _, oid in made]:
        raise GitFailed(otherwise)


def _store_blobs(
    repository: Repository, steps: Sequence[Mapping[str, bytes | None]], stage: str
) -> list[dict[str, str]]:
    """Store the files of *steps* through git's filters; return their objects for each step, "" for a deletion."""
    objects_by_step = [dict.fromkeys(changes, "") for changes in steps]
    # a filter depends on the path: each version of a file needs the same path, and so a call of its own
    batches: list[dict[str, tuple[int, bytes]]] = []
    for number, changes in enumerate(steps):
        for name, data in changes.items():
            if data is not None:
                if all(name in batch for batch in batches):
                    batches.append({})
                next(batch for batch in batches if name not in batch)[name] = (number, data)
    for batch in batches:
        for folder in _list_parent_folders(batch):
            attributes = read_if_exists(os.path.join(repository.top, *folder.split("/"), ".gitattributes"))
            if attributes is not None:
                write_file(os.path.join(stage, *folder.split("/"), ".gitattributes"), attributes)
        for name, (_, data) in batch.items():
            write_file(os.path.join(stage, *name.split("/")), data)
        names = os.fsencode("".join(f"{name}\n" for name in batch))
        out = repository.git("hash-object", "-w", "--stdin-paths", stdin=names, work_tree=stage)
        for (name, (number, _)), oid in zip(batch.items(), out.decode().split(), strict=True):
            objects_by_step[number][name] = oid
    return objects_by_step


def _apply_changes(
    repository: Repository, trees: dict[str, bytes], files: Mapping[str, str], made: list[tuple[str, str]], stage: str
) -> str:
    """Apply *files* to *trees*, deepest first; add objects to store to *made*; return the top tree."""
    wanted: dict[str, dict[bytes, tuple[bytes, bytes]]] = {folder: {} for folder in _list_parent_folders(files)}
    for name, blob in files.items():
        folder, _, own = name.rpartition("/")
        wanted[folder][os.fsencode(own)] = (_FILE, bytes.fromhex(blob))
    oid = ""
    for folder, entries in wanted.items():
        trees[folder] = data = _splice_entries(trees.get(folder, b""), entries, repository.oid_size)
        oid = repository.compute_oid(b"tree", data) if data or not folder else ""  # an empty folder is removed
        if oid:
            path = os.path.join(stage, f".tree-{len(made)}")
            write_file(path, data)
            made.append((path, oid))
        if folder:
            above, _, own = folder.rpartition("/")
            wanted[above][os.fsencode(own)] = (_FOLDER, bytes.fromhex(oid))
    return oid


def _splice_entries(tree: bytes, entries: Mapping[bytes, tuple[bytes, bytes]], width: int) -> bytes:
    """Return the raw *tree* with *entries* (name → mode, object; b"" removes) set, in git's order of names.

    A single pass, because an import adds thousands of entries to a folder of thousands.
    """
    todo = sorted(((_sort_key(name, mode), name, mode, oid) for name, (mode, oid) in entries.items()), reverse=True)
    out: list[bytes] = []
    at = 0
    for match in _ENTRIES[width].finditer(tree) if tree else ():
        mode_there, there = match.groups()
        key = _sort_key(there, mode_there)
        while todo and todo[-1][1] != there and todo[-1][0] < key:
            out += (tree[at : match.start()], _format_entry(*todo.pop()[1:]))
            at = match.start()
        if todo and todo[-1][1] == there:
            _, name, mode, oid = todo.pop()
            new_mode = mode_there if mode == _FILE and mode_there == b"100755" else mode  # keep the executable bit
            out += (tree[at : match.start()], _format_entry(name, new_mode, oid))
            at = match.end()
        if not todo:
            break
    return b"".join([*out, tree[at:], *(_format_entry(*one[1:]) for one in reversed(todo))])


def _sort_key(name: bytes, mode: bytes) -> bytes:
    """Return git's sort key for an entry: a folder sorts as if its name ended with a slash."""
    return name + b"/" if mode == _FOLDER else name


def _format_entry(name: bytes, mode: bytes, oid: bytes) -> bytes:
    return mode + b" " + name + b"\0" + oid if oid else b""


# -- building commits -----------------------------------------------------------------------------


class CommitChain:
    """A chain of new commits.

    git makes the first commit of each author, and the others copy its author and committer lines: identities, and the
    characters allowed in names, are git's decision. `store_pending` stores the other commits together.
    """

    def __init__(self, repository: Repository, parent: str, stage: str, signing: BackgroundCommand) -> None:
        """Start on the commit *parent* ("" for none), with an empty *stage* folder; *signing*: whether to sign."""
        self._repository = repository
        self._signing = signing
        self._stage = stage
        self._tip = parent
        self._people: dict[frozenset[tuple[str, str]], bytes] = {}
        self._made: list[tuple[str, str]] = []
        self.commits: list[str] = []

    def add(self, tree: str, step: CommitStep) -> None:
        """Add a commit of *tree* on top."""
        repository, by = self._repository, frozenset(step.by.items())
        if by not in self._people or "\0" in step.message:
            self.store_pending()
            parents = [self._tip] if self._tip else []
            self._tip = repository.commit_tree(tree, parents, step.message, self._signing, step.by)
            head = repository.git("cat-file", "commit", self._tip).partition(b"\n\n")[0].split(b"\n")
            people = [line for line in head if line.startswith((b"author ", b"committer "))]
            # if git adds more to the header, such as a signature, git must make every commit
            if len(people) == 2 and all(line.startswith((b"tree ", b"parent ", *people)) for line in head):
                self._people[by] = b"\n".join(people)
        else:
            values = (tree.encode(), self._tip.encode(), self._people[by], step.message.encode())
            data = b"tree %b\nparent %b\n%b\n\n%b" % values
            path = os.path.join(self._stage, f".commit-{len(self.commits)}")
            write_file(path, data)
            self._tip = repository.compute_oid(b"commit", data)
            self._made.append((path, self._tip))
        self.commits.append(self._tip)

    def store_pending(self) -> None:
        """Store the pending commits with git."""
        if self._made:
            storing = _start_storing(self._repository, "commit")
            _store_files(self._repository, storing, self._made, msg("git stored other commits than were built"))
            self._made = []
