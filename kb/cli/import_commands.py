"""Take over records of other tools, and write records in the form of another."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kb.cli.options import add_options, as_filter_values, json_option, resolve_scope, scope_option, with_kb
from kb.cli.prints import print_json, print_verdict, translate_status, warn, warn_of_broken_files, warn_of_injection
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

import_options = add_options(
    click.option("--project", default="", help="Short for --scope project/<name>."),
    scope_option,
    click.option("--dry-run", is_flag=True, help="Show every verdict, write nothing."),
    click.option("--verbose", is_flag=True, help="List every record, and print every remark."),
    json_option,
)


@click.group(short_help="Take over records of other tools.")
def import_group() -> None:
    """Take over the records of other tools. Importing the same again changes nothing."""


@import_group.command("adr", short_help="Import decision records.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@import_options
@with_kb
def import_adr(
    kb: KnowledgeBase, paths: tuple[str, ...], project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> int:
    """Import decision records: Nygard, MADR 2 to 4, adr-tools, log4brains.

    PATH is a file, or a folder whose markdown files are read. What is no decision record is named with the reason, and
    the others go on. Numbers, dates, statuses and links between the records are kept.
    """
    from kb.importers.adr_set import resolve_imports

    wanted = resolve_scope(kb, scope, project)
    files = dict(pair for path in paths for pair in iter_markdown_files(path))
    found, skipped = _read_decisions(kb, files, paths)
    resolution = resolve_imports(found)
    remarks = [(item.path, note) for item in found for note in item.notes]
    remarks += [(problem.path, problem.said) for problem in resolution.problems]
    records = [record._replace(scope=wanted) for record in resolution.records]
    verdicts = _import_records(kb, records, ", ".join(map(_format_origin, paths)), dry_run)
    return _report_import(kb, verdicts, remarks, skipped, as_json=as_json, verbose=verbose)


@import_group.command("wukong", short_help="Import an anchors.md.")
@click.argument("file")
@import_options
@with_kb
def import_wukong(
    kb: KnowledgeBase, file: str, project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> int:
    """Import the anchors of FILE, in which each stands under its `## [D001] title`."""
    from kb.importers.wukong import parse_anchors

    wanted = resolve_scope(kb, scope, project)
    records = parse_anchors(_read_text(file), wanted, file)
    verdicts = _import_records(kb, records, _format_origin(file), dry_run)
    return _report_import(kb, verdicts, [], [], as_json=as_json, verbose=verbose)


# -- reading --------------------------------------------------------------------------------------


def iter_markdown_files(path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each markdown file at or below *path*; raise BadInput where there is nothing.

    A name is relative: to the current folder where *path* is below it, else to the folder around *path*.
    """
    if not os.path.exists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    full = os.path.abspath(path)
    start = os.path.dirname(full) if os.path.relpath(full).startswith(os.pardir) else os.getcwd()
    for file in _iter_paths(path):
        yield file, os.path.relpath(file, start).replace(os.sep, "/").encode("utf-8", "replace").decode()


def _iter_paths(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER and not name.endswith("_cache"))
        for name in sorted(names):
            if name.lower().endswith((".md", ".markdown")) and name[0] != ".":
                yield os.path.join(folder, name)


def _read_decisions(
    kb: KnowledgeBase, files: dict[str, str], given: Sequence[str]
) -> tuple[list[ImportedAdr], list[KbError]]:
    """Return the decision records in *files* (path → name), and for every other file why it is none."""
    from kb.importers.adr import read_adr
    from kb.records.front_matter import decode_record

    found: list[ImportedAdr] = []
    skipped: list[KbError] = []
    with _show_progress(kb, msg("reading"), len(files)) as progress:
        for number, (path, name) in enumerate(files.items(), 1):
            try:
                # a link below a folder may lead anywhere; one that was named is meant
                if os.path.islink(path) and path not in given:
                    raise BadInput(msg("the file is not a regular file"), path=name)
                found.append(read_adr(decode_record(_read_bytes(path, name), name), name))
            except (BadRecord, BadInput) as error:
                skipped.append(error)
            progress(number)
    return found, skipped


def _read_bytes(path: str, name: str) -> bytes:
    try:
        if not os.path.exists(path):
            raise BadInput(msg("there is no such file or folder"), path=name)
        if not os.path.isfile(path):
            raise BadInput(msg("the file is not a regular file"), path=name)
        if os.path.getsize(path) > MAX_FILE:
            raise BadInput(msg("the file is larger than {limit} bytes", limit=MAX_FILE), path=name)
        with open(path, "rb") as file:
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
    remarks: list[tuple[str, Message]],
    skipped: list[KbError],
    *,
    as_json: bool,
    verbose: bool,
) -> int:
    """Print what became of everything and return the exit code it calls for: 1 where nothing could be read."""
    if as_json:
        notes = [{"path": path, "note": kb.localise(said)} for path, said in remarks]
        left = [{"path": e.path, "line": e.line, "reason": kb.localise(e.message)} for e in skipped]
        print_json({"verdicts": verdicts, "notes": notes, "skipped": left})
    elif verbose or len(verdicts) <= SHOWN:
        for verdict in verdicts:
            print_verdict(kb, verdict)
        for line in (*_iter_remarks(kb, remarks), *_iter_skipped(kb, skipped)):
            click.echo(line, err=True)
    else:
        _print_summary(kb, verdicts, [*_iter_skipped(kb, skipped), *_iter_remarks(kb, remarks)])
    outcomes = [verdict.verdict for verdict in verdicts]
    counts = {"new": outcomes.count("created"), "same": outcomes.count("unchanged"), "skipped": len(skipped)}
    warn(kb, msg("imported: {new}, unchanged: {same}, no record: {skipped}", **counts))
    if {"refused", "held"} & {*outcomes}:
        return EXIT_REFUSED
    return 0 if verdicts else 1


def _iter_remarks(kb: KnowledgeBase, remarks: Sequence[tuple[str, Message]]) -> Iterator[str]:
    return (f"{path}: {kb.localise(said)}" for path, said in remarks)


def _iter_skipped(kb: KnowledgeBase, skipped: Sequence[KbError]) -> Iterator[str]:
    return (f"kb: {error.translate(kb.config.language)}" for error in skipped)


def _print_summary(kb: KnowledgeBase, verdicts: Sequence[Verdict], lines: list[str]) -> None:
    """Print how many records came with which status, the refused ones, and the first of *lines*."""
    counts = Counter(verdict.status for verdict in verdicts if verdict.verdict == "created")
    for status, number in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
        click.echo(f"{number:6}  {translate_status(status, kb.config.language)}")
    for verdict in verdicts:
        if verdict.verdict == "refused":
            print_verdict(kb, verdict)
    lines += [f"[{verdict.id}]: {reason}" for verdict in verdicts if verdict.id for reason in verdict.reasons]
    for line in lines[:SHOWN]:
        click.echo(line, err=True)
    if len(lines) > SHOWN:
        warn(kb, msg("… and {number} more remarks: --verbose", number=len(lines) - SHOWN))


# -- export ------------------------------------------------------------------------------------------


@click.group(short_help="Write records in another tool's form.")
def export() -> None:
    """Write records in the form of another tool."""


@export.command("wukong", short_help="Write an anchors.md.")
@scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="Where to (default: stdout).")
@with_kb
def export_wukong(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal."""
    from kb.importers.wukong import render_anchors
    from kb.knowledge_base import Filter
    from kb.writing.file_changes import write_export

    records = sorted(kb.records(Filter(scopes=as_filter_values(scope))), key=lambda record: record.uid or "~")
    warn_of_broken_files(kb)
    text = render_anchors(records, "zh", scope or "global")  # the form is Chinese, whoever reads it
    if out == "-":
        warn_of_injection(kb, records)
        click.echo(text, nl=False)
        return
    write_export(kb, out, text.encode())
    click.echo(out)
