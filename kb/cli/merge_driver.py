"""kb merge-driver: what git calls to merge a record. It opens no knowledge base and reads nothing but three files."""

from __future__ import annotations

import os
from shlex import quote

import click

from kb.cli.prints import detect_language
from kb.files import write_atomic
from kb.i18n import msg

FAILED = 255
"""What git takes for "no merge at all"; up to 128 it takes what stands in the file for a conflict."""


@click.command(short_help="Merge a record, for git.")
@click.argument("base", type=click.Path())
@click.argument("ours", type=click.Path())
@click.argument("theirs", type=click.Path())
@click.argument("path")
def merge(base: str, ours: str, theirs: str, path: str) -> int:
    """Merge the files OURS and THEIRS, which both come from BASE, and write the result over OURS.

    git calls this as kb merge-driver %O %A %B %P; kb init tells it to. PATH is how the record is called. Exit 0:
    merged, 1: conflicts stand between markers, above 128: nothing was written.
    """
    from kb.merge.merge_record import merge_record

    try:
        old, mine, other = (_read_file(name) for name in (base, ours, theirs))
        found = merge_record(old or None, mine, other, path=path)
        if found.data != mine:
            write_atomic(os.path.abspath(ours), found.data)
    except Exception:  # not narrower: a bug would exit with 1, and git would take our side for the merged file
        import traceback

        traceback.print_exc()
        return FAILED
    messages = [*found.removed, *(conflict.said for conflict in found.conflicts)]
    language = detect_language() if messages else ""
    for said in messages:
        click.echo(f"kb: {path}: {said.translate(language)}", err=True)
    if found.conflicts:
        hint = msg("choose between the versions, remove the markers, then: git add {path}", path=quote(path))
        click.echo("    → " + hint.translate(language), err=True)
    return 1 if found.conflicts else 0


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
