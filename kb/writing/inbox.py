"""The inbox: what the gate keeps back, one JSON file each in the tree of `refs/kb/inbox`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence

from kb.errors import BadInput, BadRecord, Busy, KbError, UnknownId
from kb.files import json_bytes
from kb.git.repository import LostRace, Move, message
from kb.i18n import Message, msg
from kb.records.candidate import as_json
from kb.records.candidate import candidates as candidates_of
from kb.records.model import Candidate, Record, Similar, Verdict
from kb.records.record_paths import INBOX
from kb.similarity.duplicates import match
from kb.similarity.merge_candidate import source_of
from kb.similarity.verdict import sections_of
from kb.startup.hashes import sha256
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import count, normalise
from kb.writing.objection import Objection

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace
    from kb.writing.transaction import Writing


_TELLING = 8
"""So many 字 of a decision, and its words are its own."""


class Held(NamedTuple):
    """A candidate below the gate."""

    name: str
    candidate: Candidate
    sightings: tuple[Mapping[str, str], ...]
    """Session, host and day of every time it was seen; a session counts once."""
    reasons: tuple[str, ...]
    """Why the gate keeps it, in the words of that day."""


def read(name: str, entry: Mapping[str, Any]) -> Held:
    """Return the *entry* of the inbox file *name*; raise BadInput for what is none.

    It may have come from anybody who shares the inbox.
    """
    try:
        found = candidates_of(entry["candidate"], f"inbox:{name}")
        sightings, reasons = entry.get("sightings", []), entry.get("reasons", [])
        is_one = len(found) == 1 and isinstance(sightings, list) and isinstance(reasons, list)
        words = [*reasons, *(word for sighting in sightings for pair in sighting.items() for word in pair)]
    except (KeyError, TypeError, AttributeError, ValueError):
        is_one, words = False, []
    if not is_one or not all(isinstance(word, str) for word in words):
        raise BadInput(msg("{path} holds no candidate", path=f"inbox:{name}"), hint=msg("see: kb doctor"))
    return Held(name.removesuffix(".json"), found[0], tuple(sightings), tuple(reasons))


def written(held: Held) -> bytes:
    """Return the inbox file of *held*."""
    return json_bytes(_entry(held), indent=1, sort_keys=True) + b"\n"


def _entry(held: Held) -> dict[str, Any]:
    return {"candidate": as_json(held.candidate), "sightings": list(held.sightings), "reasons": list(held.reasons)}


def remember(kb: Workspace, held: Held) -> None:
    """Let the index know *held*."""
    kb.index.hold(held.name + ".json", _entry(held))


def name_of(candidate: Candidate) -> str:
    """Return the name under which *candidate* is held: of what it says, so that its contrary has another."""
    claims = (f"{key}={value}" for key, value in sorted(candidate.claims.items()))
    said = map(normalise, (candidate.title, candidate.decision, *claims))
    return sha256("\0".join((candidate.scope, candidate.kind, *said)).encode()).hexdigest()[:12]


def same_as(kb: Workspace, candidate: Candidate) -> Held | None:
    """Return what is held that says the same as *candidate* and does not contradict it.

    For counting, the same decision word for word is the same matter, whatever its title.
    """
    telling = normalise(candidate.decision) if count(candidate.decision) >= _TELLING else ""
    for held in everything(kb):
        kept = held.candidate
        if (kept.kind, kept.scope) != (candidate.kind, candidate.scope):
            continue
        if telling and normalise(kept.decision) == telling:
            return held
        record = Record(
            "", kept.kind, kept.title, kept.scope, impact=kept.impact, claims=kept.claims, sections=sections_of(kept)
        )
        if match(candidate, [record], kb.config.title_similarity):
            return held
    return None


def heard(held: Held, candidate: Candidate) -> tuple[str, ...]:
    """Return where *candidate* has been seen, `host/session` each, the first time first."""
    earlier = [candidate._replace(session=s.get("session", ""), host=s.get("host", "")) for s in held.sightings]
    return tuple(dict.fromkeys(origin for one in (*earlier, candidate) if (origin := source_of(one))))


def hold(
    writing: Writing,
    candidate: Candidate,
    held: Held | None,
    objections: Sequence[Objection],
    alike: Sequence[Similar],
) -> Verdict:
    """Plan to keep *candidate* in the inbox, where it is counted; *held* is what says the same there."""
    kb = writing.kb
    reasons = tuple(kb.words(o.reason) for o in objections)
    held = held or Held(name_of(candidate), candidate, (), ())
    if candidate.session not in [sighting.get("session", "") for sighting in held.sightings]:
        sighting = {"session": candidate.session, "host": candidate.host, "day": kb.today()}
        held = held._replace(sightings=(*held.sightings, sighting), reasons=reasons)
        writing.inbox[held.name + ".json"] = written(held)
        remember(kb, held)
    return Verdict(
        "held", candidate.title, candidate.kind, id=held.name, scope=candidate.scope, reasons=reasons,
        next=kb.words(_for(objections[0].remedy, held)) if objections else "", similar=tuple(alike),
    )  # fmt: skip


def _for(remedy: Message, held: Held) -> Message:
    """Return *remedy* with the name under which the candidate waits, where it names a command for it."""
    return remedy._replace(values={**remedy.values, "held": held.name}) if "held" in remedy.values else remedy


def hold_uncommitted(
    writing: Writing, candidate: Candidate, path: str, reasons: Sequence[Message], alike: Sequence[Similar]
) -> Verdict:
    """Plan to keep a candidate that concerns the record *path*, which nobody has committed yet."""
    said = [msg("{path} is not committed yet", path=path), *reasons]
    remedy = msg("commit it: git add {path}", path=path)
    objections = [Objection("uncommitted", reason, remedy, refuses=False) for reason in said]
    return hold(writing, candidate, same_as(writing.kb, candidate), objections, alike)


def hold_damaged(writing: Writing, candidate: Candidate, damaged: BadRecord, alike: Sequence[Similar]) -> Verdict:
    """Plan to keep a candidate that may be the record whose file cannot be read, until somebody has mended it."""
    reason = msg("{path} cannot be read, and may say the same: {problem}", path=damaged.path, problem=damaged.message)
    remedy = msg("mend {path}, see: kb check; then: kb inbox promote {held}", path=damaged.path, held="NAME")
    objection = Objection("damaged", reason, remedy, refuses=False)
    return hold(writing, candidate, same_as(writing.kb, candidate), [objection], alike)


def joined(candidate: Candidate, earlier: Candidate) -> Candidate:
    """Return *candidate* with what an *earlier* sighting of it knew and it does not say."""
    empty = {key: value for key, value in earlier._asdict().items() if value and not getattr(candidate, key)}
    return candidate._replace(**{**empty, "evidence": tuple(dict.fromkeys((*earlier.evidence, *candidate.evidence)))})


def everything(kb: Workspace) -> list[Held]:
    """Return all that is held, as the index knows it; what cannot be read is left to `kb doctor`."""
    found: list[Held] = []
    for name, entry in kb.index.held():
        with contextlib.suppress(KbError):
            found.append(read(name, entry))
    return found


def list_held(kb: Workspace) -> list[Held]:
    """Return what the gate keeps back, in step with the ref first."""
    sync(kb)
    return everything(kb)


def unreadable(kb: Workspace) -> list[str]:
    """Return the names of the files in the inbox that hold no candidate."""
    sync(kb)
    return sorted({name for name, _ in kb.index.held()} - {held.name + ".json" for held in everything(kb)})


def sync(kb: Workspace) -> None:
    """Make the index know the inbox as its ref has it, when somebody else has moved the ref."""
    oid = kb.repository.ref(INBOX)
    if kb.index.note("inbox") == oid:
        return
    with kb.index.changing():
        for name, _ in kb.index.held():
            kb.index.hold(name, None)
        names = list(kb.repository.files(oid)) if oid else []
        for name, data in zip(names, kb.repository.blobs([(oid, name) for name in names]), strict=True):
            entry = None
            with contextlib.suppress(ValueError, RecursionError):
                entry = json.loads(data or b"")
            kb.index.hold(name, entry if isinstance(entry, dict) else {})
        kb.index.set_note("inbox", oid)


def move(kb: Workspace, changes: Mapping[str, bytes | None]) -> Move:
    """Build the commit that makes *changes* to the inbox and return the move that publishes it."""
    old = kb.repository.ref(INBOX)
    words = message("Keep what is held", "", {"Kb-Op": "inbox"})
    with kb.state.stage() as stage:
        return Move(INBOX, kb.repository.build(old, changes, words, stage=stage), old)


def one(kb: Workspace, name: str) -> Held:
    """Return what is held under *name*, or under the only name that begins so; raise UnknownId."""
    sync(kb)
    named = [held for held in everything(kb) if held.name.startswith(name.strip())] if name.strip() else []
    if len(named) != 1:
        raise UnknownId(msg("nothing, or more than one thing, is held as {name}", name=name), hint=msg("see: kb inbox"))
    return named[0]


def drop(kb: Workspace, name: str) -> Held:
    """Take what is held under *name* out of the inbox."""
    with kb.repository.locked():
        held = one(kb, name)
        try:
            kb.repository.publish([move(kb, {held.name + ".json": None})], "kb: drop")
        except LostRace:
            raise Busy(msg("the inbox has just been moved"), hint=msg("try again")) from None
        sync(kb)
    return held
