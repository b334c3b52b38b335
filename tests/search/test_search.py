"""Searching a real knowledge base: what is found, in which order, by which filters, and how it is explained."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records.model import Candidate, Record, Section
from kb.search.answer import search_records
from kb.search.intent import RECENT, detect_intent
from kb.search.query import parse_query
from kb.search.rank import find_synonyms, iter_synonym_terms, load_shipped_synonyms
from kb.search.rank import parse_synonym_groups as read_groups
from kb.search.retrieve import TITLE_WEIGHT, build_text_question, read_text, score_proximity, score_text
from kb.templates import FOLDER
from tests.support.clones import decision, one
from tests.support.command_line import run
from tests.support.sealed import Clock


def said(kb: KnowledgeBase, query: str, **options: object) -> list[str]:
    """Return the ids of the answers to *query*."""
    return [answer.record.id for answer in kb.recall(query, **options)]  # type: ignore[arg-type]


def note(id: str, title: str, body: str = "", **values: object) -> Record:
    """Return an accepted decision."""
    given = {"status": "accepted", "uid": f"u-{id}", "date": "2026-01-01", "kind": "decision"} | values
    return Record(id=id, title=title, sections=(Section("decision", "Decision", body),), **given)  # type: ignore[arg-type]


@pytest.fixture
def filled(kb: KnowledgeBase) -> KnowledgeBase:
    """A knowledge base with records of several kinds, days and places."""
    kb.import_records(
        [
            note("D001", "Retry payments with backoff", "The client retries three times.", impact=("src/pay/",)),
            note("D002", "支付回调必须幂等", "重复通知不会重复入账。", date="2026-03-01", impact=("src/pay/hook.py",)),
            note("D003", "Keep sessions in Redis", "The cache is shared by all nodes.", date="2026-05-01"),
            note("P001", "FFmpeg leaks memory", "The decoder is never released.", kind="pitfall", impact=("src/*.c",)),
            note("U001", "Answer in English", "Replies are short.", kind="preference", date="2026-06-01"),
        ],
        origin="a test",
    )
    return kb


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ("read me the third decision", "D003"),
        ("the pitfall numbered 1", "P001"),
        ("决定第二号", "D002"),
        ("二号决策念一下", "D002"),
    ],
)
def test_a_record_comes_first_in_other_words_for_its_number(filled: KnowledgeBase, query: str, id: str) -> None:
    assert said(filled, query)[:1] == [id]


def test_a_misspelled_word_finds_what_was_meant(filled: KnowledgeBase) -> None:
    assert said(filled, "paymets")[:1] == ["D001"]
    assert said(filled, "sesions reddis")[:1] == ["D003"]
    assert said(filled, "xylophone") == []


def test_a_word_of_one_language_finds_a_record_in_the_other(filled: KnowledgeBase) -> None:
    assert said(filled, "内存泄漏")[:1] == ["P001"]
    assert "D002" in said(filled, "idempotent callback")


def test_own_synonyms_are_added(filled: KnowledgeBase, root: Path) -> None:
    assert said(filled, "kettle") == []
    (root / "content" / "synonyms.yaml").write_text("# ours\n- [kettle, FFmpeg]\n", encoding="utf-8")
    assert said(filled, "kettle") == ["P001"]


def test_the_groups_that_come_with_kb_are_written_as_they_are_compared() -> None:
    text = (Path(FOLDER) / "synonyms.yaml").read_text(encoding="utf-8")
    groups = load_shipped_synonyms()
    assert groups == read_groups(text, "synonyms.yaml") and len(groups) > 600


def test_a_word_is_meant_with_all_terms_of_another() -> None:
    groups = read_groups("- [负载均衡, load balancer, ALB]\n- [灰度, canary]\n", "synonyms.yaml")
    (found,) = find_synonyms(parse_query("负载均衡怎么配"), groups)
    assert {"负载", "载均", "均衡"} <= found.asked_terms
    assert found.synonym_terms == (("load", "balanc"), ("alb",))
    assert find_synonyms(parse_query("the balance of a payload"), groups) == []
    assert [each.asked_terms for each in find_synonyms(parse_query("two load balancers"), groups)] == [
        {"load", "balanc"}
    ]


def test_a_product_is_found_by_its_kind_and_not_by_its_rivals() -> None:
    said = set(iter_synonym_terms(parse_query("do we keep memcached?"), load_shipped_synonyms()))
    assert "cach" in said and "redi" not in said and "redis" not in said
    assert "kubernet" in set(iter_synonym_terms(parse_query("k8s 集群放在哪里？"), load_shipped_synonyms()))


@pytest.mark.parametrize("text", ["- cache\n", "cache: x\n", "- [one]\n", "- []\n"])
def test_a_broken_line_of_synonyms_is_named(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_groups("- [a, b]\n" + text, "content/synonyms.yaml")
    assert (caught.value.path, caught.value.line) == ("content/synonyms.yaml", 2)
    assert "cache, caching" in str(caught.value.hint)


def test_days_and_paths_filter(filled: KnowledgeBase) -> None:
    assert said(filled, "", wanted=Filter(path="src/pay/hook.py")) == ["D002", "D001"]
    assert said(filled, "retry", wanted=Filter(path="src/pay/hook.py")) == ["D001"]
    assert said(filled, "", wanted=Filter(path="src/pay")) == ["D001"]
    assert said(filled, "", wanted=Filter(path="src/decode.c")) == ["P001"]
    assert said(filled, "", wanted=Filter(path="src")) == []
    assert said(filled, "", wanted=Filter(since="2026-03-01", until="2026-05-01")) == ["D003", "D002"]


def test_a_superseded_record_stands_behind_its_successor(filled: KnowledgeBase) -> None:
    filled.import_records(
        [
            note("D010", "Deploy with Jenkins pipelines", "Jenkins.", status="superseded"),
            note("D011", "Ship through GitHub Actions", "Actions.", supersedes=("D010",)),
        ],
        origin="a test",
    )
    answers = filled.recall("Jenkins pipelines")
    assert [answer.record.id for answer in answers][:2] == ["D011", "D010"]
    assert "D010" in str(answers[0].note) and not answers[1].note
    assert said(filled, "Jenkins pipelines", wanted=Filter(statuses=("superseded",))) == ["D010"]
    assert said(filled, "D010")[:1] == ["D010"], "who asks for an id gets that record first"


def test_a_question_about_the_asker_is_answered_with_preferences(filled: KnowledgeBase) -> None:
    assert said(filled, "what do you know about me?") == ["U001"]
    assert said(filled, "你记得我吗") == ["U001"]


def test_a_weak_sign_of_the_asker_adds_preferences_where_few_answers_are_found(filled: KnowledgeBase) -> None:
    few = said(filled, "does my FFmpeg leak")
    assert few[0] == "P001" and "U001" in few
    assert "U001" not in said(filled, "does FFmpeg leak")
    filled.import_records([note(f"D02{n}", f"FFmpeg leak number {n}", "Leaks.") for n in range(3)], origin="a test")
    assert "U001" not in said(filled, "does my FFmpeg leak")


def test_the_same_files_give_the_same_order_whatever_was_indexed_before(filled: KnowledgeBase, clock: Clock) -> None:
    filled.import_records(
        [note(f"D1{n:02}", "One of many equal records", "Equal.") for n in range(60)], origin="a test"
    )
    queries = ("equal records", "many", "which records are equal to one another", "支付 records")
    before = [said(filled, query, limit=20) for query in queries]
    one(filled, decision(0))
    path = Path(filled.root) / next(record.path for record in filled.records() if record.id == "D100")
    path.write_text(path.read_text().replace("Equal.", "Equal!"))
    path.write_text(path.read_text().replace("Equal!", "Equal."))
    assert [said(filled, query, limit=20) for query in queries] == before
    root = filled.root
    filled.close()
    shutil.rmtree(Path(root) / ".kb")
    with KnowledgeBase(root, os.environ, clock) as other:
        assert [said(other, query, limit=20) for query in queries] == before


def test_explain_tells_the_intent_the_terms_and_each_part_of_a_score(filled: KnowledgeBase, root: Path) -> None:
    out = run(root, "search", "why", "do", "we", "retry", "payments", "--explain").out
    assert "intent: knowledge (meaning)" in out
    assert "payment" in out and "×standing" in out and "terms" in out
    explained = json.loads(run(root, "search", "retry", "payments", "--explain", "--json").out)
    assert explained["intent"] == "general"
    assert explained["answers"][0]["id"] == "D001"
    assert explained["answers"][0]["parts"]["terms"] > 0


@pytest.mark.parametrize("query", ["\ud800", "retry \udcff", "\0retry", '"retry" (', "retry" * 2000, "[D001"])
def test_any_text_is_a_question(filled: KnowledgeBase, query: str) -> None:
    said(filled, query)
    filled.answer_to_prompt(query)


def test_words_or_a_filter_must_be_given(filled: KnowledgeBase, root: Path) -> None:
    done = run(root, "search")
    assert done.code == 2 and "filter" in done.error
    for path in ("src/decode.c", "./src/decode.c", "src/decode.c/", "src//decode.c"):
        assert "P001" in run(root, "search", "--path", path).out, path


def test_words_that_stand_close_together_count_more() -> None:
    worth = {"retr": 1.0, "payment": 1.0}
    near, far = "we retry every payment", "we retry it all. " + "x " * 60 + "payment"
    assert score_proximity(near, worth) == 1.0
    assert score_proximity(far, worth) == 0.5
    assert score_proximity("nothing of it", worth) == 0.0
    assert score_proximity("", {}) == 0.0


def test_a_title_that_is_asked_for_is_recognised() -> None:
    def score_title(title: str, asked: str) -> float:
        return score_text(build_text_question(parse_query(asked), []), read_text([title], ""))["title"] / TITLE_WEIGHT

    assert score_title("Retry payments", "why retry payments twice") == 1.0
    assert score_title("Retry payments", "nothing") < 0.2
    assert score_title("", "x") == 0.0


def test_the_newest_of_one_day_come_first(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    names = []
    for n, kind in enumerate(("domain-note", "decision", "domain-note", "constraint")):
        clock.seconds += 60
        text = f"The {('first', 'second', 'third', 'fourth')[n]} ledger keeps its entries for {n + 7} years"
        names.append(kb.write([Candidate(kind, text, text, scope="global", reference_value=True)])[0].id)
    found = [row["id"] for row in json.loads(run(root, "search", "--scope", "global", "--json").out)]
    assert found == names[::-1]
    assert [r["id"] for r in json.loads(run(root, "search", "--kind", "DN", "-n", "1", "--json").out)] == [names[2]]
    assert [r["id"] for r in json.loads(run(root, "list", "--newest", "-n", "2", "--json").out)] == names[:1:-1]


def test_a_chinese_word_that_no_record_has_is_absent(kb: KnowledgeBase) -> None:
    kb.import_records(
        [
            note("D001", "利息按日计算", "借款的利息从放款次日起算。"),
            note("D002", "外部服务统一经过网关", "对外部的调用都写日志。"),
            note("U001", "回复用中文", "一律用中文回复。", kind="preference"),
        ],
        origin="a test",
    )
    assert said(kb, "罚息") == []
    assert kb.context("罚息").text == "" and kb.pack("罚息").evidence == ()
    assert said(kb, "利息") == ["D001"] and said(kb, "息") == ["D001"]
    assert said(kb, "外部调用") == ["D002"]
    assert said(kb, "罚息怎么计算")[0] == "D001", "half of the words are there"


@pytest.mark.parametrize("asked", ["ADR 303", "0303", "303", "ADR-0303", "#303", "decision 303", "决策 303 讲了什么"])
def test_an_imported_record_is_found_by_its_old_number(kb: KnowledgeBase, asked: str) -> None:
    others = [note(f"D{n:03}", f"Decision about number {n} of ADR parts", "ADR decisions, 决策") for n in range(1, 30)]
    old = note("D030", "Ship the gateway", "Traffic goes through it.", extra={"adr": 303}, date="2020-01-01")
    kb.import_records([*others, old], origin="a test")
    assert said(kb, asked)[0] == "D030"


@pytest.mark.parametrize(
    ("asked", "first"),
    [("D-7", "D007"), ("d7", "D007"), ("decision 7", "D007"), ("约束 7", "C007"), ("what does D-07 say", "D007"),
     ("ADR 7", "D007"), ("M1 chip 7", None)],
)  # fmt: skip
def test_an_id_in_another_spelling_names_its_record(kb: KnowledgeBase, asked: str, first: str | None) -> None:
    records = [note(f"D{n:03}", f"Chip {n} decision", "It says what a decision says, ADR.") for n in range(1, 12)]
    records += [note("C007", "Keep the wires short", "约束", kind="constraint"), note("M001", "Wires", kind="pattern")]
    kb.import_records(records, origin="a test")
    found = said(kb, asked)
    assert found[0] == first if first else "M001" not in found[:1]


def test_an_imported_number_goes_before_the_id_of_the_same_number(kb: KnowledgeBase) -> None:
    kb.import_records([note("D007", "One"), note("D012", "Two", extra={"adr": 7})], origin="a test")
    assert said(kb, "ADR 7") == ["D012", "D007"]


def test_what_asks_for_the_newest_gets_the_newest_first(kb: KnowledgeBase) -> None:
    kb.import_records(
        [
            note("D001", "登录令牌一小时后过期", "登录会话用 auth 令牌。", date="2026-01-03"),
            note("D002", "登录失败五次后锁定", "锁定 auth 登录。", date="2026-05-03"),
            note("D003", "Cache pages at the edge", "For a minute.", date="2026-06-01"),
            note("C001", "Never log a token", "Not in debug either.", kind="constraint", date="2026-04-01"),
            note("D004", "Keep sessions in files", "auth", date="2026-07-01", status="deprecated"),
        ],
        origin="a test",
    )
    assert said(kb, "最近关于登录的决定") == ["D002", "D001"]
    assert said(kb, "newest decisions on auth")[:2] == ["D002", "D001"]
    assert said(kb, "what changed this week") == ["D003", "D002", "C001", "D001"]
    assert said(kb, "latest constraints") == ["C001"] == said(kb, "最近的约束")
    assert said(kb, "近期废弃的决策") == ["D004"]


def test_the_newest_of_a_named_kind_are_of_that_kind_and_on_the_matter(kb: KnowledgeBase) -> None:
    kb.import_records(
        [
            note("D001", "Orders live in PostgreSQL", "订单存放在 PostgreSQL。", date="2026-01-03"),
            note("D002", "Exports use semicolons", "导出用分号。", date="2026-03-03"),
            note("C001", "Orders are never deleted", "订单不得删除。", kind="constraint", date="2026-05-01"),
            note("P001", "pytest cannot import pika", "缺少依赖。", kind="pitfall", date="2026-06-01"),
        ],
        origin="a test",
    )
    assert said(kb, "newest decisions") == ["D002", "D001"] == said(kb, "最近的决策")
    assert said(kb, "newest decisions on orders") == ["D001"] == said(kb, "最近关于订单的决策")
    assert said(kb, "newest decisions about kubernetes") == [] == said(kb, "最近关于火箭的决策")
    assert said(kb, "latest pitfalls") == ["P001"]
    assert said(kb, "newest decisions about pika") == [], "no decision is about it"


def test_scopes_that_were_not_asked_are_said(kb: KnowledgeBase, root: Path) -> None:
    texts = ("Retry a payment three times", "Keep a payment for ten years", "Sign each payment")
    kb.import_records(
        [note(f"D{n:03}", text, scope="project/payments") for n, text in enumerate(texts, 1)]
        + [note("D009", "Ship on Mondays"), note("D001", "Show a payment in red", scope="project/shop")],
        origin="a test",
    )
    asked = ("search", "the", "payment", "--scope", "global")
    assert "4 records of project/payments, project/shop match; only global was asked" in run(root, *asked).error
    asked = ("search", "why", "sign", "a", "payment", "--scope")
    assert "1 record of project/payments matches; only global was asked" in run(root, *asked, "global").error
    found = search_records(kb, "sign", wanted=Filter(scopes=("global", "project/shop")), project="project/shop")
    assert str(found.elsewhere) == "1 record of project/payments matches; only global and this project were asked"
    assert "match" not in run(root, "search", "payment").error, "all scopes were asked"
    assert "match" not in run(root, "search", "Mondays", "--scope", "global").error
    (root / "kb.toml").write_text('language = "zh"\n', encoding="utf-8")
    assert "project/payments 中有 1 条记录符合；只查了global" in run(root, *asked, "global").error


def test_a_reply_and_the_one_who_speaks_come_before_the_question(kb: KnowledgeBase) -> None:
    turns = ("Ben: Which ferry did you take to the island?", "Ann: The late one, at nine", "Ben: I took no ferry",
             "Ann: 你坐的是哪班渡轮？", "Ben: 晚上九点那班")  # fmt: skip
    records = [note(f"D{n:03}", f"Line {n}", turn, sources=("s1",)) for n, turn in enumerate(turns, 1)]
    kb.import_records(records, origin="a test")
    assert said(kb, "which ferry did Ann take to the island")[0] == "D002"


def test_a_long_question_wants_its_answer_and_not_the_newest(kb: KnowledgeBase) -> None:
    kb.import_records(
        [
            note("D001", "Trace every request with Jaeger", "Jaeger shows one request across all services it touched.",
                 date="2025-01-01"),
            note("D002", "Services answer a request in JSON", "Each request across services has one format, as Jaeger.",
                 date="2026-01-01"),
        ],
        origin="test",
    )  # fmt: skip
    asked = "which tool shows me one request across all the services it touched"
    assert detect_intent(parse_query("newest decisions on requests")).intent == RECENT
    assert said(kb, "newest decisions on requests") == ["D002", "D001"]
    assert detect_intent(parse_query(asked)).intent == RECENT
    assert said(kb, asked)[0] == "D001"


def test_a_long_record_does_not_win_by_its_length(kb: KnowledgeBase) -> None:
    passing = "签名和回调都在网关，限流也在。" + "其余各节说明背景、范围、备选方案与后果，与此无关。" * 40
    kb.import_records(
        [
            note("D001", "网关设计总述", passing),
            note("D002", "限流策略", "限流按租户计算，超出的请求排队。"),
            *(note(f"D{n:03d}", f"其他决策{n}", "报表每天导出一次，放在对象存储里。") for n in range(3, 9)),
        ],
        origin="test",
    )
    assert said(kb, "回调的签名怎么限流")[0] == "D002"
