"""The tutorials are true: a person who types their commands sees what they show."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.command_line import run_at_terminal

DOCS = Path(__file__).parents[2] / "docs"
EDITED = {
    "tutorial.md": {
        "Decision": "Orders are kept in PostgreSQL 16.",
        "Why": "An order touches several tables, and they must change together.",
        "Impact": "- `src/orders/`",
    },
    "zh/tutorial.md": {
        "决策": "订单存放在 PostgreSQL 16。",
        "理由": "一个订单涉及几张表，必须一起改动。",
        "影响范围": "- `src/orders/`",
    },
}
"""Tutorial → what its person writes in the editor, by heading."""


class Step(NamedTuple):
    """One command of a tutorial, and what it shows there."""

    command: str
    shown: str


def read_steps(text: str) -> Iterator[Step]:
    """Yield the commands of the console blocks of *text*."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Step(command, shown)


def matches(expected: str, shown: str) -> bool:
    """Return whether *shown* is *expected*: … alone means any lines, and at the beginning of a line any words."""
    rows = [re.escape(row.removeprefix("…")) for row in expected.rstrip("\n").split("\n")]
    pieces = [
        r"(?:.*\n)*?" if row == "" and raw == "…" else f"{'.*' if raw.startswith('…') else ''}{row}\n"
        for row, raw in zip(rows, expected.rstrip("\n").split("\n"), strict=True)
    ]
    return re.fullmatch("".join(pieces), shown.rstrip("\n") + "\n") is not None


def make_editor(folder: Path, texts: dict[str, str]) -> str:
    """Return an editor that writes *texts* below their headings."""
    lines = ["import re, sys", "from pathlib import Path", "path = Path(sys.argv[1])", "text = path.read_text('utf-8')"]
    for heading, said in texts.items():
        lines.append(f"text = text.replace('## {heading}\\n', {f'## {heading}{chr(10)}{said}{chr(10)}'!r}, 1)")
    lines.append("path.write_text(text, 'utf-8')")
    (folder / "editor.py").write_text("\n".join(lines), encoding="utf-8")
    return f"python3 {folder / 'editor.py'}"


@pytest.mark.parametrize("name", EDITED)
def test_a_tutorial_shows_what_happens(
    name: str, tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "")  # it happens now, for git as well
    if name.startswith("zh/"):
        monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    editor = make_editor(tmp_path, EDITED[name])
    place = tmp_path
    steps = list(read_steps((DOCS / name).read_text(encoding="utf-8")))
    assert len(steps) > 10
    for step in steps:
        if step.command.startswith("cd "):
            place = place / step.command[3:]
        elif step.command.startswith("kb "):
            shown = run_at_terminal(place, *shlex.split(step.command)[1:], EDITOR=editor, VISUAL=editor).out
            assert matches(step.shown, shown), f"$ {step.command}\n{shown}"
        else:
            shown = subprocess.run(step.command, shell=True, cwd=place, capture_output=True, text=True).stdout
            assert matches(step.shown, shown), f"$ {step.command}\n{shown}"
    assert os.path.exists(place / "site" / "index.html")
