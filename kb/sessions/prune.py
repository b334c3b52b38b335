"""Dynamic context pruning: plan which stale parts of a session to cut, and apply the plan.

A plan is made of a transcript; it is carried out line by line, or on a list of messages. No line is taken out, so calls
keep their answers and the chain of messages holds; a line that the plan does not name keeps its bytes. A second run
finds nothing more to do.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.i18n import Message, msg
from kb.sessions.dcp_settings import ANSWERS, DcpSettings
from kb.sessions.host_records import parse_line
from kb.sessions.prose import has_choice, is_noncommittal, split_reason, split_sentences
from kb.sessions.prune_strategies import (
    DEDUP,
    DISCARD,
    DROPPED,
    ERRORS,
    STRATEGIES,
    SUPERSEDE,
    TRUNCATE,
    BlockPosition,
    Cut,
    ProtectedText,
    PruneSession,
    build_output_cut,
    count_call_tokens,
    describe_call,
)
from kb.sessions.transcript import AGENT, AnsweredCall, Transcript, parse_records
from kb.sessions.usage import ContextUsage
from kb.similarity.failure_signatures import identify_command
from kb.text.mentions import find_alternative
from kb.text.segment import estimate_tokens, first_sentence, normalise


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
    session: Transcript,
    settings: DcpSettings,
    usage: ContextUsage,
    *,
    only: Sequence[str] = (),
    more: Sequence[Cut] = (),
) -> PrunePlan:
    """Return what is to be pruned from *session*: by the strategies that are on, or *only* some, and *more* cuts."""
    pruned = PruneSession(session, settings, usage)
    idle = _find_idle_reason(pruned)
    cuts: dict[tuple[object, str], Cut] = {}
    if idle is None:
        switches = {
            DEDUP: settings.deduplication,
            SUPERSEDE: settings.supersede_writes,
            ERRORS: settings.purge_errors,
            TRUNCATE: settings.truncation,
        }
        wanted = [name for name, is_on in switches.items() if (name in only if only else is_on)]
        for cut in [*(cut for name in wanted for cut in STRATEGIES[name](pruned)), *more]:
            cuts.setdefault((cut.place, cut.part), cut)
    order = (*STRATEGIES, DISCARD)
    chosen = tuple(sorted(cuts.values(), key=lambda cut: (order.index(cut.strategy), cut.place)))
    protected = [one for one in pruned.calls if pruned.is_protected_path(one.request.path)]
    # what is above the last compaction is out of the context: cutting it makes the file smaller only
    boundary = max(session.compactions, default=0)
    called = (t for one in pruned.calls for t in (one.output, json.dumps(one.request.input, ensure_ascii=False)))
    texts = (*called, *(one.text for one in _list_agent_texts(session)))
    return PrunePlan(
        chosen,
        tuple(dict.fromkeys(pruned.kept)),
        idle,
        pruned.turns,
        usage,
        in_context=sum(cut.saved_tokens for cut in chosen if cut.place.line > boundary),
        tool_tokens=count_call_tokens(pruned.calls),
        anchors=tuple(dict.fromkeys(anchor for text in texts for anchor in pruned.find_anchors(text))),
        protected=tuple(dict.fromkeys(one.request.path for one in protected)),
        protected_tokens=count_call_tokens(protected),
        first_line=min((cut.place.line for cut in chosen), default=0),
    )


def _find_idle_reason(session: PruneSession) -> Message | None:
    turns, least = session.turns, session.settings.min_turns
    if not session.settings.enabled:
        return msg("pruning is disabled: dcp.enabled")
    if turns < least:
        counts = {"turns": turns, "least": least}
        return msg("the session has {turns} turns; below {least} the lost cache costs more than it saves", **counts)
    return None if session.calls else msg("the session has no tool calls")


# -- carrying it out -------------------------------------------------------------------------------


def prune_lines(rows: Iterable[bytes], cuts: Iterable[Cut]) -> Iterator[bytes]:
    """Yield *rows*, the lines of a transcript, after *cuts*; a row without a cut is the very same bytes."""
    wanted = _group_by_line(cuts)
    for number, row in enumerate(rows, 1):
        record = parse_line(row) if number in wanted else None
        yield _encode_record(_prune_record(record, wanted[number]), row) if isinstance(record, dict) else row


def _group_by_line(cuts: Iterable[Cut]) -> Mapping[int, list[Cut]]:
    found = defaultdict(list)
    for cut in cuts:
        found[cut.place.line].append(cut)
    return found


def prune_messages(
    messages: Sequence[Mapping[str, Any]], settings: DcpSettings | None = None, usage: ContextUsage | None = None
) -> tuple[list[Mapping[str, Any]], PrunePlan]:
    """Return *messages* pruned, and the plan; those that stay as they are are the very same objects."""
    session = parse_records([message if isinstance(message, dict) else None for message in messages])
    made = build_plan(session, settings or DcpSettings(), usage or ContextUsage())
    wanted = _group_by_line(made.cuts)
    rows = enumerate(messages, 1)
    return [_prune_record(row, wanted[n]) if n in wanted else row for n, row in rows], made


def _prune_record(record: Mapping[str, Any], cuts: Iterable[Cut]) -> Mapping[str, Any]:
    """Return *record*, a line or a bare message, after *cuts*."""
    message = record.get("message", record)
    if not isinstance(message.get("content"), list):
        return record  # a message of another host: its form is not ours to write
    content = list(message["content"])
    for cut in cuts:
        block = content[cut.place.block]
        # an answer that was a list of blocks stays one: hosts read the shape they wrote
        key, value = ("content", cut.value) if cut.part == "output" else (cut.part, cut.value)
        if cut.part == "output" and not isinstance(block.get("content"), str):
            value = [{"type": "text", "text": value}]
        content[cut.place.block] = {**block, key: value}
    changed = {**message, "content": content}
    return {**record, "message": changed} if "message" in record else changed


def _encode_record(record: Mapping[str, Any], row: bytes) -> bytes:
    """Return *record* as a transcript writes it, with what was around it in *row*."""
    # a BOM or a carriage return around the record stays
    start, end = row.index(b"{"), row.rindex(b"}") + 1
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of an emoji can only be written as it came
        data = json.dumps(record, separators=(",", ":")).encode()
    return row[:start] + data + row[end:]


# -- proposals -------------------------------------------------------------------------------------

SEARCH, ERROR, DISCUSSION, CONFIRMATION = msg("search"), msg("error"), msg("discussion"), msg("confirmation")
_FOUND, _MENDED = msg("what it looked for has been read"), msg("was fixed")
_DECIDED, _SAID_AGAIN = msg("was decided"), msg("is repeated below")
_ANCHOR_FIRST, _SAFE = msg("⚠️ make an anchor"), msg("✅")
_SEARCHES, _USES = ("Grep", "Glob", "LS", "WebSearch"), ("Read", "Edit", "Write")
_MIN_DISCARD_TOKENS = 20
"""Estimated tokens below which dropping something is not worth a row."""
_SAME_WORDS = 3
"""A corrected command begins with as many words of the one that failed."""
_CHANGE_FOLDER = re.compile(r"^\s*+(?:cd\s++[^\s;&]++\s*+(?:&&|;)\s*+)*+")
_TURNED_DOWN = re.compile(
    r"不(?:采用|使用|选用|考虑|用)|放弃|排除|否决|弃用|\b(?:reject(?:ed)?|ruled? out|dropp?ed|decided against)\b",
    re.IGNORECASE,
)
"""What says of an option that it was not taken; `find_alternative` looks for one beside what was taken instead."""


class AgentText(NamedTuple):
    """A text block of the assistant."""

    text: str
    place: BlockPosition
    step: int
    turn: int


class DiscardProposal(NamedTuple):
    """Something that may be dropped.

    It is safe when what it came to stands elsewhere. One that is not asks for an anchor first and is never carried out.
    """

    number: int
    """1-based place in the table."""
    step: int
    what: str
    kind: Message
    reason: Message
    is_safe: bool
    cut: Cut


def propose_discards(session: Transcript, settings: DcpSettings) -> list[DiscardProposal]:
    """Return what a session no longer needs, oldest first (RUYI-41).

    That is searches that found, errors that were fixed, options turned down, and what is said again.
    """
    if not settings.discard_enabled:
        return []
    pruned = PruneSession(session, settings)
    found = [*_iter_used_searches(pruned), *_iter_resolved_errors(pruned), *_iter_settled_texts(session, pruned)]
    found.sort(key=lambda one: one.cut.place)
    unique = {(one.cut.place, one.cut.part): one for one in reversed(found)}
    return [one._replace(number=n) for n, one in enumerate(reversed(list(unique.values())), 1)]


def format_proposals(found: Sequence[DiscardProposal], language: str) -> str:
    """Return *found* as a table in markdown: 内容/类型/丢弃原因/安全?."""
    head = [msg("content"), msg("kind"), msg("why it can be dropped"), msg("safe?")]
    rows = [[word.translate(language) for word in head], ["------"] * len(head)]
    for one in found:
        what = msg("{number}. turn {turn}: {what}", number=one.number, turn=one.step, what=one.what)
        cells = (what, one.kind, one.reason, _SAFE if one.is_safe else _ANCHOR_FIRST)
        rows.append([cell.translate(language).replace("|", "\\|").replace("\n", " ") for cell in cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _list_agent_texts(session: Transcript) -> list[AgentText]:
    """Return the text blocks of the agent in the session's own context."""
    return [
        AgentText(text, BlockPosition(message.line, at), message.step, message.turn)
        for message in session.messages
        if message.origin == AGENT and message.in_context
        for text, at in zip(message.texts, message.blocks, strict=False)
    ]


def _propose_call(
    session: PruneSession, call: AnsweredCall, kind: Message, reason: Message
) -> Iterator[DiscardProposal]:
    is_recent = session.is_recent(call.step, call.turn)
    if is_recent or estimate_tokens(call.output) < _MIN_DISCARD_TOKENS or not call.is_text or call.is_pruned:
        return
    if session.is_protected_path(call.request.path) and kind is not ERROR:
        return
    for cut in build_output_cut(DISCARD, call, session.build_replacement(call, DROPPED, call.output)):
        yield DiscardProposal(0, call.step, describe_call(call), kind, reason, True, cut)


def _iter_used_searches(session: PruneSession) -> Iterator[DiscardProposal]:
    """Yield searches one of whose hits was read or changed afterwards: the last three parts of its path are named."""
    used = [(n, one.request.path) for n, one in enumerate(session.calls) if one.request.name in _USES]
    for number, call in enumerate(session.calls):
        if call.request.name in _SEARCHES and not call.is_error:
            later = ["/".join(path.split("/")[-3:]) for at, path in used if at > number and path]
            if any(ending in call.output for ending in later):
                yield from _propose_call(session, call, SEARCH, _FOUND)


def _iter_resolved_errors(session: PruneSession) -> Iterator[DiscardProposal]:
    """Yield the answers of failed commands where a later command that begins alike went well.

    The message keeps its first sentence: that is what is to be learnt from it.
    """
    went_well = [(n, _get_target(call)) for n, call in enumerate(session.calls) if call.result and not call.is_error]
    for number, call in enumerate(session.calls):
        target = _get_target(call)
        if call.has_failed and target and any(later > number and target == other for later, other in went_well):
            for one in _propose_call(session, call, ERROR, _MENDED):
                value = f"{one.cut.value} {first_sentence(call.output, 80)}"
                yield one._replace(cut=one.cut._replace(value=value, left=estimate_tokens(value)))


def _get_target(call: AnsweredCall) -> str:
    """Return what *call* is about: its file, or the first words of its command; "" where it does not say.

    A short command is meant as a whole: `make test` is fixed by `make test`, not by `make lint`.
    """
    command = call.request.input.get("command")
    if isinstance(command, str):
        return " ".join(_CHANGE_FOLDER.sub("", command).split()[:_SAME_WORDS]) if identify_command(command) else ""
    return f"{call.request.name} {call.request.path}" if call.request.path else ""


def _iter_settled_texts(session: Transcript, pruned: PruneSession) -> Iterator[DiscardProposal]:
    """Yield texts that weigh options and choose one, and texts that are said again later in the same words.

    A decision is to be an anchor first.
    """
    texts = _list_agent_texts(session)
    last = {normalise(one.text): one.place for one in texts}
    for one in texts:
        size = estimate_tokens(one.text)
        is_recent = pruned.is_recent(one.step, one.turn, ANSWERS)
        # a text that cites an anchor is a reason to keep it, never one to drop it
        if size < _MIN_DISCARD_TOKENS or one.text.startswith(DROPPED) or is_recent or pruned.find_anchors(one.text):
            continue
        what = first_sentence(one.text, 60)
        cut = Cut(DISCARD, one.place, "text", DROPPED, one.step, what, size, estimate_tokens(DROPPED))
        if any(map(_is_decision, split_sentences(one.text))):
            yield DiscardProposal(0, one.step, what, DISCUSSION, _DECIDED, False, cut)
        elif last[normalise(one.text)] != one.place:
            yield DiscardProposal(0, one.step, what, CONFIRMATION, _SAID_AGAIN, True, cut)


def _is_decision(sentence: str) -> bool:
    """Return whether *sentence* says which option was taken and which was not."""
    main = split_reason(sentence).main
    is_turned_down = bool(find_alternative(sentence) or _TURNED_DOWN.search(sentence))
    return has_choice(main) and is_turned_down and not is_noncommittal(sentence)
