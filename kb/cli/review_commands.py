"""What waits for a person: open reviews, candidates held below the gate, and what sessions propose to keep."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import is_at_terminal, json_option, require_person, with_kb, yes_option
from kb.cli.prints import print_json, print_verdicts, warn, warn_empty_result
from kb.i18n import msg
from kb.records.kinds import kind_label

if TYPE_CHECKING:
    from kb.capture.proposals import Proposal
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Candidate

name_argument = click.argument("name", metavar="BRANCH|ID")
names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")
code_option = click.option("--code", default="", help="The code that was shown with the proposal.")


# -- reviews -----------------------------------------------------------------------------------------


@click.group(invoke_without_command=True, short_help="List and decide open reviews.")
@json_option
@click.pass_context
def review(ctx: click.Context, as_json: bool) -> None:
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
        age = kb.localise(format_age(review, kb.today()))
        origin = "/".join(filter(None, (review.host, review.session)))
        click.echo(f"{review.branch}  ({', '.join(filter(None, (age, origin, review.standing)))})")
        click.echo(f"    + [{qualify_name(kb, review.record)}] {review.record.title}\n    − {old}")


@review.command("show", short_help="Print both sides of a review beside each other.")
@name_argument
@json_option
@with_kb
def show_review(kb: KnowledgeBase, name: str, as_json: bool) -> None:
    """Print both sides of a review beside each other, why they contradict, and the diff."""
    from kb.records.short_form import render_side_by_side

    sides = kb.sides(name)
    if as_json:
        print_json(sides)
        return
    click.echo(sides.reasons.partition("\n\nKb-Op: ")[0])
    for old in sides.old:
        click.echo(render_side_by_side(old, sides.review.record, kb.config.language))
    click.echo(sides.diff)


@review.command("accept", short_help="Merge a review into this branch.")
@name_argument
@yes_option
@json_option
@with_kb
def accept_review(kb: KnowledgeBase, name: str, yes: bool, as_json: bool) -> int:
    """Do here what merging the pull request would do. It takes a person."""
    require_person(kb, yes=yes)
    return print_verdicts(kb, [kb.accept(name)], as_json=as_json)


@review.command("reject", short_help="Close a review.")
@name_argument
@yes_option
@json_option
@with_kb
def reject_review(kb: KnowledgeBase, name: str, yes: bool, as_json: bool) -> int:
    """Do here what closing the pull request would do; the branch stays readable under refs/kb/rejected/.

    It takes a person.
    """
    require_person(kb, yes=yes)
    return print_verdicts(kb, [kb.reject(name)], as_json=as_json)


@review.command("push", short_help="Push a review and open its request.")
@name_argument
@click.option("--remote", default="origin", show_default=True, help="Where to.")
@click.option("--open", "open_it", is_flag=True, help="Run gh or glab, where it is installed.")
@with_kb
def push_review(kb: KnowledgeBase, name: str, remote: str, open_it: bool) -> None:
    """Push the branch of a review and print the command that opens the pull or merge request."""
    for line in kb.request(name, remote, open_it=open_it):
        click.echo(line)
    sys.stdout.flush()


# -- inbox -------------------------------------------------------------------------------------------


@click.group(invoke_without_command=True, short_help="See what the gate keeps back.")
@json_option
@click.pass_context
def inbox(ctx: click.Context, as_json: bool) -> None:
    """See what the gate keeps back. Seen again in another session, a candidate comes out by itself."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_held, as_json=as_json)


@inbox.command("list", short_help="List what is held.")
@json_option
@with_kb
def list_held(kb: KnowledgeBase, as_json: bool) -> None:
    """List what is held: name, how often it was seen, kind and title."""
    from kb.capture.refusals import LATELY, list_refusals

    held = kb.held()
    if as_json:
        print_json(held)
        return
    if not held:
        warn_empty_result(kb, msg("nothing is held"))
    for entry in held:
        click.echo(f"{entry.name}  ×{len(entry.sightings)}  {_format_candidate(kb, entry.candidate)}")
    if refused := list_refusals(kb, kb.now() - LATELY):
        warn(kb, msg("refused in sessions of the last 7 days: {n}; which: kb digest", n=len(refused)))


def _format_candidate(kb: KnowledgeBase, candidate: Candidate) -> str:
    return f"{kind_label(candidate.kind, kb.config.language)}: {candidate.title}  ({candidate.scope})"


@inbox.command("show", short_help="Print one held candidate.")
@click.argument("name")
@with_kb
def show_held(kb: KnowledgeBase, name: str) -> None:
    """Print one held candidate with the reasons and its sightings, as JSON."""
    from kb.records.candidate import candidate_to_json

    entry = kb.one_held(name)
    print_json({**entry._asdict(), "candidate": candidate_to_json(entry.candidate)})


@inbox.command("promote", short_help="Let a held candidate through.")
@click.argument("name")
@json_option
@with_kb
def promote_held(kb: KnowledgeBase, name: str, as_json: bool) -> int:
    """Let a held candidate through the gate on your decision; duplicates and contradictions are still checked."""
    return print_verdicts(kb, [kb.promote(name)], as_json=as_json)


@inbox.command("drop", short_help="Forget a held candidate.")
@click.argument("name")
@with_kb
def drop_held(kb: KnowledgeBase, name: str) -> None:
    """Forget a held candidate; the history of the inbox keeps it."""
    entry = kb.drop(name)
    click.echo(f"{kb.localise(msg('dropped'))}  {entry.candidate.title}")


# -- proposals ---------------------------------------------------------------------------------------


@click.group(invoke_without_command=True, short_help="See and decide what is proposed to be kept.")
@json_option
@click.pass_context
def proposal(ctx: click.Context, as_json: bool) -> None:
    """See and decide what is proposed to be kept. In a session, answer mb:write or mb:no instead."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_proposals, as_json=as_json)


@proposal.command("list", short_help="List what is proposed.")
@json_option
@with_kb
def list_proposals(kb: KnowledgeBase, as_json: bool) -> None:
    """List what is proposed and not decided: name, kind and title."""
    from kb.capture.proposals import list_pending

    pending = list_pending(kb)
    if as_json:
        print_json([_serialise_proposal(one) for one in pending])
        return
    if not pending:
        warn_empty_result(kb, msg("nothing is proposed"))
    _print_proposals(kb, pending)


@proposal.command("show", short_help="Print one proposal.")
@click.argument("name")
@with_kb
def show_proposal(kb: KnowledgeBase, name: str) -> None:
    """Print one proposal with what it would write and what became of it, as JSON."""
    from kb.capture.proposals import find_proposal

    print_json(_serialise_proposal(find_proposal(kb, name)))


@proposal.command("add", short_help="Propose candidates.")
@click.argument("source")
@click.option("--session", default="", help="The session at whose next turn the person is asked (default: any).")
@with_kb
def propose_candidates(kb: KnowledgeBase, source: str, session: str) -> None:
    """Propose the candidates in a JSON file, or on stdin (-); the person is asked at the end of the turn."""
    from kb.capture.proposals import add_proposals
    from kb.cli.plain import read_candidates

    made = add_proposals(kb, read_candidates(source), folder=os.getcwd(), session=session)
    if not made:
        warn_empty_result(kb, msg("all of this was proposed before"))
    _print_proposals(kb, made)


@proposal.command("confirm", short_help="Write what is proposed.")
@names_argument
@code_option
@json_option
@with_kb
def confirm_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str, as_json: bool) -> int:
    """Write what is proposed (NAME, or all). It takes a person: at a terminal, or with the code that was shown."""
    from kb.capture.proposals import confirm_proposal

    wanted = _select_proposals(kb, names, code, "write")
    return print_verdicts(kb, [confirm_proposal(kb, one) for one in wanted], as_json=as_json)


@proposal.command("reject", short_help="Drop what is proposed.")
@names_argument
@code_option
@with_kb
def reject_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> None:
    """Drop what is proposed (NAME, or all); it is not proposed again. It takes a person, as confirm does."""
    from kb.capture.proposals import reject_proposal

    for one in _select_proposals(kb, names, code, "drop"):
        reject_proposal(kb, one)
        click.echo(f"{kb.localise(msg('dropped'))}  {one.candidate.title}")


def _select_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str, what: str) -> list[Proposal]:
    """Return what a person decides on; raise NeedsPerson without one."""
    from kb.capture import proposals

    wanted = [proposals.find_proposal(kb, name) for name in names] or proposals.list_pending(kb)
    if code and not names:
        wanted = [one for one in wanted if one.code]
    if not wanted:
        warn_empty_result(kb, msg("nothing is proposed"))
        return []
    if proposals.should_ask_person(kb, wanted, code, terminal=is_at_terminal()):
        _print_proposals(kb, wanted, err=True)
        question = msg("write this?") if what == "write" else msg("drop this?")
        return wanted if click.confirm(kb.localise(question), default=False, err=True) else []
    return wanted


def _print_proposals(kb: KnowledgeBase, proposals: list[Proposal], *, err: bool = False) -> None:
    for one in proposals:
        click.echo(f"{one.name}  {_format_candidate(kb, one.candidate)}", err=err)


def _serialise_proposal(proposal: Proposal) -> dict[str, object]:
    """Return *proposal* as it is shown: its code is nobody's business."""
    from kb.records.candidate import candidate_to_json

    hidden = ("salt", "code", "tries", "candidate")
    shown = {key: value for key, value in proposal._asdict().items() if key not in hidden}
    return {**shown, "candidate": candidate_to_json(proposal.candidate)}
