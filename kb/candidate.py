"""The documented JSON form of candidates: any tool may hand them in, nothing unexpected comes through."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from kb.errors import BadInput
from kb.kinds import KINDS, kind_named
from kb.record import Candidate, Evidence
from kb.words import Said, say

AREAS = ("architecture", "security", "performance", "compliance", "modules")
MAX_INPUT = 16_000_000

_TEXT = {"type": "string"}
_WORDS = {"type": "array", "items": _TEXT}
_MAYBE = {"type": ["boolean", "null"]}
_MAP = {"type": "object", "additionalProperties": _TEXT}

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "kb candidate",
    "description": "One record that a tool proposes to write. `kb write` takes one object or a list of them.",
    "type": "object",
    "required": ["kind", "title"],
    "additionalProperties": False,
    "properties": {
        "kind": {
            "enum": [kind.name for kind in KINDS],
            "description": "The prefix (D) or the Chinese label (决策) will do too.",
        },
        "title": {**_TEXT, "description": "What was decided about what, on one line."},
        "decision": {**_TEXT, "description": "What holds from now on; for a pitfall, what goes wrong."},
        "alternatives": {**_TEXT, "description": "What else was considered."},
        "why": {**_TEXT, "description": "The reasons."},
        "impact": {**_WORDS, "description": "Paths, relative to the project's root, of what it is about."},
        "verification": {**_TEXT, "description": "How to check that it holds. Never run by itself."},
        "rollback": {**_TEXT, "description": "How to undo it."},
        "tags": _WORDS,
        "scope": {**_TEXT, "description": "global or project/<name>; without it, the caller's project."},
        "project": {**_TEXT, "description": "Short for scope project/<name>."},
        "impact_areas": {"type": "array", "items": {"enum": list(AREAS)}},
        "claims": {**_MAP, "description": "Checkable facts: one value for a key among a scope's records."},
        "coexists_with": {
            **_MAP,
            "description": "Ids this seems to contradict and does not, each with the reason.",
        },
        "reusable": {**_MAYBE, "description": "Useful in other projects."},
        "affects_future": {**_MAYBE, "description": "Self-check: will it affect a later decision?"},
        "reference_value": {**_MAYBE, "description": "Self-check: will it be worth looking up?"},
        "prevents_repeat": {
            **_MAYBE,
            "description": "Self-check: does it prevent a repeated discussion or mistake?",
        },
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["quote"],
                "additionalProperties": False,
                "properties": {
                    "quote": _TEXT,
                    "source": _TEXT,
                    "line": {"type": "integer", "minimum": 0},
                    "time": _TEXT,
                },
            },
        },
        "supersedes": {**_WORDS, "description": "Ids this replaces."},
        "amends": {**_WORDS, "description": "Ids this replaces in part."},
        "updates": {
            **_TEXT,
            "description": "The id of the record whose sections these are, for a tool that keeps one record current.",
        },
        "session": {
            **_TEXT,
            "description": "The session it comes from; repetition is counted over sessions.",
        },
        "host": {**_TEXT, "description": "The program that hands it in."},
    },
}


def parse(data: bytes, source: str = "-") -> list[Candidate]:
    """Return the candidates in the JSON *data*; raise BadInput naming the item, the field and what it should be."""
    if len(data) > MAX_INPUT:
        raise BadInput(
            say("the input has {size} bytes; at most {limit} are read", size=len(data), limit=MAX_INPUT),
            path=source,
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            say("the input is not valid UTF-8"), path=source, line=data.count(b"\n", 0, error.start) + 1
        ) from None
    if not text.strip():
        raise BadInput(say("the input is empty"), path=source, hint=say("the form of a candidate: kb write --schema"))
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise BadInput(say("not valid JSON: {problem}", problem=error.msg), path=source, line=error.lineno) from None
    except RecursionError:
        raise BadInput(say("not valid JSON: {problem}", problem="nested too deep"), path=source) from None
    return candidates(value, source)


def candidates(value: object, source: str = "-") -> list[Candidate]:
    """Return the candidates in a parsed JSON *value*: one object or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [
        _candidate(item, f"{source}[{number}]" if isinstance(value, list) else source)
        for number, item in enumerate(items)
    ]


def as_json(candidate: Candidate) -> dict[str, Any]:
    """Return *candidate* in its JSON form, without what is empty; `candidates` reads it back equal."""
    values = {key: value for key, value in candidate._asdict().items() if value not in ("", (), None) and value != {}}
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    if candidate.evidence:
        values["evidence"] = [
            {k: v for k, v in e._asdict().items() if v} | {"quote": e.quote} for e in candidate.evidence
        ]
    return {**values, "kind": candidate.kind, "title": candidate.title}


def _refuse_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is no JSON number", name, 0)


def _candidate(item: object, place: str) -> Candidate:
    if not isinstance(item, dict):
        raise BadInput(
            say("a candidate is a JSON object, not {kind}", kind=_json_type(item)),
            path=place,
            hint=say("the form of a candidate: kb write --schema"),
        )
    for problem in _problems(item):
        raise BadInput(problem, path=place, hint=say("the form of a candidate: kb write --schema"))
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in item.items() if value is not None
    }
    kind = kind_named(str(values["kind"]))
    assert kind is not None
    if "project" in values:
        project = values.pop("project")
        values.setdefault("scope", f"project/{project}" if project else "")
    values["evidence"] = tuple(Evidence(**evidence) for evidence in values.get("evidence", ()))
    return Candidate(**{**values, "kind": kind.name})


def _problems(item: Mapping[str, Any]) -> Iterator[Said]:
    properties = SCHEMA["properties"]
    for key in ("kind", "title"):
        if not isinstance(item.get(key), str):
            yield say("the field {key} is missing or no text", key=key)
    for key, value in item.items():
        if key not in properties:
            yield say("there is no field {key}", key=key)
        elif not _fits(value, properties[key]) and key != "kind":
            yield say(
                "the field {key} must be {wanted}, not {kind}",
                key=key,
                wanted=_wanted(properties[key]),
                kind=_json_type(value),
            )
    if isinstance(item.get("kind"), str) and kind_named(item["kind"]) is None:
        yield say(
            "there is no kind {kind}; there are: {kinds}",
            kind=item["kind"],
            kinds=", ".join(k.name for k in KINDS),
        )


def _fits(value: object, schema: Mapping[str, Any]) -> bool:
    """Tell whether *value* has the type and range *schema* asks for; null stands for an absent optional field."""
    if value is None:
        return True
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if _json_type(value) not in kinds and not (_json_type(value) == "integer" and "number" in kinds):
        return False
    if isinstance(value, list):
        return all(item is not None and _fits(item, schema["items"]) for item in value)
    if isinstance(value, dict):
        inner, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        named = all(key in value for key in schema.get("required", ()))
        return named and all(
            item is not None and (_fits(item, inner[key]) if key in inner else rest and _fits(item, rest))
            for key, item in value.items()
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return math.isfinite(value) and schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
    return True


def _wanted(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(schema["enum"])
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    within = f" {schema['minimum']}–{schema['maximum']}" if "maximum" in schema else ""
    inner = schema.get("items", schema.get("additionalProperties"))
    return f"{kind}{within}" + (f" of {_wanted(inner)}" if isinstance(inner, dict) else "")


def _json_type(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
