"""What the commands share: open the knowledge base, print verdicts and values, know the exit codes."""

import functools
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kb.record import Record, Verdict

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

EXIT_REFUSED = 3
EXIT_REVIEW = 4

json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")
scope_option = click.option("--scope", default="", help="global or project/<name>.")


def with_kb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a command as its first argument."""

    @click.pass_context
    @functools.wraps(function)
    def opened(ctx: click.Context, /, *args: Any, **kwargs: Any) -> Any:
        from kb.knowledge import KnowledgeBase

        place = ctx.find_root().obj
        kb = KnowledgeBase.open(place) if not place else KnowledgeBase.at(place)
        with kb:
            return function(kb, *args, **kwargs)

    return opened


def print_json(value: object) -> None:
    """Print *value* as JSON, Chinese readable."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def plain(value: object) -> object:
    """Return *value* with tuples that have names as objects."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def show_verdicts(kb: "KnowledgeBase", verdicts: Sequence[Verdict], *, as_json: bool) -> NoReturn:
    """Print *verdicts* and leave with the exit code they call for."""
    if as_json:
        print_json(list(verdicts))
    else:
        for verdict in verdicts:
            show_verdict(kb, verdict)
    words = {verdict.verdict for verdict in verdicts}
    sys.exit(EXIT_REVIEW if "conflict" in words else EXIT_REFUSED if "refused" in words else 0)


def show_verdict(kb: "KnowledgeBase", verdict: Verdict) -> None:
    """Print one verdict: what became of it on stdout, why and what next on stderr."""
    name = f"[{verdict.id}] " if verdict.id and verdict.verdict != "held" else ""
    click.echo(f"{verdict.verdict:9} {name}{verdict.title}" + (f"  {verdict.path}" if verdict.path else ""))
    for reason in verdict.reasons:
        click.echo(f"          {reason}", err=True)
    if verdict.branch:
        click.echo(f"          ⎇ {verdict.branch}", err=True)
    for similar in verdict.similar:
        click.echo(f"          ≈ {similar.score:.2f} [{similar.id}] {similar.title}", err=True)
    if verdict.next:
        click.echo(f"          → {verdict.next}", err=True)


def record_line(record: Record) -> str:
    """Return one line about *record*."""
    from kb.knowledge.life import label

    return f"{record.id:6} {label(record.status)}  {record.title}  ({record.scope})"
