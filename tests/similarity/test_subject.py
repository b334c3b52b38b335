"""Whether two records are about one question, by their words and by vectors."""

from collections.abc import Sequence

import pytest

from kb.records.model import Candidate, Record, Section
from kb.similarity.contradictions import find_other_answer
from kb.similarity.merge_candidate import decide_candidate, find_same_subject, get_least_likelihood
from kb.similarity.subject import (
    compare_nearest,
    estimate_likelihood,
    find_likeliest,
    name_alternatives,
)


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
        # writings of one alternative
        ("Updates come by WebSocket", "The page opens WebSockets"),
        ("Notices arrive over SSE", "Server-Sent Events carry the notices"),
        ("前端采用 monorepo", "前端各个包放在单仓里"),
        ("消息用长轮询拉取", "Clients fetch messages by long polling"),
    ],
)
def test_what_both_name_or_only_one_has_is_no_alternative(one: str, other: str) -> None:
    assert not name_alternatives(one, other)


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        # each chooses another alternative
        (
            ("Where intake forms live", "Patient intake forms live in MongoDB, their shape changes each month."),
            (
                "Intake forms moved",
                "Answers of intake forms are kept in Postgres; the MongoDB cluster is switched off.",
            ),
            "conflict",
        ),
        (
            ("坐标怎么传", "设备坐标每秒经 MQTT 上报给调度平台。"),
            ("坐标上报", "调度平台通过 WebSocket 收设备的坐标。"),
            "conflict",
        ),
        # each sets one amount of the same measure
        (
            ("Log retention", "Production logs of applications are kept for 30 days and then deleted."),
            ("How long logs stay", "Auditors want application logs in production for 12 months, deleted no earlier."),
            "conflict",
        ),
        # one of them turns down the other alternative: they agree
        (
            ("Where intake forms live", "Patient intake forms live in Postgres, their shape changes each month."),
            (
                "Intake forms moved",
                "Answers of intake forms are kept in Postgres; the MongoDB cluster is switched off.",
            ),
            "ask",
        ),
        # two natural languages may both be spoken
        (
            ("Messages the shop shows", "Error messages are written in English, visitors read them anywhere."),
            ("What visitors read", "The shop shows German error messages to its visitors."),
            "ask",
        ),
    ],
)
def test_two_answers_to_one_question_contradict_and_what_may_agree_is_asked(
    old: tuple[str, str], new: tuple[str, str], step: str
) -> None:
    found = decide_candidate(a_candidate(*new), [a_record(*old)], 0.8)
    assert (found.step, found.record) == (step, a_record(*old))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # in another place
        (
            ("Log retention", "Application logs on staging are kept for 7 days and then deleted."),
            ("How long logs stay", "Application logs in production are kept for 12 months and then deleted."),
        ),
        # a week is no amount where it is the second one
        (
            ("Pairing in week 1", "A new colleague pairs with the mentor in week 1."),
            ("On call from week 2", "A new colleague follows the mentor on call in week 2."),
        ),
        # a floor and a ceiling hold together
        (
            ("Sessions last", "A session of the shop lasts at least 15 minutes."),
            ("Length of sessions", "A session of the shop lasts at most 60 minutes."),
        ),
        # of two things, each with an amount of its own
        (
            ("优惠券过期前 3 天提醒", "优惠券到期前 3 天推送提醒。"),
            ("会员到期前 7 天提醒", "会员到期前 7 天发短信提醒。"),
        ),
    ],
)
def test_amounts_of_two_places_or_things_contradict_nothing(old: tuple[str, str], new: tuple[str, str]) -> None:
    assert find_other_answer(a_candidate(*new), a_record(*old)) is None


def test_what_only_tells_is_no_other_answer() -> None:
    old, new = ("Log retention", "Logs are kept for 30 days."), ("Logs stay longer", "Logs are kept for 12 months.")
    assert find_other_answer(a_candidate(*new), a_record(*old))
    assert find_other_answer(a_candidate(*new), a_record(*old, kind="pitfall")) is None


def test_a_reason_that_the_other_record_gives_speaks_for_one_question() -> None:
    old = a_record("Slim controllers", "Each action has an interactor that holds the business logic.")
    said = "Handlers delegate to small command classes", "An action of a controller only builds the response."
    plain, argued = (
        compare_nearest(a_candidate(*said, why=why), [old])[0]
        for why in ("It is nicer.", "Interactors keep the business logic in one class.")
    )
    assert plain.comparison.argued == 0 < argued.comparison.argued
    assert estimate_likelihood(argued) > estimate_likelihood(plain)


def test_records_of_two_kinds_have_a_topic_in_common_more_often_than_a_question() -> None:
    pattern = a_candidate("Keys of payment calls", "A call of the gateway carries a key that it stores.", "pattern")
    one, other = (compare_nearest(pattern._replace(kind=kind), [KEYS])[0] for kind in ("decision", "pattern"))
    assert estimate_likelihood(one) > estimate_likelihood(other)


def test_vectors_find_what_has_no_word_in_common() -> None:
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
    assert KEYS in [near.record for near in compare_nearest(TWICE, [*many, KEYS])]
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            ("Passwords expire after ninety days", "Staff have to choose a new password every quarter."),
            ("Rotation of login passwords", "Employees must renew their password four times a year."),
        ),
        (
            ("下单前校验库存", "创建订单之前先检查仓库里还有没有货。"),
            ("缺货不许下单", "购买时若仓库没有存货，直接拒绝。"),
        ),
    ],
)
def test_where_few_words_are_common_what_they_mean_tells_whether_to_ask(
    old: tuple[str, str], new: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [a_record(*old), LOGS]
    assert find_same_subject(a_candidate(*new), records) is records[0]
    monkeypatch.setattr("kb.similarity.subject.measure_likeness", lambda one, other: 0.0)
    assert find_same_subject(a_candidate(*new), records) is None


def test_meaning_alone_merges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.similarity.subject.measure_likeness", lambda one, other: 1.0)
    assert decide_candidate(TWICE, [KEYS], 0.8).step == "ask"


def test_beside_few_records_less_is_enough_to_ask() -> None:
    assert get_least_likelihood(1) == get_least_likelihood(1, has_vectors=True) < get_least_likelihood(10)
    assert get_least_likelihood(10) < get_least_likelihood(10, has_vectors=True)


def test_a_reason_that_is_a_phrase_does_not_speak_for_one_question() -> None:
    old = a_record("The worker needs pika", "It stops with ModuleNotFoundError.")
    old = old._replace(sections=(*old.sections, Section("why", "", "It was measured in production.")))
    why = "It was measured in production."
    build = a_candidate("The build hangs at linking", "The linker waits for memory.", why=why)
    assert find_same_subject(build, [old]) is None
    assert compare_nearest(build, [old])[0].comparison.argued == 0
