"""Propose what is worth keeping, and write it once a person confirms (MBANK-20..25).

A moment is noticed at a prompt (`proposal_cues`) and proposed at the end of the turn; only the person's own prompt, a
terminal or the one-time code shown to the person confirm it. What was proposed once is not proposed again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.capture import proposal_cues
from kb.capture.proposal_cues import FOLDER, SILENT, PromptAnswer, ProposalAnswer
from kb.errors import BadInput, NeedsPerson, UnknownId
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.records.candidate import build_candidates, candidate_to_json
from kb.records.kinds import kind_label, resolve_openable_path, verdict_name
from kb.records.model import Candidate, Evidence, Record, Verdict
from kb.safety import redaction
from kb.safety.personal_facts import can_be_personal_fact, has_self_description, is_about_person
from kb.safety.quoting import quote_text
from kb.sessions.prose import split_reason
from kb.similarity.duplicates import compute_similarity, find_duplicate
from kb.similarity.merge_candidate import build_sections
from kb.state.project import find_own_root, is_agent_shell, is_shared
from kb.state.session_log import MOMENT, SessionLog
from kb.text.segment import clip
from kb.writing import inbox, pipeline
from kb.writing.own_base import write_to_own_base

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

NEW, PENDING, CONFIRMED, REJECTED = "new", "pending", "confirmed", "rejected"
_MAX_SHOWN_PROPOSALS = 5  # proposals that a person is shown at the end of a turn
_MAX_REMEMBERED_PROPOSALS = 500  # proposals that are remembered, so that none is made twice
_MAX_CODE_TRIES = 5  # wrong codes after which a code is of no use
_HASH_ROUNDS = 2000
_CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_MIN_TITLE_SIMILARITY = 0.5  # similarity of a title from which what was written says what a prompt said
_ASK = msg("answer mb:write or mb:no in the session, or: kb proposal confirm --code CODE")


class Proposal(NamedTuple):
    """What kb proposes to keep."""

    name: str
    candidate: Candidate
    status: str = NEW
    session: str = ""
    held: str = ""  # its name in the inbox, where the gate keeps it back
    number: int = 0  # by which the person names it in the session; 0 before it was shown
    made: str = ""
    salt: str = ""
    code: str = ""  # the hash of the one-time code: the code itself is shown to the person and kept nowhere
    tries: int = 0


# -- propose -----------------------------------------------------------------------------------------


def propose_at_turn_end(
    kb: Workspace, log: SessionLog, folder: str, host: str, verdicts: Sequence[Verdict], *, silent: bool = False
) -> str:
    """Return what the person is asked at the end of the turn of *log*; "" for nothing.

    *silent*: the host shows nothing there, so it is kept for `kb proposal`.
    """
    known = list_proposals(kb)
    found = [one for one in known if one.status == NEW and one.session in ("", log.session)]
    for proposal in (*_collect_held(kb, verdicts), *_collect_noticed(kb, log, folder, host, verdicts)):
        if not _is_already_proposed(kb, proposal.candidate, (*known, *found)):
            found.append(proposal)
    shown = [] if silent else found[:_MAX_SHOWN_PROPOSALS]
    for proposal in found[len(shown) :]:
        save_proposal(kb, proposal._replace(session=log.session))
    return _present_proposals(kb, log.session, shown, known)


def _collect_held(kb: Workspace, verdicts: Sequence[Verdict]) -> list[Proposal]:
    """Return what the gate kept back just now and a person may want: what waits for a person, and what sounds so."""
    found = []
    for verdict in verdicts:
        if verdict.verdict != "held" or verdict.spooled:
            continue
        with contextlib.suppress(UnknownId):
            candidate = inbox.find_held(kb, verdict.id).candidate
            text = f"{candidate.title}\n{candidate.decision}"
            if kb.config.approval == "person" or proposal_cues.find_notable_sentence(text):
                found.append(Proposal(inbox.build_held_name(candidate), candidate, held=verdict.id))
    return found


def _collect_noticed(
    kb: Workspace, log: SessionLog, folder: str, host: str, verdicts: Sequence[Verdict]
) -> list[Proposal]:
    """Return the moments of this prompt of which nothing was written."""
    found = []
    for row in log.list_turn_values(MOMENT):
        try:
            kind, text = json.loads(row)
        except (ValueError, TypeError):
            continue
        main, why = split_reason(text)
        candidate = Candidate(
            "preference" if has_self_description(text) else kind,
            clip(text if len(text) <= kb.config.title_max else main, kb.config.title_max),
            decision=text,
            why=why,
            scope=kb.project(folder),
            host=host,
            session=log.session,
            evidence=(Evidence(text),),
        )
        if any(compute_similarity(candidate.title, verdict.title) > _MIN_TITLE_SIMILARITY for verdict in verdicts):
            continue
        [would] = pipeline.write(kb, [candidate], folder=folder, dry_run=True)
        if would.verdict not in ("refused", "unchanged") or is_about_person(candidate):
            found.append(Proposal(inbox.build_held_name(candidate), candidate))
    return found


def _is_already_proposed(kb: Workspace, candidate: Candidate, known: Iterable[Proposal]) -> bool:
    """Return whether the same was proposed before, also where it was rejected (repeat guard)."""
    candidate = redaction.redact_candidate(candidate, kb.config.masking)[0]
    name = inbox.build_held_name(candidate)
    return any(one.name == name or is_same_statement(kb, candidate, one.candidate) for one in known)


def is_same_statement(kb: Workspace, candidate: Candidate, other: Candidate) -> bool:
    """Return whether both say the same of one scope, even in other words and under another kind."""
    if candidate.scope != other.scope:
        return False
    sections = build_sections(other)
    as_record = Record("", candidate.kind, other.title, other.scope, claims=other.claims, sections=sections)
    return find_duplicate(candidate, [as_record], kb.config.title_similarity) is not None


def _present_proposals(kb: Workspace, session: str, found: Sequence[Proposal], known: Sequence[Proposal]) -> str:
    """Keep *found* as shown to the person, and return the words in which they are."""
    if not found:
        return ""
    first = max((one.number for one in known if one.session == session), default=0) + 1
    code, salt = "".join(_CODE_LETTERS[byte % len(_CODE_LETTERS)] for byte in os.urandom(8)), os.urandom(8).hex()
    digest = _hash_code(code, salt)
    lines = [kb.localise(msg("kb: worth keeping?"))]
    for number, proposal in enumerate(found, first):
        shown = proposal._replace(status=PENDING, session=session, number=number, salt=salt, code=digest)
        save_proposal(kb, shown)
        lines.append(f"  {number}. {_format_line(kb, proposal.candidate)}")
    how = msg(
        "answer mb:write to keep it, mb:no to drop it; in a terminal: kb proposal confirm --code {code}", code=code
    )
    if len(found) > 1:
        how = msg(
            "answer mb:write to keep them, mb:no to drop them, mb:write {number} for one of them; in a terminal: "
            "kb proposal confirm --code {code}",
            number=first,
            code=code,
        )
    return "\n".join((*lines, kb.localise(how)))


def _format_line(kb: Workspace, candidate: Candidate) -> str:
    """Return *candidate* on a line; what is about the person says so, where others read the knowledge base."""
    line = f"[{kind_label(candidate.kind, kb.config.language)}] {quote_text(candidate.title, kb.config.title_max)}"
    if not can_be_personal_fact(candidate) or not is_shared(kb):
        return line
    if find_own_root(kb):
        return line + kb.localise(msg(" (about you: it goes into your own base, ~/.kb)"))
    if is_about_person(candidate):
        return line + kb.localise(
            msg(" (about you: it stays in this clone until you have a base of your own: kb init --user)")
        )
    perhaps = msg(" (perhaps about you: after mb:write everybody reads it who has this knowledge base)")
    return line + kb.localise(perhaps)


def add_proposals(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str = "", session: str = ""
) -> list[Proposal]:
    """Keep *candidates* as proposals, to be shown to the person at the end of the turn; those said before are left."""
    made: list[Proposal] = []
    for candidate in candidates:
        placed = candidate._replace(scope=candidate.scope or kb.project(folder))
        [would] = pipeline.write(kb, [placed], folder=folder, dry_run=True)
        if would.verdict == "refused":
            raise BadInput("; ".join(would.reasons), hint=would.next)
        if not _is_already_proposed(kb, placed, (*list_proposals(kb), *made)):
            made.append(save_proposal(kb, Proposal(inbox.build_held_name(placed), placed, session=session)))
    return made


# -- the person's word -------------------------------------------------------------------------------


def apply_answer(kb: Workspace, session: str, said: ProposalAnswer, folder: str = "") -> PromptAnswer:
    """Do what a person has *said*, in *folder*, of the proposals of a session that it was shown.

    A host that can show nothing at the end of a turn counts as having shown them.
    """
    mine = [one for one in list_proposals(kb) if one.session == session]
    pending = [one for one in mine if one.status == PENDING]
    # Hosts in SILENT show nothing at the end of a turn; “mb:write” there means what waits unseen.
    pending = pending or [one for one in mine if one.status == NEW and one.candidate.host in SILENT]
    wanted = [one for one in pending if not said.numbers or one.number in said.numbers]
    if not pending:
        return PromptAnswer(message=kb.localise(msg("kb: nothing is proposed here; see: kb proposal list")))
    if not wanted:
        numbers = ", ".join(map(str, said.numbers))
        none = msg("kb: no proposal here has the number {numbers}; see: kb proposal list", numbers=numbers)
        return PromptAnswer(message=kb.localise(none))
    if said.word == proposal_cues.NO:
        for proposal in wanted:
            reject_proposal(kb, proposal)
        titles = "; ".join(quote_text(one.candidate.title, kb.config.title_max) for one in wanted)
        dropped = kb.localise(msg("kb: rejected; not proposed again: {titles}", titles=titles))
        return PromptAnswer(dropped, dropped)
    verdicts = [confirm_proposal(kb, proposal) for proposal in wanted]
    is_written = any(verdict.verdict != "refused" for verdict in verdicts)
    outcome = msg("kb: the person confirmed; this was written:") if is_written else msg("kb: this was not written:")
    rows = [kb.localise(outcome)]
    for verdict in verdicts:
        where = f" ({resolve_openable_path(kb.root, verdict.path, folder)})" if verdict.path else ""
        if verdict.verdict == "refused":
            where = ": " + "; ".join(filter(None, (*verdict.reasons, verdict.next)))
        title = quote_text(verdict.title, kb.config.title_max)
        rows.append(f"  {kb.localise(verdict_name(verdict.verdict))}: [{qualify_name(kb, verdict)}] {title}{where}")
    text = "\n".join(rows)
    return PromptAnswer(text, text)


def confirm_proposal(kb: Workspace, proposal: Proposal) -> Verdict:
    """Write *proposal* on a person's word: the gate is skipped; all else is looked at as usual."""
    held = next((held for held in inbox.list_held(kb) if proposal.held and held.name == proposal.held), None)
    candidate = held.candidate if held else proposal.candidate._replace(affects_future=True)
    name = held.name if held else proposal.name
    if can_be_personal_fact(candidate) and is_shared(kb) and (written := write_to_own_base(kb, [candidate])):
        close_proposal(kb, proposal)
        return written[0]
    verdict = pipeline.write_promoted(kb, candidate, name, by_person=True)
    if verdict.verdict != "refused":
        close_proposal(kb, proposal)
    return verdict


def land_personal(kb: Workspace) -> list[Verdict]:
    """Write what was proposed of the person while they had no base of their own, now that they have one."""
    verdicts = []
    for proposal in list_pending(kb):
        if is_about_person(proposal.candidate) and (written := write_to_own_base(kb, [proposal.candidate])):
            verdicts += written
            close_proposal(kb, proposal)
    return verdicts


def close_proposal(kb: Workspace, proposal: Proposal) -> None:
    """Note that what is proposed is written."""
    save_proposal(kb, proposal._replace(status=CONFIRMED, code=""))


def reject_proposal(kb: Workspace, proposal: Proposal) -> None:
    """Forget what is proposed, but for having proposed it."""
    with contextlib.suppress(UnknownId):
        if proposal.held:
            inbox.drop_held(kb, proposal.held)
    save_proposal(kb, proposal._replace(status=REJECTED, code=""))


def should_ask_person(kb: Workspace, wanted: Sequence[Proposal], code: str, *, terminal: bool) -> bool:
    """Return whether a person must still be asked: not with the code that was shown; raise NeedsPerson for nobody.

    *terminal*: somebody can be asked. In the shell of an agent nobody can, whatever it looks like.
    """
    if code:
        given = code.strip().upper().replace("-", "")
        valid = [
            one
            for one in wanted
            if one.code and one.tries < _MAX_CODE_TRIES and _hash_code(given, one.salt) == one.code
        ]
        if len(valid) < len(wanted):
            for proposal in wanted:
                save_proposal(kb, proposal._replace(tries=proposal.tries + 1))
            raise NeedsPerson(msg("this is not the code that was shown"), hint=_ASK)
        return False
    # An agent can type into a terminal as well; the variable that its host sets gives it away.
    if not terminal or is_agent_shell(kb.environment):
        raise NeedsPerson(msg("only a person may decide on a proposal"), hint=_ASK)
    return True


def _hash_code(code: str, salt: str) -> str:
    digest = f"{salt}{code}".encode()
    for _ in range(_HASH_ROUNDS):
        digest = sha256(digest).digest()
    return digest.hex()


# -- kept --------------------------------------------------------------------------------------------


def list_proposals(kb: Workspace) -> list[Proposal]:
    """Return the proposals this clone has made, oldest first; what is damaged or another clone's is none."""
    try:
        names = sorted(name for name in os.listdir(kb.state.path(FOLDER)) if name.endswith(".json"))
    except OSError:
        return []
    found = []
    for name in names:
        kept: Any = kb.state.load(FOLDER, name)
        with contextlib.suppress(KeyError, TypeError, ValueError, BadInput):
            [candidate] = build_candidates(kept["candidate"], FOLDER)
            rest = {key: kept[key] for key in Proposal._fields if key not in ("name", "candidate")}
            if all(isinstance(value, int if key in ("number", "tries") else str) for key, value in rest.items()):
                found.append(Proposal(name.removesuffix(".json"), candidate, **rest))
    return sorted(found, key=lambda one: (one.made, one.number, one.name))


def find_proposal(kb: Workspace, name: str) -> Proposal:
    """Return the proposal that *name*, or the beginning of it, names; raise UnknownId."""
    found = [proposal for proposal in list_proposals(kb) if name and proposal.name.startswith(name)]
    if len(found) != 1:
        raise UnknownId(
            msg("no proposal, or more than one, is named {name}", name=name), hint=msg("see: kb proposal list")
        )
    return found[0]


def list_pending(kb: Workspace) -> list[Proposal]:
    """Return the proposals on which nobody has decided."""
    return [proposal for proposal in list_proposals(kb) if proposal.status in (NEW, PENDING)]


def save_proposal(kb: Workspace, proposal: Proposal) -> Proposal:
    """Keep *proposal* without its secrets, and forget the oldest of too many."""
    masked, _ = redaction.redact_candidate(proposal.candidate, kb.config.masking)
    made = proposal.made or time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(kb.now()))
    kept = proposal._replace(candidate=masked, made=made)
    kb.state.save({**kept._asdict(), "candidate": candidate_to_json(masked)}, FOLDER, kept.name + ".json")
    done = [one for one in list_proposals(kb) if one.status in (CONFIRMED, REJECTED)]
    for old in done[:-_MAX_REMEMBERED_PROPOSALS]:
        with contextlib.suppress(OSError):
            os.unlink(kb.state.path(FOLDER, old.name + ".json"))
    return kept
