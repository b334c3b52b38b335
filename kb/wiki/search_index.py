"""Index of the wiki's search: small files, of which a browser fetches only those a query needs.

`search/kb/start.js` has what every question needs: how the pages are numbered, their kinds, statuses and scopes, and
the lists of words. `t/<bucket>.js` have the terms with the pages that hold them, by the beginning of the term; a list
that is long is in `p/` by itself. `d/` has the pages as answers show them. Terms and weights are those by which
`kb search` ranks (kb/index/postings.py); assets/search/ does in the browser what kb/search does. Where few pages have
changed, only the lists they are in are written again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from kb.text.segment import FIRST_CJK
from kb.wiki.render import encode_json
from kb.wiki.search_docs import DIGITS, MAX_WEIGHT, IndexedDoc, SearchDoc, build_answer, build_columns, index_doc

if TYPE_CHECKING:
    from typing import Any

    from kb.state.state_folder import StateFolder

FOLDER = "search/kb/"
MAX_INLINE_CHARACTERS = 1500
"""Characters of a list of pages from which on it is a file by itself."""
PAGES_PER_BUCKET = 4


# -- the files ------------------------------------------------------------------------------------


def iter_index_files(
    docs: Sequence[SearchDoc],
    language: str,
    words: Mapping[str, Any],
    keep: Callable[[int, IndexedDoc], object] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield path and content of every file of the index of *docs*, which are in their order.

    *words* are the word lists of the knowledge base; *keep* is told the number and the row of each page.
    """
    numbers = {doc.url: number for number, doc in enumerate(docs)}
    last: dict[str, int] = {}
    lists: dict[str, list[str]] = {}
    for number, doc in enumerate(docs):
        kept = index_doc(doc)
        if keep:
            keep(number, kept)
        for term, weight in kept.terms.items():
            lists.setdefault(term, []).append(_encode_posting(number - last.get(term, -1) - 1, weight))
            last[term] = number
        yield _render_index_file(_name_answer(number), build_answer(doc, kept, numbers, language))
    yield _render_start_file(docs, language, words)
    buckets: list[dict[str, list[Any]]] = [{} for _ in range(count_buckets(len(docs)))]
    for term in sorted(lists):
        entry = yield from _encode_entry(term, len(lists[term]), "".join(lists[term]))
        buckets[hash_to_bucket(term, len(buckets))][term] = entry
    yield from (_render_index_file(f"t/{number}", terms) for number, terms in enumerate(buckets))


def _render_start_file(docs: Sequence[SearchDoc], language: str, words: Mapping[str, Any]) -> tuple[str, str]:
    """Return path and content of the file with which every search begins."""
    counts = {"buckets": count_buckets(len(docs)), "total": len(docs)}
    return _render_index_file("start", {**build_columns(docs, language), **counts, "words": words})


def _name_answer(number: int) -> str:
    return f"d/{number >> 8}/{number}"


def _render_index_file(name: str, content: Any) -> tuple[str, str]:
    """Return path and content of a part of the index: a script, since a page from the disk may load nothing else."""
    return f"{FOLDER}{name}.js", f'kbFound("{name}",{encode_json(content)});\n'


def _read_index_file(site: str, name: str) -> Any:
    """Return the content of a part of the index at *site*."""
    with open(os.path.join(site, FOLDER, f"{name}.js"), encoding="utf-8") as file:
        script = file.read()
    return json.loads(script[script.index(",") + 1 : script.rindex(")")])


def hash_to_bucket(term: str, buckets: int) -> int:
    """Return which of the *buckets* holds *term*: those that begin alike are together, for who is still typing.

    They do so by three letters, or by one character of a script without spaces. The sum is FNV-1a, as in shelf.js.
    """
    found = 2166136261
    for byte in term[: 3 if term < FIRST_CJK else 1].encode():
        found = (found ^ byte) * 16777619 & 0xFFFFFFFF
    return found % buckets


def count_buckets(pages: int) -> int:
    """Return how many buckets the index of so many *pages* has."""
    number = 1
    while number * PAGES_PER_BUCKET < pages:
        number *= 2
    return number


# -- lists of pages -------------------------------------------------------------------------------

# A list is a run of (gap to the page before, weight). A digit below _GAP_BASE ends the gap; one from _GAP_BASE
# on is a lower place of it, and more follow: most gaps are one character.
_GAP_BASE = 46
_VALUE = {sign: value for value, sign in enumerate(DIGITS)}
_GAP_CODES = [[DIGITS[gap] + DIGITS[weight] for weight in range(MAX_WEIGHT + 1)] for gap in range(_GAP_BASE)]


def _encode_posting(gap: int, weight: int) -> str:
    """Return how a list says that *gap* pages later the term stands with *weight*."""
    if gap < _GAP_BASE:
        return _GAP_CODES[gap][weight]
    written = ""
    while gap >= _GAP_BASE:
        written += DIGITS[_GAP_BASE + gap % _GAP_BASE]
        gap //= _GAP_BASE
    return written + DIGITS[gap] + DIGITS[weight]


def _decode_postings(written: str) -> Iterator[tuple[int, int]]:
    """Yield the pages and weights of a list."""
    page, gap, unit = -1, 0, 1
    signs = iter(written)
    for sign in signs:
        digit = _VALUE[sign]
        if digit >= _GAP_BASE:
            gap += (digit - _GAP_BASE) * unit
            unit *= _GAP_BASE
            continue
        page += gap + digit * unit + 1
        yield page, _VALUE[next(signs)]
        gap, unit = 0, 1


def _encode_entry(term: str, pages: int, written: str) -> Generator[tuple[str, str], None, list[Any]]:
    """Return what a bucket says of *term*; yield the file of its list, where that is one by itself."""
    if len(written) <= MAX_INLINE_CHARACTERS:
        return [pages, written]
    name = sha256(term.encode()).hexdigest()[:16]
    yield _render_index_file(f"p/{name}", written)
    return [pages, "", name]


# -- bringing the index up to date ----------------------------------------------------------------

CHUNK = 256
"""Pages whose terms are remembered in one file."""
MAX_CHANGED_SHARE = 0.05
"""The share of changed pages from which on the index is written anew."""


class TermCache:
    """Which terms each page had when it was indexed, below a folder of the state."""

    def __init__(self, state: StateFolder, *folder: str) -> None:
        self._state = state
        self._folder = folder
        self._chunks: dict[int, list[str]] = {}

    def find_terms(self, number: int) -> list[str] | None:
        """Return the terms of the page *number*; None where they are forgotten."""
        chunk = self._load_chunk(number)
        return chunk[number % CHUNK].split("\n") if number % CHUNK < len(chunk) else None

    def add_terms(self, number: int, kept: IndexedDoc) -> None:
        """Remember the terms of the page *number*."""
        chunk = self._load_chunk(number)
        chunk += [""] * (number % CHUNK + 1 - len(chunk))
        chunk[number % CHUNK] = "\n".join(kept.terms)

    def save(self) -> None:
        """Write down what was kept."""
        with contextlib.suppress(OSError):
            for chunk, terms in self._chunks.items():
                self._state.save({"terms": terms}, *self._folder, f"{chunk}.json")

    def _load_chunk(self, number: int) -> list[str]:
        chunk = number // CHUNK
        if chunk not in self._chunks:
            saved = self._state.load(*self._folder, f"{chunk}.json")
            self._chunks[chunk] = list(saved["terms"]) if saved else []
        return self._chunks[chunk]


def find_changed_docs(before: Mapping[str, str], docs: Sequence[SearchDoc]) -> list[int] | None:
    """Return which *docs* differ from those *before* (address → fingerprint, in order); None: they have other numbers.

    Pages may only have come behind the last one, and not so many that another number of buckets is needed.
    """
    urls = [*before]
    if [doc.url for doc in docs[: len(urls)]] != urls or count_buckets(len(docs)) != count_buckets(len(urls)):
        return None
    numbers = [n for n, doc in enumerate(docs) if before.get(doc.url) != doc.fingerprint]
    return numbers if len(numbers) <= max(MAX_CHANGED_SHARE * len(docs), 1) else None


def build_changed_files(
    site: str, before: Mapping[str, str], docs: Sequence[SearchDoc], memory: TermCache, language: str, words: Any
) -> dict[str, str] | None:
    """Return the files of the index at *site* that change, with what they become ("": nothing); None: all may.

    *before*: as for `find_changed_docs`.
    """
    changed = find_changed_docs(before, docs)
    if changed is None:
        return None
    numbers = {doc.url: n for n, doc in enumerate(docs)}
    found = dict([_render_start_file(docs, language, words)])
    terms: dict[str, dict[int, int]] = {}
    for n in changed:
        kept, old = index_doc(docs[n]), memory.find_terms(n)
        if old is None and n < len(before):  # which lists hold the page is not known any more
            return None
        for term in {*(old or ()), *kept.terms}:
            terms.setdefault(term, {})[n] = kept.terms.get(term, 0)
        memory.add_terms(n, kept)
        found |= [_render_index_file(_name_answer(n), build_answer(docs[n], kept, numbers, language))]
    try:
        return found | dict(_update_lists(site, terms, count_buckets(len(docs))))
    except (OSError, ValueError, KeyError):
        return None


def _update_lists(site: str, terms: Mapping[str, Mapping[int, int]], buckets: int) -> Iterator[tuple[str, str]]:
    """Yield the buckets of *terms*, in each of which pages get another weight (0: none)."""
    touched: dict[int, list[str]] = {}
    for term in terms:
        touched.setdefault(hash_to_bucket(term, buckets), []).append(term)
    for number, here in touched.items():
        entries = _read_index_file(site, f"t/{number}")
        for term in here:
            _, written, *name = entries.pop(term, [0, ""])
            before = dict(_decode_postings(_read_index_file(site, f"p/{name[0]}") if name else written))
            # A weight of 0 takes a page out; a term that no page has any more leaves its bucket.
            pages = {n: weight for n, weight in sorted({**before, **terms[term]}.items()) if weight}
            if pages:
                gaps = (later - earlier - 1 for earlier, later in pairwise([-1, *pages]))
                postings = map(_encode_posting, gaps, pages.values())
                entries[term] = yield from _encode_entry(term, len(pages), "".join(postings))
            if name and len(entries.get(term, ())) < 3:
                yield f"{FOLDER}p/{name[0]}.js", ""
        yield _render_index_file(f"t/{number}", dict(sorted(entries.items())))
