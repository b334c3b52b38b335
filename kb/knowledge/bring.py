"""Take over finished records of other tools: one commit, however many."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kb.kinds import BY_NAME
from kb.knowledge.names import folder_of, scope_of, ulids
from kb.patterns import regex
from kb.record import SCOPE, Record, Verdict
from kb.text import normalise, one_line, slugify
from kb.words import Said, say
from kb.writing import redact

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.knowledge.writing import Writing

_SCOPE = regex(SCOPE)
_ID = regex(r"([A-Z]{1,3})\d{3,9}")

Names = Mapping[tuple[str, str], str]
"""What became of an id: (scope, old id) → new id."""


class Brought(NamedTuple):
    """One record on its way in."""

    record: Record
    """Masked, with the id it gets; for one that is here already, that one."""
    wanted: str
    """The id it came with."""
    masked: tuple[str, ...] = ()
    known: bool = False
    objection: Said | None = None


def import_records(
    kb: "KnowledgeBase",
    records: Sequence[Record],
    *,
    origin: str,
    progress: Callable[[int], None] | None = None,
    dry_run: bool = False,
) -> list[Verdict]:
    """Write *records* as one commit and return a verdict for each.

    An id is kept where it is free in its scope, else the next free one is given and the links among *records* follow.
    A record that the knowledge base has already, by title and text, is `unchanged`. Secrets are masked. *progress* is
    told after each record how many are done.
    """
    from kb.knowledge.life import alone
    from kb.knowledge.writing import Writing

    if dry_run:
        writing = Writing(kb, "", "")
        with writing.transaction(keep=False):
            return _bring_all(writing, records, progress)
    verdicts: list[Verdict] = []

    def step(writing: "Writing") -> None:
        verdicts[:] = _bring_all(writing, records, progress)

    alone(kb, step, f"Import records from {origin}", "imported")
    return verdicts


def _bring_all(writing: "Writing", records: Sequence[Record], progress: Callable[[int], None] | None) -> list[Verdict]:
    arrivals = _named(writing, [_arrival(writing, record) for record in records])
    renamed: dict[tuple[str, str], str] = {}
    for one in arrivals:
        renamed.setdefault((one.record.scope, one.wanted), one.record.id)
    verdicts = []
    uids = ulids(writing.kb.now())
    for number, one in enumerate(arrivals, 1):
        verdicts.append(_brought(writing, one, renamed, uids))
        if progress:
            progress(number)
    return verdicts


def _arrival(writing: "Writing", record: Record) -> Brought:
    """Return *record* without secrets, control characters in its title, and ids that cannot be kept."""
    rules: set[str] = set()

    def masked(text: str) -> str:
        safe, masks = redact.redact(text, writing.kb.config.private_words)
        rules.update(mask.rule for mask in masks)
        return safe

    done = record._replace(
        title=one_line(masked(record.title)),
        tags=tuple(map(masked, record.tags)),
        impact=tuple(map(masked, record.impact)),
        sources=tuple(map(masked, record.sources)),
        claims=_masked(record.claims, masked),
        coexists_with=_masked(record.coexists_with, masked),
        sections=tuple(s._replace(heading=masked(s.heading), text=masked(s.text)) for s in record.sections),
        user=masked(record.user),
        extra=_masked(record.extra, masked),
    )
    return Brought(done, record.id, tuple(sorted(rules)), objection=_objection(done))


def _masked(value: Any, masked: Callable[[str], str]) -> Any:
    """Return a frontmatter *value* with every text in it masked."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {_masked(key, masked): _assigned(key, item, masked) for key, item in value.items()}
    return [_masked(item, masked) for item in value] if isinstance(value, list | tuple) else value


def _assigned(key: object, value: Any, masked: Callable[[str], str]) -> Any:
    """Return *value* masked as an assignment to *key* would be, for the key may be what gives a secret away."""
    if isinstance(value, str):
        safe = masked(f"{key}: {value}")
        if safe.startswith(f"{key}: "):
            return safe[len(f"{key}: ") :]
    return _masked(value, masked)


def _objection(record: Record) -> Said | None:
    """Return why *record* cannot be taken over."""
    if not _SCOPE.fullmatch(record.scope):
        return say("there is no scope {scope}", scope=record.scope)
    if record.kind not in BY_NAME:
        return say("there is no kind {kind}", kind=record.kind)
    return None if record.title else say("the title shows nothing")


def _named(writing: "Writing", arrivals: Sequence[Brought]) -> list[Brought]:
    """Return *arrivals* with their ids: first all that can keep theirs, then new ones for the rest."""
    index = writing.kb.index
    present = index.records()
    same = {_mark(record): record for record in present}
    unreadable = {(scope_of(path), path.rpartition("/")[2].partition("-")[0]) for path, _, _ in index.broken()}
    for scope, record_id in unreadable:
        if _ID.fullmatch(record_id):
            index.reserve(scope, record_id)
    taken = {(record.scope, record.id) for record in present} | unreadable
    found = list(arrivals)
    unnamed: list[int] = []
    for place, one in enumerate(arrivals):
        record = one.record
        match = _ID.fullmatch(record.id)
        if one.objection:
            continue
        if known := same.get(_mark(record)):
            found[place] = one._replace(record=known, known=True)
        elif match and match[1] == BY_NAME[record.kind].prefix and (record.scope, record.id) not in taken:
            taken.add((record.scope, record.id))
            index.reserve(record.scope, record.id)
        else:
            unnamed.append(place)
    for place in unnamed:
        record = found[place].record
        fresh = index.next_id(record.scope, BY_NAME[record.kind].prefix)
        index.reserve(record.scope, fresh)
        found[place] = found[place]._replace(record=record._replace(id=fresh))
    return found


def _mark(record: Record) -> tuple[str, str, str]:
    """Return what makes a record the same as one that was taken over before."""
    texts = " ".join(normalise(section.text) for section in record.sections)
    return record.scope, normalise(record.title), " ".join(texts.split())


def _brought(writing: "Writing", one: Brought, renamed: Names, uids: Iterator[str]) -> Verdict:
    if one.objection:
        verdict = writing.verdict("refused", one.record, [one.objection])
        return verdict._replace(id="", path="", uid="", status="")
    if one.known:
        return writing.verdict("unchanged", one.record, [])
    record = one.record

    def follow(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(renamed.get((record.scope, old), old) for old in ids)

    done = record._replace(
        uid=record.uid or next(uids),
        supersedes=follow(record.supersedes),
        amends=follow(record.amends),
        coexists_with=dict(zip(follow(list(record.coexists_with)), record.coexists_with.values(), strict=True)),
        path=f"{folder_of(record.scope, BY_NAME[record.kind].folder)}/{record.id}-{slugify(record.title)}.md",
    )
    writing.add(done, "imported")
    said = [say("masked: {rules}", rules=", ".join(one.masked))] if one.masked else []
    if one.wanted and one.wanted != done.id:
        said.append(say("its id {old} is in use here; it is {new} now", old=one.wanted, new=done.id))
    return writing.verdict("created", done, said)
