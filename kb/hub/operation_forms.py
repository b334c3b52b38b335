"""JSON schemas of the arguments and answers of the hub, for REST, OpenAPI and the MCP tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb.i18n import Message, msg
from kb.records import candidate
from kb.records.kinds import KINDS
from kb.records.model import Status

Schema = Mapping[str, Any]
MAX_PAGE = 500
_NAME = r"^[A-Za-z0-9._-]{1,100}$"
_ID = r"^[A-Za-z0-9._:-]{1,120}$"


def build_form(kind: str, help: Message | None = None, **limits: Any) -> dict[str, Any]:
    """Return the schema of a value of the JSON type *kind*, with *help* as its description."""
    return {"type": kind, **limits, **({} if help is None else {"description": help})}


def build_object_form(parts: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schema of an object with exactly the properties *parts*."""
    return {"type": "object", "properties": dict(parts), "required": list(parts), "additionalProperties": False}


def build_list_form(parts: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schema of a list of such objects."""
    return build_form("array", items=build_object_form(parts))


TEXT, NUMBER, FLAG = build_form("string"), build_form("integer", minimum=0), build_form("boolean")
TEXTS = build_form("array", items=TEXT)
ROW: Mapping[str, Schema] = {
    **dict.fromkeys("repository name id uid scope kind status title date path withheld".split(), TEXT),
    "tags": TEXTS,
}
HIT: Mapping[str, Schema] = {
    **ROW,
    "score": build_form("number"),
    "snippet": TEXT,
    **dict.fromkeys(("whole", "told"), FLAG),
}
WHOLE_RECORD: Mapping[str, Schema] = {
    **ROW,
    **dict.fromkeys(("impact", "supersedes", "amends"), TEXTS),
    "sections": build_list_form(dict.fromkeys(("name", "heading", "text"), TEXT)),
    "user": TEXT,
}
_NAMED = build_object_form({**ROW, "wiki": TEXT})
PAIR = {**dict.fromkeys(("one", "other"), _NAMED), "reason": TEXT, "score": build_form("number")}
_FOUND = {"oneOf": [_NAMED, {"type": "null"}]}
LINK: Mapping[str, Schema] = {"record": _NAMED, "relation": TEXT, "target": TEXT, "found": _FOUND}
REPORT: Mapping[str, Schema] = {
    "repository": TEXT,
    **dict.fromkeys(("contradictions", "duplicates"), build_list_form(PAIR)),
    "links": build_list_form(LINK),
    "compared": NUMBER,
}
VERDICT: Mapping[str, Schema] = {
    **dict.fromkeys("verdict title kind id uid scope path status next branch".split(), TEXT),
    "reasons": TEXTS,
    "similar": build_list_form(dict.fromkeys(("id", "scope", "title"), TEXT)),
    "candidate": {"type": ["object", "null"]},
}
BRANCH: Mapping[str, Schema] = {
    **dict.fromkeys("name commit patch problem remarks".split(), TEXT),
    **dict.fromkeys(("is_pushed", "is_new"), FLAG),
}
REPOSITORY = build_form("string", msg("The name of the repository."), pattern=_NAME, minLength=1, maxLength=100)
FILTERS: Mapping[str, Schema] = {
    "repository": {**REPOSITORY, "description": msg("Only this repository.")},
    "kind": build_form("string", msg("Only this kind."), enum=[kind.name for kind in KINDS]),
    "status": build_form("string", msg("Only this status."), enum=[str(status) for status in Status]),
    "scope": build_form("string", msg("global or project/<name>; without it, all."), maxLength=200),
    "tag": build_form("string", msg("Only with this tag."), maxLength=200),
    "since": build_form("string", msg("Only from this day on."), format="date"),
    "until": build_form("string", msg("Only up to this day."), format="date"),
    "path": build_form("string", msg("Only what governs this file."), maxLength=500),
}
PROJECT = build_form(
    "string",
    msg("The project you ask for: its records, and those of its groups in any repository, come first."),
    minLength=1,
    maxLength=100,
)
_AFTER = build_form("string", msg("The value of `next` from the previous page."), maxLength=500)


def build_limit_form(most: int, default: int) -> dict[str, Any]:
    """Return the schema of the maximum number of records."""
    return build_form("integer", msg("The maximum number of records."), minimum=1, maximum=most, default=default)


PAGING: Mapping[str, Schema] = {"limit": build_limit_form(MAX_PAGE, 100), "after": _AFTER}
RECORD_ID = build_form("string", msg("The id or uid of the record."), pattern=_ID, minLength=1, maxLength=120)
CANDIDATE = {key: value for key, value in candidate.SCHEMA.items() if not key.startswith("$")}
FEED = build_object_form({"documents": build_list_form({**ROW, "text": TEXT, "location": TEXT}), "next": TEXT})
