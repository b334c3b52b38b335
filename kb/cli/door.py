"""What the commands share: open the knowledge base, print verdicts and values, know the exit codes."""

import functools
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kb.errors import KbError, exit_code
from kb.record import Record, Status, Verdict
from kb.words import Said, say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_VERDICTS = {
    "created": say("created"),
    "updated": say("updated"),
    "appended": say("appended"),
    "unchanged": say("unchanged"),
    "conflict": say("conflict"),
    "held": say("held"),
    "refused": say("refused"),
}
_STATUSES = {
    str(Status.PROPOSED): say("⚠️ proposed"),
    str(Status.ACCEPTED): say("✅ accepted"),
    str(Status.REJECTED): say("❌ rejected"),
    str(Status.DEPRECATED): say("❌ deprecated"),
    str(Status.SUPERSEDED): say("❌ superseded"),
}

json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")
status_option = click.option(
    "--status", type=click.Choice([str(status) for status in Status]), help="Only this status."
)
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


def spoken(context: click.Context | None = None) -> str:
    """Return the language of the knowledge base in use, or that of the environment where there is none."""
    from kb.config import FILE, load
    from kb.home import found

    context = context or click.get_current_context(silent=True)
    root = (context.find_root().obj if context else None) or found(os.getcwd(), os.environ)
    try:
        if root and os.path.isfile(os.path.join(root, FILE)):
            return load(root).language
    except (KbError, OSError):
        pass
    return "zh" if os.environ.get("LANG", "").startswith("zh") else "en"


def usage(said: Said) -> click.UsageError:
    """Return the error for a command line that asks for what cannot be."""
    return click.UsageError(said.in_language(spoken()))


def scope_wanted(kb: "KnowledgeBase", scope: str, project: str) -> str:
    """Return the scope that the options --scope and --project name; without them, that of the current folder."""
    if scope and project and scope != f"project/{project}":
        raise usage(say("give --scope or --project, not both"))
    return scope or (f"project/{project}" if project else kb.project(os.getcwd()))


def kind_wanted(word: str) -> tuple[str, ...]:
    """Return the kind that *word* (its name, prefix or Chinese label) names, for a filter; none for ""."""
    from kb.kinds import KINDS, kind_named

    row = kind_named(word)
    if word and row is None:
        raise usage(
            say("there is no kind {kind}; there are: {kinds}", kind=word, kinds=", ".join(k.name for k in KINDS))
        )
    return one(row.name if row else "")


def one(word: str | None) -> tuple[str, ...]:
    """Return *word* for a filter; none for ""."""
    return (word,) if word else ()


def warn(kb: "KnowledgeBase", said: Said) -> None:
    """Say something on stderr, in the language of *kb*."""
    click.echo(kb.words(said), err=True)


def name_broken(kb: "KnowledgeBase") -> None:
    """Name on stderr the files that are no readable records and were therefore left out of an answer."""
    broken = kb.broken()
    for error in broken:
        click.echo(f"kb: {error.in_language(kb.config.language)}", err=True)
    if broken:
        click.echo("    → " + kb.words(say("left out until it is mended; see: kb check")), err=True)


def print_json(value: object) -> None:
    """Print *value* as JSON, Chinese readable."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2, default=str))


def plain(value: object) -> object:
    """Return *value* as JSON knows it: tuples that have names as objects, what is no number as text."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def show_verdicts(kb: "KnowledgeBase", verdicts: Sequence[Verdict], *, as_json: bool) -> NoReturn:
    """Print *verdicts* and leave with the exit code they call for."""
    if as_json:
        print_json(list(verdicts))
    else:
        for verdict in verdicts:
            show_verdict(kb, verdict)
    leave_with(verdicts)


def leave_with(verdicts: Sequence[Verdict]) -> NoReturn:
    """Leave with the exit code that *verdicts* call for."""
    sys.exit(exit_code({verdict.verdict for verdict in verdicts}))


def show_verdict(kb: "KnowledgeBase", verdict: Verdict) -> None:
    """Print one verdict: what became of it on stdout, why and what next on stderr."""
    name = f"[{verdict.id}] " if verdict.id and verdict.verdict != "held" else ""
    word = _VERDICTS.get(verdict.verdict)
    click.echo(
        f"{padded(kb.words(word) if word else verdict.verdict, 9)} {name}{verdict.title}"
        + (f"  {verdict.path}" if verdict.path else "")
    )
    for reason in verdict.reasons:
        click.echo(f"          {reason}", err=True)
    if verdict.branch:
        click.echo(f"          ⎇ {verdict.branch}", err=True)
    for similar in verdict.similar:
        click.echo(f"          ≈ {similar.score:.2f} [{similar.id}] {similar.title}", err=True)
    if verdict.next:
        click.echo(f"          → {verdict.next}", err=True)


def record_line(record: Record, language: str) -> str:
    """Return one line about *record*."""
    label = _STATUSES.get(record.status)
    return f"{record.id:6} {label.in_language(language) if label else record.status}  {record.title}  ({record.scope})"


def padded(text: str, width: int) -> str:
    """Return *text* with spaces up to *width* columns of a terminal, where a Chinese character takes two."""
    from unicodedata import east_asian_width

    return text + " " * (width - sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text))
