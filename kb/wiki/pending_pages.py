"""Pages of the wiki on what waits for a person: open reviews with both sides, the inbox, and what kb check finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, section_label
from kb.records.model import LIVE, Record, Status
from kb.wiki.page_parts import render_side_by_side, split_commands
from kb.wiki.render import Html, escape_markdown, escape_title, strip_markup
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.check_context import Finding

REVIEWS, INBOX, HEALTH = "reviews.md", "inbox.md", "health.md"
CHECK = "kb check"


# -- reviews and the inbox ------------------------------------------------------------------------


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first."""
    parts: list[str] = []
    for sides in wiki.sources.reviews:
        new = sides.review.record
        olds = sides.old or (Record(new.id, new.kind, "–", scope=new.scope),)
        parts.append(f"## {escape_markdown(new.id)} {escape_title(new.title)}")
        parts.append(wiki.render("pending.review", sides.review, olds, format_age(sides.review, wiki.sources.today)))
        # The commit gives the reasons; its trailers ("Kb-Host: …") are no part of them.
        reasons = [row for row in sides.reasons.splitlines() if row.strip() and not row.startswith("Kb-")]
        parts += [wiki.render("pending.reasons", reasons)] if reasons else []
        parts += [render_both_sides(wiki, old, new) for old in olds]
    if not parts:
        rows = (
            ("kb review", msg("lists the open ones")),
            ("kb review show D002", msg("shows both sides of one")),
            ("kb supersede D001 --by D002", msg("replaces a record without one: you decide")),
        )
        empty = wiki.render("pending.empty", msg("No review is open."), rows)
        note = msg("One opens by itself when an agent contradicts an accepted record.")
        return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), empty, wiki.format_message(note))
    intro = msg("Each is a branch that contradicts an accepted record: merging it accepts it, closing it rejects it.")
    return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), wiki.format_message(intro), *parts)


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records next to each other, part by part, with every word marked that differs."""
    pairs = [("", old.title, new.title)] if old.title != new.title else []
    for section in SECTIONS:
        before, after = old.section(section.name), new.section(section.name)
        if (before or after) and not (changed_only and before == after):
            pairs.append((section_label(section.name, wiki.config.language, new.kind), before, after))
    shown = (
        (label, strip_markup(before, lines=True), strip_markup(after, lines=True)) for label, before, after in pairs
    )
    rows = [(label, *render_side_by_side(before, after)) for label, before, after in shown]
    return wiki.render("pending.both_sides", old, new, rows)


def build_inbox_page(wiki: Wiki) -> WikiPage:
    """Return the page with what the gate keeps back."""
    held = wiki.sources.held
    title = wiki.translate(msg("Inbox"))
    if not held:
        rows = (
            ("kb inbox", msg("lists what waits and decides it")),
            ("kb write notes.json", msg("hands candidates in; what is too slight waits here")),
            ("kb new", msg("writes a record yourself: it does not wait")),
        )
        return build_list_page(INBOX, title, wiki.render("pending.empty", msg("Nothing waits below the gate."), rows))
    intro = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    parts = [wiki.format_message(intro)]
    for one in held:
        parts += [f"## {escape_title(one.candidate.title)}", wiki.render("pending.held", one)]
    return build_list_page(INBOX, title, *parts)


# -- health ---------------------------------------------------------------------------------------

MAX_SHOWN = 200
"""Rows of one group that are shown, at most."""
UNUSED_DAYS = 180
"""The age at which a record should have been used."""
RULE_NAMES: Mapping[str, Message] = {
    "contradiction": msg("Contradictions"),
    "claims": msg("Claims that differ"),
    "citation": msg("Citations that lead nowhere"),
    "dead-citation": msg("Citations of what is no longer accepted"),
    "link": msg("Links that lead nowhere"),
    "impact": msg("Dangling paths"),
    "stale": msg("Stale records"),
    "unsettled": msg("Undecided for long"),
    "due": msg("Due for another look"),
    "verification": msg("Verifications that fail"),
    "superseded": msg("Superseded without a valid successor"),
    "relation": msg("Relations that lead nowhere"),
    "coexistence": msg("Records side by side without a reason"),
    "sections": msg("Missing sections"),
    "section-twice": msg("Sections that stand twice"),
    "twice": msg("Lines that stand twice"),
    "both-sides": msg("Both sides of a merge"),
    "conflict-markers": msg("Conflict markers"),
    "title": msg("Vague titles"),
    "heading": msg("Headings that name another record"),
    "duplicate-id": msg("Numbers used twice"),
    "branch-id": msg("Numbers another branch uses too"),
    "secret": msg("Secrets"),
    "untrusted": msg("Text that gives agents orders"),
    "unmarked": msg("Successors not marked"),
    "heirs": msg("Several successors"),
    "date": msg("Dates"),
    "status": msg("Statuses"),
    "bare": msg("Files without markers"),
    "fix": msg("Pitfalls and their fixes"),
}
"""What the findings of a rule are called; those of another one by the word of kb check."""


class FindingRow(NamedTuple):
    """One record in a group of Health: what is wrong with it, and what to run."""

    position: int | None
    path: str
    texts: tuple[str, ...]
    steps: tuple[tuple[str, bool], ...]
    """The next step in pieces, each with whether it is a command."""


def build_health_page(wiki: Wiki) -> WikiPage:
    """Return the page with what is wrong, by rule and record, the one next step for each, and what nobody needs."""
    errors = sum(finding.severity == "error" for finding in wiki.sources.findings)
    title, counts = wiki.translate(msg("Health")), (errors, len(wiki.sources.findings) - errors)
    alone = msg("No other record cites these, they cite none, and they name no path: only search leads to them.")
    forgotten = msg("Half a year old, cited by nothing, never confirmed and never repeated.")
    unneeded = [
        (label, note, positions)
        for label, note, positions in (
            (msg("Orphans"), alone, find_orphans(wiki)),
            (msg("Never used"), forgotten, find_unused(wiki)),
        )
        if positions
    ]
    parts = [wiki.render("pending.health_summary", *counts, len(wiki.library.records))]
    parts += [wiki.render("pending.group", *group, MAX_SHOWN) for group in group_findings(wiki)]
    parts += [wiki.render("pending.unneeded", *group, MAX_SHOWN) for group in unneeded]
    return build_list_page(HEALTH, title, *parts)


def group_findings(wiki: Wiki) -> list[tuple[str, object, bool, list[FindingRow]]]:
    """Return the findings by rule: its name, what it is called, whether one is an error, and a row for each record.

    Rules with errors come first, then those with most records.
    """
    rules: dict[str, dict[str, list[Finding]]] = {}
    for finding in wiki.sources.findings:
        rules.setdefault(finding.rule, {}).setdefault(finding.path, []).append(finding)
    groups = []
    for rule, paths in rules.items():
        is_error = any(finding.severity == "error" for findings in paths.values() for finding in findings)
        rows = [_build_row(wiki, path, findings) for path, findings in paths.items()]
        groups.append((rule, RULE_NAMES.get(rule, rule), is_error, rows))
    return sorted(groups, key=lambda group: (not group[2], -len(group[3]), group[0]))


def _build_row(wiki: Wiki, path: str, findings: Sequence[Finding]) -> FindingRow:
    texts = dict.fromkeys(strip_markup(wiki.translate(finding.message)) for finding in findings)
    steps = dict.fromkeys(strip_markup(wiki.translate(finding.fix)) for finding in findings)
    pieces = tuple(piece for step in steps for piece in split_commands(step))
    return FindingRow(wiki.library.by_path.get(path), path, tuple(texts), pieces)


def list_said_findings(wiki: Wiki) -> list[list[str]]:
    """Return what Health says of the findings in the language of the wiki, each piece with the other language's."""
    own, other = wiki.config.language, "en" if wiki.config.language == "zh" else "zh"
    found: dict[str, str] = {}

    def add(pieces: Iterable[str], others: Iterable[str]) -> None:
        for piece, said in zip(pieces, others, strict=False):
            if piece != said:
                found[piece] = said

    labels = {section_label(one.name, own): section_label(one.name, other) for one in SECTIONS}

    def turn(message: Message) -> str:
        values = {name: _turn_list(value, labels) for name, value in message.values.items()}
        return message._replace(values=values).translate(other)

    for finding in wiki.sources.findings:
        add([strip_markup(finding.message.translate(own))], [strip_markup(turn(finding.message))])
        steps = [split_commands(strip_markup(text)) for text in (finding.fix.translate(own), turn(finding.fix))]
        if [is_command for _, is_command in steps[0]] == [is_command for _, is_command in steps[1]]:
            add(*([text.strip() for text, is_command in step if not is_command] for step in steps))
    return [[piece, said] for piece, said in found.items()]


def _turn_list(value: object, labels: Mapping[str, str]) -> object:
    """Return *value* with its words in the other language, where it is a list of the names of sections."""
    words = str(value).split(", ")
    return ", ".join(labels[word] for word in words) if all(word in labels for word in words) else value


def find_orphans(wiki: Wiki) -> list[int]:
    """Return the live records that no relation joins to another one, and that name no path."""
    joined = {position for edge in wiki.library.iter_edges() for position in edge[:2]}
    records = enumerate(wiki.library.records)
    return [n for n, record in records if record.status in LIVE and n not in joined and not record.impact]


def find_unused(wiki: Wiki) -> list[int]:
    """Return the records in force that nothing has referred to since they were written long ago."""
    if not wiki.sources.today:
        return []
    before = (date.fromisoformat(wiki.sources.today) - timedelta(days=UNUSED_DAYS)).isoformat()
    return [
        n
        for n, record in enumerate(wiki.library.records)
        if record.status == Status.ACCEPTED
        and "" < record.date[:10] < before
        and not record.confirmed
        and record.occurrences < 2
        and not wiki.library.cited_by.get(n)
        and len(wiki.list_versions(record)) < 2
    ]
