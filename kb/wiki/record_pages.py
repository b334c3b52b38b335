"""Pages of the wiki on records, on archived sessions, and on what waits for a person: reviews, inbox, findings.

Whatever a text says, it is shown inside a frame of its own and its citations become links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, SECTIONS, section_label
from kb.records.model import GLOBAL, LIVE, Record, Reference, Section, Status, is_imported
from kb.safety.injection import reveal_hidden
from kb.similarity.merge_candidate import list_required
from kb.text.segment import normalise, one_line
from kb.wiki.page_parts import render_side_by_side, split_commands, unwrap_rows
from kb.wiki.render import (
    Html,
    escape_markdown,
    escape_title,
    format_link,
    format_plain_title,
    format_table,
    limit_open_brackets,
    parse_reference,
    replace_citations,
    strip_markup,
)
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.check_context import Finding
    from kb.sessions.session_archive import SessionArchive


REVIEWS, INBOX, HEALTH = "reviews.md", "inbox.md", "health.md"
CHECK = "kb check"


# -- reviews and the inbox ------------------------------------------------------------------------


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first, and the rejected ones, the newest first."""
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
    rejected = wiki.render_part(msg("Rejected"), "pending.rejected", wiki.sources.rejected, MAX_SHOWN)
    if not parts:
        rows = (
            ("kb review", msg("lists the open ones")),
            ("kb review show D002", msg("shows both sides of one")),
            ("kb supersede D001 --by D002", msg("replaces a record without one: you decide")),
        )
        empty = wiki.render("pending.empty", msg("No review is open."), rows)
        note = msg("One is opened automatically when an agent contradicts an accepted record.")
        return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), empty, wiki.format_message(note), *rejected)
    intro = msg("Each is a branch that contradicts an accepted record: merging it accepts it, closing it rejects it.")
    return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), wiki.format_message(intro), *parts, *rejected)


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records next to each other, part by part, with every word marked that differs."""
    pairs = []
    for section in SECTIONS:
        before, after = old.section(section.name), new.section(section.name)
        if (before or after) and not (changed_only and before == after):
            pairs.append((section_label(section.name, wiki.config.language, new.kind), before, after))
    shown = (
        (label, *(strip_markup(unwrap_rows(text), lines=True) for text in (before, after)))
        for label, before, after in pairs
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
            ("kb write notes.json", msg("submits candidates; those that do not pass wait here")),
            ("kb new", msg("writes a record yourself, without waiting")),
        )
        return build_list_page(
            INBOX, title, wiki.render("pending.empty", msg("Nothing is waiting in the inbox."), rows)
        )
    intro = msg("The gate holds these until a second session says the same, or a person lets them through.")
    parts = [wiki.format_message(intro)]
    for one in held:
        parts += [f"## {escape_title(one.candidate.title)}", wiki.render("pending.held", one)]
    return build_list_page(INBOX, title, *parts)


# -- health ---------------------------------------------------------------------------------------

MAX_SHOWN = 200
"""Rows of one group that are shown, at most."""
MAX_OPEN = 10
"""Rows of all findings together up to which every group stands open: there is nothing to choose from."""
UNUSED_DAYS = 180
"""The age at which a record should have been used."""
RULE_NAMES: Mapping[str, Message] = {
    "contradiction": msg("Contradictions"),
    "claims": msg("Claims that differ"),
    "citation": msg("Broken citations"),
    "dead-citation": msg("Citations of what is no longer accepted"),
    "link": msg("Broken links"),
    "impact": msg("Dangling paths"),
    "stale": msg("Stale records"),
    "unsettled": msg("Undecided for a long time"),
    "due": msg("Due for another look"),
    "verification": msg("Verifications that fail"),
    "superseded": msg("Superseded without a valid successor"),
    "relation": msg("Broken relations"),
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
    "untrusted": msg("Text that gives agents instructions"),
    "unmarked": msg("Successors not marked"),
    "heirs": msg("More than one successor"),
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
    alone = msg("No other record cites these, they cite none, and they name no path: they can only be found by search.")
    forgotten = msg("Over half a year old, never cited, confirmed or repeated.")
    unneeded = [
        (label, note, positions)
        for label, note, positions in (
            (msg("Orphans"), alone, find_orphans(wiki)),
            (msg("Never used"), forgotten, find_unused(wiki)),
        )
        if positions
    ]
    parts: list[str] = [wiki.render("pending.health_summary", *counts, len(wiki.library.records))]
    if notes := list_across_notes(wiki):
        parts += [f"## {wiki.format_message(msg('Across bases'))}", wiki.render("pending.across", notes[:MAX_SHOWN])]
    groups = group_findings(wiki)
    is_short = sum(len(rows) for *_, rows in groups) <= MAX_OPEN
    parts += [wiki.render("pending.group", *group, MAX_SHOWN, is_short) for group in groups]
    parts += [wiki.render("pending.unneeded", *group, MAX_SHOWN) for group in unneeded]
    return build_list_page(HEALTH, title, *parts)


class AcrossNote(NamedTuple):
    """What another team decided on the matter of a record of this base."""

    position: int
    label: Message
    other: str
    """The other record: its name, as this base would cite it, and its title."""
    url: str
    """Its page in the wiki of that team; "" where none is known."""
    reason: str


def list_across_notes(wiki: Wiki) -> list[AcrossNote]:
    """Return what the hub's comparison says of the records that the wiki shows; contradictions come first."""
    across, found = wiki.sources.across, []
    for key, label in (
        ("contradictions", msg("Another team decided otherwise")),
        ("duplicates", msg("Another team says the same")),
    ):
        found += [(label, row["one"], row["other"], row.get("reason")) for row in across.get(key, ())]
    for row in across.get("links", ()):
        is_own = row["record"].get("repository") == across.get("repository")
        if row.get("relation") == "amends":
            label = msg("It amends another team's record") if is_own else msg("Another team's record amends it")
        else:
            label = msg("It supersedes another team's record") if is_own else msg("Another team's record supersedes it")
        found += [(label, row["record"], row["found"], "")] if isinstance(row.get("found"), dict) else []
    notes = []
    for label, one, other, reason in found:
        own, foreign = (one, other) if one.get("repository") == across.get("repository") else (other, one)
        position = wiki.library.by_key.get((str(own.get("scope")), str(own.get("id"))))
        if position is not None:
            words = reveal_hidden(one_line(f"{foreign.get('name', '')} {foreign.get('title', '')}"))
            url = str(foreign.get("wiki", ""))
            url = url if url.startswith(("https://", "http://", "../")) else ""
            notes.append(AcrossNote(position, label, words, url, reveal_hidden(one_line(str(reason or "")))))
    return notes


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
    return [labels.get(word, word) for word in value] if isinstance(value, list) else value


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


MAX_SECTION_CHARACTERS = 300_000
"""Characters of a section beyond which it is shown as it stands: markdown of a megabyte would hold up the wiki."""
RELATED_PARTS = (
    (msg("Cited by"), "record.cited_by"),
    (msg("Similar records"), "record.similar"),
    (msg("History"), "record.history"),
    (msg("Facts"), "record.facts"),
)
"""What is below the words of a record: title and macro."""


class CitationLinker:
    """Turns the citations of one text into links, and keeps the broken ones."""

    def __init__(self, wiki: Wiki, scope: str, uri: str) -> None:
        """Read citations as *scope* means them, on the page *uri*."""
        self.wiki = wiki
        self.scope = scope
        self.uri = uri
        self.broken: list[str] = []

    def link_citations(self, text: str) -> str:
        """Return the markdown *text* with its citations as links."""
        limited = limit_open_brackets(text.strip("\n"))
        return replace_citations(limited, self._link_citation, self._link_wiki_link, self._link_number)

    def _link_number(self, number: int, words: str) -> str:
        position = self.wiki.library.by_number.get((self.scope, number))
        if position is None or self.wiki.library.uris[position] == self.uri:
            return words
        return self._format_target(position, words, words, is_hidden=False)

    def _link_citation(self, reference: Reference) -> str:
        words = f"[{reference.project}:{reference.id}]" if reference.project else f"[{reference.id}]"
        position = self.wiki.library.find(reference, self.scope)
        return self._format_target(position, words, words, self.wiki.is_hidden(reference, self.scope))

    def _link_wiki_link(self, words: str, label: str) -> str:
        library, position = self.wiki.library, self.wiki.library.find_link_target(words, self.scope)
        is_hidden = self.wiki.is_hidden(parse_reference(words), self.scope)
        is_hidden = is_hidden or normalise(words) in self.wiki.hidden_titles
        title = "" if position is None or label else escape_title(library.records[position].title)
        return self._format_target(position, label, f"[[{words}]]", is_hidden, title)

    def _format_target(self, position: int | None, shown: str, written: str, is_hidden: bool, title: str = "") -> str:
        if position is not None:
            record = self.wiki.library.records[position]
            hint = f"{self.wiki.label_status(record.status)} · {format_plain_title(record.title)}"
            return format_link(title or escape_markdown(shown), self.wiki.library.uris[position], self.uri, hint)
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
    parts = [wiki.render("record.crumbs", position), f"# *{escape_markdown(record.id)}* {escape_title(record.title)}"]
    parts.append(wiki.render("record.head", position))
    if record.sections and record.sections[0].name != "decision":
        parts.append(wiki.render("record.lead", position))
    parts += [Html('<div class="kb-record">'), wiki.render("record.box", position)]
    parts.append(Html('<div class="kb-body"><div class="kb-words">'))
    for section in _order_sections(wiki, record):
        # The heading is the author's; only a section that has none takes the name of its kind.
        heading = section.heading or (wiki.label_section(section.name, record.kind) if section.name else "")
        parts += [f"## {escape_title(heading)}", *_render_text(citing, section.text)]
    parts.append(Html("</div>"))
    if record.user.strip():
        parts += [f"## {wiki.format_message(msg('Notes by people'))}", *_render_text(citing, record.user, "kb-person")]
    for title, macro in RELATED_PARTS:
        parts += wiki.render_part(title, macro, position)
    parts += [Html("</div></div>"), wiki.render("record.near", position)]
    return WikiPage(uri, tuple(parts), source=record.path, broken=tuple(citing.broken))


def _order_sections(wiki: Wiki, record: Record) -> list[Section]:
    """Return the sections of *record*, of one written here in the order of its template: those it needs come first."""
    if is_imported(record.extra) or not all(section.name for section in record.sections):
        return [*record.sections]
    needed = list_required(record.kind, wiki.config.required) if record.kind in BY_NAME else ()
    return sorted(record.sections, key=lambda section: section.name not in needed)


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
