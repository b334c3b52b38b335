"""The wiki's pages: markdown from records, and HTML in which no text can act."""

import json
import os
import re
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.checks.check_context import Finding
from kb.checks.lifecycle_rules import suggest_choice
from kb.config import Config
from kb.history.timeline import RecordVersion, Timeline
from kb.i18n import msg
from kb.records.kinds import KINDS, section_label
from kb.records.model import Candidate, Evidence, Record, Section, Status
from kb.text.segment import one_line
from kb.wiki.build_cache import PageFingerprints
from kb.wiki.list_pages import render_graph_data
from kb.wiki.record_pages import render_both_sides
from kb.wiki.render import (
    escape_markdown,
    format_link,
    format_table,
    render_page,
    replace_citations,
    slugify_headings,
    strip_markup,
)
from kb.wiki.site_data import iter_chunks
from kb.wiki.wiki_model import SessionForms, Wiki, WikiPage, WikiSources, build_wiki
from kb.wiki.wiki_site import (
    NAVIGATION,
    iter_drafts,
    iter_site_files,
    map_permalinks,
    render_redirect,
    resolve_record_href,
)
from kb.writing.inbox import HeldCandidate
from kb.writing.reviews import Review, ReviewSides

TODAY = "2026-05-09"
ATTACK = '<script>document.title="taken"</script><img src=x onerror=alert(1)>'


class Archived(NamedTuple):
    """An archived session."""

    name: str
    project: str = "shop"
    time: str = "2026-05-03T10:10:10"
    task: str = "修复重复扣款"
    session: str = "s-1"


def record(id: str, title: str = "A title", *, decision: str = "Done.", **fields: object) -> Record:
    """Return a record with a decision section."""
    kind = next(k.name for k in KINDS if k.prefix == id.rstrip("0123456789"))
    return Record(id, kind, title, sections=(Section("decision", "Decision", decision),), **fields)  # type: ignore[arg-type]


class Made(dict[str, WikiPage]):
    """Pages by their place, with the wiki they belong to."""

    wiki: Wiki
    files: set[str]


def pages_of(wiki: Wiki) -> list[WikiPage]:
    """Return every page of *wiki*."""
    return [draft.make() for draft in iter_drafts(PageFingerprints(wiki))]


def made(
    *records: Record,
    language: str = "en",
    sessions: tuple[Archived, ...] = (),
    compact: str = "",
    settings: dict[str, str] | None = None,
    **told: object,
) -> Made:
    """Return the pages of *records* by their place."""
    archives = [SessionForms(session, {"compact": compact}) for session in sessions]
    whole = build_wiki(records, WikiSources(sessions=archives, **told), Config(language=language, **(settings or {})))  # type: ignore[arg-type]
    found = Made({page.uri: page for page in pages_of(whole)})
    found.wiki = whole
    found.files = {file.path for file in iter_site_files(PageFingerprints(whole), {uri: uri for uri in found})}
    return found


def html_of(page: WikiPage, known: Made) -> str:
    """Return *page* as HTML; a link is good if it leads to a page of *known*."""

    def target(href: str) -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(page.uri), unquote(urldefrag(href).url)))
        own = resolve_record_href(known.wiki, page, href)
        good = href.startswith("#") or path in known
        return os.path.relpath(own, os.path.dirname(page.uri)) if own else href if good else ""

    def named(uri: str) -> str:
        assert uri in known or uri in known.files, f"{page.uri}: {uri}"
        return os.path.relpath(uri, os.path.dirname(page.uri))

    return render_page(page.parts, target, named).html


def head_of(page: WikiPage) -> str:
    """Return what a record's *page* says first: whether it holds, since when, by whom, instead of what."""
    return next(part for part in page.parts if "kb-plate" in part)


def box_of(page: WikiPage, known: Made) -> str:
    """Return the words of the box beside the text of a record's *page*."""
    return Seen(next(part for part in page.parts if "kb-box" in part)).text


def facts(page: WikiPage, known: Made) -> dict[str, str]:
    """Return the table of facts of a record's *page*."""
    cells = Seen(html_of(page, known)).cells
    return dict(zip(cells[::2], cells[1::2], strict=True))


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
        ("[[D001]] [[A title|here]] `[[x]]`", "<<D001>> <<A title|here>> `[[x]]`"),
        ("if [[ -f x ]]; then", "if [[ -f x ]]; then"),
        ("[RFC7231] [ES256]", "[RFC7231] [ES256]"),
        ("```", "```\n```"),
        ("~~~~\n~~~", "~~~~\n~~~\n~~~~"),
        ("```\nshut\n```", "```\nshut\n```"),
    ],
)
def test_citations_become_links_and_code_stays(text: str, expected: str) -> None:
    said = replace_citations(
        text,
        lambda what: f"<{what.project}:{what.id}>" if what.project else f"<{what.id}>",
        lambda words, label: f"<<{words}{'|' * bool(label)}{label}>>",
    )
    assert said == expected


@given(st.text())
def test_plain_text_shows_exactly_itself(text: str) -> None:
    shown = Seen(render_page(["x" + escape_markdown(text)], lambda href: "", str).html).text.strip()
    assert shown == ("x" + one_line(text)).strip()


@given(st.text(min_size=1))
def test_text_shows_itself_in_a_cell(text: str) -> None:
    page = render_page([format_table(["a", "b"], [[escape_markdown("x" + text), "last"]])], lambda href: "", str).html
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
    assert format_link("x", uri, page) == expected


def test_anchors_of_one_page_differ() -> None:
    assert slugify_headings(["C++", "C#", "c", "脱敏"]) == ["c", "c_2", "c_3", "脱敏"]


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
    assert seen.headings[:2] == ["D002 用 FastAPI | 管道", "Decision"]
    assert "✅</span> 生效" in head_of(page) and "自 2026-05-03 起" in head_of(page)
    assert "取代了" in head_of(page) and "D001" in head_of(page)
    box = box_of(page, known)
    for word in ("#后端", "#a|b", "src/a|b.py", "D001 用 Flask", "kb edit shop:D002"):
        assert word in box
    told = facts(page, known)
    # What exists is in the box; the facts keep what cannot be followed.
    assert "取代" not in told and told["修订"] == "C009 ⚠️"
    assert told["声明"] == "backend.framework: FastAPI"
    assert told["出现次数"] == "3" and told["来源"] == "session 1"
    assert told["文件"] == "content/anchors/projects/shop/D002-x.md"
    assert "人写的：[C001]" in seen.text
    assert not seen.nowhere


def test_a_superseded_record_leads_to_its_successors_before_anything_else() -> None:
    known = made(
        record("D001", "one", status="superseded"),
        record("D002", "two", status="superseded", supersedes=("D001",)),
        record("D003", "three", status="accepted", supersedes=("D002",)),
    )
    page = known["anchors/global/D001.md"]
    seen = Seen(html_of(page, known))
    assert [href for href in seen.hrefs if href.startswith("D0")][1:3] == ["D002.md", "D003.md"]
    assert head_of(page).startswith('<div class="kb-over"')
    chain = next(part for part in page.parts if "kb-chain" in part)
    assert chain.index("three") < chain.index("</span> two") < chain.index("</span> this record")
    assert chain.count("Replaced by</span>") == 2 and "Replaces</span>" not in chain
    assert "No longer accepted" not in known["anchors/global/D003.md"].text


def test_a_record_whose_successor_is_only_proposed_still_holds() -> None:
    known = made(record("D001", status="accepted"), record("D002", status="proposed", supersedes=("D001",)))
    text = known["anchors/global/D001.md"].text
    assert "Still in force. To be replaced by:" in text and "No longer accepted" not in text


def test_records_that_replace_each_other_are_shown_all_the_same() -> None:
    known = made(record("D001", supersedes=("D002",)), record("D002", supersedes=("D001",)))
    assert known["anchors/global/D001.md"].text.count('<ol class="kb-chain"') == 1


def test_links_back_come_with_the_sentence_that_cites() -> None:
    known = made(
        record("D001", decision="the old way"),
        record("D002", decision="- First. As [D001] says, **wait**. Last. Again [D001]."),
        record("D003", amends=("D001",), scope="project/shop", decision="its own [D003]"),
        record("D004", decision="这一句不算。依照[D001]办理！后一句也不算。"),
    )
    page = known["anchors/global/D001.md"]
    cites = page.parts[page.parts.index("## Cited by") + 1]
    assert cites.count("<blockquote>") == 2
    assert "<p>As [D001] says, wait.</p>" in cites and "<p>依照[D001]办理！</p>" in cites
    assert "Cited by" not in known["anchors/projects/shop/D003.md"].text


def test_a_replacement_is_told_once_and_a_citation_beside_it() -> None:
    """The chain names who replaced whom; that the one cites the other in its text is nothing new."""
    known = made(
        record("D001", "Old", decision="By [D002] replaced.", status="superseded"),
        record("D002", "New", decision="Replaces [D001], as [D003] asks.", supersedes=("D001",), status="accepted"),
        record("D003", "Other", decision="Read [D001] and [D002]."),
        record("D004", "Amending", decision="Of [D002].", amends=("D002",)),
    )
    old, new = known["anchors/global/D001.md"], known["anchors/global/D002.md"]
    assert "cited by 1 record<" in head_of(old) and "cited by 1 record<" in head_of(new)
    box = box_of(new, known)
    assert "Chain of replacements" in box and "D002 this record" in box and "Amended by 1" in box
    assert box.count("D001 Old") == 1 and box.count("D004 Amending") == 1
    for page in (old, new):
        cites = page.parts[page.parts.index("## Cited by") + 1]
        assert "Read [D001] and [D002]." in cites and cites.count("<blockquote>") == 1
        assert "Supersedes" not in facts(page, known) and "Superseded by" not in facts(page, known)


@pytest.mark.parametrize(
    ("extra", "names", "said"),
    [
        ({"original_author": "Bo", "imported": "adr"}, ["Importer"], "by Bo"),
        ({"imported": "adr"}, ["Importer"], "imported by Importer"),
        ({"imported": "adr"}, ["Importer", "Chidi"], "by Chidi"),
        ({}, ["Ann"], "by Ann"),
    ],
)
def test_who_imported_a_record_did_not_write_it(extra: dict[str, str], names: list[str], said: str) -> None:
    path = "content/anchors/global/D001-x.md"
    versions = tuple(
        RecordVersion("a" * 40, f"2026-11-0{n}T10:00:00Z", name, "", "x") for n, name in enumerate(names, 1)
    )
    one = record("D001", "x", path=path, extra=extra, date="2025-01-02", status="accepted")
    page = made(one, timeline=Timeline({path: versions[::-1]}))["anchors/global/D001.md"]
    assert f"<span>{said}</span>" in head_of(page) and "since 2025-01-02" in head_of(page)


@pytest.mark.parametrize(
    ("decision", "lead"),
    [
        ("### What\n\nWe wait\nfive `seconds`. Then not.", "We wait five <code>seconds</code>."),
        ("We do:\n\n- the one.\n- the *other*\n\nLater more.", "We do: the one; the other"),
        ("## 定位\n\n解析命令：\n- 不复用缓存\n- 主要输出\n  文件\n\n其他", "解析命令：不复用缓存；主要输出文件"),
        ("1. First. Second.\n2. Third.", "First."),
        ("```\n", ""),
    ],
)
def test_the_lead_is_the_first_sentence_of_the_decision(decision: str, lead: str) -> None:
    sections = (Section("context", "Context", "Why."), Section("decision", "Decision", decision))
    page = made(record("D001")._replace(sections=sections))["anchors/global/D001.md"]
    shown = [part for part in page.parts if "kb-lead" in part]
    assert shown == ([f'<p class="kb-lead">{lead}</p>'] if lead else [])


def test_the_head_of_a_record_says_which_code_it_is_about() -> None:
    text = "See `src/pay/queue.py`, [notes](docs/notes.md), https://example.org/a/b.py and lib/a.ts."
    known = made(
        record("D001", decision=text),
        record("D002", decision=text, impact=("src/a.py", "src/b.py", "src/c.py"), status="accepted"),
        record("D003", decision="Nothing."),
    )
    first, second, third = (known[f"anchors/global/D00{n}.md"] for n in (1, 2, 3))
    assert "names in its text</span> <code>src/pay/queue.py</code> <code>lib/a.ts</code>" in head_of(first)
    assert "Named in its text" in box_of(first, known) and "notes.md" not in box_of(first, known)
    assert "governs</span> <code>src/a.py</code> <code>src/b.py</code> +1" in head_of(second)
    # what the text names beside them is named as such, and leads to what else governs it
    assert "Named in its textsrc/pay/queue.pylib/a.ts" in box_of(second, known)
    assert "governs/index.md?path=lib/a.ts" in second.text
    assert "cited by no record</span> · <span>names no file" in head_of(third) and "Governs" not in box_of(third, known)


def test_the_sides_of_a_review_wrap_where_the_page_does() -> None:
    before = "One sentence\nover rows\n- an item\n  goes on\n\n```\na\nb\n```\n\n中文一行\n接下一行"
    both = render_both_sides(made().wiki, record("D001", decision=before), record("D002", decision="x"))
    shown = Seen(both).text
    assert "One sentence over rows\n• an item goes on\n" in shown and "a\nb" in shown and "中文一行接下一行" in shown


@pytest.mark.parametrize("language", ["en", "zh"])
def test_names_and_values_are_parted_as_the_language_does(language: str) -> None:
    """A Chinese word is followed by a full-width colon, an English one by none; what people wrote is theirs."""
    known = made(
        record("D001", "x", date="2026-01-01", tags=("a",)),
        record("D002", "y", supersedes=("D001",)),
        language=language,
        settings={"wiki_views": "show"},
    )
    wrong = re.compile(r"[\u4e00-\u9fff）] ?:" if language == "zh" else "[A-Za-z] ?：")
    for page in known.values():
        assert not wrong.search(Seen(html_of(page, known)).text), page.uri


def test_what_a_record_cites_by_wiki_link_or_file_is_a_link() -> None:
    known = made(
        record("D001", "用 Flask", path="content/anchors/global/D001-flask.md", uid="U1"),
        record("D002", "Other", decision="[[用 Flask]] [[D001|that]] [[D001-flask]] [x](D001-flask.md#why) [[gone]]"),
        record("D003", "Third", path="content/anchors/global/D003-x.md", decision="[x](D001-flask.md#why) [y](no.md)"),
    )
    page = known["anchors/global/D002.md"]
    seen = Seen(html_of(page, known))
    body = Seen(html_of(page._replace(parts=tuple(part for part in page.parts if "kb-box" not in part)), known))
    assert body.hrefs.count("D001.md") == 3 + 2  # and the step before, and the neighbour
    assert page.broken == ("[[gone]]",)
    assert "[[gone]] ⚠️ no such record" in seen.text
    third = Seen(html_of(known["anchors/global/D003.md"], known))
    assert "D001.md#why" in third.hrefs and third.nowhere == ["no.md"]


def test_a_former_id_is_still_cited_and_found() -> None:
    known = made(
        record("D005", "moved", uid="U5", extra={"aliases": ["D003"]}, scope="project/shop"),
        record("D009", "again", uid="U9", extra={"aliases": ["D001"]}),
        record("D001", "stays", decision="-"),
        record("C001", decision="[D003]", scope="project/shop"),
    )
    assert not known["anchors/projects/shop/C001.md"].broken
    lasting = map_permalinks(known.wiki)
    titles = {address: [known.wiki.library.records[n].title for n in places] for address, places in lasting.items()}
    assert titles["r/U5/index.html"] == titles["D003/index.html"] == titles["D005/index.html"] == ["moved"]
    assert titles["anchors/projects/shop/D003.html"] == ["moved"]
    assert titles["D001/index.html"] == ["stays", "again"]
    assert "anchors/global/D001.html" not in titles


def test_a_permalink_needs_no_script_and_a_doubtful_one_asks() -> None:
    known = made(record("D001", ATTACK, uid="U1"), record("D001", "other", scope="project/shop"))
    one = render_redirect(known.wiki, "r/U1/index.html", [0], lambda uri: f"../../{uri}")
    assert 'content="0; url=../../anchors/global/D001.md"' in one and "<script" not in one and "<img" not in one
    both = render_redirect(known.wiki, "D001/index.html", [0, 1], lambda uri: f"x/{uri}")
    assert (
        "refresh" not in both
        and 'href="x/anchors/global/D001.md"' in both
        and 'href="x/anchors/projects/shop/D001.md"' in both
    )


def test_similar_records_share_rare_words() -> None:
    titles = ["Retry gateway timeouts twice", "Retry gateway timeouts with backoff", "Mask phone numbers in logs"]
    fillers = [f"Filler {letter}lpha {letter}mega" for letter in "bcdfghjkm"]
    known = made(*(record(f"D{n:03}", title, decision=title) for n, title in enumerate([*titles, *fillers], 1)))
    page = known["anchors/global/D001.md"]
    alike = page.parts[page.parts.index("## Similar records") + 1]
    assert "D002" in alike and "D003" not in alike
    assert "Similar records" not in known["anchors/global/D003.md"].text


def test_history_shows_what_changed_word_by_word() -> None:
    before = "---\nid: D001\nstatus: proposed\n---\n<!-- MACHINE_BLOCK_START -->\n# T\n\nWait 5 seconds <b>.\n"
    after = before.replace("proposed", "accepted").replace("5 seconds", "30 seconds")
    versions = (
        RecordVersion("b" * 40, "2026-05-02T10:00:00+00:00", "Ann", "codex", "Change <b>", before, after),
        RecordVersion("a" * 40, "2026-05-01T10:00:00+00:00", "Bob", "", "Write"),
    )
    known = made(record("D001", path="p.md"), timeline=Timeline({"p.md": versions}))
    page = known["anchors/global/D001.md"]
    history = page.parts[page.parts.index("## History") + 1]
    assert "<del>5</del><ins>30</ins> seconds &lt;b&gt;." in history
    assert "<del>proposed</del><ins>accepted</ins>" in history
    assert "2026-05-02 · Ann (codex) · " in history and ">Change &lt;b&gt;<" in history
    assert "2026-05-01 · Bob · " in history and ">Write<" in history
    assert "MACHINE" not in history


def test_paths_and_edits_lead_to_the_code_host_where_it_is_known() -> None:
    one = record("D001", scope="project/shop", impact=("src/a b.py", "../../x"), path="content/D001-x.md")
    told = Timeline({}, "https://github.com/o/r/edit/main/", code={"project/shop": "https://github.com/o/r/blob/HEAD/"})
    known = made(one, timeline=told)
    seen = Seen(html_of(known["anchors/projects/shop/D001.md"], known))
    assert "https://github.com/o/r/blob/HEAD/src/a%20b.py" in seen.hrefs
    assert "https://github.com/o/r/edit/main/content/D001-x.md" in seen.hrefs
    assert "https://github.com/o/r/issues/new?title=shop%3AD001%20A%20title" in seen.hrefs
    assert len([href for href in seen.hrefs if "github" in href]) == 3
    plain_page = made(one)["anchors/projects/shop/D001.md"].text
    assert "https:" not in plain_page and "kb edit shop:D001" in plain_page


def test_a_pitfall_says_what_fixed_it_and_what_keeps_it_from_coming_back() -> None:
    fixed = {"fixed_by": "ab12cd", "regression_test": "tests/test_x.py"}
    told = Timeline(code={"project/shop": "https://github.com/o/r/blob/HEAD/"})
    known = made(record("P001", scope="project/shop", extra=fixed), timeline=told)
    page = known["anchors/projects/shop/P001.md"]
    assert facts(page, known)["Fixed by"] == "ab12cd" and facts(page, known)["Regression test"] == "tests/test_x.py"
    assert "https://github.com/o/r/commit/ab12cd" in Seen(html_of(page, known)).hrefs


def test_what_people_wrote_stands_in_a_frame_that_no_text_can_open() -> None:
    known = made(record("D001", user="by hand", decision='<div class="kb-person">not by hand</div>\n\n```\nopen'))
    shown = html_of(known["anchors/global/D001.md"], known)
    assert shown.count('<div class="kb-person">') == 1
    assert shown.index('<div class="kb-person">') < shown.index("by hand</p>")


def test_citations_resolve_in_scope_then_globally_then_across() -> None:
    known = made(
        record("D001", decision="global"),
        record("D002", decision="global too"),
        record("D001", scope="project/shop"),
        record("C001", scope="project/shop", decision="[D001] [D002] [global:D001] [lend:D001] [D404]"),
        record("D001", scope="project/lend"),
    )
    seen = Seen(html_of(known["anchors/projects/shop/C001.md"], known))
    said = [href for href in seen.hrefs if "/D0" in href or href.startswith("D0")]
    assert said[len(said) - 4 :] == [
        "D001.md",
        "../../global/D002.md",
        "../../global/D001.md",
        "../lend/D001.md",
    ]
    assert "[D404] ⚠️ no such record" in seen.text


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_status_has_its_mark(status: str, language: str) -> None:
    mark = {"proposed": "⚠️", "accepted": "✅"}.get(status, "❌")
    known = made(record("D001", status=status), language=language)
    shown = head_of(known["anchors/global/D001.md"])
    assert f'<span class="kb-status kb-{status}"><span class="kb-sign">{mark}</span> ' in shown


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_its_page_in_both_languages(kind: object, language: str) -> None:
    one = record(f"{kind.prefix}001", "标题")  # type: ignore[attr-defined]
    known = made(one, language=language)
    assert getattr(kind, language) in known["records.md"].text and "标题" in known["records.md"].text
    page = known[f"anchors/global/{one.id}.md"]
    assert "## Decision" in page.text  # the heading is the author's, whatever the wiki speaks
    bare = made(one._replace(sections=(Section("decision", "", "Done."),)), language=language)
    label = section_label("decision", language, kind.name)  # type: ignore[attr-defined]
    assert f"## {label}" in bare[page.uri].text


def test_a_kind_the_table_lacks_is_shown_all_the_same() -> None:
    known = made(Record("X001", "ritual/../x", "Old custom"))
    assert "kinds/ritual-..-x.html" in known.files
    assert "anchors/global/X001.md" in known


def test_records_that_share_an_id_have_two_pages() -> None:
    known = made(record("D001", "one"), record("D001", "two"))
    assert {"anchors/global/D001.md", "anchors/global/D001-2.md"} <= set(known)


def test_scopes_and_ids_cannot_leave_their_folder() -> None:
    known = made(Record("../../D1", "decision", "t", scope="project/../../etc"), record("D001", scope="project/global"))
    assert all(".." not in uri.split("/") and not uri.startswith("/") for uri in known)
    assert "anchors/projects/global/D001.md" in known and "scopes/project-global.html" in known.files


def test_tags_and_kinds_lead_to_the_records_that_have_them() -> None:
    known = made(record("D001", tags=("C++", "脱敏"), date="2026-05-01"), record("D002", tags=("C#", "脱敏")))
    assert list(known.wiki.tags) == ["脱敏", "C#", "C++"]
    page = Seen(html_of(known["anchors/global/D001.md"], known))
    asked = [unquote(href) for href in page.hrefs if "records.md?tag=" in href]
    assert (
        asked[:2] == ["../../records.md?tag=C++", "../../records.md?tag=脱敏"] or "records.md?tag=C%2B%2B" in asked[0]
    )
    assert "../../records.md?scope=global&kind=decision" in page.hrefs
    assert "2026-05" in known.wiki.months and list(known.wiki.months)[-1] == "Undated"


def test_what_was_a_list_of_its_own_leads_to_the_records() -> None:
    known = made(record("D001"), record("C001", scope="project/shop"))
    old = {"tags.html", "statuses.html", "timeline.html", "paths.html", "views.html"}
    old |= {f"{folder}.html" for folder in ("kinds/index", "kinds/decision", "scopes/index", "scopes/project-shop")}
    assert old <= known.files
    urls = {uri: "records/" if uri == "records.md" else uri for uri in known}
    told = {file.path: file.make() for file in iter_site_files(PageFingerprints(known.wiki), urls)}
    assert 'url=../records/?kind=decision"' in told["kinds/decision.html"]
    assert 'url=../records/?scope=project%2Fshop"' in told["scopes/project-shop.html"]


def test_home_says_what_waits_with_its_titles_and_what_is_new() -> None:
    many = [record(f"D{n:03}", f"question `q{n}`") for n in range(1, 23)]
    bad = Finding("claims", "error", "p.md", 3, msg("vague"), msg("be clear"))
    known = made(*many, record("C001", "settled", status="accepted", date="2026-05-05"), findings=[bad], today=TODAY)
    seen = Seen(html_of(known["index.md"], known))
    assert seen.headings[1:] == ["Needs you", "Recently", "Contents"]
    assert (
        "22 Records to verify" in seen.text and "1 Errors to settle" in seen.text and "Claims that differ" in seen.text
    )
    assert seen.text.count("… and 19 more.") == 1 and "records.md?status=proposed" in seen.hrefs
    assert "health.md#claims" in seen.hrefs and "reviews.md" not in seen.hrefs
    assert "<code>q22</code>" in known["index.md"].text and "`" not in seen.text
    # The newest stands first, once; all others are one link away.
    recent = seen.text[seen.text.index("Recently") :]
    assert recent.index("C001 settled") < recent.index("question") and recent.count("C001 settled") == 1
    assert "… and 13 more." in recent and "records.md" in seen.hrefs


def test_home_has_no_arcs_where_nothing_was_replaced() -> None:
    alone = made(record("D001", date="2026-05-05"), record("D002", date="2026-05-06"))
    assert "kb-arcs" not in alone["index.md"].text
    joined = made(record("D001", date="2026-05-05"), record("D002", date="2026-05-06", supersedes=("D001",)))
    assert "kb-arcs" in joined["index.md"].text


def test_what_changed_last_stands_first_and_an_import_is_no_news() -> None:
    days = ("2026-05-09", "2026-05-03", "2026-05-07")
    story = Timeline({f"{day}.md": (RecordVersion("c", f"{day}T10:00:00Z", "Ann", "", "s"),) for day in days})
    records = [record(f"D00{n}", f"changed {day}", path=f"{day}.md") for n, day in enumerate(days, 1)]
    records[2] = records[2]._replace(extra={"adr": 3}, date="2024-01-01")
    parts = made(*records, timeline=story, today=TODAY)["index.md"].parts
    recent = parts[parts.index("## Recently") + 1]
    assert recent.index("changed 2026-05-09") < recent.index("changed 2026-05-03") < recent.index("2024-01-01")


def test_a_review_shows_both_sides_with_every_word_that_differs() -> None:
    old = record("D001", "Wait 5 seconds", status="accepted", decision="Wait 5 seconds <b>.")
    new = record("D002", f"Wait 30 seconds {ATTACK}", status="accepted", decision="Wait 30 seconds <b>.")
    review = Review("kb/review/D002-wait", "c", "p.md", "2026-05-06T10:00:00Z", new, ("D001",), "codex", "s1")
    sides = ReviewSides(review, (old,), "", f"it says 30\n{ATTACK}\n\nKb-Op: review")
    known = made(old, reviews=[sides], today=TODAY, timeline=Timeline(request="https://github.com/o/r/compare/"))
    seen = Seen(html_of(known["reviews.md"], known))
    assert "<del>Wait 5 seconds</del>" in known["reviews.md"].text  # the verdict
    assert "Wait <del>5</del> seconds &lt;b&gt;." in known["reviews.md"].text
    assert "Wait <ins>30</ins> seconds &lt;b&gt;." in known["reviews.md"].text
    assert "open: 3 days" in seen.text and "it says 30" in seen.text and "Kb-Op" not in seen.text
    assert "https://github.com/o/r/compare/kb%2Freview%2FD002-wait" in seen.hrefs
    assert "anchors/global/D001.md" in seen.hrefs and "kb review accept D002\n" in seen.text.replace(
        "accept D002Reject", "accept D002\nReject"
    )
    assert not seen.tags - TAGS


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_record_says_first_that_a_review_or_a_contradiction_is_open(language: str) -> None:
    old, new = record("D001", "Use Redis", status="accepted"), record("D002", "Use files", status="accepted")
    review = Review("kb/review/D002-use-files", "c", "p.md", "2026-05-06T10:00:00Z", new, ("D001",), "codex", "s1")
    known = made(old, record("D003"), reviews=[ReviewSides(review, (old,), "", "")], today=TODAY, language=language)
    head = head_of(known["anchors/global/D001.md"])
    notice = {"en": "Contradicted by an open review:", "zh": "与一项待决评审相矛盾："}[language]
    assert head.index(notice) < head.index("kb-plate") and "reviews.md#kb/review/D002-use-files" in head
    assert 'id="kb/review/D002-use-files"' in known["reviews.md"].text
    assert notice not in known["anchors/global/D003.md"].text

    fix = suggest_choice(old, new)
    finding = Finding("contradiction", "error", "new.md", 1, msg("it rejects what [D001] chose"), fix)
    known = made(old, new._replace(path="new.md"), findings=[finding], language=language)
    for name in ("D001", "D002"):
        head = head_of(known[f"anchors/global/{name}.md"])
        assert "health.md#contradiction" in head and "it rejects what [D001] chose" in head


def test_what_was_rejected_is_listed_below_the_reviews() -> None:
    gone = record("D007", f"Prices are decimal {ATTACK}", decision="Decimal everywhere.")
    review = Review("refs/kb/rejected/D007-prices", "c", "a/D007.md", "2026-05-06T10:00:00Z", gone, ("D001",), "", "")
    known = made(record("D001"), rejected=[review], today=TODAY)
    seen = Seen(html_of(known["reviews.md"], known))
    assert "No review is open." in seen.text and "Rejected" in seen.headings
    for words in (
        "D007 Prices are decimal",
        "2026-05-06",
        "Decimal everywhere.",
        "git show refs/kb/rejected/D007-prices:a/D007.md",
    ):
        assert words in seen.text
    assert not seen.tags - TAGS


@pytest.mark.parametrize(("language", "verb"), [("en", "Add"), ("zh", "添加")])
def test_the_history_names_what_kb_did_in_the_language_of_the_wiki(language: str, verb: str) -> None:
    story = (RecordVersion("a" * 40, "2026-05-01T10:00:00+00:00", "Bob", "", "Add [D001] A title"),)
    known = made(record("D001", path="p.md"), timeline=Timeline({"p.md": story}), language=language)
    page = known["anchors/global/D001.md"]
    assert f'<span>{verb}</span> <span class="kb-said">[D001] A title</span>' in page.text


def test_the_sections_of_a_record_stand_in_the_order_of_the_template() -> None:
    sections = tuple(Section(name, name.title(), "x") for name in ("decision", "alternatives", "why", "impact"))
    own, foreign = record("D001")._replace(sections=sections), record("D002")._replace(sections=sections)
    known = made(own, foreign._replace(extra={"imported": "adr"}))

    def heads(name: str) -> list[str]:
        return [
            part[3:]
            for part in known[f"anchors/global/{name}.md"].parts
            if part[3:] in ("Decision", "Alternatives", "Why", "Impact")
        ]

    assert heads("D001") == ["Decision", "Why", "Alternatives", "Impact"]
    assert heads("D002") == ["Decision", "Alternatives", "Why", "Impact"]


@pytest.mark.parametrize(("number", "words"), [(1, "Search 1 record:"), (2, "Search 2 records:")])
def test_one_record_is_no_plural(number: int, words: str) -> None:
    assert words in made(*(record(f"D00{n}") for n in range(1, number + 1)))["index.md"].text


def test_the_inbox_shows_what_is_held_and_why() -> None:
    candidate = Candidate("decision", f"Book refunds {ATTACK}", "As a new row.", evidence=(Evidence("we book"),))
    held = HeldCandidate("8a71abfa7c30", candidate, ({"session": "s", "day": "2026-05-01"},), ("below the gate",))
    known = made(held=[held])
    seen = Seen(html_of(known["inbox.md"], known))
    for words in ("As a new row.", "we book", "below the gate", "2026-05-01", "kb inbox promote 8a71abfa7c30"):
        assert words in seen.text
    assert not seen.tags - TAGS


def test_health_names_the_record_the_finding_and_the_next_step() -> None:
    found = [
        Finding("vague", "warning", "a.md", 3, msg("vague {t}", t=ATTACK), msg("be clear")),
        Finding("lost", "error", "b.md", 1, msg("lost"), msg("find it")),
    ]
    known = made(record("D001", path="a.md"), findings=found)
    seen = Seen(html_of(known["health.md"], known))
    text = known["health.md"].text
    assert text.index('id="lost" open="open"') < text.index('id="vague"') < text.index("Orphans")
    assert "b.md" in seen.text and "find it" in seen.text
    assert "anchors/global/D001.md" in seen.hrefs and "D001 A title · Global" in seen.text
    assert "be clear kb edit D001" in seen.text  # no command settles it, so one opens the record
    assert not seen.tags - TAGS


def test_an_old_number_leads_to_the_page_of_the_record() -> None:
    found = made(
        record("D001", decision="As [D007] says, and [D002], not [D008]."),
        record("D002", extra={"aliases": ["D007"]}),
        record("D003", extra={"aliases": ["D002"]}),
    )
    page = found["anchors/global/D001.md"]
    text = html_of(page, found).partition('<div class="kb-text">')[2].partition("</div>")[0]
    links = re.findall(r'href="([^"]*D00\d[^"]*)"', text)
    assert links.count("D002.md") == 2 and not any("D003" in link or "D007" in link for link in links)


def test_an_empty_knowledge_base_has_a_wiki() -> None:
    known = made()
    assert "Nothing has been written yet." in known["index.md"].text
    assert "sessions/index.md" not in known
    assert "No review is open." in known["reviews.md"].text
    assert "Nothing is waiting in the inbox." in known["inbox.md"].text
    assert "No problems found." in known["health.md"].text


def test_the_views_are_those_of_the_memory_and_lead_to_the_lists() -> None:
    known = made(
        record("U001", "Tabs", decision="Use **tabs**. Always."), record("D001"), record("P001", "burnt"),
        sessions=(Archived("s"),), settings={"wiki_views": "show"},
    )  # fmt: skip
    assert "views.md" not in made(record("D001"))
    seen = Seen(html_of(known["views.md"], known))
    said = [
        "Seeds (种子库): by kind",
        "Karma (业力库): by label",
        "Preferences (偏好库)",
        "Knowledge",
        "Experience",
        "Sessions",
    ]
    assert seen.headings == ["Views", *said]
    assert "U001 Tabs – Use tabs." in seen.text and "恶业: Pitfall (1)" in seen.text
    assert {"records.md?kind=preference", "sessions/s.md", "sessions/index.md"} <= set(seen.hrefs)


def test_a_session_page_shows_the_compact_form() -> None:
    known = made(
        record("D001", scope="project/shop"), sessions=(Archived("index"), Archived("b")), compact="引用 [D001]"
    )
    seen = Seen(html_of(known["sessions/b.md"], known))
    assert seen.cells == ["Project", "shop", "Time", "2026-05-03T10:10:10", "Task", "修复重复扣款"]
    assert "../anchors/projects/shop/D001.md" in seen.hrefs
    assert "sessions/index-2.md" in known
    assert seen.headings == ["b", "Compact form"]
    listed = Seen(html_of(known["sessions/index.md"], known))
    assert listed.headings == ["Sessions", "shop"]
    assert listed.cells[3:6] == ["2026-05-03T10:10:10", "index", "修复重复扣款"]


def test_a_session_page_shows_all_forms_and_no_endless_one() -> None:
    archive = SessionForms(Archived("a"), {"compact": "short", "expanded": "long " * 30_000, "dcp-report": "told"})
    page = next(
        page
        for page in pages_of(build_wiki([], WikiSources(sessions=[archive]), Config()))
        if page.uri == "sessions/a.md"
    )
    assert [part for part in page.parts if part.startswith("##")] == [
        "## Compact form",
        "## Expanded form",
        "## Report",
    ]
    assert "The rest is in the archive." in page.parts and len(page.text) < 110_000


def test_the_navigation_has_six_entries() -> None:
    known = made(record("D001"), record("C001", scope="project/shop"))
    assert len(NAVIGATION) == 6 and all(known[uri].name for uri in NAVIGATION)
    assert {"governs/index.md", *NAVIGATION} == {page.uri for page in known.values() if page.listing}


def test_a_long_list_is_cut_into_pages_and_still_has_everything() -> None:
    known = made(*(record(f"D{n:03}", tags=("all", "few") if n < 4 else ("all",)) for n in range(1, 251)))
    sheets = ["records.md", "records/page-2.md", "records/page-3.md"]
    assert [known[uri].text.count('class="kb-row"') for uri in sheets] == [100, 100, 50]
    assert known["records.md"].text.index("D250") < known["records.md"].text.index("D249")
    assert "records/page-2.md" in Seen(html_of(known["records.md"], known)).hrefs


# -- a record at a glance -------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_code_in_a_title_is_code_everywhere(language: str) -> None:
    known = made(
        record("D001", "No `export default`", status="superseded", date="2026-01-01"),
        record("D002", "Use `<b>`", status="accepted", supersedes=("D001",), decision="See [[No `export default`]]."),
        language=language,
    )
    for uri in ("index.md", "records.md", "anchors/global/D001.md", "anchors/global/D002.md"):
        shown = html_of(known[uri], known)
        assert "<code>export default</code>" in shown and "<code>&lt;b&gt;</code>" in shown
        assert "`" not in Seen(re.sub(r"(?s)<pre.*?</pre>", "", shown)).text  # what is copied keeps its marks
    assert Seen(html_of(known["anchors/global/D001.md"], known)).headings[0] == "D001 No export default"


def test_a_record_leads_to_those_before_and_after_it_and_names_its_neighbours() -> None:
    known = made(
        *(record(f"D{n:03}", f"number {n}", tags=("rare",) if n in (2, 9) else ()) for n in range(1, 10)),
        record("C001", "of another kind"),
        record("D001", "elsewhere", scope="project/shop"),
    )
    first, second, last = (known[f"anchors/global/D00{n}.md"].text for n in (1, 2, 9))
    assert 'href="kb:anchors/global/D001.md" rel="prev"' in second
    assert 'href="kb:anchors/global/D003.md" rel="next"' in second
    assert 'rel="prev"' not in first and 'rel="next"' not in last
    near = second[second.index('class="kb-near"') :]
    assert [f"number {n}" in near for n in (1, 2, 3, 5, 6, 8, 9)] == [True, True, True, True, False, False, True]
    assert "#rare" in near and "of another kind" not in near and "elsewhere" not in near


def test_the_head_tells_who_accepted_a_record_and_when() -> None:
    def version(day: str, author: str, before: str, after: str) -> RecordVersion:
        texts = [f"---\nstatus: {status}\n---\n" if status else "" for status in (before, after)]
        return RecordVersion("c", f"{day}T10:00:00Z", author, "", "s", *texts)

    versions = (
        version("2026-05-04", "Cy", "accepted", "accepted"),
        version("2026-05-03", "Bo", "proposed", "accepted"),
        version("2026-05-01", "Ann", "", ""),
    )
    one = record("D001", status="accepted", date="2026-05-01", path="p.md")
    assert "since 2026-05-03" in (
        head := head_of(made(one, timeline=Timeline({"p.md": versions}))["anchors/global/D001.md"])
    )
    assert "by Bo" in head
    always = made(one, timeline=Timeline({"p.md": versions[2:]}))["anchors/global/D001.md"]
    assert "since 2026-05-01" in head_of(always) and "by Ann" in head_of(always)


def test_numbers_by_which_imported_records_speak_of_one_another_are_links() -> None:
    known = made(
        record("D010", "ten", extra={"adr": "0277"}, scope="project/p"),
        record("D011", "eleven", extra={"adr": "16"}, scope="project/p"),
        record("D012", "twelve", extra={"adr": "23"}, scope="project/p"),
        record("D013", scope="project/p", decision="As ADR 0277 and ADRs 0016–0023 say, not `ADR-0277`, ADR 99, "
               "https://x.example/ADR-16 or [ADR 16](https://y.example)."),
        record("D001", decision="ADR 0277"),
    )  # fmt: skip
    body = html_of(known["anchors/projects/p/D013.md"], known)
    text = body[body.index('<div class="kb-text">') : body.index("</p>", body.index('<div class="kb-text">'))]
    assert [text.count(f'href="D01{n}.md"') for n in (0, 1, 2)] == [1, 1, 1]
    assert (
        ">ADR 0277</a>" in text and ">ADRs 0016</a>–<a" in text and "<code>ADR-0277</code>" in text and "ADR 99" in text
    )
    library = known.wiki.library
    cited = {library.records[n].id for n in library.cited_by if library.cited_by[n]}
    assert cited == {"D010", "D011", "D012"}
    assert "Cites 3" in " ".join(box_of(known["anchors/projects/p/D013.md"], known).split()).replace(
        "Cites3", "Cites 3"
    )
    assert 'href="' not in Seen(known["anchors/global/D001.md"].parts[-4]).text


def test_a_text_is_said_without_its_marks() -> None:
    said = "# H\n- **a** [b](c.md) `x_y` *em* a_b_c [[D001|d]]\n1. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n> q\n"
    assert strip_markup(said + "```py\ncode\n```") == "H a b x_y em a_b_c d two a · b 1 · 2 q code"
    assert strip_markup("- `a`\n- b", lines=True) == "• a\n• b"
    assert strip_markup("- `a`", code=True) == "`a`"
    assert strip_markup("2 * 3 * 4 and snake_case __init__ 五*六") == "2 * 3 * 4 and snake_case init 五*六"


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
        "time",
        "details",
        "summary",
        "meter",
        "button",
        "ins",
        "del",
        "nav",
        "aside",
        "section",
        "dl",
        "dt",
        "dd",
        "label",
        "kbd",
    }
)
ATTRIBUTES = {"href", "id", "class", "title", "start", "style", "data-kb-list", "data-commit"}
ATTRIBUTES |= {"role", "aria-current", "aria-label", "value", "max", "tabindex", "type", "hidden", "data-kb"}
ATTRIBUTES |= {"rel", "reversed", "for", "aria-hidden", "open"}
DRAWN = {"svg", "line", "path", "circle", "rect", "text", "title"}
"""The drawing on the first page has these, and no other page has any."""
DRAWING = {"viewbox", "x1", "x2", "y1", "y2", "x", "y", "cx", "cy", "r", "d", "text-anchor", "width", "height"}


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


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_can_act_or_swallow_what_follows(title: str, body: str, tag: str) -> None:
    bad = Record(
        "D001", "decision", title, tags=(tag,), impact=(body,), sources=(tag,), date=tag, user=body + "x",
        sections=(Section("", title, body), Section("why", "Why", body)), path=title,
    )  # fmt: skip
    known = made(bad, record("D002", decision="[D001]"), sessions=(Archived("s", tag, tag, title),), compact=body)
    for page in known.values():
        seen = Seen(html_of(page, known))
        is_first = page.uri == "index.md"
        assert seen.tags <= TAGS | (DRAWN if is_first else set())
        assert seen.attributes <= ATTRIBUTES | (DRAWING if is_first else set())
        assert all(re.match(r"(?i)https?://|mailto:|#|[^:]+$", href) for href in seen.hrefs)
    own = Seen(html_of(known["anchors/global/D001.md"], known))
    assert "Cited by" in own.headings
    assert "Notes by people" in own.headings and "Why" in own.headings


PAYLOADS = """\
<script src=//evil.example/x.js></script>
<ScRiPt>alert(1)</sCrIpT>
<img src="https://evil.example/pixel.gif">
<img/src/onerror=alert(1)>
<svg onload=alert(1)>
<svg><animate onbegin=alert(1) attributeName=x></svg>
<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>
<iframe srcdoc="<script>alert(1)</script>"></iframe>
<object data="data:text/html;base64,PHNjcmlwdD4="></object>
<a href="javascript:alert(1)">x</a>
<a href=" &#106;avascript:alert(1)">x</a>
<body onload=alert(1)>
<meta http-equiv="refresh" content="0;url=https://evil.example">
<link rel=stylesheet href=https://evil.example/x.css>
<style>@import "https://evil.example/x.css";</style>
<base href="https://evil.example/">
<form action=https://evil.example><input name=q autofocus onfocus=alert(1)>
<!--><img src=x onerror=alert(1)>-->
</script><script>alert(1)</script>
</textarea></title><script>alert(1)</script>
![pixel](https://evil.example/pixel.gif)
![pixel][p]  [p]: https://evil.example/pixel.gif
[x](javascript:alert(1))
[x](JaVaScRiPt:alert(1))
[x](&#x6A;avascript:alert(1))
[x](<java\tscript:alert(1)>)
[x](data:text/html,<script>alert(1)</script>)
[x](vbscript:msgbox(1))
[x](https://a.example "onmouseover=alert(1) ")
[x](https://a.example/"onmouseover="alert(1))
<https://a.example/"onclick=alert(1)>
<javascript:alert(1)>
`<script>alert(1)</script>`
```html" onload="alert(1)
[D001"onclick=alert(1)]
[[D001|<img src=x onerror=alert(1)>]]
[[D001" onclick="alert(1)]]
href="kb:javascript:alert(1)"
{{ config.__class__ }}{% include 'x' %}
"""


@pytest.mark.parametrize("payload", PAYLOADS.splitlines())
def test_no_known_attack_survives_anywhere(payload: str) -> None:
    bad = Record(
        "D002", "decision", payload, tags=(payload,), impact=(payload,), sources=(payload,), claims={payload: payload},
        supersedes=(payload,), coexists_with={payload: payload}, user=payload, date=payload, path="p.md",
        uid="U2", confirmed=payload, extra={"aliases": [payload]}, sections=(Section("", payload, payload),),
    )  # fmt: skip
    version = RecordVersion(payload, payload, payload, payload, payload, f"{payload}\nold", f"{payload}\nnew")
    known = made(record("D001", decision="[D002]"), bad, timeline=Timeline({"p.md": (version,)}), today=TODAY)
    for page in known.values():
        seen = Seen(html_of(page, known))
        is_first = page.uri == "index.md"
        assert seen.tags <= TAGS | (DRAWN if is_first else set())
        assert seen.attributes <= ATTRIBUTES | (DRAWING if is_first else set())
        assert all(re.match(r"(?i)https?://|mailto:|#|[^:]+$", href) for href in seen.hrefs)
    for places in map_permalinks(known.wiki).values():
        led = Seen(render_redirect(known.wiki, "x/index.html", places, lambda n: "y.html"))
        assert not led.tags & {"script", "img", "svg", "iframe", "style"} and set(led.hrefs) <= {"y.html", "data:,"}
    for piece in iter_chunks(PageFingerprints(known.wiki), lambda uri: uri.replace(".md", ".html")):
        held = re.fullmatch(r'kbData\("([a-z0-9-]+)",(.*)\);\n', piece.make())
        assert held and piece.path == f"data/{held[1]}.js" and isinstance(json.loads(held[2]), dict | list)


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
    seen = Seen(render_page([text], lambda href: "", str).html)
    assert (seen.hrefs, seen.nowhere) == (hrefs, nowhere)
    assert "img" not in seen.tags


def test_code_is_coloured_or_left_as_it_is() -> None:
    page = render_page(["```python\nif 1 < 2: pass\n```\n\n```nonsense\na < b\n```\n"], lambda href: "", str).html
    assert '<span class="k">if</span>' in page
    assert "a &lt; b" in page


# -- the map --------------------------------------------------------------------------------------


def test_the_map_has_every_record_and_relation() -> None:
    known = made(
        record("D001", ATTACK, impact=("src/a.py",), scope="project/shop"),
        record("D002", supersedes=("D001",), decision="[D001]", impact=("src/a.py",), scope="project/shop"),
        record("C001", amends=("D002",), impact=("src/a.py",), scope="project/lend"),
        record("C002", amends=("D404",)),
    )
    ids = {record.id: place for place, record in enumerate(known.wiki.library.records)}
    one, two = ids["D001"], ids["D002"]
    assert set(known.wiki.library.iter_edges()) == {(two, one, "supersedes"), (two, one, "cites"), (one, two, "path")}
    data = render_graph_data(known.wiki, lambda uri: uri.replace(".md", ".html"))
    told = json.loads(data.removeprefix("window.kbGraph=").removesuffix(";\n"))
    assert told["nodes"][one][1] == ATTACK
    assert told["nodes"][one][-1] == "anchors/projects/shop/D001.html"
    assert "supersedes: 1" in Seen(html_of(known["graph.md"], known)).text


def test_a_file_that_everything_speaks_of_joins_nothing() -> None:
    known = made(*(record(f"D{n:03}", impact=("README.md",)) for n in range(1, 20)))
    assert not list(known.wiki.library.iter_edges())


# -- what other teams decided ---------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "is_open"), [(1, True), (10, True), (11, False)])
def test_few_findings_stand_open(number: int, is_open: bool) -> None:
    findings = [Finding("stale", "warning", f"D{n:03}.md", 1, msg("x"), msg("y")) for n in range(number)]
    assert ('id="stale" open=' in made(findings=findings)["health.md"].text) is is_open


def foreign(name: str, title: str, **more: str) -> dict[str, str]:
    return {"repository": name.partition(":")[0], "name": name, "title": title, "scope": "global", "wiki": "", **more}


@pytest.mark.parametrize(
    ("language", "heading", "label", "newer"),
    [
        ("en", "Across bases", "Another team decided otherwise", "Another team's record supersedes it: "),
        ("zh", "跨知识库", "另一个团队的决定不同", "另一个团队的记录取代了它："),
    ],
)
def test_health_shows_what_other_teams_decided(language: str, heading: str, label: str, newer: str) -> None:
    """With a link into their wiki; what a title says is text, and a record that the wiki leaves out stays out."""
    mine, secret = foreign("pay:D001", "Keep it 90 days", id="D001"), foreign("pay:D009", "Salaries", id="D009")
    theirs = foreign("web:D004", "<b>30</b> days\u202e", wiki="https://web.example/wiki/r/01AB/")
    across = {
        "repository": "pay",
        "contradictions": [{"one": mine, "other": theirs, "reason": "90 <i>against</i> 30", "score": 0}],
        "duplicates": [
            {"one": foreign("ops:D002", "Same", wiki="javascript:alert(1)"), "other": mine, "reason": "", "score": 1},
            {"one": secret, "other": theirs, "reason": "", "score": 1},
        ],
        "links": [{"record": foreign("ops:D003", "Newer"), "relation": "supersedes", "target": "", "found": mine}],
    }
    wiki = made(record("D001", "Keep it 90 days", status="accepted"), language=language, across=across)
    seen = Seen(html_of(wiki["health.md"], wiki))
    assert heading in seen.headings and label in seen.text
    assert "https://web.example/wiki/r/01AB/" in seen.hrefs and not [url for url in seen.hrefs if "script" in url]
    assert "web:D004 <b>30</b> days" in seen.text and "\u202e" not in seen.text and "90 <i>against</i> 30" in seen.text
    assert "ops:D002 Same" in seen.text and f"{newer}ops:D003 Newer" in seen.text and "Salaries" not in seen.text
    without = made(record("D001", "Keep it 90 days"), language=language)
    assert heading not in Seen(html_of(without["health.md"], without)).headings
