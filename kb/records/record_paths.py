"""Names and paths of records: the folders of scopes, refs, fresh uids (ULID). A hook needs these and reads no file."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from kb.records.model import GLOBAL, SCOPE_FOLDERS
from kb.startup.lazy_regex import regex
from kb.startup.process import sha256

CONTENT = "content"
TEMPLATES = f"{CONTENT}/templates"
"""Where a knowledge base keeps templates of its own: markdown, but no records."""
PROJECT_FILE = "project.json"
"""The file in a project's folder that says whose it is: {"identity": [...]}."""
TREE = ".wukong/context"
"""The context in the layout of one project, beside CONTENT."""
INBOX = "refs/kb/inbox"
"""The ref whose tree holds what the gate keeps back, one JSON file each."""
USES = "refs/kb/uses"
REVIEWS = "refs/heads/kb/review/"
REJECTED = "refs/kb/rejected/"

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = regex(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LAST_SECOND = 253_402_300_799
"""The last second of the year 9999."""


def resolve_openable_path(root: str, path: str, folder: str) -> str:
    """Return *path*, relative to the knowledge base at *root*, as it is opened from *folder*: absolute elsewhere."""
    if not path or not folder or os.path.realpath(folder) == os.path.realpath(root):
        return path
    return os.path.join(root, *path.split("/"))


def folder_for_scope(scope: str, top: str = "anchors") -> str:
    """Return the folder, relative to the root, that keeps the records of *scope*."""
    sort, _, name = scope.partition("/")
    return f"{CONTENT}/{top}/" + (f"{SCOPE_FOLDERS[sort]}/{name}" if name else GLOBAL)


def parse_path_scope(path: str) -> str:
    """Return the scope whose folder the record file *path* is in, or ""."""
    parts = path.split("/")
    if len(parts) == 4 and parts[2] == GLOBAL:
        return GLOBAL
    sort = next((sort for sort, folder in SCOPE_FOLDERS.items() if folder == parts[2]), "") if len(parts) == 5 else ""
    return f"{sort}/{parts[3]}" if sort else ""


def generate_ulid(seconds: float) -> str:
    """Return a fresh ULID: 26 letters and digits that sort by time (https://github.com/ulid/spec)."""
    return next(iter_ulids(seconds))


def iter_ulids(seconds: float) -> Iterator[str]:
    """Yield fresh ULIDs of one moment, each sorting behind the one before it."""
    number = (int(seconds * 1000) << 80) | (int.from_bytes(os.urandom(10), "big") >> 1)
    while True:
        yield "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))
        number += 1


def parse_uid_day(uid: str) -> str:
    """Return the ISO day (UTC) on which a record got its *uid*, a ULID; "" for what is none.

    Its first ten characters are the milliseconds since 1970, in Crockford's base 32.
    """
    if not _ULID.fullmatch(uid):
        return ""
    milliseconds = 0
    for letter in uid[:10]:
        milliseconds = 32 * milliseconds + _CROCKFORD.index(letter)
    return time.strftime("%Y-%m-%d", time.gmtime(min(milliseconds // 1000, _LAST_SECOND)))


def sanitise_session_id(session: str) -> str:
    """Return *session* as a file name part: letters, digits, hyphens and underscores, 64 at most, never empty.

    An id that had to be changed gets a mark of its original, so that two never become one.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", session)[:64].strip("-")
    if plain == session and plain:
        return plain
    return f"{plain[:50] or 'session'}-{sha256(session.encode('utf-8', 'replace')).hexdigest()[:8]}"


def is_record_path(path: str) -> bool:
    """Return whether *path* is where record files stand: below `content/`, but no archive and no template."""
    others = (f"{CONTENT}/sessions/", f"{TEMPLATES}/")
    return path.startswith(f"{CONTENT}/") and not path.startswith(others) and path.endswith(".md")
