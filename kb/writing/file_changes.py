"""Change files of any kind in one commit: the branch moves, the checkout follows, a person's edits stay."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, NeedsPerson, describe_os_error
from kb.files import read_if_exists, write_atomic
from kb.git import worktree
from kb.git.commit_message import format_commit_message
from kb.git.git_process import find_git_dir
from kb.git.objects import diff_trees, patch_tree, read_objects, resolve_tree
from kb.git.repository import Head, RefMove, Repository
from kb.git.worktree import Changes, list_differing_files
from kb.i18n import msg
from kb.merge.rebase import is_content_file
from kb.records.front_matter import decode_record
from kb.safety import redaction
from kb.search.rank import SYNONYMS, SynonymGroup, parse_synonym_groups
from kb.text.segment import one_line
from kb.writing.publish import publish_moves
from kb.writing.transaction import Transaction, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace


class Advance(NamedTuple):
    """A checked but not yet applied move from the checked-out commit to another."""

    head: Head
    new: str
    changes: Changes
    trees: tuple[str, str] | None = None
    """The trees between which git's own checkout has to move, or None for no move."""


def prepare_advance(kb: Workspace, head: Head, new: str, by_hand: str) -> Advance:
    """Check that the checkout can move from *head* to the commit *new*; raise NeedsPerson if something is in the way.

    *by_hand*: the git command with which a person makes the move if kb cannot.
    """
    if head.oid == new:
        return Advance(head, new, {})
    repository = kb.repository
    before, after = resolve_tree(repository, head.oid), resolve_tree(repository, new)
    (found,) = diff_trees(repository, [(before, after)])
    own = [one for one in found if is_content_file(kb, one.name)]
    if strange := [one.name for one in own if not one.is_plain]:
        problem = msg("{path} is not an ordinary file", path=one_line(strange[0]))
        raise NeedsPerson(problem, hint=msg("{command}", command=by_hand))
    blobs = read_objects(repository, [oid for one in own for oid in (one.old, one.new)])
    changes = {repository.to_kb_path(one.name): (blobs.get(one.old), blobs.get(one.new)) for one in own}
    _refuse_conflicts(kb, head, changes)
    if len(own) == len(found):
        return Advance(head, new, changes)
    if own:  # git's own checkout does not touch the records: `publish_moves` updates them
        with kb.state.open_stage() as stage:
            after = patch_tree(repository, after, [{one.name: blobs.get(one.old) for one in own}], stage)[-1]
    _refuse_blocked_checkout(kb, (before, after))
    return Advance(head, new, changes, (before, after))


def build_advance(kb: Workspace, head: Head, files: Mapping[str, bytes | None], message: str) -> Advance:
    """Build the commit of *files* on *head* and check the move to it; nothing is visible yet."""
    with kb.state.open_stage() as stage:
        commit = kb.repository.build_commit(head.oid, files, message, stage=stage)
    return prepare_advance(kb, head, commit, "")


def _refuse_conflicts(kb: Workspace, head: Head, changes: Changes) -> None:
    """Raise NeedsPerson if uncommitted edits of a record touch the lines that change."""
    edited = [path for path, (before, _) in changes.items() if before is not None]
    staged = worktree.read_staged_files(kb.repository, head.oid, edited)
    for path, (before, now) in changes.items():
        mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
        if mine is None or mine == now:
            continue
        if before is None:
            problem = msg("{path} is uncommitted here and also comes from the remote", path=path)
            raise NeedsPerson(problem, hint=msg("move it away: git stash push --include-untracked {path}", path=path))
        is_touched = path in staged or not worktree.is_same_text(mine, before)
        if is_touched and (now is None or worktree.has_conflicting_edits(kb.repository, head.oid, path, before, now)):
            raise build_edited_error(path)


def build_edited_error(path: str) -> NeedsPerson:
    """Return the error that uncommitted edits of *path* touch the lines that change."""
    problem = msg("{path} has changes on the same lines that are not committed", path=path)
    return NeedsPerson(problem, hint=msg("commit them first: git commit {path}", path=path))


def _refuse_blocked_checkout(kb: Workspace, trees: tuple[str, str]) -> None:
    """Raise NeedsPerson if git would refuse to update its own checkout."""
    kb.repository.git("update-index", "-q", "--refresh", check=False)  # git compares file times
    output = kb.repository.run_git(["read-tree", "--dry-run", "-m", "-u", "--no-recurse-submodules", *trees])
    if output.code:
        lines = [line for line in output.error.splitlines() if line.strip()] or [f"exit {output.code}"]
        problem = lines[0].removeprefix("error: ").removeprefix("fatal: ")
        raise NeedsPerson(
            msg("uncommitted changes are in the way: {problem}", problem=problem),
            hint=msg("commit it, or: git stash; then the same command again"),
        )


def apply_advance(transaction: Transaction, advance: Advance, more: Sequence[RefMove], reason: str) -> dict[str, str]:
    """Move the branch and the refs of *more*, or none; return how the checkout took the file of each record."""
    kb = transaction.kb
    moves = [] if advance.head.oid == advance.new else [RefMove(advance.head.ref, advance.new, advance.head.oid)]
    if not moves and not more:
        return {}
    follow = ["read-tree", "-m", "-u", "--no-recurse-submodules"]
    if advance.trees:  # git updates the files that are not kb's before the branch moves
        kb.repository.git(*follow, *advance.trees)
    try:
        outcomes = publish_moves(kb, advance.head, [*moves, *more], advance.changes, reason)
    except BaseException:
        # move back if the branch has not moved; if it has, the checkout is right
        if advance.trees and kb.repository.resolve_ref(advance.head.ref) == advance.head.oid:
            kb.repository.run_git([*follow, *reversed(advance.trees)])
        raise
    transaction.is_published = True
    kb.index.reload_files(path for path in advance.changes if kb.files.is_record_path(path))
    return outcomes


def commit_files(
    transaction: Transaction, operation: str, files: Mapping[str, bytes | None], subject: str, body: str = ""
) -> str:
    """Commit *files* (path → bytes, or None to delete) and return the commit, or "" if nothing changes.

    A dry run builds the commit without publishing it. Raise NeedsPerson if uncommitted edits are in the way.
    """
    kb, head = transaction.kb, transaction.head
    before = kb.repository.read_files(head.oid, files)
    changed = {path: data for path, data in files.items() if before[path] != data}
    if not changed:
        return ""
    advance = build_advance(kb, head, changed, format_commit_message(subject, body, {"Kb-Op": operation}))
    if not transaction.dry_run:
        apply_advance(transaction, advance, [], f"kb: {operation}")
    return advance.new


def list_uncommitted(kb: Workspace, paths: Sequence[str]) -> set[str]:
    """Return the files at or under *paths* with uncommitted changes, staged or not, and new files."""
    tip = kb.repository.head().oid
    names = map(kb.repository.to_git_path, paths)
    new = kb.repository.git("ls-files", "--others", "--exclude-standard", "-z", "--", *names)
    found = {kb.repository.to_kb_path(os.fsdecode(name)) for name in new.split(b"\0") if name}
    for is_staged in (False, True):
        found |= list_differing_files(kb.repository, tip, paths, is_staged=is_staged)
    return found


def write_export(kb: Workspace, path: str, data: bytes) -> None:
    """Write *data* to the file *path* atomically.

    Raise NeedsPerson if git tracks that file and it has uncommitted edits, BadInput if it cannot be written.
    """
    target = os.path.realpath(path)
    try:
        around = find_git_dir(os.path.dirname(target))
        if around and os.path.isfile(target) and read_if_exists(target) != data:
            repository = Repository(around[0], kb.environment)
            name = os.path.relpath(target, repository.top).replace(os.sep, "/")
            if repository.read_blob("HEAD", name) not in (None, read_if_exists(target)):
                raise _uncommitted_error(path)
        os.stat(os.path.dirname(target))
        if os.path.exists(target) and not os.path.isfile(
            target
        ):  # write to a pipe or a terminal instead of replacing it
            with open(target, "wb") as file:
                file.write(data)
        else:
            write_atomic(target, data)
    except OSError as error:
        raise BadInput(msg("cannot be written: {problem}", problem=describe_os_error(error)), path=path) from None


# -- keywords: words of a trade that mean the same, by which search, contexts and packs find (ZCLAW-40) ---


KEYWORDS = f"content/{SYNONYMS}"


def exclude_from_git(kb: Workspace, folder: str) -> str:
    """Make git ignore *folder*, which kb has created and nobody has committed, in this clone.

    Return the path of the changed file, or "" if no change was needed. The file is `.git/info/exclude`, not a
    `.gitignore`, which belongs to a person and also affects tools that publish the folder.
    """
    repository = kb.repository
    inside = os.path.relpath(os.path.realpath(folder), repository.top).replace(os.sep, "/")
    if inside.startswith("..") or inside == ".":
        return ""
    listed = repository.git("ls-files", "-z", "--others", "--exclude-standard", "--directory", "--", inside)
    if os.fsdecode(listed) != f"{inside}/\0":  # ignored already, or partly committed
        return ""
    path = os.path.join(repository.common_dir, "info", "exclude")
    before = read_if_exists(path) or b""
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    pattern = re.sub(r"([\\*?\[ ])", r"\\\1", inside)
    write_atomic(path, before + gap + os.fsencode(f"/{pattern}/\n"))
    return path


def list_groups(kb: Workspace) -> list[SynonymGroup]:
    """Return the knowledge base's own committed synonym groups."""
    return _parse_groups(kb.repository.read_blob("HEAD", KEYWORDS))


def add_groups(kb: Workspace, text: str, source: str) -> list[SynonymGroup]:
    """Commit the new synonym groups in *text*, the contents of *source*, and return those added.

    Raise BadInput with the line if one is no group.
    """
    groups = parse_synonym_groups(redaction.redact_text(text, kb.config.masking)[0], source)
    if not groups:
        raise BadInput(
            msg("it contains no group of synonyms"), path=source, hint=msg("write: - [缓存, cache, caching]")
        )

    if not _find_new_groups(kb.repository.read_blob("HEAD", KEYWORDS), groups):
        return []
    for transaction in transactions(kb):
        with transaction:
            before = transaction.read_planned(KEYWORDS)
            if new := _find_new_groups(before, groups):
                head = decode_record(before, KEYWORDS) if before else ""
                rows = "".join(f"- [{', '.join(group.words)}]\n" for group in new)
                now = (head + ("" if head.endswith("\n") or not head else "\n") + rows).encode()
                # an uncommitted new file is in the way too: it would stay unchanged
                mine = read_if_exists(os.path.join(kb.root, *KEYWORDS.split("/")))
                is_strange = before is None and mine not in (None, now)
                if is_strange or (before is not None and transaction.has_conflict(KEYWORDS, before, now)):
                    raise _uncommitted_error(KEYWORDS)
                transaction.changes[KEYWORDS] = (before, now)
            transaction.commit("Load keywords", "keywords")
    return new


def _uncommitted_error(path: str) -> NeedsPerson:
    return NeedsPerson(
        msg("{path} has changes that are not committed", path=path),
        hint=msg("commit them first: git add {path} && git commit {path}", path=path),
    )


def _find_new_groups(data: bytes | None, groups: Sequence[SynonymGroup]) -> list[SynonymGroup]:
    """Return those of *groups* that the file *data* does not have, each once."""
    known = {frozenset(group.words) for group in _parse_groups(data)}
    return [group for group in dict.fromkeys(groups) if frozenset(group.words) not in known]


def _parse_groups(data: bytes | None) -> list[SynonymGroup]:
    return parse_synonym_groups(decode_record(data, KEYWORDS), KEYWORDS) if data else []
