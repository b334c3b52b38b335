"""kb check."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kb.cli.options import usage_error, with_kb
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
    below = [_resolve_relative_path(kb, path) for path in paths]
    form = "json" if as_json else form
    if revision is not None and fix:
        raise usage_error(msg("give --fix or --against, not both"))
    found = _run_check(kb, below, form, fix) if revision is None else _run_comparison(kb, revision, below, form)
    sys.exit(1 if any(strict or finding.severity == "error" for finding in found) else 0)


def _run_check(kb: KnowledgeBase, below: list[str], form: str, fix: bool) -> Sequence[Finding]:
    """Check the records, print what is found and return it."""
    from kb.checks import findings
    from kb.checks.run_checks import filter_findings, run_check
    from kb.git.dropped_records import report_put_back
    from kb.writing.publish import report_rescued_work

    reader = "" if form == "markdown" else None  # who reads the page stands anywhere
    found, records, shared = run_check(kb, fix=fix, below=below, reader=reader)
    found = [*found, *filter_findings(_find_stale_layout(kb), below)]
    language = kb.config.language
    if form == "json":
        print_json(findings.format_json(found, language))
    elif form == "github":
        click.echo(findings.format_github(found, language, kb.repository.prefix), nl=False)
    elif form == "markdown":
        from kb.cli import comment

        click.echo(comment.render_findings(found, kb.config.name, language, shared), nl=False)
    else:
        click.echo(findings.format_text(found, language), nl=False)
        click.echo(findings.summarise_findings(found, language, records), err=True)
    for said in filter(None, (report_put_back(kb), report_rescued_work(kb))):
        click.echo(said.translate(language), err=True)
    return found


def _find_stale_layout(kb: KnowledgeBase) -> list[Finding]:
    """Return that `anchors.md` of the layout of one project is older than the records, where it is."""
    from kb.checks.findings import Finding
    from kb.importers.project_layout import find_stale_anchors

    path = find_stale_anchors(kb)
    message = msg("it is not up to date with the records")
    return [Finding("layout", "warning", path, 1, message, msg("run: kb layout migrate project"))] if path else []


def _run_comparison(kb: KnowledgeBase, revision: str, below: list[str], form: str) -> Sequence[Finding]:
    """Compare the checkout with *revision*, print the outcome and return what is against the merge."""
    from kb.checks import findings
    from kb.checks.compare import compare_with_revision
    from kb.cli import comment

    comparison = compare_with_revision(kb, revision, below=below)
    language = kb.config.language
    if form == "json":
        print_json(comment.serialise_comparison(comparison, language))
    elif form == "github":
        click.echo(findings.format_github(comparison.findings, language, kb.repository.prefix), nl=False)
    else:
        from kb.cli.page_style import MARKDOWN, PLAIN

        ink = MARKDOWN if form == "markdown" else PLAIN
        click.echo(comment.render_comparison(comparison, kb.config.name, language, ink), nl=False)
    return comparison.findings


def _resolve_relative_path(kb: KnowledgeBase, path: str) -> str:
    """Return *path* relative to the knowledge base; "" for all of it."""
    if not os.path.lexists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    inside = os.path.relpath(os.path.realpath(path), kb.root)
    if inside.split(os.sep)[0] == os.pardir:
        raise BadInput(msg("it is not in the knowledge base {root}", root=kb.root), path=path)
    return "" if inside == os.curdir else inside.replace(os.sep, "/")
