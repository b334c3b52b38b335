"""Records in words of their own: the same subject is seen, a denial reaches as far as it says, and doubt is asked."""

from collections.abc import Sequence

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Record, Section
from kb.similarity.contradictions import find_contradiction
from kb.similarity.merge_candidate import decide_candidate
from kb.similarity.stance import find_opposition, parse_stance
from kb.similarity.subject import compute_rarity, compute_shares, weigh_subject
from kb.similarity.tokens import weigh_term

Said = tuple[str, str]


def a_record(said: Said) -> Record:
    section = Section("decision", "Decision", said[1])
    return Record("D001", "decision", said[0], "project/shop", "accepted", sections=(section,))


def a_candidate(said: Said, **changes: object) -> Candidate:
    return Candidate("decision", said[0], said[1], scope="project/shop", **changes)  # type: ignore[arg-type]


def step_of(old: Said, new: Said, **changes: object) -> str:
    return decide_candidate(a_candidate(new, **changes), [a_record(old)], 0.8).step


LEDGER = (
    "Invoice numbers come from the ledger",
    "The ledger service hands out every invoice number; the shop stores the number it received with the order.",
)
LEDGER_AGAIN = (
    "Who numbers our invoices",
    "Accounting posts an invoice and the ledger issues its number then. What customers see on an order page is a copy.",
)
NUMBERING = (
    "发票号由账务服务分配",
    "账务服务统一生成发票号，商城只保存收到的发票号，不自己编号。",
)
NUMBERING_AGAIN = (
    "发票号从哪里来",
    "过账时向账务服务申请发票号，商城这边随订单存一份发票号副本。",
)


@pytest.mark.parametrize(("old", "new"), [(LEDGER, LEDGER_AGAIN), (NUMBERING, NUMBERING_AGAIN)])
def test_one_subject_in_other_words_is_asked(old: Said, new: Said) -> None:
    assert step_of(old, new) == "ask"
    assert step_of(new, old) == "ask"


THERMOSTAT = ("Rooms are heated by timetable", "Each room has a timetable; the boiler follows it and ignores windows.")
THERMOSTAT_AGAIN = (
    "What the boiler obeys",
    "It warms each room at its planned hours; no sensor at the windows counts.",
)
TICKETS = ("车票号由总站统一发放", "各站卖票时向总站取号。")
TICKETS_AGAIN = ("卖票时号码哪里来", "车票的号由总站给，分站自己不编。")


@pytest.mark.parametrize(("old", "new"), [(THERMOSTAT, THERMOSTAT_AGAIN), (TICKETS, TICKETS_AGAIN)])
def test_in_a_sentence_each_the_same_question_is_seen(old: Said, new: Said) -> None:
    assert step_of(old, new) == "ask"
    assert step_of(new, old) == "ask"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (THERMOSTAT, ("Boiler noise at night", "The boiler runs at half power between 22:00 and 6:00.")),
        (TICKETS, ("退票收手续费", "开车前一天退票，收票价一成。")),
    ],
)
def test_another_question_about_one_thing_is_not_asked(old: Said, new: Said) -> None:
    assert step_of(old, new) == "create"


def test_a_model_of_meaning_has_the_last_word() -> None:
    candidate, near = a_candidate(THERMOSTAT_AGAIN), [a_record(THERMOSTAT)]
    texts: list[str] = []

    def step(nearness: float | None) -> str:
        def measure(one: str, others: Sequence[str]) -> list[float] | None:
            texts.extend((one, *others))
            return None if nearness is None else [nearness for _ in others]

        return decide_candidate(candidate, near, 0.8, measure).step

    assert [step(0.7), step(0.95), step(None)] == ["create", "ask", "ask"]
    assert THERMOSTAT[1] in texts[1] and THERMOSTAT_AGAIN[1] in texts[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            ("Boats are checked before every trip", "A boat is checked in the harbour before each trip by the crew."),
            ("Boats are checked in spring", "The crew only checks a boat in the harbour before its first trip."),
        ),
        (
            ("One catalogue for both museums", "Paintings and prints stand in one catalogue that both museums share."),
            ("A catalogue per museum", "The catalogue of paintings and prints is split: each museum has its own."),
        ),
    ],
)
def test_all_and_some_are_not_merged(old: Said, new: Said) -> None:
    assert step_of(old, new) != "merge"
    assert step_of(new, old) != "merge"


@pytest.mark.parametrize(
    "answer", [{"coexists_with": {"D001": "two registers"}}, {"supersedes": ("D001",)}, {"updates": "D001"}]
)
def test_who_has_answered_is_not_asked_again(answer: dict[str, object]) -> None:
    assert step_of(LEDGER, LEDGER_AGAIN, **answer) == "create"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            (
                "Feature flags live in Unleash",
                "Every service reads its feature flags from the Unleash server at start.",
            ),
            ("No Unleash server", "Feature flags come from a config file in each service; the server goes away."),
        ),
        (
            ("Handlebars renders our mails", "Mail bodies are Handlebars templates, compiled when the mailer starts."),
            (
                "Mail bodies in React",
                "We stopped using Handlebars; mail bodies are React components rendered by the mailer.",
            ),
        ),
        (
            ("报表用 Superset 展示", "运营报表统一放在 Superset，数据源接数仓的宽表。"),
            ("报表自研前端", "运营报表改由自研前端读取数仓宽表，Superset 已下线。"),
        ),
        (
            ("页面样式写在 Sass 里", "前端页面样式统一用 Sass 编写，构建时编译成一个样式文件。"),
            ("页面样式用原生变量", "前端页面样式不再使用 Sass，构建时直接打包原生样式文件。"),
        ),
    ],
)
def test_what_one_turns_down_and_the_other_is_about_is_a_contradiction(old: Said, new: Said) -> None:
    assert step_of(old, new) == "conflict"
    assert step_of(new, old) == "conflict"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            ("Redis is our cache", "Product pages are cached in Redis for the shop front."),
            ("Redis is not a database", "We do not use Redis as a database; it remains our cache for product pages."),
        ),
        (
            ("缓存用 Redis", "商品页缓存在 Redis 里，前台读缓存。"),
            ("Redis 只当缓存", "不把 Redis 作为数据库使用；它仍是商品页的缓存，前台照常读缓存。"),
        ),
        (
            ("Pages for guests are cached", "Pages for guests are kept in the CDN for 5 minutes."),
            ("Pages for members are not cached", "Pages for members always come from the application."),
        ),
        (
            ("Retry the payment webhook", "The payment webhook is retried when the shop does not answer."),
            ("Payment webhook order", "If the shop does not answer, the payment webhook goes to the end of the queue."),
        ),
        (("Cancel orders by POST", "POST /orders/1/cancel"), ("取消订单接口", "取消订单时记录原因。")),
    ],
)
def test_a_denial_reaches_as_far_as_it_says(old: Said, new: Said) -> None:
    assert find_contradiction(a_candidate(new), a_record(old)) is None
    assert find_contradiction(a_candidate(old), a_record(new)) is None


def test_what_looks_the_same_and_denies_it_is_not_merged() -> None:
    old = ("变更历史以内容库为准", "首次发布时间、修改时间和修改说明都保存在内容库里，发给发布接口时带上。")
    new = ("变更历史交给发布接口", "内容库不保存发布时间和修改说明，全由发布接口累积。")
    found = find_opposition(parse_stance(*old), parse_stance(*new), loose=True)
    assert found and "不保存" in found.denial
    assert step_of(old, new) != "merge"


def test_what_many_records_say_tells_less() -> None:
    brokers = ("Kafka", "RabbitMQ", "Redis", "NATS")
    near = [weigh_subject(f"{name} dead letters", f"Rejected messages go to a {name} queue.") for name in brokers]
    new = weigh_subject("Pulsar dead letters", "Rejected messages are moved to a Pulsar queue by the consumer.")
    assert compute_rarity(near[:2]) == {}
    assert compute_shares(near[0], new, compute_rarity(near)) < compute_shares(near[0], new, {})


def test_rare_words_weigh_more_than_common_ones() -> None:
    assert weigh_term("use") == weigh_term("the") == weigh_term("使用") == 0.0
    assert 0.0 < weigh_term("event") < weigh_term("handlebar") == 1.0
    assert 0.0 < weigh_term("的票") < weigh_term("缓存") < weigh_term("发票") == 1.0


# -- through the gate -----------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new", "language"), [(LEDGER, LEDGER_AGAIN, "en"), (NUMBERING, NUMBERING_AGAIN, "zh")])
def test_what_is_asked_is_held_and_can_be_answered(kb: KnowledgeBase, old: Said, new: Said, language: str) -> None:
    assert kb.write([a_candidate(old, affects_future=True)])[0].verdict == "created"
    asked = kb.write([a_candidate(new, affects_future=True)])[0]
    assert asked.verdict == "held" and "D001" in asked.reasons[0] and old[0] in asked.reasons[0]
    assert all(word in asked.next for word in ("updates", "supersedes", "coexists_with", asked.id))
    answered = kb.write([a_candidate(new, affects_future=True, coexists_with={"D001": "each for its own register"})])[0]
    assert answered.verdict == "created" and not kb.held()


def test_a_person_is_not_asked_and_may_promote(kb: KnowledgeBase) -> None:
    kb.write([a_candidate(LEDGER, affects_future=True), a_candidate(NUMBERING, affects_future=True)])
    held = kb.write([a_candidate(LEDGER_AGAIN, affects_future=True)])[0]
    assert held.verdict == "held" and kb.promote(held.id).verdict == "created"
    assert kb.write([a_candidate(NUMBERING_AGAIN, affects_future=True)], decided=True)[0].verdict == "created"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            (
                "The refund window is 30 days",
                "A payment can be refunded within 30 days; then support decides each case.",
            ),
            ("Sort the refund list by newest first", "Sort the refund list by newest first."),
        ),
        (
            ("订单服务使用 PostgreSQL 存储", "订单服务使用 PostgreSQL 存储。"),
            ("订单金额用整数分存储", "订单金额用整数分存储，不用浮点数。"),
        ),
    ],
)
def test_a_topic_in_common_is_no_question_in_common(old: Said, new: Said) -> None:
    """Beside one record the writer may be asked; beside several, one on the topic is nothing special."""
    others = [
        a_record(said)
        for said in (
            ("Logs are JSON", "Each line is one object."),
            ("Checkout is a separate page", "The cart links to the checkout page."),
            ("发货单由仓库打印", "仓库打印每个订单的发货单。"),
        )
    ]
    for first, second in ((old, new), (new, old)):
        assert step_of(first, second) in ("ask", "create")
        assert decide_candidate(a_candidate(second), [*others, a_record(first)], 0.8).step == "create"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            ("充电前的水位", "储水箱水位低于一半不允许启动除垢程序。"),
            ("除垢程序", "储水箱的除垢程序每周启动一次，由值班人员确认。"),
        ),
        (
            ("Tank level", "With the tank below half full the descaling programme must not be started."),
            ("Descaling programme", "The descaling programme of the tank is started once a week by who is on duty."),
        ),
    ],
)
def test_a_denial_below_a_bound_denies_nothing_beyond_it(old: Said, new: Said) -> None:
    assert find_contradiction(a_candidate(new), a_record(old)) is None
    assert find_contradiction(a_candidate(old), a_record(new)) is None
