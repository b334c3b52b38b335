"""Propose what a session no longer needs: searches that found, errors that were mended, options turned down, repeats.

A proposal is safe when what it came to stands elsewhere. One that is not asks for an anchor first and is never
carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.i18n import Message, msg
from kb.sessions.cues import alternative, is_idle, reasoned, states_a_choice
from kb.sessions.dcp_settings import ANSWERS, Dcp
from kb.sessions.prose import sentences
from kb.sessions.prune_strategies import DISCARD, DROPPED, Cut, Guards, told
from kb.sessions.tool_calls import Call, History, Spoken
from kb.text.segment import first_sentence, normalise, tokens

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


class Proposal(NamedTuple):
    """Something that may be dropped."""

    number: int
    """1-based place in the table."""
    step: int
    what: str
    kind: Message
    reason: Message
    is_safe: bool
    cut: Cut


def proposals(session: History, settings: Dcp) -> list[Proposal]:
    """Return what may be dropped from *session*, oldest first (RUYI-41)."""
    if not settings.discard_enabled:
        return []
    guards = Guards(session, settings)
    found = [*_searches(session, guards), *_mended(session, guards), *_turned_down(session, guards),
             *_said_again(session, guards)]  # fmt: skip
    found.sort(key=lambda one: one.cut.place)
    unique = {(one.cut.place, one.cut.part): one for one in reversed(found)}
    return [one._replace(number=n) for n, one in enumerate(reversed(list(unique.values())), 1)]


def table(found: Sequence[Proposal], language: str) -> str:
    """Return *found* as a table in markdown: 内容/类型/丢弃原因/安全?."""
    head = [msg("content"), msg("kind"), msg("why it may go"), msg("safe?")]
    rows = [[word.translate(language) for word in head], ["------"] * len(head)]
    for one in found:
        what = msg("{number}. turn {turn}: {what}", number=one.number, turn=one.step, what=one.what)
        verdict = SAFE if one.is_safe else ANCHOR_FIRST
        cells = (what, one.kind, one.reason, verdict)
        rows.append([cell.translate(language).replace("|", "\\|").replace("\n", " ") for cell in cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _of_call(call: Call, kind: Message, reason: Message, guards: Guards) -> Iterator[Proposal]:
    size = tokens(call.output)
    if size < _LEAST or not call.is_text or call.is_pruned or guards.is_recent(guards.age(call)):
        return
    if guards.named(call.path) and kind is not ERROR:
        return
    value = guards.replacement(call, DROPPED, call.output)
    cut = Cut(DISCARD, call.answered, "output", value, call.step, told(call), size, tokens(value))
    if cut.saved > 0:
        yield Proposal(0, call.step, told(call), kind, reason, True, cut)


def _searches(session: History, guards: Guards) -> Iterator[Proposal]:
    """Yield searches one of whose hits was read afterwards."""
    used = [(number, call.path) for number, call in enumerate(session.calls) if call.name in ("Read", "Edit", "Write")]
    for number, call in enumerate(session.calls):
        if call.name in _SEARCHES and not call.is_error and any(
            later > number and path and _names(call.output, path) for later, path in used
        ):  # fmt: skip
            yield from _of_call(call, SEARCH, FOUND, guards)


def _names(output: str, path: str) -> bool:
    """Return whether *output* names *path*, whole or by its end from the third folder on."""
    parts = path.split("/")
    return path in output or (len(parts) > 2 and "/".join(parts[-3:]) in output)


def _mended(session: History, guards: Guards) -> Iterator[Proposal]:
    """Yield the answers of failed commands of which a later one, that begins alike, went well.

    Only the message goes on being told by its first line: that is what is to be learnt from it.
    """
    went_well = [(n, _aim(call)) for n, call in enumerate(session.calls) if call.answered.line and not call.is_error]
    for number, call in enumerate(session.calls):
        aim = _aim(call)
        if call.failed and aim and any(later > number and aim == other for later, other in went_well):
            for one in _of_call(call, ERROR, MENDED, guards):
                value = f"{one.cut.value} {first_sentence(call.output, 80)}"
                yield one._replace(cut=one.cut._replace(value=value, left=tokens(value)))


def _aim(call: Call) -> str:
    """Return what *call* is about: its file, or the first words of its command; "" where it does not say."""
    command = call.input.get("command")
    if isinstance(command, str):
        words = command.split()
        return " ".join(words[:_SAME_WORDS]) if len(words) >= _SAME_WORDS else ""
    return f"{call.name} {call.path}" if call.path else ""


def _turned_down(session: History, guards: Guards) -> Iterator[Proposal]:
    """Yield what was said of options of which one was taken: the decision is to be an anchor first."""
    for spoken in session.spoken:
        if _is_out(spoken, guards):
            continue
        for row in sentences(spoken.text):
            main = reasoned(row).main
            if states_a_choice(main) and alternative(row) and not is_idle(row):
                yield _of_text(spoken, DISCUSSION, DECIDED, is_safe=False)
                break


def _said_again(session: History, guards: Guards) -> Iterator[Proposal]:
    """Yield what the agent says in the same words again later."""
    last = {normalise(spoken.text): spoken.place for spoken in session.spoken}
    for spoken in session.spoken:
        if not _is_out(spoken, guards) and last[normalise(spoken.text)] != spoken.place:
            yield _of_text(spoken, CONFIRMATION, SAID_AGAIN, is_safe=True)


def _is_out(spoken: Spoken, guards: Guards) -> bool:
    return (
        tokens(spoken.text) < _LEAST
        or spoken.text.startswith(DROPPED)
        or guards.is_recent(guards.turns_since(spoken.step, spoken.prompt), ANSWERS)
        or bool(guards.anchors(spoken.text))
    )


def _of_text(spoken: Spoken, kind: Message, reason: Message, *, is_safe: bool) -> Proposal:
    what = first_sentence(spoken.text, 60)
    size = tokens(spoken.text)
    cut = Cut(DISCARD, spoken.place, "text", DROPPED, spoken.step, what, size, tokens(DROPPED))
    return Proposal(0, spoken.step, what, kind, reason, is_safe, cut)
