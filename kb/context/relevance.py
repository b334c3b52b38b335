"""Filter search hits by relevance: stricter for hints nobody asked for, looser for a question or task.

A prompt is answered only where `filter_relevant` says so: nobody asked, and saying nothing costs less than saying
something idle. A task or a question was said on purpose, so a record may also be given whose title and tags hold half
of what was said. Of a question it is known what its terms are worth; a record that holds most of that, or half and a
word of it in its title, is given as well, and the first of them all where it holds half and surely a word of it: one
run of unspaced characters is worth half of a short question ("加拿大的首都"), and where words are not spaced
it may be no word of the text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import mul

from kb.index.postings import SCALE, compute_idf
from kb.records.model import GLOBAL, LIVE, Record, list_titles
from kb.search.query import Query, extract_subjects, list_names, parse_query
from kb.search.rank import (
    SearchHit,
    compute_title_share,
    find_common_substrings,
    fold_titles,
    fold_with_name_parts,
    has_word,
    is_named,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, count_characters, extract_ranking_terms, fold_text, stem

# The evidence that makes a record relevant to a prompt: two ordinary terms in its title or tags, or one distinctive
# term, or more of them in its body.
ENOUGH_EVIDENCE = 2.0
BODY_WEIGHT = 0.5  # what a term that is only in the body counts, where the index knows how rare it is
BODY_WEIGHT_UNKNOWN = 0.25  # the same where it does not: any long prompt shares four ordinary words with some body
CLOSE_SHARE = 0.7  # the share of the best record's evidence that another one needs to be named next to it
MIN_TITLE_SHARE = 0.75  # the share of a title from which on a prompt names the record by it
# Words of a title named so, and the evidence that is then enough: more words meet less often by chance.
TITLE_EVIDENCE = ((3.0, 0.5), (2.0, 0.9))
_MIN_EVIDENCE = min(evidence for _, evidence in TITLE_EVIDENCE)
RAREST_RECORDS = 3  # up to so many records a term is as rare as can be
COMMON_SHARE, COMMON_WEIGHT = (
    0.1,
    0.25,
)  # from this share of all records on a term says next to nothing: it counts so much
MIN_LONE_RARITY = 0.75  # how rare a lone term has to be to name the subject of a title by itself
MIN_HEAD_SHARE = 0.5  # the share of what was asked, in whole words, that is enough in a title
MIN_WORTH_SHARE = 0.75  # the share of what the terms of a question are worth that is enough anywhere in a record
MIN_BASE_RECORDS = 8  # records from which on scores tell a first hit from the others
MIN_CITED_PROMPT_SCORE = -0.35  # from which on a record is told that a file edited in this turn cites
CLOSE_HITS, CLOSE_SCORE = 3, 0.5  # a question is answered with so many hits, of at least this share of the best score
ORDINARY_SHARE = 0.3  # what a word that any task has counts beside others, of what a question says
CJK_TERM_SHARE = 0.45  # what a term of unspaced characters counts: a word has about two, which overlap
MAX_QUESTION_CHARACTERS = 75  # as `count_characters` has it: no question of those fitted on is longer, mails are
_ENDINGS, _CLOSING = ("?", "？", "吗", "呢"), " \t\n\"”'）」。.!！"  # of a question, and what may follow them
# Who wants something done asks nothing, whatever words are in it (补一段如何部署的说明), nor who wants an agent to
# look (看看哪个最慢).
_ORDER = regex(
    r"^(?:请|麻烦)?[你您]?(?:[给把将帮替](?!谁|哪)|检查|统计|解释|列出|更新|整理|优化|重构|实现|[加补改写删查看找][上个一下掉好])"
)
_LOOK = ("看看", "看下", "看一下", "查下", "查一下", "查查", "找一下", "排查", "帮我", "帮忙")
MAX_READ_RECORDS = 8  # records whose whole text is weighed, the best first


def filter_relevant(
    hits: Sequence[SearchHit],
    query: Query,
    *,
    scope: str = GLOBAL,
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
    texts: Mapping[str, FoldedRecord] | None = None,
) -> list[SearchHit]:
    """Return those of *hits*, in their order, that the prompt *query* is really about; often none.

    *frequency* may tell in how many of *total* records each subject of *query* stands; common terms then count less. A
    record that the prompt names by id is always relevant; another only while it is live. *texts* has records that are
    folded already, by path.
    """
    rarity: dict[str, float] | None = None
    if frequency and total:  # 1.0 for a term in a few records, down to COMMON_WEIGHT in a tenth of all or more
        steps, lost = math.log(max(total * COMMON_SHARE / RAREST_RECORDS, 2)), 1 - COMMON_WEIGHT
        rarity = {
            term: max(COMMON_WEIGHT, 1 - lost * math.log(max(n / RAREST_RECORDS, 1)) / steps)
            for term, n in frequency.items()
        }
    known = texts or {}
    weights = [
        score_evidence(known.get(hit.record.path) or fold_record(hit.record), query, rarity)
        if hit.record.status in LIVE
        else 0.0
        for hit in hits
    ]
    enough = max(ENOUGH_EVIDENCE, CLOSE_SHARE * max(weights, default=0.0))
    # Enough evidence, most of its title, its id, or a lone rare word that is its subject (“how do we handle JWT?”).
    return [
        hit
        for hit, weight in zip(hits, weights, strict=True)
        if weight >= enough
        or (rarity and weight >= _MIN_EVIDENCE and weight >= _find_title_threshold(hit.record, query))
        or is_named(hit.record, query, scope)
        or (rarity and weight and _is_title_subject(hit.record, query, rarity))
    ]


class PromptFactors(NamedTuple):
    """What each figure of a hit counts for (log-odds) a prompt being about it; above 0.0 the hit is told.

    Logistic models, fitted on the hook's own hits (`python -m bench.fitting`). The same names hold the figures.
    """

    bias: float
    covered: float = 0.0  # the share of the prompt that the record holds, each term as much as it is rare
    title: float = 0.0  # the share of its title that the prompt holds
    margin: float = 0.0  # how far its score lies above that of any other, as a logarithm
    raw: float = 0.0  # the score itself, as a logarithm
    known: float = 0.0  # how many words of the prompt any record holds, as a logarithm
    size: float = 0.0  # how many records there are, as a logarithm
    held: float = 0.0  # the share of the prompt that the record holds, rare or not; words of any task count less
    is_unspaced: float = 0.0  # whether it is Chinese, where the terms of a word overlap and many stand in no record
    unknown_names: float = 0.0  # how many names in the prompt no record has: STM32, or any word of letters in Chinese
    is_title: float = 0.0  # whether it says half of the title in two words and little else: it is told in any case


# Fitted on what developers wrote to have something done, with what a record governs and without, at the records of 18
# repositories, on the messages of commits of 22 others, and on bug reports. Of two authors that had no part in it, 4 of
# 10 English and half of the Chinese prompts that a record governs are told it, 1 of 100 others are answered; and of
# messages of commits that cite no record 9 of 100 English and 24 of 100 others. The bias is such that this share of the
# English ones is below a tenth; of Chinese ones a higher bias would take more that is right than wrong. It was raised
# from −4.4 when scores came to count the length of a text more: as many that ask nothing are told as before.
TASK = PromptFactors(bias=-4.2, covered=1.4, title=0.95, margin=2.75, raw=1.0, known=1.35, size=-0.3, is_unspaced=0.2)
# Fitted on questions of five authors in two languages that a record answers or none does, each asked of the records
# they are about and of those of all 29 repositories together (`python -m bench.fitting`). Each author left out in turn,
# 85 of 100 English and 76 of 100 Chinese questions on records of repositories are answered, and 3 of 100 prompts that
# no record answers; of questions about the very subject of a record that does not answer them, three in ten. Neither
# the lead over other records nor the share of a title tells anything here; how rare a word is, is in the score already.
# Names that no record has tell much in Chinese: without them 77 of 100, with them 87 are told at 4 of 100 others.
# The size is at −0.4 by hand: fitted, it is −0.86, but the one large base of all repositories has many records on each
# subject, and of 150 records on one matter a question in other words would get none.
QUESTION = PromptFactors(bias=-5.55, held=3.98, raw=6.31, known=1.02, size=-0.4, is_unspaced=1.64, unknown_names=-1.86)


def limit_terms(weights: Mapping[str, float], limit: float) -> dict[str, float]:
    """Return the first of *weights* that are *limit* words together, so that as much is read of either language."""
    kept: dict[str, float] = {}
    for term, weight in weights.items():
        if limit <= 0:
            break
        kept[term] = weight
        limit -= _measure_term(term)
    return kept


def measure_hits(
    hits: Sequence[SearchHit],
    query: Query,
    *,
    total: int,
    frequency: Mapping[str, int],
    held: Mapping[str, Collection[str]],
    is_asked: bool = False,
    translated: Collection[str] = (),
) -> list[PromptFactors | None]:
    """Return the figures of each of *hits*, best first; None for one that is told in no case.

    *frequency* says in how many of *total* records each ranking term of *query* occurs, *held* which of them each
    record holds, by its path; the part "raw" of a hit is its score in the index. A question *is_asked*. *translated*
    are the terms for which there are other words, as in another language.
    """
    most = compute_idf(0, total)
    worth = {term: query.weights[term] * compute_idf(n, total) / most for term, n in frequency.items()}
    # a spaced word that is no subject is one of any task: “use”, “error”
    said = {
        term: query.weights[term] * (1.0 if term >= FIRST_CJK or term in query.words else ORDINARY_SHARE)
        for term in worth
    }
    foreign = {term for term in worth if term < FIRST_CJK or term in translated}
    weight = sum(query.weights[term] for term in frequency) or 1.0
    whole = sum(query.weights[term] * _measure_term(term) for term in frequency)
    raw = [hit.parts.get("raw", 0.0) / (SCALE**2 * most) for hit in hits]
    known = math.log1p(sum(_measure_term(term) for term, n in frequency.items() if n))
    unknown = sum(any(frequency.get(term) == 0 for term in name) for name in list_names(query))
    found: list[PromptFactors | None] = []
    for hit, score in zip(hits, raw, strict=True):
        there = held.get(hit.record.path, ())
        title = dict.fromkeys(extract_ranking_terms(" ".join(list_titles(hit.record))))
        # an English record cannot hold the Chinese words of a prompt: they say nothing against it
        asked = worth if any(term >= FIRST_CJK for term in title) else foreign
        covered, share = (
            sum(of[term] for term in there if term in asked) / (sum(of[term] for term in asked) or 1.0)
            for of in (worth, said)
        )
        # and where something is to be done, one English word among them is no subject
        in_title = len(asked) == len(worth) and any(term in worth for term in title)
        if hit.record.status not in LIVE or not (is_asked or _shares_enough(there, covered, in_title)):
            found.append(None)
            continue
        # what came from the same source is no other
        rivals = [
            rival
            for other, rival in zip(hits, raw, strict=True)
            if other is not hit and {*other.record.sources}.isdisjoint(hit.record.sources)
        ]
        margin = score - max(rivals, default=0.0)
        named = [term for term in there if term in title and _is_whole_word(term)]
        title_share = sum(map(_measure_term, named)) / sum(map(_measure_term, title)) if named else 0.0
        figures = PromptFactors(
            bias=1.0,
            covered=covered,
            title=title_share,
            margin=math.log1p(max(margin, 0.0)),
            raw=math.log1p(score * whole / weight),
            known=known,
            size=math.log(max(total, 1)),
            held=share,
            is_unspaced=float(bool(query.pieces)),
            unknown_names=float(unknown),
            is_title=float(len(named) > 1 and min(covered, title_share) >= MIN_HEAD_SHARE),
        )
        found.append(figures)
    return found


def score_figures(figures: PromptFactors | None, *, is_asked: bool) -> float:
    """Return what the *figures* of a hit say for the prompt being about it: from 0.0 on it is."""
    if figures is None:
        return -math.inf
    score: float = sum(map(mul, QUESTION if is_asked else TASK, figures))
    return max(score, 0.0) if figures.is_title and not is_asked else score


def select_told(hits: Sequence[SearchHit], scores: Sequence[float], *, is_asked: bool) -> list[SearchHit]:
    """Return those of *hits*, best first, that a prompt is told, by their *scores*; none where the first is not.

    A question that the first answers likely is told `CLOSE_HITS`: which of those near it answers, words often do not
    tell.
    """
    if not scores or scores[0] < 0.0:
        return []
    if not is_asked:
        return [hit for hit, score in zip(hits, scores, strict=True) if score >= 0.0]
    least = CLOSE_SCORE * hits[0].parts.get("raw", 0.0)
    near = [hit for hit in hits if hit.record.status in LIVE and hit.parts.get("raw", 0.0) >= least]
    return near[:CLOSE_HITS]


def _measure_term(term: str) -> float:
    return CJK_TERM_SHARE if term >= FIRST_CJK else 1.0


def _is_whole_word(term: str) -> bool:
    """Return whether *term* is no number and no single character, which is part of a word: 支 and 付 of 支付."""
    return len(term) > 1 and not term.isdigit()


def is_question(query: Query) -> bool:
    """Return whether the prompt *query* asks something, in one of the forms that questions have."""
    from kb.search.intent import asks_something

    text = query.text.strip()
    if len(text) > 3 * MAX_QUESTION_CHARACTERS or count_characters(text) > MAX_QUESTION_CHARACTERS:
        return False
    if not text.isascii() and any(map(text.__contains__, _LOOK)):
        return False
    return text.rstrip(_CLOSING).endswith(_ENDINGS) or (asks_something(text) and not _ORDER.match(text))


def _shares_enough(there: Collection[str], covered: float, in_title: bool) -> bool:
    """Return whether a record shares more with a prompt than chance: one word is chance, and a number is no word."""
    if in_title and covered > MIN_WORTH_SHARE:
        return True
    words = sum(map(_is_whole_word, there))
    return words > 2 or (words == 2 and (in_title or covered >= MIN_HEAD_SHARE))


def filter_task_hits(
    hits: Sequence[SearchHit],
    query: Query,
    *,
    scope: str = GLOBAL,
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
    synonyms: Iterable[str] = (),
    worth: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """Return those of *hits*, in their order, that are about the task or question *query*.

    *frequency* and *total* are what `filter_relevant` takes; *synonyms* are other words for what was said; *worth* has
    the terms of a question, those too that no record has.
    """
    texts = {hit.record.path: fold_record(hit.record) for hit in hits if hit.record.status in LIVE}
    known = filter_relevant(hits, query, scope=scope, frequency=frequency, total=total, texts=texts)
    sure = {hit.record.path for hit in known}
    wider = parse_query(" ".join((query.text, *synonyms))) if synonyms else query
    enough = min(ENOUGH_EVIDENCE, math.ceil(MIN_HEAD_SHARE * count_query_words(query)) or 1)
    first = next((hit.record.path for hit in hits if hit.record.status in LIVE), "")
    read = {hit.record.path for hit in hits[:MAX_READ_RECORDS]} if worth else set()
    # A Chinese text often says the rest in other words than the record; a spaced word in it that few records have is
    # what it is about (“升级 react”).
    names = Query("")
    if frequency and any(run.is_unspaced for run in query.runs):
        few = max(RAREST_RECORDS, COMMON_SHARE * total)
        names = Query(
            "", words={root: word for root, word in query.words.items() if 0 < frequency.get(word[0], 0) <= few}
        )

    def is_relevant(hit: SearchHit) -> bool:
        path = hit.record.path
        if path in sure or hit.record.status not in LIVE:
            return path in sure
        head = texts[path]._replace(body="")  # in a long text one half of any question stands somewhere
        if names.words and score_evidence(head, names) >= 1:
            return True
        in_head = score_evidence(head, wider)
        held = 0.0
        if worth and path in read:
            parts = (*list_titles(hit.record), *hit.record.tags, *(section.text for section in hit.record.sections))
            terms = set(extract_ranking_terms(" ".join(parts)))
            held = sum(weight for term, weight in worth.items() if term in terms) / (sum(worth.values()) or 1.0)
        if in_head >= enough or held >= MIN_WORTH_SHARE:
            return True
        if held < MIN_HEAD_SHARE or (in_head < 1 and path != first):
            return False
        # Of the first record one sure word is enough: a spaced one, or two runs of unspaced characters. A lone run may
        # be half of a word, or stand across two (“加拿大的首都” and 大的).
        text = _fold_record_text(hit.record)
        has_spaced_word = any(has_word(word_stem, text) for word_stem in query.words)
        return in_head >= 1 or has_spaced_word or len(find_common_substrings(query.pieces, text)) > 1

    return [hit for hit in hits if is_relevant(hit)]


def count_query_words(query: Query) -> float:
    """Return how much was asked: 1.0 for a word, and for two characters of an unspaced one."""
    return len(query.words) + sum(len(piece) / 2 for piece in query.pieces)


# -- evidence -------------------------------------------------------------------------------------


class FoldedRecord(NamedTuple):
    """A record as words are looked for in it: title and tags, with the parts of names in code, and its text."""

    head: str
    body: str


def fold_record(record: Record) -> FoldedRecord:
    """Return *record* as words are looked for in it."""
    head = fold_with_name_parts(" ".join((*list_titles(record), *record.tags)))
    return FoldedRecord(head, fold_text("\n".join(section.text for section in record.sections)))


def score_evidence(record: FoldedRecord, query: Query, rarity: Mapping[str, float] | None = None) -> float:
    """Return how much speaks for *record* being about what was asked: 1.0 for an ordinary term in title or tags."""
    rare = rarity or {}
    in_text = BODY_WEIGHT_UNKNOWN if rarity is None else BODY_WEIGHT
    head, body = record
    worth = 0.0
    for word_stem, (term, weight) in query.words.items():
        here = 1.0 if has_word(word_stem, head) else in_text if has_word(word_stem, body) else 0.0
        worth += here * weight * rare.get(term, 1.0)
    in_head = find_common_substrings(query.pieces, head)
    in_body = {
        part for part in find_common_substrings(query.pieces, body) if not any(part in h or h in part for h in in_head)
    }
    for here, parts in ((1.0, in_head), (in_text, in_body)):
        # Two shared unspaced characters are one word (支付), four are two words in a row (支付回调).
        worth += sum(here * min(len(part) / 2, ENOUGH_EVIDENCE) * _find_max_rarity(part, rare) for part in parts)
    return worth


def _find_max_rarity(part: str, rarity: Mapping[str, float]) -> float:
    known = [rarity[part[i : i + 2]] for i in range(len(part) - 1) if part[i : i + 2] in rarity]
    return max(known, default=1.0)


def _find_title_threshold(record: Record, query: Query) -> float:
    """Return the evidence that makes *record* relevant where most of its title was asked for."""
    # Unspaced words are asked for by their bigrams: 支付回调 has 支付, 付回 and 回调.
    bigrams = {piece[i : i + 2] for piece in query.pieces for i in range(len(piece) - 1)}
    terms = extract_subjects(record.title)
    named = [term for term in terms if term in bigrams or stem(term) in query.words]
    if len(named) < MIN_TITLE_SHARE * len(terms):
        return ENOUGH_EVIDENCE
    words = sum(0.5 if term >= FIRST_CJK else 1.0 for term in named)
    return next((evidence for least, evidence in TITLE_EVIDENCE if words >= least), ENOUGH_EVIDENCE)


def _is_title_subject(record: Record, query: Query, rarity: Mapping[str, float]) -> bool:
    """Return whether all that was asked about, however little, is in the title and is rare."""
    terms = [rarity.get(term, 0.0) for term, _ in query.words.values()]
    terms += [_find_max_rarity(piece, rarity) for piece in query.pieces]
    return bool(terms) and min(terms) >= MIN_LONE_RARITY and compute_title_share(fold_titles(record), query) == 1.0


def _fold_record_text(record: Record) -> str:
    return fold_text("\n".join((*list_titles(record), *record.tags, *(section.text for section in record.sections))))


def has_whole_keyword(record: Record, keyword: Query) -> bool:
    """Return whether *record* holds every word of *keyword*, in whichever of their forms.

    Of an unspaced word all characters have to be there: 数据 does not hold 数据库, and 支付的回调 does hold 支付回调.
    Words that any question has ("the", 怎么) are no part of it.
    """
    text = _fold_record_text(record)
    runs = [run.parts for run in keyword.runs if not run.is_unspaced]
    names = [terms for terms in runs if any(stem(term) in keyword.words for term in terms)]
    for terms in names:  # a name is there whole or in parts: getuser, get, user
        whole, *parts = (has_word(stem(term), text) for term in terms)
        if not (whole or (parts and all(parts))):
            return False
    return bool(names or keyword.pieces) and all(_is_composed_of(piece, text) for piece in keyword.pieces)


def _is_composed_of(piece: str, text: str) -> bool:
    """Return whether *piece* can be cut into parts of two or three characters that all are in *text*."""
    reached = {0}
    for end in range(2, len(piece) + 1):
        if any(start in reached and piece[start:end] in text for start in (end - 2, end - 3)):
            reached.add(end)
    return len(piece) in reached
