"""kb review."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, require_person, with_kb, yes_option
from kb.cli.prints import print_json, print_verdicts_and_exit, warn_empty_result
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(invoke_without_command=True, short_help="List and decide open reviews.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the open reviews: contradictions that a person decides. Merging the branch is accepting it."""
    if ctx.invoked_subcommand is None:
        with_kb(_list_reviews)(as_json)


def _list_reviews(kb: KnowledgeBase, as_json: bool) -> None:
    from kb.index.record_ids import qualify_name
    from kb.sync.decide_review import assess_reviews
    from kb.writing.reviews import format_age

    reviews = assess_reviews(kb, kb.reviews())
    if as_json:
        print_json(reviews)
        return
    if not reviews:
        warn_empty_result(kb, msg("no review is open"))
    for review in reviews:
        old = ", ".join(f"[{qualify_name(kb, old)}] {old.title}" for old in kb.sides(review.branch).old)
        since = kb.localise(format_age(review, kb.today()))
        about = ", ".join(filter(None, (since, "/".join(filter(None, (review.host, review.session))), review.standing)))
        click.echo(f"{review.branch}  ({about})")
        click.echo(f"    + [{qualify_name(kb, review.record)}] {review.record.title}\n    − {old}")


@command.command("show", short_help="Print both sides of a review beside each other.")
@click.argument("name", metavar="BRANCH|ID")
@json_option
@with_kb
def show_review(kb: KnowledgeBase, name: str, as_json: bool) -> None:
    """Print both sides of a review beside each other, why they contradict, and the diff."""
    sides = kb.sides(name)
    if as_json:
        print_json(sides)
        return
    from kb.records.short_form import render_side_by_side

    click.echo(sides.reasons.partition("\n\nKb-Op: ")[0])
    for old in sides.old:
        click.echo(render_side_by_side(old, sides.review.record, kb.config.language))
    click.echo(sides.diff)


@command.command("accept", short_help="Merge a review into this branch.")
@click.argument("name", metavar="BRANCH|ID")
@yes_option
@json_option
@with_kb
def accept_review(kb: KnowledgeBase, name: str, yes: bool, as_json: bool) -> None:
    """Do here what merging the pull request would do. It takes a person."""
    require_person(kb, yes=yes)
    print_verdicts_and_exit(kb, [kb.accept(name)], as_json=as_json)


@command.command("reject", short_help="Close a review.")
@click.argument("name", metavar="BRANCH|ID")
@yes_option
@json_option
@with_kb
def reject_review(kb: KnowledgeBase, name: str, yes: bool, as_json: bool) -> None:
    """Do here what closing the pull request would do; the branch stays readable under refs/kb/rejected/.

    It takes a person.
    """
    require_person(kb, yes=yes)
    print_verdicts_and_exit(kb, [kb.reject(name)], as_json=as_json)


@command.command("push", short_help="Push a review and open its request.")
@click.argument("name", metavar="BRANCH|ID")
@click.option("--remote", default="origin", show_default=True, help="Where to.")
@click.option("--open", "open_it", is_flag=True, help="Run gh or glab, where it is installed.")
@with_kb
def push_review(kb: KnowledgeBase, name: str, remote: str, open_it: bool) -> None:
    """Push the branch of a review and print the command that opens the pull or merge request."""
    for line in kb.request(name, remote, open_it=open_it):
        click.echo(line)
    sys.stdout.flush()
