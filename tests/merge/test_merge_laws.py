"""The laws of merging records, for records as kb writes them and edits as agents and people make them."""

import re
from collections.abc import Callable
from functools import reduce
from itertools import permutations

from hypothesis import example, given
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.merge.merge_lines import order_all_names
from kb.merge.merge_record import MergedRecord, merge_record
from kb.records.blocks import (
    USER_END,
    append_to_section,
    edit_section,
    escape_block,
    find_blocks,
    refuse_conflict_markers,
    replace_machine_block,
)
from kb.records.front_matter import edit_front_matter, find_body_start, parse_front_matter
from kb.records.model import Record, Section, Status
from kb.records.record_file import read, render
from kb.text.markdown_scan import find_headings
from tests.support.nasty import NASTY, texts

Edit = Callable[[str], str]
PATH = "content/anchors/global/D001-x.md"
WORDS = ("orders", "ledger", "PostgreSQL", "retries", "订单", "账本", "幂等键", "脱敏规则")
NAMES = ("context", "decision", "alternatives", "why", "impact", "verification", "rollback", "additions")
MARKERS = re.compile(r"^(<{7} ours|={7}|>{7} theirs)\r?$", re.MULTILINE)
REGION = re.compile(r"(?ms)^(<{7} ours\r?\n)(.*?)^(={7}\r?\n)(.*?)^(>{7} theirs\r?$)")


def merge(base: str | None, ours: str, theirs: str) -> MergedRecord:
    return merge_record(base and base.encode(), ours.encode(), theirs.encode(), path=PATH)


def text_of(base: str | None, ours: str, theirs: str) -> str:
    return merge(base, ours, theirs).data.decode()


def user_of(text: str) -> str:
    return text[slice(*find_blocks(text).user)]


# -- records and edits -----------------------------------------------------------------------------

sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
words = st.lists(st.sampled_from(WORDS), max_size=3, unique=True).map(tuple)
table = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map(
    lambda names: "| name | good |\n|---|---|\n" + "".join(f"| {name} | yes |\n" for name in names)
)
bullets = st.lists(sentence, min_size=1, max_size=4).map(lambda items: "".join(f"- {item}\n" for item in items))
code = st.lists(sentence, max_size=3).map(lambda rows: "```sh\n" + "".join(f"{row}\n" for row in rows) + "```\n")
paragraph = st.lists(sentence, min_size=1, max_size=3).map(lambda rows: "".join(f"{row}.\n" for row in rows))
body = st.lists(table | bullets | code | paragraph, min_size=1, max_size=3).map("\n".join)


@st.composite
def records(draw: st.DrawFn) -> str:
    """Draw a record file as kb renders it."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    record = Record(
        "D001", "decision", draw(sentence), "global", draw(st.sampled_from(list(Status))), "01UID", "2026-01-02",
        tags=draw(words), impact=draw(words),
        claims=draw(st.dictionaries(st.sampled_from(WORDS), sentence, max_size=2)),
        occurrences=draw(st.integers(1, 3)), sources=draw(words), confirmed=draw(st.sampled_from(["", "2026-02-03"])),
        extra={"owner": draw(sentence)} if draw(st.booleans()) else {},
        sections=tuple(Section(name, "", draw(body)) for name in sorted(names, key=NAMES.index)),
        user=draw(paragraph | st.just("")),
    )  # fmt: skip
    return render(record, draw(st.sampled_from(["en", "zh"])))


def in_front(key: str, change: Callable[[object], object]) -> Edit:
    return lambda text: edit_front_matter(text, {key: change(parse_front_matter(text).get(key))})


def more(item: str) -> Callable[[object], object]:
    return lambda old: list(dict.fromkeys([*(old if isinstance(old, list) else []), item]))


def fewer(place: int) -> Callable[[object], object]:
    return lambda old: [item for n, item in enumerate(old) if n != place] or None if isinstance(old, list) else old


def row_edit(place: int, change: Callable[[str], str]) -> Edit:
    """Return an edit of one row of the MACHINE block that is neither heading nor fence nor rule."""

    def edited(text: str) -> str:
        inside = text[slice(*find_blocks(text).machine)]
        rows = inside.splitlines(keepends=True)
        free = [n for n, row in enumerate(rows) if row.strip() and not row.startswith(("#", "```", "|--"))]
        if not free:
            return text
        number = free[place % len(free)]
        return replace_machine_block(text, "".join([*rows[:number], change(rows[number]), *rows[number + 1 :]]))

    return edited


def without_section(place: int) -> Edit:
    def edited(text: str) -> str:
        span = find_blocks(text).machine
        inside = text[slice(*span)]
        found = find_headings(inside)
        if not found:
            return text
        one = found[place % len(found)]
        return text[: span.start] + inside[: one.start] + inside[one.end :] + text[span.end :]

    return edited


def in_user(change: Callable[[str], str]) -> Edit:
    def edited(text: str) -> str:
        span = find_blocks(text).user
        return text[: span.start] + change(text[slice(*span)]) + text[span.end :]

    return edited


def noted(day: int, fact: str) -> Edit:
    """Return the edit that adds a dated note; kb adds none that is there."""
    return added("additions", f"- 2026-03-{day:02d} (test/s{day}): {fact}")


def added(section: str, line: str) -> Edit:
    """Return the edit that adds *line* to a section; kb adds none that is there."""
    return lambda text: text if line in text.splitlines() else append_to_section(text, section, line)


places = st.integers(0, 30)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(in_front, st.sampled_from(["tags", "impact", "sources", "aliases"]), sentence.map(more)),
    st.builds(in_front, st.sampled_from(["tags", "impact", "sources"]), st.integers(0, 2).map(fewer)),
    st.builds(in_front, st.just("occurrences"), st.integers(1, 2).map(lambda n: lambda old: (old or 1) + n)),
    st.builds(in_front, st.just("status"), st.sampled_from(list(Status)).map(lambda s: lambda old: str(s))),
    st.builds(in_front, st.sampled_from(["title", "owner", "date"]), sentence.map(lambda w: lambda old: w)),
    st.builds(in_front, st.just("confirmed"), st.integers(1, 9).map(lambda d: lambda old: f"2026-04-0{d}")),
    st.builds(in_front, st.just("claims"), sentence.map(lambda w: lambda old: {**(old or {}), w[:6]: w})),
    st.builds(noted, st.integers(1, 28), sentence),
    st.builds(row_edit, places, sentence.map(lambda w: lambda row: w + "\n")),
    st.builds(row_edit, places, sentence.map(lambda w: lambda row: f"{row}{w}\n")),
    st.builds(row_edit, places, sentence.map(lambda w: lambda row: f"{row}- {w}\n")),
    st.builds(row_edit, places, st.sampled_from(WORDS).map(lambda w: lambda row: f"{row}| {w} | new |\n")),
    st.builds(row_edit, places, st.just(lambda row: row.replace("yes", "no"))),
    st.builds(row_edit, places, st.just(lambda row: "")),
    st.builds(lambda name, text: lambda old: edit_section(old, name, text), st.sampled_from(NAMES), body),
    st.builds(without_section, places),
    st.builds(in_user, paragraph.map(lambda more: lambda old: old + more)),
    st.builds(in_user, paragraph.map(lambda new: lambda old: new)),
    st.just(lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n")),
    st.just(lambda text: "\ufeff" + text.removeprefix("\ufeff")),
)


@st.composite
def sides(draw: st.DrawFn, most: int = 4) -> tuple[str, str, str]:
    """Draw a base and what two sides made of it."""
    base = draw(records())
    found = []
    for _ in range(2):
        text = base
        for edit in draw(st.lists(EDITS, min_size=1, max_size=most)):
            text = edit(text)
        found.append(text)
    return base, found[0], found[1]


# -- laws ------------------------------------------------------------------------------------------


@given(sides())
def test_what_nobody_or_one_side_changed_needs_no_merge(three: tuple[str, str, str]) -> None:
    base, ours, theirs = three
    assert merge(base, base, base) == MergedRecord(base.encode())
    assert merge(base, ours, base) == MergedRecord(ours.encode()) == merge(base, base, ours)
    assert merge(base, theirs, theirs) == MergedRecord(theirs.encode()) == merge(None, theirs, theirs)


@given(sides())
def test_swapping_the_sides_swaps_what_stands_between_the_markers(three: tuple[str, str, str]) -> None:
    base, ours, theirs = three
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert REGION.sub(r"\1\4\3\2\5", one.data.decode()) == other.data.decode()
    assert one.conflicts == other.conflicts
    assert len(one.removed) == len(other.removed)


@given(sides())
def test_a_merge_is_a_record_or_shows_its_conflicts_outside_the_front(three: tuple[str, str, str]) -> None:
    found = merge(*three)
    text = found.data.decode()
    assert parse_front_matter(text)["id"] == "D001"
    if not found.conflicts:
        read(found.data)
        assert not MARKERS.search(text)
        return
    try:
        refuse_conflict_markers(text)
    except BadRecord:
        spans = find_blocks(text)
        for match in MARKERS.finditer(text):
            assert any(span.start <= match.start() < span.end for span in spans)
    else:
        raise AssertionError("no marker is seen")


@given(sides())
def test_user_bytes_of_an_unedited_side_survive(three: tuple[str, str, str]) -> None:
    base, ours, theirs = three
    text = text_of(base, ours, theirs)
    if user_of(ours) == user_of(base):
        assert user_of(text) == user_of(theirs)
    if user_of(theirs) == user_of(base):
        assert user_of(text) == user_of(ours)


@given(sides())
def test_merging_twice_is_merging_once(three: tuple[str, str, str]) -> None:
    base, ours, theirs = three
    found = merge(base, ours, theirs)
    text = found.data.decode()
    assert text_of(theirs, text, theirs) == text == text_of(ours, ours, text)
    counts = [parse_front_matter(side).get("occurrences", 1) for side in three]
    if not found.conflicts and counts[0] == counts[2]:  # a count without a new source may be another one
        again = merge(base, text, theirs)
        assert again.data.decode() == text or again.conflicts


def rows_of(text: str) -> list[str]:
    """Return the rows of both blocks that say something, but for the title."""
    spans = find_blocks(text)
    rows = (text[slice(*spans.machine)] + text[slice(*spans.user)]).splitlines()
    return [row.strip() for row in rows if row.strip() and not row.startswith("# [")]


@given(sides())
def test_what_one_side_says_is_there_and_what_it_removed_is_not(three: tuple[str, str, str]) -> None:
    base, ours, theirs = map(rows_of, three)
    found = merge(*three)
    now = rows_of(found.data.decode())
    for side in (ours, theirs):
        assert {row for row in side if row not in base} <= set(now)
    if not found.conflicts:
        for mine, other in ((ours, theirs), (theirs, ours)):
            gone = {row for row in base if row not in mine and base.count(row) == other.count(row) == 1}
            assert not gone & set(now)


@given(sides())
def test_fields_merge_as_sets_and_sums(three: tuple[str, str, str]) -> None:
    base, ours, theirs = map(parse_front_matter, three)
    now = parse_front_matter(text_of(*three))
    for key in ("tags", "impact", "sources", "aliases"):
        old, mine, other = (set(values.get(key) or ()) for values in (base, ours, theirs))
        assert set(now.get(key) or ()) == (old & mine & other) | (mine - old) | (other - old)
    old, mine, other = (values.get("occurrences", 1) for values in (base, ours, theirs))
    if ours != theirs:
        heard = [set(values.get("sources") or ()) for values in (base, ours, theirs)]
        twice = min(len((heard[1] & heard[2]) - heard[0]), mine - old, other - old)
        assert now.get("occurrences", 1) == mine + other - old - twice


def heard(session: str) -> Edit:
    """Return the edit by which kb counts a session, once."""

    def edited(text: str) -> str:
        values = parse_front_matter(text)
        sources = values.get("sources") or []
        more = {"occurrences": values.get("occurrences", 1) + 1, "sources": [*sources, session]}
        return text if session in sources else edit_front_matter(text, more)

    return edited


ADDITIONS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(noted, st.integers(1, 28), sentence),
    st.builds(heard, st.sampled_from(["s1", "s2", "s3", "s4"])),
    st.builds(in_front, st.sampled_from(["tags", "impact"]), sentence.map(more)),
    sentence.map(lambda item: added("impact", f"- `{item}.py`")),
)


@given(records(), st.lists(st.lists(ADDITIONS, min_size=1, max_size=3), min_size=3, max_size=3))
def test_additions_never_conflict_and_come_out_the_same_in_any_order(base: str, branches: list[list[Edit]]) -> None:
    base = edit_front_matter(base, {"sources": None, "occurrences": None})
    sides = [reduce(lambda text, edit: edit(text), edits, base) for edits in branches]
    outcomes = set()
    for order in permutations(sides):
        text = order[0]
        for side in order[1:]:
            found = merge(base, text, side)
            assert not found.conflicts
            text = found.data.decode()
        record = read(text.encode())
        assert record.occurrences == 1 + len(record.sources)
        fields = (frozenset(getattr(record, key)) for key in ("tags", "impact", "sources"))
        outcomes.add((*fields, tuple(sorted(rows_of(text)))))
    assert len(outcomes) == 1


orders = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(orders, orders, orders)
@example(["c", "e", "a"], ["a", "c"], ["a", "e"])
def test_names_stand_in_one_order_whichever_side_is_ours(base: list[str], ours: list[str], theirs: list[str]) -> None:
    found = order_all_names(base, ours, theirs)
    assert found == order_all_names(base, theirs, ours)
    assert sorted(found) == sorted({*base, *ours, *theirs})


# -- texts as nobody would like to merge them ------------------------------------------------------


@st.composite
def nasty_sides(draw: st.DrawFn) -> tuple[str, str, str]:
    """Draw three records whose texts share rows and mean something in markdown and YAML."""
    machine, user = draw(texts(20)), draw(texts(6))
    found = []
    for _ in range(3):
        head = edit_front_matter("---\nid: D001\nkind: decision\ntitle: x # why\n---\n", {"tags": draw(words) or None})
        values = draw(st.dictionaries(st.sampled_from(["title", "owner", "tags", "x y"]), NASTY, max_size=2))
        blocks_of = [escape_block(cut_up(draw, text)) for text in (machine, user)]
        inside, notes = (text + "\n" if text and not text.endswith(("\n", "\r")) else text for text in blocks_of)
        found.append(
            f"{edit_front_matter(head, values)}<!-- MACHINE_BLOCK_START -->\n{inside}<!-- MACHINE_BLOCK_END -->\n"
            f"<!-- USER_BLOCK_START -->\n{notes}{USER_END}\n"
        )
    return found[0], found[1], found[2]


def cut_up(draw: st.DrawFn, text: str) -> str:
    """Return *text* with a few of its rows gone, doubled or other."""
    rows = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 3)) if rows else 0):
        at = draw(st.integers(0, len(rows)))
        rows[at : at + draw(st.integers(0, 1))] = draw(
            st.lists(st.sampled_from([*rows, "new\n", "- new\n"]), max_size=2)
        )
        if not rows:
            break
    return "".join(rows)


def parts_between_markers(text: str) -> list[str]:
    """Return the rows of *text* in an order that does not tell which side is ours."""
    return sorted(row for row in text.replace("\r", "\n").split("\n") if not MARKERS.match(row))


@given(nasty_sides(), st.booleans())
def test_no_text_breaks_a_merge(three: tuple[str, str, str], has_base: bool) -> None:
    base, ours, theirs = three
    one, other = merge(base if has_base else None, ours, theirs), merge(base if has_base else None, theirs, ours)
    assert parts_between_markers(one.data.decode()) == parts_between_markers(other.data.decode())
    assert one.conflicts == other.conflicts
    if not one.conflicts and ours != theirs and base not in (ours, theirs):
        read(one.data)
    assert not MARKERS.search(one.data.decode()[: find_body_start(one.data.decode())])


@given(nasty_sides(), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=3))
def test_no_marker_stands_in_a_front_where_rows_of_it_are_gone(
    three: tuple[str, str, str], gone: list[tuple[int, int]]
) -> None:
    rows = [text.splitlines(keepends=True) for text in three]
    for side, place in gone:
        del rows[side][place : place + 1]
    base, ours, theirs = ("".join(side) for side in rows)
    text = text_of(base, ours, theirs)
    assert not MARKERS.search(text[: find_body_start(text)])
    assert parts_between_markers(text) == parts_between_markers(text_of(base, theirs, ours))
