"""By what a failure that has been seen before is known again."""

import pytest

from kb.similarity.failure_signatures import compute_signature, identify_command, is_same_failure


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd /x && mix test a_test.exs 2>&1 | tail -5", "mix test"),
        ("node assets/build.js", "node build.js"),
        ("cd assets && node build.js", "node build.js"),
        ("FOO=1 npm run build -- --watch", "npm run build"),
        ("uv run pytest -q tests/test_a.py", "pytest"),
        ("timeout 60 cargo test", "cargo test"),
        ('git add -A && git commit -m "feat: a && b; c"', "git commit"),
        ("grep -rn x .", ""),
        ("python3 -c 'print(1)'", "python3 -c"),
        ("git -c user.name=a commit", ""),
        ("", ""),
        ("<<<>>> |||", ""),
    ],
)
def test_the_family_of_a_command(command: str, name: str) -> None:
    assert identify_command(command) == name


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("Exit code 1\nunknown flag: --stat\n\nUsage: gh pr diff", ("unknown flag: --stat",)),
        ("fatal: Unable to create '/home/a/x/.git/index.lock': File exists.",
         ("fatal: unable to create 'index.lock': file exists.",)),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect (net.js:1)",
         ("error: connect econnrefused 127.0.0.1:5432",)),
        ("src/a.ts(3,5): error TS2307: Cannot find module 'zod'.", ("error ts2307: cannot find module 'zod'.",)),
        ("src/b.ts(90,1): error TS2307: Cannot find module 'zod'.", ("error ts2307: cannot find module 'zod'.",)),
        ("bash: jq: command not found", ("bash: jq: command not found",)),
        ("sh: 1: jq: not found", ("sh: 0: jq: not found",)),
        ("错误: 找不到符号 OrderMapper", ("错误: 找不到符号 ordermapper",)),
        ("模块 order_mapper 不存在", ("模块 order_mapper 不存在",)),
    ],
)  # fmt: skip
def test_a_signature_is_the_lines_that_name_something(output: str, lines: tuple[str, ...]) -> None:
    assert compute_signature("tool", output) == ("tool", *lines)


@pytest.mark.parametrize(
    "output",
    [
        "Pre-commit validation failed:",
        "exit status 1",
        "[lint] ERROR task failed",
        "3 tests, 1 failure",
        "--- FAIL: TestSave (0.01s)\nFAIL\texample.org/shop/store\t0.2s",
        "Process exited with code: ExitFailure 1",
        "gh: Not Found (HTTP 404)",
        "CONFLICT (content): Merge conflict in store.go",
        "warning: could not open 'a_b.txt'",
        "构建失败",
        "3 个测试失败",
        "",
    ],
)
def test_what_stands_over_any_failure_is_none(output: str) -> None:
    assert compute_signature("tool", output) == ()


def test_numbers_folders_and_times_make_no_difference() -> None:
    one = "2026-03-01T10:00:00Z ERROR: /home/a/shop/conf.yml:12: unknown key retry_limit in 9f8e7d6c5b4a"
    other = "2026-04-02T11:30:09Z ERROR: /srv/ci/shop/conf.yml:40: unknown key retry_limit in 1a2b3c4d5e6f"
    assert compute_signature("x", one) == compute_signature("x", other) != ()


def test_the_same_failure_shares_most_of_its_lines() -> None:
    known = compute_signature("npm test", "Error: no module 'a_b'\nError: no module 'c_d'")
    assert is_same_failure(known, compute_signature("npm run", "Error: no module 'a_b'\nError: no module 'c_d'"))
    assert not is_same_failure(known, compute_signature("npm test", "Error: no module 'a_b'\nError: no module 'e_f'"))
    assert not is_same_failure(known, ("cargo test", *known[1:]))
    assert not is_same_failure(known, known, generic=known[1:])
    assert not is_same_failure((), ()), "nothing is like nothing"
