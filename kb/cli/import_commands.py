"""Commands that import records of other tools, and export records in another form."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import click

from kb.cli import options, prints
from kb.cli.options import Answer
from kb.cli.prints import translate_status, warn, warn_of_broken_files, warn_of_injection
from kb.errors import BadInput, KbError, describe_os_error
from kb.git.revisions import list_files_around
from kb.i18n import Message, msg
from kb.importers.formats import FORMATS, ImportFormat, SourceFile
from kb.importers.wukong import render_anchors
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records.model import GLOBAL, LIVE, Record, Verdict, choose_exit_code
from kb.writing.bulk_import import dump_records, fill_impact, fill_origin
from kb.writing.file_changes import write_export

MAX_FILE = 64_000_000
"""Bytes of the largest file that is read."""
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", ".git", ".hg", ".svn", ".venv", ".tox", ".nox", ".cache"})
"""Folders that hold no records of their own; others that begin with a dot (`.adr`, `.decisions`) may."""
_MAX_SHOWN_RECORDS = 10
"""Records of an import of which each is named, and remarks that are printed on a larger one."""

import_options = options.add_options(
    click.option("--project", default="", help="Short for --scope project/<name>."),
    options.scope_option,
    click.option("--dry-run", is_flag=True, help="Show every verdict without writing anything."),
    click.option("--verbose", is_flag=True, help="List every record, and print every remark."),
    options.json_option,
    options.with_kb,
)


_MAX_TRIED_FILES = 30
"""Files of a folder that are looked into for a decision record."""


class ImportGroup(click.Group):
    """A group that, given a path where a format belongs, says which command imports it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first of *args* names; raise UsageError, with the command to type, for a path."""
        if args and args[0] not in self.commands and os.path.exists(args[0]):
            path = args[0]
            name = _guess_format(path)
            hint = msg("import it with: kb import {name} {path}", name=name, path=path) if name else None
            raise options.usage_error(msg("{path} is no format: name one before the path", path=path), hint)
        return super().resolve_command(ctx, args)


def _guess_format(path: str) -> str:
    """Return the name of the format that what is at *path* seems to have, or ""."""
    name = os.path.basename(os.path.normpath(path))
    if os.path.isdir(os.path.join(path, ".obsidian")):
        return "obsidian"
    if name in ("CLAUDE.md", "AGENTS.md"):
        return "rules"
    if name == "anchors.md" or name.endswith(".json"):
        return "wukong" if name == "anchors.md" else "json"
    suffixes = FORMATS["adr"].suffixes
    for file, inside in islice(iter_import_files(path, suffixes), _MAX_TRIED_FILES):
        source = _build_source(file, inside, is_named=file == path)
        if file.lower().endswith(suffixes) and FORMATS["adr"].read([source], GLOBAL, lambda done: None).records:
            return "adr"
    return ""


@click.group(cls=ImportGroup)
def import_group() -> None:
    """Import the records of other tools. Importing the same again changes nothing."""


@import_group.command("adr", short_help="Import decision records.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@import_options
def import_adr(
    kb: KnowledgeBase, paths: tuple[str, ...], project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> int:
    """Import decision records: Nygard, MADR 2 to 4, adr-tools, log4brains.

    PATH is a file, or a folder whose markdown files are read. Files that are not decision records are reported with the
    reason and skipped. Numbers, dates, statuses and links between the records are kept.
    """
    wanted = options.resolve_scope(kb, scope, project)
    return _import_files(kb, FORMATS["adr"], paths, wanted, dry_run=dry_run, verbose=verbose, as_json=as_json)


@import_group.command("wukong", short_help="Import an anchors.md.")
@click.argument("file")
@import_options
def import_wukong(
    kb: KnowledgeBase, file: str, project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> int:
    "Import the anchors of FILE, each under its heading `## [D001] title`."
    wanted = options.resolve_scope(kb, scope, project)
    return _import_files(kb, FORMATS["wukong"], [file], wanted, dry_run=dry_run, verbose=verbose, as_json=as_json)


@import_group.command("json", short_help="Import the output of kb export json.")
@click.argument("file", default="-")
@import_options
def import_json(
    kb: KnowledgeBase, file: str, project: str, scope: str, dry_run: bool, verbose: bool, as_json: bool
) -> int:
    """Import the records of another knowledge base, as `kb export json` prints them, from FILE or stdin (-).

    Files, ids and uids are kept where they are free. Records that exist here are not changed. With --scope,
    everything goes into that scope.
    """
    wanted = options.resolve_scope(kb, scope, project) if scope or project else ""
    return _import_files(kb, FORMATS["json"], [file], wanted, dry_run=dry_run, verbose=verbose, as_json=as_json)


def _import_files(
    kb: KnowledgeBase,
    form: ImportFormat,
    paths: Sequence[str],
    scope: str,
    *,
    dry_run: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Import what is at *paths* in the format *form*, report what became of it, and return the exit code."""
    named = [pair for path in paths for pair in iter_import_files(path, form.suffixes)]
    files = {path: _build_source(path, name, is_named=path in paths) for path, name in named}
    with _show_progress(kb, msg("reading"), len(files)) as progress:
        found = form.read(list(files.values()), scope, progress)
    records = found.records
    if found.places:
        by_name = {name: os.path.abspath(path) for path, name in named}
        places = [by_name[name] for name in found.places]
        records = fill_origin(kb, fill_impact(kb, records, places), places)
    sources = ["stdin" if path == "-" else path for path in paths]
    verdicts = _import_records(kb, records, sources, dry_run, found.texts)
    return report_import(
        kb, verdicts, found.skipped, found.remarks, is_dry_run=dry_run, as_json=as_json, verbose=verbose
    )


def _build_source(path: str, name: str, *, is_named: bool) -> SourceFile:
    """Return the file *path*, or what comes from stdin."""

    def read_file() -> bytes:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_FILE + 1)
            if len(data) > MAX_FILE:
                raise BadInput(msg("the file is larger than {limit} bytes", limit=MAX_FILE), path=name)
            return data
        return read_import_file(path, name, is_named=is_named)

    return SourceFile(name, read_file)


def iter_import_files(
    path: str, suffixes: tuple[str, ...], *, in_dot_folders: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield path and name of each file at or below *path*, in folders those with *suffixes*; raise BadInput for none.

    A name is relative: to the current folder where *path* is below it, else to the folder around *path*. Without
    *suffixes* it is one file, by the name it was given, and - is stdin. *in_dot_folders*: also those below a folder
    such as `.adr`; a vault keeps its settings and what was thrown away in such.
    """
    if not suffixes:
        yield path, "stdin" if path == "-" else path
        return
    if not os.path.exists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    # the name goes into findings and commits: no folder of this machine is to stand in it
    start = os.path.dirname(os.path.abspath(path)) if os.path.relpath(path).startswith(os.pardir) else os.getcwd()
    files = [path]
    if os.path.isdir(path):
        files = []
        for folder, folders, names in os.walk(path):
            # in place: os.walk goes on into what is left in it, in this order
            folders[:] = sorted(
                name
                for name in folders
                if name not in _SKIPPED_FOLDERS and not name.endswith("_cache") and (in_dot_folders or name[0] != ".")
            )
            wanted = (name for name in sorted(names) if name.lower().endswith(suffixes) and name[0] != ".")
            files += [os.path.join(folder, name) for name in wanted]
    for file in files:
        yield file, os.path.relpath(file, start).replace(os.sep, "/").encode("utf-8", "replace").decode()


def read_import_file(path: str, name: str, *, is_named: bool) -> bytes:
    """Return the bytes of the file *path*; raise BadInput, with its *name*, where it is none or too large.

    A link below a folder may lead anywhere and is not read; one that was named is meant.
    """
    try:
        if os.path.islink(path) and not is_named:
            raise BadInput(msg("the file is not a regular file"), path=name)
        if not os.path.exists(path):
            raise BadInput(msg("there is no such file or folder"), path=name)
        if not os.path.isfile(path):
            raise BadInput(msg("the file is not a regular file"), path=name)
        if os.path.getsize(path) > MAX_FILE:
            raise BadInput(msg("the file is larger than {limit} bytes", limit=MAX_FILE), path=name)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(msg("cannot be read: {problem}", problem=describe_os_error(error)), path=name) from None


def _import_records(
    kb: KnowledgeBase, records: Sequence[Record], paths: Sequence[str], dry_run: bool, files: Sequence[str] = ()
) -> list[Verdict]:
    # the commit names each path as it is below this folder, else without the machine's folders above it
    inside = [os.path.relpath(path) for path in paths]
    origins = [
        os.path.basename(os.path.abspath(path)) if short.startswith(os.pardir) else short.replace(os.sep, "/")
        for path, short in zip(paths, inside, strict=True)
    ]
    with _show_progress(kb, msg("writing"), len(records)) as progress:
        origin = ", ".join(origins)
        return kb.import_records(records, origin=origin, files=files, progress=progress, dry_run=dry_run)


@contextmanager
def _show_progress(kb: KnowledgeBase, label: Message, length: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; give what is told how many are done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=length, label=kb.localise(label), file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)


def report_import(
    kb: KnowledgeBase,
    verdicts: Sequence[Verdict],
    skipped: Sequence[KbError],
    remarks: Sequence[tuple[str, Message]] = (),
    *,
    is_dry_run: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Print what became of everything, or would, and return the exit code it calls for: 1 where nothing was found.

    *skipped* is what was no record. Of many records only those that a person has to look at are named; the others are
    counted by status. Remarks that say the same are one.
    """
    notes = [f"{path}: {kb.localise(said)}" for path, said in remarks]
    unread = [f"kb: {error.translate(kb.config.language)}" for error in skipped]
    outcomes = Counter(verdict.verdict for verdict in verdicts)
    data = {
        "verdicts": verdicts,
        "notes": [{"path": path, "note": kb.localise(said)} for path, said in remarks],
        "skipped": [{"path": e.path, "line": e.line, "reason": kb.localise(e.message)} for e in skipped],
    }
    # a list of a thousand verdicts hides the three that were refused
    if verbose or len(verdicts) <= _MAX_SHOWN_RECORDS:
        answer = Answer(data, notes=[*notes, *unread], verdicts=verdicts, is_dry_run=is_dry_run)
    else:
        statuses = Counter(verdict.status for verdict in verdicts if verdict.verdict == "created")
        for status, number in sorted(statuses.items(), key=lambda row: (-row[1], row[0])) if not as_json else ():
            click.echo(f"{number:6}  {translate_status(status, kb.config.language)}")
        lines = [*unread, *_group_remarks(kb, remarks)]
        lines += [
            f"[{one.id}]: {why}" for one in verdicts if one.id and one.verdict == "created" for why in one.reasons
        ]
        if len(lines) > _MAX_SHOWN_RECORDS:
            more = msg("… and {number} more remarks: --verbose", number=len(lines) - _MAX_SHOWN_RECORDS)
            lines = [*lines[:_MAX_SHOWN_RECORDS], kb.localise(more)]
        named = [one for one in verdicts if one.verdict in ("refused", "conflict")]
        answer = Answer(data, notes=lines, verdicts=named, is_dry_run=is_dry_run)
    options.print_answer(kb, answer, as_json=as_json)
    written = sum(outcomes[name] for name in ("created", "updated", "appended"))
    counts = {"new": written, "same": outcomes["unchanged"], "skipped": len(skipped)}
    if is_dry_run:
        warn(kb, msg("would be imported: {new}, unchanged: {same}, no record: {skipped}", **counts))
        warn(kb, msg("nothing was written: the same without --dry-run writes it"))
    else:
        warn(kb, msg("imported: {new}, unchanged: {same}, no record: {skipped}", **counts))
        if outcomes["held"]:
            held = outcomes["held"]
            warn(kb, msg("held: {n}; read them with kb inbox, let one through with kb inbox promote", n=held))
    commits = {one.commit for one in verdicts if one.verdict == "created" and one.commit}
    if len(commits) == 1 and not is_dry_run:
        (commit,) = commits
        back = msg("to take all of it back: git -C {path} revert --no-edit {commit}", path=kb.root, commit=commit[:10])
        warn(kb, back)
    return choose_exit_code(verdicts) if verdicts else 1


def _group_remarks(kb: KnowledgeBase, remarks: Sequence[tuple[str, Message]]) -> Iterator[str]:
    """Yield each remark with its file; what is said of several files is one line that names the first."""
    by_kind: dict[str, list[tuple[str, Message]]] = {}
    for path, said in remarks:
        by_kind.setdefault(said.template, []).append((path, said))
    for group in by_kind.values():
        path, said = group[0]
        line = f"{path}: {kb.localise(said)}"
        if len(group) > 1:
            line += " " + kb.localise(msg("(and so {number} more files)", number=len(group) - 1))
        yield line


@click.group()
def export() -> None:
    """Write records in the form of another tool."""


@export.command("wukong", short_help="Write an anchors.md.")
@options.scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="The output file (default: stdout).")
@options.with_kb
def export_wukong(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal."""
    records = sorted(kb.records(Filter(scopes=options.as_filter_values(scope))), key=lambda record: record.uid or "~")
    warn_of_broken_files(kb)
    text = render_anchors(records, "zh", scope or "global")  # the form is Chinese, whatever the reader's language
    if out == "-":
        warn_of_injection(kb, records)
        click.echo(text, nl=False)
        return
    write_export(kb, out, text.encode())
    click.echo(out)


@export.command("json", short_help="Write records as JSON.")
@options.scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="The output file (default: stdout).")
@options.with_kb
def export_json(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the records of a scope (default: all) as JSON, each with its uid and its file; `kb import json` reads it.

    Only the file, in `text`, is read back; the other fields are for readers.
    """
    records = kb.records(Filter(scopes=options.as_filter_values(scope)))
    warn_of_broken_files(kb)
    rows = dump_records(kb, records)
    if out == "-":
        warn_of_injection(kb, records)
        prints.print_json(rows)
        return
    write_export(kb, out, prints.format_json(rows).encode() + b"\n")
    click.echo(out)


@export.command("sman", short_help="Write project_map.json and the memory levels.")
@click.option(
    "-o", "--output", "folder", default="", metavar="FOLDER", help="The output file; memory/ is written beside it."
)
@options.with_kb
def export_sman(kb: KnowledgeBase, folder: str) -> None:
    """Write the views of SMAN: project_map.json 2.0.0 on stdout; with -o, the files of memory/ too.

    Ids are lr-20261123-001 (learnings), fr-… (pitfalls) and dk-… (domain notes); kb takes them wherever it takes an id.
    """
    from kb.importers import sman

    records = [record for record in kb.records() if record.status in LIVE]
    warn_of_broken_files(kb)
    made = sman.build_project_map(records, _find_project_paths(kb), _compute_digests(kb, records))
    if not folder:
        warn_of_injection(kb, records)
        prints.print_json(made)
        return
    for name, value in {"project_map.json": made, **sman.build_files(records)}.items():
        path = os.path.join(folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_export(kb, path, prints.format_json(value).encode() + b"\n")
        click.echo(path)


def _find_project_paths(kb: KnowledgeBase) -> dict[str, str]:
    """Return the folder of the project around the caller, the only one that is known, by its name."""
    scope = kb.project(os.getcwd())
    return {} if scope == GLOBAL else {scope.removeprefix("project/"): list_files_around(kb, os.getcwd())[0]}


def _compute_digests(kb: KnowledgeBase, records: Sequence[Record]) -> dict[str, str]:
    """Return the MD5 of each file of the caller's project that a record is about."""
    found = {}
    for name, top in _find_project_paths(kb).items():
        for path in {path for one in records if one.scope == f"project/{name}" for path in one.impact}:
            file = os.path.realpath(os.path.join(top, path))
            if file.startswith(os.path.join(os.path.realpath(top), "")) and os.path.isfile(file):
                with open(file, "rb") as opened:
                    found[path] = hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return found
