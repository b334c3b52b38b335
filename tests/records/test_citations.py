"""Tests of kb.records.citations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.records.citations import find_citations, find_reference_at, rewrite_links
from kb.text.segment import split_lines
from tests.support.nasty import texts
from tests.support.timing import within


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("see [D001].", ["D001"]),
        ("见[D001]和[约束](x)。", ["D001"]),
        ("参见【[D001]】，以及[C002]、[DN001]；[CK001]！", ["D001", "C002", "DN001", "CK001"]),
        (
            "[shop:D001] [商店:P002] [a-b.c:D1000] [global:M003]",
            ["shop:D001", "商店:P002", "a-b.c:D1000", "global:M003"],
        ),
        ("[D1000] [I12345]", ["D1000", "I12345"]),
        ("[D001]: it holds", ["D001"]),
        ("As of [D001]: use it.", ["D001"]),
        ("[D001][D002]", ["D001", "D002"]),
        ("([D001], [D002])", ["D001", "D002"]),
        ("**[D001]** _[D002]_ ~[D003]~", ["D001", "D002", "D003"]),
        ("| [D001] | [D002] |", ["D001", "D002"]),
        ("> [D001]\n> - [D002]", ["D001", "D002"]),
        ("- [ ] [D001]", ["D001"]),
        ("[D001]（见下）", ["D001"]),
        ("arr[D001] x_[D001]", []),
        ("[D1] [D12] [d001] [RFC2119] [X509] [H264] [AB123]", []),
        ("[D001](x.md) [see][D001] [D001][] [D001][x] ![D001]", []),
        ("[D001]: x.md\n  [D002]: <a b> 'title'\n[D003]: x.md", []),
        (r"\[D001] \\[D002] \\\[D003]", ["D002"]),
        ("`[D001]` ``a ` [D002]`` [D003]", ["D003"]),
        ("`open [D001]", ["D001"]),
        ("`a\n[D001]` [D002]", ["D002"]),
        ("`a\n\n[D001]`", ["D001"]),
        ("- `a\n- [D001]`", ["D001"]),
        (r"`a\` [D001] `b`", ["D001"]),
        (r"\`[D001]`", ["D001"]),
        ("```\n[D001]\n```\n[D002]", ["D002"]),
        ("~~~\n[D001]", []),
        ("- a\n  ```\n  [D001]\n  ```\n  [D002]", ["D002"]),
        ("text\n\n    [D001]\n\n[D002]", ["D002"]),
        ("- a\n\n    [D001]", ["D001"]),
        ("- a\n    - [D001]", ["D001"]),
        ("# [D001] 标题 [D002]\n## [shop:D003] x", ["D002", "shop:D003"]),
        ("---\nid: D001\nnote: '[D001]'\n---\n[D002]", ["D002"]),
        ("[D001]\r\n[D002]\r[D003]", ["D001", "D002", "D003"]),
        ("[D001", []),
        ("", []),
    ],
)
def test_what_is_a_citation(text: str, cited: list[str]) -> None:
    assert [f"{project}:{id_}" if project else id_ for project, id_, _ in find_citations(text)] == cited


def test_citations_tell_their_line() -> None:
    text = "---\r\nid: D001\r\n---\r\n[D001]\r\n\r\n```\r\n[D002]\r\n```\r\nx\r\n`a\r\nb` [P003]\r\n"
    assert list(find_citations(text)) == [("", "D001", 4), ("", "P003", 11)]


@given(texts())
def test_citations_stand_where_they_say(text: str) -> None:
    rows = split_lines(text)
    marked = "".join(f"[D{n:03}] {row}" if n % 2 else row for n, row in enumerate(rows))
    for _, id_, line in find_citations(marked):
        assert f"[{id_}]" in split_lines(marked)[line - 1]


@pytest.mark.parametrize(
    "piece", ["`", "`a``b", "[D001]", "[", "[a", "\\", "\\`", "!", "[D001]: ", "[D001](", "|", "[a.b:", "- [D001]\n"]
)
def test_citations_in_a_tangle_end_soon(piece: str) -> None:
    with within(2):
        sum(1 for _ in find_citations("[D001] " + piece * (200_000 // len(piece))))
        sum(1 for _ in find_citations("[D001] " + " ".join("`" * n for n in range(600))))


# -- links to files -------------------------------------------------------------------------------

FILES = {
    "a.md": "D1-a.md", "../b/a.md": "D1-a.md", "a b.md": "D2-a-b.md", "使用 队列.md": "D3-使用-队列.md",
    "f(x).md": "D4-f-x.md", "a(": "D8.md", "图 1.png": "../../图 (1).png", "x": "D5-x.md", "a#b.md": "D6-a-b.md",
    "f(x.md": "D7.md",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("see [A](a.md).", "see [A](D1-a.md)."),
        ("见[甲](使用%20队列.md)。", "见[甲](D3-%E4%BD%BF%E7%94%A8-%E9%98%9F%E5%88%97.md)。"),
        ("见[甲](<使用 队列.md>)。", "见[甲](<D3-使用-队列.md>)。"),
        ("[A](a%20b.md) [B](<a b.md>)", "[A](D2-a-b.md) [B](<D2-a-b.md>)"),
        ("[A](a.md#why) [B](a.md?raw=1#理由)", "[A](D1-a.md#why) [B](D1-a.md?raw=1#理由)"),
        ("[A](../b/a.md '标题 (1)') [B]( a.md )", "[A](D1-a.md '标题 (1)') [B]( D1-a.md )"),
        ('[A](a.md "a \\" b") [B](a.md (b))', '[A](D1-a.md "a \\" b") [B](D1-a.md (b))'),
        ("[A](\na.md\n'title')", "[A](\nD1-a.md\n'title')"),
        (r"[A](f(x).md) [B](f\(x\).md)", "[A](D4-f-x.md) [B](D4-f-x.md)"),
        (r"[A](f\(x.md) [B](a.md#(((x)))) [C](a(#b).md)", r"[A](D7.md) [B](D1-a.md#(((x)))) [C](a(#b).md)"),
        ("![图](<图 1.png>) ![图](图%201.png)", "![图](<../../图 %281%29.png>) ![图](../../%E5%9B%BE%20%281%29.png)"),
        ("[![A](a.md)](x)", "[![A](D1-a.md)](D5-x.md)"),
        ("[A](a%23b.md#c)", "[A](D6-a-b.md#c)"),
        ("[a]: a.md\n  [b]: <a b.md> 'title'\n", "[a]: D1-a.md\n  [b]: <D2-a-b.md> 'title'\n"),
        ("[c]:\n   a.md\n\n> [a]: a.md\n> [A](a.md)", "[c]:\n   D1-a.md\n\n> [a]: D1-a.md\n> [A](D1-a.md)"),
        ("- [A](a.md)\n\n  [A](a.md)", "- [A](D1-a.md)\n\n  [A](D1-a.md)"),
        ("| [A](a.md) | [A](a.md) |\r\n# [A](a.md)", "| [A](D1-a.md) | [A](D1-a.md) |\r\n# [A](D1-a.md)"),
        ("- a\n    - [A](a.md)", "- a\n    - [A](D1-a.md)"),
        ("<!-- [A](a.md) -->", "<!-- [A](D1-a.md) -->"),
        ("`[A](a.md)` ``[A](a.md) ` `` [A](a.md)", "`[A](a.md)` ``[A](a.md) ` `` [A](D1-a.md)"),
        ("`[A](a.md)\n[A](a.md)` [A`](a.md)`", "`[A](a.md)\n[A](a.md)` [A`](a.md)`"),
        ("```\n[A](a.md)\n[a]: a.md\n```\n[A](a.md)", "```\n[A](a.md)\n[a]: a.md\n```\n[A](D1-a.md)"),
        ("- a\n  ~~~\n  [A](a.md)\n  ~~~\n  [A](a.md)", "- a\n  ~~~\n  [A](a.md)\n  ~~~\n  [A](D1-a.md)"),
        ("text\n\n    [A](a.md)\n\n[A](a.md)", "text\n\n    [A](a.md)\n\n[A](D1-a.md)"),
        (r"\[A](a.md) A](a.md)", r"\[A](a.md) A](a.md)"),
        (r"[A\](a.md) \\[A](a.md)", r"[A\](a.md) \\[A](D1-a.md)"),
        ("[A](a.md and more) [A](a.md [A](b.md) [^1]: a.md", "[A](a.md and more) [A](a.md [A](b.md) [^1]: a.md"),
        ("[a]: a.md[a](a.md)", "[a]: a.md[a](a.md)"),
        ("[^1]: a.md\n[a]: a.md and more", "[^1]: a.md\n[a]: a.md and more"),
        ("[A](https://a.md) [A](/a.md) [A](mailto:a.md)", "[A](https://a.md) [A](/a.md) [A](mailto:a.md)"),
        ("[A](#a.md) [A](?a.md) [A]()", "[A](#a.md) [A](?a.md) [A]()"),
        ("[A](unknown.md) [A][a.md] [[a.md]] a.md <a.md>", "[A](unknown.md) [A][a.md] [[a.md]] a.md <a.md>"),
        ("", ""),
    ],
)  # fmt: skip
def test_links_to_files_are_redirected_and_nothing_else_changes(text: str, now: str) -> None:
    assert rewrite_links(text, lambda path: FILES.get(path, "")) == now


LINKS = [
    "[a](b.md)",
    "![a](<b c.md>)",
    "[a]: b.md",
    "[a]: <b\\>c> (d)",
    "`[a](b)",
    "[a][b](c%20d#e)",
    "](b)",
    "[",
    "\\[",
]


@given(st.lists(st.one_of(st.sampled_from(LINKS), texts(max_size=2)), max_size=8).map("".join))
def test_redirected_links_are_the_same_links(text: str) -> None:
    assert rewrite_links(text, lambda _: "") == text
    seen: list[str] = []
    there = rewrite_links(text, lambda path: seen.append(path) or f"[{len(seen)}]（ (%).md")
    again: list[str] = []
    assert rewrite_links(there, lambda path: again.append(path) or "") == there
    assert again == [f"[{n}]（ (%).md" for n in range(1, len(seen) + 1)]


@pytest.mark.parametrize(
    "unit", ["[a](", "](a '", "[a](a (", "[a]: (", "> [a]:\n> ", "[a](<", "[", "[a](\\(", "`[a](b)", "[a](b(", "](((a"]
)
def test_redirecting_takes_linear_time(unit: str) -> None:
    text = "[a](b)" + unit * (200_000 // len(unit))
    with within(3):
        rewrite_links(text, lambda _: ".")


@pytest.mark.parametrize(
    ("row", "column", "expected"),
    [
        ("see [D001] here", 4, ("", "D001", "[D001]")),
        ("see [D001] here", 10, ("", "D001", "[D001]")),
        ("see [D001] here", 3, None),
        ("见[shop:C012]。", 6, ("shop", "C012", "[shop:C012]")),
        ("x = 1  # kb:P007, why", 12, ("", "P007", "kb:P007")),
        ("x[D01] and kb:D0012345678901", 3, None),
        ("a kb:D001x", 5, None),
    ],
)
def test_what_is_pointed_at(row: str, column: int, expected: tuple[str, str, str] | None) -> None:
    found = find_reference_at(row, column)
    told = found and (found[0], found[1], row[found[2].start : found[2].end])
    assert told == expected
