"""Commands that set kb up: init, the settings explained, and doctor."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from kb.cli.options import json_option, resolve_language, usage_error
from kb.cli.prints import print_json, warn
from kb.config import FILE, Config, describe_setting
from kb.config import load as load_settings
from kb.doctor import FAILED, NOT_OPEN, OK, run_checks
from kb.i18n import Message, msg
from kb.importers.project_layout import migrate_layout
from kb.installation import UNKNOWN
from kb.knowledge_base import make
from kb.paths import find_root, user_home
from kb.writing.init_base import build_workflows, find_base_folder

_MARKS = {"ok": "✅", "note": "⚠️", "failed": "❌", "skipped": "–"}


@click.command()
@click.argument("path", required=False)
@click.option("--here", is_flag=True, help="In the current folder, inside the code repository that is there.")
@click.option("--user", is_flag=True, help="In ~/.kb, for yourself in all projects.")
@click.option("--name", default="", help="What it is called.")
@click.option("--language", type=click.Choice(["en", "zh"]), default=None, help="Language of headings and messages.")
@click.option(
    "--ci",
    is_flag=True,
    help="Add what runs kb check and shows the wiki: workflows for the remote's host, a pre-commit configuration.",
)
@click.option(
    "--from",
    "source",
    default="",
    metavar="URL",
    help="With --ci: where kb is installed from, with a tag, in place of the setting install_from.",
)
@click.option("--layout", type=click.Choice(["user", "project"]), default="user", help="See kb layout migrate.")
def init_base(
    path: str | None, here: bool, user: bool, name: str, language: str | None, ci: bool, source: str, layout: str
) -> None:
    """Make a knowledge base at PATH, here, or for yourself; complete one that is there.

    Without any of the three: the one that --kb or $KB_HOME names, the one around the current folder, or, outside any
    repository, ~/.kb.
    """
    if (path is not None) + here + user > 1:
        both = msg("give a PATH or --here, not both")
        raise usage_error(both if path and here else msg("give one of PATH, --here, --user"))
    # --from writes nothing of its own, and would be taken for "clone it from there"
    if source and not ci:
        raise usage_error(msg("--from is for --ci"))
    if path or here:
        folder = path or os.getcwd()
    elif user:
        folder = user_home(os.environ)
    else:
        named = click.get_current_context().find_root().obj or os.environ.get("KB_HOME")
        folder = str(named or find_base_folder(os.getcwd(), os.environ))
    # a knowledge base that is there keeps its language; this is for a new one
    given = language or ("zh" if os.environ.get("LANG", "").startswith("zh") else "")
    kb, files = make(folder, os.environ, inside=here, name=name, language=given, with_ci=ci, source=source)
    with kb:
        click.echo(kb.root)
        for file in files:
            warn(kb, f"  + {file}")
        # the kb.toml that was there is not changed: what was wished for and is otherwise is said
        for setting, wished, value in (("name", name, kb.config.name), ("language", language, kb.config.language)):
            if wished and wished != value:
                stays = msg(
                    "{setting} stays {value}: to change it, edit {file}", setting=setting, value=value, file=FILE
                )
                warn(kb, stays)
        for said in _iter_remarks(kb.root, files, with_ci=ci, source=source):
            warn(kb, said)
        if layout == "project":
            for file in migrate_layout(kb, layout).files:
                warn(kb, f"  + {file}")


def _iter_remarks(root: str, files: Sequence[str], *, with_ci: bool, source: str) -> Iterator[Message]:
    """Yield what a person should know of what was done, or was not."""
    if not files:
        yield msg("nothing was missing")
    if not with_ci:
        return
    there = {}
    for path in (*build_workflows(), *build_workflows("gitlab")):
        with suppress(OSError):
            there[path] = Path(root, path).read_text(encoding="utf-8", errors="replace")
    if lacking := [path for path, text in there.items() if UNKNOWN in text]:
        yield msg(
            "{files} do not say where kb is installed from: kb init --ci --from git+https://github.com/OWNER/REPO@TAG",
            files=", ".join(lacking),
        )
    if source and (others := [path for path, text in there.items() if text and path not in files]):
        yield msg("{files} are unchanged: to change where kb comes from, edit them", files=", ".join(others))


@click.command()
@json_option
@click.pass_context
def show_config(ctx: click.Context, as_json: bool) -> None:
    """Print every setting of kb.toml with its value here, its default and what it means."""
    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ)
    config = load_settings(root) if root else Config()
    if as_json:
        print_json(config._asdict())
        return
    for key, default in Config()._asdict().items():
        value = getattr(config, key)
        differs = msg("(default: {default})", default=repr(default)).translate(config.language)
        click.echo(f"{key} = {value!r}" + ("" if value == default else f"  {differs}"))
        click.echo(f"    {describe_setting(key, config.language)}")


@click.command()
@click.option("--fix", is_flag=True, help="Fix what is safe to fix: the index, old failures, leftovers.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, fix: bool, as_json: bool) -> int:
    """Check git, the repository, the index, the spool, the hooks and more; exit 1 if anything failed."""
    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ) or ""
    outcomes = run_checks(root, os.getcwd(), os.environ, fix=fix)
    language = resolve_language()
    # a note, or a check that was skipped, is no failure
    code = 1 if any(outcome.state == FAILED for outcome in outcomes) else 0
    if as_json:
        rows = [(one, one.remedy and one.remedy.translate(language)) for one in outcomes]
        print_json([{**one._asdict(), "said": one.said.translate(language), "remedy": remedy} for one, remedy in rows])
        return code
    for outcome in outcomes:
        # outside a knowledge base that is the one thing to say; what needs one says the same in twenty lines
        if (outcome.state != FAILED and not root) or outcome.said.template == NOT_OPEN.template:
            continue
        mended = " " + msg("(fixed)").translate(language) if outcome.mended and outcome.state == OK else ""
        click.echo(f"{_MARKS[outcome.state]} {outcome.name}: {outcome.said.translate(language)}{mended}")
        if outcome.remedy:
            click.echo(f"    → {outcome.remedy.translate(language)}")
    return code
