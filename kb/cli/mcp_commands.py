"""Serve agents over MCP, and connect the clients that start the server."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kb.cli.host_commands import dry_option, resolve_project, show_and_apply
from kb.cli.options import add_options, open_base, print_note, usage_error
from kb.errors import KbError
from kb.i18n import msg
from kb.installation import build_install_command

if TYPE_CHECKING:
    from kb.mcp.http_server import AccessToken, ListenAddress


@click.group(invoke_without_command=True, short_help="Serve agents over MCP.")
@click.option("--http", "is_http", is_flag=True, help="Over HTTP on this machine, for who has the token.")
@click.option("--address", default="", metavar="HOST:PORT", help="Where --http listens (default: 127.0.0.1:8735).")
@click.option("--remote", is_flag=True, help="Allow an --address that other machines can reach.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A further name by which clients call it.")
@click.option("--new-token", is_flag=True, help="Make a new token; the old one stops working.")
@click.pass_context
def mcp(ctx: click.Context, is_http: bool, address: str, remote: bool, names: tuple[str, ...], new_token: bool) -> None:
    """Serve the knowledge base to agents over the Model Context Protocol, on stdin and stdout or over HTTP."""
    if ctx.invoked_subcommand is not None:
        return
    if not is_http and (address or remote or names or new_token):
        raise usage_error(msg("--address, --remote, --name and --new-token go with --http"))
    if not _has_sdk():
        hint = msg("install it: {command}", command=build_install_command("mcp"))
        raise KbError(msg("kb mcp needs the MCP SDK"), hint=hint)
    if is_http:
        _serve_http(ctx, address, names, remote=remote, new_token=new_token)
        return
    from kb.mcp import serve_stdio

    if sys.stdin and sys.stdin.isatty():
        print_note(msg("an agent speaks to this on stdin; to connect one: kb mcp install claude"))
    serve_stdio(ctx.find_root().obj or "")


def _serve_http(ctx: click.Context, text: str, names: tuple[str, ...], *, remote: bool, new_token: bool) -> None:
    """Say where and with which token to call, and answer until the user stops it."""
    from kb.mcp import ServerContext, build_server, http_server

    where = http_server.parse_address(text or http_server.DEFAULT, names, remote=remote)
    with open_base(ctx) as kb:
        root = kb.root
    token = http_server.ensure_token(root, os.environ, anew=new_token)
    with http_server.bind_socket(where) as listening:
        _announce(where._replace(port=listening.getsockname()[1]), token)
        http_server.serve(build_server(ServerContext(root, os.getcwd(), os.environ)), where, listening, token.secret)


def _announce(where: ListenAddress, token: AccessToken) -> None:
    click.echo(where.url)
    if token.is_new:
        print_note(msg("the token, shown this once: {secret}", secret=token.secret))
    print_note(msg("the token is in {path}; send it as the header Authorization: Bearer TOKEN", path=token.path))


def _has_sdk() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None


client_options = add_options(
    click.argument("client", metavar="CLIENT"),
    click.option("--user", "is_user", is_flag=True, help="In the user's own settings (the default)."),
    click.option("--project", "is_project", is_flag=True, help="In the settings of the project around."),
    dry_option,
)


@mcp.command("install", short_help="Connect a client.")
@client_options
@click.pass_context
def install_server(ctx: click.Context, client: str, is_user: bool, is_project: bool, dry_run: bool) -> None:
    """Write kb's server into the settings of CLIENT and show the change.

    CLIENT is claude, codex, gemini, copilot, cursor or opencode. Everything else in the file stays as it is; again, it
    changes nothing. With kb --kb PATH, that knowledge base is served wherever the client works.
    """
    from kb.hooks import mcp_install
    from kb.hosts import resolve_settings_path

    found = mcp_install.get_client(client)
    path = resolve_settings_path(found.mcp, resolve_project(is_user, is_project), os.environ)
    base = ctx.find_root().obj
    words = [mcp_install.find_program(shared=is_project), *(("--kb", os.path.abspath(base)) if base else ()), "mcp"]
    change = mcp_install.plan_installation(found, path, words, os.environ)
    nothing = msg("the server is already in {path}", path=path)
    done = msg("server written to {path}; the client starts it when it next starts", path=path)
    show_and_apply(change, dry_run=dry_run, nothing=nothing, done=done)
    if not _has_sdk():
        step = msg("install it: {command}", command=build_install_command("mcp"))
        print_note(msg("but it will not start: the MCP SDK is not installed; {step}", step=step))


@mcp.command("uninstall", short_help="Take the server out.")
@client_options
def uninstall_server(client: str, is_user: bool, is_project: bool, dry_run: bool) -> None:
    """Take kb's server out of the settings of CLIENT; what was there before and besides stays as it was."""
    from kb.hooks import mcp_install
    from kb.hosts import resolve_settings_path

    found = mcp_install.get_client(client)
    path = resolve_settings_path(found.mcp, resolve_project(is_user, is_project), os.environ)
    change = mcp_install.plan_removal(found, path, os.environ)
    nothing = msg("{path} has no server of kb", path=path)
    show_and_apply(change, dry_run=dry_run, nothing=nothing, done=msg("server removed from {path}", path=path))
