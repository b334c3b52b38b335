"""kb check."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kb.cli.door import usage, with_kb
from kb.cli.prints import print_json
from kb.errors import BadInput
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Check the records.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--against",
    "revision",
    metavar="REVISION",
    help="Tell what merging the checkout into REVISION (origin/main) changes, and what is against it.",
)
@click.option("--fix", is_flag=True, help="Mend in the checkout what can be mended safely.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "markdown"]),
    default="text",
    show_default=True,
    help="Lines to read, JSON, the annotations of a GitHub workflow, or a comment for a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@with_kb
def command(
    kb: KnowledgeBase, paths: tuple[str, ...], revision: str | None, fix: bool, form: str, as_json: bool, strict: bool
) -> None:
    """Check files, ids, links, statuses, blocks, secrets and what the records speak of; exit 1 on errors.

    With PATH only what is found in that file, or below that folder, counts; the links are still checked against all.

    With --against the changed records are told in short, with those that are like them, what they contradict there and
    on other open branches, the ids that are taken on both sides, and what will hold after the merge. Exit 1 on errors
    in what changes, not on those that are there anyway.
    """
    below = [_inside(kb, path) for path in paths]
    form = "json" if as_json else form
    if revision is not None and fix:
        raise usage(msg("give --fix or --against, not both"))
    found = _checked(kb, below, form, fix) if revision is None else _compared(kb, revision, below, form)
    sys.exit(1 if any(strict or finding.severity == "error" for finding in found) else 0)


def _checked(kb: KnowledgeBase, below: list[str], form: str, fix: bool) -> Sequence[Finding]:
    """Check the records, print what is found and return it."""
    from kb.checks import report
    from kb.checks.collect_checks import checked, those
    from kb.git.dropped_records import tell_put_back
    from kb.writing.concurrent_git import tell_kept_work

    reader = "" if form == "markdown" else None  # who reads the page stands anywhere
    found, records, shared = checked(kb, fix=fix, below=below, reader=reader)
    found = [*found, *those(_stale_layout(kb), below)]
    language = kb.config.language
    if form == "json":
        print_json(report.as_json(found, language))
    elif form == "github":
        click.echo(report.as_github(found, language, kb.repository.prefix), nl=False)
    elif form == "markdown":
        from kb.cli import comment

        click.echo(comment.found(found, kb.config.name, language, shared), nl=False)
    else:
        click.echo(report.as_text(found, language), nl=False)
        click.echo(report.summary(found, language, records), err=True)
    for said in filter(None, (tell_put_back(kb), tell_kept_work(kb))):
        click.echo(said.translate(language), err=True)
    return found


def _stale_layout(kb: KnowledgeBase) -> list[Finding]:
    """Return that `anchors.md` of the layout of one project is older than the records, where it is."""
    from kb.checks.findings import Finding
    from kb.importers.project_layout import stale_anchors

    path = stale_anchors(kb)
    message = msg("it is not up to date with the records")
    return [Finding("layout", "warning", path, 1, message, msg("run: kb layout migrate project"))] if path else []


def _compared(kb: KnowledgeBase, revision: str, below: list[str], form: str) -> Sequence[Finding]:
    """Compare the checkout with *revision*, print the outcome and return what is against the merge."""
    from kb.checks import report
    from kb.checks.compare import compare
    from kb.cli import comment

    comparison = compare(kb, revision, below=below)
    language = kb.config.language
    if form == "json":
        print_json(comment.as_json(comparison, language))
    elif form == "github":
        click.echo(report.as_github(comparison.findings, language, kb.repository.prefix), nl=False)
    else:
        from kb.cli.ink import MARKDOWN, PLAIN

        ink = MARKDOWN if form == "markdown" else PLAIN
        click.echo(comment.compared(comparison, kb.config.name, language, ink), nl=False)
    return comparison.findings


def _inside(kb: KnowledgeBase, path: str) -> str:
    """Return *path* relative to the knowledge base; "" for all of it."""
    if not os.path.lexists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    inside = os.path.relpath(os.path.realpath(path), kb.root)
    if inside.split(os.sep)[0] == os.pardir:
        raise BadInput(msg("it is not in the knowledge base {root}", root=kb.root), path=path)
    return "" if inside == os.curdir else inside.replace(os.sep, "/")
