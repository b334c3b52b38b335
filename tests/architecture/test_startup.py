"""What a start loads is a promise in modules, not milliseconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kb as package
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from tests.support.clones import FASTAPI, one

ROOT = Path(package.__file__).parent

HEAVY = {
    "git",
    "yaml",
    "numpy",
    "mcp",
    "pygls",
    "mkdocs",
    "jinja2",
    "rapidfuzz",
    "asyncio",
    "markdown_it",
    "frontmatter",
}


def loaded(statement: str) -> set[str]:
    """Return the top-level modules a fresh interpreter has after *statement*."""
    code = f"import sys\n{statement}\nprint(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import kb.cli",
        "import kb.hooks",
        "import kb.hooks, kb.knowledge_base, kb.records.candidate",
        "import kb.hooks.events",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert not loaded(statement) & HEAVY


@pytest.mark.parametrize(
    "statement",
    ["import kb.hooks", "import kb.hooks, kb.knowledge_base, kb.records.candidate", "import kb.hooks.events"],
)
def test_a_hook_loads_no_click_and_no_dataclasses(statement: str) -> None:
    unwanted = {"click", "dataclasses", "hashlib", "inspect", "pathlib", "subprocess", "tomllib", "typing"}
    assert not loaded(statement) & unwanted


def test_a_hook_without_a_knowledge_base_loads_only_what_it_needs() -> None:
    assert not loaded("import kb.hooks") & {"sqlite3", "typing"}


@pytest.mark.parametrize("host", ["codex", "gemini", "copilot", "cursor", "opencode"])
def test_only_the_host_that_is_named_is_loaded(host: str) -> None:
    statement = (
        "import io, os, sys\n"
        "os.environ['KB_HOME'] = '/nowhere'\n"
        "sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(b'{}')), io.TextIOWrapper(io.BytesIO())\n"
        "from kb import hooks as hosts\n"
        f"try: hosts.main(['stop', '--host', '{host}'])\n"
        "except SystemExit: pass\n"
        "sys.stdout = sys.__stdout__\n"
        "print(' '.join(name for name in sys.modules if name.startswith('kb.hooks.')))"
    )
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "kb.hooks.fast_path",
        f"kb.hooks.{host}",
    }


PROMISED = (
    ("hooks", "write"),
    ("hooks", "session-start"),
    ("hooks", "user-prompt"),
    ("hooks", "pre-tool"),
    ("hooks", "post-tool"),
    ("hooks", "subagent-start"),
    ("cli", "write"),
    ("cli", "show", "D001"),
    ("cli", "search", "FastAPI"),
)
"""The calls whose start is promised: what they load may use the tricks of `kb.startup`, and nothing else may."""


def test_only_what_a_promised_start_loads_uses_its_tricks(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    hot = set().union(*(loads_of_kb(root, *call) for call in PROMISED))
    users = {
        ".".join(("kb", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in ROOT.rglob("*.py")
        if "from kb.startup" in path.read_text("utf-8")
    }
    assert {name for name in users - hot if not name.startswith("kb.startup")} == set()


def loads_of_kb(root: Path, door: str, *words: str) -> set[str]:
    """Return the modules of kb that a call has loaded when it ends."""
    transcript = root.parent / "transcript.jsonl"
    transcript.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "Go on"}}) + "\n")
    payload = {
        "session_id": "s1",
        "cwd": str(root),
        "transcript_path": str(transcript),
        "prompt": "Why do we use FastAPI?",
        "source": "startup",
        "tool_name": "Bash",
        "tool_input": {"command": "git grep FastAPI"},
    }
    near = FASTAPI._replace(title="FastAPI serves the public HTTP interface", session="s2")
    given = json.dumps(candidate_to_json(near) if words == ("write",) else payload)
    code = (
        f"import sys\ntry:\n    from kb.{door} import main; main({[*words]!r})\nexcept SystemExit: pass\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] == 'kb'), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True, cwd=root
    )
    return set(done.stderr.split())
