"""Rules on record files: readable, in the right folder, with an id unique here and on the other branches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from difflib import get_close_matches
from typing import Any

from kb.checks.check_context import (
    ADD_MARKERS,
    FRESH_UID,
    CheckContext,
    Finding,
    Key,
    LoadedRecord,
    UnreadableFile,
    parse_folder_key,
)
from kb.errors import BadRecord
from kb.i18n import msg
from kb.records.blocks import MACHINE_START, find_record_blocks, refuse_conflict_markers
from kb.records.candidate import FIELDS, find_schema_errors
from kb.records.front_matter import KEYS, decode_record, find_body_start, find_key_line, parse_front_matter
from kb.records.kinds import BY_NAME, KINDS, find_kind, folder_for_scope, list_fields
from kb.records.model import SCOPE, Record, Status, imported_number, is_day
from kb.records.record_file import SHAPES
from kb.text.segment import clip, find_line_number, one_line

_ID = re.compile(r"[A-Z]{1,2}\d{3,}")
_SCOPE = re.compile(SCOPE)
_TITLE_LINE = re.compile(re.escape(MACHINE_START) + r"[ \t]*[\r\n]\s*(?P<line>#)[ \t]+\[([^\]\r\n]*)\][ \t]*([^\r\n]*)")
KEY_TYPO_SIMILARITY = 0.88
"""Similarity (difflib) from which an unknown key is taken for a typo: supercedes 0.90, superseded_by 0.78."""


def check_readable(context: CheckContext) -> Iterator[Finding]:
    """Report every file that is not a valid record, with all its problems."""
    for broken in context.broken:
        path = broken.source.path
        for rule, error in _find_causes(broken):
            otherwise = msg("correct this line; how it was: git log -p -- {path}", path=path)
            fix = error.hint if str(error.hint) else otherwise
            yield Finding(rule, "error", path, max(error.line, 1), error.message, fix)


def _find_causes(broken: UnreadableFile) -> list[tuple[str, BadRecord]]:
    path = broken.source.path
    try:
        text = decode_record(broken.source.data, path)
    except BadRecord as error:
        return [("unreadable", error)]
    causes: list[tuple[str, BadRecord]] = []
    probes = {
        "conflict-markers": refuse_conflict_markers,
        "frontmatter": parse_front_matter,
        "markers": find_record_blocks,
    }
    for rule, probe in probes.items():
        try:
            probe(text, path)
        except BadRecord as error:
            causes.append((rule, error))
            if rule == "conflict-markers":  # both sides of an open merge: all other problems follow from it
                return causes
    if broken.error.message not in [error.message for _, error in causes]:
        causes.insert(0, ("frontmatter", broken.error))
    return causes


def check_markers(context: CheckContext) -> Iterator[Finding]:
    """Report handwritten records without block markers: kb reads them, but a merge cannot tell their blocks."""
    for one in context.records:
        if MACHINE_START not in one.text:
            line = find_line_number(one.text, find_body_start(one.text))
            message = msg("it was written by hand and has no block markers")
            fix = msg("put them around the text: kb check --fix")
            change = {ADD_MARKERS: True}
            yield Finding("bare", "warning", one.record.path, line, message, fix, change)


def check_kinds(context: CheckContext) -> Iterator[Finding]:
    """Report unknown kinds; for an alias, suggest the proper name."""
    for one in context.records:
        if one.record.kind in BY_NAME:
            continue
        message = msg("there is no kind {kind}", kind=clip(one.record.kind, 40))
        if meant := find_kind(one.record.kind):
            fix = msg("write: kind: {kind}", kind=meant.name)
            yield one.report("kind", "kind", message, fix, change={"kind": meant.name})
        else:
            fix = msg("write one of: {kinds}", kinds=[kind.name for kind in KINDS])
            yield one.report("kind", "kind", message, fix)


def check_fields(context: CheckContext) -> Iterator[Finding]:
    """Report kind-specific keys whose value has the wrong type, range or choice."""
    for one in context.records:
        kind = find_kind(one.record.kind)
        for field in list_fields(kind.name) if kind else ():
            value = one.record.extra.get(field.name)
            # a single string counts as a list of one, and a commit of digits only is parsed as a number
            given = [str(value)] if field.type == "strings" and isinstance(value, str | int) else value
            given = str(given) if field.type == "string" and isinstance(given, int | float) else given
            for problem in find_schema_errors(given, FIELDS[field.name], field.name) if given is not None else ():
                fix = msg("what {field} may be: kb write --schema", field=field.name)
                yield one.report("field", field.name, problem, fix)


def check_ids(context: CheckContext) -> Iterator[Finding]:
    """Report malformed ids, ids with the prefix of another kind, and missing uids."""
    for one in context.records:
        record, kind = one.record, find_kind(one.record.kind)
        if not _ID.fullmatch(record.id):
            message = msg("{id} is not an id", id=clip(record.id, 40))
            example = f"{kind.prefix if kind else 'D'}001"
            fix = msg("write the kind's prefix and three digits or more, such as {example}", example=example)
            yield one.report("id", "id", message, fix)
        elif kind and record.id.rstrip("0123456789") != kind.prefix:
            values = {"id": record.id, "kind": kind.name, "prefix": kind.prefix}
            message = msg("{id} does not fit the kind {kind}: its ids begin with {prefix}", **values)
            fix = msg("correct the kind, or give the record the next free {prefix} id", prefix=kind.prefix)
            yield one.report("id", "id", message, fix)
        if not record.uid:
            message = msg("there is no uid, so the record would not survive a new number")
            fix = msg("let kb add one: kb check --fix")
            yield one.report("uid", "id", message, fix, change={"uid": FRESH_UID})


def check_date_format(context: CheckContext) -> Iterator[Finding]:
    """Report invalid and future dates; `lifecycle_rules.check_old_records` judges the age."""
    today = context.surroundings.today
    # it may already be tomorrow in another time zone
    latest = (date.fromisoformat(today) + timedelta(days=1)).isoformat() if today else ""
    for one in context.records:
        for key, day in (("date", one.record.date), ("confirmed", one.record.confirmed)):
            if day and not is_day(day):
                message = msg("{day} is not a day", day=clip(day, 40))
                yield one.report("date", key, message, msg("write it as YYYY-MM-DD"))
            elif day and latest and day > latest:
                message = msg("{day} has not come yet", day=day)
                yield one.report("date", key, message, msg("correct the day"), severity="warning")


def check_folders(context: CheckContext) -> Iterator[Finding]:
    """Report malformed scopes, files outside the folder of their scope and kind, and file names without the id."""
    for one in context.records:
        record = one.record
        if not _SCOPE.fullmatch(record.scope):
            message = msg("{scope} is not a scope", scope=clip(record.scope, 40))
            yield one.report("scope", "scope", message, msg("write global or project/<name>"))
            continue
        wanted = folder_for_scope(record.scope, (find_kind(record.kind) or KINDS[0]).folder)
        parent, _, name = record.path.rpartition("/")
        scope, _ = parse_folder_key(record.path)
        if parent != wanted and scope not in ("", record.scope) and find_key_line(one.text, "scope") == 1:
            message = msg("there is no scope, and the folder is that of {scope}", scope=scope)
            fix = msg("write: scope: {scope}", scope=scope)
            yield one.report("scope", "id", message, fix, change={"scope": scope})
        elif parent != wanted:
            message = msg("a record of {scope} does not belong in this folder", scope=record.scope)
            target = f"{wanted}/{name}"
            fix = msg("move it: git mv {path} {wanted} — or correct the scope", path=record.path, wanted=target)
            yield one.report("folder", "scope", message, fix)
        if name != f"{record.id}.md" and not name.startswith(f"{record.id}-"):
            message = msg("the file name does not begin with the id {id}", id=clip(record.id, 40))
            fix = msg("rename the file to {id}-….md, or correct the id", id=clip(record.id, 40))
            yield one.report("file-name", "id", message, fix)


def check_title_lines(context: CheckContext) -> Iterator[Finding]:
    """Report a heading of the MACHINE block whose id or title differs from the front matter."""
    for one in context.records:
        match = _TITLE_LINE.search(one.text)
        is_same_id = match is not None and match[2] == one.record.id
        if match is None or (is_same_id and one_line(match[3]) == one_line(one.record.title)):
            continue
        message = msg("the heading does not match the id and title of the front matter")
        title = clip(one.record.title, 80)
        fix = msg("rewrite one of them so that both say: [{id}] {title}", id=one.record.id, title=title)
        line = find_line_number(one.text, match.start("line"))
        yield Finding("heading", "warning" if is_same_id else "error", one.record.path, line, message, fix)


def check_keys(context: CheckContext) -> Iterator[Finding]:
    """Report front matter keys that look like a typo of one kb reads."""
    unknown = {key for one in context.records for key in one.record.extra}
    similar = {key: get_close_matches(key.lower(), KEYS, n=1, cutoff=KEY_TYPO_SIMILARITY) for key in unknown}
    for one in context.records:
        for key in one.record.extra:
            for known in similar[key]:
                message = msg("kb does not read the key {key}", key=clip(key, 40))
                fix = msg("if you mean {known}, write it so", known=known)
                yield one.report("key", key, message, fix, severity="warning")


# -- one id, one record ---------------------------------------------------------------------------


def check_adopted_numbers(context: CheckContext) -> Iterator[Finding]:
    """Report adopted records with the number of another record in their folder: kb gives them an id of their own."""
    first: dict[tuple[str, int], str] = {}
    for one in sorted(context.records, key=lambda one: one.record.path):
        number = imported_number(one.record.extra)
        if one.record.uid or number is None or parse_folder_key(one.record.path)[0]:
            continue
        other = first.setdefault((one.record.scope, number), one.record.path)
        if other != one.record.path:
            values = {"number": number, "path": other, "id": one.record.id}
            message = msg("the number {number} belongs to {path} too; here this one is {id}", **values)
            yield one.report("number", "id", message, msg("give one of them another number"), severity="warning")


def check_duplicate_ids(context: CheckContext) -> Iterator[Finding]:
    """Report every record whose id belongs to an older one of its scope; two files with one uid are one record."""
    free: dict[Key, Iterator[str]] = {}
    for first, *younger in context.by_key.values():
        for one in younger:
            if one.record.uid and one.record.uid == first.record.uid:
                continue
            message = msg("{id} also names {other}", id=one.record.scoped_id, other=first.record.path)
            new = _take_free_id(context, free, one.record)
            fix = msg("renumber this one, the younger; {id} is free: kb renumber", id=new)
            yield one.report("duplicate-id", "id", message, fix)


def _take_free_id(context: CheckContext, free: dict[Key, Iterator[str]], record: Record) -> str:
    """Return the next *free* id for *record*, so that no two findings of a check suggest the same one."""
    key = record.scope, record.id.rstrip("0123456789")
    return next(free.setdefault(key, context.iter_free_ids(*key)))


def check_duplicate_uids(context: CheckContext) -> Iterator[Finding]:
    """Report every record with the uid of another: a copy, or the result of merging a renamed file."""
    owners: dict[str, LoadedRecord] = {}
    for one in sorted(context.records, key=lambda one: one.age_key):
        first = owners.setdefault(one.record.uid, one) if one.record.uid else one
        if first is one:
            continue
        if one.record.title == first.record.title or one.record.key == first.record.key:
            message = msg("this is a second copy of the record in {other}", other=first.record.path)
            fix = msg("compare both files and remove one: git rm {path}", path=one.record.path)
        else:
            message = msg("this uid is already that of {other}", other=first.record.path)
            fix = msg("delete the uid in the copy, then: kb check --fix")
        yield one.report("duplicate-uid", "uid", message, fix)


def check_branch_ids(context: CheckContext) -> Iterator[Finding]:
    """Report ids that another branch uses for another record: an error if this record must be renumbered.

    Otherwise it is a warning. Records on the trunk keep their ids; between two other branches the older uid does
    (uids sort by time).
    """
    branches, trunk = context.surroundings.branches, context.surroundings.trunk
    free: dict[Key, Iterator[str]] = {}
    for one in context.records:
        uid, id, key = one.record.uid, one.record.scoped_id, one.record.key
        others = {name: ids[key] for name, ids in branches.items() if ids.get(key, "") not in ("", uid)}
        if not uid or not others:
            continue
        names = sorted(others)
        message = msg("on the branch {branch}, {id} is another record", branch=names, id=id)
        is_settled = branches.get(trunk, {}).get(key) == uid
        if trunk in others or (not is_settled and min(others.values()) < uid):
            new = _take_free_id(context, free, one.record)
            fix = msg("renumber this one; {new} is free: kb renumber {id}", new=new, id=id)
            yield one.report("branch-id", "id", message, fix)
        else:
            fix = msg("the other one must be renumbered before it is merged")
            yield one.report("branch-id", "id", message, fix, severity="warning")


# -- the same, as far as one front matter shows it, for editors ---------------------------------------

_SCALAR = ["string", "number", "boolean"]
_NAME = "[^\\x00-,/:-@\\[-^`{-\\x7f\\s\\u2000-\\u206f\\u3000-\\u303f\\uff00-\\uff0f]"
"""A letter or digit of any script, or one of `_.-`; valid in Python and JavaScript, hence without `\\w`."""
_RESERVED = "([Cc][Oo][Nn]|[Pp][Rr][Nn]|[Aa][Uu][Xx]|[Nn][Uu][Ll]|[Cc][Oo][Mm][0-9]|[Ll][Pp][Tt][0-9])"
"""File names that Windows reserves."""
_DAY_PATTERN = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_DAY = {"anyOf": [{"enum": ["", None]}, {"type": "string", "pattern": _DAY_PATTERN, "format": "date"}]}
_SHAPE_SCHEMAS: dict[str, dict[str, Any]] = {
    "required": {"type": ["string", "number"], "pattern": "\\S"},
    "text": {"type": [*_SCALAR, "null"]},
    "count": {"type": "integer", "minimum": 1},
    "list": {"type": [*_SCALAR, "array", "null"], "items": {"type": [*_SCALAR, "null"]}},
    "mapping": {
        "anyOf": [
            {"enum": ["", 0, False]},
            {
                "type": ["object", "array", "null"],
                "items": {"type": [*_SCALAR, "null"]},
                "additionalProperties": {"type": [*_SCALAR, "null"]},
            },
        ]
    },
}
_FRONT_SCHEMAS: dict[str, dict[str, Any]] = {
    "id": {
        "type": "string",
        "pattern": "^[A-Z]{1,2}[0-9]{3,}$",
        "description": "The prefix of the kind, and a number.",
    },
    "uid": {"type": _SCALAR, "minLength": 1, "description": "What names it for good; kb gives it."},
    "kind": {"enum": [kind.name for kind in KINDS]},
    "title": {"description": "What was decided about what, on one line."},
    "status": {"enum": [*(str(status) for status in Status), "", None]},
    "scope": {
        "type": ["string", "null"],
        "pattern": f"^$|^global$|^(project|group|agent)/(?![_.-]|{_RESERVED}(\\.|$)){_NAME}{{1,100}}(?<![.-])$",
        "description": "global, or project/, group/ or agent/ with a name.",
    },
    "date": {**_DAY, "description": "When it was written."},
    "confirmed": {**_DAY, "description": "When somebody last found it true."},
    "tags": {"description": "Words to find it by."},
    "impact": {"description": "The files and folders it is about, as paths from the root of the project."},
    "supersedes": {"description": "Ids of the records it replaces."},
    "amends": {"description": "Ids of the records it replaces in part."},
    "coexists_with": {"description": "Ids it seems to contradict and does not, each with the reason."},
    "claims": {"description": "Checkable facts: one value for a key among a scope's accepted records."},
    "occurrences": {"description": "The number of sessions in which it came up."},
    "sources": {"description": "Where it comes from."},
}


def build_front_matter_schema() -> dict[str, Any]:
    """Return the JSON schema of the front matter of a record; it refuses exactly what these rules refuse.

    Rules that need the calendar, the file's folder or other records are not in it.
    """
    own = [
        {
            "if": {"properties": {"kind": {"const": kind.name}}, "required": ["kind"]},
            "then": {
                "properties": {
                    "id": {"pattern": f"^{kind.prefix}[0-9]{{3,}}$"},
                    **{field.name: _widen_field_schema(FIELDS[field.name]) for field in list_fields(kind.name)},
                }
            },
        }
        for kind in KINDS
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kb record",
        "description": "The front matter of a record of kb. A key that kb does not know is kept as it is.",
        "type": "object",
        "required": ["id", "uid", "kind", "title"],
        "properties": {key: {**_SHAPE_SCHEMAS[shape], **_FRONT_SCHEMAS[key]} for key, shape in SHAPES.items()},
        "allOf": own,
    }


def _widen_field_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the *schema* of a kind-specific key as `check_fields` reads it: one string is a list of one."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if schema["type"] == "array":
        return {**schema, "type": ["array", "string", "integer", "boolean", "null"]}
    if schema["type"] == "string" and "format" not in schema:
        return {**schema, "type": [*_SCALAR, "null"]}
    return {**schema, "type": [schema["type"], "null"]}
