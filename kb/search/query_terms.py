"""Weigh what a question asks for: which of its terms are to rank the records, and how much each counts."""

from __future__ import annotations

from kb.search.query import parse_word_list, split_on_stop_words, truncate_prompt
from kb.text.segment import extract_word_terms, iter_runs, stem

MAX_ASKED = 48
"""The most terms of a question by which records are ranked."""

ACROSS = 0.3
"""What a CJK bigram counts that reaches over a function word: it is a part of two words."""

CHARACTER = 0.4
"""What a single CJK character counts: it stands in many words."""

PART = 0.7
"""What the parts of a name in code count: the whole name is meant."""

FUNCTION_EN = parse_word_list(
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
FUNCTION_ZH = frozenset("的了吗呢吧啊呀嘛么是我你您他她它们这那哪谁就也都很把被给让和与或在个没嗯哦之其有什怎几")


def is_function_word(word: str) -> bool:
    """Return whether *word* only holds a sentence together: "the", "am", 的."""
    return word.casefold() in FUNCTION_EN or word in FUNCTION_ZH


def weigh_query_terms(query: str, limit: int = MAX_ASKED) -> dict[str, float]:
    """Return the terms, *limit* at most, by which records are ranked that are to answer *query*: weights 0.0–1.0."""
    weights: dict[str, float] = {}

    def add_term(term: str, weight: float) -> None:
        weights[term] = max(weight, weights.get(term, 0.0))

    for run, unspaced in iter_runs(truncate_prompt(query)):
        if unspaced:
            inside = {piece[i : i + 2] for piece in split_on_stop_words(run) for i in range(len(piece) - 1)}
            for i in range(len(run) - 1):
                add_term(run[i : i + 2], 1.0 if run[i : i + 2] in inside else ACROSS)
            for character in run:
                if character not in FUNCTION_ZH:
                    add_term(character, 1.0 if len(run) == 1 else CHARACTER)
            continue
        for at, word in enumerate(extract_word_terms(run)):
            if word not in FUNCTION_EN:
                add_term(stem(word), PART if at else 1.0)
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:limit])
