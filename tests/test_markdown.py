"""Tests of kb.markdown and what it is made of: blocks, sections, fences, citations, whole files."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from golden_files import golden
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kb.blocks import contained, line_feeds, title_of
from kb.errors import BadRecord
from kb.fences import fenced, indented_code_lines
from kb.front import body_start, edit_front, front, line_of, lines, newline
from kb.kinds import SECTIONS, section_named
from kb.markdown import (
    MACHINE_END,
    MACHINE_START,
    MARKERS,
    USER_END,
    USER_START,
    append_to_section,
    blocks,
    citations,
    code_lines,
    edit_section,
    escape,
    has_markers,
    headings,
    proved,
    read,
    record_of,
    refuse_conflict_markers,
    render,
    replace_machine,
    sections,
)
from kb.record import Record, Section
from kb.text import one_line

NAMES = [section.name for section in SECTIONS]
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
ROWS = st.sampled_from(
    [
        "", "  ", "text", "中文 text  ", "\x0c", "a\u2028b", "\x85", "\xa0", "- item", "  more", "1. one", "   sub", "> quote",
        "```", "````", "~~~", "~~~~ sh", "```py", "``` a`b", " ```", "  ```", "   ~~~", "    ```", "\t```", "- ```", "1. ~~~",
        "> ```", "> ~~~ x", "- - ```", "text ```", "`` ` ``", "~~~ ```", "* * *", "-", "- ", "#", "##", "# One", "## Decision",
        "## 理由（Why）", "### Three", " ## in", "  # in", "    ## code", "## C#", "## x ##", "##### five", "===", "---", "...",
        "## Why\tx", "=======", "<<<<<<< HEAD", ">>>>>>> x", "<!--", "-->", "<!-- note -->", "<pre>", "</div>", "<div>",
        *MARKERS, f"  {MACHINE_END}", f"{USER_END}  ", f"    {USER_END}", f"x {USER_END}", f"- {USER_START}", "[a]: b 'c",
    ]
)  # fmt: skip


@st.composite
def texts(draw: st.DrawFn, max_size: int = 10) -> str:
    """Draw a text of rows that mean something in markdown, in one line ending or many."""
    rows = draw(st.lists(ROWS | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=max_size))
    if draw(st.booleans()):
        end = draw(ENDS)
        text = "".join(row + end for row in rows)
    else:
        text = "".join(row + draw(ENDS) for row in rows)
    return text if draw(st.booleans()) else text[:-1]


# -- code -----------------------------------------------------------------------------------------


def by_tokens(text: str) -> set[int]:
    """Return the lines in fences as the reference parser sees them."""
    tokens = MarkdownIt("commonmark").disable("html_block").parse(text)
    return {n for token in tokens if token.type == "fence" and token.map for n in range(*token.map)}


@given(texts(max_size=14))
@example("```\n`` `\n~~~\n```\n~~~")
@example("- a\n\n  ```\n  x\n\ny\n```")
@settings(max_examples=500, deadline=None)
def test_fences_are_those_of_commonmark(text: str) -> None:
    assume("\0" not in text)
    count = len(lines(text))
    assert set(code_lines(text)) == {n for n in by_tokens(text) if n < count}


@given(texts(max_size=14))
@settings(max_examples=300, deadline=None)
def test_an_open_fence_is_closed_by_its_marks(text: str) -> None:
    text = text if text.endswith(("\n", "\r")) else text + "\n"
    open_fence = fenced(text).left_open
    probe = f"{text}\n{MACHINE_END}"
    swallowed = len(lines(probe)) - 1 in code_lines(probe)
    assert swallowed == (open_fence is not None)
    if open_fence:
        assert open_fence.marks in lines(text)[open_fence.line]
        assert fenced(text + open_fence.marks + "\n").left_open is None


def test_a_fence_at_the_edge_needs_no_parser() -> None:
    check = (
        "import sys; from kb.markdown import code_lines; assert code_lines('a\\n```\\nb\\n```\\n## c\\n') == {1, 2, 3}"
    )
    run = "assert 'markdown_it' not in sys.modules"
    subprocess.run([sys.executable, "-c", f"{check}; {run}"], check=True)


@pytest.mark.parametrize("text", ["- ```\n" * 20_000, "> " * 30 + "```\n", "- " * 30 + "```\nx\n"])
def test_what_is_too_tangled_to_tell_is_refused(text: str) -> None:
    for act in (code_lines, escape, headings, lambda text: blocks(text, "a.md")):
        with pytest.raises(BadRecord, match="too deep|longer than"):
            act(text)
    assert list(citations(f"{text}\n\n[D001]")) == [("", "D001", text.count("\n") + 3)]


# -- blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("title", "text", "expected"), golden("refused"))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("head", ["", "---\nid: D001\ntitle: x\nkind: decision\n---\n", "\ufeff---\nid: D001\n---\n\n"])
def test_malformed_markers_are_refused(title: str, text: str, expected: str, end: str, head: str) -> None:
    bad = (head + text).replace("\n", end)
    line, _, problem = expected.strip().partition(": ")
    acts: list[Callable[[], object]] = [
        lambda: blocks(bad, "a.md"),
        lambda: replace_machine(bad, "x", "a.md"),
        lambda: edit_section(bad, "why", "x", path="a.md"),
        lambda: append_to_section(bad, "why", "x", path="a.md"),
    ]
    for act in acts:
        with pytest.raises(BadRecord) as caught:
            act()
        assert (caught.value.path, caught.value.line) == ("a.md", int(line) + head.count("\n"))
        assert problem in str(caught.value)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a record file in any of its shapes, and the text of its USER block."""
    end = draw(ENDS)
    user = draw(texts().filter(lambda text: not has_markers(text) and fenced(text + "\n").left_open is None))
    user += end if not user.endswith(("\n", "\r")) and user else ""
    machine = contained(draw(texts()))
    machine += end if not machine.endswith(("\n", "\r")) and machine else ""
    head = draw(
        st.sampled_from(["", f"---{end}id: D001 # c{end}title: x{end}---{end}", f"\ufeff---{end}id: x{end}---{end}"])
    )
    gap = draw(st.sampled_from(["", end, f"between{end}", f"```{end}{MACHINE_START}{end}{USER_END}{end}```{end}"]))
    m = f"{draw(st.sampled_from(['', '  ']))}{MACHINE_START}{end}{machine}{MACHINE_END}{draw(st.sampled_from(['', ' ']))}{end}"
    u = f"{USER_START}{end}{user}{USER_END}{end}"
    text = head + gap + (m + gap + u if draw(st.booleans()) else u + gap + m) + draw(st.sampled_from(["", "tail"]))
    assume(draw(st.booleans()) or text.endswith("tail") or (text := text.rstrip("\r\n")))
    try:
        assume(text[slice(*blocks(text).user)] == user)
    except BadRecord:
        assume(False)
    return text, user


@given(files(), texts(), st.sampled_from(NAMES), st.sampled_from(["en", "zh"]))
@settings(max_examples=300, deadline=None)
def test_edits_keep_every_byte_outside_the_machine_block(
    file: tuple[str, str], body: str, name: str, language: str
) -> None:
    text, user = file
    span = blocks(text).machine
    for new in (
        replace_machine(text, body),
        edit_section(text, name, body, language),
        append_to_section(text, name, body, language),
        append_to_section(edit_section(text, name, body, language), name, body, language),
    ):
        now = blocks(new)
        assert new[: span.start] == text[: span.start]
        assert new[now.machine.end :] == text[span.end :]
        assert new[slice(*now.user)] == user
    edited = edit_front(text, {"status": "accepted", "id": body})
    assert edited[slice(*blocks(edited).user)] == user


@given(files(), texts(), st.sampled_from(NAMES), st.sampled_from(["en", "zh"]))
@settings(max_examples=300, deadline=None)
def test_an_edited_section_holds_the_text_and_the_others_stay(
    file: tuple[str, str], body: str, name: str, language: str
) -> None:
    text, _ = file
    before = sections(text[slice(*blocks(text).machine)])
    new = edit_section(text, name, body, language)
    after = sections(new[slice(*blocks(new).machine)])
    own = [n for n, section in enumerate(after) if section.name == name]
    assert after[own[0]].text == line_feeds(escape(body)).strip("\n")
    assert [section for n, section in enumerate(after) if n != own[0]] == [
        section
        for n, section in enumerate(before)
        if n != next((m for m, s in enumerate(before) if s.name == name), None)
    ]
    assert edit_section(new, name, body, language) == new
    assert edit_section(new, name, escape(body), language) == new
    if not any(section.name for section in before):
        other = edit_section(new, "impact", "x")
        order = [NAMES.index(s.name) for s in sections(other[slice(*blocks(other).machine)]) if s.name]
        assert order == sorted(order)


@given(files(), texts(), st.sampled_from(NAMES))
@settings(max_examples=200, deadline=None)
def test_appending_keeps_what_stood_there(file: tuple[str, str], line: str, name: str) -> None:
    text, _ = file
    before = sections(text[slice(*blocks(text).machine)])
    new = append_to_section(text, name, line)
    after = sections(new[slice(*blocks(new).machine)])
    at = next((n for n, section in enumerate(before) if section.name == name), None)
    if at is None:
        return
    assert len(after) == len(before)
    assert after[at].text.startswith(before[at].text.rstrip("\n"))
    assert [s for n, s in enumerate(after) if n != at] == [s for n, s in enumerate(before) if n != at]


@given(files(), texts())
@settings(max_examples=200, deadline=None)
def test_a_replaced_block_holds_the_text_in_the_line_ending_of_the_file(file: tuple[str, str], body: str) -> None:
    text, _ = file
    new = replace_machine(text, body)
    inside = new[slice(*blocks(new).machine)]
    wanted = line_feeds(contained(body))
    assert inside.removesuffix(newline(text)) == wanted.removesuffix("\n").replace("\n", newline(text))
    assert replace_machine(new, inside) == new


@pytest.mark.parametrize(("title", "text", "expected"), golden("edit_section"))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_golden_sections(title: str, text: str, expected: str, end: str) -> None:
    name, _, rest = title.partition(" =")
    body = rest.partition(":")[0].strip()
    new = edit_section(text.replace("\n", end), name, body)
    assert new == expected.replace("\n", end)
    assert edit_section(new, name, body) == new


@pytest.mark.parametrize(("title", "text", "expected"), golden("append_to_section"))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_golden_additions(title: str, text: str, expected: str, end: str) -> None:
    name, _, rest = title.partition(" += ")
    assert append_to_section(text.replace("\n", end), name, rest.rpartition(":")[0]) == expected.replace("\n", end)


# -- sections -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ("## Decision", "Decision"),
        ("##\tDecision ##  ", "Decision"),
        ("  ## 决策（Decision）", "决策（Decision）"),
        ("## C#", "C#"),
        ("## C# ##", "C#"),
        ("##", ""),
        ("## ##", ""),
        ("## a \\#", "a \\#"),
        ("## [D001] 标题", "[D001] 标题"),
        ("##Decision", None),
        ("    ## Decision", None),
        ("### Decision", None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_what_a_heading_is(row: str, title: str | None, end: str) -> None:
    found = headings(f"before{end or chr(10)}{row}{end}")
    assert [heading.title for heading in found] == ([] if title is None else [title])


def test_both_seed_shapes_are_sections_of_rank_three() -> None:
    english = (
        "## [D001] Store\n\n**ID**: D001\n\n### Decision\nUse it.\n\n### Alternatives:\n1. One\n2. Two\n\n### Why\nx\n"
    )
    chinese = "## [D001] 存储\n\n### Decision (决策)\n用它。\n\n### Alternatives（备选方案）\n1. 一\n2. 二\n\n### Why (理由)\nx\n"
    for text in (english, chinese, chinese.replace("\n", "\r\n")):
        assert [section.name for section in sections(text, 3)] == ["decision", "alternatives", "why"]
        assert sections(text, 3)[1].text.splitlines()[1][:2] == "2."


def test_a_section_reaches_to_the_next_heading_of_its_rank() -> None:
    text = "## A\na\n### B\nb\n```\n## C\n```\n# D\nd\n## E\n"
    assert sections(text) == (Section("", "A", "a\n### B\nb\n```\n## C\n```"), Section("", "E", ""))


# -- what keeps a text inside its own -------------------------------------------------------------


@pytest.mark.parametrize(("title", "text", "expected"), golden("escape"))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_golden_escapes(title: str, text: str, expected: str, end: str) -> None:
    text, expected = text.replace("\n", end), expected.replace("\n", end)
    assert escape(text).removesuffix(end) == expected.removesuffix(end)


@given(texts())
@settings(max_examples=300, deadline=None)
def test_escape_is_enough_and_changes_nothing_twice(text: str) -> None:
    safe = escape(text)
    assert escape(safe) == safe
    assert not has_markers(f"x\n{safe}") and not headings(safe) and not headings(safe, 1)
    assert fenced(safe).left_open is None
    assert escape(contained(text)) == safe
    refuse_conflict_markers(f"{safe}\n=======\n>>>>>>> x\n")


@given(texts())
@settings(max_examples=200, deadline=None)
def test_escape_changes_first_characters_of_lines_only(text: str) -> None:
    assume("\0" not in text)
    for before, after in zip(lines(text), lines(escape(text)), strict=False):
        undone = after.replace("&lt;", "<", 1) if "&lt;" in after and "&lt;" not in before else after
        assert undone == before or undone.lstrip(" #") == before.lstrip(" #") or before in undone


def test_what_no_file_can_hold_becomes_the_replacement_character() -> None:
    assert escape("a\0b\ud800") == "a\ufffdb\ufffd"


# -- whole files ----------------------------------------------------------------------------------

WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
WORDS = st.lists(WORD, max_size=3).map(tuple)
PAIRS = st.dictionaries(WORD, st.text(max_size=5), max_size=2)
TITLES = st.one_of(
    WORD,
    st.sampled_from(
        ["a\nb", "a | b", "## x", "😀", "\u202eabc", "!!!", "x" * 10_000, "C #", "---", MACHINE_END, "[D001]", "12"]
    ),
).filter(lambda title: one_line(title) != "")


@st.composite
def written_sections(draw: st.DrawFn) -> tuple[Section, ...]:
    """Draw the sections of a record: known names under any of their headings, and headings of its own."""
    known = [
        Section(name, draw(st.sampled_from(["", name, "Decision" if name == "decision" else ""])), draw(texts()))
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    ]
    own = [Section("", heading, draw(texts())) for heading in draw(st.lists(WORD | ROWS, max_size=2))]
    return tuple(draw(st.permutations(known + [s for s in own if not section_named(one_line(s.heading))])))


RECORDS = st.builds(
    Record, id=st.sampled_from(["D001", "CK1000", "a b", "1"]), kind=st.just("decision"), title=TITLES,
    scope=st.sampled_from(["global", "project/商店"]), status=st.sampled_from(["proposed", "accepted"]), uid=st.text(max_size=5),
    date=st.sampled_from(["", "2026-01-02"]), tags=WORDS, impact=WORDS, supersedes=WORDS, amends=WORDS, coexists_with=PAIRS,
    claims=PAIRS, occurrences=st.integers(1, 10**9), sources=WORDS, confirmed=st.sampled_from(["", "2026-01-02"]),
    extra=st.dictionaries(st.sampled_from(["mine", "no", "a: b", "标签"]), st.none() | st.integers() | WORDS.map(list), max_size=2),
    sections=written_sections(), user=texts(), path=st.just("a/b.md"),
)  # fmt: skip


@given(RECORDS, st.sampled_from(["en", "zh"]))
@settings(max_examples=400, deadline=None)
def test_a_rendered_record_reads_back_the_same(record: Record, language: str) -> None:
    text = render(record, language)
    found = read(text.encode(), record.path)
    wanted = [(s.name, line_feeds(escape(s.text)).strip("\n")) for s in record.sections]
    assert [(s.name, s.text) for s in found.sections] == wanted
    assert [s.heading for s in found.sections if not s.name] == [
        one_line(s.heading) for s in record.sections if not s.name
    ]
    assert found.user == contained(record.user)
    plain = record._replace(title=one_line(record.title), sections=found.sections, user=found.user)
    assert found == plain
    assert read(render(found, language).encode(), record.path) == found
    assert render(found, "zh") == render(found, "en"), "headings stay as they are written"


def test_how_a_record_looks() -> None:
    record = Record(
        "D001", "decision", "选用 PostgreSQL\n作为数据库", "project/shop", "accepted", tags=("后端",), extra={"mine": [1]},
        sections=(Section("decision", "", "用它。"), Section("", "C #", "## x"), Section("why", "", "")),
    )  # fmt: skip
    assert render(record, "zh") == (
        "---\nid: D001\nkind: decision\ntitle: 选用 PostgreSQL 作为数据库\nstatus: accepted\nscope: project/shop\n"
        "tags: [后端]\nmine: [1]\n---\n"
        f"{MACHINE_START}\n# [D001] 选用 PostgreSQL 作为数据库\n\n## 决策\n\n用它。\n\n## C # ##\n\n### x\n\n## 理由\n"
        f"{MACHINE_END}\n\n{USER_START}\n\n{USER_END}\n"
    )


FRONT = "---\nid: D001\nkind: decision\ntitle: x\n"
BODY = f"---\n{MACHINE_START}\n{MACHINE_END}\n{USER_START}\n{USER_END}\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "no frontmatter"),
        ("# [D001] x\n", 1, "no frontmatter"),
        ("---\n---\n", 1, "no frontmatter"),
        (FRONT, 1, "never closed"),
        (FRONT + "id: D002\n" + BODY, 5, "the key id stands here twice"),
        (FRONT + "\tstatus: accepted\n" + BODY, 5, "cannot be read"),
        (FRONT.replace("title: x", "title: ") + BODY, 4, "title is missing"),
        (FRONT.replace("title: x", "title: [x]") + BODY, 4, "title is missing"),
        (FRONT.replace("title: x", 'title: "\\u200b"') + BODY, 4, "title is missing"),
        (FRONT.replace("kind: decision\n", "") + BODY, 1, "kind is missing"),
        (FRONT + "tags: {a: b}\n" + BODY, 5, "tags must be a list"),
        (FRONT + "tags: [[a]]\n" + BODY, 5, "tags must be a list"),
        (FRONT + "status: [a]\n" + BODY, 5, "status must be text"),
        (FRONT + "claims: x\n" + BODY, 5, "claims must be a mapping"),
        (FRONT + "claims: {a: [b]}\n" + BODY, 5, "claims must be a mapping"),
        (FRONT + "occurrences: 0\n" + BODY, 5, "occurrences must be"),
        (FRONT + "occurrences: many\n" + BODY, 5, "occurrences must be"),
        (FRONT + "occurrences: true\n" + BODY, 5, "occurrences must be"),
        (FRONT + "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n" + BODY, 5, "conflict"),
        (FRONT + BODY.replace(MACHINE_END, f"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n{MACHINE_END}"), 7, "conflict"),
        (
            (FRONT + BODY).replace("\n", "\r\n").replace(MACHINE_END, f"<<<<<<< x\r\n=======\r\n{MACHINE_END}"),
            7,
            "conflict",
        ),
        (FRONT + "---\n# half a file\n", 6, "MACHINE_BLOCK_START --> is missing"),
        (FRONT + BODY[: BODY.index(USER_END)], 8, "USER_BLOCK_END --> is missing"),
    ],
)
def test_what_is_no_record(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadRecord, match=problem) as caught:
        read(text.encode(), "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_words_are_read_as_they_are_written() -> None:
    record = record_of(
        FRONT.replace("x\n", "12:30\n")
        + "tags: [no, 1.10, 007, true, 0x1]\nscope: yes\nuid: 12\nclaims: {a: 3.10}\n"
        + BODY
    )
    assert (record.title, record.scope, record.uid) == ("12:30", "yes", "12")
    assert record.tags == ("no", "1.10", "007", "true", "0x1")
    assert record.claims == {"a": "3.10"}


def test_the_user_text_is_that_of_the_file() -> None:
    for inside, user in (("", ""), ("\n", ""), ("a\n", "a"), ("\n a \n\n", "\n a \n")):
        for end in ("\n", "\r\n"):
            text = (FRONT + BODY.replace(USER_END, inside + USER_END)).replace("\n", end)
            assert record_of(text).user == user.replace("\n", end)


def test_conflict_marks_in_code_are_text() -> None:
    shown = "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n"
    record = record_of(FRONT + BODY.replace(MACHINE_END, f"## Why\n{shown}{MACHINE_END}"))
    assert record.section("why") == shown.strip("\n")


@given(
    st.binary(max_size=80) | texts().map(lambda text: (FRONT + BODY.replace(MACHINE_END, text + MACHINE_END)).encode())
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    try:
        assert isinstance(read(data, "a.md"), Record)
    except BadRecord as error:
        assert error.path == "a.md"


@pytest.mark.parametrize("start", ["", FRONT, FRONT + BODY[: BODY.index(MACHINE_END)]])
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "#",
        "# ",
        "## x\n",
        "`",
        "```\n",
        "~",
        "> ",
        "- ",
        "-\n",
        "<",
        "<!--",
        "<!-- x -->\n",
        "=",
        "<<<<<<< x\n",
        "[",
        "\r",
    ]
    + [f"{MACHINE_START}\n", "[D001]", "[a.", "`a``b", "\\", "|", "> ```\n", "- ```\nb\n", "\t"],
)
def test_four_megabytes_of_anything_end_soon(start: str, piece: str) -> None:
    begin = time.perf_counter()
    size = 3_900_000 if piece not in ("-\n", "\r", "## x\n", "<!-- x -->\n", "```\n", "<<<<<<< x\n") else 600_000
    text = start + piece * (size // len(piece))
    for data in (text, f"{text}\n{BODY[4:]}", f"{text}x #\n{MACHINE_END}\n{USER_START}\n{USER_END}\n"):
        try:
            read(data.encode()[:3_999_999], "a.md")
        except BadRecord:
            continue
    assert time.perf_counter() - begin < 10


# -- the proof of an edit -------------------------------------------------------------------------

OLD = (
    FRONT
    + "tags: [a] # c\nmine: .nan\n"
    + BODY.replace(MACHINE_END, f"## Why\n{MACHINE_END}").replace(USER_END, f"mine\n{USER_END}")
)


@pytest.mark.parametrize(
    ("new", "keys"),
    [
        (OLD, ()),
        (edit_front(OLD, {"tags": ["b"], "status": "accepted"}), ("tags", "status")),
        (edit_front(OLD, {"tags": None}), ("tags",)),
        (edit_section(OLD, "why", "因为"), ()),
        (OLD.replace(" # c", "  # d"), ()),
    ],
)
def test_a_proved_edit(new: str, keys: tuple[str, ...]) -> None:
    proved(OLD, new, keys, "a.md")


@pytest.mark.parametrize(
    ("new", "keys", "problem", "line"),
    [
        (edit_front(OLD, {"tags": ["b"]}), ("status",), "the key tags", 5),
        (edit_front(OLD, {"status": "accepted"}), (), "the key status", 5),
        (edit_front(OLD, {"mine": None}), (), "the key mine", 1),
        (edit_front(OLD, {"tags": [1]}), (), "the key tags", 5),
        (OLD.replace("mine\n" + USER_END, "yours\n" + USER_END), (), "outside the MACHINE block", 8),
        (OLD.replace("mine\n" + USER_END, "mine \n" + USER_END), (), "outside the MACHINE block", 8),
        (OLD + "x", (), "outside the MACHINE block", 8),
        (OLD.replace(MACHINE_START, f"x\n{MACHINE_START}"), (), "outside the MACHINE block", 8),
        ("\ufeff" + OLD, (), "outside the MACHINE block", 8),
        (OLD.replace(MACHINE_END, ""), (), "is missing", 8),
        (OLD.replace("title: x", "title: "), ("title",), "title is missing", 4),
        (OLD.replace("tags: [a]", "tags: [a"), ("tags",), "cannot be read", 6),
    ],
)
def test_an_edit_that_is_not_proved(new: str, keys: tuple[str, ...], problem: str, line: int) -> None:
    with pytest.raises(BadRecord, match=problem) as caught:
        proved(OLD, new, keys, "a.md")
    assert caught.value.path == "a.md"
    assert caught.value.line == line


# -- citations ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("see [D001].", ["D001"]),
        ("见[D001]和[约束](x)。", ["D001"]),
        ("参见【[D001]】，以及[C002]、[DN001]；[CK001]！", ["D001", "C002", "DN001", "CK001"]),
        (
            "[shop:D001] [商店:P002] [a-b.c:D1000] [global:M003]",
            ["shop:D001", "商店:P002", "a-b.c:D1000", "global:M003"],
        ),
        ("[D1000] [I12345]", ["D1000", "I12345"]),
        ("[D001]: it holds", ["D001"]),
        ("As of [D001]: use it.", ["D001"]),
        ("[D001][D002]", ["D001", "D002"]),
        ("([D001], [D002])", ["D001", "D002"]),
        ("**[D001]** _[D002]_ ~[D003]~", ["D001", "D002", "D003"]),
        ("| [D001] | [D002] |", ["D001", "D002"]),
        ("> [D001]\n> - [D002]", ["D001", "D002"]),
        ("- [ ] [D001]", ["D001"]),
        ("[D001]（见下）", ["D001"]),
        ("arr[D001] x_[D001]", []),
        ("[D1] [D12] [d001] [RFC2119] [X509] [H264] [AB123]", []),
        ("[D001](x.md) [see][D001] [D001][] [D001][x] ![D001]", []),
        ("[D001]: x.md\n  [D002]: <a b> 'title'\n[D003]: x.md", []),
        (r"\[D001] \\[D002] \\\[D003]", ["D002"]),
        ("`[D001]` ``a ` [D002]`` [D003]", ["D003"]),
        ("`open [D001]", ["D001"]),
        ("`a\n[D001]` [D002]", ["D002"]),
        ("`a\n\n[D001]`", ["D001"]),
        ("- `a\n- [D001]`", ["D001"]),
        (r"`a\` [D001] `b`", ["D001"]),
        (r"\`[D001]`", ["D001"]),
        ("```\n[D001]\n```\n[D002]", ["D002"]),
        ("~~~\n[D001]", []),
        ("- a\n  ```\n  [D001]\n  ```\n  [D002]", ["D002"]),
        ("text\n\n    [D001]\n\n[D002]", ["D002"]),
        ("- a\n\n    [D001]", ["D001"]),
        ("- a\n    - [D001]", ["D001"]),
        ("# [D001] 标题 [D002]\n## [shop:D003] x", ["D002", "shop:D003"]),
        ("---\nid: D001\nnote: '[D001]'\n---\n[D002]", ["D002"]),
        ("[D001]\r\n[D002]\r[D003]", ["D001", "D002", "D003"]),
        ("[D001", []),
        ("", []),
    ],
)
def test_what_is_a_citation(text: str, cited: list[str]) -> None:
    assert [f"{project}:{id_}" if project else id_ for project, id_, _ in citations(text)] == cited


def test_citations_tell_their_line() -> None:
    text = "---\r\nid: D001\r\n---\r\n[D001]\r\n\r\n```\r\n[D002]\r\n```\r\nx\r\n`a\r\nb` [P003]\r\n"
    assert list(citations(text)) == [("", "D001", 4), ("", "P003", 11)]


@given(texts())
@settings(max_examples=200, deadline=None)
def test_citations_stand_where_they_say(text: str) -> None:
    rows = lines(text)
    marked = "".join(f"[D{n:03}] {row}" if n % 2 else row for n, row in enumerate(rows))
    for _, id_, line in citations(marked):
        assert f"[{id_}]" in lines(marked)[line - 1]


@pytest.mark.parametrize(
    "piece", ["`", "`a``b", "[D001]", "[", "[a", "\\", "\\`", "!", "[D001]: ", "[D001](", "|", "[a.b:", "- [D001]\n"]
)
def test_citations_in_a_megabyte_end_soon(piece: str) -> None:
    begin = time.perf_counter()
    sum(1 for _ in citations("[D001] " + piece * (1_000_000 // len(piece))))
    sum(1 for _ in citations("[D001] " + " ".join("`" * n for n in range(1_400))))
    assert time.perf_counter() - begin < 5


# -- speed ----------------------------------------------------------------------------------------

TYPICAL = render(
    Record(
        "D001", "decision", "选用 PostgreSQL 作为订单数据库", "project/shop", "accepted", "01J8ZQ4T9V3W5X7Y", "2026-01-02",
        ("后端", "database"), ("src/orders/store.py", "docs/db.md"), ("D000",), claims={"orders.database": "PostgreSQL"},
        occurrences=2, sources=("session:abc",), sections=tuple(Section(n, "", "Because it is so, 因为如此。\n" * 5) for n in NAMES[:7]),
    )
).encode()  # fmt: skip


def test_a_typical_record_is_read_in_no_time() -> None:
    read(TYPICAL)
    assert 1500 < len(TYPICAL) < 4000
    best = min(_seconds(lambda: read(TYPICAL)) for _ in range(50))
    assert best < 0.001, "about 0.3 ms on an idle machine; the factor is for busy ones"


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def test_importing_the_codec_stays_light() -> None:
    heavy = (
        "{'yaml', 'frontmatter', 'markdown_it', 'dataclasses', 'inspect', 'pathlib', 'subprocess', 'logging', 'click'}"
    )
    code = f"import sys, kb.markdown, kb.candidate; print(*sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
