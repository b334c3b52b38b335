"""Commands that read records: show, list, search; refs of one; the three views of alaya."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from kb.cli import options, without_click
from kb.cli.options import Answer
from kb.cli.prints import (
    PLACE_BUDGET,
    format_record_line,
    leave_out_ended,
    list_contested,
    pad_text,
    print_counts,
    print_json,
    print_records,
    warn,
    warn_empty_result,
    warn_of_broken_files,
    warn_of_injection,
)
from kb.i18n import msg
from kb.records.kinds import KINDS, karma_label, kind_label
from kb.records.model import GLOBAL, Record
from kb.safety.injection import reveal_hidden
from kb.text.segment import one_line, slugify

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import Filter, KnowledgeBase

_LINKS = {"cites": msg("cites"), "supersedes": msg("supersedes"), "amends": msg("amends")}

past_options = options.add_options(
    click.option("--as-of", default="", metavar="DAY", help="Show the records as they were at the end of this day."),
    click.option(
        "--at",
        "revision",
        default="",
        metavar="REV",
        help="Show the records as they were at this commit, tag or branch.",
    ),
)
tag_and_since_options = options.add_options(
    click.option("--tag", default="", help="Only with this tag."),
    click.option("--since", default="", help="Only from this day on (2026-11-21), or today, yesterday, week."),
)


level_option = click.option(
    "--level",
    type=click.IntRange(0, 2),
    default=None,
    help="0: one line, 256 characters at most; 1: how each section begins, 4,000 at most; 2: the whole file.",
)


def _compile_pattern(context: click.Context, option: click.Parameter, pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.MULTILINE) if pattern else None
    except (re.error, OverflowError, RecursionError) as error:
        problem = msg("{pattern} is not a regular expression: {problem}", pattern=pattern, problem=str(error))
        raise options.usage_error(problem) from None


def _resolve_commit(kb: KnowledgeBase, as_of: str, revision: str) -> str:
    """Return the commit that --as-of or --at names; "" without them."""
    if as_of and revision:
        raise options.usage_error(msg("give --as-of or --at, not both"))
    if not as_of and not revision:
        return ""
    from kb.history import snapshot

    return snapshot.find_last_commit_of_day(kb, as_of) if as_of else snapshot.resolve_revision(kb, revision)


@click.command()
@options.id_argument
@click.option("--short", is_flag=True, help="Print only title, why, impact and rollback.")
@click.option("--strict", is_flag=True, help="With --short: all six ADR fields.")
@level_option
@past_options
@options.scope_option
@options.json_option
@options.with_kb
def show_record(
    kb: KnowledgeBase, name: str, as_of: str, revision: str, level: int | None, scope: str, as_json: bool, **given: Any
) -> None:
    """Print the file of a record, or its short form.

    ID is also an address, agent://<project>/<type>/<tag>/<id>; one of several records lists them, a line each, and so
    does a scope or a kind in place of ID: one level lower than asked, with 0 how many there are.

    With --as-of or --at, the records as they were then, from git's history.
    """
    commit = _resolve_commit(kb, as_of, revision)
    without_click.print_record(kb, name, scope=scope, as_json=as_json, commit=commit, level=level, **given)


@click.command()
@click.argument("place", required=False, default="", metavar="[PATH|ADDRESS]")
@click.option("--kind", default="", help="Only this kind: its name, prefix or label.")
@click.option("--category", type=click.Choice(sorted({kind.category for kind in KINDS})), help="Only this category.")
@options.status_option
@options.scope_option
@click.option(
    "--here",
    "is_here",
    is_flag=True,
    help="Only records of this project and global ones; in the knowledge base itself, all.",
)
@tag_and_since_options
@click.option("-n", "--limit", type=click.IntRange(min=1), help="The maximum number of results.")
@click.option("--newest", "is_newest", is_flag=True, help="Newest first, by date.")
@click.option("--table", is_flag=True, help="As a markdown table: decision, date, reason.")
@click.option("--tree", "is_tree", is_flag=True, help="As a tree: owner, type, domain or tag, record.")
@click.option("--count", "is_count", is_flag=True, help="Count records by kind, status, scope, agent and age.")
@click.option("--level", type=click.IntRange(0, 2), help="0: how many; 1: a line each; 2: how each section begins.")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    default=PLACE_BUDGET,
    show_default=True,
    help="With --level: the maximum number of estimated tokens.",
)
@options.json_option
@options.with_kb
def list_records(
    kb: KnowledgeBase, place: str, is_here: bool, scope: str, as_json: bool, category: str | None, **given: Any
) -> int | None:
    """List records by scope and id: all of them, or those the options select.

    With PATH, what governs this file: records that name it or a folder it is in; of a folder, also what governs the
    files below it. Records that name it only in their text follow.

    ADDRESS is agent://<who>/<type>/<tag>, of which all but <who> may be left out. <who> is global, a project, me (your
    own knowledge base) or an agent; <type> is preference, knowledge, experience, session, or a kind.
    """
    with _open_place(kb, place) as (base, wanted, paths):
        if wanted is None:
            return _list_sessions(base, place, as_json=as_json)
        scopes = options.as_filter_values(scope)
        # the records of a project and those that hold for all; a scope that is named says more than --here
        if is_here and not scope and base.caller_scope != GLOBAL:
            scopes = base.own_scopes(base.caller_scope)
        since = base.day_named(given["since"]) if given["since"] else ""
        kinds, statuses = options.resolve_kind(given["kind"]), options.as_filter_values(given["status"])
        wanted = wanted._replace(kinds=kinds or wanted.kinds, scopes=scopes or wanted.scopes)
        wanted = wanted._replace(statuses=statuses, tag=given["tag"], since=since)
        records = base.records(wanted)
        named = _find_naming(base, wanted, records) if wanted.path else []
        records += named
        if wanted.path and not statuses:
            records = leave_out_ended(base, records)
        warn_of_broken_files(base)
        names = {row.name for row in KINDS if category in (None, row.category)}
        records = [one for one in records if one.kind in names and (paths is None or one.path in paths)]
        if given["is_newest"]:
            records.sort(key=lambda one: (one.date, one.uid), reverse=True)  # a uid begins with the time
        if (limit := given["limit"]) and not given["is_count"] and len(records) > limit:
            warn(base, msg("{n} more: raise --limit", n=len(records) - limit))
            records = records[:limit]
        given["named"] = {record.path for record in named}
        return _print_list(base, records, given, scope, as_json=as_json)


def _find_naming(kb: KnowledgeBase, wanted: Filter, governing: list[Record]) -> list[Record]:
    """Return the records beside *governing* whose text names the path of *wanted*, or a file below it."""
    from kb.index.schema import normalise_path
    from kb.records.citations import find_named_paths

    path, known = normalise_path(wanted.path), {record.path for record in governing}
    below = ("",) if path == "." else (f"{path}/",) if wanted.is_folder else ()
    return [
        record
        for record in kb.records(wanted._replace(path="", is_folder=False))
        if record.path not in known
        if path == "." or any(path in section.text for section in record.sections)
        if any(one == path or one.startswith(below) for one in find_named_paths(record))
    ]


def _print_list(
    kb: KnowledgeBase, records: list[Record], given: dict[str, Any], scope: str, *, as_json: bool
) -> int | None:
    """Print *records* in the form that the options of `kb list` name; return the exit code.

    Those whose file is in `given["named"]` are marked: only their text names the path.
    """
    from kb.records.short_form import render_table

    if given["is_count"]:
        print_counts(kb, records, as_json=as_json)
        return 0
    if not records:
        warn_empty_result(kb, msg("no record"), scope)
    if given["level"] is not None and records:
        print_records(kb, records, level=given["level"], budget=given["budget"], as_json=as_json)
        return 0
    # a line shows no more than the title; JSON and the table show what else may speak to an agent
    warn_of_injection(kb, records, titles=not (as_json or given["table"]))
    if given["is_tree"]:
        return options.print_answer(kb, _build_tree(kb, records), as_json=as_json)
    contested = {} if as_json or given["table"] else list_contested(kb)
    mark = f"  {kb.localise(msg('(named in the text)'))}"
    rows = [
        format_record_line(kb, one, contested.get((one.scope, one.id), ""))
        + (mark if one.path in given["named"] else "")
        for one in records
    ]
    lines = [render_table(records, kb.config.language)] if given["table"] else rows
    has_mark = any((record.scope, record.id) in contested for record in records)
    notes = [msg("⎇ an open review would change this record: kb review")] if has_mark else []
    return options.print_answer(kb, Answer(records, lines, notes=notes), as_json=as_json)


@contextmanager
def _open_place(kb: KnowledgeBase, place: str) -> Iterator[tuple[KnowledgeBase, Filter | None, set[str] | None]]:
    """Give the knowledge base of *place*, the filter of its records, and their paths where that says less.

    *place* is an address, or a path that records govern. The filter is None where it names sessions.
    """
    from kb.knowledge_base import Filter

    if not place:
        yield kb, Filter(), None
        return
    if "://" not in place and ("/" in place or "." in place or os.path.exists(place)):
        yield kb, Filter(path=options.name_in_repository(place), is_folder=os.path.isdir(place)), None
        return
    from kb.history.timeline import find_agent_paths
    from kb.search.addresses import ME, SESSION, find_addressed, parse_address, resolve_place

    address = parse_address(place)
    with kb.own() if address.who == ME else nullcontext(kb) as base:
        if address.type == SESSION:
            yield base, None, None
            return
        found = resolve_place(base.sync_index(), address)
        one = {find_addressed(base.index, address)[0].path} if address.id else None
        paths = find_agent_paths(base, found.agent) if found.agent else one
        yield base, Filter() if one else found.wanted, paths


def _list_sessions(kb: KnowledgeBase, place: str, *, as_json: bool) -> int | None:
    """Print the archived sessions of the address *place*."""
    from kb.search.addresses import ME, parse_address

    address = parse_address(place)
    found = [
        one
        for one in kb.sessions()
        if address.who in ("", ME) or one.project == slugify(address.who)
        if not address.id or one.name.startswith(address.id)
    ]
    if not found:
        warn(kb, msg("no session"))
    return options.print_answer(kb, Answer(found, (f"{one.name}  {one.task}" for one in found)), as_json=as_json)


def _build_tree(kb: KnowledgeBase, records: list[Record]) -> Answer:
    """Return *records* as a tree: whose they are, their type, their domain or first tag, and each with its title."""
    from kb.index.record_ids import qualify_name
    from kb.search.addresses import build_address, format_address

    addresses = [build_address(record) for record in records]
    keys = [tuple(one[:depth]) for one in addresses for depth in (1, 2, 3) if all(one[:depth])]
    counts = Counter(keys)
    rows, lines = [], []
    above: set[tuple[str, ...]] = set()
    # within a type, what has no domain and no tag follows what has one
    order = sorted(range(len(records)), key=lambda n: (*addresses[n][:2], not addresses[n].category, addresses[n]))
    for address, record in ((addresses[n], records[n]) for n in order):
        path = [part for part in address[:3] if part]
        for depth in range(1, len(path) + 1):
            if (key := tuple(path[:depth])) not in above:
                above.add(key)
                lines.append(f"{'  ' * (depth - 1)}{path[depth - 1]} ({counts[key]})")
        lines.append(f"{'  ' * len(path)}{qualify_name(kb, record)} {record.title}")
        rows.append({"address": format_address(address), "id": record.id, "title": record.title, "path": record.path})
    return Answer(rows, lines)


_ASKED_OF_HUB = frozenset("kind status scope tag since until path limit as_json".split())
"""The options of `kb search` that a hub knows as well."""
_SHOWN_OF_HUB = ("name", "title", "scope", "snippet")


def _or_ask_hub(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a search, or ask the hub, for which there need be none."""

    @click.pass_context
    @functools.wraps(function)
    def call(ctx: click.Context, /, words: tuple[str, ...], org: bool, **given: Any) -> None:
        if not org:
            with options.open_base(ctx) as kb:
                function(kb, words, **given)
            return
        if not words or any(value for name, value in given.items() if name not in _ASKED_OF_HUB):
            message = msg("with --org go words and --kind, --status, --scope, --tag, --since, --until, --path, -n")
            raise options.usage_error(message)
        project = options.find_asking_project(ctx)
        _print_hub_answers(" ".join(words), project=project, **{key: given[key] for key in _ASKED_OF_HUB})

    return call


def _print_hub_answers(query: str, *, kind: str, status: str | None, as_json: bool, **given: Any) -> None:
    """Print what the hub answers to *query*: the record, by the name that other repositories cite, and its words."""
    from kb.organisation.hub_client import search_hub

    kinds = options.resolve_kind(kind)
    reply = search_hub(query, {**given, "kind": kinds[0] if kinds else "", "status": status or ""}, os.environ)
    if reply.note:
        options.print_note(reply.note)
    if as_json:
        print_json(reply.answers)
        return
    if not reply.answers:
        options.print_note(msg("nothing found"))
    for row in reply.answers:
        name, title, scope, snippet = (one_line(reveal_hidden(str(row.get(key, "")))) for key in _SHOWN_OF_HUB)
        click.echo(f"{name}  {title}  ({scope}, {one_line(str(row.get('status', '')))})")
        if snippet:
            click.echo(f"       {snippet}")


@click.command()
@click.argument("words", nargs=-1)
@click.option("--kind", default="", help="Only this kind.")
@options.status_option
@options.scope_option
@tag_and_since_options
@click.option("--until", default="", help="Only up to this day.")
@click.option("--path", default="", help="Only what governs this file: records that name it or a folder it is in.")
@click.option(
    "--agent", default="", metavar="NAME", help="Only what this agent, or this author of a commit, wrote or changed."
)
@click.option("--under", default="", metavar="ADDRESS", help="Only below this address: agent://<who>/<type>/<tag>.")
@click.option(
    "--regex",
    "pattern",
    default="",
    metavar="R",
    callback=_compile_pattern,
    help="Match this regular expression instead of words; newest first, for two seconds at most.",
)
@level_option
@past_options
@click.option("--explain", is_flag=True, help="Explain how the query was interpreted and how each score was computed.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="The maximum number of results."
)
@click.option("--org", is_flag=True, help="Ask the organisation's hub ($KB_HUB_URL) instead of this base.")
@options.json_option
@_or_ask_hub
def search_records(
    kb: KnowledgeBase,
    words: tuple[str, ...],
    kind: str,
    status: str | None,
    scope: str,
    tag: str,
    since: str,
    until: str,
    path: str,
    under: str,
    as_of: str,
    revision: str,
    **given: Any,
) -> None:
    """Find records by words of their title, tags or text, Chinese or English, best first.

    Records with all the words come first; if those are no answer, records with some of them follow. Without words:
    everything the filters select, newest first.

    With --as-of or --at, the records as they were then, from git's history.
    """
    from kb.knowledge_base import Filter

    since, until = (kb.day_named(day) if day else "" for day in (since, until))
    kinds, statuses = options.resolve_kind(kind), options.as_filter_values(status)
    wanted = Filter(kinds, statuses, options.as_filter_values(scope), tag, since, until, path)
    commit = _resolve_commit(kb, as_of, revision)
    if given["pattern"] and (words or commit or given["agent"]):
        raise options.usage_error(msg("--regex goes with filters, and neither with words nor with a state of the past"))
    with _open_under(kb, under) as (base, below, agent):
        given["agent"] = given["agent"] or agent
        wanted = wanted._replace(
            kinds=kinds or below.kinds, scopes=wanted.scopes or below.scopes, category=below.category
        )
        # all records are what `kb list` is for
        if not words and wanted == Filter() and not (given["agent"] or given["pattern"] or under):
            raise options.usage_error(msg("give words to look for, or a filter"))
        without_click.print_search_results(base, words, wanted=wanted, commit=commit, **given)


@contextmanager
def _open_under(kb: KnowledgeBase, under: str) -> Iterator[tuple[KnowledgeBase, Filter, str]]:
    """Give the knowledge base of the address *under*, the filter of its records, and the agent where it names one."""
    from kb.knowledge_base import Filter
    from kb.search.addresses import ME, Address, Place, parse_address, resolve_place

    address = parse_address(under) if under else Address()
    if address.id:
        raise options.usage_error(msg("{address} is one record: kb show {address}", address=under))
    with kb.own() if address.who == ME else nullcontext(kb) as base:
        place = resolve_place(base.sync_index(), address) if under else Place(Filter())
        yield base, place.wanted, place.agent


@click.command()
@options.record_options
def show_links(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Show what a record cites, supersedes and amends, and what does the same to it; dangling citations are marked."""
    links = kb.refs(name, scope=scope)
    lines = []
    for link in dict.fromkeys(link._replace(line=0) for link in links):  # once, on however many lines
        relation = pad_text(kb.localise(_LINKS[link.relation]), 11)
        title = link.title or kb.localise(msg("not found"))
        lines.append(f"{'→' if link.outward else '←'} {relation} [{link.name}] {title}")
    return Answer(links, lines)


@click.command()
@click.argument("view", type=click.Choice(["seeds", "karma", "prefs"]))
@options.with_json
def show_alaya(kb: KnowledgeBase, view: str) -> Answer:
    """Show the records in one of three views: seeds by kind, karma by its label, prefs for preferences."""
    language = kb.config.language
    if view == "karma":
        label = {kind.name: karma_label(kind.name, language) for kind in KINDS}
    else:
        label = {kind.name: f"{kind.prefix} {kind_label(kind.name, language)}" for kind in KINDS}
    records = [record for record in kb.records() if view != "prefs" or record.kind == "preference"]
    warn_of_broken_files(kb)
    # in the order of the table of kinds; several kinds share a karma
    groups = {name: [r for r in records if label.get(r.kind) == name] for name in dict.fromkeys(label.values())}
    rows = {name: [{**r._asdict(), "karma": label[r.kind]} for r in group] for name, group in groups.items() if group}
    lines = (
        line
        for name, group in groups.items()
        if group
        for line in (f"{name} ({len(group)})", *(f"  {format_record_line(kb, record)}" for record in group))
    )
    return Answer(rows, lines)
