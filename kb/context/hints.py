"""Say what an agent is told: before a task starts (T1), once its plan is fixed (T2), at a prompt, at a start.

A hint warns, reminds and remembers; it never decides. What it quotes was written by many hands, so nothing in it may
leave its line, hide characters, or pass for the frame around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.config import Config
from kb.context.budget import fitting, joined
from kb.context.hint_phrases import EN, ZH, Words
from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, Kind
from kb.records.model import LIVE, Record, Status
from kb.safety.quoting import (
    CELL_LIMIT,
    NAME_LIMIT,
    PATH_LIMIT,
    TITLE_LIMIT,
    Told,
    allowed,
    cell,
    no_tags,
    quoted,
    sentence,
    told,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import one_line, tokens

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


class _Entry(NamedTuple):
    part: str
    record: Record
    line: str = ""


def t1(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint before a task starts: risks, constraints and patterns among *records*, best first."""
    live = [record for record in records if record.status in LIVE and _kind(record).hint == T1]
    kept, warnings = allowed(live)
    entries = [_Entry(_t1_part(record), record) for record in kept]
    return _hint(entries, warnings, config, T1, ("risks", "constraints", "patterns"))


def t2(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint once a plan is fixed: decisions as history, interfaces, rollbacks among *records*, best first."""
    live = [record for record in records if record.status in LIVE and _kind(record).hint == T2]
    kept, warnings = allowed(live)
    entries = []
    for record in kept:
        entries.append(_Entry("interfaces" if record.kind == "interface" else "history", record))
        if sentence(record, "rollback"):
            entries.append(_Entry("rollbacks", record))
    return _hint(entries, warnings, config, T2, ("history", "interfaces", "rollbacks"))


_AT_ONCE = 32
"""So many records are looked at before it is asked whether there is room for more."""
_LEAST_ROOM = 12
"""Estimated tokens below which no line of a record has room."""


def _hint(
    entries: Sequence[_Entry], warnings: Sequence[Message], config: Config, moment: str, parts: Sequence[str]
) -> Hint:
    words = _words(config)
    few: list[_Entry] = []
    for entry in entries:
        if sum(other.part == entry.part for other in few) < config.hint_items:
            few.append(entry)
    if not few:
        return Hint(words.nothing, tuple(warnings))
    lines, more = _lined(few, words)

    def render(taken: list[_Entry]) -> str:
        blocks = [_block(part, [e.line for e in taken if e.part == part], words) for part in parts]
        footer = "---\n" + getattr(words, f"{moment}_footer")
        return "\n\n".join([getattr(words, moment), *filter(None, blocks), footer])

    taken = fitting(lines, config.hint_tokens, render)
    if not taken:
        return Hint("", (*warnings, *more, msg("no hint fits {budget} tokens", budget=config.hint_tokens)))
    shown = [entry.record for entry in taken]
    return Hint(render(taken), (*warnings, *more), tuple(r for n, r in enumerate(shown) if r not in shown[:n]))


def _lined(entries: Sequence[_Entry], words: Words, among: Sequence[Record] = ()) -> tuple[list[_Entry], list[Message]]:
    """Return *entries* with their lines, and what to warn of; of what speaks to an agent only the name is said.

    *among*: the records that may stand beside them, where those are more.
    """
    among = among or [entry.record for entry in entries]
    known: list[Told] = []
    lined = []
    for entry in entries:
        one = next((each for each in known if each.original is entry.record), None)
        if one is None:
            known.append(one := told(entry.record, words.untitled))
        if entry.part != "rollbacks" or not one.warning:
            lined.append(entry._replace(line=_line(entry.part, one, among, words)))
    return lined, [one.warning for one in known if one.warning]


def _line(part: str, one: Told, among: Sequence[Record], words: Words) -> str:
    """Return what is said of a record in one *part* of a hint."""
    name, title = _name(one.original, among), quoted(one.record.title, CELL_LIMIT if part == "history" else TITLE_LIMIT)
    if part == "history":
        return f"| [{name}] | {cell(title)}{_mark(one, words)} | {cell(sentence(one.record, 'why')) or '–'} |"
    if part == "rollbacks":
        return f"- {name}: {sentence(one.record, 'rollback')}"
    return f"- [{name}] {title}{_mark(one, words)}"


def _block(part: str, lines: list[str], words: Words) -> str:
    if not lines:
        return ""
    if part == "history":
        lines = [f"| {' | '.join(words.columns)} |", "|----|------|------|", *lines]
    return "\n".join([getattr(words, part), *lines])


def _t1_part(record: Record) -> str:
    """Return the part of T1 in which *record* stands: its category tells risks and patterns from constraints."""
    return {"anti-pattern": "risks", "pattern": "patterns"}.get(_kind(record).category, "constraints")


def _place(path: str) -> str:
    """Return *path* as it stands behind a title; one too long for a line is left out, for half a path opens nothing."""
    shown = quoted(path, 2 * PATH_LIMIT)
    return f" ({shown})" if path and not shown.endswith("…") else ""


def _name(record: Record, among: Sequence[Record]) -> str:
    """Return the id of *record*, with its scope where another of the same id stands beside it."""
    if not any(other.id == record.id and other.scope != record.scope for other in among):
        return quoted(record.id, NAME_LIMIT)
    return f"{quoted(record.scope.removeprefix('project/'), NAME_LIMIT)}:{quoted(record.id, NAME_LIMIT)}"


def _mark(one: Told, words: Words) -> str:
    live: Mapping[str, str] = {Status.ACCEPTED: "", Status.PROPOSED: f" ({words.unverified})"}
    withheld = f" ({words.withheld})" if one.warning else ""
    return live.get(one.record.status, f" ({words.dead})") + withheld


def _kind(record: Record) -> Kind:
    return BY_NAME.get(record.kind) or Kind(record.kind, "", record.kind, record.kind)


def _words(config: Config) -> Words:
    return ZH if config.language == "zh" else EN


# -- prompts, starts, sub-agents ------------------------------------------------------------------


def anchors(records: Sequence[Record], config: Config) -> Hint:
    """Return the list of *records*, best first, that a sub-agent starts with (RUYI "召唤分身时的上下文传递")."""
    words = _words(config)
    kept, warnings = allowed(records)
    facts = [told(record, words.untitled) for record in kept[: 2 * config.hint_items]]
    footer = f"---\n{words.t2_footer}"

    def render(taken: Sequence[Told]) -> str:
        lines = [_line("anchors", one, [fact.original for fact in facts], words) for one in taken]
        return "\n".join([*lines, "", footer])

    taken = fitting(facts, config.hint_tokens, render)
    warnings += [fact.warning for fact in facts if fact.warning]
    return Hint(render(taken) if taken else "", tuple(warnings), tuple(fact.original for fact in taken))


def prompt_hint(records: Sequence[Record], config: Config) -> Hint:
    """Return what a prompt is answered with: *records*, best first, quoted as data; no text without records."""
    words = _words(config)
    kept, warnings = allowed(records)
    few = kept[: config.hint_items]
    facts = [told(record, words.untitled) for record in few]
    warnings += [fact.warning for fact in facts if fact.warning]

    def render(taken: list[Told]) -> str:
        footer = words.prompt_footer.format(id=_name_to_call(taken[0].original, few))
        return "\n".join([words.prompt, *(_fact(fact, few, words) for fact in taken), footer])

    taken = fitting(facts, config.prompt_tokens, render)
    return Hint(render(taken) if taken else "", tuple(warnings), tuple(fact.original for fact in taken))


def _name_to_call(record: Record, among: Sequence[Record]) -> str:
    """Return the name of *record* for a command; no more than "ID" for one that is none."""
    name = _name(record, among)
    return name if _CALLABLE.fullmatch(name) else "ID"


def _fact(fact: Told, among: Sequence[Record], words: Words) -> str:
    """Return the line that quotes a record with its origin: its id, and where its file stands."""
    kind = _kind(fact.original)
    label = quoted(kind.zh if words is ZH else kind.en, NAME_LIMIT)
    why = sentence(fact.record, "why")
    reason = f" — {why}" if why else ""
    place = _place(fact.original.path)
    title = quoted(fact.record.title, TITLE_LIMIT)
    return f"> - [{_name(fact.original, among)}] {label}{words.colon}{title}{_mark(fact, words)}{reason}{place}"


def most_at_start(config: Config) -> int:
    """Return how many records a starting session can be told of, at most."""
    return config.start_tokens // _LEAST_ROOM


def start_context(
    compact: str, records: Sequence[Record], config: Config, *, counts: Mapping[str, int], reviews: int = 0
) -> Hint:
    """Return what a starting session is told, within `start_tokens`; no text for an empty knowledge base.

    *compact* is the compact form to restore, or ""; its whole lines stand before the *records* that always hold.
    *counts* has the number of live records of each kind.
    """
    words = _words(config)
    if not compact.strip() and not any(counts.values()) and not reviews:
        return Hint()
    heading = "" if compact.lstrip().startswith("#") else words.compact
    opening = _opening(config, counts, reviews)

    def render(taken: list[_Entry]) -> str:
        restored = [e.line for e in taken if e.part == "compact"]
        always = [e.line for e in taken if e.part == "always"]
        blocks = (
            joined(restored, header=heading),
            opening,
            joined(always, header=words.always),
            words.pointer,
        )
        return "\n\n".join(filter(None, blocks))

    rows = [_Entry("compact", Record("", "", ""), row) for row in _rows(compact)]
    taken = fitting(rows, config.start_tokens, render)
    warnings: list[Message] = []
    live = [record for record in records if record.status in LIVE]
    for first in range(0, len(live), _AT_ONCE):
        if tokens(render(taken)) > config.start_tokens - _LEAST_ROOM:
            break
        kept, held_back = allowed(live[first : first + _AT_ONCE])
        holding = [_Entry("always", record, _line("always", Told(record, record), live, words)) for record in kept]
        likely = fitting(holding, config.start_tokens, render, taken)
        lines, more = _lined(likely[len(taken) :], words, live)
        taken = fitting(lines, config.start_tokens, render, taken)
        warnings += (*held_back, *more)
    if not taken and not fitting([None], config.start_tokens, lambda _: render([])):
        return Hint("", (*warnings, msg("no hint fits {budget} tokens", budget=config.start_tokens)))
    return Hint(render(taken), tuple(warnings), tuple(e.record for e in taken if e.part == "always"))


def _opening(config: Config, counts: Mapping[str, int], reviews: int) -> str:
    words = _words(config)
    labels = [(BY_NAME[name], n) for name, n in counts.items() if n and name in BY_NAME]
    spoken = words.comma.join(f"{kind.zh} {n}" if words is ZH else f"{kind.en} {n}" for kind, n in labels)
    rows = [words.start.format(name=quoted(config.name, TITLE_LIMIT))]
    rows += [words.holdings.format(counts=spoken)] if spoken else []
    rows += [words.reviews.format(n=reviews)] if reviews else []
    return "\n".join(rows)


def _rows(compact: str) -> list[str]:
    """Return the lines of the compact form: what hides in them is shown, and nothing passes for a tag of the host."""
    from kb.safety.injection import visible

    return no_tags(visible(compact.strip())).split("\n") if compact.strip() else []


def framed(text: str, config: Config) -> str:
    """Return *text*, hints in the protocol's own form, with whose words they are above it."""
    return f"{_words(config).prompt}\n\n{text}" if text else ""


def spawn(compact: str, hint_text: str, task: str, pointer: str, *, language: str = "zh", style: str = "shi") -> str:
    """Return the prompt for a sub-agent: compact form, hints, task, and where the whole context stands.

    The layouts are fixed (SHI and RUYI "召唤分身时的上下文传递"); a part with nothing in it is left out.
    """
    words = ZH if language == "zh" else EN
    target = one_line(pointer).replace("\\", "\\\\").replace('"', '\\"')
    more = words.more.format(pointer=target) if pointer else ""
    rows = _rows(compact)
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


def moments(avatar: str) -> tuple[str, ...]:
    """Return which of "t1" and "t2" the *avatar* gets, by its name or an alias; () for an unknown one."""
    return _MOMENTS.get(_AVATARS.get(avatar.strip().casefold(), ""), ())
