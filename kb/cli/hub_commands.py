"""Commands of a hub, which searches the knowledge bases of many teams: sync, status, compare, serve, wiki."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from kb.cli.options import Answer, add_options, json_option, resolve_language, usage_error
from kb.cli.prints import print_json
from kb.errors import BadInput
from kb.files import json_bytes, write_atomic
from kb.i18n import Message, msg
from kb.installation import require_extra

if TYPE_CHECKING:
    from kb.organisation.hub import Hub
    from kb.organisation.org_values import AcrossReport, BrokenFile, OrgRecord, RepositoryStatus, SyncReport

_FAILED = 1
_SHOWN_BROKEN = 5
"""Broken files of one repository that are shown without --json."""

config_option = click.option(
    "--config", "path", default="hub.toml", show_default=True, metavar="PATH", help="Its settings."
)
hub_options = add_options(config_option, json_option)


@click.group()
def hub() -> None:
    """Search the knowledge bases of many teams: mirrors of their repositories, and one index over them.

    The repositories are listed in hub.toml. Mirrors and index are derived: what is deleted comes back with the next
    sync.
    """


@hub.command("sync", short_help="Fetch repositories and index new commits.")
@click.argument("names", nargs=-1, metavar="[REPOSITORY]...")
@hub_options
def sync_hub(names: tuple[str, ...], path: str, as_json: bool) -> int:
    """Fetch repositories (all by default) and index new commits.

    A repository that fails keeps its last state; exit 1 if any failed.
    """
    with _open_hub(path) as opened:
        reports = opened.sync(names or None)
    _print_answer(Answer(reports, _iter_report_lines(reports)), as_json)
    return _FAILED if any(report.error for report in reports) else 0


@hub.command("status", short_help="Show what has been indexed from each repository.")
@hub_options
def show_status(path: str, as_json: bool) -> None:
    """Show which commit of each repository is indexed, its broken files, and why the last fetch failed."""
    with _open_hub(path) as opened:
        found = opened.status()
    _print_answer(Answer(found, _iter_status_lines(found)), as_json)


@hub.command("compare", short_help="Show where teams contradict each other.")
@hub_options
@click.option("--for", "name", default="", metavar="REPOSITORY", help="Only what concerns this repository.")
@click.option("--output", default="", metavar="FILE", help="Write it for that team's wiki (wiki_across); with --for.")
@click.option("--group", "groups", multiple=True, help="With --for, as members of this group see it (repeatable).")
def compare_teams(path: str, as_json: bool, name: str, output: str, groups: tuple[str, ...]) -> None:
    """Show accepted records of different repositories that contradict each other, say the same, or name each other.

    With --for, only what concerns one of them, and only from repositories that everybody may read who may read it, or
    members of the groups: so it can be shown in that team's wiki.
    """
    if not name and (output or groups):
        raise usage_error(msg("{option} goes with --for REPOSITORY", option="--output" if output else "--group"))
    with _open_hub(path) as opened:
        known = frozenset(one.name for one in opened.config.repositories)
        if name and name not in known:
            raise BadInput(msg("there is no repository {name} in {path}", name=name, path=path))
        readable = known
        if name:
            readable = opened.config.find_readable(frozenset(groups)) if groups else opened.config.find_shared(name)
        if output:
            from kb.hub.org_wiki import build_comparison

            settings = opened.load_settings(frozenset({name})).get(name)
            language = settings.language if settings and settings.language else resolve_language()
            write_atomic(output, json_bytes(build_comparison(opened, name, readable | {name}, language), indent=1))
            return
        report = opened.compare_bases(readable | {name} if name else readable)
    if name:
        from kb.organisation.across_bases import select_concerning

        report = select_concerning(report, name)
    _print_answer(Answer(report, _iter_across_lines(report)), as_json)


@hub.command("serve", short_help="Answer over the network.")
@config_option
@click.option(
    "--address", default="", metavar="HOST:PORT", help="The address to listen on, instead of the one in hub.toml."
)
def serve_hub(path: str, address: str) -> None:
    """Serve people, portals and agents over HTTP until you stop it, fetching new commits in between.

    Callers are identified as hub.toml says; without [identity] and [code_host] only this machine is answered.
    """
    with _open_hub(path) as opened:
        from kb.hub import serve_hub as serve

        serve(opened, os.environ, address, click.echo)


@hub.command("wiki", short_help="Build a wiki over all repositories.")
@config_option
@click.option("-o", "--out", required=True, metavar="FOLDER", help="The folder to write.")
@click.option("--group", "groups", multiple=True, help="For members of this group (repeatable).")
def build_org_wiki(path: str, out: str, groups: tuple[str, ...]) -> None:
    """Build a site for each repository that members of the groups may read, and a front page over all of them.

    Without a group: only what everybody may read. Prints the path of the front page.
    """
    require_extra("wiki", "kb hub wiki")
    with _open_hub(path) as opened:
        from kb.hub.org_wiki import build_org_wiki as build

        click.echo(build(opened, groups, out, os.environ, resolve_language(), partial(click.echo, err=True)))


@contextmanager
def _open_hub(path: str) -> Iterator[Hub]:
    require_extra("hub", "kb hub")
    from kb.organisation.hub import Hub

    opened = Hub.open(path, os.environ)
    try:
        yield opened
    finally:
        opened.close()


def _print_answer(answer: Answer, as_json: bool) -> None:
    """Print *answer* without a knowledge base around: a hub has many, and none of its own."""
    if as_json:
        print_json(answer.data)
        return
    language = resolve_language()
    for line in answer.lines:
        click.echo(line.translate(language) if isinstance(line, Message) else line)


def _iter_report_lines(reports: Iterable[SyncReport]) -> Iterator[Message]:
    for one in reports:
        if one.error:
            yield msg("{name}: stays as it was: {problem}", name=one.name, problem=one.error)
        if one.before != one.after:
            values = {"name": one.name, "commit": one.after[:10], "updated": one.updated, "removed": one.removed}
            yield msg("{name}: now at {commit}; records written: {updated}, removed: {removed}", **values)
        elif not one.error:
            yield msg("{name}: nothing new", name=one.name)
        yield from _iter_broken_lines(one.name, one.broken)


def _iter_status_lines(found: Iterable[RepositoryStatus]) -> Iterator[Message]:
    for one in found:
        values = {"name": one.name, "records": one.records, "commit": one.indexed[:10] or "–"}
        yield msg("{name}: indexed at {commit}; records: {records}", **values)
        if one.commit != one.indexed:
            yield msg(
                "{name}: {commit} is fetched but not indexed; run: kb hub sync",
                name=one.name,
                commit=one.commit[:10] or "–",
            )
        if one.last_error:
            values = {"name": one.name, "problem": one.last_error, "time": one.last_fetch or "–"}
            yield msg("{name}: {problem} (last fetched {time})", **values)
        yield from _iter_broken_lines(one.name, one.broken)


def _iter_broken_lines(name: str, broken: tuple[BrokenFile, ...]) -> Iterator[Message]:
    for one in broken[:_SHOWN_BROKEN]:
        yield msg("{name}: {path} is left out: {problem}", name=name, path=one.path, problem=one.problem)
    if len(broken) > _SHOWN_BROKEN:
        yield msg("{name}: further files that are left out: {n}", name=name, n=len(broken) - _SHOWN_BROKEN)


def _iter_across_lines(report: AcrossReport) -> Iterator[Message]:
    for pair in report.contradictions:
        yield msg("{one} against {other}: {reason}", one=_name(pair.one), other=_name(pair.other), reason=pair.reason)
    for pair in report.duplicates:
        yield msg("{one} says the same as {other}", one=_name(pair.one), other=_name(pair.other))
    for link in report.links:
        if link.found is None:
            yield msg("{one} names {target}, which is not there", one=_name(link.record), target=link.target)
        elif link.relation == "amends":
            yield msg("{one} amends {other}", one=_name(link.record), other=_name(link.found))
        else:
            yield msg("{one} supersedes {other}", one=_name(link.record), other=_name(link.found))
    yield msg("accepted records compared: {n}", n=report.compared)


def _name(one: OrgRecord) -> str:
    return f"[{one.name}] {one.record.title}"
