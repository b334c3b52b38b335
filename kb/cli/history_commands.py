"""Commands on history: what became of the records, of one record, and what depends on one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from kb.capture.refusals import PASSED_OVER
from kb.cli.comment import LABELS, MARKDOWN, PLAIN, PageStyle
from kb.cli.learning_commands import answer_schedule, describe_gap
from kb.cli.options import Answer, record_options, with_json
from kb.cli.prints import format_record_line, pad_text
from kb.context.disclose import quote_base_name
from kb.history.dependents import find_dependents
from kb.history.snapshot import ChangeLog, ChangeLogEntry, Digest, build_change_log, build_digest, resolve_range
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import section_label
from kb.records.model import LIVE, REVISIT_WHEN
from kb.records.short_form import summarise_section
from kb.safety.quoting import sanitise_text
from kb.text.segment import clip
from kb.writing.edit import find_status_reason

_HEADINGS = {
    "decided": msg("Decided"),
    "superseded": msg("Superseded"),
    "deprecated": msg("Deprecated"),
    "rejected": msg("Rejected"),
    "reopened": msg("Reopened"),
    "proposed": msg("Proposed"),
    "amended": msg("Amended"),
    "edited": msg("Edited"),
    "removed": msg("Removed"),
}
_QUOTED = PLAIN._replace(text=lambda words: sanitise_text(PLAIN.text(words)))
"""For a reader who may be an agent: titles and folder names that pass for a tag of the host are quoted."""
_WEEKLY = "every Monday at 6:17"
_MAX_SHOWN_RECORDS = 10
"""Records of one part of a digest that are named; the others are counted."""
_RELATIONS = {
    said.template: said
    for said in (
        *(msg("superseded by"), msg("amended by"), msg("cited by"), msg("supersedes"), msg("amends")),
        *(msg("same claim"), msg("same files")),
    )
}
_PLACES = {"code": msg("cited in"), "file": msg("is about"), "session": msg("session")}
_LINE = 80
"""Characters of a line of code that are shown."""
_SUBJECTS = {
    "Add": msg("Add {what}", what=""),
    "Add to": msg("Add to {what}", what=""),
    "Update": msg("Update {what}", what=""),
    "Mark superseded": msg("Mark superseded {what}", what=""),
    "Import": msg("Import {what}", what=""),
    "Confirm": msg("Confirm {what}", what=""),
    "Change status of": msg("Change status of {what}", what=""),
    "Edit": msg("Edit {what}", what=""),
    "Accept": msg("Accept {what}", what=""),
    "Replace": msg("Replace {what}", what=""),
    "Amend": msg("Amend {what}", what=""),
}
"""The first words of kb's commit subjects; the commits themselves are in English in every base."""


@click.command()
@click.argument("span", metavar="A..B")
@with_json
def show_changes(kb: KnowledgeBase, span: str) -> Answer:
    """Show what was decided, superseded, deprecated, rejected or edited between two commits, tags or branches.

    The release notes of decisions, as markdown. A alone means A..HEAD.
    """
    happened = build_change_log(kb, *resolve_range(kb, span))
    title = msg("Records from {older} to {newer}", older=happened.older[:10], newer=happened.newer[:10])
    lines = list(_iter_change_lines(kb, happened, MARKDOWN))
    data = _serialise_changes(happened)
    return Answer(
        data, [f"{MARKDOWN.heading}{kb.localise(title)}\n", *(lines[:-1] or [kb.localise(msg("no record changes"))])]
    )


def _iter_change_lines(
    kb: KnowledgeBase, happened: ChangeLog, style: PageStyle, most: int | None = None
) -> Iterator[str]:
    """Yield the lines that tell what became of the records, by what it was; of each the first *most*, if not all."""
    for what, heading in _HEADINGS.items():
        entries = [entry for entry in happened.entries if entry.what == what]
        if entries:
            yield style.strong(style.text(f"{kb.localise(heading)} ({len(entries)})"))
            yield ""
            yield from (f"- {_format_entry(kb, entry, style)}" for entry in entries[:most])
            yield from _count_omitted(kb, entries, most)
            yield ""


def _count_omitted(kb: KnowledgeBase, rows: Sequence[object], most: int | None) -> list[str]:
    """Return the line that counts those of *rows* that the first *most* leave out; [] where there are none."""
    left = 0 if most is None else len(rows) - most
    return [f"- {kb.localise(msg('… and {count} more', count=left))}"] if left > 0 else []


def _format_entry(kb: KnowledgeBase, entry: ChangeLogEntry, style: PageStyle) -> str:
    record, language = entry.record, kb.config.language
    colon, comma = ("：", "、") if language == "zh" else (": ", ", ")
    line = style.text(f"[{qualify_name(kb, record)}] {record.title} ({record.scope})")
    if entry.by:
        line += " → " + style.text(comma.join(f"[{qualify_name(kb, one)}] {one.title}" for one in entry.by))
    # "edited" has no one reason: which parts changed is said in its place
    elif entry.what == "edited":
        names = [section_label(part, language) if part in LABELS else part for part in entry.parts]
        line += colon + style.text(comma.join(names)) if names else ""
    elif why := find_status_reason(record) if record.status not in LIVE else summarise_section(record.section("why")):
        line += " — " + style.text(why)
    return line


def _serialise_changes(happened: ChangeLog) -> dict[str, object]:
    changes = [
        {
            "what": entry.what,
            **{key: getattr(entry.record, key) for key in ("id", "uid", "scope", "kind", "title", "status", "path")},
            "by": [one.id for one in entry.by],
            "parts": list(entry.parts),
        }
        for entry in happened.entries
    ]
    return {"older": happened.older, "newer": happened.newer, "changes": changes}


@click.command()
@click.option("--since", default="7d", show_default=True, metavar="DAY", help="From this day on: 7d, 2026-11-21, week.")
@click.option("--schedule", default="", metavar="WHEN", help="Print the crontab line for a schedule in words.")
@click.option("--ci", is_flag=True, help="Print the workflow for the remote's host instead; times are UTC.")
@with_json
def show_digest(kb: KnowledgeBase, since: str, schedule: str, ci: bool) -> Answer:
    """Show what changed since a day, which reviews are open, which records are stale and which were never used.

    Uses are read from the transcripts of sessions; `kb sync` adds up the counts of all clones.

    --schedule takes words: "every weekday at 8:30", "tomorrow at 9am". What has two readings, and what
    cron cannot say, is an error.
    """
    if schedule or ci:
        return answer_schedule(kb, schedule or _WEEKLY, since, ci=ci)
    found = build_digest(kb, kb.day_named(since))
    data = {
        "since": found.since,
        **_serialise_changes(found.changes),
        "reviews": [{"branch": one.branch, "id": one.record.id, "title": one.record.title} for one in found.reviews],
        "waiting": [{"path": one.path, "rule": one.rule, "message": kb.localise(one.message)} for one in found.waiting],
        "unused": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.unused],
        "counted_from": found.counted_from,
        "refused": found.refused,
        "passed_over": found.passed_over,
        "gaps": [describe_gap(kb, gap) for gap in found.gaps],
        "promotions": [{"name": one.name, "title": one.title, "evidence": one.evidence} for one in found.promotions],
        "dormant": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.dormant],
        "twins": [{"ids": [one.id, other.id], "score": score} for one, other, score in found.twins],
        "revisit": [
            {"id": one.id, "uid": one.uid, "scope": one.scope, "when": one.extra[REVISIT_WHEN]} for one in found.revisit
        ],
    }
    title = msg("{name} since {day}", name=quote_base_name(kb), day=found.since)
    return Answer(data, ["\n".join([kb.localise(title), "", *iter_digest_lines(kb, found)]).rstrip("\n")])


def iter_digest_lines(kb: KnowledgeBase, found: Digest) -> Iterator[str]:
    """Yield what a person reads of a digest."""
    yield from list(_iter_change_lines(kb, found.changes, _QUOTED, _MAX_SHOWN_RECORDS)) or [
        kb.localise(msg("no record changes")),
        "",
    ]
    reviews = [f"{one.branch}: [{qualify_name(kb, one.record)}] {one.record.title}" for one in found.reviews]
    waiting = [f"{one.path}: {kb.localise(one.message)}" for one in found.waiting]
    refused = [f"{one.title}: {'; '.join(one.reasons)} ({one.session})" for one in found.refused]
    passed = [f"{one.quote} ({kb.localise(PASSED_OVER[one.reason])})" for one in found.passed_over]
    unused = [f"[{qualify_name(kb, record)}] {record.title} ({record.scope})" for record in found.unused]
    revisit = [f"[{qualify_name(kb, one)}] {one.title}: {one.extra[REVISIT_WHEN]}" for one in found.revisit]
    gaps = [f"{kb.localise(gap.question)} ({kb.localise(gap.why)})" for gap in found.gaps]
    due = [f"{one.title} ({kb.localise(one.what)}: {one.name})" for one in found.promotions]
    dormant = [f"[{qualify_name(kb, one)}] {one.title}" for one in found.dormant]
    pairs = (([f"[{qualify_name(kb, one)}] {one.title}" for one in pair], score) for *pair, score in found.twins)
    twins = [f"{' ≈ '.join(pair)} ({score:.2f})" for pair, score in pairs]
    again = msg("to write one anyway: kb write, with what its reason asks for")
    counted = msg("not shown to an agent or used since {day}", day=found.counted_from)
    parts: Sequence[tuple[Message, list[str], Message]] = (
        (msg("Open reviews"), reviews, msg("decide them: kb review")),
        (msg("To be reviewed"), waiting, msg("if one still applies: kb confirm ID")),
        (msg("To be revisited when this happens"), revisit, msg("then: kb confirm ID, or kb supersede ID")),
        (msg("Gaps"), gaps, msg("take one as a task: kb gaps take")),
        (msg("Due to grow"), due, msg("open one as a review: kb grow NAME")),
        (msg("Says the same thing twice"), twins, msg("replace one: kb supersede ID --by ID")),
        (msg("Dormant: no longer shown unless searched for"), dormant, msg("if one still applies: kb confirm ID")),
        (msg("Refused in sessions"), refused, again),
        (msg("Not kept in sessions"), passed, msg("to list them: kb inbox --seen")),
        (msg("Unused"), unused, counted),
    )
    for heading, rows, remark in parts:
        if rows:
            yield f"{kb.localise(heading)} ({len(rows)})"
            yield ""
            yield from (f"- {row}" for row in map(_QUOTED.text, rows[:_MAX_SHOWN_RECORDS]))
            yield from _count_omitted(kb, rows, _MAX_SHOWN_RECORDS)
            yield f"  → {kb.localise(remark)}"
            yield ""


@click.command()
@record_options
def show_impact(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Show what to review if a record changed: records, code that cites it, files it governs, sessions.

    Code cites a record as `[D001]` or `kb:D001`; the projects on this machine are searched for such citations.
    """
    found = find_dependents(kb, name, scope=scope)
    lines = []
    for one in found.records:
        relation = pad_text(kb.localise(_RELATIONS[one.relation]), 14)
        detail = f"  {one.detail}" if one.relation.startswith("same") else ""
        lines.append(f"{relation} {format_record_line(kb, one.record)}{detail}")
    for place in found.places:
        # code is looked for in other projects as well, whose paths are absolute
        path = os.path.relpath(place.path) if os.path.isabs(place.path) else place.path
        line = f"{path}:{place.line}: {clip(place.text, _LINE)}" if place.line else path
        lines.append(f"{pad_text(kb.localise(_PLACES[place.kind]), 14)} {line}")
    return Answer(found, lines, [] if lines else [msg("nothing depends on it")])


def _translate_subject(kb: KnowledgeBase, subject: str) -> str:
    """Return the *subject* of a commit as a reader of *kb* reads it; what kb did not write stays as it is."""
    verb, mark, rest = subject.partition(" [")
    known = _SUBJECTS.get(verb) if mark and kb.config.language != "en" else None
    # "Replace [D001] by [D002] …", "Change status of [D001] to deprecated"
    what = "[" + rest.replace("] by [", "] → [").replace("] to ", "] → ")
    return kb.localise(known._replace(values={"what": what})) if known else subject


@click.command()
@click.option("-p", "--patch", is_flag=True, help="Show what each commit changed as well.")
@record_options
def show_log(kb: KnowledgeBase, name: str, patch: bool, scope: str) -> Answer | None:
    """Print who changed a record, when and with which operation, newest first."""
    if patch:
        click.echo(kb.patches(name, scope=scope))
        return None
    changes = kb.log(name, scope=scope)
    lines = []
    for change in changes:
        operation = pad_text(change.operation or kb.localise(msg("by hand")), 10)
        subject = _translate_subject(kb, change.subject)
        lines.append(f"{change.commit[:10]} {change.time[:16]} {operation} {subject}  ({change.author})")
    return Answer(changes, lines)


@click.command()
@record_options
def show_history(kb: KnowledgeBase, name: str, scope: str) -> Answer:
    """Show the life of a record, from git: written, used, changed, no longer accepted.

    Stages are named after those of a seed: seeded, dormant, matured, fruited, updated, obsolete.
    """
    from kb.history.timeline import STAGES

    moments = kb.history(name, scope=scope)
    lines = []
    for moment in moments:
        stage = pad_text(kb.localise(STAGES[moment.stage]), 20)
        commit = f"  {moment.commit[:10]}" if moment.commit else ""
        lines.append(f"{moment.time[:16]}  {stage}  {_translate_subject(kb, moment.cause)}{commit}")
    return Answer(moments, lines)
