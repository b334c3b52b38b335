"""The life of a record after it is written: both ends of every link agree, in one commit."""

import os
from itertools import product
from pathlib import Path

import pytest

from kb.errors import BadRecord, KbError, NeedsPerson
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records.model import TRANSITIONS, Record, Status
from tests.support.clones import FASTAPI, FLASK, child, commits, decision, one
from tests.support.command_line import run
from tests.support.sealed import git


def state(kb: KnowledgeBase) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return status, supersedes and amends of every record."""
    return {record.id: (str(record.status), record.supersedes, record.amends) for record in kb.records()}


def whole(kb: KnowledgeBase, number: int) -> Record:
    """Write a record that lacks nothing."""
    return kb.record(one(kb, decision(number, impact=("kb.toml",))).id)


# -- statuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), list(product(Status, Status)))
def test_the_table_of_transitions(kb: KnowledgeBase, root: Path, old: Status, new: Status) -> None:
    record = whole(kb, 0)
    whole(kb, 1)
    path = root / record.path
    path.write_text(path.read_text().replace("status: accepted", f"status: {old}"))
    other = root / kb.record("D002").path
    other.write_text(other.read_text().replace("status: accepted", "status: accepted\nsupersedes: [D001]"))
    git(root, "commit", "-qam", "By hand")
    if new in TRANSITIONS[old]:
        before = commits(root)
        assert kb.change_status("D001", new, decided=True).status == new
        assert commits(root) == before + 1
    else:
        with pytest.raises(KbError):
            kb.change_status("D001", new, decided=True)
        assert kb.record("D001").status == old
    assert git(root, "status", "--porcelain") == ""


def test_a_reason_is_kept_masked(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0)
    why = "The key ghp_Zx9Qw3Er5Ty7Ui1Op2As4Df6Gh8Jk0Lz3Xc5 is gone."
    kb.change_status("D001", "deprecated", why=why, decided=True)
    text = kb.record("D001").section("additions")
    assert "2026-11-21: accepted → deprecated: The key" in text and "Zx9Qw3" not in git(root, "show")
    body = git(root, "log", "-1", "--format=%b")
    assert body.startswith("The key [redacted:") and "Kb-Op: status deprecated" in body


@pytest.mark.parametrize("status", ["done", "", "ACCEPTED"])
def test_a_status_that_is_none(kb: KnowledgeBase, status: str) -> None:
    whole(kb, 0)
    with pytest.raises(KbError, match="there is no status"):
        kb.change_status("D001", status, decided=True)


def test_what_lacks_sections_is_not_accepted(kb: KnowledgeBase) -> None:
    one(kb, decision(0, why="", rollback=""))
    with pytest.raises(KbError, match="lacks: why, impact, rollback"):
        kb.change_status("D001", "accepted")
    with pytest.raises(KbError, match=r"lacks: why$"):
        kb.change_status("D001", "accepted", decided=True)


def test_a_person_accepts_a_decision_with_its_reasons(kb: KnowledgeBase) -> None:
    one(kb, decision(0))
    with pytest.raises(KbError, match="lacks: impact"):
        kb.change_status("D001", "accepted")
    kb.change_status("D001", "accepted", decided=True)
    assert str(kb.record("D001").status) == "accepted"


def test_superseded_needs_a_successor(kb: KnowledgeBase) -> None:
    whole(kb, 0)
    with pytest.raises(KbError) as caught:
        kb.change_status("D001", "superseded", decided=True)
    assert "kb supersede D001 --by" in str(caught.value.hint)


def test_reopening_undoes_both_ends(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0), whole(kb, 1)
    kb.supersede("D001", by="D002", decided=True)
    before = commits(root)
    kb.change_status("D001", "accepted", why="We were wrong.", decided=True)
    assert state(kb) == {"D001": ("accepted", (), ()), "D002": ("accepted", (), ())}
    assert commits(root) == before + 1 and kb.check() == []


def test_edits_on_the_same_line_come_first(kb: KnowledgeBase, root: Path) -> None:
    path = root / whole(kb, 0).path
    path.write_text(path.read_text().replace("status: accepted", "status: proposed"))
    mine = path.read_text()
    with pytest.raises(NeedsPerson, match="not committed"):
        kb.change_status("D001", "deprecated", decided=True)
    assert path.read_text() == mine


# -- superseding ----------------------------------------------------------------------------------


def test_wholly(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0), whole(kb, 1)
    before = commits(root)
    assert kb.supersede("D001", by="D002", decided=True).verdict == "updated"
    assert state(kb) == {"D001": ("superseded", (), ()), "D002": ("accepted", ("D001",), ())}
    assert commits(root) == before + 1 and kb.check() == []
    assert kb.supersede("D001", by="D002", decided=True).verdict == "unchanged" and commits(root) == before + 1


def test_in_part(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0), whole(kb, 1)
    assert kb.supersede("D001", by="D002", in_part=True, decided=True).verdict == "updated"
    assert state(kb) == {"D001": ("accepted", (), ()), "D002": ("accepted", (), ("D001",))}
    assert kb.supersede("D001", by="D002", in_part=True, decided=True).verdict == "unchanged"
    kb.supersede("D001", by="D002", decided=True)
    assert state(kb) == {"D001": ("superseded", (), ()), "D002": ("accepted", ("D001",), ())}
    with pytest.raises(KbError, match="wholly"):
        kb.supersede("D001", by="D002", in_part=True, decided=True)
    assert kb.check() == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("D001", "D001", "cannot replace itself"),
        ("D003", "D002", "replaces nothing"),
        ("D003", "D001", "replaces nothing"),
        ("D003", "project/shop:D001", "hold in different scopes"),
        ("D003", "shop:D001", "different scopes"),
        ("D004", "D003", "rejected"),
    ],
)
def test_what_cannot_be(kb: KnowledgeBase, root: Path, old: str, new: str, words: str) -> None:
    for number in range(4):
        whole(kb, number)
    one(kb, decision(5, scope="project/shop"))
    kb.supersede("D001", by="D002", decided=True)
    kb.supersede("D002", by="D003", decided=True)
    kb.change_status("D004", "proposed", decided=True)
    kb.change_status("D004", "rejected", decided=True)
    before = commits(root)
    with pytest.raises(KbError, match=words):
        kb.supersede(old, by=new, decided=True)
    assert commits(root) == before and git(root, "status", "--porcelain") == ""


def test_no_rings(kb: KnowledgeBase) -> None:
    for number in range(3):
        whole(kb, number)
    kb.supersede("D001", by="D002", decided=True)
    kb.supersede("D002", by="D003", decided=True)
    kb.change_status("D001", "deprecated", decided=True)
    with pytest.raises(KbError, match="replaces nothing"):
        kb.supersede("D003", by="D001", decided=True)
    kb.change_status("D001", "accepted", decided=True)
    assert state(kb)["D002"][1] == (), "reopened, it is replaced by nobody"
    kb.supersede("D003", by="D001", decided=True)
    assert kb.check() == []


# -- editing --------------------------------------------------------------------------------------


def test_editing(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb, 0)
    text = kb.text(record)
    new = text.replace("by one owner", "by two owners")
    assert kb.replace_text(record, new, opened=text).verdict == "updated"
    assert (root / record.path).read_text() == new == git(root, "show", f"HEAD:{record.path}")
    assert kb.replace_text(record, new, opened=new).verdict == "unchanged"
    assert "Kb-Op: edited" in git(root, "log", "-1", "--format=%B")


def test_editing_what_is_dirty_takes_everything(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb, 0)
    path = root / record.path
    path.write_text(path.read_text().replace("by one owner", "by my owner"))
    opened = kb.text(record)
    new = opened.replace("by my owner", "by my own owner")
    kb.replace_text(record, new, opened=opened)
    assert path.read_text() == new and git(root, "status", "--porcelain") == ""


def test_editing_what_is_not_committed_yet(kb: KnowledgeBase, root: Path) -> None:
    path = root / whole(kb, 0).path
    text = path.read_text()
    mine = path.with_name("D007-mine.md")
    mine.write_text(text.replace("D001", "D007"))
    record = kb.record("D007")
    kb.replace_text(record, kb.text(record).replace("by one owner", "by me"), opened=kb.text(record))
    assert "by me" in mine.read_text() and git(root, "status", "--porcelain") == ""


def test_line_ends_and_marks_that_an_editor_drops(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb, 0)
    path = root / record.path
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    git(root, "commit", "-qam", "As Windows has it")
    opened = kb.text(kb.record("D001"))
    plain = opened.lstrip("\ufeff").replace("\r\n", "\n")
    kb.replace_text(kb.record("D001"), plain.replace("by one owner", "by me"), opened=opened)
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\n") == data.count(b"\r\n") and b"by me" in data
    assert git(root, "show", "--stat").count("2 +-") == 1


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("id: D001", "id: D002", "cannot be changed"),
        ("scope: global", "scope: project/x", "cannot be changed"),
        ("status: accepted", "status: rejected", "can become"),
        ("by one owner", "by ghp_Zx9Qw3Er5Ty7Ui1Op2As4Df6Gh8Jk0Lz3Xc5", "secret"),
        ("<!-- MACHINE_BLOCK_END -->\n", "", "missing"),
    ],
)
def test_what_an_edit_may_not_do(kb: KnowledgeBase, root: Path, old: str, new: str, error: str) -> None:
    record = whole(kb, 0)
    text = kb.text(record)
    before = commits(root)
    with pytest.raises((BadRecord, KbError), match=error):
        kb.replace_text(record, text.replace(old, new), opened=text)
    assert commits(root) == before and (root / record.path).read_text() == text


def test_an_editor(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    record = whole(kb, 0)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/by one owner/by an editor/' \"$1\"\n")
    editor.chmod(0o755)
    code = "from kb.cli import main\nmain(['edit', 'D001', '--yes'])\n"
    done = child(code, EDITOR=str(editor), VISUAL=str(editor), KB_HOME=str(root))
    out, error = done.communicate()
    assert done.returncode == 0, error
    assert "D001" in out and "by an editor" in (root / record.path).read_text()
    assert git(root, "status", "--porcelain") == ""


def test_confirm(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0)
    assert kb.confirm("D001").verdict == "updated" and kb.record("D001").confirmed == "2026-11-21"
    before = commits(root)
    assert kb.confirm("D001").verdict == "unchanged" and commits(root) == before


# -- history --------------------------------------------------------------------------------------


def test_all_of_an_agent_goes_in_one_commit_and_comes_back(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0)
    own = [decision(number, scope="agent/cat") for number in (1, 2)]
    assert [verdict.verdict for verdict in kb.write(own)] == ["created"] * 2
    before, had = commits(root), [record.status for record in kb.records(Filter(scopes=("agent/cat",)))]
    ran = run(root, "rm", "agent://cat", "--why", "The cat is retired.", "--yes")
    assert ran.code == 0 and ran.out.count("updated") == 2 and commits(root) == before + 1
    message = git(root, "log", "-1", "--format=%B")
    assert message.startswith("Deprecate 2 records\n\nThe cat is retired.") and message.count("- Change") == 2
    assert [record.status for record in kb.records(Filter(scopes=("agent/cat",)))] == ["deprecated"] * 2
    assert kb.record("D001", scope="global").status == "accepted"
    assert "nothing is in force" in run(root, "rm", "agent://cat", "--yes").error
    git(root, "revert", "--no-edit", "HEAD")
    assert [record.status for record in kb.records(Filter(scopes=("agent/cat",)))] == had


@pytest.mark.parametrize("address", ["agent://me", "agent://claude", "agent://"])
def test_an_address_of_no_scope_takes_nothing_out_of_force(kb: KnowledgeBase, root: Path, address: str) -> None:
    whole(kb, 0)
    assert run(root, "rm", address, "--yes").code != 0 and kb.record("D001").status == "accepted"


def test_a_program_that_removes_several_asks_for_each(kb: KnowledgeBase, root: Path) -> None:
    whole(kb, 0), whole(kb, 1)
    ran = run(root, "rm", "D001", "D002")
    assert ran.code == 4 and ran.error.count("kb/review/") == 2
    assert [kb.record(name).status for name in ("D001", "D002")] == ["accepted"] * 2


def test_history(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb, 0)
    one(kb, decision(0, impact=("kb.toml",), why="A later fact about the nightly export.", session="s2", host="t"))
    kb.confirm("D001")
    kb.change_status("D001", "proposed", decided=True)
    path = root / record.path
    path.write_text(path.read_text().replace("by one owner", "by hand"))
    git(root, "commit", "-qam", "By hand")
    kb.change_status("D001", "deprecated", why="The export is gone.", decided=True)
    moments = kb.history("D001")
    assert [moment.stage for moment in moments] == ["seeded", "dormant", *["updated"] * 4, "obsolete"]
    assert [moment.cause for moment in moments][-2:] == [
        "By hand",
        "Change status of [D001] to deprecated: The export is gone.",
    ]
    assert all(moment.time and moment.commit and moment.author for moment in moments)


def test_history_through_a_rename_and_a_review(kb: KnowledgeBase, root: Path) -> None:
    record = kb.record(one(kb, FASTAPI).id)
    branch = one(kb, FLASK).branch
    git(root, "mv", record.path, record.path.replace("use-fastapi", "take-fastapi"))
    git(root, "commit", "-qm", "Another name")
    git(root, "merge", "-q", "--no-edit", branch)
    stages = [moment.stage for moment in kb.history("D001")]
    assert stages[0] == "seeded" and "obsolete" in stages and len(kb.log("D001")) >= 3


# -- links ----------------------------------------------------------------------------------------


def test_links_in_both_directions(kb: KnowledgeBase) -> None:
    whole(kb, 0), whole(kb, 1)
    one(kb, decision(2, why="It follows from [D001] and [D404], not from `[D002]` or [D002](x)."))
    one(kb, decision(3, scope="project/shop", why="It follows from [D002] and from [shop:D001] and [blog:D009]."))
    kb.supersede("D001", by="D002", in_part=True, decided=True)
    told = {(link.relation, link.outward, link.name): link.title for link in kb.refs("D001", scope="global")}
    assert told == {
        ("cites", False, "D003"): decision(2).title,
        ("amends", False, "D002"): decision(1).title,
    }
    told = {(link.relation, link.outward, link.name): link.title for link in kb.refs("D003")}
    assert told == {("cites", True, "D001"): decision(0).title, ("cites", True, "D404"): ""}
    told = {(link.relation, link.outward, link.name): bool(link.title) for link in kb.refs("shop:D001")}
    assert told == {
        ("cites", True, "D002"): True, ("cites", True, "shop:D001"): True, ("cites", True, "blog:D009"): False,
        ("cites", False, "D001"): True,
    }  # fmt: skip
    assert ("cites", False, "shop:D001") in {(x.relation, x.outward, x.name) for x in kb.refs("D002")}


def test_a_lost_race_looks_again(kb: KnowledgeBase, root: Path) -> None:
    """What was decided on an older tip is decided again: a status that moved meanwhile counts."""
    whole(kb, 0)
    with KnowledgeBase(str(root), os.environ) as other:
        other.record("D001")
        kb.change_status("D001", "deprecated", decided=True)
        with pytest.raises(KbError, match="is deprecated"):
            other.change_status("D001", "proposed", decided=True)
