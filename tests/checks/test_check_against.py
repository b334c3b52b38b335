"""`kb check --against`: what a reviewer is told about a branch, and what stands against merging it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kb.checks.record_diff import Comparison
from kb.checks.run_checks import compare_with_revision
from kb.cli import comment
from kb.cli.comment import MARKDOWN, PLAIN
from kb.errors import GitFailed
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record
from tests.checks.test_check_merge import commit, edit, put, record
from tests.support.command_line import run
from tests.support.sealed import Clock, git

INVOICES = "Keep invoices for ten years"
FASTAPI, FLASK = "Use FastAPI as the backend framework", "Use Flask as the backend framework"


def base(root: Path, *records: Record) -> None:
    """Commit *records* on main, show main as origin/main, and go on with a branch of its own."""
    put(root, *records)
    commit(root)
    publish(root)
    git(root, "switch", "-qc", "feature")


def publish(root: Path, branch: str = "main") -> None:
    """Let the remote have *branch*."""
    git(root, "update-ref", f"refs/remotes/origin/{branch}", branch)


def on(root: Path, branch: str, *records: Record, start: str = "main") -> None:
    """Commit *records* on another branch that the remote has too, and come back."""
    here = git(root, "symbolic-ref", "--short", "HEAD").strip()
    known = git(root, "for-each-ref", f"refs/heads/{branch}")
    git(root, "switch", "-q", *([branch] if known else ["-c", branch, start]))
    put(root, *records)
    commit(root)
    publish(root, branch)
    git(root, "switch", "-q", here)


def steps(comparison: Comparison) -> list[tuple[str, str]]:
    """Return step and id of every change."""
    return [(change.step, change.record.id) for change in comparison.changes]


def against(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return rule, severity and file of every finding."""
    return [(f.rule, f.severity, f.path.rpartition("/")[2][:4]) for f in comparison.findings]


def said(comparison: Comparison) -> list[str]:
    """Return what the merge will mean."""
    return [str(sentence) for sentence in comparison.meaning]


def markdown(comparison: Comparison, language: str = "en") -> str:
    """Return the comment."""
    return comment.render_comparison(comparison, "shop", language, MARKDOWN)


# -- what changes ---------------------------------------------------------------------------------


def test_new_changed_superseded_amended_and_removed(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", FASTAPI), record("D002", INVOICES), record("D003", "Cache the search index"),
         record("D004", "Sign every webhook"))  # fmt: skip
    put(root, record("D005", "Serve the API with gRPC", supersedes=("D001",), amends=("D003",)))
    edit(root, record("D001").path, ("status: accepted", "status: superseded"))
    edit(
        root, record("D002").path, ("ten years", "twelve years"), ("This is what D002 says of why.", "The law says so.")
    )
    (root / record("D004").path).unlink()
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert steps(found) == [
        ("new", "D005"), ("changed", "D002"), ("superseded", "D001"), ("amended", "D003"), ("removed", "D004"),
    ]  # fmt: skip
    new, changed, superseded, amended, removed = found.changes
    assert new.record.path == record("D005").path and new.status_change is None
    assert [(p.name, p.before, p.after) for p in changed.parts] == [
        ("title", "Keep invoices for ten years", "Keep invoices for twelve years"),
        ("why", "This is what D002 says of why.", "The law says so."),
    ]
    assert superseded.status_change == ("accepted", "superseded") and [r.id for r in superseded.by] == ["D005"]
    assert [r.id for r in amended.by] == ["D005"] and removed.record.id == "D004"
    assert said(found) == [
        "[D005] “Serve the API with gRPC” is accepted; [D001] “Use FastAPI as the backend framework” no longer is",
        "[D002] “Keep invoices for twelve years” says something else: why",
        "[D003] “Cache the search index” stays accepted, except where [D005] “Serve the API with gRPC” says otherwise",
        "[D004] “Sign every webhook” was deleted with its file",
    ]


def test_only_this_branchs_changes_count(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"), record("D002", INVOICES))
    on(root, "main", record("D003", "Sign every webhook"), record("D002", "Keep invoices for two years"))
    put(root, record("D004", "Cache the search index"))
    commit(root)
    assert steps(compare_with_revision(kb, "origin/main")) == [("new", "D004")]
    git(root, "merge", "-q", "--no-edit", "origin/main")
    assert steps(compare_with_revision(kb, "origin/main")) == [("new", "D004")], "as GitHub checks out a pull request"


def test_the_checkout_counts_committed_or_not(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    put(root, record("D002", INVOICES))
    git(root, "add", "-A")
    edit(root, record("D001").path, ("says of why", "says of the reason"))
    put(root, record("D003", "Sign every webhook"))
    found = compare_with_revision(kb, "origin/main")
    assert steps(found) == [("new", "D002"), ("new", "D003"), ("changed", "D001")] and found.uncommitted == 3
    assert "not committed yet, and counted here: 3 files" in markdown(found)
    commit(root)
    assert compare_with_revision(kb, "origin/main").uncommitted == 0


def test_nothing_to_tell(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    found = compare_with_revision(kb, "origin/main")
    assert (found.changes, found.findings) == ((), ())
    assert "no record changes" in markdown(found) and "没有记录变动" in markdown(found, "zh")
    (root / "README.md").write_text("x")
    edit(root, record("D001").path, ("---\n<!--", "occurrences: 3\n---\n<!--"))
    assert compare_with_revision(kb, "origin/main").changes == (), "what kb counts for itself is no change to review"


def test_a_record_keeps_its_identity_through_a_new_number_and_name(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    git(root, "mv", record("D001").path, "content/anchors/global/D007-other-name.md")
    edit(root, "content/anchors/global/D007-other-name.md", ("id: D001", "id: D007"), ("[D001]", "[D007]"))
    found = compare_with_revision(kb, "origin/main")
    assert steps(found) == [("changed", "D007")]
    assert said(found)[0] == "[D007] “Use FastAPI as the backend framework” was called D001 before"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("proposed", "accepted", "[D001] “x” is accepted from now on"),
        ("superseded", "accepted", "[D001] “x” is accepted from now on"),
        ("accepted", "deprecated", "[D001] “x” is no longer accepted, and nothing replaces it"),
        ("accepted", "superseded", "[D001] “x” is no longer accepted, and nothing replaces it"),
        ("proposed", "rejected", "accepted records stay as they are"),
    ],
)
def test_a_status_that_moves(kb: KnowledgeBase, root: Path, before: str, after: str, sentence: str) -> None:
    base(root, record("D001", "x", status=before))
    edit(root, record("D001").path, (f"status: {before}", f"status: {after}"))
    found = compare_with_revision(kb, "origin/main")
    assert said(found) == [sentence]
    assert f"{before} →" in comment.render_comparison(found, "", "en", PLAIN).replace("⚠️ ", "").replace(
        "✅ ", ""
    ).replace("❌ ", "")


@pytest.mark.parametrize(("status", "words"), [("proposed", "only proposed"), ("rejected", "is kept, as rejected")])
def test_a_new_record_that_does_not_hold_yet(kb: KnowledgeBase, root: Path, status: str, words: str) -> None:
    base(root, record("D003", "Cache the search index"))
    put(root, record("D001", status=status, amends=("D003",)))
    found = compare_with_revision(kb, "origin/main")
    assert len(said(found)) == 1 and words in said(found)[0], "what is only proposed amends nothing yet"


def test_a_project_overrides_a_global_record(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES))
    (root / "content/anchors/projects/shop").mkdir(parents=True)
    own = record("D001", "Two years", uid="01K", scope="project/shop", path="content/anchors/projects/shop/D001-x.md")
    put(root, own._replace(supersedes=("global:D001",)))
    found = compare_with_revision(kb, "origin/main")
    assert said(found) == [f"[shop:D001] “Two years” applies in its project instead of [global:D001] “{INVOICES}”"]
    page = comment.render_comparison(found, "", "en", PLAIN)
    assert "- [shop:D001] Two years — " in page and f"similar existing records: [global:D001] {INVOICES}" in page
    assert "branch-id" not in [f.rule for f in found.findings], "another scope, another id"


def test_an_id_means_the_record_of_the_own_scope_first(kb: KnowledgeBase, root: Path) -> None:
    place = "content/anchors/projects/shop"
    (root / place).mkdir(parents=True)
    own = record("D001", "Two years", uid="01K", scope="project/shop", path=f"{place}/D001-x.md")
    base(root, record("D001", INVOICES), own)
    put(root, own._replace(status="superseded"))
    put(root, record("D002", "A year", scope="project/shop", path=f"{place}/D002-x.md", supersedes=("D001",)))
    found = compare_with_revision(kb, "origin/main")
    assert said(found) == ["[shop:D002] “A year” is accepted; [shop:D001] “Two years” no longer is"]
    page = comment.render_comparison(found, "", "en", PLAIN)
    assert "- [shop:D002] A year — " in page and "- [shop:D001] Two years — " in page
    assert "superseded by: [shop:D002] A year" in page


def test_what_was_amended_before_is_not_amended_again(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES), record("D002", "Cache the search index", amends=("D001",)))
    edit(root, record("D002").path, ("says of why", "says of the reason"))
    assert steps(compare_with_revision(kb, "origin/main")) == [("changed", "D002")]


def test_what_main_has_changed_meanwhile_is_said(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"), record("D002", INVOICES))
    changed = record("D001", texts={"why": "Another reason on main."}, status="deprecated")
    on(root, "main", changed)
    edit(root, record("D001").path, ("D001 says of decision", "D001 says of it"))
    found = compare_with_revision(kb, "origin/main")
    [change] = found.changes
    assert change.elsewhere == ("status", "why") and change.record.status == "deprecated"
    assert said(found) == ["accepted records stay as they are"], "main has ended its accepted status"
    assert "changed on origin/main in the meantime: status, Why" in markdown(found)
    assert "origin/main 上也已改动：status、理由" in markdown(found, "zh")


def test_a_long_text_is_cut_around_what_changed(kb: KnowledgeBase, root: Path) -> None:
    long = "a word and " * 60
    base(root, record("D001", texts={"why": long + "the end was here."}))
    edit(root, record("D001").path, ("the end was here", "the end is there"))
    [part] = compare_with_revision(kb, "origin/main").changes[0].parts
    assert part.before.endswith("the end was here.") and part.after.endswith("the end is there.")
    assert part.before.startswith("…") and max(len(part.before), len(part.after)) <= 200


def test_similar_records_of_the_other_side(kb: KnowledgeBase, root: Path) -> None:
    dead = record("D006", "Keep invoices for ten years at most", status="deprecated")
    base(root, record("D001"), record("D002", INVOICES), dead)
    on(root, "main", record("D003", "Keep invoices of partners for ten years"))
    put(
        root,
        record("D004", "Keep invoices for ten years at least"),
        record("D005", "Keep invoices for ten years abroad"),
    )
    commit(root)
    new = {change.record.id: change for change in compare_with_revision(kb, "origin/main").changes}
    assert [one.id for one in new["D004"].similar][:2] == ["D002", "D003"], "not D005, which is as new"
    assert "similar existing records: \\[D002\\] Keep invoices for ten years (0." in markdown(
        compare_with_revision(kb, "origin/main")
    )


# -- what stands against it -----------------------------------------------------------------------


def test_an_id_that_main_has_given_out(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    on(root, "main", record("D002", INVOICES, uid="01A", path="content/anchors/global/D002-main.md"))
    put(root, record("D002", "Sign every webhook", uid="01B", path="content/anchors/global/D002-here.md"))
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("branch-id", "error", "D002")]
    assert str(found.findings[0].message) == f"on origin/main, D002 is “{INVOICES}”"
    assert str(found.findings[0].fix) == "give this one a new number: kb renumber D002"
    git(root, "merge", "-q", "--no-edit", "origin/main")
    assert [f.rule for f in compare_with_revision(kb, "origin/main").findings] == ["branch-id"], (
        "said once, though both are here now"
    )


@pytest.mark.parametrize("how", ["renumbered", "removed"])
def test_an_id_that_this_branch_sets_free_is_not_taken(kb: KnowledgeBase, root: Path, how: str) -> None:
    base(root, record("D001"))
    git(root, "mv", record("D001").path, "content/anchors/global/D003-x.md")
    edit(root, "content/anchors/global/D003-x.md", ("id: D001", "id: D003"), ("[D001]", "[D003]"))
    if how == "removed":
        git(root, "rm", "-qf", "content/anchors/global/D003-x.md")
    put(root, record("D001", INVOICES, uid="01Z", path="content/anchors/global/D001-new.md"))
    assert against(compare_with_revision(kb, "origin/main")) == []


def test_an_id_is_taken_once_even_where_a_branch_edits_who_has_it(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    on(root, "main", record("D002", INVOICES, uid="01A"))
    on(root, "work", record("D002", "Keep invoices for two years", uid="01A"))
    put(root, record("D002", "Sign every webhook", uid="01B", path="content/anchors/global/D002-here.md"))
    commit(root)
    assert [str(f.message).split(",")[0] for f in compare_with_revision(kb, "origin/main").findings] == [
        "on origin/main"
    ]


def test_an_id_that_was_there_before_is_not_this_branchs_doing(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001"))
    on(root, "work", record("D001", INVOICES, uid="01Z", path="content/anchors/global/D001-theirs.md"))
    edit(root, record("D001").path, ("says of why", "says of the reason"))
    assert against(compare_with_revision(kb, "origin/main")) == []


@pytest.mark.parametrize(
    ("uid", "words"), [("01A", "is newer and should be renumbered"), ("01Z", "give this one a new")]
)
def test_an_id_of_another_open_branch(kb: KnowledgeBase, root: Path, uid: str, words: str) -> None:
    base(root, record("D001"))
    on(root, "work/theirs", record("D002", INVOICES, uid="01M"))
    put(root, record("D002", "Sign every webhook", uid=uid, path="content/anchors/global/D002-here.md"))
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("branch-id", "error", "D002")] and found.branches == ("origin/work/theirs",)
    assert "origin/work/theirs" in str(found.findings[0].message) and words in str(found.findings[0].fix)


@pytest.mark.parametrize("ours", ["the same branch", "a stacked branch", "its older state at the remote"])
def test_a_branch_is_no_stranger_to_itself(kb: KnowledgeBase, root: Path, ours: str) -> None:
    base(root, record("D001"))
    put(root, record("D002", INVOICES))
    commit(root)
    if ours == "the same branch":
        publish(root, "feature")
    elif ours == "a stacked branch":
        on(root, "stacked", record("D003", "Sign every webhook"), start="feature")
    else:
        publish(root, "feature")
        git(root, "rm", "-q", record("D002").path)
        put(root, record("D002", "Sign every webhook", uid="01Z", path="content/anchors/global/D002-anew.md"))
        git(root, "add", "-A")
        git(root, "commit", "-q", "--amend", "-m", "Anew")
    assert against(compare_with_revision(kb, "origin/main")) == []


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (FASTAPI, FLASK),
        ("使用 FastAPI 作为后端框架", "采用 Flask 作为后端框架"),
        ("Encrypt backups", "Do not encrypt backups"),
    ],
)
def test_a_contradiction_with_main(kb: KnowledgeBase, root: Path, theirs: str, mine: str) -> None:
    base(root, record("D009", INVOICES))
    on(root, "main", record("D001", theirs, texts={"decision": theirs}))
    put(root, record("D002", mine, texts={"decision": mine}))
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("contradiction", "error", "D002")]
    assert theirs in str(found.findings[0].message) and "kb supersede D001 --by D002" in str(found.findings[0].fix)
    edit(root, record("D002").path, ("date:", "coexists_with: {D001: for the admin pages}\ndate:"))
    assert [f.rule for f in compare_with_revision(kb, "origin/main").findings if f.rule == "contradiction"] == []


@pytest.mark.parametrize(
    ("status", "expected"), [("proposed", ["warning"]), ("deprecated", []), ("accepted", ["error"])]
)
def test_only_two_that_hold_are_an_error(kb: KnowledgeBase, root: Path, status: str, expected: list[str]) -> None:
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    put(root, record("D002", FLASK, texts={"decision": "We use Flask."}, status=status))
    found = compare_with_revision(kb, "origin/main")
    assert [f.severity for f in found.findings if f.rule == "contradiction"] == expected


def test_claims_are_a_contradiction_told_once(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES, claims={"invoices.years": "10"}))
    put(root, record("D002", "Delete invoices", claims={"invoices.years": "2"}))
    assert against(compare_with_revision(kb, "origin/main")) == [("contradiction", "error", "D002")]


def test_what_stood_before_is_not_this_branchs_doing(kb: KnowledgeBase, root: Path) -> None:
    flask = record("D002", FLASK, texts={"decision": "We use Flask."})
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}), flask)
    edit(root, flask.path, ("D002 says of why", "D002 says of the reason"))
    assert against(compare_with_revision(kb, "origin/main")) == []
    edit(root, record("D001").path, ("status: accepted", "status: deprecated"))
    commit(root)
    publish(root, "feature")
    git(root, "update-ref", "refs/remotes/origin/main", "feature")
    edit(root, record("D001").path, ("status: deprecated", "status: accepted"))
    found = compare_with_revision(kb, "origin/main")
    assert [f.rule for f in found.findings] == ["contradiction"], "back in force, it contradicts again"


def test_two_records_of_one_branch_contradict_each_other(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D009", INVOICES))
    put(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    put(root, record("D002", FLASK, texts={"decision": "We use Flask."}))
    assert [f.rule for f in compare_with_revision(kb, "origin/main").findings] == ["contradiction"]


def test_a_record_there_may_say_itself_why_both_hold(kb: KnowledgeBase, root: Path) -> None:
    flask = record("D002", FLASK, texts={"decision": "We use Flask."}, status="deprecated")
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}, coexists_with={"D002": "admin"}), flask)
    edit(root, flask.path, ("status: deprecated", "status: accepted"))
    assert against(compare_with_revision(kb, "origin/main")) == []


def test_a_record_is_not_held_against_itself(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES))
    put(root, record("D002", "Encrypt backups", texts={"decision": "Do not encrypt backups."}))
    assert against(compare_with_revision(kb, "origin/main")) == []


def test_what_this_branch_words_anew_is_compared_as_it_is_now(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    put(root, record("D001", "Sign every webhook"), record("D002", FLASK, texts={"decision": "We use Flask."}))
    assert against(compare_with_revision(kb, "origin/main")) == []


def test_what_main_has_removed_meanwhile_contradicts_nothing(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    git(root, "switch", "-q", "main")
    git(root, "rm", "-q", record("D001").path)
    commit(root)
    publish(root)
    git(root, "switch", "-q", "feature")
    put(root, record("D002", FLASK, texts={"decision": "We use Flask."}))
    assert [f.rule for f in compare_with_revision(kb, "origin/main").findings] == []


def test_a_replaced_record_contradicts_nothing(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    put(root, record("D002", FLASK, texts={"decision": "We use Flask."}, supersedes=("D001",)))
    edit(root, record("D001").path, ("status: accepted", "status: superseded"))
    assert against(compare_with_revision(kb, "origin/main")) == []


def test_a_contradiction_with_an_open_review_is_a_warning(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D009", INVOICES))
    on(root, "kb/review/D001-x", record("D001", FASTAPI, texts={"decision": "We use FastAPI."}))
    put(root, record("D002", FLASK, texts={"decision": "We use Flask."}))
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("contradiction", "warning", "D002")]
    assert found.branches == ("kb/review/D001-x",), "local and remote, it is one branch"
    assert str(found.findings[0].message).startswith("on kb/review/D001-x: “Use Flask")
    git(root, "update-ref", "-d", "refs/remotes/origin/kb/review/D001-x")
    git(root, "branch", "-qm", "kb/review/D001-x", "private")
    assert against(compare_with_revision(kb, "origin/main")) == [], "a private branch is nobody's business"


def test_main_has_replaced_the_same_record_meanwhile(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES))
    ended = record("D001", INVOICES, status="superseded")
    on(root, "main", ended, record("D002", "Sign every webhook", supersedes=("D001",)))
    put(root, ended, record("D003", "Cache the search index", supersedes=("D001",)))
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("heirs", "warning", "D003")]
    assert "D001 has since been replaced by D002" in str(found.findings[0].message)
    git(root, "switch", "-q", "--detach", "main")
    git(root, "merge", "-q", "--no-edit", "feature")
    assert [f.rule for f in compare_with_revision(kb, "origin/main").findings] == ["heirs"], "as GitHub checks it out"
    git(root, "switch", "-q", "feature")
    edit(root, record("D003").path, ("supersedes: [D001]", "supersedes: [D001]\namends: [D002]"))
    assert "heirs" not in [f.rule for f in compare_with_revision(kb, "origin/main").findings]


def test_what_was_replaced_long_ago_may_be_replaced_again(kb: KnowledgeBase, root: Path) -> None:
    ended = record("D001", INVOICES, status="superseded")
    base(root, ended, record("D002", "Sign every webhook", supersedes=("D001",)))
    put(root, record("D003", "Cache the search index", supersedes=("D001",)))
    assert against(compare_with_revision(kb, "origin/main")) == []


# -- the check itself -----------------------------------------------------------------------------


def test_findings_in_what_changed_come_first_and_others_are_counted(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES, user="see [D404] and [D405]"))
    put(root, record("D002", "Sign every webhook", user="see [D406]"))
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("citation", "error", "D002")] and found.elsewhere == {"error": 2}
    assert "in files that stay as they are: findings: 2; see: kb check" in markdown(found)


def test_what_breaks_elsewhere_because_of_it_counts(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES), record("D002", "Sign every webhook", user="see [D001], [D404]"))
    (root / record("D001").path).unlink()
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("citation", "error", "D002")] and "[D001]" in str(found.findings[0].message)
    assert found.elsewhere == {"error": 1}


def test_a_file_of_the_project_that_goes(kb: KnowledgeBase, root: Path) -> None:
    (root / "kb.toml").write_text('project = "kb"\n')
    (root / "app.py").write_text("x\n")
    (root / "content/anchors/projects/kb").mkdir(parents=True)
    about = record("D001", impact=("app.py",), scope="project/kb", path="content/anchors/projects/kb/D001-x.md")
    base(root, about)
    with KnowledgeBase(str(root), os.environ) as own:
        assert against(compare_with_revision(own, "origin/main")) == []
        git(root, "rm", "-q", "app.py")
        commit(root)
        assert against(compare_with_revision(own, "origin/main")) == [("impact", "error", "D001")]


def test_a_status_that_cannot_follow(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", status="rejected"))
    edit(root, record("D001").path, ("status: rejected", "status: accepted"))
    assert against(compare_with_revision(kb, "origin/main")) == [("transition", "error", "D001")]


def test_secrets_are_looked_for_in_what_changed(kb: KnowledgeBase, root: Path) -> None:
    key = "AKIA" + "Q3EGRIZ7B2XW4LMN"
    base(root, record("D001", user=f"key {key}"))
    put(root, record("D002", INVOICES, user=f"key {key}"))
    found = compare_with_revision(kb, "origin/main")
    assert against(found) == [("secret", "error", "D002")] and found.elsewhere == {}
    assert key not in markdown(found) + json.dumps(comment.serialise_comparison(found, "en"))


def test_an_unreadable_file_is_a_finding_and_no_trouble(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D004", INVOICES), record("D005", "Sign every webhook"))
    (root / "content/anchors/global/D002-x.md").write_text("---\nid: D002\n")
    (root / "content/anchors/global/D003\nnewline.md").write_text("---\nid: D003\n---\n")
    edit(root, record("D004").path, ("says of why", "says of the reason"))
    edit(root, record("D005").path, ("says of why", "says of the reason"))
    commit(root)
    found = compare_with_revision(kb, "origin/main")
    assert steps(found) == [("changed", "D004"), ("changed", "D005")]
    assert ("frontmatter", "error", "D002") in against(found)


# -- with and without an index --------------------------------------------------------------------


def test_the_index_changes_nothing(kb: KnowledgeBase, root: Path) -> None:
    base(root, record("D001", INVOICES), record("D002", FASTAPI, claims={"a": "1"}), record("D003", "A cache"))
    on(root, "main", record("D004", "Sign every webhook"))
    put(root, record("D005", FLASK, claims={"a": "2"}, amends=("D003",)))
    edit(root, record("D001").path, ("ten years", "two years"))
    commit(root)
    kb.records()
    assert Path(kb.state.path("index.db")).exists()
    known = compare_with_revision(kb, "origin/main")
    shutil.rmtree(root / ".kb")
    with KnowledgeBase(str(root), os.environ) as bare:
        read = compare_with_revision(bare, "origin/main")
        assert not Path(bare.state.path("index.db")).exists(), "it is not built for this"
    assert known._replace(findings=()) == read._replace(findings=())
    assert [str(f) for f in known.findings] == [str(f) for f in read.findings]


# -- the door -------------------------------------------------------------------------------------


def test_a_knowledge_base_within_a_code_repository(root: Path, tmp_path: Path) -> None:
    top = tmp_path / "code"
    shutil.copytree(root, top / "docs" / "知识", ignore=shutil.ignore_patterns(".git", ".kb"))
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    inside = top / "docs" / "知识"
    put(inside, record("D001", INVOICES))
    commit(top)
    publish(top)
    git(top, "switch", "-qc", "feature")
    put(inside, record("D002", "Sign every webhook", user="[D404]"))
    (top / "content").mkdir()
    (top / "content" / "D009-no-record.md").write_text("x")
    with KnowledgeBase(str(inside), os.environ) as own:
        found = compare_with_revision(own, "origin/main")
        assert steps(found) == [("new", "D002")] and found.uncommitted == 1
    done = run(inside, "check", "--against", "origin/main", "--format", "github")
    assert done.out.startswith("::error file=docs/知识/content/anchors/global/D002-x.md,")


@pytest.fixture
def here(kb: KnowledgeBase, root: Path) -> Iterator[Path]:
    """A branch with one new record, good in itself."""
    base(root, record("D001", INVOICES))
    put(root, record("D002", "Sign every webhook"))
    commit(root)
    yield root


def test_exit_codes(here: Path) -> None:
    done = run(here, "check", "--against", "origin/main")
    assert done.code == 0 and "✅ No objections" in done.out and comment.MARK not in done.out
    edit(here, record("D002").path, ("date: ", "date: 2027-"))
    assert run(here, "check", "--against", "origin/main").code == 1
    edit(here, record("D002").path, ("date: 2027-", "confirmed: 2031-01-01\ndate: "))
    assert run(here, "check", "--against", "origin/main").code == 0, "a warning"
    assert run(here, "check", "--against", "origin/main", "--strict").code == 1
    done = run(here, "check", "--against", "origin/main", "--fix")
    assert done.code == 2 and "--fix" in done.error


def test_json_and_github(here: Path) -> None:
    edit(here, record("D002").path, ("says of why", "says, see [D404]"))
    done = run(here, "check", "--against", "origin/main", "--json")
    value = json.loads(done.out)
    assert [(c["step"], c["id"], c["status"]) for c in value["changes"]] == [("new", "D002", "accepted")]
    assert value["meaning"] == ["[D002] “Sign every webhook” is accepted"] and value["uncommitted"] == 1
    assert [f["rule"] for f in value["findings"]] == ["citation"] and len(value["base"]) == 40
    done = run(here, "check", "--against", "origin/main", "--format", "github")
    assert done.out.startswith("::error file=content/anchors/global/D002-x.md,line=") and done.code == 1


def test_only_what_is_below_a_path(here: Path) -> None:
    put(here, record("D003", "Cache the search index", user="[D404]"))
    path = str(here / record("D002").path)
    done = run(here, "check", "--against", "origin/main", "--json", path)
    assert [c["id"] for c in json.loads(done.out)["changes"]] == ["D002"] and done.code == 0


def test_markdown_of_a_whole_check(here: Path) -> None:
    put(here, record("D003", "Cache the search index", user="see [D404], @everyone"))
    done = run(here, "check", "--format", "markdown")
    assert done.code == 1 and done.out.startswith(comment.MARK) and "\\[D404\\] names no record" in done.out


def test_in_chinese(here: Path) -> None:
    with (here / "kb.toml").open("a") as file:
        file.write('\nlanguage = "zh"\n')
    done = run(here, "check", "--against", "origin/main", "--format", "markdown")
    assert "**合并之后**" in done.out and "\\[D002\\]“Sign every webhook”生效" in done.out
    assert "✅ 可以合并" in done.out and not [word for word in ("Why", "holds", "New") if word in done.out]


# -- git that cannot tell -------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["origin/nowhere", "--all", "--since=yesterday", "", "HEAD:kb.toml"])
def test_a_revision_that_git_does_not_know(kb: KnowledgeBase, root: Path, revision: str) -> None:
    with pytest.raises(GitFailed) as trouble:
        compare_with_revision(kb, revision)
    assert "git branch --all" in str(trouble.value.hint)


def test_a_shallow_clone_names_the_next_step(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    put(root, record("D001"))
    commit(root)
    git(root, "switch", "-qc", "feature")
    put(root, record("D002", INVOICES))
    commit(root)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", "-b", "feature", f"file://{root}", str(clone))
    for revision in ("origin/main", "origin/other"):
        done = run(clone, "check", "--against", revision, "--format", "markdown")
        assert done.code == 1 and done.out == "" and "fetch-depth: 0" in done.error and "--unshallow" in done.error
    git(clone, "fetch", "-q", "--unshallow")
    assert run(clone, "check", "--against", "origin/main").code == 0


def test_histories_that_have_nothing_in_common(kb: KnowledgeBase, root: Path) -> None:
    git(root, "switch", "-q", "--orphan", "other")
    git(root, "commit", "-q", "--allow-empty", "-m", "Begin")
    with pytest.raises(GitFailed, match="no commit that main and HEAD have in common"):
        compare_with_revision(kb, "main")


def test_a_branch_without_a_commit(tmp_path: Path, clock: Clock) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "new"))
    (tmp_path / "new" / "kb.toml").write_text("")
    with KnowledgeBase(str(tmp_path / "new"), os.environ, clock) as new, pytest.raises(GitFailed, match="committed"):
        compare_with_revision(new, "HEAD")


def test_branches_that_git_cannot_follow_are_counted(kb: KnowledgeBase, root: Path, monkeypatch: Any) -> None:
    base(root, record("D001"))
    git(root, "switch", "-q", "--orphan", "orphan")
    git(root, "commit", "-q", "--allow-empty", "-m", "Begin")
    publish(root, "orphan")
    git(root, "switch", "-q", "feature")
    on(root, "one", record("D002", INVOICES))
    on(root, "two", record("D003", "Sign every webhook"))
    found = compare_with_revision(kb, "origin/main")
    assert len(found.branches) == 2 and found.unseen == 1
    monkeypatch.setattr("kb.git.revisions.MOST_BRANCHES", 1)
    assert compare_with_revision(kb, "origin/main").unseen == 2
    assert "other open branches that were not looked at: 2" in markdown(compare_with_revision(kb, "origin/main"))
