"""Adopted folders: find their knowledge base, and write records into them in their own format.

New decisions are written in the style of the folder; status and relations are changed line by line.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kb.adr.adopted import list_record_files
from kb.adr.adr_file import read_adr
from kb.adr.adr_outline import read_status
from kb.adr.adr_set import is_target
from kb.adr.adr_style import (
    AdrStyle,
    add_statement,
    build_file_name,
    edit_lines,
    learn_style,
    remove_statements,
    render_new,
    set_status,
)
from kb.adr.adr_text import derive_id, parse_file_date, parse_file_number
from kb.config import FILE
from kb.errors import BadInput, BadRecord, KbError, NoKnowledgeBase
from kb.files import read_if_exists
from kb.git.git_process import find_git_dir
from kb.git.revisions import iter_files
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.paths import find_root_above
from kb.records.front_matter import decode_record
from kb.records.kinds import status_name
from kb.records.model import Record, Status
from kb.text.segment import has_cjk

if TYPE_CHECKING:
    from kb.adr.adopted import AdoptedFolder
    from kb.workspace import Workspace
    from kb.writing.transaction import Transaction


_MOSTLY = 0.5
"""Share of the records that decides the language of a new knowledge base."""


def find_adopting_root(folder: str, environment: Mapping[str, str]) -> str:
    """Return the root of the knowledge base around *folder*, or else of its repository; raise NoKnowledgeBase."""
    if root := find_root_above(folder, environment):
        return root
    if repository := find_git_dir(os.path.realpath(folder)):
        return repository[0]
    hint = msg("go into the repository that has them, or make one: git init")
    raise NoKnowledgeBase(msg("{path} is in no git repository", path=folder), hint=hint)


def _split_row(row: str) -> tuple[str, str]:
    """Return folder and scope of an argument: "docs/adr", or "docs/adr: project/pay"."""
    path, colon, scope = row.rpartition(":")
    return (path.strip(), f": {scope.strip()}") if colon and path and "/" not in scope[:1] else (row.strip(), "")


def guess_language(rows: Sequence[str]) -> str:
    """Return "zh" if most of the decision records in the folders of *rows* are in Chinese, else ""."""
    titles = []
    for row in rows:
        folder, _ = _split_row(row)
        for name in iter_files(folder):
            with contextlib.suppress(BadRecord):
                data = read_if_exists(os.path.join(folder, name)) if name.endswith(".md") else None
                titles.append(has_cjk(read_adr(decode_record(data), name).record.title) if data else False)
    return "zh" if titles and sum(titles) / len(titles) > _MOSTLY else ""


def locate_adopted(root: str, rows: Sequence[str]) -> list[str]:
    """Return *rows*, with folders relative to the current one, relative to *root* as in the settings."""
    found = []
    for row in rows:
        folder, scope = _split_row(row)
        if not os.path.isdir(folder):
            raise BadInput(msg("there is no such file or folder"), path=folder)
        inside = os.path.relpath(os.path.realpath(folder), os.path.realpath(root)).replace(os.sep, "/")
        found.append(f"{inside}{scope}")
    return found


def refuse_taken_numbers(kb: Workspace, rows: Sequence[str]) -> None:
    """Raise BadInput if records to be adopted have the numbers of other decisions in their scope."""
    files = list_record_files(kb.config._replace(adopt=tuple(rows)))
    for folder in files.adopted:
        own = {
            record.id
            for record in kb.records(Filter(("decision",), scopes=(folder.scope,)))
            if kb.files.find_folder(record.path) is None
        }
        wanted = set()
        for name in iter_files(os.path.join(kb.root, *folder.path.split("/"))) if own else ():
            with contextlib.suppress(BadRecord):
                path = f"{folder.path}/{name}"
                data = read_if_exists(os.path.join(kb.root, *path.split("/"))) if name.endswith(".md") else None
                wanted |= {files.read(data, path).id} if data else set()
        if taken := sorted(own & wanted):
            shown = [*taken[:5], *(["…"] if len(taken) > 5 else [])]
            problem = msg("{ids} already belong to other records of {scope}", ids=shown, scope=folder.scope)
            raise BadInput(
                problem,
                path=folder.path,
                hint=msg('give the folder a scope: --adopt "{path}: project/NAME"', path=folder.path),
            )


def describe_adopted(kb: Workspace) -> Iterator[Message]:
    """Yield messages on the adopted folders: how many records of each status, and the files that are no records."""
    index = kb.sync_index()
    records = index.list_adopted()
    broken = [path for path, _, _ in index.list_broken() if kb.files.find_folder(path)]
    for folder in reversed(kb.files.adopted):
        own = [record for record in records if kb.files.find_folder(record.path) == folder]
        counts = Counter(str(record.status) for record in own)
        yield msg(
            "{folder}: {count} decision adopted ({scope})",
            "{folder}: {count} decisions adopted ({scope})",
            folder=folder.path,
            count=len(own),
            scope=folder.scope,
        )
        for status, number in counts.most_common():
            yield msg("  {number} {status}", number=number, status=status_name(status))
        if own:
            continue
        yield msg("there are no decision records yet; the first one is written with: kb new")
    if broken:
        yield msg("cannot be read: {paths}; see: kb check", paths=broken[:5])
    yield msg(
        "new decisions are written there in the same form; to undo this, take the line adopt out of {file}", file=FILE
    )


_SAMPLES = 40
"""The number of newest records from which the style of a folder is learnt."""
_OWN_LINES = frozenset({"status", "supersedes", "amends"})
"""The front matter keys that kb changes in a record of another format."""


def place_record(transaction: Transaction, record: Record, folder: AdoptedFolder) -> Record:
    """Return the new *record* with a path and an id that fit the records of *folder*."""
    style = _learn(transaction, folder)
    taken = frozenset(one.path for one in transaction.kb.index.list_adopted())
    number = int(record.id[1:])
    path = build_file_name(style, record, number, taken)
    while os.path.lexists(os.path.join(transaction.kb.root, *path.split("/"))):  # this file is no record
        taken |= {path}
        path = build_file_name(style, record, number, taken)
    has_number = parse_file_number(path) is not None or not (parse_file_date(path) or parse_file_date(style.path))
    return record._replace(path=path, id=derive_id(path, number if has_number and parse_file_number(path) else None))


def render_record(transaction: Transaction, record: Record, folder: AdoptedFolder) -> bytes:
    """Return the file of the new *record*; raise BadRecord if a different record would be read from it."""
    style = _learn(transaction, folder)
    number = parse_file_number(record.path)
    statements = [
        style.say_relation(
            relation, [style.link(one, record.path) for one in _find_all(transaction, record, ids)], "Accepted"
        )
        for relation, ids in (("supersedes", record.supersedes), ("amends", record.amends))
        if ids
    ]
    text = render_new(style, record, number or 0, statements)
    data = text.encode()
    made = transaction.kb.files.read(data, record.path)
    if (made.id, made.title, made.status) != (record.id, record.title, record.status):
        problem = msg("the record cannot be written in the form of {folder}", folder=folder.path)
        raise BadRecord(problem, path=record.path, hint=msg("use another title"))
    return data


def edit_record(
    transaction: Transaction,
    record: Record,
    before: bytes,
    changes: Mapping[str, object],
    folder: AdoptedFolder,
    by: Sequence[Record] = (),
) -> bytes:
    """Return the file *before* of *record* with the status and relations in *changes*.

    *by*: superseding records that are not in the index yet.

    Raise KbError if this format cannot express a change, or if a line to be removed says more than the relation.
    """
    if others := sorted(changes.keys() - _OWN_LINES):
        problem = msg(
            "[{id}] is kept in {folder} in its own form, which has no place for: {keys}",
            id=record.scoped_id,
            folder=folder.path,
            keys=others,
        )
        raise KbError(problem, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
    style = _learn(transaction, folder)
    text = decode_record(before, record.path)
    for relation in ("supersedes", "amends"):
        if relation in changes:
            text = _change_relation(transaction, style, record, text, relation, list(changes[relation] or ()))  # type: ignore[call-overload]
    if status := str(changes.get("status") or ""):
        value = style.say_status(status)
        if status == Status.SUPERSEDED:
            newer = [one for one, _ in transaction.kb.index.find_referrers(record.id, "supersedes")]
            newer = [*by, *(one for one in newer if one.scope == record.scope and one.path not in {b.path for b in by})]
            links = [style.link(one, record.path) for one in newer]
            value = style.say_relation("superseded_by", links, read_status(text)) if links else value
        text = edit_lines(text, lambda plain: set_status(plain, value))
    made = transaction.kb.files.parse(text, record.path)
    if (status and made.status != status) or made.title != record.title:
        problem = msg("the status of [{id}] is in a place where kb cannot change it", id=record.scoped_id)
        raise KbError(problem, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
    return text.encode()


def _change_relation(
    transaction: Transaction, style: AdrStyle, record: Record, text: str, relation: str, wanted: Sequence[str]
) -> str:
    """Return *text* with its statements of *relation* changed to name exactly the ids *wanted*."""
    now = record.supersedes if relation == "supersedes" else record.amends
    added = _find_all(transaction, record, [one for one in wanted if one not in now])
    gone = _find_all(transaction, record, [one for one in now if one not in wanted])
    if gone:
        text, is_left = remove_statements(
            text, lambda stated, target: stated == relation and any(is_target(one, target) for one in gone)
        )
        if is_left:
            problem = msg("a line of [{id}] on what it replaces says more than that", id=record.scoped_id)
            raise KbError(problem, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
    if added:
        line = style.say_relation(relation, [style.link(one, record.path) for one in added], "Accepted")
        text = edit_lines(text, lambda plain: add_statement(plain, line))
    return text


def _find_all(transaction: Transaction, record: Record, ids: Sequence[str]) -> list[Record]:
    records = (one for wanted in ids for one in transaction.kb.index.find_by_id(wanted))
    return [one for one in records if one.scope == record.scope]


def _learn(transaction: Transaction, folder: AdoptedFolder) -> AdrStyle:
    """Return the style of *folder*, learnt from its newest records."""
    kb = transaction.kb
    records = [one for one in kb.index.list_adopted() if kb.files.find_folder(one.path) == folder]
    newest = sorted(records, key=lambda one: (kb.files.is_counted(one), len(one.id), one.id))[-_SAMPLES:]
    if records and not any(map(kb.files.is_counted, records)):  # files named by date
        newest = sorted(records, key=lambda one: one.path)[-_SAMPLES:]
    files = []
    for one in newest:
        data = read_if_exists(os.path.join(kb.root, *one.path.split("/")))
        if data is not None and one.path not in transaction.changes:
            files.append((one.path, decode_record(data, one.path).replace("\r\n", "\n")))
    return learn_style(folder.path, files, kb.config.language)
