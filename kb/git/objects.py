"""Objects that git stores: trees with some files changed, and many commits, for the price of a few git processes.

Of a tree only the folders on the way to the changed files are read and written. An index of the whole tree would do as
well and costs what the tree is large: 30 ms at 10,000 files, against 5 here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from kb.errors import GitFailed
from kb.files import read_if_exists, write_file
from kb.git.git_process import BackgroundCommand, CommandOutput, build_git_error, parse_batch
from kb.i18n import msg
from kb.startup.lazy_regex import DOTALL, bytes_regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.git.repository import CommitStep, Repository


_ENTRIES = {width: bytes_regex(rb"(\d+) ([^\0]+)\0.{%d}" % width, DOTALL) for width in (20, 32)}
_FILE, _FOLDER = b"100644", b"40000"


# -- trees ----------------------------------------------------------------------------------------


def patch_tree(
    repository: Repository, parent: str, steps: Sequence[Mapping[str, bytes | None]], stage: str
) -> list[str]:
    """Return the tree of *parent* ("": an empty one) after each of *steps*: changes by full name; None deletes.

    The files pass git's own filters for their paths. *stage* is an empty folder to work in.
    """
    if broken := next((name for changes in steps for name in changes if "\n" in name), ""):
        raise GitFailed(
            msg("{path} cannot be written: its name has a line break", path=broken.replace("\n", "\\n")),
            hint=msg("give the file, or the folder above it, another name"),
        )
    folders = _list_parent_folders(name for changes in steps for name in changes)
    questions = os.fsencode("".join(f"{parent}:{folder}\n" for folder in folders))
    reading = repository.start("cat-file", "--batch", stdin=questions) if parent else None
    writing = repository.start("hash-object", "-t", "tree", "-w", "--no-filters", "--stdin-paths", stdin=None)
    try:
        blobs = _store_blobs(repository, steps, stage)
        trees = _parse_trees(reading.wait_for_output(), folders) if reading else {}
        made: list[tuple[str, str]] = []
        tops = [_apply_changes(repository, trees, files, made, stage) for files in blobs]
        output = writing.send_input(os.fsencode("".join(f"{path}\n" for path, _ in made)))
        if output.code:
            raise build_git_error(["hash-object"], output)
        if output.out.decode().split() != [oid for _, oid in made]:
            raise GitFailed(msg("git stored other trees than were built"))
        return tops
    finally:
        writing.wait_for_output()


def _list_parent_folders(names: Iterable[str]) -> list[str]:
    """Return the folders on the way to the files, the deepest first, "" for the top."""
    found = {"/".join(name.split("/")[:depth]) for name in names for depth in range(name.count("/") + 1)}
    return sorted(found, key=lambda folder: (-folder.count("/") - bool(folder), folder))


def _parse_trees(output: CommandOutput, folders: list[str]) -> dict[str, bytes]:
    """Return what `cat-file --batch` said of each of *folders*; one that is no folder yet is left out."""
    if output.code:
        raise build_git_error(["cat-file"], output)
    found: dict[str, bytes] = {}
    for folder, (_, kind, data) in zip(folders, parse_batch(output.out), strict=True):
        if data is not None and kind != "tree":
            hint = msg("put a folder in its place")
            raise GitFailed(msg("{path} is not a folder in the last commit", path=folder), hint=hint)
        if data is not None:
            found[folder] = data
    return found


def _store_blobs(
    repository: Repository, steps: Sequence[Mapping[str, bytes | None]], stage: str
) -> list[dict[str, str]]:
    """Store the files of *steps* and return, for each step, their objects; "" for a file that goes."""
    found = [dict.fromkeys(changes, "") for changes in steps]
    waiting: dict[str, tuple[int, bytes]] = {}

    def store_waiting() -> None:
        oids = _hash_files(repository, {name: data for name, (_, data) in waiting.items()}, stage)
        for name, (number, _) in waiting.items():
            found[number][name] = oids[name]
        waiting.clear()

    for number, changes in enumerate(steps):
        for name, data in changes.items():
            if name in waiting:
                store_waiting()
            if data is not None:
                waiting[name] = (number, data)
    store_waiting()
    return found


def _hash_files(repository: Repository, files: Mapping[str, bytes], stage: str) -> dict[str, str]:
    """Store *files*, as git's filters want them, and return their objects."""
    if not files:
        return {}
    for folder in _list_parent_folders(files):
        attributes = read_if_exists(os.path.join(repository.top, *folder.split("/"), ".gitattributes"))
        if attributes is not None:
            write_file(os.path.join(stage, *folder.split("/"), ".gitattributes"), attributes)
    for name, data in files.items():
        write_file(os.path.join(stage, *name.split("/")), data)
    names = os.fsencode("".join(f"{name}\n" for name in files))
    out = repository.git("hash-object", "-w", "--stdin-paths", stdin=names, work_tree=stage)
    return dict(zip(files, out.decode().split(), strict=True))


def _apply_changes(
    repository: Repository, trees: dict[str, bytes], files: Mapping[str, str], made: list[tuple[str, str]], stage: str
) -> str:
    """Change *trees* by *files*, deepest first; remember in *made* what has to be stored; return the topmost."""
    wanted: dict[str, dict[bytes, tuple[bytes, bytes]]] = {folder: {} for folder in _list_parent_folders(files)}
    for name, blob in files.items():
        folder, _, own = name.rpartition("/")
        wanted[folder][os.fsencode(own)] = (_FILE, bytes.fromhex(blob))
    oid = ""
    for folder, entries in wanted.items():
        trees[folder] = data = _splice_entries(trees.get(folder, b""), entries, repository.oid_size)
        oid = repository.compute_oid(b"tree", data) if data or not folder else ""  # an empty folder goes
        if oid:
            path = os.path.join(stage, f".tree-{len(made)}")
            write_file(path, data)
            made.append((os.path.relpath(path, repository.top), oid))
        if folder:
            above, _, own = folder.rpartition("/")
            wanted[above][os.fsencode(own)] = (_FOLDER, bytes.fromhex(oid))
    return oid


def _splice_entries(tree: bytes, entries: Mapping[bytes, tuple[bytes, bytes]], width: int) -> bytes:
    """Return the raw *tree* with *entries* (name → mode, object; b"": taken out) set, in git's order of names.

    One walk, however many they are: an import has thousands for a folder that has thousands.
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
            kept = mode_there if mode == _FILE and mode_there == b"100755" else mode  # a file stays executable
            out += (tree[at : match.start()], _format_entry(name, kept, oid))
            at = match.end()
        if not todo:
            break
    return b"".join([*out, tree[at:], *(_format_entry(*one[1:]) for one in reversed(todo))])


def _sort_key(name: bytes, mode: bytes) -> bytes:
    """Return by what git sorts an entry: a folder as if its name ended with a slash."""
    return name + b"/" if mode == _FOLDER else name


def _format_entry(name: bytes, mode: bytes, oid: bytes) -> bytes:
    return mode + b" " + name + b"\0" + oid if oid else b""


# -- commits --------------------------------------------------------------------------------------


class CommitChain:
    """Commits, one upon the other.

    git makes the first commit of each author, and what it wrote of author and committer is in the others too: who they
    are, and what their names may hold, is git's to say. The others are stored together by `store_pending`.
    """

    def __init__(self, repository: Repository, parent: str, stage: str, signing: BackgroundCommand) -> None:
        """Begin on the commit *parent* ("" for none), with a folder to write in and the question whether to sign."""
        self._repository = repository
        self._signing = signing
        self._stage = stage
        self._tip = parent
        self._people: dict[frozenset[tuple[str, str]], bytes] = {}
        self._made: list[tuple[str, str]] = []
        self.commits: list[str] = []

    def add(self, tree: str, step: CommitStep) -> None:
        """Put a commit of *tree* on top."""
        people = self._people.get(frozenset(step.by.items()))
        if people is None or "\0" in step.message:
            self.store_pending()
            parents = [self._tip] if self._tip else []
            self._tip = self._repository.commit_tree(tree, parents, step.message, self._signing, step.by)
            self._remember_identity(step.by)
        else:
            values = (tree.encode(), self._tip.encode(), people, step.message.encode())
            data = b"tree %b\nparent %b\n%b\n\n%b" % values
            path = os.path.join(self._stage, f".commit-{len(self.commits)}")
            write_file(path, data)
            self._tip = self._repository.compute_oid(b"commit", data)
            self._made.append((path, self._tip))
        self.commits.append(self._tip)

    def _remember_identity(self, by: Mapping[str, str]) -> None:
        """Keep what git wrote of the people; with more in its head, such as a signature, every commit is git's."""
        head = self._repository.git("cat-file", "commit", self._tip).partition(b"\n\n")[0].split(b"\n")
        people = [line for line in head if line.startswith((b"author ", b"committer "))]
        is_plain = all(line.startswith((b"tree ", b"parent ", b"author ", b"committer ")) for line in head)
        if len(people) == 2 and is_plain:
            self._people[frozenset(by.items())] = b"\n".join(people)

    def store_pending(self) -> None:
        """Let git store what was put together since the last time."""
        if not self._made:
            return
        arguments = ["hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths"]
        names = os.fsencode("".join(f"{os.path.relpath(path, self._repository.top)}\n" for path, _ in self._made))
        output = self._repository.run_git(arguments, names)
        if output.code:
            raise build_git_error(arguments, output)
        if output.out.decode().split() != [oid for _, oid in self._made]:
            raise GitFailed(msg("git stored other commits than were built"))
        self._made = []
