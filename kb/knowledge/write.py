"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb import markdown
from kb.errors import BadRecord, Busy, GitFailed, UnknownId
from kb.front import decode
from kb.kinds import section_labels
from kb.knowledge import inbox, project
from kb.knowledge.lookup import one_named
from kb.knowledge.names import INBOX
from kb.knowledge.publish import is_record, left_behind
from kb.knowledge.spool import land_spool, spool, told_of_the_spool
from kb.knowledge.writing import Writing, edited
from kb.patterns import regex
from kb.record import GLOBAL, SCOPE, Candidate, Record, Status, Verdict
from kb.text import one_line
from kb.words import Said, say
from kb.writing import gate, karma, merge, quality, redact
from kb.writing.objection import Objection
from kb.writing.verdict import Decision, decide, missing_sections

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_SCOPE = regex(SCOPE)
Files = Callable[[Sequence[Verdict]], Mapping[str, bytes]]
"""Files to commit beside the records, made when the verdicts are known."""


class _Mark(NamedTuple):
    """How much is planned at one moment."""

    changes: Mapping[str, tuple[bytes | None, bytes]]
    subjects: int
    uids: int
    operations: int


def write(
    kb: "KnowledgeBase", candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False,
    beside: Files | None = None, subject: str = "", landing: bool = False,
) -> list[Verdict]:  # fmt: skip
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`."""
    landed = [] if dry_run or landing else land_spool(kb)
    try:
        verdicts = Deciding(kb, "", folder).run(candidates, dry_run=dry_run, beside=beside, subject=subject)
    except (Busy, GitFailed) as trouble:
        if dry_run or landing:
            raise
        verdicts = spool(kb, candidates, folder, trouble)
    return told_of_the_spool(verdicts, landed)


class Deciding(Writing):
    """One call of the gate: what becomes of its candidates."""

    def run(
        self, candidates: Sequence[Candidate], *, dry_run: bool = False, beside: Files | None = None, subject: str = ""
    ) -> list[Verdict]:
        """Decide on *candidates* and publish; a race that is lost is run again on the new tip."""
        find = self.kb.project if dry_run else partial(project.claimed, self.kb)

        def plan() -> list[Verdict]:
            self.scope = self.scope or find(self.folder)
            return [self.take(candidate) for candidate in candidates]

        def publish(verdicts: list[Verdict]) -> list[Verdict]:
            extra = beside(verdicts) if beside else {}
            self.changes.update({path: (None, data) for path, data in extra.items()})
            commits = self.publish(self._caller(candidates), "" if self.subjects else subject)
            return [self._published(verdict, commits) for verdict in verdicts]

        return self.until_won(plan, None if dry_run else publish)

    def _caller(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """Return the first of *candidates* with the session and host that the commit names, masked like all else."""
        if not candidates:
            return None
        plain = Candidate("decision", "", session=candidates[0].session, host=candidates[0].host)
        return redact.redacted(plain, self.kb.config.private_words)[0]

    def take(self, raw: Candidate) -> Verdict:
        """Return the verdict on one candidate and remember what it changes."""
        candidate, masked = redact.redacted(raw, self.kb.config.private_words)
        candidate = karma.reclassed(
            candidate._replace(scope=candidate.scope or self.scope, title=" ".join(candidate.title.split()))
        )
        notes = [say("masked: {rules}", rules=", ".join(sorted({mask.rule for mask in masked})))] if masked else []
        if not _SCOPE.fullmatch(candidate.scope):
            return self.refused(
                candidate,
                [say("there is no scope {scope}", scope=candidate.scope)],
                say("use global or project/<name>"),
            )
        objections = quality.objections(candidate, self.kb.config)
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
        return self._weighed(candidate, objections, notes)

    def _weighed(self, candidate: Candidate, objections: Sequence[Objection], notes: Sequence[Said]) -> Verdict:
        """Return the verdict on a candidate of good quality: it is refused, held or let through the gate."""
        near = self._near(candidate)
        decision = decide(candidate, near, self.kb.config.title_similarity)
        held = inbox.same_as(self.kb, candidate)
        sightings = self._sightings(candidate, decision, held)
        admission = gate.admission(candidate, sightings, self.kb.config, overturns=decision.overturns)
        if refusing := [o for o in admission.objections if o.refuses]:
            return self.refused(candidate, [o.reason for o in refusing], refusing[0].remedy)
        objections = [*objections, *admission.objections]
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
        from kb.reading.query import broad_expression

        scopes = sorted({candidate.scope, GLOBAL})
        return self.kb.index.near(
            candidate.title, broad_expression(candidate.title), candidate.claims, candidate.impact, scopes
        )

    def _sightings(self, candidate: Candidate, decision: Decision, held: inbox.Held | None) -> int:
        """Return in how many sessions the candidate has been seen, this one included."""
        if decision.step == "merge" and decision.record:
            return decision.record.occurrences + 1
        sessions = {sighting.get("session", "") for sighting in held.sightings} if held else set()
        return len(sessions | {candidate.session})

    def _unmended(self, candidate: Candidate, error: BadRecord) -> Verdict:
        """Return the verdict on a candidate that concerns a file which cannot be read."""
        words = say("{path}: {problem}", path=error.path, problem=error.message)
        return self.refused(candidate, [words], say("mend it first: kb check"))

    def _admit(
        self, candidate: Candidate, decision: Decision, grounds: Sequence[Said], held: inbox.Held | None
    ) -> Verdict:
        if candidate.updates:
            from kb.knowledge.rewrite import rewrite

            return rewrite(self, candidate, grounds)
        if decision.step == "conflict" and decision.record and decision.reason:
            from kb.knowledge.review import propose

            return propose(self, candidate, [decision.record], [decision.reason, *grounds], decision.similar)
        if decision.step == "merge" and decision.record:
            return self._merge(candidate, decision, grounds)
        return self._create(candidate, decision, grounds, held)

    def _create(
        self, candidate: Candidate, decision: Decision, grounds: Sequence[Said], held: inbox.Held | None
    ) -> Verdict:
        replaced = [old for old in self._named_by(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED]
        if uneasy := [old for old in replaced if self._status_clashes(old)]:
            from kb.knowledge.review import propose

            why = say("{path} has changes on the same lines that are not committed", path=uneasy[0].path)
            return propose(self, candidate, replaced, [why, *grounds], decision.similar)
        record = self.new_record(candidate)
        if held:
            sources = inbox.heard(held, candidate)
            record = record._replace(sources=sources, occurrences=max(len(sources), 1))
        lacking = missing_sections(record)
        remedy = say("complete it: kb edit {id}", id=record.id) if lacking else say("")
        labels = section_labels(lacking, self.kb.config.language)
        said = [say("not given: {sections}", sections=labels)] if lacking else []
        if lacking and self.kb.config.missing == "refuse":
            return self.refused(candidate, said, say("add what is missing"))
        self.add(record)
        for old in replaced:
            self.edit(old, {"status": str(Status.SUPERSEDED)}, "superseded")
        return self.verdict("created", record, [*said, *grounds], decision.similar, remedy)

    def _named_by(self, candidate: Candidate, names: Sequence[str]) -> list[Record]:
        """Return the records of the candidate's scope that *names* name; raise UnknownId."""
        found = [one_named(self.kb.index, name, candidate.scope) for name in names]
        for record in found:
            if record.scope != candidate.scope:
                words = say("there is no record {id} in {scope}", id=record.id, scope=candidate.scope)
                raise UnknownId(words, hint=say("name a record of the same scope"))
        return found

    def _status_clashes(self, record: Record) -> bool:
        before = self.text_of(record.path)
        if before is None:
            return True
        return self._clashes(record.path, before, edited(record, before, {"status": str(Status.SUPERSEDED)}))

    def _merge(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        record = decision.record
        assert record is not None
        step = merge.merging(candidate, record, day=self.kb.today(), language=self.kb.config.language)
        reasons = [decision.reason] if decision.reason else []
        if step.verdict == "unchanged":
            return self.verdict("unchanged", record, reasons, decision.similar)
        before = self.text_of(record.path)
        if before is None:
            return inbox.hold_uncommitted(self, candidate, record.path, reasons, decision.similar)
        old = decode(before, record.path)
        new = merge.apply(old, step, self.kb.config.language)
        markdown.proved(old, new, (*step.changes, "uid"), record.path)
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
