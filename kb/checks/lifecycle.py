"""Do the lives of the records fit together: statuses, supersessions, required sections, claims?"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping

from kb.checks.check_context import CheckContext, LoadedRecord, make_finding, parse_path_key
from kb.checks.findings import Finding, Key, Severity
from kb.i18n import msg
from kb.records.kinds import SECTIONS, Kind, find_kind, status_name
from kb.records.model import LIVE, TRANSITIONS, Record, Status, is_imported
from kb.text.segment import clip

_SPOKEN = {"生效": Status.ACCEPTED, "已生效": Status.ACCEPTED, "待验证": Status.PROPOSED, "待审核": Status.PROPOSED}
_ORNAMENT = re.compile(r"[\W_]+")
_PLACEHOLDER = re.compile(
    r"(?:[-*+][ \t]*)?[(（<\[]?(?:todo|tbd|fixme|待补充?|待定|待填写?|\.{3}|…+)[)）>\]]?[.。:：]?"
)


def check_statuses(shelf: CheckContext) -> Iterator[Finding]:
    """Report statuses that are none; another spelling of one is written out (RUYI-18)."""
    known = [str(status) for status in Status]
    for one in shelf.opened:
        if one.record.status in known:
            continue
        message = msg("there is no status {status}", status=clip(one.record.status, 40))
        meant = _guess_status(one.record.status)
        if meant:
            fix = msg("write: status: {status}", status=meant)
            yield make_finding("status", one, message, fix, key="status", change={"status": meant})
        else:
            fix = msg("write one of: {statuses}", statuses=", ".join(known))
            yield make_finding("status", one, message, fix, key="status")


def _guess_status(status: str) -> str:
    plain = _ORNAMENT.sub("", status).casefold()
    return str(_SPOKEN.get(plain, plain if plain in list(Status) else ""))


def check_transitions(shelf: CheckContext) -> Iterator[Finding]:
    """Report a status that cannot follow the one before the change (RUYI-18)."""
    for one in shelf.opened:
        before, now = shelf.surroundings.was.get(one.record.uid, ""), one.record.status
        if before in TRANSITIONS and now in TRANSITIONS and before != now and now not in TRANSITIONS[before]:
            allowed = ", ".join(status for status in Status if status in TRANSITIONS[before])
            message = msg("{now} cannot follow {before}", now=now, before=before)
            fix = msg("after {before} comes one of: {allowed}", before=before, allowed=allowed)
            yield make_finding("transition", one, message, fix, key="status")


# -- supersession ---------------------------------------------------------------------------------


def check_missing_successors(shelf: CheckContext) -> Iterator[Finding]:
    """Report a superseded record whose successor is missing, or not in force yet."""
    unread = {key[0] for broken in shelf.broken if (key := parse_path_key(broken.source.path))}
    for one in shelf.opened:
        if one.record.status != Status.SUPERSEDED:
            continue
        successors = shelf.successors.get(one.key, ())
        pending = [s for s in successors if s.record.status in (Status.PROPOSED, Status.REJECTED)]
        if not successors and one.record.scope not in unread and not is_imported(one.record.extra):
            fix = msg(
                "name the successor: kb supersede {id} --by NEW; without one: kb status {id} deprecated",
                id=one.record.scoped_id,
            )
            yield make_finding("superseded", one, msg("it is superseded, but by no record"), fix, key="status")
        elif successors and len(pending) == len(successors):
            message = msg(
                "it is superseded by {id}, which is only {status}",
                id=pending[0].record.scoped_id,
                status=pending[0].record.status,
            )
            fix = msg(
                "accept {new}, or until then: kb status {id} accepted",
                new=pending[0].record.scoped_id,
                id=one.record.scoped_id,
            )
            waits = any(s.record.status == Status.PROPOSED for s in pending)
            yield make_finding("superseded", one, message, fix, key="status", severity="warning" if waits else "error")


def check_unmarked_records(shelf: CheckContext) -> Iterator[Finding]:
    """Report a live record that an accepted one supersedes as a whole; rings and double ids are left to their rules."""
    tangle = find_cycle_records(shelf)
    for key, successors in shelf.successors.items():
        owners = shelf.by_key.get(key, ())
        accepted = [s for s in successors if s.record.status == Status.ACCEPTED and not _is_amended_by(shelf, s, key)]
        if len(owners) != 1 or not accepted or key in tangle or owners[0].record.status not in LIVE:
            continue
        new, old = accepted[0].record, owners[0].record
        yield make_finding(
            "unmarked",
            owners[0],
            msg("{new} supersedes it, and it is still {status}", new=new.scoped_id, status=status_name(old.status)),
            msg("mark it: kb check --fix"),
            key="status",
            change={"status": str(Status.SUPERSEDED)},
        )


def _is_amended_by(shelf: CheckContext, successor: LoadedRecord, key: Key) -> bool:
    return any(
        shelf.resolve_reference(successor.record.scope, reference) == key for reference in successor.record.amends
    )


def _collect_edges(shelf: CheckContext) -> dict[Key, list[Key]]:
    """Return who supersedes whom, successor first."""
    edges: dict[Key, list[Key]] = defaultdict(list)
    for old, successors in shelf.successors.items():
        for one in successors:
            edges[one.key].append(old)
    return {key: sorted(olds) for key, olds in edges.items()}


def find_cycle_records(shelf: CheckContext) -> set[Key]:
    """Return the records that stand on a supersede cycle or between two."""
    edges = _collect_edges(shelf)
    back: dict[Key, list[Key]] = defaultdict(list)
    for new, olds in edges.items():
        for old in olds:
            back[old].append(new)
    return _prune_dead_ends(set(edges) & set(back), edges) & _prune_dead_ends(set(edges) & set(back), back)


def _prune_dead_ends(keys: set[Key], edges: Mapping[Key, list[Key]]) -> set[Key]:
    """Return what is left of *keys* when those that lead nowhere go, again and again."""
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


def check_cycles(shelf: CheckContext) -> Iterator[Finding]:
    """Report the rings of records that supersede one another; of rings that share a record, one at a time."""
    tangle = find_cycle_records(shelf)
    edges = _collect_edges(shelf)
    follow = {key: next(old for old in edges[key] if old in tangle) for key in tangle}
    for ring in _iter_cycles(follow):
        first = ring.index(min(ring))
        chain = " → ".join(id for _, id in [*ring[first:], *ring[:first], ring[first]])
        message = msg("records supersede each other in a ring: {chain}", chain=clip(chain, 200))
        fix = msg("take out the wrong supersedes: an older record cannot replace a newer one")
        yield make_finding("cycle", shelf.by_key[ring[first]][0], message, fix, key="supersedes")


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


def check_required_sections(shelf: CheckContext) -> Iterator[Finding]:
    """Report accepted records without a section their kind requires (RUYI-17); proposed ones where kb.toml refuses."""
    strict = shelf.config.missing == "refuse"
    for one in shelf.opened:
        kind = find_kind(one.record.kind)
        accepted = one.record.status == Status.ACCEPTED
        if (
            kind is None
            or is_imported(one.record.extra)
            or not (accepted or (strict and one.record.status == Status.PROPOSED))
        ):
            continue
        missing = ", ".join(list_missing_sections(one.record, kind))
        if missing and accepted and one.record.confirmed and not strict:
            continue  # a person has confirmed the one sentence they said: there may be no more to say
        if missing and accepted:
            fix = msg("write what is missing, or let it wait: kb status {id} proposed", id=one.record.scoped_id)
            message = msg("it is accepted without: {sections}", sections=missing)
            yield make_finding("sections", one, message, fix, key="status", severity="error" if strict else "warning")
        elif missing:
            message = msg("this knowledge base refuses records without: {sections}", sections=missing)
            yield make_finding("sections", one, message, msg("write what is missing"), key="status")


def list_missing_sections(record: Record, kind: Kind) -> list[str]:
    """Return the headings, in both languages, of the required sections that say nothing."""
    filled = {section.name for section in record.sections if has_content(section.text)}
    if record.impact:
        filled.add("impact")
    return [f"{s.en} ({s.zh})" for s in SECTIONS if s.name in kind.required and s.name not in filled]


def has_content(text: str) -> bool:
    """Return whether the *text* of a section is more than comments and a placeholder."""
    head, *tails = text.split("<!--")
    plain = (head + "".join(tail.partition("-->")[2] for tail in tails)).strip()
    return bool(plain) and not (len(plain) < 20 and _PLACEHOLDER.fullmatch(plain.casefold()))


# -- claims ---------------------------------------------------------------------------------------


def check_claims(shelf: CheckContext) -> Iterator[Finding]:
    """Report two accepted records of one scope that claim different values for one key, unless one explains it."""
    claimed: dict[Key, list[tuple[str, LoadedRecord]]] = defaultdict(list)
    for one in sorted(shelf.opened, key=lambda one: one.age_key):
        if one.record.status == Status.ACCEPTED:
            for key, value in one.record.claims.items():
                claimed[one.record.scope, _normalise_words(key)].append((_normalise_words(value), one))
    for (_, key), made in claimed.items():
        if len({value for value, _ in made}) > 1:
            yield from _find_claim_conflicts(shelf, key, made)


def _normalise_words(words: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", words).casefold().split())


def _find_claim_conflicts(shelf: CheckContext, key: str, made: list[tuple[str, LoadedRecord]]) -> Iterator[Finding]:
    """Yield, for each record, the first older one that says something else."""
    for number, (value, one) in enumerate(made):
        against = next((o for v, o in made[:number] if v != value and not _is_explained(shelf, one, o)), None)
        if against:
            theirs = next(v for k, v in against.record.claims.items() if _normalise_words(k) == key)
            ours, written = next((v, k) for k, v in one.record.claims.items() if _normalise_words(k) == key)
            message = msg(
                "{key} is {ours} here, and {theirs} in {other}",
                key=clip(written, 60),
                ours=clip(ours, 60),
                theirs=clip(theirs, 60),
                other=against.record.scoped_id,
            )
            fix = msg(
                'supersede one of them, or say why both hold: coexists_with: {{{id}: "the reason"}}',
                id=against.record.scoped_id,
            )
            yield make_finding("claims", one, message, fix, key="claims", item=written)


def _is_explained(shelf: CheckContext, one: LoadedRecord, other: LoadedRecord) -> bool:
    """Return whether one of the two says how it stands to the other."""
    return any(
        shelf.resolve_reference(a.record.scope, reference) == b.key
        for a, b in ((one, other), (other, one))
        for reference in (*a.record.coexists_with, *a.record.supersedes, *a.record.amends)
    )


def check_contradictions(shelf: CheckContext) -> Iterator[Finding]:
    """Report an accepted record that, by its words, contradicts another one; claims have a rule of their own.

    Only records that have just changed were compared so, and not with those that either of the two explains.
    """
    at = {one.record.path: one for one in shelf.opened if shelf.surroundings.clashes}
    for (path, against), reason in shelf.surroundings.clashes.items():
        one, other = at.get(path), at.get(against)
        if one and other and not _has_claim_conflict(one.record, other.record):
            fix = msg("replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
                      old=other.record.scoped_id, new=one.record.scoped_id)  # fmt: skip
            foreign = is_imported(one.record.extra) and is_imported(other.record.extra)
            severity: Severity = "warning" if foreign else "error"  # their authors let both stand, in another tool
            yield make_finding("contradiction", one, reason, fix, key="title", severity=severity)


def _has_claim_conflict(one: Record, other: Record) -> bool:
    theirs = {_normalise_words(key): _normalise_words(value) for key, value in other.claims.items()}
    return any(
        theirs.get(_normalise_words(key), _normalise_words(value)) != _normalise_words(value)
        for key, value in one.claims.items()
    )
