"""Commands that check records, verify one by its own commands, and find a secret that got in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kb.checks import check_context, find_secret
from kb.checks.check_context import Finding
from kb.checks.file_rules import build_front_matter_schema
from kb.checks.find_secret import SecretReport
from kb.checks.run_checks import compare_with_revision, filter_findings, run_check
from kb.checks.run_verification import TIMEOUT, CommandResult, parse_commands, refuse_hidden, run_command, save_result
from kb.cli import comment, options
from kb.cli.options import Answer
from kb.cli.prints import list_contested, print_json, warn
from kb.errors import BadInput, KbError, NeedsPerson
from kb.git.dropped_records import report_put_back
from kb.i18n import Message, msg
from kb.importers.project_layout import find_stale_anchors
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record
from kb.safety.injection import find_instruction, reveal_hidden
from kb.writing.publish import report_rescued_work

_MAX_SECRET_BYTES = 100_000
"""Bytes that are read from stdin."""
_MAX_SHOWN_PLACES = 20
"""Places of a secret that are named; the others are counted."""


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--against",
    "revision",
    metavar="REVISION",
    help="Show what merging the checkout into REVISION (origin/main) would change, and what prevents it.",
)
@click.option("--fix", is_flag=True, help="Fix in the checkout what can be fixed safely.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "markdown"]),
    default="text",
    show_default=True,
    help="Plain text, JSON, GitHub workflow annotations, or a comment for a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the front matter, for editors, and stop.")
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    revision: str | None,
    fix: bool,
    form: str,
    as_json: bool,
    strict: bool,
    schema: bool,
) -> int:
    """Check files, ids, links, statuses, blocks, secrets and the paths records refer to; exit 1 on errors.

    With PATH only what is found in that file, or below that folder, counts; the links are still checked against all.

    With --against, summarise the changed records: similar records, contradictions there and on other open branches, ids
    taken on both sides, and what will be accepted after the merge. Exit 1 on errors in what changes, not on existing
    ones.
    """
    if schema:
        print_json(build_front_matter_schema())
        return 0
    # --against judges what is committed and what is not; a fix would change it while it is judged
    if revision is not None and fix:
        raise options.usage_error(msg("give --fix or --against, not both"))
    form = "json" if as_json else form
    with options.open_base(ctx) as kb:
        below = [_resolve_relative_path(kb, path) for path in paths]
        found = _run_check(kb, below, form, fix) if revision is None else _run_comparison(kb, revision, below, form)
    return 1 if any(strict or finding.severity == "error" for finding in found) else 0


def _resolve_relative_path(kb: KnowledgeBase, path: str) -> str:
    """Return *path* relative to the knowledge base; "" for all of it."""
    if not os.path.lexists(path):
        raise BadInput(msg("there is no such file or folder"), path=path)
    inside = os.path.relpath(os.path.realpath(path), kb.root)
    # a link that leads out of the knowledge base is outside, too: realpath above
    if inside.split(os.sep)[0] == os.pardir:
        raise BadInput(msg("it is not in the knowledge base {root}", root=kb.root), path=path)
    return "" if inside == os.curdir else inside.replace(os.sep, "/")


def _run_check(kb: KnowledgeBase, below: list[str], form: str, fix: bool) -> Sequence[Finding]:
    """Check the records, print what is found and return it."""
    # who reads a page in a pull request stands anywhere: ids on it are written as everybody finds them
    found, records, shared = run_check(kb, fix=fix, below=below, reader="" if form == "markdown" else None)
    if stale := find_stale_anchors(kb):
        message = msg("it is not up to date with the records")
        layout = check_context.Finding("layout", "warning", stale, 1, message, msg("run: kb layout migrate project"))
        found = [*found, *filter_findings([layout], below)]
    language = kb.config.language
    if form == "json":
        print_json(check_context.format_json(found, language))
    elif form == "github":
        click.echo(check_context.format_github(found, language, kb.repository.prefix), nl=False)
    elif form == "markdown":
        click.echo(comment.render_findings(found, kb.config.name, language, shared), nl=False)
    else:
        click.echo(check_context.format_text(found, language), nl=False)
        click.echo(check_context.summarise_findings(found, language, records), err=True)
        contested = {} if below else list_contested(kb)
        for record in kb.records() if contested else ():
            if name := contested.get((record.scope, record.id)):
                about = {"id": qualify_name(kb, record), "name": name}
                waiting = msg("[{id}] would be changed by an open review: kb review show {name}", **about)
                click.echo(waiting.translate(language), err=True)
    for said in filter(None, (report_put_back(kb), report_rescued_work(kb))):
        click.echo(said.translate(language), err=True)
    return found


def _run_comparison(kb: KnowledgeBase, revision: str, below: list[str], form: str) -> Sequence[Finding]:
    """Compare the checkout with *revision*, print the outcome and return what is against the merge."""
    comparison = compare_with_revision(kb, revision, below=below)
    language = kb.config.language
    if form == "json":
        print_json(comment.serialise_comparison(comparison, language))
    elif form == "github":
        click.echo(check_context.format_github(comparison.findings, language, kb.repository.prefix), nl=False)
    else:
        style = comment.MARKDOWN if form == "markdown" else comment.PLAIN
        click.echo(comment.render_comparison(comparison, kb.config.name, language, style), nl=False)
    return comparison.findings


@click.command()
@options.id_argument
@click.option("--run", "wanted", is_flag=True, help="Run the commands, after showing them and asking.")
@click.option("--yes", is_flag=True, help="With --run: do not ask; you have read the commands.")
@click.option("--cwd", default="", help="The folder to run them in (default: the top of the repository).")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    default=TIMEOUT,
    show_default=True,
    help="Seconds for each command.",
)
@options.scope_option
@options.json_option
@options.with_kb
def verify_record(
    kb: KnowledgeBase, name: str, wanted: bool, yes: bool, cwd: str, timeout: float, scope: str, as_json: bool
) -> int | None:
    """Print the Verification section of a record and the commands in it; with --run, run them.

    Commands are the lines of shell blocks and those after "$ ". Nothing else in kb runs what a record says. The result
    is written into the record; exit 1 when a command fails, 5 when nobody has said yes.
    """
    if yes and not wanted:
        raise options.usage_error(msg("--yes goes with --run, which runs the commands"))
    record = kb.record(name, scope=scope)
    text = record.section("verification")
    commands = parse_commands(text)
    shown = {"id": record.id, "verification": text, "commands": commands}
    if not as_json:
        click.echo(f"[{qualify_name(kb, record)}] {reveal_hidden(record.title)}\n")
        click.echo(reveal_hidden(text) or kb.localise(msg("it does not say how to verify it")))
        if commands:
            click.echo("\n" + kb.localise(msg("commands: {count}", count=len(commands))))
        elif text:
            click.echo(
                "\n" + kb.localise(msg("no command: put it in a shell block, or on a line that begins with “$ ”"))
            )
        for command in commands:
            click.echo("$ " + reveal_hidden(command).replace("\n", "\n  "))
    elif not wanted:
        print_json(shown)
    if not wanted:
        return 0
    # not the current folder: the commands of a record mean paths from the top, wherever it is read
    folder = os.path.abspath(cwd) if cwd else kb.repository.top
    if not os.path.isdir(folder):
        raise BadInput(msg("there is no such folder"), path=cwd)
    _require_consent(kb, record, commands, folder, yes=yes, as_json=as_json)
    ran = [_run_and_print(kb, command, folder, timeout, as_json=as_json) for command in commands]
    passed = all(one.has_passed for one in ran)
    verdict = save_result(kb, record, passed=passed)
    answer = Answer({**shown, "ran": ran, "verdict": verdict}, verdicts=[verdict], code=0 if passed else 1)
    return options.print_answer(kb, answer, as_json=as_json)


def _require_consent(
    kb: KnowledgeBase, record: Record, commands: Sequence[str], folder: str, *, yes: bool, as_json: bool
) -> None:
    """Return when the commands may run: they are to be seen, and a person has said yes; raise KbError elsewhere."""
    if not commands:
        hint = msg("write it in a block ```sh, or after “$ ”: kb edit {id}", id=record.scoped_id)
        raise KbError(msg("[{id}] names no command", id=record.scoped_id), path=record.path, hint=hint)
    # before consent: nobody can agree to what does not show ("rm -rf ~" after a zero-width space)
    refuse_hidden(commands, record.path)
    words = "\n".join((record.title, *(section.text for section in record.sections), record.user))
    # said, not refused: a record may quote such words, and a person is there to read them
    if order := find_instruction(words):
        warn(kb, msg("caution: the text {problem}: {words}", problem=order.problem, words=order.words))
    if yes:
        return
    # with --json nobody reads what is asked; a program says --yes, which its user can see it say
    if not sys.stdin.isatty() or as_json:
        hint = msg("read them, then: kb verify {id} --run --yes", id=record.scoped_id)
        raise NeedsPerson(msg("nobody has approved running these commands"), path=record.path, hint=hint)
    if not click.confirm(kb.localise(msg("run this in {folder}?", folder=folder)), default=False, err=True):
        raise NeedsPerson(msg("nothing was run"))


def _run_and_print(kb: KnowledgeBase, command: str, folder: str, timeout: float, *, as_json: bool) -> CommandResult:
    if as_json:
        return run_command(kb, command, folder, timeout)
    warn(kb, f"$ {reveal_hidden(command)}")
    ran = run_command(kb, command, folder, timeout)
    if ran.output:
        click.echo(ran.output)
    result: Message | str = f"✓ {ran.seconds:.1f} s"
    if ran.timed_out:
        result = msg("✗ killed after {seconds} seconds", seconds=round(ran.seconds, 1))
    elif not ran.has_passed:
        result = msg("✗ exit code {code}", code=ran.code)
    warn(kb, f"    {kb.localise(result)}")
    return ran


@click.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
@options.json_option
@click.pass_context
def purge_secret(ctx: click.Context, as_json: bool) -> int | None:
    """Find a secret that was committed by hand and prepare its removal from the history; nothing is run.

    The secret is asked for without an echo, or read from stdin; it is never given on the command line. Exit code 5: it
    was found, and a person has to continue.
    """
    if ctx.args:
        raise options.usage_error(
            msg("the secret is typed or piped in: on the command line it would stay in the shell's history")
        )
    with options.open_base(ctx) as kb:
        if sys.stdin.isatty():
            secret = str(click.prompt(kb.localise(msg("The secret (it is not shown)")), hide_input=True, err=True))
        else:
            secret = sys.stdin.buffer.read(_MAX_SECRET_BYTES).decode("utf-8", "surrogateescape")
        wanted = find_secret.parse_secret(secret)
        found, alone = find_secret.locate_secret(kb, wanted)
        prepared = find_secret.prepare_purge(kb, secret, wanted, found, alone=alone) if found else None
        # the steps are for a person to read; what they quote must not get into a log of JSON
        data = {"found": found, "prepared": prepared and prepared._replace(steps="")}
        nowhere = msg("It is nowhere in this clone: not in a file, not in an object of git, not in .kb/.")
        answer = Answer(data, [nowhere])
        if prepared:
            notes = [msg("prepared in {folder}; read steps.md there", folder=prepared.folder)]
            if prepared.in_clear:
                notes.append(msg("a file there names the secret in clear text; only you can read it"))
            lines = [*_list_secret_places(kb, found), "\n" + prepared.steps]
            answer = Answer(data, lines, notes, code=NeedsPerson.exit_code)
        return options.print_answer(kb, answer, as_json=as_json)


def _list_secret_places(kb: KnowledgeBase, found: SecretReport) -> list[Message | str]:
    rows: list[Message | str] = [
        *(msg("file {place}", place=place) for place in found.files),
        *(msg("state {place}", place=place) for place in found.state),
        *(
            kb.localise(msg("{kind} {oid} {path}", kind=hit.kind, oid=hit.oid[:12], path=hit.path)).rstrip()
            + "".join(f" ← {commit[:12]}" for commit in hit.commits[-3:])
            for hit in found.hits
        ),
        *(msg("ref {place}", place=place) for place in (*found.refs, *found.named)),
        *(msg("git {place}", place=place) for place in found.inside),
    ]
    more = (
        [msg("… and {count} more places", count=len(rows) - _MAX_SHOWN_PLACES)] if len(rows) > _MAX_SHOWN_PLACES else []
    )
    return [*rows[:_MAX_SHOWN_PLACES], *more]
