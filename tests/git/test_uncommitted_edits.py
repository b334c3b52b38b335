"""Beside edits that nobody has committed a command does its work or refuses; it never says “done” without effect."""

from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.sealed import git

OWN = "- [展期, 先息后本]\n"


@pytest.fixture
def words(tmp_path: Path) -> str:
    path = tmp_path / "industry.yaml"
    path.write_text("- [退款, refund, chargeback]\n- [逾期, overdue]\n")
    return str(path)


@pytest.mark.parametrize("is_staged", [False, True])
def test_words_are_not_loaded_past_a_file_that_is_not_committed(root: Path, words: str, is_staged: bool) -> None:
    path = root / "content/synonyms.yaml"
    path.write_text(OWN)
    if is_staged:
        git(root, "add", "-A")
    before = git(root, "rev-parse", "HEAD")
    ran = run(root, "keywords", "load", words)
    assert ran.code == 5 and "content/synonyms.yaml" in ran.error and "git commit" in ran.error
    assert path.read_text() == OWN and git(root, "rev-parse", "HEAD") == before
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Our words")
    assert run(root, "keywords", "load", words).code == 0
    assert path.read_text().startswith(OWN) and "chargeback" in path.read_text()


def test_words_are_loaded_beside_edits_of_other_lines(root: Path, words: str) -> None:
    path = root / "content/synonyms.yaml"
    path.write_text("- [一, one]\n- [二, two]\n- [三, three]\n- [四, four]\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Our words")
    path.write_text(path.read_text().replace("[一, one]", "[一, one, single]"))
    assert run(root, "keywords", "load", words).code == 0
    assert "single" in path.read_text() and "chargeback" in path.read_text()
    run(root, "write", "--kind", "decision", "--title", "Answer every chargeback within a day", "--area", "security",
        "--why", "Otherwise the bank decides for us and we lose")  # fmt: skip
    assert "D001" in run(root, "search", "退款").out, "the words have effect"


def test_words_are_not_loaded_past_edits_of_the_same_lines(root: Path, words: str) -> None:
    path = root / "content/synonyms.yaml"
    path.write_text(OWN)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Our words")
    path.write_text(OWN + "- [结清, settled]\n")
    assert run(root, "keywords", "load", words).code == 5
    assert path.read_text() == OWN + "- [结清, settled]\n"


# -- templates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("name", ["compact.md", "zh/normal.md", "memory.md"])
def test_templates_are_no_records(root: Path, name: str, is_committed: bool) -> None:
    path = root / "content/templates" / name
    path.parent.mkdir(parents=True)
    path.write_text("{{ task }}\n\n[D001] stands for any record\n")
    if is_committed:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "Our template")
    ran = run(root, "check")
    assert ran.code == 0 and not ran.out
    for arguments in (["list"], ["search", "task"], ["check", "--against", "HEAD"]):
        assert str(name) not in (done := run(root, *arguments)).out + done.error
    run(root, "write", "--kind", "decision", "--title", "Keep amounts in integer cents", "--area", "architecture",
        "--why", "Floats lose money when they are added up")  # fmt: skip
    assert name not in run(root, "list").error


def test_what_a_migration_takes_back_passes_the_check(root: Path) -> None:
    assert run(root, "layout", "migrate", "project").code == 0
    path = root / ".wukong/context/templates/compact.md"
    path.write_text(path.read_text() + "ours\n")
    git(root, "commit", "-qam", "Our template")
    assert run(root, "layout", "migrate", "project").code == 0
    assert (root / "content/templates/compact.md").exists()
    assert run(root, "check").code == 0


# -- the layout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [".wukong/context/anchors.md", ".wukong/context/templates/compact.md",
                                  "content/templates/normal.md", "dcp-config.yaml"])  # fmt: skip
@pytest.mark.parametrize("layout", ["project", "user"])
def test_a_migration_does_not_pass_over_what_is_not_committed(root: Path, path: str, layout: str) -> None:
    assert run(root, "layout", "migrate", "project").code == 0
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text((place.read_text() if place.exists() else "") + "\n# ours\n")
    mine = place.read_text()
    ran = run(root, "layout", "migrate", layout)
    assert ran.code == 5 and path in ran.error and "already" not in ran.error
    assert place.read_text() == mine


def test_a_migration_does_not_pass_over_what_is_only_staged(root: Path) -> None:
    place = root / "content/templates/normal.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("# committed\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Write a template")
    place.write_text("# staged\n")
    git(root, "add", "-A")
    place.write_text("# committed\n")
    ran = run(root, "layout", "migrate", "project")
    assert ran.code == 5 and "content/templates/normal.md" in ran.error


# -- an export ---------------------------------------------------------------------------------------


def test_an_export_does_not_go_over_what_is_not_committed(root: Path) -> None:
    run(root, "write", "--kind", "decision", "--title", "Keep amounts in integer cents", "--area", "architecture",
        "--why", "Floats lose money when they are added up")  # fmt: skip
    path = root / "anchors.md"
    assert run(root, "export", "wukong", "-o", "anchors.md").code == 0
    assert run(root, "export", "wukong", "-o", "anchors.md").code == 0, "its own may be made anew"
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Export")
    path.write_text(whole := path.read_text() + "\nours\n")
    ran = run(root, "export", "wukong", "-o", "anchors.md")
    assert ran.code == 5 and "anchors.md" in ran.error and path.read_text() == whole
    git(root, "commit", "-qam", "Ours")
    assert run(root, "export", "wukong", "-o", "anchors.md").code == 0 and "ours" not in path.read_text()
    assert run(root, "export", "wukong", "-o", "nowhere/anchors.md").code == 1


def test_an_export_writes_what_the_checkout_has(root: Path) -> None:
    run(root, "write", "--kind", "decision", "--title", "Keep amounts in integer cents", "--area", "architecture",
        "--why", "Floats lose money when they are added up")  # fmt: skip
    [path] = (root / "content/anchors/global").glob("D001-*.md")
    path.write_text(path.read_text().replace("Floats lose money", "Fractions lose money"))
    assert "Fractions lose money" in run(root, "export", "wukong").out
