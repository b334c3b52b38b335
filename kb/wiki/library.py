"""Library: all records of a knowledge base by the names people cite, their links, and similar records.

A record is known by its position in `Library.records`, a number.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from kb.adr.adopted import find_adopted_citations, is_adopted
from kb.index.schema import list_governing
from kb.records.citations import find_citations, find_record_links
from kb.records.kinds import BY_NAME
from kb.records.model import (
    GLOBAL,
    Record,
    Reference,
    imported_number,
    list_aliases,
    parse_scope_name,
    qualify_id,
)
from kb.text.segment import FIRST_CJK, SEPARATOR, build_index_terms, clip, normalise, one_line, split_sentences
from kb.wiki.render import iter_numbers, iter_wiki_links, number_duplicates, parse_reference, strip_markup

Key = tuple[str, str]
"""Scope and id."""
Edge = tuple[int, int, str]
"""The positions of two records, and the relation of the first to the second: supersedes, amends, cites or path."""
MAX_PATH_RECORDS = 8
"""A path of more records than this joins none of them: it would join everything."""
QUOTE = 240
"""Characters of a sentence that cites a record."""
MAX_WRAPPED_ROWS = 12
"""Rows before and after the one with a citation that its sentence may go over."""

_LAST_DIGITS = re.compile(r"[0-9]{1,9}\Z")
_UNSAFE = re.compile(r"[^\w.-]+")
_STARTS = re.compile(r"[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]|[#|]|```|~~~)")
"""How a row begins that goes on from none before it."""
_GOES_ON = re.compile(r"[ \t>]*+(?![#|]|```|~~~)\S[^\n]*+\Z")
"""A row that the next one may go on from."""
_QUOTED = re.compile(r"\A[ \t]*+(?:>[ \t]*+)*+")
_BULLET = re.compile(r"\A[ \t]*+(?:[-*+>]|[0-9]{1,9}[.)]|\|)*+[ \t]*+")


class Library(NamedTuple):
    """The records, where each has its page, and who refers to whom."""

    records: tuple[Record, ...]
    uris: Mapping[int, str]
    """Position in *records* → the page, relative to the wiki's top."""
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
    cites: Mapping[int, tuple[int, ...]] = {}
    """Whom a record cites."""
    by_number: Mapping[tuple[str, int], int] = {}
    """Scope and the number of a decision record that was imported or adopted, where only one has it."""

    def find(self, reference: Reference, scope: str) -> int | None:
        """Return the position of the record that *reference*, written in *scope*, means: there first, then globally."""
        found = _find_position(self.by_key, reference, scope)
        return found if found is not None else _find_position(self.by_alias, reference, scope)

    def name_of(self, record: Record) -> str:
        """Return the name by which *record* is found from anywhere: `D001`, or `shop:D001`, `global:D001`."""
        return qualify_id("", record.scope, record.id, is_taken=record.id in self.in_projects)

    def find_link_target(self, words: str, scope: str) -> int | None:
        """Return the position of the record that the wiki link *words* means: an id, a title, or a file's name."""
        found = self.find(parse_reference(words), scope)
        found = found if found is not None else self.by_title.get(normalise(words))
        if found is not None:
            return found
        file = words.removesuffix(".md") + ".md"
        matches = [position for path, position in self.by_path.items() if posixpath.basename(path) == file]
        return matches[0] if len(matches) == 1 else None

    def list_targets(self, position: int, field: str) -> list[int]:
        """Return the records that the one at *position* names in its *field*: "supersedes" or "amends"."""
        record = self.records[position]
        found = (self.find(parse_reference(name), record.scope) for name in getattr(record, field))
        return [other for other in found if other is not None and other != position]

    def iter_edges(self) -> Iterator[Edge]:
        """Yield each relation of two records: from, to, and what it is."""
        by_path: dict[tuple[str, str], list[int]] = {}
        for position, record in enumerate(self.records):
            for field in ("supersedes", "amends"):
                yield from ((position, old, field) for old in self.list_targets(position, field))
            yield from ((citing, position, "cites") for citing in self.cited_by.get(position, ()))
            for path in dict.fromkeys(record.impact):
                by_path.setdefault((record.scope, path), []).append(position)
        pairs = (
            pair for positions in by_path.values() if len(positions) <= MAX_PATH_RECORDS for pair in pairwise(positions)
        )
        yield from ((one, other, "path") for one, other in dict.fromkeys(pairs))

    def list_chain(self, position: int) -> list[int]:
        """Return what the record replaced, itself, and what replaced it, oldest first; [] for one that is alone."""
        before = _collect_reachable(position, lambda n: self.list_targets(n, "supersedes"))
        after = _collect_reachable(position, lambda n: self.superseded_by.get(n, ()))
        return [*reversed(before), position, *(n for n in after if n not in before)] if before or after else []


def _find_position(by_key: Mapping[Key, int], reference: Reference, scope: str) -> int | None:
    # `shop:D001` is the record of that project; `D001` that of the citing record's own scope, else the global one.
    project = parse_scope_name(reference.project)
    scopes = [project] if reference.project else [scope, GLOBAL]
    return next((by_key[one, reference.id] for one in scopes if (one, reference.id) in by_key), None)


def _collect_reachable(position: int, step: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the positions to which repeated *step*s lead, the nearest first; a circle of links ends by itself."""
    found: dict[int, None] = {}
    ahead = [*step(position)]
    while ahead:
        other = ahead.pop(0)
        if other != position and other not in found:
            found[other] = None
            ahead += step(other)
    return [*found]


def sanitise_path_part(name: str) -> str:
    """Return *name* as one harmless part of a path."""
    return _UNSAFE.sub("-", name).strip(".-") or "-"


def get_kind_sort_key(kind: str) -> tuple[int, str]:
    """Return a sorting key that puts the kinds of the table first, in its order."""
    return ([*BY_NAME].index(kind) if kind in BY_NAME else len(BY_NAME), kind)


def get_scope_folder(scope: str) -> str:
    """Return the folder of the wiki that has the pages of the records of *scope*."""
    project = sanitise_path_part(scope.removeprefix("project/"))
    return "anchors/global" if scope == GLOBAL else f"anchors/projects/{project}"


def get_path_folder(path: str) -> str:
    """Return the folder that an impact *path* names or stands in, with a slash; a file at the top is its own."""
    return f"{path.rpartition('/')[0]}/" if "/" in path else path


def count_by_folder(paths: Iterable[tuple[int, Sequence[str]]]) -> dict[str, int]:
    """Return each folder of *paths* (records with the paths they name) with how many records the page of it lists.

    Those name the folder, something in it, or a folder it is in; the script of the page finds them by the same rule.
    """
    named: dict[str, set[int]] = defaultdict(set)
    for position, own in paths:
        for path in own:
            named[path].add(position)
    at, below = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for path, positions in named.items():
        at[path.rstrip("/")] |= positions
        for end, letter in enumerate(path):
            if letter == "/":
                below[path[:end]] |= positions
    patterns = [path for path in named if any(letter in path for letter in "*?[")]
    counts = {}
    for folder in {get_path_folder(path) for path in named}:
        bare = folder.rstrip("/")
        found = at[bare] | below[bare]
        found |= {n for end, letter in enumerate(bare) if letter == "/" for n in at.get(bare[:end], ())}
        found |= {n for pattern in list_governing(patterns, bare) for n in named[pattern]} if patterns else set()
        counts[folder] = len(found)
    return counts


# -- building -------------------------------------------------------------------------------------


def build_library(records: Iterable[Record]) -> Library:
    """Return *records* in the order of scope, kind and id, with their pages and links."""
    order = sorted(records, key=lambda r: (r.scope != GLOBAL, r.scope, get_kind_sort_key(r.kind), len(r.id), r.id))
    by_key: dict[Key, int] = {}
    by_alias: dict[Key, int] = {}
    by_title: dict[str, int | None] = {}
    for position, record in enumerate(order):
        by_key.setdefault((record.scope, record.id), position)
        title = normalise(record.title)  # a title that two records share names neither
        by_title[title] = None if title in by_title else position
    superseded_by: defaultdict[int, dict[int, None]] = defaultdict(dict)
    amended_by: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for position, record in enumerate(order):
        for alias in list_aliases(record.extra):
            if (record.scope, alias) not in by_key:
                by_alias.setdefault((record.scope, alias), position)
        for names, found in ((record.supersedes, superseded_by), (record.amends, amended_by)):
            for name in names:
                target = _find_position(by_key, parse_reference(name), record.scope)
                if target is not None and target != position:
                    found[target][position] = None
    # Two records may share an id after a bad merge: each of them still has a page of its own.
    stems = number_duplicates((f"{get_scope_folder(r.scope)}/{sanitise_path_part(r.id)}" for r in order), "-")
    library = Library(
        records=tuple(order),
        uris=dict(enumerate(f"{stem}.md" for stem in stems)),
        by_key=by_key,
        by_alias=by_alias,
        by_path={record.path: position for position, record in enumerate(order) if record.path},
        by_title={title: position for title, position in by_title.items() if position is not None},
        cited_by={},
        superseded_by={target: tuple(positions) for target, positions in superseded_by.items()},
        amended_by={target: tuple(positions) for target, positions in amended_by.items()},
        in_projects=frozenset(record_id for scope, record_id in by_key if scope != GLOBAL),
    )
    numbers: dict[tuple[str, int], int | None] = {}
    for position, record in enumerate(order):
        number = imported_number(record.extra)
        if number is None and is_adopted(record):
            number = int(digits[0]) if (digits := _LAST_DIGITS.search(record.id)) else None
        if number is not None:
            numbers[record.scope, number] = None if (record.scope, number) in numbers else position
    library = library._replace(by_number={key: n for key, n in numbers.items() if n is not None})
    cited_by = _collect_citations(library)
    cites: defaultdict[int, list[int]] = defaultdict(list)
    for target, citing in sorted(cited_by.items()):
        for position in citing:
            cites[position].append(target)
    return library._replace(cited_by=cited_by, cites={position: tuple(found) for position, found in cites.items()})


def _collect_citations(library: Library) -> dict[int, dict[int, str]]:
    """Return for each record those that cite it, each with the first sentence that does."""
    found: defaultdict[int, dict[int, str]] = defaultdict(dict)

    def add(target: int | None, citing: int, rows: Sequence[str], at: int, mark: str) -> None:
        if target is not None and target != citing and citing not in found[target]:
            found[target][citing] = quote_sentence(rows, at, mark)

    numbered = {scope for scope, _ in library.by_number}
    for citing, record in enumerate(library.records):
        for text in (*(section.text for section in record.sections), record.user):
            rows = text.split("\n")
            for number, said, at in iter_numbers(text) if record.scope in numbered else ():
                add(library.by_number.get((record.scope, number)), citing, rows, at, said)
            if "[" not in text and not is_adopted(record):
                continue
            by_id = [(f"[{p}:{id}]" if p else f"[{id}]", p, id, line) for p, id, line in find_citations(text)]
            by_file = [(f"{id}-", p, id, line) for p, id, line in find_record_links(text)]
            by_number = [(one.mark, "", one.id, one.line) for one in find_adopted_citations(record, text)]
            for mark, project, id, line in by_id + by_file + by_number:
                add(library.find(Reference(project, id), record.scope), citing, rows, line - 1, mark)
            for words, at in iter_wiki_links(text):
                add(library.find_link_target(words, record.scope), citing, rows, at, f"[[{words}")
    return dict(found)


def quote_sentence(rows: Sequence[str], at: int, mark: str) -> str:
    """Return the sentence with *mark* in the paragraph around the row *at*, as plain text of QUOTE characters at most.

    Authors wrap their lines, so a sentence often goes over several *rows*; a list item, a heading and a row of a table
    stand alone.
    """
    if at >= len(rows):
        return ""
    first, end = at, at + 1
    while first and at - first < MAX_WRAPPED_ROWS and is_wrapped(rows[first - 1], rows[first]):
        first -= 1
    while end < len(rows) and end - at < MAX_WRAPPED_ROWS and is_wrapped(rows[end - 1], rows[end]):
        end += 1
    joined = join_wrapped(_QUOTED.sub("", row, count=1).strip() for row in rows[first:end])
    joined = _BULLET.sub("", one_line(joined), count=1)
    sentences = _join_links(split_sentences(joined, with_breaks=False))
    return clip(strip_markup(next((one for one in sentences if mark in one), joined)), QUOTE)


def is_wrapped(row: str, following: str) -> bool:
    """Return whether *following* goes on with the paragraph or the list item of *row*, outside code."""
    return bool(following.strip() and _GOES_ON.match(row) and not _STARTS.match(following))


def join_wrapped(rows: Iterable[str]) -> str:
    """Return the stripped *rows* of one paragraph as one: Chinese goes on without a space."""
    pieces: list[str] = []
    for row in rows:
        if pieces and row and not (pieces[-1][-1:] >= FIRST_CJK and row[0] >= FIRST_CJK):
            pieces.append(" ")
        pieces.append(row)
    return "".join(pieces)


def _join_links(sentences: Iterable[str]) -> list[str]:
    """Return *sentences* in which no link is cut in two: “[2. Use Jinja](0002-use-jinja.md)” looks like two of them."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and joined[-1].count("[") > joined[-1].count("]"):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


# -- which records speak of the same things -------------------------------------------------------

MAX_RELATED = 5
"""Similar records named on a page, at most."""
MAX_TERM_RECORDS = 40
"""A word in more records than this, or in more than an eighth of them, says nothing."""
MAX_TERMS = 16
"""So many of its rarest words stand for a record."""
MIN_SHARED_WEIGHT = 0.3
"""Share of a record's own weight (0.0–1.0) that another one must have in common with it, in three words at least."""
MIN_SHARED_TERMS = 3


def find_related_records(records: Sequence[Record]) -> list[tuple[int, ...]]:
    """Return for each of *records* the positions of those that share rare words of title and decision, best first."""
    terms_of = []
    for record in records:
        pieces = set(f"{record.title}\n{record.section('decision')[:400]}".split())
        words = {term for piece in pieces for term in _split_terms(piece)}
        terms_of.append(words | {f"#{tag.casefold()}" for tag in record.tags} | {f"/{path}" for path in record.impact})
    counts = Counter(term for terms in terms_of for term in terms)
    most = min(MAX_TERM_RECORDS, max(2, len(records) // 8))
    weight = {term: math.log(1 + len(records) / n) for term, n in counts.items() if n <= most}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for position, terms in enumerate(terms_of):
        for term in terms & weight.keys():
            having[term].append(position)
    return [_find_nearest(position, terms & weight.keys(), weight, having) for position, terms in enumerate(terms_of)]


@lru_cache(maxsize=1 << 16)
def _split_terms(piece: str) -> tuple[str, ...]:
    """Return the terms of a *piece* without white space: no term reaches over it."""
    return tuple(term for term in build_index_terms(piece).split() if term != SEPARATOR and len(term) > 1)


def _find_nearest(
    position: int, terms: set[str], weight: dict[str, float], having: dict[str, list[int]]
) -> tuple[int, ...]:
    rarest = sorted(terms, key=lambda term: (-weight[term], term))[:MAX_TERMS]
    own = sum(weight[term] for term in rarest)
    score: defaultdict[int, float] = defaultdict(float)
    shared: Counter[int] = Counter()
    for term in rarest:
        for other in having[term]:
            score[other] += weight[term]
            shared[other] += 1
    near = [n for n in score if n != position and shared[n] >= MIN_SHARED_TERMS and score[n] >= MIN_SHARED_WEIGHT * own]
    return tuple(sorted(near, key=lambda other: (-score[other], other))[:MAX_RELATED])
