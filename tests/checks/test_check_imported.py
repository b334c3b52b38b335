"""What was just imported is nothing to complain of: it is dated, titled and arranged as it was elsewhere."""

from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.sealed import git

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


CODE = "The code is in `src/pay/retry.py`, the limits in `src/pay/limits.py`."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with code and one record about it."""
    place = tmp_path / "shop"
    for name, text in {
        "src/pay/retry.py": "TIMES = 3\n",
        "src/pay/limits.py": "MOST = 9\n",
        "docs/adr/0001-retry.md": ADR.format(number=1, title="Retry payments", status="Accepted") + CODE,
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Sell")
    return place


def test_code_of_another_repository_is_not_missed_here(root: Path, shop: Path) -> None:
    run(root, "import", "adr", "../shop/docs/adr", "--project", "kb")
    (path,) = root.glob("content/anchors/projects/kb/D001*")
    assert "src/pay/limits.py" in path.read_text()
    (root / "kb.toml").write_text('project = "kb"\n')
    ran = run(root, "check")
    assert (ran.code, ran.out) == (0, "")


def test_a_path_written_into_an_imported_record_is_looked_for(root: Path, shop: Path) -> None:
    run(root, "import", "adr", "../shop/docs/adr", "--project", "kb")
    (root / "kb.toml").write_text('project = "kb"\n')
    (path,) = root.glob("content/anchors/projects/kb/D001*")
    path.write_text(path.read_text().replace("src/pay/limits.py", "src/pay/money.py", 1))
    found = run(root, "check")
    assert found.code == 1 and "src/pay/money.py" in found.out and "retry.py" not in found.out


def test_code_that_vanished_from_the_own_repository_is_missed(shop: Path) -> None:
    run(shop, "init", "--here", "--name", "shop")
    run(shop, "import", "adr", "docs/adr")
    git(shop, "rm", "-q", "src/pay/limits.py")
    git(shop, "commit", "-q", "-m", "Sell without limits")
    found = run(shop, "check")
    assert found.code == 1 and found.out.count("[impact]") == 1 and "limits.py has vanished" in found.out


@pytest.mark.parametrize("again", ["Decision", "Decision Outcome"])
def test_a_decision_that_is_written_twice_is_read_as_one(root: Path, adrs: Path, again: str) -> None:
    path = next(adrs.glob("0001-*"))
    path.write_text(path.read_text() + f"\n## {again}\n\nNever more than once a minute.\n")
    run(root, "import", "adr", str(adrs))
    assert run(root, "check").out == ""
    (made,) = root.glob("content/anchors/global/D001*")
    assert "three times.\n" in made.read_text() and "once a minute." in made.read_text()


def test_a_proposal_that_was_adopted_waits_from_that_day_on(
    tmp_path: Path, adrs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "shop"
    (top / "docs").mkdir(parents=True)
    adrs.rename(top / "docs/adr")
    git(top, "init", "--quiet", "--initial-branch=main")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message=Write decisions")
    assert run(top, "init", "--here", "--adopt", "docs/adr").code == 0
    found = run(top, "check").out
    assert "[unsettled]" not in found and "[stale]" not in found
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2018-01-01T00:00:00+0000")
    git(top, "commit", "--quiet", "--amend", "--no-edit")
    assert run(top, "check").out.count("[unsettled]") == 1
