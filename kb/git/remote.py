"""Fetch and push, never by force, and parse what the other side answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kb.git.git_process import CommandOutput, build_git_error
from kb.git.repository import Repository

SENT, CURRENT, RACED, REFUSED = "sent", "current", "raced", "refused"
"""What became of a ref at the remote: it moved; it stood there; somebody else was faster; it may not be moved."""

_STALL_TIMEOUT_OPTIONS = ("-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=30")
"""A connection over which nothing comes for so many seconds is no connection."""
_FETCH = "fetch --quiet --prune --no-tags --no-write-fetch-head --no-recurse-submodules --no-auto-maintenance".split()
_OFFLINE = re.compile(
    "Could not resolve (host|proxy)|Failed to connect|Couldn't connect|Connection (refused|timed out|reset)"
    "|Network is unreachable|No route to host|Operation (timed out|too slow)|Temporary failure in name resolution"
    "|Empty reply from server"
)
"""What git and ssh say where there is no way to the remote at this moment."""
_RACE = re.compile("cannot lock ref|failed to update ref|incorrect old value|reference already exists")


class RemoteUnreachable(Exception):
    """There is no way to the remote at this moment."""


class RefUpdate(NamedTuple):
    """A ref of the remote that is to be moved."""

    ref: str
    new: str
    """The commit it is to stand at; "" for a ref that is to go."""
    old: str = ""
    """For a ref that is to go: where it has to stand."""


class RefUpdateResult(NamedTuple):
    """What became of a `RefUpdate`."""

    outcome: str
    reason: str = ""
    """In the words of the remote."""


def read_remote_settings(repository: Repository) -> dict[str, str]:
    """Return what is configured of remotes and of the branches that follow them; of several values the first."""
    pattern = r"^(remote\..*\.url|branch\..*\.(remote|merge))$"
    out = repository.git("config", "-z", "--get-regexp", pattern, check=False).decode("utf-8", "replace")
    found: dict[str, str] = {}
    for row in out.split("\0"):
        key, _, value = row.partition("\n")
        found.setdefault(key, value)
    return found


def fetch_refs(repository: Repository, remote: str, refspec: str, more: Sequence[str]) -> bool:
    """Fetch *refspec* and what the patterns *more* name, of which what the remote has no more is forgotten.

    Return False where the remote has nothing by *refspec*. Raise RemoteUnreachable, or GitFailed for every other error.
    """
    output = repository.run_git([*_STALL_TIMEOUT_OPTIONS, *_FETCH, "--", remote, refspec, *more])
    # a branch that the remote does not have fails the whole fetch, reviews and inbox too
    is_there = "couldn't find remote ref" not in output.error
    if not is_there:
        output = repository.run_git([*_STALL_TIMEOUT_OPTIONS, *_FETCH, "--", remote, *more])
    _raise_if_failed("fetch", output)
    return is_there


def push_refs(
    repository: Repository, remote: str, updates: Sequence[RefUpdate], options: Sequence[str] = ()
) -> list[RefUpdateResult]:
    """Ask the remote to move refs forward, or away from where they stand, and return what became of each.

    Raise RemoteUnreachable, or GitFailed where the remote does not listen at all.
    """
    if not updates:
        return []
    # a lease is no force here: it only lets a ref go that is where it was last seen
    leases = [f"--force-with-lease={update.ref}:{update.old}" for update in updates if not update.new]
    refspecs = [f"{update.new}:{update.ref}" for update in updates]
    output = repository.run_git(
        [*_STALL_TIMEOUT_OPTIONS, "push", "--porcelain", *leases, *options, "--", remote, *refspecs]
    )
    results: dict[str, RefUpdateResult] = {}
    # what the remote's own programs said
    said = [line.removeprefix("remote:").strip() for line in output.error.splitlines() if line.startswith("remote:")]
    reason = " ".join(filter(None, said))
    for line in output.out.decode("utf-8", "replace").splitlines():
        flag, tab, rest = line.partition("\t")  # "<flag>\t<from>:<to>\t<summary> (<reason>)"
        pair, _, summary = rest.partition("\t")
        ref = pair.rpartition(":")[2]
        if not tab or len(flag) != 1:
            continue
        if flag != "!":
            results[ref] = RefUpdateResult(CURRENT if flag == "=" else SENT)
        elif summary.startswith("[rejected]") or _RACE.search(summary):
            results[ref] = RefUpdateResult(RACED, summary)
        else:
            results[ref] = RefUpdateResult(REFUSED, reason or summary)
    if not results:
        _raise_if_failed("push", output)
    return [results.get(update.ref, RefUpdateResult(REFUSED, reason)) for update in updates]


def _raise_if_failed(command: str, output: CommandOutput) -> None:
    if not output.code:
        return
    for line in output.error.splitlines():
        if _OFFLINE.search(line):
            raise RemoteUnreachable(line)
    raise build_git_error([command], output)
