"""The page of one record: what holds first, then its own words, then what others and git say of it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from kb.i18n import msg
from kb.records.kinds import kind_label, section_label
from kb.records.model import FIXED_BY, LIVE, REGRESSION_TEST, Record, Reference, Section, aliases_of
from kb.records.short_form import short
from kb.text.segment import normalise, one_line
from kb.wiki.html import Html, closed, element, inside, opened, to
from kb.wiki.labels import (
    badge,
    entry,
    items,
    joined,
    proposal,
    record_link,
    scope_label,
    sign,
    signed,
    status_word,
    tag_links,
    titled,
)
from kb.wiki.markup import cited, link, plain, reference, untangled
from kb.wiki.wiki_model import Page, Wiki, folder_of_path
from kb.wiki.word_diff import changes

LARGEST = 300_000
"""Characters of a section beyond which it is shown as it stands: markdown of a megabyte would hold up the wiki."""
AUTHORS = 4
"""Names that stand under a title, at most."""


class Citing:
    """Turns the citations of one text into links, and keeps those that lead nowhere."""

    def __init__(self, wiki: Wiki, scope: str, uri: str) -> None:
        """Read citations as *scope* means them, on the page *uri*."""
        self.wiki = wiki
        self.scope = scope
        self.uri = uri
        self.broken: list[str] = []

    def body(self, text: str) -> str:
        """Return the markdown *text* with its citations as links."""
        return cited(untangled(text.strip("\n")), self._citation, self._named)

    def _citation(self, what: Reference) -> str:
        said = f"{what.project}:{what.id}" if what.project else what.id
        return self._shown(self.wiki.library.find(what, self.scope), f"[{said}]", self.wiki.is_hidden(what, self.scope))

    def _named(self, words: str, label: str) -> str:
        place = self.wiki.library.named(words, self.scope)
        shown = label or (words if place is None else self.wiki.library.records[place].title)
        is_hidden = normalise(words) in self.wiki.hidden_titles or self.wiki.is_hidden(reference(words), self.scope)
        return self._shown(place, shown if place is not None else f"[[{words}]]", is_hidden)

    def _shown(self, place: int | None, words: str, is_hidden: bool) -> str:
        if place is not None:
            record = self.wiki.library.records[place]
            hint = f"{status_word(self.wiki, record.status)} · {record.title}"
            return link(plain(words), self.wiki.library.uris[place], self.uri, hint)
        if is_hidden:
            return plain(words)
        self.broken.append(words)
        return plain(f"{words} ⚠️ {self.wiki.word(msg('no such record'))}")


def record_page(wiki: Wiki, place: int) -> Page:
    """Return the page of the record at *place* of the library."""
    record = wiki.library.records[place]
    uri = wiki.library.uris[place]
    citing = Citing(wiki, record.scope, uri)
    said = [
        f"# {plain(f'[{record.id}]')} {plain(record.title)}",
        inside(_successor(wiki, place), _plate(wiki, record), _actions(wiki, record)),
        *(part for section in record.sections for part in _section(wiki, section, citing)),
        *_notes(wiki, record, citing),
    ]
    behind = [
        titled(wiki, msg("In place of one another"), _chain(wiki, place)),
        titled(wiki, msg("Impact paths"), _paths(wiki, record)),
        titled(wiki, msg("Cited by"), _cited_by(wiki, place)),
        titled(wiki, msg("Similar records"), items(entry(wiki, n) for n in wiki.similar[place])),
        titled(wiki, msg("History"), _history(wiki, record)),
        titled(wiki, msg("Facts"), _facts(wiki, place)),
    ]
    parts = (*said, *(part for pair in behind for part in pair))
    return Page(uri, parts, source=record.path, broken=tuple(citing.broken))


# -- what it says ---------------------------------------------------------------------------------


def _successor(wiki: Wiki, place: int) -> Html:
    """Say first what came in the place of a record, and lead there."""
    newer = wiki.library.superseded_by.get(place, ())
    if not newer:
        return Html("")
    over, coming = msg("No longer in force. Read instead:"), msg("Still in force. To be replaced by:")
    is_live = wiki.library.records[place].status in LIVE
    words = element("strong", wiki.word(coming if is_live else over))
    ends = [*newer, *(n for n in wiki.library.chain(place)[-1:] if n not in newer and n != place)]
    return element("div", words, " ", joined(", ", (entry(wiki, n) for n in ends)), class_="kb-over", role="note")


def _plate(wiki: Wiki, record: Record) -> Html:
    """Return status, kind, scope, date and tags on a line."""
    kind = kind_label(record.kind, wiki.config.language)
    parts = [
        badge(wiki, record.status),
        element("a", kind, href=to(wiki.kinds[record.kind].uri)),
        element("a", scope_label(wiki, record.scope), href=to(wiki.scopes[record.scope].uri)),
        element("time", record.date[:10]) if record.date else Html(""),
        tag_links(wiki, record),
        _authors(wiki, record),
    ]
    return element("p", joined(" · ", filter(None, parts)), class_="kb-plate")


def _authors(wiki: Wiki, record: Record) -> Html:
    """Return who wrote the record, the first one first, and when it last changed."""
    versions = wiki.versions(record)
    names = dict.fromkeys(signed(version) for version in reversed(versions))
    if not names:
        return Html("")
    said = msg("by {names}", names=one_line(", ".join([*names][:AUTHORS]) + (" …" if len(names) > AUTHORS else "")))
    changed = msg("changed {day}", day=versions[0].time[:10])
    return inside(wiki.word(said), *([" · ", wiki.word(changed)] if len(versions) > 1 else []))


def _actions(wiki: Wiki, record: Record) -> Html:
    """Return where the record can be found, edited and taken from."""
    edit = wiki.told.story.edit if wiki.told.story else ""
    name = wiki.library.name_of(record)
    links = [
        element("a", wiki.word(msg("Permalink")), href=to(f"r/{record.uid}/index.html")) if record.uid else Html(""),
        element("a", wiki.word(msg("Edit this")), href=edit + quote(record.path)) if edit and record.path else Html(""),
        proposal(wiki, f"{name} {record.title}"),
        element("code", f"kb edit {name}"),
    ]
    text = element("pre", element("code", short(record, wiki.config.language)), tabindex="0")
    button = element("button", wiki.word(msg("Copy")), type="button", hidden="hidden")
    copied = element(
        "details",
        element("summary", wiki.word(msg("Copy for an agent"))),
        element("div", text, button, class_="kb-copy"),
    )
    return element("div", element("p", joined(" · ", filter(None, links))), copied, class_="kb-actions")


def _section(wiki: Wiki, section: Section, citing: Citing) -> list[str]:
    heading = section_label(section.name, wiki.config.language) if section.name else section.heading
    return [f"## {plain(heading)}", *_text(wiki, section.text, citing)]


def _text(wiki: Wiki, text: str, citing: Citing) -> list[str]:
    """Return *text* of a record as parts of a page; a very long one without links, as it stands in the file."""
    if len(text) <= LARGEST:
        return written(citing.body(text))
    remark = msg("{n} characters, shown as they stand in the file; its place is below, under Facts", n=len(text))
    return [element("p", wiki.word(remark)), element("pre", element("code", text), tabindex="0")]


def written(text: str) -> list[str]:
    """Return the markdown *text*, which is not the wiki's own, as parts of a page."""
    return [opened("div", class_="kb-text"), text, closed("div")]


def _notes(wiki: Wiki, record: Record, citing: Citing) -> list[str]:
    """Return what people wrote, in a frame of its own."""
    if not record.user.strip():
        return []
    title = f"## {plain(wiki.word(msg('Notes by people')))}"
    if len(record.user) > LARGEST:
        return [title, *_text(wiki, record.user, citing)]
    return [title, opened("div", class_="kb-person"), citing.body(record.user), closed("div")]


# -- what is around it ----------------------------------------------------------------------------


def _chain(wiki: Wiki, place: int) -> Html:
    """Return what replaced what, oldest first, this record marked."""
    rows = []
    for other in wiki.library.chain(place):
        record = wiki.library.records[other]
        here = element("strong", one_line(f"{record.id} {record.title}"), aria_current="page")
        rows.append(inside(badge(wiki, record.status), " ", here if other == place else record_link(wiki, other)))
    return element("ol", *(element("li", row) for row in rows), class_="kb-chain") if rows else Html("")


def _paths(wiki: Wiki, record: Record) -> Html:
    """Return the impact paths, each leading to the code and to what else speaks of its folder."""
    code = (wiki.told.story.code if wiki.told.story else {}).get(record.scope, "")
    rows = []
    for path in record.impact:
        shown = element("code", one_line(path))
        seen = element("a", shown, href=code + quote(path)) if code and ".." not in path.split("/") else shown
        others = element("a", wiki.word(msg("what else governs it")), href=to(wiki.paths.uris[folder_of_path(path)]))
        rows.append(inside(seen, " · ", others))
    return items(rows)


def _cited_by(wiki: Wiki, place: int) -> Html:
    told = wiki.library.cited_by.get(place, {})
    rows = (
        inside(entry(wiki, other), element("blockquote", element("p", sentence))) for other, sentence in told.items()
    )
    return items(rows, class_="kb-cites")


def _history(wiki: Wiki, record: Record) -> Html:
    """Return every version with what changed in it, newest first."""
    rows = []
    for version in wiki.versions(record):
        head = f"{version.time[:10]} · {one_line(signed(version))} · {one_line(version.subject)}"
        diff = changes(version.before, version.after) if version.before else Html("")
        fold = element("details", element("summary", head), diff) if diff else element("p", head)
        rows.append(element("li", fold, data_commit=version.commit[:10]))
    return element("ul", *rows, class_="kb-history") if rows else Html("")


def _facts(wiki: Wiki, place: int) -> Html:
    """Return the table of what the frontmatter says and of what other records say about this one."""
    record, shelf = wiki.library.records[place], wiki.library
    coexists = (inside(_named(wiki, key, record.scope), f" – {why}") for key, why in record.coexists_with.items())
    rows = [
        (msg("Confirmed"), inside(record.confirmed)),
        (msg("Supersedes"), joined(", ", (_named(wiki, words, record.scope) for words in record.supersedes))),
        (msg("Superseded by"), joined(", ", (record_link(wiki, n) for n in shelf.superseded_by.get(place, ())))),
        (msg("Amends"), joined(", ", (_named(wiki, words, record.scope) for words in record.amends))),
        (msg("Amended by"), joined(", ", (record_link(wiki, n) for n in shelf.amended_by.get(place, ())))),
        (msg("Stands beside"), joined("; ", coexists)),
        (msg("Claims"), joined(", ", (element("code", f"{key}: {value}") for key, value in record.claims.items()))),
        (msg("Occurrences"), inside(str(record.occurrences) if record.occurrences > 1 else "")),
        (msg("Sources"), joined(", ", _sources(wiki, record))),
        (msg("Fixed by"), _fix(wiki, record)),
        (msg("Regression test"), _told(record, REGRESSION_TEST)),
        (msg("Former ids"), inside(", ".join(aliases_of(record.extra)))),
        (msg("File"), element("code", record.path) if record.path else Html("")),
    ]
    shown = [element("tr", element("th", wiki.word(label)), element("td", cell)) for label, cell in rows if cell]
    return element("table", element("tbody", *shown)) if shown else Html("")


def _told(record: Record, key: str) -> Html:
    """Return what the front says under *key*, which only some records have."""
    value = one_line(str(record.extra.get(key) or ""))
    return element("code", value) if value else Html("")


def _fix(wiki: Wiki, record: Record) -> Html:
    """Return the commit that has done away with a pitfall, leading to it where the code host is known."""
    shown = _told(record, FIXED_BY)
    place, found, _ = (wiki.told.story.code if wiki.told.story else {}).get(record.scope, "").partition("/blob/HEAD/")
    address = f"{place}/commit/{quote(str(record.extra.get(FIXED_BY)), safe='')}"
    return element("a", shown, href=address) if shown and found else shown


def _sources(wiki: Wiki, record: Record) -> Iterable[Html]:
    for source in record.sources:
        uri = wiki.session_uri(source)
        yield element("a", source, href=to(uri)) if uri else inside(source)


def _named(wiki: Wiki, words: str, scope: str) -> Html:
    target = wiki.library.find(reference(words), scope)
    if target is None:
        return inside(words, "" if wiki.is_hidden(reference(words), scope) else " ⚠️")
    return inside(sign(wiki, wiki.library.records[target].status), " ", record_link(wiki, target))
