"""Merging records: typical merges as golden files, and what is easily got wrong."""

import re

import pytest

from kb.merge.merge_record import MergedRecord, merge_record
from kb.records.front_matter import edit_front_matter, parse_front_matter
from kb.records.model import Record, Section
from kb.records.record_file import read, render
from tests.support.sealed import DATA

_CASE = re.compile(
    r"(?ms)^(?P<title>[^\n]+)\n\.\n(?P<base>.*?)^\.\n(?P<ours>.*?)^\.\n(?P<theirs>.*?)^\.\n(?P<merged>.*?)^\.\n"
)
_TEXT = (DATA / "golden" / "merging.txt").read_text(encoding="utf-8")
CASES = [match.groups() for match in _CASE.finditer(_TEXT)]


def a_file(front: str = "", machine: str = "", user: str = "") -> str:
    """Return a record file with more in its front, and blocks of these texts."""
    return (
        f"---\nid: D001\nkind: decision\ntitle: Use PostgreSQL\n{front}---\n<!-- MACHINE_BLOCK_START -->\n{machine}"
        f"<!-- MACHINE_BLOCK_END -->\n<!-- USER_BLOCK_START -->\n{user}<!-- USER_BLOCK_END -->\n"
    )


def merge(base: str | None, ours: str, theirs: str, path: str = "a.md") -> MergedRecord:
    return merge_record(None if base is None else base.encode(), ours.encode(), theirs.encode(), path=path)


def text_of(base: str | None, ours: str, theirs: str) -> str:
    return merge(base, ours, theirs).data.decode()


def said(found: MergedRecord) -> list[str]:
    return [str(conflict.said) for conflict in found.conflicts]


# -- golden files ----------------------------------------------------------------------------------


def test_the_cases_are_found() -> None:
    assert len(CASES) == len(re.findall(r"(?m)^\.$", _TEXT)) // 5 >= 20


@pytest.mark.parametrize(("title", "base", "ours", "theirs", "expected"), CASES)
def test_typical_merges(title: str, base: str, ours: str, theirs: str, expected: str) -> None:
    found = merge(base, ours, theirs)
    assert found.data.decode() == expected
    assert bool(found.conflicts) == ("<<<<<<< ours" in expected)


@pytest.mark.parametrize(("title", "base", "ours", "theirs", "expected"), CASES)
def test_typical_merges_with_windows_line_ends(title: str, base: str, ours: str, theirs: str, expected: str) -> None:
    def windows(text: str) -> str:
        return text.replace("\n", "\r\n")

    assert text_of(windows(base), windows(ours), windows(theirs)) == windows(expected)
    assert text_of(base, windows(ours), theirs) == windows(expected) == text_of(base, ours, windows(theirs))
    assert text_of(windows(base), ours, windows(theirs)) == expected


# -- the front -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("proposed", "accepted", "superseded", "superseded"),
        ("proposed", "accepted", "deprecated", "deprecated"),
        ("accepted", "deprecated", "superseded", "superseded"),
        ("proposed", "superseded", "deprecated", "superseded"),
        ("proposed", "accepted", "rejected", None),
        ("proposed", "rejected", "superseded", None),
        ("accepted", "proposed", "deprecated", None),
        ("superseded", "accepted", "deprecated", None),
        ("accepted", "rejected", "superseded", None),
        ("accepted", "made up", "superseded", None),
        (None, "proposed", "accepted", "accepted"),
        (None, "rejected", "accepted", None),
    ],
)
def test_statuses(base: str | None, ours: str, theirs: str, expected: str | None) -> None:
    files = [a_file(f"status: {status}\n" if status else "") for status in (base, ours, theirs)]
    for mine, other in (files[1:], files[:0:-1]):
        found = merge(files[0], mine, other)
        assert parse_front_matter(found.data.decode()).get("status") == (expected or base or min(ours, theirs))
        assert [conflict.name for conflict in found.conflicts] == ([] if expected else ["status"])


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (1, 2, 2, 3),
        (1, 2, 4, 5),
        (5, 3, 4, 2),
        (4, 1, 2, 1),
    ],
)
def test_counters_are_sums_of_what_each_side_added(base: int, ours: int, theirs: int, expected: int) -> None:
    files = [a_file(f"occurrences: {n}\nowner: x{m}\n") for m, n in enumerate((base, ours, theirs))]
    files = [text.replace("owner: x1", "owner: x0").replace("owner: x2", "owner: x0") for text in files]
    files[1] = files[1].replace("owner: x0", "owner: x0\nseen: a")
    assert parse_front_matter(text_of(*files))["occurrences"] == expected


def test_a_source_both_heard_is_counted_once() -> None:
    base = a_file("sources: [s1]\n")
    ours = a_file("occurrences: 3\nsources: [s1, s2, s3]\n")
    theirs = a_file("occurrences: 3\nsources: [s1, s3, s4]\n")
    found = text_of(base, ours, theirs)
    now = parse_front_matter(found)
    assert (now["occurrences"], now["sources"]) == (4, ["s1", "s2", "s3", "s4"])
    assert text_of(base, found, theirs) == found == text_of(base, ours, found)


def test_the_same_record_added_on_both_sides_is_counted_from_what_they_share() -> None:
    ours = a_file("uid: U\noccurrences: 2\nsources: [s1, s2]\n")
    theirs = a_file("uid: U\noccurrences: 2\nsources: [s1, s3]\n")
    found = merge(None, ours, theirs)
    assert not found.conflicts
    assert (parse_front_matter(found.data.decode())["occurrences"], read(found.data).sources) == (3, ("s1", "s2", "s3"))


def test_an_item_one_side_removed_goes_and_is_told() -> None:
    base, ours, theirs = (a_file(f"tags: [{tags}]\n") for tags in ("a, b, c", "a, c", "a, b, c, 新"))
    found = merge(base, ours, theirs)
    assert parse_front_matter(found.data.decode())["tags"] == ["a", "c", "新"]
    assert [str(words) for words in found.removed] == ["ours removed b from tags"]


def test_tags_are_the_same_in_any_case() -> None:
    base, ours, theirs = (a_file(f"tags: [{tags}]\n") for tags in ("a", "a, Storage", "a, storage, x"))
    assert parse_front_matter(text_of(base, ours, theirs))["tags"] == ["a", "Storage", "x"]


def test_a_key_one_side_removed_and_the_other_changed_is_a_conflict() -> None:
    found = merge(a_file("owner: lin\n"), a_file("team: x\n"), a_file("owner: wang\nteam: y\n"))
    text = found.data.decode()
    assert parse_front_matter(text)["owner"] == "lin"
    assert "<<<<<<< ours\n=======\nowner: wang\n>>>>>>> theirs\n<<<<<<< ours\nteam: x\n=======\nteam: y\n" in text
    assert said(found)[0] == "front, owner: one side removed what the other changed"


def test_the_later_confirmation_holds_and_of_two_dates_none() -> None:
    files = [a_file(f"date: 2026-01-0{n}\nconfirmed: 2026-02-0{n}\n") for n in (1, 2, 3)]
    found = merge(*files)
    assert (parse_front_matter(found.data.decode())["confirmed"], [c.name for c in found.conflicts]) == (
        "2026-02-03",
        ["date"],
    )


def test_comments_of_both_sides_stay_or_are_shown() -> None:
    base = a_file("# one\nowner: lin\nlist:\n  - a\n")
    ours = a_file("# one\n# two\nowner: lin # ours\nlist:\n  - a # why a\n  - b\n")
    theirs = a_file("# one\n# three\nowner: lin # theirs\nlist:\n  - a # why not\n  - c\n")
    found = merge(base, ours, theirs)
    text = found.data.decode()
    assert "# one\n# three\n# two\nowner: lin\n" in text
    assert [conflict.name for conflict in found.conflicts] == ["owner", "list"]
    assert all(text.count(words) == 1 for words in ("# ours", "# theirs", "# why a", "# why not"))


def test_a_front_in_braces_is_shown_as_a_whole_when_both_changed_it() -> None:
    base, ours, theirs = (
        a_file().replace("id: D001\nkind: decision\ntitle: Use PostgreSQL", f"{{id: D001, kind: decision, title: {t}}}")
        for t in ("A", "B", "C")
    )
    found = merge(base, ours, theirs)
    assert parse_front_matter(found.data.decode())["title"] == "A"
    assert "<<<<<<< ours\n{id: D001, kind: decision, title: B}\n=======\n" in found.data.decode()


# -- the MACHINE block -----------------------------------------------------------------------------


def test_two_new_titles_of_one_new_record_are_a_conflict() -> None:
    ours = a_file("uid: U\n", "# [D001] Use PostgreSQL\n")
    theirs = ours.replace("PostgreSQL", "MySQL")
    found = merge(None, ours, theirs)
    assert [conflict.name for conflict in found.conflicts] == ["title", ""]
    assert "<<<<<<< ours\n# [D001] Use PostgreSQL\n=======\n# [D001] Use MySQL\n>>>>>>> theirs\n" in found.data.decode()


def test_sections_one_side_moved_stay_moved() -> None:
    base = a_file("", "## Why\n\nA.\n\n## Rollback\n\nB.\n")
    ours = a_file("", "## Rollback\n\nB.\n\n## Why\n\nA.\n")
    theirs = a_file("", "## Why\n\nA, and more.\n\n## Rollback\n\nB.\n")
    assert text_of(base, ours, theirs) == a_file("", "## Rollback\n\nB.\n\n## Why\n\nA, and more.\n")


def test_subsections_merge_by_name() -> None:
    base = a_file("", "## Alternatives\n\n### MySQL\n\nKnown.\n")
    ours = a_file("", "## Alternatives\n\n### MySQL\n\nKnown.\n\n### 甲骨文\n\n贵。\n")
    theirs = a_file("", "## Alternatives\n\n### MySQL\n\nWell known.\n\n### SQLite\n\nSmall.\n")
    both = "## Alternatives\n\n### MySQL\n\nWell known.\n\n### SQLite\n\nSmall.\n\n### 甲骨文\n\n贵。\n"
    assert text_of(base, ours, theirs) == a_file("", both)


def test_headings_of_one_name_leave_it_to_the_lines() -> None:
    base = a_file("", "## Note\n\nA.\n\n## Note\n\nB.\n")
    ours = a_file("", "## Note\n\nA!\n\n## Note\n\nB.\n")
    theirs = a_file("", "## Note\n\nA.\n\n## Note\n\nB!\n")
    assert text_of(base, ours, theirs) == a_file("", "## Note\n\nA!\n\n## Note\n\nB!\n")


def test_items_with_children_keep_them() -> None:
    base = a_file("", "## Why\n\n- A\n")
    ours = a_file("", "## Why\n\n- A\n- B\n  - yes\n")
    theirs = a_file("", "## Why\n\n- A\n- C\n  - yes\n")
    assert text_of(base, ours, theirs) == a_file("", "## Why\n\n- A\n- B\n  - yes\n- C\n  - yes\n")


def test_steps_with_numbers_are_a_persons_to_order() -> None:
    files = [a_file("", f"## Rollback\n\n1. Stop.\n{more}") for more in ("", "2. Restore.\n", "2. 恢复。\n")]
    assert said(merge(*files)) == ["MACHINE block, Rollback: both sides changed the same lines"]


def test_a_paragraph_may_change_beside_an_item_that_is_added() -> None:
    base, ours, theirs = (
        a_file("", f"## Impact\n\n{text}") for text in ("The shop.\n", "The whole shop.\n", "The shop.\n- `a.py`\n")
    )
    assert text_of(base, ours, theirs) == a_file("", "## Impact\n\nThe whole shop.\n- `a.py`\n")


def test_a_note_with_code_in_it_is_one_note() -> None:
    base = a_file("", "## Additions\n\n- 2026-01-01 (a): One.\n")
    ours = base.replace("One.\n", "One.\n- 2026-01-03 (b):\n  ```sh\n  make\n  ```\n")
    theirs = base.replace("One.\n", "One.\n- 2026-01-02 (c): 二。\n")
    assert text_of(base, ours, theirs) == base.replace(
        "One.\n", "One.\n- 2026-01-02 (c): 二。\n- 2026-01-03 (b):\n  ```sh\n  make\n  ```\n"
    )


def test_a_note_both_added_at_different_places_stands_once() -> None:
    note = "- 2026-01-03 (b): Two.\n"
    base = a_file("", "## Additions\n\n- 2026-01-01 (a): One.\n- 2026-01-02 (a): 一。\n")
    ours = base.replace("## Additions\n\n", f"## Additions\n\n{note}")
    theirs = base.replace("一。\n", f"一。\n{note}").replace("One", "ONE")
    assert text_of(base, ours, theirs).count(note) == 1


TABLE = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n"


def test_a_table_that_gets_a_column_merges_with_no_other_row() -> None:
    ours = TABLE.replace("| b |", "| b | c |").replace("|---|\n", "|---|---|\n").replace("1 |", "1 | ? |")
    theirs = TABLE + "| z | 3 |\n"
    found = merge(a_file("", TABLE), a_file("", ours), a_file("", theirs))
    assert said(found) == ["MACHINE block: both sides changed the same lines"]


def test_a_table_laid_out_anew_is_the_same_table() -> None:
    ours = "| a  | b  |\n| -- | -- |\n| x  | 1  |\n| y  | 2  |\n"
    theirs = TABLE.replace("| y | 2 |", "| y | 3 |")
    found = merge(a_file("", TABLE), a_file("", ours), a_file("", theirs))
    assert found.data.decode() == a_file("", "| a  | b  |\n| -- | -- |\n| x  | 1  |\n| y | 3 |\n")


def test_a_row_removed_here_and_changed_there_is_a_conflict_of_the_row() -> None:
    ours, theirs = TABLE.replace("| y | 2 |\n", ""), TABLE.replace("| y | 2 |", "| y | 3 |")
    text = text_of(a_file("", TABLE), a_file("", ours), a_file("", theirs))
    assert "| x | 1 |\n<<<<<<< ours\n=======\n| y | 3 |\n>>>>>>> theirs\n" in text


def test_rows_without_a_name_of_their_own_merge_where_they_stand() -> None:
    table = "| a | b |\n|---|---|\n| x | 1 |\n| x | 2 |\n"
    ours, theirs = table.replace("1", "one"), table + "| x | 3 |\n"
    text = text_of(a_file("", table), a_file("", ours), a_file("", theirs))
    assert text == a_file("", "| a | b |\n|---|---|\n| x | one |\n| x | 2 |\n| x | 3 |\n")
    assert said(merge(a_file("", table), a_file("", ours), a_file("", table.replace("1", "eins")))) != []


def test_code_in_which_both_add_a_closing_fence_does_not_hide_the_markers() -> None:
    base = a_file("", "## Why\n\n```\na\n```\n")
    ours = base.replace("a\n```\n", "a\n```\n\n```\nb\n```\n")
    theirs = base.replace("a\n```\n", "c\n```\ntext\n")
    found = merge(base, ours, theirs)
    with pytest.raises(Exception, match="conflict markers"):
        read(found.data)


# -- the file as a whole ---------------------------------------------------------------------------


def test_line_ends_and_a_byte_order_mark_are_edits_like_others() -> None:
    base = a_file("", "text\n", "note\n")
    ours = "\ufeff" + base.replace("\n", "\r\n")
    theirs = a_file("tags: [a]\n", "text\n", "my note\n")
    assert text_of(base, ours, theirs) == "\ufeff" + theirs.replace("\n", "\r\n") == text_of(base, theirs, ours)


def test_mixed_line_ends_of_the_user_block_stay_where_they_are() -> None:
    base = a_file("", "text\n", "a\r\nb\n\x0cc \n")
    theirs = base.replace("b\n", "B\n")
    assert text_of(base, base.replace("text", "words"), theirs) == theirs.replace("text", "words")


def test_blocks_in_the_other_order_and_text_between_them() -> None:
    first, user = "<!-- USER_BLOCK_START -->\nnote\n<!-- USER_BLOCK_END -->\n", "<!-- USER_BLOCK_START -->\nnote\n"
    base = a_file("", "text\n", "note\n")
    ours = base.replace(first, "").replace("<!-- MACHINE_BLOCK_START", first + "between\n<!-- MACHINE_BLOCK_START")
    theirs = base.replace(user, user.replace("note", "my note")).replace("text", "words")
    assert text_of(base, ours, theirs) == ours.replace("note", "my note").replace("text", "words")


def test_text_beside_the_blocks_that_both_changed_is_shown_where_it_stands() -> None:
    base = a_file()
    found = merge(base, base + "ours\n", base + "theirs\n")
    assert found.data.decode() == base + "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n"
    assert said(found) == ["outside the blocks: both sides changed the same lines"]


def test_two_records_under_one_name_are_shown_as_two() -> None:
    ours = a_file("uid: U1\ntags: [a]\n", "Ours.\n", "note\n")
    theirs = a_file("uid: U2\ntags: [b]\n", "Theirs.\n", "note\n")
    for base in (None, a_file("uid: U1\n", "Base.\n")):
        found = merge(base, ours, theirs)
        text = found.data.decode()
        assert parse_front_matter(text) in (parse_front_matter(ours), parse_front_matter(base or ours))
        assert "tags: [a]\n=======\n" in text and "tags: [b]\n>>>>>>> theirs\n" in text
        assert "<<<<<<< ours\nOurs.\n=======\nTheirs.\n>>>>>>> theirs\n" in text
        assert found.conflicts[0].block == "file"


@pytest.mark.parametrize(
    "broken",
    [
        b"no record\n",
        b"---\nid: [\n---\n",
        a_file().encode().replace(b"<!-- USER_BLOCK_END -->", b""),
        a_file().encode().replace(b"Use", b"\xff\xfe"),
        a_file().encode() + b"\0",
        a_file("", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n").encode(),
        a_file("", "x" * 4_000_000).encode(),
        b"",
    ],
    ids=["text", "yaml", "marker", "latin", "nul", "unresolved", "large", "empty"],
)
def test_what_is_no_record_is_merged_by_lines_and_no_byte_is_lost(broken: bytes) -> None:
    base, ours = a_file("", "text\n").encode(), a_file("tags: [a]\n", "text\n").encode()
    for mine, other in ((ours, broken), (broken, ours)):
        found = merge_record(base, mine, other, path="a.md")
        assert [conflict.block for conflict in found.conflicts] == ["file"]
        assert {row for row in broken.splitlines() if row not in base.splitlines()} <= set(found.data.splitlines())
        assert b"tags: [a]" in found.data
    assert merge_record(broken, ours, broken, path="a.md") == MergedRecord(ours)
    assert merge_record(base, base, broken, path="a.md") == MergedRecord(broken)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_markers_stand_in_the_front_of_what_is_merged_by_lines(end: str) -> None:
    base = a_file("", "text\n").replace("\n", end)
    ours = base.replace("Use PostgreSQL", "Use SQLite")
    theirs = base.replace("Use PostgreSQL", "Use MySQL").replace("<!-- USER_BLOCK_END -->", "")
    found = merge(base, ours, theirs)
    text = found.data.decode()
    assert parse_front_matter(text)["title"] == "Use PostgreSQL"
    rows = text.split(end)
    assert rows.index("---", 1) < rows.index("<<<<<<< ours") < rows.index("title: Use SQLite")
    assert rows.index("=======") < rows.index("title: Use MySQL") < rows.index(">>>>>>> theirs")
    assert parse_front_matter(text_of(None, ours, theirs))["title"] in ("Use SQLite", "Use MySQL")
    unclosed = base.replace("Use PostgreSQL", "Use MySQL").replace(f"{end}---{end}", end, 1)
    for mine, other in ((ours, unclosed), (unclosed, ours)):
        assert text_of(base, mine, other).startswith(f"<<<<<<< ours{end}---{end}")


def test_a_base_that_is_no_record_does_not_matter_where_the_lines_merge() -> None:
    base = a_file("", "one\n\ntwo\n").replace("kind: decision", "kind: [")
    ours = a_file("", "one\n\ntwo!\n")
    theirs = a_file("", "One\n\ntwo\n")
    assert merge(base, ours, theirs) == MergedRecord(a_file("", "One\n\ntwo!\n").encode())
    assert said(merge(base, ours, theirs.replace("two", "three")))[0].startswith("it cannot be merged as a record")


def test_a_conflict_is_named_alike_from_both_sides() -> None:
    ours, theirs = a_file("", "## 决策\n\nuse it\n"), a_file("", "## Decision\n\nkeep it\n")
    for base in (a_file(), a_file("", "## Decision\n\nuse\n")):
        assert said(merge(base, ours, theirs)) == said(merge(base, theirs, ours))
    broken = ours.replace("---\n", "", 1)
    unresolved = a_file("", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n")
    assert said(merge(a_file(), broken, unresolved)) == said(merge(a_file(), unresolved, broken))


def test_markers_in_the_base_are_text() -> None:
    """As git calls a driver for merges with several bases: what conflicted there is the base here."""
    base = a_file("", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n\nend\n")
    ours, theirs = a_file("", "ab\n\nend\n"), a_file("tags: [x]\n", "ab\n\nend.\n")
    assert merge(base, ours, theirs) == MergedRecord(a_file("tags: [x]\n", "ab\n\nend.\n").encode())


def test_a_removal_is_told_with_its_side() -> None:
    base = a_file("owner: lin\n", "## Why\n\nA.\n\nB.\n\n## Rollback\n\nC.\n", "note\n")
    ours = a_file("owner: lin\n", "## Why\n\nA.\n\nB.\n", "\n").replace("kind", "tags: [a]\nkind")
    theirs = a_file("", "## Why\n\nA.\n\n## Rollback\n\nC.\n", "note\n")
    assert {str(words) for words in merge(base, ours, theirs).removed} == {
        "theirs removed the key owner",
        "ours removed the section Rollback",
        "theirs removed from MACHINE block, Why: B.",
    }
    gone = merge(base, base.replace("note\n", ""), base.replace("A.", "a."))
    assert [words.translate("zh") for words in gone.removed] == ["ours 从USER 区块删去了：note"]


def test_large_texts_take_no_longer_than_a_few_readings() -> None:
    rows = [f"- 第 {n} 条 {n % 7}" for n in range(20_000)]
    record = Record("D001", "decision", "x", sections=(Section("why", "", "\n".join(rows)),))
    base = render(record)
    ours, theirs = (
        base.replace("第 77 条", "第 77 项"),
        edit_front_matter(base.replace("第 9999 条", "第 9999 项"), {"tags": ["a"]}),
    )
    found = merge(base, ours, theirs)
    assert not found.conflicts and "第 77 项" in found.data.decode() and "第 9999 项" in found.data.decode()
    other = "\n".join(str(n * n % 3) for n in range(20_000))
    again = render(record._replace(sections=(Section("why", "", other),)))
    assert said(merge(base, again, theirs)) == ["MACHINE block, Why: both sides changed the same lines"]
