"""What the pages' script reads: rows and cards of all records; and what pages say of records that others forgot."""

import json
import re
from pathlib import Path

import pytest

from kb.history.timeline import RecordVersion, Timeline
from kb.records.model import Record
from kb.wiki.build_cache import PageFingerprints
from kb.wiki.list_pages import MAX_CHART_POINTS, render_chart
from kb.wiki.page_parts import render_side_by_side
from kb.wiki.record_pages import find_orphans, find_unused
from kb.wiki.site_data import ROWS_PER_CHUNK, hash_to_chunk, iter_chunks
from kb.wiki.wiki_model import Wiki
from tests.wiki.test_wiki_pages import ATTACK, TODAY, Seen, html_of, made, record
from tests.wiki.test_wiki_site import built, shelved

ALWAYS = ("data/badges.js", "data/lists.js", "data/other.js")


def pieces(wiki: Wiki) -> dict[str, object]:
    """Return the values that the pieces of *wiki* hold, by their paths."""
    told = {}
    for path, _, make in iter_chunks(PageFingerprints(wiki), lambda uri: uri.replace(".md", ".html")):
        name, _, value = make().removeprefix("kbData(").removesuffix(");\n").partition(",")
        assert path == f"data/{json.loads(name)}.js"
        told[path] = json.loads(value)
    return told


def test_every_record_has_one_row_and_one_card_however_many_there_are() -> None:
    many = [record(f"D{n:04}", f"题目 {n}", scope=f"project/p{n % 3}") for n in range(1, ROWS_PER_CHUNK + 51)]
    wiki = made(*many).wiki
    told = pieces(wiki)
    paths = [
        "data/badges.js",
        "data/lists.js",
        "data/other.js",
        *(f"data/rows-{n}.js" for n in range(2)),
        *(f"data/cards-{n}.js" for n in range(11)),
    ]
    assert sorted(told) == sorted(paths) and max(len(json.dumps(one)) for one in told.values()) < 400_000
    rows = [row for path, some in told.items() if "/rows-" in path for row in some]  # type: ignore[attr-defined]
    cards = {name for path, some in told.items() if "/cards-" in path for name in some}  # type: ignore[attr-defined]
    assert [row[0] for row in rows] == [one.id for one in wiki.library.records]
    assert cards == {row[6] for row in rows} and len(cards) == ROWS_PER_CHUNK + 50


def test_a_card_says_what_holds_instead() -> None:
    old = record("D001", "old", status="superseded", decision="Poll. Every minute.")
    told = pieces(made(old, record("D002", "new", status="accepted", supersedes=("D001",))).wiki)
    cards = told["data/cards-0.js"]
    assert isinstance(cards, dict)
    assert cards["anchors/global/D001.html"][6:] == ["Poll.", "No longer accepted. Read instead: D002 new"]
    assert cards["anchors/global/D002.html"][7] == ""


def test_the_piece_of_a_card_is_told_by_the_name_of_its_page() -> None:
    assert [hash_to_chunk(name, 7) for name in ("a", "anchors/global/D001.html", "项目/D001/")] == [6, 1, 2]


def test_a_wiki_of_nothing_has_its_pieces_too() -> None:
    assert set(pieces(made().wiki)) == {
        "data/badges.js",
        "data/lists.js",
        "data/other.js",
        "data/rows-0.js",
        "data/cards-0.js",
    }


@pytest.mark.parametrize("without", ["secret", "preference", "#inside"])
def test_what_is_private_is_in_no_piece(tmp_path: Path, without: str) -> None:
    hush = record("U001", "hush zebra", scope="project/secret", tags=("inside",), decision="giraffe", impact=("lion/",))
    root = shelved(tmp_path / "kb", [hush, record("D001")], more=f'wiki_without = ["{without}"]\n')
    built(root, tmp_path / "site")
    told = "".join(path.read_text("utf-8") for path in (tmp_path / "site/data").iterdir())
    assert "D001" in told and not [word for word in ("zebra", "giraffe", "lion", "inside", "U001") if word in told]


# -- back-links -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("First. We do as [[Wait 5 seconds]] says! Last.", "We do as Wait 5 seconds says!"),
        ("- 见 [[wait 5 SECONDS|那一条]]。其他。", "见 那一条。"),
        ("`[[Wait 5 seconds]]` and\n\n    [[Wait 5 seconds]]\n", ""),
        ("[[D001]] alone", "D001 alone"),
        ("First. What was\n[[Wait 5 seconds]]\nsays\nholds. Last.", "What was Wait 5 seconds says holds."),
        ("依照前文\n所见[[D001|它]]。", "依照前文所见它。"),
        ("# Head [[D001]]\nnot this", "Head D001"),
        ("- one\n- see\n  [[D001]] there\n- three", "see D001 there"),
        ("> Before.\n> As [[D001]]\n> says.", "As D001 says."),
        ("one\n| a | [[D001]] |\n| c | d |", "a · D001"),
    ],
)
def test_a_wiki_link_is_a_citation_of_the_record_it_names(said: str, quoted: str) -> None:
    wiki = made(record("D001", "Wait 5 seconds"), record("D002", "other", decision=said)).wiki
    assert wiki.library.cited_by.get(0, {}) == ({1: quoted} if quoted else {})


# -- health ---------------------------------------------------------------------------------------


def test_orphans_have_no_relation_and_no_path() -> None:
    told = made(
        record("D001", "cited"), record("D002", "citing", decision="[D001]"), record("D003", impact=("src/",)),
        record("D004", "alone"), record("D005", "alone and gone", status="rejected"),
    )  # fmt: skip
    assert [told.wiki.library.records[n].id for n in find_orphans(told.wiki)] == ["D004"]
    seen = Seen(html_of(told["health.md"], told))
    assert "Orphans 1" in seen.text and "anchors/global/D004.md" in seen.hrefs


def test_never_used_is_what_nobody_came_back_to_for_half_a_year() -> None:
    def old(id: str, **more: object) -> Record:
        return record(id, id, **{"status": "accepted", "date": "2025-01-01", "path": f"{id}.md", **more})  # type: ignore[arg-type]

    version = RecordVersion("c", "2025-01-01T00:00:00Z", "Ann", "", "s")
    told = made(
        old("D001"), old("D002", date="2026-05-01"), old("D003", confirmed="2026-01-01"), old("D004", occurrences=2),
        old("D005"), old("D006", decision="[D005]"), old("D007", status="deprecated"), old("D008", date=""),
        old("D009"), today=TODAY, timeline=Timeline({"D009.md": (version, version)}),
    )  # fmt: skip
    assert [told.wiki.library.records[n].id for n in find_unused(told.wiki)] == ["D001", "D006"]


def test_a_link_with_a_full_stop_inside_is_quoted_whole() -> None:
    wiki = made(
        record("D001", "Jinja"),
        record("D002", "MJML", decision="Supersedes [1. Use Jinja](D001-jinja.md). It is gone."),
    ).wiki
    assert wiki.library.cited_by[0] == {1: "Supersedes 1. Use Jinja."}


# -- the line of decisions ------------------------------------------------------------------------


def test_the_line_joins_a_decision_to_what_it_replaced() -> None:
    old, new = (
        record("D001", date="2026-01-01", status="superseded"),
        record("D002", date="2026-02-01", status="accepted"),
    )
    drawn = render_chart(made(old, new._replace(supersedes=("D001",)), record("C001", date="2026-01-05")).wiki)
    assert drawn.count("kb-bow") == 1 and drawn.count("<circle") == 2
    assert drawn.index("D001") < drawn.index("D002") and "2026-01" in drawn and "C001" not in drawn
    # As large as it is, and no higher than its arcs: a line of two points is not blown up to the page's width
    assert re.search(r'viewBox="0 (\d+) 96 (\d+)" width="96" height="\2"', drawn)
    assert int(re.search(r'viewBox="0 (\d+)', drawn)[1]) > 100


def test_the_line_is_short_and_keeps_what_replaced_something() -> None:
    many = [record(f"D{n:03}", date=f"2026-01-{n % 28 + 1:02}") for n in range(3, 100)]
    pair = [record("D001", date="2020-01-01"), record("D002", date="2020-02-01", supersedes=("D001",))]
    drawn = render_chart(made(*many, *pair).wiki)
    assert drawn.count("<circle") == MAX_CHART_POINTS and drawn.count("kb-bow") == 1


@pytest.mark.parametrize("date", ["", "soon", ATTACK])
def test_without_a_day_there_is_no_line(date: str) -> None:
    assert render_chart(made(record("D001", date=date)).wiki) == ""


# -- since when -----------------------------------------------------------------------------------


def test_what_came_superseded_is_so_since_its_successor() -> None:
    old = record("D001", date="2024-03-01", status="superseded", impact=("src/mail.py",))
    new = record("D002", date="2024-08-20", status="accepted", supersedes=("D001",))
    page = made(old, new)["anchors/global/D001.md"].text
    assert "since 2024-08-20" in page and "since 2024-03-01" not in page
    assert "Governed" in page and "Governs" not in page


# -- two sides ------------------------------------------------------------------------------------


def test_only_sides_that_share_words_are_marked_word_by_word() -> None:
    left, right = render_side_by_side("Orders are kept in PostgreSQL.", "Orders are kept in SQLite.")
    assert "<del>PostgreSQL</del>" in left and "<ins>SQLite</ins>" in right
    for old, new in (
        ("Orders are kept in one SQLite file.", "Only a database server lets two workers write at once."),
        ("订单存在一个文件里。", "只有数据库服务器能让两个进程同时写。"),
    ):
        assert render_side_by_side(old, new) == (old, new)


# -- what governs a path --------------------------------------------------------------------------


def test_a_folder_counts_the_records_that_its_link_lists() -> None:
    known = made(
        record("D001", impact=("src/catalog/",), status="accepted"),
        record("D002", impact=("src/pay.py",), status="accepted"),
        record("D003", impact=("src/",), status="accepted"),
        record("D004", decision="See `src/catalog/view.py`.", status="accepted"),
        record("D005", impact=("src/catalog/*.py",), status="accepted"),
        record("D006", impact=("src/catalog/old.py",), status="superseded"),
        record("D007", impact=("lib/a.py",), status="proposed"),
    )
    assert known.wiki.folders == {"src/": 5, "src/catalog/": 4, "lib/": 1}
    assert (
        '?path=src/catalog/"><code>src/catalog/</code></a> <span class="kb-number">4<' in known["governs/index.md"].text
    )
    rows = pieces(known.wiki)["data/rows-0.js"]
    assert isinstance(rows, list) and [row[10] for row in rows] == [[], [], [], ["src/catalog/view.py"], [], [], []]
