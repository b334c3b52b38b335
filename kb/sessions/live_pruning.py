"""Prune before it is too late: shorten a search result before the agent reads it, and read long files in parts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.sessions.dcp_settings import DcpSettings
from kb.sessions.host_input import OPENCODE, restore_host_names
from kb.sessions.prune_strategies import Cut, PruneGuards, compute_max_output
from kb.sessions.prune_transcript import load_settings
from kb.sessions.truncation import rank_lines, shorten_output
from kb.sessions.usage import WINDOW, ContextUsage, read_usage
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_TAIL = 400_000
"""Bytes of a transcript that tell how full the context is and what was asked last."""
_FULL = 85
"""Percent of the context in use from which its messages are pruned."""
_LOOKED_AT = 5_000
"""Files of a result that are looked at for when they were changed."""


class ToolRewrite(NamedTuple):
    """What a tool is to be given, or is to have answered, in the place of what it was."""

    value: Any
    note: Message


def limit_read(kb: Workspace, given: Mapping[str, Any], lines: int) -> ToolRewrite | None:
    """Return the input of a Read that takes a part of a file of *lines* lines; None where it needs none."""
    settings = load_settings(kb)
    most, first = settings.read_chunk_size, given.get("offset") or 1
    if not (settings.enabled and settings.truncation and most) or not isinstance(first, int) or lines - first < most:
        return None
    note = msg("kb: the file has at least {lines} lines; lines {first} to {last} are read; go on with offset={next}",
               lines=lines, first=first, last=first + most - 1, next=first + most)  # fmt: skip
    return ToolRewrite({**given, "limit": most}, note)


def shorten_result(
    kb: Workspace, tool: str, given: Mapping[str, Any], response: object, *, transcript: str = "", folder: str = ""
) -> ToolRewrite | None:
    """Return the *response* of a search shortened, in the same shape; None where it is short enough (RUYI-37)."""
    settings = load_settings(kb)
    if not (settings.enabled and settings.truncation) or tool not in settings.truncation_scope:
        return None
    usage, asked = _read_usage_and_prompt(kb, transcript)
    search = _ResultShortener(
        settings,
        compute_max_output(usage.left, settings),
        [asked, *_list_texts(given)],
        folder,
        kb.now(),
        settings.glob_max_files if tool == "Glob" else 0,
    )
    if isinstance(response, str):
        short = search.shorten_lines(response)
        return ToolRewrite(short, search.build_note(response, short)) if short != response else None
    if not isinstance(response, dict):
        return None
    changed = dict(response)
    names, content = response.get("filenames"), response.get("content")
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and names:
        kept = search.shorten_paths(names)
        if len(kept) < len(names):
            changed |= {"filenames": kept, "numFiles": len(kept)}
            if "truncated" in response:
                changed["truncated"] = True
    if isinstance(content, str):
        changed["content"] = search.shorten_lines(content)
    return ToolRewrite(changed, search.build_note(response, changed)) if changed != response else None


def plan_live_edits(kb: Workspace, messages: object, *, begun: bool) -> list[dict[str, Any]]:
    """Return what is to be changed in the live *messages* of opencode, each with the numbers of message and part.

    Nothing while less than 85 % of the context is in use (RUYI-45), unless pruning has *begun* in this session: what
    was taken out must not come back with the next call.
    """
    from kb.sessions.prune import build_plan
    from kb.sessions.prune_transcript import compute_usage
    from kb.sessions.tool_calls import read_history

    held = [one if isinstance(one, dict) else {} for one in messages] if isinstance(messages, list) else []
    session = read_history(held)
    usage = compute_usage(session, -1.0, kb.config)
    if not begun and usage.percent < _FULL:
        return []
    made = build_plan(session, load_settings(kb), usage)
    return [_build_edit(held[cut.place.line - 1], cut) for cut in made.cuts]


def _build_edit(message: Mapping[str, Any], cut: Cut) -> dict[str, Any]:
    value = cut.value
    if cut.part == "input":
        part = message["parts"][cut.place.block]
        value = restore_host_names(OPENCODE, part.get("tool"), part["state"].get("input"), value)
    return {"message": cut.place.line - 1, "part": cut.place.block, cut.part: value}


class _ResultShortener:
    """What one search result is shortened by."""

    def __init__(
        self, settings: DcpSettings, most: int, words: Sequence[str], folder: str, now: float, rows: int
    ) -> None:
        from kb.sessions.tool_calls import SessionHistory

        self.most, self.words, self.folder, self.now, self.rows = most, words, folder, now, rows
        self.keep = PruneGuards(SessionHistory(), settings).find_anchors

    def shorten_lines(self, text: str) -> str:
        names = [line.partition(":")[0] for line in text.split("\n")[:_LOOKED_AT]]
        return shorten_output(
            text,
            self.most,
            rows=self.rows,
            words=self.words,
            changed=self._read_change_times(names),
            now=self.now,
            keep=self.keep,
        )

    def shorten_paths(self, names: list[str]) -> list[str]:
        sizes = [estimate_tokens(name) + 1 for name in names]
        if (not self.rows or len(names) <= self.rows) and sum(sizes) <= self.most:
            return names
        chosen: list[int] = []
        room = self.most
        for at in rank_lines(names, self.words, self._read_change_times(names), self.now):
            if (self.rows and len(chosen) >= self.rows) or sizes[at] > room:
                break
            chosen.append(at)
            room -= sizes[at]
        return [names[at] for at in sorted(chosen)]

    def _read_change_times(self, names: Sequence[str]) -> dict[str, float]:
        """Return when the files *names* were changed, as far as they are there."""
        found = {}
        for name in dict.fromkeys(names[:_LOOKED_AT]):
            try:
                found[name] = os.stat(os.path.join(self.folder, name)).st_mtime
            except (OSError, ValueError):
                continue
        return found

    def build_note(self, before: object, after: object) -> Message:
        return msg(
            "kb: the result was shortened from about {before} to {after} tokens; narrow the search for the rest",
            before=estimate_tokens(str(before)),
            after=estimate_tokens(str(after)),
        )


def _list_texts(given: Mapping[str, Any]) -> list[str]:
    return [value for value in given.values() if isinstance(value, str)]


def _read_usage_and_prompt(kb: Workspace, transcript: str) -> tuple[ContextUsage, str]:
    """Return how full the context is and what a person asked last, by the end of the *transcript*."""
    from kb.sessions.host_input import read_transcript
    from kb.sessions.transcript import get_prompt, parse_transcript

    usual = kb.config.context_window
    try:
        data = read_transcript(transcript, _TAIL) if transcript else b""
    except BadInput:
        return ContextUsage(window=usual or WINDOW), ""
    prompts = [prompt for message in parse_transcript(data).messages if (prompt := get_prompt(message))]
    return read_usage(data, kb.config.context_windows, usual), prompts[-1] if prompts else ""
