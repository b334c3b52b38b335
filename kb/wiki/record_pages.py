"""The pages with the words of others: of a record what holds first, then what others and git say of it; of a session.

Whatever a text says, it is shown inside a frame of its own and its citations become links.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from kb.i18n import msg
from kb.records.kinds import kind_label, section_label
from kb.records.model import FIXED_BY, GLOBAL, LIVE, REGRESSION_TEST, Record, Reference, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, normalise, one_line
from kb.wiki.page_parts import (
    format_author,
    label_scope,
    label_status,
    render_badge,
    render_entry,
    render_line_diff,
    render_message,
    render_proposal_link,
    render_record_link,
    render_status_sign,
    render_tag_links,
    render_titled_part,
)
from kb.wiki.render import (
    Html,
    close_tag,
    element,
    escape_markdown,
    format_link,
    format_table,
    join_html,
    join_with,
    limit_open_brackets,
    link_to,
    open_tag,
    parse_reference,
    render_list,
    render_row,
    render_table,
    replace_citations,
)
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page, get_path_folder

LARGEST = 300_000
"""Characters of a section beyond which it is shown as it stands: markdown of a megabyte would hold up the wiki."""
AUTHORS = 4
"""Names that stand under a title, at most."""


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
        return self._format_target(position, words, self.wiki.is_hidden(reference, self.scope))

    def _link_wiki_link(self, words: str, label: str) -> str:
        position = self.wiki.library.find_link_target(words, self.scope)
        is_hidden = self.wiki.is_hidden(parse_reference(words), self.scope)
        is_hidden = is_hidden or normalise(words) in self.wiki.hidden_titles
        if position is None:
            return self._format_target(None, f"[[{words}]]", is_hidden)
        return self._format_target(position, label or self.wiki.library.records[position].title, is_hidden)

    def _format_target(self, position: int | None, words: str, is_hidden: bool) -> str:
        if position is not None:
            record = self.wiki.library.records[position]
            hint = f"{label_status(self.wiki, record.status)} · {record.title}"
            return format_link(escape_markdown(words), self.wiki.library.uris[position], self.uri, hint)
        if is_hidden:
            return escape_markdown(words)
        self.broken.append(words)
        return escape_markdown(f"{words} ⚠️ {self.wiki.translate(msg('no such record'))}")

    def render_text(self, text: str) -> list[str]:
        """Return *text* as parts of a page; a very long one without links, as it stands in the file."""
        if len(text) <= LARGEST:
            return wrap_record_text(self.link_citations(text))
        remark = msg("{n} characters, shown as they stand in the file; its place is below, under Facts", n=len(text))
        return [element("p", self.wiki.translate(remark)), element("pre", element("code", text), tabindex="0")]


def wrap_record_text(text: str, frame: str = "kb-text") -> list[str]:
    """Return the markdown *text*, which is not the wiki's own, as parts of a page."""
    return [open_tag("div", class_=frame), text, close_tag("div")]


def build_record_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the record at *position* of the library."""
    record, uri = wiki.library.records[position], wiki.library.uris[position]
    citing = CitationLinker(wiki, record.scope, uri)
    similar = render_list(render_entry(wiki, n) for n in wiki.similar[position])
    parts = [
        f"# {escape_markdown(f'[{record.id}]')} {escape_markdown(record.title)}",
        join_html(_render_successor(wiki, position), _render_summary(wiki, record), _render_actions(wiki, record)),
        *_render_words(wiki, record, citing),
        *render_titled_part(wiki, msg("Replaced by one another"), _render_chain(wiki, position)),
        *render_titled_part(wiki, msg("Impact paths"), _render_paths(wiki, record)),
        *render_titled_part(wiki, msg("Cited by"), _render_citing_records(wiki, position)),
        *render_titled_part(wiki, msg("Similar records"), similar),
        *render_titled_part(wiki, msg("History"), _render_history(wiki, record)),
        *render_titled_part(wiki, msg("Facts"), _render_facts(wiki, position)),
    ]
    return WikiPage(uri, tuple(parts), source=record.path, broken=tuple(citing.broken))


# -- what a record says ---------------------------------------------------------------------------


def _render_successor(wiki: Wiki, position: int) -> Html:
    """Say first what came in the place of a record, and lead there."""
    newer = wiki.library.superseded_by.get(position, ())
    if not newer:
        return Html("")
    over, coming = msg("No longer accepted. Read instead:"), msg("Still in force. To be replaced by:")
    is_live = wiki.library.records[position].status in LIVE
    words = element("strong", wiki.translate(coming if is_live else over))
    # After a chain of replacements the reader is led to its end as well.
    ends = [*newer, *(n for n in wiki.library.list_chain(position)[-1:] if n not in newer and n != position)]
    entries = join_with(", ", (render_entry(wiki, n) for n in ends))
    return element("div", words, " ", entries, class_="kb-over", role="note")


def _render_summary(wiki: Wiki, record: Record) -> Html:
    """Return status, kind, scope, date, tags and authors on a line."""
    parts = [
        render_badge(wiki, record.status),
        link_to(wiki.kinds[record.kind].uri, kind_label(record.kind, wiki.config.language)),
        link_to(wiki.scopes[record.scope].uri, label_scope(wiki, record.scope)),
        element("time", record.date[:10]) if record.date else "",
        render_tag_links(wiki, record),
    ]
    versions = wiki.list_versions(record)
    names = [*dict.fromkeys(format_author(version) for version in reversed(versions))]
    if names:
        shown = one_line(", ".join(names[:AUTHORS]) + (" …" if len(names) > AUTHORS else ""))
        parts.append(wiki.translate(msg("by {names}", names=shown)))
    if len(versions) > 1:
        parts.append(wiki.translate(msg("changed {day}", day=versions[0].time[:10])))
    return element("p", join_with(" · ", filter(None, parts)), class_="kb-plate")


def _render_actions(wiki: Wiki, record: Record) -> Html:
    """Return where the record can be found, edited and taken from."""
    edit, name = wiki.sources.timeline.edit, wiki.library.name_of(record)
    links = [
        link_to(f"r/{record.uid}/index.html", wiki.translate(msg("Permalink"))) if record.uid else "",
        element("a", wiki.translate(msg("Edit this")), href=edit + quote(record.path)) if edit and record.path else "",
        render_proposal_link(wiki, f"{name} {record.title}"),
        element("code", f"kb edit {name}"),
    ]
    text = element("pre", element("code", render_short_form(record, wiki.config.language)), tabindex="0")
    button = element("button", wiki.translate(msg("Copy")), type="button", hidden="hidden")
    summary = element("summary", wiki.translate(msg("Copy for an agent")))
    copied = element("details", summary, element("div", text, button, class_="kb-copy"))
    return element("div", element("p", join_with(" · ", filter(None, links))), copied, class_="kb-actions")


def _render_words(wiki: Wiki, record: Record, citing: CitationLinker) -> Iterator[str]:
    """Yield the sections, then what people wrote, in a frame of its own."""
    for section in record.sections:
        heading = section_label(section.name, wiki.config.language) if section.name else section.heading
        yield f"## {escape_markdown(heading)}"
        yield from citing.render_text(section.text)
    if not record.user.strip():
        return
    yield f"## {render_message(wiki, msg('Notes by people'))}"
    if len(record.user) > LARGEST:
        yield from citing.render_text(record.user)
    else:
        yield from wrap_record_text(citing.link_citations(record.user), "kb-person")


# -- what is around a record ----------------------------------------------------------------------


def _render_chain(wiki: Wiki, position: int) -> Html:
    """Return what replaced what, oldest first, this record marked."""
    rows = []
    for other in wiki.library.list_chain(position):
        record = wiki.library.records[other]
        here = element("strong", one_line(f"{record.id} {record.title}"), aria_current="page")
        shown = here if other == position else render_record_link(wiki, other)
        rows.append(element("li", render_badge(wiki, record.status), " ", shown))
    return element("ol", *rows, class_="kb-chain") if rows else Html("")


def _render_paths(wiki: Wiki, record: Record) -> Html:
    """Return the impact paths, each leading to the code and to what else speaks of its folder."""
    code = wiki.sources.timeline.code.get(record.scope, "")
    rows = []
    for path in record.impact:
        shown = element("code", one_line(path))
        seen = element("a", shown, href=code + quote(path)) if code and ".." not in path.split("/") else shown
        others = link_to(wiki.paths.uris[get_path_folder(path)], wiki.translate(msg("what else governs it")))
        rows.append(join_html(seen, " · ", others))
    return render_list(rows)


def _render_citing_records(wiki: Wiki, position: int) -> Html:
    cited_by = wiki.library.cited_by.get(position, {}).items()
    quotes = ((render_entry(wiki, other), element("p", sentence)) for other, sentence in cited_by)
    return render_list((join_html(entry, element("blockquote", quote)) for entry, quote in quotes), class_="kb-cites")


def _render_history(wiki: Wiki, record: Record) -> Html:
    """Return every version with what changed in it, newest first."""
    rows = []
    for version in wiki.list_versions(record):
        head = f"{version.time[:10]} · {one_line(format_author(version))} · {one_line(version.subject)}"
        diff = render_line_diff(version.before, version.after) if version.before else Html("")
        fold = element("details", element("summary", head), diff) if diff else element("p", head)
        rows.append(element("li", fold, data_commit=version.commit[:10]))
    return element("ul", *rows, class_="kb-history") if rows else Html("")


def _render_facts(wiki: Wiki, position: int) -> Html:
    """Return the table of what the front matter says and of what other records say about this one."""
    library, record = wiki.library, wiki.library.records[position]

    def render_reference(words: str) -> Html:
        reference = parse_reference(words)
        target = library.find(reference, record.scope)
        if target is None:
            return join_html(words, "" if wiki.is_hidden(reference, record.scope) else " ⚠️")
        return join_html(
            render_status_sign(wiki, library.records[target].status), " ", render_record_link(wiki, target)
        )

    def link_records(positions: Iterator[int] | tuple[int, ...]) -> Html:
        return join_with(", ", (render_record_link(wiki, n) for n in positions))

    uris = ((source, wiki.find_session_uri(source)) for source in record.sources)
    coexisting = ((render_reference(key), why) for key, why in record.coexists_with.items())
    rows = [
        (msg("Confirmed"), record.confirmed),
        (msg("Supersedes"), join_with(", ", map(render_reference, record.supersedes))),
        (msg("Superseded by"), link_records(library.superseded_by.get(position, ()))),
        (msg("Amends"), join_with(", ", map(render_reference, record.amends))),
        (msg("Amended by"), link_records(library.amended_by.get(position, ()))),
        (msg("Stands beside"), join_with("; ", (join_html(other, f" – {why}") for other, why in coexisting))),
        (msg("Claims"), join_with(", ", (element("code", f"{key}: {value}") for key, value in record.claims.items()))),
        (msg("Occurrences"), str(record.occurrences) if record.occurrences > 1 else ""),
        (msg("Sources"), join_with(", ", (link_to(uri, source) if uri else source for source, uri in uris))),
        (msg("Fixed by"), _render_fix(wiki, record)),
        (msg("Regression test"), _render_extra_field(record, REGRESSION_TEST)),
        (msg("Former ids"), ", ".join(list_aliases(record.extra))),
        (msg("File"), element("code", record.path) if record.path else ""),
    ]
    shown = [element("tr", element("th", wiki.translate(name)), element("td", cell)) for name, cell in rows if cell]
    return element("table", element("tbody", *shown)) if shown else Html("")


def _render_extra_field(record: Record, key: str) -> Html:
    """Return what the front matter says under *key*, which only some records have."""
    value = one_line(str(record.extra.get(key) or ""))
    return element("code", value) if value else Html("")


def _render_fix(wiki: Wiki, record: Record) -> Html:
    """Return the commit that has done away with a pitfall, leading to it where the code host is known."""
    shown = _render_extra_field(record, FIXED_BY)
    top, found, _ = wiki.sources.timeline.code.get(record.scope, "").partition("/blob/HEAD/")
    address = f"{top}/commit/{quote(str(record.extra.get(FIXED_BY)), safe='')}"
    return element("a", shown, href=address) if shown and found else shown


# -- archived sessions ----------------------------------------------------------------------------

SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
LONGEST_FORM = 100_000
"""Characters of one form that are shown."""


def iter_session_pages(wiki: Wiki) -> Iterator[WikiPage]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    yield build_list_page(SESSIONS, wiki.translate(msg("Sessions")), *_render_session_lists(wiki))
    for position in range(len(wiki.sessions)):
        yield build_session_page(wiki, position)


def _render_session_lists(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[Html]] = {}
    for (session, _), uri in zip(wiki.sessions, wiki.session_uris, strict=True):
        row = render_row((session.time, link_to(uri, session.name), first_sentence(session.task)))
        projects.setdefault(session.project, []).append(row)
    heads = [wiki.translate(word) for word in (msg("Time"), msg("Session"), msg("Task"))]
    for project, rows in projects.items():
        yield f"## {escape_markdown(project) or render_message(wiki, msg('Global'))}"
        yield render_table(heads, rows, data_kb_list="1")


def build_session_page(wiki: Wiki, position: int) -> WikiPage:
    """Return the page of the session at *position*: its facts, its forms, the shortest first, and its report."""
    (session, forms), uri = wiki.sessions[position], wiki.session_uris[position]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.translate(label), escape_markdown(value)) for label, value in facts if value]
    head = (wiki.translate(msg("Project")), escape_markdown(session.project))
    citing = CitationLinker(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {escape_markdown(session.name)}", format_table(head, rows)]
    for name, text in forms.items():
        parts += [f"## {render_message(wiki, FORMS[name])}"]
        parts += wrap_record_text(citing.link_citations(text[:LONGEST_FORM]))
        parts += [render_message(wiki, msg("The rest is in the archive."))] if len(text) > LONGEST_FORM else []
    return WikiPage(uri, tuple(parts))
