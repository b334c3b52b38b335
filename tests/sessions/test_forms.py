"""The compact form, always below 500 字, and the two reports of the archive."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb.records.candidate import build_candidates
from kb.records.model import Candidate, Evidence, SimilarRecord, Verdict
from kb.sessions import forms
from kb.sessions.forms import SECTIONS, TITLES
from kb.sessions.handed_text import find_task
from kb.sessions.progress import find_progress
from kb.sessions.render_forms import build_hui_output, build_shi_result, render_template
from kb.sessions.trackers import SessionProgress, list_commits, read_task_list
from kb.sessions.transcript import ToolCall, ToolResult, Transcript, TranscriptMessage
from kb.text.segment import count_words

TEMPLATES = Path(kb.__file__).parent / "templates"


def writer(form: str, language: str) -> forms.Write:
    """Return what fills the built-in template of *form*."""
    source = (TEMPLATES / language / f"{form}.md").read_text(encoding="utf-8")
    return lambda values: render_template(source, values, form)


def compact(
    transcript: Transcript,
    *,
    language: str = "en",
    candidates: Sequence[Candidate] = (),
    anchors: Sequence[str] = (),
    limit: int = forms.LIMIT,
) -> str:
    known = forms.FormFacts(tuple(candidates))
    write = writer("compact", language)
    return forms.render_compact(transcript, known, anchors, write, language=language, limit=limit)


def human(line: int, text: str) -> TranscriptMessage:
    return TranscriptMessage(line, "", "user", "human", (text,))


def agent(line: int, text: str = "", *calls: ToolCall) -> TranscriptMessage:
    return TranscriptMessage(line, "", "assistant", "agent", (text,) if text else (), calls)


def todo(line: int, **states: str) -> TranscriptMessage:
    items = [{"content": content.replace("_", " "), "status": status} for content, status in states.items()]
    return agent(line, "", ToolCall(f"t{line}", "TodoWrite", {"todos": items}, line))


FULL = Transcript(
    messages=(
        human(1, "给订单服务加上退款接口。要有测试。"),
        todo(2, 设计接口="pending", 写测试="pending"),
        todo(3, 设计接口="completed", 写测试="in_progress", 更新文档="pending"),
    ),
    session_id="s-1",
    cwd="/home/me/shop",
)
CANDIDATES = (
    Candidate("decision", "退款走异步队列", why="银行接口慢", evidence=(Evidence("引用"),)),
    Candidate("constraint", "退款窗口 90 天"),
    Candidate("pitfall", "重复回调会退两次款"),
    Candidate("interface", "POST /refunds"),
)

GOLDEN_ZH = """## 🔸 缩形态上下文

【任务】给订单服务加上退款接口。要有测试。

【已决策】
- 退款走异步队列 (原因: 银行接口慢)
- POST /refunds

【约束】
- 退款窗口 90 天
- 重复回调会退两次款

【当前进度】
- 已完成: 设计接口
- 进行中: 写测试
- 待处理: 更新文档
- 下一步: 写测试; 更新文档

【锚点引用】
- [D001] 金额用整数分
- [shop:D002]
"""

GOLDEN_EN = """## 🔸 Compact context

【Task】 Fix the [flaky] login test | then: and run it twice

【Decided】
- none

【Constraints】
- none

【Progress】
- Done: none
- In progress: and run it twice
- To do: none
- Next: and run it twice

【Anchors】
- none
"""


def test_the_compact_form_has_the_headings_of_the_format_and_what_was_done() -> None:
    anchors = ("[D001] 金额用整数分", "[shop:D002]")
    assert compact(FULL, anchors=anchors, candidates=CANDIDATES, language="zh") == GOLDEN_ZH


def test_in_english_the_headings_are_english_and_brackets_cannot_forge_them() -> None:
    transcript = Transcript((human(1, "Fix the 【flaky】\nlogin test"), human(2, "and run it twice")))
    assert compact(transcript, language="en") == GOLDEN_EN


def test_what_matters_most_is_kept_when_there_is_little_room() -> None:
    many = [
        Candidate(kind, f"{kind} 第{n}条 " + "很长的说明" * 6) for kind in ("decision", "constraint") for n in range(20)
    ]
    transcript = Transcript(
        (human(1, "任务" * 300), todo(2, **{f"完成{n}" + "事" * 40: "completed" for n in range(20)}))
    )
    anchors = [f"[D{n:03}]" for n in range(50)]
    form = compact(transcript, anchors=anchors, candidates=many, language="zh")
    assert 400 < count_words(form) < 500
    assert form.count("constraint 第") == 6
    assert "任务任务" in form and "decision 第19条" in form and "decision 第0条" not in form
    assert "; … 另有 19 项" in form and re.search(r"\[D00\d\]\n- … 另有 4\d 项", form)
    small = compact(transcript, anchors=anchors, candidates=many, language="zh", limit=120)
    assert count_words(small) <= 120 and "任务任务" in small
    assert small.count("constraint 第") > small.count("decision 第")


@pytest.mark.parametrize(("language", "none"), [("en", "none"), ("zh", "无")])
@pytest.mark.parametrize("limit", [60, 80, 120, 200, 499])
def test_no_part_says_none_where_something_was_cut(language: str, none: str, limit: int) -> None:
    many = [
        Candidate(kind, f"{kind} {n} " + "很长的说明" * 6) for kind in ("decision", "constraint") for n in range(14)
    ]
    states = {"completed": 9, "in_progress": 2, "pending": 3}
    todos = {f"事情{state}{n}" * 4: state for state, number in states.items() for n in range(number)}
    transcript = Transcript((human(1, "任务" * 300), todo(2, **todos)))
    form = compact(transcript, anchors=["[D001]"], candidates=many, language=language, limit=limit)
    assert count_words(form) <= limit and none not in form
    if limit == 499:
        assert "decision 13 " in form and "decision 0 " not in form, "the newest are kept"
        assert re.search(r"\n- … (?:另有 )?\d+ (?:more|项)\n", form)
        assert "事情in progress0" in form and "事情pending0" in form, "what is under way and open is told too"


def bash(line: int, command: str, error: bool = False) -> tuple[TranscriptMessage, TranscriptMessage]:
    call = agent(line, "", ToolCall(f"b{line}", "Bash", {"command": command}, line))
    return call, TranscriptMessage(line, "", "user", "tool", (), (), (ToolResult(f"b{line}", "ok", error, line),))


@pytest.mark.parametrize(
    "command",
    ['git commit -m "Add refunds"', 'git commit -am "Add refunds"', "git add . && git commit -qm 'Add refunds'",
     'git commit --message="Add refunds"', "git commit -q -a -m \"$(cat <<'EOF'\nAdd refunds\n\nMore.\nEOF\n)\""],
)  # fmt: skip
def test_a_commit_counts_as_done_however_it_is_spelt(command: str) -> None:
    assert list_commits(Transcript((human(1, "Add refunds."), *bash(2, command)))) == ["Add refunds"]
    assert list_commits(Transcript((human(1, "Add refunds."), *bash(2, command, error=True)))) == []


@pytest.mark.parametrize(
    ("step", "after", "is_open"),
    [
        ("Next step: write the webhook tests.", 'git commit -am "Write webhook tests"', False),
        ("Next step: write the webhook tests.", 'git commit -am "Fix the typo"', True),
        ("下一步：补充退款接口文档。", 'git commit -m "补充退款接口文档"', False),
        ("下一步：补充退款接口文档。", "ls", True),
    ],
)
def test_a_next_step_that_was_done_later_is_not_pending(step: str, after: str, is_open: bool) -> None:
    messages = (human(1, "Add refunds to the shop."), agent(2, step), *bash(3, after), agent(4, "All fine."))
    now = find_progress(Transcript(messages))
    assert any(row.rstrip(".。") in step for row in now.open) is is_open
    assert ("the last commits are not pushed" in now.open) is ("commit" in after)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("明白。下一步：给 worker 加重试。", "给 worker 加重试"),
        ("Noted. Next: add retries to it.", "add retries to it"),
    ],
)
def test_a_next_step_is_neither_done_nor_progress(said: str, left: str) -> None:
    """A person who resumes would skip what “done” names."""
    transcript = Transcript(
        (human(1, "Add the queue to the shop."), agent(2, "The queue is in place now."), agent(3, said))
    )
    now = find_progress(transcript)
    assert [row.rstrip(".") for row in now.next] == [left] and not any(left in row for row in now.done)
    form = forms.render_normal(transcript, forms.FormFacts(), (), writer("normal", "en"))
    assert "- progress: The queue is in place now" in form and f"; {left}" not in form


def test_a_farewell_is_nothing_under_way_and_a_greeting_no_task() -> None:
    transcript = Transcript((human(1, "早。给订单加退款。"), human(2, "今天先到这里，谢谢！明天继续做 webhook。")))
    now = find_progress(transcript)
    assert find_task(transcript) == "给订单加退款。" and now.doing == () and now.open == ("明天继续做 webhook",)
    assert find_task(Transcript((human(1, "Hi! Port the parser."),))) == "Port the parser."


@pytest.mark.parametrize("farewell", ["今天先到这里，谢谢！", "That's it for today, the webhook tomorrow."])
def test_the_goal_of_the_normal_form_is_no_farewell(farewell: str) -> None:
    transcript = Transcript((human(1, "早。给订单加退款。"), human(2, "再给退款接口加上幂等键。"), human(3, farewell)))
    form = forms.render_normal(transcript, forms.FormFacts(), (), writer("normal", "en"))
    assert "- goal: 再给退款接口加上幂等键。" in form


def failing(line: int, name: str, given: dict[str, Any], error: str, *, failed: bool = True) -> list[TranscriptMessage]:
    call, result = ToolCall(f"c{line}", name, given, line), ToolResult(f"c{line}", error, failed, line + 1)
    return [agent(line, "", call), TranscriptMessage(line + 1, "", "user", "tool", (), (), (result,))]


def test_the_focus_of_the_normal_form_tells_no_noise() -> None:
    said = Transcript((
        human(1, "Split the ledger export into two jobs."),
        agent(2, "I'll stream the rows through a generator so that no job holds the whole ledger."),
        *failing(3, "Read", {"file_path": "src/gone.py"}, "File does not exist."),
        *failing(5, "Bash", {"command": "git push 2>&1"}, "fatal: no upstream branch"),
        *failing(7, "Bash", {"command": "git push -u origin x"}, "done", failed=False),
        *failing(9, "Bash", {"command": "make migrate"}, "error: relation ledger is locked"),
        agent(11, "Let me also verify the final project structure."),
        human(12, "/compact and continue with the remaining tasks"),
    ))  # fmt: skip
    text = forms.render_normal(said, forms.FormFacts(), (), writer("normal", "en"))
    focus = text.partition("### Focus")[2].partition("###")[0]
    assert "goal: Split the ledger export" in focus and "generator" in focus and "relation ledger is locked" in focus
    assert "verify" not in focus and "upstream" not in focus and "gone.py" not in focus and "continue" not in focus


def test_problems_read_from_what_was_seen_to_its_cause() -> None:
    title, seen, cause = "Run it in assets/", "`node build.js`: could not resolve", "The entry is relative"
    one = Candidate("pitfall", title, seen, why=cause, verification="`cd assets && node build.js`")
    form = forms.render_expanded(Transcript(), forms.FormFacts((one,)), (), writer("expanded", "en"))
    assert "`node build.js`: could not resolve: The entry is relative → `cd assets && node build.js`" in form
    assert "(open)" not in form


def test_a_failure_that_a_pitfall_tells_is_told_once() -> None:
    one = Candidate(
        "pitfall", "Title", "`make check`: no module pika", why="It is not installed", verification="`make check`"
    )
    messages = (*failing(1, "Bash", {"command": "make check"}, "no module pika"),
                *failing(3, "Bash", {"command": "make docs"}, "no module sphinx"))  # fmt: skip
    form = forms.render_expanded(Transcript(messages), forms.FormFacts((one,)), (), writer("expanded", "en"))
    problems = form.partition("### Problems")[2].partition("### Preferences")[0]
    assert problems.count("no module pika") == 1 and "- Bash make docs: no module sphinx (open)" in problems


_WORD = st.sampled_from(
    ["退款", "refund", "a/b.c-d_e", "【约束】", "x" * 300, "很" * 300, "-", "\n", "🔸", "3.14", "## h"]
)
_TEXT = st.lists(_WORD | st.text(max_size=5), max_size=60).map(" ".join)
_TODOS = st.lists(
    st.tuples(_TEXT, st.sampled_from(["completed", "in_progress", "pending", "odd", ""])), max_size=8
).map(lambda items: [{"content": text, "status": status} for text, status in items])


@given(
    st.lists(_TEXT, max_size=3),
    _TODOS | st.none() | st.just([3, {"content": 4}]),
    st.lists(st.tuples(st.sampled_from(["decision", "constraint", "pitfall", "pattern"]), _TEXT, _TEXT), max_size=8),
    st.lists(_TEXT, max_size=6),
    st.sampled_from(["zh", "en"]),
    st.integers(60, 499),
)
def test_the_compact_form_never_exceeds_its_limit(
    prompts: list[str],
    todos: Any,
    marks: list[tuple[str, str, str]],
    anchors: list[str],
    language: str,
    limit: int,
) -> None:
    messages = [human(n, text) for n, text in enumerate(prompts, 1)]
    messages.append(agent(9, "说完了。" + "".join(prompts), ToolCall("t", "TodoWrite", {"todos": todos}, 9)))
    form = compact(
        Transcript(tuple(messages)),
        anchors=[f"[{name}]" for name in anchors],
        candidates=[Candidate(kind, title, why=why) for kind, title, why in marks],
        language=language,
        limit=limit,
    )
    assert count_words(form) <= limit < 500
    speech = 0 if language == "zh" else 1
    for heading in (TITLES["compact"][speech], *(spoken[speech] for spoken in SECTIONS["compact"])):
        assert form.count(heading) == 1


def test_progress_follows_the_task_tools_too() -> None:
    def call(number: int, name: str, **given: object) -> ToolCall:
        return ToolCall(f"c{number}", name, given, number)

    created = TranscriptMessage(2, "", "user", "tool", (), (), (ToolResult("c1", "Task #7 created: 写迁移", False, 2),))
    messages = (
        agent(1, "", call(1, "TaskCreate", subject="写迁移"), call(2, "TaskCreate", subject="run it")),
        created,
        agent(3, "", call(3, "TaskUpdate", taskId="7", status="completed"), call(4, "TaskUpdate", taskId="99")),
        agent(4, "", call(5, "TaskUpdate", taskId=2, status="in_progress", subject="run it twice")),
        agent(5, "", call(6, "TaskCreate", subject="check"), call(7, "TaskUpdate", taskId="3", status="deleted")),
    )
    assert read_task_list(Transcript(messages)) == SessionProgress(("写迁移",), ("run it twice",), ())
    assert read_task_list(FULL) == SessionProgress(("设计接口",), ("写测试",), ("更新文档",))
    assert read_task_list(Transcript()) == SessionProgress()


@pytest.mark.parametrize(
    ("messages", "task"),
    [
        ((human(1, "hi"), human(2, "port the parser to Rust")), "port the parser to Rust"),
        ((human(1, "继续"),), "继续"),
        (
            (TranscriptMessage(1, "", "user", "wrapper", ("<command-args>review the branch</command-args>",)),),
            "review the branch",
        ),
        ((TranscriptMessage(1, "", "user", "delegated", ("Explore the code",)),), "Explore the code"),
        ((), ""),
    ],
)
def test_the_task_is_the_first_prompt_that_says_something(messages: tuple[TranscriptMessage, ...], task: str) -> None:
    assert find_task(Transcript(messages)) == task


def test_hui_output_holds_the_whole_extraction() -> None:
    report = build_hui_output(
        FULL, candidates=CANDIDATES, compact_md="# compact", timestamp="2026-03-01T10:00:00Z", project_path="/p"
    )
    assert list(report) == ["version", "timestamp", "session_id", "project_path", "context", "anchors"]
    context = report["context"]
    assert list(context) == [
        "task", "decisions", "constraints", "interfaces", "problems", "progress", "compact_md",
    ]  # fmt: skip
    assert context["decisions"] == [{"title": "退款走异步队列", "content": "", "reason": "银行接口慢"}]
    assert [len(context[key]) for key in ("constraints", "interfaces", "problems")] == [1, 1, 1]
    assert context["progress"] == {"done": ["设计接口"], "in_progress": ["写测试"], "pending": ["更新文档"]}
    assert (report["project_path"], report["timestamp"], context["compact_md"]) == (
        "/p",
        "2026-03-01T10:00:00Z",
        "# compact",
    )
    assert build_candidates(json.loads(json.dumps(report))["anchors"]) == list(CANDIDATES)
    # without a task list too it says what the compact form does
    talk = Transcript((human(1, "Add the queue."), agent(2, "The queue is in place now. Next: add retries to it.")))
    report = build_hui_output(talk, candidates=(), compact_md="", timestamp="")
    assert report["context"]["progress"] == {
        "done": ["The queue is in place now"], "in_progress": [], "pending": ["add retries to it"],
    }  # fmt: skip
    assert build_hui_output(FULL, candidates=(), compact_md="", timestamp="")["project_path"] == "/home/me/shop"


def test_shi_result_reports_every_verdict_once() -> None:
    verdicts = (
        Verdict("created", "一", "decision", id="D001"),
        Verdict("refused", "二", "decision", reasons=("temporary", "vague")),
        Verdict("appended", "三", "decision", id="D002"),
        Verdict("updated", "四", "decision", id="D003"),
        Verdict("unchanged", "五", "decision", id="D004"),
        Verdict("held", "六", "decision", reasons=("seen once",)),
        Verdict("conflict", "七", "decision", id="D005", branch="kb/review/D005-x",
                similar=(SimilarRecord("D001", "global", "一", 0.9),)),
        Verdict("created", "八", "pitfall", id="P001", spooled=True),
        Verdict("novel", "九", "decision"),
    )  # fmt: skip
    report = build_shi_result(verdicts, errors=["disk full"])
    assert report["anchors_written"] == [
        {"candidate_id": "1", "new_id": "D001", "type": "decision", "title": "一"},
        {"candidate_id": "8", "new_id": "P001", "type": "pitfall", "title": "八", "spooled": True},
    ]
    assert report["anchors_skipped"] == [{"id": "2", "title": "二", "reason": "temporary; vague"}]
    assert [(entry["id"], entry["existing_id"]) for entry in report["anchors_merged"]] == [("3", "D002"), ("4", "D003")]
    assert report["anchors_duplicated"] == [{"id": "5", "existing_id": "D004", "title": "五"}]
    assert report["anchors_held"] == [{"id": "6", "title": "六", "reason": "seen once"}]
    [conflict] = report["anchors_conflict"]
    assert (conflict["new_id"], conflict["existing_id"], conflict["branch"]) == ("D005", "D001", "kb/review/D005-x")
    assert report["errors"] == [{"id": "9", "title": "九", "error": "novel"}, {"error": "disk full"}]


def test_room_that_is_left_goes_to_longer_entries_and_to_more_of_them() -> None:
    asked = "Split the ledger in two. " + " ".join(
        f"Then move part {n} to its own table and test it." for n in range(30)
    )
    small = compact(Transcript((human(1, asked),)), limit=200)
    large = compact(Transcript((human(1, asked),)))
    assert count_words(small) <= 200 < count_words(large) <= forms.LIMIT and "part 9" in large and "part 9" not in small
    many = [human(n, f"Please fix the bug number {n} of the parser.") for n in range(1, 11)]
    assert all(f"number {n} " in compact(Transcript(tuple(many))) for n in range(1, 11))


def test_of_many_tasks_questions_between_the_first_and_the_last_go_first() -> None:
    many = [
        human(n, f"{'What is' if n % 2 else 'Please fix'} the bug number {n} of the parser" + "?" * (n % 2))
        for n in range(1, 13)
    ]
    shown = compact(Transcript(tuple(many)), limit=160)
    assert "number 2 " in shown and "number 4 " in shown and "number 3 " not in shown
