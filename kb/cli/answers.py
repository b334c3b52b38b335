"""What `kb show`, `kb search` and `kb write` do, without click: agents call these most, and click is half a start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from kb.cli.prints import (
    detect_language,
    print_json,
    print_verdicts,
    report_error,
    warn,
    warn_empty_result,
    warn_of_broken_files,
    warn_of_injection,
)
from kb.config import NO_MODEL
from kb.errors import BadInput, KbError
from kb.i18n import msg
from kb.records.model import EXIT_REFUSED
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.knowledge_base import Filter, KnowledgeBase
    from kb.records.model import Candidate
    from kb.search.answer import SearchAnswer, SearchResult


def print_record(
    kb: KnowledgeBase, name: str, *, short: bool = False, strict: bool = False, scope: str = "", as_json: bool = False,
    commit: str = "",
) -> None:  # fmt: skip
    """Print the file of a record, or its short form; *commit*: as it stood there."""
    text = ""
    if commit:
        from kb.history.snapshot import find_record_at

        record, text = find_record_at(kb, commit, name, scope=scope or kb.caller_scope)
    else:
        record = kb.record(name, scope=scope)
    warn_of_injection(kb, [record])
    if as_json:
        print_json(record)
    elif short or strict:
        from kb.records import short_form as forms

        print(forms.render_short_form(record, kb.config.language, strict=strict))
    else:
        print(text or kb.text(record), end="")


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
) -> None:
    """Print the records that answer *words*, best first; *explain*: with how they were found.

    *commit*: as they stood there; *agent*: only those it had a hand in.
    """
    kb.start_scan()
    project, query = kb.project(os.getcwd()), " ".join(words)
    if commit or agent:
        from kb.history.search_past import search_history

        found = search_history(kb, query, wanted=wanted, project=project, limit=limit, commit=commit, agent=agent)
    else:
        from kb.search.answer import search_records

        found = search_records(kb, query, wanted=wanted, project=project, limit=limit)
    answers = found.answers
    warn_of_broken_files(kb)
    if not answers:
        warn_empty_result(kb, msg("nothing found"), "".join(wanted.scopes))
    if found.ran and not explain and (kb.config.embedder, kb.config.reranker) != (NO_MODEL, NO_MODEL):
        warn(kb, msg("searched: {ran}", ran=found.ran))
    warn_of_injection(kb, [answer.record for answer in answers])
    if as_json:
        print_json(_build_explained_rows(found) if explain else [_build_row(answer) for answer in answers])
        return
    if explain:
        _print_explanation(kb, found)
    from kb.index.record_ids import qualify_name

    for answer in answers:
        print(f"{qualify_name(kb, answer.record):6} {answer.record.title}  ({answer.record.scope})")
        if answer.note:
            print(f"       {kb.localise(answer.note)}")
        if answer.snippet:
            print(f"       {answer.snippet}")
        if explain:
            parts = " ".join(f"{part} {much:.3f}" for part, much in answer.parts.items())
            score = msg("score {score} from {parts}", score=f"{answer.score:.3f}", parts=parts or "–")
            print("      ", kb.localise(score))


def _print_explanation(kb: KnowledgeBase, found: SearchResult) -> None:
    """Print how the words were understood."""
    print(kb.localise(msg("intent: {intent} ({strategy})", intent=found.intent, strategy=found.strategy)))
    if found.ran:
        print(kb.localise(msg("searched: {ran}", ran=found.ran)))
    terms = ", ".join(f"{term} {worth:.2f} ({frequency})" for term, frequency, worth in found.terms)
    told = msg("terms, what each counts and in how many records it stands: {terms}", terms=terms or "–")
    print(kb.localise(told))


def _build_explained_rows(found: SearchResult) -> object:
    return {
        **found._asdict(),
        "ran": str(found.ran),
        "answers": [{**_build_row(answer), "parts": answer.parts} for answer in found.answers],
    }


def _build_row(answer: SearchAnswer) -> dict[str, object]:
    return {**answer.record._asdict(), "score": answer.score, "snippet": answer.snippet, "note": str(answer.note)}


def write_candidates(
    kb: KnowledgeBase, candidates: Sequence[Candidate], *, dry_run: bool = False, as_json: bool = False,
    decided: bool = False,
) -> int:  # fmt: skip
    """Hand *candidates* to the gate, print the verdicts and return the exit code they call for."""
    verdicts = kb.write(candidates, folder=os.getcwd(), dry_run=dry_run, decided=decided)
    warn_of_broken_files(kb)
    return print_verdicts(kb, verdicts, as_json=as_json)


def spool_candidates(place: str, read: Callable[[], Sequence[Candidate]], why: KbError) -> int:
    """Keep what `kb write` was handed, where the knowledge base at *place* cannot be opened; return the exit code.

    *place* "": the one around the current folder. Conflict markers in kb.toml must not cost what somebody hands in.
    """
    from kb.index.record_ids import find_base_root, require_base_root
    from kb.writing.spool import spool_without_settings

    code = report_error(why, place)
    root = require_base_root(place) if place else find_base_root(os.getcwd(), os.environ)
    try:
        kept = spool_without_settings(root, os.environ, read())
    except OSError:
        return code
    said = msg("kept in {path}; the next call that can writes it", path=kept)
    print("    " + said.translate(detect_language(place)), file=sys.stderr)
    return EXIT_REFUSED


def read_candidates(source: str) -> list[Candidate]:
    """Return the candidates in the file *source*, "-" for stdin; raise BadInput."""
    from kb.records import candidate

    try:
        if source == "-":
            data = sys.stdin.buffer.read(candidate.MAX_INPUT + 1) if sys.stdin else b""
        else:
            with open(source, "rb") as file:
                data = file.read(candidate.MAX_INPUT + 1)
    except OSError as error:
        raise BadInput(msg("cannot be read: {problem}", problem=error.strerror), path=source) from None
    if len(data) > candidate.MAX_INPUT:
        raise BadInput(msg("the input has more than {limit} bytes", limit=candidate.MAX_INPUT), path=source)
    return candidate.parse_candidates(data, "stdin" if source == "-" else source)
