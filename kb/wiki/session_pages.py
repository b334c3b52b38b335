"""The archived sessions: a list of them, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator

from kb.i18n import msg
from kb.records.model import GLOBAL
from kb.text.segment import first_sentence
from kb.wiki.html import Html, element, inside, to
from kb.wiki.markup import plain, table
from kb.wiki.record_page import Citing, written
from kb.wiki.wiki_model import Page, Wiki

SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
LONGEST = 100_000
"""Characters of one form that are shown."""


def session_pages(wiki: Wiki) -> Iterator[Page]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    title = wiki.word(msg("Sessions"))
    yield Page(SESSIONS, (f"# {title}", *_by_project(wiki)), listing=True, name=title)
    for place in range(len(wiki.sessions)):
        yield session_page(wiki, place)


def _by_project(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[int]] = {}
    for place, (session, _) in enumerate(wiki.sessions):
        projects.setdefault(session.project, []).append(place)
    for project, places in projects.items():
        yield f"## {plain(project) or plain(wiki.word(msg('Global')))}"
        yield _list(wiki, places)


def _list(wiki: Wiki, places: list[int]) -> Html:
    words = (msg("Time"), msg("Session"), msg("Task"))
    rows = []
    for place in places:
        session = wiki.sessions[place].session
        link = element("a", session.name, href=to(wiki.session_uris[place]))
        rows.append((inside(session.time), link, inside(first_sentence(session.task))))
    head = element("tr", *(element("th", wiki.word(word)) for word in words))
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("table", element("thead", head), body, data_kb_list="1")


def session_page(wiki: Wiki, place: int) -> Page:
    """Return the page of the session at *place*: its facts, its forms, the shortest first, and its report."""
    session, forms = wiki.sessions[place]
    uri = wiki.session_uris[place]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.word(label), plain(value)) for label, value in facts if value]
    head = (wiki.word(msg("Project")), plain(session.project))
    citing = Citing(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {plain(session.name)}", table(head, rows)]
    for name, text in forms.items():
        parts += [f"## {plain(wiki.word(FORMS[name]))}", *written(citing.body(text[:LONGEST]))]
        parts += [plain(wiki.word(msg("The rest is in the archive.")))] if len(text) > LONGEST else []
    return Page(uri, tuple(parts))
