"""kb vectors."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.search.embedding import VectorStatus

_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


@click.group(short_help="Make the vectors by which search finds meaning.")
def command() -> None:
    """Make the vectors by which search finds what is meant beside what is said; needs an embedder in the settings."""


@command.command("build", short_help="Give every record a vector that has none.")
@click.option("--anew", is_flag=True, help="Forget the vectors there are first.")
@json_option
@with_kb
def build_vectors(kb: KnowledgeBase, anew: bool, as_json: bool) -> None:
    """Give every record a vector that has none, in batches.

    What was made stays when this is broken off; the next call goes on. Records that have not changed are not embedded
    again. Other commands go on meanwhile.
    """
    from kb.search import embedding

    embedding.build_vectors(kb, _VectorProgress(kb), anew=anew)
    _print_status(kb, embedding.get_vector_status(kb), as_json=as_json)


@command.command("status", short_help="Tell how things stand with the vectors.")
@json_option
@with_kb
def show_status(kb: KnowledgeBase, as_json: bool) -> None:
    """Tell which embedder is used, whether it can be, and how many records have a vector."""
    from kb.search import embedding

    _print_status(kb, embedding.get_vector_status(kb), as_json=as_json)


@command.command("embed", short_help="Print the vector of a text.")
@click.argument("text")
@click.option("--passage", is_flag=True, help="As a text that is searched; without it, as a question.")
@with_kb
def embed_text(kb: KnowledgeBase, text: str, passage: bool) -> None:
    """Print the vector of TEXT as JSON."""
    from kb.search import embedding

    print_json(embedding.embed_text(kb, text, "passage" if passage else "query"))


@command.command("drop", short_help="Forget all vectors.")
@with_kb
def drop_vectors(kb: KnowledgeBase) -> None:
    """Forget all vectors; search goes on by words. `kb vectors build` makes them again."""
    from kb.search import embedding

    embedding.delete_vectors(kb)
    warn(kb, msg("the vectors are gone; no record is"))


class _VectorProgress:
    """One line on stderr that tells how many vectors are made."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._told = kb, time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Say that *done* are made."""
        line = self._kb.localise(msg("vectors: {done} of {number}", done=done, number=of))
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if done == of else "", file=sys.stderr, flush=True)
        elif done == of or time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            print(line, file=sys.stderr, flush=True)


def _print_status(kb: KnowledgeBase, now: VectorStatus, *, as_json: bool) -> None:
    if as_json:
        print_json({**now._asdict(), "problem": str(now.problem)})
        return
    print(kb.localise(msg("embedder: {name}", name=now.embedder)))
    if now.problem:
        print(kb.localise(msg("it cannot be used: {problem}", problem=now.problem)))
    told = msg(
        "records with a vector: {n}, without: {m}; {size} MB in {file}",
        n=now.vectors, m=now.waiting, size=f"{now.bytes / 1e6:.1f}", file=".kb/vectors.bin",
    )  # fmt: skip
    print(kb.localise(told))
