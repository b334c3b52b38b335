"""Choose what to read before a piece of work, and how to search for an answer, by the intent of the task.

The rules are words, the operation they name and how many files it touches; the same text always gets the same route.
Five situations lead to the conventions (`patterns.md`), and so does whatever is about the project and fits no rule:
reading one file too many costs less than one too few. Small talk, and what nothing recorded is about, are not routed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.context.build_context import find_nearest_records, find_relevant_hits
from kb.files import read_if_exists, resolve_within
from kb.index.schema import Filter
from kb.records.kinds import BY_NAME, CONTENT, KINDS
from kb.records.model import GLOBAL, LIVE
from kb.search.query import Query, parse_query
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

MAX_FILES, MAX_LINES = 3, 300  # of what somebody reads directly; of more the reader makes a pack (upstream thresholds)
BANK = "memory-bank"  # the folder of what is written for agents that read files and call nothing
_NEAREST = 2  # records that are read where none is surely about the work: of 100 questions 90 have theirs among them
NONE = "none"  # printed where nothing has to be read; programs look for it, so it is not translated
CONVENTIONS = f"{BANK}/details/patterns.md"
_CONVENTIONAL = (
    "pattern",
    "constraint",
    "preference",
)  # where the conventions stand while nobody has written that file


class TaskIntent(NamedTuple):
    """Something one wants to do, and what to read before."""

    name: str
    en: str
    zh: str
    pattern: re.Pattern[str]
    kinds: tuple[str, ...] = ()  # of the records to read
    conventions: bool = False  # the conventions are to be read: one of the five situations


def _compile_pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


_THING = (
    r"(?:module|component|service|package|class|endpoint|page|table|plugin|library|command|job|worker|queue|api|handler|"
    r"middleware|feature|model|screen|route|script|crate)s?"
)
_THING_ZH = "(?:模块|组件|服务|接口|页面|类|包|插件|表|端点|功能|命令|任务|队列|中间件|模型|脚本|库)"
_SHARED = r"(?:shared|common|core|base|public|global|util\w*)"
_OPERATION = _compile_pattern(
    r"\b(?:change|edit|modify|update|move|rename|delete|remove|touch|rework|fix)\w*\b|修改|改动|更新|调整|移动|删除|改"
)
_FILES = _compile_pattern(
    r"\b(?:([2-9]|\d{2,9})|several|many|all|multiple|two|three|four|five)\s+(?:\w+\s+)?files\b|"
    r"(?:[2-9两二三四五六七八九十]|\d{2,9}|多|几|所有|全部)\s{0,9}个?文件|批量"
)
_PATH = _compile_pattern(
    r"(?<![\w.@-])(?:[\w.@-]++/)+[\w.@-]+|(?<![\w-])[\w-]++\.(?:py|js|tsx?|go|rs|java|c|h|cpp|rb|sh|sql|toml|ya?ml|json)\b"
)
_TALK = _compile_pattern(
    r"[\W_]*(?:thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|ok(?:ay)?|hi|hello|hey|good (?:morning|evening|night)|"
    r"bye|yes|no|sure|great|nice|cool|well done|how are you|go on|continue|谢谢(?:你|您|啦)?|多谢|感谢|好的?|嗯+|行|"
    r"可以|你好|您好|早上?好|晚上?好|晚安|再见|辛苦了|不客气|没事|哈+|棒|是的?|不是|对|继续|收到|明白了?)(?:[\s,，]*(?:kb|all|了|啊|呀|哦))?[\W_]*"
)

_CHOOSE = _compile_pattern(
    r"选型|技术栈|[用选].{1,24}还是|\b(?:should|shall|do|could) (?:we|i) (?:use|pick|adopt|go with)\b|"
    r"(?:选用|选择|挑选?|对比|比较|评估).{0,16}(?:框架|库|数据库|方案|语言|工具|引擎|协议|中间件)|用(?:什么|哪个|哪种)|"
    r"\b(?:choose|pick|select|evaluate|compare|decide between)\b|\bwhich (?:\w+ )?(?:library|framework|database|"
    r"language|tool|engine|protocol|queue|stack|format)\b|\bversus\b|\bvs\b"
)
_CREATE = _compile_pattern(
    rf"(?:新建|新增|创建|添加|增加|加一?个|写一?个|实现|开发|搭建).{{0,16}}{_THING_ZH}|新(?:的)?{_THING_ZH}|"
    rf"\b(?:create|add|build|implement|scaffold|introduce|write|start)\b.{{0,40}}\b{_THING}\b|\bnew {_THING}\b"
)
_ARCHITECTURE = _compile_pattern(
    r"架构|系统设计|设计方案|技术方案|拆分|分层|解耦|单体|微服务|\barchitect\w*|\bdesign (?:the|a|an|of|for)\b|"
    r"\bdecoupl\w*|\bmonolith\w*|\bmicro-?services?\b|\bsplit\b.{0,40}\b(?:into|out|up)\b|\blayer(?:s|ing)?\b"
)
_CHANGE_SHARED = _compile_pattern(
    rf"(?:公共|共享|通用|基础|核心|底层)(?:的)?(?:{_THING_ZH}|代码|工具|层|逻辑|配置|函数)|工具(?:类|函数)|"
    rf"\b{_SHARED}\b.{{0,20}}\b(?:{_THING}|code|layer|logic|config\w*|helpers?|functions?|structs?|types?|entit(?:y|ies)|schemas?|interfaces?|objects?)\b|\butil(?:s|ities)\b|"
    r"(?-i:\bBase[A-Z]\w*)"
)
_MIGRATE = _compile_pattern(
    r"重构|迁移|改造|重写|替换|升级|换成|改用|\brefactor\w*|\bmigrat\w*|\brewrit\w*|\brewrote\b|\bupgrad\w*|"
    r"\breplac\w*\b.{0,40}\b(?:with|by)\b|\bswitch\w*\b.{0,40}\b(?:to|from)\b|\bport\b.{0,40}\bto\b|\brestructur\w*"
)
_REPAIR = _compile_pattern(
    r"报错|错误|异常|崩溃|失败|修复|修一下|超时|泄漏|卡住|变慢|\bbugs?\b|\berrors?\b|\bcrash\w*|\bfail\w*|\bexceptions?\b|"
    r"\bfix\w*\b|\bdebug\w*|\btime(?:s|d)? ?out\b|\btimeouts?\b|\bleak\w*|\bflaky\b|\bbroken\b|\bslow\w*\b"
)
_CALL = _compile_pattern(
    r"接口|协议|契约|入参|出参|参数|字段|调用|\bAPIs?\b|\bendpoints?\b|\bcontracts?\b|\bpayloads?\b|\bschemas?\b|"
    r"\bsignatures?\b|\bcall(?:s|ing)?\b"
)
_WHY = _compile_pattern(
    r"为什么|为何|原因|理由|当初|依据|\bwhy\b|\breasons?\b|\brationale\b|\bhow come\b|\bdecided?\b|决定|决策"
)
_RULE = _compile_pattern(
    r"规范|约束|规则|必须|允许|能不能|可不可以|合规|约定|风格|偏好|习惯|\bpolic(?:y|ies)\b|\brules?\b|\bconstraints?\b|\ballowed\b|"
    r"\bcomplian\w*|\bconventions?\b|\bstyle\b|\bmay (?:i|we)\b|\bprefer\w*"
)
_SHIP = _compile_pattern(
    r"发布|上线|部署|检查清单|验收|发版|\breleas\w*|\bdeploy\w*|\bchecklists?\b|\bship(?:s|ping|ped)?\b|\brollout\b"
)
_TERM = _compile_pattern(
    r"是什么|什么意思|术语|概念|含义|领域知识|\bwhat (?:is|are|does)\b|\bmeaning\b|\bglossary\b|\bterms?\b"
)
# What only somebody at work on software speaks of. Such a text may be about anything that is recorded
# (“服务之间怎么通信”, "how do our services talk to each other"), and who is unsure reads the conventions.
_SOFTWARE = _compile_pattern(
    r"(?-i:[a-z][A-Z]|[a-z]_[a-z]|\b[A-Z]{2,})|\w\(\)|代码|数据库|缓存|服务|接口|前端|后端|日志|配置|部署|测试|依赖|框架|组件|模块|"
    r"脚本|线程|并发|事务|队列|消息|索引|分支|提交|合并|构建|流水线|权限|认证|登录|加密|密钥|协议|请求|超时|重试|限流|版本|环境|容器|镜像|集群|监控|"
    r"告警|字段|函数|变量|参数|异常|仓库|同步|默认值|\b(?:code\w*|databases?|cach\w+|services?|servers?|clients?|front-?end|"
    r"back-?end|logs?|logging|config\w*|deploy\w*|tests?|testing|dependenc\w+|frameworks?|librar\w+|components?|modules?|"
    r"scripts?|threads?|queues?|index\w*|branch\w*|commits?|merg\w+|builds?|pipelines?|permissions?|auth\w*|login|"
    r"encrypt\w*|protocols?|requests?|timeouts?|retr(?:y|ies)|versions?|containers?|clusters?|monitor\w*|schemas?|"
    r"class(?:es)?|functions?|methods?|variables?|parameters?|exceptions?|repo(?:s|sitor\w+)?|quer(?:y|ies)|defaults?)\b"
)
# In the order in which they are shown; a text may have several.
INTENTS = (
    TaskIntent("choose", "choosing a technology", "技术选型", _CHOOSE, ("decision",), conventions=True),
    TaskIntent("create", "creating a module or component", "创建新模块/组件", _CREATE, ("pattern",), conventions=True),
    TaskIntent(
        "architecture",
        "deciding on the architecture",
        "架构决策",
        _ARCHITECTURE,
        ("decision", "interface"),
        conventions=True,
    ),
    TaskIntent(
        "shared", "changing shared code", "修改公共模块", _CHANGE_SHARED, ("constraint", "interface"), conventions=True
    ),
    TaskIntent("migrate", "refactoring or migrating", "重构迁移", _MIGRATE, ("decision", "pitfall"), conventions=True),
    TaskIntent("repair", "finding out what is wrong", "排错", _REPAIR, ("pitfall",)),
    TaskIntent("call", "using an interface", "使用接口", _CALL, ("interface",)),
    TaskIntent("why", "asking for reasons", "追问原因", _WHY, ("decision",)),
    TaskIntent("rule", "asking what is allowed", "询问规范", _RULE, ("constraint", "preference")),
    TaskIntent("ship", "releasing or checking", "发布与检查", _SHIP, ("checklist", "pitfall")),
    TaskIntent("term", "asking what something means", "询问概念", _TERM, ("domain-note",)),
)


class ReadingStep(NamedTuple):
    """One thing to read."""

    path: str  # a file, or a glob of files, relative to the knowledge base
    why: str


class Route(NamedTuple):
    """What to read before a piece of work; nothing where nothing recorded can be about it."""

    intents: tuple[str, ...] = ()
    reads: tuple[ReadingStep, ...] = ()


def find_intents(text: str) -> tuple[TaskIntent, ...]:
    """Return what *text* wants to do, in the order of the table; several files to change count as shared code."""
    found = [intent for intent in INTENTS if intent.pattern.search(text)]
    # “rename it in src/a.py and src/b.py”, 批量修改: several files at once are as shared code.
    touched = bool(_FILES.search(text)) or len(set(_PATH.findall(text))) > 1
    if touched and _OPERATION.search(text) and not any(intent.name == "shared" for intent in found):
        found = [intent for intent in INTENTS if intent in found or intent.name == "shared"]
    return tuple(found)


def is_small_talk(query: Query) -> bool:
    """Return whether *query* is small talk: nothing in it names a subject."""
    return bool(_TALK.fullmatch(query.text.strip())) or not (query.subjects or _PATH.search(query.text))


def build_reading_list(
    wanted: Sequence[TaskIntent],
    found: Sequence[str],
    globs: Mapping[str, str],
    conventions: Collection[str],
    language: str,
    *,
    instead_of: str = "",
    is_sure: bool = True,
) -> tuple[ReadingStep, ...]:
    """Return what to read: the files *found*, the conventions, the kinds of the intents.

    Where not *is_sure* that the files found are about the text they are only the nearest ones.

    *globs* has the kinds of which there are records, with what finds their files; *conventions* what holds the
    conventions: one file, or such globs *instead_of* it.
    """
    is_zh = language == "zh"
    sure, nearest = ("与此相关的记录", "最接近的记录") if is_zh else ("a record about this", "the nearest record")
    steps = [ReadingStep(path, sure if is_sure else nearest) for path in found]
    if not wanted or any(intent.conventions for intent in wanted):
        work = "、".join(each.zh for each in wanted) if is_zh else ", ".join(each.en for each in wanted)
        unsure = "不确定时宁可多读" if is_zh else "when unsure, read"
        stand_in = (f"，代替 {instead_of}" if is_zh else f", in place of {instead_of}") if instead_of else ""
        steps += [ReadingStep(path, (work or unsure) + stand_in) for path in conventions]
    for intent in wanted:
        steps += [ReadingStep(globs[kind], intent.zh if is_zh else intent.en) for kind in intent.kinds if kind in globs]
    unique: dict[str, ReadingStep] = {}
    for step in steps:
        unique.setdefault(step.path, step)
    return tuple(unique.values())


def route(kb: Workspace, text: str, *, project: str = GLOBAL) -> Route:
    """Return what to read before the work that *text* speaks of."""
    query = parse_query(one_line(text))
    index = kb.sync_index()
    globs = {kind.name: build_glob(kind.prefix) for kind in KINDS if index.count(Filter(kinds=(kind.name,)))}
    if is_small_talk(query) or not globs:
        return Route()
    wanted = find_intents(query.text)
    about = [hit.record.path for hit in find_relevant_hits(kb, query, project=project, first=0)][:MAX_FILES]
    # “What is OAuth?” (什么是 OAuth) is not routed in a project that has recorded nothing about it.
    is_unsure = not wanted and _SOFTWARE.search(query.text)
    is_work = is_unsure or any(intent.conventions for intent in wanted) or _PATH.search(query.text)
    if not about and not is_work:
        return Route()
    # A question in other words than its record: the nearest ones are worth a look.
    nearest = [] if about else find_nearest_records(kb, query, project=project, limit=_NEAREST)
    found = about or [record.path for record in nearest]
    conventions, missing = [CONVENTIONS], ""
    if not os.path.isfile(os.path.join(kb.root, CONVENTIONS)):
        missing = CONVENTIONS
        conventions = [globs[kind] for kind in _CONVENTIONAL if kind in globs] or list(globs.values())
    reads = build_reading_list(
        wanted, found, globs, conventions, kb.config.language, instead_of=missing, is_sure=bool(about)
    )
    return Route(tuple(intent.name for intent in wanted), reads)


def build_glob(prefix: str) -> str:
    """Return what finds the files of the records whose ids begin with *prefix*."""
    return f"{CONTENT}/{BY_NAME['decision'].folder}/**/{prefix}[0-9]*.md"


# -- drilling down --------------------------------------------------------------------------------


class AnsweringFile(NamedTuple):
    """A file that may answer."""

    path: str
    lines: int
    id: str
    title: str


class Drill(NamedTuple):
    """How to find an answer: read directly, or have a pack made; and what to cite."""

    mode: str  # direct, reader, or none where nothing recorded is about the question
    files: tuple[AnsweringFile, ...] = ()  # what to read directly, the best first
    lines: int = 0  # of all files that are about the question
    further: int = 0  # so many files are about it besides
    escalate: str = ""  # the command for what the files do not answer


def plan_drill(files: Sequence[AnsweringFile], question: str) -> Drill:
    """Return the plan for *question*, which *files*, best first, are about."""
    quoted = question.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    escalate = f'kb pack "{quoted}"'
    if not files:
        return Drill("none", escalate=escalate)
    few: list[AnsweringFile] = []
    for file in files[:MAX_FILES]:
        if sum(one.lines for one in few) + file.lines <= MAX_LINES:
            few.append(file)
    mode = "direct" if len(few) == len(files) else "reader"
    return Drill(mode, tuple(few), sum(file.lines for file in files), len(files) - len(few), escalate)


def drill(kb: Workspace, question: str, *, project: str = GLOBAL) -> Drill:
    """Return how to find the answer to *question*: which files to read directly, or that a pack is to be made."""
    query = parse_query(one_line(question))
    files = []
    for record in (hit.record for hit in find_relevant_hits(kb, query, project=project, first=0)):
        if record.status in LIVE:
            data = read_if_exists(resolve_within(kb.root, record.path)) or b""
            files.append(AnsweringFile(record.path, len(data.splitlines()), record.id, one_line(record.title)))
    return plan_drill(files, query.text)
