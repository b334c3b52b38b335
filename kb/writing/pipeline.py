"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import project
from kb.text.segment import one_line
from kb.writing import gate, inbox, quality
from kb.writing.group_commit import (
    QueuedWriter,
    WriteRequest,
    answer_all_busy,
    has_landed,
    iter_requests,
    return_to_writer,
    save_draft_answer,
    send_answer,
)
from kb.writing.inbox import find_checkout_damage, find_damaged_twin
from kb.writing.publish import explain_outcome, report_rescued_work
from kb.writing.quality import Objection
from kb.writing.transaction import (
    NOT_BY_A_PROGRAM,
    Transaction,
    apply_front_edit,
    describe_status_change,
    describe_unreplaced,
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
Files = Callable[[Sequence[Verdict]], Mapping[str, bytes]]
"""Files to commit beside the records, made when the verdicts are known."""


_PERSONAL = frozenset({"preference", "domain-note"})
"""Kinds under which a person's own facts are handed in; in others "I" is whoever wrote the document."""


def refuse_personal(kb: Workspace, candidate: Candidate) -> list[Objection]:
    """Refuse what an agent hands in and is certainly about a person, where others would read it."""
    by_agent = bool(candidate.session or candidate.host) or project.is_agent_shell(kb.environment)
    if not (by_agent and candidate.kind in _PERSONAL and is_personal_fact(candidate) and project.is_shared(kb)):
        return []
    reason = msg("it is about a person, and others read this knowledge base")
    remedy = msg("keep it in a knowledge base of your own: KB_HOME=~/.kb kb write")
    return [Objection("personal", reason, remedy)]


Planned = tuple[WriteRequest, list[Verdict], int | None]
"""A call, its verdicts, and the number of its commit among those of the transaction."""


def write(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False,
    beside: Files | None = None, subject: str = "", landing: bool = False, waiting: QueuedWriter | None = None,
    job: str = "", decided: bool = False
) -> list[Verdict]:  # fmt: skip
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`.

    What cannot be committed now is spooled, unless *landing*: then Busy or GitFailed is raised. *job* names the spooled
    job that this lands.
    """
    waiting = waiting or QueuedWriter(kb, WriteRequest(candidates, folder, decided=decided), job)
    deciding = CandidateTransaction(kb, "", folder, decided=decided, job=job)
    try:
        return deciding.run(candidates, dry_run, beside, subject, waiting)
    except (Busy, GitFailed) as trouble:
        if dry_run or landing:
            raise
        from kb.writing.spool import spool_candidates

        return spool_candidates(kb, candidates, folder, trouble, decided=decided, job=waiting.job)


class CandidateTransaction(Transaction):
    """One call of the gate: what becomes of its candidates."""

    caller: Candidate | None = None
    """The first candidate, masked: it names the session and the host for the commit."""

    def run(
        self, candidates: Sequence[Candidate], dry_run: bool = False, beside: Files | None = None, subject: str = "",
        waiting: QueuedWriter | None = None
    ) -> list[Verdict]:  # fmt: skip
        """Decide on *candidates* and publish; a race that is lost is run again on the new tip.

        *waiting* is the place in the queue that they have already.
        """
        if dry_run or beside or self.promoted:
            return self._run_unqueued(candidates, dry_run=dry_run, beside=beside, subject=subject)
        mine = WriteRequest(candidates, self.folder, decided=self.decided)
        waiting = waiting or QueuedWriter(self.kb, mine, self.job)
        try:
            found = self.run_with_retries(
                partial(self._plan_all, mine, waiting), self._publish_all, waiting.is_queued_and_answered
            )
        except LockWaitCancelled:
            return waiting.read_answer() if waiting.has_answer() else []
        except (Busy, GitFailed):
            told = waiting.read_answer_or_withdraw()
            if told is None:
                raise
            return told
        return found[0][1]

    def notify_busy(self, trouble: Busy) -> None:
        """Spare those who wait the same *trouble*."""
        answer_all_busy(self.kb, trouble)

    def _plan_all(self, mine: WriteRequest, waiting: QueuedWriter) -> list[Planned]:
        """Plan what this writer wants, and what all those want who wait for the lock."""
        if waiting.is_written() or (self.job and has_landed(self.kb, self.job)):
            raise LockWaitCancelled
        waiting.withdraw_request()
        found = [self._plan_request(mine._replace(job=waiting.job))]
        for call in iter_requests(self.kb):
            try:
                found.append(self._plan_request(call))
            except Exception:
                return_to_writer(call.path)
                raise LostRace(call.path) from None
        return found

    def _plan_request(self, call: WriteRequest) -> Planned:
        steps = len(self.steps)
        scope, self.folder, self.caller, self.decided = self.scope, call.folder, None, call.decided
        self.scope = scope or project.claim_scope(self.kb, call.folder)
        masked = call.masked or [()] * len(call.candidates)
        verdicts = [self.judge_candidate(*pair) for pair in zip(call.candidates, masked, strict=True)]
        self.add_step(self.caller, by=call.by)
        self.scope = scope
        return call, verdicts, len(self.steps) - 1 if len(self.steps) > steps else None

    def _publish_all(self, found: list[Planned]) -> list[Planned]:
        commits = self.publish(None, note=partial(self._note_jobs, found))
        done: list[Planned] = []
        noticed = [
            self.kb.localise(said)
            for said in (dropped_records.report_put_back(self.kb), report_rescued_work(self.kb))
            if said
        ]
        for call, verdicts, step in found:
            told = self._complete_verdicts(verdicts, step, commits)
            if call.path:
                send_answer(call, told)
            elif told:
                told[0] = told[0]._replace(reasons=(*told[0].reasons, *noticed))
            done.append((call, told, step))
        return done

    def _note_jobs(self, found: list[Planned], commits: Mapping[str, str]) -> None:
        """Note which jobs of the queue are about to be published as *commits*, and what their writers are to hear."""
        for call, verdicts, step in found:
            if call.path:
                save_draft_answer(call, self._complete_verdicts(verdicts, step, commits))
        self.note_jobs(commits, [call.job for call, _, _ in found])

    def _complete_verdicts(
        self, verdicts: Sequence[Verdict], step: int | None, commits: Mapping[str, str]
    ) -> list[Verdict]:
        own = {**commits, **({self.head.ref: self.commits[step]} if step is not None else {})}
        return [self._complete_verdict(verdict, own) for verdict in verdicts]

    def _run_unqueued(
        self, candidates: Sequence[Candidate], *, dry_run: bool, beside: Files | None, subject: str
    ) -> list[Verdict]:
        find = self.kb.project if dry_run else partial(project.claim_scope, self.kb)

        def plan_candidates() -> list[Verdict]:
            self.scope = self.scope or find(self.folder)
            self.caller = None
            return [self.judge_candidate(candidate) for candidate in candidates]

        def publish_candidates(verdicts: list[Verdict]) -> list[Verdict]:
            extra = beside(verdicts) if beside else {}
            self.changes.update({path: (None, data) for path, data in extra.items()})
            commits = self.publish(self.caller, "" if self.subjects else subject)
            return [self._complete_verdict(verdict, commits) for verdict in verdicts]

        return self.run_with_retries(plan_candidates, None if dry_run else publish_candidates)

    def judge_candidate(self, raw: Candidate, already: Sequence[str] = ()) -> Verdict:
        """Return the verdict on one candidate and remember what it changes; *already* masked by these rules."""
        candidate, masked = redaction.redact_candidate(raw, self.kb.config.masking)
        self.caller = self.caller or candidate
        candidate = quality.reclassify_candidate(
            candidate._replace(scope=candidate.scope or self.scope, title=" ".join(candidate.title.split()))
        )
        rules = sorted({*already, *(mask.rule for mask in masked)})
        notes = [msg("masked: {rules}", rules=", ".join(rules))] if rules else []
        if not _SCOPE.fullmatch(candidate.scope):
            return self.refuse_candidate(
                candidate,
                [msg("there is no scope {scope}", scope=candidate.scope)],
                msg("use global or project/<name>"),
            )
        objections = [*refuse_personal(self.kb, candidate), *quality.find_objections(candidate, self.kb.config)]
        if refusing := [o for o in objections if o.refuses]:
            return self.refuse_candidate(candidate, [o.reason for o in refusing], refusing[0].remedy)
        try:
            supersedes, amends = (
                tuple(dict.fromkeys(record.id for record in self._resolve_names(candidate, names)))
                for names in (candidate.supersedes, candidate.amends)
            )
        except UnknownId as error:
            return self.refuse_candidate(candidate, [error.message], error.hint)
        except BadRecord as error:
            return self._refuse_damaged(candidate, error)
        candidate = candidate._replace(title=one_line(candidate.title), supersedes=supersedes, amends=amends)
        notes += quality.list_remarks(candidate)
        return self._apply_gate(candidate, objections, notes)

    def _apply_gate(self, candidate: Candidate, objections: Sequence[Objection], notes: Sequence[Message]) -> Verdict:
        """Return the verdict on a candidate of good quality: it is refused, held or let through the gate."""
        near = self._find_near(candidate)
        decision = decide_candidate(candidate, near, self.kb.config.title_similarity)
        is_new = decision.step == "create" and not candidate.updates
        if is_new and (damaged := find_damaged_twin(self.kb, candidate)):
            return inbox.hold_damaged(self, candidate, damaged, decision.similar)
        held = inbox.find_same(self.kb, candidate)
        sightings, in_sessions = self._count_sightings(candidate, decision, held)
        admission = gate.assess_admission(
            candidate, sightings, self.kb.config, in_sessions=in_sessions, overturns=decision.overturned_id
        )
        if refusing := [o for o in admission.objections if o.refuses]:
            return self.refuse_candidate(candidate, [o.reason for o in refusing], refusing[0].remedy)
        objections = [
            *objections,
            *admission.objections,
            *gate.require_approval(self.kb.config, given=bool(self.promoted)),
        ]
        vouched = held is not None and held.name == self.promoted
        if not vouched and (not admission.admitted or any(o.holds for o in objections)):
            return inbox.hold_candidate(self, candidate, held, objections, decision.similar)
        if held:
            candidate = inbox.merge_sightings(candidate, held.candidate)
        before = self.create_savepoint()
        try:
            verdict = self._admit_candidate(candidate, decision, [*admission.grounds, *notes], held)
        except BadRecord as error:
            self.roll_back(before)
            return self._refuse_damaged(candidate, error)
        if held and verdict.verdict not in ("held", "refused"):
            self.inbox[held.name + ".json"] = None
        return verdict

    def _find_near(self, candidate: Candidate) -> list[Record]:
        from kb.search.query import build_broad_expression

        scopes = sorted({candidate.scope, GLOBAL})
        telling = build_broad_expression(f"{candidate.title} {candidate.decision}", _TELLING)
        title, claims, impact = candidate.title, candidate.claims, candidate.impact
        near = self.kb.index.find_comparable(
            title, build_broad_expression(title), claims, impact, scopes, _NEAR, telling
        )
        return near + [
            record for record in index_sync.load_unreadable_from_tip(self.kb, self.head.oid) if record.scope in scopes
        ]

    def _count_sightings(
        self, candidate: Candidate, decision: CandidateDecision, held: inbox.HeldCandidate | None
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

    def _refuse_damaged(self, candidate: Candidate, error: BadRecord) -> Verdict:
        """Return the verdict on a candidate that concerns a file which cannot be read."""
        words = msg("{path}: {problem}", path=error.path, problem=error.message)
        return self.refuse_candidate(candidate, [words], msg("mend it first: kb check"))

    def _admit_candidate(
        self,
        candidate: Candidate,
        decision: CandidateDecision,
        grounds: Sequence[Message],
        held: inbox.HeldCandidate | None,
    ) -> Verdict:
        if candidate.updates:
            from kb.writing.rewrite import rewrite_sections

            return rewrite_sections(self, candidate, grounds)
        if decision.step == "conflict" and decision.record and decision.reason:
            return self._open_review(candidate, [decision.record], [decision.reason, *grounds], decision.similar)
        if decision.step == "merge" and decision.record:
            return self._merge_into_record(candidate, decision, grounds)
        return self._create_record(candidate, decision, grounds, held)

    def _create_record(
        self,
        candidate: Candidate,
        decision: CandidateDecision,
        grounds: Sequence[Message],
        held: inbox.HeldCandidate | None,
    ) -> Verdict:
        if not self.decided and self._find_replaced_accepted(candidate):
            return self._open_review(candidate, [], [NOT_BY_A_PROGRAM, *grounds], decision.similar)
        replaced = [
            old for old in self._resolve_names(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED
        ]
        if uneasy := [old for old in replaced if self._has_status_conflict(old)]:
            why = msg("{path} has changes on the same lines that are not committed", path=uneasy[0].path)
            return self._open_review(candidate, [], [why, *grounds], decision.similar)
        record = self.build_record(candidate)
        if held:
            sources = inbox.list_origins(held, candidate)
            record = record._replace(sources=merge_candidate.add_source(sources), occurrences=max(len(sources), 1))
        lacking = find_missing_sections(record)
        remedy = suggest_completion(record, lacking)
        labels = join_section_labels(lacking, self.kb.config.language)
        said = [msg("not given: {sections}", sections=labels)] if lacking else []
        if lacking and self.kb.config.missing == "refuse":
            return self.refuse_candidate(candidate, said, msg("add what is missing"))
        alike = self._find_alike(candidate, decision.similar)
        self.add_record(record)
        if record.status == Status.ACCEPTED:
            told = [
                describe_status_change(old, self.plan_front_edit(old, {"status": str(Status.SUPERSEDED)}, "superseded"))
                for old in replaced
            ]
        else:
            told = [describe_unreplaced(old) for old in replaced]
        return self.build_verdict("created", record, [*told, *said, *grounds], alike, remedy)

    def _find_replaced_accepted(self, candidate: Candidate) -> list[Record]:
        """Return the accepted records that *candidate* would replace, wholly or in part."""
        named = self._resolve_names(candidate, (*candidate.supersedes, *candidate.amends))
        return [old for old in named if old.status == Status.ACCEPTED]

    def _open_review(
        self,
        candidate: Candidate,
        contradicted: Sequence[Record],
        reasons: Sequence[Message],
        alike: Sequence[SimilarRecord],
    ) -> Verdict:
        """Open a review of *candidate* against what it contradicts and what it names as replaced."""
        from kb.writing.reviews import propose_review

        replaced = [
            old for old in self._resolve_names(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED
        ]
        amended = self._resolve_names(candidate, candidate.amends)
        olds = list({old.path: old for old in (*contradicted, *replaced)}.values())
        return propose_review(self, candidate, olds, amended, reasons, alike)

    def _find_alike(self, candidate: Candidate, found: tuple[SimilarRecord, ...]) -> tuple[SimilarRecord, ...]:
        """Return the likest records: those *found* by words they share or, where these are few, by their letters."""
        if len(found) >= _ALIKE:
            return found
        titles = self.kb.index.list_titles(sorted({candidate.scope, GLOBAL}), _NEWEST)
        return find_similar_titles(candidate.title, titles, _ALIKE)

    def _resolve_names(self, candidate: Candidate, names: Sequence[str]) -> list[Record]:
        """Return the records of the candidate's scope that *names* name; raise UnknownId."""
        found = [find_record(self.kb.index, name, candidate.scope) for name in names]
        for record in found:
            if record.scope != candidate.scope:
                words = msg("there is no record {id} in {scope}", id=record.id, scope=candidate.scope)
                raise UnknownId(words, hint=msg("name a record of the same scope"))
        return found

    def _has_status_conflict(self, record: Record) -> bool:
        before = self.read_planned(record.path)
        if before is None:
            return True
        return self._has_conflict(
            record.path, before, apply_front_edit(record, before, {"status": str(Status.SUPERSEDED)})
        )

    def _merge_into_record(
        self, candidate: Candidate, decision: CandidateDecision, grounds: Sequence[Message]
    ) -> Verdict:
        record = decision.record
        assert record is not None
        step = merge_candidate.plan_merge(candidate, record, day=self.kb.today(), language=self.kb.config.language)
        reasons = [decision.reason] if decision.reason else []
        if step.verdict == "unchanged":
            return self.build_verdict("unchanged", record, reasons, decision.similar)
        before = self.read_planned(record.path)
        if before is None:
            return inbox.hold_uncommitted(self, candidate, record.path, reasons, decision.similar)
        if damaged := find_checkout_damage(self.kb, record.path, before):
            return inbox.hold_damaged(self, candidate, damaged, decision.similar)
        old = decode_record(before, record.path)
        new = merge_candidate.apply_merge(old, step, self.kb.config.language)
        record_file.verify_edit(old, new, (*step.changes, "uid"), record.path)
        return self.plan_replacement(
            candidate, record, before, new.encode(), step.verdict, [*reasons, *grounds], decision.similar
        )

    def _complete_verdict(self, verdict: Verdict, commits: Mapping[str, str]) -> Verdict:
        """Return *verdict* with its commit, and with what became of its file where that could not follow."""
        if verdict.verdict in ("unchanged", "refused"):
            return verdict
        ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else ""
        oids = [oid for name, oid in commits.items() if name == ref or (not ref and name.startswith("refs/heads/"))]
        said = None if verdict.branch else explain_outcome(verdict.path, self.outcomes.get(verdict.path, ""))
        reasons = (*verdict.reasons, self.kb.localise(said)) if said else verdict.reasons
        return verdict._replace(commit=oids[0] if oids else "", reasons=reasons)


def promote(kb: Workspace, name: str) -> Verdict:
    """Write what is held under *name* on a person's word; dedup and contradiction are looked for as ever."""
    held = inbox.find_held(kb, name)
    writing = CandidateTransaction(kb, held.candidate.scope, "", promoted=held.name)
    (verdict,) = writing.run([held.candidate])
    return verdict
