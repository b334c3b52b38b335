"""Quote record texts for an agent: on one line, with every character visible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from kb.i18n import Message, msg
from kb.records.model import Record
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import clip, clip_at_word, estimate_tokens, first_sentence, normalise, one_line

TITLE_LIMIT = 80  # Characters of a title in a list
CELL_LIMIT = 60  # Characters of a cell of the history table, and of a reason
ANSWER_LIMIT, ANSWER_TOKENS = 200, 40  # Characters and estimated tokens of an answer
NAME_LIMIT = 40  # Characters of an id, a scope or a kind, which a file sets freely
PATH_LIMIT = 160  # Characters of the path of a record

_TAG = regex(r"<(?=[A-Za-z/!?|])")
_PIPE = regex(r"(?<!\\)\\*+\|")
_NONE = frozenset(
    ["", "-", "–", "—", "/", "n/a", "na", "none", "nothing", "tbd", "无", "暂无", "不适用", "待定", "没有"]
)

# Sentences and field names that hand over a conclusion instead of a memory (SHI "禁忌"; one-way rule of hints).
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

# every conclusion contains one of these; this check costs a tenth of the pattern, and most texts have none
_MARKS = (
    "final only definitive recommended must_use mustuse priority confidence 最终 唯一 最后 推荐 优先级 置信度".split()
)


def has_conclusion(text: str) -> bool:
    """Return whether *text* states a conclusion for the reader: "必须采用X作为最终方案", `final_decision`."""
    plain = text
    if not (text.isascii() and text.replace("\n", " ").isprintable()):  # otherwise it hides nothing
        from kb.safety.injection import strip_hidden

        plain = strip_hidden(unicodedata.normalize("NFKC", text))
    plain = plain.replace("*", "").replace("`", "")
    folded = plain.casefold()
    return any(mark in folded for mark in _MARKS) and _CONCLUSION.search(one_line(plain)) is not None


def quote_text(text: str, limit: int) -> str:
    """Return untrusted *text* for one line of a hint, at most *limit* characters, with hidden ones made visible."""
    from kb.safety.injection import reveal_hidden

    line = clip(reveal_hidden(text), limit)
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "'")
    return escape_tags(line)


def escape_tags(text: str) -> str:
    """Return *text* with everything escaped that looks like a tag of the host."""
    return _TAG.sub("&lt;", text)


def sanitise_text(text: str) -> str:
    """Return untrusted *text* of several lines with hidden characters visible and host tags escaped."""
    from kb.safety.injection import reveal_hidden

    return escape_tags(reveal_hidden(text))


def escape_cell(text: str) -> str:
    """Return *text* for a cell of a table."""
    return _PIPE.sub(lambda match: "\\" * (2 * len(match.group()) - 1) + "|", text)


def quote_first_sentence(record: Record, section: str, limit: int = CELL_LIMIT) -> str:
    """Return the first sentence of *section*, at most *limit* characters, or "" if it is empty or a conclusion."""
    from kb.safety.injection import reveal_hidden

    first = first_sentence(reveal_hidden(_extract_first_line(record.section(section))), limit)
    if first.rstrip("。.").lower() in _NONE or has_conclusion(record.section(section)):
        return ""
    return quote_text(first, limit)


def quote_answer(record: Record, tokens: int = ANSWER_TOKENS) -> str:
    """Return the first sentence of the decision of *record*, or of its reasons if the title has it, at most *tokens*.

    The decision answers a question in records of every kind. Return "" if both are empty.
    """
    title = normalise(record.title)
    for section in ("decision", "why"):
        said = quote_first_sentence(record, section, ANSWER_LIMIT)
        while said and estimate_tokens(said) > tokens:
            said = clip_at_word(said, len(said) * 9 // 10)
        if said and normalise(said.rstrip("…")) not in title:
            return said
    return ""


def _extract_first_line(text: str) -> str:
    """Return the first line of *text* with any words, without list mark, quote mark or code fence."""
    rows = (re.sub(r"^\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+|```.*$|~~~.*$)", "", row).strip() for row in text.splitlines())
    return next((row for row in rows if row), "")


def select_hintable(records: Iterable[Record]) -> tuple[list[Record], list[Message]]:
    """Return the records a hint may name, and a warning for each whose title states a conclusion."""
    kept, warnings = [], []
    for record in records:
        if has_conclusion(" ".join((record.title, *record.tags))):
            warnings.append(msg("{id} is left out of the hint: its title states a conclusion", id=record.id))
        else:
            kept.append(record)
    return kept, warnings


def find_conclusions(records: Iterable[Record]) -> list[Message]:
    """Return a warning for each of *records* whose text states a conclusion, which a hint does not repeat."""
    return [
        msg("{id} states a conclusion; the hint does not repeat it", id=record.id)
        for record in records
        if any(has_conclusion(section.text) for section in record.sections)
    ]


class QuotedRecord(NamedTuple):
    """A record as quoted for an agent."""

    original: Record
    record: Record  # The same, without its text if that gives orders to an agent
    warning: Message | None = None  # Why the text is withheld


def quote_record(record: Record, untitled: str) -> QuotedRecord:
    """Return *record* quoted for an agent; *untitled* replaces a title that gives orders to an agent."""
    from kb.safety.injection import find_instruction

    texts = (*record.tags, *record.impact, *(f"{s.heading}\n{s.text}" for s in record.sections), record.user)
    title = find_instruction(record.title)
    order = title or find_instruction("\n".join(texts))
    if order is None:
        return QuotedRecord(record, record)
    warning = msg(
        "{id} {problem}: “{words}”; only its name is handed on",
        id=quote_text(record.id, NAME_LIMIT), problem=order.problem, words=quote_text(order.words, CELL_LIMIT),
    )  # fmt: skip
    named = record._replace(title=untitled if title else record.title, tags=(), impact=(), sections=(), user="")
    return QuotedRecord(record, named, warning)
