"""The kept models on sentences of an author from whom nothing was learned, and what belongs to them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.classifiers import KEPT_BACK, LABELS, Example, build_file, collect_examples
from kb.safety.personal_facts import has_self_description, is_personal
from kb.search.intent import GENERAL, KNOWLEDGE, detect_intent, is_about_asker
from kb.search.query import parse_query
from kb.text.classifier import ASKER, BITS, PERSON, WANTED, hash_features, load_model, score_sentence
from tests.support.timing import within

UNSEEN = Path(__file__).parents[2] / "bench/unseen"


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(row) for row in (UNSEEN / f"{name}_{KEPT_BACK}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("model", [ASKER, PERSON, WANTED])
def test_nothing_is_learned_from_who_is_kept_back(model: str) -> None:
    assert {example.author for example in collect_examples(model) if example.author == KEPT_BACK} == {KEPT_BACK}
    kept = {
        row.get("text") or row["query"] for row in read({ASKER: "identity", PERSON: "profile"}.get(model, "queries"))
    }
    learned = {example.text for example in collect_examples(model) if example.author != KEPT_BACK}
    assert len(kept & learned) <= 1  # “adr 17” is what two people type


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_strangers_question_about_themselves_is_known(language: str) -> None:
    rows = [row for row in read("identity") if row["lang"] == language]
    asked = [row["text"] for row in rows if row["label"] == "identity"]
    others = [row["text"] for row in rows if row["label"] != "identity"]
    missed = [text for text in asked if not is_about_asker(text)]
    assert len(missed) <= 0.15 * len(asked), missed
    assert [text for text in others if is_about_asker(text)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_stranger_says_of_themselves_is_kept_or_proposed(language: str) -> None:
    rows = [row for row in read("profile") if row["lang"] == language]
    theirs = [row["text"] for row in rows if row["label"] == "person"]
    others = [row["text"] for row in rows if row["label"] != "person"]
    assert sum(map(is_personal, theirs)) >= 0.75 * len(theirs)
    assert sum(map(has_self_description, theirs)) >= 0.9 * len(theirs)
    assert sum(map(is_personal, others)) <= 0.05 * len(others)


def test_what_a_strangers_search_wants_is_known() -> None:
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in read("queries"):
        if row["intent"] == "identity":
            continue
        intent = detect_intent(parse_query(row["query"])).intent
        asked[row["intent"]] += 1
        right[row["intent"]] += row["intent"] == (KNOWLEDGE if intent == GENERAL else intent)
    assert right.total() >= 0.9 * asked.total(), right
    assert min(right[intent] / asked[intent] for intent in asked) >= 0.75, right


def test_a_fit_gives_the_same_bytes_whatever_is_beside_it() -> None:
    examples = [example for example in collect_examples(WANTED) if example.author in ("dev", "held")]
    made = build_file(WANTED, examples)
    assert made == build_file(WANTED, list(examples)) and made != build_file(WANTED, examples[1:])


@pytest.mark.parametrize("model", [ASKER, PERSON, WANTED])
def test_the_kept_weights_were_learned_from_these_sentences(model: str) -> None:
    """Almost every sentence that was learned from has its label: weights of other sentences or features have not."""
    learned = [one for one in collect_examples(model) if one.author != KEPT_BACK and one.is_own]
    assert sum(is_right(model, example) for example in learned) >= 0.97 * len(learned)
    assert load_model(model).labels == LABELS[model]
    assert {len(table) for table in load_model(model).tables} == {1 << BITS[model]}


def is_right(model: str, example: Example) -> bool:
    scores = score_sentence(model, example.text)
    if model == WANTED:
        return max(scores, key=scores.__getitem__) == example.label
    [label] = LABELS[model]
    return (scores[label] >= 0.0) == (example.label == label)


def test_a_long_text_costs_no_time() -> None:
    with within(2):
        for text in ("我" * 1_000_000, "a.b(" * 250_000, "'" * 1_000_000, "A_" * 500_000, ""):
            score_sentence(ASKER, text), score_sentence(WANTED, text)


def test_apostrophes_capitals_and_width_make_no_difference() -> None:
    assert hash_features(ASKER, "What’s MY role？") == hash_features(ASKER, "what's my role?")


def test_traditional_characters_and_cantonese_are_read_as_the_simplified_ones() -> None:
    assert hash_features(ASKER, "我慣用哪個終端機？") == hash_features(ASKER, "我惯用哪个终端机？")
    assert is_about_asker("你有冇記低我鍾意用咩編輯器呀") and is_about_asker("請問我的職稱是什麼，你有記錄嗎")


@pytest.mark.parametrize(
    "question",
    [
        "preferred text editor?",
        "preferred editor of the user you are speaking to?",
        "常用的编辑器和终端是哪套，还记得吗",
    ],
)
def test_a_question_without_a_word_for_oneself_may_be_about_the_asker(question: str) -> None:
    assert is_about_asker(question)


@pytest.mark.parametrize(
    "question", ["preferred way to mock the clock in our tests?", "what is your favourite language?", "介绍一下你自己"]
)
def test_neither_the_agent_nor_the_work_is_the_asker(question: str) -> None:
    assert not is_about_asker(question)
