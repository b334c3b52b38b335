"""What kb is interrupted in: the table of operations. A new one is a row, and a function that prepares it."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import build_candidates as candidates_of
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate
from kb.writing.group_commit import QueuedWriter, WriteRequest

_SUBJECTS = (
    "gateway deadlines", "order ledger", "password hashing", "image thumbnails", "audit trail", "search synonyms",
    "invoice numbering", "session cookies", "feature flags", "mail templates", "cache eviction", "backup rotation",
    "时区换算", "支付回调", "日志采样", "库存锁定", "短信签名", "权限模型", "文件上传", "消息重试",
)  # fmt: skip


SPOOLED, ASKED, REPORTED = "spooled", "asked", "reported"
RUN = "run"
"""Beside the folder that is prepared: where its copies stand, one after the other."""


class Operation(NamedTuple):
    """One thing that is done, in a clone made ready for it."""

    name: str
    prepare: Callable[[Path], None]
    words: Sequence[str]
    """The call; a second call of the same is what the interrupted caller does next."""
    stdin: bytes = b""
    environment: Mapping[str, str] = {}
    short: bool = False
    """Whether the short form steps through it."""
    loose: str = ""
    """What may come in another order when a call fails: what was SPOOLED, or what others have ASKED for who are gone.

    The latter may be left out, as those who are gone were promised nothing. What is REPORTED of records in the archive
    of a session may tell those that it had written before it was interrupted as being there already."""


def git(place: Path, *words: str) -> str:
    """Return what git prints in *place*."""
    done = subprocess.run(["git", "-C", str(place), *words], capture_output=True, text=True, check=True)
    return done.stdout


def decision(number: int, **more: object) -> Candidate:
    """Return the *number*-th of many candidates that have nothing to do with each other."""
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    return Candidate(
        "decision", f"Keep {subject} simple", decision=f"This is how we do {subject}: in one place, by one owner.",
        alternatives="Queueing, retrying in the client.", why="Callers give up after half a second anyway.",
        verification="Run the latency suite.", rollback="Remove the deadline.", impact_areas=("architecture",),
        scope="global", session=f"s{number}", host="faults",
    )._replace(**more)  # fmt: skip


_FASTAPI = decision(
    0, title="Use FastAPI as the backend framework", decision="The backend uses FastAPI.",
    claims={"backend.framework": "FastAPI"}, impact=("kb.toml",),
)  # fmt: skip
_FLASK = _FASTAPI._replace(
    title="Use Flask as the backend framework", decision="The backend uses Flask.",
    claims={"backend.framework": "Flask"}, session="s2",
)  # fmt: skip
_SMALL = Candidate(
    "decision", "Paint the settings button blue", "The button on the settings page is blue.", scope="global"
)
_FACT = "The deadline of the nightly export is two hours."


def as_stdin(*candidates: Candidate) -> bytes:
    return json.dumps([candidate_to_json(candidate) for candidate in candidates], ensure_ascii=False).encode()


def _write(place: Path, *candidates: Candidate) -> None:
    with KnowledgeBase(str(place), os.environ) as kb:
        for candidate in candidates:
            kb.write([candidate], folder=str(place))


def _records(*candidates: Candidate) -> Callable[[Path], None]:
    return lambda place: _write(place, *candidates)


def _one_edited(place: Path) -> None:
    """Let a person have unstaged edits elsewhere in the file that is appended to."""
    _write(place, decision(0))
    (path,) = (place / "content/anchors/global").glob("D001-*.md")
    text = path.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n")
    path.write_text(text)


def _waited_for(place: Path) -> None:
    """Let two others wait in the queue."""
    _write(place, decision(0))
    with KnowledgeBase(str(place), os.environ) as kb:
        for number in (5, 6):
            assert not QueuedWriter(kb, WriteRequest([decision(number)], str(place))).is_queued_and_answered()


def _adrs(place: Path) -> None:
    """Lay out five decision records of another tool, outside of the repository."""
    folder = place.parent / "adr"
    folder.mkdir(exist_ok=True)
    for number in range(1, 6):
        title = _SUBJECTS[number + 6]
        text = f"# {number}. Settle {title}\n\nDate: 2020-01-0{number}\n\n## Status\n\nAccepted\n\n## Context\n\n"
        text += f"We need {title}.\n\n## Decision\n\nWe own {title}.\n\n## Consequences\n\nOne owner.\n"
        (folder / f"000{number}-settle.md").write_text(text)


def _no_index(place: Path) -> None:
    _write(place, *map(decision, range(4)))
    for end in ("", "-wal", "-shm"):
        (place / f".kb/index.db{end}").unlink(missing_ok=True)


def _pulled(place: Path) -> None:
    """Let git bring records that others have written, edited and taken away."""
    _write(place, *map(decision, range(3)))
    with _elsewhere(place) as other:
        _write(other, decision(3))
        first, second, _ = sorted((other / "content/anchors/global").glob("D00[123]-*.md"))
        first.write_text(first.read_text().replace("latency suite", "whole suite"))
        git(other, "rm", "-q", str(second))
        git(other, "commit", "-qam", "Theirs")
        git(place, "pull", "-q", "--ff-only", str(other), "main")


def _hand_edited(place: Path) -> None:
    _write(place, *map(decision, range(3)))
    for path in (place / "content/anchors/global").glob("D00*.md"):
        path.write_text(path.read_text().replace("latency suite", "whole suite"))


def _spooled(place: Path) -> None:
    """Let two writes be spooled, as a lock of somebody's was in the way."""
    _write(place, decision(0))
    (place / ".git/index.lock").touch()
    _write(place, decision(8), decision(9))
    (place / ".git/index.lock").unlink()


@contextlib.contextmanager
def _elsewhere(place: Path) -> Iterator[Path]:
    """Lend a clone of somebody else's."""
    other = place.parent / "other"
    git(place, "clone", "-q", str(place), str(other))
    yield other
    shutil.rmtree(other)


def _merged_by_lines(place: Path, other: Path) -> None:
    """Merge two lines as the button of a code host does, without kb's driver, and take the merge over."""
    git(other, "fetch", "-q", str(place), "main")
    driver = "merge.kb.driver=git merge-file -q --marker-size=%L %A %O %B"
    git(other, "-c", driver, "merge", "-q", "--no-edit", "FETCH_HEAD")
    git(place, "pull", "-q", "--ff-only", str(other), "main")


def _numbered_twice(place: Path) -> None:
    """Let a merge bring records whose numbers are taken, and which are cited."""
    with _elsewhere(place) as other:
        _write(other, decision(2), decision(3, why="It follows from [D001]."))
        _write(place, decision(0), decision(1, why="As [D001] says, one owner is enough."))
        _merged_by_lines(place, other)


def _counted_apart(place: Path) -> None:
    """Let a merge by lines count two sightings as one, and one section twice."""
    _write(place, decision(0), decision(1))
    with _elsewhere(place) as other:
        for side, above in ((place, "<!-- USER_BLOCK_START -->\n"), (other, "## Rollback\n")):
            (path,) = (side / "content/anchors/global").glob("D001-*.md")
            text = re.sub(r"(?m)^(date: .*\n)", r"\1occurrences: 2\n", path.read_text())
            path.write_text(text.replace(above, f"{above}\nSaid by {side.name}.\n"))
            git(side, "commit", "-qm", "Heard again", "--", str(path))
        _merged_by_lines(place, other)


def _apart(place: Path) -> None:
    """Let a remote and this clone have what the other has not: a number taken twice, a review, the inbox."""
    remote = place.parent / "remote.git"
    git(place.parent, "init", "-q", "--bare", "-b", "main", str(remote))
    git(place, "remote", "add", "origin", f"file://{remote}")
    _write(place, decision(0))
    git(place, "push", "-q", "-u", "origin", "main")
    with _elsewhere(place) as other:
        _write(other, decision(1), decision(0, why=_FACT, session="s9"))
        git(other, "push", "-q", str(remote), "main")
    _write(place, _FASTAPI, decision(2, why="It follows from [D002]."), _FLASK, _SMALL._replace(session="s1"))
    git(place, "remote", "set-url", "origin", f"file://{place.parent.parent / RUN / remote.name}")


def _talked(place: Path) -> None:
    """Lay out a transcript."""

    def said(role: str, text: str) -> str:
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        return json.dumps({"type": role, "timestamp": "2026-11-20T10:00:00Z", "message": message}) + "\n"

    english = "Decision: All API responses go through the Sanitizer module because compliance audits require it."
    chinese = "决定：后端统一使用 FastAPI 框架，因为类型提示和异步支持好，影响整体架构。"
    lines = [said("user", "implement the order service"), said("assistant", english), said("assistant", chinese)]
    (place.parent / "talk.jsonl").write_text("".join(lines))


_HOOK = ("kb-hook", "write")
_EDITOR = "sed -i s/half/a.third.of/"

OPERATIONS: tuple[Operation, ...] = (
    Operation("write: created", _records(decision(0)), _HOOK, as_stdin(decision(1)), short=True),
    Operation(
        "write: appended, file edited by a person", _one_edited, _HOOK, as_stdin(decision(0, why=_FACT, session="s9")),
        short=True,
    ),
    Operation("write: conflict, review opened", _records(_FASTAPI), _HOOK, as_stdin(_FLASK), short=True),
    Operation("write: held in the inbox", _records(decision(0)), _HOOK, as_stdin(_SMALL._replace(session="s1"))),
    Operation(
        "write: promoted by a second sighting", _records(_SMALL._replace(session="s1")), _HOOK,
        as_stdin(_SMALL._replace(session="s2")),
    ),
    Operation("write: batch of 20", _records(), _HOOK, as_stdin(*map(decision, range(20)))),
    Operation("write: for two who wait", _waited_for, _HOOK, as_stdin(decision(1)), short=True, loose=ASKED),
    Operation("kb import adr, 5 files", _adrs, ("kb", "import", "adr", "../adr", "--scope", "global"), short=True),
    Operation("kb review accept", _records(_FASTAPI, _FLASK), ("kb", "review", "accept", "D002", "--yes"), short=True),
    Operation("kb review reject", _records(_FASTAPI, _FLASK), ("kb", "review", "reject", "D002", "--yes")),
    Operation("kb supersede", _records(decision(0), decision(1)), ("kb", "supersede", "D001", "--by", "D002", "--yes")),
    Operation(
        "kb status",
        _records(decision(0)),
        ("kb", "status", "D001", "deprecated", "--why", "It was never used.", "--yes"),
    ),
    Operation("kb edit", _records(decision(0)), ("kb", "edit", "D001"), environment={"EDITOR": _EDITOR}),
    Operation("index: rebuilt", _no_index, ("kb", "search", "gateway"), short=True),
    Operation("index: refreshed after edits by hand", _hand_edited, ("kb", "search", "gateway")),
    Operation("index: updated after a pull", _pulled, ("kb", "search", "gateway"), short=True),
    Operation("kb renumber", _numbered_twice, ("kb", "renumber"), short=True),
    Operation("kb repair", _counted_apart, ("kb", "repair"), short=True),
    Operation("kb sync: fetch, replay, push", _apart, ("kb", "sync"), short=True),
    Operation("spool replayed", _spooled, _HOOK, as_stdin(decision(1)), short=True, loose=SPOOLED),
    Operation(
        "pre-compact: session archived", _talked, ("kb-hook", "pre-compact"),
        json.dumps({"session_id": "sess1", "transcript_path": "../talk.jsonl", "cwd": "."}).encode(),
        loose=REPORTED,
    ),
)  # fmt: skip
"""What is interrupted."""

assert all(candidates_of(json.loads(o.stdin)) for o in OPERATIONS if o.words == _HOOK)
