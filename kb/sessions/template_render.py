"""The home of Jinja: text from a template and values. Nobody vouches for a template, so it can call nothing.

A template may loop over what it is given, choose, set and join. It sees no functions but its own macros, no methods, no
arithmetic that grows without bound, and few filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.i18n import msg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILTERS = frozenset({
    "default", "d", "first", "last", "length", "count", "join", "lower", "upper", "title", "trim", "unique", "sort",
    "reverse", "list", "string", "int", "map", "select", "reject", "selectattr", "rejectattr", "groupby",
})  # fmt: skip
LONGEST = 4_000_000
"""Characters of a text that is rendered, at most."""


class BadTemplate(BadInput):
    """A template cannot be used; *path* and *line* tell where."""


def render_template(source: str, values: Mapping[str, Any], path: str) -> str:
    """Return the template *source*, which stands in the file *path*, filled with *values*; raise BadTemplate."""
    from jinja2 import TemplateError, TemplateSyntaxError

    hint = msg("mend the template, or remove it to use the built-in one")
    try:
        template = _create_environment().from_string(source)
        parts, size = [], 0
        for part in template.generate(values):
            parts.append(part)
            size += len(part)
            if size > LONGEST:
                raise BadTemplate(msg("the template writes more than {limit} characters", limit=LONGEST), path=path,
                                  hint=hint)  # fmt: skip
        return "".join(parts)
    except TemplateSyntaxError as error:
        problem = msg("the template cannot be read: {problem}", problem=error.message or "")
        raise BadTemplate(problem, path=path, line=error.lineno, hint=hint) from None
    except (TemplateError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        problem = msg("the template cannot be filled: {problem}", problem=error)
        raise BadTemplate(problem, path=path, line=_find_error_line(error), hint=hint) from None


def _create_environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.runtime import Macro
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**", "%", "//"})

        def is_safe_callable(self, obj: Any) -> bool:
            return isinstance(obj, Macro)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            return not callable(value) and super().is_safe_attribute(obj, attr, value)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not all(isinstance(side, int | float) and abs(side) < 1_000_000 for side in (left, right)):
                raise TypeError(f"{operator} is for small numbers")
            return super().call_binop(context, operator, left, right)

    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False,
    )  # fmt: skip
    environment.globals.clear()
    environment.filters = {name: filter_ for name, filter_ in environment.filters.items() if name in FILTERS}
    environment.filters["cell"] = _format_cell
    return environment


def _format_cell(value: object) -> str:
    """Return *value* for a cell of a table."""
    return " ".join(str(value).replace("|", "\\|").split())


def _find_error_line(error: BaseException) -> int:
    """Return the line of the template at which *error* came up; 0 where nobody knows."""
    found, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == "<template>":
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
