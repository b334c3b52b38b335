"""Write candidates: redact, check quality, compare, gate, decide, commit, index.

`write` takes the lock, or leaves the request to the process that has it; `_plan_request` redacts, parses and judges;
`judge_candidate` takes one candidate from its text to its verdict; the transaction builds and publishes the commit.
Spooled candidates come back here, and so do those a person promotes from the inbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from kb.config import BUNDLED_MODEL
from kb.errors import BadRecord, Busy, GitFailed, UnknownId
from kb.git import dropped_records
from kb.git.repository import LockWaitCancelled, LostRace
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.record_ids import find_by_signature, resolve_names
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.kinds import INBOX, PERSONAL_KINDS, SIGNATURE, describe_unreplaced, join_section_labels
from kb.records.model import SAID, TYPED, Candidate, Record, Status, Verdict
from kb.safety import redaction
from kb.safety.personal_facts import is_about_person
from kb.similarity import merge_candidate
from kb.similarity.duplicates import find_similar_titles
from kb.similarity.merge_candidate import (
    CandidateDecision,
    decide_candidate,
    describe_proposed,
    find_missing_sections,
    has_required_sections,
    suggest_completion,
)
from kb.similarity.subject import Measure
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import project
from kb.text.mentions import remove_title_lead
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
from kb.writing.transaction import NOT_BY_A_PROGRAM, Transaction, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MAX_COMPARED_RECORDS = 24
"""Records with the most similar titles to compare, and as many per shared claim or path."""
_RARE_TERM_LIMIT = 12
"""Words of title and decision, the rarest first, to search for in the whole text of records."""
_MAX_SIMILAR_SHOWN = 3
"""The most similar records that a verdict names."""
_MAX_RECENT_TITLES = 300
"""Titles to compare letter by letter where too few share a word: takes 2 ms; all of 10,000 would take 60."""
Files = Callable[[Sequence[Verdict]], Mapping[str, bytes]]
"""Return the files to commit beside the records, once the verdicts are known."""


class PlannedRequest(NamedTuple):
    """One request as planned: the verdicts it gets once the transaction is published."""

    request: WriteRequest
    verdicts: list[Verdict]
    step: int | None
    """The position of its commit in the transaction, or None if it changes nothing."""


class AdmittedCandidate(NamedTuple):
    """A candidate that has passed the gate, with all that its verdict depends on."""

    request: WriteRequest
    candidate: Candidate
    decision: CandidateDecision
    superseded: Sequence[Record]
    """The records that the candidate names in `supersedes`."""
    amended: Sequence[Record]
    held: inbox.HeldCandidate | None
    """The candidate with the same statement that was waiting in the inbox, if any."""
    grounds: Sequence[Message]
    """Why the gate let it through, and other remarks for the caller."""

    @property
    def replaced(self) -> list[Record]:
        """The records it supersedes that are not superseded yet."""
        return [old for old in self.superseded if old.status != Status.SUPERSEDED]


# -- the calls ------------------------------------------------------------------------------------


def write(
    kb: Workspace,
    candidates: Sequence[Candidate],
    *,
    folder: str = "",
    dry_run: bool = False,
    beside: Files | None = None,
    subject: str = "",
    raise_when_busy: bool = False,
    queued_writer: QueuedWriter | None = None,
    job: str = "",
    decided: bool = False,
    proofs: Sequence[str] = (),
) -> list[Verdict]:
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`.

    Candidates that cannot be committed now are spooled. With *raise_when_busy*, used to flush the spooled *job*, raise
    Busy or GitFailed instead. *queued_writer* already waits in the queue for these candidates.
    """
    request = WriteRequest(candidates, folder, decided=decided, proofs=proofs)
    queued_writer = queued_writer or QueuedWriter(kb, request, job)
    try:
        if dry_run or beside:
            return _write_alone(kb, queued_writer.call, dry_run=dry_run, beside=beside, subject=subject)
        return _write_queued(kb, queued_writer)
    except (Busy, GitFailed) as error:
        if dry_run or raise_when_busy:
            raise
        from kb.writing.spool import spool_candidates

        name = queued_writer.call.job
        return spool_candidates(kb, candidates, folder, error, decided=decided, job=name, proofs=proofs)


def promote(kb: Workspace, name: str) -> Verdict:
    """Write the held candidate *name* because a person says so; still check for duplicates and contradictions."""
    held = inbox.find_held(kb, name)
    return write_promoted(kb, held.candidate, held.name)


def write_promoted(kb: Workspace, candidate: Candidate, name: str, *, by_person: bool = False) -> Verdict:
    """Write *candidate*, which a person takes out of the inbox under *name*; skip the gate.

    *by_person*: the person has confirmed this exact wording, so the record is accepted even if sections are missing.
    """
    request = WriteRequest([candidate], "", scope=candidate.scope, promoted=name, by_person=by_person)
    return _write_alone(kb, request)[0]


def _write_alone(
    kb: Workspace, request: WriteRequest, *, dry_run: bool = False, beside: Files | None = None, subject: str = ""
) -> list[Verdict]:
    """Write *request* and the files of *beside* in one commit, without the other requests in the queue."""
    for transaction in transactions(kb, dry_run=dry_run, notify_queue=True):
        with transaction:
            planned = _plan_request(transaction, request, beside=beside, subject=subject)
            verdicts = planned.verdicts
            if not dry_run:
                commits = transaction.build_commits()
                transaction.publish([request.job])
                verdicts = _complete_verdicts(transaction, planned, commits)
    return verdicts


def _write_queued(kb: Workspace, queued_writer: QueuedWriter) -> list[Verdict]:
    """Write the request of *queued_writer* and all others in the queue, or let the holder of the lock write it."""
    job = queued_writer.call.job
    try:
        for transaction in transactions(kb, should_cancel=queued_writer.is_queued_and_answered, notify_queue=True):
            with transaction:
                if queued_writer.is_written() or (job and has_landed(kb, job)):
                    raise LockWaitCancelled
                queued_writer.withdraw_request()
                mine = _plan_request(transaction, queued_writer.call)
                verdicts = mine.verdicts  # the answer where it is published and what follows that fails
                verdicts = _publish_requests(transaction, [mine, *_plan_others(transaction)])
    except LockWaitCancelled:
        return queued_writer.read_answer() if queued_writer.has_answer() else []
    except (Busy, GitFailed):
        answer = queued_writer.read_answer_or_withdraw()
        if answer is None:
            raise
        return answer
    return verdicts


def _plan_others(transaction: Transaction) -> list[PlannedRequest]:
    """Plan the other requests in the queue."""
    planned = []
    for request in iter_requests(transaction.kb):
        try:
            planned.append(_plan_request(transaction, request))
        except Exception:
            # a bad request of another process must not fail this one: its writer gets it back and sees the error
            return_to_writer(request.path)
            raise LostRace(request.path) from None
    return planned


def _plan_request(
    transaction: Transaction, request: WriteRequest, *, beside: Files | None = None, subject: str = ""
) -> PlannedRequest:
    """Plan *request* and the files of *beside* as one commit.

    Unless it is a dry run, the caller's scope becomes that of the project around the folder.
    """
    kb = transaction.kb
    resolve_scope = kb.project if transaction.dry_run else partial(project.resolve_scope, kb, claim=True)
    scope = request.scope or resolve_scope(request.folder)
    parsed = []
    for raw, rules in zip(request.candidates, request.masked or [()] * len(request.candidates), strict=True):
        candidate, masks = redaction.redact_candidate(raw, kb.config.masking)
        candidate = candidate._replace(
            scope=candidate.scope or scope, title=remove_title_lead(" ".join(candidate.title.split()))
        )
        parsed.append(quality.parse_candidate(candidate, sorted({*rules, *(mask.rule for mask in masks)})))

    @cache
    def list_files() -> Sequence[str]:
        from kb.git.revisions import list_files_around

        return list_files_around(kb, request.folder)[1]

    proofs = request.proofs or [""] * len(parsed)
    verdicts = [
        judge_candidate(transaction, request, one, list_files, proof) for one, proof in zip(parsed, proofs, strict=True)
    ]
    if beside and not transaction.dry_run:
        transaction.changes.update({path: (None, data) for path, data in beside(verdicts).items()})
    before = len(transaction.steps)
    caller = parsed[0].candidate if parsed else None
    transaction.add_step(caller, "" if transaction.has_planned_records else subject, by=request.by)
    return PlannedRequest(request, verdicts, before if len(transaction.steps) > before else None)


def _publish_requests(transaction: Transaction, planned: Sequence[PlannedRequest]) -> list[Verdict]:
    """Publish everything *planned*, answer the other writers, and return the verdicts on the first request.

    Before the refs move, save which commits contain each job and the answer for its writer: if the holder of the lock
    dies here, the next process can tell from this whether the job was published.
    """
    kb = transaction.kb
    commits = transaction.build_commits()
    for one in planned:
        if one.request.path:
            save_draft_answer(one.request, _complete_verdicts(transaction, one, commits))
    transaction.publish([one.request.job for one in planned])
    notices = (dropped_records.report_put_back(kb), report_rescued_work(kb))
    mine, *others = (_complete_verdicts(transaction, one, commits) for one in planned)
    for one, verdicts in zip(planned[1:], others, strict=True):
        send_answer(one.request, verdicts)
    if mine:
        mine[0] = mine[0]._replace(reasons=(*mine[0].reasons, *(kb.localise(notice) for notice in notices if notice)))
    return mine


def _complete_verdicts(transaction: Transaction, one: PlannedRequest, commits: Mapping[str, str]) -> list[Verdict]:
    """Return the verdicts with their commits, and with a remark on each file the checkout could not update."""
    here = transaction.head.ref
    made = {**commits, here: transaction.step_commits[one.step]} if one.step is not None else commits
    done = []
    for verdict in one.verdicts:
        if verdict.verdict not in ("unchanged", "refused"):
            ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else here
            outcome = "" if verdict.branch else transaction.outcomes.get(verdict.path, "")
            remark = explain_outcome(verdict.path, outcome)
            reasons = (*verdict.reasons, transaction.kb.localise(remark)) if remark else verdict.reasons
            verdict = verdict._replace(commit=made.get(ref, ""), reasons=reasons)
        done.append(verdict)
    return done


# -- one candidate: quality → compare → gate → verdict ---------------------------------------------


def judge_candidate(
    transaction: Transaction,
    request: WriteRequest,
    parsed: ParsedCandidate,
    list_files: Callable[[], Sequence[str]],
    proof: str = "",
) -> Verdict:
    """Return the verdict on one candidate of *request* and plan what it changes.

    *list_files* returns the files of the project around the caller's folder. Those a candidate mentions are added after
    the gate: they complete a record, but are no reason to keep it. *proof*: see `WriteRequest.proofs`.
    """
    kb, candidate = transaction.kb, parsed.candidate
    if proof == SAID or (proof == TYPED and has_required_sections(candidate, kb.config.required)):
        request = request._replace(by_person=True)
    if why := project.name_scope_problem(kb, candidate.scope):
        return transaction.refuse_candidate(candidate, [why], msg("use global, project/… or group/…"))
    objections = [*_refuse_personal(kb, candidate), *quality.find_objections(parsed, kb.config)]
    if any(objection.refuses for objection in objections):
        return _refuse_with(transaction, candidate, objections)
    before = transaction.create_savepoint()
    try:
        superseded = resolve_names(kb.index, candidate.scope, candidate.supersedes)
        amended = resolve_names(kb.index, candidate.scope, candidate.amends)
        candidate = candidate._replace(
            title=one_line(candidate.title),
            supersedes=tuple(record.id for record in superseded),
            amends=tuple(record.id for record in amended),
        )
        near, measure = _find_comparable(transaction, candidate)
        decision = decide_candidate(candidate, near, kb.config.title_similarity, measure)
        is_new = decision.step in ("create", "ask") and not candidate.updates
        if is_new and (damaged := inbox.find_damaged_twin(kb, candidate)):
            return inbox.hold_damaged(transaction, candidate, damaged, decision.similar)
        held = inbox.find_same(kb, candidate)
        sightings, in_sessions = inbox.count_sightings(candidate, decision, held)
        gated = gate.assess_admission(
            candidate, sightings, kb.config, in_sessions=in_sessions, overturns=decision.overturned_id, proof=proof
        )
        objections += [*gated.objections, *gate.require_approval(kb.config, given=bool(request.promoted))]
        if decision.step == "ask" and decision.record and not (request.decided or request.promoted):
            objections.append(gate.ask_relation(decision.record))
        if any(objection.refuses for objection in objections):
            return _refuse_with(transaction, candidate, objections)
        is_promoted = held is not None and held.name == request.promoted
        if objections and not is_promoted:
            return inbox.hold_candidate(transaction, candidate, held, objections, decision.similar)
        if held:
            candidate = inbox.merge_sightings(candidate, held.candidate)
        masked = [msg("masked: {rules}", rules=parsed.masked)] if parsed.masked else []
        candidate = quality.complete_candidate(candidate, list_files)
        grounds = [*gated.grounds, *masked, *quality.list_remarks(candidate, list_files if proof == TYPED else None)]
        verdict = _admit_candidate(
            transaction, AdmittedCandidate(request, candidate, decision, superseded, amended, held, grounds)
        )
    except UnknownId as error:
        return transaction.refuse_candidate(candidate, [error.message], error.hint)
    except BadRecord as error:
        transaction.roll_back(before)
        why = msg("{path}: {problem}", path=error.path, problem=error.message)
        return transaction.refuse_candidate(candidate, [why], msg("fix it first: kb check"))
    if held and verdict.verdict not in ("held", "refused"):
        transaction.inbox[held.name + ".json"] = None
    return verdict


def _refuse_personal(kb: Workspace, candidate: Candidate) -> list[Objection]:
    """Refuse an agent's candidate that is certainly about a person, if other people can read this knowledge base."""
    by_agent = bool(candidate.session or candidate.host) or project.is_agent_shell(kb.environment)
    if not (by_agent and candidate.kind in PERSONAL_KINDS and is_about_person(candidate) and project.is_shared(kb)):
        return []
    reason = msg("it is about a person, and others read this knowledge base")
    remedy = msg("keep it in a knowledge base of your own: KB_HOME=~/.kb kb write")
    return [Objection("personal", reason, remedy)]


def _refuse_with(transaction: Transaction, candidate: Candidate, objections: Sequence[Objection]) -> Verdict:
    """Return the verdict that refuses a candidate: the reasons of all *objections*, and the first remedy."""
    refusing = [objection for objection in objections if objection.refuses]
    return transaction.refuse_candidate(candidate, [o.reason for o in refusing], refusing[0].remedy)


def _find_comparable(transaction: Transaction, candidate: Candidate) -> tuple[list[Record], Measure | None]:
    """Return the records to compare *candidate* with, including those of damaged files, and the vector measure."""
    from kb.search.query import build_broad_expression

    scopes = project.list_compared_scopes(transaction.kb, candidate.scope)
    rare_terms = build_broad_expression(f"{candidate.title} {candidate.decision}", _RARE_TERM_LIMIT)
    title, claims, impact = candidate.title, candidate.claims, candidate.impact
    comparable = transaction.kb.index.find_comparable(
        title, build_broad_expression(title), claims, impact, scopes, _MAX_COMPARED_RECORDS, rare_terms
    )
    if signature := tuple(candidate.fields.get(SIGNATURE, ())):
        from kb.similarity.failure_signatures import read_signature

        comparable += [record for record, _ in find_by_signature(transaction.kb, read_signature(signature)[1:], scopes)]
    measure: Measure | None = None
    if transaction.kb.config.embedder == BUNDLED_MODEL:
        from kb.index.models import measure_nearness as measure
        from kb.search.embedding import list_near_records

        comparable += list_near_records(transaction.kb, f"{title}\n{candidate.decision}", scopes)
    unreadable = index_sync.load_unreadable_from_tip(transaction.kb, transaction.head.oid)
    there = [*comparable, *(record for record in unreadable if record.scope in scopes)]
    return list({record.key: record for record in there}.values()), measure


# -- what becomes of a candidate that has passed the gate ------------------------------------------


def _admit_candidate(transaction: Transaction, admitted: AdmittedCandidate) -> Verdict:
    """Plan the change for *admitted*; raise BadRecord for an unreadable file, UnknownId for a missing record."""
    decision = admitted.decision
    if admitted.candidate.updates:
        from kb.writing.edit_text import rewrite_sections

        return rewrite_sections(transaction, admitted.candidate, admitted.grounds, decided=admitted.request.decided)
    if decision.step == "merge" and decision.record:
        return _merge_into_record(transaction, admitted, decision.record)
    contradicted = [decision.record] if decision.step == "conflict" and decision.record else []
    if why := decision.reason if contradicted else _explain_review(transaction, admitted):
        from kb.writing.reviews import propose_review

        return propose_review(transaction, admitted, why, contradicted)
    return _create_record(transaction, admitted)


def _explain_review(transaction: Transaction, admitted: AdmittedCandidate) -> Message | None:
    """Return why a person has to decide whether the new record replaces those it names, or None if it may."""
    named = (*admitted.superseded, *admitted.amended)
    if not admitted.request.decided and any(old.status == Status.ACCEPTED for old in named):
        return NOT_BY_A_PROGRAM
    for old in admitted.replaced:
        if not transaction.can_supersede(old):
            return msg("{path} has changes on the same lines that are not committed", path=old.path)
    return None


def _merge_into_record(transaction: Transaction, admitted: AdmittedCandidate, record: Record) -> Verdict:
    """Merge the candidate into *record*, which makes the same statement."""
    kb, candidate, decision = transaction.kb, admitted.candidate, admitted.decision
    step = merge_candidate.plan_merge(candidate, record, day=kb.today(), language=kb.config.language)
    reasons = [decision.reason] if decision.reason else []
    if step.verdict == "unchanged":
        return transaction.build_verdict("unchanged", record, reasons, decision.similar)
    before = transaction.read_planned(record.path)
    if before is None:
        return inbox.hold_uncommitted(transaction, candidate, record.path, reasons, decision.similar)
    if damaged := inbox.find_checkout_damage(kb, record.path, before):
        return inbox.hold_damaged(transaction, candidate, damaged, decision.similar)
    old = decode_record(before, record.path)
    new = merge_candidate.apply_merge(old, step, kb.config.language)
    record_file.verify_edit(old, new, (*step.changes, "uid"), record.path)
    reasons += admitted.grounds
    return transaction.plan_replacement(
        candidate, record, before, new.encode(), step.verdict, reasons, decision.similar
    )


def _create_record(transaction: Transaction, admitted: AdmittedCandidate) -> Verdict:
    """Plan the new record of the candidate, and mark the records it replaces as superseded."""
    kb, candidate, held, similar = transaction.kb, admitted.candidate, admitted.held, admitted.decision.similar
    record = transaction.build_record(candidate, by_person=admitted.request.by_person)
    if held:
        sources = inbox.list_origins(held, candidate)
        record = record._replace(sources=merge_candidate.add_source(sources), occurrences=max(len(sources), 1))
    remarks: list[Message] = []
    remedy = None
    is_typed = TYPED in admitted.request.proofs
    is_asked = not kb.files.find_folder(record.path)  # an adopted folder uses its own headings
    if is_asked and (lacking := find_missing_sections(record, kb.config.required if is_typed else None)):
        sections = join_section_labels(lacking, kb.config.language)
        remarks = [describe_proposed(sections) if is_typed else msg("not given: {sections}", sections=sections)]
        remedy = suggest_completion(record, lacking, in_editor=is_typed)
        if kb.config.missing == "refuse":
            return transaction.refuse_candidate(candidate, remarks, msg("add what is missing"))
    if len(similar) < _MAX_SIMILAR_SHOWN:  # few records share a word with it: add those with the most letters in common
        titles = kb.index.list_titles(project.list_compared_scopes(kb, candidate.scope), _MAX_RECENT_TITLES)
        similar = find_similar_titles(candidate.title, titles, _MAX_SIMILAR_SHOWN)
    transaction.add_record(record)
    is_accepted = record.status == Status.ACCEPTED
    supersede = transaction.plan_superseded if is_accepted else describe_unreplaced
    changed = [supersede(old) for old in admitted.replaced]
    return transaction.build_verdict("created", record, [*changed, *remarks, *admitted.grounds], similar, remedy)
