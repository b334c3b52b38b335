"""What is due is listed with its evidence, opened as a review, and not listed again before its evidence grows."""

import json
from pathlib import Path

import pytest

from kb.errors import KbError, NeedsPerson, UnknownId
from kb.knowledge_base import KnowledgeBase
from kb.learning.grow import challenge_record, find_promotions, find_twins, list_dormant, open_promotion
from kb.records.model import Candidate, Status
from tests.support.clones import FASTAPI
from tests.support.command_line import run
from tests.support.sealed import Clock, git
from tests.support.talk import answered, called, said

RACE = Candidate(
    "pitfall", "Two workers book one payment twice", "A retried webhook books it again.",
    why="The check and the insert are two steps: two requests pass the check at once.",
    sections={"solution": "Insert first, under a unique index on the key.", "outcome": "`make check-races`"},
    fields={"signature": ["make check-races", "AssertionError: 2 bookings for key"]},
    affects_future=True,
)  # fmt: skip
ROUTINE = ("make lint", "make migrations-check", "pytest -q -n 4", "./bin/deploy staging")


def hear(kb: KnowledgeBase, project: str, *sessions: str) -> None:
    for session in sessions:
        [verdict] = kb.write([RACE._replace(scope=f"project/{project}", session=session, host="test")], folder=kb.root)
        assert verdict.verdict in ("created", "appended", "updated"), verdict


def learn(kb: KnowledgeBase, number: int) -> None:
    about = ("ledger file", "bank holidays", "late fees")[number - 1]
    candidate = Candidate(
        "learning", f"How does settlement treat {about}?", f"Settlement takes {about} from the nightly job.",
        fields={"domain": "settlement"}, impact=(f"src/step{number}.py",), scope="project/shop", reusable=True,
    )  # fmt: skip
    [verdict] = kb.write([candidate], folder=kb.root)
    assert verdict.status == Status.ACCEPTED


def names(kb: KnowledgeBase) -> list[str]:
    return [one.stem for one in find_promotions(kb)]


def test_a_pitfall_of_three_sessions_in_two_projects_is_due_twice(kb: KnowledgeBase) -> None:
    hear(kb, "shop", "s1", "s2")
    assert names(kb) == []
    hear(kb, "loan", "s3")
    listed = json.loads(run(Path(kb.root), "grow", "--json").out)
    assert [one["what"] for one in listed] == ["pitfall → constraint", "two projects → global"]
    assert listed[0]["evidence"] == ["loan:P001", "shop:P001", "test/s3", "test/s1", "test/s2"]
    head = git(Path(kb.root), "rev-parse", "HEAD")
    opened = run(Path(kb.root), "grow", listed[0]["name"])
    assert opened.code == 4 and "⎇ kb/review/grow-constraint-" in opened.out + opened.error
    assert git(Path(kb.root), "rev-parse", "HEAD") == head, "main is untouched"
    assert names(kb) == [listed[1]["name"].rpartition("-")[0]], "what is opened is not listed again"
    [review] = kb.reviews()
    assert review.record.kind == "constraint" and review.record.scope == "global"
    kb.accept(review.branch)
    assert kb.record(review.record.id).status == Status.ACCEPTED and not kb.reviews()
    assert not [one for one in names(kb) if one.startswith("constraint")]


def test_what_two_projects_learnt_is_said_once_where_all_are_told_it(kb: KnowledgeBase) -> None:
    hear(kb, "shop", "s1")
    hear(kb, "loan", "s2")
    [due] = find_promotions(kb)
    assert str(due.what) == "two projects → global"
    verdict = open_promotion(kb, due.name)
    assert [record.status for record in kb.records()].count(Status.DEPRECATED) == 0, "until it is accepted"
    kb.accept(verdict.branch)
    assert {kb.record(name).status for name in ("loan:P001", "shop:P001")} == {Status.DEPRECATED}
    [shared] = [record for record in kb.records() if record.status == Status.ACCEPTED]
    assert shared.scope == "global" and "[shop:P001]" in shared.section("why")
    assert shared.id in kb.record("shop:P001").section("additions")
    assert names(kb) == []


@pytest.mark.parametrize("kind", ["pattern", "learning"])
@pytest.mark.parametrize(
    ("title", "text", "other"),
    [
        ("Retries back off", "Retry after 1, 2 and 4 seconds.", "Log every retry with its number and its cause."),
        ("重试要有退避", "失败后按 1、2、4 秒重试。", "每次重试都要记录次数和原因。"),
    ],
)
def test_a_pattern_or_an_answer_of_two_projects_is_due(
    kb: KnowledgeBase, kind: str, title: str, text: str, other: str
) -> None:
    for project, words in (("shop", text), ("loan", text), ("news", other)):
        name = title if words == text else other
        candidate = Candidate(kind, name, words, why="It was measured.", scope=f"project/{project}", reusable=True)
        assert kb.write([candidate])[0].verdict == "created"
    [due] = find_promotions(kb)
    assert str(due.what) == "two projects → global" and {"project/loan", "project/shop"} < set(due.evidence)
    assert "project/news" not in due.evidence and due.candidate.decision == text


def test_a_pitfall_that_a_checklist_meets_becomes_a_step_of_it(kb: KnowledgeBase) -> None:
    before_release = Candidate(
        "checklist", "Before a release", "Go through these.", reusable=True, scope="project/shop",
        sections={"steps": "1. Run `make lint`.\n2. Run `make check-races --all`."},
    )  # fmt: skip
    [verdict] = kb.write([before_release], folder=kb.root)
    hear(kb, "shop", "s1", "s2", "s3")
    [due] = find_promotions(kb)
    assert str(due.what) == "pitfall → checklist step"
    opened = open_promotion(kb, due.name)
    assert "unique index" not in kb.record(verdict.id).section("steps"), "main is untouched"
    kb.accept(opened.branch)
    assert kb.record(verdict.id).section("steps").splitlines()[-1].startswith("3. Insert first, under a unique index")
    assert "[P001]" in kb.record(verdict.id).section("steps") and names(kb) == []


def test_what_was_rejected_comes_again_with_more_evidence(kb: KnowledgeBase) -> None:
    hear(kb, "shop", "s1", "s2", "s3")
    [due] = find_promotions(kb)
    assert due.candidate.scope == "project/shop" and "unique index" in due.candidate.decision
    verdict = open_promotion(kb, due.stem)
    kb.reject(verdict.branch)
    assert names(kb) == []
    hear(kb, "shop", "s4")
    assert names(kb) == [due.stem]
    with pytest.raises(UnknownId):
        open_promotion(kb, "nothing")


def test_a_cause_in_one_file_is_no_rule(kb: KnowledgeBase) -> None:
    for session in ("s1", "s2", "s3"):
        candidate = RACE._replace(scope="project/shop", session=session, impact=("src/webhook.py",))
        kb.write([candidate], folder=kb.root)
    assert names(kb) == []


def test_three_learnings_of_a_domain_make_a_note_that_cites_them(kb: KnowledgeBase) -> None:
    learn(kb, 1)
    learn(kb, 2)
    assert names(kb) == []
    learn(kb, 3)
    [due] = find_promotions(kb)
    assert all(f"[L00{n}]" in due.candidate.decision for n in (1, 2, 3)) and due.candidate.tags == ("generated",)
    kb.accept(open_promotion(kb, due.name).branch)
    assert names(kb) == [] and [one.kind for one in kb.records() if one.kind == "domain-note"] == ["domain-note"]


def work(kb: KnowledgeBase, folder: Path, session: str, *commands: str) -> None:
    lines = [said("user", "Please release the service.")]
    for number, command in enumerate(("git status", *commands, "git push")):
        lines += [called("Bash", {"command": command}, f"c{number}"), answered(f"c{number}")]
    path = folder / f"{session}.jsonl"
    path.write_text("".join(lines) + said("assistant", "Released."), encoding="utf-8")
    kb.save_session(str(path), session=session, folder=kb.root)


def test_a_routine_of_three_sessions_becomes_a_pattern_with_steps(kb: KnowledgeBase, tmp_path: Path) -> None:
    work(kb, tmp_path, "one", *ROUTINE)
    work(kb, tmp_path, "two", *ROUTINE[:2], "ls -la", *ROUTINE[2:])
    work(kb, tmp_path, "other", "npm install", "git add .", "git commit -m x")
    assert names(kb) == []
    work(kb, tmp_path, "three", "npm ci", *ROUTINE)
    [due] = find_promotions(kb)
    assert due.candidate.kind == "pattern" and sorted(due.evidence) == ["one", "three", "two"]
    assert due.candidate.sections["steps"].splitlines() == [f"{n}. `{one}`" for n, one in enumerate(ROUTINE, 1)]
    kb.accept(open_promotion(kb, due.name).branch)
    assert names(kb) == []


def test_a_challenge_is_decided_as_a_review(kb: KnowledgeBase) -> None:
    kb.write([FASTAPI], folder=kb.root, decided=True)
    out = run(Path(kb.root), "challenge", "D001", "--why", "Nobody needs async here.")
    assert out.code == 4 and kb.record("D001").status == Status.ACCEPTED
    [review] = kb.reviews()
    rejected = kb.reject(review.branch)
    assert rejected.status == Status.ACCEPTED and "[D001] stays accepted" in rejected.reasons[0]
    kept = kb.record("D001")
    assert kept.status == Status.ACCEPTED and "Nobody needs async here.; it stays" in kept.section("alternatives")
    with pytest.raises(NeedsPerson):
        challenge_record(kb, "D001", "Nobody needs async here.")
    verdict = challenge_record(kb, "D001", "The framework is abandoned.")
    kb.accept(verdict.branch)
    assert kb.record("D001").status == Status.DEPRECATED
    assert "The framework is abandoned." in kb.record("D001").section("alternatives")
    with pytest.raises(KbError):
        challenge_record(kb, "D001", "Again.")


def test_the_digest_names_what_sleeps_and_what_is_said_twice(kb: KnowledgeBase, clock: Clock) -> None:
    text = "Webhooks are retried five times."
    one = FASTAPI._replace(title="Retry failed webhooks five times", decision=text, claims={})
    other = one._replace(title="Retry failed webhook calls five times with jitter", decision="Calls wait with jitter.",
                         scope="project/shop", coexists_with={})  # fmt: skip
    kb.write([one], folder=kb.root)
    kb.write([other], folder=kb.root, decided=True)
    assert [(a.title, b.title) for a, b, _ in find_twins(kb)] == [(one.title, other.title)]
    assert list_dormant(kb) == []
    clock.seconds += 181 * 86_400
    assert {record.title for record in list_dormant(kb)} == {one.title, other.title}
