"""Documents of the wiki's search: every record, session and other page, and what the index keeps of each.

`search_index` writes the index from them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from kb.config import CHOICES
from kb.i18n import msg
from kb.index.postings import SCALE, compute_term_weights
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, LIVE, Record, Section, Status, imported_number
from kb.text.segment import clip, fold_text, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.page_parts import STATUSES, translate_status

if TYPE_CHECKING:
    from typing import Any

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
    """The addresses of the pages that stand before it wherever it is found: those that took its place."""

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
    whole = one_line("\n".join([*(section.text for section in record.sections), record.user]))
    text = whole.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    return IndexedDoc(terms, text, len(text) < len(whole))


def build_answer(doc: SearchDoc, kept: IndexedDoc, numbers: Mapping[str, int], language: str) -> list[Any]:
    """Return a page as answers show it; *numbers* has the number of each address."""
    record = doc.record
    facts = [translate_status(record.status, language), kind_label(record.kind, language)]
    facts += [record.scope.removeprefix("project/"), record.date[:10], *(f"#{tag}" for tag in record.tags)]
    # Age is counted in months since the year 0; 0 is a page without a day.
    year, month = record.date[:4], record.date[5:7]
    has_day = (year + month).isascii() and (year + month).isdigit() and month
    return [
        doc.url,
        record.id,
        clip(record.title, 300),
        record.kind,
        record.status,
        " · ".join(map(one_line, filter(None, facts))) if record.id else "",
        record.scope,
        int(year) * 12 + int(month) if has_day else 0,
        [numbers[url] for url in doc.over if url in numbers],
        int(kept.is_cut),
        kept.text,
        imported_number(record.extra) or 0,
    ]


def _name_scope(scope: str, language: str = "") -> str:
    return scope.removeprefix("project/")


def build_columns(docs: Sequence[SearchDoc], language: str) -> dict[str, Any]:
    """Return by what answers are chosen: for each field its values with their words, and the value of every page.

    The value of a page is its place among them, as one digit or two; that of a page without an id is behind the last.
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
        columns[field] = {"label": label.translate(language), "names": names, **_encode_column(numbers, len(values))}
    tags = Counter(one_line(tag) for record in records for tag in record.tags)
    common = sorted(tags, key=lambda tag: (-tags[tag], tag))[:TAGS]
    return {**columns, "tag": {"label": msg("Tags").translate(language), "names": [[tag, ""] for tag in common]}}


def _encode_column(numbers: Sequence[int], count: int) -> dict[str, Any]:
    """Return *numbers* up to *count* as one digit or two each."""
    size = len(DIGITS)
    if count < size:
        return {"width": 1, "column": "".join(DIGITS[n] for n in numbers)}
    return {"width": 2, "column": "".join(DIGITS[min(n // size, size - 1)] + DIGITS[n % size] for n in numbers)}
