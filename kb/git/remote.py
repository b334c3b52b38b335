"""Fetch and push, never by force, and parse the answers of the remote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kb.git.git_process import CommandOutput, build_git_error
from kb.git.repository import Repository

SENT, CURRENT, RACED, REFUSED = "sent", "current", "raced", "refused"
"""The result for a ref at the remote: moved; already there; moved first by somebody else; refused."""

_STALL_TIMEOUT_OPTIONS = ("-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=30")
"""Give up a connection that transfers less than 100 bytes per second for 30 seconds."""
_FETCH = "fetch --quiet --prune --no-tags --no-write-fetch-head --no-recurse-submodules --no-auto-maintenance".split()
_OFFLINE = re.compile(
    "Could not resolve (host|proxy)|Failed to connect|Couldn't connect|Connection (refused|timed out|reset)"
    "|Network is unreachable|No route to host|Operation (timed out|too slow)|Temporary failure in name resolution"
    "|Empty reply from server"
)
"""Messages of git and ssh when the remote cannot be reached."""
_RACE = re.compile("cannot lock ref|failed to update ref|incorrect old value|reference already exists")


class RemoteUnreachable(Exception):
    """The remote cannot be reached at the moment."""


class RefUpdate(NamedTuple):
    """A ref of the remote to move or delete."""

    ref: str
    new: str
    """The new commit, or "" to delete the ref."""
    old: str = ""
    """For a deletion, the commit at which the ref must be."""


class RefUpdateResult(NamedTuple):
    """The result of a `RefUpdate`."""

    outcome: str
    reason: str = ""
    """In the remote's words."""


def read_remote_settings(repository: Repository) -> dict[str, str]:
    """Return the configuration of remotes and of the branches that track them; of several values the first."""
    pattern = r"^(remote\..*\.url|branch\..*\.(remote|merge))$"
    out = repository.git("config", "-z", "--get-regexp", pattern, check=False).decode("utf-8", "replace")
    settings: dict[str, str] = {}
    for row in out.split("\0"):
        key, _, value = row.partition("\n")
        settings.setdefault(key, value)
    return settings


def fetch_refs(repository: Repository, remote: str, refspec: str, more: Sequence[str]) -> bool:
    """Fetch *refspec* and the patterns *more*; prune refs of *more* that the remote no longer has.

    Return False if the remote has nothing for *refspec*. Raise RemoteUnreachable, or GitFailed for any other error.
    """
    output = repository.run_git([*_STALL_TIMEOUT_OPTIONS, *_FETCH, "--", remote, refspec, *more])
    # a branch missing at the remote fails the whole fetch, including reviews and inbox
    is_there = "couldn't find remote ref" not in output.error
    if not is_there:
        output = repository.run_git([*_STALL_TIMEOUT_OPTIONS, *_FETCH, "--", remote, *more])
    _raise_if_failed("fetch", output)
    return is_there


def push_refs(
    repository: Repository, remote: str, updates: Sequence[RefUpdate], options: Sequence[str] = ()
) -> list[RefUpdateResult]:
    """Ask the remote to fast-forward or delete refs, and return the result for each.

    Raise RemoteUnreachable, or GitFailed if the remote refuses the whole push.
    """
    if not updates:
        return []
    # the lease does not force anything: it only allows deleting a ref that has not moved since it was last seen
    leases = [f"--force-with-lease={update.ref}:{update.old}" for update in updates if not update.new]
    refspecs = [f"{update.new}:{update.ref}" for update in updates]
    output = repository.run_git(
        [*_STALL_TIMEOUT_OPTIONS, "push", "--porcelain", *leases, *options, "--", remote, *refspecs]
    )
    results: dict[str, RefUpdateResult] = {}
    # the output of the remote's own programs
    remote_lines = [
        line.removeprefix("remote:").strip() for line in output.error.splitlines() if line.startswith("remote:")
    ]
    reason = " ".join(filter(None, remote_lines))
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
