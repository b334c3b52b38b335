"""Commands on sessions: archive, list, load and prune them, show one in its three forms, prune its transcript."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from kb.cli import options
from kb.cli.options import Answer
from kb.cli.prints import print_json, warn_empty_result
from kb.errors import NoKnowledgeBase
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.records.model import choose_exit_code
from kb.sessions import dcp_settings, prune_transcript, session_archive
from kb.sessions.forms import FORMS, SITUATIONS, find_problems
from kb.sessions.prune_transcript import PruneResult, load_last_report
from kb.sessions.session_archive import find_latest_session, find_latest_transcript

_LINT = "lint"
full_option = click.option("--full", is_flag=True, help="Include the normal and the expanded form.")
source_options = options.add_options(
    click.option("--session", default="", help="The session's id (default: the one in the file)."),
    click.option("--cwd", default="", help="The folder the session worked in (default: the one in the file)."),
)


@click.group()
def session() -> None:
    """Save, list and load the sessions of agents."""


@session.command("save", short_help="Archive a session.")
@click.option("--transcript", required=True, type=click.Path(), help="The session's JSONL file.")
@source_options
@full_option
@options.with_json
def save_session(kb: KnowledgeBase, transcript: str, session: str, cwd: str, full: bool) -> Answer:
    """Submit what a session decided to the gate, and archive the session under content/sessions/."""
    return _archive_session(kb, transcript, session, cwd, full=full)


@click.command()
@options.path_argument
@click.option("--transcript", "given", default="", type=click.Path(), help="The same, as an option.")
@full_option
@source_options
@options.with_json
def archive(kb: KnowledgeBase, /, transcript: str | None, given: str, full: bool, session: str, cwd: str) -> Answer:
    """Archive the session of TRANSCRIPT, a JSONL file, under content/sessions/.

    What the session decided passes the gate. Without TRANSCRIPT, the last session of this project. An expanded form of
    more than 200,000 bytes stays in this clone.
    """
    if transcript and given:
        raise options.usage_error(msg("give the transcript once"))
    return _archive_session(kb, transcript or given or find_latest_transcript(kb), session, cwd, full=full)


def _archive_session(kb: KnowledgeBase, path: str, session: str, cwd: str, *, full: bool) -> Answer:
    saved = kb.save_session(path, session=session, folder=cwd, host="cli", full=full)
    code = choose_exit_code([one for one in saved.verdicts if one.verdict != "held"])  # it is archived all the same
    lines = [f"content/sessions/{saved.archive}"] if saved.archive else []
    return Answer(saved, lines, notes=saved.notes, verdicts=saved.verdicts, code=code)


@session.command("list", short_help="List archived sessions.")
@click.option("--project", default="", help="The project (default: the one you are in).")
@click.option("--all", "is_all", is_flag=True, help="The sessions of all projects.")
@click.option("--since", default="", help="today, yesterday, week, or a day (2026-11-21).")
@options.with_json
def list_sessions(kb: KnowledgeBase, project: str, is_all: bool, since: str) -> Answer:
    """List the archived sessions of a project, oldest first; in the knowledge base itself, those of all."""
    day = kb.day_named(since) if since else ""
    known = kb.sessions()
    own = known if project or is_all else session_archive.filter_own_project(kb, known)
    rows = [s for s in own if (not project or s.project == project) and s.time[:10] >= day]
    if since in session_archive.YESTERDAY:  # a day alone means from then on, but who says yesterday does not mean today
        rows = [s for s in rows if s.time[:10] == day]
    if not rows:
        name = project or kb.caller_scope.removeprefix("project/")
        elsewhere = msg("no session of {project} is archived; those of all: kb session list --all", project=name)
        warn_empty_result(kb, elsewhere if known and not since and not is_all else msg("no session is archived"))
    return Answer(rows, (f"{row.time[:16]}  {row.name}  +{row.anchors}  {row.task}" for row in rows))


@session.command("load", short_help="Print an archived session to resume from.")
@click.argument("name")
@options.with_kb
def load_session(kb: KnowledgeBase, name: str) -> Answer:
    """Print the compact form of an archived session, with pointers to the rest; a unique part of its name will do."""
    return _load_archive(kb, name)


@click.command()
@click.argument("name")
@options.with_kb
def load(kb: KnowledgeBase, name: str) -> Answer:
    """Print the compact form of the archived session NAME, with pointers to the rest.

    NAME is a unique part of the archive's name, or words of its task.
    """
    named = session_archive.find_sessions(kb, name)
    # `session load` takes a part of the name alone; words of a task fit several sessions sooner
    if len(named) > 1:
        choices = [session.name for session in named[-10:]]
        raise options.usage_error(msg("{id} names several sessions: {choices}", id=name, choices=choices))
    return _load_archive(kb, name)


def _load_archive(kb: KnowledgeBase, name: str) -> Answer:
    session = session_archive.find_session(kb, name)
    paths = (f"→ {path}" for path in session_archive.list_archive_files(kb, session))
    return Answer(None, [kb.session_file(session.name)], notes=paths)


@session.command("prune", short_help="Prune old archives.")
@click.option("--older", default="180d", show_default=True, metavar="AGE", help="The minimum age: 180d, 26w, 6m or 1y.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@options.with_json
def prune_archives(kb: KnowledgeBase, older: str, dry_run: bool) -> Answer:
    """Remove archives older than an age from the checkout, in one commit; those a record cites stay.

    History keeps them. An expanded form that was too large for git was only in this clone, and goes for good.
    """
    done = session_archive.prune_archives(kb, session_archive.parse_days(older), dry_run=dry_run)
    notes = [msg("{name} stays: [{id}] cites it", name=session.name, id=record) for session, record in done.kept]
    if not done.gone:
        notes.append(msg("no archive is older than {age} and cited by no record", age=older))
    elif dry_run:
        notes.append(msg("nothing is removed; without --dry-run these would be"))
    return Answer(done, (f"{session.time[:16]}  {session.name}  {session.task}" for session in done.gone), notes=notes)


@session.command("status", short_help="Show the state of a running session.")
@click.argument("session", default="")
@options.with_json
def show_session_status(kb: KnowledgeBase, session: str) -> Answer:
    """Show how full the context of a running SESSION is and in which form it is shown.

    SESSION is its id or the beginning of it; without it, the last session of this project.
    """
    from kb.capture import prompt_commands

    now = prompt_commands.get_form_status(kb, session)
    shown = {"session": now.session, "transcript": now.transcript, "form": now.form, "forced": now.forced}
    use = {"percent": now.usage.percent, "tokens": now.usage.tokens, "window": now.usage.window}
    data = {**shown, **use, "band": now.band.name, "light": now.band.light}
    return Answer(data, [f"{now.session}  {now.usage.percent:.1f}%  {now.form}"])


@click.command()
@click.argument("session", default="")
@click.option("--budget", type=click.IntRange(min=1), help="Compress a transcript into so many tokens instead.")
@options.with_kb
def show_compact(kb: KnowledgeBase, session: str, budget: int | None) -> Answer:
    """Show a running SESSION in its compact form until the use of its context calls for another.

    SESSION is its id or the beginning of it; without it, the last session of this project.

    With --budget it may be a transcript: its richest form that fits is printed, with every anchor that it cites.
    """
    from kb.capture import prompt_commands

    if budget is None:
        return _force_form(kb, "compact", session)
    path = session if os.path.isfile(session) else find_latest_session(kb, session).transcript
    return Answer(None, text=prompt_commands.compress_session(kb, path, budget).text)


@click.command()
@click.argument("session", default="")
@options.with_kb
def show_expanded(kb: KnowledgeBase, session: str) -> Answer:
    """Show a running SESSION in its expanded form until the use of its context calls for another.

    SESSION is its id or the beginning of it; without it, the last session of this project.
    """
    return _force_form(kb, "expanded", session)


def _force_form(kb: KnowledgeBase, form: str, session: str) -> Answer:
    from kb.capture import prompt_commands

    made = prompt_commands.force_session_form(kb, form, session)
    return Answer(None, text=made.text, notes=(*made.notes, prompt_commands.describe_forced_form(kb, form)))


@click.command()
@click.argument("words", nargs=-1, metavar="[FORM] [SOURCE]")
@click.option("--for", "situation", default="", help="agent-start (compact), handover (normal) or debug (expanded).")
@options.percent_option("How full the context is; decides the form.")
@click.option("--limit", type=click.IntRange(60, 499), help="The maximum number of words in a compact form.")
@click.pass_context
def show_form(ctx: click.Context, words: tuple[str, ...], situation: str, percent: float, limit: int | None) -> int:
    """Print a session in one of its three forms: compact (< 500 words), normal (500 to 2000) or expanded.

    SOURCE is a transcript, or (part of) the name of an archived session; without it, the last session of this project.
    Without FORM and --for, the fill level of the context decides. `kb form lint FILE` checks a form that somebody
    wrote.
    """
    from kb.capture import prompt_commands

    if words[:1] == (_LINT,):
        return _lint_form(words[1:])
    with options.open_base(ctx) as kb:
        # `kb form t.jsonl` has no form: one word may be either, and the name of a form wins over a file of that name
        form = words[0] if words and words[0] in FORMS else ""
        rest = words[1:] if form else words
        if len(rest) > 1 or (situation and (form or situation not in SITUATIONS)):
            raise _form_usage_error(", ".join((*FORMS, _LINT)), ", ".join(SITUATIONS))
        # for this call: the settings in kb.toml stay
        if limit is not None:
            kb.config = kb.config._replace(compact_limit=limit)
        made = prompt_commands.render_wanted_form(
            kb, form or SITUATIONS.get(situation, ""), "".join(rest), percent=percent
        )
        options.print_answer(kb, Answer(None, text=made.text, notes=made.notes))
    return 0


def _form_usage_error(forms: str, situations: str) -> click.UsageError:
    values = {"forms": forms, "situations": situations}
    return options.usage_error(msg("give one form ({forms}) or one situation ({situations}), and one source", **values))


def _lint_form(paths: tuple[str, ...]) -> int:
    """Prove the form in a file, or on stdin, and return 1 where it is none; it needs no knowledge base."""
    if len(paths) > 1:
        raise _form_usage_error(_LINT, "FILE")
    path = "".join(paths) or "-"
    with click.open_file(path, encoding="utf-8", errors="replace") as file:
        form, problems = find_problems(file.read())
    name = "stdin" if path == "-" else path
    for problem in problems:
        click.echo(f"{name}:{problem.line}: {problem.message.translate(options.resolve_language())}")
    if any(not problem.is_warning for problem in problems):
        return 1
    options.print_note(msg("{name}: a valid {form} form", name=name, form=form))
    return 0


class PruneGroup(click.Group):
    """A group whose first command is meant where none is named: `kb prune FILE` is `kb prune transcript FILE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first of *args* names, or the first of all with all of *args*."""
        # a file called "report" has to be written ./report
        return super().resolve_command(ctx, args if args[0] in self.commands else ["transcript", *args])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command where an option of it, or nothing, comes first."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["transcript", *args]
        return super().parse_args(ctx, args)


@click.group(cls=PruneGroup)
def prune() -> None:
    """Prune a session's transcript: `kb prune FILE` is `kb prune transcript FILE`."""


@prune.command("transcript", short_help="Report what can be pruned; write a pruned copy.")
@options.path_argument
@click.option("--out", default="", type=click.Path(), help="Write the pruned transcript to this file; - is stdout.")
@click.option("--only", multiple=True, help="Only these: dedup, supersede, errors, truncate; commas or several times.")
@click.option(
    "--propose", is_flag=True, help="Also list leftovers that may be deleted, and delete those that are safe to delete."
)
@click.option("--yes", is_flag=True, help="Drop it without confirmation, whatever the settings say.")
@click.option("--explain", is_flag=True, help="List every cut and every protected text, with its size.")
@options.percent_option("How full the context is (default: by the transcript).")
@options.json_option
@click.pass_context
def prune_file(
    ctx: click.Context,
    transcript: str | None,
    out: str,
    only: tuple[str, ...],
    propose: bool,
    yes: bool,
    explain: bool,
    percent: float,
    as_json: bool,
) -> None:
    """Report what is stale in TRANSCRIPT, a JSONL file, and with --out write a copy without it.

    Repeated calls, writes that were read again, inputs of old failures and overlong search results go; the last turns,
    what cites anchors and files protected by name stay. TRANSCRIPT itself never changes. Without it, the last session
    of this project. Needs no knowledge base; where there is one, its dcp-config.yaml holds and the report is kept.
    """
    trigger = msg("context use {percent}%", percent=f"{percent:g}") if percent > 85 else msg("asked for")
    wanted = prune_transcript.PruneRequest(prune_transcript.parse_strategies(only), propose, yes, percent, trigger)
    kb = _open_base_if_any(ctx)
    try:
        if not transcript and kb is None:
            raise options.usage_error(msg("{name} is missing", name="TRANSCRIPT"))
        path = transcript or find_latest_transcript(kb) if kb else str(transcript)
        settings = dcp_settings.load_settings(kb) if kb else dcp_settings.DcpSettings()
        more: dict[str, Any] = {"config": kb.config, "now": kb.now()} if kb else {}
        if out and out != "-":
            made = prune_transcript.write_copy(path, out, settings, wanted, **more)
        else:
            stdout = sys.stdout.buffer if out else None
            made = prune_transcript.prune(path, settings, wanted, out=stdout, out_path="stdout", **more)
        # a report of nothing would hide the last one that says something
        if kb and not made.plan.idle:
            prune_transcript.save_report(kb, made.report)
        if as_json:
            print_json(_serialise_pruning(made))
        else:
            text = prune_transcript.format_result(made, kb.config.language if kb else "en", explain=explain)
            click.echo(text, err=out == "-", nl=False)  # with --out - stdout has the transcript
    finally:
        if kb:
            kb.close()


def _open_base_if_any(ctx: click.Context) -> KnowledgeBase | None:
    """Return the knowledge base in use, if there is one."""
    try:
        return options.open_base(ctx)
    except NoKnowledgeBase:
        if ctx.find_root().obj:  # one that was named has to be there
            raise
        return None


def _serialise_pruning(made: PruneResult) -> dict[str, object]:
    """Return what was pruned as values for JSON, without the texts that were cut."""
    plan = made.plan
    return {
        **plan._asdict(),
        "cuts": [{**cut._asdict(), "value": None, "saved": cut.saved_tokens} for cut in plan.cuts],
        "saved": plan.saved_tokens,
        "percent_after": plan.percent_after,
        "proposals": [one._replace(cut=one.cut._replace(value=None)) for one in made.proposals],
        "dropped": made.dropped,
    }


@prune.command("report", short_help="Show the newest report.")
@options.with_kb
def show_prune_report(kb: KnowledgeBase) -> Answer:
    """Show the report of the newest pruning."""
    return Answer(None, text=load_last_report(kb))


@prune.command("config", short_help="Show or check the settings of pruning.")
@click.option("--check", "is_check", is_flag=True, help="Only check the file; exit 2 if it cannot be used.")
@click.argument("file", required=False, type=click.Path())
@click.pass_context
def show_prune_config(ctx: click.Context, is_check: bool, file: str | None) -> None:
    """Print every key of dcp-config.yaml with its effective value, as such a file; or check FILE.

    The file is at the root of the knowledge base, beside kb.toml.
    """
    kb = None if file else _open_base_if_any(ctx)
    root, layout = (kb.root, kb.config.layout) if kb else ("", "")
    if kb:
        kb.close()
    load_file = dcp_settings.load_settings_file
    settings = load_file(file) if file else dcp_settings.load_root_settings(root or os.getcwd(), layout)
    if not is_check:
        click.echo(dcp_settings.render_settings(settings, root), nl=False)
