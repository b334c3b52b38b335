"""Write into adopted folders: new decisions in their style, and changes of status and relations line by line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.adr.adr_fields import derive_id, parse_file_date, parse_file_number
from kb.adr.adr_outline import add_statement, edit_lines, read_status, remove_statements, set_status
from kb.adr.adr_set import is_target
from kb.adr.adr_style import AdrStyle, build_file_name, learn_style, render_new
from kb.errors import BadRecord, KbError
from kb.files import read_if_exists
from kb.i18n import msg
from kb.records.front_matter import decode_record
from kb.records.model import Record, Status

if TYPE_CHECKING:
    from kb.adr.adopted import AdoptedFolder
    from kb.writing.transaction import Transaction

_SAMPLES = 40
"""How many of the newest records of a folder show how it is written."""
_OWN_LINES = frozenset({"status", "supersedes", "amends"})
"""What kb changes in a record of another form."""


def place_record(transaction: Transaction, record: Record, folder: AdoptedFolder) -> Record:
    """Return the new *record* with the path and the id that it gets among those of *folder*."""
    style = _learn(transaction, folder)
    taken = frozenset(one.path for one in transaction.kb.index.list_adopted())
    number = int(record.id[1:])
    path = build_file_name(style, record, number, taken)
    while os.path.lexists(os.path.join(transaction.kb.root, *path.split("/"))):  # a page that is no record
        taken |= {path}
        path = build_file_name(style, record, number, taken)
    has_number = parse_file_number(path) is not None or not (parse_file_date(path) or parse_file_date(style.path))
    return record._replace(path=path, id=derive_id(path, number if has_number and parse_file_number(path) else None))


def render_record(transaction: Transaction, record: Record, folder: AdoptedFolder) -> bytes:
    """Return the file of the new *record*; raise BadRecord where another record would be read from it."""
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
        said = msg("the record cannot be written in the form of {folder}", folder=folder.path)
        raise BadRecord(said, path=record.path, hint=msg("use another title"))
    return data


def edit_record(
    transaction: Transaction,
    record: Record,
    before: bytes,
    changes: Mapping[str, object],
    folder: AdoptedFolder,
    by: Sequence[Record] = (),
) -> bytes:
    """Return the file of *record*, *before* in the tip, with the status and the relations that *changes* name.

    *by*: the records that supersede it, where the index does not know of them yet.

    Raise KbError for what a file of this form has no place for, and where a line says more than what is to go.
    """
    if others := sorted(changes.keys() - _OWN_LINES):
        said = msg(
            "[{id}] is kept in {folder} in its own form, which has no place for: {keys}",
            id=record.scoped_id,
            folder=folder.path,
            keys=", ".join(others),
        )
        raise KbError(said, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
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
        said = msg("the status of [{id}] stands where kb cannot change it", id=record.scoped_id)
        raise KbError(said, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
    return text.encode()


def _change_relation(
    transaction: Transaction, style: AdrStyle, record: Record, text: str, relation: str, wanted: Sequence[str]
) -> str:
    """Return *text* with the statements that make *relation* lead to the ids *wanted* and no others."""
    now = record.supersedes if relation == "supersedes" else record.amends
    added = _find_all(transaction, record, [one for one in wanted if one not in now])
    gone = _find_all(transaction, record, [one for one in now if one not in wanted])
    if gone:
        text, is_left = remove_statements(
            text, lambda said, target: said == relation and any(is_target(one, target) for one in gone)
        )
        if is_left:
            said = msg("a line of [{id}] on what it replaces says more than that", id=record.scoped_id)
            raise KbError(said, path=record.path, hint=msg("edit it: kb edit {id}", id=record.scoped_id))
    if added:
        line = style.say_relation(relation, [style.link(one, record.path) for one in added], "Accepted")
        text = edit_lines(text, lambda plain: add_statement(plain, line))
    return text


def _find_all(transaction: Transaction, record: Record, ids: Sequence[str]) -> list[Record]:
    found = (one for wanted in ids for one in transaction.kb.index.find_by_id(wanted))
    return [one for one in found if one.scope == record.scope]


def _learn(transaction: Transaction, folder: AdoptedFolder) -> AdrStyle:
    """Return the style of *folder* as its newest records show it."""
    kb = transaction.kb
    records = [one for one in kb.index.list_adopted() if kb.files.find_folder(one.path) == folder]
    newest = sorted(records, key=lambda one: (kb.files.is_counted(one), len(one.id), one.id))[-_SAMPLES:]
    if records and not any(map(kb.files.is_counted, records)):  # named by their days
        newest = sorted(records, key=lambda one: one.path)[-_SAMPLES:]
    files = []
    for one in newest:
        data = read_if_exists(os.path.join(kb.root, *one.path.split("/")))
        if data is not None and one.path not in transaction.changes:
            files.append((one.path, decode_record(data, one.path).replace("\r\n", "\n")))
    return learn_style(folder.path, files, kb.config.language)
