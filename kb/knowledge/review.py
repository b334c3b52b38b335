"""Reviews: a contradiction becomes a branch on which it is already accepted; merging is accepting, deleting rejecting."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb import markdown
from kb.errors import BadRecord, GitFailed, NeedsPerson, UnknownId
from kb.front import decode, edit_front
from kb.knowledge.names import REJECTED, REVIEWS
from kb.record import Candidate, Record, Similar, Status, Verdict
from kb.store.git import checkout
from kb.store.git.repository import LostRace, Move, message
from kb.text import slugify
from kb.words import Said, say
from kb.writing import merge
from kb.writing.contradict import contradiction
from kb.writing.dedup import similarity

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.knowledge.write import Writing


class Review(NamedTuple):
    """An open review."""

    branch: str
    """Without `refs/heads/`."""
    tip: str
    path: str
    """The file of the new record."""
    since: str
    """ISO time of its first commit's date."""
    record: Record
    """The new side."""
    against: tuple[str, ...]
    """The ids of the other side, in the new record's scope."""
    host: str
    session: str


class Sides(NamedTuple):
    """A review with what both sides say."""

    review: Review
    old: tuple[Record, ...]
    diff: str
    reasons: str


class Plan:
    """A commit on a review branch, built once the tip of the branch below it is known."""

    def __init__(self, branch: str, tip: str, changes: dict[str, bytes], words: str) -> None:
        """Plan *changes* on *branch*; *tip* "" makes the branch, on what main is about to become."""
        self.branch = branch
        self.tip = tip
        self.changes = changes
        self.words = words

    def built(self, writing: "Writing", base: str) -> Move:
        """Build the commit and return the move that publishes it."""
        kb = writing.kb
        with kb.state.stage() as stage:
            commit = kb.repository.build(self.tip or base, dict(self.changes), self.words, stage=stage, index="review")
        return Move(f"refs/heads/{self.branch}", commit, self.tip)


def propose(
    writing: "Writing", candidate: Candidate, old: Record, reasons: Sequence[Said], alike: Sequence[Similar]
) -> Verdict:
    """Open a review of *candidate* against *old*, or add to the one that already says the same."""
    kb = writing.kb
    for name in rejected(kb, candidate, old):
        why = say("a person has rejected this before, see {ref}", ref=name)
        verdict = writing.verdict(
            "refused", old, [why, *reasons], alike, say("talk to them; then: kb edit {id}", id=old.id)
        )
        return verdict._replace(title=candidate.title, id="", uid="", path="", status="")
    for review in reviews(kb):
        if old.id in review.against and review.record.scope == old.scope and _says_the_same(candidate, review.record):
            return _add_to(writing, review, candidate, reasons, alike)
    record = writing.new_record(candidate)._replace(status=Status.ACCEPTED)
    record = record._replace(supersedes=tuple(dict.fromkeys((*record.supersedes, old.id))))
    before = writing.text_of(old.path)
    if before is None:
        why = say("{path} is not committed yet", path=old.path)
        return writing.verdict("unchanged", old, [why], alike, say("commit it: git add {path}", path=old.path))
    branch = f"kb/review/{record.id}-{slugify(record.title)}"
    while kb.repository.ref(f"refs/heads/{branch}"):
        branch += "-2"
    text = decode(before, old.path)
    changes = {
        record.path: markdown.render(record, kb.config.language).encode(),
        old.path: edit_front(text, {"status": str(Status.SUPERSEDED)}).encode(),
    }
    kb.index.reserve(record.scope, record.id)
    subject = f"Replace [{old.id}] by [{record.id}] {record.title}"
    writing.reviews.append(Plan(branch, "", changes, _words(kb, subject, reasons, record, candidate)))
    remedy = say("decide it: kb review show {id}", id=record.id)
    return writing.verdict(
        "conflict", record, [say("[{id}] {title}", id=old.id, title=old.title), *reasons], alike, remedy, branch
    )


def _says_the_same(candidate: Candidate, record: Record) -> bool:
    return contradiction(candidate, record) is None and similarity(candidate.title, record.title) > 0.5


def _add_to(
    writing: "Writing", review: Review, candidate: Candidate, reasons: Sequence[Said], alike: Sequence[Similar]
) -> Verdict:
    kb = writing.kb
    step = merge.merging(candidate, review.record, day=kb.today(), language=kb.config.language)
    if step.verdict != "unchanged":
        data = kb.repository.blob(review.tip, review.path) or b""
        text = merge.apply(decode(data, review.path), step, kb.config.language)
        subject = f"Hear again [{review.record.id}] {review.record.title}"
        words = _words(kb, subject, reasons, review.record, candidate)
        writing.reviews.append(Plan(review.branch, review.tip, {review.path: text.encode()}, words))
    remedy = say("decide it: kb review show {id}", id=review.record.id)
    return writing.verdict("conflict", review.record, reasons, alike, remedy, review.branch)


def _words(kb: "KnowledgeBase", subject: str, reasons: Sequence[Said], record: Record, candidate: Candidate) -> str:
    trailers = {
        "Kb-Op": "review", "Kb-Session": candidate.session, "Kb-Host": candidate.host, "Kb-Uid": record.uid, "Kb-Path": record.path,
    }  # fmt: skip
    return message(subject, "\n".join(kb.words(reason) for reason in reasons), trailers)


# -- asking ---------------------------------------------------------------------------------------


def reviews(kb: "KnowledgeBase", under: str = REVIEWS) -> list[Review]:
    """Return the open reviews, oldest first."""
    form = "%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(contents:trailers)%00%01"
    text = kb.repository.git("for-each-ref", f"--format={form}", under.rstrip("/")).decode("utf-8", "replace")
    found = [_review(kb, row.lstrip("\n").split("\0"), under) for row in text.split("\0\1")[:-1]]
    return sorted((review for review in found if review), key=lambda review: (review.since, review.branch))


def _review(kb: "KnowledgeBase", row: Sequence[str], under: str) -> Review | None:
    """Return the review in one row of `for-each-ref`. (Two `trailers` atoms with keys disturb each other in git 2.39.)"""
    ref, tip, since, words = row
    told = dict(line.split(": ", 1) for line in words.splitlines() if ": " in line)
    path = told.get("Kb-Path", "")
    try:
        record = markdown.read(kb.repository.blob(tip, path) or b"", path)
    except BadRecord:
        return None
    prefix = "refs/heads/" if under == REVIEWS else under
    return Review(
        ref.removeprefix(prefix),
        tip,
        path,
        since,
        record,
        record.supersedes,
        told.get("Kb-Host", ""),
        told.get("Kb-Session", ""),
    )


def rejected(kb: "KnowledgeBase", candidate: Candidate, old: Record) -> list[str]:
    """Return the refs under which a person has rejected what *candidate* says against *old*."""
    return [
        review.branch
        for review in reviews(kb, REJECTED)
        if old.id in review.against
        and review.record.scope == candidate.scope
        and _says_the_same(candidate, review.record)
    ]


def one_review(kb: "KnowledgeBase", name: str) -> Review:
    """Return the open review that *name* names: its branch, or the id or uid of its new record; raise UnknownId."""
    plain = name.strip("[]")
    named = [
        r for r in reviews(kb) if plain in (r.branch, r.branch.removeprefix("kb/review/"), r.record.id, r.record.uid)
    ]
    if len(named) != 1:
        words = say("{id} names several reviews", id=name) if named else say("there is no open review {id}", id=name)
        raise UnknownId(words, hint=say("see: kb review"))
    return named[0]


def sides(kb: "KnowledgeBase", name: str) -> Sides:
    """Return both sides of the review *name*, its diff and the reasons its commit gives."""
    review = one_review(kb, name)
    head = kb.repository.head()
    old = [
        record
        for record_id in review.against
        for record in kb.fresh().named(record_id)
        if record.scope == review.record.scope
    ]
    diff = kb.repository.git(
        "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", f"{head.oid}...{review.tip}"
    ).decode("utf-8", "replace")
    reasons = kb.repository.git("log", "--no-show-signature", "-1", "--format=%b", review.tip).decode(
        "utf-8", "replace"
    )
    return Sides(review, tuple(old), diff, reasons.strip())


# -- deciding -------------------------------------------------------------------------------------


def accept(kb: "KnowledgeBase", name: str) -> Verdict:
    """Do what merging the pull request would do: merge the review into the checked-out branch and delete it."""
    from kb.knowledge.write import Writing

    review = one_review(kb, name)
    writing = Writing(kb, review.record.scope, "")
    for _ in range(10):
        try:
            with writing.transaction():
                return _merged(writing, review)
        except LostRace:
            continue
    raise GitFailed(say("other writers kept moving the branch"), hint=say("try again"))


def _merged(writing: "Writing", review: Review) -> Verdict:
    kb, repository, head = writing.kb, writing.kb.repository, writing.head
    output = repository.output(
        ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", head.oid, review.tip]
    )
    if output.code == 1:
        names = ", ".join(name for name in output.out.decode("utf-8", "replace").split("\0")[1:] if name)
        raise NeedsPerson(
            say("the review and this branch both changed {paths}", paths=names),
            hint=say("git merge {branch}", branch=review.branch),
        )
    if output.code:
        raise GitFailed(
            say("git merge-tree failed: {problem}", problem=output.error.strip()),
            hint=say("git merge {branch}", branch=review.branch),
        )
    tree = output.out.decode().split("\0")[0].strip()
    subject = f"Accept [{review.record.id}] {review.record.title}"
    words = message(subject, "", {"Kb-Op": "accept", "Kb-Uid": review.record.uid, "Kb-Path": review.path})
    commit = repository.commit_tree(tree, [head.oid, review.tip], words)
    names_changed = repository.git("diff-tree", "-r", "-z", "--name-only", head.oid, commit).decode(
        "utf-8", "surrogateescape"
    )
    paths = [repository.own(name) for name in names_changed.split("\0") if name]
    pairs = {path: (repository.blob(head.oid, path), repository.blob(commit, path)) for path in paths}
    changes = {path: (before, now) for path, (before, now) in pairs.items() if now is not None}
    reserved = checkout.staged(repository, [path for path, (before, _) in changes.items() if before is not None])
    kb.state.save({"old": head.oid, "new": commit, "paths": list(changes)}, "follow.json")
    repository.publish([Move(head.ref, commit, head.oid)], f"kb: {subject}")
    repository.delete(f"refs/heads/{review.branch}", review.tip)
    checkout.follow(repository, changes, commit, reserved)
    kb.index.refresh()
    record = markdown.read(changes[review.path][1], review.path) if review.path in changes else review.record
    return writing.verdict(
        "updated", record, [say("accepted; it replaces {ids}", ids=", ".join(review.against))]
    )._replace(commit=commit)


def reject(kb: "KnowledgeBase", name: str) -> Verdict:
    """Do what closing the pull request would do: take the branch away; what it held stays under `refs/kb/rejected/`."""
    review = one_review(kb, name)
    ref = f"{REJECTED}{review.branch.removeprefix('kb/review/')}"
    repository = kb.repository
    with repository.locked():
        repository.publish([Move(ref, review.tip, repository.ref(ref))], "kb: reject")
        repository.delete(f"refs/heads/{review.branch}", review.tip)
    return Verdict(
        "updated", review.record.title, review.record.kind, review.record.id, review.record.uid, review.record.scope,
        status=str(Status.REJECTED), reasons=(kb.words(say("rejected; it is kept under {ref}", ref=ref)),), commit=review.tip,
    )  # fmt: skip


def request(kb: "KnowledgeBase", name: str, remote: str, *, open_it: bool) -> list[str]:
    """Push the review *name* to *remote* and return what a person runs to open the request; run it where *open_it*."""
    import shutil

    from kb.store.git.command import run

    review = one_review(kb, name)
    repository = kb.repository
    target = repository.head().ref.removeprefix("refs/heads/")
    url = repository.git("config", "--get", f"remote.{remote}.url", check=False).decode().strip()
    if not url:
        raise GitFailed(
            say("there is no remote {remote}", remote=remote), hint=say("git remote add {remote} URL", remote=remote)
        )
    title = f"Decide [{review.record.id}] {review.record.title}"
    options = ["-o", "merge_request.create", "-o", f"merge_request.target={target}"] if "gitlab" in url else []
    repository.git("push", *options, remote, f"refs/heads/{review.branch}:refs/heads/{review.branch}")
    tool = "glab" if "gitlab" in url else "gh"
    create = {
        "gh": ["gh", "pr", "create", "--head", review.branch, "--base", target, "--title", title, "--body", "\n".join(sides(kb, name).reasons.splitlines())],
        "glab": ["glab", "mr", "create", "--source-branch", review.branch, "--target-branch", target, "--title", title, "--description", sides(kb, name).reasons],
    }[tool]  # fmt: skip
    if open_it and shutil.which(tool):
        output = run(create, kb.environment)
        if output.code:
            raise GitFailed(say("{tool} failed: {problem}", tool=tool, problem=output.error.strip()))
        return [output.out.decode("utf-8", "replace").strip()]
    import shlex

    return [shlex.join(create)]
