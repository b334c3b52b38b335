"""The archived sessions: a list of them, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator

from kb.record import GLOBAL
from kb.text import first_sentence
from kb.wiki.markup import link, plain, table
from kb.wiki.recordpage import Citing
from kb.wiki.whole import Page, Wiki
from kb.words import say

SESSIONS = "sessions/index.md"


def session_pages(wiki: Wiki) -> Iterator[Page]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    uri = SESSIONS
    words = (say("Session"), say("Project"), say("Time"), say("Task"))
    rows = [
        [
            link(plain(session.name), own, uri),
            plain(session.project),
            plain(session.time),
            plain(first_sentence(session.task)),
        ]
        for (session, _), own in zip(wiki.sessions, wiki.session_uris, strict=True)
    ]
    yield Page(uri, (f"# {wiki.word(say('Sessions'))}", table([wiki.word(word) for word in words], rows)), listing=True)
    for place in range(len(wiki.sessions)):
        yield session_page(wiki, place)


def session_page(wiki: Wiki, place: int) -> Page:
    """Return the page of the session at *place*: its facts and its forms, the shortest first."""
    session, forms = wiki.sessions[place]
    uri = wiki.session_uris[place]
    facts = [(say("Time"), session.time), (say("Task"), session.task)]
    rows = [(wiki.word(label), plain(value)) for label, value in facts if value]
    head = (wiki.word(say("Project")), plain(session.project))
    citing = Citing(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    bodies = [part for name, text in forms.items() for part in (f"## {plain(name)}", citing.body(text))]
    return Page(uri, (f"# {plain(session.name)}", table(head, rows), *bodies), searched=4)
