"""The index of the wiki's search: small files of which a browser fetches what a question needs.

`search/kb/start.js` has what every question needs: how the pages are numbered, their kinds, statuses and scopes, and
the lists of words. `t/<bucket>.js` have the terms with the pages that hold them, by the beginning of the term; a list
that is long stands in `p/` by itself. `d/` has the pages as answers show them. Terms and weights are those by which
`kb search` ranks (kb/index/postings.py); assets/search/ does in the browser what kb/search does.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from kb.config import CHOICES
from kb.i18n import Message, msg
from kb.index.postings import SCALE, compute_term_weights
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, LIVE, Record, Section, Status, imported_number
from kb.text.segment import FIRST_CJK, clip, fold_text, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.page_parts import STATUSES, translate_status

if TYPE_CHECKING:
    from typing import Any

FOLDER = "search/kb/"
LONGEST = 3000
"""Bytes of the text of one page that answers are judged and shown by."""
ALONE = 1500
"""Characters of a list of pages from which on it is a file by itself."""
PAGES_PER_BUCKET = 4
TAGS = 100
"""Tags that the search offers to choose from, at most; others can be typed."""

LONGEST_SESSION = 20_000
"""Characters of a session by which it is found."""
_HEADING = re.compile(r"""(?s)<h[1-3](?>[^<>]*\bid=["']?([^"'\s<>]++))[^<>]*+>((?:[^<]|<(?!/?h[1-3]))*+)</h[1-3]>""")
_HEADERLINK = re.compile(r"(?s)<a[^<>]*\bclass=\"?headerlink(?:[^<]|<(?!/?a\b))*+</a>")
_TAG = re.compile(r"(?s)<(?:script|style)\b(?:[^<]|<(?!/?(?:script|style)\b))*+</(?:script|style)>|<[^<>]*>")
DIGITS = "".join(chr(code) for code in range(32, 127) if chr(code) not in '"\\')
_VALUE = {sign: value for value, sign in enumerate(DIGITS)}
_HALF, _FULL = 46, 92
_NEAR = [[DIGITS[gap] + DIGITS[weight] for weight in range(_FULL + 1)] for gap in range(_HALF)]


ENGINE = ("words", "shelf", "rank", "answer")
"""The scripts of assets/search/ that together are the search."""


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
    """What it says; of a page that is no record, as if it were one without an id."""
    url: str
    stamp: str = ""
    """What differs where the page does."""
    over: tuple[str, ...] = ()
    """The addresses of the pages that stand before it wherever it is found: those that took its place."""

    @property
    def sort_key(self) -> tuple[str, str]:
        """What it is numbered by: uids grow, so a new record comes last and moves no other."""
        return (self.record.uid or "~", self.url)


def iter_wiki_docs(stamps: PageFingerprints, url: Callable[[str], str]) -> Iterator[SearchDoc]:
    """Yield what can be found in a wiki; *url* answers a page with its address, relative to the site's top."""
    wiki, shelf = stamps.wiki, stamps.wiki.library
    for place, record in enumerate(shelf.records):
        newer = shelf.superseded_by.get(place, ()) if record.status == Status.SUPERSEDED else ()
        there = (n for n in newer if shelf.records[n].scope == record.scope and shelf.records[n].status in LIVE)
        over = tuple(url(shelf.uris[n]) for n in there)
        yield SearchDoc(record, url(shelf.uris[place]), hash_parts(stamps.record_hashes[place], over), over)
    for (session, forms), uri in zip(wiki.sessions, wiki.session_uris, strict=True):
        text = next(iter(forms.values()), "")[:LONGEST_SESSION]
        yield _build_plain_doc(f"{session.name} {session.task}", text, url(uri), f"project/{session.project}")


def iter_page_docs(html: str, title: str, url: str) -> Iterator[SearchDoc]:
    """Yield the parts of a page of the site that is none of the wiki: one for each heading down to the third level."""
    pieces = _HEADING.split(_HEADERLINK.sub("", html))
    if text := _strip_tags(pieces[0]):
        yield _build_plain_doc(title, text, url)
    for anchor, heading, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        said = _strip_tags(heading)
        yield _build_plain_doc(said if said == title else f"{title} · {said}", _strip_tags(text), f"{url}#{anchor}")


def _strip_tags(html: str) -> str:
    return one_line(unescape(_TAG.sub(" ", html)))


def _build_plain_doc(title: str, text: str, url: str, scope: str = GLOBAL) -> SearchDoc:
    record = Record("", "", title, scope, Status.ACCEPTED, sections=(Section("", "", text),))
    return SearchDoc(record, url, hash_parts(record))


class IndexedDoc(NamedTuple):
    """What the index keeps of a page."""

    terms: Mapping[str, int]
    """Term → its weight, in parts of `FULL`."""
    text: str
    is_cut: bool


def index_doc(doc: SearchDoc) -> IndexedDoc:
    """Return what the index keeps of *doc*."""
    record = doc.record
    terms = {term: max(round(weight * _FULL / SCALE), 1) for term, weight in compute_term_weights(record).items()}
    terms |= {f"#{fold_text(one_line(tag))}": _FULL for tag in record.tags}
    whole = one_line("\n".join([*(section.text for section in record.sections), record.user]))
    text = whole.encode()[:LONGEST].decode(errors="ignore")
    return IndexedDoc(terms, text, len(text) < len(whole))


class PostingLists:
    """For each term the pages that hold it, in order, written down as they come."""

    def __init__(self) -> None:
        """Begin with no page."""
        self._last: dict[str, int] = {}
        self._pieces: dict[str, list[str]] = {}

    def add(self, number: int, terms: Mapping[str, int]) -> None:
        """Add the page *number*, larger than all before it, with its *terms*."""
        for term, weight in terms.items():
            gap = number - self._last.get(term, -1) - 1
            self._last[term] = number
            self._pieces.setdefault(term, []).append(encode_posting(gap, weight))

    def iter_files(self, buckets: int) -> Iterator[tuple[str, str]]:
        """Yield path and content of every bucket, and of every list that is a file by itself."""
        found: list[dict[str, list[Any]]] = [{} for _ in range(buckets)]
        for term in sorted(self._pieces):
            pieces = self._pieces[term]
            found[hash_to_bucket(term, buckets)][term] = yield from encode_entry(term, len(pieces), "".join(pieces))
        yield from (render_index_file(f"t/{number}", terms) for number, terms in enumerate(found))


def encode_entry(term: str, pages: int, written: str) -> Generator[tuple[str, str], None, list[Any]]:
    """Return what a bucket says of *term*; yield the file of its list, where that is one by itself."""
    if len(written) <= ALONE:
        return [pages, written]
    name = sha256(term.encode()).hexdigest()[:16]
    yield render_index_file(f"p/{name}", written)
    return [pages, "", name]


def encode_posting(gap: int, weight: int) -> str:
    """Return how a list says that *gap* pages later the term stands with *weight*."""
    return _NEAR[gap][weight] if gap < _HALF else _encode_gap(gap) + DIGITS[weight]


def decode_postings(written: str) -> Iterator[tuple[int, int]]:
    """Yield the pages and weights of a list."""
    page, gap, unit = -1, 0, 1
    signs = iter(written)
    for sign in signs:
        digit = _VALUE[sign]
        if digit >= _HALF:
            gap += (digit - _HALF) * unit
            unit *= _HALF
            continue
        page += gap + digit * unit + 1
        yield page, _VALUE[next(signs)]
        gap, unit = 0, 1


def _encode_gap(gap: int) -> str:
    written = ""
    while gap >= _HALF:
        written += DIGITS[_HALF + gap % _HALF]
        gap //= _HALF
    return written + DIGITS[gap]


def hash_to_bucket(term: str, buckets: int) -> int:
    """Return which of the *buckets* holds *term*: those that begin alike are together, for who is still typing.

    They do so by three letters, or by one character of a script without spaces.
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


def iter_index_files(
    docs: Sequence[SearchDoc],
    language: str,
    words: Mapping[str, Any],
    keep: Callable[[int, IndexedDoc], object] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield path and content of every file of the index of *docs*, which are in their order.

    *words* is `wording` of the knowledge base; *keep* is told the number and the row of each page.
    """
    numbers = {doc.url: number for number, doc in enumerate(docs)}
    lists = PostingLists()
    for number, doc in enumerate(docs):
        kept = index_doc(doc)
        if keep:
            keep(number, kept)
        lists.add(number, kept.terms)
        yield render_answer_file(number, doc, kept, numbers, language)
    yield render_start_file(docs, language, words)
    yield from lists.iter_files(count_buckets(len(docs)))


def render_start_file(docs: Sequence[SearchDoc], language: str, words: Mapping[str, Any]) -> tuple[str, str]:
    """Return path and content of the file with which every search begins."""
    buckets = count_buckets(len(docs))
    return render_index_file(
        "start", {**_build_columns(docs, language), "buckets": buckets, "total": len(docs), "words": words}
    )


def render_index_file(name: str, content: Any) -> tuple[str, str]:
    """Return path and content of a part of the index: a script, since a page from the disk may load nothing else."""
    said = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f"{FOLDER}{name}.js", f'kbFound("{name}",{said});\n'


def parse_index_file(script: str) -> Any:
    """Return the content of a `render_index_file`."""
    return json.loads(script[script.index(",") + 1 : script.rindex(")")])


def render_answer_file(
    number: int, doc: SearchDoc, kept: IndexedDoc, numbers: Mapping[str, int], language: str
) -> tuple[str, str]:
    """Return path and content of the file of the page *number*, as answers show it."""
    return render_index_file(f"d/{number >> 8}/{number}", _build_answer(doc, kept, numbers, language))


def _build_answer(doc: SearchDoc, kept: IndexedDoc, numbers: Mapping[str, int], language: str) -> list[Any]:
    record = doc.record
    facts = [translate_status(record.status, language), kind_label(record.kind, language)]
    facts = [*facts, record.scope.removeprefix("project/"), record.date[:10], *(f"#{tag}" for tag in record.tags)]
    shown = " · ".join(map(one_line, filter(None, facts))) if record.id else ""
    over = [numbers[url] for url in doc.over if url in numbers]
    title = clip(record.title, 300)
    return [
        doc.url,
        record.id,
        title,
        record.kind,
        record.status,
        shown,
        record.scope,
        _count_months(record.date),
        over,
        int(kept.is_cut),
        kept.text,
        imported_number(record.extra) or 0,
    ]


def _count_months(date: str) -> int:
    """Return the months before the ISO day *date* since the year 0; 0 for none."""
    year, month = date[:4], date[5:7]
    return int(year) * 12 + int(month) if (year + month).isascii() and (year + month).isdigit() and month else 0


def _build_columns(docs: Sequence[SearchDoc], language: str) -> dict[str, Any]:
    """Return by what answers are chosen: for each field its values with their words, and the value of every page."""
    records = [doc.record if doc.record.id else None for doc in docs]
    there = [one for one in records if one]
    kinds = {one.kind for one in there}
    used = {one.status for one in there}
    statuses = [*(status for status in STATUSES if status in used), *sorted(used.difference(STATUSES))]
    scopes = sorted({one.scope for one in there})
    tags = Counter(one_line(tag) for one in there for tag in one.tags)
    common = sorted(tags, key=lambda tag: (-tags[tag], tag))[:TAGS]
    fields: dict[str, tuple[Message, dict[str, list[str]]]] = {
        "kind": (msg("Kind"), {kind: _list_names(kind_label, kind, language) for kind in sorted(kinds)}),
        "status": (msg("Status"), {status: _list_names(translate_status, status, language) for status in statuses}),
        "scope": (msg("Scope"), {scope: [scope.removeprefix("project/")] for scope in scopes}),
    }
    columns = {
        field: {
            "label": label.translate(language),
            "names": [[value.removeprefix("project/"), *labels] for value, labels in names.items()],
            **_encode_column([*names], [one and getattr(one, field) for one in records]),
        }
        for field, (label, names) in fields.items()
    }
    return {**columns, "tag": {"label": msg("Tags").translate(language), "names": [[tag, ""] for tag in common]}}


def _list_names(name_in: Callable[[str, str], str], value: str, language: str) -> list[str]:
    """Return what *value* is called, in *language* first: a filter can be typed in any language kb speaks."""
    return list(dict.fromkeys(name_in(value, spoken) for spoken in (language, *CHOICES["language"])))


def _encode_column(names: Sequence[str], values: Iterable[str | None]) -> dict[str, Any]:
    """Return the place of each of *values* among *names* as one digit or two; that of None is behind the last."""
    at = {name: number for number, name in enumerate(names)}
    numbers = [len(names) if value is None else at[value] for value in values]
    size = len(DIGITS)
    if len(names) < size:
        return {"width": 1, "column": "".join(DIGITS[n] for n in numbers)}
    return {"width": 2, "column": "".join(DIGITS[min(n // size, size - 1)] + DIGITS[n % size] for n in numbers)}
