"""Replace the tool's own text in a record; where a person has edited it since, merge, and never overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, UnknownId
from kb.git import worktree
from kb.i18n import Message, msg
from kb.index.record_ids import find_record
from kb.records import record_file
from kb.records.blocks import find_blocks
from kb.records.front_matter import decode_record
from kb.records.model import Candidate, Record, Verdict
from kb.similarity.verdict import build_sections, is_decision_changed
from kb.writing.inbox import find_checkout_damage, hold_damaged, hold_uncommitted
from kb.writing.reviews import propose_text

if TYPE_CHECKING:
    from kb.writing.transaction import Transaction

_BY_HAND = frozenset({"", "edited"})
"""What `Kb-Op` says of commits whose text is a person's: none, or the one of `kb edit`."""


class _FileCommit(NamedTuple):
    """One commit of a record's file, with the file below it."""

    by_tool: bool
    before: bytes | None
    after: bytes | None


def rewrite_sections(
    transaction: Transaction, candidate: Candidate, grounds: Sequence[Message], *, decided: bool
) -> Verdict:
    """Write the sections of *candidate* into the record it updates (MBANK-04).

    What the tool alone would have there is known from history. Where the record still has that, it is replaced; where
    a person has edited it, merged three-way. Where that conflicts, or where the person has not committed their edits
    of the same lines yet, their text stays and the tool's goes to a review branch.
    """
    try:
        record = find_record(transaction.kb.index, candidate.updates, candidate.scope)
    except UnknownId as error:
        return transaction.refuse_candidate(candidate, [error.message], error.hint)
    before = transaction.read_planned(record.path)
    if before is None:
        return hold_uncommitted(transaction, candidate, record.path, grounds, ())
    record_file.read(before, record.path)
    if damaged := find_checkout_damage(transaction.kb, record.path, before):
        return hold_damaged(transaction, candidate, damaged, ())
    base = rebuild_tool_version(transaction, record, before)
    wanted = _replace_sections(transaction, base, record, candidate)
    if wanted == base:
        return transaction.build_verdict("unchanged", record, grounds)
    both = worktree.merge_file_versions(transaction.kb.repository, before, base, wanted)
    if both is None or not _is_readable_record(both, record.path):
        forced = _replace_sections(transaction, before, record, candidate)  # what a person changed besides stays
        why = msg("the MACHINE block was edited by hand since kb wrote it, and this changes the same lines")
        return propose_text(transaction, record, forced, candidate, [why, *grounds])
    if both == before:
        return transaction.build_verdict("unchanged", record, grounds)
    if not decided and is_decision_changed(record_file.read(before, record.path), record_file.read(both, record.path)):
        why = msg("it changes what [{id}], which is accepted, says was decided or why", id=record.scoped_id)
        return propose_text(transaction, record, both, candidate, [why, *grounds])
    by_hand = (
        [msg("the block was edited by hand; both are in it now")]
        if _extract_machine_block(base) != _extract_machine_block(before)
        else []
    )
    return transaction.plan_replacement(candidate, record, before, both, "updated", [*by_hand, *grounds])


def rebuild_tool_version(transaction: Transaction, record: Record, now: bytes) -> bytes:
    """Return the file of *record*, *now* in the tip, without what people have changed in it.

    Their commits are left out and those of the tool that came after are merged on top of what is left; a commit that
    cannot be merged so is taken as it is, with what was there before it.
    """
    steps = list(_list_file_commits(transaction, record))
    first = next((number for number, step in enumerate(steps) if not step.by_tool), len(steps))
    if first == len(steps):
        return now
    base = steps[first].before
    if base is None:
        return now
    for step in steps[first:]:
        if step.by_tool and step.before is not None and step.after is not None:
            merged = worktree.merge_file_versions(transaction.kb.repository, base, step.before, step.after)
            base = merged if merged is not None and _is_readable_record(merged, record.path) else step.after
    return base


def _list_file_commits(transaction: Transaction, record: Record) -> list[_FileCommit]:
    """Return the commits of the record's file, oldest first."""
    repository = transaction.kb.repository
    form = "%x01%H%x00%P%x00%(trailers:key=Kb-Op,valueonly,separator=%x2C)%x00"
    where = repository.to_git_path(record.path)
    out = repository.git("log", "--reverse", "--topo-order", f"--format={form}", transaction.head.oid, "--", where)
    rows = [row.split("\0")[:3] for row in out.decode("utf-8", "replace").split("\x01")[1:]]
    wanted = [
        (revision, record.path) for commit, parents, _ in rows for revision in (parents.split(" ")[0] or commit, commit)
    ]
    files = repository.read_blobs(wanted)
    steps = zip(rows, files[::2], files[1::2], strict=True)
    return [
        _FileCommit(op not in _BY_HAND, before if parents else None, after) for (_, parents, op), before, after in steps
    ]


def _replace_sections(transaction: Transaction, data: bytes, record: Record, candidate: Candidate) -> bytes:
    text = decode_record(data, record.path)
    for section in build_sections(candidate):
        text = record_file.edit_section(text, section.name, section.text, transaction.kb.config.language, record.path)
    return text.encode()


def _extract_machine_block(data: bytes) -> str:
    text = decode_record(data)
    return text[slice(*find_blocks(text).machine)]


def _is_readable_record(data: bytes, path: str) -> bool:
    try:
        record_file.read(data, path)
    except BadRecord:
        return False
    return True
