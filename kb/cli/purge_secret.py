"""kb purge-secret."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, open_base, usage_error
from kb.cli.prints import print_json
from kb.errors import NeedsPerson
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.checks.find_secret import PurgePlan, SecretReport
    from kb.knowledge_base import KnowledgeBase

_LONGEST = 100_000
_SHOWN = 20


@click.command(
    short_help="Prepare the removal of a secret.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Find a secret that got in by hand and prepare what removes it from the history; nothing of that is run.

    The secret is asked for without an echo, or read from stdin; it is never given on the command line. Exit code 5: it
    was found, and a person goes on.
    """
    if ctx.args:
        raise usage_error(
            msg("the secret is typed or piped in: on the command line it would stay in the shell's history")
        )
    with open_base(ctx) as kb:
        from kb.checks import find_secret

        secret = _read_secret(kb)
        wanted = find_secret.parse_secret(secret)
        found, alone = find_secret.locate_secret(kb, wanted)
        prepared = find_secret.prepare_purge(kb, secret, wanted, found, alone=alone) if found else None
        if as_json:
            print_json({"found": found, "prepared": prepared and prepared._replace(steps="")})
        else:
            _print_result(kb, found, prepared)
        if prepared:
            ctx.exit(NeedsPerson.exit_code)


def _read_secret(kb: KnowledgeBase) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(kb.localise(msg("The secret (it is not shown)")), hide_input=True, err=True))
    return sys.stdin.buffer.read(_LONGEST).decode("utf-8", "surrogateescape")


def _print_result(kb: KnowledgeBase, found: SecretReport, prepared: PurgePlan | None) -> None:
    if prepared is None:
        click.echo(
            kb.localise(msg("It is nowhere in this clone: not in a file, not in an object of git, not in .kb/."))
        )
        return
    rows = [
        *(kb.localise(msg("file {place}", place=place)) for place in found.files),
        *(kb.localise(msg("state {place}", place=place)) for place in found.state),
        *(
            kb.localise(msg("{kind} {oid} {path}", kind=hit.kind, oid=hit.oid[:12], path=hit.path)).rstrip()
            + "".join(f" ← {commit[:12]}" for commit in hit.commits[-3:])
            for hit in found.hits
        ),
        *(kb.localise(msg("ref {place}", place=place)) for place in (*found.refs, *found.named)),
        *(kb.localise(msg("git {place}", place=place)) for place in found.inside),
    ]
    for row in rows[:_SHOWN]:
        click.echo(row)
    if len(rows) > _SHOWN:
        click.echo(kb.localise(msg("… and {count} more places", count=len(rows) - _SHOWN)))
    click.echo("\n" + prepared.steps)
    click.echo(kb.localise(msg("prepared in {folder}; read steps.md there", folder=prepared.folder)), err=True)
    if prepared.in_clear:
        click.echo(kb.localise(msg("a file there names the secret in clear text; only you can read it")), err=True)
