"""Retrieve from the index the records that may answer a query, and score them.

Beside its terms, a record's score has what vectors say, what is beside it in one source, how close together the
words of the question are in its text, and how much of its title was asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from kb.index.database import Index
from kb.index.postings import MIN_MISSPELLED_LETTERS, WeightedTerm
from kb.index.schema import ALL, Filter
from kb.records.model import list_titles
from kb.search.query import FUNCTION_EN, Query, build_match_expression, build_named_expression
from kb.search.rank import SearchHit, SynonymGroup, iter_synonym_terms
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import FIRST_CJK, extract_ranking_terms, fold_text, iter_runs

if TYPE_CHECKING:
    from typing import Protocol

    class TermIndex(Protocol):
        """What knows the terms of records."""

        def find_known_terms(self, asked: Mapping[str, float]) -> list[WeightedTerm]:
            """Return those of the terms *asked* that are in any record, the most telling first."""

        def find_similar_words(self, word: str, slips: int) -> list[str]:
            """Return the words that begin as *word* does and are as long but for *slips* letters."""


READ = 24  # Records whose text is looked at; the others of those found keep the score of their terms

WORDS, SENTENCE = 2, 6  # Below `WORDS` meaningful terms are a filter, from `SENTENCE` on they are a question
FEW = 3  # Records that hold all that was asked and are no answer yet

# Records that hold all that was asked, from which on the full-text index takes too long to put them in order
MANY = 200

TELLING = 8  # Terms of a question whose closeness is measured
SYNONYM = 0.4  # What a synonym counts beside the word that was asked
MISSPELLED = 0.7  # What a word counts that is spelled like one that no record has

# What is added for words that stand close together, for a title that was asked for, and for the share of the
# question, by the rarity of its terms, that is in the title
CLOSE_WEIGHT, TITLE_WEIGHT, TOPIC_WEIGHT = 0.2, 0.3, 0.5
WORDY = 6  # Subjects of a question from which on a vector says the less of it the more there are

# What the better one of the two beside a record adds to it, and of the two next to those, as a share of their scores
BESIDE, NEARBY = 0.5, 0.25
TOGETHER = 0.7  # What the best source adds to its records; the weakest adds nothing
STRONGEST = 3  # Records of a source whose scores tell, beside the words of all, how well the source answers
# What counts in a conversation: that the one speaks whom the question names, that a text answers a question before it,
# and that it asks one itself (on LoCoMo 1–5, each conversation left out in turn: R@5 72.5 with, 68.0 without)
SPEAKER, REPLY, ASKS = 0.2, 0.2, -0.2
SATURATION = 0.9  # How soon a source that says a term again and again says no more by it (the k1 of BM25)
TOP = 100  # Records of each way of searching that count: the scores of the others tell nothing
WIDTH = 60  # Characters within which words say one thing together: half a sentence of English, two of Chinese
_OFTEN = 8  # Places of one word that are looked at

_GRAMS = (3, 4)
_BETWEEN = "\0"
_LONG = 7  # Letters from which on two typing errors are allowed in a word

RowGroup = tuple[int, ...]
ScoreParts = dict[int, dict[str, float]]  # Row → what its score is made of


class SemanticSource(NamedTuple):
    """What else than words can tell which records answer."""

    # Asked once, where some of the words are enough: the rows nearest in meaning, the higher the nearer
    near: Callable[[], Mapping[int, float]]
    share: float  # Of the score, 0.0–1.0


class RetrievedHits(NamedTuple):
    """What the index says to a question."""

    terms: tuple[WeightedTerm, ...]
    hits: list[SearchHit]  # Not in order yet


def retrieve_hits(
    index: Index,
    query: Query,
    wanted: Filter = ALL,
    *,
    limit: int = 10,
    groups: Sequence[SynonymGroup] = (),
    meaning: SemanticSource | None = None,
) -> RetrievedHits:
    """Return the hits for *query*: those that hold all of it, and, where that is no answer yet, those that hold some.

    One word is a filter: what holds it is the answer. With more words, few records that happen to hold them
    all do not make the others wrong; and a sentence is a question. *meaning* may find what has none of the words.
    """
    count = len(query.subjects)
    is_sentence = count >= SENTENCE or not FUNCTION_EN.isdisjoint(query.folded)
    whole = _retrieve_matching_all(index, query, wanted, limit, scanned=not is_sentence)
    if expression := build_named_expression(query):
        _add_named(index, expression, wanted, whole.hits)
    if whole.hits and (count < WORDS or (count < SENTENCE and len(whole.hits) >= FEW)):
        return whole
    known = {hit.record.path for hit in whole.hits}
    terms = expand_query_terms(index.postings, query, groups)
    rows = index.postings.rank_rows(terms, wanted)
    # A word that no record has is absent: 罚息 is not answered by a record for its 息 in 利息. Where single characters
    # are all that was asked, they are words.
    if not all(map(is_cjk_character, query.weights)):
        words = [term for term in terms if not is_cjk_character(term.term)]
        held = index.postings.find_held_terms(words, [row.n for row in rows])
        rows = [row for row in rows if row.n in held]
    parts: ScoreParts = {row.n: {"terms": row.score / (rows[0].score or 1)} for row in rows}
    if meaning and (near := meaning.near()):
        # One vector stands for a short question well; of a long sentence with many rare words it blurs them
        size = sum(0.5 if term >= FIRST_CJK else 1.0 for term in query.subjects)  # a bigram is half a word
        share = meaning.share * min(1.0, WORDY / max(size, 1.0))
        parts = fuse_scores({n: part["terms"] for n, part in parts.items()}, near, share)
    before = _add_neighbour_boost(index, terms, parts)
    some = _load_hits(index, query, terms, parts, wanted, max(limit, READ), before)
    return RetrievedHits(tuple(terms), whole.hits + [hit for hit in some if hit.record.path not in known])


def _add_named(index: Index, expression: str, wanted: Filter, hits: list[SearchHit]) -> None:
    """Add to *hits* the records with an id or a number that the query names: `rank_hits` puts them first."""
    known = {hit.record.path for hit in hits}
    named = index.load_rows(index.find_matching_rows(expression, wanted), wanted).values()
    hits += [SearchHit(record, whole=True) for record in named if record.path not in known]


def is_cjk_character(term: str) -> bool:
    """Return whether *term* is a single character, which is in many words and is mostly none."""
    return len(term) == 1 and term >= FIRST_CJK


def _retrieve_matching_all(index: Index, query: Query, wanted: Filter, limit: int, *, scanned: bool) -> RetrievedHits:
    """Return the records that hold all of *query*: by the index, and, where those are few, *scanned* for it."""
    terms = index.postings.find_known_terms(query.weights)
    rows = _match_rows(index, build_match_expression(query.text), terms, wanted, 3 * limit)
    if scanned and len(rows) < limit:
        rows += [n for n in index.find_containing_rows(query.folded, wanted, 3 * limit) if n not in rows]
    scores = index.postings.score_rows(terms, rows)
    most = max(scores.values(), default=0) or 1
    parts = {n: {"order": 0.1 / (1 + at), "terms": scores.get(n, 0) / most} for at, n in enumerate(rows)}
    hits = _load_hits(index, query, terms, parts, wanted, len(rows))
    return RetrievedHits(tuple(terms), [hit._replace(whole=True) for hit in hits])


def _match_rows(index: Index, expression: str, terms: Sequence[WeightedTerm], wanted: Filter, limit: int) -> list[int]:
    """Return the best rows that the full-text *expression* finds; of very many, the best that hold all *terms*."""
    matches = index.postings.count_matches(expression, MANY)
    if matches == MANY:
        best = [row.n for row in index.postings.rank_rows(terms, wanted)]
        for among in (best[: 2 * limit], best):
            held = index.postings.find_held_terms(terms, among)
            whole = [n for n in among if len(held.get(n, ())) == len(terms)]
            if len(whole) >= limit:
                return whole[:limit]
    return index.find_matching_rows(expression, wanted, limit) if matches else []


def _load_hits(
    index: Index,
    query: Query,
    terms: Sequence[WeightedTerm],
    parts: ScoreParts,
    wanted: Filter,
    read: int,
    before: Mapping[int, int] | None = None,
) -> list[SearchHit]:
    """Return the hits for the best *read* rows of *parts*, and those as good as the last; their texts are weighed.

    *before*: the row that precedes a row in one source, or 0.
    """
    question = build_text_question(query, terms)
    sums = {n: sum(part.values()) for n, part in parts.items()}
    least = sorted(sums.values(), reverse=True)[:read][-1:]
    records = index.load_rows([n for n, score in sums.items() if score >= least[0]], wanted)
    texts = {n: "\n".join(section.text for section in record.sections) for n, record in records.items()}
    for n, record in records.items():
        parts[n].update(score_text(question, read_text(list_titles(record), texts[n])))
        if before and n in before:
            parts[n]["turn"] = _score_turn(texts[n], texts.get(before[n], ""), query)
    return [SearchHit(record, sum(parts[n].values()), parts=parts[n]) for n, record in records.items()]


class TextQuestion(NamedTuple):
    """What of a question the text of a record is weighed by."""

    telling: Mapping[str, float]  # The terms whose closeness is measured, with their worth
    worths: Mapping[str, int]
    pieces: frozenset[str]
    is_phrase: bool  # Whether there is more than one word to stand close together


def build_text_question(query: Query, terms: Sequence[WeightedTerm]) -> TextQuestion:
    """Return what the texts that answer *query* are weighed by; *terms*: those that the index knows, best first."""
    return TextQuestion(
        {term.term: float(term.worth) for term in terms[:TELLING]},
        {term.term: term.worth for term in terms},
        cut_pieces(mark_words(run.text for run in query.runs)),
        len(query.text.split()) > 1 or len(terms) > TELLING,
    )


class RecordText(NamedTuple):
    """What of a record a question is weighed against, made of its text and titles; the same for every question."""

    folded: str  # The text of its sections
    titles: tuple[tuple[str, int], ...]  # Each as `mark_words` has it, and how many pieces it has
    terms: frozenset[str]  # Those by which its titles are ranked


def read_text(titles: Sequence[str], text: str) -> RecordText:
    """Return what a record with these *titles* and the *text* of its sections is weighed by."""
    marked = [mark_words(run for run, _ in iter_runs(title)) for title in titles]
    return RecordText(
        fold_text(text),
        tuple((one, len(cut_pieces(one))) for one in marked),
        frozenset(extract_ranking_terms(" ".join(titles))),
    )


def score_text(question: TextQuestion, said: RecordText) -> dict[str, float]:
    """Return what is added to the score of a record for how its text and its titles answer *question*."""
    parts: dict[str, float] = {}
    if question.is_phrase:
        parts["close"] = CLOSE_WEIGHT * score_proximity(said.folded, question.telling)
    worths = question.worths
    topic = sum(worth for term, worth in worths.items() if term in said.terms)
    parts["title"] = TITLE_WEIGHT * max(
        (sum(map(marked.__contains__, question.pieces)) / count if count else 0.0) for marked, count in said.titles
    )
    parts["title"] += TOPIC_WEIGHT * topic / (sum(worths.values()) or 1)
    return parts


# -- terms ----------------------------------------------------------------------------------------


def expand_query_terms(terms: TermIndex, query: Query, groups: Sequence[SynonymGroup]) -> list[WeightedTerm]:
    """Return the terms that are to rank what answers *query*: its own, their synonyms, and for unknown words others."""
    own = query.weights
    wider = {term: SYNONYM for term in iter_synonym_terms(query, groups) if term not in own}
    known = terms.find_known_terms({**own, **wider})
    known_terms = {term.term for term in known}
    for term in own:  # “cahce”, which no record has, is looked for as “cache”
        if term not in known_terms and (typos := _count_allowed_typos(term)):
            similar = _find_nearest_words(terms.find_similar_words(term, typos), term, typos)
            meant = {other: MISSPELLED * own[term] for other in similar if other not in known_terms}
            known += terms.find_known_terms(meant)[:1]
    return sorted(known, key=lambda term: (-term.worth, term.term))


def _count_allowed_typos(word: str) -> int:
    """Return how many typing errors a *word* may have, 0–2."""
    if len(word) < MIN_MISSPELLED_LETTERS or not (word.isascii() and word.isalpha()):
        return 0
    return 2 if len(word) >= _LONG else 1


def _find_nearest_words(words: Iterable[str], word: str, most: int, limit: int = 5) -> list[str]:
    """Return those of *words* that differ from *word* by at *most* so many typing errors, the nearest first."""
    from rapidfuzz.distance import OSA

    distances = ((OSA.distance(word, other, score_cutoff=most), other) for other in words)
    return [other for _, other in sorted(pair for pair in distances if pair[0] <= most)[:limit]]


# -- words and vectors ----------------------------------------------------------------------------


def fuse_scores(words: Mapping[int, float], meaning: Mapping[int, float], share: float) -> ScoreParts:
    """Return what *words* and *meaning* add to the score of each row that either finds; *meaning* has the *share*.

    The score of each is brought to 0.0–1.0. A row that one of them does not find among its best gets nothing from it.
    """
    by_words, by_meaning = _normalise_scores(words), _normalise_scores(meaning)
    return {
        n: {"terms": (1 - share) * by_words.get(n, 0.0), "meaning": share * by_meaning.get(n, 0.0)}
        for n in dict.fromkeys([*by_words, *by_meaning])
    }


def _normalise_scores(scores: Mapping[int, float]) -> dict[int, float]:
    """Return the best `TOP` of *scores*, from 1.0 for the best to 0.0 for the last."""
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    if not best:
        return {}
    most, least = best[0][1], best[-1][1]
    return {n: (score - least) / (most - least) if most > least else 1.0 for n, score in best}


# -- neighbours: an answer is often beside the words of the question --------------------------


def _add_neighbour_boost(index: Index, terms: Sequence[WeightedTerm], parts: ScoreParts) -> dict[int, int]:
    """Add to *parts* what records of one source lend each other: those beside a record, and the source as a whole.

    A row without a score of its own comes in where it is beside one that has one. Return for each row of a source
    the one before it, 0 for the first.
    """
    groups = index.postings.find_source_groups(parts)
    if not groups:
        return {}
    held = {n: [term.term for term in there] for n, there in index.postings.find_held_terms(terms, parts).items()}
    scores = {n: sum(part.values()) for n, part in parts.items()}
    each = sorted(set(groups.values()))
    by_terms = _scale_scores(_score_groups(each, held))
    best = {rows: sum(sorted((scores.get(n, 0.0) for n in rows), reverse=True)[:STRONGEST]) for rows in each}
    by_best = _scale_scores(best)
    strength = _scale_scores({rows: by_terms[rows] + by_best[rows] for rows in each})
    before: dict[int, int] = {}
    for rows in each:
        own = [0.0, 0.0, *(scores.get(n, 0.0) for n in rows), 0.0, 0.0]
        for at, n in enumerate(rows):
            beside, nearby = max(own[at + 1], own[at + 3]), max(own[at], own[at + 4])
            if n in scores or beside:
                lent = BESIDE * beside + NEARBY * nearby
                parts.setdefault(n, {}).update(beside=lent, source=TOGETHER * strength[rows])
                before[n] = rows[at - 1] if at else 0
    return before


def _scale_scores(scores: Mapping[RowGroup, float]) -> dict[RowGroup, float]:
    """Return *scores* from 1.0 for the highest to 0.0 for the lowest, or 0.0 for all where they are the same."""
    least, most = min(scores.values()), max(scores.values())
    return {rows: (score - least) / (most - least) if most > least else 0.0 for rows, score in scores.items()}


_SPEAKER = regex(r"\s*([^\s:：]{1,40})[:：]")
_QUESTION_MARKS = ("?", "？")


def _score_turn(text: str, before: str, query: Query) -> float:
    """Return what is added for the speaker of *text* (“Ann: …”, 小李：…), and for answering the text *before* it."""
    match = _SPEAKER.match(text)
    is_named = match is not None and any(
        match[1] in run.text if run.is_unspaced else match[1] == run.text for run in query.runs
    )
    replies, asks = (said.rstrip().endswith(_QUESTION_MARKS) for said in (before, text))
    return SPEAKER * is_named + REPLY * replies + ASKS * asks


def _score_groups(groups: Iterable[RowGroup], held: Mapping[int, Sequence[str]]) -> dict[RowGroup, float]:
    """Return how well each group as a whole answers: BM25 over groups, a row that holds a term being one occurrence."""
    counts = {rows: Counter(term for n in rows for term in held.get(n, ())) for rows in groups}
    spread = Counter(term for count in counts.values() for term in count)
    rare = {term: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for term, n in spread.items()}
    return {
        rows: sum(rare[term] * times / (times + SATURATION) for term, times in sorted(count.items()))
        for rows, count in counts.items()
    }


# -- texts and titles -----------------------------------------------------------------------------


def score_proximity(text: str, worth: Mapping[str, float]) -> float:
    """Return the largest share of *worth* whose terms are within `WIDTH` characters of the folded *text*, 0.0–1.0."""
    places = sorted((at, term) for term in worth for at in _find_offsets(text, term))
    inside: Counter[str] = Counter()
    best = now = 0.0
    first = 0
    for at, term in places:
        now += 0.0 if inside[term] else worth[term]
        inside[term] += 1
        while at - places[first][0] > WIDTH:
            left = places[first][1]
            inside[left] -= 1
            now -= 0.0 if inside[left] else worth[left]
            first += 1
        best = max(best, now)
    return best / (sum(worth.values()) or 1.0)


def _find_offsets(text: str, term: str) -> list[int]:
    """Return where words that begin with *term* are in *text*; for a CJK term, wherever it stands."""
    found: list[int] = []
    at = text.find(term)
    while at >= 0 and len(found) < _OFTEN:
        if term >= FIRST_CJK or not at or not text[at - 1].isalnum():
            found.append(at)
        at = text.find(term, at + 1)
    return found


def mark_words(words: Iterable[str]) -> str:
    """Return *words* without case, the ends of each marked, apart by what no piece of `cut_pieces` reaches over."""
    return _BETWEEN.join(f" {word.casefold()} " for word in words)


def cut_pieces(marked: str) -> frozenset[str]:
    """Return the pieces of three and four characters of *marked*, as `mark_words` has them."""
    words = marked.split(_BETWEEN)
    return frozenset(word[i : i + size] for word in words for size in _GRAMS for i in range(len(word) - size + 1))
