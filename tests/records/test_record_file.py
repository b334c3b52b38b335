"""Tests of kb.records.record_file: record files are read, written and proved."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.records.blocks import (
    MACHINE_END,
    MACHINE_START,
    USER_END,
    USER_START,
    edit_section,
    escape_block,
    escape_section,
)
from kb.records.front_matter import edit_front_matter
from kb.records.kinds import KINDS, SECTIONS, resolve_section_name
from kb.records.model import Record, Section
from kb.records.record_file import normalise_record, parse_record, read, render, verify_edit
from kb.text.segment import normalise_newlines, one_line
from tests.support.nasty import ROWS, texts
from tests.support.timing import within

NAMES = [section.name for section in SECTIONS if section.is_shared]

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
def records(draw: st.DrawFn) -> Record:
    """Draw a record with sections of its kind under any of their headings, and headings no kind knows."""
    kind = draw(st.sampled_from(KINDS))
    names = [one.name for one in SECTIONS if one.is_shared or one.name in kind.sections]
    labels = {name: ["", name, "Decision" if name == "decision" else ""] for name in names}
    labels |= {one.name: ["", one.en, one.zh, f"{one.en} ({one.zh})"] for one in kind.labels}
    known = [
        Section(name, draw(st.sampled_from(labels[name])), draw(texts()))
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    ]
    own = [Section("", heading, draw(texts())) for heading in draw(st.lists(WORD | ROWS, max_size=2))]
    own = [s for s in own if not resolve_section_name(one_line(s.heading), kind.name)]
    return draw(RECORDS)._replace(kind=kind.name, sections=tuple(draw(st.permutations(known + own))))


RECORDS = st.builds(
    Record, id=st.sampled_from(["D001", "CK1000", "a b", "1"]), kind=st.just("decision"), title=TITLES,
    scope=st.sampled_from(["global", "project/商店"]), status=st.sampled_from(["proposed", "accepted"]),
    uid=st.text(max_size=5), date=st.sampled_from(["", "2026-01-02"]), tags=WORDS, impact=WORDS, supersedes=WORDS,
    amends=WORDS, coexists_with=PAIRS, claims=PAIRS, occurrences=st.integers(1, 10**9), sources=WORDS,
    confirmed=st.sampled_from(["", "2026-01-02"]),
    extra=st.dictionaries(
        st.sampled_from(["mine", "no", "a: b", "标签"]), st.none() | st.integers() | WORDS.map(list), max_size=2
    ),
    user=texts(), path=st.just("a/b.md"),
)  # fmt: skip


@given(records(), st.sampled_from(["en", "zh"]))
def test_a_rendered_record_reads_back_the_same(record: Record, language: str) -> None:
    text = render(record, language)
    found = read(text.encode(), record.path)
    assert normalise_record(record, language) == found
    wanted = [(s.name, normalise_newlines(escape_section(s.text)).strip("\n")) for s in record.sections]
    assert [(s.name, s.text) for s in found.sections] == wanted
    assert [s.heading for s in found.sections if not s.name] == [
        one_line(s.heading) for s in record.sections if not s.name
    ]
    assert found.user == escape_block(record.user)
    plain = record._replace(title=one_line(record.title), sections=found.sections, user=found.user)
    assert found == plain
    assert read(render(found, language).encode(), record.path) == found
    assert render(found, "zh") == render(found, "en"), "headings stay as they are written"


def test_a_heading_that_is_cleaned_names_what_it_then_says() -> None:
    record = Record("D001", "decision", "x", sections=(Section("", "\x04Why", "It is fast."),))
    assert read(render(record).encode()) == normalise_record(record)
    assert normalise_record(record).section("why") == "It is fast."


def test_how_a_record_looks() -> None:
    record = Record(
        "D001", "decision", "选用 PostgreSQL\n作为数据库", "project/shop", "accepted", tags=("后端",),
        extra={"mine": [1]},
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
        (FRONT + BODY[: BODY.index(USER_END)], 8, "USER_BLOCK_END --> is missing"),
    ],
)
def test_what_is_no_record(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadRecord, match=problem) as caught:
        read(text.encode(), "a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_words_are_read_as_they_are_written() -> None:
    record = parse_record(
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
            assert parse_record(text).user == user.replace("\n", end)


def test_conflict_marks_in_code_are_text() -> None:
    shown = "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n"
    record = parse_record(FRONT + BODY.replace(MACHINE_END, f"## Why\n{shown}{MACHINE_END}"))
    assert record.section("why") == shown.strip("\n")


@given(
    st.binary(max_size=80) | texts().map(lambda text: (FRONT + BODY.replace(MACHINE_END, text + MACHINE_END)).encode())
)
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    try:
        assert isinstance(read(data, "a.md"), Record)
    except BadRecord as error:
        assert error.path == "a.md"


PIECES = [
    "a", " ", "#", "# ", "## x\n", "`", "```\n", "~", "> ", "- ", "-\n", "<", "<!--", "<!-- x -->\n", "=",
    "<<<<<<< x\n", "[", "\r", f"{MACHINE_START}\n", "[D001]", "[a.", "`a``b", "\\", "|", "> ```\n", "- ```\nb\n",
    "\t",
]  # fmt: skip


@pytest.mark.parametrize("start", ["", FRONT, FRONT + BODY[: BODY.index(MACHINE_END)]])
@pytest.mark.parametrize("piece", PIECES)
def test_four_megabytes_of_anything_end_soon(start: str, piece: str) -> None:
    with within(10):
        size = 300_000 if "\n" in piece or piece == "\r" else 3_900_000
        text = start + piece * (size // len(piece))
        for data in (text, f"{text}\n{BODY[4:]}", f"{text}x #\n{MACHINE_END}\n{USER_START}\n{USER_END}\n"):
            try:
                read(data.encode()[:3_999_999], "a.md")
            except BadRecord:
                continue


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
        (edit_front_matter(OLD, {"tags": ["b"], "status": "accepted"}), ("tags", "status")),
        (edit_front_matter(OLD, {"tags": None}), ("tags",)),
        (edit_section(OLD, "why", "因为"), ()),
        (OLD.replace(" # c", "  # d"), ()),
    ],
)
def test_a_proved_edit(new: str, keys: tuple[str, ...]) -> None:
    verify_edit(OLD, new, keys, "a.md")


@pytest.mark.parametrize(
    ("new", "keys", "problem", "line"),
    [
        (edit_front_matter(OLD, {"tags": ["b"]}), ("status",), "the key tags", 5),
        (edit_front_matter(OLD, {"status": "accepted"}), (), "the key status", 5),
        (edit_front_matter(OLD, {"mine": None}), (), "the key mine", 1),
        (edit_front_matter(OLD, {"tags": [1]}), (), "the key tags", 5),
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
        verify_edit(OLD, new, keys, "a.md")
    assert caught.value.path == "a.md"
    assert caught.value.line == line


# -- speed ----------------------------------------------------------------------------------------

TYPICAL = render(
    Record(
        "D001", "decision", "选用 PostgreSQL 作为订单数据库", "project/shop", "accepted", "01J8ZQ4T9V3W5X7Y",
        "2026-01-02", ("后端", "database"), ("src/orders/store.py", "docs/db.md"), ("D000",),
        claims={"orders.database": "PostgreSQL"}, occurrences=2, sources=("session:abc",),
        sections=tuple(Section(n, "", "Because it is so, 因为如此。\n" * 5) for n in NAMES[:7]),
    )
).encode()  # fmt: skip


def test_a_typical_record_is_read_in_no_time() -> None:
    read(TYPICAL)
    assert 1500 < len(TYPICAL) < 4000
    with within(0.05):
        for _ in range(100):
            read(TYPICAL)


def test_importing_the_codec_stays_light() -> None:
    heavy = (
        "{'yaml', 'frontmatter', 'markdown_it', 'dataclasses', 'inspect', 'pathlib', 'subprocess', 'logging', 'click'}"
    )
    code = f"import sys, kb.records.record_file, kb.records.candidate; print(*sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
