"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kb.errors import BadRecord, Busy, GitFailed, UnknownId
from kb.git import dropped_records
from kb.git.repository import LockWaitCancelled, LostRace
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.record_ids import find_record
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.kinds import join_section_labels
from kb.records.model import GLOBAL, SCOPE, Candidate, Record, SimilarRecord, Status, Verdict
from kb.records.record_paths import INBOX
from kb.safety import redaction
from kb.safety.personal_facts import is_personal_fact
from kb.similarity import merge_candidate
from kb.similarity.duplicates import find_similar_titles
from kb.similarity.verdict import CandidateDecision, decide_candidate, find_missing_sections, suggest_completion
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import project
from kb.text.segment import one_line
from kb.writing import gate, inbox, quality
from kb.writing.group_commit import (
    QueuedWriter,
    WriteRequest,
    has_landed,
    iter_requests,
    return_to_writer,
    save_draft_answer,
    send_answer,
)
from kb.writing.publish import explain_outcome, report_rescued_work
from kb.writing.quality import Objection, ParsedCandidate
from kb.writing.transaction import (
    NOT_BY_A_PROGRAM,
    Transaction,
    apply_front_edit,
    describe_unreplaced,
    transactions,
)

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SCOPE = regex(SCOPE)
_NEAR = 24
"""Records of the likest titles with which a candidate is compared, and as many for each claim and path it shares."""
_TELLING = 6
"""Words of title and decision, the rarest by their looks, that are looked for in the whole text of records."""
_ALIKE = 3
"""The most similar records that a verdict names."""
_NEWEST = 300
"""Titles that are compared letter by letter where too few share a word; 2 ms, while all of 10,000 would take 60."""
_PERSONAL = frozenset({"preference", "domain-note"})
"""Kinds under which a person's own facts are handed in; in others "I" is whoever wrote the document."""
Files = Callable[[Sequence[Verdict]], Mapping[str, bytes]]
"""Files to commit beside the records, made when the verdicts are known."""


class PlannedRequest(NamedTuple):
    """What becomes of one request once the transaction is published."""

    request: WriteRequest
    verdicts: list[Verdict]
    step: int | None
    """The number of its commit among those of the transaction; None where it changes nothing."""


# -- the calls ------------------------------------------------------------------------------------


def write(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False,
    beside: Files | None = None, subject: str = "", landing: bool = False, waiting: QueuedWriter | None = None,
    job: str = "", decided: bool = False,
) -> list[Verdict]:  # fmt: skip
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`.

    What cannot be committed now is spooled, unless *landing*: then Busy or GitFailed is raised. *job* names the spooled
    job that this lands; *waiting* is in the queue for it already.
    """
    waiting = waiting or QueuedWriter(kb, WriteRequest(candidates, folder, decided=decided), job)
    try:
        if dry_run or beside:
            return _write_alone(kb, waiting.call, dry_run=dry_run, beside=beside, subject=subject, job=job)
        return _write_queued(kb, waiting, job)
    except (Busy, GitFailed) as error:
        if dry_run or landing:
            raise
        from kb.writing.spool import spool_candidates

        return spool_candidates(kb, candidates, folder, error, decided=decided, job=waiting.job)


def promote(kb: Workspace, name: str) -> Verdict:
    """Write what is held under *name* on a person's word; dedup and contradiction are looked for as ever."""
    held = inbox.find_held(kb, name)
    return write_promoted(kb, held.candidate, held.name)


def write_promoted(kb: Workspace, candidate: Candidate, name: str, *, by_person: bool = False) -> Verdict:
    """Write *candidate*, which a person takes out of the inbox as *name*: it needs no further ground.

    *by_person*: the person has said of these very words that they hold, so it is accepted whatever sections it lacks.
    """
    (verdict,) = _write_alone(
        kb, WriteRequest([candidate], "", scope=candidate.scope, promoted=name, by_person=by_person)
    )
    return verdict


def _write_alone(
    kb: Workspace, request: WriteRequest, *, dry_run: bool = False, beside: Files | None = None, subject: str = "",
    job: str = "",
) -> list[Verdict]:  # fmt: skip
    """Write *request* and what comes *beside* it in a commit of their own, whoever else waits."""
    for transaction in transactions(kb, dry_run=dry_run, tells_queue=True):
        with transaction:
            verdicts, caller = _judge_request(transaction, request, claim=not dry_run)
            if not dry_run:
                extra = beside(verdicts) if beside else {}
                transaction.changes.update({path: (None, data) for path, data in extra.items()})
                commits = transaction.commit("" if transaction.subjects else subject, caller=caller, job=job)
                verdicts = _complete_verdicts(transaction, PlannedRequest(request, verdicts, None), commits)
    return verdicts


def _write_queued(kb: Workspace, waiting: QueuedWriter, job: str) -> list[Verdict]:
    """Write what *waiting* wants, and what all those want who wait for the lock, or let its holder write it."""
    try:
        for transaction in transactions(kb, given_up=waiting.is_queued_and_answered, tells_queue=True):
            with transaction:
                if waiting.is_written() or (job and has_landed(kb, job)):
                    raise LockWaitCancelled
                waiting.withdraw_request()
                mine = _plan_request(transaction, waiting.call._replace(job=waiting.job))
                verdicts = mine.verdicts  # the answer where it is published and what follows that fails
                verdicts = _publish_requests(transaction, [mine, *_plan_others(transaction)])
    except LockWaitCancelled:
        return waiting.read_answer() if waiting.has_answer() else []
    except (Busy, GitFailed):
        answer = waiting.read_answer_or_withdraw()
        if answer is None:
            raise
        return answer
    return verdicts


def _plan_others(transaction: Transaction) -> list[PlannedRequest]:
    """Plan what those want who wait for the lock."""
    planned = []
    for request in iter_requests(transaction.kb):
        try:
            planned.append(_plan_request(transaction, request))
        except Exception:
            # Another process's request must not cost this one its own, whatever is wrong with it: its writer gets it
            # back and sees the error itself, and the rest is planned again without it.
            return_to_writer(request.path)
            raise LostRace(request.path) from None
    return planned


def _plan_request(transaction: Transaction, request: WriteRequest) -> PlannedRequest:
    """Plan what *request* wants as a commit of its own."""
    before = len(transaction.steps)
    verdicts, caller = _judge_request(transaction, request)
    transaction.add_step(caller, by=request.by)
    return PlannedRequest(request, verdicts, before if len(transaction.steps) > before else None)


def _publish_requests(transaction: Transaction, planned: Sequence[PlannedRequest]) -> list[Verdict]:
    """Publish all that is *planned*, answer those who wait, and return the verdicts on the first request.

    Before the refs move it is noted as which commits each job is written, and what its writer is to hear: whoever finds
    the request of a holder that died here can tell whether it was published.
    """
    kb = transaction.kb
    commits = transaction.build_commits()
    for one in planned:
        if one.request.path:
            save_draft_answer(one.request, _complete_verdicts(transaction, one, commits))
    transaction.publish([one.request.job for one in planned])
    notices = (dropped_records.report_put_back(kb), report_rescued_work(kb))
    done = [_complete_verdicts(transaction, one, commits) for one in planned]
    for one, verdicts in zip(planned[1:], done[1:], strict=True):
        send_answer(one.request, verdicts)
    mine = done[0]
    if mine:
        mine[0] = mine[0]._replace(reasons=(*mine[0].reasons, *(kb.localise(notice) for notice in notices if notice)))
    return mine


def _complete_verdicts(transaction: Transaction, one: PlannedRequest, commits: Mapping[str, str]) -> list[Verdict]:
    """Return the verdicts with their commits, and with what became of a file that could not follow."""
    own = {} if one.step is None else {transaction.head.ref: transaction.step_commits[one.step]}
    made = {**commits, **own}
    done = []
    for verdict in one.verdicts:
        if verdict.verdict not in ("unchanged", "refused"):
            ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else ""
            oids = [oid for name, oid in made.items() if name == ref or (not ref and name.startswith("refs/heads/"))]
            said = None if verdict.branch else explain_outcome(verdict.path, transaction.outcomes.get(verdict.path, ""))
            reasons = (*verdict.reasons, transaction.kb.localise(said)) if said else verdict.reasons
            verdict = verdict._replace(commit=oids[0] if oids else "", reasons=reasons)
        done.append(verdict)
    return done


# -- one candidate --------------------------------------------------------------------------------


def _judge_request(
    transaction: Transaction, request: WriteRequest, *, claim: bool = True
) -> tuple[list[Verdict], Candidate | None]:
    """Return the verdicts on the candidates of *request*, and the first one, masked, which names host and session.

    *claim*: the scope is from now on that of the project around the folder.
    """
    kb = transaction.kb
    scope = request.scope or (project.claim_scope(kb, request.folder) if claim else kb.project(request.folder))
    already = request.masked or [()] * len(request.candidates)
    parsed = []
    for raw, rules in zip(request.candidates, already, strict=True):
        candidate, masks = redaction.redact_candidate(raw, kb.config.masking)
        candidate = candidate._replace(scope=candidate.scope or scope, title=" ".join(candidate.title.split()))
        parsed.append(quality.parse_candidate(candidate, sorted({*rules, *(mask.rule for mask in masks)})))
    verdicts = [judge_candidate(transaction, request, one) for one in parsed]
    return verdicts, parsed[0].candidate if parsed else None


def judge_candidate(transaction: Transaction, request: WriteRequest, parsed: ParsedCandidate) -> Verdict:
    """Return the verdict on one candidate of *request* and plan what it changes."""
    kb, candidate = transaction.kb, parsed.candidate
    if not _SCOPE.fullmatch(candidate.scope):
        why = msg("there is no scope {scope}", scope=candidate.scope)
        return transaction.refuse_candidate(candidate, [why], msg("use global or project/<name>"))
    objections = [*_refuse_personal(kb, candidate), *quality.find_objections(parsed, kb.config)]
    if refusing := [o for o in objections if o.refuses]:
        return transaction.refuse_candidate(candidate, [o.reason for o in refusing], refusing[0].remedy)
    try:
        supersedes, amends = (
            tuple(dict.fromkeys(record.id for record in _resolve_names(transaction, candidate, names)))
            for names in (candidate.supersedes, candidate.amends)
        )
    except UnknownId as error:
        return transaction.refuse_candidate(candidate, [error.message], error.hint)
    except BadRecord as error:
        return _refuse_damaged(transaction, candidate, error)
    candidate = candidate._replace(title=one_line(candidate.title), supersedes=supersedes, amends=amends)
    masked = [msg("masked: {rules}", rules=", ".join(parsed.masked))] if parsed.masked else []
    return _apply_gate(transaction, request, candidate, objections, [*masked, *quality.list_remarks(candidate)])


def _refuse_personal(kb: Workspace, candidate: Candidate) -> list[Objection]:
    """Refuse what an agent hands in and is certainly about a person, where others would read it."""
    by_agent = bool(candidate.session or candidate.host) or project.is_agent_shell(kb.environment)
    if not (by_agent and candidate.kind in _PERSONAL and is_personal_fact(candidate) and project.is_shared(kb)):
        return []
    reason = msg("it is about a person, and others read this knowledge base")
    remedy = msg("keep it in a knowledge base of your own: KB_HOME=~/.kb kb write")
    return [Objection("personal", reason, remedy)]


def _apply_gate(
    transaction: Transaction, request: WriteRequest, candidate: Candidate, objections: Sequence[Objection],
    notes: Sequence[Message],
) -> Verdict:  # fmt: skip
    """Return the verdict on a candidate of good quality: it is refused, held or let through the gate."""
    kb = transaction.kb
    decision = decide_candidate(candidate, _find_near(transaction, candidate), kb.config.title_similarity)
    is_new = decision.step == "create" and not candidate.updates
    if is_new and (damaged := inbox.find_damaged_twin(kb, candidate)):
        return inbox.hold_damaged(transaction, candidate, damaged, decision.similar)
    held = inbox.find_same(kb, candidate)
    sightings, in_sessions = _count_sightings(candidate, decision, held)
    admission = gate.assess_admission(
        candidate, sightings, kb.config, in_sessions=in_sessions, overturns=decision.overturned_id
    )
    if refusing := [o for o in admission.objections if o.refuses]:
        return transaction.refuse_candidate(candidate, [o.reason for o in refusing], refusing[0].remedy)
    approval = gate.require_approval(kb.config, given=bool(request.promoted))
    objections = [*objections, *admission.objections, *approval]
    vouched = held is not None and held.name == request.promoted
    if not vouched and (not admission.admitted or any(o.holds for o in objections)):
        return inbox.hold_candidate(transaction, candidate, held, objections, decision.similar)
    if held:
        candidate = inbox.merge_sightings(candidate, held.candidate)
    before = transaction.create_savepoint()
    try:
        verdict = _admit_candidate(transaction, request, candidate, decision, [*admission.grounds, *notes], held)
    except BadRecord as error:
        transaction.roll_back(before)
        return _refuse_damaged(transaction, candidate, error)
    if held and verdict.verdict not in ("held", "refused"):
        transaction.inbox[held.name + ".json"] = None
    return verdict


def _find_near(transaction: Transaction, candidate: Candidate) -> list[Record]:
    """Return the records with which *candidate* is compared, also those whose file in the checkout is damaged."""
    from kb.search.query import build_broad_expression

    scopes = sorted({candidate.scope, GLOBAL})
    telling = build_broad_expression(f"{candidate.title} {candidate.decision}", _TELLING)
    title, claims, impact = candidate.title, candidate.claims, candidate.impact
    index = transaction.kb.index
    near = index.find_comparable(title, build_broad_expression(title), claims, impact, scopes, _NEAR, telling)
    unreadable = index_sync.load_unreadable_from_tip(transaction.kb, transaction.head.oid)
    return near + [record for record in unreadable if record.scope in scopes]


def _count_sightings(
    candidate: Candidate, decision: CandidateDecision, held: inbox.HeldCandidate | None
) -> tuple[int, bool]:
    """Return how often the candidate has been seen, now included, and whether in a session of its own each time.

    An update is the record's own text made current: that it is like the record is no repetition.
    """
    if decision.step == "merge" and decision.record and not candidate.updates:
        record, source = decision.record, merge_candidate.format_source(candidate)
        is_new = bool(source) and source not in record.sources
        return record.occurrences + 1, is_new and len(record.sources) == min(
            record.occurrences, merge_candidate.SOURCES
        )
    sessions = {sighting.get("session", "") for sighting in held.sightings} if held else set()
    sessions.add(candidate.session)
    return len(sessions), "" not in sessions


def _refuse_damaged(transaction: Transaction, candidate: Candidate, error: BadRecord) -> Verdict:
    """Return the verdict on a candidate that concerns a file which cannot be read."""
    why = msg("{path}: {problem}", path=error.path, problem=error.message)
    return transaction.refuse_candidate(candidate, [why], msg("fix it first: kb check"))


def _admit_candidate(
    transaction: Transaction, request: WriteRequest, candidate: Candidate, decision: CandidateDecision,
    grounds: Sequence[Message], held: inbox.HeldCandidate | None,
) -> Verdict:  # fmt: skip
    """Plan what becomes of a candidate that has passed the gate; raise BadRecord for a file that cannot be read."""
    if candidate.updates:
        from kb.writing.edit_text import rewrite_sections

        return rewrite_sections(transaction, candidate, grounds, decided=request.decided)
    if decision.step == "conflict" and decision.record and decision.reason:
        reasons = [decision.reason, *grounds]
        return _open_review(transaction, request, candidate, [decision.record], reasons, decision.similar)
    if decision.step == "merge" and decision.record:
        return _merge_into_record(transaction, candidate, decision.record, decision, grounds)
    return _create_record(transaction, request, candidate, decision.similar, grounds, held)


def _create_record(
    transaction: Transaction, request: WriteRequest, candidate: Candidate, similar: tuple[SimilarRecord, ...],
    grounds: Sequence[Message], held: inbox.HeldCandidate | None,
) -> Verdict:  # fmt: skip
    config = transaction.kb.config
    named = _resolve_names(transaction, candidate, (*candidate.supersedes, *candidate.amends))
    if not request.decided and any(old.status == Status.ACCEPTED for old in named):
        return _open_review(transaction, request, candidate, [], [NOT_BY_A_PROGRAM, *grounds], similar)
    replaced = _list_replaced(transaction, candidate)
    if uneasy := [old for old in replaced if _has_status_conflict(transaction, old)]:
        why = msg("{path} has changes on the same lines that are not committed", path=uneasy[0].path)
        return _open_review(transaction, request, candidate, [], [why, *grounds], similar)
    record = transaction.build_record(candidate, by_person=request.by_person)
    if held:
        sources = inbox.list_origins(held, candidate)
        record = record._replace(sources=merge_candidate.add_source(sources), occurrences=max(len(sources), 1))
    lacking = find_missing_sections(record)
    remedy = suggest_completion(record, lacking)
    labels = join_section_labels(lacking, config.language)
    said = [msg("not given: {sections}", sections=labels)] if lacking else []
    if lacking and config.missing == "refuse":
        return transaction.refuse_candidate(candidate, said, msg("add what is missing"))
    if len(similar) < _ALIKE:  # few share a word with it: then those whose titles have the most letters in common
        titles = transaction.kb.index.list_titles(sorted({candidate.scope, GLOBAL}), _NEWEST)
        similar = find_similar_titles(candidate.title, titles, _ALIKE)
    transaction.add_record(record)
    is_accepted = record.status == Status.ACCEPTED
    changed = [transaction.plan_superseded(old) if is_accepted else describe_unreplaced(old) for old in replaced]
    return transaction.build_verdict("created", record, [*changed, *said, *grounds], similar, remedy)


def _list_replaced(transaction: Transaction, candidate: Candidate) -> list[Record]:
    """Return the records that *candidate* supersedes and that nothing has superseded yet."""
    named = _resolve_names(transaction, candidate, candidate.supersedes)
    return [old for old in named if old.status != Status.SUPERSEDED]


def _resolve_names(transaction: Transaction, candidate: Candidate, names: Sequence[str]) -> list[Record]:
    """Return the records of the candidate's scope that *names* name; raise UnknownId."""
    found = [find_record(transaction.kb.index, name, candidate.scope) for name in names]
    for record in found:
        if record.scope != candidate.scope:
            words = msg("there is no record {id} in {scope}", id=record.id, scope=candidate.scope)
            raise UnknownId(words, hint=msg("name a record of the same scope"))
    return found


def _has_status_conflict(transaction: Transaction, record: Record) -> bool:
    """Return whether *record* cannot be superseded: it is not committed, or its status is being edited."""
    before = transaction.read_planned(record.path)
    if before is None:
        return True
    after = apply_front_edit(record, before, {"status": str(Status.SUPERSEDED)})
    return transaction.has_conflict(record.path, before, after)


def _open_review(
    transaction: Transaction, request: WriteRequest, candidate: Candidate, contradicted: Sequence[Record],
    reasons: Sequence[Message], alike: Sequence[SimilarRecord],
) -> Verdict:  # fmt: skip
    """Open a review of *candidate* against what it contradicts and what it names as replaced."""
    from kb.writing.reviews import propose_review

    amended = _resolve_names(transaction, candidate, candidate.amends)
    olds = {old.path: old for old in (*contradicted, *_list_replaced(transaction, candidate))}
    return propose_review(
        transaction, candidate, list(olds.values()), amended, reasons, alike, by_person=request.by_person
    )


def _merge_into_record(
    transaction: Transaction, candidate: Candidate, record: Record, decision: CandidateDecision,
    grounds: Sequence[Message],
) -> Verdict:  # fmt: skip
    """Add to *record*, which says the same, what *candidate* knows besides."""
    kb, similar = transaction.kb, decision.similar
    step = merge_candidate.plan_merge(candidate, record, day=kb.today(), language=kb.config.language)
    reasons = [decision.reason] if decision.reason else []
    if step.verdict == "unchanged":
        return transaction.build_verdict("unchanged", record, reasons, similar)
    before = transaction.read_planned(record.path)
    if before is None:
        return inbox.hold_uncommitted(transaction, candidate, record.path, reasons, similar)
    if damaged := inbox.find_checkout_damage(kb, record.path, before):
        return inbox.hold_damaged(transaction, candidate, damaged, similar)
    old = decode_record(before, record.path)
    new = merge_candidate.apply_merge(old, step, kb.config.language)
    record_file.verify_edit(old, new, (*step.changes, "uid"), record.path)
    reasons = [*reasons, *grounds]
    return transaction.plan_replacement(candidate, record, before, new.encode(), step.verdict, reasons, similar)
