"""Records at three levels: a line, how each section begins, the file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import KINDS
from kb.records.model import Candidate, Record, Section
from kb.records.short_form import MAX_ABSTRACT, MAX_OVERVIEW, render_abstract, render_overview
from kb.text.segment import estimate_tokens
from tests.support.command_line import run

TEXTS = st.one_of(
    st.text(max_size=3000),
    st.builds(
        " ".join, st.lists(st.sampled_from(["Use PostgreSQL 16.", "- keep", "还款方式三种。", "a" * 300, "\n\n"]))
    ),
)


@given(
    title=st.text(min_size=1, max_size=600),
    parts=st.lists(st.tuples(st.text(max_size=200), TEXTS), max_size=12),
    user=TEXTS,
    kind=st.sampled_from([kind.name for kind in KINDS]),
    language=st.sampled_from(["en", "zh"]),
)
def test_no_record_is_longer_than_its_level_allows(
    title: str, parts: list[tuple[str, str]], user: str, kind: str, language: str
) -> None:
    names = ("decision", "why", "impact", "rollback")
    sections = tuple(Section(names[n] if n < 4 else "", head, text) for n, (head, text) in enumerate(parts))
    record = Record("D001", kind, title, sections=sections, user=user)
    line = render_abstract(record)
    assert len(line) <= MAX_ABSTRACT and "\n" not in line and line.startswith("[D001]")
    assert len(render_overview(record, language)) <= MAX_OVERVIEW


def test_a_level_holds_what_it_promises() -> None:
    parts = (
        Section("decision", "Decision", "Use PostgreSQL 16 for orders. It runs in three zones."),
        Section("why", "Why", "It has transactions. We know it well."),
        Section("additions", "Additions", "2026-11-23: The reports moved too. More."),
    )
    record = Record("D001", "decision", "Orders are stored in PostgreSQL", sections=parts, user="Ask Li first. Always.")
    assert render_abstract(record) == "[D001] Orders are stored in PostgreSQL – Use PostgreSQL 16 for orders."
    assert render_overview(record, "en") == (
        "[D001] Orders are stored in PostgreSQL\n"
        "- Why: It has transactions.\n"
        "\n"
        "Decision: Use PostgreSQL 16 for orders.\n"
        "Additions: 2026-11-23: The reports moved too.\n"
        "USER: Ask Li first."
    )


def test_what_has_no_room_is_named() -> None:
    long = "word " * 100 + "."
    parts = tuple(Section("", f"Part {n}", f"{n} {long}") for n in range(20))
    text = render_overview(Record("D001", "decision", "Long", sections=parts), "en")
    assert len(text) <= MAX_OVERVIEW and "Part 0: 0 word" in text and "Part 19" in text.splitlines()[-1]


@pytest.fixture
def adrs(root: Path, tmp_path: Path) -> Path:
    """A knowledge base with 1,000 decision records of a project, as they are imported."""
    folder = tmp_path / "doc" / "adr"
    folder.mkdir(parents=True)
    for n in range(1, 1001):
        zh = n % 2
        title = f"第{n}号服务使用消息队列" if zh else f"Service {n} talks through a queue"
        body = (
            "订单与支付之间用队列解耦，失败可以重试。"
            if zh
            else "Orders and payments are apart, so that a failure is retried."
        )
        context = ("背景说明。" if zh else "The context is long. ") * (1 + n % 200)
        text = (
            f"# {n}. {title}\n\nDate: 2026-01-{1 + n % 28:02}\n\n## Status\n\nAccepted\n\n## Context\n\n{context}\n\n"
            f"## Decision\n\n{body}\n\n## Consequences\n\n{body}\n"
        )
        (folder / f"{n:04}-service.md").write_text(text)
    done = run(root, "import", "adr", str(folder), "--project", "loan")
    assert done.code == 0, done.error
    return root


def test_levels_of_a_thousand_decision_records(adrs: Path) -> None:
    with KnowledgeBase(str(adrs), {}) as kb:
        records = kb.records()
        assert len(records) == 1000
        for record in records:
            line, overview = render_abstract(record), render_overview(record, "zh")
            assert len(line) <= MAX_ABSTRACT < MAX_OVERVIEW and len(overview) <= MAX_OVERVIEW
            assert record.title in line and line.split(" – ")[0] in overview
    done = run(adrs, "show", "project/loan", "--level", "0")
    assert done.out.startswith("records: 1000\n") and "Decision 1000" in done.out
    for budget in (0, 30, 500, 4000):
        done = run(adrs, "list", "--level", "1", "--budget", str(budget))
        assert estimate_tokens(done.out) <= budget
        assert "records that did not fit: " in done.error and ("[" in done.out) == (budget > 30)
    whole = run(adrs, "show", "loan:D007", "--level", "2").out
    assert whole.strip() == run(adrs, "show", "loan:D007").out.strip() and whole.startswith("---")


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    one = Candidate(
        "decision", "Use PostgreSQL for orders", "PostgreSQL 16 stores orders. It runs in three zones.",
        alternatives="MySQL.", why="It was measured.", verification="Read it.", rollback="Undo it.",
        impact=("src/orders.py",), impact_areas=("architecture",), scope="global",
    )  # fmt: skip
    assert kb.write([one])[0].status == "accepted"
    return root


def test_every_door_has_levels(filled: Path) -> None:
    line = "[D001] Use PostgreSQL for orders – PostgreSQL 16 stores orders.\n"
    for words in (("show", "D001", "--level", "0"), ("search", "orders", "--level", "0"), ("list", "--level", "1")):
        assert run(filled, *words).out == line
    for words in (("show", "D001", "--level", "1"), ("search", "orders", "--level", "1"), ("list", "--level", "2")):
        assert "Decision: PostgreSQL 16 stores orders." in run(filled, *words).out
    assert json.loads(run(filled, "show", "D001", "--level", "0", "--json").out)[0]["text"] == line.strip()
    then = run(filled, "search", "orders", "--level", "2", "--at", "HEAD").out
    assert then.strip() == run(filled, "show", "D001").out.strip()
    assert run(filled, "show", "D001", "--level", "3").code == 2
    assert run(filled, "show", "decision").out == line
    assert run(filled, "show", "约束").error.strip() == "no record"
