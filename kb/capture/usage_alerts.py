"""Alerts as an agent's context fills up: a reminder at 70 %, pruning at 85 %, an archive above 95 %."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.kinds import sanitise_session_id
from kb.sessions.usage import BANDS, ContextUsage, UsageBand, find_usage_band, find_window, read_usage
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.sessions.active_sessions import ExtractionJob
    from kb.workspace import Workspace

FILE = "lights.json"
_TAIL_BYTES = 400_000  # bytes of a transcript that tell how full the context is
_REARM_PERCENT = 50  # percent below which the orange and the red light can be lit again; the yellow one is lit once


class UsageAlert(NamedTuple):
    """What the agent (*context*) and the person (*message*) are told of the use of the context."""

    context: str = ""
    message: str = ""


class AlertState(NamedTuple):
    """What is remembered of the lights of a session."""

    lit: tuple[str, ...] = ()
    untold: str = ""  # what the agent is still to be told: the light was lit at an event whose answer it does not hear
    held: int = 0  # the most tokens that the context has had
    until: int = 0  # bytes of the transcript up to which no tool call need look: it cannot have reached the next light


def measure_usage(
    kb: Workspace, transcript: str = "", *, percent: float = -1.0, model: str = "", held: int = 0
) -> ContextUsage:
    """Return how full the context is: as the caller measured it (*percent*, -1 for nothing), or by the transcript.

    *held*: so many tokens the context has had before, as far as is known.
    """
    from kb.sessions.host_input import read_transcript

    windows, usual = kb.config.context_windows, kb.config.context_window
    if percent >= 0 or not transcript:
        return ContextUsage(0, find_window(model, windows, usual).tokens, model, given=percent, is_known=percent >= 0)
    found = read_usage(read_transcript(transcript, _TAIL_BYTES), windows, usual, held)
    if found.line or os.stat(transcript).st_size <= _TAIL_BYTES:
        return found
    return read_usage(read_transcript(transcript), windows, usual, held)


def measure_band(kb: Workspace, transcript: str, *, percent: float, model: str) -> tuple[ContextUsage, UsageBand]:
    """Return how full the context is, and the band that is."""
    used = measure_usage(kb, transcript, percent=percent, model=model)
    return used, find_usage_band(used)


def parse_host_percent(payload: Mapping[str, Any]) -> float:
    """Return the percentage that a host's *payload* names; -1 where it names none."""
    value, tokens, window = (
        payload.get(key) for key in ("context_usage_percent", "context_tokens", "context_window_size")
    )
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1000:
        return float(value)
    if isinstance(tokens, int) and isinstance(window, int) and tokens >= 0 and window > 0:
        return 100 * tokens / window
    return -1.0


def raise_alerts(
    kb: Workspace,
    session: str,
    transcript: str,
    *,
    percent: float = -1.0,
    folder: str = "",
    host: str = "",
    only_told: bool = False,
    heard: bool = True,
) -> UsageAlert:
    """Do what the use of the context calls for, once for each light, and return what is to be said.

    *only_told*: nothing is pruned or archived now; that waits for an event that has the time. *heard* False: the agent
    does not hear the answer; what it is to be told waits for one that it hears.
    """
    if not session:
        return UsageAlert()
    before = _load_state(kb, session)
    try:
        used = measure_usage(kb, transcript, percent=percent, held=before.held)
    except BadInput:
        return UsageAlert()
    now = find_usage_band(used)
    # A context that was compacted to less than a half may light orange and red again.
    lit = {"yellow"} & set(before.lit) if used.percent < _REARM_PERCENT else set(before.lit)
    # A tool call has no time for a pruning report or an archive: only the reminder is given there.
    waits = now.light != "yellow" if only_told else now.light == "yellow" and not heard
    alert = UsageAlert(before.untold if heard else "")
    if now.light and now.light not in lit and not waits:
        lit |= {now.light, "yellow"}
        from kb.sessions.active_sessions import ExtractionJob

        done = _run_alert(kb, now, used, ExtractionJob(transcript, session, folder, host))
        alert = done._replace(context="\n\n".join(filter(None, (alert.context, done.context))))
    untold = "" if heard else alert.context or before.untold
    until = _compute_next_look(used, transcript, before.until)
    after = AlertState(tuple(sorted(lit)), untold, max(before.held, used.tokens), until)
    if after != before:
        _save_state(kb, session, after)
    return alert


def reset_alerts(kb: Workspace, session: str) -> tuple[str, ...]:
    """Put orange and red out, as the context is compacted now, and return which were lit before."""
    before = _load_state(kb, session) if session else AlertState()
    after = before._replace(lit=tuple(name for name in before.lit if name == "yellow"))
    if after != before:
        _save_state(kb, session, after)
    return before.lit


def _load_state(kb: Workspace, session: str) -> AlertState:
    """Return what is remembered of the lights of *session*; a damaged field counts as missing."""
    value = kb.state.load("active", sanitise_session_id(session), FILE)
    found = value if isinstance(value, dict) else {}
    usual = {key: default for key, default in AlertState._field_defaults.items() if key != "lit"}
    kept = {key: found[key] for key, default in usual.items() if isinstance(found.get(key), type(default))}
    names = found.get("lit")
    lit = tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    return AlertState(lit, **kept)


def _save_state(kb: Workspace, session: str, state: AlertState) -> None:
    kb.state.save(state._asdict(), "active", sanitise_session_id(session), FILE)


def _compute_next_look(used: ContextUsage, transcript: str, before: int) -> int:
    """Return from which size of the transcript in bytes on a tool call has to read it again; *before*: as it was.

    A token takes a byte of the file at least, so it grows by as many bytes as there are tokens left, or more.
    """
    try:
        size = os.stat(transcript).st_size
    except (OSError, ValueError):
        size = 0
    next_light = next((one.above for one in BANDS if one.light and one.above > used.percent), BANDS[-1].above)
    left = round(used.window * (next_light - used.percent) / 100) if used.is_known else used.window
    return before if size < before else size + max(left, used.window // 50)


def _run_alert(kb: Workspace, now: UsageBand, used: ContextUsage, job: ExtractionJob) -> UsageAlert:
    """Remind, prune on paper or archive (RUYI-28), as the light of *now* has it, and return what is to be said."""
    if now.light == "yellow":
        room = msg(
            "kb: {percent}% of the context is in use, about {left} tokens are free. There is enough room: keep "
            "working carefully, there is no need to rush.",
            percent=f"{used.percent:.0f}",
            left=f"{used.left:,}",
        )
        return UsageAlert(kb.localise(room))
    if now.light == "orange":
        return UsageAlert(message=_plan_pruning(kb, job, used.percent))
    from kb.capture.submit import flush_and_save

    name = flush_and_save(kb, job, full=True).archive or job.session
    message = msg(
        "kb: the context is nearly full; the session is archived as {name}. You can go on in this session (with the "
        "compact form after the next compaction), or begin a new one and say: continue {name}",
        name=name,
    )
    context = msg(
        "kb: the context is nearly full and the session is archived ({name}). Say so, finish the step at hand and go "
        "on from the compact form.",
        name=name,
    )
    return UsageAlert(kb.localise(context), kb.localise(message))


def _plan_pruning(kb: Workspace, job: ExtractionJob, percent: float) -> str:
    """Prune on paper, and return what the person is told; "" where nothing can be saved."""
    from kb.sessions import prune_transcript
    from kb.sessions.dcp_settings import load_settings

    share = f"{percent:.0f}"
    wanted = prune_transcript.PruneRequest(percent=percent, trigger=msg("context use {percent}%", percent=share))
    made = prune_transcript.prune(job.transcript, load_settings(kb), wanted, config=kb.config, now=kb.now())
    report = prune_transcript.save_report(kb, made.report, job.session)
    saving = msg(
        "kb: {percent}% of the context is in use; pruning would save about {saved} tokens ({path}); "
        "a copy to go on with: kb prune {transcript} --out FILE",
        percent=share,
        saved=f"{made.plan.saved_tokens:,}",
        path=report,
        transcript=job.transcript,
    )
    return kb.localise(saving) if made.plan.saved_tokens else ""
