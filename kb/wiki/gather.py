"""From a knowledge base to the wiki of it: everything is asked here, once."""

from __future__ import annotations

from kb.knowledge.story import story
from kb.values import TYPE_CHECKING
from kb.wiki.whole import Archive, Told, Wiki, wiki

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

FORMS = ("compact.md",)


def gathered(kb: KnowledgeBase) -> Wiki:
    """Return the wiki of *kb*."""
    sessions = [Archive(session, _forms(kb, session.name)) for session in kb.sessions()]
    told = Told(
        sessions=sessions,
        story=story(kb),
        reviews=[kb.sides(review.branch) for review in kb.reviews()],
        held=kb.held(),
        findings=kb.check(),
        today=kb.today(),
    )
    return wiki(kb.records(), told, kb.config)


def _forms(kb: KnowledgeBase, name: str) -> dict[str, str]:
    """Return the forms of the session *name*; an archive may have lost some."""
    found = {}
    for file in FORMS:
        try:
            found[file.partition(".")[0]] = kb.session_file(name, file)
        except FileNotFoundError:
            continue
    return found
