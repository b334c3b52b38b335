"""Pruning strategies that need no consent: repeats, overwritten writes, old failures, long results.

A strategy yields cuts; what protects a text is asked of `PruneSession`, so that every strategy respects the same.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kb.sessions.dcp_settings import OUTPUTS, PROMPT, DcpSettings
from kb.sessions.transcript import MARK, AnsweredCall, Transcript, get_prompt, list_calls
from kb.sessions.usage import ContextUsage
from kb.startup.lazy_regex import MULTILINE, regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import build_index_terms, estimate_tokens

if TYPE_CHECKING:
    from typing import Any

DEDUP, SUPERSEDE, ERRORS, TRUNCATE, DISCARD = "dedup", "supersede", "errors", "truncate", "discard"
REPEATED, COVERED = f"{MARK}same call below]", f"{MARK}in a read below]"
READ_AGAIN, FAILED, DROPPED = f"{MARK}read again below]", f"{MARK}cut]", f"{MARK}dropped]"
TURNS, ANCHORS, PATTERNS = "turns", "anchors", "patterns"
_MAX_PARAGRAPH_LINES = 3
"""Lines on each side of a citation that belong to its paragraph at most."""
_MAX_READ_LINES = 2000
"""Lines that a read without limits returns at most: as many may not be all of the file."""
_MAX_COMPARED_READS = 20
"""So many newer reads of a file are compared with an older one."""
_SHOWN_CHARACTERS = 60
"""Characters of a call that a report shows."""
_LINE_NUMBER = regex(r"^[ \t]*+(\d++)[→\t]", MULTILINE)


class BlockPosition(NamedTuple):
    """Where a block of a message stands."""

    line: int
    """1-based line of the file, or number of the message."""
    block: int


class Cut(NamedTuple):
    """One thing that is pruned."""

    strategy: str
    place: BlockPosition
    part: str
    """"output" of an answer, "input" of a call or "text"."""
    value: Any
    """What is there afterwards."""
    step: int
    what: str
    """The call as a person knows it: `Read config.py`."""
    removed: int
    """Estimated tokens of what was there."""
    left: int
    """Estimated tokens of what is there now."""
    why: str = ""

    @property
    def saved_tokens(self) -> int:
        """Return the tokens won."""
        return self.removed - self.left


class ProtectedText(NamedTuple):
    """One thing that would have been pruned, and what protected it."""

    by: str
    what: str
    step: int
    tokens: int


class PruneSession:
    """A session to prune, and what protects in it: the last turns, files by their names, citations of anchors."""

    def __init__(self, session: Transcript, settings: DcpSettings, usage: ContextUsage | None = None) -> None:
        """Look at *session* as *settings* say; *usage* is how full its context is."""
        self.settings, self.usage = settings, usage or ContextUsage()
        # the calls in the session's own context whose input can be written back
        self.calls = [one for one in list_calls(session, in_context=True) if one.request.block >= 0]
        prompts = [prompt for message in session.messages if message.in_context and (prompt := get_prompt(message))]
        self.prompt = prompts[-1] if prompts else ""
        self.turns = len(prompts) if settings.turn_unit == PROMPT else session.steps
        letters = "|".join(map(re.escape, settings.anchor_prefixes)) if settings.anchor_protection else ""
        self._cited = re.compile(rf"\[(?:[\w.-]{{1,100}}:)?((?:{letters})[0-9]{{3,9}})\]") if letters else None
        self.kept: list[ProtectedText] = []

    def count_newer_turns(self, step: int, turn: int) -> int:
        """Return how many turns came after *step*, or after prompt number *turn* where prompts are counted."""
        return self.turns - (turn if self.settings.turn_unit == PROMPT else step)

    def is_recent(self, step: int, turn: int, kind: str = OUTPUTS) -> bool:
        """Return whether the turn of *step* is among the last, which are not touched."""
        age = self.count_newer_turns(step, turn)
        return kind in self.settings.applies_to and age < self.settings.turn_protection

    def is_protected_path(self, path: str) -> bool:
        """Return whether the file *path* is protected by its name."""
        path = path.replace("\\", "/")
        names = (path, path.rpartition("/")[2])
        patterns = [one for pattern in self.settings.protected_patterns for one in (pattern, f"*/{pattern}")]
        return bool(path) and any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)

    def find_anchors(self, text: str) -> list[str]:
        """Return the ids of the anchors that *text* cites and that protect."""
        return self._cited.findall(text) if self._cited and "[" in text else []

    def can_prune(self, call: AnsweredCall, size: int) -> bool:
        """Return whether *call* may be touched; note what protects it where not."""
        # a text that both protect counts for the turns: these pass, the pattern stays
        by = PATTERNS if self.is_protected_path(call.request.path) else ""
        by = TURNS if self.is_recent(call.step, call.turn) else by
        if by:
            self.kept.append(ProtectedText(by, describe_call(call), call.step, size))
        return not by

    def build_replacement(self, call: AnsweredCall, placeholder: str, text: str, elsewhere: str = "") -> str:
        """Return what stands for *text*: the *placeholder*, and below it the paragraphs that cite anchors.

        What stands *elsewhere* as well goes; of a long paragraph a few lines stay.
        """
        rows = text.split("\n") if self.find_anchors(text) else []
        near = {at for cited, row in enumerate(rows) if self.find_anchors(row) for at in _find_paragraph(rows, cited)}
        citing = "\n".join(rows[at] for at in sorted(near) if rows[at] not in elsewhere)
        if not citing:
            return placeholder
        self.kept.append(ProtectedText(ANCHORS, describe_call(call), call.step, estimate_tokens(citing)))
        return f"{placeholder}\n{citing}"

    @property
    def most(self) -> int:
        """Return how many tokens a search result may have."""
        return compute_max_output(self.usage.left, self.settings)

    def get_most_rows(self, tool: str) -> int:
        """Return how many lines the result of *tool* may have; 0: any number."""
        return self.settings.glob_max_files if tool == "Glob" else 0

    def shorten_result(self, text: str, rows: int, words: Sequence[str], **more: Any) -> str:
        """Return a search result as short as the settings and the room left want it: see `shorten_output`."""
        return shorten_output(text, self.most, rows=rows, words=words, keep=self.find_anchors, **more)


def _find_paragraph(rows: Sequence[str], at: int) -> range:
    """Return the rows around *at* up to empty ones; a row of a read file with nothing but its number is empty."""
    first = last = at
    while first > max(at - _MAX_PARAGRAPH_LINES, 0) and _LINE_NUMBER.sub("", rows[first - 1]).strip():
        first -= 1
    while last < min(at + _MAX_PARAGRAPH_LINES, len(rows) - 1) and _LINE_NUMBER.sub("", rows[last + 1]).strip():
        last += 1
    return range(first, last + 1)


# -- calls -----------------------------------------------------------------------------------------


def dump_canonical(given: object) -> str:
    """Return *given* as JSON that is the same for the same value."""
    return json.dumps(given, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def count_call_tokens(calls: Sequence[AnsweredCall]) -> int:
    """Return the estimated tokens of *calls* and their answers."""
    return sum(estimate_tokens(dump_canonical(one.request.input)) + estimate_tokens(one.output) for one in calls)


def describe_call(call: AnsweredCall) -> str:
    """Return *call* as a person knows it: a search by what it looked for, a file by the end of its path."""
    pattern, path = call.request.input.get("pattern"), call.request.path
    given = [pattern] if isinstance(pattern, str) else [path]
    given += [value for value in call.request.input.values() if isinstance(value, str)]
    words = next((value.strip() for value in given if value.strip()), "").split("\n")[0]
    if words == path:
        return f"{call.request.name} {_clip_path(path)}"
    return f"{call.request.name} {words[:_SHOWN_CHARACTERS]}".strip()


def _clip_path(path: str) -> str:
    """Return the last folders of a long *path*, and its name."""
    end = path[-_SHOWN_CHARACTERS:]
    return path if end == path else "…/" + (end.partition("/")[2] or end)


def build_output_cut(strategy: str, call: AnsweredCall, value: str, why: str = "") -> Iterator[Cut]:
    """Yield the cut that puts *value* in place of the output of *call*, unless that saves nothing."""
    sizes = estimate_tokens(call.output), estimate_tokens(value)
    if call.result and sizes[1] < sizes[0]:
        place = BlockPosition(call.result.line, call.result.block)
        yield Cut(strategy, place, "output", value, call.step, describe_call(call), *sizes, why)


def _build_input_cut(strategy: str, call: AnsweredCall, value: object, sizes: tuple[int, int], why: str = "") -> Cut:
    place = BlockPosition(call.request.line, call.request.block)
    return Cut(strategy, place, "input", value, call.step, describe_call(call), *sizes, why)


# -- strategies ------------------------------------------------------------------------------------


def find_repeats(session: PruneSession) -> Iterator[Cut]:
    """Yield the answers of calls that were made again: of the same call the newest answer is kept (RUYI-32).

    A newer call that failed does not take the place of one that answered.
    """
    same: dict[str, list[AnsweredCall]] = {}
    for call in session.calls:
        # an input that was cut before (FAILED) no longer distinguishes calls
        signature = call.request.name + dump_canonical(call.request.input)
        if call.request.name in session.settings.dedup_scope and call.is_text and FAILED not in signature:
            same.setdefault(signature, []).append(call)
    for repeats in same.values():
        # a newer call that failed answered nothing: the answer before it stays
        good = [number for number, call in enumerate(repeats) if not call.is_error]
        newest = good[-1] if good else len(repeats) - 1
        for call in repeats[:newest]:
            if not call.is_pruned and session.can_prune(call, estimate_tokens(call.output)):
                value = session.build_replacement(call, REPEATED, call.output, repeats[newest].output)
                yield from build_output_cut(DEDUP, call, value, "repeated")
    if session.settings.covered_reads and "Read" in session.settings.dedup_scope:
        yield from _find_covered_reads(session)


def _find_covered_reads(session: PruneSession) -> Iterator[Cut]:
    """Yield the reads whose every line stands, unchanged, in a newer read of the same file."""
    by_path: dict[str, list[tuple[AnsweredCall, str]]] = {}
    for call in session.calls:
        if call.request.name == "Read" and call.is_text and not call.is_error and not call.is_pruned:
            # what the host says below the file is none of it
            body = call.output.partition("\n\n<system-reminder>")[0].rstrip("\n")
            by_path.setdefault(call.request.path, []).append((call, body))
    for reads in by_path.values():
        for number, (call, body) in enumerate(reads):
            if any(one.request.input == call.request.input for one, _ in reads[number + 1 :]):
                continue  # a repeated call, found above
            newer = reads[number + 1 : number + 1 + _MAX_COMPARED_READS]
            # whole lines only: “1→a” is not held by “11→a”
            is_covered = body.strip() and any(f"\n{body}\n" in f"\n{other}\n" for _, other in newer)
            if is_covered and session.can_prune(call, estimate_tokens(call.output)):
                yield from build_output_cut(DEDUP, call, COVERED, "covered")


def find_overwritten(session: PruneSession) -> Iterator[Cut]:
    """Yield what a write wrote where the whole file is read later (RUYI-33)."""
    whole_reads: dict[str, int] = {}
    for number, call in enumerate(session.calls):
        if call.request.name == "Read" and not call.is_error and _is_whole_read(call):
            whole_reads[call.request.path] = number
    for number, call in enumerate(session.calls):
        content = call.request.input.get("content")
        if call.request.name != "Write" or call.is_error or not isinstance(content, str) or content.startswith(MARK):
            continue
        later, before = whole_reads.get(call.request.path, -1), estimate_tokens(content)
        if later > number and session.can_prune(call, before):
            value = session.build_replacement(call, READ_AGAIN, content, session.calls[later].output)
            if (after := estimate_tokens(value)) < before:
                yield _build_input_cut(SUPERSEDE, call, {**call.request.input, "content": value}, (before, after))


def _is_whole_read(call: AnsweredCall) -> bool:
    """Return whether a read returned the whole file; of one that was pruned only its input shows it."""
    given = call.request.input
    # the answer is gone, so its number of lines cannot tell
    if call.is_pruned:
        return not {"offset", "limit"} & given.keys()
    is_limited = given.get("offset") not in (None, 0, 1) or given.get("limit") is not None
    return not is_limited and len(_LINE_NUMBER.findall(call.output)) < _MAX_READ_LINES


def find_failures(session: PruneSession) -> Iterator[Cut]:
    """Yield the inputs of calls that failed some turns ago; the error message stays (RUYI-34)."""
    for call in session.calls:
        age = session.count_newer_turns(call.step, call.turn)
        if not call.has_failed or age <= session.settings.turns_before_purge:
            continue
        value = {key: _empty_texts(one, session) for key, one in call.request.input.items()}
        before, after = estimate_tokens(dump_canonical(call.request.input)), estimate_tokens(dump_canonical(value))
        without_input = call._replace(request=call.request._replace(input={}))  # a file's name protects no failed input
        if after < before and session.can_prune(without_input, before):
            yield _build_input_cut(ERRORS, call, value, (before, after), call.output[:120])
        if not session.settings.keep_error_message and not call.is_pruned and call.is_text:
            yield from build_output_cut(ERRORS, call, session.build_replacement(call, FAILED, call.output))


def _empty_texts(value: Any, session: PruneSession) -> Any:
    """Return *value* with its texts cut, of the same shape; a text that cites an anchor stays."""
    if isinstance(value, str):
        return value if len(value) <= len(FAILED) or session.find_anchors(value) else FAILED
    if isinstance(value, dict):
        return {key: _empty_texts(one, session) for key, one in value.items()}
    return [_empty_texts(one, session) for one in value] if isinstance(value, list) else value


def find_long_results(session: PruneSession) -> Iterator[Cut]:
    """Yield search results that are longer than min(50,000 tokens, half of the room left) (RUYI-36, RUYI-37).

    What the calls look for and the last prompt say which lines stay.
    """
    for call in session.calls:
        name = call.request.name
        if name in session.settings.truncation_scope and call.is_text and not call.is_error and not call.is_pruned:
            words = [session.prompt, *(v for v in call.request.input.values() if isinstance(v, str))]
            short = session.shorten_result(call.output, session.get_most_rows(name), words)
            if short != call.output and session.can_prune(call, estimate_tokens(call.output)):
                yield from build_output_cut(TRUNCATE, call, short)


def compute_max_output(left: int, settings: DcpSettings) -> int:
    """Return how many tokens a search result may have when *left* are free: min(50000, left × 0.5)."""
    return max(int(min(settings.grep_max_tokens, left * settings.grep_headroom)), 0)


STRATEGIES: Mapping[str, Callable[[PruneSession], Iterator[Cut]]] = {
    DEDUP: find_repeats,
    SUPERSEDE: find_overwritten,
    ERRORS: find_failures,
    TRUNCATE: find_long_results,
}
"""The strategies that ask nobody, in their order: where two cut the same block, the first one wins."""


# -- shortening a search result --------------------------------------------------------------------

_LEFT_OUT_NOTE = MARK + "{left} of {all} lines left out]"
_TOO_LONG_NOTE = MARK + "{size} tokens left out: no room is left; search for less]"
_PATH = regex(r"^(\S[^:\n]*?)(?::\d+[:-]|$)")
_HALF_LIFE_SECONDS = 86_400.0
"""Seconds after which a change of a file counts half (one day)."""
_RECENCY_WEIGHT = 3.0
"""What a file that was changed just now counts beside the matches of rare words."""
_MAX_LINE_CHARACTERS = 400
"""Characters of a line that are kept when even the best one does not fit."""


def shorten_output(
    text: str,
    most: int,
    *,
    rows: int = 0,
    words: Sequence[str] = (),
    changed: Mapping[str, float] | None = None,
    now: float = 0.0,
    keep: Callable[[str], Collection[str]] = lambda _: (),
) -> str:
    """Return *text* with at most *most* estimated tokens and, where *rows* is not 0, as many lines.

    The lines that stay keep their order. *words* say what is looked for; *changed* holds when files were changed, in
    seconds; lines for which *keep* says something come before all others. A text that fits comes back as it is.
    """
    lines = text.split("\n")
    filled = sum(bool(line.strip()) and not line.startswith(MARK) for line in lines)
    if (not rows or filled <= rows) and estimate_tokens(text) <= most:
        return text
    note = _LEFT_OUT_NOTE.format(left=len(lines), all=len(lines))
    # the note is written even where it is all that fits
    room = most - estimate_tokens(f"\n{note}")
    if room <= 0:
        return _TOO_LONG_NOTE.format(size=estimate_tokens(text))
    order = rank_lines(lines, words, changed or {}, now, keep)
    chosen: set[int] = set()
    for at in order:
        size = estimate_tokens(f"{lines[at]}\n")
        if size <= room and not (rows and len(chosen) >= rows):
            chosen.add(at)
            room -= size
    shown = sum(bool(lines[at].strip()) for at in chosen)
    if not shown:
        return f"{_clip_line(lines[order[0]], room)}\n{note}"
    kept = "\n".join(lines[at] for at in sorted(chosen))
    return f"{kept}\n{_LEFT_OUT_NOTE.format(left=filled - shown, all=filled)}"


def rank_lines(
    lines: Sequence[str],
    words: Sequence[str],
    changed: Mapping[str, float],
    now: float,
    keep: Callable[[str], Collection[str]] = lambda _: (),
) -> list[int]:
    """Return the numbers of *lines*, what matters most first (RUYI-38): kept ones, then matches, newness and order."""
    wanted = {term for word in words for term in build_index_terms(word[:2000]).split()}
    matched = [wanted.intersection(build_index_terms(line[:_MAX_LINE_CHARACTERS]).split()) for line in lines]
    frequency = Counter(term for terms in matched for term in terms)

    def score_line(at: int) -> float:
        match = sum(math.log(1 + len(lines) / frequency[term]) for term in matched[at])
        path = _PATH.match(lines[at])
        when = changed.get(path.group(1)) if path else None
        new = _RECENCY_WEIGHT * 0.5 ** (max(now - when, 0) / _HALF_LIFE_SECONDS) if when else 0.0
        return match + new

    return sorted(range(len(lines)), key=lambda at: (not lines[at].strip(), not keep(lines[at]), -score_line(at), at))


def _clip_line(line: str, room: int) -> str:
    """Return the beginning of *line* that fits into *room* tokens."""
    short = line[: min(_MAX_LINE_CHARACTERS, 4 * room)]
    while short and estimate_tokens(short) > room:
        short = short[: len(short) * 3 // 4]
    return short
