"""kb inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, print_verdicts_and_exit, warn, warn_empty_result
from kb.i18n import msg
from kb.records.kinds import kind_label

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(invoke_without_command=True, short_help="See what the gate keeps back.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """See what the gate keeps back. Seen again in another session, a candidate comes out by itself."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_held, as_json=as_json)


@command.command("list", short_help="List what is held.")
@json_option
@with_kb
def list_held(kb: KnowledgeBase, as_json: bool) -> None:
    """List what is held: name, how often it was seen, kind and title."""
    from kb.capture.refusals import LATELY, list_refusals

    held = kb.held()
    if as_json:
        print_json(held)
        return
    if not held:
        warn_empty_result(kb, msg("nothing is held"))
    for entry in held:
        kept = entry.candidate
        kind = kind_label(kept.kind, kb.config.language)
        click.echo(f"{entry.name}  ×{len(entry.sightings)}  {kind}: {kept.title}  ({kept.scope})")
    if refused := list_refusals(kb, kb.now() - LATELY):
        warn(kb, msg("refused in sessions of the last 7 days: {n}; which: kb digest", n=len(refused)))


@command.command("show", short_help="Print one held candidate.")
@click.argument("name")
@with_kb
def show_held(kb: KnowledgeBase, name: str) -> None:
    """Print one held candidate with the reasons and its sightings, as JSON."""
    from kb.records.candidate import candidate_to_json

    entry = kb.one_held(name)
    print_json({**entry._asdict(), "candidate": candidate_to_json(entry.candidate)})


@command.command("promote", short_help="Let a held candidate through.")
@click.argument("name")
@json_option
@with_kb
def promote_held(kb: KnowledgeBase, name: str, as_json: bool) -> None:
    """Let a held candidate through the gate on your word; duplicates and contradictions are still looked for."""
    print_verdicts_and_exit(kb, [kb.promote(name)], as_json=as_json)


@command.command("drop", short_help="Forget a held candidate.")
@click.argument("name")
@with_kb
def drop_held(kb: KnowledgeBase, name: str) -> None:
    """Forget a held candidate; the history of the inbox keeps it."""
    entry = kb.drop(name)
    click.echo(f"{kb.localise(msg('dropped'))}  {entry.candidate.title}")
