"""Decide a review: accept it, reject it, or ask for a decision where the code is hosted."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, Busy, GitFailed, KbError, NeedsPerson
from kb.git import revisions, worktree
from kb.git.git_process import run
from kb.git.objects import diff_trees, resolve_tree
from kb.git.repository import Head, LostRace, RefMove, find_free_name, format_commit_message
from kb.git.worktree import Changes
from kb.i18n import Message, msg
from kb.merge.rebase import merge_commits
from kb.merge.renumbering import RenumberedRecord
from kb.records import record_file
from kb.records.kinds import join_section_labels
from kb.records.model import Record, Status, Verdict
from kb.records.record_paths import REJECTED, is_record_path
from kb.similarity.verdict import find_missing_sections
from kb.text.segment import one_line
from kb.writing.file_changes import Advance, apply_advance
from kb.writing.reviews import Review, find_review, read_reasons
from kb.writing.transaction import Transaction, describe_status_change, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace


class _ReviewMerge(NamedTuple):
    """The merge of a review, built and not yet published."""

    advance: Advance
    subject: str
    review: Review
    """With the number that its record has after the merge."""
    renumbered: tuple[RenumberedRecord, ...]


# -- can it be accepted? --------------------------------------------------------------------------


def assess_reviews(kb: Workspace, reviews: Sequence[Review]) -> list[Review]:
    """Return *reviews*, each with what keeps it from being accepted: another decision came first, or its base moved."""
    kb.sync_index()
    head = kb.repository.head().oid
    return [review._replace(standing=kb.localise(_describe_standing(kb, review, head))) for review in reviews]


def _describe_standing(kb: Workspace, review: Review, head: str) -> Message:
    if replacement := find_replacement(kb, review):
        old, new = replacement
        return msg("obsolete: [{old}] was replaced by [{new}]", old=old.scoped_id, new=new.scoped_id)
    return msg("base moved") if _has_base_moved(kb, review, head) else msg("")


def find_replacement(kb: Workspace, review: Review) -> tuple[Record, Record] | None:
    """Return a record that *review* is about and what has replaced it meanwhile; None where nothing has."""
    scope, uid = review.record.scope, review.record.uid
    for record_id in review.against:
        named = [record for record in kb.index.find_by_id(record_id) if record.scope == scope]
        for old in named if all(record.status == Status.SUPERSEDED for record in named) else ():
            for new, _ in kb.index.find_referrers(record_id, "supersedes"):
                if new.scope == scope and new.uid != uid:
                    return old, new
    return None


def _has_base_moved(kb: Workspace, review: Review, head: str) -> bool:
    """Return whether *review* cannot be merged any more without a person."""
    repository = kb.repository
    base = revisions.find_merge_base(kb, head, review.tip)
    if not base:
        return True
    before, here, there = (resolve_tree(repository, commit) for commit in (base, head, review.tip))
    ours, theirs = diff_trees(repository, [(before, here), (before, there)])
    if {one.name for one in ours}.isdisjoint(one.name for one in theirs):
        return False
    try:
        return bool(merge_commits(kb, head, review.tip, ("HEAD", review.branch)).conflicts)
    except KbError:
        return True


# -- accepting ------------------------------------------------------------------------------------


def accept_review(kb: Workspace, name: str) -> Verdict:
    """Do what merging the pull request would do: merge the review into the checked-out branch and delete it."""
    for transaction in transactions(kb):
        with transaction:
            merge = _build_review_merge(kb, transaction.head, find_review(kb, name))
            verdict = _build_verdict(transaction, merge)
            branch = RefMove(f"refs/heads/{merge.review.branch}", "", merge.review.tip)
            apply_advance(transaction, merge.advance, [branch], f"kb: {merge.subject}")
    return verdict


def _build_review_merge(kb: Workspace, head: Head, review: Review) -> _ReviewMerge:
    """Build the merge of *review* into *head*; raise NeedsPerson where kb alone cannot."""
    _refuse_checked_out(kb, review)
    _refuse_obsolete(kb, review)
    _refuse_foreign_changes(kb, head, review)
    merge = merge_commits(kb, head.oid, review.tip, (head.ref.removeprefix("refs/heads/"), review.branch))
    if merge.conflicts:
        raise NeedsPerson(
            msg("the review and this branch both changed {paths}", paths=", ".join(map(one_line, merge.conflicts))),
            hint=msg("git merge {branch}", branch=review.branch),
        )
    for one in merge.renumbered:
        if one.uid == review.record.uid:  # its number was taken meanwhile
            review = review._replace(path=one.path, record=review.record._replace(id=one.new, path=one.path))
    subject = f"Accept [{review.record.id}] {review.record.title}"
    trailers = {"Kb-Op": "accept", "Kb-Uid": review.record.uid, "Kb-Path": review.path}
    message = format_commit_message(subject, "", trailers)
    commit = kb.repository.commit_tree(merge.tree, [head.oid, review.tip], message)
    _refuse_incomplete_record(kb, head, commit, review)
    advance = Advance(head, commit, _collect_changes(kb, head.oid, commit, review))
    return _ReviewMerge(advance, subject, review, merge.renumbered)


def _refuse_checked_out(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson while a work tree has the branch, whose removal would leave it without a commit."""
    rows = kb.repository.git("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{review.branch}")
    if work_tree := rows.decode("utf-8", "replace").strip():
        raise NeedsPerson(
            msg("{branch} is checked out in {path}", branch=review.branch, path=work_tree),
            hint=msg("check out the branch that is to have it: git switch -"),
        )


def _refuse_obsolete(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson where another decision has made *review* obsolete."""
    if replacement := find_replacement(kb, review):
        old, new = replacement
        raise NeedsPerson(
            msg(
                "[{old}] was replaced by [{new}] “{title}” since this review was opened: it is obsolete",
                old=old.scoped_id,
                new=new.scoped_id,
                title=new.title,
            ),
            hint=msg(
                "close it: kb review reject {id} — if it is to replace [{new}] now, write it again",
                id=review.record.scoped_id,
                new=new.scoped_id,
            ),
        )


def _refuse_foreign_changes(kb: Workspace, head: Head, review: Review) -> None:
    """Raise NeedsPerson where a review changes what kb alone cannot let the checkout follow."""
    repository = kb.repository
    base = revisions.find_merge_base(kb, head.oid, review.tip)
    (changes,) = diff_trees(repository, [(resolve_tree(repository, base), resolve_tree(repository, review.tip))])
    for one in changes:
        if not one.is_plain or not one.name.startswith(repository.prefix):
            raise NeedsPerson(
                msg("the review changes {path}, which is no record", path=one_line(one.name)),
                hint=msg("git merge {branch}", branch=review.branch),
            )


def _refuse_incomplete_record(kb: Workspace, head: Head, commit: str, review: Review) -> None:
    """Raise KbError where accepting *review* makes a record accepted that lacks what `kb status` asks for."""
    (before, _), (after, lacking) = (_read_status_and_gaps(kb, at, review.path) for at in (head.oid, commit))
    if after == Status.ACCEPTED != before and lacking:
        sections = join_section_labels(lacking, kb.config.language)
        raise KbError(
            msg("[{id}] lacks: {sections}", id=review.record.id, sections=sections),
            path=review.path,
            hint=msg("complete it on {branch}, or submit it again with them: kb write", branch=review.branch),
        )


def _read_status_and_gaps(kb: Workspace, commit: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Return the status of the record *path* in *commit* and the sections it lacks; nothing where it cannot be read."""
    try:
        record = record_file.read(kb.repository.read_blob(commit, path) or b"", path)
    except BadRecord:
        return "", ()
    return str(record.status), find_missing_sections(record)


def _collect_changes(kb: Workspace, head: str, commit: str, review: Review) -> Changes:
    """Return what the merge changes; raise NeedsPerson where kb alone cannot make the checkout follow."""
    repository = kb.repository
    names = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, commit)
    paths = [repository.to_kb_path(name) for name in names.decode("utf-8", "surrogateescape").split("\0") if name]
    before = repository.read_blobs([(head, path) for path in paths])
    after = repository.read_blobs([(commit, path) for path in paths])
    for path, was, now in zip(paths, before, after, strict=True):
        if path == review.path:
            try:
                record_file.read(now or b"", path)
            except BadRecord as error:
                raise NeedsPerson(error.message, hint=msg("fix it on {branch}", branch=review.branch)) from None
        if was is None or now is None:
            continue
        if worktree.has_conflicting_edits(repository, head, path, was, now):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=path),
                hint=msg("commit them first: git commit {path}", path=path),
            )
    return dict(zip(paths, zip(before, after, strict=True), strict=True))


def _build_verdict(transaction: Transaction, merge: _ReviewMerge) -> Verdict:
    commit, review = merge.advance.new, merge.review
    record = record_file.read(transaction.kb.repository.read_blob(commit, review.path) or b"", review.path)
    replaced = [old for old in review.against if old in record.supersedes]
    said = [msg("accepted; it replaces {ids}", ids=", ".join(replaced)) if replaced else msg("the review is accepted")]
    said += [msg("amends [{id}]", id=old) for old in review.against if old in record.amends]
    said += _describe_status_changes(merge)
    said += [msg("its id {old} is in use here; it is {new} now", old=o.old, new=o.new) for o in merge.renumbered]
    return transaction.build_verdict("updated", record, said)._replace(commit=commit)


def _describe_status_changes(merge: _ReviewMerge) -> Iterator[Message]:
    """Say of each record of the branch that gets another status by *merge* which it had and has."""
    for path, (before, now) in merge.advance.changes.items():
        if before and now and is_record_path(path):
            with contextlib.suppress(BadRecord):
                old, new = record_file.read(before, path), record_file.read(now, path)
                if old.status != new.status:
                    yield describe_status_change(old, new)


# -- rejecting ------------------------------------------------------------------------------------


def reject_review(kb: Workspace, name: str) -> Verdict:
    """Do what closing the pull request would do: take the branch away; it stays under `refs/kb/rejected/`."""
    repository = kb.repository
    with repository.hold_lock():
        review = find_review(kb, name)
        _refuse_checked_out(kb, review)
        stem = REJECTED + review.branch.removeprefix("kb/review/")
        ref = find_free_name(stem, lambda taken: bool(repository.resolve_ref(taken)))
        moves = [RefMove(ref, review.tip, ""), RefMove(f"refs/heads/{review.branch}", "", review.tip)]
        try:
            repository.update_refs(moves, "kb: reject")
        except LostRace:
            raise Busy(msg("{branch} has just moved", branch=review.branch), hint=msg("look again")) from None
    record = review.record
    reasons = (kb.localise(msg("rejected; it is kept under {ref}", ref=ref)),)
    return Verdict(
        "updated", record.title, record.kind, record.id, record.uid, record.scope,
        status=str(Status.REJECTED), reasons=reasons, commit=review.tip,
    )  # fmt: skip


# -- asking others --------------------------------------------------------------------------------


def request_review(kb: Workspace, name: str, remote: str, *, open_it: bool) -> list[str]:
    """Push the review *name* to *remote* and return what a person runs to open the request; run it where *open_it*."""
    review = find_review(kb, name)
    repository = kb.repository
    url = repository.git("config", "--get", f"remote.{remote}.url", check=False).decode().strip()
    if not url:
        hint = msg("git remote add {remote} URL", remote=remote)
        raise GitFailed(msg("there is no remote {remote}", remote=remote), hint=hint)
    target = repository.head().ref.removeprefix("refs/heads/")
    refspec = f"refs/heads/{review.branch}:refs/heads/{review.branch}"
    repository.git("push", *build_push_options(url, target), remote, refspec)
    title = f"Decide [{review.record.id}] {review.record.title}"
    command = build_request_command(url, review.branch, target, title, read_reasons(kb, review))
    if not open_it or not shutil.which(command[0]):
        return [shlex.join(command)]
    # the tool calls git itself: with the guard against the repository's own settings, and with nothing of kb's
    environment = repository.guard.build_environment(["push"])
    output = run(command, {key: value for key, value in environment.items() if not key.startswith("KB_")})
    if output.code:
        raise GitFailed(msg("{tool} failed: {problem}", tool=command[0], problem=output.error.strip()))
    return [output.out.decode("utf-8", "replace").strip()]


def build_push_options(url: str, target: str) -> list[str]:
    """Return with what a push asks the host of *url* to open the request for the branch *target* itself."""
    return ["-o", "merge_request.create", "-o", f"merge_request.target={target}"] if "gitlab" in url else []


def build_request_command(url: str, branch: str, target: str, title: str, body: str) -> list[str]:
    """Return the command that opens the request to take *branch* into *target* at the host of *url*."""
    if "gitlab" in url:
        command = ["glab", "mr", "create", "--source-branch", branch, "--target-branch", target]
        return [*command, "--title", title, "--description", body]
    return ["gh", "pr", "create", "--head", branch, "--base", target, "--title", title, "--body", body]
