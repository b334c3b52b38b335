"""Rules on the lifecycle of records: statuses, supersessions, required sections, claims."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping

from kb.checks.check_context import CheckContext, Key, LoadedRecord, parse_folder_key
from kb.checks.findings import Finding
from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, find_kind, status_name
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
            yield one.report("status", "status", message, fix, change={"status": meant})
        else:
            fix = msg("write one of: {statuses}", statuses=", ".join(known))
            yield one.report("status", "status", message, fix)


def check_transitions(context: CheckContext) -> Iterator[Finding]:
    """Report a status that cannot follow the one before the change (RUYI-18)."""
    for one in context.records:
        before, now = context.surroundings.was.get(one.record.uid, ""), one.record.status
        if before in TRANSITIONS and now in TRANSITIONS and before != now and now not in TRANSITIONS[before]:
            allowed = ", ".join(status for status in Status if status in TRANSITIONS[before])
            message = msg("{now} cannot follow {before}", now=now, before=before)
            fix = msg("after {before} comes one of: {allowed}", before=before, allowed=allowed)
            yield one.report("transition", "status", message, fix)


# -- supersession ---------------------------------------------------------------------------------


def check_missing_successors(context: CheckContext) -> Iterator[Finding]:
    """Report a superseded record whose successor is missing, or not accepted yet."""
    unread = {scope for broken in context.broken for scope, id in [parse_folder_key(broken.source.path)] if id}
    for one in context.records:
        if one.record.status != Status.SUPERSEDED:
            continue
        id = one.record.scoped_id
        successors = [successor.record for successor in context.successors.get(one.record.key, ())]
        pending = [record for record in successors if record.status in (Status.PROPOSED, Status.REJECTED)]
        if not successors and one.record.scope not in unread and not is_imported(one.record.extra):
            message = msg("it is superseded, but by no record")
            fix = msg("name the successor: kb supersede {id} --by NEW; without one: kb status {id} deprecated", id=id)
            yield one.report("superseded", "status", message, fix)
        elif successors and len(pending) == len(successors):
            new = pending[0]
            message = msg("it is superseded by {id}, which is only {status}", id=new.scoped_id, status=new.status)
            fix = msg("accept {new}, or until then: kb status {id} accepted", new=new.scoped_id, id=id)
            waits = any(record.status == Status.PROPOSED for record in pending)
            yield one.report("superseded", "status", message, fix, severity="warning" if waits else "error")


def check_unmarked_records(context: CheckContext) -> Iterator[Finding]:
    """Report a live record that an accepted one supersedes as a whole; rings and double ids are left to their rules."""
    on_cycles = _find_cycle_records(_collect_edges(context))
    for key, successors in context.successors.items():
        owners = context.by_key.get(key, ())
        accepted = [
            successor.record
            for successor in successors
            if successor.record.status == Status.ACCEPTED
            and key not in context.resolve_all(successor.record.scope, successor.record.amends)
        ]
        if len(owners) == 1 and accepted and key not in on_cycles and owners[0].record.status in LIVE:
            new, status = accepted[0].scoped_id, status_name(owners[0].record.status)
            message = msg("{new} supersedes it, and it is still {status}", new=new, status=status)
            change = {"status": str(Status.SUPERSEDED)}
            yield owners[0].report("unmarked", "status", message, msg("add the markers: kb check --fix"), change=change)


def check_cycles(context: CheckContext) -> Iterator[Finding]:
    """Report the rings of records that supersede one another; of rings that share a record, one at a time."""
    edges = _collect_edges(context)
    on_cycles = _find_cycle_records(edges)
    # one way out of each record makes rings that share none: the others are found when the first is mended
    follow = {key: next(old for old in edges[key] if old in on_cycles) for key in on_cycles}
    walked: set[Key] = set()
    for key in sorted(follow):
        walk: dict[Key, int] = {}
        while key not in walked and key not in walk:
            walk[key] = len(walk)
            key = follow[key]
        walked.update(walk)
        ring = list(walk)[walk[key] :] if key in walk else []
        if ring:
            first = ring.index(min(ring))
            chain = " → ".join(id for _, id in [*ring[first:], *ring[:first], ring[first]])
            message = msg("records supersede each other in a cycle: {chain}", chain=clip(chain, 200))
            fix = msg("remove the wrong supersedes: an older record cannot replace a newer one")
            yield context.by_key[ring[first]][0].report("cycle", "supersedes", message, fix)


def _collect_edges(context: CheckContext) -> dict[Key, list[Key]]:
    """Return who supersedes whom, successor first."""
    edges: dict[Key, list[Key]] = defaultdict(list)
    for old, successors in sorted(context.successors.items()):
        for one in successors:
            edges[one.record.key].append(old)
    return edges


def _find_cycle_records(edges: Mapping[Key, list[Key]]) -> set[Key]:
    """Return the records on a supersede cycle or between two."""
    back: dict[Key, list[Key]] = defaultdict(list)
    for new, olds in edges.items():
        for old in olds:
            back[old].append(new)
    left = set(edges) & set(back)
    # Kahn's algorithm, both ways: what is left when no dead end can go any more is on a cycle, or between two
    for ahead, behind in ((edges, back), (back, edges)):
        ends = [key for key in left if left.isdisjoint(ahead[key])]
        while ends:
            end = ends.pop()
            left.discard(end)
            ends += [key for key in behind.get(end, ()) if key in left and left.isdisjoint(ahead[key])]
    return left


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
        filled = {section.name for section in record.sections if _has_content(section.text)}
        filled |= {"impact"} if record.impact else set()
        due = [section for section in SECTIONS if section.name in kind.required and section.name not in filled]
        missing = ", ".join(f"{section.en} ({section.zh})" for section in due)
        if not missing or (is_accepted and record.confirmed and not is_strict):
            continue  # a person has confirmed the one sentence they said: there may be no more to say
        if is_accepted:
            fix = msg("write what is missing, or let it wait: kb status {id} proposed", id=record.scoped_id)
            message = msg("it is accepted without: {sections}", sections=missing)
            yield one.report("sections", "status", message, fix, severity="error" if is_strict else "warning")
        else:
            message = msg("this knowledge base refuses records without: {sections}", sections=missing)
            yield one.report("sections", "status", message, msg("write what is missing"))


def _has_content(text: str) -> bool:
    """Return whether the *text* of a section is more than comments and a placeholder."""
    # comments are taken out by hand: a search for "<!--.*?-->" is quadratic where many are not closed
    head, *tails = text.split("<!--")
    plain = (head + "".join(tail.partition("-->")[2] for tail in tails)).strip()
    return bool(plain) and not (len(plain) < 20 and _PLACEHOLDER.fullmatch(plain.casefold()))


# -- claims ---------------------------------------------------------------------------------------


def check_claims(context: CheckContext) -> Iterator[Finding]:
    """Report two accepted records of one scope that claim different values for one key, unless one explains it."""
    claimed: dict[Key, list[tuple[LoadedRecord, str, str, str]]] = defaultdict(list)
    for one in sorted(context.records, key=lambda one: one.age_key):
        for key, value in one.record.claims.items() if one.record.status == Status.ACCEPTED else ():
            claimed[one.record.scope, _normalise_words(key)].append((one, key, value, _normalise_words(value)))
    for claims in claimed.values():
        is_disputed = len({plain for _, _, _, plain in claims}) > 1
        for number, (one, key, value, plain) in enumerate(claims if is_disputed else ()):
            for other, _, theirs, other_plain in claims[:number]:
                if other_plain != plain and not _is_explained(context, one.record, other.record):
                    id = other.record.scoped_id
                    values = {"key": clip(key, 60), "ours": clip(value, 60), "theirs": clip(theirs, 60), "other": id}
                    message = msg("{key} is {ours} here, and {theirs} in {other}", **values)
                    fix = msg(
                        'supersede one of them, or say why both hold: coexists_with: {{{id}: "the reason"}}', id=id
                    )
                    yield one.report("claims", "claims", message, fix, item=key)
                    break


def _normalise_words(words: str) -> str:
    # "Retry  Limit" and "retry limit", "３" and "3" are the same claim
    return " ".join(unicodedata.normalize("NFKC", words).casefold().split())


def _is_explained(context: CheckContext, one: Record, other: Record) -> bool:
    """Return whether one of the two names its relation to the other."""
    pairs = ((one, other), (other, one))
    named = ((*a.coexists_with, *a.supersedes, *a.amends) for a, _ in pairs)
    return any(b.key in context.resolve_all(a.scope, ids) for (a, b), ids in zip(pairs, named, strict=True))


def check_contradictions(context: CheckContext) -> Iterator[Finding]:
    """Report an accepted record that, by its words, contradicts another one; claims have a rule of their own.

    Only records that have just changed were compared so, and not with those that either of the two explains.
    """
    by_path = {one.record.path: one for one in context.records if context.surroundings.contradictions}
    for (path, other_path), reason in context.surroundings.contradictions.items():
        one, other = by_path.get(path), by_path.get(other_path)
        if one and other and not _has_claim_conflict(one.record, other.record):
            # what comes from another tool is only a warning: its authors let both stand there
            is_foreign = is_imported(one.record.extra) and is_imported(other.record.extra)
            fix = suggest_choice(other.record, one.record)
            yield one.report("contradiction", "title", reason, fix, severity="warning" if is_foreign else "error")


def suggest_choice(old: Record, new: Record) -> Message:
    """Return what to do about two records that cannot both hold."""
    return msg(
        "replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
        old=old.scoped_id,
        new=new.scoped_id,
    )


def _has_claim_conflict(one: Record, other: Record) -> bool:
    mine, theirs = (
        {_normalise_words(key): _normalise_words(value) for key, value in record.claims.items()}
        for record in (one, other)
    )
    return any(theirs.get(key, value) != value for key, value in mine.items())
