"""Index of the wiki's search: small files, of which a browser fetches only those a query needs.

`search/kb/start.js` has what every question needs: how the pages are numbered, their kinds, statuses and scopes, and
the lists of words; `synonyms.js` comes after the first answer.
`titles.js` has the ids, titles and addresses of all pages: a browser fetches it once, when somebody
goes to the search, and can answer then from one file for each word. Those are `t/<bucket>.js`: the terms with the pages
that hold them, by the beginning of the term. `d/` has the texts, some pages to a file; they come after the first
answer, for its snippets. Terms and weights are those by which `kb search` ranks (kb/index/postings.py); assets/search/
does in the browser what kb/search does. Where few pages have changed, only the files they are in are written again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.config import CHOICES
from kb.i18n import msg
from kb.index.postings import SCALE, compute_term_weights
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, LIVE, Record, Section, Status, imported_number
from kb.text.segment import FIRST_CJK, clip, fold_text, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.page_parts import STATUSES, translate_status
from kb.wiki.render import encode_json, strip_markup

if TYPE_CHECKING:
    from typing import Any

    from kb.state.state_folder import StateFolder

ENGINE = ("words", "shelf", "rank", "answer")
"""The scripts of assets/search/ that together are the search."""
MAX_TEXT_BYTES = 3000
"""Bytes of the text of one page that answers are judged and shown by."""
MAX_SESSION_CHARACTERS = 20_000
"""Characters of a session by which it is found."""
TAGS = 100
"""Tags that the search offers to choose from, at most; others can be typed."""
MAX_WEIGHT = 92
"""The largest weight of a term in a page."""
DIGITS = "".join(chr(code) for code in range(32, 127) if chr(code) not in '"\\')
"""The characters in which numbers are written: those that stand for themselves in JSON."""

_HEADING = re.compile(r"""(?s)<h[1-3](?>[^<>]*\bid=["']?([^"'\s<>]++))[^<>]*+>((?:[^<]|<(?!/?h[1-3]))*+)</h[1-3]>""")
_HEADERLINK = re.compile(r"(?s)<a[^<>]*\bclass=\"?headerlink(?:[^<]|<(?!/?a\b))*+</a>")
_TAG = re.compile(r"(?s)<(?:script|style)\b(?:[^<]|<(?!/?(?:script|style)\b))*+</(?:script|style)>|<[^<>]*>")


def build_engine_script() -> str:
    """Return the search as one script: a worker, or a part of a page that is read from the disk."""
    parts = []
    for name in ENGINE:
        with open(os.path.join(os.path.dirname(__file__), "assets", "search", f"{name}.js"), encoding="utf-8") as file:
            parts.append(file.read())
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


class SearchDoc(NamedTuple):
    """A page that can be found."""

    record: Record
    """Its words; of a page that is not a record, as if it were one without an id."""
    url: str
    fingerprint: str = ""
    """What differs where the page does."""
    over: tuple[str, ...] = ()
    """The addresses of the pages that precede it wherever it is found: those that took its place."""

    @property
    def sort_key(self) -> tuple[str, str]:
        """What it is numbered by: uids grow, so a new record comes last and moves no other."""
        return (self.record.uid or "~", self.url)


def iter_wiki_docs(fingerprints: PageFingerprints, url: Callable[[str], str]) -> Iterator[SearchDoc]:
    """Yield what can be found in a wiki; *url* returns the address of a page, relative to the site's top."""
    wiki, library = fingerprints.wiki, fingerprints.wiki.library
    for position, record in enumerate(library.records):
        newer = library.superseded_by.get(position, ()) if record.status == Status.SUPERSEDED else ()
        after = (n for n in newer if library.records[n].scope == record.scope and library.records[n].status in LIVE)
        over = tuple(url(library.uris[n]) for n in after)
        fingerprint = hash_parts(fingerprints.record_hashes[position], over)
        yield SearchDoc(record, url(library.uris[position]), fingerprint, over)
    for (session, forms), uri in zip(wiki.sessions, wiki.session_uris, strict=True):
        text = next(iter(forms.values()), "")[:MAX_SESSION_CHARACTERS]
        yield _build_plain_doc(f"{session.name} {session.task}", text, url(uri), f"project/{session.project}")


def iter_page_docs(html: str, title: str, url: str) -> Iterator[SearchDoc]:
    """Yield the parts of a page of the site that is none of the wiki: one for each heading down to the third level."""
    pieces = _HEADING.split(_HEADERLINK.sub("", html))
    if text := _strip_tags(pieces[0]):
        yield _build_plain_doc(title, text, url)
    for anchor, heading, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        name = _strip_tags(heading)
        yield _build_plain_doc(name if name == title else f"{title} · {name}", _strip_tags(text), f"{url}#{anchor}")


def _strip_tags(html: str) -> str:
    return one_line(unescape(_TAG.sub(" ", html)))


def _build_plain_doc(title: str, text: str, url: str, scope: str = GLOBAL) -> SearchDoc:
    record = Record("", "", title, scope, Status.ACCEPTED, sections=(Section("", "", text),))
    return SearchDoc(record, url, hash_parts(record))


class IndexedDoc(NamedTuple):
    """What the index keeps of a page."""

    terms: Mapping[str, int]
    """Term → its weight, from 1 to MAX_WEIGHT."""
    text: str
    is_cut: bool


def index_doc(doc: SearchDoc) -> IndexedDoc:
    """Return what the index keeps of *doc*."""
    record = doc.record
    weights = compute_term_weights(record).items()
    terms = {term: max(round(weight * MAX_WEIGHT / SCALE), 1) for term, weight in weights}
    terms |= {f"#{fold_text(one_line(tag))}": MAX_WEIGHT for tag in record.tags}
    whole = strip_markup("\n".join([*(section.text for section in record.sections), record.user]))
    text = whole.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    return IndexedDoc(terms, text, len(text) < len(whole))


def _build_titles(docs: Sequence[SearchDoc]) -> dict[str, Any]:
    """Return the table of all pages as answers name them; what is usual is left out at the end of a row.

    A row is: id, title, day, number of the folder of its address, the rest of that where it is not the id, the number
    it had elsewhere, the numbers of the pages that took its place.
    """
    numbers = {doc.url: number for number, doc in enumerate(docs)}
    folders: dict[str, int] = {}
    ending = "/" if any(doc.record.id and doc.url.endswith("/") for doc in docs) else ".html"
    rows = []
    for doc in docs:
        record, (folder, tail) = doc.record, _split_address(doc.url)
        row: list[Any] = [record.id, clip(record.title, 300), record.date[:10]]
        row += [folders.setdefault(folder, len(folders)), "" if tail == record.id + ending else tail]
        row += [imported_number(record.extra) or 0, [numbers[url] for url in doc.over if url in numbers]]
        while not row[-1]:
            row.pop()
        rows.append(row)
    return {"folders": [*folders], "ending": ending, "rows": rows}


def _split_address(url: str) -> tuple[str, str]:
    """Return the folder of an address, and the rest: `a/b/D001.html` or `a/b/D001/`."""
    at = url.rstrip("/").rfind("/") + 1
    return url[:at], url[at:]


def _name_scope(scope: str, language: str = "") -> str:
    return scope.removeprefix("project/")


def build_columns(docs: Sequence[SearchDoc], language: str) -> dict[str, Any]:
    """Return by what answers are chosen: for each field its values with their words, and the value of every page.

    The value of a page is its place among them, as one digit or two; that of a page without an id is after the last.
    """
    records = [doc.record for doc in docs if doc.record.id]
    known = [status for status in STATUSES if any(record.status == status for record in records)]
    columns: dict[str, Any] = {}
    for field, label, translate, first in (
        ("kind", msg("Kind"), kind_label, []),
        ("status", msg("Status"), translate_status, known),
        ("scope", msg("Scope"), _name_scope, []),
    ):
        values = [*first, *sorted({getattr(record, field) for record in records}.difference(first))]
        # A filter can be typed in any language kb speaks; that of the wiki comes first.
        labels = [[translate(value, spoken) for spoken in (language, *CHOICES["language"])] for value in values]
        names = [[_name_scope(value), *dict.fromkeys(own)] for value, own in zip(values, labels, strict=True)]
        at = {value: number for number, value in enumerate(values)}
        numbers = [at[getattr(doc.record, field)] if doc.record.id else len(values) for doc in docs]
        columns[field] = {
            "label": label.translate(language),
            "names": names,
            "raw": values,
            **_encode_column(numbers, len(values)),
        }
    tags = Counter(one_line(tag) for record in records for tag in record.tags)
    common = sorted(tags, key=lambda tag: (-tags[tag], tag))[:TAGS]
    return {**columns, "tag": {"label": msg("Tags").translate(language), "names": [[tag, ""] for tag in common]}}


def _encode_column(numbers: Sequence[int], count: int) -> dict[str, Any]:
    """Return *numbers* up to *count* as one digit or two each."""
    size = len(DIGITS)
    if count < size:
        return {"width": 1, "column": "".join(DIGITS[n] for n in numbers)}
    return {"width": 2, "column": "".join(DIGITS[min(n // size, size - 1)] + DIGITS[n % size] for n in numbers)}


FOLDER = "search/kb/"
PAGES_PER_TEXT_FILE = 8
PAGES_PER_BUCKET = 160
MAX_BUCKETS = 256


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
    last: dict[str, int] = {}
    lists: dict[str, list[str]] = {}
    texts: list[list[Any]] = []
    for number, doc in enumerate(docs):
        kept = index_doc(doc)
        if keep:
            keep(number, kept)
        for term, weight in kept.terms.items():
            lists.setdefault(term, []).append(_encode_posting(number - last.get(term, -1) - 1, weight))
            last[term] = number
        texts.append(_build_text_row(kept))
        if len(texts) == PAGES_PER_TEXT_FILE or number == len(docs) - 1:
            yield _render_index_file(_name_text_file(number), texts)
            texts = []
    yield from _render_common_files(docs, language, words)
    buckets: list[dict[str, list[Any]]] = [{} for _ in range(count_buckets(len(docs)))]
    for term in sorted(lists):
        buckets[hash_to_bucket(term, len(buckets))][term] = [len(lists[term]), "".join(lists[term])]
    yield from (_render_index_file(f"t/{number}", terms) for number, terms in enumerate(buckets))


def _render_common_files(
    docs: Sequence[SearchDoc], language: str, words: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield path and content of the files with which every search begins."""
    counts = {"buckets": count_buckets(len(docs)), "total": len(docs), "perText": PAGES_PER_TEXT_FILE}
    start_words = {name: value for name, value in words.items() if name != "synonyms"}
    yield _render_index_file("start", {**build_columns(docs, language), **counts, "words": start_words})
    yield _render_index_file("synonyms", words.get("synonyms", []))
    yield _render_index_file("titles", _build_titles(docs))


def _build_text_row(kept: IndexedDoc) -> list[Any]:
    return [kept.text, 1] if kept.is_cut else [kept.text]


def _name_text_file(number: int) -> str:
    return f"d/{number // PAGES_PER_TEXT_FILE}"


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
    while number * PAGES_PER_BUCKET < pages and number < MAX_BUCKETS:
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


# -- bringing the index up to date ----------------------------------------------------------------

CHUNK = 256
"""Pages whose terms are remembered in one file."""
MAX_CHANGED_SHARE = 0.05
"""The share of changed pages from which on the index is written again."""


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

    Pages may only have come after the last one, and not so many that another number of buckets is needed.
    """
    urls = [*before]
    if [doc.url for doc in docs[: len(urls)]] != urls or count_buckets(len(docs)) != count_buckets(len(urls)):
        return None
    numbers = [n for n, doc in enumerate(docs) if before.get(doc.url) != doc.fingerprint]
    return numbers if len(numbers) <= max(MAX_CHANGED_SHARE * len(docs), 1) else None


def build_changed_files(
    site: str, before: Mapping[str, str], docs: Sequence[SearchDoc], memory: TermCache, language: str, words: Any
) -> dict[str, str] | None:
    """Return the files of the index at *site* that change, with what they become; None: all may.

    *before*: as for `find_changed_docs`.
    """
    changed = find_changed_docs(before, docs)
    if changed is None:
        return None
    found = dict(_render_common_files(docs, language, words))
    terms: dict[str, dict[int, int]] = {}
    texts: dict[str, dict[int, list[Any]]] = {}
    for n in changed:
        kept, old = index_doc(docs[n]), memory.find_terms(n)
        if old is None and n < len(before):  # which lists hold the page is not known any more
            return None
        for term in {*(old or ()), *kept.terms}:
            terms.setdefault(term, {})[n] = kept.terms.get(term, 0)
        memory.add_terms(n, kept)
        texts.setdefault(_name_text_file(n), {})[n % PAGES_PER_TEXT_FILE] = _build_text_row(kept)
    try:
        found |= _update_texts(site, texts)
        return found | dict(_update_lists(site, terms, count_buckets(len(docs))))
    except (OSError, ValueError, KeyError):
        return None


def _update_texts(site: str, texts: Mapping[str, Mapping[int, list[Any]]]) -> Iterator[tuple[str, str]]:
    """Yield the files of *texts*, in each of which some rows are others now."""
    for name, rows in texts.items():
        # the rows of new pages come after the last one; the first of them may begin a file
        there = dict(enumerate(_read_index_file(site, name) if _has_file(site, name) else ()))
        yield _render_index_file(name, [row for _, row in sorted({**there, **rows}.items())])


def _has_file(site: str, name: str) -> bool:
    return os.path.isfile(os.path.join(site, FOLDER, f"{name}.js"))


def _update_lists(site: str, terms: Mapping[str, Mapping[int, int]], buckets: int) -> Iterator[tuple[str, str]]:
    """Yield the buckets of *terms*, in each of which pages get another weight (0: none)."""
    touched: dict[int, list[str]] = {}
    for term in terms:
        touched.setdefault(hash_to_bucket(term, buckets), []).append(term)
    for number, here in touched.items():
        entries = _read_index_file(site, f"t/{number}")
        for term in here:
            before = dict(_decode_postings(entries.pop(term, [0, ""])[1]))
            # A weight of 0 takes a page out; a term that no page has any more leaves its bucket.
            pages = {n: weight for n, weight in sorted({**before, **terms[term]}.items()) if weight}
            if pages:
                gaps = (later - earlier - 1 for earlier, later in pairwise([-1, *pages]))
                entries[term] = [len(pages), "".join(map(_encode_posting, gaps, pages.values()))]
        yield _render_index_file(f"t/{number}", dict(sorted(entries.items())))
