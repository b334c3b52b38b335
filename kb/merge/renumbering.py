"""Which numbers two lines of history have both given out, and what becomes of them.

What stands on the other line keeps its number. A record is told by its uid, whatever its number and wherever its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord
from kb.records.blocks import find_blocks
from kb.records.citations import find_citations
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, parse_front_matter
from kb.records.model import ALIASES, GLOBAL, list_aliases
from kb.records.record_paths import CONTENT, is_record_path, parse_path_scope

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace


Key = tuple[str, str]
"""A scope and an id."""
Mapped = Callable[[str, str], str]
"""From a project ("" for none) and an id, as they are written, to the new id; "" where the old one stays."""
_REFERENCE = re.compile(r"\[(?:([\w.-]{1,100}):)?([A-Z]{1,3})([0-9]{3,9})\]")
_MARK = 900_000_000
_PATH, _AGAINST = "Kb-Path: ", "Kb-Against: "
_ID_OF_FILE = re.compile(r"([A-Z]{1,3}[0-9]{3,9})[-.]")
_SESSION = re.compile(rf"{CONTENT}/sessions/(.+)-\d{{8}}-\d{{6}}-.{{8}}/[^/]+\.md")


class RenumberedRecord(NamedTuple):
    """A record that got another number."""

    scope: str
    old: str
    new: str
    uid: str
    title: str
    path: str
    """Where it stands now."""


class IdRenaming(NamedTuple):
    """Which ids of one line of history become which."""

    ids: Mapping[Key, str] = {}
    """Scope and id → the new id."""
    paths: Mapping[str, str] = {}
    """Record file → where it stands on the new line."""
    known: Collection[Key] = ()
    """Every scope and id of the line, to tell what a citation means."""
    unseen: Collection[Key] = ()
    """Scopes and ids that nobody has seen: they leave no alias."""

    def map_path(self, path: str) -> str:
        """Return where the record file *path* stands on the new line."""
        return self.paths.get(path, path)

    def map_text(self, path: str, data: bytes) -> bytes:
        """Return the file *path* of the old line as the new one has it; raise BadRecord where its front defies it."""
        scope = find_text_scope(path)
        if not scope or not any(old.encode() in data for _, old in self.ids):
            return data
        own = self._find_own_change(path, scope)
        try:
            return update_references(decode_record(data, path), path, self._build_id_mapper(scope), own).encode()
        except BadRecord:
            if own:
                raise
            return data

    def map_message(self, words: str) -> str:
        """Return what a commit says with the paths and ids of the new line in its trailers."""
        rows = words.split("\n")
        path = next((row.removeprefix(_PATH) for row in rows if row.startswith(_PATH)), "")
        mapped = self._build_id_mapper(find_text_scope(path))
        for number, row in enumerate(rows if path else ()):
            if row.startswith(_PATH):
                rows[number] = _PATH + self.map_path(path)
            elif row.startswith(_AGAINST):
                ids = row.removeprefix(_AGAINST).split(",")
                rows[number] = _AGAINST + ",".join(mapped("", one) or one for one in ids)
        return "\n".join(rows)

    def _build_id_mapper(self, scope: str) -> Mapped:
        def map_id(project: str, record_id: str) -> str:
            return self.ids.get(resolve_citation(self.known, scope, project, record_id), "")

        return map_id

    def _find_own_change(self, path: str, scope: str) -> tuple[str, str, bool] | None:
        """Return the old and the new id of the record in the file *path*, and whether the old one stays an alias."""
        old = parse_file_id(path)
        new = self.ids.get((scope, old), "") if path in self.paths else ""
        return (old, new, (scope, old) not in self.unseen) if new else None


def resolve_citation(known: Collection[Key], scope: str, project: str, record_id: str) -> Key:
    """Return what `[project:ID]` in a text of *scope* means: its own scope, then global; with a project, that one."""
    if project:
        return (GLOBAL if project == GLOBAL else f"project/{project}"), record_id
    return (scope, record_id) if (scope, record_id) in known else (GLOBAL, record_id)


def find_text_scope(path: str) -> str:
    """Return the scope from which the text *path* speaks: a record's, or that of an archived session; else ""."""
    if match := _SESSION.fullmatch(path):
        return GLOBAL if match[1] == GLOBAL else f"project/{match[1]}"
    return parse_path_scope(path) if path.startswith(f"{CONTENT}/") and path.endswith(".md") else ""


def parse_file_id(path: str) -> str:
    """Return the id that the name of a record file begins with, or ""."""
    match = _ID_OF_FILE.match(path.rpartition("/")[2])
    return match[1] if match else ""


def parse_file_key(path: str) -> Key | None:
    """Return scope and id of a record by the name of its file; None for another file."""
    scope = find_text_scope(path) if parse_path_scope(path) else ""
    record_id = parse_file_id(path) if scope else ""
    return (scope, record_id) if record_id else None


def rename_path(path: str, new: str) -> str:
    """Return the record file *path* under the id *new*, with its slug as it was."""
    folder, _, name = path.rpartition("/")
    old = parse_file_id(path)
    return f"{folder}/{new}{name[len(old) :]}" if old else f"{folder}/{new}-{name}"


# -- texts ----------------------------------------------------------------------------------------


def update_references(text: str, path: str, mapped: Mapped, own: tuple[str, str, bool] | None) -> str:
    """Return *text* with what it refers to as *mapped* says, and, for a record that is renumbered, its *own* id."""
    text = update_citations(text, mapped)
    try:
        values = parse_front_matter(text, path)
        if values and (changes := _collect_front_changes(values, mapped, own)):
            text = edit_front_matter(text, changes, path)
    except BadRecord:
        if own:
            raise
    return _update_title(text, *own[:2]) if own else text


def update_citations(text: str, mapped: Mapped) -> str:
    """Return *text* with the ids in its citations as *mapped* says."""
    start = find_body_start(text)
    places = [m for m in _REFERENCE.finditer(text, start) if mapped(m[1] or "", m[2] + m[3])]
    if not places:
        return text
    marked, at = [text[:start]], start
    for number, place in enumerate(places):
        marked += [text[at : place.start(2)], f"{place[2]}{_MARK + number}"]
        at = place.end(3)
    cited = {record_id for _, record_id, _ in find_citations("".join([*marked, text[at:]]))}
    found, at = [], 0
    for number, place in enumerate(places):
        if f"{place[2]}{_MARK + number}" in cited:
            found += [text[at : place.start(2)], mapped(place[1] or "", place[2] + place[3])]
            at = place.end(3)
    return "".join([*found, text[at:]])


def _collect_front_changes(
    values: Mapping[str, Any], mapped: Mapped, own: tuple[str, str, bool] | None
) -> dict[str, object]:
    changes: dict[str, object] = {}
    for key in ("supersedes", "amends", "coexists_with"):
        new = _update_front_value(values.get(key), mapped)
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


def _update_front_value(value: Any, mapped: Mapped) -> Any:
    """Return references in a front as *mapped* says."""
    if isinstance(value, str):
        project, _, record_id = value.rpartition(":")
        new = mapped(project, record_id)
        return value[: len(value) - len(record_id)] + new if new else value
    if isinstance(value, Mapping):
        return {_update_front_value(key, mapped): item for key, item in value.items()}
    return [_update_front_value(item, mapped) for item in value] if isinstance(value, list) else value


def _update_title(text: str, old: str, new: str) -> str:
    """Return *text* with the new id in the heading that names its record."""
    machine = find_blocks(text).machine
    block = text[machine.start : machine.end]
    plate = f"# [{old}]"
    at = 0 if block.startswith(plate) else block.find(f"\n{plate}") + 1
    if not block.startswith(plate, at):
        return text
    place = machine.start + at + len("# [")
    return text[:place] + new + text[place + len(old) :]


class IdCollisions:
    """Finds what the records of one line have to be called where they are put upon another."""

    def __init__(
        self, kb: Workspace, *, base: str, there: str, ours: str,
        elsewhere: Mapping[Key, str], unseen: Collection[Key],
    ) -> None:  # fmt: skip
        """Compare the line that ends in *ours* with that of *there*, from which it parted in *base* ("" for none).

        *elsewhere* has the uids of published records that stand on neither; the numbers *unseen* leave no alias.
        """
        self._kb = kb
        self._there = there
        self._base = base
        self._ours = ours
        self._elsewhere = elsewhere
        self._unseen = unseen
        self._files = {commit: _list_record_files(kb, commit) for commit in dict.fromkeys((base, there, ours))}
        self._by_key = {key: path for path in self._files[there] if (key := parse_file_key(path))}
        self._known = {key for path in self._files[ours] if (key := parse_file_key(path))}
        arrived = [path for path in self._files[there] if path not in self._files[base]]
        self._arrived = dict(zip(arrived, kb.repository.read_blobs([(there, path) for path in arrived]), strict=True))
        self._ids: dict[Key, str] = {}
        self._paths: dict[str, str] = {}
        self.renumbered: list[RenumberedRecord] = []
        """What gets another number, by where it stands then."""

    def resolve_renaming(self, more: Mapping[str, bytes] = {}) -> IdRenaming:
        """Return what becomes of the ids and paths; *more* are record files that our line had on the way."""
        self._follow_moved()
        introduced = {**more, **self._read_new_records()}
        self._known |= {key for path in introduced if (key := parse_file_key(path))}
        self._reserve_highest_ids()
        for path, data in introduced.items():
            self._resolve_record(path, data)
        return IdRenaming(self._ids, self._paths, frozenset(self._known), self._unseen)

    def _read_new_records(self) -> dict[str, bytes]:
        """Return the record files that our line has and the base has not."""
        new = [path for path in self._files[self._ours] if path not in self._files[self._base]]
        found = self._kb.repository.read_blobs([(self._ours, path) for path in new])
        return {path: data for path, data in zip(new, found, strict=True) if data is not None}

    def _follow_moved(self) -> None:
        """Follow the records that the other line has moved, or has given another number."""
        gone = [path for path in self._files[self._base] if path not in self._files[self._there]]
        if not self._arrived:
            return
        for path, data in zip(gone, self._kb.repository.read_blobs([(self._base, p) for p in gone]), strict=True):
            place = self._find_arrived_path(parse_front_values(data or b"", path).get("uid", ""))
            key = parse_file_key(path)
            if place and key:
                self._paths[path] = place
                if key not in self._by_key and parse_file_id(place) != key[1]:
                    self._ids[key] = parse_file_id(place)

    def _find_arrived_path(self, uid: Any) -> str:
        """Return where the record *uid* has arrived on the other line; "" for nowhere."""
        wanted = str(uid or "").encode()
        some = ((path, data) for path, data in self._arrived.items() if wanted and data and wanted in data)
        return next((path for path, data in some if parse_front_values(data, path).get("uid") == uid), "")

    def _reserve_highest_ids(self) -> None:
        """Let the index know every number that is given out: of each kind the highest."""
        last: dict[Key, str] = {}
        for scope, record_id in (*self._by_key, *self._known, *self._elsewhere):
            kind = (scope, record_id.rstrip("0123456789"))
            last[kind] = max(last.get(kind, ""), record_id, key=lambda one: (len(one), one))
        for (scope, _), record_id in last.items():
            self._kb.index.reserve_id(scope, record_id)

    def _resolve_record(self, path: str, data: bytes) -> None:
        """Find out what the record that our line put into *path* is to be called."""
        key = parse_file_key(path)
        values = parse_front_values(data, path)
        uid = str(values.get("uid") or "")
        if key is None:
            return
        if place := self._find_arrived_path(uid):
            self._paths[path] = place
            if parse_file_id(place) != key[1]:
                self._ids[key] = parse_file_id(place)
        elif self._is_key_taken(key, uid, data):
            self._assign_new_id(key, path, uid, str(values.get("title") or ""))

    def _is_key_taken(self, key: Key, uid: str, data: bytes) -> bool:
        """Return whether *key* names another record on the other line, or a published one elsewhere."""
        path = self._by_key.get(key)
        if path is None:
            return bool(uid) and self._elsewhere.get(key, uid) != uid
        theirs = self._kb.repository.read_blob(self._there, path) or b""
        return theirs != data and not (uid and parse_front_values(theirs, path).get("uid") == uid)

    def _assign_new_id(self, key: Key, path: str, uid: str, title: str) -> None:
        scope, old = key
        new = self._ids.get(key) or self._kb.index.next_id(scope, old.rstrip("0123456789"))
        self._kb.index.reserve_id(scope, new)
        self._ids[key] = new
        self._paths[path] = rename_path(path, new)
        self.renumbered.append(RenumberedRecord(scope, old, new, uid, title, self._paths[path]))


def _list_record_files(kb: Workspace, commit: str) -> dict[str, str]:
    files = kb.repository.list_files(commit, CONTENT) if commit else {}
    return {path: oid for path, oid in files.items() if is_record_path(path) and "\n" not in path}


def parse_front_values(data: bytes, path: str) -> dict[str, Any]:
    """Return the front of a record file; {} for one that cannot be read."""
    try:
        return parse_front_matter(decode_record(data, path), path)
    except BadRecord:
        return {}
