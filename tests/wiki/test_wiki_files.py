"""What the wiki has for other programs, and what it must not show anywhere."""

import gzip
import json
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from kb.config import Config
from kb.history.timeline import RecordVersion, Timeline
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Evidence, Record
from kb.wiki.build_cache import PageFingerprints
from kb.wiki.mkdocs_plugin import shrink_script, shrink_styles, trim_theme_styles
from kb.wiki.search_index import SearchDoc, _decode_postings, iter_index_files
from kb.wiki.wiki_site import iter_site_files, parse_exclusions
from tests.wiki.test_wiki_pages import ATTACK, made, record
from tests.wiki.test_wiki_site import archived, built, shelved

ATOM = "{http://www.w3.org/2005/Atom}"


def written(*records: Record, published: str = "", **told: object) -> dict[str, str]:
    """Return the files beside the pages of a wiki of *records*."""
    known = made(*records, **told)  # type: ignore[arg-type]
    urls = {uri: uri.replace(".md", ".html") for uri in known}
    made_files = iter_site_files(PageFingerprints(known.wiki), urls, published)
    return {file.path: file.make() for file in made_files}


def test_records_json_has_every_record_and_where_it_is() -> None:
    told = Timeline({"p.md": (RecordVersion("c", "2026-05-02T10:00:00Z", "Ann", "", "s"),)})
    old = record("D001", "用 Flask", status="superseded", scope="project/shop", uid="U1", extra={"aliases": ["D009"]})
    new = record("D002", "new", supersedes=("D001",), scope="project/shop", decision="[D001]", path="p.md", tags=("a",))
    made_files = written(old, new, timeline=told)
    rows = json.loads(made_files["records.json"])
    assert (rows["version"], rows["name"], rows["language"]) == (1, "Knowledge base", "en")
    first, second = rows["records"]
    assert first["superseded_by"] == first["cited_by"] == ["shop:D002"]
    assert (first["url"], first["permalink"]) == ("anchors/projects/shop/D001.html", "r/U1/")
    assert first["former_ids"] == ["D009"] and first["title"] == "用 Flask"
    assert (second["updated"], second["authors"], second["tags"]) == ("2026-05-02T10:00:00Z", ["Ann"], ["a"])
    assert second["short"].startswith("[D002] new\n")


def test_a_feed_has_the_decisions_in_force_of_its_scope_the_latest_first() -> None:
    records = [
        record("D001", f"one {ATTACK}", status="accepted", date="2026-05-01", scope="project/shop", uid="U1"),
        record("D002", "two & more", status="accepted", date="2026-05-03", scope="project/shop", tags=('a"b',)),
        record("D003", "three", status="proposed", date="2026-05-04", scope="project/shop"),
        record("C001", "no decision", status="accepted", date="2026-05-05", scope="project/shop"),
        record("D001", "global \ufffe", status="accepted", date="soon"),
    ]
    made_files = written(*records, published="https://kb.example/")
    shop, everything = (ET.fromstring(made_files[name]) for name in ("feeds/project-shop.xml", "feed.xml"))
    entries = shop.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == ["[D002] two & more", f"[D001] one {ATTACK}"]
    assert entries[1].findtext(f"{ATOM}id") == "urn:kb:U1"
    assert entries[0].find(f"{ATOM}link").get("href") == "https://kb.example/anchors/projects/shop/D002.html"  # type: ignore[union-attr]
    assert shop.findtext(f"{ATOM}id") == "https://kb.example/feeds/project-shop.xml"
    assert shop.findtext(f"{ATOM}updated") == "2026-05-03T00:00:00Z"
    assert len(everything.findall(f"{ATOM}entry")) == 3
    relative = ET.fromstring(written(*records)["feeds/project-shop.xml"]).find(f"{ATOM}entry/{ATOM}link")
    assert relative is not None and relative.get("href") == "../anchors/projects/shop/D002.html"


def test_what_a_reader_has_alone_carries_the_decision_and_no_marks_in_its_title() -> None:
    one = record(
        "D001", "No `export default`", status="accepted", date="2026-05-01", decision="Named **exports** only."
    )
    made_files = written(one, published="https://kb.example/")
    entry = ET.fromstring(made_files["feed.xml"]).find(f"{ATOM}entry")
    assert entry is not None and entry.findtext(f"{ATOM}title") == "[D001] No export default"
    assert "Decision: Named exports only." in (entry.findtext(f"{ATOM}summary") or "")
    assert "Decision: Named exports only." in json.loads(made_files["records.json"])["records"][0]["short"]


def test_language_models_find_what_holds_in_a_list_and_in_full() -> None:
    made_files = written(
        record("D001", "old", status="superseded", date="2026-01-01"),
        record(
            "D002",
            "Use [one] queue",
            status="accepted",
            date="2026-05-01",
            supersedes=("D001",),
            decision="One **queue**.",
        ),
        record("D003", "later", status="proposed", date="2026-06-01", impact=("src/q.py",)),
        record("C001", "elsewhere", status="accepted", scope="project/shop"),
        published="https://kb.example/",
    )
    listed, full = made_files["llms.txt"], made_files["llms-full.txt"]
    assert listed.startswith("# Knowledge base\n\n> What was decided")
    rows = [row for row in listed.splitlines() if row.startswith("- [")]
    assert rows[0].startswith("- [D003 later](https://kb.example/anchors/global/D003.html) (proposed)")
    assert rows[1] == "- [D002 Use (one) queue](https://kb.example/anchors/global/D002.html): One queue."
    assert "## shop" in listed and "(https://kb.example/llms-full.txt)" in listed and "D001" not in listed
    assert "## [global:D002] Use [one] queue" in full or "## [D002] Use [one] queue" in full
    assert "### Decision\n\nOne **queue**." in full and "src/q.py" in full and "] old" not in full


def test_the_address_of_the_wiki_stands_in_feeds_and_on_the_page_of_what_is_missing(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first", status="accepted", date="2026-05-01")])
    built(root, tmp_path / "site")
    assert 'href="/assets/kb.css"' in (tmp_path / "site/404.html").read_text("utf-8")
    (root / "kb.toml").write_text('wiki_url = "https://shop.example/docs/kb"\n', "utf-8")
    built(root, tmp_path / "site")
    missing = (tmp_path / "site/404.html").read_text("utf-8")
    assert 'href="/docs/kb/assets/kb.css"' in missing and 'href="/docs/kb/records.html"' in missing
    assert "This page does not exist" in missing and 'data-kb="/docs/kb/data/lists.js"' in missing
    assert not re.search(r"<script>|kb:", missing)
    page = (tmp_path / "site/anchors/global/D001.html").read_text("utf-8")
    assert '<link rel="canonical" href="https://shop.example/docs/kb/anchors/global/D001.html">' in page
    entry = ET.fromstring((tmp_path / "site/feed.xml").read_text("utf-8")).find(f"{ATOM}entry/{ATOM}link")
    assert entry is not None and entry.get("href") == "https://shop.example/docs/kb/anchors/global/D001.html"


def test_who_must_choose_between_records_sees_those_that_hold_first() -> None:
    made_files = written(
        record("D001", "gone", status="superseded"), record("D001", "holds", status="accepted", scope="project/shop")
    )
    choice = made_files["D001/index.html"]
    assert choice.index("holds") < choice.index("gone") and "refresh" not in choice
    assert 'href="../assets/kb-plain.css"' in choice and 'class="kb-sign kb-accepted"' in choice
    assert 'url=../../anchors/projects/shop/D001.html"' in made_files["shop/D001/index.html"]


def test_styles_for_what_no_page_shows_are_left_out() -> None:
    theme = (
        ":root{--md-admonition-icon--note:url('data:x;a');--md-text:1}.md-typeset .admonition,.md-typeset details{a:b}"
        "@media print{.md-typeset .tabbed-set{c:d}.md-nav{e:f}}@media screen{.md-version{g:h}}.md-tabs__item{i:j}"
        ".md-typeset :is(.admonition,details){k:l}@keyframes x{to{top:0}}[data-md-color-primary=pink]{m:n}"
        ".md-tabsy{o:p}"
    )
    assert trim_theme_styles(theme) == (
        ":root{--md-text:1}.md-typeset details{a:b}@media print{.md-nav{e:f}}"
        ".md-typeset :is(.admonition,details){k:l}@keyframes x{to{top:0}}.md-tabsy{o:p}"
    )
    assert shrink_styles("/* a */\n.b {\n  c: d;\n}\n") == ".b { c: d; }\n"


@pytest.mark.parametrize("word", ["secret", "project/secret", "preference", "偏好", "#Private", "U"])
def test_what_the_settings_name_is_left_out(word: str) -> None:
    one = record("U001", scope="project/secret", tags=("private", "other"))
    assert parse_exclusions([word]).is_record_excluded(one)
    assert not parse_exclusions([word]).is_record_excluded(record("D001", scope="project/shop", tags=("privately",)))


def test_what_is_left_out_is_in_no_file_of_the_site(tmp_path: Path) -> None:
    secret = "Quokka"
    records = [
        record("D001", f"{secret} plan", scope="project/secret", uid="U" * 26, decision=f"buy {secret} Ltd"),
        record("U001", f"{secret} habits", decision=f"likes {secret} tea", impact=(f"src/{secret}.py",)),
        record("D002", f"{secret} wages", tags=("hr", f"{secret}-tag"), decision="of all", claims={f"x.{secret}": "1"}),
        record("D003", "Open one", decision="See [secret:D001], [U001], [D002].", supersedes=("D002",), uid="A" * 26),
    ]
    more = 'wiki_without = ["secret", "preference", "#hr"]\nwiki_sessions = "show"\n'
    root = shelved(tmp_path / "kb", records, more=more)
    archived(root)
    (root / "content/sessions/shop-20260503-101010-abcdefgh/compact.md").write_text(f"the {secret} plan\n", "utf-8")
    with KnowledgeBase(str(root), os.environ) as kb:
        held = Candidate("preference", f"Drink {secret}", "Now and then.", scope="global", evidence=(Evidence("x"),))
        held = held._replace(reusable=False)
        kb.write([held, held._replace(kind="decision", scope="project/secret", title=f"{secret} again")])
    built(root, tmp_path / "site")
    found = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert len(found) > 40
    for path in found:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        assert secret.lower().encode() not in data.lower() + path.name.lower().encode(), path
    page = (tmp_path / "site/anchors/global/D003.html").read_text("utf-8")
    assert "[secret:D001], [U001], [D002]." in page and "no such record" not in page


def test_sessions_are_shown_only_where_the_settings_say_so(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first", sources=("cli/abcdefgh-1",))])
    archived(root)
    built(root, tmp_path / "site")
    assert not (tmp_path / "site/sessions").exists()
    with open(root / "kb.toml", "a", encoding="utf-8") as file:
        file.write('wiki_sessions = "show"\n')
    built(root, tmp_path / "site")
    assert "会话" in (tmp_path / "site/sessions/shop-20260503-101010-abcdefgh.html").read_text("utf-8")
    page = (tmp_path / "site/anchors/global/D001.html").read_text("utf-8")
    assert 'href="../../sessions/shop-20260503-101010-abcdefgh.html">cli/abcdefgh-1<' in page


def test_private_titles_are_no_broken_links() -> None:
    private = record("D009", "The plan", scope="project/secret")
    known = made(record("D001", decision="[[The plan]] [secret:D009] [D404]"), hidden=[private])
    assert known["anchors/global/D001.md"].broken == ("[D404]",)
    assert Config().wiki_sessions == "hide"


# -- the index of the search --------------------------------------------------------------------------


def test_the_index_is_few_files_however_many_records_there_are() -> None:
    docs = [
        SearchDoc(record(f"D{n:03}", f"Use queue {n}", decision="支付重试 " + "x" * 4000 * (n % 2)), f"a/D{n:03}.html")
        for n in range(1, 401)
    ]
    docs[6] = docs[6]._replace(over=("a/D400.html",), url="a/elsewhere.html")
    files = {path: json.loads(text[text.index(",") + 1 : -3]) for path, text in iter_index_files(docs, "en", {})}
    folders = Counter(path.removeprefix("search/kb/").partition("/")[0] for path in files)
    assert folders == {"start.js": 1, "synonyms.js": 1, "titles.js": 1, "t": 4, "d": 50}
    table = files["search/kb/titles.js"]
    assert table["rows"][0] == ["D001", "Use queue 1"] and table["folders"] == ["a/"]
    assert table["rows"][6][2:] == ["", 0, "elsewhere.html", 0, [399]]
    # a list is in the file of its term, also where it is long
    (entry,) = [terms["queu"] for path, terms in files.items() if "/t/" in path and "queu" in terms]
    assert entry[0] == 400 == len(list(_decode_postings(entry[1])))
    assert [len(row) for row in files["search/kb/d/0.js"]] == [2, 1] * 4  # a text that is cut says so


def test_scripts_are_served_without_comments_and_synonyms_come_after_the_first_answer() -> None:
    script = (
        '/* What it is. */\n  const a = "/* no */ // comment"; // why\n\n  // alone\n  /* Two\n     lines. */\n  f();\n'
    )
    assert shrink_script(script) == 'const a = "/* no */ // comment"; // why\nf();\n'
    files = dict(iter_index_files([], "en", {"stop_en": ["a"], "synonyms": [["cache", "缓存"]]}))
    assert "缓存" not in files["search/kb/start.js"] and "缓存" in files["search/kb/synonyms.js"]
