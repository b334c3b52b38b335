"""Review branches (see also `kb.sync.decide_review`): merging one accepts its record, deleting rejects it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, NeedsPerson, UnknownId
from kb.git.commit_message import format_commit_message, parse_trailers
from kb.git.repository import RefMove, find_free_name
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.merge.merge_record import merge_record
from kb.records.front_matter import decode_record
from kb.records.kinds import REJECTED, REVIEWS, join_section_labels
from kb.records.model import GLOBAL, Candidate, Record, SimilarRecord, Status, Verdict, parse_scope_name
from kb.similarity import merge_candidate
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import compute_similarity, is_equivalent_title
from kb.similarity.merge_candidate import find_missing_sections
from kb.text.segment import slugify
from kb.writing.gate import OVERTURNS
from kb.writing.inbox import hold_uncommitted

if TYPE_CHECKING:
    from kb.workspace import Workspace
    from kb.writing.pipeline import AdmittedCandidate
    from kb.writing.transaction import Transaction

_STEM = REVIEWS.removeprefix("refs/heads/")
ALIKE = 0.5
"""Title similarity (0.0–1.0) above which two candidates against the same record, not contrary, are the same."""


class Review(NamedTuple):
    """An open review."""

    branch: str
    """Without `refs/heads/`."""
    tip: str
    path: str
    """The file of the new or changed record."""
    since: str
    """ISO time of its opening."""
    record: Record
    """The new side."""
    against: tuple[str, ...]
    """The ids of the other side, in the new record's scope."""
    host: str
    session: str
    standing: str = ""
    """Why it cannot be accepted yet, for people; "" if it can, or if this was not checked."""


class ReviewSides(NamedTuple):
    """A review with the records of both sides."""

    review: Review
    old: tuple[Record, ...]
    diff: str
    reasons: str


class Rejection(NamedTuple):
    """A review that a person has rejected; by whom, when and why is unknown where its branch was only deleted."""

    review: Review
    by: str
    day: str
    """ISO date, or ""."""
    why: str


@dataclass(eq=False)
class ReviewPlan:
    """A planned commit on a review branch, built once the new tip of its base branch is known."""

    branch: str
    path: str
    record: Record
    against: Sequence[str]
    tip: str = ""
    """The tip of the branch; "" to create it on the new tip of the checked-out branch."""
    since: str = ""
    changes: dict[str, bytes] = field(default_factory=dict)
    message: str = ""

    def build_branch_move(self, kb: Workspace, base: str) -> RefMove:
        """Build the commit and return the move that publishes it."""
        with kb.state.open_stage() as stage:
            commit = kb.repository.build_commit(self.tip or base, self.changes, self.message, stage=stage)
        return RefMove(f"refs/heads/{self.branch}", commit, self.tip)

    def read_record_file(self, kb: Workspace) -> bytes:
        """Return the planned file of the record on the branch."""
        committed = kb.repository.read_blob(self.tip, self.path) if self.tip else None
        return self.changes.get(self.path) or committed or b""


# -- opening --------------------------------------------------------------------------------------


def propose_review(
    transaction: Transaction, admitted: AdmittedCandidate, why: Message, contradicted: Sequence[Record] = ()
) -> Verdict:
    """Open a review of a candidate with the reasons *why*, or add to the open review of the same statement.

    The other side are the *contradicted* records and those it replaces. On the branch the new record is accepted and
    those are superseded; records it only amends stay accepted.
    """
    kb, candidate, alike = transaction.kb, admitted.candidate, admitted.decision.similar
    reasons = [why, *(ground for ground in admitted.grounds if ground.template != OVERTURNS.template)]
    olds = list({old.path: old for old in (*contradicted, *admitted.replaced)}.values())
    against = [*olds, *(record for record in admitted.amended if record not in olds)]

    def is_same_side(ids: Sequence[str], record: Record) -> bool:
        is_about = record.scope == candidate.scope and any(old.id in ids for old in against)
        return is_about and _is_same_statement(candidate, record)

    if rejected := _select_rejected(kb, lambda review: is_same_side(review.against, review.record)):
        return _refuse_rejected(transaction, candidate, rejected, against[0], reasons)._replace(similar=tuple(alike))
    for plan in _iter_plans(transaction):
        if is_same_side(plan.against, plan.record):
            return _add_sighting(transaction, plan, admitted, reasons)
    before = {old.path: transaction.read_planned(old.path) for old in olds}
    if uncommitted := [path for path, data in before.items() if data is None]:
        return hold_uncommitted(transaction, candidate, uncommitted[0], reasons, alike)
    record = transaction.build_record(candidate, by_person=admitted.request.by_person)
    # an adopted folder uses its own headings
    lacking = () if kb.files.find_folder(record.path) else find_missing_sections(record)
    if lacking:
        reasons = [*reasons, msg("not given: {sections}", sections=join_section_labels(lacking, kb.config.language))]
        if kb.config.missing == "refuse":
            return transaction.refuse_candidate(candidate, reasons, msg("add what is missing"))
    supersedes = tuple(dict.fromkeys((*record.supersedes, *(old.id for old in olds))))
    record = record._replace(status=Status.ACCEPTED, supersedes=supersedes)
    names = tuple(dict.fromkeys((*record.supersedes, *record.amends)))
    branch = _choose_free_name(transaction, f"kb/review/{record.id}-{slugify(record.title)}")
    plan = ReviewPlan(branch, record.path, record, names)
    plan.changes[record.path] = transaction.render_file(record)
    for old in olds:
        superseded = {"status": str(Status.SUPERSEDED)}
        plan.changes[old.path] = transaction.edit_front(old, before[old.path] or b"", superseded, [record])
    if kb.files.is_counted(record):
        kb.index.reserve_id(record.scope, record.id)
    ids = "".join(f"[{old.id}]" for old in against)
    subject = f"{'Replace' if olds else 'Amend'} {ids} by [{record.id}] {record.title}"
    _plan_commit(transaction, plan, subject, reasons, candidate)
    # the reason of a contradiction already names the record with its title
    unsaid = [old for old in against if f"[{old.scoped_id}]" not in str(why)]
    named = [msg("[{id}] {title}", id=old.scoped_id, title=old.title) for old in unsaid]
    return _build_open_verdict(transaction, plan, [*named, *reasons], alike)


def propose_changes(
    transaction: Transaction, record: Record, name: str, subject: str, reasons: Sequence[Message]
) -> Verdict:
    """Move the whole plan to the review branch *name*, for a person to decide; the main branch stays unchanged.

    *record*: the changed record to decide on.
    """
    stem = _STEM + name
    if rejected := _select_rejected(transaction.kb, lambda review: _is_numbered_name(REJECTED + name, review.branch)):
        raise NeedsPerson(_describe_refusal(transaction.kb, rejected))
    changes = {path: now for path, (_, now) in transaction.changes.items()}
    transaction.roll_back()
    for known in _iter_plans(transaction):
        if known.branch == stem:
            return _build_open_verdict(transaction, known, reasons)
    plan = ReviewPlan(_choose_free_name(transaction, stem), record.path, record, [record.id], changes=changes)
    _plan_commit(transaction, plan, subject, reasons, Candidate(record.kind, record.title))
    return _build_open_verdict(transaction, plan, reasons)


def propose_text(
    transaction: Transaction, record: Record, text: bytes, candidate: Candidate, reasons: Sequence[Message]
) -> Verdict:
    """Put *text*, a tool's new file for *record*, on a review branch; the person's text stays."""
    kb = transaction.kb

    def is_same_text(review: Review) -> bool:
        return review.path == record.path and kb.repository.read_blob(review.tip, review.path) == text

    if rejected := _select_rejected(kb, is_same_text):
        return _refuse_rejected(transaction, candidate, rejected, record, reasons)
    plan, text = _find_text_plan(transaction, record, text, candidate)
    if plan.read_record_file(kb) != text:
        plan.changes[record.path] = text
        _plan_commit(transaction, plan, f"Update [{record.id}] {record.title}", reasons, candidate)
    return _build_open_verdict(transaction, plan, reasons)


def _find_text_plan(
    transaction: Transaction, record: Record, text: bytes, candidate: Candidate
) -> tuple[ReviewPlan, bytes]:
    """Return the review for *text* and its new file, merged with the review's present file if possible.

    If not, the same session replaces its own proposal; another session gets a new review.
    """
    kb = transaction.kb
    stem = f"kb/review/{record.id}-update"
    if record.scope != GLOBAL:
        stem += "-" + slugify(record.scope.removeprefix("project/"))
    base = transaction.read_planned(record.path) or b""
    for plan in _iter_plans(transaction):
        if plan.path != record.path or not _is_numbered_name(stem, plan.branch):
            continue
        both = merge_record(base, plan.read_record_file(kb), text, path=record.path)
        if not both.conflicts:
            return plan, both.data
        if candidate.session and plan.tip:
            form = "%x01%(trailers:key=Kb-Session,valueonly,separator=%x2C)"
            out = kb.repository.git("log", f"--format={form}", plan.tip, f"^{transaction.head.oid}")
            authors = {row.strip() for row in out.decode("utf-8", "replace").split("\x01")[1:]}  # "" names no session
            if authors == {candidate.session}:
                return plan, text
    return ReviewPlan(_choose_free_name(transaction, stem), record.path, record, [record.id]), text


def _add_sighting(
    transaction: Transaction, plan: ReviewPlan, admitted: AdmittedCandidate, reasons: Sequence[Message]
) -> Verdict:
    """Merge a candidate with the same statement into the review *plan*."""
    kb, candidate = transaction.kb, admitted.candidate
    step = merge_candidate.plan_merge(candidate, plan.record, day=kb.today(), language=kb.config.language)
    if step.verdict != "unchanged":
        old = decode_record(plan.read_record_file(kb), plan.path)
        plan.changes[plan.path] = merge_candidate.apply_merge(old, step, kb.config.language).encode()
        plan.record = kb.files.read(plan.changes[plan.path], plan.path)
        if plan not in transaction.reviews:
            subject = f"Hear again [{plan.record.id}] {plan.record.title}"
            _plan_commit(transaction, plan, subject, reasons, candidate)
    return _build_open_verdict(transaction, plan, reasons, admitted.decision.similar)


def _plan_commit(
    transaction: Transaction, plan: ReviewPlan, subject: str, reasons: Sequence[Message], candidate: Candidate
) -> None:
    """Plan the commit of *plan*; `list_reviews` reads the review from the trailers of its message."""
    trailers = {
        "Kb-Op": "review",
        "Kb-Session": candidate.session,
        "Kb-Host": candidate.host,
        "Kb-Uid": plan.record.uid,
        "Kb-Path": plan.path,
        "Kb-Against": ",".join(plan.against),
        "Kb-Since": plan.since,
    }
    plan.message = format_commit_message(subject, "\n".join(map(transaction.kb.localise, reasons)), trailers)
    if plan not in transaction.reviews:
        transaction.reviews.append(plan)


def _select_rejected(kb: Workspace, is_meant: Callable[[Review], bool]) -> Review | None:
    """Return the rejected review that *is_meant*, or None; its branch is the full ref."""
    return next((review for review in list_reviews(kb, REJECTED) if is_meant(review)), None)


def _describe_refusal(kb: Workspace, rejected: Review) -> Message:
    """Say that *rejected* was decided before: when, by whom and why, and where to read it."""
    how = kb.localise(describe_rejection(load_rejection(kb, rejected)))
    return msg("a person has already rejected this, see {ref} ({how})", ref=rejected.branch, how=how)


def _refuse_rejected(
    transaction: Transaction, candidate: Candidate, rejected: Review, record: Record, reasons: Sequence[Message]
) -> Verdict:
    """Refuse what was *rejected* before, and say what can be done about *record* then."""
    why = _describe_refusal(transaction.kb, rejected)
    remedy = msg("talk to them; then: kb edit {id}", id=record.scoped_id)
    return transaction.refuse_candidate(candidate, [why, *reasons], remedy)


def _is_same_statement(candidate: Candidate, record: Record) -> bool:
    """Return whether *candidate* and *record*, which contradict the same record, make the same statement."""
    if compute_similarity(candidate.title, record.title) <= ALIKE:
        return False
    return is_equivalent_title(candidate.title, record.title) and find_contradiction(candidate, record) is None


def _is_numbered_name(stem: str, branch: str) -> bool:
    """Return whether *branch* is *stem*, or *stem* with a number."""
    rest = branch.removeprefix(stem)
    return branch.startswith(stem) and (not rest or (rest[0] == "-" and rest[1:].isdecimal()))


def _build_open_verdict(
    transaction: Transaction, plan: ReviewPlan, reasons: Sequence[Message], alike: Sequence[SimilarRecord] = ()
) -> Verdict:
    """Return the verdict that the review *plan* is open; if its record exists already, name the branch instead."""
    is_new = transaction.read_planned(plan.path) is None
    name = plan.record.scoped_id if is_new else plan.branch.removeprefix(_STEM)
    remedy = msg("decide it: kb review show {id}", id=name)
    return transaction.build_verdict("conflict", plan.record, reasons, alike, remedy, plan.branch)


def _iter_plans(transaction: Transaction) -> Iterator[ReviewPlan]:
    """Yield the reviews planned by this call, then a plan for every other open review."""
    yield from transaction.reviews
    known = {plan.branch for plan in transaction.reviews}
    for one in list_reviews(transaction.kb):
        if one.branch not in known:
            yield ReviewPlan(one.branch, one.path, one.record, one.against, one.tip, one.since)


def _choose_free_name(transaction: Transaction, stem: str) -> str:
    """Return *stem*, or the first free branch name made of it and a number."""
    planned = {plan.branch for plan in transaction.reviews}
    resolve = transaction.kb.repository.resolve_ref
    return find_free_name(stem, lambda branch: branch in planned or bool(resolve(f"refs/heads/{branch}")))


# -- asking ---------------------------------------------------------------------------------------


def list_reviews(kb: Workspace, under: str = REVIEWS) -> list[Review]:
    """Return the open reviews, oldest first; with *under* REJECTED the rejected ones, each named by its full ref."""
    form = "%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(contents:trailers)%00%01"
    head = kb.repository.head()
    elsewhere = under == REVIEWS and head.oid and not head.ref.startswith(REVIEWS)
    open_only = ["--no-merged=HEAD"] if elsewhere else []  # a merged review is accepted
    listed = kb.repository.git("for-each-ref", f"--format={form}", *open_only, under.rstrip("/"))
    rows = [row.lstrip("\n").split("\0") for row in listed.decode("utf-8", "replace").split("\0\1")[:-1]]
    trailers = [_read_trailers(kb, tip, text) for _, tip, _, text in rows]
    asked = [(row[1], found.get("Kb-Path", "")) for row, found in zip(rows, trailers, strict=True)]
    prefix = "refs/heads/" if under == REVIEWS else ""
    reviews = [
        _build_review(kb, name.removeprefix(prefix), tip, time, found, data)
        for (name, tip, time, _), found, data in zip(rows, trailers, kb.repository.read_blobs(asked), strict=True)
        if "Kb-Path" in found
    ]
    return sorted(reviews, key=lambda review: (review.since, review.branch))


def format_age(review: Review, today: str) -> Message:
    """Return in words how long *review* has been open on the ISO day *today*; a date in the future counts as today."""
    from datetime import date, datetime

    try:
        opened = datetime.fromisoformat(review.since).astimezone().date()
    except (ValueError, OverflowError):
        return msg("{name}", name=review.since)
    days = (date.fromisoformat(today) - opened).days
    return msg("today") if days < 1 else msg("1 day") if days == 1 else msg("{n} days", n=days)


def _read_trailers(kb: Workspace, tip: str, text: str) -> dict[str, str]:
    """Return the trailers in *text*, or, if a person has committed on the branch, those of kb's last commit there."""
    if "Kb-Path: " not in text:
        trailers = kb.repository.git("log", "-1", "--grep=^Kb-Path: ", "--format=%(trailers)", tip)
        text = trailers.decode("utf-8", "replace")
    return parse_trailers(text)


def _build_review(
    kb: Workspace, name: str, tip: str, time: str, trailers: Mapping[str, str], data: bytes | None
) -> Review:
    path = trailers["Kb-Path"]
    try:
        record = kb.files.read(data or b"", path)
    except BadRecord as error:
        stem = path.rpartition("/")[2].partition("-")[0]
        record = Record(stem, "", str(error), uid=trailers.get("Kb-Uid", ""), path=path)
    against = tuple(filter(None, trailers.get("Kb-Against", "").split(",")))
    since, host, session = trailers.get("Kb-Since", time), trailers.get("Kb-Host", ""), trailers.get("Kb-Session", "")
    return Review(name, tip, path, since, record, against, host, session)


def find_review(kb: Workspace, name: str) -> Review:
    """Return the open review with the branch *name*, or whose record has that id or uid; raise UnknownId.

    An id is resolved as for records: first in the caller's scope, then globally; `shop:D001` names another scope.
    """
    plain = name.strip("[]")
    reviews = list_reviews(kb)
    named = [r for r in reviews if plain in (r.branch, r.branch.removeprefix(_STEM), r.record.uid)]
    named = named or _filter_by_id(reviews, plain, kb.caller_scope)
    if len(named) != 1:
        words = msg("{id} names several reviews", id=name) if named else msg("there is no open review {id}", id=name)
        raise UnknownId(words, hint=msg("see: kb review"))
    return named[0]


def describe_choice(kb: Workspace, review: Review, *, is_shown: bool) -> Message:
    """Name the commands with which a person decides *review* and, unless it *is_shown*, sees both sides."""
    name = name_review(kb, review, list_reviews(kb))
    if is_shown:
        return msg("to decide it: kb review accept {name}, or kb review reject {name}", name=name)
    return msg("both sides: kb review show {name}; then kb review accept {name}, or kb review reject {name}", name=name)


def name_review(kb: Workspace, review: Review, reviews: Sequence[Review]) -> str:
    """Return what commands call *review*: the id of its record, or its branch if several of *reviews* have that id."""
    name = qualify_name(kb, review.record)
    return name if len(_filter_by_id(reviews, name, kb.caller_scope)) == 1 else review.branch.removeprefix(_STEM)


def _filter_by_id(reviews: Sequence[Review], name: str, reader: str) -> list[Review]:
    """Return those *reviews* that the id *name* means to a *reader* in that scope ("" for any scope)."""
    project, _, record_id = name.rpartition(":")
    named = [review for review in reviews if review.record.id == record_id]
    for scope in (parse_scope_name(project),) if project else (reader, GLOBAL):
        if seen := [review for review in named if review.record.scope == scope]:
            return seen
    return [] if project or reader else named


def load_sides(kb: Workspace, name: str) -> ReviewSides:
    """Return both sides of the review *name*, open or rejected, its diff and the reasons its commit gives."""
    try:
        review = find_review(kb, name)
    except UnknownId:
        if not (rejection := find_rejection(kb, name)):
            raise
        review = rejection.review
    named = [record for record_id in review.against for record in kb.sync_index().find_by_id(record_id)]
    old = tuple(record for record in named if record.scope == review.record.scope)
    compare = ("-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", f"HEAD...{review.tip}")
    return ReviewSides(review, old, kb.repository.git(*compare).decode("utf-8", "replace"), read_reasons(kb, review))


def read_reasons(kb: Workspace, review: Review) -> str:
    """Return what the last commit of kb's on the branch says."""
    written = ("--grep=^Kb-Path: ", "--grep=^Kb-Op: review", "--all-match")  # not the commit that rejects it
    text = kb.repository.git("log", "-1", "--no-show-signature", *written, "--format=%b", review.tip)
    return text.decode("utf-8", "replace").strip()


# -- what was rejected ------------------------------------------------------------------------------


def find_rejection(kb: Workspace, name: str) -> Rejection | None:
    """Return the last rejection of the review *name*, see `find_review`; None where there is none."""
    plain, found = name.strip("[]"), list_reviews(kb, REJECTED)
    named = [r for r in found if plain in (r.branch, _STEM + r.branch.removeprefix(REJECTED), r.record.uid)]
    named = named or [r for r in found if plain == r.branch.removeprefix(REJECTED)]
    named = named or _filter_by_id(found, plain.upper(), kb.caller_scope)
    return load_rejection(kb, named[-1]) if named else None


def load_rejection(kb: Workspace, review: Review) -> Rejection:
    """Return *review*, which was rejected, with by whom, when and why."""
    form = "--format=%an%x00%as%x00%(trailers:key=Kb-Op,valueonly)%x00%b"
    text = kb.repository.git("log", "-1", "--no-show-signature", form, review.tip).decode("utf-8", "replace")
    by, day, operation, body = text.split("\0", 3)
    if operation.strip() != "reject":  # closed at a remote, or by a kb that did not keep it
        return Rejection(review, "", "", "")
    why = body.partition("Kb-Op: ")[0].strip()
    return Rejection(review, by, day, why)


def describe_rejection(rejection: Rejection) -> Message:
    """Say when, by whom and why a review was rejected, as far as that is known."""
    if not rejection.day:
        return msg("rejected")
    about = {"day": rejection.day, "by": rejection.by}
    if not rejection.why:
        return msg("rejected on {day} by {by}", **about)
    return msg("rejected on {day} by {by}: {why}", why=rejection.why, **about)
