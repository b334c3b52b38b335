"""Bare mirrors of the repositories of a hub: fetched within limits of time and size, and read without a checkout.

URLs come from the operator's file; the remote is not trusted. Git may only use the allowed transports, does not follow
redirects, and runs no program named by a repository. A host that resolves to this machine or its link (loopback, or
link-local like a cloud's metadata service) is refused unless the file allows it; all its addresses are checked. For
https:// git then connects to the checked addresses.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.errors import BadInput, GitFailed
from kb.files import remove_folder
from kb.git.git_process import (
    BackgroundCommand,
    CommandOutput,
    add_git_settings,
    build_git_error,
    parse_batch,
    run,
    scrub_environment,
)
from kb.i18n import Message, msg
from kb.organisation.hub_config import HubConfig, RepositoryConfig, hide_password, split_url
from kb.records.kinds import REJECTED, REVIEWS

_WITHIN = 0.25
"""Seconds between two checks of the size of a running fetch."""
_MEGABYTE = 1_000_000
WRITES = "refs/heads/kb/write/"
"""Prefix of the branches with new records that wait for a person to merge them."""
PROPOSALS = (REVIEWS, WRITES, REJECTED)
"""Prefixes of all refs with open or rejected proposals to a team."""


class ChangedBlob(NamedTuple):
    """A file that differs between two commits of a mirror."""

    path: str
    """Relative to the top of the repository."""
    oid: str
    """The id of its object, or "" if the file was deleted."""
    is_plain: bool
    """Whether it is a regular file with a name on one line: no link, no submodule."""


class MirrorAddress(NamedTuple):
    """The address a repository is fetched from, with git settings for it."""

    url: str
    settings: tuple[tuple[str, str], ...]
    protocols: str
    """The value of GIT_ALLOW_PROTOCOL."""


# -- addresses ----------------------------------------------------------------------------------------


def resolve_address(
    config: HubConfig,
    repository: RepositoryConfig,
    environment: Mapping[str, str],
    find_addresses: Callable[[str, int], Sequence[str]] | None = None,
) -> MirrorAddress:
    """Return the address of *repository*; raise BadInput if it is not allowed, GitFailed if its host is not found.

    *find_addresses* resolves a host, by default with the system's resolver.
    """
    scheme, host, port = split_url(repository.url, allow_local=config.allow_local)
    settings = [("http.followRedirects", "false"), ("protocol.allow", "never")]
    settings += [(f"protocol.{scheme}.allow", "always"), ("fetch.fsckObjects", "false")]
    if host:
        addresses = (find_addresses or _look_up_host)(host, port)
        for address in addresses if not config.allow_local else ():
            if is_near(address):
                raise BadInput(
                    msg("{host} resolves to {address}, which a hub does not fetch from", host=host, address=address),
                    hint=msg("if that is intended: allow_local = true"),
                )
        if scheme == "https":  # otherwise the name could resolve to another address a moment later
            pinned = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
            settings.append(("http.curloptResolve", f"{host}:{port}:{pinned}"))
    if repository.token and scheme in ("https", "http"):
        token = environment.get(repository.token, "")
        if not token:
            raise BadInput(msg("the variable {name}, which is to have a token, is empty", name=repository.token))
        value = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings.append(("http.extraHeader", f"Authorization: Basic {value}"))
    return MirrorAddress(repository.url, tuple(settings), scheme)


def is_near(address: str) -> bool:
    """Return whether an IP address is this machine's, link-local or reserved; private networks are not near."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip.sixtofour or ip
    return ip.is_loopback or ip.is_link_local or ip.is_unspecified or ip.is_multicast or ip.is_reserved


def _look_up_host(host: str, port: int) -> list[str]:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise GitFailed(msg("the host {host} is not found", host=host)) from None
    return list(dict.fromkeys(str(row[4][0]) for row in addresses))


# -- mirrors ------------------------------------------------------------------------------------------


class Mirror:
    """The bare repository of one knowledge base."""

    def __init__(self, config: HubConfig, repository: RepositoryConfig, environment: Mapping[str, str]) -> None:
        """Use the mirror of *repository*, which need not exist yet."""
        self.path = os.path.join(config.data, "mirrors", f"{repository.name}.git")
        self._config = config
        self._repository = repository
        self._given = environment
        self._environment = scrub_environment(environment)

    def fetch(self) -> str:
        """Fetch the branch of the remote and return its commit; raise KbError without any change."""
        branch = f"refs/heads/{self._repository.branch}"
        self._fetch([f"+{branch}:{branch}"])
        return self.find_commit()

    def fetch_proposals(self) -> None:
        """Fetch the proposal branches of the remote, and delete those that are gone there; raise KbError.

        They are in no index: they are compared with new proposals.
        """
        self._fetch([f"+{where}*:{where}*" for where in PROPOSALS], "--prune")

    def _fetch(self, refspecs: Sequence[str], *options: str) -> None:
        address = resolve_address(self._config, self._repository, self._given)
        if not os.path.exists(os.path.join(self.path, "HEAD")):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self._require(["init", "--quiet", "--bare", "--template=", "--", self.path], is_new=True)
        words = "fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules --no-auto-maintenance".split()
        environment = add_git_settings(self._environment, address.settings)
        environment = {**environment, "GIT_ALLOW_PROTOCOL": address.protocols}
        watch = _FetchWatch(self.path, self._config.fetch_seconds, self._config.fetch_megabytes * _MEGABYTE)
        command = BackgroundCommand(
            ["git", f"--git-dir={self.path}", *words, *options, "--", address.url, *refspecs],
            environment,
            should_stop=watch.is_over,
        )
        output = command.wait_for_output()
        if watch.reason:
            self._remove_half_packs()
            raise GitFailed(watch.reason)
        if output.code:
            raise build_git_error(["fetch"], output._replace(error=hide_password(output.error)))

    def find_commit(self) -> str:
        """Return the commit of the branch, or ""."""
        if not os.path.exists(os.path.join(self.path, "HEAD")):
            return ""
        name = f"refs/heads/{self._repository.branch}^{{commit}}"
        return self._run(["rev-parse", "-q", "--verify", name]).out.decode().strip()

    def list_changes(self, old: str, new: str, tops: Sequence[str]) -> list[ChangedBlob]:
        """Return the files under *tops* that differ between two commits; *old* "" is an empty commit."""
        if not old:
            old = self._require(["hash-object", "-t", "tree", "--stdin", "-w"]).out.decode().strip()
        words = ["diff-tree", "-r", "-z", "--no-renames", "--full-index", "--raw", old, new, "--", *tops]
        return list(_parse_changes(self._require(words).out))

    def has_commit(self, commit: str) -> bool:
        """Return whether the mirror has *commit*, because a remote may have been rebuilt."""
        return bool(commit) and not self._run(["cat-file", "-e", f"{commit}^{{commit}}"]).code

    def read_sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of those objects that are blobs."""
        lines = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
        rows = self._require(["cat-file", "--batch-check"], lines).out.decode().splitlines() if lines else []
        parted = (row.split(" ") for row in rows)
        return {words[0]: int(words[2]) for words in parted if len(words) == 3 and words[1] == "blob"}

    def read_blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of the objects, which must fit into memory: see `read_sizes`."""
        lines = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
        out = self._require(["cat-file", "--batch"], lines).out if lines else b""
        return {oid: data for oid, kind, data in parse_batch(out) if data is not None and kind == "blob"}

    def find_blob(self, commit: str, path: str) -> str:
        """Return the object id of the regular file *path* in *commit*, or ""."""
        out = self._run(["ls-tree", "-z", "--full-tree", commit, "--", path]).out
        mode, _, rest = out.partition(b" ")
        return rest.split(b"\t")[0].split(b" ")[-1].decode() if mode in (b"100644", b"100755") else ""

    def remove(self) -> None:
        """Delete the mirror, which can be fetched again."""
        remove_folder(self.path)

    def _run(self, words: Sequence[str], stdin: bytes = b"", *, is_new: bool = False) -> CommandOutput:
        where = [] if is_new else [f"--git-dir={self.path}"]
        return run(["git", *where, *words], self._environment, stdin)

    def _require(self, words: Sequence[str], stdin: bytes = b"", *, is_new: bool = False) -> CommandOutput:
        output = self._run(words, stdin, is_new=is_new)
        if output.code:
            raise build_git_error(words, output)
        return output

    def _remove_half_packs(self) -> None:
        """Delete leftovers of a stopped fetch."""
        folder = os.path.join(self.path, "objects", "pack")
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.startswith("tmp_"):
                os.unlink(os.path.join(folder, name))


def _parse_changes(out: bytes) -> Iterator[ChangedBlob]:
    fields = out.split(b"\0")
    for meta, name in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, oid, _ = meta.decode().split(" ")
        path = os.fsdecode(name)
        is_plain = mode in ("100644", "100755") and path.isprintable()
        yield ChangedBlob(path, oid if oid.strip("0") else "", is_plain or not oid.strip("0"))


class _FetchWatch:
    """Watches a fetch for its limits of time and size."""

    def __init__(self, path: str, seconds: float, most: int) -> None:
        self.reason: Message | None = None
        self._objects = os.path.join(path, "objects")
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._most = most
        self._before = _measure_folder(self._objects)
        self._looked = 0.0

    def is_over(self) -> bool:
        """Return whether a limit is reached; `reason` says which."""
        now = time.monotonic()
        if now > self._end:
            self.reason = msg("the fetch takes longer than {n} seconds", n=self._seconds)
        elif now - self._looked > _WITHIN:
            self._looked = now
            if _measure_folder(self._objects) - self._before > self._most:
                self.reason = msg("the fetch brings more than {n} megabytes", n=self._most // _MEGABYTE)
        return self.reason is not None


def _measure_folder(folder: str) -> int:
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(top, name)).st_size
            except FileNotFoundError:
                continue
    return total
