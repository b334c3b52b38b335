"""Find numbers that two lines of history have both assigned, and renumber one side.

Records of the other line keep their numbers. A record is identified by its uid, whatever its number and file name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord
from kb.records.blocks import find_record_blocks
from kb.records.citations import find_citations
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, parse_front_matter
from kb.records.kinds import CONTENT, is_record_path, parse_path_scope
from kb.records.model import ALIASES, GLOBAL, list_aliases, parse_scope_name

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace


Key = tuple[str, str]
"""A scope and an id."""
IdMapper = Callable[[str, str], str]
"""Map a project ("" for none) and an id, as written, to the new id, or "" to keep the old one."""
_REFERENCE = re.compile(r"\[(?:((?:group/|agent/)?[\w.-]{1,100}):)?([A-Z]{1,3})([0-9]{3,9})\]")
_MARK = 900_000_000  # no record has such a number
_PATH, _AGAINST = "Kb-Path: ", "Kb-Against: "
_ID_OF_FILE = re.compile(r"([A-Z]{1,3}[0-9]{3,9})[-.]")
_SESSION = re.compile(rf"{CONTENT}/sessions/(.+)-\d{{8}}-\d{{6}}-.{{8}}/[^/]+\.md")


class RenumberedRecord(NamedTuple):
    """A record with a new number."""

    scope: str
    old: str
    new: str
    uid: str
    title: str
    path: str
    """The new path."""


class IdRenaming(NamedTuple):
    """The changes of ids and paths from one line of history to another."""

    ids: Mapping[Key, str] = {}
    """Scope and id → the new id."""
    paths: Mapping[str, str] = {}
    """Record file → its path on the new line."""
    known: Collection[Key] = ()
    """Every scope and id of the line, to resolve citations."""
    unseen: Collection[Key] = ()
    """Unpublished scopes and ids: they leave no alias."""
    renumbered: Sequence[RenumberedRecord] = ()
    """The records whose new number no line had assigned to them."""

    def map_path(self, path: str) -> str:
        """Return the path of the record file *path* on the new line."""
        return self.paths.get(path, path)

    def map_text(self, path: str, data: bytes) -> bytes:
        """Return the file *path* for the new line; raise BadRecord if its front matter cannot be edited."""
        scope = find_text_scope(path)
        if not scope or not any(old.encode() in data for _, old in self.ids):
            return data  # most files contain no changed id and need no parsing
        old = parse_file_id(path)
        new = self.ids.get((scope, old), "") if path in self.paths else ""
        own = (old, new, (scope, old) not in self.unseen) if new else None
        try:
            return update_references(decode_record(data, path), path, self._build_id_mapper(scope), own).encode()
        except BadRecord:
            if own:
                raise
            return data

    def map_message(self, words: str) -> str:
        """Return a commit message with the new line's paths and ids in its trailers."""
        rows = words.split("\n")
        path = next((row.removeprefix(_PATH) for row in rows if row.startswith(_PATH)), "")
        map_id = self._build_id_mapper(find_text_scope(path))
        for number, row in enumerate(rows if path else ()):
            if row.startswith(_PATH):
                rows[number] = _PATH + self.map_path(path)
            elif row.startswith(_AGAINST):
                ids = row.removeprefix(_AGAINST).split(",")
                rows[number] = _AGAINST + ",".join(map_id("", one) or one for one in ids)
        return "\n".join(rows)

    def _build_id_mapper(self, scope: str) -> IdMapper:
        return lambda project, record_id: self.ids.get(resolve_citation(self.known, scope, project, record_id), "")


def resolve_citation(known: Collection[Key], scope: str, project: str, record_id: str) -> Key:
    """Resolve `[project:ID]` in a text of *scope*: the project if named, else its own scope, then global."""
    if project:
        return parse_scope_name(project), record_id
    return (scope, record_id) if (scope, record_id) in known else (GLOBAL, record_id)


def find_text_scope(path: str) -> str:
    """Return the scope of the record or archived session at *path*, else ""."""
    if match := _SESSION.fullmatch(path):
        return GLOBAL if match[1] == GLOBAL else f"project/{match[1]}"
    return parse_path_scope(path) if path.startswith(f"{CONTENT}/") and path.endswith(".md") else ""


def parse_file_id(path: str) -> str:
    """Return the id at the start of a record's file name, or ""."""
    match = _ID_OF_FILE.match(path.rpartition("/")[2])
    return match[1] if match else ""


def parse_file_key(path: str) -> Key | None:
    """Return scope and id of a record from its file name, or None for another file."""
    scope = find_text_scope(path) if parse_path_scope(path) else ""
    record_id = parse_file_id(path) if scope else ""
    return (scope, record_id) if record_id else None


def rename_path(path: str, new: str) -> str:
    """Return the path of the record file *path* with the id *new* and the same slug."""
    folder, _, name = path.rpartition("/")
    old = parse_file_id(path)
    return f"{folder}/{new}{name[len(old) :]}" if old else f"{folder}/{new}-{name}"


# -- texts ----------------------------------------------------------------------------------------


def update_references(text: str, path: str, map_id: IdMapper, own: tuple[str, str, bool] | None) -> str:
    """Return *text* with its references mapped by *map_id*.

    *own* is given for a renumbered record: its old id, its new one, and whether the old one becomes an alias.
    """
    text = update_citations(text, map_id)
    try:
        values = parse_front_matter(text, path)
        if values and (changes := _collect_front_changes(values, map_id, own)):
            text = edit_front_matter(text, changes, path)
    except BadRecord:
        if own:
            raise
    if own:  # the heading that names its record
        old, new, _ = own
        start, end = find_record_blocks(text).machine
        if match := re.compile(rf"(?:^|(?<=\n))# \[{re.escape(old)}\]").search(text[start:end]):
            at = start + match.start() + len("# [")
            text = text[:at] + new + text[at + len(old) :]
    return text


def update_citations(text: str, map_id: IdMapper) -> str:
    """Return *text* with the ids in its citations mapped by *map_id*."""
    start = find_body_start(text)
    places = [m for m in _REFERENCE.finditer(text, start) if map_id(m[1] or "", m[2] + m[3])]

    def replace_ids(new_ids: Mapping[int, str]) -> str:
        parts, at = [text[:start]], start
        for number, new in new_ids.items():
            parts += [text[at : places[number].start(2)], new]
            at = places[number].end(3)
        return "".join([*parts, text[at:]])

    # with a unique number in each place, parsing shows which places are citations and which are code
    marks = {number: f"{place[2]}{_MARK + number}" for number, place in enumerate(places)}
    cited = {record_id for _, record_id, _ in find_citations(replace_ids(marks))} if places else set()
    return replace_ids({n: map_id(places[n][1] or "", places[n][2] + places[n][3]) for n in marks if marks[n] in cited})


def _collect_front_changes(
    values: Mapping[str, Any], map_id: IdMapper, own: tuple[str, str, bool] | None
) -> dict[str, object]:
    changes: dict[str, object] = {}
    for key in ("supersedes", "amends", "coexists_with"):
        new = _update_front_value(values.get(key), map_id)
        if new != values.get(key):
            changes[key] = new
    if own:
        old, new_id, is_alias = own
        aliases = [alias for alias in list_aliases(values) if alias != new_id]
        changes["id"] = new_id
        if is_alias and old not in aliases:
            aliases.append(old)
        if aliases != list_aliases(values):
            changes[ALIASES] = aliases or None
    return changes


def _update_front_value(value: Any, map_id: IdMapper) -> Any:
    """Return references in front matter mapped by *map_id*."""
    if isinstance(value, str):
        project, _, record_id = value.rpartition(":")
        new = map_id(project, record_id)
        return value[: len(value) - len(record_id)] + new if new else value
    if isinstance(value, Mapping):
        return {_update_front_value(key, map_id): item for key, item in value.items()}
    return [_update_front_value(item, map_id) for item in value] if isinstance(value, list) else value


# -- numbers that both lines have given out -------------------------------------------------------


def resolve_renaming(
    kb: Workspace,
    *,
    base: str,
    there: str,
    ours: str,
    elsewhere: Mapping[Key, str],
    unseen: Collection[Key] = (),
    more: Mapping[str, bytes] = {},
) -> IdRenaming:
    """Return the changes of ids and paths needed to apply the line *ours* to the line *there*.

    *base* is their merge base ("" for none); *more* are record files our line had in between. *elsewhere* has the uids
    of published records on neither line; the numbers *unseen* leave no alias.
    """
    files = {commit: _list_record_files(kb, commit) for commit in dict.fromkeys((base, there, ours))}
    by_key = {key: path for path in files[there] if (key := parse_file_key(path))}
    arrived = _read_files(kb, there, [path for path in files[there] if path not in files[base]])
    ids: dict[Key, str] = {}
    paths: dict[str, str] = {}
    renumbered: list[RenumberedRecord] = []

    def find_arrived_path(uid: Any) -> str:
        """Return the path of the record *uid* on the other line, or ""."""
        wanted = str(uid or "").encode()
        some = ((path, data) for path, data in arrived.items() if wanted and wanted in data)
        return next((path for path, data in some if parse_front_values(data, path).get("uid") == uid), "")

    # records that the other line has moved or renumbered
    gone = [path for path in files[base] if path not in files[there]] if arrived else []
    for path, data in _read_files(kb, base, gone).items():
        place, key = find_arrived_path(parse_front_values(data, path).get("uid")), parse_file_key(path)
        if place and key:
            paths[path] = place
            if key not in by_key and parse_file_id(place) != key[1]:
                ids[key] = parse_file_id(place)
    introduced = {**more, **_read_files(kb, ours, [path for path in files[ours] if path not in files[base]])}
    known = frozenset(key for path in (*files[ours], *introduced) if (key := parse_file_key(path)))
    # before assigning any new id: it must be free on both lines and on the open reviews
    _reserve_highest_ids(kb, (*by_key, *known, *elsewhere))
    for path, data in introduced.items():
        key, values = parse_file_key(path), parse_front_values(data, path)
        uid = str(values.get("uid") or "")
        if key is None:
            continue
        if place := find_arrived_path(uid):
            paths[path] = place
            if parse_file_id(place) != key[1]:
                ids[key] = parse_file_id(place)
            continue
        if other := by_key.get(key):  # is it the same record on the other line?
            theirs = kb.repository.read_blob(there, other) or b""
            is_taken = theirs != data and not (uid and parse_front_values(theirs, other).get("uid") == uid)
        else:
            is_taken = bool(uid) and elsewhere.get(key, uid) != uid
        if is_taken:
            scope, old = key
            new = ids[key] = ids.get(key) or kb.index.next_id(scope, old.rstrip("0123456789"))
            kb.index.reserve_id(scope, new)
            paths[path] = rename_path(path, new)
            renumbered.append(RenumberedRecord(scope, old, new, uid, str(values.get("title") or ""), paths[path]))
    return IdRenaming(ids, paths, known, unseen, renumbered)


def _list_record_files(kb: Workspace, commit: str) -> list[str]:
    files = kb.repository.list_files(commit, CONTENT) if commit else {}
    return [path for path in files if is_record_path(path) and "\n" not in path]


def _read_files(kb: Workspace, commit: str, paths: list[str]) -> dict[str, bytes]:
    return {path: data for path, data in kb.repository.read_files(commit, paths).items() if data is not None}


def _reserve_highest_ids(kb: Workspace, keys: Iterable[Key]) -> None:
    """Register the highest assigned number of each kind in the index."""
    last: dict[Key, str] = {}
    for scope, record_id in keys:
        kind = (scope, record_id.rstrip("0123456789"))
        last[kind] = max(last.get(kind, ""), record_id, key=lambda one: (len(one), one))
    for (scope, _), record_id in last.items():
        kb.index.reserve_id(scope, record_id)


def parse_front_values(data: bytes, path: str) -> dict[str, Any]:
    """Return the front matter of a record file, or {} if it cannot be read."""
    try:
        return parse_front_matter(decode_record(data, path), path)
    except BadRecord:
        return {}
