"""Link decision records of one import or of an adopted folder: ids, links between files, consistent statuses."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from kb.adr.adopted import LINKS, NO_STATUS, STATED_STATUS
from kb.adr.adr_fields import find_first_day, is_day_first, parse_date
from kb.adr.adr_file import ImportedAdr
from kb.adr.adr_text import AdrLink, derive_id, extract_stem, is_folder_page, parse_file_number, parse_mark, quote_title
from kb.i18n import Message, msg
from kb.records.kinds import status_name
from kb.records.model import IMPORTED, LIVE, Record, Status, imported_number


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


def resolve_imports(
    imports: Sequence[ImportedAdr], taken: Iterable[str] = (), *, ids: Sequence[str] = ()
) -> ImportResolution:
    """Return the records of *imports* with ids, links and agreeing statuses; *taken* are ids already in use.

    A number is kept as `D012` where it is free; *ids* are given where they are settled. What one file says of another
    holds for both; a record becomes superseded only by an accepted one.
    """
    problems: list[ImportProblem] = []
    ids = ids or _assign_ids(imports, set(taken), problems)
    edges = _build_edges(imports, problems)
    records = [item.record._replace(id=id) for item, id in zip(imports, ids, strict=True)]
    records = _resolve_silent(imports, _resolve_day_first(imports, records), problems)
    for new_at, old_at, relation in edges:
        new, old = records[new_at], records[old_at]
        if relation == "amends":
            records[new_at] = new._replace(amends=(*new.amends, old.id))
            continue
        records[new_at] = new._replace(supersedes=(*new.supersedes, old.id))
        if old.status not in LIVE:
            continue
        text = msg("{id} supersedes it, but its own status does not say so", id=new.id)
        if new.status in (Status.PROPOSED, Status.REJECTED):
            text = msg("{id} would supersede it, but is {status}", id=new.id, status=status_name(new.status))
        else:
            records[old_at] = old._replace(status=Status.SUPERSEDED)
        problems.append(ImportProblem(imports[old_at].path, text))
    followed = {edge.old for edge in edges if edge.relation == "supersedes"}
    for number, record in enumerate(records):
        if record.status == Status.SUPERSEDED and number not in followed:
            text = msg("superseded, but no imported record supersedes it")
            problems.append(ImportProblem(imports[number].path, text))
    return ImportResolution(tuple(records), tuple(problems))


_SIDE_FOLDERS = frozenset({"review", "reviews", "input", "inputs", "template", "templates", "评审", "模板"})
_REVIEW_NAME = re.compile(
    r"(?i)^review[-_ ]|(?:^|adr[-_ ]?)\d{1,5}[-_ ]review(?:[-_ ]|$)"
    r"|[-_ ]review(?:[-_ ](?:report|v?\d[\d-]{0,12})){0,4}$"
)
"""A name that calls its file a review; in `0109-split-review-config.md` the word is the subject."""
_NAMED_NUMBER = re.compile(r"(?i)(?:^|(?:adr|dr|decision)[-_ ]?)0*(\d{1,5})(?!\d)")


def find_side_files(imports: Sequence[ImportedAdr]) -> set[str]:
    """Return the paths of files that go with decision records: reviews of them, drafts, templates.

    They lie in a folder of that name beside the records, or are named a review; where no record has the number that
    such a file names, it may be the record itself.
    """
    pages = {posixpath.dirname(item.path) for item in imports if is_folder_page(item.path.rpartition("/")[2])}
    tops = Counter(map(posixpath.dirname, pages))
    # where each record has a folder of its own, its README is it, and what lies beside that belongs to it
    own = {folder for folder in pages if tops[posixpath.dirname(folder)] > 1}
    side = {item.path: folder for item in imports if (folder := _find_record_folder(item)) is not None}
    numbers = {item.number for item in imports if item.path not in side}
    found = set()
    for path, folder in side.items():
        named = {int(number) for number in _NAMED_NUMBER.findall(extract_stem(path))}
        is_near = any(item.path not in side and item.path.startswith(folder) for item in imports)
        if is_near and (named & numbers or not named):
            found.add(path)
    return found | {
        item.path
        for item in imports
        if posixpath.dirname(item.path) in own
        and not item.has_status
        and not is_folder_page(item.path.rpartition("/")[2])
    }


def _find_record_folder(item: ImportedAdr) -> str | None:
    """Return the folder of the records that *item* goes with, or None where nothing shows that it is none itself."""
    *folders, _ = item.path.split("/")
    at = next((at for at, name in enumerate(folders) if name.lower() in _SIDE_FOLDERS), None)
    has_decision = any(section.name == "decision" for section in item.record.sections)
    if at is None and (has_decision or not _REVIEW_NAME.search(extract_stem(item.path))):
        return None
    return "".join(f"{name}/" for name in folders[:at])


def link_adopted(records: Sequence[Record], taken: Container[str] = ()) -> list[Record]:
    """Return *records*, all adopted ones of a scope, with ids of their own and what each says of the others.

    *taken* are the ids of further records of the scope. Of files with one number the first by its path has it, the
    others an id that their names give, which stays whatever is written later. Done again, it changes nothing.
    """
    ids: dict[str, str] = {}
    used: set[str] = set()
    for record in sorted(records, key=lambda one: one.path):
        wanted = derive_id(record.path, imported_number(record.extra))
        is_free = wanted not in used and wanted not in taken
        ids[record.path] = wanted if is_free else derive_id(record.path, None)
        used.add(ids[record.path])
    plain = []
    for record in records:
        extra = {key: value for key, value in record.extra.items() if key != STATED_STATUS}
        stated = Status(record.extra.get(STATED_STATUS, record.status))
        links = tuple(AdrLink(*link) for link in record.extra.get(LINKS, ()))
        bare = record._replace(status=stated, supersedes=(), amends=(), extra=extra)
        style = str(extra.get(IMPORTED, ""))
        has_status = NO_STATUS not in extra
        plain.append(ImportedAdr(bare, style, imported_number(extra), links, (), record.path, has_status=has_status))
    linked = resolve_imports(plain, ids=[ids[record.path] for record in records]).records
    return [
        record._replace(extra={**record.extra, STATED_STATUS: str(item.record.status)})
        if record.status != item.record.status
        else record
        for item, record in zip(plain, linked, strict=True)
    ]


def _assign_ids(imports: Sequence[ImportedAdr], taken: set[str], problems: list[ImportProblem]) -> list[str]:
    """Return an id for every file: its number's where that is free, else the next above all numbers in use."""
    ids: dict[int, str] = {}
    owner: dict[int, str] = {}
    for at in sorted(range(len(imports)), key=lambda n: imports[n].path):
        number, path = imports[at].number, imports[at].path
        if number is None:
            continue
        id = f"D{number:03d}"
        if id not in taken:
            ids[at] = id
            taken.add(id)
            owner[number] = path
            continue
        text = msg("the id {id} is in use already", id=id)
        if number in owner:
            text = msg("the number {number} belongs to {path} too", number=number, path=owner[number])
        problems.append(ImportProblem(path, text))
    following = max((int(id[1:]) for id in taken if re.fullmatch(r"D\d+", id)), default=0) + 1
    rest = set(range(len(imports))) - set(ids)
    for number, at in enumerate(sorted(rest, key=lambda n: (imports[n].record.date, imports[n].path)), following):
        ids[at] = f"D{number:03d}"
    return [ids[at] for at in range(len(imports))]


def _find_collection(path: str) -> str:
    """Return the folder that holds the record in the file *path* and its like: of a README that around its own."""
    folder, _, name = path.rpartition("/")
    return posixpath.dirname(folder) if is_folder_page(name) else folder


def _resolve_silent(
    imports: Sequence[ImportedAdr], records: list[Record], problems: list[ImportProblem]
) -> list[Record]:
    """Return *records* with a status for those whose files say nothing of one.

    Where most of a folder say nothing, as in a repository that merges a record when it is decided, those that have a
    decision are accepted; elsewhere the line was forgotten, and they are proposed.
    """
    folders: dict[str, list[bool]] = defaultdict(list)
    for item in imports:
        folders[_find_collection(item.path)].append(item.has_status)
    found = []
    for item, record in zip(imports, records, strict=True):
        stated = folders[_find_collection(item.path)]
        is_custom = len(stated) > 1 and sum(stated) * 2 < len(stated)
        if item.has_status:
            pass
        elif is_custom and any(section.name == "decision" for section in record.sections):
            record = record._replace(status=Status.ACCEPTED)
            said = msg("it has no status, as most records in its folder; its decision is taken as accepted")
            problems.append(ImportProblem(item.path, said))
        else:
            problems.append(ImportProblem(item.path, msg("the file has no status; it is taken as proposed")))
        found.append(record)
    return found


# -- links ----------------------------------------------------------------------------------------


_RECORD_KINDS = frozenset({"adr", "dr", "decision", "record", "mdr", "madr"})
"""The words before a number that make it that of a decision record."""


_LETTERED = re.compile(r"(?i)(?:(?:adr|dr|decision)[-_ ]?)?0*(\d{1,5})([a-z])(?=[-_. ]|$)")
"""The number of an addendum: `adr-026a-startup.md`."""


def _split_words(path: str) -> set[str]:
    """Return the longer words of the name of the file *path*."""
    return set(re.findall(r"[^\W\d_]{4,}", extract_stem(path).lower()))


class _FileNames:
    """The files of an import by everything that a text may call them."""

    def __init__(self, imports: Sequence[ImportedAdr]) -> None:
        self._imports = imports
        self._by_path = {item.path: at for at, item in enumerate(imports)}
        self._by_name: dict[str | int, list[int]] = defaultdict(list)
        self._kinds: list[str] = []
        for at, item in enumerate(imports):
            self._by_name[extract_stem(item.path).lower()].append(at)
            if lettered := _LETTERED.match(extract_stem(item.path)):
                self._by_name[f"{int(lettered[1])}{lettered[2].lower()}"].append(at)
            self._by_name[quote_title(item.record.title)].append(at)
            if item.number is not None:
                self._by_name[item.number].append(at)
            marks = {parse_mark(extract_stem(item.path)), parse_mark(item.record.title)} - {""}
            self._kinds.append(next((mark.rpartition("-")[0] for mark in marks), ""))
            for mark in marks:
                self._by_name[mark].append(at)

    def find_targets(self, target: str, path: str) -> list[int]:
        """Return the files that *target*, written in *path*, may mean; those beside *path* go first."""
        folder = posixpath.dirname(path)
        exact = self._by_path.get(posixpath.normpath(posixpath.join(folder, target)))
        if exact is not None and not target.isdigit():
            return [exact]
        if target.startswith('"'):
            return self._by_name.get(target, [])
        found = self._by_name.get(int(target) if target.isdigit() else extract_stem(target).lower(), [])
        if not found and target[:-1].isdigit():  # ADR-026a, which lies beside ADR-026
            found = self._by_name.get(target.lower().lstrip("0"), [])
        if not found and "." not in target:
            found = self._by_name.get(parse_mark(target), [])
        if not found and (number := parse_file_number(target)) is not None:  # the file has another name by now
            words = _split_words(target)
            found = [at for at in self._by_name.get(number, []) if words & _split_words(self._imports[at].path)]
        if target.isdigit():  # of ADR-12 and RFC-12 the one that is no RFC
            found = [at for at in found if not self._kinds[at] or self._kinds[at] in _RECORD_KINDS] or found
        folders = [posixpath.dirname(self._imports[at].path) for at in found]
        near = [at for at, place in zip(found, folders, strict=True) if place == folder]
        above = [at for at, place in zip(found, folders, strict=True) if folder.startswith(f"{place}/")]
        return near or above or found  # an archive lies below the records it once was among


class _Statements:
    """What is said of one record acting on another, from either end."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        """supersedes, amends, or "in part" for what is superseded in part."""
        self.ends: set[int] = set()
        """The files that say so."""
        self.is_whole = False
        """Whether the superseded record itself says that nothing is left of it."""

    def add(self, link: AdrLink, at: int, item: ImportedAdr) -> None:
        """Take in *link* of the file *item*; its first word on a relation (its status, then its text) is its last."""
        kind = "supersedes" if link.relation.startswith("supersede") else "amends"
        self.ends.add(at)
        self.kinds.add("in part" if link.in_part and kind == "supersedes" else kind)
        is_gone = link.relation == "superseded_by" and item.record.status == Status.SUPERSEDED
        self.is_whole = self.is_whole or (is_gone and not link.in_part)

    def choose_relation(self) -> str:
        """Return supersedes or amends; what one end calls partial is partial."""
        is_part = "in part" in self.kinds and not self.is_whole
        return "supersedes" if "supersedes" in self.kinds and not is_part else "amends"


def _build_edges(imports: Sequence[ImportedAdr], problems: list[ImportProblem]) -> list[RecordEdge]:
    """Return every relation once, from whichever ends state it."""
    stated = _collect_statements(imports, problems)
    edges: dict[RecordEdge, None] = {}
    for new, old in sorted(stated, key=lambda pair: (imports[pair[0]].path, imports[pair[1]].path)):
        relation = stated[new, old].choose_relation()
        is_old = relation == "supersedes" and is_younger(imports[old], imports[new])
        if is_old and stated[new, old].ends == {new} and (old, new) not in stated:
            continue  # "It supersedes ADR 9" in ADR 3 speaks of a third record
        if relation == "supersedes" and RecordEdge(old, new, relation) in edges:
            text = msg("{path} and this file supersede each other", path=imports[old].path)
            problems.append(ImportProblem(imports[new].path, text))
            continue
        edges[RecordEdge(new, old, relation)] = None
    return list(edges)


def _collect_statements(
    imports: Sequence[ImportedAdr], problems: list[ImportProblem]
) -> dict[tuple[int, int], _Statements]:
    """Return what the links of all files say, by the file that acts and the one acted upon."""
    names = _FileNames(imports)
    found: dict[tuple[int, int], _Statements] = defaultdict(_Statements)
    told: set[tuple[int, tuple[int, int], str]] = set()
    for at, item in enumerate(imports):
        for link in item.links:
            targets = names.find_targets(link.target, item.path)
            others = [other for other in targets if other != at]
            if len(others) == 1:
                pair = (others[0], at) if link.relation.endswith("_by") else (at, others[0])
                is_doubtful = link.is_open and is_younger(imports[pair[1]], imports[pair[0]])
                if not is_doubtful and (at, pair, link.relation) not in told:
                    told.add((at, pair, link.relation))
                    found[pair].add(link, at, item)
            elif link.target.startswith('"'):
                continue  # perhaps no title but something else that is quoted
            elif targets != [at] and (others or not parse_mark(link.target)):  # RFC-2119 is no file of these
                values = {"relation": link.relation, "target": link.target}
                paths = [imports[other].path for other in others]
                text = msg("{relation} {target}: no imported file matches that", **values)
                if others:
                    text = msg("{relation} {target}: several files match that: {paths}", **values, paths=paths)
                problems.append(ImportProblem(item.path, text))
    return found


def is_younger(one: ImportedAdr, other: ImportedAdr) -> bool:
    """Return whether *one* came after *other*: by their numbers in one folder, else by their days."""
    is_near = posixpath.dirname(one.path) == posixpath.dirname(other.path)
    if is_near and one.number is not None and other.number is not None and one.number != other.number:
        return one.number > other.number
    return bool(one.record.date and other.record.date) and one.record.date > other.record.date


def is_target(record: Record, target: str) -> bool:
    """Return whether *target*, a number or a path as a text names it, may mean the adopted *record*."""
    if target.isdigit():
        return imported_number(record.extra) == int(target)
    return extract_stem(target).lower() == extract_stem(record.path).lower()


# -- dates ----------------------------------------------------------------------------------------


def _resolve_day_first(imports: Sequence[ImportedAdr], records: list[Record]) -> list[Record]:
    """Return *records* with dates like 05/02/2018 read, where the other files of a folder put the day first."""
    proofs: dict[str, set[bool | None]] = defaultdict(set)
    for item in imports:
        proofs[posixpath.dirname(item.path)].add(item.day_first)
    found = []
    for item, record in zip(imports, records, strict=True):
        text = str(record.extra.get("original_date") or "")
        shown = proofs[posixpath.dirname(item.path)] - {None}
        is_proven = (item.day_first is True) or shown == {True}
        if text and not record.date and is_proven and is_day_first(text) is not False:
            record = record._replace(date=parse_date(text, day_first=True).date)
        if not record.date and item.changes:
            record = record._replace(date=find_first_day(item.changes, day_first=is_proven))
        found.append(record)
    return found
