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
from kb.sessions.dcp_settings import DcpSettings
from kb.sessions.prune_strategies import (
    AUTOMATIC,
    DEDUP,
    ERRORS,
    STRATEGIES,
    SUPERSEDE,
    TRUNCATE,
    Cut,
    ProtectedText,
    PruneGuards,
    find_long_results,
)
from kb.sessions.tool_calls import SessionHistory, get_message, iter_blocks, parse_line, read_history
from kb.sessions.usage import ContextUsage

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
