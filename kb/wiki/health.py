"""What `kb check` finds, by record."""

from __future__ import annotations

from kb.text import one_line
from kb.values import TYPE_CHECKING
from kb.wiki.elements import Html, element, inside
from kb.wiki.labels import record_link
from kb.wiki.markup import plain
from kb.wiki.whole import Page, Wiki
from kb.words import say

if TYPE_CHECKING:
    from kb.checking.findings import Finding

HEALTH = "health.md"
SHOWN = 500
"""Findings of one severity that are shown, at most."""


def health_page(wiki: Wiki) -> Page:
    """Return the page with what is wrong, errors first, and the one next step for each."""
    title = wiki.word(say("Health"))
    parts = [f"# {title}"]
    for severity, heading in (("error", say("Errors")), ("warning", say("Warnings"))):
        found = [finding for finding in wiki.told.findings if finding.severity == severity]
        if found:
            rest = say("… and {number} more.", number=len(found) - SHOWN)
            parts += [f"## {wiki.word(heading)} ({len(found)})", _table(wiki, found[:SHOWN])]
            parts += [plain(wiki.word(rest))] if len(found) > SHOWN else []
    if len(parts) == 1:
        parts.append(plain(wiki.word(say("Nothing to complain of."))))
    return Page(HEALTH, tuple(parts), listing=True, name=title)


def _table(wiki: Wiki, found: list[Finding]) -> Html:
    words = (say("Record"), say("Finding"), say("Next step"), say("Rule"))
    head = element("tr", *(element("th", wiki.word(word)) for word in words))
    body = element("tbody", *(_row(wiki, finding) for finding in found))
    return element("table", element("thead", head), body, data_kb_list="1")


def _row(wiki: Wiki, finding: Finding) -> Html:
    place = wiki.library.by_path.get(finding.path)
    file = element("code", one_line(f"{finding.path}:{finding.line}"))
    cells = (
        file if place is None else record_link(wiki, place, wiki.library.records[place].id),
        inside(one_line(finding.message.in_language(wiki.config.language))),
        inside(one_line(finding.fix.in_language(wiki.config.language))),
        element("code", finding.rule),
    )
    return element("tr", *(element("td", cell) for cell in cells))
