"""All records of a knowledge base by the names people cite, with the links between them in both directions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kb.kinds import BY_NAME
from kb.markdown import citations
from kb.patterns import regex
from kb.record import GLOBAL, Record, Reference, aliases_of
from kb.values import NamedTuple
from kb.wiki.markup import distinct, reference

Key = tuple[str, str]
"""Scope and id."""

_UNSAFE = regex(r"[^\w.-]+")


class Library(NamedTuple):
    """The records, where each has its page, and who refers to whom."""

    records: tuple[Record, ...]
    uris: Mapping[int, str]
    """Position in *records* to the page, relative to the wiki's top."""
    by_key: Mapping[Key, int]
    by_former: Mapping[Key, int]
    """Scope and an id that the record had before."""
    cited_by: Mapping[int, tuple[int, ...]]
    superseded_by: Mapping[int, tuple[int, ...]]
    amended_by: Mapping[int, tuple[int, ...]]

    def find(self, what: Reference, scope: str) -> int | None:
        """Return the position of the record that *what*, said in *scope*, means: there first, then globally.

        Where nothing has the number, of what once had it.
        """
        return _find((self.by_key, self.by_former), what, scope)


def segment(name: str) -> str:
    """Return *name* as one harmless part of a path."""
    return _UNSAFE.sub("-", name).strip(".-") or "-"


def project_of(scope: str) -> str:
    """Return the project of *scope*, or "" for the global one."""
    return scope.removeprefix("project/") if scope != GLOBAL else ""


def kind_order(kind: str) -> tuple[int, str]:
    """Return a sorting key that puts the kinds of the table first, in its order."""
    return ([*BY_NAME].index(kind) if kind in BY_NAME else len(BY_NAME), kind)


def library(records: Iterable[Record]) -> Library:
    """Return *records* in the order of scope, kind and id, with their pages and links."""
    ordered = tuple(sorted(records, key=lambda r: (r.scope != GLOBAL, r.scope, kind_order(r.kind), len(r.id), r.id)))
    by_key: dict[Key, int] = {}
    by_former: dict[Key, int] = {}
    for place, record in enumerate(ordered):
        by_key.setdefault((record.scope, record.id), place)
        for alias in aliases_of(record.extra):
            by_former.setdefault((record.scope, alias), place)
    known = (by_key, by_former)
    return Library(
        ordered,
        _uris(ordered),
        by_key,
        by_former,
        _reversed(known, ordered, [_cited(record) for record in ordered]),
        _reversed(known, ordered, [[reference(words) for words in record.supersedes] for record in ordered]),
        _reversed(known, ordered, [[reference(words) for words in record.amends] for record in ordered]),
    )


def _find(known: Iterable[Mapping[Key, int]], what: Reference, scope: str) -> int | None:
    scopes = [GLOBAL if what.project == GLOBAL else f"project/{what.project}"] if what.project else [scope, GLOBAL]
    return next((keys[one, what.id] for keys in known for one in scopes if (one, what.id) in keys), None)


def _uris(records: Sequence[Record]) -> dict[int, str]:
    """Return a page for every record, also for those that share an id after a bad merge."""
    return dict(enumerate(f"{name}.md" for name in distinct(map(_stem, records), "-")))


def _stem(record: Record) -> str:
    folder = "global" if record.scope == GLOBAL else f"projects/{segment(project_of(record.scope))}"
    return f"anchors/{folder}/{segment(record.id)}"


def _cited(record: Record) -> list[Reference]:
    texts = (*(section.text for section in record.sections), record.user)
    return [Reference(project, id) for text in texts for project, id, _ in citations(text)]


def _reversed(
    known: Sequence[Mapping[Key, int]], records: Sequence[Record], links: Sequence[Iterable[Reference]]
) -> dict[int, tuple[int, ...]]:
    found: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for place, (record, references) in enumerate(zip(records, links, strict=True)):
        for what in references:
            target = _find(known, what, record.scope)
            if target is not None and target != place:
                found[target][place] = None
    return {target: tuple(places) for target, places in found.items()}
