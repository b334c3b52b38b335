"""Prove the quotes of candidates: look each up in the session it is said to come from.

A quote counts where it stands word for word in what was said there; what the session speaks of at that place says what
the record is about, and which earlier record it takes back.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.files import read_if_exists
from kb.git.revisions import find_definitions, list_files_around
from kb.i18n import msg
from kb.index.schema import Filter
from kb.records.candidate import SCHEMA, build_candidates
from kb.records.kinds import CONTENT, sanitise_session_id
from kb.records.model import PROVEN, SAID, WEIGHED, Candidate, Evidence, Status
from kb.sessions.active_sessions import ActiveSession
from kb.sessions.handed_text import SpokenText, list_spoken
from kb.sessions.host_input import read_transcript
from kb.sessions.prose import is_go_ahead, is_noncommittal, is_question
from kb.sessions.render_forms import mask_transcript
from kb.sessions.session_archive import list_known_sessions
from kb.sessions.trackers import list_edits
from kb.sessions.transcript import (
    ANSWER,
    HUMAN,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    get_prompt,
    list_calls,
    parse_transcript,
)
from kb.text.mentions import find_existing_paths, is_document, make_relative
from kb.text.segment import count_words, extract_ranking_terms, iter_sentence_spans, one_line
from kb.writing.gate import MIN_QUOTE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kb.workspace import Workspace


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
_WEIGHS = re.compile(
    r"\b(?:i (?:think|guess|feel|like)\b|i(?:'d| would) (?:say|lean)\b|leaning\b|my (?:\w+ )?thinking\b|feels?\b"
    r"|would\b|could\b"
    r"|sounds? (?!good|right|great|perfect|fine)|makes? (?:\w{1,40} ){0,5}sense\b|maybe\b|perhaps\b|probably\b"
    r"|might\b|seems?\b)"
    r"|我觉得|感觉|好像|听起来|倾向|也许|可能|或许|大概",
    re.IGNORECASE,
)
"""“It feels cleaner”, “我觉得可以”: thought aloud, and settled by nobody."""
_DONE_KINDS = frozenset({"decision", "constraint", "interface"})
"""Kinds that work follows upon: a wish or a pattern says nothing of the files at hand."""
_MAX_EDITED = 3
"""Files edited in one turn of which each may be what was decided about; of more, most are not."""
_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_TEST_COMMAND = re.compile(
    r"(?:^|[;&|]\s*)(?:[\w./-]+=\S+\s+)*(?:(?:uv|poetry|pipenv|mise|bundle|npx|pnpm|yarn|bun)\s+(?:run\s+|exec\s+)?)?"
    r"(?:\S*/)?(?:pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|(?:python3?\s+-m\s+(?:pytest|unittest))"
    r"|(?:npm|pnpm|yarn|bun|go|cargo|mix|dotnet|mvnw?|gradlew?|make|just|rake|swift|flutter|dart|test|run)\s+"
    r"(?:run\s+)?(?:-\S+\s+)*(?:\S+:)?test\S*)(?=\s|$)"
)
_MIN_NAMED_SHARE = 0.5
"""Share of the words behind “supersedes” that the record has, or of its title's that the candidate has."""
_KB_COMMAND = re.compile(r"(?:^|[\s;&|(/])kb(?:-hook)?\s")


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
            self.archive = one_line(re.sub(r"(?m)^> ?", "", "\n".join(texts)))

    @property
    def is_known(self) -> bool:
        """Whether there is anything to look quotes up in."""
        return bool(self.transcripts or self.archive)

    def locate(self, evidence: Evidence, *, with_output: bool) -> Evidence | None:
        """Return *evidence* with its line, where its quote was said, or *with_output* printed by a tool; else None."""
        for transcript in self.transcripts:
            if found := locate_quote(evidence, transcript):
                return found._replace(source=self.session)
        quote = one_line(evidence.quote)
        if self.transcripts and count_words(quote) < MIN_QUOTE_WORDS:
            return self._locate_reply(evidence)
        if self.archive:
            return evidence._replace(source=self.session) if quote in self.archive else None
        for one in list_calls(self.transcripts[0]) if with_output else ():
            command = one.request.input.get("command")
            # what kb itself has printed proves nothing: it quotes records of other sessions
            is_own = isinstance(command, str) and _KB_COMMAND.search(command)
            if one.result and not is_own and quote in one_line(one.output):
                return Evidence(evidence.quote, self.session, one.result.line, evidence.time)
        return None

    def _locate_reply(self, evidence: Evidence) -> Evidence | None:
        """Return *evidence* with the line where a person said it and nothing else: “Semicolons.”, “分号。”."""
        messages = [message for transcript in self.transcripts for message in transcript.messages]
        replies = [message for message in messages if one_line(evidence.quote) in _list_replies(message)]
        reply = max(replies, key=lambda one: (one.line == evidence.line, one.line), default=None)
        return reply and Evidence(evidence.quote, self.session, reply.line, reply.time)

    def has_persons_word(self, places: Iterable[Evidence]) -> bool:
        """Return whether a person said one of the quotes at *places*, and more in it than “yes”."""
        said = {one.line: one_line(one.quote) for one in places if not is_go_ahead(one.quote)}
        return any(
            message.line in said and (message.origin == HUMAN or said[message.line] in _list_replies(message))
            for transcript in self.transcripts
            for message in transcript.messages
        )

    def has_settled(self, candidate: Candidate, places: Sequence[Evidence]) -> bool:
        """Return whether a sentence at *places* settles something, and where *candidate* has no reason, a person's.

        “I'd lean towards …”, “sounds robust enough for now” weigh; “Exactly.” and “Seven. Eight trips it.” settle.
        """
        said = [(row, who) for place in places for row, who in self._list_sentences_at(place)]
        settling = [who for row, who in said if not (is_question(row) or is_noncommittal(row) or _WEIGHS.search(row))]
        return not said or any(candidate.why or who in _PERSONS for who in settling)

    def _list_sentences_at(self, place: Evidence) -> Iterator[tuple[str, str]]:
        """Yield each sentence of the session of which *place* quotes a part, with who says it."""
        quote = one_line(place.quote)
        for transcript in self.transcripts[:1]:
            for spoken in list_spoken(transcript):
                if spoken.line == place.line and quote in (text := one_line(spoken.text)):
                    start = text.index(quote)
                    for first, end in iter_sentence_spans(text):
                        if first < start + len(quote) and end > start:
                            yield text[first:end], spoken.who

    def read_around(self, candidate: Candidate) -> list[str]:
        """Return what is said at the quotes of *candidate* and before them, the nearest first, and the files edited."""
        messages = self.transcripts[0].messages if self.transcripts else ()
        last = max((one.line for one in candidate.evidence), default=0)
        texts = ["\n".join(get_own_texts(message)) for message in reversed(messages) if message.line <= last]
        edited = [change.path for change in list_edits(self.transcripts[0])] if self.transcripts else []
        return ["\n".join(texts[:2]), "\n".join(edited), *texts[2:]]


def _list_replies(message: TranscriptMessage) -> list[str]:
    """Return the whole prompt of a person in *message*, and the answers to a question of the agent's, each squeezed."""
    answers = [text for one in message.answers for text in (one.typed, *(name for name, _ in one.chosen))]
    return [one_line(text) for text in (get_prompt(message), *answers) if text.strip()]


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


def complete_from_deeds(candidate: Candidate, transcript: Transcript, line: int) -> Candidate:
    """Add the files edited and the test that passed behind *line*, where *candidate* names none.

    Edited in the same turn, three at most, they are its impact; the first test that passed after one of its files was
    edited is its verification.
    """
    if candidate.kind not in _DONE_KINDS:
        return candidate
    done = _list_deeds(transcript, line)
    edited = tuple(dict.fromkeys(path for turn, path, _ in done if path and not turn and not is_document(path)))
    impact = candidate.impact or (edited if len(edited) <= _MAX_EDITED else ())
    first = next((at for at, (_, path, _) in enumerate(done) if path in impact), len(done))
    passed = next((command for _, _, command in done[first:] if command), "")
    verification = candidate.verification or (f"`{passed}`" if passed else "")
    return candidate._replace(impact=impact, verification=verification)


def _list_deeds(transcript: Transcript, line: int) -> list[tuple[int, str, str]]:
    """Return what was done behind *line*: how many prompts later, the file edited or "", the test that passed or ""."""
    failed = {result.id for message in transcript.messages for result in message.results if result.is_error}
    done: list[tuple[int, str, str]] = []
    turn = 0
    for message in transcript.messages:
        if message.line <= line:
            continue
        turn += message.origin == HUMAN
        for call in message.calls:
            path = make_relative(call.path, transcript.cwd) if call.name in _EDITS else ""
            command = " ".join(str(call.input.get("command", "")).split()) if call.name == "Bash" else ""
            is_test = call.id not in failed and len(command) <= 160 and _TEST_COMMAND.search(command)
            done.append((turn, "" if path.startswith("/") else path, command if is_test else ""))
    return done


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


def prove_candidates(
    kb: Workspace, candidates: Sequence[Candidate], folder: str = ""
) -> tuple[list[Candidate], list[str]]:
    """Return *candidates* with the places of their quotes, and for each PROVEN, SAID, WEIGHED, a missing quote, or "".

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
                long = [count_words(one.quote) >= MIN_QUOTE_WORDS for one, _ in pairs]
                missing = [one.quote for (one, place), counts in zip(pairs, long, strict=True) if counts and not place]
                proof = missing[0] if missing else PROVEN if any(long) else candidate.evidence[0].quote
                candidate = candidate._replace(session=session, evidence=tuple(place or one for one, place in pairs))
                if proof == PROVEN:
                    found = [place for _, place in pairs if place]
                    proof = SAID if known.has_persons_word(found) else PROVEN
                    if candidate.kind in _DONE_KINDS and not known.has_settled(candidate, found):
                        proof = WEIGHED
                    # what it names itself, else what was edited for it, else what was spoken of nearby
                    impact = candidate.impact or find_subjects(kb, candidate, (), folder)
                    last = max((one.line for one in candidate.evidence), default=0)
                    candidate = candidate._replace(impact=impact)
                    for transcript in known.transcripts[:1]:
                        known_folder = transcript._replace(cwd=transcript.cwd or folder)
                        candidate = complete_from_deeds(candidate, known_folder, last)
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


MAX_CHARACTERS = 120_000  # of the longest input; of a longer session the end is given
_MIN_QUOTE_CHARACTERS = 4  # a quote of fewer 字 proves nothing: it is in every text
_SELF_CHECK = ("affects_future", "reference_value", "prevents_repeat")
"""The questions that the gate asks of every candidate."""
_PERSONS = (HUMAN, ANSWER)
"""Who speaks where a person does."""

_MODEL_PROMPTS = {
    "en": (
        "Extract from the session what will still matter to later work: decisions with their reasons, constraints, "
        "interfaces, pitfalls with their causes, patterns, and lasting preferences of the person. Leave out plans, "
        "questions, progress, and whatever is temporary or obvious. Answer with JSON only: an object whose key "
        '"candidates" holds a list that follows the schema. Every candidate needs at least one evidence with a quote '
        "copied word for word from one input text, and its line. Leave a field out when the session does not say it. "
        "Check every candidate yourself and answer three questions, true or false, null where the session does not "
        "tell: affects_future (will it affect a later decision?), reference_value (will somebody look it up?), "
        "prevents_repeat (does it prevent a repeated discussion or mistake?). In the input, who is: human, a prompt of "
        "the person; answer, the person's answer to a question, with ☑ before what was chosen, ☐ before what was not, "
        "→ before their own words; agent; summary, what the agent kept at a compaction; handover, an agent's text from "
        "another session; report, what a sub-agent found. Only human and answer are words of the person. "
        "An empty list is a good answer."
    ),
    "zh": (
        "从会话中提取以后仍会影响工作的内容：带理由的决策、约束、接口、带原因的教训、模式，以及用户的长期偏好。"
        "不要提取计划、提问、进度、临时或显而易见的内容。只用 JSON 回答：一个对象，"
        '键 "candidates" 是符合 schema 的列表。每个候选至少有一条 evidence，'
        "其 quote 必须从某条输入文本中逐字复制，并注明 line。会话没有说的字段不要填写。"
        "对每个候选自检并回答三个问题，true 或 false，会话没有说明则为 null：affects_future（会影响以后的决策吗？）、"
        "reference_value（以后会有人查阅吗？）、prevents_repeat（能避免重复讨论或重复犯错吗？）。"
        "输入中的 who：human 是用户的提示；answer 是用户对提问的回答，☑ 是选中的选项，☐ 是没有选的，→ 是用户自己的话；"
        "agent 是代理；summary 是压缩时代理保留的内容；handover 是另一会话中代理写的文字；report 是子代理的报告。"
        "只有 human 和 answer 是用户的话。没有值得保留的内容时，返回空列表。"
    ),
}


def build_request(transcript: Transcript, language: str) -> dict[str, Any]:
    """Return what the model is asked in *language* ("zh" or "en"): task, schema, input and lang."""
    rows: list[dict[str, Any]] = []
    room = MAX_CHARACTERS
    for spoken in reversed(list_spoken(transcript)):
        room -= len(spoken.text)
        if room < 0:
            break
        rows.append({"line": spoken.line, "who": spoken.who, "text": spoken.text})
    item = {key: value for key, value in SCHEMA.items() if key != "$schema"}
    item["required"] = [*item["required"], "evidence", *_SELF_CHECK]
    properties = {"candidates": {"type": "array", "items": item}}
    schema = {"type": "object", "required": ["candidates"], "properties": properties}
    return {
        "task": _MODEL_PROMPTS.get(language, _MODEL_PROMPTS["en"]),
        "schema": schema,
        "input": rows[::-1],
        "lang": language,
    }


def parse_answer(answer: object, transcript: Transcript) -> list[Candidate]:
    """Return the candidates in a model's *answer* that the session proves.

    Raise BadInput if the answer has no list of candidates, or if none of those in it follows the schema: then the
    offline extraction is the better one. What a model cannot know from the session (ids of other records, session,
    host) is taken out, and paths and quotes that do not occur are dropped.
    """
    items = answer.get("candidates") if isinstance(answer, dict) and "kind" not in answer else answer
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        raise BadInput(msg("the answer of KB_LLM_CMD has no list of candidates"))
    found: list[Candidate] = []
    problem: BadInput | None = None
    for number, item in enumerate(items):
        try:
            found += build_candidates(item, f"KB_LLM_CMD[{number}]")
        except BadInput as error:
            problem = problem or error
    if problem and not found:
        raise problem
    said = list_spoken(transcript)
    parts = [text for message in transcript.messages for text in get_own_texts(message)]  # to look paths up in
    calls = (call for message in transcript.messages for call in message.calls)
    parts += (json.dumps(call.input, ensure_ascii=False, default=str) for call in calls)
    mentioned = "\n".join(parts).replace("\\\\", "/")
    proven = []
    for candidate in found:
        voices = _PERSONS if candidate.kind == "preference" else ()  # what an agent likes is no wish of the person
        quotes = [_find_quote(evidence, said, transcript.session_id, voices) for evidence in candidate.evidence]
        known = candidate._replace(
            evidence=tuple(dict.fromkeys(quote for quote in quotes if quote)),
            impact=tuple(path for path in candidate.impact if path and path in mentioned),
            supersedes=(),
            amends=(),
            coexists_with={},
            updates="",
            session=transcript.session_id,
            host="",
        )
        proven += [known] if known.evidence else []
    return proven


def locate_quote(evidence: Evidence, transcript: Transcript) -> Evidence | None:
    """Return *evidence* with the line and time at which its quote really stands, the named line first; None for none.

    White space may differ: who copies a quote out of wrapped lines has it with other line ends.
    """
    return _find_quote(evidence, list_spoken(transcript), transcript.session_id)


def _find_quote(
    evidence: Evidence, said: Sequence[SpokenText], session: str, voices: Sequence[str] = ()
) -> Evidence | None:
    """Return where the quote occurs in what was *said*, by one of *voices* if any are given."""
    if count_words(evidence.quote) < _MIN_QUOTE_CHARACTERS:
        return None
    quote = " ".join(evidence.quote.split())
    # A model often miscounts lines: a quote counts wherever it stands word for word.
    for spoken in sorted(said, key=lambda spoken: spoken.line != evidence.line):
        if (not voices or spoken.who in voices) and quote in " ".join(spoken.text.split()):
            return Evidence(evidence.quote, session, spoken.line, spoken.time)
    return None
