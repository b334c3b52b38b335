"""Plan changes under the lock and publish them as commits."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.errors import Busy, IndexFailed, KbError, NeedsPerson
from kb.files import read_if_exists
from kb.git import dropped_records, worktree
from kb.git.commit_message import format_commit_message, format_record_subject
from kb.git.repository import NOBODY, CommitStep, LostRace, RefMove
from kb.i18n import Message, msg
from kb.index import index_sync, record_ids
from kb.records import record_file
from kb.records.blocks import refuse_leftover_marker
from kb.records.front_matter import decode_record, edit_front_matter
from kb.records.kinds import BY_NAME, PROJECT_FILE, describe_status_change, folder_for_scope, generate_ulid
from kb.records.model import Candidate, Record, SimilarRecord, Status, Verdict
from kb.similarity import merge_candidate
from kb.similarity.merge_candidate import build_fields, build_sections, derive_status
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.project import load_claims, parse_owners
from kb.text.segment import slugify
from kb.writing import inbox
from kb.writing.group_commit import answer_all_busy, note_commits
from kb.writing.publish import (
    catch_up_checkout,
    clear_followed,
    publish_moves,
    recommit_undone,
    rescue_lost_work,
    wait_for_git,
)

if TYPE_CHECKING:
    from types import TracebackType

    from kb.git.git_process import BackgroundCommand
    from kb.workspace import Workspace
    from kb.writing.reviews import ReviewPlan

_MAX_ATTEMPTS = 50
_UNLOCKED_ATTEMPTS = 5
"""Lost races against git before its lock is held during planning."""
_MAX_PLAN_SECONDS = 2.0  # seconds; a plan that took longer is not made while holding git's lock
NOT_BY_A_PROGRAM = msg("it would replace an accepted record, and only a person may decide that")


def transactions(
    kb: Workspace, *, dry_run: bool = False, should_cancel: Callable[[], bool] | None = None, notify_queue: bool = False
) -> Iterator[Transaction]:
    """Yield a transaction that holds the lock, and another one on the new tip as long as a race is lost.

        for transaction in transactions(kb):
            with transaction:
                verdict = …
                transaction.commit(…)
        return verdict

    A *dry_run* leaves the index unchanged. Raise LockWaitCancelled if *should_cancel*, called while another process
    holds the lock, returns true, and Busy if nothing can be written now; with *notify_queue*, the writers in the queue
    get that error too. A program that commits faster than kb can plan would win every race: after a few lost races,
    git's own lock is taken first.
    """
    took = 0.0
    for number in range(_MAX_ATTEMPTS):
        transaction = Transaction(kb, dry_run=dry_run, notify_queue=notify_queue)
        transaction.begin(should_cancel, git_first=number >= _UNLOCKED_ATTEMPTS and took < _MAX_PLAN_SECONDS)
        if not transaction.is_lost:
            yield transaction
        if not transaction.is_lost:
            return
        took = transaction.took
    raise Busy(msg("other writers kept moving the branch"), hint=msg("try again"))


class PlannedChange(NamedTuple):
    """One change of a record, for the commit message."""

    operation: str
    subject: str
    uid: str


class Savepoint(NamedTuple):
    """The extent of a plan at one moment, to roll back to."""

    changes: Mapping[str, tuple[bytes | None, bytes]]
    log: Sequence[PlannedChange]


_EMPTY_SAVEPOINT = Savepoint({}, ())


class Transaction:
    """A plan of changes on one tip; `transactions` begins it, and leaving its `with` block ends it."""

    def __init__(self, kb: Workspace, *, dry_run: bool, notify_queue: bool) -> None:
        """Plan nothing yet."""
        self.kb = kb
        self.dry_run = dry_run
        self.is_lost = False
        """Whether another process moved the branch first, so that everything has to be planned again."""
        self.is_published = False
        self.took = 0.0
        """Seconds from getting the lock to the end."""
        self.outcomes: Mapping[str, str] = {}
        """How the checkout took each published file."""
        self.changes: dict[str, tuple[bytes | None, bytes]] = {}
        """Path → the file in the tip, and the planned file."""
        self.reviews: list[ReviewPlan] = []
        self.inbox: dict[str, bytes | None] = {}
        """Name of a file in the inbox → its planned contents, or None to delete it."""
        self.steps: list[CommitStep] = []
        self.step_commits: list[str] = []
        self._log: list[PlannedChange] = []
        """The changes planned since the last step."""
        self._moves: list[RefMove] = []
        self._mover: BackgroundCommand | None = None
        self._reason = ""
        self._notify_queue = notify_queue
        self._resources = contextlib.ExitStack()

    # begin and end

    def begin(self, should_cancel: Callable[[], bool] | None, *, git_first: bool) -> None:
        """Take the lock, read the tip and bring the index up to it; mark the transaction lost if git moves the tip.

        *git_first*: hold git's lock on its index from the start.
        """
        try:
            self._resources.enter_context(self._hold(should_cancel, git_first=git_first))
        except LostRace:
            self.is_lost = True

    def __enter__(self) -> None:
        """Do nothing: `transactions` has begun the transaction, or yields none."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        is_handled = bool(self._resources.__exit__(kind, error, trace))
        self.is_lost = isinstance(error, LostRace)
        return is_handled or self.is_lost

    @contextlib.contextmanager
    def _hold(self, should_cancel: Callable[[], bool] | None, *, git_first: bool) -> Iterator[None]:
        kb = self.kb
        with kb.repository.hold_lock(should_cancel), contextlib.ExitStack() as stack:
            if git_first:
                wait_for_git(kb.repository)
                worktree.release_abandoned_lock(kb.repository)
                stack.enter_context(worktree.lock_index(kb.repository))
            began = time.monotonic()
            try:
                self._prepare()
                with kb.index.batch_changes(keep=not self.dry_run):
                    yield
                if self.is_published:
                    clear_followed(kb)
            except (Busy, OSError, IndexFailed) as error:
                if isinstance(error, Busy):
                    busy = error
                elif self.is_published:
                    return  # the refs have moved, so it is written; the next call finishes the rest
                else:
                    problem = getattr(error, "strerror", None) or str(error)
                    busy = Busy(msg("{path} cannot be written: {problem}", path=kb.root, problem=problem))
                if self._notify_queue:  # while the lock is still held, spare the queued writers the same attempt
                    answer_all_busy(kb, busy)
                raise busy from None
            finally:
                self.took = time.monotonic() - began

    def _prepare(self) -> None:
        """Recover from interrupted writers, read the tip, refresh the index."""
        kb = self.kb
        checkout_was_updated = catch_up_checkout(kb)
        dropped_records.put_back(kb)  # also during a merge, which would otherwise be concluded without it
        if busy := kb.repository.find_commit_obstacle():
            raise busy
        rescue_lost_work(kb)
        self.head = kb.repository.head()
        is_known = index_sync.has_seen_commit(kb, self.head.oid)
        kb.sync_index(thorough=checkout_was_updated or not is_known)
        if not is_known:
            self.head = recommit_undone(kb, self.head)
            index_sync.mark_commit_seen(kb, self.head.oid)
        record_ids.load_shared_numbers(kb)
        inbox.sync_with_ref(kb)

    # plan

    def read_planned(self, path: str) -> bytes | None:
        """Return the file *path* as planned so far for the next commit."""
        if path in self.changes:
            return self.changes[path][1]
        return self.kb.repository.read_blob(self.head.oid, path) if self.head.oid else None

    def has_conflict(self, path: str, before: bytes, now: bytes) -> bool:
        """Return whether a person has uncommitted edits on lines that change from *before* to *now*."""
        tip = self.changes[path][0] if path in self.changes else before
        return tip is not None and worktree.has_conflicting_edits(self.kb.repository, self.head.oid, path, tip, now)

    @property
    def has_planned_records(self) -> bool:
        """Whether a record was planned since the last step."""
        return bool(self._log)

    def plan_change(self, path: str, before: bytes | None, now: bytes, operation: str, record: Record) -> None:
        """Plan to change the file *path* from *before* to *now*; raise BadRecord for a leftover conflict marker."""
        refuse_leftover_marker(now.decode("utf-8", "replace"), path)
        first = self.changes[path][0] if path in self.changes else before
        self.changes[path] = (first, now)
        subject = format_record_subject(operation, record.id, record.title)
        self._log.append(PlannedChange(operation, subject, record.uid))

    def plan_text_change(self, record: Record, before: bytes | None, now: bytes, operation: str) -> None:
        """Plan a change a person asked for; raise NeedsPerson if the same lines have uncommitted edits."""
        if before is not None and self.has_conflict(record.path, before, now):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=record.path),
                hint=msg("commit them first: git commit {path}", path=record.path),
            )
        self.plan_change(record.path, before, now, operation, record)

    def plan_front_edit(self, record: Record, front: Mapping[str, object], operation: str) -> Record:
        """Plan new front matter values for *record* and return the changed record."""
        before = self.read_planned(record.path)
        if before is None:
            hint = msg("commit it: git add {path}", path=record.path)
            raise KbError(msg("{path} is not committed yet", path=record.path), hint=hint)
        if len(record.sources) > merge_candidate.SOURCES:  # written before there was a limit on sources
            front = {"sources": merge_candidate.add_source(record.sources), **front}
        self.plan_text_change(record, before, self.edit_front(record, before, front), operation)
        return self.reindex_record(record.path)

    def edit_front(
        self, record: Record, before: bytes, front: Mapping[str, object], by: Sequence[Record] = ()
    ) -> bytes:
        """Return the file *before* of *record* with new front matter values; *by*: the records that supersede it."""
        if folder := self.kb.files.find_folder(record.path):
            from kb.writing.adopt_folder import edit_record

            return edit_record(self, record, before, front, folder, by)
        old = decode_record(before, record.path)
        new = edit_front_matter(old, front)
        record_file.verify_edit(old, new, front, record.path)
        return new.encode()

    def plan_superseded(self, old: Record) -> Message:
        """Plan to mark *old* as superseded and return a message on it."""
        new = self.plan_front_edit(old, {"status": str(Status.SUPERSEDED)}, "superseded")
        return describe_status_change(old, new)

    def can_supersede(self, old: Record) -> bool:
        """Return whether *old* is committed and nobody is editing its status."""
        before = self.read_planned(old.path)
        if before is None:
            return False
        return not self.has_conflict(old.path, before, self.edit_front(old, before, {"status": str(Status.SUPERSEDED)}))

    def plan_replacement(
        self,
        candidate: Candidate,
        record: Record,
        before: bytes,
        now: bytes,
        verdict: str,
        reasons: Sequence[Message],
        alike: Sequence[SimilarRecord] = (),
    ) -> Verdict:
        """Plan to change the file of *record* from *before* to *now*.

        If that touches lines with uncommitted edits, it goes to a review branch.
        """
        if self.has_conflict(record.path, before, now):
            from kb.writing.reviews import propose_text

            why = msg("{path} has changes on the same lines that are not committed", path=record.path)
            return propose_text(self, record, now, candidate, [why, *reasons])
        self.plan_change(record.path, before, now, verdict, record)
        return self.build_verdict(verdict, self.reindex_record(record.path), reasons, alike)

    def build_record(self, candidate: Candidate, *, by_person: bool = False) -> Record:
        """Return the record *candidate* becomes, with a fresh id and uid.

        *by_person*: a person has confirmed this exact wording, so it is accepted even if sections are missing.
        """
        kind = BY_NAME[candidate.kind]
        record_id = self.kb.index.next_id(candidate.scope, kind.prefix)
        shared = ("title", "scope", "tags", "impact", "supersedes", "amends", "coexists_with", "claims")
        origin = merge_candidate.format_source(candidate)
        record = Record(
            record_id,
            kind.name,
            **{name: getattr(candidate, name) for name in shared},
            uid=generate_ulid(self.kb.now()),
            date=self.kb.today(),
            sources=(origin,) if origin else (),
            sections=build_sections(candidate),
            extra=build_fields(candidate),
            path=f"{folder_for_scope(candidate.scope, kind.folder)}/{record_id}-{slugify(candidate.title)}.md",
        )
        if folder := self.kb.files.find_home(record.scope) if kind.name == "decision" else None:
            from kb.writing.adopt_folder import place_record

            record = place_record(self, record, folder)
        if by_person:
            return record._replace(status=Status.ACCEPTED, confirmed=record.date)
        # an answer explored by a program stays proposed until a person confirms it, however complete it is
        is_explored = kind.name == "learning" and bool(candidate.cost)
        return record._replace(status=Status.PROPOSED if is_explored else derive_status(record))

    def add_record(self, record: Record, operation: str = "created", *, data: bytes = b"") -> None:
        """Plan the file of a new *record* (*data*, if given), and the ownership mark of its project folder."""
        language = self.kb.config.language
        planned = data or self.render_file(record)
        if self.kb.files.find_folder(record.path):
            data, record = planned, self.kb.files.read(planned, record.path)
        self.plan_change(record.path, None, planned, operation, record)
        self.kb.index.put_record(record if data else record_file.normalise_record(record, language))
        # the mark names the owner of a project folder; a record in an adopted folder needs none
        if not record.scope.startswith("project/") or self.kb.files.find_folder(record.path):
            return
        name = record.scope.removeprefix("project/")
        path = f"content/anchors/projects/{name}/{PROJECT_FILE}"
        owners = parse_owners(read_if_exists(os.path.join(self.kb.root, path)))
        claim = load_claims(self.kb).get(name)
        own = [claim] if claim is not None else []
        if path not in self.changes and (owners is None or (own and not owners)):
            before = self.read_planned(path)
            if not parse_owners(before):
                self.changes[path] = (before, json.dumps({"identity": own}, indent=1).encode() + b"\n")

    def render_file(self, record: Record) -> bytes:
        """Return the file of a new *record*, after parsing it again; raise BadRecord if kb cannot read it back."""
        if folder := self.kb.files.find_folder(record.path):
            from kb.writing.adopt_folder import render_record

            return render_record(self, record, folder)
        return record_file.render_and_verify(record, self.kb.config.language)

    def reindex_record(self, path: str) -> Record:
        """Put the planned file of *record_path* into the index and return its record."""
        record = self.kb.files.read(self.changes[path][1], path)
        self.kb.index.put_record(record)
        return next((one for one in self.kb.index.list_adopted() if one.path == path), record)

    def create_savepoint(self) -> Savepoint:
        """Return a savepoint of the present plan."""
        return Savepoint(dict(self.changes), tuple(self._log))

    def roll_back(self, mark: Savepoint = _EMPTY_SAVEPOINT) -> None:
        """Drop everything planned since *mark*, by default the whole plan, in the index too."""
        since = [path for path, planned in self.changes.items() if mark.changes.get(path) != planned]
        self.changes, self._log = dict(mark.changes), list(mark.log)
        records = list(filter(self.kb.files.is_record_path, since))
        self.kb.index.reload_files([path for path in records if path not in self.changes])
        for path in self.changes.keys() & {*records}:
            self.reindex_record(path)

    # verdicts

    def refuse_candidate(self, candidate: Candidate, reasons: Sequence[Message], remedy: Message) -> Verdict:
        """Return the verdict that refuses a candidate."""
        shown = tuple(map(self.kb.localise, reasons))
        title, kind, scope = candidate.title, candidate.kind, candidate.scope
        return Verdict("refused", title, kind, scope=scope, reasons=shown, next=self.kb.localise(remedy))

    def build_verdict(
        self,
        verdict: str,
        record: Record,
        reasons: Sequence[Message],
        alike: Sequence[SimilarRecord] = (),
        remedy: Message | None = None,
        branch: str = "",
    ) -> Verdict:
        """Return the verdict on a candidate that is now *record*."""
        own = (record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status))
        shown, following = tuple(map(self.kb.localise, reasons)), self.kb.localise(remedy) if remedy else ""
        return Verdict(verdict, *own, shown, following, tuple(alike), branch)

    # publish

    def commit(self, subject: str, operation: str = "", why: str = "") -> None:
        """Publish everything planned as one commit with *subject* and *operation*, and the reason *why* in its body."""
        self.add_step(None, subject, operation, why)
        self.build_commits()
        self.publish([])

    def add_step(
        self,
        caller: Candidate | None,
        subject: str = "",
        operation: str = "",
        why: str = "",
        by: Mapping[str, str] = NOBODY,
    ) -> None:
        """Make the changes planned since the last step a commit of their own, *by* their own author.

        *caller*: the candidate whose session the commit names.
        """
        done = {path: data for step in self.steps for path, data in step.changes.items()}
        new = {path: now for path, (_, now) in self.changes.items() if done.get(path) != now}
        log, self._log = self._log, []
        if not new:
            return
        # a status and its reason are two edits of one record
        subjects = list(dict.fromkeys(one.subject for one in log[:200]))
        body = "\n".join(f"- {each}" for each in subjects) if len(log) > 1 else ""
        own = f"Write {len(log)} records" if body else log[0].subject if log else "Write"
        trailers = {
            "Kb-Op": operation or ",".join(dict.fromkeys(one.operation for one in log)) or "archived",
            "Kb-Session": caller.session if caller else "",
            "Kb-Host": caller.host if caller else "",
            "Kb-Uid": ",".join(dict.fromkeys(one.uid for one in log[:50] if one.uid)),
        }
        message = format_commit_message(subject or own, "\n\n".join(filter(None, (why, body))), trailers)
        self.steps.append(CommitStep(new, message, by))

    def build_commits(self) -> dict[str, str]:
        """Build the commits of everything planned and return the commit of each ref; nothing is visible yet."""
        if not (self.steps or self.reviews or self.inbox):
            return {}
        kb, tip = self.kb, self.head.oid
        self._reason = f"kb: {self.steps[0].message.partition(chr(10))[0] if self.steps else 'inbox'}"
        self._mover = kb.repository.start_ref_update(self._reason)
        self._resources.callback(self._mover.wait_for_output)
        if self.steps:
            with kb.state.open_stage() as stage:
                self.step_commits = kb.repository.build_commits(tip, self.steps, stage=stage)
            tip = self.step_commits[-1]
            self._moves.append(RefMove(self.head.ref, tip, self.head.oid))
        self._moves += [review.build_branch_move(kb, tip) for review in self.reviews]
        if self.inbox:
            for name in [name for name, data in self.inbox.items() if data is None]:
                kb.index.save_held_entry(name, None)
            self._moves.append(inbox.build_move(kb, self.inbox))
        return {move.ref: move.new for move in self._moves}

    def publish(self, jobs: Sequence[str]) -> None:
        """Move the refs to the commits from `build_commits`; raise LostRace if one of them has moved meanwhile.

        Before that, save which commits contain the *jobs*; if nothing was built, that is the present tip.
        """
        kb = self.kb
        commits = [move.new for move in self._moves if move.new] or [self.head.oid]
        note_commits(kb, list(dict.fromkeys(filter(None, jobs))), commits)
        if not self._moves:
            return
        self.outcomes = publish_moves(kb, self.head, self._moves, self.changes, self._reason, self._mover)
        self.is_published = True
        if self.inbox:
            kb.index.set_note("inbox", self._moves[-1].new)
