"""What the last build of a wiki has left: which page was made of what, so that the next build makes the others only."""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import kb
from kb.wiki.page_fingerprints import hash_parts
from kb.wiki.wiki_model import Wiki

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

FORM = 1
"""The version of the form in which a build is remembered."""


class BuiltPage(NamedTuple):
    """A page as it was built."""

    stamp: str
    file: str
    """Where it stands, relative to the site's top."""
    wrong: tuple[str, ...]
    """What was wrong with it."""


class BuiltSite:
    """A site as it was built, or as far as it is."""

    def __init__(self, frame: str = "") -> None:
        """Begin with nothing but the stamp of what all pages have in common."""
        self.frame = frame
        self.pages: dict[str, BuiltPage] = {}
        self.files: dict[str, str] = {}
        """File that is no page, relative to the site's top → its stamp; "": it is made every time."""
        self.docs: dict[str, str] = {}
        """What the search finds, in the order of its numbers: address → stamp."""


def load_built_site(kb: KnowledgeBase, target: str) -> BuiltSite:
    """Return what the site at *target* was built of; of none, or one that is not there any more, nothing."""
    told = kb.state.load(*locate_state(target), "built.json")
    if not told or told.get("form") != FORM:
        return BuiltSite()
    built = BuiltSite(told["frame"])
    built.pages.update(
        (uri, BuiltPage(made_of, file, tuple(wrong))) for uri, (made_of, file, *wrong) in told["pages"].items()
    )
    built.files.update(told["files"])
    built.docs.update(told["docs"])
    return built


def save_built_site(kb: KnowledgeBase, target: str, built: BuiltSite) -> None:
    """Keep what the site at *target* was built of."""
    pages = {uri: [page.stamp, page.file, *page.wrong] for uri, page in built.pages.items()}
    told = {"form": FORM, "frame": built.frame, "pages": pages, "files": built.files, "docs": built.docs}
    with contextlib.suppress(OSError):  # where nothing can be kept, all is built anew
        kb.state.save(told, *locate_state(target), "built.json")


def clear_built_site(kb: KnowledgeBase, target: str) -> None:
    """Remember nothing of the site at *target*: it is about to change."""
    with contextlib.suppress(OSError):
        kb.state.save({}, *locate_state(target), "built.json")


def locate_state(target: str) -> tuple[str, str]:
    """Return the folder of the state in which is kept what belongs to the site at *target*."""
    return "wiki", sha256(os.path.realpath(target).encode()).hexdigest()[:16]


def hash_common_parts(wiki: Wiki, site: object) -> str:
    """Return the stamp of what all pages have in common: programs, settings, what of *wiki* is no single record's."""
    story = wiki.told.story
    hosts = story and (story.edit, story.request, story.code)
    hidden = sorted(wiki.hidden), sorted(wiki.hidden_titles)
    sessions = [session.session.name for session in wiki.sessions]
    return hash_parts(
        _list_program_versions(), site, wiki.config, hosts, hidden, sessions, [*wiki.kinds], [*wiki.scopes]
    )


def _list_program_versions() -> list[object]:
    """Return the versions of what makes pages; of kb itself the times of its files: they change while it is written."""
    top = os.path.dirname(kb.__file__)
    files = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name[-4:] != ".pyc")
    versions = [version(name) for name in ("mkdocs", "mkdocs-material", "markdown-it-py", "pygments", "jinja2")]
    return [versions, sorted((path, os.stat(path).st_mtime_ns) for path in files)]


def remove_stale_files(folder: str, before: BuiltSite, now: BuiltSite) -> None:
    """Delete below *folder* the files that were there *before* and are not *now*, and the folders left empty."""
    was, left = ({*built.files, *(page.file for page in built.pages.values())} for built in (before, now))
    for name in was - left:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            os.unlink(path)
            place = os.path.dirname(path)
            while place != folder and not os.listdir(place):
                os.rmdir(place)
                place = os.path.dirname(place)
