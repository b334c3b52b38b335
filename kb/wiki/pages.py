"""The pages of the wiki: records in, markdown and safe HTML out. Nothing here knows mkdocs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote

from kb.wiki.graph import GRAPH, graph_page
from kb.wiki.health_page import HEALTH, health_page
from kb.wiki.home_page import home_page
from kb.wiki.list_pages import KINDS, RECORDS, SCOPES, list_drafts
from kb.wiki.page_fingerprints import Stamps, ready
from kb.wiki.pending_page import INBOX, REVIEWS, inbox_page, reviews_page
from kb.wiki.record_page import record_page
from kb.wiki.session_pages import SESSIONS, session_pages
from kb.wiki.views import VIEWS, views_page
from kb.wiki.wiki_model import Draft, Page, Wiki


def pages(wiki: Wiki) -> list[Page]:
    """Return every page of the wiki, the home page first."""
    return [draft.make() for draft in drafts(wiki, Stamps(wiki))]


def drafts(wiki: Wiki, stamps: Stamps) -> Iterator[Draft]:
    """Yield every page of the wiki, the home page first; those of which there may be many are not made yet."""
    few = (home_page, reviews_page, inbox_page, health_page, graph_page, views_page)
    yield from (ready(page(wiki)) for page in few)
    yield from list_drafts(wiki, stamps)
    yield from map(ready, session_pages(wiki))
    for place, uri in wiki.library.uris.items():
        yield Draft(uri, stamps.pages[place], partial(record_page, wiki, place))


def navigation(wiki: Wiki) -> list[str]:
    """Return the pages that the navigation shows: few, and the same for any size, so that a large wiki builds fast."""
    lists = (listed.uri for listed in (wiki.statuses, wiki.tags, wiki.paths, wiki.months))
    sessions = [SESSIONS] if wiki.sessions else []
    return ["index.md", REVIEWS, INBOX, HEALTH, GRAPH, RECORDS, VIEWS, KINDS, SCOPES, *lists, *sessions]


def located(wiki: Wiki, page: Page, href: str) -> str:
    """Return the page of the wiki that *href*, a link to a record file on *page*, means, with its anchor; or ""."""
    path, mark, anchor = href.partition("#")
    if not page.source or not path:
        return ""
    aimed = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), unquote(path)))
    place = wiki.library.by_path.get(aimed)
    return "" if place is None else wiki.library.uris[place] + mark + anchor
