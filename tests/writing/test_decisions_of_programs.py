"""A program never ends the accepted status of a record: it opens a review, and a person decides."""

import json
from pathlib import Path

import pytest

from kb.capture import proposals
from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate, Evidence
from tests.support.clones import FASTAPI, WHOLE, commits, decision, one
from tests.support.command_line import run, run_at_terminal
from tests.support.sealed import git


def statuses(kb: KnowledgeBase) -> dict[str, str]:
    """Return the status of every record."""
    return {record.id: str(record.status) for record in kb.records()}


def whole(kb: KnowledgeBase, *numbers: int) -> None:
    """Write records that lack nothing."""
    for number in numbers:
        one(kb, decision(number, impact=("kb.toml",)))


def replacing(number: int, **changes: object) -> Candidate:
    """Return a candidate that names D001 as what it replaces."""
    return decision(number, **{"impact": ("kb.toml",), "supersedes": ("D001",), **changes})


# -- what is handed in -----------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["supersedes", "amends"])
def test_a_program_that_replaces_opens_a_review(kb: KnowledgeBase, root: Path, relation: str) -> None:
    whole(kb, 0)
    head = git(root, "rev-parse", "main")
    given = decision(1, impact=("kb.toml",), **{relation: ("D001",)})
    verdict = one(kb, given)
    assert verdict.verdict == "conflict" and git(root, "rev-parse", "main") == head
    assert "[D001] " + decision(0).title in verdict.reasons and statuses(kb) == {"D001": "accepted"}
    assert one(kb, given).branch == verdict.branch and len(kb.reviews()) == 1, "said again, it is the same review"
    accepted = kb.accept(verdict.id)
    after = {"supersedes": "superseded", "amends": "accepted"}[relation]
    assert statuses(kb) == {"D001": after, "D002": "accepted"} and kb.check() == []
    assert getattr(kb.record("D002"), relation) == ("D001",) and any("D001" in why for why in accepted.reasons)


def test_a_person_replaces_and_is_told_what_went_out_of_force(kb: KnowledgeBase) -> None:
    whole(kb, 0)
    verdict = one(kb, replacing(1), decided=True)
    assert verdict.verdict == "created" and statuses(kb) == {"D001": "superseded", "D002": "accepted"}
    assert f"[D001] {decision(0).title}: accepted → superseded" in verdict.reasons


def test_what_is_only_proposed_replaces_nothing_until_it_is_accepted(kb: KnowledgeBase) -> None:
    whole(kb, 0)
    verdict = one(kb, replacing(1, rollback=""), decided=True)
    assert (verdict.verdict, verdict.status) == ("created", "proposed")
    assert statuses(kb)["D001"] == "accepted" and any("remains in effect" in reason for reason in verdict.reasons)
    assert [finding for finding in kb.check() if "D001" in str(finding.message)] == []
    record = kb.record("D002")
    text = kb.text(record)
    whole_text = text.replace("<!-- MACHINE_BLOCK_END -->", "\n## Rollback\n\nUndo it.\n<!-- MACHINE_BLOCK_END -->")
    kb.replace_text(record, whole_text, opened=text)
    assert kb.change_status("D002", "accepted").verdict == "conflict", "accepting it ends that of D001"
    told = kb.change_status("D002", "accepted", decided=True)
    assert statuses(kb) == {"D001": "superseded", "D002": "accepted"} and any("D001" in why for why in told.reasons)


def test_what_is_not_accepted_may_be_replaced_by_a_program(kb: KnowledgeBase) -> None:
    one(kb, decision(0, rollback=""))
    verdict = one(kb, replacing(1))
    assert verdict.verdict == "created" and statuses(kb) == {"D001": "superseded", "D002": "accepted"}


def test_a_contradiction_that_names_another_one_replaces_both(kb: KnowledgeBase) -> None:
    one(kb, FASTAPI)
    whole(kb, 1)
    flask = FASTAPI._replace(title="Use Flask as the backend framework", decision="The backend uses Flask.",
                             claims={"backend.framework": "Flask"}, supersedes=("D002",), session="s2")  # fmt: skip
    kb.accept(one(kb, flask).branch)
    assert statuses(kb) == {"D001": "superseded", "D002": "superseded", "D003": "accepted"} and kb.check() == []


def test_a_program_replaces_no_decision_by_an_update(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, FASTAPI).path
    new = FASTAPI._replace(updates="D001", decision="The backend uses FastAPI 0.110 everywhere.")
    verdict = one(kb, new)
    assert verdict.verdict == "conflict" and "0.110" not in git(root, "show", f"main:{path}")
    assert "0.110" in git(root, "show", f"{verdict.branch}:{path}")
    fact = FASTAPI._replace(updates="D001", verification="Run the latency suite and the smoke test.")
    assert one(kb, fact).verdict == "updated", "what says no other decision is written as ever"


@pytest.mark.parametrize(
    "given",
    [
        {"why": "The benchmarks say nothing any more."},
        {"why": "Callers give up after half a second anyway.\nNobody calls it."},
        {"why": "调用方半秒后就会放弃，这一点已不成立。"},
        {"alternatives": "None."},
    ],
    ids=str,
)
def test_a_program_replaces_no_reason_by_an_update(kb: KnowledgeBase, root: Path, given: dict[str, str]) -> None:
    path = one(kb, FASTAPI).path
    before = git(root, "show", f"main:{path}")
    new = Candidate("decision", FASTAPI.title, updates="D001", impact_areas=("architecture",), session="s2", **given)  # type: ignore[arg-type]
    verdict = one(kb, new)
    assert verdict.verdict == "conflict" and "or why" in verdict.reasons[0]
    assert git(root, "show", f"main:{path}") == before
    assert next(iter(given.values())) in git(root, "show", f"{verdict.branch}:{path}")
    assert one(kb, new._replace(session="s3"), decided=True).verdict == "updated"


def test_a_program_fills_a_reason_that_nobody_gave(kb: KnowledgeBase) -> None:
    said = Candidate("decision", "Use PostgreSQL for the storage of sessions", scope="global", session="s1")
    (proposal,) = proposals.add_proposals(kb, [said])
    assert proposals.confirm_proposal(kb, proposal).status == "accepted"
    given = said._replace(updates="D001", why="One database less to run.", affects_future=True, session="s2")
    assert one(kb, given).verdict == "updated" and kb.record("D001").section("why") == "One database less to run."
    assert one(kb, given._replace(why="It is fashionable.")).verdict == "conflict"


def test_a_program_replaces_no_evidence(kb: KnowledgeBase) -> None:
    first, second = (Evidence(quote, "s.jsonl", line) for line, quote in ((3, "FastAPI it is."), (9, "用 FastAPI。")))
    one(kb, FASTAPI._replace(evidence=(first,)))
    update = Candidate("decision", FASTAPI.title, updates="D001", affects_future=True, session="s2")
    assert one(kb, update._replace(evidence=(second,))).verdict == "conflict"
    assert one(kb, update._replace(evidence=(first, second))).verdict == "updated"


@pytest.mark.parametrize("heading", ["Consequences", "后果"])
@pytest.mark.parametrize(
    ("change", "code"),
    [("s/^- One more.*/&\\n- And a third one./", 0), ("s/^- One more.*/- Nothing./", 4), ("/^- One more/d", 4)],
)
def test_a_programs_editor_adds_lines_and_changes_none(
    kb: KnowledgeBase, root: Path, heading: str, change: str, code: int
) -> None:
    path = one(kb, decision(0, impact=("kb.toml",))).path
    text = (root / path).read_text()
    more = f"\n## {heading}\n\n- One more service.\n<!-- MACHINE_BLOCK_END -->"
    (root / path).write_text(text.replace("<!-- MACHINE_BLOCK_END -->", more))
    git(root, "commit", "-qam", "By hand")
    editor = f"sed -i '{change}'"
    ran = run(root, "edit", "D001", EDITOR=editor, VISUAL=editor)
    assert ran.code == code, ran.error


def test_a_fact_is_added_by_a_program_as_ever(kb: KnowledgeBase) -> None:
    whole(kb, 0)
    assert one(kb, decision(0, why="A later fact about the nightly export.", session="s2")).verdict == "appended"


# -- the commands ----------------------------------------------------------------------------------

COMMANDS = [
    ("rm", "D001", "--why", "Nobody uses it."),
    ("status", "D001", "deprecated"),
    ("status", "D001", "proposed"),
    ("supersede", "D001", "--by", "D002"),
    ("supersede", "D001", "--by", "D002", "--in-part"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_a_program_opens_a_review(kb: KnowledgeBase, root: Path, words: tuple[str, ...]) -> None:
    whole(kb, 0, 1)
    head = git(root, "rev-parse", "main")
    ran = run(root, *words)
    assert ran.code == 4 and "kb review show" in ran.error and git(root, "rev-parse", "main") == head
    assert statuses(kb) == {"D001": "accepted", "D002": "accepted"}
    assert run(root, *words).code == 4 and len(kb.reviews()) == 1, "asked again, it is the same review"
    (review,) = kb.reviews()
    assert run(root, "review", "accept", review.branch, "--yes").code == 0
    expected = {"rm": "deprecated", "status": words[2]}.get(
        words[0], "accepted" if "--in-part" in words else "superseded"
    )
    assert statuses(kb)["D001"] == expected and kb.check() == []
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_script_of_a_person_says_so(kb: KnowledgeBase, root: Path, words: tuple[str, ...]) -> None:
    whole(kb, 0, 1)
    ran = run(root, *words, "--yes")
    assert ran.code == 0 and kb.reviews() == [] and commits(root) > 2


def test_a_review_is_decided_by_a_person(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0, 1)
    run(root, "rm", "D001")
    for word in ("accept", "reject"):
        ran = run(root, "review", word, "D001")
        assert ran.code == 5 and "--yes" in ran.error and len(kb.reviews()) == 1
    assert run(root, "review", "reject", "D001", "--yes").code == 0
    assert run(root, "rm", "D001").code == 5, "what a person has rejected is not opened again"
    assert statuses(kb)["D001"] == "accepted"


def test_what_was_taken_out_of_force_comes_back_by_a_person_only(kb: KnowledgeBase) -> None:
    whole(kb, 0, 1)
    kb.supersede("D001", by="D002", decided=True)
    assert kb.change_status("D001", "accepted").verdict == "conflict" and statuses(kb)["D001"] == "superseded"
    assert kb.change_status("D001", "accepted", decided=True).verdict == "updated"


def test_json_is_a_programs(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0)
    given = json.dumps(candidate_to_json(replacing(1))).encode()
    assert run(root, "write", "-", stdin=given).code == 4
    assert run(root, "write", "-", "--yes", stdin=given.replace(b"s2", b"s3")).code in (0, 4)
    assert statuses(kb)["D001"] in ("accepted", "superseded")


def test_a_person_at_a_terminal_decides(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0, 1, 2)
    assert run_at_terminal(root, "rm", "D001", "--why", "It is gone").code == 0
    assert run_at_terminal(root, "rm", "D002", "--why", "It is gone", CLAUDECODE="1").code == 4, (
        "the shell of an agent is no person's terminal"
    )
    assert statuses(kb) == {"D001": "deprecated", "D002": "accepted", "D003": "accepted"}


def test_an_agent_with_an_editor_of_its_own_decides_nothing(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    whole(kb, 0)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/status: accepted/status: deprecated/' \"$1\"\n", "utf-8")
    editor.chmod(0o755)
    ran = run(root, "edit", "D001", EDITOR=str(editor), VISUAL=str(editor), CLAUDECODE="1")
    assert ran.code == 4 and statuses(kb)["D001"] == "accepted"


def test_the_next_step_names_its_own_review(kb: KnowledgeBase, root: Path) -> None:
    """One record may have several reviews: the id alone names none of them."""
    whole(kb, 0, 1)
    for words in (("rm", "D001"), ("status", "D001", "proposed"), ("supersede", "D001", "--by", "D002")):
        ran = run(root, *words)
        assert run(root, "review", "show", ran.error.split("kb review show ")[1].split()[0]).code == 0, ran.error
    new = one(kb, replacing(2))
    assert new.next == f"decide it: kb review show {new.id}" and run(root, "review", "show", new.id).code == 0


CHANGED = [
    "s/status: accepted/status: deprecated/",
    "s/^title: Keep/title: Drop/",
    "s/8000/9000/",
]


@pytest.mark.parametrize("change", CHANGED)
def test_an_editor_without_a_terminal_is_a_programs(kb: KnowledgeBase, root: Path, change: str) -> None:
    one(
        kb,
        decision(0, impact=("kb.toml",), claims={"backend.port": "8000"}),
    )
    before = kb.text(kb.record("D001"))
    given = {"EDITOR": f"sed -i '{change}'", "VISUAL": f"sed -i '{change}'"}
    ran = run(root, "edit", "D001", **given)
    assert ran.code == 4 and kb.text(kb.record("D001")) == before, ran.error
    assert run(root, "edit", "D001", "--yes", **given).code == 0 and kb.text(kb.record("D001")) != before


def test_a_record_without_a_decision_gets_none_by_a_program(kb: KnowledgeBase) -> None:
    """The title is what the person said; a program that adds a decision would say what they decided."""
    said = Candidate("decision", "Use PostgreSQL for the storage of sessions", scope="global", session="s1")
    (proposal,) = proposals.add_proposals(kb, [said])
    assert proposals.confirm_proposal(kb, proposal).status == "accepted"
    other = said._replace(decision="Sessions may live anywhere.", why="It is simpler to run.", session="s2")
    assert one(kb, other._replace(updates="D001")).verdict == "conflict"
    one(kb, other)
    assert not kb.record("D001").section("decision"), "said again under the same title, it is no decision either"


# -- accepting a review ----------------------------------------------------------------------------


def test_a_review_is_accepted_as_a_status_is(kb: KnowledgeBase) -> None:
    """Merging asks for the sections that `kb status … accepted` asks for; handed in again with them it can be."""
    kb.config = kb.config._replace(required=("verification", "rollback"))
    whole(kb, 0)
    branch = one(kb, replacing(1, rollback="", verification="")).branch
    with pytest.raises(KbError, match="lacks: verification, rollback") as caught:
        kb.accept(branch)
    assert "kb write" in str(caught.value.hint) and statuses(kb)["D001"] == "accepted"
    assert (
        one(kb, replacing(1, session="s7", **{key: WHOLE[key] for key in ("rollback", "verification")})).branch
        == branch
    )
    assert kb.accept(branch).verdict == "updated" and statuses(kb) == {"D001": "superseded", "D002": "accepted"}


# -- completing what is proposed -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["D001", "shop:D001"])
def test_a_record_is_completed_without_an_editor(kb: KnowledgeBase, root: Path, name: str) -> None:
    """The next step that the verdict names works as it is printed, where no editor can be opened."""
    scope = "project/shop" if ":" in name else "global"
    given = {key: value for key, value in WHOLE.items() if key not in ("verification", "rollback", "impact")}
    verdict = one(kb, decision(0, **given, verification="", rollback="", impact=(), scope=scope))
    assert verdict.status == "proposed" and f"kb write --updates {name} --impact PATH --verification" in verdict.next
    ran = run(
        root, "write", "--updates", name, "--rollback", "Go back.", "--verification", "Look.", "--impact", "kb.toml"
    )
    assert ran.code == 0 and "repeated" not in ran.error, ran.error
    record = kb.record(name)
    assert (record.section("rollback"), record.section("verification")) == ("Go back.", "Look.")
    assert run(root, "status", name, "accepted").code == 0 and len(kb.records()) == 1


def test_a_status_that_is_refused_names_what_to_add(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0, impact=("kb.toml",), rollback=""))
    ran = run(root, "status", "D001", "accepted")
    assert ran.code == 1 and 'kb write --updates D001 --rollback "…"' in ran.error


@pytest.mark.parametrize(
    ("question", "old", "new", "further"),
    [
        ("How are retries limited?", "The worker retries 3 times.", "The worker retries 5 times.",
         "The worker retries 3 times, 20 seconds apart."),
        ("重试次数是怎么限制的？", "工作进程重试 3 次。", "工作进程重试 5 次。", "工作进程重试 3 次，间隔 20 秒。"),
    ],
)  # fmt: skip
def test_another_answer_to_the_same_question_is_left_to_a_person_and_more_of_it_is_added(
    kb: KnowledgeBase, question: str, old: str, new: str, further: str
) -> None:
    def answer(text: str, title: str = question) -> str:
        return kb.write([Candidate("learning", title, decision=text, why="It was read.", reusable=True)])[0].verdict

    assert answer(old) == "created"
    assert answer(new) == "conflict"
    assert answer(further) == "appended"
    assert answer(new, "How are uploads limited?" if question.isascii() else "上传次数是怎么限制的？") == "created"
