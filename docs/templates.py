"""Collect what kb says: the literal templates of every `say(…)` call."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import kb
from kb.words_zh import ZH

ROOT = Path(kb.__file__).parent


def calls(source: str) -> Iterator[ast.Call]:
    """Yield every call of the function `say` in *source*; a method of that name is something else."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") == "say":
            yield node


def literals(node: ast.expr) -> list[str] | None:
    """Return the strings *node* may be: a literal or a choice between literals; None where nobody can tell."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        sides = literals(node.body), literals(node.orelse)
        return None if None in sides else [text for side in sides if side for text in side]
    return None


def templates() -> dict[str, str]:
    """Return every template in kb with the first place that says it."""
    found: dict[str, str] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for call in calls(path.read_text(encoding="utf-8")):
            for text in literals(call.args[0]) or ():
                found.setdefault(text, f"{path.relative_to(ROOT.parent)}:{call.lineno}")
    return found


def unreadable() -> list[str]:
    """Return the places that say something no reader of the source can tell."""
    return [
        f"{path.relative_to(ROOT.parent)}:{call.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        for call in calls(path.read_text(encoding="utf-8"))
        if literals(call.args[0]) is None
    ]


def missing() -> dict[str, str]:
    """Return the templates without a Chinese half, with their places."""
    return {template: place for template, place in templates().items() if template not in ZH}


def placeholders(template: str) -> set[str]:
    """Return the names of the values that *template* takes."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
