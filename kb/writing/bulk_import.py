"""Import finished records of other tools, all in one commit."""

from __future__ import annotations

import json
import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kb.errors import BadInput, BadRecord
from kb.git.revisions import find_file_origins, list_files_around
from kb.i18n import Message, msg
from kb.records.citations import rewrite_links
from kb.records.front_matter import KEYS
from kb.records.kinds import BY_NAME, folder_for_scope, iter_ulids, parse_path_scope
from kb.records.model import ORIGINAL_AUTHOR, SCOPE, Record, Section, Verdict
from kb.records.record_file import parse_record, render
from kb.safety import redaction
from kb.text.mentions import find_existing_paths
from kb.text.segment import clip, normalise, one_line, slugify
from kb.writing.transaction import Transaction, transactions

if TYPE_CHECKING:
    from kb.config import Masking
    from kb.workspace import Workspace

_SCOPE = re.compile(SCOPE)
_ID = re.compile(r"([A-Z]{1,3})\d{3,9}")

_NO_ID = "-"
"""Stands for the id of a record without one, until it gets the next free id."""
_FILE_NAME = re.compile(r"[\w.-]+\.md")

_LINKS = ("supersedes", "amends", "coexists_with")
_MASKED = ("title", "tags", "impact", "sources", "claims", "coexists_with", "user", "extra")
"""The fields of a record that are masked, besides its sections."""
_NAMED_LOST = 5
"""The number of files with lost links to name in a message."""

Names = Mapping[tuple[str, str], str]
"""(scope, old id) → new id."""


class ImportItem(NamedTuple):
    """One record to import."""

    record: Record
    """The masked record with its new id and path; if it is here already, the existing record."""
    wanted: str
    """The id in its source."""
    origin: str = ""
    """The file it was read from, if that has no other record."""
    masked: tuple[str, ...] = ()
    known: bool = False
    data: bytes = b""
    """Its file, if it comes from another knowledge base."""
    objection: Message | None = None


def import_records(
    kb: Workspace,
    records: Sequence[Record],
    *,
    origin: str,
    files: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
    dry_run: bool = False,
) -> list[Verdict]:
    """Write *records* as one commit and return a verdict for each.

    A record keeps its id if that is free in its scope; otherwise it gets the next free one, and links among *records*
    are updated. A record that is here already, by uid or by title and text, is `unchanged`. Secrets are masked.
    *files*: the text of each record's file, which is kept byte for byte if nothing in it has to change. *progress* is
    called after each record with the number done.
    """
    for transaction in transactions(kb, dry_run=dry_run):
        with transaction:
            verdicts = _import_all(transaction, records, files or [""] * len(records), progress)
            if not dry_run:
                transaction.commit(f"Import records from {origin}", "imported")
                if transaction.step_commits:
                    commit = transaction.step_commits[-1]
                    verdicts = [one._replace(commit=commit) if one.verdict == "created" else one for one in verdicts]
    return verdicts


def fill_impact(kb: Workspace, records: Sequence[Record], places: Sequence[str]) -> list[Record]:
    """Return *records*; those without impact get the project files they mention.

    *places*: the files they were read from. Rejected options are skipped, because a record is not about those, and so
    are files in its own folder, which are other records.
    """
    trees = {folder: list_files_around(kb, folder) for folder in dict.fromkeys(map(os.path.dirname, places))}
    filled = []
    for record, place in zip(records, places, strict=True):
        top, files = trees[os.path.dirname(place)]
        folder = os.path.relpath(os.path.realpath(os.path.dirname(place)), top).replace(os.sep, "/") if top else ""
        texts = [record.title, *(section.text for section in record.sections if section.name != "alternatives")]
        named = () if record.impact else find_existing_paths("\n".join(texts), files.copy, folder)
        own = tuple(name for name in named if posixpath.dirname(name.rstrip("/")) != folder and name != folder + "/")
        filled.append(record._replace(impact=own) if own else record)
    return filled


def fill_origin(kb: Workspace, records: Sequence[Record], places: Sequence[str]) -> list[Record]:
    """Return *records*; those without date or author get those of the commit that added their file.

    *places*: the files they were read from.
    """
    origins = find_file_origins(kb, places)
    filled = []
    for record, place in zip(records, places, strict=True):
        if origin := origins.get(place):
            extra = {ORIGINAL_AUTHOR: origin.author, **record.extra} if origin.author else record.extra
            record = record._replace(date=record.date or origin.day, extra=extra)
        filled.append(record)
    return filled


def _import_all(
    transaction: Transaction,
    records: Sequence[Record],
    files: Sequence[str],
    progress: Callable[[int], None] | None,
) -> list[Verdict]:
    kb = transaction.kb
    present = kb.index.records()
    given = zip(records, files, strict=True)
    items = _assign_ids(kb, present, [_sanitise_record(record, text, kb.config.masking) for record, text in given])
    renamed: dict[tuple[str, str], str] = {}
    for item in items:
        renamed.setdefault((item.record.scope, item.wanted), item.record.id)
    paths = _ImportedPaths(present, items)
    verdicts = []
    uids = iter_ulids(kb.now())
    for number, item in enumerate(items, 1):
        verdicts.append(_import_item(transaction, item, renamed, paths, uids))
        if progress:
            progress(number)
    return verdicts


def _sanitise_record(record: Record, text: str, masking: Masking) -> ImportItem:
    """Return *record* without secrets, without control characters in its title, and without invalid ids."""
    values = [getattr(record, name) for name in _MASKED]
    texts = [(section.heading, section.text) for section in record.sections]
    (masked, shown), rules = redaction.redact_value((values, texts), masking)
    parts = zip(record.sections, shown, strict=True)
    sections = tuple(section._replace(heading=heading, text=text) for section, (heading, text) in parts)
    done = record._replace(**dict(zip(_MASKED, masked, strict=True)), sections=sections)
    done = done._replace(title=one_line(done.title))
    objection = None
    if not _SCOPE.fullmatch(done.scope):
        objection = msg("there is no scope {scope}", scope=done.scope)
    elif done.kind not in BY_NAME:
        objection = msg("there is no kind {kind}", kind=done.kind)
    elif not done.title:
        objection = msg("the title is invisible")
    # a record of another knowledge base has no links to files in its folder
    origin = done.sources[0] if len(done.sources) == 1 and not text else ""
    data = text.encode() if not rules and done.title == record.title else b""
    return ImportItem(done, record.id, origin, tuple(sorted(rules)), data=data, objection=objection)


def _assign_ids(kb: Workspace, present: Sequence[Record], items: Sequence[ImportItem]) -> list[ImportItem]:
    """Return *items* with ids and paths: first those that can keep their ids, then new ids for the rest."""
    index = kb.index
    known = {_build_identity_key(record): record for record in present}
    by_uid = {(record.scope, record.uid): record for record in present if record.uid}
    unreadable = {
        (parse_path_scope(path), path.rpartition("/")[2].partition("-")[0]) for path, _, _ in index.list_broken()
    }
    for scope, record_id in unreadable:
        if _ID.fullmatch(record_id):
            index.reserve_id(scope, record_id)
    taken = {(record.scope, record.id) for record in present} | unreadable
    placed = list(items)
    unnamed: list[int] = []
    # A record keeps its number if possible, because commit messages and chats refer to it. New numbers come last:
    # otherwise one could take the number of a later record.
    for position, item in enumerate(items):
        record = item.record
        if item.objection:
            continue
        match = _ID.fullmatch(record.id)
        if same := by_uid.get((record.scope, record.uid)) or known.get(_build_identity_key(record)):
            placed[position] = item._replace(record=same, known=True)
        elif match and match[1] == BY_NAME[record.kind].prefix and (record.scope, record.id) not in taken:
            taken.add((record.scope, record.id))
            index.reserve_id(record.scope, record.id)
            placed[position] = item._replace(record=_assign_path(record))
        else:
            unnamed.append(position)
    for position in unnamed:
        record = placed[position].record
        fresh = index.next_id(record.scope, BY_NAME[record.kind].prefix)
        index.reserve_id(record.scope, fresh)
        placed[position] = placed[position]._replace(record=_assign_path(record._replace(id=fresh)))
    return placed


def _assign_path(record: Record) -> Record:
    """Return *record* with the path of its scope, id and title, or with its present path if that fits."""
    folder = folder_for_scope(record.scope, BY_NAME[record.kind].folder)
    place, _, name = record.path.rpartition("/")
    if place == folder and name.startswith(f"{record.id}-") and _FILE_NAME.fullmatch(name):
        return record
    return record._replace(path=f"{folder}/{record.id}-{slugify(record.title)}.md")


def _build_identity_key(record: Record) -> tuple[str, str, str]:
    """Return the key by which a record equals one imported before, regardless of its links."""
    texts = " ".join(normalise(rewrite_links(section.text, lambda _: ".")) for section in record.sections)
    return record.scope, normalise(record.title), " ".join(texts.split())


def _import_item(
    transaction: Transaction, item: ImportItem, renamed: Names, paths: _ImportedPaths, uids: Iterator[str]
) -> Verdict:
    if item.objection:
        return _refuse_item(transaction, item.record, item.objection)
    if item.known:
        present = transaction.read_planned(item.record.path) if item.data else None
        differs = present is not None and present != item.data
        remarks = [msg("another version of it exists here and was kept")] if differs else []
        return transaction.build_verdict("unchanged", item.record, remarks)
    record, lost = _relink_record(transaction.kb, item, paths)
    ids = {name: [renamed.get((record.scope, old), old) for old in getattr(record, name)] for name in _LINKS}
    done = record._replace(
        uid=record.uid or next(uids),
        supersedes=tuple(ids["supersedes"]),
        amends=tuple(ids["amends"]),
        coexists_with=dict(zip(ids["coexists_with"], record.coexists_with.values(), strict=True)),
    )
    # a file with unchanged links and id is kept byte for byte
    is_kept = done == record and done.uid == record.uid and record.id == item.wanted
    try:
        transaction.add_record(done, "imported", data=item.data if is_kept else b"")
    except BadRecord as error:
        return _refuse_item(transaction, done, error.message)
    notes = [msg("masked: {rules}", rules=item.masked)] if item.masked else []
    if item.wanted not in ("", _NO_ID, done.id):
        notes.append(msg("its id {old} is in use here; it was renumbered to {new}", old=item.wanted, new=done.id))
    if lost:
        more = [f"… ({len(lost)})"] if len(lost) > _NAMED_LOST else []
        named = [clip(path, 80) for path in lost[:_NAMED_LOST]]
        notes.append(msg("it links to files that were not imported: {paths}", paths=[*named, *more]))
    return transaction.build_verdict("created", done, notes)


def _refuse_item(transaction: Transaction, record: Record, reason: Message) -> Verdict:
    return transaction.build_verdict("refused", record, [reason])._replace(id="", path="", uid="", status="")


# -- links between files --------------------------------------------------------------------------


class _ImportedPaths:
    """The paths of the records imported from files, now or earlier."""

    def __init__(self, present: Sequence[Record], items: Sequence[ImportItem]) -> None:
        self._files: dict[tuple[str, str, str], str] = {}
        self._ends: dict[tuple[str, str, str], tuple[str, str]] = {}
        """The end of an earlier file's path → file and record path; "" if several files end like this."""
        for old in present:
            for file in map(_fold_path, old.sources):
                self._files[old.scope, old.kind, file] = old.path
                parts = file.split("/")
                for end in ("/".join(parts[count:]) for count in range(1, len(parts))):
                    known, _ = self._ends.setdefault((old.scope, old.kind, end), (file, ""))
                    self._ends[old.scope, old.kind, end] = (file, old.path) if known == file else ("", "")
        seen: set[tuple[str, str, str]] = set()
        for item in items:
            key = (item.record.scope, item.record.kind, _fold_path(item.origin))
            if item.origin and not item.objection:
                self._files[key] = "" if key in seen else item.record.path
                seen.add(key)

    def find_path(self, file: str, record: Record) -> str:
        """Return the path of the record imported from *file*, or "" if there is none or several may be.

        A file imported alone has no folder in its name; files imported together have one, so compare their ends.
        """
        key = (record.scope, record.kind, _fold_path(file))
        return self._files[key] if key in self._files else self._ends.get(key, ("", ""))[1]


def _fold_path(path: str) -> str:
    """Return *path* in composed Unicode and lower case, for comparison."""
    return unicodedata.normalize("NFC", path).casefold()


def _relink_record(kb: Workspace, item: ImportItem, paths: _ImportedPaths) -> tuple[Record, list[str]]:
    """Return the record with its links to other files relative to its new path, and the paths of lost links.

    A link to an imported file leads to its record; a link to another file is kept if it is in the same repository.
    """
    record = item.record
    lost: dict[str, None] = {}

    def resolve_link(path: str) -> str:
        file = posixpath.normpath(posixpath.join(posixpath.dirname(item.origin), path))
        for name in (file, f"{file}.md"):
            if target := paths.find_path(name, record):
                return posixpath.relpath(target, posixpath.dirname(record.path))
        for top in dict.fromkeys((kb.root, kb.repository.top)) if not file.startswith("..") else ():
            # record and file are in one tree, so a relative link works from the new path too
            if all(os.path.exists(os.path.join(top, *name.split("/"))) for name in (item.origin, file)):
                folder = os.path.join(kb.root, *posixpath.dirname(item.record.path).split("/"))
                return os.path.relpath(os.path.join(top, *file.split("/")), folder).replace(os.sep, "/")
        lost[path] = None
        return ""

    if not item.origin:
        return record, []
    sections = [
        s._replace(heading=rewrite_links(s.heading, resolve_link), text=rewrite_links(s.text, resolve_link))
        for s in record.sections
    ]
    return record._replace(sections=tuple(sections)), list(lost)


# -- records of another knowledge base, as JSON ---------------------------------------------------


def dump_records(kb: Workspace, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return *records* for `kb export json`: every field, and the text of the file, which the import reads."""
    return [{**record._asdict(), "text": kb.text(record)} for record in records]


def parse_exported(data: bytes, source: str) -> tuple[list[Record], list[str]]:
    """Return the records in the JSON *data* of `kb export json`, and the text of each file; raise BadInput.

    A record without a text is built from its fields, of which kind and title are required.
    """
    try:
        rows = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadInput(msg("the input is not JSON: {problem}", problem=str(error)), path=source) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        hint = msg("it is what kb export json prints")
        raise BadInput(msg("the input is not a list of records"), path=source, hint=hint)
    pairs = [_parse_row(row, f"{source}[{number}]") for number, row in enumerate(rows)]
    return [record for record, _ in pairs], [text for _, text in pairs]


def _parse_row(row: Mapping[str, Any], place: str) -> tuple[Record, str]:
    text, path = row.get("text", ""), row.get("path", "")
    if text and isinstance(text, str) and isinstance(path, str):
        return parse_record(text, path or place)._replace(path=path), text
    if not all(isinstance(row.get(key), str) and row[key].strip() for key in ("kind", "title")):
        raise BadInput(msg("a record has a kind and a title"), path=place)
    for key in ("id", "scope", "status", "uid", "date", "confirmed"):
        if not isinstance(row.get(key, ""), str):
            raise BadInput(msg("the field {key} must be {wanted}", key=key, wanted="string"), path=place)
    # the front matter code knows the format of every field: write the record as a file and parse that
    front = {key: value for key, value in row.items() if key in KEYS and value}
    extra = row.get("extra")
    sections = [_parse_section(one, place) for one in row.get("sections") or ()]
    made = Record(**{"id": "", **front, "sections": tuple(sections), "user": str(row.get("user") or "")})
    made = made._replace(id=made.id or _NO_ID)
    return parse_record(render(made._replace(extra=extra if isinstance(extra, dict) else {})), place), ""


def _parse_section(one: object, place: str) -> Section:
    values = [one.get(key) for key in Section._fields] if isinstance(one, dict) else []
    if len(values) != len(Section._fields) or not all(isinstance(value, str) for value in values):
        raise BadInput(msg("a section has a name, a heading and a text"), path=place)
    return Section(*map(str, values))
