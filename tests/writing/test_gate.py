"""A candidate is written when it repeats, weighs or can be used again; otherwise the gate says what to add."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.config import Config
from kb.records.candidate import AREAS
from kb.records.model import Candidate
from kb.writing.gate import SelfCheck, answer_self_check, assess_admission, find_impact_areas, find_touched_modules

CONFIG = Config()
PLAIN = Candidate(
    "decision",
    "Sort the list of members by name",
    "Members are sorted by their last name.",
    why="People look for names.",
)
SCHLICHT = Candidate("decision", "成员列表按姓名排序", "成员按姓氏拼音排序。", why="方便查找。")


@pytest.mark.parametrize("candidate", [PLAIN, SCHLICHT])
@pytest.mark.parametrize(("repeated", "large", "reusable"), list(product([False, True], repeat=3)))
def test_one_of_three_conditions_is_enough(candidate: Candidate, repeated: bool, large: bool, reusable: bool) -> None:
    candidate = candidate._replace(impact_areas=("security",) if large else (), reusable=reusable or None)
    answer = assess_admission(candidate, 2 if repeated else 1, CONFIG)
    assert answer.admitted is (repeated or large or reusable)
    assert len(answer.grounds) == repeated + large + reusable
    assert bool(answer.objections) is not answer.admitted


def test_the_grounds_say_which_condition_held_and_why() -> None:
    answer = assess_admission(
        PLAIN._replace(impact_areas=("security",), reusable=True, reference_value=True), 3, CONFIG
    )
    assert [str(ground) for ground in answer.grounds] == [
        "repeated: seen in 3 sessions",
        "large impact: security",
        "reusable: useful in other projects",
        "self-check: it will be worth looking up",
    ]


@pytest.mark.parametrize(
    ("repeat", "sightings", "admitted"), [(2, 1, False), (2, 2, True), (3, 2, False), (3, 3, True)]
)
def test_repetition_is_counted_in_sessions(repeat: int, sightings: int, admitted: bool) -> None:
    assert assess_admission(PLAIN, sightings, CONFIG._replace(repeat=repeat)).admitted is admitted


def test_times_without_a_session_are_not_called_sessions() -> None:
    (ground,) = assess_admission(PLAIN, 3, CONFIG, in_sessions=False).grounds
    assert str(ground) == "repeated: seen at least 3 times" and ground.translate("zh") == "重复出现：至少 3 次"


def test_below_the_gate_is_held_with_what_to_add() -> None:
    (objection,) = assess_admission(PLAIN, 1, CONFIG._replace(repeat=3)).objections
    assert objection.rule == "gate" and objection.holds and not objection.refuses
    for word in ("--area", "security", "--reusable", "--affects-future yes", "2 more"):
        assert word in str(objection.remedy)


# -- large impact ---------------------------------------------------------------------------------

LARGE = (
    ("architecture", "选择 FastAPI 作为后端框架", "Use FastAPI as the backend framework"),
    ("architecture", "订单服务拆分为微服务", "Split the order service into microservices"),
    ("architecture", "用 PostgreSQL 存订单", "Keep orders in PostgreSQL"),
    ("architecture", "消息队列改用 Kafka", "Publish events to a message queue"),
    ("architecture", "对外接口保持向后兼容", "Keep the public API backward compatible"),
    ("architecture", "使用 Ollama 作为本地大模型", "Use Ollama as the local LLM"),
    ("security", "所有输出必须脱敏", "Redact every output"),
    ("security", "登录采用 OAuth2 认证", "Authenticate users with OAuth2"),
    ("security", "上传接口有越权漏洞", "The upload endpoint is vulnerable to path traversal"),
    ("security", "密钥不得写入日志", "Secrets never go to the log"),
    ("performance", "FFmpeg 在某格式下泄漏内存", "FFmpeg leaks memory with MKV"),
    ("performance", "列表接口加缓存降低延迟", "Lower the latency of the list endpoint with caching"),
    ("performance", "慢查询走只读副本", "Run slow queries on a replica"),
    ("performance", "并发写入会死锁", "Concurrent writers deadlock on the counter"),
    ("architecture", "前端从 React 迁到 Vue", "Migrate the front end from React to Vue"),
    ("security", "所有用户输入在渲染前转义", "Escape all user input before rendering"),
    ("security", "SQL 一律参数化查询", "Only parameterised statements reach SQL"),
    ("security", "上传文件先做病毒扫描", "Uploaded files are scanned for viruses"),
    ("performance", "给订单表的编号建索引", "Add an index to the order numbers"),
    ("performance", "首屏图片懒加载", "Lazy-load the images below the fold"),
    ("performance", "静态资源用 brotli 压缩", "Serve assets with brotli"),
    ("compliance", "用户数据满足 GDPR 合规要求", "Delete customer rows after 30 days for GDPR"),
    ("compliance", "操作记录保留期限为三年，供审计", "Keep an audit trail of every refund"),
    ("compliance", "依赖只用 MIT 许可证", "Depend on packages with an MIT licence only"),
    ("compliance", "个人信息不出境", "Personal data stays in the region"),
)


@pytest.mark.parametrize(("area", "title"), [(area, title) for area, *titles in LARGE for title in titles])
def test_the_words_of_a_large_matter_let_it_through(area: str, title: str) -> None:
    candidate = Candidate("decision", title)
    assert area in find_impact_areas(candidate)
    answer = assess_admission(candidate, 1, CONFIG)
    assert answer.admitted and any(area in str(ground) for ground in answer.grounds)


SMALL = (
    "Make the button colour blue",
    "按钮颜色改为蓝色",
    "Rename the variable total to sum",
    "重命名变量 total 为 sum",
    "Rename the local variable auth_token to token",
    "重命名变量 password_hash 为 digest",
    "Fix a typo in the security page",
    "安全页的错别字要改",
    "Change the icon of the performance report",
    "性能报告换图标",
    "Sort imports alphabetically",
    "成员列表按姓名排序",
    "Show the date in the footer",
    "页脚显示日期",
    "Use four spaces",
    "会议改到周三",
    "Meet on Wednesdays",
    "The helper is type safe",
    "这个类是线程安全的",
    "Reorder the menu, no security impact",
    "调整菜单顺序，不影响性能",
    "调整菜单顺序，与安全无关",
    "调整菜单顺序，没有安全方面的影响",
    "This does not affect performance of anything",
    "Move the menu; unrelated to security",
    "Secretary of the month",
    "Put the classic view first",
    "单词本排序",
)


@pytest.mark.parametrize("title", SMALL)
def test_small_matters_stay_below_the_gate(title: str) -> None:
    assert find_impact_areas(Candidate("decision", title)) == {}
    assert not assess_admission(Candidate("decision", title), 1, CONFIG).admitted


@pytest.mark.parametrize(
    "title", ["Never expose the API without authentication", "接口不得无认证访问", "性能与安全同等重要"]
)
def test_a_word_is_not_taken_back_by_any_negation(title: str) -> None:
    assert "security" in find_impact_areas(Candidate("constraint", title))


def test_reasons_and_tags_are_read_too() -> None:
    assert find_impact_areas(PLAIN._replace(why="The auditors ask for GDPR compliance.")) == {"compliance": "GDPR"}
    assert find_impact_areas(PLAIN._replace(tags=("性能",))) == {"performance": "性能"}
    assert find_impact_areas(PLAIN._replace(alternatives="a database")) == {}


def test_the_ground_names_the_word() -> None:
    (ground,) = assess_admission(Candidate("decision", "Lower latencies of the list"), 1, CONFIG).grounds
    assert str(ground) == "large impact: performance (“latencies”)"


@pytest.mark.parametrize("area", AREAS)
def test_the_caller_may_name_the_area(area: str) -> None:
    assert assess_admission(PLAIN._replace(impact_areas=(area,)), 1, CONFIG).admitted


# -- modules --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (("src/orders/api.py", "src/billing/api.py"), ("billing", "orders")),
        (("orders/api.py", "orders/db.py"), ("orders",)),
        (("src/orders/api.py", "tests/billing/test_api.py", "docs/billing/api.md"), ("orders",)),
        (("README.md", "pyproject.toml", "orders/a.py"), ("orders",)),
        (("packages/web/", "packages/api/src/a.ts"), ("api", "web")),
        (("shop/orders/a.py", "shop/billing/b.py"), ("billing", "orders")),
        (("services\\web\\a.cs", "services\\api\\b.cs"), ("api", "web")),
        (("./src/订单/a.py", "src/账单/b.py"), ("订单", "账单")),
        (("src/orders/api/a.py", "src/orders/db/b.py", "srcfoo/x.py"), ("orders", "srcfoo")),
        (("src/main.py", "lib/"), ()),
        ((), ()),
    ],
)
def test_modules_are_read_from_paths(paths: tuple[str, ...], found: tuple[str, ...]) -> None:
    candidate = PLAIN._replace(impact=paths, scope="project/shop")
    assert find_touched_modules(candidate) == found
    assert assess_admission(candidate, 1, CONFIG).admitted is (len(found) > 1)


# -- reusable -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "reusable", "admitted"),
    [
        ("pattern", None, True), ("checklist", None, True), ("pattern", False, False), ("decision", True, True),
        ("decision", None, False), ("preference", None, True), ("pitfall", None, False), ("domain-note",
        None, False),
    ],
)  # fmt: skip
def test_what_can_be_used_again_is_written(kind: str, reusable: bool | None, admitted: bool) -> None:
    assert assess_admission(PLAIN._replace(kind=kind, reusable=reusable), 1, CONFIG).admitted is admitted


# -- the self-check -------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", list(product([None, False, True], repeat=3)))
def test_any_yes_writes_and_only_three_noes_refuse(answers: tuple[bool | None, ...]) -> None:
    future, reference, repeat = answers
    candidate = PLAIN._replace(affects_future=future, reference_value=reference, prevents_repeat=repeat)
    answer = assess_admission(candidate, 1, CONFIG)
    assert answer.admitted is (True in answers)
    assert any(objection.refuses for objection in answer.objections) is (set(answers) == {False})


def test_three_noes_outweigh_everything() -> None:
    candidate = Candidate(
        "pattern", "所有输出必须脱敏", impact_areas=AREAS, reusable=True,
        affects_future=False, reference_value=False, prevents_repeat=False,
    )  # fmt: skip
    answer = assess_admission(candidate, 9, CONFIG)
    assert not answer.admitted and answer.grounds == ()
    assert [(o.rule, o.refuses) for o in answer.objections] == [("self-check", True)]


@pytest.mark.parametrize(
    ("title", "check"),
    [
        ("From now on reply in Chinese", SelfCheck(True, None, None)),
        ("以后都用中文回复", SelfCheck(True, None, None)),
        ("今后提交信息不超过五十字", SelfCheck(True, None, None)),
        ("Lesson: run the linter before the push", SelfCheck(None, None, True)),
        ("教训：推送前先跑检查", SelfCheck(None, None, True)),
        ("又一次忘了更新子模块", SelfCheck(None, None, True)),
        ("登录以后跳转到首页", SelfCheck(None, None, None)),
        ("再次点击收起菜单", SelfCheck(None, None, None)),
        ("The list may grow in the future", SelfCheck(None, None, None)),
        ("成员列表按姓名排序", SelfCheck(None, None, None)),
    ],
)
def test_open_questions_are_read_from_the_text_where_it_says_so(title: str, check: SelfCheck) -> None:
    candidate = Candidate("domain-note", title)
    assert answer_self_check(candidate) == check
    assert assess_admission(candidate, 1, CONFIG).admitted is (True in check)


def test_what_the_caller_answers_is_not_read_from_the_text() -> None:
    candidate = Candidate("preference", "以后都用中文回复", affects_future=False)
    assert answer_self_check(candidate).affects_future is False


# -- confidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "admitted"), [(None, True), (0.9, True), (0.5, True), (0.49, False), (0.0, False)]
)
@pytest.mark.parametrize(
    "title", ["Encrypt the backups", "备份必须加密", "From now on squash merges", "以后都压缩合并"]
)
def test_words_alone_prove_nothing_when_confidence_is_low(title: str, confidence: float | None, admitted: bool) -> None:
    candidate = Candidate("decision", title, confidence=confidence)
    assert assess_admission(candidate, 1, CONFIG).admitted is admitted


@pytest.mark.parametrize(
    "change",
    [{"impact_areas": ("security",)}, {"reusable": True}, {"affects_future": True}, {"impact": ("a/x.py", "b/y.py")}],
)
def test_what_the_caller_states_counts_with_any_confidence(change: dict[str, object]) -> None:
    assert assess_admission(PLAIN._replace(confidence=0.1, **change), 1, CONFIG).admitted


def test_a_doubtful_candidate_is_told_so() -> None:
    (objection,) = assess_admission(Candidate("decision", "Encrypt the backups", confidence=0.3), 1, CONFIG).objections
    assert "0.3" in str(objection.reason)


@given(
    st.builds(
        Candidate, st.sampled_from(["decision", "pattern", "preference"]), st.text(max_size=40), st.text(max_size=60),
        impact=st.lists(st.text(max_size=12), max_size=3).map(tuple), reusable=st.none() | st.booleans(),
        affects_future=st.none() | st.booleans(), reference_value=st.none() | st.booleans(),
        prevents_repeat=st.none() | st.booleans(), confidence=st.none() | st.floats(0, 1),
    ),
    st.integers(0, 4),
)  # fmt: skip
def test_an_answer_has_either_grounds_or_objections(candidate: Candidate, sightings: int) -> None:
    answer = assess_admission(candidate, sightings, CONFIG)
    assert answer.admitted is bool(answer.grounds) is not bool(answer.objections)
    assert assess_admission(candidate, sightings + 1, CONFIG).admitted >= answer.admitted


@pytest.mark.parametrize("title", ["Refunds are possible for 90 days", "退款期限为 90 天"])
def test_what_would_overturn_a_decision_in_force_is_never_small(title: str) -> None:
    candidate = Candidate("decision", title, decision=title, why="the shop asked for it")
    assert not assess_admission(candidate, 1, Config()).admitted
    overturning = assess_admission(candidate, 1, Config(), overturns="D007")
    assert overturning.admitted
    assert "D007" in str(overturning.grounds[0])
    no = candidate._replace(affects_future=False, reference_value=False, prevents_repeat=False)
    assert not assess_admission(no, 1, Config(), overturns="D007").admitted


def test_a_mask_is_no_word_about_security() -> None:
    assert not assess_admission(
        Candidate("decision", "Ask [redacted:email] for the list", "x", "y"), 1, Config()
    ).grounds


@pytest.mark.parametrize(
    "title", ["Git Token 只在容器内使用", "The git token stays in the container", "Session tokens never stand in a URL"]
)
def test_a_rule_about_tokens_weighs_on_security(title: str) -> None:
    assert "security" in find_impact_areas(Candidate("constraint", title))


@pytest.mark.parametrize("title", ["限流用令牌桶算法", "A prompt has 1500 tokens", "每次请求最多 4000 token"])
def test_tokens_of_a_model_are_no_secret_ones(title: str) -> None:
    assert "security" not in find_impact_areas(Candidate("constraint", title))


@pytest.mark.parametrize(
    ("kind", "title", "admitted"),
    [
        ("interface", "Agent.review() -> ReviewResult", True),
        ("interface", "GET /health 返回 204", True),
        ("interface", "load(path) 返回 Config", True),
        ("interface", "The dialog has two buttons", False),
        ("decision", "Agent.review() -> ReviewResult", False),
    ],
)
def test_an_interface_with_a_signature_is_one_that_callers_depend_on(kind: str, title: str, admitted: bool) -> None:
    assert assess_admission(Candidate(kind, title), 1, CONFIG).admitted is admitted


def test_an_update_is_no_repetition() -> None:
    """What completes a record needs no other ground than the record; three times no keeps it out as ever."""
    update = Candidate("decision", "Paint the settings button blue", verification="Look at it.", updates="D001")
    answer = assess_admission(update, 1, Config())
    assert answer.admitted and [str(ground) for ground in answer.grounds] == [
        "updates [D001], which has passed the gate"
    ]
    assert answer.grounds[0].translate("zh") == "更新已过闸门的 [D001]"
    no = update._replace(affects_future=False, reference_value=False, prevents_repeat=False)
    assert not assess_admission(no, 1, Config()).admitted
