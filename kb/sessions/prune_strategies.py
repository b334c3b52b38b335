"""What can be pruned from a session without asking anybody: repeats, overwritten writes, old failures, long results.

A strategy yields cuts; what protects a text is asked of `Guards`, so that every strategy respects the same.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.sessions.dcp_settings import OUTPUTS, PROMPT, Dcp
from kb.sessions.tool_calls import MARK, Call, History, Place, canonical
from kb.sessions.truncation import shortened
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import tokens

if TYPE_CHECKING:
    from typing import Any

DEDUP, SUPERSEDE, ERRORS, TRUNCATE, DISCARD = "dedup", "supersede", "errors", "truncate", "discard"
STRATEGIES = (DEDUP, SUPERSEDE, ERRORS, TRUNCATE, DISCARD)
REPEATED, COVERED = f"{MARK}same call below]", f"{MARK}in a read below]"
READ_AGAIN, FAILED, DROPPED = f"{MARK}read again below]", f"{MARK}cut]", f"{MARK}dropped]"
TURNS, ANCHORS, PATTERNS = "turns", "anchors", "patterns"
_AROUND = 3
"""Lines on each side of a citation that belong to its paragraph at most."""
_WHOLE_READ = 2000
"""Lines that a read without limits returns at most: as many may not be all of the file."""
_LOOKED_AT = 20
"""So many newer reads of a file are compared with an older one."""
_NUMBERED = regex(r"^[ \t]*+(\d++)[→\t]", re.MULTILINE)


class Cut(NamedTuple):
    """One thing that is pruned."""

    strategy: str
    place: Place
    part: str
    """"output" of an answer, "input" of a call or "text"."""
    value: Any
    """What stands there afterwards."""
    step: int
    what: str
    """The call as a person knows it: `Read config.py`."""
    removed: int
    """Estimated tokens of what was there."""
    left: int
    """Estimated tokens of what is there now."""
    why: str = ""

    @property
    def saved(self) -> int:
        """Return the tokens won."""
        return self.removed - self.left


class Kept(NamedTuple):
    """One thing that would have been pruned, and what protected it."""

    by: str
    what: str
    step: int
    tokens: int


class Guards:
    """What protects: the last turns, files by their names, and paragraphs that cite anchors."""

    def __init__(self, history: History, settings: Dcp) -> None:
        """Look at *history* as *settings* say."""
        self._settings = settings
        self._by_prompt = settings.turn_unit == PROMPT
        self.turns = len(history.prompts) if self._by_prompt else history.steps
        letters = "|".join(re.escape(letter) for letter in settings.anchor_prefixes)
        on = settings.anchor_protection and letters
        self._cited = re.compile(rf"\[(?:[\w.-]{{1,100}}:)?((?:{letters})[0-9]{{3,9}})\]") if on else None
        self.kept: list[Kept] = []

    def age(self, call: Call) -> int:
        """Return how many turns are newer than that of *call*."""
        return self.turns_since(call.step, call.prompt)

    def turns_since(self, step: int, prompt: int) -> int:
        """Return how many turns are newer than that of *step*, which the *prompt* of this number led to."""
        return self.turns - (prompt if self._by_prompt else step)

    def is_recent(self, age: int, kind: str = OUTPUTS) -> bool:
        """Return whether a turn of this *age* is among the last, which are not touched."""
        return kind in self._settings.applies_to and age < self._settings.turn_protection

    def named(self, path: str) -> bool:
        """Return whether the file *path* is protected by its name."""
        name = path.replace("\\", "/")
        return bool(name) and any(
            fnmatch.fnmatchcase(name.rpartition("/")[2], one) or fnmatch.fnmatchcase(name, one)
            or fnmatch.fnmatchcase(name, f"*/{one}")
            for one in self._settings.protected_patterns
        )  # fmt: skip

    def anchors(self, text: str) -> list[str]:
        """Return the ids of the anchors that *text* cites and that protect."""
        return self._cited.findall(text) if self._cited and "[" in text else []

    def citing(self, text: str, elsewhere: str = "") -> str:
        """Return the paragraphs of *text* that cite anchors and do not stand *elsewhere*, at most a few lines each."""
        if not self.anchors(text):
            return ""
        rows = text.split("\n")
        kept: set[int] = set()
        for at, row in enumerate(rows):
            if self.anchors(row):
                kept.update(_paragraph(rows, at))
        return "\n".join(rows[at] for at in sorted(kept) if rows[at] not in elsewhere)

    def allows(self, call: Call, size: int) -> bool:
        """Return whether *call* may be touched; note what protects it where not."""
        by = TURNS if self.is_recent(self.age(call)) else PATTERNS if self.named(call.path) else ""
        if by:
            self.kept.append(Kept(by, told(call), call.step, size))
        return not by

    def replacement(self, call: Call, placeholder: str, text: str, elsewhere: str = "") -> str:
        """Return what stands for *text*: the placeholder, and below it what cites anchors."""
        citing = self.citing(text, elsewhere)
        if citing:
            self.kept.append(Kept(ANCHORS, told(call), call.step, tokens(citing)))
        return f"{placeholder}\n{citing}" if citing else placeholder


def _paragraph(rows: Sequence[str], at: int) -> range:
    first = last = at
    while first > max(at - _AROUND, 0) and _is_full(rows[first - 1]):
        first -= 1
    while last < min(at + _AROUND, len(rows) - 1) and _is_full(rows[last + 1]):
        last += 1
    return range(first, last + 1)


def _is_full(row: str) -> bool:
    return bool(_NUMBERED.sub("", row).strip())


def told(call: Call) -> str:
    """Return *call* as a person knows it."""
    given = call.path or next((v for v in call.input.values() if isinstance(v, str) and v.strip()), "")
    return f"{call.name} {given.split(chr(10))[0][:60]}".strip()


def _output_cut(strategy: str, call: Call, value: str, why: str = "") -> Iterator[Cut]:
    cut = Cut(strategy, call.answered, "output", value, call.step, told(call), tokens(call.output), tokens(value), why)
    if cut.saved > 0:
        yield cut


def repeats(history: History, settings: Dcp, guards: Guards) -> Iterator[Cut]:
    """Yield the answers of calls that were made again: of the same call the newest answer is kept (RUYI-32).

    A newer call that failed does not take the place of one that answered.
    """
    same: dict[str, list[Call]] = {}
    for call in history.calls:
        signature = call.name + canonical(call.input)
        if call.name in settings.dedup_scope and call.is_text and call.answered.line and FAILED not in signature:
            same.setdefault(signature, []).append(call)
    for calls in same.values():
        good = [number for number, call in enumerate(calls) if not call.is_error]
        newest = good[-1] if good else len(calls) - 1
        for call in calls[:newest]:
            if not call.is_pruned and guards.allows(call, tokens(call.output)):
                value = guards.replacement(call, REPEATED, call.output, calls[newest].output)
                yield from _output_cut(DEDUP, call, value, "repeated")
    if settings.covered_reads and "Read" in settings.dedup_scope:
        yield from _covered(history, guards)


def _covered(history: History, guards: Guards) -> Iterator[Cut]:
    """Yield the reads whose every line stands, unchanged, in a newer read of the same file."""
    reads: dict[str, list[Call]] = {}
    for call in history.calls:
        if call.name == "Read" and call.is_text and not call.is_error and not call.is_pruned and call.answered.line:
            reads.setdefault(call.path, []).append(call)
    for calls in reads.values():
        for number, call in enumerate(calls):
            if not any(one.input == call.input for one in calls[number + 1 :]):
                later = (one for one in calls[number + 1 : number + 1 + _LOOKED_AT] if _holds(one, call))
                if any(later) and guards.allows(call, tokens(call.output)):
                    yield from _output_cut(DEDUP, call, COVERED, "covered")


def _holds(newer: Call, older: Call) -> bool:
    body = _read_text(older)
    return bool(body.strip()) and f"\n{body}\n" in f"\n{_read_text(newer)}\n"


def _read_text(call: Call) -> str:
    """Return what a read returned of the file, without what the host says below it."""
    return call.output.partition("\n\n<system-reminder>")[0].rstrip("\n")


def overwritten(history: History, settings: Dcp, guards: Guards) -> Iterator[Cut]:
    """Yield what a write wrote where the whole file is read later (RUYI-33)."""
    read: dict[str, int] = {}
    for number, call in enumerate(history.calls):
        if call.name == "Read" and not call.is_error and _is_whole(call):
            read[call.path] = number
    for number, call in enumerate(history.calls):
        content = call.input.get("content")
        if call.name != "Write" or call.is_error or not isinstance(content, str) or content.startswith(MARK):
            continue
        if read.get(call.path, -1) > number and guards.allows(call, tokens(content)):
            elsewhere = history.calls[read[call.path]].output
            value = guards.replacement(call, READ_AGAIN, content, elsewhere)
            if tokens(value) < tokens(content):
                yield Cut(SUPERSEDE, call.asked, "input", {**call.input, "content": value}, call.step, told(call),
                          tokens(content), tokens(value))  # fmt: skip


def _is_whole(call: Call) -> bool:
    """Return whether a read returned the whole file."""
    if call.input.get("offset") not in (None, 0, 1) or call.input.get("limit") is not None or call.is_pruned:
        return call.is_pruned and not {"offset", "limit"} & call.input.keys()
    return len(_NUMBERED.findall(call.output)) < _WHOLE_READ


def failures(history: History, settings: Dcp, guards: Guards) -> Iterator[Cut]:
    """Yield the inputs of calls that failed some turns ago; the error message stays (RUYI-34)."""
    for call in history.calls:
        if not call.failed or guards.age(call) <= settings.turns_before_purge:
            continue
        value = {key: _emptied(one, guards) for key, one in call.input.items()}
        before, after = tokens(canonical(call.input)), tokens(canonical(value))
        if after < before and guards.allows(call._replace(input={}), before):
            yield Cut(ERRORS, call.asked, "input", value, call.step, told(call), before, after, call.output[:120])
        if not settings.keep_error_message and not call.is_pruned and call.is_text:
            yield from _output_cut(ERRORS, call, guards.replacement(call, FAILED, call.output))


def _emptied(value: Any, guards: Guards) -> Any:
    """Return *value* with its texts cut, of the same shape; a text that cites an anchor stays."""
    if isinstance(value, str):
        return value if len(value) <= len(FAILED) or guards.anchors(value) else FAILED
    if isinstance(value, dict):
        return {key: _emptied(one, guards) for key, one in value.items()}
    return [_emptied(one, guards) for one in value] if isinstance(value, list) else value


def long_results(history: History, settings: Dcp, guards: Guards, left: int) -> Iterator[Cut]:
    """Yield search results that are longer than min(50,000 tokens, half of the room *left*) (RUYI-36, RUYI-37)."""
    most = max_output(left, settings)
    for call in history.calls:
        if call.name not in settings.truncation_scope or not call.is_text or call.is_error or call.is_pruned:
            continue
        rows = settings.glob_max_files if call.name == "Glob" else 0
        words = [*history.prompts[-1:], *(v for v in call.input.values() if isinstance(v, str))]
        short = shortened(call.output, most, rows=rows, words=words, keep=guards.anchors)
        if short != call.output and guards.allows(call, tokens(call.output)):
            yield from _output_cut(TRUNCATE, call, short)


def max_output(left: int, settings: Dcp) -> int:
    """Return how many tokens a search result may have when *left* are free: min(50000, left × 0.5)."""
    return max(int(min(settings.grep_max_tokens, left * settings.grep_headroom)), 0)


AUTOMATIC: Mapping[str, Callable[[History, Dcp, Guards], Iterator[Cut]]] = {
    DEDUP: repeats,
    SUPERSEDE: overwritten,
    ERRORS: failures,
}
"""The strategies that need to know nothing but the session."""
