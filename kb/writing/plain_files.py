"""Change files that are no records, such as archives and settings, in one commit; a person's edits are not touched."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, NeedsPerson
from kb.files import read_if_exists, write_atomic
from kb.git.git_dir import find_git_dir
from kb.git.repository import Repository, format_commit_message
from kb.git.worktree import list_differing_files
from kb.i18n import msg
from kb.writing.fast_forward import Advance, apply_advance, build_advance
from kb.writing.transaction import Transaction

if TYPE_CHECKING:
    from kb.workspace import Workspace


class FileChanges(NamedTuple):
    """What is to be committed: path → bytes, or None for a file that goes; nothing where there is no file."""

    files: Mapping[str, bytes | None] = {}
    subject: str = ""
    body: str = ""


def change_files(kb: Workspace, operation: str, plan: Callable[[str], FileChanges], *, dry_run: bool = False) -> str:
    """Commit what *plan* makes of the tip it is given, and return the commit; "" for nothing.

    *plan* is asked again when somebody else was faster. Raise NeedsPerson where uncommitted edits are in the way.
    """
    writing = Transaction(kb, "", "")
    advances: list[Advance] = []

    def build_commit() -> str:
        head = writing.head
        change = plan(head.oid)
        before = read_at_revision(kb, head.oid, change.files)
        now = {path: data for path, data in change.files.items() if before[path] != data}
        words = format_commit_message(change.subject, change.body, {"Kb-Op": operation})
        advances[:] = [build_advance(kb, head, now, words) if now else Advance(head, head.oid, {})]
        return advances[0].new if now else ""

    def publish_commit(commit: str) -> str:
        apply_advance(kb, advances[0], [], f"kb: {operation}")
        writing.is_published = True
        return commit

    return writing.run_with_retries(build_commit, None if dry_run else publish_commit)


def read_at_revision(kb: Workspace, revision: str, paths: Iterable[str]) -> dict[str, bytes | None]:
    """Return the files *paths* as the commit *revision* has them; None for one that it has not."""
    paths = list(paths)
    return dict(zip(paths, kb.repository.read_blobs([(revision, path) for path in paths]), strict=True))


def list_uncommitted(kb: Workspace, places: Sequence[str]) -> set[str]:
    """Return the files at or below *places* that are changed, staged or new, and not committed so."""
    tip = kb.repository.head().oid
    names = map(kb.repository.to_git_path, places)
    new = kb.repository.git("ls-files", "--others", "--exclude-standard", "-z", "--", *names)
    found = {kb.repository.to_kb_path(os.fsdecode(name)) for name in new.split(b"\0") if name}
    for is_staged in (False, True):
        found |= list_differing_files(kb.repository, tip, places, is_staged=is_staged)
    return found


def write_export(kb: Workspace, path: str, data: bytes) -> None:
    """Write *data* to the file *path*, whole or not at all.

    Raise NeedsPerson where git keeps that file and it has edits that are not committed, BadInput where it cannot be
    written.
    """
    place = os.path.realpath(path)
    try:
        if os.path.isfile(place) and read_if_exists(place) != data and _has_uncommitted_edits(kb, place):
            raise NeedsPerson(
                msg("{path} has changes that are not committed", path=path),
                hint=msg("commit them first: git add {path} && git commit {path}", path=path),
            )
        os.stat(os.path.dirname(place))
        if os.path.exists(place) and not os.path.isfile(place):  # a pipe or a terminal is written to, not replaced
            with open(place, "wb") as file:
                file.write(data)
        else:
            write_atomic(place, data)
    except OSError as error:
        raise BadInput(msg("cannot be written: {problem}", problem=error.strerror), path=path) from None


def _has_uncommitted_edits(kb: Workspace, place: str) -> bool:
    """Return whether the file at *place* is one that git keeps and differs from what is committed."""
    around = find_git_dir(os.path.dirname(place))
    if around is None:
        return False
    repository = Repository(around[0], kb.environment)
    name = os.path.relpath(place, repository.top).replace(os.sep, "/")
    committed = repository.read_blob("HEAD", name)
    return committed is not None and committed != read_if_exists(place)
