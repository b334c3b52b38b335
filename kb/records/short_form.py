"""The short form of a record: `[D001] title`, then one line each for why, impact and rollback; and its levels.

A record is read at three levels: 0, one line; 1, the short form and the start of each section; 2, the file. They are
computed on reading, so that nothing can be out of date (ZCLAW-28; the limits are those of OpenViking).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import east_asian_width

from kb.records.kinds import ADR_SECTIONS, BY_NAME, kind_label, section_label
from kb.records.model import Record
from kb.text.segment import clip, first_sentence, has_cjk, normalise, one_line

SHOWN = ("why", "impact", "rollback")
"""The fields of the short form (SHI "锚点格式 (缩略)"); the strict form has all six (RUYI-21)."""

CHECKLIST = "checklist"
"""The kind whose short form keeps its items."""
LIMIT = 60
"""Characters of one line's text."""
MAX_DECISION = 240
"""Characters of the decision, if the form includes it."""

LEVELS = (0, 1, 2)
MAX_ABSTRACT = 256
"""Maximum characters of a record at level 0."""
MAX_OVERVIEW = 4000
"""Maximum characters of a record at level 1."""
_SECTION_START = 400
"""Maximum characters of a section at level 1: its list items or its first sentence."""

_ITEM = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(\S.*)$")
_ITEM_ROW = re.compile(r"^[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+\S", re.MULTILINE)
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_RULER = re.compile(r"(?=[ \t|:]*-)[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++$")
_PIECE = re.compile(r"[^\s\u2e80-\uffff]+[，。；：、！？）]?\s*|[\u2e80-\uffff][，。；：、！？）]*\s*|\s+")
"""A word or one Chinese character, with the punctuation that may not begin a line."""
_MAX_SIDE = 1500
"""Maximum characters of a section on one side of a review."""
_MISSING = {"zh": "（未写）", "en": "(not stated)"}


def render_short_form(record: Record, language: str, *, strict: bool = False, with_decision: bool = False) -> str:
    """Return the short form of *record*, without a line end; *strict* has a line for each of the six ADR fields.

    *with_decision* puts the decision first, for readers who see only this form, such as those of a feed. The labels are
    the protocol's own in both languages; *language* is used for missing fields.
    """
    kind = BY_NAME.get(record.kind)
    own = (*(["decision"] if kind.answers else []), *SHOWN, *kind.sections) if kind else SHOWN
    texts = {name: summarise_section(record.section(name), name) for name in (ADR_SECTIONS if strict else own)}
    if with_decision and (text := summarise_section(record.section("decision"), "decision", MAX_DECISION)):
        texts = {"decision": text, **{name: text for name, text in texts.items() if name != "decision"}}
    if not strict and not any(texts.values()):
        texts = {"decision": summarise_section(record.section("decision"), "decision")}
    if record.kind == CHECKLIST and not texts.get("decision"):
        items = record.section("decision") or next((s.text for s in record.sections if _ITEM_ROW.search(s.text)), "")
        texts = {"decision": summarise_section(_BOX.sub("", items), "decision"), **texts}
    rows = [f"[{record.id}] {one_line(record.title)}"]
    for name, text in texts.items():
        if text or strict:
            label = section_label(name, "en", "" if strict else record.kind)
            rows.append(f"- {label}: {text or _MISSING.get(language, _MISSING['en'])}")
    return "\n".join(rows)


def render_abstract(record: Record) -> str:
    """Return *record* at level 0: id, title and first sentence on one line of at most MAX_ABSTRACT characters."""
    kind = BY_NAME.get(record.kind)
    texts = (record.section(name) for name in (*(kind.required if kind else ()), "decision"))
    text = next(filter(None, texts), "") or next((s.text for s in record.sections if s.text.strip()), "")
    summary = summarise_section(text, limit=MAX_ABSTRACT)
    head = f"[{record.id}] {one_line(record.title)}"
    is_new = bool(summary) and normalise(summary) != normalise(record.title)
    return clip(f"{head} – {summary}" if is_new else head, MAX_ABSTRACT)


def render_overview(record: Record, language: str) -> str:
    """Return *record* at level 1: its short form and the start of each section, at most MAX_OVERVIEW characters.

    Sections without room are named at the end.
    """
    text = clip_lines(render_short_form(record, language), MAX_OVERVIEW // 2)
    parts = [(section.heading or section.name, section.text) for section in record.sections]
    parts += [("USER", record.user)] if record.user.strip() else []
    omitted = []
    for heading, body in parts:
        summary = summarise_section(body, limit=_SECTION_START)
        if summary in text:  # already in the short form
            continue
        line = f"\n{clip(heading, LIMIT)}: {summary}"
        # the names of omitted sections go into the last line, for which the limit leaves room
        if len(text) + len(line) <= MAX_OVERVIEW - MAX_ABSTRACT:
            text += ("" if "\n\n" in text else "\n") + line
        else:
            omitted.append(clip(heading, LIMIT))
    return text + (clip(f" … {', '.join(omitted)}", MAX_ABSTRACT - 2) if omitted else "")


def clip_lines(text: str, limit: int) -> str:
    """Return the first lines of *text* within *limit* characters; if the first line is longer, its beginning."""
    clipped = text[:limit]
    return text if len(text) <= limit else clipped.rpartition("\n")[0] or clip(clipped, limit)


def summarise_section(text: str, name: str = "", limit: int = LIMIT) -> str:
    """Summarise a section in one line of *limit* characters: its list items, else its first sentence.

    Items are kept whole while they fit. An impact item is cut at its colon; a table gives its first column.
    """
    items = _extract_items(text, paths=name == "impact")
    if not items:
        return first_sentence(_strip_markup(_extract_prose(text)), limit)
    joint = ", " if name == "impact" or not has_cjk("".join(items)) else "、"
    if name != "impact" and joint == ", " and any(re.search(r"[,;]", item) for item in items):
        joint = "; "
    summary = items[0]
    for item in items[1:]:
        if len(summary) + len(joint) + len(item) > limit:
            return clip(f"{summary}{joint}…", limit) if len(summary) + len(joint) < limit else clip(summary, limit)
        summary += joint + item
    return clip(summary, limit)


def _extract_items(text: str, *, paths: bool) -> list[str]:
    """Return the list items in *text* outside fences, or the first column of its table."""
    rows = _drop_fenced(text)
    items = [match[1] for match in map(_ITEM.match, rows) if match]
    if not items:
        table = [row.strip().strip("|").split("|")[0] for row in rows if row.lstrip().startswith("|")]
        items = [cell for cell in table[1:] if not _RULER.match(cell)]
    heads = [re.split(r"[:：]", item, maxsplit=1)[0] if paths else item for item in items]
    return [item for item in (_strip_markup(head).rstrip("。.；;") for head in heads) if item]


def _drop_fenced(text: str) -> list[str]:
    rows: list[str] = []
    inside = False
    for row in text.split("\n"):
        if _FENCE.match(row):
            inside = not inside
        elif not inside:
            rows.append(row)
    return rows


def _extract_prose(text: str) -> str:
    """Return the text outside fences, or else the first line of code that is not a comment."""
    rows = [row for row in _drop_fenced(text) if row.strip() and not row.lstrip().startswith("#")]
    if rows:
        return "\n".join(rows)
    code = [row.strip() for row in text.split("\n") if row.strip() and not _FENCE.match(row)]
    return next((row for row in code if not row.startswith("#")), code[0] if code else "")


def _strip_markup(text: str) -> str:
    """Return *text* on one line without emphasis, code marks and link targets."""
    return one_line(re.sub(r"\*\*|__|`", "", _LINK.sub(r"\1", text)))


def render_table(records: Sequence[Record], language: str) -> str:
    """Return *records* as a Markdown table of decision, date and reason, cells escaped (MBANK-05).

    The heading names the kind of the records if they all have one other kind, or else calls them records.
    """
    several = "记录" if language == "zh" else "Record"
    kinds = {record.kind for record in records} or {"decision"}
    title = kind_label(kinds.pop(), language) if len(kinds) == 1 else several
    head = ("ID", title, "日期", "原因") if language == "zh" else ("ID", title, "Date", "Reason")
    rows = [head, ("---",) * len(head)]
    rows += [(r.id, r.title, r.date, summarise_section(r.section("why"))) for r in records]
    return "\n".join(
        "| " + " | ".join(one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in row) + " |"
        for row in rows
    )


def render_one_below_other(old: Record, new: Record, labels: Sequence[str], language: str, width: int) -> str:
    """Return two records one below the other, section by section, in lines of at most *width* columns.

    *labels* name the two sides. A section that is the same in both is shown once.
    """
    lines = [f"{label}: [{one.id}] {one.title}" for label, one in zip(labels, (old, new), strict=True)]
    for name in ADR_SECTIONS:
        texts = [one.section(name).strip()[:_MAX_SIDE] for one in (old, new)]
        if not any(texts):
            continue
        lines += ["", section_label(name, language, new.kind)]
        if texts[0] == texts[1]:
            lines += _wrap_columns(texts[0], width, "  ")
            continue
        for label, text in zip(labels, texts, strict=True):
            lines += [f"  {label}:", *_wrap_columns(text or "–", width, "    ")]
    return "\n".join(lines) + "\n"


def _wrap_columns(text: str, width: int, indent: str) -> list[str]:
    """Wrap *text* at *width* columns of a terminal, each line indented by *indent*.

    Lines break at a space or before a Chinese character, which takes two columns.
    """
    if "\n" in text:
        return [row for line in text.split("\n") for row in _wrap_columns(line, width, indent)]
    lines, line, columns = [], "", len(indent)
    for piece in _PIECE.findall(text):
        size = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in piece)
        if line and columns + len(piece.rstrip()) + size - len(piece) > width:
            lines.append(indent + line.rstrip())
            line, columns = "", len(indent)
        line += piece
        columns += size
    return [*lines, indent + line.rstrip()] if line.strip() else lines


def render_side_by_side(old: Record, new: Record, language: str) -> str:
    """Return two records side by side, field by field, as a Markdown table."""
    rows = [(f"[{old.id}] {old.title}", f"[{new.id}] {new.title}"), ("---", "---")]
    for name in ADR_SECTIONS:
        one, other = summarise_section(old.section(name), name, 200), summarise_section(new.section(name), name, 200)
        if one or other:
            label = section_label(name, language, new.kind)
            rows.append((f"{label}: {one or '–'}", f"{label}: {other or '–'}"))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"
