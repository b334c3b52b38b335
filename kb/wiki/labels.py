"""What the wiki calls things, and the small pieces that many pages show: a status, a link to a record, a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.library import parse_project
from kb.wiki.markup import escape_markdown

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
