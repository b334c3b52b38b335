"""Commands that connect agent programs: hooks in their settings, skill files, the MCP server, and the guard."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Iterable, Iterator

import click

from kb.cli import options
from kb.cli.options import Answer
from kb.cli.prints import print_json, warn
from kb.guard import decide, policy
from kb.hooks import agent_files, codex, install, plugin
from kb.hooks.agent_files import find_protocol_files, resolve_skill_folder
from kb.hooks.settings_file import SettingsEdit, apply_edit, find_project_root
from kb.hosts import HOSTS, Host, resolve_settings_path
from kb.i18n import Message, msg
from kb.installation import build_extra_error, find_own_requirement, is_extra_installed, require_extra
from kb.state.project import OWN_BASE

_STATES = {
    "current": msg("up to date"),
    "stale": msg("of another version"),
    "edited": msg("edited by somebody"),
    "absent": msg("not there"),
}
_LEVELS = {"high": msg("high"), "low": msg("low")}

dry_option = options.add_options(
    click.option("--dry-run", is_flag=True, help="Show what would change and change nothing."),
    click.option("-v", "--verbose", is_flag=True, help="Show every changed line."),
)


def _resolve_project(is_user: bool, is_project: bool) -> str:
    """Return the top of the project around where its settings are meant, "" for the user's own."""
    if is_user and is_project:
        raise options.usage_error(msg("give --user or --project, not both"))
    return find_project_root(os.getcwd()) if is_project else ""


def apply_and_report(
    change: SettingsEdit, nothing: Message, done: Message, *, dry_run: bool = False, verbose: bool = False
) -> None:
    """Do what *change* changes; say *nothing* where that is so, *done* afterwards.

    Its lines are shown for *dry_run*, which changes nothing, and for *verbose*.
    """
    if not change.has_changes:
        options.print_note(nothing)
        return
    # a byte order mark stays in the file and is no change to show
    sides = [[] if data is None else data.decode("utf-8-sig").splitlines() for data in (change.before, change.after)]
    # as diff and git write a file that is made or removed
    names = ["/dev/null" if data is None else change.path for data in (change.before, change.after)]
    if not dry_run:
        apply_edit(change, os.environ)  # before a line is printed: `kb hooks uninstall claude | head` ends the printing
    if dry_run or verbose:
        for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""):
            click.echo(line)
    if not dry_run:
        options.print_note(done)


@click.group(invoke_without_command=True)
@click.pass_context
def hooks(ctx: click.Context) -> None:
    """Write kb's hooks into the settings of an agent host, remove them, or show them.

    For yourself: install HOST. For a team: install HOST --project, and commit the file it names. What agents of any
    host read is written by kb agents.
    """
    if ctx.invoked_subcommand is None:
        list_hooks(as_json=False)


host_options = options.add_options(
    click.argument("host"),
    click.option("--user", "is_user", is_flag=True, help="For yourself, in every project (the default)."),
    click.option(
        "--project", "is_project", is_flag=True, help="For the team: in the project's settings, to be committed."
    ),
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
def install_hooks(
    host: str, is_user: bool, is_project: bool, orchestrators: str, events: str, dry_run: bool, verbose: bool
) -> None:
    """Write kb's hooks into the settings of HOST; running it again changes nothing.

    HOST is one of {hosts}.

    With --project, for everybody who works in this repository: commit the file. Its hooks call kb-hook by name, and say
    nothing where a member has hooks in the user's settings too.
    """
    found, folder = install.get_host(host), _resolve_project(is_user, is_project)
    if orchestrators:
        path = _resolve_orchestrator_path(host, folder)
        names = plugin.parse_names(orchestrators)
        change = plugin.plan_amendment(path, names, options.resolve_language(), os.environ)
    else:
        path = resolve_settings_path(found.hooks, folder, os.environ)
        chosen = [event.strip() for event in events.split(",") if event.strip()]
        program = install.PROGRAM if is_project else install.find_hook_program()
        change = install.plan_installation(found, path, program, os.environ, chosen, is_shared=is_project)
    nothing, done = msg("the hooks are already in {path}", path=path), msg("hooks written to {path}", path=path)
    apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
    if not (dry_run or orchestrators):
        for note in _describe_next_steps(found, path, is_project=is_project):
            options.print_note(note)
    # codex says nothing of hooks that it does not run, so that they would seem to be there
    if host == "codex" and not (dry_run or orchestrators) and codex.find_untrusted_events(path, os.environ):
        message = msg(
            "codex runs them only after you have trusted them: start codex and answer “Hooks need review”; "
            "until then, and in codex exec, it runs none and says nothing"
        )
        options.print_note(message)


def _describe_next_steps(host: Host, path: str, *, is_project: bool) -> Iterator[Message]:
    """Yield what there is to do after the hooks were written to *path*, and what the settings of the other scope have.

    Where both have hooks, those of a project say nothing, unless they are of the old form: then both answer.
    """
    if is_project:
        yield msg("commit this file; it works for every member who has kb installed")
        if not install.find_public_program(os.environ):
            install_line = find_own_requirement()
            how = (
                f"uv tool install {shlex.quote(install_line)}" if install_line else "uv tool install …, pipx install …"
            )
            yield msg("kb-hook is not on your PATH, by which these hooks call it; put it there: {how}", how=how)
    else:
        yield msg("they are yours, in every project; for a team: kb hooks install {host} --project", host=host.name)
    for other in install.list_settings_paths(host.name, os.getcwd(), os.environ):
        hooks = install.read_hooks(host, other) if other != os.path.realpath(path) else []
        about = {"path": other, "host": host.name}
        if hooks and (is_project or all(map(install.is_for_team, hooks))):
            yield msg("{path} has hooks too: where both exist, only the user's run", **about)
        elif hooks:
            yield msg("{path} has hooks too, and both run; to fix those: kb hooks install {host} --project", **about)


@hooks.command("uninstall", short_help="Remove the hooks.")
@host_options
def uninstall_hooks(
    host: str, is_user: bool, is_project: bool, orchestrators: str, dry_run: bool, verbose: bool
) -> None:
    """Remove kb's hooks from the settings of HOST; everything else stays as it was.

    Folders that kb has made go as well when they are empty; for opencode, so do the additions to prompts.
    """
    found, folder = install.get_host(host), _resolve_project(is_user, is_project)
    changes = []
    if not orchestrators:
        path = resolve_settings_path(found.hooks, folder, os.environ)
        changes.append(install.plan_removal(found, path, os.environ))
    if orchestrators or (host == "opencode" and plugin.list_amended(_resolve_orchestrator_path(host, folder))):
        changes.append(plugin.plan_amendment_removal(_resolve_orchestrator_path(host, folder), os.environ))
    # what install may have put into prompts goes too: who uninstalls does not say which way it was installed
    for change in changes:
        nothing = msg("{path} has no kb hooks", path=change.path)
        done = msg("hooks removed from {path}", path=change.path)
        apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)


def _resolve_orchestrator_path(host: str, folder: str) -> str:
    if host != "opencode":
        raise options.usage_error(msg("--orchestrator is for opencode"))
    return plugin.resolve_agents_path(folder, os.environ)


@hooks.command("status", short_help="Show the hooks.")
@options.json_option
def show_hooks(as_json: bool) -> None:
    """Show kb's hooks in the settings of the user and of the surrounding project, for every host."""
    list_hooks(as_json=as_json)


def list_hooks(*, as_json: bool) -> None:
    """Print kb's hooks, a line each."""
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
        options.print_note(msg("no hooks are installed; see: kb hooks install claude"))


@hooks.command("plugin", short_help="Write a Claude Code plugin.")
@click.option("--out", "folder", required=True, type=click.Path(file_okay=False), help="The folder to write.")
@click.option("--program", default="kb-hook", show_default=True, help="How the plugin calls kb-hook.")
@click.option("--mcp", is_flag=True, help="Offer kb's MCP server as well.")
def write_plugin(folder: str, program: str, mcp: bool) -> None:
    """Write a folder that is a Claude Code marketplace with one plugin: kb's hooks for everybody who adds it."""
    changed = plugin.write_folder(folder, plugin.render_claude_plugin(program, install.WORDS, mcp=mcp))
    for path in changed:
        click.echo(os.path.join(folder, path))
    options.print_note(msg("add it in Claude Code: /plugin marketplace add {path}", path=os.path.abspath(folder)))


@click.group()
def agents() -> None:
    """Write the files that tell agents how to use kb: a protocol block in AGENTS.md or CLAUDE.md, and a skill.

    A team commits these files, which explain kb to an agent of any host, and kb's hooks, which act by themselves: see
    kb hooks.
    """


file_options = options.add_options(
    click.option(
        "--user", "is_user", is_flag=True, help="For the user, in ~/.claude, instead of the surrounding project."
    ),
    click.option(
        "--file", "names", multiple=True, help="The file for the block (repeatable; default: those that exist)."
    ),
    click.option("--skills", default="", help="The folder of skills (default: .claude/skills)."),
)


@agents.command("install", short_help="Write the block and the skill.")
@dry_option
@file_options
def install_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool, verbose: bool) -> None:
    """Write the protocol block and the skill; running it again changes nothing.

    The block goes into AGENTS.md, CLAUDE.md and GEMINI.md if they exist, else into a new AGENTS.md. The text around it
    stays byte for byte. A file of the skill that somebody has edited is left alone.
    """
    files, folder = _resolve_targets(is_user, names, skills)
    language = options.resolve_language()
    changes, edited = agent_files.plan_skill_install(folder, agent_files.render_skill(language))
    for change in (*(agent_files.plan_block_install(path, language) for path in files), *changes):
        nothing = msg("{path} is up to date", path=change.path)
        done = msg("written: {path}", path=change.path)
        apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
    print_edited_files(edited)


@agents.command("uninstall", short_help="Remove the block and the skill.")
@dry_option
@file_options
def uninstall_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool, verbose: bool) -> None:
    """Remove the protocol block and the skill; the text around the block stays byte for byte."""
    files, folder = _resolve_targets(is_user, names, skills)
    changes, edited = agent_files.plan_skill_removal(folder, agent_files.SKILL_FILES)
    for change in (*map(agent_files.plan_block_removal, files), *changes):
        nothing = msg("{path} has nothing from kb", path=change.path)
        done = msg("removed: {path}", path=change.path)
        apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
    if not dry_run:
        agent_files.remove_empty_folders(folder)
    print_edited_files(edited)


def print_edited_files(paths: Iterable[str]) -> None:
    for path in paths:
        options.print_note(msg("left unchanged, somebody has edited it: {path}", path=path))


@agents.command("status", short_help="Show what is installed where.")
@file_options
@options.json_option
def show_files(is_user: bool, names: tuple[str, ...], skills: str, as_json: bool) -> int:
    """Show where the block and the skill are and whether they are up to date; exit 1 if they have drifted apart.

    Drift means that block and skill are of different protocol versions; the block then wins.
    """
    files, folder = _resolve_targets(is_user, names, skills)
    language = options.resolve_language()
    found = agent_files.inspect_files(files, folder, language)
    drift = agent_files.find_version_drift(found)
    if as_json:
        print_json({"files": found, "drift": [each.translate(language) for each in drift]})
        return 1 if drift else 0
    for one in found:
        click.echo(f"{one.part:8}  {_STATES[one.state].translate(language)}  {one.version or '–'}  {one.path}")
    for each in drift:
        options.print_note(each)
    return 1 if drift else 0


def _resolve_targets(is_user: bool, names: tuple[str, ...], skills: str) -> tuple[list[str], str]:
    """Return the files for the block and the folder of the skill."""
    # other than hooks, these files are for a project unless --user says otherwise
    top = _resolve_project(is_user, not is_user)
    return find_protocol_files(top, os.environ, names), resolve_skill_folder(top, os.environ, skills)


@click.group(invoke_without_command=True)
@click.option("--http", "is_http", is_flag=True, help="Over HTTP on this machine, for clients that have the token.")
@click.option(
    "--address", default="", metavar="HOST:PORT", help="The address --http listens on (default: 127.0.0.1:8735)."
)
@click.option("--remote", is_flag=True, help="Allow an --address that other machines can reach.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A further name by which clients call it.")
@click.option("--new-token", is_flag=True, help="Create a new token; the old one stops working.")
@click.pass_context
def mcp(ctx: click.Context, is_http: bool, address: str, remote: bool, names: tuple[str, ...], new_token: bool) -> None:
    """Serve the knowledge base to agents over the Model Context Protocol, on stdin and stdout or over HTTP."""
    if ctx.invoked_subcommand is not None:
        return
    if not is_http and (address or remote or names or new_token):
        raise options.usage_error(msg("--address, --remote, --name and --new-token go with --http"))
    require_extra("mcp", "kb mcp")
    if is_http:
        _serve_http(ctx, address, names, remote=remote, new_token=new_token)
        return
    from kb.mcp import serve_stdio

    if sys.stdin and sys.stdin.isatty():
        options.print_note(msg("this is for an agent on stdin; to connect one: kb mcp install claude"))
    serve_stdio(ctx.find_root().obj or "")


def _serve_http(ctx: click.Context, text: str, names: tuple[str, ...], *, remote: bool, new_token: bool) -> None:
    """Say where and with which token to call, and answer until the user stops it."""
    from kb.mcp import ServerContext, build_server, http_server

    where = http_server.parse_address(text or http_server.DEFAULT, names, remote=remote)
    with options.open_base(ctx) as kb:
        root = kb.root
    token = http_server.ensure_token(root, os.environ, anew=new_token)
    environment = {**os.environ, OWN_BASE: "off"}  # who calls over HTTP need not be the person at this machine
    with http_server.bind_socket(where) as listening:
        # the port is known only now: with :0 the system has chosen it
        click.echo(where._replace(port=listening.getsockname()[1]).url)
        if token.is_new:
            options.print_note(msg("the token, shown this once: {secret}", secret=token.secret))
        options.print_note(
            msg("the token is in {path}; send it as the header Authorization: Bearer TOKEN", path=token.path)
        )
        http_server.serve(
            build_server(ServerContext(root, os.getcwd(), environment)),
            where,
            listening,
            token.secret,
        )


@click.command()
@click.pass_context
def serve_editor(ctx: click.Context) -> None:
    """Serve the knowledge base to an editor over the Language Server Protocol, on stdin and stdout.

    In records and in code: hover and completion on [D014], go to its file, what kb check finds in the open record, and
    above each file the records that govern it. docs/editors.md has the settings of editors.
    """
    require_extra("lsp", "kb lsp")
    from kb.lsp import serve_stdio

    if sys.stdin and sys.stdin.isatty():
        options.print_note(msg("this is for an editor on stdin; its settings: docs/editors.md"))
    serve_stdio(ctx.find_root().obj or "", os.environ)


client_options = options.add_options(
    click.argument("client", metavar="CLIENT"),
    click.option("--user", "is_user", is_flag=True, help="In the user's own settings (the default)."),
    click.option("--project", "is_project", is_flag=True, help="In the settings of the surrounding project."),
    dry_option,
)


@mcp.command("install", short_help="Connect a client.")
@client_options
@click.pass_context
def install_server(
    ctx: click.Context, client: str, is_user: bool, is_project: bool, dry_run: bool, verbose: bool
) -> None:
    """Write kb's server into the settings of CLIENT.

    CLIENT is one of {hosts}. Everything else in the file stays as it is; running it again changes nothing. With kb --kb
    PATH, that knowledge base is served wherever the client works.
    """
    found = install.get_client(client)
    path = resolve_settings_path(found.mcp, _resolve_project(is_user, is_project), os.environ)
    base = ctx.find_root().obj
    words = [install.find_server_program(shared=is_project), *(("--kb", os.path.abspath(base)) if base else ()), "mcp"]
    change = install.plan_server_installation(found, path, words, os.environ)
    done = msg("server written to {path}; the client starts it when it next starts", path=path)
    nothing = msg("the server is already in {path}", path=path)
    apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)
    if not is_extra_installed("mcp"):
        missing = build_extra_error("mcp", "kb mcp")
        options.print_note(msg("but it will not start: {problem}; {step}", problem=missing.message, step=missing.hint))


@mcp.command("uninstall", short_help="Remove the server.")
@client_options
def uninstall_server(client: str, is_user: bool, is_project: bool, dry_run: bool, verbose: bool) -> None:
    """Remove kb's server from the settings of CLIENT; everything else stays as it was."""
    found = install.get_client(client)
    path = resolve_settings_path(found.mcp, _resolve_project(is_user, is_project), os.environ)
    change = install.plan_server_removal(found, path, os.environ)
    nothing = msg("{path} has no kb server", path=path)
    done = msg("server removed from {path}", path=path)
    apply_and_report(change, nothing, done, dry_run=dry_run, verbose=verbose)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--config", is_flag=True, help="Print risk.yaml with the defaults, every key with its meaning, and stop.")
@options.json_option
@click.pass_context
def show_guard(ctx: click.Context, paths: tuple[str, ...], config: bool, as_json: bool) -> int | None:
    """Show the guard's mode here, what it expects to have been read, and the risk of writing each PATH."""
    if config:
        click.echo(policy.render_default_settings(), nl=False)
        return 0
    with options.open_base(ctx) as kb:
        found = decide.load_guard_status(kb, os.getcwd(), paths)
        if found.notice:
            warn(kb, found.notice)
        what = kb.localise(msg(" or ")).join(found.read) or kb.localise(msg("any record of the knowledge base"))
        lines = [msg("mode: {mode}", mode=found.mode), msg("to be read first: {what}", what=what)]
        for path, risk in found.risks:
            values = {"path": path, "level": _LEVELS[risk.name], "reason": risk.reason}
            lines.append(msg("{path}: {level} risk: {reason}", **values))
        risks = {path: risk.name for path, risk in found.risks}
        answer = Answer({"mode": found.mode, "read": list(found.read), "risks": risks}, lines)
        return options.print_answer(kb, answer, as_json=as_json)
