"""An editor is open for minutes: what others write into the record meanwhile stays, and no typed text is lost."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kb.errors import ConcurrentEdit, NeedsPerson
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record
from tests.support.clones import commits, decision, one
from tests.support.command_line import run
from tests.support.sealed import git


def whole(kb: KnowledgeBase, number: int = 0) -> Record:
    """Write a record that lacks nothing."""
    return kb.record(one(kb, decision(number, impact=("kb.toml",))).id)


def editor(folder: Path, script: str) -> dict[str, str]:
    """Return the environment in which the shell *script* is the editor; $1 is the file."""
    path = folder / "editor"
    path.write_text("#!/bin/sh\n" + script, "utf-8")
    path.chmod(0o755)
    return {"EDITOR": str(path), "VISUAL": str(path)}


# -- what others commit stays ----------------------------------------------------------------------


def test_a_commit_to_other_lines_stays(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb)
    opened = kb.text(record)
    path = root / record.path
    path.write_text(opened.replace("## Why\n", "## Why\n\nBob measured it.\n"), "utf-8")
    git(root, "commit", "-qam", "Bob's edit")
    assert kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened).verdict == "updated"
    text = git(root, "show", f"HEAD:{record.path}")
    assert "Bob measured it." in text and "by two owners" in text and path.read_text("utf-8") == text


def test_what_an_agent_appends_stays(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb)
    opened = kb.text(record)
    fact = "The spring test measured nine thousand requests a second."
    assert one(kb, decision(0, why=fact, session="s2", host="t")).verdict == "appended"
    assert kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened).verdict == "updated"
    now = kb.record("D001")
    assert fact in now.section("additions") and "t/s2" in now.sources and "by two owners" in kb.text(now)


def test_a_status_given_meanwhile_stays(kb: KnowledgeBase) -> None:
    record = whole(kb)
    opened = kb.text(record)
    kb.change_status("D001", "deprecated", why="It was never used.", decided=True)
    kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened)
    assert kb.record("D001").status == "deprecated" and "by two owners" in kb.text(kb.record("D001"))


def test_two_people_edit_one_record(kb: KnowledgeBase) -> None:
    record = whole(kb)
    opened = kb.text(record)
    kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened)
    second = opened.replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nA note of Ann's.\n")
    kb.replace_text(record, second, opened=opened)
    assert "by two owners" in kb.text(record) and "A note of Ann's." in kb.text(record)


def test_the_same_lines_are_shown_and_not_decided(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb)
    opened = kb.text(record)
    kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened)
    before = commits(root)
    with pytest.raises(ConcurrentEdit) as caught:
        kb.replace_text(record, opened.replace("by one owner", "by three owners"), opened=opened)
    assert caught.value.exit_code == NeedsPerson.exit_code == 5 and commits(root) == before
    marked = caught.value.marked.decode()
    assert "by two owners" in marked and "by three owners" in marked and "<<<<<<< " in marked
    start, end = marked.index("<<<<<<< "), marked.index(">>>>>>> ")
    settled = marked[:start] + "It is run by four owners.\n" + marked[marked.index("\n", end) + 1 :]
    kb.replace_text(record, settled, opened=caught.value.seen.decode(), committed=caught.value.committed)
    assert "by four owners" in kb.text(record) and "<<<<<<<" not in kb.text(record)


def test_edits_that_were_not_committed_and_a_commit_meet(kb: KnowledgeBase, root: Path) -> None:
    """The person's own uncommitted edit is committed with the rest, and what an agent wrote meanwhile stays too."""
    record = whole(kb)
    path = root / record.path
    path.write_text(path.read_text("utf-8").replace("by one owner", "by my owner"), "utf-8")
    opened, committed = kb.text(record), kb.repository.read_blob("HEAD", record.path)
    fact = "The spring test measured nine thousand requests a second."
    assert one(kb, decision(0, why=fact, session="s2", host="t")).verdict == "appended"
    typed = opened.replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nA note.\n")
    kb.replace_text(record, typed, opened=opened, committed=committed)
    text = git(root, "show", f"HEAD:{record.path}")
    assert "by my owner" in text and fact in text and "A note." in text
    assert git(root, "status", "--porcelain") == ""


def test_a_record_that_is_renamed_meanwhile_is_not_made_twice(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb)
    opened = kb.text(record)
    git(root, "mv", record.path, record.path.replace("D001", "D009"))
    git(root, "commit", "-qm", "Another place")
    with pytest.raises(NeedsPerson, match="was removed"):
        kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened)


def test_line_ends_of_the_checkout_are_not_committed(kb: KnowledgeBase, root: Path) -> None:
    record = whole(kb)
    path = root / record.path
    git(root, "config", "core.autocrlf", "true")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    opened = kb.text(record)
    kb.replace_text(record, opened.replace("by one owner", "by two owners"), opened=opened)
    assert git(root, "show", "--stat").count("2 +-") == 1 and "by two owners" in kb.text(record)


def test_check_fix_leaves_a_file_that_was_changed_while_it_looked(root: Path) -> None:
    with KnowledgeBase(str(root), os.environ) as kb:
        record = whole(kb)
    path = root / record.path
    path.write_text(re.sub("uid: .*\n", "", path.read_text("utf-8")), "utf-8")

    saved = 0

    def clock() -> float:
        """Tell the time; a person saves the file in that moment."""
        nonlocal saved
        saved += 1
        path.write_text(f"{path.read_text('utf-8')}\nSaved {saved} times.\n", "utf-8")
        return 1_795_219_200.0

    with KnowledgeBase(str(root), os.environ, clock) as kb:
        kb.check(fix=True)
    text = path.read_text("utf-8")
    assert saved and [n for n in range(1, saved + 1) if f"Saved {n} times." not in text] == []


# -- what was typed is found -----------------------------------------------------------------------

INNER = f"{sys.executable} -c 'from kb.cli import main; main()'"


def test_an_edit_that_meets_a_commit(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    record = whole(kb)
    script = f"""sed -i 's/^## Why$/## Why\\n\\nBob measured it./' '{root / record.path}'
git -C '{root}' commit -qam "Bob's edit"
sed -i 's/by one owner/by two owners/' "$1"
"""
    ran = run(root, "edit", "D001", "--yes", **editor(tmp_path, script))
    assert ran.code == 0 and "Bob measured it." in kb.text(record) and "by two owners" in kb.text(record)
    assert list((root / ".kb" / "edits").iterdir()) == []


def test_an_edit_that_cannot_be_merged_is_kept_with_both(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    record = whole(kb)
    script = f"""sed -i 's/by one owner/by Bob/' '{root / record.path}'
git -C '{root}' commit -qam "Bob's edit"
sed -i 's/by one owner/by me alone/' "$1"
"""
    ran = run(root, "edit", "D001", stdin=b"n\n", **editor(tmp_path, script))
    kept = root / ".kb" / "edits" / "D001.md"
    assert ran.code == 5 and str(kept) in ran.error
    text = kept.read_text("utf-8")
    assert "by Bob" in text and "by me alone" in text and "by Bob" in kb.text(record)


def test_an_editor_that_fails_leaves_what_was_typed(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    whole(kb)
    ran = run(root, "edit", "D001", **editor(tmp_path, "sed -i 's/by one owner/by me/' \"$1\"; exit 1\n"))
    kept = root / ".kb" / "edits" / "D001.md"
    assert ran.code == 1 and str(kept) in ran.error and "by me" in kept.read_text("utf-8")
    assert str(kept) in run(root, "doctor").out
    again = run(root, "edit", "D001", **editor(tmp_path, "exit 0\n"))
    assert str(kept) in again.error and not kept.exists(), "the next kb edit opens it"
    assert again.code == 4 and "by me" in run(root, "review", "show", "D001").out


@pytest.mark.parametrize(
    ("language", "editor", "words"),
    [
        ("en", "no-such-editor", "the editor no-such-editor cannot be started"),
        ("zh", "no-such-editor", "无法启动编辑器 no-such-editor"),
        ("en", "false", "the editor false ended with a failure"),
        ("zh", "false", "编辑器 false 异常结束"),
    ],
)
def test_an_editor_that_does_not_start_is_named_with_the_next_step(
    kb: KnowledgeBase, root: Path, language: str, editor: str, words: str
) -> None:
    one(kb, decision(0))
    with (root / "kb.toml").open("a") as file:
        file.write(f'\nlanguage = "{language}"\n')
    for name in ("EDITOR", "VISUAL"):
        ran = run(root, "edit", "D001", **{"EDITOR": "", "VISUAL": "", name: editor})
        assert ran.code == 1 and words in ran.error and "kb edit D001" in ran.error and "Errno" not in ran.error


def test_an_editor_that_fails_without_a_change_leaves_nothing(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    whole(kb)
    assert run(root, "edit", "D001", **editor(tmp_path, "exit 1\n")).code == 1
    assert list((root / ".kb" / "edits").iterdir()) == []


def test_what_is_typed_after_kb_was_killed_is_found(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    whole(kb)
    environment = editor(tmp_path, "kill -9 $PPID; sleep 0.3; sed -i 's/by one owner/by me/' \"$1\"\n")
    killed = subprocess.run(
        [sys.executable, "-c", "from kb.cli import main\nmain(['edit', 'D001'])"], cwd=root,
        env={**os.environ, **environment}, check=False, capture_output=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    kept = root / ".kb" / "edits" / "D001.md"
    for _ in range(50):
        if "by me" in kept.read_text("utf-8"):
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert str(kept) in run(root, "doctor").out
    assert str(kept) in run(root, "edit", "D001", **editor(tmp_path, "exit 0\n")).error


def test_an_open_editor_is_not_left_over(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    whole(kb)
    script = f"cd '{root}'; {INNER} doctor > '{tmp_path / 'told'}' 2>&1\n"
    run(root, "edit", "D001", **editor(tmp_path, 'echo typed >> "$1"\n' + script))
    assert ".kb/edits" not in (tmp_path / "told").read_text("utf-8")
