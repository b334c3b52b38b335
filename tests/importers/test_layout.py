"""The layout of one project is made of the knowledge base and taken back, and nothing is lost either way."""

import re
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import TREE
from kb.sessions.dcp_settings import load_settings
from kb.sessions.prune_transcript import save_report
from tests.support.clones import git
from tests.support.command_line import run
from tests.support.sessions import Session


@pytest.fixture
def lived(root: Path, kb: KnowledgeBase, tmp_path: Path) -> Path:
    """Return a knowledge base with records, an archive, a template of its own and settings of pruning."""
    talk = Session("给订单服务加上退款接口")
    talk.step("决定：退款走异步队列，因为银行接口很慢，影响整体架构。")
    talk.rows = [row.replace('"s-1"', '"s-1","cwd":"/tmp/shop"') for row in talk.rows]
    kb.save_session(talk.write(tmp_path / "t.jsonl"), host="cli", full=True)
    (root / "content/templates").mkdir()
    (root / "content/templates/compact.md").write_text("mine: {{ task }}\n", encoding="utf-8")
    (root / "dcp-config.yaml").write_text("dcp:\n  enabled: true\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Own templates")
    return root


def content(root: Path) -> str:
    return git(root, "ls-tree", "-r", "HEAD", "content", "dcp-config.yaml")


def test_there_and_back_leaves_every_byte(lived: Path) -> None:
    before = content(lived)
    ran = run(lived, "layout", "migrate", "project")
    assert ran.code == 0 and f"{TREE}/anchors.md" in ran.out
    assert content(lived) == before and git(lived, "status", "--porcelain") == ""
    tree = lived / TREE
    assert "## [D001] " in (tree / "anchors.md").read_text(encoding="utf-8")
    assert (tree / "templates/compact.md").read_text(encoding="utf-8") == "mine: {{ task }}\n"
    assert (tree / "dcp-config.yaml").read_bytes() == (lived / "dcp-config.yaml").read_bytes()
    [archive] = (tree / "sessions").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-shop-\d{6}-.{8}", archive.name)
    assert {"compact.md", "normal.md", "expanded.md"} <= {file.name for file in archive.iterdir()}
    assert run(lived, "layout", "migrate", "project").out == ""
    assert run(lived, "layout", "migrate", "user").code == 0
    assert content(lived) == before and not tree.exists()
    assert "already" in run(lived, "layout", "migrate", "user").error


def test_the_tree_of_another_tool_is_taken_in_and_made_again(lived: Path) -> None:
    run(lived, "layout", "migrate", "project")
    made = {path.relative_to(lived): path.read_bytes() for path in (lived / TREE).rglob("*") if path.is_file()}
    git(lived, "rm", "-rq", "content/anchors", "content/sessions", "content/templates", "dcp-config.yaml")
    git(lived, "commit", "-qm", "Only the tree is left")
    assert run(lived, "layout", "migrate", "user").code == 0
    assert "退款走异步队列" in run(lived, "show", "shop:D001").out
    assert (lived / "content/templates/compact.md").is_file() and (lived / "dcp-config.yaml").is_file()
    assert run(lived, "layout", "migrate", "project").code == 0
    again = {path.relative_to(lived): path.read_bytes() for path in (lived / TREE).rglob("*") if path.is_file()}
    assert again == made


def test_an_anchor_edited_in_the_tree_is_for_a_person(lived: Path) -> None:
    run(lived, "layout", "migrate", "project")
    file = lived / TREE / "anchors.md"
    file.write_text(file.read_text(encoding="utf-8").replace("银行接口很慢", "银行接口很快"), encoding="utf-8")
    git(lived, "commit", "-qam", "Edit by hand")
    for layout in ("user", "project"):
        ran = run(lived, "layout", "migrate", layout)
        assert ran.code == 5 and "D001" in ran.error and "银行接口很快" in file.read_text(encoding="utf-8")


def test_a_template_edited_in_the_tree_comes_into_use(root: Path) -> None:
    run(root, "layout", "migrate", "project")
    (root / TREE / "templates/normal.md").write_text("short\n", encoding="utf-8")
    git(root, "commit", "-qam", "Edit by hand")
    assert run(root, "layout", "migrate", "project").out.split() == ["content/templates/normal.md"]
    assert (root / "content/templates/normal.md").read_text(encoding="utf-8") == "short\n"


def test_what_is_edited_in_the_tree_acts_at_once(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    """A person who opens a template there sees what it does before any commit; content/ has the last word."""
    session = str(Session("Fix the retry").write(tmp_path / "t.jsonl"))
    path, form = root / TREE / "templates/compact.md", ["form", "compact", session]
    run(root, "layout", "migrate", "project")
    path.write_text("MINE {{ task }}\n", encoding="utf-8")
    assert run(root, *form).out == "MINE Fix the retry\n"
    path.write_text("{% if %}\n", encoding="utf-8")
    ran = run(root, *form)
    assert "Fix the retry" in ran.out and f"{TREE}/templates/compact.md" in ran.error
    settings = root / TREE / "dcp-config.yaml"
    settings.write_text(settings.read_text("utf-8").replace("turn_protection: 4", "turn_protection: 9"), "utf-8")
    assert "turn_protection: 9" in run(root, "prune", "config").out and load_settings(kb).turn_protection == 4
    with KnowledgeBase(str(root), {}) as again:
        assert load_settings(again).turn_protection == 9 and load_settings(again).turn_protection == 9
    (root / "content/templates").mkdir()
    (root / "content/templates/compact.md").write_text("THEIRS\n", encoding="utf-8")
    assert run(root, *form).out == "THEIRS\n"


def test_uncommitted_edits_are_in_the_way(root: Path) -> None:
    run(root, "layout", "migrate", "project")
    (root / TREE / "templates/normal.md").write_text("mine\n", encoding="utf-8")
    ran = run(root, "layout", "migrate", "user")
    assert ran.code == 5 and "kb sync" not in ran.error
    assert (root / TREE / "templates/normal.md").read_text(encoding="utf-8") == "mine\n"


def test_a_dry_run_changes_nothing(lived: Path) -> None:
    before = git(lived, "rev-parse", "HEAD")
    assert f"{TREE}/anchors.md" in run(lived, "layout", "migrate", "project", "--dry-run").out
    assert git(lived, "rev-parse", "HEAD") == before and not (lived / TREE).exists()


def test_a_knowledge_base_begins_in_the_layout(tmp_path: Path) -> None:
    ran = run(tmp_path, "init", str(tmp_path / "new"), "--layout", "project")
    assert ran.code == 0 and (tmp_path / "new" / TREE / "templates/compact.md").is_file()
    assert 'layout = "project"' in (tmp_path / "new/kb.toml").read_text(encoding="utf-8")


def test_the_running_session_is_at_hand_in_the_tree(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    run(root, "layout", "migrate", "project")
    talk = Session("给订单服务加上退款接口").write(tmp_path / "t.jsonl")
    with KnowledgeBase(str(root), {}, kb.now) as opened:
        opened.save_when_due(talk, session="s-1")
    current = root / TREE / "current/compact.md"
    assert "退款接口" in current.read_text(encoding="utf-8") and git(root, "status", "--porcelain") == ""
    assert run(root, "expand").code == 0
    assert "退款接口" in (root / TREE / "current/expanded.md").read_text(encoding="utf-8")
    assert "退款接口" in (root / TREE / "current/normal.md").read_text(encoding="utf-8")
    told = run(root, "spawn", "--style", "ruyi", "--task", "退款接口").out
    assert str(root / TREE / "current/normal.md") in told
    with KnowledgeBase(str(root), {}, kb.now) as opened:
        save_report(opened, "what was pruned", "s-1")
    assert (root / TREE / "current/dcp-report.md").exists()
    with KnowledgeBase(str(root), {}, kb.now) as opened:
        opened.end_session(str(talk), session="s-1")
    assert not (root / TREE / "current").exists(), "another session is not shown the forms of one that has ended"


def test_a_link_in_the_place_of_the_tree_is_not_followed(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    run(root, "layout", "migrate", "project")
    (tmp_path / "elsewhere").mkdir()
    (root / TREE / "current").symlink_to(tmp_path / "elsewhere")
    talk = Session("给订单服务加上退款接口").write(tmp_path / "t.jsonl")
    with KnowledgeBase(str(root), {}, kb.now) as opened:
        opened.save_when_due(talk, session="s-1")
    assert not list((tmp_path / "elsewhere").iterdir())
