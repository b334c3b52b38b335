"""kb config."""

from __future__ import annotations

import os

import click

from kb.cli.options import json_option
from kb.cli.prints import print_json
from kb.i18n import msg


@click.command(short_help="Explain the settings.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Print every setting of kb.toml with its value here, its default and what it means."""
    from kb.config import Config, describe_setting, load
    from kb.paths import find_root

    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ)
    config = load(root) if root else Config()
    if as_json:
        print_json(config._asdict())
        return
    for key, default in Config()._asdict().items():
        value = getattr(config, key)
        differs = msg("(default: {default})", default=repr(default)).translate(config.language)
        click.echo(f"{key} = {value!r}" + ("" if value == default else f"  {differs}"))
        click.echo(f"    {describe_setting(key, config.language)}")
