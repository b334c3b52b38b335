"""kb purge-secret finds a secret wherever this clone has it, prepares its removal, and removes nothing itself."""

import contextlib
import json
import os
import pty
import random
import select
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from bench.pasted import made
from tests.support.command_line import Ran, run
from tests.support.sealed import git

TOKEN = made("ghp_{an36}", random.Random(31))[0]
PASSWORD = made("{an4}+{an4}/{an4}", random.Random(32))[0]


def purge(root: Path, secret: str = TOKEN, *more: str, code: int = 5) -> Ran:
    """Run the command with *secret* on stdin; what it prints never holds it."""
    ran = run(root, "purge-secret", *more, stdin=f"{secret}\n".encode())
    assert ran.code == code, ran
    assert secret not in ran.out + ran.error
    return ran


def found(root: Path, secret: str = TOKEN) -> dict[str, list[object]]:
    """Return what is found, as JSON."""
    return dict(json.loads(purge(root, secret, "--json").out)["found"])


def commit(root: Path, name: str, text: str, words: str = "Add a page") -> str:
    """Commit a file and return the commit."""
    (root / name).write_text(text, encoding="utf-8")
    git(root, "add", "--", name)
    git(root, "commit", "-qm", words)
    return git(root, "rev-parse", "HEAD").strip()


def prepared(root: Path) -> Path:
    """Return the newest folder that was prepared."""
    return max((root / ".kb" / "purge").iterdir())


def test_what_is_nowhere_prepares_nothing(root: Path) -> None:
    before = git(root, "for-each-ref")
    assert "nowhere" in purge(root, code=0).out
    assert not (root / ".kb" / "purge").exists() and git(root, "for-each-ref") == before


def test_a_file_and_the_commit_that_brought_it(root: Path) -> None:
    first = commit(root, "notes.md", f"one\ntwo {TOKEN}\n")
    commit(root, "notes.md", "clean\n")
    hits = found(root)["hits"]
    assert [(hit["kind"], hit["path"]) for hit in hits] == [("blob", "notes.md")]  # type: ignore[index]
    assert hits[0]["commits"] == [first]  # type: ignore[index]
    assert found(root)["refs"] == ["refs/heads/main"] and found(root)["files"] == []


def test_lines_of_the_work_tree_are_named(root: Path) -> None:
    (root / "draft.md").write_text(f"a\nb\nkey {TOKEN}\n", encoding="utf-8")
    assert found(root)["files"] == ["draft.md:3"]
    assert "file draft.md:3" in purge(root).out


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD, "correct horse battery staple", "密码是山河湖海九八七"])
def test_every_form_of_a_secret_is_found(root: Path, secret: str) -> None:
    commit(root, "a.json", json.dumps({"key": secret}))
    assert [hit["path"] for hit in found(root, secret)["hits"]] == ["a.json"]  # type: ignore[index]


def test_messages_tags_names_and_reflogs(root: Path) -> None:
    commit(root, "a.md", "a", f"Add {TOKEN}")
    commit(root, f"x-{TOKEN}.md", "b")
    git(root, "tag", "-a", "v1", "-m", f"with {TOKEN}")
    git(root, "branch", f"wip/{TOKEN}")
    seen = found(root)
    assert {hit["kind"] for hit in seen["hits"]} == {"commit", "tree", "tag"}  # type: ignore[index]
    assert seen["named"] == ["refs/heads/wip/[redacted:purged]"]
    assert "refs/tags/v1" in seen["refs"]
    assert any(str(path).endswith("logs/HEAD") for path in seen["inside"])
    steps = purge(root).out
    assert "--replace-message" in steps and "--filename-callback" in steps and "update-ref --stdin" in steps
    assert (prepared(root) / "refs.txt").read_text() == f"delete refs/heads/wip/{TOKEN}\n"


def test_the_refs_of_kb_and_what_no_ref_reaches(root: Path) -> None:
    old = commit(root, "a.md", f"a {TOKEN}")
    git(root, "update-ref", "refs/kb/inbox", old)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert found(root)["refs"] == ["refs/kb/inbox"]
    git(root, "update-ref", "-d", "refs/kb/inbox")
    assert found(root)["refs"] == [] and found(root)["hits"]
    git(root, "reflog", "expire", "--expire=now", "--all")
    assert [hit["commits"] for hit in found(root)["hits"]] == [[]]  # type: ignore[index]
    git(root, "gc", "--quiet", "--prune=now")
    assert purge(root, code=0)


def test_what_is_only_staged_or_stashed(root: Path) -> None:
    (root / "a.md").write_text(TOKEN, encoding="utf-8")
    git(root, "add", "a.md")
    git(root, "rm", "-q", "--cached", "a.md")
    os.unlink(root / "a.md")
    assert found(root)["hits"]
    commit(root, "b.md", "b")
    (root / "b.md").write_text(TOKEN, encoding="utf-8")
    git(root, "stash")
    assert found(root)["refs"] == ["refs/stash"]


def test_the_state_folder_and_settings_of_git(root: Path) -> None:
    (root / ".kb").mkdir(exist_ok=True)
    (root / ".kb" / "old.json").write_text(json.dumps({"token": TOKEN}), encoding="utf-8")
    git(root, "remote", "add", "origin", f"https://x:{TOKEN}@example.com/a.git")
    seen = found(root)
    assert [Path(str(path)).name for path in seen["state"]] == ["old.json"]
    assert [Path(str(path)).name for path in seen["inside"]] == ["config"]
    assert seen["remotes"] == ["origin"] and "git push --force" not in purge(root).out


def test_a_packed_history_is_searched_too(root: Path) -> None:
    commit(root, "notes.md", f"one {TOKEN}\n")
    commit(root, "notes.md", "clean\n")
    git(root, "gc", "--quiet")
    assert [hit["path"] for hit in found(root)["hits"]] == ["notes.md"]  # type: ignore[index]


# -- what is prepared -------------------------------------------------------------------------------


def test_what_is_prepared_is_for_its_owner_alone(root: Path) -> None:
    commit(root, "notes.md", f"one {PASSWORD}\n")
    purge(root, PASSWORD)
    folder = prepared(root)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert git(root, "status", "--porcelain") == ""


def test_a_token_needs_not_be_written_down(root: Path) -> None:
    commit(root, "notes.md", f"one {TOKEN}\n")
    ran = purge(root)
    assert TOKEN not in "".join(path.read_text() for path in prepared(root).iterdir())
    rule = (prepared(root) / "replacements.txt").read_text()
    assert rule == "regex:(?<![A-Za-z0-9_-])ghp_[A-Za-z0-9]{36}(?![A-Za-z0-9_-])==>[redacted:purged]\n"
    assert "holds no secret" in ran.out and "clear" not in ran.error


@pytest.mark.parametrize("also", [f"a ghp_{'Q' * 36}", f"x{TOKEN}"])
def test_a_pattern_that_would_do_something_else_is_not_used(root: Path, also: str) -> None:
    commit(root, "notes.md", f"one {TOKEN}\nand {also}\n")
    ran = purge(root)
    assert (prepared(root) / "replacements.txt").read_text() == f"literal:{TOKEN}==>[redacted:purged]\n"
    assert "holds the secret in clear" in ran.out and "clear text" in ran.error


def test_a_password_is_written_down_in_all_its_forms(root: Path) -> None:
    commit(root, "notes.md", f"one {PASSWORD}\n")
    purge(root, PASSWORD)
    rows = (prepared(root) / "replacements.txt").read_text().splitlines()
    assert rows[0] == f"literal:{PASSWORD}==>[redacted:purged]" and any("%2B" in row for row in rows)


def test_a_key_of_many_lines_is_replaced_line_by_line(root: Path) -> None:
    body = made("{pem}", random.Random(33))[0]
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    commit(root, "id", key + "\n")
    purge(root, key)
    rows = (prepared(root) / "replacements.txt").read_text()
    assert all(line in rows for line in body.splitlines()) and "BEGIN" not in rows


def test_the_steps_begin_with_rotating_and_name_everything(root: Path) -> None:
    commit(root, "notes.md", f"one {TOKEN}\n")
    git(root, "remote", "add", "origin", "https://example.com/a.git")
    steps = purge(root).out
    order = [
        "Rotate it first", "https://github.com/settings/tokens", "nobody pushes", "git filter-repo --force",
        "git reflog expire", "git gc --prune=now", "new clone", "git push --force --all origin", "Forks",
        "garbage collection", "take both away", "purge-secret again",
    ]  # fmt: skip
    places = [steps.index(words) for words in order]
    assert places == sorted(places)
    assert "None of the commands below has been run" in steps
    assert (prepared(root) / "steps.md").read_text().strip() in steps


def test_nothing_is_run(root: Path) -> None:
    commit(root, "notes.md", f"one {TOKEN}\n")
    before = (git(root, "for-each-ref"), git(root, "reflog"), (root / "notes.md").read_text())
    purge(root)
    assert (git(root, "for-each-ref"), git(root, "reflog"), (root / "notes.md").read_text()) == before


def test_in_chinese(root: Path) -> None:
    with open(root / "kb.toml", "a", encoding="utf-8") as file:
        file.write('\nlanguage = "zh"\n')
    commit(root, "notes.md", f"one {TOKEN}\n")
    ran = purge(root)
    assert "先作废并更换" in ran.out and "下面的命令一条都没有运行过" in ran.out and "Rotate" not in ran.out
    assert "已准备在" in ran.error


# -- how the secret is given ------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(TOKEN,), ("--secret", TOKEN), (f"--{TOKEN}",)])
def test_the_command_line_takes_no_secret(root: Path, words: tuple[str, ...]) -> None:
    ran = run(root, "purge-secret", *words, stdin=b"")
    assert ran.code == 2 and "shell's history" in ran.error
    assert TOKEN not in ran.out + ran.error


@pytest.mark.parametrize("secret", ["", "abc", "\n\n", "hello"])
def test_a_word_is_no_secret(root: Path, secret: str) -> None:
    ran = run(root, "purge-secret", stdin=secret.encode())
    assert ran.code == 1 and "6" in ran.error


def test_typed_in_it_is_not_echoed(root: Path) -> None:
    """On a real terminal, which would show what is typed if it were not told otherwise."""
    commit(root, "notes.md", f"one {TOKEN}\n")
    master, slave = pty.openpty()
    code = "from kb.cli import main; main()"
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$0" "$@" <"$TERMINAL" >"$TERMINAL" 2>&1', sys.executable, "-c", code, "purge-secret"],
        cwd=root, env={**os.environ, "TERMINAL": os.ttyname(slave)}, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while termios.tcgetattr(slave)[3] & termios.ECHO and time.monotonic() < end:
        time.sleep(0.01)
    os.write(master, f"{TOKEN}\n".encode())
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # that is how the end of a terminal looks
        while select.select([master], [], [], max(end - time.monotonic(), 0))[0]:
            shown += os.read(master, 65536)
    os.close(master)
    assert process.wait(60) == 5
    assert b"not shown" in shown and b"Rotate it first" in shown and TOKEN.encode() not in shown
