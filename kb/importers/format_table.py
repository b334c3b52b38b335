"""The table of the formats in which finished records come: a new one is a module beside this one, and a row here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb.errors import BadInput
from kb.i18n import msg
from kb.importers.adr import read_adr_files
from kb.importers.formats import ImportedFiles, ImportFormat, SourceFile
from kb.importers.wukong import parse_anchors
from kb.writing.bulk_import import parse_exported


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
        ImportFormat("adr", "Decision records of other tools", (".md", ".markdown"), read_adr_files),
        ImportFormat("wukong", "An anchors.md, many anchors in one file", (), _read_anchor_files),
        ImportFormat("json", "What kb export json prints", (), _read_exported_files),
    )
}
