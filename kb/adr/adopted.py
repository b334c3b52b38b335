"""Adopted folders: decision records that stay where another tool keeps them, in the form it gives them.

This is the one place that knows which of two forms a file has. `RecordFiles.read` gives a record of either; the writer
of the other form is `adr_style`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.model import GLOBAL, IMPORTED, parse_scope_name
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.config import Config
    from kb.records.model import Record

LINKS = "adr_links"
"""The key under which an adopted record keeps what its text says of others, until all of them are known."""
NO_STATUS = "adr_no_status"
"""The key that marks an adopted record whose text says nothing of its status."""
STATED_STATUS = "stated_status"
"""The key under which it keeps the status of its own text, where another record has taken it out of force."""


class AdoptedFolder(NamedTuple):
    """A folder of decision records that were there before kb, and the scope they have."""

    path: str
    """Relative to the knowledge base, with forward slashes."""
    scope: str


def parse_adopted_folders(rows: Iterable[str], project: str) -> tuple[AdoptedFolder, ...]:
    """Return the folders that *rows* of the setting `adopt` name: "docs/adr", or "pay/docs/adr: project/pay".

    Without a scope it is that of *project*, the knowledge base's own. Raise BadInput for a path that leads elsewhere.
    """
    found = []
    for row in rows:
        path, _, scope = (word.strip() for word in row.partition(":"))
        folder = posixpath.normpath(path.replace("\\", "/"))
        if not path or folder.startswith(("/", "..")) or folder == "." or folder.partition("/")[0] in _OWN:
            raise BadInput(msg("{path} is not a folder of decision records in this knowledge base", path=path or row))
        own = f"project/{project}" if project else GLOBAL
        found.append(AdoptedFolder(folder, parse_scope_name(scope) if scope else own))
    return tuple(sorted(found, key=lambda one: -len(one.path)))


_LONGEST_COUNTED = len("D99999")
"""Ids that are longer are made of a day or a name."""
_OWN = frozenset({"content", ".kb", ".git", ".wukong"})
"""What kb keeps itself."""


class RecordFiles(NamedTuple):
    """Where the records of a knowledge base lie, and how each file is read."""

    adopted: tuple[AdoptedFolder, ...] = ()
    """The longest paths first: of two folders in each other the inner one counts."""

    def find_folder(self, path: str) -> AdoptedFolder | None:
        """Return the adopted folder that the file *path* is in, or None."""
        return next((one for one in self.adopted if path.startswith(f"{one.path}/")), None)

    def find_home(self, scope: str) -> AdoptedFolder | None:
        """Return the folder into which new decisions of *scope* go, or None where they are kb's own files."""
        return next((one for one in reversed(self.adopted) if one.scope == scope), None)

    def list_tops(self) -> list[str]:
        """Return the adopted folders that are in no other one."""
        return [one.path for one in self.adopted if self.find_folder(one.path) is None]

    def is_record_path(self, path: str) -> bool:
        """Return whether *path* is where records stand, kb's own or adopted ones."""
        from kb.records.kinds import is_record_path

        is_adopted = path.endswith(".md") and self.find_folder(path) is not None
        return is_adopted or is_record_path(path)

    def is_counted(self, record: Record) -> bool:
        """Return whether the number of *record* is one of a count, and not made of a day or a name."""
        return self.find_folder(record.path) is None or len(record.id) <= _LONGEST_COUNTED

    def read(self, data: bytes, path: str) -> Record:
        """Return the record in a file; raise BadRecord, in an adopted folder NoDecision for what is no record."""
        from kb.records.front_matter import decode_record

        return self.parse(decode_record(data, path), path)

    def parse(self, text: str, path: str) -> Record:
        """Return the record in the *text* of the file *path*; raise BadRecord as `read` does."""
        if folder := self.find_folder(path) if path.endswith(".md") else None:
            return _parse_adopted(text, path, folder)
        from kb.records.record_file import parse_record

        return parse_record(text, path)


_MENTION = regex(r"(?<![\w/#-])ADR[- ]?0{0,4}(\d{1,5})(?!\w)")


class AdoptedCitation(NamedTuple):
    """A place where one adopted record names another."""

    id: str
    line: int
    """1-based, in the text that was looked at."""
    mark: str
    """How it is named there."""


def is_adopted(record: Record) -> bool:
    """Return whether *record* lies where another tool keeps it."""
    return IMPORTED in record.extra and not record.path.startswith("content/")


def find_adopted_citations(record: Record, text: str) -> Iterator[AdoptedCitation]:
    """Yield where *text* of an adopted *record* names others: by a link to their file, or as ADR-12.

    Of anything else nothing is yielded, nor of the record itself.
    """
    if not is_adopted(record):
        return
    from kb.adr.adr_text import derive_id, parse_file_date, parse_file_number
    from kb.records.citations import list_destinations
    from kb.text.segment import find_line_number

    for span in list_destinations(text) if ".md" in text else ():
        target = text[span.start : span.end]
        is_near = "/" not in target.removeprefix("./") or parse_file_number(target) is not None
        if target.endswith(".md") and "://" not in target and (is_near or parse_file_date(target)):
            found = derive_id(target, parse_file_number(target))
            if found != record.id:
                yield AdoptedCitation(found, find_line_number(text, span.start), target)
    for match in _MENTION.finditer(text):
        found = derive_id("", int(match[1]))
        if found != record.id:
            yield AdoptedCitation(found, find_line_number(text, match.start()), match.group())


OWN_FILES = RecordFiles()


def list_record_files(config: Config) -> RecordFiles:
    """Return where the records of the knowledge base with these settings lie."""
    if not config.adopt:
        return OWN_FILES
    from kb.text.segment import slugify

    return RecordFiles(parse_adopted_folders(config.adopt, slugify(config.project) if config.project else ""))


def _parse_adopted(text: str, path: str, folder: AdoptedFolder) -> Record:
    """Return the record in *text* as it stands alone; `adr_set.link_adopted` gives it what others say of it."""
    from kb.adr.adr_file import read_adr
    from kb.adr.adr_text import derive_id
    from kb.records.blocks import refuse_conflict_markers

    refuse_conflict_markers(text, path)
    found = read_adr(text, path)
    links = [list(link) for link in found.links]
    extra = {
        **found.record.extra,
        **({LINKS: links} if links else {}),
        **({} if found.has_status else {NO_STATUS: True}),
    }
    return found.record._replace(
        id=derive_id(path, found.number), scope=folder.scope, path=path, sources=(), extra=extra
    )
