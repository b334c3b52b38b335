"""Which commit is meant by a revision or a day."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kb.errors import BadInput, GitFailed
from kb.git.revisions import resolve_commit
from kb.i18n import msg
from kb.sessions.session_archive import parse_day

if TYPE_CHECKING:
    from kb.workspace import Workspace


def resolve_revision(kb: Workspace, name: str) -> str:
    """Return the commit that the revision *name* means; raise BadInput for none."""
    commit = resolve_commit(kb, name) if name and not name.startswith("-") else ""
    if not commit:
        said = msg("git does not know {revision} here", revision=name)
        raise BadInput(said, hint=msg("see which there are: git log --oneline"))
    return commit


def resolve_range(kb: Workspace, span: str) -> tuple[str, str]:
    """Return the commits that "A..B" means; a side that is missing is HEAD."""
    older, dots, newer = span.partition("..")
    if not dots:
        newer = "HEAD"
    return resolve_revision(kb, older or "HEAD"), resolve_revision(kb, newer.removeprefix(".") or "HEAD")


def find_last_commit_of_day(kb: Workspace, word: str) -> str:
    """Return the last commit of the checked-out line up to the end of the day *word*; raise BadInput for none."""
    day = parse_day(word, kb.now())
    found = find_commit_before(kb, parse_midnight(day) + 86_400)
    if not found:
        said = msg("nothing was committed yet on {day}", day=day)
        raise BadInput(said, hint=msg("see when the first commit was made: git log --reverse"))
    return found


def find_commit_before_day(kb: Workspace, day: str) -> str:
    """Return the last commit of the checked-out line before the ISO *day*; "" where there was none yet."""
    return find_commit_before(kb, parse_midnight(day))


def find_commit_before(kb: Workspace, moment: float) -> str:
    """Return the last commit of the checked-out line before the time *moment* (seconds since 1970), or ""."""
    if not resolve_commit(kb, "HEAD"):
        raise GitFailed(msg("nothing is committed here yet"), hint=msg("commit first, then compare"))
    if moment < 2:  # git takes a time before 1970 for now
        return ""
    limit = f"--before=@{int(moment) - 1} +0000"
    return kb.repository.git("log", "-1", "--format=%H", "--first-parent", limit, "HEAD", "--").decode().strip()


def parse_midnight(day: str) -> float:
    """Return the time at which the ISO *day* begins, in seconds since 1970; raise BadInput where it is no day."""
    try:
        return time.mktime(time.strptime(day, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        raise BadInput(
            msg("{word} is no day", word=day), hint=msg("use today, yesterday, week, 7d or 2026-11-21")
        ) from None
