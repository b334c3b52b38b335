"""What a hook or a write loads, compiles and starts is a promise in numbers, which no busy machine changes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from tests.support.clones import FASTAPI, decision, one
from tests.support.sealed import git

COUNTING = """
import json, sys
import re
from re import _compiler

compiled, started, compile_pattern = [], [], _compiler.compile


def compile_and_count(pattern, flags=0):
    compiled.append(str(pattern))
    return compile_pattern(pattern, flags)


def count_process(event, values):
    if event == "os.posix_spawn":
        started.append([word for word in values[1] if not word.startswith(("-", "/", "core.", "i18n."))][1])


_compiler.compile = compile_and_count
sys.addaudithook(count_process)
try:
    from kb.hooks import main

    main({words!r})
except SystemExit:
    pass
loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "kb")
print(json.dumps([loaded, compiled, started]), file=sys.stderr)
"""
PROMPT = "Why is FastAPI used? 后端框架"


class Spent(NamedTuple):
    """What a process has spent."""

    modules: list[str]
    """The modules of kb that it has loaded."""
    patterns: list[str]
    """The regular expressions it has compiled, its own and those of the library."""
    processes: list[str]
    """The git commands it has started."""
    answer: str


def spend(root: Path, word: str, given: object) -> Spent:
    """Return what `kb-hook` *word* spends in the knowledge base at *root*."""
    code = COUNTING.replace("{words!r}", repr([word]))
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(given), capture_output=True, text=True, check=True, cwd=root
    )
    return Spent(*json.loads(done.stderr.splitlines()[-1]), done.stdout)


HOOKS = {"user-prompt": (60, 26), "subagent-start": (56, 23), "session-start": (62, 11)}
"""Event → the most modules of kb and the most regular expressions; no git process."""
ALWAYS = ["update-ref", "config", "cat-file", "hash-object", "hash-object", "commit-tree", "update-index"]
"""The git processes of a write."""
BESIDE = ["diff-files", "diff-tree", "diff-index", "ls-files", "diff-index"]
"""What comes before these where somebody else has committed."""
WRITE_MODULES, WRITE_PATTERNS = 84, 79


@pytest.mark.parametrize("word", HOOKS)
def test_a_hook_that_tells_something_keeps_its_budget(kb: KnowledgeBase, root: Path, word: str) -> None:
    one(kb, FASTAPI._replace(impact=()))
    payload = {"session_id": "s1", "cwd": str(root), "prompt": PROMPT, "source": "startup", "agent_type": "Plan"}
    spend(root, word, payload)  # the first call of a clone makes its files
    spent = spend(root, word, {**payload, "session_id": "s2"})
    modules, patterns = HOOKS[word]
    assert spent.answer
    assert len(spent.modules) <= modules, spent.modules
    assert len(spent.patterns) <= patterns, spent.patterns
    assert spent.processes == []


@pytest.mark.parametrize("prompt", ["Retry the webhook with backoff", "把退款窗口改成七天"])
def test_what_knows_the_asker_is_loaded_for_who_may_ask_that(kb: KnowledgeBase, root: Path, prompt: str) -> None:
    one(kb, FASTAPI)
    assert "kb.text.classifier" not in spend(root, "user-prompt", {"cwd": str(root), "prompt": prompt}).modules


def test_a_write_keeps_its_budget(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    spend(root, "write", candidate_to_json(decision(1)))  # the first after a copy compares git's index
    near = FASTAPI._replace(title="FastAPI serves the public HTTP interface", session="s2")
    spent = spend(root, "write", candidate_to_json(near))
    assert json.loads(spent.answer)[0]["verdict"] == "created"
    assert len(spent.modules) <= WRITE_MODULES, spent.modules
    assert len(spent.patterns) <= WRITE_PATTERNS, spent.patterns
    assert spent.processes == ALWAYS


def test_a_write_behind_a_commit_of_somebody_else_keeps_its_budget(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    (root / "notes.txt").write_text("x")
    git(root, "add", "notes.txt")
    git(root, "commit", "-qm", "Add notes")
    spent = spend(root, "write", candidate_to_json(decision(1)))
    assert json.loads(spent.answer)[0]["verdict"] == "created"
    assert spent.processes == [*BESIDE, *ALWAYS]
