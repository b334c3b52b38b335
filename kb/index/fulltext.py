"""What holds all that was asked: by the full-text table, and by a plain scan of the few records that may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kb.index.schema import Filter, build_condition
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import extract_run_terms, extract_word_terms, iter_runs

if TYPE_CHECKING:
    from kb.index.connection import Connection

_SPELLINGS = 1000
"""Words that hold what was asked inside them; where there are more, the scan looks at every record."""


def query_fulltext(db: Connection, expression: str, wanted: Filter, limit: int) -> list[int]:
    """Return the rows that the FTS5 *expression* finds, best first."""
    if not expression:
        return []
    condition, values = build_condition(wanted)
    rows = db.execute(
        "SELECT r.n FROM (SELECT rowid, bm25(words, 8.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ?) w"
        f" JOIN records r ON r.n = w.rowid WHERE {condition} ORDER BY w.score, r.scope, length(r.id), r.id LIMIT ?",
        (expression, *values, limit),
    )
    return [n for (n,) in rows]


def scan_plain_text(db: Connection, terms: Sequence[str], wanted: Filter, limit: int) -> list[int]:
    """Return the rows in whose folded text all *terms* (folded too) stand, newest first: right by definition.

    A record that holds a term holds words that hold its parts, so only records with such words are scanned.
    """
    if not terms:
        return []
    condition, values = build_condition(wanted)
    parts = list(_iter_scan_expressions(db, terms))
    if "" in parts:
        return []
    few = "r.n IN (SELECT rowid FROM words WHERE words MATCH ?)" if parts else "1"
    has = " AND ".join("instr(r.plain, ?)" for _ in terms)
    rows = db.execute(
        f"SELECT r.n FROM records r WHERE {few} AND {has} AND {condition} ORDER BY r.day DESC, r.scope, r.id LIMIT ?",
        (*([" AND ".join(parts)] if parts else []), *terms, *values, limit),
    )
    return [n for (n,) in rows]


def _iter_scan_expressions(db: Connection, terms: Iterable[str]) -> Iterator[str]:
    """Yield FTS5 expressions that tell where to look: each CJK run of *terms*, and the words that hold the longest
    spaced one; "" where there are none."""
    found = [run for term in terms for run in iter_runs(term)]
    for run in (run for run, unspaced in found if unspaced):
        phrase = " ".join(extract_run_terms(run)[:-1] or [run])
        yield f'"{phrase}"' + ("*" if len(run) == 1 else "")
    longest = max((run for run, unspaced in found if not unspaced), key=len, default="")
    rows = db.execute("SELECT word FROM spellings WHERE instr(word, ?) LIMIT ?", (longest, _SPELLINGS + 1)).fetchall()
    if longest and len(rows) <= _SPELLINGS:
        words = dict.fromkeys(extract_word_terms(word)[0] for (word,) in rows)
        yield "(" + " OR ".join(f'"{word}"' for word in words) + ")" if words else ""
