"""Commands on what sessions teach: what they leave to be recorded, and what is to become of it.

`kb learn` is on what sessions leave to be recorded: see it with its evidence, and say that it is worth nothing.
`kb gaps` is on what is asked, or plain to see, and not recorded: list it, take it as a task, close it.
`kb skill` publishes what has become a procedure.
`kb grow` lists what records have outgrown, `kb challenge` questions one of them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from datetime import datetime

import click

from kb.capture.handover import SessionOpenings, list_open_sessions, skip_openings
from kb.capture.openings import KIND_NAMES, build_example
from kb.cli import options
from kb.cli.host_commands import apply_and_report, dry_option, print_edited_files
from kb.cli.options import Answer
from kb.cli.prints import format_record_line
from kb.context.cures import KnownFailure, list_known_failures
from kb.hooks import agent_files
from kb.hooks.settings_file import find_own_program, find_project_root
from kb.i18n import Message, msg
from kb.knowledge_base import KnowledgeBase
from kb.learning import gaps, structural_gaps
from kb.learning.structural_gaps import Gap
from kb.records.candidate import candidate_to_json
from kb.records.model import GLOBAL, Verdict
from kb.safety.quoting import quote_text, sanitise_text
from kb.text.segment import first_sentence

_MAX_LINE_CHARACTERS = 240


@click.group(invoke_without_command=True)
@options.with_json
def learn(kb: KnowledgeBase) -> Answer:
    "List decisions of sessions that nobody has recorded yet, and record them."
    return list_openings(kb)


@learn.command("next", short_help="Print what is waiting to be recorded.")
@click.option("--session", default="", metavar="ID", help="Only this session: its id, or how the id begins.")
@options.with_json
def print_openings(kb: KnowledgeBase, session: str) -> Answer:
    """Print what a session settled but nobody recorded, with quotes and their lines in the transcript.

    Answer with candidates on stdin of the command shown below them; `kb learn skip NAME` says that nothing is worth
    keeping.
    """
    return list_openings(kb, session)


def list_openings(kb: KnowledgeBase, session: str = "") -> Answer:
    """Return what the *session* ("": any) settled and nobody recorded."""
    found = list_open_sessions(kb, session, kb.caller_scope)
    notes = [] if found else [msg("nothing waits to be recorded")]
    return Answer(list(map(_describe_session, found)), _iter_lines(kb, found), notes=notes)


def _describe_session(state: SessionOpenings) -> dict[str, object]:
    rows = [
        {
            **row.opening._asdict(),
            "name": row.opening.name,
            "status": row.status,
            "quotes": [{"line": quote.line, "quote": quote.quote} for quote in row.opening.quotes],
            "example": build_example(row.opening),
        }
        for row in state.open_rows
    ]
    answer = f"kb write - --session {state.session}"
    return {"session": state.session, "scope": state.scope, "openings": rows, "answer_with": answer}


def _iter_lines(kb: KnowledgeBase, found: list[SessionOpenings]) -> Iterator[str]:
    for state in found:
        yield kb.localise(msg("session {session}", session=state.session))
        for row in state.open_rows:
            yield f"  {row.opening.name}  {kb.localise(KIND_NAMES[row.opening.kind])}"
            for quote in row.opening.quotes:
                line = kb.localise(msg("line {line}", line=quote.line))
                yield f"    {line}: “{quote_text(quote.quote, _MAX_LINE_CHARACTERS)}”"
        yield kb.localise(msg("Hand over what later work needs, with quotes word for word:"))
        example = json.dumps([build_example(state.open_rows[0].opening)], ensure_ascii=False)
        yield f"  kb write - --session {state.session} <<'EOF'\n  {example}\n  EOF"
        yield kb.localise(msg("Nothing worth keeping: kb learn skip {name}", name=state.open_rows[0].opening.name))


@learn.command("skip", short_help="Record that something is not worth keeping.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@options.with_json
def skip(kb: KnowledgeBase, names: tuple[str, ...]) -> Answer:
    """Record that NAME is not worth keeping; it is not asked about again."""
    skipped = skip_openings(kb, names)
    said = [msg("not asked about again: {name}", name=row.opening.name) for row in skipped]
    return Answer([row.opening.name for row in skipped], said)


@learn.command("failed", short_help="Show whether a command has failed before.")
@click.argument("command")
@click.option("--output", type=click.Path(), metavar="FILE", help="Only with the error in FILE, or on stdin (-).")
@options.with_json
def print_known_failures(kb: KnowledgeBase, command: str, output: str | None) -> Answer:
    """Show whether the shell command COMMAND has failed before, and what fixed it; exit 1 if no failure is known.

    \b
    kb learn failed "pytest -q tests"
    make check 2>&1 | kb learn failed "make check" --output -

    Quotes, flags and folders make no difference, numbers and times in an error neither.
    """
    text = ""
    if output:
        with click.open_file(output, encoding="utf-8", errors="replace") as file:
            text = file.read()
    found = list_known_failures(kb, command, text)
    data = [{**one._asdict(), "record": one.record.scoped_id if one.record else ""} for one in found]
    notes = [] if found else [msg("nobody has seen it fail")]
    return Answer(data, [_describe_failure(kb, one) for one in found], notes, code=0 if found else 1)


def _describe_failure(kb: KnowledgeBase, one: KnownFailure) -> str:
    if one.record:
        cure = first_sentence(one.record.section("solution"), _MAX_LINE_CHARACTERS)
        return format_record_line(kb, one.record) + (f"\n       → {sanitise_text(cure)}" if cure else "")
    error = quote_text("; ".join(one.signature[1:]), _MAX_LINE_CHARACTERS)
    if one.inbox_name:
        return kb.localise(
            msg("{error} (×{n}; waits in the inbox: {name})", error=error, n=one.sessions, name=one.inbox_name)
        )
    return kb.localise(msg("{error} (×{n}; never overcome)", error=error, n=one.sessions))


# -- the person ------------------------------------------------------------------------------------


@click.command()
@options.with_json
def show_profile(kb: KnowledgeBase) -> Answer:
    """Show what is known about you: what you said about yourself, and what your sessions in this clone show.

    The card is kept in your own base (~/.kb/profile.md), which no team reads. Its MACHINE part is regenerated; its USER
    part is yours. Lists have ten rows at most.
    """
    from kb.learning.profile import build_profile, render_profile, write_card

    found = build_profile(kb, kb.caller_scope or GLOBAL)
    card = write_card(kb, found)
    notes = [] if card else [msg("without a base of your own nothing is kept of you; make one: kb init --user")]
    shown = render_profile(kb, found) if card is None else card.after.decode()
    return Answer(
        {**found._asdict(), "card": card.path if card else ""}, text=shown, notes=notes, has_notes_with_json=True
    )


# -- skills ----------------------------------------------------------------------------------------


@click.group()
def skill() -> None:
    """Publish accepted patterns and checklists that have steps as skills of agents, and check them."""


place_option = click.option(
    "--to", "place", default=".claude/skills", show_default=True, metavar="FOLDER", help="The folder of skills."
)


@skill.command("list", short_help="List the skills.")
@place_option
@options.with_json
def list_all_skills(kb: KnowledgeBase, place: str) -> Answer:
    "List the skills, most used first, and those that will be published once their review is accepted."
    from kb.learning.skills import list_skills, list_waiting, read_installed, read_uid

    installed = {read_uid(front) for front in read_installed(_resolve_place(place)).values()}
    rows, lines = [], []
    for one in list_skills(kb, kb.caller_scope or GLOBAL):
        is_there = one.record.uid in installed
        rows.append(
            {"name": one.name, "id": one.record.id, "status": "accepted", "uses": one.uses, "published": is_there}
        )
        state = msg("published") if is_there else msg("not published")
        lines.append(f"{one.name}  [{one.record.id}]  {one.uses}×  {kb.localise(state)}  {one.record.title}")
    for record in list_waiting(kb, kb.caller_scope or GLOBAL):
        rows.append({"name": "", "id": record.id, "status": "proposed", "uses": 0, "published": False})
        lines.append(
            f"–  [{record.id}]  {kb.localise(msg('proposed: no skill before it is accepted'))}  {record.title}"
        )
    notes = [] if rows else [msg("no accepted pattern or checklist has steps; see: kb write --schema")]
    return Answer(rows, lines, notes=notes)


@skill.command("show", short_help="Print a skill.")
@click.argument("name")
@options.with_json
def show_skill(kb: KnowledgeBase, name: str) -> Answer:
    """Print the SKILL.md of the skill NAME (or of the record with that id) as it would be published."""
    from kb.learning.skills import find_skill

    found = find_skill(kb, kb.caller_scope or GLOBAL, name)
    return Answer(
        {"name": found.name, "description": found.description, "files": found.files}, text=found.files["SKILL.md"]
    )


@skill.command("check", short_help="Check the skills.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@place_option
@options.with_json
def check_skills(kb: KnowledgeBase, names: tuple[str, ...], place: str) -> Answer:
    """Check all skills, or those named: steps, length, similarity and secrets; exit 1 if one fails.

    Confidence is the share of its steps that name a command or a path that exists.
    """
    from kb.learning.skills import check_skill, find_skill, list_others, list_skills, read_installed

    scope, folder = kb.caller_scope or GLOBAL, find_project_root(os.getcwd())
    wanted = [find_skill(kb, scope, name) for name in names] if names else list_skills(kb, scope)
    installed = read_installed(_resolve_place(place))
    reports = [check_skill(one, list_others(installed, one), folder) for one in wanted]
    rows = [{**one._asdict(), "issues": [kb.localise(issue) for issue in one.issues]} for one in reports]
    lines = []
    for one in reports:
        verdict = msg("passed") if one.passed else msg("failed")
        lines.append(f"{one.name}: {kb.localise(verdict)} ({one.confidence:.0%})")
        lines += [f"  {kb.localise(issue)}" for issue in one.issues]
    return Answer(rows, lines, code=int(any(not one.passed for one in reports)))


@skill.command("publish", short_help="Write the skills.")
@place_option
@dry_option
@options.with_kb
def publish_skills(kb: KnowledgeBase, place: str, dry_run: bool, verbose: bool) -> None:
    """Write the skills that pass the check; running it again changes nothing.

    At most ten, the most used. A skill whose record was superseded or taken out of force is withdrawn. A file that
    somebody has edited is neither replaced nor removed.
    """
    from kb.learning import skills as made

    target, folder = _resolve_place(place), find_project_root(os.getcwd())
    installed, skills = made.read_installed(target), made.list_skills(kb, kb.caller_scope or GLOBAL)
    published = made.choose_published(skills, installed, folder)
    names = {one.name for one in published}
    edited: list[str] = []
    for one in published:
        changes, kept = agent_files.plan_skill_install(
            os.path.join(target, one.name), agent_files.seal_files(one.files)
        )
        edited += kept
        for change in changes if not kept else ():
            nothing, done = msg("{path} is up to date", path=change.path), msg("written: {path}", path=change.path)
            apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
    for name in (name for name, front in installed.items() if made.read_uid(front) and name not in names):
        changes, kept = agent_files.plan_skill_removal(os.path.join(target, name), ("SKILL.md", made.REFERENCE))
        edited += kept
        for change in changes if not kept else ():
            nothing, done = (
                msg("{path} has nothing from kb", path=change.path),
                msg("withdrawn: {path}", path=change.path),
            )
            apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
        if not dry_run:
            agent_files.remove_empty_folders(os.path.join(target, name))
    print_edited_files(edited)
    for one in skills:
        if one.name not in names and not made.check_skill(one, made.list_others(installed, one), folder).passed:
            options.print_note(msg("not published: {name}; see: kb skill check {name}", name=one.name))


def _resolve_place(place: str) -> str:
    return os.path.join(find_project_root(os.getcwd()), place)


# -- gaps -----------------------------------------------------------------------------------------

_GAP_TYPES = {
    gaps.ASKED_QUESTION: msg("asked"),
    structural_gaps.FAILURE: msg("failure"),
    structural_gaps.FOLDER: msg("folder"),
    structural_gaps.DOMAIN: msg("domain"),
    structural_gaps.CITATION: msg("citation"),
    structural_gaps.DEPENDENCY: msg("dependency"),
}
_STATES = {gaps.LEASED: msg("taken"), gaps.SET_ASIDE: msg("set aside after three takes")}


@click.group("gaps", invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Gaps, at most.")
@click.option("--forget", is_flag=True, help="Forget all questions noted in this clone.")
@options.with_json
def list_gaps(kb: KnowledgeBase, limit: int, forget: bool) -> Answer:
    """List missing knowledge worth recording: unanswered questions, and what folders and records lack.

    A question is a gap when two sessions asked it and no record answers it; it closes once one does. Questions are
    noted in this clone only, without secrets, the last 1,000 of them.
    """
    if forget:
        count = gaps.forget_questions(kb)
        return Answer(count, [msg("forgotten questions: {n}", n=count)])
    found = gaps.find_gaps(kb, kb.project(os.getcwd()), os.getcwd())
    lines = (line for number, gap in enumerate(found[:limit], 1) for line in iter_gap_lines(kb, number, gap))
    notes = [msg("… and {count} more", count=len(found) - limit)] if len(found) > limit else []
    notes += [msg("take one as a task: kb gaps take; let a record answer it: kb gaps close N --by ID")]
    return Answer(
        [describe_gap(kb, gap) for gap in found[:limit]], lines, notes if found else [msg("nothing is missing")]
    )


def describe_gap(kb: KnowledgeBase, gap: Gap) -> dict[str, object]:
    """Return *gap* as --json prints it: what others have asked, with nothing hidden in it."""
    said = {"question": sanitise_text(kb.localise(gap.question)), "why": kb.localise(gap.why)}
    return {**gap._asdict(), **said, "wordings": [sanitise_text(one) for one in gap.wordings]}


def iter_gap_lines(kb: KnowledgeBase, number: int, gap: Gap) -> Iterator[str]:
    """Yield what a person reads of a gap: what is to be found out, and below it why and in which other words."""
    question = quote_text(kb.localise(gap.question), _MAX_LINE_CHARACTERS)
    kind = kb.localise(_GAP_TYPES.get(gap.type, gap.type))
    state = f" ({kb.localise(_STATES[gap.state])})" if gap.state in _STATES else ""
    yield f"{number:3}. {question}  [{kind} {gap.key}]{state}"
    yield f"     {kb.localise(gap.why)}"
    yield from (f"     ≈ {quote_text(wording, _MAX_LINE_CHARACTERS)}" for wording in gap.wordings[1:3])


@list_gaps.command("take", short_help="Take the first gap as a task for an agent.")
@options.with_json
def take(kb: KnowledgeBase) -> Answer:
    """Take the first free gap for an hour, and print it as a task for an agent.

    Submit what you find out with `kb write -`. A gap that was taken three times without success is set aside.
    """
    gap = gaps.take_gap(kb, kb.project(os.getcwd()), os.getcwd())
    if gap is None:
        return Answer(None, notes=[msg("no gap is open that nobody has taken")])
    return Answer(describe_gap(kb, gap), [_render_task(kb, gap)])


def _render_task(kb: KnowledgeBase, gap: Gap) -> Message:
    title = quote_text(kb.localise(gap.question), _MAX_LINE_CHARACTERS)
    example = {
        "kind": "learning",
        "title": title,
        "decision": "…",
        "impact": ["…"],
        "sections": {"explored": "…"},
        "evidence": [{"quote": "…", "source": "…"}],
    }
    return msg(
        "Find out, and record the answer in the knowledge base.\n\nQuestion: {question}\nWhy: {why}\n\n"
        "Read the code and the documents; change nothing. Answer in at most 600 characters, with the paths that it\n"
        "rests on (impact) and quotes word for word (evidence). Then hand it over:\n\n"
        "  kb write - <<'EOF'\n  {example}\n  EOF\n\n"
        "If a record answers it already: kb gaps close {key} --by ID. If you cannot find it out, leave it.",
        question=title,
        why=gap.why,
        example=json.dumps(example, ensure_ascii=False),
        key=gap.key,
    )


@list_gaps.command("close", short_help="Close a gap with the record that answers it.")
@click.argument("name", metavar="N")
@click.option("--by", "record", required=True, metavar="ID", help="The record that answers it.")
@options.with_json
def close(kb: KnowledgeBase, name: str, record: str) -> list[Verdict]:
    """Mark question N (its number in the list, or its key) as answered by a record; the record is found by this
    wording from now on.

    The wording is added to `asked` in the record's front matter, which is searched like its title.
    """
    gap = gaps.find_gap(gaps.find_gaps(kb, kb.project(os.getcwd()), os.getcwd()), name)
    return [gaps.close_gap(kb, gap, record)]


# -- growth ----------------------------------------------------------------------------------------


@click.command()
@click.argument("name", default="", metavar="[NAME]")
@click.option("--scope", default="", metavar="SCOPE", help="Open it for this scope instead of the proposed one.")
@options.with_json
def grow(kb: KnowledgeBase, name: str, scope: str) -> Answer | list[Verdict]:
    """List the promotions that are due, with the evidence; with NAME, or the id of a record, open one as a review.

    A pitfall met in three sessions should become a constraint; what two projects learnt should apply to all; three
    learnings of a domain make a note; and what three sessions did in the same order is a routine. Nothing changes
    before the review is accepted; one that was opened or rejected is listed again when its evidence has grown.
    """
    from kb.learning.grow import find_promotions, open_promotion

    if name:
        return [open_promotion(kb, name, scope)]
    found = find_promotions(kb)
    rows = [{**one._asdict(), "what": str(one.what), "candidate": candidate_to_json(one.candidate)} for one in found]
    lines = []
    for one in found:
        lines += [f"{one.name}  {kb.localise(one.what)}", f"  {quote_text(one.title, _MAX_LINE_CHARACTERS)}"]
        lines.append(f"  {kb.localise(msg('because of: {evidence}', evidence=one.evidence))}")
    notes = [msg("open one as a review: kb grow NAME")] if found else [msg("nothing is due")]
    return Answer(rows, lines, notes=notes)


@click.command()
@options.id_argument
@click.option("--why", required=True, help="The counter-argument.")
@options.scope_option
@options.with_json
def challenge(kb: KnowledgeBase, name: str, why: str, scope: str) -> list[Verdict]:
    """Question whether a record should still apply: open a review that would deprecate it, with the
    counter-argument.

    Accepting the review deprecates the record. If the review is rejected, the challenge is kept among the record's
    alternatives, so that the next person who raises it finds it.
    """
    from kb.learning.grow import challenge_record

    return [challenge_record(kb, name, why, scope)]


# -- schedules -------------------------------------------------------------------------------------


def answer_schedule(kb: KnowledgeBase, words: str, since: str, *, ci: bool) -> Answer:
    """Return what runs the digest when *words* say: a line for crontab or `at`, or (*ci*) a workflow."""
    from kb.learning.schedule import parse_schedule
    from kb.writing.init_base import build_workflows

    made = parse_schedule(words, datetime.fromtimestamp(kb.now()))
    command = f"cd {shlex.quote(kb.root)} && {shlex.quote(find_own_program('kb'))} digest --since {shlex.quote(since)}"
    if ci:
        if not made.cron:
            raise options.usage_error(msg("a workflow runs again and again, and {words} is once", words=f"“{words}”"))
        remote = kb.repository.git("config", "--get", "remote.origin.url", check=False).decode().strip()
        files = build_workflows(remote, kb.config.install_from, (made.cron, since))
        path, data = next((path, data) for path, data in files.items() if "kb-digest" in path)
        notes = [msg("{path}; its times are UTC: {cron}", path=path, cron=made.cron)]
        return Answer(
            {"cron": made.cron, "path": path, "file": data.decode()}, [data.decode().rstrip("\n")], notes=notes
        )
    if made.at:
        line = f"echo {shlex.quote(command)} | at {made.at}"
        return Answer({"at": made.at, "line": line}, [line])
    line = f"{made.cron} {command}".replace("%", "\\%")  # a per cent sign ends the command of a crontab
    return Answer({"cron": made.cron, "line": line}, [line], notes=[msg("add it with: crontab -e")])
