"""Collect what `kb check` looks at: the records, the trees they speak of, and the other branches."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from kb.checks import check_cache
from kb.checks.check_context import Shelf, shelf
from kb.checks.findings import Finding, Key, Source, Surroundings, Text, Versions
from kb.checks.fixes import fixes
from kb.checks.neighbours import MOST, Neighbours
from kb.checks.rules import found
from kb.checks.staged_changes import staged
from kb.errors import KbError
from kb.files import content
from kb.git import revisions
from kb.git.dropped_records import put_back_if_free, still_dropped
from kb.git.tracked_files import ask_git, files_below, tracked
from kb.i18n import Message, msg
from kb.index.lookup import for_reader
from kb.records.model import FIXED_BY, GLOBAL, Record, Status
from kb.records.record_paths import CONTENT, is_record, scope_of, ulid
from kb.safety import redaction
from kb.sessions.session_archive import session_file, sessions
from kb.state.agent_shells import remember_mended
from kb.state.state_folder import write_whole
from kb.writing import quality
from kb.writing.concurrent_git import keep_lost_work

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FRONT_UID = re.compile(r"(?m)^uid:[ \t]*[\"']?([^\s\"']+)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TRUNKS = ("origin/main", "origin/master", "main", "master")


class Checked(NamedTuple):
    """What a check found, and in how many records."""

    findings: list[Finding]
    records: int
    shared: frozenset[str] = frozenset()
    """The ids that records of projects have, which name no global record to a reader who stands anywhere."""


def check(kb: Workspace, *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
    """Return what is wrong with the records in the files or folders *below* (none: all).

    With *fix* mend in the checkout what can be mended safely, and look again.
    """
    return checked(kb, fix=fix, below=below).findings


def checked_again(kb: Workspace, records: Iterable[Record]) -> list[Finding]:
    """Do what `check` does without reading again what nothing was found in before; the index has read *records*."""
    read = {record.path: record for record in records}
    looked_at = (source._replace(record=read.get(source.path)) for source in sources(kb))
    everything = _beside_others(kb, looked(kb, looked_at, check_cache.known(kb)))
    findings = found(everything)
    check_cache.remember(kb, everything, findings)
    return for_readers(kb, findings, everything, "")


def checked(kb: Workspace, *, fix: bool = False, below: Sequence[str] = (), reader: str | None = None) -> Checked:
    """Do what `check` does, and count the records; *reader* is that of `for_readers`."""
    put_back_if_free(kb)
    keep_lost_work(kb)
    looked_at = list(sources(kb))
    everything = _beside_others(kb, looked(kb, looked_at))
    findings = [*found(everything), *staged(kb), *_dropped(kb), *_stale_memory(kb)]
    findings = those(for_readers(kb, findings, everything, reader), below)
    mended = _still_as_read(kb, looked_at, fixes(findings, looked_at, lambda: ulid(kb.now()))) if fix else {}
    for path, data in mended.items():
        write_whole(os.path.join(kb.root, *path.split("/")), data)
    remember_mended(kb, mended)
    if mended:
        return checked(kb, below=below, reader=reader)
    return Checked(findings, len(everything.opened), ids_in_projects(everything))


def ids_in_projects(everything: Shelf) -> frozenset[str]:
    """Return the ids that records of projects have."""
    return frozenset(record_id for scope, record_id in everything.known if scope != GLOBAL)


def _dropped(kb: Workspace) -> Iterator[Finding]:
    """Report the records that the next `git commit` would delete or undo, though the checkout has them as committed."""
    for path in still_dropped(kb):
        message = msg("git's index does not have this file as it is committed: the next git commit undoes that")
        yield Finding("index", "warning", path, 1, message, msg("keep it: git add {path}", path=path))


def _stale_memory(kb: Workspace) -> Iterator[Finding]:
    """Report the files that `kb memory` has written and that no longer say what the records do."""
    from kb.context import memory_md

    if not os.path.isfile(os.path.join(kb.root, *memory_md.MEMORY.split("/"))):
        return
    with contextlib.suppress(KbError):  # somebody has edited a block: kb memory says so
        for page in memory_md.pages(kb):
            if page.is_stale:
                message = msg("it is not up to date with the records")
                yield Finding("memory", "warning", page.path, 1, message, msg("run: kb memory"))


def _still_as_read(kb: Workspace, read: Sequence[Source], mended: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return those of the *mended* files that nobody has changed since they were *read*: looking takes seconds."""
    before = {source.path: source.data for source in read}
    return {
        path: data for path, data in mended.items() if content(os.path.join(kb.root, *path.split("/"))) == before[path]
    }


def for_readers(
    kb: Workspace, findings: Iterable[Finding], everything: Shelf, reader: str | None = None
) -> list[Finding]:
    """Return *findings* with their ids as the *reader*, a scope, finds the records (None: the caller; "": anybody)."""
    scopes: dict[str, list[str]] = {}
    for scope, record_id in everything.known:
        scopes.setdefault(record_id, []).append(scope)

    def written(said: Message) -> Message:
        return for_reader(kb, said, reader, lambda record_id: scopes.get(record_id, ()))

    return [one._replace(message=written(one.message), fix=written(one.fix)) for one in findings]


def those(findings: list[Finding], below: Sequence[str]) -> list[Finding]:
    """Return the *findings* in the files or folders *below* (none: all)."""
    return [finding for finding in findings if is_below(finding.path, below)]


def is_below(path: str, below: Sequence[str]) -> bool:
    """Return whether the file *path* is one of *below*, or stands under one; of none every file does."""
    tops = [top.rstrip("/") for top in below]
    return not tops or "" in tops or any(path == top or path.startswith(top + "/") for top in tops)


def looked(kb: Workspace, looked_at: Iterable[Source], unremarkable: frozenset[str] = frozenset()) -> Shelf:
    """Return the records in the files *looked_at* with what is known of the world around them; branches are not.

    *unremarkable* are the texts that need not be looked at alone.
    """

    def secrets(text: str) -> Iterator[tuple[int, str]]:
        return redaction.secrets(text, kb.config.masking)

    before = Surroundings(texts=tuple(_archived(kb)))
    everything = shelf(looked_at, before, kb.config, secrets, quality.vague)
    around = Surroundings(
        today=kb.today(),
        files=frozenset(files_below(kb.root)),
        trees={name: frozenset(tracked(kb, top)) for name, top in projects(kb).items()},
        changes=_changes(kb, [one.record for one in everything.opened]),
        fixes=dict(_fixes(kb, [one.record for one in everything.opened])),
        texts=before.texts,
        clean=unremarkable,
        merges=_merges(kb, everything),
    )
    return everything._replace(surroundings=around)


def _beside_others(kb: Workspace, everything: Shelf) -> Shelf:
    """Return *everything* with the records of other branches, and those that what is new here contradicts."""
    branches, trunk = _branches(kb, everything)
    around = everything.surroundings._replace(branches=branches, trunk=trunk, clashes=_clashes(kb, everything))
    return everything._replace(surroundings=around)


def sources(kb: Workspace) -> Iterator[Source]:
    """Yield the record files of the checkout."""
    for path in sorted(files_below(os.path.join(kb.root, CONTENT))):
        place = os.path.join(kb.root, CONTENT, path)
        if is_record(f"{CONTENT}/{path}") and _is_plain(place):
            with open(place, "rb") as file:
                yield Source(f"{CONTENT}/{path}", file.read())


def _is_plain(place: str) -> bool:
    """Return whether *place* is a file to be read: no link, no folder, no pipe that would be waited for."""
    return os.path.isfile(place) and not os.path.islink(place)


def _archived(kb: Workspace) -> Iterator[Text]:
    for session in sessions(kb):
        scope = GLOBAL if session.project == GLOBAL else f"project/{session.project}"
        with contextlib.suppress(FileNotFoundError):
            yield Text(f"{session.path}/compact.md", session_file(kb, session, "compact.md"), scope)


def projects(kb: Workspace) -> dict[str, str]:
    """Return name and folder of the projects whose trees are on this machine."""
    found = {kb.config.project: kb.repository.top} if kb.config.project else {}
    known = kb.state.load("projects.json") or {}
    for key, scope in known.items():
        top = key.rpartition("@")[0]
        if os.path.isdir(top):
            found.setdefault(str(scope).removeprefix("project/"), top)
    return found


def _changes(kb: Workspace, records: list[Record]) -> dict[str, dict[str, float | None]]:
    """Return for each record how much its impact files have changed since it was last confirmed."""
    found: dict[str, dict[str, float | None]] = {}
    for name, top in projects(kb).items():
        own = [r for r in records if r.impact and r.scope == f"project/{name}" and (r.confirmed or r.date)]
        if not own:
            continue
        log = _log(kb, top, min(r.confirmed or r.date for r in own))
        for record in own:
            since = record.confirmed or record.date
            found[record.path] = {path: _share(top, path, since, log) for path in record.impact}
    return found


def _fixes(kb: Workspace, records: list[Record]) -> Iterator[tuple[str, bool]]:
    """Yield for each record that names the commit which fixed it whether its project has that commit."""
    tops = projects(kb)
    for record in records:
        top = tops.get(record.scope.removeprefix("project/"), "")
        if not top or FIXED_BY not in record.extra:
            continue
        commit = str(record.extra[FIXED_BY])
        is_name = _COMMIT.fullmatch(commit) is not None
        yield (
            record.path,
            is_name and ask_git(kb, top, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}") is not None,
        )


def _log(kb: Workspace, top: str, since: str) -> list[tuple[str, str, int]]:
    """Return day, path and number of changed lines of every change in the repository *top* after the day *since*."""
    words = ("log", f"--since={since}T23:59:59", "--format=@%cs", "--numstat", "--no-renames")
    said = ask_git(kb, top, "-c", "core.quotePath=false", *words) or b""
    rows: list[tuple[str, str, int]] = []
    day = ""
    for line in said.decode("utf-8", "replace").splitlines():
        if line.startswith("@"):
            day = line[1:]
        elif line.count("\t") == 2:
            added, removed, path = line.split("\t")
            rows.append((day, path, max(int(n) if n.isdigit() else 1 for n in (added, removed))))
    return rows


def _share(top: str, path: str, since: str, log: list[tuple[str, str, int]]) -> float | None:
    """Return the share of the lines at *path* (a file or folder) changed after *since*; None when it has vanished."""
    place = os.path.join(top, *path.strip("/").split("/"))
    touched = [
        (name, lines)
        for day, name, lines in log
        if day > since and (name == path or name.startswith(path.rstrip("/") + "/"))
    ]
    if not os.path.lexists(place):
        return None if touched else 0.0
    if not touched:
        return 0.0
    files = [os.path.join(place, name) for name in files_below(place)] if _is_folder(place) else [place]
    return sum(lines for _, lines in touched) / max(sum(map(_length, files)), 1)


def _is_folder(place: str) -> bool:
    return os.path.isdir(place) and not os.path.islink(place)


def _length(path: str) -> int:
    """Return the lines of a plain file; 0 for a link, which may lead to what never ends."""
    try:
        if not S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


# -- other branches -------------------------------------------------------------------------------


def _branches(kb: Workspace, everything: Shelf) -> tuple[dict[str, dict[Key, str]], str]:
    """Return the records of the other branches with their uids, and which branch the others are merged into.

    Of the trunk all of them, of the others those that they have added or edited themselves.
    """
    head = kb.repository.head()
    if not head.oid:
        return {}, ""
    tips = _tips(kb)
    trunk = next((name for name in _TRUNKS if name in tips), "")
    found = {name: _own_records(kb, head.oid, tip) for name, tip in tips.items() if tip != head.oid}
    if trunk:
        differing = revisions.changed(kb, tips[trunk])
        settled = {one.key: one.record.uid for one in everything.opened if one.record.path not in differing}
        found[trunk] = {**settled, **found.get(trunk, {})}
    return found, trunk


def _tips(kb: Workspace) -> dict[str, str]:
    """Return the commits at which the branches stand, local ones and those of the remotes."""
    tips: dict[str, str] = {}
    for where in ("refs/heads", "refs/remotes"):
        for row in kb.repository.refs(where, "%(refname) %(objectname)"):
            ref, _, oid = row.partition(" ")
            if not ref.endswith("/HEAD"):
                tips[ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")] = oid
    return tips


def _own_records(kb: Workspace, head: str, tip: str) -> dict[Key, str]:
    paths = sorted(path for path in revisions.own_changes(kb, head, tip) or () if scope_of(path))
    found: dict[Key, str] = {}
    for path, data in zip(paths, kb.repository.blobs([(tip, path) for path in paths]), strict=True):
        match = _FRONT_UID.search((data or b"").decode("utf-8", "replace"))
        found[scope_of(path), path.rpartition("/")[2].partition("-")[0]] = match.group(1) if match else ""
    return found


# -- what has just changed ------------------------------------------------------------------------


def _merges(kb: Workspace, everything: Shelf) -> dict[str, Versions]:
    """Return what the merge that HEAD is, or that is going on, was made of, for each record that both sides changed."""
    sides = revisions.merge_sides(kb)
    base = revisions.common(kb, *sides) if sides else ""
    if not sides or not base:
        return {}
    one, other = (revisions.changed_between(kb, base, side) for side in sides)
    paths = one & other & {one.record.path for one in everything.opened}
    at = revisions.records_at(kb, [(commit, path) for commit in (base, *sides) for path in paths])
    ours, theirs = sides
    return {
        path: Versions(at.get((base, path)), at[ours, path], at[theirs, path])
        for path in paths
        if (ours, path) in at and (theirs, path) in at
    }


def _clashes(kb: Workspace, everything: Shelf) -> dict[tuple[str, str], Message]:
    """Return which accepted records cannot hold beside one another, for those that the last commit or nobody yet made.

    Of a merge that is what it brought in; all pairs would take minutes where there are many records.
    """
    since = revisions.commit_of(kb, "HEAD^1") or revisions.commit_of(kb, "HEAD")
    paths = revisions.changed(kb, since) if since else set()
    accepted = {one.record.path: one for one in everything.opened if one.record.status == Status.ACCEPTED}
    new = sorted((accepted[path] for path in paths & accepted.keys()), key=lambda one: one.age, reverse=True)
    if not new or len(new) > MOST:
        return {}
    near = Neighbours(one.record for one in accepted.values())
    found: dict[tuple[str, str], Message] = {}
    for one in new:
        for other, reason in near.contradicted(one.record):
            if (other.path, one.record.path) not in found:
                found[one.record.path, other.path] = reason
    return found
