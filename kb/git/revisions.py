"""Query git history: merge bases, changes on each side, open branches, the origin and the log of a file.

The log of one file uses GitPython, because only interactive commands need it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, BadRecord, Busy, GitFailed
from kb.git.commit_message import parse_operation, parse_reason
from kb.git.git_process import COMMANDS, CommandOutput, build_git_error, find_git_dir, is_inconclusive
from kb.git.repository import Repository
from kb.i18n import msg
from kb.records.kinds import REVIEWS
from kb.records.model import Record

if TYPE_CHECKING:
    import git

    from kb.workspace import Workspace

MOST_BRANCHES = 200
"""Open branches to read, the youngest ones: each costs a git call."""

_DIFF = ("diff", "-z", "--name-only", "--no-renames", "--no-relative", "--ignore-submodules=all")


_MARKDOWN = ("*.md", "*.markdown")
_HIDDEN = (".git", ".kb", "node_modules", "__pycache__", ".venv")


class DivergedHistory(NamedTuple):
    """Two diverged lines of history: HEAD and another."""

    tip: str
    """The tip of the other line."""
    head: str
    base: str
    """The merge base."""
    fork: str
    """The commit where the work began: before *base* if HEAD is the merge of both, as CI checks it out."""


class Branch(NamedTuple):
    """A branch and its commit."""

    name: str
    """Without `refs/heads/` or `refs/remotes/`."""
    tip: str


class FileCommit(NamedTuple):
    """One commit that touched a file."""

    commit: str
    time: str
    """ISO 8601, with offset."""
    author: str
    subject: str
    operation: str
    """The `Kb-Op` trailer, or "" for a commit made by hand."""
    reason: str = ""
    """The reason given by the user, if kb made the commit."""


# -- two lines ------------------------------------------------------------------------------------


def find_divergence(kb: Workspace, revision: str) -> DivergedHistory:
    """Return the merge base of HEAD and *revision*; raise GitFailed, with the next step, if git cannot tell."""
    head, tip = resolve_commit(kb, "HEAD"), resolve_commit(kb, revision)
    if not head:
        raise GitFailed(msg("nothing is committed here yet"), hint=msg("commit first, then compare"))
    base = find_merge_base(kb, tip, head) if tip else ""
    if not base:
        hint = msg("name the branch that this one came from") if tip else msg("list them: git branch --all")
        if os.path.exists(os.path.join(kb.repository.common_dir, "shallow")):
            hint = msg(
                "the clone is shallow; in CI set fetch-depth: 0 (GitLab: GIT_DEPTH: 0), else: git fetch --unshallow"
            )
        if tip:
            problem = msg("git finds no commit that {revision} and HEAD have in common", revision=revision)
        else:
            problem = msg("git does not know {revision} here", revision=revision)
        raise GitFailed(problem, hint=hint)
    parents = [resolve_commit(kb, "HEAD^1"), resolve_commit(kb, "HEAD^2")]
    # CI checks out the merge of the pull request: HEAD^1 is the trunk, HEAD^2 is the work, or the other way round
    work = next((parent for parent in parents if parent != base), "") if base in parents else ""
    return DivergedHistory(tip, head, base, (find_merge_base(kb, tip, work) if work else "") or base)


def resolve_commit(kb: Workspace, revision: str) -> str:
    """Return the commit that *revision* names, or ""."""
    return _read_git_line(kb, "rev-parse", "-q", "--verify", f"{revision}^{{commit}}")


def find_merge_base(kb: Workspace, one: str, other: str) -> str:
    """Return the merge base of two commits, or ""; raise GitFailed if git could not look.

    Without this error, an unreadable base would count as none, and one side's deletions would come back.
    """
    output = kb.repository.run_git(["merge-base", one, other])
    if one and other and is_inconclusive(output):
        raise build_git_error(["merge-base"], output)
    return "" if output.code else output.out.decode("utf-8", "replace").strip()


def _read_git_line(kb: Workspace, *arguments: str) -> str:
    output = kb.repository.run_git(arguments)
    return "" if output.code else output.out.decode("utf-8", "replace").strip()


def find_merge_sides(kb: Workspace) -> tuple[str, str] | None:
    """Return both sides of the merge under way, or of the merge commit HEAD, or None."""
    for ours, theirs in (("HEAD", "MERGE_HEAD"), ("HEAD^1", "HEAD^2")):
        if commit := resolve_commit(kb, theirs):
            return resolve_commit(kb, ours), commit
    return None


# -- what changed ---------------------------------------------------------------------------------


def list_changed_records(kb: Workspace, commit: str) -> set[str]:
    """Return the record files of the checkout that differ from *commit*, including untracked ones."""
    unknown = kb.repository.git("ls-files", "-o", "-z", "--exclude-standard", "--", *kb.record_tops)
    return _parse_record_paths(kb, kb.repository.git(*_DIFF, commit, "--", *kb.record_tops) + unknown)


def list_differing_records(kb: Workspace, one: str, other: str) -> set[str]:
    """Return the record files that differ between two commits."""
    return _parse_record_paths(kb, kb.repository.git(*_DIFF, one, other, "--", *kb.record_tops))


def _parse_record_paths(kb: Workspace, names: bytes) -> set[str]:
    return set(filter(kb.files.is_record_path, map(kb.repository.to_kb_path, os.fsdecode(names).split("\0"))))


def list_own_changes(kb: Workspace, trunk: str, tip: str) -> set[str] | None:
    """Return the record files that *tip* has added or edited since it left *trunk*, or None if git cannot tell."""
    output = kb.repository.run_git([*_DIFF, "--diff-filter=AM", f"{trunk}...{tip}", "--", *kb.record_tops])
    return None if output.code else _parse_record_paths(kb, output.out)


def read_records_at(kb: Workspace, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Record]:
    """Return the record in each (commit, path) of *wanted* that has a valid one."""
    asked = sorted(wanted)
    records: dict[tuple[str, str], Record] = {}
    for (commit, path), data in zip(asked, kb.repository.read_blobs(asked), strict=True):
        try:
            if data is not None:
                records[commit, path] = kb.files.read(data, path)
        except BadRecord:
            continue
    return records


# -- branches -------------------------------------------------------------------------------------


def list_open_branches(kb: Workspace, lines: DivergedHistory, revision: str) -> list[Branch]:
    """Return other branches that may be merged, youngest first: open reviews and remote branches.

    Leave out branches merged into HEAD or the other line, and the upstream of the checked-out branch.
    """
    full = _read_git_line(kb, "rev-parse", "-q", "--verify", "--symbolic-full-name", revision)
    remote = full.split("/")[2] if full.startswith("refs/remotes/") else "origin"
    own: tuple[str, ...] = ()
    if checked_out := kb.repository.head().ref:
        upstream = _read_git_line(kb, "for-each-ref", "--format=%(upstream)", checked_out)
        own = (upstream, f"refs/remotes/{remote}/{checked_out.removeprefix('refs/heads/')}")
    merged = [f"--no-merged={commit}" for commit in (lines.head, lines.tip)]
    where = ("--sort=-committerdate", *merged, REVIEWS.rstrip("/"), f"refs/remotes/{remote}")
    branches: dict[str, Branch] = {}
    for row in kb.repository.list_refs(*where, form="%(refname)%00%(objectname)%00%(symref)"):
        ref, tip, target = row.split("\0")
        name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        if not target and ref not in own and (tip not in branches or ref.startswith(REVIEWS)):
            branches[tip] = Branch(name, tip)
    return list(branches.values())


# -- which files there are ------------------------------------------------------------------------


def iter_files(top: str) -> Iterator[str]:
    """Yield the files below *top*, relative to it, except those in hidden folders of tools."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in _HIDDEN]
        inside = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/") + "/"
        yield from (inside + name for name in names)


def list_tracked_files(kb: Workspace, top: str) -> list[str]:
    """Return the files of the project at *top*, relative to it, except ignored and deleted ones."""
    names = query_git(kb, top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if names is None:
        return list(iter_files(top))
    # git lists a file until its deletion is committed; a file left out by a sparse checkout is not deleted
    deleted = set((query_git(kb, top, "ls-files", "-z", "--deleted") or b"").split(b"\0"))
    return [os.fsdecode(name) for name in names.split(b"\0") if name and name not in deleted]


def find_definitions(kb: Workspace, top: str, names: Iterable[str]) -> dict[str, str]:
    """Map each of *names* to the one file of the repository at *top* that defines it, if only one does."""
    wanted = "|".join(sorted({name for name in names if name.isidentifier()}))
    pattern = rf"(def|class|func|fn|function|interface|struct|trait|enum|type|const|let|var|module) +({wanted})"
    output = query_git(kb, top, "grep", "-zowE", "-e", pattern) if wanted else None
    files_by_name: dict[str, set[str]] = {}
    for row in (output or b"").decode("utf-8", "replace").split("\n"):
        path, _, match = row.partition("\0")
        files_by_name.setdefault(match.rpartition(" ")[2], set()).add(path)
    return {name: paths.pop() for name, paths in files_by_name.items() if name and len(paths) == 1}


def list_files_around(kb: Workspace, folder: str) -> tuple[str, list[str]]:
    """Return the top of the repository around *folder* and its files relative to it, or ("", [])."""
    around = find_git_dir(os.path.realpath(folder)) if folder else None
    return (around[0], list_tracked_files(kb, around[0])) if around else ("", [])


def query_git(kb: Workspace, top: str, *arguments: str, has_globs: bool = False) -> bytes | None:
    """Return git's output for the repository at *top*, or None if it is not one or the command fails.

    The repository may be any in which work was done: programs named in its settings are not run.
    """
    try:
        repository = Repository(top, kb.environment)
        literal = "0" if has_globs else "1"
        output = repository.run_git(arguments, GIT_LITERAL_PATHSPECS=literal) if repository.top == top else None
    except (GitFailed, Busy):
        return None
    return output.out if output and not output.code else None


class FileOrigin(NamedTuple):
    """The origin of a file: the commit that added it, and its name in that commit."""

    day: str
    """The ISO day by the author's clock."""
    author: str


def find_file_origins(kb: Workspace, paths: Sequence[str]) -> dict[str, FileOrigin]:
    """Map each of the files *paths* to its origin in the repository around it; outside a repository to none.

    Renames of Markdown files are followed.
    """
    folders = {os.path.realpath(os.path.dirname(path)) for path in paths}
    found: dict[str, FileOrigin] = {}
    for top in {around[0] for folder in folders if (around := find_git_dir(folder))}:
        # all Markdown files, so that a folder that was moved as a whole keeps its history
        asked = ("log", "--reverse", "-M", "--name-status", "-z", "--format=%x01%aI%x00%an", "--", *_MARKDOWN)
        origins: dict[str, FileOrigin] = {}
        out = query_git(kb, top, *asked, has_globs=True) or b""
        for commit in out.decode("utf-8", "replace").split("\x01")[1:]:
            day, author, *changes = commit.split("\0")
            _note_origins(origins, FileOrigin(day[:10], author.strip()), iter(changes))
        found |= {os.path.join(top, name): origin for name, origin in origins.items()}
    return {path: found[real] for path in paths if (real := os.path.realpath(path)) in found}


def _note_origins(origins: dict[str, FileOrigin], origin: FileOrigin, changes: Iterator[str]) -> None:
    """Record in *origins* what one commit did: *changes* are the fields of `git log --name-status -z`."""
    for change in changes:
        state = change.strip()[:1]
        if state in ("R", "C"):
            old, new = next(changes, ""), next(changes, "")
            origins[new] = origins.get(old, origin)
        elif state:
            origins.setdefault(next(changes, ""), origin)


class CommitMessage(NamedTuple):
    """A commit of any repository, with its message and changes."""

    commit: str
    time: str
    """ISO 8601, of the author's clock."""
    message: str
    paths: tuple[str, ...]


def read_messages(kb: Workspace, folder: str, revisions: str, pattern: str, limit: int = 10_000) -> list[CommitMessage]:
    """Return the newest commits of the repository around *folder* whose message matches *pattern*, oldest first.

    *revisions* is what `git log` takes: a branch, or A..B. Raise BadInput if it is unknown there.
    """
    around = find_git_dir(os.path.realpath(folder))
    asked = ("log", "--name-only", "-z", "--format=%x01%H%x00%aI%x00%B%x00", "-E", f"--grep={pattern}", f"-{limit}")
    out = query_git(kb, around[0], *asked, "--end-of-options", revisions, "--") if around else None
    if out is None:
        raise BadInput(msg("git finds no commits of {revisions} here", revisions=revisions))
    messages = []
    for commit in out.decode("utf-8", "replace").split("\x01")[1:]:
        oid, time, message, *paths = commit.split("\0")
        messages.append(
            CommitMessage(oid, time, message.strip(), tuple(path.strip() for path in paths if path.strip()))
        )
    return messages[::-1]


# -- the history of a file ------------------------------------------------------------------------


def list_file_commits(
    repository: Repository, path: str, former_ids: Iterable[str] = (), limit: int = 1000
) -> list[FileCommit]:
    """Return the commits of the record at *path*, under any slug or one of its *former_ids*, oldest first."""
    from datetime import datetime

    if not repository.head().oid:
        return []
    with _open_gitpython(repository) as repo:
        names = _list_past_paths(repo, repository.to_git_path(path), former_ids)
        rows = repo.git.log("--format=%H%x00%cI%x00%an%x00%B%x01", f"-{limit}", "--", *names).split("\x01")
    commits = []
    for commit, time, author, message in (row.lstrip("\n").split("\0") for row in reversed(rows[:-1])):
        when = datetime.fromisoformat(time).isoformat()  # git writes Z or +00:00, depending on its version
        subject, operation = next(iter(message.splitlines()), ""), parse_operation(message, anywhere=True)
        commits.append(FileCommit(commit, when, author, subject, operation, parse_reason(message)))
    return commits


def read_patch_log(repository: Repository, path: str, former_ids: Iterable[str] = (), limit: int = 50) -> str:
    """Return the log of the record at *path* with its patches, newest first, as git prints it."""
    with _open_gitpython(repository) as repo:
        names = _list_past_paths(repo, repository.to_git_path(path), former_ids)
        text: str = repo.git.log(*COMMANDS["log"], "-p", f"-{limit}", "--no-color", "--", *names)
        return text


@contextlib.contextmanager
def _open_gitpython(repository: Repository) -> Iterator[git.Repo]:
    """Open *repository* with GitPython, with the environment of all commands; raise GitFailed."""
    import git

    try:
        with git.Repo(repository.top, search_parent_directories=False) as repo:
            repo.git.update_environment(**repository.guard.build_environment(["log"]))
            yield repo
    except git.GitCommandError as error:
        words = str(error.stderr).strip().removeprefix("stderr: '").removesuffix("'")
        raise build_git_error(["log"], CommandOutput(1, b"", words)) from None


def _list_past_paths(repo: git.Repo, path: str, former_ids: Iterable[str]) -> list[str]:
    """Return all names that *path* has had.

    git may follow a new record to a similar one; only a name in the same folder, with the record's id or one of its
    *former_ids*, is the same record.
    """
    before = repo.git.log("--follow", "--name-only", "--format=", "-z", "--", path).split("\0")
    folder, _, file = path.rpartition("/")
    starts = tuple(f"{folder}/{record_id}-" for record_id in (file.partition("-")[0], *former_ids))
    same = (name for name in before if name.startswith(starts))
    return list(dict.fromkeys([path, *same]))
