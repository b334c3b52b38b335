"""Bring the index of the wiki's search up to date: where few pages have changed, only the lists they stand in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.wiki.search_index import (
    FOLDER,
    IndexedDoc,
    SearchDoc,
    count_buckets,
    decode_postings,
    encode_entry,
    encode_posting,
    hash_to_bucket,
    index_doc,
    parse_index_file,
    render_answer_file,
    render_index_file,
    render_start_file,
)

if TYPE_CHECKING:
    from typing import Any

    from kb.state.state_folder import StateFolder

CHUNK = 256
"""Pages whose terms are remembered in one file."""
FEW = 0.05
"""The share of changed pages from which on the index is written anew."""


class TermCache:
    """Which terms each page had when it was indexed."""

    def __init__(self, state: StateFolder, *place: str) -> None:
        """Keep it below *place*."""
        self._state = state
        self._place = place
        self._chunks: dict[int, list[str]] = {}

    def find_terms(self, number: int) -> list[str] | None:
        """Return the terms of the page *number*; None where they are forgotten."""
        chunk = self._load_chunk(number // CHUNK)
        return chunk[number % CHUNK].split("\n") if number % CHUNK < len(chunk) else None

    def add_terms(self, number: int, kept: IndexedDoc) -> None:
        """Remember the terms of the page *number*."""
        chunk = self._load_chunk(number // CHUNK)
        chunk += [""] * (number % CHUNK + 1 - len(chunk))
        chunk[number % CHUNK] = "\n".join(kept.terms)

    def save(self) -> None:
        """Write down what was kept."""
        with contextlib.suppress(OSError):
            for number, terms in self._chunks.items():
                self._state.save({"terms": terms}, *self._place, f"{number}.json")

    def _load_chunk(self, number: int) -> list[str]:
        if number not in self._chunks:
            told = self._state.load(*self._place, f"{number}.json")
            self._chunks[number] = list(told["terms"]) if told else []
        return self._chunks[number]


class IndexChange(NamedTuple):
    """What becomes of the pages of an index."""

    numbers: Sequence[int]
    """The pages that are new or have changed."""
    docs: Sequence[SearchDoc]
    """All, in order."""
    was: int
    """So many there were before."""


def compare_index(before: Mapping[str, str], docs: Sequence[SearchDoc]) -> IndexChange | None:
    """Return how *docs* differ from what was there *before* (address → stamp, in order); None: they have other numbers.

    Pages may only have come behind the last one, and not so many that another number of buckets is needed.
    """
    was = [*before]
    if [doc.url for doc in docs[: len(was)]] != was or count_buckets(len(docs)) != count_buckets(len(was)):
        return None
    numbers = [n for n, doc in enumerate(docs) if before.get(doc.url) != doc.stamp]
    return IndexChange(numbers, docs, len(was)) if len(numbers) <= max(FEW * len(docs), 1) else None


def build_changed_files(
    site: str, told: IndexChange, memory: TermCache, language: str, words: Mapping[str, Any]
) -> dict[str, str] | None:
    """Return the files of the index at *site* that change, with what they become ("": nothing); None: all may."""
    numbers = {doc.url: n for n, doc in enumerate(told.docs)}
    found = dict([render_start_file(told.docs, language, words)])
    terms: dict[str, dict[int, int]] = {}
    for n in told.numbers:
        kept, old = index_doc(told.docs[n]), memory.find_terms(n)
        if old is None and n < told.was:
            return None
        for term in {*(old or ()), *kept.terms}:
            terms.setdefault(term, {})[n] = kept.terms.get(term, 0)
        memory.add_terms(n, kept)
        found |= [render_answer_file(n, told.docs[n], kept, numbers, language)]
    try:
        return found | dict(_update_lists(site, terms, count_buckets(len(told.docs))))
    except (OSError, ValueError, KeyError):
        return None


def _update_lists(site: str, terms: Mapping[str, Mapping[int, int]], buckets: int) -> Iterator[tuple[str, str]]:
    """Yield the buckets of *terms*, in each of which pages get another weight (0: none)."""
    touched: dict[int, list[str]] = {}
    for term in terms:
        touched.setdefault(hash_to_bucket(term, buckets), []).append(term)
    for number, here in touched.items():
        entries = _read_content(site, f"t/{number}")
        for term in here:
            _, written, *name = entries.pop(term, [0, ""])
            pages = dict(decode_postings(_read_content(site, f"p/{name[0]}") if name else written))
            pages = {n: weight for n, weight in sorted({**pages, **terms[term]}.items()) if weight}
            if pages:
                entries[term] = yield from encode_entry(term, len(pages), _encode_list(pages))
            if name and len(entries.get(term, ())) < 3:
                yield f"{FOLDER}p/{name[0]}.js", ""
        yield render_index_file(f"t/{number}", dict(sorted(entries.items())))


def _encode_list(pages: Mapping[int, int]) -> str:
    gaps = (later - earlier - 1 for earlier, later in pairwise([-1, *pages]))
    return "".join(encode_posting(gap, weight) for gap, weight in zip(gaps, pages.values(), strict=True))


def _read_content(site: str, name: str) -> Any:
    with open(os.path.join(site, FOLDER, f"{name}.js"), encoding="utf-8") as script:
        return parse_index_file(script.read())
