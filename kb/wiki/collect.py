"""Collect a knowledge base for its wiki: all reading happens here, once, and filters of the settings apply here."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.run_checks import recheck_records
from kb.history.timeline import Timeline, build_timeline
from kb.records.kinds import find_kind
from kb.records.model import GLOBAL, Record
from kb.search.synonyms import collect_word_lists, load_synonyms
from kb.sessions.session_archive import read_session_file
from kb.text.segment import normalise
from kb.wiki.record_pages import FORMS
from kb.wiki.wiki_model import SessionForms, Wiki, WikiSources, build_wiki

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.knowledge_base import KnowledgeBase


class WikiExclusions(NamedTuple):
    """What the wiki leaves out, wherever it would show."""

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
    words = normalise(text) if records else ""
    return any(
        normalise(one.title) in words or (one.path and one.path in text) or (one.uid and one.uid in text)
        for one in records
    )


def collect_wiki(kb: KnowledgeBase) -> Wiki:
    """Return the wiki of *kb*, without what its settings leave out."""
    records = kb.records()
    without = parse_exclusions(kb.config.wiki_without)
    private = [record for record in records if without.is_record_excluded(record)]
    reviews = [kb.sides(review.branch) for review in kb.reviews()]
    sources = WikiSources(
        sessions=list(_collect_sessions(kb, without, private)) if kb.config.wiki_sessions == "show" else (),
        timeline=_hide_private_subjects(build_timeline(kb), private),
        reviews=[
            sides
            for sides in reviews
            if not any(map(without.is_record_excluded, (sides.review.record, *sides.old)))
            and not is_revealing(sides.reasons, private)
        ],
        held=[
            held
            for held in kb.held()
            if not without.is_excluded(held.candidate.scope or GLOBAL, held.candidate.kind, held.candidate.tags)
            and not is_revealing("\n".join((held.candidate.title, *held.reasons)), private)
        ],
        findings=list(_collect_findings(kb, records, private)),
        hidden=private,
        today=kb.today(),
        # The team's own synonyms may be words of a private record, so the search of such a wiki has none.
        word_lists=collect_word_lists(() if private else load_synonyms(kb)),
    )
    return build_wiki((record for record in records if not without.is_record_excluded(record)), sources, kb.config)


def _collect_sessions(kb: KnowledgeBase, without: WikiExclusions, private: Sequence[Record]) -> Iterator[SessionForms]:
    for session in kb.sessions():
        scope = GLOBAL if session.project in ("", GLOBAL) else f"project/{session.project}"
        forms = {}
        for name in FORMS:
            with contextlib.suppress(FileNotFoundError):  # an archive may have lost some
                forms[name] = read_session_file(kb, session, f"{name}.md")
        if scope not in without.scopes and not is_revealing("\n".join((session.task, *forms.values())), private):
            yield SessionForms(session, forms)


def _hide_private_subjects(timeline: Timeline, private: Sequence[Record]) -> Timeline:
    """Return *timeline* without the subjects of commits that give away what is private."""
    if not private:
        return timeline
    shown = {
        path: tuple(one._replace(subject="") if is_revealing(one.subject, private) else one for one in versions)
        for path, versions in timeline.versions.items()
    }
    return timeline._replace(versions=shown)


def _collect_findings(kb: KnowledgeBase, records: Sequence[Record], private: Sequence[Record]) -> Iterator[Finding]:
    paths, language = {record.path for record in private}, kb.config.language
    for finding in recheck_records(kb, records):
        text = f"{finding.message.translate(language)} {finding.fix.translate(language)}"
        if finding.path not in paths and not is_revealing(text, private):
            yield finding
