"""Is there anything in the texts that should not be there?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kb.checks.check_context import CheckContext, LoadedRecord, make_finding
from kb.checks.findings import CheckedText, Finding
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import decode_record, find_front_matter, parse_front_matter
from kb.records.model import LIVE, is_imported
from kb.safety.injection import HIDDEN, INSTRUCTION, TURNS, Threat, find_threats
from kb.text.segment import clip

if TYPE_CHECKING:
    from typing import Any

    from kb.checks.findings import Severity


def check_secrets(shelf: CheckContext) -> Iterator[Finding]:
    """Report secrets, without repeating them; files that are no records are searched too."""
    for text in (*shelf.texts, *iter_unreadable_texts(shelf)):
        for line, rule in () if shelf.is_clean(text.text) else shelf.secrets(text.text):
            yield Finding(
                rule="secret",
                severity="error",
                path=text.path,
                line=line,
                message=msg("a secret, or what is personal, stands here ({rule})", rule=rule),
                fix=msg("take it out and have it revoked: git's history keeps what was once committed"),
            )


def iter_unreadable_texts(shelf: CheckContext) -> Iterator[CheckedText]:
    """Yield the texts of the files that are no records."""
    for broken in shelf.broken:
        try:
            yield CheckedText(broken.source.path, decode_record(broken.source.data), "")
        except BadRecord:
            continue


def check_vague_titles(shelf: CheckContext) -> Iterator[Finding]:
    """Report live records whose title could stand over any record (RUYI-52)."""
    for one in shelf.opened:
        foreign = is_imported(one.record.extra)  # its title was given where other rules hold
        if one.record.status in LIVE and not foreign and shelf.vague(one.record.title):
            message = msg("the title names no subject: {title}", title=clip(one.record.title, 80))
            fix = msg("say what was decided about what")
            yield make_finding("title", one, message, fix, key="title", severity="warning")


def check_untrusted(shelf: CheckContext) -> Iterator[Finding]:
    """Report characters that hide something, an error, and what tells an agent what to do, a warning.

    A comment that a page does not show is no finding by itself: half of them are notes to authors and tools.
    """
    for text in (*shelf.texts, *iter_unreadable_texts(shelf)):
        found = [] if shelf.is_clean(text.text) else find_threats(text.text)
        yield from _report_hidden(text, [trouble for trouble in found if trouble.kind == HIDDEN])
        for order in (trouble for trouble in found if trouble.kind == INSTRUCTION):
            yield Finding("untrusted", "warning", text.path, order.line, _format_problem(order), _TAKE_OUT)
    for one in shelf.opened:
        yield from () if shelf.is_clean(one.text) else _report_escaped(one)


_TAKE_OUT = msg("take it out, or quote it where you write about such texts; agents get no more than the title")


def _format_problem(trouble: Threat) -> Message:
    return msg("the text {problem}: {words}", problem=trouble.problem, words=trouble.words)


def _report_hidden(text: CheckedText, found: Sequence[Threat]) -> Iterator[Finding]:
    """Report hidden characters once for a text, where they turn the direction of a line if they do."""
    if found:
        first = next((trouble for trouble in found if trouble.problem == TURNS), found[0])
        fix = msg("take out such characters; lines of this file that have some: {count}", count=len(found))
        yield Finding("untrusted", "error", text.path, first.line, _format_problem(first), fix)


def _report_escaped(one: LoadedRecord) -> Iterator[Finding]:
    """Report what stands in the front behind escapes, as `"\\u202e"`, where the text itself shows no trouble."""
    span = find_front_matter(one.text)
    source = one.text[span.start : span.end] if span else ""
    if "\\" not in source:
        return
    told = {trouble.words for trouble in find_threats(source)}
    for key, value in parse_front_matter(one.text).items():
        for trouble in find_threats("\n".join(_iter_texts(value))):
            severity: Severity = "error" if trouble.kind == HIDDEN else "warning"
            if trouble.words not in told:
                yield make_finding("untrusted", one, _format_problem(trouble), _TAKE_OUT, key=key, severity=severity)


def _iter_texts(value: Any) -> Iterator[str]:
    """Yield every text in a value of the front."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (str(key), *_iter_texts(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_texts(item)
