"""Measure a hub: many repositories, many records, many clients; beside it PostgreSQL's own full text and tantivy.

    python -m bench.hub [--records 20000] [--repositories 20] [--engine sqlite|postgres] [--data FOLDER]
        [--seconds 6] [--beside] [--http] [--clients 1,16,64] [--processes 2]

Records are made by a seeded generator from sentences of real decision records and Chinese texts where KB_BENCH_DATA
names them, else from templates: so words come up as they do in prose, and two runs measure the same. They go through
the engine's own way in, one transaction for each repository. With --data, and for PostgreSQL KB_HUB_DSN, a run goes on
where it was stopped: repositories that are there are not made again.
"""

import argparse
import heapq
import http.client
import json
import multiprocessing
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bench.corpus import NOUNS
from kb.errors import IndexFailed
from kb.hub.rest import READERS
from kb.index.postings import compute_worth, hash_term
from kb.index.schema import join_body
from kb.organisation.hub import Hub
from kb.organisation.hub_engine import Engine
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_rank import load_all_rows, load_lists, rank_rows
from kb.organisation.org_search import CANDIDATES, search_repositories
from kb.organisation.postgres_engine import PostgresEngine
from kb.organisation.sqlite_engine import SqliteEngine
from kb.records.model import Record, Section
from kb.records.record_file import render
from kb.search.query import STOP_EN, parse_query
from kb.text.segment import extract_ranking_terms, has_cjk

PROCESSES = 2  # servers: one for each core
QUESTIONS = 120  # of each sort


# -- records ------------------------------------------------------------------------------------------


def load_sentences() -> tuple[list[str], list[str]]:
    """Return sentences in English and in Chinese."""
    data = os.environ.get("KB_BENCH_DATA", "")
    english, chinese = [], []
    for path in sorted(Path(data, "adr").glob("*/**/*.md")) if data else []:
        text = path.read_text(encoding="utf-8", errors="replace")
        for line in re.split(r"\n\s*\n|(?<=[.!?])\s+|\n", text):
            line = " ".join(line.split())
            if 30 < len(line) < 240 and not line.startswith(("#", "|", "```", "<", "[")):
                (chinese if has_cjk(line) else english).append(line)
    for path in sorted(Path(data, "retrieval").glob("*zh*/docs.jsonl")) if data else []:
        for row in path.read_text(encoding="utf-8").splitlines():
            chinese += [one for one in re.split(r"(?<=[。！？])", json.loads(row)["text"]) if 10 < len(one) < 160]
    plain = [noun for noun in NOUNS if not has_cjk(noun)]
    english = english or [f"The {a} calls the {b} before the {c} answers." for a in plain for b in plain for c in plain]
    han = [noun for noun in NOUNS if has_cjk(noun)]
    chinese = chinese or [f"{a}在{b}返回之前调用{c}。" for a in han for b in han for c in han]
    return english, chinese


def make_records(repository: int, count: int, sentences: tuple[list[str], list[str]]) -> Iterator[Record]:
    """Yield the records of one repository: every third in Chinese; a team has a few hundred sentences of its own."""
    chance = random.Random(f"hub {repository}")
    own = tuple(chance.sample(some, min(len(some), 1500)) for some in sentences)
    for number in range(1, count + 1):
        language = int(chance.random() < 1 / 3)
        # half of what is said is the team's own subject, half is of all
        said = [chance.choice((own if chance.random() < 0.5 else sentences)[language]) for _ in range(10)]
        title = " ".join(said[0].split()[:9]) if not language else said[0][:18]
        parts = [" ".join(said[at : at + 4]) for at in (0, 4, 7)]
        unique = f"{chance.choice(own[0])} tkt{repository}x{number}"
        yield Record(
            f"D{number:03d}", "decision", title, scope=f"project/team{repository}", status="accepted",
            date=f"202{chance.randrange(7)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}",
            tags=(f"area-{chance.randrange(40)}",), impact=(f"src/m{chance.randrange(200)}/x.py",),
            sections=(Section("decision", "Decision", parts[0]), Section("why", "Why", parts[1] + " " + unique),
                      Section("alternatives", "Alternatives", parts[2])),
            path=f"content/anchors/projects/team{repository}/D{number:03d}-x.md",
        )  # fmt: skip


def make_questions(sentences: tuple[list[str], list[str]], repositories: int) -> dict[str, list[str]]:
    """Return questions of each sort: words of few records, words of very many, and Chinese ones."""
    chance = random.Random("questions")
    counts: Counter[str] = Counter()
    for sentence in chance.sample(sentences[0], min(len(sentences[0]), 6000)):
        counts.update({word for word in re.findall(r"[a-z]{4,}", sentence.lower()) if word not in STOP_EN})
    common = sorted(counts, key=lambda word: (-counts[word], word))[:60]
    few = max(2, min(counts.values()))  # the templates have no word that comes once or twice
    rare = sorted(word for word, count in counts.items() if count <= few)
    runs = [run for line in sentences[1] for run in re.findall(r"[\u4e00-\u9fff]{6,}", line)]
    chinese = []
    for _ in range(QUESTIONS):
        run = chance.choice(runs)
        at = chance.randrange(len(run) - 4)
        chinese.append(run[at : at + 4] + chance.choice(["", " " + chance.choice(runs)[:2]]))
    return {
        "rare": [f"{chance.choice(rare)} {chance.choice(common)}" for _ in range(QUESTIONS)],
        "common": [" ".join(chance.sample(common, chance.choice([1, 2, 3]))) for _ in range(QUESTIONS)],
        "chinese": chinese,
    }


# -- the index ----------------------------------------------------------------------------------------


def name_repository(number: int) -> str:
    return f"team{number:05d}"


def fill_index(engine: Engine, place: tuple[str, str], total: int, repositories: int,
               sentences: tuple[list[str], list[str]], processes: int) -> None:  # fmt: skip
    """Make the repositories that are not there yet, and print how fast that went."""
    each = total // repositories
    missing = [number for number in range(repositories) if engine.read_state(name_repository(number)).records != each]
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    sink: multiprocessing.Queue[tuple[float, float]] = context.Queue()
    shares = [share for at in range(processes) if (share := missing[at::processes])]
    started = [context.Process(target=fill_some, args=(place, share, each, sentences, sink)) for share in shares]
    for one in started:
        one.start()
    spent = [sink.get() for _ in started]
    for one in started:
        one.join()
    if missing:
        written, seconds = each * len(missing), time.perf_counter() - began
        show(
            "indexed from nothing", f"{written / seconds:.0f} records/s in {len(shares)} processes, load {read_load()}"
        )
        used = f"{1000 * sum(cpu for cpu, _ in spent) / written:.2f} ms"
        show("  CPU for a record", f"{used}; {max(memory for _, memory in spent):.0f} MB a process")
    began = time.perf_counter()
    engine.optimise()
    text_bytes = sum(
        len(f"{one.title}\n{join_body(one)}".encode())
        for number in range(0, repositories, max(1, repositories // 20))
        for one in make_records(number, each, sentences)
    ) / (each * len(range(0, repositories, max(1, repositories // 20))))  # fmt: skip
    show("records · repositories", f"{total:,} · {repositories}; vacuum {time.perf_counter() - began:.1f} s")
    sizes = measure_sizes(engine)
    whole = sum(sizes.values())
    without = whole - sizes.get("copies of the records", 0)
    show("text", f"{text_bytes:.0f} bytes a record")
    show(
        "on disk", f"{whole / total:.0f} bytes a record; " + ", ".join(f"{k} {v / total:.0f}" for k, v in sizes.items())
    )
    show(
        "index per byte of text",
        f"{without / total / text_bytes:.2f} without the copy of the records, {whole / total / text_bytes:.2f} with",
    )


def fill_some(place: tuple[str, str], numbers: list[int], each: int, sentences: tuple[list[str], list[str]],
              sink: "multiprocessing.Queue[tuple[float, float]]") -> None:  # fmt: skip
    """Make some repositories; tell the CPU seconds and the megabytes that took."""
    engine = open_engine(*place)
    began = time.process_time()
    spent = 0.0
    for number in numbers:
        made = time.process_time()
        records = tuple(make_records(number, each, sentences))
        spent -= time.process_time() - made
        change = RepositoryChange("", "c1", records, frozenset(record.path for record in records), True)
        engine.apply_change(name_repository(number), change)
    engine.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    sink.put((spent + time.process_time() - began, used.ru_maxrss / 1024))


def read_load() -> str:
    """Return the load of the machine in the last minute: others may be at work on it."""
    return f"{os.getloadavg()[0]:.1f}"


def measure_sizes(engine: Engine) -> dict[str, int]:
    """Return the bytes of what an engine keeps."""
    if isinstance(engine, SqliteEngine):
        folder = Path(engine._folder)
        return {"files": sum(path.stat().st_size for path in folder.iterdir())}
    assert isinstance(engine, PostgresEngine)
    with engine._change("all") as db:
        tables = ("postings", "records")
        found = {name: db.execute(f"SELECT pg_total_relation_size('kb_hub.{name}')").fetchone()[0] for name in tables}
        # policies hide rows from a plain owner; the bench is a superuser
        copies = db.execute("SELECT coalesce(sum(length(data)), 0) FROM kb_hub.records").fetchone()[0]
    return {"postings": found["postings"], "rows": found["records"] - int(copies), "copies of the records": int(copies)}


def show(what: str, figure: str) -> None:
    print(f"{what:34s} {figure}", flush=True)


def show_times(what: str, seconds: list[float], spent: float) -> None:
    ordered = sorted(1000 * one for one in seconds)
    at = {share: ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95, 0.99)}
    figures = " · ".join(f"p{round(100 * share)} {value:.1f}" for share, value in at.items())
    show(what, f"{figures} ms; {len(ordered) / spent:.0f} questions/s ({len(ordered)})")


# -- clients ------------------------------------------------------------------------------------------


def open_engine(dsn: str, folder: str, connections: int = 8) -> Engine:
    return PostgresEngine(dsn, connections) if dsn else SqliteEngine(folder)


class Served(NamedTuple):
    """What servers did."""

    times: list[float]
    """Seconds of each question, as its client waited."""
    costs: list[float]
    """CPU seconds of each."""
    memory: int
    """KB of the largest."""
    spent: float
    """CPU seconds of all that they did."""


def serve_clients(dsn: str, folder: str, names: list[str], questions: list[str], threads: int, seconds: float,
                  sink: "multiprocessing.Queue[Served]", ready: Barrier) -> None:  # fmt: skip
    """Answer *threads* clients that each ask again as soon as they have an answer, as the server does: a few at the
    same time. Before, every question is asked once, so that all words were read: how long the first time takes is
    measured by itself."""
    engine = open_engine(dsn, folder)
    pool = ThreadPoolExecutor(READERS)
    readable, found, costs, lock = frozenset(names), [], [], threading.Lock()

    def warm(at: int) -> None:
        for text in questions[at::threads]:
            answer(text)

    def ask(seed: int) -> None:
        chance = random.Random(seed + os.getpid())
        end, own = time.perf_counter() + seconds, []
        while time.perf_counter() < end:
            began = time.perf_counter()
            try:
                answer(chance.choice(questions))
            except IndexFailed as error:  # no connection came free in time: the question is not counted, but said
                print(f"not answered: {error}", flush=True)
                continue
            own.append(time.perf_counter() - began)
        with lock:
            found.extend(own)

    def answer(text: str) -> None:
        pool.submit(search, text).result()

    def search(text: str) -> None:
        began = time.thread_time()
        with engine.open_reader(readable) as reader:
            search_repositories(reader, text)
        costs.append(time.thread_time() - began)

    def run(work: Callable[[int], None]) -> None:
        clients = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    run(warm)
    costs.clear()
    ready.wait()
    started = resource.getrusage(resource.RUSAGE_SELF)
    idle = started.ru_utime + started.ru_stime
    run(ask)
    engine.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    sink.put(Served(found, costs, used.ru_maxrss, used.ru_utime + used.ru_stime - idle))


def run_clients(
    dsn: str, folder: str, names: list[str], questions: list[str], clients: int, seconds: float, place: Path | None
) -> tuple[Served, float]:
    """Let *clients* ask for some seconds; return what all servers did, and the CPU seconds of the database."""
    context = multiprocessing.get_context("spawn")
    sink: multiprocessing.Queue[Served] = context.Queue()
    servers = min(PROCESSES, clients)
    ready = context.Barrier(servers + 1)
    given = (dsn, folder, names, questions, clients // servers, seconds, sink, ready)
    started = [context.Process(target=serve_clients, args=given) for _ in range(servers)]
    for one in started:
        one.start()
    ready.wait()
    before = measure_database_cpu(place)
    results = [sink.get() for _ in started]
    for one in started:
        one.join()
    database = measure_database_cpu(place) - before
    times, costs, memory, spent = zip(*results, strict=True)
    return Served([*chain(*times)], [*chain(*costs)], max(memory), sum(spent)), database


def reckon_times(costs: list[float], clients: int, processors: int, count: int = 20_000) -> list[float]:
    """Return how long answers would take that cost as much CPU as *costs*, where nobody else is at work: each on the
    next of so many *processors* that is free, in the order in which *clients* ask, who ask again at once."""
    chance = random.Random("times")
    free = [0.0] * processors
    asked = [(0.0, client) for client in range(clients)]
    times = []
    for _ in range(count):
        begins, client = heapq.heappop(asked)
        ends = max(begins, heapq.heappop(free)) + chance.choice(costs)
        heapq.heappush(free, ends)
        heapq.heappush(asked, (ends, client))
        times.append(ends - begins)
    return times


def measure_http(
    dsn: str, names: list[str], questions: dict[str, list[str]], crowds: list[int], seconds: float
) -> None:
    """Print the same over HTTP: asked of `kb hub serve`, which answers in `PROCESSES` processes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [f'data = "d"\npolling = 0\n[server]\nprocesses = {PROCESSES}\n']
        rows += [f'[[repository]]\nname = "{name}"\nurl = "https://x.invalid/x"\ngroups = ["*"]\n' for name in names]
        Path(folder, "hub.toml").write_text("".join(rows))
        words = [sys.executable, "-c", "from kb.cli import main; main()", "hub", "serve", "--config"]
        words += [f"{folder}/hub.toml", "--address", "127.0.0.1:0"]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "KB_HUB_DSN": dsn}
        ) as server:
            assert server.stdout
            place = server.stdout.readline().strip().removeprefix("http://")
            try:
                for sort, texts in questions.items():
                    addresses = [f"/api/v1/search?query={quote(text)}" for text in texts]
                    for _ in range(3):  # each time by other connections: so every process has read every word
                        ask_over_http(place, addresses, 2 * PROCESSES, 0)
                    for clients in crowds:
                        times, refused = ask_over_http(place, addresses, clients, seconds)
                        show_times(f"{sort}, {clients} clients, HTTP", times, seconds)
                        show("  told to come back", f"{refused}; load {read_load()}")
            finally:
                server.terminate()


def ask_over_http(place: str, addresses: list[str], clients: int, seconds: float) -> tuple[list[float], int]:
    """Return the times of the answers to so many *clients*, each of which waits where it is told to, and how often they
    were told; *seconds* 0: each asks everything once."""
    found: list[float] = []
    refused = [0] * clients
    end = time.perf_counter() + seconds

    def ask(client: int) -> None:
        chance = random.Random(client)
        connection = http.client.HTTPConnection(place, timeout=120)
        asked = iter(lambda: chance.choice(addresses), "") if seconds else iter(addresses)
        for address in asked:
            if seconds and time.perf_counter() > end:
                break
            began = time.perf_counter()
            connection.request("GET", address)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 503:
                refused[client] += 1
                time.sleep(float(answer.headers["Retry-After"]))
            else:
                assert answer.status == 200, answer.status
                found.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found, sum(refused)


def find_data(dsn: str) -> Path | None:
    """Return the folder of the database where it is on this machine and may be looked into."""
    import psycopg

    with psycopg.connect(dsn) as db:
        place = Path(db.execute("SHOW data_directory").fetchone()[0])
    return place if os.access(place / "postmaster.pid", os.R_OK) else None


def measure_database_cpu(data: Path | None) -> float:
    """Return the CPU seconds that the server in the folder *data* and all that it started have spent; 0: not known."""
    if data is None:
        return 0.0
    pid, ticks = (data / "postmaster.pid").read_text().split()[0], 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if stat.parent.name == pid:
            ticks += sum(map(int, fields[11:15]))  # with those of its children that have ended
        elif fields[1] == pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


# -- what is exact, what is visible, what stands beside ------------------------------------------------


def measure_recall(engine: Engine, names: list[str], questions: dict[str, list[str]]) -> None:
    """Print how often lists were left, and which share of the true best ten was found all the same; and how long a
    question takes whose words nobody asked for since something changed."""
    with engine.open_reader(frozenset(names)) as reader:
        total = sum(count for _, count in reader.states.values())
        began = time.perf_counter()
        keys = load_all_rows(reader).keys
        show("all rows, read once", f"{1000 * (time.perf_counter() - began):.0f} ms")
        for sort, texts in questions.items():
            left, shares, times, cpu = 0, [], [], 0.0
            for text in texts[:40]:
                weights = parse_query(text).weights
                numbers = {hash_term(term): weight for term, weight in weights.items()}
                fresh = sum(term not in reader.cache.find_lists(reader.version, numbers) for term in numbers)
                began, used = time.perf_counter(), time.process_time()
                lists = load_lists(reader, numbers)
                if fresh:
                    times.append(time.perf_counter() - began)
                    cpu += time.process_time() - used
                worths = {n: compute_worth(weight, lists[n].records, total) for n, weight in numbers.items()}
                cut = rank_rows(keys, lists, worths, CANDIDATES)
                whole = cut
                if not cut.is_exact:
                    whole = rank_rows(keys, load_lists(reader, numbers, 10**12), worths, CANDIDATES)
                left += not cut.is_exact
                best = [row.score for row in whole.rows[:10]]
                shares.append(sum(a == b.score for a, b in zip(best, cut.rows, strict=False)) / max(len(best), 1))
            show(f"lists left, {sort}", f"{left} of {len(shares)}; share of the best ten {statistics.mean(shares):.3f}")
            if times:
                show_times(f"  new words, {sort}: lists read", times, sum(times))
                show("  CPU in the hub for them", f"{1000 * cpu / len(times):.1f} ms")


def measure_push(engine: Engine, sentences: tuple[list[str], list[str]], each: int) -> None:
    """Print how long it takes until a push of one record is found: by the engine alone, and through git."""
    name, times = name_repository(0), []
    before = engine.read_state(name).commit
    for step in range(5):
        record = next(make_records(0, 1, sentences))._replace(title=f"Pushed zqx{step}")
        change = RepositoryChange(before, f"p{step}", (record,), frozenset([record.path]), False)
        began = time.perf_counter()
        engine.apply_change(name, change)
        with engine.open_reader(frozenset([name])) as reader:
            assert search_repositories(reader, f"zqx{step}").hits
        times.append(time.perf_counter() - began)
        before = f"p{step}"
    show(f"a push into {each:,} records, index", f"median {statistics.median(times):.3f} s, worst {max(times):.3f} s")
    records = tuple(make_records(0, each, sentences))
    engine.apply_change(name, RepositoryChange("", "c1", records, frozenset(r.path for r in records), True))


def measure_git(dsn: str, sentences: tuple[list[str], list[str]], count: int = 2000) -> None:
    """Print the same for a repository of *count* records, from `git commit` to an answer, the fetch included."""
    with tempfile.TemporaryDirectory() as folder:
        team = Path(folder, "team")

        def git(*words: str) -> None:
            told = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
            subprocess.run(["git", "-C", str(team), *told, *words], check=True, capture_output=True)

        for record in make_records(9, count, sentences):
            place = team / record.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(render(record), encoding="utf-8")
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "x")):
            git(*words)
        rows = f'allow_local = true\ndata = "d"\n[[repository]]\nname = "git"\nurl = "file://{team}"\n'
        Path(folder, "hub.toml").write_text(rows)
        hub = Hub.open(str(Path(folder, "hub.toml")), dict(os.environ, KB_HUB_DSN=""))
        began = time.perf_counter()
        hub.sync()
        show(f"{count:,} records through git", f"{count / (time.perf_counter() - began):.0f} records/s, SQLite")
        times = []
        for step in range(5):
            place.write_text(render(record._replace(title=f"Pushed zqx{step}")), encoding="utf-8")
            git("commit", "-qam", "x")
            began = time.perf_counter()
            hub.sync()
            assert hub.search(f"zqx{step}", frozenset({"git"})).hits
            times.append(time.perf_counter() - began)
        show("a push until it is found, with git", f"median {statistics.median(times):.3f} s, worst {max(times):.3f} s")
        hub.close()


def measure_postgres_text(dsn: str, total: int, repositories: int, sentences: tuple[list[str], list[str]],
                          questions: dict[str, list[str]]) -> None:  # fmt: skip
    """Print the same questions asked of PostgreSQL's own full text, over the terms that kb makes."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS bench_text")
        db.execute("CREATE TABLE bench_text (repo integer, id text, said tsvector)")
        began = time.perf_counter()
        with db.cursor().copy("COPY bench_text FROM STDIN") as copy:
            for number in range(repositories):
                for record in make_records(number, total // repositories, sentences):
                    terms = Counter(extract_ranking_terms(f"{record.title} {record.title} {join_body(record)}"))
                    vector = " ".join(f"'{term}':1" for term in terms if "'" not in term and "\\" not in term)
                    copy.write_row((number, record.id, vector))
        db.execute("CREATE INDEX ON bench_text USING gin (said)")
        db.execute("VACUUM ANALYZE bench_text")
        size = db.execute("SELECT pg_total_relation_size('bench_text')").fetchone()[0]
        show(
            "PostgreSQL full text: built",
            f"{total / (time.perf_counter() - began):.0f} records/s, {size / total:.0f} bytes a record",
        )
        ask = "SELECT repo, id FROM bench_text, to_tsquery('simple', %s) q WHERE said @@ q"
        ask += " ORDER BY ts_rank(said, q) DESC LIMIT 10"
        for sort, texts in questions.items():
            asked = [" | ".join(f"'{term}'" for term in parse_query(text).weights) for text in texts[:60]]
            time_each(f"PostgreSQL full text: {sort}", asked, lambda text: db.execute(ask, (text,)).fetchall())
        db.execute("DROP TABLE bench_text")


def measure_tantivy(total: int, repositories: int, sentences: tuple[list[str], list[str]],
                    questions: dict[str, list[str]]) -> None:  # fmt: skip
    """Print the same questions asked of tantivy, over the terms that kb makes, in this process."""
    try:
        import tantivy
    except ImportError:
        show("tantivy", "not installed")
        return
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("said", tokenizer_name="whitespace")
    schema = builder.build()
    with tempfile.TemporaryDirectory() as folder:
        index = tantivy.Index(schema, path=folder)
        writer = index.writer(200_000_000, 1)
        began = time.perf_counter()
        for number in range(repositories):
            for record in make_records(number, total // repositories, sentences):
                terms = " ".join(extract_ranking_terms(f"{record.title} {record.title} {join_body(record)}"))
                writer.add_document(tantivy.Document(id=f"{number}:{record.id}", said=terms))
        writer.commit()
        writer.wait_merging_threads()
        spent = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        show("tantivy: built", f"{total / spent:.0f} records/s, {size / total:.0f} bytes a record")
        index.reload()
        searcher, found = index.searcher(), []

        def ask(terms: list[str]) -> None:
            parts = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "said", term)) for term in terms]
            found.append(len(searcher.search(tantivy.Query.boolean_query(parts), 10).hits))

        for sort, texts in questions.items():
            time_each(f"tantivy: {sort}", [list(parse_query(text).weights) for text in texts[:60]], ask)
        show("tantivy: records in an answer", f"{statistics.mean(found):.1f}")


def time_each(what: str, asked: list, ask: Callable[[object], object]) -> None:
    for text in asked[:3]:
        ask(text)
    times, began = [], time.perf_counter()
    for text in asked:
        start = time.perf_counter()
        ask(text)
        times.append(time.perf_counter() - start)
        if time.perf_counter() - began > 20:
            break
    show_times(f"{what}, 1 client", times, time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--repositories", type=int, default=20)
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="postgres")
    parser.add_argument("--data", default="")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="that index")
    parser.add_argument("--http", action="store_true", help="ask `kb hub serve` as well; with PostgreSQL")
    parser.add_argument("--beside", action="store_true", help="also PostgreSQL's own full text, and tantivy")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        dsn, place = "", None
        if chosen.engine == "postgres":
            dsn = os.environ.get("KB_HUB_DSN", "")
            if not dsn:
                from tests.support.postgres import PostgresServer

                server = PostgresServer()
                stack.callback(server.close)
                dsn = server.dsn
            place = find_data(dsn)
        folder = chosen.data or stack.enter_context(tempfile.TemporaryDirectory())
        sentences = load_sentences()
        show("engine", chosen.engine)
        show("sentences (en · zh)", f"{len(sentences[0]):,} · {len(sentences[1]):,}")
        engine = open_engine(dsn, folder)
        stack.callback(engine.close)
        processes = min(chosen.processes, chosen.repositories)
        fill_index(engine, (dsn, folder), chosen.records, chosen.repositories, sentences, processes)
        names = [name_repository(number) for number in range(chosen.repositories)]
        questions = make_questions(sentences, chosen.repositories)
        measure_recall(engine, names, questions)
        measure_push(engine, sentences, chosen.records // chosen.repositories)
        memory = 0
        for clients in map(int, chosen.clients.split(",")):
            for sort, texts in questions.items():
                served, database = run_clients(dsn, folder, names, texts, clients, chosen.seconds, place)
                count = len(served.times)
                show_times(f"{sort}, {clients} clients", served.times, chosen.seconds)
                each = f"{1000 * served.spent / count:.1f} ms in the hub, {1000 * database / count:.1f} in PostgreSQL"
                show("  CPU for a question", f"{each}; load {read_load()}")
                more = served.spent / sum(served.costs)  # what the process does beside the search
                idle = reckon_times([more * one + database / count for one in served.costs], clients, 2)
                show_times("  reckoned for two idle processors", idle, sum(idle) / clients)
                memory = max(memory, served.memory)
        show("memory of a server process", f"{memory / 1024:.0f} MB")
        if chosen.http and dsn:
            measure_http(dsn, names, questions, [int(one) for one in chosen.clients.split(",")], chosen.seconds)
        measure_git(dsn, sentences)
        if chosen.beside:
            measure_tantivy(chosen.records, chosen.repositories, sentences, questions)
            if dsn:
                measure_postgres_text(dsn, chosen.records, chosen.repositories, sentences, questions)


if __name__ == "__main__":
    main()
