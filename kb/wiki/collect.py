"""From a knowledge base to the wiki of it: everything is asked here, once, and what is to stay private is left here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.run_checks import recheck_records
from kb.history.timeline import Timeline, build_timeline
from kb.records.kinds import find_kind
from kb.records.model import GLOBAL, Record
from kb.search.synonyms import collect_word_lists, load_synonyms
from kb.sessions.session_archive import SessionArchive, read_session_file
from kb.text.segment import normalise
from kb.wiki.record_pages import FORMS
from kb.wiki.wiki_model import SessionForms, Wiki, WikiSources, build_wiki

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.checks.findings import Finding
    from kb.knowledge_base import KnowledgeBase
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import ReviewSides


class WikiExclusions(NamedTuple):
    """What is left out."""

    scopes: frozenset[str]
    kinds: frozenset[str]
    tags: frozenset[str]

    def is_excluded(self, scope: str, kind: str, tags: Iterable[str]) -> bool:
        """Return whether what holds in *scope*, is of *kind* and has *tags* is left out."""
        return scope in self.scopes or kind in self.kinds or not self.tags.isdisjoint(map(normalise, tags))

    def is_record_excluded(self, record: Record) -> bool:
        """Return whether *record* is left out."""
        return self.is_excluded(record.scope, record.kind, record.tags)


def parse_exclusions(words: Sequence[str]) -> WikiExclusions:
    """Return what *words* leave out: `#tag`, a kind, `global`, or a project with or without `project/`."""
    tags = frozenset(normalise(word) for word in words if word.startswith("#"))
    others = [word for word in words if not word.startswith("#")]
    kinds = frozenset(kind.name for word in others if (kind := find_kind(word)))
    scopes = (word if word == GLOBAL or word.startswith("project/") else f"project/{word}" for word in others)
    return WikiExclusions(frozenset(scopes), kinds, tags)


def is_revealing(text: str, records: Collection[Record]) -> bool:
    """Return whether *text* gives away one of *records*: its title, its file or its uid."""
    said = normalise(text) if records else ""
    return any(
        normalise(one.title) in said or (one.path and one.path in text) or (one.uid and one.uid in text)
        for one in records
    )


def collect_wiki(kb: KnowledgeBase) -> Wiki:
    """Return the wiki of *kb*, without what its settings leave out."""
    records = kb.records()
    without = parse_exclusions(kb.config.wiki_without)
    private = [record for record in records if without.is_record_excluded(record)]
    told = WikiSources(
        sessions=list(_collect_sessions(kb, without, private)) if kb.config.wiki_sessions == "show" else (),
        story=_hide_private_subjects(build_timeline(kb), private),
        reviews=list(_collect_reviews(kb, without, private)),
        held=list(_collect_held(kb, without, private)),
        findings=list(_collect_findings(kb, records, private)),
        hidden=private,
        today=kb.today(),
        wording=collect_word_lists(() if private else load_synonyms(kb)),
    )
    return build_wiki((record for record in records if not without.is_record_excluded(record)), told, kb.config)


def _collect_sessions(kb: KnowledgeBase, without: WikiExclusions, private: Sequence[Record]) -> Iterator[SessionForms]:
    for session in kb.sessions():
        scope = GLOBAL if session.project in ("", GLOBAL) else f"project/{session.project}"
        forms = _read_forms(kb, session)
        if scope not in without.scopes and not is_revealing("\n".join((session.task, *forms.values())), private):
            yield SessionForms(session, forms)


def _read_forms(kb: KnowledgeBase, session: SessionArchive) -> dict[str, str]:
    """Return the forms of *session*; an archive may have lost some."""
    found = {}
    for name in FORMS:
        try:
            found[name] = read_session_file(kb, session, f"{name}.md")
        except FileNotFoundError:
            continue
    return found


def _hide_private_subjects(told: Timeline, private: Sequence[Record]) -> Timeline:
    """Return *told* without the subjects of commits that give away what is private."""
    if not private:
        return told
    return told._replace(
        versions={
            path: tuple(one._replace(subject="") if is_revealing(one.subject, private) else one for one in versions)
            for path, versions in told.versions.items()
        }
    )


def _collect_reviews(kb: KnowledgeBase, without: WikiExclusions, private: Sequence[Record]) -> Iterator[ReviewSides]:
    for review in kb.reviews():
        sides = kb.sides(review.branch)
        if not any(map(without.is_record_excluded, (review.record, *sides.old))) and not is_revealing(
            sides.reasons, private
        ):
            yield sides


def _collect_held(kb: KnowledgeBase, without: WikiExclusions, private: Sequence[Record]) -> Iterator[HeldCandidate]:
    for held in kb.held():
        one = held.candidate
        told = "\n".join((one.title, *held.reasons))
        if not without.is_excluded(one.scope or GLOBAL, one.kind, one.tags) and not is_revealing(told, private):
            yield held


def _collect_findings(kb: KnowledgeBase, records: Sequence[Record], private: Sequence[Record]) -> Iterator[Finding]:
    paths = {record.path for record in private}
    for finding in recheck_records(kb, records):
        told = f"{finding.message.translate(kb.config.language)} {finding.fix.translate(kb.config.language)}"
        if finding.path not in paths and not is_revealing(told, private):
            yield finding
