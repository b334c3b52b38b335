"""Do the records fit together: statuses, supersessions, required sections, claims?"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kb.checks.check_context import CheckContext, Key, LoadedRecord, make_finding, parse_path_key
from kb.checks.findings import Finding, Severity
from kb.i18n import msg
from kb.records.kinds import SECTIONS, Kind, find_kind, status_name
from kb.records.model import LIVE, TRANSITIONS, Record, Status, is_imported
from kb.text.segment import clip

_SPOKEN = {"生效": Status.ACCEPTED, "已生效": Status.ACCEPTED, "待验证": Status.PROPOSED, "待审核": Status.PROPOSED}
# what people and other tools put around a status: "✅ Accepted", "**accepted**", "【生效】"
_ORNAMENT = re.compile(r"[\W_]+")
# a section that only announces itself: "TODO", "- [tbd]", "（待补充）", "…"
_PLACEHOLDER = re.compile(
    r"(?:[-*+][ \t]*)?[(（<\[]?(?:todo|tbd|fixme|待补充?|待定|待填写?|\.{3}|…+)[)）>\]]?[.。:：]?"
)


def check_statuses(context: CheckContext) -> Iterator[Finding]:
    """Report statuses that are none; another spelling of one is written out (RUYI-18)."""
    known = [str(status) for status in Status]
    for one in context.records:
        if one.record.status in known:
            continue
        message = msg("there is no status {status}", status=clip(one.record.status, 40))
        plain = _ORNAMENT.sub("", one.record.status).casefold()  # "✅ Accepted" and "已生效" both mean accepted
        meant = str(_SPOKEN.get(plain, plain if plain in known else ""))
        if meant:
            fix = msg("write: status: {status}", status=meant)
            yield make_finding("status", one, message, fix, key="status", change={"status": meant})
        else:
            fix = msg("write one of: {statuses}", statuses=", ".join(known))
            yield make_finding("status", one, message, fix, key="status")


def check_transitions(context: CheckContext) -> Iterator[Finding]:
    """Report a status that cannot follow the one before the change (RUYI-18)."""
    for one in context.records:
        before, now = context.surroundings.was.get(one.record.uid, ""), one.record.status
        if before in TRANSITIONS and now in TRANSITIONS and before != now and now not in TRANSITIONS[before]:
            allowed = ", ".join(status for status in Status if status in TRANSITIONS[before])
            message = msg("{now} cannot follow {before}", now=now, before=before)
            fix = msg("after {before} comes one of: {allowed}", before=before, allowed=allowed)
            yield make_finding("transition", one, message, fix, key="status")


# -- supersession ---------------------------------------------------------------------------------


def check_missing_successors(context: CheckContext) -> Iterator[Finding]:
    """Report a superseded record whose successor is missing, or not accepted yet."""
    unread = {key[0] for broken in context.broken if (key := parse_path_key(broken.source.path))}
    for one in context.records:
        if one.record.status != Status.SUPERSEDED:
            continue
        id = one.record.scoped_id
        successors = [successor.record for successor in context.successors.get(one.key, ())]
        pending = [record for record in successors if record.status in (Status.PROPOSED, Status.REJECTED)]
        if not successors and one.record.scope not in unread and not is_imported(one.record.extra):
            message = msg("it is superseded, but by no record")
            fix = msg("name the successor: kb supersede {id} --by NEW; without one: kb status {id} deprecated", id=id)
            yield make_finding("superseded", one, message, fix, key="status")
        elif successors and len(pending) == len(successors):
            new = pending[0]
            message = msg("it is superseded by {id}, which is only {status}", id=new.scoped_id, status=new.status)
            fix = msg("accept {new}, or until then: kb status {id} accepted", new=new.scoped_id, id=id)
            waits = any(record.status == Status.PROPOSED for record in pending)
            yield make_finding("superseded", one, message, fix, key="status", severity="warning" if waits else "error")


def check_unmarked_records(context: CheckContext) -> Iterator[Finding]:
    """Report a live record that an accepted one supersedes as a whole; rings and double ids are left to their rules."""
    tangle = _find_cycle_records(_collect_edges(context))
    for key, successors in context.successors.items():
        owners = context.by_key.get(key, ())
        accepted = [successor for successor in successors if successor.record.status == Status.ACCEPTED]
        accepted = [s for s in accepted if key not in _resolve_all(context, s, s.record.amends)]
        if len(owners) != 1 or not accepted or key in tangle or owners[0].record.status not in LIVE:
            continue
        new, status = accepted[0].record.scoped_id, status_name(owners[0].record.status)
        message = msg("{new} supersedes it, and it is still {status}", new=new, status=status)
        change = {"status": str(Status.SUPERSEDED)}
        yield make_finding(
            "unmarked", owners[0], message, msg("add the markers: kb check --fix"), key="status", change=change
        )


def _resolve_all(context: CheckContext, one: LoadedRecord, references: Iterable[str]) -> set[Key | None]:
    return {context.resolve_reference(one.record.scope, reference) for reference in references}


def _collect_edges(context: CheckContext) -> dict[Key, list[Key]]:
    """Return who supersedes whom, successor first."""
    edges: dict[Key, list[Key]] = defaultdict(list)
    for old, successors in context.successors.items():
        for one in successors:
            edges[one.key].append(old)
    return {key: sorted(olds) for key, olds in edges.items()}


def _find_cycle_records(edges: Mapping[Key, list[Key]]) -> set[Key]:
    """Return the records on a supersede cycle or between two."""
    back: dict[Key, list[Key]] = defaultdict(list)
    for new, olds in edges.items():
        for old in olds:
            back[old].append(new)
    both = set(edges) & set(back)
    return _prune_dead_ends(both, edges) & _prune_dead_ends(both, back)


def _prune_dead_ends(keys: set[Key], edges: Mapping[Key, list[Key]]) -> set[Key]:
    """Return what is left of *keys* when those that lead nowhere go, again and again."""
    # Kahn's algorithm: what is left when nothing more can go leads to a cycle, or is on one
    left = set(keys)
    back: dict[Key, list[Key]] = defaultdict(list)
    for key in left:
        for target in edges.get(key, ()):
            back[target].append(key)
    out = {key: sum(target in left for target in edges.get(key, ())) for key in left}
    ends = [key for key in left if not out[key]]
    while ends:
        end = ends.pop()
        left.discard(end)
        for key in back[end]:
            if key in left:
                out[key] -= 1
                if not out[key]:
                    ends.append(key)
    return left


def check_cycles(context: CheckContext) -> Iterator[Finding]:
    """Report the rings of records that supersede one another; of rings that share a record, one at a time."""
    edges = _collect_edges(context)
    tangle = _find_cycle_records(edges)
    follow = {key: next(old for old in edges[key] if old in tangle) for key in tangle}
    for ring in _iter_cycles(follow):
        first = ring.index(min(ring))
        chain = " → ".join(id for _, id in [*ring[first:], *ring[:first], ring[first]])
        message = msg("records supersede each other in a cycle: {chain}", chain=clip(chain, 200))
        fix = msg("remove the wrong supersedes: an older record cannot replace a newer one")
        yield make_finding("cycle", context.by_key[ring[first]][0], message, fix, key="supersedes")


def _iter_cycles(follow: Mapping[Key, Key]) -> Iterator[list[Key]]:
    """Yield the rings in a graph in which one edge leaves each key."""
    walked: set[Key] = set()
    for key in sorted(follow):
        walk: dict[Key, int] = {}
        while key not in walked and key not in walk:
            walk[key] = len(walk)
            key = follow[key]
        if key in walk:
            yield list(walk)[walk[key] :]
        walked.update(walk)


# -- sections -------------------------------------------------------------------------------------


def check_required_sections(context: CheckContext) -> Iterator[Finding]:
    """Report accepted records without a section their kind requires (RUYI-17); proposed ones where kb.toml refuses."""
    is_strict = context.config.missing == "refuse"
    for one in context.records:
        record, kind = one.record, find_kind(one.record.kind)
        is_accepted = record.status == Status.ACCEPTED
        is_due = is_accepted or (is_strict and record.status == Status.PROPOSED)
        if kind is None or is_imported(record.extra) or not is_due:
            continue
        missing = ", ".join(_list_missing_sections(record, kind))
        if not missing or (is_accepted and record.confirmed and not is_strict):
            continue  # a person has confirmed the one sentence they said: there may be no more to say
        if is_accepted:
            fix = msg("write what is missing, or let it wait: kb status {id} proposed", id=record.scoped_id)
            message = msg("it is accepted without: {sections}", sections=missing)
            severity: Severity = "error" if is_strict else "warning"
            yield make_finding("sections", one, message, fix, key="status", severity=severity)
        else:
            message = msg("this knowledge base refuses records without: {sections}", sections=missing)
            yield make_finding("sections", one, message, msg("write what is missing"), key="status")


def _list_missing_sections(record: Record, kind: Kind) -> list[str]:
    """Return the headings, in both languages, of the required sections that say nothing."""
    filled = {section.name for section in record.sections if _has_content(section.text)}
    if record.impact:
        filled.add("impact")
    return [f"{s.en} ({s.zh})" for s in SECTIONS if s.name in kind.required and s.name not in filled]


def _has_content(text: str) -> bool:
    """Return whether the *text* of a section is more than comments and a placeholder."""
    # comments are taken out by hand: a search for "<!--.*?-->" is quadratic where many are not closed
    head, *tails = text.split("<!--")
    plain = (head + "".join(tail.partition("-->")[2] for tail in tails)).strip()
    return bool(plain) and not (len(plain) < 20 and _PLACEHOLDER.fullmatch(plain.casefold()))


# -- claims ---------------------------------------------------------------------------------------


def check_claims(context: CheckContext) -> Iterator[Finding]:
    """Report two accepted records of one scope that claim different values for one key, unless one explains it."""
    claimed: dict[Key, list[tuple[str, LoadedRecord]]] = defaultdict(list)
    for one in sorted(context.records, key=lambda one: one.age_key):
        if one.record.status == Status.ACCEPTED:
            for key, value in one.record.claims.items():
                claimed[one.record.scope, _normalise_words(key)].append((_normalise_words(value), one))
    for (_, key), claims in claimed.items():
        if len({value for value, _ in claims}) == 1:
            continue
        for number, (value, one) in enumerate(claims):
            older = (other for said, other in claims[:number] if said != value)
            other = next((other for other in older if not _is_explained(context, one, other)), None)
            if other:
                yield _report_claims(key, one, other)


def _normalise_words(words: str) -> str:
    # "Retry  Limit" and "retry limit", "３" and "3" are the same claim
    return " ".join(unicodedata.normalize("NFKC", words).casefold().split())


def _report_claims(key: str, one: LoadedRecord, other: LoadedRecord) -> Finding:
    """Report that *one* and the older *other* claim different values for the normalised *key*."""
    written, ours = next((k, v) for k, v in one.record.claims.items() if _normalise_words(k) == key)
    theirs = next(v for k, v in other.record.claims.items() if _normalise_words(k) == key)
    message = msg(
        "{key} is {ours} here, and {theirs} in {other}",
        key=clip(written, 60),
        ours=clip(ours, 60),
        theirs=clip(theirs, 60),
        other=other.record.scoped_id,
    )
    fix = msg(
        'supersede one of them, or say why both hold: coexists_with: {{{id}: "the reason"}}', id=other.record.scoped_id
    )
    return make_finding("claims", one, message, fix, key="claims", item=written)


def _is_explained(context: CheckContext, one: LoadedRecord, other: LoadedRecord) -> bool:
    """Return whether one of the two names its relation to the other."""
    return any(
        b.key in _resolve_all(context, a, (*a.record.coexists_with, *a.record.supersedes, *a.record.amends))
        for a, b in ((one, other), (other, one))
    )


def check_contradictions(context: CheckContext) -> Iterator[Finding]:
    """Report an accepted record that, by its words, contradicts another one; claims have a rule of their own.

    Only records that have just changed were compared so, and not with those that either of the two explains.
    """
    by_path = {one.record.path: one for one in context.records if context.surroundings.clashes}
    for (path, other_path), reason in context.surroundings.clashes.items():
        one, other = by_path.get(path), by_path.get(other_path)
        if one and other and not _has_claim_conflict(one.record, other.record):
            fix = msg(
                "replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
                old=other.record.scoped_id,
                new=one.record.scoped_id,
            )
            # what comes from another tool is only a warning: its authors let both stand there
            is_foreign = is_imported(one.record.extra) and is_imported(other.record.extra)
            severity: Severity = "warning" if is_foreign else "error"
            yield make_finding("contradiction", one, reason, fix, key="title", severity=severity)


def _has_claim_conflict(one: Record, other: Record) -> bool:
    theirs = {_normalise_words(key): _normalise_words(value) for key, value in other.claims.items()}
    return any(
        theirs.get(_normalise_words(key), _normalise_words(value)) != _normalise_words(value)
        for key, value in one.claims.items()
    )
