"""Count what became of records when they were told: told, used and contradicted, read off the transcripts of sessions.

The counts are in the tree of `refs/kb/uses`, one JSON file for each uid: what → day → sessions. Sessions are there by
a digest, in sets: one that is saved twice, or in two clones, counts once, and two clones are brought together by
uniting their sets. No record changes when it is read.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.openings import CORRECTION, find_openings
from kb.errors import KbError, UnknownId
from kb.files import json_bytes
from kb.git.commit_message import format_commit_message
from kb.git.repository import LostRace, RefMove
from kb.index.record_ids import find_record
from kb.index.schema import SINCE, USED
from kb.records.citations import find_citations
from kb.records.kinds import USES
from kb.records.model import Record
from kb.sessions.transcript import HUMAN, AnsweredCall, Transcript, get_prompt, list_agent_texts, list_calls
from kb.state.session_log import EDIT, UNNAMED, SessionLog
from kb.text.mentions import make_relative
from kb.text.segment import build_index_terms
from kb.writing.reviews import list_reviews

if TYPE_CHECKING:
    from kb.capture.save_session import SessionReading
    from kb.workspace import Workspace

_NOTE = "uses"
_UID = re.compile(r"(?:title:|option:|cure:|edit:)?([0-9A-HJKMNP-TV-Z]{26})")
"""What a session was told: a record, its title alone, an option it rejected, its cure, or what governs an edit."""
_HOOK_SECONDS = 2
"""Seconds by which a prompt may be in a transcript after the hook has told what belongs to it."""
_SHOWN = re.compile(r"\bkb\s+show\s+((?:[\w.-]+:)?[A-Z]{1,2}\d{3,9})\b")
_COMMAND = re.compile(r"`([^`\n]{4,200})`")
_EDITORS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


class RecordUses(NamedTuple):
    """What became of one record: for each day the sessions in which it was so for the first time."""

    told: Mapping[str, frozenset[str]] = {}
    used: Mapping[str, frozenset[str]] = {}
    contradicted: Mapping[str, frozenset[str]] = {}

    def count(self, what: str) -> int:
        """Return in how many sessions the record was told, used or contradicted (*what*)."""
        return len(frozenset().union(*getattr(self, what).values()))

    @property
    def balance(self) -> int:
        """In how many more sessions it was used than contradicted."""
        return self.count("used") - self.count("contradicted")

    @property
    def days(self) -> list[str]:
        """The days on which it was told or used, in order."""
        return sorted({*self.told, *self.used})


class RecordUse(NamedTuple):
    """A step in the life of a record: it was first told (matured), or was of use (fruited)."""

    stage: str
    time: str
    cause: str


# -- the ref ---------------------------------------------------------------------------------------


def parse_uses(data: bytes | None) -> RecordUses:
    """Return what a file of the ref says; nothing for what is damaged, as others write there too."""
    with contextlib.suppress(ValueError, RecursionError, AttributeError, TypeError):
        found = json.loads(data or b"{}")
        rows = (
            {str(day): frozenset(map(str, ids)) for day, ids in found.get(k, {}).items()} for k in RecordUses._fields
        )
        return RecordUses(*rows)
    return RecordUses()


def encode_uses(uses: RecordUses) -> bytes:
    """Return the file of *uses*, the same bytes on every clone."""
    rows = {what: {day: sorted(ids) for day, ids in days.items()} for what, days in uses._asdict().items()}
    return json_bytes(rows, indent=1, sort_keys=True) + b"\n"


def merge_uses(ours: bytes, theirs: bytes) -> bytes:
    """Return the file that has both; a session that two clones counted on two days counts on the earlier."""
    both = RecordUses()
    for uses in (parse_uses(ours), parse_uses(theirs)):
        rows = (
            (what, day, session) for what in both._fields for day, ids in getattr(uses, what).items() for session in ids
        )
        for what, day, session in sorted(rows):
            both = _add_session(both, what, day, session)
    return encode_uses(both)


def _add_session(uses: RecordUses, what: str, day: str, session: str) -> RecordUses:
    days: Mapping[str, frozenset[str]] = getattr(uses, what)
    known = next((one for one, ids in days.items() if session in ids), "")
    if known and known <= day:
        return uses
    kept = {one: ids - {session} for one, ids in days.items()}
    kept[day] = kept.get(day, frozenset()) | {session}
    return uses._replace(**{what: {one: ids for one, ids in kept.items() if ids}})


def load_uses(kb: Workspace) -> dict[str, RecordUses]:
    """Return by uid what became of every record that was ever told or used, on all clones that have synced."""
    fold_unnamed(kb)
    refresh_uses(kb)
    oid = kb.repository.resolve_ref(USES)
    names = list(kb.repository.list_files(oid)) if oid else []
    files = kb.repository.read_files(oid, names) if names else {}
    return {name.removesuffix(".json"): parse_uses(data) for name, data in files.items()}


def refresh_uses(kb: Workspace) -> None:
    """Let the index know what the ref says, where that has moved: by it search ranks, and dormant records are known."""
    oid = kb.repository.resolve_ref(USES)
    if not oid or kb.index.get_note(_NOTE) == oid:
        return
    files = kb.repository.read_files(oid, list(kb.repository.list_files(oid)))
    since = kb.index.get_note(SINCE)
    with kb.index.batch_changes():
        for name, data in files.items():
            uses = parse_uses(data)
            if days := uses.days:
                kb.index.set_note(USED + name.removesuffix(".json"), f"{uses.balance} {days[-1]}")
                since = min(since or days[0], days[0])
        kb.index.set_note(SINCE, since)
        kb.index.set_note(_NOTE, oid)


def _add_uses(kb: Workspace, rows: Iterable[tuple[str, str, str, str]]) -> None:
    """Add *rows* of uid, what, day and session to the ref, and let the index know; what is there already is not added.

    Where somebody else was faster nothing is added: the next time the session is saved it is counted.
    """
    rows = sorted(set(rows))
    names = sorted({f"{uid}.json" for uid, *_ in rows})
    with kb.repository.hold_lock():
        old = kb.repository.resolve_ref(USES)
        files = kb.repository.read_files(old, names) if old else dict.fromkeys(names)
        known = {name: parse_uses(data) for name, data in files.items()}
        new = dict(known)
        for uid, what, day, session in rows:
            if not any(session in ids for ids in getattr(new[f"{uid}.json"], what).values()):
                new[f"{uid}.json"] = _add_session(new[f"{uid}.json"], what, day, session)
        changes: dict[str, bytes | None] = {
            name: encode_uses(uses) for name, uses in new.items() if uses != known[name]
        }
        if changes:
            message = format_commit_message("Count what was told and used", "", {"Kb-Op": "uses"})
            with kb.state.open_stage() as stage, contextlib.suppress(LostRace):
                commit = kb.repository.build_commit(old, changes, message, stage=stage)
                kb.repository.update_refs([RefMove(USES, commit, old)], "kb: uses")
    refresh_uses(kb)


def fold_unnamed(kb: Workspace) -> None:
    """Count what was told outside of any session, once a day and clone."""
    log = SessionLog(kb, UNNAMED)
    if tellings := log.list_tellings():
        here = {record.uid for record in kb.sync_index(thorough=False).records()}
        rows = {(uid, "told", _get_day(kb, told)) for key, told in tellings if (uid := _read_uid(key)) in here}
        _add_uses(kb, ((*row, compute_digest(f"{kb.state.clone_mark} {row[-1]}")) for row in rows))
        log.delete_tellings()


def _read_uid(key: str) -> str:
    found = _UID.fullmatch(key)
    return found[1] if found else ""


def compute_digest(session: str) -> str:
    """Return the eight letters and digits by which a session is known."""
    return f"{zlib.crc32(session.encode()):08x}"


def _get_day(kb: Workspace, seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds)) if seconds else kb.today()


def list_uses(kb: Workspace, record: Record) -> list[RecordUse]:
    """Return when *record* was first told, and the days on which it was used, each with in how many sessions."""
    uses = load_uses(kb).get(record.uid, RecordUses())
    told = [RecordUse("matured", min(uses.told), f"told (×{uses.count('told')})")] if uses.told else []
    return told + [RecordUse("fruited", day, f"used (×{len(ids)})") for day, ids in sorted(uses.used.items())]


# -- one session -----------------------------------------------------------------------------------


def count_session_uses(kb: Workspace, reading: SessionReading) -> None:
    """Count what became, in a session that has just been saved, of what it was told; a second time changes nothing.

    Used: cited or shown by the agent; told, and then its file read, a file of its impact edited (unless it was told
    because of that edit), or a command of its verification or solution run. Contradicted: the person's next prompt
    corrects the agent, or the session hands in a candidate that contradicts it. Who wrote a record has not used it yet.
    """
    tellings = SessionLog(kb, reading.job.session, reading.job.agent).list_tellings()
    told: dict[str, float] = {}
    for key, seconds in tellings:
        if uid := _read_uid(key):
            told.setdefault(uid, seconds)
    at_edit = {_read_uid(key) for key, _ in tellings if key.startswith(EDIT)}
    of_uid = {record.uid: record for record in kb.sync_index(thorough=False).records() if record.uid in told}
    lines = {uid: _find_line(reading.transcript, told[uid]) for uid in of_uid}
    written = {row.verdict.uid for row in reading.rows}
    own = f"/{reading.job.session}"
    used = {record.uid: record for record in _iter_named(kb, reading)}
    for uid, record in of_uid.items():
        if _is_followed(record, reading.transcript, lines[uid], by_edit=uid not in at_edit):
            used[uid] = record
    used = {u: r for u, r in used.items() if u not in written and not any(one.endswith(own) for one in r.sources)}
    against = {*_iter_corrected(reading.transcript, of_uid, lines, used), *_iter_overturned(kb, reading, of_uid)}
    session, today = compute_digest(reading.job.session), kb.today()
    # what it was told from a base of the person's own is none of this one's business
    rows = [(uid, "told", _get_day(kb, told[uid]), session) for uid in of_uid]
    rows += [(uid, "used", today, session) for uid in used if uid and uid not in against]
    rows += [(uid, "contradicted", today, session) for uid in against]
    if rows:
        _add_uses(kb, rows)


def _find_line(transcript: Transcript, told: float) -> int:
    """Return the line that precedes what came after the time *told*; 0 where the clocks do not agree."""
    times = [(message.line, _parse_time(message.time)) for message in transcript.messages]
    known = [(line, at) for line, at in times if at]
    if not known or not known[0][1] - 3600 <= told <= known[-1][1]:
        return 0
    return max((line for line, at in known if at <= told + _HOOK_SECONDS), default=0)


def _parse_time(text: str) -> float:
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text).timestamp()
    return 0.0


def _iter_named(kb: Workspace, reading: SessionReading) -> Iterator[Record]:
    """Yield the records that the agent cites in its words, or has shown."""
    names = [
        f"{p}:{i}" if p else i for _, text in list_agent_texts(reading.transcript) for p, i, _ in find_citations(text)
    ]
    for call in list_calls(reading.transcript):
        names += _SHOWN.findall(str(call.request.input.get("command", "")))
        if call.request.name.startswith("mcp__") and call.request.name.endswith("__show"):
            names.append(str(call.request.input.get("id", "")))
    for name in dict.fromkeys(names):
        with contextlib.suppress(KbError, UnknownId):
            yield find_record(kb.index, name, reading.scope)


def _is_followed(record: Record, transcript: Transcript, line: int, *, by_edit: bool) -> bool:
    """Return whether behind *line* the file of *record* was read, a file it governs edited, or a command of its run."""
    later = [call for call in list_calls(transcript) if call.request.line > line and not call.has_failed]
    if any(call.request.name == "Read" and call.request.path.endswith(f"/{record.path}") for call in later):
        return True
    edits = (call for call in later if call.request.name in _EDITORS)
    if by_edit and any(_is_governed(call, record, transcript.cwd) for call in edits):
        return True
    texts = record.section("verification"), record.section("solution")
    commands = {" ".join(command.split()) for text in texts for command in _COMMAND.findall(text) if " " in command}
    run = (
        " ".join(str(call.request.input.get("command", "")).split()) for call in later if call.request.name == "Bash"
    )
    return bool(commands) and any(command in one for one in run for command in commands)


def _is_governed(call: AnsweredCall, record: Record, cwd: str) -> bool:
    path = make_relative(call.request.path, cwd)
    return any(
        path == one.rstrip("/") or path.startswith(one.rstrip("/") + "/") for one in record.impact if one.strip("/.")
    )


def _iter_corrected(
    transcript: Transcript, told: Mapping[str, Record], lines: Mapping[str, int], used: Mapping[str, Record]
) -> Iterator[str]:
    """Yield what the person's next prompt corrects: what it speaks of, else what the agent cited, else the only one."""
    if not told:
        return
    corrections = {opening.line for opening in find_openings(transcript) if opening.kind == CORRECTION}
    prompts = [message for message in transcript.messages if message.origin == HUMAN and get_prompt(message)]
    at_stake: dict[int, list[str]] = {}
    for uid in told:
        # what was told before the first prompt was told for it: the one after it is the next
        later = [prompt.line for prompt in prompts[0 if lines[uid] else 1 :] if prompt.line > lines[uid]]
        at_stake.setdefault(min(later, default=0), []).append(uid)
    for prompt in prompts:
        uids = at_stake.get(prompt.line, []) if prompt.line in corrections else []
        words = set(build_index_terms(get_prompt(prompt)).split()) if uids else set()
        named = [uid for uid in uids if words & set(build_index_terms(told[uid].title).split())]
        yield from named or [uid for uid in uids if uid in used] or (uids if len(uids) == 1 else [])


def _iter_overturned(kb: Workspace, reading: SessionReading, told: Mapping[str, Record]) -> Iterator[str]:
    """Yield what was told and a candidate of the session contradicts or replaces."""
    branches = {row.verdict.branch for row in reading.rows if row.verdict.branch}
    opposed = (
        {(r.record.scope, i) for r in list_reviews(kb) if r.branch in branches for i in r.against}
        if branches
        else set()
    )
    for row in reading.rows:
        opposed |= {(row.candidate.scope or reading.scope, i) for i in row.candidate.supersedes}
    yield from (uid for uid, record in told.items() if record.key in opposed)
