"""Contradictions: what cannot both hold, and the many pairs that only look so."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.records.model import Candidate, Record, Section
from kb.similarity.contradictions import find_contradiction, has_word_of_change, normalise_claim
from kb.similarity.statement import parse_statement
from tests.support.sealed import DATA

PAIRS = DATA / "pairs"


def a_record(title: str, decision: str = "", **fields: object) -> Record:
    """Return an accepted decision of the shop."""
    sections = (Section("decision", "Decision", decision),) if decision else ()
    values = {"scope": "project/shop", "status": "accepted", "kind": "decision", "sections": sections, **fields}
    return Record(id="D001", title=title, **values)  # type: ignore[arg-type]


def a_candidate(title: str, decision: str = "", **fields: object) -> Candidate:
    """Return a decision handed in for the shop."""
    values = {"kind": "decision", "scope": "project/shop", **fields}
    return Candidate(title=title, decision=decision, **values)  # type: ignore[arg-type]


def contradict(one: str, other: str) -> bool:
    """Return whether two titles contradict each other, whichever came first."""
    forth = find_contradiction(a_candidate(other), a_record(one))
    back = find_contradiction(a_candidate(one), a_record(other))
    assert (forth is None) == (back is None), "a contradiction has no direction"
    return forth is not None


NEGATED = [
    ("日志必须脱敏", "日志不必脱敏"),
    ("日志必须脱敏", "日志禁止脱敏"),
    ("日志脱敏", "日志不脱敏"),
    ("可以在预发库执行迁移脚本", "不要在预发库执行迁移脚本"),
    ("启用接口压缩", "接口压缩已停用"),
    ("开启跨域请求", "关闭跨域请求"),
    ("审计字段必填", "审计字段选填"),
    ("报表包含测试数据", "报表排除测试数据"),
    ("Logs must be masked", "Logs need not be masked"),
    ("Logs must be masked", "Logs must not be masked"),
    ("Use an ORM in reports", "Do not use an ORM in reports"),
    ("Use an ORM in reports", "Avoid an ORM in reports"),
    ("Use mocks in unit specs", "Stop using mocks in unit specs"),
    ("Enable response compression", "Response compression is disabled"),
    ("Allow cross-origin requests", "Forbid cross-origin requests"),
    ("Descriptions are mandatory", "Descriptions are optional"),
    ("Deploy with a maintenance page", "Deploy without a maintenance page"),
    ("Never retry a refund", "Always retry a refund"),
    ("Reports include test data", "Reports exclude test data"),
]
CHOSEN = [
    ("使用 FastAPI 作为后端框架", "采用 Flask 作为后端框架"),
    ("FastAPI 作为后端框架", "后端框架改用 Flask"),
    ("数据库选 PostgreSQL", "数据库选 MySQL"),
    ("数据库选 PostgreSQL", "Use MySQL as the database"),
    ("配置文件格式：YAML", "配置文件格式：TOML"),
    ("用 pnpm 代替 npm", "使用 npm"),
    ("删除用户采用软删除", "删除用户采用物理删除"),
    ("从 Jenkins 迁移到 GitHub Actions", "使用 Jenkins 做持续集成"),
    ("Use FastAPI as the backend framework", "Use Flask as backend framework"),
    ("We chose Kafka over RabbitMQ for order events", "RabbitMQ for order events"),
    ("Template engine: Jinja", "Template engine: Mako"),
    ("Use the slug as the unique key", "Use the number as the unique key"),
    ("Store sessions in Redis", "Store sessions in Memcached"),
    ("Indent with tabs", "Indent with spaces"),
    ("Replace Jenkins with GitHub Actions", "Use Jenkins for CI"),
    ("Do not use Redis", "Use Redis for caching"),
    ("Prefer composition over inheritance", "Prefer inheritance over composition"),
]
NUMBERED = [
    ("退款窗口 30 天", "退款窗口 90 天"),
    ("退款窗口三十天", "退款窗口改为九十天"),
    ("测试覆盖率不低于 80%", "测试覆盖率不低于 90%"),
    ("服务监听 8000 端口", "服务监听 8001 端口"),
    ("API listens on port 8000", "API listens on port 8001"),
    ("Access tokens live 15 minutes", "Access tokens live two hours"),
    ("Use Python 3.11", "Use Python 3.12"),
    ("Merging requires two approvals", "Merging requires one approval"),
    ("Access tokens live 15 minutes, refresh tokens 7 days", "Access tokens live 30 minutes, refresh tokens 7 days"),
]
COMPATIBLE = [
    ("Use Redis for caching", "Use Redis for queues"),
    ("日志必须脱敏", "日志必须压缩"),
    ("日志必须脱敏", "日志可以脱敏"),
    ("Use FastAPI for the API", "Use Flask for the admin UI"),
    ("Use PostgreSQL in production", "Use SQLite in tests"),
    ("生产环境使用 PostgreSQL", "测试环境使用 SQLite"),
    ("Use TypeScript for the frontend", "Use React for the frontend"),
    ("Use Kafka and RabbitMQ for messaging", "Use Kafka for messaging"),
    ("Use PostgreSQL", "Use PostgreSQL with PgBouncer"),
    ("Support MySQL", "Support PostgreSQL"),
    ("新增 MySQL 驱动", "新增 PostgreSQL 驱动"),
    ("Do not use Redis for sessions", "Use Redis for caching"),
    ("Passwords have at least 12 characters", "Passwords have at most 128 characters"),
    ("密码至少 12 位", "密码最多 128 位"),
    ("CI for CentOS 7", "CI for CentOS 8"),
    ("Step 1 uses Redis", "Step 2 uses Memcached"),
    ("Answers time out after 1 minute", "Answers time out after 60 seconds"),
    ("会话两小时后过期", "会话 120 分钟后过期"),
    ("缓存过期时间 10 分钟", "令牌过期时间 30 分钟"),
    ("禁止禁用审计日志", "审计日志必须启用"),
    ("Never disable the audit log", "Enable the audit log"),
    ("The server must trust the gateway before the client", "The client need not trust the gateway before the server"),
    ("Should we mask logs?", "Do not mask logs"),
    ("要不要给日志脱敏？", "日志不要脱敏"),
    ("Guests may read the wiki", "Guests must read the wiki"),
    ("Deploy only on Mondays", "Do not deploy on Mondays"),
    ("Also use Flask as the backend framework", "Use FastAPI as the backend framework"),
    ("Use retries because calls fail", "Do not use timeouts because calls fail"),
]


@pytest.mark.parametrize(("one", "other"), NEGATED)
def test_an_opposite_duty_contradicts(one: str, other: str) -> None:
    assert contradict(one, other)


@pytest.mark.parametrize(("one", "other"), CHOSEN)
def test_another_choice_for_the_same_contradicts(one: str, other: str) -> None:
    assert contradict(one, other)


@pytest.mark.parametrize(("one", "other"), NUMBERED)
def test_another_number_for_the_same_contradicts(one: str, other: str) -> None:
    assert contradict(one, other)


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_what_only_looks_alike_does_not_contradict(one: str, other: str) -> None:
    assert not contradict(one, other)


# -- titles and decisions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "one", "other"),
    [
        ("消息队列", "采用 RabbitMQ。", "采用 Kafka。"),
        ("Message broker", "Use RabbitMQ.", "Use Kafka."),
        ("Refunds", "The window is 30 days.", "The window is 90 days."),
        ("日志处理", "写出前必须脱敏。", "写出前不必脱敏。"),
        ("Sessions", "Cookies are signed. Keep them 2 hours.", "Cookies are signed. Keep them 3 hours."),
    ],
)
def test_under_one_title_the_decisions_are_compared(title: str, one: str, other: str) -> None:
    assert find_contradiction(a_candidate(title, other), a_record(title, one))
    assert find_contradiction(a_candidate(title, one), a_record(title, one)) is None


@pytest.mark.parametrize(
    ("title", "whole", "denial"),
    [
        (
            "Amounts are integer cents",
            "Stored as integer cents, 2 decimals.",
            "Amounts are not stored as integer cents.",
        ),
        ("Retry policy", "Retry payments three times with backoff.", "Do not retry payments."),
        ("日志处理", "写出前必须脱敏，保留 30 天。", "写出前不必脱敏。"),
    ],
)
def test_a_denial_denies_what_says_more_and_is_no_denial_of_what_says_less(title: str, whole: str, denial: str) -> None:
    assert find_contradiction(a_candidate(title, denial), a_record(title, whole))
    assert find_contradiction(a_candidate(title, whole), a_record(title, denial))


@pytest.mark.parametrize(
    ("title", "one", "part"),
    [
        ("Amounts", "Amounts are rounded.", "Amounts of refunds in foreign currencies are not rounded."),
        ("Logging", "Log errors with their stack traces.", "Do not log passwords."),
        ("日志处理", "写出前必须脱敏。", "调试环境的日志写出前不必脱敏。"),
    ],
)
def test_a_denial_of_a_part_leaves_the_rest(title: str, one: str, part: str) -> None:
    assert find_contradiction(a_candidate(title, part), a_record(title, one)) is None


def test_decisions_under_other_titles_are_not_compared() -> None:
    old = a_record("Refunds of books", "The window is 30 days.")
    assert find_contradiction(a_candidate("Returns of rented tools", "The window is 90 days."), old) is None


def test_shared_paths_excuse_a_word_or_a_missing_subject() -> None:
    """Same impact paths with another choice about the same thing (SHI-24)."""
    old = a_record("Public API: use FastAPI", impact=("api/app.py",))
    new = a_candidate("Use Flask", impact=("api/app.py",))
    assert find_contradiction(new, old)
    assert find_contradiction(new._replace(impact=("admin/app.py",)), old) is None
    port = a_record("订单接口监听 8000 端口", impact=("deploy/orders/",))
    assert find_contradiction(a_candidate("接口监听 8001 端口", impact=("deploy/orders/api.yaml",)), port)
    assert find_contradiction(a_candidate("接口监听 8001 端口", impact=("deploy/users/api.yaml",)), port) is None


# -- who can be contradicted ----------------------------------------------------------------------


@pytest.mark.parametrize("status", ["rejected", "deprecated", "superseded"])
def test_only_a_live_record_is_contradicted(status: str) -> None:
    assert find_contradiction(a_candidate("日志不必脱敏"), a_record("日志必须脱敏", status=status)) is None


@pytest.mark.parametrize("scope", ["global", "project/other", ""])
def test_only_the_same_scope_is_contradicted(scope: str) -> None:
    assert find_contradiction(a_candidate("日志不必脱敏", scope=scope), a_record("日志必须脱敏")) is None


@pytest.mark.parametrize("kind", ["pitfall", "checklist"])
def test_only_kinds_that_rule_are_compared_by_their_words(kind: str) -> None:
    assert find_contradiction(a_candidate("日志不必脱敏", kind=kind), a_record("日志必须脱敏")) is None
    assert find_contradiction(a_candidate("日志不必脱敏", kind="constraint"), a_record("日志必须脱敏"))


@pytest.mark.parametrize(
    "relation",
    [
        {"supersedes": ("D001",)},
        {"supersedes": ("[D001]",)},
        {"supersedes": ("shop:D001",)},
        {"amends": ("01J",)},
        {"coexists_with": {"D001": "只在内网"}},
        {"updates": "D001"},
    ],
)
def test_what_is_settled_between_the_two_is_no_contradiction(relation: dict[str, object]) -> None:
    old = a_record("日志必须脱敏", uid="01J")
    assert find_contradiction(a_candidate("日志不必脱敏", **relation), old) is None
    assert find_contradiction(a_candidate("日志不必脱敏", supersedes=("D002",)), old)


def test_a_record_may_name_what_it_coexists_with() -> None:
    old = a_record("日志必须脱敏", coexists_with={"D007": "只在内网"})
    assert find_contradiction(a_candidate("日志不必脱敏", updates="D007"), old) is None
    assert find_contradiction(a_candidate("日志不必脱敏", updates="D008"), old)


# -- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "contradicts"),
    [
        ("FastAPI", "Flask", True),
        ("FastAPI", "fastapi ", False),
        ("90", "90.0", False),
        ("90 days", "90 天", False),
        ("60 s", "1 min", False),
        ("30 days", "90 days", True),
        ("3.1", "31", True),
        (">=5", "<=5", True),
        ("10 MB", "10MB", False),
        ("“utf-8”", "UTF-8", False),
        ("３０", "30", False),
    ],
)
def test_claims_compare_values(old: str, new: str, contradicts: bool) -> None:
    record = a_record("Platform", claims={"Backend.Framework": old})
    said = find_contradiction(a_candidate("Another subject", claims={"backend.framework": new}), record)
    assert (said is not None) == contradicts
    if said:
        assert str(said) == f"[D001] claims backend.framework = {old}; this claims {new}"
    assert (normalise_claim(old) != normalise_claim(new)) == contradicts


def test_claims_count_for_every_kind_but_not_for_other_keys_or_when_they_coexist() -> None:
    record = a_record("Platform", kind="pitfall", claims={"db.port": "5432"})
    new = a_candidate("Pool", kind="checklist", claims={"db.port": "6432"})
    assert find_contradiction(new, record)
    assert find_contradiction(new._replace(claims={"pool.port": "6432"}), record) is None
    assert find_contradiction(new._replace(coexists_with={"D001": "behind the pool"}), record) is None


# -- words and laws -------------------------------------------------------------------------------


def test_the_reason_names_both_sides() -> None:
    said = find_contradiction(a_candidate("退款窗口 90 天"), a_record("退款窗口 30 天"))
    assert str(said) == "“退款窗口 90 天” changes a number of “退款窗口 30 天” in [D001]"
    said = find_contradiction(a_candidate("日志不必脱敏"), a_record("日志必须脱敏"))
    assert str(said) == "“日志不必脱敏” says the opposite of “日志必须脱敏” in [D001]"
    said = find_contradiction(
        a_candidate("Use Flask as the web framework"), a_record("Use Django as the web framework")
    )
    assert str(said) == (
        "“Use Flask as the web framework” chooses otherwise than “Use Django as the web framework” in [D001]"
    )


def titles() -> list[str]:
    """Return all titles of the labelled pairs."""
    found: list[str] = []
    for name in ("dev.tsv", "heldout.tsv"):
        with (PAIRS / name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                found += [row["record_title"], row["candidate_title"]]
    return found


@pytest.mark.parametrize("title", titles())
def test_nothing_contradicts_itself(title: str) -> None:
    assert find_contradiction(a_candidate(title, title), a_record(title, title)) is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_read_and_does_not_contradict_itself(one: str, other: str) -> None:
    parse_statement(one)
    contradict(one, other)
    assert not contradict(one, one)


@pytest.mark.parametrize(
    ("old", "title", "decision", "is_changed"),
    [
        ("单次导出不超过 1 万行", "导出上限放宽", "单次上限从 1 万行提高到 5 万行", True),
        ("文件存储用 FastDFS", "文件迁移", "文件存储由 FastDFS 换成 OSS", True),
        ("The coverage gate is 70 %", "Coverage gate raised", "The coverage gate goes up from 70 to 80 %", True),
        ("The coverage gate is 80 %", "Coverage gate raised", "The coverage gate goes up from 70 to 80 %", False),
        ("The coverage gate is 170", "Coverage gate raised", "The coverage gate goes up from 70 to 80 %", False),
    ],
)
def test_a_change_that_says_from_what_to_what_contradicts_what_had_that(
    old: str, title: str, decision: str, is_changed: bool
) -> None:
    found = find_contradiction(a_candidate(title, decision), a_record("Limit 上限", old))
    assert (found is not None) == is_changed


@pytest.mark.parametrize(
    ("old", "new", "is_update"),
    [
        ("商品接口要求登录", "商品接口不再要求登录", True),
        ("Users log in by password", "Users can now log in by passkey as well", True),
        ("Users log in by password", "Users log in with a password", False),
        ("改为流式导出", "导出改为流式", False),
    ],
)
def test_a_word_of_change_says_that_it_is_not_the_same_again(old: str, new: str, is_update: bool) -> None:
    assert has_word_of_change(a_candidate("x", new), a_record("x", old)) == is_update
