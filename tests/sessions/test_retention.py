"""Old archives of sessions are pruned; what a record cites, what is young and what a person edits stays."""

import json
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.sessions.session_archive import list_sessions, parse_days, prune_archives
from tests.support.clones import git
from tests.support.command_line import run
from tests.support.sessions import Session

DAY = 86_400


def archived(kb: KnowledgeBase, folder: Path, session: str, said: str, days_ago: int) -> str:
    """Archive a session of some days ago and return the archive's name."""
    talk = Session(f"Task of {session}")
    talk.step(said)
    talk.rows = [row.replace('"s-1"', f'"{session}","cwd":"/tmp/shop"') for row in talk.rows]
    now = kb.now
    kb.now = lambda: now() - days_ago * DAY
    try:
        return kb.save_session(talk.write(folder / f"{session}.jsonl"), session=session, host="cli").archive
    finally:
        kb.now = now


def names(root: Path) -> set[str]:
    return {path.name for path in (root / "content" / "sessions").iterdir() if path.is_dir()}


def test_what_is_old_and_uncited_goes_in_one_commit_and_stays_in_history(
    root: Path, kb: KnowledgeBase, tmp_path: Path
) -> None:
    old = [archived(kb, tmp_path, f"old-session-{n}", "Looking around.", 200 + n) for n in range(2)]
    young = archived(kb, tmp_path, "young-session", "Looking around.", 10)
    before = git(root, "rev-list", "--count", "HEAD")
    told = prune_archives(kb, 180, dry_run=True)
    assert {session.name for session in told.gone} == set(old) and names(root) == {*old, young}
    done = prune_archives(kb, 180)
    assert done.gone == told.gone and names(root) == {young}
    assert int(git(root, "rev-list", "--count", "HEAD")) == int(before) + 1
    assert git(root, "status", "--porcelain") == ""
    assert "Task of old-session-1" in git(root, "show", f"HEAD^:content/sessions/{old[1]}/compact.md")
    assert [session.name for session in list_sessions(kb)] == [young]
    assert prune_archives(kb, 180).gone == ()


def test_what_a_record_cites_stays(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    said = "决定：退款走异步队列，因为银行接口很慢，影响整体架构。"
    cited = archived(kb, tmp_path, "cited-session", said, 400)
    plain = archived(kb, tmp_path, "plain-session", "Looking around.", 400)
    done = prune_archives(kb, 180)
    assert [session.name for session in done.gone] == [plain]
    assert [(session.name, record) for session, record in done.kept] == [(cited, "D001")]
    assert names(root) == {cited}


def test_a_file_that_a_person_edits_is_not_taken_away(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    name = archived(kb, tmp_path, "edited-session", "Looking around.", 400)
    file = root / "content" / "sessions" / name / "compact.md"
    file.write_text(file.read_text(encoding="utf-8") + "\nmine\n", encoding="utf-8")
    ran = run(root, "session", "prune", "--older", "30d")
    assert ran.code == 5 and name in ran.error and "mine" in file.read_text(encoding="utf-8")


def test_the_command_tells_and_can_only_tell(root: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    name = archived(kb, tmp_path, "old-session", "Looking around.", 400)
    ran = run(root, "sessions", "prune", "--older", "6m", "--dry-run")
    assert ran.code == 0 and name in ran.out and "--dry-run" in ran.error and names(root) == {name}
    told = json.loads(run(root, "session", "prune", "--older", "1y", "--json").out)
    assert [session["name"] for session in told["gone"]] == [name] and told["commit"] and names(root) == set()
    assert "older than 1y" in run(root, "session", "prune", "--older", "1y").error


@pytest.mark.parametrize(("age", "days"), [("180d", 180), ("2W", 14), (" 6m ", 180), ("1y", 365)])
def test_ages(age: str, days: int) -> None:
    assert parse_days(age) == days


@pytest.mark.parametrize("age", ["", "180", "d", "-3d", "1.5y", "9999999d", "３d "])
def test_no_ages(age: str) -> None:
    with pytest.raises(BadInput):
        parse_days(age)


def test_days_are_counted_from_now(kb: KnowledgeBase, tmp_path: Path) -> None:
    archived(kb, tmp_path, "border-session", "Looking around.", 30)
    assert not prune_archives(kb, 31, dry_run=True).gone
    assert prune_archives(kb, 29, dry_run=True).gone
