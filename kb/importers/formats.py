"""The formats in which finished records come, each a row: what an importer gets and what it gives back.

A reader turns files into finished records. All that follows is the same for every format: secrets are masked, ids given
and one commit written, and with `--dry-run` every verdict is shown and nothing written. Notes, of which the gate is to
decide what is worth keeping, are read by `kb.importers.notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_markup import SUFFIXES
from kb.adr.adr_set import find_side_files, resolve_imports
from kb.errors import BadInput, BadRecord, KbError, NoDecision
from kb.i18n import Message, msg
from kb.importers.wukong import parse_anchors
from kb.records.front_matter import decode_record
from kb.records.model import Record
from kb.writing.bulk_import import parse_exported


class SourceFile(NamedTuple):
    """A file that is to be imported."""

    name: str
    """Its path as it goes into findings and commits: it names no folder of this machine."""
    read: Callable[[], bytes]
    """Returns its bytes; raises BadInput where it cannot be read."""


class ImportedFiles(NamedTuple):
    """What a format has made of files."""

    records: Sequence[Record] = ()
    places: Sequence[str] = ()
    """For each of the records the name of the file it comes from; none where the history of files says nothing."""
    texts: Sequence[str] = ()
    """For each the text of its file, where that is to be kept as it is."""
    remarks: Sequence[tuple[str, Message]] = ()
    """What is odd in a file, by its name."""
    skipped: Sequence[KbError] = ()
    """Why a file has nothing to import."""


class ImportFormat(NamedTuple):
    """One format: how it is called, where it is, and what reads it."""

    name: str
    what: str
    """In English, for the documentation."""
    suffixes: tuple[str, ...]
    """Of the files that are read in a folder; none: it is one file."""
    read: Callable[[Sequence[SourceFile], str, Callable[[int], None]], ImportedFiles]
    """Is given the files, the scope ("": what the files say), and what is told how many are done."""


def read_adr_files(files: Sequence[SourceFile], scope: str, progress: Callable[[int], None]) -> ImportedFiles:
    """Return the decision records in *files*; what is none is named with the reason."""
    found: list[ImportedAdr] = []
    skipped: list[KbError] = []
    for number, file in enumerate(files, 1):
        try:
            found.append(read_adr(decode_record(file.read(), file.name), file.name))
        except (BadRecord, BadInput) as error:
            skipped.append(error)
        progress(number)
    side = find_side_files(found)
    skipped += [NoDecision(msg("it belongs to a decision record, but is not one"), path=path) for path in side]
    found = [item for item in found if item.path not in side]
    resolution = resolve_imports(found)
    remarks = [(item.path, note) for item in found for note in item.notes]
    remarks += [(problem.path, problem.said) for problem in resolution.problems]
    records = [record._replace(scope=scope) for record in resolution.records]
    return ImportedFiles(records, [item.path for item in found], remarks=remarks, skipped=skipped)


def _read_anchor_files(files: Sequence[SourceFile], scope: str, progress: Callable[[int], None]) -> ImportedFiles:
    """Return the anchors in each of *files*."""
    records = []
    for number, file in enumerate(files, 1):
        data = file.read()
        try:
            records += parse_anchors(data.decode("utf-8"), scope, file.name)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            said = msg("the file is not valid UTF-8")
            raise BadInput(said, path=file.name, line=line, hint=msg("save it as UTF-8")) from None
        progress(number)
    return ImportedFiles(records)


def _read_exported_files(files: Sequence[SourceFile], scope: str, progress: Callable[[int], None]) -> ImportedFiles:
    """Return the records in each of *files*, as they are, or in *scope* where one is named."""
    records, texts = [], []
    for number, file in enumerate(files, 1):
        found, own = parse_exported(file.read(), file.name)
        records += [record._replace(scope=scope, path="") for record in found] if scope else found
        texts += [""] * len(found) if scope else own
        progress(number)
    return ImportedFiles(records, texts=texts)


FORMATS = {
    row.name: row
    for row in (
        ImportFormat("adr", "Decision records of other tools", SUFFIXES, read_adr_files),
        ImportFormat("wukong", "An anchors.md, many anchors in one file", (), _read_anchor_files),
        ImportFormat("json", "What kb export json prints", (), _read_exported_files),
    )
}
