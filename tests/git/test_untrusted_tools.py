"""Programs that call git themselves, and repositories in which work was done: what their settings name is not run."""

import os
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, FLASK, one
from tests.support.sealed import git
from tests.support.traps import Trap


@pytest.mark.parametrize("tool", ["gh", "glab"])
def test_a_tool_that_calls_git_gets_its_guard_and_nothing_of_kbs(
    kb: KnowledgeBase, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    bare = tmp_path / "gitlab.git" if tool == "glab" else tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(bare, "config", "receive.advertisePushOptions", "true")
    git(root, "remote", "add", "origin", f"file://{bare}")
    one(kb, FASTAPI)
    one(kb, FLASK)
    trap = Trap(root, tmp_path / "trap")
    trap.setting("core.fsmonitor")
    trap.works("status")
    program = tmp_path / "bin" / tool
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ngit -C '{root}' status >&2; env; echo called $1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KB_LLM_CMD", "a-model --key 1")
    (said,) = kb.request("D002", open_it=True)
    assert said.endswith("called pr" if tool == "gh" else "called mr")
    assert "KB_" not in said and "GIT_CONFIG_COUNT=" in said and f"HOME={os.environ['HOME']}" in said
    assert trap.was_run() == ""


def test_a_check_runs_nothing_that_a_project_names(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that counts lines fetches what a partial clone lacks, through a program that its settings may name."""
    shop = tmp_path / "shop"
    git(tmp_path, "init", "-q", "-b", "main", str(shop))
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-25T00:00:00Z")
    for text in ("one\n", "two\n"):
        (shop / "a.py").write_text(text)
        git(shop, "add", "a.py")
        git(shop, "commit", "-qm", text)
    kb.write([FASTAPI._replace(scope="", impact=("a.py",))], folder=str(shop))
    blob = git(shop, "rev-parse", "HEAD~1:a.py").strip()
    (shop / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    trap = Trap(shop, tmp_path / "trap")
    trap.setting("core.sshCommand")
    for key, value in (("url", "ssh://nowhere.example/x"), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        trap.setting(f"remote.origin.{key}", value)
    trap.setting("extensions.partialClone", "origin")
    trap.setting("core.repositoryFormatVersion", "1")
    trap.works("log", "--numstat")
    assert kb.records()[0].scope == "project/shop"
    kb.check()
    assert trap.was_run() == ""


def test_a_check_of_a_project_that_is_no_repository_looks_at_its_files(kb: KnowledgeBase, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "a.py").write_text("one\n")
    verdicts = kb.write([FASTAPI._replace(scope="", impact=("a.py", "gone.py"))], folder=str(shop))
    assert verdicts[0].scope == "project/shop"
    assert [(finding.rule, "gone.py" in str(finding.message)) for finding in kb.check()] == [("impact", True)]
