"""New text for a record, from a tool or from a person's editor, merged with the changes of others."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adopted import is_adopted
from kb.errors import BadRecord, ConcurrentEdit
from kb.files import json_bytes, read_if_exists, remove_file, write_atomic
from kb.git import worktree
from kb.i18n import Message, msg
from kb.index.record_ids import find_record
from kb.merge.merge_record import MergedRecord, merge_record
from kb.records.blocks import edit_section, find_record_blocks
from kb.records.front_matter import decode_record, edit_front_matter
from kb.records.model import Candidate, Record, Section, Status, Verdict
from kb.similarity.merge_candidate import (
    build_fields,
    build_sections,
    find_missing_sections,
    suggest_completion,
)
from kb.state.state_folder import is_process_running
from kb.text.segment import slugify
from kb.writing.inbox import find_checkout_damage, hold_damaged, hold_uncommitted
from kb.writing.reviews import propose_text

if TYPE_CHECKING:
    from kb.workspace import Workspace
    from kb.writing.transaction import Transaction


_BY_HAND = frozenset({"", "edited"})
"""Values of `Kb-Op` in commits of a person's text: none, or that of `kb edit`."""
# Sections on where a decision applies, how it is checked and how it is undone. They follow the code, which changes
# without a new decision, so a program may rewrite them.
_KEPT_CURRENT = ("impact", "verification", "rollback")
_LISTS = ("evidence", "additions")  # sections that grow line by line, each line with its own origin


class _FileCommit(NamedTuple):
    """One commit of a record's file, with the file in its parent."""

    by_tool: bool
    before: bytes | None
    after: bytes | None


def is_decision_changed(old: Record, new: Record) -> bool:
    """Return whether *new* changes the decision, or its reasons, of the accepted record *old*.

    It does if it changes the title (the decision, where there is no decision section), an existing claim, or the text
    of a section not in `_KEPT_CURRENT`. Filling an empty section is no change, except for the decision section: the
    title "Use PostgreSQL", "使用 PostgreSQL" is a decision already. Under `_LISTS` and under headings that kb does not
    know ("Consequences", "后果"), lines may be added.
    """
    if old.status != Status.ACCEPTED:
        return False
    if (old.title, old.section("decision").strip()) != (new.title, new.section("decision").strip()):
        return True
    if any(new.claims.get(key) != value for key, value in old.claims.items()):
        return True
    return any(_is_section_changed(section, new) for section in old.sections if section.name not in _KEPT_CURRENT)


def _is_section_changed(section: Section, new: Record) -> bool:
    """Return whether the text of *section*, of the present record, differs in *new*."""
    same = [
        each for each in new.sections if each.name == section.name and (each.name or each.heading == section.heading)
    ]
    there = [line.strip() for each in same for line in each.text.splitlines() if line.strip()]
    lines = [line.strip() for line in section.text.splitlines() if line.strip()]
    if section.name and section.name not in _LISTS:
        return bool(lines) and lines != there
    remaining = iter(there)
    return not all(line in remaining for line in lines)  # new lines may be in between


# -- from a tool ----------------------------------------------------------------------------------


def rewrite_sections(
    transaction: Transaction, candidate: Candidate, grounds: Sequence[Message], *, decided: bool
) -> Verdict:
    """Write the sections of *candidate* into the record it updates (MBANK-04).

    The history shows the tool's own last version. If the record still has it, replace it; if a person has edited it,
    merge three-way. On a conflict, or with uncommitted edits on the same lines, the person's text stays and the tool's
    goes to a review branch. Raise UnknownId if there is no such record.
    """
    record = find_record(transaction.kb.index, candidate.updates, candidate.scope)
    if is_adopted(record):
        problem = msg("the sections of [{id}] have another tool's headings", id=record.scoped_id)
        return transaction.refuse_candidate(candidate, [problem], msg("edit it: kb edit {id}", id=record.scoped_id))
    before = transaction.read_planned(record.path)
    if before is None:
        return hold_uncommitted(transaction, candidate, record.path, grounds, ())
    transaction.kb.files.read(before, record.path)
    if damaged := find_checkout_damage(transaction.kb, record.path, before):
        return hold_damaged(transaction, candidate, damaged, ())
    base = rebuild_tool_version(transaction, record, before)
    wanted = _replace_sections(transaction, base, record, candidate)
    if wanted == base:
        return transaction.build_verdict("unchanged", record, grounds)
    both = worktree.merge_file_versions(transaction.kb.repository, before, base, wanted)
    if both is None or not _is_readable_record(transaction, both, record.path):
        forced = _replace_sections(transaction, before, record, candidate)  # a person's other changes stay
        why = msg("the MACHINE block was edited by hand since kb wrote it, and this changes the same lines")
        return propose_text(transaction, record, forced, candidate, [why, *grounds])
    if both == before:
        return transaction.build_verdict("unchanged", record, grounds)
    if not decided and is_decision_changed(
        transaction.kb.files.read(before, record.path), transaction.kb.files.read(both, record.path)
    ):
        why = msg("it changes what [{id}], which is accepted, says was decided or why", id=record.scoped_id)
        return propose_text(transaction, record, both, candidate, [why, *grounds])
    is_by_hand = _extract_machine_block(base) != _extract_machine_block(before)
    by_hand = [msg("the block was edited by hand; both are in it now")] if is_by_hand else []
    verdict = transaction.plan_replacement(candidate, record, before, both, "updated", [*by_hand, *grounds])
    if verdict.status != Status.PROPOSED:
        return verdict
    # completing a record does not accept it: that needs a command of its own
    now = transaction.kb.files.read(both, record.path)
    accept = msg("it is only proposed; to accept it: kb status {id} accepted", id=now.scoped_id)
    lacking = find_missing_sections(now)
    return verdict._replace(next=transaction.kb.localise(suggest_completion(now, lacking) if lacking else accept))


def rebuild_tool_version(transaction: Transaction, record: Record, now: bytes) -> bytes:
    """Return the file of *record*, *now* in the tip, without people's changes.

    Leave out their commits and merge the tool's later ones onto the rest; a commit that cannot be merged like this is
    taken whole, with everything before it.
    """
    steps = list(_list_file_commits(transaction, record))
    first = next((number for number, step in enumerate(steps) if not step.by_tool), len(steps))
    if first == len(steps):
        return now
    base = steps[first].before
    if base is None:
        return now
    for step in steps[first:]:
        if step.by_tool and step.before is not None and step.after is not None:
            merged = worktree.merge_file_versions(transaction.kb.repository, base, step.before, step.after)
            base = (
                merged if merged is not None and _is_readable_record(transaction, merged, record.path) else step.after
            )
    return base


def _list_file_commits(transaction: Transaction, record: Record) -> list[_FileCommit]:
    """Return the commits of the record's file, oldest first."""
    repository = transaction.kb.repository
    form = "%x01%H%x00%P%x00%(trailers:key=Kb-Op,valueonly,separator=%x2C)%x00"
    where = repository.to_git_path(record.path)
    out = repository.git("log", "--reverse", "--topo-order", f"--format={form}", transaction.head.oid, "--", where)
    rows = [row.split("\0")[:3] for row in out.decode("utf-8", "replace").split("\x01")[1:]]
    wanted = [
        (revision, record.path) for commit, parents, _ in rows for revision in (parents.split(" ")[0] or commit, commit)
    ]
    files = repository.read_blobs(wanted)
    steps = zip(rows, files[::2], files[1::2], strict=True)
    return [
        _FileCommit(op not in _BY_HAND, before if parents else None, after) for (_, parents, op), before, after in steps
    ]


def _replace_sections(transaction: Transaction, data: bytes, record: Record, candidate: Candidate) -> bytes:
    text = decode_record(data, record.path)
    for section in build_sections(candidate):
        text = edit_section(text, section.name, section.text, transaction.kb.config.language, record.path)
    fields = build_fields(candidate._replace(kind=record.kind))
    return (edit_front_matter(text, fields, record.path) if fields else text).encode()


def _extract_machine_block(data: bytes) -> str:
    text = decode_record(data)
    return text[slice(*find_record_blocks(text).machine)]


def _is_readable_record(transaction: Transaction, data: bytes, path: str) -> bool:
    try:
        transaction.kb.files.read(data, path)
    except BadRecord:
        return False
    return True


class MergedEdit(NamedTuple):
    """A merged file for the next commit."""

    before: bytes | None
    """The file the checkout is updated from: the one in the tip, or its own if that is committed too."""
    now: bytes
    removed: Sequence[Message] = ()
    """Text that one side removed and the other left unchanged."""


# -- from a person --------------------------------------------------------------------------------


def merge_with_tip(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed*, edited from the file *opened*, merged with all later changes of others.

    *committed*: the file in the tip at opening, or None if unknown. The person's uncommitted edits, from then or later,
    are committed too. Raise ConcurrentEdit if both changed the same lines.
    """
    tip = transaction.read_planned(record.path)
    opened, typed = _match_line_ends(tip, opened), _match_line_ends(tip, typed)
    if committed is None:
        committed = opened if _was_committed(transaction, record.path, opened) else tip
    if tip is None or committed is None:
        return _merge_with_checkout(transaction, record, opened, typed, committed)
    committed = _match_line_ends(tip, committed)
    if opened == committed:
        merged = _merge_or_refuse(transaction, record, opened, typed, tip, seen=tip, committed=tip)
        return MergedEdit(tip, merged.data, merged.removed)
    mine = _merge_with_checkout(transaction, record, opened, typed, committed)
    merged = _merge_or_refuse(transaction, record, committed, mine.now, tip, seen=tip, committed=tip)
    return MergedEdit(mine.before, merged.data, (*mine.removed, *merged.removed))


def _merge_with_checkout(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed* merged with the checkout's changes since *opened*, committed or not."""
    present = read_if_exists(os.path.join(transaction.kb.root, *record.path.split("/")))
    if present is None:
        raise ConcurrentEdit(msg("the file was removed while it was open in the editor"), path=record.path)
    other = _match_line_ends(transaction.read_planned(record.path), present)
    merged = _merge_or_refuse(transaction, record, opened, typed, other, seen=present, committed=committed)
    return MergedEdit(present, merged.data, merged.removed)


def _merge_or_refuse(
    transaction: Transaction,
    record: Record,
    base: bytes,
    typed: bytes,
    other: bytes,
    *,
    seen: bytes,
    committed: bytes | None,
) -> MergedRecord:
    if is_adopted(record):  # git merges files of other formats line by line, as it does without kb
        merged = worktree.merge_file_versions(transaction.kb.repository, typed, base, other)
        if merged is not None:
            return MergedRecord(merged)
    both = merge_record(base, typed, other, path=record.path, labels=("typed", "committed"))
    if not both.conflicts:
        return both
    problem = msg("somebody changed the same lines while this was open in the editor")
    hint = msg("both versions are in it, between conflict markers; keep what is right")
    raise ConcurrentEdit(problem, path=record.path, hint=hint, marked=both.data, seen=seen, committed=committed)


def _was_committed(transaction: Transaction, path: str, data: bytes) -> bool:
    """Return whether *data* is the file *path* in the tip or an earlier commit, so that it had no uncommitted edits."""
    tip = transaction.read_planned(path)
    if tip is None or data == tip:
        return tip is not None
    repository = transaction.kb.repository
    asked = ("log", "--format=%H", "--no-renames", transaction.head.oid, "--", repository.to_git_path(path))
    blobs = repository.read_blobs([(commit, path) for commit in repository.git(*asked).decode("ascii").split()])
    return data in (_match_line_ends(tip, blob or b"") for blob in blobs)


def _match_line_ends(tip: bytes | None, data: bytes) -> bytes:
    """Return *data* with the line endings of the *tip*: git may use others in the checkout."""
    if tip is None or b"\r\n" in tip:
        return data
    return data.replace(b"\r\n", b"\n")


# -- what is being typed --------------------------------------------------------------------------
#
# The text a person types in an editor stays under `.kb/edits/` until it is committed. The editor works on a file there
# from the start, so that nothing is lost if kb ends first. A second file names the process that waits for the editor;
# if that process is gone, the draft is abandoned, and `kb doctor` reports it.


FOLDER = "edits"
_WAITING = ".json"
_ID = re.compile(r"[A-Z]{1,3}[0-9]{3,9}")


class EditDraft(NamedTuple):
    """A file in which a person edits a record, now or earlier."""

    path: str
    uid: str = ""
    """The uid of its record, or "" if unknown."""
    opened: str = ""
    """The text it began with, or "" if unknown."""


def create_draft(kb: Workspace, name: str, text: str, uid: str = "") -> EditDraft:
    """Create a file with *text* for an editor, and note that this process waits for the editor.

    *name*: the id of the record with *uid*, or the name of a new one.
    """
    kb.state.ensure_folder()
    folder = kb.state.path(FOLDER)
    os.makedirs(folder, exist_ok=True)
    stem = name if _ID.fullmatch(name) else slugify(name)
    for file in itertools.chain([f"{stem}.md"], (f"{stem}-{number}.md" for number in itertools.count(2))):
        path = os.path.join(folder, file)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # no other process has it now
            break
    kb.state.save({"pid": os.getpid(), "uid": uid, "opened": text}, FOLDER, file + _WAITING)
    write_draft(path, text)
    return EditDraft(path, uid, text)


def reopen_draft(kb: Workspace, draft: EditDraft) -> None:
    """Note that this process now waits for the editor of *draft*, and the text `opened` to compare with."""
    waiting = {"pid": os.getpid(), "uid": draft.uid, "opened": draft.opened}
    kb.state.save(waiting, FOLDER, os.path.basename(draft.path) + _WAITING)


def find_kept_draft(kb: Workspace, uid: str) -> EditDraft | None:
    """Return the newest uncommitted draft of the record *uid* whose original text is known, or None."""
    drafts = [draft for draft in list_abandoned_drafts(kb) if uid and draft.uid == uid and draft.opened]
    return max(drafts, key=lambda draft: os.path.getmtime(draft.path), default=None)


def write_draft(path: str, text: str) -> None:
    """Write *text* to the editor's file *path*."""
    write_atomic(path, text.encode())


def read_draft(draft: EditDraft) -> bytes:
    """Return the contents of *draft*, or b"" if the editor has deleted the file."""
    return read_if_exists(draft.path) or b""


def close_draft(draft: EditDraft, *, keep: bool = False) -> None:
    """Delete *draft*, once committed or unchanged; *keep*: only note that no process waits for its editor any more."""
    if keep and (known := read_if_exists(draft.path + _WAITING)):
        write_atomic(draft.path + _WAITING, json_bytes({**json.loads(known), "pid": None}))
        return
    remove_file(draft.path)
    remove_file(draft.path + _WAITING)


def list_abandoned_drafts(kb: Workspace) -> list[EditDraft]:
    """Return the changed drafts that were never committed and whose editor or kb process has ended."""
    found: list[EditDraft] = []
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(kb.state.path(FOLDER)))
    for name in (name for name in names if name.endswith(".md")):
        draft = EditDraft(kb.state.path(FOLDER, name))
        waiting = kb.state.load(FOLDER, name + _WAITING)
        if waiting is None:
            found.append(draft)
            continue
        process, opened = waiting.get("pid"), str(waiting.get("opened", "")).encode()
        is_waited_for = isinstance(process, int) and is_process_running(process)
        if not is_waited_for and read_draft(draft) != opened:
            found.append(draft._replace(uid=str(waiting.get("uid", "")), opened=opened.decode()))
    return found
