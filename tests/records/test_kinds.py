"""The table of kinds: sections and fields that only some kinds have, and how they come in, are read and found."""

import json
import os
from pathlib import Path

import pytest

from kb.context.disclose import build_record_view
from kb.errors import BadInput
from kb.index.record_ids import find_by_signature
from kb.knowledge_base import KnowledgeBase
from kb.merge.merge_record import merge_record
from kb.records.blocks import append_to_section, edit_section
from kb.records.candidate import FIELDS, SCHEMA, build_candidates, candidate_to_json
from kb.records.kinds import COMMON_FIELDS, KINDS, SECTIONS, is_own_path, resolve_section_name, section_label
from kb.records.model import Candidate, Record, Section
from kb.records.record_file import read, render
from kb.records.short_form import render_short_form, render_table
from tests.support.clones import one
from tests.support.command_line import run
from tests.support.sealed import Clock

TYPES = {"string", "date", "number", "enum", "strings"}
PITFALL = Candidate(
    "pitfall",
    "The import of pika fails in a fresh virtual environment",
    decision="`python worker.py` ends with ModuleNotFoundError: No module named 'pika'.",
    why="The extra `queue` is not installed by `pip install -e .`.",
    sections={"solution": "Run `pip install -e '.[queue]'`.", "outcome": "The worker starts."},
    fields={"signature": ("python", "ModuleNotFoundError: No module named 'pika'")},
    prevents_repeat=True,
    affects_future=True,
    reference_value=True,
)
LEARNING = Candidate(
    "learning",
    "Where does the worker read its queue settings from?",
    decision="`src/worker/settings.py` reads them from the environment, once at start.",
    sections={"explored": "Read ×4, Grep ×2: src/worker/settings.py, src/worker/main.py"},
    fields={"question_type": "CONFIGURATION", "domain": "queue", "asked": ("队列的配置从哪里读取？",)},
    impact=("src/worker/settings.py",),
    confidence=0.9,
    affects_future=True,
    reference_value=True,
    prevents_repeat=True,
)
OLD = """---
id: P001
kind: pitfall
title: Retries hide timeouts
status: accepted
---
<!-- MACHINE_BLOCK_START -->
# [P001] Retries hide timeouts

## Decision

A timeout is retried and nobody sees it.

## Why

The client swallows it.
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->
"""


def test_every_row_names_sections_and_fields_of_the_known_types() -> None:
    own = {section.name for section in SECTIONS if not section.is_shared}
    assert {name for kind in KINDS for name in kind.sections} == own
    fields = [*COMMON_FIELDS, *(field for kind in KINDS for field in kind.fields)]
    assert {field.type for field in fields} <= TYPES
    assert all(bool(field.words) == (field.type == "enum") for field in fields)
    assert set(SCHEMA["properties"]["sections"]["properties"]) == own
    assert set(SCHEMA["properties"]["fields"]["properties"]) == {field.name for field in fields} == set(FIELDS)


@pytest.mark.parametrize(
    ("kind", "heading", "name"),
    [
        ("pitfall", "Symptom", "decision"), ("pitfall", "现象", "decision"), ("pitfall", "Decision", "decision"),
        ("pitfall", "Cause (原因)", "why"), ("pitfall", "解决办法", "solution"), ("pitfall", "Steps", ""),
        ("learning", "答案", "decision"), ("learning", "探索路径", "explored"), ("checklist", "Steps:", "steps"),
        ("pattern", "适用场景", "when"), ("decision", "Symptom", ""), ("decision", "Solution", ""), ("", "Outcome", ""),
        ("decision", "决策（Decision）", "decision"),
    ],
)  # fmt: skip
def test_a_heading_means_what_its_kind_says(kind: str, heading: str, name: str) -> None:
    assert resolve_section_name(heading, kind) == name


def test_labels_are_those_of_the_kind() -> None:
    assert [section_label("decision", language, "pitfall") for language in ("en", "zh")] == ["Symptom", "现象"]
    assert [section_label("decision", language, "decision") for language in ("en", "zh")] == ["Decision", "决策"]


@pytest.mark.parametrize("candidate", [PITFALL, LEARNING])
def test_what_a_kind_has_of_its_own_is_written_and_read_back(
    kb: KnowledgeBase, root: Path, candidate: Candidate
) -> None:
    verdict = one(kb, candidate)
    assert verdict.verdict == "created", verdict
    data = (root / verdict.path).read_bytes()
    record = read(data, verdict.path)
    assert {name: record.section(name) for name in candidate.sections} == dict(candidate.sections)
    assert render(record).encode() == data
    for name, value in candidate.fields.items():
        assert record.extra[name] == (list(value) if isinstance(value, tuple) else value)
    assert kb.record(verdict.id).section("decision") == candidate.decision
    assert kb.check() == []


def test_a_learning_needs_an_answer_and_keeps_how_sure_it_is(kb: KnowledgeBase, root: Path) -> None:
    first = one(kb, LEARNING)
    assert (first.id, first.status, kb.record("L001").extra["confidence"]) == ("L001", "accepted", 0.9)
    text = (root / first.path).read_text()
    assert "## Answer\n" in text and "## Explored\n" in text and first.path.startswith("content/anchors/")


def test_a_further_wording_of_a_question_finds_its_answer(kb: KnowledgeBase) -> None:
    one(kb, LEARNING._replace(session="a"))
    one(kb, LEARNING._replace(title="Where does the worker read its queue settings?", session="b"))
    assert [hit.record.id for hit in kb.recall("队列 配置 读取")] == ["L001"]
    assert "Where does the worker read its queue settings?" in kb.record("L001").extra["asked"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"sections": {"explored": "x"}},
            "a pitfall has no explored among its sections; it may have: solution, outcome",
        ),
        ({"fields": {"domain": "x"}}, "a pitfall has no domain among its fields; it may have: signature, fixed_by"),
        ({"fields": {"signature": "x"}}, "the field fields.signature must be array of string, not string"),
        ({"solution": "x"}, "solution is given inside sections: {sections: {solution: …}}"),
        ({"kind": "D", "sections": {"steps": "x"}}, "a decision has no steps among its sections; it may have: –"),
        ({"kind": "L", "fields": {"confidence": 1.2}}, "must be a number from 0.0 to 1.0, not 1.2"),
        ({"kind": "L", "fields": {"question_type": "why"}}, "must be CODE_STRUCTURE | BUSINESS_LOGIC"),
    ],
)
def test_what_a_kind_does_not_have_is_refused_by_name(change: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as error:
        build_candidates({"kind": "pitfall", "title": "A title", **change})
    assert said in str(error.value.message)


@pytest.mark.parametrize("candidate", [PITFALL, LEARNING])
def test_a_candidate_survives_its_json_form(candidate: Candidate) -> None:
    assert build_candidates(json.loads(json.dumps(candidate_to_json(candidate)))) == [candidate]


def test_an_old_pitfall_is_read_and_keeps_its_headings() -> None:
    record = read(OLD.encode(), "a.md")
    assert record.section("decision").startswith("A timeout") and record.section("why") == "The client swallows it."
    new = edit_section(OLD, "solution", "Log it.", "zh")
    assert new.replace("\n## 解决办法\n\nLog it.\n", "") == OLD
    assert "## Decision" in append_to_section(new, "decision", "Twice a day.")
    assert render_short_form(read(new.encode(), "a.md"), "en").splitlines()[1:] == [
        "- Cause: The client swallows it.",
        "- Solution: Log it.",
    ]


def test_two_sides_that_write_one_section_in_two_languages_merge() -> None:
    ours = edit_section(OLD, "solution", "Log it.", "en").replace("## Decision", "## Symptom")
    theirs = edit_section(OLD, "outcome", "It shows.", "zh").replace("## Decision", "## 现象")
    merged = merge_record(OLD.encode(), ours.encode(), theirs.encode(), path="a.md")
    found = read(merged.data, "a.md")
    assert merged.conflicts == ()
    assert [section.name for section in found.sections] == ["decision", "why", "solution", "outcome"]


def test_a_repetition_fills_what_is_missing(kb: KnowledgeBase) -> None:
    one(kb, PITFALL._replace(sections={}, fields={}, session="a"))
    again = one(kb, PITFALL._replace(session="b"))
    record = kb.record(again.id)
    assert (again.verdict, record.id) == ("updated", "P001")
    assert record.section("solution") and record.extra["signature"][0] == "python"
    one(kb, PITFALL._replace(session="c", fields={"signature": ("node", "Error: x")}))
    assert kb.record("P001").extra["signature"][0] == "python", "the signature of another failure does not fit"


def test_a_signature_is_looked_up_line_by_line(kb: KnowledgeBase) -> None:
    one(kb, PITFALL)
    other = ("python", "AttributeError: x.y")
    one(kb, PITFALL._replace(title="A settings object lacks its port", decision="AttributeError at start.", why="Typo.",
                             sections={}, fields={"signature": other}))  # fmt: skip
    plain = "modulenotfounderror: no module named 'pika'"  # as the output of a command is read
    found = find_by_signature(kb, ["python", plain])
    assert [(record.id, lines) for record, lines in found] == [("P001", ["python", plain]), ("P002", ["python"])]
    assert find_by_signature(kb, ["Error: y"]) == []
    kb.change_status("P001", "deprecated", decided=True)
    assert find_by_signature(kb, [plain]) == []


def test_options_give_sections_and_fields(kb: KnowledgeBase, root: Path) -> None:
    given = [
        "write", "--kind", "P", "--title", "The import of pika fails in a fresh environment", "--decision",
        "`worker.py` ends with ModuleNotFoundError.", "--why", "The extra `queue` is not installed.", "--section",
        "solution=Run `pip install -e '.[queue]'`.", "--field", "signature=python", "--field",
        "signature=ModuleNotFoundError: pika", "--prevents-repeat", "yes", "--json",
    ]  # fmt: skip
    assert run(root, *given).code == 0
    assert kb.record("P001").extra["signature"] == ["python", "ModuleNotFoundError: pika"]
    update = ["write", "--updates", "P001", "--field", "fixed_by=0123abc", "--field", "regression_test=tests/test_w.py"]
    assert run(root, *update, "--yes").code == 0
    record = kb.record("P001")
    assert (record.extra["fixed_by"], record.extra["regression_test"]) == ("0123abc", "tests/test_w.py")


def test_a_value_of_another_type_is_a_finding(kb: KnowledgeBase, root: Path) -> None:
    path = root / one(kb, LEARNING).path
    path.write_text(path.read_text().replace("confidence: 0.9", "confidence: high"))
    assert [finding.line for finding in kb.check() if finding.rule == "field"] == [
        1 + path.read_text().splitlines().index("confidence: high")
    ]


def test_a_section_of_its_kind_stands_in_order() -> None:
    record = Record("M001", "pattern", "T", sections=(Section("why", "", "Because."),))
    text = edit_section(edit_section(render(record), "steps", "1. Do it."), "when", "At night.")
    assert [section.name for section in read(text.encode()).sections] == ["when", "steps", "why"]


def test_every_door_shows_what_a_kind_has_of_its_own(kb: KnowledgeBase, root: Path) -> None:
    one(kb, PITFALL)
    view = build_record_view(kb, kb.record("P001"), budget=1000)
    parts = {part.name: part.text for part in view.parts}
    assert parts["solution"] == PITFALL.sections["solution"]
    assert parts["signature"].splitlines() == list(PITFALL.fields["signature"])
    assert "- Solution: Run `pip install" in run(root, "show", "P001", "--short").out.replace("Run pip", "Run `pip")
    exported = run(root, "export", "wukong").out
    assert "### Solution (解决办法)" in exported or "### Solution" in exported


def test_what_a_kind_has_of_its_own_survives_export_and_import(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    for candidate in (PITFALL, LEARNING):
        one(kb, candidate)
    (tmp_path / "a.md").write_text(run(root, "export", "wukong").out, encoding="utf-8")
    other = tmp_path / "other"
    assert run(tmp_path, "init", str(other)).code == 0
    assert run(other, "import", "wukong", str(tmp_path / "a.md"), KB_HOME=str(other)).code == 0
    with KnowledgeBase(str(other), os.environ, Clock()) as there:
        for name in ("P001", "L001"):
            mine, theirs = kb.record(name), there.record(name)
            assert [(s.name, s.text) for s in theirs.sections] == [(s.name, s.text) for s in mine.sections]
            assert theirs.extra.get("signature") == mine.extra.get("signature")
            assert theirs.extra.get("asked") == mine.extra.get("asked")


@pytest.mark.parametrize(
    ("kinds", "en", "zh"),
    [
        (("decision",), "Decision", "决策"),
        (("pitfall", "pitfall"), "Pitfall", "问题"),
        (("decision", "constraint"), "Record", "记录"),
        ((), "Decision", "决策"),
    ],
)
def test_a_table_calls_records_what_they_are(kinds: tuple[str, ...], en: str, zh: str) -> None:
    records = [Record(f"X{n:03}", kind, "a | b", date="2026-01-01") for n, kind in enumerate(kinds)]
    assert render_table(records, "en").startswith(f"| ID | {en} | Date | Reason |\n")
    assert render_table(records, "zh").startswith(f"| ID | {zh} | 日期 | 原因 |\n")
    assert render_table(records, "en").count("a \\| b") == len(kinds)


def test_a_short_form_carries_the_decision_where_it_is_asked_to() -> None:
    sections = (Section("decision", "Decision", "Use one queue. " + "x" * 300), Section("why", "Why", "Order."))
    record = Record("D001", "decision", "One queue", sections=sections)
    assert render_short_form(record, "en") == "[D001] One queue\n- Why: Order."
    told = render_short_form(record, "en", with_decision=True)
    assert told == "[D001] One queue\n- Decision: Use one queue.\n- Why: Order."


@pytest.mark.parametrize("path", ["content/anchors/global/D001-x.md", "kb.toml", ".gitattributes", "memory-bank/x.md"])
def test_files_of_a_base_are_its_own(path: str) -> None:
    assert is_own_path(path)


@pytest.mark.parametrize("path", ["contents.py", "content_model/user.py", "src/kb.toml", "kb.toml.j2"])
def test_files_whose_names_only_begin_alike_are_of_the_project(path: str) -> None:
    assert not is_own_path(path)
