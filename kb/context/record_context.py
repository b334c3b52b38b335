"""Write what an agent is given to work with: records, whole or in their short form, never half and never too many.

First as many records as have room in their short form, the best first; then, in the same order, each becomes whole
where that has room. So a long record does not silence the others, and what is left of the budget is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.config import Config
from kb.context.budget import select_fitting
from kb.context.hint_phrases import EN, ZH, HintPhrases
from kb.i18n import Message, msg
from kb.records.kinds import kind_label, section_label
from kb.records.model import LIVE, Record, Status
from kb.records.short_form import render_short_form
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, QuotedRecord, escape_tags, quote_record, quote_text
from kb.text.segment import estimate_tokens

FEW = 12
"""So many records stand in one context, at most."""


class ShownRecord(NamedTuple):
    """A record in a context."""

    record: Record
    form: str
    """whole or short."""


class Context(NamedTuple):
    """What an agent is given for a question."""

    text: str = ""
    shown: tuple[ShownRecord, ...] = ()
    tokens: int = 0
    """Estimated; at most the budget."""
    left: int = 0
    """Records that answer too and had no room."""
    warnings: tuple[Message, ...] = ()


class _ContextEntry(NamedTuple):
    one: QuotedRecord
    form: str


def render_context(records: Sequence[Record], budget: int, config: Config) -> Context:
    """Return the context with *records*, best first, that takes at most *budget* estimated tokens."""
    words = ZH if config.language == "zh" else EN
    facts = [quote_record(record, words.untitled) for record in records]

    def render(entries: Sequence[_ContextEntry]) -> str:
        blocks = [_render_record(entry, words, config.language) for entry in entries]
        return "\n\n".join([words.prompt, *blocks, words.context_footer])

    few = [_ContextEntry(fact, "short") for fact in facts[:FEW]]
    taken = select_fitting(few, budget, render)
    for at, entry in enumerate(taken):
        wider = [*taken[:at], entry._replace(form="whole"), *taken[at + 1 :]]
        if not entry.one.warning and estimate_tokens(render(wider)) <= budget:
            taken = wider
    text = render(taken) if taken else ""
    shown = tuple(ShownRecord(entry.one.original, entry.form) for entry in taken)
    warnings = tuple(entry.one.warning for entry in taken if entry.one.warning)
    if few and not taken:
        warnings = (msg("no record fits {budget} tokens", budget=budget),)
    return Context(text, shown, estimate_tokens(text), len(records) - len(taken), warnings)


def _render_record(entry: _ContextEntry, words: HintPhrases, language: str) -> str:
    """Return one record, every line of it quoted, under a line that says which it is and where its file stands."""
    record = entry.one.record
    scope = quote_text(record.scope, NAME_LIMIT)
    standing = {Status.ACCEPTED: "", Status.PROPOSED: f", {words.unverified}"}.get(
        Status(record.status) if record.status in LIVE else Status.REJECTED, f", {words.dead}"
    )
    about = f"{quote_text(kind_label(record.kind, language), NAME_LIMIT)}, {scope}{standing}"
    place = quote_text(entry.one.original.path, PATH_LIMIT)
    title = quote_text(record.title, TITLE_LIMIT)
    head = f"> [{quote_text(record.id, NAME_LIMIT)}] {title} ({about}) {place}".rstrip()
    if entry.one.warning:
        return f"{head} ({words.withheld})"
    body = (
        _render_whole(record, language)
        if entry.form == "whole"
        else render_short_form(record, language).partition("\n")[2]
    )
    return "\n".join([head, *(f"> {row}".rstrip() for row in _sanitise_text(body).split("\n") if body)])


def _render_whole(record: Record, language: str) -> str:
    """Return all that *record* says, section by section."""
    parts = [f"**{section.heading.strip()}**\n{section.text.strip()}" for section in record.sections if section.text]
    if record.impact and not record.section("impact"):
        parts.append(f"**{section_label('impact', language)}**\n" + "\n".join(f"- {path}" for path in record.impact))
    return "\n".join([*parts, *([record.user.strip()] if record.user.strip() else [])])


def _sanitise_text(text: str) -> str:
    """Return *text* with what hides in it shown, and nothing that passes for a tag of the host."""
    from kb.safety.injection import reveal_hidden

    return escape_tags(reveal_hidden(text))
