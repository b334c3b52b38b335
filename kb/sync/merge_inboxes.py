"""Two inboxes become one: entry by entry, and what both have seen counts for both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.errors import KbError
from kb.git import revisions
from kb.git.git_log import is_ancestor, resolve_tree
from kb.git.repository import format_commit_message
from kb.git.trees import patch_tree
from kb.writing import inbox
from kb.writing.inbox import HeldCandidate

if TYPE_CHECKING:
    from kb.workspace import Workspace


def merge_inbox_commits(kb: Workspace, ours: str, theirs: str) -> str:
    """Return the commit that has both inboxes, each the commit of its ref or "" for none.

    What was taken out on one side stays out, unless the other side has seen it again since.
    """
    repository = kb.repository
    if not theirs or is_ancestor(repository, theirs, ours):
        return ours
    if not ours or is_ancestor(repository, ours, theirs):
        return theirs
    base = revisions.find_merge_base(kb, ours, theirs)
    sides = [repository.list_files(commit) if commit else {} for commit in (base, ours, theirs)]
    found = _merge_entries(kb, ours, theirs, sides[0], sides[1], sides[2])
    files = {repository.to_git_path(name): data for name, data in found.items()}
    tree = resolve_tree(repository, ours)
    with kb.state.open_stage() as stage:
        tree = patch_tree(repository, ours, [files], stage)[-1] if files else tree
    return repository.commit_tree(
        tree, [ours, theirs], format_commit_message("Bring two inboxes together", "", {"Kb-Op": "inbox"})
    )


def _merge_entries(
    kb: Workspace, ours: str, theirs: str, base: Mapping[str, str], mine: Mapping[str, str],
    other: Mapping[str, str],
) -> dict[str, bytes | None]:  # fmt: skip
    """Return the files in which the joined inbox differs from ours."""
    blobs = kb.repository.read_blobs
    found: dict[str, bytes | None] = {}
    for name in sorted({*mine, *other}):
        was, one, two = base.get(name), mine.get(name), other.get(name)
        if one == two or two == was or (two is None and one != was):
            continue
        if two is None:
            found[name] = None
        elif one is None or one == was:
            (found[name],) = blobs([(theirs, name)])
        else:
            first, second = blobs([(ours, name), (theirs, name)])
            found[name] = _merge_entry(name, first or b"", second or b"")
    return found


def _merge_entry(name: str, one: bytes, other: bytes) -> bytes:
    """Return one entry with the sightings of two; of one that cannot be read the other."""
    try:
        first, second = inbox.parse_held(name, json.loads(one)), inbox.parse_held(name, json.loads(other))
    except (KbError, ValueError, RecursionError):
        return max(one, other)
    both = sorted((*first.sightings, *second.sightings), key=lambda s: (s.get("day", ""), s.get("session", "")))
    sightings: dict[str, Mapping[str, str]] = {}
    for sighting in both:
        sightings.setdefault(sighting.get("session", ""), sighting)
    reasons = tuple(dict.fromkeys((*first.reasons, *second.reasons)))
    candidate = inbox.merge_sightings(first.candidate, second.candidate)
    return inbox.encode_held(HeldCandidate(first.name, candidate, tuple(sightings.values()), reasons))
