"""kb init."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kb.cli.options import usage_error
from kb.config import FILE
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


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
def command(
    path: str | None, here: bool, user: bool, name: str, language: str | None, ci: bool, source: str, layout: str
) -> None:
    """Make a knowledge base at PATH, here, or for yourself; complete one that is there.

    Without any of the three: where --kb or $KB_HOME says, the one around the current folder, or, outside every
    repository, ~/.kb.
    """
    from kb.knowledge_base import make

    if (path is not None) + here + user > 1:
        raise usage_error(
            msg("give a PATH or --here, not both") if path and here else msg("give one of PATH, --here, --user")
        )
    if source and not ci:
        raise usage_error(msg("--from is for --ci"))
    place = _resolve_folder(path, here=here, user=user)
    given = language or ("zh" if os.environ.get("LANG", "").startswith("zh") else "")
    kb, files = make(
        place, os.environ, inside=here, name=name, language=given, with_ci=ci, source=source
    )  # fmt: skip
    with kb:
        click.echo(kb.root)
        for file in files:
            click.echo(f"  + {file}", err=True)
        for said in (
            *_iter_unchanged_settings(kb, name, language),
            *_iter_remarks(kb.root, files, with_ci=ci, source=source),
        ):
            click.echo(kb.localise(said), err=True)
        if layout == "project":
            from kb.importers.project_layout import migrate_layout

            for file in migrate_layout(kb, layout).files:
                click.echo(f"  + {file}", err=True)


def _resolve_folder(path: str | None, *, here: bool, user: bool) -> str:
    """Return where the knowledge base is to be, or is; raise KbError in a repository of which nothing is said."""
    from kb.paths import user_home
    from kb.writing.init_base import find_base_folder

    if path or here:
        return path or os.getcwd()
    named = click.get_current_context().find_root().obj or os.environ.get("KB_HOME")
    return user_home(os.environ) if user else str(named or find_base_folder(os.getcwd(), os.environ))


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
            "{files} do not say yet where kb is installed from: kb init --ci --from git+https://github.com/OWNER/REPO@TAG",
            files=", ".join(lacking),
        )
    if source and (others := [path for path, text in there.items() if text and path not in files]):
        yield msg("{files} are as they were: to change where kb comes from, edit them", files=", ".join(others))


def _read_text(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
