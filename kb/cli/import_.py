"""kb import."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from kb.cli.options import json_option, resolve_scope, scope_option, with_kb
from kb.cli.prints import STATUSES, print_json, print_verdict, warn
from kb.errors import BadInput, BadRecord, KbError
from kb.i18n import Message, msg
from kb.records.model import EXIT_REFUSED

if TYPE_CHECKING:
    from kb.importers.adr import ImportedAdr
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Record, Verdict

MAX_FILE = 64_000_000
"""Bytes of the largest single-file form that is read."""
_PASSED_OVER = frozenset({"node_modules", "__pycache__", ".git", ".hg", ".svn", ".venv", ".tox", ".nox", ".cache"})
"""Folders that hold no records of their own; others that begin with a dot (`.adr`, `.decisions`) may."""

project_option = click.option("--project", default="", help="Short for --scope project/<name>.")
verbose_option = click.option("--verbose", is_flag=True, help="Name every record, and print every remark.")
dry_option = click.option("--dry-run", is_flag=True, help="Show every verdict, write nothing.")


class ImportRemark(NamedTuple):
    """What a person should know about one file."""

    path: str
    said: Message


@click.group(short_help="Take over records of other tools.")
def command() -> None:
    """Take over the records of other tools. Importing the same again changes nothing."""


@command.command("adr", short_help="Import decision records.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@project_option
@scope_option
@dry_option
@verbose_option
@json_option
@with_kb
def import_adr(
    kb: KnowledgeBase, paths: tuple[str, ...], project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> None:
    """Import decision records: Nygard, MADR 2 to 4, adr-tools, log4brains.

    PATH is a file, or a folder whose markdown files are read. What is no decision record is named with the reason, and
    the others go on. Numbers, dates, statuses and links between the records are kept.
    """
    from kb.importers.adr_set import resolve_imports

    wanted = resolve_scope(kb, scope, project)
    files = dict(pair for path in paths for pair in iter_markdown_files(path))
    found, skipped = _read_decisions(kb, files, paths)
    resolution = resolve_imports(found)
    remarks = [ImportRemark(item.path, note) for item in found for note in item.notes]
    remarks += [ImportRemark(problem.path, problem.said) for problem in resolution.problems]
    records = [record._replace(scope=wanted) for record in resolution.records]
    verdicts = _import_records(kb, records, ", ".join(map(_format_origin, paths)), dry_run)
    _report_import(kb, verdicts, remarks, skipped, as_json=as_json, verbose=verbose)


@command.command("wukong", short_help="Import an anchors.md.")
@click.argument("file")
@project_option
@scope_option
@dry_option
@verbose_option
@json_option
@with_kb
def import_wukong(
    kb: KnowledgeBase, file: str, project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> None:
    """Import the anchors of FILE, in which each stands under its `## [D001] title`."""
    from kb.importers.wukong import parse_anchors

    wanted = resolve_scope(kb, scope, project)
    records = parse_anchors(_read_text(file), wanted, file)
    _report_import(
        kb, _import_records(kb, records, _format_origin(file), dry_run), [], [], as_json=as_json, verbose=verbose
    )


# -- reading --------------------------------------------------------------------------------------


def iter_markdown_files(path: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of each markdown file at or below *path*; raise BadInput where there is nothing.

    A name is relative: to the current folder where *path* is below it, else to the folder around *path*.
    """
    if not os.path.exists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    above = os.path.dirname(os.path.abspath(path))
    here = os.path.relpath(os.path.abspath(path))
    start = above if here.startswith(os.pardir) else os.getcwd()
    if not os.path.isdir(path):
        yield path, _format_relative_name(path, start)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER and not name.endswith("_cache"))
        for name in sorted(names):
            if name.lower().endswith((".md", ".markdown")) and name[0] != ".":
                place = os.path.join(folder, name)
                yield place, _format_relative_name(place, start)


def _format_relative_name(place: str, start: str) -> str:
    return os.path.relpath(place, start).replace(os.sep, "/").encode("utf-8", "replace").decode()


def _read_decisions(
    kb: KnowledgeBase, files: dict[str, str], given: Sequence[str]
) -> tuple[list[ImportedAdr], list[KbError]]:
    """Return the decision records in *files* (place → name), and for every other file why it is none."""
    from kb.importers.adr import read_adr
    from kb.records.front_matter import decode_record

    found: list[ImportedAdr] = []
    skipped: list[KbError] = []
    with _show_progress(kb, msg("reading"), len(files)) as progress:
        for number, (place, name) in enumerate(files.items(), 1):
            try:
                if os.path.islink(place) and place not in given:
                    raise BadInput(msg("the file is no plain file"), path=name)
                found.append(read_adr(decode_record(_read_bytes(place, name), name), name))
            except (BadRecord, BadInput) as error:
                skipped.append(error)
            progress(number)
    return found, skipped


def _read_bytes(place: str, name: str) -> bytes:
    try:
        if not os.path.exists(place):
            raise BadInput(msg("there is no such file or folder"), path=name)
        if not os.path.isfile(place):
            raise BadInput(msg("the file is no plain file"), path=name)
        if os.path.getsize(place) > MAX_FILE:
            raise BadInput(msg("the file is larger than {limit} bytes", limit=MAX_FILE), path=name)
        with open(place, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(msg("cannot be read: {problem}", problem=error.strerror), path=name) from None


def _read_text(file: str) -> str:
    data = _read_bytes(file, file)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(msg("the file is not valid UTF-8"), path=file, line=line, hint=msg("save it as UTF-8")) from None


# -- writing and telling --------------------------------------------------------------------------


def _format_origin(path: str) -> str:
    """Return what the commit calls *path*: as it is below this folder, else without the machine's folders above it."""
    inside = os.path.relpath(path)
    return os.path.basename(os.path.abspath(path)) if inside.startswith(os.pardir) else inside.replace(os.sep, "/")


def _import_records(kb: KnowledgeBase, records: Sequence[Record], origin: str, dry_run: bool) -> list[Verdict]:
    with _show_progress(kb, msg("writing"), len(records)) as progress:
        return kb.import_records(records, origin=origin, progress=progress, dry_run=dry_run)


@contextmanager
def _show_progress(kb: KnowledgeBase, label: Message, length: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; give what is told how many are done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=length, label=kb.localise(label), file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)


SHOWN = 10
"""Records of an import of which each is named, and remarks that are printed on a larger one."""


def _report_import(
    kb: KnowledgeBase,
    verdicts: list[Verdict],
    remarks: list[ImportRemark],
    skipped: list[KbError],
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    """Print what became of everything, and leave with the exit code it calls for: 1 where nothing could be read."""
    if as_json:
        print_json(
            {
                "verdicts": verdicts,
                "notes": [{"path": path, "note": kb.localise(said)} for path, said in remarks],
                "skipped": [{"path": e.path, "line": e.line, "reason": kb.localise(e.message)} for e in skipped],
            }
        )
    else:
        show = _print_all if verbose or len(verdicts) <= SHOWN else _print_summary
        show(kb, verdicts, remarks, skipped)
    words = [verdict.verdict for verdict in verdicts]
    new, same = words.count("created"), words.count("unchanged")
    warn(kb, msg("imported: {new}, unchanged: {same}, no record: {skipped}", new=new, same=same, skipped=len(skipped)))
    sys.exit(EXIT_REFUSED if {"refused", "held"} & {*words} else 0 if verdicts else 1)


def _print_all(
    kb: KnowledgeBase, verdicts: Sequence[Verdict], remarks: Sequence[ImportRemark], skipped: Sequence[KbError]
) -> None:
    for verdict in verdicts:
        print_verdict(kb, verdict)
    for path, said in remarks:
        click.echo(f"{path}: {kb.localise(said)}", err=True)
    for error in skipped:
        click.echo(f"kb: {error.translate(kb.config.language)}", err=True)


def _print_summary(
    kb: KnowledgeBase, verdicts: Sequence[Verdict], remarks: Sequence[ImportRemark], skipped: Sequence[KbError]
) -> None:
    """Print how many records came with which status, the refused ones, and the first of the remarks."""
    counts = Counter(verdict.status for verdict in verdicts if verdict.verdict == "created")
    for status, number in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
        label = STATUSES.get(status)
        click.echo(f"{number:6}  {label.translate(kb.config.language) if label else status}")
    for verdict in verdicts:
        if verdict.verdict == "refused":
            print_verdict(kb, verdict)
    lines = [f"kb: {error.translate(kb.config.language)}" for error in skipped]
    lines += [f"{path}: {kb.localise(said)}" for path, said in remarks]
    lines += [f"[{verdict.id}]: {reason}" for verdict in verdicts if verdict.id for reason in verdict.reasons]
    for line in lines[:SHOWN]:
        click.echo(line, err=True)
    if len(lines) > SHOWN:
        warn(kb, msg("… and {number} more remarks: --verbose", number=len(lines) - SHOWN))
