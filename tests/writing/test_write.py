"""The way in, end to end: what becomes of a candidate, with real git and the real index."""

import os
from pathlib import Path

import pytest

from kb.knowledge_base import Filter, KnowledgeBase
from kb.records.model import Candidate
from tests.support.clones import FASTAPI, FLASK, SMALL, commits, committed, decision, one, texts_below
from tests.support.sealed import Clock, git

# -- merge ----------------------------------------------------------------------------------------


def test_the_same_again_changes_nothing(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    before = commits(root)
    assert one(kb, FASTAPI).verdict == "unchanged"
    assert commits(root) == before and git(root, "status", "--porcelain") == ""


def test_another_session_is_counted_and_new_facts_are_added(kb: KnowledgeBase, root: Path) -> None:
    first = one(kb, FASTAPI)
    again = one(kb, FASTAPI._replace(session="s2"))
    more = one(kb, FASTAPI._replace(session="s3", why="The generated API documents save a week a year."))
    assert [v.verdict for v in (first, again, more)] == ["created", "updated", "appended"]
    assert {v.uid for v in (first, again, more)} == {first.uid}
    (record,) = kb.records()
    assert (record.id, record.occurrences, record.sources) == ("D001", 3, ("test/s1", "test/s2", "test/s3"))
    assert "2026-11-21 (test/s3): Why: The generated API documents" in record.section("additions")


def test_candidates_of_one_call_are_compared_with_each_other(kb: KnowledgeBase, root: Path) -> None:
    before = commits(root)
    again = FASTAPI._replace(session="s2")
    words = [verdict.verdict for verdict in kb.write([FASTAPI, FASTAPI, again, decision(1)], folder=str(root))]
    assert words == ["created", "unchanged", "updated", "created"]
    assert commits(root) == before + 1 and len(committed(root)) == 2


def test_a_contradiction_inside_one_call_is_a_review(kb: KnowledgeBase, root: Path) -> None:
    created, conflict = kb.write([FASTAPI, FLASK], folder=str(root))
    assert (created.verdict, conflict.verdict) == ("created", "conflict")
    assert git(root, "merge-base", conflict.branch, "main").strip() == created.commit
    assert git(root, "status", "--porcelain") == ""


def test_the_same_contradiction_twice_in_one_call_is_one_review(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    verdicts = kb.write([FLASK, FLASK._replace(session="s3"), FLASK], folder=str(root))
    assert [v.verdict for v in verdicts] == ["conflict"] * 3
    assert len({v.branch for v in verdicts}) == 1 and len(kb.reviews()) == 1
    assert kb.reviews()[0].record.occurrences == 2


def test_similar_records_are_listed(kb: KnowledgeBase) -> None:
    for number in range(4):
        one(kb, decision(number))
    verdict = one(kb, decision(5))
    assert len(verdict.similar) == 3 and all(0 < s.score < 1 for s in verdict.similar)


# -- superseding on the way in --------------------------------------------------------------------


def test_what_supersedes_marks_both_ends_in_one_commit(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    before = commits(root)
    verdict = one(kb, FLASK._replace(supersedes=("d001",)), decided=True)
    assert verdict.verdict == "created" and commits(root) == before + 1
    assert {r.id: (r.status, r.supersedes) for r in kb.records()} == {
        "D001": ("superseded", ()),
        "D002": ("accepted", ("D001",)),
    }
    assert kb.check() == []


@pytest.mark.parametrize("field", ["supersedes", "amends"])
def test_an_unknown_id_is_refused(kb: KnowledgeBase, field: str) -> None:
    verdict = one(kb, FASTAPI._replace(**{field: ("D404",)}))
    assert verdict.verdict == "refused" and "D404" in verdict.reasons[0]
    assert kb.records() == []


def test_a_record_of_another_scope_is_not_superseded(kb: KnowledgeBase) -> None:
    one(kb, FASTAPI)
    verdict = one(kb, FLASK._replace(scope="project/shop", supersedes=("D001",)))
    assert verdict.verdict == "refused"
    assert [record.status for record in kb.records()] == ["accepted"]


# -- what is not committed yet --------------------------------------------------------------------


def test_a_contradiction_of_an_uncommitted_record_is_kept(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    git(root, "update-ref", "HEAD", "HEAD~1")
    git(root, "reset", "-q")
    verdict = one(kb, FLASK)
    assert verdict.verdict == "held" and "not committed" in verdict.reasons[0]
    assert len(kb.held()) == 1 and kb.reviews() == []
    git(root, "add", "content")
    git(root, "commit", "-qm", "Theirs")
    assert one(kb, FLASK).verdict == "conflict"
    assert kb.held() == []


# -- numbers --------------------------------------------------------------------------------------


def test_numbers_go_on_past_999(kb: KnowledgeBase) -> None:
    kb.index.reserve_id("global", "D999")
    assert one(kb, decision(0)).id == "D1000"
    assert one(kb, decision(1)).id == "D1001"
    assert [record.id for record in kb.records()] == ["D1000", "D1001"]


def forget_the_index(kb: KnowledgeBase) -> None:
    """Delete everything that is derived."""
    kb.close()
    for place in (Path(kb.root, ".kb"), Path(kb.root, ".git", "kb")):
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()


def test_numbers_of_removed_records_are_not_given_out_again(kb: KnowledgeBase, root: Path) -> None:
    path = one(kb, decision(0)).path
    git(root, "rm", "-q", path)
    assert one(kb, decision(1)).id == "D002"
    git(root, "commit", "-qm", "Without it")
    forget_the_index(kb)
    assert one(kb, decision(2)).id == "D003"


def test_numbers_of_reviews_are_not_given_out_again(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    assert one(kb, FLASK).id == "D002"
    assert one(kb, decision(0)).id == "D003"
    kb.reject("D002")
    for number in range(1, 3):
        forget_the_index(kb)
        assert one(kb, decision(number)).id == f"D{number + 3:03d}"


def test_numbers_of_other_branches_are_not_given_out_again(kb: KnowledgeBase, root: Path) -> None:
    git(root, "switch", "-qc", "feature")
    one(kb, decision(0))
    git(root, "switch", "-q", "main")
    assert one(kb, decision(1)).id == "D002"
    forget_the_index(kb)
    assert one(kb, decision(2)).id == "D003"


def test_numbers_of_unreadable_files_are_not_given_out_again(kb: KnowledgeBase, root: Path) -> None:
    (root / "content/anchors/global/D001-half-a.md").write_text("---\nid: D001\n")
    assert one(kb, decision(0)).id == "D002"


# -- the gate and the sections --------------------------------------------------------------------


def test_nothing_is_invented(kb: KnowledgeBase) -> None:
    said = "Rows of the ledger are added and never changed, so that an audit finds every step."
    bare = Candidate("decision", "Keep the ledger append-only", said, impact_areas=("security",))
    verdict = one(kb, bare)
    assert (verdict.verdict, verdict.status) == ("created", "proposed")
    assert "alternatives, why, impact, verification, rollback" in verdict.reasons[0]
    assert [s.name for s in kb.records()[0].sections] == ["decision"]


def test_what_lacks_sections_is_refused_where_the_settings_say_so(root: Path, clock: Clock) -> None:
    path = root / "kb.toml"
    path.write_text(path.read_text().replace('# missing = "propose"', 'missing = "refuse"'))
    with KnowledgeBase(str(root), os.environ, clock) as kb:
        assert one(kb, FASTAPI._replace(rollback="")).verdict == "refused"
        assert one(kb, FASTAPI).status == "accepted"
        assert one(kb, FLASK._replace(rollback="")).verdict == "refused" and kb.reviews() == []


def test_a_dry_run_writes_nothing(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    refs = git(root, "for-each-ref")
    candidates = [FLASK, decision(1), SMALL]
    dry = kb.write(candidates, folder=str(root), dry_run=True)
    assert [v.verdict for v in dry] == ["conflict", "created", "held"]
    assert git(root, "for-each-ref") == refs and git(root, "status", "--porcelain") == ""
    wet = kb.write(candidates, folder=str(root))
    assert [(v.verdict, v.id) for v in wet] == [(v.verdict, v.id) for v in dry]


# -- secrets --------------------------------------------------------------------------------------

SECRET = "ghp_" + "Zx9Qw3Er5Ty7Ui1Op2As4Df6Gh8Jk0Lz3Xc5"


@pytest.mark.parametrize("field", ["title", "decision", "why", "alternatives", "rollback"])
def test_no_secret_reaches_the_disk(kb: KnowledgeBase, root: Path, sealed: Path, field: str) -> None:
    leaky = FASTAPI._replace(**{field: f"Log in with {SECRET} as the backend user."}, tags=(SECRET,))
    one(kb, leaky)
    one(
        kb,
        leaky._replace(
            title=f"Use Flask with {SECRET} as the backend framework", claims={"backend.framework": "Flask"}
        ),
    )
    one(kb, SMALL._replace(decision=f"The button is {SECRET} blue."))
    (root / ".git" / "MERGE_HEAD").write_text("0" * 40)
    assert one(kb, leaky._replace(scope="project/shop")).spooled
    kb.close()
    assert SECRET.encode() not in texts_below(root)
    assert not [p for p in sealed.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]


# -- a new process sees it ------------------------------------------------------------------------


def test_a_second_process_sees_what_the_first_wrote(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    one(kb, FASTAPI)
    with KnowledgeBase(str(root), os.environ, clock) as other:
        assert [record.title for record in other.records(Filter(kinds=("decision",)))] == [FASTAPI.title]
        assert one(other, FASTAPI).verdict == "unchanged"


# -- files that cannot be read --------------------------------------------------------------------


def broken_in_the_tip(kb: KnowledgeBase, root: Path) -> None:
    """Commit D001 without the end of its block, and mend it in the checkout only."""
    path = root / one(kb, decision(0)).path
    whole = path.read_text()
    path.write_text(whole.replace("<!-- MACHINE_BLOCK_END -->\n", ""))
    git(root, "commit", "-qam", "Broken by hand")
    path.write_text(whole)


def test_a_refused_candidate_leaves_nothing_in_the_commit(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(1))
    git(root, "mv", "content/anchors/global/D001-keep-order-ledger-simple.md", "content/anchors/global/D009-x.md")
    path = root / "content/anchors/global/D009-x.md"
    path.write_text(path.read_text().replace("D001", "D009"))
    git(root, "commit", "-qam", "Another number")
    broken_in_the_tip(kb, root)
    (broken,) = [record.id for record in kb.records() if record.id != "D009"]
    candidates = [decision(2), decision(3, supersedes=("D009", broken)), decision(4)]
    verdicts = kb.write(candidates, folder=str(root))
    assert [verdict.verdict for verdict in verdicts] == ["created", "refused", "created"]
    listed = {record.title: record.status for record in kb.records()}
    assert candidates[1].title not in listed and "superseded" not in listed.values()
    assert len(committed(root)) == 4
    assert "superseded" not in git(root, "log", "-1", "--format=%B") and "D009" not in git(root, "show", "--stat")


@pytest.mark.parametrize("field", ["supersedes", "amends", "updates"])
def test_one_that_names_an_unreadable_file_does_not_stop_the_others(kb: KnowledgeBase, root: Path, field: str) -> None:
    (root / "content/anchors/global/D001-half.md").write_text("---\nid: D001\n")
    named = decision(1, **{field: "D001" if field == "updates" else ("D001",)})
    refused, created = kb.write([named, decision(2)], folder=str(root))
    assert (refused.verdict, created.verdict) == ("refused", "created")
    assert "D001-half.md" in refused.reasons[0]


def test_a_secret_in_the_session_is_in_no_commit_message(kb: KnowledgeBase, root: Path) -> None:
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    kb.write([decision(0, session=secret)], folder=str(root))
    assert secret not in git(root, "log", "--all", "--format=%B")


# -- what a candidate's own words say -----------------------------------------------------------------


def test_a_candidate_is_completed_by_its_own_words(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    (project / "src").mkdir(parents=True)
    (project / "src" / "queue.py").touch()
    git(project, "init", "-q")
    candidate = Candidate(
        "decision",
        "We've decided to use RabbitMQ for orders",
        "`src/queue.py` talks to RabbitMQ instead of Kafka, and src/gone.py does not.",
        why="One broker is enough for the orders of a day.",
        impact_areas=("architecture",),
    )
    [verdict] = kb.write([candidate], folder=str(project))
    record = kb.record(verdict.id, scope=verdict.scope)
    assert (record.title, record.impact) == ("Use RabbitMQ for orders", ("src/queue.py",))
    assert record.section("alternatives") == "Kafka"
    said = candidate._replace(title="We write unit tests in pytest", decision="As for src/queue.py.")
    said = said._replace(alternatives="unittest", impact=("src",), why="Its output is short.")
    [verdict] = kb.write([said], folder=str(project))
    record = kb.record(verdict.id, scope=verdict.scope)
    assert (record.impact, record.section("alternatives")) == (("src",), "unittest"), "what was given stays"


def test_a_path_in_the_text_is_no_ground_for_the_gate(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    for name in ("orders/api.py", "billing/api.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    git(tmp_path, "init", "-q")
    weak = Candidate(
        "decision", "Name both helpers alike", "See orders/api.py and billing/api.py.", why="They do one thing."
    )
    given = weak._replace(impact=("orders/api.py", "billing/api.py"))
    assert [v.verdict for v in kb.write([weak], folder=str(tmp_path), dry_run=True)] == ["held"]
    assert [v.verdict for v in kb.write([given], folder=str(tmp_path), dry_run=True)] == ["created"]
