"""Which numbers two lines of history have both given out, and what becomes of them.

What stands on the other line keeps its number. A record is told by its uid, whatever its number and wherever its file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kb.errors import BadRecord
from kb.merge.renumbering import IdRenaming, Key, RenumberedRecord, parse_file_id, parse_file_key, rename_path
from kb.records.front_matter import decode_record, parse_front_matter
from kb.records.record_paths import CONTENT, is_record_path

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace


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
