"""Show an agent the known cure of a failure at the moment its command fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice

from kb.i18n import msg
from kb.index.record_ids import find_by_signature, qualify_record_ids
from kb.index.schema import Filter
from kb.records.kinds import FIXED_BY, SIGNATURE
from kb.records.model import LIVE, Record, list_field
from kb.safety.quoting import TITLE_LIMIT, has_conclusion, quote_record, quote_text
from kb.similarity.failure_signatures import (
    GENERIC_FROM,
    compute_signature,
    identify_command,
    is_same_failure,
    iter_error_lines,
    list_shared_lines,
    read_signature,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state import failed_calls
from kb.text.segment import estimate_tokens, first_sentence

if TYPE_CHECKING:
    from kb.state.session_log import SessionLog
    from kb.workspace import Workspace

MAX_TOKENS = 60
"""Estimated tokens of the line shown at a failure."""
_MAX_ERROR_LINES = 20
"""Error lines of one output that are looked up, at most."""
_MIN_QUOTE = 12
"""Characters below which a quote is not cut further."""
_COMMAND = regex(r"`([^`\n]+)`")


class Cure(NamedTuple):
    """What helped against a failure before."""

    record: Record
    text: str


def find_cure(
    kb: Workspace, command: str, output: str, *, project: str, session_log: SessionLog, tool: str = ""
) -> Cure | None:
    """Return a one-line cure (at most MAX_TOKENS tokens) for this failure of *command*, or None.

    Only a live, unfixed pitfall of *project* or the global scope that has a solution is shown. It is shown at most
    once per session, and never after its cure failed in that session. *tool* names the failed tool if it is no shell.
    """
    family = identify_command(command) or (tool if tool.startswith("mcp__") else "")
    signature = compute_signature(family, output) if family else ()
    if not signature:
        return None
    kb.sync_index(thorough=False)
    error_lines = tuple(dict.fromkeys(line for line, _ in islice(iter_error_lines(output), _MAX_ERROR_LINES)))
    record = _choose_record(kb, signature, error_lines, project, session_log)
    # Check only the record about to be shown: its file may have changed since it was indexed
    if record and not kb.index.is_current(record.path):
        kb.sync_index()
        record = _choose_record(kb, signature, error_lines, project, session_log)
    return Cure(record, _render_cure(kb, record, project)) if record else None


def _choose_record(
    kb: Workspace, signature: tuple[str, ...], error_lines: tuple[str, ...], project: str, session_log: SessionLog
) -> Record | None:
    """Return the best-matching pitfall for *signature* that may be shown, or None.

    A pitfall without a command is compared with *error_lines*, all those of the output.
    """
    known = [
        (record, read_signature(list_field(record, SIGNATURE))) for record, _ in find_by_signature(kb, error_lines)
    ]
    generic = _find_generic_lines(kb, error_lines, [lines for _, lines in known])
    shown_keys = session_log.list_told()
    matches = []
    for record, lines in known:
        is_shown = build_told_key(record) in shown_keys
        seen = signature if lines[0] else ("", *error_lines)
        if not is_shown and _may_be_shown(record, kb.own_scopes(project)) and is_same_failure(lines, seen, generic):
            matches.append((len(list_shared_lines(lines, seen, generic)), record.occurrences, record))
    ranked = [record for *_, record in sorted(matches, key=lambda match: match[:2], reverse=True)]
    return next((record for record in ranked if not _has_cure_failed(kb, record, session_log.session)), None)


def build_told_key(record: Record) -> str:
    """Return the session-log key that marks the cure in *record* as shown."""
    return f"cure:{record.identity}"


class KnownFailure(NamedTuple):
    """A failure of a command that sessions have seen before."""

    signature: tuple[str, ...]
    """The family of the command and its error lines; empty where a person wrote a pitfall without them."""
    record: Record | None = None
    """The pitfall that describes it, or None."""
    inbox_name: str = ""
    """The name of the inbox entry that describes it, or ""."""
    sessions: int = 1
    """The number of sessions in which it was seen."""


def list_known_failures(kb: Workspace, command: str, output: str = "") -> list[KnownFailure]:
    """Return the known failures of *command*, ignoring quoting and flags; given *output*, only those that match it.

    Live pitfalls come first, then inbox entries, then failures that no session has overcome.
    """
    from kb.writing.inbox import list_held

    family = identify_command(command)
    wanted = compute_signature(family, output) if output else ()
    if not family or (output and not wanted):
        return []

    def is_meant(signature: Sequence[str]) -> bool:
        return signature[:1] == (family,) and (not wanted or is_same_failure(tuple(signature), wanted))

    kb.sync_index()
    scopes = kb.own_scopes(kb.caller_scope)
    records = kb.records(Filter(kinds=("pitfall",), scopes=scopes, statuses=tuple(LIVE)))
    known = [(read_signature(list_field(record, SIGNATURE)), record) for record in records]
    failures = [KnownFailure(lines, record, sessions=max(record.occurrences, 1)) for lines, record in known]
    for entry in list_held(kb):
        if entry.candidate.scope in scopes:
            value = entry.candidate.fields.get(SIGNATURE)
            lines = read_signature(_list_texts(list(value) if isinstance(value, tuple) else value))
            failures.append(KnownFailure(lines, inbox_name=entry.name, sessions=max(len(entry.sightings), 1)))
    rows = [row for row in failed_calls.load_unsolved(kb.state) if row.get("project") in ("", kb.caller_scope)]
    counts = Counter(tuple(_list_texts(row.get("signature"))) for row in rows)
    failures += [KnownFailure(lines, sessions=count) for lines, count in counts.items()]
    return [failure for failure in failures if is_meant(failure.signature)]


def save_known_errors(kb: Workspace) -> None:
    """Save the error lines that have a known cure, so that the failed-command hook need not open the index."""
    failed_calls.save_known_errors(kb.state, kb.sync_index(thorough=False).list_error_lines())


def _find_generic_lines(kb: Workspace, lines: Collection[str], known: list[tuple[str, ...]]) -> set[str]:
    """Return those of *lines* that identify no failure here, because several different failures share them."""
    unsolved = [_list_texts(row.get("signature")) for row in failed_calls.load_unsolved(kb.state)]
    counts = failed_calls.count_signatures(lines, [*known, *unsolved])
    return {line for line, count in counts.items() if count >= GENERIC_FROM}


def _list_texts(value: object) -> list[str]:
    """Return the strings in *value*, a list read from a file."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _has_cure(record: Record) -> bool:
    return bool(record.section("solution").strip()) and not record.extra.get(FIXED_BY)


def _may_be_shown(record: Record, scopes: Sequence[str]) -> bool:
    """Return whether *record* is a pitfall in *scopes* with a cure and without an injection warning."""
    if record.kind != "pitfall" or record.scope not in scopes or not _has_cure(record):
        return False
    return not has_conclusion(f"{record.title}\n{record.section('solution')}") and not quote_record(record, "").warning


def _has_cure_failed(kb: Workspace, record: Record, session: str) -> bool:
    commands = _COMMAND.findall(record.section("solution"))
    return any(failed_calls.has_failed(kb.root, session, command) for command in commands)


def _render_cure(kb: Workspace, record: Record, project: str) -> str:
    """Return id, symptom, cure and the number of sessions that proved it, quoted; the title is cut before the cure.

    A pitfall that a person wrote names no session, so the line leaves out the proof.
    """
    [shown] = qualify_record_ids(kb.index, [record], project)
    cure = first_sentence(record.section("solution").strip().split("\n", 1)[0], TITLE_LIMIT)
    count = len(record.sources)
    title_limit = cure_limit = TITLE_LIMIT
    while True:
        values = {"id": shown.id, "title": quote_text(record.title, title_limit), "cure": quote_text(cure, cure_limit)}
        message = msg("kb, quoted as data: [{id}] {title} → {cure}", **values)
        if count:
            message = msg(
                "kb, quoted as data: [{id}] {title} → {cure} (proved in {count} session)",
                "kb, quoted as data: [{id}] {title} → {cure} (proved in {count} sessions)",
                count=count,
                **values,
            )
        text = kb.localise(message)
        if estimate_tokens(text) <= MAX_TOKENS or cure_limit <= _MIN_QUOTE:
            return text
        if title_limit > _MIN_QUOTE:
            title_limit = max(_MIN_QUOTE, title_limit * 3 // 4)
        else:
            cure_limit = max(_MIN_QUOTE, cure_limit * 9 // 10)
