"""Lists of records in pages of bearable length: which rows stand on which page, and where each group is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.wiki.markup import slugify_headings

ROWS = 250
"""Rows on one page, at most."""


class ListingGroup(NamedTuple):
    """Some rows of one group on one page."""

    label: str
    """What the group is called; "": the only one of its list, which needs no heading."""
    places: tuple[int, ...]


class Listing(NamedTuple):
    """A list of records that is cut into pages."""

    stem: str
    """The page without its ending: `tags` is `tags.md`, then `tags/page-2.md`."""
    sheets: tuple[tuple[ListingGroup, ...], ...]
    counts: Mapping[str, int]
    """Label → how many records the whole group has, in the order of the list."""
    uris: Mapping[str, str]
    """Label → page and anchor at which the group begins."""

    @property
    def uri(self) -> str:
        """The first page."""
        return self.get_sheet_uri(0)

    def get_sheet_uri(self, sheet: int) -> str:
        """Return the page of the *sheet*, counted from 0."""
        return f"{self.stem}/page-{sheet + 1}.md" if sheet else f"{self.stem}.md"


def build_listing(stem: str, groups: Mapping[str, Sequence[int]]) -> Listing:
    """Return *groups*, each a label with its records, as a list below *stem*."""
    sheets: list[list[ListingGroup]] = [[]]
    room = ROWS
    for label, places in groups.items():
        if len(places) > room and room < ROWS:
            sheets.append([])
            room = ROWS
        for start in range(0, len(places), ROWS):
            part = tuple(places[start : start + ROWS])
            if start:
                sheets.append([])
            sheets[-1].append(ListingGroup(label, part))
            room = ROWS - sum(len(group.places) for group in sheets[-1])
    made = Listing(stem, tuple(map(tuple, sheets)), {label: len(places) for label, places in groups.items()}, {})
    uris: dict[str, str] = {}
    for number, sheet in enumerate(sheets):
        slugs = slugify_headings(["", *(group.label for group in sheet)])[1:]
        for group, slug in zip(sheet, slugs, strict=True):
            uris.setdefault(
                group.label, f"{made.get_sheet_uri(number)}#{slug}" if group.label else made.get_sheet_uri(number)
            )
    return made._replace(uris=uris)
