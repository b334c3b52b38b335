"""What a merge lost where kb's driver did not run, and how it comes back."""

import json
from pathlib import Path

import pytest

from kb.errors import UnknownId
from kb.knowledge_base import KnowledgeBase
from kb.sync.repair import repair_merges
from kb.sync.sync import sync_with_remote
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.team import FIXTURES, Team, by_hand, edited, file_of, log, thought, written

base, team = FIXTURES


def apart(team: Team, more: str = "") -> tuple[KnowledgeBase, KnowledgeBase]:
    """Return two clones of which each has heard one record again."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1, more), thought(2))
    sync_with_remote(ann)
    sync_with_remote(bob)
    return ann, bob


def pressed(kb: KnowledgeBase, other: KnowledgeBase, *options: str) -> None:
    """Merge as the button of a code host does: by lines, without the driver."""
    git(kb.root, "fetch", "-q", other.root, "main")
    driver = "merge.kb.driver=git merge-file -q --marker-size=%L %A %O %B"
    git(kb.root, "-c", driver, "merge", "-q", "--no-edit", *options, "FETCH_HEAD")


def counted_apart(team: Team) -> KnowledgeBase:
    """Return a clone with a merge by lines in which two were counted for one: both sides wrote the same number."""
    ann, bob = apart(team)
    for kb, where in ((ann, "<!-- USER_BLOCK_START -->\n"), (bob, "## Rollback\n")):
        edited(kb, "D001", "date: 2026-11-21\n", "date: 2026-11-21\noccurrences: 2\n")
        edited(kb, "D001", where, f"{where}\nSaid by {Path(kb.root).name}.\n")
        by_hand(kb, "Heard again")
    pressed(ann, bob)
    assert "occurrences: 2" in file_of(ann, "D001").read_text()
    return ann


def test_a_count_that_was_lost_comes_back(team: Team) -> None:
    kb = counted_apart(team)
    head = git(kb.root, "rev-parse", "HEAD").strip()
    assert run(Path(kb.root), "repair", "--dry-run").code == 0 and git(kb.root, "rev-parse", "HEAD").strip() == head
    path = kb.record("D001").path
    ran = run(Path(kb.root), "repair")
    assert (ran.code, ran.out) == (0, f"fixed: {path}\n")
    record = kb.record("D001")
    assert record.occurrences == 3 and "Said by ann." in kb.text(record) and "Said by bob." in kb.text(record)
    assert git(kb.root, "rev-parse", "HEAD^").strip() == head and git(kb.root, "status", "--porcelain") == ""
    assert git(kb.root, "log", "-1", "--format=%(trailers:key=Kb-Op,valueonly)").strip() == "repaired"
    again = repair_merges(kb)
    assert (again.repaired, again.merges, again.commit) == ((), 0, ""), "what was looked through is not looked at again"
    assert repair_merges(kb, every=True).merges == 1 and repair_merges(kb, every=True).repaired == ()


def test_what_a_person_has_changed_since_is_theirs(team: Team) -> None:
    kb = counted_apart(team)
    edited(kb, "D001", "occurrences: 2", "occurrences: 7")
    by_hand(kb, "I know better")
    assert repair_merges(kb).repaired == () and kb.record("D001").occurrences == 7


def test_what_a_person_decided_in_the_merge_is_theirs(team: Team) -> None:
    ann, bob = apart(team)
    for kb in (ann, bob):
        edited(kb, "D001", "Go back.", f"Go back to {Path(kb.root).name}.")
        edited(kb, "D001", "date: 2026-11-21\n", "date: 2026-11-21\noccurrences: 2\n")
        by_hand(kb, "Edit")
    git(ann.root, "fetch", "-q", bob.root, "main")
    git(ann.root, "merge", "-q", "-s", "ours", "--no-edit", "FETCH_HEAD")
    done = repair_merges(ann)
    assert (done.merges, done.repaired, done.undecided) == (1, (), ())


@pytest.mark.parametrize("later", [False, True], ids=["at once", "after an edit"])
def test_a_section_that_stands_twice_is_made_one(team: Team, later: bool) -> None:
    ann, bob = apart(team)
    edited(ann, "D001", "## Alternatives\n", "## Impact\n\n- `src/a.py`\n\n## Alternatives\n")
    edited(bob, "D001", "## Rollback\n", "## Impact\n\n- `src/b.py`\n\n## Rollback\n")
    by_hand(ann, "Ann's")
    by_hand(bob, "Bob's")
    pressed(ann, bob)
    assert any(finding.rule == "section-twice" for finding in ann.check())
    if later:
        edited(ann, "D001", "<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\n我的\n")
        by_hand(ann, "Later")
    path = ann.record("D001").path
    assert repair_merges(ann, ["D001"]).repaired == (path,)
    text = file_of(ann, "D001").read_text()
    assert text.count("## Impact") == 1 and "src/a.py" in text and "src/b.py" in text and ("我的" in text) == later
    assert not any(finding.rule == "section-twice" for finding in ann.check())


def test_markers_that_were_committed(team: Team) -> None:
    ann, bob = apart(team)
    for kb, tags in ((ann, "[a]"), (bob, "[b]")):
        edited(kb, "D001", "date: 2026-11-21\n", f"date: 2026-11-21\ntags: {tags}\n")
        by_hand(kb, "Tags")
    path = file_of(ann, "D001")
    git(ann.root, "fetch", "-q", bob.root, "main")
    driver = "merge.kb.driver=git merge-file -q --marker-size=%L %A %O %B"
    with pytest.raises(AssertionError):
        git(ann.root, "-c", driver, "merge", "-q", "--no-edit", "FETCH_HEAD")
    by_hand(ann, "Merge, as it is")
    assert "<<<<<<<" in path.read_text()
    assert len(repair_merges(ann, [str(path)]).repaired) == 1
    assert ann.record("D001").tags == ("a", "b") and git(ann.root, "status", "--porcelain") == ""


def test_what_only_a_person_can_decide_is_named(team: Team) -> None:
    ann, bob = apart(team)
    for kb, status in ((ann, "accepted"), (bob, "rejected")):
        edited(kb, "D001", "status: proposed", f"status: {status}")
        by_hand(kb, status)
    git(ann.root, "fetch", "-q", bob.root, "main")
    driver = "merge.kb.driver=git merge-file -q --marker-size=%L %A %O %B"
    with pytest.raises(AssertionError):
        git(ann.root, "-c", driver, "merge", "-q", "--no-edit", "FETCH_HEAD")
    by_hand(ann, "Merge, as it is")
    head = git(ann.root, "rev-parse", "HEAD").strip()
    ran = run(Path(ann.root), "repair")
    assert ran.code == 5 and "status" in ran.error and f"git show -m {head[:12]}" in ran.error
    assert git(ann.root, "rev-parse", "HEAD").strip() == head
    (root := Path(ann.root) / "kb.toml").write_text('language = "zh"\n')
    assert root.exists() and "查看合并了什么" in run(Path(ann.root), "repair").error, (
        "it is not taken for looked through"
    )


def test_one_record_in_two_files_is_made_one(team: Team) -> None:
    ann, bob = apart(team)
    run(Path(ann.root), "renumber", "D001")
    text = file_of(bob, "D001").read_text()
    file_of(bob, "D001").write_text(
        text.replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\n" + "bob\n" * 99)
    )
    by_hand(bob, "Bob's")
    git(ann.root, "fetch", "-q", bob.root, "main")
    git(ann.root, "merge", "-q", "-s", "ours", "--no-commit", "FETCH_HEAD")
    git(ann.root, "checkout", "FETCH_HEAD", "--", bob.record("D001").path)
    git(ann.root, "commit", "-qm", "Both files")
    assert any(finding.rule == "duplicate-uid" for finding in ann.check())
    assert repair_merges(ann).repaired == (ann.record("D003").path,)
    assert "bob\nbob" in ann.record("D003").user and "aliases: [D001]" in ann.text(ann.record("D003"))
    assert sorted(record.id for record in ann.records()) == ["D002", "D003"]


def test_one_merge_by_name(team: Team) -> None:
    kb = counted_apart(team)
    merge = log(kb, "%H", "-1")[0]
    written(kb, thought(9))
    done = json.loads(run(Path(kb.root), "repair", merge[:10], "--json").out)
    assert (done["merges"], done["repaired"]) == (1, [kb.record("D001").path])
    with pytest.raises(UnknownId, match="neither a record nor a merge"):
        repair_merges(kb, ["nothing"])


def test_nothing_to_mend(kb: KnowledgeBase, root: Path) -> None:
    written(kb, thought(1))
    assert run(root, "repair").out == "nothing to repair in 0 merges\n"
