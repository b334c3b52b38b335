"""What agents are told by files: a block among other people's text, a skill, and no byte of anybody else's changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.errors import BadInput
from kb.hooks import agent_files
from kb.hooks.agent_files import SKILL_FILES, VERSION, plan_block_install, plan_block_removal
from kb.hooks.settings_file import apply_edit
from kb.templates import FOLDER
from tests.support.command_line import run

TEMPLATES = Path(FOLDER) / "agents"
LABELS = ("trigger", "skip", "invoke", "output", "conflict")


def shipped(language: str, name: str) -> str:
    """Return a file that kb ships."""
    return (TEMPLATES / language / name).read_text("utf-8")


# -- what is shipped ------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_protocol_is_about_ten_lines_with_its_five_rules(tmp_path: Path, language: str) -> None:
    change = plan_block_install(str(tmp_path / "AGENTS.md"), language)
    assert change.after is not None
    lines = change.after.decode().splitlines()
    assert 8 <= len(lines) <= 14
    assert re.findall(r"(?m)^- \*\*(\w+)\*\*", change.after.decode()) == [*LABELS]
    assert f"protocol_version: {VERSION}" in lines[0] and f"`protocol_version: {VERSION}`" in change.after.decode()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_skill_is_as_the_standard_says(tmp_path: Path, language: str) -> None:
    changes, kept = agent_files.plan_skill_install(str(tmp_path / "kb"), agent_files.render_skill(language))
    assert kept == [] and [Path(change.path).relative_to(tmp_path / "kb").as_posix() for change in changes] == [
        *SKILL_FILES
    ]
    front = yaml.safe_load(shipped(language, "SKILL.md").split("---\n")[1])
    assert set(front) <= {"name", "description", "license", "compatibility", "allowed-tools", "metadata"}
    assert front["name"] == agent_files.SKILL and 0 < len(front["description"]) <= 1024
    assert len(front["compatibility"]) <= 500 and front["metadata"] == {"protocol_version": VERSION}
    validate = shutil.which("agentskills")
    if validate:
        for change in changes:
            apply_edit(change, {"HOME": str(tmp_path)})
        assert subprocess.run([validate, "validate", str(tmp_path / "kb")], check=False).returncode == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_reference_says_when_it_is_read_and_is_there(language: str) -> None:
    rows = [row for row in shipped(language, "SKILL.md").splitlines() if "](references/" in row]
    assert len(rows) == 4
    for row in rows:
        assert re.match(r"- (?:When you .+, (?:see|give it) |需要.+时，)", row), row
        (target,) = re.findall(r"\]\((references/[^)]+)\)", row)
        assert target in SKILL_FILES and (TEMPLATES / language / target).is_file()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_documents_have_separate_duties(language: str) -> None:
    texts = [shipped(language, name) for name in ("protocol.md", *SKILL_FILES)]
    pieces = [{row.strip() for row in text.splitlines() if len(row.strip()) > 30} for text in texts]
    assert all(not one & other for one, other in combinations(pieces, 2))
    assert "kb pack --schema" in shipped(language, "references/memory-reader-prompt.md")


def test_commands_that_the_files_name_exist() -> None:
    from kb.cli.group import COMMANDS

    for path in TEMPLATES.rglob("*.md"):
        for name in re.findall(r"`kb ([a-z-]+)", path.read_text("utf-8")):
            assert name in COMMANDS, f"{path}: kb {name}"


# -- a block among other people's text ------------------------------------------------------------

TEXTS = st.text(alphabet="ab 中#`-<!>\ufeff\u200d\n\r\t", max_size=60)
ENDS = st.sampled_from(["", "\n", "\r\n", "\n\n", "\r\n\r\n"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, ENDS, st.sampled_from(["en", "zh"]))
def test_law_what_stands_around_the_block_stays(tmp_path: Path, text: str, end: str, language: str) -> None:
    place = tmp_path / "AGENTS.md"
    mine = (text + end).encode()
    place.write_bytes(mine)
    environment = {"HOME": str(tmp_path)}
    apply_edit(plan_block_install(str(place), language), environment)
    once = place.read_bytes()
    assert once.startswith(mine) and once != mine
    assert not plan_block_install(str(place), language).has_changes
    apply_edit(plan_block_install(str(place), "zh" if language == "en" else "en"), environment)
    apply_edit(plan_block_removal(str(place)), environment)
    assert place.read_bytes() == mine


def test_text_written_behind_the_block_survives_its_renewal_and_removal(tmp_path: Path) -> None:
    place = tmp_path / "AGENTS.md"
    place.write_bytes(b"# Ours\r\n\r\nBe kind.")
    apply_edit(plan_block_install(str(place), "en"), os.environ)
    place.write_bytes(place.read_bytes().replace(b"When unsure, read.", b"An old text.") + b"\r\nAfter  \r\n")
    assert agent_files.inspect_files([str(place)], str(tmp_path), "en")[0].state == "stale"
    apply_edit(plan_block_install(str(place), "en"), os.environ)
    text = place.read_bytes()
    assert b"When unsure, read." in text and text.endswith(b"<!-- kb:end -->\r\n\r\nAfter  \r\n")
    assert b"\n" not in text.replace(b"\r\n", b"")
    apply_edit(plan_block_removal(str(place)), os.environ)
    assert place.read_bytes() == b"# Ours\r\n\r\nBe kind.\r\nAfter  \r\n"


@pytest.mark.parametrize(
    "text",
    ["<!-- kb:begin protocol_version: x; gap: 0 -->\n", "a\n<!-- kb:end -->\n",
     "<!-- kb:end -->\n<!-- kb:begin protocol_version: x; gap: 0 -->\n"],
)  # fmt: skip
def test_a_damaged_block_is_left_alone(tmp_path: Path, text: str) -> None:
    place = tmp_path / "AGENTS.md"
    place.write_text(text)
    for change in (plan_block_install, lambda path, _: plan_block_removal(path)):
        with pytest.raises(BadInput, match=r"AGENTS\.md:"):
            change(str(place), "en")
    place.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput):
        plan_block_install(str(place), "en")


# -- the command ----------------------------------------------------------------------------------


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A project with an AGENTS.md and a CLAUDE.md, and a knowledge base elsewhere."""
    place = tmp_path / "shop"
    (place / ".git").mkdir(parents=True)
    (place / "AGENTS.md").write_bytes(b"# Ours\n")
    (place / "CLAUDE.md").write_bytes(b"See [AGENTS.md](AGENTS.md).")
    return place


def snapshot(place: Path) -> dict[str, bytes]:
    """Return the files below *place*."""
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_install_is_idempotent_and_uninstall_gives_everything_back(project: Path, root: Path) -> None:
    before = snapshot(project)
    call = lambda *words: run(project, "agents", *words, KB_HOME=str(root))  # noqa: E731
    shown = call("install", "--dry-run")
    assert snapshot(project) == before and "+## Memory Bank Protocol" in shown.out
    assert call("install").code == 0
    after = snapshot(project)
    assert set(after) - set(before) == {f".claude/skills/kb/{name}" for name in SKILL_FILES}
    assert all(after[name].startswith(text) and b"kb:begin" in after[name] for name, text in before.items())
    again = call("install")
    assert (again.code, again.out) == (0, "") and snapshot(project) == after
    assert call("status").code == 0
    states = {row["state"] for row in json.loads(call("status", "--json").out)["files"]}
    assert states == {"current"}
    assert call("uninstall", "--dry-run").code == 0 and snapshot(project) == after
    assert call("uninstall").code == 0 and snapshot(project) == before
    assert not (project / ".claude/skills/kb").exists()
    assert call("uninstall").out == ""


def test_a_file_made_for_the_block_goes_with_it(project: Path, root: Path) -> None:
    for name in ("AGENTS.md", "CLAUDE.md"):
        (project / name).unlink()
    assert run(project, "agents", "install", KB_HOME=str(root)).code == 0
    assert (project / "AGENTS.md").is_file() and not (project / "CLAUDE.md").exists()
    assert run(project, "agents", "uninstall", KB_HOME=str(root)).code == 0
    assert snapshot(project) == {}


def test_links_and_imports_get_no_second_block(project: Path, root: Path) -> None:
    (project / "CLAUDE.md").unlink()
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / "GEMINI.md").write_text("@AGENTS.md\n")
    assert run(project, "agents", "install", KB_HOME=str(root)).code == 0
    assert (project / "AGENTS.md").read_text().count("kb:begin") == 1
    assert (project / "CLAUDE.md").is_symlink() and (project / "GEMINI.md").read_text() == "@AGENTS.md\n"


@pytest.mark.parametrize("name", ["AGENTS.md", ".claude"])
def test_a_link_that_came_with_the_project_leads_nothing_out_of_it(
    project: Path, root: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "profile").write_text("alias ll='ls -l'\n")
    (project / "AGENTS.md").unlink()
    (project / name).symlink_to(outside / "profile" if name == "AGENTS.md" else outside)
    before = snapshot(outside)
    made = run(project, "agents", "install", KB_HOME=str(root))
    assert made.code == 1 and "leads outside the project" in made.error and str(outside) in made.error
    assert snapshot(outside) == before


def test_an_edited_file_of_the_skill_is_left_alone(project: Path, root: Path) -> None:
    run(project, "agents", "install", KB_HOME=str(root))
    place = project / ".claude/skills/kb/references/writer.md"
    mine = place.read_bytes() + b"Mine.\n"
    place.write_bytes(mine)
    assert "edited by somebody" in run(project, "agents", "status", KB_HOME=str(root)).out
    for command in ("install", "uninstall"):
        assert str(place) in run(project, "agents", command, KB_HOME=str(root)).error
        assert place.read_bytes() == mine


def test_drift_between_block_and_skill_is_told(project: Path, root: Path) -> None:
    run(project, "agents", "install", "--file", "AGENTS.md", KB_HOME=str(root))
    place = project / "AGENTS.md"
    place.write_text(place.read_text().replace("memory-bank/v1; gap", "memory-bank/v9; gap"))
    told = run(project, "agents", "status", KB_HOME=str(root))
    assert told.code == 1 and "the block says memory-bank/v9, the skill memory-bank/v1" in told.error
    assert run(project, "agents", "install", KB_HOME=str(root)).code == 0
    assert run(project, "agents", "status", KB_HOME=str(root)).code == 0


def test_it_is_installed_for_the_user_too(project: Path, root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = run(project, "agents", "install", "--user", KB_HOME=str(root), HOME=str(home))
    assert done.code == 0 and set(snapshot(home)) == {
        ".claude/CLAUDE.md", *(f".claude/skills/kb/{name}" for name in SKILL_FILES), ".local/state/kb/made-folders.json"
    }  # fmt: skip
    assert run(project, "agents", "uninstall", "--user", KB_HOME=str(root), HOME=str(home)).code == 0
    assert snapshot(home) == {}


def test_the_files_come_with_the_package() -> None:
    listed = "import kb.templates, os; print(sorted(os.listdir(kb.templates.FOLDER + '/agents/en/references')))"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['learn.md', 'memory-reader-prompt.md', 'reader.md', 'writer.md']"
