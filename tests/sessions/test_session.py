"""What a session leaves behind: cursor, pause, archive, passing notes, the session index."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from kb.capture import save_session as sessions
from kb.capture.extract import find_candidates
from kb.capture.refusals import list_refusals
from kb.context.give_hints import build_start_context
from kb.errors import BadInput, UnknownId
from kb.hooks.tool_events import find_open_task
from kb.knowledge_base import KnowledgeBase
from kb.learning.uses import list_uses
from kb.records.kinds import sanitise_session_id
from kb.records.model import GLOBAL, Candidate
from kb.sessions import transcript as transcripts
from kb.sessions.active_sessions import ActiveSession, list_postponed, list_stale_files, load_compact, spool_session
from kb.sessions.forms import COMPACT, FormFacts
from kb.sessions.render_forms import render_form
from kb.sessions.session_archive import find_session
from kb.text.segment import count_words
from tests.support.command_line import run
from tests.support.sealed import Clock, git
from tests.support.talk import EN, PASSING, ZH, add, answered, called, said, transcript

WORK = "work"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where the session works: a folder outside the knowledge base."""
    (tmp_path / WORK).mkdir()
    return str(tmp_path / WORK)


def state(kb: KnowledgeBase, *parts: str) -> Path:
    return Path(kb.state.path(*parts))


def archived(kb: KnowledgeBase, name: str, file: str) -> object:
    return json.loads(kb.session_file(name, file))


def words(saved: sessions.SavedSession) -> list[str]:
    return [verdict.verdict for verdict in saved.verdicts]


# -- the four outputs ------------------------------------------------------------------------------


def test_saving_gives_compact_form_anchors_archive_and_index(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH, EN)
    saved = kb.save_session(path, session="s1", folder=folder)
    assert words(saved) == ["created", "created"]
    assert {record.scope for record in kb.records()} == {f"project/{WORK}"}
    about = json.loads(state(kb, "active", "s1", "metadata.json").read_text("utf-8"))
    assert about == {"session_id": "s1", "project": WORK, "cwd": folder, "timestamp": "2026-11-21T00:00:00+0000"}
    compact = state(kb, "active", "s1", "compact.md").read_text("utf-8")
    assert "FastAPI" in compact and "[D001]" in compact and "[D002]" in compact
    assert saved.archive == f"{WORK}-20261121-000000-s1000000"
    hui = archived(kb, saved.archive, "hui-output.json")
    shi = archived(kb, saved.archive, "shi-result.json")
    assert isinstance(hui, dict) and isinstance(shi, dict)
    assert [anchor["title"] for anchor in hui["anchors"]] == [candidate.title for candidate in saved.candidates]
    assert [row["new_id"] for row in shi["anchors_written"]] == ["D001", "D002"]
    assert hui["context"]["compact_md"] == compact == kb.session_file(saved.archive)
    (row,) = json.loads(state(kb, "sessions.json").read_text("utf-8"))["sessions"]
    assert (row["name"], row["project"], row["session"], row["anchors"], row["status"]) == (
        saved.archive, WORK, "s1", 2, "archived",
    )  # fmt: skip
    assert git(kb.root, "status", "--porcelain") == ""


def test_the_same_state_is_saved_once(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    first = kb.save_session(path, session="s1", folder=folder)
    tip = git(kb.root, "rev-parse", "HEAD")
    again = kb.save_session(path, session="s1", folder=folder)
    assert (again.verdicts, again.archive, again.compact) == ((), first.archive, first.compact)
    assert git(kb.root, "rev-parse", "HEAD") == tip


def test_a_later_archive_tells_of_the_whole_session(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.save_session(path, session="s1", folder=folder)
    clock.seconds += 60
    add(path, EN)
    saved = kb.save_session(path, session="s1", folder=folder)
    assert words(saved) == ["created"], "what was written before is not handed in again"
    hui, shi = (archived(kb, saved.archive, file) for file in ("hui-output.json", "shi-result.json"))
    assert isinstance(hui, dict) and isinstance(shi, dict)
    assert len(hui["anchors"]) == 2
    assert [(row["candidate_id"], row["new_id"]) for row in shi["anchors_written"]] == [("1", "D001"), ("2", "D002")]
    assert "FastAPI" in saved.compact and "Sanitizer" in saved.compact
    assert len(kb.sessions()) == 2


def test_what_a_session_repeats_is_one_sighting(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.save_session(path, session="s1", folder=folder)
    add(path, ZH, "ok")
    assert kb.save_session(path, session="s1", folder=folder).verdicts == ()
    (record,) = kb.records()
    assert record.occurrences == 1


def test_what_was_replaced_meanwhile_is_not_handed_in_again(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.save_session(path, session="s1", folder=folder)
    kb.change_status("D001", "deprecated", why="过时", decided=True)
    clock.seconds += 60
    add(path, "好的。")
    assert kb.save_session(path, session="s1", folder=folder).verdicts == ()
    assert kb.reviews() == [] and len(kb.records()) == 1


def test_an_empty_state_folder_loses_nothing(kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.save_session(path, session="s1", folder=folder)
    before = kb.sessions()
    for name in ("sessions.json", "cursors/s1.json"):
        state(kb, name).unlink()
    assert kb.sessions() == before
    clock.seconds += 60
    assert words(kb.save_session(path, session="s1", folder=folder)) == ["unchanged"]


def test_two_sessions_that_begin_alike_have_archives_of_their_own(
    kb: KnowledgeBase, tmp_path: Path, folder: str
) -> None:
    names = {
        kb.save_session(transcript(tmp_path / f"{n}.jsonl", text), session=f"session-{n}", folder=folder).archive
        for n, text in enumerate((ZH, EN))
    }
    assert names == {f"{WORK}-20261121-00000{n}-session-" for n in (0, 1)}


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\xff\x80" * 500, b'{"type":"system"}\n', b"[" * 100_000 + b"\n"]
)
def test_a_transcript_without_a_message_leaves_nothing(kb: KnowledgeBase, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    saved = kb.save_session(str(path), session="s1")
    assert (saved.archive, saved.verdicts) == ("", ()) and saved.notes
    assert kb.sessions() == []


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: os.mkfifo(p)])
def test_what_is_no_file_is_refused_and_never_waited_for(kb: KnowledgeBase, tmp_path: Path, make: object) -> None:
    path = tmp_path / "t.jsonl"
    assert callable(make)
    make(path)
    with pytest.raises(BadInput):
        kb.save_session(str(path), session="s1")


def test_a_line_that_is_being_written_is_taken_when_it_is_whole(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", "好的。")
    line = said("assistant", ZH).encode()
    with open(path, "ab") as file:
        file.write(line[:80])
    assert kb.save_session(path, session="s1", folder=folder, archive=False).verdicts == ()
    with open(path, "ab") as file:
        file.write(line[80:])
    assert words(kb.save_session(path, session="s1", folder=folder, archive=False)) == ["created"]


def test_a_huge_line_and_the_lines_around_it_are_read(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH, "长" * 3_000_000, EN)
    assert words(kb.save_session(path, session="s1", folder=folder)) == ["created", "created"]


# -- compact form ----------------------------------------------------------------------------------

MANY = [f"决定：第{n}个服务统一使用独立数据库，因为隔离故障，由 someone{n}@shop.cn 负责架构。" for n in range(60)]


@pytest.mark.parametrize(
    "texts",
    [MANY, [f"Decision: Service {n} keeps its own schema because the teams {'deploy ' * 30} apart." for n in range(60)],
     ["密钥 password=hunter2hunter2 " * 200], ["无" * 9000]],
    ids=["zh", "en", "secrets", "long"],
)  # fmt: skip
def test_the_compact_form_is_shorter_than_500(kb: KnowledgeBase, tmp_path: Path, texts: list[str]) -> None:
    path = transcript(tmp_path / "t.jsonl", *texts)
    data = transcripts.parse_transcript(Path(path).read_bytes())
    found, _ = find_candidates(kb, data, 0, "s1", "")
    made = tuple(f"D{n:03}" for n in range(1, 40))
    compact = render_form(kb, COMPACT, data, FormFacts(tuple(found), made)).text
    assert 0 < count_words(compact) < 500
    assert "hunter2" not in compact and "someone1@" not in compact


def test_masks_do_not_make_the_compact_form_longer(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.config = kb.config._replace(private_words=("[一-龥]",))
    path = transcript(tmp_path / "t.jsonl", *MANY)
    data = transcripts.parse_transcript(Path(path).read_bytes())
    found, _ = find_candidates(kb, data, 0, "s1", "")
    assert count_words(render_form(kb, COMPACT, data, FormFacts(tuple(found))).text) < 500


# -- cursor and pause ------------------------------------------------------------------------------


def test_the_pause_puts_work_off_and_loses_none(kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock) -> None:
    path, other = transcript(tmp_path / "a.jsonl", ZH), transcript(tmp_path / "b.jsonl", "好的。")
    saved = kb.save_when_due(path, session="a", folder=folder)
    assert saved and words(saved) == ["created"] and saved.archive == ""
    add(path, EN)
    clock.seconds += 10
    assert kb.save_when_due(path, session="a", folder=folder) is None
    assert [job.session for job in list_postponed(kb)] == ["a"]
    assert kb.save_when_due(other, session="b", folder=folder) is not None, "another session has a pause of its own"
    clock.seconds += 20
    saved = kb.save_when_due(path, session="a", folder=folder)
    assert saved and [verdict.title for verdict in saved.verdicts] == [
        "All API responses go through the Sanitizer module"
    ]
    assert list_postponed(kb) == []


def test_what_was_put_off_lands_with_the_next_session(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "a.jsonl", ZH)
    kb.save_when_due(path, session="a", folder=folder)
    add(path, EN)
    kb.save_when_due(path, session="a", folder=folder)
    assert kb.land() == [], "its pause is not over"
    clock.seconds += 30
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert kb.land() == [] and len(kb.records()) == 2


def test_a_sub_agent_has_a_cursor_of_its_own_and_its_rest_lands_with_its_parent(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    main, agent = transcript(tmp_path / "main.jsonl", "好的。"), transcript(tmp_path / "agent.jsonl", ZH)
    kb.save_when_due(main, session="s", folder=folder)
    saved = kb.save_when_due(agent, session="s", agent="x1", folder=folder)
    assert saved and words(saved) == ["created"]
    assert {candidate.session for candidate in saved.candidates} == {"s"}, "a sub-agent is no second sighting"
    add(agent, EN)
    assert kb.save_when_due(agent, session="s", agent="x1", folder=folder) is None
    add(main, "继续。")
    assert words(kb.save_session(main, session="s", folder=folder)) == ["created"]
    assert list_postponed(kb) == [] and len(kb.sessions()) == 1


def test_a_transcript_that_was_begun_anew_is_read_from_the_top(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", "好的。", "好的。", "好的。")
    kb.save_session(path, session="s", folder=folder, archive=False)
    transcript(tmp_path / "t.jsonl", ZH)
    assert words(kb.save_session(path, session="s", folder=folder, archive=False)) == ["created"]


# -- what holds for the session only ---------------------------------------------------------------


def test_a_passing_act_stays_with_the_running_session(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", PASSING, ZH, "好的，继续实现接口。")
    saved = kb.save_session(path, session="s1", folder=folder)
    assert sorted(words(saved)) == ["created", "refused"]
    assert "注释掉登录测试" in saved.compact
    assert [note.title for note in ActiveSession(kb, "s1").load_notes()] == ["先临时注释掉登录测试"]
    in_git = git(kb.root, "grep", "-l", "-e", "注释掉登录测试", "HEAD", "--", "content").splitlines()
    assert [name.rpartition("/")[2] for name in in_git] == ["shi-result.json"], "that it was left out, and no more"
    assert "注释掉登录测试" not in state(kb, "cursors", "s1.json").read_text("utf-8")
    kb.end_session(path, session="s1", folder=folder)
    assert not state(kb, "active", "s1").exists()
    kb.land()
    assert not state(kb, "active", "s1").exists()
    assert "注释掉登录测试" not in load_compact(kb, "s1")


def test_a_session_that_ended_lands_once_and_can_be_resumed(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.end_session(path, session="s1", folder=folder)
    kb.end_session(path, session="s1", folder=folder)
    assert len(kb.state.list_spooled()) == 1 and kb.records() == []
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert kb.land() == [] and kb.state.list_spooled() == [] and len(kb.sessions()) == 1
    told = build_start_context(kb, "s1", source="resume", project=f"project/{WORK}")
    assert "FastAPI" in told and len(told) <= 10_000
    clock.seconds += 60
    add(path, EN)
    assert words(kb.save_session(path, session="s1", folder=folder, archive=False)) == ["created"]


def test_a_session_in_a_folder_that_is_gone_keeps_its_project(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.com/shop.git")
    path = transcript(tmp_path / "t.jsonl", ZH)
    kb.save_session(path, session="s1", folder=folder, archive=False)
    add(path, EN)
    kb.end_session(path, session="s1", folder=folder)
    shutil.rmtree(folder)
    assert kb.land()
    assert {record.scope for record in kb.records()} == {f"project/{WORK}"}


def test_a_session_without_a_folder_is_global(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.save_session(transcript(tmp_path / "t.jsonl", ZH), session="s1")
    assert {record.scope for record in kb.records()} == {GLOBAL}


def test_a_repository_that_is_busy_gets_the_session_later(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    mark = Path(kb.root, ".git", "MERGE_HEAD")
    mark.write_text("0" * 40)
    for _ in range(3):
        saved = kb.save_session(path, session="s1", folder=folder)
        clock.seconds += 60
    assert (saved.verdicts, saved.archive) == ((), "") and "FastAPI" in load_compact(kb, "s1")
    assert len(kb.state.list_spooled()) == 1
    mark.unlink()
    assert [verdict.verdict for verdict in kb.land()] == ["created"]
    assert len(kb.sessions()) == 1 and kb.state.list_spooled() == []


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session", ["../../x", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "会话", "x" * 500, "a\nb", "\ud800"]
)
def test_no_session_id_leaves_its_folder(session: str) -> None:
    name = sanitise_session_id(session)
    assert name and len(name) <= 64 and name.isascii() and all(c.isalnum() or c in "-_" for c in name)


def test_no_two_ids_share_a_name() -> None:
    ids = ["a/b", "a-b", "a b", "a\\b", "../a-b", "会话", "对话", "x" * 70, "x" * 71, "session", ""]
    assert len({sanitise_session_id(session) for session in ids}) == len(ids)


def test_a_hostile_id_is_saved_inside(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    before = {path for path in tmp_path.rglob("*") if "kb" not in path.relative_to(tmp_path).parts[:1]}
    path = transcript(tmp_path / "t.jsonl", ZH)
    saved = kb.save_session(path, session="../../x", folder=folder)
    kb.save_when_due(path, session="../../x", agent="../../y", folder=folder)
    after = {path for path in tmp_path.rglob("*") if "kb" not in path.relative_to(tmp_path).parts[:1]}
    assert after - before == {tmp_path / "t.jsonl"}
    assert words(saved) == ["created"] and os.listdir(kb.state.path("active")) == [sanitise_session_id("../../x")]


def test_an_archive_is_named_by_a_part_that_fits_one(
    kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock
) -> None:
    for number, text in enumerate((ZH, EN)):
        clock.seconds += 90_000
        kb.save_session(transcript(tmp_path / f"{number}.jsonl", text), session=f"{number}abc", folder=folder)
    assert find_session(kb, "1abc").session == "1abc"
    with pytest.raises(UnknownId, match="several"):
        find_session(kb, WORK)
    with pytest.raises(UnknownId, match="no session"):
        find_session(kb, "zzz")


# -- odds and ends ---------------------------------------------------------------------------------


def test_the_task_of_a_sub_agent_is_found_in_its_parents_transcript(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [said("user", "hi"), called("Task", {"subagent_type": "Explore", "prompt": "old"}), answered("c1")]
    lines += [
        called("Agent", {"subagent_type": "explore", "prompt": "find the 退款 code", "description": "look"}, "c2")
    ]
    path.write_text("".join(lines) + '{"half', encoding="utf-8")
    assert find_open_task(str(path), "Explore") == "look\nfind the 退款 code"
    assert find_open_task(str(path), "Plan") == ""
    assert find_open_task(str(tmp_path / "none"), "Plan") == ""


def test_a_spooled_session_is_spooled_once(kb: KnowledgeBase) -> None:
    from kb.sessions.active_sessions import ExtractionJob

    job = ExtractionJob("/t.jsonl", "s")
    assert spool_session(kb.state, job, kb.now()) and not spool_session(kb.state, job, kb.now() + 9)
    assert spool_session(kb.state, job._replace(session="other"), kb.now())


def test_old_sessions_are_leftovers(kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock) -> None:
    kb.save_session(transcript(tmp_path / "t.jsonl", ZH), session="s1", folder=folder)
    now = state(kb, "active", "s1").stat().st_mtime
    assert list_stale_files(kb.state, now + 86_400) == []
    assert [os.path.basename(path) for path in list_stale_files(kb.state, now + 31 * 86_400)] == ["s1", "s1.json"]


@pytest.mark.parametrize(("word", "day"), [("today", "2026-11-21"), ("昨天", "2026-11-20"), ("week", "2026-11-15")])
def test_days_have_names(kb: KnowledgeBase, word: str, day: str) -> None:
    assert kb.day_named(word) == day
    with pytest.raises(BadInput):
        kb.day_named("someday")


def test_a_model_is_asked_once_for_what_is_new(kb: KnowledgeBase, tmp_path: Path, folder: str, clock: Clock) -> None:
    calls = tmp_path / "calls"
    fake = tmp_path / "fake.py"
    quote = "后端统一使用 FastAPI 框架"
    answer = {
        "candidates": [
            {"kind": "decision", "title": quote, "decision": quote, "why": "支持好", "impact_areas": ["architecture"],
             "evidence": [{"quote": quote}]}
        ]
    }  # fmt: skip
    fake.write_text(
        f"import json, sys\nopen({str(calls)!r}, 'a').write('x')\njson.load(sys.stdin)\nprint({json.dumps(answer)!r})\n"
    )
    kb.environment = {**os.environ, "KB_LLM_CMD": f"{sys.executable} {fake}"}
    path = transcript(tmp_path / "t.jsonl", ZH)
    assert kb.save_session(path, session="s1", folder=folder).verdicts
    kb.save_session(path, session="s1", folder=folder)
    assert calls.read_text() == "x"
    clock.seconds += 60
    fake.write_text("print('no JSON')")
    add(path, EN)
    saved = kb.save_session(path, session="s1", folder=folder)
    assert words(saved) == ["created"] and saved.notes, "without an answer the offline way is taken, and told"


def test_what_git_stops_is_taken_up_later(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "agent.jsonl", ZH)
    place = Path(kb.root, ".git")
    place.rename(tmp_path / "away")
    saved = kb.save_when_due(path, session="s", agent="x1", folder=folder)
    assert saved and saved.kept and [verdict.spooled for verdict in saved.verdicts] == [True]
    (tmp_path / "away").rename(place)
    assert [verdict.verdict for verdict in kb.land()] == ["created"] and list_postponed(kb) == []


def test_a_transcript_that_says_nothing_is_not_waited_for(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("{}\n")
    kb.save_when_due(str(tmp_path / "t.jsonl"), session="s")
    assert list_postponed(kb) == []


def test_a_block_that_is_no_candidate_is_told_once(kb: KnowledgeBase, tmp_path: Path, folder: str) -> None:
    path = transcript(tmp_path / "t.jsonl", "```kb\nkind: wish\ntitle: 更快\n```", ZH)
    saved = kb.save_session(path, session="s", folder=folder)
    assert words(saved) == ["created"]
    assert [note for note in saved.notes if note.startswith("line 2: ")] == list(saved.notes) != []
    add(path, EN)
    assert kb.save_session(path, session="s", folder=folder).notes == ()


def test_a_damaged_line_is_no_end_of_the_history(
    kb: KnowledgeBase, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_DATE", "2026-11-21T09:00:00Z")
    kb.save_session(transcript(tmp_path / "t.jsonl", ZH), session="s", folder=folder)
    (record,) = kb.records()
    assert kb.answer_to_prompt("后端框架应该用 FastAPI 还是 Flask？", project=record.scope)
    with state(kb, "told", "unnamed").open("a", encoding="utf-8") as file:
        file.write(f"{record.uid}\tnever\n\t\n\x00{record.uid}\t1\n")
    assert [(use.stage, use.cause) for use in list_uses(kb, record)][:1] == [("matured", "told (×1)")]
    stages = [event.stage for event in kb.history(record.id, scope=record.scope)]
    assert stages == ["seeded", "dormant", "matured"], "told on the day it was written, but not before"


@pytest.mark.parametrize("word", ["yesterday", "昨天"])
def test_yesterday_is_one_day(root: Path, tmp_path: Path, word: str) -> None:
    for number, ago in enumerate((2, 1, 0)):
        with KnowledgeBase(str(root), os.environ, lambda ago=ago: time.time() - 86_400 * ago) as kb:  # type: ignore[misc]
            kb.save_session(transcript(tmp_path / f"{number}.jsonl", "好的。"), session=f"{number}-session")
    listed = run(root, "session", "list", "--since", word).out
    assert listed.count("\n") == 1 and "1-sessio" in listed


def test_saving_leaves_with_the_code_of_its_verdicts(root: Path, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", PASSING)
    assert run(root, "session", "save", "--transcript", path).code == 3
    path = transcript(tmp_path / "u.jsonl", ZH)
    assert run(root, "session", "save", "--json", "--transcript", path).code == 0


WISHES = ("From now on use tabs.", "记住，金额用分。")


@pytest.mark.parametrize("wish", WISHES)
def test_a_short_wish_of_a_person_is_written(kb: KnowledgeBase, tmp_path: Path, wish: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "Implement the order service.") + said("user", wish), encoding="utf-8")
    saved = kb.save_session(str(path), session="s-1", folder=str(tmp_path))
    assert [verdict.verdict for verdict in saved.verdicts] == ["created"]


def test_what_is_refused_from_a_session_is_counted_and_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "记住：就用这个方案。") + said("user", "From now on use that one."), encoding="utf-8")
    saved = kb.save_session(str(path), session="s-1", folder=str(tmp_path))
    refused = [verdict.title for verdict in saved.verdicts if verdict.verdict == "refused"]
    assert len(refused) == 2 and [one.title for one in list_refusals(kb)] == refused
    assert f"refused in sessions of the last 7 days: {len(refused)}" in run(Path(kb.root), "inbox").error
    told = run(Path(kb.root), "digest", "--since", "2026-01-01")
    assert f"Refused in sessions ({len(refused)})" in told.out and refused[0] in told.out
    assert list_refusals(kb, kb.now() + 1) == []


def test_what_sounds_like_a_decision_and_is_not_kept_is_counted(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    unkept = [
        "Don't touch the vendor folder.",
        "We decided to use one host for now.",
        "以后都用真实数据库吗？",
        "别用 AI。",
    ]
    texts = [*unkept, "From now on use tabs.", "Please fix the footer."]
    path.write_text("".join(said("user", text) for text in texts), encoding="utf-8")
    kb.save_session(str(path), session="s-1", folder=str(tmp_path))
    listed = run(Path(kb.root), "inbox", "--seen")
    assert [text for text in texts if text in listed.out] == unkept, "what was kept or asks for work is not listed"
    assert "Don't touch the vendor folder.  (no reason given, and about one case only)" in listed.out
    assert "We decided to use one host for now.  (a plan, a guess, or true for now only)" in listed.out
    assert "held: 0, refused: 0, passed over: 4" in listed.error
    assert "passed over in sessions of the last 7 days: 4" in run(Path(kb.root), "inbox").error
    assert "Not kept in sessions (4)" in run(Path(kb.root), "digest", "--since", "2026-01-01").out
    path.write_text(path.read_text("utf-8") + said("user", "Don't touch the docs folder."), encoding="utf-8")
    kb.save_session(str(path), session="s-1", folder=str(tmp_path))
    assert "passed over: 5" in run(Path(kb.root), "inbox", "--seen").error, "of a session that goes on all is kept"
    assert len(json.loads(run(Path(kb.root), "inbox", "--seen", "--json").out)["passed_over"]) == 5


@pytest.mark.parametrize("title", ["Use FastAPI for " + "orders " * 26, "订单服务统一使用队列" * 19])
def test_a_title_of_nearly_200_characters_is_accepted_with_a_remark(kb: KnowledgeBase, title: str) -> None:
    assert 120 < len(title) <= 200
    candidate = Candidate("decision", title.strip(), "So it is.", why="Because.", impact_areas=("architecture",))
    [verdict] = kb.write([candidate])
    assert verdict.verdict == "created" and any("title has" in reason for reason in verdict.reasons)


def test_a_record_bears_fruit_only_where_it_was_used(kb: KnowledgeBase, tmp_path: Path) -> None:
    places = {}
    for number, project in enumerate(("shop", "payments")):
        (tmp_path / project).mkdir()
        git(tmp_path / project, "init", "-q")
        places[project] = str(tmp_path / project)
        path = transcript(tmp_path / f"{project}.jsonl", ZH)
        kb.save_session(path, session=f"{number}-makes", folder=places[project])
    shop, payments = sorted(kb.records(), key=lambda record: record.scope, reverse=True)
    assert (shop.id, payments.id) == ("D001", "D001") and shop.scope != payments.scope
    assert list_uses(kb, shop) == list_uses(kb, payments) == [], (
        "who wrote it has not used it, and each project means its own"
    )
    kb.save_session(transcript(tmp_path / "u.jsonl", "This follows [D001]."), session="9-uses", folder=places["shop"])
    assert [(use.stage, use.cause) for use in list_uses(kb, shop)] == [("fruited", "used (×1)")]
    assert list_uses(kb, payments) == []
    assert kb.history("D001", scope=shop.scope)[0].stage == "seeded"


def test_what_is_seen_and_not_kept_is_in_the_report(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = transcript(
        tmp_path / "t.jsonl", "看一下订单", "[D] 框架", "以后试试 Redis", "[D] 先临时注释掉支付的校验，因为今天要演示"
    )
    saved = kb.save_session(path, session="s1", folder=str(tmp_path))
    rows = archived(kb, saved.archive, "shi-result.json")["anchors_skipped"]
    found = {row["title"]: row["reason"] for row in rows}
    assert found["[D] 框架"] == "too short to be meaningful"
    assert found["先临时注释掉支付的校验"] == "it applies to this session only"
    assert kb.records() == []
