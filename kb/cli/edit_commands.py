"""Change a record: its status, what supersedes it, its text in an editor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import has_decided, is_at_terminal, json_option, record_options, scope_option, with_kb, yes_option
from kb.cli.prints import print_verdicts, warn
from kb.errors import ConcurrentEdit, KbError, NeedsPerson
from kb.i18n import msg
from kb.records.front_matter import decode_record
from kb.records.model import Record, Status, Verdict
from kb.writing import edit_text

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.writing.edit_text import EditDraft


# -- status, rm, supersede, confirm ------------------------------------------------------------------


@click.command(short_help="Change the status of a record.")
@click.argument("name", metavar="ID")
@click.argument("status", type=click.Choice([*map(str, Status)]))
@click.option("--why", default="", help="The reason; it goes into the record and the commit.")
@scope_option
@yes_option
@json_option
@with_kb
def change_status(kb: KnowledgeBase, name: str, status: str, why: str, scope: str, yes: bool, as_json: bool) -> int:
    """Change the status of a record, where the table of transitions allows it.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    verdict = kb.change_status(name, status, why=why, scope=scope, decided=has_decided(kb, yes=yes))
    return print_verdicts(kb, [verdict], as_json=as_json)


@click.command(short_help="Take a record out of force.")
@click.argument("name", metavar="ID")
@click.option("--why", default="", help="The reason.")
@scope_option
@yes_option
@json_option
@with_kb
def deprecate_record(kb: KnowledgeBase, name: str, why: str, scope: str, yes: bool, as_json: bool) -> int:
    """Mark a record deprecated. The file stays, so what was once decided can be looked up; its number is not reused.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    verdict = kb.change_status(name, "deprecated", why=why, scope=scope, decided=has_decided(kb, yes=yes))
    return print_verdicts(kb, [verdict], as_json=as_json)


@click.command(short_help="Replace a record by a newer one.")
@click.argument("old")
@click.option("--by", "new", required=True, help="The id of the record that replaces it.")
@click.option("--in-part", is_flag=True, help="Only in part: the old one stays in force for the rest.")
@scope_option
@yes_option
@json_option
@with_kb
def supersede_record(kb: KnowledgeBase, old: str, new: str, in_part: bool, scope: str, yes: bool, as_json: bool) -> int:
    """Replace a record by a newer one; both ends are written in one commit.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    verdict = kb.supersede(old, by=new, in_part=in_part, scope=scope, decided=has_decided(kb, yes=yes))
    return print_verdicts(kb, [verdict], as_json=as_json)


@click.command(short_help="Say that a record still holds.")
@record_options
def confirm_record(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> int:
    """Stamp a record as found true today; `kb check` counts its age from there."""
    return print_verdicts(kb, [kb.confirm(name, scope=scope)], as_json=as_json)


# -- edit --------------------------------------------------------------------------------------------


@click.command(short_help="Edit a record in your editor.")
@click.argument("name", metavar="ID")
@scope_option
@yes_option
@with_kb
def edit_record(kb: KnowledgeBase, name: str, scope: str, yes: bool) -> int:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error.

    What others commit meanwhile stays. What you type lies under .kb/edits/ until it is committed.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    record = kb.record(name, scope=scope)
    if not (is_at_terminal() or _find_editor(kb)):
        said = msg("there is no terminal to edit in, and $EDITOR names no program")
        hint = msg("from a program: kb write --updates {id}; see: kb write --help", id=record.scoped_id)
        raise NeedsPerson(said, hint=hint)
    _warn_of_left_drafts(kb, record)
    opened = kb.text(record)
    draft = edit_text.create_draft(kb, record, opened)
    try:
        verdict = _edit_until_valid(kb, record, draft, opened, decided=has_decided(kb, yes=yes))
    except BaseException:  # Ctrl-C too: what was typed is kept, and a file in which nothing was typed goes
        if edit_text.read_draft(draft) in (opened.encode(), b""):
            edit_text.close_draft(draft)
        else:
            edit_text.close_draft(draft, keep=True)
            warn(kb, msg("what you wrote is kept in {path}", path=draft.path))
        raise
    edit_text.close_draft(draft)
    return print_verdicts(kb, [verdict], as_json=False)


def _find_editor(kb: KnowledgeBase) -> str:
    """Return the editor that the environment names, as click looks for it; "" for none."""
    return kb.environment.get("VISUAL") or kb.environment.get("EDITOR") or ""


def _warn_of_left_drafts(kb: KnowledgeBase, record: Record) -> None:
    """Name what was typed into *record* before and never committed."""
    for path in (draft.path for draft in edit_text.list_abandoned_drafts(kb)):
        if os.path.basename(path).startswith((f"{record.id}.", f"{record.id}-")):
            warn(
                kb,
                msg(
                    "text typed earlier was never committed: {path}; copy what is still right, then delete it",
                    path=path,
                ),
            )


def _edit_until_valid(kb: KnowledgeBase, record: Record, draft: EditDraft, opened: str, *, decided: bool) -> Verdict:
    """Let the person edit *draft* until it can be committed or they stop; return the verdict."""
    base, committed = opened, kb.repository.read_blob("HEAD", record.path)
    while True:
        _open_editor(kb, record, draft.path)
        try:
            text = decode_record(edit_text.read_draft(draft), os.path.basename(draft.path))
            if text in (base, ""):
                same = (record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status))
                return Verdict("unchanged", *same)
            return kb.replace_text(record, text, opened=base, committed=committed, decided=decided)
        except KbError as error:
            if isinstance(error, ConcurrentEdit) and error.marked:
                # the draft shows both sides between markers now; the next try is compared with what it was made from
                edit_text.write_draft(draft.path, error.marked.decode())
                base, committed = error.seen.decode(), error.committed
            click.echo(f"kb: {error.translate(kb.config.language)}", err=True)
            if hint := kb.localise(error.hint):
                click.echo(f"    → {hint}", err=True)
            if not click.confirm(kb.localise(msg("edit again?")), default=True, err=True):
                error.hint = msg("what you wrote is kept in {path}", path=draft.path)
                raise


def _open_editor(kb: KnowledgeBase, record: Record, path: str) -> None:
    """Let the person edit the file *path*; raise KbError where no editor starts, or it ends with a failure."""
    editor = _find_editor(kb) or "vi"
    try:
        click.edit(filename=path)
    except click.ClickException as error:
        if not isinstance(error.__cause__, OSError):
            said = msg("the editor {editor} ended with a failure: nothing was committed", editor=editor)
            raise KbError(said, hint=msg("edit again: kb edit {id}", id=record.scoped_id)) from None
        said = msg("the editor {editor} cannot be started: {problem}", editor=editor, problem=error.__cause__.strerror)
        hint = msg("name one that is installed: EDITOR=nano kb edit {id}", id=record.scoped_id)
        raise KbError(said, hint=hint) from None
