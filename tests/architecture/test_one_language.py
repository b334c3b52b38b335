"""A reader of one language is shown no other: the help of every command, and what the stories show of the rest."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kb.cli.group import COMMANDS, load_command
from tests.support.command_line import run

CHINESE = re.compile(r"[\u3400-\u9fff]")
ENGLISH = re.compile(r"(?<![\w/.-])[a-z]{3,} [a-z]{2,} [a-z]{2,}(?![\w/])")
"""Three small English words in a row: a sentence that nobody translated."""
STORIES = Path(__file__).parents[1] / "data/stories"


def list_commands() -> Iterator[tuple[str, ...]]:
    """Yield what one types behind `kb` for every command, a group before its own."""
    for name in COMMANDS:
        command = load_command(name)
        yield (name,)
        yield from ((name, own) for own in command.commands) if isinstance(command, click.Group) else ()


@pytest.mark.parametrize("words", [(), *list_commands()], ids=" ".join)
def test_the_help_of_an_english_base_is_english(root: Path, words: tuple[str, ...]) -> None:
    assert [line for line in run(root, *words, "--help").out.splitlines() if CHINESE.search(line)] == []


@pytest.mark.parametrize("words", [(), *list_commands()], ids=" ".join)
def test_the_help_of_a_chinese_base_is_chinese(root: Path, words: tuple[str, ...]) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    shown = [line for line in run(root, *words, "--help").out.splitlines() if not line.strip().startswith("kb ")]
    assert [line for line in shown if ENGLISH.search(line)] == []


def read_answers(story: Path) -> Iterator[str]:
    """Yield what kb says in a story: not what is typed, nor JSON, which programs read."""
    for line in story.read_text(encoding="utf-8").splitlines():
        if not line.startswith(("$", "#", "<", " ", "{", "}", "[", "2>  ")):
            yield line


@pytest.mark.parametrize("story", sorted(STORIES.glob("*-en.story")), ids=lambda path: path.stem)
def test_an_english_story_is_told_in_english(story: Path) -> None:
    assert [line for line in read_answers(story) if CHINESE.search(line)] == []


@pytest.mark.parametrize("view", ["seeds", "karma", "prefs"])
def test_the_views_of_alaya_are_in_the_language_of_the_base(root: Path, view: str) -> None:
    for kind in ("preference", "decision"):
        rule = ["--kind", kind, "--title", "Small pull requests", "--decision", "Pull requests have 400 lines at most."]
        run(root, "write", *rule, "--why", "Reviewers read them.", "--scope", "global", "--area", "architecture")
    shown = run(root, "alaya", view).out
    assert shown and not CHINESE.search(shown)
    (root / "kb.toml").write_text('language = "zh"\n')
    assert CHINESE.search(run(root, "alaya", view).out)


def test_what_the_system_complains_of_is_translated(root: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    assert "没有这个文件或目录" in run(root, "write", "missing.json").error
