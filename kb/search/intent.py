"""Decide what sort of answer a question wants, and how it is looked for.

Rules of words, in the order in which they are asked; the first that holds decides. They know what questions are made
of, not what a knowledge base is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.search.query import Query, is_identifier
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import has_cjk, one_line

IDENTITY, PREFERENCE, EXPERIENCE = "identity", "preference", "experience"
CODE, KNOWLEDGE, GENERAL = "code", "knowledge", "general"


class RetrievalStrategy(NamedTuple):
    """How the records for an intent are looked for."""

    name: str
    kinds: tuple[str, ...] = ()  # Kinds that answer it best
    only: bool = False  # Whether records of no other kind are an answer
    recent: float = 1.0  # How many times as much the age of a record counts


STRATEGIES: Mapping[str, RetrievalStrategy] = {
    IDENTITY: RetrievalStrategy("profile", ("preference",), only=True),
    PREFERENCE: RetrievalStrategy("exact kind", ("preference", "pattern")),
    EXPERIENCE: RetrievalStrategy("time and relevance", ("pitfall",), recent=5.0),
    CODE: RetrievalStrategy("keyword first", ("interface",)),
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
    if is_identity_question(line):
        return QueryIntent(IDENTITY, True)
    # In this order: “what do we prefer in the parser module?” asks for a preference, not for code.
    intent = GENERAL
    if _PREFERENCE.search(line):
        intent = PREFERENCE
    elif _EXPERIENCE.search(line):
        intent = EXPERIENCE
    elif _is_code_question(line, query):
        intent = CODE
    elif query.subjects and _KNOWLEDGE.search(line):
        intent = KNOWLEDGE
    return QueryIntent(intent, _SELF.search(line) is not None)


# -- the person who asks --------------------------------------------------------------------------

_KNOWS = r"(?:know|remember|recall|learn(?:ed|t)?|understand|got|have)"
_MINE = (
    r"(?:\w+ )?(?:names?|role|job|title|profile|preferences?|habits?|background|interests?|identity|style|team|skills?"
    r"|goals?)"
)
_MINE_ZH = (
    r"(?:名字|姓名|称呼|昵称|角色|职位|职业|工作|身份|岗位|背景|偏好|喜好|爱好|习惯|风格|特点|资料|画像|档案|兴趣"
    r"|目标)"
)


def _parse_questions(table: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the rows of *table*: texts between slashes, one of which is in all that the pattern behind them matches.

    A row goes on in an indented line. By the texts a prompt hook compiles no pattern that cannot match.
    """
    rows = (row.split(": ", 1) for row in table.strip("\n").replace("\n  ", "").split("\n"))
    return tuple((tuple(needles.split("/")), pattern) for needles, pattern in rows)


_IDENTITY_EN = _parse_questions(rf"""
who : who (?:am i|i am)
you : (?:do|did|don't|can) you (?:still |even |really )?{_KNOWS} (?:me|who i am)
 me: what (?:else )?(?:do|did|have|can) you (?:\w+ )?{_KNOWS}(?: learn(?:ed|t)| noted| stored)? (?:about|of|on) me
 i t: what (?:did|have) i (?:tell|told) you(?: about (?:me|myself))?
tell me/describe/introduce/summari/sum up: (?:please )?(?:tell me (?:more )?about|describe|introduce|summari[sz]e
  |sum up) (?:me|myself)
about me: (?:please )?(?:summari[sz]e|list|show(?: me)?|tell me) (?:what|everything|all) you {_KNOWS} about me
 my : what(?:'s| is| are| were)(?: in)? my {_MINE}
 my : (?:do|did|can|have) you (?:still |even |really )?{_KNOWS} (?:about )?my {_MINE}
what d: what (?:do|did) i (?:usually |really |normally )?(?:like|dislike|prefer|hate|care about|want|do|work on)
what am i/what was i/what have i: what (?:am i|was i|have i been) (?:currently )?(?:working on|doing|up to|called
  |interested in|good at)
have we /did we : (?:have|did) we (?:ever )?(?:met|meet|talked|talk|spoken|speak|worked together)(?: before)?
 am i: what (?:kind|sort|type) of (?:person|developer|engineer|user|programmer) am i
how do i : how do i (?:usually|normally|like to) (?:work|code|write|name things)
 my : (?:show|display|open|print|view)(?: me)? my (?:profile|preferences|details|habits)
""")
_IDENTITY_ZH = _parse_questions(rf"""
我是/我叫/我到/我究: (?:你)?(?:还)?(?:知道|记得|清楚)?我(?:到底|究竟)?(?:是|叫)(?:谁|什么|什么名字|啥|哪位|做什么的
  |干什么的|干嘛的|哪个团队的)
你: 你(?:还)?(?:认识|认得|记得|知道|了解|熟悉)(?:得)?我(?:是谁)?
你: 你(?:都|还)?(?:知道|记得|了解|掌握)(?:了)?我(?:的)?(?:些|哪些|多少|什么|啥)(?:什么|事|事情|信息|情况)?
你对我: 你对我(?:有)?(?:的)?(?:多少|什么|哪些|都)?(?:了解|知道|认识|印象|熟悉)(?:多少|什么|哪些|吗)?
关于我/有关我: (?:关于|有关)我(?:自己|的)?(?:，|,)?(?:你)?(?:都|还)?(?:知道|记得|了解|有)(?:些)?(?:什么|哪些|多少|啥)
我的: 我的{_MINE_ZH}(?:是|有|都)?(?:是|有)?(?:什么|哪些|啥|谁|怎样的|怎么样的)?
我的: 你(?:还|都)?(?:记得|记不记得|知道|知不知道|了解|清楚|记住)(?:了)?我的{_MINE_ZH}(?:了)?(?:是什么|有哪些|是啥)?
我有/我都/我存: 我(?:都)?(?:有|存)(?:什么|哪些|啥)(?:偏好|习惯|喜好|爱好|特点)
喜欢/讨厌/在意/关心/擅长/偏爱: 我(?:最|平时|一般|通常|比较)?(?:喜欢|讨厌|在意|关心|擅长|偏爱)(?:什么|哪些|啥|做什么
  |干什么)
我平时/我一般/我通常/我习惯/我最近/我现在/我目前/我之前: 我(?:平时|一般|通常|习惯|最近|现在|目前
  |之前)(?:都)?(?:是)?(?:在|怎么|怎样|如何)(?:做|忙|干|工作|写代码|搞)?(?:些)?(?:什么|啥|的)?
描述/介绍/形容/说说/总结/概括/评价: (?:请)?(?:描述|介绍|形容|说说|总结|概括
  |评价)(?:一下)?(?:你)?(?:眼中的)?(?:对)?我(?:自己|这个人|的了解|的印象|的偏好)?
我的: (?:请)?(?:查看|看看|显示|打开|列出|展示)(?:一下)?我的(?:资料|画像|档案|偏好|习惯|信息)
我们: 我们(?:以前|之前|曾经)?(?:是不是|有没有)?(?:聊|见|谈|合作|说)过(?:话|面)?
""")
_ASKER = regex(r"\b(?:i|me|my|myself|we)\b|我")
_POLITE = regex(r"^(?:hey|hi|hello|ok|so|well|please|请问|那么|那|嗨|你好|喂)[\s,，、!！:：]+", re.IGNORECASE)
_ENDING = regex(r"(?<![\s?？!！。.~～吗呢吧呀啊嘛])[\s?？!！。.~～吗呢吧呀啊嘛]++$")


def is_identity_question(line: str) -> bool:
    """Return whether *line*, as a whole, asks about the person who asks (ZCLAW-13)."""
    lower = line.casefold().replace("’", "'")
    if not any(needle in lower for needles, _ in (*_IDENTITY_EN, *_IDENTITY_ZH) for needle in needles):
        return False
    bare = _ENDING.sub("", _POLITE.sub("", lower))
    patterns = _IDENTITY_ZH if has_cjk(bare) else _IDENTITY_EN
    likely = (regex(pattern) for needles, pattern in patterns if any(needle in bare for needle in needles))
    return _ASKER.search(bare) is not None and any(pattern.fullmatch(bare) for pattern in likely)


# A weak sign that a question is about the person who asks (ZCLAW-14)
_SELF = regex(r"\b(?:I|me|my|mine|myself)\b|我(?!们)|本人", re.IGNORECASE)


# -- the other intents ----------------------------------------------------------------------------

_PREFERENCE = regex(
    r"\bprefer\w*|\bfavou?r(?:s|ed|ite|ites)?\b|\b(?:do|would|did) (?:i|we|you) (?:\w+ )?(?:like|rather|love|hate)\b|"
    r"\b(?:i|we) (?:\w+ )?(?:like|love|hate|dislike)\b|\brather (?:use|have)\b|"
    r"\b(?:coding|code|writing|naming) style\b|"
    r"\bnaming conventions?\b|\b(?:my|our) (?:usual|style|taste|habits?)\b|"
    r"偏好|喜欢|喜好|偏爱|更?倾向|习惯用|习惯于|讨厌|(?:代码|编码|命名|书写|写作|注释)(?:的)?(?:风格|习惯)|平时(?:习惯|用)|爱用",
    re.IGNORECASE,
)
_EXPERIENCE = regex(
    r"\b(?:last|previous) (?:time|week|month|incident|outage|release|deploy\w*)\b|\bbefore\s*\??$|"
    r"\bearlier\b|\byesterday|"
    r"\brecently\b|\bwhat (?:happened|went wrong)\b|\b(?:incident|outage|post-?mortem|retrospective|lessons?)\b|"
    r"\b(?:have|has|had|did) (?:we|anyone|somebody|someone|you) "
    r"(?:ever )?(?:see|seen|try|tried|hit|run|have|had|fix\w*)\b|"
    r"\bhow did (?:we|you|i) (?:fix|solve|resolve|work around|get around)|\bwent wrong\b|\bexperience with\b|"
    r"上次|上周|上个?月|昨天|前天|之前|以前|从前|曾经?|最近|当时|踩(?:过|了|的)?|有过|遇到过|出过|发生过|试过|教训|事故|"
    r"故障|复盘|经验|经历|经过|怎么解决的",
    re.IGNORECASE,
)
_CODE = regex(
    r"\b(?:function|method|class|module|variable|parameter|argument|import|imports|enum|struct|constructor|decorator|"
    r"stack ?trace|traceback|exception|syntax|compile[rds]?|exit code|source code|signature of|implements?)\b|"
    r"\b(?:defined|declared|called from|implemented)\b|"
    r"函数|方法名|类名|变量|参数|模块|源码|源代码|报错|异常栈|堆栈|编译|语法|代码里|代码中|定义在|在哪里定义|调用",
    re.IGNORECASE,
)
_PATH = regex(
    r"(?<![\w.@-])[\w.@-]*+/[\w./@-]+|(?<![\w-])[\w-]++\.(?:py|js|ts|tsx|go|rs|java|kt|c|h|cpp|rb|php|sh|sql|ya?ml|toml|json|md|xml)\b"
)
_NAME = regex(
    r"`[^`]+`|\b\w+\(\)|\b[A-Z][A-Z0-9]{2,}_[A-Z0-9_]+\b|\bE[A-Z]{4,}\b|\b\w+(?:Error|Exception)\b|\b[a-z_]\w*\.\w+\.\w+"
)
_KNOWLEDGE = regex(
    r"^(?:what|why|who|which|when|where|how|explain|define|describe|difference|compare|is|are|does|do|can|should|must)\b|"
    r"\b(?:reason|rationale|meaning|definition|difference|explain)\b|\?\s*$|"
    r"什么|为什么|为何|为啥|怎么|怎样|如何|哪个|哪些|哪里|哪种|谁|多少|几|是否|是不是|能不能|区别|原理|原因|理由|定义|解释|含义|关系|介绍|吗\W*$",
    re.IGNORECASE,
)


_HUMPED = regex(r"[a-z0-9][A-Z][a-z]|^[A-Z][a-z]+[A-Z]")


def _is_code_question(line: str, query: Query) -> bool:
    """Return whether *line*, the text of *query*, names something in code, or speaks of code as such."""
    names = [run.text for run in query.runs if not run.is_unspaced and not run.text[0].isdigit()]
    if any(is_identifier(name) and ("_" in name.strip("_") or _HUMPED.search(name)) for name in names):
        return True
    return bool(_PATH.search(line) or _NAME.search(line) or _CODE.search(line))
