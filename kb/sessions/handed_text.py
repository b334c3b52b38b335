"""Tell what a person said from what they hand over, quote or paste; read compaction summaries, tasks and plans.

A prompt may go on with another session ("Continue from this handover: …"): what follows is an agent's text. It may
quote an issue, or kb's own forms: those are nobody's words in this session. A summary has sections; of these the one
that repeats the person's prompts is never read, since a summary is the agent's text. The task is the first prompt that
says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kb.safety.personal_facts import remove_personal
from kb.sessions.host_input import read_teammate_words, split_element
from kb.sessions.transcript import (
    AGENT,
    DELEGATED,
    HUMAN,
    MAX_READ_CHARACTERS,
    SUMMARY,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    get_prompt,
    list_calls,
    list_prompts,
)
from kb.text.mentions import strip_markdown
from kb.text.segment import count_words, first_sentence, one_line

_GREETING = re.compile(
    r"^\s*+(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|morning)(?: (?:there|all))?"
    r"|早上好|上午好|下午好|晚上好|早|你好|您好|嗨|大家好)\s*+[，,。.!！~～]++\s*+",
    re.IGNORECASE,
)
"""What a prompt may begin with that is not a task."""
_GOES_ON = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yep|yeah|sure|right|please|thanks?|thank you|great|good|perfect|nice|cool|lgtm|let'?s"
    r"|go(?: (?:on|ahead|for it))?|continue|proceed|resume|keep going|carry on|try again|retry|next|both|all|done|now"
    r"|then|(?:please )?(?:do|ship|run|fix|push|commit|merge) (?:it|that|so|them|this)"
    r"|can you (?:continue|retry|try again|go on)|(?:until|till) (?:all|everything|it|they) (?:is|are)"
    r"|(?:tool |request )?(?:was )?interrupted)\b\W*"
    r"|(?:好的?|可以|行|嗯|继续|对|是的?|谢谢|没问题|接着(?:做|来)?|下一步|开始吧?|就这样|请|吧|了)\W*)+$",
    re.IGNORECASE,
)
"""“Yes, please continue”, “好的，继续”: a person lets the work go on and names no task."""
_NO_TASK = re.compile(
    r"(?i)\A\W*kb (?!(?:is|has|does|should|can|must|will|needs|and|or|in|to|for|of|as|was)\b)[a-z-]++[^\n]{0,80}\Z"
    r"|\A\W*(?:mb ?: ?\w|(?:存档一下|加载上下文|详细说说|简要概括|修剪(?:上下文)?)\W*\Z)"
    r"|\b(?:where (?:are we|do we stand|were we)|what(?:'s| is) (?:the status|left|open|next))\b[^.\n]{0,20}\Z"
    r"|(?:到哪(?:里|儿|一步)?了|还剩(?:什么|哪些)|进度(?:如何|怎么样|呢)|现在什么情况)\W*\Z"
)
"""“kb inbox”, “存档一下”, “where are we?”: a call of kb, or a question of how far it is."""
_NAMES_ONE = re.compile(r"[A-Za-z]-\w|#\d|\w/\w|\w\.\w")
"""“Implement shop-12”, “fix #7”, “review src/ledger.py”: two words are a task where one names a thing."""
_NUMBER = re.compile(
    r"(?i)\W*(?:(?:ok(?:ay)?|let'?s do|do|the|number|option|take|选|第)\W+)*#?(\d{1,2})\b"
    r"(?![.:/%-]?\d|\s*(?:-|and|,)\s*\d)"
)
"""“5 seems like a great one”, “选 2”: a person names an item of a list by its number."""
_LONG_TASK = 60  # words from which on a task says no more for being longer
_INTRO_CHARACTERS = 400
"""A sentence that hands over is within so many characters of the prompt's beginning."""
_MIN_HANDED_CHARACTERS = 200
"""A shorter rest is what the person adds, not a text that somebody handed over."""
_HANDOVER = re.compile(
    r"(?i)\b(?:continu\w*|resum\w*|pick\w* up|start\w*|take over|taking over)\b[^\n]{0,60}\b(?:hand-?(?:over|off)"
    r"|summary|notes?|previous (?:session|conversation|agent|context)"
    r"|(?:older|last|earlier) (?:session|conversation|coordinator))"
    r"|^\W*(?:session )?hand-?(?:over|off)(?: (?:notes?|summary|prompt|from\b[^\n]{0,40}))?\s*[:：]"
    r"|\bimplement (?:the following|this) plan\s*[:：]"
    r"|接着上一?[次个](?:会话|对话|任务)|(?:继续|接手)[^\n]{0,20}(?:交接|总结|摘要|上一?[次个](?:会话|对话))"
    r"|(?:以下|下面|这)是[^\n]{0,12}(?:交接|会话(?:总结|摘要)|上下文)|^\W*交接(?:说明|文档|记录)?\s*[:：]"
    r"|(?:实施|执行|实现)(?:以下|下面的?|这个)(?:计划|方案)\s*[:：]",
    re.MULTILINE,
)
"""“Continue from this handover: …”, “Implement the following plan:”, “接着上次会话：…”."""
_QUOTED_ISSUE = re.compile(
    r"(?im)^[ \t]*(?:[#>*_]+[ \t]*)?(?:"
    r"(?:(?:github|gitlab|jira|linear)[ \t]+)?(?:issue|bug report|ticket|problem statement|pr description|pull request"
    r"|stack ?trace|(?:error |build |ci )?logs?|e-?mail)(?: +(?:#?\d+|description|text|body|title))?[ \t]*[*_]*[:：]"
    r"|(?:here(?:'s| is)|below is|(?:consider |this is )?the following)[^\n]{0,40}\b"
    r"(?:issue|bug report|ticket|report|pr description|problem statement|thread|log|output|e-?mail)\b[^\n]{0,30}$"
    r"|(?:以下|下面)(?:是|为)?[^\n]{0,12}(?:issue|工单|缺陷|问题描述|报告|日志|邮件|聊天记录)[^\n]{0,12}$"
    r"|(?:issue|工单|缺陷报告|问题描述|报错日志|日志)(?:内容|描述)?[ \t]*[:：])"
)
"""A line after which somebody else's text stands: “Issue:”, “Here is the bug report”, “以下是工单内容”."""
_OPENING = re.compile(r"<([A-Za-z][\w.-]{1,40})(?: [^<>\n]{0,200})?>[ \t]*\n")
"""An element over several lines opens: “<issue>”, “<pr_description>”; people type none around their own words."""
_OWN_HEADING = re.compile(
    r"(?m)^## (?:🔸|🔹|🔶|\[(?:识 )?T[12]\]|Knowledge base: |知识库：|(?:Related records|相关锚点|Hints|惯性提示)$)"
)
"""With such a heading kb's own texts begin: its hints and its forms."""


AGENT_TOOLS = frozenset({"Agent", "Task"})
"""The tools that start a sub-agent; the result is its report."""


class PromptParts(NamedTuple):
    """What a prompt holds: each part is a slice of it, with what is nobody's words left out."""

    own: tuple[str, ...]
    """What the person says."""
    handed: tuple[str, ...] = ()
    """What an agent wrote in another session, handed over with the prompt."""


def split_prompt(prompt: str) -> PromptParts:
    """Return which parts of *prompt* are the person's own and which an agent's, without quoted and kb's own texts."""
    if mark := _OWN_HEADING.search(prompt):
        prompt = prompt[: mark.start()]
    start = _HANDOVER.search(prompt, 0, _INTRO_CHARACTERS)
    if start and len(prompt) - start.end() >= _MIN_HANDED_CHARACTERS:
        end = prompt.find("\n", start.end())
        colon = re.compile("[:：]").search(prompt, start.start(), start.end() + 40)
        cut = min([one for one in (end, colon.start() if colon else -1) if one >= 0], default=start.end())
        return PromptParts(_strip_quoted(prompt[:cut]), _strip_quoted(prompt[cut:].lstrip(":：")))
    return PromptParts(_strip_quoted(prompt))


def _strip_quoted(text: str) -> tuple[str, ...]:
    """Return the parts of *text* outside quoted issues, logs and elements."""
    kept = []
    for part in _split_at_elements(text):
        quoted = _QUOTED_ISSUE.search(part)
        kept.append(part[: quoted.start()] if quoted else part)
    return tuple(part for part in kept if part.strip())


def _split_at_elements(text: str) -> Iterator[str]:
    """Yield the parts of *text* that are in no element."""
    at = 0
    unclosed: set[str] = set()
    for match in _OPENING.finditer(text):
        closing = f"</{match[1]}>"
        if match.start() < at or closing in unclosed:
            continue
        end = text.find(closing, match.end())
        if end < 0:
            unclosed.add(closing)  # a pasted page may open thousands of them
            continue
        yield text[at : match.start()]
        at = end + len(closing)
    yield text[at:]


# -- who says what ---------------------------------------------------------------------------------

HANDOVER, REPORT = "handover", "report"
"""Who speaks in a text that a prompt hands over, and in what a sub-agent reports: an agent."""
_TOLD_SECTIONS = ("concepts", "solved", "done")
"""The sections of a summary that tell what was found; the others repeat prompts, list files or plan."""


class SpokenText(NamedTuple):
    """A text of a session, with who speaks: human, agent, answer, summary, handover or report."""

    line: int
    time: str
    who: str
    text: str


def iter_spoken(message: TranscriptMessage) -> Iterator[tuple[str, str]]:
    """Yield the texts of *message* in which somebody speaks for this session, each with who.

    What a person hands over is an agent's, and of a summary only the sections count that tell; what is quoted, and
    what kb itself has said, is nobody's.
    """
    for text in get_own_texts(message):
        if message.origin == HUMAN:
            parts = split_prompt(text)
            yield from ((part, HUMAN) for part in parts.own)
            yield from ((part, HANDOVER) for part in parts.handed)
        elif message.origin == SUMMARY:
            sections = split_summary(text)
            yield from ((sections[name], SUMMARY) for name in _TOLD_SECTIONS if name in sections)
        elif text.strip():
            yield text, message.origin


def list_spoken(transcript: Transcript) -> list[SpokenText]:
    """Return what was said in a session, in order: also the errors of a summary, and reports of sub-agents."""
    found = []
    for message in transcript.messages:
        found += [SpokenText(message.line, message.time, who, text) for text, who in iter_spoken(message)]
        for text in get_own_texts(message) if message.origin == SUMMARY else ():
            if errors := split_summary(text).get("errors"):
                found.append(SpokenText(message.line, message.time, SUMMARY, errors))
    for one in list_calls(transcript, in_context=True):
        if one.request.name in AGENT_TOOLS and one.result and not one.is_error and one.output.strip():
            found.append(SpokenText(one.result.line, "", REPORT, one.output))
    return sorted(found, key=lambda spoken: spoken.line)


# -- the summary of a compaction -------------------------------------------------------------------

_SECTIONS = {
    "request": "primary request and intent|goal|overall goal|overview|instructions|主要请求.*|目标",
    "concepts": "key technical concepts|key knowledge|discoveries|technical details|关键技术概念|关键知识",
    "files": "files and code sections|file system state|relevant files.*|important files|文件.*",
    "errors": "errors and fixes|errors|错误(?:和|与|及)修复|错误",
    "solved": "problem solving|问题解决",
    "said": "all user messages|user messages|所有用户消息|用户消息",
    "done": "accomplished|work done|recent actions|history|已完成.*",
    "pending": "pending tasks|pending|remaining(?: work| tasks)?|current plan|待办.*|待处理.*|未完成.*",
    "work": "current work|current state|当前工作|当前状态",
    "next": "(?:optional )?next steps?|(?:可选的?)?下一步.*",
}
_TITLES = tuple((name, re.compile(f"(?:{pattern})\\Z", re.IGNORECASE)) for name, pattern in _SECTIONS.items())
_TITLE = re.compile(
    r"(?m)^[ ]{0,3}(?:(?:#{1,4}|\d{1,2}[.)])[ \t]+)\*{0,3}([^\n*:：]{3,60})\*{0,3}[:：]?\*{0,3}[ \t]*+$"
    r"|^<(\w{3,40})>[ \t]*$"
)
"""“4. Errors and fixes:”, “## Next Steps”, “<next_steps>”."""
_TAIL = re.compile(
    r"\n(?:If you need specific details from before compaction|Please continue the conversation from where)"
)
"""What Claude Code puts after a summary."""
_ITEM = re.compile(r"(?m)^([ \t]*)[-*+] (?=\S)")
_LABELLED = r"(?im)^[ \t]*(?:[-*+] )?\**(?:%s)\**[ \t]*[:：]%s\**[ \t]*(\S[^\n]*)"
_CURE = re.compile(
    _LABELLED % (r"fix(?:ed)?(?: by| with)?|solution|resolved(?: by)?|resolution|修复|解决(?:办法|方案)?", "?")
)
_CAUSE = re.compile(_LABELLED % (r"(?:root )?(?:cause|reason)|原因|根因|根本原因", ""))
_INLINE_CURE = re.compile(
    r"(?i)[:：.。—–-][ \t]*(?P<cure>(?:(?:fixed|solved|resolved|changed|added|used|replaced|switched)\b"
    r"|修复|解决|改为|改用)[^\n]+)"
)


class SummaryError(NamedTuple):
    """An error that a summary reports, and how it was overcome."""

    symptom: str
    cause: str
    cure: str
    quote: str
    """A slice of the summary."""


def split_summary(text: str) -> dict[str, str]:
    """Return the sections of a compaction's summary by what they are about; "" has what is in no known one.

    What precedes "Summary:" is left out where an analysis does: it only leads to the summary.
    """
    start = text.find("\nSummary:")
    body = text[start:] if start >= 0 and "Analysis:" in text[:start] else text
    found: dict[str, str] = {}
    name, at = "", 0
    for match in _TITLE.finditer(body):
        title = (match[1] or match[2].replace("_", " ")).strip()
        known = next((key for key, pattern in _TITLES if pattern.match(title)), None)
        if known is None:
            continue
        found[name] = found.get(name, "") + body[at : match.start()]
        name, at = known, match.end()
    tail = _TAIL.search(body, at)
    found[name] = found.get(name, "") + body[at : tail.start() if tail else len(body)]
    return {key: part.strip("\n") for key, part in found.items() if part.strip()}


def iter_items(text: str) -> Iterator[str]:
    """Yield the items of the outermost list in *text*, each with what belongs to it, as slices."""
    marks = list(_ITEM.finditer(text))
    least = min((len(mark[1].expandtabs(4)) for mark in marks), default=0)
    starts = [mark.start() for mark in marks if len(mark[1].expandtabs(4)) == least]
    for start, end in pairwise([*starts, len(text)]):
        yield text[start:end].strip()


def iter_summary_errors(text: str) -> Iterator[SummaryError]:
    """Yield the errors of the section *text* that were overcome; what the person asked or said is none."""
    for item in iter_items(text):
        head, _, rest = item.partition("\n")
        line = re.sub(r"\*\*", "", head.lstrip("-*+ \t")).strip()
        inline = _INLINE_CURE.search(line)
        cure = _CURE.search(rest) or inline
        symptom = one_line(line[: inline.start()] if inline else line).rstrip(":： ")
        if cure is None or not symptom or re.match(r"(?i)user\b|用户", symptom):
            continue
        cause = _CAUSE.search(rest)
        yield SummaryError(symptom, one_line(cause[1]) if cause else "", one_line(cure[cure.lastindex or 1]), item)


# -- the task --------------------------------------------------------------------------------------


def find_task(transcript: Transcript) -> str:
    """Return what the session was asked for: the first prompt that says something, else what another agent asked."""
    prompts = list_prompts(transcript)
    if telling := _list_tasks(transcript):
        return telling[0]
    if prompts:
        return remove_personal(prompts[0], is_task=True)
    given = [m for m in transcript.messages if m.origin in (DELEGATED, SUMMARY) and m.texts]
    texts = [words for m in given for words in (read_teammate_words(m.texts[0]) or m.texts[:1])]
    return texts[0] if texts else ""


def find_last_tasks(transcript: Transcript, most: int = 6) -> list[str]:
    """Return what the person asked that names a task, in order; without what the session was asked for.

    Where there are too many, these are the last third and the longest of those before.
    """
    if list_prompts(transcript):
        tasks = _list_tasks(transcript)[1:]
        early = range(max(len(tasks) - max(most // 3, 1), 0))
        longest = sorted(early, key=lambda at: min(count_words(tasks[at]), _LONG_TASK), reverse=True)
        kept = {*longest[: most - max(most // 3, 1)], *range(len(early), len(tasks))}
        return [task for at, task in enumerate(tasks) if at in kept]
    # in a team nobody but other agents asks
    given = (m.texts[0] for m in transcript.messages if m.origin == DELEGATED and m.in_context and m.texts)
    rows = [first_sentence(words, 200) for text in given for words in read_teammate_words(text)]
    return list(dict.fromkeys(rows))[1:][-most:]


def _list_tasks(transcript: Transcript) -> list[str]:
    """Return the prompts that say something, in order; “yes, go on” does not.

    What people say about themselves is no task, and forms are committed to an archive that others read.
    """
    found = []
    for message in transcript.messages:
        if message.in_context and (prompt := get_prompt(message)[:MAX_READ_CHARACTERS]):
            own, handed = split_prompt(prompt)
            bare = _GREETING.sub("", "\n".join(own).strip() or prompt)
            if subject := next(
                (row.strip("#* ") for row in "\n".join(handed).splitlines() if count_words(row) >= 3), ""
            ):
                bare = f"{bare.rstrip(':：')}: {subject}"  # “Implement the following plan: Split the ledger”
            if number := _NUMBER.match(bare):
                bare = ": ".join(filter(None, (bare, _find_listed(transcript, message.line, number[1]))))
            # “/review the ledger”: without the command its arguments say little
            command = split_element("\n".join(message.texts), "command-name")[1].strip()
            lead = next((row for row in re.split(r"\n[ \t]*\n", bare) if count_words(row) >= 3), bare)
            bare = f"{command} {bare}" if command else lead.lstrip("# ")  # what follows may be a pasted log
            bare = remove_personal(bare, is_task=True)
            if count_words(bare) >= (2 if _NAMES_ONE.search(bare) else 3) and not (
                _GOES_ON.match(bare) or _NO_TASK.search(bare)
            ):
                found.append(bare)
    return list(dict.fromkeys(found))


def _find_listed(transcript: Transcript, line: int, number: str) -> str:
    """Return the item with *number* in what the agent listed last before *line*: “5 seems a good one”."""
    item = re.compile(rf"(?m)^[ \t]*(?:\|[ \t]*)?(?:\*\*)?#?{number}(?:[.)]|[ \t]*\|)[ \t]*(\S.*)$")
    own = [
        one for one in transcript.messages if one.line < line and one.in_context and one.origin == AGENT and one.texts
    ]
    for text in (text for one in own[:-4:-1] for text in get_own_texts(one)):
        if match := item.search(text):
            return strip_markdown(match[1].split("|")[0])
    return ""


# -- the agent's numbered plan -----------------------------------------------------------------------

_STEP = re.compile(r"(?m)^[ \t]{0,4}(?:\*\*)?(\d{1,2})[.)、．][ \t]*(\S[^\n]*)$")
_PLAN_LEAD = re.compile(
    r"(?i)\b(?:plan|steps?|approach|to-?do|proceed|order|going to)\b|计划|步骤|方案|打算|待办|任务|安排|顺序|分.{1,3}步"
)
_CHOICE_LEAD = re.compile(
    r"(?i)\b(?:options?|alternatives?|which|choose|causes?|found|issues?)\b|选项|选择|哪|原因|问题"
)
_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
_ONE = r"(?:\d{1,2}|[一二两三四五六七八九十])"
_MANY = rf"{_ONE}(?:\s*(?:-|–|to|through|and|,|、|和|到|至|~)\s*{_ONE}){{0,9}}"
_STEPS_NAMED = re.compile(
    rf"(?i)\b(?:steps?|items?|points?|phases?)\s+#?({_MANY})|第\s*({_MANY})\s*[步项条点]|(?P<first>前)\s*({_ONE})\s*[步项条点]"
    rf"|\b(?P<first_en>first) (two|three|four|five|six)\b|\A\W*#?(\d{{1,2}})\b(?![.:/]\d)"
)
_EN_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_STEP_DONE = re.compile(
    r"(?i)\b(?:done|complete[d]?|committed|finished|implemented|merged|pushed|in place|pass(?:es|ed)?|ready|landed|"
    r"closed)\b"
    r"|完成|好了|做完|写完|搞定|结束|已|提交了|通过"
)
_STEP_OPEN = re.compile(
    r"(?i)\b(?:not|no|still|half|only|almost|nearly|after|when|until|before|remain\w*)\b|n't\b|没|未|一半|还|再|之后|差"
)
_STEP_DROPPED = re.compile(
    r"(?i)\b(?:skip|drop|leave out|forget|cancel|remove|without|no need|not needed|don't (?:do|need))\b"
    r"|去掉|跳过|取消|不用|不要|不做|删掉|省略"
)
_CLAUSES = re.compile(r"[;；。！!\n]|[,，](?!\s*\d)|\.(?=\s|$)")


class PlannedStep(NamedTuple):
    """A step of the agent's plan."""

    text: str
    state: str = ""
    """"done", "dropped", or "" where nobody has named its number since."""
    line: int = 0
    """Where the plan stands."""


def read_plan(transcript: Transcript) -> list[PlannedStep]:
    """Return the steps of the agent's last numbered plan, and what was said of them by number since.

    “Steps 1 to 3 are committed”, “前三步完成”, “skip step 6”, “第 6 步去掉”.
    """
    own = [message for message in transcript.messages if message.in_context]
    for at in range(len(own) - 1, -1, -1):
        for text in get_own_texts(own[at]) if own[at].origin == AGENT else ():
            if steps := _parse_plan(text):
                states = dict.fromkeys(range(1, len(steps) + 1), "")
                for message in own[at + 1 :]:
                    for said in (get_prompt(message), *get_own_texts(message)):
                        states |= _read_step_states(said, len(steps))
                return [PlannedStep(step, states[n], own[at].line) for n, step in enumerate(steps, 1)]
    return []


def _parse_plan(text: str) -> list[str]:
    """Return the steps of a numbered list of three or more that *text* has under words that announce a plan."""
    found = list(_STEP.finditer(text))
    starts = [n for n, match in enumerate(found) if match[1] == "1"]
    if not starts:
        return []
    steps = found[starts[-1] :]
    lead = text[: steps[0].start()].rstrip().rpartition("\n")[2]
    is_counted = all(int(match[1]) == n for n, match in enumerate(steps, 1))
    if len(steps) < 3 or not is_counted or not _PLAN_LEAD.search(lead) or _CHOICE_LEAD.search(lead):
        return []
    return [one_line(match[2]).replace("**", "") for match in steps]


def _read_step_states(text: str, count: int) -> dict[int, str]:
    """Return what the clauses of *text* say of the steps 1 … *count* that they name."""
    states: dict[int, str] = {}
    for clause in _CLAUSES.split(text):
        match = _STEPS_NAMED.search(clause)
        is_done = _STEP_DONE.search(clause) and not _STEP_OPEN.search(clause)
        state = "dropped" if _STEP_DROPPED.search(clause) else "done" if is_done else ""
        if match and state:
            numbers = _parse_numbers(match)
            states |= {number: state for number in numbers if number <= count}
    return states


def _parse_numbers(match: re.Match[str]) -> list[int]:
    """Return the numbers that “1 to 3”, “1、2”, “前三” or “first two” names."""
    words = next(group for group in match.groups()[::-1] if group and group.lower() not in ("前", "first"))
    numbers = [
        int(one) if one.isdigit() else _DIGITS.get(one) or _EN_NUMBERS[one.lower()]
        for one in re.findall(rf"{_ONE}|two|three|four|five|six", words, re.IGNORECASE)
    ]
    if match["first"] or match["first_en"]:
        return list(range(1, numbers[0] + 1))
    if len(numbers) == 2 and re.search(r"-|–|to|through|到|至|~", words):
        return list(range(numbers[0], numbers[1] + 1))
    return numbers
