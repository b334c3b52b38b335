"""Split a title or a sentence into meaningful words, for the comparison of statements, and weigh its terms.

Words are looked up in `lexicon`: English by the longest phrase, Chinese by the longest known word from each character
on. There is no language model here.

Rarer terms weigh more. The tables hold English stems (`kb.text.segment.stem`) and pairs of Chinese characters by
document frequency in 1,729 public decision records from 34 repositories, each repository counted equally. A term in no
table counts as rare.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from kb.similarity.lexicon import LABELS, NUMERALS, PHRASE_STARTS, PLAIN, REASONS, RIVAL_ROWS, SENSES, SETTERS, UNITS
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, has_cjk, one_line, split_sentences, stem, strip_inflection

LONGEST_PHRASE = 4  # Words of the longest English phrase in the lexicon
LONGEST_WORD = 5  # Characters of the longest Chinese word in the lexicon
LONGEST_STATEMENT = 400  # Characters read of one statement; anything longer is prose, not a rule

_TOKEN = regex(r"(\d+(?:[.,:]\d+)*)|([^\W\d](?:\w|[.+#'-](?=\w)|[+#])*)|[,，;；、:：=/|&()（）%％]")
_NUMERAL = regex(
    "[零一二两三四五六七八九十百千万]+(?=毫秒|秒|分钟|小时|个|天|日|周|星期|月|年|次|人|位|条|份|台|倍|层|级|轮|名)"
)
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_REASON = regex("|".join(re.escape(word) for word in REASONS.split("|")), re.IGNORECASE)
_MARKUP = regex(r"!?\[([^\[\]\n]*+)\]\([^()\n]*+\)|[*`]+|^\s*(?:[-+>]|\d+[.)])\s+|^#+\s+")
_ITEM_NUMBER = regex(r"(?:^|(?<=\s))\d{1,2}[.)、]\s*(?=\D)")
_CJK = f"[{FIRST_CJK}-\U0010ffff]"
_SCRIPT_CHANGE = regex(f"(?<={_CJK})(?!{_CJK})|(?<!{_CJK})(?={_CJK})")  # Where a script with spaces meets one without
_NOT_AFTER_COMMA = regex(r"[,，]\s*(?=not\s)|[,，]\s*(?=(?:而不是|而非|不选|不采用))", re.IGNORECASE)


class Word(NamedTuple):
    """One word of a statement."""

    mark: str  # A key of `lexicon.MARKS`, "term", "number", "unit", "comma", or "" for a word without weight
    text: str  # Canonical spelling; for a number, its value in the base unit: 60 for 1 minute
    is_name: bool = False  # Whether it is written like the name of a product
    unit: str = ""  # What a number measures: time, bytes, share or what is counted
    is_setting: bool = False  # False for a number that belongs to a name: phase 2, CentOS 7
    lead: str = ""  # In a clause, the mark of the word before it if that introduces a choice: use, in, is, …


_NO_WORD = Word("", "")


def split_plain_sentences(text: str) -> list[str]:
    """Return the sentences of *text* without the markup of lists, emphasis, code and links."""
    parts = (_MARKUP.sub(r"\1", part) for part in split_sentences(_ITEM_NUMBER.sub("", text)))
    return [line for part in parts if (line := one_line(part))]


def tokenise(text: str) -> tuple[list[Word], list[Word]]:
    """Return the words of the statement in *text*, a title or one sentence, and those of its reason."""
    plain = unicodedata.normalize("NFKC", one_line(text))[:LONGEST_STATEMENT].replace("’", "'")
    plain = _NOT_AFTER_COMMA.sub(" but ", plain)  # “X, not Y” chooses as “X but not Y” does
    # “Because of load, use Redis” begins with its reason: a statement of up to three characters is not split off
    match = _REASON.search(plain)
    end = match.start() if match and match.start() > 3 else len(plain)
    statement, reason = (
        _convert_to_base_units(list(_iter_words(part, has_cjk(plain)))) for part in (plain[:end], plain[end:])
    )
    return mark_settings(statement), mark_settings(reason)


def _convert_to_base_units(words: list[Word]) -> list[Word]:
    """Convert each number to the base unit of the unit word after it, and mark that word as a unit."""
    found: list[Word] = []
    for word, after in zip(words, [*words[1:], _NO_WORD], strict=False):
        if word.mark == "number":
            measure, factor = UNITS.get(after.text, ("", 1.0))
            # 1,000 is one number, 1,5 and 10:30 stay as they are written
            plain = word.text.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", word.text) else word.text
            is_amount = re.fullmatch(r"\d+(?:\.\d+)?", plain)
            word = Word("number", f"{float(plain) * factor:.10g}" if is_amount else plain, unit=measure)
        elif found and found[-1].mark == "number" and word.text in UNITS:
            word = word._replace(mark="unit")
        found.append(word)
    return found


def mark_settings(words: list[Word]) -> list[Word]:
    """Return *words* of a statement or a clause, with the numbers that are settings marked."""
    found: list[Word] = []
    for at, word in enumerate(words):
        if word.mark == "number":
            before, after = words[at - 1] if at else _NO_WORD, words[at + 1] if at + 1 < len(words) else _NO_WORD
            word = word._replace(is_setting=_is_setting(before, after, {each.mark for each in words[: max(at - 1, 0)]}))
        found.append(word)
    return found


def _is_setting(before: Word, after: Word, earlier: set[str]) -> bool:
    """Return whether the number between two words is a setting, not part of a name."""
    if before.text in LABELS:  # phase 2, CentOS 7, 第 3 阶段
        return False
    # "30 days", "is 5", "port 8000", 改为 5, 上限 20
    if after.text in UNITS or before.mark in ("is", "to", "must") or {before.text, after.text} & SETTERS:
        return True
    # "3 replicas", but not "Python 3 replicas"; and "use Python 3.11", 使用 Python 3.11
    if not before.is_name:
        return after.mark == "term"
    return bool({"use", "must"} & earlier)


def _iter_words(text: str, has_unspaced: bool) -> Iterator[Word]:
    """Yield the words of *text*; a phrase of the lexicon is one word."""
    if not text.isascii():
        text = _SCRIPT_CHANGE.sub(" ", _NUMERAL.sub(lambda match: str(_parse_numeral(match[0])), text))
    run: list[str] = []
    for match in _TOKEN.finditer(text):
        number, word = match.groups()
        if word and word < FIRST_CJK:
            run.append(word)
            continue
        yield from _tokenise_spaced(run, has_unspaced)
        run = []
        if number:
            yield Word("number", number)
        elif word:
            yield from _tokenise_unspaced(word)
        elif match[0] in "%％":
            yield Word("unit", "%")
        else:
            yield Word(SENSES.get(match[0], ("comma",))[0], match[0])
    yield from _tokenise_spaced(run, has_unspaced)


def _parse_numeral(text: str) -> int:
    """Return the value of a Chinese numeral up to 万."""
    total = section = digit = 0
    for character in text:
        if character == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        elif character in _POWERS:
            section, digit = section + (digit or 1) * _POWERS[character], 0
        else:
            digit = _DIGITS[character]
    return total + section + digit


def _tokenise_spaced(run: list[str], has_unspaced: bool) -> Iterator[Word]:
    """Yield the words of a *run* of spaced words, the longest known phrases first."""
    at = 0
    while at < len(run):
        longest = LONGEST_PHRASE if run[at].casefold() in PHRASE_STARTS else 1
        sizes = range(min(longest, len(run) - at), 1, -1)
        size = next((size for size in sizes if " ".join(run[at : at + size]).casefold() in SENSES), 1)
        raw = " ".join(run[at : at + size])
        phrase = raw.casefold()
        if phrase not in SENSES:
            phrase = phrase.removesuffix("'s").replace("-", "").replace("_", "")
        is_name = has_unspaced or (at > 0 and raw[0].isupper())
        at += size
        if phrase in SENSES:
            mark, text = SENSES[phrase]
            yield Word(mark, text, is_name or text in RIVAL_ROWS)
        elif phrase in NUMERALS:
            yield Word("number", str(NUMERALS[phrase]))
        else:
            root = strip_inflection(phrase)
            mark, text = SENSES.get(root, ("term", root)) if len(root) > 3 else ("term", root)
            yield Word("term", text if mark == "term" else root, is_name or any(c.isupper() for c in raw[1:]))


def _tokenise_unspaced(run: str) -> Iterator[Word]:
    """Yield the words of a Chinese *run*: the longest known word from each character on, else the character."""
    at = 0
    while at < len(run):
        sizes = range(min(LONGEST_WORD, len(run) - at), 1, -1)
        size = next((size for size in sizes if run[at : at + size] in SENSES), 1)
        mark, text = SENSES.get(run[at : at + size], ("term", run[at]))
        yield Word(mark, text, text in RIVAL_ROWS)
        at += size


# -- how rare a term is ---------------------------------------------------------------------------

# The vocabulary of commits and issues, which says nothing about the subject of a record
_WEIGHTLESS_STEMS = frozenset(
    """
    add adding chang check cod commit continu creat delet error even everyth exampl fil find fix fold funct having
    help implement issu lat merg mov open pag point problem pull push re read refactor remov renam repo repositor
    runn second seem setup show start support task test thre tru updat use used user using verif wait
    """.split()
)
# Stems in 10 % of the records or more
_TENTH = frozenset(
    """
    accept api record typ
    """.split()
)
# Stems in 5 % or more
_TWENTIETH = frozenset(
    """
    agent allow app architectur bas build call cli client configur contract cor dat data default design doc
    document domain exist featur field follow git id includ json liv manag messag model modul non packag path per
    polic request requir result rs separ sess singl sourc spec specific stat stor target tim tool valid vers
    """.split()
)
# Stems in 2 % or more
_FIFTIETH = frozenset(
    """
    abstract access across action ad adapt address adopt ai appl applic approach artifact attribut auth author
    authorit availabl avoid backend becom behavior behind best blob block boundar break built bundl cach canonical
    capabilit carr cas chain changelog channel ci claim class clos cloud clust collect command complet component
    concept config connect consum contain content control convers cross current custom databas db decid defin
    dependenc deriv describ detail develop different directl distribut draft eas enabl endpoint engin entr
    environment evalu event evidenc execut explicit export expos extens external fail fetch flag flow form format
    full futur gat gener graph group hash head high host hub identit import index initial input install instanc
    instead integr interfac internal introduc item job key label languag lay level librar limit link list lit load
    local log logic machin main maintain management map mark markdown match mechanism metadata method migr miss
    mod multi multipl namespac nativ nod numb object oper optional ord output paramet pars pass pattern phas
    pipelin plac plan platform port possibl post pr preserv process produc product profil prompt propos protocol
    provenanc public publish py python quer raw ref referenc registr relat releas remain remot render replac
    report requirement resolv respons rest retr return review root rout rul runtim schema scop script sdk seam
    sect select semantic send serv servic shap shar shell ship sid sign solut split src stabl standard step storag
    strateg string structur styl summar supersed surfac sync system tabl tag text titl token trac track transact
    transport turn ui url usag valu version view vs web wir workflow yaml
    """.split()
)
_COMMON_PAIRS = frozenset(
    """
    业务 事件 产出 什么 仓库 代码 任何 依赖 保留 入口 全部 公开 内容 内部 写入 决定 决策 出口 函数 分支 分类 创建
    删除 判定 判断 原样 参数 同步 名单 命令 命名 声明 备选 外部 失败 字段 完整 实现 审查 客户 导航 工作 工具 当前
    影响 必须 恢复 截断 执行 提交 插件 收敛 改动 数值 文件 文档 新增 方案 无法 日志 日期 映射 显式 服务 架构 标题
    核实 模块 模型 模式 正确 注册 测试 消费 状态 独立 生产 目录 目标 直接 相关 真实 知识 确定 确认 移除 窗口 端口
    第二 签名 类型 约束 结构 结果 维度 缓存 自动 自己 范围 落地 覆盖 解析 触发 设置 评审 语义 说明 请求 路径 身份
    转发 轮询 边界 迁移 运行 返回 连接 通过 部分 配置 重复 重试 错误 阶段 项目 验证 默认
    """.split()
)
# Chinese function characters: a pair that contains one is not a word
FUNCTION_CHARACTERS = frozenset(
    "一上不与且个中为也了于从以会但做其再则到即去及只可各后向和在如它对将就已并或所把按时是有本来此每用由"
    "的等给而能若被要让该走还这那都里"
)
# Marks of function words: modals, prepositions, negations
_FUNCTION_MARKS = frozenset(
    "must|may|need not|not|use|as|as the|for|over|is|in|from|to|order|and|also|except|".split("|")
)


@lru_cache(maxsize=4096)
def weigh_term(term: str) -> float:
    """Return the weight (0.0–1.0) of *term*, a stem or two Chinese characters, for the subject of a record."""
    if not term.isascii():
        if SENSES.get(term, ("term",))[0] in _FUNCTION_MARKS:
            return 0.0
        return (
            0.4 if len(term) < 2 or not FUNCTION_CHARACTERS.isdisjoint(term) else 0.6 if term in _COMMON_PAIRS else 1.0
        )
    if term in _WEIGHTLESS_STEMS or term in _list_plain_stems() or (len(term) < 2 and not term.isdigit()):
        return 0.0
    return 0.3 if term in _TENTH else 0.5 if term in _TWENTIETH else 0.7 if term in _FIFTIETH else 1.0


@lru_cache(maxsize=1)
def _list_plain_stems() -> frozenset[str]:
    """Return the stems of function words and of words that could be in any record."""
    function_words = (word for word, (mark, _) in SENSES.items() if word.isascii() and mark in _FUNCTION_MARKS)
    return frozenset(form for word in (*PLAIN.split("|"), *function_words) for form in (word, stem(word)))
