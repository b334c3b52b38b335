"""kb form."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import open_base, percent_option, usage_error
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

_LINT = "lint"


@click.command(short_help="Print a session in one of its three forms.")
@click.argument("words", nargs=-1, metavar="[FORM] [SOURCE]")
@click.option("--for", "situation", default="", help="agent-start (compact), handover (normal) or debug (expanded).")
@percent_option("How full the context is, to choose the form by.")
@click.option("--limit", type=click.IntRange(60, 499), help="Words of a compact form, at most.")
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], situation: str, percent: float | None, limit: int | None
) -> None:
    """Print a session in one of its three forms: compact (< 500 words), normal (500 to 2000) or expanded.

    SOURCE is a transcript, or (part of) the name of an archived session; without it, the last session of this project.
    Without FORM and --for, how full the context is decides. `kb form lint FILE` proves a form that somebody wrote.
    """
    if words[:1] == (_LINT,):
        _lint_form(words[1:])
    with open_base(ctx) as kb:
        from kb.sessions import render_forms

        form = words[0] if words and words[0] in render_forms.FORMS else ""
        rest = words[1:] if form else words
        if len(rest) > 1 or (situation and (form or situation not in render_forms.SITUATIONS)):
            names = ", ".join((*render_forms.FORMS, _LINT))
            raise usage_error(msg("give one form ({forms}) or one situation ({situations}), and one source",
                            forms=names, situations=", ".join(render_forms.SITUATIONS)))  # fmt: skip
        if limit is not None:
            kb.config = kb.config._replace(compact_limit=limit)
        wanted = form or render_forms.SITUATIONS.get(situation, "")
        _print_form(kb, wanted, rest[0] if rest else "", -1.0 if percent is None else percent)


def _print_form(kb: KnowledgeBase, form: str, source: str, percent: float) -> None:
    from kb.capture.form_choice import render_wanted_form

    made = render_wanted_form(kb, form, source, percent=percent)
    click.echo(made.text, nl=False)
    for note in made.notes:
        click.echo(note, err=True)


def _lint_form(paths: tuple[str, ...]) -> None:
    """Prove the form in a file, or on stdin, and leave with 1 where it is none."""
    from kb.cli.options import resolve_language
    from kb.sessions.render_forms import lint_form

    if len(paths) > 1:
        raise usage_error(msg("give one form ({forms}) or one situation ({situations}), and one source",
                        forms=_LINT, situations="FILE"))  # fmt: skip
    path = paths[0] if paths else "-"
    with click.open_file(path, encoding="utf-8", errors="replace") as file:
        form, troubles = lint_form(file.read())
    name = "stdin" if path == "-" else os.fspath(path)
    for trouble in troubles:
        click.echo(f"{name}:{trouble.line}: {trouble.said.translate(resolve_language())}")
    bad = any(not trouble.is_warning for trouble in troubles)
    if not bad:
        click.echo(msg("{name}: a proper {form} form", name=name, form=form).translate(resolve_language()), err=True)
    sys.exit(1 if bad else 0)
