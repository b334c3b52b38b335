"""Commands that set kb up and build from the records: init, settings, doctor, wiki, vectors, synonyms."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

import click

from kb.cli.options import Answer, json_option, resolve_language, usage_error, with_json, with_kb
from kb.cli.prints import pad_text, print_json, warn, warn_of_broken_files
from kb.config import FILE, Config, describe_setting
from kb.config import load as load_settings
from kb.doctor import FAILED, NOT_OPEN, OK, run_checks
from kb.i18n import Message, load_translations, msg
from kb.importers.project_layout import migrate_layout
from kb.installation import NOWHERE, require_extra
from kb.knowledge_base import KnowledgeBase, make
from kb.paths import find_root, user_home
from kb.search import embedding
from kb.search.embedding import delete_vectors, embed_text, get_vector_status
from kb.writing.adopt_folder import (
    describe_adopted,
    find_adopting_root,
    guess_language,
    locate_adopted,
    refuse_taken_numbers,
)
from kb.writing.file_changes import exclude_from_git
from kb.writing.init_base import build_workflows, find_base_folder

_PROGRESS_SECONDS = 2.0
"""Seconds between two lines on how far a build of the wiki is."""
_MIN_REPORTED_PAGES = 100
"""Pages of a wiki below which it is made before anybody wonders."""
_VECTOR_PROGRESS_SECONDS = 10.0
"""Seconds between two lines on how many vectors are made, where there is no terminal."""

own_option = click.option(
    "--own-config",
    is_flag=True,
    help="Use the mkdocs.yml of the knowledge base; it runs the plugins, hooks and templates that it names.",
)


@click.group()
def wiki() -> None:
    """Build or serve the wiki: a page for every record, session, kind and tag, with links and a search."""


@wiki.command("build", short_help="Build the wiki.")
@click.option("-o", "--output", "out", default="site", show_default=True, metavar="FOLDER", help="The folder to write.")
@click.option("--strict/--no-strict", default=False, help="Fail on a broken citation or link.")
@click.option(
    "--builder",
    type=click.Choice(["mkdocs", "properdocs"]),
    default="mkdocs",
    show_default=True,
    help="The site generator; properdocs is the successor of mkdocs: pip install properdocs.",
)
@own_option
@with_kb
def build_wiki(kb: KnowledgeBase, out: str, strict: bool, builder: str, own_config: bool) -> None:
    """Build the wiki as files that a browser opens, and print the path of the first page."""
    from kb.wiki.build import build

    last = monotonic()

    def report_pages(made: int, pages: int) -> None:
        nonlocal last
        if pages >= _MIN_REPORTED_PAGES and monotonic() - last > _PROGRESS_SECONDS:
            last = monotonic()
            warn(kb, msg("pages made: {made} of {pages}", made=made, pages=pages))

    _warn_before_build(kb, own_config)
    say = partial(click.echo, err=True)
    first = build(kb, out, strict, say, own_config=own_config, builder=builder, progress=report_pages)
    if exclude := exclude_from_git(kb, out):
        path = os.path.relpath(exclude)
        warn(kb, msg("git ignores the folder {folder} in this clone: see {path}", folder=out, path=path))
    click.echo(first)


@wiki.command("serve", short_help="Serve the wiki.")
@click.option(
    "--address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="The address to listen on."
)
@click.option("--open", "is_opened", is_flag=True, help="Open the first page in your browser.")
@own_option
@with_kb
def serve_wiki(kb: KnowledgeBase, address: str, is_opened: bool, own_config: bool) -> None:
    """Show the wiki in a browser until you stop it; it follows the records as they change."""
    from kb.wiki.build import serve

    _warn_before_build(kb, own_config)

    def show_address(url: str) -> None:
        click.echo(url)
        warn(kb, msg("the wiki is there until you press Ctrl-C; it follows the records"))
        if is_opened:
            click.launch(url)

    serve(kb, address, own_config=own_config, show=show_address)


@wiki.command("preview", short_help="Show what a branch changes.")
@click.option("--against", "revision", required=True, metavar="REVISION", help="The branch to merge it into.")
@click.option(
    "-o", "--output", "out", default="preview", show_default=True, metavar="FOLDER", help="The folder to write."
)
@click.option(
    "--site",
    "published",
    default="",
    metavar="URL",
    help="The address of the whole wiki, for links out of the preview.",
)
@with_kb
def preview_wiki(kb: KnowledgeBase, revision: str, out: str, published: str) -> None:
    """Write a report of what merging changes, with both sides, and the pages of the changed records alone."""
    require_extra("wiki", "kb wiki")
    from kb.wiki.wiki_site import write_preview

    first, number = write_preview(kb, revision, out, published)
    warn(kb, msg("records that change: {number}", number=number))
    click.echo(first)


def _warn_before_build(kb: KnowledgeBase, own_config: bool) -> None:
    """Name what the wiki will do without: broken records, and settings that nobody has agreed to."""
    require_extra("wiki", "kb wiki")
    from kb.wiki.build import has_own_config

    # read first: only now is it known which files are broken
    kb.records()
    warn_of_broken_files(kb)
    # mkdocs.yml names plugins and hooks, which are programs: a clone must not run them by being read
    if has_own_config(kb) and not own_config:
        message = msg("mkdocs.yml is left alone: it can name programs to run; if you trust it: --own-config")
        warn(kb, f"kb: {kb.localise(message)}")


@click.group()
def vectors() -> None:
    """Build the vectors that let search match by meaning as well as by words; needs an embedder in the settings."""


@vectors.command("build", short_help="Build vectors for the records that have none.")
@click.option("--anew", is_flag=True, help="Delete the existing vectors first.")
@with_json
def build_vectors(kb: KnowledgeBase, anew: bool) -> Answer:
    """Build vectors, in batches, for the records that have none.

    If interrupted, the vectors built so far are kept and the next call continues. Unchanged records are not embedded
    again. Other commands work meanwhile.
    """
    last = monotonic()

    def report_vectors(done: int, number: int) -> None:
        nonlocal last
        line = kb.localise(msg("vectors: {done} of {number}", done=done, number=number))
        # one line that is written over; a log gets a line now and then instead
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if done == number else "", file=sys.stderr, flush=True)
        elif done == number or monotonic() - last > _VECTOR_PROGRESS_SECONDS:
            last = monotonic()
            print(line, file=sys.stderr, flush=True)

    embedding.build_vectors(kb, report_vectors, anew=anew)
    return _describe_vectors(kb)


@vectors.command("status", short_help="Show the state of the vectors.")
@with_json
def show_vector_status(kb: KnowledgeBase) -> Answer:
    """Show which embedder is used, whether it works, and how many records have a vector."""
    return _describe_vectors(kb)


def _describe_vectors(kb: KnowledgeBase) -> Answer:
    status = get_vector_status(kb)
    # an embedder that is set and not installed is no error here: this command is asked why search has no vectors
    problem = [msg("it cannot be used: {problem}", problem=status.problem)] if status.problem else []
    values = {"n": status.vectors, "m": status.waiting, "size": f"{status.bytes / 1e6:.1f}", "file": ".kb/vectors.bin"}
    counted = msg("records with a vector: {n}, without: {m}; {size} MB in {file}", **values)
    lines = [msg("embedder: {name}", name=status.embedder), *problem, counted]
    return Answer({**status._asdict(), "problem": str(status.problem)}, lines)


@vectors.command("embed", short_help="Print the vector of a text.")
@click.argument("text")
@click.option("--passage", is_flag=True, help="Treat the query as plain text to find instead of a question.")
@with_kb
def print_vector(kb: KnowledgeBase, text: str, passage: bool) -> None:
    """Print the vector of TEXT as JSON."""
    print_json(embed_text(kb, text, "passage" if passage else "query"))


@vectors.command("drop", short_help="Forget all vectors.")
@with_kb
def drop_vectors(kb: KnowledgeBase) -> None:
    """Delete all vectors; search continues by words. `kb vectors build` rebuilds them."""
    delete_vectors(kb)
    warn(kb, msg("the vectors are gone; no record is"))


@click.group(invoke_without_command=True)
@with_json
def keywords(kb: KnowledgeBase) -> Answer:
    """List the synonyms of this knowledge base, or load more; search, contexts and packs use them."""
    from kb.writing.file_changes import list_groups

    groups = list_groups(kb)
    notes = [] if groups else [msg("no synonyms of your own yet; to load some: kb keywords load FILE")]
    return Answer([list(group.words) for group in groups], (", ".join(group.words) for group in groups), notes)


@keywords.command("load", short_help="Add groups of synonyms.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@with_kb
def load_keywords(kb: KnowledgeBase, file: str) -> Answer:
    """Add the groups in FILE, one on a line like `- [refund, chargeback, repayment]`, to content/synonyms.yaml."""
    from kb.search.rank import MAX_SYNONYMS
    from kb.writing.file_changes import add_groups

    with open(file, encoding="utf-8", errors="replace") as opened:
        added = add_groups(kb, opened.read(MAX_SYNONYMS), file)
    return Answer(None, (", ".join(group.words) for group in added), [msg("groups added: {n}", n=len(added))])


@click.command()
@click.option(
    "--map",
    "system",
    type=click.Choice(["sman", "zclaw"]),
    help="An older system whose command names to list with kb's.",
)
@json_option
def list_commands(system: str | None, as_json: bool) -> None:
    """List the commands; with --map, the names of an older system, each with the equivalent command.

    The old names work too: kb memory_search is kb search. A name without a command says why there is none.
    """
    from kb.cli.group import COMMANDS, OLD_NAMES

    language = resolve_language()
    translate = load_translations(language).gettext
    rows = [{"name": name, "command": name, "note": translate(line)} for name, (_, line) in COMMANDS.items()]
    if system:
        own = ((name, old) for name, old in OLD_NAMES.items() if old.system == system)
        rows = [
            {"name": name, "command": old.command, "note": old.note.translate(language) if old.note else ""}
            for name, old in own
        ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        line = f"{pad_text(row['name'], 14)} {row['note']}"
        if system:
            line = f"{pad_text(row['name'], 32)} {'kb ' + row['command'] if row['command'] else '–'}"
            line += f"  ({row['note']})" if row["note"] else ""
        click.echo(line)


_MARKS = {"ok": "✅", "note": "⚠️", "failed": "❌", "skipped": "–"}


@click.command()
@click.argument("path", required=False)
@click.option("--here", is_flag=True, help="In the current folder, inside the code repository that is there.")
@click.option("--user", is_flag=True, help="In ~/.kb, for yourself in all projects.")
@click.option("--name", default="", help="Its name.")
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
@click.option(
    "--adopt",
    "adopted",
    multiple=True,
    metavar="FOLDER",
    help="Read and write the decision records (ADRs) in FOLDER where they lie; more than once for several.",
)
def init_base(
    path: str | None,
    here: bool,
    user: bool,
    name: str,
    language: str | None,
    ci: bool,
    source: str,
    layout: str,
    adopted: tuple[str, ...],
) -> None:
    """Create a knowledge base at PATH, here, or for yourself; complete an existing one.

    Without any of the three: the one --kb or $KB_HOME names, the one around the current folder, or, outside any
    repository, ~/.kb. With --adopt: the repository around FOLDER.
    """
    if (path is not None) + here + user > 1:
        both = msg("give a PATH or --here, not both")
        raise usage_error(both if path and here else msg("give one of PATH, --here, --user"))
    # --from writes nothing of its own, and would be taken for "clone it from there"
    if source and not ci:
        raise usage_error(msg("--from is for --ci"))
    if adopted and not (path or user):
        folder, here = find_adopting_root(os.getcwd(), os.environ), True
        language = language or guess_language(adopted)
    else:
        folder = _choose_folder(path, here=here, user=user)
    # a knowledge base that is there keeps its language; this is for a new one
    given = language or ("zh" if os.environ.get("LANG", "").startswith("zh") else "")
    rows = locate_adopted(folder, adopted)
    if rows and os.path.exists(os.path.join(folder, FILE)):
        with KnowledgeBase.at(folder) as there:
            refuse_taken_numbers(there, rows)
    kb, files = make(folder, os.environ, inside=here, name=name, language=given, with_ci=ci, source=source, adopt=rows)
    with kb:
        click.echo(kb.root)
        for file in files:
            warn(kb, f"  + {file}")
        for said in (
            *_iter_kept_settings(kb, name=name, language=language or ""),
            *_iter_remarks(kb.root, files, with_ci=ci, source=source),
            *(describe_adopted(kb) if adopted else ()),
            *_iter_next_steps(kb, files, is_adopting=bool(adopted)),
        ):
            warn(kb, said)
        if layout == "project":
            for file in migrate_layout(kb, layout).files:
                warn(kb, f"  + {file}")


def _choose_folder(path: str | None, *, here: bool, user: bool) -> str:
    """Return the folder that `kb init` is to make a knowledge base of: see its help."""
    if path or here:
        return path or os.getcwd()
    if user:
        return user_home(os.environ)
    named = click.get_current_context().find_root().obj or os.environ.get("KB_HOME")
    return str(named or find_base_folder(os.getcwd(), os.environ))


def _iter_kept_settings(kb: KnowledgeBase, **wished: str) -> Iterator[Message]:
    """Yield what stays otherwise than *wished*: the kb.toml that was there is not changed."""
    for setting, wish in wished.items():
        value = getattr(kb.config, setting)
        if wish and wish != value:
            yield msg("{setting} stays {value}: to change it, edit {file}", setting=setting, value=value, file=FILE)


def _iter_next_steps(kb: KnowledgeBase, files: Sequence[str], *, is_adopting: bool) -> Iterator[Message]:
    """Yield what was committed, and what somebody does next who has just made a knowledge base."""
    if files:
        yield msg("committed: {count} file", "committed: {count} files", count=len(files))
    if not (is_adopting or FILE in files):
        return
    is_here = find_root(os.getcwd(), os.environ) == kb.root
    example = kb.localise(msg('kb new "Use PostgreSQL for orders"'))
    command = "kb wiki serve --open" if is_adopting else example
    folder = os.path.relpath(kb.root)
    folder = kb.root if folder.startswith(os.pardir) else folder
    yield msg("next: {command}", command=command if is_here else f"cd {shlex.quote(folder)} && {command}")


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
    if lacking := [path for path, text in there.items() if NOWHERE in text]:
        yield msg(
            "{files} do not say where kb is installed from: kb init --ci --from git+https://github.com/OWNER/REPO@TAG",
            files=lacking,
        )
    if source and (others := [path for path, text in there.items() if text and path not in files]):
        yield msg("{files} are unchanged: to change where kb comes from, edit them", files=others)


@click.command()
@click.argument("name", default="", metavar="[SETTING]")
@json_option
@click.pass_context
def show_config(ctx: click.Context, name: str, as_json: bool) -> None:
    """Print every setting of kb.toml, or the one named, with its value here, its default and what it means."""
    root = ctx.find_root().obj or find_root(os.getcwd(), os.environ)
    config = load_settings(root) if root else Config()
    if name and name not in Config._fields:
        raise usage_error(msg("there is no setting {name}", name=name), msg("see: kb config"))
    if as_json:
        print_json({key: value for key, value in config._asdict().items() if name in ("", key)})
        return
    for key, default in Config()._asdict().items():
        if name not in ("", key):
            continue
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
        shown = [{**one._asdict(), "said": one.said.translate(language), "remedy": remedy} for one, remedy in rows]
        print_json([{key: value for key, value in row.items() if key != "label"} for row in shown])
        return code
    for outcome in outcomes:
        # outside a knowledge base that is the one thing to say; what needs one says the same in twenty lines
        if (outcome.state != FAILED and not root) or outcome.said.template == NOT_OPEN.template:
            continue
        fixed = " " + msg("(fixed)").translate(language) if outcome.fixed and outcome.state == OK else ""
        click.echo(
            f"{_MARKS[outcome.state]} {outcome.label.translate(language)}: {outcome.said.translate(language)}{fixed}"
        )
        if outcome.remedy:
            click.echo(f"    → {outcome.remedy.translate(language)}")
    return code
