"""The way in: candidate → redact → quality → gate → dedup → verdict → one commit → index. There is no other."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb import markdown
from kb.errors import Busy, KbError
from kb.front import decode, edit_front
from kb.kinds import BY_NAME
from kb.knowledge import inbox
from kb.knowledge.names import CONTENT, INBOX, folder_of, ulid
from kb.knowledge.spool import land_spool, spool
from kb.patterns import regex
from kb.record import GLOBAL, Candidate, Record, Status, Verdict
from kb.store.git import checkout
from kb.store.git.repository import LostRace, Move, message
from kb.text import one_line, slugify
from kb.words import Said, say
from kb.writing import gate, karma, merge, quality, redact
from kb.writing.verdict import Decision, decide, missing_sections, sections_of, status_of

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_SCOPE = regex(r"global|project/[^\W_](?:[\w.-]*\w)?")
_RACES = 50


Files = Callable[[Sequence[Verdict]], Mapping[str, bytes]]
"""Files to commit beside the records, made when the verdicts are known."""


def write(
    kb: "KnowledgeBase", candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False,
    beside: Files | None = None, subject: str = "", landing: bool = False,
) -> list[Verdict]:  # fmt: skip
    """Write *candidates* and return a verdict for each, in order; see `KnowledgeBase.write`."""
    try:
        if not dry_run and not landing:
            land_spool(kb)
        return Writing(kb, kb.project(folder), folder).run(candidates, dry_run=dry_run, beside=beside, subject=subject)
    except Busy as busy:
        if dry_run or landing:
            raise
        return spool(kb, candidates, folder, busy)


class Writing:
    """One call of the gate: what it decides, and the commits that make it so."""

    def __init__(self, kb: "KnowledgeBase", scope: str, folder: str, *, promoted: str = "") -> None:
        """Prepare to write for a caller who works in *folder*, to which *scope* belongs.

        *promoted* names what a person takes out of the inbox: it needs no further ground.
        """
        self.promoted = promoted
        self.kb = kb
        self.scope = scope
        self.folder = folder
        self.forget()

    def forget(self) -> None:
        """Drop everything planned."""
        self.changes: dict[str, tuple[bytes | None, bytes]] = {}
        self.subjects: list[str] = []
        self.uids: list[str] = []
        self.reviews: list[Any] = []
        self.inbox: dict[str, bytes | None] = {}
        self.operations: list[str] = []

    def run(
        self, candidates: Sequence[Candidate], *, dry_run: bool = False, beside: Files | None = None, subject: str = ""
    ) -> list[Verdict]:
        """Decide on *candidates* and publish; a race that is lost is run again on the new tip."""
        for _ in range(_RACES):
            self.forget()
            try:
                with self.transaction(keep=not dry_run):
                    verdicts = [self.take(candidate) for candidate in candidates]
                    if not dry_run:
                        extra = beside(verdicts) if beside else {}
                        self.changes.update({path: (None, data) for path, data in extra.items()})
                        commits = self.publish(candidates[0] if candidates else None, "" if self.subjects else subject)
                        verdicts = [_with_commit(verdict, commits) for verdict in verdicts]
                return verdicts
            except LostRace:
                continue
        raise Busy(say("other writers kept moving the branch"), hint=say("try again"))

    @contextlib.contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Hold the lock, the tip to build on and the index that agrees with it."""
        repository = self.kb.repository
        index = self.kb.index
        with repository.locked():
            if busy := repository.not_now():
                raise busy
            self.head = repository.head()
            finish_following(self.kb)
            index.refresh(thorough=False)
            inbox.sync(self.kb)
            with index.changing(keep=keep):
                yield

    # deciding

    def take(self, raw: Candidate) -> Verdict:
        """Return the verdict on one candidate and remember what it changes."""
        candidate, masked = redact.redacted(raw, self.kb.config.private_words)
        candidate = karma.reclassed(
            candidate._replace(scope=candidate.scope or self.scope, title=" ".join(candidate.title.split()))
        )
        notes = [say("masked: {rules}", rules=", ".join(sorted({mask.rule for mask in masked})))] if masked else []
        if not _SCOPE.fullmatch(candidate.scope):
            return self._refused(
                candidate,
                [say("there is no scope {scope}", scope=candidate.scope)],
                say("use global or project/<name>"),
            )
        objections = quality.objections(candidate, self.kb.config)
        if refusing := [o for o in objections if o.refuses]:
            return self._refused(candidate, [o.reason for o in refusing], refusing[0].remedy)
        candidate = candidate._replace(title=one_line(candidate.title))
        near = self._near(candidate)
        decision = decide(candidate, near, self.kb.config.title_similarity)
        held = inbox.same_as(self.kb, candidate)
        admission = gate.admission(candidate, self._sightings(candidate, decision, held), self.kb.config)
        if refusing := [o for o in admission.objections if o.refuses]:
            return self._refused(candidate, [o.reason for o in refusing], refusing[0].remedy)
        objections = [*objections, *admission.objections]
        vouched = held is not None and held.name == self.promoted
        if not vouched and (not admission.admitted or any(o.holds for o in objections)):
            return self._hold(candidate, held, objections, decision)
        if held:
            self.inbox[held.name + ".json"] = None
            candidate = _joined(candidate, held.candidate)
        return self._admit(candidate, decision, [*admission.grounds, *notes])

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

    def _refused(self, candidate: Candidate, reasons: Sequence[Said], remedy: Said) -> Verdict:
        return Verdict(
            "refused", candidate.title, candidate.kind, scope=candidate.scope,
            reasons=tuple(map(self.kb.words, reasons)), next=self.kb.words(remedy),
        )  # fmt: skip

    def _hold(
        self,
        candidate: Candidate,
        held: inbox.Held | None,
        objections: Sequence[Any],
        decision: Decision,
    ) -> Verdict:
        """Keep the candidate in the inbox, where it is counted."""
        reasons = tuple(self.kb.words(o.reason) for o in objections)
        held = held or inbox.Held(inbox.name_of(candidate), candidate, (), ())
        if candidate.session not in [sighting.get("session", "") for sighting in held.sightings]:
            sighting = {"session": candidate.session, "host": candidate.host, "day": self.kb.today()}
            held = held._replace(sightings=(*held.sightings, sighting), reasons=reasons)
            self.inbox[held.name + ".json"] = inbox.written(held)
            inbox.remember(self.kb, held)
        return Verdict(
            "held", candidate.title, candidate.kind, id=held.name, scope=candidate.scope, reasons=reasons,
            next=self.kb.words(objections[0].remedy) if objections else "", similar=decision.similar,
        )  # fmt: skip

    def _admit(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        if candidate.updates:
            from kb.knowledge.rewrite import rewrite

            return rewrite(self, candidate, grounds)
        if decision.step == "conflict" and decision.record and decision.reason:
            from kb.knowledge.review import propose

            return propose(self, candidate, decision.record, [decision.reason, *grounds], decision.similar)
        if decision.step == "merge" and decision.record:
            return self._merge(candidate, decision, grounds)
        return self._create(candidate, decision, grounds)

    def _create(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        record = self.new_record(candidate)
        lacking = missing_sections(record)
        remedy = say("complete it: kb edit {id}", id=record.id) if lacking else say("")
        said = [say("not given: {sections}", sections=", ".join(lacking))] if lacking else []
        if lacking and self.kb.config.missing == "refuse":
            return self._refused(candidate, said, say("add what is missing"))
        self.add(record)
        for old in (self.kb.index.named(name) for name in candidate.supersedes):
            for target in [r for r in old if r.scope == record.scope]:
                self.edit(target, {"status": str(Status.SUPERSEDED)}, "superseded")
        return self.verdict("created", record, [*said, *grounds], decision.similar, remedy)

    def _merge(self, candidate: Candidate, decision: Decision, grounds: Sequence[Said]) -> Verdict:
        record = decision.record
        assert record is not None
        step = merge.merging(candidate, record, day=self.kb.today(), language=self.kb.config.language)
        reasons = [decision.reason] if decision.reason else []
        if step.verdict == "unchanged":
            return self.verdict("unchanged", record, reasons, decision.similar)
        before = self.text_of(record.path)
        if before is None:
            reasons = [say("{path} is not committed yet", path=record.path)]
            return self.verdict(
                "unchanged", record, reasons, decision.similar, say("commit it: git add {path}", path=record.path)
            )
        old = decode(before, record.path)
        new = merge.apply(old, step, self.kb.config.language)
        markdown.proved(old, new, (*step.changes, "uid"), record.path)
        self.change(record.path, before, new.encode(), step.verdict, record)
        return self.verdict(step.verdict, self.reread(record.path), [*reasons, *grounds], decision.similar)

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
        self.change(record.path, None, markdown.render(record, self.kb.config.language).encode(), operation, record)
        self.kb.index.put(record)
        from kb.knowledge.project import mark

        for path, data in mark(self.kb, self.folder, record.scope).items():
            self.changes.setdefault(path, (None, data))

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
        old = decode(before, record.path)
        new = edit_front(old, front)
        markdown.proved(old, new, front, record.path)
        self.change(record.path, before, new.encode(), operation, record)
        return self.reread(record.path)

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
        alike: Sequence[Any] = (),
        remedy: Said | None = None,
        branch: str = "",
    ) -> Verdict:
        """Return the verdict *word* on what became *record*."""
        return Verdict(
            word, record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status),
            tuple(map(self.kb.words, reasons)), self.kb.words(remedy) if remedy else "", tuple(alike), branch,
        )  # fmt: skip

    # publishing

    def publish(self, candidate: Candidate | None, subject: str = "", operation: str = "") -> dict[str, str]:
        """Publish everything planned in one transaction of refs; return the commit of each ref."""
        kb = self.kb
        repository = kb.repository
        moves: list[Move] = []
        now = {path: after for path, (_, after) in self.changes.items()}
        tip = self.head.oid
        if now:
            with kb.state.stage() as stage:
                tip = repository.build(tip, now, self._message(candidate, subject, operation), stage=stage)
            moves.append(Move(self.head.ref, tip, self.head.oid))
        for review in self.reviews:
            moves.append(review.built(self, tip))
        if self.inbox:
            for name in [name for name, data in self.inbox.items() if data is None]:
                kb.index.hold(name, None)
            moves.append(inbox.move(kb, self.inbox))
        if not moves:
            return {}
        reserved = checkout.staged(
            repository, [path for path, (before, _) in self.changes.items() if before is not None]
        )
        if now:
            kb.state.save({"old": self.head.oid, "new": tip, "paths": list(now)}, "follow.json")
        repository.publish(moves, f"kb: {self.subjects[0] if self.subjects else 'inbox'}")
        if now:
            checkout.follow(repository, self.changes, tip, reserved)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(kb.state.path("follow.json"))
        kb.index.settle(
            [
                path
                for path in now
                if path.startswith(f"{CONTENT}/") and "/sessions/" not in path and path.endswith(".md")
            ]
        )
        if self.inbox:
            kb.index.set_note("inbox", moves[-1].new)
        return {move.ref: move.new for move in moves}

    def _message(self, candidate: Candidate | None, subject: str, operation: str) -> str:
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
        return message(first, body, trailers)


_VERBS = {
    "created": "Add", "updated": "Update", "appended": "Add to", "superseded": "Mark superseded", "imported": "Import",
    "confirmed": "Confirm", "status": "Change status of", "edited": "Edit",
}  # fmt: skip


def _with_commit(verdict: Verdict, commits: Mapping[str, str]) -> Verdict:
    if verdict.verdict in ("unchanged", "refused"):
        return verdict
    ref = INBOX if verdict.verdict == "held" else f"refs/heads/{verdict.branch}" if verdict.branch else ""
    branches = [oid for name, oid in commits.items() if name == ref or (not ref and name.startswith("refs/heads/"))]
    return verdict._replace(commit=branches[0] if branches else "")


def _joined(candidate: Candidate, earlier: Candidate) -> Candidate:
    """Return *candidate* with what an *earlier* sighting of it knew and it does not say."""
    empty = {key: value for key, value in earlier._asdict().items() if value and not getattr(candidate, key)}
    return candidate._replace(**{**empty, "evidence": tuple(dict.fromkeys((*earlier.evidence, *candidate.evidence)))})


def finish_following(kb: "KnowledgeBase") -> None:
    """Let the checkout follow a commit that was published by a process that ended before it could."""
    intent = kb.state.load("follow.json")
    if not isinstance(intent, dict):
        return
    repository = kb.repository
    if repository.head().oid == intent.get("new"):
        old, new = str(intent["old"]), str(intent["new"])
        pairs = {p: (repository.blob(old, p) if old else None, repository.blob(new, p)) for p in intent["paths"]}
        checkout.follow(
            repository, {p: (before, now) for p, (before, now) in pairs.items() if now is not None}, new, set()
        )
    with contextlib.suppress(FileNotFoundError):
        os.unlink(kb.state.path("follow.json"))
