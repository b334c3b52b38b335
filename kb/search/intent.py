"""Decide what sort of answer a question wants, and how it is looked for.

Rules of words, in the order in which they are asked; the first that holds decides. They know what questions are made
of, not what a knowledge base is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.records.model import Status
from kb.search.query import Query, is_identifier, parse_query
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
    """Return whether *line* asks about the person who asks and nothing else; the rules are loaded where it may."""
    if len(line) > _MAX_ASKED_CHARACTERS or not _ASKER.search(line):
        return False
    from kb.search.identity import is_identity_question

    return is_identity_question(line)


def _choose_intent(line: str, query: Query) -> str:
    """Return the first intent of which *line*, the text of *query*, has a sign; never that of an identity question."""
    if query.references or (query.numbers and not _STATUS.search(line)):
        return NAMED
    if _has(_PREFERENCE, line):  # before code: “what do we prefer in the parser module?” asks for a preference
        return PREFERENCE
    if _NAMED_CODE.search(line):
        return CODE
    is_event, is_output = _has(_EVENT, line), not _ASKING.search(line) and (_has(_OUTPUT, line) or _BARE.search(line))
    is_failure = (is_output or _has(_FAILURE, line)) and not _has(_RULE, line)
    # “what did we decide last week” wants the newest, “what went wrong last week” what was learned
    if not is_event and not is_failure and _has(_RECENT, line):
        return RECENT
    if is_event or is_failure or _has(_PITFALL, line):
        return EXPERIENCE
    if _is_code_question(line, query):
        return CODE
    return KNOWLEDGE if query.subjects and _KNOWLEDGE.search(line) else GENERAL


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


_MAX_ASKED_CHARACTERS = 120  # characters of a question that can be about its asker and nothing else
# Without one of these no question is about the person who asks; most prompts have none, or are longer
_ASKER = regex(
    r"\b(?:i|im|me|my|mine|myself|we)\b|\bwho\b[^?]{1,40}\byou\b|我|本人|俺|咱|谁[^，。]{0,6}[你您]|"
    r"[你您][^，。]{0,6}谁",
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
# Something that happened and is over
_EVENT = _pair(
    r"\b(?<!since )(?<!since the )(?<!since our )"
    r"(?:last|previous) (?:time|incident|outage|release|deploy\w*)\b|\bbefore\s*\??$|\bearlier\b|"
    r"\bwhat (?:happened|went wrong)\b|\bwent wrong\b|\bexperience with\b|"
    r"\b(?:incident|outage|post-?mortem|retrospective|lesson|learning)s?\b|"
    r"\b(?:have|has|had|did) (?:we|anyone|anybody|somebody|someone|you) "
    r"(?:ever )?(?:see|seen|try|tried|hit|run|have|had|fix\w*)\b|"
    r"\bhow did (?:we|you|i) (?:fix|solve|resolve|work around|get around|recover)",
    r"上次|上一次|之前|以前|从前|曾经?|当时|有过|遇到过|出过|发生过|试过|教训|事故|复盘|经验|经历|经过",
)
# What fails, in the words people have for it when it does
_FAILURE = _pair(
    r"\b(?:fail(?:s|ed|ing|ures?)?|crash\w*|hang(?:s|ing)?|hung|freez\w*|frozen|stuck|broken|breaks?|broke|leak\w*|"
    r"deadlocks?|race conditions?|segfaults?|panic\w*|refused|denied|rejected|unreachable|time[sd] out|out of memory|"
    r"oom(?:killed)?|overflow\w*|corrupt\w*|mismatch|missing|lost|expired|stale|slow(?:ly|er)?|not found|no such|"
    r"too many|disk full|infinite loop|unable to|won't|doesn't|didn't|isn't|stop(?:s|ped) working|not work\w*|"
    r"regress\w*|flak[ey]\w*|exit code \d+|errors?|exceptions?|traceback|stack ?trace|high (?:cpu|memory|load)|"
    r"timeouts?(?! (?:value|setting|config|limit|for|of))|can(?:no|')t \w+|"
    r"[45]\d\d (?:on|in|from|when|after|error)|(?:status|http|returns?) [45]\d\d|50[0-4])\b|"
    r"\b[a-z]\w*(?:Error|Exception|BackOff)\b|(?-i:\bE(?!NV)[A-Z]{4,}\b)|(?-i:\b(?:ERR|SIG)_?[A-Z]{3,}\w*)",
    r"失败|怎么办|丢了|报错|出错|崩溃|崩了|挂了|挂掉|卡住|卡死|卡在|卡顿|泄[漏露]|死锁|死循环|积压|故障|乱码|偶发|"
    r"偶尔|突然|异常(?!处理|码)|"
    r"排查|(?:怎么|如何)(?:解决|修复|修)|(?:处理|解决)(?:办法|方法)|怎么回事|连不上|打不开|起不来|启动不了|登不上|"
    r"不生效|没生效|失效|"
    r"无法|拒绝连接|被拒|占用|耗尽|溢出|不足|找不到|丢失|丢(?:数据|消息|包)|变慢|很慢|太慢|飙高|慢查询|白屏|闪退|"
    r"跨域|空指针|不起作用|"
    r"不一致|证书.{0,4}过期|(?:编译|跑|过)不(?:过|通)|超时(?!时间|设置|配置|策略|阈值|多|是|要|应|值)|重复(?:扣款|"
    r"消费|提交)|(?<!\d)[45]\d\d(?!\d)",
)
# What a program says when it fails, pasted as it is, and what people say of a thing that does no more: no question
_OUTPUT = _pair(
    r"^(?:[\w.:/\[\]-]{1,40} ){0,3}(?:error|err|fatal|panic|failed|failure|warning|warn|critical|exception|"
    r"abort(?:ed)?|traceback|"
    r"uncaught|unhandled)\b\s*[:!(\[]|\berror[: ]|\b(?:uncaught|unhandled|segmentation fault|core dumped|bus error|"
    r"stack overflow|"
    r"undefined reference|unresolved (?:external|symbol|import)|(?:null|nil) ?pointer|dereference|unknown authority|"
    r"refusing to|unexpected (?:token|eof|end|identifier|character)|invalid (?:token|"
    r"argument|syntax|character|pointer|state)|is not (?:a function|defined|assignable|iterable|callable|"
    r"recogni[sz]ed|a valid|"
    r"supported)|not assignable|cannot (?:find|read|open|allocate|import|resolve|connect|be \w+)|could not|couldn't|"
    r"failed to|"
    r"already (?:exists|in use|bound|running)|does not exist|doesn't exist|no space left|no route to|no module named|"
    r"(?:connection|stream|socket|session) (?:reset|refused|closed|aborted|lost|timed|slots)|reset by peer|broken pipe|"
    r"(?:deadline|limit|quota|memory|heap|size|depth) exceeded|handshake|snapshot too old|duplicate (?:key|entry|"
    r"symbol)|"
    r"unique (?:constraint|violation)|(?:foreign key|constraint|access|segment) violation|deadlock|resource (?:busy|"
    r"temporarily)|bad (?:gateway|request|substitution|interpreter)|service unavailable|gateway time|"
    r"exit(?:ed)?(?: with)?(?: status| code)? \d+|"
    r"non-zero exit|gone away|(?:loop|spikes?|drift|lag|delays?|regression|blank|garbled|wrong) (?:after|since|when|"
    r"during)|signal (?:\d+|sig\w+)|sqlstate|0x[0-9a-f]{6,}|unsupported (?:operand|type|version|format|method|"
    r"media))\b|\b(?-i:ORA|TS|CS|LNK|MSB|NU|KB|PGRST|"
    r"ERR|SQLSTATE|ER|DB2|MY)[-\[]\d{3,}|\b(?-i:[A-Z]{1,4}\d{4,5})\b:?|(?-i:\b\w{1,40}::\w{0,40}(?:Violation|"
    r"NotFound|Invalid|Timeout)\b)|"
    r"(?-i:\b[45]\d\d [A-Z][a-z]+)|(?-i:\bNot[A-Z][a-z]+\b)|(?-i:\b[A-Z0-9]{2,20}_(?:ERROR|ERR|FAILED|FAILURE|"
    r"DENIED|REFUSED|INVALID|EXCEEDED)(?:_[A-Z]{2,20})?\b)",
    r"(?:报|抛|弹出?|提示|显示)了?(?:个|出)?\s?(?:错|[a-z0-9])|一直(?:转圈|转|涨|重启|失败|掉|卡|报|循环|等|弹|断|"
    r"加载)|着就|不动了?$|"
    r"没了$|对不上|丢了|重复(?:执行|扣|发|弹)|刷屏|错乱|乱了|少了|没反应|没响应|打满|跑满|爆了|满了|撑爆|掉线|断连|"
    r"断开|闪断|自己重启|被杀|被占|刷不出|加载不出|进不去|收不到|发不出|推不上|"
    r"拉不下|编不过|装不上|跑不起|跑不动|抖动|飙升|暴涨|雪崩|穿透|不响应|(?:接口|页面|服务|请求|网关)\s?[45]\d\d",
)
_BARE = regex(r"\b(?:unauthorized|forbidden|aborted|killed|unsupported|incompatible)\s*(?:$|[:(!,])", re.IGNORECASE)
_ASKING = regex(
    r"[?？]\s*$|^(?:how|what|why|which|who|whose|when|where|is|are|was|were|do|does|did|can we|can i|could we|"
    r"should|must|may)\b|什么|怎么|怎样|如何|哪|谁|是否|要不要|该不该|吗$|规范|策略|约定|流程|标准",
    re.IGNORECASE,
)
_STATUS = regex(
    r"(?:接口|页面|服务|请求|网关|返回|报|状态码|\bhttp|\bstatus|\bgot|\breturns?|\berror) ?(?:code )?[45]\d\d(?!\d)|"
    r"\b[45]\d\d (?:bad|internal|service|gateway|not|forbidden|unauthorized|too|conflict|error|request|payload|method)",
    re.IGNORECASE,
)
_PITFALL = _pair(
    r"\b(?:pit ?falls?|gotchas?|caveats?|known (?:problem|issue|bug)s?|work-?arounds?|troubleshoot\w*|debug\w*)\b",
    r"坑|已知(?:问题|缺陷)",
)
# The rule about it is asked for: “what is our policy on failed payments”, 重试超时的规范
_RULE = _pair(
    r"\bwhy (?:did|do|does|are|is|was|were|have) (?:we|our|the team)\b|"
    r"\bwhy (?:are|is|were|was)\b[^?]{0,60}\b(?:frozen|(?:on|over|during|at|for|in|until|before) (?:mon|tues|wednes|"
    r"thurs|fri|satur|sun|the week|week|holi|night|christmas)\w*)$|"
    r"\b(?:polic(?:y|ies)|conventions?|strateg(?:y|ies)|standards?|guidelines?|rules?|approach|format|codes|handling|"
    r"budgets?)\b|\b(?:decide|decided|decision|agreed?|allow|allowed|choose|chose|chosen)\b|"
    r"\b(?:how|what|where|when) (?:do|should|must|are|is) (?:we|our|errors|exceptions|failures)\b|"
    r"\b(?:should|must) (?:we|i|the)\b|\bwho (?:owns|is)\b|\b(?:hierarchy|wording|lockout|severity|levels?|thresholds?|"
    r"defaults?|list|design|licen[cs]es)$|"
    r"^(?:are|is|do|does|will|may|can|how long|how often) [\w ]{0,20}\b(?:failed|expired|stale|missing|lost|"
    r"rejected|slow|broken|corrupt) \w+ (?:\w+ed|kept|sent|shown|again|be)\b",
    r"(?:默认值?|阈值|上限|下限|级别|等级|文案|流程|清单)\s*$|怎么(?:续|配|定|设|选|写|管|发|申请|轮换|保证|命名|走|"
    r"分|算|存|留)|策略|规范|规定|约定|标准|原则|机制|格式|"
    r"为什么(?:要|选|用|不用|采用|拆|放弃)|怎么定|如何定|要不要|该不该|能不能|应该|是否|谁负责|决定|选型",
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
_CODE = _pair(
    r"\b(?:function|method|class|variable|parameter|argument|import|imports|enum|struct|constructor|decorator|"
    r"syntax|compile[rds]?|source code|signature of|implements?|dockerfile|"
    r"(?:which|what) (?:file|folder|module|script|package|source)|makefile|jenkinsfile|gemfile|procfile|justfile|"
    r"vagrantfile|folders?|directory|directories)\b|\b(?:defined|declared|called from|implemented)\b",
    r"哪个(?:文件|类|模块|目录|函数|包|脚本)|函数|方法名|类名|目录(?:下|里|中|的)|文件夹|变量|参数|源码|源代码|编译|"
    r"语法|代码里|代码中|定义在|在哪里?定义|定义了|调用|的实现|这个类",
)
# A file by itself, or a name with what it is: errors.py and InvalidTokenError class are no failures
_NAMED_CODE = regex(
    r"\A\S+\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|cpp|vue|sql|ya?ml|toml)\Z|"
    r"\A[A-Za-z_]\w+ (?:class|function|method|struct|enum|interface|函数|方法|类)\Z"
)
_PATH = regex(
    # a path: two slashes, one after a usual folder, an absolute one, or a file's ending; CI/CD and and/or are none
    r"(?<![\w.@-])(?:[\w.@-]++/){2,}[\w.@-]+|(?<![\w.@/-])(?:~|\.{1,2})?/[a-z][\w./@-]*|"
    r"(?<![\w.@-])(?:src|libs?|apps?|pkg|packages?|tests?|cmd|internal|configs?|docs?|scripts?|utils?|api|core|web|"
    r"bin|tools|"
    r"components|services|server|client|modules|\.github)/[\w.@-]+|\A[\w.@-]++/(?=[\w.@-]*?[a-z])[\w.@-]++\Z|"
    r"(?<!\S)\.(?!net\b)[a-z][\w-]*(?:ignore|rc|config|env|attributes)\b|"
    r"(?<![\w.-])\.?[\w-]+(?:\.[\w-]+)*\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|cc?|h|hpp|cpp|cs|rb|php|swift|scala|vue|"
    r"svelte|html|s?css|proto|tf|sh|sql|ya?ml|toml|json|md|xml|ini|conf|cfg|env|lock|gradle)\b"
)
_MARKS = "`()_.:#>@-"  # One of them is in all that `_NAME` finds
_NAME = regex(
    r"`[^`]+`|\b\w+\(\)|\b[A-Z][A-Z0-9]{2,}_[A-Z0-9_]+\b|\b[a-z_]\w*\.\w+\.\w+|\w(?:::|#|->)[a-z_]\w+|"
    r"(?<!\S)@[A-Za-z]\w+|\b[A-Z]\w+\.[a-z]\w+(?![\w.])|(?<!\S)--[a-z][\w-]+"
)
_KNOWLEDGE = regex(
    r"^(?:what|why|who|which|when|where|how|explain|define|describe|difference|compare|is|are|does|do|can|should|"
    r"must)\b|\b(?:reason|rationale|meaning|definition|difference|explain)\b|\?\s*$|"
    r"什么|为什么|为何|为啥|怎么|怎样|如何|哪个|哪些|哪里|哪种|谁|多少|几|是否|是不是|能不能|区别|原理|原因|理由|"
    r"定义|解释|含义|关系|介绍|吗\W*$",
    re.IGNORECASE,
)


_HUMPED = regex(r"[a-z0-9][A-Z][a-z]|^[A-Z][a-z]+[A-Z]")
_HUMP_IN_NAME = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_CODE_ENDING = regex(
    r"(?:Controller|Service|Manager|Handler|Factory|Repository|Mapper|Client|Provider|Builder|Helper|Utils?|Adapter|"
    r"Dto|DTO|"
    r"Impl|Config|Middleware|Listener|Validator|Parser|Serializer|Store|Reducer|Component|View|Model|Context|Hook|"
    r"Test|Spec|"
    r"Job|Worker|Task|Event|Request|Response|Type|Props|State|Bucket|Queue|Pool|Cache|Filter|Interceptor|Error|"
    r"Exception)s?$"
)
_WHERE = regex(r"\bwhere\b|\bfind\b|\bdefin|\bcall|在哪|哪里|找|查看|定义|调用|实现", re.IGNORECASE)
_SUBJECT = regex(
    r"\b(?:why|should|decid\w*|choose|chose|use|using|vs|versus|policy|stance|allow\w*|instead)\b|"
    r"为什么|选择|选型|要不要|用|决定|还是|规范",
    re.IGNORECASE,
)


def _is_code_question(line: str, query: Query) -> bool:
    """Return whether *line*, the text of *query*, names something in code, or speaks of code as such."""
    names = [run.text for run in query.runs if not run.is_unspaced and not run.text[0].isdigit()]
    if any(_is_code_name(name, line) for name in names if is_identifier(name)):
        return True
    # Most questions have no such sign, and then no pattern is compiled for them
    if ("/" in line or "." in line) and _PATH.search(line):
        return True
    return (any(map(line.__contains__, _MARKS)) and _NAME.search(line) is not None) or _has(_CODE, line)


def _is_code_name(name: str, line: str) -> bool:
    """Return whether the identifier *name* in *line* is one of code, and not a product: getUser, and not PostgreSQL.

    A name with a capital and one hump may be either: in “why did we choose RabbitMQ” and 为什么选择 RabbitMQ it is
    the subject, in “where is OrderService defined” it is looked for.
    """
    if "_" in name.strip("_"):
        return True
    if not _HUMPED.search(name):
        return False
    if name[0].islower():
        return True
    if _SUBJECT.search(line) and not _WHERE.search(line):
        return False
    return len(_HUMP_IN_NAME.findall(name)) > 1 or _CODE_ENDING.search(name) is not None


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
