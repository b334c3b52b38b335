"""kb edit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import has_decided, is_at_terminal, scope_option, with_kb, yes_option
from kb.cli.prints import print_verdicts_and_exit, warn
from kb.errors import ConcurrentEdit, KbError, NeedsPerson
from kb.i18n import msg
from kb.records.front_matter import decode_record
from kb.records.model import Record, Verdict
from kb.writing import edit_text

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.writing.edit_text import EditDraft


@click.command(short_help="Edit a record in your editor.")
@click.argument("name", metavar="ID")
@scope_option
@yes_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, yes: bool) -> None:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error.

    What others commit meanwhile stays. What you type lies under .kb/edits/ until it is committed.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    record = kb.record(name, scope=scope)
    _require_editor(kb, record)
    _warn_of_left_drafts(kb, record)
    opened = kb.text(record)
    draft = edit_text.create_draft(kb, record, opened)
    try:
        verdict = _edit_until_valid(kb, record, draft, opened, decided=has_decided(kb, yes=yes))
    except BaseException:
        _keep_or_drop_draft(kb, draft, opened)
        raise
    edit_text.delete_draft(draft)
    print_verdicts_and_exit(kb, [verdict], as_json=False)


def _require_editor(kb: KnowledgeBase, record: Record) -> None:
    """Raise NeedsPerson where only an editor for terminals could be started, and there is no terminal."""
    if is_at_terminal() or _find_editor(kb):
        return
    said = msg("there is no terminal to edit in, and $EDITOR names no program")
    hint = msg("from a program: kb write --updates {id}; see: kb write --help", id=record.scoped_id)
    raise NeedsPerson(said, hint=hint)


def _find_editor(kb: KnowledgeBase) -> str:
    """Return the editor that the environment names, as click looks for it; "" for none."""
    return kb.environment.get("VISUAL") or kb.environment.get("EDITOR") or ""


def _edit_until_valid(kb: KnowledgeBase, record: Record, draft: EditDraft, opened: str, *, decided: bool) -> Verdict:
    """Let the person edit *draft* until it can be committed or they stop; return the verdict."""
    base, committed = opened, kb.repository.read_blob("HEAD", record.path)
    while True:
        _open_editor(kb, record, draft.path)
        try:
            text = decode_record(edit_text.read_draft(draft), os.path.basename(draft.path))
            if text in (base, ""):
                return build_unchanged_verdict(record)
            return kb.replace_text(record, text, opened=base, committed=committed, decided=decided)
        except KbError as error:
            if isinstance(error, ConcurrentEdit) and error.marked:
                edit_text.write_draft(draft.path, error.marked.decode())
                base, committed = error.seen.decode(), error.committed
            _print_error(kb, error)
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


def _print_error(kb: KnowledgeBase, error: KbError) -> None:
    click.echo(f"kb: {error.translate(kb.config.language)}", err=True)
    if hint := kb.localise(error.hint):
        click.echo(f"    → {hint}", err=True)


def _keep_or_drop_draft(kb: KnowledgeBase, draft: EditDraft, opened: str) -> None:
    """Keep what was typed and say where; a file in which nothing was typed goes."""
    if edit_text.read_draft(draft) in (opened.encode(), b""):
        edit_text.delete_draft(draft)
        return
    edit_text.release_draft(draft)
    warn(kb, msg("what you wrote is kept in {path}", path=draft.path))


def _warn_of_left_drafts(kb: KnowledgeBase, record: Record) -> None:
    """Name what was typed into *record* before and never committed."""
    for draft in edit_text.list_abandoned_drafts(kb):
        if os.path.basename(draft.path).startswith((f"{record.id}.", f"{record.id}-")):
            warn(kb, msg("what was typed before was never committed: {path}; take over what holds, then delete it",
                         path=draft.path))  # fmt: skip


def build_unchanged_verdict(record: Record) -> Verdict:
    """Return the verdict on a record whose editor was left without a change."""
    return Verdict(
        "unchanged", record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status)
    )
