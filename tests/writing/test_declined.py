"""A candidate that three answers of "no" keep out of the records stays with its session."""

import json
from pathlib import Path

import pytest

from kb.capture.submit import flush_spooled_jobs
from kb.knowledge_base import KnowledgeBase
from kb.sessions.active_sessions import ActiveSession, load_compact, parse_judged
from kb.writing.spool import spool_candidates
from tests.support.clones import SMALL
from tests.support.command_line import run
from tests.support.talk import EN, add, transcript

NO = ("--affects-future", "no", "--reference", "no", "--prevents-repeat", "no")
SAID = {"en": "Log the third retry while this bug is open", "zh": "排查期间第三次重试打日志"}


@pytest.fixture
def path(kb: KnowledgeBase, tmp_path: Path) -> str:
    """Return the transcript of a session that runs in the knowledge base's own folder."""
    path = transcript(tmp_path / "t.jsonl", EN)
    ActiveSession(kb, "s1").register_transcript(path, str(kb.root))
    return path


def archive_of(kb: KnowledgeBase, path: str) -> tuple[str, list[str]]:
    """Archive the session; return all its files, and the titles of what it brought with their verdicts."""
    add(Path(path), "Go on.")
    shelf = kb.save_session(path, session="s1", folder=str(kb.root)).archive
    result = json.loads(kb.session_file(shelf, "shi-result.json"))
    return "".join(kb.session_file(shelf, name) for name in ("compact.md", "hui-output.json")), [str(result)]


@pytest.mark.parametrize("title", SAID.values(), ids=SAID)
@pytest.mark.parametrize("given", [(), ("--session", "s1")], ids=["no session", "session"])
def test_the_session_keeps_what_is_declined(
    kb: KnowledgeBase, root: Path, path: str, title: str, given: tuple[str, ...]
) -> None:
    ran = run(root, "write", "--kind", "decision", "--title", title, "--why", "To find it.", *NO, *given)
    assert ran.code == 3 and "s1" in ran.out + ran.error
    assert (
        kb.records() == []
        and kb.held() == []
        and [row.candidate.title for row in parse_judged(ActiveSession(kb, "s1").load_cursor())] == [title]
    )
    run(root, "write", "--kind", "decision", "--title", title, "--why", "To find it.", *NO, *given)
    assert len(parse_judged(ActiveSession(kb, "s1").load_cursor())) == 1, "said again, it is kept once"
    files, (result,) = archive_of(kb, path)
    assert title in files and title in result
    assert title in load_compact(kb, "s1") and [record.title for record in kb.records()] != [title]


def test_a_session_that_is_heard_of_later_has_it_too(kb: KnowledgeBase, tmp_path: Path) -> None:
    declined = SMALL._replace(affects_future=False, reference_value=False, prevents_repeat=False, session="s1")
    assert kb.write([declined])[0].verdict == "refused"
    path = transcript(tmp_path / "t.jsonl", EN)
    ActiveSession(kb, "s1").register_transcript(path, str(kb.root))
    assert SMALL.title in archive_of(kb, path)[0]


def test_where_no_session_runs_nothing_is_promised(kb: KnowledgeBase, root: Path, path: str) -> None:
    ActiveSession(kb, "s1").remove_files()
    ran = run(root, "write", "--kind", "decision", "--title", SAID["en"], "--why", "To find it.", *NO)
    assert (
        ran.code == 3
        and "no running session" in ran.out + ran.error
        and parse_judged(ActiveSession(kb, "s1").load_cursor()) == []
    )


def test_a_dry_run_keeps_nothing(kb: KnowledgeBase, root: Path, path: str) -> None:
    run(root, "write", "--kind", "decision", "--title", SAID["en"], "--why", "To find it.", *NO, "--dry-run")
    assert parse_judged(ActiveSession(kb, "s1").load_cursor()) == []


def test_what_had_to_wait_is_kept_when_it_lands(kb: KnowledgeBase, path: str) -> None:
    from kb.errors import Busy

    declined = SMALL._replace(affects_future=False, reference_value=False, prevents_repeat=False, session="s1")
    spool_candidates(kb, [declined], str(kb.root), Busy("busy"))
    assert [verdict.verdict for verdict in flush_spooled_jobs(kb)] == ["refused"]
    assert [row.candidate.title for row in parse_judged(ActiveSession(kb, "s1").load_cursor())] == [SMALL.title]


def test_a_secret_is_masked_before_it_is_kept(kb: KnowledgeBase, path: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    declined = SMALL._replace(
        why=f"The token {secret} is in the log.", affects_future=False, reference_value=False, prevents_repeat=False,
        session="s1",
    )  # fmt: skip
    kb.write([declined])
    assert len(parse_judged(ActiveSession(kb, "s1").load_cursor())) == 1 and secret not in json.dumps(
        ActiveSession(kb, "s1").load_cursor()
    )
