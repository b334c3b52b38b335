"""Does every id name one record, here and on the other branches?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kb.checks.check_context import CheckContext, LoadedRecord, iter_free_ids, make_finding
from kb.checks.findings import Finding, Key
from kb.i18n import msg


def check_duplicate_ids(shelf: CheckContext) -> Iterator[Finding]:
    """Report every record whose id an older one of its scope has; one record in two files is one record."""
    free: dict[Key, Iterator[str]] = {}
    for key, owners in shelf.by_key.items():
        for one in owners[1:]:
            if one.record.uid and one.record.uid == owners[0].record.uid:
                continue
            prefix = one.record.id.rstrip("0123456789")
            numbers = free.setdefault((key[0], prefix), iter_free_ids(shelf, key[0], prefix))
            yield make_finding(
                "duplicate-id",
                one,
                msg("{id} also names {other}", id=one.record.scoped_id, other=owners[0].record.path),
                msg("renumber this one, the younger; {id} is free: kb renumber", id=next(numbers)),
                key="id",
            )


def check_duplicate_uids(shelf: CheckContext) -> Iterator[Finding]:
    """Report every record that carries the uid of another: a copy, or what a merge made of a renamed file."""
    owners: dict[str, list[LoadedRecord]] = defaultdict(list)
    for one in sorted(shelf.opened, key=lambda one: one.age_key):
        if one.record.uid:
            owners[one.record.uid].append(one)
    for same in owners.values():
        for one in same[1:]:
            other = same[0].record
            is_one = one.record.title == other.title or one.key == same[0].key
            yield make_finding(
                "duplicate-uid",
                one,
                msg("the record of {other} stands here once more", other=other.path)
                if is_one
                else msg("this uid is already that of {other}", other=other.path),
                msg("compare both files and take one out: git rm {path}", path=one.record.path)
                if is_one
                else msg("delete the uid of the copy, then: kb check --fix"),
                key="uid",
            )


def check_branch_ids(shelf: CheckContext) -> Iterator[Finding]:
    """Report ids that name another record elsewhere: an error for the one that has to give way, else a warning.

    What stands on the trunk keeps its id; between two other branches the older uid does (uids sort by time).
    """
    branches, trunk = shelf.surroundings.branches, shelf.surroundings.trunk
    free: dict[Key, Iterator[str]] = {}
    for one in shelf.opened:
        ours = one.record.uid
        others = {
            branch: uid for branch, records in branches.items() if (uid := records.get(one.key, "")) not in ("", ours)
        }
        if not ours or not others:
            continue
        settled = branches.get(trunk, {}).get(one.key) == ours
        message = msg(
            "on the branch {branch}, {id} names another record",
            branch=", ".join(sorted(others)),
            id=one.record.scoped_id,
        )
        if trunk in others or (not settled and min(others.values()) < ours):
            prefix = one.record.id.rstrip("0123456789")
            numbers = free.setdefault((one.record.scope, prefix), iter_free_ids(shelf, one.record.scope, prefix))
            fix = msg("renumber this one; {new} is free: kb renumber {id}", new=next(numbers), id=one.record.scoped_id)
            yield make_finding("branch-id", one, message, fix, key="id")
        else:
            fix = msg("the other one is to be renumbered before it is merged")
            yield make_finding("branch-id", one, message, fix, key="id", severity="warning")
