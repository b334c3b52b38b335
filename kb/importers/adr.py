"""Import decision records of other tools: each file is read by `kb.adr`, and together they get ids and links."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_set import find_side_files, resolve_imports
from kb.errors import BadInput, BadRecord, KbError, NoDecision
from kb.i18n import msg
from kb.importers.formats import ImportedFiles, SourceFile
from kb.records.front_matter import decode_record


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
    skipped += [NoDecision(msg("it goes with a decision record, and is none itself"), path=path) for path in side]
    found = [item for item in found if item.path not in side]
    resolution = resolve_imports(found)
    remarks = [(item.path, note) for item in found for note in item.notes]
    remarks += [(problem.path, problem.said) for problem in resolution.problems]
    records = [record._replace(scope=scope) for record in resolution.records]
    return ImportedFiles(records, [item.path for item in found], remarks=remarks, skipped=skipped)
