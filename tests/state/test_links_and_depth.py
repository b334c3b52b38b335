"""What a pulled branch brings is read where it stands: no link leads out, and nothing nested is too deep to survive."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kb.files import resolve_within
from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, one
from tests.support.command_line import run
from tests.support.sealed import git

SECRET = "WORDS-FROM-OUTSIDE"
DEEP = "[" * 200_000


def leaks(root: Path, site: Path) -> list[str]:
    """Return the commands whose answer, and the pages whose text, has what stands outside."""
    lines = (
        "list", "show D001", "show D001 --short", "show D001 --json", "search OUTSIDE", "search FastAPI", "hint t2",
        "export wukong", "history D001", "refs D001", "session list", "session load shop", "check", "doctor",
    )  # fmt: skip
    found = [line for line in lines for done in [run(root, *line.split())] if SECRET in done.out + done.error]
    run(root, "wiki", "build", "-o", str(site), "--no-strict")
    return found + [str(path) for path in site.rglob("*.*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("level", ["file", "content/anchors/global", "content/anchors", "content"])
@pytest.mark.parametrize("known", [True, False])
def test_no_record_is_read_through_a_link(
    kb: KnowledgeBase, root: Path, tmp_path: Path, level: str, known: bool
) -> None:
    level = one(kb, FASTAPI).path if level == "file" else level
    kb.close()
    outside = tmp_path / "outside"
    (root / level).rename(outside)
    for path in [outside, *outside.rglob("*.md")]:
        if path.is_file():
            path.write_text(path.read_text("utf-8").replace("The backend uses", SECRET), "utf-8")
    (root / level).symlink_to(outside)
    if not known:
        shutil.rmtree(root / ".kb")
    assert leaks(root, tmp_path / "site") == []


@pytest.mark.parametrize("whole", [True, False])
def test_no_session_is_read_through_a_link(kb: KnowledgeBase, root: Path, tmp_path: Path, whole: bool) -> None:
    place = root / "content" / "sessions" / "shop-20261121-000000-abcdefgh"
    place.mkdir(parents=True)
    hui = {"timestamp": "2026-11-21T00:00:00+0000", "context": {"task": "t"}, "session_id": "abcdefgh"}
    (place / "hui-output.json").write_text(json.dumps(hui), "utf-8")
    (place / "shi-result.json").write_text("{}", "utf-8")
    (tmp_path / "secret").write_text(SECRET, "utf-8")
    if whole:
        shutil.copy(tmp_path / "secret", place / "compact.md")
        place.rename(tmp_path / "outside")
        place.symlink_to(tmp_path / "outside")
    else:
        (place / "compact.md").symlink_to(tmp_path / "secret")
    kb.close()
    assert leaks(root, tmp_path / "site") == []


def test_an_import_follows_no_link_in_a_folder(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    kb.close()
    secret = tmp_path / "secret.md"
    secret.write_text(f"# 1. Use {SECRET}\n\n## Status\n\nAccepted\n\n## Context\n\nx\n\n## Decision\n\ny\n", "utf-8")
    (tmp_path / "adr").mkdir()
    (tmp_path / "adr" / "0001-a.md").symlink_to(secret)
    done = run(root, "import", "adr", str(tmp_path / "adr"))
    assert SECRET not in done.out and "0001-a.md" in done.error
    given = run(root, "import", "adr", str(tmp_path / "adr" / "0001-a.md"))
    assert SECRET in given.out, "what a person names is read"


def test_an_impact_link_without_an_end_is_not_read(kb: KnowledgeBase, root: Path) -> None:
    (root / "zero").symlink_to("/dev/zero")
    git(root, "add", "zero")
    git(root, "commit", "-qm", "x")
    one(kb, FASTAPI._replace(impact=("zero",)))
    path = root / kb.record("D001").path
    path.write_text(path.read_text("utf-8").replace("date: 2026-11-21", "date: 2020-01-01"), "utf-8")
    kb.close()
    assert run(root, "check").code in (0, 1)


@pytest.mark.parametrize("name", ["../../../../EVIL", "/TMP/EVIL", "..", "CON"])
def test_what_an_editor_leaves_is_kept_inside(kb: KnowledgeBase, root: Path, name: str) -> None:
    path = root / one(kb, FASTAPI).path
    path.write_text(path.read_text("utf-8").replace("id: D001\n", f'id: "{name}"\n'), "utf-8")
    kb.close()
    run(root, "list")
    run(root, "edit", name, EDITOR="sh -c 'echo broken > $0'")
    kept = list((root / ".kb" / "edits").iterdir())  # the text, and what it was made from
    assert len(kept) == 2 and all(path.stem.lower() not in ("con", "..") for path in kept)


@pytest.mark.parametrize("name", ["CON", "con", "NUL", "aux.md", "COM1", "lpt9.txt", "Prn", "x" * 300])
def test_a_scope_can_be_a_folder_on_every_system(kb: KnowledgeBase, root: Path, name: str) -> None:
    assert one(kb, FASTAPI._replace(scope=f"project/{name}")).verdict == "refused"
    assert one(kb, FASTAPI._replace(scope="project/console")).verdict == "created"


def test_within(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    assert resolve_within(str(tmp_path), "a/b") == str(tmp_path / "a" / "b")
    for path in ("../x", "a/../../x", "link", "link/b", "a/.."):
        with pytest.raises(FileNotFoundError):
            resolve_within(str(tmp_path), path)


def test_a_session_nested_too_deep_is_left_out(root: Path) -> None:
    place = root / "content" / "sessions" / "shop-20261121-000000-abcdefgh"
    place.mkdir(parents=True)
    (place / "hui-output.json").write_text(DEEP, "utf-8")
    (place / "shi-result.json").write_text("{}", "utf-8")
    assert run(root, "session", "list").code == 0


def test_a_mark_nested_too_deep_marks_nobody(kb: KnowledgeBase, root: Path) -> None:
    place = root / "content" / "anchors" / "projects" / "shop"
    place.mkdir(parents=True)
    (place / "project.json").write_text(DEEP, "utf-8")
    assert one(kb, FASTAPI._replace(scope="project/shop")).verdict in ("created", "conflict")


def test_an_inbox_nested_too_deep_holds_nothing(kb: KnowledgeBase, root: Path) -> None:
    def made(*arguments: str, data: str) -> str:
        line = ["git", "-C", str(root), *arguments]
        return subprocess.run(line, input=data, capture_output=True, text=True, check=True).stdout.strip()

    blob = made("hash-object", "-w", "--stdin", data=DEEP)
    tree = made("mktree", data=f"100644 blob {blob}\taaaaaaaaaaaa.json\n")
    git(root, "update-ref", "refs/kb/inbox", made("commit-tree", tree, "-m", "x", data=""))
    assert run(root, "inbox").code == 0
    assert one(kb, FASTAPI).verdict == "created"
    assert os.listdir(root)
