"""Run `kb show`, `kb search` and `kb write` without loading click: the fast path of the commonest commands.

Agents use these three most, and loading click takes half the start-up time. A plain command line has only known words
and options in their usual places. Any other (help, a filter, an abbreviation, a mistake) is left to click, so that only
one place explains and complains; a test checks that both give the same answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from kb.cli.prints import (
    PLACE_BUDGET,
    detect_language,
    format_final_status,
    paint,
    paint_matches,
    paint_record,
    print_json,
    print_levels,
    print_records,
    print_verdicts,
    render_level,
    report_error,
    suggest_search,
    warn,
    warn_empty_result,
    warn_if_superseded,
    warn_of_broken_files,
    warn_of_injection,
    warn_of_review,
)
from kb.config import NO_MODEL
from kb.errors import BadInput, KbError, NoKnowledgeBase, describe_os_error
from kb.i18n import msg
from kb.records.kinds import find_kind, karma_label
from kb.records.model import EXIT_REFUSED, SCOPE, find_due_day
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from re import Pattern
    from typing import Any

    from kb.knowledge_base import Filter, KnowledgeBase
    from kb.records.model import Candidate, Record
    from kb.search.addresses import Address
    from kb.search.answer import SearchAnswer, SearchResult

_SCOPE = regex(SCOPE)
_LIMIT = regex(r"[1-9][0-9]{0,8}")
_FLAGS = {
    "show": {"--json": "as_json", "--short": "short", "--strict": "strict"},
    "search": {"--json": "as_json"},
    "write": {"--json": "as_json", "--dry-run": "dry_run"},
}
"""Command → its plain options, each with the name of what it sets."""
_VALUES = {
    "show": {"--scope": "scope"},
    "search": {"--scope": "scope", "-n": "limit", "--limit": "limit"},
    "write": {},
}
"""The same for options with a value after them."""
_MAX_WORDS = {"show": 1, "search": 99, "write": 1}


# -- plain calls -------------------------------------------------------------------------------------


def run_without_click(line: Sequence[str]) -> int | None:
    """Answer a plain command *line* and return its exit code, or None if it is not plain."""
    name = line[0] if line else ""
    parsed = _parse_line(name, line[1:]) if name in _FLAGS else None
    if parsed is None:
        return None
    words, given = parsed
    from kb.knowledge_base import KnowledgeBase

    try:
        try:
            kb = KnowledgeBase.open()
        except NoKnowledgeBase:
            raise  # there is nowhere to keep what was handed in
        except KbError as error:
            if name != "write" or given.get("dry_run"):
                raise
            return spool_candidates("", lambda: read_candidates(words[0]), error)
        with kb:
            return _run_command(kb, name, words, given)
    except BrokenPipeError:
        return 1
    except (KbError, OSError) as error:
        return report_error(error)


def _parse_line(name: str, line: Sequence[str]) -> tuple[list[str], dict[str, Any]] | None:
    """Return the words and options of *line*, the arguments of command *name*, or None if it is not plain."""
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(line)
    for word in rest:
        if word in _FLAGS[name]:
            given[_FLAGS[name][word]] = True
        elif word in _VALUES[name]:
            given[_VALUES[name][word]] = next(rest, "")
        elif word == "-" or not word.startswith("-"):
            words.append(word)
        else:
            return None
    is_plain = 1 <= len(words) <= _MAX_WORDS[name] and _SCOPE.fullmatch(given.get("scope", "global"))
    # click explains what is wrong with a value: a limit that is not a number is its to read
    return (words, given) if is_plain and _LIMIT.fullmatch(given.get("limit", "1")) else None


def _run_command(kb: KnowledgeBase, name: str, words: list[str], given: dict[str, Any]) -> int:
    if name == "write":
        return write_candidates(kb, read_candidates(words[0]), **given)
    if name == "show":
        print_record(kb, words[0], **given)
    else:
        from kb.knowledge_base import Filter

        scope, limit = given.pop("scope", ""), int(given.pop("limit", 10))
        print_search_results(kb, words, wanted=Filter(scopes=(scope,) if scope else ()), limit=limit, **given)
    return 0


# -- show and search ---------------------------------------------------------------------------------


def print_record(
    kb: KnowledgeBase,
    name: str,
    *,
    short: bool = False,
    strict: bool = False,
    scope: str = "",
    as_json: bool = False,
    commit: str = "",
    level: int | None = None,
) -> None:
    """Print the file of a record, its short form, or what an address names; *commit*: as it stood there.

    *level*: 0, one line; 1, how each section begins; 2, the file. An address of
    several records, a scope and a kind list them.
    """
    if group := _parse_group(name):
        records = kb.records(group._replace(scopes=group.scopes or ((scope,) if scope else ())))
        print_records(kb, records, level=1 if level is None else level, as_json=as_json)
        return
    if name.startswith("agent://"):
        _print_addressed(kb, name, short=short, strict=strict, as_json=as_json, commit=commit, level=level)
        return
    text = ""
    if commit:
        from kb.history.snapshot import find_record_at

        record, text = find_record_at(kb, commit, name, scope=scope or kb.caller_scope)
    else:
        record = kb.record(name, scope=scope)
    warn_of_injection(kb, [record])
    if day := "" if commit else find_due_day(record, kb.today()):
        warn(kb, msg("due since {day}; if it still applies: kb confirm {id}", day=day, id=record.scoped_id))
    if not commit:
        warn_if_superseded(kb, record)
        warn_of_review(kb, record)
    if level is not None:
        text = text or kb.text(record) if level == 2 else ""
        print_levels(kb, [record], [text or render_level(record, level, kb.config.language)], level, as_json=as_json)
    elif as_json:
        print_json({**record._asdict(), "karma": karma_label(record.kind, kb.config.language)})
    elif short or strict:
        from kb.records.short_form import render_short_form

        print(render_short_form(record, kb.config.language, strict=strict))
    else:
        print(paint_record(text or kb.text(record)), end="")


def _print_addressed(kb: KnowledgeBase, name: str, *, as_json: bool, level: int | None, **how: Any) -> None:
    """Print what the address *name* stands for: a session, the records of a place, or one record, as `print_record`."""
    from kb.search.addresses import ME, find_addressed, parse_address

    address = parse_address(name)
    with kb.own() if address.who == ME else nullcontext(kb) as base:
        if address.type == "session" and address.id:
            print(base.session_file(address.id), end="")
        elif not address.id:
            print_place(base, address, level=1 if level is None else level, as_json=as_json)
        else:
            record, moved = find_addressed(base.sync_index(), address)
            if moved:
                warn(base, moved)
            print_record(base, record.uid or record.id, scope=record.scope, as_json=as_json, level=level, **how)


def _parse_group(name: str) -> Filter | None:
    """Return the filter of the scope or kind that *name* means; None for the name of a record."""
    from kb.knowledge_base import Filter

    if _SCOPE.fullmatch(name):
        return Filter(scopes=(name,))
    row = find_kind(name)
    return Filter((row.name,)) if row else None


def _read_text(kb: KnowledgeBase, record: Record, commit: str) -> str:
    """Return the file of *record*: as it stood at *commit*, or now."""
    if not commit:
        return kb.text(record)
    from kb.records.front_matter import decode_record

    return decode_record(kb.repository.read_blob(commit, record.path) or b"", record.path)


def print_place(
    kb: KnowledgeBase, address: Address, *, level: int, budget: int = PLACE_BUDGET, as_json: bool = False
) -> None:
    """Print what is at an *address* of several records: how many, or each of them at a level within the *budget*."""
    from kb.search.addresses import resolve_place

    place = resolve_place(kb.sync_index(), address)
    records = kb.records(place.wanted)
    if place.agent:
        from kb.history.timeline import find_agent_paths

        paths = find_agent_paths(kb, place.agent)
        records = [record for record in records if record.path in paths]
    print_records(kb, records, level=level, budget=budget, as_json=as_json)


def print_search_results(
    kb: KnowledgeBase,
    words: Sequence[str],
    *,
    wanted: Filter,
    limit: int = 10,
    explain: bool = False,
    as_json: bool = False,
    commit: str = "",
    agent: str = "",
    pattern: Pattern[str] | None = None,
    level: int | None = None,
) -> None:
    """Print the records that answer *words*, best first; *explain*: with how they were found.

    *commit*: as they stood there; *agent*: only those it had a hand in; *pattern*: what matches it, in place of words;
    *level*: each as one line, as how its sections begin, or whole.
    """
    found = _find_answers(kb, " ".join(words), wanted, limit, commit=commit, agent=agent, pattern=pattern)
    warn_of_broken_files(kb)
    if not found.answers:
        hint = suggest_search(kb, is_filtered=bool(wanted != type(wanted)() or agent or commit)) if words else None
        warn_empty_result(kb, msg("nothing found"), "".join(wanted.scopes), hint)
    if found.elsewhere:
        warn(kb, found.elsewhere)
    if found.ran and not explain and (kb.config.embedder, kb.config.reranker) != (NO_MODEL, NO_MODEL):
        warn(kb, msg("searched: {ran}", ran=found.ran))
    warn_of_injection(kb, [answer.record for answer in found.answers])
    if level is not None:
        _print_answer_levels(kb, found.answers, level, as_json=as_json, commit=commit)
        return
    if as_json:
        about = [{"score": one.score, "snippet": one.snippet, "note": str(one.note)} for one in found.answers]
        rows = [{**one.record._asdict(), **row} for one, row in zip(found.answers, about, strict=True)]
        parts = [{**row, "parts": answer.parts} for row, answer in zip(rows, found.answers, strict=True)]
        said = {"ran": str(found.ran), "elsewhere": str(found.elsewhere)}
        print_json({**found._asdict(), **said, "answers": parts} if explain else rows)
        return
    if explain:
        _explain_search(kb, found)
    for answer in found.answers:
        _print_answer(kb, answer, explain=explain)


def _find_answers(
    kb: KnowledgeBase, query: str, wanted: Filter, limit: int, *, commit: str, agent: str, pattern: Pattern[str] | None
) -> SearchResult:
    """Return what answers *query*, see `print_search_results`; a question to the team is noted as one."""
    kb.start_scan()  # git looks for edited files while the query is parsed
    from kb.search.answer import SearchResult, search_by_pattern, search_records
    from kb.search.intent import is_team_question

    project = kb.project(os.getcwd())
    if pattern:
        return SearchResult("code", "regex", (), search_by_pattern(kb, pattern, wanted=wanted, limit=limit))
    if commit or agent:
        from kb.history.snapshot import search_history

        return search_history(kb, query, wanted=wanted, project=project, limit=limit, commit=commit, agent=agent)
    found = search_records(kb, query, wanted=wanted, project=project, limit=limit)
    if is_team_question(query):
        from kb.context.give_hints import note_questions

        note_questions(kb, [query], scope=project)
    return found


def _print_answer_levels(
    kb: KnowledgeBase, answers: Sequence[SearchAnswer], level: int, *, as_json: bool, commit: str
) -> None:
    """Print the records of *answers* at *level*: as one line, as how its sections begin, or whole."""
    from kb.index.record_ids import qualify_record_ids

    records = qualify_record_ids(kb.index, [answer.record for answer in answers], kb.caller_scope)
    language = kb.config.language
    texts = [render_level(one, level, language) if level < 2 else _read_text(kb, one, commit) for one in records]
    if texts or as_json:
        print_levels(kb, records, texts, level, as_json=as_json)


def _explain_search(kb: KnowledgeBase, found: SearchResult) -> None:
    """Print how a question was understood, what was run for it, and what each of its terms counts."""
    print(kb.localise(msg("intent: {intent} ({strategy})", intent=found.intent, strategy=found.strategy)))
    if found.ran:
        print(kb.localise(msg("searched: {ran}", ran=found.ran)))
    terms = ", ".join(f"{term} {worth:.2f} ({frequency})" for term, frequency, worth in found.terms)
    line = msg("terms, their weights, and in how many records they occur: {terms}", terms=terms or "–")
    print(kb.localise(line))


def _print_answer(kb: KnowledgeBase, answer: SearchAnswer, *, explain: bool) -> None:
    from kb.index.record_ids import qualify_name

    name, scope = paint(f"{qualify_name(kb, answer.record):6}", "bold"), paint(f"({answer.record.scope})", "dim")
    print(f"{name} {answer.record.title}  {format_final_status(kb, answer.record)}{scope}")
    if answer.note:
        print(f"       {kb.localise(answer.note)}")
    if answer.snippet:
        print(f"       {paint_matches(kb.localise(answer.snippet))}")
    if explain:
        parts = " ".join(f"{part} {much:.3f}" for part, much in answer.parts.items())
        score = msg("score {score} from {parts}", score=f"{answer.score:.3f}", parts=parts or "–")
        print("      ", kb.localise(score))


# -- write -------------------------------------------------------------------------------------------


def write_candidates(
    kb: KnowledgeBase,
    candidates: Sequence[Candidate],
    *,
    dry_run: bool = False,
    as_json: bool = False,
    decided: bool = False,
    typed: bool = False,
) -> int:
    """Hand *candidates* to the gate, print the verdicts and return the exit code they call for."""
    verdicts = kb.write(candidates, folder=os.getcwd(), dry_run=dry_run, decided=decided, typed=typed)
    warn_of_broken_files(kb)
    return print_verdicts(kb, verdicts, as_json=as_json, is_dry_run=dry_run)


def spool_candidates(base: str, read: Callable[[], Sequence[Candidate]], why: KbError) -> int:
    """Keep what `kb write` was handed, where the knowledge base at *base* cannot be opened; return the exit code.

    *base* "": the one around the current folder.
    """
    from kb.index.record_ids import find_base_root, require_base_root
    from kb.writing.spool import spool_without_settings

    # conflict markers in kb.toml must not cost what somebody hands in
    code = report_error(why, base)
    root = require_base_root(base) if base else find_base_root(os.getcwd(), os.environ)
    try:
        path = spool_without_settings(root, os.environ, read())
    except OSError:
        return code
    message = msg("kept in {path}; the next call that can writes it", path=path)
    print("    " + message.translate(detect_language(base)), file=sys.stderr)
    return EXIT_REFUSED


def read_candidates(source: str) -> list[Candidate]:
    """Return the candidates in the file *source*, "-" for stdin; raise BadInput."""
    from kb.records.candidate import MAX_INPUT, parse_candidates

    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1) if sys.stdin else b""
        else:
            with open(source, "rb") as file:
                data = file.read(MAX_INPUT + 1)
    except OSError as error:
        raise BadInput(msg("cannot be read: {problem}", problem=describe_os_error(error)), path=source) from None
    if len(data) > MAX_INPUT:
        raise BadInput(msg("the input has more than {limit} bytes", limit=MAX_INPUT), path=source)
    return parse_candidates(data, "stdin" if source == "-" else source)
