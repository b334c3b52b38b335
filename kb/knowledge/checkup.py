"""Collect what `kb check` looks at: the records, the trees they speak of, and the other branches."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb.checking.findings import Finding, Key, Source, Surroundings, Text
from kb.checking.fixes import fixes
from kb.checking.rules import check as findings_of
from kb.errors import GitFailed
from kb.knowledge.archive import session_file
from kb.knowledge.names import CONTENT, scope_of, ulid
from kb.patterns import regex
from kb.record import GLOBAL, Record
from kb.store.git.command import run, scrubbed
from kb.store.state import write_whole
from kb.writing import quality, redact

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_FRONT_UID = regex(r"(?m)^uid:[ \t]*[\"']?([^\s\"']+)")


def check(kb: "KnowledgeBase", *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
    """Return what is wrong with the records in the files or folders *below* (none: all).

    With *fix* mend in the checkout what can be mended safely, and look again.
    """
    everything, sources = _look(kb)
    found = _those(everything, below)
    mended = fixes(found, sources, lambda: ulid(kb.now())) if fix else {}
    for path, data in mended.items():
        write_whole(os.path.join(kb.root, *path.split("/")), data)
    return _those(_look(kb)[0], below) if mended else found


def _those(found: list[Finding], below: Sequence[str]) -> list[Finding]:
    tops = [path.rstrip("/") for path in below]
    if not tops or "" in tops:
        return found
    return [f for f in found if any(f.path == top or f.path.startswith(top + "/") for top in tops)]


def _look(kb: "KnowledgeBase") -> tuple[list[Finding], list[Source]]:
    sources = list(_sources(kb))
    records = kb.fresh().records()
    trees = {name: frozenset(_tracked(kb, top)) for name, top in _projects(kb).items()}
    branches = _branches(kb)
    around = Surroundings(
        today=kb.today(),
        files=frozenset(_files(kb.root)),
        trees=trees,
        changes=_changes(kb, records),
        branches=branches,
        trunk=next((name for name in ("origin/main", "origin/master", "main", "master") if name in branches), ""),
        texts=tuple(_archived(kb)),
    )

    def secrets(text: str) -> Iterator[tuple[int, str]]:
        return redact.secrets(text, kb.config.private_words)

    return findings_of(sources, around, kb.config, secrets=secrets, vague=quality.vague), sources


def _sources(kb: "KnowledgeBase") -> Iterator[Source]:
    for path in sorted(_files(os.path.join(kb.root, CONTENT))):
        place = os.path.join(kb.root, CONTENT, path)
        if path.endswith(".md") and not path.startswith("sessions/") and _is_plain(place):
            with open(place, "rb") as file:
                yield Source(f"{CONTENT}/{path}", file.read())


def _is_plain(place: str) -> bool:
    """Tell whether *place* is a file to be read: no link, no folder, no pipe that would be waited for."""
    return os.path.isfile(place) and not os.path.islink(place)


def _archived(kb: "KnowledgeBase") -> Iterator[Text]:
    for session in kb.sessions():
        scope = GLOBAL if session.project == GLOBAL else f"project/{session.project}"
        with contextlib.suppress(FileNotFoundError):
            yield Text(f"{session.path}/compact.md", session_file(kb, session, "compact.md"), scope)


def _files(top: str) -> Iterator[str]:
    """Yield the files below *top*, relative to it; hidden folders of tools are left out."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", ".kb", "node_modules", "__pycache__", ".venv")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")


def _projects(kb: "KnowledgeBase") -> dict[str, str]:
    """Return name and folder of the projects whose trees are on this machine."""
    found = {kb.config.project: kb.repository.top} if kb.config.project else {}
    known = kb.state.load("projects.json") or {}
    for key, scope in known.items():
        top = key.rpartition("@")[0]
        if os.path.isdir(top):
            found.setdefault(str(scope).removeprefix("project/"), top)
    return found


def _tracked(kb: "KnowledgeBase", top: str) -> list[str]:
    output = run(
        ["git", "-C", top, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], scrubbed(kb.environment)
    )
    return [name for name in os.fsdecode(output.out).split("\0") if name] if output.code == 0 else list(_files(top))


def _changes(kb: "KnowledgeBase", records: list[Record]) -> dict[str, dict[str, float | None]]:
    """Return for each record how much its impact files have changed since it was last confirmed."""
    found: dict[str, dict[str, float | None]] = {}
    for name, top in _projects(kb).items():
        own = [r for r in records if r.impact and r.scope == f"project/{name}" and (r.confirmed or r.date)]
        if not own:
            continue
        log = _log(kb, top, min(r.confirmed or r.date for r in own))
        for record in own:
            since = record.confirmed or record.date
            found[record.path] = {path: _share(top, path, since, log) for path in record.impact}
    return found


def _log(kb: "KnowledgeBase", top: str, since: str) -> list[tuple[str, str, int]]:
    """Return day, path and number of changed lines of every change in the repository *top* after the day *since*."""
    words = [
        "git",
        "-C",
        top,
        "-c",
        "core.quotePath=false",
        "log",
        f"--since={since}T23:59:59",
        "--format=@%cs",
        "--numstat",
        "--no-renames",
        "--no-ext-diff",
    ]
    output = run(words, scrubbed(kb.environment))
    rows: list[tuple[str, str, int]] = []
    day = ""
    for line in output.out.decode("utf-8", "replace").splitlines():
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
    files = [os.path.join(place, name) for name in _files(place)] if os.path.isdir(place) else [place]
    return sum(lines for _, lines in touched) / max(sum(map(_length, files)), 1)


def _length(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


def _branches(kb: "KnowledgeBase") -> dict[str, dict[Key, str]]:
    """Return the records that other branches have and the checked-out one has not so: branch → (scope, id) → uid."""
    repository = kb.repository
    head = repository.head()
    if not head.oid:
        return {}
    here = repository.files(head.oid, CONTENT)
    found: dict[str, dict[Key, str]] = {}
    rows = repository.refs("refs/heads", "%(refname) %(objectname)") + repository.refs(
        "refs/remotes", "%(refname) %(objectname)"
    )
    for row in rows:
        ref, _, oid = row.partition(" ")
        if ref == head.ref or ref.endswith("/HEAD") or oid == head.oid:
            continue
        name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        try:
            there = repository.files(oid, CONTENT)
        except GitFailed:
            continue
        found[name] = {}
        for path, blob in there.items():
            scope = scope_of(path) if path.endswith(".md") and "/sessions/" not in path else ""
            if scope and here.get(path) != blob:
                text = (repository.blob(oid, path) or b"").decode("utf-8", "replace")
                match = _FRONT_UID.search(text)
                found[name][scope, path.rpartition("/")[2].partition("-")[0]] = match.group(1) if match else ""
    return found
