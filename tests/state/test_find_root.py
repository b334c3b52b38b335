"""Which knowledge base holds for a folder: none that somebody else has laid above it."""

import os
from pathlib import Path

import pytest

from kb.paths import find_root, find_untrusted_root
from tests.hooks.test_hooks import Host
from tests.support.command_line import run

SOMEBODY = 54_321


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder below one with a `kb.toml`."""
    place = tmp_path / "shared" / "work"
    place.mkdir(parents=True)
    (place.parent / "kb.toml").write_text('name = "trap"\n')
    return place


def given_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let *path* be somebody else's; where that takes rights nobody has, let everything be."""
    if os.getuid() == 0:
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "getuid", lambda: SOMEBODY)


def no_home(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), **more}


def test_the_nearest_of_ones_own_is_found(work: Path, tmp_path: Path) -> None:
    assert find_root(str(work), no_home(tmp_path)) == str(work.parent)
    work.parent.chmod(0o777)
    assert find_root(str(work), no_home(tmp_path)) == str(work.parent), "whom one lets write is one's own affair"
    assert find_untrusted_root(str(work), no_home(tmp_path)) == ""


@pytest.mark.parametrize("name", ["kb.toml", "."])
def test_one_of_somebody_else_is_passed_over(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "kb.toml").write_text("")
    given_away(work.parent / name, monkeypatch)
    if os.getuid() == 0:
        assert find_root(str(work), no_home(tmp_path)) == str(tmp_path), "the next one above may hold"
    assert find_untrusted_root(str(work), no_home(tmp_path)) == str(work.parent)
    assert find_root(str(work), no_home(tmp_path, KB_HOME=str(work.parent))) == str(work.parent), (
        "who names it means it"
    )


def test_a_link_is_its_makers(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (work.parent / "kb.toml").rename(tmp_path / "mine" / "kb.toml")
    (work.parent / "kb.toml").symlink_to(tmp_path / "mine" / "kb.toml")
    assert find_root(str(work), no_home(tmp_path)) == str(work.parent)
    given_away(work.parent / "kb.toml", monkeypatch)
    assert find_root(str(work), no_home(tmp_path)) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_that_root_lets_everybody_write_to_is_nobodys(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: SOMEBODY)
    assert find_root(str(work), no_home(tmp_path)) == str(work.parent), "root may lay one down for all"
    work.parent.chmod(0o1777)
    assert find_root(str(work), no_home(tmp_path)) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_under_sudo_its_caller_is_oneself(work: Path, tmp_path: Path) -> None:
    for path in (work.parent, work.parent / "kb.toml"):
        os.chown(path, SOMEBODY, SOMEBODY)
    assert find_root(str(work), no_home(tmp_path, SUDO_UID=str(SOMEBODY))) == str(work.parent)
    assert find_root(str(work), no_home(tmp_path, SUDO_UID="12345")) is None
    assert find_root(str(work), no_home(tmp_path, SUDO_UID="x")) is None


def test_a_command_says_what_it_passed_over(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_away(work.parent / "kb.toml", monkeypatch)
    done = run(work, "list", HOME=str(tmp_path / "home"))
    assert done.code == 1 and f"{work.parent / 'kb.toml'} belongs to another user" in done.error
    assert f"KB_HOME={work.parent}" in done.error
    assert "belongs to another user" in run(work, "doctor", HOME=str(tmp_path / "home")).out


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_hook_asks_nothing_of_one_of_somebody_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(root, root / "work")
    given_away(root / "kb.toml", monkeypatch)
    monkeypatch.setenv("KB_HOME", "")
    before = sorted(str(path) for path in root.rglob("*"))
    host.root = Path("")
    answer = host.run("user-prompt", prompt="What do we use?")
    assert (answer.code, answer.output, answer.error) == (0, {}, "")
    assert sorted(str(path) for path in root.rglob("*")) == before
