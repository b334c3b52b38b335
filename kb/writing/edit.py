"""The life of a record after it is written: change its status, supersede it, confirm it, edit its text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.adr.adopted import RecordFiles
from kb.errors import BadRecord, KbError, UnknownId
from kb.i18n import Message, msg
from kb.records import record_file
from kb.records.blocks import append_to_section
from kb.records.front_matter import decode_record
from kb.records.kinds import BY_NAME, describe_unreplaced, join_section_labels, status_name
from kb.records.model import (
    GLOBAL,
    LIVE,
    READ_AT,
    READ_AT_FORM,
    TRANSITIONS,
    Candidate,
    Record,
    Status,
    Verdict,
    is_imported,
)
from kb.safety import redaction
from kb.similarity.merge_candidate import (
    describe_proposed,
    find_missing_sections,
    suggest_completion,
)
from kb.text.segment import detect_newline, one_line, slugify
from kb.writing.edit_text import is_decision_changed, merge_with_tip
from kb.writing.reviews import propose_changes, propose_text
from kb.writing.transaction import NOT_BY_A_PROGRAM, Transaction, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FINAL_STATUSES = frozenset({Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED})


def reload_record(transaction: Transaction, record: Record) -> Record:
    """Return the present version of *record*, found before the lock was taken; raise UnknownId if it is gone."""
    now = [candidate for candidate in transaction.kb.index.find_by_id(record.id) if candidate.path == record.path]
    if not now:
        raise UnknownId(msg("there is no record {id}", id=record.scoped_id), hint=msg("see: kb list"))
    return now[0]


# -- status ---------------------------------------------------------------------------------------


def change_status(
    kb: Workspace, name: str, status: str, *, why: str, scope: str = "", decided: bool = False
) -> Verdict:
    """Change the status of the record *name*; the reason goes into its section "additions".

    In the same commit, a record that is no longer superseded is removed from the `supersedes` of others, and a newly
    accepted record supersedes those it names. Ending an accepted record, or reviving an ended one, opens a review
    unless a person has *decided* it.
    """
    named = kb.record(name, scope=scope)
    reason, _ = redaction.redact_text(one_line(why), kb.config.masking)
    subject = f"Change status of [{named.id}] to {status}"
    for transaction in transactions(kb):
        with transaction:
            record = reload_record(transaction, named)
            changed, messages = _plan_status(transaction, record, status, reason, decided=decided)
            # each of these ends an accepted record or revives an ended one, which only a person decides
            is_decision = record.status == Status.ACCEPTED or (
                status == Status.ACCEPTED and record.status in _FINAL_STATUSES
            )
            if decided or not (is_decision or len(messages) > 1):
                verdict = transaction.build_verdict("updated", changed, messages)
            else:
                branch = f"{_format_branch_id(record)}-{status}"
                verdict = propose_changes(transaction, changed, branch, subject, [NOT_BY_A_PROGRAM, *messages])
            transaction.commit(subject, f"status {status}", reason)
    return verdict


def deprecate_records(kb: Workspace, records: Sequence[Record], *, why: str, decided: bool = False) -> list[Verdict]:
    """Deprecate *records* in one commit; unless a person has *decided* it, each accepted one opens a review."""
    if replaced := [record for record in records if record.status == Status.SUPERSEDED]:
        remaining = [record for record in records if record.status != Status.SUPERSEDED]
        rest = deprecate_records(kb, remaining, why=why, decided=decided) if remaining else []
        return [*(_keep_superseded(kb, record) for record in replaced), *rest]
    if not decided or len(records) == 1:
        deprecated = Status.DEPRECATED
        return [change_status(kb, r.id, deprecated, why=why, scope=r.scope, decided=decided) for r in records]
    reason, _ = redaction.redact_text(one_line(why), kb.config.masking)
    for transaction in transactions(kb):
        with transaction:
            verdicts = []
            for record in [reload_record(transaction, one) for one in records]:
                changed, messages = _plan_status(transaction, record, Status.DEPRECATED, reason, decided=True)
                verdicts.append(transaction.build_verdict("updated", changed, messages))
            transaction.commit(f"Deprecate {len(records)} records", f"status {Status.DEPRECATED}", reason)
    return verdicts


def list_successors(kb: Workspace, record: Record) -> list[Record]:
    """Return the records that supersede *record*."""
    return [one for one, _ in kb.index.find_referrers(record.id, "supersedes") if one.scope == record.scope]


def describe_successor(newer: Record) -> Message:
    """Return the message that *newer* replaces a record."""
    return msg("replaced by [{id}] {title}", id=newer.scoped_id, title=newer.title)


def _keep_superseded(kb: Workspace, record: Record) -> Verdict:
    """Return the verdict that *record* has already ended, with the records that replaced it."""
    messages = [msg("it is already no longer in effect"), *map(describe_successor, list_successors(kb, record))]
    own = (record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status))
    return Verdict("unchanged", *own, tuple(map(kb.localise, messages)))


def _plan_status(
    transaction: Transaction, record: Record, status: str, reason: str, *, decided: bool
) -> tuple[Record, list[Message]]:
    """Plan a new *status* for *record*; return the changed record, and messages on it and on those it replaces."""
    kb = transaction.kb
    check_transition(kb, record, status, decided=decided)
    newer = list_successors(kb, record)
    if status == Status.SUPERSEDED and not newer:
        hint = msg("kb supersede {id} --by NEW", id=record.scoped_id)
        raise KbError(msg("no record supersedes [{id}]", id=record.scoped_id), path=record.path, hint=hint)
    for other in newer if record.status == Status.SUPERSEDED else ():
        transaction.plan_front_edit(other, {"supersedes": _remove_id(other.supersedes, record.id)}, "status")
    changed = transaction.plan_front_edit(record, {"status": status}, "status")
    if reason:
        plan_addition(
            transaction, changed, "additions", _format_status_change(kb.today(), record.status, status, reason)
        )
    messages = [msg("{old} → {new}", old=status_name(record.status), new=status_name(status))]
    for old_id in changed.supersedes if status == Status.ACCEPTED else ():
        for replaced in kb.index.find_by_id(old_id):
            if replaced.scope == changed.scope and replaced.status in LIVE:
                messages.append(transaction.plan_superseded(replaced))
    return changed, messages


def _format_status_change(day: str, old: str, new: str, reason: str) -> str:
    """Return the line of the section "additions" for a change of status; `find_status_reason` parses it."""
    return f"- {day}: {old} → {new}: {reason}"


def find_status_reason(record: Record) -> str:
    """Return the reason given when *record* got its present status, or "" if none was given."""
    for row in reversed(record.section("additions").splitlines()):
        _, arrow, reason = row.partition(f" → {record.status}: ")
        if arrow:
            return reason.strip()
    return ""


def plan_addition(transaction: Transaction, record: Record, section: str, line: str) -> None:
    """Plan to append *line* to the *section* of *record*; of an adopted record only the commit message has it."""
    if transaction.kb.files.find_folder(record.path):
        return
    before = transaction.read_planned(record.path) or b""
    old = decode_record(before, record.path)
    new = append_to_section(old, section, line, transaction.kb.config.language, record.path)
    record_file.verify_edit(old, new, (), record.path)
    transaction.plan_text_change(record, before, new.encode(), "status")
    transaction.reindex_record(record.path)


def check_transition(kb: Workspace, record: Record, status: str, *, decided: bool = False) -> None:
    """Raise KbError if *record* may not get *status* (RUYI-18).

    If a person has *decided* it, only the sections in the setting `required` are needed. Records of other tools need
    no section.
    """
    if status not in TRANSITIONS:
        raise KbError(msg("there is no status {status}; there are: {all}", status=status, all=list(TRANSITIONS)))
    possible = TRANSITIONS.get(record.status, frozenset(TRANSITIONS))
    if status not in possible:
        old, names = status_name(record.status), sorted(possible)
        why = msg("[{id}] is {old}; from there it can become: {possible}", id=record.scoped_id, old=old, possible=names)
        raise KbError(why, path=record.path)
    asked = kb.config.required if decided else None
    lacking = () if is_imported(record.extra) else find_missing_sections(record, asked)
    if status == Status.ACCEPTED and lacking:
        sections = join_section_labels(lacking, kb.config.language)
        why = msg("[{id}] lacks: {sections}", id=record.scoped_id, sections=sections)
        raise KbError(why, path=record.path, hint=suggest_completion(record, lacking))


def _format_branch_id(record: Record) -> str:
    """Return the part of a branch name that stands for *record*."""
    return record.id if record.scope == GLOBAL else f"{record.id}-{slugify(record.scope.removeprefix('project/'))}"


def _remove_id(ids: Sequence[str], gone: str) -> list[str] | None:
    return [one for one in ids if one != gone] or None


def format_status_label(status: str) -> str:
    """Return the label of *status* for people (RUYI-18)."""
    marks = {Status.ACCEPTED: "✅ 生效", Status.PROPOSED: "⚠️ 待验证"}
    return marks.get(Status(status), "❌ 已废弃") if status in list(Status) else status


# -- supersede ------------------------------------------------------------------------------------


def supersede(
    kb: Workspace, old_name: str, new_name: str, *, in_part: bool = False, scope: str = "", decided: bool = False
) -> Verdict:
    """Mark one record as replaced by another, wholly or in part; one commit changes both.

    If the old one is accepted, this opens a review unless a person has *decided* it. A proposed record supersedes
    nothing until it is accepted.
    """
    named = kb.record(old_name, scope=scope), kb.record(new_name, scope=scope)
    subject = f"Replace [{named[0].id}] by [{named[1].id}]" + (" in part" if in_part else "")
    for transaction in transactions(kb):
        with transaction:
            old, new = (reload_record(transaction, record) for record in named)
            changed, messages = _plan_supersede(transaction, old, new, in_part=in_part)
            is_decision = old.status == new.status == Status.ACCEPTED
            if not transaction.changes:
                verdict = transaction.build_verdict("unchanged", changed, messages)
            elif decided or not is_decision:
                verdict = transaction.build_verdict("updated", changed, messages)
            else:
                branch = f"{_format_branch_id(new)}-{'amends' if in_part else 'supersedes'}-{old.id.lower()}"
                verdict = propose_changes(transaction, changed, branch, subject, [NOT_BY_A_PROGRAM, *messages])
            transaction.commit(subject, "superseded")
    return verdict


def _plan_supersede(
    transaction: Transaction, old: Record, new: Record, *, in_part: bool
) -> tuple[Record, list[Message]]:
    """Plan that *new* replaces *old*; return the changed new record, and messages on both."""
    _check_replaceable(transaction.kb, old, new, in_part=in_part)
    changes: dict[str, object] = {}  # a record is in `supersedes` or in `amends`, never in both
    if in_part and old.id not in new.amends:
        changes = {"amends": [*new.amends, old.id]}
    elif not in_part and old.id not in new.supersedes:
        changes = {"supersedes": [*new.supersedes, old.id]}
        changes |= {"amends": _remove_id(new.amends, old.id)} if old.id in new.amends else {}
    changed = transaction.plan_front_edit(new, changes, "superseded") if changes else new
    messages = [msg("amends [{id}]", id=old.scoped_id) if in_part else msg("supersedes [{id}]", id=old.scoped_id)]
    if not in_part and old.status != Status.SUPERSEDED:
        is_accepted = new.status == Status.ACCEPTED
        messages.append(transaction.plan_superseded(old) if is_accepted else describe_unreplaced(old))
    return changed, messages


def _check_replaceable(kb: Workspace, old: Record, new: Record, *, in_part: bool) -> None:
    """Raise KbError if *new* cannot replace *old*."""
    if old.path == new.path:
        raise KbError(msg("[{id}] cannot replace itself", id=old.scoped_id))
    if old.scope != new.scope:
        raise KbError(msg("[{old}] and [{new}] hold in different scopes", old=old.scoped_id, new=new.scoped_id))
    if new.status not in LIVE:
        why = msg("[{id}] is {status}: it replaces nothing", id=new.scoped_id, status=status_name(new.status))
        raise KbError(why, path=new.path)
    if in_part and old.id in new.supersedes:
        raise KbError(msg("[{new}] replaces [{old}] wholly", old=old.scoped_id, new=new.scoped_id), path=new.path)
    if not in_part and old.status != Status.SUPERSEDED:
        check_transition(kb, old, Status.SUPERSEDED)
    gone: set[str] = set()  # records that *old* supersedes, directly or through others
    ahead = list(old.supersedes)
    while ahead:
        record_id = ahead.pop()
        if record_id not in gone:
            gone.add(record_id)
            ahead += [i for r in kb.index.find_by_id(record_id) if r.scope == old.scope for i in r.supersedes]
    if new.id in gone:
        raise KbError(msg("[{old}] replaces [{new}] already", old=old.scoped_id, new=new.scoped_id), path=old.path)


def confirm(kb: Workspace, name: str, *, scope: str = "") -> Verdict:
    """Confirm that the record *name* is still true today (RUYI-16); an answer can be confirmed several times a day."""
    named = kb.record(name, scope=scope)
    for transaction in transactions(kb):
        with transaction:
            record = reload_record(transaction, named)
            stamp = stamp_confirmation(kb, record)
            if record.confirmed == kb.today() and READ_AT not in stamp:
                return transaction.build_verdict("unchanged", record, [msg("confirmed today already")])
            changed = transaction.plan_front_edit(record, stamp, "confirmed")
            verdict = transaction.build_verdict("updated", changed, [msg("confirmed")])
            transaction.commit(f"Confirm [{named.id}] {named.title}", "confirmed")
    return verdict


def stamp_confirmation(kb: Workspace, record: Record) -> dict[str, object]:
    """Return the front matter values that confirm *record* now: the day, or for an answer the second."""
    if record.kind not in BY_NAME or BY_NAME[record.kind].silenced_by != "sources":
        return {"confirmed": kb.today()}
    return {"confirmed": kb.today(), READ_AT: time.strftime(READ_AT_FORM, time.gmtime(kb.now()))}


# -- text -----------------------------------------------------------------------------------------


def replace_text(
    kb: Workspace, record: Record, text: str, *, opened: str, committed: bytes | None = None, decided: bool = True
) -> Verdict:
    """Commit *text*, which a person edited from *opened*, as the file of *record*; raise BadRecord if it is no record.

    Commits by others since then are merged; *committed* is the file in the tip at opening, if known. Raise
    ConcurrentEdit if they changed the same lines. Id, uid, kind and scope cannot change, a status only where allowed.
    Not *decided*: a program wrote the text, and ending the record opens a review.
    """
    mark = "\ufeff" if opened.startswith("\ufeff") and not text.startswith("\ufeff") else ""
    if detect_newline(opened) == "\r\n" and "\r" not in text:  # editors change line endings and drop byte order marks
        text = text.replace("\n", "\r\n")
    data = (mark + text).encode()
    edited = kb.files.read(data, record.path)
    _check_fixed_keys(kb, record, edited)
    for line, rule in redaction.locate_secrets(text, kb.config.masking):
        why = msg("this looks like a secret ({rule})", rule=rule)
        raise KbError(why, path=record.path, line=line, hint=msg("remove it"))
    for transaction in transactions(kb):
        with transaction:
            verdict = _plan_text(transaction, record, opened.encode(), data, committed, decided=decided)
            transaction.commit(f"Edit [{edited.id}] {edited.title}", "edited")
    return verdict


def _plan_text(
    transaction: Transaction, record: Record, opened: bytes, typed: bytes, committed: bytes | None, *, decided: bool
) -> Verdict:
    tip = transaction.read_planned(record.path)
    new = merge_with_tip(transaction, record, opened, typed, committed)
    if tip == new.now:
        return transaction.build_verdict("unchanged", record, [])
    if tip not in (None, opened):
        known = reload_record(transaction, record)
        _check_fixed_keys(transaction.kb, known, transaction.kb.files.read(new.now, record.path))
    if not decided and (why := _explain_overturn(transaction.kb.files, tip, new.now, record.path)):
        candidate = Candidate(record.kind, record.title, host="cli")
        return propose_text(transaction, reload_record(transaction, record), new.now, candidate, [why])
    if tip is not None and tip == new.before:
        transaction.plan_text_change(record, tip, new.now, "edited")
    else:
        transaction.plan_change(record.path, new.before, new.now, "edited", record)
    changed = transaction.reindex_record(record.path)
    said, remedy = _suggest_acceptance(transaction.kb, changed) if decided else ([], None)
    return transaction.build_verdict("updated", changed, [*new.removed, *said], remedy=remedy)


def _suggest_acceptance(kb: Workspace, record: Record) -> tuple[list[Message], Message | None]:
    """Return why *record* stays unaccepted after a person's edit, and their next step."""
    if record.status != Status.PROPOSED:
        return [], None
    lacking = () if is_imported(record.extra) else find_missing_sections(record, kb.config.required)
    if lacking:
        remark = describe_proposed(join_section_labels(lacking, kb.config.language))
        return [remark], suggest_completion(record, lacking, in_editor=True)
    return [msg("it is only proposed; to accept it: kb status {id} accepted", id=record.scoped_id)], None


def _explain_overturn(files: RecordFiles, tip: bytes | None, now: bytes, path: str) -> Message | None:
    """Return why a program may not commit *now*, or None: it would end the accepted record in *tip*, or others."""
    new = files.read(now, path)
    try:
        old = files.read(tip or b"", path)
    except BadRecord:
        return None
    named = set(new.supersedes + new.amends) - set(old.supersedes + old.amends)
    gone = old.status == Status.ACCEPTED != new.status or (
        new.status == Status.ACCEPTED and old.status in _FINAL_STATUSES
    )
    if gone or named:
        return NOT_BY_A_PROGRAM
    if is_decision_changed(old, new):
        return msg("it changes what [{id}], which is accepted, says was decided or why", id=old.scoped_id)
    return None


def _check_fixed_keys(kb: Workspace, record: Record, edited: Record) -> None:
    """Raise KbError if the edit changes a fixed key."""
    # the id of an adopted record follows from its file, which has not changed
    fixed = ("kind", "scope") if kb.files.find_folder(record.path) else ("id", "uid", "kind", "scope")
    for key in fixed:
        if getattr(edited, key) != getattr(record, key):
            why = msg("the key {key} cannot be changed", key=key)
            raise KbError(why, path=record.path, hint=msg("write a new record and: kb supersede"))
    if edited.status != record.status:
        check_transition(kb, edited._replace(status=record.status), edited.status)
