"""Tests of kb.records.candidate: the documented JSON form of candidates."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadInput
from kb.records.candidate import AREAS, MAX_INPUT, SCHEMA, build_candidates, candidate_to_json, parse_candidates
from kb.records.kinds import KINDS
from kb.records.model import Candidate, Evidence

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.lists(TEXT, max_size=3).map(tuple)
MAYBE = st.none() | st.booleans()
EVIDENCE = st.builds(Evidence, quote=TEXT, source=TEXT, line=st.integers(0, 10**20), time=TEXT)
CANDIDATES = st.builds(
    Candidate, kind=st.sampled_from([kind.name for kind in KINDS]), title=TEXT, decision=TEXT, alternatives=TEXT,
    why=TEXT, impact=WORDS, verification=TEXT, rollback=TEXT, tags=WORDS,
    scope=st.sampled_from(["", "global", "project/a.b", "project/商店"]),
    impact_areas=st.lists(st.sampled_from(AREAS), unique=True).map(tuple),
    claims=st.dictionaries(TEXT, TEXT, max_size=2), coexists_with=st.dictionaries(TEXT, TEXT, max_size=2),
    reusable=MAYBE,
    affects_future=MAYBE, reference_value=MAYBE,
    prevents_repeat=MAYBE, confidence=st.none() | st.floats(0, 1), evidence=st.lists(EVIDENCE, max_size=2).map(tuple),
    supersedes=WORDS, amends=WORDS, updates=TEXT, session=TEXT, host=TEXT,
)  # fmt: skip


@given(st.lists(CANDIDATES, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_what_is_written_is_read_back(wanted: list[Candidate], plain: bool, mark: bool) -> None:
    forms = [candidate_to_json(candidate) for candidate in wanted]
    data = ("\ufeff" if mark else "") + json.dumps(forms, ensure_ascii=plain, allow_nan=False)
    assert parse_candidates(data.encode()) == wanted
    assert parse_candidates(json.dumps(forms[0]).encode()) == wanted[:1]


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({"kind": "D", "title": "x"}, Candidate("decision", "x")),
        ({"kind": "决策", "title": "x"}, Candidate("decision", "x")),
        ({"kind": "pitfalls", "title": "x", "project": "shop"}, Candidate("pitfall", "x", scope="project/shop")),
        ({"kind": "ck", "title": "x", "scope": "global", "project": ""}, Candidate("checklist", "x", scope="global")),
        (
            {"kind": "D", "title": "x", "scope": "project/shop", "project": "shop"},
            Candidate("decision", "x", scope="project/shop"),
        ),
        (
            {"kind": "D", "title": "", "why": None, "tags": None, "claims": None, "evidence": None, "confidence": None},
            Candidate("decision", ""),
        ),
        (
            {"kind": "D", "title": "a\nb|c\u0000\u202e😀" + "x" * 10_000},
            Candidate("decision", "a\nb|c\0\u202e😀" + "x" * 10_000),
        ),
        ({"kind": "D", "title": "x", "confidence": 1}, Candidate("decision", "x", confidence=1)),
    ],
)
def test_what_is_accepted(form: dict[str, Any], wanted: Candidate) -> None:
    assert parse_candidates(json.dumps(form).encode()) == [wanted]


WRONG: list[tuple[str, Any, str]] = [
    ("kind", 1, "kind is missing or no text"),
    ("kind", None, "kind is missing or no text"),
    ("kind", "memory", "there is no kind memory; there are: decision"),
    ("kind", "m" * 1000, "there is no kind mmm"),
    ("title", ["x"], "title is missing or no text"),
    ("title", None, "title is missing or no text"),
    ("title", "a\ud800", "title holds a lone surrogate"),
    ("why", 5, "why must be string, not integer"),
    ("why", True, "why must be string, not boolean"),
    ("decision", {"a": "b"}, "decision must be string, not object"),
    ("tags", "a", "tags must be array of string, not string"),
    ("tags", ["a", 1], "tags[1] must be string, not integer"),
    ("tags", ["a", None], "tags[1] must be string, not null"),
    ("tags", [["a"]], "tags[0] must be string, not array"),
    ("tags", ["\udfff"], "tags[0] holds a lone surrogate"),
    ("impact_areas", ["speed"], "impact_areas[0] must be architecture | security"),
    ("impact_areas", ["speed"], '| modules, not "speed"'),
    ("impact_areas", [["速度"]], '| modules, not ["速度"]'),
    ("claims", ["a"], "claims must be object of string, not array"),
    ("claims", {"a": 1}, "claims.a must be string, not integer"),
    ("claims", {"a": None}, "claims.a must be string, not null"),
    ("claims", {"\ud800": "x"}, "claims.\ufffd holds a lone surrogate"),
    ("reusable", 1, "reusable must be boolean, not integer"),
    ("reusable", "yes", "reusable must be boolean, not string"),
    ("confidence", 1.01, "confidence must be a number from 0 to 1, not 1.01"),
    ("confidence", 7, "confidence must be a number from 0 to 1, not 7"),
    ("confidence", -1, "confidence must be a number from 0 to 1, not -1"),
    ("confidence", 10**400, "confidence must be a number from 0 to 1, not 1000000000"),
    ("confidence", True, "confidence must be a number from 0 to 1, not true"),
    ("confidence", "高", 'confidence must be a number from 0 to 1, not "高"'),
    ("confidence", [0.5], "confidence must be a number from 0 to 1, not [0.5]"),
    ("confidence", math.nan, "confidence must be a number from 0 to 1, not NaN"),
    ("confidence", math.inf, "confidence must be a number from 0 to 1, not Infinity"),
    ("confidence", -math.inf, "confidence must be a number from 0 to 1, not -Infinity"),
    ("title", math.nan, "title is missing or no text"),
    ("why", math.nan, "why must be string, not NaN"),
    ("evidence", {"quote": "x"}, "evidence must be array of object, not object"),
    ("evidence", ["x"], "evidence[0] must be object, not string"),
    ("evidence", [{}], "evidence[0].quote is missing"),
    ("evidence", [{"quote": 1}], "evidence[0].quote must be string, not integer"),
    (
        "evidence",
        [{"quote": "x"}, {"quote": "x", "line": "1"}],
        'evidence[1].line must be a whole number from 0 on, not "1"',
    ),
    ("evidence", [{"quote": "x", "line": 1.0}], "evidence[0].line must be a whole number from 0 on, not 1.0"),
    ("evidence", [{"quote": "x", "line": True}], "evidence[0].line must be a whole number from 0 on, not true"),
    ("evidence", [{"quote": "x", "line": -1}], "evidence[0].line must be a whole number from 0 on, not -1"),
    ("evidence", [{"quote": "x", "page": 1}], "there is no field evidence[0].page"),
    ("Title", "x", "there is no field Title; did you mean title?"),
    ("verify", "x", "there is no field verify; did you mean verification?"),
    ("rationale", "x", "there is no field rationale; did you mean why?"),
    ("id", "D001", "there is no field id"),
    ("x" * 1000, 1, "there is no field xxx"),
    ("scope", "shop", "scope must be global | project/<name>"),
    ("scope", "project/", "scope must be global | project/<name>"),
    ("scope", "project/../x", "scope must be global | project/<name>"),
    ("scope", "project/..", "scope must be global | project/<name>"),
    ("project", "a/b", "scope must be global | project/<name>"),
    ("project", "a\\b", "scope must be global | project/<name>"),
    ("project", 1, "project must be string, not integer"),
]


@pytest.mark.parametrize(("field", "value", "problem"), WRONG)
def test_what_is_refused_names_item_and_field(field: str, value: Any, problem: str) -> None:
    form = {"kind": "decision", "title": "x", field: value}
    for data, place in ((form, "c.json"), ([{"kind": "D", "title": "y"}, form], "c.json[1]")):
        with pytest.raises(BadInput) as caught:
            parse_candidates(json.dumps(data).encode(), "c.json")
        assert problem in str(caught.value)
        assert caught.value.path == place
        assert len(str(caught.value)) < 300
        assert "--schema" in str(caught.value.hint)


def test_scope_and_project_must_agree() -> None:
    with pytest.raises(BadInput, match="scope and project contradict"):
        parse_candidates(b'{"kind": "D", "title": "x", "scope": "global", "project": "shop"}')


@pytest.mark.parametrize(
    ("data", "problem", "line"),
    [
        (b"", "empty", 0),
        (b" \n\t", "empty", 0),
        (b"\xef\xbb\xbf", "empty", 0),
        (b"[1,\n\xff]", "not valid UTF-8", 2),
        ('{"kind": "D"}'.encode("utf-16"), "not valid UTF-8", 1),
        (b"\x7fELF\x01\x00\x00", "not valid JSON", 1),
        (b'{"kind": "D",\n "title": }', "not valid JSON", 2),
        (b'{"kind": "D"} {}', "not valid JSON", 1),
        (b'{"kind": "D", "title": "x"', "not valid JSON", 1),
        (b'"text"', "a candidate is a JSON object, not string", 0),
        (b"null", "a candidate is a JSON object, not null", 0),
        (b"NaN", "a candidate is a JSON object, not NaN", 0),
        (b"[[]]", "a candidate is a JSON object, not array", 0),
        (b"[" * 200_000, "nested too deep", 0),
        (b'{"a":' * 200_000, "nested too deep", 0),
        (b"[" + b"9" * 5000 + b"]", "too many digits", 0),
        (b'{"kind": "D", "kind": "P", "title": "x"}', "the field kind appears twice in one object", 0),
        (
            b'[{"kind": "D", "title": "x", "claims": {"a": "1", "a": "2"}}]',
            "the field a appears twice in one object",
            0,
        ),
        (b" " * (MAX_INPUT + 1), "at most 16000000 are read", 0),
    ],
)
def test_input_that_is_no_list_of_candidates(data: bytes, problem: str, line: int) -> None:
    with pytest.raises(BadInput) as caught:
        parse_candidates(data, "-")
    assert problem in str(caught.value)
    assert caught.value.line == line


FIELDS = st.sampled_from([*SCHEMA["properties"], "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=10,
)


@given(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_is_read_or_refused(data: bytes) -> None:
    try:
        assert all(isinstance(found, Candidate) for found in parse_candidates(data))
    except BadInput as error:
        assert error.path.startswith("-")


def test_an_empty_list_holds_no_candidate() -> None:
    assert parse_candidates(b"[]") == []
    assert build_candidates([]) == []


def test_the_schema_is_a_schema_and_covers_every_field() -> None:
    assert set(Candidate._fields) | {"project"} == set(SCHEMA["properties"])
    assert set(Evidence._fields) == set(SCHEMA["properties"]["evidence"]["items"]["properties"])
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    _is_schema(dict(SCHEMA))


def _is_schema(schema: dict[str, Any]) -> None:
    """Check the words of JSON Schema 2020-12 that are used."""
    types = {"string", "array", "object", "boolean", "integer", "number", "null"}
    known = {
        "$schema",
        "title",
        "description",
        "type",
        "required",
        "additionalProperties",
        "properties",
        "items",
        "enum",
    }
    assert set(schema) <= known | {"minimum", "maximum", "format"}
    said = schema.get("type", [])
    assert set([said] if isinstance(said, str) else said) <= types
    assert "type" in schema or schema["enum"]
    assert isinstance(schema.get("description", ""), str)
    assert set(schema.get("required", ())) <= set(schema.get("properties", {}))
    more = schema.get("additionalProperties", True)
    inner = [*schema.get("properties", {}).values(), schema.get("items"), more if isinstance(more, dict) else None]
    for part in inner:
        if part is not None:
            _is_schema(part)
