"""What the wiki learns from git: in one pass, for all records."""

import os
from pathlib import Path

import pytest

from kb.git.repository import Repository
from kb.history.timeline import Timeline, build_timeline
from kb.knowledge_base import KnowledgeBase
from tests.support.sealed import git
from tests.wiki.test_wiki_pages import record
from tests.wiki.test_wiki_site import shelved


def told(place: Path) -> Timeline:
    """Return what git knows of the records at *place*."""
    with KnowledgeBase(str(place), os.environ) as kb:
        return build_timeline(kb)


def test_versions_come_newest_first_with_what_they_were(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first"), record("D002", "second")])
    path = "content/anchors/global/D001-first.md"
    file = root / path
    file.write_text(file.read_text("utf-8").replace("Done.", "Done — 改了。"), "utf-8")
    git(root, "commit", "-qam", "Change it\n\nKb-Host: codex")
    versions = told(root).versions
    newest, oldest = versions[path]
    assert (newest.subject, newest.host, newest.author) == ("Change it", "codex", "A Tester")
    assert "Done." in newest.before and "Done — 改了。" in newest.after
    assert (oldest.subject, oldest.before) == ("Write records", "")
    assert len(versions["content/anchors/global/D002-second.md"]) == 1


def test_a_renamed_record_keeps_its_history(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first", decision="Long enough to be known again. " * 5)])
    folder = root / "content/anchors/global"
    git(root, "mv", "content/anchors/global/D001-first.md", "content/anchors/global/D007-first.md")
    moved = folder / "D007-first.md"
    moved.write_text(moved.read_text("utf-8").replace("D001", "D007"), "utf-8")
    git(root, "commit", "-qam", "Renumber")
    versions = told(root).versions["content/anchors/global/D007-first.md"]
    assert [version.subject for version in versions] == ["Renumber", "Write records"]
    assert "D001" in versions[0].before and "D007" in versions[0].after


def test_a_hundred_records_take_as_many_git_calls_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    plain = Repository.git

    def counted(self: Repository, *arguments: str, **more: object) -> bytes:
        calls.append(arguments[0])
        return plain(self, *arguments, **more)  # type: ignore[arg-type]

    root = shelved(tmp_path / "kb", [record(f"D{n:03}", f"title {n}") for n in range(1, 101)])
    monkeypatch.setattr(Repository, "git", counted)
    assert len(told(root).versions) == 100
    assert calls.count("log") == 1 and calls.count("cat-file") <= 1


@pytest.mark.parametrize(
    ("remote", "edit", "code"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r/edit/main/", "https://github.com/o/r/blob/HEAD/"),
        ("https://me:x@gitlab.example/g/s/r.git", "https://gitlab.example/g/s/r/-/edit/main/",
         "https://gitlab.example/g/s/r/-/blob/HEAD/"),
        ("https://git.example/r", "", ""),
        ("https://github.com/o/../r\"onclick=", "", ""),
    ],
)  # fmt: skip
def test_the_remote_tells_where_files_are_seen_and_edited(tmp_path: Path, remote: str, edit: str, code: str) -> None:
    root = shelved(tmp_path / "kb", [], more='project = "kb"\n')
    git(root, "checkout", "-q", "-B", "main")
    git(root, "remote", "add", "origin", remote)
    found = told(root)
    assert (found.edit, found.code.get("project/kb", "")) == (edit, code)


def test_a_knowledge_base_without_a_commit_has_no_history(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [])
    git(root, "update-ref", "-d", "HEAD")
    assert told(root).versions == {}
