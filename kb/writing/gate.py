"""Decide whether a candidate matters enough to become a record.

Any one ground is enough (SHI-19, RUYI "写入门槛"): it repeats over sessions, its impact is large, it is of use
elsewhere, or a question of the self-check is answered with yes. Three times no keeps it in the session, whatever else
holds. Who asks makes no difference: a person who types a candidate says the same things, as options.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from kb.config import Config
from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, kind_label
from kb.records.model import Candidate
from kb.records.status_names import area_name
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import clip
from kb.writing.impact_weight import find_impact_areas, find_touched_modules
from kb.writing.objection import Objection

SURE = 0.5
"""Confidence (0.0–1.0) below which words alone prove nothing. What its caller does not doubt counts as sure."""

_STANDING = regex(
    r"\bfrom now on\b|\bgoing forward\b|\bfrom here on\b|\bnext time (?:we|you|i)\b"
    r"|以后(?:都|一律|统一|不再|要|就|请|只|不|每)|^\s*以后|[，,。]以后|今后|从现在起|从今以?往?后|下次(?:再|遇|要|请|先|不)",
    re.IGNORECASE,
)
_LESSON = regex(
    r"\blessons? learn|\blesson\s*:|\bbit(?:ten)? us (?:again|before|twice)\b"
    r"|\bmade this mistake (?:again|before|twice)"
    r"|教训|又一次|又踩|踩过|踩坑|(?:再次|第[二三四五]次|反复)(?:遇到|出现|发生|踩|讨论)|重蹈覆辙",
    re.IGNORECASE,
)


_SIGNATURE = regex(
    r"(?<![\w.:])[A-Za-z_][\w.:]*+\([^()\n]{0,200}\)\s{0,9}(?:->|=>|→|:|返回|returns?\b)"
    r"|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+/[\w/{}:.-]*"
)
"""A call with what it returns, or a request: `Agent.review() -> ReviewResult`, `GET /health`."""


class SelfCheck(NamedTuple):
    """The three questions before writing (RUYI "写入前自检"), each answered with yes, no or not at all."""

    affects_future: bool | None
    reference_value: bool | None
    prevents_repeat: bool | None


class Admission(NamedTuple):
    """Whether a candidate may be written, on which grounds, and what would answer the objections."""

    admitted: bool
    grounds: tuple[Message, ...] = ()
    objections: tuple[Objection, ...] = ()


def assess_admission(
    candidate: Candidate, sightings: int, config: Config, known_modules: Sequence[str] = (),
    *, in_sessions: bool = True, overturns: str = "",
) -> Admission:  # fmt: skip
    """Return whether *candidate*, seen in *sightings* different sessions with this one, may be written, and why.

    *in_sessions* False: what has been counted are times, not all of which named a session of their own.
    *known_modules* are the folders of the project's modules, where the caller knows them. *overturns* is the id of
    an accepted record that the candidate contradicts: what would change a decision in force is never a small matter.
    """
    answers = answer_self_check(candidate)
    if set(answers) == {False}:
        return Admission(False, (), (DECLINED,))
    grounds = (
        *_find_repetition(sightings, config, in_sessions=in_sessions),
        *((msg("updates [{id}], which has passed the gate", id=candidate.updates),) if candidate.updates else ()),
        *_find_large_impact(candidate, known_modules),
        *_find_reuse_ground(candidate, config.language),
        *_list_yes_grounds(answers),
        *((msg("contradicts [{id}], which is in force", id=overturns),) if overturns else ()),
    )
    return (
        Admission(True, grounds)
        if grounds
        else Admission(False, (), (_build_gate_objection(candidate, sightings, config),))
    )


def require_approval(config: Config, *, given: bool) -> tuple[Objection, ...]:
    """Return the objection to what a person has not approved, where the settings ask for that (MBANK-25)."""
    if given or config.approval != "person":
        return ()
    remedy = msg("answer mb:write in the session, or: kb inbox promote {held}", held="NAME")
    return (Objection("approval", msg("it waits for a person"), remedy, refuses=False),)


def answer_self_check(candidate: Candidate) -> SelfCheck:
    """Return the answers to the three questions; what the caller left open is read from the text where it says so.

    "From now on" and "以后都" say that it affects the future, "lesson learned" and "教训" that it prevents a repeated
    mistake. Nothing in a text proves reference value, and no text proves a no. Below half a confidence the
    text is not asked.
    """
    text = unicodedata.normalize("NFKC", f"{candidate.title}\n{candidate.decision}")
    sure = _is_confident(candidate)
    future, repeat = candidate.affects_future, candidate.prevents_repeat
    return SelfCheck(
        True if future is None and sure and _STANDING.search(text) else future,
        candidate.reference_value,
        True if repeat is None and sure and _LESSON.search(text) else repeat,
    )


def _find_repetition(sightings: int, config: Config, *, in_sessions: bool) -> tuple[Message, ...]:
    if sightings < config.repeat:
        return ()
    if in_sessions:
        return (msg("repeated: seen in {count} sessions", count=sightings),)
    return (msg("repeated: seen at least {count} times", count=sightings),)


def _find_large_impact(candidate: Candidate, known: Sequence[str]) -> tuple[Message, ...]:
    """Return why the impact is large: what the caller named, then what the words name, then the touched modules."""
    named = [msg("large impact: {area}", area=area_name(area)) for area in candidate.impact_areas]
    if _is_confident(candidate):
        read = {area: word for area, word in find_impact_areas(candidate).items() if area not in candidate.impact_areas}
        named += [
            msg("large impact: {area} (“{word}”)", area=area_name(area), word=word) for area, word in read.items()
        ]
    signature = _SIGNATURE.search(f"{candidate.title}\n{candidate.decision}")
    if candidate.kind == "interface" and signature and not named:
        named.append(msg("large impact: callers depend on “{signature}”", signature=clip(signature.group(), 40)))
    touched = find_touched_modules(candidate, known)
    if len(touched) > 1:
        names = ", ".join(touched)
        named.append(msg("large impact: touches {count} modules ({names})", count=len(touched), names=names))
    return tuple(named)


def _find_reuse_ground(candidate: Candidate, language: str) -> tuple[Message, ...]:
    if candidate.reusable:
        return (msg("reusable: useful in other projects"),)
    if candidate.reusable is None and BY_NAME[candidate.kind].reusable:
        return (msg("reusable: a {kind} is made to be used again", kind=kind_label(candidate.kind, language).lower()),)
    return ()


def _list_yes_grounds(answers: SelfCheck) -> tuple[Message, ...]:
    said = (
        msg("self-check: it affects later decisions"),
        msg("self-check: it will be worth looking up"),
        msg("self-check: it prevents a repeated discussion or mistake"),
    )
    return tuple(sentence for sentence, answer in zip(said, answers, strict=True) if answer)


def _is_confident(candidate: Candidate) -> bool:
    return candidate.confidence is None or candidate.confidence >= SURE


DECLINED = Objection(
    "self-check",
    msg("all three questions of the self-check are answered with no: it becomes no record"),
    msg("if one of them is a yes, say which: --affects-future yes, --reference yes or --prevents-repeat yes"),
)
"""Why three answers of "no" keep a candidate out of the records; it stays with its session (RUYI-06)."""


def _build_gate_objection(candidate: Candidate, sightings: int, config: Config) -> Objection:
    """Return the objection to a candidate without a ground, with what to add, exactly."""
    if _is_confident(candidate):
        reason = msg("below the gate: neither repeated, nor of large impact, nor reusable")
    else:
        reason = msg("below the gate: with a confidence of {confidence}, words alone prove nothing",
                     confidence=candidate.confidence)  # fmt: skip
    remedy = msg(
        "say why it matters: --area architecture|security|performance|compliance|modules, --reusable or "
        "--affects-future yes; or wait until it is seen in {count} more session(s)",
        count=config.repeat - sightings,
    )
    return Objection("gate", reason, remedy, refuses=False)
