"""Tests of kb.records.front_matter.edit_front_matter: an edit changes the lines of its keys and no other byte."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.records.front_matter import KEYS, edit_front_matter, find_body_start, parse_front_matter
from kb.text.segment import detect_newline, split_lines
from tests.support.nasty import ENDS, NASTY, TEXT, golden


@pytest.mark.parametrize(("title", "given_", "expected"), golden("edit_front"))
def test_golden_edits(title: str, given_: str, expected: str) -> None:
    key, _, rest = title.partition(" = ")
    value = json.JSONDecoder().raw_decode(rest)[0] if rest[0] in '[{"0123456789n' else rest.partition(":")[0]
    for end in ("\n", "\r\n", "\r"):
        before = given_.replace("\n", end)
        after = edit_front_matter(before, {key.strip('"'): value})
        assert after == expected.replace("\n", end)
        assert edit_front_matter(after, {key.strip('"'): value}) == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\n{id: D001, title: x}\n---\n", 2),
        ("---\n{\nid: D001,\ntitle: x\n}\n---\n", 2),
        ("---\ntitle: x\n? id\n: D001\n---\n", 3),
        ("---\n? title\nid: D001\n---\n", 2),
        ("---\nid: D001\n? x\n---\n", 3),
        ("---\n? \r\n\nid: D001\n---\n", 2),
        ("---\nid: D001\n?\n\n x\n\nmine: |\n\n---\n", 5),
        ("---\nid: D001\n?\n> \n\n---\n", 4),
        ("---\nid: D001\n?\n 'ab: c\n d'\n: e\n---\n", 4),
    ],
)
def test_a_front_that_has_no_lines_of_its_own_is_not_edited(text: str, line: int) -> None:
    assert parse_front_matter(text)["id"] == "D001"
    with pytest.raises(BadRecord, match="one key per line") as caught:
        edit_front_matter(text, {"id": "D002"}, "a.md")
    with pytest.raises(BadRecord, match="one key per line"):
        edit_front_matter(text, {"tags": ["a"]}, "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_a_value_ends_before_the_next_key() -> None:
    text = "---\nid: D001\ntags:\n- ? yes\ntitle: x\nmine:\n- ? no\n---\n"
    assert edit_front_matter(text, {"tags": ["a"]}) == text.replace("tags:\n- ? yes\n", "tags: [a]\n")
    assert edit_front_matter(text, {"mine": "b"}) == text.replace("mine:\n- ? no\n", "mine: b\n")
    assert edit_front_matter(text, {"new": "c"}) == text.replace("no\n", "no\nnew: c\n")
    assert edit_front_matter(text, {"impact": ["a"]}) == text.replace("yes\n", "yes\nimpact: [a]\n")


@pytest.mark.parametrize("style", [">-", "|", "|-", "|+"])
def test_a_row_of_blanks_that_belongs_to_a_value_stays_with_it(style: str) -> None:
    text = f"---\nid: {style}\n  O\n   \na: b\n---\n"
    assert parse_front_matter(text)["id"].startswith("O\n ")
    assert edit_front_matter(text, {"title": "x"}) == text.replace("a: b", "title: x\na: b")
    assert edit_front_matter(text, {"id": "D001"}) == "---\nid: D001\na: b\n---\n"


def test_an_indented_front_stays_indented() -> None:
    text = "---\n  id: D001\n  title: x\n---\n"
    assert (
        edit_front_matter(text, {"date": "2026-01-02", "id": "D2"})
        == "---\n  id: D2\n  title: x\n  date: 2026-01-02\n---\n"
    )


def test_several_new_keys_stand_in_the_order_of_the_known_ones() -> None:
    text = edit_front_matter(
        "---\nid: D1\ntitle: x\nmine: 1\n---\n", {"new": 1, "amends": ["D2"], "tags": ["a"], "uid": "u"}
    )
    assert text == "---\nid: D1\nuid: u\ntitle: x\ntags: [a]\namends: [D2]\nmine: 1\nnew: 1\n---\n"


def test_no_change_no_byte() -> None:
    for text in ("", "body", "---\nid: D1\n---\n"):
        assert edit_front_matter(text, {}) == text
        assert edit_front_matter(text, {"uid": None}) == text


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
def test_an_edit_changes_its_lines_only(document: tuple[str, list[str]], key: str, value: object) -> None:
    text, _ = document
    before = parse_front_matter(text)
    after = edit_front_matter(text, {key: value})
    assert parse_front_matter(after) == {**before, key: value}
    assert edit_front_matter(after, {key: value}) == after
    gone = edit_front_matter(after, {key: None})
    assert parse_front_matter(gone) == {name: old for name, old in before.items() if name != key}
    if key not in before:
        assert gone == text
    old, new = split_lines(text), split_lines(after)
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
    after = edit_front_matter(text + end, {"id": value, "tags": None})
    assert parse_front_matter(after) == {"id": value}
    assert after[find_body_start(after) :] == (text + end).removeprefix("\ufeff")
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert detect_newline(after) == detect_newline(text + end)
