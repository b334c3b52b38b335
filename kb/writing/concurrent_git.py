"""Stay out of the way of git commands that a person runs beside kb, and find what one of them has lost.

`git merge` with uncommitted work saves it as a commit that nothing names, resets, and brings it back. When another
process holds the lock on the index at that moment, it does not bring it back, and says nothing. So kb waits while such
a command works in the repository. Where one was there all the same, kb looks at its next call for work that was saved
and not brought back, keeps it under a ref, and names it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence

from kb.errors import KbError
from kb.files import read_if_exists
from kb.git.git_locks import list_rewriting_commands
from kb.git.git_log import diff_trees, read_objects, resolve_tree
from kb.git.repository import PATIENCE, RefMove, Repository
from kb.i18n import Message, msg
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.workspace import Workspace

_BESIDE, _KEPT = "beside", "kept work"
"""Notes: the git command that ran while kb published, as JSON [seconds, command]; the refs not told of yet."""
_WINDOW = 120
"""Seconds before and after it in which such a command has saved what it put away."""
_REFS = "refs/kb/rescue/work-"
_LOSING = "merge"
"""The one command that may lose work: the others put it into the stash list before they touch a file.

What `git stash` made and `git stash pop` brought back looks just like it: only a merge is a reason to look.
"""


def wait_for_git(repository: Repository) -> list[str]:
    """Wait until no git command moves a person's uncommitted work about here; return those there after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while (commands := list_rewriting_commands(repository.top)) and time.monotonic() < end:
        time.sleep(0.02)
    return commands


def note_concurrent_merge(kb: Workspace, before: Sequence[str]) -> None:
    """Note a merge that ran *before* kb took the lock or runs now; `rescue_lost_work` looks what became of the work."""
    if _LOSING in (*before, *list_rewriting_commands(kb.repository.top)):
        kb.index.set_note(_BESIDE, json.dumps([time.time(), _LOSING]))


def rescue_lost_work(kb: Workspace) -> None:
    """Keep under a ref what a git command beside kb has put away and not brought back."""
    noted = kb.index.get_note(_BESIDE)
    if not noted or list_rewriting_commands(kb.repository.top):
        return
    kb.index.set_note(_BESIDE, "")
    since, command = json.loads(noted)
    with contextlib.suppress(KbError):
        for commit in _find_stash_commits(kb.repository, since):
            if not _is_restored(kb, commit):
                ref = _REFS + commit[:12]
                kb.repository.update_refs(
                    [RefMove(ref, commit, kb.repository.resolve_ref(ref))], "kb: keep uncommitted work"
                )
                told = [*json.loads(kb.index.get_note(_KEPT) or "[]"), [command, ref]]
                kb.index.set_note(_KEPT, json.dumps(told))


def report_rescued_work(kb: Workspace) -> Message | None:
    """Return what to tell a person of work that was kept since this was last asked; None for nothing."""
    noted = json.loads(kb.index.get_note(_KEPT) or "[]")
    if not noted:
        return None
    kb.index.set_note(_KEPT, "")
    command, ref = noted[-1]
    return msg(
        "git {command} ran beside kb and did not bring back what was not committed; if you miss it: "
        "git stash apply --index {ref}",
        command=command, ref=ref,
    )  # fmt: skip


def _find_stash_commits(repository: Repository, since: float) -> list[str]:
    """Return the commits that `git stash create` made around the moment *since* and that no stash names."""
    recent = list(_iter_recent_objects(repository, since))
    rows = repository.git("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in recent).encode()).decode()
    found = [row.split(" ")[0] for row in rows.splitlines() if " commit " in row]
    texts = read_objects(repository, found)
    stashes = repository.run_git(["log", "--walk-reflogs", "--format=%H", "refs/stash", "--"]).out.decode().split()
    return [oid for oid in found if oid not in stashes and b"\n\nWIP on " in texts[oid]]


def _iter_recent_objects(repository: Repository, since: float) -> Iterator[str]:
    """Yield the loose objects that were written around the moment *since*."""
    top = os.path.join(repository.common_dir, "objects")
    for folder in (name for name in os.listdir(top) if len(name) == 2):
        with contextlib.suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
            for entry in entries:
                if not entry.name.startswith("tmp") and abs(entry.stat().st_mtime - since) < _WINDOW:
                    yield folder + entry.name


def _is_restored(kb: Workspace, commit: str) -> bool:
    """Return whether the checkout has every file as the saved work *commit* has it, or HEAD has moved on with it."""
    repository = kb.repository
    base, saved, now = (resolve_tree(repository, revision) for revision in (commit + "^1", commit, "HEAD"))
    changes, moved = diff_trees(repository, [(base, saved), (base, now)])
    texts = read_objects(repository, [one.new for one in changes])
    since = {one.name for one in moved}
    return all(
        one.name in since
        or read_if_exists(os.path.join(repository.top, *one.name.split("/"))) == (texts[one.new] if one.new else None)
        for one in changes
    )
