"""Digests of the texts that have a vector, and the queue of those that still wait for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb.index.schema import ALL, Filter, build_condition, build_placeholders, join_body, load_record
from kb.records.model import Record
from kb.startup.hashes import sha1
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import FIRST_CJK, estimate_tokens

if TYPE_CHECKING:
    from kb.index.connection import Connection

LONGEST = 400  # tokens of a record that a vector stands for, its beginning: title and decision; small models read 512
_CJK_SHARE = 5  # a text is Chinese where one of so many characters is: names in code stay as they are
_NOTE = "vectors"


def extract_passage(record: Record) -> str:
    """Return the text of *record* that a vector stands for."""
    text = f"{record.title}\n{join_body(record)}".strip()[: 4 * LONGEST]
    return text[: len(text) * LONGEST // max(estimate_tokens(text), LONGEST)]


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
        """Return whether what waits was reckoned against *file*, whatever tells one file of vectors from another."""
        return bool(self._db.fetch_value("SELECT value FROM notes WHERE key = ?", (_NOTE,)) == file)

    def reset_waiting(self, file: str, met: Iterable[int]) -> None:
        """Reckon anew what waits: *file* has the vectors of the digests *met*."""
        self._db.execute("UPDATE passages SET waits = 1")
        self.mark_embedded(met)
        self.save_file_mark(file)

    def save_file_mark(self, file: str) -> None:
        """Say that what waits was reckoned against *file*."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_NOTE, file))
