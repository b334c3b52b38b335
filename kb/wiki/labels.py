"""What the wiki calls things, and the small pieces that many pages show: a status, a link to a record, a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.html import Html, element, inside, to
from kb.wiki.library import project_of
from kb.wiki.markup import plain

if TYPE_CHECKING:
    from kb.history.timeline import Version
    from kb.wiki.wiki_model import Wiki

STATUSES: Mapping[str, tuple[str, Message]] = {
    Status.PROPOSED: ("⚠️", msg("to be verified")),
    Status.ACCEPTED: ("✅", msg("in force")),
    Status.REJECTED: ("❌", msg("rejected")),
    Status.DEPRECATED: ("❌", msg("out of force")),
    Status.SUPERSEDED: ("❌", msg("superseded")),
}
NEUTRAL = msg("unknown")


def scope_label(wiki: Wiki, scope: str) -> str:
    """Return what *scope* is called."""
    return project_of(scope) or wiki.word(msg("Global"))


def mark(status: str) -> str:
    """Return the sign of *status*."""
    return STATUSES.get(status, ("❓", NEUTRAL))[0]


def status_name(status: str, language: str) -> str:
    """Return the word for *status*; one the table does not have keeps its own name."""
    return STATUSES[status][1].translate(language) if status in STATUSES else one_line(status)


def status_word(wiki: Wiki, status: str) -> str:
    """Return the word for *status* in the language of the wiki."""
    return status_name(status, wiki.config.language)


def badge(wiki: Wiki, status: str) -> Html:
    """Return sign and word of *status*."""
    signed = element("span", mark(status), class_="kb-sign")
    return element("span", signed, f" {status_word(wiki, status)}", class_=f"kb-status kb-{_class(status)}")


def _class(status: str) -> str:
    return status if status in STATUSES else "unknown"


def title_of(record: Record) -> str:
    """Return what a link to *record* says."""
    return one_line(f"{record.id} {record.title}")


def record_link(wiki: Wiki, place: int, text: str = "") -> Html:
    """Return a link to the record at *place*."""
    record = wiki.library.records[place]
    hint = f"{mark(record.status)} {status_word(wiki, record.status)} · {one_line(record.title)}"
    return element("a", text or title_of(record), href=to(wiki.library.uris[place]), title=hint)


def entry(wiki: Wiki, place: int) -> Html:
    """Return sign, link and scope of the record at *place*, for a list."""
    record = wiki.library.records[place]
    scope = "" if record.scope == GLOBAL else f" · {project_of(record.scope)}"
    return inside(sign(wiki, record.status), " ", record_link(wiki, place), scope)


def signed(version: Version) -> str:
    """Return who wrote *version*: the person, and the agent that did it for them."""
    return f"{version.author} ({version.host})" if version.host else version.author


def proposal(wiki: Wiki, about: str) -> Html:
    """Return a link to where a change of what *about* names can be asked for; "" where the host is not known."""
    edit = wiki.told.story.edit if wiki.told.story else ""
    place, found, _ = edit.partition("/-/edit/") if "/-/edit/" in edit else edit.partition("/edit/")
    if not found:
        return Html("")
    asked = "/-/issues/new?issue%5Btitle%5D=" if "/-/" in found else "/issues/new?title="
    return element("a", wiki.word(msg("Propose a change")), href=place + asked + quote(one_line(about), safe=""))


def sign(wiki: Wiki, status: str) -> Html:
    """Return the sign of *status*, with its word for those who do not see it."""
    word = status_word(wiki, status)
    return element("span", mark(status), class_=f"kb-sign kb-{_class(status)}", title=word, role="img", aria_label=word)


def items(rows: Iterable[Html], **attributes: str) -> Html:
    """Return *rows* as a list; "" for none."""
    found = [element("li", row) for row in rows]
    return element("ul", *found, **attributes) if found else Html("")


def tag_links(wiki: Wiki, record: Record) -> Html:
    """Return the tags of *record*, each leading to those that share it."""
    tags = (element("a", f"#{tag}", href=to(wiki.tags.uris[tag]), class_="kb-tag") for tag in record.tags)
    return joined(" ", tags)


def joined(joint: str, parts: Iterable[Html]) -> Html:
    """Return *parts* with *joint* between them."""
    pieces: list[str] = []
    for part in parts:
        pieces += [joint, part] if pieces else [part]
    return inside(*pieces)


def titled(wiki: Wiki, title: Message, text: str) -> list[str]:
    """Return *text* under *title*, as parts of a page; nothing for no text."""
    return [f"## {plain(wiki.word(title))}", text] if text else []
