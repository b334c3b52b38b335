"""Decide a review: accept it, reject it, or ask for a decision where the code is hosted."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb.errors import BadRecord, Busy, GitFailed, KbError, NeedsPerson
from kb.git import revisions, worktree
from kb.git.commit_message import format_commit_message
from kb.git.git_process import run
from kb.git.objects import diff_commits, diff_trees, resolve_tree
from kb.git.repository import Head, LostRace, RefMove, find_free_name
from kb.git.worktree import Changes
from kb.i18n import Message, msg
from kb.learning.grow import keep_challenge
from kb.merge.rebase import MergedTree, merge_commits
from kb.records.kinds import REJECTED, describe_status_change, join_section_labels, status_name
from kb.records.model import Record, Status, Verdict, is_imported
from kb.safety.redaction import redact_text
from kb.similarity.merge_candidate import find_missing_sections
from kb.text.segment import one_line
from kb.writing.file_changes import Advance, apply_advance, build_edited_error
from kb.writing.reviews import Review, find_review, read_reasons
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace


# -- can it be accepted? --------------------------------------------------------------------------


def assess_reviews(kb: Workspace, reviews: Sequence[Review]) -> list[Review]:
    """Return *reviews* with their obstacles: another decision was accepted first, or the base has moved."""
    kb.sync_index()
    head = kb.repository.head().oid
    assessed = []
    for review in reviews:
        standing = msg("base moved") if _has_base_moved(kb, review, head) else msg("")
        if replacement := find_replacement(kb, review):
            old, new = replacement
            standing = msg("obsolete: [{old}] was replaced by [{new}]", old=old.scoped_id, new=new.scoped_id)
        assessed.append(review._replace(standing=kb.localise(standing)))
    return assessed


def find_replacement(kb: Workspace, review: Review) -> tuple[Record, Record] | None:
    """Return a record that *review* changes and the one that has replaced it since, or None."""
    scope, uid = review.record.scope, review.record.uid
    for record_id in review.against:
        named = [record for record in kb.index.find_by_id(record_id) if record.scope == scope]
        for old in named if all(record.status == Status.SUPERSEDED for record in named) else ():
            for new, _ in kb.index.find_referrers(record_id, "supersedes"):
                if new.scope == scope and new.uid != uid:
                    return old, new
    return None


def _has_base_moved(kb: Workspace, review: Review, head: str) -> bool:
    """Return whether *review* can no longer be merged without a person."""
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
    """Merge the review into the checked-out branch and delete its branch, as merging its pull request would."""
    for transaction in transactions(kb):
        with transaction:
            head = transaction.head
            merge, review = _merge_review(kb, head, find_review(kb, name))
            subject = f"Accept [{review.record.id}] {review.record.title}"
            trailers = {"Kb-Op": "accept", "Kb-Uid": review.record.uid, "Kb-Path": review.path}
            message = format_commit_message(subject, "", trailers)
            commit = kb.repository.commit_tree(merge.tree, [head.oid, review.tip], message)
            _refuse_incomplete_record(kb, head, commit, review)
            changes = _collect_changes(kb, head.oid, commit, review)
            record = kb.files.read(kb.repository.read_blob(commit, review.path) or b"", review.path)
            replaced = [old for old in review.against if old in record.supersedes]
            said = [msg("accepted; it replaces {ids}", ids=replaced) if replaced else msg("the review is accepted")]
            said += [msg("amends [{id}]", id=old) for old in review.against if old in record.amends]
            said += _describe_status_changes(kb, changes)
            said += [
                msg("its id {old} is in use here; it was renumbered to {new}", old=o.old, new=o.new)
                for o in merge.renumbered
            ]
            verdict = transaction.build_verdict("updated", record, said)._replace(commit=commit)
            branch = RefMove(f"refs/heads/{review.branch}", "", review.tip)
            apply_advance(transaction, Advance(head, commit, changes), [branch], f"kb: {subject}")
    return verdict


def _merge_review(kb: Workspace, head: Head, review: Review) -> tuple[MergedTree, Review]:
    """Merge *review* into *head*; return the merge, and the review with the record's final number.

    Raise NeedsPerson if kb cannot merge it alone, or if another decision has made it obsolete.
    """
    _refuse_checked_out(kb, review)
    if replacement := find_replacement(kb, review):
        old, new = (record.scoped_id for record in replacement)
        raise NeedsPerson(
            msg(
                "[{old}] was replaced by [{new}] “{title}” since this review was opened: it is obsolete",
                old=old,
                new=new,
                title=replacement[1].title,
            ),
            hint=msg(
                "close it: kb review reject {id} — if it should now replace [{new}], write it again",
                id=review.record.scoped_id,
                new=new,
            ),
        )
    by_hand = msg("git merge {branch}", branch=review.branch)
    base = revisions.find_merge_base(kb, head.oid, review.tip)
    for one in diff_commits(kb.repository, base, review.tip):
        # kb can update the checkout only for files that it writes itself
        if not one.is_plain or not one.name.startswith(kb.repository.prefix):
            raise NeedsPerson(
                msg("the review changes {path}, which is no record", path=one_line(one.name)), hint=by_hand
            )
    merge = merge_commits(kb, head.oid, review.tip, (head.ref.removeprefix("refs/heads/"), review.branch))
    if merge.conflicts:
        paths = [one_line(path) for path in merge.conflicts]
        raise NeedsPerson(msg("the review and this branch both changed {paths}", paths=paths), hint=by_hand)
    for moved in merge.renumbered:
        if moved.uid == review.record.uid:  # its number has been taken since
            review = review._replace(path=moved.path, record=review.record._replace(id=moved.new, path=moved.path))
    return merge, review


def _refuse_checked_out(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson if a work tree has the branch checked out: deleting it would leave that without a commit."""
    if work_trees := kb.repository.list_refs(f"refs/heads/{review.branch}", form="%(worktreepath)"):
        raise NeedsPerson(
            msg("{branch} is checked out in {path}", branch=review.branch, path=work_trees[0]),
            hint=msg("check out the branch it belongs on: git switch -"),
        )


def _refuse_incomplete_record(kb: Workspace, head: Head, commit: str, review: Review) -> None:
    """Raise KbError if *review* would accept a record without its required sections."""
    asked = {(head.oid, review.path), (commit, review.path)}
    found = revisions.read_records_at(kb, asked)
    before, after = found.get((head.oid, review.path)), found.get((commit, review.path))
    if not after or after.status != Status.ACCEPTED or (before and before.status == Status.ACCEPTED):
        return
    if is_imported(after.extra):  # it has the headings of another tool
        return
    if lacking := find_missing_sections(after, kb.config.required):
        sections = join_section_labels(lacking, kb.config.language)
        raise KbError(
            msg("[{id}] lacks: {sections}", id=review.record.id, sections=sections),
            path=review.path,
            hint=msg("complete it on {branch}, or submit it again with them: kb write", branch=review.branch),
        )


def _collect_changes(kb: Workspace, head: str, commit: str, review: Review) -> Changes:
    """Return the changes of the merge; raise NeedsPerson if kb cannot update the checkout alone."""
    repository = kb.repository
    paths = [repository.to_kb_path(one.name) for one in diff_commits(repository, head, commit)]
    before, after = (repository.read_files(at, paths) for at in (head, commit))
    if review.path in after:
        try:
            kb.files.read(after[review.path] or b"", review.path)
        except BadRecord as error:
            raise NeedsPerson(error.message, hint=msg("fix it on {branch}", branch=review.branch)) from None
    for path, was in before.items():
        now = after[path]
        if was is not None and now is not None and worktree.has_conflicting_edits(repository, head, path, was, now):
            raise build_edited_error(path)
    return {path: (before[path], after[path]) for path in paths}


def _describe_status_changes(kb: Workspace, changes: Changes) -> Iterator[Message]:
    """Yield a message for each record whose status *changes* modify."""
    for path, (before, now) in changes.items():
        if before and now and kb.files.is_record_path(path):
            with contextlib.suppress(BadRecord):
                old, new = kb.files.read(before, path), kb.files.read(now, path)
                if old.status != new.status:
                    yield describe_status_change(old, new)


# -- rejecting ------------------------------------------------------------------------------------


def reject_review(kb: Workspace, name: str, why: str = "") -> Verdict:
    """Delete the review branch, as closing its pull request would; it stays under `refs/kb/rejected/`, with *why*."""
    repository = kb.repository
    with repository.hold_lock():
        review = find_review(kb, name)
        _refuse_checked_out(kb, review)
        stem = REJECTED + review.branch.removeprefix("kb/review/")
        ref = find_free_name(stem, lambda taken: bool(repository.resolve_ref(taken)))
        moves = [
            RefMove(ref, _build_rejection(kb, review, why), ""),
            RefMove(f"refs/heads/{review.branch}", "", review.tip),
        ]
        try:
            repository.update_refs(moves, "kb: reject")
        except LostRace:
            raise Busy(msg("{branch} has just moved", branch=review.branch), hint=msg("read it again")) from None
    keep_challenge(kb, review)
    record = review.record
    verdict = Verdict("updated", record.title, record.kind, record.id, record.uid, record.scope, commit=review.tip)
    rejected = kb.localise(
        msg("rejected; it is kept under {ref}; to read it: kb review show {id}", ref=ref, id=record.id)
    )
    known = [one for one in kb.sync_index().find_by_id(record.id) if one.path == review.path]
    if not known:
        return verdict._replace(status=str(Status.REJECTED), reasons=(rejected,))
    # for a review of an existing record, the change was rejected, not the record
    stays = msg("what was proposed is rejected; [{id}] stays {status}", id=known[0].scoped_id,
                status=status_name(known[0].status))  # fmt: skip
    kept = msg("it is kept under {ref}", ref=ref)
    reasons = (kb.localise(stays), kb.localise(kept))
    return verdict._replace(title=known[0].title, status=str(known[0].status), reasons=reasons)


def _build_rejection(kb: Workspace, review: Review, why: str) -> str:
    """Return a commit on top of *review* that changes nothing and keeps who rejects it, when, and *why*."""
    reason, _ = redact_text(one_line(why), kb.config.masking)
    trailers = {
        "Kb-Op": "reject",
        "Kb-Session": review.session,
        "Kb-Host": review.host,
        "Kb-Uid": review.record.uid,
        "Kb-Path": review.path,
        "Kb-Against": ",".join(review.against),
        "Kb-Since": review.since,
    }
    message = format_commit_message(f"Reject [{review.record.id}] {review.record.title}", reason, trailers)
    return kb.repository.commit_tree(resolve_tree(kb.repository, review.tip), [review.tip], message)


# -- asking others --------------------------------------------------------------------------------


def request_review(kb: Workspace, name: str, remote: str, *, open_it: bool) -> list[str]:
    """Push the review *name* to *remote* and return the commands to open the request; run them if *open_it*."""
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
    # the tool calls git itself: keep the guard against repository settings, and drop kb's variables
    environment = repository.guard.build_environment(["push"])
    output = run(command, {key: value for key, value in environment.items() if not key.startswith("KB_")})
    if output.code:
        raise GitFailed(msg("{tool} failed: {problem}", tool=command[0], problem=output.error.strip()))
    return [output.out.decode("utf-8", "replace").strip()]


def build_push_options(url: str, target: str) -> list[str]:
    """Return the push options with which the host of *url* opens the request for the branch *target*."""
    return ["-o", "merge_request.create", "-o", f"merge_request.target={target}"] if "gitlab" in url else []


def build_request_command(url: str, branch: str, target: str, title: str, body: str) -> list[str]:
    """Return the command that opens a request to merge *branch* into *target* at the host of *url*."""
    if "gitlab" in url:
        command = ["glab", "mr", "create", "--source-branch", branch, "--target-branch", target]
        return [*command, "--title", title, "--description", body]
    return ["gh", "pr", "create", "--head", branch, "--base", target, "--title", title, "--body", body]
