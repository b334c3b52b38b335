"""Embeddings that are kept between runs of a bench: they take minutes to make and never change.

KB_BENCH_CACHE names the folder; without it nothing outlives the run.
"""

import os
import sqlite3
from array import array
from collections.abc import Callable, Sequence

from kb.startup.process import sha1

Embed = Callable[[Sequence[str], str], list[Sequence[float]]]
"""Texts and what they are ("query" or "passage") → their vectors."""

BATCH = 32


class Kept:
    """The vectors of one embedder, each made once."""

    def __init__(self, name: str, embed: Embed) -> None:
        """Keep what *embed* makes under *name*."""
        folder = os.environ.get("KB_BENCH_CACHE", "")
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._db = sqlite3.connect(os.path.join(folder, f"{name}.db") if folder else ":memory:", timeout=60)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        self._embed = embed

    def __call__(self, texts: Sequence[str], role: str) -> list[Sequence[float]]:
        """Return the vectors of *texts*, the missing ones made now."""
        keys = [sha1(f"{role}: {text}".encode()).digest() for text in texts]
        missing = [number for number, key in enumerate(keys) if self._known(key) is None]
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            made = self._embed([texts[number] for number in some], role)
            rows = [(keys[number], array("f", vector).tobytes()) for number, vector in zip(some, made, strict=True)]
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        return [self._known(key) or () for key in keys]

    def _known(self, key: bytes) -> Sequence[float] | None:
        row = self._db.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return array("f", row[0]) if row else None
