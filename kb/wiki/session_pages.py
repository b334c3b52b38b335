"""The archived sessions: a list of them, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator

from kb.i18n import msg
from kb.records.model import GLOBAL
from kb.text.segment import first_sentence
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.markup import escape_markdown, format_table
from kb.wiki.record_page import CitationLinker, wrap_record_text
from kb.wiki.wiki_model import Wiki, WikiPage

SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
LONGEST = 100_000
"""Characters of one form that are shown."""


def iter_session_pages(wiki: Wiki) -> Iterator[WikiPage]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    title = wiki.translate_message(msg("Sessions"))
    yield WikiPage(SESSIONS, (f"# {title}", *_render_projects(wiki)), listing=True, name=title)
    for place in range(len(wiki.sessions)):
        yield build_session_page(wiki, place)


def _render_projects(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[int]] = {}
    for place, (session, _) in enumerate(wiki.sessions):
        projects.setdefault(session.project, []).append(place)
    for project, places in projects.items():
        yield f"## {escape_markdown(project) or escape_markdown(wiki.translate_message(msg('Global')))}"
        yield _render_table(wiki, places)


def _render_table(wiki: Wiki, places: list[int]) -> Html:
    words = (msg("Time"), msg("Session"), msg("Task"))
    rows = []
    for place in places:
        session = wiki.sessions[place].session
        link = element("a", session.name, href=build_href(wiki.session_uris[place]))
        rows.append((join_html(session.time), link, join_html(first_sentence(session.task))))
    head = element("tr", *(element("th", wiki.translate_message(word)) for word in words))
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("table", element("thead", head), body, data_kb_list="1")


def build_session_page(wiki: Wiki, place: int) -> WikiPage:
    """Return the page of the session at *place*: its facts, its forms, the shortest first, and its report."""
    session, forms = wiki.sessions[place]
    uri = wiki.session_uris[place]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.translate_message(label), escape_markdown(value)) for label, value in facts if value]
    head = (wiki.translate_message(msg("Project")), escape_markdown(session.project))
    citing = CitationLinker(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {escape_markdown(session.name)}", format_table(head, rows)]
    for name, text in forms.items():
        parts += [
            f"## {escape_markdown(wiki.translate_message(FORMS[name]))}",
            *wrap_record_text(citing.link_citations(text[:LONGEST])),
        ]
        parts += (
            [escape_markdown(wiki.translate_message(msg("The rest is in the archive.")))] if len(text) > LONGEST else []
        )
    return WikiPage(uri, tuple(parts))
