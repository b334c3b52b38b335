"""Read the git history of the records: all versions, authors, the life of one record.

All records at once take one `git log` and one `git cat-file`, however many there are.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from kb.files import read_if_exists
from kb.i18n import Message, msg
from kb.learning.uses import list_uses
from kb.records.front_matter import find_body_start
from kb.records.kinds import CONTENT, KINDS, PROJECT_FILE
from kb.records.model import Record, Status, list_aliases
from kb.state.project import find_identity, parse_owners
from kb.text.segment import clip, one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

SUBJECT_VERBS = {
    "Add to": msg("Add to"),
    "Add": msg("Add"),
    "Update": msg("Update"),
    "Import": msg("Import"),
    "Confirm": msg("Confirm"),
    "Edit": msg("Edit"),
    "Accept": msg("Accept"),
    "Replace": msg("Replace"),
    "Amend": msg("Amend"),
    "Verify": msg("Verify"),
    "Renumber": msg("Renumber"),
    "Challenge": msg("Challenge"),
    "Mark superseded": msg("Mark superseded"),
    "Change status of": msg("Change status of"),
}
"""First words of the subjects that kb gives its commits; an id in brackets follows."""
MAX_SHOWN_VERSIONS = 10
"""Number of the newest changes of a record for which the texts before and after are included."""

_ADDRESS = re.compile(r"(?a:[\w.-]+)(?::\d+)?(?:/(?a:[\w.~-]+))+")
"""host/owner/repository, as a remote says it: it becomes a link, so it holds nothing else."""
_VERSION_FORM = "%x00%H%x00%cI%x00%an%x00%B%x00"
_AUTHOR_FORM = "%x01%an%x00%(trailers:key=Kb-Host,valueonly,separator=%x2C)%x00"


def split_subject(subject: str) -> tuple[Message | None, str]:
    """Return the verb with which a commit subject of kb's begins, and the rest; None for a subject of another form."""
    verb, bracket, rest = subject.partition(" [")
    label = SUBJECT_VERBS.get(verb) if bracket else None
    return (label, f"[{rest}") if label else (None, subject)


class RecordVersion(NamedTuple):
    """One commit that touched a record."""

    commit: str
    time: str
    """ISO 8601, with offset."""
    author: str
    host: str
    """The agent program that wrote it, or ""."""
    subject: str
    before: str = ""
    """The file before; "" for the first version, and if it is not included."""
    after: str = ""


class Timeline(NamedTuple):
    """The git history of the records."""

    versions: Mapping[str, tuple[RecordVersion, ...]] = {}
    """Path of a record → its versions, newest first."""
    edit: str = ""
    """URL prefix for editing a record by its path, or ""."""
    request: str = ""
    """URL prefix for opening a pull request by its branch name, or ""."""
    code: Mapping[str, str] = {}
    """Scope → URL prefix for viewing a file of its project."""


def build_timeline(kb: Workspace) -> Timeline:
    """Return what git knows of all records of *kb*."""
    own = _validate_address(find_identity(kb, kb.repository.top, kb.repository.common_dir))
    branch = kb.repository.head().ref.removeprefix("refs/heads/")
    edit = _build_link(own, "edit")
    request = "merge_requests/new?merge_request%5Bsource_branch%5D=" if "/-/" in edit else "compare/"
    return Timeline(
        _collect_versions(kb),
        f"{edit}/{branch}/{kb.repository.prefix}" if edit and branch else "",
        _build_link(own, request),
        _build_code_links(kb, own),
    )


# -- versions and authors -------------------------------------------------------------------------


def _collect_versions(kb: Workspace) -> dict[str, tuple[RecordVersion, ...]]:
    """Return the versions of every record by its path of today, the newest ones with their texts."""
    changes: dict[str, list[tuple[RecordVersion, str, str]]] = {}
    path_now: dict[str, str] = {}
    wanted: list[tuple[str, str]] = []
    for version, letter, before, path in _iter_file_changes(kb):
        found = changes.setdefault(path_now.get(path, path), [])
        if letter in "MR" and len(found) < MAX_SHOWN_VERSIONS:
            wanted += [(f"{version.commit}^", before), (version.commit, path)]
        found.append((version, before, path))
        # The newest commit comes first, so a rename is met before what happened under the old name: a.md → b.md → c.md
        # leaves both older names pointing to c.md.
        if letter == "R":
            path_now[before] = path_now.get(path, path)
    blobs = kb.repository.read_blobs(wanted)
    texts = {key: (blob or b"").decode("utf-8", "replace") for key, blob in zip(wanted, blobs, strict=True)}
    return {
        path_of_today: tuple(
            version._replace(
                before=texts.get((f"{version.commit}^", before), ""), after=texts.get((version.commit, path), "")
            )
            for version, before, path in found
        )
        for path_of_today, found in changes.items()
    }


def _iter_file_changes(kb: Workspace) -> Iterator[tuple[RecordVersion, str, str, str]]:
    """Yield what every commit did to every record, newest first: the commit, git's letter, the paths before and after.

    The letter is one of A, M, R and C.
    """
    log = _read_record_log(kb, "--raw", "--no-abbrev", f"--format={_VERSION_FORM}")
    words = iter(log.decode("utf-8", "replace").split("\0"))
    version = RecordVersion("", "", "", "", "")
    # A row of --raw is ":100644 100644 <oid> <oid> R100", with its one or two paths after it; a word of letters and
    # digits alone is the hash with which a commit begins. A subject may look like either: it is taken with its commit.
    for word in words:
        row = word.lstrip("\n")
        if row.startswith(":"):
            letter = row.rpartition(" ")[2][:1]
            before = kb.repository.to_kb_path(next(words, ""))
            path = kb.repository.to_kb_path(next(words, "")) if letter in "RC" else before
            if letter in "AMRC" and path.endswith(".md"):
                yield version, letter, before, path
        elif row.isalnum():
            time, author, lines = next(words, ""), next(words, ""), next(words, "").splitlines()
            host = next((line[9:] for line in reversed(lines) if line.startswith("Kb-Host: ")), "")
            version = RecordVersion(row, time, author, host, lines[0] if lines else "")


def _read_record_log(kb: Workspace, *options: str) -> bytes:
    """Return what `git log` says of all commits that touched records, newest first; nothing before the first."""
    if not kb.repository.head().oid:
        return b""
    own = {f"{CONTENT}/{kind.folder}" for kind in KINDS}
    folders = sorted(map(kb.repository.to_git_path, own | {*kb.files.list_tops()}))
    return kb.repository.git("log", "-z", "-M", *options, "--", *folders)


def find_agent_paths(kb: Workspace, agent: str) -> set[str]:
    """Return the paths of the records that *agent* wrote or changed, under the names they had then and have now.

    *agent*: what a candidate names as its host ("claude"), or the name of a commit's author; case does not count.
    """
    wanted = agent.strip().casefold()
    return {path for path, names in map_agents(kb).items() if wanted in {name.casefold() for name in names}}


def map_agents(kb: Workspace) -> dict[str, set[str]]:
    """Return who had a hand in each record: the path it had then, and the one it has now → hosts and authors."""
    found: dict[str, set[str]] = {}
    path_now: dict[str, str] = {}
    log = _read_record_log(kb, "--name-status", f"--format={_AUTHOR_FORM}")
    for commit in log.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        author, hosts, *words = commit.split("\0")
        names = {name.strip() for name in (author, *hosts.split(",")) if name.strip()}
        rest = iter(word.lstrip("\n") for word in words)
        for letter in rest:
            if letter[:1] not in tuple("AMDTRC"):
                continue
            before = path = kb.repository.to_kb_path(next(rest, ""))
            if letter[0] in "RC":
                path = kb.repository.to_kb_path(next(rest, ""))
            path_now[before] = path_now.get(path, path)
            for one in (path_now[before], path):
                found.setdefault(one, set()).update(names)
    return found


class RecordCounts(NamedTuple):
    """How many records there are, by what they are."""

    total: int
    kinds: dict[str, int]
    statuses: dict[str, int]
    scopes: dict[str, int]
    agents: dict[str, int]
    """Who had a hand in them, hosts and authors of commits, the most first; a record counts for each of them."""
    first: str
    """The oldest day of a record, or ""."""
    last: str
    bytes: int
    """Total size of their files."""


def count_records(kb: Workspace, records: Sequence[Record]) -> RecordCounts:
    """Return how many *records* there are, by kind, status, scope and agent, from when they are and how large."""
    agents = map_agents(kb) if records else {}
    counted = [Counter(str(getattr(one, name)) for one in records) for name in ("kind", "status", "scope")]
    kinds, statuses, scopes = ({name: found[name] for name in sorted(found)} for found in counted)
    hands = Counter(name for one in records for name in agents.get(one.path, ()))
    days = sorted(filter(None, (one.date for one in records)))
    sizes = (os.path.getsize(path) for one in records if os.path.isfile(path := os.path.join(kb.root, one.path)))
    ordered = dict(sorted(hands.items(), key=lambda row: (-row[1], row[0])))
    return RecordCounts(
        len(records), kinds, statuses, scopes, ordered, days[0] if days else "", days[-1] if days else "", sum(sizes)
    )


# -- on the web -----------------------------------------------------------------------------------


def _validate_address(address: str) -> str:
    return address if _ADDRESS.fullmatch(address) and "/.." not in address else ""


def _build_link(address: str, page: str) -> str:
    """Return where the repository at *address* shows ("blob") or edits ("edit") files; "" for an unknown host."""
    host = address.partition("/")[0]
    if "github" in host:
        return f"https://{address}/{page}"
    return f"https://{address}/-/{page}" if "gitlab" in host else ""


def _build_code_links(kb: Workspace, own: str) -> dict[str, str]:
    """Return for the scope of every project whose repository is known where it shows files."""
    top = os.path.join(kb.root, CONTENT, "anchors", "projects")
    addresses = {}
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        file = os.path.join(top, name, PROJECT_FILE)
        if os.path.isfile(file):
            owners = parse_owners(read_if_exists(file)) or ()
            addresses[name] = next(filter(None, map(_validate_address, owners)), "")
    if kb.config.project:
        addresses[kb.config.project] = own
    links = {name: _build_link(address, "blob") for name, address in addresses.items() if address}
    return {f"project/{name}": f"{link}/HEAD/" for name, link in links.items() if link}


# -- the life of one record -----------------------------------------------------------------------

_CLOSED_STATUSES = frozenset({Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED})
STAGES: Mapping[str, Message] = {
    "seeded": msg("written (seeded)"),
    "dormant": msg("waits (dormant)"),
    "matured": msg("shown (matured)"),
    "fruited": msg("of use (fruited)"),
    "updated": msg("changed (updated)"),
    "obsolete": msg("ended (obsolete)"),
}
"""The stages of a record's life, each as people say it."""


def list_changed_lines(kb: Workspace, commit: str, path: str, most: int = 4, *, title: str = "") -> list[str]:
    """Return what *commit* changed in the text of the record file *path*, as “+ …” and “- …”, at most *most* lines.

    Front matter, headings, markers and what only repeats the *title* or a line are left out; what more there is the
    last line counts.
    """
    from difflib import ndiff

    before, after = kb.repository.read_blobs([(f"{commit}~1", path), (commit, path)])
    old, new = (_list_text_lines((data or b"").decode("utf-8", "replace")) for data in (before, after))
    changed = [row for row in ndiff(old, new) if row[0] in "+-" and _fold_words(row[2:]) != _fold_words(title)]
    once: dict[tuple[str, str], str] = {}
    for row in changed:
        once.setdefault((row[0], _fold_words(row[2:])), f"{row[:2]}{clip(one_line(row[2:]), 160)}")
    rows = [*once.values()]
    return rows if len(rows) <= most else [*rows[: most - 1], f"… {len(rows) - most + 1}"]


def _fold_words(text: str) -> str:
    """Return the letters and digits of *text* in lower case: two texts with the same say the same."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _list_text_lines(text: str) -> list[str]:
    rows = text[find_body_start(text) :].splitlines()
    return [row for row in rows if row.strip() and not row.startswith(("#", "<!--"))]


class LifeEvent(NamedTuple):
    """One step in a record's life (RUYI "种子生命周期")."""

    stage: str
    """One of STAGES, the English word."""
    time: str
    """ISO 8601."""
    cause: str
    commit: str
    author: str


def build_history(kb: Workspace, name: str, *, scope: str = "") -> list[LifeEvent]:
    """Return the life of the record *name*, oldest first, from git and from what cites it."""
    from kb.git.revisions import list_file_commits

    record = kb.record(name, scope=scope)
    events: list[LifeEvent] = []
    for change in list_file_commits(kb.repository, record.path, list_aliases(record.extra)):
        step, _, status = change.operation.partition(" ")
        stage = "obsolete" if step in ("superseded", "review") or status in _CLOSED_STATUSES else "updated"
        signature = (change.commit, change.author)
        cause = f"{change.subject}: {change.reason}" if change.reason else change.subject
        events.append(LifeEvent(stage if events else "seeded", change.time, cause, *signature))
        if len(events) == 1:
            events.append(LifeEvent("dormant", change.time, kb.localise(msg("until a task needs it")), *signature))

    events += [LifeEvent(use.stage, use.time, use.cause, "", "") for use in list_uses(kb, record)]

    def sort_key(event: LifeEvent) -> float:
        # of a use only the day is known: it follows what git says of that day, as nobody uses what is not written
        time = f"{event.time}T23:59:59" if len(event.time) == len("2026-11-24") else event.time
        try:  # as texts, times of two zones are in the wrong order
            return datetime.fromisoformat(time).timestamp()
        except ValueError:
            return 0.0

    return sorted(events, key=sort_key)
