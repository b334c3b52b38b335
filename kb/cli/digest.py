"""kb digest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.page_style import PLAIN
from kb.cli.past import iter_change_lines
from kb.cli.past import serialise_changes as as_values
from kb.cli.prints import print_json
from kb.context.disclose import quote_base_name
from kb.context.hint_text import sanitise_text
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.history.digest import Digest
    from kb.knowledge_base import KnowledgeBase

_QUOTED = PLAIN._replace(text=lambda words: sanitise_text(PLAIN.text(words)))
"""For a reader who may be an agent: titles and folder names that pass for a tag of the host are quoted."""
_SHOWN = 10
"""Records of one part that are named; the others are counted."""


@click.command(short_help="Tell what happened lately, and what waits.")
@click.option("--since", default="7d", show_default=True, metavar="DAY", help="From this day on: 7d, 2026-11-21, week.")
@json_option
@with_kb
def command(kb: KnowledgeBase, since: str, as_json: bool) -> None:
    """Tell what became of the records since a day, which reviews are open, what is stale and what nobody used.

    What was used is what this clone has handed to agents; other clones count for themselves.
    """
    from kb.history.digest import build_digest

    found = build_digest(kb, kb.day_named(since))
    if as_json:
        print_json(_serialise_digest(kb, found))
        return
    title = msg("{name} since {day}", name=quote_base_name(kb), day=found.since)
    click.echo("\n".join([kb.localise(title), "", *iter_digest_lines(kb, found)]).rstrip("\n"))


def iter_digest_lines(kb: KnowledgeBase, found: Digest) -> Iterator[str]:
    """Yield what a person reads of a digest."""
    from kb.index.record_ids import qualify_name

    changes = list(iter_change_lines(found.changes, kb.config.language, _QUOTED, partial(qualify_name, kb)))
    yield from changes or [kb.localise(msg("no record changes")), ""]
    reviews = [f"{one.branch}: [{qualify_name(kb, one.record)}] {one.record.title}" for one in found.reviews]
    yield from _iter_part(kb, msg("Open reviews"), reviews, msg("decide them: kb review"))
    waiting = [f"{one.path}: {kb.localise(one.message)}" for one in found.waiting]
    yield from _iter_part(kb, msg("To be read again"), waiting, msg("if one still holds: kb confirm ID"))
    refused = [f"{one.title}: {'; '.join(one.reasons)} ({one.session})" for one in found.refused]
    again = msg("to write one all the same: kb write, with what its reason asks for")
    yield from _iter_part(kb, msg("Refused in sessions"), refused, again)
    unused = [f"[{qualify_name(kb, record)}] {record.title} ({record.scope})" for record in found.unused]
    counted = msg("not handed to an agent of this clone since {day}", day=found.counted_from)
    yield from _iter_part(kb, msg("Used by nobody"), unused, counted)


def _iter_part(kb: KnowledgeBase, heading: Message, rows: list[str], remark: Message) -> Iterator[str]:
    if rows:
        yield f"{kb.localise(heading)} ({len(rows)})"
        yield ""
        yield from (f"- {_QUOTED.text(row)}" for row in rows[:_SHOWN])
        if more := len(rows) - _SHOWN:
            yield from [f"- {kb.localise(msg('… and {count} more', count=more))}"] if more > 0 else []
        yield f"  → {kb.localise(remark)}"
        yield ""


def _serialise_digest(kb: KnowledgeBase, found: Digest) -> dict[str, object]:
    return {
        "since": found.since,
        **as_values(found.changes),
        "reviews": [{"branch": one.branch, "id": one.record.id, "title": one.record.title} for one in found.reviews],
        "waiting": [{"path": one.path, "rule": one.rule, "message": kb.localise(one.message)} for one in found.waiting],
        "unused": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.unused],
        "counted_from": found.counted_from,
        "refused": [one._asdict() for one in found.refused],
    }
