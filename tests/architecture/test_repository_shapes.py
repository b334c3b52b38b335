"""Repositories of all shapes: kb works in each, or says what is wrong and what helps, and never writes half."""

import os
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import doctor
from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.text.segment import slugify
from tests.support.clones import FLASK, SMALL, committed, decision, one
from tests.support.sealed import git
from tests.support.shapes import (
    FASTAPI,
    RABBIT,
    SEEDS,
    Shape,
    files,
    is_sound,
    left_over,
    ok,
    seeded,
    state,
    tips,
    with_work,
)


@pytest.fixture(scope="session")
def base(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with records and an open review, to be copied."""
    return seeded(empty_kb, tmp_path_factory.mktemp("seeded") / "kb")


@pytest.fixture(scope="session")
def bare(base: Path) -> Path:
    """A bare remote of it, with every branch."""
    place = base.parent / "bare.git"
    git(base, "clone", "-q", "--bare", str(base), str(place))
    git(place, "config", "uploadpack.allowFilter", "true")
    git(place, "config", "uploadpack.allowAnySHA1InWant", "true")
    return place


# -- the shapes -----------------------------------------------------------------------------------

Make = Callable[[Path, Path, Path], Shape]


def plain(base: Path, bare: Path, place: Path) -> Shape:
    shutil.copytree(base, place / "kb", symlinks=True)
    with_work(place / "kb")
    return Shape(place / "kb")


def cloned(bare: Path, place: Path, *options: str) -> Path:
    git(place, "clone", "-q", *options, f"file://{bare}", str(place / "kb"))
    return place / "kb"


def clone(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place)
    with_work(root)
    return Shape(root)


def clone_of_an_empty_remote(base: Path, bare: Path, place: Path) -> Shape:
    git(place, "init", "-q", "--bare", "-b", "trunk", str(place / "empty.git"))
    root = cloned(place / "empty.git", place)
    return Shape(fresh(root))


def fresh(root: Path) -> Path:
    """Make a knowledge base of a repository without a commit."""
    (root / "content" / "anchors" / "global").mkdir(parents=True, exist_ok=True)
    (root / "kb.toml").write_text('name = "fresh"\n')
    with_work(root)
    return root


def shallow(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place, "--depth=1")
    assert (root / ".git" / "shallow").exists()
    with_work(root)
    return Shape(root)


def partial_without_files(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place, "--filter=blob:none")
    with_work(root)
    return Shape(root)


def partial_without_trees(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place, "--filter=tree:0")
    with_work(root)
    return Shape(root)


def partial_out_of_reach(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place, "--filter=blob:none")
    git(root, "config", "remote.origin.url", str(place / "gone"))
    with_work(root)
    return Shape(root, cut_off=True)


def sparse_with_records(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    git(root, "sparse-checkout", "set", "--cone", "content")
    return Shape(root)


def sparse_index(base: Path, bare: Path, place: Path) -> Shape:
    root = cloned(bare, place, "--sparse")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "content/anchors/global", "odd names")
    with_work(root)
    return Shape(root)


def submodule(base: Path, bare: Path, place: Path) -> Shape:
    outer = place / "outer"
    git(place, "init", "-q", "-b", "main", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(bare), "notes")
    git(outer, "commit", "-qm", "Notes")
    with_work(outer / "notes")
    return Shape(outer / "notes")


def submodule_detached(base: Path, bare: Path, place: Path) -> Shape:
    root = submodule(base, bare, place).root
    git(root, "switch", "-q", "--detach")
    return Shape(root, trouble="no branch is checked out", way_out=lambda: git(root, "switch", "-q", "main"))


def linked(base: Path, bare: Path, place: Path) -> Shape:
    shutil.copytree(base, place / "main", symlinks=True)
    git(place / "main", "worktree", "add", "-q", "-b", "feature", str(place / "kb"))
    with_work(place / "kb")
    return Shape(place / "kb")


def linked_to_a_bare_one(base: Path, bare: Path, place: Path) -> Shape:
    git(place, "clone", "-q", "--bare", str(bare), str(place / "bare.git"))
    git(place / "bare.git", "config", "extensions.worktreeConfig", "true")
    git(place / "bare.git", "config", "--unset", "core.bare")
    git(place / "bare.git", "config", "--worktree", "core.bare", "true")
    git(place / "bare.git", "worktree", "add", "-q", str(place / "kb"), "main")
    git(place / "kb", "config", "--worktree", "user.name", "Somebody")
    with_work(place / "kb")
    return Shape(place / "kb")


def detached(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    git(root, "switch", "-q", "--detach")
    return Shape(root, trouble="no branch is checked out", way_out=lambda: git(root, "switch", "-q", "main"))


def orphan(base: Path, bare: Path, place: Path) -> Shape:
    root = place / "kb"
    shutil.copytree(base, root, symlinks=True)
    git(root, "switch", "-q", "--orphan", "afresh")
    git(root, "branch", "-q", "-D", git(root, "branch", "--list", "kb/review/*").strip())
    return Shape(fresh(root))


def unborn(base: Path, bare: Path, place: Path) -> Shape:
    git(place, "init", "-q", "-b", "main", str(place / "kb"))
    return Shape(fresh(place / "kb"))


def sha256(base: Path, bare: Path, place: Path) -> Shape:
    git(place, "init", "-q", "-b", "main", "--object-format=sha256", str(place / "kb"))
    return Shape(fresh(place / "kb"))


def separate_git_directory(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    git(root, "init", "-q", "--separate-git-dir", str(place / "elsewhere"))
    return Shape(root)


def behind_links(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    (root / ".git").rename(place / "elsewhere")
    (root / ".git").symlink_to(place / "elsewhere")
    (place / "link").symlink_to(root)
    return Shape(place / "link")


def borrowing(base: Path, bare: Path, place: Path) -> Shape:
    """Objects that another repository has."""
    git(place, "clone", "-q", "--shared", str(bare), str(place / "kb"))
    with_work(place / "kb")
    return Shape(place / "kb")


def packed(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    git(root, "gc", "-q")
    git(root, "pack-refs", "--all", "--prune")
    return Shape(root)


def of_many_files(base: Path, bare: Path, place: Path) -> Shape:
    """Another index: split, version 4, with a cache of untracked files."""
    root = plain(base, bare, place).root
    for key in ("feature.manyFiles", "core.splitIndex", "core.untrackedCache"):
        git(root, "config", key, "true")
    git(root, "update-index", "--split-index", "--index-version", "4")
    git(root, "status")
    return Shape(root)


def crlf(base: Path, bare: Path, place: Path) -> Shape:
    """Line ends that git changes, and refuses where it could not change them back."""
    root = place / "kb"
    shutil.copytree(base, root, symlinks=True)
    (root / "content" / ".gitattributes").write_text("")
    git(root, "config", "core.autocrlf", "true")
    git(root, "commit", "-qam", "No rule for line ends")
    shutil.rmtree(root / "content" / "anchors")
    git(root, "checkout", "--", "content")
    assert b"\r\n" in next((root / "content").rglob("D*.md")).read_bytes()
    with_work(root)
    git(root, "config", "core.safecrlf", "true")
    return Shape(root)


def crlf_on_the_way_in(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    git(root, "config", "core.autocrlf", "input")
    git(root, "config", "core.eol", "crlf")
    return Shape(root)


def failing_hooks(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    hooks = place / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-index-change", "pre-push"):
        (hooks / name).write_text("#!/bin/sh\necho no >&2\nexit 1\n")
        (hooks / name).chmod(0o755)
    git(root, "config", "core.hooksPath", str(hooks))
    return Shape(root)


def signed(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    key = place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    user = place / "user"
    user.write_text(f'[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = "{key}"\n[commit]\n\tgpgSign = true\n')
    return Shape(root, {**os.environ, "GIT_CONFIG_GLOBAL": str(user)})


def signed_by_nobody(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    user = place / "user"
    user.write_text("[gpg]\n\tprogram = false\n[commit]\n\tgpgSign = true\n")
    return Shape(
        root, {**os.environ, "GIT_CONFIG_GLOBAL": str(user)}, "gpg failed to sign", way_out=lambda: user.write_text("")
    )


def without_case(base: Path, bare: Path, place: Path) -> Shape:
    """What git does on a file system that takes `A` for `a`: a folder that is there keeps its spelling."""
    root = place / "kb"
    shutil.copytree(base, root, symlinks=True)
    (root / "content" / "Anchors" / "Global").mkdir(parents=True)
    (root / "content" / "Anchors" / "Global" / "Readme.txt").write_text("x\n")
    git(root, "config", "core.ignoreCase", "true")
    git(root, "config", "core.precomposeUnicode", "true")
    git(root, "add", "content/Anchors/Global/Readme.txt")
    git(root, "commit", "-qm", "Another spelling")
    with_work(root)
    return Shape(root)


def of_somebody_else(base: Path, bare: Path, place: Path) -> Shape:
    root = plain(base, bare, place).root
    environment = {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_GLOBAL": str(place / "user")}
    return Shape(
        root, environment, "dubious ownership", cut_off=True,
        way_out=lambda: (place / "user").write_text(f'[safe]\n\tdirectory = "{root}"\n'),
    )  # fmt: skip


def of_a_newer_git(base: Path, bare: Path, place: Path) -> Shape:
    """Refs in tables: made by git where it can, and else told by the settings that a newer git would have written."""
    if ok(place, "init", "-q", "-b", "main", "--ref-format=reftable", str(place / "kb")):
        return Shape(fresh(place / "kb"))
    root = plain(base, bare, place).root
    own = root / ".git"
    before = {name: (own / name).read_text() for name in ("config", "HEAD")}
    newer = before["config"].replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    (own / "config").write_text(newer + "[extensions]\n\trefStorage = reftable\n")
    (own / "HEAD").write_text("ref: refs/heads/.invalid\n")

    def as_it_was() -> None:
        for name, text in before.items():
            (own / name).write_text(text)

    return Shape(root, trouble="unknown repository extension", way_out=as_it_was, cut_off=True)


def of_odd_names(base: Path, bare: Path, place: Path) -> Shape:
    """A folder of an odd name, on a branch of one."""
    root = place / os.fsdecode(b'it\'s "a"\nfolder:*[\xff] \xe7\x9f\xa5\xe8\xaf\x86')
    shutil.copytree(base, root, symlinks=True)
    git(root, "switch", "-qc", "feature/知识-#1")
    with_work(root)
    return Shape(root)


def merging(base: Path, bare: Path, place: Path) -> Shape:
    root = place / "kb"
    shutil.copytree(base, root, symlinks=True)
    git(root, "switch", "-qc", "side", "HEAD~1")
    (root / "one.txt").write_text("side\n")
    git(root, "commit", "-qam", "Side")
    git(root, "switch", "-q", "main")
    (root / "one.txt").write_text("main\n")
    git(root, "commit", "-qam", "Main")
    assert not ok(root, "merge", "side")
    return Shape(root, trouble="a merge is in progress", way_out=lambda: git(root, "merge", "--abort"))


SHAPES: tuple[Make, ...] = (
    plain, clone, clone_of_an_empty_remote, shallow, partial_without_files, partial_without_trees, partial_out_of_reach,
    sparse_with_records, sparse_index, submodule, submodule_detached, linked, linked_to_a_bare_one, detached, orphan,
    unborn, sha256, of_a_newer_git, separate_git_directory, behind_links, borrowing, packed, of_many_files, crlf,
    crlf_on_the_way_in, failing_hooks, signed, signed_by_nobody, without_case, of_somebody_else, of_odd_names, merging,
)  # fmt: skip


@pytest.fixture(scope="module", params=SHAPES, ids=lambda make: make.__name__)
def shape(
    request: pytest.FixtureRequest, base: Path, bare: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shape]:
    """A repository of some shape; the operations on it have nothing to do with each other."""
    made: Shape = request.param(base, bare, tmp_path_factory.mktemp(request.param.__name__[:20]))
    if not made.trouble:
        with made.opened() as kb:
            missing = [seed for seed in SEEDS if seed.title not in {record.title for record in kb.records()}]
            kb.write(missing, folder=str(made.root))
            if not kb.reviews():
                assert one(kb, RABBIT).branch
    yield made


# -- the operations -------------------------------------------------------------------------------


class Done:
    """What an operation came to: how many commits it made on the branch, and what was written."""

    def __init__(self, commits: int, titles: tuple[str, ...] = ()) -> None:
        self.commits = commits
        self.titles = titles


def created(kb: KnowledgeBase) -> Done:
    verdict = one(kb, decision(12))
    assert verdict.verdict == "created", verdict
    return Done(1, (verdict.title,))


def appended(kb: KnowledgeBase) -> Done:
    verdict = one(kb, decision(0, why="The deadline of the nightly export is two hours.", session="s2"))
    assert verdict.verdict == "appended", verdict
    assert "nightly export" in kb.text(kb.record(verdict.id))
    return Done(1)


def disputed(kb: KnowledgeBase) -> Done:
    verdict = one(kb, FLASK)
    assert verdict.verdict == "conflict", verdict
    assert verdict.branch in {review.branch for review in kb.reviews()}
    return Done(0)


def held(kb: KnowledgeBase) -> Done:
    verdict = one(kb, SMALL)
    assert (verdict.verdict, verdict.spooled) == ("held", False), verdict
    assert [held.candidate.title for held in kb.held()] == [SMALL.title]
    return Done(0)


def accepted(kb: KnowledgeBase) -> Done:
    review = next(review for review in kb.reviews() if review.record.title == RABBIT.title)
    verdict = kb.accept(review.branch)
    old = kb.record(review.against[0])
    assert (verdict.verdict, old.status) == ("updated", "superseded")
    return Done(1, (RABBIT.title,))


OPERATIONS = (created, appended, disputed, held, accepted)


def test_writes(shape: Shape, request: pytest.FixtureRequest) -> None:
    """Each is one commit, or none and a word of what helps; what is not kb's stays as it was.

    Each shape meets two of the operations, the next shape the next two; with KB_MANY=1 each meets all.
    """
    turn = SHAPES.index(request.node.callspec.params["shape"]) * 2 % len(OPERATIONS)
    for operation in OPERATIONS if os.environ.get("KB_MANY") else (OPERATIONS * 2)[turn : turn + 2]:
        is_written_whole(shape, operation)


def is_written_whole(shape: Shape, operation: Callable[[KnowledgeBase], Done]) -> None:
    before, count, bytes_before = state(shape.root), tips(shape.root), files(shape.root)
    with shape.opened() as kb:
        if shape.trouble:
            refused(kb, operation, shape.trouble)
            assert files(shape.root) == bytes_before
            done = Done(0)
        else:
            done = operation(kb)
            assert is_sound(shape.root) == ""
        assert set(done.titles) <= {record.title for record in kb.records()}
    assert state(shape.root) == before
    assert tips(shape.root) == (count[0] + done.commits, count[1] + done.commits)
    assert left_over(shape.root) == []


def refused(kb: KnowledgeBase, operation: Callable[[KnowledgeBase], Done], trouble: str) -> None:
    """Do what cannot be done now: it is kept for later or refused, with the reason and with a way out."""
    if operation is accepted:
        with pytest.raises(KbError, match=re.escape(trouble)) as told:
            kb.accept("D004")
        assert str(told.value.hint)
        return
    again = decision(0, why="Two hours.", session="s2")
    candidates = {created: decision(12), appended: again, disputed: FLASK, held: SMALL}
    verdict = one(kb, candidates[operation])
    assert (verdict.verdict, verdict.spooled) == ("held", True), verdict
    assert trouble in verdict.reasons[0] and verdict.next, verdict


def test_answers(shape: Shape) -> None:
    """What is there is found, and asking changes nothing."""
    before, count = state(shape.root), tips(shape.root)
    with shape.opened() as kb:
        titles = {record.title for record in kb.records()}
        assert {seed.title for seed in SEEDS} <= titles
        assert kb.recall("FastAPI backend")[0].record.title == FASTAPI.title
        known = kb.recall("FastAPI backend")[0].record.id
        for ask in (kb.check, lambda: kb.log(known)[1:]):
            try:
                assert ask() == []
            except KbError as error:
                assert shape.cut_off and str(error.hint), error
    outcomes = {outcome.name: outcome for outcome in doctor.run_checks(str(kb.root), str(kb.root), shape.environment)}
    failed = {name for name, outcome in outcomes.items() if outcome.state == doctor.FAILED}
    assert all(outcome.remedy for outcome in outcomes.values() if outcome.state == doctor.FAILED)
    assert failed <= ({"repository"} if shape.trouble else set()) or shape.cut_off, failed
    assert state(shape.root) == before and tips(shape.root) == count and left_over(shape.root) == []


# -- the way out ------------------------------------------------------------------------------------

TROUBLED = (submodule_detached, detached, of_a_newer_git, signed_by_nobody, of_somebody_else, merging)


@pytest.mark.parametrize("make", TROUBLED, ids=lambda make: make.__name__)
def test_what_could_not_be_written_lands_once_the_way_out_is_taken(
    make: Make, base: Path, bare: Path, tmp_path: Path
) -> None:
    shape = make(base, bare, tmp_path)
    if not shape.trouble:
        return  # git can do here what others cannot
    with shape.opened() as kb:
        assert one(kb, decision(12)).spooled and one(kb, FLASK).spooled
    shape.way_out()
    count = tips(shape.root)[0]
    with shape.opened() as kb:
        assert one(kb, decision(13)).verdict == "created" and kb.state.list_spooled() == []
        titles = [record.title for record in kb.records()]
        assert titles.count(decision(12).title) == 1 == titles.count(decision(13).title)
        assert [review.record.title for review in kb.reviews()].count(FLASK.title) == 1
    assert tips(shape.root)[0] == count + 2 and left_over(shape.root) == [] and is_sound(shape.root) == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_way_out_is_told_in_the_readers_language(base: Path, bare: Path, tmp_path: Path, language: str) -> None:
    shape = of_somebody_else(base, bare, tmp_path)
    (shape.root / "kb.toml").write_text(f'language = "{language}"\n')
    with shape.opened() as kb:
        verdict = one(kb, decision(12))
    assert "git config --global --add safe.directory" in verdict.next
    assert ("信任" in verdict.next) == (language == "zh")


# -- a repository without files, and one that takes nothing -------------------------------------------


def test_a_bare_repository_is_no_knowledge_base(bare: Path, tmp_path: Path) -> None:
    place = tmp_path / "bare.git"
    shutil.copytree(bare, place)
    before = files(place)
    with pytest.raises(KbError) as told:
        KnowledgeBase.open(str(place), os.environ)
    assert "kb init" in str(told.value.hint)
    assert files(place) == before


def protected(bare: Path, place: Path) -> Path:
    """Make a remote that takes neither the main branch nor reviews."""
    shutil.copytree(bare, place)
    hook = place / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    return place


def test_a_remote_that_refuses_is_quoted_and_nothing_is_lost(bare: Path, tmp_path: Path) -> None:
    place = protected(bare, tmp_path / "protected.git")
    root = cloned(place, tmp_path)
    with KnowledgeBase(str(root), os.environ) as kb:
        review = one(kb, FLASK)
        assert one(kb, decision(12)).verdict == "created", "the protection is the server's, the clone is ours"
        with_work(root)
        before, refs = state(root), git(place, "for-each-ref")
        with pytest.raises(KbError, match="GH006: Protected branch update failed") as told:
            kb.request(review.id)
        assert "--remote" in str(told.value.hint)
        assert git(place, "for-each-ref") == refs and state(root) == before
        assert [kept.branch for kept in kb.reviews()] == [review.branch]
        (place / "hooks" / "pre-receive").unlink()
        assert kb.request(review.id)
    assert review.branch in git(place, "branch", "--list", "kb/*")


# -- files that git passes over ---------------------------------------------------------------------


def test_a_review_of_records_that_a_sparse_checkout_leaves_out(base: Path, tmp_path: Path) -> None:
    """The commit has them, the checkout has not, and git must not take them for deleted."""
    root = tmp_path / "kb"
    shutil.copytree(base, root, symlinks=True)
    git(root, "status")  # else git does not know that the copied files are as it left them
    git(root, "sparse-checkout", "set", "--cone", "nowhere")
    assert not (root / "content").exists()
    with KnowledgeBase(str(root), os.environ) as kb:
        assert kb.records() == []
        (review,) = kb.reviews()
        assert kb.accept(review.branch).verdict == "updated"
        assert git(root, "status", "--porcelain") == "" and len(committed(root)) == len(SEEDS) + 1
        git(root, "sparse-checkout", "disable")
        assert {record.title for record in kb.records()} == {seed.title for seed in (*SEEDS, RABBIT)}
        assert kb.check() == []
    assert git(root, "status", "--porcelain") == "" and is_sound(root) == ""


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_a_record_that_git_was_told_to_pass_over(base: Path, tmp_path: Path, mark: str) -> None:
    """Neither is it staged for deletion, nor as it was before; and git goes on passing it over."""
    root = tmp_path / "kb"
    shutil.copytree(base, root, symlinks=True)
    path = next(name for name in sorted(committed(root)) if "/D002-" in name)
    git(root, "update-index", mark, path)
    letter = git(root, "ls-files", "-v", path)[0]
    with KnowledgeBase(str(root), os.environ) as kb:
        verdict = one(kb, decision(0, why="The deadline of the nightly export is two hours.", session="s2"))
        assert (verdict.verdict, verdict.path) == ("appended", path)
    assert git(root, "diff", "--cached", "--name-only") == ""
    assert git(root, "ls-files", "-v", path)[0] == letter
    git(root, "update-index", mark.replace("--", "--no-"), path)
    assert git(root, "status", "--porcelain") == ""


# -- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_folder_that_is_a_link_is_not_written_through(base: Path, tmp_path: Path, is_committed: bool) -> None:
    root, outside = tmp_path / "kb", tmp_path / "outside"
    shutil.copytree(base, root, symlinks=True)
    (root / "content" / "anchors" / "global").rename(outside)
    (root / "content" / "anchors" / "global").symlink_to(outside)
    if is_committed:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "A link")
    there, before, count = files_below(outside), state(root), tips(root)
    with KnowledgeBase(str(root), os.environ) as kb:
        verdict = one(kb, decision(12))
        assert verdict.spooled and "content/anchors/global" in verdict.reasons[0] and "folder" in verdict.next
    assert (files_below(outside), state(root), tips(root)) == (there, before, count)
    assert left_over(root) == [] and is_sound(root) == ""


def files_below(place: Path) -> set[tuple[str, bytes]]:
    return {(path.name, path.read_bytes()) for path in place.rglob("*") if path.is_file()}


def test_a_name_with_a_line_break_is_refused_in_words(base: Path, tmp_path: Path) -> None:
    root = tmp_path / "kb"
    shutil.copytree(base, root, symlinks=True)
    path = next(name for name in sorted(committed(root)) if "/D001-" in name)
    git(root, "mv", path, path.replace("use-fastapi", "use\nfastapi"))
    git(root, "commit", "-qm", "An odd name")
    with KnowledgeBase(str(root), os.environ) as kb:
        assert kb.recall("FastAPI backend")[0].record.title == FASTAPI.title
        before, count = state(root), tips(root)
        with pytest.raises(KbError, match="line break") as told:
            kb.confirm("D001")
        assert "another name" in str(told.value.hint)
        assert (state(root), tips(root)) == (before, count) and left_over(root) == []
        assert one(kb, decision(12)).verdict == "created"


TITLES = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60)


@given(TITLES)
def test_a_file_system_without_case_or_normal_forms_keeps_slugs_apart_and_as_they_are(title: str) -> None:
    """A slug is its own small NFC form: what such a system makes of it is the same name."""
    slug = slugify(title)
    assert unicodedata.normalize("NFC", slug) == slug == unicodedata.normalize("NFC", slug.casefold())
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert slugify(unicodedata.normalize(form, title)) == slug


def test_two_records_never_differ_by_case_or_normal_form_alone(base: Path, tmp_path: Path) -> None:
    root = tmp_path / "kb"
    shutil.copytree(base, root, symlinks=True)
    spelled = ["Café menus", "CAFÉ MENUS", "Cafe\u0301 menus", "ＣＡＦÉ menus", "café  menus"]
    with KnowledgeBase(str(root), os.environ) as kb:
        for number, title in enumerate(spelled):
            kb.write([decision(number + 1)._replace(title=title)], folder=str(root))
        names = [record.path for record in kb.records()]
    folded = {unicodedata.normalize("NFD", name).casefold() for name in names}
    assert len(folded) == len(names) > len(SEEDS)
    assert all(unicodedata.is_normalized("NFC", name) for name in names)
