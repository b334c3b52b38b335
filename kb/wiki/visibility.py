"""What the wiki leaves out: scopes, kinds and tags that the settings name, wherever they would show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from kb.records.kinds import find_kind
from kb.records.model import GLOBAL, Record
from kb.text.segment import normalise


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
