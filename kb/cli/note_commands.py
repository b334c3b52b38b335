"""Commands that take over what other tools remember: notes, rules, memories of agents, trailers of commits, OKF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kb.cli import options
from kb.cli.import_commands import (
    export,
    import_group,
    import_options,
    iter_import_files,
    read_import_file,
    report_import,
)
from kb.cli.prints import warn, warn_of_broken_files, warn_of_injection
from kb.errors import BadInput, BadRecord, KbError, NoKnowledgeBase
from kb.i18n import msg
from kb.importers.notes import ABOUT_PERSON, FORMATS, TRAILER_PATTERN, NoteFormat, read_commit, read_note
from kb.importers.okf import build_bundle, read_concept
from kb.records.front_matter import decode_record
from kb.records.model import GLOBAL, Candidate
from kb.writing.file_changes import write_export

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_HELP = {
    "obsidian": "Import the notes of a vault that name their kind: type: decision, #pitfall, or a folder of that name.",
    "basic-memory": "Import the observations of basic-memory's notes: `- [decision] text #tag (context)`.",
    "claude-memory": "Import Claude Code's auto memory (default: of the project you are in).",
    "rules": "Import the rules of CLAUDE.md, AGENTS.md and similar files.",
    "claude-mem": "Import an export of claude-mem: its decisions, bug fixes and discoveries.",
}


def _make_command(row: NoteFormat) -> click.Command:
    """Return the command that imports notes of the format *row*."""
    is_default = row.name == "claude-memory"

    @click.argument("paths", nargs=-1, required=not is_default, metavar="[PATH...]" if is_default else "PATH...")
    @import_options
    def import_notes(kb: KnowledgeBase, paths: tuple[str, ...], **given: Any) -> int:
        found, skipped = [], []
        for path in paths or (_find_claude_memory(),):
            for file, name in iter_import_files(path, tuple(row.suffixes), in_dot_folders=False):
                try:
                    found += list(row.read(_read_text(file, name, is_named=file in paths), name))
                except (BadRecord, BadInput) as error:
                    skipped.append(error)
        return _write(kb, row.name, found, skipped, **given)

    import_notes.__doc__ = f"{_HELP[row.name]}\n\n{_THROUGH_THE_GATE}"
    return click.command(row.name, short_help=_HELP[row.name])(import_notes)


_THROUGH_THE_GATE = (
    "Each passes the gate: a candidate with no reason to keep it waits in the inbox, and a contradiction "
    "opens a review. Importing the same again changes nothing."
)
for _row in FORMATS.values():
    import_group.add_command(_make_command(_row))


@import_group.command("commits", short_help="Import decisions from commit trailers.")
@click.argument("revisions", default="HEAD")
@import_options
def import_commits(kb: KnowledgeBase, revisions: str, **given: Any) -> int:
    """Import the decisions in the commit trailers of the current repository: Rejected, Constraint, Directive (Lore),
    Ruled-out, Limit, Warn (commitlore).

    REVISIONS is what git log takes: a branch, or v1..v2. The newest 10,000 commits with such trailers are read.
    """
    from kb.git.revisions import read_messages

    rows = read_messages(kb, os.getcwd(), revisions, TRAILER_PATTERN)
    found = [made for row in rows if (made := read_commit(row.message, row.commit, row.paths, row.time))]
    return _write(kb, "commits", found, [], **given)


@import_group.command("okf", short_help="Import a bundle of the Open Knowledge Format.")
@click.argument("folder")
@import_options
def import_okf(kb: KnowledgeBase, folder: str, **given: Any) -> int:
    """Import from an Open Knowledge Format bundle (OKF 0.2) the concepts whose type is a kind of record.

    Each passes the gate: a candidate with no reason to keep it waits in the inbox.
    """
    found, skipped = [], []
    present = {record.uid for record in kb.records()}
    for file, name in iter_import_files(folder, (".md",), in_dot_folders=False):
        if os.path.basename(file) in ("index.md", "log.md"):
            continue
        try:
            note = read_note(_read_text(file, name), name)
            if note.front.get("kb_uid") not in present:  # a bundle of this knowledge base says nothing new to it
                found.append(read_concept(note))
        except (BadRecord, BadInput) as error:
            skipped.append(error)
    return _write(kb, "okf", found, skipped, **given)


@export.command("okf", short_help="Write a bundle of the Open Knowledge Format.")
@options.scope_option
@click.option("-o", "--output", "folder", required=True, metavar="FOLDER", help="The folder of the bundle.")
@options.with_kb
def export_okf(kb: KnowledgeBase, scope: str, folder: str) -> None:
    """Write the records of a scope (default: all) as a bundle of the Open Knowledge Format, version 0.2.

    A concept for each record, with type, status, generated, verified, stale_after and sources; an index.md in every
    folder; a log.md of what was decided when. Links between records lead to their files.
    """
    from kb.knowledge_base import Filter

    records = kb.records(Filter(scopes=options.as_filter_values(scope)))
    warn_of_broken_files(kb)
    for name, text in build_bundle(records, kb.config.language).items():
        path = os.path.join(folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_export(kb, path, text.encode())
    warn_of_injection(kb, records)
    click.echo(os.path.join(folder, "index.md"))


# -- reading and writing -----------------------------------------------------------------------------


def _find_claude_memory() -> str:
    """Return the folder of Claude Code's auto memory of the project around the current folder; raise BadInput."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    folder = os.getcwd()
    while True:
        # Claude Code names the folder of a project by its path, with a dash for whatever is no letter or digit
        slug = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in folder)
        path = os.path.join(home, "projects", slug, "memory")
        if os.path.isdir(path):
            return path
        if folder == (folder := os.path.dirname(folder)):
            hint = msg("name it: kb import claude-memory PATH")
            raise BadInput(msg("there is no memory of Claude Code for this project"), hint=hint)


def _read_text(path: str, name: str, *, is_named: bool = False) -> str:
    return decode_record(read_import_file(path, name, is_named=is_named), name)


def _write(
    kb: KnowledgeBase,
    source: str,
    found: Sequence[Candidate],
    skipped: Sequence[KbError],
    *,
    project: str,
    scope: str,
    dry_run: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Submit *found* to the gate, print what became of it and return the exit code.

    What is about the person who asks goes into that person's own knowledge base.
    """
    wanted = options.resolve_scope(kb, scope, project)
    # one session for all: that a note is imported twice is no second session that says it
    staged = [one._replace(scope=wanted, host=source, session=f"import-{source}") for one in found]
    about = [one for one in staged if ABOUT_PERSON in one.tags]
    verdicts = kb.write([one for one in staged if one not in about], folder=os.getcwd(), dry_run=dry_run)
    if about:
        try:
            with kb.own() as base:
                own = [one._replace(scope=GLOBAL, tags=()) for one in about]
                verdicts += base.write(own, folder=os.getcwd(), dry_run=dry_run)
        except NoKnowledgeBase as error:
            warn(kb, msg("left out, since they are about you: {n}", n=len(about)))
            warn(kb, error.hint)
    return report_import(kb, verdicts, skipped, is_dry_run=dry_run, as_json=as_json, verbose=verbose)
