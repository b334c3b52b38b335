"""The comment for a pull request: text of strangers stays text, and the whole fits."""

import html
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kb.checks.check_context import Finding
from kb.checks.record_diff import Comparison, PartChange, RecordChange, diff_texts
from kb.cli import comment
from kb.cli.comment import MARKDOWN, PLAIN, PageItem, escape_markdown, fit_parts, format_code
from kb.cli.comment import PagePart as Block
from kb.i18n import msg
from kb.records.model import SimilarRecord
from kb.text.segment import one_line
from tests.checks.test_check_merge import record

MARKUP = MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"])
TAKEN = re.compile(r"@\w|#\d|[!$%~^&]\w|\bGH-\d|\bwww\.|://", re.IGNORECASE)
"""What GitHub or GitLab make something of in a text that is rendered already."""
EVIL = [
    "@alice and @acme/team, see #42, acme/shop#7, GH-12, !3, ~bug, %2, $5, &9",
    "https://evil.example/x www.evil.example mailto:a@b.example",
    "<img src=x onerror=alert(1)> <!-- kb-check --> &lt;b&gt; </details>",
    "[click](http://evil.example) ![x](http://evil.example/x.png) [x]: y <http://evil.example>",
    "**bold** _it_ ~~gone~~ `code` ``co`de`` \\*kept\\* $x^2$ {+ new +}",
    "# title\n\n- item\n1. item\n> quote\n```\nfence\n```\n| a | b |\n| - | - |",
    "tail backslash \\",
    "零宽\u200b 与 \u202e 反向 @张三 见 #12",
    "",
]
CHARACTERS = st.text(st.sampled_from("ab1 @#!$%&~^*_`[](){}<>\\|/:.-+=\"'中。\n\t"), max_size=60)


def rendered(markdown: str) -> tuple[str, set[str]]:
    """Return the text a reader sees and the tags of the page."""
    page = MARKUP.render(markdown)
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    return text, set(re.findall(r"<(\w+)", page))


@given(CHARACTERS | st.sampled_from(EVIL))
def test_text_shows_as_it_is_and_does_nothing(text: str) -> None:
    seen, tags = rendered(f"- {escape_markdown(text)}")
    assert tags <= {"ul", "li"}
    assert one_line(seen) == one_line(text)
    assert not TAKEN.search(seen)


@given(CHARACTERS | st.sampled_from(EVIL))
def test_code_shows_as_it_is(text: str) -> None:
    seen, tags = rendered(f"- x {format_code(text)}")
    assert tags <= {"ul", "li", "code"}
    assert seen.split() == one_line(f"x {text}").split()


def test_no_formula_begins() -> None:
    assert "$" not in escape_markdown("$x^2$ and $5")
    assert rendered(escape_markdown("$x^2$"))[0].replace("\u200b", "").strip() == "$x^2$"


def test_without_markup_nothing_is_escaped() -> None:
    assert [PLAIN.text(text) for text in EVIL] == [one_line(text) for text in EVIL]


@pytest.mark.parametrize("evil", EVIL[:6])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_hostile_record_stays_a_record(evil: str, language: str) -> None:
    new = record("D001", f"Title {evil}", kind=f"kind {evil}", scope=f"project/{evil}", supersedes=(evil,),
                 coexists_with={evil: evil}, texts={"why": f"because {evil}"}, path=f"content/{evil}.md")  # fmt: skip
    parts = (PartChange(f"## {evil}", evil, evil, True), PartChange("tags", "", ""))
    finding = Finding("x", "error", f"content/{evil}.md", 3, msg("{x}", x=evil), msg("{x}", x=evil))
    changes = (
        RecordChange("new", new),
        RecordChange("changed", new, new, parts, elsewhere=(evil,)),
        RecordChange("removed", new, new),
    )
    said = (msg("{x} holds", x=evil),)
    page = comment.render_comparison(
        Comparison(f"origin/{evil}", "0" * 40, changes, said, (finding,) * 2, {}), evil, language, MARKDOWN
    )
    prose = re.sub(r"(?s)<code>.*?</code>", "", MARKUP.render(page))
    assert page.startswith(comment.MARK + "\n") and prose.count("<!--") == 1
    assert set(re.findall(r"<(\w+)", prose)) <= {"ul", "li", "strong", "p", "h3"}
    assert not TAKEN.search(html.unescape(re.sub(r"<[^>]*>", "", prose)))


def comparison(counts: dict[str, int], warnings: int = 0, **more: Any) -> Comparison:
    """Return a comparison with so many changes of each step."""
    long = "Sessions live in Redis, with a time to live of 14 days. " * 3
    changes = tuple(
        RecordChange(step, record(f"D{number:04}", f"Number {number} of {step}", texts={"why": long, "decision": long}))
        for step, count in counts.items()
        for number in range(count)
    )
    findings = tuple(
        Finding("x", "warning", f"content/D{number}.md", 1, msg("wrong {n}", n=number), msg("mend it"))
        for number in range(warnings)
    )
    values = {"revision": "origin/main", "base": "1" * 40, "meaning": (), "elsewhere": {}, **more}
    return Comparison(changes=changes, findings=findings, **values)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("counts", [{"new": 3000}, {"new": 900, "changed": 2, "superseded": 900, "removed": 1}])
def test_a_large_request_fits_and_says_what_is_left_out(counts: dict[str, int], language: str) -> None:
    page = comment.render_comparison(comparison(counts, warnings=500), "shop", language, MARKDOWN)
    assert 50_000 < len(page) <= 60_000
    more = [int(n) for n in re.findall(r"(?:and|另有) (\d+)(?: more| 项，见)", page)]
    shown = len(re.findall(r"^- \*\*", page, re.MULTILINE)) + len(re.findall(r"^- ⚠️", page, re.MULTILINE))
    assert sum(more) + shown == sum(counts.values()) + 500
    for step in counts:
        assert f"Number 0 of {step}" in page, "every part has its share"
    assert "kb check --against origin/main" in page and page.rstrip().endswith("1111111111")


def test_a_request_of_twenty_records_is_told_in_full() -> None:
    page = comment.render_comparison(comparison({"new": 12, "changed": 5, "superseded": 3}), "shop", "en", MARKDOWN)
    assert page.count("  - Why: ") == 12 and "more:" not in page


def test_many_warnings_are_folded_away_on_the_page_only() -> None:
    few, many = comparison({"new": 1}, warnings=5), comparison({"new": 1}, warnings=6)
    assert "<details>" not in comment.render_comparison(few, "shop", "en", MARKDOWN)
    page = comment.render_comparison(many, "shop", "en", MARKDOWN)
    assert "<details><summary>Warnings (6)</summary>\n\n- " in page and "\n\n</details>\n" in page
    assert "<details>" not in comment.render_comparison(many, "shop", "en", PLAIN)


def test_one_thing_on_several_lines_is_said_once() -> None:
    twice = [Finding("x", "error", "content/D001-x.md", line, msg("wrong"), msg("mend it")) for line in (3, 9, 9)]
    page = comment.render_findings(twice, "shop", "en")
    assert page.count("wrong") == 1 and "`content/D001-x.md:3, 9`" in page and "To resolve before the merge: 1" in page


def test_a_finding_names_its_record_with_its_project() -> None:
    place = "content/anchors/projects/shop/D001-x.md"
    page = comment.render_findings([Finding("x", "error", place, 3, msg("wrong"), msg("mend it"))], "shop", "en")
    assert "**shop:D001** — wrong" in page


# -- room -----------------------------------------------------------------------------------------


@given(sizes=st.lists(st.lists(st.integers(1, 400), max_size=12), max_size=5), room=st.integers(800, 3000))
def test_what_is_fitted_fits_and_counts_what_is_missing(sizes: list[list[int]], room: int) -> None:
    parts = [
        Block(f"part {n}", [PageItem("f" * (size + 20), "b" * min(size, 20)) for size in items])
        for n, items in enumerate(sizes)
    ]
    text = fit_parts(parts, room, lambda count: f"and {count} more")
    assert len(text) <= room
    shown = len(re.findall(r"^(?:f+|b+)$", text, re.MULTILINE))
    missing = sum(int(n) for n in re.findall(r"and (\d+) more", text))
    assert shown + missing == sum(map(len, sizes))
    if sum(len("\npart 0\n\n") + sum(size + 21 for size in items) for items in sizes if items) <= room:
        assert "b" not in text and not missing


# -- before and after -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("One. Two. Three.", "One. Four. Three.", ("Two.", "Four.")),
        ("一。二。三。", "一。四。三。", ("二。", "四。")),
        ("- a\n- b", "- a\n- b\n- c", ("", "- c")),
        ("a\nb", "b\na", ("", "")),
        ("", "new", ("", "new")),
    ],
)
def test_only_what_differs_is_shown(before: str, after: str, expected: tuple[str, str]) -> None:
    assert diff_texts(before, after) == expected


def test_a_short_form_takes_the_paths_of_the_front_and_what_is_like_it() -> None:
    new = record("D001", "Sign every webhook", impact=("src/a.py", "src/b.py"), texts={"impact": ""})
    alike = (SimilarRecord("D002", "global", "Sign webhooks", 0.61), SimilarRecord("D003", "global", "A cache", 0.12))
    page = comment.render_comparison(
        comparison({})._replace(changes=(RecordChange("new", new, similar=alike),)), "", "en", PLAIN
    )
    assert "  - Impact: src/a.py, src/b.py\n" in page
    assert "  - similar existing records: [D002] Sign webhooks (0.61)\n" in page, "what is hardly like it is left out"


def test_another_order_is_named() -> None:
    change = RecordChange("changed", record(), record(), (PartChange("why", "", "", True),))
    page = comment.render_comparison(comparison({})._replace(changes=(change,)), "shop", "en", MARKDOWN)
    assert "  - Why: in another order" in page
