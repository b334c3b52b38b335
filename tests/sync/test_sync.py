"""Sync with a remote: nothing is lost, forced or rewritten, whoever was first and whatever lies about."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kb.errors import Busy, GitFailed, NeedsPerson
from kb.knowledge_base import KnowledgeBase, make
from kb.sync.sync import SyncRun, sync_with_remote
from tests.support.clones import FASTAPI, FLASK, SMALL, seen
from tests.support.command_line import run
from tests.support.sealed import Clock, git
from tests.support.team import FIXTURES, Team, by_hand, edited, file_of, ids, log, subject, thought, written

base, team = FIXTURES


# -- there and back -------------------------------------------------------------------------------


def test_what_one_writes_the_other_has(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1), thought(2))
    done = sync_with_remote(ann)
    assert (done.sent, done.received, done.waiting, done.rescue) == (2, 0, 0, "")
    assert team.tip() == git(ann.root, "rev-parse", "HEAD").strip()
    got = sync_with_remote(bob)
    assert (got.how, got.received, got.sent) == ("forward", 2, 0)
    assert ids(bob) == ids(ann) and git(bob.root, "status", "--porcelain") == ""
    assert [one.title for one in got.records] == [thought(1).title, thought(2).title] and done.records == ()
    assert git(bob.root, "rev-parse", "origin/main") == git(bob.root, "rev-parse", "HEAD")
    again = sync_with_remote(bob)
    assert (again.how, again.received, again.sent, again.reviews, again.inbox) == ("", 0, 0, (), ())


def test_what_came_is_named_and_counted_in_words(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    said = run(Path(ann.root), "sync").out
    assert "sent 1 commit\n" in said
    said = run(Path(bob.root), "sync").out
    assert "received 1 commit\n" in said and f"    [D001] {thought(1).title}\n" in said
    written(ann, *map(thought, range(2, 14)))
    sync_with_remote(ann)
    said = run(Path(bob.root), "sync").out
    assert said.count("    [D0") == 10 and "… and 2 more" in said


def test_what_both_write_is_put_one_upon_the_other(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_NAME", "鲍勃")
        patch.setenv("GIT_AUTHOR_DATE", "2026-11-19T01:02:03+08:00")
        written(team.opened(Path(bob.root)), thought(2, host="test"))
    before = log(bob, "%an|%ae|%ad|%B", "-1"), git(bob.root, "rev-parse", "HEAD").strip()
    done = sync_with_remote(bob)
    assert (done.how, done.received, done.sent) == ("replayed", 1, 1)
    told = [line.replace("[D002]", "[D001]") for line in log(bob, "%an|%ae|%ad|%B", "-1")]
    assert told == before[0] and "鲍勃" in told[0] and "Kb-Op: created" in told
    assert git(bob.root, "rev-parse", done.rescue).strip() == before[1]
    assert len(log(bob, "%H", "--merges")) == 0 and git(bob.root, "status", "--porcelain") == ""
    sync_with_remote(ann)
    assert ids(ann) == ids(bob) and set(ids(ann).values()) == {"D001", "D002"}
    assert git(team.remote, "fsck", "--strict", "--no-dangling") == ""


def test_without_push_nothing_is_sent(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    tip = team.tip()
    done = sync_with_remote(bob, push=False)
    assert (done.received, done.sent, done.waiting) == (1, 0, 1) and team.tip() == tip
    assert sync_with_remote(bob).sent == 1


def test_the_index_follows(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    assert bob.records() == []
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    assert [answer.record.id for answer in bob.recall(subject(1))] == ["D001"]


def test_no_remote(kb: KnowledgeBase) -> None:
    with pytest.raises(GitFailed, match="no remote"):
        sync_with_remote(kb)
    with pytest.raises(GitFailed, match="no remote elsewhere"):
        sync_with_remote(kb, "elsewhere")


def test_an_empty_remote_gets_the_branch(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "--template=", "bare.git")
    git(root, "remote", "add", "shelf", f"file://{tmp_path}/bare.git")
    written(kb, thought(1))
    assert sync_with_remote(kb).remote == "shelf"
    assert git(tmp_path / "bare.git", "rev-parse", "main") == git(root, "rev-parse", "main")


def test_a_branch_that_the_remote_has_not_is_not_pushed_unasked(team: Team) -> None:
    ann = team.clone("ann")
    git(ann.root, "switch", "-qc", "feature")
    written(ann, thought(1))
    done = sync_with_remote(ann)
    assert done.sent == 0 and "git push --set-upstream origin feature" in str(done.notes[0])
    assert team.refs("refs/heads") == ["refs/heads/main"]


def test_the_upstream_may_have_another_name(team: Team) -> None:
    ann = team.clone("ann")
    git(ann.root, "branch", "-qm", "main", "mine")
    written(ann, thought(1))
    assert sync_with_remote(ann).branch == "main" and team.tip() == git(ann.root, "rev-parse", "mine").strip()


def test_a_branch_that_is_gone_there_is_not_made_again(team: Team) -> None:
    ann = team.clone("ann")
    written(ann, thought(1))
    sync_with_remote(ann)
    git(team.remote, "branch", "-qm", "main", "trunk")
    written(ann, thought(2))
    done = sync_with_remote(ann)
    assert done.sent == 0 and "has no branch main" in str(done.notes[0])
    assert team.refs("refs/heads") == ["refs/heads/trunk"]


# -- numbers --------------------------------------------------------------------------------------


def test_a_number_that_both_took_is_changed_on_the_unpublished_side(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    cites = "As [D001] says, not `[D001]`; see [D001](https://example.com).\n\n```text\n[D001]\n```"
    written(bob, thought(3, cites, supersedes=("D001",)), thought(4, "见 [D001]，以及[global:D001]。"))
    edited(bob, "D003", "<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine [D001], `[D001]`\n")
    text = file_of(bob, "D003").read_text()
    bob.replace_text(bob.record("D003"), text, opened=git(bob.root, "show", f"HEAD:{bob.record('D003').path}"))
    done = sync_with_remote(bob)
    assert [(one.old, one.new, one.title) for one in done.renumbered] == [("D001", "D004", thought(2).title)]
    assert ids(bob) == {thought(1).title: "D001", thought(2).title: "D004", thought(3).title: "D002",
                        thought(4).title: "D003"}  # fmt: skip
    mine, two, three = (bob.text(bob.record(record_id)) for record_id in ("D004", "D002", "D003"))
    assert "\nid: D004\n" in mine and "\naliases: [D001]\n" in mine and f"# [D004] {thought(2).title}\n" in mine
    assert bob.record("D004").path == f"content/anchors/global/D004-{Path(bob.record('D004').path).name[5:]}"
    assert "As [D004] says, not `[D001]`; see [D001](https" in two and "```text\n[D001]\n```" in two
    assert "supersedes: [D004]" in two
    assert "见 [D004]，以及[global:D004]。" in three and "mine [D004], `[D001]`" in three
    subjects = log(bob, "%s", "-4")
    assert f"Add [D004] {thought(2).title}"[:70] in subjects[-1] and all("[D001]" not in line for line in subjects)
    sync_with_remote(ann)
    assert ids(ann) == ids(bob) and [f for f in ann.check() if f.severity == "error"] == []
    assert ann.record("D001").title == thought(1).title, "the published number means what it meant"


def test_a_learning_keeps_sections_and_fields_through_a_new_number_and_a_merge(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    fields = {"question_type": "CONFIGURATION", "asked": ("Where is the port set?",), "valid_until": "2027-01-31"}
    sections = {"explored": "Read ×4: src/a.py"}
    answer: dict[str, Any] = {"kind": "learning", "sections": sections, "fields": fields, "confidence": 0.9}
    written(ann, thought(1)._replace(**answer))
    sync_with_remote(ann)
    written(bob, thought(2)._replace(**answer))
    done = sync_with_remote(bob)
    assert [(one.old, one.new) for one in done.renumbered] == [("L001", "L002")]
    mine = bob.record("L002")
    assert (mine.section("explored"), mine.extra["confidence"]) == ("Read ×4: src/a.py", 0.9)
    assert {name: mine.extra[name] for name in fields} == {**fields, "asked": ["Where is the port set?"]}
    sync_with_remote(ann)
    edited(ann, "L002", "valid_until: ", "revisit_when: the port moves\nvalid_until: ")
    edited(bob, "L002", "Read ×4", "Read ×5")
    for clone in (ann, bob):
        by_hand(clone, "Edit the answer")
    for clone in (ann, bob, ann):
        sync_with_remote(clone)
    for clone in (ann, bob):
        both = clone.record("L002")
        assert (both.section("explored"), both.extra["revisit_when"]) == ("Read ×5: src/a.py", "the port moves")
        assert [finding for finding in clone.check() if finding.severity == "error"] == []


def test_an_old_number_still_finds_its_record_where_no_other_has_it(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    sync_with_remote(bob)
    git(bob.root, "rm", "-q", bob.record("D001").path)
    by_hand(bob, "Take it away")
    assert bob.record("[D001]").id == "D002" and bob.record("global:d001").id == "D002"


def test_numbers_of_projects_are_apart(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1, scope="project/shop"))
    sync_with_remote(ann)
    written(bob, thought(2, scope="project/shop"), thought(3, scope="project/店铺"))
    written(bob, thought(4, "Like [shop:D001], unlike [D001].", scope="project/店铺"), thought(5, "And [shop:D001]."))
    done = sync_with_remote(bob)
    assert [(one.scope, one.old, one.new) for one in done.renumbered] == [("project/shop", "D001", "D002")]
    texts = {record.title: record.section("decision") for record in bob.records()}
    assert "Like [shop:D002], unlike [D001]." in texts[thought(4).title] and "[shop:D002]" in texts[thought(5).title]
    assert bob.record("店铺:D001").title == thought(3).title


def test_a_number_of_an_open_review_of_others_is_taken(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, FASTAPI)
    sync_with_remote(ann)
    sync_with_remote(bob)
    assert written(ann, FLASK) == ["D002"]
    sync_with_remote(ann)
    assert written(bob, thought(2)) == ["D002"]
    assert [one.new for one in sync_with_remote(bob).renumbered] == ["D003"]
    ann.accept("D002")
    sync_with_remote(ann)
    sync_with_remote(bob)
    assert sorted(ids(bob).values()) == ["D001", "D002", "D003"]


def test_a_lost_race_leaves_no_alias_that_nobody_has_seen(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    step = SyncRun(bob)
    step.fetch()
    step.integrate()
    assert ids(bob)[thought(2).title] == "D002"
    written(ann, thought(3))
    sync_with_remote(ann)
    assert step.push() is False and team.tip() == git(ann.root, "rev-parse", "HEAD").strip()
    step.fetch()
    step.integrate()
    assert step.push() is True
    (one,) = step.build_result().renumbered
    assert (one.old, one.new) == ("D001", "D003") and "aliases: [D001]\n" in bob.text(bob.record("D003"))
    assert len(git(bob.root, "for-each-ref", "refs/kb/rescue").splitlines()) == 1
    assert step.build_result().received == 2


# -- one record, two hands ------------------------------------------------------------------------


def test_what_both_add_to_a_record_is_in_it(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    for kb, session in ((ann, "s7"), (bob, "s8")):
        written(kb, thought(1, why=f"The export of {session} needs two hours.", session=session, host="test"))
    sync_with_remote(ann)
    done = sync_with_remote(bob)
    record = bob.record("D001")
    assert done.how == "replayed" and record.occurrences == 3 and len(record.sources) == 3
    assert "export of s7" in bob.text(record) and "export of s8" in bob.text(record)
    assert bob.reviews() == []


def test_what_contradicts_the_published_goes_to_a_review(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    for kb, words in ((ann, "two owners"), (bob, "three owners")):
        opened = kb.text(kb.record("D001"))
        text = opened.replace("one owner", words).replace("Go back.", f"Go back to {words}.")
        kb.replace_text(kb.record("D001"), text, opened=opened)
    ann.confirm("D001")
    sync_with_remote(ann)
    written(bob, thought(2))
    done = sync_with_remote(bob)
    assert "two owners" in bob.text(bob.record("D001")) and thought(2).title in ids(bob)
    (review,) = bob.reviews()
    assert review.branch == "kb/review/D001-update" and review.branch in str(done.notes[0])
    assert "kb review show D001-update" in str(done.notes[0])
    assert [one.id for one in done.records] == ["D001"], "what bob wrote himself did not come"
    mine = git(bob.root, "show", f"{review.branch}:{review.path}")
    assert "three owners" in mine and "confirmed: 2026-11-21" in mine, "what ann added stays in it"
    sync_with_remote(ann)
    assert [one.branch for one in ann.reviews()] == [review.branch]
    ann.accept(review.branch)
    assert "three owners" in ann.text(ann.record("D001"))


def test_what_two_clones_decided_against_each_other_is_said_by_the_second(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")

    def decide(kb: KnowledgeBase, store: str) -> None:
        said = ("--decision", f"Sessions live in {store}.", "--why", "It is quick.", "--area", "architecture")
        rest = ("--alternatives", "None", "--impact", "sessions", "--verification", "x", "--rollback", "x")
        title = ("--title", f"Use {store} for sessions")
        assert run(Path(kb.root), "write", "--kind", "decision", *title, *said, *rest).code == 0

    decide(ann, "Redis")
    decide(bob, "Memcached")
    assert run(Path(ann.root), "sync").code == 0
    synced = run(Path(bob.root), "sync")
    assert synced.code == 5 and "chooses otherwise" in synced.error
    assert synced.error.count("kb supersede D001 --by D002") == 1
    later = run(Path(ann.root), "sync")
    assert later.code == 0 and "chooses otherwise" not in later.error, "it is bob's to settle"
    told = run(Path(bob.root), "sync")
    assert told.code == 0 and not told.error, "once"


def test_the_same_record_of_both_is_one(team: Team) -> None:
    """A commit that came another way, as by a squash, is not made again."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(bob, thought(1), thought(2))
    shutil.copytree(Path(bob.root) / "content", Path(ann.root) / "content", dirs_exist_ok=True)
    by_hand(ann, "Squash of bob's")
    sync_with_remote(ann)
    done = sync_with_remote(bob)
    assert (done.how, done.sent, done.renumbered) == ("replayed", 0, ())
    assert git(bob.root, "rev-parse", "HEAD").strip() == team.tip() and len(ids(bob)) == 2


def test_a_record_that_was_renumbered_there_is_followed(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1), thought(2))
    sync_with_remote(ann)
    sync_with_remote(bob)
    assert run(Path(ann.root), "renumber", "D001").code == 0
    sync_with_remote(ann)
    written(bob, thought(1, why="A second reason.", session="s8", host="test"), thought(3, "See [D001]."))
    done = sync_with_remote(bob)
    assert done.renumbered[0].old == "D003", "the number that is taken by now"
    moved = bob.record("D003")
    assert moved.title == thought(1).title and moved.occurrences == 2 and "A second reason." in bob.text(moved)
    assert "See [D003]." in bob.record(ids(bob)[thought(3).title]).section("decision")
    assert len(ids(bob)) == 3 and not Path(bob.root, "content/anchors/global", f"D001-{moved.path[27:]}").exists()


def test_an_accepted_review_is_replayed_as_a_merge(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, FASTAPI)
    sync_with_remote(ann)
    written(ann, FLASK)
    sync_with_remote(ann)
    sync_with_remote(bob)
    review = ann.reviews()[0]
    ann.accept(review.branch)
    ann.confirm("D002")
    written(bob, thought(1))
    sync_with_remote(bob)
    done = sync_with_remote(ann)
    assert done.how == "replayed" and done.sent == 3 and not done.renumbered
    assert [len(parents.split()) for parents in log(ann, "%P", "-2")] == [1, 2]
    assert log(ann, "%P", "-1", "--merges")[0].split()[1] == review.tip, "the published review is not rewritten"
    assert team.refs("refs/heads") == ["refs/heads/main"] and ann.record("D001").status == "superseded"
    sync_with_remote(bob)
    assert ids(ann) == ids(bob) and bob.reviews() == [] and bob.record("D002").confirmed


# -- a person's own commits -----------------------------------------------------------------------


def test_a_persons_commits_are_merged_and_never_replayed(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2, "Mine."))
    Path(bob.root, "notes.txt").write_text("theirs\n")
    own = by_hand(bob, "By hand", "notes.txt")
    written(bob, thought(3, "See [D001]."))
    done = sync_with_remote(bob)
    assert (done.how, done.rescue) == ("merged", "")
    assert own in log(bob, "%H") and len(log(bob, "%P", "-1")[0].split()) == 2
    assert [(one.old, one.new) for one in done.renumbered] == [("D001", "D003")]
    assert "See [D003]." in bob.record("D002").section("decision")
    assert git(bob.root, "status", "--porcelain") == "" and team.tip() == log(bob, "%H", "-1")[0]
    sync_with_remote(ann)
    assert ids(ann) == ids(bob) and Path(ann.root, "notes.txt").read_text() == "theirs\n"


def test_a_persons_commits_that_do_not_merge_need_a_person(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    for kb in (ann, bob):
        Path(kb.root, "notes.txt").write_text(f"{kb.root}\n")
        by_hand(kb, "By hand")
    sync_with_remote(ann)
    before, refs = seen(Path(bob.root)), git(bob.root, "rev-parse", "HEAD", "main")
    with pytest.raises(NeedsPerson, match=r"both changed notes\.txt") as caught:
        sync_with_remote(bob)
    assert str(caught.value.hint) == "git merge origin/main"
    assert seen(Path(bob.root)) == before and git(bob.root, "rev-parse", "HEAD", "main") == refs
    git(bob.root, "merge", "-q", "-X", "ours", "origin/main")
    assert sync_with_remote(bob).sent == 2


def test_commits_that_somebody_may_have_are_not_replayed(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    git(bob.root, "push", "-q", "origin", "main:draft")
    published = git(bob.root, "rev-parse", "HEAD").strip()
    done = sync_with_remote(bob)
    assert done.how == "merged" and published in log(bob, "%H") and done.rescue == ""


@pytest.mark.parametrize("taken_back", [False, True], ids=["another", "taken back"])
def test_what_was_rewritten_there_needs_a_person(team: Team, taken_back: bool) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    git(ann.root, *(["reset", "-q", "--hard", "HEAD^"] if taken_back else ["commit", "-q", "--amend", "-m", "New"]))
    git(ann.root, "push", "-qf", "origin", "main")
    written(bob, thought(2))
    tip = team.tip()
    last = git(bob.root, "rev-parse", "HEAD~1").strip()
    with pytest.raises(NeedsPerson, match="rewritten") as caught:
        sync_with_remote(bob)
    assert str(caught.value.hint) == f"git rebase --onto origin/main {last[:12]}"
    assert f"{last[:7]} Add [D001]" in str(caught.value), "what the command drops is named"
    kept = git(bob.root, "rev-parse", "HEAD").strip()
    assert f"refs/kb/rescue/rewritten-{kept[:12]} {kept}" in git(
        bob.root, "for-each-ref", "--format=%(refname) %(objectname)"
    )
    assert team.tip() == tip
    git(bob.root, "rebase", "-q", "--onto", "origin/main", last)
    assert sync_with_remote(bob).sent == 1 and len(ids(bob)) == 2 - taken_back


def test_histories_without_a_common_commit_need_a_person(team: Team, tmp_path: Path) -> None:
    kb, _ = make(str(tmp_path / "other"), {**os.environ, "GIT_AUTHOR_NAME": "Other"}, name="other")
    with kb:
        git(kb.root, "remote", "add", "origin", team.url)
        with pytest.raises(NeedsPerson, match="in common"):
            sync_with_remote(kb)


# -- a person's work ------------------------------------------------------------------------------


def busy(kb: KnowledgeBase) -> None:
    """Leave staged, dirty and untracked files, and a record with an edit of its USER block."""
    root = Path(kb.root)
    (root / "one.txt").write_text("staged\n")
    git(root, "add", "one.txt")
    (root / "one.txt").write_text("staged, then edited\n")
    (root / "新文件.txt").write_text("untracked\n")
    (root / "two.txt").write_text("dirty\n")


@pytest.mark.parametrize("ours", [0, 1], ids=["forward", "replayed"])
def test_a_persons_work_stays_as_it_is(team: Team, ours: int) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    for name in ("one.txt", "two.txt", "three.txt"):
        Path(ann.root, name).write_text("a\n")
    by_hand(ann, "Files")
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    ann.confirm("D001")
    written(ann, thought(2))
    Path(ann.root, "three.txt").write_text("b\n")
    by_hand(ann, "More")
    sync_with_remote(ann)
    written(bob, *[thought(3)] * ours)
    busy(bob)
    edited(bob, "D001", "<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\n我的\n")
    before = seen(Path(bob.root))
    sync_with_remote(bob)
    assert seen(Path(bob.root)) == before
    text = file_of(bob, "D001").read_text()
    assert "我的" in text and "confirmed:" in text and Path(bob.root, "three.txt").read_text() == "b\n"
    assert len(ids(bob)) == 2 + ours and bob.record("D001").user.strip() == "我的"


def test_an_edit_of_the_same_lines_keeps_everything_where_it_is(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    sync_with_remote(bob)
    ann.change_status("D001", "deprecated", why="Gone.", decided=True)
    sync_with_remote(ann)
    edited(bob, "D001", "status: proposed", "status: rejected")
    before, head = seen(Path(bob.root)), git(bob.root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson, match="not committed") as caught:
        sync_with_remote(bob)
    assert str(caught.value.hint).startswith("commit them first")
    assert seen(Path(bob.root)) == before and git(bob.root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("name", ["code.py", "content/anchors/global/D001-mine.md", "untracked.txt"])
def test_what_lies_in_the_way_is_not_overwritten(team: Team, name: str) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    Path(ann.root, "code.py").write_text("1\n")
    by_hand(ann, "Code")
    sync_with_remote(ann)
    sync_with_remote(bob)
    Path(ann.root, name).write_text("2\n")
    by_hand(ann, "More")
    sync_with_remote(ann)
    Path(bob.root, name).write_text("mine\n")
    head = git(bob.root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson):
        sync_with_remote(bob)
    assert Path(bob.root, name).read_text() == "mine\n" and git(bob.root, "rev-parse", "HEAD") == head
    assert git(bob.root, "diff", "--cached", "--name-only") == ""


def test_a_knowledge_base_beside_code(team: Team, tmp_path: Path, clock: Clock) -> None:
    git(tmp_path, "init", "-q", "--bare", "--template=", "-b", "main", "code.git")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/code.git", "one")
    (tmp_path / "one/src").mkdir()
    (tmp_path / "one/src/main.py").write_text("1\n")
    (tmp_path / "one/run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "one/run.sh").chmod(0o755)
    git(tmp_path / "one", "add", ".")
    git(tmp_path / "one", "commit", "-qm", "Code")
    made, _ = make(str(tmp_path / "one/docs/kb"), os.environ, inside=True)
    made.close()
    git(tmp_path / "one", "push", "-q", "origin", "main")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/code.git", "two")
    one, two = (team.opened(tmp_path / name / "docs/kb") for name in ("one", "two"))
    (tmp_path / "one/src/main.py").write_text("2\n")
    git(tmp_path / "one", "commit", "-qam", "More code")
    written(one, thought(1), SMALL)
    assert sync_with_remote(one).sent == 2
    written(two, thought(2))
    (tmp_path / "two/src/own.py").write_text("mine\n")
    done = sync_with_remote(two)
    assert done.how == "replayed" and (tmp_path / "two/src/main.py").read_text() == "2\n"
    assert git(tmp_path / "two", "status", "--porcelain").split() == ["??", "src/own.py"]
    assert [held.candidate.title for held in two.held()] == [SMALL.title]
    sync_with_remote(one)
    assert ids(one) == ids(two) and git(tmp_path / "one", "status", "--porcelain") == ""


def test_a_merge_in_progress(team: Team) -> None:
    ann = team.clone("ann")
    Path(ann.root, ".git/MERGE_HEAD").write_text(git(ann.root, "rev-parse", "HEAD"))
    with pytest.raises(Busy, match="merge is in progress"):
        sync_with_remote(ann)


# -- races and troubles ---------------------------------------------------------------------------


def test_somebody_is_faster_at_the_last_moment(team: Team) -> None:
    """The remote's branch moves while our push is being taken: the server says no, and we do it again."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(bob, thought(1))
    git(bob.root, "push", "-q", "origin", "main:other")
    other = git(bob.root, "rev-parse", "HEAD").strip()
    team.hook("pre-receive", f'rm "$0"; env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main {other}')
    written(ann, thought(2))
    done = sync_with_remote(ann)
    assert (done.how, done.sent, len(done.renumbered)) == ("replayed", 1, 1)
    sync_with_remote(bob)
    assert ids(bob) == ids(ann) and len(ids(ann)) == 2


def test_somebody_is_always_faster(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.sync.sync._TRIES", 3)
    monkeypatch.setattr("kb.sync.sync._PAUSE", 0.0)
    ann = team.clone("ann")
    move = 'new=$(git commit-tree -p main -m "$$" main^{tree}) && git update-ref refs/heads/main $new'
    team.hook("pre-receive", f"unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY; {move}")
    written(ann, thought(1))
    with pytest.raises(Busy, match="kept pushing"):
        sync_with_remote(ann)
    team.hook("pre-receive", "")
    assert sync_with_remote(ann).sent == 1 and list(ids(ann)) == [thought(1).title]


def test_a_sync_that_died_is_taken_up(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2))
    SyncRun(bob).fetch()
    step = SyncRun(bob)
    step.fetch()
    step.integrate()
    done = sync_with_remote(bob)
    assert (done.how, done.sent, done.renumbered) == ("", 1, ())
    assert sorted(ids(bob).values()) == ["D001", "D002"]


def test_without_a_connection_nothing_is_lost(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    ann = team.clone("ann", "http://127.0.0.1:9/kb.git")
    written(ann, thought(1))
    done = sync_with_remote(ann)
    assert done.unreachable and done.waiting == 1 and done.sent == 0
    ran = run(Path(ann.root), "sync")
    assert ran.code == 0 and "cannot be reached" in ran.error and "1 commits wait here" in ran.error
    written(ann, thought(2))
    git(ann.root, "remote", "set-url", "origin", team.url)
    assert sync_with_remote(ann).sent == 2


def test_a_remote_that_is_none_is_an_error(team: Team) -> None:
    ann = team.clone("ann", f"file://{team.folder}/nowhere.git")
    with pytest.raises(GitFailed, match="fetch failed"):
        sync_with_remote(ann)


def test_a_crash_between_the_branch_and_its_files_is_made_good(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    Path(ann.root, "code.py").write_text("1\n")
    by_hand(ann, "Code")
    written(ann, thought(1))
    sync_with_remote(ann)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kb.git.worktree.CheckoutUpdate.apply_published", crash)
    with pytest.raises(KeyboardInterrupt):
        sync_with_remote(bob)
    monkeypatch.undo()
    assert git(bob.root, "rev-parse", "HEAD").strip() == team.tip()
    bob = team.opened(Path(bob.root))
    sync_with_remote(bob)
    assert git(bob.root, "status", "--porcelain") == "" and ids(bob) == ids(ann)
    assert Path(bob.root, "code.py").read_text() == "1\n"


def test_where_the_branch_cannot_move_nothing_else_does(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    Path(ann.root, "code.py").write_text("1\n")
    by_hand(ann, "Code")
    written(ann, thought(1))
    sync_with_remote(ann)

    def full(*_: object) -> None:
        raise GitFailed("no space")

    before, head = seen(Path(bob.root)), git(bob.root, "rev-parse", "HEAD")
    monkeypatch.setattr("kb.git.repository.Repository.update_refs", full)
    with pytest.raises(GitFailed, match="no space"):
        sync_with_remote(bob)
    monkeypatch.undo()
    assert seen(Path(bob.root)) == before and git(bob.root, "rev-parse", "HEAD") == head
    assert not Path(bob.root, "code.py").exists() and sync_with_remote(bob).received == 2


def test_what_the_repository_names_is_not_run(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    mark, trap = team.folder / "was run", team.folder / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\ncat\n')
    trap.chmod(0o755)
    Path(ann.root, "code.py").write_text("1\n")
    by_hand(ann, "Code")
    keys = ("core.sshCommand", "core.fsmonitor", "core.askPass", "credential.helper", "remote.origin.uploadpack",
            "remote.origin.receivepack", "merge.kb.driver")  # fmt: skip
    for kb in (ann, bob):
        for key in keys:
            git(kb.root, "config", key, str(trap))
        hooks = Path(kb.root, ".git/hooks")
        hooks.mkdir(exist_ok=True)
        for name in ("pre-push", "reference-transaction", "post-checkout", "post-merge", "post-index-change"):
            (hooks / name).symlink_to(trap)
    for kb in (ann, bob):
        written(kb, thought(1 if kb is ann else 2))
        sync_with_remote(kb)
    assert not mark.exists() and Path(bob.root, "code.py").read_text() == "1\n" and len(ids(bob)) == 2


# -- what one side removes and the other changes ----------------------------------------------------


def removed(kb: KnowledgeBase, record_id: str) -> None:
    """Take the file of a record away, as a person does who must."""
    git(kb.root, "rm", "-q", "--", str(file_of(kb, record_id)))
    git(kb.root, "commit", "-qm", "Legal asked")


def test_what_was_removed_there_does_not_come_back_with_a_change_of_ours(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    (name,) = written(ann, thought(1))
    sync_with_remote(ann), sync_with_remote(bob)
    path = file_of(ann, name)
    removed(ann, name)
    sync_with_remote(ann)
    bob.confirm(name)
    head = git(bob.root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson, match=f"both changed .*{path.name}"):
        sync_with_remote(bob)
    assert git(bob.root, "rev-parse", "HEAD") == head
    assert not path.exists() and git(team.remote, "ls-tree", "-r", "--name-only", "main").count(path.name) == 0


@pytest.mark.parametrize("more", [False, True])
def test_what_was_removed_here_is_not_forgotten_for_a_change_of_theirs(team: Team, *, more: bool) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    (name,) = written(ann, thought(1))
    sync_with_remote(ann), sync_with_remote(bob)
    ann.confirm(name)
    sync_with_remote(ann)
    path = file_of(bob, name)
    removed(bob, name)
    if more:
        Path(bob.root, "notes.txt").write_text("x\n")
        by_hand(bob, "By hand")
    with pytest.raises(NeedsPerson, match=f"both changed .*{path.name}"):
        sync_with_remote(bob)
    assert not path.exists()


def test_what_nobody_else_touched_is_removed_for_all(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    (name, other) = written(ann, thought(1), thought(2))
    sync_with_remote(ann), sync_with_remote(bob)
    removed(ann, name)
    bob.confirm(other)
    sync_with_remote(ann), sync_with_remote(bob), sync_with_remote(ann)
    assert list(ids(ann).values()) == list(ids(bob).values()) == [other]


def test_a_clone_learns_to_merge_records(team: Team) -> None:
    kb = team.clone("ann")
    assert "merge.kb" not in git(kb.root, "config", "--local", "--list")
    sync_with_remote(kb)
    assert "merge-driver" in git(kb.root, "config", "merge.kb.driver")


def test_one_waits_for_another_sync_but_not_for_ever(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = team.clone("ann")
    monkeypatch.setattr("kb.sync.sync._PATIENCE", 0.1)
    with team.opened(Path(kb.root)).state.hold_lock("sync"), pytest.raises(Busy, match="another kb is already working"):
        sync_with_remote(kb)
    assert sync_with_remote(kb).remote == "origin"
