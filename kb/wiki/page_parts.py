"""What the wiki calls things, and the small pieces that many pages show: a status, a link to a record, a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.library import parse_project
from kb.wiki.markup import escape_markdown
from kb.wiki.render import Html, build_href, element, join_html

if TYPE_CHECKING:
    from kb.history.timeline import RecordVersion
    from kb.wiki.wiki_model import Wiki


STATUSES: Mapping[str, tuple[str, Message]] = {
    Status.PROPOSED: ("⚠️", msg("to be verified")),
    Status.ACCEPTED: ("✅", msg("in force")),
    Status.REJECTED: ("❌", msg("rejected")),
    Status.DEPRECATED: ("❌", msg("out of force")),
    Status.SUPERSEDED: ("❌", msg("superseded")),
}
NEUTRAL = msg("unknown")


def label_scope(wiki: Wiki, scope: str) -> str:
    """Return what *scope* is called."""
    return parse_project(scope) or wiki.translate_message(msg("Global"))


def get_status_sign(status: str) -> str:
    """Return the sign of *status*."""
    return STATUSES.get(status, ("❓", NEUTRAL))[0]


def translate_status(status: str, language: str) -> str:
    """Return the word for *status*; one the table does not have keeps its own name."""
    return STATUSES[status][1].translate(language) if status in STATUSES else one_line(status)


def label_status(wiki: Wiki, status: str) -> str:
    """Return the word for *status* in the language of the wiki."""
    return translate_status(status, wiki.config.language)


def render_badge(wiki: Wiki, status: str) -> Html:
    """Return sign and word of *status*."""
    signed = element("span", get_status_sign(status), class_="kb-sign")
    return element("span", signed, f" {label_status(wiki, status)}", class_=f"kb-status kb-{_get_css_class(status)}")


def _get_css_class(status: str) -> str:
    return status if status in STATUSES else "unknown"


def format_title(record: Record) -> str:
    """Return what a link to *record* says."""
    return one_line(f"{record.id} {record.title}")


def render_record_link(wiki: Wiki, place: int, text: str = "") -> Html:
    """Return a link to the record at *place*."""
    record = wiki.library.records[place]
    hint = f"{get_status_sign(record.status)} {label_status(wiki, record.status)} · {one_line(record.title)}"
    return element("a", text or format_title(record), href=build_href(wiki.library.uris[place]), title=hint)


def render_entry(wiki: Wiki, place: int) -> Html:
    """Return sign, link and scope of the record at *place*, for a list."""
    record = wiki.library.records[place]
    scope = "" if record.scope == GLOBAL else f" · {parse_project(record.scope)}"
    return join_html(render_status_sign(wiki, record.status), " ", render_record_link(wiki, place), scope)


def format_author(version: RecordVersion) -> str:
    """Return who wrote *version*: the person, and the agent that did it for them."""
    return f"{version.author} ({version.host})" if version.host else version.author


def render_proposal_link(wiki: Wiki, about: str) -> Html:
    """Return a link to where a change of what *about* names can be asked for; "" where the host is not known."""
    edit = wiki.told.story.edit if wiki.told.story else ""
    place, found, _ = edit.partition("/-/edit/") if "/-/edit/" in edit else edit.partition("/edit/")
    if not found:
        return Html("")
    asked = "/-/issues/new?issue%5Btitle%5D=" if "/-/" in found else "/issues/new?title="
    return element(
        "a", wiki.translate_message(msg("Propose a change")), href=place + asked + quote(one_line(about), safe="")
    )


def render_status_sign(wiki: Wiki, status: str) -> Html:
    """Return the sign of *status*, with its word for those who do not see it."""
    word = label_status(wiki, status)
    return element(
        "span",
        get_status_sign(status),
        class_=f"kb-sign kb-{_get_css_class(status)}",
        title=word,
        role="img",
        aria_label=word,
    )


def render_list(rows: Iterable[Html], **attributes: str) -> Html:
    """Return *rows* as a list; "" for none."""
    found = [element("li", row) for row in rows]
    return element("ul", *found, **attributes) if found else Html("")


def render_tag_links(wiki: Wiki, record: Record) -> Html:
    """Return the tags of *record*, each leading to those that share it."""
    tags = (element("a", f"#{tag}", href=build_href(wiki.tags.uris[tag]), class_="kb-tag") for tag in record.tags)
    return join_parts(" ", tags)


def join_parts(joint: str, parts: Iterable[Html]) -> Html:
    """Return *parts* with *joint* between them."""
    pieces: list[str] = []
    for part in parts:
        pieces += [joint, part] if pieces else [part]
    return join_html(*pieces)


def render_titled_part(wiki: Wiki, title: Message, text: str) -> list[str]:
    """Return *text* under *title*, as parts of a page; nothing for no text."""
    return [f"## {escape_markdown(wiki.translate_message(title))}", text] if text else []


AROUND = 1
"""Unchanged lines shown before and after a change."""
LONGEST = 4_000
"""Words beyond which a changed passage is shown as taken out and put in as a whole."""

_WORD = re.compile("[^\\W\x00-\u2e7f]|\\w+|\\s+|.")
_MARKER = re.compile(r"(?m)^<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->\n?")


class DiffPiece(NamedTuple):
    """A run of text: in both ("="), only in the old ("-") or only in the new ("+")."""

    sign: str
    text: str


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Return *old* and *new* as one run of pieces."""
    before, after = (_WORD.findall(text) for text in (old, new))
    if len(before) + len(after) > LONGEST:
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
    left, right = ([p for p in pieces if p.sign != sign] for sign in "+-")
    return join_html(*map(_render_piece, left)), join_html(*map(_render_piece, right))


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
                rows += _render_rows(diff_words("\n".join(before[a:b]), "\n".join(after[c:d])))
    return element("div", *rows, class_="kb-diff") if rows else Html("")


def _render_rows(pieces: list[DiffPiece]) -> Iterator[Html]:
    """Yield *pieces* as paragraphs, one for each line of either text that has any letters."""
    row: list[Html] = []
    for piece in pieces:
        head, *rest = piece.text.split("\n")
        row += [_render_piece(DiffPiece(piece.sign, head))] if head else []
        for line in rest:
            yield from [element("p", *row)] if row else []
            row = [_render_piece(DiffPiece(piece.sign, line))] if line else []
    yield from [element("p", *row)] if row else []


def _render_piece(piece: DiffPiece) -> Html:
    return element({"-": "del", "+": "ins"}[piece.sign], piece.text) if piece.sign in "-+" else join_html(piece.text)
