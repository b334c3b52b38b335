"""What a question wants is told from its words: labelled questions in two languages."""

import subprocess
import sys

import pytest

from kb.search.intent import GENERAL, IDENTITY, NAMED, STRATEGIES, detect_intent, is_about_asker, name_spoken_record
from kb.search.query import parse_query
from tests.support.sealed import DATA

HERE = DATA
LABELLED = [tuple(row.split("\t")) for row in (HERE / "intents.tsv").read_text(encoding="utf-8").splitlines()]
IDENTITIES = [tuple(row.split("\t")) for row in (HERE / "identity.tsv").read_text(encoding="utf-8").splitlines()]


def test_nine_of_ten_labelled_questions_are_understood() -> None:
    wrong = [
        (query, label, got) for query, label in LABELLED if (got := detect_intent(parse_query(query)).intent) != label
    ]
    assert len(LABELLED) >= 50
    assert len(wrong) <= len(LABELLED) / 10, wrong


@pytest.mark.parametrize("label", sorted({label for _, label in LABELLED}))
def test_no_intent_is_understood_less_than_three_times_in_four(label: str) -> None:
    own = [query for query, given in LABELLED if given == label]
    right = [query for query in own if detect_intent(parse_query(query)).intent == label]
    assert len(own) >= 8
    assert len(right) >= 0.75 * len(own), sorted(set(own) - set(right))


@pytest.mark.parametrize(("query", "label"), IDENTITIES)
def test_questions_about_the_asker_are_known(query: str, label: str) -> None:
    assert is_about_asker(query) is (label == "1")
    assert (detect_intent(parse_query(query)).intent == IDENTITY) is (label == "1")


def test_questions_about_the_asker_are_known_by_their_grammar() -> None:
    rows = [row.rsplit("\t", 1) for row in (HERE / "identity_more.tsv").read_text(encoding="utf-8").splitlines()]
    known = [query for query, label in rows if label == "1" and is_about_asker(query)]
    assert len(known) >= 0.9 * sum(label == "1" for _, label in rows)
    assert [query for query, label in rows if label == "0" and is_about_asker(query)] == []


def test_the_rules_are_loaded_only_where_they_may_matter() -> None:
    code = (
        "import sys\nfrom kb.search.intent import is_about_asker\n"
        "assert not is_about_asker('why is the build red?') and not is_about_asker('退款为什么失败')\n"
        "assert 'kb.text.classifier' not in sys.modules\nassert is_about_asker('who am I?')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_there_are_enough_questions_about_the_asker() -> None:
    assert sum(label == "1" for _, label in IDENTITIES) >= 43


def test_every_intent_has_its_strategy() -> None:
    assert {label for _, label in LABELLED} | {IDENTITY} == set(STRATEGIES)
    assert len({strategy.name for strategy in STRATEGIES.values()}) == len(STRATEGIES)


@pytest.mark.parametrize("query", ["", " ", "?", "？", "…", "\0", "我", "I", "🙂"])
def test_what_says_nothing_is_general(query: str) -> None:
    assert detect_intent(parse_query(query)).intent == GENERAL


@pytest.mark.parametrize(
    ("query", "weak"),
    [
        ("why does my deploy fail", True),
        ("我的构建为什么慢", True),
        ("why does the deploy fail", False),
        ("我们的缓存", False),
    ],
)
def test_a_word_for_oneself_is_a_weak_sign(query: str, weak: bool) -> None:
    assert detect_intent(parse_query(query)).weak_identity is weak


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("decisions from march 2025", "recent"),
        ("anything new since the last release", "recent"),
        ("Q2 decisions", "recent"),
        ("春节以后的改动", "recent"),
        ("二季度定的规则", "recent"),
        ("what belongs in the fixtures directory", "code"),
        (".golangci.yml 有什么要求", "code"),
        ("how do I request a new certificate", "knowledge"),
        ("why is the main branch frozen over christmas", "knowledge"),
        ("how do I like my branches named", "preference"),
    ],
)
def test_periods_files_and_ways_to_are_known_by_their_grammar(query: str, intent: str) -> None:
    assert detect_intent(parse_query(query)).intent == intent


@pytest.mark.parametrize(
    ("query", "is_own"),
    [
        ("我给你定过哪些规矩", True),
        ("我给他定过哪些规矩", False),
        ("你给这个模块定过哪些规矩", False),
        ("你是谁", False),
        ("who are you", False),
    ],
)
def test_what_one_laid_down_is_ones_own_and_the_assistant_is_not(query: str, is_own: bool) -> None:
    assert is_about_asker(query) is is_own


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ('FATAL: password authentication failed for user "app"', "experience"),
        ("ORA-01555 snapshot too old", "experience"),
        ("x509: certificate signed by unknown authority", "experience"),
        ("PG::UniqueViolation", "experience"),
        ("returned non-zero exit status 1", "experience"),
        ("413 Request Entity Too Large", "experience"),
        ("HTTP 429", "experience"),
        ("报 404", "experience"),
        ("页面一直转圈", "experience"),
        ("任务跑着跑着就没了", "experience"),
        ("why do we forbid force pushes?", "knowledge"),
        ("are failed jobs retried", "knowledge"),
        ("证书过期怎么续", "knowledge"),
        ("exception hierarchy", "general"),
        ("超时默认值", "general"),
        ("exceptions.py", "code"),
        ("InvalidTokenError class", "code"),
        ("最近的报错规范", "recent"),
        ("支付回调丢了怎么办", "experience"),
        ("0303", "id"),
        ("ADR 404", "id"),
        ("MAX_RETRIES", "code"),
        ("in which file is the rate limiter", "code"),
        ("近 7 天改过的", "recent"),
        ("按时间倒序的约束", "recent"),
    ],
)
def test_a_pasted_line_of_output_asks_what_was_learned(query: str, intent: str) -> None:
    assert detect_intent(parse_query(query)).intent == intent


@pytest.mark.parametrize(
    ("query", "ids", "numbers"),
    [
        ("the pitfall numbered 8", ["P008"], set()),
        ("what's our twelfth decision about", ["D012"], set()),
        ("pull up decision forty-two", ["D042"], set()),
        ("entry 5 of the pitfalls", ["P005"], set()),
        ("where can I read no. 73", [], {73}),
        ("TRAP-19", [], {19}),
        ("con-16 exceptions", ["C016"], set()),
        ("DEC-2024-011, the whole text", ["D011"], set()),
        ("二十一号决策念一下", ["D021"], set()),
        ("十九号坑啥内容", ["P019"], set()),
        ("决定第一百零三号", ["D103"], set()),
        ("第118条", [], {118}),
        ("第七条接口约定的原文贴出来", ["I007"], set()),
    ],
)
def test_a_record_is_named_by_its_number_in_any_words(query: str, ids: list[str], numbers: set[int]) -> None:
    asked = parse_query(query)
    named = name_spoken_record(asked)
    assert detect_intent(asked).intent == NAMED
    assert ([one.id for one in named.references], set(named.numbers)) == (ids, numbers)


def test_a_question_without_a_number_names_nothing() -> None:
    asked = parse_query("which decision was that")
    assert name_spoken_record(asked) == asked
