"""What is loaded before an agent answers: background, related records with their relevance, domain knowledge."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.context.build_context import (
    LoadedKnowledge,
    RelatedRecord,
    compute_relevances,
    load_knowledge,
    render_summary,
)
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Record, Section
from kb.search.query import parse_query
from kb.search.rank import SearchHit
from kb.text.segment import estimate_tokens
from tests.support.command_line import run


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    said = [
        Candidate("decision", "还款方式有等额本息与先息后本", "还款方式包括等额本息、等额本金与先息后本三种。",
                  impact=("src/RepaymentType.java",), claims={"backend.framework": "Spring"}),
        Candidate("decision", "Retry payments three times", "A failed payment is tried again after 1, 2 and 4 seconds.",
                  impact=("src/retry.py",)),
        Candidate("domain-note", "还款领域", "还款是借款人按计划偿还本金与利息。", tags=("本金", "利息")),
    ]  # fmt: skip
    for one in said:
        whole = one._replace(
            why="It was measured, and it weighs on the whole architecture.", alternatives="None.", scope="global",
            verification="Read it.", rollback="Undo it.", impact_areas=("architecture",), affects_future=True,
        )  # fmt: skip
        assert kb.write([whole])[0].status == "accepted"
    return root


def test_the_summary_has_its_three_sections(filled: Path) -> None:
    (filled / "kb.toml").write_text('language = "zh"\n')
    out = run(filled, "context", "load", "-q", "还款方式有哪些类型").out
    assert out.index("## 项目背景\n- 技术栈: backend.framework: Spring\n- 领域: 还款领域") == 0
    assert "## 相关学习记录\n\n### 相关知识 1 (相关度: " in out
    assert "问题: [D001] 还款方式有等额本息与先息后本\n答案: 还款方式包括" in out
    assert "涉及文件: [src/RepaymentType.java]" in out
    assert out.rstrip().endswith(
        "## 领域知识\n\n### [DN001] 还款领域\n还款是借款人按计划偿还本金与利息。\n关键概念: [本金, 利息]"
    )


def test_the_background_names_what_manifests_require_and_what_was_learnt_of(filled: Path, kb: KnowledgeBase) -> None:
    (filled / "requirements.txt").write_text("fastapi==0.110\nredis>=5.0\n", encoding="utf-8")
    learnt = Candidate("learning", "Where is interest computed?", "In src/interest.py, by day, and never by month.",
                       fields={"domain": "repayment"}, scope="global", reusable=True)  # fmt: skip
    assert kb.write([learnt])[0].verdict == "created"
    found = json.loads(run(filled, "context", "load", "-q", "interest", "--json").out)
    assert found["stack"] == ["backend.framework: Spring", "fastapi 0.110", "redis 5.0"]
    assert found["domains"] == ["还款领域", "repayment"]


def test_the_list_is_numbered_with_relevance_question_answer_and_files(filled: Path) -> None:
    out = run(filled, "context", "load", "-q", "retry payments", "--list").out
    assert out.startswith("1. [1.00] Q: [D002] Retry payments three times\n   A: A failed payment")
    assert "   Files: [src/retry.py]" in out


def test_json_has_what_was_loaded(filled: Path) -> None:
    found = json.loads(run(filled, "context", "load", "-q", "还款", "--json").out)
    assert set(found) == {"project", "stack", "domains", "related", "knowledge"}
    assert [one["record"]["id"] for one in found["related"]] == ["D001"]
    assert [one["id"] for one in found["knowledge"]] == ["DN001"]


def test_relevance_is_a_share_that_never_rises() -> None:
    def hit(title: str, whole: bool = False) -> SearchHit:
        return SearchHit(
            Record("D001", "decision", title, sections=(Section("decision", "Decision", title),)), whole=whole
        )

    asked = parse_query("retry payments queue")
    found = compute_relevances([hit("Retry payments"), hit("Retry payments queue", whole=True), hit("Logging")], asked)
    assert found == sorted(found, reverse=True) and 0 < found[0] < 1 and found[2] == 0


@pytest.mark.parametrize("budget", [100, 150, 300, 4000])
def test_the_best_answer_is_kept_and_the_background_goes_first(filled: Path, kb: KnowledgeBase, budget: int) -> None:
    made = render_summary(load_knowledge(kb, "还款方式 等额本息 retry payments"), budget)
    text = made.translate("en")
    assert estimate_tokens(text + "\n") <= budget
    assert "D001" in text
    assert ("## Project background" in text) == (budget >= 300)
    assert bool(made.omitted) == (budget < 300)


RARE = "齉龘靐爩麤黸癵籲灪鱻"
TEXT = st.text(alphabet="ab 中文。-\n" + RARE, min_size=1, max_size=500)


@given(
    st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["decision", "domain-note"])), max_size=7),
    st.lists(TEXT, max_size=40),
    st.sampled_from([100, 101, 130, 250, 700, 4000]),
)
def test_law_a_summary_keeps_its_budget_and_its_best_answer(
    texts: list[tuple[str, str, str]], domains: list[str], budget: int
) -> None:
    answers = tuple(
        RelatedRecord(
            Record(f"D{n:03}", kind, title, tags=tuple(text.split()[:9]), impact=("src/" + "长" * 90,) * 7,
                   sections=(Section("decision", "Decision", text),)), 1.0,
        )
        for n, (title, text, kind) in enumerate(texts)
    )  # fmt: skip
    loaded = LoadedKnowledge("project/x", ("backend.framework: FastAPI",), tuple(domains), answers)
    made = render_summary(loaded, budget)
    for language in ("en", "zh"):
        assert estimate_tokens(made.translate(language) + "\n") <= budget
    text = made.translate("en")
    assert not answers or "D000" in text
    shown = sum(f"[D{n:03}]" in text for n in range(len(answers)))
    assert (shown < len(answers)) == any("records that did not fit" in str(one) for one in made.omitted)


def test_many_domain_notes_do_not_push_the_answer_out(root: Path, kb: KnowledgeBase) -> None:
    texts = [(f"第 {n} 场比赛的攻防数据与分析", f"第 {n} 场比赛的说明，供以后查阅参考。") for n in range(10, 40)]
    texts.append(("黑豹队的防守丢了多少分", "黑豹队的防守只丢了 308 分，在联盟排名第六。"))
    kb.write([Candidate("domain-note", *text, scope="global", reference_value=True) for text in texts])
    ran = run(root, "context", "load", "-q", "黑豹队的防守丢了多少分？", "--budget", "100")
    assert "308" in ran.out and estimate_tokens(ran.out) <= 100 and "background did not fit" in ran.error


def test_a_list_has_the_domain_notes_too_and_says_when_nothing_answers(filled: Path) -> None:
    assert "[DN001]" in run(filled, "context", "load", "-q", "还款 利息 领域", "--list").out
    nothing = run(filled, "context", "load", "-q", "kubernetes ingress certificates", "--list")
    assert nothing.out == "" and "nothing recorded is about this" in nothing.error


def test_nothing_about_it_is_said_and_no_record_is_made_up(filled: Path) -> None:
    ran = run(filled, "context", "load", "-q", "kubernetes ingress certificates")
    assert ran.code == 0 and "###" not in ran.out and ran.error


def test_tokens_and_characters_of_a_text_are_counted(root: Path) -> None:
    ran = run(root, "context", "tokens", "--json", stdin="你好世界 hello".encode())
    assert json.loads(ran.out)["count"] == 5 and json.loads(ran.out)["tokens"] > 4
