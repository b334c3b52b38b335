"""Commands on what sessions teach: what they leave to be recorded, and what is to become of it.

`kb learn` is on what sessions leave to be recorded: see it with its evidence, and say that it is worth nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from kb.capture.handover import SessionOpenings, list_open_sessions, skip_openings
from kb.capture.openings import KIND_NAMES, build_example
from kb.cli import options
from kb.cli.options import Answer
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.safety.quoting import quote_text

_MAX_LINE_CHARACTERS = 240


@click.group()
def learn() -> None:
    """See what sessions settled and nobody has recorded, and answer it."""


@learn.command("next", short_help="Print what waits to be recorded.")
@click.option("--session", default="", metavar="ID", help="Only of this session: its id, or the beginning of it.")
@options.with_json
def print_openings(kb: KnowledgeBase, session: str) -> Answer:
    """Print what a session settled and nobody has recorded: each with its quotes and their lines in the transcript.

    The answer is candidates on stdin of the command that stands below them; `kb learn skip NAME` says that nothing is
    worth keeping.
    """
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


@learn.command("skip", short_help="Say that nothing is worth keeping.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@options.with_json
def skip(kb: KnowledgeBase, names: tuple[str, ...]) -> Answer:
    """Say that nothing is worth keeping of what NAME names; it is not asked about again."""
    skipped = skip_openings(kb, names)
    said = [msg("not asked about again: {name}", name=row.opening.name) for row in skipped]
    return Answer([row.opening.name for row in skipped], said)
