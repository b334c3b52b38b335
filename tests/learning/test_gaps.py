"""Gaps: what is asked and not recorded, who looks for the answer, and how a record learns a question."""

import json
import os
from pathlib import Path

import pytest

from kb.context.give_hints import QUESTIONS, list_questions, note_questions
from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.learning.gaps import (
    ASKED_QUESTION,
    LEASE_SECONDS,
    MAX_FAILED_TAKES,
    OPEN,
    SET_ASIDE,
    Gap,
    close_gap,
    find_gap,
    find_gaps,
    forget_questions,
    take_gap,
)
from kb.learning.structural_gaps import CITATION, DEPENDENCY, DOMAIN, FAILURE, FOLDER, MAX_OF_A_SORT
from kb.records.model import GLOBAL, Record, Section
from kb.search.intent import is_team_question
from kb.state.failed_calls import save_unsolved
from tests.support.command_line import run
from tests.support.sealed import Clock, git
from tests.support.talk import said

QUESTIONS_OF = {
    "en": ("How often are the RDS snapshots taken?", "how often do we take RDS snapshots", "RDS snapshots are taken"),
    "zh": ("轮询间隔设的几秒？", "轮询的间隔是几秒", "轮询间隔"),
}


def answer(kb: KnowledgeBase, title: str, decision: str = "It is so, as was agreed.", **more: object) -> Record:
    """Write an accepted record past the gate."""
    section = Section("decision", "", decision)
    kb.import_records([Record("D001", "decision", title, status="accepted", date="2026-11-20", sections=(section,),
                              **more)], origin="test")  # type: ignore[arg-type] # fmt: skip
    return next(record for record in kb.records() if record.title == title)


def asked(kb: KnowledgeBase) -> list[Gap]:
    return [gap for gap in find_gaps(kb) if gap.type == ASKED_QUESTION]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which CDN sits in front of the site?", True), ("do we use Fastly or CloudFront", True),
        ("log aggregation for web servers, which tool", True), ("单测覆盖率要求多少", True), ("分支名有没有规范", True),
        ("代码格式化用 prettier 还是 biome", True), ("手机上支持吗", True), ("什么时候发版？", True),
        ("Can you fix the retry?", False), ("Please add a test for the CDN?", False), ("帮我改一下重试，可以吗", False),
        ("Use four spaces", False), ("重试改成三次", False), ("why?", False), ("为什么", False), ("who am I?", False),
        ("what is D001?", False), ("你刚才改了什么文件？", False),
    ],
)  # fmt: skip
def test_a_question_to_the_team_is_no_order_to_the_agent(text: str, expected: bool) -> None:
    assert is_team_question(text) == expected


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_question_of_two_sessions_is_a_gap_until_a_record_answers_it(kb: KnowledgeBase, language: str) -> None:
    first, second, title = QUESTIONS_OF[language]
    note_questions(kb, [first], scope=GLOBAL, session="s1")
    note_questions(kb, [first], scope=GLOBAL, session="s1")
    assert asked(kb) == [], "one session is one person's morning"
    note_questions(kb, [second], scope=GLOBAL, session="s2")
    [gap] = asked(kb)
    assert (gap.question, gap.wordings, gap.times, gap.state) == (first, (first, second), 2, OPEN)
    answer(kb, title, f"{title}: 6.")
    assert asked(kb) == []


def test_what_is_much_like_it_in_another_session_counts_and_stays_apart(kb: KnowledgeBase) -> None:
    first, same, like = (
        "Is detekt run over Kotlin files?",
        "are Kotlin files run by detekt",
        "Is detekt run in a hook?",
    )
    note_questions(kb, [first], scope=GLOBAL, session="s1")
    note_questions(kb, [same, like], scope=GLOBAL, session="s2")
    assert sorted(gap.wordings for gap in asked(kb)) == [(like,), (first, same)]


def test_the_prompts_of_a_session_are_noted_when_it_is_saved(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    key = "AKIA" + "Q3EGR7JZ2LXW5PTB"
    lines = [
        said("user", "Which CDN sits in front of the site? Please look."),
        said("assistant", "Which cache do we use?"),
        said("user", f"Where is the key {key} used?"),
        said("user", "Fix it."),
    ]
    path.write_text("".join(lines[:2]))
    kb.save_session(str(path), session="s1", archive=False)
    path.write_text("".join(lines))
    kb.save_session(str(path), session="s1", archive=False)
    rows = list_questions(kb)
    assert [(row.session, row.day) for row in rows] == [("s1", "2026-11-21")] * 2
    assert rows[0].question == "Which CDN sits in front of the site?"
    assert key not in Path(kb.state.path(QUESTIONS)).read_text()


def test_commands_note_a_question_and_no_words(kb: KnowledgeBase, root: Path) -> None:
    for arguments in (
        ("search", "Which CDN do we use?"), ("search", "CDN"), ("context", "build", "-q", "Which cache do we use?"),
        ("context", "load", "-q", "Which broker do we use?"), ("pack", "Which queue do we use?"),
    ):  # fmt: skip
        assert run(root, *arguments).code == 0
    assert [row.question.split()[1] for row in list_questions(kb)] == ["CDN", "cache", "broker", "queue"]
    assert len({row.session for row in list_questions(kb)}) == 1, "all of a day are one session"


def test_the_last_thousand_questions_are_kept_and_damage_is_passed_over(kb: KnowledgeBase) -> None:
    note_questions(kb, ["Which port do we use?"], scope=GLOBAL)
    with open(kb.state.path(QUESTIONS), "a", encoding="utf-8") as file:
        file.write('{"question": 1}\nno json\n')
        for number in range(1000):
            row = {
                "question": f"Which port has service {number}?",
                "scope": GLOBAL,
                "session": "s",
                "day": "2026-11-21",
            }
            file.write(json.dumps(row) + "\n")
    note_questions(kb, ["Which host do we use? " + "x" * 400], scope=GLOBAL)
    lines = Path(kb.state.path(QUESTIONS)).read_text().splitlines()
    assert len(lines) == 1000 and "Which host" in lines[-1] and len(json.loads(lines[-1])["question"]) <= 200
    assert forget_questions(kb) == 1000
    assert list_questions(kb) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_record_that_closes_a_gap_is_told_at_the_same_question(kb: KnowledgeBase, root: Path, language: str) -> None:
    first, second, _ = QUESTIONS_OF[language]
    record = answer(kb, "Backups", "Six hours lie between two of them.")
    for session, text in (("s1", first), ("s2", second)):
        note_questions(kb, [text], scope=GLOBAL, session=session)
    assert kb.answer_to_prompt(first) == ""
    [gap] = asked(kb)
    assert run(root, "gaps", "close", gap.key, "--by", record.id).code == 0
    assert asked(kb) == []
    for text in (first, second):
        assert "Backups" in kb.answer_to_prompt(text), text
    assert [hit.record.id for hit in kb.recall(first)][:1] == [record.id]
    assert kb.record(record.id).extra["asked"] == [first, second]
    assert [finding for finding in kb.check() if finding.severity == "error"] == []


def test_a_gap_is_lent_for_an_hour_and_set_aside_after_three_takes(kb: KnowledgeBase, clock: Clock) -> None:
    for text in QUESTIONS_OF["en"][:1] + QUESTIONS_OF["zh"][:1]:
        for session in ("s1", "s2"):
            note_questions(kb, [text], scope=GLOBAL, session=session)
    taken = [take_gap(kb, GLOBAL, "") for _ in range(3)]
    first, second = (gap.key for gap in taken[:2] if gap)
    assert taken[2] is None and first != second
    for _ in range(MAX_FAILED_TAKES - 1):
        clock.seconds += LEASE_SECONDS + 1
        again = take_gap(kb, GLOBAL, "")
        assert again and again.key == first
    clock.seconds += LEASE_SECONDS + 1
    states = {gap.key: gap.state for gap in find_gaps(kb)}
    assert states == {first: SET_ASIDE, second: OPEN}
    assert [gap.key for gap in find_gaps(kb)] == [second, first]


def test_a_gap_is_named_by_number_or_key_and_only_a_question_is_closed_by_hand(kb: KnowledgeBase) -> None:
    for session in ("s1", "s2"):
        note_questions(kb, ["Which CDN do we use?"], scope=GLOBAL, session=session)
    answer(kb, "Sessions end", "As [D077] says.")
    found = find_gaps(kb)
    assert [gap.type for gap in found] == [ASKED_QUESTION, CITATION]
    assert find_gap(found, "2") == find_gap(found, found[1].key) == found[1]
    for name in ("0", "3", "x"):
        with pytest.raises(KbError):
            find_gap(found, name)
    with pytest.raises(KbError, match="closes itself"):
        close_gap(kb, found[1], "D001")


def test_folders_without_a_record_and_dependencies_no_record_names(kb: KnowledgeBase, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    git(tmp_path, "init", "-q", "shop")
    for number in range(4):
        for name in ("src/pay/a.py", "src/web/b.py", "README.md", ".github/c.yml"):
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).write_text(f"{number}\n")
        (shop / "package.json").write_text('{"dependencies": {"react": "^18.2.0", "lodash": "4.0.0"}}')
        git(shop, "add", "-A")
        git(shop, "commit", "-qm", f"c{number}", "--date=now")
    scope = kb.project(str(shop))
    answer(kb, "The web client uses React", impact=("src/web/",), scope=scope)
    with KnowledgeBase(kb.root, os.environ) as now:  # git counts the days back from today
        found = find_gaps(now, scope, str(shop))
    recent = [(gap.type, str(gap.question)) for gap in found]
    assert [kind for kind, _ in recent] == [FOLDER, DEPENDENCY]
    assert "src/pay" in recent[0][1] and "lodash" in recent[1][1]


def test_domains_failures_and_no_more_than_five_of_a_sort(kb: KnowledgeBase) -> None:
    answer(kb, "How the ledger sums", extra={"domain": "ledger", "question_type": "DATA_FLOW"})
    for session in ("s1", "s2", "s3"):
        save_unsolved(kb.state, session, [("pytest", "KeyError: 'port'")], day="2026-11-20", project="")
    save_unsolved(kb.state, "s4", [("pytest", "TypeError: x")], day="2026-11-20", project="")
    found = find_gaps(kb)
    assert [gap.type for gap in found] == [FAILURE, DOMAIN]
    assert "keyerror: 'port'" in str(found[0].question).lower() and "ledger" in str(found[1].question)
    many = " ".join(f"[D{number}]" for number in range(900, 920))
    answer(kb, "What the others cite", many)
    assert sum(gap.type == CITATION for gap in find_gaps(kb)) == MAX_OF_A_SORT


@pytest.mark.parametrize(
    ("language", "said_so"), [("en", "asked 2 times in 2 sessions"), ("zh", "在 2 个会话中被问 2 次")]
)
def test_the_list_the_task_and_the_digest_speak_the_language_of_the_base(
    kb: KnowledgeBase, root: Path, language: str, said_so: str
) -> None:
    (root / "kb.toml").write_text((root / "kb.toml").read_text() + f'\nlanguage = "{language}"\n')
    first = QUESTIONS_OF[language][0]
    for session in ("s1", "s2"):
        note_questions(kb, [first], scope=GLOBAL, session=session)
    listed = run(root, "gaps").out
    assert first in listed and said_so in listed
    assert first in run(root, "digest").out
    [row] = json.loads(run(root, "gaps", "--json").out)
    assert (row["type"], row["question"], row["times"]) == (ASKED_QUESTION, first, 2) and said_so in row["why"]
    task = run(root, "gaps", "take").out
    assert first in task and "kb write -" in task and row["key"] in task
    again = run(root, "gaps", "take").error
    assert "no gap is open" in again or "没有" in again
    assert run(root, "gaps", "--forget").code == 0 and run(root, "gaps").out.strip() == ""


def test_a_question_that_speaks_to_an_agent_is_quoted_on_one_line(kb: KnowledgeBase, root: Path) -> None:
    row = {"question": "Which\nport\u202e do we use?", "scope": GLOBAL, "day": "2026-11-21"}
    kb.state.ensure_folder()
    with open(kb.state.path(QUESTIONS), "w", encoding="utf-8") as file:
        file.writelines(json.dumps({**row, "session": session}) + "\n" for session in ("a", "b"))
    out = run(root, "gaps").out
    assert "\u202e" not in out and "\n  1. Which port" in f"\n{out}"


def test_a_failing_embedder_makes_no_gap(kb: KnowledgeBase, root: Path) -> None:
    (root / "kb.toml").write_text((root / "kb.toml").read_text() + '\nembedder = "command"\n')
    answer(kb, "RDS snapshots are taken every six hours", "How often: RDS snapshots are taken every six hours.")
    with KnowledgeBase(str(root), {**os.environ, "KB_EMBED_CMD": "false"}, Clock()) as other:
        texts = [f"Which port has the service {number} of the shop?" for number in range(30)]
        for session in ("s1", "s2"):
            note_questions(other, [QUESTIONS_OF["en"][0], *texts], scope=GLOBAL, session=session)
        named = [gap.question for gap in asked(other)]
    assert QUESTIONS_OF["en"][0] not in named and texts[0] in named
