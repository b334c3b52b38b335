"""Connect agent programs: hooks in their settings, the files that teach them kb, and what the guard would say."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kb.cli.options import add_options, json_option, open_base, print_note, resolve_language, usage_error
from kb.cli.prints import print_json, warn
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.hooks.settings_file import SettingsEdit

_STATES = {
    "current": msg("up to date"),
    "stale": msg("of another version"),
    "edited": msg("edited by somebody"),
    "absent": msg("not there"),
}
_LEVELS = {"high": msg("high"), "low": msg("low")}

dry_option = click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")


# -- another program's settings ----------------------------------------------------------------------


def resolve_project(is_user: bool, is_project: bool) -> str:
    """Return the top of the project around where its settings are meant, "" for the user's own."""
    from kb.hooks.settings_file import find_project_root

    if is_user and is_project:
        raise usage_error(msg("give --user or --project, not both"))
    return find_project_root(os.getcwd()) if is_project else ""


def show_and_apply(change: SettingsEdit, *, dry_run: bool, nothing: Message, done: Message) -> None:
    """Show what *change* changes and do it; say *nothing* where that is so, *done* afterwards."""
    from kb.hooks.settings_file import apply_edit

    if not change.has_changes:
        print_note(nothing)
        return
    sides = [[] if data is None else data.decode("utf-8-sig").splitlines() for data in (change.before, change.after)]
    names = ["/dev/null" if data is None else change.path for data in (change.before, change.after)]
    for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""):
        click.echo(line)
    if not dry_run:
        apply_edit(change, os.environ)
        print_note(done)


# -- hooks -------------------------------------------------------------------------------------------


@click.group(short_help="Connect an agent host.")
def hooks() -> None:
    """Write kb's hooks into the settings of an agent host, take them out, or show them."""


host_options = add_options(
    click.argument("host"),
    click.option("--user", "is_user", is_flag=True, help="In the settings of the user (the default)."),
    click.option("--project", "is_project", is_flag=True, help="In the settings of the project around."),
    dry_option,
    click.option(
        "--orchestrator",
        "orchestrators",
        default="",
        metavar="NAMES",
        help="For opencode: the prompts of these agents instead of the hooks (sisyphus,atlas).",
    ),
)


@hooks.command("install", short_help="Write the hooks.")
@click.option("--events", default="", metavar="EVENTS", help="Only these events, separated by commas.")
@host_options
def install_hooks(host: str, is_user: bool, is_project: bool, dry_run: bool, orchestrators: str, events: str) -> None:
    """Write kb's hooks into the settings of HOST and show what that changes; again, it changes nothing.

    HOST is claude, codex, gemini, copilot, cursor or opencode.
    """
    from kb.hooks import codex, install, orchestrator
    from kb.hosts import resolve_settings_path

    found, folder = install.get_host(host), resolve_project(is_user, is_project)
    if orchestrators:
        path = _resolve_orchestrator_path(host, folder)
        names = orchestrator.parse_names(orchestrators)
        change = orchestrator.plan_installation(path, names, resolve_language(), os.environ)
    else:
        path = resolve_settings_path(found.hooks, folder, os.environ)
        chosen = [event.strip() for event in events.split(",") if event.strip()]
        change = install.plan_installation(found, path, install.find_hook_program(), os.environ, chosen)
    nothing = msg("the hooks are already in {path}", path=path)
    show_and_apply(change, dry_run=dry_run, nothing=nothing, done=msg("hooks written to {path}", path=path))
    if host == "codex" and not (dry_run or orchestrators) and codex.find_untrusted_events(path, os.environ):
        said = msg(
            "codex runs them only after you have trusted them: start codex and answer “Hooks need review”; "
            "until then, and in codex exec, it runs none and says nothing"
        )
        print_note(said)


@hooks.command("uninstall", short_help="Take the hooks out.")
@host_options
def uninstall_hooks(host: str, is_user: bool, is_project: bool, dry_run: bool, orchestrators: str) -> None:
    """Take kb's hooks out of the settings of HOST; what was there before and besides stays as it was.

    Folders that kb has made go as well when they are empty; for opencode, so do the additions to prompts.
    """
    from kb.hooks import install, orchestrator
    from kb.hosts import resolve_settings_path

    found, folder = install.get_host(host), resolve_project(is_user, is_project)
    if orchestrators:
        _remove_hooks(orchestrator.plan_removal(_resolve_orchestrator_path(host, folder), os.environ), dry_run)
        return
    path = resolve_settings_path(found.hooks, folder, os.environ)
    _remove_hooks(install.plan_removal(found, path, os.environ), dry_run)
    if host == "opencode" and orchestrator.list_amended(amended := _resolve_orchestrator_path(host, folder)):
        _remove_hooks(orchestrator.plan_removal(amended, os.environ), dry_run)


def _remove_hooks(change: SettingsEdit, dry_run: bool) -> None:
    nothing = msg("{path} has no hooks of kb", path=change.path)
    show_and_apply(change, dry_run=dry_run, nothing=nothing, done=msg("hooks removed from {path}", path=change.path))


def _resolve_orchestrator_path(host: str, folder: str) -> str:
    from kb.hooks import orchestrator

    if host != "opencode":
        raise usage_error(msg("--orchestrator is for opencode"))
    return orchestrator.resolve_settings_path(folder, os.environ)


@hooks.command("status", short_help="Show the hooks.")
@json_option
def show_hooks(as_json: bool) -> None:
    """Show which hooks of kb stand in the settings of the user and of the project around, for every host."""
    from kb.hooks import install
    from kb.hosts import HOSTS

    rows = [
        {"host": host, "path": path, **hook._asdict()}
        for host in HOSTS
        for path in install.list_settings_paths(host, os.getcwd(), os.environ)
        for hook in install.read_hooks(HOSTS[host], path)
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['host']}  {row['event']:16}  {row['timeout']:>3} s  {row['command']}  ({row['path']})")
    if not rows:
        print_note(msg("no hooks are installed; see: kb hooks install claude"))


@hooks.command("plugin", short_help="Write a Claude Code plugin.")
@click.option("--out", "folder", required=True, type=click.Path(file_okay=False), help="The folder to write.")
@click.option("--program", default="kb-hook", show_default=True, help="How the plugin calls kb-hook.")
@click.option("--mcp", is_flag=True, help="Offer kb's MCP server as well.")
def write_plugin(folder: str, program: str, mcp: bool) -> None:
    """Write a folder that is a Claude Code marketplace with one plugin: kb's hooks for everybody who adds it."""
    from kb.hooks import install, plugin

    changed = plugin.write_folder(folder, plugin.render_claude_plugin(program, install.WORDS, mcp=mcp))
    for path in changed:
        click.echo(os.path.join(folder, path))
    print_note(msg("add it in Claude Code: /plugin marketplace add {path}", path=os.path.abspath(folder)))


# -- agents ------------------------------------------------------------------------------------------


@click.group(short_help="Tell agents by files how to use kb.")
def agents() -> None:
    """Tell agents by files how to use kb: a protocol block in AGENTS.md or CLAUDE.md, and a skill."""


file_options = add_options(
    click.option("--user", "is_user", is_flag=True, help="For the user, in ~/.claude, instead of the project around."),
    click.option("--file", "names", multiple=True, help="The file for the block (repeatable; default: those there)."),
    click.option("--skills", default="", help="The folder of skills (default: .claude/skills)."),
)


@agents.command("install", short_help="Write the block and the skill.")
@dry_option
@file_options
def install_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Write the protocol block and the skill, and show what that changes; again, it changes nothing.

    The block goes into AGENTS.md, CLAUDE.md and GEMINI.md where they are, else into a new AGENTS.md. What stands around
    it stays byte for byte. A file of the skill that somebody has edited is left alone.
    """
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    language = resolve_language()
    changes, edited = agent_files.plan_skill_install(folder, language)
    for change in (*(agent_files.plan_block_install(path, language) for path in files), *changes):
        nothing = msg("{path} is up to date", path=change.path)
        show_and_apply(change, dry_run=dry_run, nothing=nothing, done=msg("written: {path}", path=change.path))
    _print_edited(edited)


@agents.command("uninstall", short_help="Take the block and the skill out.")
@dry_option
@file_options
def uninstall_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Take the protocol block and the skill out; what stands around the block stays byte for byte."""
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    changes, edited = agent_files.plan_skill_removal(folder)
    for change in (*map(agent_files.plan_block_removal, files), *changes):
        nothing = msg("{path} has nothing of kb", path=change.path)
        show_and_apply(change, dry_run=dry_run, nothing=nothing, done=msg("removed: {path}", path=change.path))
    if not dry_run:
        agent_files.remove_empty_folders(folder)
    _print_edited(edited)


@agents.command("status", short_help="Show what stands where.")
@file_options
@json_option
def show_files(is_user: bool, names: tuple[str, ...], skills: str, as_json: bool) -> int:
    """Show where block and skill stand and whether they are up to date; leave with 1 where they drift apart.

    Drift means that block and skill are of different protocol versions; the block then wins.
    """
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    language = resolve_language()
    found = agent_files.inspect_files(files, folder, language)
    drift = agent_files.find_version_drift(found)
    if as_json:
        print_json({"files": found, "drift": [each.translate(language) for each in drift]})
        return 1 if drift else 0
    for one in found:
        click.echo(f"{one.part:8}  {_STATES[one.state].translate(language)}  {one.version or '–'}  {one.path}")
    for each in drift:
        print_note(each)
    return 1 if drift else 0


def _resolve_targets(is_user: bool, names: tuple[str, ...], skills: str) -> tuple[list[str], str]:
    """Return the files for the block and the folder of the skill."""
    from kb.hooks.agent_files import find_protocol_files, resolve_skill_folder

    top = resolve_project(is_user, not is_user)
    return find_protocol_files(top, os.environ, names), resolve_skill_folder(top, os.environ, skills)


def _print_edited(paths: Iterable[str]) -> None:
    for path in paths:
        print_note(msg("left unchanged, somebody has edited it: {path}", path=path))


# -- guard -------------------------------------------------------------------------------------------


@click.command(short_help="Tell what the guard would say.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--config", is_flag=True, help="Print risk.yaml with the defaults, every key with its meaning, and stop.")
@json_option
@click.pass_context
def show_guard(ctx: click.Context, paths: tuple[str, ...], config: bool, as_json: bool) -> None:
    """Tell which mode the guard is in here, what it wants to have been read, and the risk of writing each PATH."""
    from kb.guard import decide, policy

    if config:
        click.echo(policy.render_default_settings(), nl=False)
        return
    with open_base(ctx) as kb:
        found = decide.load_guard_status(kb, os.getcwd(), paths)
        if found.notice:
            warn(kb, found.notice)
        if as_json:
            risks = {path: risk.name for path, risk in found.risks}
            print_json({"mode": found.mode, "read": list(found.read), "risks": risks})
            return
        click.echo(kb.localise(msg("mode: {mode}", mode=found.mode)))
        what = kb.localise(msg(" or ")).join(found.read) or kb.localise(msg("any record of the knowledge base"))
        click.echo(kb.localise(msg("to be read first: {what}", what=what)))
        for path, risk in found.risks:
            level, reason = _LEVELS[risk.name], kb.localise(risk.reason)
            click.echo(kb.localise(msg("{path}: {level} risk: {reason}", path=path, level=level, reason=reason)))
