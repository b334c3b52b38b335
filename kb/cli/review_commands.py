"""Commands on pending work and on history.

Pending are open reviews, candidates held below the gate, and proposals of sessions. History is the changes between two
commits, the recent digest, and the dependents of a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from kb.capture import proposals
from kb.capture.handover import list_open_sessions
from kb.capture.proposals import Proposal, add_proposals, confirm_proposal, find_proposal, list_pending, reject_proposal
from kb.capture.refusals import PASSED_OVER, RECENT_REFUSAL_SECONDS, list_passed_over, list_refusals
from kb.cli.options import (
    Answer,
    add_options,
    ask_for_reason,
    has_decided,
    is_at_terminal,
    with_json,
    with_kb,
    yes_option,
)
from kb.cli.prints import format_sides, print_json, warn_empty_result
from kb.cli.without_click import read_candidates
from kb.errors import NeedsPerson
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.records.kinds import REJECTED, kind_label
from kb.records.model import Candidate, Verdict
from kb.safety.quoting import sanitise_text
from kb.sync.decide_review import assess_reviews
from kb.writing.inbox import find_held
from kb.writing.reviews import Review, describe_choice, describe_rejection, format_age, load_rejection

review_argument = click.argument("name", metavar="BRANCH|ID")
name_argument = click.argument("name")
choice_options = add_options(
    click.argument("names", nargs=-1, metavar="[NAME]..."),
    click.option("--code", default="", help="The code that was shown with the proposal."),
)


@click.group(invoke_without_command=True)
@with_json
def review(kb: KnowledgeBase) -> Answer:
    """List the open reviews: contradictions that a person decides. Merging the branch is accepting it."""
    reviews = assess_reviews(kb, kb.reviews())
    notes = [describe_choice(kb, reviews[0], is_shown=False) if reviews else msg("no review is open")]
    return Answer(reviews, (line for one in reviews for line in _iter_review_lines(kb, one)), notes=notes)


def _iter_review_lines(kb: KnowledgeBase, review: Review) -> Iterator[str]:
    old = ", ".join(f"[{qualify_name(kb, old)}] {old.title}" for old in kb.sides(review.branch).old)
    origin = "/".join(filter(None, (review.host, review.session)))
    about = (kb.localise(format_age(review, kb.today())), origin, review.standing)
    yield f"{review.branch}  ({', '.join(filter(None, about))})"
    yield f"    + [{qualify_name(kb, review.record)}] {review.record.title}"
    yield f"    − {old}"


@review.command("show", short_help="Print both sides of a review beside each other.")
@review_argument
@click.option("-p", "--patch", is_flag=True, help="At a terminal: the diff as well.")
@with_json
def show_review(kb: KnowledgeBase, name: str, patch: bool) -> Answer:
    """Print both sides of a review, why they contradict, and, but for a terminal, the diff."""
    sides = kb.sides(name)
    is_rejected = sides.review.branch.startswith(REJECTED)
    decision = describe_rejection(load_rejection(kb, sides.review)) if is_rejected else None
    note = decision or describe_choice(kb, sides.review, is_shown=True)
    return Answer(sides, format_sides(kb, sides, patch=patch), [note])


@review.command("accept", short_help="Merge a review into this branch.")
@review_argument
@yes_option
@with_json
def accept_review(kb: KnowledgeBase, name: str, yes: bool) -> list[Verdict]:
    """Do locally what merging the pull request would do. Only a person can do this."""
    _require_person(kb, yes)
    return [kb.accept(name)]


@review.command("reject", short_help="Close a review.")
@review_argument
@click.option("--why", default="", help="The reason: whoever proposes the same again reads it.")
@yes_option
@with_json
def reject_review(kb: KnowledgeBase, name: str, why: str, yes: bool) -> list[Verdict]:
    """Do locally what closing the pull request would do; kb review show still prints it.

    Only a person can do this. At a terminal kb asks for the reason where --why does not give it.
    """
    _require_person(kb, yes)
    return [kb.reject(name, why=why or ("" if yes else ask_for_reason(kb)))]


def _require_person(kb: KnowledgeBase, yes: bool) -> None:
    if not has_decided(kb, yes=yes):
        hint = msg("at a terminal, or in a script of your own with --yes")
        raise NeedsPerson(msg("only a person decides a review"), hint=hint)


@review.command("push", short_help="Push a review and open its request.")
@review_argument
@click.option("--remote", default="origin", show_default=True, help="Where to.")
@click.option("--open", "open_it", is_flag=True, help="Run gh or glab, where it is installed.")
@with_kb
def push_review(kb: KnowledgeBase, name: str, remote: str, open_it: bool) -> Answer:
    """Push the branch of a review and print the command that opens the pull or merge request."""
    return Answer(None, kb.request(name, remote, open_it=open_it))


@click.group(invoke_without_command=True)
@click.option("--seen", is_flag=True, help="List what was seen in sessions of the last 7 days but not kept, and why.")
@with_json
def inbox(kb: KnowledgeBase, seen: bool) -> Answer:
    """List what the gate held back. A candidate that is seen again in another session is written automatically."""
    return list_seen(kb) if seen else list_held(kb)


def list_seen(kb: KnowledgeBase) -> Answer:
    """List what sessions brought that was refused, and what sounded like a candidate and was none."""
    since = kb.now() - RECENT_REFUSAL_SECONDS
    refused, passed = list_refusals(kb, since), list_passed_over(kb, since)
    rows = [(one.session, one.title, "; ".join(one.reasons)) for one in refused]
    rows += [(one.session, one.quote, kb.localise(PASSED_OVER[one.reason])) for one in passed]
    lines = [f"{session[:8]}  {sanitise_text(quote)}  ({reason})" for session, quote, reason in rows]
    held = msg("held: {held}, refused: {refused}, passed over: {passed}", held=len(kb.held()), refused=len(refused),
               passed=len(passed))  # fmt: skip
    return Answer({"refused": refused, "passed_over": passed}, lines, notes=[held])


def list_held(kb: KnowledgeBase) -> Answer:
    "List held candidates: name, how often each was seen, kind and title."
    held = kb.held()
    lines = [f"{one.name}  ×{len(one.sightings)}  {_format_candidate(kb, one.candidate)}" for one in held]
    notes = [] if held else [msg("nothing is held")]
    # what was refused is kept nowhere to be promoted, and people look for it here
    if refused := list_refusals(kb, kb.now() - RECENT_REFUSAL_SECONDS):
        notes.append(msg("refused in sessions of the last 7 days: {n}; which: kb digest", n=len(refused)))
    if passed := list_passed_over(kb, kb.now() - RECENT_REFUSAL_SECONDS):
        notes.append(msg("passed over in sessions of the last 7 days: {n}; which: kb inbox --seen", n=len(passed)))
    if waiting := sum(len(state.open_rows) for state in list_open_sessions(kb, scope=kb.caller_scope)):
        settled = msg("settled in sessions and not recorded: {n}; see: kb learn next", n=waiting)
        notes.append(settled)
    return Answer(held, lines, notes=notes)


inbox.command("list", short_help="List what is held.")(with_json(list_held))


def _format_candidate(kb: KnowledgeBase, candidate: Candidate) -> str:
    return f"{kind_label(candidate.kind, kb.config.language)}: {candidate.title}  ({candidate.scope})"


@inbox.command("show", short_help="Print one held candidate.")
@name_argument
@with_kb
def show_held(kb: KnowledgeBase, name: str) -> None:
    """Print one held candidate with the reasons and its sightings, as JSON."""
    entry = find_held(kb, name)
    print_json({**entry._asdict(), "candidate": candidate_to_json(entry.candidate)})


@inbox.command("promote", short_help="Let a held candidate through.")
@name_argument
@with_json
def promote_held(kb: KnowledgeBase, name: str) -> list[Verdict]:
    """Let a held candidate through the gate on your decision; duplicates and contradictions are still checked."""
    return [kb.promote(name)]


@inbox.command("drop", short_help="Forget a held candidate.")
@name_argument
@with_kb
def drop_held(kb: KnowledgeBase, name: str) -> Answer:
    """Drop a held candidate; the history of the inbox keeps it."""
    entry = kb.drop(name)
    return Answer(None, [f"{kb.localise(msg('dropped'))}  {entry.candidate.title}"])


@click.group(invoke_without_command=True)
@with_json
def proposal(kb: KnowledgeBase) -> Answer:
    """List and decide proposals. In a session, answer mb:write or mb:no instead."""
    return list_proposals(kb)


def list_proposals(kb: KnowledgeBase) -> Answer:
    """List the proposals that are not decided yet: name, kind and title."""
    pending = list_pending(kb)
    notes = [] if pending else [msg("nothing is proposed")]
    return Answer([_serialise_proposal(one) for one in pending], _iter_proposal_lines(kb, pending), notes=notes)


proposal.command("list", short_help="List what is proposed.")(with_json(list_proposals))


def _iter_proposal_lines(kb: KnowledgeBase, proposals: list[Proposal]) -> Iterator[str]:
    return (f"{one.name}  {_format_candidate(kb, one.candidate)}" for one in proposals)


def _serialise_proposal(proposal: Proposal) -> dict[str, object]:
    """Return *proposal* as it is shown: its code is nobody's business, or an agent could confirm in a person's name."""
    hidden = ("salt", "code", "tries", "candidate")
    shown = {key: value for key, value in proposal._asdict().items() if key not in hidden}
    return {**shown, "candidate": candidate_to_json(proposal.candidate)}


@proposal.command("show", short_help="Print one proposal.")
@name_argument
@with_kb
def show_proposal(kb: KnowledgeBase, name: str) -> None:
    """Print one proposal with what it would write and what became of it, as JSON."""
    print_json(_serialise_proposal(find_proposal(kb, name)))


@proposal.command("add", short_help="Propose candidates.")
@click.argument("source")
@click.option("--session", default="", help="The session in whose next turn the person is asked (default: any).")
@with_kb
def propose_candidates(kb: KnowledgeBase, source: str, session: str) -> Answer:
    """Propose the candidates in a JSON file, or on stdin (-); the person is asked at the end of the turn."""
    made = add_proposals(kb, read_candidates(source), folder=os.getcwd(), session=session)
    notes = [] if made else [msg("all of this has been proposed before")]
    return Answer(None, _iter_proposal_lines(kb, made), notes=notes)


@proposal.command("confirm", short_help="Write the proposed record.")
@choice_options
@with_json
def confirm_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> list[Verdict]:
    """Write the proposal NAME, or all of them. Only a person can do this: at a terminal, or with the code shown."""
    return [confirm_proposal(kb, one) for one in _select_proposals(kb, names, code, "write")]


@proposal.command("reject", short_help="Reject a proposal.")
@choice_options
@with_kb
def reject_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> None:
    "Reject the proposal NAME, or all of them; it is not proposed again. Like confirm, only a person can do this."
    for one in _select_proposals(kb, names, code, "drop"):
        reject_proposal(kb, one)
        click.echo(f"{kb.localise(msg('dropped'))}  {one.candidate.title}")


def _select_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str, what: str) -> list[Proposal]:
    """Return what a person decides on; raise NeedsPerson without one."""
    wanted = [proposals.find_proposal(kb, name) for name in names] or proposals.list_pending(kb)
    if code and not names:
        wanted = [one for one in wanted if one.code]  # the code was shown with these, and with no others
    if not wanted:
        warn_empty_result(kb, msg("nothing is proposed"))
    elif proposals.should_ask_person(kb, wanted, code, terminal=is_at_terminal()):
        for line in _iter_proposal_lines(kb, wanted):
            click.echo(line, err=True)
        question = msg("write this?") if what == "write" else msg("drop this?")
        return wanted if click.confirm(kb.localise(question), default=False, err=True) else []
    return wanted
