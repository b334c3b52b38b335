"""Reviews, from the contradiction to the decision."""

import json
import os
import time
from pathlib import Path

import pytest

from kb.errors import GitFailed, KbError, NeedsPerson, UnknownId
from kb.knowledge_base import KnowledgeBase
from kb.writing.reviews import Review, format_age
from tests.support.clones import DJANGO, FASTAPI, FLASK, commits, committed, decision, one, seen
from tests.support.command_line import run, run_at_terminal
from tests.support.sealed import Clock, git


def opened(kb: KnowledgeBase) -> str:
    """Open a review of Flask against FastAPI and return its branch."""
    one(kb, FASTAPI)
    return one(kb, FLASK).branch


# -- opening --------------------------------------------------------------------------------------


def test_a_contradiction_leaves_the_branch_alone(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    head, before = git(root, "rev-parse", "HEAD"), seen(root)
    verdict = one(kb, FLASK)
    assert (verdict.verdict, verdict.id) == ("conflict", "D002")
    assert verdict.branch == "kb/review/D002-use-flask-as-the-backend-framework"
    assert git(root, "rev-parse", "HEAD") == head and seen(root) == before
    assert [record.id for record in kb.records()] == ["D001"]
    changed = git(root, "diff", "--name-status", "main", verdict.branch).split()
    assert changed == ["M", kb.records()[0].path, "A", verdict.path]
    diff = git(root, "diff", "main", verdict.branch)
    assert "-status: accepted\n+status: superseded" in diff and "+supersedes: [D001]" in diff


def test_a_similar_contradiction_adds_to_the_review(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    again = one(kb, FLASK._replace(session="s9", why="Its extensions cover what we need."))
    assert (again.branch, again.id) == (branch, "D002")
    assert commits(root, f"main..{branch}") == 2 and len(kb.reviews()) == 1
    assert "Its extensions" in git(root, "show", f"{branch}:{again.path}")
    assert one(kb, FLASK._replace(session="s9")).branch == branch
    assert commits(root, f"main..{branch}") == 2, "nothing new, no commit"


def test_another_choice_opens_its_own_review(kb: KnowledgeBase) -> None:
    first = opened(kb)
    second = one(kb, DJANGO)
    assert second.verdict == "conflict" and second.branch != first and second.id == "D003"
    assert [review.record.id for review in kb.reviews()] == ["D002", "D003"]


def test_chinese_sides(kb: KnowledgeBase) -> None:
    first = FASTAPI._replace(title="使用 FastAPI 作为后端框架", decision="后端统一使用 FastAPI。", claims={})
    second = FLASK._replace(title="采用 Flask 作为后端框架", decision="后端统一使用 Flask。", claims={})
    one(kb, first)
    verdict = one(kb, second)
    assert verdict.branch == "kb/review/D002-采用-flask-作为后端框架"
    assert kb.accept(verdict.branch).verdict == "updated"
    assert {r.id: r.status for r in kb.records()} == {"D001": "superseded", "D002": "accepted"}


# -- looking --------------------------------------------------------------------------------------


def test_list_and_show(kb: KnowledgeBase) -> None:
    branch = opened(kb)
    (review,) = kb.reviews()
    assert (review.branch, review.record.title, review.against) == (branch, FLASK.title, ("D001",))
    assert (review.host, review.session, review.since[:10]) == ("test", "s2", "2026-11-21")
    for name in ("D002", "[D002]", branch, branch.removeprefix("kb/review/"), review.record.uid):
        sides = kb.sides(name)
        assert [old.title for old in sides.old] == [FASTAPI.title]
        assert "FastAPI" in sides.reasons and "+status: superseded" in sides.diff
    with pytest.raises(UnknownId):
        kb.sides("D009")


@pytest.mark.parametrize(
    ("since", "english", "chinese"),
    [
        ("2026-11-21T00:00:00+00:00", "today", "今天"), ("2026-11-21T23:59:59Z", "today", "今天"),
        ("2026-11-22T05:00:00+00:00", "today", "今天"), ("2026-11-20T23:59:59+00:00", "1 day", "1 天"),
        ("2026-11-18T12:00:00+00:00", "3 days", "3 天"), ("2026-11-19T01:00:00+08:00", "3 days", "3 天"),
        ("2024-02-29T00:00:00+00:00", "996 days", "996 天"), ("some day", "some day", "some day"), ("", "", ""),
    ],
)  # fmt: skip
def test_how_long_a_review_has_been_open(kb: KnowledgeBase, since: str, english: str, chinese: str) -> None:
    opened(kb)
    said = format_age(kb.reviews()[0]._replace(since=since), kb.today())
    assert (str(said), said.translate("zh")) == (english, chinese)


@pytest.mark.parametrize(("language", "age_"), [("en", "3 days"), ("zh", "3 天")])
def test_the_list_tells_age_source_and_both_titles(kb: KnowledgeBase, root: Path, language: str, age_: str) -> None:
    branch = opened(kb)
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    days_ago = f"{int(time.time()) - 3 * 86_400} +0000"
    git(root, "switch", "-q", branch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", days_ago)
        git(root, "commit", "-q", "--amend", "--no-edit")
    git(root, "switch", "-q", "main")
    first, second, third = run(root, "review").out.splitlines()
    assert first in (f"{branch}  ({age_}, test/s2)", f"{branch}  ({age_.replace('3', '4')}, test/s2)"), "over midnight"
    assert (second, third) == (f"    + [D002] {FLASK.title}", f"    − [D001] {FASTAPI.title}")
    (row,) = json.loads(run(root, "review", "--json").out)
    assert row["since"] == kb.reviews()[0].since and set(row) == set(Review._fields)


def test_a_persons_commit_on_the_branch_keeps_the_review(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    since = kb.reviews()[0].since
    git(root, "switch", "-q", branch)
    path = root / kb.reviews()[0].path
    path.write_text(path.read_text().replace("The backend uses Flask.", "The backend uses Flask 3."))
    git(root, "commit", "-qam", "Say which")
    git(root, "switch", "-q", "main")
    (review,) = kb.reviews()
    assert "Flask 3" in review.record.section("decision") and review.against == ("D001",) and review.since <= since
    assert "FastAPI" in kb.sides(branch).reasons
    kb.accept(branch)
    assert "Flask 3" in kb.record("D002").section("decision")


def test_a_record_broken_on_the_branch_is_seen_and_not_accepted(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    git(root, "switch", "-q", branch)
    path = root / kb.reviews()[0].path
    path.write_text(path.read_text().replace("<!-- MACHINE_BLOCK_END -->", ""))
    git(root, "commit", "-qam", "Oops")
    git(root, "switch", "-q", "main")
    assert [(review.branch, review.record.id) for review in kb.reviews()] == [(branch, "D002")]
    with pytest.raises(NeedsPerson):
        kb.accept(branch)
    assert commits(root, f"{branch}..main") == 0


# -- accepting ------------------------------------------------------------------------------------


def test_accepting_is_a_merge(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    one(kb, decision(0))
    verdict = kb.accept(branch)
    assert (verdict.verdict, verdict.id, verdict.status) == ("updated", "D002", "accepted")
    assert {r.id: r.status for r in kb.records()} == {"D001": "superseded", "D002": "accepted", "D003": "proposed"}
    assert kb.reviews() == [] and branch not in git(root, "branch", "--list", "kb/*")
    assert len(git(root, "log", "-1", "--format=%P").split()) == 2
    assert git(root, "status", "--porcelain") == "" and kb.check() == []


def test_a_person_accepts_what_the_settings_require(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    assert one(kb, DJANGO._replace(alternatives="", verification="", rollback="", impact=())).verdict == "conflict"
    assert run(root, "review", "reject", branch, "--yes").code == 0
    assert run(root, "review", "accept", "D003", "--yes").code == 0
    assert str(kb.record("D003").status) == "accepted"


def test_a_record_that_waits_is_named_where_it_is_not_found(kb: KnowledgeBase, root: Path) -> None:
    opened(kb)
    for words in (["show", "D002"], ["refs", "D002"], ["show", "d002", "--json"]):
        assert "kb review show" in run(root, *words).error, words
    assert "kb review show" not in run(root, "show", "D009").error


def test_merging_by_hand_is_the_same(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    one(kb, decision(0))
    git(root, "merge", "-q", "--no-edit", branch)
    git(root, "branch", "-d", branch)
    assert {r.id: r.status for r in kb.records()} == {"D001": "superseded", "D002": "accepted", "D003": "proposed"}
    assert kb.reviews() == [] and kb.check() == []
    assert one(kb, FLASK).verdict == "unchanged"


def test_accepting_leaves_a_persons_work_alone(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    path = root / kb.record("D001").path
    path.write_text(path.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n"))
    (root / "staged.txt").write_text("staged\n")
    git(root, "add", "staged.txt")
    before = seen(root)
    kb.accept(branch)
    assert seen(root) == before
    assert "mine" in path.read_text() and "status: superseded" in path.read_text()


def test_accepting_over_edits_of_the_same_lines_needs_a_person(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    path = root / kb.record("D001").path
    path.write_text(path.read_text().replace("status: accepted", "status: deprecated"))
    before, head = seen(root), git(root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson, match="not committed"):
        kb.accept(branch)
    assert seen(root) == before and git(root, "rev-parse", "HEAD") == head and len(kb.reviews()) == 1


def test_a_review_that_does_not_merge_needs_a_person(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    for place, owner in ((branch, "us"), ("main", "them")):
        git(root, "switch", "-q", place)
        path = root / kb.record("D001").path
        path.write_text(path.read_text().replace("The backend uses FastAPI.", f"The backend is up to {owner}."))
        git(root, "commit", "-qam", f"Leave it to {owner}")
    head = git(root, "rev-parse", "HEAD")
    assert run(root, "review").out.splitlines()[0].endswith(", test/s2, base moved)")
    with pytest.raises(NeedsPerson, match="both changed") as caught:
        kb.accept(branch)
    assert str(caught.value.hint) == f"git merge {branch}"
    assert git(root, "rev-parse", "HEAD") == head and git(root, "status", "--porcelain") == ""


def test_a_status_that_moved_on_is_merged_by_its_table(kb: KnowledgeBase) -> None:
    branch = opened(kb)
    kb.change_status("D001", "deprecated", why="Gone.", decided=True)
    assert kb.accept(branch).verdict == "updated"
    assert kb.record("D001").status == "superseded" and "Gone." in kb.record("D001").section("additions")


def test_a_review_that_touches_other_files_is_left_to_git(tmp_path: Path, root: Path, clock: Clock) -> None:
    from kb.knowledge_base import make

    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(code))
    (code / "main.py").write_text("1\n")
    git(code, "add", ".")
    git(code, "commit", "-qm", "Code")
    kb, _ = make(str(code / "kb"), os.environ, inside=True)
    with kb:
        branch = opened(kb)
        git(code, "switch", "-q", branch)
        (code / "main.py").write_text("2\n")
        git(code, "commit", "-qam", "Code on the review")
        git(code, "switch", "-q", "main")
        with pytest.raises(NeedsPerson, match=r"main\.py"):
            kb.accept(branch)


def test_edits_after_accepting_are_not_taken_back(kb: KnowledgeBase, root: Path) -> None:
    kb.accept(opened(kb))
    path = root / kb.record("D001").path
    old = git(root, "show", f"HEAD~1:{kb.record('D001').path}")
    path.write_text(old)
    one(kb, decision(0))
    assert path.read_text() == old


def test_a_name_with_a_line_end_on_the_branch_needs_a_person(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    git(root, "switch", "-q", branch)
    (root / "content/anchors/global/two\nlines.md").write_text("no record\n")
    git(root, "add", "content")
    git(root, "commit", "-qm", "A strange name")
    git(root, "switch", "-q", "main")
    with pytest.raises(NeedsPerson, match="which is no record"):
        kb.accept(branch)
    assert len(kb.reviews()) == 1


def test_accepting_is_told_even_where_the_index_cannot_follow(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = opened(kb)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kb.index.database.Index.reload_files", full)
    assert kb.accept(branch).id == "D002"
    monkeypatch.undo()
    assert kb.reviews() == [] and kb.record("D001").status == "superseded"


def test_deciding_while_something_is_in_progress(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    git(root, "switch", "-q", "--detach")
    with pytest.raises(KbError, match="detached"):
        kb.accept(branch)
    git(root, "switch", "-q", branch)
    for decide in (kb.accept, kb.reject):
        with pytest.raises(NeedsPerson, match="checked out"):
            decide(branch)


def test_an_open_review_is_named_at_the_record_it_would_replace(kb: KnowledgeBase, root: Path) -> None:
    assert "review" not in run(root, "show", "D001").error
    opened(kb)
    shown = run(root, "show", "D001")
    assert (
        shown.out.startswith("---\nid: D001") and "an open review would change it: kb review show D002" in shown.error
    )
    listed = run(root, "list")
    assert listed.out.splitlines()[0].endswith("⎇ D002") and "kb review" in listed.error
    assert "⎇" not in run(root, "list", "--json").out
    checked = run(root, "check")
    assert checked.code == 0 and "[D001] would be changed by an open review: kb review show D002" in checked.error
    run(root, "review", "reject", "D002", "--yes")
    assert (
        "⎇" not in run(root, "list").out and "review" not in run(root, "check").error + run(root, "show", "D001").error
    )


# -- rejecting ------------------------------------------------------------------------------------


def test_a_rejected_contradiction_is_refused_from_then_on(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    tip = git(root, "rev-parse", branch)
    head = git(root, "rev-parse", "HEAD")
    assert kb.reject(branch).status == "rejected"
    assert kb.reviews() == [] and git(root, "rev-parse", "HEAD") == head
    ref = "refs/kb/rejected/" + branch.removeprefix("kb/review/")
    assert git(root, "rev-parse", f"{ref}^") == tip and git(root, "diff", ref, tip.strip()) == ""
    verdict = one(kb, FLASK._replace(session="s7"))
    assert verdict.verdict == "refused" and ref in verdict.reasons[0] and verdict.id == ""
    assert one(kb, DJANGO).verdict == "conflict", "another choice has not been rejected"


def test_a_rejection_keeps_who_when_and_why(kb: KnowledgeBase, root: Path) -> None:
    name = opened(kb).removeprefix("kb/review/")
    done = run(root, "review", "reject", name, "--yes", "--why", "A second framework; token=ghp_" + "a1B2" * 9)
    assert done.code == 0 and "kb review show D002" in done.error
    missed = run(root, "show", "D002")
    today = kb.today()
    assert missed.code == 1 and f"it was rejected on {today} by A Tester: A second framework" in missed.error
    assert "ghp_" not in missed.error and "kb review show D002" in missed.error
    shown = run(root, "review", "show", "d002")
    assert "Flask" in shown.out and f"rejected on {today} by A Tester: A second framework" in shown.error
    assert "kb review accept" not in shown.error and "+status: accepted" in shown.out
    again = one(kb, FLASK._replace(session="s8"))
    assert again.verdict == "refused" and "by A Tester: A second framework" in again.reasons[0]
    git(root, "update-ref", f"refs/kb/rejected/{name}", f"refs/kb/rejected/{name}^")
    assert "it was rejected; to read it" in run(root, "show", "D002").error, "nobody kept who"


def test_a_person_who_rejects_is_asked_why(kb: KnowledgeBase, root: Path) -> None:
    opened(kb)
    done = run_at_terminal(root, "review", "reject", "D002", typed=b"One framework is enough\n")
    assert done.code == 0 and "Why?" in done.out
    assert "One framework is enough" in run(root, "show", "D002").error
    assert "kb search flask" in run(root, "show", "flask").error, "words are for a search"


def test_a_branch_deleted_by_hand_closes_the_review(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    git(root, "branch", "-qD", branch)
    assert kb.reviews() == []
    assert one(kb, FLASK).id == "D003", "the number is not given out again"


# -- pushing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "tool"), [("https://github.com/a/kb.git", "gh pr create"), ("git@gitlab.com:a/kb.git", "glab mr create")]
)
def test_push_and_print_the_command(kb: KnowledgeBase, root: Path, tmp_path: Path, url: str, tool: str) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(bare, "config", "receive.advertisePushOptions", "true")
    git(root, "remote", "add", "origin", url)
    git(root, "config", f"url.file://{bare}.insteadOf", url)
    branch = opened(kb)
    (line,) = kb.request("D002")
    assert line.startswith(tool) and branch in line and "main" in line and "FastAPI" in line
    assert git(bare, "rev-parse", branch) == git(root, "rev-parse", branch)


def test_push_without_a_remote(kb: KnowledgeBase) -> None:
    opened(kb)
    with pytest.raises(GitFailed, match="no remote origin") as caught:
        kb.request("D002")
    assert "git remote add" in str(caught.value.hint)


def test_open_runs_the_tool(kb: KnowledgeBase, root: Path, tmp_path: Path, clock: Clock) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "gh").write_text('#!/bin/sh\necho "https://example.com/pull/1 $1 $2 $4"\n')
    (bin_ / "gh").chmod(0o755)
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare.git"))
    git(root, "remote", "add", "origin", f"file://{tmp_path}/bare.git")
    branch = opened(kb)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{bin_}:{before}"
    try:
        assert kb.request("D002", open_it=True) == [f"https://example.com/pull/1 pr create {branch}"]
    finally:
        os.environ["PATH"] = before


# -- numbers and branches -------------------------------------------------------------------------


def test_a_branch_named_kb_is_named_as_the_trouble(kb: KnowledgeBase, root: Path) -> None:
    git(root, "branch", "kb")
    one(kb, FASTAPI)
    verdict = one(kb, FLASK)
    assert verdict.spooled and "refs/heads/kb" in verdict.reasons[0]
    git(root, "branch", "-qm", "kb", "knowledge")
    assert one(kb, decision(0)).verdict == "created" and len(kb.reviews()) == 1


def test_a_review_is_a_plain_branch(kb: KnowledgeBase, root: Path) -> None:
    branch = opened(kb)
    assert git(root, "diff", "--check", f"main...{branch}") == "" and len(committed(root)) == 1
    assert git(root, "log", "-1", "--format=%(trailers:key=Kb-Op,valueonly)", branch).strip() == "review"


def test_a_review_that_was_merged_fast_forward_is_not_open(kb: KnowledgeBase, root: Path) -> None:
    kb.write([FASTAPI], folder=str(root))
    (verdict,) = kb.write([FLASK], folder=str(root))
    assert verdict.verdict == "conflict"
    git(root, "merge", "-q", "--ff-only", verdict.branch)
    assert kb.reviews() == []


def test_a_review_that_makes_a_file_executable_needs_a_person(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    branch = one(kb, FLASK).branch
    git(root, "switch", "-q", branch)
    script = root / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    git(root, "add", "run.sh")
    git(root, "commit", "-qm", "A script")
    git(root, "switch", "-q", "main")
    with pytest.raises(NeedsPerson, match=r"run\.sh"):
        kb.accept(branch)
    git(root, "merge", "-q", "--no-edit", branch)
    assert script.stat().st_mode & 0o100 and git(root, "status", "--porcelain") == ""
