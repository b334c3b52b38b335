"""Parse what people and agents ask: into one value for ranking and hints, and into full-text expressions.

The index holds `kb.text.segment.build_index_terms`, so an unspaced run is asked for as the phrase of its bigrams,
which is an exact substring, and a spaced word as the beginning of a word. Every term is quoted and made of letters
and digits only: nothing in a question can be read as FTS5 syntax. For spaced words the index answers more widely
than a plain scan (word stems, `getUserName` for `get_user_name`, any punctuation between the words of `foo.bar`)
and more narrowly (no match inside a word): a caller that promises the plain scan adds it. The lists of stop words and
of Chinese word boundaries come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice

from kb.records.kinds import BY_PREFIX, KINDS, find_kind
from kb.records.model import Reference
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, SEPARATOR, extract_run_terms, extract_word_terms, fold_text, iter_runs, stem


def _parse_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


FUNCTION_EN = _parse_words(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can could couldn d did didn do does doesn doing don down during each either else few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m many me might mine more most must my myself no nor not now of off on once only or other our ours
    ourselves out over own please re s same shall she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through thus to too under until up upon us ve very was wasn we were
    weren what whatever when where whether which while who whom whose why will with within without won would wouldn yes
    yet you your yours yourself yourselves
    """
)
# Words that only hold a sentence together, in English and, one character each, in Chinese
FUNCTION_ZH = frozenset("的了吗呢吧啊呀嘛么是我你您他她它们这那哪谁就也都很把被给让和与或在个没嗯哦之其有什怎几")

# Words that say how something is asked, or that any piece of programming work is about; none distinguishes two
# records.
STOP_EN = _parse_words(
    """
    about above actually add added adding after again ahead all already also always am an and another any anything are
    aren around as at away back be because been before being below better both bug bugs but by came can cannot change
    changed changes changing check checked checking code come commit commits continue could couldn create created
    creating delete did didn do does doesn doing don done down each either else enough error errors etc even ever
    every everything example explain few file files find finish first fix fixed fixes fixing folder for from function
    functions further get gets getting give given go goes going gone good got great had handle handled handles
    handling has hasn have haven having he hello help her here hey hi him his how however if implement implementation
    implemented improve in into is isn issue issues it its itself just keep kind know last later least less let like
    line lines little ll long look looking looks lot made make makes making many may maybe me mean merge might mine
    more most move much must my name need needed needs never new next nice no not nothing now of off ok okay old on
    once one only onto open or other our out over own page part perhaps please point print problem problems project
    pull push put question quite rather re read ready really refactor remove removed rename repo repository right run
    running runs said same saw say says second see seem seems seen set setup shall she should shouldn show shown
    simply since so some something soon start started still stop such support sure take taken task tasks tell test
    tested testing tests than thank thanks that the their them then there these they thing things think this those
    though three through thus to todo together told too took toward tried true try trying two under until up update
    updated updates updating upon us use used useful user uses using usually ve verify very via wait want wanted wants
    was wasn way ways we well went were weren what whatever when where whether which while who whole whose why will
    with within without won wonder work worked working works would wouldn write written wrong yes yet you your yours
    """
)

STOP_ZH = _parse_words(
    """
    的 了 吗 呢 吧 啊 呀 嘛 么 是 我 你 您 他 她 它 们 这 那 哪 谁 就 也 都 很 把 被 给 让 和 与 或 在 个 没 嗯 哦
    什么 为什么 怎么 怎么样 怎样 如何 多少 几个 哪些 哪个 哪里 是否 是不是 有没有 能不能 可不可以 要不要 能否 可否
    我们 你们 他们 它们 大家 自己 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 此外 其中 其他 其它 另外 另一个
    可以 可能 能够 应该 应当 需要 想要 希望 打算 准备 不要 不能 不会 不是 不用 不行 没有 还没 还是 还有 就是 只是 只要
    只有 而且 并且 或者 以及 但是 不过 然而 如果 假如 因为 所以 因此 由于 虽然 然后 接着 接下来 首先 其次 最后 之后
    之前 以后 以前 的话 时候 现在 目前 今天 刚才 刚刚 已经 正在 马上 一直 一下 一个 一些 一样 一起 一点 有点 有些
    所有 全部 每个 任何 整个 非常 比较 特别 真的 其实 当然 大概 关于 对于 根据 按照 通过 进行 觉得 认为 知道 看到
    看看 看下 看一下 说说 想想 试试 帮我 帮忙 麻烦 请问 请帮 请把 请用 请给 谢谢 感谢 多谢 你好 您好 好的 好吧 可以吗
    行吗 对吗 辛苦 继续 没错 没问题 不错 明白 清楚
    问题 功能 代码 项目 工程 文件 目录 函数 实现 修改 更改 改成 改为 改一下 添加 增加 新增 加上 加一个 去掉 删除 删掉
    使用 运行 执行 跑一下 测试 检查 查看 查找 确认 处理 完成 开始 停止 更新 修复 解决 优化 重构 支持 提交 合并 推送
    创建 新建 生成 设置 分析 解释 说明 总结 阅读 编写 写一个 写个 东西 事情 情况 方法 方式 内容 部分 地方 下面 上面
    任务 步骤 相关 报错 错误 有用 出现 发现 导致
    """
)
# Words that hold a function character and are none.
KEPT_ZH = _parse_words(
    """
    在线 存在 正在 请求 目的 和解 饱和 参与 个人 与否 个性 被动 给定 就绪 都市 在途 对象 对话 对账 对比 从库 为空 到期
    到达 向量 将来
    """
)

# Characters that hold a sentence together and are parts of words as well (时间, 同步): one alone says nothing
PARTICLES_ZH = frozenset(
    "不一能会为到来要还以可得过里去时上下前后中所而但则又才只再先已将向从对由于着地等些样此该且因跟啥咋别太更最每各某另同"
)
LEADING_ZH = frozenset("为在对从到向将请")
# Characters that hang on a word of two when a piece has an odd length: 为支付服务, 框架用
TRAILING_ZH = frozenset("用时中里上下后前等")

# Characters that close a word of three, as in 数据库 and 服务器
WORD_ENDINGS_ZH = frozenset("库器化性率层端表键流图机量值区页栈链池")

# The lists above by name, for a search that is no part of kb.
WORD_LISTS: Mapping[str, frozenset[str]] = {
    "function_en": FUNCTION_EN,
    "function_zh": FUNCTION_ZH,
    "stop_en": STOP_EN,
    "stop_zh": STOP_ZH,
    "kept_zh": KEPT_ZH,
    "particles_zh": PARTICLES_ZH,
    "leading_zh": LEADING_ZH,
    "trailing_zh": TRAILING_ZH,
    "endings_zh": WORD_ENDINGS_ZH,
}


def is_function_word(word: str) -> bool:
    """Return whether *word* only holds a sentence together: "the", "am", 的."""
    return word.casefold() in FUNCTION_EN or word in FUNCTION_ZH


# The most phrases of one question that are asked for; what follows them is left to the plain scan
MAX_PHRASES = 32

LONGEST_PHRASE = 64  # The most terms of one phrase: to look for a longer one takes its length times that of a record

MAX_TERMS = 16  # The most terms of a broad question: a prompt may be a page, and each term costs a look into the index
MAX_RANKED = 48  # The most terms of a question by which records are ranked
MAX_PROMPT = 4000  # Characters of a prompt that are read: three quarters from its beginning, the rest from its end
PREFIX_FROM = 3  # Letters a spaced word needs before it is asked for as the beginning of a word
NAME_WEIGHT = 2.0  # What a name in code (`getUserName`, oauth2) says beside an ordinary word, which says 1.0

# What the lesser terms count in a ranking: a CJK bigram that reaches over a function word and so is a part of two
# words; a single CJK character, which is in many words; a part of a name in code, where the whole name is meant.
ACROSS, CHARACTER, PART = 0.3, 0.4, 0.7


class QueryRun(NamedTuple):
    """A word of a question, or a run of characters without spaces."""

    text: str
    is_unspaced: bool
    # Of an unspaced run what it says without function words; of a word its index terms: getuser, get, user
    parts: Sequence[str]


class Query(NamedTuple):
    """A question, a prompt or a task, cut into words once; whatever looks for records takes this value."""

    text: str  # As it was asked
    runs: tuple[QueryRun, ...] = ()  # Its words in their order
    # Its `MAX_TERMS` most meaningful terms, those that look rarest first: words in lower case and CJK bigrams
    subjects: tuple[str, ...] = ()
    # Stem → the word, and how much it says where it is found; only words among the subjects
    words: Mapping[str, tuple[str, float]] = {}
    pieces: tuple[str, ...] = ()  # Its unspaced runs without function words, where a subject is in them
    # The `MAX_RANKED` terms by which records are ranked, the heaviest first: 0.0–1.0
    weights: Mapping[str, float] = {}
    references: tuple[Reference, ...] = ()  # The records it names by id
    numbers: frozenset[int] = frozenset()  # The numbers of records that it asks for without a prefix: "ADR 7", "#7"
    folded: tuple[str, ...] = ()  # Its parts between white space, as a plain scan compares them


def parse_query(text: str) -> Query:
    """Return *text* cut into words: the one place where a question is."""
    runs = _cut_runs(text)
    subjects = tuple(_rank_subjects(runs)[:MAX_TERMS])
    kept = set(subjects)
    words: dict[str, tuple[str, float]] = {}
    for run in runs:
        for term in () if run.is_unspaced else run.parts:
            if term in kept:  # the whole of getUserName counts as a name, its parts as ordinary words
                is_name = term == run.parts[0] and _is_name(run.text, run.parts)
                words.setdefault(stem(term), (term, NAME_WEIGHT if is_name else 1.0))
    pieces = [
        piece
        for run in runs
        if run.is_unspaced
        for piece in run.parts
        if any(piece[i : i + 2] in kept for i in range(len(piece) - 1))
    ]
    return Query(
        text,
        runs,
        subjects,
        words,
        tuple(dict.fromkeys(pieces)),
        _weigh_terms(runs),
        tuple(dict.fromkeys((*find_references(text), *_find_spoken_ids(text)))),
        find_imported_numbers(text),
        tuple(fold_text(text).split()),
    )


def _cut_runs(text: str) -> tuple[QueryRun, ...]:
    found = iter_runs(truncate_prompt(text))
    return tuple(QueryRun(run, cjk, split_on_stop_words(run) if cjk else extract_word_terms(run)) for run, cjk in found)


def truncate_prompt(text: str) -> str:
    """Return what is read of a prompt: a pasted log must not cost a hook its time."""
    if len(text) <= MAX_PROMPT:
        return text
    return text[: MAX_PROMPT * 3 // 4] + " " + text[-MAX_PROMPT // 4 :]


def split_on_stop_words(run: str) -> list[str]:
    """Return what an unspaced run says without its function words and the words any task has."""
    found, start, at = [], 0, 0
    while at < len(run):
        if run[at : at + 2] in KEPT_ZH:  # 目的 holds 的, and is a word
            at += 2
            continue
        # The longest first: 为什么 is one stop word, not 为 and 什么.
        size = next((n for n in (4, 3, 2, 1) if run[at : at + n] in STOP_ZH), 0)
        if size:
            found.append(run[start:at])
            start = at + size
        at += size or 1
    return [piece for piece in map(_trim_particles, (*found, run[start:])) if piece]


def _trim_particles(piece: str) -> str:
    """Return *piece* without a character that hangs on it: 为支付服务 → 支付服务, 框架用 → 框架.

    Most Chinese words have two characters, so an odd length is the sign of one.
    """
    if len(piece) < 3 or len(piece) % 2 == 0:
        return piece
    if piece[0] in LEADING_ZH and piece[:2] not in KEPT_ZH:
        return piece[1:]
    return piece[:-1] if piece[-1] in TRAILING_ZH else piece


def _segment_words(piece: str) -> list[str]:
    """Return *piece* cut into likely words of two or three characters; without a dictionary this is a guess."""
    words, at = [], 0
    while at < len(piece):
        rest = len(piece) - at
        # 连接池超时 is cut behind 池, which closes a word of three.
        three = rest == 3 or (rest > 4 and piece[at + 2] in WORD_ENDINGS_ZH and piece[at + 1] not in "和与")
        size = 3 if three else 2
        words.append(piece[at : at + size])
        at += size
    if len(words) > 1 and len(words[-1]) == 1:
        words[-2:] = [words[-2] + words[-1]]
    return words


def list_names(query: Query) -> list[tuple[str, ...]]:
    """Return the ranking terms of each name in *query*: t4g, node_modules, RabbitMQ, and any word of 用 prettier 吗."""
    is_mixed = any(run.is_unspaced for run in query.runs)
    return [
        tuple(map(stem, run.parts))
        for run in query.runs
        if not run.is_unspaced
        and len(run.text) > 1
        and not run.text.isdigit()
        and (is_mixed or "_" in run.text or any(c.isdigit() or c.isupper() for c in run.text[1:]))
    ]


def is_identifier(word: str) -> bool:
    """Return whether *word*, as it is written, looks like a name in code: digits in it, humps, underscores."""
    return _is_name(word, extract_word_terms(word))


def _is_name(word: str, terms: Sequence[str]) -> bool:
    return len(word) > 2 and not word.isdigit() and (len(terms) > 1 or any(c.isdigit() for c in word))


def _estimate_rarity(word: str, terms: Sequence[str]) -> int:
    """Return how rare *word* looks: its letters, with a bonus for a name in code."""
    return len(word) + (6 if _is_name(word, terms) else 0)


def _is_meaningful(term: str) -> bool:
    if term in STOP_EN or term.startswith(SEPARATOR):
        return False
    return len(term) > 2 if term.isdigit() else len(term) > 1


def extract_subjects(text: str, limit: int = MAX_TERMS) -> list[str]:
    """Return the *limit* most meaningful terms of *text*, as in `Query.subjects`."""
    return _rank_subjects(_cut_runs(text))[:limit]


def _rank_subjects(runs: Iterable[QueryRun]) -> list[str]:
    """Return the meaningful terms of *runs*, those that look rarest first."""
    rarity: dict[str, int] = {}
    for run in runs:
        found: list[tuple[str, int]] = []
        if run.is_unspaced:
            # Bigrams that begin a likely word look rarer than those across two: 订单 and 超时 than 单超
            for piece in run.parts:
                begins = {0, *accumulate(map(len, _segment_words(piece)))}
                found += [(piece[i : i + 2], 8 if i in begins else 4) for i in range(len(piece) - 1)]
        else:
            whole, *parts = run.parts
            found = [(whole, _estimate_rarity(run.text, run.parts)), *((t, len(t)) for t in parts if len(t) > 2)]
            found = [(term, rare) for term, rare in found if _is_meaningful(term)]
        for term, rare in found:
            rarity[term] = max(rare, rarity.get(term, 0))
    return sorted(rarity, key=lambda term: -rarity[term])


def extract_keywords(query: Query, limit: int = 5) -> list[str]:
    """Return up to *limit* words that tell what *query* is about, in the order in which they are there."""
    rarity: dict[str, int] = {}
    for run in query.runs:
        if run.is_unspaced:
            for word in (word for piece in run.parts for word in _segment_words(piece)):
                rarity.setdefault(word, 5 + len(word) if len(word) > 1 else 0)
        else:
            word = run.text.casefold()
            rarity.setdefault(word, _estimate_rarity(run.text, run.parts) if _is_meaningful(word) else 0)
    best = sorted((word for word in rarity if rarity[word]), key=lambda word: -rarity[word])[:limit]
    return [word for word in rarity if word in best]


def _weigh_terms(runs: Iterable[QueryRun]) -> dict[str, float]:
    """Return the terms of *runs* by which records are ranked, `MAX_RANKED` at most.

    Words that any question has (怎么, 可以) are among them only where there are no others.
    """
    weights: dict[str, float] = {}
    idle: dict[str, float] = {}
    for run in runs:
        found: list[tuple[str, float]] = []
        if run.is_unspaced:
            inside = {piece[i : i + 2] for piece in run.parts for i in range(len(piece) - 1)}
            # In 订单的超时 the bigrams 单的 and 的超 reach over a function word.
            bigrams = [run.text[i : i + 2] for i in range(len(run.text) - 1)]
            found += [(bigram, 1.0 if bigram in inside else ACROSS) for bigram in bigrams]
            alone = 1.0 if len(run.text) == 1 else CHARACTER
            found += [(character, alone) for character in run.text if character not in FUNCTION_ZH]
            idle |= {t: w for t, w in found if w < 1.0 and (t in STOP_ZH or t in PARTICLES_ZH)}
            found = [(term, weight) for term, weight in found if term not in idle]
        else:
            found += [(stem(t), PART if at else 1.0) for at, t in enumerate(run.parts) if t not in FUNCTION_EN]
        for term, weight in found:
            weights[term] = max(weight, weights.get(term, 0.0))
    return dict(sorted((weights or idle).items(), key=lambda item: -item[1])[:MAX_RANKED])


# -- ids in a text --------------------------------------------------------------------------------

_CITATION = regex(r"(?<![\w.-])(?:((?:group/|agent/)?[\w.-]{1,64}):)?([A-Z]{1,2}\d{3,})(?![\w-])")
_NUMBER = r"0{0,6}([1-9]\d{0,6})"
"""The number of a record, with leading zeros or without."""
_NUMBERED = regex(rf"(?i)(?<![\w.-])(?:ADR|架构决策|决策记录)[-_ #]{{0,2}}{_NUMBER}(?!\w)")
# Where little else is asked, the number of any series of records: “rfc 17”, “DR_0008”
_IN_SERIES = regex(rf"(?i)(?<![\w.-])(?:[a-z]?dr|rfc|rfd|kep|tep)[-_ #]{{0,2}}{_NUMBER}(?!\w)")
# In a question of a few words a number behind such a word, or alone, is a record's: “show decision 17”, 记录 66, #214.
# In a long prompt “decision 2” may be a point of its own list, and #214 an issue.
_SPOKEN_NUMBER = regex(
    r"(?i)(?:(?<![a-z])(?:decision|record)(?: number| no\.?)?|决策|决定|记录|条目|编号)[-_ #]{0,2}"
    rf"{_NUMBER}(?![\w%]|\.\d)|(?<![\w#])#{_NUMBER}(?!\w)|"
    rf"第 {{0,2}}{_NUMBER} {{0,2}}[号条个]? {{0,2}}(?:决策|决定|记录|约束|规则)|"
    rf"\A\s*+{_NUMBER}\s*+号?\s*+\Z|(?<![\w-])0{{1,6}}([1-9]\d{{0,6}})(?:-[a-z]|\Z)"
)
_SPOKEN_ID = regex(rf"(?i)(?<![\w.:-])([a-z]{{1,12}}|[^\W\da-z]{{2,12}})([- #]?){_NUMBER}(?![\w%-]|\.\d)")
_SHORT_QUESTION = 40  # Characters up to which a question is about the record that it names so


def find_references(text: str) -> list[Reference]:
    """Return the records *text* names by id, with or without brackets: `[D001]`, `shop:D001`."""
    text = truncate_prompt(text)
    # Most prompts have no digit and so no id, and then no pattern is compiled for them
    found = _CITATION.findall(text) if any(map(str.isdecimal, text)) else ()
    references = (Reference(project, id) for project, id in found if id.rstrip("0123456789") in BY_PREFIX)
    return list(dict.fromkeys(references))


def _find_spoken_ids(text: str) -> Iterator[Reference]:
    """Yield the ids that *text*, a short question, has in another spelling: "D-105", 约束 3, and "d7" alone."""
    if len(text) > _SHORT_QUESTION or not any(map(str.isdecimal, text)):
        return
    for match in _SPOKEN_ID.finditer(text):
        word, joint, number = match.groups()
        kind = find_kind(word) or next((kind for kind in KINDS if word.endswith(kind.zh)), None)
        if kind is None and joint == "-" and len(word) > 2 and match[0] == text.strip():  # PIT-9: how “pitfall” begins
            begun = [one for one in KINDS if one.name.startswith(word.lower())]
            kind = begun[0] if len(begun) == 1 else None
        # P99, M1 and H2 name other things: a prefix is one with a hyphen, or where nothing else is asked
        is_alone = joint == "-" or f"{word}{joint}0" in match[0] or match[0] == text.strip()
        # 约束 C18, “decision D7”: the kind is said twice
        is_alone |= kind is not None and text[: match.start()].rstrip().casefold().endswith((kind.zh, kind.name))
        if kind and (is_alone or len(word) > 2 or word >= FIRST_CJK):
            yield Reference("", f"{kind.prefix}{int(number):03d}")


def find_imported_numbers(text: str) -> frozenset[int]:
    """Return the numbers by which *text* asks for records: "ADR 303", "adr-0303", or "0303" alone."""
    if not any(map(str.isdecimal, text)):
        return frozenset()
    found = _NUMBERED.findall(truncate_prompt(text))
    if len(text) <= _SHORT_QUESTION:
        found += [number for groups in _SPOKEN_NUMBER.findall(text) for number in groups if number]
        found += _IN_SERIES.findall(text)
    return frozenset(map(int, found))


# -- expressions for the full-text index ----------------------------------------------------------


def build_match_expression(query: str) -> str:
    """Return the FTS5 expression for every term of *query*, or "" where it has none.

    White space separates terms. A run of two or more CJK characters is an exact substring, a single one a prefix of
    a bigram (every occurrence), a spaced word of three letters or more the beginning of a word, other words and
    numbers whole. Runs that touch, as in `vue框架` and `foo.bar`, must be beside each other.
    """
    phrases = (
        phrase for chunk in query.split() for group in _group_adjacent_runs(chunk) for phrase in _quote_phrases(group)
    )
    return " AND ".join(islice(dict.fromkeys(phrases), MAX_PHRASES))


def build_named_expression(query: Query) -> str:
    """Return the FTS5 expression for the records that *query* may name by id or number, or "" where it names none."""
    ids = [reference.id for reference in query.references]
    ids += [f"{prefix}{number:03d}" for number in sorted(query.numbers) for prefix in ("ADR", *BY_PREFIX)]
    ids += [f"ADR{number}" for number in sorted(query.numbers)]
    return "tags : (" + " OR ".join(f'"{id.lower()}"' for id in dict.fromkeys(ids)) + ")" if ids else ""


def build_broad_expression(query: str, limit: int = MAX_TERMS) -> str:
    """Return the FTS5 expression for any of the *limit* most telling terms of *query*, or "" where it has none."""
    return " OR ".join(f'"{term}"' for term in extract_subjects(query, limit))


def _group_adjacent_runs(chunk: str) -> Iterator[list[tuple[str, bool]]]:
    """Yield the runs of *chunk* in groups that the index keeps beside each other; a separator parts two CJK runs."""
    group: list[tuple[str, bool]] = []
    for run, unspaced in iter_runs(chunk):
        if unspaced and group and group[-1][1]:
            yield group
            group = []
        group.append((run, unspaced))
    if group:
        yield group


def _quote_phrases(group: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield the phrase for runs that touch, a very long one in pieces; none that would match the index's separator."""
    terms: list[str] = []
    for run, unspaced in group[:-1]:
        terms += extract_run_terms(run) if unspaced else extract_word_terms(run)
    run, unspaced = group[-1]
    terms += (extract_run_terms(run)[:-1] or [run]) if unspaced else extract_word_terms(run)[:1]
    if any(term.startswith(SEPARATOR) for term in terms):
        return
    for at in range(0, len(terms), LONGEST_PHRASE):
        is_end = at + LONGEST_PHRASE >= len(terms)
        # A single character is a prefix of a bigram, 缓* of 缓存; a word of three letters the beginning of a word
        is_prefix = len(terms[-1]) == 1 if unspaced else len(terms[-1]) >= PREFIX_FROM and not terms[-1].isdigit()
        star = "*" if is_end and is_prefix and (unspaced or not SEPARATOR.startswith(terms[-1])) else ""
        yield f'"{" ".join(terms[at : at + LONGEST_PHRASE])}"{star}'
