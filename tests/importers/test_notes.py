"""Notes, rules and memories of other tools become candidates, and go through the gate."""

import json
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.importers import notes
from kb.knowledge_base import KnowledgeBase
from tests.support.command_line import run
from tests.support.sealed import git

VAULT_NOTE = """---
type: decision
tags: [adr, storage]
---
We keep orders in [[Databases/PostgreSQL|Postgres]], for reasons of architecture.

## Why

Transactions over several tables.

## Alternatives

MongoDB.

## Consequences

Operations run it. #storage
"""


# -- reading -----------------------------------------------------------------------------------------


def test_a_note_of_a_vault_keeps_its_sections() -> None:
    (made,) = notes.read_obsidian_note(VAULT_NOTE, "vault/Storage/Orders live in Postgres.md")
    assert (made.kind, made.title, made.tags) == ("decision", "Orders live in Postgres", ("storage",))
    assert made.decision.startswith("We keep orders in Postgres, for") and "Operations run it." in made.decision
    assert (made.why, made.alternatives) == ("Transactions over several tables.", "MongoDB.")
    assert made.evidence[0].quote.startswith("We keep orders")


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("# A\n\nUnder load the queue drops messages. #pitfall", "v/a.md", "pitfall"),
        ("Under load the queue drops messages.", "v/Gotchas/a.md", "pitfall"),
        ("高并发下队列会丢消息。#坑", "v/a.md", "pitfall"),
        ("---\nkind: 约束\n---\n金额一律用整数分。", "v/a.md", "constraint"),
        ("---\ntags: team/decision\n---\nWe use uv.", "v/a.md", "decision"),
    ],
)
def test_the_kind_of_a_note_is_what_it_says(text: str, name: str, kind: str) -> None:
    (made,) = notes.read_obsidian_note(text, name)
    assert made.kind == kind
    assert made.decision


def test_a_note_without_a_kind_is_named() -> None:
    with pytest.raises(BadInput, match="no kind"):
        list(notes.read_obsidian_note("Milk, bread.", "vault/list.md"))


def test_observations_of_basic_memory() -> None:
    text = (
        "---\ntitle: Auth\ntags: [security]\n---\n## Observations\n"
        "- [decision] Selected bcrypt for passwords #login (based on the audit)\n"
        "- [tech] Uses [[SQLite]] for storage\n- [ ] todo\n- [mood] happy\n- relates_to [[Login]]\n"
    )
    first, second = notes.read_basic_memory_note(text, "notes/auth.md")
    assert (first.kind, first.decision, first.why) == (
        "decision",
        "Selected bcrypt for passwords",
        "Based on the audit.",
    )
    assert first.tags == ("login", "security") and first.evidence[0].line == 6
    assert (second.kind, second.decision) == ("domain-note", "Uses SQLite for storage")


def test_the_memory_of_claude_code() -> None:
    text = (
        "---\nname: db\ndescription: Never run migrations from the app\nmetadata:\n  type: feedback\n---\n"
        "Migrations run from CI only.\n\n**Why:** two replicas raced.\n\n**How to apply:** look at the deploy job.\n"
    )
    (made,) = notes.read_claude_memory(text, "memory/db.md")
    assert (made.kind, made.title, made.why) == (
        "preference",
        "Never run migrations from the app",
        "two replicas raced.",
    )
    assert "deploy job" in made.decision
    assert list(notes.read_claude_memory("- [db](db.md): rule", "memory/MEMORY.md")) == []


def test_rules_are_read_and_the_rest_is_not() -> None:
    text = (
        "# Project\n\nThe API lives in src/api.\n\n- Use pnpm, not npm.\n- 不要直接提交到 main。\n"
        "- `make test` runs the tests\n"
        "```sh\nalways rm -rf build\n```\n<!-- kb:begin -->\n- Always ask kb first.\n<!-- kb:end -->\n"
        "- Never log card numbers because the audit samples the logs.\n"
    )
    made = list(notes.read_agent_rules(text, "CLAUDE.md"))
    assert [one.title for one in made] == ["Use pnpm, not npm", "不要直接提交到 main", "Never log card numbers"]
    assert {one.kind for one in made} == {"constraint"} and made[-1].why


def test_an_export_of_claude_mem() -> None:
    rows = [
        {"type": "decision", "title": "Use uv", "narrative": "uv replaces pip.", "facts": '["faster"]',
         "files_modified": '["pyproject.toml"]', "concepts": ["build"], "created_at": "2026-05-01T10:00:00Z"},
        {"type": "feature", "title": "Added a button", "narrative": "A button."},
        {"type": "bugfix", "title": None, "text": "The queue dropped messages. Acks were early."},
    ]  # fmt: skip
    first, second = notes.read_claude_mem(json.dumps({"observations": rows}), "export.json")
    assert first.decision == "uv replaces pip.\n\n- faster" and first.impact == ("pyproject.toml",)
    assert (second.kind, second.title) == ("pitfall", "The queue dropped messages.")
    with pytest.raises(BadInput, match="no list of observations"):
        list(notes.read_claude_mem("{}", "export.json"))


@pytest.mark.parametrize(("rejected", "limit"), [("Rejected: a lock | it blocks", "Constraint: two regions"),
                                                 ("Ruled-out: a lock | it blocks", "Limit: two regions")])  # fmt: skip
def test_trailers_of_a_commit(rejected: str, limit: str) -> None:
    message = (
        f"Retry refunds with a key\n\nA retry paid twice.\n\n{rejected}\n{limit}\nTested: test_refund\nUndo: easy\n"
    )
    made = notes.read_commit(message, "a" * 40, ("src/pay.py",), "2026-05-01T10:00:00+00:00")
    assert made and made.title == "Retry refunds with a key" and made.why == "A retry paid twice."
    assert made.alternatives == "- a lock: it blocks" and "- two regions" in made.decision
    assert (made.verification, made.rollback, made.impact) == ("test_refund", "easy", ("src/pay.py",))
    assert notes.read_commit("Fix typo\n\nSigned-off-by: A <a@b.c>\n", "b" * 40, (), "") is None


# -- the commands ------------------------------------------------------------------------------------


def test_a_vault_goes_through_the_gate_and_a_second_time_changes_nothing(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "vault" / "Storage"
    place.mkdir(parents=True)
    (place / "Orders live in Postgres.md").write_text(VAULT_NOTE, encoding="utf-8")
    (place / "shopping.md").write_text("Milk.", encoding="utf-8")
    (tmp_path / "vault" / ".obsidian").mkdir()
    (tmp_path / "vault" / ".obsidian" / "x.md").write_text(VAULT_NOTE, encoding="utf-8")
    tried = run(root, "import", "obsidian", str(tmp_path / "vault"), "--dry-run")
    assert tried.out.startswith("would create [D001]")
    assert "would be imported: 1" in tried.error and "nothing was written" in tried.error
    assert run(root, "list").out == ""
    ran = run(root, "import", "obsidian", str(tmp_path / "vault"))
    assert ran.code == 0 and "shopping.md" in ran.error and len(run(root, "list").out.splitlines()) == 1
    again = run(root, "import", "obsidian", str(tmp_path / "vault"), "--json")
    assert [one["verdict"] for one in json.loads(again.out)["verdicts"]] == ["unchanged"]


def test_rules_without_a_reason_wait_in_the_inbox_however_often(root: Path) -> None:
    (root / "CLAUDE.md").write_text("- Use pnpm, not npm.\n", encoding="utf-8")
    for _ in range(3):
        ran = run(root, "import", "rules", "CLAUDE.md")
        assert ran.code == 3 and "kb inbox" in ran.error
    assert run(root, "list").out == ""


def test_what_is_about_a_person_goes_into_their_own_base(
    kb: KnowledgeBase, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    folder = tmp_path / "memory"
    folder.mkdir()
    text = "---\nname: me\ndescription: Prefers short answers\ntype: user\n---\nLin prefers short answers in German.\n"
    (folder / "me.md").write_text(text, encoding="utf-8")
    ran = run(root, "import", "claude-memory", str(folder))
    assert "kb init --user" in ran.error and run(root, "list").out == ""
    assert run(root, "init", "--user").code == 0
    run(root, "import", "claude-memory", str(folder))
    assert (
        run(root, "list").out == "" and "short answers" in run(tmp_path, "--kb", str(tmp_path / "home/.kb"), "list").out
    )


def test_the_memory_of_the_project_around_is_found(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "kb import claude-memory PATH" in run(root, "import", "claude-memory").error
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(root))
    folder = tmp_path / "claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    text = "---\nname: a\ndescription: Orders live in PostgreSQL\ntype: project\n---\nOrders live in PostgreSQL 16.\n"
    (folder / "a.md").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert "Orders live in PostgreSQL" in run(root, "import", "claude-memory").out


def test_commits_of_the_repository_around(root: Path) -> None:
    message = (
        "Keep idempotency keys in PostgreSQL\n\nA retry paid twice.\n\nRejected: Redis | it loses keys\nTested: t.py"
    )
    (root / "pay.py").write_text("x = 1\n", encoding="utf-8")
    git(root, "add", "pay.py")
    git(root, "commit", "-qm", message)
    ran = run(root, "import", "commits")
    assert "Keep idempotency keys in PostgreSQL" in ran.out, ran.error
    assert "pay.py" in run(root, "list", "--json").out
    assert "no-such-branch" in run(root, "import", "commits", "no-such-branch").error
