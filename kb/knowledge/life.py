"""The life of a record after it is written: edit, change status, supersede, confirm, and what history tells of it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kb import markdown
from kb.errors import Busy, KbError
from kb.front import decode
from kb.kinds import BY_NAME
from kb.record import LIVE, TRANSITIONS, Record, Status, Verdict
from kb.store.git.repository import LostRace
from kb.words import say
from kb.writing import redact
from kb.writing.verdict import missing_sections

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.knowledge.write import Writing

T = TypeVar("T")


class Moment(NamedTuple):
    """One step in a record's life (RUYI "种子生命周期")."""

    stage: str
    """播种 seeded, 休眠 dormant, 成熟 matured, 果报 fruited, 更新 updated, 废弃 obsolete: the English word."""
    time: str
    """ISO 8601."""
    cause: str
    commit: str
    author: str


STAGES: Mapping[str, str] = {
    "seeded": "播种", "dormant": "休眠", "matured": "成熟", "fruited": "果报", "updated": "更新", "obsolete": "废弃",
}  # fmt: skip


def alone(kb: "KnowledgeBase", step: "Callable[[Writing], T]", subject: str, operation: str) -> T:
    """Run one *step* that plans changes, and publish them as one commit."""
    from kb.knowledge.write import Writing

    writing = Writing(kb, "", "")
    for _ in range(10):
        writing.forget()
        try:
            with writing.transaction():
                planned = step(writing)
                writing.publish(None, subject, operation)
                return planned
        except LostRace:
            continue
    raise Busy(say("other writers kept moving the branch"), hint=say("try again"))


def allowed(record: Record, status: str) -> None:
    """Raise KbError when *record* may not get *status* (RUYI-18)."""
    if status not in TRANSITIONS:
        words = say("there is no status {status}; there are: {all}", status=status, all=", ".join(TRANSITIONS))
        raise KbError(words)
    if status not in TRANSITIONS[record.status]:
        possible = ", ".join(sorted(TRANSITIONS[record.status]))
        words = say(
            "[{id}] is {old}; from there it can become: {possible}",
            id=record.id,
            old=str(record.status),
            possible=possible,
        )
        raise KbError(words, path=record.path)
    if status == Status.ACCEPTED and (lacking := missing_sections(record)):
        words = say("[{id}] lacks: {sections}", id=record.id, sections=", ".join(lacking))
        raise KbError(words, path=record.path, hint=say("complete it: kb edit {id}", id=record.id))


def change_status(kb: "KnowledgeBase", name: str, status: str, *, why: str, scope: str = "") -> Verdict:
    """Give the record *name* another *status*; the reason goes into its additions and the commit."""
    record = kb.record(name, scope=scope)
    allowed(record, status)
    reason, _ = redact.redact(why, kb.config.private_words)

    def step(writing: "Writing") -> Verdict:
        changed = writing.edit(record, {"status": status}, "status")
        if reason:
            _add_line(writing, changed, f"- {kb.today()}: {record.status} → {status}: {reason}")
        return writing.verdict("updated", changed, [say("{old} → {new}", old=str(record.status), new=status)])

    return alone(kb, step, f"Change status of [{record.id}] to {status}", "status")


def _add_line(writing: "Writing", record: Record, line: str) -> None:
    before = writing.text_of(record.path) or b""
    old = decode(before, record.path)
    new = markdown.append_to_section(old, "additions", line, writing.kb.config.language, record.path)
    markdown.proved(old, new, (), record.path)
    writing.change(record.path, before, new.encode(), "status", record)
    writing.reread(record.path)


def supersede(kb: "KnowledgeBase", old_name: str, new_name: str, *, in_part: bool = False, scope: str = "") -> Verdict:
    """Say that one record replaces another, wholly or in part; both ends agree in one commit."""
    old, new = kb.record(old_name, scope=scope), kb.record(new_name, scope=scope)
    if old.uid == new.uid and old.path == new.path:
        raise KbError(say("[{id}] cannot replace itself", id=old.id))
    if old.scope != new.scope:
        raise KbError(say("[{old}] and [{new}] hold in different scopes", old=old.id, new=new.id))
    if not in_part and old.status != Status.SUPERSEDED:
        allowed(old, Status.SUPERSEDED)

    def step(writing: "Writing") -> Verdict:
        key, present = ("amends", new.amends) if in_part else ("supersedes", new.supersedes)
        changed = new
        if old.id not in present:
            changed = writing.edit(new, {key: [*present, old.id]}, "superseded")
        if not in_part and old.status != Status.SUPERSEDED:
            writing.edit(old, {"status": str(Status.SUPERSEDED)}, "superseded")
        said = say("amends [{id}]", id=old.id) if in_part else say("supersedes [{id}]", id=old.id)
        return writing.verdict("updated" if writing.changes else "unchanged", changed, [said])

    return alone(kb, step, f"Replace [{old.id}] by [{new.id}]" + (" in part" if in_part else ""), "superseded")


def confirm(kb: "KnowledgeBase", name: str, *, scope: str = "") -> Verdict:
    """Stamp the record *name* as found true today (RUYI-16)."""
    record = kb.record(name, scope=scope)

    def step(writing: "Writing") -> Verdict:
        if record.confirmed == kb.today():
            return writing.verdict("unchanged", record, [say("confirmed today already")])
        return writing.verdict(
            "updated", writing.edit(record, {"confirmed": kb.today()}, "confirmed"), [say("confirmed")]
        )

    return alone(kb, step, f"Confirm [{record.id}] {record.title}", "confirmed")


def replace_text(kb: "KnowledgeBase", record: Record, text: str) -> Verdict:
    """Commit *text*, which a person has edited, as the file of *record*; raise BadRecord for what is no record.

    Id, uid, kind and scope of a record do not change; a status moves only where it may.
    """
    data = text.encode()
    edited = markdown.read(data, record.path)
    for key in ("id", "uid", "kind", "scope"):
        if getattr(edited, key) != getattr(record, key):
            raise KbError(
                say("the key {key} cannot be changed", key=key),
                path=record.path,
                hint=say("write a new record and: kb supersede"),
            )
    if edited.status != record.status:
        allowed(edited._replace(status=record.status), edited.status)
    if masked := list(redact.secrets(text)):
        line, rule = masked[0]
        raise KbError(
            say("this looks like a secret ({rule})", rule=rule), path=record.path, line=line, hint=say("take it out")
        )

    def step(writing: "Writing") -> Verdict:
        before = writing.text_of(record.path)
        if before == data:
            return writing.verdict("unchanged", record, [])
        writing.change(record.path, before, data, "edited", record)
        return writing.verdict("updated", writing.reread(record.path), [])

    return alone(kb, step, f"Edit [{edited.id}] {edited.title}", "edited")


def history(kb: "KnowledgeBase", name: str, *, scope: str = "") -> list[Moment]:
    """Return the life of the record *name*, oldest first, from git and from what cites it."""
    from kb.store.git.history import changes_of

    record = kb.record(name, scope=scope)
    moments: list[Moment] = []
    for change in changes_of(kb.repository, record.path):
        moments.append(
            Moment(_stage(change.operation, not moments), change.time, change.subject, change.commit, change.author)
        )
        if len(moments) == 1 and record.status in LIVE:
            moments.append(
                Moment("dormant", change.time, kb.words(say("until a task needs it")), change.commit, change.author)
            )
    from kb.knowledge.recall import uses

    for use in uses(kb, record):
        moments.append(Moment(use.stage, use.time, use.cause, "", ""))
    return sorted(moments, key=lambda moment: moment.time)


def _stage(operation: str, first: bool) -> str:
    if first:
        return "seeded"
    return "obsolete" if operation in ("superseded", "status", "review") else "updated"


def label(status: str) -> str:
    """Return how *status* is shown (RUYI-18)."""
    marks = {Status.ACCEPTED: "✅ 生效", Status.PROPOSED: "⚠️ 待验证"}
    return marks.get(Status(status), "❌ 已废弃") if status in list(Status) else status


def kind_label(kind: str, language: str) -> str:
    """Return the name of *kind* in *language*."""
    row = BY_NAME.get(kind)
    return kind if row is None else row.zh if language == "zh" else row.en
