"""Decide whether a candidate matters enough to become a record.

One ground is enough (SHI-19, RUYI "写入门槛"): it comes up in several sessions, its impact is large, it is reusable
elsewhere, a question of the self-check is answered with yes, or a person wrote it (the gate is meant for the findings
of programs). If all three self-check answers are no, it stays in the session regardless of other grounds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from kb.config import Config
from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, area_name, kind_label
from kb.records.model import PROVEN, SAID, TYPED, WEIGHED, Candidate, Record
from kb.startup.lazy_regex import regex, regex_rows
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import clip, count_words
from kb.writing.quality import Objection

SURE = 0.5
"""Confidence (0.0–1.0) below which words alone prove nothing; a candidate without a confidence counts as sure."""
MIN_QUOTE_WORDS = 4
"""A quote of this many words identifies itself; “Seven.” occurs in many sessions."""
COSTLY = 10
"""Number of tool calls that makes a finding worth keeping for its cost alone."""

TITLE_SHOWN = 80
"""Characters of a record's title that a question to the writer quotes."""

_STANDING = regex_rows(
    (
        ("from now on", "going forward", "from here on", "next time "),
        r"\bfrom now on\b|\bgoing forward\b|\bfrom here on\b|\bnext time (?:we|you|i)\b",
    ),
    (
        ("以后", "今后", "从现在", "从今", "下次"),
        r"以后(?:都|一律|统一|不再|要|就|请|只|不|每)|^\s*以后|[，,。]以后|今后|从现在起|从今以?往?后|下次(?:再|遇|要|请|先|不)",
    ),
    flags=re.IGNORECASE,
)
_LESSON = regex_rows(
    (
        ("lesson", " us ", "mistake "),
        r"\blessons? learn|\blesson\s*:|\bbit(?:ten)? us (?:again|before|twice)\b|\bmade this mistake (?:again|before"
        r"|twice)",
    ),
    (
        ("教训", "又", "踩", "再次", "第", "反复", "重蹈"),
        r"教训|又一次|又踩|踩过|踩坑|(?:再次|第[二三四五]次|反复)(?:遇到|出现|发生|踩|讨论)|重蹈覆辙",
    ),
    flags=re.IGNORECASE,
)


_SIGNATURE = regex(
    r"(?<![\w.:])[A-Za-z_][\w.:]*+\([^()\n]{0,200}\)\s{0,9}(?:->|=>|→|:|返回|returns?\b)"
    r"|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+/[\w/{}:.-]*"
)
"""A call with its return type, or an HTTP request: `Agent.review() -> ReviewResult`, `GET /health`."""


_YES_GROUNDS = (
    msg("self-check: it affects later decisions"),
    msg("self-check: it will be worth looking up"),
    msg("self-check: it prevents a repeated discussion or mistake"),
)


class SelfCheck(NamedTuple):
    """The three questions before writing (RUYI "写入前自检"): yes, no, or None for no answer."""

    affects_future: bool | None
    reference_value: bool | None
    prevents_repeat: bool | None


class Admission(NamedTuple):
    """Whether a candidate may be written, on which grounds, and the objections with their remedies."""

    admitted: bool
    grounds: tuple[Message, ...] = ()
    objections: tuple[Objection, ...] = ()


OVERTURNS = msg("contradicts [{id}], which is accepted")
"""The ground of a candidate that contradicts a record; its review quotes both."""


BELOW_GATE = msg("below the gate: neither repeated, nor of large impact, nor reusable")


def assess_admission(
    candidate: Candidate,
    sightings: int,
    config: Config,
    *,
    in_sessions: bool = True,
    overturns: str = "",
    proof: str = "",
) -> Admission:
    """Return whether *candidate*, seen in *sightings* different sessions including this one, may be written, and why.

    *in_sessions* False: *sightings* counts times, not all of which named a session. *overturns*: the id of an
    accepted record that the candidate contradicts; a change to an accepted decision is never a small matter. *proof*:
    the result of checking its quotes, see `WriteRequest.proofs`.
    """
    if proof == WEIGHED:
        return Admission(False, (), (UNSETTLED,))
    if proof not in ("", PROVEN, SAID, TYPED):
        return Admission(False, (), (_build_quote_objection(candidate, proof),))
    answers = answer_self_check(candidate)
    if set(answers) == {False}:
        return Admission(False, (), (DECLINED,))
    grounds: list[Message] = []
    if sightings >= config.repeat:
        sessions = msg("repeated: seen in {count} sessions", count=sightings)
        grounds.append(sessions if in_sessions else msg("repeated: seen at least {count} times", count=sightings))
    if candidate.cost and candidate.cost >= COSTLY:
        grounds.append(msg("costly: it took {count} calls to find out", count=candidate.cost))
    if proof == TYPED:
        grounds.append(msg("a person wrote it"))
    elif proof:
        grounds.append(msg("handed over: the session contains its quotes"))
    if candidate.updates:
        grounds.append(msg("updates [{id}], which has passed the gate", id=candidate.updates))
    # who wrote it in person needs no other ground, and would take "large impact" for a warning
    grounds += [] if proof == TYPED else _find_large_impact(candidate)
    if candidate.reusable:
        grounds.append(msg("reusable: useful in other projects"))
    elif candidate.reusable is None and BY_NAME[candidate.kind].reusable:
        kind = kind_label(candidate.kind, config.language).lower()
        grounds.append(msg("reusable: a {kind} is meant to be reused", kind=kind))
    grounds += [ground for ground, answer in zip(_YES_GROUNDS, answers, strict=True) if answer]
    # A contradiction to an accepted record passes, however small it looks: a person has to see the conflict.
    if overturns:
        grounds.append(OVERTURNS._replace(values={"id": overturns}))
    if grounds:
        return Admission(True, tuple(grounds))
    reason = BELOW_GATE
    if not _is_confident(candidate):
        sure = candidate.confidence
        reason = msg("below the gate: with a confidence of {confidence}, wording alone proves nothing", confidence=sure)
    remedy = msg(
        "say why it matters: --area architecture|security|performance|compliance|modules, --reusable or "
        "--affects-future yes; or wait until {count} more session(s) report it",
        count=config.repeat - sightings,
    )
    return Admission(False, (), (Objection("gate", reason, remedy, refuses=False),))


def require_approval(config: Config, *, given: bool) -> tuple[Objection, ...]:
    """Return the objection to a candidate without a person's approval, if the settings require it (MBANK-25)."""
    if given or config.approval != "person":
        return ()
    remedy = msg("answer mb:write in the session, or: kb inbox promote {held}", held="NAME")
    return (Objection("approval", msg("it waits for a person"), remedy, refuses=False),)


def _build_quote_objection(candidate: Candidate, quote: str) -> Objection:
    """Return the objection to a candidate with a *quote* that its session does not have."""
    if count_words(quote) < MIN_QUOTE_WORDS:
        # “Semicolons.”, “分号。” proves something only together with the question it answers
        reason = msg("the quote is too short to prove something alone: “{quote}”", quote=quote)
        remedy = msg("quote what it answers as well: kb learn next --session {session}", session=candidate.session)
        return Objection("quote", reason, remedy, refuses=False)
    reason = msg("the session has no such words: “{quote}”", quote=clip(quote, 120))
    remedy = msg(
        "copy the quote word for word, four words at least: kb learn next --session {session}",
        session=candidate.session,
    )
    return Objection("quote", reason, remedy, refuses=False)


UNSETTLED = Objection(
    "unsettled",
    msg("its quotes only consider, suggest or plan it; nobody decides it there"),
    msg(
        "quote where it was settled, with the reason in --why; a person can also: kb inbox promote {held}", held="NAME"
    ),
    refuses=False,
)
"""Holds a rule that the session only considers (“I'd lean towards …”, “可能可以用 …”)."""


def ask_relation(record: Record) -> Objection:
    """Ask the writer how the candidate relates to *record*, where the wording does not show it."""
    id, title = record.scoped_id, clip(record.title, TITLE_SHOWN)
    reason = msg(
        "it is about the same subject as [{id}] “{title}”; how the two relate cannot be told from the wording",
        id=id,
        title=title,
    )
    remedy = msg(
        "read {id} and submit it again with one of: updates {id} (it says the same), supersedes {id} (it replaces it), "
        "coexists_with {id}=WHY (both hold); a person can also: kb inbox promote {held}",
        id=id,
        held="NAME",
    )
    return Objection("relation", reason, remedy, refuses=False)


def answer_self_check(candidate: Candidate) -> SelfCheck:
    """Return the answers to the three questions; take those the caller left open from the text if it answers them.

    "From now on" and "以后都" say that it affects the future, "lesson learned" and "教训" that it prevents a repeated
    mistake. A text never proves reference value, and never answers no. Below a confidence of SURE the text is
    not read.
    """
    text = unicodedata.normalize("NFKC", f"{candidate.title}\n{candidate.decision}")
    sure = _is_confident(candidate)
    future, repeat = candidate.affects_future, candidate.prevents_repeat
    return SelfCheck(
        True if future is None and sure and _STANDING.search(text) else future,
        candidate.reference_value,
        True if repeat is None and sure and _LESSON.search(text) else repeat,
    )


def _find_large_impact(candidate: Candidate) -> list[Message]:
    """Return why the impact is large: areas the caller named, then areas the words name, then the touched modules."""
    named = [msg("large impact: {area}", area=area_name(area)) for area in candidate.impact_areas]
    for area, word in find_impact_areas(candidate).items() if _is_confident(candidate) else ():
        named.append(msg("large impact: {area} (“{word}”)", area=area_name(area), word=word))
    signature = _SIGNATURE.search(f"{candidate.title}\n{candidate.decision}")
    if candidate.kind == "interface" and signature and not named:
        named.append(msg("large impact: callers depend on “{signature}”", signature=clip(signature.group(), 40)))
    touched = find_touched_modules(candidate) if _is_confident(candidate) or not candidate.fields else ()
    if len(touched) > 1:
        named.append(msg("large impact: touches {count} modules ({names})", count=len(touched), names=touched))
    return named


def _is_confident(candidate: Candidate) -> bool:
    return candidate.confidence is None or candidate.confidence >= SURE


DECLINED = Objection(
    "self-check",
    msg("the self-check answers all three questions with no: it does not become a record"),
    msg("if one of them is a yes, say which: --affects-future yes, --reference yes or --prevents-repeat yes"),
)
"""Refuses a candidate with three answers of "no"; it stays with its session (RUYI-06)."""


# -- how large is its impact? ---------------------------------------------------------------------


WORDS: Mapping[str, re.Pattern[str]] = {
    "architecture": regex(
        r"\b(?:architectur|micro-?services?\b|monolith|event[- ](?:driven|sourcing)|message (?:queue|bus|broker)"
        r"|database|postgres|mysql\b|mariadb\b|sqlite\b|mongo(?:db)?\b|redis\b|kafka\b|rabbitmq\b|framework\b|orm\b"
        r"|tech(?:nology)? stack\b|programming language\b|data model\b|schema migration|storage (?:engine|layer"
        r"|backend)|message format|wire format|protocol\b|grpc\b|graphql\b|rest api\b|(?:api|service) (?:gateway|mesh)"
        r"|deployment (?:model|target|topolog|platform)|kubernetes\b|monorepo\b|dependency injection|plug-?in (?:system"
        r"|interface)|module bound|public (?:api|interface)|back(?:wards?)?[- ]compatib|breaking change|sharding\b"
        r"|replication\b|multi-?tenan|llm\b|vector store|migrat\w* .{0,40}\b(?:from|to|off|away)\b)|迁移?(?:到|至)"
        r"|架构|微服务|单体|事件驱动|消息(?:队列|总线|中间件)|中间件"
        r"|数据库|存储(?:引擎|方案|层)|数据模型|表结构|框架|技术(?:栈|选型)|编程语言|通信协议|传输协议|网关|部署(?:方案"
        r"|架构|平台|拓扑)|容器化|分库分表|读写分离|服务(?:拆分|网格|发现)|模块(?:边界|划分)|依赖注入|插件(?:机制|体系)"
        r"|分层|公共接口|对外接口|向后兼容|不兼容变更|多租户|大模型|向量库"
    ),
    "security": regex(
        r"\b(?:security\b|securely?\b|vulnerab|auth\b|authenticat|authori[sz]|oauth|jwt\b|encrypt|decrypt|tls\b|ssl\b"
        r"|csrf\b|xss\b|ssrf\b|sql injection|command injection|credential|secrets?\b|passwords?\b|access (?:control"
        r"|token)|rbac\b|sandbox|saniti[sz]|privilege|cve-\d|firewall|malware|redact|(?:git|github|gitlab|npm|api"
        r"|bearer|session|refresh|csrf|signing|personal access)[- _]tokens?\b|signing keys?\b|virus|brute[- ]force"
        r"|escap(?:e|es|ed|ing) (?:\w+ ){0,2}(?:input|output|html|markup)|(?:input|output|html) (?:is|are) escaped"
        r"|parameteri[sz]ed|prepared statements?\b|(?:two|multi)-factor|[2m]fa\b|single sign-on|cors\b)"
        r"|(?<!线程)(?<!类型)(?<!内存)安全(?!区域|边距)|漏洞|认证|鉴权|授权|加密|解密|脱敏|密码|密钥|凭证|凭据|越权"
        r"|(?:访问|操作)?权限|注入攻击|注入漏洞|防火墙|沙箱|证书|验签|数字签名|跨站|防攻击|零信任|转义|参数化|病毒|木马|防刷|跨域|(?:双因素|多因素|两步)验证|单点登录|校验签名"
    ),
    "performance": regex(
        r"\b(?:performance\b|latenc|throughput|memory leak|leak(?:s|ing)? memory|out of memory|oom\b|bottleneck|n\+1\b"
        r"|cach(?:e|es|ing)\b|qps\b|scalab|concurren|deadlock|race condition|slow (?:quer|path|start)|response time"
        r"|connection pool|(?:add|creat|us|need|drop)\w* (?:an? |the )?(?:\w+ )?index(?:es)?\b|index(?:es)? on\b"
        r"|lazy[- ]?load|pre-?load|prefetch|gzip\b|brotli\b|zstd\b|compress|code splitting|bundle size|cdn\b"
        r"|debounc|throttl|rate[- ]limit)"
        r"|性能|延迟|吞吐|内存(?:泄漏|泄露|溢出)|泄[漏露]内存|瓶颈|缓存|高?并发|慢查询|死锁|竞态|压测"
        r"|响应时间|连接池|扩容|可扩展性|(?:建|加|联合|唯一|复合|覆盖|全文|二级)索引|索引(?:失效|优化)|懒加载|预加载|压缩"
        r"|gzip|brotli|首屏|防抖|节流|限流|降级|熔断"
    ),
    "compliance": regex(
        r"\b(?:complian|gdpr\b|ccpa\b|hipaa\b|pci[- ]?dss\b|sox\b|soc ?2\b|iso ?27001\b|licen[cs](?:e|ing|es)\b"
        r"|audit(?:s|ed|ing|able| log| trail)?\b|data (?:retention|residency|protection)|personal data\b|pii\b"
        r"|privacy\b|regulat(?:ory|ion|or)|legal(?:ly)? (?:requir|obligation|hold))|合规|隐私|个人(?:信息|数据)|个保法"
        r"|网络安全法|数据安全法|等级保护|等保|审计|许可证|开源协议|法律|法规|监管|数据出境|(?:留存|保留|保存)期限"
        r"|数据(?:留存|保留)"
    ),
}
"""Areas of large impact → the words that name them, lower-case, without words that are common in small talk."""

_DENIED_BEFORE = regex(
    r"\b(?:no|not|never|without|\w+n't)\s(?:\w+\s){0,2}(?:affect|impact|chang|touch|relat|relevan)\w*\s(?:\w+\s){0,2}$"
    r"|\b(?:irrelevant|unrelated) to\s(?:\w+\s)?$|\bnothing to do with\s(?:\w+\s)?$"
    r"|(?:不影响|不涉及|不改变|不触及)(?:任何|到|对|其[他它])?$",
    re.IGNORECASE,
)
_NO = regex(r"\b(?:no|any|without)\s(?:\w+\s)?$|(?:没有|无)(?:任何)?$", re.IGNORECASE)
_DENIED_AFTER = regex(
    r"\w{0,40}\s(?:impact|implication|effect|relevance|change|concern)s?\b|(?:上|方面)?的?(?:影响|变化|问题|风险)",
    re.IGNORECASE,
)
_UNRELATED_AFTER = regex(r"\S{0,4}(?:无关|不受影响|没有影响)")

_TRIVIAL = regex_rows(
    (
        ("renam",),
        r"\brenam(?:e|es|ed|ing)\b.{0,40}\b(?:variable|parameter|field|function|method|constant|file|class|local)",
    ),
    (
        (
            "typo",
            "whitespace",
            "indentation",
            "wording",
            "spelling",
            "comment style",
            "line length",
            "blank line",
            "import order",
            "colo",
            "font",
            "icon",
            "padding",
            "margin",
            "tooltip",
            "placeholder text",
        ),
        r"\b(?:typo|whitespace|indentation|wording|spelling|comment style|line length|blank line|import order)s?\b"
        r"|\b(?:colou?r|font|icon|padding|margin|tooltip|placeholder text)s?\b",
    ),
    (
        (
            "命名",
            "改名",
            "变量名",
            "参数名",
            "函数名",
            "方法名",
            "常量名",
            "错别字",
            "拼写",
            "缩进",
            "空格",
            "空行",
            "格式化",
            "注释",
            "文案",
            "提示语",
            "标签",
            "颜色",
            "配色",
            "字体",
            "图标",
            "边距",
            "圆角",
        ),
        r"(?:重命名|改名).{0,20}(?:变量|参数|字段|函数|方法|常量|文件|类)|(?:变量|参数|函数|方法|常量)(?:名|重命名|改名)"
        r"|错别字|拼写|缩进|空格|空行|格式化代码|(?:注释|文案|提示语|标签)(?:措辞|文字|写法|修改|改)|颜色|配色|字体|图标|边距|圆角",
    ),
    flags=re.IGNORECASE,
)
"""Titles of small matters; a word of a large area in them is only a name ("rename the variable auth_token")."""

_HOLDING_FOLDERS = (
    "src lib libs pkg packages apps app services modules crates cmd internal source main java kotlin scala python go "
    "com org net cn io components projects"
)
"""Folders that contain modules and are not modules themselves."""
_FOLDERS_BESIDE = "test tests doc docs spec specs __tests__ examples scripts bench e2e"
"""Folders that belong to every module."""
_HOLDERS, _BESIDE = frozenset(_HOLDING_FOLDERS.split()), frozenset(_FOLDERS_BESIDE.split())

_REST_OF_WORD = regex(r"[A-Za-z-]*")
"""The rest of a word: WORDS has only the beginnings of most words."""
_MASK = regex(r"\[redacted:[^\[\]\n]*+\]")
"""A masked secret, whose label must not count as a word."""


def find_impact_areas(candidate: Candidate) -> dict[str, str]:
    """Return the areas of large impact in title, decision, reasons or tags that the writer did not name: area → word.

    A title of a small matter has none, and a negated word ("no security impact") does not count.
    """
    # "Rename the variable auth_token" is no matter of security, and "重命名数据库字段" none of architecture.
    if _TRIVIAL.search(unicodedata.normalize("NFKC", candidate.title)):
        return {}
    said = "\n".join((candidate.title, candidate.decision, candidate.why, *candidate.tags))
    text = unicodedata.normalize("NFKC", _MASK.sub(" ", said))
    plain = text.lower()
    if len(plain) != len(text):  # lower() makes two characters of one such as "İ", but offsets must stay the same
        plain = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    found: dict[str, str] = {}
    for matter, words in WORDS.items():
        for match in words.finditer(plain) if matter not in candidate.impact_areas else ():
            if not _is_negated(text, match):
                rest = _REST_OF_WORD.match(text, match.end()) if match[0][-1].isascii() else None
                found[matter] = text[match.start() : match.end()] + (rest[0] if rest else "")
                break
    return found


def _is_negated(text: str, match: re.Match[str]) -> bool:
    """Return whether the words around a match negate it: "no security impact", "不影响性能", "与安全无关"."""
    before, after = max(0, match.start() - 60), match.end()
    if _DENIED_BEFORE.search(text, before, match.start()) or _UNRELATED_AFTER.match(text, after):
        return True
    return bool(_NO.search(text, before, match.start()) and _DENIED_AFTER.match(text, after))


def find_touched_modules(candidate: Candidate) -> tuple[str, ...]:
    """Return the modules that the candidate's impact paths touch, sorted.

    A module is the first folder of a path that is neither a container ("src", "packages", the project's own name) nor
    tests or docs; a file outside such folders touches no module.
    """
    project = candidate.scope.rpartition("/")[2].lower().replace("-", "_")
    modules = set()
    for path in candidate.impact:
        parts = [part for part in path.replace("\\", "/").split("/") if part and part != "."]
        folders = parts if path.endswith("/") else parts[:-1]
        # src/orders/api.py → orders; tests/billing/test_api.py → none, because tests belong to every module
        own = [f for f in folders if f.lower() not in _HOLDERS and f.lower().replace("-", "_") != project]
        if own and not any(folder.lower() in _BESIDE for folder in folders):
            modules.add(own[0])
    return tuple(sorted(modules))
