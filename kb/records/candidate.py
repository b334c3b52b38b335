"""The documented JSON form of candidates: any tool may hand them in, nothing unexpected comes through."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.records.kinds import KINDS, find_kind
from kb.records.model import SCOPE, Candidate, Evidence
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import clip

if TYPE_CHECKING:
    from typing import Any

AREAS = ("architecture", "security", "performance", "compliance", "modules")
MAX_INPUT = 16_000_000

_SCOPE = regex(SCOPE)
_HALF = regex("[\ud800-\udfff]")
_SHOWN = 60
"""Characters of a caller's word that a message repeats."""
_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}

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


def parse_candidates(data: bytes, source: str = "-") -> list[Candidate]:
    """Return the candidates in the JSON *data*; raise BadInput naming the item, the field and what it should be.

    A field that stands in one object twice is refused: no order of fields means anything in JSON.
    """
    if len(data) > MAX_INPUT:
        raise BadInput(
            msg("the input has {size} bytes; at most {limit} are read", size=len(data), limit=MAX_INPUT),
            path=source,
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            msg("the input is not valid UTF-8"), path=source, line=data.count(b"\n", 0, error.start) + 1
        ) from None
    if not text.strip():
        raise BadInput(msg("the input is empty"), path=source, hint=SEE_FORM)
    try:
        value = json.loads(text, object_pairs_hook=_refuse_duplicate_keys)
    except json.JSONDecodeError as error:
        raise BadInput(msg("not valid JSON: {problem}", problem=error.msg), path=source, line=error.lineno) from None
    except RecursionError:
        raise BadInput(msg("not valid JSON: {problem}", problem="nested too deep"), path=source) from None
    except _DuplicateKey as error:
        raise BadInput(
            msg("the field {key} appears twice in one object", key=clip(error.key, _SHOWN)), path=source
        ) from None
    except ValueError:
        raise BadInput(msg("not valid JSON: {problem}", problem="a number has too many digits"), path=source) from None
    return build_candidates(value, source)


class _DuplicateKey(ValueError):
    """An object has the field *key* twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _DuplicateKey(key)
        values[key] = value
    return values


SEE_FORM = msg("the form of a candidate: kb write --schema")
"""The next step of who handed in something else."""


def build_candidates(value: object, source: str = "-") -> list[Candidate]:
    """Return the candidates in a parsed JSON *value*: one object or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [
        _build_candidate(item, f"{source}[{number}]" if isinstance(value, list) else source)
        for number, item in enumerate(items)
    ]


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    """Return *candidate* in its JSON form, without what is empty; `build_candidates` reads it back equal."""
    values = {key: value for key, value in candidate._asdict().items() if value not in ("", (), None) and value != {}}
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    values = {key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    if candidate.evidence:
        values["evidence"] = [
            {k: v for k, v in e._asdict().items() if v} | {"quote": e.quote} for e in candidate.evidence
        ]
    return {**values, "kind": candidate.kind, "title": candidate.title}


def _build_candidate(item: object, place: str) -> Candidate:
    if not isinstance(item, dict):
        raise BadInput(
            msg("a candidate is a JSON object, not {kind}", kind=_name_json_type(item)),
            path=place,
            hint=SEE_FORM,
        )
    for problem in _find_problems(item):
        raise BadInput(problem, path=place, hint=SEE_FORM)
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in item.items() if value is not None
    }
    kind = find_kind(str(values["kind"]))
    assert kind is not None
    project = values.pop("project", "")
    if project:
        values["scope"] = f"project/{project}"
    values["evidence"] = tuple(Evidence(**evidence) for evidence in values.get("evidence", ()))
    return Candidate(**{**values, "kind": kind.name})


def _find_problems(item: Mapping[str, Any]) -> Iterator[Message]:
    properties = SCHEMA["properties"]
    for key in ("kind", "title"):
        if not isinstance(item.get(key), str):
            yield msg("the field {key} is missing or no text", key=key)
    for key, value in item.items():
        if key not in properties:
            yield msg("there is no field {key}", key=clip(key, _SHOWN))
        elif key != "kind" and value is not None:
            yield from find_schema_errors(value, properties[key], key)
    if isinstance(item.get("kind"), str) and find_kind(item["kind"]) is None:
        yield msg(
            "there is no kind {kind}; there are: {kinds}",
            kind=clip(item["kind"], _SHOWN),
            kinds=", ".join(k.name for k in KINDS),
        )
    yield from _find_scope_problems(item.get("scope"), item.get("project"))


def _find_scope_problems(scope: object, project: object) -> Iterator[Message]:
    if isinstance(project, str) and project:
        if scope and scope != f"project/{project}":
            yield msg("the fields {one} and {other} contradict each other", one="scope", other="project")
        scope = f"project/{project}"
    if isinstance(scope, str) and scope and not _SCOPE.fullmatch(scope):
        yield msg("the field {key} must be {wanted}", key="scope", wanted="global | project/<name>")


def find_schema_errors(value: object, schema: Mapping[str, Any], place: str) -> Iterator[Message]:
    """Yield what keeps *value* from being what *schema* (JSON Schema, as far as SCHEMA uses it) asks for at *place*."""
    if not _has_type(value, schema):
        yield _describe_schema_error(value, schema, place)
    elif isinstance(value, str):
        if _HALF.search(value):
            yield msg("the field {key} holds half a character (a lone surrogate)", key=place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from find_schema_errors(inner, schema["items"], f"{place}[{number}]")
    elif isinstance(value, dict):
        yield from _find_object_errors(value, schema, place)


def _describe_schema_error(value: object, schema: Mapping[str, Any], place: str) -> Message:
    """Say what *value* should be: where a range or a list of words is asked for, its type alone says nothing."""
    shown = clip(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)
    if "maximum" in schema:
        least, most = schema["minimum"], schema["maximum"]
        return msg(
            "the field {key} must be a number from {least} to {most}, not {value}",
            key=place, least=least, most=most, value=shown,
        )  # fmt: skip
    if "minimum" in schema:
        least = schema["minimum"]
        return msg(
            "the field {key} must be a whole number from {least} on, not {value}", key=place, least=least, value=shown
        )
    kind = shown if "enum" in schema else _name_json_type(value)
    return msg("the field {key} must be {wanted}, not {kind}", key=place, wanted=_describe_type(schema), kind=kind)


def _find_object_errors(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[Message]:
    inner, rest = schema.get("properties", {}), schema["additionalProperties"]
    for key in schema.get("required", ()):
        if key not in value:
            yield msg("the field {key} is missing or no text", key=f"{place}.{key}")
    for key, item in value.items():
        if key not in inner and not rest:
            yield msg("there is no field {key}", key=f"{place}.{clip(key, _SHOWN)}")
        else:
            inside = f"{place}.{clip(key, _SHOWN)}"
            yield from find_schema_errors(key, _TEXT, inside)
            yield from find_schema_errors(item, inner.get(key, rest), inside)


def _has_type(value: object, schema: Mapping[str, Any]) -> bool:
    """Return whether *value* itself, without what is in it, has the type and range *schema* asks for."""
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if _name_json_type(value) not in kinds and not (_name_json_type(value) == "integer" and "number" in kinds):
        return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        within: bool = schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        return within
    return True


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(schema["enum"])
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    inner = schema.get("items", schema.get("additionalProperties"))
    return f"{kind} of {_describe_type(inner)}" if isinstance(inner, dict) else str(kind)


def _name_json_type(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return next((name for kind, name in _TYPES.items() if isinstance(value, kind)), "null")
