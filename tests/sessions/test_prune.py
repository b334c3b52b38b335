"""Pruning: what goes, what stays, and that nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.i18n import msg
from kb.sessions import prune
from kb.sessions.dcp_report import explain_plan, fold_ids, format_report
from kb.sessions.dcp_settings import DcpSettings
from kb.sessions.host_records import parse_line
from kb.sessions.prune import PrunePlan, build_plan, prune_lines, prune_messages
from kb.sessions.prune_strategies import compute_max_output, shorten_output
from kb.sessions.transcript import Transcript, parse_records
from kb.sessions.usage import ContextUsage
from kb.text.segment import estimate_tokens
from tests.support.sessions import Session, numbered
from tests.support.timing import within

BODY = "\n".join(f"def handler_{n}(event): return retry(event, times={n})" for n in range(40))
EVERYTHING = DcpSettings(protected_patterns=())


def heard(session: Session) -> Transcript:
    return parse_records(map(parse_line, session.data().split(b"\n")))


def planned(session: Session, wanted: DcpSettings = EVERYTHING, used: int = 100_000, **more: Any) -> PrunePlan:
    return build_plan(heard(session), wanted, ContextUsage(used), **more)


def pruned(session: Session, wanted: DcpSettings = EVERYTHING) -> list[bytes]:
    return list(prune_lines(session.data().split(b"\n"), planned(session, wanted).cuts))


def output(row: bytes) -> str:
    return str(json.loads(row)["message"]["content"][0]["content"])


# -- repeated calls --------------------------------------------------------------------------------


def test_of_a_repeated_call_only_the_newest_answer_stays() -> None:
    session = Session()
    for _ in range(3):
        session.read("/w/app.py", numbered(BODY))
    session.idle(10)
    cuts = planned(session).cuts
    assert [(cut.strategy, cut.step) for cut in cuts] == [("dedup", 1), ("dedup", 2)]
    rows = pruned(session)
    assert output(rows[2]) == output(rows[4]) == "[kb: same call below]"
    assert output(rows[6]) == numbered(BODY)


def test_other_lines_of_a_file_are_no_repetition() -> None:
    session = Session()
    session.read("/w/app.py", numbered(BODY), offset=1, limit=40)
    session.read("/w/app.py", numbered(BODY, 41), offset=41, limit=40)
    session.idle(10)
    assert planned(session).cuts == ()


def test_a_read_that_a_newer_one_holds_whole_goes() -> None:
    session = Session()
    session.read("/w/app.py", "\n".join(numbered(BODY).splitlines()[4:20]), offset=5, limit=16)
    session.read("/w/app.py", numbered(BODY))
    session.idle(10)
    assert [cut.why for cut in planned(session).cuts] == ["covered"]
    assert planned(session, EVERYTHING._replace(covered_reads=False)).cuts == ()


def test_a_read_stays_when_the_file_was_changed_before_the_newer_one() -> None:
    session = Session()
    session.read("/w/app.py", "\n".join(numbered(BODY).splitlines()[4:20]), offset=5, limit=16)
    session.call("Edit", file_path="/w/app.py", old_string="handler_7", new_string="on_7")
    session.read("/w/app.py", numbered(BODY.replace("handler_7", "on_7")))
    session.idle(10)
    assert planned(session).cuts == ()


def test_a_failed_repetition_does_not_take_the_place_of_an_answer() -> None:
    session = Session()
    session.read("/w/app.py", numbered(BODY))
    session.call("Read", "File does not exist.", fails=True, file_path="/w/app.py")
    session.idle(10)
    assert [cut.strategy for cut in planned(session).cuts] == []


def test_a_tool_outside_the_scope_is_not_compared() -> None:
    session = Session()
    for _ in range(2):
        session.call("Bash", BODY, command="make test")
    session.idle(10)
    assert planned(session).cuts == ()
    assert len(planned(session, EVERYTHING._replace(dedup_scope=("Bash",))).cuts) == 1


def test_the_order_of_the_arguments_does_not_matter() -> None:
    session = Session()
    session.call("Grep", BODY, pattern="retry", path="/w")
    session.call("Grep", BODY, path="/w", pattern="retry")
    session.idle(10)
    assert len(planned(session).cuts) == 1


def test_an_answer_that_holds_a_picture_stays() -> None:
    picture = [{"type": "image", "source": {"data": "A" * 4000}}]
    session = Session()
    session.call("Read", picture, file_path="/w/a.png")
    session.call("Read", picture, file_path="/w/a.png")
    session.idle(10)
    assert planned(session).cuts == ()


# -- writes and failures ---------------------------------------------------------------------------


def test_a_write_goes_when_the_whole_file_is_read_later_and_keeps_its_path() -> None:
    session = Session()
    session.call("Write", file_path="/w/app.py", content=BODY)
    session.read("/w/app.py", numbered(BODY))
    session.idle(10)
    assert [cut.strategy for cut in planned(session).cuts] == ["supersede"]
    call = json.loads(pruned(session)[1])["message"]["content"][0]
    assert call["input"] == {"file_path": "/w/app.py", "content": "[kb: read again below]"}


@pytest.mark.parametrize("how", ["before", "in part", "another file", "not at all", "in vain"])
def test_a_write_stays_that_no_later_read_shows(how: str) -> None:
    session = Session()
    if how == "before":
        session.read("/w/app.py", "x")
    session.call("Write", file_path="/w/app.py", content=BODY)
    if how == "in part":
        session.read("/w/app.py", numbered(BODY)[:200], offset=1, limit=4)
    if how == "another file":
        session.read("/w/other.py", numbered(BODY))
    if how == "in vain":
        session.call("Read", "File does not exist.", fails=True, file_path="/w/app.py")
    session.idle(10)
    assert not [cut for cut in planned(session).cuts if cut.strategy == "supersede"]


def test_the_input_of_an_old_failure_goes_and_its_message_stays() -> None:
    session = Session()
    session.call("Bash", "Exit code 2: no such table", fails=True, command="sqlite3 x.db <<< '" + "select 1;" * 40,
                 timeout=30, deep={"list": ["w" * 99, 1]})  # fmt: skip
    session.idle(10)
    row, answer = pruned(session)[1:3]
    given = json.loads(row)["message"]["content"][0]["input"]
    assert given == {"command": "[kb: cut]", "timeout": 30, "deep": {"list": ["[kb: cut]", 1]}}
    assert output(answer) == "Exit code 2: no such table"


@pytest.mark.parametrize(("later", "gone"), [(4, 0), (5, 1)])
def test_a_failure_is_old_after_more_than_four_steps(later: int, gone: int) -> None:
    session = Session()
    session.idle(9)
    session.call("Bash", "Exit code 1", fails=True, command="x" * 400)
    session.idle(later)
    assert len(planned(session, EVERYTHING._replace(turn_protection=0)).cuts) == gone


def test_counted_in_prompts_one_long_run_has_nothing_to_purge() -> None:
    session = Session()
    for number in range(12):
        session.call("Bash", f"Exit code {number}", fails=True, command="x" * 400)
    session.idle(8)
    assert len(planned(session).cuts) == 12
    assert planned(session, EVERYTHING._replace(turn_unit="prompt", min_turns=0)).cuts == ()


def test_what_a_person_refused_is_no_failure() -> None:
    session = Session()
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    session.call("Bash", refusal, fails=True, command="rm -rf " + "x" * 400)
    session.idle(10)
    assert planned(session).cuts == ()


# -- protection ------------------------------------------------------------------------------------


def test_the_last_turns_are_not_touched_and_the_report_says_what_they_kept() -> None:
    session = Session()
    session.idle(9)
    session.read("/w/app.py", numbered(BODY))
    session.idle(1)
    session.read("/w/app.py", numbered(BODY))
    made = planned(session)
    assert made.cuts == () and [(kept.by, kept.step) for kept in made.kept] == [("turns", 10)]
    assert len(planned(session, EVERYTHING._replace(turn_protection=2)).cuts) == 1


def test_a_file_protected_by_its_name_stays() -> None:
    session = Session()
    for _ in range(2):
        session.read("/w/docs/README.md", numbered(BODY))
    session.idle(10)
    made = planned(session, DcpSettings())
    assert made.cuts == () and [kept.by for kept in made.kept] == ["patterns"]
    assert made.protected == ("/w/docs/README.md",) and 0 < made.protected_tokens <= made.tool_tokens


def test_the_paragraph_that_cites_an_anchor_stays_and_not_the_whole_answer() -> None:
    text = BODY + "\n\nRefunds go through the queue, see [D001].\nThat holds for all of them.\n\n" + BODY
    session = Session()
    session.call("Grep", text, pattern="x")
    session.call("Grep", BODY, pattern="x")
    session.idle(10)
    kept = output(pruned(session)[2])
    first, *rest = kept.splitlines()
    assert first == "[kb: same call below]"
    assert rest == ["Refunds go through the queue, see [D001].", "That holds for all of them."]
    assert "[D001]" in planned(session).anchors or planned(session).anchors == ("D001",)


def test_a_listing_that_names_an_anchor_once_keeps_a_few_lines_of_it() -> None:
    listing = "\n".join(f"src/file_{n}.py: matches here" for n in range(2000)) + "\nsrc/queue.py: # [C002] no retries"
    session = Session()
    session.call("Grep", listing + "\nmore", pattern="x")
    session.call("Grep", "nothing", pattern="x")
    session.idle(10)
    kept = output(pruned(session)[2])
    assert "[C002]" in kept and len(kept.splitlines()) < 9


def test_what_the_newer_answer_says_as_well_is_not_kept_twice() -> None:
    text = BODY + "\n\nsee [D001]"
    session = Session()
    session.call("Grep", text, pattern="x")
    session.call("Grep", text, pattern="x")
    session.idle(10)
    assert output(pruned(session)[2]) == "[kb: same call below]"


def test_which_anchors_protect_is_a_setting() -> None:
    session = Session()
    session.call("Grep", BODY + "\n\nsee [P001]", pattern="x")
    session.call("Grep", BODY, pattern="x")
    session.idle(10)
    assert "[P001]" not in output(pruned(session)[2])
    assert "[P001]" in output(pruned(session, EVERYTHING._replace(anchor_prefixes=("P",)))[2])
    without = EVERYTHING._replace(anchor_prefixes=("P",), anchor_protection=False)
    assert "[P001]" not in output(pruned(session, without)[2])


# -- long results ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "most"), [(200_000, 50_000), (60_000, 30_000), (1, 0), (0, 0)])
def test_a_result_gets_half_of_the_room_and_at_most_50000_tokens(left: int, most: int) -> None:
    assert compute_max_output(left, DcpSettings()) == most


NOTE = 24
"""The most tokens of the notice that stands for a text without room."""


def test_without_room_a_long_result_becomes_a_notice() -> None:
    assert (
        shorten_output("x" * 4000, 0)
        == f"[kb: {estimate_tokens('x' * 4000)} tokens left out: no room is left; search for less]"
    )


@given(st.text(alphabet="ab /中\n.:[]kb", max_size=600), st.integers(0, 200), st.integers(0, 20))
def test_a_shortened_text_fits_and_is_shortened_once(text: str, most: int, rows: int) -> None:
    short = shorten_output(text, most, rows=rows, words=["ab"])
    assert short == text or estimate_tokens(short) <= max(most, NOTE)
    assert shorten_output(short, max(most, NOTE), rows=rows, words=["ab"]) == short


def test_the_best_matches_the_newest_files_and_what_cites_anchors_are_kept() -> None:
    paths = [f"/w/src/other_{n}.py" for n in range(300)]
    paths[150], paths[290] = "/w/src/webhook_retry.py", "/w/src/fresh.py"
    paths[10] += ": see [D001]"
    short = shorten_output("\n".join(paths), 10_000, rows=5, words=["the webhook retry is broken"],
                      changed={"/w/src/fresh.py": 1000.0}, now=1000.0, keep=lambda row: "[D001]" in row)  # fmt: skip
    lines = short.splitlines()
    assert paths[10] in lines and paths[150] in lines and paths[290] in lines
    assert lines[-1] == "[kb: 295 of 300 lines left out]" and len(lines) == 6
    assert lines[:-1] == [path for path in paths if path in lines]


def test_a_long_search_is_shortened_when_the_context_is_nearly_full() -> None:
    session = Session()
    session.call("Grep", "\n".join(f"src/f{n}.py:1:match" for n in range(2000)), pattern="match")
    session.call("Glob", "\n".join(f"/w/f{n}.py" for n in range(500)), pattern="**")
    session.idle(10)
    made = planned(session, used=190_000)
    assert [cut.strategy for cut in made.cuts] == ["truncate", "truncate"]
    assert all(cut.left <= 5000 for cut in made.cuts)
    assert [cut.what for cut in planned(session, used=0).cuts] == ["Glob **"]


# -- what a plan says ------------------------------------------------------------------------------


def test_a_short_session_is_left_alone_and_told_why() -> None:
    session = Session()
    for _ in range(4):
        session.read("/w/app.py", numbered(BODY))
    made = planned(session)
    assert made.cuts == () and made.idle is not None
    assert "4 turns" in explain_plan(made, "en") and "4 轮" in explain_plan(made, "zh")


def test_a_strategy_can_be_switched_off_or_used_alone() -> None:
    session = mixed()
    assert {cut.strategy for cut in planned(session).cuts} == {"dedup", "supersede", "errors"}
    assert {cut.strategy for cut in planned(session, only=("errors",)).cuts} == {"errors"}
    assert {cut.strategy for cut in planned(session, EVERYTHING._replace(deduplication=False)).cuts} == {
        "supersede", "errors",
    }  # fmt: skip
    assert planned(session, EVERYTHING._replace(enabled=False)).cuts == ()


def mixed() -> Session:
    session = Session()
    session.call("Write", file_path="/w/b.py", content=BODY)
    session.call("Bash", "Exit code 1", fails=True, command="x" * 400)
    for _ in range(3):
        session.read("/w/app.py", numbered(BODY))
    session.read("/w/b.py", numbered(BODY))
    session.idle(10)
    return session


def test_the_figures_of_the_report_are_sums_of_its_cuts() -> None:
    made = planned(mixed(), used=174_000)
    text = format_report(made, when="2026-11-21 10:00:00", trigger=msg("context use {percent}%", percent="87"),
                  protected_turns=4, language="zh")  # fmt: skip
    saved = {name: sum(c.removed - c.left for c in made.cuts if c.strategy == name) for name in ("dedup", "supersede")}
    assert "## DCP 执行报告\n\n**执行时间**: 2026-11-21 10:00:00\n**触发原因**: 上下文使用 87%\n" in text
    assert f"| Deduplication | 2 重复读取 | ~{saved['dedup']:,} |" in text
    assert f"| Supersede | 1 过时写入 | ~{saved['supersede']:,} |" in text
    assert f"| **总计** | **4 项** | **~{sum(c.saved_tokens for c in made.cuts):,}** |" in text
    after = round((174_000 - sum(c.saved_tokens for c in made.cuts)) / 2000)
    assert f"- 上下文使用: 87% → {after}%\n- 可继续工作\n" in text


def test_what_was_compacted_away_before_saves_nothing_now() -> None:
    session = mixed()
    boundary = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"postTokens": 30_000}}
    session.rows.append(json.dumps(boundary))
    made = planned(session, used=30_000)
    assert made.saved_tokens > 0 and made.in_context == 0 and made.percent_after == 15


def test_runs_of_ids_are_folded() -> None:
    assert fold_ids(["D003", "D001", "D002", "C007", "C009"]) == "[C007], [C009], [D001]-[D003]"


# -- proposals -------------------------------------------------------------------------------------


def droppable() -> Session:
    session = Session()
    session.call("Grep", "\n".join(f"/w/src/f{n}.py:3:retry" for n in range(40)), pattern="retry")
    session.read("/w/src/f7.py", numbered(BODY))
    session.call("Bash", "Traceback\n" + "  File x\n" * 60, fails=True, command="pytest tests/test_a.py -q -x")
    session.call("Bash", "5 passed", command="pytest tests/test_a.py -q --lf")
    session.step("We decided to use a queue instead of a cron job, because the bank answers late and cron runs twice.")
    session.step("I have checked every one of the handlers again and all of the tests pass, so we can go on from here.")
    session.idle(3)
    session.step("I have checked every one of the handlers again and all of the tests pass, so we can go on from here.")
    session.idle(10)
    return session


def test_what_may_be_dropped_is_told_in_a_table() -> None:
    found = prune.propose_discards(heard(droppable()), EVERYTHING)
    assert [str(one.kind) for one in found] == ["search", "error", "discussion", "confirmation"]
    assert [one.is_safe for one in found] == [True, True, False, True]
    table = prune.format_proposals(found, "zh")
    assert table.startswith("| 内容 | 类型 | 丢弃原因 | 安全? |\n")
    assert "| 讨论 | 已决策 | ⚠️ 创建锚点 |" in table and "| 搜索 | 已找到目标 | ✅ |" in table


@pytest.mark.parametrize(
    ("failed", "later", "is_mended"),
    [
        ("make test", "make test", True),
        ("npm test", "cd /w && npm test", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py", True),
        ("pytest tests/test_a.py", "pytest tests/test_b.py", False),
        ("make test", "make lint", False),
        ("cd /w && make test", "cd /w && make lint", False),
    ],
)
def test_a_short_command_is_mended_by_itself_only(failed: str, later: str, is_mended: bool) -> None:
    session = Session("make it green")
    session.call("Bash", "Traceback\n" + "  File x\n" * 60, fails=True, command=failed)
    session.call("Bash", "5 passed", command=later)
    session.idle(10)
    found = prune.propose_discards(heard(session), EVERYTHING)
    assert [str(one.kind) for one in found] == (["error"] if is_mended else [])


@pytest.mark.parametrize(
    "text",
    [
        "我们决定订单用 PostgreSQL，不采用 MongoDB，因为订单需要跨表的事务，而且团队里没有人维护过文档数据库。",
        "We rejected Kafka and chose RabbitMQ for the events, because the volume is small and nobody has run Kafka.",
    ],
)
def test_an_option_that_was_turned_down_asks_for_an_anchor(text: str) -> None:
    session = Session("choose")
    session.step(text)
    session.idle(10)
    assert [one.is_safe for one in prune.propose_discards(heard(session), EVERYTHING)] == [False]


def test_what_asks_for_an_anchor_first_is_never_dropped() -> None:
    session = droppable()
    found = prune.propose_discards(heard(session), EVERYTHING)
    made = planned(session, more=[one.cut for one in found if one.is_safe])
    rows = list(prune_lines(session.data().split(b"\n"), made.cuts))
    text = b"\n".join(rows).decode()
    assert "instead of a cron job" in text and text.count("I have checked") == 1
    assert output(rows[2]) == "[kb: dropped]" and output(rows[6]).startswith("[kb: dropped] Traceback")


def test_what_cites_an_anchor_or_is_recent_is_not_proposed() -> None:
    session = Session()
    session.step("We decided to use a queue instead of a cron job because the bank is late, as [D004] says, for all.")
    session.idle(10)
    session.step("We decided to use a queue instead of a cron job because the bank answers late and cron runs twice.")
    assert prune.propose_discards(heard(session), EVERYTHING) == []
    assert prune.propose_discards(heard(droppable()), EVERYTHING._replace(discard_enabled=False)) == []


# -- nothing else changes --------------------------------------------------------------------------

PATHS = st.sampled_from(["/w/a.py", "/w/b.py", "/w/notes.md"])
TEXTS = st.sampled_from([numbered(BODY), numbered(BODY)[:900], "short", BODY + "\n\nsee [D001] 决定\n\n" + BODY])
MOVES = st.one_of(
    st.tuples(st.just("read"), PATHS, TEXTS),
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("fail"), PATHS, TEXTS),
    st.tuples(st.just("grep"), PATHS, TEXTS),
    st.tuples(st.just("say"), PATHS, TEXTS),
    st.tuples(st.just("ask"), PATHS, TEXTS),
)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    session = Session()
    for move, path, text in draw(st.lists(MOVES, min_size=8, max_size=30)):
        if move == "read":
            session.read(path, text)
        elif move == "write":
            session.call("Write", file_path=path, content=text)
        elif move == "fail":
            session.call("Read", "Error: " + text[:200], fails=True, file_path=path, why=text)
        elif move == "grep":
            session.call("Grep", [{"type": "text", "text": text}], pattern=path)
        elif move == "say":
            session.step(text)
        else:
            session.ask(text)
    return session


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), st.integers(0, 250_000))
def test_a_pruned_transcript_is_whole_and_pruning_it_again_changes_nothing(session: Session, used: int) -> None:
    found = prune.propose_discards(heard(session), DcpSettings(min_turns=0))
    made = planned(session, DcpSettings(min_turns=0), used, more=[one.cut for one in found if one.is_safe])
    before = session.data().split(b"\n")
    after = list(prune_lines(before, made.cuts))
    touched = {cut.place.line for cut in made.cuts}
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b] == sorted(touched)
    for row, other in zip(map(parse_line, before), map(parse_line, after), strict=True):
        assert shape(row) == shape(other)
    assert made.saved_tokens == sum(cut.removed - cut.left for cut in made.cuts) and all(
        cut.saved_tokens > 0 for cut in made.cuts
    )
    again = parse_records(map(parse_line, after))
    found = prune.propose_discards(again, DcpSettings(min_turns=0))
    second = build_plan(
        again, DcpSettings(min_turns=0), ContextUsage(used), more=[one.cut for one in found if one.is_safe]
    )
    assert list(prune_lines(after, second.cuts)) == after


def shape(record: Any) -> Any:
    """Return what pruning must not change: everything but the inputs, outputs and texts themselves."""
    if record is None:
        return None
    content = record["message"]["content"]
    if isinstance(content, list):
        freed = [{k: v for k, v in block.items() if k not in ("input", "content", "text")} for block in content]
        record = {**record, "message": {**record["message"], "content": freed}}
    return record


@pytest.mark.parametrize(("before", "after"), [(b"\xef\xbb\xbf", b"\r"), (b"  ", b" ")], ids=["bom", "space"])
def test_what_stands_around_a_record_stays(before: bytes, after: bytes) -> None:
    rows = [before + row + after for row in mixed().data().split(b"\n") if row]
    made = build_plan(parse_records(map(parse_line, rows)), EVERYTHING, ContextUsage())
    pruned_rows = list(prune_lines(rows, made.cuts))
    assert len(made.cuts) == 4
    assert all(row.startswith(before + b"{") and row.endswith(b"}" + after) for row in pruned_rows)


def test_half_an_emoji_is_written_as_it_came() -> None:
    session = mixed()
    rows = [row.replace("Exit code 1", r"Exit \ud83d code").encode() for row in session.rows]
    rows[1] = rows[1].replace(b"/w/b.py", rb"/w/\ud83db.py")
    made = build_plan(parse_records(map(parse_line, rows)), EVERYTHING, ContextUsage())
    assert all(json.loads(row) for row in prune_lines(rows, made.cuts))


def test_lines_that_are_no_records_pass_through() -> None:
    rows = [b"", b"{", b"[1]", b"\xff\xfe", b'{"type":"user"}', b'{"type":"assistant","message":7}', *(
        row.encode() for row in mixed().rows)]  # fmt: skip
    made = build_plan(parse_records(map(parse_line, rows)), EVERYTHING, ContextUsage())
    assert len(made.cuts) == 4
    assert list(prune_lines(rows, made.cuts))[:6] == rows[:6]


def test_the_words_of_an_agent_within_the_session_are_not_compared_with_its_own() -> None:
    session = Session()
    session.read("/w/app.py", numbered(BODY))
    aside = Session()
    aside.read("/w/app.py", numbered(BODY))
    session.rows += [row.replace('"isSidechain":false', '"isSidechain":true') for row in aside.rows]
    session.idle(10)
    assert planned(session).cuts == ()


def test_bare_messages_can_be_pruned_too() -> None:
    messages = [json.loads(row)["message"] for row in mixed().rows]
    after, made = prune_messages(messages, EVERYTHING)
    assert len(made.cuts) == 4 and len(after) == len(messages)
    assert sum(a is b for a, b in zip(after, messages, strict=True)) == len(messages) - 4
    assert messages == [json.loads(row)["message"] for row in mixed().rows]


def test_pruning_three_megabytes_takes_little_time() -> None:
    session = Session()
    for number in range(600):
        session.read(f"/w/f{number % 50}.py", numbered(BODY + f"\n# {number % 7}"))
    rows = session.data().split(b"\n")
    assert len(session.data()) > 2_500_000
    with within(1.5):
        made = build_plan(parse_records(map(parse_line, rows)), EVERYTHING, ContextUsage())
        assert len(list(prune_lines(rows, made.cuts))) == len(rows) and made.cuts
