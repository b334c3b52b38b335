"""Change a record: its status, what supersedes it, its text in an editor; and verify it by its own commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kb.checks.verify import TIMEOUT, CommandResult, parse_commands, refuse_hidden, run_command, save_result
from kb.cli.options import has_decided, is_at_terminal, json_option, record_options, scope_option, with_kb, yes_option
from kb.cli.prints import print_json, print_verdict, print_verdicts, warn
from kb.errors import BadInput, ConcurrentEdit, KbError, NeedsPerson
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.records.front_matter import decode_record
from kb.records.model import Record, Status, Verdict
from kb.safety.injection import find_instruction, reveal_hidden
from kb.writing import edit_text

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.writing.edit_text import EditDraft


# -- status, rm, supersede, confirm ------------------------------------------------------------------


@click.command(short_help="Give a record another status.")
@click.argument("name", metavar="ID")
@click.argument("status", type=click.Choice([*map(str, Status)]))
@click.option("--why", default="", help="The reason; it goes into the record and the commit.")
@scope_option
@yes_option
@json_option
@with_kb
def change_status(kb: KnowledgeBase, name: str, status: str, why: str, scope: str, yes: bool, as_json: bool) -> int:
    """Give a record another status, where the table of transitions allows it.

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
    """Mark a record deprecated. The file stays: what was once decided can be looked up; its number is not reused.

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
            edit_text.delete_draft(draft)
        else:
            edit_text.release_draft(draft)
            warn(kb, msg("what you wrote is kept in {path}", path=draft.path))
        raise
    edit_text.delete_draft(draft)
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
                    "what was typed before was never committed: {path}; take over what holds, then delete it", path=path
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


# -- verify ------------------------------------------------------------------------------------------


@click.command(short_help="Show how a record is verified, and run it.")
@click.argument("name", metavar="ID")
@click.option("--run", "wanted", is_flag=True, help="Run the commands, after showing them and asking.")
@click.option("--yes", is_flag=True, help="With --run: you have read the commands, do not ask.")
@click.option("--cwd", default="", help="Where they run (default: the top of the repository).")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    default=TIMEOUT,
    show_default=True,
    help="Seconds for each command.",
)
@scope_option
@json_option
@with_kb
def verify_record(
    kb: KnowledgeBase, name: str, wanted: bool, yes: bool, cwd: str, timeout: float, scope: str, as_json: bool
) -> int:
    """Print the Verification section of a record and the commands in it; with --run, run them.

    Commands are what stands in shell blocks and behind "$ ". Nothing else in kb runs what a record says. The result is
    written into the record; exit 1 when a command fails, 5 when nobody has said yes.
    """
    record = kb.record(name, scope=scope)
    text = record.section("verification")
    commands = parse_commands(text)
    shown = {"id": record.id, "verification": text, "commands": commands}
    if not as_json:
        _print_verification(kb, record, text, commands)
    elif not wanted:
        print_json(shown)
    if not wanted:
        return 0
    folder = os.path.abspath(cwd) if cwd else kb.repository.top
    if not os.path.isdir(folder):
        raise BadInput(msg("there is no such folder"), path=cwd)
    _require_consent(kb, record, commands, folder, yes=yes, as_json=as_json)
    ran = [_run_and_print(kb, command, folder, timeout, as_json=as_json) for command in commands]
    passed = all(one.has_passed for one in ran)
    verdict = save_result(kb, record, passed=passed)
    if as_json:
        print_json({**shown, "ran": ran, "verdict": verdict})
    else:
        print_verdict(kb, verdict)
    return 0 if passed else 1


def _print_verification(kb: KnowledgeBase, record: Record, text: str, commands: Sequence[str]) -> None:
    click.echo(f"[{qualify_name(kb, record)}] {reveal_hidden(record.title)}\n")
    click.echo(reveal_hidden(text) or kb.localise(msg("it does not say how it is verified")))
    if commands:
        click.echo("\n" + kb.localise(msg("commands: {count}", count=len(commands))))
    for command in commands:
        click.echo("$ " + reveal_hidden(command).replace("\n", "\n  "))


def _require_consent(
    kb: KnowledgeBase, record: Record, commands: Sequence[str], folder: str, *, yes: bool, as_json: bool
) -> None:
    """Return when the commands may run: they are to be seen, and a person has said yes; raise KbError elsewhere."""
    if not commands:
        hint = msg("write it in a block ```sh, or behind “$ ”: kb edit {id}", id=record.scoped_id)
        raise KbError(msg("[{id}] names no command", id=record.scoped_id), path=record.path, hint=hint)
    refuse_hidden(commands, record.path)
    words = "\n".join((record.title, *(section.text for section in record.sections), record.user))
    if order := find_instruction(words):
        warn(kb, msg("careful: the text {problem}: {words}", problem=order.problem, words=order.words))
    if yes:
        return
    if not sys.stdin.isatty() or as_json:
        hint = msg("read them, then: kb verify {id} --run --yes", id=record.scoped_id)
        raise NeedsPerson(msg("nobody has said that these commands may run"), path=record.path, hint=hint)
    if not click.confirm(kb.localise(msg("run this in {folder}?", folder=folder)), default=False, err=True):
        raise NeedsPerson(msg("nothing was run"))


def _run_and_print(kb: KnowledgeBase, command: str, folder: str, timeout: float, *, as_json: bool) -> CommandResult:
    if as_json:
        return run_command(kb, command, folder, timeout)
    click.echo(f"$ {reveal_hidden(command)}", err=True)
    ran = run_command(kb, command, folder, timeout)
    if ran.output:
        click.echo(ran.output)
    if ran.timed_out:
        result = kb.localise(msg("✗ killed after {seconds} seconds", seconds=round(ran.seconds, 1)))
    elif ran.has_passed:
        result = f"✓ {ran.seconds:.1f} s"
    else:
        result = kb.localise(msg("✗ exit code {code}", code=ran.code))
    click.echo(f"    {result}", err=True)
    return ran
