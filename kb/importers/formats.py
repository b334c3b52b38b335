"""What an importer of finished records gets and gives back; the formats are rows in `kb.importers.format_table`.

A reader turns files into finished records. All that follows is the same for every format: secrets are masked, ids given
and one commit written, and with `--dry-run` every verdict is shown and nothing written. Notes, of which the gate is to
decide what is worth keeping, are read by `kb.importers.notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kb.errors import KbError
from kb.i18n import Message
from kb.records.model import Record


class SourceFile(NamedTuple):
    """A file that is to be imported."""

    name: str
    """Its path as it goes into findings and commits: no folder of this machine stands in it."""
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
