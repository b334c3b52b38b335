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
from kb.index.passages import language, passage
from kb.index.schema import Filter
from kb.search import embedding
from kb.search.rank import Hit
from kb.search.retrieve import Meaning
from kb.search.score_fusion import TOP

if TYPE_CHECKING:
    from kb.index.models import Embedder
    from kb.workspace import Workspace

FEW = 4
"""Records without a vector that a search embeds itself; more of them wait for `kb vectors build`."""

_CHUNK = 128


class Asked:
    """A question that vectors help to answer, and what came of that."""

    def __init__(self, kb: Workspace, index: Index, query: str, wanted: Filter) -> None:
        """Take the question; nothing is loaded before words have left something to ask."""
        self._kb, self._index, self._query, self._wanted = kb, index, query, wanted
        self.ran: Message = msg("lexical")

    @property
    def meaning(self) -> Meaning:
        """What the search asks."""
        return Meaning(self._near, min(self._kb.config.meaning_share, 1.0))

    def _near(self) -> Mapping[int, float]:
        embedder = None
        try:
            embedder = models.embedder(self._kb.config.embedder, self._kb.environment)
            return self._nearest(embedder)
        except (KbError, OSError) as error:
            problem = error.message if isinstance(error, KbError) else error.strerror
            self.ran = msg("lexical; no vectors: {problem}", problem=problem)
            return {}
        finally:
            if embedder:
                embedder.close()

    def _nearest(self, embedder: Embedder) -> dict[int, float]:
        kb, passages = self._kb, self._index.passages
        vectors = embedding.opened(kb, embedder)
        if not len(vectors):
            raise KbError(msg("there are none yet; run: kb vectors build"))
        embedding.compare(self._index, vectors)
        if 0 < passages.waiting() <= FEW:
            vectors = embedding.embed(kb, self._index, embedder, FEW, kb.config.model_timeout)
        (question,) = embedder.vectors([self._query], "query", kb.config.model_timeout)
        nearest = vectors.nearest(question, language(self._query))
        found: dict[int, float] = {}
        while len(found) < TOP and (chunk := dict(islice(nearest, _CHUNK))):
            rows = passages.rows(list(chunk), self._wanted)
            found |= {n: much for number, much in chunk.items() for n in rows.get(number, ())}
        waiting = passages.waiting()
        said = msg("lexical + vectors ({name}; {n} records without a vector)", name=embedder.name, n=waiting)
        self.ran = said if waiting else msg("lexical + vectors ({name})", name=embedder.name)
        return dict(islice(found.items(), TOP))


def reranked(kb: Workspace, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], Message | str]:
    """Return *hits*, the first of them in the order of the reranker that the settings name, and what came of it."""
    top = kb.config.rerank_top
    if kb.config.reranker == NO_MODEL or len(hits) < 2:
        return list(hits), ""
    reranker = None
    try:
        reranker = models.reranker(kb.config.reranker, kb.environment)
        texts = [passage(hit.record) for hit in hits[:top]]
        scores = reranker.scores(query, texts, kb.config.model_timeout)
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
        first = [hits[at]._replace(parts={**hits[at].parts, "reranker": scores[at]}) for at in order]
        return [*first, *hits[top:]], msg("reranked ({name})", name=reranker.name)
    except KbError as error:
        return list(hits), msg("not reranked: {problem}", problem=error.message)
    finally:
        if reranker:
            reranker.close()
