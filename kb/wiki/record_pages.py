"""Pages of the wiki on records and on archived sessions.

Whatever a text says, it is shown inside a frame of its own and its citations become links.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.i18n import msg
from kb.records.model import GLOBAL, Reference
from kb.text.segment import normalise
from kb.wiki.render import (
    Html,
    escape_markdown,
    escape_title,
    format_link,
    format_plain_title,
    format_table,
    limit_open_brackets,
    parse_reference,
    replace_citations,
)
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page

if TYPE_CHECKING:
    from kb.sessions.session_archive import SessionArchive

MAX_SECTION_CHARACTERS = 300_000
"""Characters of a section beyond which it is shown as it stands: markdown of a megabyte would hold up the wiki."""
RELATED_PARTS = (
    (msg("Cited by"), "record.cited_by"),
    (msg("Similar records"), "record.similar"),
    (msg("History"), "record.history"),
    (msg("Facts"), "record.facts"),
)
"""What stands below the words of a record: title and macro."""


class CitationLinker:
    """Turns the citations of one text into links, and keeps those that lead nowhere."""

    def __init__(self, wiki: Wiki, scope: str, uri: str) -> None:
        """Read citations as *scope* means them, on the page *uri*."""
        self.wiki = wiki
        self.scope = scope
        self.uri = uri
        self.broken: list[str] = []

    def link_citations(self, text: str) -> str:
        """Return the markdown *text* with its citations as links."""
        limited = limit_open_brackets(text.strip("\n"))
        return replace_citations(limited, self._link_citation, self._link_wiki_link, self._link_number)

    def _link_number(self, number: int, words: str) -> str:
        position = self.wiki.library.by_number.get((self.scope, number))
        if position is None or self.wiki.library.uris[position] == self.uri:
            return words
        return self._format_target(position, words, words, is_hidden=False)

    def _link_citation(self, reference: Reference) -> str:
        words = f"[{reference.project}:{reference.id}]" if reference.project else f"[{reference.id}]"
        position = self.wiki.library.find(reference, self.scope)
        return self._format_target(position, words, words, self.wiki.is_hidden(reference, self.scope))

    def _link_wiki_link(self, words: str, label: str) -> str:
        library, position = self.wiki.library, self.wiki.library.find_link_target(words, self.scope)
        is_hidden = self.wiki.is_hidden(parse_reference(words), self.scope)
        is_hidden = is_hidden or normalise(words) in self.wiki.hidden_titles
        title = "" if position is None or label else escape_title(library.records[position].title)
        return self._format_target(position, label, f"[[{words}]]", is_hidden, title)

    def _format_target(self, position: int | None, shown: str, written: str, is_hidden: bool, title: str = "") -> str:
        if position is not None:
            record = self.wiki.library.records[position]
            hint = f"{self.wiki.label_status(record.status)} · {format_plain_title(record.title)}"
            return format_link(title or escape_markdown(shown), self.wiki.library.uris[position], self.uri, hint)
        if is_hidden:
            return escape_markdown(written)
        self.broken.append(written)
        return escape_markdown(f"{written} ⚠️ {self.wiki.translate(msg('no such record'))}")


def frame_text(text: str, frame: str = "kb-text") -> list[str]:
    """Return the markdown *text*, which is not the wiki's own, as parts of a page."""
    return [Html(f'<div class="{frame}">'), text, Html("</div>")]


# -- records --------------------------------------------------------------------------------------


def build_record_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the record at *position* of the library."""
    record, uri = wiki.library.records[position], wiki.library.uris[position]
    citing = CitationLinker(wiki, record.scope, uri)
    parts = [wiki.render("record.crumbs", position), f"# *{escape_markdown(record.id)}* {escape_title(record.title)}"]
    parts.append(wiki.render("record.head", position))
    if record.sections and record.sections[0].name != "decision":
        parts.append(wiki.render("record.lead", position))
    parts += [Html('<div class="kb-record">'), wiki.render("record.box", position)]
    parts.append(Html('<div class="kb-body"><div class="kb-words">'))
    for section in record.sections:
        # The heading is the author's; only a section that has none takes the name of its kind.
        heading = section.heading or (wiki.label_section(section.name, record.kind) if section.name else "")
        parts += [f"## {escape_title(heading)}", *_render_text(citing, section.text)]
    parts.append(Html("</div>"))
    if record.user.strip():
        parts += [f"## {wiki.format_message(msg('Notes by people'))}", *_render_text(citing, record.user, "kb-person")]
    for title, macro in RELATED_PARTS:
        parts += wiki.render_part(title, macro, position)
    parts += [Html("</div></div>"), wiki.render("record.near", position)]
    return WikiPage(uri, tuple(parts), source=record.path, broken=tuple(citing.broken))


def _render_text(citing: CitationLinker, text: str, frame: str = "kb-text") -> list[str]:
    """Return *text* as parts of a page; a very long one without links, as it is in the file."""
    if len(text) <= MAX_SECTION_CHARACTERS:
        return frame_text(citing.link_citations(text), frame)
    return [citing.wiki.render("record.remark", len(text)), citing.wiki.render("record.plain", text)]


# -- archived sessions ----------------------------------------------------------------------------

SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
MAX_FORM_CHARACTERS = 100_000
"""Characters of one form that are shown."""


def iter_session_pages(wiki: Wiki) -> Iterator[WikiPage]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    yield build_list_page(SESSIONS, wiki.translate(msg("Sessions")), *_iter_session_lists(wiki))
    for position in range(len(wiki.sessions)):
        yield build_session_page(wiki, position)


def _iter_session_lists(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[tuple[SessionArchive, str]]] = {}
    for (session, _), uri in zip(wiki.sessions, wiki.session_uris, strict=True):
        projects.setdefault(session.project, []).append((session, uri))
    for project, rows in projects.items():
        yield f"## {escape_markdown(project) or wiki.format_message(msg('Global'))}"
        yield wiki.render("record.sessions", rows)


def build_session_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the session at *position*: its facts, its forms, the shortest first, and its report."""
    (session, forms), uri = wiki.sessions[position], wiki.session_uris[position]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.translate(label), escape_markdown(value)) for label, value in facts if value]
    head = (wiki.translate(msg("Project")), escape_markdown(session.project))
    citing = CitationLinker(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {escape_markdown(session.name)}", format_table(head, rows)]
    for name, text in forms.items():
        parts.append(f"## {wiki.format_message(FORMS[name])}")
        parts += frame_text(citing.link_citations(text[:MAX_FORM_CHARACTERS]))
        parts += [wiki.format_message(msg("The rest is in the archive."))] if len(text) > MAX_FORM_CHARACTERS else []
    return WikiPage(uri, tuple(parts))
