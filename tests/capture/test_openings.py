"""Openings: what rules see that somebody ought to word, and that small talk and work are none."""

import json
from typing import Any

import pytest

from kb.capture.openings import ANSWER, CHOICE, CORRECTION, DECISION, FAILURE, STATEMENT, Opening, find_openings
from kb.sessions.transcript import parse_transcript


def found(*turns: tuple[str, object], after: int = 0) -> list[Opening]:
    """Return the openings of a session of *turns*: ("human", text), ("agent", text), or a block of either."""
    rows: list[dict[str, Any]] = []
    for who, content in turns:
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        kind = "assistant" if who == "agent" else "user"
        said = content if who == "human" else blocks
        rows.append({"type": kind, "sessionId": "s1", "cwd": "/p", "message": {"role": kind, "content": said}})
    transcript = parse_transcript("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode() + b"\n")
    openings = find_openings(transcript, after)
    texts = {m.line: "\n".join((*m.texts, *(r.text for r in m.results))) for m in transcript.messages}
    for opening in openings:
        assert all(quote.quote in texts[quote.line] for quote in opening.quotes), "every quote is a slice of its line"
    return openings


def call(number: int, command: str, output: str, *, fails: bool = False) -> tuple[tuple[str, object], ...]:
    """Return a command and its answer."""
    request = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": fails}
    return ("agent", [request]), ("human", [result])


@pytest.mark.parametrize(
    ("agent", "person", "kind"),
    [
        ("I'll put the export under tools.", "No, exports belong to the reports package.", CORRECTION),
        ("我把导出放在 tools 下面。", "不对，导出应该放在 reports 包里。", CORRECTION),
        ("How many retries should a webhook get?", "Four, then it goes to the dead letter queue.", DECISION),
        ("webhook 最多重试几次？", "四次，之后进死信队列。", DECISION),
        ("Do we round half cents up or down?", "Down.", CHOICE),
        ("半分钱向上取整还是向下取整？", "向下。", CHOICE),
        ("Option 1: a queue.\n\nOption 2: polling.\n\nWhich one do you want?", "Option 2, the queue is gone.", CHOICE),
        ("方案一：队列。方案二：轮询。用哪个？", "方案二，队列要下线了。", CHOICE),
        ("I'd keep only the newest record for every customer.", "Exactly.", DECISION),
        ("我建议每个客户只保留最新的一条。", "好，就这样。", DECISION),
        ("Looking at it.", "We decided to drop the nightly export.", DECISION),
        ("我看看。", "我们决定停掉夜间导出。", DECISION),
    ],
)
def test_what_a_person_settles_is_an_opening(agent: str, person: str, kind: str) -> None:
    [opening] = found(("human", "Go on with the ticket"), ("agent", agent), ("human", person))
    assert (opening.kind, opening.line) == (kind, 3) and opening.quotes[-1].quote.startswith(person[:4])


@pytest.mark.parametrize(
    ("agent", "person"),
    [
        ("Are you seeing the same error in staging?", "Yes, with the same stack in the log."),
        ("线上也是同样的报错吗？你看到日志了吗？", "看到了，堆栈一样。"),
        ("Can you paste the log?", "Sure, it says connection reset by peer."),
        ("Shall I commit it?", "Yes, go ahead"),
        ("要我提交吗？", "好的，继续"),
        ("Shall I also update the docs?", "Look at the failing test in api.py first"),
        ("Which cache do we want?", "Not sure, maybe Redis, I would have to look."),
        ("用哪个缓存？", "不确定，可能用 Redis。"),
        ("The function returns a list.", "Right, makes sense. Does it keep the order?"),
        ("这个函数返回列表。", "明白了。顺序会保留吗？"),
        ("I'll run the tests.", "ok"),
        ("The trace keeps the frames.", "Gotcha."),
        ("The trace keeps the frames.", "Right, I remember that bug, it took us a while."),
        ("The trace keeps the frames.", "Ah okay, so it's rather about the order than about the frames."),
        ("The trace keeps the frames.", "Nobody has ever asked for that on purpose."),
        ("The trace keeps the frames.", "We should add a test for the empty frame as well."),
        ("It is slow.", "also should the summary be the entry point of every run"),
        ("It is slow.", "we have two idle workers, can you stop them"),
    ],
)
def test_reports_and_go_aheads_are_none(agent: str, person: str) -> None:
    assert found(("human", "What about it?"), ("agent", agent), ("human", person)) == []


@pytest.mark.parametrize(
    "said",
    [
        "Careful, the import job truncates names after 40 characters.", "小心，导入任务会直接截断超过四十个字的名字。",
        "After the review we settled on Traefik.", "网关最后就用 Traefik 了，Nginx 配置太绕。",
        "keep the installer below 80 MB", "安装包不超过 80 MB",
        "error codes should be five digits", "错误码用五位数字这种格式",
        "Lesson learned: we deployed without the migrations.", "教训：没跑迁移就上线了。",
        "Let's standardise on pnpm.", "包管理器统一换成 pnpm",
        "This is tech debt: the parser is copied into both services.", "登录太慢，我们绕开了它，把令牌缓存在内存里。",
        "Secrets live in Vault.", "密钥放 Vault，不放配置文件",
        "Our Postgres is version 12, so no MERGE.", "我们的库是 12 版",
        "Two reviewers for anything in billing.", "计费模块的改动要两个人评审",
        "Write this down: callbacks may arrive twice.", "记一下，回调可能会重复。",
        "we are going to adopt the contract of the other tool.", "full schema should not be updated ever.",
        "the vendor API rate limits at 5 requests per second per key", "you cannot import from app/ inside packages/",
        "also every example needs an oracle file.", "I allow you to commit with --no-verify",
        "the staging cluster gets wiped every Sunday night", "half the customers are still on the old login",
    ],
)  # fmt: skip
def test_what_may_hold_from_now_on_is_asked(said: str) -> None:
    [opening] = found(("human", "Go on"), ("agent", "Looking."), ("human", said))
    assert opening.kind in (STATEMENT, DECISION, CORRECTION) and opening.quotes[-1].quote == said


@pytest.mark.parametrize(
    "said",
    [
        "Maybe later we try Redis.",
        "以后试试 Redis",
        "We could keep it below 80 MB at some point.",
        "以后可能换成 Loki",
        "Next sprint we switch to Loki.",
        "下个迭代换成 Loki",
        "rename the class and keep the callers",
        "把超时改成十秒",
        "Just finished it, all tests pass.",
        "刚发完版，全部正常",
        "Tom says we should drop it.",
        "老王说这个字段不能为空",
        "For this release the canary is out.",
        "这次先不做灰度",
        "Why is it always slow?",
        "旧环境要保留多久",
        "Don't touch the code yet.",
        "先别改代码",
    ],
)
def test_plans_orders_reports_and_hearsay_are_no_statements(said: str) -> None:
    assert found(("human", "Go on"), ("agent", "Looking."), ("human", said)) == []


def test_what_the_rules_can_word_themselves_is_none() -> None:
    """A decision with its reason becomes a candidate by itself."""
    said = "We decided to store amounts in cents because floats drift."
    assert found(("human", "Go on"), ("agent", "Looking."), ("human", said)) == []
    assert found(("human", "继续"), ("agent", "看看。"), ("human", "我们决定金额用分存储，因为浮点会漂移。")) == []


@pytest.mark.parametrize(
    ("person", "recap"),
    [
        ("No, a tie keeps the primary record.", "Settled: the fullest record wins, a tie keeps the primary one."),
        ("不对，相同时保留主记录。", "规则定了：字段最多的记录优先，相同时保留主记录。"),
    ],
)
def test_a_recap_belongs_to_the_word_that_it_repeats(person: str, recap: str) -> None:
    turns = (("human", "Merge them"), ("agent", "Newest wins."), ("human", person), ("agent", recap))
    [opening] = found(*turns)
    assert [quote.line for quote in opening.quotes] == [3, 4] and opening.line == 3
    [later] = found(*turns, after=3)
    assert later.quotes[0].line == 4, "what was read before is not found again"


@pytest.mark.parametrize(
    ("agent", "person"),
    [
        ("Nothing yet. The usual ones: Celery with Redis, Celery with RabbitMQ, or a Postgres queue (procrastinate).",
         "then celery with redis. it runs already and ops know it, rabbit would be one more thing"),
        ("可选：Quartz 集群（JDBC JobStore）、ShedLock、XXL-Job。", "用 Quartz 集群模式，不想再维护一个调度中心"),
        ("Do you want tabs or spaces?", "Spaces, everybody's editor shows them alike and the diff stays readable."),
    ],
)  # fmt: skip
def test_an_option_taken_with_its_reason_is_a_choice(agent: str, person: str) -> None:
    [opening] = found(("human", "Pick something"), ("agent", agent), ("human", person))
    assert opening.kind in (CHOICE, DECISION) and opening.quotes[-1].quote == person
    assert len(opening.quotes) == 2, "with the options that were named"


def test_what_a_statement_points_back_at_comes_with_it() -> None:
    lead = "A plain index locks the table while it is built."
    [opening] = found(("human", "Look"), ("agent", lead), ("human", "yes. and remember that for every big table"))
    assert [one.quote for one in opening.quotes] == [lead, "and remember that for every big table"]


@pytest.mark.parametrize(
    ("report", "gone"),
    [
        ("staging is down: FATAL: sorry, too many clients already", "Staging is back. Look at pgbouncer first there."),
        ("预发起不来：\n异常: Could not resolve placeholder", "设置 NACOS_NAMESPACE 后启动正常。先查 namespace。"),
    ],
)
def test_a_failure_a_person_reports_is_an_opening_when_it_is_gone(report: str, gone: str) -> None:
    looks = [turn for number in range(3) for turn in call(number, f"ssh host look-{number}", "ok")]
    [opening] = found(("human", report), *looks, ("agent", gone))
    assert opening.kind == FAILURE and opening.quotes[-1].quote == gone and opening.quotes[0].quote in report
    assert found(("human", report), *looks[:2], ("agent", gone)) == [], "what one call shows is no failure overcome"


def test_a_failure_that_took_calls_and_has_no_cause_is_an_opening() -> None:
    error = "ModuleNotFoundError: No module named 'pika'"
    slow = (
        ("human", "Make the tests pass"),
        *call(1, "pytest -q", error, fails=True),
        *call(2, "cat setup.cfg", "…"),
        *call(3, "pip install pika", "Successfully installed"),
        *call(4, "pytest -q", "12 passed"),
    )
    [opening] = found(*slow)
    assert opening.kind == FAILURE and "pika" in opening.quotes[0].quote
    quick = (*slow[:3], *call(4, "pytest -q", "12 passed"))
    assert found(*quick) == [], "a slip that the next call mends is not worth a word"
    cause = ("agent", "The real problem is that the broker client is not among the requirements of the tests.")
    assert found(*slow[:3], cause, *slow[3:]) == [], "where the cause was said, the rules word it"


@pytest.mark.parametrize("question", ["Where is the retry limit set?", "重试上限在哪里设置？"])
def test_an_answer_that_cost_ten_calls_is_an_opening(question: str) -> None:
    def ask(calls: int) -> list[Opening]:
        looks = [part for number in range(calls) for part in call(number, f"cat file{number}", "…")]
        return found(("human", question), *looks, ("agent", "It is set in conf/limits.toml, read at start."))

    assert [opening.kind for opening in ask(10)] == [ANSWER]
    assert ask(9) == []


def test_a_pasted_document_is_nobodys_word() -> None:
    pasted = "No, exports belong to the reports package.\n" + "Log line of the build.\n" * 200
    assert found(("human", "Go on"), ("agent", "I'll put it under tools."), ("human", pasted)) == []


@pytest.mark.parametrize(
    "said",
    [
        "The mobile app caches that response for a day.", "Prices include VAT everywhere.",
        "The GPU box is only reachable over VPN.", "We gave up on GraphQL last year.",
        "Mocking the clock broke us twice.",
        "A tenant is a company, not a user.", "Search is eventually consistent, so don't read after write.",
        "callbacks may arrive twice", "回调可能会重复", "日志里不打手机号", "配置改了要重启网关", "预发库每周日清空",
        "线上只有运维能重启", "老客户还在用 v1 接口", "错误码找平台组申请", "这个仓库不接受直接推 main",
    ],
)  # fmt: skip
def test_how_things_are_as_a_rule_is_asked(said: str) -> None:
    [opening] = found(("human", "Go on"), ("agent", "Looking."), ("human", said))
    assert opening.quotes[-1].quote == said


@pytest.mark.parametrize(
    "said",
    [
        "that test is flaky today", "the build is red again", "I'm getting a 500 on the staging login",
        "i cannot see any sessions in the dashboard", "maybe we could cache it", "try it with node 20",
        "改完了跑一下测试", "找一下在哪里调用的", "新版本发完了", "日志里不打印了，为什么",
    ],
)  # fmt: skip
def test_how_it_goes_today_is_none(said: str) -> None:
    assert found(("human", "Go on"), ("agent", "Looking."), ("human", said)) == []
