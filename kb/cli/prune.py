"""kb prune."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, percent_option, usage_error, with_kb
from kb.cli.prints import print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase
    from kb.sessions.prune_transcript import PruneRequest, PruneResult


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
def command() -> None:
    """Prune a session's transcript: `kb prune FILE` is `kb prune transcript FILE`."""


@command.command("transcript", short_help="Report what can be pruned; write a pruned copy.")
@click.argument("transcript", required=False, type=click.Path())
@click.option("--out", default="", type=click.Path(), help="Write the pruned transcript to this file; - is stdout.")
@click.option("--only", multiple=True, help="Only these: dedup, supersede, errors, truncate; commas or several times.")
@click.option("--propose", is_flag=True, help="Also list what may be dropped, and drop what is safe.")
@click.option("--yes", is_flag=True, help="Drop it although the settings ask for confirmation.")
@click.option("--explain", is_flag=True, help="Name every cut and every text that was kept, and what it costs.")
@percent_option("How full the context is (default: by the transcript).")
@json_option
@click.pass_context
def prune_file(
    ctx: click.Context, /, transcript: str | None, out: str, only: tuple[str, ...], propose: bool, yes: bool,
    explain: bool, percent: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Report what is stale in TRANSCRIPT, a JSONL file, and with --out write a copy without it.

    Repeated calls, writes that were read again, inputs of old failures and overlong search results go; the last turns,
    what cites anchors and files protected by name stay. TRANSCRIPT itself never changes. Without it, the last session
    of this project. Needs no knowledge base; where there is one, its dcp-config.yaml holds and the report is kept.
    """
    from kb.sessions import prune_transcript
    from kb.sessions.active_sessions import find_latest_transcript

    percent = -1.0 if percent is None else percent
    trigger = msg("context use {percent}%", percent=f"{percent:g}") if percent > 85 else msg("asked for")
    wanted = prune_transcript.PruneRequest(prune_transcript.parse_strategies(only), propose, yes, percent, trigger)
    kb = _open_base_if_any(ctx)
    try:
        if not transcript and kb is None:
            raise usage_error(msg("{name} is missing", name="TRANSCRIPT"))
        path = transcript or find_latest_transcript(kb) if kb else str(transcript)
        made = _run_pruning(kb, path, out, wanted)
        if kb and not made.plan.idle:
            prune_transcript.save_report(kb, made.report)
        _print_result(made, kb.config.language if kb else "en", explain=explain, as_json=as_json, to_stderr=out == "-")
    finally:
        if kb:
            kb.close()


def _open_base_if_any(ctx: click.Context) -> KnowledgeBase | None:
    """Return the knowledge base in use, if there is one."""
    from kb.cli.options import open_base
    from kb.errors import NoKnowledgeBase

    try:
        return open_base(ctx)
    except NoKnowledgeBase:
        if ctx.find_root().obj:
            raise
        return None


def _run_pruning(kb: KnowledgeBase | None, path: str, out: str, wanted: PruneRequest) -> PruneResult:
    from kb.sessions import prune_transcript
    from kb.sessions.dcp_settings import load_root_settings

    settings = load_root_settings(kb.root if kb else "")
    more: dict[str, Any] = {"config": kb.config, "now": kb.now()} if kb else {}
    if out and out != "-":
        return prune_transcript.write_copy(path, out, settings, wanted, **more)
    return prune_transcript.prune(path, settings, wanted, out=(sys.stdout.buffer,) if out else (), **more)


def _print_result(made: PruneResult, language: str, *, explain: bool, as_json: bool, to_stderr: bool) -> None:
    if as_json:
        plan = made.plan
        cuts = [{**cut._asdict(), "value": None, "saved": cut.saved_tokens} for cut in plan.cuts]
        print_json({**plan._asdict(), "cuts": cuts, "saved": plan.saved_tokens, "percent_after": plan.percent_after,
                    "proposals": [one._replace(cut=one.cut._replace(value=None)) for one in made.proposals],
                    "dropped": made.dropped})  # fmt: skip
        return
    from kb.sessions.prune_transcript import format_result

    click.echo(format_result(made, language, explain=explain), err=to_stderr, nl=False)


@command.command("report", short_help="Show the newest report.")
@with_kb
def show_report(kb: KnowledgeBase) -> None:
    """Show the report of the newest pruning."""
    from kb.sessions import prune_transcript

    click.echo(prune_transcript.load_last_report(kb), nl=False)


@command.command("config", short_help="Show or check the settings of pruning.")
@click.option("--check", "is_check", is_flag=True, help="Only prove the file; 2 where it cannot be used.")
@click.argument("file", required=False, type=click.Path())
@click.pass_context
def show_config(ctx: click.Context, is_check: bool, file: str | None) -> None:
    """Print every key of dcp-config.yaml with the value that holds, as such a file; or prove FILE.

    The file stands at the root of the knowledge base, beside kb.toml.
    """
    from kb.sessions import dcp_settings

    kb = None if file else _open_base_if_any(ctx)
    settings = (
        dcp_settings.load_settings_file(file)
        if file
        else dcp_settings.load_root_settings(kb.root if kb else os.getcwd())
    )
    if kb:
        kb.close()
    if not is_check:
        click.echo(dcp_settings.render_settings(settings, kb.root if kb else ""), nl=False)
