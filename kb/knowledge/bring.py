"""Take over finished records of other tools: one commit, however many."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kb.kinds import BY_NAME
from kb.knowledge.names import folder_of, ulid
from kb.record import Record, Verdict
from kb.text import normalise, one_line, slugify
from kb.words import Said, say
from kb.writing import redact

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.knowledge.write import Writing


def import_records(
    kb: "KnowledgeBase", records: Sequence[Record], *, origin: str, progress: Callable[[int], None] | None = None
) -> list[Verdict]:
    """Write *records* as one commit and return a verdict for each.

    An id is kept where it is free in its scope, else the next free one is given and the links among *records* follow.
    A record that the knowledge base has already, by title and text, is `unchanged`. Secrets are masked.
    """
    from kb.knowledge.life import alone

    verdicts: list[Verdict] = []

    def step(writing: "Writing") -> Verdict | None:
        verdicts[:] = _bring_all(writing, records, progress)
        return None

    alone(kb, step, f"Import {len(records)} records from {origin}", "imported")
    return verdicts


def _bring_all(writing: "Writing", records: Sequence[Record], progress: Callable[[int], None] | None) -> list[Verdict]:
    kb = writing.kb
    taken = {(record.scope, record.id): record for record in kb.index.records()}
    known = {(record.scope, normalise(record.title)): record for record in taken.values()}
    renamed: dict[tuple[str, str], str] = {}
    planned: list[tuple[Record, Record | None]] = []
    for record in records:
        same = known.get((record.scope, normalise(record.title)))
        if same and _text(same) == _text(record):
            renamed[record.scope, record.id] = same.id
            planned.append((record, same))
            continue
        record_id = record.id
        if not record_id or (record.scope, record_id) in taken:
            record_id = kb.index.next_id(record.scope, BY_NAME[record.kind].prefix)
        kb.index.reserve(record.scope, record_id)
        taken[record.scope, record_id] = record
        if record.id:
            renamed.setdefault((record.scope, record.id), record_id)
        planned.append((record._replace(id=record_id), None))
    return [_bring(writing, record, same, renamed, progress, number) for number, (record, same) in enumerate(planned)]


def _bring(
    writing: "Writing", record: Record, same: Record | None, renamed: dict[tuple[str, str], str],
    progress: Callable[[int], None] | None, number: int,
) -> Verdict:  # fmt: skip
    if progress:
        progress(number + 1)
    if same:
        return writing.verdict("unchanged", same, [])
    kb = writing.kb
    sections, masks = [], set()
    for section in record.sections:
        text, masked = redact.redact(section.text, kb.config.private_words)
        masks |= {mask.rule for mask in masked}
        sections.append(section._replace(text=text))
    kind = BY_NAME[record.kind]

    def follow(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(renamed.get((record.scope, old), old) for old in ids)

    done = record._replace(
        uid=record.uid or ulid(kb.now()),
        title=one_line(redact.redact(record.title)[0]),
        sections=tuple(sections),
        supersedes=follow(record.supersedes),
        amends=follow(record.amends),
        path=f"{folder_of(record.scope, kind.folder)}/{record.id}-{slugify(record.title)}.md",
    )
    writing.add(done, "imported")
    said: list[Said] = [say("masked: {rules}", rules=", ".join(sorted(masks)))] if masks else []
    return writing.verdict("created", done, said)


def _text(record: Record) -> str:
    return normalise(" ".join(section.text for section in record.sections))
