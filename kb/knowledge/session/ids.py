"""The id of a session as a part of file names; a hook that needs no more of a session loads no more."""

from __future__ import annotations

import re

from kb.digest import sha256


def safe_id(session: str) -> str:
    """Return *session* as a file name part: letters, digits, hyphens and underscores, 64 at most, never empty.

    An id that had to be changed gets a mark of its original, so that two never become one.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", session)[:64].strip("-")
    if plain == session and plain:
        return plain
    return f"{plain[:50] or 'session'}-{sha256(session.encode('utf-8', 'replace')).hexdigest()[:8]}"
