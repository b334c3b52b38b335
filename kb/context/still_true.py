"""Compare a record that is about to be told with the files it is about: are they as when it was last confirmed?

Of a few paths git is asked in one call for what they were on that day and what they are now. A record whose files are
gone is not told; one whose files changed is told with the day and the path. Nor is a record told that names a version,
a number or a name which its files held on that day and no longer hold, a pitfall that a commit has fixed,
or an answer of whose sources one is gone or for the most part another: until somebody confirms it, or answers the
question again, it is silent.

Of a decision the day counts, to its end: the commit that carries it out comes after it. An answer was read from its
sources in one moment, and what changes them an hour later makes it old.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kb.errors import Busy, GitFailed
from kb.git.git_process import find_git_dir
from kb.records.kinds import BY_NAME, FIXED_BY, parse_uid_day, parse_uid_second
from kb.records.model import GLOBAL, READ_AT, READ_AT_FORM, VALID_UNTIL, Record, find_due_day, is_imported
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.git.repository import Repository
    from kb.workspace import Workspace

CHANGED = "\0changed"
"""The key under which a record carries, for the text of its hint, when it was confirmed and which path changed since.

No front matter can have it."""
DUE = "\0due"
"""The key under which it carries the day until which it was to hold, where that is over."""
STALE_SHARE = 0.5
"""Share of a file's lines changed since a record was confirmed, from which the record is doubted. Our judgement."""
MAX_PATHS = 5
"""Paths of one record that are compared."""
_BATCH = 16
"""Records that git is asked about in one call."""
_DAYS = "confirmed.json"
"""Top folder and moment → the commit that was checked out then, or `_NONE`."""
_NONE = "-"
"""The repository is younger than that moment."""
_MAX_DAYS = 500
_DAY = regex(r"\d{4}-\d\d-\d\d")
_MOMENT, _END = "%Y-%m-%dT%H:%M:%S", "T23:59:59"
# `hash_password()`, MAX_AGE, maxAge, 3.11, 30 in "30 minutes" and 30分钟: what a file can be asked for. A lone digit
# stands everywhere, and so does a plain word.
_LITERAL = regex(
    r"(?<![A-Za-z0-9_.])(?:v?[0-9]+(?:\.[0-9]+)+(?![A-Za-z0-9_])|[0-9]{2,}(?![A-Za-z0-9_])|"
    r"[A-Za-z]+(?:_[A-Za-z0-9]+)+|[A-Za-z][a-z]+[A-Z][A-Za-z0-9]*|[A-Za-z_][A-Za-z0-9_]{2,}(?=\(\)))"
)
_WORD = regex(r"v?[0-9]+(?:\.[0-9]+)*|[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_PATH = regex(r"(?!/|~|.*(?:^|/)\.\.(?:/|$))[^*?\[\]\\:\n]{1,500}")


class _Question(NamedTuple):
    """What git is asked about one record."""

    day: str
    paths: tuple[str, ...] = ()
    moment: str = ""
    """What stood in the files then is what the record was made of: local time, as git reads it."""


class _Comparison(NamedTuple):
    """One record, and how its files are now beside how they were on its day."""

    record: Record
    asked: _Question
    commit: str
    """The commit that was checked out in that moment; "" for none."""
    known: list[str]
    """The paths that were there then."""
    gone: list[str]
    changed: list[str]


def iter_still_true(kb: Workspace, records: Iterable[Record], project: str, folder: str) -> Iterator[Record]:
    """Yield those of *records* that still hold for the project of *folder*, with what `CHANGED` and `DUE` say."""
    waiting = (record for record in records if not is_fixed(record))
    found = find_git_dir(os.path.realpath(folder)) if folder else None
    while batch := list(islice(waiting, _BATCH)):
        for record in compare_records(kb, batch, project, found[0]) if found else batch:
            day = find_due_day(record, kb.today()) if VALID_UNTIL in record.extra else ""
            yield record._replace(extra={**record.extra, DUE: day}) if day else record


def is_fixed(record: Record) -> bool:
    """Return whether *record* is a pitfall that a commit has done away with: it warns of nothing."""
    return bool(record.extra.get(FIXED_BY)) and _get_fading(record) == "fix"


def is_silenced_by_sources(record: Record) -> bool:
    """Return whether *record* falls silent where what it was read from has changed."""
    return _get_fading(record) == "sources"


def _get_fading(record: Record) -> str:
    return BY_NAME[record.kind].silenced_by if record.kind in BY_NAME else ""


def compare_records(kb: Workspace, records: Sequence[Record], project: str, top: str) -> list[Record]:
    """Return those of *records* whose files in the repository *top* are not gone; see `iter_still_true`."""
    seconds = find_reading_seconds(records)
    asked = [_build_question(record, project, kb.today(), seconds.get(record.path)) for record in records]
    if not any(one.paths for one in asked):
        return list(records)
    from kb.git.repository import Repository

    try:
        repository = Repository(top, kb.environment)
        commits = _find_commits(kb, repository, {one.moment for one in asked if one.paths})
        names = [
            f"{commit}:{path}"
            for one in asked
            for path in one.paths
            for commit in (commits.get(one.moment, ""), "HEAD")
            if commits.get(one.moment)
        ]
        if not names:
            return list(records)
        output = repository.run_git(("cat-file", "--batch-check"), "".join(f"{name}\n" for name in names).encode())
        answers = dict(zip(names, output.out.decode("utf-8", "replace").splitlines(), strict=False))
        compared = [
            _Comparison(record, one, then, *_list_changes(one, then, answers))
            for record, one in zip(records, asked, strict=True)
            for then in (commits.get(one.moment, ""),)
        ]
        doubted = _find_rewritten(repository, compared) | _find_refuted(repository, compared)
    except (GitFailed, Busy, OSError):
        return list(records)
    made = [_judge_record(one) for one in compared if one.record.path not in doubted]
    return [record for record in made if record is not None]


def _find_rewritten(repository: Repository, compared: Iterable[_Comparison]) -> set[str]:
    """Return the paths of the answers of whose sources one is for the most part another than on their day."""
    wanted = [(one, path) for one in compared if is_silenced_by_sources(one.record) for path in one.changed]
    revisions = [(revision, path) for one, path in wanted for revision in (one.commit, "HEAD")]
    files = repository.read_blobs(revisions) if wanted else []
    shares = map(compute_changed_share, files[::2], files[1::2])
    return {one.record.path for (one, _), share in zip(wanted, shares, strict=True) if share >= STALE_SHARE}


def _find_refuted(repository: Repository, compared: Iterable[_Comparison]) -> set[str]:
    """Return the paths of the records that name what stood in their files on their day and is there no more."""
    asked = []
    for one in compared:
        is_doubted = one.changed and one.record.scope != GLOBAL
        literals = list_literals(f"{one.record.title}\n{one.record.section('decision')}") if is_doubted else set()
        if literals:
            before = [(one.commit, path) for path in one.changed]
            asked.append((one.record.path, literals, before, [("HEAD", path) for path in one.asked.paths]))
    files = iter(repository.read_blobs([each for *_, old, new in asked for each in (*old, *new)]) if asked else ())
    refuted = set()
    for path, literals, *versions in asked:
        then, now = (_list_words(next(files) or b"" for _ in version) for version in versions)
        if literals & then - now:
            refuted.add(path)
    return refuted


def _list_words(files: Iterable[bytes]) -> set[str]:
    return {
        word.lstrip("v") if word[-1].isdigit() else word
        for data in files
        for word in _WORD.findall(data.decode("utf-8", "replace"))
    }


def list_literals(text: str) -> set[str]:
    """Return the versions, the numbers of two digits and more, and the names as code has them that *text* speaks of."""
    return {literal.lstrip("v") if literal[-1].isdigit() else literal for literal in _LITERAL.findall(text)}


def compute_changed_share(before: bytes | None, after: bytes | None) -> float:
    """Return the share of lines, of the longer of two versions of a file, that the other has not; 0.0–1.0.

    A line that has only moved is no change.
    """
    old, new = (Counter((data or b"").splitlines()) for data in (before, after))
    most = max(old.total(), new.total())
    return 1 - (old & new).total() / most if most else 0.0


def _list_changes(asked: _Question, commit: str, answers: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Return the paths among what is *asked* that were there at *commit*, those that are gone, and the files changed.

    Of a folder something has always changed.
    """
    before = {path: answers.get(f"{commit}:{path}", "").split(" ") for path in asked.paths}
    now = {path: answers.get(f"HEAD:{path}", "").split(" ") for path in asked.paths}
    known = [path for path in asked.paths if before[path][-1].isdigit()]
    gone = [path for path in known if not now[path][-1].isdigit()]
    left = [path for path in known if path not in gone and before[path][1] == "blob"]
    return known, gone, [path for path in left if before[path][0] != now[path][0]]


def find_reading_seconds(records: Iterable[Record]) -> dict[str, int]:
    """Return, by path, the second in which an answer was last read from its sources: it was written, or confirmed.

    One that says less than its day (it was dated or confirmed by hand) is left out.
    """
    found: dict[str, int] = {}
    for record in filter(is_silenced_by_sources, records):
        day, written = record.confirmed or record.date, parse_uid_second(record.uid)
        second = _parse_read_at(record)
        if second >= 0 and _format_second(second).startswith(day):
            found[record.path] = second
        elif written >= 0 and (_format_second(written).startswith(day) or is_imported(record.extra)):
            found[record.path] = written
    return found


def _parse_read_at(record: Record) -> int:
    """Return the second since 1970 that *record* has under `READ_AT`; -1 where it has none."""
    if READ_AT not in record.extra:
        return -1
    import calendar  # and strptime: costs a hook that meets no confirmed answer nothing

    try:
        return calendar.timegm(time.strptime(str(record.extra[READ_AT]), READ_AT_FORM))
    except (ValueError, OverflowError):
        return -1


def _format_second(second: int) -> str:
    return time.strftime(_MOMENT, time.localtime(second))


def _build_question(record: Record, project: str, today: str, second: int | None) -> _Question:
    day = record.confirmed or record.date
    if is_imported(record.extra) and not record.confirmed:
        day = max(day, parse_uid_day(record.uid))  # what another tool dated was long before it came here
    if record.scope not in (project, GLOBAL) or not _DAY.fullmatch(day) or (second is None and day >= today):
        return _Question(day)
    plain = (path.strip().removeprefix("./").rstrip("/") for path in record.impact)
    paths = tuple(path for path in plain if _PLAIN_PATH.fullmatch(path))[:MAX_PATHS]
    return _Question(day, paths, day + _END if second is None else _format_second(second))


def _find_commits(kb: Workspace, repository: Repository, moments: Iterable[str]) -> dict[str, str]:
    """Return for each of *moments* the commit that was checked out then, as far as there is one."""
    known = {str(key): str(oid) for key, oid in (kb.state.load(_DAYS) or {}).items()}
    found = {moment: known.get(f"{repository.top}@{moment}", "") for moment in moments}
    if missing := [moment for moment, oid in found.items() if not oid]:
        is_younger = False
        for moment in sorted(missing, reverse=True):
            if not is_younger:
                output = repository.run_git(("log", "-1", "--format=%H", f"--before={moment}"))
                found[moment] = (output.out.decode().strip() or _NONE) if not output.code else ""
            is_younger = is_younger or found[moment] == _NONE  # then no earlier moment has a commit either
            found[moment] = found[moment] or (_NONE if is_younger else "")
        new = {f"{repository.top}@{moment}": found[moment] for moment in missing if found[moment]}
        kb.state.save(dict([*known.items(), *new.items()][-_MAX_DAYS:]), _DAYS)
    return {moment: oid for moment, oid in found.items() if oid not in ("", _NONE)}


def _judge_record(one: _Comparison) -> Record | None:
    """Return the record, with what changed since it was confirmed; None where all its files are gone."""
    record, paths = one.record, one.asked.paths
    if one.known and one.gone == one.known and len(one.known) == len(paths) and record.scope != GLOBAL:
        return None
    if one.gone and is_silenced_by_sources(record):
        return None  # an answer is no better than what it was read from
    if not one.gone and not one.changed:
        return record
    return record._replace(extra={**record.extra, CHANGED: (one.asked.day, (one.gone or one.changed)[0])})
