"""Pages of the wiki on records, sessions and pending work (reviews with both sides, inbox, findings of kb check).

Whatever a text says, it is shown inside a frame of its own and its citations become links.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, section_label
from kb.records.model import GLOBAL, LIVE, Record, Reference, Status
from kb.text.segment import normalise, one_line
from kb.wiki.page_parts import format_title, render_side_by_side
from kb.wiki.render import (
    Html,
    escape_markdown,
    format_link,
    format_table,
    limit_open_brackets,
    parse_reference,
    replace_citations,
)
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.check_context import Finding
    from kb.sessions.session_archive import SessionArchive

MAX_SECTION_CHARACTERS = 300_000
"""Characters of a section beyond which it is shown as it stands: markdown of a megabyte would hold up the wiki."""
RELATED_PARTS = (
    (msg("Replaced by one another"), "record.chain"),
    (msg("Impact paths"), "record.paths"),
    (msg("Cited by"), "record.cited_by"),
    (msg("Similar records"), "record.similar"),
    (msg("History"), "record.history"),
    (msg("Facts"), "record.facts"),
)
"""What stands below the words of a record: title and macro."""


class CitationLinker:
    """Turns the citations of one text into links, and keeps those that lead nowhere."""

    def __init__(self, wiki: Wiki, scope: str, uri: str) -> None:
        """Read citations as *scope* means them, on the page *uri*."""
        self.wiki = wiki
        self.scope = scope
        self.uri = uri
        self.broken: list[str] = []

    def link_citations(self, text: str) -> str:
        """Return the markdown *text* with its citations as links."""
        return replace_citations(limit_open_brackets(text.strip("\n")), self._link_citation, self._link_wiki_link)

    def _link_citation(self, reference: Reference) -> str:
        words = f"[{reference.project}:{reference.id}]" if reference.project else f"[{reference.id}]"
        position = self.wiki.library.find(reference, self.scope)
        return self._format_target(position, words, words, self.wiki.is_hidden(reference, self.scope))

    def _link_wiki_link(self, words: str, label: str) -> str:
        library, position = self.wiki.library, self.wiki.library.find_link_target(words, self.scope)
        is_hidden = self.wiki.is_hidden(parse_reference(words), self.scope)
        is_hidden = is_hidden or normalise(words) in self.wiki.hidden_titles
        shown = "" if position is None else label or library.records[position].title
        return self._format_target(position, shown, f"[[{words}]]", is_hidden)

    def _format_target(self, position: int | None, shown: str, written: str, is_hidden: bool) -> str:
        if position is not None:
            record = self.wiki.library.records[position]
            hint = f"{self.wiki.label_status(record.status)} · {record.title}"
            return format_link(escape_markdown(shown), self.wiki.library.uris[position], self.uri, hint)
        if is_hidden:
            return escape_markdown(written)
        self.broken.append(written)
        return escape_markdown(f"{written} ⚠️ {self.wiki.translate(msg('no such record'))}")


def frame_text(text: str, frame: str = "kb-text") -> list[str]:
    """Return the markdown *text*, which is not the wiki's own, as parts of a page."""
    return [Html(f'<div class="{frame}">'), text, Html("</div>")]


# -- records --------------------------------------------------------------------------------------


def build_record_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the record at *position* of the library."""
    record, uri = wiki.library.records[position], wiki.library.uris[position]
    citing = CitationLinker(wiki, record.scope, uri)
    parts = [f"# {escape_markdown(f'[{record.id}]')} {escape_markdown(record.title)}"]
    parts.append(wiki.render("record.head", position))
    for section in record.sections:
        heading = section_label(section.name, wiki.config.language, record.kind) if section.name else section.heading
        parts += [f"## {escape_markdown(heading)}", *_render_text(citing, section.text)]
    if record.user.strip():
        parts += [f"## {wiki.format_message(msg('Notes by people'))}", *_render_text(citing, record.user, "kb-person")]
    for title, macro in RELATED_PARTS:
        parts += wiki.render_part(title, macro, position)
    return WikiPage(uri, tuple(parts), source=record.path, broken=tuple(citing.broken))


def _render_text(citing: CitationLinker, text: str, frame: str = "kb-text") -> list[str]:
    """Return *text* as parts of a page; a very long one without links, as it is in the file."""
    if len(text) <= MAX_SECTION_CHARACTERS:
        return frame_text(citing.link_citations(text), frame)
    return [citing.wiki.render("record.remark", len(text)), citing.wiki.render("record.plain", text)]


# -- archived sessions ----------------------------------------------------------------------------

SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
MAX_FORM_CHARACTERS = 100_000
"""Characters of one form that are shown."""


def iter_session_pages(wiki: Wiki) -> Iterator[WikiPage]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    yield build_list_page(SESSIONS, wiki.translate(msg("Sessions")), *_iter_session_lists(wiki))
    for position in range(len(wiki.sessions)):
        yield build_session_page(wiki, position)


def _iter_session_lists(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[tuple[SessionArchive, str]]] = {}
    for (session, _), uri in zip(wiki.sessions, wiki.session_uris, strict=True):
        projects.setdefault(session.project, []).append((session, uri))
    for project, rows in projects.items():
        yield f"## {escape_markdown(project) or wiki.format_message(msg('Global'))}"
        yield wiki.render("record.sessions", rows)


def build_session_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the session at *position*: its facts, its forms, the shortest first, and its report."""
    (session, forms), uri = wiki.sessions[position], wiki.session_uris[position]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.translate(label), escape_markdown(value)) for label, value in facts if value]
    head = (wiki.translate(msg("Project")), escape_markdown(session.project))
    citing = CitationLinker(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {escape_markdown(session.name)}", format_table(head, rows)]
    for name, text in forms.items():
        parts.append(f"## {wiki.format_message(FORMS[name])}")
        parts += frame_text(citing.link_citations(text[:MAX_FORM_CHARACTERS]))
        parts += [wiki.format_message(msg("The rest is in the archive."))] if len(text) > MAX_FORM_CHARACTERS else []
    return WikiPage(uri, tuple(parts))


# -- pending work ---------------------------------------------------------------------------------

REVIEWS, INBOX, HEALTH = "reviews.md", "inbox.md", "health.md"


# -- reviews and the inbox ------------------------------------------------------------------------


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first."""
    parts: list[str] = []
    for sides in wiki.sources.reviews:
        new = sides.review.record
        parts.append(f"## {escape_markdown(format_title(new))}")
        parts.append(wiki.render("pending.review", sides.review, format_age(sides.review, wiki.sources.today)))
        # The commit gives the reasons; its trailers ("Kb-Host: …") are no part of them.
        reasons = [row for row in sides.reasons.splitlines() if row.strip() and not row.startswith("Kb-")]
        if reasons:
            parts += [wiki.render("pending.why"), wiki.render("pending.reasons", reasons)]
        for old in sides.old or (Record(new.id, new.kind, "–", scope=new.scope),):
            parts.append(render_both_sides(wiki, old, new))
        parts.append(wiki.render("pending.review_actions", sides.review.branch))
    intro = msg("Each is a branch that contradicts an accepted record: merging it accepts it, closing it rejects it.")
    first = wiki.format_message(intro if parts else msg("No review is open."))
    return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), first, *parts)


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records next to each other, part by part, with every word marked that differs."""
    pairs = [("", one_line(old.title), one_line(new.title))] if old.title != new.title else []
    for section in SECTIONS:
        before, after = old.section(section.name), new.section(section.name)
        if (before or after) and not (changed_only and before == after):
            pairs.append((section_label(section.name, wiki.config.language, new.kind), before, after))
    rows = [(label, *render_side_by_side(before, after)) for label, before, after in pairs]
    return wiki.render("pending.both_sides", old, new, rows)


def build_inbox_page(wiki: Wiki) -> WikiPage:
    """Return the page with what the gate keeps back."""
    held = wiki.sources.held
    intro = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    parts = [wiki.format_message(intro if held else msg("Nothing waits below the gate."))]
    for one in held:
        parts += [f"## {escape_markdown(one.candidate.title)}", wiki.render("pending.held", one)]
    return build_list_page(INBOX, wiki.translate(msg("Inbox")), *parts)


# -- health ---------------------------------------------------------------------------------------

MAX_SHOWN = 100
"""Findings or records of one sort that are shown, at most."""
UNUSED_DAYS = 180
"""The age at which a record should have been used."""
_PARTS = {"impact": "path", "stale": "stale", "unsettled": "stale"}
"""Rules whose findings have a part of their own; others stand under their severity."""


def build_health_page(wiki: Wiki) -> WikiPage:
    """Return the page with what is wrong and the one next step for each, and with what nobody needs."""
    found: dict[str, list[Finding]] = {}
    for finding in wiki.sources.findings:
        found.setdefault(_PARTS.get(finding.rule, finding.severity), []).append(finding)
    parts: list[str] = []

    def add_part(heading: Message, number: int, shown: Html, note: Message | None = None) -> None:
        if number:
            parts.append(f"## {wiki.translate(heading)} ({number})")
            parts.extend([wiki.format_message(note)] if note else [])
            parts.append(shown)
        if number > MAX_SHOWN:
            parts.append(wiki.format_message(msg("… and {number} more.", number=number - MAX_SHOWN)))

    for heading, sort in (
        (msg("Errors"), "error"),
        (msg("Dangling paths"), "path"),
        (msg("Stale records"), "stale"),
        (msg("Warnings"), "warning"),
    ):
        findings = found.get(sort, [])
        add_part(heading, len(findings), wiki.render("pending.findings", findings[:MAX_SHOWN]))
    alone = msg("No other record cites these, they cite none, and they name no path: only search leads to them.")
    forgotten = msg("Half a year old, cited by nothing, never confirmed and never repeated.")
    unneeded = ((msg("Orphans"), find_orphans(wiki), alone), (msg("Never used"), find_unused(wiki), forgotten))
    for heading, positions, note in unneeded:
        add_part(heading, len(positions), wiki.render("lists.newest", positions[:MAX_SHOWN]), note)
    parts = parts or [wiki.format_message(msg("No problems found."))]
    return build_list_page(HEALTH, wiki.translate(msg("Health")), *parts)


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
