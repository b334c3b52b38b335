"""kb verify."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kb.checks.verify import TIMEOUT, CommandResult, parse_commands, refuse_hidden, run_command, save_result
from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import print_json, print_verdict, warn
from kb.errors import BadInput, KbError, NeedsPerson
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.safety.injection import find_instruction, reveal_hidden

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Record


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
def command(
    kb: KnowledgeBase, name: str, wanted: bool, yes: bool, cwd: str, timeout: float, scope: str, as_json: bool
) -> None:
    """Print the Verification section of a record and the commands in it; with --run, run them.

    Commands are what stands in shell blocks and behind "$ ". Nothing else in kb runs what a record says. The result is
    written into the record; exit 1 when a command fails, 5 when nobody has said yes.
    """
    record = kb.record(name, scope=scope)
    text = record.section("verification")
    found = parse_commands(text)
    if not as_json:
        _print_verification(kb, record, text, found)
    if not wanted:
        if as_json:
            print_json({"id": record.id, "verification": text, "commands": found})
        return
    folder = _resolve_folder(kb, cwd)
    _require_consent(kb, record, found, folder, yes=yes, as_json=as_json)
    ran = [_run_and_print(kb, one, folder, timeout, as_json=as_json) for one in found]
    verdict = save_result(kb, record, passed=all(one.has_passed for one in ran))
    if as_json:
        print_json({"id": record.id, "verification": text, "commands": found, "ran": ran, "verdict": verdict})
    else:
        print_verdict(kb, verdict)
    sys.exit(0 if all(one.has_passed for one in ran) else 1)


def _print_verification(kb: KnowledgeBase, record: Record, text: str, found: Sequence[str]) -> None:
    click.echo(f"[{qualify_name(kb, record)}] {reveal_hidden(record.title)}\n")
    click.echo(reveal_hidden(text) or kb.localise(msg("it does not say how it is verified")))
    if found:
        click.echo("\n" + kb.localise(msg("commands: {count}", count=len(found))))
    for one in found:
        click.echo("\n".join(f"{'  ' if n else '$ '}{row}" for n, row in enumerate(reveal_hidden(one).split("\n"))))


def _resolve_folder(kb: KnowledgeBase, cwd: str) -> str:
    folder = os.path.abspath(cwd) if cwd else kb.repository.top
    if not os.path.isdir(folder):
        raise BadInput(msg("there is no such folder"), path=cwd)
    return folder


def _require_consent(
    kb: KnowledgeBase, record: Record, found: Sequence[str], folder: str, *, yes: bool, as_json: bool
) -> None:
    """Return when the commands may run: they are to be seen, and a person has said yes; raise KbError elsewhere."""
    if not found:
        raise KbError(
            msg("[{id}] names no command", id=record.scoped_id), path=record.path,
            hint=msg("write it in a block ```sh, or behind “$ ”: kb edit {id}", id=record.scoped_id),
        )  # fmt: skip
    refuse_hidden(found, record.path)
    if order := find_instruction(
        "\n".join((record.title, *(section.text for section in record.sections), record.user))
    ):
        warn(kb, msg("careful: the text {problem}: {words}", problem=order.problem, words=order.words))
    if yes:
        return
    if not sys.stdin.isatty() or as_json:
        raise NeedsPerson(
            msg("nobody has said that these commands may run"), path=record.path,
            hint=msg("read them, then: kb verify {id} --run --yes", id=record.scoped_id),
        )  # fmt: skip
    if not click.confirm(kb.localise(msg("run this in {folder}?", folder=folder)), default=False, err=True):
        raise NeedsPerson(msg("nothing was run"))


def _run_and_print(kb: KnowledgeBase, one: str, folder: str, timeout: float, *, as_json: bool) -> CommandResult:
    if not as_json:
        click.echo(f"$ {reveal_hidden(one)}", err=True)
    ran = run_command(kb, one, folder, timeout)
    if not as_json:
        if ran.output:
            click.echo(ran.output)
        click.echo(f"    {_format_result(kb, ran)}", err=True)
    return ran


def _format_result(kb: KnowledgeBase, ran: CommandResult) -> str:
    if ran.timed_out:
        return kb.localise(msg("✗ killed after {seconds} seconds", seconds=round(ran.seconds, 1)))
    if ran.has_passed:
        return f"✓ {ran.seconds:.1f} s"
    return kb.localise(msg("✗ exit code {code}", code=ran.code))
