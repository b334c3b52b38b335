"""Replace the tool's own text in a record; where a person has edited it since, merge, and never overwrite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb import markdown
from kb.blocks import blocks
from kb.errors import UnknownId
from kb.front import decode
from kb.knowledge.names import ulid
from kb.record import Candidate, Record, Verdict
from kb.store.git import checkout
from kb.words import Said, say
from kb.writing.verdict import sections_of

if TYPE_CHECKING:
    from kb.knowledge.write import Writing


def rewrite(writing: "Writing", candidate: Candidate, grounds: Sequence[Said]) -> Verdict:
    """Write the sections of *candidate* into the record it updates (MBANK-04).

    What the tool wrote last is known from history. Its block unchanged since: replaced. Edited by hand: merged
    three-way. Where that conflicts the person's text stays, and the tool's goes to a review branch.
    """
    from kb.knowledge import one_named
    from kb.knowledge.review import Plan

    record = one_named(writing.kb.index, candidate.updates, candidate.scope)
    before = writing.text_of(record.path)
    if before is None:
        raise UnknownId(
            say("{path} is not committed yet", path=record.path),
            hint=say("commit it: git add {path}", path=record.path),
        )
    text = decode(before, record.path)
    base = last_written(writing, record) or before
    wanted = _with_sections(writing, decode(base, record.path), record, candidate)
    if wanted == text:
        return writing.verdict("unchanged", record, grounds)
    by_hand = _machine(base) != _machine(before)
    merged = (
        checkout.merged(writing.kb.repository, before, base, wanted.encode())
        if by_hand
        else _with_sections(writing, text, record, candidate).encode()
    )
    if merged is not None and merged == before:
        return writing.verdict("unchanged", record, grounds)
    if merged is not None and _survives(merged, record.path):
        writing.change(record.path, before, merged, "updated", record)
        said = [say("the block was edited by hand; both are in it now")] if by_hand else []
        return writing.verdict("updated", writing.reread(record.path), [*said, *grounds])
    branch = f"kb/review/{record.id}-update-{ulid(writing.kb.now())[-6:].lower()}"
    forced = markdown.replace_machine(text, wanted[slice(*blocks(wanted).machine)], record.path)
    from kb.knowledge.review import _words

    why = say("the MACHINE block was edited by hand since kb wrote it, and this changes the same lines")
    words = _words(writing.kb, f"Update [{record.id}] {record.title}", [why], record, candidate)
    writing.reviews.append(Plan(branch, "", {record.path: forced.encode()}, words))
    return writing.verdict(
        "conflict", record, [why, *grounds], (), say("decide it: git diff HEAD...{branch}", branch=branch), branch
    )


def last_written(writing: "Writing", record: Record) -> bytes | None:
    """Return the file of *record* as the tool wrote it last; None when history has no such commit."""
    repository = writing.kb.repository
    found = repository.git(
        "log", "-1", "--format=%H", "--grep=^Kb-Op: ", writing.head.oid, "--", repository.full(record.path)
    )
    commit = found.decode().strip()
    return repository.blob(commit, record.path) if commit else None


def _with_sections(writing: "Writing", text: str, record: Record, candidate: Candidate) -> str:
    for section in sections_of(candidate):
        text = markdown.edit_section(text, section.name, section.text, writing.kb.config.language, record.path)
    return text


def _machine(data: bytes) -> str:
    text = decode(data)
    span = blocks(text).machine
    return text[span.start : span.end]


def _survives(data: bytes, path: str) -> bool:
    from kb.errors import BadRecord

    try:
        markdown.read(data, path)
    except BadRecord:
        return False
    return True
