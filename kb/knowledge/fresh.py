"""Keep the index up with hand edits, pulls and branch switches, before anything is answered.

Looking at every file costs a system call each, 45 ms for 10,000. git looks faster, in C and on several cores, and
knows which files are as it last saw them: those only need a look when git's own index has changed since.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable

from kb.errors import BadRecord
from kb.record import LIVE, Record
from kb.store.git.command import Started
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_MANY = 500
"""So many files that git does not vouch for, and looking at all is no dearer."""


def look(kb: KnowledgeBase) -> Started:
    """Let git begin to look for files edited in place; it works while the caller does something else."""
    return kb.repository.start("diff-files", "--name-only", "-z", "--ignore-submodules=all")


def refresh(kb: KnowledgeBase, looking: Started | None = None) -> None:
    """Bring the index up to the checkout; nothing that changed is missed."""
    index = kb.index
    edited = _names(kb, (looking or look(kb)).ended().out)
    if len(edited) > _MANY:  # a copied clone: nothing is edited, git only has never looked
        kb.repository.git("update-index", "-q", "--refresh", check=False)
        edited = _names(kb, look(kb).ended().out)
    watched = set(json.loads(index.note("watched") or "[]"))
    stamp = _stamp(kb)
    if index.note("git") != stamp or not stamp or len(watched) > _MANY:
        index.refresh()
        watched = set(_unwatched(kb))
        _note(kb, stamp, watched | set(edited))
        return
    read = index.refresh(edited=watched | set(edited))
    if new := {*read, *edited} - watched:
        _note(kb, stamp, watched | new)


def in_tip(kb: KnowledgeBase, tip: str) -> list[Record]:
    """Return the live records that the commit *tip* has of files which cannot be read in the checkout: mostly none.

    Such a file is in no answer, but what it said is still decided.
    """
    paths = [path for path, _, _ in kb.index.broken()] if tip else []
    if not paths:
        return []
    from kb import markdown

    found = []
    for path, data in zip(paths, kb.repository.blobs([(tip, path) for path in paths]), strict=True):
        with contextlib.suppress(BadRecord):
            found += [markdown.read(data, path)] if data else []
    return [record for record in found if record.status in LIVE]


def _unwatched(kb: KnowledgeBase) -> list[str]:
    """Return the files that git does not look at: those it does not know, and those it was told to pass over."""
    listed = kb.repository.git("ls-files", "-o", "-c", "-v", "-z", "--", kb.repository.full("content"), check=False)
    return [kb.repository.own(row[2:]) for row in os.fsdecode(listed).split("\0") if row and row[0] != "H"]


def is_settled(kb: KnowledgeBase) -> bool:
    """Tell whether git's index is as it was when the index of the records was last brought up to the checkout."""
    return kb.index.note("git") == _stamp(kb)


def settle(kb: KnowledgeBase) -> None:
    """Say that git's index, which kb has just written, still agrees with the index of the records."""
    kb.index.set_note("git", _stamp(kb))


def knows(kb: KnowledgeBase, tip: str) -> bool:
    """Tell whether the index has seen the files as the commit *tip* has them.

    It has not where somebody else has committed, and where a writer died, or could not write the index, after its
    commit was published: then what it wrote in place would go unseen by a quick look, and be written again.
    """
    return kb.index.note("tip") == tip


def know(kb: KnowledgeBase, tip: str) -> None:
    """Say that the index has seen the files as the commit *tip* has them."""
    kb.index.set_note("tip", tip)


def _note(kb: KnowledgeBase, stamp: str, watched: Iterable[str]) -> None:
    with kb.index.changing():
        kb.index.set_note("git", stamp)
        kb.index.set_note("watched", json.dumps(sorted(path for path in watched if path.endswith(".md"))))


def _names(kb: KnowledgeBase, out: bytes) -> list[str]:
    return [kb.repository.own(name) for name in os.fsdecode(out).split("\0") if name]


def _stamp(kb: KnowledgeBase) -> str:
    try:
        stat = os.stat(os.path.join(kb.repository.git_dir, "index"))
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"
