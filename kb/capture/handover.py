"""Let the agent of a session word what the session settled: ask it once, prove its quotes, close what is answered.

The openings of a session (`openings`) are found where its transcript is read anyway and kept in
`.kb/handover/<session>.json`. What is to be asked waits in `.kb/active/<session>/handover.txt` for a turn that happens
anyway. The answer are candidates whose quotes stand word for word in that session: `prove_candidates` looks them up.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.ask_model import locate_quote
from kb.capture.openings import ANSWER, CHOICE, CORRECTION, DECISION, FAILURE, Opening, find_openings
from kb.capture.proposal_cues import FOLDER as PROPOSALS
from kb.capture.refusals import close_written_proposals
from kb.errors import BadInput, KbError, UnknownId
from kb.files import read_if_exists, write_atomic
from kb.git.revisions import find_definitions, list_files_around
from kb.i18n import msg
from kb.index.schema import Filter
from kb.records.model import GLOBAL, PROVEN, SAID, Candidate, Evidence, Status, Verdict
from kb.records.record_paths import CONTENT, sanitise_session_id
from kb.safety.quoting import quote_text
from kb.safety.redaction import redact_text
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, parse_judged
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import mask_transcript
from kb.sessions.session_archive import list_known_sessions
from kb.sessions.trackers import list_edits
from kb.sessions.transcript import HUMAN, Transcript, get_own_texts, list_calls, parse_transcript
from kb.state.session_log import HANDOVER
from kb.text.mentions import find_existing_paths
from kb.text.segment import count_words, estimate_tokens, extract_ranking_terms

if TYPE_CHECKING:
    from kb.sessions.active_sessions import ExtractionJob
    from kb.workspace import Workspace

FOLDER = "handover"
NEW, ASKED, ANSWERED, SKIPPED = "new", "asked", "answered", "skipped"
_MAX_KEPT = 60
"""Openings of one session that are remembered."""
_MAX_RECENT_SESSIONS = 3
_PROMPTS_BETWEEN = 3
"""Prompts from one question to the next, so that a long discussion is asked about as a whole."""
_MIN_QUOTE_WORDS = 4
"""Words of a quote from which on it stands for itself; “Seven.” stands in many sessions."""
_MAX_QUESTION_TOKENS = 80
_QUOTE_SHOWN = range(80, 7, -4)
"""Characters of the quote in a question, as many as its tokens allow: 80 English ones have 20, 80 Chinese ones 90."""
_MAX_SUBJECTS = 4
"""Files above which a text names what it looked at, and not what it is about."""
_CODE_NAME = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}|[a-z]+\d[a-z]\w*)\b|\b[A-Za-z]\w+(?=\(|`)"
)
"""“merge_records”, “cacheKey”, “CacheKey”, “under2camel”, “redact(”, “`redact`”: code wherever it stands."""
_SUPERSEDES = re.compile(
    r"\b(?:supersed(?:es|ing|ed)|amend(?:s|ing|ment to)|replac(?:es|ing)|overrid(?:es|ing)|revers(?:es|ing))"
    r"(?: the| our| an?)?(?: (?:old|earlier|previous|former|existing))?[ :]+(?P<old>[^.;:,\n()]{3,60})"
    r"|(?:取代|替代|推翻|修订|修正|废除)了?(?:原来|之前|以前|先前|旧)?的?(?P<old_zh>[^。；，：\n（）]{2,30})",
    re.IGNORECASE,
)
"""“Superseding the old 60-second cap”, “取代之前的统一二进制规则”: an agreement that takes back an earlier one."""
_MIN_NAMED_SHARE = 0.5
"""Share of the words behind “supersedes” that the record has, or of its title's that the candidate has."""
_KB_COMMAND = re.compile(r"(?:^|[\s;&|(/])kb(?:-hook)?\s")
KIND_NAMES = {
    CORRECTION: msg("a correction by the person"),
    DECISION: msg("a decision"),
    CHOICE: msg("a choice among options"),
    FAILURE: msg("a failure overcome"),
    ANSWER: msg("an answer that took many calls"),
}
_EXAMPLE_KINDS = {FAILURE: "pitfall", ANSWER: "domain-note", CORRECTION: "constraint"}


class KeptOpening(NamedTuple):
    """An opening, and what became of it."""

    opening: Opening
    status: str = NEW
    """NEW, ASKED, ANSWERED or SKIPPED."""

    @property
    def is_open(self) -> bool:
        """Whether nobody has answered it."""
        return self.status in (NEW, ASKED)


class SessionOpenings(NamedTuple):
    """What is kept of one session."""

    session: str
    scope: str = ""
    asked_turn: int = -_PROMPTS_BETWEEN
    """How many prompts there had been when the last question was put."""
    has_blocked: bool = False
    """Whether the end of a turn has been held up for it: that is done once in a session."""
    rows: tuple[KeptOpening, ...] = ()

    @property
    def open_rows(self) -> list[KeptOpening]:
        """The rows that nobody has answered."""
        return [row for row in self.rows if row.is_open]


# -- kept ------------------------------------------------------------------------------------------


def load_openings(kb: Workspace, session: str) -> SessionOpenings:
    """Return what is kept of *session*; what is damaged counts as missing."""
    kept = kb.state.load(FOLDER, f"{sanitise_session_id(session)}.json") or {}
    rows = []
    for row in kept.get("rows") or ():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            quotes = tuple(Evidence(*(quote[key] for key in Evidence._fields)) for quote in row["quotes"])
            rows.append(KeptOpening(Opening(row["kind"], int(row["line"]), quotes), row["status"]))
    turn = kept.get("asked_turn")
    return SessionOpenings(
        str(kept.get("session") or session),
        str(kept.get("scope") or ""),
        turn if isinstance(turn, int) else -_PROMPTS_BETWEEN,
        kept.get("has_blocked") is True,
        tuple(rows),
    )


def _save_openings(kb: Workspace, state: SessionOpenings) -> None:
    rows = [
        {**row.opening._asdict(), "name": row.opening.name, "status": row.status,
         "quotes": [quote._asdict() for quote in row.opening.quotes]}
        for row in state.rows[-_MAX_KEPT:]
    ]  # fmt: skip
    kb.state.save({**state._asdict(), "rows": rows}, FOLDER, f"{sanitise_session_id(state.session)}.json")


def list_open_sessions(kb: Workspace, session: str = "", scope: str = "") -> list[SessionOpenings]:
    """Return the sessions with openings that nobody has answered, the latest first.

    *session*: only those whose ids begin so, brought up to their transcripts; *scope*: only those of that project.
    """
    if session:
        for known in list_known_sessions(kb, sanitise_session_id(session))[:1]:
            with contextlib.suppress(BadInput):
                read = mask_transcript(parse_transcript(read_transcript(known.transcript)), kb.config.masking)
                _add_found(kb, known.session, known.scope, find_openings(read))
    found: list[tuple[float, SessionOpenings]] = []
    with contextlib.suppress(OSError), os.scandir(kb.state.path(FOLDER)) as entries:
        for entry in entries:
            name = entry.name.removesuffix(".json")
            if name.startswith(sanitise_session_id(session) if session else "") and entry.name.endswith(".json"):
                state = _close_covered(kb, load_openings(kb, name))
                is_wanted = session or scope in ("", GLOBAL, state.scope)
                found += [(entry.stat().st_mtime, state)] if state.open_rows and is_wanted else []
    return [state for _, state in sorted(found, key=lambda pair: -pair[0])][:_MAX_RECENT_SESSIONS]


def skip_openings(kb: Workspace, names: Sequence[str]) -> list[KeptOpening]:
    """Note that nothing is worth keeping of the openings *names* name, by their first digits; raise UnknownId."""
    folder = kb.state.path(FOLDER)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    known = [load_openings(kb, file.removesuffix(".json")) for file in files]
    found: dict[str, list[KeptOpening]] = {}
    for name in names:
        rows = [(one.session, row) for one in known for row in one.rows if name and row.opening.name.startswith(name)]
        if not rows:
            raise UnknownId(msg("no opening is named {name}", name=name), hint=msg("see: kb learn next"))
        for session, row in rows:
            found.setdefault(session, []).append(row)
    for session, skipped in found.items():
        _set_status(kb, session, [row.opening.name for row in skipped], SKIPPED)
    return [row for rows_of_one in found.values() for row in rows_of_one]


def _set_status(kb: Workspace, session: str, names: Iterable[str], status: str) -> None:
    state, wanted = load_openings(kb, session), {*names}
    rows = tuple(row._replace(status=status) if row.opening.name in wanted else row for row in state.rows)
    if rows != state.rows:
        _save_openings(kb, state._replace(rows=rows))


# -- found and asked -------------------------------------------------------------------------------


def note_openings(
    kb: Workspace, job: ExtractionJob, scope: str, transcript: Transcript, after: int, kept: Iterable[Candidate]
) -> None:
    """Keep the openings behind the line *after* that no *kept* candidate rests on, and prepare the question.

    A session that has ended is asked nothing any more: what it left waits for `kb learn next`.
    """
    if kb.config.handover == "off":
        return
    known = [one for candidate in kept for one in candidate.evidence]
    fresh = [one for one in find_openings(transcript, after) if not _rests_on(one, known)]
    state = _close_covered(kb, _add_found(kb, job.session, scope, fresh))
    active = ActiveSession(kb, job.session)
    turn = max((message.turn for message in transcript.messages), default=0)
    new = [row for row in state.rows if row.status == NEW]
    if not new or not active.is_open or turn < state.asked_turn + _PROMPTS_BETWEEN:
        return
    question = build_question(kb, job.session, [row.opening for row in new])
    write_atomic(_get_question_path(kb, job.session), question.encode("utf-8", "replace"))
    _save_openings(kb, state._replace(asked_turn=turn))


def _add_found(kb: Workspace, session: str, scope: str, found: Sequence[Opening]) -> SessionOpenings:
    """Add *found* to what is kept of *session*, each once, and return the whole."""
    state = load_openings(kb, session)
    known = {row.opening.name for row in state.rows}
    masking = kb.config.masking
    masked = [
        one._replace(quotes=tuple(q._replace(quote=redact_text(q.quote, masking)[0]) for q in one.quotes))
        for one in found
    ]
    if new := [KeptOpening(one) for one in masked if one.name not in known]:
        state = state._replace(scope=scope or state.scope, rows=(*state.rows, *new))
        _save_openings(kb, state)
    return state


def _close_covered(kb: Workspace, state: SessionOpenings) -> SessionOpenings:
    """Close what a proposal or a candidate of the session covers, written or held, and return what is kept then.

    A person answers proposals at any time (“mb:write”, `kb proposal confirm`), so this is looked at before each use.
    """
    if not state.open_rows:
        return state
    judged = parse_judged(ActiveSession(kb, state.session).load_cursor())
    kept = [row.candidate for row in judged if row.verdict.verdict != "refused"]
    if os.path.isdir(kb.state.path(PROPOSALS)):
        from kb.capture.proposals import list_proposals

        kept += [one.candidate for one in list_proposals(kb) if state.session in (one.session, one.candidate.session)]
    known = [one for candidate in kept for one in candidate.evidence]
    covered = [row.opening.name for row in state.open_rows if _rests_on(row.opening, known)]
    _set_status(kb, state.session, covered, ANSWERED)
    return load_openings(kb, state.session) if covered else state


def _get_question_path(kb: Workspace, session: str) -> str:
    return kb.state.path("active", sanitise_session_id(session), HANDOVER)


def build_question(kb: Workspace, session: str, openings: Sequence[Opening]) -> str:
    """Return what the agent is asked about *openings*, in 80 tokens at most, with the one command."""
    last = openings[-1]
    quote, question = last.quotes[-1], ""
    for shown in _QUOTE_SHOWN:
        asked = msg(
            "kb: not recorded yet: {kind} (line {line}: “{quote}”). If later work needs it, run "
            "`kb learn next --session {session}` and hand it over.",
            "kb: not recorded yet: {count} matters, the last {kind} (line {line}: “{quote}”). If later work needs "
            "them, run `kb learn next --session {session}` and hand them over.",
            count=len(openings),
            kind=KIND_NAMES[last.kind].translate(kb.config.language),
            line=quote.line or last.line,
            quote=quote_text(quote.quote, shown),
            session=sanitise_session_id(session)[:8],
        )
        question = kb.localise(asked)
        if estimate_tokens(question) <= _MAX_QUESTION_TOKENS:
            break
    return question


def take_question(kb: Workspace, session: str, *, resumed: bool = False, blocking: bool = False) -> str:
    """Return what the agent of *session* is to be asked now, once; "" for nothing.

    *resumed*: after a compaction or a resumption what was found since counts as well. *blocking*: the end of the turn
    is held up for it.
    """
    path, state = _get_question_path(kb, session), load_openings(kb, session)
    is_due = resumed or os.path.exists(path)
    if not is_due or kb.config.handover == "off" or (blocking and state.has_blocked):
        return ""
    with contextlib.suppress(OSError):
        os.unlink(path)
    state = _close_covered(kb, state)
    new = [row.opening for row in state.rows if row.status == NEW]
    if not new:  # answered or skipped meanwhile
        return ""
    rows = tuple(row._replace(status=ASKED) if row.status == NEW else row for row in state.rows)
    _save_openings(kb, state._replace(rows=rows, has_blocked=state.has_blocked or blocking))
    return build_question(kb, state.session, new)


# -- the answer ------------------------------------------------------------------------------------


class _SessionWords:
    """What was said and printed in one session, for looking up quotes."""

    def __init__(self, kb: Workspace, session: str) -> None:
        """Read the transcript that kb knows of *session*, else its archive."""
        self.session = session
        self.transcripts: list[Transcript] = []
        self.archive = ""
        cursor = ActiveSession(kb, session).load_cursor()
        with contextlib.suppress(BadInput):
            plain = parse_transcript(read_transcript(str(cursor.get("transcript") or "")))
            # quotes may be copied from what kb has masked
            self.transcripts = [plain, mask_transcript(plain, kb.config.masking)]
        if not self.transcripts and (name := str(cursor.get("archive") or "")):
            folder = os.path.join(kb.root, CONTENT, "sessions", name)
            places = [kb.state.path("expanded", f"{name}.md")]
            places += [os.path.join(folder, f"{form}.md") for form in ("expanded", "normal", "compact")]
            texts = [(read_if_exists(place) or b"").decode("utf-8", "replace") for place in places]
            self.archive = _squeeze(re.sub(r"(?m)^> ?", "", "\n".join(texts)))

    @property
    def is_known(self) -> bool:
        """Whether there is anything to look quotes up in."""
        return bool(self.transcripts or self.archive)

    def locate(self, evidence: Evidence, *, with_output: bool) -> Evidence | None:
        """Return *evidence* with its line, where its quote was said, or *with_output* printed by a tool; else None."""
        for transcript in self.transcripts:
            if found := locate_quote(evidence, transcript):
                return found._replace(source=self.session)
        quote = _squeeze(evidence.quote)
        if self.archive:
            return evidence._replace(source=self.session) if quote in self.archive else None
        for one in list_calls(self.transcripts[0]) if with_output else ():
            command = one.request.input.get("command")
            # what kb itself has printed proves nothing: it quotes records of other sessions
            is_own = isinstance(command, str) and _KB_COMMAND.search(command)
            if one.result and not is_own and quote in _squeeze(one.output):
                return Evidence(evidence.quote, self.session, one.result.line, evidence.time)
        return None

    def has_persons_word(self, candidate: Candidate) -> bool:
        """Return whether a person said one of the quotes of *candidate*, which says something alone."""
        lines = {one.line for one in candidate.evidence if count_words(one.quote) >= _MIN_QUOTE_WORDS}
        messages = self.transcripts[0].messages if self.transcripts else ()
        return any(message.origin == HUMAN and message.line in lines for message in messages)

    def read_around(self, candidate: Candidate) -> list[str]:
        """Return what is said at the quotes of *candidate* and before them, the nearest first, and the files edited."""
        messages = self.transcripts[0].messages if self.transcripts else ()
        last = max((one.line for one in candidate.evidence), default=0)
        texts = ["\n".join(get_own_texts(message)) for message in reversed(messages) if message.line <= last]
        edited = [change.path for change in list_edits(self.transcripts[0])] if self.transcripts else []
        return ["\n".join(texts[:2]), "\n".join(edited), *texts[2:]]


def find_subjects(kb: Workspace, candidate: Candidate, texts: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return the files that *candidate* is about: those it names, else those the first of *texts* names that does.

    A name in code counts as well: `merge_records` is about the one file of the project that defines it.
    """
    top, files = list_files_around(kb, folder)
    own = "\n".join((candidate.title, candidate.decision, candidate.why, *(one.quote for one in candidate.evidence)))
    texts = [own, *texts] if top else []
    definitions = find_definitions(kb, top, _CODE_NAME.findall("\n".join(texts)))
    for text in texts:
        named = [definitions[name] for name in dict.fromkeys(_CODE_NAME.findall(text)) if name in definitions]
        if found := tuple(dict.fromkeys((*find_existing_paths(text, lambda: files), *named))):
            return found[:_MAX_SUBJECTS]
    return ()


def find_superseded(kb: Workspace, candidate: Candidate, folder: str) -> tuple[str, ...]:
    """Return the record that *candidate* says it supersedes without naming it, else what it names itself.

    “Supersedes the no-free-units rule”, “取代原来的统一规则”: of the accepted records about the same files or names it
    is the one with most of these words. As with every record that is named, a person decides.
    """
    quotes = (one.quote for one in candidate.evidence)
    said = "\n".join((candidate.title, candidate.decision, candidate.alternatives, *quotes))
    phrases = [match["old"] or match["old_zh"] for match in _SUPERSEDES.finditer(said)]
    if not phrases or candidate.supersedes or candidate.amends or candidate.updates:
        return candidate.supersedes
    scope = candidate.scope or kb.project(folder)
    wanted = {term for phrase in phrases for term in extract_ranking_terms(phrase)}
    own, names = {*extract_ranking_terms(said)}, {*_CODE_NAME.findall(said)}
    found: list[tuple[float, str]] = []
    for record in kb.sync_index().records(Filter(statuses=(Status.ACCEPTED,), scopes=(scope,))):
        text = f"{record.title}\n{record.section('decision')}"
        is_near = {*record.impact} & {*candidate.impact} or {*_CODE_NAME.findall(text)} & names
        if not is_near and record.impact and candidate.impact:
            continue
        terms, title = {*extract_ranking_terms(text)}, {*extract_ranking_terms(record.title)}
        named, alike = len(wanted & terms) / max(len(wanted), 1), len(title & own) / max(len(title), 1)
        # about the same files or names one of the two is enough; where files are not known, both must speak for it
        if (max if is_near else min)(named, alike) >= _MIN_NAMED_SHARE:
            found.append((named + alike, record.id))
    return (max(found)[1],) if found else ()


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def prove_candidates(
    kb: Workspace, candidates: Sequence[Candidate], folder: str = ""
) -> tuple[list[Candidate], list[str]]:
    """Return *candidates* with the places of their quotes, and for each PROVEN, SAID, a quote that is not there, or "".

    "" stands where nothing was looked up: the candidate names no session, or one that is not known here. What a tool
    has printed proves a pitfall only: in everything else it is somebody else's word. A proven candidate that names no
    path is about the files of the project around *folder* of which its session speaks there.
    """
    words: dict[str, _SessionWords] = {}
    placed, proofs = [], []
    for candidate in candidates:
        proof = ""
        if candidate.session and candidate.evidence:
            session = _resolve_session(kb, candidate.session)
            known = words[session] if session in words else words.setdefault(session, _SessionWords(kb, session))
            if known.is_known:
                is_pitfall = candidate.kind == "pitfall"
                pairs = [(one, known.locate(one, with_output=is_pitfall)) for one in candidate.evidence]
                long = [count_words(one.quote) >= _MIN_QUOTE_WORDS for one, _ in pairs]
                missing = [one.quote for (one, place), counts in zip(pairs, long, strict=True) if counts and not place]
                proof = missing[0] if missing else PROVEN if any(long) else candidate.evidence[0].quote
                candidate = candidate._replace(session=session, evidence=tuple(place or one for one, place in pairs))
                if proof == PROVEN:
                    proof = SAID if known.has_persons_word(candidate) else PROVEN
                    impact = candidate.impact or find_subjects(kb, candidate, known.read_around(candidate), folder)
                    candidate = candidate._replace(impact=impact)
                    candidate = candidate._replace(supersedes=find_superseded(kb, candidate, folder))
        placed.append(candidate)
        proofs.append(proof)
    return placed, proofs


def _resolve_session(kb: Workspace, session: str) -> str:
    """Return the id of the known session that *session* names, whole or by its beginning."""
    if ActiveSession(kb, session).load_cursor():
        return session
    known = {one.session for one in list_known_sessions(kb, sanitise_session_id(session))}
    return known.pop() if len(known) == 1 else session


def close_answered(
    kb: Workspace, candidates: Sequence[Candidate], verdicts: Sequence[Verdict], proofs: Sequence[str]
) -> None:
    """Close what proven *candidates* answer, and count these among what their session brought."""
    rows = [
        JudgedCandidate(candidate, verdict)
        for candidate, verdict, proof in zip(candidates, verdicts, proofs, strict=True)
        if proof in (PROVEN, SAID) and verdict.verdict != "refused"
    ]
    close_written_proposals(kb, rows)
    for session in dict.fromkeys(row.candidate.session for row in rows):
        mine = [row for row in rows if row.candidate.session == session]
        quotes = [one for row in mine for one in row.candidate.evidence]
        answered = [row.opening.name for row in load_openings(kb, session).open_rows if _rests_on(row.opening, quotes)]
        with contextlib.suppress(KbError, OSError):  # the records are written; what is asked about them comes second
            _set_status(kb, session, answered, ANSWERED)
            ActiveSession(kb, session).add_judged(mine)


def _rests_on(opening: Opening, quotes: Iterable[Evidence]) -> bool:
    """Return whether one of *quotes* stands at a line of *opening*, or has its words."""
    own = [_squeeze(one.quote) for one in opening.quotes]
    lines = {one.line for one in opening.quotes if one.line}
    for quote in quotes:
        said = _squeeze(quote.quote)
        # a proposal has its sentence without a line
        is_long = count_words(said) >= _MIN_QUOTE_WORDS
        if quote.line in lines or said in own or (is_long and any(said in o or o in said for o in own)):
            return True
    return False


def build_example(opening: Opening) -> dict[str, object]:
    """Return a candidate for *opening* as its agent would hand it over, with places to fill in."""
    quotes = [{"quote": one.quote} for one in opening.quotes]
    return {
        "kind": _EXAMPLE_KINDS.get(opening.kind, "decision"),
        "title": "…",
        "decision": "…",
        "why": "…",
        "evidence": quotes,
    }
