"""Tests of kb.text.segment: words of two languages."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.text.segment import (
    build_index_terms,
    clip,
    count_words,
    estimate_tokens,
    extract_bigrams,
    extract_run_terms,
    extract_word_terms,
    first_sentence,
    has_cjk,
    iter_runs,
    iter_sentence_spans,
    normalise,
    one_line,
    slugify,
    split_sentences,
)
from tests.support.timing import within

ANY = st.text(max_size=60)


@pytest.mark.parametrize(
    ("text", "words", "estimate"),
    [
        ("", 0, 0),
        ("hello world", 2, 3),
        ("选用数据库", 5, 5),
        ("选用 PostgreSQL 作为数据库", 8, 11),
        ("使用Python3开发", 5, 7),
        ("don't re-use v1.2.3", 3, 14),
        ("src/kb/front.py", 1, 7),
        ("snake_case __init__", 2, 7),
        ("，。！？ ... --- !!!", 0, 11),
        ("🎉🎉 done", 1, 4),
        ("こんにちは 안녕", 7, 10),
        ("𠀀𠀁", 2, 5),
        ("مرحبا بالعالم", 2, 16),
    ],
)
def test_count_and_tokens(text: str, words: int, estimate: int) -> None:
    assert count_words(text) == words
    assert estimate_tokens(text) == estimate


@given(ANY, ANY)
def test_counts_add_up_over_lines(one: str, other: str) -> None:
    assert count_words(f"{one}\n{other}") == count_words(one) + count_words(other)
    apart = estimate_tokens(one) + estimate_tokens(other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= estimate_tokens(one + other)
    # two runs of letters make one longer word, which no vocabulary has: only over a line end they add up
    assert estimate_tokens(f"{one}\n{other}") <= apart + estimate_tokens("\n")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("  Hello,   WORLD! ", "hello world"),
        ("ＡＢＣ１２３，使用“数据库”。", "abc123 使用 数据库"),
        ("Use snake_case", "use snake case"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("C++ / C#", "c c"),
        ("🎉!?", ""),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("", []), ("!", []), ("A", ["a"]), ("数据库", ["数据", "据库"]), ("Go 语", ["go", "o语"]), ("a, b", ["ab"])],
)
def test_bigrams(text: str, pairs: list[str]) -> None:
    assert extract_bigrams(text) == pairs


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\n\tc  d", "a b c d"),
        ("a\u2028b\x85c\x0bd", "a b c d"),
        ("\ufeffa\u200b\u202eb\u2066c\x07", "abc"),
        ("👩\u200d💻 و\u200c", "👩\u200d💻 و\u200c"),
        ("a \u200b b", "a b"),
        ("\ud83d!", "\ufffd!"),
        ("题目 | 管道", "题目 | 管道"),
        (" \n\t", ""),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@given(ANY)
def test_one_line_is_one_line_and_stays_so(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip() == one_line(line)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line)


@given(ANY, st.integers(1, 40))
def test_clip_keeps_the_limit(text: str, limit: int) -> None:
    cut = clip(text, limit)
    assert len(cut) <= limit
    assert cut == one_line(text) or (cut.endswith("…") and one_line(text).startswith(cut[:-1]))


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use PostgreSQL for orders", "use-postgresql-for-orders"),
        ("选用 PostgreSQL 作为数据库", "选用-postgresql-作为数据库"),
        ("../../etc/passwd", "etc-passwd"),
        ('a\\b:c*d?e"f<g>h|i', "a-b-c-d-e-f-g-h-i"),
        ("line\nbreak\ttab\x00nul", "line-break-tab-nul"),
        (".hidden", "hidden"),
        ("-- flag", "flag"),
        ("trailing...", "trailing"),
        ("ＡＢＣ", "abc"),
        ("CON", "on-con"),
        ("aux.txt", "aux-txt"),
        ("Lpt1", "on-lpt1"),
        ("", "untitled"),
        ("!!!", "untitled"),
        ("🎉", "untitled"),
        ("\ud800", "untitled"),
        ("\u202eabc", "abc"),
        ("مرحبا", "مرحبا"),
        ("x" * 10_000, "x" * 48),
        ("中" * 10_000, "中" * 32),
        ("word " * 20, "word-word-word-word-word-word-word-word-word-wor"),
    ],
)
def test_slugify(title: str, slug: str) -> None:
    assert slugify(title) == slug


@given(ANY | st.sampled_from(["con", "NUL.", "com¹", "a" * 47 + "!b"]), st.integers(8, 60))
def test_a_slug_is_a_file_name_everywhere(title: str, limit: int) -> None:
    slug = slugify(title, limit)
    assert slug and len(slug) <= limit and len(slug.encode()) <= 2 * limit
    assert slug[0] not in ".-" and slug[-1] not in ".- "
    assert all(letter.isalnum() or letter == "-" for letter in slug)
    assert slug.split(".")[0] not in {"con", "prn", "aux", "nul", "com1", "lpt9"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Use it. It is good.", "Use it."),
        ("用它。因为它好。", "用它。"),
        ("为什么？因为快！", "为什么？"),
        ("为什么?因为快", "为什么?"),
        ("Pin v1.2.3 of the tool. Then go.", "Pin v1.2.3 of the tool."),
        ("版本号 v2.0.1 已经发布！继续", "版本号 v2.0.1 已经发布！"),
        ("See https://a.example/x?y=z!w for it. More.", "See https://a.example/x?y=z!w for it."),
        ("Latency is 3.14 ms. Fine.", "Latency is 3.14 ms."),
        ("Keep a != b, e.g. here. Next.", "Keep a != b, e.g. here."),
        ('He said "stop." Then left.', 'He said "stop."'),
        ("他说“停。”然后走了。", "他说“停。”"),
        ("- one thing. another", "one thing."),
        ("1. first thing\n2. second", "first thing second"),
        ("Really?! Yes.", "Really?!"),
        ("no end at all", "no end at all"),
        ("...", "..."),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_long_first_sentence_is_clipped() -> None:
    assert first_sentence("字" * 200) == "字" * 119 + "…"
    assert len(first_sentence("word " * 200, 50)) <= 50


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ""),
        ("数据库", "数据 据库 库"),
        ("退款。窗口", "退款 款 xsepx 窗口 口"),
        ("用Python写", "用 python 写"),
        ("getHTTPResponse snake_case", "gethttpresponse get http response snakecase snake case"),
        ("v1.2 ＡＢＣ", "v1 2 abc"),
        ("🎉 done!", "done"),
    ],
)
def test_index_terms(text: str, terms: str) -> None:
    assert build_index_terms(text) == terms


RUN = re.compile("([^\\W\\x00-\u2e7f]+)|((?:[^\\W_](?<![^\\x00-\u2e7f]))+(?:_(?:[^\\W_](?<![^\\x00-\u2e7f]))+)*)")
"""A run of unspaced letters, or a spaced word with single underscores inside."""


@given(ANY | st.text(st.sampled_from("数据库ab A_1。é가ー々０_ "), max_size=20))
def test_runs_are_words_of_one_kind_of_script(text: str) -> None:
    found = RUN.findall(unicodedata.normalize("NFKC", text))
    assert [*iter_runs(text)] == [(unspaced or spaced, bool(unspaced)) for unspaced, spaced in found]


@given(st.text(st.sampled_from("数据库ab A_1。 "), max_size=20))
def test_every_short_cjk_term_of_a_run_is_indexed(text: str) -> None:
    terms = build_index_terms(text).split()
    for run, unspaced in iter_runs(text):
        wanted = extract_run_terms(run) if unspaced else extract_word_terms(run)
        assert set(wanted) <= set(terms)
        assert has_cjk(run) == unspaced


@pytest.mark.parametrize(
    "piece", [".", "!", "?", "\n", " ", "- ", "1", "a.", "a'", "中", "_", "A", "\u0301", "aB", "”"]
)
def test_a_megabyte_of_anything_ends_soon(piece: str) -> None:
    text = piece * (500_000 // len(piece)) + "x"
    with within(5):
        first_sentence(text)
        split_sentences(text)
        slugify(text)
        count_words(text)
        build_index_terms(text)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Use it. It is good.", ["Use it.", "It is good."]),
        ("用它。因为它好", ["用它。", "因为它好"]),
        ("他说“停。”然后走了。", ["他说“停。”", "然后走了。"]),
        (
            "1. Pin v1.2.3 (e.g. here).\n2. 版本 3.11 起生效；旧版不变。",
            ["1. Pin v1.2.3 (e.g. here).", "2. 版本 3.11 起生效；", "旧版不变。"],
        ),
        ('**Why.** *"Use it."* Go.', ['**Why.** *"Use it."*', "Go."]),
        ("Call `get(id?)` when a != b; then stop", ["Call `get(id?)` when a != b;", "then stop"]),
        ("See https://a.example/x?y=z!w;q for it.", ["See https://a.example/x?y=z!w;q for it."]),
        (
            "The slug (ie. its name) meets a k.o. criterion. Go.",
            ["The slug (ie. its name) meets a k.o. criterion.", "Go."],
        ),
        ("1. take a dump 2. stop. Use Python 3. Then go.", ["1. take a dump 2. stop.", "Use Python 3.", "Then go."]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_a_semicolon_and_a_line_end_part_sentences_only_as_breaks() -> None:
    assert split_sentences("版本 3.11 起生效；旧版不变。\n好", with_breaks=False) == [
        "版本 3.11 起生效；旧版不变。",
        "好",
    ]


@given(st.text(st.sampled_from("aB1 .!?;。！；”)\n"), max_size=30), st.booleans())
def test_sentences_are_slices_that_leave_out_only_space(text: str, with_breaks: bool) -> None:
    spans = list(iter_sentence_spans(text, with_breaks=with_breaks))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
