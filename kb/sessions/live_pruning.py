"""Prune before it is too late: shorten a search result before the agent reads it, and read long files in parts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.sessions.dcp_settings import Dcp
from kb.sessions.model_windows import WINDOW
from kb.sessions.prune_strategies import Cut, Guards, max_output
from kb.sessions.prune_transcript import settings_of_kb
from kb.sessions.tool_names import OPENCODE, hosts_own
from kb.sessions.truncation import ranked, shortened
from kb.sessions.usage import Usage, usage_in
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import tokens

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_TAIL = 400_000
"""Bytes of a transcript that tell how full the context is and what was asked last."""
_FULL = 85
"""Percent of the context in use from which its messages are pruned."""
_LOOKED_AT = 5_000
"""Files of a result that are looked at for when they were changed."""


class Rewritten(NamedTuple):
    """What a tool is to be given, or is to have answered, in the place of what it was."""

    value: Any
    note: Message


def part_of_file(kb: Workspace, given: Mapping[str, Any], lines: int) -> Rewritten | None:
    """Return the input of a Read that takes a part of a file of *lines* lines; None where it needs none."""
    settings = settings_of_kb(kb)
    most, first = settings.read_chunk_size, given.get("offset") or 1
    if not (settings.enabled and settings.truncation and most) or not isinstance(first, int) or lines - first < most:
        return None
    note = msg("kb: the file has at least {lines} lines; lines {first} to {last} are read; go on with offset={next}",
               lines=lines, first=first, last=first + most - 1, next=first + most)  # fmt: skip
    return Rewritten({**given, "limit": most}, note)


def shorter_result(
    kb: Workspace, tool: str, given: Mapping[str, Any], response: object, *, transcript: str = "", folder: str = ""
) -> Rewritten | None:
    """Return the *response* of a search shortened, in the same shape; None where it is short enough (RUYI-37)."""
    settings = settings_of_kb(kb)
    if not (settings.enabled and settings.truncation) or tool not in settings.truncation_scope:
        return None
    usage, asked = _known(kb, transcript)
    search = _Search(settings, max_output(usage.left, settings), [asked, *_texts(given)], folder, kb.now(),
                     settings.glob_max_files if tool == "Glob" else 0)  # fmt: skip
    if isinstance(response, str):
        short = search.text(response)
        return Rewritten(short, search.note(response, short)) if short != response else None
    if not isinstance(response, dict):
        return None
    changed = dict(response)
    names, content = response.get("filenames"), response.get("content")
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and names:
        kept = search.paths(names)
        if len(kept) < len(names):
            changed |= {"filenames": kept, "numFiles": len(kept)}
            if "truncated" in response:
                changed["truncated"] = True
    if isinstance(content, str):
        changed["content"] = search.text(content)
    return Rewritten(changed, search.note(response, changed)) if changed != response else None


def edits(kb: Workspace, messages: object, *, begun: bool) -> list[dict[str, Any]]:
    """Return what is to be changed in the live *messages* of opencode, each with the numbers of message and part.

    Nothing while less than 85 % of the context is in use (RUYI-45), unless pruning has *begun* in this session: what
    was taken out must not come back with the next call.
    """
    from kb.sessions.prune import plan
    from kb.sessions.prune_transcript import usage_of
    from kb.sessions.tool_calls import history

    held = [one if isinstance(one, dict) else {} for one in messages] if isinstance(messages, list) else []
    session = history(held)
    usage = usage_of(session, -1.0, kb.config)
    if not begun and usage.percent < _FULL:
        return []
    made = plan(session, settings_of_kb(kb), usage)
    return [_edit(held[cut.place.line - 1], cut) for cut in made.cuts]


def _edit(message: Mapping[str, Any], cut: Cut) -> dict[str, Any]:
    value = cut.value
    if cut.part == "input":
        part = message["parts"][cut.place.block]
        value = hosts_own(OPENCODE, part.get("tool"), part["state"].get("input"), value)
    return {"message": cut.place.line - 1, "part": cut.place.block, cut.part: value}


class _Search:
    """What one search result is shortened by."""

    def __init__(self, settings: Dcp, most: int, words: Sequence[str], folder: str, now: float, rows: int) -> None:
        from kb.sessions.tool_calls import History

        self.most, self.words, self.folder, self.now, self.rows = most, words, folder, now, rows
        self.keep = Guards(History(), settings).anchors

    def text(self, text: str) -> str:
        names = [line.partition(":")[0] for line in text.split("\n")[:_LOOKED_AT]]
        return shortened(text, self.most, rows=self.rows, words=self.words, changed=self._changed(names), now=self.now,
                         keep=self.keep)  # fmt: skip

    def paths(self, names: list[str]) -> list[str]:
        sizes = [tokens(name) + 1 for name in names]
        if (not self.rows or len(names) <= self.rows) and sum(sizes) <= self.most:
            return names
        chosen: list[int] = []
        room = self.most
        for at in ranked(names, self.words, self._changed(names), self.now):
            if (self.rows and len(chosen) >= self.rows) or sizes[at] > room:
                break
            chosen.append(at)
            room -= sizes[at]
        return [names[at] for at in sorted(chosen)]

    def _changed(self, names: Sequence[str]) -> dict[str, float]:
        """Return when the files *names* were changed, as far as they are there."""
        found = {}
        for name in dict.fromkeys(names[:_LOOKED_AT]):
            try:
                found[name] = os.stat(os.path.join(self.folder, name)).st_mtime
            except (OSError, ValueError):
                continue
        return found

    def note(self, before: object, after: object) -> Message:
        return msg("kb: the result was shortened from about {before} to {after} tokens; narrow the search for the rest",
                   before=tokens(str(before)), after=tokens(str(after)))  # fmt: skip


def _texts(given: Mapping[str, Any]) -> list[str]:
    return [value for value in given.values() if isinstance(value, str)]


def _known(kb: Workspace, transcript: str) -> tuple[Usage, str]:
    """Return how full the context is and what a person asked last, by the end of the *transcript*."""
    from kb.sessions.transcript import asked, read
    from kb.sessions.transcript_files import read_transcript

    usual = kb.config.context_window
    try:
        data = read_transcript(transcript, _TAIL) if transcript else b""
    except BadInput:
        return Usage(window=usual or WINDOW), ""
    prompts = [prompt for message in read(data).messages if (prompt := asked(message))]
    return usage_in(data, kb.config.context_windows, usual), prompts[-1] if prompts else ""
