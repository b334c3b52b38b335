"""What is shared beside the branch: open reviews, what was rejected, the inbox, and requests to a protected branch."""

import json
from pathlib import Path

import pytest

from kb.errors import NeedsPerson
from kb.knowledge_base import KnowledgeBase
from kb.sync.sync import SyncResult, sync_with_remote
from tests.support.clones import DJANGO, FASTAPI, FLASK, SMALL
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.team import FIXTURES, Team, ids, log, served, thought, written

base, team = FIXTURES


def two(team: Team) -> tuple[KnowledgeBase, KnowledgeBase]:
    """Return two clones that have FastAPI."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, FASTAPI)
    sync_with_remote(ann)
    sync_with_remote(bob)
    return ann, bob


def told(done: SyncResult) -> dict[str, str]:
    """Return what is said of each review."""
    return {note.branch: str(note.said) for note in done.reviews}


def open_ones(kb: KnowledgeBase) -> list[str]:
    """Return the branches of the open reviews without what they have in common."""
    return [review.branch.removeprefix("kb/review/") for review in kb.reviews()]


USE_FLASK = "D002-use-flask-as-the-backend-framework"


# -- reviews --------------------------------------------------------------------------------------


def test_a_review_goes_and_comes(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    assert told(sync_with_remote(ann)) == {f"kb/review/{USE_FLASK}": "sent"}
    assert told(sync_with_remote(bob)) == {f"kb/review/{USE_FLASK}": "received"}
    assert open_ones(bob) == [USE_FLASK] and told(sync_with_remote(bob)) == told(sync_with_remote(ann)) == {}
    written(ann, FLASK._replace(session="s9", why="Its extensions cover what we need."))
    sync_with_remote(ann)
    assert told(sync_with_remote(bob)) == {f"kb/review/{USE_FLASK}": "updated"}
    assert "Its extensions" in git(bob.root, "show", f"kb/review/{USE_FLASK}:{bob.reviews()[0].path}")


def test_what_is_accepted_is_closed_everywhere(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    sync_with_remote(ann), sync_with_remote(bob)
    bob.accept("D002")
    assert "closed at origin" in told(sync_with_remote(bob))[f"kb/review/{USE_FLASK}"]
    assert team.refs("refs/heads") == ["refs/heads/main"]
    assert "closed here" in told(sync_with_remote(ann))[f"kb/review/{USE_FLASK}"]
    assert ann.reviews() == [] and ann.record("D001").status == "superseded"


def test_what_is_rejected_is_remembered_everywhere(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    sync_with_remote(ann), sync_with_remote(bob)
    bob.reject("D002")
    sync_with_remote(bob)
    assert team.refs("refs/heads") == ["refs/heads/main"]
    assert team.refs("refs/kb/rejected") == [f"refs/kb/rejected/{USE_FLASK}"]
    sync_with_remote(ann)
    assert ann.reviews() == [] and git(ann.root, "branch", "--list", "kb/*") == ""
    (verdict,) = ann.write([FLASK._replace(session="s9")], folder=ann.root)
    assert verdict.verdict == "refused" and "rejected" in verdict.reasons[0]


def test_what_was_squashed_there_is_closed_here(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    sync_with_remote(ann)
    git(bob.root, "fetch", "-q")
    git(bob.root, "merge", "-q", "--squash", f"origin/kb/review/{USE_FLASK}")
    git(bob.root, "commit", "-qm", "Decide (#7)")
    git(bob.root, "push", "-q", "origin", "main", f":kb/review/{USE_FLASK}")
    assert "closed here" in told(sync_with_remote(ann))[f"kb/review/{USE_FLASK}"] and ann.reviews() == []
    assert ann.record("D002").status == "accepted"


def test_what_was_closed_there_without_its_changes_is_kept_and_named(team: Team) -> None:
    ann, _ = two(team)
    written(ann, FLASK)
    sync_with_remote(ann)
    git(team.remote, "update-ref", "-d", f"refs/heads/kb/review/{USE_FLASK}")
    for _ in range(2):
        assert "kb review reject" in told(sync_with_remote(ann))[f"kb/review/{USE_FLASK}"]
        assert open_ones(ann) == [USE_FLASK] and team.refs("refs/heads/kb") == []


def test_what_was_deleted_here_by_hand_stays_there_and_is_named(team: Team) -> None:
    ann, _ = two(team)
    written(ann, FLASK)
    sync_with_remote(ann)
    git(ann.root, "branch", "-qD", f"kb/review/{USE_FLASK}")
    assert "git push origin --delete" in told(sync_with_remote(ann))[f"kb/review/{USE_FLASK}"]
    assert team.refs("refs/heads/kb") == [f"refs/heads/kb/review/{USE_FLASK}"] and ann.reviews() == []


def test_two_that_hear_one_review_again_are_brought_together(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    sync_with_remote(ann), sync_with_remote(bob)
    for kb, session in ((ann, "s8"), (bob, "s9")):
        written(kb, FLASK._replace(session=session, why=f"Its extensions cover what {session} needs."))
    sync_with_remote(ann)
    assert "both versions" in told(sync_with_remote(bob))[f"kb/review/{USE_FLASK}"]
    sync_with_remote(ann)
    (review,) = ann.reviews()
    text = git(ann.root, "show", f"{review.branch}:{review.path}")
    assert "what s8 needs" in text and "what s9 needs" in text and review.against == ("D001",)
    assert review.record.occurrences == 3 and team.tip(f"refs/heads/{review.branch}") == review.tip


def test_two_reviews_of_one_name_become_two(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    written(bob, FLASK._replace(decision="The backend uses Flask 3."))
    sync_with_remote(ann)
    done = sync_with_remote(bob)
    renamed = USE_FLASK.replace("D002", "D003")
    assert "it was kb/review/D002" in told(done)[f"kb/review/{renamed}"] and open_ones(bob) == [USE_FLASK, renamed]
    assert [(one.old, one.new) for one in done.renumbered] == [("D002", "D003")]
    mine, other = bob.reviews()[::-1]
    assert "Flask 3" in mine.record.section("decision") and mine.path.rpartition("/")[2].startswith("D003-")
    assert "Flask 3" not in other.record.section("decision") and mine.against == ("D001",)
    assert "[D003]" in git(bob.root, "log", "-1", "--format=%s", mine.branch)
    sync_with_remote(ann)
    assert open_ones(ann) == [USE_FLASK, renamed]


def test_a_review_upon_what_was_replayed_is_rebuilt(team: Team) -> None:
    ann, bob = two(team)
    written(ann, thought(1))
    sync_with_remote(ann)
    written(bob, thought(2, claims={"cache.size": "1 GB"}))
    nine = thought(
        3, claims={"cache.size": "9 GB"}, decision="The cache has 9 GB and not 1 GB.", impact=("src/cache.py",)
    )
    written(bob, nine)
    (review,) = bob.reviews()
    assert review.against == ("D002",) and review.record.id == "D003"
    before = review.tip
    done = sync_with_remote(bob)
    (review,) = bob.reviews()
    number = ids(bob)[thought(2).title]
    assert (
        number != "D002"
        and review.against == (number,)
        and f"supersedes: [{number}]" in git(bob.root, "show", f"{review.branch}:{review.path}")
    )
    assert git(bob.root, "merge-base", review.branch, "main").strip() == log(bob, "%H", "-1")[0]
    kept = git(bob.root, "for-each-ref", "--format=%(objectname)", f"{done.rescue}-*").split()
    assert kept == [before] and team.tip(f"refs/heads/{review.branch}") == review.tip
    bob.accept(review.branch)
    assert [f for f in bob.check() if f.severity == "error"] == []


def test_a_review_that_is_checked_out_stays(team: Team) -> None:
    ann, bob = two(team)
    written(ann, FLASK)
    sync_with_remote(ann), sync_with_remote(bob)
    written(ann, FLASK._replace(session="s9", why="Its extensions cover what we need."))
    sync_with_remote(ann)
    git(bob.root, "worktree", "add", "-q", "../beside", f"kb/review/{USE_FLASK}")
    tip = bob.reviews()[0].tip
    assert "checked out" in told(sync_with_remote(bob))[f"kb/review/{USE_FLASK}"] and bob.reviews()[0].tip == tip


# -- stale reviews --------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "words"), [("en", "obsolete: [D001] was replaced by [D003]"),
                                                 ("zh", "已过时：[D001] 已被 [D003] 取代")])  # fmt: skip
def test_accepting_one_makes_the_other_obsolete(kb: KnowledgeBase, root: Path, language: str, words: str) -> None:
    written(kb, FASTAPI, FLASK, DJANGO)
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    kb.accept("D003")
    assert words in run(root, "review").out
    assert [row["standing"] for row in json.loads(run(root, "review", "--json").out)] == [words]
    head = git(root, "rev-parse", "HEAD")
    ran = run(root, "review", "accept", "D002", "--yes")
    assert ran.code == 5 and "kb review reject D002" in ran.error and "[D003]" in ran.error
    assert git(root, "rev-parse", "HEAD") == head and kb.record("D001").status == "superseded"
    assert run(root, "review", "reject", "D002", "--yes").code == 0 and kb.reviews() == []


def test_a_review_whose_number_was_taken_gets_another_when_it_is_accepted(team: Team) -> None:
    """As by the button of a code host: the branch was published before the other record was."""
    ann, bob = two(team)
    written(ann, FLASK)
    written(bob, thought(2))
    git(ann.root, "push", "-q", "origin", f"kb/review/{USE_FLASK}:refs/heads/elsewhere")
    sync_with_remote(bob)
    sync_with_remote(ann, push=False)
    git(ann.root, "fetch", "-q", "origin", f"elsewhere:refs/heads/kb/review/{USE_FLASK}")
    verdict = ann.accept(f"kb/review/{USE_FLASK}")
    assert (verdict.id, verdict.status) == ("D004", "accepted") and any("D002" in reason for reason in verdict.reasons)
    assert [f for f in ann.check() if f.severity == "error"] == []
    assert sorted(ids(ann).values()) == ["D001", "D002", "D004"]
    assert git(ann.root, "status", "--porcelain") == ""


# -- the inbox ------------------------------------------------------------------------------------


def test_what_both_have_held_counts_together(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    door = SMALL._replace(title="Paint the exit door green", decision="The door at the back of the hall is green.")
    icon = SMALL._replace(title="给设置按钮换成蓝色图标", decision="设置页上的按钮用蓝色图标。")
    written(ann, SMALL, door)
    written(bob, SMALL._replace(session="s2"), icon)
    assert sync_with_remote(ann).inbox == ("sent",)
    assert sync_with_remote(bob).inbox == ("received", "sent")
    assert sync_with_remote(ann).inbox == ("received",) and sync_with_remote(ann).inbox == ()
    for kb in (ann, bob):
        held = {entry.candidate.title: [s["session"] for s in entry.sightings] for entry in kb.held()}
        assert held == {SMALL.title: ["s1", "s2"], door.title: ["s1"], icon.title: ["s1"]}
    assert git(ann.root, "rev-parse", "refs/kb/inbox").strip() == team.tip("refs/kb/inbox")
    written(ann, SMALL._replace(session="s3"))
    assert SMALL.title in ids(ann), "the sightings of others count for the gate"


def test_what_was_taken_out_stays_out(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    Path(bob.root, "kb.toml").write_text("repeat = 3\n")
    fence, stairs, ceiling = (
        SMALL._replace(title=f"Paint the {what}", decision=f"The {what} of the new house is painted grey now.")
        for what in ("garden fence", "cellar stairs", "office ceiling")
    )
    written(ann, fence, stairs, ceiling)
    sync_with_remote(ann), sync_with_remote(bob)
    names = {entry.candidate.title: entry.name for entry in ann.held()}
    ann.drop(names[fence.title])
    ann.promote(names[stairs.title])
    ann.drop(names[ceiling.title])
    bob = team.opened(Path(bob.root))
    written(bob, SMALL, ceiling._replace(session="s9"))
    for kb in (ann, bob, ann):
        sync_with_remote(kb)
    for kb in (ann, bob):
        assert sorted(entry.candidate.title for entry in kb.held()) == [ceiling.title, SMALL.title]
        assert list(ids(kb)) == [stairs.title]


# -- a protected branch, over HTTP ----------------------------------------------------------------


def test_over_http(team: Team) -> None:
    with served(team.folder) as address:
        ann, bob = (team.clone(name, f"{address}/remote.git") for name in ("ann", "bob"))
        written(ann, thought(1), SMALL)
        assert sync_with_remote(ann).sent == 1
        written(bob, thought(2))
        done = sync_with_remote(bob)
        assert (done.how, done.sent, done.inbox) == ("replayed", 1, ("received",))
        sync_with_remote(ann)
        assert ids(ann) == ids(bob) and sorted(ids(ann).values()) == ["D001", "D002"]


@pytest.mark.parametrize(("language", "words"), [("en", "2 commits are on kb/sync/tester-"),
                                                 ("zh", "2 个提交在 kb/sync/tester-")])  # fmt: skip
def test_a_protected_branch_gets_one_request(team: Team, language: str, words: str) -> None:
    team.protect()
    with served(team.folder) as address:
        ann = team.clone("ann", f"{address}/remote.git")
        root = Path(ann.root)
        tip = team.tip()
        written(ann, thought(1), SMALL, thought(2))
        (root / "kb.toml").write_text(f'language = "{language}"\n')
        ran = run(root, "sync")
        assert ran.code == 0 and words in ran.error and "main is protected" in ran.error, ran
        assert "gh pr create --head kb/sync/tester-" in ran.error and "--base main" in ran.error
        (branch,) = team.refs("refs/heads/kb/sync")
        assert team.tip() == tip and team.tip(branch) == log(ann, "%H", "-1")[0]
        assert len(ann.held()) == 1 and team.tip("refs/kb/inbox")
        written(ann, thought(3))
        done = sync_with_remote(ann)
        assert done.request and done.request.commits == 3 and (done.sent, done.waiting) == (0, 3)
        assert team.refs("refs/heads/kb/sync") == [branch] and team.tip(branch) == log(ann, "%H", "-1")[0]


def test_a_request_goes_on_while_the_branch_moves(team: Team) -> None:
    """Others' commits arrive by their own requests; ours is never forced, and merged or squashed it is done."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(bob, thought(5))
    sync_with_remote(bob)
    team.protect()
    written(ann, thought(1))
    first = sync_with_remote(ann)
    assert first.request and ids(ann)[thought(1).title] == "D002"
    branch = f"refs/heads/{first.request.branch}"
    published = team.tip(branch)
    team.hook("pre-receive", "")
    written(bob, thought(2))
    sync_with_remote(bob)
    team.protect()
    done = sync_with_remote(ann)
    assert done.how == "replayed" and done.request and done.request.commits == 1
    assert team.refs("refs/heads/kb") == [branch]
    assert published in git(team.remote, "rev-list", branch).split(), "the request only ever moves on"
    changed = git(team.remote, "-c", "core.quotePath=false", "diff", "--name-only", "main", branch)
    assert changed == ann.record(ids(ann)[thought(1).title]).path + "\n"
    assert sync_with_remote(ann).request == done.request, "nothing new, nothing more"
    git(bob.root, "fetch", "-q")
    git(bob.root, "merge", "-q", "--squash", f"origin/{done.request.branch}")
    git(bob.root, "commit", "-qm", "Take it (#8)")
    team.hook("pre-receive", "")
    git(bob.root, "push", "-q", "origin", "main")
    team.protect()
    last = sync_with_remote(ann)
    assert (last.request, last.waiting) == (None, 0) and log(ann, "%H", "-1")[0] == team.tip()
    assert sorted(ids(ann).values()) == ["D001", "D002", "D003"] and git(ann.root, "status", "--porcelain") == ""


def test_a_remote_that_takes_nothing_needs_a_person(team: Team) -> None:
    ann = team.clone("ann")
    written(ann, thought(1))
    team.hook("pre-receive", "echo 'read-only mirror' >&2; exit 1")
    with pytest.raises(NeedsPerson, match="read-only mirror"):
        sync_with_remote(ann)
    assert len(ids(ann)) == 1


def test_a_remote_that_takes_branches_only(team: Team) -> None:
    ann, _ = two(team)
    refuse = 'case $ref in refs/kb/*) echo "branches only" >&2; exit 1;; esac'
    team.hook("pre-receive", f"while read old new ref; do\n{refuse}\ndone")
    written(ann, thought(1), SMALL, FLASK)
    done = sync_with_remote(ann)
    assert done.sent == 1 and told(done) == {f"kb/review/{USE_FLASK.replace('D002', 'D003')}": "sent"}
    assert [str(note) for note in done.notes] == ["origin does not take refs/kb/inbox: branches only"]
    team.hook("pre-receive", "")
    assert sync_with_remote(ann).inbox == ("sent",)


def test_reviews_wait_for_a_protected_branch(team: Team) -> None:
    """A review upon commits that are not published would publish them."""
    ann, _ = two(team)
    team.protect()
    written(ann, thought(1, claims={"cache.size": "1 GB"}))
    written(ann, thought(3, claims={"cache.size": "9 GB"}, decision="The cache has 9 GB and not 1 GB."))
    assert len(ann.reviews()) == 1
    sync_with_remote(ann)
    assert all(ref.startswith("refs/heads/kb/sync/") for ref in team.refs("refs/heads/kb"))
    team.hook("pre-receive", "")
    sync_with_remote(ann)
    assert len(team.refs("refs/heads/kb/review")) == 1


# -- the command ----------------------------------------------------------------------------------


def test_json_and_words(team: Team) -> None:
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1))
    row = json.loads(run(Path(ann.root), "sync", "--json").out)
    assert (row["sent"], row["received"], row["notes"]) == (1, 0, [])
    written(bob, thought(2), FASTAPI)
    Path(bob.root, "kb.toml").write_text('language = "zh"\n')
    ran = run(Path(bob.root), "sync")
    assert ran.code == 0 and "origin/main：收到 1 个提交" in ran.out and "[D001] 现为 [D003]" in ran.out
    assert "refs/kb/rescue/" in ran.error
    assert "一切同步" in run(Path(bob.root), "sync").out
    assert run(Path(bob.root), "sync", "--remote", "nobody").code == 1


@pytest.mark.parametrize("damaged", ["[]", '{"origin": []}', '{"origin": {"heads": "x"}}', "{"])
def test_a_damaged_note_of_the_remotes_is_forgotten(team: Team, damaged: str) -> None:
    ann = team.clone("ann")
    written(ann, FASTAPI)
    sync_with_remote(ann)
    note = Path(ann.repository.private, "remotes.json")
    note.write_text(damaged)
    assert not sync_with_remote(ann).waiting and '"heads"' in note.read_text()
