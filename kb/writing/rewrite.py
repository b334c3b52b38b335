"""Replace the tool's own text in a record; where a person has edited it since, merge, and never overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, UnknownId
from kb.git import worktree
from kb.i18n import Message, msg
from kb.index.lookup import one_named
from kb.records import record_file
from kb.records.blocks import blocks
from kb.records.front_matter import decode
from kb.records.model import Candidate, Record, Verdict
from kb.similarity.verdict import decides_otherwise, sections_of
from kb.writing.inbox import hold_damaged, hold_uncommitted
from kb.writing.reviews import propose_text
from kb.writing.unreadable import damaged_here

if TYPE_CHECKING:
    from kb.writing.transaction import Writing

_BY_HAND = frozenset({"", "edited"})
"""What `Kb-Op` says of commits whose text is a person's: none, or the one of `kb edit`."""


class _Step(NamedTuple):
    """One commit of a record's file, with the file below it."""

    by_tool: bool
    before: bytes | None
    after: bytes | None


def rewrite(writing: Writing, candidate: Candidate, grounds: Sequence[Message]) -> Verdict:
    """Write the sections of *candidate* into the record it updates (MBANK-04).

    What the tool alone would have there is known from history. Where that is what stands there, it is replaced; where
    a person has edited it, merged three-way. Where that conflicts, or where the person has not committed their edits
    of the same lines yet, their text stays and the tool's goes to a review branch.
    """
    try:
        record = one_named(writing.kb.index, candidate.updates, candidate.scope)
    except UnknownId as error:
        return writing.refused(candidate, [error.message], error.hint)
    before = writing.text_of(record.path)
    if before is None:
        return hold_uncommitted(writing, candidate, record.path, grounds, ())
    record_file.read(before, record.path)
    if damaged := damaged_here(writing.kb, record.path, before):
        return hold_damaged(writing, candidate, damaged, ())
    base = as_the_tool_left_it(writing, record, before)
    wanted = _with_sections(writing, base, record, candidate)
    if wanted == base:
        return writing.verdict("unchanged", record, grounds)
    both = worktree.merged(writing.kb.repository, before, base, wanted)
    if both is None or not _is_record(both, record.path):
        forced = _with_sections(writing, before, record, candidate)  # what a person changed besides stays
        why = msg("the MACHINE block was edited by hand since kb wrote it, and this changes the same lines")
        return propose_text(writing, record, forced, candidate, [why, *grounds])
    if both == before:
        return writing.verdict("unchanged", record, grounds)
    if not writing.decided and decides_otherwise(
        record_file.read(before, record.path), record_file.read(both, record.path)
    ):
        why = msg("it changes what [{id}], which is accepted, says was decided or why", id=record.scoped_id)
        return propose_text(writing, record, both, candidate, [why, *grounds])
    by_hand = [msg("the block was edited by hand; both are in it now")] if _machine(base) != _machine(before) else []
    return writing.replaced(candidate, record, before, both, "updated", [*by_hand, *grounds])


def as_the_tool_left_it(writing: Writing, record: Record, now: bytes) -> bytes:
    """Return the file of *record*, *now* in the tip, without what people have changed in it.

    Their commits are left out and those of the tool that came after are merged on top of what is left; a commit that
    cannot be merged so is taken as it is, with what was there before it.
    """
    steps = list(_steps(writing, record))
    first = next((number for number, step in enumerate(steps) if not step.by_tool), len(steps))
    if first == len(steps):
        return now
    base = steps[first].before
    if base is None:
        return now
    for step in steps[first:]:
        if step.by_tool and step.before is not None and step.after is not None:
            merged = worktree.merged(writing.kb.repository, base, step.before, step.after)
            base = merged if merged is not None and _is_record(merged, record.path) else step.after
    return base


def _steps(writing: Writing, record: Record) -> list[_Step]:
    """Return the commits of the record's file, oldest first."""
    repository = writing.kb.repository
    form = "%x01%H%x00%P%x00%(trailers:key=Kb-Op,valueonly,separator=%x2C)%x00"
    where = repository.full(record.path)
    out = repository.git("log", "--reverse", "--topo-order", f"--format={form}", writing.head.oid, "--", where)
    rows = [row.split("\0")[:3] for row in out.decode("utf-8", "replace").split("\x01")[1:]]
    wanted = [
        (revision, record.path) for commit, parents, _ in rows for revision in (parents.split(" ")[0] or commit, commit)
    ]
    files = repository.blobs(wanted)
    steps = zip(rows, files[::2], files[1::2], strict=True)
    return [_Step(op not in _BY_HAND, before if parents else None, after) for (_, parents, op), before, after in steps]


def _with_sections(writing: Writing, data: bytes, record: Record, candidate: Candidate) -> bytes:
    text = decode(data, record.path)
    for section in sections_of(candidate):
        text = record_file.edit_section(text, section.name, section.text, writing.kb.config.language, record.path)
    return text.encode()


def _machine(data: bytes) -> str:
    text = decode(data)
    return text[slice(*blocks(text).machine)]


def _is_record(data: bytes, path: str) -> bool:
    try:
        record_file.read(data, path)
    except BadRecord:
        return False
    return True
