"""Read what agents report: the findings of a sub-agent, and the cause and fix of a failure.

A sub-agent that only reads answers the question of the agent that called it. Its findings took many calls, and the next
session would pay for them again (SMAN "learning records"). The question, the lead of the answer, where it looked and
what it cost become one learning; the whole report goes to the session's archive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.records.model import Candidate, Evidence
from kb.sessions.handed_text import AGENT_TOOLS
from kb.sessions.host_input import to_text
from kb.sessions.prose import (
    ProsePiece,
    has_choice,
    has_rule,
    is_noncommittal,
    is_question,
    split_pieces,
    split_reason,
    split_sentences,
)
from kb.sessions.transcript import (
    AGENT,
    DELEGATED,
    ToolCall,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    list_calls,
)
from kb.text.mentions import blank_code, find_paths, make_relative, remove_code, strip_markdown
from kb.text.segment import clip, count_words, estimate_tokens, one_line, slugify

_READERS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch"})
_WRITERS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_WRITING_COMMAND = re.compile(
    r"\b(?:git (?:commit|push|checkout|reset|merge|rebase|stash|add|rm|mv)|rm|mv|cp|mkdir|touch|tee|chmod|kill|install"
    r"|sed -i|perl -i|patch|curl -X ?(?:POST|PUT|DELETE|PATCH))\b|(?<![0-9&=>-])>>?(?!\s*(?:/dev/null|&))"
)
"""A command that may change something: “rm -r build”, “echo x > a.txt”; “2>/dev/null” changes nothing."""
MIN_READING_CALLS = 5
"""An agent with fewer reading calls has not explored."""
MIN_REPORT_CHARACTERS = 400
"""A shorter answer is not a report."""
DEAR_TOKENS = 20_000
"""An answer that took so many tokens to find is worth keeping, however few the calls (SMAN "learning records")."""
_MAX_ANSWER_CHARACTERS = 600
"""Longest lead of a report taken as the answer."""
_MIN_ANSWER_WORDS = 15
_MAX_TITLE_CHARACTERS = 200
_MAX_FILES = 12
"""At most so many files are listed as explored; of the others, the number."""
_ASKING = re.compile(
    r"(?i)\W*(?:(?:and|also|then)\s+)?(?:how|what|which|where|why|when|who|whether|does|do|is|are|can|any)\b"
    r"|\W*(?:如何|怎么|怎样|为什么|哪|什么|是否|有没有|谁)"
)
"""The beginning of a list item that asks without a question mark: “How login works”, “登录如何实现”."""
_ROLE = re.compile(
    r"(?i)\W*(?:you are|your (?:task|job|role)|act as|context\b|working directory|你是|你的(?:任务|角色)|背景)"
)
_WANT = re.compile(
    r"(?i)^(?:please |in (?:the )?\S+ (?:codebase|repo\w*|project),? )*i (?:need|want) (?:you )?to (?:\w+ly )?"
    r"(?:know|understand|find out|figure out|investigate|find)\s*(?::|\b)"
)
"""“I need to understand how login works” is the question how login works."""
_EXPLORING = re.compile(
    r"(?i)\b(?:explor|find|search|investigat|look|check|research|analy[sz]|understand|read|list|identif|determin|trace"
    r"|map|review|locate|inspect|examine|summari[sz]|compare)\w*\b|查|找|调研|研究|分析|了解|梳理|搜索|阅读|检查|列出|定位"
)
"""A task without a question that still asks for one: “Explore the test setup”, “梳理登录流程”."""
_PREAMBLE = re.compile(
    r"(?i)^\W*(?:(?:perfect|excellent|great|good|done|ok(?:ay)?)\b[^.!\n]*[.!]\s*)*"
    r"(?:(?:(?:now )?(?:let me|i(?:'ve| have| now|'ll| will))|i found all|based on (?:my|the|this)|here(?:'s| is| are)"
    r"|below is|the following|this report|to (?:summari[sz]e|recap))\b"
    r"|(?:perfect|excellent|great|good)\b[.!]?$|好的|让我|我(?:已经?|现在)|根据(?:我的)?|以下是|下面是)"
)
"""Phrases that only announce a report: “Now I have a comprehensive understanding. Let me …”, “以下是报告”."""
_HOST_TAIL = re.compile(r"(?<!\n)\n++(?:agentId: \S+ \(|<usage>)")
"""What Claude Code appends to the report in the result of the call."""
_SUMMARY_HEADING = re.compile(
    r"(?i)\b(?:summary|conclusion|answer|key findings|tl;?dr|overview|findings)\b|总结|结论|概述|摘要|要点|主要发现"
)


class SubagentRun(NamedTuple):
    """The task of a sub-agent, its calls and its final report."""

    task: str
    report: str
    calls: tuple[ToolCall, ...]
    line: int
    """The transcript line of the report."""
    time: str = ""
    tokens: int = 0
    """Estimated tokens of the results of its calls."""

    @property
    def is_exploration(self) -> bool:
        """Whether it only read, made enough calls, and reported its findings."""
        readings = sum(map(_is_reading, self.calls))
        is_writing = any(_is_writing(call) for call in self.calls)
        return not is_writing and readings >= MIN_READING_CALLS and len(self.report) >= MIN_REPORT_CHARACTERS

    @property
    def title(self) -> str:
        """The question of the task."""
        return _build_question(self.task)


def find_reports(transcript: Transcript, after_line: int = 0) -> Iterator[tuple[int, Candidate]]:
    """Yield each report after *after_line* as a learning, with its line: of this sub-agent or of the session's."""
    for run in list_explorations(transcript):
        if run.line > after_line and (candidate := _build_candidate(run, transcript)):
            yield run.line, candidate


def build_report_files(transcript: Transcript) -> dict[str, str]:
    """Return the full reports of a session's sub-agents by their file names in the archive."""
    runs = list_explorations(transcript)
    return {name_report(run.title): f"# {run.title}\n\n{run.report.strip()}\n" for run in runs if run.title}


def name_report(title: str) -> str:
    """Return the path of a report in the archive of its session."""
    return f"reports/{slugify(title)[:60].strip('-')}.md"


def list_explorations(transcript: Transcript) -> list[SubagentRun]:
    """Return the explorations of the sub-agent whose transcript this is, or of those that the session called."""
    own = [message for message in transcript.messages if message.in_context]
    is_own = bool(own) and own[0].origin == DELEGATED
    runs = [_build_run(own, own[0].texts[0])] if is_own else _iter_called(transcript)
    return [run for run in runs if run.is_exploration]


def _iter_called(transcript: Transcript) -> Iterator[SubagentRun]:
    """Yield the runs of the sub-agents whose own messages are in the session's transcript."""
    by_agent: dict[str, list[TranscriptMessage]] = {}
    for message in transcript.messages:
        if not message.in_context:
            by_agent.setdefault(message.agent, []).append(message)
    for one in list_calls(transcript, in_context=True) if by_agent else ():
        if one.request.name in AGENT_TOOLS and one.result and not one.is_error:
            made = by_agent.get(one.request.id) or _find_by_report(by_agent.values(), one.output)
            run = _build_run(made, to_text(one.request.input.get("prompt")))
            if run.calls:  # the result of a background agent only says that it is running
                report = _HOST_TAIL.split(one.output, 1)[0]
                report = report if len(report) >= MIN_REPORT_CHARACTERS else run.report
                yield run._replace(line=one.result.line, report=report)


def _find_by_report(groups: Iterable[Sequence[TranscriptMessage]], report: str) -> Sequence[TranscriptMessage]:
    """Return the messages of the agent whose final report is part of *report*."""
    return next((group for group in groups if (said := _build_run(group, "").report) and said in report), ())


def _build_run(messages: Sequence[TranscriptMessage], task: str) -> SubagentRun:
    said = [(message, text) for message in messages if message.origin == AGENT for text in get_own_texts(message)]
    calls = tuple(call for message in messages for call in message.calls)
    tokens = sum(estimate_tokens(result.text) for message in messages for result in message.results)
    if not said:
        return SubagentRun(task, "", calls, 0)
    last, text = said[-1]
    return SubagentRun(task, text.strip(), calls, last.line, last.time, tokens)


def _is_writing(call: ToolCall) -> bool:
    return call.name in _WRITERS or (
        call.name in _SHELLS and bool(_WRITING_COMMAND.search(to_text(call.input.get("command"))))
    )


def _is_reading(call: ToolCall) -> bool:
    return call.name in _READERS or (call.name in _SHELLS and not _is_writing(call))


def _build_candidate(run: SubagentRun, transcript: Transcript) -> Candidate | None:
    answer, quote = _read_lead(run.report)
    if not (run.title and answer):
        return None
    read = dict.fromkeys(make_relative(call.path, transcript.cwd) for call in run.calls if call.name == "Read")
    files = [path for path in read if path and not path.startswith("/")]
    named = find_paths(run.report, transcript.cwd, files)
    source = f"{transcript.session_id}/{name_report(run.title)}".lstrip("/")
    return Candidate(
        "learning",
        run.title,
        decision=answer,
        impact=tuple(path for path in named if path in read),
        sections={"explored": _describe_path(run, files)},
        reference_value=True if run.tokens >= DEAR_TOKENS else None,
        cost=len(run.calls),
        evidence=(Evidence(quote, source, run.line, run.time),),
    )


def _describe_path(run: SubagentRun, files: Sequence[str]) -> str:
    """Return where an agent looked, independent of language: the number of calls per tool, then the files it read."""
    counts = Counter(call.name for call in run.calls).most_common()
    cost = f"{len(run.calls)} calls" + (f", {run.tokens:,} tokens" if run.tokens else "")
    rows = [f"{cost}: " + ", ".join(f"{name} ×{number}" for name, number in counts)]
    rows += [f"- `{path}`" for path in files[:_MAX_FILES]]
    return "\n".join([*rows, *([f"- … +{len(files) - _MAX_FILES}"] if len(files) > _MAX_FILES else [])])


def _build_question(task: str) -> str:
    """Return the question of a *task*, or "": its first sentence and its questions, or those of its list items."""
    pieces = [piece for piece in split_pieces(task) if piece.what in ("prose", "item")]
    sentences = [strip_markdown(one) for piece in pieces for one in split_sentences(piece.text)]
    told = [_WANT.sub("", one).lstrip(" :") for one in sentences if count_words(one) > 2 and not _ROLE.match(one)]
    told = [one[:1].upper() + one[1:] for one in told if one]
    asked = [one for one in told if is_question(one)] or [one for one in told if _ASKING.match(one)]
    if not (asked or any(map(_EXPLORING.search, told[:2]))):
        return ""
    title = ""
    # “Explore the upload. I need to know: 1. What can fail” asks about the upload
    for one in dict.fromkeys((*told[:1], *asked)):
        joint = " " if title.endswith(("?", "？")) else ": " if title == told[0] and told[0] not in asked else "; "
        longer = f"{title}{joint}{one}" if title else one
        if title and len(longer) > _MAX_TITLE_CHARACTERS:
            continue
        title = longer
    return clip(one_line(title), _MAX_TITLE_CHARACTERS)


def _read_lead(report: str) -> tuple[str, str]:
    """Return the lead of a *report* as the answer, and the slice that proves it. A summary section goes first.

    Tables are used only if there is no prose.
    """
    pieces = split_pieces(report)
    heads = [n + 1 for n, one in enumerate(pieces) if one.what == "heading" and _SUMMARY_HEADING.search(one.text)]
    for kinds in (("prose", "item"), ("prose", "item", "table")):
        for start in (*heads, 0):
            taken = _take_lead(pieces[start:], kinds, to_heading=start > 0)
            if sum(map(count_words, taken)) >= _MIN_ANSWER_WORDS:
                return "\n".join(taken), taken[0]
    return "", ""


def _take_lead(pieces: Sequence[ProsePiece], kinds: Sequence[str], *, to_heading: bool) -> list[str]:
    """Return the texts of these *kinds* at the beginning of *pieces* that fit in an answer."""
    taken: list[str] = []
    for piece in pieces:
        if piece.what == "heading" and to_heading and taken:
            break
        text = _strip_preamble(piece.text) if piece.what == "prose" and not taken else piece.text
        if piece.what not in kinds or not count_words(text):
            continue
        room = _MAX_ANSWER_CHARACTERS - sum(len(one) + 1 for one in taken)
        if not (text := _fit_sentences(text, room) if len(text) > room else text).strip():
            break
        taken.append(text.strip())
    while taken and taken[-1].rstrip("*").endswith((":", "：")):  # it introduces a list that does not fit
        taken.pop()
    return taken


def _strip_preamble(text: str) -> str:
    """Return *text* without the sentences at its beginning that only announce the report."""
    at = 0
    for sentence in split_sentences(text):
        if not (_PREAMBLE.match(sentence) or sentence.rstrip().endswith((":", "："))):
            break
        at = text.index(sentence, at) + len(sentence)
    return text[at:].lstrip()


def _fit_sentences(text: str, room: int) -> str:
    """Return the sentences at the beginning of *text* that fit in *room* characters, as a slice."""
    end = 0
    for sentence in split_sentences(text):
        stop = text.index(sentence, end) + len(sentence)
        if stop > room:
            break
        end = stop
    return text[:end]


# -- the cause and fix of a failure -----------------------------------------------------------------

_MAX_SENTENCE_CHARACTERS = 600  # a longer sentence explains nothing
_NAMES_SOMETHING = re.compile(r"`[^`\n]{2}|\w[_.=:/]\w|[a-z][A-Z]|@\w|(?<!\w)--?[a-z]\w")
"""`CONN_MAX_AGE`, test.yml, @ActiveProfiles, --no-cache: a fix without a name cannot be repeated."""
_CAUSE = re.compile(
    r"\b(?:root cause|the (?:real |actual |underlying )?(?:cause|problem|issue|bug|culprit|reason)(?: here)? (?:is|was)"
    r"|that(?:'s| is| was) (?:the (?:bug|problem|issue|cause|reason)|why)|turns? out|caused by)\b"
    r"|根因|根本原因|(?:问题|原因)(?:就?是|在于|出在)|这就是.{0,8}原因|原来是?",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|due to|(?:is|are|was|were) missing)\b|因为|由于|缺少|缺失", re.IGNORECASE)
_CAUSE_ASSERTION = re.compile(
    r"^\W*(?:that(?:'s| is| was) (?:the (?:bug|problem|issue|cause|reason)|why)|这就是)", re.IGNORECASE
)
_CAUSE_LEAD = re.compile(
    r"^\W*(?:(?:i see|ah|ok|okay|so|now|right|great|good|found it|aha|好|明白了?|原来如此)\b[\s,.:;!—–-]*)*"
    r"(?:the (?:real |actual |underlying |root )?(?:cause|problem|issue|bug|culprit|reason)(?: here)? (?:is|was)"
    r"(?: (?:clear|simple|obvious))?(?:\s*[—–:-]+\s*| that\s+|\s+)|(?:it )?turns out (?:that )?"
    r"|root cause(?: is)?[:\s]+(?:that )?"
    r"|(?:问题|原因|根因|根本原因)(?:就?是|在于|出在)?[:：，,\s]*|原来是?[，,]?)?",
    re.IGNORECASE,
)
_OWN_SLIP_PATTERN = re.compile(
    r"\bI(?:'m| am|'ve| was| need| have| had| forgot| should| did| used)\b|\bmy (?:code|edit|change|test|mistake"
    r"|fix)\b|我(?:写错|忘了|漏)",
    re.IGNORECASE,
)
_TRIVIAL_PATTERN = re.compile(
    r"\b(?:typo|syntax error|whitespace|indentation|unused (?:variable|import|alias)|formatt(?:ed|ing)|line length"
    r"|lint(?:er|ing)?"
    r"|false positive|cyclomatic|nest(?:ed|ing) too|too (?:complex|many|long|deep))\b|拼写|缩进|空格|格式化|笔误",
    re.IGNORECASE,
)
_HELPED = re.compile(
    r"^\W*(?:that (?:was it|did it|fixed (?:it|this)|worked|does it)\b"
    r"|(?:it|this|the \w+) (?:is|was) fixed (?:by|with)\b|fixed (?:by|with)\b"
    r"|(?:with|after|by) [^.!?]{3,120} (?:passes|pass|passed|works?|worked|starts?|builds?|succeeds?|is fixed)\b"
    r"|(?:adding|setting|using|removing|pinning|raising|lowering) [^.!?]{3,120} "
    r"(?:fix(?:es|ed)|solve[sd]|helps|helped|works|worked|did it)\b)"
    r"|^\W*(?:加上?|设置?|改成|改为|改用|换成|换用|调[到成]|去掉|删掉|用|把)[^。！？]{2,100}?"
    r"(?:就好了?|就行了?|就可以了?|就过了|即可|后[^。！？]{0,6}(?:正常|通过|恢复)|解决了|就(?:正常|通过|恢复)了?)",
    re.IGNORECASE,
)
"""“That was it: with `CONN_MAX_AGE = 0` the suite passes”, “加上 @ActiveProfiles("test") 就好了”: the fix."""
_REMEDY = re.compile(
    r"^\W*(?:(?:I|we|you)(?:'ll)? (?:need to|must|have to|should)|(?:the )?(?:fix|solution) is|use |必须|需要|应该"
    r"|解决(?:办法|方法|方案)是|改用|改为|要)",
    re.IGNORECASE,
)


class FailureCause(NamedTuple):
    """The agent's explanation of a failure."""

    message: TranscriptMessage
    quote: str
    title: str
    remedy: str
    outright: bool


class Remedy(NamedTuple):
    """The fix, as the agent stated it after it had worked."""

    message: TranscriptMessage
    quote: str


def list_closing_messages(transcript: Transcript, at: int) -> tuple[TranscriptMessage, ...]:
    """Return the agent's messages after message *at*, up to its next call or anybody else's message.

    An explanation given after the command has succeeded is better founded than a guess before it.
    """
    found = []
    for message in transcript.messages[at + 1 :]:
        if message.origin != AGENT or message.calls:
            break
        found.append(message)
    return tuple(found)


def find_remedy(messages: Iterable[TranscriptMessage]) -> Remedy | None:
    """Return the first sentence of *messages* that names the fix, or None."""
    for message in messages:
        for text in get_own_texts(message):
            for row in split_sentences(text):
                is_short = len(row) <= _MAX_SENTENCE_CHARACTERS
                if is_short and _HELPED.search(row) and _NAMES_SOMETHING.search(row) and not is_noncommittal(row):
                    return Remedy(message, row)
    return None


_TURNED_DOWN = re.compile(
    r"^\W*(?:(?:we|i) )?(?:do not|don't|won't|will not|did not|didn't) (?:use|choose|adopt|go with|pick)\b"
    r"|^\W*(?:我们)?(?:不|没有?|未)(?:再|会)?(?:采用|使用|选用?|用)",
    re.IGNORECASE,
)


def _is_record(main: str) -> bool:
    """Return whether *main* states a decision or a rule, so that its reason does not explain a failure.

    “We decided on pika because …”, “消费者必须幂等，因为…”, “不采用 Kafka，因为…”.
    """
    return has_rule(main) or has_choice(main) or _TURNED_DOWN.search(main) is not None


def find_cause(messages: tuple[TranscriptMessage, ...]) -> FailureCause | None:
    """Return the last explanation in *messages*, or None; one that names the cause outright beats a "because"."""
    found = [
        cause
        for message in messages
        if message.origin == AGENT
        for text in get_own_texts(message)
        for piece in split_pieces(text)
        if piece.what in ("prose", "item")
        for cause in _iter_explanations(message, piece.text)
    ]
    outright = [cause for cause in found if cause.outright]
    return outright[-1] if outright else found[-1] if found else None


def _iter_explanations(message: TranscriptMessage, text: str) -> Iterator[FailureCause]:
    rows = list(split_sentences(text))
    for number, row in enumerate(rows):
        if len(row) > _MAX_SENTENCE_CHARACTERS:
            continue
        masked = blank_code(row)
        outright = bool(_CAUSE.search(masked))
        if not (outright or _BECAUSE.search(masked)) or is_noncommittal(row) or _TRIVIAL_PATTERN.search(masked):
            continue
        if not outright and _is_record(split_reason(row).main):
            continue
        # “That is the reason” / “这就是原因” refers to the sentence before it.
        subject = rows[number - 1] if number and _CAUSE_ASSERTION.match(masked) else row
        if (
            is_noncommittal(subject)
            or _OWN_SLIP_PATTERN.search(blank_code(subject))
            or _TRIVIAL_PATTERN.search(blank_code(subject))
        ):
            continue
        quote = row if subject is row else text[text.find(subject) : text.find(row) + len(row)]
        lead = _CAUSE_LEAD.match(blank_code(subject)) if not subject.startswith("`") else None
        title = strip_markdown(subject[lead.end() :] if lead else subject)
        if count_words(remove_code(title)) < 4 or count_words(title) < 6:
            continue
        behind = rows[number + 1] if number + 1 < len(rows) else ""
        is_remedy = _REMEDY.match(behind) and count_words(behind) >= 6 and not is_question(behind)
        yield FailureCause(message, quote, title, behind if is_remedy else "", outright)
