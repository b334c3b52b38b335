"""kb proposal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import is_at_terminal, json_option, with_kb
from kb.cli.prints import exit_for_verdicts, print_json, print_verdict, warn_empty_result
from kb.i18n import msg
from kb.records.kinds import kind_label

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.proposals import Proposal
    from kb.knowledge_base import KnowledgeBase

_code = click.option("--code", default="", help="The code that was shown with the proposal.")


@click.group(invoke_without_command=True, short_help="See and decide what is proposed to be kept.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """See and decide what is proposed to be kept. In a session, answer mb:write or mb:no instead."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_proposals, as_json=as_json)


@command.command("list", short_help="List what is proposed.")
@json_option
@with_kb
def list_proposals(kb: KnowledgeBase, as_json: bool) -> None:
    """List what is proposed and not decided: name, kind and title."""
    from kb.capture import proposals

    found = proposals.list_pending(kb)
    if as_json:
        print_json([_serialise_proposal(proposal) for proposal in found])
        return
    if not found:
        warn_empty_result(kb, msg("nothing is proposed"))
    for proposal in found:
        _print_proposal(kb, proposal)


@command.command("show", short_help="Print one proposal.")
@click.argument("name")
@with_kb
def show_proposal(kb: KnowledgeBase, name: str) -> None:
    """Print one proposal with what it would write and what became of it, as JSON."""
    from kb.capture import proposals

    print_json(_serialise_proposal(proposals.find_proposal(kb, name)))


@command.command("add", short_help="Propose candidates.")
@click.argument("source")
@click.option("--session", default="", help="The session at whose next turn the person is asked (default: any).")
@with_kb
def add_proposals(kb: KnowledgeBase, source: str, session: str) -> None:
    """Propose the candidates in a JSON file, or on stdin (-); the person is asked at the end of the turn."""
    from kb.capture import proposals
    from kb.cli import plain

    made = proposals.add_proposals(kb, plain.read_candidates(source), folder=os.getcwd(), session=session)
    if not made:
        warn_empty_result(kb, msg("all of this was proposed before"))
    for proposal in made:
        _print_proposal(kb, proposal)


@command.command("confirm", short_help="Write what is proposed.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_code
@json_option
@with_kb
def confirm_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str, as_json: bool) -> None:
    """Write what is proposed (NAME, or all). It takes a person: at a terminal, or with the code that was shown."""
    from kb.capture import proposals

    wanted = _select_proposals(kb, names, code, "write")
    verdicts = [proposals.confirm_proposal(kb, proposal) for proposal in wanted]
    if as_json:
        print_json(verdicts)
    else:
        for verdict in verdicts:
            print_verdict(kb, verdict)
    exit_for_verdicts(verdicts)


@command.command("reject", short_help="Drop what is proposed.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_code
@with_kb
def reject_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> None:
    """Drop what is proposed (NAME, or all); it is not proposed again. It takes a person, as confirm does."""
    from kb.capture import proposals

    for proposal in _select_proposals(kb, names, code, "drop"):
        proposals.reject_proposal(kb, proposal)
        click.echo(f"{kb.localise(msg('dropped'))}  {proposal.candidate.title}")


def _select_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str, what: str) -> list[Proposal]:
    """Return what a person decides on; raise NeedsPerson without one."""
    from kb.capture import proposals

    wanted = [proposals.find_proposal(kb, name) for name in names] or proposals.list_pending(kb)
    if code and not names:
        wanted = [proposal for proposal in wanted if proposal.code]
    if not wanted:
        warn_empty_result(kb, msg("nothing is proposed"))
        return []
    if proposals.should_ask_person(kb, wanted, code, terminal=is_at_terminal()):
        for proposal in wanted:
            _print_proposal(kb, proposal, err=True)
        asked = msg("write this?") if what == "write" else msg("drop this?")
        return wanted if click.confirm(kb.localise(asked), default=False, err=True) else []
    return wanted


def _print_proposal(kb: KnowledgeBase, proposal: Proposal, *, err: bool = False) -> None:
    candidate = proposal.candidate
    kind = kind_label(candidate.kind, kb.config.language)
    click.echo(f"{proposal.name}  {kind}: {candidate.title}  ({candidate.scope})", err=err)


def _serialise_proposal(proposal: Proposal) -> dict[str, Any]:
    """Return *proposal* as it is shown: its code is nobody's business."""
    from kb.records.candidate import candidate_to_json

    hidden = ("salt", "code", "tries", "candidate")
    shown = {key: value for key, value in proposal._asdict().items() if key not in hidden}
    return {**shown, "candidate": candidate_to_json(proposal.candidate)}
