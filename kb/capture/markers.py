"""Find marked statements: `[D] …` lines, labelled lines, ADR blocks and ```kb blocks."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from kb.errors import BadInput
from kb.i18n import Message
from kb.records.candidate import build_candidates
from kb.records.kinds import ADR_SECTIONS, BY_PREFIX, resolve_section_name
from kb.records.model import Candidate, Evidence
from kb.sessions.prose import ProsePiece, split_pieces, split_reason
from kb.text.mentions import find_alternative, strip_markdown
from kb.text.segment import clip, count_words, first_sentence

MARKED_CONFIDENCE = 0.9  # confidence of a candidate that somebody marked as one
_QUOTE_LIMIT = 600  # characters of the longest quote
_MARK_LIMIT = 2000  # characters of the longest marked line: what is longer is no statement
_FIELD_LIMIT = 8000  # characters of the longest field of a block; what follows is left in the session

_TAG = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)?\**\[(CK|DN|D|C|I|P|M"
    r"|U)(\d{3,})?\]\**[ \t]*+[:：]?[ \t]*+(\S.*)$",
    re.DOTALL,
)
_LABEL = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?\**"
    r"(决策|决定|约束|教训|接口|偏好|模式|技术债|(?:已知|遗留)(?:隐患|问题|缺陷|风险)|隐患|Decision|DECISION|Constraint"
    r"|Lesson(?: learned)?|Interface|Preference|Pattern|Tech(?:nical)? debt|Known (?:issue|problem|risk))"
    r"\**[ \t]*+[:：]\**[ \t]*+(\S.*)$",
    re.DOTALL,
)
_LABELS = {
    label: kind
    for kind, labels in (
        ("decision", "决策|决定|decision"),
        ("constraint", "约束|constraint"),
        ("pitfall", "教训|lesson|lesson learned|技术债|隐患|tech debt|technical debt"),
        ("pitfall", "已知隐患|已知问题|已知缺陷|已知风险|遗留隐患|遗留问题|遗留缺陷|遗留风险"),
        ("pitfall", "known issue|known problem|known risk"),
        ("interface", "接口|interface"),
        ("preference", "偏好|preference"),
        ("pattern", "模式|pattern"),
    )
    for label in labels.split("|")
}
_FIELD = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\**([^\s:：*][^:：*\n]{0,40}?)\**[ \t]*[:：]\**[ \t]*(.*)$", re.DOTALL)
_STARTS_LIKE_WORDS = re.compile(r"[\w`\"'“「《*(（]")
_ADR_NUMBER = re.compile(r"^(?:ADR[- ]?)?\d{1,5}\s*[:：.、-]\s*|^ADR(?:[- ]?\d+)?\s*[:：-]\s*", re.IGNORECASE)
_VAGUE_HEADING = re.compile(
    r"(?:summary|overview|context|background|notes?|details?|plan|next steps?|总结|概述|背景|说明|小结|计划"
    r"|下一步)\W*$",
    re.IGNORECASE,
)


class MarkedCandidate(NamedTuple):
    """A marked candidate and the part of the text it takes up."""

    candidate: Candidate
    start: int
    end: int


class _MarkedBlock(NamedTuple):
    """A candidate in the making."""

    kind: str
    title: str
    start: int
    end: int
    explicit: bool  # marked by a tag or a label, not only by headings
    fields: dict[str, str]
    current: str = ""
    by_heading: bool = False


def iter_marked(text: str, parts: list[ProsePiece], evidence: Evidence) -> Iterator[MarkedCandidate]:
    """Yield what is marked in *text*, cut into *parts*; *evidence* says where the text stands, without a quote."""
    block: _MarkedBlock | None = None
    for piece in parts:
        if _is_kb_block(piece):
            with contextlib.suppress(BadInput, ValueError, RecursionError):  # `iter_block_errors` says why
                own = (evidence._replace(quote=piece.text.strip()[:_QUOTE_LIMIT].rstrip()),)
                for candidate in build_candidates(json.loads(piece.text)):
                    yield MarkedCandidate(candidate._replace(evidence=own), piece.start, piece.start + len(piece.text))
        for row in _iter_lines(piece):
            opened = _open_block(row, block)
            if opened is not None or _is_block_end(row, block):
                yield from _finish_block(block, text, evidence)
                block = opened
            elif block is not None:
                block = _extend_block(block, row)
    yield from _finish_block(block, text, evidence)


def iter_block_errors(text: str) -> Iterator[Message | str]:
    """Yield why a ```kb block in *text* is no candidate."""
    for piece in filter(_is_kb_block, split_pieces(text)):
        try:
            build_candidates(json.loads(piece.text))
        except BadInput as error:
            yield error.message
        except (ValueError, RecursionError) as error:
            yield str(error) or "nested too deep"


def find_thin_marks(text: str) -> list[str]:
    """Return the marked lines of *text* that say too little to be a candidate: `[D] 框架`."""
    if "[" not in text:
        return []
    rows = (row.text for piece in split_pieces(text) for row in _iter_lines(piece) if row.what != "code")
    marks = ((row, _TAG.match(row)) for row in rows)
    return [row.strip() for row, tag in marks if tag and not tag.group(2) and not _is_content(tag.group(3))]


def _is_kb_block(piece: ProsePiece) -> bool:
    return piece.what == "code" and piece.info.split(" ")[0].lower() == "kb"


def _iter_lines(piece: ProsePiece) -> Iterator[ProsePiece]:
    """Yield the lines of *piece* as pieces; code stays whole, quotes and tables are somebody else's words."""
    if piece.what in ("quote", "table"):
        return
    if piece.what in ("code", "heading"):
        yield piece
        return
    offset, gap = piece.start, piece.after_gap
    for line in piece.text.split("\n"):
        yield piece._replace(text=line.rstrip("\r"), start=offset, after_gap=gap)
        offset += len(line) + 1
        gap = False


def _open_block(row: ProsePiece, block: _MarkedBlock | None) -> _MarkedBlock | None:
    """Return the block that *row* opens, or None."""
    end = row.start + len(row.text)
    if row.what == "code":
        return None
    heading = strip_markdown(row.text.lstrip("# ")) if row.what == "heading" else ""
    name = resolve_section_name(heading) if heading else ""
    # “## Decision” or “## 决策” within an ADR is its section; before any, or where it has one, it opens another.
    if name and not (name == "decision" and (block is None or "decision" in block.fields)):
        return None
    # “[D] use Redis” marks a decision; “[D001] …” cites a record, and only as a heading states one.
    tag = _TAG.match(row.text)
    if tag and _is_content(tag.group(3)) and (not tag.group(2) or row.what == "heading"):
        return _MarkedBlock(BY_PREFIX[tag.group(1)].name, tag.group(3), row.start, end, not tag.group(2), {})
    if row.what == "heading":
        title = "" if name else heading
        return _MarkedBlock("decision", title, row.start, end, False, {name: ""} if name else {}, name, True)
    label = _LABEL.match(row.text)
    if label and _is_content(label.group(2)):
        kind = _LABELS[label.group(1).lower()]
        if kind == "decision" and block is not None and not block.explicit and "decision" not in block.fields:
            return None
        return _MarkedBlock(kind, label.group(2), row.start, end, True, {})
    return None


def _is_block_end(row: ProsePiece, block: _MarkedBlock | None) -> bool:
    """Return whether *row*, which opens nothing, comes after *block* rather than in it."""
    if block is None or _parse_field(row):
        return False
    # “## Context” (## 背景) may hold many paragraphs; “[D] use Redis” ends at the first line that is not a field of it.
    if block.by_heading or (row.what != "code" and not block.explicit):
        return False
    return row.after_gap or row.what in ("heading", "code") or not block.current


def _extend_block(block: _MarkedBlock, row: ProsePiece) -> _MarkedBlock:
    end = row.start + len(row.text)
    field = _parse_field(row)
    if field:
        name, value = field
        block.fields.setdefault(name, "")
        block.fields[name] += ("\n" if block.fields[name] and value else "") + value
        return block._replace(current=name, end=end, by_heading=row.what == "heading")
    if not block.current or len(block.fields[block.current]) > _FIELD_LIMIT:
        return block
    body = f"```{row.info}\n{row.text}\n```" if row.what == "code" and row.info else row.text
    block.fields[block.current] = (block.fields[block.current] + "\n" + body).strip("\n")
    return block._replace(end=end)


def _parse_field(row: ProsePiece) -> tuple[str, str] | None:
    """Return the section *row* names and what is beside it."""
    if row.what == "code":
        return None
    if row.what == "heading":
        name = resolve_section_name(strip_markdown(row.text.lstrip("# ")))
        return (name, "") if name else None
    # “Why: …”, “- **理由**：…”; any other “word: …” is text.
    match = _FIELD.match(row.text)
    name = resolve_section_name(match.group(1)) if match else ""
    return (name, match.group(2).strip()) if match and name else None


def _finish_block(block: _MarkedBlock | None, text: str, evidence: Evidence) -> Iterator[MarkedCandidate]:
    """Yield the candidate in *block*, if it is one: a mark, or a decision with at least one more ADR field."""
    if block is None:
        return
    fields = {name: value.strip() for name, value in block.fields.items() if value.strip()}
    adr = [name for name in ADR_SECTIONS if name in fields]
    if not block.explicit and not ("decision" in fields and len(adr) > 1):
        return
    content = split_reason(block.title)
    title = strip_markdown(_ADR_NUMBER.sub("", strip_markdown(block.title if not block.explicit else content.main)))
    decision = fields.get("decision", strip_markdown(content.main) if block.explicit else "")
    if not title or (not block.explicit and _VAGUE_HEADING.match(title)):
        title = strip_markdown(first_sentence(decision))
    quote = text[block.start : block.end].rstrip()[:_QUOTE_LIMIT].rstrip()
    candidate = Candidate(
        kind=block.kind,
        title=clip(title, 120),
        decision=decision,
        alternatives=fields.get("alternatives", find_alternative(block.title) if block.explicit else ""),
        why=fields.get("why", content.why if block.explicit else ""),
        verification=fields.get("verification", ""),
        rollback=fields.get("rollback", ""),
        confidence=MARKED_CONFIDENCE,
        evidence=(evidence._replace(quote=quote),),
    )
    yield MarkedCandidate(candidate, block.start, block.end)


def _is_content(text: str) -> bool:
    """Return whether *text* after a mark is a sentence of somebody, not a linter's arrow, a path or a rest."""
    if len(text) > _MARK_LIMIT or not _STARTS_LIKE_WORDS.match(text):
        return False
    return count_words(text) >= 3 and not text.rstrip().endswith((":", "："))
