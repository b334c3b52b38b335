"""kb check."""

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.door import print_json, with_kb
from kb.errors import BadInput
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Check the records.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="Mend in the checkout what can be mended safely.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="Lines to read, JSON, or the annotations of a GitHub workflow.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@with_kb
def command(kb: "KnowledgeBase", paths: tuple[str, ...], fix: bool, form: str, as_json: bool, strict: bool) -> None:
    """Check files, ids, links, statuses, blocks, secrets and what the records speak of; exit 1 on errors.

    With PATH only what is found in that file, or below that folder, counts; the links are still checked against all.
    """
    from kb.checking import report

    found = kb.check(fix=fix, below=[_inside(kb, path) for path in paths])
    language = kb.config.language
    if form == "json" or as_json:
        print_json(report.as_json(found, language))
    elif form == "github":
        click.echo(report.as_github(found, language, kb.repository.prefix), nl=False)
    elif found:
        click.echo(report.as_text(found, language), nl=False)
    if not as_json and form == "text":
        click.echo(report.summary(found, language, kb.fresh().count()), err=True)
    sys.exit(1 if any(strict or finding.severity == "error" for finding in found) else 0)


def _inside(kb: "KnowledgeBase", path: str) -> str:
    """Return *path* relative to the knowledge base; "" for all of it."""
    if not os.path.lexists(path):
        raise BadInput(say("there is no such file or folder"), path=path)
    inside = os.path.relpath(os.path.realpath(path), kb.root)
    if inside.split(os.sep)[0] == os.pardir:
        raise BadInput(say("it is not in the knowledge base {root}", root=kb.root), path=path)
    return "" if inside == os.curdir else inside.replace(os.sep, "/")
