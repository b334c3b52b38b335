"""Read the prose of a session: cut it into pieces, and find reasons, choices, rules and wishes in its sentences.

Pieces and sentences are slices of the text, so that every quote is verbatim. All patterns of cues look at text whose
code spans are blanked (`blank_code`), so that identifiers are no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kb.text.mentions import blank_code, strip_markdown
from kb.text.segment import count_words, iter_sentence_spans, one_line

_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(\S.*)$")
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,3}[.)、])[ \t]+")
_QUOTED = re.compile(r"(?<![ \t])[ \t]*+>")
_TABLE = re.compile(r"(?<![ \t])[ \t]*+\|")
_INDENTED = re.compile(r"(?: {4}|\t)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|No|resp|incl)|(?<![A-Za-z0-9])[0-9A-Z])\.")
_CAPITAL_START = re.compile(r"[.!?]\s+[A-Z]")
_SMALL_START = re.compile(r"(?<=[a-z0-9]{2}[a-z0-9)\]]\. )(?<!max\. )(?<!min\. )(?<!esp\. )(?<!fig\. )[a-z]")
_NO_END = str.maketrans({"\n": " ", ";": ",", "*": '"', "'": '"'})
"""In a piece of prose: a line end and an ASCII semicolon end nothing, and emphasis closes a sentence like a quote."""

_STARTS = (("heading", _HEADING), ("quote", _QUOTED), ("table", _TABLE), ("item", _ITEM))


class ProsePiece(NamedTuple):
    """A paragraph, list item, heading or code block."""

    what: str
    """prose, item, heading, code, quote or table."""
    text: str
    """A slice of the whole text, without the line end."""
    start: int
    """Offset of the slice."""
    level: int = 0
    """Rank of a heading."""
    info: str = ""
    """What follows the opening fence of a code block."""
    after_gap: bool = True
    """True where an empty line or another kind of piece precedes."""


def split_pieces(text: str) -> list[ProsePiece]:
    """Return the pieces of markdown *text* in order; fences of any indentation and unclosed ones are code."""
    pieces: list[ProsePiece] = []
    ends: list[int] = []  # texts are cut at the end: a pasted log is one piece of many thousand lines
    fence, opened, info = "", 0, ""
    offset, after_gap = 0, True
    for row in text.split("\n"):
        line, start = row.rstrip("\r"), offset
        offset += len(row) + 1
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                pieces.append(ProsePiece("code", "", opened, info=info))
                ends.append(max(start - 1, opened))
                fence, after_gap = "", True
        elif match:
            fence, opened, info = match[1], min(offset, len(text)), match[2].strip()
        elif not line.strip():
            after_gap = True
        else:
            what = next((name for name, pattern in _STARTS if pattern.match(line)), "prose")
            before = pieces[-1].what if pieces else ""
            if what == "prose" and not after_gap and before in ("prose", "item", "quote"):
                ends[-1] = start + len(line)  # it continues the last piece
                continue
            if what == "prose" and after_gap and _INDENTED.match(line) and before != "item":
                what = "code"
            heading = _HEADING.match(line)
            pieces.append(ProsePiece(what, "", start, len(heading[1]) if heading else 0, after_gap=after_gap))
            ends.append(start + len(line))
            after_gap = False
    if fence:
        pieces.append(ProsePiece("code", "", opened, info=info))
        ends.append(len(text))
    return [piece._replace(text=text[piece.start : end]) for piece, end in zip(pieces, ends, strict=True)]


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of one piece as slices of *text*.

    A piece may be wrapped, quote code and be marked up, so what ends no sentence in it is masked first: “Run `a. b`;
    it takes approx. 2 s.” is one, “**先停机。** 再迁移；最后重启” three, “black. ops know it” two.
    """
    mark = _ITEM.match(text)
    start = mark.end() if mark else 0
    masked = _ABBREVIATION.sub(lambda match: match[0][:-1] + ",", blank_code(text)).translate(_NO_END)
    if not _CAPITAL_START.search(masked):  # who types no capitals at all begins sentences with small letters
        masked = _SMALL_START.sub(lambda match: match[0].upper(), masked)
    yield from (text[start + first : start + end] for first, end in iter_sentence_spans(masked[start:]))


class ReasonSplit(NamedTuple):
    """A sentence cut at its reason."""

    main: str
    why: str


_REASON_BEHIND = (
    re.compile(r"[（(]\s*+(?:原因|理由|因为|[Rr]eason|because)\s*+(?:是|[:：])?\s*+(?P<why>[^（()）]++)[)）]"),
    re.compile(
        r"(?<![，,、；。\s])[，,、；。\s]*+(?:——|--|—)?\s*+(?:原因是|理由是|是因为|因为|由于)[:：，,]?\s*(?P<why>.+)",
        re.DOTALL,
    ),
    re.compile(r"(?<![，,；\s])[，,；\s]*+(?P<why>(?:否则|不然|以免|以防|从而避免|以避免|以便|为的是).+)", re.DOTALL),
    re.compile(
        r"(?<![,;.\s])[,;.\s]*+(?:—|–|--)?\s*+\b(?:[Bb]ecause(?: of)?|due to(?: the fact that)?|given that"
        r"|since(?!\s+(?:\d|the last|last|yesterday|then|we last|version|v\d|day|this morning)))\s+(?P<why>.+)",
        re.DOTALL,
    ),
    re.compile(
        r"(?<![,;.\s])[,;.\s]*+(?:—|–|--)?\s*+(?P<why>\b(?:otherwise|or else|so that|in order to"
        r"|(?:so as )?to (?:avoid|prevent|keep|ensure|guarantee))\b.+)",
        re.DOTALL,
    ),
)
"""What was decided, then why: “use SQLite because it needs no server”, “用 SQLite，因为不需要服务器”."""
_REASON_BEFORE = (
    re.compile(
        r"^(?:因为|由于|鉴于|考虑到)(?P<why>[^，,]+(?:[，,][^，,]+)?)[，,]\s*(?:所以|因此|故)?(?P<main>.+)$", re.DOTALL
    ),
    re.compile(
        r"^(?:[Bb]ecause|[Ss]ince|[Gg]iven that|[Aa]s)\s++(?P<why>[^,]++),\s*+(?:so\s++)?(?P<main>.+)$", re.DOTALL
    ),
)
"""Why, then what was decided: “Since CI is slow, we cache wheels”, “由于 CI 太慢，所以缓存依赖”."""

_QUESTION = re.compile(r"[?？][\s\"”'*)）」』]*$|(?:吗|呢)[。.!！]?$")
_PLAN = re.compile(
    r"(?i)\b(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i would|i'd|i want to|i need to|i should"
    r"|i can(?!'t|not)|we could|we can"
    r"|going to (?:check|look|try|run)|next(?: step)?,|i'm (?:using|trying|adding|looking))"
    r"|让我|我来|我将|我会|我先|我想(?!要)|接下来|下一步|准备(?:去|先|开始)|打算|我需要|待办"
    r"|\b(?:some ?day|some ?time|at some point|one day|eventually(?! consistent)|down the (?:road|line)"
    r"|next (?:week|month|sprint|quarter|year|release|version|iteration)|try (?:out\b|it\b)|we (?:can |could )?try\b"
    r"|later (?:we|i)\b|later[.!]*$)"
    r"|以后(?:再|试|可能|有空|有时间|说不定|可以(?:考虑|试))|回头(?!率)|再说(?!明)|有空(?![间格值白行])"
    r"|后(?:面|续)(?:再|可能|打算|会考虑)|哪天|改天"
    r"|(?<![以上])下(?:一?个|一)?(?:迭代|版本?|期|阶段|周|个?月|季度)|明年|试试|尝试一下"
)
"""“I'll run the tests first”, “我先看一下”, “maybe later we try X”, “以后试试 Redis”: a plan is no decision."""
_HYPOTHETICAL = re.compile(
    r"(?i)^\W*(?:if|suppose|assuming|imagine|whether|when you (?:are|have|want|get|need))\b"
    r"|\b(?:would|could|might|maybe|perhaps|probably|possibly|likely|seems?|alternatively|unless|i think"
    r"|appears?(?= (?:to|that|as if|like)\b)"
    r"|not sure|undecided|not yet|haven't|hasn't|have not|has not|options?|suggest(?:ion|s|ed)?|propos(?:e|al|ed)"
    r"|recommend(?:ed)?|consider(?:ing)?)\b"
    r"|\bmay (?!not\b|only\b)(?!.{0,80}\bmust\b)|\b(?:dunno|wonder(?:ing)?|what if)\b"
    r"|如果|假如|假设|倘若|要是|万一|也许|可能|或许|大概|似乎|好像|怀疑|要不要|是否|能否|可以考虑|建议"
    r"|方案[一二三ABC]|尚未|还没|没定|不确定(?!的|时)|不知道|没有决定|未决定|由你决定|你来?决定|取决于|看你"
)
"""“we could use Redis”, “要不要用 Redis”: nobody has decided yet."""
_CONDITION = re.compile(r"(?i)\A\W*(?:(?:if|when)\b|如果|要是|遇到)[^,，]{1,120}[,，]\s*")
_PASSING = re.compile(
    r"(?i)\b(?:for now|for the (?:moment|time being)|temporar(?:y|ily)|just this once|this time|todo|fixme|wip|today"
    r"|tonight|tomorrow|(?:in|for) this (?:pr|commit|session|step|run|task|change|release|build|demo|branch|sprint)"
    r"|(?:don't|do not|not) \w+ (?:\w+ ){0,4}yet|until (?:then|the \w+(?:'s| is) (?:over|done|gone))|right now)\b"
    r"|暂时|临时|先这样|这次|本次|这一次|今[天晚]|明天|待会|稍后|(?<![周期])一会儿?(?!被)|目前先|先(?:不|别)"
    r"|此刻|这(?:个|一)?(?:版本?|迭代)先"
)
"""“skip it for now”, “这次先不管”: true today only."""

_LEAD = (
    r"^\W*(?:(?:so|therefore|thus|hence|finally|ultimately|overall|and|but|also|in the end|after (?:some |much |a )?"
    r"(?:discussion|comparison|review|testing|benchmarks?+|debate),?+|as agreed)[,:]?+\s++)*"
)
"""What may precede a choice: “So, after some discussion, we …”."""
_LEAD_ZH = (
    r"(?:(?:所以|因此|于是|最终|最后|综上|另外|同时|并且|我们|我|团队|大家|已经|已|还是|一致|现在|这里|后端"
    r"|前端|数据库|项目)"
    r"[，,]?\s*+)*"
)
_CHORE = (
    r"(?!\s+(?:(?:to|on|with)\s+)?(?:not\s+)?(?:reading|read|look|check|run|start|begin|try|skip|test"
    r"|continue|explore"
    r"|wait|stop|proceed|commit|push|ask|fix|investigate|rerun|retry|focus|work|do|go ahead|move on|finish"
    r"|write (?:the|a)|implement (?:the|a|it)|leave (?:it|this|that)|ignore (?:it|this|that))\b)"
)
"""What follows “decided to” where only the next step was decided: “decided to read the file”."""
_CHOICE_EN = re.compile(
    _LEAD + r"(?:(?:we|i|the team)(?:'ve| have)?\s+(?:(?:also|already|finally|deliberately|explicitly|therefore"
    r"|ultimately|both|all|jointly|then|now)\s+)*)?"
    r"(?:decided (?:to|on|against|in favou?r of|that)|chose(?: not to)?|opted (?:for|to|against)|settled on|went with"
    r"|agreed (?:to|on|that)|standardi[sz]ed on|picked|selected|rejected|adopted|switched (?:from|to)"
    r"|moved (?:from|to)"
    r"|deliberately (?:keep|kept|use|avoid)|stick(?:ing)? with|are (?:going with|sticking with|standardi[sz]ing on))"
    + _CHORE,
    re.IGNORECASE,
)
_CHOICE_PASSIVE = re.compile(
    r"(?i)\b(?:was|were|has been|have been|is|are) (?:chosen|preferred|selected|rejected|adopted) (?:over|instead"
    r"|rather|as|for|in)\b"
)
_CHOICE_CONTRAST = re.compile(
    _LEAD + r"(?:we )?(?:use|uses|used|using|prefer|keep|kept|store|stored|storing)\b.{2,80}\b(?:instead of|rather than"
    r"|over)\b",
    re.IGNORECASE | re.DOTALL,
)
_CHOICE_ZH = re.compile(
    rf"^\W*{_LEAD_ZH}(?:经过?[^，,]{{0,20}}(?:讨论|对比|评估|权衡)[后，,]*+\s*+{_LEAD_ZH}){{0,3}}"
    r"(?:决定(?![了]?(?:先|继续|查|看|运行|跑|试|检查|读|开始|暂停|提交|性|因素|权))|选择(?!性|题|器|框|项|排序)"
    r"|选定|选用|采用|改用|约定|弃用|放弃|不再使用|统一(?:用|使用|采用))"
    r"|(?:用|使用|采用|选).{1,40}(?:而不是|而非|代替|替代|取代)",
    re.DOTALL,
)
_TEAM_DECIDED = re.compile(
    _LEAD + r"(?:we|the team)(?:'ve| have)?\s+(?:(?:already|finally|now|all)\s+)*(?:decided (?:to|on|against|that)"
    r"|agreed (?:to|on|that)|chose|settled on|standardi[sz]ed on)" + _CHORE,
    re.IGNORECASE,
)
_TEAM_DECIDED_ZH = re.compile(
    r"^\W*(?:我们|团队|大家)(?:已经|已|最终|最后|一致)*(?:决定(?!先|继续|看|试)|选定|约定|商定|统一(?:用|使用|采用))"
)
_RULE_EN = re.compile(
    r"(?i)\bmust(?:n't)?\b(?! (?:be because|have been|be (?:a|an|the|something|some) |be\s*$))|\b(?:shall|may) not\b"
    r"|\b(?:is|are) (?:forbidden|prohibited|not (?:allowed|permitted))\b|\bshould never\b"
    r"|^\W*(?:please )?(?:never|always|do not|don't)\s+[a-z]"
)
"""An obligation; not a guess: “that must be the cause”."""
_RULE_ZH = re.compile(r"必须|不得|禁止|严禁|绝不能?|绝对不能|不允许|务必|一律")
_FIRST_PERSON = re.compile(r"^\W*(?:so |but |and |now )*I\b|\bI (?:must|need|have to)\b|^\W*我(?!们)", re.IGNORECASE)
"""“I must restart it”, “我必须重启” bind nobody else."""
_GENERAL = re.compile(
    r"(?i)\b(?:all|every|any|each|never|always|anywhere|everywhere|whenever)\b|所有|任何|每个|每次|一律|永远"
    r"|始终|绝不"
    r"|凡是|都(?:必须|不)"
)
_CONDUCT_EN = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|code|comments?|commits?|tests?|docs|names?"
    r"|functions?|logs?|messages?|output|pull requests|prs)\b"
)
_CONDUCT_ZH = r"(?:回答|回复|答复|解释|输出|总结|代码|注释|提交|测试|文档|命名|变量名|函数|日志|语气|说话)"
"""What a person meets every day: a wish about it is no order for one thing."""
_WISH = re.compile(
    r"(?i)^\W*(?:(?:please|and|also|so|ok|okay|hey|note|btw|remember|important)[,:]?\s+)*"
    r"(?:(?:from now on|from here on|going forward|in (?:the )?future|henceforth)\b"
    r"|(?:always|never)\s+(?:[a-z]+)\b(?!ed\b)|i (?:always |really |strongly |usually |generally )?(?:prefer"
    r"|like|hate"
    r"|dislike|don't like|do not like|can't stand|cannot stand|want you to always)\b(?! (?:it|this|that|these"
    r"|those|the|how)\b)"
    rf"|i(?:'d| would)? (?:want|like|wish|expect|hope)(?: for| that)? (?:all |your |my |our )*{_CONDUCT_EN}"
    r"|prefer\s+[a-z]"
    r"|i'd (?:always )?(?:rather|prefer)\b|my preference is|remember(?: that| to|:))"
    r"|^\W*+(?:请|另外|还有|记住|注意|对了|好的?)?[，,:：]?\s*+(?:"
    r"(?:以后|今后|往后|将来|从现在起|从现在开始|从今以后)[，,]?\s*(?:都|请|要|不要|别|一律|就|用|在|写|每|凡|所有"
    r"|我们|代码|提交|测试|注释|回[答复])"
    r"|我(?:们)?(?:更|比较|一般|一直|个人|真的|最|很){0,2}(?:喜欢|偏好|偏爱|习惯|倾向于|不喜欢|讨厌"
    r"|受不了)(?!这|那|它)"
    rf"|我(?:更|比较|一直|还是|只)?(?:希望|想要|要求)(?:你的?|以后|所有的?|每次)?{_CONDUCT_ZH}|(?:请)?(?:总是"
    rf"|始终|一律"
    r"|永远)(?!报错|失败)"
    r"|(?:请)?记住|每次(?:都)?(?:要|请|先|用|跑|写)|不要再|别再)"
)
"""“From now on use tabs”, “以后都用制表符”."""
_WISH_WITH_REASON = re.compile(
    r"(?i)^\W*(?:(?:please|and|also)[,:]?\s+)*(?:don't|do not|avoid|prefer)\s+[a-z]|^\W*(?:请)?(?:不要|别|避免|尽量)"
)
_EVER = re.compile(r"\b(?:ever|any|anywhere|every|each)\b|任何|一律|永远|始终|每次|凡是", re.IGNORECASE)
_BINDING = re.compile(
    r"(?i)\bmust(?:n't)?\b|\bnever\b|\b(?:shall|may) not\b|\b(?:forbidden|prohibited)\b"
    r"|必须|不得|禁止|严禁|绝不能?|绝对不|不允许|务必"
    r"|(?<!before )(?<!after )(?<!in )(?<!on )(?<!for )(?<!with )\b(?:all|every|each|any|no) "
    r"(?!of your|time\b|once\b|more\b|longer\b)[a-z]|所有|任何|每[个次条张份]|一律|统一"
)
_ALWAYS = re.compile(r"(?i)\balways\b|始终|总是|永远|每次")
_ABOUT_PERSON = re.compile(
    r"(?i)\b(?:me|my|mine|i)\b|\byour (?:answers?|repl(?:y|ies)|responses?|messages?|explanations?|summar(?:y|ies))\b"
    r"|\b(?:answer|reply|respond|explain|apologi[sz]e|speak|address|greet)\b|回答|回复|答复|称呼|叫我"
    r"|我(?!们)|解释|道歉"
)
_NO_ORDER = re.compile(
    r"(?i)\buntil\b|直到|^\W*(?:always|never)\s+(?:\w+(?:ed|s)|(?:an?|the|good|nice|fun|great|better|worth|happy"
    r"|helpful|tricky|hard"
    r"|easy|handy|interesting|been|quite|really)\b|mind|seen|did|got|was|worked|happens)\b|以后再"
    r"|总是(?:报"
    r"|失败|出错|崩|卡)"
)
"""What begins like an order and reports: “never seen this”, “总是报错”."""
_SOLVED = re.compile(
    r"(?is)\b(?:fixed|resolved|solved|eliminated|avoided)\b.{4,120}\b(?:by|via|with)\b.{4,160}\b(?:instead of"
    r"|rather than)\b|"
    r"(?:改为|改用|换成).{2,60}(?:解决|修复|消除|避免)了?.{2,80}|(?:通过|用).{2,80}(?:而不是|代替"
    r"|替代).{2,80}(?:解决|修复|消除)了?"
)


def split_reason(sentence: str) -> ReasonSplit:
    """Return *sentence* cut into what it says and why; without a reason, *why* is empty."""
    masked = blank_code(sentence)
    for pattern in _REASON_BEFORE:
        if (match := pattern.match(masked)) and count_words(match["main"]) > 2:
            return ReasonSplit(sentence[match.start("main") :], strip_markdown(sentence[slice(*match.span("why"))]))
    for pattern in _REASON_BEHIND:
        match = pattern.search(masked)
        if match and match.start() > 0 and count_words(match["why"]) > 1:
            # a reason in brackets may be inside what is said: “用 Redis（原因：要共享）做缓存”
            tail = sentence[match.end() :] if pattern is _REASON_BEHIND[0] else ""
            return ReasonSplit(sentence[: match.start()] + tail, strip_markdown(sentence[slice(*match.span("why"))]))
    return ReasonSplit(sentence, "")


_QUOTED_WORDS = re.compile(r"“[^“”]{1,300}”|「[^「」]{1,300}」|(?<!\w)\"[^\"\n]{1,300}\"(?!\w)")


def _mask_quoted(text: str) -> str:
    """Return *text* with a mark for its code and for what it quotes: others' words are no statement of the speaker."""
    return _QUOTED_WORDS.sub("“…”", blank_code(text))


def _matches(text: str, *patterns: re.Pattern[str]) -> bool:
    """Return whether one of *patterns* is in the words of *text*."""
    masked = _mask_quoted(text)
    return any(pattern.search(masked) for pattern in patterns)


def is_noncommittal(sentence: str) -> bool:
    """Return whether *sentence* asks, plans, supposes or speaks of what will soon be over: nothing to keep."""
    if _matches(sentence, _QUESTION, _PLAN, _PASSING):
        return True
    main = split_reason(sentence).main
    condition = _CONDITION.match(main)
    # “If a test is flaky, never skip it” is a rule with its condition, “If it fails, we could …” supposes
    return _matches(main[condition.end() :] if condition and has_rule(main[condition.end() :]) else main, _HYPOTHETICAL)


def iter_statements(text: str) -> Iterator[str]:
    """Yield the sentences of *text* without its headings; a row of a table is one."""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("|") and not set(bare) <= set("|-: "):
            yield strip_markdown(" — ".join(cell.strip() for cell in bare.strip("|").split("|")))
        elif not bare.startswith(("#", "|")):
            yield from (strip_markdown(row) for row in split_sentences(line))


def is_question(sentence: str) -> bool:
    """Return whether *sentence* asks."""
    return _matches(sentence, _QUESTION)


_PRACTICE = re.compile(
    r"\A\W{0,9}(?:(?:so|and|also|here|today|currently),? )?we(?: always| only| now| currently| all| deliberately)? "
    r"(?:use|keep|store|run|host|deploy|build|ship|write|send|read|log|cache|version|pin|sign|encrypt|serve|test)\b"
    r"|\A\W{0,9}我们(?:现在|目前|一直|统一|只|都|内部){0,2}(?:用|使用|采用|把|存|放|部署|运行|发布)",
    re.IGNORECASE,
)
"""“We use Valkey for sessions”, “我们用 Valkey 存会话”."""


def has_choice(main: str) -> bool:
    """Return whether *main* says that something was chosen."""
    return _matches(main, _CHOICE_EN, _CHOICE_PASSIVE, _CHOICE_CONTRAST, _CHOICE_ZH)


def has_team_choice(main: str) -> bool:
    """Return whether *main* says that "we" decided: from a person that counts even without a reason."""
    return _matches(main, _TEAM_DECIDED, _TEAM_DECIDED_ZH)


def has_practice(main: str) -> bool:
    """Return whether *main* says what "we" do; a person who adds why has said what was decided."""
    return _matches(main, _PRACTICE)


def has_rule(main: str) -> bool:
    """Return whether *main* says what must or must not be, other than for the speaker."""
    return _matches(main, _RULE_EN, _RULE_ZH) and not _matches(main, _FIRST_PERSON)


def is_general(main: str) -> bool:
    """Return whether *main* speaks of all cases rather than of the one at hand, and without an end."""
    return _matches(main, _GENERAL) and not _matches(main, _NO_ORDER)


def has_lasting_wish(sentence: str, why: str) -> bool:
    """Return whether *sentence*, said by a person, is a lasting wish; a mere "don't …" is one only with a reason."""
    if _matches(sentence, _NO_ORDER):
        return False
    if why or _matches(sentence, _EVER):
        return _matches(sentence, _WISH, _WISH_WITH_REASON)
    return _matches(sentence, _WISH)


def is_binding(sentence: str, why: str = "") -> bool:
    """Return whether *sentence* lays down a rule for the work: “must”, “never”, 必须, 所有…; “always” with a reason.

    What it says of the person it is for, or of the answers they want (“never use emojis in your answers”), is a wish.
    """
    rules = (_BINDING, _ALWAYS) if why else (_BINDING,)
    return _matches(sentence, *rules) and not _matches(sentence, _ABOUT_PERSON)


def has_cue(sentence: str) -> bool:
    """Return whether *sentence* has the words of a wish, a rule or a choice, whatever else keeps it from being one."""
    main, why = split_reason(sentence)
    return has_lasting_wish(sentence, why or "?") or has_rule(main) or has_choice(main)


def has_solution(sentence: str) -> bool:
    """Return whether *sentence* reports a problem solved by one means instead of another."""
    return _matches(sentence, _SOLVED)


_GOES_ON = re.compile(
    r"^\W*(?:(?:(?:yes|yep|yeah|ok(?:ay)?|sure|please|go ahead|go on|continue|do it|do that|proceed|thanks?|thank you"
    r"|great|good|perfect|nice|cool|ship it|lgtm|run it|both)\b|好的?|可以|行|嗯|继续|对|是的|谢谢|没问题)\W*)+$",
    re.IGNORECASE,
)
"""“Yes, go ahead”, “好的，继续”: says nothing that is not in what was asked."""


def is_go_ahead(text: str) -> bool:
    """Return whether *text* says nothing but “yes”: “OK, go on”, “好的，继续”."""
    return bool(_GOES_ON.match(text))


# -- what there is no room for ---------------------------------------------------------------------

CUT = "…"
_CLAUSE_END = re.compile(r"[，；：、]|[,;:](?=\s)|\s[—–-]+(?=\s)")
_WITHIN = re.compile(r"[A-Za-z0-9_./-][A-Za-z0-9_]")
"""Two letters between which no word ends."""


def shorten_text(text: str, limit: int) -> str:
    """Return *text* on one line with at most *limit* 字: whole sentences, or where the first is too long its clauses.

    A single clause that is too long ends at a word, with "…". The brackets of the headings become plain ones.
    """
    line = one_line(text[: 12 * limit + 200].replace("【", "[").replace("】", "]"))
    if count_words(line) <= limit and len(text) <= 12 * limit + 200:
        return line
    # the last sentence never fits whole: with it the line is too long, or its end was cut off above
    ends = [end for _, end in list(iter_sentence_spans(line, with_breaks=False))[:-1]]
    if fits := [end for end in ends if count_words(line[:end]) <= limit]:
        return line[: fits[-1]]
    # “use SQLite, which needs no server” → “use SQLite…”; “用 SQLite，因为不需要服务器” → “用 SQLite…”
    fits = [match.start() for match in _CLAUSE_END.finditer(line) if count_words(line[: match.end()]) <= limit]
    if fits and count_words(line[: fits[-1]]):
        return line[: fits[-1]].rstrip() + CUT
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_words(line[:middle]) <= limit else (low, middle - 1)
    # not “use SQLi…”: a word is whole or not there
    while low > 1 and _WITHIN.match(line, low - 1):
        low -= 1
    return line[:low].rstrip() + CUT
