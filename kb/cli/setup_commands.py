"""Set kb up: make a knowledge base, explain its settings, load its words, check that everything works."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, resolve_language, usage_error, with_kb
from kb.cli.prints import print_json, warn
from kb.config import FILE, Config, describe_setting, load
from kb.i18n import Message, msg
from kb.paths import find_root, user_home

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

_MARKS = {"ok": "✅", "note": "⚠️", "failed": "❌", "skipped": "–"}


# -- init --------------------------------------------------------------------------------------------


@click.command(short_help="Make a knowledge base.")
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
    from kb.knowledge_base import make

    if (path is not None) + here + user > 1:
        both = msg("give a PATH or --here, not both")
        raise usage_error(both if path and here else msg("give one of PATH, --here, --user"))
    if source and not ci:
        raise usage_error(msg("--from is for --ci"))
    folder = _resolve_folder(path, here=here, user=user)
    given = language or ("zh" if os.environ.get("LANG", "").startswith("zh") else "")
    kb, files = make(folder, os.environ, inside=here, name=name, language=given, with_ci=ci, source=source)
    with kb:
        click.echo(kb.root)
        _print_files(files)
        for said in _iter_unchanged_settings(kb, name, language):
            warn(kb, said)
        for said in _iter_remarks(kb.root, files, with_ci=ci, source=source):
            warn(kb, said)
        if layout == "project":
            from kb.importers.project_layout import migrate_layout

            _print_files(migrate_layout(kb, layout).files)


def _print_files(files: Iterable[str]) -> None:
    for file in files:
        click.echo(f"  + {file}", err=True)


def _resolve_folder(path: str | None, *, here: bool, user: bool) -> str:
    """Return where the knowledge base is to be, or is; raise KbError in a repository of which nothing is said."""
    from kb.writing.init_base import find_base_folder

    if path or here:
        return path or os.getcwd()
    if user:
        return user_home(os.environ)
    named = click.get_current_context().find_root().obj or os.environ.get("KB_HOME")
    return str(named or find_base_folder(os.getcwd(), os.environ))


def _iter_unchanged_settings(kb: KnowledgeBase, name: str, language: str | None) -> Iterator[Message]:
    """Yield the settings that were wished for and are others, as the `kb.toml` that was there says."""
    for setting, wished, value in (("name", name, kb.config.name), ("language", language, kb.config.language)):
        if wished and wished != value:
            yield msg("{setting} stays {value}: to change it, edit {file}", setting=setting, value=value, file=FILE)


def _iter_remarks(root: str, files: Sequence[str], *, with_ci: bool, source: str) -> Iterator[Message]:
    """Yield what a person should know of what was done, or was not."""
    from kb.installation import UNKNOWN
    from kb.writing.init_base import build_workflows

    if not files:
        yield msg("nothing was missing")
    if not with_ci:
        return
    there = {path: _read_text(root, path) for path in (*build_workflows(), *build_workflows("gitlab"))}
    if lacking := [path for path, text in there.items() if UNKNOWN in text]:
        yield msg(
            "{files} do not say where kb is installed from: kb init --ci --from git+https://github.com/OWNER/REPO@TAG",
            files=", ".join(lacking),
        )
    if source and (others := [path for path, text in there.items() if text and path not in files]):
        yield msg("{files} are unchanged: to change where kb comes from, edit them", files=", ".join(others))


def _read_text(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# -- config ----------------------------------------------------------------------------------------


@click.command(short_help="Explain the settings.")
@json_option
@click.pass_context
def show_config(ctx: click.Context, as_json: bool) -> None:
    """Print every setting of kb.toml with its value here, its default and what it means."""
    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ)
    config = load(root) if root else Config()
    if as_json:
        print_json(config._asdict())
        return
    for key, default in Config()._asdict().items():
        value = getattr(config, key)
        differs = msg("(default: {default})", default=repr(default)).translate(config.language)
        click.echo(f"{key} = {value!r}" + ("" if value == default else f"  {differs}"))
        click.echo(f"    {describe_setting(key, config.language)}")


# -- keywords --------------------------------------------------------------------------------------


@click.group(invoke_without_command=True, short_help="Load the synonyms of a domain.")
@json_option
@click.pass_context
def keywords(ctx: click.Context, as_json: bool) -> None:
    """List the synonyms of this knowledge base, or load more; search, contexts and packs use them."""
    if ctx.invoked_subcommand is None:
        with_kb(_list_keywords)(as_json)


def _list_keywords(kb: KnowledgeBase, as_json: bool) -> None:
    from kb.writing.file_changes import list_groups

    groups = list_groups(kb)
    if as_json:
        print_json([list(group.words) for group in groups])
        return
    for group in groups:
        click.echo(", ".join(group.words))
    if not groups:
        warn(kb, msg("no synonyms of your own yet; to load some: kb keywords load FILE"))


@keywords.command("load", short_help="Add groups of synonyms.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@with_kb
def load_keywords(kb: KnowledgeBase, file: str) -> None:
    """Add the groups in FILE, one on a line like `- [退款, refund, chargeback]`, to content/synonyms.yaml."""
    from kb.search.synonyms import MAX_SYNONYMS
    from kb.writing.file_changes import add_groups

    with open(file, encoding="utf-8", errors="replace") as opened:
        added = add_groups(kb, opened.read(MAX_SYNONYMS), file)
    for group in added:
        click.echo(", ".join(group.words))
    warn(kb, msg("groups added: {n}", n=len(added)))


# -- doctor ----------------------------------------------------------------------------------------


@click.command(short_help="Check that everything works.")
@click.option("--fix", is_flag=True, help="Fix what is safe to fix: the index, old failures, leftovers.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, fix: bool, as_json: bool) -> int:
    """Check git, the repository, the index, the spool, the hooks and more; exit 1 if anything failed."""
    from kb.doctor import FAILED, NOT_OPEN, OK, run_checks

    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ) or ""
    outcomes = run_checks(root, os.getcwd(), os.environ, fix=fix)
    language = resolve_language()
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
