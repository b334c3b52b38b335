"""The wiki: pages from records, HTML in which no text can act, and a site whose links and search work."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.config import Config
from kb.errors import BadInput, KbError
from kb.kinds import KINDS, section_label
from kb.record import Record, Section, Status
from kb.text import one_line
from kb.wiki.build import build
from kb.wiki.markup import anchors, cited, code, link, plain, table
from kb.wiki.pages import Page, navigation, pages, wiki
from kb.wiki.render import rendered

ATTACK = '<script>document.title="taken"</script><img src=x onerror=alert(1)>'


class Archived(NamedTuple):
    """An archived session."""

    name: str
    project: str = "shop"
    time: str = "2026-05-03T10:10:10"
    task: str = "修复重复扣款"


class Shelf(NamedTuple):
    """What the wiki asks of a knowledge base, with records that were never on a disk."""

    root: str
    config: Config
    all: tuple[Record, ...]
    archived: tuple[Archived, ...] = ()
    compact: str = "# 会话\n\n引用 [D001] 与 [D404]\n"

    def records(self) -> list[Record]:
        """Return all records."""
        return list(self.all)

    def sessions(self) -> list[Archived]:
        """Return all sessions."""
        return list(self.archived)

    def session_file(self, name: str, file: str) -> str:
        """Return the text of the one file every session has."""
        assert file == "compact.md"
        return self.compact


def record(id: str, title: str = "A title", *, decision: str = "Done.", **fields: object) -> Record:
    """Return a record with a decision section."""
    kind = next(k.name for k in KINDS if k.prefix == id.rstrip("0123456789"))
    return Record(id, kind, title, sections=(Section("decision", "Decision", decision),), **fields)  # type: ignore[arg-type]


def made(
    *records: Record, language: str = "en", sessions: tuple[Archived, ...] = (), compact: str = ""
) -> dict[str, Page]:
    """Return the pages of *records* by their place."""
    found = pages(wiki(records, [(session, compact) for session in sessions], Config(language=language)))
    return {page.uri: page for page in found}


def html_of(page: Page, known: dict[str, Page]) -> str:
    """Return *page* as HTML; a link is good if it leads to a page of *known*."""

    def target(href: str) -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(page.uri), unquote(urldefrag(href).url)))
        return href if href.startswith("#") or path in known else ""

    return rendered(page.text, target, page.unsearched).html


# -- pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [D001].", "see <D001>."),
        ("见[shop:D001]与[C012]。", "见<shop:D001>与<C012>。"),
        ("`[D001]` ``a ` [D002]`` [D003]", "`[D001]` ``a ` [D002]`` <D003>"),
        ("```\n[D001]\n```\n[D002]", "```\n[D001]\n```\n<D002>"),
        ("text\n\n    [D001]", "text\n\n    [D001]"),
        ("[D001](http://x) [D001][a] ![D001] \\[D001] a[D001]", "[D001](http://x) [D001][a] ![D001] \\[D001] a[D001]"),
        ("[D001][shop:D002]、[D003]: x", "<D001><shop:D002>、<D003>: x"),
        ("[D001]: http://example.com", "[D001]: http://example.com"),
        ("[D001][D002](x)", "<D001>[D002](x)"),
        ("`a` [D001] `[D002]` [D003] `b", "`a` <D001> `[D002]` <D003> `b"),
        ("an open ` tick [D001]", "an open ` tick <D001>"),
        ("```\nopen [D001]", "```\nopen [D001]\n```"),
        ("```", "```\n```"),
        ("~~~~\n~~~", "~~~~\n~~~\n~~~~"),
        ("```\nshut\n```", "```\nshut\n```"),
    ],
)
def test_citations_become_links_and_code_stays(text: str, expected: str) -> None:
    said = cited(text, lambda what: f"<{what.project}:{what.id}>" if what.project else f"<{what.id}>")
    assert said == expected


@given(st.text())
def test_plain_text_shows_exactly_itself(text: str) -> None:
    shown = Seen(rendered("x" + plain(text), lambda href: "").html).text.strip()
    assert shown == ("x" + one_line(text)).strip()


@given(st.text(min_size=1))
def test_code_shows_itself_in_a_cell(text: str) -> None:
    page = rendered(table(["a", "b"], [[code("x" + text), "last"]]), lambda href: "").html
    seen = Seen(page)
    assert seen.cells == ["a", "b", "x" + one_line("x" + text)[1:], "last"]


@pytest.mark.parametrize(
    ("uri", "page", "expected"),
    [
        ("a/b.md", "a/c.md", "[x](<b.md>)"),
        ("tags.md#脱敏", "anchors/projects/shop/D001.md", "[x](<../../../tags.md#脱敏>)"),
        ("#top", "tags.md", "[x](<#top>)"),
    ],
)
def test_links_are_relative(uri: str, page: str, expected: str) -> None:
    assert link("x", uri, page) == expected


def test_anchors_of_one_page_differ() -> None:
    assert anchors(["C++", "C#", "c", "脱敏"]) == ["c", "c_2", "c_3", "脱敏"]


# -- pages ----------------------------------------------------------------------------------------


def test_a_record_page_says_all_it_knows() -> None:
    old = record("D001", "用 Flask", scope="project/shop", status="superseded", date="2026-01-02")
    new = record(
        "D002",
        "用 FastAPI | 管道",
        scope="project/shop",
        status="accepted",
        date="2026-05-03",
        tags=("后端", "a|b"),
        impact=("src/a|b.py",),
        supersedes=("D001",),
        amends=("C001", "C009"),
        claims={"backend.framework": "FastAPI"},
        occurrences=3,
        sources=("session 1",),
        user="人写的：[C001]\n",
        path="content/anchors/projects/shop/D002-x.md",
    )
    known = made(old, new, record("C001", scope="global"), language="zh")
    page = known["anchors/projects/shop/D002.md"]
    seen = Seen(html_of(page, known))
    assert seen.headings[:2] == ["[D002] 用 FastAPI | 管道", "决策"]
    facts = dict(zip(seen.cells[::2], seen.cells[1::2], strict=True))
    values = list(facts.values())
    assert values[0].startswith("✅")
    for value in ("决策", "shop", "2026-05-03", "后端 · a|b", "src/a|b.py", "D001 用 Flask", "C001 A title, C009 ⚠️"):
        assert value in values
    for value in ("backend.framework: FastAPI", "3", "session 1", "content/anchors/projects/shop/D002-x.md"):
        assert value in values
    assert "人写的：[C001]" in seen.text
    assert not seen.nowhere


def test_links_back_are_derived() -> None:
    known = made(
        record("D001", decision="the old way"),
        record("D002", supersedes=("D001",), decision="see [D001], again [D001]"),
        record("D003", amends=("D001",), scope="project/shop", decision="its own [D003]"),
    )
    seen = Seen(html_of(known["anchors/global/D001.md"], known))
    facts = dict(zip(seen.cells[::2], seen.cells[1::2], strict=True))
    assert facts["Superseded by"] == "D002 A title"
    assert facts["Amended by"] == "D003 A title"
    assert known["anchors/global/D001.md"].text.count("- ⚠️ [D002") == 1
    assert "Cited by" not in known["anchors/projects/shop/D003.md"].text


def test_citations_resolve_in_scope_then_globally_then_across() -> None:
    known = made(
        record("D001", decision="global"),
        record("D002", decision="global too"),
        record("D001", scope="project/shop"),
        record("C001", scope="project/shop", decision="[D001] [D002] [global:D001] [lend:D001] [D404]"),
        record("D001", scope="project/lend"),
    )
    seen = Seen(html_of(known["anchors/projects/shop/C001.md"], known))
    assert [href for href in seen.hrefs if "/D0" in href or href.startswith("D0")] == [
        "D001.md",
        "../../global/D002.md",
        "../../global/D001.md",
        "../lend/D001.md",
    ]
    assert "[D404 ⚠️ no such record]" in seen.text


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_status_has_its_mark(status: str, language: str) -> None:
    mark = {"proposed": "⚠️", "accepted": "✅"}.get(status, "❌")
    assert f"| {mark} " in made(record("D001", status=status), language=language)["anchors/global/D001.md"].text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_its_page_in_both_languages(kind: object, language: str) -> None:
    one = record(f"{kind.prefix}001", "标题")  # type: ignore[attr-defined]
    known = made(one, language=language)
    page = known[f"kinds/{kind.name}.md"]  # type: ignore[attr-defined]
    assert page.text.startswith(f"# {getattr(kind, language)}\n")
    assert "标题" in page.text
    assert f"## {section_label('decision', language)}" in known[f"anchors/global/{one.id}.md"].text


def test_a_kind_the_table_lacks_is_shown_all_the_same() -> None:
    known = made(Record("X001", "ritual/../x", "Old custom"))
    assert "kinds/ritual-..-x.md" in known
    assert "anchors/global/X001.md" in known


def test_records_that_share_an_id_have_two_pages() -> None:
    known = made(record("D001", "one"), record("D001", "two"))
    assert {"anchors/global/D001.md", "anchors/global/D001-2.md"} <= set(known)


def test_scopes_and_ids_cannot_leave_their_folder() -> None:
    known = made(Record("../../D1", "decision", "t", scope="project/../../etc"), record("D001", scope="project/global"))
    assert all(".." not in uri.split("/") and not uri.startswith("/") for uri in known)
    assert {"scopes/project-global.md", "anchors/projects/global/D001.md"} <= set(known)


def test_tags_have_a_section_each() -> None:
    known = made(record("D001", tags=("C++", "脱敏")), record("D002", tags=("C#", "脱敏")))
    seen = Seen(html_of(known["tags.md"], known))
    assert seen.headings == ["Tags", "C#", "C++", "脱敏"]
    assert seen.ids[1:] == ["c", "c_2", "脱敏"]
    page = Seen(html_of(known["anchors/global/D001.md"], known))
    assert [unquote(href) for href in page.hrefs if "tags.md" in href] == ["../../tags.md#c_2", "../../tags.md#脱敏"]


def test_the_timeline_goes_by_month() -> None:
    dated = [record(f"D00{n}", date=date) for n, date in enumerate(["2026-03-02", "2026-05-01", "2026-05-09", ""])]
    known = made(*dated)
    assert Seen(html_of(known["timeline.md"], known)).headings == ["Timeline", "2026-05", "2026-03", "Undated"]


def test_home_counts_and_asks() -> None:
    many = [record(f"D{n:03}", f"question {n}") for n in range(1, 23)]
    known = made(*many, record("C001", "settled", status="accepted", date="2026-05-05"))
    text = known["index.md"].text
    assert "Records: 23 · Sessions: 0" in text
    assert "… and 2 more." in text
    assert text.index("C001 settled") > text.index("## Newest")
    assert Seen(html_of(known["index.md"], known)).cells[4:] == ["Decision", "22", "", "22", "Constraint", "", "1", "1"]


def test_an_empty_knowledge_base_has_a_wiki() -> None:
    known = made()
    assert "Nothing has been written yet." in known["index.md"].text
    assert "No session is archived yet." in known["sessions/index.md"].text


def test_a_session_page_shows_the_compact_form() -> None:
    known = made(
        record("D001", scope="project/shop"), sessions=(Archived("index"), Archived("b")), compact="引用 [D001]"
    )
    seen = Seen(html_of(known["sessions/b.md"], known))
    assert seen.cells == ["Project", "shop", "Time", "2026-05-03T10:10:10", "Task", "修复重复扣款"]
    assert "../anchors/projects/shop/D001.md" in seen.hrefs
    assert "sessions/index-2.md" in known


def test_the_navigation_names_listing_pages_only() -> None:
    library = wiki([record("D001"), record("C001", scope="project/shop")], [], Config())
    named = [uri for chapter in navigation(library) for uri in chapter.uris]
    listed = [page.uri for page in pages(library) if page.listing]
    assert sorted(named) == sorted(listed)


# -- text that wants to act -----------------------------------------------------------------------

TAGS = frozenset(
    {
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "a",
        "span",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
        "pre",
        "div",
        "em",
        "strong",
        "s",
        "br",
        "hr",
        "blockquote",
    }
)
ATTRIBUTES = {"href", "id", "class", "title", "start", "style", "data-search-exclude"}


class Seen(HTMLParser):
    """What a browser would find in a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.hrefs: list[str] = []
        self.ids: list[str] = []
        self.nowhere: list[str] = []
        self.cells: list[str] = []
        self.headings: list[str] = []
        self.text = ""
        self._into: list[str] | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(values)
        self.hrefs += [values["href"] or ""] if "href" in values else []
        self.ids += [values["id"] or ""] if "id" in values else []
        self.nowhere += [values.get("title") or ""] if values.get("class") == "kb-nowhere" else []
        if tag in ("td", "th", "h1", "h2", "h3"):
            self._into = self.cells if tag in ("td", "th") else self.headings
            self._into.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "h1", "h2", "h3"):
            self._into = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._into is not None:
            self._into[-1] += data


HOSTILE = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [ATTACK, "<", ">", '"', "'", "|", "\\", "`", "```", "~~~", "\n", "\n\n", "    ", "- ", "> ", "# ", "[D001]",
             "](", "[a](javascript:alert(1))", "![x](data:text/html,y)", "[a]: javascript:x", "<!--", "&lt;",
             "x", "{{ 7 * 7 }}", "脱敏", "&#106;avascript:", "<a href=", "[y](../../../etc)", "{: onclick=x }",
             "--8<-- 'a'", "\t", "***"]
        )
    ).map("".join),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_can_act_or_swallow_what_follows(title: str, body: str, tag: str) -> None:
    bad = Record(
        "D001", "decision", title, tags=(tag,), impact=(body,), sources=(tag,), date=tag, user=body + "x",
        sections=(Section("", title, body), Section("why", "Why", body)), path=title,
    )  # fmt: skip
    known = made(bad, record("D002", decision="[D001]"), sessions=(Archived("s", tag, tag, title),), compact=body)
    for page in known.values():
        seen = Seen(html_of(page, known))
        assert seen.tags <= TAGS
        assert seen.attributes <= ATTRIBUTES
        assert all(re.match(r"(?i)https?://|mailto:|#|[^:]+$", href) for href in seen.hrefs)
    own = Seen(html_of(known["anchors/global/D001.md"], known))
    assert own.headings[-1] == "Cited by"
    assert "Notes by people" in own.headings and "Why" in own.headings


@pytest.mark.parametrize(
    ("text", "hrefs", "nowhere"),
    [
        ("[a](https://example.com/x)", ["https://example.com/x"], []),
        ("<https://example.com>", ["https://example.com"], []),
        ("[a](0003-old.md)", [], ["0003-old.md"]),
        ("![p](https://example.com/p.png)", ["https://example.com/p.png"], []),
        ("![p](p.png)", [], ["p.png"]),
        ("[a](javascript:alert(1))", [], []),
        ("[a](//example.com/x)", [], ["//example.com/x"]),
        ("[a](/etc/passwd)", [], ["/etc/passwd"]),
        ("[a [b](x.md)](https://example.com)", [], ["x.md"]),
    ],
)
def test_links_lead_somewhere_or_are_marked(text: str, hrefs: list[str], nowhere: list[str]) -> None:
    seen = Seen(rendered(text, lambda href: "").html)
    assert (seen.hrefs, seen.nowhere) == (hrefs, nowhere)
    assert "img" not in seen.tags


def test_code_is_coloured_or_left_as_it_is() -> None:
    page = rendered("```python\nif 1 < 2: pass\n```\n\n```nonsense\na < b\n```\n", lambda href: "").html
    assert '<span class="k">if</span>' in page
    assert "a &lt; b" in page


# -- the site -------------------------------------------------------------------------------------


def filled(root: str, language: str = "zh") -> Shelf:
    """Return thirty records of which few speak of 脱敏, 还款 and 幂等."""
    words = ["缓存", "重试", "队列", "审计", "限流", "灰度", "分区", "回滚", "对账", "结算"]
    others = [
        record(
            f"D{100 + n}",
            f"{words[n % 10]}策略 handler{n}",
            scope=("global", "project/shop", "project/lend")[n % 3],
            status=("accepted", "proposed", "deprecated")[n % 3],
            date=f"2026-0{1 + n % 5}-1{n % 9}",
            tags=(words[n % 10],),
            decision=f"还是按老办法处理{words[n % 10]}，付款等到月底。",
        )
        for n in range(25)
    ]
    mine = [
        record("D001", "还款接口必须幂等", scope="project/shop", decision="见 [C001]、[D404]，不看 [x](0003-old.md)。"),
        record("C001", "日志要脱敏", status="accepted", decision="手机号一律脱敏。", user="[shop:D001]"),
        record("D002", "额度分层", scope="project/lend", decision="应还款项另算。"),
        record("D003", f"bad {ATTACK}", tags=(ATTACK,), decision=f"{ATTACK}\n\n{{{{ config }}}} zebra {ATTACK}"),
        record("P001", "retry storms", scope="project/shop", decision="The gateway retries getUserName twice."),
    ]
    return Shelf(root, Config(name="知识库 <b>", language=language), (*mine, *others), (Archived("shop-20260503"),))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built wiki."""
    root = tmp_path_factory.mktemp("kb")
    out = tmp_path_factory.mktemp("out") / "wiki"
    assert build(filled(str(root)), str(out)) == str(out / "index.html")  # type: ignore[arg-type]
    assert list(root.iterdir()) == []
    return out


class Anchored(HTMLParser):
    """Where a whole page points, what it loads, and what it can be pointed to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.scripts = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        self.scripts += tag == "script"
        assert not [name for name in values if name.startswith("on")]
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in ("script", "img", "link", "iframe") and values.get("src" if tag != "link" else "href"):
            self.loads.append(str(values["src" if tag != "link" else "href"]))


def test_every_link_of_the_site_leads_to_a_page_and_its_anchor(site: Path) -> None:
    parsed = {path: Anchored(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(parsed) > 40
    links = 0
    for path, page in parsed.items():
        for href in page.links:
            if href.startswith(("https://squidfunk", "mailto:")):
                continue
            address, anchor = urldefrag(href)
            target = (path.parent / unquote(address)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            assert target in parsed, f"{path}: {href}"
            assert not anchor or unquote(anchor) in parsed[target].ids, f"{path}: {href}"
            links += 1
    assert links > 400


def test_the_site_loads_nothing_from_elsewhere_and_no_record_adds_a_script(site: Path) -> None:
    parsed = {path: Anchored(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert all("//" not in load for page in parsed.values() for load in page.loads)
    assert len({page.scripts for page in parsed.values()}) == 1
    hostile = (site / "anchors/global/D003.html").read_text("utf-8")
    assert "<script>document" not in hostile and "<img src=x" not in hostile
    assert "{{ config }}" in hostile


def test_a_site_of_its_own_keeps_its_settings_and_pages(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n", "utf-8")
    (tmp_path / "mkdocs.yml").write_text("site_name: Ours\ntheme: material\nplugins: [search, kb]\n", "utf-8")
    kb = Shelf(str(tmp_path), Config(), (record("D001", "first"),))
    build(kb, str(tmp_path / "site"))  # type: ignore[arg-type]
    guide = (tmp_path / "site/guide/index.html").read_text("utf-8")
    assert "<title>Guide - Ours</title>" in guide
    assert 'href="../kb/tags/"' in guide and 'href="../kb/kinds/decision/"' in guide
    assert "first" in (tmp_path / "site/kb/anchors/global/D001/index.html").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "mkdocs.yml", "site"]


def test_a_site_without_the_plugin_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: Ours\n", "utf-8")
    with pytest.raises(BadInput, match="the plugin kb is not switched on") as caught:
        build(Shelf(str(tmp_path), Config(), ()), str(tmp_path / "site"))  # type: ignore[arg-type]
    assert "- kb" in str(caught.value.hint)


def test_strict_names_the_broken_link(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\n[x](gone.md)\n", "utf-8")
    (tmp_path / "mkdocs.yml").write_text("site_name: Ours\ntheme: material\nplugins: [search, kb]\n", "utf-8")
    kb = Shelf(str(tmp_path), Config(), (record("D001"),))
    with pytest.raises(KbError, match=r"gone\.md"):
        build(kb, str(tmp_path / "site"))  # type: ignore[arg-type]
    build(kb, str(tmp_path / "site"), strict=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("where", [".", "..", "docs"])
def test_building_never_deletes_what_is_no_wiki(tmp_path: Path, where: str) -> None:
    root = tmp_path / "kb"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "mine.txt").write_text("keep", "utf-8")
    with pytest.raises(BadInput):
        build(Shelf(str(root), Config(), ()), str(root / where))  # type: ignore[arg-type]
    assert (root / "docs" / "mine.txt").read_text("utf-8") == "keep"


def test_a_wiki_is_built_over_the_one_before(tmp_path: Path) -> None:
    out = tmp_path / "wiki"
    for records in ((record("D001"), record("D002")), (record("D001"),)):
        build(Shelf(str(tmp_path / "kb"), Config(), records), str(out))  # type: ignore[arg-type]
    assert (out / "anchors/global/D001.html").exists()
    assert not (out / "anchors/global/D002.html").exists()


def test_the_pages_need_no_mkdocs() -> None:
    heavy = "mkdocs markdown_it pygments jinja2 markdown material"
    program = f"import sys, kb.wiki.pages, kb.wiki.build; print([m for m in '{heavy}'.split() if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


# -- search, in a browser -------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here")


def browsed(address: str, folder: Path) -> str:
    """Return the page at *address* as it stands after its scripts ran."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", f"--user-data-dir={folder}"]
    run = subprocess.run(
        [str(BROWSER), *options, "--dump-dom", address], capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout


@pytest.fixture(scope="module")
def answers(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """Return what the site's own search answers to each query: the pages, best first."""
    if BROWSER is None:
        pytest.skip("no chromium here")
    queries = [query for query, _ in QUERIES]
    probe = site / "probe.html"
    probe.write_text(
        f"""<meta charset=utf-8><script src=assets/kb-search.js></script><script src=search/search_index.js></script>
        <script>const found = {{}}, asked = {json.dumps(queries)}, worker = new Worker("");
        worker.addEventListener("message", ({{data}}) => {{
          const places = () => data.data.items.map(parts => parts[0].location);
          if (data.type === 3) found[asked[Object.keys(found).length]] = places();
          const next = asked[Object.keys(found).length];
          if (next !== undefined) worker.postMessage({{type: 2, data: next}});
          else document.title = "done", document.body.textContent = JSON.stringify(found);
        }});
        worker.postMessage({{type: 0, data: __index}});</script><body></body>""",
        "utf-8",
    )
    page = browsed(probe.as_uri(), tmp_path_factory.mktemp("profile"))
    probe.unlink()
    assert "<title>done</title>" in page
    yield json.loads(Seen(page[page.index("<body>") :]).text)


SHOP, GLOBAL_, LEND = "anchors/projects/shop/", "anchors/global/", "anchors/projects/lend/"
QUERIES = [
    ("脱敏", {GLOBAL_ + "C001"}),
    ("还款", {SHOP + "D001", LEND + "D002"}),
    ("幂等", {SHOP + "D001"}),
    ("敏", {GLOBAL_ + "C001"}),
    ("手机号 脱敏", {GLOBAL_ + "C001"}),
    ("还款 -幂等", {LEND + "D002"}),
    ("还款幂等", {SHOP + "D001"}),
    ("D001", {SHOP + "D001", GLOBAL_ + "C001"}),
    ("RETRIES gateway", {SHOP + "P001"}),
    ("getuser", {SHOP + "P001"}),
    ('"gateway retries"', {SHOP + "P001"}),
    ('"retries gateway"', set()),
    ("zebra", {GLOBAL_ + "D003"}),
    ("量子", set()),
    ('"', set()),
    ("([", set()),
]


@needs_browser
@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_search_finds_the_words_and_nothing_else(answers: dict[str, list[str]], query: str, expected: set[str]) -> None:
    found = {location.removesuffix(".html") for location in answers[query]}
    assert {place for place in found if place.startswith("anchors/")} == expected


@needs_browser
def test_a_title_goes_before_a_mention(answers: dict[str, list[str]]) -> None:
    assert answers["D001"][0] == SHOP + "D001.html"
    assert answers["还款"][0] == SHOP + "D001.html"


@needs_browser
def test_the_search_field_of_the_theme_shows_the_answers(site: Path, tmp_path: Path) -> None:
    page = browsed(f"{site.as_uri()}/index.html?q=zebra", tmp_path)
    results = page[page.index("md-search-result__list") :]
    assert "anchors/global/D003.html" in results
    assert '<mark data-md-highlight="">zebra</mark>' in results
    assert "<title>taken</title>" not in page
    assert "<img" not in results


@needs_browser
def test_search_works_from_a_server_too(site: Path, tmp_path: Path) -> None:
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Quiet(SimpleHTTPRequestHandler):
        """Serves without a log."""

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browsed(f"http://127.0.0.1:{server.server_port}/index.html?q=%E8%84%B1%E6%95%8F", tmp_path)
        server.shutdown()
    results = page[page.index("md-search-result__list") :]
    assert "anchors/global/C001.html" in results
    assert '<mark data-md-highlight="">脱敏</mark>' in results
