"""kb context."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, percent_option, resolve_kind, resolve_language, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

_CALLS_FOR = {
    "roomy": msg("the expanded form fits"),
    "normal": msg("the normal form fits"),
    "reminder": msg("the compact form fits; there is room left, no need to hurry"),
    "prune": msg("time to prune: kb prune"),
    "archive": msg("time to archive: kb archive"),
}


@click.group(short_help="Build an agent's context, or tell how full it is.")
def command() -> None:
    """Build what an agent is given to work with, or tell how full its context is."""


@command.command("build", short_help="Print the records that answer a question, within a budget.")
@click.option("-q", "--query", required=True, help="What the work is about.")
@click.option("--budget", type=click.IntRange(min=0), default=1500, show_default=True, help="Tokens, at most.")
@click.option("--kind", default="", help="Only this kind.")
@json_option
@with_kb
def build(kb: KnowledgeBase, query: str, budget: int, kind: str, as_json: bool) -> None:
    """Print the records that answer a question, within a budget of tokens: whole ones or their short forms.

    The best stand first, none is cut, and the budget is never exceeded. Where no record is about the question,
    nothing is printed.
    """
    from kb.knowledge_base import Filter

    made = kb.context(query, budget=budget, wanted=Filter(resolve_kind(kind)), project=kb.project(os.getcwd()))
    warnings = [kb.localise(warning) for warning in made.warnings]
    if as_json:
        shown = [{"id": one.record.id, "scope": one.record.scope, "path": one.record.path, "form": one.form}
                 for one in made.shown]  # fmt: skip
        print_json({**made._asdict(), "shown": shown, "warnings": warnings})
        return
    if made.text:
        click.echo(made.text)
    for warning in warnings:
        click.echo(warning, err=True)
    if made.left:
        warn(kb, msg("records that had no room: {n}", n=made.left))
    elif not made.shown:
        warn(kb, msg("nothing recorded is about this"))


@command.command("load", short_help="Print background, related records and domain knowledge.")
@click.option("-q", "--query", required=True, help="What the work is about.")
@click.option("--budget", type=click.IntRange(min=100), default=1500, show_default=True, help="Tokens, at most.")
@click.option("-k", "most", type=click.IntRange(1, 50), default=5, show_default=True, help="Related records, at most.")
@click.option("--list", "as_list", is_flag=True, help="Only what answers, as a numbered list.")
@json_option
@with_kb
def load(kb: KnowledgeBase, query: str, budget: int, most: int, as_list: bool, as_json: bool) -> None:
    """Print what an agent reads before it answers: the project's background, related records, domain knowledge.

    Relevance is how much of what was asked a record speaks of.
    """
    from kb.context import foreground

    loaded = foreground.load_knowledge(kb, query, project=kb.project(os.getcwd()), most=most)
    if as_json:
        background = {"project": loaded.project, "stack": loaded.stack, "domains": loaded.domains}
        print_json({**background, "related": loaded.related, "knowledge": loaded.domain_notes})
    elif as_list:
        for row in foreground.render_numbered_list(loaded.answers[:most]):
            click.echo(kb.localise(row))
    else:
        made = foreground.render_summary(loaded, budget)
        click.echo(made.translate(kb.config.language))
        for sentence in made.omitted:
            warn(kb, sentence)
    if not loaded.answers:
        warn(kb, msg("nothing recorded is about this"))


@command.command("tokens", short_help="Estimate the tokens of a text.")
@click.argument("file", default="-", type=click.Path())
@json_option
def print_token_estimate(file: str, as_json: bool) -> None:
    """Estimate the tokens of FILE, or of stdin, and count its words and CJK characters."""
    from kb.text.segment import count_words, estimate_tokens

    with click.open_file(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    if as_json:
        print_json({"tokens": estimate_tokens(text), "count": count_words(text)})
        return
    told = msg(
        "{tokens} tokens, {count} words and CJK characters", tokens=estimate_tokens(text), count=count_words(text)
    )
    click.echo(told.translate(resolve_language()))


@command.command("usage", short_help="Tell how full the context is.")
@click.argument("transcript", required=False, type=click.Path())
@percent_option("How full it is, where that is known already.")
@click.option("--model", default="", help="The model, for the size of its context (see context_windows).")
@json_option
@with_kb
def show_context_usage(
    kb: KnowledgeBase, transcript: str | None, percent: float | None, model: str, as_json: bool
) -> None:
    """Tell how full the context is by the usage fields of TRANSCRIPT, and what that calls for.

    Below 50% the expanded form, from 50% the normal one, from 70% the compact one and a reminder, from 85% pruning,
    above 95% an archive. Without TRANSCRIPT, the last session of this project.
    """
    from kb.capture import usage_alerts
    from kb.sessions import prune_transcript

    path = "" if percent is not None else transcript or prune_transcript.find_latest_transcript(kb)
    used, now = usage_alerts.measure_band(kb, path, percent=-1.0 if percent is None else percent, model=model)
    if as_json:
        print_json({"percent": used.percent, "tokens": used.tokens, "window": used.window,
                    "window_known": used.is_known, "model": used.model,
                    "left": used.left, "band": now.name, "light": now.light, "form": now.form})  # fmt: skip
        return
    light = {"yellow": "⚠️ ", "orange": "🟠 ", "red": "🔴 "}.get(now.light, "")
    of = f" ({used.tokens:,} / {used.window:,})" if used.tokens else ""
    click.echo(f"{light}{used.percent:.1f}%{of}: {kb.localise(_CALLS_FOR[now.name])}")
    if used.tokens and not used.is_known:
        model = used.model or "?"
        warn(kb, msg("the window of {model} is not known, so no light is lit; set context_window or context_windows "
                     "in kb.toml", model=model))  # fmt: skip
