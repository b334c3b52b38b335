"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kb import markdown
from kb.errors import BadRecord, Busy, GitFailed, IndexFailed, KbError, NeedsPerson, UnknownId
from kb.front import decode, edit_front
from kb.kinds import BY_NAME, section_labels
from kb.knowledge import inbox, numbers, project
from kb.knowledge.lookup import one_named
from kb.knowledge.names import INBOX, folder_of, ulid
from kb.knowledge.publish import finish_following, is_record, left_behind, publish
from kb.knowledge.spool import land_spool, spool, told_of_the_spool
from kb.patterns import regex
from kb.record import GLOBAL, SCOPE, Candidate, Record, Similar, Status, Verdict
from kb.store.git import checkout
from kb.store.git.repository import LostRace, Move, message
from kb.text import one_line, slugify
from kb.words import Said, say
from kb.writing import gate, karma, merge, quality, redact
from kb.writing.objection import Objection
from kb.writing.verdict import Decision, decide, missing_sections, sections_of, status_of

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.knowledge.review import Plan

_SCOPE = regex(SCOPE)
_RACES = 50

T = TypeVar("T")

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
        verdicts = Writing(kb, "", folder).run(candidates, dry_run=dry_run, beside=beside, subject=subject)
    except (Busy, GitFailed) as trouble:
        if dry_run or landing:
            raise
        verdicts = spool(kb, candidates, folder, trouble)
    return told_of_the_spool(verdicts, landed)


class Writing:
    """One call of the gate: what it decides, and the commits that make it so."""

    def __init__(self, kb: "KnowledgeBase", scope: str, folder: str, *, promoted: str = "") -> None:
        """Prepare to write for a caller who works in *folder*, to which *scope* belongs ("": to be found out).

        *promoted* names what a person takes out of the inbox: it needs no further ground.
        """
        self.promoted = promoted
        self.kb = kb
        self.scope = scope
        self.folder = folder
        self.forget()

    def forget(self) -> None:
        """Drop everything planned."""
        self.is_published = False
        self.outcomes: Mapping[str, str] = {}
        self.changes: dict[str, tuple[bytes | None, bytes]] = {}
        self.subjects: list[str] = []
        self.uids: list[str] = []
        self.reviews: list[Plan] = []
        self.inbox: dict[str, bytes | None] = {}
        self.operations: list[str] = []

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
            commits = self.publish(candidates[0] if candidates else None, "" if self.subjects else subject)
            return [self._published(verdict, commits) for verdict in verdicts]

        return self.until_won(plan, None if dry_run else publish)

    def until_won(self, plan: Callable[[], T], publish: Callable[[T], T] | None) -> T:
        """Plan and publish in one transaction, again on the new tip when a race is lost; None publishes nothing.

        A trouble after the refs have moved is not told: it is published, and what was planned is returned.
        """
        for _ in range(_RACES):
            self.forget()
            try:
                with self.transaction(keep=publish is not None):
                    done = plan()
                    if publish:
                        done = publish(done)
                return done
            except LostRace:
                continue
        raise Busy(say("other writers kept moving the branch"), hint=say("try again"))

    @contextlib.contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Hold the lock, the tip to build on and the index that agrees with it."""
        repository = self.kb.repository
        try:
            with repository.locked():
                finish_following(self.kb)
                if busy := repository.not_now():
                    raise busy
                self.head = repository.head()
                self.kb.fresh(thorough=False)
                numbers.learn(self.kb)
                inbox.sync(self.kb)
                with self.kb.index.changing(keep=keep):
                    yield
        except (OSError, IndexFailed) as error:
            if self.is_published:
                return
            problem = getattr(error, "strerror", None) or str(error)
            raise Busy(say("{path} cannot be written: {problem}", path=self.kb.root, problem=problem)) from None

    # deciding

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
            verdict = self._admit(candidate, decision, [*admission.grounds, *notes])
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

    def refused(self, candidate: Candidate, reasons: Sequence[Said], remedy: Said) -> Verdict:
        """Return the verdict on a candidate that is not kept."""
        return Verdict(
            "refused", candidate.title, candidate.kind, scope=candidate.scope,
            reasons=tuple(map(self.kb.words, reasons)), next=self.kb.words(remedy),
        )  # fmt: skip

    def _unmended(self, candidate: Candidate, error: BadRecord) -> Verdict:
        """Return the verdict on a candidate that concerns a file which cannot be read."""
        words = say("{path}: {problem}", path=error.path, problem=error.message)
        return self.refused(candidate, [words], say("mend it first: kb check"))

    def _admit(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        if candidate.updates:
            from kb.knowledge.rewrite import rewrite

            return rewrite(self, candidate, grounds)
        if decision.step == "conflict" and decision.record and decision.reason:
            from kb.knowledge.review import propose

            return propose(self, candidate, [decision.record], [decision.reason, *grounds], decision.similar)
        if decision.step == "merge" and decision.record:
            return self._merge(candidate, decision, grounds)
        return self._create(candidate, decision, grounds)

    def _create(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        replaced = [old for old in self._named_by(candidate, candidate.supersedes) if old.status != Status.SUPERSEDED]
        if uneasy := [old for old in replaced if self._status_clashes(old)]:
            from kb.knowledge.review import propose

            why = say("{path} has changes on the same lines that are not committed", path=uneasy[0].path)
            return propose(self, candidate, replaced, [why, *grounds], decision.similar)
        record = self.new_record(candidate)
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
        return self._clashes(record.path, before, _edited(record, before, {"status": str(Status.SUPERSEDED)}))

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

    def replaced(
        self, candidate: Candidate, record: Record, before: bytes, now: bytes, word: str,
        reasons: Sequence[Said], alike: Sequence[Similar] = (),
    ) -> Verdict:  # fmt: skip
        """Plan that the file of *record*, *before* in the tip, is *now*.

        Where that touches lines which a person has changed and not committed, it goes to a review branch.
        """
        if self._clashes(record.path, before, now):
            from kb.knowledge.review import propose_text

            why = say("{path} has changes on the same lines that are not committed", path=record.path)
            return propose_text(self, record, now, candidate, [why, *reasons])
        self.change(record.path, before, now, word, record)
        return self.verdict(word, self.reread(record.path), reasons, alike)

    def _clashes(self, path: str, before: bytes, now: bytes) -> bool:
        tip = self.changes[path][0] if path in self.changes else before
        return tip is not None and checkout.clashes(self.kb.repository, self.head.oid, path, tip, now)

    # pieces that other verbs build with

    def new_record(self, candidate: Candidate) -> Record:
        """Return the record *candidate* becomes, with a fresh id and uid."""
        kind = BY_NAME[candidate.kind]
        record_id = self.kb.index.next_id(candidate.scope, kind.prefix)
        origin = merge.source_of(candidate)
        record = Record(
            record_id, kind.name, candidate.title, candidate.scope, uid=ulid(self.kb.now()), date=self.kb.today(),
            tags=candidate.tags, impact=candidate.impact, supersedes=candidate.supersedes, amends=candidate.amends,
            coexists_with=candidate.coexists_with, claims=candidate.claims, sources=(origin,) if origin else (),
            sections=sections_of(candidate),
            path=f"{folder_of(candidate.scope, kind.folder)}/{record_id}-{slugify(candidate.title)}.md",
        )  # fmt: skip
        return record._replace(status=status_of(record))

    def add(self, record: Record, operation: str = "created") -> None:
        """Plan the file of a new *record*."""
        language = self.kb.config.language
        self.change(record.path, None, markdown.render(record, language).encode(), operation, record)
        self.kb.index.put(markdown.settled(record, language))
        project.mark(self, record.scope)

    def change(self, path: str, before: bytes | None, now: bytes, operation: str, record: Record) -> None:
        """Plan that the file *path*, *before* in the tip, is *now*."""
        first = self.changes[path][0] if path in self.changes else before
        self.changes[path] = (first, now)
        self.operations.append(operation)
        self.uids.append(record.uid)
        self.subjects.append(f"{_VERBS.get(operation, operation)} [{record.id}] {record.title}")

    def edit(self, record: Record, front: Mapping[str, object], operation: str) -> Record:
        """Plan new values in the front of *record* and return it as it will be."""
        before = self.text_of(record.path)
        if before is None:
            raise KbError(
                say("{path} is not committed yet", path=record.path),
                hint=say("commit it: git add {path}", path=record.path),
            )
        self.put(record, before, _edited(record, before, front), operation)
        return self.reread(record.path)

    def put(self, record: Record, before: bytes | None, now: bytes, operation: str) -> None:
        """Plan what a person has asked for; raise NeedsPerson where they have uncommitted edits of the same lines."""
        if before is not None and self._clashes(record.path, before, now):
            raise NeedsPerson(
                say("{path} has changes on the same lines that are not committed", path=record.path),
                hint=say("commit them first: git commit {path}", path=record.path),
            )
        self.change(record.path, before, now, operation, record)

    def text_of(self, path: str) -> bytes | None:
        """Return the file *path* as the next commit has it so far."""
        if path in self.changes:
            return self.changes[path][1]
        return self.kb.repository.blob(self.head.oid, path) if self.head.oid else None

    def reread(self, path: str) -> Record:
        """Tell the index of a planned file and return its record."""
        record = markdown.read(self.changes[path][1], path)
        self.kb.index.put(record)
        return record

    def verdict(
        self,
        word: str,
        record: Record,
        reasons: Sequence[Said],
        alike: Sequence[Similar] = (),
        remedy: Said | None = None,
        branch: str = "",
    ) -> Verdict:
        """Return the verdict *word* on what became *record*."""
        return Verdict(
            word, record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status),
            tuple(map(self.kb.words, reasons)), self.kb.words(remedy) if remedy else "", tuple(alike), branch,
        )  # fmt: skip

    # publishing

    def publish(
        self, candidate: Candidate | None, subject: str = "", operation: str = "", why: str = ""
    ) -> dict[str, str]:
        """Publish everything planned in one transaction of refs; return the commit of each ref."""
        kb = self.kb
        moves: list[Move] = []
        tip = self.head.oid
        if self.changes:
            now = {path: after for path, (_, after) in self.changes.items()}
            with kb.state.stage() as stage:
                tip = kb.repository.build(tip, now, self._message(candidate, subject, operation, why), stage=stage)
            moves.append(Move(self.head.ref, tip, self.head.oid))
        moves += [review.built(kb, tip) for review in self.reviews]
        if self.inbox:
            for name in [name for name, data in self.inbox.items() if data is None]:
                kb.index.hold(name, None)
            moves.append(inbox.move(kb, self.inbox))
        if not moves:
            return {}
        reason = f"kb: {self.subjects[0] if self.subjects else 'inbox'}"
        self.outcomes = publish(kb, self.head, moves, self.changes, reason)
        self.is_published = True
        if self.inbox:
            kb.index.set_note("inbox", moves[-1].new)
        return {move.ref: move.new for move in moves}

    def _published(self, verdict: Verdict, commits: Mapping[str, str]) -> Verdict:
        """Return *verdict* with its commit, and with what became of its file where that could not follow."""
        if verdict.verdict in ("unchanged", "refused"):
            return verdict
        ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else ""
        oids = [oid for name, oid in commits.items() if name == ref or (not ref and name.startswith("refs/heads/"))]
        said = None if verdict.branch else left_behind(verdict.path, self.outcomes.get(verdict.path, ""))
        reasons = (*verdict.reasons, self.kb.words(said)) if said else verdict.reasons
        return verdict._replace(commit=oids[0] if oids else "", reasons=reasons)

    def _message(self, candidate: Candidate | None, subject: str, operation: str, why: str) -> str:
        first = subject or self.subjects[0]
        if not subject and len(self.subjects) > 1:
            first = f"Write {len(self.subjects)} records"
        body = "\n".join(f"- {line}" for line in self.subjects[:200]) if len(self.subjects) > 1 else ""
        trailers = {
            "Kb-Op": operation or ",".join(dict.fromkeys(self.operations)) or "archived",
            "Kb-Session": candidate.session if candidate else "",
            "Kb-Host": candidate.host if candidate else "",
            "Kb-Uid": ",".join(dict.fromkeys(uid for uid in self.uids[:50] if uid)),
        }
        return message(first, "\n\n".join(part for part in (why, body) if part), trailers)


def _edited(record: Record, before: bytes, front: Mapping[str, object]) -> bytes:
    """Return the file of *record*, *before* in the tip, with new values in its front; raise BadRecord."""
    old = decode(before, record.path)
    new = edit_front(old, front)
    markdown.proved(old, new, front, record.path)
    return new.encode()


_VERBS = {
    "created": "Add", "updated": "Update", "appended": "Add to", "superseded": "Mark superseded", "imported": "Import",
    "confirmed": "Confirm", "status": "Change status of", "edited": "Edit",
}  # fmt: skip
