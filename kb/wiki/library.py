"""All records of a knowledge base by the names people cite, with the links between them in both directions."""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kb.records.kinds import BY_NAME
from kb.records.model import GLOBAL, Record, Reference, list_aliases, qualify_id
from kb.records.record_file import find_citations, find_record_links
from kb.text.segment import SEPARATOR, build_index_terms, clip, normalise
from kb.wiki.markup import iter_wiki_links, number_duplicates, parse_reference

Key = tuple[str, str]
"""Scope and id."""
"""The key of the front under which a renumbered record keeps the ids it has had."""
QUOTE = 240
"""Characters of a sentence that cites a record."""

_UNSAFE = re.compile(r"[^\w.-]+")
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_BULLET = re.compile(r"[ \t]*+(?:[-*+>]|[0-9]{1,9}[.)]|\|)*+[ \t]*+")


class Library(NamedTuple):
    """The records, where each has its page, and who refers to whom."""

    records: tuple[Record, ...]
    uris: Mapping[int, str]
    """Position in *records* to the page, relative to the wiki's top."""
    by_key: Mapping[Key, int]
    by_alias: Mapping[Key, int]
    """Scope and former id of what was renumbered; an id that a record has now is no alias."""
    by_path: Mapping[str, int]
    by_title: Mapping[str, int]
    """Normalised title, where only one record has it."""
    cited_by: Mapping[int, Mapping[int, str]]
    """Who cites a record, each with the sentence that does."""
    superseded_by: Mapping[int, tuple[int, ...]]
    amended_by: Mapping[int, tuple[int, ...]]
    in_projects: frozenset[str] = frozenset()
    """The ids that a record of a project has."""

    def find(self, what: Reference, scope: str) -> int | None:
        """Return the position of the record that *what*, said in *scope*, means: there first, then globally."""
        found = _find_position(self.by_key, what, scope)
        return found if found is not None else _find_position(self.by_alias, what, scope)

    def name_of(self, record: Record) -> str:
        """Return the name by which *record* is found from anywhere: `D001`, or `shop:D001`, `global:D001`."""
        return qualify_id("", record.scope, record.id, is_taken=record.id in self.in_projects)

    def find_link_target(self, words: str, scope: str) -> int | None:
        """Return the position of the record that the wiki link *words* means: an id, a title, or a file's name."""
        found = self.find(parse_reference(words), scope)
        found = found if found is not None else self.by_title.get(normalise(words))
        if found is not None:
            return found
        stem = words.removesuffix(".md")
        places = [place for path, place in self.by_path.items() if posixpath.basename(path) == f"{stem}.md"]
        return places[0] if len(places) == 1 else None

    def list_superseded(self, place: int) -> list[int]:
        """Return the positions of the records that the one at *place* supersedes."""
        record = self.records[place]
        found = (self.find(parse_reference(words), record.scope) for words in record.supersedes)
        return [other for other in found if other is not None and other != place]

    def list_chain(self, place: int) -> list[int]:
        """Return what the record at *place* replaced, itself, and what replaced it, oldest first; alone: nothing."""
        before = _collect_reachable(place, self.list_superseded)
        after = _collect_reachable(place, lambda n: self.superseded_by.get(n, ()))
        return [*reversed(before), place, *(n for n in after if n not in before)] if before or after else []


def sanitise_path_part(name: str) -> str:
    """Return *name* as one harmless part of a path."""
    return _UNSAFE.sub("-", name).strip(".-") or "-"


def parse_project(scope: str) -> str:
    """Return the project of *scope*, or "" for the global one."""
    return scope.removeprefix("project/") if scope != GLOBAL else ""


def get_kind_sort_key(kind: str) -> tuple[int, str]:
    """Return a sorting key that puts the kinds of the table first, in its order."""
    return ([*BY_NAME].index(kind) if kind in BY_NAME else len(BY_NAME), kind)


def build_library(records: Iterable[Record]) -> Library:
    """Return *records* in the order of scope, kind and id, with their pages and links."""
    ordered = tuple(
        sorted(records, key=lambda r: (r.scope != GLOBAL, r.scope, get_kind_sort_key(r.kind), len(r.id), r.id))
    )
    by_key: dict[Key, int] = {}
    for place, record in enumerate(ordered):
        by_key.setdefault((record.scope, record.id), place)
    found = Library(
        ordered,
        _assign_uris(ordered),
        by_key,
        _map_aliases(ordered, by_key),
        {record.path: place for place, record in enumerate(ordered) if record.path},
        _map_titles(ordered),
        {},
        _invert_links(by_key, ordered, [[parse_reference(words) for words in record.supersedes] for record in ordered]),
        _invert_links(by_key, ordered, [[parse_reference(words) for words in record.amends] for record in ordered]),
        frozenset(record_id for scope, record_id in by_key if scope != GLOBAL),
    )
    return found._replace(cited_by=_collect_citations(found))


def _map_aliases(records: Sequence[Record], by_key: Mapping[Key, int]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for place, record in enumerate(records):
        for alias in list_aliases(record.extra):
            if (record.scope, alias) not in by_key:
                found.setdefault((record.scope, alias), place)
    return found


def _map_titles(records: Sequence[Record]) -> dict[str, int]:
    found: dict[str, int | None] = {}
    for place, record in enumerate(records):
        title = normalise(record.title)
        found[title] = None if title in found else place
    return {title: place for title, place in found.items() if place is not None}


def _find_position(by_key: Mapping[Key, int], what: Reference, scope: str) -> int | None:
    scopes = [GLOBAL if what.project == GLOBAL else f"project/{what.project}"] if what.project else [scope, GLOBAL]
    return next((by_key[one, what.id] for one in scopes if (one, what.id) in by_key), None)


def _collect_reachable(place: int, step: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the places that repeated *step*s lead to from *place*, the nearest first."""
    found: dict[int, None] = {}
    ahead = [*step(place)]
    while ahead:
        other = ahead.pop(0)
        if other != place and other not in found:
            found[other] = None
            ahead += step(other)
    return [*found]


def _assign_uris(records: Sequence[Record]) -> dict[int, str]:
    """Return a page for every record, also for those that share an id after a bad merge."""
    return dict(enumerate(f"{name}.md" for name in number_duplicates(map(_build_stem, records), "-")))


def _build_stem(record: Record) -> str:
    return f"{get_scope_folder(record.scope)}/{sanitise_path_part(record.id)}"


def get_scope_folder(scope: str) -> str:
    """Return the folder of the wiki that has the pages of the records of *scope*."""
    return "anchors/global" if scope == GLOBAL else f"anchors/projects/{sanitise_path_part(parse_project(scope))}"


def _collect_citations(shelf: Library) -> dict[int, dict[int, str]]:
    found: defaultdict[int, dict[int, str]] = defaultdict(dict)
    for place, record in enumerate(shelf.records):
        for text in (*(section.text for section in record.sections), record.user):
            if "[" not in text:
                continue
            rows = text.split("\n")
            by_id = [(f"[{p}:{id}]" if p else f"[{id}]", p, id, line) for p, id, line in find_citations(text)]
            by_file = [(f"{id}-", p, id, line) for p, id, line in find_record_links(text)]
            for mark, project, id, line in by_id + by_file:
                target = shelf.find(Reference(project, id), record.scope)
                if target is not None and target != place and place not in found[target]:
                    found[target][place] = _extract_sentence(rows[line - 1] if line <= len(rows) else "", mark)
            for words, row in iter_wiki_links(text):
                target = shelf.find_link_target(words, record.scope)
                if target is not None and target != place and place not in found[target]:
                    found[target][place] = _extract_sentence(row, f"[[{words}")
    return dict(found)


def _extract_sentence(row: str, mark: str) -> str:
    """Return the sentence of *row* in which *mark* stands."""
    said = _SENTENCE.split(row[_BULLET.match(row).end() :])  # type: ignore[union-attr]
    return clip(next((one for one in said if mark in one), row), QUOTE)


def _invert_links(
    by_key: Mapping[Key, int], records: Sequence[Record], links: Sequence[Iterable[Reference]]
) -> dict[int, tuple[int, ...]]:
    found: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for place, (record, references) in enumerate(zip(records, links, strict=True)):
        for what in references:
            target = _find_position(by_key, what, record.scope)
            if target is not None and target != place:
                found[target][place] = None
    return {target: tuple(places) for target, places in found.items()}


SHOWN = 5
"""Similar records named on a page, at most."""
RARE = 40
"""A word in more records than this, or in more than an eighth of them, tells nothing."""
TELLING = 16
"""So many of its rarest words stand for a record."""
LEAST = 0.2
"""Share of a record's own weight (0.0–1.0) that another one must have in common with it, in two words at least."""


def find_related_records(records: Sequence[Record]) -> list[tuple[int, ...]]:
    """Return for each of *records* the places of those most like it, best first."""
    said = [_collect_terms(record) for record in records]
    found_in = Counter(term for terms in said for term in terms)
    most = min(RARE, max(2, len(records) // 8))
    weight = {term: math.log(1 + len(records) / n) for term, n in found_in.items() if n <= most}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for place, terms in enumerate(said):
        for term in terms & weight.keys():
            having[term].append(place)
    return [_find_nearest(place, terms, weight, having) for place, terms in enumerate(said)]


def _collect_terms(record: Record) -> set[str]:
    pieces = set(f"{record.title}\n{record.section('decision')[:400]}".split())
    words = {term for piece in pieces for term in _split_terms(piece)}
    return words | {f"#{tag.casefold()}" for tag in record.tags} | {f"/{path}" for path in record.impact}


@lru_cache(maxsize=1 << 16)
def _split_terms(piece: str) -> tuple[str, ...]:
    """Return the terms of a *piece* without white space: no term reaches over it."""
    return tuple(term for term in build_index_terms(piece).split() if term != SEPARATOR and len(term) > 1)


def _find_nearest(
    place: int, terms: set[str], weight: dict[str, float], having: dict[str, list[int]]
) -> tuple[int, ...]:
    rarest = sorted((term for term in terms if term in weight), key=lambda term: (-weight[term], term))[:TELLING]
    own = sum(weight[term] for term in rarest)
    score: defaultdict[int, float] = defaultdict(float)
    shared: Counter[int] = Counter()
    for term in rarest:
        for other in having[term]:
            score[other] += weight[term]
            shared[other] += 1
    near = [other for other in score if other != place and shared[other] > 1 and score[other] >= LEAST * own]
    return tuple(sorted(near, key=lambda other: (-score[other], other))[:SHOWN])
