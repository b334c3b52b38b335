"""Where a session stands: its tasks, what is done, open and next, by trackers, by git and by what was said last."""

import json

import pytest

from kb.sessions.handed_text import find_last_tasks, find_task, split_summary
from kb.sessions.progress import find_progress
from kb.sessions.trackers import read_git_state, read_trackers
from kb.sessions.transcript import ToolCall, ToolResult, Transcript, TranscriptMessage, parse_transcript
from tests.sessions.test_forms import agent, human
from tests.sessions.test_heard_words import SUMMARY


def run(line: int, command: str, output: str = "ok", *, failed: bool = False) -> tuple[TranscriptMessage, ...]:
    call = agent(line, "", ToolCall(f"c{line}", "Bash", {"command": command}, line))
    result = ToolResult(f"c{line}", output, failed, line)
    return call, TranscriptMessage(line, "", "user", "tool", results=(result,))


def edit(line: int, path: str) -> TranscriptMessage:
    return agent(line, "", ToolCall(f"e{line}", "Edit", {"file_path": path}, line))


def session(*messages: TranscriptMessage) -> Transcript:
    return Transcript(messages, cwd="/w")


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "Yes, please continue.",
        "ok, go ahead please",
        "go on",
        "yes please do it",
        "好的，继续",
        "继续吧",
        "可以，就这样",
    ],
)
def test_to_let_the_work_go_on_is_no_task(prompt: str) -> None:
    messages = session(human(1, "Split the ledger in two."), human(2, "Then update the docs."), human(3, prompt))
    assert (find_task(messages), find_last_tasks(messages)) == ("Split the ledger in two.", ["Then update the docs."])


def test_a_task_is_named_by_its_command_its_plan_or_its_number() -> None:
    command = "<command-name>/review</command-name><command-args>all of the ledger</command-args>"
    wrapped = TranscriptMessage(1, "", "user", "wrapper", (command,))
    plan = "Implement the following plan:\n\n# Split the ledger in two\n\n" + "Because it is too large for one. " * 9
    listed = agent(3, "Open:\n\n1. Fix the parser\n2. **Rename the** ledger | small")
    made = session(wrapped, human(2, plan), listed, human(4, "2 seems good"), human(5, "看一下。\n\n```\nlog\n```"))
    assert find_task(made) == "/review all of the ledger"
    tasks = ["Implement the following plan: Split the ledger in two", "2 seems good: Rename the ledger", "看一下。"]
    assert find_last_tasks(made) == tasks


@pytest.mark.parametrize(
    "prompt",
    [
        "kb learn next",
        "kb search refunds --kind decision",
        "!kb inbox",
        "mb:write 2",
        "存档一下",
        "修剪",
        "where are we?",
        "现在到哪一步了？",
    ],
)
def test_a_call_of_kb_and_a_question_of_the_status_are_no_tasks(prompt: str) -> None:
    messages = session(human(1, "Split the ledger in two."), human(2, prompt), human(3, "kb is slow, make it fast"))
    assert find_last_tasks(messages) == ["kb is slow, make it fast"]
    assert find_task(session(*messages.messages[1:])) == "kb is slow, make it fast"


@pytest.mark.parametrize(
    ("plan", "said", "later"),
    [
        (
            "The plan:\n1. add the table\n2. move the rows\n3. drop the old one\n4. write the docs\n5. tell ops",
            "ok, but skip step 4",
            ("Step 1 is done, now step 2.", "Steps 1 and 2 are committed; step 3 is not done yet."),
        ),
        (
            "步骤：\n1. add the table\n2. move the rows\n3. drop the old one\n4. write the docs\n5. tell ops",
            "好，第 4 步去掉",
            ("第 1 步完成。", "前两步都完成了，第 3 步写了一半。"),
        ),
    ],
)
def test_the_steps_of_a_plan_that_nobody_called_done_are_open(plan: str, said: str, later: tuple[str, str]) -> None:
    made = find_progress(session(human(1, "Split it."), agent(2, plan), human(3, said), *map(agent, (4, 5), later)))
    assert {"add the table", "move the rows"} <= {*made.done}
    assert [row for row in made.open if row in ("drop the old one", "write the docs", "tell ops")] == [
        "drop the old one",
        "tell ops",
    ]


def test_a_list_that_is_no_plan_or_not_begun_opens_nothing() -> None:
    causes = agent(2, "I found these issues:\n1. a slow query\n2. a missing index\n3. a wrong join")
    plan = agent(2, "Plan:\n1. add a table\n2. move the rows\n3. drop the old one")
    for listed in (causes, plan):
        made = find_progress(
            session(human(1, "Look."), listed, human(3, "Rather fix the login."), agent(4, "Fixed it."))
        )
        assert made.open == ()


def test_trackers_say_what_is_done_and_open() -> None:
    made = read_trackers(
        session(
            *run(1, 'bd create "Split the ledger" -p 1', "Created issue: shop-12"),
            *run(2, "bd create --title='Rename it' -t task", '{"id": "shop-13"}'),
            *run(3, "bd update shop-13 --status in_progress --append-notes 'see shop-99'"),
            *run(4, 'cd /w && bd close shop-12 --reason "done with shop-50, twice"'),
            *run(5, 'gh pr create --title "Split it" --body "x"', "https://github.com/a/b/pull/7"),
            *run(6, "gh issue close 41"),
            *run(7, "gh pr merge 6 --squash"),
            *run(8, "bd close shop-14", "no such issue", failed=True),
        )
    )
    assert made.done == ("shop-12 Split the ledger (closed)", "issue #41 (closed)", "PR #6 (merged)")
    assert made.open == ("PR #7 Split it (open)", "shop-13 Rename it (in_progress)")


def test_git_says_what_is_not_committed_or_pushed() -> None:
    edits = (edit(1, "/w/a.py"), edit(2, "/w/b.py"), edit(3, "/w/a.py"), edit(4, "/elsewhere/c.py"))
    assert read_git_state(session(*edits)).uncommitted == "b.py, a.py"
    committed = session(*edits, *run(5, "git add . && git commit -m x"))
    assert read_git_state(committed)[:3] == ("", True, False)
    offered = "remote: https://github.com/a/b/pull/new/x"
    pushed = session(*committed.messages, *run(6, "git push -u origin x", offered))
    assert read_git_state(pushed)[:4] == ("", False, True, True)
    assert not read_git_state(session(*pushed.messages, *run(7, "gh pr create --fill"))).is_unrequested
    now = find_progress(session(human(0, "Fix the parser now."), *pushed.messages, agent(9, "Pushed the fix.")), "zh")
    assert (now.open, now.next) == (("已推送的分支还没有合并请求",), ("已推送的分支还没有合并请求",))


ANSWER = """Fixed the parser. All 98 tests pass.

The migration is not committed yet. It did not block the run.

Want me to push it and open a pull request?
"""


def test_the_last_answer_says_what_came_out_what_is_open_and_what_it_waits_for() -> None:
    now = find_progress(session(human(1, "Fix the parser now."), agent(2, ANSWER)))
    assert now.done == ("All 98 tests pass", "Fixed the parser")
    assert (now.doing, now.open) == ((), ("The migration is not committed yet",))
    assert now.next == ("Want me to push it and open a pull request?",)
    zh = find_progress(
        session(human(1, "请修复解析器。"), agent(2, "修复了解析器。迁移还没有提交。\n\n你需要重启服务。"))
    )
    assert (zh.done, zh.open, zh.next) == (("修复了解析器",), ("迁移还没有提交",), ("你需要重启服务",))


def test_in_the_middle_of_a_turn_the_announced_step_is_next() -> None:
    said = "Line 113 loads once. I'll fix the hook first. After that I'll push both branches."
    now = find_progress(session(human(1, "Fix the stale list."), agent(2, said), *run(3, "ls src")))
    assert now.next == ("I'll fix the hook first; After that I'll push both branches",)
    assert now.open == ("After that I'll push both branches",)


def test_options_are_the_next_step() -> None:
    now = find_progress(
        session(human(1, "Fix the author."), agent(2, "It cannot be pushed.\n\nOptions:\n1. Bypass it\n2. Leave it\n"))
    )
    assert now.next == ("Bypass it", "Leave it")
    said = "Planned.\n\n## Next up\n\n**Execute phase 14**, all six plans.\n\n`/execute 14`\n"
    assert find_progress(session(human(1, "Plan phase 14."), agent(2, said))).next == (
        "Execute phase 14, all six plans",
    )
    zh = "两种都可以。\n\n我的建议：\n- 把配置提交到仓库\n- 本地只用命令行\n"
    assert find_progress(session(human(1, "要不要本地面板？"), agent(2, zh))).next == (
        "把配置提交到仓库",
        "本地只用命令行",
    )


def test_what_is_merged_needs_no_review() -> None:
    merged = session(
        human(1, "Merge it please now."), *run(2, "git push"), *run(3, "gh pr merge 7 --squash"), agent(4, "Merged it.")
    )
    assert find_progress(merged).next == ()
    assert find_progress(session(*merged.messages[:3], agent(4, "Pushed it."))).next == (
        "see what CI and the review say of what was pushed",
    )


def test_a_plan_that_waits_for_a_person_is_open() -> None:
    call = ToolCall("p", "ExitPlanMode", {"plan": "# Split the ledger in two\n\n1. Move it"}, 3)
    now = find_progress(session(human(1, "Plan the split."), agent(2, "Let me present the plan.", call)))
    assert now.open == ("Split the ledger in two",)
    assert now.next == ("the plan waits for approval: Split the ledger in two",)


def test_the_summary_of_a_compaction_says_what_is_pending_until_the_person_goes_on() -> None:
    summary = TranscriptMessage(2, "", "user", "summary", (SUMMARY,))
    now = find_progress(session(human(1, "Fix the tests."), summary))
    assert (now.open, now.next) == (("Run the whole suite",), ("Commit the fix",))
    assert set(split_summary(SUMMARY)) >= {"pending", "next"}
    later = find_progress(
        session(human(1, "Fix the tests."), summary, human(3, "Rename the ledger."), agent(4, "Renamed it."))
    )
    assert "Run the whole suite" not in later.open and later.next == ()


def test_what_a_sub_agent_says_is_not_the_sessions_last_word() -> None:
    side = agent(3, "Next step: rewrite everything.")._replace(in_context=False)
    assert find_progress(session(human(1, "Fix the parser."), agent(2, "Fixed the parser."), side)).open == ()


def test_what_is_not_pushed_or_committed_is_the_next_step_where_nobody_names_one() -> None:
    made = session(human(0, "Fix the parser now."), edit(1, "/w/a.py"), *run(2, "git commit -am 'Fix it'"))
    now = find_progress(session(*made.messages, agent(3, "Committed the fix of the parser.")))
    assert (now.open, now.next) == (("the last commits are not pushed",), ("push the last commits",))
    more = find_progress(session(*made.messages, edit(4, "/w/b.py"), agent(5, "Changed the second file.")), "zh")
    assert more.next == ("提交 b.py",)
    pushed = find_progress(session(*made.messages, *run(4, "git push"), agent(5, "Pushed the fix.")))
    assert pushed.open == ("what CI and the review say about the push is not known yet",)


def test_a_command_that_fails_at_the_end_is_open() -> None:
    error = "Exit code 1\n> vite build\nerror TS2304: Cannot find name 'x'.\n"
    failing = (human(1, "Build the wiki please."), agent(2, "Building."), *run(3, "npm run build", error, failed=True))
    row = "`npm run build` fails: error TS2304: Cannot find name 'x'."
    now = find_progress(session(*failing))
    assert (now.open, now.next) == ((row,), (row,))
    assert row in find_progress(session(*failing, agent(5, "I'll leave the build for now."))).open
    assert find_progress(session(*failing, *run(5, "npm run build"), agent(7, "The build passes now."))).open == ()
    assert find_progress(session(human(1, "Look."), agent(2, "Ok."), *run(3, "grep x y", "", failed=True))).open == ()


def test_what_a_person_did_at_work_is_no_secret_of_theirs() -> None:
    later = human(2, "I've reverted your changes - focus only on the skip rules of the evaluator.")
    assert find_last_tasks(session(human(1, "Split the ledger in two."), later))[0].startswith("I've reverted")


@pytest.mark.parametrize("said", ["You're welcome, see you tomorrow!", "好的，辛苦了！我们明天见，再见。"])
def test_courtesy_is_nothing_that_was_done(said: str) -> None:
    transcript = Transcript(messages=(human(1, "Sort the list."), agent(2, "Sorted the list by day, newest first."),
                                      human(3, "Thanks!"), agent(4, said)))  # fmt: skip
    assert not any(said[:6] in row for row in find_progress(transcript).done)


def test_in_a_team_of_agents_the_task_is_the_other_agents_word() -> None:
    said = '<teammate-message teammate_id="team-lead">\n{}\n</teammate-message>'
    idle = said.format('{"type":"idle_notification","from":"ui-dev"}')
    given = said.format('{"type":"task_assignment","taskId":"23","subject":"INT-5: Wire the disconnect"}')
    texts = (said.format("You are integration-dev. You work in the app only."), idle, given)
    rows = [json.dumps({"type": "user", "message": {"role": "user", "content": text}}) for text in texts]
    team = parse_transcript("\n".join(rows).encode())
    assert [message.origin for message in team.messages] == ["delegated"] * 3, "no person said it"
    assert find_task(team) == "You are integration-dev. You work in the app only."
    assert find_last_tasks(team) == ["INT-5: Wire the disconnect"]


def test_what_was_done_is_not_open_for_a_list_that_nobody_ticked_off() -> None:
    todo = [{"content": "Split the parser", "status": "pending"}]
    listed = agent(2, "", ToolCall("t", "TodoWrite", {"todos": todo}, 2))
    now = find_progress(session(human(1, "Split it please."), listed, agent(3, "All work is complete, lint is clean.")))
    assert "Split the parser" in now.done and now.open == ()
    said = "Both are done.\n\n**Next steps:**\n- Notified the verify agent\n- Run the migration on staging"
    later = find_progress(session(human(1, "Split it please."), agent(2, said)))
    assert (later.open, later.next) == (("Run the migration on staging",),) * 2


@pytest.mark.parametrize(
    ("said", "coming"),
    [
        ("All 98 tests pass. Now lint.", ("Now lint",)),
        ("OPS-2 completed - the target is gone. Now OPS-3: give the proxy a health check.", ("Now OPS-3",)),
        ("All 98 tests pass.", ()),
        ("98 个测试全部通过。现在跑检查。", ("现在跑检查",)),
    ],
)
def test_what_has_come_out_is_no_next_step(said: str, coming: tuple[str, ...]) -> None:
    call = ToolCall("c2", "Bash", {"command": "make lint"}, 2)
    found = find_progress(session(human(1, "Add a health check to the proxy."), agent(2, said, call)))
    assert not any("98" in row or "OPS-2" in row for row in found.next)
    assert all(any(want in row for row in found.next) for want in coming)


def test_a_command_tried_again_without_its_wrapper_is_not_open() -> None:
    failed = run(2, "rtk bun run test", "error: unrecognized subcommand 'bun'", failed=True)
    passed = session(human(1, "Add a test."), *failed, *run(3, "bun run test"))
    assert not any("rtk" in row for row in find_progress(passed).open)
    other = session(human(1, "Add a test."), *failed, *run(3, "bun run lint"))
    assert any("rtk" in row for row in find_progress(other).open)


def test_of_what_nobody_spoke_the_edited_files_say_what_is_done() -> None:
    found = find_progress(session(human(1, "Write the tests of the parser first."), edit(2, "tests/test_parser.py")))
    assert found.done == ("edited: tests/test_parser.py",)


def test_a_file_that_was_removed_again_is_not_open() -> None:
    made = session(edit(1, "/w/preview.html"), edit(2, "/w/src/data.js"), *run(3, "rm -f ./preview.html && echo ok"))
    assert read_git_state(made).uncommitted == "src/data.js"
    kept = session(edit(1, "/w/a.js"), *run(2, "rm data.js"))
    assert read_git_state(kept).uncommitted == "a.js"


def test_what_came_out_of_earlier_turns_is_done() -> None:
    made = session(
        human(1, "Make the ring smaller."),
        agent(2, "Done. I changed the ring back to its old size."),
        human(3, "The wording of the briefing is wrong."),
        agent(4, "Updated the briefing to:\n\n`Shoot the parts.`"),
        human(5, "把标题改成金色的。"),
        agent(6, "已完成。标题的颜色改成金色了。"),
        human(7, "Which key leads to the next level?"),
        agent(8, "I’m running the build to make sure the edit is clean."),
        *run(9, "npm run build"),
    )
    done = " | ".join(find_progress(made).done)
    assert "I changed the ring back to its old size" in done and "Updated the briefing to: `Shoot the parts.`" in done
    assert "标题的颜色改成金色了" in done
    assert "running the build" not in done


def test_what_is_clean_or_was_there_before_is_not_open() -> None:
    said = "The revert is clean: the remaining diff is the old one. The pre-existing panel is back as it was."
    assert not find_progress(session(human(1, "Revert the helmet."), agent(2, said))).open
    failing = session(human(1, "Revert the helmet."), agent(2, "Reverted it. One pre-existing test failure is there."))
    assert find_progress(failing).open


@pytest.mark.parametrize(
    "asked",
    [
        "I don't want a new dependency for this.",
        "Write the roadmap with these findings before touching any code.",
        "First individually commit each fix in case I want to roll one back.",
        "请给我一个完整框架，不要停留在概念层。",
        "请帮我设计一套具体可执行的指标。",
    ],
)
def test_a_sentence_that_asks_for_work_stays_in_the_task(asked: str) -> None:
    assert find_task(session(human(1, f"Split the ledger in two. {asked}"))) == f"Split the ledger in two. {asked}"


def test_of_the_task_it_is_left_out_what_somebody_says_of_themselves() -> None:
    assert find_task(session(human(1, "I'm colour-blind. Split the ledger in two."))) == "Split the ledger in two."
    assert find_task(session(human(1, "我是色弱。把账本拆成两个。"))) == "把账本拆成两个。"


@pytest.mark.parametrize(
    ("announced", "nothing"),
    [
        ("Now wiring the live totals into the page.", "Let me do that now."),
        ("现在开始接入实时合计。", "让我来帮您完成："),
    ],
)
def test_behind_a_result_an_announcement_is_under_way(announced: str, nothing: str) -> None:
    before = (human(1, "Add live totals to the page."), edit(2, "page.py"), *run(3, "pytest -q"))
    found = find_progress(session(*before, agent(4, announced)))
    assert found.doing == (announced.rstrip(".。"),) and found.done == ("edited: page.py",)
    assert found.next == (announced.rstrip(".。"),)
    assert find_progress(session(*before, agent(4, nothing))).next == ("Add live totals to the page.",)


def test_the_item_that_is_under_way_is_next_and_an_issue_that_was_claimed_is_under_way() -> None:
    todos = [{"content": "Create the flow", "status": "in_progress"}, {"content": "Activate it", "status": "pending"}]
    kept = agent(2, "", ToolCall("t2", "TodoWrite", {"todos": todos}, 2))
    cut = session(
        human(1, "Build the flow."), kept, agent(3, "I'll post it to the server."), *run(4, "curl -X POST /flows")
    )
    assert find_progress(cut).next == ("Create the flow", "I'll post it to the server")
    claimed = session(human(1, "Work on shop-1."), *run(2, "bd update shop-1 --status=in_progress"), *run(3, "make x"))
    assert find_progress(claimed).doing == ("shop-1 (in_progress)",)


@pytest.mark.parametrize("heading", ["## Missing features", "## 已知问题"])
def test_what_an_answer_names_as_missing_is_open_and_not_done(heading: str) -> None:
    gap = "One company is merged across two domains without a flag."
    made = session(human(1, "Merge the lists."), edit(2, "a.py"), agent(3, f"All 9 tests pass.\n\n{heading}\n\n{gap}"))
    found = find_progress(made)
    assert any("two domains" in row for row in found.open) and not any("two domains" in row for row in found.done)
    assert found.next == ("commit a.py",)


def test_a_command_that_an_answer_advises_is_next_and_what_still_runs_has_settled_nothing() -> None:
    made = (
        *run(2, 'bd create --title="Add an alias"', "Created issue: shop-2"),
        agent(3, "Made. Run `bd ready` to see it."),
    )
    assert find_progress(session(human(1, "Create the issue."), *made)).next == ("Run `bd ready` to see it",)
    pending = agent(3, "", ToolCall("c3", "Bash", {"command": "git commit -m x"}, 3))
    assert read_git_state(session(edit(2, "a.py"), pending)).uncommitted == "a.py"
    assert read_git_state(session(edit(2, "C:/Users/me/notes.md"))).uncommitted == ""


def test_a_commit_settles_only_the_files_that_were_staged_for_it() -> None:
    edits = (edit(1, "/w/src/a.py"), edit(2, "/w/docs/b.md"))
    named = session(*edits, *run(3, "git add src/a.py && git commit -m x"))
    assert read_git_state(named).uncommitted == "docs/b.md"
    for everything in ("git add -A && git commit -m x", "git add . && git commit -m x", "git commit -am x"):
        assert read_git_state(session(*edits, *run(3, everything))).uncommitted == ""
    folder = session(*edits, *run(3, "git add docs/"), *run(4, "git commit -m x"))
    assert read_git_state(folder).uncommitted == "src/a.py"


def test_two_words_are_a_task_where_one_names_a_thing() -> None:
    assert (
        find_task(session(human(1, "Implement shop-12"), human(2, "new ones were added. tackle them")))
        == "Implement shop-12"
    )
    assert find_last_tasks(session(human(1, "Implement shop-12"), human(2, "check again"))) == []


def test_of_many_tasks_the_last_and_the_longest_are_kept() -> None:
    long = "Set up the whole flow with token refresh, so that nobody has to step in by hand."
    asked = ["Read the manual of the server.", long, *(f"It still fails, number {n}." for n in range(20))]
    kept = find_last_tasks(session(*(human(n, text) for n, text in enumerate(asked, 1))), 12)
    assert kept[0] == long and kept[-4:] == asked[-4:] and len(kept) == 12


def test_a_step_of_a_summary_is_over_when_its_issue_was_closed() -> None:
    text = "Summary:\n\n7. Pending Tasks:\n   - shop-6 (in_progress): the tests\n   - 7 (open): the page\n"
    summary = TranscriptMessage(1, "", "user", "summary", (text,))
    assert any("the tests" in row for row in find_progress(session(summary)).open)
    closed = session(summary, *run(2, "bd close shop-6"))
    found = find_progress(closed).open
    assert not any("the tests" in row for row in found) and any("the page" in row for row in found)


def test_the_next_step_of_a_summary_is_old_once_a_turn_has_ended() -> None:
    text = "Summary:\n\n9. Optional Next Step:\n   Extract the nested case into a helper function.\n"
    summary = TranscriptMessage(1, "", "user", "summary", (text,))
    assert any("nested case" in row for row in find_progress(session(summary)).next)
    over = session(summary, *run(2, "git commit -m x"), *run(3, "git push"), agent(4, "All done. The epic is closed."))
    assert not any("nested case" in row for row in find_progress(over).next)
