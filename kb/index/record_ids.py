"""Ids: assign them, find records by them, and write them so that they work for the reader."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping

from kb.config import FILE
from kb.errors import BadRecord, GitFailed, KbError, NoKnowledgeBase, UnknownId
from kb.files import json_bytes, write_atomic
from kb.i18n import Message, msg
from kb.index.database import Index
from kb.index.schema import Filter
from kb.paths import find_root, find_untrusted_root
from kb.records.kinds import CONTENT, KINDS, SIGNATURE, parse_path_scope
from kb.records.model import GLOBAL, LIVE, Record, ScopedId, list_aliases, parse_scope_name, qualify_id
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import slugify

if TYPE_CHECKING:
    from typing import Any

    from kb.records.model import SimilarRecord, Verdict
    from kb.workspace import Workspace


Scopes = Callable[[str], Iterable[str]]  # returns the scopes that have a record of an id
MAKE_ONE = msg("make one here: kb init --here; for yourself, in ~/.kb: kb init --user; elsewhere: kb init PATH")


def find_base_root(start: str, environment: Mapping[str, str]) -> str:
    """Return the root of the knowledge base for the folder *start*; raise NoKnowledgeBase."""
    root = find_root(start, environment)
    if root is not None:
        return root
    if named := environment.get("KB_HOME"):
        problem = msg("$KB_HOME names {path}, which is not a knowledge base", path=named)
        raise NoKnowledgeBase(problem, hint=msg("make one: kb init {path}", path=named))
    if over := find_untrusted_root(start, environment):
        problem = msg("{path} belongs to another user and was skipped", path=os.path.join(over, FILE))
        raise NoKnowledgeBase(problem, hint=msg("if you trust its owner, name it: KB_HOME={path}", path=over))
    raise NoKnowledgeBase(msg("there is no knowledge base here"), hint=MAKE_ONE)


def require_base_root(root: str) -> str:
    """Return *root* if it is a knowledge base; raise NoKnowledgeBase."""
    if not os.path.isfile(os.path.join(root, FILE)):
        problem = msg("{path} is not a knowledge base", path=root)
        raise NoKnowledgeBase(problem, hint=msg("make one: kb init {path}", path=root))
    return root


def find_by_signature(
    kb: Workspace, lines: Iterable[str], scopes: Iterable[str] = ()
) -> list[tuple[Record, list[str]]]:
    """Return the live records whose signature has any of *lines*, each with its matching lines, the most first.

    *scopes*: only records of these; none: of all. Each line is one lookup, whatever the number of records: look up
    lines that say something, and compare the command's family, which many share, in what comes back.
    """
    among = frozenset(scopes)
    found: dict[tuple[str, str], tuple[Record, list[str]]] = {}
    for line in dict.fromkeys(lines):
        for record, _ in kb.index.find_referrers(line, SIGNATURE):
            if record.status in LIVE and (not among or record.scope in among):
                found.setdefault(record.key, (record, []))[1].append(line)
    return sorted(found.values(), key=lambda one: -len(one[1]))


def find_record(index: Index, name: str, scope: str = "") -> Record:
    """Return the one record *name* means for a caller who is in *scope*; raise UnknownId.

    A bare id means the caller's scope, then the global one, and never that of another project. A caller of whom
    nothing is known (*scope* is "") may leave the project out where only one scope has the id.
    """
    project, _, record_id = name.strip().strip("[]").rpartition(":")
    named = index.find_by_id(record_id.upper() if record_id.isascii() else record_id)
    named = named or find_renumbered(index, record_id.upper()) or _find_by_sman_id(index, record_id)
    named = named or _find_by_number(index, record_id)
    if project:
        named = [r for r in named if r.scope == parse_scope_name(project)]
    # The own project's record comes first, also an unreadable one: [D001] must not quietly mean the global D001.
    for wanted in (scope, GLOBAL):
        in_scope = [r for r in named if r.scope == wanted]
        if in_scope:
            named = in_scope
            break
        if not project and wanted:
            _refuse_unreadable(index, record_id, wanted)
    if len(named) == 1 and (
        named[0].scope in (scope, GLOBAL) or project or not scope or named[0].uid == record_id.upper()
    ):
        return named[0]
    if not named:
        _refuse_unreadable(index, record_id)
        is_id = any(letter.isdigit() for letter in name)
        hint = msg("see: kb list") if is_id else msg("by its words: kb search {words}", words=name)
        raise UnknownId(msg("there is no record {id}", id=name), hint=hint)
    choices = [qualify_id("", r.scope, r.id, is_taken=True) for r in named]
    if len(named) > 1:
        if len({*choices}) < len(choices):  # as a pull without kb brings them
            twice = msg("{id} is the number of several records: {paths}", id=choices[0], paths=[r.path for r in named])
            raise UnknownId(twice, hint=msg("give the younger one another number: kb renumber"))
        several = msg("{id} names several records: {choices}", id=name, choices=choices)
        raise UnknownId(several, hint=msg("name one of them"))
    raise UnknownId(
        msg("there is no record {id} in {scope}", id=name, scope=scope),
        hint=msg("another scope has one; if you mean that one, give its full name: {choices}", choices=choices),
    )


def resolve_names(index: Index, scope: str, names: Iterable[str]) -> list[Record]:
    """Return the records of *scope* that *names* name, each once; raise UnknownId."""
    found = {}
    for name in names:
        record = find_record(index, name, scope)
        if record.scope != scope:
            problem = msg("there is no record {id} in {scope}", id=record.id, scope=scope)
            raise UnknownId(problem, hint=msg("name a record of the same scope"))
        found[record.id] = record
    return list(found.values())


def qualify_name(kb: Workspace, record: Record | SimilarRecord | Verdict) -> str:
    """Return the name by which the caller finds *record*: `D001`, or `shop:D001` where the bare id means another."""
    return qualify_name_for(kb.index.list_scopes, record.id, record.scope, kb.caller_scope)


def qualify_name_for(scopes: Scopes, record_id: str, scope: str, reader: str) -> str:
    """Return the name by which `find_record` finds the record *record_id* of *scope* for a *reader* elsewhere."""
    is_taken = scope == GLOBAL != reader and any(
        other == reader if reader else other != GLOBAL for other in scopes(record_id)
    )
    return qualify_id(reader, scope, record_id, is_taken=is_taken)


def qualify_record_ids(index: Index, records: Iterable[Record], reader: str) -> list[Record]:
    """Return *records*, each with the name by which a *reader* in that scope finds it as its id; to be printed only."""
    named = ((record, qualify_name_for(index.list_scopes, record.id, record.scope, reader)) for record in records)
    return [record._replace(id=name) for record, name in named]


def qualify_message_ids(
    kb: Workspace, said: Message, reader: str | None = None, scopes: Scopes | None = None
) -> Message:
    """Return *said* with every id as the *reader*, a scope, finds its record (None: the caller; "": anybody).

    *scopes* says which scopes have an id; without it the index is asked.
    """

    def qualify_value(value: object) -> object:
        if isinstance(value, Message):
            return qualify_message_ids(kb, value, reader, scopes)
        if isinstance(value, ScopedId):
            whom = kb.caller_scope if reader is None else reader
            return qualify_name_for(scopes or kb.index.list_scopes, str(value), value.scope, whom)
        return value

    if not any(isinstance(value, (Message, ScopedId)) for value in said.values.values()):
        return said
    return said._replace(values={key: qualify_value(value) for key, value in said.values.items()})


def qualify_error_ids(kb: Workspace, error: KbError) -> None:
    """Write the ids in what *error* says as the caller finds their records; without an index they stay as they are."""
    with contextlib.suppress(KbError, OSError):
        error.message, error.hint = qualify_message_ids(kb, error.message), qualify_message_ids(kb, error.hint)


def _refuse_unreadable(index: Index, record_id: str, scope: str = "") -> None:
    """Raise why the file that by its name is the record *record_id* (of *scope*) cannot be read, if there is one."""
    for error in list_unreadable(index):
        is_named = record_id and error.path.rpartition("/")[2].upper().startswith(f"{record_id.upper()}-")
        if is_named and scope in ("", parse_path_scope(error.path)):
            raise error


def find_renumbered(index: Index, record_id: str) -> list[Record]:
    """Return the records that had the number *record_id*, in capitals, before they were renumbered."""
    return [record for record in index.records() if record_id in map(str.upper, list_aliases(record.extra))]


_SMAN_ID = regex(r"(LR|FR)-([0-9]{8})-([0-9]{3,9})")
_SMAN_PREFIXES = {"LR": "L", "FR": "P"}


def format_sman_id(record: Record) -> str:
    """Return the id *record* has in the form of SMAN, or "" for a kind that has none (SMAN-23).

    A learning is `lr-20261123-001` by its day and number, a pitfall `fr-…`, a domain note `dk-` and its title.
    """
    prefix = record.id.rstrip("0123456789")
    for name, own in _SMAN_PREFIXES.items():
        if own == prefix:
            return f"{name.lower()}-{record.date.replace('-', '') or '00000000'}-{record.id[len(prefix) :]}"
    return f"dk-{slugify(record.title)}" if prefix == "DN" else ""


def _find_by_sman_id(index: Index, name: str) -> list[Record]:
    """Return the records that have *name* as their id in the form of SMAN."""
    if match := _SMAN_ID.fullmatch(name.upper()):
        found = index.find_by_id(_SMAN_PREFIXES[match[1]] + match[3])
    elif name[:3].upper() == "DK-":
        found = index.records(Filter(("domain-note",)))
    else:
        return []
    return [record for record in found if format_sman_id(record).casefold() == name.casefold()]


_NUMBER = regex(r"([A-Z]{0,3})0*([1-9][0-9]{0,8})")


def _find_by_number(index: Index, name: str) -> list[Record]:
    """Return the records of the number that *name* gives otherwise than ids do: `5`, `0005` or `D5`."""
    if not (match := _NUMBER.fullmatch(name.upper())):
        return []
    prefixes = [match[1]] if match[1] else [kind.prefix for kind in KINDS]
    return [record for prefix in prefixes for record in index.find_by_id(f"{prefix}{int(match[2]):03d}")]


def list_unreadable(index: Index) -> list[BadRecord]:
    """Return the error of each file that *index* could not read as a record, with its remedy."""
    hint = msg("fix the file by hand; see: kb check")
    rows = index.list_broken()
    return [BadRecord(Message(*json.loads(problem)), hint=hint, path=path, line=line) for path, problem, line in rows]


# The highest numbers given out in this clone, which its worktrees share: [[scope, prefix, number], …].
_FILE = "numbers.json"


def reserve_ids_from_history(kb: Workspace) -> None:
    """Reserve in the index every id in the history of any branch, so that none is assigned again."""
    where = kb.repository.to_git_path(CONTENT)
    try:
        names = kb.repository.git(
            "log", "--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z", "--", where
        )
    except GitFailed:
        return
    with kb.index.batch_changes():
        for name in os.fsdecode(names).replace("\n", "\0").split("\0"):
            _reserve_file_id(kb, kb.repository.to_kb_path(name))


def _reserve_file_id(kb: Workspace, path: str) -> None:
    if scope := parse_path_scope(path):
        kb.index.reserve_id(scope, path.rpartition("/")[2].partition("-")[0].partition(".")[0])


def load_shared_numbers(kb: Workspace) -> None:
    """Tell the index which numbers unreadable files have, and which other worktrees have given out; under the lock."""
    for broken, _, _ in kb.index.list_broken():
        _reserve_file_id(kb, broken)
    path = os.path.join(kb.repository.private, _FILE)
    stamp, known = _read_stamp(path), kb.index.get_note("numbers")
    if stamp and stamp == known:
        return
    # The file is gone, so numbers that other worktrees gave out may be forgotten: history knows them.
    if known and not stamp:
        reserve_ids_from_history(kb)
    for scope, prefix, number in _load_numbers(path):
        kb.index.reserve_id(scope, f"{prefix}{number}")
    kb.index.set_note("numbers", stamp)


def save_shared_numbers(kb: Workspace) -> None:
    """Let the other worktrees of this clone know the numbers that the index has; under the lock."""
    path = os.path.join(kb.repository.private, _FILE)
    numbers = [list(row) for row in kb.index.list_numbers()]
    if numbers != _load_numbers(path):
        write_atomic(path, json_bytes(numbers))
        kb.index.set_note("numbers", _read_stamp(path))


def _load_numbers(path: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return list(json.load(file))
    except (OSError, ValueError, TypeError):
        return []


def _read_stamp(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_mtime_ns}:{about.st_ino}"
