"""Offline extraction: what is kept, what is left alone, and that every quote stands in the session."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.capture.extract import extract_candidates, find_candidates_in_file, list_broken_blocks, word_sentence
from kb.capture.failures import find_pitfalls, list_unsolved
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.sessions.prose import split_pieces, split_sentences
from kb.sessions.transcript import HUMAN, Transcript, parse_transcript
from kb.text.mentions import find_paths
from kb.writing.gate import SURE
from tests.support.timing import within

CWD = "/home/me/shop"


def session(*turns: tuple[str, object]) -> Transcript:
    """Return the transcript of *turns*: ("human" or "agent", text) or ("agent"/"tool", a block)."""
    rows: list[dict[str, Any]] = []
    for number, (who, content) in enumerate(turns):
        blocks = content if isinstance(content, str) else [content]
        if who == "agent" and isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        rows.append(
            {
                "type": "assistant" if who == "agent" else "user",
                "sessionId": "s-1",
                "cwd": CWD,
                "timestamp": f"2026-03-01T10:{number % 60:02}:00Z",
                "message": {"role": "user", "content": blocks},
            }
        )
    return parse_transcript("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode() + b"\n")


def found(*turns: tuple[str, object]) -> list[Candidate]:
    transcript = session(*turns)
    result = extract_candidates(transcript)
    assert_quotes_stand(result, transcript)
    return result


def assert_quotes_stand(result: list[Candidate], transcript: Transcript) -> None:
    texts = {m.line: (*m.texts, *(result.text for result in m.results)) for m in transcript.messages}
    for candidate in result:
        assert candidate.evidence
        for evidence in candidate.evidence:
            assert any(evidence.quote and evidence.quote in text for text in texts[evidence.line])


def run(number: int, command: str, output: str, *, failed: bool) -> tuple[tuple[str, object], tuple[str, object]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": failed}
    return ("agent", call), ("tool", result)


def edit(number: int, path: str) -> tuple[tuple[str, object], tuple[str, object]]:
    call = {"type": "tool_use", "id": f"e{number}", "name": "Edit", "input": {"file_path": path}}
    return ("agent", call), ("tool", {"type": "tool_result", "tool_use_id": f"e{number}", "content": "ok"})


# -- marks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "title", "why"),
    [
        ("[D] 后端使用 FastAPI (原因: 需要异步支持)", "decision", "后端使用 FastAPI", "需要异步支持"),
        ("- **[D]** Use FastAPI for the backend (reason: async support)", "decision", "Use FastAPI for the backend",
         "async support"),
        ("[C] 禁止在日志中打印手机号，因为合规要求脱敏", "constraint", "禁止在日志中打印手机号", "合规要求脱敏"),
        ("[P] `npm ci` fails behind the proxy", "pitfall", "`npm ci` fails behind the proxy", ""),
        ("[I] GET /orders returns a list of orders", "interface", "GET /orders returns a list of orders", ""),
        ("[M] 用 outbox 表保证消息不丢", "pattern", "用 outbox 表保证消息不丢", ""),
        ("[U] 提交信息一律用英文", "preference", "提交信息一律用英文", ""),
        ("决策：订单号用雪花算法，因为要跨库唯一", "decision", "订单号用雪花算法", "要跨库唯一"),
        ("约束: 退款窗口不能超过 90 天", "constraint", "退款窗口不能超过 90 天", ""),
        ("教训：迁移前没有备份导致数据丢失", "pitfall", "迁移前没有备份导致数据丢失", ""),
        ("接口：支付回调统一走 /callback", "interface", "支付回调统一走 /callback", ""),
        ("模式：写操作先落库再发消息", "pattern", "写操作先落库再发消息", ""),
        ("偏好：测试里不用 mock", "preference", "测试里不用 mock", ""),
        ("Decision: store money as integer cents because floats lose cents", "decision",
         "store money as integer cents", "floats lose cents"),
        ("**Constraint:** API keys never leave the vault", "constraint", "API keys never leave the vault", ""),
        ("Lesson: a cold cache doubles start time", "pitfall", "a cold cache doubles start time", ""),
        ("Interface: the queue carries JSON lines", "interface", "the queue carries JSON lines", ""),
        ("Preference: short commit subjects", "preference", "short commit subjects", ""),
        ("Pattern: retry with jittered backoff", "pattern", "retry with jittered backoff", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("who", ["human", "agent"])
def test_a_marked_line_is_a_candidate(who: str, text: str, kind: str, title: str, why: str) -> None:
    [candidate] = found((who, f"前言。\n\n{text}\n\nAnd so on."))
    assert (candidate.kind, candidate.title, candidate.why) == (kind, title, why)
    assert candidate.evidence[0].quote == text
    assert (candidate.evidence[0].source, candidate.session) == ("s-1", "s-1")


@pytest.mark.parametrize(
    "text",
    [
        "[D] ↘ Nested modules could be aliased at the top",
        "see [D001] for the reason",
        "[D001] 后端使用 FastAPI",
        "[x] done with the port",
        "```\n[D] inside a code block\n```",
        "> [D] quoted from another document",
        "Decision:",
        "Pattern: `**/*.py`",
        "The decision: none so far",
        "Interface: eth0",
    ],
)
def test_what_only_looks_like_a_mark_is_none(text: str) -> None:
    assert found(("agent", text)) == []


def test_fields_below_a_mark_belong_to_it() -> None:
    text = "[D] 缓存用 Redis\n- 理由：多实例要共享\n- 备选方案：本地内存\n- 回滚方式：关掉开关\n\n别的话。"
    [candidate] = found(("agent", text))
    assert (candidate.title, candidate.why, candidate.alternatives, candidate.rollback, candidate.verification) == (
        "缓存用 Redis",
        "多实例要共享",
        "本地内存",
        "关掉开关",
        "",
    )


ADR_EN = """Here is the record.

## [D001] Queue jobs in Postgres

### Decision
Jobs are rows of `jobs`.
Workers take them with SKIP LOCKED.

### Why
One thing less to run.

### Alternatives
- Redis
- RabbitMQ

### Impact
See src/jobs/worker.py.

### Verification
`pytest tests/jobs`

## Next steps
Ship it.
"""
ADR_ZH = """# ADR-0007: 会话存 Redis

**决策**：会话放进 Redis。
**理由**：要横向扩容。
**影响范围**：src/session/store.py
"""


def test_an_adr_block_fills_the_fields_it_has_and_no_others() -> None:
    [candidate] = found(("agent", ADR_EN))
    assert candidate.title == "Queue jobs in Postgres"
    assert candidate.decision == "Jobs are rows of `jobs`.\nWorkers take them with SKIP LOCKED."
    assert (candidate.why, candidate.alternatives) == ("One thing less to run.", "- Redis\n- RabbitMQ")
    assert (candidate.impact, candidate.verification) == (("src/jobs/worker.py",), "`pytest tests/jobs`")
    assert candidate.rollback == ""
    [candidate] = found(("human", ADR_ZH))
    assert (candidate.title, candidate.decision, candidate.why) == ("会话存 Redis", "会话放进 Redis。", "要横向扩容。")
    assert candidate.impact == ("src/session/store.py",)


def test_a_report_with_a_heading_decision_alone_is_no_adr() -> None:
    assert found(("agent", "## Report\n\n### Decision\nNothing yet.\n\n### Tests\nAll green.")) == []


def test_a_kb_block_is_taken_as_it_is() -> None:
    item = {"kind": "决策", "title": "订单拆分为两张表", "why": "热点行", "impact_areas": ["performance"]}
    [candidate] = found(("agent", f"```kb\n{json.dumps(item, ensure_ascii=False)}\n```"))
    assert (candidate.kind, candidate.title, candidate.impact_areas) == ("decision", item["title"], ("performance",))


@pytest.mark.parametrize("body", ["{broken", '{"kind": "novel", "title": "x"}', "[" * 5000])
def test_a_kb_block_that_is_no_candidate_is_reported(body: str) -> None:
    transcript = session(("agent", f"```kb\n{body}\n```"))
    assert extract_candidates(transcript) == []
    assert [line for line, reason in list_broken_blocks(transcript) if str(reason)] == [1]


# -- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "title", "why", "alternatives"),
    [
        ("We chose FastAPI over Flask because it is async.", "decision", "Choose FastAPI over Flask", "it is async",
         "Flask"),
        ("So we decided to keep sessions in Redis, since the API runs on three hosts.", "decision",
         "Keep sessions in Redis", "the API runs on three hosts", ""),
        ("- Chose SQLite instead of Postgres to avoid a second service.", "decision",
         "Chose SQLite instead of Postgres", "to avoid a second service", "Postgres"),
        ("Because the vendor bills per call, we opted for batching requests.", "decision",
         "Batching requests", "the vendor bills per call", ""),
        ("Polling was chosen over webhooks because the firewall blocks inbound calls.", "decision",
         "Polling was chosen over webhooks", "the firewall blocks inbound calls", "webhooks"),
        ("最终我们决定用 PostgreSQL 存订单，因为需要事务。", "decision",
         "用 PostgreSQL 存订单", "需要事务", ""),
        ("选择 FastAPI 而不是 Flask，因为要支持异步接口。", "decision",
         "选择 FastAPI 而不是 Flask", "要支持异步接口", "Flask"),
        ("由于要跨机房部署，我们采用 Kafka 做总线。", "decision", "采用 Kafka 做总线", "要跨机房部署", ""),
        ("Tokens must never be written to the log because support staff read it.", "constraint",
         "Tokens must never be written to the log", "support staff read it", ""),
        ("Migrations must be reversible, otherwise a failed deploy cannot be undone.", "constraint",
         "Migrations must be reversible", "otherwise a failed deploy cannot be undone", ""),
        ("所有金额必须用整数分存储，否则会丢精度。", "constraint", "所有金额必须用整数分存储", "否则会丢精度", ""),
        ("禁止在事务里调用外部接口，因为会长时间占用连接。", "constraint",
         "禁止在事务里调用外部接口", "会长时间占用连接", ""),
        ("Fixed the flaky checkout test by waiting for the network to be idle instead of sleeping two seconds.",
         "pitfall", "Flaky checkout test",
         "", "sleeping two seconds"),
    ],
)  # fmt: skip
def test_a_sentence_with_a_reason_is_a_candidate(text: str, kind: str, title: str, why: str, alternatives: str) -> None:
    [candidate] = found(("agent", f"测试通过了。 {text} Done."))
    assert (candidate.kind, candidate.title, candidate.why) == (kind, title, why)
    assert candidate.alternatives == alternatives
    assert (candidate.verification, candidate.rollback) == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        "I'll use FastAPI because it is async.",
        "Every default case can never be hit because the constants cover all of it.",
        "Let me switch to Redis since memory is tight here.",
        "Should we choose FastAPI over Flask because it is async?",
        "If we chose FastAPI over Flask, it would be because of async support.",
        "We could use Redis instead of memcached because it persists data.",
        "I suggest we choose Redis over memcached because it persists data.",
        "We decided to skip the slow tests for now because the runner is busy.",
        "I decided to read the config first because the error mentions it.",
        "We have not decided on a database yet because the load is unknown.",
        "The test failed because the server was not running on that port.",
        "It must be because the cache is stale after the restart.",
        "We chose FastAPI over Flask for the new backend service.",
        "我来用 Redis 代替本地缓存，因为要共享数据。",
        "要不要选择 FastAPI 而不是 Flask，因为它支持异步？",
        "如果决定用 MySQL，是因为运维更熟悉一些。",
        "建议采用 Kafka，因为吞吐更高一些。",
        "暂时决定用内存缓存，因为 Redis 还没有装好。",
        "我决定先看一下配置文件，因为报错提到了它。",
        "测试失败了，因为服务器没有启动起来。",
        "> We chose FastAPI over Flask because it is async.",
        "```text\nWe chose FastAPI over Flask because it is async.\n```",
        "| We chose FastAPI over Flask because it is async |",
    ],
)
def test_plans_questions_guesses_and_quotes_are_left_alone(text: str) -> None:
    assert found(("agent", text)) == []


def test_what_tools_print_and_hosts_remind_of_is_left_alone() -> None:
    text = "We chose FastAPI over Flask because it is async.\n[D] Use FastAPI everywhere"
    call, result = run(1, "cat notes.md", text, failed=False)
    reminded = f"<system-reminder>\n{text}\n</system-reminder>\nplease go on with it"
    assert found(call, result, ("human", reminded)) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("以后都用中文写提交说明。", "preference"),
        ("今后请先写测试再写实现。", "preference"),
        ("不要用 mock 测数据库，因为上次漏掉了一个迁移错误。", "preference"),
        ("我更喜欢小的提交，每个只做一件事。", "preference"),
        ("我希望回答简短。", "preference"),
        ("I want your answers to be short.", "preference"),
        ("生产库的表不允许直接修改。", "constraint"),
        ("Nobody changes a production table by hand.", "constraint"),
        ("请记住部署脚本只能在跳板机上运行。", "preference"),
        ("From now on run the linter before every commit.", "preference"),
        ("Please always write the tests first.", "preference"),
        ("金额必须用分保存，任何时候都一样。", "constraint"),
        ("Never use emojis in your answers.", "preference"),
        ("记住，回答里不得使用英文。", "preference"),
        ("I prefer small commits that do one thing.", "preference"),
        ("Don't mock the database in tests because mocks hid a broken migration.", "preference"),
        ("We decided to use Postgres for the orders.", "decision"),
        ("我们决定订单都存在 PostgreSQL 里。", "decision"),
        ("所有接口必须返回统一的错误格式。", "constraint"),
        ("Every endpoint must return errors in the problem format.", "constraint"),
    ],
)
def test_a_person_s_lasting_wish_is_a_candidate(text: str, kind: str) -> None:
    [candidate] = found(("human", f"你好。{text}"))
    assert (candidate.kind, candidate.evidence[0].quote) == (kind, text)
    # of a decision of the team only one about all cases is sure to concern later work
    assert candidate.affects_future is (True if kind != "decision" or "都" in text else None)
    assert found(("agent", text)) == [] or "因为" in text or "because" in text


@pytest.mark.parametrize(
    "text",
    [
        "Don't stop until all functions are ported and the tests pass.",
        "Don't commit the generated file please.",
        "不要提交那个临时生成的文件。",
        "It always crashes when I click on the second tab.",
        "Never mind, I found the problem in the config.",
        "这个页面总是报错，帮我看一下原因。",
        "这个以后再说，先修登录的问题。",
        "今天先把这个接口做完，其他的不要动。",
        "先临时注释掉这行，等会儿再恢复。",
        "Can you always run the tests before you commit?",
        "Fix the login page and run all of the tests.",
    ],
)
def test_a_passing_order_is_no_preference(text: str) -> None:
    assert found(("human", text)) == []


def test_in_a_pasted_document_only_marks_count() -> None:
    pasted = "Every endpoint must return errors in the problem format.\n\n" * 150 + "[D] 用 Redis 做缓存"
    assert [candidate.title for candidate in found(("human", pasted))] == ["用 Redis 做缓存"]


# -- pitfalls -------------------------------------------------------------------------------------

BUILD_EN = (
    *run(1, f"node {CWD}/assets/build.js 2>&1", "Exit code 1\nError: Could not resolve js/app.js", failed=True),
    ("agent", "The build script expects to run inside `assets/` since its entry point is relative."),
    *run(2, f"cd {CWD}/assets && node build.js", "done", failed=False),
)
BUILD_ZH = (
    *run(1, "mvn package", "错误: 找不到符号 OrderMapper", failed=True),
    ("agent", "原因是 MapStruct 的注解处理器没有注册到编译插件里。需要在 `pom.xml` 里加上 annotationProcessorPaths。"),
    *edit(1, f"{CWD}/pom.xml"),
    *run(2, "mvn package", "BUILD SUCCESS", failed=False),
)


def test_an_overcome_failure_with_its_cause_is_a_pitfall() -> None:
    [candidate] = found(*BUILD_EN)
    assert candidate.kind == "pitfall"
    assert candidate.title == "`node assets/build.js` fails: Could not resolve js/app.js"
    assert candidate.decision == "`node assets/build.js`: Error: Could not resolve js/app.js"
    assert candidate.why.startswith("The build script expects to run inside")
    assert candidate.sections == {
        "solution": "Run `cd assets && node build.js` instead.",
        "outcome": "`cd assets && node build.js` passes",
    }
    assert candidate.fields == {"signature": ("node build.js", "error: could not resolve app.js")}
    assert (candidate.verification, candidate.impact) == ("`cd assets && node build.js`", ("assets/build.js",))
    [candidate] = found(*BUILD_ZH)
    assert candidate.title == "`mvn package` fails: 找不到符号 OrderMapper"
    assert candidate.why == "原因是 MapStruct 的注解处理器没有注册到编译插件里"
    assert candidate.decision == "`mvn package`: 错误: 找不到符号 OrderMapper"
    assert candidate.sections["solution"] == "需要在 `pom.xml` 里加上 annotationProcessorPaths。"
    assert candidate.impact == ("pom.xml",)
    assert [evidence.line for evidence in candidate.evidence] == [3, 3]


def test_the_words_around_what_was_printed_are_in_the_language_of_the_base() -> None:
    [(_, candidate)] = find_pitfalls(session(*BUILD_ZH[:3], *edit(1, f"{CWD}/pom.xml"), *BUILD_ZH[-2:]), "zh")
    assert candidate.title == "`mvn package` 失败：找不到符号 OrderMapper"
    assert candidate.sections["outcome"] == "`mvn package` 通过"


PIKA = "ModuleNotFoundError: No module named 'pika'"


def test_without_a_cause_the_command_that_helped_is_the_cure() -> None:
    [candidate] = found(
        *run(1, "pytest -q", f"E   {PIKA}", failed=True),
        *run(2, "git status", "clean", failed=False),
        *run(3, "pip install pika", "ok", failed=False),
        *run(4, "pytest -q", "3 passed", failed=False),
    )
    assert candidate.title == f"`pytest -q` fails: {PIKA}"
    assert (candidate.why, candidate.sections["solution"]) == ("", "Run `pip install pika`.")
    assert candidate.fields["signature"] == ("pytest", PIKA.casefold())
    assert candidate.confidence is not None and candidate.confidence < SURE
    assert candidate.cost == 3


def test_an_edit_is_a_cure_only_of_what_the_session_had_not_written() -> None:
    fails = run(1, "make check", f"E   {PIKA}", failed=True)
    passes = run(2, "make check", "ok", failed=False)
    [candidate] = found(*fails, *edit(1, f"{CWD}/setup.cfg"), *passes)
    assert candidate.sections["solution"] == "Edit `setup.cfg`."
    assert candidate.cost is None
    own = edit(1, f"{CWD}/setup.cfg")
    assert found(*own, *fails, *edit(2, f"{CWD}/setup.cfg"), *passes) == []


@pytest.mark.parametrize(
    ("output", "between", "after"),
    [
        (f"E   {PIKA}", (), ("make check", "ok")),  # nothing was done: it may just be flaky
        ("3 tests, 1 failure", edit(9, f"{CWD}/a.py"), ("make check", "ok")),  # no line says what went wrong
        (f"E   {PIKA}", edit(9, f"{CWD}/a.py"), ("make check | tail -3", f"E   {PIKA}")),  # tail's exit code
        (f"E   {PIKA}", edit(9, f"{CWD}/a.py"), ("make check", f"E   {PIKA}\nok")),  # it passes with the same line
    ],
)
def test_what_proves_nothing_is_no_pitfall(output: str, between: tuple[object, ...], after: tuple[str, str]) -> None:
    first = run(1, "make check", output, failed=True)
    assert found(*first, *between, *run(2, *after, failed=False)) == []


@pytest.mark.parametrize(
    ("passed", "is_cure"), [("gh pr diff 104 --name-only", True), ("gh pr list --author me --json title", False)]
)
def test_another_wording_of_the_command_is_a_cure(passed: str, is_cure: bool) -> None:
    made = found(
        *run(1, "gh pr diff 104 --stat", "unknown flag: --stat", failed=True), *run(2, passed, "ok", failed=False)
    )
    assert [one.sections["solution"] for one in made] == [f"Run `{passed}` instead."] * is_cure


def test_three_pitfalls_of_a_session_are_enough() -> None:
    rows: list[object] = []
    for n, name in enumerate(("alpha", "beta", "gamma", "delta")):
        rows += [*run(10 * n, f"make {name}", f"error: cannot find '{name}.h'", failed=True)]
        rows += [*run(10 * n + 1, f"apt install {name}", "ok", failed=False)]
        rows += [*run(10 * n + 2, f"make {name}", "ok", failed=False)]
    assert [candidate.title for candidate in found(*rows)] == [
        f"`make {name}` fails: cannot find '{name}.h'" for name in ("alpha", "beta", "gamma")
    ]


def test_what_was_not_overcome_is_listed() -> None:
    fails = run(1, "make check", f"E   {PIKA}", failed=True)
    assert list_unsolved(session(*fails)) == [("make check", PIKA.casefold())]
    assert list_unsolved(session(*fails, *run(2, "make check", "ok", failed=False))) == []


@pytest.mark.parametrize(
    "said",
    [
        "Let me look at the build script.",
        "It might be because the entry point is relative to another folder.",
        "The issue is a typo in the name of the entry point of the build.",
        "The problem is that I forgot to save the file before the build ran.",
        "可能是因为入口路径写成了相对路径。",
        "我先看看构建脚本。",
    ],
)
def test_without_an_explanation_the_cause_stays_open(said: str) -> None:
    [candidate] = found(*BUILD_EN[:2], ("agent", said), *BUILD_EN[3:])
    assert candidate.why == ""


def test_a_failure_that_stays_is_no_pitfall() -> None:
    again = run(2, "node build.js", "Error: Could not resolve js/app.js", failed=True)
    later = run(3, "node build.js", "done", failed=False)
    assert found(*BUILD_EN[:3], *again) == []
    assert found(*BUILD_EN[:3], *again, *later) == []


def test_progress_of_a_test_run_confirms_the_cause() -> None:
    explained = ("agent", "The issue is clear — the view cannot reach the sandbox of the test process.")
    first = run(1, "mix test", "boom\n12 tests, 11 failures", failed=True)
    second = run(2, "mix test test/a_test.exs", "boom\n12 tests, 2 failures", failed=True)
    third = run(3, "mix test", "12 tests, 0 failures", failed=False)
    [candidate] = found(*first, explained, *second, *third)
    assert candidate.title == "The view cannot reach the sandbox of the test process"
    assert found(*first, explained, *second) == []


def test_the_fact_before_that_is_the_bug_is_the_title() -> None:
    told = "So `current()` returns the context directly and no tuple at all. That's the bug."
    [candidate] = found(
        *run(1, "make lint", "type error", failed=True), ("agent", told), *run(2, "make lint", "", failed=False)
    )
    assert candidate.title == "`current()` returns the context directly and no tuple at all"
    assert candidate.evidence[0].quote == told


@pytest.mark.parametrize(
    "output", ["<tool_use_error>Sibling tool call errored", "The user doesn't want to proceed with this tool use."]
)
def test_a_refused_call_is_no_failure(output: str) -> None:
    assert found(*run(1, f"node {CWD}/assets/build.js", output, failed=True), *BUILD_EN[2:]) == []


# -- what is certain ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "areas"),
    [
        ("[D] 拆成微服务以隔离故障", ("architecture",)),
        ("[C] 密钥只能放在保险库里", ("security",)),
        ("[D] 用连接池降低延迟、提升性能", ("performance",)),
        ("[C] GDPR: delete accounts within 30 days", ("compliance",)),
        ("[D] Share one error type across all services", ("modules",)),
        ("[D] 计数器改成线程安全的实现", ()),
        ("[D] Store money as integer cents", ()),
    ],
)
def test_areas_come_from_certain_words(text: str, areas: tuple[str, ...]) -> None:
    assert found(("human", text))[0].impact_areas == areas


def test_claims_and_reuse_come_from_certain_words() -> None:
    [first, second, third] = found(
        ("human", "[D] `refund.window_days` is 90 by law"),
        ("human", "[D] 所有项目都把 `backend.framework` 设为 `FastAPI`"),
        ("human", "[D] `config.yaml` is 3 levels deep, `a.b` is 3rd"),
    )
    assert (first.claims, first.reusable) == ({"refund.window_days": "90"}, None)
    assert (second.claims, second.reusable) == ({"backend.framework": "FastAPI"}, True)
    assert third.claims == {}


def test_impact_names_only_paths_that_occur() -> None:
    known = {"src/pay/refund.py", "a/x.py", "b/x.py"}
    text = f"In {CWD}/src/api.py, ./lib/a.ts:12 and `refund.py`, x.py, and/or https://a.b/c.html; 1.2/3"
    assert find_paths(text, CWD, known) == ("src/api.py", "lib/a.ts", "src/pay/refund.py")


# -- the whole ------------------------------------------------------------------------------------


def test_the_same_thing_comes_once_and_in_order() -> None:
    said_twice = "[D] 后端使用 FastAPI"
    result = found(("agent", said_twice), ("human", "[C] Tokens never reach the log"), ("agent", said_twice))
    assert [(candidate.title, candidate.evidence[0].line) for candidate in result] == [
        ("后端使用 FastAPI", 1),
        ("Tokens never reach the log", 2),
    ]


def test_behind_a_cursor_only_the_new_comes_and_failures_before_it_count() -> None:
    transcript = session(("human", "[D] 后端使用 FastAPI"), *BUILD_EN)
    assert [candidate.kind for candidate in extract_candidates(transcript, after_line=4)] == ["pitfall"]
    assert extract_candidates(transcript, after_line=6) == []


_ROWS = [
    "[D] 用 Redis 做缓存", "We chose A over B because it works well.", "- why: speed", "## Decision", "## Why", "\r",
    "```kb", "```", '{"kind": "D", "title": "abc def"}', "> quoted", "决策：用 Kafka，因为吞吐", "    code", "| t |",
    "<system-reminder>", "</system-reminder>", "From now on always test.", "以后都用中文回答问题。", "",
    "e.g. this. `a.b` is 3",
]  # fmt: skip
_TEXT = st.lists(st.sampled_from(_ROWS) | st.text(max_size=20), max_size=12).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["human", "agent"]), _TEXT), max_size=4))
def test_every_quote_is_a_slice_of_the_text_at_its_line(turns: list[tuple[str, str]]) -> None:
    transcript = session(*turns)
    assert_quotes_stand(extract_candidates(transcript), transcript)
    list_broken_blocks(transcript)


def test_who_types_no_capitals_begins_sentences_all_the_same() -> None:
    rows = split_sentences("black, line length 100. the point is that nobody argues. see e.g. the readme")
    assert list(rows) == ["black, line length 100.", "the point is that nobody argues.", "see e.g. the readme"]
    assert list(split_sentences("Run it, ie. its name. Then stop, max. five.")) == [
        "Run it, ie. its name.", "Then stop, max. five."
    ]  # fmt: skip


def test_a_rule_takes_along_what_the_next_sentence_says_of_it() -> None:
    said = "a business day must never be the utc day. dates on documents come from Berlin time, always"
    [candidate] = found(("human", said))
    assert candidate.decision == said and candidate.evidence[0].quote == said
    assert candidate.title == "A business day must never be the utc day"
    [alone] = found(("human", "The logs must not hold e-mails. I'll look at the parser now."))
    assert alone.evidence[0].quote == "The logs must not hold e-mails."


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("以后回答我请用短句。", "另外周五不要重置预发数据库，因为客户在演示。"),
        (
            "From now on answer in short sentences.",
            "Also, this Friday never touch the staging database, always ask me.",
        ),
    ],
)
def test_a_rule_does_not_take_along_another_matter(rule: str, other: str) -> None:
    kept = found(("human", rule + (" " if rule.isascii() else "") + other))
    assert kept[0].evidence[0].quote == rule and kept[0].decision == rule.rstrip(".。")


@pytest.mark.parametrize(
    "text", ["and remember that for every big table", "记住这个", "Always good to know.", "It never quite made sense."]
)
def test_what_says_nothing_by_itself_is_none(text: str) -> None:
    assert found(("human", text)) == []


@given(_TEXT)
def test_pieces_and_sentences_are_slices_in_order(text: str) -> None:
    offset = 0
    for piece in split_pieces(text):
        assert piece.start >= offset and text[piece.start :].startswith(piece.text)
        offset = piece.start
        assert all(sentence in piece.text for sentence in split_sentences(piece.text))


@pytest.mark.parametrize(
    "text",
    [
        "so, " * 40_000,
        "**" * 60_000,
        "[D] " + "因为" * 40_000,
        "word\n" * 40_000,
        "because, " * 20_000,
        "<system-reminder>" * 10_000,
        "a/" * 60_000,
        "[D] ok ok ok\n- why: x\n" * 5_000,
        "`" * 100_000,
    ],
)
@pytest.mark.parametrize("who", ["human", "agent"])
def test_no_text_takes_long(who: str, text: str) -> None:
    transcript = session((who, text))
    with within(5):
        extract_candidates(transcript)


def test_no_output_takes_long() -> None:
    outputs = ("teststestserrors" * 20_000, "errors\n" * 40_000, "x" * 300_000)
    turns = [turn for n, out in enumerate(outputs * 2) for turn in run(n, "make test", out, failed=True)]
    with within(5):
        extract_candidates(session(*turns, *run(99, "make test", "ok", failed=False)))


@pytest.mark.parametrize("text", ["[D] 按钮改用圆角，因为好看", "Decision: round the buttons, because it looks good"])
def test_what_a_person_marks_is_wanted_and_what_an_agent_marks_is_not_yet(text: str) -> None:
    (by_person,) = found(("human", text))
    (by_agent,) = found(("agent", text))
    assert by_person.affects_future is True
    assert by_agent.affects_future is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Never push directly to the main branch.", "constraint"),
        ("From now on every query must have a time limit.", "constraint"),
        ("记住，金额必须用分存。", "constraint"),
        ("Always validate the webhook signature, because forged callbacks caused an incident.", "constraint"),
        ("从现在起所有接口都要带版本号。", "constraint"),
        ("以后所有金额都用整数分。", "constraint"),
        ("Never use emojis in your answers.", "preference"),
        ("From now on you must call me Lin.", "preference"),
        ("记住，给我的回答里不得有英文。", "preference"),
    ],
)
def test_a_rule_for_the_work_is_a_constraint_and_a_wish_about_the_person_is_not(text: str, kind: str) -> None:
    [candidate] = found(("human", f"你好。{text}"))
    assert (candidate.kind, candidate.affects_future) == (kind, True)


def test_what_was_edited_after_a_decision_is_its_impact_and_the_test_that_passed_its_verification() -> None:
    said = ("agent", "We chose batching over single requests because the vendor bills per call.")
    broken, passed = (
        run(1, "pytest tests/test_batch.py", "1 failed", failed=True),
        run(2, "pytest tests", "3 passed", failed=False),
    )
    [candidate] = found(said, *edit(1, "src/batch.py"), *broken, *edit(2, "src/queue.py"), *passed)
    assert candidate.impact == ("src/batch.py", "src/queue.py")
    assert candidate.verification == "`pytest tests`", "the one that failed proves nothing"


def test_what_was_edited_at_another_prompt_or_all_over_the_project_is_no_impact() -> None:
    said = ("agent", "We chose batching over single requests because the vendor bills per call.")
    passed = run(9, "pytest tests", "3 passed", failed=False)
    [later] = found(said, ("human", "Thanks. Please fix the typo in the footer now."), *edit(1, "src/foot.py"), *passed)
    assert (later.impact, later.verification) == ((), "")
    [written] = found(said, *edit(1, "docs/plan.md"), *passed)
    assert written.impact == (), "work is written down in a document"
    [wide] = found(said, *(row for number in range(4) for row in edit(number, f"src/{number}.py")), *passed)
    assert (wide.impact, wide.verification) == ((), "")


def test_a_path_that_the_project_does_not_have_is_no_impact(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "pay.py").touch()
    text = "We chose batching over single requests in src/pay.py and src/gone.py because the vendor bills per call."
    row = {"type": "assistant", "sessionId": "s", "cwd": str(tmp_path), "timestamp": "2026-03-01T10:00:00Z"}
    row["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(row) + "\n")
    [candidate] = find_candidates_in_file(kb, str(file))
    assert candidate.impact == ("src/pay.py",)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("We use Valkey for sessions because Redis changed its licence.", "Redis changed its licence"),
        ("我们用 Valkey 存会话，因为 Redis 改了许可证。", "Redis 改了许可证"),
    ],
)
def test_what_a_person_says_is_done_and_why_is_a_decision(said: str, why: str) -> None:
    [candidate] = found(("human", said))
    assert candidate.kind == "decision" and why in candidate.why
    assert found(("human", said.replace("because", "and").replace("，因为", "，而且"))) == []


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (
            "Also, full card numbers must never appear in logs, because the audit samples them.",
            "Full card numbers must",
        ),
        (
            "From now on database passwords are always read from the environment, because one leaked.",
            "Database passwords",
        ),
        ("Going forward, always squash the commits of a branch, because main is read as a list.", "Always squash"),
        ("从现在起，所有金额一律用整数分，因为浮点会丢分。", "所有金额一律用整数分"),
    ],
)
def test_a_rule_is_titled_without_its_lead(said: str, title: str) -> None:
    candidate = word_sentence(said, HUMAN)
    assert candidate and candidate.title.startswith(title)


def test_what_only_appears_to_be_is_no_rule() -> None:
    assert word_sentence("It must never be cached, it appears to me, because it changes.", HUMAN) is None


@pytest.mark.parametrize(
    "text",
    [
        "技术债：订单服务直接读了用户库，之后要改成走接口",
        "已知隐患：退款任务没有幂等，重复执行会重复退款",
        "Tech debt: the order service reads the user database directly",
        "Known issue: the refund job is not idempotent",
    ],
)
def test_a_debt_that_a_person_labels_is_a_pitfall(text: str) -> None:
    [candidate] = found(("human", text))
    assert candidate.kind == "pitfall" and candidate.title in text


def test_what_says_that_something_is_to_be_remembered_is_no_part_of_its_title() -> None:
    [candidate] = found(("human", "记住，金额必须用分存。"))
    assert candidate.title == "金额必须用分存"
