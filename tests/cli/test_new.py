"""`kb new`: a person writes a record in an editor or answers questions, and it is written as they mean it."""

import json
import re
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.writing.record_template import build_template, parse_template
from tests.support.command_line import run, run_at_terminal
from tests.support.sealed import git

TITLE = "Keep orders in PostgreSQL"


def make_editor(place: Path, *lines: str) -> dict[str, str]:
    """Return the environment of an editor that runs the shell *lines* on the file it is given."""
    path = place / "editor"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), "utf-8")
    path.chmod(0o755)
    return {"EDITOR": str(path), "VISUAL": str(path)}


def fill(heading: str, text: str) -> str:
    """Return the shell line that writes *text* below *heading* of the template."""
    return f"sed -i '/^## {heading}$/,/^$/ s/-->$/-->\\n{text}/' \"$1\""


@pytest.fixture
def editor(tmp_path: Path) -> dict[str, str]:
    """An editor in which a person says what was decided and why."""
    return make_editor(
        tmp_path,
        fill("Decision", "Orders are kept in PostgreSQL 16."),
        fill("Why", "Transactions over several tables."),
        fill("Impact", "- `src\\/orders\\/`\\nsrc\\/payments.py"),
        fill("Tags", "postgres, orders"),
    )


def test_what_a_person_writes_is_accepted(kb: KnowledgeBase, root: Path, editor: dict[str, str]) -> None:
    ran = run_at_terminal(root, "new", TITLE, **editor)
    assert ran.code == 0 and "[D001]" in ran.out and "not given" not in ran.out, ran.out
    record = kb.record("D001")
    assert "accepted: it applies" in ran.out and "large impact" not in ran.out and "kb wiki serve --open" in ran.out
    assert (str(record.status), record.title, record.scope) == ("accepted", TITLE, "global")
    assert record.section("decision") == "Orders are kept in PostgreSQL 16."
    assert record.impact == ("src/orders/", "src/payments.py") and record.tags == ("postgres", "orders")
    assert "<!--" not in record.section("why") and not record.section("alternatives")
    assert "sections" not in [found.rule for found in kb.check()] and not list((root / ".kb" / "edits").glob("*"))


def test_the_message_says_how_to_take_it_back(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."), fill("Why", "They are read so."))
    ran = run_at_terminal(root, "new", "Sort lists by day", **editor)
    assert "no path is named" in ran.out and "kb edit D001" in ran.out
    command = re.search(r"to take it back: git (revert [0-9a-f]+)", ran.out)
    assert command, ran.out
    git(root, *command[1].split(), "--no-edit")
    assert kb.records() == [] and run(root, "check").code == 0


def test_a_section_may_be_left_out_and_the_prompt_says_so(kb: KnowledgeBase, root: Path) -> None:
    ran = run_at_terminal(root, "new", "--ask", "Sort lists by day", typed=b"By day.\nThey are read so.\n" + b"\n" * 9)
    assert ran.code == 0 and "Enter: leave it out, kb edit adds it later" in ran.out
    with (root / "kb.toml").open("a") as file:
        file.write('language = "zh"\n')
    ran = run_at_terminal(root, "new", "--ask", "按日排序", typed="按日。\n读起来方便。\n".encode() + b"\n" * 9)
    assert "理由 (为什么这样决定)" in ran.out


def test_who_takes_an_accepted_record_out_is_asked_why(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."), fill("Why", "They are read so."))
    run_at_terminal(root, "new", "Sort lists by day", **editor)
    ran = run_at_terminal(root, "rm", "D001", typed=b"The lists are gone\n")
    assert ran.code == 0 and "Why?" in ran.out and "The lists are gone" in run(root, "show", "D001").out


def test_an_agent_with_an_editor_meets_the_gate(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."), fill("Why", "They are read so."))
    for ran in (
        run(root, "new", "Sort lists by day", **editor),
        run_at_terminal(root, "new", "Sort lists by day", **editor, CLAUDECODE="1"),
    ):
        assert ran.code == 3 and kb.records() == []
    assert run_at_terminal(root, "new", "Sort lists by day", **editor).code == 0
    assert str(kb.record("D001").status) == "accepted"


def test_without_the_reasons_it_is_proposed_and_says_what_lacks(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."))
    ran = run_at_terminal(root, "new", "Sort lists by day", **editor)
    assert str(kb.record("D001").status) == "proposed" and "without why" in ran.out and "rollback" not in ran.out
    assert "kb edit D001" in ran.out
    assert run_at_terminal(root, "status", "D001", "accepted").code == 1
    assert run(root, "write", "--updates", "D001", "--why", "They are read by day.").code == 0
    assert run(root, "status", "D001", "accepted").code == 1, "a program needs every section"
    assert run_at_terminal(root, "status", "D001", "accepted").code == 0


@pytest.mark.parametrize(("language", "why"), [("en", "Why"), ("zh", "理由")])
def test_an_edit_that_completes_a_record_names_the_next_step(
    kb: KnowledgeBase, root: Path, tmp_path: Path, language: str, why: str
) -> None:
    with (root / "kb.toml").open("a") as file:
        file.write(f'language = "{language}"\n')
    heading = "Decision" if language == "en" else "决策"
    editor = make_editor(tmp_path, fill(heading, "Lists are sorted by day."))
    run_at_terminal(root, "new", "Sort lists by day", **editor)
    half = run_at_terminal(root, "edit", "D001", **make_editor(tmp_path, "sed -i 's/by day\\./by the day./' \"$1\""))
    assert "kb edit D001" in half.out, half.out
    done = run_at_terminal(root, "edit", "D001", **make_editor(tmp_path, fill(why, "They are read by day.")))
    assert "kb status D001 accepted" in done.out, done.out
    assert run_at_terminal(root, "status", "D001", "accepted").code == 0
    last = run_at_terminal(root, "edit", "D001", **make_editor(tmp_path, "sed -i 's/read by day/read so/' \"$1\""))
    assert "kb status" not in last.out


def test_without_a_terminal_the_section_that_lacks_is_named(root: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."))
    ran = run(root, "new", "Sort lists by day", **editor)
    assert ran.code == 3 and "not given: why" in ran.error and "kb inbox promote" in ran.error, ran.error
    assert "--area" not in ran.error


def test_a_path_that_is_not_there_is_told_at_once(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    (root / "src").mkdir()
    (root / "src/pay.py").write_text("")
    git(root, "add", "src")
    given = [fill("Decision", "Lists are sorted by day."), fill("Why", "They are read so.")]
    editor = make_editor(tmp_path, *given, fill("Impact", "src\\/\\nsrc\\/img"))
    ran = run_at_terminal(root, "new", "Sort lists by day", **editor)
    assert "the project has no src/img" in ran.out and ran.out.count("the project has no") == 1
    assert kb.record("D001").impact == ("src/", "src/img")


def test_the_setting_names_what_is_needed(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    with (root / "kb.toml").open("a") as file:
        file.write('required = ["decision", "constraint.verification"]\n')
    editor = make_editor(tmp_path, fill("Decision", "Lists are sorted by day."))
    run_at_terminal(root, "new", "Sort lists by day", **editor)
    run_at_terminal(root, "new", "constraint", "Payments are logged by their id", **editor)
    assert [str(record.status) for record in kb.records()] == ["proposed", "accepted"]


@pytest.mark.parametrize("change", ["true", "sed -i '1s/.*/#/' \"$1\"", ': > "$1"'])
def test_nothing_typed_writes_nothing(kb: KnowledgeBase, root: Path, tmp_path: Path, change: str) -> None:
    ran = run_at_terminal(root, "new", TITLE, **make_editor(tmp_path, change))
    assert ran.code == 0 and "nothing was written" in ran.out and kb.records() == []
    assert not list((root / ".kb" / "edits").glob("*"))


def test_an_unknown_heading_is_named_with_its_line_and_nothing_is_lost(
    kb: KnowledgeBase, root: Path, tmp_path: Path
) -> None:
    editor = make_editor(tmp_path, "printf '# Sort lists by day\\n\\n## Budget\\nTen euros.\\n' > \"$1\"")
    ran = run_at_terminal(root, "new", typed=b"n\n", **editor)
    assert ran.code == 1 and ":3: " in ran.out and "Budget" in ran.out and kb.records() == []
    assert "Ten euros." in (root / ".kb" / "edits" / "new-decision.md").read_text()


def test_a_title_without_a_subject_can_be_corrected(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    text = 'printf \'# %s\\n\\n## Decision\\nA list is sorted by day.\\n\\n## Why\\nIt is read so.\\n\' "$TITLE" > "$1"'
    editor = make_editor(tmp_path, f"[ -e {seen} ] && TITLE='Sort lists by day' || TITLE=Update", f"touch {seen}", text)
    ran = run_at_terminal(root, "new", typed=b"y\n", **editor)
    assert ran.code == 0 and "not written" in ran.out and kb.record("D001").title == "Sort lists by day"


def test_a_contradiction_still_becomes_a_decision(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    for title in ("Use PostgreSQL for orders", "Use MySQL for orders"):
        name = title.split()[1]
        editor = make_editor(
            tmp_path, fill("Decision", f"{title}; {name} holds them all."), fill("Why", "It is known.")
        )
        ran = run_at_terminal(root, "new", title, **editor)
    assert ran.code == 4 and len(kb.reviews()) == 1 and str(kb.record("D001").status) == "accepted"


def test_it_asks_where_there_is_no_editor(kb: KnowledgeBase, root: Path) -> None:
    typed = b"Sort lists by day\nLists are sorted by day.\nThey are read so.\n\nsrc/a.py, src/b\n\n\nlists\n"
    ran = run_at_terminal(root, "new", typed=typed, EDITOR="", VISUAL="")
    assert ".:" not in ran.out and "one per line" not in ran.out and kb.record("D001").impact == ("src/a.py", "src/b")
    record = kb.record("D001")
    assert ran.code == 0 and str(record.status) == "accepted" and record.tags == ("lists",)
    assert record.section("why") == "They are read so."


def test_a_program_without_an_editor_is_told_its_own_way(root: Path) -> None:
    ran = run(root, "new", "pitfall", EDITOR="", VISUAL="")
    assert ran.code == 5 and "kb write --kind pitfall" in ran.error


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["decision", "pitfall", "pattern", "checklist", "learning", "preference"])
def test_every_kind_is_asked_in_its_own_words(kind: str, language: str, kb: KnowledgeBase) -> None:
    kb.config = kb.config._replace(language=language)
    empty = Candidate(kind, "")
    text = build_template(empty, kb.config.required, language, kb.localise, "global")
    assert parse_template(text, empty, "new.md") is None
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    filled = "\n".join(["# 题 Title", *(f"## {heading}\ntext of {n}\n" for n, heading in enumerate(headings))])
    made = parse_template(filled, empty, "new.md")
    assert made is not None and made.title == "题 Title" and made.decision == "text of 0"
    given = [made.decision, made.why, made.alternatives, made.verification, made.rollback]
    values = [*given, *made.impact, *made.tags, *made.sections.values()]
    assert sorted(filter(None, values)) == sorted(f"text of {n}" for n in range(len(headings)))


def test_code_and_own_headings_stay_byte_for_byte() -> None:
    body = "Run:\n\n```sh\n<!-- kept -->\n# no title\n## no heading\n```\n\n### Detail\n\nMore."
    made = parse_template(
        f"# Title\n\n## Decision\n<!-- a hint\nover two lines -->\n{body}\n", Candidate("decision", ""), "f"
    )
    assert made is not None and made.decision == body


# -- the headings that a record lacks, in kb edit ---------------------------------------------------


def test_edit_shows_the_headings_that_lack_and_leaves_no_trace(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    run_at_terminal(root, "new", typed=b"Sort lists by day\nBy day.\nRead so.\n\n\n\n\n\n", EDITOR="", VISUAL="")
    path = root / kb.record("D001").path
    before, seen = path.read_bytes(), tmp_path / "seen"
    ran = run_at_terminal(root, "edit", "D001", **make_editor(tmp_path, f'cp "$1" {seen}'))
    assert ran.code == 0 and path.read_bytes() == before and "unchanged" in ran.out
    headings = [line[3:] for line in seen.read_text().split("\n") if line.startswith("## ")]
    assert headings == ["Decision", "Why", "Alternatives", "Impact", "Verification", "Rollback"]
    ran = run_at_terminal(root, "edit", "D001", **make_editor(tmp_path, fill("Verification", "make test")))
    now = path.read_text()
    assert ran.code == 0 and kb.record("D001").section("verification") == "make test", ran.out
    assert now.replace("\n## Verification\n\nmake test\n", "") == before.decode() and "## Rollback" not in now


def test_a_wrong_kind_is_a_wrong_command_line_everywhere(root: Path) -> None:
    for words in (["write", "--kind", "foo", "--title", "Use tabs"], ["list", "--kind", "foo"]):
        ran = run(root, *words)
        assert (ran.code, "there is no kind foo" in ran.error) == (2, True), words


@pytest.mark.parametrize(("language", "said"), [("en", "accept it: kb status"), ("zh", "接受它：kb status")])
def test_completing_a_record_names_the_command_that_accepts_it(root: Path, language: str, said: str) -> None:
    with (root / "kb.toml").open("a", encoding="utf-8") as file:
        file.write(f'language = "{language}"\n')
    proposed = {"kind": "decision", "title": "Use PostgreSQL for orders", "decision": "Orders are in PostgreSQL.",
                "scope": "global", "affects_future": True}  # fmt: skip
    made = run(root, "write", "-", "--json", stdin=json.dumps([proposed]).encode())
    [verdict] = json.loads(made.out)
    assert verdict["status"] == "proposed"
    half = run(root, "write", "--updates", verdict["id"], "--why", "Money needs transactions.")
    assert f"kb write --updates {verdict['id']}" in half.out + half.error and said not in half.out + half.error
    more = ["--alternatives", "MongoDB", "--impact", "db/", "--verification", "pytest", "--rollback", "git revert"]
    whole = run(root, "write", "--updates", verdict["id"], *more)
    assert f"{said} {verdict['id']} accepted" in whole.out + whole.error
