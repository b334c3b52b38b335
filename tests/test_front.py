"""Tests of kb.front: the frontmatter is read as a mapping and edited as text."""

import io
import json
import math
import time
from datetime import date

import pytest
import yaml
from golden_files import golden
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kb import yamlfront
from kb.errors import BadRecord
from kb.front import (
    KEYS,
    MAX_BYTES,
    MAX_FRONT,
    body_start,
    decode,
    edit_front,
    front,
    front_span,
    key_line,
    line_of,
    lines,
    newline,
    scalar,
)

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NASTY = st.one_of(
    TEXT,
    st.sampled_from(
        [
            "",
            "no",
            "Yes",
            "null",
            "~",
            "1e3",
            "0x1",
            "0o7",
            "1_000",
            "12:30",
            "=",
            "<<",
            " a",
            "a ",
            "- x",
            "key: v",
            "#x",
            "a #x",
            "a: b",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            "'",
            '"',
            "it's",
            "[a",
            "{a}",
            "a, b",
            "?",
            "? a",
            "---",
            "...",
            "2026-01-02",
            "2026-13-45",
            "2026-01-02 10:00",
            "😀",
            "👩\u200d💻",
            "\u202eabc",
            "\x07",
            "a\nb",
            "a\r\nb",
            "\x85",
            "\u2028",
            "\ufeff",
            ".inf",
            "1.10",
            "007",
            "+1",
            "-0",
            "y",
            "N",
            "off",
            "\x00",
            "选用 PostgreSQL",
            "用「引号」的题目：为什么？",
            "a-b_c",
            "x" * 2000,
            "\ufffe",
            "\t",
            "\xa0",
        ]
    ),
)


# -- scalar ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("选用 PostgreSQL", "选用 PostgreSQL"),
        ("脱敏规则：先遮盖，再保存。", "脱敏规则：先遮盖，再保存。"),
        ("a-b_c", "a-b_c"),
        ("src/kb/front.py", "src/kb/front.py"),
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
    assert scalar(value) == written


VALUES = st.recursive(
    st.one_of(NASTY, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NASTY, inner, max_size=4)),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_scalar_loads_back_equal(value: object) -> None:
    line = scalar(value)
    assert lines(line) == [line]
    read = front(f"---\nkey: {line}\n---\n")["key"]
    assert read == value
    assert json.dumps(read) == json.dumps(value), "of the same type, too"


@given(NASTY)
@settings(max_examples=300, deadline=None)
def test_other_yaml_readers_agree_on_text(word: str) -> None:
    read = yaml.safe_load(f"{scalar(word)}: [{scalar(word)}]" if len(word) < 1000 else f"a: {scalar(word)}")
    for found in [*read.values(), *(key for key in read if len(word) < 1000)]:
        one = found[0] if isinstance(found, list) else found
        assert (one.isoformat() if isinstance(one, date) else one) == word


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
    read = front(f"---\n{source}\n---\n")
    assert (read if isinstance(value, dict) and "v" not in read else read["v"]) == value


@pytest.mark.parametrize("text", ["", "text", "----\n", "--- a\n", "\n---\na: 1\n---\n", " ---\na: 1\n---\n"])
def test_a_text_without_front(text: str) -> None:
    assert front(text) == {}
    assert front_span(text) is None
    assert body_start(text) == 0


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("close", ["---", "...", "---  "])
def test_every_line_end_closes_the_front(mark: str, end: str, close: str) -> None:
    text = f"{mark}---{end}a: 1{end}{close}{end}body"
    assert front(text) == {"a": 1}
    assert text[body_start(text) :] == "body"
    assert front(text.removesuffix(f"{end}body")) == {"a": 1}


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
        front(f"---\n{source}\n---\n", "a.md")
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_a_yaml_bomb_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    with pytest.raises(BadRecord, match="not allowed"):
        front("---\n" + "\n".join(rows) + "\n---\n")


@pytest.mark.parametrize("text", ["---\n", "---\nid: D001\ntitle: half", "\ufeff---\r\nid: D001\r\n"])
def test_a_front_that_is_never_closed(text: str) -> None:
    for act in (front, lambda text, path: edit_front(text, {"id": "D002"}, path)):
        with pytest.raises(BadRecord, match="never closed") as caught:
            act(text, "a.md")
        assert (caught.value.path, caught.value.line) == ("a.md", 1)


def test_key_line() -> None:
    text = "---\n# c\nid: D001\ntags:\n- a\n'title': x\n---\n"
    assert [key_line(text, key) for key in ("id", "tags", "title", "other")] == [3, 4, 6, 1]
    assert key_line("---\nid: [\n---\n", "id") == 1


def test_the_reader_without_libyaml_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "---\n" + "\n".join(f"k{n}: {scalar(v)}" for n, v in enumerate(["😀", "a b", ["中", "no"], {"a": 1.5}]))
    text += "\nl: |+\n  a\n\n  b\n\n# c\nf: [a, # d\n  b] # e\nm:\n  - x\n\n---\nbody"
    fast = edit_front(text, {"l": "x", "f": 1, "m": None, "k0": "y"})
    slow = type("_Slow", (yaml.SafeLoader,), {**vars(yamlfront._Loader), "__init__": _slow_start})
    monkeypatch.setattr(yamlfront, "_Loader", slow)
    assert edit_front(text, {"l": "x", "f": 1, "m": None, "k0": "y"}) == fast


def _slow_start(self: yaml.SafeLoader, stream: str, max_depth: int) -> None:
    yaml.SafeLoader.__init__(self, stream)
    self.left, self.end = max_depth, (0, 0, False)


# -- edit_front -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("title", "given_", "expected"), golden("edit_front"))
def test_golden_edits(title: str, given_: str, expected: str) -> None:
    key, _, rest = title.partition(" = ")
    value = json.JSONDecoder().raw_decode(rest)[0] if rest[0] in '[{"0123456789n' else rest.partition(":")[0]
    for end in ("\n", "\r\n", "\r"):
        before = given_.replace("\n", end)
        after = edit_front(before, {key.strip('"'): value})
        assert after == expected.replace("\n", end)
        assert edit_front(after, {key.strip('"'): value}) == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\n{id: D001, title: x}\n---\n", 2),
        ("---\n{\nid: D001,\ntitle: x\n}\n---\n", 2),
        ("---\ntitle: x\n? id\n: D001\n---\n", 3),
    ],
)
def test_a_front_that_has_no_lines_of_its_own_is_not_edited(text: str, line: int) -> None:
    assert front(text)["id"] == "D001"
    with pytest.raises(BadRecord, match="one key a line") as caught:
        edit_front(text, {"id": "D002"}, "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_an_indented_front_stays_indented() -> None:
    text = "---\n  id: D001\n  title: x\n---\n"
    assert (
        edit_front(text, {"date": "2026-01-02", "id": "D2"}) == "---\n  id: D2\n  title: x\n  date: 2026-01-02\n---\n"
    )


def test_several_new_keys_stand_in_the_order_of_the_known_ones() -> None:
    text = edit_front("---\nid: D1\ntitle: x\nmine: 1\n---\n", {"new": 1, "amends": ["D2"], "tags": ["a"], "uid": "u"})
    assert text == "---\nid: D1\nuid: u\ntitle: x\ntags: [a]\namends: [D2]\nmine: 1\nnew: 1\n---\n"


def test_no_change_no_byte() -> None:
    for text in ("", "body", "---\nid: D1\n---\n"):
        assert edit_front(text, {}) == text
        assert edit_front(text, {"uid": None}) == text


def _value_forms(draw: st.DrawFn, end: str) -> str:
    """Draw the source behind a colon: every way in which YAML writes a value."""
    word = draw(st.sampled_from(["a", "中文 text", "x # y".replace(" #", "_#"), "it's", "2026-01-02", "D001"]))
    other = draw(st.sampled_from(["b", "值", "# no comment", "---x", "key: v", "- z", "<!-- MACHINE_BLOCK_END -->"]))
    comment = draw(st.sampled_from(["", " # note", '   #备注 "', "\t# tab"]))
    blank = draw(st.sampled_from(["", end, end + end, "  " + end]))
    form = draw(st.integers(0, 11))
    quoted = json.dumps(other, ensure_ascii=False)
    return [
        f" {word}{comment}{end}",
        f" {quoted}{comment}{end}",
        f" '{other}'  {comment}{end}",
        f"{comment}{end}",
        f" |{comment}{end}  {other}{end}{blank}  {word}{end}{blank}",
        f" >-{end}  {word}{end}{end}    {other}{end}{blank}",
        f" |+{end}  {word}{end}{blank}",
        f" [{word}, {quoted}]{comment}{end}",
        f" [ {quoted},{comment}{end}  {word}{end}   ]{comment}{end}",
        f"{comment}{end}- {word}{end}# between{end}- {quoted}{comment}{end}",
        f"{comment}{end}  {word}: {quoted}{end}{blank}  b:{end}    - c{end}",
        f" {word}{end}  {word}{comment}{end}",
    ][form]


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a text with a front written by many hands, and its keys."""
    end = draw(ENDS)
    keys = draw(st.lists(st.sampled_from([*KEYS, "mine", "a key", "no", "标签", "x-y"]), unique=True, max_size=6))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    source = ""
    for key in keys:
        source += draw(st.sampled_from(["", "", f"# about {key}{end}", end, f"  # in{end}{end}"]))
        own = end if draw(st.integers(0, 4)) else draw(ENDS)
        name = draw(st.sampled_from([key, key, f'"{key}"', f"'{key}'"]))
        source += f"{name}{draw(st.sampled_from(['', '', ' ']))}:{_value_forms(draw, own)}"
    source += draw(st.sampled_from(["", f"# tail{end}", end]))
    body = draw(st.sampled_from(["", "body", "---\nno: front\n---\n", "\x0c\u2028 \r\n", f"# T{end}{end}- a {end}"]))
    close = draw(st.sampled_from([f"---{end}", f"...{end}", f"--- {end}"]))
    return f"{mark}---{draw(st.sampled_from(['', ' ']))}{end}{source}{close}{body}", keys


@given(documents(), st.sampled_from([*KEYS, "mine", "a key", "no", "标签", "x-y", "fresh"]), NASTY | st.lists(NASTY))
@settings(max_examples=300, deadline=None)
def test_an_edit_changes_its_lines_only(document: tuple[str, list[str]], key: str, value: object) -> None:
    text, _ = document
    before = front(text)
    after = edit_front(text, {key: value})
    assert front(after) == {**before, key: value}
    assert edit_front(after, {key: value}) == after
    gone = edit_front(after, {key: None})
    assert front(gone) == {name: old for name, old in before.items() if name != key}
    if key not in before:
        assert gone == text
    old, new = lines(text), lines(after)
    start = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), len(old))
    kept = [*old[:start], *old[len(old) - (len(new) - start - 1) :]] if len(new) > start else old
    assert kept == [*new[:start], *new[start + 1 :]], "one line is new, and the lines around it are the old ones"
    removed = old[start : len(old) - (len(new) - start - 1)] if len(new) > start else []
    assert not any(row.startswith("# about") and key not in row for row in removed)


@given(TEXT, ENDS, NASTY)
@example("\ufefftext", "\n", "a")
@settings(deadline=None)
def test_a_text_without_front_gets_one(text: str, end: str, value: str) -> None:
    text = text.lstrip("-")
    if text.startswith("\ufeff-"):
        return
    after = edit_front(text + end, {"id": value, "tags": None})
    assert front(after) == {"id": value}
    assert after[body_start(after) :] == (text + end).removeprefix("\ufeff")
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert newline(after) == newline(text + end)


# -- bytes and lines ------------------------------------------------------------------------------


@given(st.text(st.sampled_from("a\r\n\x0c\u2028中"), max_size=20))
def test_lines_are_those_of_markdown(text: str) -> None:
    rows = lines(text)
    assert rows == list(io.StringIO(text, newline=""))
    offset = 0
    for number, row in enumerate(rows, start=1):
        assert line_of(text, offset) == number
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
        decode(data, "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


@pytest.mark.parametrize(
    "piece", ["-", "---\n", "\n---  x", "a: ", " ", "\t", "'", '"', "[", "\\", "#", "a: |\n  b\n", "? ", "\r", "k: v\n"]
)
def test_long_nonsense_is_read_or_refused_quickly(piece: str) -> None:
    start = time.perf_counter()
    for source in (piece * (60_000 // len(piece)), "x: " + piece * 20_000, piece * (2_000_000 // len(piece))):
        text = f"---\n{source}\n---\n"
        try:
            front(text)
            edit_front(text, {"x": "y"})
        except BadRecord:
            continue
    assert time.perf_counter() - start < 5
