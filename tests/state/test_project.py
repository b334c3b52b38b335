"""Which project a folder belongs to; two of one name never share a scope (SHI-07)."""

import json
import os
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase, make
from kb.state.project import find_identity
from tests.support.clones import SMALL, child, committed, decision, one
from tests.support.sealed import Clock, git


def clone(place: Path, remote: str = "") -> str:
    """Make a code repository."""
    place.mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    if remote:
        git(place, "remote", "add", "origin", remote)
    return str(place)


def test_with_and_without_remotes(kb: KnowledgeBase, tmp_path: Path) -> None:
    places = [
        clone(tmp_path / "a" / "shop"),
        clone(tmp_path / "b" / "shop"),
        clone(tmp_path / "c" / "shop", "https://github.com/one/shop.git"),
        clone(tmp_path / "d" / "shop", "https://github.com/two/shop.git"),
        str(tmp_path / "e" / "shop"),
    ]
    Path(places[-1]).mkdir(parents=True)
    scopes = [one(kb, decision(number), folder=place).scope for number, place in enumerate(places)]
    assert scopes[0] == "project/shop" and len(set(scopes)) == 5
    assert all(scope.startswith("project/shop-") for scope in scopes[1:])
    assert [kb.project(place) for place in places] == scopes
    assert {record.id for record in kb.records()} == {"D001"}, "numbers are a scope's own"


def test_a_remote_that_an_included_file_names_is_found(kb: KnowledgeBase, tmp_path: Path) -> None:
    place = clone(tmp_path / "shop")
    (tmp_path / "more").write_text('[Remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    git(place, "config", "include.path", str(tmp_path / "more"))
    assert find_identity(kb, place, f"{place}/.git") == "github.com/acme/shop"


def test_where_no_remote_is_named_no_process_is_started(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    places = [clone(tmp_path / "shop"), str(tmp_path / "folder")]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [kb.project(place) for place in places] == ["project/shop", "project/folder"]


def test_one_project_on_two_machines(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    here = clone(tmp_path / "a" / "shop", "git@github.com:one/shop.git")
    one(kb, decision(0), folder=here)
    git(tmp_path, "clone", "-q", str(root), str(tmp_path / "kb2"))
    there = clone(tmp_path / "b" / "shop", "https://me@github.com/one/shop")
    stranger = clone(tmp_path / "c" / "shop", "https://github.com/two/shop")
    with KnowledgeBase.at(str(tmp_path / "kb2")) as other:
        assert other.project(there) == "project/shop"
        assert other.project(stranger) != "project/shop"


def test_two_names_at_the_same_moment(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom tests.support.clones import decision\nfrom kb.knowledge_base import KnowledgeBase\n"
        + (
            "kb = KnowledgeBase(sys.argv[1], os.environ)\n"
            "print(kb.write([decision(int(sys.argv[3]))], folder=sys.argv[2])[0].scope)\n"
        )
    )
    places = [clone(tmp_path / str(n) / "shop") for n in range(4)]
    workers = [child(code, str(root), place, str(number)) for number, place in enumerate(places)]
    scopes = [worker.communicate()[0].strip() for worker in workers]
    assert len(set(scopes)) == 4 and "project/shop" in scopes
    assert len(committed(root)) == 4


def test_what_is_only_held_claims_the_name(kb: KnowledgeBase, tmp_path: Path) -> None:
    first, second = clone(tmp_path / "a" / "shop"), clone(tmp_path / "b" / "shop")
    assert one(kb, SMALL, folder=first).verdict == "held"
    assert one(kb, SMALL._replace(session="s2"), folder=second).verdict == "held", "another project's sighting"
    assert one(kb, SMALL._replace(session="s3"), folder=first).scope == "project/shop"


def test_a_name_without_an_owner_gets_one(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    blog, shop, other = clone(tmp_path / "blog"), clone(tmp_path / "a" / "shop"), clone(tmp_path / "b" / "shop")
    one(kb, decision(0, scope="project/shop"), folder=blog)
    mark = root / "content/anchors/projects/shop/project.json"
    assert json.loads(mark.read_text()) == {"identity": []}, "who writes about it does not own it"
    assert one(kb, decision(1), folder=shop).scope == "project/shop"
    assert len(json.loads(mark.read_text())["identity"]) == 1
    assert one(kb, decision(2), folder=other).scope != "project/shop"
    assert git(root, "status", "--porcelain") == ""


def test_a_worktree_belongs_to_its_repository(kb: KnowledgeBase, tmp_path: Path) -> None:
    shop = clone(tmp_path / "shop")
    git(shop, "commit", "-q", "--allow-empty", "-m", "First")
    git(shop, "worktree", "add", "-q", str(tmp_path / "shop-feature"))
    assert one(kb, decision(0), folder=shop).scope == "project/shop"
    assert one(kb, decision(1), folder=str(tmp_path / "shop-feature")).scope == "project/shop"


def test_inside_the_knowledge_base(kb: KnowledgeBase, root: Path) -> None:
    (root / "content" / "deep").mkdir()
    assert kb.project(str(root)) == kb.project(str(root / "content" / "deep")) == "global"
    linked = root.parent / "linked"
    git(root, "worktree", "add", "-q", str(linked))
    assert kb.project(str(linked)) == "global"


def test_the_environment_names_it(root: Path, tmp_path: Path, clock: Clock) -> None:
    place = clone(tmp_path / "shop")
    with KnowledgeBase(str(root), {**os.environ, "KB_PROJECT": "Our Shop"}, clock) as kb:
        assert one(kb, decision(0), folder=place).scope == "project/our-shop"
    with KnowledgeBase(str(root), os.environ, clock) as kb:
        assert kb.project(place) == "project/shop"


@pytest.mark.parametrize("name", ["My Project", "商店", "a/b", "..", "…"])
def test_any_name_makes_a_scope(tmp_path: Path, root: Path, clock: Clock, name: str) -> None:
    path = root / "kb.toml"
    path.write_text(path.read_text().replace('# project = ""', f'project = "{name}"'))
    with KnowledgeBase(str(root), os.environ, clock) as kb:
        verdict = one(kb, decision(0))
        assert verdict.verdict == "created" and verdict.scope.startswith("project/")
        assert len(Path(verdict.path).parts) == 5 and kb.check() == []


def test_the_folder_a_chinese_project_is_in(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert one(kb, decision(0), folder=clone(tmp_path / "商店 后端")).scope == "project/商店-后端"


def test_a_scope_that_is_none_is_refused(kb: KnowledgeBase, root: Path) -> None:
    for scope in ("project/../../x", "project/", "team/x", "project/a b"):
        assert one(kb, decision(0, scope=scope)).verdict == "refused"
    assert committed(root) == set()


def test_here_takes_the_repositorys_name(tmp_path: Path) -> None:
    place = clone(tmp_path / "Big Shop")
    kb, _ = make(place + "/docs/kb", os.environ, inside=True)
    with kb:
        assert kb.project(place) == kb.project(place + "/docs") == "project/big-shop"
