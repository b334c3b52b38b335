"""Whether two records are about one question, by their words and by vectors."""

from collections.abc import Sequence

import pytest

from kb.records.model import Candidate, Record, Section
from kb.similarity.merge_candidate import decide_candidate, find_same_subject
from kb.similarity.subject import compare_nearest, find_likeliest, find_nearest, name_alternatives


def a_record(title: str, decision: str, number: int = 1, kind: str = "decision") -> Record:
    """Return an accepted record of the project."""
    sections = (Section("decision", "", decision),)
    return Record(f"D{number:03}", kind, title, "project/shop", "accepted", sections=sections)


def a_candidate(title: str, decision: str, kind: str = "decision", **fields: object) -> Candidate:
    """Return a candidate of the project."""
    return Candidate(kind, title, decision, scope="project/shop", **fields)  # type: ignore[arg-type]


KEYS = a_record("Idempotency keys", "Every payment call carries a key that the gateway stores for a day.")
TWICE = a_candidate("Nobody is charged twice", "Whoever repeats a charge within 24 hours gets the first answer again.")
LOGS = a_record("Logs are JSON", "Each line is one object with time, level and text.", 2)


def measure_as(near: str, much: float = 0.95, usual: float = 0.82) -> object:
    """Return a measure by which only texts that begin with *near* are near."""

    def measure(one: str, others: Sequence[str]) -> list[float]:
        return [much if other.startswith(near) else usual for other in others]

    return measure


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Events go through Kafka", "New queues are made in SQS"),
        ("The clients speak GraphQL", "Screens call REST resources"),
        ("密码用 bcrypt", "口令改为 SM3 加盐"),
        ("外部请求走 APISIX", "入口是 Spring Cloud Gateway"),
        ("注释写英文", "注释写中文"),
    ],
)
def test_two_alternatives_of_one_choice_are_named(one: str, other: str) -> None:
    assert name_alternatives(one, other) and name_alternatives(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Events go through Kafka", "Kafka topics are named by domain"),
        ("Kafka and SQS", "SQS for mails"),
        ("All the rest go to the team", "The API is GraphQL"),  # “rest”, “go” are no names
        ("前端用 React", "缓存用 Redis"),
    ],
)
def test_what_both_name_or_only_one_has_is_no_alternative(one: str, other: str) -> None:
    assert not name_alternatives(one, other)


def test_vectors_find_what_has_no_word_in_common() -> None:
    assert find_nearest(TWICE, [LOGS, KEYS]) is None
    assert find_same_subject(TWICE, [LOGS, KEYS]) is None
    assert find_same_subject(TWICE, [LOGS, KEYS], measure_as("Idempotency")) is KEYS  # type: ignore[arg-type]
    assert find_same_subject(TWICE, [LOGS, KEYS], measure_as("no such")) is None  # type: ignore[arg-type]


def test_vectors_ask_and_never_merge() -> None:
    found = decide_candidate(TWICE, [LOGS, KEYS], 0.8, measure_as("Idempotency", 1.0))  # type: ignore[arg-type]
    assert (found.step, found.record) == ("ask", KEYS)


def test_words_decide_where_vectors_cannot_be_made() -> None:
    again = a_candidate(
        "Payment calls carry an idempotency key", "The gateway stores the key of each payment call for one day."
    )
    assert find_same_subject(again, [KEYS], lambda one, others: None) is find_same_subject(again, [KEYS]) is KEYS


def test_of_records_without_a_common_word_the_last_ones_are_measured() -> None:
    """Those that vectors have found stand at the end."""
    many = [a_record(f"Ordinary page {n}", "Nothing of interest.", n + 10) for n in range(30)]
    assert KEYS in [near.record for near in compare_nearest(TWICE, [*many, KEYS], 12)]
    found = find_likeliest(TWICE, [*many, KEYS], measure_as("Idempotency", 1.0))  # type: ignore[arg-type]
    assert found and found[0] is KEYS


def test_two_pitfalls_are_asked_about_unless_a_signature_tells_them_apart() -> None:
    old = a_record("Reader leaks a thread", "Dispose of the handle after each payment.", kind="pitfall")
    new = a_candidate("Tablets freeze late in the day", "Tear the connection down after a sale.", "pitfall")
    measure = measure_as("Reader")
    assert find_same_subject(new, [old], measure) is old  # type: ignore[arg-type]
    known = new._replace(fields={"signature": ("pos", "thread limit reached")})
    assert find_same_subject(known, [old], measure) is None  # type: ignore[arg-type]
    decision = new._replace(kind="decision")
    assert find_same_subject(decision, [old], measure) is None  # type: ignore[arg-type]
