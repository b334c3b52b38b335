"""kb pack."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, usage_error, with_kb
from kb.cli.prints import print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Answer a question with evidence.")
@click.argument("words", nargs=-1)
@click.option("--schema", is_flag=True, help="Print the JSON schema of a pack.")
@click.option("--check", type=click.Path(), default="", help="Check a pack that a reader wrote, JSON or YAML.")
@json_option
@with_kb
def command(kb: KnowledgeBase, words: tuple[str, ...], schema: bool, check: str, as_json: bool) -> None:
    """Answer a question with evidence: quotes word for word, what is not known, what the code says otherwise.

    YAML, or JSON with --json. Nothing is invented: what no record says is an open question with where to look. The code
    is asked about paths, symbols, versions of manifests, ports and names of variables; the rest is left to a person.
    """
    from kb.context.build_pack import find_pack_problems
    from kb.context.pack import SCHEMA, dump_yaml

    if schema:
        print_json(SCHEMA)
    elif check:
        with open(check, encoding="utf-8", errors="replace") as file:
            found = find_pack_problems(kb, file.read(), check)
        for trouble in found:
            click.echo(trouble)
        sys.exit(1 if found else 0)
    elif not words:
        raise usage_error(msg("give a question"))
    else:
        made = kb.pack(" ".join(words), folder=os.getcwd())
        if as_json:
            print_json(made)
        else:
            click.echo(dump_yaml(made), nl=False)
