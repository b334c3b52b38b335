"""The documented JSON form of candidates, validated strictly because any tool may submit them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.records.kinds import COMMON_FIELDS, KINDS, SECTIONS, Kind, KindField, find_kind, list_fields
from kb.records.model import SCOPE, Candidate, Evidence, Record, is_day
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
"""Characters of a caller's value that a message repeats."""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
"""The JSON type of each Python type; bool first because it is a subclass of int."""
SEE_FORM = msg("the form of a candidate: kb write --schema")
"""The next step for a caller whose input has another form."""
_ELSEWHERE = {
    "body": "decision", "content": "decision", "description": "decision", "files": "impact", "options": "alternatives",
    "paths": "impact", "quotes": "evidence", "rationale": "why", "reason": "why", "reasons": "why", "text": "decision",
    "type": "kind", "verify": "verification",
}  # fmt: skip
"""Field names used in templates of decisions → the names used here."""

_TEXT = {"type": "string"}
_DAY = {"type": "string", "format": "date"}
_WORDS = {"type": "array", "items": _TEXT}
_MAYBE = {"type": ["boolean", "null"]}
_MAP = {"type": "object", "additionalProperties": _TEXT}
_EVIDENCE = {
    "type": "object",
    "required": ["quote"],
    "additionalProperties": False,
    "properties": {"quote": _TEXT, "source": _TEXT, "line": {"type": "integer", "minimum": 0}, "time": _TEXT},
}


def _describe(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return *schema* with its *description*."""
    return {**schema, "description": description}


def _describe_own(names: Callable[[Kind], Iterable[str]], text: str) -> str:
    """Return *text* with the kind-specific names of each kind, from the table of kinds."""
    rows = (f"{kind.name}: {', '.join(names(kind))}" for kind in KINDS if names(kind))
    return f"{text} {'; '.join(rows)}."


def _build_field_schema(field: KindField) -> dict[str, Any]:
    """Return the JSON schema of a kind-specific key."""
    if field.type == "enum":
        return _describe({"enum": list(field.words)}, field.description)
    if field.type == "number":
        return _describe({"type": "number", "minimum": field.least, "maximum": field.most}, field.description)
    if field.type == "date":
        return _describe(_DAY, field.description)
    return _describe(_WORDS if field.type == "strings" else _TEXT, field.description)


FIELDS = {field.name: _build_field_schema(field) for kind in KINDS for field in list_fields(kind.name)}
"""The JSON schema of every kind-specific front matter key."""

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "kb candidate",
    "description": "One record that a tool proposes to write. `kb write` takes one object or a list of them.",
    "type": "object",
    "required": ["kind", "title"],
    "additionalProperties": False,
    "properties": {
        "kind": _describe(
            {"enum": [kind.name for kind in KINDS]}, "The prefix (D) or the Chinese label (决策) will do too."
        ),
        "title": _describe(_TEXT, "What was decided about what, on one line."),
        "decision": _describe(_TEXT, "What holds from now on; for a pitfall, what goes wrong."),
        "alternatives": _describe(_TEXT, "What else was considered."),
        "why": _describe(_TEXT, "The reasons."),
        "impact": _describe(_WORDS, "Paths, relative to the project's root, of what it is about."),
        "verification": _describe(_TEXT, "How to check that it holds. Never run by itself."),
        "rollback": _describe(_TEXT, "How to undo it."),
        "sections": {
            "type": "object",
            "additionalProperties": False,
            "properties": {one.name: _TEXT for one in SECTIONS if not one.is_shared},
            "description": _describe_own(lambda kind: kind.sections, "Further sections of its kind, as text."),
        },
        "fields": {
            "type": "object",
            "additionalProperties": False,
            "properties": FIELDS,
            "description": _describe_own(
                lambda kind: [field.name for field in kind.fields],
                f"Further front matter. Every kind: {', '.join(field.name for field in COMMON_FIELDS)};",
            ),
        },
        "tags": _WORDS,
        "scope": _describe(_TEXT, "global or project/<name>; without it, the caller's project."),
        "project": _describe(_TEXT, "Short for scope project/<name>."),
        "impact_areas": {"type": "array", "items": {"enum": list(AREAS)}},
        "claims": _describe(_MAP, "Checkable facts: one value for a key among a scope's records."),
        "coexists_with": _describe(_MAP, "Ids this seems to contradict and does not, each with the reason."),
        "reusable": _describe(_MAYBE, "Useful in other projects."),
        "affects_future": _describe(_MAYBE, "Self-check: will it affect a later decision?"),
        "reference_value": _describe(_MAYBE, "Self-check: will it be worth looking up?"),
        "prevents_repeat": _describe(_MAYBE, "Self-check: does it prevent a repeated discussion or mistake?"),
        "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "cost": _describe({"type": ["integer", "null"], "minimum": 0}, "Tool calls that it took to find out."),
        "evidence": {"type": "array", "items": _EVIDENCE},
        "supersedes": _describe(_WORDS, "Ids this replaces."),
        "amends": _describe(_WORDS, "Ids this replaces in part."),
        "updates": _describe(
            _TEXT, "The id of the record whose sections these are, for a tool that keeps one record current."
        ),
        "session": _describe(_TEXT, "The session it comes from; repetition is counted over sessions."),
        "host": _describe(_TEXT, "The program that submits it."),
    },
}


# -- reading --------------------------------------------------------------------------------------


def parse_candidates(data: bytes, source: str = "-") -> list[Candidate]:
    """Return the candidates in the JSON *data*; raise BadInput with item, field and expected value.

    Refuse a repeated field: JSON does not define which of the two values counts.
    """
    if len(data) > MAX_INPUT:
        message = msg("the input has {size} bytes; at most {limit} are read", size=len(data), limit=MAX_INPUT)
        raise BadInput(message, path=source)
    line = 0
    try:
        text = data.decode("utf-8-sig")
        if not text.strip():
            raise BadInput(msg("the input is empty"), path=source, hint=SEE_FORM)
        value = json.loads(text, object_pairs_hook=partial(_refuse_duplicate_keys, source))
    except UnicodeDecodeError as error:
        message, line = msg("the input is not valid UTF-8"), data.count(b"\n", 0, error.start) + 1
    except json.JSONDecodeError as error:
        message, line = msg("not valid JSON: {problem}", problem=error.msg), error.lineno
    except RecursionError:
        message = msg("not valid JSON: {problem}", problem="nested too deep")
    except ValueError:
        message = msg("not valid JSON: {problem}", problem="a number has too many digits")
    else:
        return build_candidates(value, source)
    raise BadInput(message, path=source, line=line)


def _refuse_duplicate_keys(source: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise BadInput(msg("the field {key} appears twice in one object", key=clip(key, _SHOWN)), path=source)
        values[key] = value
    return values


def build_candidates(value: object, source: str = "-") -> list[Candidate]:
    """Return the candidates in a parsed JSON *value*: one object or a list of them."""
    if not isinstance(value, list):
        return [_build_candidate(value, source)]
    return [_build_candidate(item, f"{source}[{number}]") for number, item in enumerate(value)]


_RECORD_KEYS = ("kind", "title", "impact", "tags", "scope", "claims", "coexists_with", "supersedes", "amends")


def build_record_candidate(record: Record) -> Candidate:
    """Return the candidate that would produce *record*."""
    values = {key: getattr(record, key) for key in _RECORD_KEYS}
    return Candidate(decision=record.section("decision"), why=record.section("why"), **values)


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    """Return *candidate* as JSON without empty fields; `build_candidates` reads it back equal."""
    values: dict[str, Any] = {}
    for key, value in candidate._asdict().items():
        if key in ("kind", "title") or (value not in ("", (), None) and value != {}):
            values[key] = _make_plain(value)
    if candidate.evidence:
        rows = (evidence._asdict() for evidence in candidate.evidence)
        values["evidence"] = [{k: v for k, v in row.items() if v or k == "quote"} for row in rows]
    return values


def _make_plain(value: object) -> object:
    """Return *value* with JSON's lists and objects."""
    if isinstance(value, Mapping):
        return {key: _make_plain(inner) for key, inner in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _build_candidate(item: object, place: str) -> Candidate:
    if not isinstance(item, dict):
        message = msg("a candidate is a JSON object, not {kind}", kind=_name_json_type(item))
        raise BadInput(message, path=place, hint=SEE_FORM)
    for problem in _find_problems(item):
        raise BadInput(problem, path=place, hint=SEE_FORM)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in item.items() if v is not None}
    if project := values.pop("project", ""):
        values["scope"] = f"project/{project}"
    values["fields"] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.get("fields", {}).items()}
    values["evidence"] = tuple(Evidence(**evidence) for evidence in values.get("evidence", ()))
    kind = find_kind(values["kind"])
    assert kind is not None
    return Candidate(**{**values, "kind": kind.name})


def _find_problems(item: Mapping[str, Any]) -> Iterator[Message]:
    """Yield the problems of *item* as a candidate, the most important first."""
    properties = SCHEMA["properties"]
    for key in ("kind", "title"):
        if not isinstance(item.get(key), str):
            yield msg("the field {key} is missing or no text", key=key)
    for key, value in item.items():
        if key not in properties and (key in FIELDS or key in properties["sections"]["properties"]):
            inside = "fields" if key in FIELDS else "sections"
            yield msg("{key} is given inside {inside}: {{{inside}: {{{key}: …}}}}", key=key, inside=inside)
        elif key not in properties:
            yield _describe_unknown_field(key, properties)
        elif key != "kind" and value is not None:
            yield from find_schema_errors(value, properties[key], key)
    kind = find_kind(item["kind"])
    if kind is None:
        kinds = [kind.name for kind in KINDS]
        yield msg("there is no kind {kind}; there are: {kinds}", kind=clip(item["kind"], _SHOWN), kinds=kinds)
    else:
        yield from _find_foreign_names(item, kind)
    scope = item.get("scope")
    if project := item.get("project"):
        if scope and scope != f"project/{project}":
            yield msg("the fields {one} and {other} contradict each other", one="scope", other="project")
        scope = f"project/{project}"
    if scope and not _SCOPE.fullmatch(scope):
        yield msg("the field {key} must be {wanted}", key="scope", wanted="global | project/<name>")


def _describe_unknown_field(key: str, known: Iterable[str]) -> Message:
    """Return that the field *key* is unknown, with the *known* one that was probably meant."""
    from difflib import get_close_matches

    word = clip(key, _SHOWN)
    near = _ELSEWHERE.get(word.lower()) or next(iter(get_close_matches(word.lower(), known, 1)), None)
    if near is None:
        return msg("there is no field {key}", key=word)
    return msg("there is no field {key}; did you mean {near}?", key=word, near=near)


def _find_foreign_names(item: Mapping[str, Any], kind: Kind) -> Iterator[Message]:
    """Yield the sections and kind-specific fields of *item* that its *kind* does not have."""
    for place, own in (("sections", kind.sections), ("fields", tuple(field.name for field in list_fields(kind.name)))):
        for name in item.get(place) or {}:
            if name not in own:
                values = {"kind": kind.name, "place": place, "name": clip(name, _SHOWN), "own": ", ".join(own) or "–"}
                yield msg("a {kind} has no {name} among its {place}; it may have: {own}", **values)


# -- JSON Schema, as far as SCHEMA uses it --------------------------------------------------------


def find_schema_errors(value: object, schema: Mapping[str, Any], place: str) -> Iterator[Message]:
    """Yield the ways in which *value* at *place* violates *schema*."""
    if not _has_type(value, schema):
        yield _describe_schema_error(value, schema, place)
    elif isinstance(value, str) and not value.isascii() and _HALF.search(value):
        yield msg("the field {key} holds a lone surrogate (half of a UTF-16 pair)", key=place)
    elif schema.get("format") == "date" and not is_day(str(value)):
        yield msg("the field {key} must be a day such as {example}, not {value}", key=place, **_show_day(str(value)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from find_schema_errors(inner, schema["items"], f"{place}[{number}]")
    elif isinstance(value, dict):
        fields, rest = schema.get("properties", {}), schema["additionalProperties"]
        for key in schema.get("required", ()):
            if key not in value:
                yield msg("the field {key} is missing or no text", key=f"{place}.{key}")
        for key, item in value.items():
            inside = f"{place}.{clip(key, _SHOWN)}"
            if key not in fields and not rest:
                yield msg("there is no field {key}", key=inside)
            else:
                yield from find_schema_errors(key, _TEXT, inside)
                yield from find_schema_errors(item, fields.get(key, rest), inside)


def _show_day(value: str) -> dict[str, str]:
    return {"example": "2027-01-31", "value": clip(value, _SHOWN) or "–"}


def _has_type(value: object, schema: Mapping[str, Any]) -> bool:
    """Return whether *value* itself, not its contents, has the type and range of *schema*."""
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = _name_json_type(value)
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        return False
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    return not isinstance(value, int | float) or bool(least <= value <= most)


def _describe_schema_error(value: object, schema: Mapping[str, Any], place: str) -> Message:
    """Describe what *value* should be: its type, and its range or choices if *schema* has them."""
    shown = clip(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)
    least, most = schema.get("minimum"), schema.get("maximum")
    if most is not None:
        bounds = {"least": least, "most": most}
        return msg(
            "the field {key} must be a number from {least} to {most}, not {value}", key=place, value=shown, **bounds
        )
    if least is not None:
        return msg(
            "the field {key} must be a whole number from {least} on, not {value}", key=place, value=shown, least=least
        )
    kind = shown if "enum" in schema else _name_json_type(value)
    return msg("the field {key} must be {wanted}, not {kind}", key=place, wanted=_describe_type(schema), kind=kind)


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
