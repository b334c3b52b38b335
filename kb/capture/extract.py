"""Extract candidates from a session: with the user's own language model if one is set, otherwise by rules.

The rules put precision before recall. They keep marked text first, then sentences that say what was decided and why,
then overcome failures, then a person's lasting wishes. What an agent plans, asks, supposes, quotes or prints is left
out, and fields that nobody filled stay empty. The model is called once; only candidates whose quotes occur verbatim in
the session are kept. Each candidate is completed from its own words and from what was done after it was said.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.capture.failures import find_pitfalls
from kb.capture.markers import iter_block_errors, iter_marked
from kb.capture.prove_quotes import build_request, complete_from_deeds, parse_answer
from kb.capture.reports import find_reports
from kb.capture.statements import has_standing_rule, has_standing_statement, is_of_all_cases
from kb.errors import KbError
from kb.i18n import Message
from kb.records.candidate import AREAS
from kb.records.model import Candidate, Evidence
from kb.safety import redaction
from kb.safety.personal_facts import is_personal
from kb.safety.redaction import is_private
from kb.sessions.handed_text import iter_spoken, iter_summary_errors, split_summary
from kb.sessions.host_input import read_transcript
from kb.sessions.host_records import LEFT, PersonAnswer, format_option
from kb.sessions.prose import (
    ProsePiece,
    has_choice,
    has_lasting_wish,
    has_practice,
    has_rule,
    has_solution,
    has_team_choice,
    is_binding,
    is_general,
    is_noncommittal,
    split_pieces,
    split_reason,
    split_sentences,
)
from kb.sessions.render_forms import mask_transcript
from kb.sessions.transcript import (
    AGENT,
    HUMAN,
    SUMMARY,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    parse_transcript,
)
from kb.text.mentions import (
    blank_code,
    find_alternative,
    find_paths,
    make_relative,
    remove_code,
    remove_title_lead,
    strip_markdown,
)
from kb.text.segment import clip, count_characters, count_words, has_cjk, normalise

if TYPE_CHECKING:
    from kb.workspace import Workspace

REASONED_CONFIDENCE = 0.7  # confidence of a sentence that says what was decided and why
WISH_CONFIDENCE = 0.8  # confidence of a lasting wish in a person's own prompt
CHOICE_CONFIDENCE = 0.8  # confidence of an option that a person chose when asked
MAX_TYPED_CHARACTERS = 6000  # a longer prompt is a pasted document, in which only marks count
_MIN_SENTENCE_CHARACTERS = 6
"""An agent's sentence with fewer characters (`count_characters`) outside code is not kept."""
_MIN_WISH_CHARACTERS = 4
"""The same for a person's sentence: “Use tabs”, “别用 mock”."""
_MAX_SENTENCE_CHARACTERS = 600  # anything longer is not a sentence

_NEXT_STEP = re.compile(
    r"(?i)\b(?:what|which|how) (?:would|do|should) (?:you|we|i) (?:like|want|prefer)? ?(?:to )?(?:do|proceed|continue"
    r"|discuss|handle this|start|work on|focus)\b|\b(?:next (?:step|area|task)|proceed|continue\b|move (?:on|to)"
    r"|ready to|good to go|done with|more questions|anything else|looks? (?:good|right|correct))"
    r"|\b(?:should|shall|can|could) i\b|\bwould you like me\b|\bdo you want me\b"
    r"|\bwhich (?:areas?|todos?|tasks?|issues?|findings?)\b|下一步|接下来|继续|怎么(?:进行|处理这)"
    r"|(?:要|需要|是否)(?:我|由我)|可以(?:开始|提交|继续)|准备好|还有(?:其他|别的)"
    r"|哪些(?:方面|任务|问题)"
)
"""Questions about how to continue: “What would you like to do next?”, “接下来怎么做？”; the answer decides nothing."""
_NO_CHOICE = re.compile(
    r"(?i)\W*(?:you decide|no preference|not sure|either|don'?t (?:know|care)|up to you|other|skip\b|later|none of"
    r"|你(?:来)?(?:决定|定)|随(?:便|意)|都(?:行|可以)|不确定|其他|跳过|以后再)"
)
_REMEMBERS_THAT = re.compile(
    r"\W*(?:(?:and|yes|ok|please|so|then|also|but)[,.]? )*(?:remember|note|keep|do) (?:this|that|it)\b"
    r"(?= (?:for|when|in|on|next|every|from|too|as well|everywhere|always)\b|\W*\Z)"
    r"|\W*(?:请)?(?:你)?(?:把)?(?:记住|记下|记得)?(?:这个|这点|这条|它)(?:要)?(?:记住|记下来|记一下)?\W*\Z",
    re.IGNORECASE,
)
"""“and remember that for every big table”: the sentence before says what “that” is (see `openings`)."""
_ADVISED = re.compile(r"(?i)(?<!\s)\s*+[(（](?:recommended|default|推荐|默认)[)）]")
_EDIT_TOOLS = frozenset({"Edit", "Write", "Read", "NotebookEdit"})


def find_candidates(
    kb: Workspace, transcript: Transcript, after: int, session: str, host: str
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates in *transcript* and notes for the user.

    Candidates come from KB_LLM_CMD if it is set and answers, otherwise from the rules.
    """
    notes: list[str] = []
    found: list[Candidate] | None = None
    if command := kb.environment.get("KB_LLM_CMD"):
        from kb.state.json_clients import run_llm_command

        try:
            answer = run_llm_command(command, build_request(transcript, kb.config.language), kb.config.llm_timeout)
            found = [c for c in parse_answer(answer, transcript) if all(one.line > after for one in c.evidence)]
            # facts that need no model
            facts = [*find_pitfalls(transcript, kb.config.language), *find_reports(transcript, after)]
            found += [candidate for line, candidate in facts if line > after]
        except KbError as error:
            notes.append(error.translate(kb.config.language))
    if found is None:
        found = extract_candidates(transcript, after, kb.config.language)
    found = [_drop_missing_paths(candidate, transcript.cwd) for candidate in found]
    return [c._replace(session=session, host=host or c.host) for c in found], notes


def _drop_missing_paths(candidate: Candidate, top: str) -> Candidate:
    """Return *candidate* without impact paths that do not exist in the project at *top*, if that folder exists here."""
    if not (candidate.impact and top and os.path.isdir(top)):
        return candidate
    return candidate._replace(impact=tuple(p for p in candidate.impact if os.path.lexists(os.path.join(top, p))))


def find_candidates_in_file(kb: Workspace, path: str) -> list[Candidate]:
    """Return the candidates in the transcript *path*, with secrets masked; nothing is written."""
    transcript = mask_transcript(parse_transcript(read_transcript(path)), kb.config.masking)
    found, _ = find_candidates(kb, transcript, 0, transcript.session_id, "")
    return [redaction.redact_candidate(candidate, kb.config.masking)[0] for candidate in found]


# -- by rules -------------------------------------------------------------------------------------


def extract_candidates(transcript: Transcript, after_line: int = 0, language: str = "en") -> list[Candidate]:
    """Return the candidates in *transcript*, in order and without duplicates.

    The quote of each candidate's evidence is a slice of the text at its line. Only candidates said or completed after
    *after_line* are returned; all lines are read, because a failure may lie before it.
    """
    calls = [call for message in transcript.messages for call in message.calls if call.name in _EDIT_TOOLS]
    paths = [call.input["file_path"] for call in calls if isinstance(call.input.get("file_path"), str)]
    relative = (make_relative(path, transcript.cwd) for path in paths)
    touched = frozenset(path for path in relative if not path.startswith("/"))
    found: list[tuple[int, Candidate]] = []
    for message in transcript.messages:
        if message.line > after_line:
            found += [(message.line, candidate) for candidate in _extract_from_message(message, transcript, touched)]
            if message.origin == SUMMARY:
                found += [(message.line, candidate) for candidate in _read_summary_errors(message, transcript)]
    found += [(line, candidate) for line, candidate in find_pitfalls(transcript, language) if line > after_line]
    found += find_reports(transcript, after_line)
    # Of two with the same title, the more confident one is kept, then the earlier.
    found.sort(key=lambda pair: (-(pair[1].confidence or 0), pair[0]))
    unique: dict[tuple[str, str], tuple[int, Candidate]] = {}
    for line, candidate in found:
        unique.setdefault((candidate.kind, normalise(candidate.title)), (line, candidate))
    in_order = sorted(unique.values(), key=lambda pair: pair[0])
    return [complete_candidate(candidate, transcript, line, touched) for line, candidate in in_order]


def list_broken_blocks(transcript: Transcript, after_line: int = 0) -> list[tuple[int, Message | str]]:
    """Return line and reason of every ```kb block after *after_line* that is not a valid candidate."""
    return [
        (message.line, reason)
        for message in transcript.messages
        for text in get_own_texts(message)
        if message.line > after_line and "kb" in text
        for reason in iter_block_errors(text)
    ]


def _extract_from_message(
    message: TranscriptMessage, transcript: Transcript, known: frozenset[str]
) -> Iterator[Candidate]:
    evidence = Evidence("", transcript.session_id, message.line, message.time)
    for answer in message.answers:
        yield from _read_choice(answer, evidence)
    # in an answer to a question, only the typed text is the person's own
    typed = [(answer.typed, HUMAN) for answer in message.answers]
    for text, who in typed if message.answers else iter_spoken(message):
        origin = HUMAN if who == HUMAN else AGENT
        parts = split_pieces(text)
        marks = list(iter_marked(text, parts, evidence))
        for mark in marks:
            near = find_paths(text[mark.start : mark.end], transcript.cwd, known)
            found = mark.candidate._replace(impact=mark.candidate.impact or near)
            # Whatever a person marks in their own words, not in a pasted document, is to be kept.
            is_own = origin == HUMAN and len(text) <= MAX_TYPED_CHARACTERS
            yield found._replace(affects_future=True) if is_own and found.affects_future is None else found
        # In a pasted document (a ticket, a log, 一份需求文档) “we decided …” was said by somebody else.
        if origin == HUMAN and len(text) > MAX_TYPED_CHARACTERS:
            continue
        taken = deque(sorted((mark.start, mark.end) for mark in marks))
        for piece in parts:
            while taken and taken[0][1] <= piece.start:
                taken.popleft()
            is_unmarked = not taken or taken[0][0] >= piece.start + len(piece.text)
            if is_unmarked and piece.what in ("prose", "item"):
                yield from _extract_from_piece(piece, origin, evidence, transcript, known)


def _read_choice(answer: PersonAnswer, evidence: Evidence) -> Iterator[Candidate]:
    """Yield the decision in which a person chose one of several options; none if it was about how to continue."""
    label, about = answer.chosen[0] if len(answer.chosen) == 1 else ("", "")
    if not label or not answer.left or _NEXT_STEP.search(answer.question) or _NO_CHOICE.match(label):
        return
    label = _ADVISED.sub("", label).strip()
    others = [format_option(*one) for one in answer.left if not _NO_CHOICE.match(one[0])]
    yield Candidate(
        "decision",
        clip(f"{answer.question.rstrip('?？ ')}: {label}", 120),
        decision=format_option(label, about),
        alternatives="\n".join(f"- {one}" for one in others) if len(others) > 1 else "".join(others),
        why=split_reason(format_option(label, about)).why,
        confidence=CHOICE_CONFIDENCE,
        evidence=(evidence._replace(quote=answer.text.partition(f"\n{LEFT}")[0]),),
    )


def _read_summary_errors(message: TranscriptMessage, transcript: Transcript) -> Iterator[Candidate]:
    """Yield the errors that a compaction summary reports as overcome."""
    for text in get_own_texts(message):
        for error in iter_summary_errors(split_summary(text).get("errors", "")):
            evidence = Evidence(
                error.quote[:_MAX_SENTENCE_CHARACTERS], transcript.session_id, message.line, message.time
            )
            yield Candidate(
                "pitfall",
                clip(error.symptom, 120),
                decision=f"{error.symptom}. {error.cure}",
                why=error.cause,
                impact=find_paths(error.quote, transcript.cwd),
                confidence=REASONED_CONFIDENCE,
                evidence=(evidence,),
            )


def _extract_from_piece(
    piece: ProsePiece, origin: str, evidence: Evidence, transcript: Transcript, known: frozenset[str]
) -> Iterator[Candidate]:
    near: tuple[str, ...] | None = None
    sentences = list(dict.fromkeys(split_sentences(piece.text)))  # a repeated sentence is the same candidate
    for number, sentence in enumerate(sentences):
        if len(sentence) > _MAX_SENTENCE_CHARACTERS or is_too_short(sentence, origin):
            continue
        if candidate := word_sentence(sentence, origin):
            if near is None:  # once for all sentences: a piece may hold thousands of them
                near = find_paths(piece.text, transcript.cwd, known)
            quote = sentence
            behind = sentences[number + 1] if number + 1 < len(sentences) else ""
            if origin == HUMAN and behind and _goes_on(behind):  # “… is never the utc day. dates come from …, always”
                start = piece.text.find(sentence)
                quote = piece.text[start : piece.text.find(behind, start) + len(behind)]
                end = "。" if has_cjk(behind) else ". "
                more = f"{candidate.decision.rstrip('.。')}{end}{strip_markdown(behind)}"
                candidate = candidate._replace(decision=more)
            yield candidate._replace(impact=near, evidence=(evidence._replace(quote=quote),))


_NEW_SUBJECT = re.compile(
    r"\W*(?:also\b|besides\b|apart from that|by the way|another (?:thing|rule|point)|separately\b|one more thing"
    r"|另外|此外|还有|顺便|另一(?:件事|点|条)|再有)",
    re.IGNORECASE,
)
"""“另外周五不要…”, “Also, the staging …”: a person changes the subject."""


def _goes_on(sentence: str) -> bool:
    """Return whether a person's *sentence* continues the rule before it and is not a candidate of its own."""
    is_statement = has_standing_statement(sentence) and not is_noncommittal(sentence)
    is_statement = is_statement and not _NEW_SUBJECT.match(sentence)
    return is_statement and not is_private(sentence) and word_sentence(sentence, HUMAN) is None


def is_too_short(sentence: str, origin: str) -> bool:
    """Return whether a *sentence* of *origin* (HUMAN, AGENT) is too short to be kept."""
    least = _MIN_WISH_CHARACTERS if origin == HUMAN else _MIN_SENTENCE_CHARACTERS
    return count_characters(remove_code(sentence)) < least


def word_sentence(sentence: str, origin: str) -> Candidate | None:
    """Return the candidate stated by a *sentence* of *origin* (HUMAN, AGENT), without evidence, or None."""
    sentence = _SENTENCE_LABEL.sub("", sentence)
    if is_noncommittal(sentence) or _REMEMBERS_THAT.match(sentence):
        return None
    main, why = split_reason(sentence)
    if origin == HUMAN and is_private(sentence):
        return None
    if origin == HUMAN and is_personal(sentence):
        own = Candidate("preference", _build_title(sentence), decision=strip_markdown(sentence))
        return own._replace(affects_future=True, confidence=WISH_CONFIDENCE)
    if origin == HUMAN and has_lasting_wish(sentence, why):
        kind = "constraint" if is_binding(main, why) else "preference"
        wish = Candidate(kind, _build_title(main), decision=strip_markdown(main), why=why)
        return wish._replace(affects_future=True, confidence=WISH_CONFIDENCE)
    # An agent's “we should use Redis” is a plan unless it gives a reason; a person's “我们用 Redis” is a decision.
    counts = bool(why) or origin == HUMAN
    if counts and has_choice(main) and (why or has_team_choice(main)):
        kind = "decision"
    elif (counts and has_rule(main) and (why or is_general(main))) or (origin == HUMAN and has_standing_rule(main)):
        kind = "constraint"
    elif origin == HUMAN and why and has_practice(main):
        kind = "decision"
    elif origin == AGENT and has_solution(sentence):
        kind = "pitfall"
    else:
        return None
    subject = main
    if kind == "pitfall" and (match := _SOLVED_PATTERN.search(blank_code(main))):
        # The title names the problem: “Fixed the flaky checkout test by waiting …” is about the flaky test.
        group = "what" if match["what"] else "what_zh"
        found = main[match.start(group) : match.end(group)].strip()
        subject = found[:1].upper() + found[1:] if count_characters(found) >= _MIN_SENTENCE_CHARACTERS else main
    # A person's rule for all cases affects later work; a rule for one case is left to the gate, which holds it.
    is_rule = kind == "constraint" or (kind == "decision" and has_team_choice(main))
    is_general_rule = origin == HUMAN and is_rule and is_of_all_cases(main)
    return Candidate(
        kind,
        _build_title(subject),
        decision=strip_markdown(main),
        alternatives=find_alternative(main),
        why=why,
        affects_future=True if is_general_rule else None,
        confidence=REASONED_CONFIDENCE,
    )


# A sentence that says what was fixed, and how.
_SOLVED_PATTERN = re.compile(
    r"^\W*+(?:(?:i|we|this|that) )?(?:have |has )?(?:fixed|resolved|solved|eliminated|avoided) (?:the )?"
    r"(?P<what>[^.;]{6,160}?) (?:by|via|with|using) "
    r"|(?:解决|修复|消除|避免)了?(?P<what_zh>[^，。；]{4,80}?)(?:的问题)?[。，]?$",
    re.IGNORECASE,
)


_TITLE_LEAD = re.compile(
    r"^\W*(?:(?:right|yes|ok|okay|exactly|对|好的?|so|therefore|thus|hence|finally|ultimately|overall|and|but|also"
    r"|then|please|from (?:now|here) on|going forward|in (?:the )?future|henceforth|所以|因此|于是|最终"
    r"|最后|另外|同时|并且|从现在(?:起|开始)|请|记住|remember(?: that)?\b)[,，:：\s]*)*",
    re.IGNORECASE,
)
_LOWER_CASE_NAMES = frozenset(
    "npm npx pnpm pip pipx uv git gh kubectl pytest ruff mypy make bash zsh curl jq kb".split()
)
_SENTENCE_LABEL = re.compile(r"^\*\*[^:：`*]{2,60}[:：]?\*\*[:：]?\s*")  # "**Key fix in this session:** …"
_INSTEAD_END = re.compile(r"(?<!\s)\s*+(?:instead of|rather than|over|而不是|而非|代替|替代|取代)\s*+$", re.IGNORECASE)


def _build_title(main: str) -> str:
    """Return *main* as a title: without lead-in words and, if it is long, without the rejected alternative."""
    match = _TITLE_LEAD.match(blank_code(main))
    shorter = strip_markdown(main[match.end() :] if match and not main.lstrip().startswith("`") else main)
    if len(shorter) > 80 and (other := find_alternative(shorter)) and count_words(head := shorter.split(other)[0]) > 8:
        shorter = strip_markdown(_INSTEAD_END.sub("", head))
    title = remove_title_lead(shorter if count_words(shorter) >= 3 else strip_markdown(main))
    # capitalise the first word unless it is the name of a program or of something in code
    first = title.split(" ")[0]
    is_word = first.isascii() and first.isalpha() and first.islower() and first not in _LOWER_CASE_NAMES
    return clip(title[:1].upper() + title[1:] if is_word and " " in title else title, 120)


# -- what completes a candidate -------------------------------------------------------------------

_AREAS = {
    "architecture": r"\barchitectur(?:e|al)\b|\bmicro-?services?\b|\bmonolith\w*|架构|微服务|单体应用",
    "security": r"\bsecurity\b|\bvulnerab\w+|\bauthenticat\w+|\bauthori[sz]ation\b|\bencrypt\w*|\bcredentials?\b"
    r"|\bXSS\b|\bCSRF\b|\bSQL injection\b|(?<!线程)(?<!类型)(?<!内存)安全(?!地)|漏洞|鉴权|身份认证|加密|脱敏|密钥"
    r"|SQL ?注入|越权",
    "performance": r"\bperformance\b|\blatency\b|\bthroughput\b|性能|延迟高|吞吐",
    "compliance": r"\bcomplian(?:ce|t with)\b|\bGDPR\b|\bHIPAA\b|\bPCI[- ]DSS\b|合规|等保|个人信息保护",
    "modules": r"\b(?:across|all|several|multiple) (?:the )?(?:modules|services|packages)\b"
    r"|跨模块|跨服务|多个模块|所有模块|所有服务",
}
_AREA_PATTERNS = tuple((area, re.compile(_AREAS[area], re.IGNORECASE)) for area in AREAS)
_ALL_PROJECTS_PATTERN = re.compile(
    r"\b(?:in |across )?(?:all|every|any|other)(?: of)?(?: our| my| the)? (?:projects?|repositor(?:y|ies)|repos)\b"
    r"|所有项目|每个项目|各个项目|跨项目|任何项目",
    re.IGNORECASE,
)
# A setting with its value: a dotted key in a code span, “is” or “=”, and a number or a code span.
_CLAIM = re.compile(
    r"`([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)`\s*(?:=|:|is set to|must be|is|to|设为|设置为|固定为|必须为|必须是|为|是)\s*"
    r"(?:`([^`\n]{1,60})`|(\d+(?:\.\d+)?)(?![\w.]))"
)
_FILE_ENDINGS = frozenset(
    "py js ts md json yaml yml toml txt ex exs rs go java rb sh css html sql c h lock xml cfg ini".split()
)


def complete_candidate(candidate: Candidate, transcript: Transcript, line: int, touched: frozenset[str]) -> Candidate:
    """Complete a candidate from its own words (areas, claims, reuse) and from what was done after *line*.

    If it names no file, the files edited in the same turn are its impact, provided they are few. The first test that
    passed after one of its files was edited is its verification.
    """
    words = "\n".join((candidate.title, candidate.decision, candidate.why))
    if candidate.kind != "preference" and not candidate.impact:
        candidate = candidate._replace(impact=find_paths(words, transcript.cwd, touched))
    candidate = complete_from_deeds(candidate, transcript, line)
    areas = tuple(area for area, pattern in _AREA_PATTERNS if pattern.search(words))
    # “in all projects” / 所有项目: a rule for all projects is reusable; otherwise nothing is known.
    reusable = True if candidate.reusable is None and _ALL_PROJECTS_PATTERN.search(words) else candidate.reusable
    found = _CLAIM.findall(words) if candidate.kind in ("decision", "constraint") else ()
    claims = {key: quoted or number for key, quoted, number in found if key.rpartition(".")[2] not in _FILE_ENDINGS}
    return candidate._replace(
        impact_areas=candidate.impact_areas or areas,
        claims=candidate.claims or claims,
        reusable=reusable,
        session=transcript.session_id or candidate.session,
    )
