"""Decide a review: accept it, reject it, or ask for a decision where the code is hosted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, Busy, GitFailed, KbError, NeedsPerson
from kb.git import revisions, worktree
from kb.git.git_log import differences, tree_of
from kb.git.repository import Head, LostRace, Move, Repository, message
from kb.git.worktree import Changes
from kb.i18n import Message, msg
from kb.merge.merge_commits import joined
from kb.merge.renumbering import Renumbered
from kb.records import record_file
from kb.records.kinds import section_labels
from kb.records.model import Status, Verdict
from kb.records.record_paths import REJECTED, is_record
from kb.similarity.verdict import missing_sections
from kb.sync.mergeability import refuse_overtaken
from kb.text.segment import one_line
from kb.writing.publish import publish
from kb.writing.reviews import Review, one_review, reasons
from kb.writing.transaction import moved

if TYPE_CHECKING:
    from kb.workspace import Workspace
    from kb.writing.transaction import Writing


class _Merge(NamedTuple):
    """The merge of a review, built and not yet published."""

    head: Head
    moves: tuple[Move, ...]
    changes: Changes
    subject: str
    review: Review
    """With the number that its record has after the merge."""
    renumbered: tuple[Renumbered, ...]


def accept(kb: Workspace, name: str) -> Verdict:
    """Do what merging the pull request would do: merge the review into the checked-out branch and delete it."""
    from kb.writing.transaction import Writing

    writing = Writing(kb, "", "")
    merges: list[_Merge] = []

    def plan() -> Verdict:
        review = one_review(kb, name)
        merges[:] = [_merge(kb, writing.head, review)]
        return _accepted(writing, merges[0])

    def publish_it(verdict: Verdict) -> Verdict:
        (merge,) = merges
        publish(kb, merge.head, merge.moves, merge.changes, f"kb: {merge.subject}")
        writing.is_published = True
        kb.index.reread(path for path in merge.changes if is_record(path))
        return verdict

    return writing.until_won(plan, publish_it)


def _merge(kb: Workspace, head: Head, review: Review) -> _Merge:
    """Build the merge of *review* into *head*; raise NeedsPerson where kb alone cannot."""
    _not_checked_out(kb, review)
    refuse_overtaken(kb, review)
    _refuse_others(kb, head, review)
    found = joined(kb, head.oid, review.tip, (head.ref.removeprefix("refs/heads/"), review.branch))
    if found.conflicts:
        raise NeedsPerson(
            msg("the review and this branch both changed {paths}", paths=", ".join(map(one_line, found.conflicts))),
            hint=msg("git merge {branch}", branch=review.branch),
        )
    review = _as_it_will_be(review, found.renumbered)
    subject = f"Accept [{review.record.id}] {review.record.title}"
    words = message(subject, "", {"Kb-Op": "accept", "Kb-Uid": review.record.uid, "Kb-Path": review.path})
    commit = kb.repository.commit_tree(found.tree, [head.oid, review.tip], words)
    _refuse_incomplete(kb, head, commit, review)
    changes = _changes(kb, head.oid, commit, review)
    moves = (Move(head.ref, commit, head.oid), Move(f"refs/heads/{review.branch}", "", review.tip))
    return _Merge(head, moves, changes, subject, review, found.renumbered)


def _refuse_incomplete(kb: Workspace, head: Head, commit: str, review: Review) -> None:
    """Raise KbError where accepting *review* makes a record accepted that lacks what `kb status` asks for."""
    was, will = (_status_and_lack(kb, at, review.path) for at in (head.oid, commit))
    if will[0] == Status.ACCEPTED != was[0] and will[1]:
        lacking = section_labels(will[1], kb.config.language)
        raise KbError(
            msg("[{id}] lacks: {sections}", id=review.record.id, sections=lacking),
            path=review.path,
            hint=msg("complete it on {branch}, or hand it in again with them: kb write", branch=review.branch),
        )


def _status_and_lack(kb: Workspace, commit: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Return the status of the record *path* in *commit* and the sections it lacks; nothing where it cannot be read."""
    try:
        record = record_file.read(kb.repository.blob(commit, path) or b"", path)
    except BadRecord:
        return "", ()
    return str(record.status), missing_sections(record)


def _refuse_others(kb: Workspace, head: Head, review: Review) -> None:
    """Raise NeedsPerson where a review changes what kb alone cannot let the checkout follow."""
    base = revisions.common(kb, head.oid, review.tip)
    (found,) = differences(kb.repository, [(tree_of(kb.repository, base), tree_of(kb.repository, review.tip))])
    for one in found:
        if not one.is_plain or not one.name.startswith(kb.repository.prefix):
            raise NeedsPerson(
                msg("the review changes {path}, which is no record", path=one_line(one.name)),
                hint=msg("git merge {branch}", branch=review.branch),
            )


def _as_it_will_be(review: Review, renumbered: Sequence[Renumbered]) -> Review:
    """Return *review* with the number and the place that its record gets where its own is taken by now."""
    for one in renumbered:
        if one.uid == review.record.uid:
            return review._replace(path=one.path, record=review.record._replace(id=one.new, path=one.path))
    return review


def _accepted(writing: Writing, merge: _Merge) -> Verdict:
    commit, review = merge.moves[0].new, merge.review
    record = record_file.read(writing.kb.repository.blob(commit, review.path) or b"", review.path)
    replaced = [old for old in review.against if old in record.supersedes]
    said = [msg("accepted; it replaces {ids}", ids=", ".join(replaced)) if replaced else msg("the review is accepted")]
    said += [msg("amends [{id}]", id=old) for old in review.against if old in record.amends]
    said += list(_statuses_moved(writing, merge))
    said += [msg("its id {old} is in use here; it is {new} now", old=o.old, new=o.new) for o in merge.renumbered]
    return writing.verdict("updated", record, said)._replace(commit=commit)


def _statuses_moved(writing: Writing, merge: _Merge) -> Iterator[Message]:
    """Say of each record of the branch that gets another status by *merge* which it had and has."""
    for path, (before, now) in merge.changes.items():
        if before and now and is_record(path):
            with contextlib.suppress(BadRecord):
                old, new = record_file.read(before, path), record_file.read(now, path)
                if old.status != new.status:
                    yield moved(old, new)


def _changes(kb: Workspace, head: str, commit: str, review: Review) -> Changes:
    """Return what the merge changes; raise NeedsPerson where kb alone cannot make the checkout follow."""
    names = kb.repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, commit)
    found = [name for name in names.decode("utf-8", "surrogateescape").split("\0") if name]
    paths = [kb.repository.own(name) for name in found]
    before = kb.repository.blobs([(head, path) for path in paths])
    now = kb.repository.blobs([(commit, path) for path in paths])
    for path, was, will in zip(paths, before, now, strict=True):
        if path == review.path:
            _readable(path, will, review)
        if was is not None and will is not None and worktree.clashes(kb.repository, head, path, was, will):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=path),
                hint=msg("commit them first: git commit {path}", path=path),
            )
    return dict(zip(paths, zip(before, now, strict=True), strict=True))


def _readable(path: str, data: bytes | None, review: Review) -> None:
    try:
        record_file.read(data or b"", path)
    except BadRecord as error:
        raise NeedsPerson(error.message, hint=msg("mend it on {branch}", branch=review.branch)) from None


def _not_checked_out(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson while a work tree has the branch, which taking it away would leave without a commit."""
    form = "--format=%(worktreepath)"
    place = kb.repository.git("for-each-ref", form, f"refs/heads/{review.branch}").decode("utf-8", "replace").strip()
    if place:
        raise NeedsPerson(
            msg("{branch} is checked out in {path}", branch=review.branch, path=place),
            hint=msg("check out the branch that is to have it: git switch -"),
        )


def reject(kb: Workspace, name: str) -> Verdict:
    """Do what closing the pull request would do: take the branch away; it stays under `refs/kb/rejected/`."""
    repository = kb.repository
    with repository.locked():
        review = one_review(kb, name)
        _not_checked_out(kb, review)
        ref = stem = REJECTED + review.branch.removeprefix("kb/review/")
        number = 1
        while repository.ref(ref):
            number += 1
            ref = f"{stem}-{number}"
        moves = [Move(ref, review.tip, ""), Move(f"refs/heads/{review.branch}", "", review.tip)]
        try:
            repository.publish(moves, "kb: reject")
        except LostRace:
            raise Busy(msg("{branch} has just been moved", branch=review.branch), hint=msg("look again")) from None
    return Verdict(
        "updated", review.record.title, review.record.kind, review.record.id, review.record.uid, review.record.scope,
        status=str(Status.REJECTED), reasons=(kb.words(msg("rejected; it is kept under {ref}", ref=ref)),),
        commit=review.tip,
    )  # fmt: skip


# -- asking others --------------------------------------------------------------------------------


def request(kb: Workspace, name: str, remote: str, *, open_it: bool) -> list[str]:
    """Push the review *name* to *remote* and return what a person runs to open the request; run it where *open_it*."""
    import shlex
    import shutil

    from kb.git.git_process import run

    review = one_review(kb, name)
    repository = kb.repository
    url = repository.git("config", "--get", f"remote.{remote}.url", check=False).decode().strip()
    if not url:
        raise GitFailed(
            msg("there is no remote {remote}", remote=remote), hint=msg("git remote add {remote} URL", remote=remote)
        )
    target = repository.head().ref.removeprefix("refs/heads/")
    refspec = f"refs/heads/{review.branch}:refs/heads/{review.branch}"
    repository.git("push", *push_options(url, target), remote, refspec)
    title = f"Decide [{review.record.id}] {review.record.title}"
    command = opening(url, review.branch, target, title, reasons(kb, review))
    if not open_it or not shutil.which(command[0]):
        return [shlex.join(command)]
    output = run(command, _for_tools(repository))
    if output.code:
        raise GitFailed(msg("{tool} failed: {problem}", tool=command[0], problem=output.error.strip()))
    return [output.out.decode("utf-8", "replace").strip()]


def _for_tools(repository: Repository) -> dict[str, str]:
    """Return the environment of a program that calls git itself: with its guard, and with nothing of kb's."""
    given = repository.guard.given(["push"])
    return {key: value for key, value in given.items() if not key.startswith("KB_")}


def push_options(url: str, target: str) -> list[str]:
    """Return with what a push asks the host of *url* to open the request for the branch *target* itself."""
    return ["-o", "merge_request.create", "-o", f"merge_request.target={target}"] if "gitlab" in url else []


def opening(url: str, branch: str, target: str, title: str, body: str) -> list[str]:
    """Return the command that opens the request to take *branch* into *target* at the host of *url*."""
    if "gitlab" in url:
        return [
            "glab", "mr", "create", "--source-branch", branch, "--target-branch", target,
            "--title", title, "--description", body,
        ]  # fmt: skip
    return ["gh", "pr", "create", "--head", branch, "--base", target, "--title", title, "--body", body]
