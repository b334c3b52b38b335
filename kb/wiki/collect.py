"""From a knowledge base to the wiki of it: everything is asked here, once, and what is to stay private is left here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.checks.collect_checks import checked_again
from kb.history.timeline import Story, story
from kb.records.model import GLOBAL, Record
from kb.search.answer import all_synonyms
from kb.search.browser_params import wording
from kb.sessions.session_archive import Session, session_file
from kb.wiki.session_pages import FORMS
from kb.wiki.visibility import Hidden, hidden, speaks_of
from kb.wiki.wiki_model import Archive, Told, Wiki, wiki

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.checks.findings import Finding
    from kb.knowledge_base import KnowledgeBase
    from kb.writing.inbox import Held
    from kb.writing.reviews import Sides


def gathered(kb: KnowledgeBase) -> Wiki:
    """Return the wiki of *kb*, without what its settings leave out."""
    records = kb.records()
    without = hidden(kb.config.wiki_without)
    private = [record for record in records if without.record(record)]
    told = Told(
        sessions=list(_sessions(kb, without, private)) if kb.config.wiki_sessions == "show" else (),
        story=_story(story(kb), private),
        reviews=list(_reviews(kb, without, private)),
        held=list(_held(kb, without, private)),
        findings=list(_findings(kb, records, private)),
        hidden=private,
        today=kb.today(),
        wording=wording(() if private else all_synonyms(kb)),
    )
    return wiki((record for record in records if not without.record(record)), told, kb.config)


def _sessions(kb: KnowledgeBase, without: Hidden, private: Sequence[Record]) -> Iterator[Archive]:
    for session in kb.sessions():
        scope = GLOBAL if session.project in ("", GLOBAL) else f"project/{session.project}"
        forms = _forms(kb, session)
        if scope not in without.scopes and not speaks_of("\n".join((session.task, *forms.values())), private):
            yield Archive(session, forms)


def _forms(kb: KnowledgeBase, session: Session) -> dict[str, str]:
    """Return the forms of *session*; an archive may have lost some."""
    found = {}
    for name in FORMS:
        try:
            found[name] = session_file(kb, session, f"{name}.md")
        except FileNotFoundError:
            continue
    return found


def _story(told: Story, private: Sequence[Record]) -> Story:
    """Return *told* without the subjects of commits that give away what is private."""
    if not private:
        return told
    return told._replace(
        versions={
            path: tuple(one._replace(subject="") if speaks_of(one.subject, private) else one for one in versions)
            for path, versions in told.versions.items()
        }
    )


def _reviews(kb: KnowledgeBase, without: Hidden, private: Sequence[Record]) -> Iterator[Sides]:
    for review in kb.reviews():
        sides = kb.sides(review.branch)
        if not any(map(without.record, (review.record, *sides.old))) and not speaks_of(sides.reasons, private):
            yield sides


def _held(kb: KnowledgeBase, without: Hidden, private: Sequence[Record]) -> Iterator[Held]:
    for held in kb.held():
        one = held.candidate
        told = "\n".join((one.title, *held.reasons))
        if not without.has(one.scope or GLOBAL, one.kind, one.tags) and not speaks_of(told, private):
            yield held


def _findings(kb: KnowledgeBase, records: Sequence[Record], private: Sequence[Record]) -> Iterator[Finding]:
    paths = {record.path for record in private}
    for finding in checked_again(kb, records):
        told = f"{finding.message.translate(kb.config.language)} {finding.fix.translate(kb.config.language)}"
        if finding.path not in paths and not speaks_of(told, private):
            yield finding
