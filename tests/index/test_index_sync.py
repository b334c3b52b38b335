"""The index says what the files say, whatever was done to them with whatever tool between two looks."""

import contextlib
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kb.errors import BadRecord
from kb.index import index_sync
from kb.knowledge_base import KnowledgeBase
from kb.records.record_file import read
from kb.writing import publish as publishing
from tests.support.clones import decision, one
from tests.support.sealed import git

FOLDER = "content/anchors/global"


class Person:
    """Somebody who works on the record files of a clone, at random."""

    def __init__(self, root: Path, seed: int) -> None:
        """Choose what to do by *seed*."""
        self.root = root
        self.chance = random.Random(seed)
        self.count = 0

    def file(self) -> str:
        """Return one of the record files that are there."""
        return self.chance.choice(sorted(p.relative_to(self.root).as_posix() for p in self.root.glob(f"{FOLDER}/*.md")))

    def edit(self) -> None:
        """Give a record another title, in place: neither its folder nor git hears of it."""
        place = self.root / self.file()
        self.count += 1
        lines = place.read_text().splitlines(keepends=True)
        place.write_text("".join(f"title: {'x' * self.count}\n" if row.startswith("title:") else row for row in lines))

    def git(self, *words: str) -> None:
        """Let git do something that may not be possible now."""
        subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, check=False)

    def acts(self) -> list[Callable[[], None]]:
        """Return what a person may do next."""
        side = f"side{self.chance.randrange(3)}"
        return [
            self.edit,
            self.edit,
            lambda: self.git("add", self.file()),
            lambda: self.git("commit", "-qam", "x"),
            lambda: self.git("commit", "-qm", "x"),
            lambda: self.git("checkout", "-q", "HEAD", "--", self.file()),
            lambda: self.git("restore", "--staged", self.file()),
            lambda: self.git("rm", "-q", "--cached", self.file()),
            lambda: self.git("add", "-A"),
            lambda: self.git("switch", "-qC", side),
            lambda: self.git("switch", "-q", side),
            lambda: self.git("merge", "-q", "--no-edit", "-X", "ours", side),
            lambda: self.git("reset", "-q", "HEAD~1"),
            lambda: self.git("reset", "-q", "--hard", "HEAD~1"),
            lambda: self.git("stash", "-q"),
            lambda: self.git("stash", "pop", "-q"),
            lambda: self.git("update-index", "--assume-unchanged", self.file()),
            lambda: self.git("update-index", "--no-assume-unchanged", self.file()),
            lambda: self.git("update-index", "--skip-worktree", self.file()),
            lambda: self.git("update-index", "-q", "--refresh"),
            self.copy,
            lambda: (self.root / self.file()).rename(
                self.root / FOLDER / f"D{self.chance.randrange(100, 999)}-moved.md"
            ),
        ]

    def copy(self) -> None:
        """Make another file of a record."""
        data = (self.root / self.file()).read_bytes()
        (self.root / FOLDER / f"D{self.chance.randrange(100, 999)}-copied.md").write_bytes(data)

    def move(self) -> None:
        """Give the file of a record another name."""
        (self.root / self.file()).rename(self.root / FOLDER / f"D{self.chance.randrange(100, 999)}-moved.md")

    def act(self) -> None:
        """Do one thing; where the last file would go, nothing."""
        if any(self.root.glob(f"{FOLDER}/*.md")):
            self.chance.choice(self.acts())()


@pytest.mark.parametrize("seed", range(16 if os.environ.get("KB_MANY") else 8))
def test_law_the_index_agrees_with_the_files(kb: KnowledgeBase, root: Path, seed: int) -> None:
    for number in range(4):
        one(kb, decision(number))
    git(root, "branch", "side0")
    person = Person(root, seed)
    for turn in range(20):
        for _ in range(person.chance.randrange(1, 4)):
            person.act()
        if turn % 5 == 4:
            one(kb, decision(turn + 4))
        found = {record.path: record.title for record in kb.records()}
        assert found == readable(root), f"after turn {turn}"


def readable(root: Path) -> dict[str, str]:
    """Return path and title of the record files; one in which git left the marks of a conflict is none."""
    found = {}
    for place in root.glob(f"{FOLDER}/*.md"):
        with contextlib.suppress(BadRecord):
            found[place.relative_to(root).as_posix()] = read(place.read_bytes()).title
    return found


def test_where_git_does_not_say_every_file_is_looked_at(kb: KnowledgeBase, root: Path) -> None:
    path = root / one(kb, decision(0)).path
    kb.records()
    path.write_text(path.read_text().replace("title: Keep", "title: Never keep"))
    with KnowledgeBase(str(root), {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}) as foreign:
        assert [record.title for record in foreign.records()] == [
            f"Never {decision(0).title[0].lower()}{decision(0).title[1:]}"
        ]


# -- somebody acts between kb's file and kb's note of it ---------------------------------------------


@pytest.fixture
def two_lines(root: Path, kb: KnowledgeBase) -> Path:
    """Return a knowledge base whose branch `side` has another title for D001."""
    one(kb, decision(0))
    git(root, "switch", "-qc", "side")
    (place,) = (root / FOLDER).glob("D001-*.md")
    place.write_text(place.read_text(encoding="utf-8").replace("title: Keep", "title: Never keep"), encoding="utf-8")
    git(root, "commit", "-qam", "Another title")
    git(root, "switch", "-q", "-")
    kb.sync_index()
    return root


def agree(root: Path, kb: KnowledgeBase) -> None:
    """Check that the index says of every record what its file says."""
    for record in kb.sync_index().records():
        assert record.title == read((root / record.path).read_bytes(), record.path).title


def test_an_edit_that_is_staged_between_two_looks_is_seen(two_lines: Path, kb: KnowledgeBase) -> None:
    """The edit leaves the folder as it was, no commit has it, and git finds the file as its index has it."""
    (place,) = (two_lines / FOLDER).glob("D001-*.md")
    place.write_text(place.read_text(encoding="utf-8").replace("title: Keep", "title: Never keep"), encoding="utf-8")
    git(two_lines, "add", "-A")
    agree(two_lines, kb)


def test_a_switch_just_after_kb_let_go_of_gits_index_is_seen(
    two_lines: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = index_sync.mark_commit_seen

    def later(kb: KnowledgeBase, tip: str) -> None:
        git(two_lines, "switch", "-q", "side")
        noted(kb, tip)

    with monkeypatch.context() as patched:
        patched.setattr(index_sync, "mark_commit_seen", later)
        one(kb, decision(1))
    agree(two_lines, kb)


def test_what_kb_wrote_while_somebody_staged_is_seen_to_go_with_its_branch(
    two_lines: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(two_lines, "switch", "-qc", "topic")
    kb.sync_index()
    looked = publishing.worktree.find_link_above

    def staged(*arguments: Any) -> str:
        (two_lines / "mine.txt").write_text("staged", encoding="utf-8")
        git(two_lines, "add", "mine.txt")
        return looked(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(publishing.worktree, "find_link_above", staged)
        kb.confirm("D001")
    git(two_lines, "switch", "-q", "main")
    assert kb.sync_index().find_by_id("D001")[0].confirmed == ""


def test_an_edit_just_after_kb_wrote_the_file_is_seen(
    two_lines: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = publishing._update_index

    def later(*arguments: Any) -> None:
        (place,) = (two_lines / FOLDER).glob("D002-*.md")
        place.write_text(
            place.read_text(encoding="utf-8").replace("title: Keep", "title: Never keep"), encoding="utf-8"
        )
        settled(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_update_index", later)
        one(kb, decision(1))
    agree(two_lines, kb)
