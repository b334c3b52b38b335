"""Show an agent, before it writes a file, the records that govern it and the rejected options that the text uses."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kb.errors import Busy, GitFailed
from kb.files import open_nonblocking
from kb.git.git_process import find_git_dir
from kb.hosts import HookResponse
from kb.i18n import msg
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import Filter, list_governing, normalise_path
from kb.paths import PROSE_SUFFIXES
from kb.records.model import GLOBAL, LIVE, Record, Status, is_imported, recency_key
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.session_log import EDIT, RANKED, USED, SessionLog

if TYPE_CHECKING:
    from typing import Any

    from kb.guard.call_paths import TextEdit
    from kb.workspace import Workspace

GOVERNING_KINDS = ("constraint", "decision", "interface", "pitfall")
MAX_RECORDS = 2
"""Maximum number of records to show for one call."""
MAX_IMPACT = 12
"""A record with more impact paths than this governs none of the files in particular."""
EXACT = 3
"""The rank of an impact path that is the file itself."""
MAX_OPTIONS = 3000
"""Maximum number of rejected options that the fast path searches for."""
_MAX_PATHS = 20
"""Maximum number of paths of one call to look up records for."""
_MAX_OPTIONS_OF_EDIT = 5
"""Rejected options of one edit for which to check whether the project uses them already."""
_MAX_FILE_BYTES = 200_000
_WILDCARD = regex(r"[*?\[]")
CITATION = regex(
    r"\[(?:(?P<project>[\w.-]{1,64}):)?(?P<id>[A-Z]{1,2}\d{3,9})\]|"
    r"(?<![\w/])(?:ADR|架构决策|决策记录)s?[-_ #]{0,2}0{0,6}(?P<number>[1-9]\d{0,6})(?!\w)"
)


class PendingEdit(NamedTuple):
    """The edits of one file by a call that has not run yet."""

    path: str
    """Relative to the project; a folder ends with a slash."""
    full_path: str
    edits: tuple[TextEdit, ...] = ()


class ActionHints:
    """The hints for one call, and the data with which the fast path lets later calls pass."""

    def __init__(self, kb: Workspace, project: str, log: SessionLog, folder: str = "") -> None:
        """Use the records of *project*, in *folder*, and global ones that *log* has not shown in its session."""
        self._kb, self._log, self._project, self._folder = kb, log, project, folder
        self._told = log.list_told()
        ranked = (each.rpartition("=") for row in log.list_turn_values(RANKED)[-1:] for each in row.split())
        self._ranked = {uid: float(score) for uid, _, score in ranked}
        self._used = set(log.list_session_values(USED))
        self._governing = Filter(GOVERNING_KINDS, (Status.ACCEPTED,), kb.own_scopes(project))

    def tell(self, edits: Sequence[PendingEdit]) -> HookResponse:
        """Return the hint before *edits*: governing records, then rejected options that they use."""
        found, taken = self._find_records(edits)
        # check the files of the quoted records: somebody may have committed by hand
        if any(not self._kb.index.is_current(record.path) for record, _, _ in (*found.values(), *taken)):
            self._kb.sync_index()
            found, taken = self._find_records(edits)
        if not found and not taken:
            return HookResponse()
        from kb.context.hint_text import render_action_hint
        from kb.context.still_true import iter_still_true

        rows = {record.uid: (option, path) for record, option, path in (*found.values(), *taken)}
        order = {record.uid: record for record, _, _ in (*taken, *found.values())}
        held = list(islice(iter_still_true(self._kb, order.values(), self._project, self._folder), MAX_RECORDS))
        first = [(record, *rows[record.uid]) for record in held]
        if not first:
            return HookResponse()
        records = qualify_record_ids(self._kb.index, held, self._project)
        hint = render_action_hint(list(zip(records, (option for _, option, _ in first), strict=True)), self._kb.config)
        shown = {record.uid for record in hint.shown}
        self._log.mark_told(
            *shown, *(EDIT + uid for uid in shown), *(f"option:{record.uid}" for record, option, _ in first if option)
        )
        self._told |= shown
        about = next((path for record, _, path in first if record.uid in shown), "")
        head = self._kb.localise(msg("kb: accepted for {path}:", path=about))
        return HookResponse(context=f"{head}\n{hint.text}") if hint.text else HookResponse()

    def _find_records(
        self, edits: Sequence[PendingEdit]
    ) -> tuple[dict[str, tuple[Record, str, str]], Sequence[tuple[Record, str, str]]]:
        """Return uid → governing record for *edits*, and the rejected options they use: record, option, path."""
        found: dict[str, tuple[Record, str, str]] = {}
        for edit in edits[:_MAX_PATHS]:
            for record in self._find_governing(edit):
                found.setdefault(record.uid, (record, "", edit.path))
        return found, self._find_taken(edits)

    def list_marks(self) -> dict[str, Any]:
        """Return the marks by which the fast path recognises a path or text that needs a hint."""
        index = self._kb.index
        impact = index.list_facet_values("impact", self._governing, without=self._told)
        # lower-case and cut before any wildcard: `src/**/*.py` is compared by "src"
        beginnings = {_WILDCARD.split(path, maxsplit=1)[0].rstrip("/").casefold() for path in impact}
        shown = [key.removeprefix("option:") for key in self._told if key.startswith("option:")]
        values = index.list_facet_values("option", self._governing, without=shown, limit=MAX_OPTIONS)
        options = [value for value in values if value not in self._used]
        if options:
            from kb.guard.taken_options import expand_option

            options = sorted({text for option in options for text in expand_option(option)})
        return {"patterns": sorted(beginnings - {"", "."}), "options": options, "citing": bool(self._ranked)}

    # -- what governs a file ------------------------------------------------------------------------

    def _find_governing(self, edit: PendingEdit) -> list[Record]:
        """Return the governing records not shown yet, the most specific first, equal ones by age, newest first.

        A record that the file cites is mostly about something else, and so is the impact of an imported record, which
        is extracted from its text. Show such records only if the prompt of the turn is about them too.
        """
        ranked = []
        if self._ranked:
            own = (text for one in edit.edits for text in (one.old, one.new))
            cited = self._find_cited("\n".join((*own, _read_text(edit.full_path))))
            ranked += [((EXACT + 1, 0), record) for record in cited if self._is_asked(record)]
        for record in self._kb.index.records(self._governing._replace(path=edit.path)):
            rank = rank_impact(record.impact, edit.path)
            is_sure = not is_imported(record.extra) or (rank[0] == EXACT and self._is_asked(record))
            if rank[0] and len(record.impact) <= MAX_IMPACT and is_sure:
                ranked.append((rank, record))
        ranked.sort(key=lambda pair: (pair[0], recency_key(pair[1])), reverse=True)
        new = {record.uid: record for _, record in ranked if record.uid not in self._told}
        if not new:
            return []
        from kb.search.rank import find_dormant

        dormant = find_dormant(self._kb.index, [*new.values()], self._kb.today)
        return [record for record in new.values() if record.path not in dormant]

    def _is_asked(self, record: Record) -> bool:
        """Return whether the prompt of this turn is about *record*; False if the prompt is unknown."""
        from kb.context.relevance import MIN_CITED_PROMPT_SCORE

        return self._ranked.get(record.uid, -math.inf) >= MIN_CITED_PROMPT_SCORE

    def _find_cited(self, text: str) -> list[Record]:
        """Return the live records that *text* cites."""
        citations = list(dict.fromkeys(match.group("project", "id", "number") for match in CITATION.finditer(text)))
        found: list[Record] = []
        for project, name, number in citations[:_MAX_PATHS]:
            wanted = Filter(statuses=tuple(LIVE), scopes=(f"project/{project}",) if project else self._governing.scopes)
            if number:
                found += [row[2] for row in self._kb.index.find_by_facet("number", [number], wanted)]
            else:
                own = [r for r in self._kb.index.find_by_id(name) if r.scope in wanted.scopes and r.status in LIVE]
                found += sorted(own, key=lambda record: record.scope == GLOBAL)[:1]
        return found

    # -- rejected options ---------------------------------------------------------------------------

    def _find_taken(self, edits: Sequence[PendingEdit]) -> list[tuple[Record, str, str]]:
        """Return record, option and path for each rejected option that *edits* use."""
        from kb.context.manifests import is_manifest
        from kb.guard.taken_options import expand_option, find_taken_options, may_take_up
        from kb.records.citations import find_option_row

        added = [edit for edit in edits if may_take_up(edit.path) and any(one.new for one in edit.edits)]
        values = self._kb.index.list_facet_values("option", self._governing, limit=MAX_OPTIONS) if added else []
        found: dict[str, tuple[Record, str, str]] = {}
        for edit in added:
            new = "\n".join(one.new for one in edit.edits)
            folded = new.casefold()
            squeezed = "".join(folded.split())
            named = [v for v in values if any(each in folded or each in squeezed for each in expand_option(v))]
            named = [value for value in named if value not in self._used]
            rows = self._kb.index.find_by_facet("option", named[:500], self._governing) if named else []
            rows = [row for row in rows if f"option:{row[2].uid}" not in self._told]
            if not rows:
                continue
            old = "\n".join((_read_text(edit.full_path), *(one.old for one in edit.edits)))
            manifests = [] if is_manifest(edit.path) else _read_manifests(edit)
            options = {(value, sort) for value, sort, _ in rows}
            taken = find_taken_options(edit.path, new, [(edit.path, old), *manifests], options)
            taken = [option for option in taken[:_MAX_OPTIONS_OF_EDIT] if not self._is_used(*option)]
            for value, sort, record in rows:
                if (value, sort) in taken:
                    found.setdefault(record.uid, (record, find_option_row(record, value), edit.path))
        return list(found.values())

    def _is_used(self, value: str, sort: str) -> bool:
        """Return whether code of the project uses the option *value* already, so that the edit does not introduce it.

        A record that rejected "a second registry in Brighter" is not about every file that mentions Brighter.
        """
        from kb.git.repository import Repository
        from kb.guard.taken_options import expand_option
        from kb.records.citations import CODE

        found = find_git_dir(os.path.realpath(self._folder)) if self._folder else None
        if not found:
            return False
        whole_word = () if sort == CODE else ("-w",)
        texts = [part for text in sorted(expand_option(value)) for part in ("-e", text)]
        but_prose = [f":(exclude)*{suffix}" for suffix in PROSE_SUFFIXES]
        call = ("grep", "-q", "-I", "-i", "-F", *whole_word, *texts, "--", ".", *but_prose)
        try:
            is_used = not Repository(found[0], self._kb.environment).run_git(call, GIT_LITERAL_PATHSPECS="0").code
        except (GitFailed, Busy, OSError):
            return False
        if is_used:
            self._used.add(value)
            self._log.add(USED, value)
        return is_used


def _read_manifests(edit: PendingEdit) -> Iterator[tuple[str, str]]:
    """Yield name and text of the manifests in the file's folder and above, up to the top of the project."""
    from kb.context.manifests import is_manifest

    folder = edit.full_path
    for _ in range(edit.path.count("/") + 1):
        folder = os.path.dirname(folder)
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(folder) if is_manifest(name)]
            yield from ((name, _read_text(os.path.join(folder, name))) for name in names)


def rank_impact(impact: Iterable[str], path: str) -> tuple[int, int]:
    """Return how closely *impact* names the file *path*: the file, a pattern, or a folder by depth; (0, 0) if not.

    A path that means the whole repository does not match.
    """
    return max((_rank_governing(one, normalise_path(path)) for one in list_governing(impact, path)), default=(0, 0))


def _rank_governing(named: str, path: str) -> tuple[int, int]:
    plain = named.rstrip("/")
    top = _WILDCARD.split(plain, maxsplit=1)[0].rstrip("/")
    if top in ("", "."):
        return 0, 0
    return EXACT if plain == path else 2 if top != plain else 1, top.count("/") + 1


def _read_text(path: str) -> str:
    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
