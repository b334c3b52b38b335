"""What a start loads is a promise in modules, not milliseconds."""

import subprocess
import sys

import pytest

HEAVY = {"git", "yaml", "numpy", "mcp", "mkdocs", "jinja2", "rapidfuzz", "asyncio", "markdown_it", "frontmatter"}


def loaded(statement: str) -> set[str]:
    """Return the top-level modules a fresh interpreter has after *statement*."""
    code = f"import sys\n{statement}\nprint(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import kb.cli", "import kb.hooks", "import kb.hooks.write_hook", "import kb.hooks.events"]
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert not loaded(statement) & HEAVY


@pytest.mark.parametrize("statement", ["import kb.hooks", "import kb.hooks.write_hook", "import kb.hooks.events"])
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
    assert set(done.stdout.split()) == {"kb.hooks.fast_path", "kb.hooks.guard_fast_path", f"kb.hooks.{host}"}
