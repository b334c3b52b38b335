"""Is each file a record in the right place? Rules that look at one file alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta

from kb.checks.check_context import (
    CheckContext,
    LoadedRecord,
    UnreadableFile,
    iter_free_ids,
    make_finding,
    parse_folder_scope,
)
from kb.checks.findings import FRESH_UID, Finding, Key
from kb.errors import BadRecord
from kb.i18n import msg
from kb.records.blocks import MACHINE_START, find_blocks, refuse_conflict_markers
from kb.records.front_matter import KEYS, decode_record, find_key_line, parse_front_matter
from kb.records.kinds import BY_NAME, KINDS, find_kind
from kb.records.model import GLOBAL, SCOPE
from kb.text.line_ends import find_line_number
from kb.text.segment import clip, one_line

_ID = re.compile(r"[A-Z]{1,2}\d{3,}")
_SCOPE = re.compile(SCOPE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TITLE_LINE = re.compile(re.escape(MACHINE_START) + r"[ \t]*[\r\n]\s*(?P<line>#)[ \t]+\[([^\]\r\n]*)\][ \t]*([^\r\n]*)")
LIKE_A_KEY = 0.88
"""Similarity (difflib) from which an unknown key is taken for a slip: supercedes 0.90, superseded_by 0.78."""


def check_readable(shelf: CheckContext) -> Iterator[Finding]:
    """Report every file that is no record, with all that is wrong with it."""
    for broken in shelf.broken:
        for rule, error in _find_causes(broken):
            yield Finding(
                rule=rule,
                severity="error",
                path=broken.source.path,
                line=max(error.line, 1),
                message=error.message,
                fix=error.hint
                if str(error.hint)
                else msg("correct this line; how it was: git log -p -- {path}", path=broken.source.path),
            )


def _find_causes(broken: UnreadableFile) -> list[tuple[str, BadRecord]]:
    path = broken.source.path
    try:
        text = decode_record(broken.source.data, path)
    except BadRecord as error:
        return [("unreadable", error)]
    try:
        refuse_conflict_markers(text, path)
    except BadRecord as error:
        # Both sides of an open merge stand in the file: whatever else is wrong comes from that.
        return [("conflict-markers", error)]
    causes: list[tuple[str, BadRecord]] = []
    for rule, probe in (("frontmatter", parse_front_matter), ("markers", find_blocks)):
        try:
            probe(text, path)
        except BadRecord as error:
            causes.append((rule, error))
    if broken.error.message not in [error.message for _, error in causes]:
        causes.insert(0, ("frontmatter", broken.error))
    return causes


def check_kinds(shelf: CheckContext) -> Iterator[Finding]:
    """Report kinds that no row of the table has; an alias is written out as its name."""
    for one in shelf.opened:
        if one.record.kind in BY_NAME:
            continue
        meant = find_kind(one.record.kind)
        message = msg("there is no kind {kind}", kind=clip(one.record.kind, 40))
        if meant:
            fix = msg("write: kind: {kind}", kind=meant.name)
            yield make_finding("kind", one, message, fix, key="kind", change={"kind": meant.name})
        else:
            known = ", ".join(kind.name for kind in KINDS)
            yield make_finding("kind", one, message, msg("write one of: {kinds}", kinds=known), key="kind")


def check_ids(shelf: CheckContext) -> Iterator[Finding]:
    """Report ids of another form, ids with the prefix of another kind, and missing uids."""
    for one in shelf.opened:
        record = one.record
        kind = find_kind(record.kind)
        if not _ID.fullmatch(record.id):
            yield make_finding(
                "id",
                one,
                msg("{id} is no id", id=clip(record.id, 40)),
                msg("write the kind's prefix and three digits or more, such as {example}", example=_example_id(one)),
                key="id",
            )
        elif kind and record.id.rstrip("0123456789") != kind.prefix:
            yield make_finding(
                "id",
                one,
                msg("{id} does not fit the kind {kind}, whose ids begin with {prefix}", id=record.id, kind=kind.name,
                    prefix=kind.prefix),
                msg("correct the kind, or give the record the next free {prefix} id", prefix=kind.prefix),
                key="id",
            )  # fmt: skip
        if not record.uid:
            yield make_finding(
                "uid",
                one,
                msg("there is no uid, so the record would not survive a new number"),
                msg("let kb give it one: kb check --fix"),
                key="id",
                change={"uid": FRESH_UID},
            )


def _example_id(one: LoadedRecord) -> str:
    kind = find_kind(one.record.kind)
    return f"{kind.prefix if kind else 'D'}001"


def check_dates(shelf: CheckContext) -> Iterator[Finding]:
    """Report dates that are no day, and days that have not come."""
    today = shelf.surroundings.today
    # Somewhere on earth it is already tomorrow.
    latest = (date.fromisoformat(today) + timedelta(days=1)).isoformat() if today else ""
    for one in shelf.opened:
        for key, day in (("date", one.record.date), ("confirmed", one.record.confirmed)):
            if not day:
                continue
            if not is_day(day):
                message = msg("{day} is no day", day=clip(day, 40))
                yield make_finding("date", one, message, msg("write it as YYYY-MM-DD"), key=key)
            elif latest and day > latest:
                message = msg("{day} has not come yet", day=day)
                yield make_finding("date", one, message, msg("correct the day"), key=key, severity="warning")


def is_day(text: str) -> bool:
    """Return whether *text* is a day of the calendar in the form YYYY-MM-DD."""
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_folders(shelf: CheckContext) -> Iterator[Finding]:
    """Report scopes of another form, files outside the folder of their scope and kind, and names without the id."""
    for one in shelf.opened:
        record = one.record
        if not _SCOPE.fullmatch(record.scope):
            message = msg("{scope} is no scope", scope=clip(record.scope, 40))
            yield make_finding("scope", one, message, msg("write global or project/<name>"), key="scope")
            continue
        yield from _check_folder(one)
        name = record.path.rpartition("/")[2]
        if name != f"{record.id}.md" and not name.startswith(f"{record.id}-"):
            yield make_finding(
                "file-name",
                one,
                msg("the file name does not begin with the id {id}", id=clip(record.id, 40)),
                msg("rename the file to {id}-….md, or correct the id", id=clip(record.id, 40)),
                key="id",
            )


def _check_folder(one: LoadedRecord) -> Iterator[Finding]:
    record = one.record
    kind = find_kind(record.kind)
    place = GLOBAL if record.scope == GLOBAL else f"projects/{record.scope.removeprefix('project/')}"
    wanted = f"content/{kind.folder if kind else KINDS[0].folder}/{place}"
    parent, _, name = record.path.rpartition("/")
    if parent == wanted:
        return
    told = parse_folder_scope(record.path)
    if told and told != record.scope and find_key_line(one.text, "scope") == 1:
        message = msg("there is no scope, and the folder is that of {scope}", scope=told)
        fix = msg("write: scope: {scope}", scope=told)
        yield make_finding("scope", one, message, fix, key="id", change={"scope": told})
    else:
        message = msg("a record of {scope} does not belong into this folder", scope=record.scope)
        fix = msg("move it: git mv {path} {wanted} — or correct the scope", path=record.path, wanted=f"{wanted}/{name}")
        yield make_finding("folder", one, message, fix, key="scope")


def check_title_lines(shelf: CheckContext) -> Iterator[Finding]:
    """Report a heading of the MACHINE block that names another id or title than the front."""
    for one in shelf.opened:
        match = _TITLE_LINE.search(one.text)
        if match is None:
            continue
        same_id = match.group(2) == one.record.id
        if same_id and one_line(match.group(3)) == one_line(one.record.title):
            continue
        yield Finding(
            rule="heading",
            severity="warning" if same_id else "error",
            path=one.record.path,
            line=find_line_number(one.text, match.start("line")),
            message=msg("the heading says something else than the front's id and title"),
            fix=msg(
                "write one of them anew, so that both say: [{id}] {title}",
                id=one.record.id,
                title=clip(one.record.title, 80),
            ),
        )


def check_keys(shelf: CheckContext) -> Iterator[Finding]:
    """Report frontmatter keys that look like a slip for one kb reads."""
    unknown = {key for one in shelf.opened for key in one.record.extra}
    meant = {key: known for key in unknown if (known := _guess_key(key))}
    for one in shelf.opened:
        for key in one.record.extra:
            if key in meant:
                message = msg("kb does not read the key {key}", key=clip(key, 40))
                fix = msg("if you mean {known}, write it so", known=meant[key])
                yield make_finding("key", one, message, fix, key=key, severity="warning")


def _guess_key(key: str) -> str:
    """Return the key of kb that *key* is a slip for, or ""."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(key.lower(), KEYS, n=1, cutoff=LIKE_A_KEY)), "")


def check_duplicate_ids(shelf: CheckContext) -> Iterator[Finding]:
    """Report every record whose id an older one of its scope has; one record in two files is one record."""
    free: dict[Key, Iterator[str]] = {}
    for key, owners in shelf.by_key.items():
        for one in owners[1:]:
            if one.record.uid and one.record.uid == owners[0].record.uid:
                continue
            prefix = one.record.id.rstrip("0123456789")
            numbers = free.setdefault((key[0], prefix), iter_free_ids(shelf, key[0], prefix))
            yield make_finding(
                "duplicate-id",
                one,
                msg("{id} also names {other}", id=one.record.scoped_id, other=owners[0].record.path),
                msg("renumber this one, the younger; {id} is free: kb renumber", id=next(numbers)),
                key="id",
            )


def check_duplicate_uids(shelf: CheckContext) -> Iterator[Finding]:
    """Report every record that carries the uid of another: a copy, or what a merge made of a renamed file."""
    owners: dict[str, list[LoadedRecord]] = defaultdict(list)
    for one in sorted(shelf.opened, key=lambda one: one.age_key):
        if one.record.uid:
            owners[one.record.uid].append(one)
    for same in owners.values():
        for one in same[1:]:
            other = same[0].record
            is_one = one.record.title == other.title or one.key == same[0].key
            yield make_finding(
                "duplicate-uid",
                one,
                msg("the record of {other} stands here once more", other=other.path)
                if is_one
                else msg("this uid is already that of {other}", other=other.path),
                msg("compare both files and take one out: git rm {path}", path=one.record.path)
                if is_one
                else msg("delete the uid of the copy, then: kb check --fix"),
                key="uid",
            )


def check_branch_ids(shelf: CheckContext) -> Iterator[Finding]:
    """Report ids that name another record elsewhere: an error for the one that has to give way, else a warning.

    What stands on the trunk keeps its id; between two other branches the older uid does (uids sort by time).
    """
    branches, trunk = shelf.surroundings.branches, shelf.surroundings.trunk
    free: dict[Key, Iterator[str]] = {}
    for one in shelf.opened:
        ours = one.record.uid
        others = {
            branch: uid for branch, records in branches.items() if (uid := records.get(one.key, "")) not in ("", ours)
        }
        if not ours or not others:
            continue
        settled = branches.get(trunk, {}).get(one.key) == ours
        message = msg(
            "on the branch {branch}, {id} names another record",
            branch=", ".join(sorted(others)),
            id=one.record.scoped_id,
        )
        if trunk in others or (not settled and min(others.values()) < ours):
            prefix = one.record.id.rstrip("0123456789")
            numbers = free.setdefault((one.record.scope, prefix), iter_free_ids(shelf, one.record.scope, prefix))
            fix = msg("renumber this one; {new} is free: kb renumber {id}", new=next(numbers), id=one.record.scoped_id)
            yield make_finding("branch-id", one, message, fix, key="id")
        else:
            fix = msg("the other one is to be renumbered before it is merged")
            yield make_finding("branch-id", one, message, fix, key="id", severity="warning")
