"""What the wiki calls things, and the small pieces that many pages show: a status, a link to a record, a difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.library import parse_project
from kb.wiki.render import Html, element, escape_markdown, join_html, join_with, link_to

if TYPE_CHECKING:
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


def label_scope(wiki: Wiki, scope: str) -> str:
    """Return what *scope* is called."""
    return parse_project(scope) or wiki.translate(msg("Global"))


def get_status_sign(status: str) -> str:
    """Return the sign of *status*."""
    return STATUSES[status][0] if status in STATUSES else "❓"


def get_status_class(status: str) -> str:
    """Return the name of *status* in a CSS class."""
    return status if status in STATUSES else "unknown"


def translate_status(status: str, language: str) -> str:
    """Return the word for *status*; one the table does not have keeps its own name."""
    return STATUSES[status][1].translate(language) if status in STATUSES else one_line(status)


def label_status(wiki: Wiki, status: str) -> str:
    """Return the word for *status* in the language of the wiki."""
    return translate_status(status, wiki.config.language)


def label_status_with_sign(wiki: Wiki, status: str) -> str:
    """Return sign and word of *status*, as text."""
    return f"{get_status_sign(status)} {label_status(wiki, status)}"


def format_title(record: Record) -> str:
    """Return the text of a link to *record*."""
    return one_line(f"{record.id} {record.title}")


def format_author(version: RecordVersion) -> str:
    """Return who wrote *version*: the person, and the agent that did it for them."""
    return f"{version.author} ({version.host})" if version.host else version.author


# -- parts of a page ------------------------------------------------------------------------------


def render_message(wiki: Wiki, message: Message) -> str:
    """Return *message* as a paragraph of markdown."""
    return escape_markdown(wiki.translate(message))


def render_titled_part(wiki: Wiki, title: Message, text: str) -> list[str]:
    """Return *text* under *title*, as parts of a page; nothing for no text."""
    return [f"## {render_message(wiki, title)}", text] if text else []


def render_badge(wiki: Wiki, status: str) -> Html:
    """Return sign and word of *status*."""
    sign = element("span", get_status_sign(status), class_="kb-sign")
    return element("span", sign, f" {label_status(wiki, status)}", class_=f"kb-status kb-{get_status_class(status)}")


def render_status_sign(wiki: Wiki, status: str) -> Html:
    """Return the sign of *status*, with its word for those who do not see it."""
    word, classes = label_status(wiki, status), f"kb-sign kb-{get_status_class(status)}"
    return element("span", get_status_sign(status), class_=classes, title=word, role="img", aria_label=word)


def render_record_link(wiki: Wiki, position: int, text: str = "") -> Html:
    """Return a link to the record at *position*."""
    record = wiki.library.records[position]
    hint = f"{label_status_with_sign(wiki, record.status)} · {one_line(record.title)}"
    return link_to(wiki.library.uris[position], text or format_title(record), title=hint)


def render_entry(wiki: Wiki, position: int) -> Html:
    """Return sign, link and scope of the record at *position*, for a list."""
    record = wiki.library.records[position]
    scope = "" if record.scope == GLOBAL else f" · {parse_project(record.scope)}"
    return join_html(render_status_sign(wiki, record.status), " ", render_record_link(wiki, position), scope)


def render_tag_links(wiki: Wiki, record: Record) -> Html:
    """Return the tags of *record*, each leading to those that share it."""
    return join_with(" ", (link_to(wiki.tags.uris[tag], f"#{tag}", class_="kb-tag") for tag in record.tags))


def render_proposal_link(wiki: Wiki, title: str) -> Html:
    """Return a link that opens an issue with *title* at the code host; "" where the host is not known."""
    edit = wiki.sources.timeline.edit
    address, found, _ = edit.partition("/-/edit/") if "/-/edit/" in edit else edit.partition("/edit/")
    if not found:
        return Html("")
    form = "/-/issues/new?issue%5Btitle%5D=" if "/-/" in found else "/issues/new?title="
    return element("a", wiki.translate(msg("Propose a change")), href=address + form + quote(one_line(title), safe=""))


# -- what differs between two texts, word by word -------------------------------------------------

AROUND = 1
"""Unchanged lines shown before and after a change."""
LONGEST_DIFF = 4_000
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
        return element({"-": "del", "+": "ins"}[self.sign], self.text) if self.sign in "-+" else join_html(self.text)


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Return *old* and *new* as one run of pieces."""
    before, after = (_WORD.findall(text) for text in (old, new))
    if len(before) + len(after) > LONGEST_DIFF:
        return [DiffPiece("-", old), DiffPiece("+", new)]
    found: list[DiffPiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(DiffPiece("=", "".join(before[a:b])))
            continue
        found += [DiffPiece("-", "".join(before[a:b]))] if b > a else []
        found += [DiffPiece("+", "".join(after[c:d]))] if d > c else []
    return found


def render_side_by_side(old: str, new: str) -> tuple[Html, Html]:
    """Return *old* with what is gone marked, and *new* with what has come."""
    pieces = diff_words(old, new)
    left, right = ([piece.render() for piece in pieces if piece.sign != sign] for sign in "+-")
    return join_html(*left), join_html(*right)


def render_line_diff(old: str, new: str) -> Html:
    """Return what changed from one version of a record file to the next, line by line and word by word."""
    before, after = (_MARKER.sub("", text).splitlines() for text in (old, new))
    rows: list[Html] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND):
        rows += [element("p", "⋯", class_="kb-gap")] if rows else []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [element("p", line) for line in before[a:b] if line.strip()]
            else:
                rows += _render_diff_lines(diff_words("\n".join(before[a:b]), "\n".join(after[c:d])))
    return element("div", *rows, class_="kb-diff") if rows else Html("")


def _render_diff_lines(pieces: list[DiffPiece]) -> Iterator[Html]:
    """Yield *pieces* as paragraphs, one for each line of either text that has any letters."""
    row: list[Html] = []
    for piece in pieces:
        head, *rest = piece.text.split("\n")
        row += [DiffPiece(piece.sign, head).render()] if head else []
        for line in rest:
            yield from [element("p", *row)] if row else []
            row = [DiffPiece(piece.sign, line).render()] if line else []
    yield from [element("p", *row)] if row else []
