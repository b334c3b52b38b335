"""What a merge by lines makes of records: `kb check` finds where it lost meaning, and stays silent where it did not."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kb.checks.check_context import Finding
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import ADR_SECTIONS
from kb.records.model import Record, Section
from kb.records.record_file import read, render
from tests.support.clones import FASTAPI, FLASK, decision, one
from tests.support.sealed import git

Edit = Callable[[str], str]


def record(id: str = "D001", title: str = "Use FastAPI as the backend framework", **fields: Any) -> Record:
    """Return a record with which nothing is wrong, but for *fields*."""
    texts = {name: f"This is what {id} says of {name}." for name in ADR_SECTIONS} | fields.pop("texts", {})
    sections = tuple(Section(name, "", text) for name, text in texts.items() if text)
    values: dict[str, Any] = {"kind": "decision", "status": "accepted", "uid": f"01J{id}", "date": "2026-10-01"}
    values["path"] = f"content/anchors/global/{id}-x.md"
    return Record(id=id, title=title, sections=sections, **{**values, **fields})


def put(root: Path, *records: Record) -> None:
    """Write *records* into the checkout."""
    for each in records:
        (root / each.path).write_text(render(each), encoding="utf-8")


def edit(root: Path, path: str, *changes: tuple[str, str]) -> None:
    """Replace words in a file, each of which must stand there."""
    text = (root / path).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (root / path).write_text(text, encoding="utf-8")


def commit(root: Path, words: str = "Work") -> None:
    """Commit everything."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", words)


def merged(root: Path, ours: Callable[[], None], theirs: Callable[[], None], driver: str = "union") -> int:
    """Let two branches do their work and merge them as git does with *driver* ("text": its own); return its code."""
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text(f"*.md merge={driver}\n")
    git(root, "switch", "-qc", "theirs")
    theirs()
    commit(root, "Theirs")
    git(root, "switch", "-q", "main")
    ours()
    commit(root, "Ours")
    return subprocess.run(
        ["git", "-C", str(root), "merge", "-q", "--no-edit", "theirs"], check=False, capture_output=True
    ).returncode


def rules(kb: KnowledgeBase) -> list[str]:
    """Return the rules that fire, sorted."""
    return sorted(finding.rule for finding in kb.check())


def the(kb: KnowledgeBase, rule: str) -> Finding:
    """Return the one finding of *rule*."""
    [finding] = [finding for finding in kb.check() if finding.rule == rule]
    return finding


def line(root: Path, finding: Finding) -> str:
    """Return the line a finding stands on."""
    return (root / finding.path).read_text(encoding="utf-8").splitlines()[finding.line - 1]


# -- sections -------------------------------------------------------------------------------------

END = "<!-- MACHINE_BLOCK_END -->"


def test_a_section_that_both_sides_added_stands_there_twice(kb: KnowledgeBase, root: Path) -> None:
    bare = record(texts={"verification": "", "rollback": ""})
    put(root, bare)
    commit(root)
    code = merged(
        root,
        lambda: edit(root, bare.path, (END, f"\n## Verification\n\nRun it.\n\n## Rollback\n\nFlip the flag.\n{END}")),
        lambda: edit(root, bare.path, (END, f"\n## Rollback\n\nRestore the dump.\n\n## Verification\n\nLook.\n{END}")),
    )
    assert code == 0 and read((root / bare.path).read_bytes()), "git sees nothing wrong"
    found = [finding for finding in kb.check() if finding.rule == "section-twice"]
    assert [(finding.severity, line(root, finding)) for finding in found] == [
        ("error", "## Rollback"), ("error", "## Verification"),
    ]  # fmt: skip
    rows = (root / bare.path).read_text(encoding="utf-8").splitlines()
    assert all(rows.index(line(root, finding)) + 1 < finding.line for finding in found), "the second one is named"
    assert "only the first is read" in str(found[0].message) and "kb repair D001" in str(found[0].fix)


@pytest.mark.parametrize(
    ("name", "heading", "again", "expected"),
    [
        ("decision", "Decision", "Decision", "error"),
        ("decision", "Decision", "decision", "error"),
        ("alternatives", "Alternatives", "Considered options", "warning"),
        ("", "Notes", "Notes", "warning"),
        ("", "Notes", "More notes", ""),
        ("decision", "决策", "决策", "error"),
    ],
)
def test_only_what_hides_text_is_an_error(
    kb: KnowledgeBase, root: Path, name: str, heading: str, again: str, expected: str
) -> None:
    texts = [Section(part, "", f"It says {part}.") for part in ADR_SECTIONS if part != name]
    two = [Section(name, heading, "One thing."), Section(name, again, "Another thing.")]
    put(root, record()._replace(sections=tuple(two + texts)))
    commit(root)
    assert [f.severity for f in kb.check()] == ([expected] if expected else [])


def test_a_section_twice_word_for_word_says_so(kb: KnowledgeBase, root: Path) -> None:
    one_section = Section("why", "Why", "It is fast.")
    put(root, record()._replace(sections=(*record().sections, one_section._replace(text=record().section("why")))))
    commit(root)
    finding = the(kb, "section-twice")
    assert "word for word" in str(finding.message) and "第二" not in finding.message.translate("zh")
    assert "一字不差" in finding.message.translate("zh")


BOTH = [
    ("Orders live in PostgreSQL.", "Orders live in MySQL.", "Orders live in MariaDB.", True),
    ("订单存放在 PostgreSQL。", "订单存放在 MySQL。", "订单存放在 MariaDB。", True),
    ("- a first point\n- a second point", "- a first point\n- a second point\n- a third", "- a first point\n- a fourth",
     False),
    ("A line.\n\nB line.", "A line, changed.\n\nB line.", "A line.\n\nB line, changed.", False),
    ("A line.", "The same change.", "The same change.", False),
]  # fmt: skip


@pytest.mark.parametrize(("base", "mine", "other", "lost"), BOTH)
def test_both_sides_texts_of_one_section(
    kb: KnowledgeBase, root: Path, base: str, mine: str, other: str, lost: bool
) -> None:
    old = record(texts={"decision": base})
    put(root, old)
    commit(root)
    code = merged(root, lambda: edit(root, old.path, (base, mine)), lambda: edit(root, old.path, (base, other)))
    assert code == 0
    found = [finding for finding in kb.check() if finding.rule == "both-sides"]
    assert bool(found) is lost
    if lost:
        assert line(root, found[0]) == "## Decision" and found[0].severity == "error"
        edit(root, old.path, (mine, "Both, each for its own orders."))
        assert "both-sides" not in rules(kb), "a person has chosen"


def test_a_section_both_sides_wrote_for_the_first_time(kb: KnowledgeBase, root: Path) -> None:
    bare = record(texts={"rollback": ""})
    put(root, bare)
    commit(root)
    new = f"\n## Rollback\n\n{{}}\n{END}"
    merged(
        root,
        lambda: edit(root, bare.path, (END, new.format("Flip the flag."))),
        lambda: edit(root, bare.path, (END, new.format("Restore the dump."))),
    )
    assert {"both-sides", "section-twice"} & set(rules(kb))


def test_a_merge_that_is_going_on_is_looked_at(kb: KnowledgeBase, root: Path) -> None:
    base, mine, other = BOTH[0][:3]
    old, clash = record(texts={"decision": base}), record("D002", "Keep invoices for ten years")
    put(root, old, clash)
    commit(root)

    def work(text: str, years: str) -> None:
        edit(root, old.path, (base, text))
        edit(root, clash.path, ("ten years", f"{years} years"))

    assert merged(root, lambda: work(mine, "nine"), lambda: work(other, "eight"), driver="text") == 1
    text = f"{mine}\n{other}"
    git(root, "checkout", "--ours", old.path, clash.path)
    edit(root, old.path, (mine, text))
    assert (root / ".git" / "MERGE_HEAD").exists()
    assert "both-sides" in rules(kb)


# -- lists and paragraphs -------------------------------------------------------------------------


def test_lists_that_both_sides_lengthened(kb: KnowledgeBase, root: Path) -> None:
    old = record(texts={"why": "- It is fast enough.\n- Everybody knows it."})
    put(root, old)
    edit(root, old.path, ("date:", "impact:\n  - kb.toml\ndate:"))
    commit(root)
    last, path = "- Everybody knows it.", "  - kb.toml\n"

    def work(first: str, second: str) -> None:
        edit(
            root, old.path, (last, f"{last}\n{first}\n{second}"), (path, f"{path}  - {first[2:4]}\n  - {second[2:4]}\n")
        )

    merged(root, lambda: work("- aa is needed here", "- bb is needed here"),
           lambda: work("- bb is needed here", "- cc is needed here"))  # fmt: skip
    found = [finding for finding in kb.check() if finding.rule == "twice"]
    assert [finding.severity for finding in found] == ["warning"] * 2
    front, body = found
    assert line(root, front) == "  - bb" and front.change == {"impact": ["kb.toml", "aa", "bb", "cc"]}
    assert line(root, body) == "- bb is needed here" and "bb is needed here" in str(body.message)
    kb.check(fix=True)
    assert kb.records()[0].impact == ("kb.toml", "aa", "bb", "cc")
    assert rules(kb).count("twice") == 1, "only the front is mended without a person"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- run the whole suite\n- read the log\n- run the whole suite", 1),
        ("1. run the whole suite\n2. run the whole suite", 1),
        ("- run it\n- run it", 0),
        ("- a:\n  - run the whole suite\n- b:\n  - run the whole suite", 0),
        ("Staging:\n\n- run the whole suite\n\nProduction:\n\n- run the whole suite", 0),
        ("| a | b |\n| --- | --- |\n| the first thing | x |\n| the first thing | x |", 1),
        ("```\nmake one two three\nmake one two three\n```", 0),
        ("It has to be fast enough for every one of us.\n\nIt has to be fast enough for every one of us.", 1),
        ("As above.\n\nAs above.", 0),
        ("它必须足够快，否则用户会离开。\n\n它必须足够快，否则用户会离开。", 1),
        ("- 先跑完整的测试\n- 先跑完整的测试", 1),
    ],
)
@pytest.mark.parametrize("block", ["section", "user"])
def test_what_stands_twice_in_one_place(kb: KnowledgeBase, root: Path, text: str, expected: int, block: str) -> None:
    put(root, record(texts={"why": text}) if block == "section" else record(user=text))
    commit(root)
    found = [finding for finding in kb.check() if finding.rule == "twice"]
    assert len(found) == expected
    if found:
        rows = (root / found[0].path).read_text(encoding="utf-8").splitlines()
        assert rows[found[0].line - 1] == text.splitlines()[-1]
        assert rows.index(text.splitlines()[-1]) < found[0].line - 1 or "1." in text, "the second one is named"


# -- ids and uids ---------------------------------------------------------------------------------


def test_two_branches_that_gave_out_one_number(kb: KnowledgeBase, root: Path) -> None:
    mine, other = record("D001"), record("D001", "Keep invoices for ten years", uid="01K", date="2026-11-01")
    other = other._replace(path=other.path.replace("-x", "-y"))
    assert merged(root, lambda: put(root, mine), lambda: put(root, other), driver="text") == 0
    finding = the(kb, "duplicate-id")
    assert (finding.path, finding.severity) == (other.path, "error") and "D002" in str(finding.fix)


def test_one_record_that_a_merge_left_in_two_files(kb: KnowledgeBase, root: Path) -> None:
    taken = record("D001")
    renumbered = taken._replace(id="D002", path="content/anchors/global/D002-x.md")
    assert merged(root, lambda: put(root, taken), lambda: put(root, renumbered), driver="text") == 0
    finding = the(kb, "duplicate-uid")
    assert "second copy" in str(finding.message) and "git rm" in str(finding.fix), "its uid is no copy's"


def test_one_record_in_two_files_of_one_id_is_not_renumbered(kb: KnowledgeBase, root: Path) -> None:
    renamed = record(title="Use FastAPI for the backend")._replace(path="content/anchors/global/D001-y.md")
    assert merged(root, lambda: put(root, record()), lambda: put(root, renamed), driver="text") == 0
    assert "duplicate-uid" in rules(kb) and "duplicate-id" not in rules(kb)


# -- contradictions -------------------------------------------------------------------------------

SIDES = [
    ("Use FastAPI as the backend framework", "Use Flask as the backend framework"),
    ("使用 FastAPI 作为后端框架", "采用 Flask 作为后端框架"),
    ("Encrypt backups", "Do not encrypt backups"),
]


@pytest.mark.parametrize(("mine", "other"), SIDES)
@pytest.mark.parametrize("squashed", [False, True])
def test_both_sides_were_accepted(kb: KnowledgeBase, root: Path, mine: str, other: str, squashed: bool) -> None:
    put(root, record("D009", "Keep invoices for ten years"))
    commit(root)
    here = record("D001", mine, texts={"decision": mine + "."})
    there = record("D002", other, date="2026-10-02", texts={"decision": other + "."})
    assert merged(root, lambda: put(root, here), lambda: put(root, there), driver="text") == 0
    if squashed:
        git(root, "reset", "-q", "--soft", "HEAD^1")
        git(root, "commit", "-qm", "Squash")
    finding = the(kb, "contradiction")
    assert (finding.path, finding.severity) == (there.path, "error")
    assert "[D001]" in str(finding.message) and "kb supersede D001 --by D002" in str(finding.fix)
    edit(root, there.path, ("date:", 'coexists_with: {D001: "for the admin pages"}\ndate:'))
    assert "contradiction" not in rules(kb)


def test_claims_are_told_once(kb: KnowledgeBase, root: Path) -> None:
    here, there = record(claims={"framework": "FastAPI"}), record("D002", SIDES[0][1], claims={"framework": "Flask"})
    assert merged(root, lambda: put(root, here), lambda: put(root, there), driver="text") == 0
    assert [rule for rule in rules(kb) if rule in ("claims", "contradiction")] == ["claims"]


@pytest.mark.parametrize("status", ["proposed", "superseded", "rejected"])
def test_what_does_not_hold_contradicts_nothing(kb: KnowledgeBase, root: Path, status: str) -> None:
    there = record("D002", SIDES[0][1], status=status, texts={"decision": "We use Flask."})
    assert merged(root, lambda: put(root, record()), lambda: put(root, there), driver="text") == 0
    assert "contradiction" not in rules(kb)


def test_what_kb_itself_writes_and_accepts_is_fine(kb: KnowledgeBase) -> None:
    kb.write([decision(number) for number in range(6)], folder=kb.root)
    one(kb, FASTAPI)
    review = one(kb, FLASK)
    assert review.verdict == "conflict"
    kb.accept(review.branch)
    lost = {"contradiction", "both-sides", "section-twice", "twice", "duplicate-id", "duplicate-uid", "claims"}
    assert not lost & set(rules(kb))


def test_a_first_commit_and_a_shallow_clone_are_checked_too(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    put(root, record())
    commit(root)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", str(tmp_path / "shallow"))
    with KnowledgeBase(str(tmp_path / "shallow"), os.environ) as shallow:
        assert shallow.check() == []


# -- conflict markers -----------------------------------------------------------------------------


def test_a_conflict_that_was_committed(kb: KnowledgeBase, root: Path) -> None:
    base, mine, other = BOTH[0][:3]
    old = record(texts={"decision": base})
    put(root, old)
    commit(root)
    code = merged(root, lambda: edit(root, old.path, (base, mine)), lambda: edit(root, old.path, (base, other)),
                  driver="text")  # fmt: skip
    assert code == 1
    commit(root, "Merge, conflict and all")
    assert the(kb, "conflict-markers").severity == "error"


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("one\n<<<<<<< HEAD\ntwo", True),
        ("one\n>>>>>>> theirs\ntwo", True),
        ("one\n||||||| 1a2b3c4\ntwo", True),
        ("one\n=======\ntwo", False),
        ("```\n<<<<<<< HEAD\n```", False),
        ("one <<<<<<< HEAD", False),
        ("<<<<<<<<<< not git's", False),
    ],
)
def test_a_marker_that_stayed_behind(kb: KnowledgeBase, root: Path, text: str, fires: bool) -> None:
    put(root, record())
    edit(root, record().path, ("<!-- USER_BLOCK_START -->\n", f"<!-- USER_BLOCK_START -->\n{text}\n"))
    commit(root)
    assert rules(kb) == (["conflict-markers"] if fires else [])
    if fires:
        assert line(root, the(kb, "conflict-markers"))[:7] in ("<<<<<<<", ">>>>>>>", "|||||||")


# -- other branches -------------------------------------------------------------------------------


def test_what_stands_on_the_trunk_keeps_its_id(kb: KnowledgeBase, root: Path) -> None:
    put(root, record("D001", uid="01M"))
    commit(root)
    git(root, "switch", "-qc", "older", "HEAD^")
    put(
        root, record("D001", "Keep invoices for ten years", uid="01A")._replace(path="content/anchors/global/D001-y.md")
    )
    commit(root)
    git(root, "switch", "-q", "main")
    assert [(f.rule, f.severity) for f in kb.check()] == [("branch-id", "warning")]
    git(root, "switch", "-qc", "feature")
    assert [(f.rule, f.severity) for f in kb.check()] == [("branch-id", "warning")], "it is not this branch's doing"
    git(root, "switch", "-q", "older")
    assert [(f.rule, f.severity) for f in kb.check()] == [("branch-id", "error")]


def test_a_branch_that_only_lags_behind_takes_no_id(kb: KnowledgeBase, root: Path) -> None:
    put(root, record("D001", "An old title of its own", uid="01A"))
    commit(root)
    git(root, "branch", "stale")
    git(root, "rm", "-q", record().path)
    put(root, record("D001", uid="01B")._replace(path="content/anchors/global/D001-y.md"))
    commit(root)
    assert "branch-id" not in rules(kb)
