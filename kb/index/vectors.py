"""The vectors of the records: one file of numbers, derived and deletable, and the only home of numpy.

A row is found by the digest of the text it stands for, not by a record: the index may be rebuilt, records come and go,
and a row is still right or simply not asked for. Rows are only ever appended; what is tidied is written beside and
renamed. A row torn by a crash has a digest that nothing has. A file of another clone or embedder is not read.

The first two rows are no records' but the means of the vectors of either language. A vector is compared by where it
lies from the mean of its language: else everything in the other language is farther away than anything in this one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kb.errors import KbError
from kb.files import write_atomic
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

_HEAD = 4096
_MARGIN = 4  # numbers of four bytes before a vector: its digest (two), one by its length from the mean, its language
_THREADS = "OPENBLAS_NUM_THREADS"
_MIN_MEAN_RECORDS = (
    20  # records of each language from which on a mean says more of a language than of what they are about
)


class Vectors:
    """The vectors in the file *path*, made by the clone *maker* with the embedder *name*."""

    def __init__(self, path: str, maker: str, name: str) -> None:
        """Open the file; there are no vectors where there is none of this maker and name."""
        self.path = path
        self._head = {"clone": maker, "name": name}
        self._open()

    def _open(self) -> None:
        with limit_to_one_thread():
            import numpy

        self.dimensions = _read_dimensions(self.path, self._head)
        width = _MARGIN + self.dimensions
        size = (os.path.getsize(self.path) - _HEAD) // (4 * width) if self.dimensions else 0
        self._rows: Any = numpy.memmap(self.path, "<f4", "r", _HEAD, (size, width)) if size else numpy.zeros((2, width))
        self._lengths, self._languages = self._rows[2:, 2].copy(), self._rows[2:, 3].astype("i1")

    @property
    def mark(self) -> str:
        """The mark that identifies this file: it changes when the file is made or tidied, and not when it grows."""
        return f"{self._head['name']} {os.stat(self.path).st_ino}" if self.dimensions else ""

    def __len__(self) -> int:
        return len(self._rows) - 2

    def find_known_digests(self, digests: Sequence[int]) -> list[bool]:
        """Tell for each of *digests* whether it has a vector."""
        import numpy

        found: list[bool] = numpy.isin(numpy.array(digests, "<i8"), _extract_digests(self._rows[2:])).tolist()
        return found

    def iter_nearest(self, question: Sequence[float], language: int) -> Iterator[tuple[int, float]]:
        """Yield digest and likeness (-1.0–1.0) of all rows, those nearest to *question*, asked in *language*, first."""
        import numpy

        if not len(self):
            return
        means, rows = self._rows[:2, _MARGIN:], self._rows[2:]
        asked = _normalise_vectors([question], self.dimensions)[0] - means[language]
        asked /= max(float(numpy.linalg.norm(asked)), 1e-9)
        from_means = means @ asked
        likeness = rows[:, _MARGIN:] @ asked
        likeness -= from_means[self._languages]
        likeness *= self._lengths
        start, stop = 0, 256
        while start < len(rows):
            best = numpy.argpartition(-likeness, stop)[:stop] if stop < len(rows) else numpy.arange(len(rows))
            best = best[numpy.lexsort((best, -likeness[best]))][start:]
            yield from zip(_extract_digests(rows[best]).tolist(), likeness[best].tolist(), strict=True)
            start, stop = stop, stop * 4

    # making; one process at a time does it

    def add(self, digests: Sequence[int], languages: Sequence[int], made: Sequence[Sequence[float]]) -> None:
        """Append a row for each of *digests*, of texts in *languages*; raise KbError where *made* is no matrix."""
        import numpy

        vectors = _normalise_vectors(made, self.dimensions)
        rows = numpy.zeros((len(vectors), _MARGIN + vectors.shape[1]), "<f4")
        rows[:, :2] = numpy.array(digests, "<i8").view("<f4").reshape(-1, 2)
        rows[:, 3] = languages
        rows[:, _MARGIN:] = vectors
        if not self.dimensions:
            self._write(numpy.zeros((2, rows.shape[1]), "<f4"))
        _set_norm_factors(rows, self._rows[:2, _MARGIN:])
        with open(self.path, "r+b") as file:
            file.seek(_HEAD + len(self._rows) * rows[0].nbytes)  # over a torn row
            file.write(rows.tobytes())
        self._open()

    def drop_unused_rows(self, wanted: Sequence[int]) -> None:
        """Keep the rows with a digest that is *wanted*, each once, and reckon the means anew."""
        import numpy

        if not self.dimensions:
            return
        digests = _extract_digests(self._rows[2:])
        _, first = numpy.unique(digests, return_index=True)
        kept = numpy.sort(first[numpy.isin(digests[first], numpy.array(wanted, "<i8"))]) + 2
        rows = self._rows[numpy.concatenate([[0, 1], kept])]
        vectors, is_other = rows[:, _MARGIN:], rows[:, 3] > 0
        is_other[:2] = False
        counts = len(kept) - is_other.sum(), is_other.sum()
        vectors[:2] = 0
        # The mean of a few vectors says what they are about; only of many it is that of their language.
        if min(counts) >= _MIN_MEAN_RECORDS:
            vectors[1] = vectors[is_other].mean(axis=0)
            vectors[0] = vectors[2:][~is_other[2:]].mean(axis=0)
        _set_norm_factors(rows[2:], vectors[:2])
        self._write(rows)

    def _write(self, rows: Any) -> None:
        head = json.dumps({**self._head, "dimensions": rows.shape[1] - _MARGIN})
        write_atomic(self.path, head.encode().ljust(_HEAD) + rows.tobytes())
        self._open()


@contextlib.contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Let numpy, if it is loaded inside, take one thread: two wait for each other, and a product is soon done."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]


def _read_dimensions(path: str, head: Mapping[str, str]) -> int:
    """Return how many numbers a vector of the file *path* has; 0 where its beginning is not as *head* says."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        found = json.loads(file.read(_HEAD))
        dimensions = int(found.pop("dimensions"))
        least = _HEAD + 8 * (_MARGIN + dimensions)
        if found == head and dimensions > 0 and os.path.getsize(path) >= least:
            return dimensions
    return 0


def _extract_digests(rows: Any) -> Any:
    return rows[:, :2].astype("<f4", order="C", copy=True).view("<i8")[:, 0]


def _set_norm_factors(rows: Any, means: Any) -> None:
    """Note in each of *rows* what a product with its vector, seen from the mean, is multiplied by for a cosine."""
    import numpy

    for language in (0, 1):
        own = rows[:, 3] == language
        lengths = numpy.linalg.norm(rows[own, _MARGIN:] - means[language], axis=1)
        rows[own, 2] = 1 / numpy.maximum(lengths, 1e-9)


def _normalise_vectors(vectors: Sequence[Sequence[float]], dimensions: int) -> Any:
    """Return *vectors* as a matrix of rows of length 1; raise KbError for what is none, or of other *dimensions*."""
    import numpy

    try:
        made = numpy.array(vectors, "<f4")
    except (ValueError, TypeError):
        made = numpy.zeros(0, "<f4")
    if made.ndim != 2 or not made.shape[1] or not numpy.isfinite(made).all():
        raise KbError(msg("the model's answer is no vector of numbers"))
    if dimensions and made.shape[1] != dimensions:
        raise KbError(
            msg("the model's vectors have {n} numbers, those of the records {m}", n=made.shape[1], m=dimensions),
            hint=msg("run: kb vectors build --anew"),
        )
    lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
    if not lengths.all():
        raise KbError(msg("the model's answer is no vector of numbers"))
    return made / lengths
