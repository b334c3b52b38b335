"""What a repository names is not run: hooks, settings and attributes of a repository that came from elsewhere.

Every trap is shown to work first, with git itself as a person would call it; then kb does everything it can.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kb
from kb import doctor
from kb.errors import GitFailed
from kb.git.git_process import COMMANDS, SETTINGS
from kb.git.repository import Repository
from kb.knowledge_base import KnowledgeBase, make
from tests.support.clones import DJANGO, FASTAPI, FLASK, SMALL, commits, committed, decision, one
from tests.support.sealed import Clock, git
from tests.support.traps import QUIET, RECORD, TRAPS, Trap, merge_driver, own_merge_driver, users_own


@pytest.fixture
def trap(root: Path, tmp_path: Path) -> Trap:
    """A trap for a fresh knowledge base."""
    return Trap(root, tmp_path / "elsewhere")


def everything(root: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Do whatever kb can do in the repository *root* and return the words of each write."""
    said: list[str] = []
    environment = environment or dict(os.environ)
    made, _ = make(str(root), environment)
    made.close()
    with KnowledgeBase(str(root), environment, Clock()) as kb:
        said += [one(kb, candidate).verdict for candidate in (FASTAPI, decision(0), SMALL)]
        said.append(one(kb, decision(0, why="The deadline of the nightly export is two hours.", session="s2")).verdict)
        flask = one(kb, FLASK)
        said.append(flask.verdict)
        kb.sides(flask.id)
        by_hand(root)
        said.append(kb.accept(flask.id).verdict)
        kb.reject(one(kb, DJANGO).id)
        kb.recall("gateway"), kb.records(), kb.held(), kb.check()
        kb.log("D001"), kb.patches("D001"), kb.history("D001")
        kb.drop(kb.held()[0].name)
        kb.confirm("D001")
        update = decision(0, updates="D002", decision="The gateway has one deadline for all.", session="s3")
        said.append(one(kb, update).verdict)
    (root / ".kb" / "index.db").unlink()
    with KnowledgeBase(str(root), environment, Clock()) as kb:
        kb.records()
    doctor.run_checks(str(root), str(root), environment)
    return said


def by_hand(root: Path) -> None:
    """Commit what both sides of a merge have to be read for."""
    record = root / RECORD
    record.write_text(record.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n"))
    git(root, *QUIET, "commit", "-qm", "By hand", "--", RECORD)


GOOD = ["created", "created", "held", "appended", "conflict", "updated", "updated"]


def test_every_command_and_setting_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "git.md").read_text(encoding="utf-8")
    rows = page.partition("| git command |")[2].partition("\n\n")[0].splitlines()[2:]
    told = {name: row.split("|")[3] for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    assert set(told) == set(COMMANDS) | GITPYTHON
    assert all(" ".join(options) in told[name] for name, options in COMMANDS.items())
    assert all(f"`{key}={value}`" in page for key, value in SETTINGS)


GITPYTHON = {"rev-list", "version"}


def called(tree: ast.AST) -> Iterator[str]:
    """Yield the git commands that a module names: in a call of git's, or in a list that begins with git."""
    for node in ast.walk(tree):
        words: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Attribute) and node.func.value.attr == "git":
                yield from {node.func.attr.replace("_", "-")} & KNOWN
            elif node.func.attr in ("git", "start", "output", "_update"):
                first = node.args[0] if node.args else None
                words = first.elts if isinstance(first, ast.List | ast.Tuple) else node.args
        elif isinstance(node, ast.List | ast.Tuple) and node.elts:
            first = node.elts[0]
            words = node.elts if isinstance(first, ast.Constant) and first.value in (*COMMANDS, "git", "-c") else []
        named = [word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        names = [word for word in named if word in KNOWN]
        yield from names[:1]


KNOWN = set(subprocess.run(["git", "--list-cmds=main,others"], capture_output=True, text=True).stdout.split())


def test_no_other_command_is_called() -> None:
    found: dict[str, set[str]] = {}
    for path in Path(kb.__file__).parent.rglob("*.py"):
        for name in called(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(name, set()).add(path.name)
    assert set(found) == set(COMMANDS), {name: found[name] for name in set(found) - set(COMMANDS)}


def test_git_starts_no_program(root: Path, tmp_path: Path) -> None:
    """Whatever kb does: the commands are those of the list, and git runs no other program for them."""
    log = tmp_path / "trace"
    assert everything(root, {**os.environ, "GIT_TRACE": str(log)}) == GOOD
    lines = log.read_text().splitlines()
    called = {line.split("built-in: git ")[1].split()[0] for line in lines if "trace: built-in: git " in line}
    assert called <= set(COMMANDS) | GITPYTHON
    started = [line.split("run_command: ")[1] for line in lines if "run_command: " in line]
    assert not [line for line in started if line.strip("' ") != "true"], "which stands for a merge that kb does itself"


@pytest.mark.parametrize("vector", [merge_driver, own_merge_driver])
def test_a_merge_is_gits_own_where_only_the_repository_names_another(
    root: Path, trap: Trap, vector: Callable[[Trap], None]
) -> None:
    """Of lines that both sides changed it says so, and of others it makes one file, never one side's."""
    vector(trap)
    repository = Repository(str(root), os.environ)
    assert repository.run_git(["merge-tree", "--write-tree", "main", "side"]).code == 1
    lines = [f"{n}\n" for n in range(9)]
    for branch, number in (("main", 0), ("side", 8)):
        git(root, "switch", "-q", branch)
        changed = [*lines[:number], "changed\n", *lines[number + 1 :]]
        (root / "both.toml").write_text("".join(lines))
        git(root, "commit", "-qam", "Lines")
        (root / "both.toml").write_text("".join(changed))
        git(root, "commit", "-qam", "Changed")
    base, *sides = (git(root, "rev-parse", name).strip() for name in ("main~1", "main", "side"))
    joined = git(root, "commit-tree", f"{sides[1]}^{{tree}}", "-p", base, "-m", "Side").strip()
    tree = repository.git("merge-tree", "--write-tree", sides[0], joined).decode().strip()
    assert git(root, "show", f"{tree}:both.toml") == "".join(["changed\n", *lines[1:8], "changed\n"])
    assert trap.was_run() == ""


@pytest.mark.parametrize("vector", TRAPS)
def test_what_a_repository_names_is_not_run(root: Path, trap: Trap, vector: Callable[[Trap], None]) -> None:
    vector(trap)
    assert everything(root) == GOOD
    Repository(str(root), os.environ).git("diff", git(root, *QUIET, "rev-list", "--max-parents=0", "HEAD").strip())
    assert trap.was_run() == ""
    assert git(root, *QUIET, "fsck", "--strict", "--no-dangling") == ""


# -- filters: what cannot be switched off without a loss is refused ---------------------------------


@pytest.mark.parametrize("name", ["clean", "process"])
def test_a_record_that_should_pass_a_filter_only_the_repository_defines_is_not_stored(
    root: Path, trap: Trap, name: str
) -> None:
    trap.attribute("content/**/*.md filter=trap")
    trap.setting(f"filter.trap.{name}")
    trap.works("hash-object", "--path", RECORD, "kb.toml")
    before = commits(root)
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert (verdict.verdict, verdict.spooled, commits(root)) == ("held", True, before)
        assert "filter 'trap'" in verdict.reasons[0] and "git config --global filter" in verdict.next
        kb.records(), kb.check(), doctor.run_checks(str(root), str(root), os.environ)
    assert trap.was_run() == "" and git(root, "status", "--porcelain") == ""


def test_a_review_is_merged_by_kb_whatever_stands_in_its_place(root: Path, trap: Trap) -> None:
    """What both sides changed next to each other only kb can join, by fields."""
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        one(kb, FASTAPI)
        branch = one(kb, FLASK).branch
        record = root / RECORD
        lines = record.read_text().splitlines(keepends=True)
        at = next(number for number, line in enumerate(lines) if line.startswith("status:"))
        record.write_text("".join([*lines[: at + 1], "owner: me\n", *lines[at + 1 :]]))
        git(root, "commit", "-qm", "By hand", "--", RECORD)
        trap.setting("merge.kb.driver")
        trap.works("merge-tree", "--write-tree", "main", branch)
        assert kb.accept(branch).verdict == "updated"
    assert trap.was_run() == ""
    assert {"status: superseded", "owner: me"} <= set((root / RECORD).read_text().splitlines())


@pytest.mark.parametrize("name", ["clean", "process"])
def test_a_filter_of_the_users_own_is_run(root: Path, trap: Trap, name: str) -> None:
    """Also where the repository has another by the same name, as `git lfs install --local` leaves one."""
    trap.attribute("content/**/*.md filter=mine")
    trap.setting(f"filter.mine.{name}")
    trap.setting("filter.mine.required", "true")
    with KnowledgeBase(str(root), users_own(trap, filter__mine__clean="tr a-z A-Z"), Clock()) as kb:
        verdict = one(kb, FASTAPI)
        if name == "process":
            assert verdict.spooled, "git would run the other kind of filter, so neither is"
            git(root, "config", "--unset", "filter.mine.process")
            kb.land()
    assert trap.was_run() == "" and "THE BACKEND USES FASTAPI" in git(root, "show", f"HEAD:{RECORD}")


def test_files_that_should_pass_a_filter_only_the_repository_defines_are_not_checked_out(
    root: Path, trap: Trap
) -> None:
    trap.attribute("*.txt filter=trap")
    (root / "code.txt").write_text("x\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", "Code")
    trap.setting("filter.trap.smudge")
    (root / "code.txt").unlink()
    trap.works("checkout", "--", "code.txt")
    with pytest.raises(GitFailed, match=re.escape("filter.trap")):
        Repository(str(root), os.environ).run_git(["read-tree", "-m", "-u", "HEAD~1", "HEAD"])
    own = users_own(trap, filter__trap__smudge="cat")
    assert Repository(str(root), own).run_git(["read-tree", "-m", "-u", "HEAD", "HEAD"]).code == 0
    assert trap.was_run() == ""


def test_a_filter_in_a_repository_of_somebody_else(root: Path, trap: Trap) -> None:
    """git checks the owner where it has to look for the repository, and not where it is told."""
    trap.attribute("content/**/*.md filter=trap")
    trap.setting("filter.trap.clean")
    with KnowledgeBase(str(root), {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert verdict.spooled and "safe.directory" in verdict.next
        assert kb.records() == []
    assert trap.was_run() == ""


# -- signing --------------------------------------------------------------------------------------

SIGNER = """#!/bin/sh
cat >/dev/null
echo "$0" >> {mark}
echo "
[GNUPG:] SIG_CREATED " >&2
echo '-----BEGIN PGP SIGNATURE-----'
echo made-up
echo '-----END PGP SIGNATURE-----'
"""


def signer(trap: Trap) -> Path:
    """Make a program that signs, as the user's own."""
    path = trap.place / "signer"
    path.write_text(SIGNER.format(mark=shlex.quote(str(trap.place / "signed"))))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("key", ["gpg.program", "gpg.openpgp.program"])
def test_what_signs_is_the_users_to_say(root: Path, trap: Trap, key: str) -> None:
    trap.setting(key)
    git(root, "config", "commit.gpgSign", "true")
    trap.works("commit-tree", "-S", "-m", "x", "HEAD^{tree}")
    environment = users_own(trap, gpg__program=str(signer(trap)), commit__gpgSign="true")
    with KnowledgeBase(str(root), environment, Clock()) as kb:
        assert one(kb, FASTAPI).verdict == "created"
    assert "gpgsig" in git(root, "cat-file", "commit", "HEAD")
    assert trap.was_run() == "" and (trap.place / "signed").exists()


def test_what_signs_with_a_key_of_ssh_is_gits_own(root: Path, trap: Trap) -> None:
    key = trap.place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    trap.setting("gpg.ssh.program")
    environment = users_own(trap, gpg__format="ssh", user__signingKey=str(key), commit__gpgSign="true")
    trap.works("commit-tree", "-S", "-m", "x", "HEAD^{tree}", **environment)
    with KnowledgeBase(str(root), environment, Clock()) as kb:
        assert one(kb, FASTAPI).verdict == "created"
    assert trap.was_run() == "" and "gpgsig -----BEGIN SSH" in git(root, "cat-file", "commit", "HEAD")


@pytest.mark.parametrize("key", ["gpg.ssh.program", "gpg.ssh.defaultKeyCommand"])
def test_a_signer_only_the_repository_names_is_not_run(root: Path, trap: Trap, key: str) -> None:
    trap.setting(key)
    for name, value in {"gpg.format": "ssh", "commit.gpgSign": "true"}.items():
        git(root, "config", name, value)
    if key == "gpg.ssh.program":
        git(root, "config", "user.signingKey", "/nowhere/key")
    trap.works("commit-tree", "-S", "-m", "x", "HEAD^{tree}")
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert verdict.spooled and commits(root) == 1
        git(root, "config", "commit.gpgSign", "false")
        assert one(kb, decision(1)).verdict == "created" and len(committed(root)) == 2
    assert trap.was_run() == ""


# -- repositories that are not what they seem -------------------------------------------------------


def test_a_bare_repository_among_the_files_is_not_asked(tmp_path: Path, trap: Trap) -> None:
    """A clone can bring one, settings and all."""
    place = tmp_path / "outer" / "evil"
    git(tmp_path, "init", "-q", "--bare", str(place))
    git(place, "config", "core.bare", "false")
    git(place, "config", "core.worktree", ".")
    git(place, "config", "core.fsmonitor", str(trap.program))
    trap.root = place
    trap.works("status")
    (place / "kb.toml").write_text("")
    (place / "content").mkdir()
    with KnowledgeBase(str(place), os.environ, Clock()) as kb, pytest.raises(GitFailed, match="not in a git"):
        kb.write([FASTAPI], folder=str(place), dry_run=True)
    (place / ".git").mkdir()
    trap.works("status")
    with KnowledgeBase(str(place), os.environ, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert verdict.spooled and "bare repository" in verdict.reasons[0] and kb.records() == []
    assert trap.was_run() == ""


def test_a_broken_repository_is_not_replaced_by_the_one_above(root: Path) -> None:
    """git goes on looking above a `.git` that is none; what kb writes must not land there."""
    inner = root / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "kb.toml").write_text("")
    before = git(root, "for-each-ref")
    with KnowledgeBase(str(inner), os.environ, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert verdict.spooled and "not a git repository" in verdict.reasons[0] and verdict.next
    assert git(root, "for-each-ref") == before and not list(inner.rglob("*.md"))


def test_settings_behind_links_are_the_ones_that_git_reads(root: Path, trap: Trap) -> None:
    """`link/..` is where the link leads, not where it stands."""
    deep = trap.place / "deep" / "down"
    deep.mkdir(parents=True)
    trap.attribute("content/**/*.md filter=trap")
    shutil.copytree(root / ".git", root / "store")
    (root / ".git").rename(trap.place / "deep" / "store")
    (root / "link").symlink_to(deep)
    (root / ".git").write_text("gitdir: link/../store\n")
    trap.setting("filter.trap.clean")
    trap.works("hash-object", "--path", RECORD, "kb.toml")
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        assert one(kb, FASTAPI).spooled
    assert trap.was_run() == ""


def test_a_work_tree_elsewhere_is_refused(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.md").write_text("mine")
    git(root, "config", "core.worktree", str(elsewhere))
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        verdict = one(kb, FASTAPI)
        assert verdict.spooled and "another work tree" in verdict.reasons[0] and "core.worktree" in verdict.next
        git(root, "config", "--unset", "core.worktree")
        assert committed(root) == set() and [one.verdict for one in kb.land()] == ["created"]
    assert git(root, "status", "--porcelain") == "" and [path.name for path in elsewhere.iterdir()] == ["mine.md"]


# -- how git answers ------------------------------------------------------------------------------

TASTES = {
    "i18n.logOutputEncoding": "GBK", "log.showRoot": "false", "log.follow": "true", "grep.patternType": "fixed",
    "trailer.separators": "=", "log.date": "relative", "log.decorate": "full", "color.ui": "always", "core.abbrev": "4",
    "format.pretty": "oneline", "diff.noprefix": "true", "diff.renames": "copies", "diff.relative": "true",
    "core.quotePath": "true", "status.relativePaths": "true", "merge.conflictStyle": "diff3",
    "log.abbrevCommit": "true", "diff.external": "", "core.pager": "false", "log.mailmap": "true",
}  # fmt: skip


def test_what_kb_reads_does_not_depend_on_taste(root: Path) -> None:
    """A number that only the first commit knows, and a review with a commit of a person on top."""
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        one(kb, FASTAPI)
    (root / "kb.toml").write_text('language = "zh"\n')
    shutil.rmtree(root / ".git")
    shutil.rmtree(root / ".kb")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "初始")
    git(root, "rm", "-q", RECORD)
    git(root, "commit", "-qm", "Without it")
    for key, value in TASTES.items():
        git(root, "config", key, value)
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        assert one(kb, FASTAPI).id == "D002"
        branch = one(kb, FLASK._replace(title="用 Flask 作后端框架")).branch
        git(root, "switch", "-q", branch)
        git(root, "commit", "-q", "--allow-empty", "-m", "Theirs")
        git(root, "switch", "-q", "main")
        (review,) = kb.reviews()
        sides = kb.sides(review.branch)
        assert "声明 backend.framework" in sides.reasons
        assert "+status: superseded" in sides.diff
        assert kb.accept(review.branch).verdict == "updated"
        assert [change.operation for change in kb.log("D002")][-1] == "created"
        assert "+status: superseded" in kb.patches("D002") and kb.check() == []
