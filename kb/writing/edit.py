"""The life of a record after it is written: edit, change status, supersede, confirm, and what history tells of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kb.errors import BadRecord, KbError, UnknownId
from kb.i18n import Message, msg
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.kinds import join_section_labels, status_name
from kb.records.model import GLOBAL, LIVE, TRANSITIONS, Candidate, Record, Status, Verdict
from kb.safety import redaction
from kb.similarity.verdict import find_missing_sections, is_decision_changed, suggest_completion
from kb.text.line_ends import detect_newline
from kb.text.segment import one_line, slugify
from kb.writing.reviews import propose_changes, propose_text
from kb.writing.transaction import NOT_BY_A_PROGRAM, Transaction, describe_status_change, describe_unreplaced

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

    from kb.workspace import Workspace

_OVER = frozenset({Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED})


def commit_step(kb: Workspace, step: Callable[[Transaction], T], subject: str, operation: str, why: str = "") -> T:
    """Run one *step* that plans changes, and publish them as one commit that tells *why*; a lost race runs it again."""
    writing = Transaction(kb, "", "")

    def publish_plan(planned: T) -> T:
        writing.publish(None, subject, operation, why)
        return planned

    return writing.run_with_retries(lambda: step(writing), publish_plan)


def reload_record(writing: Transaction, record: Record) -> Record:
    """Return *record*, which was named before the lock was taken, as it is now; raise UnknownId when it is gone."""
    now = [found for found in writing.kb.index.find_by_id(record.id) if found.path == record.path]
    if not now:
        raise UnknownId(msg("there is no record {id}", id=record.scoped_id), hint=msg("see: kb list"))
    return now[0]


def check_transition(kb: Workspace, record: Record, status: str) -> None:
    """Raise KbError when *record* may not get *status* (RUYI-18)."""
    if status not in TRANSITIONS:
        words = msg("there is no status {status}; there are: {all}", status=status, all=", ".join(TRANSITIONS))
        raise KbError(words)
    possible = TRANSITIONS.get(record.status, frozenset(TRANSITIONS))
    if status not in possible:
        words = msg(
            "[{id}] is {old}; from there it can become: {possible}",
            id=record.scoped_id,
            old=status_name(record.status),
            possible=", ".join(sorted(possible)),
        )
        raise KbError(words, path=record.path)
    if status == Status.ACCEPTED and (lacking := find_missing_sections(record)):
        words = msg(
            "[{id}] lacks: {sections}", id=record.scoped_id, sections=join_section_labels(lacking, kb.config.language)
        )
        raise KbError(words, path=record.path, hint=suggest_completion(record, lacking))


def change_status(
    kb: Workspace, name: str, status: str, *, why: str, scope: str = "", decided: bool = False
) -> Verdict:
    """Give the record *name* another *status*; the reason goes into its additions.

    What is no longer superseded is taken out of the `supersedes` of the others in the same commit, and what is accepted
    now takes those out of force that it supersedes. Where a record that was accepted goes out of force, or one that was
    taken out of force comes back, it is a review, unless a person has *decided* it.
    """
    named = kb.record(name, scope=scope)
    reason, _ = redaction.redact_text(one_line(why), kb.config.masking)

    def plan_status(writing: Transaction) -> Verdict:
        record = reload_record(writing, named)
        check_transition(kb, record, status)
        newer = [other for other, _ in kb.index.find_referrers(record.id, "supersedes") if other.scope == record.scope]
        if status == Status.SUPERSEDED and not newer:
            hint = msg("kb supersede {id} --by NEW", id=record.scoped_id)
            raise KbError(msg("no record supersedes [{id}]", id=record.scoped_id), path=record.path, hint=hint)
        for other in newer if record.status == Status.SUPERSEDED else ():
            writing.plan_front_edit(other, {"supersedes": _remove_id(other.supersedes, record.id)}, "status")
        changed = writing.plan_front_edit(record, {"status": status}, "status")
        if reason:
            _append_addition(writing, changed, f"- {kb.today()}: {record.status} → {status}: {reason}")
        gone = _supersede_replaced(writing, changed) if status == Status.ACCEPTED else []
        said = [msg("{old} → {new}", old=status_name(record.status), new=status_name(status)), *gone]
        reopened = status == Status.ACCEPTED and record.status in _OVER
        if decided or not (gone or reopened or record.status == Status.ACCEPTED):
            return writing.build_verdict("updated", changed, said)
        return propose_changes(
            writing, changed, f"{_format_branch_id(record)}-{status}", subject, [NOT_BY_A_PROGRAM, *said]
        )

    subject = f"Change status of [{named.id}] to {status}"
    return commit_step(kb, plan_status, subject, f"status {status}", reason)


def _supersede_replaced(writing: Transaction, record: Record) -> list[Message]:
    """Take out of force what *record*, which is accepted now, supersedes; return what to say of each."""
    found = [
        old for name in record.supersedes for old in writing.kb.index.find_by_id(name) if old.scope == record.scope
    ]
    live = [old for old in found if old.status in LIVE]
    return [
        describe_status_change(old, writing.plan_front_edit(old, {"status": str(Status.SUPERSEDED)}, "superseded"))
        for old in live
    ]


def _format_branch_id(record: Record) -> str:
    """Return how the name of a branch names *record*."""
    return record.id if record.scope == GLOBAL else f"{record.id}-{slugify(record.scope.removeprefix('project/'))}"


def _remove_id(ids: Sequence[str], gone: str) -> list[str] | None:
    return [one for one in ids if one != gone] or None


def _append_addition(writing: Transaction, record: Record, line: str) -> None:
    before = writing.read_planned(record.path) or b""
    old = decode_record(before, record.path)
    new = record_file.append_to_section(old, "additions", line, writing.kb.config.language, record.path)
    record_file.verify_edit(old, new, (), record.path)
    writing.plan_text_change(record, before, new.encode(), "status")
    writing.reindex_record(record.path)


def supersede(
    kb: Workspace, old_name: str, new_name: str, *, in_part: bool = False, scope: str = "", decided: bool = False
) -> Verdict:
    """Say that one record replaces another, wholly or in part; both ends agree in one commit.

    Where the old one is accepted it is a review, unless a person has *decided* it. A record that is only proposed
    takes nothing out of force until it is accepted.
    """
    named = kb.record(old_name, scope=scope), kb.record(new_name, scope=scope)

    def plan_supersede(writing: Transaction) -> Verdict:
        old, new = (reload_record(writing, record) for record in named)
        _check_replaceable(kb, old, new, in_part=in_part)
        changes = _build_link_changes(old, new, in_part=in_part)
        changed = writing.plan_front_edit(new, changes, "superseded") if changes else new
        said = [msg("amends [{id}]", id=old.scoped_id) if in_part else msg("supersedes [{id}]", id=old.scoped_id)]
        if not in_part and old.status != Status.SUPERSEDED:
            if new.status == Status.ACCEPTED:
                said.append(
                    describe_status_change(
                        old, writing.plan_front_edit(old, {"status": str(Status.SUPERSEDED)}, "superseded")
                    )
                )
            else:
                said.append(describe_unreplaced(old))
        if not writing.changes:
            return writing.build_verdict("unchanged", changed, said)
        if decided or old.status != Status.ACCEPTED or new.status != Status.ACCEPTED:
            return writing.build_verdict("updated", changed, said)
        name = f"{_format_branch_id(new)}-{'amends' if in_part else 'supersedes'}-{old.id.lower()}"
        return propose_changes(writing, changed, name, subject, [NOT_BY_A_PROGRAM, *said])

    subject = f"Replace [{named[0].id}] by [{named[1].id}]" + (" in part" if in_part else "")
    return commit_step(kb, plan_supersede, subject, "superseded")


def _build_link_changes(old: Record, new: Record, *, in_part: bool) -> dict[str, object]:
    """Return what the front of *new* gets; a record stands in `supersedes` or in `amends`, not in both."""
    if in_part:
        return {} if old.id in new.amends else {"amends": [*new.amends, old.id]}
    if old.id in new.supersedes:
        return {}
    amends = {"amends": _remove_id(new.amends, old.id)} if old.id in new.amends else {}
    return {"supersedes": [*new.supersedes, old.id], **amends}


def _check_replaceable(kb: Workspace, old: Record, new: Record, *, in_part: bool) -> None:
    """Raise KbError when *new* cannot replace *old*."""
    if old.path == new.path:
        raise KbError(msg("[{id}] cannot replace itself", id=old.scoped_id))
    if old.scope != new.scope:
        raise KbError(msg("[{old}] and [{new}] hold in different scopes", old=old.scoped_id, new=new.scoped_id))
    if new.status not in LIVE:
        words = msg("[{id}] is {status}: it replaces nothing", id=new.scoped_id, status=status_name(new.status))
        raise KbError(words, path=new.path)
    if in_part and old.id in new.supersedes:
        raise KbError(msg("[{new}] replaces [{old}] wholly", old=old.scoped_id, new=new.scoped_id), path=new.path)
    if not in_part and old.status != Status.SUPERSEDED:
        check_transition(kb, old, Status.SUPERSEDED)
    if new.id in _collect_superseded(kb, old):
        raise KbError(msg("[{old}] replaces [{new}] already", old=old.scoped_id, new=new.scoped_id), path=old.path)


def _collect_superseded(kb: Workspace, record: Record) -> set[str]:
    """Return the ids that *record* supersedes, directly or through others."""
    found: set[str] = set()
    ahead = list(record.supersedes)
    while ahead:
        record_id = ahead.pop()
        if record_id not in found:
            found.add(record_id)
            ahead += [i for r in kb.index.find_by_id(record_id) if r.scope == record.scope for i in r.supersedes]
    return found


def confirm(kb: Workspace, name: str, *, scope: str = "") -> Verdict:
    """Stamp the record *name* as found true today (RUYI-16)."""
    named = kb.record(name, scope=scope)

    def plan_confirm(writing: Transaction) -> Verdict:
        record = reload_record(writing, named)
        if record.confirmed == kb.today():
            return writing.build_verdict("unchanged", record, [msg("confirmed today already")])
        changed = writing.plan_front_edit(record, {"confirmed": kb.today()}, "confirmed")
        return writing.build_verdict("updated", changed, [msg("confirmed")])

    return commit_step(kb, plan_confirm, f"Confirm [{named.id}] {named.title}", "confirmed")


def replace_text(
    kb: Workspace, record: Record, text: str, *, opened: str, committed: bytes | None = None, decided: bool = True
) -> Verdict:
    """Commit *text*, which a person made of *opened*, as the file of *record*; raise BadRecord for what is no record.

    What others have committed since stays: *committed* is the file in the tip when it was opened, where that is known.
    Raise Overtaken where they changed the same lines. Id, uid, kind and scope of a record do not change; a status
    moves only where it may. Not *decided*: no person typed it, and what takes the record out of force is a review.
    """
    from kb.writing.edit_text import merge_with_tip

    data = _match_line_ends(opened, text).encode()
    edited = record_file.read(data, record.path)
    _check_fixed_keys(kb, record, edited)
    if masked := list(redaction.locate_secrets(text, kb.config.masking)):
        line, rule = masked[0]
        raise KbError(
            msg("this looks like a secret ({rule})", rule=rule), path=record.path, line=line, hint=msg("take it out")
        )

    def plan_text(writing: Transaction) -> Verdict:
        tip = writing.read_planned(record.path)
        new = merge_with_tip(writing, record, opened.encode(), data, committed)
        if tip == new.now:
            return writing.build_verdict("unchanged", record, [])
        if tip not in (None, opened.encode()):
            _check_fixed_keys(kb, reload_record(writing, record), record_file.read(new.now, record.path))
        if not decided and (why := _explain_overturn(tip, new.now, record.path)):
            candidate = Candidate(record.kind, record.title, host="cli")
            return propose_text(writing, reload_record(writing, record), new.now, candidate, [why])
        if tip is not None and tip == new.before:
            writing.plan_text_change(record, tip, new.now, "edited")
        else:
            writing.plan_change(record.path, new.before, new.now, "edited", record)
        return writing.build_verdict("updated", writing.reindex_record(record.path), new.removed)

    return commit_step(kb, plan_text, f"Edit [{edited.id}] {edited.title}", "edited")


def _explain_overturn(tip: bytes | None, now: bytes, path: str) -> Message | None:
    """Return why *now* is no program's to commit: it takes the accepted record in *tip* out of force, or others."""
    new = record_file.read(now, path)
    try:
        old = record_file.read(tip or b"", path)
    except BadRecord:
        return None
    named = set(new.supersedes + new.amends) - set(old.supersedes + old.amends)
    gone = old.status == Status.ACCEPTED != new.status or (new.status == Status.ACCEPTED and old.status in _OVER)
    if gone or named:
        return NOT_BY_A_PROGRAM
    if is_decision_changed(old, new):
        return msg("it changes what [{id}], which is accepted, says was decided or why", id=old.scoped_id)
    return None


def _match_line_ends(opened: str, text: str) -> str:
    """Return *text* with the mark at the beginning and the line ends of *opened*, which editors may drop."""
    mark = "\ufeff" if opened.startswith("\ufeff") and not text.startswith("\ufeff") else ""
    if detect_newline(opened) == "\r\n" and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return mark + text


def _check_fixed_keys(kb: Workspace, record: Record, edited: Record) -> None:
    """Raise KbError where a person has changed what does not change."""
    for key in ("id", "uid", "kind", "scope"):
        if getattr(edited, key) != getattr(record, key):
            raise KbError(
                msg("the key {key} cannot be changed", key=key),
                path=record.path,
                hint=msg("write a new record and: kb supersede"),
            )
    if edited.status != record.status:
        check_transition(kb, edited._replace(status=record.status), edited.status)


def format_status_label(status: str) -> str:
    """Return how *status* is shown (RUYI-18)."""
    marks = {Status.ACCEPTED: "✅ 生效", Status.PROPOSED: "⚠️ 待验证"}
    return marks.get(Status(status), "❌ 已废弃") if status in list(Status) else status
