"""Find openings: places in a session where something was decided or learnt that rules can locate but not word.

An opening is not a candidate. It says where in the transcript to look; the agent that was there writes the record, and
the gate checks its quotes. A false opening therefore costs one sentence. What `extract` can word by itself (a decision
with its reason) is not an opening.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from kb.capture.extract import word_sentence
from kb.capture.failures import find_pitfalls
from kb.capture.statements import has_standing_statement, is_announced, points_back
from kb.i18n import msg
from kb.records.model import Evidence
from kb.sessions.prose import (
    has_choice,
    has_rule,
    has_team_choice,
    is_general,
    is_go_ahead,
    is_noncommittal,
    is_question,
    split_pieces,
    split_reason,
    split_sentences,
)
from kb.sessions.transcript import (
    AGENT,
    HUMAN,
    MAX_READ_CHARACTERS,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    get_prompt,
    get_read_texts,
    list_calls,
)
from kb.text.mentions import blank_code
from kb.text.segment import count_words, extract_ranking_terms, one_line
from kb.writing.gate import COSTLY, MIN_QUOTE_WORDS

CORRECTION, DECISION, CHOICE, STATEMENT, FAILURE, ANSWER = KINDS = (
    "correction",
    "decision",
    "choice",
    "statement",
    "failure",
    "answer",
)
KIND_NAMES = {
    CORRECTION: msg("a correction by the person"),
    DECISION: msg("a decision"),
    CHOICE: msg("a choice among options"),
    STATEMENT: msg("a statement by the person"),
    FAILURE: msg("a solved failure"),
    ANSWER: msg("an answer that took many calls"),
}
_EXAMPLE_KINDS = {FAILURE: "pitfall", ANSWER: "domain-note", CORRECTION: "constraint"}
_MIN_CALLS_TO_OVERCOME = 3
"""Minimum number of calls between a failure and the same command's success; fewer are a slip."""
_PASTED_CHARACTERS = 2000
"""A prompt of more characters is a pasted document, not a reply."""
_QUOTE_CHARACTERS = 400

_CORRECTS = re.compile(
    r"^\W*(?:no+\b(?! (?:problem|worries|rush|need|idea))|nope\b|wrong\b|not (?:just|only|quite|like that|what i)"
    r"|not [^.,;!?]{1,40} [-—–] |almost\b|careful\b|stop\b|wait\b|hold on\b|rather\b"
    r"|(?:please )?don'?t\b|do not\b|never\b)"
    r"|\byou(?:'re| are) over-?\w+ing\b|\b(?:that'?s|this is|that is) (?:wrong|not (?:right|what|how|correct"
    r"|quite))\b|\byou (?:forgot|missed|broke)\b"
    r"|\bi (?:said|told you|meant|asked (?:you|for))\b|\boff the table\b|\bcorrections?\b|\bamend(?:ment|ing)?\b"
    r"|^\W*(?:不对|不是|不行|不要|不用|别(?!的)|错(?!误)|等等|停|应该是|我说|撤回|改回|改成|更正)"
    r"|(?:不应该|不是这样|搞错|弄错|说错|写错|理解错|我的意思是|我说的是|你(?:忘|漏)了?)",
    re.IGNORECASE,
)
"""“No, keep the old name”, “不对，应该放在 api 下面”: a person corrects the agent."""
_AGREES = re.compile(
    r"^\W*(?:yes|yep|yeah|right|exactly|correct|agreed?|confirmed|approved|settled|deal|sounds (?:good|right)|perfect"
    r"|that(?:'s| is) (?:it|right|the (?:one|rule|policy|plan|spec|contract))|works for me|do (?:that|it)|ship it|lgtm"
    r"|go with|对|是的|好|可以|同意|没错|就这样|就这么|行|按这个|没问题|赞成|确认|定了)",
    re.IGNORECASE,
)
"""“Exactly.”, “好，就这样”: the proposal before it is accepted."""
_RULE_NAMES = r"(?:rule|policy|contract|convention|spec)"
_RECAPS = re.compile(
    rf"^\W*(?:settled|decided|agreed(?=:)|recap|(?:final(?:i[sz]ed)?|amended|so the) {_RULE_NAMES})\b"
    rf"|\b(?:is|are) (?:now )?(?:the {_RULE_NAMES}|settled|superseded|final)\b|\bsuperseding\b"
    rf"|\bthe (?:definitive |final |new )?{_RULE_NAMES}\b[^.?!]{{0,60}}\bis\b|\bnew contract\b"
    r"|\bto (?:recap|sum up|summari[sz]e)\b|(?:规则|约定|方案)就?(?:定为|定了|是这样|如下)"
    r"|^\W*(?:key (?:points?|facts?|takeaways?)\b|(?:总结|小结|结论|约定|规则|定了|最终(?:方案|规则)|确认一下)(?:一下)?"
    r"[：:，,]|[要重]点[：:])",
    re.IGNORECASE,
)
"""“Settled: refunds are whole cents”, “约定：金额用分”: an agent states what applies from now on."""
_PROPOSES = re.compile(
    r"\b(?:i'd|i would|i'll|i will|i propose|i suggest|we(?:'ll| will| should| could)|let'?s|my plan"
    r"|the (?:fix|rule) (?:is|would be))\b|我(?:会|打算|建议|来|准备)|建议|可以(?:用|把|改)|方案是",
    re.IGNORECASE,
)
"""“I'd key on the e-mail”, “我建议用分”: a proposal that a person may accept."""
_STANDS = re.compile(
    r"\b(?:always|never|only|must|exactly|at (?:most|least)|no more than|except|unless|until|wins?|instead of"
    r"|rather than|whatever|regardless|every|per|cap(?:ped)?|round(?:ed)?|drop(?:ped)?|keep|reject|treat)\b|\d"
    r"|一律|只能?|必须|不得|永远|最多|至少|除非|除了|优先|为准|而不是|每",
    re.IGNORECASE,
)
"""Words of a rule; a proposal without them is just the next step."""
_SWITCHES = re.compile(
    r"(?:^|[:,;.] |\b(?:then|let's|just|please|we(?:'ll| will| should)?) )"
    r"(?:replace|switch|drop|move|migrate|use|keep|store|go with|stick (?:to|with)|stop (?:using|doing))\b|换成"
    r"|改成|改用|替换|迁到"
    r"|去掉|弃用",
    re.IGNORECASE,
)
_LETS = re.compile(
    r"\blet['’]s (?=go with\b|stick\b|standardi|use\b|drop\b|keep\b|not\b|only\b|always\b|never\b)"
    r"|\bmay (?=(?:arrive|come|be) (?:twice|late|duplicated|delayed|out of order|empty|null|missing)\b)"
    r"|可能会?(?=重复|乱序|丢失|为空|延迟|并发)",
    re.IGNORECASE,
)
"""“Let's standardise on pnpm”: a choice of a person, a plan of an agent; “may arrive twice”: no guess."""
_OFFERS = re.compile(
    r"\b(?:want me to|shall i|would you like (?:me )?to"
    r"|should i (?:also|now|go|proceed|run|commit|push|continue|start))\b|要我|需要我|要不要我|我(?:现在|接着|继续)",
    re.IGNORECASE,
)
"""“Shall I commit it?”, “要我提交吗？”: the answer is about the next step, or another task."""
_INQUIRES = re.compile(
    r"^\W*(?:(?:hmm|ah|oh|and|or|so|interesting|maybe|perhaps)[,.:…]* )*"
    r"(?:are you (?:seeing|on|using|sure|getting|concerned|running)"
    r"|(?:can|could|would) you (?:\w+ )?(?:give|share|show|paste|send|tell|post|reproduce|elaborate|clarify)"
    r"|(?:do|did|have) you (?:see|saw|seen|try|tried|remember|recall|know|check|checked|run|happen)"
    r"|what (?:were|are|did|do) you (?:\w+ )?(?:look|see|get|run|try|mean|find)|what (?:exactly|specifically|error)"
    r"|(?:is|was|does|did|has) (?:it|this|that|there|the)\b|(?:maybe|perhaps) (?:there|it|we|the)\b)"
    r"|\b(?:are you seeing|remember (?:the|that|when|how))\b"
    r"|^\W*(?:能不能|能|可以|请)?(?:给我|贴|发我|发一下|分享|提供)|(?:是不是|有没有)(?:报|出现|看到|遇到)"
    r"|你(?:看到|遇到|用的是|记得|是在)",
    re.IGNORECASE,
)
"""“Are you seeing the same error?”, “能贴一下日志吗？”: a question about facts, not about what to do."""
_PICKS = re.compile(
    r"^\W*(?:(?:let'?s )?(?:go|going) (?:with|for)|(?:i(?:'d)? )?(?:pick|choose|prefer|take)\b|option"
    r"|the (?:first|second|third|last|latter|former)|(?:number )?[a-d1-4]\b[.,)! ]*(?:$|because|since)"
    r"|选|用|走|第[一二三四]|方案)",
    re.IGNORECASE,
)
_OPTIONS = re.compile(
    r"\boption [a-d1-4]\b|\beither\b.{3,200}\bor\b|(?m:^[ \t]{0,8}[1a][.)] [^\n]{1,300}\n{1,2}[ \t]{0,8}[2b][.)] )"
    r"|方案[一二三四ABC]|要么.{2,80}要么|还是",
    re.IGNORECASE | re.DOTALL,
)
_OR = re.compile(r"\bor\b|还是|或者?", re.IGNORECASE)
_MAX_PICK_WORDS = 6
_NAMES_OPTIONS = re.compile(
    r"\b(?:candidates|options|choices|alternatives|possibilities|approaches|(?:realistic|usual|main|common) ones)\b"
    r"[^:.?!\n]{0,40}:|(?:可选|选项|方案|候选|备选|选择)[^：:。\n]{0,10}[：:]",
    re.IGNORECASE,
)
"""“Usual candidates: black, yapf”, “可选：Quartz、ShedLock”: an agent lists the options."""
_SEPARATES = re.compile(r"[,，、;；]|\b(?:or|and|versus|vs)\b|或者?|还是", re.IGNORECASE)
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_MAX_OPTION_WORDS = 8
_SHOWS_ERROR = re.compile(
    r"[^\n]{0,200}(?:\b(?:\w+error|error|\w*exception|fatal|panic|errno|failed|cannot|denied|refused|timed out)\b"
    r"|错误|异常|失败)[^\n:：]{0,60}[:：](?!//)[^\n]{4,300}",
    re.IGNORECASE,
)
"""“staging is down: FATAL: …”, “Caused by: …Exception: …”: a person reports an error from elsewhere."""
_RECOVERED = re.compile(
    r"\b(?:is|are) (?:back|healthy|working|green|up again|running again)\b|\b(?:works?|starts?|passes|builds?|runs?)"
    r" (?:again|now|fine)\b|\bno longer (?:fails?|hangs?|crash)|恢复|正常|起来了|通过了|好了",
    re.IGNORECASE,
)
_MAX_PROMPTS_TO_RECOVER = 3


class Opening(NamedTuple):
    """A place where a record may be missing."""

    kind: str
    """One of KINDS."""
    line: int
    """The transcript line at which it was settled."""
    quotes: tuple[Evidence, ...]
    """What was said or done, verbatim, in order."""

    @property
    def name(self) -> str:
        """Eight hexadecimal digits, the same for the same quotes of a session."""
        said = (" ".join(one.quote.split()) for one in self.quotes)
        of = dict.fromkeys(one.source for one in self.quotes)
        return sha256("\0".join((self.kind, *of, *said)).encode("utf-8", "replace")).hexdigest()[:8]


def find_openings(transcript: Transcript, after_line: int = 0) -> list[Opening]:
    """Return the openings after *after_line*, in order, at most one per line."""
    found = [
        *_iter_spoken(transcript, after_line),
        *(overcome := list(_iter_overcome(transcript, after_line))),
        *_iter_reported(transcript, after_line, overcome),
        *_iter_costly_answers(transcript, after_line),
    ]
    unique: dict[int, Opening] = {}
    for opening in sorted(found, key=lambda opening: (opening.line, KINDS.index(opening.kind))):
        unique.setdefault(opening.line, opening)
    return list(unique.values())


def _quote(message: TranscriptMessage, text: str, session: str) -> Evidence:
    return Evidence(text.strip()[:_QUOTE_CHARACTERS].rstrip(), session, message.line, message.time)


# -- what was said ---------------------------------------------------------------------------------


def _iter_spoken(transcript: Transcript, after_line: int) -> Iterator[Opening]:
    """Yield what a person corrected, answered, accepted, chose or decided, and what the agent recapped.

    A recap right after a person's reply belongs to the same opening.
    """
    session = transcript.session_id
    before: TranscriptMessage | None = None  # the agent's last message
    settled: Opening | None = None  # by the last prompt
    for message in transcript.messages:
        if not message.in_context:
            continue
        if message.origin == AGENT and any(text.strip() for text in message.texts):
            before = message
            if message.line > after_line and (recap := _find_recap(message, session)):
                if settled:
                    yield settled._replace(quotes=(*settled.quotes, recap))
                else:
                    yield Opening(DECISION, message.line, (recap,))
                settled = None
        elif message.origin == HUMAN and (prompt := get_prompt(message)):
            if settled:
                yield settled
            is_read = message.line > after_line and len(prompt) <= _PASTED_CHARACTERS
            settled = _read_reply(message, prompt, before, session) if is_read else None
            before = None
    if settled:
        yield settled


def _read_reply(
    message: TranscriptMessage, prompt: str, before: TranscriptMessage | None, session: str
) -> Opening | None:
    """Return the opening in *prompt*, read as a reply to the agent's message *before* it or by itself, or None."""
    said, plain = _quote(message, prompt, session), blank_code(prompt)
    sentences = _list_sentences(message)
    worded = [candidate for sentence in sentences if (candidate := word_sentence(sentence, HUMAN))]
    if any(candidate.why or candidate.kind != "decision" for candidate in worded):
        return None  # “We use X because …” is a candidate; “we decided to use X” lacks the reason
    if before and not all(map(is_question, sentences)):
        rows = _list_sentences(before)
        asked = rows[-1] if rows and is_question(rows[-1]) else ""
        context = (_quote(before, asked, session),) if asked else ()
        if named := _find_chosen_list(rows, sentences):  # “black or yapf?” “black, so that nobody can argue.”
            return Opening(CHOICE, message.line, (_quote(before, named, session), said))
        is_pick = _PICKS.match(prompt) and _OPTIONS.search("\n".join(get_own_texts(before)))
        # “Does it round up or down?” “Down.”: one word in answer to “or” is a choice
        if asked and (is_pick or (_OR.search(asked) and count_words(prompt) <= _MAX_PICK_WORDS)):
            return Opening(CHOICE, message.line, (*context, said))
        if _CORRECTS.search(plain) and not all(map(is_noncommittal, sentences)):
            return Opening(CORRECTION, message.line, (*context, said))
        # “I'm not sure, maybe …”, “可能是 …” settles nothing
        is_answer = asked and not is_go_ahead(prompt) and not any(map(is_noncommittal, sentences[:2]))
        if is_answer and not _INQUIRES.search(asked) and (_STANDS.search(plain) or not _OFFERS.search(asked)):
            return Opening(DECISION, message.line, (*context, said))
        proposed = [row for row in rows if _PROPOSES.search(blank_code(row)) and _STANDS.search(blank_code(row))]
        if proposed and _AGREES.match(prompt):
            return Opening(DECISION, message.line, (_quote(before, proposed[-1], session), said))
    for sentence in sentences:
        main, why = split_reason(sentence)
        is_laid_down = has_team_choice(main) or has_choice(main) or (has_rule(main) and is_general(main))
        # “replace black by ruff format, because one tool is faster”: an instruction with its reason is a decision
        is_laid_down = (is_laid_down and not why) or bool(why and _SWITCHES.search(blank_code(main)))
        if is_laid_down and not is_noncommittal(sentence):
            return Opening(DECISION, message.line, (_quote(message, sentence, session),))
    for sentence in sentences:
        is_open = is_noncommittal(_LETS.sub("we ", sentence)) and not is_announced(sentence)
        if has_standing_statement(sentence) and not is_open:
            quote = _quote(message, sentence, session)
            # “and remember that for every index”: the agent's message says what “that” is
            lead = _get_lead(before) if before and points_back(sentence) else ""
            return Opening(
                STATEMENT, message.line, (_quote(before, lead, session), quote) if before and lead else (quote,)
            )
    return None


def _find_chosen_list(rows: Sequence[str], sentences: Sequence[str]) -> str:
    """Return the agent's sentence that lists options of which the reply names exactly one, or ""."""
    if not sentences or is_question(sentences[0]) or is_noncommittal(sentences[0]):
        return ""
    said = set(extract_ranking_terms(sentences[0]))
    for row in reversed(rows):
        lead = _NAMES_OPTIONS.search(row)
        if not lead and not (is_question(row) and _OR.search(row)):
            continue
        names = _SEPARATES.split(_BRACKETS.sub("", row[lead.end() if lead else 0 :]))
        options = [set(extract_ranking_terms(name)) for name in names if count_words(name) <= _MAX_OPTION_WORDS]
        taken = [option for option in options if option and option <= said]
        if len([option for option in options if option]) > 1 and len(taken) == 1:
            return row
    return ""


def _find_recap(message: TranscriptMessage, session: str) -> Evidence | None:
    """Return the first sentence in which the agent states what is now settled, or None."""
    for sentence in _list_sentences(message):
        if _RECAPS.search(blank_code(sentence)) and not is_question(sentence) and count_words(sentence) > 5:
            return _quote(message, sentence, session)
    return None


def _list_sentences(message: TranscriptMessage) -> list[str]:
    pieces = (piece for text in get_read_texts(message) for piece in split_pieces(text))
    return [row for piece in pieces if piece.what in ("prose", "item") for row in split_sentences(piece.text)]


# -- what was done ---------------------------------------------------------------------------------


def _iter_overcome(transcript: Transcript, after_line: int) -> Iterator[Opening]:
    """Yield each command failure that took several calls to overcome and whose cause nobody stated."""
    for line, pitfall in find_pitfalls(transcript):
        is_dear = pitfall.cost is not None and pitfall.cost >= _MIN_CALLS_TO_OVERCOME
        if line > after_line and is_dear and pitfall.evidence and not pitfall.why:
            yield Opening(FAILURE, line, pitfall.evidence)


def _iter_reported(transcript: Transcript, after_line: int, overcome: Iterable[Opening]) -> Iterator[Opening]:
    """Yield each failure that a person reported with its error and that took several calls to overcome.

    If no command ran twice, only the agent's word shows that it is fixed: “Staging is back. …”.
    """
    session, known = transcript.session_id, [one.line for one in overcome]
    lines = [call.request.line for call in list_calls(transcript, in_context=True)]
    report: TranscriptMessage | None = None
    found: TranscriptMessage | None = None  # the agent's latest message about it, usually the cause
    error, prompts = "", 0
    for message in transcript.messages:
        if not message.in_context:
            continue
        if message.origin == HUMAN and (prompt := get_prompt(message)):
            prompts += 1
            if shown := _SHOWS_ERROR.search(prompt[:MAX_READ_CHARACTERS]):
                report, error, prompts, found = message, shown[0], 0, None
        elif report and message.origin == AGENT and prompts < _MAX_PROMPTS_TO_RECOVER and message.line > after_line:
            rows = _list_sentences(message)
            gone = [row for row in rows if _RECOVERED.search(blank_code(row)) and not is_noncommittal(row)]
            spent = sum(report.line < line < message.line for line in lines)
            if not gone or spent < _MIN_CALLS_TO_OVERCOME:
                found = message if rows else found
                continue
            if not any(report.line < line <= message.line for line in known):
                text = next(text for text in get_own_texts(message) if gone[0] in text)
                said = _quote(message, text[text.find(gone[0]) :], session)
                cause = (_quote(found, _get_lead(found), session),) if found else ()
                yield Opening(FAILURE, message.line, (_quote(report, error, session), *cause, said))
            report = None


def _iter_costly_answers(transcript: Transcript, after_line: int) -> Iterator[Opening]:
    """Yield each of the person's questions that took the agent `COSTLY` calls or more to answer."""
    session = transcript.session_id
    calls: dict[int, int] = {}
    for call in list_calls(transcript, in_context=True):
        calls[call.turn] = calls.get(call.turn, 0) + 1
    question: TranscriptMessage | None = None
    answer: TranscriptMessage | None = None
    for message in (*transcript.messages, None):
        prompt = get_prompt(message) if message and message.in_context else ""
        if prompt or message is None:
            if question and answer and answer.line > after_line and calls.get(answer.turn, 0) >= COSTLY:
                quotes = (_quote(question, get_prompt(question), session), _quote(answer, _get_lead(answer), session))
                yield Opening(ANSWER, answer.line, quotes)
            is_asking = len(prompt) <= _PASTED_CHARACTERS and is_question(prompt)
            question, answer = (message if is_asking else None), None
        elif message.origin == AGENT and message.in_context and any(text.strip() for text in message.texts):
            answer = message


def _get_lead(message: TranscriptMessage) -> str:
    return next((text for text in get_own_texts(message) if text.strip()), "")


# -- what answers an opening -----------------------------------------------------------------------


def is_answered(opening: Opening, quotes: Iterable[Evidence]) -> bool:
    """Return whether one of *quotes* is at a line of *opening* or repeats its words."""
    own = [one_line(one.quote) for one in opening.quotes]
    lines = {one.line for one in opening.quotes if one.line}
    for quote in quotes:
        said = one_line(quote.quote)
        # the evidence of a proposal has no line
        is_long = count_words(said) >= MIN_QUOTE_WORDS
        if quote.line in lines or said in own or (is_long and any(said in o or o in said for o in own)):
            return True
    return False


def build_example(opening: Opening) -> dict[str, object]:
    """Return a template of the candidate that the agent is to hand over for *opening*."""
    quotes = [{"quote": one.quote} for one in opening.quotes]
    return {
        "kind": _EXAMPLE_KINDS.get(opening.kind, "decision"),
        "title": "…",
        "decision": "…",
        "why": "…",
        "evidence": quotes,
    }
