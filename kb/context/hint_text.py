"""Say what an agent is told: before a task starts (T1), once its plan is fixed (T2), at a prompt, at a start.

A hint warns, reminds and remembers; it never decides. What it quotes was written by many hands, so nothing in it may
leave its line, hide characters, or pass for the frame around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.config import Config
from kb.context.budget import join_lines, select_fitting
from kb.context.hint_phrases import EN, ZH, HintPhrases
from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, Kind
from kb.records.model import LIVE, Record, Status
from kb.safety.quoting import (
    CELL_LIMIT,
    NAME_LIMIT,
    PATH_LIMIT,
    TITLE_LIMIT,
    QuotedRecord,
    escape_cell,
    escape_tags,
    quote_first_sentence,
    quote_record,
    quote_text,
    select_hintable,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import estimate_tokens, one_line

T1, T2 = "t1", "t2"
_CALLABLE = regex(r"(?:[\w.-]{1,40}:)?[\w-]{1,40}")

_MOMENTS: Mapping[str, tuple[str, ...]] = {
    "眼": (T1,),
    "耳": (),
    "意": (T2,),
    "身": (T1, T2),
    "舌": (T1,),
    "鼻": (T1, T2),
}
"""Which hint an avatar gets (SHI "分身惯性提示配置")."""

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "眼": ("explorer", "eye", "explore"),
    "耳": ("analyst", "ear"),
    "意": ("architect", "mind", "plan"),
    "身": ("斗战胜佛", "impl", "implementer", "body"),
    "舌": ("tester", "tongue"),
    "鼻": ("reviewer", "nose"),
}
AVATARS = tuple(_MOMENTS)
_AVATARS = {alias: avatar for avatar, aliases in _ALIASES.items() for alias in (avatar, *aliases)}


class Hint(NamedTuple):
    """What an agent is told."""

    text: str = ""
    warnings: tuple[Message, ...] = ()
    """What was left out of the text, and why; for the log or stderr, not for the agent."""
    shown: tuple[Record, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records shown, in order, without repetition."""
        return tuple(dict.fromkeys(record.id for record in self.shown))


# -- T1 and T2 ------------------------------------------------------------------------------------


class _HintEntry(NamedTuple):
    part: str
    record: Record
    line: str = ""


def render_t1(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint before a task starts: risks, constraints and patterns among *records*, best first."""
    live = [record for record in records if record.status in LIVE and _find_kind(record).hint == T1]
    kept, warnings = select_hintable(live)
    entries = [_HintEntry(_choose_t1_part(record), record) for record in kept]
    return _render_hint(entries, warnings, config, T1, ("risks", "constraints", "patterns"))


def render_t2(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint once a plan is fixed: decisions as history, interfaces, rollbacks among *records*, best first."""
    live = [record for record in records if record.status in LIVE and _find_kind(record).hint == T2]
    kept, warnings = select_hintable(live)
    entries = []
    for record in kept:
        entries.append(_HintEntry("interfaces" if record.kind == "interface" else "history", record))
        if quote_first_sentence(record, "rollback"):
            entries.append(_HintEntry("rollbacks", record))
    return _render_hint(entries, warnings, config, T2, ("history", "interfaces", "rollbacks"))


_AT_ONCE = 32
"""So many records are looked at before it is asked whether there is room for more."""
_LEAST_ROOM = 12
"""Estimated tokens below which no line of a record has room."""


def _render_hint(
    entries: Sequence[_HintEntry], warnings: Sequence[Message], config: Config, moment: str, parts: Sequence[str]
) -> Hint:
    words = _choose_phrases(config)
    few: list[_HintEntry] = []
    for entry in entries:
        if sum(other.part == entry.part for other in few) < config.hint_items:
            few.append(entry)
    if not few:
        return Hint(words.nothing, tuple(warnings))
    lines, more = _add_lines(few, words)

    def render(taken: list[_HintEntry]) -> str:
        blocks = [_format_block(part, [e.line for e in taken if e.part == part], words) for part in parts]
        footer = "---\n" + getattr(words, f"{moment}_footer")
        return "\n\n".join([getattr(words, moment), *filter(None, blocks), footer])

    taken = select_fitting(lines, config.hint_tokens, render)
    if not taken:
        return Hint("", (*warnings, *more, msg("no hint fits {budget} tokens", budget=config.hint_tokens)))
    shown = [entry.record for entry in taken]
    return Hint(render(taken), (*warnings, *more), tuple(r for n, r in enumerate(shown) if r not in shown[:n]))


def _add_lines(
    entries: Sequence[_HintEntry], words: HintPhrases, among: Sequence[Record] = ()
) -> tuple[list[_HintEntry], list[Message]]:
    """Return *entries* with their lines, and what to warn of; of what speaks to an agent only the name is said.

    *among*: the records that may stand beside them, where those are more.
    """
    among = among or [entry.record for entry in entries]
    known: list[QuotedRecord] = []
    lined = []
    for entry in entries:
        one = next((each for each in known if each.original is entry.record), None)
        if one is None:
            known.append(one := quote_record(entry.record, words.untitled))
        if entry.part != "rollbacks" or not one.warning:
            lined.append(entry._replace(line=_format_line(entry.part, one, among, words)))
    return lined, [one.warning for one in known if one.warning]


def _format_line(part: str, one: QuotedRecord, among: Sequence[Record], words: HintPhrases) -> str:
    """Return what is said of a record in one *part* of a hint."""
    name, title = (
        _format_name(one.original, among),
        quote_text(one.record.title, CELL_LIMIT if part == "history" else TITLE_LIMIT),
    )
    if part == "history":
        why = escape_cell(quote_first_sentence(one.record, "why")) or "–"
        return f"| [{name}] | {escape_cell(title)}{_format_mark(one, words)} | {why} |"
    if part == "rollbacks":
        return f"- {name}: {quote_first_sentence(one.record, 'rollback')}"
    return f"- [{name}] {title}{_format_mark(one, words)}"


def _format_block(part: str, lines: list[str], words: HintPhrases) -> str:
    if not lines:
        return ""
    if part == "history":
        lines = [f"| {' | '.join(words.columns)} |", "|----|------|------|", *lines]
    return "\n".join([getattr(words, part), *lines])


def _choose_t1_part(record: Record) -> str:
    """Return the part of T1 in which *record* stands: its category tells risks and patterns from constraints."""
    return {"anti-pattern": "risks", "pattern": "patterns"}.get(_find_kind(record).category, "constraints")


def _format_path(path: str) -> str:
    """Return *path* as it stands behind a title; one too long for a line is left out, for half a path opens nothing."""
    shown = quote_text(path, 2 * PATH_LIMIT)
    return f" ({shown})" if path and not shown.endswith("…") else ""


def _format_name(record: Record, among: Sequence[Record]) -> str:
    """Return the id of *record*, with its scope where another of the same id stands beside it."""
    if not any(other.id == record.id and other.scope != record.scope for other in among):
        return quote_text(record.id, NAME_LIMIT)
    return f"{quote_text(record.scope.removeprefix('project/'), NAME_LIMIT)}:{quote_text(record.id, NAME_LIMIT)}"


def _format_mark(one: QuotedRecord, words: HintPhrases) -> str:
    live: Mapping[str, str] = {Status.ACCEPTED: "", Status.PROPOSED: f" ({words.unverified})"}
    withheld = f" ({words.withheld})" if one.warning else ""
    return live.get(one.record.status, f" ({words.dead})") + withheld


def _find_kind(record: Record) -> Kind:
    return BY_NAME.get(record.kind) or Kind(record.kind, "", record.kind, record.kind)


def _choose_phrases(config: Config) -> HintPhrases:
    return ZH if config.language == "zh" else EN


# -- prompts, starts, sub-agents ------------------------------------------------------------------


def render_anchors(records: Sequence[Record], config: Config) -> Hint:
    """Return the list of *records*, best first, that a sub-agent starts with (RUYI "召唤分身时的上下文传递")."""
    words = _choose_phrases(config)
    kept, warnings = select_hintable(records)
    facts = [quote_record(record, words.untitled) for record in kept[: 2 * config.hint_items]]
    footer = f"---\n{words.t2_footer}"

    def render(taken: Sequence[QuotedRecord]) -> str:
        lines = [_format_line("anchors", one, [fact.original for fact in facts], words) for one in taken]
        return "\n".join([*lines, "", footer])

    taken = select_fitting(facts, config.hint_tokens, render)
    warnings += [fact.warning for fact in facts if fact.warning]
    return Hint(render(taken) if taken else "", tuple(warnings), tuple(fact.original for fact in taken))


def render_prompt_hint(records: Sequence[Record], config: Config) -> Hint:
    """Return what a prompt is answered with: *records*, best first, quoted as data; no text without records."""
    words = _choose_phrases(config)
    kept, warnings = select_hintable(records)
    few = kept[: config.hint_items]
    facts = [quote_record(record, words.untitled) for record in few]
    warnings += [fact.warning for fact in facts if fact.warning]

    def render(taken: list[QuotedRecord]) -> str:
        footer = words.prompt_footer.format(id=_format_command_name(taken[0].original, few))
        return "\n".join([words.prompt, *(_format_quote(fact, few, words) for fact in taken), footer])

    taken = select_fitting(facts, config.prompt_tokens, render)
    return Hint(render(taken) if taken else "", tuple(warnings), tuple(fact.original for fact in taken))


def _format_command_name(record: Record, among: Sequence[Record]) -> str:
    """Return the name of *record* for a command; no more than "ID" for one that is none."""
    name = _format_name(record, among)
    return name if _CALLABLE.fullmatch(name) else "ID"


def _format_quote(fact: QuotedRecord, among: Sequence[Record], words: HintPhrases) -> str:
    """Return the line that quotes a record with its origin: its id, and where its file stands."""
    kind = _find_kind(fact.original)
    label = quote_text(kind.zh if words is ZH else kind.en, NAME_LIMIT)
    why = quote_first_sentence(fact.record, "why")
    reason = f" — {why}" if why else ""
    place = _format_path(fact.original.path)
    title = quote_text(fact.record.title, TITLE_LIMIT)
    name = _format_name(fact.original, among)
    return f"> - [{name}] {label}{words.colon}{title}{_format_mark(fact, words)}{reason}{place}"


def get_start_limit(config: Config) -> int:
    """Return how many records a starting session can be told of, at most."""
    return config.start_tokens // _LEAST_ROOM


def render_start_context(
    compact: str, records: Sequence[Record], config: Config, *, counts: Mapping[str, int], reviews: int = 0
) -> Hint:
    """Return what a starting session is told, within `start_tokens`; no text for an empty knowledge base.

    *compact* is the compact form to restore, or ""; its whole lines stand before the *records* that always hold.
    *counts* has the number of live records of each kind.
    """
    words = _choose_phrases(config)
    if not compact.strip() and not any(counts.values()) and not reviews:
        return Hint()
    heading = "" if compact.lstrip().startswith("#") else words.compact
    opening = _format_opening(config, counts, reviews)

    def render(taken: list[_HintEntry]) -> str:
        restored = [e.line for e in taken if e.part == "compact"]
        always = [e.line for e in taken if e.part == "always"]
        blocks = (
            join_lines(restored, header=heading),
            opening,
            join_lines(always, header=words.always),
            words.pointer,
        )
        return "\n\n".join(filter(None, blocks))

    rows = [_HintEntry("compact", Record("", "", ""), row) for row in _split_compact(compact)]
    taken = select_fitting(rows, config.start_tokens, render)
    warnings: list[Message] = []
    live = [record for record in records if record.status in LIVE]
    for first in range(0, len(live), _AT_ONCE):
        if estimate_tokens(render(taken)) > config.start_tokens - _LEAST_ROOM:
            break
        kept, held_back = select_hintable(live[first : first + _AT_ONCE])
        holding = [
            _HintEntry("always", record, _format_line("always", QuotedRecord(record, record), live, words))
            for record in kept
        ]
        likely = select_fitting(holding, config.start_tokens, render, taken)
        lines, more = _add_lines(likely[len(taken) :], words, live)
        taken = select_fitting(lines, config.start_tokens, render, taken)
        warnings += (*held_back, *more)
    if not taken and not select_fitting([None], config.start_tokens, lambda _: render([])):
        return Hint("", (*warnings, msg("no hint fits {budget} tokens", budget=config.start_tokens)))
    return Hint(render(taken), tuple(warnings), tuple(e.record for e in taken if e.part == "always"))


def _format_opening(config: Config, counts: Mapping[str, int], reviews: int) -> str:
    words = _choose_phrases(config)
    labels = [(BY_NAME[name], n) for name, n in counts.items() if n and name in BY_NAME]
    spoken = words.comma.join(f"{kind.zh} {n}" if words is ZH else f"{kind.en} {n}" for kind, n in labels)
    rows = [words.start.format(name=quote_text(config.name, TITLE_LIMIT))]
    rows += [words.holdings.format(counts=spoken)] if spoken else []
    rows += [words.reviews.format(n=reviews)] if reviews else []
    return "\n".join(rows)


def _split_compact(compact: str) -> list[str]:
    """Return the lines of the compact form: what hides in them is shown, and nothing passes for a tag of the host."""
    from kb.safety.injection import reveal_hidden

    return escape_tags(reveal_hidden(compact.strip())).split("\n") if compact.strip() else []


def add_quote_notice(text: str, config: Config) -> str:
    """Return *text*, hints in the protocol's own form, with whose words they are above it."""
    return f"{_choose_phrases(config).prompt}\n\n{text}" if text else ""


def render_spawn_prompt(
    compact: str, hint_text: str, task: str, pointer: str, *, language: str = "zh", style: str = "shi"
) -> str:
    """Return the prompt for a sub-agent: compact form, hints, task, and where the whole context stands.

    The layouts are fixed (SHI and RUYI "召唤分身时的上下文传递"); a part with nothing in it is left out.
    """
    words = ZH if language == "zh" else EN
    target = one_line(pointer).replace("\\", "\\\\").replace('"', '\\"')
    more = words.more.format(pointer=target) if pointer else ""
    rows = _split_compact(compact)
    parts = (
        (words.compact, "\n".join(rows[1:] if rows and rows[0].startswith("## 🔸") else rows)),
        (words.anchors if style == "ruyi" else words.hints, hint_text),
        (words.task, task),
        (words.note, more),
    )
    return "\n\n".join(f"{heading}\n{text.strip()}" for heading, text in parts if text.strip()) + "\n"


def is_avatar(name: str) -> bool:
    """Return whether *name* is an avatar or an alias of one."""
    return name.strip().casefold() in _AVATARS


def list_moments(avatar: str) -> tuple[str, ...]:
    """Return which of "t1" and "t2" the *avatar* gets, by its name or an alias; () for an unknown one."""
    return _MOMENTS.get(_AVATARS.get(avatar.strip().casefold(), ""), ())
