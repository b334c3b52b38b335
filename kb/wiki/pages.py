"""The pages of the wiki: records in, markdown and safe HTML out. Nothing here knows mkdocs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote

from kb.wiki.graph import GRAPH, build_graph_page
from kb.wiki.health_page import HEALTH, build_health_page
from kb.wiki.home_page import build_home_page
from kb.wiki.list_pages import KINDS, RECORDS, SCOPES, iter_list_drafts
from kb.wiki.page_fingerprints import PageFingerprints, build_draft
from kb.wiki.pending_page import INBOX, REVIEWS, build_inbox_page, build_reviews_page
from kb.wiki.record_page import build_record_page
from kb.wiki.session_pages import SESSIONS, iter_session_pages
from kb.wiki.views import VIEWS, build_views_page
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage


def build_pages(wiki: Wiki) -> list[WikiPage]:
    """Return every page of the wiki, the home page first."""
    return [draft.make() for draft in iter_drafts(wiki, PageFingerprints(wiki))]


def iter_drafts(wiki: Wiki, stamps: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page of the wiki, the home page first; those of which there may be many are not made yet."""
    few = (build_home_page, build_reviews_page, build_inbox_page, build_health_page, build_graph_page, build_views_page)
    yield from (build_draft(page(wiki)) for page in few)
    yield from iter_list_drafts(wiki, stamps)
    yield from map(build_draft, iter_session_pages(wiki))
    for place, uri in wiki.library.uris.items():
        yield PageDraft(uri, stamps.page_hashes[place], partial(build_record_page, wiki, place))


def list_navigation(wiki: Wiki) -> list[str]:
    """Return the pages that the navigation shows: few, and the same for any size, so that a large wiki builds fast."""
    lists = (listed.uri for listed in (wiki.statuses, wiki.tags, wiki.paths, wiki.months))
    sessions = [SESSIONS] if wiki.sessions else []
    return ["index.md", REVIEWS, INBOX, HEALTH, GRAPH, RECORDS, VIEWS, KINDS, SCOPES, *lists, *sessions]


def resolve_record_href(wiki: Wiki, page: WikiPage, href: str) -> str:
    """Return the page of the wiki that *href*, a link to a record file on *page*, means, with its anchor; or ""."""
    path, mark, anchor = href.partition("#")
    if not page.source or not path:
        return ""
    aimed = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), unquote(path)))
    place = wiki.library.by_path.get(aimed)
    return "" if place is None else wiki.library.uris[place] + mark + anchor
