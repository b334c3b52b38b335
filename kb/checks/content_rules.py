"""Is there anything in a text that should not be there: a secret, a title that says nothing, orders to agents?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kb.checks.check_context import CheckContext, CheckedText, LoadedRecord, make_finding
from kb.checks.findings import Finding
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import decode_record, find_front_matter, parse_front_matter
from kb.records.model import LIVE, is_imported
from kb.safety.injection import HIDDEN, INSTRUCTION, TURNS, Threat, find_threats
from kb.text.segment import clip

if TYPE_CHECKING:
    from typing import Any

_TAKE_OUT = msg("remove it, or quote it if you write about such texts; agents get only the title")


def check_secrets(context: CheckContext) -> Iterator[Finding]:
    """Report secrets, without repeating them; files that are no records are searched too."""
    for text in _iter_unchecked_texts(context):
        for line, rule in context.secrets(text.text):
            message = msg("a secret, or what is personal, stands here ({rule})", rule=rule)
            fix = msg("remove it and have it revoked: git's history keeps what was once committed")
            yield Finding("secret", "error", text.path, line, message, fix)


def _iter_unchecked_texts(context: CheckContext) -> Iterator[CheckedText]:
    """Yield the texts that were not found clean before, those of files that are no records among them."""
    texts = list(context.texts)
    for broken in context.broken:
        try:
            texts.append(CheckedText(broken.source.path, decode_record(broken.source.data), ""))
        except BadRecord:
            continue
    return (text for text in texts if not context.is_clean(text.text))


def check_vague_titles(context: CheckContext) -> Iterator[Finding]:
    """Report live records whose title could stand over any record (RUYI-52)."""
    for one in context.records:
        is_foreign = is_imported(one.record.extra)  # its title was given where other rules apply
        if one.record.status in LIVE and not is_foreign and context.vague(one.record.title):
            message = msg("the title names no subject: {title}", title=clip(one.record.title, 80))
            fix = msg("say what was decided about what")
            yield make_finding("title", one, message, fix, key="title", severity="warning")


def check_untrusted(context: CheckContext) -> Iterator[Finding]:
    """Report characters that hide something, an error, and what tells an agent what to do, a warning.

    A comment that a page does not show is no finding by itself: half of them are notes to authors and tools.
    """
    for text in _iter_unchecked_texts(context):
        threats = find_threats(text.text)
        hidden = [threat for threat in threats if threat.kind == HIDDEN]
        if hidden:  # once for a text, at what turns the direction of a line if anything does
            first = next((threat for threat in hidden if threat.problem == TURNS), hidden[0])
            fix = msg("remove such characters; lines of this file that have some: {count}", count=len(hidden))
            yield Finding("untrusted", "error", text.path, first.line, _describe_threat(first), fix)
        for threat in threats:
            if threat.kind == INSTRUCTION:
                yield Finding("untrusted", "warning", text.path, threat.line, _describe_threat(threat), _TAKE_OUT)
    for one in context.records:
        if not context.is_clean(one.text):
            yield from _report_escaped(one)


def _report_escaped(one: LoadedRecord) -> Iterator[Finding]:
    """Report what is written in the front matter as escapes, as `"\\u202e"`, where the text itself shows nothing."""
    span = find_front_matter(one.text)
    source = one.text[span.start : span.end] if span else ""
    if "\\" not in source:
        return
    shown = {threat.words for threat in find_threats(source)}
    for key, value in parse_front_matter(one.text).items():
        for threat in find_threats("\n".join(_iter_texts(value))):
            if threat.words not in shown:
                message = _describe_threat(threat)
                is_error = threat.kind == HIDDEN
                yield make_finding(
                    "untrusted", one, message, _TAKE_OUT, key=key, severity="error" if is_error else "warning"
                )


def _describe_threat(threat: Threat) -> Message:
    return msg("the text {problem}: {words}", problem=threat.problem, words=threat.words)


def _iter_texts(value: Any) -> Iterator[str]:
    """Yield every text in a value of the front matter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (str(key), *_iter_texts(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_texts(item)
