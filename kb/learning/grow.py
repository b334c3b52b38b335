"""Find what records have outgrown: a pitfall that should be a rule, a lesson of two projects, an unwritten routine.

A promotion is only listed; a person opens it as a review branch, and merging it accepts it. One that was opened or
rejected is listed again when its evidence has grown: the number of what speaks for it is in the name of its branch.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import KbError, UnknownId
from kb.files import remove_file
from kb.i18n import Message, msg
from kb.learning.uses import compute_digest, refresh_uses
from kb.records.kinds import BY_NAME, FIXED_BY, REJECTED, SIGNATURE
from kb.records.model import GLOBAL, LIVE, Candidate, Record, Status, Verdict, list_field
from kb.search.rank import find_dormant
from kb.sessions.transcript import list_calls
from kb.similarity.duplicates import compute_similarity, find_duplicate
from kb.similarity.failure_signatures import identify_command, is_same_failure, read_signature
from kb.similarity.merge_candidate import build_sections
from kb.text.segment import build_index_terms, first_sentence, one_line, slugify
from kb.writing import inbox
from kb.writing.edit import plan_addition, reload_record
from kb.writing.reviews import Review, list_reviews, propose_changes
from kb.writing.transaction import NOT_BY_A_PROGRAM, Transaction, transactions

if TYPE_CHECKING:
    from kb.capture.save_session import SessionReading
    from kb.workspace import Workspace

ENOUGH = 3
"""Sessions, learnings or commands from which on a promotion is due (SMAN-20, ZCLAW-49)."""
TWICE = 0.6
"""Title similarity over which two records seem to say the same; `compute_similarity`, 0.0–1.0."""
CHALLENGE = "challenge-"
_COMMANDS = "commands"
_MAX_SESSIONS, _MAX_COMMANDS, _MAX_COMMAND_CHARACTERS = 60, 60, 200
_COMMAND = re.compile(r"`([^`\n]+)`")
_STEP = re.compile(r"(?m)^(?:(\d+)([.)])|[-*](?: \[[ xX]\])?) ")
_MAX_SHARING = 30
"""Records that may share a word of their titles before it says nothing of any two of them."""
_CHAINED = frozenset({"git", "gh", "glab", "bd", "kb", "cd", "ls", "cat", "echo", "mkdir", "rm", "cp", "mv"})
"""Programs every project runs: `git status`, `git add`, `git commit` is no routine."""


class Promotion(NamedTuple):
    """Something that is due to become something else."""

    name: str
    """How it is called, with the number of what speaks for it: constraint-p001-3."""
    what: Message
    title: str
    evidence: tuple[str, ...]
    """Ids of records, and sessions."""
    candidate: Candidate
    extends: Record | None = None
    """The checklist that gets the candidate's decision as a step; None where it is to be a record of its own."""
    replaces: tuple[Record, ...] = ()
    """The records that are no longer needed where the candidate holds."""

    @property
    def stem(self) -> str:
        """The name without the number."""
        return self.name.rpartition("-")[0]


# -- what is due -----------------------------------------------------------------------------------


def find_promotions(kb: Workspace) -> list[Promotion]:
    """Return the promotions that are due and were neither opened nor rejected on the evidence there is."""
    records = [record for record in kb.records() if record.status in LIVE]
    groups = _group_lessons(kb, records)
    found = [
        *_find_rules(kb, groups, [record for record in records if record.kind == "checklist"]),
        *_find_shared(kb, groups),
        *_find_notes(kb, records),
        *_find_routines(kb, records),
    ]
    heard: dict[str, int] = {}
    for review in (*list_reviews(kb), *list_reviews(kb, REJECTED)):
        name = review.branch.rpartition("/grow-")[2]
        stem, _, number = name.rpartition("-")
        heard[stem] = max(heard.get(stem, 0), int(number) if number.isdecimal() else 0)
    return [one for one in found if int(one.name.rpartition("-")[2]) > heard.get(one.stem, 0)]


def _is_cited(kb: Workspace, record: Record, kinds: Sequence[str], scope: str = "") -> bool:
    """Return whether a live record of *kinds*, in *scope*, cites *record*: then it was promoted already."""
    project = record.scope.removeprefix("project/")
    for other, rest in kb.index.find_referrers(record.id, "cites"):
        is_meant = rest.rpartition(":")[0] in ("", project) and other.scope in (record.scope, GLOBAL)
        if is_meant and other.kind in kinds and other.status in LIVE and other.scope == (scope or other.scope):
            return True
    return False


def _group_lessons(kb: Workspace, records: Iterable[Record]) -> list[list[Record]]:
    """Return the pitfalls, patterns and learnings, those together that are one lesson; held pitfalls have no id."""
    lessons = [record for record in records if record.kind in ("pitfall", "pattern", "learning")]
    for held in inbox.list_held(kb):
        one = held.candidate
        if one.kind == "pitfall" and one.scope.startswith("project/"):
            bare = Record("", one.kind, one.title, one.scope, impact=one.impact, occurrences=len(held.sightings))
            extra = {SIGNATURE: one.fields.get(SIGNATURE, ())}
            lessons.append(bare._replace(sections=build_sections(one), extra=extra))
    groups: list[list[Record]] = []
    for record in lessons:
        group = next((one for one in groups if any(_is_same_lesson(record, other) for other in one)), None)
        groups.append([record]) if group is None else group.append(record)
    return groups


def _find_rules(kb: Workspace, groups: Iterable[Sequence[Record]], checklists: Sequence[Record]) -> Iterator[Promotion]:
    """Yield the pitfalls that three sessions met and whose cause is not in one file: they should be constraints.

    Where one of the *checklists* is about the same command or files, they should be a step of it instead.
    """
    for group in groups:
        record, known = max(group, key=_rate_lesson), [one for one in group if one.id]
        count = sum(one.occurrences for one in group)
        is_open = record.kind == "pitfall" and not record.extra.get(FIXED_BY) and len(record.impact) != 1
        if not (is_open and known and count >= ENOUGH and record.section("why").strip()):
            continue
        if any(_is_cited(kb, one, ("constraint", "checklist", "pattern")) for one in known):
            continue
        scopes = {one.scope for one in group}
        cite = " ".join(f"[{_name_across(one)}]" if len(scopes) > 1 else f"[{one.id}]" for one in known)
        cure, say = record.section("solution").strip(), kb.localise
        symptom = first_sentence(record.section("decision") or record.title, 200)
        rule = msg("To prevent it, apply what fixed it last time: {cure} {id}", cure=cure, id=cite)
        avoid = msg("Avoid what causes it: {why} {id}", why=first_sentence(record.section("why"), 200), id=cite)
        candidate = Candidate(
            "constraint",
            say(msg("Prevent: {title}", title=record.title))[:200],
            say(rule if cure else avoid),
            alternatives=say(msg("Leave it to the pitfall {id}, which is shown when it happens.", id=cite)),
            why=say(msg("{count} sessions met it: {symptom}", count=count, symptom=symptom)),
            impact=record.impact or (".",),
            verification=record.section("outcome").strip() or say(msg("No further session adds to {id}.", id=cite)),
            rollback=say(msg("Deprecate this record; {id} stays.", id=cite)),
            scope=record.scope if len(scopes) == 1 else GLOBAL,
        )
        evidence = (*map(_name_across, known), *(source for one in known for source in one.sources))
        if checklist := _find_checklist(record, candidate.scope, checklists):
            check = msg("Make sure this cannot happen: {title} {id}", title=record.title, id=cite)
            step = candidate._replace(kind="checklist", decision=f"{cure} {cite}" if cure else say(check))
            name = f"step-{slugify(record.title)}-{count}"
            yield Promotion(name, msg("pitfall → checklist step"), record.title, evidence, step, checklist)
            continue
        name = f"constraint-{slugify(record.title)}-{count}"
        yield Promotion(name, msg("pitfall → constraint"), record.title, evidence, candidate)


def _find_checklist(pitfall: Record, scope: str, checklists: Iterable[Record]) -> Record | None:
    """Return the one that is about what *pitfall* is: it runs the command that fails, or names one of its files."""
    family = identify_command(next(iter(list_field(pitfall, SIGNATURE)), ""))
    for one in checklists:
        text = "\n".join(section.text for section in one.sections)
        runs = bool(family) and family in {identify_command(command) for command in _COMMAND.findall(text)}
        if one.scope in (scope, GLOBAL) and (runs or {*one.impact} & {*pitfall.impact}):
            return one
    return None


def _rate_lesson(record: Record) -> tuple[bool, bool, int, str]:
    """Return what puts the best telling of a lesson first: one that is a record, and knows what helped."""
    return bool(record.id), bool(record.section("solution").strip()), record.occurrences, record.date


def _name_across(record: Record) -> str:
    return record.id if record.scope == GLOBAL else f"{record.scope.removeprefix('project/')}:{record.id}"


def _find_shared(kb: Workspace, groups: Iterable[Sequence[Record]]) -> Iterator[Promotion]:
    """Yield the lessons that two projects or more have learnt apart: they should hold for all."""
    for group in groups:
        scopes, known = sorted({one.scope for one in group} - {GLOBAL}), [one for one in group if one.id]
        is_global = len(scopes) < len({one.scope for one in group})
        if len(scopes) < 2 or not known or is_global or any(_is_cited(kb, one, (one.kind,), GLOBAL) for one in known):
            continue
        best = max(group, key=_rate_lesson)
        cites = " ".join(f"[{_name_across(one)}]" for one in known)
        names = [scope.removeprefix("project/") for scope in scopes]
        seen = msg("Learnt independently in the projects {projects}: {ids}", projects=names, ids=cites)
        lines = [*dict.fromkeys(line for one in (best, *group) for line in list_field(one, SIGNATURE))]
        candidate = Candidate(
            best.kind,
            best.title,
            best.section("decision") or best.title,
            why="\n\n".join(filter(None, (best.section("why").strip(), kb.localise(seen)))),
            sections={one.name: one.text for one in best.sections if one.name in BY_NAME[best.kind].sections},
            fields={SIGNATURE: lines} if lines else {},
            scope=GLOBAL,
        )
        evidence = (*map(_name_across, known), *scopes)
        name = f"global-{slugify(best.title)}-{len(scopes)}"
        yield Promotion(name, msg("two projects → global"), best.title, evidence, candidate, replaces=tuple(known))


def _is_same_lesson(one: Record, other: Record) -> bool:
    if one.kind != other.kind:
        return False
    mine, theirs = (read_signature(list_field(each, SIGNATURE)) for each in (one, other))
    if mine and theirs and is_same_failure(mine, theirs):
        return True
    # as if it were said where the other is: a record of another project is no duplicate, but may be the same lesson
    said = Candidate(one.kind, one.title, one.section("decision"), why=one.section("why"), scope=other.scope)
    return find_duplicate(said, [other], TWICE) is not None


def _find_notes(kb: Workspace, records: Iterable[Record]) -> Iterator[Promotion]:
    """Yield the domains of which three accepted learnings are known and no note: extracted, not written."""
    learnings = [r for r in records if r.kind == "learning" and r.status == Status.ACCEPTED and r.extra.get("domain")]
    by_domain = sorted(learnings, key=lambda one: (one.scope, str(one.extra["domain"]).casefold()))
    for (scope, domain), rows in groupby(by_domain, lambda one: (one.scope, str(one.extra["domain"]).casefold())):
        known = list(rows)
        if len(known) < ENOUGH or all(_is_cited(kb, one, ("domain-note",)) for one in known):
            continue
        answers = "\n".join(f"- {first_sentence(one.section('decision'), 240)} [{one.id}]" for one in known)
        terms = Counter(term for one in known for term in {*build_index_terms(one.title).split()} if len(term) > 1)
        files = Counter(path for one in known for path in one.impact)
        frequent = [term for term, count in terms.most_common(8) if count > 1]
        named = str(known[0].extra["domain"])
        more = [msg("Frequent terms: {terms}", terms=frequent)] if frequent else []
        more += [msg("Files: {files}", files=[path for path, _ in files.most_common(8)])] if files else []
        text = "\n\n".join(
            (answers, *map(kb.localise, more), kb.localise(msg("Generated: extracted from these answers.")))
        )
        title = kb.localise(msg("What is known about {domain}", domain=named))
        candidate = Candidate("domain-note", title, text, tags=("generated",), impact=tuple(files)[:12], scope=scope)
        name = f"note-{slugify(scope.removeprefix('project/'))}-{slugify(domain)}-{len(known)}"
        evidence = tuple(str(one.scoped_id) for one in known)
        yield Promotion(name, msg("learnings → domain note"), title, evidence, candidate)


# -- routines --------------------------------------------------------------------------------------


def note_commands(kb: Workspace, reading: SessionReading) -> None:
    """Keep which commands of the project a session ran with success, in order, for `kb grow` to find routines in."""
    rows: list[list[str]] = []
    for call in list_calls(reading.transcript, in_context=True):
        command = one_line(str(call.request.input.get("command", "")))
        family = identify_command(command) if call.request.name == "Bash" and not call.is_error else ""
        is_own = family and family.partition(" ")[0] not in _CHAINED and len(command) <= _MAX_COMMAND_CHARACTERS
        if is_own and (not rows or rows[-1][0] != family):
            rows.append([family, command])
    if len(rows) < ENOUGH or reading.job.agent:
        return
    session = {"session": reading.job.session, "scope": reading.scope, "day": kb.today(), "rows": rows[-_MAX_COMMANDS:]}
    kb.state.save(session, _COMMANDS, f"{compute_digest(reading.job.session)}.json")
    for path in _list_command_files(kb)[_MAX_SESSIONS:]:
        remove_file(path)


def _list_command_files(kb: Workspace) -> list[str]:
    """Return the files of the sessions whose commands are kept, the newest first."""
    with contextlib.suppress(OSError), os.scandir(kb.state.path(_COMMANDS)) as entries:
        return [one.path for one in sorted(entries, key=lambda one: (-one.stat().st_mtime_ns, one.name))]
    return []


def _find_routines(kb: Workspace, records: Iterable[Record]) -> Iterator[Promotion]:
    """Yield what three sessions did in the same order, with three commands of the project or more."""
    kept = filter(None, (kb.state.load(_COMMANDS, os.path.basename(path)) for path in _list_command_files(kb)))
    by_scope: dict[str, list[tuple[str, list[list[str]]]]] = defaultdict(list)
    for one in kept:
        by_scope[str(one["scope"])].append((str(one["session"]), one["rows"]))
    steps = [record.section("steps") for record in records if record.kind in ("pattern", "checklist")]
    for scope, sessions in sorted(by_scope.items()):
        for families in _find_sequences([[row[0] for row in rows] for _, rows in sessions]):
            held = [(session, rows) for session, rows in sessions if _has_sequence([row[0] for row in rows], families)]
            commands = [
                Counter(row[1] for _, rows in held for row in rows if row[0] == family).most_common(1)[0][0]
                for family in families
            ]
            if any(all(command in text for command in commands) for text in steps):
                continue
            title = kb.localise(msg("Routine: {commands}", commands=" → ".join(families)))[:200]
            seen = msg("{count} sessions ran these commands in this order, and each went well.", count=len(held))
            candidate = Candidate(
                "pattern",
                title,
                kb.localise(msg("Run these commands in this order.")),
                why=kb.localise(seen),
                sections={"steps": "\n".join(f"{n}. `{command}`" for n, command in enumerate(commands, 1))},
                scope=scope,
            )
            first, last = slugify(families[0]), slugify(families[-1])
            name = f"routine-{slugify(scope.removeprefix('project/'))}-{first}-{last}-{len(held)}"
            yield Promotion(name, msg("routine → pattern"), title, tuple(session for session, _ in held), candidate)


def _find_sequences(sessions: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the longest sequences of three different families or more that three *sessions* have."""
    found = {_find_common(one, other) for one, other in combinations(sessions, 2)}
    often = [s for s in found if len({*s}) >= ENOUGH and sum(_has_sequence(one, s) for one in sessions) >= ENOUGH]
    return sorted(s for s in often if not any(s != other and _has_sequence(other, s) for other in often))


def _find_common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the longest common subsequence of two sequences."""
    best: list[tuple[str, ...]] = [()] * (len(other) + 1)
    for word in one:
        before = best
        best = [()]
        for n, theirs in enumerate(other):
            best.append((*before[n], word) if word == theirs else max(before[n + 1], best[n], key=len))
    return best[-1]


def _has_sequence(words: Sequence[str], sequence: Sequence[str]) -> bool:
    rest = iter(words)
    return all(word in rest for word in sequence)


# -- opening, and questioning ----------------------------------------------------------------------


def open_promotion(kb: Workspace, name: str, scope: str = "") -> Verdict:
    """Open the promotion *name*, or the only one of the record with that id, as a review; raise UnknownId.

    *scope*: another one than is proposed, such as `group/backend`.
    """
    due = find_promotions(kb)
    named = [one for one in due if name in (one.name, one.stem)] or [one for one in due if name in one.evidence]
    if len(named) != 1:
        problem = (
            msg("{name} names several promotions", name=name) if named else msg("nothing is due as {name}", name=name)
        )
        raise UnknownId(problem, hint=msg("see: kb grow"))
    one = named[0]
    candidate = one.candidate._replace(scope=scope or one.candidate.scope)
    for transaction in transactions(kb):
        with transaction:
            if one.extends:
                record = _plan_step(transaction, one.extends, candidate.decision)
            else:
                record = transaction.build_record(candidate)._replace(status=str(Status.ACCEPTED))
                kb.index.reserve_id(record.scope, record.id)
                transaction.add_record(record)
            for old in one.replaces:
                _plan_retirement(transaction, old, record)
            reason = msg("{what}, because of {evidence}", what=one.what, evidence=one.evidence)
            verdict = propose_changes(transaction, record, f"grow-{one.name}", f"Grow: {record.title}", [reason])
            transaction.commit(f"Grow: {record.title}")
    return verdict


def _plan_step(transaction: Transaction, checklist: Record, step: str) -> Record:
    """Plan that *step* is the last of *checklist*, numbered or ticked as the steps there are."""
    record = reload_record(transaction, checklist)
    section = "steps" if record.section("steps").strip() else "decision"
    last = [*_STEP.finditer(record.section(section))][-1:]
    number = last[0][1] if last else ""
    mark = f"{int(number) + 1}{last[0][2]} " if number else last[0][0] if last else "- "
    plan_addition(transaction, record, section, mark.replace("x", " ").replace("X", " ") + one_line(step))
    return transaction.reindex_record(record.path)


def _plan_retirement(transaction: Transaction, old: Record, new: Record) -> None:
    """Plan that *old*, of one project, is deprecated where *new* holds there: else its project is told both."""
    kb = transaction.kb
    if new.scope != GLOBAL and new.scope not in kb.own_scopes(old.scope):
        return
    record = reload_record(transaction, old)
    line = msg("{day}: [{id}] says it for {scope}", day=kb.today(), id=new.id, scope=new.scope)
    plan_addition(transaction, record, "additions", f"- {kb.localise(line)}")
    changed = transaction.reindex_record(record.path)
    transaction.plan_front_edit(changed, {"status": str(Status.DEPRECATED)}, "status")


def challenge_record(kb: Workspace, name: str, why: str, scope: str = "") -> Verdict:
    """Open the question whether the record *name* should still hold, with the counter-argument *why*, as a review.

    Accepting it deprecates the record. Where it is rejected, the record keeps the challenge among its alternatives.
    """
    named = kb.record(name, scope=scope)
    if named.status not in LIVE:
        raise KbError(msg("[{id}] no longer applies", id=named.scoped_id), path=named.path)
    why = one_line(why)
    for transaction in transactions(kb):
        with transaction:
            record = reload_record(transaction, named)
            line = msg("{day}: challenged: {why}", day=kb.today(), why=why)
            plan_addition(transaction, record, "alternatives", f"- {kb.localise(line)}")
            changed = transaction.plan_front_edit(
                transaction.reindex_record(record.path), {"status": str(Status.DEPRECATED)}, "status"
            )
            subject = f"Challenge [{record.id}] {record.title}"
            reasons = [NOT_BY_A_PROGRAM, msg("{why}", why=why)]
            branch = f"{CHALLENGE}{slugify(_name_across(record))}-{compute_digest(why)[:4]}"
            verdict = propose_changes(transaction, changed, branch, subject, reasons)
            transaction.commit(subject, "challenged", why)
    return verdict


def keep_challenge(kb: Workspace, review: Review) -> None:
    """Let a record that was challenged in vain say so, among its alternatives; of another *review*, do nothing."""
    if not review.branch.startswith(f"kb/review/{CHALLENGE}"):
        return
    asked = (review.record.section("alternatives").splitlines() or [""])[-1]
    for transaction in transactions(kb):
        with transaction:
            record = reload_record(transaction, kb.record(review.record.id, scope=review.record.scope))
            plan_addition(transaction, record, "alternatives", kb.localise(msg("{line}; it stays", line=asked)))
            transaction.commit(f"Keep [{record.id}], which was challenged", "challenged")


# -- for the digest --------------------------------------------------------------------------------


def list_dormant(kb: Workspace) -> list[Record]:
    """Return the live records that are no longer told unasked: nobody was told, used or confirmed them for long."""
    refresh_uses(kb)
    live = [record for record in kb.records() if record.status in LIVE]
    dormant = find_dormant(kb.index, live, kb.today)
    return [record for record in live if record.path in dormant]


def find_twins(kb: Workspace) -> list[tuple[Record, Record, float]]:
    """Return the pairs of live records that seem to say the same, with their similarity, the likest first."""
    records = [record for record in kb.records() if record.status in LIVE]
    holding: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        for term in {*build_index_terms(record.title).split()}:
            holding[term].append(record)
    shared = Counter(
        (one.path, other.path)
        for held in holding.values()
        if len(held) <= _MAX_SHARING
        for one, other in combinations(held, 2)
        if one.scope == other.scope or GLOBAL in (one.scope, other.scope)
    )
    by_path = {record.path: record for record in records}
    pairs = [(by_path[one], by_path[other]) for (one, other), count in shared.items() if count > 1]
    scored = ((one, other, compute_similarity(one.title, other.title, TWICE)) for one, other in pairs)
    alike = [row for row in scored if row[2] > TWICE and row[1].id not in row[0].coexists_with]
    return sorted(alike, key=lambda row: (-row[2], row[0].path, row[1].path))
