"""Shared parts of wiki pages: labels of statuses and kinds, the templates, and word-by-word text diffs."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from kb.i18n import Message, msg
from kb.records.kinds import FIXED_BY, list_own_fields
from kb.records.model import GLOBAL, LIVE, ORIGINAL_AUTHOR, Record, Status, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, one_line
from kb.wiki.library import get_path_folder
from kb.wiki.render import Html, join_html, parse_reference

if TYPE_CHECKING:
    from typing import Any

    from jinja2 import Environment

    from kb.history.timeline import RecordVersion
    from kb.wiki.wiki_model import Wiki

STATUSES: Mapping[str, tuple[str, Message]] = {
    Status.PROPOSED: ("⚠️", msg("to be verified")),
    Status.ACCEPTED: ("✅", msg("accepted")),
    Status.REJECTED: ("❌", msg("rejected")),
    Status.DEPRECATED: ("❌", msg("no longer accepted")),
    Status.SUPERSEDED: ("❌", msg("superseded")),
}


# -- names ----------------------------------------------------------------------------------------


def get_status_sign(status: str) -> str:
    """Return the sign of *status*."""
    return STATUSES[status][0] if status in STATUSES else "❓"


def get_status_class(status: str) -> str:
    """Return the name of *status* in a CSS class."""
    return status if status in STATUSES else "unknown"


def translate_status(status: str, language: str) -> str:
    """Return the word for *status*; one the table does not have keeps its own name."""
    return STATUSES[status][1].translate(language) if status in STATUSES else one_line(status)


def format_title(record: Record) -> str:
    """Return the text of a link to *record*."""
    return one_line(f"{record.id} {record.title}")


def list_authors(record: Record, names: Iterable[str]) -> list[str]:
    """Return who wrote *record*, each once: of an imported one who wrote it where it comes from, then *names*."""
    return [*dict.fromkeys(filter(None, (str(record.extra.get(ORIGINAL_AUTHOR, "")), *names)))]


def format_author(version: RecordVersion) -> str:
    """Return who wrote *version*: the person, and the agent that did it for them."""
    return f"{version.author} ({version.host})" if version.host else version.author


# -- templates ------------------------------------------------------------------------------------

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def load_macros(wiki: Wiki) -> Callable[[str], Any]:
    """Return a function that gives the macros of a template of TEMPLATES by its name; they know *wiki*."""
    templates = _load_templates(wiki.config.language)
    return cache(lambda name: templates.select_template([f"{name}.html", f"{name}.xml"]).make_module({"wiki": wiki}))


@cache
def _load_templates(language: str) -> Environment:
    """Return the templates, in which messages come out in *language* and all other values are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from jinja2.ext import Extension

    class OneLine(Extension):
        """Takes the line ends and the indentation out of a template of HTML: neither is meant for the page."""

        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            return source if name and name.endswith(".xml") else "".join(map(str.strip, source.splitlines()))

    # What a macro returns is markupsafe's Markup, what Python made is Html; both say so by __html__.
    def show(value: object) -> Html:
        if hasattr(value, "__html__"):
            return Html(value)
        return Html(html.escape(value.translate(language) if isinstance(value, Message) else str(value)))

    def join(values: Iterable[object], separator: str) -> Html:
        return Html(html.escape(separator).join(map(show, filter(None, values))))

    # Jinja's own escaping writes quotes in another way than html.escape: *show* is there first.
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        extensions=[OneLine],
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show,
        trim_blocks=True,
    )
    found.filters |= {"join": join, "one_line": one_line, "first_sentence": first_sentence, "quote": quote}
    found.filters |= {
        "title": format_title,
        "authors": list_authors,
        "author": format_author,
        "reference": parse_reference,
    }
    found.filters |= {"sign": get_status_sign, "class": get_status_class, "folder": get_path_folder}
    found.filters |= {"aliases": list_aliases, "extra": get_extra_field, "own_fields": list_own_fields}
    found.filters["short_form"] = partial(render_short_form, language=language)
    found.filters |= {"xml": escape_xml, "quote_xml": lambda text: Html(quoteattr(text.translate(_NO_XML)))}
    found.globals |= {"msg": msg, "GLOBAL": GLOBAL, "LIVE": LIVE, "diff_lines": diff_lines}
    found.globals |= {"propose_url": build_proposal_url, "commit_url": build_commit_url}
    return found


_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))
"""Characters that no XML may hold and that `one_line` lets through."""


def escape_xml(text: str, *, lines: bool = False) -> Html:
    """Return *text* as XML: on one line, or with its *lines*."""
    return Html(escape((text if lines else one_line(text)).translate(_NO_XML)))


def get_extra_field(record: Record, key: str) -> str:
    """Return what the front matter says under *key*, which only some records have."""
    return one_line(str(record.extra.get(key) or ""))


def build_proposal_url(edit: str, title: str) -> str:
    """Return where the code host opens an issue with *title*; "" where *edit*, its way to edit files, is not known."""
    address, found, _ = edit.partition("/-/edit/") if "/-/edit/" in edit else edit.partition("/edit/")
    form = "/-/issues/new?issue%5Btitle%5D=" if "/-/" in found else "/issues/new?title="
    return address + form + quote(one_line(title), safe="") if found else ""


def build_commit_url(wiki: Wiki, record: Record) -> str:
    """Return where the code host shows the commit that has done away with a pitfall; "" where that is not known."""
    top, found, _ = wiki.sources.timeline.code.get(record.scope, "").partition("/blob/HEAD/")
    fixed_by = str(record.extra.get(FIXED_BY) or "")
    return f"{top}/commit/{quote(fixed_by, safe='')}" if found and fixed_by else ""


# -- what differs between two texts, word by word -------------------------------------------------

CONTEXT_LINES = 1
"""Unchanged lines shown before and after a change."""
MAX_DIFF_WORDS = 4_000
"""Words beyond which a changed passage is shown as taken out and put in as a whole."""

_WORD = re.compile("[^\\W\x00-\u2e7f]|\\w+|\\s+|.")
"""One character of a script without spaces (期限), else a word, white space, or a sign."""
_MARKER = re.compile(r"(?m)^<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->\n?")


class DiffPiece(NamedTuple):
    """A run of text: in both ("="), only in the old ("-") or only in the new ("+")."""

    sign: str
    text: str

    def render(self) -> Html:
        """Return the text, marked where it is in one of the two only."""
        tag = {"-": "del", "+": "ins"}.get(self.sign, "")
        return Html(f"<{tag}>{html.escape(self.text)}</{tag}>") if tag else join_html(self.text)


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Return *old* and *new* as one run of pieces."""
    before, after = (_WORD.findall(text) for text in (old, new))
    if len(before) + len(after) > MAX_DIFF_WORDS:
        return [DiffPiece("-", old), DiffPiece("+", new)]
    found: list[DiffPiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(DiffPiece("=", "".join(before[a:b])))
        else:
            pieces = (DiffPiece("-", "".join(before[a:b])), DiffPiece("+", "".join(after[c:d])))
            found += [piece for piece in pieces if piece.text]
    return found


def render_side_by_side(old: str, new: str) -> tuple[Html, Html]:
    """Return *old* with what is gone marked, and *new* with what has come."""
    pieces = diff_words(old, new)
    left, right = ([piece.render() for piece in pieces if piece.sign != sign] for sign in "+-")
    return join_html(*left), join_html(*right)


def diff_lines(old: str, new: str) -> list[Html]:
    """Return what changed from one version of a record file to the next, line by line; "" between distant lines."""
    before, after = (_MARKER.sub("", text).splitlines() for text in (old, new))
    rows: list[Html] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        rows += [Html("")] if rows else []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [join_html(line) for line in before[a:b] if line.strip()]
            else:
                rows += _iter_diff_lines(diff_words("\n".join(before[a:b]), "\n".join(after[c:d])))
    return rows


def _iter_diff_lines(pieces: list[DiffPiece]) -> Iterator[Html]:
    """Yield *pieces* line by line, those of either text that have any letters."""
    row: list[Html] = []
    for piece in pieces:
        for number, line in enumerate(piece.text.split("\n")):
            if number:
                yield from [join_html(*row)] if row else []
                row = []
            row += [DiffPiece(piece.sign, line).render()] if line else []
    yield from [join_html(*row)] if row else []
