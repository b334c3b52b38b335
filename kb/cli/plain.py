"""The plain calls of the three commands that agents use most, answered without loading click.

Plain is a command line of known words in their usual places. Whatever is not (help, a filter, an abbreviation, a
mistake) is click's to read, so that there is one place that explains and complains; a test holds both to the same
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kb.cli.prints import report_error
from kb.errors import KbError, NoKnowledgeBase
from kb.records.model import SCOPE
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_SCOPE = regex(SCOPE)
_LIMIT = regex(r"[1-9][0-9]{0,8}")


class PlainCommand(NamedTuple):
    """What may stand on a plain command line, and what answers it."""

    flags: Mapping[str, str]
    """Option → the name of what it sets."""
    values: Mapping[str, str]
    """The same for options with a value after them."""
    words: range
    """How many other words there are."""
    answer: Callable[[KnowledgeBase, list[str], Mapping[str, Any]], int]


def _run_show(kb: KnowledgeBase, words: list[str], given: Mapping[str, Any]) -> int:
    from kb.cli.answers import print_record

    print_record(kb, words[0], **given)
    return 0


def _run_search(kb: KnowledgeBase, words: list[str], given: Mapping[str, Any]) -> int:
    from kb.cli.answers import print_search_results
    from kb.knowledge_base import Filter

    scope = given.get("scope", "")
    print_search_results(kb, words, wanted=Filter(scopes=(scope,) if scope else ()), limit=int(given.get("limit", 10)),
           as_json=bool(given.get("as_json")))  # fmt: skip
    return 0


def _run_write(kb: KnowledgeBase, words: list[str], given: Mapping[str, Any]) -> int:
    from kb.cli.answers import read_candidates, write_candidates

    return write_candidates(kb, read_candidates(words[0]), **given)


FORMS: Mapping[str, PlainCommand] = {
    "show": PlainCommand(
        {"--json": "as_json", "--short": "short", "--strict": "strict"}, {"--scope": "scope"}, range(1, 2), _run_show
    ),
    "search": PlainCommand(
        {"--json": "as_json"}, {"--scope": "scope", "-n": "limit", "--limit": "limit"}, range(1, 100), _run_search
    ),
    "write": PlainCommand({"--json": "as_json", "--dry-run": "dry_run"}, {}, range(1, 2), _run_write),
}


def run_if_plain(line: Sequence[str]) -> int | None:
    """Answer a plain command *line* and return its exit code; None for one that is not plain."""
    form = FORMS.get(line[0]) if line else None
    read = _parse_line(line[1:], form) if form else None
    if form is None or read is None:
        return None
    from kb.knowledge_base import KnowledgeBase

    try:
        try:
            kb = KnowledgeBase.open()
        except NoKnowledgeBase:
            raise
        except KbError as error:
            if form is not FORMS["write"] or read[1].get("dry_run"):
                raise
            return _spool_candidates(read[0][0], error)
        with kb:
            return form.answer(kb, *read)
    except BrokenPipeError:
        return 1
    except (KbError, OSError) as error:
        return report_error(error)


def _spool_candidates(source: str, why: KbError) -> int:
    from kb.cli.answers import read_candidates, spool_candidates

    return spool_candidates("", lambda: read_candidates(source), why)


def _parse_line(line: Sequence[str], form: PlainCommand) -> tuple[list[str], dict[str, Any]] | None:
    """Return the words and options of *line*; None where it is not plain."""
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(line)
    for word in rest:
        if word in form.flags:
            given[form.flags[word]] = True
        elif word in form.values:
            given[form.values[word]] = next(rest, "")
        elif word == "-" or not word.startswith("-"):
            words.append(word)
        else:
            return None
    scope, limit = given.get("scope", "global"), given.get("limit", "1")
    return (words, given) if len(words) in form.words and _SCOPE.fullmatch(scope) and _LIMIT.fullmatch(limit) else None
