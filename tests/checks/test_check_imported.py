"""What was just imported is nothing to complain of: it is dated, titled and arranged as it was elsewhere."""

from pathlib import Path

import pytest

from tests.support.command_line import run

ADR = """# {number}. {title}

Date: 2013-06-19

## Status

{status}

## Context

Payments need one way to retry.

## Decision

We retry three times.

## Pros and Cons of the Options

### Retry

* Good, because it is easy to implement

### Do not retry

* Good, because it is easy to implement

## Pros

One way.

## Pros

And another one.

## Consequences

Fewer calls at night.
"""

ONCE = "In this case the abstract of the search result is the only data that is included. "


@pytest.fixture
def adrs(tmp_path: Path) -> Path:
    folder = tmp_path / "adr"
    folder.mkdir()
    rows = [("Retry payments three times", "Accepted"), ("Configuration", "Accepted"), ("Drop the queue", "Proposed")]
    for number, (title, status) in enumerate(rows, 1):
        name = f"{number:04}-{title.lower().replace(' ', '-')}.md"
        (folder / name).write_text(ADR.format(number=number, title=title, status=status))
    return folder


def test_the_check_is_silent_after_an_import(root: Path, adrs: Path) -> None:
    assert run(root, "import", "adr", str(adrs)).code == 0
    ran = run(root, "check")
    assert (ran.code, ran.out) == (0, "")


def test_what_is_imported_grows_old_from_that_day_on(root: Path, adrs: Path) -> None:
    run(root, "import", "adr", str(adrs))
    for path in (root / "content/anchors/global").glob("D*.md"):
        text = path.read_text()
        uid = next(row for row in text.splitlines() if row.startswith("uid:"))
        path.write_text(text.replace(uid, f'uid: "01CS0000000000000000000{path.name[1:4]}"'))  # in 2018
    found = run(root, "check").out
    assert found.count("[stale]") == 2 and found.count("[unsettled]") == 1


def test_what_its_author_repeats_stays_as_it_is(root: Path, adrs: Path) -> None:
    path = next(adrs.glob("0001-*"))
    path.write_text(path.read_text().replace("### Do not retry\n", "").replace("One way.", ONCE).replace("And", ONCE))
    run(root, "import", "adr", str(adrs))
    assert run(root, "check").out == ""
