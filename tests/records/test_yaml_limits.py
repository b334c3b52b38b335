"""Fronts that nobody vouches for: every limit holds to the last character, and nothing but BadRecord comes out."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.records import safe_yaml
from kb.records.front_matter import MAX_BYTES, MAX_DEPTH, MAX_FRONT, decode_record, parse_front_matter
from kb.records.record_file import parse_record
from tests.support.timing import within


def test_depth_is_counted_from_the_front_itself() -> None:
    inside = MAX_DEPTH - 1
    value = parse_front_matter("---\na: " + "[" * inside + "]" * inside + "\n---\n")["a"]
    for _ in range(inside - 1):
        (value,) = value
    assert value == []
    for opening, closing in (("[", "]"), ("{a: ", "}"), ("[{a: ", "}]")):
        with pytest.raises(BadRecord, match="nested too deep"):
            parse_front_matter("---\na: " + opening * MAX_DEPTH + closing * MAX_DEPTH + "\n---\n")


def test_depth_does_not_add_up_beside_each_other() -> None:
    pieces = ", ".join("[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2) for _ in range(50))
    assert len(parse_front_matter(f"---\na: [{pieces}]\n---\n")["a"]) == 50


def test_size_is_counted_to_the_last_character() -> None:
    row = "a: " + "x" * (MAX_FRONT - 4) + "\n"
    assert len(row) == MAX_FRONT and parse_front_matter(f"---\n{row}---\n")
    with pytest.raises(BadRecord, match="larger than"):
        parse_front_matter(f"---\nx{row}---\n")
    assert len(decode_record(b"x" * MAX_BYTES)) == MAX_BYTES


@pytest.mark.parametrize(
    "source",
    [
        "a: &x 1", "a: *x", "&x a: 1", "? &x a\n: 1", "a: [&x 1, *x]", "a: !!str 1", "!!map {a: 1}", "a: !x 1",
        "! a: 1",
        "a: !!python/object/apply:os.system [id]", "a: !!python/name:os.system", "%TAG ! tag:x,2000:\n---\na: !b 1",
        "a: 1\n--- \nb: 2\n--- \n", "a: 1\n...\n---\nb: 2",
    ],
)  # fmt: skip
def test_no_alias_no_anchor_no_tag_no_second_document(source: str) -> None:
    try:
        read = parse_front_matter(f"---\n{source}\n---\n")
    except BadRecord:
        return
    assert read in ({"a": 1}, {}), "what stands behind a closing line belongs to the body"


def test_a_merge_merges_nothing() -> None:
    assert parse_front_matter("---\na: {b: 1}\n<<: {c: 1}\n---\n") == {"a": {"b": 1}, "<<": {"c": 1}}


@pytest.mark.parametrize(
    "word", ["1" * 5000, "-" + "9" * 60_000, "0x" + "f" * 60_000, "1e999999", "1" * 400 + ".5", "1_000"]
)
def test_a_number_too_long_to_be_one_is_text(word: str) -> None:
    with within(1):
        assert parse_front_matter(f"---\na: {word}\n---\n")["a"] == word


def test_not_a_number_is_known_by_its_name_alone() -> None:
    assert math.isnan(parse_front_matter("---\na: .nan\n---\n")["a"])
    assert parse_front_matter("---\na: nan\n---\n")["a"] == "nan"


def test_ten_thousand_keys_take_no_time() -> None:
    rows = "\n".join(f"k{n}: [a, b]" for n in range(4000))
    with within(5):
        assert len(parse_front_matter(f"---\n{rows}\n---\n")) == 4000


PIECES = st.sampled_from(
    [
        "a", "b", ": ", ":", "\n", "\n  ", "- ", "[", "]", "{", "}", ", ", "'", '"', "|", ">", "|+\n ", "#", " #",
        "&x ", "*x", "!!", "!x ", "%", "@", "`", "? ", "---", "...", "~", "null", "1", "1.5", "true", "\\", "\\u202e",
        "中", "\ufeff", "\t", "\r", "\x07", "\u2028", "😀", "<<", "=", "0", "-", ".inf", "2026-01-02",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_law_whatever_stands_there_is_read_or_refused(source: str) -> None:
    text = f"---\n{source}\n---\n"
    try:
        read = parse_front_matter(text, "a.md")
    except BadRecord as error:
        assert error.path == "a.md" and error.line >= 1
        return
    assert all(isinstance(key, str) for key in read) and depth(read) <= MAX_DEPTH


def depth(value: object) -> int:
    """Return how deep lists and mappings are nested in *value*."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(st.binary(max_size=400))
def test_law_any_bytes_are_a_record_or_no_record(data: bytes) -> None:
    for whole in (data, b"---\n" + data + b"\n---\n", b"---\nid: D001\nkind: decision\ntitle: x\n---\n" + data):
        try:
            parse_record(decode_record(whole, "a.md"), "a.md")
        except BadRecord as error:
            assert error.path == "a.md"


@pytest.mark.parametrize("piece", ["a: &x ", "*x ", "!!x ", "- ", "? ", "[{", "<<: ", "'", "\\", "a: |\n", "%", ": "])
def test_the_slow_reader_is_no_way_around(monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    slow = type("_Slow", (yaml.SafeLoader,), {**vars(safe_yaml._Loader), "__init__": _start})
    monkeypatch.setattr(safe_yaml, "_Loader", slow)
    with within(5):
        for count in (1, 3, 2000):
            try:
                assert depth(parse_front_matter(f"---\na: 1\n{piece * count}\n---\n")) <= MAX_DEPTH
            except BadRecord:
                continue


def _start(self: yaml.SafeLoader, stream: str, max_depth: int) -> None:
    yaml.SafeLoader.__init__(self, stream)
    self.left, self.end = max_depth, (0, 0, False)
