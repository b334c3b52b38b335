"""Tests of kb.records.front_matter: the frontmatter is read as a mapping and edited as text."""

import io
import json
import math
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.records import safe_yaml
from kb.records.front_matter import (
    MAX_BYTES,
    MAX_FRONT,
    decode_record,
    edit_front_matter,
    find_body_start,
    find_front_matter,
    find_key_line,
    format_entry,
    format_scalar,
    parse_front_matter,
    parse_plain_rows,
)
from kb.text.segment import find_line_number, split_lines
from tests.support.nasty import NASTY
from tests.support.timing import within

# -- scalar ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("选用 PostgreSQL", "选用 PostgreSQL"),
        ("脱敏规则：先遮盖，再保存。", "脱敏规则：先遮盖，再保存。"),
        ("a-b_c", "a-b_c"),
        ("src/kb/records/front_matter.py", "src/kb/records/front_matter.py"),
        ("project/shop", "project/shop"),
        ("don't", "don't"),
        ("2026-01-02", "2026-01-02"),
        ("D001", "D001"),
        ("2026-13-45", '"2026-13-45"'),
        ("no", '"no"'),
        ("1e3", '"1e3"'),
        ("a: b", '"a: b"'),
        ("", '""'),
        ("😀 ok", '"😀 ok"'),
        ("a\nb", '"a\\nb"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("\ud800", '"\ufffd"'),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (1e16, "1.0e+16"),
        (-math.inf, "-.inf"),
        (["后端", "no", 1], '[后端, "no", 1]'),
        ({"a.b": "c", "no": []}, '{a.b: c, "no": []}'),
    ],
)
def test_scalar_is_readable_and_safe(value: object, written: str) -> None:
    assert format_scalar(value) == written


VALUES = st.recursive(
    st.one_of(NASTY, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NASTY, inner, max_size=4)),
    max_leaves=8,
)


@given(VALUES)
def test_scalar_loads_back_equal(value: object) -> None:
    line = format_scalar(value)
    assert split_lines(line) == [line]
    read = parse_front_matter(f"---\nkey: {line}\n---\n")["key"]
    assert read == value
    assert json.dumps(read) == json.dumps(value), "of the same type, too"


@given(NASTY)
def test_other_yaml_readers_agree_on_text(word: str) -> None:
    read = yaml.safe_load(
        f"{format_scalar(word)}: [{format_scalar(word)}]" if len(word) < 1000 else f"a: {format_scalar(word)}"
    )
    for found in [*read.values(), *(key for key in read if len(word) < 1000)]:
        one = found[0] if isinstance(found, list) else found
        assert (one.isoformat() if isinstance(one, date) else one) == word


PLAIN = (
    st.text(st.sampled_from("ab0选 -/@'.,:#[]{}\"\\\t，"), max_size=6) | NASTY | st.sampled_from(["007", "12", '"c d"'])
)
ROWS_OF_A_FRONT = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(["key", "a_b", "null", "key ", " key", "- key", "键"]) | NASTY, PLAIN),
    st.builds(lambda words: f"other: [{', '.join(words)}]", st.lists(PLAIN, max_size=3)),
    st.builds(lambda words: f"more: {{{': '.join(words)}}}", st.lists(PLAIN, max_size=3)),
    st.builds(lambda words: f"most: {{{', '.join(words)}}}", st.lists(st.builds("{}: {}".format, PLAIN, PLAIN))),
    st.builds(format_entry, NASTY, VALUES),
)


@given(st.lists(ROWS_OF_A_FRONT, max_size=3), st.sampled_from(["\n", "\n", "\r\n", ""]))
def test_plain_rows_are_read_as_yaml_reads_them(rows: list[str], end: str) -> None:
    source = "".join(row + "\n" for row in rows[:-1]) + "".join(row + end for row in rows[-1:])
    if (found := parse_plain_rows(source)) is not None:
        read = {key: entry.value for key, entry in safe_yaml.load_yaml(source, 12).entries.items()}
        assert json.dumps(found) == json.dumps(read)


def test_what_kb_writes_of_a_record_is_plain_rows() -> None:
    front = {"id": "D001", "uid": "01M84G03697QXSNK8KAJ95MJ9H", "title": "选用 PostgreSQL", "date": "2026-01-02"}
    front |= {"tags": ["后端", "no"], "claims": {"a.b": "c d"}, "sources": [], "occurrences": 3}
    assert parse_plain_rows("".join(f"{format_entry(key, value)}\n" for key, value in front.items())) == front


# -- front ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("v: no", "no"),
        ("on: v", {"on": "v"}),
        ("v: 12:30", "12:30"),
        ("v: 1.10", "1.10"),
        ("v: 1.5", 1.5),
        ("v: 0x10", "0x10"),
        ("v: 007", "007"),
        ("v: -7", -7),
        ("v: 2026-01-02", "2026-01-02"),
        ("v: 2026-01-02T10:00:00Z", "2026-01-02T10:00:00Z"),
        ("v: True", True),
        ("v: ~", None),
        ("v:", None),
        ("v: =", "="),
        ("v: {<<: {a: b}}", {"<<": {"a": "b"}}),
        ("v: {1: a, null: b}", {"1": "a", "null": "b"}),
        ("v: |\n  a\n  b\n", "a\nb\n"),
        ("v: >\n  a\n  b\n", "a b\n"),
        ("v:\n- a\n- b", ["a", "b"]),
        ("v: [a,\n b]", ["a", "b"]),
        ("v: '中文'", "中文"),
    ],
)
def test_what_front_reads(source: str, value: object) -> None:
    read = parse_front_matter(f"---\n{source}\n---\n")
    assert (read if isinstance(value, dict) and "v" not in read else read["v"]) == value


@pytest.mark.parametrize("text", ["", "text", "----\n", "--- a\n", "\n---\na: 1\n---\n", " ---\na: 1\n---\n"])
def test_a_text_without_front(text: str) -> None:
    assert parse_front_matter(text) == {}
    assert find_front_matter(text) is None
    assert find_body_start(text) == 0


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("close", ["---", "...", "---  "])
def test_every_line_end_closes_the_front(mark: str, end: str, close: str) -> None:
    text = f"{mark}---{end}a: 1{end}{close}{end}body"
    assert parse_front_matter(text) == {"a": 1}
    assert text[find_body_start(text) :] == "body"
    assert parse_front_matter(text.removesuffix(f"{end}body")) == {"a": 1}


@pytest.mark.parametrize(
    ("source", "line", "problem"),
    [
        ("id: D1\n\ttitle: x", 3, "tab character"),
        ("id: D1\nid: D2", 3, "the key id stands here twice"),
        ("id: D1\nm:\n  a: 1\n  'a': 2", 5, "the key a stands here twice"),
        ("a: &x [1]\nb: *x", 2, "anchors are not allowed"),
        ("b: *x", 2, "aliases are not allowed"),
        ("a: !!python/object:os.system x", 2, "tags are not allowed"),
        ("a: b\nc: !!set {x}", 3, "tags are not allowed"),
        ("a: {? [b] : c}", 2, "a key must be one word"),
        ("- a\n- b", 2, "not a mapping"),
        ("words", 2, "not a mapping"),
        ("x: 1\na: 'b\nc: d", 3, "unexpected end of stream"),
        ("x: 1\na: [b,\nc: d\ne: f", 5, "did not find expected ',' or ']'"),
        ("a: b\nc: \x0cd", 3, "U+000C"),
        ("a: b\n\nc: d\u2028e", 4, "U+2028"),
        ("a: 1\n<<<<<<< HEAD\nb: 1\n=======", 4, "could not find expected ':'"),
        ("a: " + "[" * 13 + "]" * 13, 2, "nested too deep"),
        ("a:\n" + "- " * 5000 + "x", 3, "nested too deep"),
        ("a: " + "[" * 30000, 2, "nested too deep"),
        ("a: " + "{a: " * 5000, 2, "nested too deep"),
        ("a: " + "x" * MAX_FRONT, 1, "larger than"),
    ],
)
def test_a_bad_front_is_named_with_its_line(source: str, line: int, problem: str) -> None:
    with pytest.raises(BadRecord) as caught:
        parse_front_matter(f"---\n{source}\n---\n", "a.md")
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_a_yaml_bomb_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    with pytest.raises(BadRecord, match="not allowed"):
        parse_front_matter("---\n" + "\n".join(rows) + "\n---\n")


@pytest.mark.parametrize("text", ["---\n", "---\nid: D001\ntitle: half", "\ufeff---\r\nid: D001\r\n"])
def test_a_front_that_is_never_closed(text: str) -> None:
    for act in (parse_front_matter, lambda text, path: edit_front_matter(text, {"id": "D002"}, path)):
        with pytest.raises(BadRecord, match="never closed") as caught:
            act(text, "a.md")
        assert (caught.value.path, caught.value.line) == ("a.md", 1)


def test_key_line() -> None:
    text = "---\n# c\nid: D001\ntags:\n- a\n'title': x\n---\n"
    assert [find_key_line(text, key) for key in ("id", "tags", "title", "other")] == [3, 4, 6, 1]
    assert find_key_line("---\nid: [\n---\n", "id") == 1


def test_the_reader_without_libyaml_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "---\n" + "\n".join(
        f"k{n}: {format_scalar(v)}" for n, v in enumerate(["😀", "a b", ["中", "no"], {"a": 1.5}])
    )
    text += "\nl: |+\n  a\n\n  b\n\n# c\nf: [a, # d\n  b] # e\nm:\n  - x\n\n---\nbody"
    fast = edit_front_matter(text, {"l": "x", "f": 1, "m": None, "k0": "y"})
    slow = type("_Slow", (yaml.SafeLoader,), {**vars(safe_yaml._Loader), "__init__": _slow_start})
    monkeypatch.setattr(safe_yaml, "_Loader", slow)
    assert edit_front_matter(text, {"l": "x", "f": 1, "m": None, "k0": "y"}) == fast


def _slow_start(self: yaml.SafeLoader, stream: str, max_depth: int) -> None:
    yaml.SafeLoader.__init__(self, stream)
    self.left, self.end = max_depth, (0, 0, False)


# -- bytes and lines ------------------------------------------------------------------------------


@given(st.text(st.sampled_from("a\r\n\x0c\u2028中"), max_size=20))
def test_lines_are_those_of_markdown(text: str) -> None:
    rows = split_lines(text)
    assert rows == list(io.StringIO(text, newline=""))
    offset = 0
    for number, row in enumerate(rows, start=1):
        assert find_line_number(text, offset) == number
        offset += len(row)


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"a\n\xff\n", 2, "not valid UTF-8"),
        (b"a\r\r\xe4\xb8", 3, "not valid UTF-8"),
        (b"\xed\xa0\x80", 1, "not valid UTF-8"),
        (b"a\0b", 0, "binary"),
        (b"x" * (MAX_BYTES + 1), 0, "at most"),
    ],
)
def test_what_is_no_text(data: bytes, line: int, problem: str) -> None:
    with pytest.raises(BadRecord, match=problem) as caught:
        decode_record(data, "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


@pytest.mark.parametrize(
    "piece", ["-", "---\n", "\n---  x", "a: ", " ", "\t", "'", '"', "[", "\\", "#", "a: |\n  b\n", "? ", "\r", "k: v\n"]
)
def test_long_nonsense_is_read_or_refused_quickly(piece: str) -> None:
    with within(5):
        for source in (piece * (60_000 // len(piece)), "x: " + piece * 20_000, piece * (2_000_000 // len(piece))):
            text = f"---\n{source}\n---\n"
            try:
                parse_front_matter(text)
                edit_front_matter(text, {"x": "y"})
            except BadRecord:
                continue
