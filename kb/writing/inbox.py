"""The inbox: what the gate keeps back, one JSON file each in the tree of `refs/kb/inbox`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence

from kb.errors import BadInput, BadRecord, Busy, KbError, UnknownId
from kb.files import json_bytes, read_if_exists
from kb.git.commit_message import format_commit_message
from kb.git.repository import LostRace, RefMove
from kb.i18n import Message, msg
from kb.records.blocks import refuse_leftover_marker
from kb.records.candidate import build_candidates, candidate_to_json
from kb.records.kinds import INBOX, SIGNATURE, parse_path_scope
from kb.records.model import Candidate, Record, SimilarRecord, Verdict
from kb.similarity.duplicates import compute_similarity, find_duplicate
from kb.similarity.merge_candidate import (
    SOURCES,
    CandidateDecision,
    build_sections,
    format_source,
    is_counted,
    is_same_failure_told,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import sha256
from kb.text.segment import count_words, normalise, slugify
from kb.writing.quality import Objection

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace
    from kb.writing.transaction import Transaction


_MIN_OWN_WORDING = 8
"""Characters or words of a decision from which on its wording is its own: who writes it again means the same matter."""
_TITLES = regex(r"(?m)^(?:title:[ \t]*|#[ \t]+\[[A-Z]{1,3}[0-9]{3,9}\][ \t]*)([^\r\n]{1,400})")
_MAX_TITLE_BYTES = 8_000
"""Bytes at the beginning of a file in which its title is looked for."""


class HeldCandidate(NamedTuple):
    """A candidate below the gate."""

    name: str
    candidate: Candidate
    sightings: tuple[Mapping[str, str], ...]
    """Session, host and day of every time it was seen; a session counts once."""
    reasons: tuple[str, ...]
    """Why the gate keeps it, in the words of that day."""


def parse_held(name: str, entry: Mapping[str, Any]) -> HeldCandidate:
    """Return the *entry* of the inbox file *name*; raise BadInput for what is none.

    It may have come from anybody who shares the inbox.
    """
    try:
        found = build_candidates(entry["candidate"], f"inbox:{name}")
        sightings, reasons = entry.get("sightings", []), entry.get("reasons", [])
        is_one = len(found) == 1 and isinstance(sightings, list) and isinstance(reasons, list)
        texts = [*reasons, *(text for sighting in sightings for pair in sighting.items() for text in pair)]
    except (KeyError, TypeError, AttributeError, ValueError):
        is_one, texts = False, []
    if not is_one or not all(isinstance(text, str) for text in texts):
        raise BadInput(msg("{path} contains no candidate", path=f"inbox:{name}"), hint=msg("see: kb doctor"))
    return HeldCandidate(name.removesuffix(".json"), found[0], tuple(sightings), tuple(reasons))


def encode_held(held: HeldCandidate) -> bytes:
    """Return the inbox file of *held*."""
    return json_bytes(_build_entry(held), indent=1, sort_keys=True) + b"\n"


def _build_entry(held: HeldCandidate) -> dict[str, Any]:
    candidate = candidate_to_json(held.candidate)
    return {"candidate": candidate, "sightings": list(held.sightings), "reasons": list(held.reasons)}


def build_held_name(candidate: Candidate) -> str:
    """Return the name under which *candidate* is held: of what it says, so that its contrary has another."""
    claims = (f"{key}={value}" for key, value in sorted(candidate.claims.items()))
    said = map(normalise, (candidate.title, candidate.decision, *claims))
    return sha256("\0".join((candidate.scope, candidate.kind, *said)).encode()).hexdigest()[:12]


def find_same(kb: Workspace, candidate: Candidate) -> HeldCandidate | None:
    """Return what is held that says the same as *candidate* and does not contradict it.

    For counting, the same decision word for word is the same matter, and so is the same failure, whatever its title.
    """
    # "Retry three times" or “重试三次” may be said of many matters; a longer sentence, word for word, is the same one.
    telling = normalise(candidate.decision) if count_words(candidate.decision) >= _MIN_OWN_WORDING else ""
    for held in list_indexed(kb):
        kept = held.candidate
        if (kept.kind, kept.scope) != (candidate.kind, candidate.scope):
            continue
        if telling and normalise(kept.decision) == telling:
            return held
        if is_same_failure_told(candidate, tuple(kept.fields.get(SIGNATURE, ()))):
            return held
        record = Record(
            "", kept.kind, kept.title, kept.scope, impact=kept.impact, claims=kept.claims, sections=build_sections(kept)
        )
        if find_duplicate(candidate, [record], kb.config.title_similarity):
            return held
    return None


def list_origins(held: HeldCandidate, candidate: Candidate) -> tuple[str, ...]:
    """Return where *candidate* has been seen, `host/session` each, the first time first."""
    earlier = [candidate._replace(session=s.get("session", ""), host=s.get("host", "")) for s in held.sightings]
    # a session is one origin, whatever programs hand it in
    found: dict[str, str] = {}
    for one in (*earlier, candidate):
        if one.session:
            found.setdefault(one.session, format_source(one))
    return tuple(found.values())


def hold_candidate(
    transaction: Transaction,
    candidate: Candidate,
    held: HeldCandidate | None,
    objections: Sequence[Objection],
    alike: Sequence[SimilarRecord],
) -> Verdict:
    """Plan to keep *candidate* in the inbox, where it is counted; *held* is what says the same there."""
    kb = transaction.kb
    reasons = tuple(kb.localise(o.reason) for o in objections)
    held = held or HeldCandidate(build_held_name(candidate), candidate, (), ())
    # A session that says it again is no second voice: the gate counts sessions.
    if candidate.session not in [sighting.get("session", "") for sighting in held.sightings]:
        sighting = {"session": candidate.session, "host": candidate.host, "day": kb.today()}
        held = held._replace(sightings=(*held.sightings, sighting), reasons=reasons)
        transaction.inbox[held.name + ".json"] = encode_held(held)
        kb.index.save_held_entry(held.name + ".json", _build_entry(held))
    remedy = objections[0].remedy
    if "held" in remedy.values:  # the command it names is for the name under which the candidate waits
        remedy = remedy._replace(values={**remedy.values, "held": held.name})
    title, kind, scope = candidate.title, candidate.kind, candidate.scope
    verdict = Verdict("held", title, kind, id=held.name, scope=scope, reasons=reasons, next=kb.localise(remedy))
    return verdict._replace(similar=tuple(alike))


def hold_uncommitted(
    transaction: Transaction,
    candidate: Candidate,
    path: str,
    reasons: Sequence[Message],
    alike: Sequence[SimilarRecord],
) -> Verdict:
    """Plan to keep a candidate that concerns the record *path*, which nobody has committed yet."""
    remedy = msg("commit it: git add {path}", path=path)
    said = [msg("{path} is not committed yet", path=path), *reasons]
    objections = [Objection("uncommitted", reason, remedy, refuses=False) for reason in said]
    return hold_candidate(transaction, candidate, find_same(transaction.kb, candidate), objections, alike)


def hold_damaged(
    transaction: Transaction, candidate: Candidate, damaged: BadRecord, alike: Sequence[SimilarRecord]
) -> Verdict:
    """Plan to keep a candidate that may be the record whose file cannot be read, until somebody has fixed it."""
    reason = msg("{path} cannot be read, and may say the same: {problem}", path=damaged.path, problem=damaged.message)
    remedy = msg("fix {path}, see: kb check; then: kb inbox promote {held}", path=damaged.path, held="NAME")
    objection = Objection("damaged", reason, remedy, refuses=False)
    return hold_candidate(transaction, candidate, find_same(transaction.kb, candidate), [objection], alike)


def merge_sightings(candidate: Candidate, earlier: Candidate) -> Candidate:
    """Return *candidate* with what an *earlier* sighting of it knew and it does not say.

    Of two cures of a failure the one stands first that names more: "Edit `pom.xml`." says less than what was edited.
    """
    empty = {key: value for key, value in earlier._asdict().items() if value and not getattr(candidate, key)}
    for name in ("sections", "fields"):
        empty[name] = {**getattr(earlier, name), **getattr(candidate, name)}
    cures = [one.sections["solution"] for one in (earlier, candidate) if one.sections.get("solution")]
    if len(cures) == 2:
        cures.sort(key=lambda cure: -cure.count("`"))
        empty["sections"]["solution"] = "\n\n".join(dict.fromkeys(cures))
    return candidate._replace(**{**empty, "evidence": tuple(dict.fromkeys((*earlier.evidence, *candidate.evidence)))})


def list_indexed(kb: Workspace) -> list[HeldCandidate]:
    """Return all that is held, as the index knows it; what cannot be read is left to `kb doctor`."""
    found: list[HeldCandidate] = []
    for name, entry in kb.index.list_held_entries():
        with contextlib.suppress(KbError):
            found.append(parse_held(name, entry))
    return found


def list_held(kb: Workspace) -> list[HeldCandidate]:
    """Return what the gate keeps back, in step with the ref first; nothing of another agent's own."""
    sync_with_ref(kb)
    return [held for held in list_indexed(kb) if kb.can_see(held.candidate.scope)]


def list_unreadable(kb: Workspace) -> list[str]:
    """Return the names of the files in the inbox that hold no candidate."""
    sync_with_ref(kb)
    readable = {held.name + ".json" for held in list_indexed(kb)}
    return sorted({name for name, _ in kb.index.list_held_entries()} - readable)


def sync_with_ref(kb: Workspace) -> None:
    """Make the index know the inbox as its ref has it, when somebody else has moved the ref."""
    oid = kb.repository.resolve_ref(INBOX)
    if kb.index.get_note("inbox") == oid:
        return
    with kb.index.batch_changes():
        for name, _ in kb.index.list_held_entries():
            kb.index.save_held_entry(name, None)
        names = list(kb.repository.list_files(oid)) if oid else []
        for name, data in kb.repository.read_files(oid, names).items():
            entry = None
            with contextlib.suppress(ValueError, RecursionError):
                entry = json.loads(data or b"")
            kb.index.save_held_entry(name, entry if isinstance(entry, dict) else {})
        kb.index.set_note("inbox", oid)


def build_move(kb: Workspace, changes: Mapping[str, bytes | None]) -> RefMove:
    """Build the commit that makes *changes* to the inbox and return the move that publishes it."""
    old = kb.repository.resolve_ref(INBOX)
    message = format_commit_message("Keep what is held", "", {"Kb-Op": "inbox"})
    with kb.state.open_stage() as stage:
        return RefMove(INBOX, kb.repository.build_commit(old, changes, message, stage=stage), old)


def find_held(kb: Workspace, name: str) -> HeldCandidate:
    """Return what is held under *name*, under the only name that begins so, or with its words in its title.

    Raise UnknownId for nothing, or more than one.
    """
    sync_with_ref(kb)
    among = list_indexed(kb) if (words := name.casefold().split()) else []
    named = [held for held in among if held.name.startswith(name.strip())]
    named = named or [held for held in among if all(word in held.candidate.title.casefold() for word in words)]
    if len(named) != 1:
        raise UnknownId(msg("nothing, or more than one thing, is held as {name}", name=name), hint=msg("see: kb inbox"))
    return named[0]


def drop_held(kb: Workspace, name: str) -> HeldCandidate:
    """Take what is held under *name* out of the inbox."""
    with kb.repository.hold_lock():
        held = find_held(kb, name)
        try:
            kb.repository.update_refs([build_move(kb, {held.name + ".json": None})], "kb: drop")
        except LostRace:
            raise Busy(msg("the inbox has just changed"), hint=msg("try again")) from None
        sync_with_ref(kb)
    return held


# -- files that cannot be read --------------------------------------------------------------------


def find_damaged_twin(kb: Workspace, candidate: Candidate) -> BadRecord | None:
    """Return why a file cannot be read that may be the record *candidate* repeats; None where there is none.

    That is one of the candidate's scope with a title like the candidate's, as far as that can be told. A damaged file
    takes no part in looking for duplicates, so that the same would be written a second time.
    """
    slug, plain, limit = slugify(candidate.title), normalise(candidate.title), kb.config.title_similarity
    # The title is looked for by its file name, then in the bytes: front matter that is no YAML still has a title line.
    for error in kb.list_unreadable():
        if parse_path_scope(error.path) != candidate.scope:
            continue
        if slug == os.path.basename(error.path).removesuffix(".md").partition("-")[2]:
            return error
        data = b""
        with contextlib.suppress(OSError):
            data = read_if_exists(os.path.join(kb.root, *error.path.split("/"))) or b""
        for match in _TITLES.finditer(data[:_MAX_TITLE_BYTES].decode("utf-8", "replace")):
            title = match[1].strip().strip("\"'")
            if normalise(title) == plain or compute_similarity(title, candidate.title, limit) > limit:
                return error
    return None


def find_checkout_damage(kb: Workspace, path: str, tip: bytes | None) -> BadRecord | None:
    """Return why the file *path* in the checkout must not be added to; None where it may.

    It cannot be read, not being as in the *tip*, or a conflict marker stayed behind in it.

    The index may not have seen yet that somebody has edited it.
    """
    here = read_if_exists(os.path.join(kb.root, *path.split("/")))
    try:
        if here not in (None, tip):
            kb.files.read(here or b"", path)
        refuse_leftover_marker((here or tip or b"").decode("utf-8", "replace"), path)
    except BadRecord as error:
        return error
    return None


def count_sightings(candidate: Candidate, decision: CandidateDecision, held: HeldCandidate | None) -> tuple[int, bool]:
    """Return how often the candidate has been seen, now included, and whether in a session of its own each time.

    An update is the record's own text made current: that it is like the record is no repetition.
    """
    record = decision.record
    if decision.step == "merge" and record and not candidate.updates:
        is_new = bool(candidate.session) and not is_counted(candidate, record.sources)
        # A record keeps its first and its newest sources, so that a full list says no more who was counted.
        return record.occurrences + 1, is_new and len(record.sources) == min(record.occurrences, SOURCES)
    sessions = {sighting.get("session", "") for sighting in held.sightings} if held else set()
    sessions.add(candidate.session)
    return len(sessions), "" not in sessions
