"""The help of the commands speaks Chinese where the knowledge base does."""

from pathlib import Path

import pytest

from kb.cli.group import COMMANDS
from kb.i18n import load_translations
from tests.support.command_line import run


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_the_language_of_the_knowledge_base(root: Path, name: str) -> None:
    line = COMMANDS[name][1]
    assert run(root, name, "-h").out == run(root, name, "--help").out
    english = run(root, name, "--help").out
    (root / "kb.toml").write_text('language = "zh"\n')
    chinese = run(root, name, "--help").out
    assert chinese != english and line not in chinese
    assert chinese.startswith("用法： kb") and "显示本帮助并退出" in chinese
    assert load_translations("zh").gettext(line) in run(root, "--help").out
    (root / "kb.toml").write_text('language = "en"\n')
    assert run(root, name, "--help").out == english


def test_the_help_of_a_command_below_a_command_is_chinese(root: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    assert "修剪后的转录" in run(root, "prune", "transcript", "--help").out
    assert "修剪后的转录" in run(root, "修剪", "t.jsonl", "--help").out
    assert "旧的在前" in run(root, "session", "list", "-h").out


@pytest.mark.parametrize(
    "words", [["--help"], ["vectors"], ["agents"], ["hint", "--help"], ["prune", "transcript", "--help"]]
)
def test_nothing_of_a_help_is_half_english(root: Path, words: list[str]) -> None:
    """What click writes of itself is in the reader's language too, also where a group is called without a command."""
    (root / "kb.toml").write_text('language = "zh"\n')
    ran = run(root, *words)
    told = ran.out + ran.error
    assert "用法：" in told and "显示本帮助并退出。" in told
    assert not [
        word for word in ("Usage", "Options:", "Commands:", "Show this", "[default", "The ", "A ") if word in told
    ]
    (root / "kb.toml").write_text('language = "en"\n')
    told = run(root, *words).out + run(root, *words).error
    assert "Usage" in told and "用法" not in told
