"""New numbers for records, as text: the front, the title, every citation; all other bytes stay as they are.

What a citation means is asked of `kb.records.citations` itself: every place in question gets an id that occurs nowhere
else, and those of them that are then cited are the citations.
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
from kb.records.record_paths import CONTENT, parse_path_scope

if TYPE_CHECKING:
    from typing import Any

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
