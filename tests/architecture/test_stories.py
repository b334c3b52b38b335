"""Shell transcripts: what a person types, and what kb says.

A story is a file `stories/*.story`. Its first line, `% en: title`, says which knowledge base the story starts in: an
empty English one (en), an empty Chinese one (zh), or none. Then come commands and what they print:

    % a remark                       any line that begins with %
    $ kb show D001                   a command; lines that begin with "> " continue it
    text                             a line of stdout
    2> text                          a line of stderr
    ? 3                              the exit code, where it is not 0

A line of output that looks like one of these has a backslash before it. What differs from run to run stands as
<today>, <time>, <stamp>, <commit>, <uid>, <dir> and <home>. To write down what kb says now, and then read the
difference: KB_APPROVE_STORIES=1 pytest tests/architecture/test_stories.py
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from kb.knowledge_base import make
from tests.support import command_line
from tests.support.command_line import Ran
from tests.support.sealed import DATA

STORIES = sorted((DATA / "stories").glob("*.story"))
APPROVE = bool(os.environ.get("KB_APPROVE_STORIES"))

_HEAD = re.compile(r"% (en|zh|none): (.+)")
_OURS = re.compile(r"[%\\]|\$ |> |2>|\? ")
_SHELL = re.compile(r"[|<>;&$`*\n]")
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_VOLATILE = (
    (re.compile(_TIME), "<time>"),
    (re.compile(r"\b\d{8}[-T]?\d{6}\b"), "<stamp>"),
    (re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b"), "<uid>"),
    (re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{10}|[0-9a-f]{7}\.\.[0-9a-f]{7})\b"), "<commit>"),
)


class Step(NamedTuple):
    """One command of a story."""

    before: tuple[str, ...]
    """The remarks and empty lines above it."""
    command: str
    expected: tuple[str, ...]


class Story(NamedTuple):
    """A story, read."""

    language: str
    title: str
    steps: tuple[Step, ...]


def read(text: str) -> Story:
    """Return the story in *text*."""
    rows = text.rstrip("\n").split("\n")
    head = _HEAD.fullmatch(rows[0])
    assert head, "the first line is like: % en: what the story tells"
    steps: list[Step] = []
    before: list[str] = []
    for row in rows[1:]:
        if row.startswith("$ "):
            steps.append(Step(tuple(before), row[2:], ()))
            before = []
        elif row.startswith("%") or not steps:
            before.append(row)
        elif (row == ">" or row.startswith("> ")) and not steps[-1].expected:
            steps[-1] = steps[-1]._replace(command=f"{steps[-1].command}\n{row[2:]}")
        else:
            assert not any(line.startswith("%") for line in before), f"output after a remark: {row}"
            steps[-1] = steps[-1]._replace(expected=(*steps[-1].expected, row))
    return Story(head[1], head[2], tuple(s._replace(expected=trimmed(s.expected)) for s in steps))


def trimmed(rows: tuple[str, ...]) -> tuple[str, ...]:
    """Return *rows* without the empty ones at their end."""
    return trimmed(rows[:-1]) if rows and not rows[-1] else rows


def written(story: Story, outcomes: list[tuple[str, ...]]) -> str:
    """Return the file of *story* with what the commands printed."""
    blocks = [f"% {story.language}: {story.title}\n"]
    for step, outcome in zip(story.steps, outcomes, strict=True):
        remarks = [row for row in step.before if row]
        blocks.append("\n".join([*remarks, *typed(step.command), *outcome]) + "\n")
    return "\n".join(blocks)


def typed(command: str) -> list[str]:
    """Return *command* as a terminal shows it."""
    return [
        f"{mark} {row}".rstrip() for mark, row in zip("$" + ">" * command.count("\n"), command.split("\n"), strict=True)
    ]


class Teller:
    """Runs the commands of one story in a folder of its own."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Start in *folder*."""
        self.folder = folder
        self.home = home
        self.place = folder
        self.days = {time.strftime("%Y-%m-%d")}

    def run(self, command: str) -> tuple[str, ...]:
        """Run *command* and return the lines a story has of it."""
        if command.startswith("cd "):
            self.place = (self.place / command[3:]).resolve()
            return ()
        plain = command.startswith("kb ") and not _SHELL.search(command)
        code, out, error = command_line.run(self.place, *shlex.split(command)[1:]) if plain else self._shell(command)
        self.days.add(time.strftime("%Y-%m-%d"))
        rows = [("\\" if _OURS.match(row) else "") + row for row in self._lines(out)]
        rows += [f"2> {row}".rstrip() for row in self._lines(error)]
        return (*rows, f"? {code}") if code else tuple(rows)

    def _shell(self, command: str) -> Ran:
        """Run what needs a shell."""
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.place, env={**os.environ, "PATH": path}, capture_output=True, check=False
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def _lines(self, text: str) -> tuple[str, ...]:
        """Return the lines of *text*, what differs from run to run replaced."""
        for pattern, name in _VOLATILE:
            text = pattern.sub(name, text)
        for place, name in ((self.folder, "<dir>"), (self.home, "<home>")):
            text = text.replace(str(place), name)
        for day in self.days:
            text = text.replace(day, "<today>")
        return trimmed(tuple(text.split("\n")))


@pytest.fixture(scope="session")
def bases(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An empty knowledge base of each language, to be copied."""
    chinese = tmp_path_factory.mktemp("base-zh") / "kb"
    made, _ = make(str(chinese), os.environ, name="kb", language="zh")
    made.close()
    return {"en": empty_kb, "zh": chinese}


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(
    path: Path, bases: dict[str, Path], sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "")  # a story happens now, for git as well
    story = read(path.read_text(encoding="utf-8"))
    place = tmp_path / "kb"
    if story.language == "none":
        place.mkdir()
    else:
        shutil.copytree(bases[story.language], place, symlinks=True)
    teller = Teller(place, sealed)
    outcomes = []
    for step in story.steps:
        outcome = teller.run(step.command)
        outcomes.append(outcome)
        assert not any("Traceback" in row for row in outcome), "\n".join(outcome)
        if not APPROVE:
            assert outcome == step.expected, f"$ {step.command}"
    if APPROVE:
        path.write_text(written(story, outcomes), encoding="utf-8")


def test_a_story_that_is_approved_reads_back_the_same() -> None:
    rows = ("text", "", "\\$ not a command", "2> word", "? 3")
    story = Story("en", "a title", (Step(("% why",), "cat <<END\na\nEND", ()), Step((), "kb list", ())))
    text = written(story, [rows, ()])
    again = read(text)
    assert [step.command for step in again.steps] == [step.command for step in story.steps]
    assert [step.expected for step in again.steps] == [rows, ()]
    assert written(again, [step.expected for step in again.steps]) == text


def test_there_are_stories_in_both_languages() -> None:
    languages = [read(path.read_text(encoding="utf-8")).language for path in STORIES]
    assert languages.count("zh") >= 5
    assert languages.count("en") >= 5
