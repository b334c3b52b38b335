"""Settle a whole import of decision records: ids from numbers, links between files, statuses that agree."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kb.i18n import Message, msg
from kb.importers.adr import ImportedAdr
from kb.importers.adr_fields import extract_stem, is_day_first, parse_date
from kb.importers.adr_text import AdrLink, resolve_target_path
from kb.records.kinds import status_name
from kb.records.model import LIVE, Record, Status


class ImportProblem(NamedTuple):
    """Something about one file of an import that a person should know."""

    path: str
    said: Message


class ImportResolution(NamedTuple):
    """The records of an import, in its order, and what did not come out even."""

    records: tuple[Record, ...]
    problems: tuple[ImportProblem, ...]


class RecordEdge(NamedTuple):
    """One record, by its place in the import, acting on another."""

    new: int
    old: int
    relation: str
    """supersedes or amends; what supersedes in part amends."""


def resolve_imports(imports: Sequence[ImportedAdr], taken: Iterable[str] = ()) -> ImportResolution:
    """Return the records of *imports* with ids, links and agreeing statuses; *taken* are ids already in use.

    A number is kept as `D012` where it is free. What one file says of another holds for both; a record becomes
    superseded only by an accepted one.
    """
    problems: list[ImportProblem] = []
    ids = _assign_ids(imports, set(taken), problems)
    edges = _build_edges(imports, problems)
    records = [item.record._replace(id=id) for item, id in zip(imports, ids, strict=True)]
    records = _resolve_day_first(imports, records)
    for edge in edges:
        new, old = records[edge.new], records[edge.old]
        if edge.relation == "amends":
            records[edge.new] = new._replace(amends=(*new.amends, old.id))
        else:
            records[edge.new] = new._replace(supersedes=(*new.supersedes, old.id))
            records[edge.old] = _mark_superseded(new, old, imports[edge.old].path, problems)
    _report_orphans(imports, records, edges, problems)
    return ImportResolution(tuple(records), tuple(problems))


# -- ids ------------------------------------------------------------------------------------------


def _assign_ids(imports: Sequence[ImportedAdr], taken: set[str], problems: list[ImportProblem]) -> list[str]:
    """Return an id for every file: its number's where that is free, else the next above all numbers in use."""
    ids: dict[int, str] = {}
    owner: dict[int, str] = {}
    for place in sorted(range(len(imports)), key=lambda n: imports[n].path):
        number, path = imports[place].number, imports[place].path
        if number is None:
            continue
        if f"D{number:03d}" not in taken:
            ids[place] = f"D{number:03d}"
            taken.add(ids[place])
            owner[number] = path
        elif number in owner:
            problems.append(
                ImportProblem(path, msg("the number {number} belongs to {path} too", number=number, path=owner[number]))
            )
        else:
            problems.append(ImportProblem(path, msg("the id {id} is in use already", id=f"D{number:03d}")))
    following = max((int(id[1:]) for id in taken if re.fullmatch(r"D\d+", id)), default=0) + 1
    for place in sorted(set(range(len(imports))) - set(ids), key=lambda n: (imports[n].record.date, imports[n].path)):
        ids[place] = f"D{following:03d}"
        following += 1
    return [ids[place] for place in range(len(imports))]


# -- links ----------------------------------------------------------------------------------------


class _ImportedFiles:
    """The files of an import, found by path, name or number."""

    def __init__(self, imports: Sequence[ImportedAdr]) -> None:
        self.imports = imports
        self.by_path = {item.path: place for place, item in enumerate(imports)}
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        self.by_number: dict[int, list[int]] = defaultdict(list)
        for place, item in enumerate(imports):
            self.by_stem[extract_stem(item.path).lower()].append(place)
            if item.number is not None:
                self.by_number[item.number].append(place)

    def find_targets(self, link: AdrLink, path: str) -> list[int]:
        """Return the files that the target of *link*, written in *path*, may mean; those beside *path* go first."""
        if link.target.isdigit():
            found = self.by_number.get(int(link.target), [])
        else:
            exact = self.by_path.get(resolve_target_path(path, link.target))
            found = [exact] if exact is not None else self.by_stem.get(extract_stem(link.target).lower(), [])
        folder = posixpath.dirname(path)
        beside = [place for place in found if posixpath.dirname(self.imports[place].path) == folder]
        return beside or found


def _build_edges(imports: Sequence[ImportedAdr], problems: list[ImportProblem]) -> list[RecordEdge]:
    """Return every relation once, from whichever ends state it; what one end calls partial is partial.

    A file's first word on a relation (its status, then its text) is its last.
    """
    files = _ImportedFiles(imports)
    said: dict[tuple[int, int], set[str]] = defaultdict(set)
    stated: set[tuple[int, tuple[int, int], str]] = set()
    for place, item in enumerate(imports):
        for link in item.links:
            found = [other for other in files.find_targets(link, item.path) if other != place]
            if len(found) == 1:
                pair = (place, found[0]) if link.relation in ("supersedes", "amends") else (found[0], place)
                kind = "supersedes" if link.relation.startswith("supersede") else "amends"
                if (place, pair, kind) in stated:
                    continue
                stated.add((place, pair, kind))
                said[pair].add("in part" if link.in_part and kind == "supersedes" else kind)
            elif files.find_targets(link, item.path) != [place]:
                problems.append(
                    ImportProblem(item.path, _describe_unresolved(link, [imports[other].path for other in found]))
                )
    full = {pair for pair, kinds in said.items() if "supersedes" in kinds and "in part" not in kinds}
    edges: dict[RecordEdge, None] = {}
    for new, old in sorted(said, key=lambda pair: (imports[pair[0]].path, imports[pair[1]].path)):
        if (new, old) not in full:
            edges[RecordEdge(new, old, "amends")] = None
        elif RecordEdge(old, new, "supersedes") in edges:
            problems.append(
                ImportProblem(
                    imports[new].path, msg("{path} and this file supersede each other", path=imports[old].path)
                )
            )
        else:
            edges[RecordEdge(new, old, "supersedes")] = None
    return list(edges)


def _describe_unresolved(link: AdrLink, candidates: list[str]) -> Message:
    if candidates:
        return msg(
            "{relation} {target}: several files answer to that: {paths}",
            relation=link.relation,
            target=link.target,
            paths=", ".join(candidates),
        )
    return msg("{relation} {target}: no imported file answers to that", relation=link.relation, target=link.target)


# -- what the set tells about each record ---------------------------------------------------------


def _mark_superseded(new: Record, old: Record, path: str, problems: list[ImportProblem]) -> Record:
    """Return *old* as its successor leaves it."""
    if old.status not in LIVE:
        return old
    if new.status in (Status.PROPOSED, Status.REJECTED):
        problems.append(
            ImportProblem(
                path, msg("{id} would supersede it, but is {status}", id=new.id, status=status_name(new.status))
            )
        )
        return old
    problems.append(ImportProblem(path, msg("{id} supersedes it, its own status does not say so", id=new.id)))
    return old._replace(status=Status.SUPERSEDED)


def _report_orphans(
    imports: Sequence[ImportedAdr],
    records: Sequence[Record],
    edges: Sequence[RecordEdge],
    problems: list[ImportProblem],
) -> None:
    """Report the superseded records that nothing in the import supersedes."""
    followed = {edge.old for edge in edges if edge.relation == "supersedes"}
    for place, record in enumerate(records):
        if record.status == Status.SUPERSEDED and place not in followed:
            problems.append(ImportProblem(imports[place].path, msg("superseded, but no imported record supersedes it")))


def _resolve_day_first(imports: Sequence[ImportedAdr], records: list[Record]) -> list[Record]:
    """Return *records* with dates like 05/02/2018 read, where the other files of a folder put the day first."""
    proofs: dict[str, set[bool]] = defaultdict(set)
    texts = [str(record.extra.get("original_date") or "") for record in records]
    for item in imports:
        if item.day_first is not None:
            proofs[posixpath.dirname(item.path)].add(item.day_first)
    return [
        record._replace(date=parse_date(text, day_first=True).date)
        if text and not record.date and proofs[posixpath.dirname(item.path)] == {True} and is_day_first(text) is None
        else record
        for item, record, text in zip(imports, records, texts, strict=True)
    ]
