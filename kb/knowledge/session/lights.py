"""What kb does as an agent's context fills up: a word at 70 %, pruning at 85 %, an archive above 95 %."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kb.errors import BadInput
from kb.knowledge.names import safe_id
from kb.sessions.usage import Band, Usage, band, usage_in, window_of
from kb.values import TYPE_CHECKING, NamedTuple
from kb.words import Said, say

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase

FILE = "lights.json"
_TAIL = 400_000
"""Bytes of a transcript that tell how full the context is."""
_AGAIN = 50
"""Below so many percent the orange and the red light are ready to be lit again; the yellow one is lit once."""


class Lit(NamedTuple):
    """What was done at a light."""

    light: str = ""
    context: str = ""
    """What the agent is told."""
    message: str = ""
    """What the person is told."""


def usage(kb: KnowledgeBase, transcript: str = "", *, percent: float = -1.0, model: str = "") -> Usage:
    """Return how full the context is: as the caller measured it (*percent*, -1 for nothing), or by the transcript."""
    from kb.knowledge.session.transcripts import read_transcript

    windows, usual = kb.config.context_windows, kb.config.context_window
    if percent >= 0 or not transcript:
        return Usage(0, window_of(model, windows, usual), model, given=percent)
    found = usage_in(read_transcript(transcript, _TAIL), windows, usual)
    if found.line or os.stat(transcript).st_size <= _TAIL:
        return found
    return usage_in(read_transcript(transcript), windows, usual)


def measured(kb: KnowledgeBase, transcript: str, *, percent: float, model: str) -> tuple[Usage, Band]:
    """Return how full the context is, and the band that is."""
    used = usage(kb, transcript, percent=percent, model=model)
    return used, band(used.percent)


def told_by_host(payload: Mapping[str, Any]) -> float:
    """Return the percentage that a host's *payload* names; -1 where it names none."""
    value, tokens, window = (
        payload.get(key) for key in ("context_usage_percent", "context_tokens", "context_window_size")
    )
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1000:
        return float(value)
    if isinstance(tokens, int) and isinstance(window, int) and tokens >= 0 and window > 0:
        return 100 * tokens / window
    return -1.0


def lit(
    kb: KnowledgeBase, session: str, transcript: str, *, percent: float = -1.0, folder: str = "", host: str = "",
    only_told: bool = False,
) -> Lit:  # fmt: skip
    """Do what the use of the context calls for, once for each light, and return what is to be said.

    *only_told*: nothing is pruned or archived now; that waits for an event that has the time.
    """
    if not session:
        return Lit()
    try:
        used = usage(kb, transcript, percent=percent)
    except BadInput:
        return Lit()
    now = band(used.percent)
    place = ("active", safe_id(session), FILE)
    kept = kb.state.load(*place)
    names = kept.get("lit") if isinstance(kept, dict) else None
    before = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
    after = {"yellow"} & before if used.percent < _AGAIN else before
    made = Lit()
    if now.light and now.light not in after and not (only_told and now.light != "yellow"):
        after = after | {now.light, "yellow"}
        made = _done(kb, now, used, session, transcript, folder, host)
    if after != before:
        kb.state.save({"lit": sorted(after)}, *place)
    return made


def _done(kb: KnowledgeBase, now: Band, used: Usage, session: str, transcript: str, folder: str, host: str) -> Lit:
    share = f"{used.percent:.0f}"
    if now.light == "yellow":
        room = say(
            "kb: {percent}% of the context is in use, about {left} tokens are free. There is room enough: work on with "
            "care, nothing has to be finished in haste.", percent=share, left=f"{used.left:,}",
        )  # fmt: skip
        return Lit(now.light, kb.words(room))
    if now.light == "orange":
        return Lit(now.light, "", kb.words(_pruned(kb, session, transcript, share, used.percent)))
    return Lit(now.light, *_archived(kb, session, transcript, folder, host))


def _pruned(kb: KnowledgeBase, session: str, transcript: str, share: str, percent: float) -> Said:
    from kb.knowledge.session import pruning

    trigger = say("context use {percent}%", percent=share)
    made = pruning.prune(transcript, pruning.settings_of_kb(kb), pruning.Wanted(percent=percent, trigger=trigger),
                         config=kb.config, now=kb.now())  # fmt: skip
    place = pruning.keep_report(kb, made.report, session)
    return say("kb: {percent}% of the context is in use; pruning would save about {saved} tokens ({path}); "
               "a copy to go on with: kb prune {transcript} --out FILE",
               percent=share, saved=f"{made.plan.saved:,}", path=place, transcript=transcript)  # fmt: skip


def _archived(kb: KnowledgeBase, session: str, transcript: str, folder: str, host: str) -> tuple[str, str]:
    """Archive the session; return what the agent and what the person is told (RUYI-28)."""
    saved = kb.save_session(transcript, session=session, folder=folder, host=host, full=True)
    name = saved.archive or session
    told = say(
        "kb: the context is nearly full; the session is archived as {name}. You can go on in this session (with the "
        "compact form after the next compaction), or begin a new one and say: 继续{name}", name=name,
    )  # fmt: skip
    agent = say(
        "kb: the context is nearly full and the session is archived ({name}). Say so, finish the step at hand and go "
        "on from the compact form.", name=name,
    )  # fmt: skip
    return kb.words(agent), kb.words(told)
