"""The one reader of YAML: python-frontmatter's handler on libyaml, with what untrusted files must not do taken out."""

from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(Exception):
    """The source is not YAML kb accepts; *line* is 1-based within the source."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class _Loader(_Base):  # type: ignore[misc]
    """A safe loader that refuses doubled keys and leaves dates as text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen if isinstance(key.value, str) else False:
                raise YamlError(f"the key {key.value} stands here twice", key.start_mark.line + 1)
            if isinstance(key.value, str):
                seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}


def load(source: str, max_depth: int) -> dict[str, Any]:
    """Return the mapping in *source*; aliases and nesting beyond *max_depth* are refused, as YamlError with a line."""
    try:
        if (
            any(mark in source for mark in "&*")
            or source.count("[") + source.count("{") > max_depth
            or "  " * max_depth in source
        ):
            _refuse_bombs(source, max_depth)
        values = YAMLHandler().load(source, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise YamlError(str(getattr(error, "problem", None) or "not YAML"), mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise YamlError("too deep", 1) from None
    except ValueError as error:
        raise YamlError(str(error), 1) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise YamlError("not a mapping of keys to values", 1)
    return {str(key): value for key, value in values.items()}


def _line(event: yaml.Event) -> int:
    return event.start_mark.line if event.start_mark else 0


def _refuse_bombs(source: str, max_depth: int) -> None:
    depth = 0
    for event in yaml.parse(source, Loader=_Base):
        if isinstance(event, yaml.AliasEvent):
            raise YamlError("aliases are not allowed", _line(event) + 1)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > max_depth:
            raise YamlError("nested too deep", _line(event) + 1)
