"""Compare two records as wholes: whether they are about one subject, and what one denies that the other affirms.

Two people who write about one subject share its rare words, and little else. Those decide whether they write of the
same; the clauses that deny something decide what cannot both hold. Where neither decides, the writer is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from kb.similarity.lexicon import near_words
from kb.similarity.tokens import split_plain_sentences, weigh_term
from kb.startup.lazy_regex import regex, regex_rows
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import extract_word_terms, iter_runs, stem, strip_inflection

READ = 600  # Characters of a decision that tell what it is about
SENTENCES, CORE = 2, 300  # Sentences and characters of a decision in which it affirms and denies what was decided
OPPOSED = 0.28  # The score that is enough where one expressly denies what the other's title says
EVIDENCE = 2.6  # What common terms must weigh
STRENGTH = 1.2  # What the terms must weigh that one denies and the other affirms: more than a common word of a title
LOOSE = 1.0  # The same where they only stand in the way of a merge
TITLE = 1.5  # How much heavier a term of the title weighs

LIGHT = 0.5  # What weighs less is not looked for in the other record
COVERED = 0.6  # Share of what is turned down that the other must affirm
LIMITED = 0.5  # More than this share of each thing for which it is turned down

PATH = regex(r"(?<![\w./-])[\w-]{1,60}(?:/[\w.-]{1,60})+\.\w{1,5}\b")  # One file may hold two subjects
_CLAUSE_END = regex(r"[,;:!?，；：。！？()（）、—\n]|\.(?=\s|$)|\b(?:but|while|whereas|and then)\b")

# The verb behind is denied, and what it acts on: "do not use X", 不再使用 X, 禁止 X. “X, not the Y” only contrasts.
_NEGATION = regex_rows(
    (
        ("ot", "ever", "annot", "void", "orbid", "efus", "n't", "n’t"),
        r"\b(?:[Nn]ot(?! (?:the|an?)\b)|[Nn]ever|[Cc]annot|[Aa]void(?:s|ed)?|[Ff]orbid(?:s|den)?|[Rr]efus(?:e|es|ed))\b"
        r"|n['’]t\b",
    ),
    (
        ("不", "禁止", "严禁", "无需", "无须", "别", "勿", "避免", "拒绝"),
        r"不(?![同变过管仅断论只足错久]|一致|可变)|禁止|严禁|无需|无须|别(?![名的人])|勿|避免|拒绝",
    ),
)
# The thing behind is denied: "no X", 弃用 X. In capitals DELETE is a request.
_ABSENCE = regex(r"\b(?:[Nn]o|[Nn]one of|[Ww]ithout|[Nn]either|[Nn]or|[Nn]othing|[Nn]obody)\b(?!-)|没有")
# The same of a verb that ends a practice. It begins its clause: "Doze stops the service" ends none.
_ENDED_ZH = "取消|弃用|废弃|停止|停用|禁用|移除|去掉|去除|放弃|淘汰"
_END_OF_PRACTICE = regex_rows(
    (
        ("top", "eas", "rop", "emov", "etir", "bandon", "rid of", "Ban", "ban", "isabl", "eprecat", " out", "way from"),
        r"\b(?:[Ss]top(?:s|ped|ping)?|[Cc]eas(?:e|es|ed)|[Dd]rop(?:s|ped|ping)?|[Rr]emov(?:e|es|ed|ing|al of)"
        r"|[Rr]etir(?:e|es|ed|ing)|[Aa]bandon(?:s|ed|ing)?|[Gg][eo]t(?:s|ting)? rid of|[Bb]an(?:s|ned)?"
        r"|[Dd]isabl(?:e|es|ed)|[Dd]eprecat(?:e|es|ed|ing)|[Pp]has(?:e|es|ed|ing) out"
        r"|[Mm]ov(?:e|es|ed|ing) away from)\b",
    ),
    (
        _ENDED_ZH.split("|"),
        _ENDED_ZH,
    ),
)
_BEFORE_PRACTICE = regex(
    r"(?:^|\b(?:[Ww]e|must|should|have|has|will|shall|and|to|now|then|already|要|已|将|并|都|统一))\s*$"
)
# A verb phrase before these only says when or of which: 取消订单时, 删除接口为 DELETE
_MODIFIER_END = regex(r"[时后前]|失败|接口|为")
# What follows is denied up to what comes in its place: "replace X with Y", "from X to Y", 用 Y 代替 X, 从 X 迁移到 Y
_REPLACEMENT = regex_rows(
    (
        ("nstead of", "ather than", "n place of", "eplac", "wap", "rom", "ver"),
        r"\b(?:[Ii]nstead of|[Rr]ather than|[Ii]n place of|[Rr]eplac(?:e|es|ed|ing)|[Ss]wap(?:s|ped|ping)?"
        r"|[Ff]rom(?= [\w.-]{1,30} to\b)|[Oo]ver(?= [A-Z]))\b",
    ),
    (
        ("而", "代替", "取代", "替", "从"),
        r"而不是|而非|代替|取代|替换|替代|从(?=[^，。；]{1,12}(?:迁移?|切换?|换|改|升级?)[到成为用])",
    ),
)
_IN_ITS_PLACE = regex(r"\b(?:with|by|to|for|as|in)\b|改用|换成|换为|改成|改为|迁移?到|切换?到|升级?到|为")
# What precedes is denied: "X is no longer written", "X goes away", X 已下线
_ENDED = (
    "removed|gone|banned|forbidden|dropped|retired|rejected|deprecated|disallowed|prohibited|replaced|phased out"
    "|switched off|turned off|deleted|abandoned|disabled|discontinued|out"
)
_ENDING = regex_rows(
    (
        (*_ENDED.split("|"), "disappear", "away", "not ", "no longer ", "never ", "n't ", "n’t "),
        r"\b(?:is|are|was|were|be|been|being|gets?|got) (?:now |all |also |being |been )?"
        rf"(?:{_ENDED}(?: of)?"
        r"|(?:not|no longer|never) (?:\w{1,20}ly )?(?:used|allowed|needed|written|built|supported|permitted|added"
        r"|served|created|wanted|accepted|maintained|offered|kept|available|an option))\b"
        r"|\b(?:isn['’]t|aren['’]t) (?:used|allowed|needed|supported|permitted|written)\b"
        r"|\b(?:disappears?|goes away|went away|go away)\b",
    ),
    (
        ("下线", "弃用", "废弃", "移除", "取消", "停用", "淘汰", "禁用", "不再", "不用", "不使用"),
        r"(?:下线|弃用|废弃|移除|取消|停用|淘汰|禁用|不再使用|不再用|不用|不使用)(?:了|掉)?$",
    ),
)
_BOUNDED = regex(
    r"不能?不|not only\b|no later|no more than|not more than|no less than|不超过|不少于|不低于|不高于|不大于|不小于"
)
# A denial behind these is a condition or a purpose, not what was decided: "if it does not answer", 如果不可用
_CONDITION = regex(
    r"\b(?:if|when|unless|until|because|since|so that|which|that|whether|once)\b|如果|若|当|即使", re.IGNORECASE
)
# A verb after which only the thing counts: who adds no interactors has none, 不引入 Swift
_ADOPTING = frozenset(
    "add introduc us adopt writ creat build support keep have need want allow requir provid offer rely relying longer"
    " ever be 引入 使用 采用 新增 再用 再写 允许 支持 需要 要求 提供 保留 接入".split()
)
_SHORT_VERBS = frozenset("用写加设建走")
_VERB_BEHIND = regex(r"\s*(?:longer |ever |be |only |[再会能得要许可应]{0,2})(\w{1,30})?")
_LIMIT = regex(
    r"\b(?:as|for|in|on|to|from|into|with|when|by|at|through|via|of|inside|until|before|after|per|directly)\b|作为|用于|在|里"
)
# What is said before a denial and sets a bound: "below 30 % a device is not updated", 电量低于三成不允许升级
_BOUND = regex(
    r"\b(?:[Bb]elow|[Aa]bove|[Uu]nder|[Oo]ver|(?:[Ll]ess|[Mm]ore|[Ff]ewer) than|[Dd]uring|[Oo]utside)\b"
    r"|低于|高于|超过|不足|不满|未满|少于|多于|大于|小于|期间|期内"
)
_LIST = regex(r"\b(?:and|or|nor)\b|或者|以及|[、/和或与及]")


class _Span(NamedTuple):
    """A part of a clause that is turned down, by positions."""

    start: int
    end: int
    rest: int  # Where what limits it begins
    verb: str = ""  # The word after a negation
    actor_end: int = 0  # Where the part ends that says who


class Denial(NamedTuple):
    """One thing that a record turns down."""

    clause: str
    verb: str  # What is not done with it: "" where any use is meant
    terms: frozenset[str]  # What is turned down
    head: str  # The last of them: "no Docker images" is about images
    limits: tuple[Sequence[str], ...]  # For, in or as what: "Redis | as a database"; without one, altogether
    actor: frozenset[str]  # What is said before: "pages for members | are not cached"
    is_bounded: bool  # Whether that sets a bound, so that beyond it nothing is denied
    in_title: bool


class Stance(NamedTuple):
    """What a record is about, what it affirms and what it denies."""

    wording: frozenset[tuple[str, ...]]  # Each three words, or Chinese characters, in a row

    weights: Mapping[str, float]  # Term → its weight
    affirmed: Mapping[str, float]  # Term → TITLE where the title affirms it, else 1.0
    denials: tuple[Denial, ...]
    affirmed_text: str  # What title and first sentences say, without the parts that they deny

    @property
    def named(self) -> frozenset[str]:
        """The weighty terms that the title affirms."""
        return frozenset(t for t, factor in self.affirmed.items() if factor > 1 and weigh_term(t) >= LIGHT)

    @property
    def denied(self) -> frozenset[str]:
        """Every term that is turned down."""
        return frozenset(term for denial in self.denials for term in denial.terms)


class Opposition(NamedTuple):
    """What one record denies and the other affirms."""

    strength: float  # Weight of the terms, those of titles heavier
    denial: str  # The clause that denies
    is_by_new: bool


def extract_terms(text: str) -> Iterator[str]:
    """Yield the terms of *text*: stems, those of near meaning as one, and pairs of Chinese characters."""
    near = near_words()
    for run, is_unspaced in iter_runs(text):
        if is_unspaced:
            yield from (run[at : at + 2] for at in range(max(len(run) - 1, 1)))
        else:
            # An identifier is one word: what else says “merge_records” says nothing more of records
            for word in (run.lower(),) if run[:2].isupper() or "_" in run else extract_word_terms(run):
                yield near.get(word) or near.get(strip_inflection(word)) or stem(word)


@lru_cache(maxsize=512)
def parse_stance(title: str, decision: str) -> Stance:
    """Return what a record with *title* and *decision* is about, affirms and denies."""
    title, decision = PATH.sub(" ", title), PATH.sub(" ", decision[:READ])
    weights: dict[str, float] = {}
    affirmed: dict[str, float] = {}
    denials: list[Denial] = []
    said: list[str] = []
    core = " ".join(split_plain_sentences(decision)[:SENTENCES])[:CORE]
    for text, factor in ((title, TITLE), (core, 1.0)):
        for clause in filter(None, map(str.strip, _CLAUSE_END.split(text))):
            spans = [*_find_denied_spans(clause)]
            denials += (each for span in spans for each in _parse_denials(clause, span, in_title=factor > 1))
            said.append(_cut_spans(clause[: _find_doubtful(clause)], spans))
            for term in extract_terms(said[-1]):
                affirmed[term] = max(affirmed.get(term, 0.0), factor)
    for text, factor in ((title, TITLE), (decision, 1.0)):
        for term in extract_terms(text):
            weights.setdefault(term, weigh_term(term) * factor)
    runs = ((run if is_unspaced else (run.lower(),)) for run, is_unspaced in iter_runs(f"{title}\n{decision}"))
    words = [word for run in runs for word in run]
    return Stance(
        frozenset(zip(words, words[1:], words[2:], strict=False)),
        {term: weight for term, weight in weights.items() if weight},
        affirmed,
        tuple(denials),
        "; ".join(said),
    )


def _find_denied_spans(clause: str) -> Iterator[_Span]:
    """Yield the parts of *clause* that it denies, none of which reaches into another of its kind."""
    condition = _CONDITION.search(clause)
    limit = condition.start() if condition else len(clause)
    ending = _ENDING.search(clause)
    if ending and 0 < ending.start() < limit:
        yield _Span(0, ending.start(), ending.end())
        return
    for match in _REPLACEMENT.finditer(clause, 0, limit):
        after = _IN_ITS_PLACE.search(clause, match.end())
        end = after.start() if after else len(clause)
        # "over MySQL | for order storage" says for what, "replace MySQL | with Redis" by what
        yield _Span(match.end(), end, end if after and after[0] in ("for", "as", "in") else len(clause))
    negation, absence = _NEGATION.search(clause, 0, limit), _ABSENCE.search(clause, 0, limit)
    if negation and not _BOUNDED.match(clause, negation.start()):
        verb = _VERB_BEHIND.match(clause, negation.end())
        yield _Span(negation.end(), len(clause), len(clause), (verb[1] if verb else "") or "", negation.start())
    elif absence:
        # "Without an index the list runs one query per row" says what would happen
        if (absence.start() or absence[0] != "Without") and not _BOUNDED.match(clause, absence.start()):
            yield _Span(absence.end(), len(clause), len(clause), "", absence.start())
    elif (
        (ended := _END_OF_PRACTICE.search(clause, 0, limit))
        and _BEFORE_PRACTICE.search(clause[: ended.start()])
        and (ended[0].isascii() or not _MODIFIER_END.search(clause, ended.end()))
    ):
        yield _Span(ended.end(), len(clause), len(clause))


def _parse_denials(clause: str, span: _Span, *, in_title: bool) -> Iterator[Denial]:
    """Yield what *span* of *clause* turns down: one for each thing of a list, all with the same limits."""
    verb = next(extract_terms(span.verb), "")
    start = span.start
    if not verb.isascii():  # 使用, 用: the characters after the verb begin a word
        size = 1 if verb[0] in _SHORT_VERBS else len(verb)
        start = clause.index(span.verb, start) + size
        verb = verb if size > 1 else ""
    actor = frozenset(filter(weigh_term, extract_terms(clause[: span.actor_end])))
    is_bounded = _BOUND.search(clause, 0, span.actor_end) is not None
    first, *behind = _LIMIT.split(clause[start : span.end])
    if not _collect_terms(first):
        if not (weigh_term(verb) or actor):
            return  # "rights on repositories, | never on records": another clause says what is not so
        first = clause[span.start : span.end]
    limits = tuple(filter(None, map(_collect_terms, (*behind, *_LIMIT.split(clause[span.rest :])))))
    for thing in _LIST.split(first):
        if terms := _collect_terms(thing):
            own = [term for term in terms if term != verb and term not in _ADOPTING] or terms
            yield Denial(
                clause,
                "" if verb in _ADOPTING or not weigh_term(verb) else verb,
                frozenset(own),
                own[-1],
                limits,
                actor,
                is_bounded,
                in_title,
            )


def _collect_terms(text: str) -> list[str]:
    return [term for term in extract_terms(text) if weigh_term(term) >= LIGHT]


def _find_doubtful(clause: str) -> int:
    """Return where a part of *clause* begins that says for what purpose or on what condition something is denied."""
    condition = _CONDITION.search(clause)
    denies = condition and (_NEGATION.search(clause, condition.end()) or _ABSENCE.search(clause, condition.end()))
    return condition.start() if condition and denies else len(clause)


def _cut_spans(clause: str, spans: Sequence[_Span]) -> str:
    kept = list(clause)
    for span in spans:
        kept[span.start : span.end] = " " * len(kept[span.start : span.end])
    return "".join(kept)


# -- two records ----------------------------------------------------------------------------------


def score_subject(one: Stance, other: Stance) -> float:
    """Return how much two records are about one subject: the cosine of the weights of their terms (0.0–1.0).

    Less in common than EVIDENCE says nothing: 0.0.
    """
    common = one.weights.keys() & other.weights.keys()
    if sum(min(one.weights[term], other.weights[term]) for term in common) < EVIDENCE:
        return 0.0
    norms = (math.sqrt(sum(weight * weight for weight in each.weights.values())) for each in (one, other))
    return sum(one.weights[term] * other.weights[term] for term in common) / (math.prod(norms) or 1.0)


def find_opposition(old: Stance, new: Stance, *, loose: bool = False) -> Opposition | None:
    """Return what one of two records turns down and the other is about, the weightiest first; None for nothing.

    *loose*: the other need not be about it, only affirm it; and it may be a common word.
    """
    found = [
        Opposition(strength, denial.clause, is_new)
        for one, other, is_new in ((old, new, False), (new, old, True))
        for denial in one.denials
        if (strength := _weigh_denial(denial, one, other, loose=loose)) >= (LOOSE if loose else STRENGTH)
    ]
    return max(found, key=lambda each: each.strength, default=None)


def _weigh_denial(denial: Denial, one: Stance, other: Stance, *, loose: bool) -> float:
    """Return what the terms of *denial* weigh that *other* affirms; 0.0 where these are too few."""
    free = denial.terms - other.denied
    if denial.verb and denial.verb not in other.affirmed:
        return 0.0
    if not free or denial.head not in other.affirmed:
        return 0.0
    if not loose and not any(other.affirmed.get(term, 0.0) > 1 for term in free):
        return 0.0
    # "Pages for members are not cached" / "Pages for guests are cached", 夜间不限速 / 白天限速: each about its own
    if denial.actor and other.named - one.weights.keys() and not (loose and denial.actor <= other.weights.keys()):
        return 0.0
    if denial.is_bounded and not loose and _share_affirmed(denial.actor, other) <= LIMITED:
        return 0.0
    if _share_affirmed(free, other) < COVERED or any(_share_affirmed(each, other) <= LIMITED for each in denial.limits):
        return 0.0
    found = [term for term in free if term in other.affirmed]
    if loose and len(found) + bool(denial.verb) < 2:  # one word, of whatever sense, proves nothing
        return 0.0
    return sum(weigh_term(term) * other.affirmed[term] for term in found) * (TITLE if denial.in_title else 1.0)


def _share_affirmed(terms: Collection[str], other: Stance) -> float:
    total = sum(map(weigh_term, terms))
    return sum(weigh_term(term) for term in terms if term in other.affirmed) / total if total else 0.0
