"""Show a session in one of its three forms, and prune its transcript."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, open_base, percent_option, print_note, resolve_language, usage_error, with_kb
from kb.cli.prints import print_json
from kb.errors import NoKnowledgeBase
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase
    from kb.sessions.prune_transcript import PruneResult

_LINT = "lint"


# -- compact, expand and form ------------------------------------------------------------------------


@click.command(short_help="Show the running session in its compact form.")
@click.argument("session", default="")
@click.option("--budget", type=click.IntRange(min=1), help="Compress a transcript into so many tokens instead.")
@with_kb
def show_compact(kb: KnowledgeBase, session: str, budget: int | None) -> None:
    """Show a running SESSION in its compact form until the use of its context calls for another; 压缩 is the same.

    SESSION is its id or the beginning of it; without it, the last session of this project.

    With --budget it may be a transcript: its richest form that fits is printed, with every anchor that it cites.
    """
    if budget is None:
        _force_form(kb, "compact", session)
        return
    from kb.capture.form_choice import compress_session
    from kb.sessions.known_sessions import find_latest_session

    path = session if os.path.isfile(session) else find_latest_session(kb, session).transcript
    click.echo(compress_session(kb, path, budget).text, nl=False)


@click.command(short_help="Show the running session in its expanded form.")
@click.argument("session", default="")
@with_kb
def show_expanded(kb: KnowledgeBase, session: str) -> None:
    """Show a running SESSION in its expanded form until the use of its context calls for another; 展开 is the same.

    SESSION is its id or the beginning of it; without it, the last session of this project.
    """
    _force_form(kb, "expanded", session)


def _force_form(kb: KnowledgeBase, form: str, session: str) -> None:
    from kb.capture.form_choice import describe_forced_form, force_session_form

    made = force_session_form(kb, form, session)
    click.echo(made.text, nl=False)
    for note in (*made.notes, describe_forced_form(kb, form)):
        click.echo(note, err=True)


@click.command(short_help="Print a session in one of its three forms.")
@click.argument("words", nargs=-1, metavar="[FORM] [SOURCE]")
@click.option("--for", "situation", default="", help="agent-start (compact), handover (normal) or debug (expanded).")
@percent_option("How full the context is; decides the form.")
@click.option("--limit", type=click.IntRange(60, 499), help="Words of a compact form, at most.")
@click.pass_context
def show_form(
    ctx: click.Context, words: tuple[str, ...], situation: str, percent: float | None, limit: int | None
) -> int:
    """Print a session in one of its three forms: compact (< 500 words), normal (500 to 2000) or expanded.

    SOURCE is a transcript, or (part of) the name of an archived session; without it, the last session of this project.
    Without FORM and --for, how full the context is decides. `kb form lint FILE` proves a form that somebody wrote.
    """
    if words[:1] == (_LINT,):
        return _lint_form(words[1:])
    with open_base(ctx) as kb:
        from kb.capture.form_choice import render_wanted_form
        from kb.sessions.forms import FORMS, SITUATIONS

        form = words[0] if words and words[0] in FORMS else ""
        rest = words[1:] if form else words
        if len(rest) > 1 or (situation and (form or situation not in SITUATIONS)):
            raise _form_usage_error(", ".join((*FORMS, _LINT)), ", ".join(SITUATIONS))
        if limit is not None:
            kb.config = kb.config._replace(compact_limit=limit)
        wanted = form or SITUATIONS.get(situation, "")
        made = render_wanted_form(kb, wanted, rest[0] if rest else "", percent=-1.0 if percent is None else percent)
        click.echo(made.text, nl=False)
        for note in made.notes:
            click.echo(note, err=True)
    return 0


def _form_usage_error(forms: str, situations: str) -> click.UsageError:
    values = {"forms": forms, "situations": situations}
    return usage_error(msg("give one form ({forms}) or one situation ({situations}), and one source", **values))


def _lint_form(paths: tuple[str, ...]) -> int:
    """Prove the form in a file, or on stdin, and return 1 where it is none."""
    from kb.sessions.forms import find_problems

    if len(paths) > 1:
        raise _form_usage_error(_LINT, "FILE")
    path = paths[0] if paths else "-"
    with click.open_file(path, encoding="utf-8", errors="replace") as file:
        form, problems = find_problems(file.read())
    name = "stdin" if path == "-" else os.fspath(path)
    for problem in problems:
        click.echo(f"{name}:{problem.line}: {problem.message.translate(resolve_language())}")
    if any(not problem.is_warning for problem in problems):
        return 1
    print_note(msg("{name}: a proper {form} form", name=name, form=form))
    return 0


# -- prune -------------------------------------------------------------------------------------------


class PruneGroup(click.Group):
    """A group whose first command is meant where none is named: `kb prune FILE` is `kb prune transcript FILE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first of *args* names, or the first of all with all of *args*."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["transcript", *args])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command where an option of it, or nothing, comes first."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["transcript", *args]
        return super().parse_args(ctx, args)


@click.group(cls=PruneGroup, short_help="Prune a session's transcript.")
def prune() -> None:
    """Prune a session's transcript: `kb prune FILE` is `kb prune transcript FILE`."""


@prune.command("transcript", short_help="Report what can be pruned; write a pruned copy.")
@click.argument("transcript", required=False, type=click.Path())
@click.option("--out", default="", type=click.Path(), help="Write the pruned transcript to this file; - is stdout.")
@click.option("--only", multiple=True, help="Only these: dedup, supersede, errors, truncate; commas or several times.")
@click.option("--propose", is_flag=True, help="Also list what may be dropped, and drop what is safe.")
@click.option("--yes", is_flag=True, help="Drop it without confirmation, whatever the settings say.")
@click.option("--explain", is_flag=True, help="List every cut and every text that was kept, and what it costs.")
@percent_option("How full the context is (default: by the transcript).")
@json_option
@click.pass_context
def prune_file(
    ctx: click.Context,
    transcript: str | None,
    out: str,
    only: tuple[str, ...],
    propose: bool,
    yes: bool,
    explain: bool,
    percent: float | None,
    as_json: bool,
) -> None:
    """Report what is stale in TRANSCRIPT, a JSONL file, and with --out write a copy without it.

    Repeated calls, writes that were read again, inputs of old failures and overlong search results go; the last turns,
    what cites anchors and files protected by name stay. TRANSCRIPT itself never changes. Without it, the last session
    of this project. Needs no knowledge base; where there is one, its dcp-config.yaml holds and the report is kept.
    """
    from kb.sessions import dcp_settings, prune_transcript
    from kb.sessions.known_sessions import find_latest_transcript

    percent = -1.0 if percent is None else percent
    trigger = msg("context use {percent}%", percent=f"{percent:g}") if percent > 85 else msg("asked for")
    wanted = prune_transcript.PruneRequest(prune_transcript.parse_strategies(only), propose, yes, percent, trigger)
    kb = _open_base_if_any(ctx)
    try:
        if not transcript and kb is None:
            raise usage_error(msg("{name} is missing", name="TRANSCRIPT"))
        path = transcript or find_latest_transcript(kb) if kb else str(transcript)
        settings = dcp_settings.load_root_settings(kb.root if kb else "")
        more: dict[str, Any] = {"config": kb.config, "now": kb.now()} if kb else {}
        if out and out != "-":
            made = prune_transcript.write_copy(path, out, settings, wanted, **more)
        else:
            stdout = sys.stdout.buffer if out else None
            made = prune_transcript.prune(path, settings, wanted, out=stdout, out_path="stdout", **more)
        if kb and not made.plan.idle:
            prune_transcript.save_report(kb, made.report)
        if as_json:
            print_json(_serialise_pruning(made))
        else:
            text = prune_transcript.format_result(made, kb.config.language if kb else "en", explain=explain)
            click.echo(text, err=out == "-", nl=False)
    finally:
        if kb:
            kb.close()


def _open_base_if_any(ctx: click.Context) -> KnowledgeBase | None:
    """Return the knowledge base in use, if there is one."""
    try:
        return open_base(ctx)
    except NoKnowledgeBase:
        if ctx.find_root().obj:
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
@with_kb
def show_prune_report(kb: KnowledgeBase) -> None:
    """Show the report of the newest pruning."""
    from kb.sessions.prune_transcript import load_last_report

    click.echo(load_last_report(kb), nl=False)


@prune.command("config", short_help="Show or check the settings of pruning.")
@click.option("--check", "is_check", is_flag=True, help="Only prove the file; 2 where it cannot be used.")
@click.argument("file", required=False, type=click.Path())
@click.pass_context
def show_prune_config(ctx: click.Context, is_check: bool, file: str | None) -> None:
    """Print every key of dcp-config.yaml with the value that holds, as such a file; or prove FILE.

    The file stands at the root of the knowledge base, beside kb.toml.
    """
    from kb.sessions import dcp_settings

    kb = None if file else _open_base_if_any(ctx)
    root = kb.root if kb else ""
    settings = dcp_settings.load_settings_file(file) if file else dcp_settings.load_root_settings(root or os.getcwd())
    if kb:
        kb.close()
    if not is_check:
        click.echo(dcp_settings.render_settings(settings, root), nl=False)
