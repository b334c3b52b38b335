"""The wiki's pages: markdown from records, and HTML in which no text can act."""

import os
import re
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.config import Config
from kb.kinds import KINDS, section_label
from kb.record import Record, Section, Status
from kb.text import one_line
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


def test_an_old_number_leads_to_the_page_of_the_record() -> None:
    found = made(
        record("D001", decision="As [D007] says, and [D002], not [D008]."),
        record("D002", extra={"aliases": ["D007"]}),
        record("D003", extra={"aliases": ["D002"]}),
    )
    page = found["anchors/global/D001.md"]
    links = re.findall(r'href="([^"]*D00\d[^"]*)"', html_of(page, found))
    assert links.count("D002.md") >= 2 and not any("D003" in link or "D007" in link for link in links)


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
