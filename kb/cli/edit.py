"""kb edit."""

from __future__ import annotations

import contextlib
import itertools
import os

import click

from kb.cli.door import scope_option, with_kb
from kb.cli.prints import show_verdicts
from kb.errors import KbError
from kb.patterns import regex
from kb.record import Record, Verdict
from kb.text import slugify
from kb.values import TYPE_CHECKING
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_ID = regex(r"[A-Z]{1,3}[0-9]{3,9}")


@click.command(short_help="Edit a record in your editor.")
@click.argument("name", metavar="ID")
@scope_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str) -> None:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error."""
    record = kb.record(name, scope=scope)
    text = opened = kb.text(record)
    place = ""
    while True:
        edited = click.edit(text, extension=".md", require_save=True)
        if edited is None and not place:
            show_verdicts(kb, [unchanged(record)], as_json=False)
        text = text if edited is None else edited
        try:
            verdict = kb.replace_text(record, text, opened=opened)
        except KbError as error:
            place = keep(kb, record, text, place)
            click.echo(f"kb: {error.in_language(kb.config.language)}", err=True)
            for hint in (error.hint, kept := say("what you wrote is kept in {path}", path=place)):
                if shown := kb.words(hint):
                    click.echo(f"    → {shown}", err=True)
            error.hint = kept
            if not click.confirm(kb.words(say("edit again?")), default=True, err=True):
                raise
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)
            show_verdicts(kb, [verdict], as_json=False)


def keep(kb: KnowledgeBase, record: Record, text: str, place: str = "") -> str:
    """Keep *text*, which cannot be written yet, in *place* or a new file of the state folder; return which."""
    kb.state.made()
    folder = kb.state.path("edits")
    os.makedirs(folder, exist_ok=True)
    own = record.id if _ID.fullmatch(record.id) else slugify(record.id)
    names = (f"{own}-{number}.md" if number > 1 else f"{own}.md" for number in itertools.count(1))
    place = place or next(path for name in names if not os.path.exists(path := os.path.join(folder, name)))
    with open(place, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return place


def unchanged(record: Record) -> Verdict:
    """Return the verdict on a record whose editor was left without saving."""
    return Verdict(
        "unchanged", record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status)
    )
