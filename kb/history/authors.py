"""Who had a hand in a record: the agent that the commits of kb's name, or the author of any commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FORM = "%x01%an%x00%(trailers:key=Kb-Host,valueonly,separator=%x2C)%x00"


def find_agent_paths(kb: Workspace, agent: str) -> set[str]:
    """Return the paths of the records that *agent* wrote or changed, under the names they had then and have now.

    *agent*: what a candidate names as its host ("claude"), or the name of a commit's author; case does not count.
    """
    wanted = agent.strip().casefold()
    found: set[str] = set()
    now: dict[str, str] = {}
    for author, hosts, rows in _iter_commits(kb):
        is_theirs = wanted == author.casefold() or wanted in {host.strip().casefold() for host in hosts.split(",")}
        for before, path in rows:
            current = now.get(path, path)
            now[before] = current
            if is_theirs:
                found |= {current, path}
    return found


def _iter_commits(kb: Workspace) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield author, hosts and (path before, path after) of every commit that touched records, newest first."""
    if not kb.repository.head().oid:
        return
    folders = sorted({kb.repository.to_git_path(f"{CONTENT}/{kind.folder}") for kind in KINDS})
    said = kb.repository.git("log", "-z", "--name-status", "-M", f"--format={_FORM}", "--", *folders)
    for part in said.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        author, hosts, *words = part.split("\0")
        rows: list[tuple[str, str]] = []
        rest = iter(word.lstrip("\n") for word in words)
        for letter in rest:
            if letter[:1] in ("A", "M", "D", "T"):
                name = kb.repository.to_kb_path(next(rest, ""))
                rows.append((name, name))
            elif letter[:1] in ("R", "C"):
                before = kb.repository.to_kb_path(next(rest, ""))
                rows.append((before, kb.repository.to_kb_path(next(rest, ""))))
        yield author, hosts, rows
