"""What git tells of all records at once: every version of each, and where files and code can be seen on the web.

One `git log` and one `git cat-file` for the whole knowledge base, however many records it has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.files import read_if_exists
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.records.record_paths import PROJECT_FILE as MARK
from kb.state.project import find_identity, parse_owners

if TYPE_CHECKING:
    from kb.workspace import Workspace

SHOWN = 10
"""How many of the newest changes of one record come with its text before and after."""

_PLACE = re.compile(r"(?a:[\w.-]+)(?::\d+)?(?:/(?a:[\w.~-]+))+")
"""host/owner/repository, as a remote says it: it becomes an address, so it holds nothing else."""
_FORM = "%x00%H%x00%cI%x00%an%x00%B%x00"


class RecordVersion(NamedTuple):
    """One commit that touched a record."""

    commit: str
    time: str
    """ISO 8601, with offset."""
    author: str
    host: str
    """The agent program that had it written, or ""."""
    subject: str
    before: str = ""
    """The file before; "" for the first version, and where it is not kept."""
    after: str = ""


class Timeline(NamedTuple):
    """What git knows of the records."""

    versions: Mapping[str, tuple[RecordVersion, ...]] = {}
    """Path of a record → its versions, newest first."""
    edit: str = ""
    """What stands before the path of a record in the address at which it can be edited; "" where that is not known."""
    request: str = ""
    """What stands before the name of a branch in the address at which its pull request is opened, or ""."""
    code: Mapping[str, str] = {}
    """Scope → what stands before a path of its project in the address at which it can be seen."""


class _FileChange(NamedTuple):
    """One file in one commit."""

    version: RecordVersion
    letter: str
    before: str
    path: str


def build_timeline(kb: Workspace) -> Timeline:
    """Return what git knows of all records of *kb*."""
    own = _find_own_address(kb)
    branch = kb.repository.head().ref.removeprefix("refs/heads/")
    edit = _build_address(own, "edit")
    return Timeline(
        _collect_versions(kb),
        f"{edit}/{branch}/{kb.repository.prefix}" if edit and branch else "",
        _build_request_address(own),
        _build_code_addresses(kb, own),
    )


def _collect_versions(kb: Workspace) -> dict[str, tuple[RecordVersion, ...]]:
    steps: dict[str, list[_FileChange]] = {}
    now: dict[str, str] = {}
    for step in _iter_file_changes(kb):
        path = now.get(step.path, step.path)
        steps.setdefault(path, []).append(step)
        if step.letter == "R":
            now[step.before] = path
    wanted = [
        place
        for path in steps
        for step in steps[path][:SHOWN]
        if step.letter in "MR"
        for place in ((f"{step.version.commit}^", step.before), (step.version.commit, step.path))
    ]
    texts = dict(zip(wanted, kb.repository.read_blobs(wanted), strict=True))

    def add_texts(step: _FileChange) -> RecordVersion:
        before = texts.get((f"{step.version.commit}^", step.before)) or b""
        after = texts.get((step.version.commit, step.path)) or b""
        return step.version._replace(before=before.decode("utf-8", "replace"), after=after.decode("utf-8", "replace"))

    return {path: tuple(add_texts(step) for step in found) for path, found in steps.items()}


def _iter_file_changes(kb: Workspace) -> Iterator[_FileChange]:
    """Yield what every commit did to every record, newest first."""
    if not kb.repository.head().oid:
        return
    folders = sorted({kb.repository.to_git_path(f"{CONTENT}/{kind.folder}") for kind in KINDS})
    said = kb.repository.git("log", "-z", "--raw", "-M", "--no-abbrev", f"--format={_FORM}", "--", *folders)
    words = iter(said.decode("utf-8", "replace").split("\0"))
    version = RecordVersion("", "", "", "", "")
    for word in words:
        row = word.lstrip("\n")
        if row.startswith(":"):
            letter = row.rpartition(" ")[2][:1]
            before = kb.repository.to_kb_path(next(words, ""))
            path = kb.repository.to_kb_path(next(words, "")) if letter in "RC" else before
            if letter in "AMRC" and path.endswith(".md"):
                yield _FileChange(version, letter, before, path)
        elif row.isalnum():
            version = _parse_version(row, next(words, ""), next(words, ""), next(words, ""))


def _parse_version(commit: str, time: str, author: str, message: str) -> RecordVersion:
    lines = message.splitlines()
    host = next((line[9:] for line in reversed(lines) if line.startswith("Kb-Host: ")), "")
    return RecordVersion(commit, time, author, host, lines[0] if lines else "")


# -- on the web -----------------------------------------------------------------------------------


def _find_own_address(kb: Workspace) -> str:
    """Return host, owner and name of the repository around *kb*, or ""."""
    return _validate_address(find_identity(kb, kb.repository.top, kb.repository.common_dir))


def _validate_address(place: str) -> str:
    return place if _PLACE.fullmatch(place) and "/.." not in place else ""


def _build_address(place: str, what: str) -> str:
    """Return where *place* shows ("blob") or edits ("edit") files, without the branch; "" for an unknown host."""
    host = place.partition("/")[0]
    if "github" in host:
        return f"https://{place}/{what}"
    return f"https://{place}/-/{what}" if "gitlab" in host else ""


def _build_request_address(place: str) -> str:
    if "/-/" in _build_address(place, "edit"):
        return _build_address(place, "merge_requests/new?merge_request%5Bsource_branch%5D=")
    return _build_address(place, "compare/")


def _build_code_addresses(kb: Workspace, own: str) -> dict[str, str]:
    """Return for the scope of every project whose repository is known where it shows files."""
    top = os.path.join(kb.root, CONTENT, "anchors", "projects")
    names = sorted(os.listdir(top)) if os.path.isdir(top) else []
    marks = {name: os.path.join(top, name, MARK) for name in names}
    places = {name: _read_owner(mark) for name, mark in marks.items() if os.path.isfile(mark)}
    if kb.config.project:
        places[kb.config.project] = own
    found = {f"project/{name}": _build_address(place, "blob") for name, place in places.items() if place}
    return {scope: f"{address}/HEAD/" for scope, address in found.items() if address}


def _read_owner(mark: str) -> str:
    return next(filter(None, map(_validate_address, parse_owners(read_if_exists(mark)) or ())), "")
