"""The forms of what tools are asked and answer, as JSON Schema; a description may be `Said`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.i18n import Message

if TYPE_CHECKING:
    from typing import Any

    Schema = Mapping[str, Any]


def string(help: Message | None = None) -> dict[str, Any]:
    """Return the form of a text."""
    return {"type": "string", **_describe(help)}


def string_list(help: Message | None = None) -> dict[str, Any]:
    """Return the form of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, **_describe(help)}


def boolean(help: Message) -> dict[str, Any]:
    """Return the form of a yes or no."""
    return {"type": "boolean", "default": False, **_describe(help)}


def choice(help: Message, among: Sequence[str]) -> dict[str, Any]:
    """Return the form of one of several words."""
    return {"type": "string", "enum": list(among), **_describe(help)}


def integer(help: Message | None = None, least: int = 0, most: int | None = None, default: int | None = None) -> Any:
    """Return the form of a whole number."""
    limits = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", **{k: v for k, v in limits.items() if v is not None}, **_describe(help)}


def array(inner: Schema) -> dict[str, Any]:
    """Return the form of a list of *inner*."""
    return {"type": "array", "items": inner}


def obj(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the form of an object with *parts*; those in *maybe* may be missing."""
    required = [name for name in parts if name not in maybe]
    return {"type": "object", "properties": dict(parts), "required": required, "additionalProperties": False}


def translate_schema(schema: Any, language: str) -> Any:
    """Return *schema* with its descriptions in *language*."""
    if isinstance(schema, Message):
        return schema.translate(language)
    if isinstance(schema, Mapping):
        return {key: translate_schema(value, language) for key, value in schema.items()}
    return [translate_schema(value, language) for value in schema] if isinstance(schema, list) else schema


def _describe(help: Message | None) -> dict[str, Any]:
    return {} if help is None else {"description": help}


_ROW = {name: string() for name in ("id", "scope", "kind", "status", "title", "date", "path", "withheld")}
ROW = obj(_ROW)
HIT = obj({**_ROW, "score": {"type": "number"}, "snippet": string(), "note": string()})
WHOLE = obj(
    {
        **_ROW,
        "uid": string(),
        "tags": string_list(),
        "impact": string_list(),
        "supersedes": string_list(),
        "sections": array(obj({"name": string(), "text": string()})),
        "left_out": string_list(),
    }
)
REVIEW = obj(
    {
        **{name: string() for name in ("branch", "since", "standing", "host", "session")},
        "against": string_list(),
        "record": ROW,
    }
)
VERDICT = obj(
    {
        **{name: string() for name in ("verdict", "title", "kind", "id", "uid", "scope", "path", "status")},
        "reasons": string_list(),
        "next": string(),
        "similar": array(obj({"id": string(), "scope": string(), "title": string(), "score": {"type": "number"}})),
        "branch": string(),
        "commit": string(),
        "spooled": {"type": "boolean"},
    }
)
