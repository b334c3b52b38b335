"""The page of one record: what holds first, then its own words, then what others and git say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from kb.i18n import msg
from kb.records.kinds import kind_label, section_label
from kb.records.model import FIXED_BY, GLOBAL, LIVE, REGRESSION_TEST, Record, Reference, Section, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, normalise, one_line
from kb.wiki.markup import (
    escape_markdown,
    format_link,
    format_table,
    limit_open_brackets,
    parse_reference,
    replace_citations,
)
from kb.wiki.page_parts import (
    format_author,
    join_parts,
    label_scope,
    label_status,
    render_badge,
    render_entry,
    render_line_diff,
    render_list,
    render_proposal_link,
    render_record_link,
    render_status_sign,
    render_tag_links,
    render_titled_part,
)
from kb.wiki.render import Html, build_href, close_tag, element, join_html, open_tag
from kb.wiki.wiki_model import Wiki, WikiPage, get_path_folder

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

    def _link_citation(self, what: Reference) -> str:
        said = f"{what.project}:{what.id}" if what.project else what.id
        return self._format_target(
            self.wiki.library.find(what, self.scope), f"[{said}]", self.wiki.is_hidden(what, self.scope)
        )

    def _link_wiki_link(self, words: str, label: str) -> str:
        place = self.wiki.library.find_link_target(words, self.scope)
        shown = label or (words if place is None else self.wiki.library.records[place].title)
        is_hidden = normalise(words) in self.wiki.hidden_titles or self.wiki.is_hidden(
            parse_reference(words), self.scope
        )
        return self._format_target(place, shown if place is not None else f"[[{words}]]", is_hidden)

    def _format_target(self, place: int | None, words: str, is_hidden: bool) -> str:
        if place is not None:
            record = self.wiki.library.records[place]
            hint = f"{label_status(self.wiki, record.status)} · {record.title}"
            return format_link(escape_markdown(words), self.wiki.library.uris[place], self.uri, hint)
        if is_hidden:
            return escape_markdown(words)
        self.broken.append(words)
        return escape_markdown(f"{words} ⚠️ {self.wiki.translate_message(msg('no such record'))}")


def build_record_page(wiki: Wiki, place: int) -> WikiPage:
    """Return the page of the record at *place* of the library."""
    record = wiki.library.records[place]
    uri = wiki.library.uris[place]
    citing = CitationLinker(wiki, record.scope, uri)
    said = [
        f"# {escape_markdown(f'[{record.id}]')} {escape_markdown(record.title)}",
        join_html(_render_successor(wiki, place), _render_summary_line(wiki, record), _render_actions(wiki, record)),
        *(part for section in record.sections for part in _render_section(wiki, section, citing)),
        *_render_notes(wiki, record, citing),
    ]
    behind = [
        render_titled_part(wiki, msg("In place of one another"), _render_chain(wiki, place)),
        render_titled_part(wiki, msg("Impact paths"), _render_paths(wiki, record)),
        render_titled_part(wiki, msg("Cited by"), _render_citing_records(wiki, place)),
        render_titled_part(
            wiki, msg("Similar records"), render_list(render_entry(wiki, n) for n in wiki.similar[place])
        ),
        render_titled_part(wiki, msg("History"), _render_history(wiki, record)),
        render_titled_part(wiki, msg("Facts"), _render_facts(wiki, place)),
    ]
    parts = (*said, *(part for pair in behind for part in pair))
    return WikiPage(uri, parts, source=record.path, broken=tuple(citing.broken))


# -- what it says ---------------------------------------------------------------------------------


def _render_successor(wiki: Wiki, place: int) -> Html:
    """Say first what came in the place of a record, and lead there."""
    newer = wiki.library.superseded_by.get(place, ())
    if not newer:
        return Html("")
    over, coming = msg("No longer in force. Read instead:"), msg("Still in force. To be replaced by:")
    is_live = wiki.library.records[place].status in LIVE
    words = element("strong", wiki.translate_message(coming if is_live else over))
    ends = [*newer, *(n for n in wiki.library.list_chain(place)[-1:] if n not in newer and n != place)]
    return element(
        "div", words, " ", join_parts(", ", (render_entry(wiki, n) for n in ends)), class_="kb-over", role="note"
    )


def _render_summary_line(wiki: Wiki, record: Record) -> Html:
    """Return status, kind, scope, date and tags on a line."""
    kind = kind_label(record.kind, wiki.config.language)
    parts = [
        render_badge(wiki, record.status),
        element("a", kind, href=build_href(wiki.kinds[record.kind].uri)),
        element("a", label_scope(wiki, record.scope), href=build_href(wiki.scopes[record.scope].uri)),
        element("time", record.date[:10]) if record.date else Html(""),
        render_tag_links(wiki, record),
        _render_authors(wiki, record),
    ]
    return element("p", join_parts(" · ", filter(None, parts)), class_="kb-plate")


def _render_authors(wiki: Wiki, record: Record) -> Html:
    """Return who wrote the record, the first one first, and when it last changed."""
    versions = wiki.list_versions(record)
    names = dict.fromkeys(format_author(version) for version in reversed(versions))
    if not names:
        return Html("")
    said = msg("by {names}", names=one_line(", ".join([*names][:AUTHORS]) + (" …" if len(names) > AUTHORS else "")))
    changed = msg("changed {day}", day=versions[0].time[:10])
    return join_html(
        wiki.translate_message(said), *([" · ", wiki.translate_message(changed)] if len(versions) > 1 else [])
    )


def _render_actions(wiki: Wiki, record: Record) -> Html:
    """Return where the record can be found, edited and taken from."""
    edit = wiki.told.story.edit if wiki.told.story else ""
    name = wiki.library.name_of(record)
    links = [
        element("a", wiki.translate_message(msg("Permalink")), href=build_href(f"r/{record.uid}/index.html"))
        if record.uid
        else Html(""),
        element("a", wiki.translate_message(msg("Edit this")), href=edit + quote(record.path))
        if edit and record.path
        else Html(""),
        render_proposal_link(wiki, f"{name} {record.title}"),
        element("code", f"kb edit {name}"),
    ]
    text = element("pre", element("code", render_short_form(record, wiki.config.language)), tabindex="0")
    button = element("button", wiki.translate_message(msg("Copy")), type="button", hidden="hidden")
    copied = element(
        "details",
        element("summary", wiki.translate_message(msg("Copy for an agent"))),
        element("div", text, button, class_="kb-copy"),
    )
    return element("div", element("p", join_parts(" · ", filter(None, links))), copied, class_="kb-actions")


def _render_section(wiki: Wiki, section: Section, citing: CitationLinker) -> list[str]:
    heading = section_label(section.name, wiki.config.language) if section.name else section.heading
    return [f"## {escape_markdown(heading)}", *_render_text(wiki, section.text, citing)]


def _render_text(wiki: Wiki, text: str, citing: CitationLinker) -> list[str]:
    """Return *text* of a record as parts of a page; a very long one without links, as it stands in the file."""
    if len(text) <= LARGEST:
        return wrap_record_text(citing.link_citations(text))
    remark = msg("{n} characters, shown as they stand in the file; its place is below, under Facts", n=len(text))
    return [element("p", wiki.translate_message(remark)), element("pre", element("code", text), tabindex="0")]


def wrap_record_text(text: str) -> list[str]:
    """Return the markdown *text*, which is not the wiki's own, as parts of a page."""
    return [open_tag("div", class_="kb-text"), text, close_tag("div")]


def _render_notes(wiki: Wiki, record: Record, citing: CitationLinker) -> list[str]:
    """Return what people wrote, in a frame of its own."""
    if not record.user.strip():
        return []
    title = f"## {escape_markdown(wiki.translate_message(msg('Notes by people')))}"
    if len(record.user) > LARGEST:
        return [title, *_render_text(wiki, record.user, citing)]
    return [title, open_tag("div", class_="kb-person"), citing.link_citations(record.user), close_tag("div")]


# -- what is around it ----------------------------------------------------------------------------


def _render_chain(wiki: Wiki, place: int) -> Html:
    """Return what replaced what, oldest first, this record marked."""
    rows = []
    for other in wiki.library.list_chain(place):
        record = wiki.library.records[other]
        here = element("strong", one_line(f"{record.id} {record.title}"), aria_current="page")
        rows.append(
            join_html(
                render_badge(wiki, record.status), " ", here if other == place else render_record_link(wiki, other)
            )
        )
    return element("ol", *(element("li", row) for row in rows), class_="kb-chain") if rows else Html("")


def _render_paths(wiki: Wiki, record: Record) -> Html:
    """Return the impact paths, each leading to the code and to what else speaks of its folder."""
    code = (wiki.told.story.code if wiki.told.story else {}).get(record.scope, "")
    rows = []
    for path in record.impact:
        shown = element("code", one_line(path))
        seen = element("a", shown, href=code + quote(path)) if code and ".." not in path.split("/") else shown
        others = element(
            "a",
            wiki.translate_message(msg("what else governs it")),
            href=build_href(wiki.paths.uris[get_path_folder(path)]),
        )
        rows.append(join_html(seen, " · ", others))
    return render_list(rows)


def _render_citing_records(wiki: Wiki, place: int) -> Html:
    told = wiki.library.cited_by.get(place, {})
    rows = (
        join_html(render_entry(wiki, other), element("blockquote", element("p", sentence)))
        for other, sentence in told.items()
    )
    return render_list(rows, class_="kb-cites")


def _render_history(wiki: Wiki, record: Record) -> Html:
    """Return every version with what changed in it, newest first."""
    rows = []
    for version in wiki.list_versions(record):
        head = f"{version.time[:10]} · {one_line(format_author(version))} · {one_line(version.subject)}"
        diff = render_line_diff(version.before, version.after) if version.before else Html("")
        fold = element("details", element("summary", head), diff) if diff else element("p", head)
        rows.append(element("li", fold, data_commit=version.commit[:10]))
    return element("ul", *rows, class_="kb-history") if rows else Html("")


def _render_facts(wiki: Wiki, place: int) -> Html:
    """Return the table of what the frontmatter says and of what other records say about this one."""
    record, shelf = wiki.library.records[place], wiki.library
    coexists = (
        join_html(_render_reference(wiki, key, record.scope), f" – {why}") for key, why in record.coexists_with.items()
    )
    rows = [
        (msg("Confirmed"), join_html(record.confirmed)),
        (
            msg("Supersedes"),
            join_parts(", ", (_render_reference(wiki, words, record.scope) for words in record.supersedes)),
        ),
        (
            msg("Superseded by"),
            join_parts(", ", (render_record_link(wiki, n) for n in shelf.superseded_by.get(place, ()))),
        ),
        (msg("Amends"), join_parts(", ", (_render_reference(wiki, words, record.scope) for words in record.amends))),
        (msg("Amended by"), join_parts(", ", (render_record_link(wiki, n) for n in shelf.amended_by.get(place, ())))),
        (msg("Stands beside"), join_parts("; ", coexists)),
        (msg("Claims"), join_parts(", ", (element("code", f"{key}: {value}") for key, value in record.claims.items()))),
        (msg("Occurrences"), join_html(str(record.occurrences) if record.occurrences > 1 else "")),
        (msg("Sources"), join_parts(", ", _iter_source_links(wiki, record))),
        (msg("Fixed by"), _render_fix(wiki, record)),
        (msg("Regression test"), _render_extra_field(record, REGRESSION_TEST)),
        (msg("Former ids"), join_html(", ".join(list_aliases(record.extra)))),
        (msg("File"), element("code", record.path) if record.path else Html("")),
    ]
    shown = [
        element("tr", element("th", wiki.translate_message(label)), element("td", cell)) for label, cell in rows if cell
    ]
    return element("table", element("tbody", *shown)) if shown else Html("")


def _render_extra_field(record: Record, key: str) -> Html:
    """Return what the front says under *key*, which only some records have."""
    value = one_line(str(record.extra.get(key) or ""))
    return element("code", value) if value else Html("")


def _render_fix(wiki: Wiki, record: Record) -> Html:
    """Return the commit that has done away with a pitfall, leading to it where the code host is known."""
    shown = _render_extra_field(record, FIXED_BY)
    place, found, _ = (wiki.told.story.code if wiki.told.story else {}).get(record.scope, "").partition("/blob/HEAD/")
    address = f"{place}/commit/{quote(str(record.extra.get(FIXED_BY)), safe='')}"
    return element("a", shown, href=address) if shown and found else shown


def _iter_source_links(wiki: Wiki, record: Record) -> Iterable[Html]:
    for source in record.sources:
        uri = wiki.find_session_uri(source)
        yield element("a", source, href=build_href(uri)) if uri else join_html(source)


def _render_reference(wiki: Wiki, words: str, scope: str) -> Html:
    target = wiki.library.find(parse_reference(words), scope)
    if target is None:
        return join_html(words, "" if wiki.is_hidden(parse_reference(words), scope) else " ⚠️")
    return join_html(
        render_status_sign(wiki, wiki.library.records[target].status), " ", render_record_link(wiki, target)
    )


SESSIONS = "sessions/index.md"
FORMS = {
    "compact": msg("Compact form"),
    "normal": msg("Normal form"),
    "expanded": msg("Expanded form"),
    "dcp-report": msg("Report"),
}
LONGEST = 100_000
"""Characters of one form that are shown."""


def iter_session_pages(wiki: Wiki) -> Iterator[WikiPage]:
    """Yield the list of sessions, the newest first, and the page of each; nothing without any."""
    if not wiki.sessions:
        return
    title = wiki.translate_message(msg("Sessions"))
    yield WikiPage(SESSIONS, (f"# {title}", *_render_projects(wiki)), listing=True, name=title)
    for place in range(len(wiki.sessions)):
        yield build_session_page(wiki, place)


def _render_projects(wiki: Wiki) -> Iterator[str]:
    """Yield the sessions of each project, the newest first; the project that was worked on last comes first."""
    projects: dict[str, list[int]] = {}
    for place, (session, _) in enumerate(wiki.sessions):
        projects.setdefault(session.project, []).append(place)
    for project, places in projects.items():
        yield f"## {escape_markdown(project) or escape_markdown(wiki.translate_message(msg('Global')))}"
        yield _render_table(wiki, places)


def _render_table(wiki: Wiki, places: list[int]) -> Html:
    words = (msg("Time"), msg("Session"), msg("Task"))
    rows = []
    for place in places:
        session = wiki.sessions[place].session
        link = element("a", session.name, href=build_href(wiki.session_uris[place]))
        rows.append((join_html(session.time), link, join_html(first_sentence(session.task))))
    head = element("tr", *(element("th", wiki.translate_message(word)) for word in words))
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("table", element("thead", head), body, data_kb_list="1")


def build_session_page(wiki: Wiki, place: int) -> WikiPage:
    """Return the page of the session at *place*: its facts, its forms, the shortest first, and its report."""
    session, forms = wiki.sessions[place]
    uri = wiki.session_uris[place]
    facts = [(msg("Time"), session.time), (msg("Task"), session.task)]
    rows = [(wiki.translate_message(label), escape_markdown(value)) for label, value in facts if value]
    head = (wiki.translate_message(msg("Project")), escape_markdown(session.project))
    citing = CitationLinker(wiki, f"project/{session.project}" if session.project else GLOBAL, uri)
    parts = [f"# {escape_markdown(session.name)}", format_table(head, rows)]
    for name, text in forms.items():
        parts += [
            f"## {escape_markdown(wiki.translate_message(FORMS[name]))}",
            *wrap_record_text(citing.link_citations(text[:LONGEST])),
        ]
        parts += (
            [escape_markdown(wiki.translate_message(msg("The rest is in the archive.")))] if len(text) > LONGEST else []
        )
    return WikiPage(uri, tuple(parts))
