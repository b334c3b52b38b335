"""Tell an agent the cure of a failure that was overcome before, at the moment the command fails."""

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
"""Estimated tokens of what is told at a failure."""
_MAX_ERROR_LINES = 20
"""Error lines of an output that are looked up."""
_SHORTEST = 12
"""Characters below which a quote is not cut further."""
_COMMAND = regex(r"`([^`\n]+)`")


class Cure(NamedTuple):
    """What helped against a failure before."""

    record: Record
    text: str


def find_cure(
    kb: Workspace, command: str, output: str, *, project: str, told: SessionLog, tool: str = ""
) -> Cure | None:
    """Return the cure of the failure of *command* with *output*, in one line of MAX_TOKENS at most; None for none.

    Only a pitfall of *project* or the global scope that has a solution, is in force and not fixed is told, once in a
    session; not one whose cure has failed in it. *tool*: the name of what failed, where it is no shell.
    """
    family = identify_command(command) or (tool if tool.startswith("mcp__") else "")
    signature = compute_signature(family, output) if family else ()
    if not signature:
        return None
    kb.sync_index(thorough=False)
    every = tuple(dict.fromkeys(line for line, _ in islice(iter_error_lines(output), _MAX_ERROR_LINES)))
    found = _choose_record(kb, signature, every, project, told)
    # Of the one record that is about to be told it is asked whether it still stands so.
    if found and not kb.index.is_current(found.path):
        kb.sync_index()
        found = _choose_record(kb, signature, every, project, told)
    return Cure(found, _render_cure(kb, found, project)) if found else None


def _choose_record(
    kb: Workspace, signature: tuple[str, ...], every: tuple[str, ...], project: str, told: SessionLog
) -> Record | None:
    """Return the pitfall whose failure *signature* is most likely the one of, and that may be told; None for none.

    *every*: all error lines of the output, among which those of a pitfall without a command are looked for.
    """
    known = [(record, read_signature(list_field(record, SIGNATURE))) for record, _ in find_by_signature(kb, every)]
    generic = _find_generic_lines(kb, every, [lines for _, lines in known])
    heard = told.list_told()
    found = []
    for record, lines in known:
        is_told = build_told_key(record) in heard
        seen = signature if lines[0] else ("", *every)
        if not is_told and _is_telling(record, kb.own_scopes(project)) and is_same_failure(lines, seen, generic):
            found.append((len(list_shared_lines(lines, seen, generic)), record.occurrences, record))
    ranked = [record for *_, record in sorted(found, key=lambda one: one[:2], reverse=True)]
    return next((record for record in ranked if not _has_cure_failed(kb, record, told.session)), None)


def build_told_key(record: Record) -> str:
    """Return under which name a session remembers that it was told the cure in *record*."""
    return f"cure:{record.identity}"


class KnownFailure(NamedTuple):
    """A failure of a command that sessions have seen before."""

    signature: tuple[str, ...]
    """The family of the command and its error lines; a pitfall that a person wrote may have none."""
    record: Record | None = None
    """The pitfall that holds what is known of it; None where none does."""
    held: str = ""
    """The name under which it waits in the inbox."""
    sessions: int = 1
    """In how many sessions it was seen."""


def list_known_failures(kb: Workspace, command: str, output: str = "") -> list[KnownFailure]:
    """Return how *command*, however it is quoted and whatever its flags, has failed before: with that *output*, or any.

    First the pitfalls in force, then what waits in the inbox, then what no session has overcome.
    """
    from kb.writing.inbox import list_held

    family = identify_command(command)
    failure = compute_signature(family, output) if output else ()
    if not family or (output and not failure):
        return []

    def is_meant(signature: Sequence[str]) -> bool:
        return signature[:1] == (family,) and (not failure or is_same_failure(tuple(signature), failure))

    kb.sync_index()
    scopes = kb.own_scopes(kb.caller_scope)
    records = kb.records(Filter(kinds=("pitfall",), scopes=scopes, statuses=tuple(LIVE)))
    known = [(read_signature(list_field(record, SIGNATURE)), record) for record in records]
    found = [KnownFailure(lines, record, sessions=max(record.occurrences, 1)) for lines, record in known]
    for one in list_held(kb):
        if one.candidate.scope in scopes:
            value = one.candidate.fields.get(SIGNATURE)
            lines = read_signature(_list_texts(list(value) if isinstance(value, tuple) else value))
            found.append(KnownFailure(lines, held=one.name, sessions=max(len(one.sightings), 1)))
    rows = [row for row in failed_calls.load_unsolved(kb.state) if row.get("project") in ("", kb.caller_scope)]
    counts = Counter(tuple(_list_texts(row.get("signature"))) for row in rows)
    found += [KnownFailure(lines, sessions=count) for lines, count in counts.items()]
    return [one for one in found if is_meant(one.signature)]


def save_known_errors(kb: Workspace) -> None:
    """Keep for the hooks of failed commands by which words the errors are recognised that may have a cure."""
    failed_calls.save_known_errors(kb.state, kb.sync_index(thorough=False).list_error_lines())


def _find_generic_lines(kb: Workspace, lines: Collection[str], known: list[tuple[str, ...]]) -> set[str]:
    """Return those of *lines* that tell nothing here: they are under several different failures."""
    unsolved = [_list_texts(row.get("signature")) for row in failed_calls.load_unsolved(kb.state)]
    counts = failed_calls.count_signatures(lines, [*known, *unsolved])
    return {line for line, count in counts.items() if count >= GENERIC_FROM}


def _list_texts(value: object) -> list[str]:
    """Return the texts in a list that was read from a file."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _has_cure(record: Record) -> bool:
    return bool(record.section("solution").strip()) and not record.extra.get(FIXED_BY)


def _is_telling(record: Record, scopes: Sequence[str]) -> bool:
    if record.kind != "pitfall" or record.scope not in scopes or not _has_cure(record):
        return False
    return not has_conclusion(f"{record.title}\n{record.section('solution')}") and not quote_record(record, "").warning


def _has_cure_failed(kb: Workspace, record: Record, session: str) -> bool:
    commands = _COMMAND.findall(record.section("solution"))
    return any(failed_calls.has_failed(kb.root, session, command) for command in commands)


def _render_cure(kb: Workspace, record: Record, project: str) -> str:
    """Return id, symptom, cure and how many sessions proved it, quoted; what is too long is cut, the cure last.

    A pitfall that a person has written names no session: then nothing is said of proof.
    """
    [shown] = qualify_record_ids(kb.index, [record], project)
    cure = first_sentence(record.section("solution").strip().split("\n", 1)[0], TITLE_LIMIT)
    count = len(record.sources)
    title_limit = cure_limit = TITLE_LIMIT
    while True:
        values = {"id": shown.id, "title": quote_text(record.title, title_limit), "cure": quote_text(cure, cure_limit)}
        said = msg("kb, quoted as data: [{id}] {title} → {cure}", **values)
        if count:
            said = msg(
                "kb, quoted as data: [{id}] {title} → {cure} (proved in {count} session)",
                "kb, quoted as data: [{id}] {title} → {cure} (proved in {count} sessions)",
                count=count,
                **values,
            )
        text = kb.localise(said)
        if estimate_tokens(text) <= MAX_TOKENS or cure_limit <= _SHORTEST:
            return text
        if title_limit > _SHORTEST:
            title_limit = max(_SHORTEST, title_limit * 3 // 4)
        else:
            cure_limit = max(_SHORTEST, cure_limit * 9 // 10)
