"""Propose what a session no longer needs: searches that found, errors that were mended, options turned down, repeats.

A proposal is safe when what it came to stands elsewhere. One that is not asks for an anchor first and is never
carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.i18n import Message, msg
from kb.sessions.cues import find_alternative, has_choice, is_noncommittal, split_reason
from kb.sessions.dcp_settings import ANSWERS, DcpSettings
from kb.sessions.prose import split_sentences
from kb.sessions.prune_strategies import DISCARD, DROPPED, Cut, PruneGuards, describe_call
from kb.sessions.tool_calls import AnsweredCall, SessionHistory, SpokenText
from kb.text.segment import estimate_tokens, first_sentence, normalise

SEARCH, ERROR, DISCUSSION, CONFIRMATION = msg("search"), msg("error"), msg("discussion"), msg("confirmation")
FOUND, MENDED, DECIDED, SAID_AGAIN = (
    msg("what it looked for was read"), msg("was mended"), msg("was decided"), msg("is said again below")
)  # fmt: skip
ANCHOR_FIRST = msg("⚠️ make an anchor")
SAFE = msg("✅")
_SEARCHES = frozenset({"Grep", "Glob", "LS", "WebSearch"})
_LEAST = 20
"""Estimated tokens below which dropping something is not worth a row."""
_SAME_WORDS = 3
"""A mended command begins with so many words of the one that failed."""


class DiscardProposal(NamedTuple):
    """Something that may be dropped."""

    number: int
    """1-based place in the table."""
    step: int
    what: str
    kind: Message
    reason: Message
    is_safe: bool
    cut: Cut


def propose_discards(session: SessionHistory, settings: DcpSettings) -> list[DiscardProposal]:
    """Return what may be dropped from *session*, oldest first (RUYI-41)."""
    if not settings.discard_enabled:
        return []
    guards = PruneGuards(session, settings)
    found = [
        *_iter_used_searches(session, guards),
        *_iter_resolved_errors(session, guards),
        *_iter_decided_discussions(session, guards),
        *_iter_repeated_texts(session, guards),
    ]
    found.sort(key=lambda one: one.cut.place)
    unique = {(one.cut.place, one.cut.part): one for one in reversed(found)}
    return [one._replace(number=n) for n, one in enumerate(reversed(list(unique.values())), 1)]


def format_table(found: Sequence[DiscardProposal], language: str) -> str:
    """Return *found* as a table in markdown: 内容/类型/丢弃原因/安全?."""
    head = [msg("content"), msg("kind"), msg("why it may go"), msg("safe?")]
    rows = [[word.translate(language) for word in head], ["------"] * len(head)]
    for one in found:
        what = msg("{number}. turn {turn}: {what}", number=one.number, turn=one.step, what=one.what)
        verdict = SAFE if one.is_safe else ANCHOR_FIRST
        cells = (what, one.kind, one.reason, verdict)
        rows.append([cell.translate(language).replace("|", "\\|").replace("\n", " ") for cell in cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _propose_call(call: AnsweredCall, kind: Message, reason: Message, guards: PruneGuards) -> Iterator[DiscardProposal]:
    size = estimate_tokens(call.output)
    if size < _LEAST or not call.is_text or call.is_pruned or guards.is_recent(guards.count_newer_turns(call)):
        return
    if guards.is_protected_path(call.path) and kind is not ERROR:
        return
    value = guards.build_replacement(call, DROPPED, call.output)
    cut = Cut(DISCARD, call.answered, "output", value, call.step, describe_call(call), size, estimate_tokens(value))
    if cut.saved_tokens > 0:
        yield DiscardProposal(0, call.step, describe_call(call), kind, reason, True, cut)


def _iter_used_searches(session: SessionHistory, guards: PruneGuards) -> Iterator[DiscardProposal]:
    """Yield searches one of whose hits was read afterwards."""
    used = [(number, call.path) for number, call in enumerate(session.calls) if call.name in ("Read", "Edit", "Write")]
    for number, call in enumerate(session.calls):
        if call.name in _SEARCHES and not call.is_error and any(
            later > number and path and _has_path(call.output, path) for later, path in used
        ):  # fmt: skip
            yield from _propose_call(call, SEARCH, FOUND, guards)


def _has_path(output: str, path: str) -> bool:
    """Return whether *output* names *path*, whole or by its end from the third folder on."""
    parts = path.split("/")
    return path in output or (len(parts) > 2 and "/".join(parts[-3:]) in output)


def _iter_resolved_errors(session: SessionHistory, guards: PruneGuards) -> Iterator[DiscardProposal]:
    """Yield the answers of failed commands of which a later one, that begins alike, went well.

    Only the message goes on being told by its first line: that is what is to be learnt from it.
    """
    went_well = [
        (n, _get_target(call)) for n, call in enumerate(session.calls) if call.answered.line and not call.is_error
    ]
    for number, call in enumerate(session.calls):
        aim = _get_target(call)
        if call.has_failed and aim and any(later > number and aim == other for later, other in went_well):
            for one in _propose_call(call, ERROR, MENDED, guards):
                value = f"{one.cut.value} {first_sentence(call.output, 80)}"
                yield one._replace(cut=one.cut._replace(value=value, left=estimate_tokens(value)))


def _get_target(call: AnsweredCall) -> str:
    """Return what *call* is about: its file, or the first words of its command; "" where it does not say."""
    command = call.input.get("command")
    if isinstance(command, str):
        words = command.split()
        return " ".join(words[:_SAME_WORDS]) if len(words) >= _SAME_WORDS else ""
    return f"{call.name} {call.path}" if call.path else ""


def _iter_decided_discussions(session: SessionHistory, guards: PruneGuards) -> Iterator[DiscardProposal]:
    """Yield what was said of options of which one was taken: the decision is to be an anchor first."""
    for spoken in session.spoken:
        if _is_exempt(spoken, guards):
            continue
        for row in split_sentences(spoken.text):
            main = split_reason(row).main
            if has_choice(main) and find_alternative(row) and not is_noncommittal(row):
                yield _propose_text(spoken, DISCUSSION, DECIDED, is_safe=False)
                break


def _iter_repeated_texts(session: SessionHistory, guards: PruneGuards) -> Iterator[DiscardProposal]:
    """Yield what the agent says in the same words again later."""
    last = {normalise(spoken.text): spoken.place for spoken in session.spoken}
    for spoken in session.spoken:
        if not _is_exempt(spoken, guards) and last[normalise(spoken.text)] != spoken.place:
            yield _propose_text(spoken, CONFIRMATION, SAID_AGAIN, is_safe=True)


def _is_exempt(spoken: SpokenText, guards: PruneGuards) -> bool:
    return (
        estimate_tokens(spoken.text) < _LEAST
        or spoken.text.startswith(DROPPED)
        or guards.is_recent(guards.count_turns_since(spoken.step, spoken.prompt), ANSWERS)
        or bool(guards.find_anchors(spoken.text))
    )


def _propose_text(spoken: SpokenText, kind: Message, reason: Message, *, is_safe: bool) -> DiscardProposal:
    what = first_sentence(spoken.text, 60)
    size = estimate_tokens(spoken.text)
    cut = Cut(DISCARD, spoken.place, "text", DROPPED, spoken.step, what, size, estimate_tokens(DROPPED))
    return DiscardProposal(0, spoken.step, what, kind, reason, is_safe, cut)
