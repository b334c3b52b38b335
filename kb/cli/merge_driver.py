"""kb merge-driver: what git calls to merge a record. It opens no knowledge base and reads nothing but three files."""

from __future__ import annotations

import os
import sys

import click

from kb.cli.prints import detect_language
from kb.i18n import Message, msg

FAILED = 255
"""What git takes for "no merge at all"; up to 128 it takes what stands in the file for a conflict."""


@click.command(short_help="Merge a record, for git.")
@click.argument("base", type=click.Path())
@click.argument("ours", type=click.Path())
@click.argument("theirs", type=click.Path())
@click.argument("path")
def command(base: str, ours: str, theirs: str, path: str) -> None:
    """Merge the files OURS and THEIRS, which both come from BASE, and write the result over OURS.

    git calls this as kb merge-driver %O %A %B %P; kb init tells it to. PATH is how the record is called. Exit 0:
    merged, 1: conflicts stand between markers, above 128: nothing was written.
    """
    from kb.merge.merge_record import merge_record

    try:
        old, mine, other = (_read_file(name) for name in (base, ours, theirs))
        found = merge_record(old or None, mine, other, path=path)
        if found.data != mine:
            _write_atomically(ours, found.data)
    except Exception:  # whatever it is, git must not take one side for the merge
        import traceback

        traceback.print_exc()
        sys.exit(FAILED)
    said = [*found.removed, *(conflict.said for conflict in found.conflicts)]
    if said:
        _print_messages(path, said, has_conflicts=bool(found.conflicts))
    sys.exit(1 if found.conflicts else 0)


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write_atomically(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    beside = f"{path}.kb"
    try:
        with open(beside, "xb") as file:
            file.write(data)
        os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def _print_messages(path: str, said: list[Message], *, has_conflicts: bool) -> None:
    language = detect_language()
    for sentence in said:
        click.echo(f"kb: {path}: {sentence.translate(language)}", err=True)
    if has_conflicts:
        from shlex import quote

        hint = msg("decide between the markers, take them out, then: git add {path}", path=quote(path))
        click.echo("    → " + hint.translate(language), err=True)
