"""Whether what is told still holds: its files are compared with what they were when it was last confirmed."""

import os
from pathlib import Path

import pytest

from kb.context.give_hints import build_start_context
from kb.context.still_true import compute_changed_share
from kb.guard.decide import PendingCall, decide_call
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Record, Section
from kb.text.segment import clip_at_word, estimate_tokens
from tests.support.command_line import run
from tests.support.sealed import DAY, Clock, git

TITLES = {
    "en": ("Sessions expire after thirty minutes", "Why do sessions expire after thirty minutes?"),
    "zh": ("会话三十分钟后失效", "会话为什么三十分钟后失效？"),
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project with two files, committed on New Year's Day."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    for name in ("session.py", "other.py"):
        (folder / "src" / name).write_text("ends = 30\n")
    git(folder, "init", "-q")
    commit(folder, "2026-01-01", monkeypatch)
    return folder


def commit(folder: Path, day: str, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00")
    patch.setenv("GIT_AUTHOR_DATE", f"{day}T12:00:00")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")


def remember(
    kb: KnowledgeBase, work: Path, title: str, *impact: str, kind: str = "constraint", confirmed: str = ""
) -> None:
    scope = kb.project(str(work))
    section = Section("decision", "Decision", f"{title}, as was agreed.")
    record = Record("C001", kind, title, scope, "accepted", date="2026-01-02", impact=impact, confirmed=confirmed,
                    sections=(section,))  # fmt: skip
    kb.import_records([record], origin="test")


def ask(kb: KnowledgeBase, work: Path, prompt: str) -> str:
    return kb.answer_to_prompt(prompt, project=kb.project(str(work)), folder=str(work))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_record_whose_file_changed_is_told_with_the_day_and_the_path(
    kb: KnowledgeBase, work: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES[language]
    remember(kb, work, title, "src/session.py", "src/other.py")
    assert "[C001]" in ask(kb, work, prompt) and "changed since" not in ask(kb, work, prompt)
    (work / "src" / "session.py").write_text("ends = 60\n")
    commit(work, "2026-02-01", monkeypatch)
    assert "confirmed 2026-01-02, `src/session.py` changed since" in ask(kb, work, prompt)
    given = {"file_path": str(work / "src" / "session.py"), "old_string": "60", "new_string": "61"}
    call = PendingCall("Edit", given, "s1", "", str(work))
    with KnowledgeBase(kb.root, {**os.environ, "MEMORY_BANK_GUARD_MODE": "off"}, folder=str(work)) as at_work:
        assert "`src/session.py` changed since" in decide_call(at_work, call).context
        start = build_start_context(at_work, "s2", source="startup", project=kb.project(str(work)))
    assert "`src/session.py` changed since" in start


@pytest.mark.parametrize(
    "title, rule",
    [
        ("Amounts are integer cents, never floats",
         "Every amount in the payment modules is an integer number of cents from the request to the ledger."),
        ("金额一律用整数分，不用浮点数", "支付模块里的每个金额都必须是以分为单位的整数。"),
    ],
)  # fmt: skip
def test_what_changed_takes_no_room_from_the_rule(
    kb: KnowledgeBase, work: Path, title: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not rule.isascii():
        toml = Path(kb.root, "kb.toml")
        toml.write_text(toml.read_text() + '\nlanguage = "zh"\n')
    scope = kb.project(str(work))
    record = Record("C001", "constraint", title, scope, "accepted", date="2026-01-02", impact=("src/session.py",),
                    sections=(Section("decision", "Decision", rule),))  # fmt: skip
    kb.import_records([record], origin="test")
    (work / "src" / "session.py").write_text("ends = 60\n")
    commit(work, "2026-02-01", monkeypatch)
    given = {"file_path": str(work / "src" / "session.py"), "old_string": "60", "new_string": "61"}
    with KnowledgeBase(kb.root, {**os.environ, "MEMORY_BANK_GUARD_MODE": "off"}, folder=str(work)) as at_work:
        told = decide_call(at_work, PendingCall("Edit", given, "s1", "", str(work))).context
    line, remark = told.split("\n")[-2:]
    assert "[C001]" in line and line.endswith(rule) and "2026-01-02" in remark and "`src/session.py`" in remark
    assert estimate_tokens(line) <= 60 and estimate_tokens(remark) <= 30


@pytest.mark.parametrize("limit", range(14, 40))
def test_a_sentence_is_cut_between_words(limit: int) -> None:
    text = "Every amount is an integer number of cents"
    assert set(clip_at_word(text, limit).rstrip("…").split()) <= set(text.split())
    assert len(clip_at_word("金额一律用整数分不用浮点数", min(limit, 13))) == min(limit, 13)


def test_a_record_whose_files_are_gone_is_not_told(
    kb: KnowledgeBase, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES["en"]
    remember(kb, work, title, "src/session.py")
    git(work, "rm", "-q", "src/session.py")
    commit(work, "2026-02-01", monkeypatch)
    assert ask(kb, work, prompt) == ""
    with KnowledgeBase(kb.root, os.environ, folder=str(work)) as at_work:
        assert "C001" not in build_start_context(at_work, "s2", source="startup", project=kb.project(str(work)))


def test_what_was_confirmed_since_or_never_there_is_told_without_a_word(
    kb: KnowledgeBase, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES["en"]
    (work / "src" / "session.py").write_text("ends = 60\n")
    commit(work, "2026-02-01", monkeypatch)
    remember(kb, work, title, "src/session.py", "src/planned.py", confirmed="2026-02-02")
    told = ask(kb, work, prompt)
    assert "[C001]" in told and "changed since" not in told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_answer_is_not_told_where_one_of_its_sources_is_gone(
    kb: KnowledgeBase, work: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES[language]
    remember(kb, work, title, "src/session.py", "src/other.py", kind="learning")
    assert title in ask(kb, work, prompt)
    (work / "src" / "other.py").unlink()
    commit(work, "2026-02-01", monkeypatch)
    assert title not in ask(kb, work, prompt)


@pytest.mark.parametrize(
    ("said", "before", "after", "is_told"),
    [
        ("Sessions end after 30 minutes", "ends = 30", "ends = 60", False),
        ("会话30分钟后失效", "ends = 30", "ends = 60", False),
        ("Sessions end after 30 minutes", "ends = 30", "ends = 30\nlast = 1", True),
        ("Sessions run on Python 3.11", 'python = ">=3.11"', 'python = ">=3.13"', False),
        ("会话由 expire_session() 结束", "def expire_session(): ...", "def end(): ...", False),
        ("会话由 maxAge 限定", "maxAge: 30", "maxAge: 60", True),
        ("Sessions end after 30 minutes", "ends = 1.30", "ends = 2", True),
        ("Sessions end after a while", "ends = 30", "ends = 60", True),
    ],
)
def test_a_record_is_not_told_once_its_file_has_lost_what_it_names(
    kb: KnowledgeBase, work: Path, said: str, before: str, after: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = work / "src" / "session.py"
    source.write_text(before)
    commit(work, "2026-01-01", monkeypatch)
    remember(kb, work, said, "src/session.py", "src")
    assert "[C001]" in ask(kb, work, said)
    source.write_text(after)
    commit(work, "2026-02-01", monkeypatch)
    assert ("[C001]" in ask(kb, work, said)) == is_told


def test_what_has_moved_to_another_of_its_files_is_still_told(
    kb: KnowledgeBase, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "src" / "other.py").write_text("last = 1\n")
    commit(work, "2026-01-01", monkeypatch)
    remember(kb, work, "Sessions end after 30 minutes", "src/session.py", "src/other.py")
    (work / "src" / "session.py").write_text("from src.other import ends\n")
    (work / "src" / "other.py").write_text("ends = 30\n")
    commit(work, "2026-02-01", monkeypatch)
    assert "[C001]" in ask(kb, work, "After how many minutes do sessions end?")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pitfall_that_was_fixed_is_not_told(kb: KnowledgeBase, work: Path, language: str) -> None:
    title, prompt = TITLES[language]
    remember(kb, work, title, kind="pitfall")
    assert title in ask(kb, work, prompt)
    [record] = kb.records()
    fix = Candidate("pitfall", record.title, updates=record.id, scope=record.scope, fields={"fixed_by": "0123abc"})
    assert kb.write([fix], decided=True)[0].verdict == "updated"
    assert title not in ask(kb, work, prompt)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_answer_falls_silent_when_half_of_its_source_is_another_until_it_is_confirmed(
    kb: KnowledgeBase, work: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES[language]
    source = work / "src" / "session.py"
    lines = [f"line_{n} = {n}" for n in range(10)]
    source.write_text("\n".join(lines))
    commit(work, "2026-01-01", monkeypatch)
    remember(kb, work, title, "src/session.py", kind="learning")
    source.write_text("\n".join(["changed", *lines[1:]]))
    commit(work, "2026-02-01", monkeypatch)
    assert "`src/session.py`" in ask(kb, work, prompt), "a tenth is another: it is told, with a word"
    source.write_text("\n".join([*(f"new_{n}" for n in range(5)), *lines[5:]]))
    commit(work, "2026-02-02", monkeypatch)
    project = kb.project(str(work))
    assert title not in ask(kb, work, prompt)
    [record] = kb.records()
    with KnowledgeBase(kb.root, os.environ, folder=str(work)) as at_work:
        assert title not in at_work.context(prompt, project=project).text
        assert title in at_work.context(record.id, project=project).text, "who names it is shown it"
    assert kb.confirm(record.id, scope=project).verdict == "updated"
    assert title in ask(kb, work, prompt)


def write(kb: KnowledgeBase, work: Path, kind: str, title: str) -> None:
    """Write a record about a source from the project's folder, as a person does."""
    candidate = Candidate(kind, title, decision=f"{title}: session.py.", why="It was read.", alternatives="None.",
                          verification="Read it.", rollback="None.", impact=("src/session.py",),
                          reusable=True)  # fmt: skip
    [verdict] = kb.write([candidate], folder=str(work), decided=True)
    assert (verdict.verdict, verdict.status) == ("created", "accepted")


def change(work: Path, text: str, second: float, patch: pytest.MonkeyPatch) -> None:
    """Commit *text* as a source, in the *second* since 1970."""
    (work / "src" / "session.py").write_text(f"{text}\n")
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        patch.setenv(name, f"@{int(second)} +0000")
    git(work, "commit", "-qam", "x")


def is_stale(kb: KnowledgeBase) -> bool:
    return any(one.rule == "stale" for one in kb.check())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_answer_falls_silent_on_the_day_it_was_written_and_again_on_that_it_was_confirmed(
    kb: KnowledgeBase, work: Path, clock: Clock, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    title, prompt = TITLES[language]
    noon = clock.seconds = DAY + 43_200
    write(kb, work, "learning", title)
    assert title in ask(kb, work, prompt) and not is_stale(kb)
    change(work, "another", noon + 60, monkeypatch)
    assert title not in ask(kb, work, prompt) and is_stale(kb)
    for hour in (1, 2):
        clock.seconds = noon + 3600 * hour
        [record] = kb.records()
        assert kb.confirm(record.id, scope=record.scope).verdict == "updated"
        assert title in ask(kb, work, prompt) and not is_stale(kb), "a second time on one day as well"
        change(work, f"another {hour}", noon + 3600 * hour + 60, monkeypatch)
        assert title not in ask(kb, work, prompt) and is_stale(kb)


def test_a_decision_is_not_doubted_for_the_commit_that_carries_it_out(
    kb: KnowledgeBase, work: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = clock.seconds = DAY + 43_200
    write(kb, work, "decision", TITLES["en"][0])
    change(work, "another", noon + 60, monkeypatch)
    assert not is_stale(kb)
    change(work, "yet another", noon + 86_400, monkeypatch)
    assert is_stale(kb)


def test_what_is_not_committed_counts_as_changed_once_it_is_written_later(kb: KnowledgeBase, work: Path) -> None:
    source = work / "src" / "session.py"
    write(kb, work, "learning", TITLES["en"][0])
    source.write_text("another\n")
    os.utime(source, (DAY - 60, DAY - 60))
    assert not is_stale(kb), "it was so when it was read"
    os.utime(source, (DAY + 60, DAY + 60))
    assert is_stale(kb)
    source.unlink()
    assert "impact" in [one.rule for one in kb.check()]


def test_a_line_that_moved_is_no_change() -> None:
    assert compute_changed_share(b"a\nb\nc\nd", b"d\nc\nb\na") == 0
    assert compute_changed_share(b"a\nb", b"a\nb\nc\nd") == 0.5
    assert (compute_changed_share(b"a", b""), compute_changed_share(None, None)) == (1, 0)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "(⚠️ due since 2026-06-30)"), ("zh", "(⚠️ 2026-06-30 到期，待复核)")]
)
def test_what_was_to_hold_until_a_day_that_is_over_is_told_as_due(
    kb: KnowledgeBase, root: Path, language: str, said: str
) -> None:
    (root / "kb.toml").write_text((root / "kb.toml").read_text() + f'\nlanguage = "{language}"\n')
    title, prompt = TITLES[language]
    fields = {"valid_until": "2026-06-30", "revisit_when": "the contract ends"}
    section = Section("decision", "Decision", f"{title}, as was agreed.")
    record = Record(
        "C001", "constraint", title, status="accepted", date="2026-01-02", extra=fields, sections=(section,)
    )
    kb.import_records([record], origin="test")
    with KnowledgeBase(str(root), os.environ) as today:
        assert said in today.answer_to_prompt(prompt)
        assert [(one.rule, one.severity) for one in today.check() if one.rule == "due"] == [("due", "warning")]
    shown = run(root, "show", "C001")
    assert "2026-06-30" in shown.error and "kb confirm C001" in shown.error and "valid_until: " in shown.out
    digest = run(root, "digest").out
    assert "2026-06-30" in digest and "the contract ends" in digest
    assert run(root, "confirm", "C001").code == 0
    with KnowledgeBase(str(root), os.environ) as today:
        assert title in today.answer_to_prompt(prompt) and said not in today.answer_to_prompt(prompt)


def test_a_day_is_settable_on_any_record_and_nothing_else_passes_for_one(kb: KnowledgeBase, root: Path) -> None:
    given = ["write", "--kind", "D", "--title", "Use PostgreSQL for orders", "--why", "Transactions.", "--area",
             "architecture", "--decision", "Orders are kept in PostgreSQL 16."]  # fmt: skip
    done = run(root, *given, "--field", "valid_until=2027-02-31")
    assert done.code == 1 and "fields.valid_until must be a day such as 2027-01-31, not 2027-02-31" in done.error
    assert run(root, *given, "--field", "valid_until=2027-01-31", "--field", "revisit_when=PostgreSQL 18").code == 0
    record = kb.record("D001")
    assert (record.extra["valid_until"], record.extra["revisit_when"]) == ("2027-01-31", "PostgreSQL 18")
    path = root / record.path
    path.write_text(path.read_text().replace("2027-01-31", "next year"))
    assert "field" in [finding.rule for finding in kb.check()]


def test_a_pitfall_that_was_fixed_is_no_warning_before_a_task_and_no_quick_answer(
    kb: KnowledgeBase, root: Path
) -> None:
    title = TITLES["en"][0]
    section = Section("decision", "Decision", f"{title}, as was seen.")
    open_one = Record("P001", "pitfall", title, status="accepted", date="2026-01-02", sections=(section,))
    kb.import_records([open_one], origin="test")
    assert title in run(root, "hint", "t1", "-k", "sessions").out
    assert run(root, "memory").code == 0 and title in (root / "memory-bank" / "MEMORY.md").read_text()
    [record] = kb.records()
    fix = Candidate("pitfall", record.title, updates=record.id, scope=record.scope, fields={"fixed_by": "0123abc"})
    assert kb.write([fix], decided=True)[0].verdict == "updated"
    assert title not in run(root, "hint", "t1", "-k", "sessions").out
    assert run(root, "memory").code == 0 and title not in (root / "memory-bank" / "MEMORY.md").read_text()
    assert title in run(root, "search", "sessions", "expire").out
