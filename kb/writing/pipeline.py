"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kb.errors import BadRecord, Busy, GitFailed, UnknownId
from kb.git import dropped_records
from kb.git.repository import GivenUp, LostRace
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.lookup import one_named
from kb.records import record_file
from kb.records.front_matter import decode
from kb.records.kinds import section_labels
from kb.records.model import GLOBAL, SCOPE, Candidate, Record, Similar, Status, Verdict
from kb.records.record_paths import INBOX, is_record
from kb.safety import redaction
from kb.similarity import merge_candidate
from kb.similarity.duplicates import likest
from kb.similarity.verdict import Decision, decide, missing_sections, to_complete
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import project
from kb.text.segment import one_line
from kb.writing import gate, inbox, karma, quality
from kb.writing.concurrent_git import tell_kept_work
from kb.writing.group_commit import Call, Waiting, asked, draft, leave_to_its_writer, tell, tell_all_of
from kb.writing.landed_jobs import has_landed
from kb.writing.objection import Objection
from kb.writing.privacy import refuse_personal
from kb.writing.publish import left_behind
from kb.writing.transaction import NOT_BY_A_PROGRAM, Writing, edited, moved, stays
from kb.writing.unreadable import damaged_here, may_say_the_same

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


Planned = tuple[Call, list[Verdict], int | None]
"""A call, its verdicts, and the number of its commit among those of the transaction."""


class _Mark(NamedTuple):
    """How much is planned at one moment."""

    changes: Mapping[str, tuple[bytes | None, bytes]]
    subjects: int
    uids: int
    operations: int


def write(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False,
    beside: Files | None = None, subject: str = "", landing: bool = False, waiting: Waiting | None = None,
    job: str = "", decided: bool = False,
) -> list[Verdict]:  # fmt: skip
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`.

    What cannot be committed now is spooled, unless *landing*: then Busy or GitFailed is raised. *job* names the spooled
    job that this lands.
    """
    waiting = waiting or Waiting(kb, Call(candidates, folder, decided=decided), job)
    deciding = Deciding(kb, "", folder, decided=decided, job=job)
    try:
        return deciding.run(candidates, dry_run, beside, subject, waiting)
    except (Busy, GitFailed) as trouble:
        if dry_run or landing:
            raise
        from kb.writing.spool import spool

        return spool(kb, candidates, folder, trouble, decided=decided, job=waiting.job)


class Deciding(Writing):
    """One call of the gate: what becomes of its candidates."""

    caller: Candidate | None = None
    """The first candidate, masked: it names the session and the host for the commit."""

    def run(
        self, candidates: Sequence[Candidate], dry_run: bool = False, beside: Files | None = None, subject: str = "",
        waiting: Waiting | None = None,
    ) -> list[Verdict]:  # fmt: skip
        """Decide on *candidates* and publish; a race that is lost is run again on the new tip.

        *waiting* is the place in the queue that they have already.
        """
        if dry_run or beside or self.promoted:
            return self._run_alone(candidates, dry_run=dry_run, beside=beside, subject=subject)
        mine = Call(candidates, self.folder, decided=self.decided)
        waiting = waiting or Waiting(self.kb, mine, self.job)
        try:
            found = self.until_won(partial(self._plan_all, mine, waiting), self._publish_all, waiting.is_answered)
        except GivenUp:
            return waiting.answer() if waiting.was_answered() else []
        except (Busy, GitFailed):
            told = waiting.last_answer()
            if told is None:
                raise
            return told
        return found[0][1]

    def gave_up(self, trouble: Busy) -> None:
        """Spare those who wait the same *trouble*."""
        tell_all_of(self.kb, trouble)

    def _plan_all(self, mine: Call, waiting: Waiting) -> list[Planned]:
        """Plan what this writer wants, and what all those want who wait for the lock."""
        if waiting.is_written() or (self.job and has_landed(self.kb, self.job)):
            raise GivenUp
        waiting.withdraw()
        found = [self._planned(mine._replace(job=waiting.job))]
        for call in asked(self.kb):
            try:
                found.append(self._planned(call))
            except Exception:
                leave_to_its_writer(call.path)
                raise LostRace(call.path) from None
        return found

    def _planned(self, call: Call) -> Planned:
        steps = len(self.steps)
        scope, self.folder, self.caller, self.decided = self.scope, call.folder, None, call.decided
        self.scope = scope or project.claimed(self.kb, call.folder)
        masked = call.masked or [()] * len(call.candidates)
        verdicts = [self.take(*pair) for pair in zip(call.candidates, masked, strict=True)]
        self.step(self.caller, by=call.by)
        self.scope = scope
        return call, verdicts, len(self.steps) - 1 if len(self.steps) > steps else None

    def _publish_all(self, found: list[Planned]) -> list[Planned]:
        commits = self.publish(None, note=partial(self._note_all, found))
        done: list[Planned] = []
        noticed = [
            self.kb.words(said) for said in (dropped_records.tell_put_back(self.kb), tell_kept_work(self.kb)) if said
        ]
        for call, verdicts, step in found:
            told = self._told(verdicts, step, commits)
            if call.path:
                tell(call, told)
            elif told:
                told[0] = told[0]._replace(reasons=(*told[0].reasons, *noticed))
            done.append((call, told, step))
        return done

    def _note_all(self, found: list[Planned], commits: Mapping[str, str]) -> None:
        """Note which jobs of the queue are about to be published as *commits*, and what their writers are to hear."""
        for call, verdicts, step in found:
            if call.path:
                draft(call, self._told(verdicts, step, commits))
        self.note_job(commits, [call.job for call, _, _ in found])

    def _told(self, verdicts: Sequence[Verdict], step: int | None, commits: Mapping[str, str]) -> list[Verdict]:
        own = {**commits, **({self.head.ref: self.commits[step]} if step is not None else {})}
        return [self._published(verdict, own) for verdict in verdicts]

    def _run_alone(
        self, candidates: Sequence[Candidate], *, dry_run: bool, beside: Files | None, subject: str
    ) -> list[Verdict]:
        find = self.kb.project if dry_run else partial(project.claimed, self.kb)

        def plan() -> list[Verdict]:
            self.scope = self.scope or find(self.folder)
            self.caller = None
            return [self.take(candidate) for candidate in candidates]

        def publish(verdicts: list[Verdict]) -> list[Verdict]:
            extra = beside(verdicts) if beside else {}
            self.changes.update({path: (None, data) for path, data in extra.items()})
            commits = self.publish(self.caller, "" if self.subjects else subject)
            return [self._published(verdict, commits) for verdict in verdicts]

        return self.until_won(plan, None if dry_run else publish)

    def take(self, raw: Candidate, already: Sequence[str] = ()) -> Verdict:
        """Return the verdict on one candidate and remember what it changes; *already* masked by these rules."""
        candidate, masked = redaction.redacted(raw, self.kb.config.masking)
        self.caller = self.caller or candidate
        candidate = karma.reclassed(
            candidate._replace(scope=candidate.scope or self.scope, title=" ".join(candidate.title.split()))
        )
        rules = sorted({*already, *(mask.rule for mask in masked)})
        notes = [msg("masked: {rules}", rules=", ".join(rules))] if rules else []
        if not _SCOPE.fullmatch(candidate.scope):
            return self.refused(
                candidate,
                [msg("there is no scope {scope}", scope=candidate.scope)],
                msg("use global or project/<name>"),
            )
        objections = [*refuse_personal(self.kb, candidate), *quality.objections(candidate, self.kb.config)]
        if refusing := [o for o in objections if o.refuses]:
            return self.refused(candidate, [o.reason for o in refusing], refusing[0].remedy)
        try:
            supersedes, amends = (
                tuple(dict.fromkeys(record.id for record in self._named_by(candidate, names)))
                for names in (candidate.supersedes, candidate.amends)
            )
        except UnknownId as error:
            return self.refused(candidate, [error.message], error.hint)
        except BadRecord as error:
            return self._unmended(candidate, error)
        candidate = candidate._replace(title=one_line(candidate.title), supersedes=supersedes, amends=amends)
        notes += quality.remarks(candidate)
        return self._weighed(candidate, objections, notes)

    def _weighed(self, candidate: Candidate, objections: Sequence[Objection], notes: Sequence[Message]) -> Verdict:
        """Return the verdict on a candidate of good quality: it is refused, held or let through the gate."""
        near = self._near(candidate)
        decision = decide(candidate, near, self.kb.config.title_similarity)
        is_new = decision.step == "create" and not candidate.updates
        if is_new and (damaged := may_say_the_same(self.kb, candidate)):
            return inbox.hold_damaged(self, candidate, damaged, decision.similar)
        held = inbox.same_as(self.kb, candidate)
        sightings, in_sessions = self._sightings(candidate, decision, held)
        admission = gate.admission(
            candidate, sightings, self.kb.config, in_sessions=in_sessions, overturns=decision.overturns
        )
        if refusing := [o for o in admission.objections if o.refuses]:
            return self.refused(candidate, [o.reason for o in refusing], refusing[0].remedy)
        objections = [*objections, *admission.objections, *gate.approval(self.kb.config, given=bool(self.promoted))]
        vouched = held is not None and held.name == self.promoted
        if not vouched and (not admission.admitted or any(o.holds for o in objections)):
            return inbox.hold(self, candidate, held, objections, decision.similar)
        if held:
            candidate = inbox.joined(candidate, held.candidate)
        before = self._mark()
        try:
            verdict = self._admit(candidate, decision, [*admission.grounds, *notes], held)
        except BadRecord as error:
            self._back_to(before)
            return self._unmended(candidate, error)
        if held and verdict.verdict not in ("held", "refused"):
            self.inbox[held.name + ".json"] = None
        return verdict

    def _mark(self) -> _Mark:
        return _Mark(dict(self.changes), len(self.subjects), len(self.uids), len(self.operations))

    def _back_to(self, mark: _Mark) -> None:
        """Drop what was planned since *mark*, in the index too."""
        since = [path for path, planned in self.changes.items() if mark.changes.get(path) != planned]
        self.changes = dict(mark.changes)
        del self.subjects[mark.subjects :], self.uids[mark.uids :], self.operations[mark.operations :]
        for path in filter(is_record, since):
            if path in self.changes:
                self.reread(path)
            else:
                self.kb.index.reread([path])

    def _near(self, candidate: Candidate) -> list[Record]:
        from kb.search.query import broad_expression

        scopes = sorted({candidate.scope, GLOBAL})
        telling = broad_expression(f"{candidate.title} {candidate.decision}", _TELLING)
        title, claims, impact = candidate.title, candidate.claims, candidate.impact
        near = self.kb.index.near(title, broad_expression(title), claims, impact, scopes, _NEAR, telling)
        return near + [record for record in index_sync.in_tip(self.kb, self.head.oid) if record.scope in scopes]

    def _sightings(self, candidate: Candidate, decision: Decision, held: inbox.Held | None) -> tuple[int, bool]:
        """Return how often the candidate has been seen, now included, and whether in a session of its own each time.

        An update is the record's own text made current: that it is like the record is no repetition.
        """
        if decision.step == "merge" and decision.record and not candidate.updates:
            record, source = decision.record, merge_candidate.source_of(candidate)
            is_new = bool(source) and source not in record.sources
            return record.occurrences + 1, is_new and len(record.sources) == min(
                record.occurrences, merge_candidate.SOURCES
            )
        sessions = {sighting.get("session", "") for sighting in held.sightings} if held else set()
        sessions.add(candidate.session)
        return len(sessions), "" not in sessions

    def _unmended(self, candidate: Candidate, error: BadRecord) -> Verdict:
        """Return the verdict on a candidate that concerns a file which cannot be read."""
        words = msg("{path}: {problem}", path=error.path, problem=error.message)
        return self.refused(candidate, [words], msg("mend it first: kb check"))

    def _admit(
        self, candidate: Candidate, decision: Decision, grounds: Sequence[Message], held: inbox.Held | None
    ) -> Verdict:
        if candidate.updates:
            from kb.writing.rewrite import rewrite

            return rewrite(self, candidate, grounds)
        if decision.step == "conflict" and decision.record and decision.reason:
            return self._propose(candidate, [decision.record], [decision.reason, *grounds], decision.similar)
        if decision.step == "merge" and decision.record:
            return self._merge(candidate, decision, grounds)
        return self._create(candidate, decision, grounds, held)

    def _create(
        self, candidate: Candidate, decision: Decision, grounds: Sequence[Message], held: inbox.Held | None
    ) -> Verdict:
        if not self.decided and self._in_force(candidate):
            return self._propose(candidate, [], [NOT_BY_A_PROGRAM, *grounds], decision.similar)
        replaced = [old for old in self._named_by(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED]
        if uneasy := [old for old in replaced if self._status_clashes(old)]:
            why = msg("{path} has changes on the same lines that are not committed", path=uneasy[0].path)
            return self._propose(candidate, [], [why, *grounds], decision.similar)
        record = self.new_record(candidate)
        if held:
            sources = inbox.heard(held, candidate)
            record = record._replace(sources=merge_candidate.with_source(sources), occurrences=max(len(sources), 1))
        lacking = missing_sections(record)
        remedy = to_complete(record, lacking)
        labels = section_labels(lacking, self.kb.config.language)
        said = [msg("not given: {sections}", sections=labels)] if lacking else []
        if lacking and self.kb.config.missing == "refuse":
            return self.refused(candidate, said, msg("add what is missing"))
        alike = self._alike(candidate, decision.similar)
        self.add(record)
        if record.status == Status.ACCEPTED:
            told = [moved(old, self.edit(old, {"status": str(Status.SUPERSEDED)}, "superseded")) for old in replaced]
        else:
            told = [stays(old) for old in replaced]
        return self.verdict("created", record, [*told, *said, *grounds], alike, remedy)

    def _in_force(self, candidate: Candidate) -> list[Record]:
        """Return the accepted records that *candidate* would replace, wholly or in part."""
        named = self._named_by(candidate, (*candidate.supersedes, *candidate.amends))
        return [old for old in named if old.status == Status.ACCEPTED]

    def _propose(
        self, candidate: Candidate, contradicted: Sequence[Record], reasons: Sequence[Message], alike: Sequence[Similar]
    ) -> Verdict:
        """Open a review of *candidate* against what it contradicts and what it names as replaced."""
        from kb.writing.reviews import propose

        replaced = [old for old in self._named_by(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED]
        amended = self._named_by(candidate, candidate.amends)
        olds = list({old.path: old for old in (*contradicted, *replaced)}.values())
        return propose(self, candidate, olds, amended, reasons, alike)

    def _alike(self, candidate: Candidate, found: tuple[Similar, ...]) -> tuple[Similar, ...]:
        """Return the likest records: those *found* by words they share or, where these are few, by their letters."""
        if len(found) >= _ALIKE:
            return found
        titles = self.kb.index.titles(sorted({candidate.scope, GLOBAL}), _NEWEST)
        return likest(candidate.title, titles, _ALIKE)

    def _named_by(self, candidate: Candidate, names: Sequence[str]) -> list[Record]:
        """Return the records of the candidate's scope that *names* name; raise UnknownId."""
        found = [one_named(self.kb.index, name, candidate.scope) for name in names]
        for record in found:
            if record.scope != candidate.scope:
                words = msg("there is no record {id} in {scope}", id=record.id, scope=candidate.scope)
                raise UnknownId(words, hint=msg("name a record of the same scope"))
        return found

    def _status_clashes(self, record: Record) -> bool:
        before = self.text_of(record.path)
        if before is None:
            return True
        return self._clashes(record.path, before, edited(record, before, {"status": str(Status.SUPERSEDED)}))

    def _merge(self, candidate: Candidate, decision: Decision, grounds: Sequence[Message]) -> Verdict:
        record = decision.record
        assert record is not None
        step = merge_candidate.merging(candidate, record, day=self.kb.today(), language=self.kb.config.language)
        reasons = [decision.reason] if decision.reason else []
        if step.verdict == "unchanged":
            return self.verdict("unchanged", record, reasons, decision.similar)
        before = self.text_of(record.path)
        if before is None:
            return inbox.hold_uncommitted(self, candidate, record.path, reasons, decision.similar)
        if damaged := damaged_here(self.kb, record.path, before):
            return inbox.hold_damaged(self, candidate, damaged, decision.similar)
        old = decode(before, record.path)
        new = merge_candidate.apply(old, step, self.kb.config.language)
        record_file.proved(old, new, (*step.changes, "uid"), record.path)
        return self.replaced(
            candidate, record, before, new.encode(), step.verdict, [*reasons, *grounds], decision.similar
        )

    def _published(self, verdict: Verdict, commits: Mapping[str, str]) -> Verdict:
        """Return *verdict* with its commit, and with what became of its file where that could not follow."""
        if verdict.verdict in ("unchanged", "refused"):
            return verdict
        ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else ""
        oids = [oid for name, oid in commits.items() if name == ref or (not ref and name.startswith("refs/heads/"))]
        said = None if verdict.branch else left_behind(verdict.path, self.outcomes.get(verdict.path, ""))
        reasons = (*verdict.reasons, self.kb.words(said)) if said else verdict.reasons
        return verdict._replace(commit=oids[0] if oids else "", reasons=reasons)


def promote(kb: Workspace, name: str) -> Verdict:
    """Write what is held under *name* on a person's word; dedup and contradiction are looked for as ever."""
    held = inbox.one(kb, name)
    writing = Deciding(kb, held.candidate.scope, "", promoted=held.name)
    (verdict,) = writing.run([held.candidate])
    return verdict
