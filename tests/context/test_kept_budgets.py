"""Whatever is printed for an agent stays within its budget, keeps the answer longest, and says what it left out."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.config import Config
from kb.context.build_context import LoadedKnowledge, RelatedRecord, load_knowledge, render_context, render_summary
from kb.knowledge_base import KnowledgeBase, make
from kb.mcp import tool_table
from kb.records.model import Record, Section
from kb.text.segment import estimate_tokens
from tests.support.command_line import run

QUESTIONS = ["还款方式有哪些类型？", "How are failed payments retried?", "黑豹队的防守丢了多少分", "retry", "利息", "x"]
BUDGETS = st.one_of(st.integers(0, 4000), st.integers(0, 120))
TEXT = st.text(alphabet="ab 中文。-\n[]龘靐爩麤", min_size=1, max_size=600)


@pytest.fixture(scope="module")
def base(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Eighty records in both languages, of many kinds, with long and short texts."""
    root = tmp_path_factory.mktemp("budgets") / "kb"
    kb, _ = make(str(root), os.environ, name="kb")
    records = []
    for n in range(40):
        long = "It was measured in three zones and found to be the best. " * (n % 13)
        text = f"第 {n} 种还款方式按计划偿还本金与利息。" * (1 + n % 7)
        said = Section("decision", "Decision", f"Service {n} retries a failed payment. {long}")
        parts = (said, Section("why", "Why", long))
        files, claims = (f"src/service{n}.py", "src/retry.py"), {f"service{n}.framework": f"Framework {n}"}
        records += [
            Record(f"DN{n + 1:03}", "domain-note", f"第 {n} 种还款方式与利息", status="accepted",
                   tags=("还款", f"第{n}类"), sections=(Section("decision", "Decision", text),)),
            Record(f"D{n + 1:03}", "decision", f"Service {n} retries failed payments", status="accepted", impact=files,
                   claims=claims, sections=parts),
        ]  # fmt: skip
    with kb:
        assert {one.verdict for one in kb.import_records(records, origin="elsewhere")} == {"created"}
    yield root


@given(question=st.sampled_from(QUESTIONS), budget=BUDGETS, language=st.sampled_from(["en", "zh"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_law_what_is_printed_costs_at_most_its_budget(base: Path, question: str, budget: int, language: str) -> None:
    (base / "kb.toml").write_text(f'language = "{language}"\n')
    for words in (("context", "load", "-q", question), ("context", "build", "-q", question), ("list", "--level", "1"),
                  ("list", "--level", "2", "--kind", "decision")):  # fmt: skip
        done = run(base, *words, "--budget", str(budget))
        assert done.code == 0 and estimate_tokens(done.out) <= budget, words
        assert done.out or done.error, "an empty answer says why"


@given(
    answers=st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["decision", "domain-note"])), max_size=7),
    domains=st.lists(TEXT, max_size=60),
    stack=st.lists(TEXT, max_size=20),
    budget=BUDGETS,
)
def test_law_the_background_goes_before_the_answer(
    answers: list[tuple[str, str, str]], domains: list[str], stack: list[str], budget: int
) -> None:
    related = tuple(
        RelatedRecord(Record(f"D{n:03}", kind, title, sections=(Section("decision", "Decision", text),)), 1.0)
        for n, (title, text, kind) in enumerate(answers)
    )
    made = render_summary(LoadedKnowledge("project/x", tuple(stack), tuple(domains), related), budget)
    text = made.translate("en")
    assert not text or max(estimate_tokens(made.translate(one) + "\n") for one in ("en", "zh")) <= budget
    shown = [n for n in range(len(related)) if f"[D{n:03}]" in text]
    if "## Project background" in text:
        assert len(shown) == len(related) and "shortened" not in str(made.omitted)
    elif related and not shown:
        assert text == "" and made.omitted
    assert (len(shown) < len(related)) == any("did not fit: " in str(one) for one in made.omitted)


def test_what_it_is_about_outlasts_what_it_is_built_with(base: Path) -> None:
    loaded = LoadedKnowledge("project/x", ("framework: FastAPI " * 20,), ("Repayment of loans",), ())
    seen = [render_summary(loaded, budget).translate("en") for budget in range(300, 0, -1)]
    with_stack = [n for n, text in enumerate(seen) if "FastAPI" in text]
    with_domains = [n for n, text in enumerate(seen) if "Repayment" in text]
    assert with_stack and max(with_stack) < max(with_domains) and set(with_stack) <= set(with_domains)


@given(texts=st.lists(st.tuples(TEXT, TEXT), max_size=8), budget=BUDGETS, language=st.sampled_from(["en", "zh"]))
def test_law_a_context_costs_at_most_its_budget(texts: list[tuple[str, str]], budget: int, language: str) -> None:
    records = [
        Record(f"D{n:03}", "decision", title, sections=(Section("decision", "Decision", text),))
        for n, (title, text) in enumerate(texts)
    ]
    made = render_context(records, budget, Config(language=language))
    assert made.tokens == estimate_tokens(made.text) <= budget
    assert made.left == len(records) - len(made.shown) and (made.shown or not texts or made.warnings)


@given(question=st.sampled_from(QUESTIONS), budget=st.integers(400, 6000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
def test_law_a_tools_answer_costs_at_most_its_budget(base: Path, question: str, budget: int) -> None:
    with KnowledgeBase(str(base), os.environ) as kb:
        for name, given_words in (
            ("search", {"query": question}), ("search", {"query": question, "level": 1}), ("list", {}),
            ("list", {"level": 0}), ("context", {"query": question}), ("pack", {"question": question}),
        ):  # fmt: skip
            answer = tool_table.call_tool(tool_table.BY_NAME[name], kb, str(base), {**given_words, "budget": budget})
            assert estimate_tokens(json.dumps(answer, ensure_ascii=False)) <= max(budget, _cost_of_one(name, answer))


def _cost_of_one(name: str, answer: dict[str, object]) -> int:
    """Return what an answer with one row costs: that one is kept whatever the budget is; 0 for one with more."""
    rows = answer["pack"]["evidence"] if name == "pack" else answer.get("answers", answer.get("records", []))  # type: ignore[index]
    return 10**6 if len(rows) == 1 and name != "context" else 0  # type: ignore[arg-type]


def test_many_titles_do_not_push_the_answer_out(base: Path) -> None:
    for budget in (70, 100, 200, 482):
        done = run(base, "context", "load", "-q", "第 7 种还款方式与利息", "--budget", str(budget))
        assert estimate_tokens(done.out) <= budget
        assert "DN008" in done.out and done.error, budget
    with KnowledgeBase(str(base), os.environ) as kb:
        assert len(load_knowledge(kb, "第 7 种还款方式与利息").domains) == 40
