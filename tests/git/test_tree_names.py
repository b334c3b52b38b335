"""A commit of somebody else names files; none of them is written outside of the clone, or into what is not theirs."""

import subprocess
from pathlib import Path

import pytest

from kb.errors import NeedsPerson
from kb.git.objects import is_unsafe_path
from kb.knowledge_base import KnowledgeBase
from kb.sync.sync import sync_with_remote
from tests.support.clones import FASTAPI, FLASK, one
from tests.support.sealed import git
from tests.support.team import FIXTURES, Team

base, team = FIXTURES

OUTSIDE = [
    ("content", "..", "..", "pwned.txt"), ("content", "..", ".git", "commondir"), (".git", "config"), ("..", "x"),
    ("content", ".GIT", "config"), ("content", "anchors", "global", ".g\u200cit", "x"), (".kb", "stage"),
    ("content", "git~1", "hooks", "pre-commit"), (".KB", "queue", "1.json"),
]  # fmt: skip


def grafted(root: Path, names: tuple[str, ...], base: str) -> str:
    """Return a commit on *base* that has a file at the place *names*, as git itself would refuse to add it."""

    def raw(kind: str, data: bytes) -> str:
        words = ["git", "-C", str(root), "hash-object", "-t", kind, "-w", "--literally", "--stdin"]
        return subprocess.run(words, input=data, capture_output=True, check=True).stdout.decode().strip()

    def entries(revision: str) -> dict[bytes, tuple[bytes, str]]:
        done = subprocess.run(["git", "-C", str(root), "ls-tree", "-z", revision], capture_output=True, check=False)
        rows = (row.split(b"\t") for row in done.stdout.split(b"\0") if row)
        return {name: (meta.split()[0].lstrip(b"0"), meta.split()[2].decode()) for meta, name in rows}

    def tree(revision: str, rest: tuple[str, ...]) -> str:
        found = entries(revision) if revision else {}
        name = rest[0].encode()
        below = found[name][1] if name in found and len(rest) > 1 else ""
        found[name] = (b"100644", raw("blob", b"taken\n")) if len(rest) == 1 else (b"40000", tree(below, rest[1:]))
        key = lambda one: one[0] + (b"/" if one[1][0] == b"40000" else b"")  # noqa: E731
        return raw(
            "tree", b"".join(b"%b %b\0%b" % (m, n, bytes.fromhex(o)) for n, (m, o) in sorted(found.items(), key=key))
        )

    top = git(root, "rev-parse", f"{base}^{{tree}}").strip()
    return git(root, "commit-tree", "-p", base, "-m", "x", tree(top, names)).strip()


def taken(folder: Path) -> list[Path]:
    """Return the files anywhere below *folder* that hold what a grafted commit holds."""
    return [path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == b"taken\n"]


@pytest.mark.parametrize("names", OUTSIDE, ids="/".join)
@pytest.mark.parametrize("ours", [False, True])
def test_sync_writes_nothing_outside(team: Team, names: tuple[str, ...], *, ours: bool) -> None:
    kb = team.clone("reader")
    if ours:
        one(kb, FASTAPI)
    root = Path(kb.root)
    commit = grafted(root, names, "origin/main")
    subprocess.run(["git", "-C", str(root), "push", "-q", team.url, f"{commit}:refs/heads/main"], check=True)
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson, match="must never be checked out"):
        sync_with_remote(kb)
    assert git(root, "rev-parse", "HEAD") == head and git(root, "status", "--porcelain") == ""
    assert taken(team.folder) == []


@pytest.mark.parametrize("names", OUTSIDE, ids="/".join)
def test_an_accepted_review_writes_nothing_outside(kb: KnowledgeBase, root: Path, names: tuple[str, ...]) -> None:
    one(kb, FASTAPI)
    branch = one(kb, FLASK).branch
    git(root, "update-ref", f"refs/heads/{branch}", grafted(root, names, branch))
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(NeedsPerson):
        kb.accept(branch)
    assert git(root, "rev-parse", "HEAD") == head and taken(root.parent) == []


@pytest.mark.parametrize(
    "name", ["a/../b", "..", ".git/x", "a//b", "a/.", "a\\..\\b", ".Git ", "x/.git...", ".git:a:$DATA", "git~1", "/a"]
)
def test_what_leads_out(name: str) -> None:
    assert is_unsafe_path(name)


@pytest.mark.parametrize(
    "name", ["a/b.md", ".gitignore", "content/.gitattributes", "...a", "git", ".github/x", "a.git/b", "中文/文.md"]
)
def test_what_stays_inside(name: str) -> None:
    assert not is_unsafe_path(name)
