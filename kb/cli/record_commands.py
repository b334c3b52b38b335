"""Commands that read records: show, list, search; log, history and refs of one; the three views of alaya."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli import options, plain
from kb.cli.options import (
    Answer,
    format_record_line,
    pad_text,
    warn_empty_result,
    warn_of_broken_files,
    warn_of_injection,
)
from kb.i18n import msg
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_LINKS = {"cites": msg("cites"), "supersedes": msg("supersedes"), "amends": msg("amends")}

past_options = options.add_options(
    click.option("--as-of", default="", metavar="DAY", help="As the records stood at the end of this day."),
    click.option(
        "--at", "revision", default="", metavar="REV", help="As the records stood at this commit, tag or branch."
    ),
)
tag_and_since_options = options.add_options(
    click.option("--tag", default="", help="Only with this tag."),
    click.option("--since", default="", help="Only from this day on (2026-11-21), or today, yesterday, week."),
)


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
@click.option("--short", is_flag=True, help="Only title, why, impact and rollback.")
@click.option("--strict", is_flag=True, help="With --short: all six ADR fields.")
@past_options
@options.scope_option
@options.json_option
@options.with_kb
def show_record(
    kb: KnowledgeBase, name: str, short: bool, strict: bool, as_of: str, revision: str, scope: str, as_json: bool
) -> None:
    """Print the file of a record, or its short form.

    With --as-of or --at, the records as they stood then, from git's history.
    """
    commit = _resolve_commit(kb, as_of, revision)
    plain.print_record(kb, name, short=short, strict=strict, scope=scope, as_json=as_json, commit=commit)


@click.command()
@click.option("--kind", default="", help="Only this kind (name, prefix or 决策…).")
@click.option("--category", type=click.Choice(sorted({kind.category for kind in KINDS})), help="Only this category.")
@options.status_option
@options.scope_option
@click.option(
    "--here",
    "is_here",
    is_flag=True,
    help="Only of this project, and the global ones; in the knowledge base itself, all.",
)
@tag_and_since_options
@click.option("--table", is_flag=True, help="As a markdown table: decision, date, reason.")
@options.json_option
@options.with_kb
def list_records(
    kb: KnowledgeBase,
    kind: str,
    category: str | None,
    status: str | None,
    scope: str,
    is_here: bool,
    tag: str,
    since: str,
    table: bool,
    as_json: bool,
) -> int | None:
    """List records by scope and id, all or those that the options name."""
    from kb.knowledge_base import Filter
    from kb.records.short_form import render_table

    scopes = options.as_filter_values(scope)
    # the records of a project and those that hold for all; a scope that is named says more than --here
    if is_here and not scope and kb.caller_scope != GLOBAL:
        scopes = (kb.caller_scope, GLOBAL)
    since = kb.day_named(since) if since else ""
    records = kb.records(Filter(options.resolve_kind(kind), options.as_filter_values(status), scopes, tag, since))
    warn_of_broken_files(kb)
    if category:
        names = {row.name for row in KINDS if row.category == category}
        records = [record for record in records if record.kind in names]
    if not records:
        warn_empty_result(kb, msg("no record"), scope)
    # a line shows no more than the title; JSON and the table show what else may speak to an agent
    warn_of_injection(kb, records, titles=not (as_json or table))
    rows = (format_record_line(kb, record) for record in records)
    return options.print_answer(
        kb, Answer(records, [render_table(records, kb.config.language)] if table else rows), as_json=as_json
    )


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
@past_options
@click.option("--explain", is_flag=True, help="Tell how the words were understood and what each score is made of.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most this many.")
@options.json_option
@options.with_kb
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
    as_of: str,
    revision: str,
    **given: Any,
) -> None:
    """Find records by words of their title, tags or text, Chinese or English, best first.

    What holds all the words stands first; where that is no answer yet, what holds some of them follows. Without words,
    all that a filter wants, the newest first.

    With --as-of or --at, the records as they stood then, from git's history.
    """
    from kb.knowledge_base import Filter

    since, until = (kb.day_named(day) if day else "" for day in (since, until))
    wanted = Filter(
        options.resolve_kind(kind),
        options.as_filter_values(status),
        options.as_filter_values(scope),
        tag,
        since,
        until,
        path,
    )
    # all records are what `kb list` is for
    if not words and wanted == Filter() and not given["agent"]:
        raise options.usage_error(msg("give words to look for, or a filter"))
    commit = _resolve_commit(kb, as_of, revision)
    plain.print_search_results(kb, words, wanted=wanted, commit=commit, **given)


@click.command()
@click.option("-p", "--patch", is_flag=True, help="With what each commit changed.")
@options.record_options
def show_log(kb: KnowledgeBase, name: str, patch: bool, scope: str) -> Answer | None:
    """Print who changed a record, when and with which operation, newest first."""
    if patch:
        click.echo(kb.patches(name, scope=scope))
        return None
    changes = kb.log(name, scope=scope)
    operations = [pad_text(change.operation or kb.localise(msg("by hand")), 10) for change in changes]
    lines = (
        f"{change.commit[:10]} {change.time[:16]} {operation} {change.subject}  ({change.author})"
        for change, operation in zip(changes, operations, strict=True)
    )
    return Answer(changes, lines)


@click.command()
@options.record_options
def show_history(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Tell the life of a record from git.

    播种 seeded, 休眠 dormant, 成熟 matured, 果报 fruited, 更新 updated, 废弃 obsolete.
    """
    from kb.history.timeline import STAGES

    moments = kb.history(name, scope=scope)
    lines = []
    for moment in moments:
        stage = pad_text(STAGES[moment.stage] if kb.config.language == "zh" else moment.stage, 8)
        commit = f"  {moment.commit[:10]}" if moment.commit else ""
        lines.append(f"{moment.time[:16]}  {stage}  {moment.cause}{commit}")
    return Answer(moments, lines)


@click.command()
@options.record_options
def show_links(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Tell what a record cites, supersedes and amends, and what does so to it; dangling citations are marked."""
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
    """Show the records in one of three views: 种子库 seeds by kind, 业力库 karma by label, 偏好库 preferences."""
    label = {kind.name: kind.karma if view == "karma" else f"{kind.prefix} {kind.zh}" for kind in KINDS}
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
