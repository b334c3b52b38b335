"""Parse a candidate once, and check the quality of its text: its title, its length, its aim.

Every rule is a function from a parsed candidate and the settings to objections, listed in RULES. A candidate is also
classified as a good decision, a passing act, or a debt (RUYI "业力分类"), by its title and a decision of at most two
sentences: in a longer one, "for now" is usually part of the context.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kb.config import Config
from kb.i18n import Message, msg
from kb.records.front_matter import MAX_BYTES, MAX_FRONT, format_entry
from kb.records.kinds import is_own_path
from kb.records.model import Candidate
from kb.safety.injection import COMMENT, HIDDEN, INSTRUCTION, find_threats
from kb.startup.lazy_regex import PatternRows, regex, regex_rows
from kb.startup.namedtuple import NamedTuple
from kb.text.mentions import find_alternative, find_existing_paths, find_missing_paths
from kb.text.segment import clip, count_characters, count_words, iter_runs, split_sentences

WHOLESOME, NEUTRAL, UNWHOLESOME = "wholesome", "neutral", "unwholesome"

_CLAUSE = regex(r"[。！？!?；;，,\n]+|\.(?=\s|$)")
_DEEDS = frozenset({"decision", "interface", "domain-note"})
"""Kinds that state an action. A constraint, a pattern or a checklist about workarounds is a rule, not a debt."""

_CHOOSING = frozenset({"decision", "constraint", "interface", "pattern"})
"""Kinds that choose one option over another."""

_ONE_OFF = regex_rows(
    (
        ("for now", "time being", "the moment", "quick ", "temporary "),
        r"\bfor now\b|\bfor the (?:time being|moment)\b|\b(?:quick|temporary) (?:hack|fix|patch|change)\b",
    ),
    (
        ("just ", " only"),
        r"\bjust (?:this once|for (?:now|today|this (?:run|session|time|test)|the (?:demo|test)))\b|\b(?:this"
        r"|one) time only\b|\bthis (?:pr|pull request|release|build|sprint|commit|demo) only\b|\btoday only\b",
    ),
    (
        ("temporarily",),
        r"\btemporarily (?:comment|disabl|skip|hard-?cod|bypass|turn|switch|stub|mut|pin|revert|remov|us)"
        r"|\A\W*temporarily\b",
    ),
    (
        ("later", "afterwards", "tomorrow", "until "),
        r"\b(?:will|'ll|let's|can|to) (?:revert|undo|remove|delete|clean|fix) (?:this |it |that "
        r"|them )?(?:up )?(?:later|afterwards|tomorrow)\b"
        r"|\buntil (?:tomorrow|tonight|then|the \w+(?:'s| is) (?:over|done))\b",
    ),
    (
        ("one-off ", "throwaway ", "throw-away "),
        r"\bone-off (?:script|fix|change|run|test|experiment)\b|\bthrow-?away (?:script|code|test)",
    ),
    (
        (" this ", "today"),
        r"\b(?:for|in|during|until the end of) (?:this|today's) (?:pr|pull request|release|build|sprint|commit"
        r"|branch|demo|deploy)\b|\A\W*today,|\btoday's (?:build|release|deploy|run|demo|test)",
    ),
    (
        ("次", "今", "暂", "先", "回头", "待会", "一会", "临时", "一次性", "稍后"),
        r"(?:本|这|此)次(?:的)?(?:发布|上线|部署|构建|提交|迭代|版本|迁移|改动|合并|PR|MR|演示|测试|修改)"
        r"|(?:[这本][周月]|这(?:两|几|一?阵|段)(?:天|周|子|时间))(?:就|都)?先(?!进)|今[天晚日](?:先|就先|的?(?:构建|发布|部署|上线|版本|演示|测试|提交|改动|迭代))"
        r"|(?:\A|[，,。；;]|我们|\w)(?:暂时|暂且)(?!性|的|表|文件|不可用|不支持|无法|失败|中断)|先临时|这次先|今天先"
        r"|暂时先|仅此一次|只此一次|回头再|待会儿?"
        r"|(?<!等)(?<!隔)(?<!等待)一会儿?(?=我|再|就|改|删|恢复|回来|处理|弄|看)|(?:先|暂时|暂且|临时)(?:注释|屏蔽|禁用"
        r"|关掉|关闭|跳过|写死|改成|改为|换成|顶一|顶上|凑合|用着|放着|这样|不管|停掉|去掉|加个|搞)|一次性(?:脚本|修改"
        r"|改动|处理|决定|操作|任务|调试)|临时(?:方案|处理|改动|修改|补丁|修复|调试|措施|改一下)|稍后再(?:改|说"
        r"|处理|修|补"
        r"|看|清理)",
    ),
    flags=re.IGNORECASE,
)
_DEBT = regex_rows(
    (
        ("around", "debt", "hack", "kludge", "aid", "stopgap", "stop-gap", "known "),
        r"work-?arounds?\b|\b(?:we|i|it)(?:'re| are| have)? work(?:s|ed|ing)? around\b|\btech(?:nical)? debt\b"
        r"|(?<!quick )\bhack(?:s|y|ed)?\b|\bkludge|\bband-?aid\b|\bstop-?gap\b"
        r"|\bknown (?:issue|risk|hazard|bug|problem|flaw|weakness)",
    ),
    (
        ("技术", "债", "绕", "隐患", "权宜", "包袱", "临时", "已知", "遗留"),
        r"技术债|技术负债|欠(?:了|下)?(?:的|一笔)?债"
        r"|绕[开过]了|先绕[开过]|隐患|权宜之计|历史包袱|临时(?:绕过"
        r"|规避)|绕过方案|(?:已知|遗留)的?(?:问题|缺陷|漏洞|风险)",
    ),
    flags=re.IGNORECASE,
)
_RULED = regex(
    r"\b(?:no|not|never|without|avoid|must|shall|always|don't|mustn't|forbid|instead of|rather than|ban)"
    r"|不得|不要|不能|不允许|不可|禁止|严禁|切勿|避免|杜绝|必须|应当|应该|一律|始终|每个|所有|而不是|而非",
    re.IGNORECASE,
)
"""Words before a passing act that turn it into a lasting rule."""

_SETTLED = regex(
    r"\b(?:no|not|never|without|avoid|prevent|remov|replac|drop|eliminat|pay|paid|reduc|fix|clean|track|retire"
    r"|get rid)|instead of|rather than|不再|没有|避免|杜绝|消除|偿还|清理|减少|移除|去掉|删除|替换|代替|取代|而不是"
    r"|而非|防止|治理|跟踪|排查|解决|修复",
    re.IGNORECASE,
)
"""Words before a debt that pay it off."""


class Objection(NamedTuple):
    """One reason to refuse or hold a candidate, and its remedy."""

    rule: str
    """A short name that stays the same: "vague-title", "temporary", "gate", …"""
    reason: Message
    remedy: Message
    """What the caller can do about it."""
    refuses: bool = True
    """False: the candidate is held in the inbox until it comes again or a person decides."""

    @property
    def holds(self) -> bool:
        """Return whether the candidate is only held."""
        return not self.refuses


class ParsedCandidate(NamedTuple):
    """A candidate, parsed once for all rules."""

    candidate: Candidate
    """Masked, of one scope; one that describes a debt is a pitfall."""
    masked: Sequence[str]
    """The names of the rules that masked something in it."""
    sentences: Sequence[str]
    """Those of the decision."""
    karma: str
    texts: Mapping[str, str]
    """Field → text, for every text that a reader of the record may see."""


Rule = Callable[[ParsedCandidate, Config], Iterator[Objection]]

_GENERIC_ZH = (
    "框架 决策 决定 规则 规范 约定 架构 优化 修改 更改 变更 更新 调整 改进 改动 改造 完善 修复 处理 解决 问题 "
    "设计 方案 约束 接口 配置 设置 重构 系统 项目 工程 功能 代码 模块 技术 选型 选择 选用 采用 使用 说明 记录 "
    "总结 相关 其他 其它 杂项 讨论 内容 需求 文档 测试 部署 后端 前端 数据库 服务 组件 逻辑 流程 策略 机制 "
    "实现 开发 关于 部分 一些 新增 增加 添加 删除 常规 通用 基本 整体 必须 应该 需要 可以 进行 最终 初步 重要 "
    "定义 性能 完成 继续 遵守 出错 报错 错误 可以 谢谢 上面 下面 之前 现在 已经 很好 更好 不错 "
    "记住 以后 今后 从现在起 从现在开始 从今以后 一律 始终 永远 总是 每次 不要 别再 "
    "注意事项 注意 经验 教训 模式 偏好 清单 笔记 备注 事项 任务 工作 计划 目标 版本 bug"
)
_GENERIC_EN = (
    "framework frameworks decision decisions decided decide rule rules architecture architectural optimize "
    "optimise optimized optimization optimisation update updates updated updating fix fixes fixed fixing bug "
    "bugs misc miscellaneous change changes changed refactor refactored refactoring improve improved "
    "improvement improvements various note notes todo wip stuff thing things cleanup design designs config "
    "configuration setup set up issue issues problem problems solution solutions new old general other "
    "technology technologies tech stack choice choices choose chose chosen select selected selection code "
    "codebase system systems project module modules feature features implementation implement implemented "
    "minor major some small big the a an for of to and or in on our my we i with about this that it is are be "
    "was were will must should shall can could do does not no use uses used using make made add added adding "
    "remove removed removing backend frontend database server service services api apis test tests testing "
    "deploy deployment documentation docs document work working task tasks approach strategy plan option "
    "pattern patterns constraint constraints interface interfaces convention conventions guideline guidelines "
    "definition definitions done finish finished please thanks thank ok okay yes good better best great fine same "
    "above below before now again just idea error errors works following follow "
    "always never from remember going forward every time prefer "
    "standard standards practice practices important info information details data adr handling logic etc"
)
_GENERIC = regex("|".join(sorted(_GENERIC_ZH.split(), key=len, reverse=True)))
_GENERIC_WORDS = frozenset(_GENERIC_EN.split())
_PARTICLES = regex(r"[的了和与及在对为是于中等新旧些一下个各类将把被要用做改选定我们本该都也就]+")
_POINTING = regex(
    r"(?:\b(?:option|plan|approach|solution|alternative|variant|choice)|方案|选项|计划|第)\s?(?:[a-e]|\d{1,2}|one|two"
    r"|three|first|second|[一二三四五甲乙丙丁])(?![a-z])(?:种|个)?|\b(?:it|this|that|these|those|them|one"
    r"|former|latter"
    r"|first|second|above|same|here|there)\b|它们?|这个?|那个?|这样|那样|这种|那种|这里|上述|以上|前者|后者|此"
)
_NUMBERING = regex(
    r"^\s*+(?:architectur(?:e|al) decision records?\b|\[[^\]]{1,20}\]|(?:adr|rfc)?[-\s#]*\d{1,5}(?=[\s.:)\-—、]))"
    r"[\s.:)\-—、]*",
    re.IGNORECASE,
)

_QUESTION = regex_rows((("?", "？"), r"[?？]\s*$"), (("吗", "呢"), r"[吗呢]\s*[。？?]?\s*$"))


_THIN = 4
"""This many characters of any sort count as at least one, so that a megabyte of brackets has a length too."""

LONG_TITLE = 120
"""Length of a title, in characters, from which it is accepted with a remark."""


SESSION_MAX = 1_000
"""Characters of host and session together: a record stores both each time it is seen again."""

FRONT_MAX = MAX_FRONT // 2
"""Characters of front matter that a candidate may fill; the rest is for later sightings."""

TEXT_MAX = MAX_BYTES // 2
"""Bytes of a candidate's texts; the rest of a record's limit is for later additions."""

_IN_FRONT = ("title", "tags", "impact", "claims", "coexists_with", "supersedes", "amends", "fields")


def parse_candidate(candidate: Candidate, masked: Sequence[str] = ()) -> ParsedCandidate:
    """Parse *candidate*, masked by the rules *masked*; one that updates a record keeps that record's kind."""
    sentences = split_sentences(candidate.decision)
    karma = _classify_text(candidate, sentences)
    if karma == UNWHOLESOME and not candidate.updates:
        candidate = candidate._replace(kind="pitfall")
    texts = {name: value for name, value in candidate._asdict().items() if isinstance(value, str)}
    for name in ("impact", "tags", "impact_areas", "supersedes", "amends"):
        texts[name] = "\n".join(getattr(candidate, name))
    for name in ("claims", "coexists_with", "sections", "fields"):
        texts[name] = "\n".join(f"{key}: {value}" for key, value in getattr(candidate, name).items())
    texts["evidence"] = "\n".join(f"{evidence.quote}\n{evidence.source}" for evidence in candidate.evidence)
    return ParsedCandidate(candidate, masked, sentences, karma, texts)


def complete_candidate(candidate: Candidate, list_files: Callable[[], Iterable[str]]) -> Candidate:
    """Return *candidate* with empty fields filled from its own text.

    These are the first rejected option (“over MySQL”, “而不是 MySQL”) and, as impact, the paths it mentions that the
    project has; *list_files* returns those. A candidate that updates a record has only its changes.
    """
    if candidate.updates:
        return candidate
    if not candidate.alternatives and candidate.kind in _CHOOSING:
        sentences = (*split_sentences(candidate.decision), candidate.title)
        candidate = candidate._replace(alternatives=next(filter(None, map(find_alternative, sentences)), ""))
    if not candidate.impact and candidate.kind != "preference":
        texts = (candidate.title, candidate.decision, candidate.why, *candidate.sections.values())
        candidate = candidate._replace(impact=find_existing_paths("\n".join(texts), list_files))
    return candidate


def classify_karma(candidate: Candidate) -> str:
    """Return "wholesome" (distil), "neutral" (keep with the session only) or "unwholesome" (note as a pitfall)."""
    return _classify_text(candidate, split_sentences(candidate.decision))


def _classify_text(candidate: Candidate, sentences: Sequence[str]) -> str:
    if candidate.kind == "pitfall":
        return UNWHOLESOME
    # "We shard by tenant. Ten nodes will do for now. …" is a decision that mentions a passing state, not a passing act.
    short = candidate.decision if len(sentences) <= 2 else ""
    text = unicodedata.normalize("NFKC", f"{candidate.title}\n{short}")
    if candidate.kind in _DEEDS and _has_clause(_DEBT, text, unless=_SETTLED):
        return UNWHOLESOME
    return NEUTRAL if _has_clause(_ONE_OFF, text, unless=_RULED) else WHOLESOME


def _has_clause(pattern: PatternRows, text: str, *, unless: re.Pattern[str]) -> bool:
    """Return whether a clause of *text* matches *pattern* without a word of *unless* before it.

    "Comment out the test for now" is a passing act, "Do not skip the linter for now" and "禁止先注释掉测试再提交" are
    rules about one.
    """
    for clause in _CLAUSE.split(text):
        match = pattern.search(clause)
        if match and not unless.search(clause, 0, match.start()):
            return True
    return False


def find_objections(parsed: ParsedCandidate, config: Config) -> list[Objection]:
    """Return every objection to the text of a candidate; if there is none, it goes on to the gate."""
    return [objection for rule in RULES for objection in rule(parsed, config)]


def is_vague(title: str) -> bool:
    """Return whether *title* could be that of any record: it has only generic words (RUYI "锚点命名")."""
    return count_words(title) > 0 and not _has_subject(_normalise_title(title))


def require_subject(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Refuse a title without letters, one that fits any record, and one that only points elsewhere."""
    shown, title = clip(parsed.candidate.title, 60), _normalise_title(parsed.candidate.title)
    remedy = msg("say in the title what was decided about what, like “Use FastAPI as the backend framework”")
    if count_words(parsed.candidate.title) == 0:
        yield Objection("empty-title", msg("the title has no word"), remedy)
    elif not _has_subject(title):
        yield Objection("vague-title", msg("the title “{title}” would fit any record", title=shown), remedy)
    elif not _has_subject(_POINTING.sub(" ", title)):
        why = msg("the title “{title}” refers to something it does not name", title=shown)
        yield Objection("no-subject", why, remedy)


def require_fit_length(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Refuse a text that is too short or too long; see `kb.text.segment.count_characters`.

    A title alone is enough if it is a rule by itself: “Use tabs”, “金额用分”.
    """
    candidate = parsed.candidate
    length = count_characters(candidate.title)
    if 0 < length < config.title_min:
        sizes = {"count": length, "limit": config.title_min}
        why = msg("the title has {count} characters (two letters count as one); at least {limit} are needed", **sizes)
        yield Objection("short-title", why, msg("say in the title what was decided about what"))
    if len(candidate.title) > config.title_max:
        sizes = {"count": len(candidate.title), "limit": config.title_max}
        why = msg("the title has {count} characters; at most {limit} fit", **sizes)
        yield Objection("long-title", why, msg("keep the decision in the title and move the rest into the text"))
    body = count_characters(f"{candidate.decision} {candidate.why}") or length
    if body < config.body_min:
        sizes = {"count": body, "limit": config.body_min}
        why = msg(
            "decision and reason have {count} characters (two letters count as one); at least {limit} are needed",
            **sizes,
        )
        yield Objection("short-body", why, msg("say what applies from now on, and why"))
    whole = sum(max(count_characters(text), len(text) // _THIN) for text in parsed.texts.values())
    if whole > config.body_max:
        sizes = {"count": whole, "limit": config.body_max}
        why = msg("the candidate has {count} characters (two letters count as one); at most {limit} fit", **sizes)
        yield Objection("long-body", why, msg("keep the decision and its reasons, and link to the rest"))


def require_fit_size(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Refuse a candidate whose record could not be read back, or could not grow: see `kb.records.front_matter`.

    `body_max` limits words and characters, not bytes: a megabyte without a space counts as two words.
    """
    candidate = parsed.candidate
    given = {field: value for field in _IN_FRONT if (value := getattr(candidate, field))}
    fields = {field: len(format_entry(field, value)) for field, value in given.items()}
    texts = {name: len(text.encode("utf-8", "replace")) for name, text in parsed.texts.items()}
    for sizes, most, unit in (
        ({"session": len(candidate.host) + len(candidate.session)}, SESSION_MAX, msg("characters")),
        (fields, FRONT_MAX, msg("characters")),
        (texts, TEXT_MAX, msg("bytes")),
    ):
        if sum(sizes.values()) > most:
            field = max(sizes, key=lambda name: sizes[name])
            values = {"field": field, "count": sizes[field], "unit": unit, "limit": most}
            words = msg("the field {field} has {count} {unit}; all such fields together may have {limit}", **values)
            yield Objection("too-large", words, msg("shorten {field}, and link to the rest", field=field))


def list_remarks(candidate: Candidate, list_files: Callable[[], Iterable[str]] | None = None) -> list[Message]:
    """Return remarks on an accepted candidate: its title is long.

    With *list_files*, which returns the files of the project, also the impact paths that the project does not have.
    """
    size = len(candidate.title)
    remarks = [msg("the title has {count} characters; lists cut it, a shorter one is read", count=size)]
    missing: list[str] = []
    if list_files and candidate.impact:
        # a base in its own repository has no code: its records are about files elsewhere
        code = [file for file in list_files() if not is_own_path(file)]
        missing = find_missing_paths(candidate.impact, lambda: code)
    return [*remarks[: size >= LONG_TITLE], *(msg("the project has no {path}", path=clip(one, 120)) for one in missing)]


def require_lasting(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Refuse a passing act: only what can affect later decisions is stored (SHI "只存能影响未来决策的东西")."""
    if parsed.karma == NEUTRAL:
        yield Objection(
            "temporary",
            msg("temporary: this applies to the session only"),
            msg("if it applies from now on, say so without “for now” or “temporarily”"),
        )


def require_answer(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Refuse a candidate that only asks a question."""
    # "Why Redis? Because it is there already." answers; "用 Redis 还是 Memcached？" does not.
    if all(_QUESTION.search(sentence) for sentence in parsed.sentences or [parsed.candidate.title]):
        yield Objection(
            "question", msg("this is a question, not an answer"), msg("write it when it is decided, with the answer")
        )


def hold_injection(parsed: ParsedCandidate, config: Config) -> Iterator[Objection]:
    """Hold a text that gives orders to an agent that reads it, or hides text from the person who reviews it."""
    if not find_threats("\n".join(parsed.texts.values())):  # one search for all fields
        return
    for field, text in parsed.texts.items():
        for kind, threat in {threat.kind: threat for threat in reversed(find_threats(text))}.items():
            why = msg("{field} {problem}: “{words}”", field=field, problem=threat.problem, words=threat.words)
            yield Objection(_RULE_OF[kind], why, _READ_FIRST, refuses=False)


_RULE_OF = {INSTRUCTION: "instruction", COMMENT: "hidden-comment", HIDDEN: "hidden-characters"}
_READ_FIRST = msg("remove it, or let a person read the candidate and promote it from the inbox")

RULES: tuple[Rule, ...] = (
    require_subject,
    require_fit_size,
    require_fit_length,
    require_lasting,
    require_answer,
    hold_injection,
)


def _normalise_title(title: str) -> str:
    return _NUMBERING.sub("", unicodedata.normalize("NFKC", title).lower())


def _has_subject(title: str) -> bool:
    """Return whether a word of *title*, in lower case, is not generic: a spaced word or two unspaced characters."""
    # "Fix the bug" and "修复一些问题" have none; "Fix the login" and "修复登录问题" have one: login, 登录.
    for run, unspaced in iter_runs(title):
        if not unspaced and run not in _GENERIC_WORDS and not run.isdigit():
            return True
        words = _GENERIC.sub(" ", run).split() if unspaced else ()
        if any(len(piece) > 1 and not _PARTICLES.fullmatch(piece) for piece in words):
            return True
    return False
