"""kb init."""

from __future__ import annotations

import os

import click

from kb.cli.door import usage
from kb.words import say


@click.command(short_help="Make a knowledge base.")
@click.argument("path", required=False)
@click.option("--here", is_flag=True, help="In the current folder, inside the code repository that is there.")
@click.option("--name", default="", help="What it is called.")
@click.option("--language", type=click.Choice(["en", "zh"]), default=None, help="Language of headings and messages.")
@click.option(
    "--ci",
    is_flag=True,
    help="Add what runs kb check and shows the wiki: workflows for the remote's host, a pre-commit configuration.",
)
@click.option("--layout", type=click.Choice(["user", "project"]), default="user", help="See kb layout migrate.")
def command(path: str | None, here: bool, name: str, language: str | None, ci: bool, layout: str) -> None:
    """Make a knowledge base at PATH, here, or, without either, where --kb or $KB_HOME says, else in ~/.kb.

    An existing one is completed.
    """
    from kb.home import user_home
    from kb.knowledge.make import make

    if path and here:
        raise usage(say("give a PATH or --here, not both"))
    named = click.get_current_context().find_root().obj or os.environ.get("KB_HOME")
    place = path or (os.getcwd() if here else named or user_home(os.environ))
    spoken = language or ("zh" if os.environ.get("LANG", "").startswith("zh") else "")
    kb, files = make(place, os.environ, inside=here, name=name, language=spoken, with_ci=ci)
    with kb:
        click.echo(kb.root)
        for file in files:
            click.echo(f"  + {file}", err=True)
        if layout == "project":
            from kb.exchange.layout import migrate

            for file in migrate(kb, layout).files:
                click.echo(f"  + {file}", err=True)
