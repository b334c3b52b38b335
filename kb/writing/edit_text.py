"""New text for a record: from a tool, or from a person in an editor, brought together with what others made of it."""

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
"""What `Kb-Op` says of commits whose text is a person's: none, or the one of `kb edit`."""
# Sections that tell where a decision shows, how it is checked and how it is undone. They follow the code, which
# changes without a new decision, so a program may rewrite them.
_KEPT_CURRENT = ("impact", "verification", "rollback")
_LISTS = ("evidence", "additions")  # Sections to which lines are added, each with its own origin


class _FileCommit(NamedTuple):
    """One commit of a record's file, with the file below it."""

    by_tool: bool
    before: bytes | None
    after: bytes | None


def is_decision_changed(old: Record, new: Record) -> bool:
    """Return whether *new*, the text to come of the accepted record *old*, changes what was decided, or why.

    That is its title (of a record without a decision the title is what was decided), a claim that stood in it, and the
    text of every section but those of `_KEPT_CURRENT`. Filling an empty section changes nothing that was said, except
    a decision's: "Use PostgreSQL", "使用 PostgreSQL" has one in its title. Under `_LISTS` and under headings that kb
    does not know ("Consequences", "后果"), lines may be added.
    """
    if old.status != Status.ACCEPTED:
        return False
    if (old.title, old.section("decision").strip()) != (new.title, new.section("decision").strip()):
        return True
    if any(new.claims.get(key) != value for key, value in old.claims.items()):
        return True
    return any(_is_section_changed(section, new) for section in old.sections if section.name not in _KEPT_CURRENT)


def _is_section_changed(section: Section, new: Record) -> bool:
    """Return whether *section*, of the record as it stands, says something else in *new*."""
    same = [
        each for each in new.sections if each.name == section.name and (each.name or each.heading == section.heading)
    ]
    there = [line.strip() for each in same for line in each.text.splitlines() if line.strip()]
    lines = [line.strip() for line in section.text.splitlines() if line.strip()]
    if section.name and section.name not in _LISTS:
        return bool(lines) and lines != there
    left = iter(there)
    return not all(line in left for line in lines)  # further lines may be between them


# -- from a tool ----------------------------------------------------------------------------------


def rewrite_sections(
    transaction: Transaction, candidate: Candidate, grounds: Sequence[Message], *, decided: bool
) -> Verdict:
    """Write the sections of *candidate* into the record it updates (MBANK-04).

    What the tool alone would have there is known from history. Where the record still has that, it is replaced; where
    a person has edited it, merged three-way. Where that conflicts, or where the person has not committed their edits
    of the same lines yet, their text stays and the tool's goes to a review branch. Raise UnknownId for no record.
    """
    record = find_record(transaction.kb.index, candidate.updates, candidate.scope)
    if is_adopted(record):
        said = msg("the sections of [{id}] have another tool's headings", id=record.scoped_id)
        return transaction.refuse_candidate(candidate, [said], msg("edit it: kb edit {id}", id=record.scoped_id))
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
        forced = _replace_sections(transaction, before, record, candidate)  # what a person changed besides stays
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
    # completing a record does not accept it: that is a word of its own
    now = transaction.kb.files.read(both, record.path)
    accept = msg("it is only proposed; to accept it: kb status {id} accepted", id=now.scoped_id)
    lacking = find_missing_sections(now)
    return verdict._replace(next=transaction.kb.localise(suggest_completion(now, lacking) if lacking else accept))


def rebuild_tool_version(transaction: Transaction, record: Record, now: bytes) -> bytes:
    """Return the file of *record*, *now* in the tip, without what people have changed in it.

    Their commits are left out and those of the tool that came after are merged on top of what is left; a commit that
    cannot be merged so is taken as it is, with what was there before it.
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
    """A file as the next commit is to have it."""

    before: bytes | None
    """The file from which the checkout follows: the one in the tip, or where that is committed as well, its own."""
    now: bytes
    removed: Sequence[Message] = ()
    """What one side removed and the other left alone."""


# -- from a person --------------------------------------------------------------------------------


def merge_with_tip(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed*, which was made of the file *opened*, with all that others have done to it since.

    *committed* is the file in the tip when it was opened; None: not known. Where the person's own edits were not
    committed then, they are now, and so are those made since. Raise ConcurrentEdit where both changed the same lines.
    """
    tip = transaction.read_planned(record.path)
    opened, typed = _match_line_ends(tip, opened), _match_line_ends(tip, typed)
    if committed is None:
        committed = opened if _was_committed(transaction, record.path, opened) else tip
    if tip is None or committed is None:
        return _merge_with_checkout(transaction, record, opened, typed, committed)
    committed = _match_line_ends(tip, committed)
    if opened == committed:
        found = _merge_or_refuse(transaction, record, opened, typed, tip, seen=tip, committed=tip)
        return MergedEdit(tip, found.data, found.removed)
    mine = _merge_with_checkout(transaction, record, opened, typed, committed)
    found = _merge_or_refuse(transaction, record, committed, mine.now, tip, seen=tip, committed=tip)
    return MergedEdit(mine.before, found.data, (*mine.removed, *found.removed))


def _merge_with_checkout(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None
) -> MergedEdit:
    """Return *typed* with what the checkout has by now besides *opened*, committed or not."""
    here = read_if_exists(os.path.join(transaction.kb.root, *record.path.split("/")))
    if here is None:
        raise ConcurrentEdit(msg("the file was removed while it was open in the editor"), path=record.path)
    other = _match_line_ends(transaction.read_planned(record.path), here)
    found = _merge_or_refuse(transaction, record, opened, typed, other, seen=here, committed=committed)
    return MergedEdit(here, found.data, found.removed)


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
    if is_adopted(record):  # of another form git merges the lines, as it does without kb
        merged = worktree.merge_file_versions(transaction.kb.repository, typed, base, other)
        if merged is not None:
            return MergedRecord(merged)
    found = merge_record(base, typed, other, path=record.path, labels=("typed", "committed"))
    if not found.conflicts:
        return found
    said = msg("somebody changed the same lines while this was open in the editor")
    hint = msg("both versions are in it, between conflict markers; keep what is right")
    raise ConcurrentEdit(said, path=record.path, hint=hint, marked=found.data, seen=seen, committed=committed)


def _was_committed(transaction: Transaction, path: str, data: bytes) -> bool:
    """Return whether *data* is the file *path* in the tip or in a commit before it: then it had no other edits."""
    tip = transaction.read_planned(path)
    if tip is None or data == tip:
        return tip is not None
    repository = transaction.kb.repository
    asked = ("log", "--format=%H", "--no-renames", transaction.head.oid, "--", repository.to_git_path(path))
    blobs = repository.read_blobs([(commit, path) for commit in repository.git(*asked).decode("ascii").split()])
    return data in (_match_line_ends(tip, blob or b"") for blob in blobs)


def _match_line_ends(tip: bytes | None, data: bytes) -> bytes:
    """Return *data* with the line ends of the *tip*: git may write others into the checkout."""
    if tip is None or b"\r\n" in tip:
        return data
    return data.replace(b"\r\n", b"\n")


# -- what is being typed --------------------------------------------------------------------------
#
# What a person types in an editor is kept under `.kb/edits/` until it is committed, whatever happens meanwhile. The
# editor works on a file there from the start, so that nothing depends on kb being alive when it ends. A second file
# names the process that waits for the editor; without that process the draft is abandoned, and `kb doctor` reports it.


FOLDER = "edits"
_WAITING = ".json"
_ID = re.compile(r"[A-Z]{1,3}[0-9]{3,9}")


class EditDraft(NamedTuple):
    """A file in which somebody edits a record, or has."""

    path: str
    uid: str = ""
    """The uid of its record; "" where nobody knows."""
    opened: str = ""
    """The text it began with; "" where nobody knows."""


def create_draft(kb: Workspace, name: str, text: str, uid: str = "") -> EditDraft:
    """Return a new file with *text* for an editor; it says which process waits for that editor.

    *name* is the id of the record, whose *uid* it is, or what a new one is called.
    """
    kb.state.ensure_folder()
    folder = kb.state.path(FOLDER)
    os.makedirs(folder, exist_ok=True)
    stem = name if _ID.fullmatch(name) else slugify(name)
    for file in itertools.chain([f"{stem}.md"], (f"{stem}-{number}.md" for number in itertools.count(2))):
        path = os.path.join(folder, file)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # nobody else has it now
            break
    kb.state.save({"pid": os.getpid(), "uid": uid, "opened": text}, FOLDER, file + _WAITING)
    write_draft(path, text)
    return EditDraft(path, uid, text)


def reopen_draft(kb: Workspace, draft: EditDraft) -> None:
    """Say of *draft* that this process waits for its editor now, and which text, `opened`, it is compared with."""
    waiting = {"pid": os.getpid(), "uid": draft.uid, "opened": draft.opened}
    kb.state.save(waiting, FOLDER, os.path.basename(draft.path) + _WAITING)


def find_kept_draft(kb: Workspace, uid: str) -> EditDraft | None:
    """Return what was typed last for the record *uid* and never committed, where it is known from which text."""
    kept = [draft for draft in list_abandoned_drafts(kb) if uid and draft.uid == uid and draft.opened]
    return max(kept, key=lambda draft: os.path.getmtime(draft.path), default=None)


def write_draft(path: str, text: str) -> None:
    """Let the file *path* of an editor hold *text*."""
    write_atomic(path, text.encode())


def read_draft(draft: EditDraft) -> bytes:
    """Return what the editor has left in *draft*; nothing where it has taken the file away."""
    return read_if_exists(draft.path) or b""


def close_draft(draft: EditDraft, *, keep: bool = False) -> None:
    """Take *draft* away, as it is committed or nothing was typed; *keep*: only nobody waits for its editor any more."""
    if keep and (known := read_if_exists(draft.path + _WAITING)):
        write_atomic(draft.path + _WAITING, json_bytes({**json.loads(known), "pid": None}))
        return
    remove_file(draft.path)
    remove_file(draft.path + _WAITING)


def list_abandoned_drafts(kb: Workspace) -> list[EditDraft]:
    """Return what was typed and never committed: its editor or kb has ended; what nobody has changed is no loss."""
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
