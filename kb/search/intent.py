"""Decide what sort of answer a question wants, and how it is looked for.

An id decides, then a preference that is asked for by name; what is asked of the asker, and what else a question wants,
is learned from labelled questions (`kb.text.classifier`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.records.kinds import KINDS, find_kind
from kb.records.model import Reference, Status
from kb.search.query import Query, parse_query
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import one_line

IDENTITY, PREFERENCE, EXPERIENCE = "identity", "preference", "experience"
CODE, KNOWLEDGE, GENERAL = "code", "knowledge", "general"
NAMED, RECENT = "id", "recent"


class RetrievalStrategy(NamedTuple):
    """How the records for an intent are looked for."""

    name: str
    kinds: tuple[str, ...] = ()  # Kinds that answer it best
    only: bool = False  # Whether records of no other kind are an answer
    recent: float = 1.0  # How many times as much the age of a record counts
    newest: bool = False  # Whether the newest of the records that answer come first


STRATEGIES: Mapping[str, RetrievalStrategy] = {
    IDENTITY: RetrievalStrategy("profile", ("preference",), only=True),
    PREFERENCE: RetrievalStrategy("exact kind", ("preference", "pattern")),
    EXPERIENCE: RetrievalStrategy("time and relevance", ("pitfall",), recent=5.0),
    CODE: RetrievalStrategy("keyword first", ("interface",)),
    NAMED: RetrievalStrategy("exact id"),
    RECENT: RetrievalStrategy("newest first", newest=True),
    KNOWLEDGE: RetrievalStrategy("meaning"),
    GENERAL: RetrievalStrategy("mixed"),
}


class QueryIntent(NamedTuple):
    """What a question wants."""

    intent: str
    weak_identity: bool = False  # Whether it may be about the person who asks, without saying so

    @property
    def strategy(self) -> RetrievalStrategy:
        """How it is answered."""
        return STRATEGIES[self.intent]


def detect_intent(query: Query) -> QueryIntent:
    """Return what *query* wants."""
    line = one_line(query.text)
    chosen = _choose_intent(line, query)
    if is_about_asker(line) and not (chosen == PREFERENCE and _HABIT.search(line)):
        return QueryIntent(IDENTITY, True)
    return QueryIntent(chosen, _SELF.search(line) is not None)


def is_about_asker(line: str) -> bool:
    """Return whether *line*, as a whole, asks about the person who asks (ZCLAW-13): “who am I”, 我习惯用哪个编辑器.

    The model is loaded only where one of the words stands without which nobody asks that.
    """
    if not _MIN_ASKED_CHARACTERS <= len(line) <= _MAX_ASKED_CHARACTERS or not _ASKER.search(line):
        return False
    from kb.text.classifier import ASKER, score_sentence

    return score_sentence(ASKER, line)[IDENTITY] >= LEAST_IDENTITY


def _choose_intent(line: str, query: Query) -> str:
    """Return what *line*, the text of *query*, wants; never that it is about the asker."""
    if query.references or (query.numbers and not _STATUS.search(line)):
        return NAMED
    if _has(_PREFERENCE, line):  # “what do we prefer in the parser module?” asks for a preference, not for code
        return PREFERENCE
    if not query.runs or len(line) < _MIN_ASKED_CHARACTERS:
        return GENERAL
    from kb.text.classifier import WANTED, score_sentence

    scores = score_sentence(WANTED, line)
    wanted = max(scores, key=scores.__getitem__)
    if wanted == KNOWLEDGE and not (query.subjects and _KNOWLEDGE.search(line)):
        return GENERAL
    return wanted


def name_spoken_record(query: Query) -> Query:
    """Return *query*, which asks for a record by its number (intent NAMED), with the record that its words name.

    “the pitfall numbered 8”, 二十一号决策: with a kind in it the record of this kind, else (TRAP-19) any of the number.
    """
    if query.references or query.numbers:
        return query
    text = _SPELLED.sub(_write_digits, query.text[:_MAX_ASKED_CHARACTERS].casefold())
    found = [(word, int(number)) for word, number in _NUMBER.findall(text)]
    if not found:
        return query
    word, number = found[0]
    if len(found) > 1 and _YEARS[0] <= number < _YEARS[1]:  # DEC-2024-011, 编号为 2023-019
        number = found[1][1]
    # a prefix stands before its number, a name anywhere: “I” alone is no interface
    said = [word, *(run.text for run in query.runs if not run.is_unspaced and len(run.text) > 2)]
    kinds = [kind for kind in map(find_kind, said) if kind]
    kinds += [kind for kind in KINDS if len(word) > 2 and kind.name.startswith(word)]  # PIT-9, “con 2”
    kinds += [kind for kind in KINDS for name in (kind.zh, _SHORT_ZH.get(kind.name, kind.zh)) if name in query.text]
    if not kinds:
        return query._replace(numbers=frozenset((number,)))
    return query._replace(references=(Reference("", f"{kinds[0].prefix}{number:03d}"),))


def _write_digits(match: re.Match[str]) -> str:
    """Return the number that is spelled out as digits: “forty-two” and 四十二 are 42, “twelfth” is 12."""
    english, chinese = match.groups()
    if english:
        return str(sum(_ENGLISH_NUMBERS[part] for part in english.replace("-", " ").split()))
    total, digit = 0, 0
    for character in chinese:
        if character in _CHINESE_UNITS:
            total, digit = total + (digit or 1) * _CHINESE_UNITS[character], 0
        else:
            digit = _CHINESE_DIGITS.index(character)
    return str(total + digit)


_CHINESE_DIGITS, _CHINESE_UNITS = "零一二三四五六七八九", {"十": 10, "百": 100}
_ENGLISH_NUMBERS = {
    **{
        word: at % 19 + 1
        for at, word in enumerate(
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen first second third fourth fifth sixth seventh eighth ninth tenth eleventh "
            "twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()
        )
    },
    **{
        word: at % 8 * 10 + 20
        for at, word in enumerate(
            "twenty thirty forty fifty sixty seventy eighty ninety twentieth thirtieth fortieth fiftieth sixtieth "
            "seventieth eightieth ninetieth".split()
        )
    },
}
_SPELLED = regex(
    r"\b((?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty[- ])?(?:"
    + "|".join(sorted(_ENGLISH_NUMBERS, reverse=True))
    + r"))\b|"
    r"((?<=第)[零一二三四五六七八九十百]{1,7}|[零一二三四五六七八九十百]{1,7}(?=[号条个]|\W|\Z|[是的]))"
)
_NUMBER = regex(r"(?<![a-z\d])([a-z]{0,12})[-_ #.]{0,2}0{0,6}([1-9]\d{0,6})(?!\d)")
_SHORT_ZH = {"pitfall": "坑", "decision": "决定"}  # What people say for the name of a kind
_YEARS = 1990, 2100  # between these the first of two numbers is rather the year in an id


def split_recent_query(query: Query) -> tuple[Query, tuple[str, ...], tuple[str, ...]]:
    """Return what *query*, whose intent is RECENT, is about, and the kinds and the statuses that it names.

    “newest decisions on auth” is about auth, 近期废弃的决策 about any deprecated decision.
    """
    text = query.text
    kinds, statuses = (
        tuple(name for name, words in table if re.search(words, text, re.IGNORECASE))
        for table in (_KIND_WORDS, _STATUS_WORDS)
    )
    for pattern in (*_RECENT, _FRAME):
        text = pattern.sub(" ", text)
    return parse_query(one_line(text)), kinds, statuses


# 接口 and 问题 are rather what a question is about; 决定 is also what people do (最近关于登录的决定).
_KIND_WORDS = (
    ("decision", r"\bdecisions\b|\badrs?\b|决策"),
    ("constraint", r"\bconstraints?\b|约束"),
    ("pitfall", r"\bpitfalls?\b|坑"),
    ("preference", r"\bpreferences?\b|偏好"),
    ("checklist", r"\bchecklists?\b|检查清单"),
)
_STATUS_WORDS = (
    (Status.SUPERSEDED, r"\b(?:superseded|replaced)\b|取代|替代"),
    (Status.DEPRECATED, r"\b(?:deprecated|obsolete|retired)\b|废弃|作废"),
    (Status.REJECTED, r"\brejected\b|否决|被拒"),
    (Status.PROPOSED, r"\bproposed\b|提议|待定"),
)
# What is asked for as such, beside when and about what
_FRAME = regex(
    r"\b(?:did|do|have|has|been|we|any|show|list|me|all|new|decid\w+|decisions?|agree\w*|change[sd]?|add(?:ed)?|"
    r"update[sd]?|"
    r"accepted|records?|rules?|adrs?|constraints?|pitfalls?|preferences?|checklists?|superseded|replaced|deprecated|"
    r"obsolete|"
    r"retired|rejected|proposed)\b|架构决策|决策|决定|记录|规则|规定|约束|偏好|检查清单|改动|变更|更新|修改|改了|"
    r"加了|定了|新增|取代|替代|废弃|作废|否决|提议|坑",
    re.IGNORECASE,
)


LEAST_IDENTITY = 0.1
"""The score from which a question is about its asker: of seven authors in eight nine in ten are known and one other in
a hundred is taken for one, each judged by models that saw nothing of theirs (`python -m bench.classifiers asker`)."""
_MIN_ASKED_CHARACTERS = 2
_MAX_ASKED_CHARACTERS = 200  # characters of a question that can be about its asker and nothing else
# Without one of these no question is about the person who asks; most prompts have none, or are longer
_ASKER = regex(
    r"\b(?:i|im|me|my|mine|myself|we|whoami|yours truly)\b|"
    r"\b(?:who|whose|person|human|someone|engineer|user|owner|preferred|preferences?|usual|go-to)\b|"
    r"我|本人|俺|咱|谁|誰|自己|提问者|这位|這位|这头|鄙人|在下|用户|用戶|主人|个人|個人|偏好|喜好|习惯|習慣|惯用|慣用|常用|"
    r"老规矩|老規矩",
    re.IGNORECASE,
)
# What of the work one has a preference in: then its records answer as well as the person's own
_HABIT = regex(
    r"\b(?:commits?|messages?|branch(?:es)?|code|tests?|reviews?|prs?|docs?|names?|naming|tabs|spaces|indent\w*|"
    r"comments?)\b(?<!my name)|命名|代码|提交|分支|测试|注释|缩进|写法|格式|文档|评审",
    re.IGNORECASE,
)
# A weak sign that a question is about the person who asks (ZCLAW-14)
_SELF = regex(r"\b(?:I|me|my|mine|myself)\b|我(?!们)|本人", re.IGNORECASE)


# -- the other intents ----------------------------------------------------------------------------

Pair = tuple[re.Pattern[str], re.Pattern[str]]  # For English and for Chinese: only what can match is compiled


def _pair(english: str, chinese: str) -> Pair:
    return regex(english, re.IGNORECASE), regex(chinese, re.IGNORECASE)


def _has(signs: Pair, line: str) -> bool:
    """Return whether *line* has one of the *signs*; a Chinese one may have English words."""
    return signs[0].search(line) is not None or (not line.isascii() and signs[1].search(line) is not None)


_PREFERENCE = _pair(
    r"\bprefer\w*|\bfavou?r(?:s|ed|ite|ites)?\b|\b(?:do|would|did) (?:i|we|you) (?:\w+ )?(?:like|rather|love|hate)\b|"
    r"\b(?:i|we) (?:\w+ )?(?:like|love|hate|dislike)\b|\brather (?:use|have)\b|"
    r"\b(?:coding|code|writing|naming) style\b|\b(?:my|our) (?:usual|style|taste|habits?)\b|"
    # What one person has or does, “which editor do I use”; what we do is no preference
    r"\b(?:what|which|who|when|where)\b[^,;]{0,40} (?:do|did|am|was) i\b(?! (?:need|have|get|add|find|run|fix|do|"
    r"put|start|look|set|request|report|ask|go|change|configure|enable))|"
    # “how do I request access” asks for the way to, “how do I name branches” for a habit
    r"\bhow\b[^,;]{0,40} (?:do|did) i (?:like|want|prefer|usually|normally|generally|always|name|format|structure|"
    r"organi[sz]e|indent|work|spell|call)\b|\bhow\b[^,;]{0,40} (?:am|was) i\b|"
    r"\b(?:what|which|who|how|when)(?:'s| is| are| was| were) my\b|"
    r"\bmy (?:name|role|job|title|team|time ?zone|editor|shell|keyboard|email)\b",
    r"偏好|喜欢|喜好|偏爱|更?倾向|习惯用|习惯于|讨厌|(?:代码|编码|命名|书写|写作|注释)(?:的)?(?:风格|习惯)|"
    r"平时(?:习惯|用)|爱用|"
    r"我(?:一般|平时|通常|习惯|常|都|是|属于|负责|住|用|在|叫|说)+(?:的是|的)?(?:什么|哪|啥|谁|多少)|"
    r"我的[^，。？]{0,6}习惯|我的(?:时区|名字|姓名|团队|角色|职位|岗位|邮箱|编辑器|语言)",
)
_STATUS = regex(
    r"(?:接口|页面|服务|请求|网关|返回|报|状态码|\bhttp|\bstatus|\bgot|\breturns?|\berror) ?(?:code )?[45]\d\d(?!\d)|"
    r"\b[45]\d\d (?:bad|internal|service|gateway|not|forbidden|unauthorized|too|conflict|error|request|payload|method)",
    re.IGNORECASE,
)
_PERIOD = r"days?|weeks?|months?|sprints?|quarters?|years?|fortnight"
_WEEKDAY = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|"
    r"jun|jul|aug|sept?|oct|nov|dec)"
)
_RECENT = _pair(
    r"\b(?:newest|newly|latest|most recent|recent|recently|lately|yesterday|today|tonight|"
    r"just (?:decided|added|changed|agreed|accepted))\b|\bwhat(?:'s| is| has) (?:new|changed)\b|"
    rf"\b(?:this|last|past|previous) (?:few |couple of |\d+ )?(?:{_PERIOD}|morning|{_WEEKDAY})\b|"
    rf"\b\d+ (?:{_PERIOD}) ago\b|"
    r"\blast (?:few|\d+|two|three|five|ten) \w+|"
    rf"\b(?:from|in|of|during|since|for) (?:early |late |mid-)?(?:{_MONTH}\b|20[0-3]\d\b)|\bq[1-4]\b|"
    r"\banything new\b|\bnew(?:ly)? \w* ?since\b|\b(?:changed|changes|added|decided|records?|decisions|rules) since\b|"
    r"\bsince (?:the |our )?(?:[\w.-]+ ){0,2}(?:release|launch|version|rollout|meeting|sprint|upgrade|migration|"
    r"freeze)\b|"
    r"\bwhat (?:has been |was |were |got |have we |did we )(?:changed?|added?|decided?|agreed?) (?:since|this|last)\b|"
    rf"\bsince (?:\d|last|yesterday|{_WEEKDAY}|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"\b(?:new|added|changed|updated) (?:decision|rule|record|constraint|adr|pitfall|preference|pattern|"
    r"interface)s?\b",
    r"[以之]?后的?(?:新)?(?:变更|改动|更新|变化|新增|记录|决定|决策|规则|约束|规定)|"
    r"(?<![\d一二三四五六七八九十])(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月份?(?:以来)?(?:的|里|"
    r"新?[定加增改])|"
    r"[一二三四1-4]季度(?:的|里|新?[定加增改])|[上下这近]半年|年初(?:以来|到|至)|这[两几]天|这阵子|这段时间|"
    r"最近|近期|最新|新近|近来|昨天|前天|今天|今日|刚刚|刚(?:定|加|改|更新|决定)|最后(?:更新|修改|几|\d|一[次条个]|"
    r"改|加|定)|(?:时间|日期)(?:倒序|顺序|排序|先后)|按(?:时间|日期)排|"
    r"(?:本|这|上|这个|上个|本个)(?:周|星期|礼拜|月|季度|年)|今年|去年|"
    r"(?:[一二三四五六七八九十\d]{1,3}月份?)?以来|[近过去这前] ?[几两一二三四五六七八九十\d]* ?(?:个)?(?:天|周|月|"
    r"日)(?:内|里|来)?(?!份)|新(?:增|加|定|出)的?(?:规则|约束|决策|决定|记录|规定|坑)",
)
_KNOWLEDGE = regex(
    r"^(?:what|why|who|which|when|where|how|explain|define|describe|difference|compare|is|are|does|do|can|should|"
    r"must)\b|\b(?:reason|rationale|meaning|definition|difference|explain)\b|\?\s*$|"
    r"什么|为什么|为何|为啥|怎么|怎样|如何|哪个|哪些|哪里|哪种|谁|多少|几|是否|是不是|能不能|区别|原理|原因|理由|"
    r"定义|解释|含义|关系|介绍|吗\W*$",
    re.IGNORECASE,
)


# -- what the team could be asked -----------------------------------------------------------------

_ASKS = _pair(
    r"[?？]\W*$|^(?:how|what|why|which|who|whom|whose|when|where|is|are|was|were|do|does|did|can|could|should|may|"
    r"must|has|have|any|whats)\b|[.,;:–-] ?(?:how|what|whats|why|which|who|when|where|does|yes or no|"
    r"(?:do|did) (?:we|i)|(?:am|can|could|should) i|(?:can|could|should|are) we|is (?:it|there|this|that)|are there)\b|"
    r"\bor (?:not|what)\b|\band (?:how|why|which|who|where)\b|"
    r"^(?:at|by|for|from|in|on|to|under|with) (?:what|which|whose)\b",
    r"[?？]\W*$|(?:吗|呢|么|不)[。.!！~]*$|吗[，,；;。]|什么|啥|咋|怎么|怎样|如何|为何|哪|谁|多少|多久|多大|是否|还是|"
    r"(?<![一二三四五六七八九十几])几(?!乎)|(.)[不没]\1",
)
# What is asked of the agent itself is no gap of the team's: “can you fix it?”, 你刚才改了什么
_OF_AGENT = _pair(r"\b(?:you|your|yourself|let's(?! encrypt))\b|^please\b", r"你|您|帮|麻烦|^请|给我(?!们)|继续")
_ABOUT_TEAM = frozenset({KNOWLEDGE, EXPERIENCE, CODE, GENERAL, PREFERENCE})


def asks_something(text: str) -> bool:
    """Return whether *text* has the form of a question that is not put to the agent itself."""
    return _has(_ASKS, text) and not _has(_OF_AGENT, text)


def is_team_question(text: str) -> bool:
    """Return whether *text*, one line, asks what a record of the team could answer."""
    if not asks_something(text):
        return False
    query = parse_query(text)  # of “why?” and 为什么 nobody knows what they are about
    return bool(query.subjects) and detect_intent(query).intent in _ABOUT_TEAM
