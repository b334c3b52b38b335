"""kb context."""

from __future__ import annotations

import click

from kb.cli.door import json_option, with_kb
from kb.cli.prints import print_json
from kb.values import TYPE_CHECKING
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_CALLS_FOR = {
    "roomy": say("the expanded form fits"),
    "normal": say("the normal form fits"),
    "reminder": say("the compact form fits; there is room left, no need to hurry"),
    "prune": say("time to prune: kb prune"),
    "archive": say("time to archive: kb archive"),
}


@click.group(short_help="Tell how full an agent's context is.")
def command() -> None:
    """Tell how full the context of an agent is, and what that calls for."""


@command.command("usage", short_help="Tell how full the context is.")
@click.argument("transcript", required=False, type=click.Path())
@click.option("--percent", type=click.FloatRange(0, 1000), help="How full it is, where that is known already.")
@click.option("--model", default="", help="The model, for the size of its context (see context_windows).")
@json_option
@with_kb
def usage_(kb: KnowledgeBase, transcript: str | None, percent: float | None, model: str, as_json: bool) -> None:
    """Tell how full the context is by the usage fields of TRANSCRIPT, and what that calls for.

    Below 50% the expanded form, from 50% the normal one, from 70% the compact one and a reminder, from 85% pruning,
    above 95% an archive. Without TRANSCRIPT, the session that kb heard of last.
    """
    from kb.knowledge.session import lights, pruning

    path = "" if percent is not None else transcript or pruning.latest_transcript(kb)
    used, now = lights.measured(kb, path, percent=-1.0 if percent is None else percent, model=model)
    if as_json:
        print_json({"percent": used.percent, "tokens": used.tokens, "window": used.window, "model": used.model,
                    "left": used.left, "band": now.name, "light": now.light, "form": now.form})  # fmt: skip
        return
    light = {"yellow": "⚠️ ", "orange": "🟠 ", "red": "🔴 "}.get(now.light, "")
    of = f" ({used.tokens:,} / {used.window:,})" if used.tokens else ""
    click.echo(f"{light}{used.percent:.1f}%{of}: {kb.words(_CALLS_FOR[now.name])}")
