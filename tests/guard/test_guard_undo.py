"""What the guard tells an agent to do about a change outside kb: the agent may do it, and it undoes the change."""

import os
from pathlib import Path

import pytest

from kb.checks.run_checks import check_staged_changes
from kb.hosts import DENY, HookResponse
from kb.knowledge_base import KnowledgeBase
from tests.guard.test_guard_after import REPLACE, Agent, agent_in, shop
from tests.support.sealed import git

__all__ = ["shop"]
NEW = "content/anchors/global/D009-x.md"


@pytest.fixture
def warned(shop: Agent, tmp_path: Path) -> Agent:
    return agent_in(shop, tmp_path / "shop", "warn")


def told(said: HookResponse) -> str:
    """Return the command that the agent is told last."""
    _, found, command = said.context.rpartition("then: ")
    assert found and command
    return command


@pytest.mark.parametrize(
    "change",
    [REPLACE, f"{REPLACE}; git add -A", f"{REPLACE} && git commit -qam 'Rename'", "rm -r $(ls -d cont*/anchors)",
     "rm -r $(ls -d cont*/anchors) && git commit -qam 'Remove'", f"n=D009; echo x > {NEW.replace('D009', '$n')}",
     f"n=D009; echo x > {NEW.replace('D009', '$n')}; git add -A; git commit -qm 'Add'"],
    ids=["changed", "staged", "committed", "removed", "removed and committed", "new", "new and committed"],
)  # fmt: skip
def test_what_is_told_after_a_change_undoes_it_and_is_not_denied(warned: Agent, change: str) -> None:
    before = warned.text()
    git(warned.folder, "add", "-A")
    command = told(warned.does(change))
    assert warned.hook("PreToolUse", command).permission != DENY
    warned.run(command)
    assert warned.hook("PostToolUse", command) == HookResponse(), "an undone change is none"
    assert warned.text() == before and not (warned.folder / NEW).exists()
    assert git(warned.folder, "status", "--short", "content") == ""


def test_a_file_with_no_change_of_the_agents_is_not_taken_back(warned: Agent) -> None:
    """A person's text that no commit has would be gone."""
    warned.record.write_text(warned.text() + "A note.\n", encoding="utf-8")
    for command in (f"git restore {warned.record}", f"rm -- {warned.record}"):
        assert warned.hook("PreToolUse", command).permission == DENY, command


def test_a_record_that_the_agent_has_changed_is_not_removed(warned: Agent) -> None:
    warned.does(REPLACE)
    assert warned.hook("PreToolUse", f"rm -- {warned.record}").permission == DENY
    assert warned.hook("PreToolUse", f"git rm {warned.record}").permission == DENY


@pytest.mark.parametrize("mode", ["warn", "block"])
def test_the_commit_that_undoes_a_change_is_not_reported(shop: Agent, tmp_path: Path, mode: str) -> None:
    """Else the pre-commit hook refuses the very commit that kb asks for."""
    agent = agent_in(shop, tmp_path / "shop", mode)
    said = agent.does(f"{REPLACE} && git commit -qam 'Rename'")
    end = said.context.rindex(" && ")
    restore = said.context[said.context.rindex("git -C", 0, end) : end]
    agent.run(restore)
    with KnowledgeBase(str(agent.folder), {**os.environ, "CLAUDECODE": "1"}) as kb:
        assert [row.path for row in check_staged_changes(kb)] == []
    agent.run(f"echo x >> {agent.record}; git add -A")
    with KnowledgeBase(str(agent.folder), {**os.environ, "CLAUDECODE": "1"}) as kb:
        assert [row.path for row in check_staged_changes(kb)] == [str(agent.record.relative_to(agent.folder))]
