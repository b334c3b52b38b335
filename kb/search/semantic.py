"""The way out by meaning: question → vector → nearest records, and answers in a model's order.

A search embeds its question, and the few records written since the vectors were made. Whatever fails leaves the search
to words, and is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kb.config import NO_MODEL
from kb.errors import KbError
from kb.i18n import Message, msg
from kb.index import models
from kb.index.database import Index
from kb.index.passages import detect_language, extract_passage
from kb.index.schema import Filter
from kb.search import embedding
from kb.search.rank import SearchHit
from kb.search.retrieve import TOP, SemanticSource

if TYPE_CHECKING:
    from kb.index.models import Embedder
    from kb.workspace import Workspace

FEW = 4
"""Records without a vector that a search embeds itself; more of them wait for `kb vectors build`."""

_CHUNK = 128


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
        embedder = None
        try:
            embedder = models.create_embedder(self._kb.config.embedder, self._kb.environment)
            return self._search_vectors(embedder)
        except (KbError, OSError) as error:
            problem = error.message if isinstance(error, KbError) else error.strerror
            self.ran = msg("lexical; no vectors: {problem}", problem=problem)
            return {}
        finally:
            if embedder:
                embedder.close()

    def _search_vectors(self, embedder: Embedder) -> dict[int, float]:
        kb, passages = self._kb, self._index.passages
        vectors = embedding.open_vectors(kb, embedder)
        if not len(vectors):
            raise KbError(msg("there are none yet; run: kb vectors build"))
        embedding.sync_waiting_records(self._index, vectors)
        if 0 < passages.count_waiting() <= FEW:
            vectors = embedding.embed_records(kb, self._index, embedder, FEW, kb.config.model_timeout)
        (question,) = embedder.embed_texts([self._query], "query", kb.config.model_timeout)
        nearest = vectors.iter_nearest(question, detect_language(self._query))
        found: dict[int, float] = {}
        while len(found) < TOP and (chunk := dict(islice(nearest, _CHUNK))):
            rows = passages.find_rows(list(chunk), self._wanted)
            found |= {n: much for number, much in chunk.items() for n in rows.get(number, ())}
        waiting = passages.count_waiting()
        said = msg("lexical + vectors ({name}; {n} records without a vector)", name=embedder.name, n=waiting)
        self.ran = said if waiting else msg("lexical + vectors ({name})", name=embedder.name)
        return dict(islice(found.items(), TOP))


def rerank_hits(kb: Workspace, query: str, hits: Sequence[SearchHit]) -> tuple[list[SearchHit], Message | str]:
    """Return *hits*, the first of them in the order of the reranker that the settings name, and what came of it."""
    top = kb.config.rerank_top
    if kb.config.reranker == NO_MODEL or len(hits) < 2:
        return list(hits), ""
    reranker = None
    try:
        reranker = models.create_reranker(kb.config.reranker, kb.environment)
        texts = [extract_passage(hit.record) for hit in hits[:top]]
        scores = reranker.score_texts(query, texts, kb.config.model_timeout)
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
        first = [hits[at]._replace(parts={**hits[at].parts, "reranker": scores[at]}) for at in order]
        return [*first, *hits[top:]], msg("reranked ({name})", name=reranker.name)
    except KbError as error:
        return list(hits), msg("not reranked: {problem}", problem=error.message)
    finally:
        if reranker:
            reranker.close()
