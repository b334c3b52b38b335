"""Commands on pending work and on history.

Pending are open reviews, candidates held below the gate, and proposals of sessions. History is the changes between two
commits, the recent digest, and the dependents of a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from kb.capture import proposals
from kb.capture.handover import list_open_sessions
from kb.capture.proposals import Proposal, add_proposals, confirm_proposal, find_proposal, list_pending, reject_proposal
from kb.capture.refusals import PASSED_OVER, RECENT_REFUSAL_SECONDS, list_passed_over, list_refusals
from kb.cli.comment import LABELS, MARKDOWN, PLAIN, PageStyle
from kb.cli.learning_commands import answer_schedule, describe_gap
from kb.cli.options import (
    Answer,
    add_options,
    has_decided,
    is_at_terminal,
    record_options,
    with_json,
    with_kb,
    yes_option,
)
from kb.cli.plain import read_candidates
from kb.cli.prints import format_record_line, format_sides, pad_text, print_json, warn_empty_result
from kb.context.disclose import quote_base_name
from kb.errors import NeedsPerson
from kb.history.dependents import find_dependents
from kb.history.snapshot import ChangeLog, ChangeLogEntry, Digest, build_change_log, build_digest, resolve_range
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.records.kinds import kind_label, section_label
from kb.records.model import REVISIT_WHEN, Candidate, Verdict
from kb.records.short_form import summarise_section
from kb.safety.quoting import sanitise_text
from kb.sync.decide_review import assess_reviews
from kb.text.segment import clip
from kb.writing.inbox import find_held
from kb.writing.reviews import Review, describe_choice, format_age

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
    return Answer(sides, format_sides(kb, sides, patch=patch), [describe_choice(kb, sides.review, is_shown=True)])


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
@yes_option
@with_json
def reject_review(kb: KnowledgeBase, name: str, yes: bool) -> list[Verdict]:
    """Do locally what closing the pull request would do; the branch stays readable under refs/kb/rejected/.

    Only a person can do this.
    """
    _require_person(kb, yes)
    return [kb.reject(name)]


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
    """List what is held: name, how often it was seen, kind and title."""
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


@proposal.command("confirm", short_help="Write what is proposed.")
@choice_options
@with_json
def confirm_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> list[Verdict]:
    """Write the proposal NAME, or all of them. Only a person can do this: at a terminal, or with the code shown."""
    return [confirm_proposal(kb, one) for one in _select_proposals(kb, names, code, "write")]


@proposal.command("reject", short_help="Drop what is proposed.")
@choice_options
@with_kb
def reject_proposals(kb: KnowledgeBase, names: tuple[str, ...], code: str) -> None:
    """Drop the proposal NAME, or all of them; it is not proposed again. Like confirm, only a person can do this."""
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


# -- what happened to the records -----------------------------------------------------------------

_HEADINGS = {
    "decided": msg("Decided"),
    "superseded": msg("Superseded"),
    "deprecated": msg("Deprecated"),
    "rejected": msg("Rejected"),
    "reopened": msg("Reopened"),
    "proposed": msg("Proposed"),
    "amended": msg("Amended"),
    "edited": msg("Edited"),
    "removed": msg("Removed"),
}
_QUOTED = PLAIN._replace(text=lambda words: sanitise_text(PLAIN.text(words)))
"""For a reader who may be an agent: titles and folder names that pass for a tag of the host are quoted."""
_WEEKLY = "every Monday at 6:17"
_MAX_SHOWN_RECORDS = 10
"""Records of one part of a digest that are named; the others are counted."""
_RELATIONS = {
    said.template: said
    for said in (
        *(msg("superseded by"), msg("amended by"), msg("cited by"), msg("supersedes"), msg("amends")),
        *(msg("same claim"), msg("same files")),
    )
}
_PLACES = {"code": msg("cited in"), "file": msg("is about"), "session": msg("session")}
_LINE = 80
"""Characters of a line of code that are shown."""


@click.command()
@click.argument("span", metavar="A..B")
@with_json
def show_changes(kb: KnowledgeBase, span: str) -> Answer:
    """Show what was decided, superseded, deprecated, rejected or edited between two commits, tags or branches.

    The release notes of decisions, as markdown. A alone means A..HEAD.
    """
    happened = build_change_log(kb, *resolve_range(kb, span))
    title = msg("Records from {older} to {newer}", older=happened.older[:10], newer=happened.newer[:10])
    lines = list(_iter_change_lines(kb, happened, MARKDOWN))
    data = _serialise_changes(happened)
    return Answer(
        data, [f"{MARKDOWN.heading}{kb.localise(title)}\n", *(lines[:-1] or [kb.localise(msg("no record changes"))])]
    )


def _iter_change_lines(kb: KnowledgeBase, happened: ChangeLog, style: PageStyle) -> Iterator[str]:
    """Yield the lines that tell what became of the records, by what it was."""
    for what, heading in _HEADINGS.items():
        entries = [entry for entry in happened.entries if entry.what == what]
        if entries:
            yield style.strong(style.text(f"{kb.localise(heading)} ({len(entries)})"))
            yield ""
            yield from (f"- {_format_entry(kb, entry, style)}" for entry in entries)
            yield ""


def _format_entry(kb: KnowledgeBase, entry: ChangeLogEntry, style: PageStyle) -> str:
    record, language = entry.record, kb.config.language
    colon, comma = ("：", "、") if language == "zh" else (": ", ", ")
    line = style.text(f"[{qualify_name(kb, record)}] {record.title} ({record.scope})")
    if entry.by:
        line += " → " + style.text(comma.join(f"[{qualify_name(kb, one)}] {one.title}" for one in entry.by))
    # "edited" has no one reason: which parts changed is said in its place
    elif entry.what == "edited":
        names = [section_label(part, language) if part in LABELS else part for part in entry.parts]
        line += colon + style.text(comma.join(names)) if names else ""
    elif why := summarise_section(record.section("why")):
        line += " — " + style.text(why)
    return line


def _serialise_changes(happened: ChangeLog) -> dict[str, object]:
    changes = [
        {
            "what": entry.what,
            **{key: getattr(entry.record, key) for key in ("id", "uid", "scope", "kind", "title", "status", "path")},
            "by": [one.id for one in entry.by],
            "parts": list(entry.parts),
        }
        for entry in happened.entries
    ]
    return {"older": happened.older, "newer": happened.newer, "changes": changes}


@click.command()
@click.option("--since", default="7d", show_default=True, metavar="DAY", help="From this day on: 7d, 2026-11-21, week.")
@click.option("--schedule", default="", metavar="WHEN", help="Print the crontab line for a schedule in words.")
@click.option("--ci", is_flag=True, help="Print the workflow for the remote's host instead; times are UTC.")
@with_json
def show_digest(kb: KnowledgeBase, since: str, schedule: str, ci: bool) -> Answer:
    """Show what changed since a day, which reviews are open, which records are stale and which were never used.

    Uses are read from the transcripts of sessions; `kb sync` adds up the counts of all clones.

    --schedule takes words: "every weekday at 8:30", "tomorrow at 9am". What has two readings, and what
    cron cannot say, is an error.
    """
    if schedule or ci:
        return answer_schedule(kb, schedule or _WEEKLY, since, ci=ci)
    found = build_digest(kb, kb.day_named(since))
    data = {
        "since": found.since,
        **_serialise_changes(found.changes),
        "reviews": [{"branch": one.branch, "id": one.record.id, "title": one.record.title} for one in found.reviews],
        "waiting": [{"path": one.path, "rule": one.rule, "message": kb.localise(one.message)} for one in found.waiting],
        "unused": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.unused],
        "counted_from": found.counted_from,
        "refused": found.refused,
        "passed_over": found.passed_over,
        "gaps": [describe_gap(kb, gap) for gap in found.gaps],
        "promotions": [{"name": one.name, "title": one.title, "evidence": one.evidence} for one in found.promotions],
        "dormant": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.dormant],
        "twins": [{"ids": [one.id, other.id], "score": score} for one, other, score in found.twins],
        "revisit": [
            {"id": one.id, "uid": one.uid, "scope": one.scope, "when": one.extra[REVISIT_WHEN]} for one in found.revisit
        ],
    }
    title = msg("{name} since {day}", name=quote_base_name(kb), day=found.since)
    return Answer(data, ["\n".join([kb.localise(title), "", *iter_digest_lines(kb, found)]).rstrip("\n")])


def iter_digest_lines(kb: KnowledgeBase, found: Digest) -> Iterator[str]:
    """Yield what a person reads of a digest."""
    yield from list(_iter_change_lines(kb, found.changes, _QUOTED)) or [kb.localise(msg("no record changes")), ""]
    reviews = [f"{one.branch}: [{qualify_name(kb, one.record)}] {one.record.title}" for one in found.reviews]
    waiting = [f"{one.path}: {kb.localise(one.message)}" for one in found.waiting]
    refused = [f"{one.title}: {'; '.join(one.reasons)} ({one.session})" for one in found.refused]
    passed = [f"{one.quote} ({kb.localise(PASSED_OVER[one.reason])})" for one in found.passed_over]
    unused = [f"[{qualify_name(kb, record)}] {record.title} ({record.scope})" for record in found.unused]
    revisit = [f"[{qualify_name(kb, one)}] {one.title}: {one.extra[REVISIT_WHEN]}" for one in found.revisit]
    gaps = [f"{kb.localise(gap.question)} ({kb.localise(gap.why)})" for gap in found.gaps]
    due = [f"{one.title} ({kb.localise(one.what)}: {one.name})" for one in found.promotions]
    dormant = [f"[{qualify_name(kb, one)}] {one.title}" for one in found.dormant]
    pairs = (([f"[{qualify_name(kb, one)}] {one.title}" for one in pair], score) for *pair, score in found.twins)
    twins = [f"{' ≈ '.join(pair)} ({score:.2f})" for pair, score in pairs]
    again = msg("to write one anyway: kb write, with what its reason asks for")
    counted = msg("told to no agent, and not used, since {day}", day=found.counted_from)
    parts: Sequence[tuple[Message, list[str], Message]] = (
        (msg("Open reviews"), reviews, msg("decide them: kb review")),
        (msg("To be reviewed"), waiting, msg("if one still holds: kb confirm ID")),
        (msg("To be revisited when this happens"), revisit, msg("then: kb confirm ID, or kb supersede ID")),
        (msg("Gaps"), gaps, msg("take one as a task: kb gaps take")),
        (msg("Due to grow"), due, msg("open one as a review: kb grow NAME")),
        (msg("Says the same thing twice"), twins, msg("replace one: kb supersede ID --by ID")),
        (msg("Dormant: no longer told unasked"), dormant, msg("if one still holds: kb confirm ID")),
        (msg("Refused in sessions"), refused, again),
        (msg("Not kept in sessions"), passed, msg("to list them: kb inbox --seen")),
        (msg("Unused"), unused, counted),
    )
    for heading, rows, remark in parts:
        if rows:
            more = (
                [kb.localise(msg("… and {count} more", count=len(rows) - _MAX_SHOWN_RECORDS))]
                if len(rows) > _MAX_SHOWN_RECORDS
                else []
            )
            yield f"{kb.localise(heading)} ({len(rows)})"
            yield ""
            yield from (f"- {row}" for row in (*map(_QUOTED.text, rows[:_MAX_SHOWN_RECORDS]), *more))
            yield f"  → {kb.localise(remark)}"
            yield ""


@click.command()
@record_options
def show_impact(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Show what to review if a record changed: records, code that cites it, files it governs, sessions.

    Code cites a record as `[D001]` or `kb:D001`; the projects on this machine are searched for such citations.
    """
    found = find_dependents(kb, name, scope=scope)
    lines = []
    for one in found.records:
        relation = pad_text(kb.localise(_RELATIONS[one.relation]), 14)
        detail = f"  {one.detail}" if one.relation.startswith("same") else ""
        lines.append(f"{relation} {format_record_line(kb, one.record)}{detail}")
    for place in found.places:
        # code is looked for in other projects as well, whose paths are absolute
        path = os.path.relpath(place.path) if os.path.isabs(place.path) else place.path
        line = f"{path}:{place.line}: {clip(place.text, _LINE)}" if place.line else path
        lines.append(f"{pad_text(kb.localise(_PLACES[place.kind]), 14)} {line}")
    return Answer(found, lines, [] if lines else [msg("nothing depends on it")])
