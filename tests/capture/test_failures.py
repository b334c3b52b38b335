"""What a failure that was overcome becomes: counted at first, a record once it repeats or has cost much."""

import json
import os
from pathlib import Path

import pytest

from kb.capture.failures import find_pitfalls
from kb.index.schema import Filter
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Verdict
from kb.sessions.transcript import parse_transcript
from kb.state import failed_calls
from tests.support.command_line import run
from tests.support.sessions import Session

PIKA = "ModuleNotFoundError: No module named 'pika'"


def struggle(tmp_path: Path, name: str, *, steps: int = 0, cured: bool = True, error: str = PIKA) -> str:
    """Write a session in which a check fails, some steps are taken, and another command helps."""
    session = Session("Run the checks")
    session.call("Bash", f"Exit code 2\n/home/{name}/shop/a.py:{len(name)}: {error}", fails=True, command="make check")
    for number in range(steps):
        session.call("Read", "text", file_path=f"/home/me/shop/{number}.py")
    if cured:
        session.call("Bash", "ok", command="pip install pika")
        session.call("Bash", "all passed", command="make check")
    return session.write(tmp_path / f"{name}.jsonl")


def save(kb: KnowledgeBase, path: str, session: str, folder: Path) -> list[Verdict]:
    return list(kb.save_session(path, session=session, folder=str(folder), archive=False).verdicts)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_a_command_is_asked_whether_it_failed_before(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    """Quotes, flags and folders make no difference; another command, or another error of it, is not the same."""
    ask = ["learn", "failed"]
    assert run(root, *ask, "make check").code == 1
    save(kb, struggle(tmp_path, "a", cured=False, error="ModuleNotFoundError: No module named 'yaml'"), "s0", root)
    ran = run(root, *ask, "make check")
    assert ran.code == 0 and "'yaml'" in ran.out and "never overcome" in ran.out
    save(kb, struggle(tmp_path, "one"), "s1", root)
    assert "waits in the inbox" in run(root, *ask, "make check").out
    save(kb, struggle(tmp_path, "another"), "s2", root)
    (tmp_path / "error").write_text(f"/tmp/x/a.py:12: {PIKA}\n", encoding="utf-8")
    for command in ("make check", "cd /tmp &&   make  check -j2 2>&1 | tail", "time make check"):
        ran = run(root, *ask, command, "--output", str(tmp_path / "error"))
        assert ran.code == 0 and ran.out.startswith("P001") and "→ Run `pip install pika`." in ran.out, command
        assert "yaml" not in ran.out
    assert [run(root, *ask, command).code for command in ("make docs", "ls", "")] == [1, 1, 1]
    (tmp_path / "error").write_text("ModuleNotFoundError: No module named 'jinja2'\n", encoding="utf-8")
    assert run(root, *ask, "make check", "--output", str(tmp_path / "error")).code == 1
    [known, *_] = json.loads(run(root, *ask, "make check", "--json").out)
    assert (known["record"], known["sessions"]) == ("P001", 2)


def test_what_was_overcome_once_waits_and_twice_is_a_record(kb: KnowledgeBase, work: Path, tmp_path: Path) -> None:
    [held] = save(kb, struggle(tmp_path, "one"), "s1", work)
    assert held.verdict == "held"
    [made] = save(kb, struggle(tmp_path, "another"), "s2", work)
    assert (made.verdict, made.kind, made.title) == ("created", "pitfall", f"`make check` fails: {PIKA}")
    [record] = kb.sync_index().find_by_id(made.id)
    assert record.section("solution") == "Run `pip install pika`."
    assert (record.occurrences, record.extra["signature"]) == (2, ["make check", PIKA.casefold()])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Consumers must be idempotent, because messages may come twice, across several modules.", ""),
        ("We decided to use RabbitMQ as the queue, because it delays messages.", ""),
        ("约束：消费者必须幂等，因为消息可能重复投递，影响多个模块。", ""),
        ("不采用 Kafka，因为运维成本过高，也没有人会维护。", ""),
        ("We won't use Kafka because nobody here can run a cluster of it.", ""),
        ("The check failed because pika was not in the virtual environment.", "pika was not in"),
    ],
)
def test_the_reason_of_a_rule_is_not_the_cause_of_a_failure(work: Path, tmp_path: Path, said: str, why: str) -> None:
    session = Session("Run the checks")
    session.call("Bash", f"Exit code 2\n{PIKA}", fails=True, command="make check")
    session.call("Bash", "ok", command="pip install pika")
    session.call("Bash", "all passed", command="make check")
    session.step(said)
    [(_, pitfall)] = find_pitfalls(parse_transcript(session.data()))
    assert why in pitfall.why and bool(pitfall.why) is bool(why)


def test_a_third_time_is_one_more_sighting(kb: KnowledgeBase, work: Path, tmp_path: Path) -> None:
    for number in range(3):
        verdicts = save(kb, struggle(tmp_path, "x" * (number + 1)), f"s{number}", work)
    assert [verdict.verdict for verdict in verdicts] in (["appended"], ["updated"])
    assert kb.sync_index().count(Filter(kinds=("pitfall",))) == 1


def test_what_cost_ten_calls_is_a_record_at_once(kb: KnowledgeBase, work: Path, tmp_path: Path) -> None:
    [made] = save(kb, struggle(tmp_path, "one", steps=9), "s1", work)
    assert made.verdict == "created"
    assert "costly: it took 11 calls to find out" in made.reasons


def test_another_failure_of_the_same_command_is_another_matter(kb: KnowledgeBase, work: Path, tmp_path: Path) -> None:
    save(kb, struggle(tmp_path, "one"), "s1", work)
    [held] = save(kb, struggle(tmp_path, "two", error="ImportError: cannot import name 'redis_lock'"), "s2", work)
    assert held.verdict == "held"


def test_what_was_never_overcome_is_kept_until_it_is(kb: KnowledgeBase, work: Path, tmp_path: Path) -> None:
    save(kb, struggle(tmp_path, "one", cured=False), "s1", work)
    [row] = failed_calls.load_unsolved(kb.state)
    assert row["signature"] == ["make check", PIKA.casefold()]
    assert (row["session"], row["day"], row["project"]) == ("s1", kb.today(), "project/shop")
    save(kb, struggle(tmp_path, "one"), "s1", work)
    assert failed_calls.load_unsolved(kb.state) == []


@pytest.mark.parametrize(("last", "is_cured"), [("import pika", True), ("print(1)", False)], ids=["same", "other"])
def test_only_the_same_code_shows_that_a_one_liner_works_now(
    kb: KnowledgeBase, work: Path, tmp_path: Path, last: str, is_cured: bool
) -> None:
    session = Session("Try the client")
    session.call("Bash", f"Exit code 1\n{PIKA}", fails=True, command='python -c "import pika"')
    session.call("Bash", "ok", command="pip install pika")
    session.call("Bash", "ok", command=f'python -c "{last}"')
    verdicts = save(kb, session.write(tmp_path / "t.jsonl"), "s1", work)
    assert [verdict.title for verdict in verdicts] == ([f'`python -c "import pika"` fails: {PIKA}'] if is_cured else [])


def test_a_language_model_leaves_the_failures_to_the_rules(root: Path, work: Path, tmp_path: Path) -> None:
    command = 'python3 -c "print(\'{\\"candidates\\": []}\')"'
    with KnowledgeBase(str(root), {**os.environ, "KB_LLM_CMD": command}) as kb:
        saved = kb.save_session(struggle(tmp_path, "one"), session="s1", folder=str(work), archive=False)
        assert [verdict.title for verdict in saved.verdicts] == [f"`make check` fails: {PIKA}"]
        assert not saved.notes


def overcome(tmp_path: Path, *, failed: str, between: list[str], edit: tuple[str, str, str], said: str) -> Candidate:
    """Return the pitfall of a session in which `pytest -q` fails, more runs fail as well, and one edit helps."""
    session = Session("Run the tests")
    session.call("Bash", failed, fails=True, command="pytest -q")
    for error in between:
        session.call("Bash", error, fails=True, command="docker compose restart db && pytest -q")
    path, old, new = edit
    session.call("Edit", "ok", file_path=path, old_string=old, new_string=new)
    session.call("Bash", "412 passed", command="pytest -q")
    session.step(said)
    transcript = parse_transcript(Path(session.write(tmp_path / "one.jsonl")).read_bytes())
    [(_, candidate)] = find_pitfalls(transcript)
    return candidate


SETTINGS = ("shop/settings/test.py", "CONN_MAX_AGE = 600", "CONN_MAX_AGE = 0")
REFUSED = "E   db.OperationalError: connection to 'db' failed: FATAL:  sorry, too many clients already"


@pytest.mark.parametrize(
    ("said", "solution", "why"),
    [
        ("That was it: with `CONN_MAX_AGE = 0` the suite passes.", "That was it: with CONN_MAX_AGE = 0", ""),
        (
            "把 CONN_MAX_AGE 改成 0 就好了。原因是测试配置一直保持连接，每个进程都不归还。",
            "把 CONN_MAX_AGE",
            "原因是测试配置",
        ),
        ("Done.", "In `", ""),
    ],
)
def test_what_is_said_after_the_success_is_cause_and_cure(tmp_path: Path, said: str, solution: str, why: str) -> None:
    found = overcome(tmp_path, failed=REFUSED, between=[], edit=SETTINGS, said=said)
    assert found.sections["solution"].replace("`", "").startswith(solution.replace("`", ""))
    assert "`CONN_MAX_AGE = 0`" in found.sections["solution"]
    assert found.why.startswith(why)


def test_an_attempt_that_fails_with_the_end_of_the_same_error_resolves_nothing(tmp_path: Path) -> None:
    repeated = "FATAL:  sorry, too many clients already"
    found = overcome(tmp_path, failed=REFUSED, between=[repeated], edit=SETTINGS, said="Done.")
    assert "too many clients already" in found.title
    assert "docker" not in found.sections["solution"]
