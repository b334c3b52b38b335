"""One change of the knowledge base: what a call plans under the lock, and the one commit that makes it so."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.errors import Busy, IndexFailed, KbError, NeedsPerson
from kb.files import read_if_exists
from kb.git import dropped_records, worktree
from kb.git.repository import NOBODY, CommitStep, LostRace, RefMove, format_commit_message
from kb.i18n import Message, msg
from kb.index import index_sync, record_ids
from kb.records import record_file
from kb.records.front_matter import decode_record, edit_front_matter
from kb.records.kinds import BY_NAME, status_name
from kb.records.model import GLOBAL, Candidate, Record, SimilarRecord, Status, Verdict
from kb.records.record_paths import PROJECT_FILE, folder_for_scope, generate_ulid, is_record_path
from kb.similarity import merge_candidate
from kb.similarity.verdict import build_sections, derive_status
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.project import load_claims, parse_owners
from kb.text.segment import slugify
from kb.writing import group_commit, inbox
from kb.writing.publish import (
    catch_up_checkout,
    clear_followed,
    publish_moves,
    recommit_undone,
    rescue_lost_work,
    wait_for_git,
)

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

    from kb.workspace import Workspace
    from kb.writing.reviews import ReviewPlan

_RACES = 50
_OPEN_RACES = 5
"""Races that are run against git before its lock is taken for the whole plan."""
_LONGEST_HOLD = 2.0
"""Seconds: a plan that took longer is not made with git's lock held."""
NOT_BY_A_PROGRAM = msg("it takes an accepted record out of force, and that is for a person to decide")


class _Savepoint(NamedTuple):
    """How much is planned at one moment."""

    changes: Mapping[str, tuple[bytes | None, bytes]]
    subjects: int
    uids: int
    operations: int


class Transaction:
    """What one call plans, and the commits that make it so; `write.candidates` decides what becomes of candidates."""

    def __init__(
        self, kb: Workspace, scope: str, folder: str, *, promoted: str = "", by_person: bool = False,
        job: str = "", decided: bool = False
    ) -> None:  # fmt: skip
        """Prepare to write for a caller who works in *folder*, to which *scope* belongs ("": to be found out).

        *promoted* names what a person takes out of the inbox: it needs no further ground. *by_person*: a person has
        said of these very words that they hold, so the record is accepted whatever sections it lacks. *job* names the
        spooled job that this lands. *decided*: a person has decided what this takes out of force; elsewhere that goes
        to a review.
        """
        self.promoted = promoted
        self.job = job
        self.by_person = by_person
        self.decided = decided
        self.kb = kb
        self.scope = scope
        self.folder = folder
        self.took = 0.0
        """Seconds that the last try took once the lock was there."""
        self.reset_plan()

    def reset_plan(self) -> None:
        """Drop everything planned."""
        self.is_published = False
        self.outcomes: Mapping[str, str] = {}
        self.changes: dict[str, tuple[bytes | None, bytes]] = {}
        self.subjects: list[str] = []
        self.uids: list[str] = []
        self.reviews: list[ReviewPlan] = []
        self.inbox: dict[str, bytes | None] = {}
        self.operations: list[str] = []
        self.steps: list[CommitStep] = []
        self.commits: list[str] = []

    def run_with_retries(
        self, plan: Callable[[], T], publish: Callable[[T], T] | None, given_up: Callable[[], bool] | None = None
    ) -> T:
        """Plan and publish in one transaction, again on the new tip when a race is lost; None publishes nothing.

        A trouble after the refs have moved is not told: it is published, and what was planned is returned. Raise
        GivenUp when *given_up*, asked while somebody else holds the lock, says that it is no longer needed. Who
        commits faster than kb can plan would win every race: after a few that are lost, git's lock is taken first.
        """
        for number in range(_RACES):
            self.reset_plan()
            first = number >= _OPEN_RACES and self.took < _LONGEST_HOLD
            try:
                with self.begin_transaction(keep=publish is not None, given_up=given_up, first=first):
                    done = plan()
                    if publish:
                        done = publish(done)
                return done
            except LostRace:
                continue
        raise Busy(msg("other writers kept moving the branch"), hint=msg("try again"))

    @contextlib.contextmanager
    def _measure_time(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.took = time.monotonic() - began

    @contextlib.contextmanager
    def _hold_index_lock(self) -> Iterator[None]:
        """Hold git's lock on the index for all that follows."""
        wait_for_git(self.kb.repository)
        worktree.release_abandoned_lock(self.kb.repository)
        with worktree.lock_index(self.kb.repository):
            yield

    @contextlib.contextmanager
    def begin_transaction(
        self, *, keep: bool = True, given_up: Callable[[], bool] | None = None, first: bool = False
    ) -> Iterator[None]:
        """Hold the lock, the tip to build on and the index that agrees with it; *first*, before it all, git's lock."""
        repository = self.kb.repository
        with (
            repository.hold_lock(given_up),
            self._hold_index_lock() if first else contextlib.nullcontext(),
            self._measure_time(),
        ):
            try:
                has_followed = catch_up_checkout(self.kb)
                dropped_records.put_back(self.kb)  # also in the middle of a merge, which would be concluded without it
                if busy := repository.find_commit_obstacle():
                    raise busy
                rescue_lost_work(self.kb)
                self.head = repository.head()
                knows = index_sync.has_seen_commit(self.kb, self.head.oid)
                self.kb.sync_index(thorough=has_followed or not knows)
                if not knows:
                    self.head = recommit_undone(self.kb, self.head)
                    index_sync.mark_commit_seen(self.kb, self.head.oid)
                record_ids.load_shared_numbers(self.kb)
                inbox.sync_with_ref(self.kb)
                with self.kb.index.batch_changes(keep=keep):
                    yield
                if self.is_published:
                    clear_followed(self.kb)
            except (OSError, IndexFailed) as error:
                if self.is_published:
                    return
                problem = getattr(error, "strerror", None) or str(error)
                trouble = Busy(msg("{path} cannot be written: {problem}", path=self.kb.root, problem=problem))
                self.notify_busy(trouble)
                raise trouble from None
            except Busy as trouble:
                self.notify_busy(trouble)
                raise

    def notify_busy(self, trouble: Busy) -> None:
        """Hear, with the lock still held, that nothing can be written now."""

    def refuse_candidate(self, candidate: Candidate, reasons: Sequence[Message], remedy: Message) -> Verdict:
        """Return the verdict on a candidate that is not kept."""
        return Verdict(
            "refused", candidate.title, candidate.kind, scope=candidate.scope,
            reasons=tuple(map(self.kb.localise, reasons)), next=self.kb.localise(remedy)
        )  # fmt: skip

    def plan_replacement(
        self, candidate: Candidate, record: Record, before: bytes, now: bytes, word: str,
        reasons: Sequence[Message], alike: Sequence[SimilarRecord] = ()
    ) -> Verdict:  # fmt: skip
        """Plan that the file of *record*, *before* in the tip, is *now*.

        Where that touches lines which a person has changed and not committed, it goes to a review branch.
        """
        if self._has_conflict(record.path, before, now):
            from kb.writing.reviews import propose_text

            why = msg("{path} has changes on the same lines that are not committed", path=record.path)
            return propose_text(self, record, now, candidate, [why, *reasons])
        self.plan_change(record.path, before, now, word, record)
        return self.build_verdict(word, self.reindex_record(record.path), reasons, alike)

    def _has_conflict(self, path: str, before: bytes, now: bytes) -> bool:
        tip = self.changes[path][0] if path in self.changes else before
        return tip is not None and worktree.has_conflicting_edits(self.kb.repository, self.head.oid, path, tip, now)

    def build_record(self, candidate: Candidate) -> Record:
        """Return the record *candidate* becomes, with a fresh id and uid."""
        kind = BY_NAME[candidate.kind]
        record_id = self.kb.index.next_id(candidate.scope, kind.prefix)
        origin = merge_candidate.format_source(candidate)
        record = Record(
            record_id,
            kind.name,
            candidate.title,
            candidate.scope,
            uid=generate_ulid(self.kb.now()),
            date=self.kb.today(),
            tags=candidate.tags,
            impact=candidate.impact,
            supersedes=candidate.supersedes,
            amends=candidate.amends,
            coexists_with=candidate.coexists_with,
            claims=candidate.claims,
            sources=(origin,) if origin else (),
            sections=build_sections(candidate),
            path=f"{folder_for_scope(candidate.scope, kind.folder)}/{record_id}-{slugify(candidate.title)}.md",
        )
        if self.by_person:
            return record._replace(status=Status.ACCEPTED, confirmed=record.date)
        return record._replace(status=derive_status(record))

    def add_record(self, record: Record, operation: str = "created") -> None:
        """Plan the file of a new *record*."""
        language = self.kb.config.language
        self.plan_change(record.path, None, record_file.render_and_verify(record, language), operation, record)
        self.kb.index.put_record(record_file.normalise_record(record, language))
        plan_mark(self, record.scope)

    def plan_change(self, path: str, before: bytes | None, now: bytes, operation: str, record: Record) -> None:
        """Plan that the file *path*, *before* in the tip, is *now*."""
        first = self.changes[path][0] if path in self.changes else before
        self.changes[path] = (first, now)
        self.operations.append(operation)
        self.uids.append(record.uid)
        self.subjects.append(f"{_VERBS.get(operation, operation)} [{record.id}] {record.title}")

    def plan_front_edit(self, record: Record, front: Mapping[str, object], operation: str) -> Record:
        """Plan new values in the front of *record* and return it as it will be."""
        before = self.read_planned(record.path)
        if before is None:
            raise KbError(
                msg("{path} is not committed yet", path=record.path),
                hint=msg("commit it: git add {path}", path=record.path),
            )
        if len(record.sources) > merge_candidate.SOURCES:  # written before there was a limit, and nearly full with them
            front = {"sources": merge_candidate.add_source(record.sources), **front}
        self.plan_text_change(record, before, apply_front_edit(record, before, front), operation)
        return self.reindex_record(record.path)

    def plan_text_change(self, record: Record, before: bytes | None, now: bytes, operation: str) -> None:
        """Plan what a person has asked for; raise NeedsPerson where they have uncommitted edits of the same lines."""
        if before is not None and self._has_conflict(record.path, before, now):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=record.path),
                hint=msg("commit them first: git commit {path}", path=record.path),
            )
        self.plan_change(record.path, before, now, operation, record)

    def plan_file(self, path: str, before: bytes | None, now: bytes) -> None:
        """Plan that *path*, which is no record, is *now*; raise NeedsPerson where uncommitted edits are in the way.

        A file that nobody has committed yet is in the way as well: it would stay as it is, and nothing would come of
        what is planned.
        """
        mine = read_if_exists(os.path.join(self.kb.root, *path.split("/")))
        is_new = before is None and mine is not None and mine != now
        if is_new or (before is not None and self._has_conflict(path, before, now)):
            raise NeedsPerson(
                msg("{path} has changes that are not committed", path=path),
                hint=msg("commit them first: git add {path} && git commit {path}", path=path),
            )
        self.changes[path] = (before, now)

    def drop_changes(self) -> None:
        """Drop the planned changes of files, in the index too."""
        paths = list(self.changes)
        self.changes, self.subjects, self.uids, self.operations = {}, [], [], []
        self.kb.index.reload_files(path for path in paths if is_record_path(path))

    def create_savepoint(self) -> _Savepoint:
        """Return how much is planned by now."""
        return _Savepoint(dict(self.changes), len(self.subjects), len(self.uids), len(self.operations))

    def roll_back(self, mark: _Savepoint) -> None:
        """Drop what was planned since *mark*, in the index too."""
        since = [path for path, planned in self.changes.items() if mark.changes.get(path) != planned]
        self.changes = dict(mark.changes)
        del self.subjects[mark.subjects :], self.uids[mark.uids :], self.operations[mark.operations :]
        for path in filter(is_record_path, since):
            if path in self.changes:
                self.reindex_record(path)
            else:
                self.kb.index.reload_files([path])

    def read_planned(self, path: str) -> bytes | None:
        """Return the file *path* as the next commit has it so far."""
        if path in self.changes:
            return self.changes[path][1]
        return self.kb.repository.read_blob(self.head.oid, path) if self.head.oid else None

    def reindex_record(self, path: str) -> Record:
        """Tell the index of a planned file and return its record."""
        record = record_file.read(self.changes[path][1], path)
        self.kb.index.put_record(record)
        return record

    def build_verdict(
        self,
        word: str,
        record: Record,
        reasons: Sequence[Message],
        alike: Sequence[SimilarRecord] = (),
        remedy: Message | None = None,
        branch: str = "",
    ) -> Verdict:
        """Return the verdict *word* on what became *record*."""
        return Verdict(
            word, record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status),
            tuple(map(self.kb.localise, reasons)), self.kb.localise(remedy) if remedy else "", tuple(alike), branch
        )  # fmt: skip

    def publish(
        self, candidate: Candidate | None, subject: str = "", operation: str = "", why: str = "",
        note: Callable[[Mapping[str, str]], None] | None = None
    ) -> dict[str, str]:  # fmt: skip
        """Publish everything planned in one transaction of refs; return the commit of each ref.

        *note* is told of them before the refs move, and in any case.
        """
        note = note or self.note_jobs
        self.add_step(candidate, subject, operation, why)
        if not self.steps and not self.reviews and not self.inbox:
            note({})
            return {}
        reason = f"kb: {self.steps[0].message.partition(chr(10))[0] if self.steps else 'inbox'}"
        mover = self.kb.repository.start_ref_update(reason)
        try:
            moves = self._build_moves()
            commits = {move.ref: move.new for move in moves}
            note(commits)
            self.outcomes = publish_moves(self.kb, self.head, moves, self.changes, reason, mover)
        finally:
            mover.wait_for_output()
        self.is_published = True
        if self.inbox:
            self.kb.index.set_note("inbox", moves[-1].new)
        return commits

    def note_jobs(self, commits: Mapping[str, str], jobs: Sequence[str] = ()) -> None:
        """Note that this job, and those of others, are about to be published as *commits*."""
        named = dict.fromkeys(filter(None, (self.job, *jobs)))
        group_commit.note_commits(self.kb, list(named), [new for new in commits.values() if new] or [self.head.oid])

    def add_step(
        self, candidate: Candidate | None, subject: str = "", operation: str = "", why: str = "",
        by: Mapping[str, str] = NOBODY
    ) -> None:  # fmt: skip
        """Let what was planned since the last step be a commit of its own, *by* its own author."""
        done = {path: data for step in self.steps for path, data in step.changes.items()}
        new = {path: now for path, (_, now) in self.changes.items() if done.get(path) != now}
        if new:
            self.steps.append(CommitStep(new, self._build_message(candidate, subject, operation, why), by))
        self.subjects, self.uids, self.operations = [], [], []

    def _build_moves(self) -> list[RefMove]:
        """Build the commits of everything planned."""
        kb, tip = self.kb, self.head.oid
        moves: list[RefMove] = []
        if self.steps:
            with kb.state.open_stage() as stage:
                self.commits = kb.repository.build_commits(tip, self.steps, stage=stage)
            tip = self.commits[-1]
            moves.append(RefMove(self.head.ref, tip, self.head.oid))
        moves += [review.build_branch_move(kb, tip) for review in self.reviews]
        if self.inbox:
            for name in [name for name, data in self.inbox.items() if data is None]:
                kb.index.save_held_entry(name, None)
            moves.append(inbox.build_move(kb, self.inbox))
        return moves

    def _build_message(self, candidate: Candidate | None, subject: str, operation: str, why: str) -> str:
        first = subject or (self.subjects[0] if self.subjects else "Write")
        if not subject and len(self.subjects) > 1:
            first = f"Write {len(self.subjects)} records"
        body = "\n".join(f"- {line}" for line in self.subjects[:200]) if len(self.subjects) > 1 else ""
        trailers = {
            "Kb-Op": operation or ",".join(dict.fromkeys(self.operations)) or "archived",
            "Kb-Session": candidate.session if candidate else "",
            "Kb-Host": candidate.host if candidate else "",
            "Kb-Uid": ",".join(dict.fromkeys(uid for uid in self.uids[:50] if uid)),
        }
        return format_commit_message(first, "\n\n".join(part for part in (why, body) if part), trailers)


def describe_status_change(old: Record, new: Record) -> Message:
    """Say which status a record had and has."""
    return msg(
        "[{id}] {title}: {old} → {new}",
        id=old.scoped_id,
        title=old.title,
        old=status_name(old.status),
        new=status_name(new.status),
    )


def describe_unreplaced(old: Record) -> Message:
    """Say that what is only proposed does not replace *old* yet."""
    return msg("[{id}] {title} stays as it is until this is accepted", id=old.scoped_id, title=old.title)


def apply_front_edit(record: Record, before: bytes, front: Mapping[str, object]) -> bytes:
    """Return the file of *record*, *before* in the tip, with new values in its front; raise BadRecord."""
    old = decode_record(before, record.path)
    new = edit_front_matter(old, front)
    record_file.verify_edit(old, new, front, record.path)
    return new.encode()


_VERBS = {
    "created": "Add", "updated": "Update", "appended": "Add to", "superseded": "Mark superseded", "imported": "Import",
    "confirmed": "Confirm", "status": "Change status of", "edited": "Edit"
}  # fmt: skip


def plan_mark(writing: Transaction, scope: str) -> None:
    """Plan the file that says whose the project of *scope* is, where that is not said yet."""
    kb = writing.kb
    if scope == GLOBAL:
        return
    path = f"content/anchors/projects/{scope.removeprefix('project/')}/{PROJECT_FILE}"
    owners = parse_owners(read_if_exists(os.path.join(kb.root, path)))
    claim = load_claims(kb).get(scope.removeprefix("project/"))
    own = [claim] if claim is not None else []
    if path not in writing.changes and (owners is None or (own and not owners)):
        before = writing.read_planned(path)
        if not parse_owners(before):
            writing.changes[path] = (before, json.dumps({"identity": own}, indent=1).encode() + b"\n")
