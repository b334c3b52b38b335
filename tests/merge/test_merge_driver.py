"""Merging records with real git: the installed driver, what git does without it, and how a clone gets it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kb.git.repository import Repository
from kb.knowledge_base import make
from kb.records.blocks import append_to_section
from kb.records.front_matter import edit_front_matter, parse_front_matter
from kb.records.model import Record, Section
from kb.records.record_file import read, render
from kb.writing import init_base
from kb.writing.init_base import ATTRIBUTES
from tests.support.command_line import run
from tests.support.sealed import git

KB = str(Path(sys.executable).parent / "kb")
RECORD = Record(
    "D001", "decision", "订单使用 PostgreSQL", "global", "accepted", "01UID", "2026-01-02", tags=("db",),
    sections=(Section("decision", "", "Orders live in PostgreSQL."), Section("why", "", "It has transactions.")),
    user="note\n",
)  # fmt: skip
NAME = "content/anchors/global/D001-订单使用 postgresql.md"


@pytest.fixture
def shared(root: Path) -> Path:
    """A knowledge base with one record and a branch `other` at the same commit."""
    path = root / NAME
    path.write_text(render(RECORD), encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Record")
    git(root, "branch", "other")
    return root


def commit(root: Path, branch: str, text: str, name: str = NAME) -> None:
    """Commit *text* as the record on *branch*."""
    git(root, "switch", "-q", branch)
    (root / name).write_text(text, encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", f"Edit on {branch}")


def tried(root: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run git in *root*, whatever comes of it."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def noted(tags: list[str], note: str, text: str | None = None) -> str:
    """Return the record with other tags and one more note."""
    return append_to_section(edit_front_matter(text or render(RECORD), {"tags": tags}), "additions", note)


def contradicted(root: Path) -> None:
    """Give the record two titles."""
    commit(root, "other", render(RECORD).replace("PostgreSQL\nstatus", "MySQL\nstatus"))
    commit(root, "main", render(RECORD).replace("PostgreSQL\nstatus", "SQLite\nstatus"))


# -- merges ----------------------------------------------------------------------------------------


def test_both_sides_facts_are_merged(shared: Path) -> None:
    commit(shared, "other", noted(["db", "报表"], "- 2026-02-01 (a): Reports use a replica."))
    commit(shared, "main", noted(["db", "backup"], "- 2026-02-03 (b): 备份在夜里。"))
    git(shared, "merge", "-q", "--no-edit", "other")
    record = read((shared / NAME).read_bytes())
    assert set(record.tags) == {"db", "backup", "报表"}
    assert record.section("additions").splitlines() == [
        "- 2026-02-01 (a): Reports use a replica.",
        "- 2026-02-03 (b): 备份在夜里。",
    ]
    assert git(shared, "status", "--porcelain") == ""


def test_a_contradiction_stops_the_merge_and_names_file_and_place(shared: Path) -> None:
    contradicted(shared)
    done = tried(shared, "merge", "other")
    text = (shared / NAME).read_text(encoding="utf-8")
    assert done.returncode == 1
    assert f"kb: {NAME}: front, title: both sides changed it; put the right value into the front matter" in done.stderr
    assert "git add" in done.stderr
    assert "<<<<<<< ours\ntitle: 订单使用 SQLite\n=======\ntitle: 订单使用 MySQL\n>>>>>>> theirs\n" in text
    assert parse_front_matter(text)["title"] == "订单使用 PostgreSQL"
    assert git(shared, "status", "--porcelain", "-z") == f"UU {NAME}\0"
    assert git(shared, "show", f":1:{NAME}") == render(RECORD)
    git(shared, "merge", "--abort")


def test_the_words_are_chinese_where_the_knowledge_base_is(shared: Path) -> None:
    (shared / "kb.toml").write_text('language = "zh"\n', encoding="utf-8")
    git(shared, "commit", "-qam", "Speak Chinese")
    git(shared, "branch", "-f", "other")
    contradicted(shared)
    assert "frontmatter 的 title：两边都改了；请把成立的一个写进 frontmatter" in tried(shared, "merge", "other").stderr


def test_a_removal_is_told_where_nothing_conflicts(shared: Path) -> None:
    commit(shared, "other", render(RECORD).replace("## Why\n\nIt has transactions.\n", ""))
    commit(shared, "main", noted(["db", "x"], "- 2026-02-01 (a): One."))
    done = tried(shared, "merge", "--no-edit", "other")
    assert done.returncode == 0
    assert f"kb: {NAME}: theirs removed the section Why" in done.stderr
    assert "## Why" not in (shared / NAME).read_text(encoding="utf-8")


def test_picking_a_commit_twice_adds_its_facts_once(shared: Path) -> None:
    heard = {"occurrences": 2, "sources": ["claude/s1"]}
    commit(shared, "other", edit_front_matter(noted(["db", "x"], "- 2026-02-01 (a): One."), heard))
    commit(shared, "main", noted(["db", "y"], "- 2026-02-03 (b): Two."))
    git(shared, "cherry-pick", "other")
    picked = (shared / NAME).read_bytes()
    record = read(picked)
    assert (record.occurrences, set(record.tags)) == (2, {"db", "x", "y"})
    git(shared, "merge", "-q", "--no-edit", "other")
    assert (shared / NAME).read_bytes() == picked
    git(shared, "merge", "-q", "--no-edit", "other")
    assert (shared / NAME).read_bytes() == picked


def test_a_rebase_keeps_the_facts_of_every_commit(shared: Path) -> None:
    text = noted(["db", "x"], "- 2026-02-01 (a): One.")
    commit(shared, "other", text)
    commit(shared, "other", noted(["db", "x", "z"], "- 2026-02-02 (a): 二。", text))
    commit(shared, "main", noted(["db", "y"], "- 2026-02-03 (b): Two."))
    git(shared, "rebase", "-q", "main", "other")
    record = read((shared / NAME).read_bytes())
    assert set(record.tags) == {"db", "x", "y", "z"}
    assert record.section("additions").count("- 2026-02-0") == 3


def test_histories_that_crossed_are_merged(shared: Path) -> None:
    """Two common ancestors, in conflict with each other: git merges them first, and its outcome is our base."""
    contradicted(shared)
    for branch, other in (("main", "other"), ("other", "main~1")):
        git(shared, "switch", "-q", branch)
        assert tried(shared, "merge", "--no-commit", other).returncode == 1
        settled = edit_front_matter(render(RECORD), {"title": "订单使用 MySQL", "tags": ["db", branch]})
        (shared / NAME).write_text(settled, encoding="utf-8")
        git(shared, "commit", "-qam", "Decide for MySQL")
    git(shared, "switch", "-q", "main")
    assert len(git(shared, "merge-base", "--all", "main", "other").split()) == 2
    git(shared, "merge", "-q", "--no-edit", "other")
    record = read((shared / NAME).read_bytes())
    assert (record.title, set(record.tags)) == ("订单使用 MySQL", {"db", "main", "other"})


def test_a_record_that_both_added_is_one_or_shown_as_two(shared: Path) -> None:
    name = "content/anchors/global/D002-x.md"
    same = render(RECORD._replace(id="D002", uid="02UID"))
    commit(shared, "other", edit_front_matter(same, {"tags": ["a"]}), name)
    commit(shared, "main", edit_front_matter(same, {"tags": ["b"]}), name)
    git(shared, "merge", "-q", "--no-edit", "other")
    assert read((shared / name).read_bytes()).tags == ("a", "b")
    third = "content/anchors/global/D003-x.md"
    commit(shared, "other", same.replace("02UID", "03UID"), third)
    commit(shared, "main", same.replace("02UID", "04UID"), third)
    done = tried(shared, "merge", "other")
    assert done.returncode == 1
    assert "two records stand under one name" in done.stderr


def test_kb_accepts_a_review_that_only_lines_would_keep_from_merging(root: Path) -> None:
    first = ("--kind", "decision", "--title", "Use PostgreSQL for orders", "--decision", "Orders live in PostgreSQL",
             "--why", "It has transactions and we run it already", "--area", "architecture")  # fmt: skip
    whole = ("--alternatives", "None we run.", "--impact", "src/orders.py", "--verification", "Run the tests.",
             "--rollback", "Restore the dump.")  # fmt: skip
    other = [word.replace("PostgreSQL", "MongoDB").replace("It has transactions", "No schema") for word in first]
    assert run(root, "write", *first).code == 0
    assert run(root, "write", *other, *whole).code == 4
    path = root / "content/anchors/global/D001-use-postgresql-for-orders.md"
    path.write_bytes(path.read_bytes().replace(b"status: proposed", b"status: accepted"))
    git(root, "commit", "-qam", "Accept by hand")
    assert run(root, "review", "accept", "D002", "--yes").code == 0
    assert read(path.read_bytes()).status == "superseded"


# -- what must not happen --------------------------------------------------------------------------


def both_moved(shared: Path) -> None:
    """Let both sides change the same row."""
    commit(shared, "other", render(RECORD).replace("transactions", "real transactions"))
    commit(shared, "main", render(RECORD).replace("transactions", "all transactions"))


@pytest.mark.parametrize(
    ("program", "says"),
    [("#!/bin/sh\nexit 1\n", ""), ("#!/bin/sh\nkill -9 $$\n", ""), ("#!/no/such/python\n", "not found"), (None, "kb")],
    ids=["crashed", "killed", "broken", "gone"],
)
def test_where_kb_does_not_run_git_merges_lines_and_no_side_is_taken(
    shared: Path, tmp_path: Path, program: str | None, says: str
) -> None:
    both_moved(shared)
    path = tmp_path / "100% kb"
    if program:
        path.write_text(program)
        path.chmod(0o755)
    git(shared, "config", "merge.kb.driver", init_base.build_driver_command(str(path)))
    done = tried(shared, "merge", "other", PATH="/usr/bin:/bin")
    text = (shared / NAME).read_text(encoding="utf-8")
    assert done.returncode == 1
    assert says in done.stderr
    assert "<<<<<<< ours\nIt has all transactions.\n=======\nIt has real transactions.\n>>>>>>> theirs\n" in text


def test_without_kb_lines_that_merge_are_merged(shared: Path) -> None:
    commit(shared, "other", render(RECORD).replace("note", "my note"))
    commit(shared, "main", render(RECORD).replace("accepted", "deprecated"))
    git(shared, "config", "merge.kb.driver", init_base.build_driver_command("/no/such/kb"))
    done = tried(shared, "merge", "--no-edit", "other", PATH="/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert (shared / NAME).read_text(encoding="utf-8") == (
        render(RECORD).replace("note", "my note").replace("accepted", "deprecated")
    )


def three_files(folder: Path, base: str, ours: str, theirs: str) -> list[str]:
    for name, text in zip("OAB", (base, ours, theirs), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in "OAB"]


def test_an_error_leaves_the_file_and_says_so_with_a_code_above_128(tmp_path: Path) -> None:
    names = three_files(tmp_path, render(RECORD), noted(["a"], "- x"), noted(["b"], "- y"))
    os.unlink(names[2])
    ran = run(tmp_path, "merge-driver", *names, NAME)
    assert ran.code > 128
    assert "FileNotFoundError" in ran.error
    assert (tmp_path / "A").read_text(encoding="utf-8") == noted(["a"], "- x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A", "O"]


def test_a_file_that_cannot_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = three_files(tmp_path, render(RECORD), noted(["a"], "- x"), noted(["b"], "- y"))
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert run(tmp_path, "merge-driver", *names, NAME).code > 128
    assert (tmp_path / "A").read_text(encoding="utf-8") == noted(["a"], "- x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A", "B", "O"]


def test_it_merges_anywhere_and_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    names = three_files(tmp_path, render(RECORD), noted(["a"], "- x"), noted(["b"], "- y"))
    os.chmod(names[1], 0o640)
    done = subprocess.run([KB, "merge-driver", *names, NAME], cwd="/", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        b"",
        b"kb: " + NAME.encode() + b": ours + theirs removed db from tags\n",
    )
    assert read((tmp_path / "A").read_bytes()).tags == ("a", "b")
    assert os.stat(names[1]).st_mode & 0o777 == 0o640


def test_it_loads_no_knowledge_base() -> None:
    code = (
        "import sys; sys.argv[1:] = ['merge-driver', '--help']\n"
        "import atexit; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "import kb.merge.merge_record; from kb.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "kb.cli.sync_commands" in loaded
    assert not [name for name in loaded if name.startswith(("kb.knowledge_base", "kb.store", "sqlite3", "git."))]


# -- how a clone gets it ---------------------------------------------------------------------------


def test_init_installs_the_driver_and_commits_the_rule(root: Path) -> None:
    repository = Repository(str(root), os.environ)
    assert init_base.is_driver_installed(repository)
    assert init_base.read_merge_attribute(repository) == "kb"
    assert init_base.is_driver_working(repository, os.environ)
    assert (root / ATTRIBUTES).read_bytes() == b"* -text\nanchors/**/*.md merge=kb\n"
    assert git(root, "check-attr", "merge", "content/sessions/x/compact.md").endswith(": merge: unspecified\n")
    assert not os.listdir(repository.private) or "driver" not in " ".join(os.listdir(repository.private))


def test_a_clone_without_the_driver_is_known_and_gets_it(shared: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(shared), "clone")
    repository = Repository(str(tmp_path / "clone"), os.environ)
    assert (init_base.is_driver_installed(repository), init_base.read_merge_attribute(repository)) == (False, "kb")
    init_base.install_driver(repository)
    before = (tmp_path / "clone" / ".git" / "config").read_bytes()
    init_base.install_driver(repository)
    assert init_base.is_driver_installed(repository)
    assert (tmp_path / "clone" / ".git" / "config").read_bytes() == before
    git(tmp_path / "clone", "config", "merge.kb.driver", init_base.build_driver_command("/another/kb"))
    assert not init_base.is_driver_installed(repository)


def test_a_linked_work_tree_has_the_driver_of_its_clone(shared: Path, tmp_path: Path) -> None:
    git(shared, "worktree", "add", "-q", str(tmp_path / "tree"), "other")
    assert init_base.is_driver_installed(Repository(str(tmp_path / "tree"), os.environ))


def test_a_driver_that_does_not_merge_is_found_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(str(root), os.environ)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert not init_base.is_driver_working(repository, {**os.environ, "PATH": "/usr/bin:/bin"})
    assert init_base.build_own_command().startswith("kb=kb;")
    assert init_base.is_driver_working(repository, {**os.environ, "PATH": f"{Path(KB).parent}:/usr/bin:/bin"})


def without_rule(root: Path, attributes: bytes) -> None:
    """Make *root* a knowledge base of an earlier kb."""
    (root / ATTRIBUTES).write_bytes(attributes)
    git(root, "config", "--remove-section", "merge.kb")
    git(root, "commit", "-qam", "As it was")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"* -text\n", b"* -text\nanchors/**/*.md merge=kb\n"),
        (
            b"* -text\r\n# \xe5\x85\xb6\xe4\xbb\x96",
            b"* -text\r\n# \xe5\x85\xb6\xe4\xbb\x96\r\nanchors/**/*.md merge=kb\r\n",
        ),
        (b"", b"anchors/**/*.md merge=kb\n"),
        (b"anchors/** merge=union\n", b"anchors/** merge=union\n"),
        (b"anchors/** -merge\n", b"anchors/** -merge\n"),
    ],
)
def test_init_completes_an_earlier_knowledge_base(root: Path, before: bytes, after: bytes) -> None:
    without_rule(root, before)
    kb, files = make(str(root), os.environ)
    kb.close()
    assert files == ([ATTRIBUTES] if before != after else [])
    assert (root / ATTRIBUTES).read_bytes() == after
    assert git(root, "status", "--porcelain") == ""
    assert init_base.is_driver_installed(Repository(str(root), os.environ))
    kb, files = make(str(root), os.environ)
    kb.close()
    assert files == []


def test_init_leaves_what_a_person_has_in_hand(root: Path) -> None:
    without_rule(root, b"* -text\n")
    (root / ATTRIBUTES).write_bytes(b"# mine\n* -text\n")
    git(root, "add", ATTRIBUTES)
    (root / ATTRIBUTES).write_bytes(b"# mine, too\n* -text\n")
    make(str(root), os.environ)[0].close()
    assert git(root, "show", f"HEAD:{ATTRIBUTES}") == "* -text\nanchors/**/*.md merge=kb\n"
    assert git(root, "show", f":{ATTRIBUTES}").startswith("# mine\n")
    assert (root / ATTRIBUTES).read_bytes().startswith(b"# mine, too\n")


def test_init_takes_no_file_that_is_not_committed(tmp_path: Path) -> None:
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(code))
    (code / "content").mkdir()
    (code / ATTRIBUTES).write_bytes(b"*.png binary\n")
    make(str(code), os.environ, inside=True)[0].close()
    assert (code / ATTRIBUTES).read_bytes() == b"*.png binary\n"
    assert ATTRIBUTES not in git(code, "ls-files").splitlines()


def test_records_of_a_knowledge_base_inside_another_repository_merge(tmp_path: Path) -> None:
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(code))
    make(str(code / "docs" / "kb"), os.environ, inside=True)[0].close()
    name = "docs/kb/" + NAME
    commit(code, "main", render(RECORD), name)
    git(code, "branch", "other")
    commit(code, "other", noted(["a"], "- 2026-01-02 (x): x"), name)
    commit(code, "main", noted(["b"], "- 2026-01-01 (y): y"), name)
    git(code / "docs", "merge", "-q", "--no-edit", "other")
    assert read((code / name).read_bytes()).tags == ("a", "b")
    shutil.rmtree(code)
