"""kb doctor."""

from __future__ import annotations

import os
import sys

import click

from kb.cli.options import json_option, resolve_language
from kb.cli.prints import print_json
from kb.i18n import msg

_MARKS = {"ok": "✅", "note": "⚠️", "failed": "❌", "skipped": "–"}


@click.command(short_help="Check that everything works.")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend: the index, old failures, leftovers.")
@json_option
@click.pass_context
def command(ctx: click.Context, fix: bool, as_json: bool) -> None:
    """Look at git, the repository, the index, the spool, the hooks and more; exit 1 where something failed."""
    from kb import doctor
    from kb.paths import find_root

    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ) or ""
    outcomes = doctor.run_checks(root, os.getcwd(), os.environ, fix=fix)
    language = resolve_language()
    if as_json:
        print_json(
            [
                {
                    **o._asdict(),
                    "said": o.said.translate(language),
                    "remedy": o.remedy and o.remedy.translate(language),
                }
                for o in outcomes
            ]
        )
    # outside a knowledge base that is the one thing to say; what needs one says the same in twenty lines
    told = [o for o in outcomes if (o.state == doctor.FAILED or root) and o.said.template != doctor.NOT_OPEN.template]
    for outcome in told if not as_json else ():
        mended = " " + msg("(mended)").translate(language) if outcome.mended and outcome.state == doctor.OK else ""
        click.echo(f"{_MARKS[outcome.state]} {outcome.name}: {outcome.said.translate(language)}{mended}")
        if outcome.remedy:
            click.echo(f"    → {outcome.remedy.translate(language)}")
    sys.exit(1 if any(outcome.state == doctor.FAILED for outcome in outcomes) else 0)
