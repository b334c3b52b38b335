"""The table for ranking records: for each term the records that contain it, and its weight in each.

The weight is BM25 over fields (BM25F), with constants chosen on development data (docs/measurements/search.md). A
term's weight in a record is computed when the record is indexed, its rarity when a question is asked; the score of a
record is the sum of rarity times weight. All are whole numbers, so that no sum depends on the order of its parts.

A question with common words would touch most of the table. So its rarest terms decide which records are looked at, as
many terms as `MAX_READ_ROWS` rows allow, and the others are looked up for the best of those only.

Beside it is the table of the texts that have a vector, and the queue of those that still wait for one.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from kb.index.schema import ALL, Filter, build_condition, build_placeholders, join_body, join_tags, load_record
from kb.records.model import ASKED, LIVE, Record, list_field, list_titles
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import sha1
from kb.text.segment import FIRST_CJK, collect_ranking_terms, estimate_tokens, fold_text, iter_runs, stem

if TYPE_CHECKING:
    from typing import TypeVar

    from kb.index.schema import Connection, Cursor

    T = TypeVar("T", int, str)

K1 = 0.9  # saturation of repeated terms: the smaller, the sooner
B = 0.75  # how much more often a long text has to use a term than a short one for the same weight
SCALE = (
    1000  # parts of a unit in which weights and rarities are counted; a term that stood in a record without end had one
)
MIN_MISSPELLED_LETTERS = 4  # letters of the shortest word to correct a misspelling of
MAX_READ_ROWS = 12_000  # rows that a question may read before its commonest terms are only looked up
MAX_SCORED_RECORDS = 200  # records scored with every term
# So many times the rows that are wanted are put in order first; all of them, where more are equal or unwanted.
_SORTED, _NO_LIMIT = 8, -1
_MAX_NARROW_RECORDS = 2_000  # up to so many wanted records, theirs are the only rows that are scored
_MAX_STATEMENT_VALUES = 30_000  # values that one statement takes
_EVERY_RECORD = -1  # no term, but the entry of every record
_MONTHS = " january february march april may june july august september october november december".split(" ")


class RankedField(NamedTuple):
    """A part of a record."""

    weight: float
    length: int  # average length of a record; a constant, so that a weight does not depend on other records


TITLE = RankedField(3.0, 10)
TAGS = RankedField(1.5, 10)
BODY = RankedField(1.0, 150)


def hash_term(term: str) -> int:
    """Return the number of *term*; two in two thousand million terms share one, which is harmless."""
    return zlib.crc32(term.encode()) & 0x7FFFFFFF


def compute_hashed_weights(record: Record) -> dict[int, int]:
    """Return the weight of each term of *record*, by the number of the term."""
    return _compute_weights(record, lambda piece: piece.numbers)


def compute_term_weights(record: Record) -> dict[str, int]:
    """Return the weight of each term of *record*."""
    return _compute_weights(record, lambda piece: piece.terms)


def _compute_weights(record: Record, terms: Callable[[_PieceTerms], Iterable[T]]) -> dict[T, int]:
    said: dict[T, float] = {}
    fields = (
        (TITLE, record.title),
        (TITLE, " ".join(list_field(record, ASKED))),
        (TAGS, join_tags(record)),
        (BODY, f"{join_body(record)}\n{_spell_out_date(record.date)}"),
    )
    for field, text in fields:
        pieces = [(_analyse_piece(piece), times) for piece, times in Counter(text.split()).items()]
        length = sum(piece.length * times for piece, times in pieces)
        # BM25F: a term counts for less in a long text, and for more in a title than in a body.
        each = field.weight / (1 - B + B * length / field.length)
        for piece, times in pieces:
            for term in terms(piece):
                said[term] = said.get(term, 0.0) + each * times
    return {term: round(SCALE * much / (much + K1)) for term, much in said.items()}


def _collect_words(record: Record | None) -> tuple[set[str], set[str]]:
    """Return the words of *record* that somebody might misspell, and its spaced words as a plain scan reads them."""
    if record is None:
        return set(), set()
    plain = f"{record.title} {join_tags(record)}\n{join_body(record)}"
    return collect_vocabulary(record), {word for piece in set(plain.split()) for word in _analyse_piece(piece).spelled}


def collect_vocabulary(record: Record) -> set[str]:
    """Return the words of *record* that somebody might misspell."""
    said = " ".join((*list_titles(record), *record.tags, *(section.text for section in record.sections)))
    return {word for piece in set(said.split()) for word in _analyse_piece(piece).words}


class _PieceTerms(NamedTuple):
    terms: tuple[str, ...]
    numbers: tuple[int, ...]
    words: tuple[str, ...]
    spelled: tuple[str, ...]
    length: int  # its words and CJK characters


@lru_cache(maxsize=1 << 16)
def _analyse_piece(piece: str) -> _PieceTerms:
    """Return the terms of a *piece* without white space; cached, because most pieces are repeated often."""
    runs = list(iter_runs(piece))
    terms = collect_ranking_terms(runs)
    numbers = {term: hash_term(term) for term in dict.fromkeys(terms)}
    words = tuple(term for term in numbers if len(term) >= MIN_MISSPELLED_LETTERS and term.isascii() and term.isalpha())
    spelled = tuple(fold_text(run) for run, unspaced in dict.fromkeys(runs) if not unspaced)
    length = sum(len(term) > 1 or term < FIRST_CJK for term in terms)
    return _PieceTerms(tuple(terms), tuple([numbers[term] for term in terms]), words, spelled, length)


def _spell_out_date(date: str) -> str:
    """Return the words for the day *date* (ISO), because people ask for decisions made in May."""
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not (year + month + day).isascii() or not (month + day).isdigit() or int(month) >= len(_MONTHS):
        return date
    return f"{year} {_MONTHS[int(month)]} {int(day or 0)}"


def compute_idf(frequency: int, total: int) -> float:
    """Return the inverse document frequency of a term in *frequency* of *total* records, as in BM25."""
    return math.log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5))


def compute_worth(weight: float, frequency: int, total: int) -> int:
    """Return the score of one unit of weight of a term in *frequency* of *total* records, for a term of *weight*."""
    return round(SCALE * weight * compute_idf(frequency, total))


class ScoredRow(NamedTuple):
    """A row of the index and its score."""

    n: int
    score: int


class WeightedTerm(NamedTuple):
    """A term of a question, as the index knows it."""

    term: str
    frequency: int  # number of records with it
    worth: int  # its rarity times the weight the question gives it


class Postings:
    """The table in the file of the index."""

    def __init__(self, db: Connection) -> None:
        """Take the table as it is."""
        self._db = db
        self._state: tuple[int, int] = (-1, -1)
        self._counts: dict[int, int] = {}

    def update_row(self, n: int, known: Record | None, record: Record | None) -> None:
        """Replace the terms of *known* by those of *record* for the row *n*; None has no terms."""
        # Most edits leave most terms as they were: only the difference is written.
        before = compute_hashed_weights(known) if known else {}
        after = compute_hashed_weights(record) if record else {}
        gone = [(term, n) for term in before.keys() - after.keys()]
        new = [(term, n, weight) for term, weight in after.items() if before.get(term) != weight]
        self._db.executemany("DELETE FROM postings WHERE t = ? AND n = ?", gone)
        self._db.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?, ?)", new)
        tables, held_words, said_words = ("vocabulary", "spellings"), _collect_words(known), _collect_words(record)
        for table, held, words in zip(tables, held_words, said_words, strict=True):
            values = [(word,) for word in sorted(words - held)]
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", values)

    def count_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """Return word → number of records with it or another form of it."""
        self._forget_counts_if_changed()
        return {word: self._count_records(hash_term(stem(word))) for word in words}

    def find_known_terms(self, asked: Mapping[str, float]) -> list[WeightedTerm]:
        """Return those of the terms *asked*, with their weights, that are in any record, the most distinctive first."""
        self._forget_counts_if_changed()
        total = self._count_records(_EVERY_RECORD)
        known = []
        for term, weight in asked.items():
            if frequency := self._count_records(hash_term(term)):
                known.append(WeightedTerm(term, frequency, compute_worth(weight, frequency, total)))
        return sorted(known, key=lambda term: (-term.worth, term.term))

    def _forget_counts_if_changed(self) -> None:
        state = (self._db.fetch_value("PRAGMA data_version"), self._db.total_changes)
        if state != self._state or len(self._counts) > _MAX_STATEMENT_VALUES:
            self._state, self._counts = state, {}

    def _count_records(self, term: int) -> int:
        """Return the number of records with a term; cached, because a question needs it more than once."""
        if term not in self._counts:
            query = (
                "SELECT count(*) FROM postings WHERE t = ?" if term != _EVERY_RECORD else "SELECT count(*) FROM records"
            )
            self._counts[term] = self._db.fetch_value(query, (term,) if term != _EVERY_RECORD else ())
        return self._counts[term]

    def find_similar_words(self, word: str, slips: int) -> list[str]:
        """Return the words, of some record once, that begin as *word* does and are as long but for *slips* letters."""
        rows = self._db.execute(
            "SELECT word FROM vocabulary WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
            (word[0], chr(ord(word[0]) + 1), len(word) - slips, len(word) + slips),
        )
        return [other for (other,) in rows]

    def rank_rows(
        self, terms: Sequence[WeightedTerm], wanted: Filter = ALL, limit: int = MAX_SCORED_RECORDS
    ) -> list[ScoredRow]:
        """Return the rows for which *terms*, the most telling first, speak most; at most *limit*, the best first."""
        rows, deciding = 0, 0
        while deciding < len(terms) and (not deciding or rows + terms[deciding].frequency <= MAX_READ_ROWS):
            rows += terms[deciding].frequency
            deciding += 1
        if not deciding:
            return []
        scores = self._sum_scores(terms[:deciding], wanted, limit)
        for n, more in self.score_rows(terms[deciding:], scores).items():
            scores[n] += more
        return sorted((ScoredRow(n, score) for n, score in scores.items()), key=lambda row: (-row.score, row.n))

    def score_rows(self, terms: Iterable[WeightedTerm], rows: Iterable[int]) -> dict[int, int]:
        """Return row → score, for those of *rows* that contain any of *terms*."""
        scores: dict[int, int] = {}
        for term, n, weight in self._iter_weights(terms, tuple(rows)):
            scores[n] = scores.get(n, 0) + weight * term.worth
        return scores

    def find_held_terms(self, terms: Iterable[WeightedTerm], rows: Iterable[int]) -> dict[int, list[WeightedTerm]]:
        """Return row → those of *terms* that it contains."""
        held: dict[int, list[WeightedTerm]] = {}
        for term, n, _ in self._iter_weights(terms, tuple(rows)):
            held.setdefault(n, []).append(term)
        return held

    def _iter_weights(
        self, terms: Iterable[WeightedTerm], among: tuple[int, ...]
    ) -> Iterator[tuple[WeightedTerm, int, int]]:
        statement = f"SELECT n, w FROM postings WHERE t = ? AND n IN ({build_placeholders(among)})"
        for term in terms:
            for n, weight in self._db.execute(statement, (hash_term(term.term), *among)).fetchall():
                yield term, n, weight

    def _sum_scores(self, terms: Sequence[WeightedTerm], wanted: Filter, limit: int) -> dict[int, int]:
        """Return the best rows with their scores; which of equal ones hangs on their paths alone."""
        wanted = self._db.restrict_filter(wanted)
        is_narrow = self._is_narrow(wanted)
        scored = self._select_scored_rows(terms, _NO_LIMIT, wanted).fetchall() if is_narrow else []
        for most in () if is_narrow else (_SORTED * limit, _NO_LIMIT):
            scored = []
            read = 0
            rows = self._select_scored_rows(terms, most)
            while chunk := rows.fetchmany(2 * limit):
                read += len(chunk)
                scored += self._filter_rows(chunk, wanted)
                if len(scored) >= limit and chunk[-1][1] < scored[limit - 1][1]:
                    break
            if chunk or read < most:
                break
        if len(scored) <= limit:
            return dict(scored)
        least = scored[limit - 1][1]
        better = {n: score for n, score in scored if score > least}
        equal = [n for n, score in scored if score == least][:_MAX_STATEMENT_VALUES]
        first = f"SELECT n FROM records WHERE n IN ({build_placeholders(equal)}) ORDER BY path LIMIT ?"
        chosen = self._db.execute(first, (*equal, limit - len(better))).fetchall()
        return better | {n: least for (n,) in chosen}

    def _is_narrow(self, wanted: Filter) -> bool:
        """Return whether few records match *wanted*, judged by an index of the table alone."""
        if wanted == ALL or wanted.since or wanted.until:
            return False
        condition, values = build_condition(wanted)
        statement = f"SELECT n FROM records r WHERE {condition} LIMIT {_MAX_NARROW_RECORDS + 1}"
        return len(self._db.execute(statement, values).fetchall()) <= _MAX_NARROW_RECORDS

    def _select_scored_rows(self, terms: Sequence[WeightedTerm], most: int, wanted: Filter = ALL) -> Cursor:
        """Return the *most* rows for which *terms* speak most, the best first; to put few in order takes less time."""
        condition, values = build_condition(wanted)
        among = "" if wanted == ALL else f"WHERE p.n IN (SELECT n FROM records r WHERE {condition})"
        pairs = ", ".join("(?, ?)" for _ in terms)
        return self._db.execute(
            f"WITH asked (t, worth) AS (VALUES {pairs}) SELECT p.n, sum(p.w * a.worth) AS score FROM asked a"
            f" CROSS JOIN postings p ON p.t = a.t {among} GROUP BY p.n ORDER BY score DESC LIMIT ?",
            [*(each for term in terms for each in (hash_term(term.term), term.worth)), *values, most],
        )

    def _filter_rows(self, rows: Sequence[tuple[int, int]], wanted: Filter) -> list[tuple[int, int]]:
        """Return those of *rows* whose records match *wanted*; read few, because records are long."""
        if wanted == ALL:
            return list(rows)
        condition, values = build_condition(wanted)
        statement = f"SELECT n FROM records r WHERE n IN ({build_placeholders(rows)}) AND {condition}"
        kept = {n for (n,) in self._db.execute(statement, (*(n for n, _ in rows), *values)).fetchall()}
        return [row for row in rows if row[0] in kept]

    def count_matches_by_scope(self, expression: str, wanted: Filter) -> dict[str, int]:
        """Return how many live records that the FTS5 *expression* finds each scope has that *wanted* leaves out."""
        condition, values = build_condition(
            self._db.restrict_filter(wanted._replace(scopes=(), statuses=wanted.statuses or tuple(sorted(LIVE))))
        )
        rows = self._db.execute(
            "SELECT r.scope, count(*) FROM words w JOIN records r ON r.n = w.rowid"
            f" WHERE words MATCH ? AND {condition} AND r.scope NOT IN ({build_placeholders(wanted.scopes)})"
            " GROUP BY r.scope ORDER BY count(*) DESC, r.scope",
            (expression, *values, *wanted.scopes),
        )
        return dict(rows.fetchall())

    def count_matches(self, expression: str, limit: int) -> int:
        """Return how many rows the FTS5 *expression* finds, *limit* at most."""
        statement = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return self._db.fetch_value(statement, (expression, limit)) if expression else 0

    def find_source_groups(self, rows: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Return for each of *rows* that shares its source with others the rows of that source, in the order of ids."""
        wanted = list(rows)
        of_one = f"SELECT DISTINCT value FROM facets WHERE facet = 'source' AND n IN ({build_placeholders(wanted)})"
        members: dict[str, list[int]] = {}
        for source, n in self._db.execute(
            f"SELECT value, n FROM facets WHERE facet = 'source' AND value IN ({of_one}) ORDER BY value, rest", wanted
        ).fetchall():
            members.setdefault(source, []).append(n)
        return {n: tuple(group) for group in members.values() if len(group) > 1 for n in group}


# -- passages with a vector -----------------------------------------------------------------------

MAX_PASSAGE_TOKENS = 400  # tokens of a record to embed, from its beginning: title and decision; small models read 512
_CJK_SHARE = 5  # a text is Chinese where one of so many characters is: names in code stay as they are
_FILE_NOTE = "vectors"


def extract_passage(record: Record) -> str:
    """Return the text of *record* to embed."""
    text = "\n".join((*list_titles(record), join_body(record))).strip()[: 4 * MAX_PASSAGE_TOKENS]
    return text[: len(text) * MAX_PASSAGE_TOKENS // max(estimate_tokens(text), MAX_PASSAGE_TOKENS)]


def detect_language(text: str) -> int:
    """Return 1 for a Chinese *text* and 0 for another."""
    return int(sum(character >= FIRST_CJK for character in text) * _CJK_SHARE >= max(len(text), 1))


def hash_text(text: str) -> int:
    """Return the number by which the vector of *text* is found."""
    return int.from_bytes(sha1(text.encode("utf-8", "replace")).digest()[:8]) >> 1


class Passages:
    """The table in the file of the index."""

    def __init__(self, db: Connection) -> None:
        """Take the table as it is."""
        self._db = db

    def update_row(self, n: int, known: Record | None, record: Record | None) -> None:
        """Let the row *n*, which held *known*, wait for the vector of *record*, if it says something else; None: no."""
        before, after = (hash_text(extract_passage(one)) if one else None for one in (known, record))
        if before != after and before is not None:
            self._db.execute("DELETE FROM passages WHERE digest = ? AND n = ?", (before, n))
        if before != after and after is not None:
            self._db.execute("INSERT INTO passages VALUES (?, ?, 1)", (after, n))

    def find_rows(self, digests: Sequence[int], wanted: Filter = ALL) -> dict[int, list[int]]:
        """Return the rows of each of *digests* whose records are *wanted*."""
        wanted = self._db.restrict_filter(wanted)
        condition, values = build_condition(wanted)
        # Without a filter the table alone answers: a join would read every record.
        joined = f"JOIN records r ON r.n = p.n WHERE {condition} AND" if wanted != ALL else "WHERE"
        found: dict[int, list[int]] = {}
        statement = f"SELECT p.digest, p.n FROM passages p {joined} p.digest IN ({build_placeholders(digests)})"
        for number, n in self._db.execute(statement, (*values, *digests)).fetchall():
            found.setdefault(number, []).append(n)
        return found

    def list_digests(self) -> list[int]:
        """Return every digest."""
        return [number for (number,) in self._db.execute("SELECT digest FROM passages").fetchall()]

    def count_waiting(self) -> int:
        """Return how many records wait for a vector."""
        return int(self._db.fetch_value("SELECT count(*) FROM passages WHERE waits"))

    def list_waiting(self, limit: int) -> list[Record]:
        """Return the first *limit* records that wait for a vector."""
        waiting = "SELECT r.path, r.data FROM passages p JOIN records r ON r.n = p.n WHERE p.waits ORDER BY p.n LIMIT ?"
        return [load_record(path, data) for path, data in self._db.execute(waiting, (limit,)).fetchall()]

    def mark_embedded(self, digests: Iterable[int]) -> None:
        """Say that the texts with *digests* have a vector."""
        self._db.executemany("UPDATE passages SET waits = 0 WHERE digest = ?", [(number,) for number in digests])

    def is_synced_with(self, file: str) -> bool:
        """Return whether the queue was computed for the file of vectors with the mark *file*."""
        return bool(self._db.fetch_value("SELECT value FROM notes WHERE key = ?", (_FILE_NOTE,)) == file)

    def reset_waiting(self, file: str, met: Iterable[int]) -> None:
        """Reckon again what waits: *file* has the vectors of the digests *met*."""
        self._db.execute("UPDATE passages SET waits = 1")
        self.mark_embedded(met)
        self.save_file_mark(file)

    def save_file_mark(self, file: str) -> None:
        """Save that the queue was computed for *file*."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_FILE_NOTE, file))
