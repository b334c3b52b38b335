"""kb impact."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import format_record_line, pad_text, print_json, warn_empty_result
from kb.i18n import msg
from kb.text.segment import clip

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

_RELATIONS = {
    "superseded by": msg("superseded by"),
    "amended by": msg("amended by"),
    "cited by": msg("cited by"),
    "supersedes": msg("supersedes"),
    "amends": msg("amends"),
    "same claim": msg("same claim"),
    "same files": msg("same files"),
}
_KINDS = {"code": msg("cited in"), "file": msg("is about"), "session": msg("session")}
_LINE = 80


@click.command(short_help="Tell what depends on a record.")
@click.argument("name", metavar="ID")
@scope_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> None:
    """Tell what would need a look if a record changed: records, code that cites it, files it is about, sessions.

    Code cites a record as `[D001]` or `kb:D001`; it is looked for in the projects on this machine.
    """
    from kb.history.dependents import find_dependents

    found = find_dependents(kb, name, scope=scope)
    if as_json:
        print_json(found)
        return
    for one in found.records:
        detail = f"  {one.detail}" if one.relation.startswith("same") else ""
        relation = pad_text(kb.localise(_RELATIONS[one.relation]), 14)
        click.echo(f"{relation} {format_record_line(kb, one.record)}{detail}")
    for place in found.places:
        path = os.path.relpath(place.path) if os.path.isabs(place.path) else place.path
        line = f"{path}:{place.line}: {clip(place.text, _LINE)}" if place.line else path
        click.echo(f"{pad_text(kb.localise(_KINDS[place.kind]), 14)} {line}")
    if not found.records and not found.places:
        warn_empty_result(kb, msg("nothing depends on it"))
