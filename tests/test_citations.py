"""Tests of kb.citations."""

import time

import pytest
from hypothesis import given, settings
from nasty import texts

from kb.citations import citations
from kb.front import lines


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
    assert [f"{project}:{id_}" if project else id_ for project, id_, _ in citations(text)] == cited


def test_citations_tell_their_line() -> None:
    text = "---\r\nid: D001\r\n---\r\n[D001]\r\n\r\n```\r\n[D002]\r\n```\r\nx\r\n`a\r\nb` [P003]\r\n"
    assert list(citations(text)) == [("", "D001", 4), ("", "P003", 11)]


@given(texts())
@settings(max_examples=200, deadline=None)
def test_citations_stand_where_they_say(text: str) -> None:
    rows = lines(text)
    marked = "".join(f"[D{n:03}] {row}" if n % 2 else row for n, row in enumerate(rows))
    for _, id_, line in citations(marked):
        assert f"[{id_}]" in lines(marked)[line - 1]


@pytest.mark.parametrize(
    "piece", ["`", "`a``b", "[D001]", "[", "[a", "\\", "\\`", "!", "[D001]: ", "[D001](", "|", "[a.b:", "- [D001]\n"]
)
def test_citations_in_a_tangle_end_soon(piece: str) -> None:
    begin = time.perf_counter()
    sum(1 for _ in citations("[D001] " + piece * (200_000 // len(piece))))
    sum(1 for _ in citations("[D001] " + " ".join("`" * n for n in range(600))))
    assert time.perf_counter() - begin < 2
