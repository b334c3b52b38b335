"""kb beside a person's work: with real git, whatever they are in the middle of."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kb.errors import GitFailed, KbError, NeedsPerson
from kb.git.repository import Repository
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate, Verdict
from kb.writing import pipeline
from tests.support.clones import FASTAPI, WHOLE, child, commits, committed, decision, one, seen
from tests.support.sealed import Clock, git

RECORD = "content/anchors/global/D001-keep-gateway-deadlines-simple.md"


def again(number: int = 0, **changes: object) -> Candidate:
    """Return a candidate that says decision *number* again and adds a fact."""
    fact = "The deadline of the nightly export is two hours."
    return decision(number, why=fact, session="s2", host="test", **changes)


def busy_person(root: Path) -> None:
    """Leave staged, dirty, untracked and stashed work and another branch in a clone."""
    for name in ("one.txt", "two.txt", "three.txt"):
        (root / name).write_text("a\nb\nc\n")
    git(root, "add", "one.txt", "two.txt", "three.txt")
    git(root, "commit", "-qm", "Their work")
    git(root, "branch", "other")
    (root / "one.txt").write_text("stashed\n")
    git(root, "stash", "push", "-q")
    (root / "one.txt").write_text("staged\n")
    git(root, "add", "one.txt")
    git(root, "rm", "-q", "--cached", "three.txt")
    (root / "one.txt").write_text("staged, then edited\n")
    (root / "two.txt").write_text("dirty\n")
    (root / "new.txt").write_text("untracked\n")
    (root / "added.txt").write_text("staged and new\n")
    git(root, "add", "added.txt")


# -- one call, one commit -------------------------------------------------------------------------


def test_one_call_is_one_commit_with_trailers(kb: KnowledgeBase, root: Path) -> None:
    before = commits(root)
    verdicts = kb.write([decision(n, session="s1", host="test") for n in range(3)], folder=str(root))
    assert [v.verdict for v in verdicts] == ["created"] * 3
    assert commits(root) == before + 1
    told = dict(line.split(": ", 1) for line in git(root, "log", "-1", "--format=%(trailers)").splitlines() if line)
    uids = ",".join(verdict.uid for verdict in verdicts)
    assert told == {"Kb-Op": "created", "Kb-Session": "s1", "Kb-Host": "test", "Kb-Uid": uids}
    assert {verdict.commit for verdict in verdicts} == {git(root, "rev-parse", "HEAD").strip()}


def test_a_persons_work_stays_as_it_is(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    busy_person(root)
    before = seen(root)
    one(kb, decision(1))
    one(kb, again())
    assert seen(root) == before
    assert git(root, "fsck", "--strict") == ""


def test_the_next_commit_of_a_person_does_not_undo_anything(kb: KnowledgeBase, root: Path) -> None:
    busy_person(root)
    one(kb, decision(0))
    records = committed(root)
    git(root, "commit", "-qm", "What was staged")
    assert committed(root) == records
    assert git(root, "show", "--name-only", "--format=", "HEAD").split() == ["added.txt", "one.txt", "three.txt"]


# -- the same file --------------------------------------------------------------------------------


def test_edits_elsewhere_in_the_record_are_merged(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    path = root / RECORD
    path.write_text(path.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n"))
    verdict = one(kb, again())
    assert verdict.verdict == "appended"
    assert "mine" in path.read_text() and "nightly export" in path.read_text()
    assert "mine" not in git(root, "show", f"HEAD:{RECORD}")
    assert git(root, "diff", "--stat").count("1 insertion") == 1
    assert kb.records()[0].user.strip() == "mine", "the index shows what stands in the checkout"


def test_an_edit_of_the_same_lines_stays_and_the_tool_asks(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    path = root / RECORD
    mine = path.read_text().replace("date: 2026-11-21\n", "date: 2026-11-21\nowner: me\n")
    path.write_text(mine)
    head = git(root, "rev-parse", "HEAD")
    verdict = one(kb, again())
    assert verdict.verdict == "conflict" and verdict.branch.startswith("kb/review/D001-update")
    assert path.read_text() == mine and git(root, "rev-parse", "HEAD") == head
    assert "nightly export" in git(root, "show", f"{verdict.branch}:{RECORD}")
    assert any("not committed" in reason for reason in verdict.reasons)


def test_what_is_staged_of_the_record_stays_staged_on_top(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    path = root / RECORD
    path.write_text(path.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nstaged\n"))
    git(root, "add", RECORD)
    path.write_text(path.read_text().replace("staged\n", "staged\nand dirty\n"))
    assert one(kb, again()).verdict == "appended"
    changed = [line for line in git(root, "diff", "--cached", "-U0", RECORD).splitlines() if line[:1] in "+-"][2:]
    assert changed == ["+staged"]
    dirty = [line for line in git(root, "diff", "-U0", RECORD).splitlines() if line[:1] in "+-"][2:]
    assert dirty == ["+and dirty"]
    git(root, "commit", "-qm", "Staged")
    assert "nightly export" in git(root, "show", f"HEAD:{RECORD}")


def test_a_staged_edit_of_the_same_lines_makes_the_tool_ask(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    path = root / RECORD
    whole = path.read_text()
    path.write_text(whole.replace("date: 2026-11-21\n", "date: 2026-11-21\nowner: me\n"))
    git(root, "add", RECORD)
    path.write_text(whole)
    before = seen(root)
    assert one(kb, again()).verdict == "conflict"
    assert seen(root) == before


def test_a_file_that_was_deleted_by_hand_stays_deleted(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    kb.records()
    (root / RECORD).unlink()
    verdict = kb.write([again(updates="D001")], folder=str(root))[0]
    assert verdict.verdict == "refused", "the record is not in the checkout"
    assert git(root, "status", "--porcelain") == f" D {RECORD}\n"
    assert one(kb, decision(0)).id == "D002", "its number is not given out again"


def test_a_deletion_between_plan_and_commit_stays(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one(kb, decision(0))
    overtake(monkeypatch, (root / RECORD).unlink)
    verdict = one(kb, again())
    assert verdict.verdict == "appended" and "stays as you have it" in verdict.reasons[-1]
    assert not (root / RECORD).exists() and kb.records() == []
    assert git(root, "status", "--porcelain") == f" D {RECORD}\n"


def test_some_line_ends_of_a_persons_own_stay_as_they_are(kb: KnowledgeBase, root: Path) -> None:
    """What is typed between the USER markers stays byte by byte, though only some of its lines end as on Windows."""
    one(kb, decision(0))
    data = (root / RECORD).read_bytes()
    own = b"<!-- USER_BLOCK_START -->\r\nmine  \r\n```\n<!-- MACHINE_BLOCK_START -->\n```\n\ttab\n"
    (root / RECORD).write_bytes(data.replace(b"<!-- USER_BLOCK_START -->\n", own))
    assert one(kb, again()).verdict == "appended"
    after = (root / RECORD).read_bytes()
    assert own in after and b"nightly" in after and after.count(b"\r\n") == 2
    assert kb.change_status("D001", "deprecated", why="It is over.", decided=True).verdict == "updated"
    assert own in (root / RECORD).read_bytes() and (root / RECORD).read_bytes().count(b"\r\n") == 2


def test_line_ends_that_git_has_changed_are_kept(kb: KnowledgeBase, root: Path) -> None:
    (root / "content" / ".gitattributes").write_text("")
    git(root, "config", "core.autocrlf", "true")
    git(root, "commit", "-qam", "No rule for line ends")
    one(kb, decision(0))
    (root / RECORD).unlink()
    git(root, "checkout", "--", RECORD)
    assert b"\r\n" in (root / RECORD).read_bytes()
    assert one(kb, again()).verdict == "appended"
    data = (root / RECORD).read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") and b"nightly" in data
    assert b"\r" not in subprocess.check_output(["git", "-C", str(root), "show", f"HEAD:{RECORD}"])
    assert git(root, "status", "--porcelain") == ""


# -- what a person is in the middle of ------------------------------------------------------------


def conflict(root: Path) -> None:
    """Make two branches that cannot be merged."""
    (root / "a.txt").write_text("main\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "One side")
    git(root, "switch", "-qc", "side", "HEAD~1")
    (root / "a.txt").write_text("side\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "Other side")
    git(root, "switch", "-q", "main")


def merging(root: Path) -> Callable[[], object]:
    conflict(root)
    subprocess.run(["git", "-C", str(root), "merge", "side"], capture_output=True, check=False)
    return lambda: git(root, "merge", "--abort")


def rebasing(root: Path) -> Callable[[], object]:
    conflict(root)
    subprocess.run(["git", "-C", str(root), "rebase", "side"], capture_output=True, check=False)
    return lambda: git(root, "rebase", "--abort")


def picking(root: Path) -> Callable[[], object]:
    conflict(root)
    subprocess.run(["git", "-C", str(root), "cherry-pick", "side"], capture_output=True, check=False)
    return lambda: git(root, "cherry-pick", "--abort")


def detached(root: Path) -> Callable[[], object]:
    git(root, "switch", "-q", "--detach")
    return lambda: git(root, "switch", "-q", "main")


def locked(root: Path) -> Callable[[], object]:
    lock = root / ".git" / "index.lock"
    lock.touch()
    return lock.unlink


def ref_locked(root: Path) -> Callable[[], object]:
    lock = root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    return lock.unlink


def no_objects(root: Path) -> Callable[[], object]:
    """Put a file where git keeps objects: it cannot write one, as on a read-only disk."""
    folder = root / ".git" / "objects"
    folder.rename(folder.with_name("o"))
    folder.write_text("")
    return lambda: (folder.unlink(), folder.with_name("o").rename(folder))


def no_private_folder(root: Path) -> Callable[[], object]:
    folder = root / ".git" / "kb"
    if folder.exists():
        folder.rename(folder.with_name("k"))
    folder.write_text("")
    return folder.unlink


def no_signature(root: Path) -> Callable[[], object]:
    git(root, "config", "--global", "commit.gpgsign", "true")
    git(root, "config", "--global", "gpg.program", "false")
    return lambda: [git(root, "config", "--global", "--unset", key) for key in ("commit.gpgsign", "gpg.program")]


@pytest.mark.parametrize(
    "trouble",
    [
        merging,
        rebasing,
        picking,
        detached,
        locked,
        ref_locked,
        no_objects,
        no_private_folder,
        no_signature,
    ],
)
def test_what_cannot_be_written_now_is_spooled_and_lands_once(
    kb: KnowledgeBase, root: Path, trouble: Callable[[Path], Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.git.repository.PATIENCE", 0.1)
    monkeypatch.setattr("kb.git.worktree.PATIENCE", 0.1)
    one(kb, decision(0))
    over = trouble(root)
    verdict = one(kb, decision(1))
    assert (verdict.verdict, verdict.spooled) == ("held", True)
    assert any(".kb" in reason for reason in verdict.reasons)
    assert not list((root / "content").rglob("*.tmp"))
    over()
    before = commits(root)
    assert [v.verdict for v in kb.write([decision(2)], folder=str(root))] == ["created"]
    assert commits(root) == before + 2
    assert kb.land() == [] and commits(root) == before + 2
    assert len(committed(root)) == 3 == len({record.id for record in kb.records()})
    assert git(root, "status", "--porcelain") == ""


def test_a_dry_run_spools_nothing(kb: KnowledgeBase, root: Path) -> None:
    detached(root)
    with pytest.raises(KbError):
        kb.write([decision(1)], folder=str(root), dry_run=True)
    assert kb.state.list_spooled() == []


def test_a_state_folder_that_cannot_be_written_is_passed_over(
    kb: KnowledgeBase, root: Path, clock: Clock, sealed: Path
) -> None:
    kb.close()
    state = root / ".kb"
    if state.exists():
        state.rename(root.parent / "aside")
    state.write_text("a file where a folder must be")
    with KnowledgeBase(str(root), os.environ, clock) as other:
        (verdict,) = other.write([decision(1)], folder=str(root))
    assert verdict.spooled and str(sealed) in verdict.reasons[-1]
    assert committed(root) == set()
    state.unlink()
    with KnowledgeBase(str(root), os.environ, clock) as other:
        other.write([decision(2)], folder=str(root))
        assert len(other.records()) == 2 and other.state.list_spooled() == []


def test_a_checkout_that_cannot_be_written_follows_later(kb: KnowledgeBase, root: Path) -> None:
    in_the_way = root / RECORD / "in" / "the" / "way"
    in_the_way.mkdir(parents=True)
    verdict = one(kb, decision(0))
    assert verdict.verdict == "created" and committed(root) == {RECORD}
    assert "the next call tries again" in verdict.reasons[-1]
    assert kb.records() == []
    for folder in (in_the_way, *list(in_the_way.parents)[:3]):
        folder.rmdir()
    assert one(kb, decision(1)).id == "D002"
    assert (root / RECORD).read_text() == git(root, "show", f"HEAD:{RECORD}")
    assert git(root, "status", "--porcelain") == ""


def test_a_file_that_could_not_follow_is_not_forgotten_by_the_next_write(kb: KnowledgeBase, root: Path) -> None:
    """However many calls come in between, whether they change the same record or another, and whatever they fail on."""
    in_the_way = root / RECORD / "in"
    in_the_way.mkdir(parents=True)
    one(kb, decision(0))
    second = root / "content/anchors/global/D002-keep-order-ledger-simple.md"
    (second / "in").mkdir(parents=True)
    assert one(kb, decision(1)).id == "D002"
    assert one(kb, decision(2)).id == "D003"
    git(root, "commit", "-q", "--allow-empty", "-m", "Theirs")
    for folder in (in_the_way, root / RECORD, second / "in", second):
        folder.rmdir()
    one(kb, decision(3))
    assert (root / RECORD).exists() and second.exists()
    assert git(root, "status", "--porcelain") == "" and not (root / ".kb" / "follow.json").exists()


def test_a_record_that_changed_again_while_its_file_could_not_follow(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    path = root / RECORD
    in_the_way = path.with_name(f".kb-{os.getpid()}.tmp")
    in_the_way.mkdir()
    before = path.read_text()
    kb.confirm("D001")
    kb.change_status("D001", "deprecated", decided=True)
    assert path.read_text() == before
    in_the_way.rmdir()
    one(kb, decision(1))
    assert path.read_text() == git(root, "show", f"HEAD:{RECORD}") and "deprecated" in path.read_text()
    assert git(root, "status", "--porcelain") == ""


FULL_DISK = """
import os, resource, signal, sys
from kb.knowledge_base import KnowledgeBase
from tests.support.clones import decision
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
kb = KnowledgeBase(sys.argv[1], os.environ)
try:
    verdict = kb.write([decision(1)], folder=sys.argv[1])[0]
    print(verdict.verdict, verdict.spooled)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("limit", [0, 100, 1_000, 5_000, 40_000])
def test_a_full_disk_leaves_nothing_half_written(kb: KnowledgeBase, root: Path, limit: int) -> None:
    one(kb, decision(0))
    kb.close()
    head = git(root, "rev-parse", "HEAD")
    done = child(FULL_DISK, str(root), str(limit))
    out, error = done.communicate()
    assert done.returncode == 0, error
    assert out.split()[0] in ("Busy", "GitFailed", "held", "created"), out
    with KnowledgeBase(str(root), os.environ) as other:
        assert (git(root, "rev-parse", "HEAD") == head) == (not out.startswith("created"))
        other.write([decision(1), decision(2)], folder=str(root))
        assert sorted(record.title for record in other.records()) == sorted(decision(n).title for n in range(3))
        assert other.check() == []
    assert git(root, "status", "--porcelain") == "" and git(root, "fsck", "--strict") == ""


# -- repositories of all sorts --------------------------------------------------------------------


def test_a_branch_without_commits(root: Path, tmp_path: Path, clock: Clock) -> None:
    place = tmp_path / "fresh"
    (place / "content" / "anchors" / "global").mkdir(parents=True)
    (place / "kb.toml").write_text('name = "fresh"\n')
    git(tmp_path, "init", "-q", "-b", "main", str(place))
    with KnowledgeBase(str(place), os.environ, clock) as kb:
        assert one(kb, decision(0)).verdict == "created"
        assert one(kb, again()).verdict == "appended"
    assert git(place, "status", "--porcelain") == "?? kb.toml\n" and commits(place) == 2


def test_without_a_name(root: Path, clock: Clock) -> None:
    bare = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    git(root, "config", "user.useConfigOnly", "true")
    with KnowledgeBase(str(root), bare, clock) as kb:
        assert one(kb, decision(0)).verdict == "created"
    assert git(root, "log", "-1", "--format=%an <%ae>") == "kb <kb@localhost>\n"


def test_packed_refs(kb: KnowledgeBase, root: Path) -> None:
    one(kb, decision(0))
    one(kb, decision(0)._replace(title="Colour the settings button", impact_areas=(), session="s1"))
    git(root, "pack-refs", "--all", "--prune")
    git(root, "gc", "-q")
    assert one(kb, decision(1)).id == "D002"
    assert len(kb.held()) == 1 and git(root, "fsck", "--strict") == ""


def test_a_symbolic_branch(kb: KnowledgeBase, root: Path) -> None:
    git(root, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    assert Repository(str(root), os.environ).resolve_ref("refs/heads/alias") == git(root, "rev-parse", "HEAD").strip()


def test_sha256(tmp_path: Path, clock: Clock) -> None:
    place = tmp_path / "kb"
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", str(place))
    kb, _ = make(str(place), os.environ)
    with kb:
        assert one(kb, FASTAPI).verdict == "created"
        assert one(kb, FASTAPI._replace(**{"claims": {"backend.framework": "Flask"}, "title": "Choose Flask"})).branch
        assert len(kb.accept("D002").commit) == 64
    assert git(place, "status", "--porcelain") == "" and git(place, "fsck", "--strict") == ""


def test_a_signed_commit(root: Path, tmp_path: Path, clock: Clock) -> None:
    """The repository may ask for a signature; what signs is the user's to say."""
    program = tmp_path / "gpg"
    program.write_text(
        '#!/bin/sh\ncat >/dev/null\necho "\n[GNUPG:] SIG_CREATED " >&2\n'
        "echo '-----BEGIN PGP SIGNATURE-----'\necho made-up\necho '-----END PGP SIGNATURE-----'\n"
    )
    program.chmod(0o755)
    git(root, "config", "commit.gpgsign", "true")
    settings = tmp_path / "settings"
    settings.write_text(f'[gpg]\n\tprogram = "{program}"\n')
    with KnowledgeBase(str(root), {**os.environ, "GIT_CONFIG_GLOBAL": str(settings)}, clock) as kb:
        assert one(kb, decision(0)).verdict == "created"
    assert "gpgsig" in git(root, "cat-file", "commit", "HEAD")


@pytest.mark.parametrize("hook", ["pre-commit", "post-commit", "post-index-change", "reference-transaction"])
def test_a_hook_that_fails_does_not_stop_a_write(kb: KnowledgeBase, root: Path, hook: str) -> None:
    path = root / ".git" / "hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    assert one(kb, decision(0)).verdict == "created"
    path.unlink()
    assert git(root, "status", "--porcelain") == ""


def test_a_repository_of_somebody_else_is_named_with_the_remedy(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    environment = {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    with KnowledgeBase(str(root), environment, clock) as other:
        verdict = one(other, decision(0))
    assert verdict.spooled and "dubious ownership" in verdict.reasons[0] and "safe.directory" in verdict.next
    assert one(kb, decision(1)).verdict == "created" and len(committed(root)) == 2


def test_what_is_no_repository_is_named(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "kb.toml").write_text("")
    with (
        KnowledgeBase(str(tmp_path), os.environ, clock) as kb,
        pytest.raises(GitFailed, match="not in a git repository"),
    ):
        kb.write([decision(0)], folder=str(tmp_path), dry_run=True)


def test_settings_of_an_outer_git_do_not_leak_in(root: Path, tmp_path: Path, clock: Clock) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "outer"))
    outer = {
        "GIT_DIR": str(tmp_path / "outer" / ".git"),
        "GIT_INDEX_FILE": str(tmp_path / "nowhere"),
        "GIT_PREFIX": "x/",
    }
    with KnowledgeBase(str(root), {**os.environ, **outer, "GIT_GLOB_PATHSPECS": "1"}, clock) as kb:
        assert one(kb, decision(0)).verdict == "created"
        assert one(kb, again()).verdict == "appended"
    assert committed(root) == {RECORD}


def test_chinese_stays_chinese_whatever_the_commit_encoding(kb: KnowledgeBase, root: Path) -> None:
    git(root, "config", "i18n.commitEncoding", "GBK")
    one(kb, decision(12))
    assert "时区换算" in git(root, "-c", "i18n.logOutputEncoding=UTF-8", "log", "-1", "--format=%s")


def test_inside_a_code_repository(tmp_path: Path, clock: Clock) -> None:
    code = tmp_path / "Our Shop"
    git(tmp_path, "init", "-q", "-b", "main", str(code))
    (code / ".gitattributes").write_text("*.png binary\n")
    (code / "main.py").write_text("print()\n")
    git(code, "add", ".")
    git(code, "commit", "-qm", "Code")
    (code / "main.py").write_text("dirty\n")
    candidate = FASTAPI._replace(impact=("main.py",))
    kb, files = make(str(code / "docs [kb]"), os.environ, inside=True)
    with kb:
        assert "content/.gitattributes" in files
        assert kb.config.project == "our-shop"
        verdict = one(kb, candidate)
        assert (verdict.verdict, verdict.scope) == ("created", "project/our-shop")
        assert one(kb, candidate._replace(why="Nothing else has typed requests.", session="s9")).verdict == "appended"
        branch = one(kb, candidate._replace(title="Choose Flask", claims={"backend.framework": "Flask"})).branch
        assert [review.branch for review in kb.reviews()] == [branch]
        kb.accept(branch)
        assert {record.status for record in kb.records()} == {"accepted", "superseded"}
        assert kb.check() == []
    assert git(code, "status", "--porcelain") == " M main.py\n"


def test_names_with_glob_characters_are_taken_literally(kb: KnowledgeBase, root: Path) -> None:
    repository = kb.repository
    (root / "a[b].md").write_text("x")
    (root / "ab.md").write_text("y")
    git(root, "add", ".")
    from kb.git import worktree

    assert set(worktree.read_staged_files(repository, repository.head().oid, ["a[b].md"])) == {"a[b].md"}


@pytest.mark.parametrize("place", ["file", "file/below", "file/.."])
def test_a_place_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    if place == "file/..":
        (tmp_path / ".kb").write_text("a file where a folder must be")
    with pytest.raises(KbError):
        make(str(tmp_path / place), os.environ)


def test_making_it_again_completes_it_and_changes_nothing_else(kb: KnowledgeBase, root: Path) -> None:
    (root / "kb.toml").unlink()
    git(root, "rm", "-q", "content/sessions/.gitkeep")
    git(root, "commit", "-qm", "Without")
    _, files = make(str(root), os.environ)
    assert files == ["content/sessions/.gitkeep"], "a file that is only deleted in the checkout is the person's affair"
    assert git(root, "status", "--porcelain") == " D kb.toml\n"
    head = git(root, "rev-parse", "HEAD")
    assert make(str(root), os.environ)[1] == [] and git(root, "rev-parse", "HEAD") == head


# -- races ----------------------------------------------------------------------------------------


def test_a_lost_race_is_run_again_on_the_new_tip(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one(kb, decision(0))
    other = git(root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Somebody was faster").strip()
    overtake(monkeypatch, lambda: git(root, "update-ref", "refs/heads/main", other))
    assert one(kb, decision(1)).verdict == "created"
    assert git(root, "log", "--format=%s", "-3").splitlines()[1] == "Somebody was faster"
    assert git(root, "status", "--porcelain") == ""
    assert len(committed(root)) == 2


def overtake(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Let *meanwhile* happen once to a writer, between reading the tip and publishing."""
    judge, left = pipeline.judge_candidate, [meanwhile]

    def judge_slowly(*given: Any) -> Verdict:
        verdict = judge(*given)
        if left:
            left.pop()()
        return verdict

    monkeypatch.setattr(pipeline, "judge_candidate", judge_slowly)


def test_a_branch_switched_meanwhile_gets_the_commit(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(root, "branch", "feature")
    overtake(monkeypatch, lambda: git(root, "switch", "-q", "feature"))
    one(kb, decision(0))
    assert git(root, "log", "-1", "--format=%s", "main") == "Make a knowledge base\n"
    assert committed(root) == {RECORD} and git(root, "status", "--porcelain") == ""


def test_a_process_that_died_after_publishing_is_made_good(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, sys\nfrom kb.knowledge_base import KnowledgeBase\nfrom kb.git.worktree import CheckoutUpdate\n"
        "from tests.support.clones import decision\nCheckoutUpdate.apply_published = lambda *_: os._exit(9)\n"
        "KnowledgeBase(sys.argv[1], os.environ).write([decision(0)], folder=sys.argv[1])\n"
    )
    done = child(code, str(root))
    _, error = done.communicate()
    assert done.returncode == 9, error
    assert (root / ".git" / "index.lock").exists() and not (root / RECORD).exists()
    monkeypatch.setattr("kb.git.worktree.PATIENCE", 60)
    start = time.monotonic()
    assert one(kb, decision(1)).id == "D002"
    assert time.monotonic() - start < 30, "nobody waits for the dead"
    assert (root / RECORD).exists() and git(root, "status", "--porcelain") == ""


def test_the_number_of_one_that_died_is_not_given_out_again_on_another_branch(kb: KnowledgeBase, root: Path) -> None:
    """Its file has followed, its index has not kept the number, and the person has left the branch."""
    code = (
        "import os, sys\nfrom kb.knowledge_base import KnowledgeBase\nfrom kb.index import record_ids\n"
        "from tests.support.clones import decision\nrecord_ids.save_shared_numbers = lambda *_: os._exit(9)\n"
        "KnowledgeBase(sys.argv[1], os.environ).write([decision(0)], folder=sys.argv[1])\n"
    )
    git(root, "switch", "-qc", "topic")
    done = child(code, str(root))
    _, error = done.communicate()
    assert done.returncode == 9, error
    assert (root / RECORD).exists() and git(root, "status", "--porcelain") == ""
    git(root, "switch", "-q", "main")
    assert one(kb, decision(1)).id == "D002"


def test_the_lock_of_somebody_else_is_respected(kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.git.repository.PATIENCE", 0.1)
    (root / ".git" / "kb-held").touch()
    (root / ".git" / "index.lock").touch()
    assert one(kb, decision(1)).spooled
    assert (root / ".git" / "index.lock").exists()


def test_a_failed_commit_leaves_nothing_for_the_next(kb: KnowledgeBase, root: Path) -> None:
    """A build that got as far as the tree must not show up in the next commit."""
    one(kb, decision(0))
    over = no_signature(root)
    one(kb, decision(1))
    over()
    for path in kb.state.list_spooled():
        os.unlink(path)
    one(kb, decision(2))
    assert len(committed(root)) == 2 and "audit" not in "".join(committed(root))


HOOK = """
import json, os, sys
from tests.support.clones import decision
from kb.records.candidate import candidate_to_json
from kb.hooks import write_candidates
for n in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
    write_candidates(json.dumps(candidate_to_json(decision(n))).encode(), os.environ["KB_HOME"])
"""
"""What so many calls of `kb-hook write` do."""


def test_eight_processes_get_distinct_ids(root: Path, clock: Clock) -> None:
    workers = [child(HOOK, str(n * 5), "5", KB_HOME=str(root)) for n in range(8)]
    out = "".join(worker.communicate()[0] for worker in workers)
    assert all(worker.returncode == 0 for worker in workers)
    assert out.count('"created"') == 40
    names = committed(root)
    assert sorted(name.rpartition("/")[2][:4] for name in names) == [f"D{n:03d}" for n in range(1, 41)]
    assert {str(path.relative_to(root)) for path in root.rglob("content/**/*.md")} == names
    assert git(root, "status", "--porcelain") == "" and git(root, "fsck", "--strict") == ""


def test_a_person_commits_while_kb_writes(root: Path, clock: Clock) -> None:
    """Neither undoes the other, however the two meet."""
    worker = child(HOOK, "0", "6", KB_HOME=str(root))
    number = 0
    while worker.poll() is None:
        number += 1
        (root / "mine.txt").write_text(f"{number}\n")
        subprocess.run(["git", "-C", str(root), "add", "mine.txt"], capture_output=True, check=False)
        subprocess.run(["git", "-C", str(root), "commit", "-qm", f"Mine {number}"], capture_output=True, check=False)
        time.sleep(0.03)
    worker.communicate()
    with KnowledgeBase(str(root), os.environ, clock) as kb:
        kb.land()
        assert len(kb.records()) == 6
    assert len(committed(root)) == 6
    assert git(root, "log", "--diff-filter=D", "--format=%H") == "", "no commit took a record away"


def test_a_write_comes_to_pass_beside_one_who_commits_without_a_rest(kb: KnowledgeBase, root: Path) -> None:
    """A program that commits in a loop is faster than kb can plan: then kb takes git's lock before it plans."""
    loop = "while :; do git commit -q --allow-empty -m More; done 2>/dev/null"
    with subprocess.Popen(["sh", "-c", loop], cwd=root, stdout=subprocess.DEVNULL, start_new_session=True) as person:
        try:
            verdicts = [one(kb, decision(number)) for number in range(3)]
        finally:
            os.killpg(person.pid, signal.SIGKILL)
    assert [verdict.verdict for verdict in verdicts] == ["created"] * 3
    assert not (root / ".git" / "kb-held").exists(), "the lock is let go"


# -- worktrees ------------------------------------------------------------------------------------


def test_linked_worktrees_share_numbers_and_nothing_else(kb: KnowledgeBase, root: Path, clock: Clock) -> None:
    one(kb, decision(0))
    linked = root.parent / "linked"
    git(root, "worktree", "add", "-q", "-b", "feature", str(linked))
    with KnowledgeBase(str(linked), os.environ, clock) as other:
        assert one(other, decision(1), folder=str(linked)).id == "D002"
        assert one(kb, decision(2)).id == "D003"
        assert one(other, decision(3), folder=str(linked)).id == "D004"
        assert one(kb, decision(4)).id == "D005"
    for place, ids in ((root, ["D001", "D003", "D005"]), (linked, ["D001", "D002", "D004"])):
        assert sorted(name.rpartition("/")[2][:4] for name in committed(place)) == ids
        assert git(place, "status", "--porcelain") == ""


def test_a_review_that_is_checked_out_elsewhere_is_not_taken_away(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    branch = one(kb, FASTAPI._replace(title="Choose Flask", claims={"backend.framework": "Flask"})).branch
    git(root, "worktree", "add", "-q", str(root.parent / "looking"), branch)
    for decide in (kb.accept, kb.reject):
        with pytest.raises(NeedsPerson, match="checked out"):
            decide(branch)
    assert WHOLE["why"] in git(root.parent / "looking", "show", "HEAD:" + kb.reviews()[0].path)


def test_a_file_saved_while_the_disk_syncs_keeps_what_was_saved(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kb looks at the file, writes the new one beside it, waits for the disk, and looks again before it renames."""
    path = root / one(kb, decision(0, session="s1", host="test")).path
    real, saved = os.fsync, []

    def fsync(file: int) -> None:
        real(file)
        beside = os.readlink(f"/proc/self/fd/{file}")
        if os.path.dirname(beside) == str(path.parent) and not saved:
            saved.append(beside)
            path.write_text(path.read_text().replace("USER_BLOCK_START -->", "USER_BLOCK_START -->\nMy own line.", 1))

    monkeypatch.setattr(os, "fsync", fsync)
    fact = "The deadline of the nightly export is two hours."
    verdict = one(kb, decision(0, why=fact, session="s2", host="test"))
    assert saved and verdict.verdict == "appended"
    assert "My own line." in path.read_text() and fact in path.read_text()
    assert [name for name in os.listdir(path.parent) if name.endswith(".tmp")] == []


def test_a_blob_that_git_cannot_read_is_not_one_that_is_missing(kb: KnowledgeBase, root: Path) -> None:
    verdict = one(kb, decision(0))
    oid = git(root, "rev-parse", f"HEAD:{verdict.path}").strip()
    blob = root / ".git" / "objects" / oid[:2] / oid[2:]
    blob.chmod(0o644)
    blob.write_bytes(b"not what git wrote")
    assert kb.repository.read_blob("HEAD", "content/nothing.md") is None
    assert kb.repository.read_blob("HEAD", "a name\nof two lines") is None
    with pytest.raises(GitFailed):
        kb.repository.read_blob("HEAD", verdict.path)
