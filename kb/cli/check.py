"""kb check."""

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.door import print_json, with_kb

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Check the records.")
@click.option("--fix", is_flag=True, help="Mend in the checkout what can be mended safely.")
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@with_kb
def command(kb: "KnowledgeBase", fix: bool, form: str, as_json: bool, strict: bool) -> None:
    """Check files, ids, links, statuses, blocks, secrets and what the records speak of; exit 1 on errors."""
    from kb.checking import report

    found = kb.check(fix=fix)
    language = kb.config.language
    if form == "json" or as_json:
        print_json(report.as_json(found, language))
    elif form == "github":
        click.echo(report.as_github(found, language, kb.repository.prefix), nl=False)
    elif found:
        click.echo(report.as_text(found, language))
    if not as_json and form == "text":
        click.echo(report.summary(found, language, kb.fresh().count()), err=True)
    sys.exit(1 if any(strict or finding.severity == "error" for finding in found) else 0)
