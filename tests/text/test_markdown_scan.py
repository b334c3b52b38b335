"""Tests of kb.text.markdown_scan: what the lines of a text are, and which are code."""

import re
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from markdown_it import MarkdownIt

from kb.errors import BadRecord
from kb.records.blocks import escape_section, find_blocks
from kb.records.citations import find_citations
from kb.records.record_file import MACHINE_END
from kb.text.markdown_scan import find_code_lines, find_fenced_code, find_headings, scan_markdown
from kb.text.segment import normalise_newlines, split_lines
from tests.support.nasty import texts


def by_tokens(text: str) -> set[int]:
    """Return the lines in fences as the reference parser sees them, block markers being headings."""
    text = re.sub(r"(?m)^( {0,3})<!-- (?:MACHINE|USER)_BLOCK_\w+ -->[ \t]*$", r"\1# x", normalise_newlines(text))
    tokens = MarkdownIt("commonmark").disable("html_block").parse(text)
    return {n for token in tokens if token.type == "fence" and token.map for n in range(*token.map)}


@given(texts(max_size=14))
@example("```\n`` `\n~~~\n```\n~~~")
@example("- a\n\n  ```\n  x\n\ny\n```")
def test_fences_are_those_of_commonmark(text: str) -> None:
    assume("\0" not in text)
    shown = {number for number, row in enumerate(split_lines(text)) if row.strip()}
    assert find_code_lines(text) & shown == by_tokens(text) & shown


@given(texts(max_size=14))
@example("  ```\n  ")
def test_an_open_fence_is_closed_by_its_marks(text: str) -> None:
    text = text if text.endswith(("\n", "\r")) else text + "\n"
    open_fence = find_fenced_code(text).left_open
    probe = f"{text}\n{MACHINE_END}"
    swallowed = len(split_lines(probe)) - 1 in find_code_lines(probe)
    assert swallowed == (open_fence is not None)
    if open_fence:
        assert open_fence.marks in split_lines(text)[open_fence.line]
        assert find_fenced_code(text + open_fence.marks + "\n").left_open is None


def test_a_fence_at_the_edge_needs_no_parser() -> None:
    load = "import sys; from kb.text.markdown_scan import find_code_lines"
    check = (
        "assert find_code_lines('a\\n```\\nb\\n```\\n## c\\n') == {1, 2, 3}; assert 'markdown_it' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", f"{load}; {check}"], check=True)


@pytest.mark.parametrize("text", ["- ```\n" * 20_000, "> " * 30 + "```\n", "- " * 30 + "```\nx\n"])
def test_what_is_too_tangled_to_tell_is_refused(text: str) -> None:
    for act in (find_code_lines, escape_section, find_headings, lambda text: find_blocks(text, "a.md")):
        with pytest.raises(BadRecord, match=r"too deep|longer than"):
            act(text)
    assert list(find_citations(f"{text}\n\n[D001]")) == [("", "D001", text.count("\n") + 3)]


def test_each_line_is_of_one_kind() -> None:
    text = (
        "# 标题\n\nText with 3. in it\n  - one\n12) two\n3、三\n> said\n| a | b |\n```\n# no heading\n```\n#no\n-no\n"
    )
    assert [(line.kind, line.body) for line in scan_markdown(text)] == [
        ("heading", "标题"),
        ("blank", ""),
        ("text", "Text with 3. in it"),
        ("item", "one"),
        ("item", "two"),
        ("item", "三"),
        ("quote", "said"),
        ("table", "| a | b |"),
        ("fence", "```"),
        ("code", "# no heading"),
        ("code", "```"),
        ("text", "#no"),
        ("text", "-no"),
    ]


@given(texts(max_size=14))
def test_the_lines_of_a_scan_are_slices_of_the_text(text: str) -> None:
    lines = list(scan_markdown(text))
    assert [line.text for line in lines] == [row.rstrip("\r\n") for row in split_lines(text)]
    assert all(text.startswith(line.text, line.start) for line in lines)
    assert {number for number, line in enumerate(lines) if line.kind in ("fence", "code")} == set(find_code_lines(text))


@pytest.mark.parametrize("written", ["## 二 ##", "## 二", "##  二  ###", "### 二 #"])
def test_a_heading_is_named_alike_wherever_it_is_read(written: str) -> None:
    level = len(written) - len(written.lstrip("#"))
    assert [line.body for line in scan_markdown(written)] == ["二"]
    assert [heading.title for heading in find_headings(written, level)] == ["二"]
