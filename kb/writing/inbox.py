"""The inbox: candidates held by the gate, one JSON file each in the tree of `refs/kb/inbox`."""

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
"""Length of a decision, in characters or words, from which the same wording means the same subject."""
_TITLES = regex(r"(?m)^(?:title:[ \t]*|#[ \t]+\[[A-Z]{1,3}[0-9]{3,9}\][ \t]*)([^\r\n]{1,400})")
_MAX_TITLE_BYTES = 8_000
"""Bytes at the beginning of a file to search for its title."""


class HeldCandidate(NamedTuple):
    """A candidate that the gate holds."""

    name: str
    candidate: Candidate
    sightings: tuple[Mapping[str, str], ...]
    """Session, host and day of each sighting; a session counts once."""
    reasons: tuple[str, ...]
    """Why the gate holds it, as worded then."""


def parse_held(name: str, entry: Mapping[str, Any]) -> HeldCandidate:
    """Parse the *entry* of the inbox file *name*; raise BadInput if it is malformed.

    It may come from anybody who shares the inbox.
    """
    try:
        candidates = build_candidates(entry["candidate"], f"inbox:{name}")
        sightings, reasons = entry.get("sightings", []), entry.get("reasons", [])
        is_one = len(candidates) == 1 and isinstance(sightings, list) and isinstance(reasons, list)
        texts = [*reasons, *(text for sighting in sightings for pair in sighting.items() for text in pair)]
    except (KeyError, TypeError, AttributeError, ValueError):
        is_one, texts = False, []
    if not is_one or not all(isinstance(text, str) for text in texts):
        raise BadInput(msg("{path} contains no candidate", path=f"inbox:{name}"), hint=msg("see: kb doctor"))
    return HeldCandidate(name.removesuffix(".json"), candidates[0], tuple(sightings), tuple(reasons))


def encode_held(held: HeldCandidate) -> bytes:
    """Return the inbox file of *held*."""
    return json_bytes(_build_entry(held), indent=1, sort_keys=True) + b"\n"


def _build_entry(held: HeldCandidate) -> dict[str, Any]:
    candidate = candidate_to_json(held.candidate)
    return {"candidate": candidate, "sightings": list(held.sightings), "reasons": list(held.reasons)}


def build_held_name(candidate: Candidate) -> str:
    """Return the name under which *candidate* is held; it depends on the statement, so a contrary one gets another."""
    claims = (f"{key}={value}" for key, value in sorted(candidate.claims.items()))
    statement = map(normalise, (candidate.title, candidate.decision, *claims))
    return sha256("\0".join((candidate.scope, candidate.kind, *statement)).encode()).hexdigest()[:12]


def find_same(kb: Workspace, candidate: Candidate) -> HeldCandidate | None:
    """Return the held candidate with the same statement as *candidate*, or None.

    The same decision word for word counts as the same statement, and so does the same failure, whatever its title.
    """
    # “Retry three times” or “重试三次” may be about many subjects; a longer sentence, word for word, is about one.
    telling = normalise(candidate.decision) if count_words(candidate.decision) >= _MIN_OWN_WORDING else ""
    for held in list_indexed(kb):
        waiting = held.candidate
        if (waiting.kind, waiting.scope) != (candidate.kind, candidate.scope):
            continue
        if telling and normalise(waiting.decision) == telling:
            return held
        if is_same_failure_told(candidate, tuple(waiting.fields.get(SIGNATURE, ()))):
            return held
        record = Record(
            "",
            waiting.kind,
            waiting.title,
            waiting.scope,
            impact=waiting.impact,
            claims=waiting.claims,
            sections=build_sections(waiting),
        )
        if find_duplicate(candidate, [record], kb.config.title_similarity):
            return held
    return None


def list_origins(held: HeldCandidate, candidate: Candidate) -> tuple[str, ...]:
    """Return where *candidate* has been seen, each as `host/session`, the first sighting first."""
    earlier = [candidate._replace(session=s.get("session", ""), host=s.get("host", "")) for s in held.sightings]
    # a session is one origin, even if several programs submit it
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
    """Plan to hold *candidate* in the inbox and count the sighting; *held* is the same statement there, if any."""
    kb = transaction.kb
    reasons = tuple(kb.localise(o.reason) for o in objections)
    held = held or HeldCandidate(build_held_name(candidate), candidate, (), ())
    # the same session again is no new sighting: the gate counts sessions
    if candidate.session not in [sighting.get("session", "") for sighting in held.sightings]:
        sighting = {"session": candidate.session, "host": candidate.host, "day": kb.today()}
        held = held._replace(sightings=(*held.sightings, sighting), reasons=reasons)
        transaction.inbox[held.name + ".json"] = encode_held(held)
        kb.index.save_held_entry(held.name + ".json", _build_entry(held))
    remedy = objections[0].remedy
    if "held" in remedy.values:  # the next step has to name the held candidate
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
    """Plan to hold a candidate about the record *path*, which is not committed yet."""
    remedy = msg("commit it: git add {path}", path=path)
    messages = [msg("{path} is not committed yet", path=path), *reasons]
    objections = [Objection("uncommitted", reason, remedy, refuses=False) for reason in messages]
    return hold_candidate(transaction, candidate, find_same(transaction.kb, candidate), objections, alike)


def hold_damaged(
    transaction: Transaction, candidate: Candidate, damaged: BadRecord, alike: Sequence[SimilarRecord]
) -> Verdict:
    """Plan to hold a candidate that may repeat a record with an unreadable file, until somebody fixes the file."""
    reason = msg("{path} cannot be read, and may say the same: {problem}", path=damaged.path, problem=damaged.message)
    remedy = msg("fix {path}, see: kb check; then: kb inbox promote {held}", path=damaged.path, held="NAME")
    objection = Objection("damaged", reason, remedy, refuses=False)
    return hold_candidate(transaction, candidate, find_same(transaction.kb, candidate), [objection], alike)


def merge_sightings(candidate: Candidate, earlier: Candidate) -> Candidate:
    """Return *candidate* with empty fields filled from an *earlier* sighting of it.

    Of two cures of a failure the more specific one comes first: "Edit `pom.xml`." does not say what was edited.
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
    """Return the held candidates in the index; `kb doctor` reports unreadable files."""
    found: list[HeldCandidate] = []
    for name, entry in kb.index.list_held_entries():
        with contextlib.suppress(KbError):
            found.append(parse_held(name, entry))
    return found


def list_held(kb: Workspace) -> list[HeldCandidate]:
    """Return the held candidates, after an update from the ref, without the private ones of other agents."""
    sync_with_ref(kb)
    return [held for held in list_indexed(kb) if kb.can_see(held.candidate.scope)]


def list_unreadable(kb: Workspace) -> list[str]:
    """Return the names of the inbox files that cannot be parsed."""
    sync_with_ref(kb)
    readable = {held.name + ".json" for held in list_indexed(kb)}
    return sorted({name for name, _ in kb.index.list_held_entries()} - readable)


def sync_with_ref(kb: Workspace) -> None:
    """Update the inbox in the index if another process has moved its ref."""
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
    """Return the held candidate *name*: by full name, by a unique prefix, or by words of its title.

    Raise UnknownId if none or several match.
    """
    sync_with_ref(kb)
    among = list_indexed(kb) if (words := name.casefold().split()) else []
    named = [held for held in among if held.name.startswith(name.strip())]
    named = named or [held for held in among if all(word in held.candidate.title.casefold() for word in words)]
    if len(named) != 1:
        raise UnknownId(msg("nothing, or more than one thing, is held as {name}", name=name), hint=msg("see: kb inbox"))
    return named[0]


def drop_held(kb: Workspace, name: str) -> HeldCandidate:
    """Delete the held candidate *name* from the inbox."""
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
    """Return the error of an unreadable file that *candidate* may repeat, or None.

    Such a file is of the candidate's scope and has a similar title, as far as can be told. Damaged files are not
    compared for duplicates, so without this the same record would be written twice.
    """
    slug, plain, limit = slugify(candidate.title), normalise(candidate.title), kb.config.title_similarity
    # compare the file name, then search the bytes: broken front matter may still have a title line
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
    """Return why the file *path* in the checkout must not be extended, or None.

    It differs from the *tip* and cannot be read, or has a leftover conflict marker; the index may not know of it yet.
    """
    present = read_if_exists(os.path.join(kb.root, *path.split("/")))
    try:
        if present not in (None, tip):
            kb.files.read(present or b"", path)
        refuse_leftover_marker((present or tip or b"").decode("utf-8", "replace"), path)
    except BadRecord as error:
        return error
    return None


def count_sightings(candidate: Candidate, decision: CandidateDecision, held: HeldCandidate | None) -> tuple[int, bool]:
    """Return how often the candidate has been seen, including now, and whether each time in a session of its own.

    An update of a record is similar to it by nature, so that is no sighting.
    """
    record = decision.record
    if decision.step == "merge" and record and not candidate.updates:
        is_new = bool(candidate.session) and not is_counted(candidate, record.sources)
        # a record keeps only its first and newest sources, so a full list does not show every counted session
        return record.occurrences + 1, is_new and len(record.sources) == min(record.occurrences, SOURCES)
    sessions = {sighting.get("session", "") for sighting in held.sightings} if held else set()
    sessions.add(candidate.session)
    return len(sessions), "" not in sessions
