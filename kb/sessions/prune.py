"""Dynamic context pruning: what is stale in a session goes, what matters stays, and nothing else changes.

A plan is made of a history; it is carried out line by line, or on a list of messages. No line is taken out, so calls
keep their answers and the chain of messages holds; a line that the plan does not name keeps its bytes. A second run
finds nothing more to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.sessions.dcp_settings import ANSWERS, DcpSettings
from kb.sessions.prose import find_alternative, has_choice, is_noncommittal, split_reason, split_sentences
from kb.sessions.prune_strategies import (
    AUTOMATIC,
    DEDUP,
    DISCARD,
    DROPPED,
    ERRORS,
    STRATEGIES,
    SUPERSEDE,
    TRUNCATE,
    Cut,
    ProtectedText,
    PruneGuards,
    describe_call,
    find_long_results,
)
from kb.sessions.tool_calls import (
    AnsweredCall,
    SessionHistory,
    SpokenText,
    get_message,
    iter_blocks,
    parse_line,
    read_history,
)
from kb.sessions.usage import ContextUsage
from kb.text.segment import estimate_tokens, first_sentence, normalise

if TYPE_CHECKING:
    from typing import Any


class PrunePlan(NamedTuple):
    """What is to be pruned, and what an account of it needs."""

    cuts: tuple[Cut, ...] = ()
    kept: tuple[ProtectedText, ...] = ()
    idle: Message | None = None
    """Why nothing is done at all."""
    turns: int = 0
    usage: ContextUsage = ContextUsage()
    """How full the context was before."""
    in_context: int = 0
    """Tokens saved where the context still holds them: below the last compaction."""
    tool_tokens: int = 0
    anchors: tuple[str, ...] = ()
    """The anchors whose citations are protected."""
    protected: tuple[str, ...] = ()
    """The files that are protected by their names."""
    protected_tokens: int = 0
    first_line: int = 0
    """The first line that changes; 0 for none."""

    @property
    def saved_tokens(self) -> int:
        """Return the tokens that the cuts win."""
        return sum(cut.saved_tokens for cut in self.cuts)

    @property
    def percent_after(self) -> float:
        """Return the share of the context in use afterwards."""
        return max(self.usage.percent - 100 * self.in_context / max(self.usage.window, 1), 0.0)


def build_plan(
    session: SessionHistory,
    settings: DcpSettings,
    usage: ContextUsage,
    *,
    only: Sequence[str] = (),
    more: Sequence[Cut] = (),
) -> PrunePlan:
    """Return what is to be pruned from *session*: by the strategies that are on, or *only* some, and *more* cuts."""
    guards = PruneGuards(session, settings)
    idle = _find_idle_reason(settings, guards.turns, len(session.calls))
    cuts: dict[tuple[object, str], Cut] = {}
    if idle is None:
        for cut in [*_iter_automatic_cuts(session, settings, guards, usage, only), *more]:
            cuts.setdefault((cut.place, cut.part), cut)
    chosen = tuple(sorted(cuts.values(), key=lambda cut: (STRATEGIES.index(cut.strategy), cut.place)))
    named = [call for call in session.calls if guards.is_protected_path(call.path)]
    kept = tuple(dict.fromkeys(guards.kept))
    return PrunePlan(
        chosen, kept, idle, guards.turns, usage,
        in_context=sum(cut.saved_tokens for cut in chosen if cut.place.line > session.boundary),
        tool_tokens=session.tool_tokens,
        anchors=tuple(dict.fromkeys(_iter_cited_anchors(session, guards))),
        protected=tuple(dict.fromkeys(call.path for call in named)),
        protected_tokens=SessionHistory(calls=tuple(named)).tool_tokens,
        first_line=min((cut.place.line for cut in chosen), default=0),
    )  # fmt: skip


def _find_idle_reason(settings: DcpSettings, turns: int, calls: int) -> Message | None:
    if not settings.enabled:
        return msg("pruning is switched off: dcp.enabled")
    if turns < settings.min_turns:
        return msg("the session has {turns} turns; below {least} the lost cache costs more than it saves",
                   turns=turns, least=settings.min_turns)  # fmt: skip
    return None if calls else msg("the session has no tool calls")


def _iter_automatic_cuts(
    session: SessionHistory, settings: DcpSettings, guards: PruneGuards, usage: ContextUsage, only: Sequence[str]
) -> Iterator[Cut]:
    switches = {DEDUP: settings.deduplication, SUPERSEDE: settings.supersede_writes, ERRORS: settings.purge_errors,
                TRUNCATE: settings.truncation}  # fmt: skip
    wanted = [name for name, is_on in switches.items() if (name in only if only else is_on)]
    for name in wanted:
        if name in AUTOMATIC:
            yield from AUTOMATIC[name](session, settings, guards)
    if TRUNCATE in wanted:
        yield from find_long_results(session, settings, guards, usage.left)


def _iter_cited_anchors(session: SessionHistory, guards: PruneGuards) -> Iterator[str]:
    for call in session.calls:
        yield from guards.find_anchors(call.output)
        yield from guards.find_anchors(json.dumps(call.input, ensure_ascii=False))
    for spoken in session.spoken:
        yield from guards.find_anchors(spoken.text)


# -- carried out ---------------------------------------------------------------------------------


def group_by_line(cuts: Iterable[Cut]) -> dict[int, list[Cut]]:
    """Return *cuts* by the line they stand on."""
    found: dict[int, list[Cut]] = {}
    for cut in cuts:
        found.setdefault(cut.place.line, []).append(cut)
    return found


def prune_lines(rows: Iterable[bytes], cuts: Iterable[Cut]) -> Iterator[bytes]:
    """Yield *rows*, the lines of a transcript, after *cuts*; a row without a cut is the very same bytes."""
    wanted = group_by_line(cuts)
    for number, row in enumerate(rows, 1):
        record = parse_line(row) if number in wanted else None
        yield row if record is None else _encode_record(prune_record(record, wanted[number]), row)


def prune_messages(
    messages: Sequence[Mapping[str, Any]], settings: DcpSettings | None = None, usage: ContextUsage | None = None
) -> tuple[list[Mapping[str, Any]], PrunePlan]:
    """Return *messages* pruned, and the plan; those that stay as they are are the very same objects."""
    made = build_plan(read_history(messages), settings or DcpSettings(), usage or ContextUsage())
    wanted = group_by_line(made.cuts)
    return [prune_record(m, wanted[n]) if n in wanted else m for n, m in enumerate(messages, 1)], made


def prune_record(record: Mapping[str, Any], cuts: Iterable[Cut]) -> dict[str, Any]:
    """Return a copy of *record* after *cuts*."""
    message = get_message(record) or {}
    content = list(message.get("content") or ())
    held = dict(iter_blocks(message))
    for cut in cuts:
        if cut.place.block in held:
            held[cut.place.block] = content[cut.place.block] = _cut_block(held[cut.place.block], cut)
    changed = {**message, "content": content}
    return {**record, "message": changed} if "message" in record else changed


def _cut_block(block: Mapping[str, Any], cut: Cut) -> dict[str, Any]:
    if cut.part == "input":
        return {**block, "input": cut.value}
    if cut.part == "text":
        return {**block, "text": cut.value}
    is_text = isinstance(block.get("content"), str)
    return {**block, "content": cut.value if is_text else [{"type": "text", "text": cut.value}]}


def _encode_record(record: Mapping[str, Any], row: bytes) -> bytes:
    """Return *record* as it stands in a transcript, with what stood around it in *row*."""
    start, end = row.index(b"{"), row.rindex(b"}") + 1
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of an emoji can only be written as it came
        data = json.dumps(record, separators=(",", ":")).encode()
    return row[:start] + data + row[end:]


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
