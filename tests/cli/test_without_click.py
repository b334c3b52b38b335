"""A plain call is answered without click, and as click would answer it."""

import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from kb.cli import group, without_click
from tests.support.command_line import run

RECORD = {
    "kind": "decision", "title": "Use PostgreSQL for orders 订单库",
    "decision": "Orders live in PostgreSQL.",
    "why": "One database to run.", "impact_areas": ["architecture"], "scope": "global",
}  # fmt: skip


@pytest.fixture
def place(root: Path) -> Path:
    """A knowledge base with one record."""
    assert run(root, "write", "-", stdin=json.dumps(RECORD).encode()).code == 0
    (root / "candidates.json").write_text(json.dumps({**RECORD, "title": "Cache nothing"}), encoding="utf-8")
    (root / "broken.json").write_text("{", encoding="utf-8")
    return root


@pytest.fixture(autouse=True)
def _there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(place)
    yield


def heard(answer: object) -> tuple[object, str, str]:
    """Return the code and what was printed by *answer*, a function without arguments."""
    out, error = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = answer()  # type: ignore[operator]
    return code, out.getvalue(), error.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        "show D001", "show D001 --json", "show --short D001", "show D001 --short --strict", "show --scope global D001",
        "show D404", "show ../D001", "show global:D001", "search 订单", "search PostgreSQL orders", "search 订 --json",
        "search nothing-of-this", "search orders -n 1", "search --scope project/none orders", "search --limit 2 库",
        "write candidates.json --dry-run", "write --json broken.json", "write missing.json",
        "write broken.json", "write .", "show ''",
    ],
)  # fmt: skip
def test_a_plain_call_is_answered_as_click_answers_it(line: str) -> None:
    words = ["" if word == "''" else word for word in line.split()]
    code, out, error = heard(lambda: without_click.run_without_click(words))
    assert code is not None, "not taken as plain"
    assert (code, out, error) == heard(lambda: group.run_command_line(words))


@pytest.mark.parametrize(
    "line",
    [
        "", "list", "show", "show D001 D002", "show --help", "show D001 --sho", "show D001 --scope", "write",
        "show D001 --scope nonsense", "search", "search x -n 0", "search x -n many", "search --tag a x", "search -n2 x",
        "search --limit=3 x", "search -- -x", "write --schema", "write --kind decision --title x", "--kb . show D001",
        "write a.json b.json", "锚点",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_click(line: str) -> None:
    assert without_click.run_without_click(line.split()) is None


def test_a_plain_call_loads_no_click() -> None:
    from tests.architecture.test_startup import loaded

    code = "from kb.cli import main\ntry: main(['show', 'D001'])\nexcept SystemExit: pass"
    assert not loaded(code) & {"click", "typing", "inspect", "dataclasses", "pathlib", "subprocess", "hashlib"}
