"""What a sentence mentions: what it is about without its lead, what was not taken, and files of the project."""

import pytest

from kb.text.mentions import find_alternative, find_existing_paths, remove_title_lead

FILES = [
    "src/pay/retry.py",
    "src/pay/api.py",
    "src/user/api.py",
    ".github/workflows/ci.yml",
    "Makefile",
    "docs/adr/1.md",
]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("We decided to use Redis for sessions", "Use Redis for sessions"),
        ("I've decided not to retry payments", "Do not retry payments"),
        ("So, after some discussion, we agreed that tests run offline", "Tests run offline"),
        ("We chose Postgres over MySQL for orders", "Choose Postgres over MySQL for orders"),
        ("The team settled on trunk based development", "Use trunk based development"),
        ("We opted for batching requests", "Batching requests"),
        ("It was decided that amounts are in cents", "Amounts are in cents"),
        ("I switched to the official installer", "Switch to the official installer"),
        ("最终我们决定用 PostgreSQL 存订单", "用 PostgreSQL 存订单"),
        ("经过讨论，团队一致决定不再使用 Redux", "不再使用 Redux"),
        ("我们最终选择了 Redis 作为缓存", "选择 Redis 作为缓存"),
        ("决定：金额一律用分", "金额一律用分"),
        # nobody decides in these
        ("Use Redis for sessions", "Use Redis for sessions"),
        ("Decide what to cache per tenant", "Decide what to cache per tenant"),
        ("We decided", "We decided"),
        ("决定性的测试必须固定随机种子", "决定性的测试必须固定随机种子"),
        ("决定权归发布负责人", "决定权归发布负责人"),
        ("`we decided to` is a lead", "`we decided to` is a lead"),
    ],
)
def test_a_title_is_what_was_decided_and_not_who_decided(title: str, expected: str) -> None:
    assert remove_title_lead(title) == expected


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("Orders live in Postgres instead of MySQL, as before", "MySQL"),
        ("We prefer composition over inheritance", "inheritance"),
        ("用 Redis 而不是 Memcached，因为要共享", "Memcached"),
        ("The gateway talks gRPC over HTTP/2", ""),
        ("We use the same key over time", ""),
        ("Iterate over the pages", ""),
        ("The cache knows the data of a type rather than for a given name", ""),
        ("Keep it for over 30 days", ""),
    ],
)
def test_an_alternative_is_what_was_not_taken(sentence: str, other: str) -> None:
    assert find_alternative(sentence) == other


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `src/pay/retry.py:12` and src/user/api.py.", ("src/pay/retry.py", "src/user/api.py")),
        ("`retry.py` 里的重试", ("src/pay/retry.py",)),
        ("api.py stands twice, pay/api.py once", ("src/pay/api.py",)),
        ("all below src/pay/ and .github/workflows/ci.yml", ("src/pay/", ".github/workflows/ci.yml")),
        ("as [before](../../src/pay/api.py), not [ADR 1](./1.md)", ("src/pay/api.py",)),
        ("https://example.org/src/pay/retry.py, src/gone.py, node.js, e.g. 1.2", ()),
    ],
)
def test_a_file_is_named_as_the_project_has_it(text: str, found: tuple[str, ...]) -> None:
    assert find_existing_paths(text, lambda: FILES, "docs/adr") == found


def test_the_files_are_listed_only_where_a_path_may_be_named() -> None:
    def fail() -> list[str]:
        raise AssertionError

    assert find_existing_paths("No path is named here. 没有路径。", fail) == ()
