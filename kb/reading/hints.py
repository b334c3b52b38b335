"""Say what an agent is told: before a task starts (T1), once its plan is fixed (T2), at a prompt, at a start.

A hint warns, reminds and remembers; it never decides. What it quotes was written by many hands, so nothing in it may
leave its line, hide characters, or pass for the frame around it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kb.config import Config
from kb.kinds import BY_NAME, Kind
from kb.patterns import regex
from kb.reading.budget import fitting, joined
from kb.reading.frames import EN, ZH, Words
from kb.record import LIVE, Record, Status
from kb.text import clip, first_sentence, one_line
from kb.words import Said, say

TITLE_LIMIT = 80
"""Characters of a title in a list."""

CELL_LIMIT = 60
"""Characters of a cell of the history table, and of a reason."""

T1, T2 = "t1", "t2"

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
_AVATARS = {alias: avatar for avatar, aliases in _ALIASES.items() for alias in (avatar, *aliases)}


class Hint(NamedTuple):
    """What an agent is told."""

    text: str = ""
    warnings: tuple[Said, ...] = ()
    """What was left out of the text, and why; for the log or stderr, not for the agent."""
    shown: tuple[Record, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records shown, in order, without repetition."""
        return tuple(dict.fromkeys(record.id for record in self.shown))


# -- what may be said -----------------------------------------------------------------------------

_HIDDEN = regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_DECORATION = dict.fromkeys(map(ord, "*`\u200c\u200d\ufe0e\ufe0f"))
_TAG = regex(r"<(?=[A-Za-z/!?])")
_PIPE = regex(r"\\*\|")
_NONE = frozenset(
    ["", "-", "–", "—", "/", "n/a", "na", "none", "nothing", "tbd", "无", "暂无", "不适用", "待定", "没有"]
)

_CONCLUSION = regex(
    r"\b(?:recommended|final)[ _-]?(?:solution|decision)\s*[:=：]|\b(?:recommended_solution|final_decision|must_use|"
    r"priority_order|confidence_score)\b|\b(?:recommendedSolution|finalDecision|mustUse|priorityOrder|confidenceScore)\b|"
    r"\b(?:must|shall|should|have to|has to|need to|always) (?:be )?(?:use|used|adopt|adopted|choose|chosen|pick|"
    r"picked|go with) [^.;!?\n]{0,80}?\bas (?:the|our|your) (?:final|only|definitive)\b|"
    r"\bthe final (?:decision|solution|choice|answer) (?:is|must|shall|will)\b|"
    r"(?:必须|务必|一律|只能|应当|应该|应|最终)\s*(?:采用|使用|选择|选用|采纳)[^。；;！？\n]{0,60}?"
    r"(?:作为|为|当作)\s*(?:最终|唯一|最后)的?\s*(?:解决)?(?:方案|选择|决定|决策|结论|答案)|"
    r"最终(?:方案|决定|决策|结论|选择)\s*(?:是|为|就是|必须|[:：=])|(?:推荐方案|优先级顺序|置信度)\s*[:：=]",
    re.IGNORECASE,
)
"""Sentences and field names that hand over a conclusion instead of a memory (SHI "禁忌"; one-way rule of hints)."""

_MARKS = (
    "final", "only", "definitive", "recommended", "must_use", "mustuse", "priority", "confidence",
    "最终", "唯一", "最后", "推荐", "优先级", "置信度",
)  # fmt: skip
"""Every conclusion holds one of these; most texts hold none, and looking for them costs a tenth of the expression."""


def concludes(text: str) -> bool:
    """Tell whether *text* states a conclusion for the reader: "必须采用X作为最终方案", `final_decision`."""
    plain = _clean(unicodedata.normalize("NFKC", text)).translate(_DECORATION)
    folded = plain.casefold()
    return any(mark in folded for mark in _MARKS) and _CONCLUSION.search(plain) is not None


def _clean(text: str) -> str:
    return one_line(_HIDDEN.sub("", text))


def _quoted(text: str, limit: int) -> str:
    """Return untrusted *text* for one line of a hint, *limit* characters at most."""
    line = clip(_clean(text), limit)
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "'")
    return _TAG.sub("&lt;", line)


def _cell(text: str) -> str:
    return _PIPE.sub(lambda match: "\\" * (2 * len(match.group()) - 1) + "|", text)


def _sentence(record: Record, section: str) -> str:
    """Return the first sentence of *section*, or "" where it says nothing or states a conclusion."""
    sentence = first_sentence(_clean(_unlisted(record.section(section))), CELL_LIMIT)
    if sentence.rstrip("。.").lower() in _NONE or concludes(record.section(section)):
        return ""
    return _quoted(sentence, CELL_LIMIT)


def _unlisted(text: str) -> str:
    """Return the first line of *text* that says something, without its list or quote mark or code fence."""
    rows = (re.sub(r"^\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+|```.*$|~~~.*$)", "", row).strip() for row in text.splitlines())
    return next((row for row in rows if row), "")


def _allowed(records: Iterable[Record]) -> tuple[list[Record], list[Said]]:
    """Return the records a hint may name, and a warning for each whose text states a conclusion."""
    kept, warnings = [], []
    for record in records:
        if concludes(" ".join((record.title, *record.tags))):
            warnings.append(say("{id} is left out of the hint: its title states a conclusion", id=record.id))
            continue
        if any(concludes(section.text) for section in record.sections):
            warnings.append(say("{id} states a conclusion; the hint does not repeat it", id=record.id))
        kept.append(record)
    return kept, warnings


# -- T1 and T2 ------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    part: str
    record: Record
    line: str


def t1(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint before a task starts: risks, constraints and patterns among *records*, best first."""
    words = _words(config)
    live = [record for record in records if record.status in LIVE and _kind(record).hint == T1]
    kept, warnings = _allowed(live)
    entries = [_Entry(_t1_part(record), record, _listed(record, kept, words)) for record in kept]
    parts = ("risks", "constraints", "patterns")
    return _hint(entries, warnings, config, T1, parts)


def t2(records: Sequence[Record], config: Config) -> Hint:
    """Return the hint once a plan is fixed: decisions as history, interfaces, rollbacks among *records*, best first."""
    words = _words(config)
    live = [record for record in records if record.status in LIVE and _kind(record).hint == T2]
    kept, warnings = _allowed(live)
    entries = []
    for record in kept:
        if record.kind == "interface":
            entries.append(_Entry("interfaces", record, _listed(record, kept, words)))
        else:
            entries.append(_Entry("history", record, _row(record, kept, words)))
        rollback = _sentence(record, "rollback")
        if rollback:
            entries.append(_Entry("rollbacks", record, f"- {_name(record, kept)}: {rollback}"))
    return _hint(entries, warnings, config, T2, ("history", "interfaces", "rollbacks"))


def _hint(
    entries: Sequence[_Entry], warnings: Sequence[Said], config: Config, moment: str, parts: Sequence[str]
) -> Hint:
    words = _words(config)
    few: list[_Entry] = []
    for entry in entries:
        if sum(other.part == entry.part for other in few) < config.hint_items:
            few.append(entry)

    def render(taken: list[_Entry]) -> str:
        blocks = [_block(part, [e.line for e in taken if e.part == part], words) for part in parts]
        footer = "---\n" + getattr(words, f"{moment}_footer")
        return "\n\n".join([getattr(words, moment), *filter(None, blocks), footer])

    if not few:
        return Hint(words.nothing, tuple(warnings))
    taken = fitting(few, config.hint_tokens, render)
    if not taken:
        return Hint("", (*warnings, say("no hint fits {budget} tokens", budget=config.hint_tokens)))
    shown = [entry.record for entry in taken]
    return Hint(render(taken), tuple(warnings), tuple(r for n, r in enumerate(shown) if r not in shown[:n]))


def _block(part: str, lines: list[str], words: Words) -> str:
    if not lines:
        return ""
    if part == "history":
        lines = [f"| {' | '.join(words.columns)} |", "|----|------|------|", *lines]
    return "\n".join([getattr(words, part), *lines])


def _t1_part(record: Record) -> str:
    """Return the part of T1 in which *record* stands: its category tells risks and patterns from constraints."""
    return {"anti-pattern": "risks", "pattern": "patterns"}.get(_kind(record).category, "constraints")


def _listed(record: Record, among: Sequence[Record], words: Words) -> str:
    return f"- [{_name(record, among)}] {_quoted(record.title, TITLE_LIMIT)}{_mark(record, words)}"


def _row(record: Record, among: Sequence[Record], words: Words) -> str:
    title = _cell(_quoted(record.title, CELL_LIMIT)) + _mark(record, words)
    return f"| [{_name(record, among)}] | {title} | {_cell(_sentence(record, 'why')) or '–'} |"


def _name(record: Record, among: Sequence[Record]) -> str:
    """Return the id of *record*, with its scope where another of the same id stands beside it."""
    if not any(other.id == record.id and other.scope != record.scope for other in among):
        return one_line(record.id)
    return f"{one_line(record.scope.removeprefix('project/'))}:{one_line(record.id)}"


def _mark(record: Record, words: Words) -> str:
    if record.status == Status.ACCEPTED:
        return ""
    return f" ({words.unverified})" if record.status == Status.PROPOSED else f" ({words.dead})"


def _kind(record: Record) -> Kind:
    return BY_NAME.get(record.kind) or Kind(record.kind, "", record.kind, record.kind)


def _words(config: Config) -> Words:
    return ZH if config.language == "zh" else EN


# -- prompts, starts, sub-agents ------------------------------------------------------------------


def prompt_hint(records: Sequence[Record], config: Config) -> Hint:
    """Return what a prompt is answered with: *records*, best first, quoted as data; no text without records."""
    words = _words(config)
    kept, warnings = _allowed(records)
    few = kept[: config.hint_items]

    def render(taken: list[Record]) -> str:
        footer = words.prompt_footer.format(id=_name(taken[0], few))
        return "\n".join([words.prompt, *(_fact(record, few, words, config) for record in taken), footer])

    taken = fitting(few, config.prompt_tokens, render)
    return Hint(render(taken) if taken else "", tuple(warnings), tuple(taken))


def _fact(record: Record, among: Sequence[Record], words: Words, config: Config) -> str:
    kind = _kind(record)
    label = kind.zh if config.language == "zh" else kind.en
    why = _sentence(record, "why")
    reason = f" — {why}" if why else ""
    title = _quoted(record.title, TITLE_LIMIT)
    return f"> - [{_name(record, among)}] {label}{words.colon}{title}{_mark(record, words)}{reason}"


def start_context(
    compact: str, records: Sequence[Record], config: Config, *, counts: Mapping[str, int], reviews: int = 0
) -> Hint:
    """Return what a starting session is told, within `start_tokens`; no text for an empty knowledge base.

    *compact* is the compact form to restore, or ""; its whole lines stand before the *records* that always hold.
    *counts* has the number of live records of each kind.
    """
    words = _words(config)
    kept, warnings = _allowed(record for record in records if record.status in LIVE)
    if not compact.strip() and not any(counts.values()) and not reviews:
        return Hint()
    heading = "" if compact.lstrip().startswith("#") else words.compact
    opening = _opening(config, counts, reviews)
    lines = [_Entry("compact", Record("", "", ""), row) for row in _rows(compact)]
    entries = lines + [_Entry("always", record, _listed(record, kept, words)) for record in kept]

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

    taken = fitting(entries, config.start_tokens, render)
    if not taken and not fitting([None], config.start_tokens, lambda _: render([])):
        return Hint("", (*warnings, say("no hint fits {budget} tokens", budget=config.start_tokens)))
    return Hint(render(taken), tuple(warnings), tuple(e.record for e in taken if e.part == "always"))


def _opening(config: Config, counts: Mapping[str, int], reviews: int) -> str:
    words = _words(config)
    labels = [(BY_NAME[name], n) for name, n in counts.items() if n and name in BY_NAME]
    spoken = words.comma.join(f"{kind.zh} {n}" if words is ZH else f"{kind.en} {n}" for kind, n in labels)
    rows = [words.start.format(name=_quoted(config.name, TITLE_LIMIT))]
    rows += [words.holdings.format(counts=spoken)] if spoken else []
    rows += [words.reviews.format(n=reviews)] if reviews else []
    return "\n".join(rows)


def _rows(compact: str) -> list[str]:
    """Return the lines of the compact form, each without what hides or passes for a tag of the host."""
    return [_TAG.sub("&lt;", _HIDDEN.sub("", row)) for row in compact.strip().splitlines()]


def spawn(compact: str, hint_text: str, task: str, pointer: str, *, language: str = "zh") -> str:
    """Return the prompt for a sub-agent: compact form, hints, task, and where the whole context stands.

    The layout is fixed (SHI "召唤分身时的上下文传递"); a part with nothing in it is left out.
    """
    words = ZH if language == "zh" else EN
    target = one_line(pointer).replace("\\", "\\\\").replace('"', '\\"')
    more = words.more.format(pointer=target) if pointer else ""
    parts = ((words.compact, compact), (words.hints, hint_text), (words.task, task), (words.note, more))
    return "\n\n".join(f"{heading}\n{text.strip()}" for heading, text in parts if text.strip()) + "\n"


def moments(avatar: str) -> tuple[str, ...]:
    """Return which of "t1" and "t2" the *avatar* gets, by its name or an alias; () for an unknown one."""
    return _MOMENTS.get(_AVATARS.get(avatar.strip().casefold(), ""), ())
