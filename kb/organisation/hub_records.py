"""Read the records that changed between two commits of a mirror. Bad files are reported, never fatal.

A file that is too large, no regular file, or no record goes into the list of broken files; the others are indexed.
Only a repository with more records than a hub takes is refused as a whole, and keeps its last state.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.adr.adopted import OWN_FILES, RecordFiles, list_record_files
from kb.adr.adr_set import link_adopted
from kb.config import FILE, build_config
from kb.errors import BadInput, BadRecord, KbError, NoDecision
from kb.files import json_bytes
from kb.i18n import msg
from kb.organisation.mirrors import ChangedBlob, Mirror
from kb.organisation.org_values import BrokenFile
from kb.records.kinds import CONTENT
from kb.records.model import AGENT, Record

MAX_FILE_BYTES = 1_000_000
"""Bytes of the largest file to read; a record of this size would have 500 pages."""
MAX_FILES = 50_000
MAX_BYTES = 500_000_000
"""Limits of one repository: record files, and bytes in them; many times the largest known knowledge base."""
_BATCH_BYTES = 16_000_000
"""Bytes of files to hold in memory at once."""
_LAYOUT = ("adopt", "project")
"""The settings of a knowledge base that say where its records are."""
_MAX_BROKEN = 1_000
"""Broken files to list per repository."""


class RepositoryChange(NamedTuple):
    """The change that brings an index to another commit of a repository."""

    before: str
    """The commit the index must have now, "" for none; if it has another, another hub was faster."""
    commit: str
    records: tuple[Record, ...]
    """The new and possibly changed records."""
    looked: frozenset[str]
    """The paths that were read: rows of these paths that are not in *records* are deleted."""
    is_whole: bool
    """Whether *records* is complete, so that rows of other paths are deleted too."""
    broken: tuple[BrokenFile, ...] = ()
    settings: bytes = b""
    """The encoded `BaseSettings` from `kb.toml`."""


class BaseSettings(NamedTuple):
    """The settings in `kb.toml` of a knowledge base that matter to the whole organisation."""

    project: str = ""
    groups: tuple[str, ...] = ()
    """As written there: "pay: shop, loan"."""
    wiki_url: str = ""
    """http:// or https://, or ""."""
    language: str = ""
    """"en" or "zh", or "" if not set."""


def encode_settings(settings: BaseSettings) -> bytes:
    """Return *settings* encoded for an engine, or b"" if none is set."""
    return b"" if settings == BaseSettings() else json_bytes(settings._asdict())


def decode_settings(data: bytes) -> BaseSettings:
    """Return the settings encoded by `encode_settings`."""
    if not data:
        return BaseSettings()
    values = json.loads(data)
    return BaseSettings(**{**values, "groups": tuple(values["groups"])})


def read_change(mirror: Mirror, folder: str, before: str, commit: str) -> RepositoryChange:
    """Return the change of the knowledge base in *folder* between the commits *before* ("": none) and *commit*."""
    prefix = f"{folder}/" if folder else ""
    before = before if mirror.has_commit(before) else ""
    problems: list[BrokenFile] = []
    files, settings = _read_settings(mirror, prefix, commit, problems)
    # adopted records depend on the others in their folder, and a setting may turn any file into a record
    is_whole = not before or bool(files.adopted) or _read_settings(mirror, prefix, before, [])[0] != files
    tops = [prefix + top for top in (CONTENT, *files.list_tops())]
    changed = mirror.list_changes("" if is_whole else before, commit, tops)
    blobs = [one._replace(path=one.path.removeprefix(prefix)) for one in changed]
    blobs = [one for one in blobs if files.is_record_path(one.path)]
    if len(blobs) > MAX_FILES:
        raise KbError(msg("the repository has more than {n} record files", n=MAX_FILES))
    records = list(_read_records(mirror, files, blobs, problems))
    if files.adopted:
        records = _link_all(files, records)
    looked = frozenset(one.path for one in blobs)
    shared = tuple(one for one in records if not one.scope.startswith(AGENT))  # these apply only to that agent
    broken = tuple(problems[:_MAX_BROKEN])
    return RepositoryChange(before, commit, shared, looked, is_whole, broken, encode_settings(settings))


def _read_settings(
    mirror: Mirror, prefix: str, commit: str, problems: list[BrokenFile]
) -> tuple[RecordFiles, BaseSettings]:
    """Return the record folders and other settings of `kb.toml` in *commit*; defaults if it is missing or broken."""
    oid = mirror.find_blob(commit, prefix + FILE)
    if not oid or mirror.read_sizes([oid]).get(oid, MAX_FILE_BYTES) >= MAX_FILE_BYTES:
        return OWN_FILES, BaseSettings()
    try:
        values = tomllib.loads(mirror.read_blobs([oid])[oid].decode())
        # a newer kb may have settings that this one does not know
        files = list_record_files(build_config({key: values[key] for key in _LAYOUT if key in values}))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        problems.append(BrokenFile(FILE, msg("not valid TOML: {problem}", problem=error)))
        return OWN_FILES, BaseSettings()
    except BadInput as error:
        problems.append(BrokenFile(FILE, error.message))
        files = OWN_FILES
    try:
        config = build_config({key: values[key] for key in BaseSettings._fields if key in values})
    except BadInput as error:
        problems.append(BrokenFile(FILE, error.message))
        return files, BaseSettings()
    url = config.wiki_url if re.fullmatch(r"https?://[!-~]{1,500}", config.wiki_url) else ""
    return files, BaseSettings(config.project, config.groups, url, config.language if "language" in values else "")


def _read_records(
    mirror: Mirror, files: RecordFiles, blobs: Sequence[ChangedBlob], problems: list[BrokenFile]
) -> Iterator[Record]:
    """Yield the records in *blobs*, and add other files to *problems*."""
    plain = [one for one in blobs if one.is_plain and one.oid]
    for one in blobs:
        if not one.is_plain:
            shown = one.path.encode("utf-8", "backslashreplace").decode()
            problems.append(BrokenFile(shown, msg("it is not a regular file, or its name is not valid")))
    sizes = mirror.read_sizes(one.oid for one in plain)
    total = 0
    fit: list[ChangedBlob] = []
    for one in plain:
        size = sizes.get(one.oid, 0)
        if size > MAX_FILE_BYTES:
            problem = msg("the file has {size} bytes; a hub reads at most {limit}", size=size, limit=MAX_FILE_BYTES)
            problems.append(BrokenFile(one.path, problem))
            continue
        total += size
        fit.append(one)
    if total > MAX_BYTES:
        raise KbError(msg("the records of the repository have more than {n} megabytes", n=MAX_BYTES // 1_000_000))
    for batch in _cut_batches(fit, sizes):
        contents = mirror.read_blobs(one.oid for one in batch)
        for one in batch:
            try:
                yield files.read(contents.get(one.oid, b""), one.path)
            except NoDecision:
                continue
            except BadRecord as error:
                problems.append(BrokenFile(one.path, error.message, error.line))


def _cut_batches(blobs: Iterable[ChangedBlob], sizes: dict[str, int]) -> Iterator[list[ChangedBlob]]:
    batch: list[ChangedBlob] = []
    pending_bytes = 0
    for one in blobs:
        size = sizes.get(one.oid, 0)
        if batch and pending_bytes + size > _BATCH_BYTES:
            yield batch
            batch, pending_bytes = [], 0
        batch.append(one)
        pending_bytes += size
    if batch:
        yield batch


def _link_all(files: RecordFiles, records: list[Record]) -> list[Record]:
    """Return *records* with the adopted ones linked to each other."""
    adopted: dict[str, list[Record]] = defaultdict(list)
    taken: dict[str, set[str]] = defaultdict(set)
    own: list[Record] = []
    for record in records:
        if files.find_folder(record.path):
            adopted[record.scope].append(record)
        else:
            own.append(record)
            taken[record.scope].add(record.id)
    for scope, some in adopted.items():
        own += link_adopted(some, taken[scope])
    return own
