"""The forms of what tools are asked and answer, as JSON Schema; a description may be `Said`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.i18n import Message

if TYPE_CHECKING:
    from typing import Any

    Schema = Mapping[str, Any]


def text(help: Message | None = None) -> dict[str, Any]:
    """Return the form of a text."""
    return {"type": "string", **_described(help)}


def words(help: Message | None = None) -> dict[str, Any]:
    """Return the form of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, **_described(help)}


def flag(help: Message) -> dict[str, Any]:
    """Return the form of a yes or no."""
    return {"type": "boolean", "default": False, **_described(help)}


def choice(help: Message, among: Sequence[str]) -> dict[str, Any]:
    """Return the form of one of several words."""
    return {"type": "string", "enum": list(among), **_described(help)}


def number(help: Message | None = None, least: int = 0, most: int | None = None, default: int | None = None) -> Any:
    """Return the form of a whole number."""
    limits = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", **{k: v for k, v in limits.items() if v is not None}, **_described(help)}


def listed(inner: Schema) -> dict[str, Any]:
    """Return the form of a list of *inner*."""
    return {"type": "array", "items": inner}


def obj(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the form of an object with *parts*; those in *maybe* may be missing."""
    required = [name for name in parts if name not in maybe]
    return {"type": "object", "properties": dict(parts), "required": required, "additionalProperties": False}


def spoken(schema: Any, language: str) -> Any:
    """Return *schema* with its descriptions in *language*."""
    if isinstance(schema, Message):
        return schema.translate(language)
    if isinstance(schema, Mapping):
        return {key: spoken(value, language) for key, value in schema.items()}
    return [spoken(value, language) for value in schema] if isinstance(schema, list) else schema


def _described(help: Message | None) -> dict[str, Any]:
    return {} if help is None else {"description": help}


_ROW = {name: text() for name in ("id", "scope", "kind", "status", "title", "date", "path", "withheld")}
ROW = obj(_ROW)
HIT = obj({**_ROW, "score": {"type": "number"}, "snippet": text(), "note": text()})
WHOLE = obj(
    {
        **_ROW,
        "uid": text(),
        "tags": words(),
        "impact": words(),
        "supersedes": words(),
        "sections": listed(obj({"name": text(), "text": text()})),
        "left_out": words(),
    }
)
REVIEW = obj(
    {
        **{name: text() for name in ("branch", "since", "standing", "host", "session")},
        "against": words(),
        "record": ROW,
    }
)
VERDICT = obj(
    {
        **{name: text() for name in ("verdict", "title", "kind", "id", "uid", "scope", "path", "status")},
        "reasons": words(),
        "next": text(),
        "similar": listed(obj({"id": text(), "scope": text(), "title": text(), "score": {"type": "number"}})),
        "branch": text(),
        "commit": text(),
        "spooled": {"type": "boolean"},
    }
)
