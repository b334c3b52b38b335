"""kb guard."""

from __future__ import annotations

import os

import click

from kb.cli.options import json_option, open_base
from kb.cli.prints import print_json, warn
from kb.i18n import msg

_LEVELS = {"high": msg("high"), "low": msg("low")}


@click.command(short_help="Tell what the guard would say.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--config", is_flag=True, help="Print risk.yaml with the defaults, every key with its meaning, and stop.")
@json_option
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], config: bool, as_json: bool) -> None:
    """Tell which mode the guard is in here, what it wants to have been read, and the risk of writing each PATH."""
    from kb.guard import decide, policy

    if config:
        click.echo(policy.render_default_settings(), nl=False)
        return
    with open_base(ctx) as kb:
        found = decide.load_guard_status(kb, os.getcwd(), paths)
        risks = [(path, risk.name, kb.localise(risk.reason)) for path, risk in found.risks]
        if found.notice:
            warn(kb, found.notice)
        if as_json:
            print_json({"mode": found.mode, "read": list(found.read), "risks": {path: name for path, name, _ in risks}})
            return
        click.echo(kb.localise(msg("mode: {mode}", mode=found.mode)))
        what = kb.localise(msg(" or ")).join(found.read) or kb.localise(msg("any record of the knowledge base"))
        click.echo(kb.localise(msg("to be read first: {what}", what=what)))
        for path, name, reason in risks:
            click.echo(
                kb.localise(msg("{path}: {level} risk: {reason}", path=path, level=_LEVELS[name], reason=reason))
            )
