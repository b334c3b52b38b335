"""Measure HNSW of pgvector on PostgreSQL: what a hub that searched by meaning would have. kb's hub does not.

    KB_BENCH_DATA=… python -m bench.hubvectors [--records 100000] [--sentences 1500]

The model of the extra `vectors` embeds sentences of the generator of `bench.hub`, a third of them Chinese. A record's
vector is the mean of those of three of its sentences, for to embed 100,000 texts takes an hour. Questions are sentences
of which no record was made. Recall: the share of the exact ten nearest that the index finds.
"""

import argparse
import random
import time
from contextlib import closing

import numpy as np
import psycopg

from bench.hub import load_sentences, read_load, show
from bench.recallvectors import embed
from tests.support.postgres import PostgresServer

QUESTIONS = 150


def make_vectors(sentences: int, records: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of so many records and of the questions, each of length one."""
    chance = random.Random("vectors")
    texts = [one for some, share in zip(load_sentences(), (2, 1), strict=True)
             for one in chance.sample(some, (sentences + QUESTIONS) * share // 3)]  # fmt: skip
    chance.shuffle(texts)
    made = np.asarray(embed()(texts, "passage"), np.float32)
    asked, own = made[:QUESTIONS], made[QUESTIONS:]
    drawn = np.random.default_rng(1).integers(0, len(own), (records, 3))
    rows = own[drawn].mean(axis=1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), asked / np.linalg.norm(asked, axis=1, keepdims=True)


def write(vector: np.ndarray) -> str:
    return "[" + ",".join(f"{value:.6f}" for value in vector) + "]"


def main() -> None:
    """Print how long the index takes, and recall and time by how far it is searched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--sentences", type=int, default=1_500)
    options = parser.parse_args()
    rows, asked = make_vectors(options.sentences, options.records)
    nearest = [set(np.argsort(-(rows @ one))[:10].tolist()) for one in asked]
    with closing(PostgresServer()) as server, psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        db.execute(f"CREATE TABLE said (n integer, vector vector({rows.shape[1]}))")
        with db.cursor().copy("COPY said FROM STDIN") as copy:
            for n, row in enumerate(rows):
                copy.write_row((n, write(row)))
        db.execute("SET maintenance_work_mem = '512MB'")
        began = time.perf_counter()
        db.execute(
            "CREATE INDEX said_vector ON said USING hnsw (vector vector_ip_ops) WITH (m = 16, ef_construction = 64)"
        )
        size = db.execute("SELECT pg_relation_size('said_vector')").fetchone()[0]
        version = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
        built = f"{len(rows):,} in {time.perf_counter() - began:.0f} s, {size / len(rows):.0f} bytes a record"
        show(f"HNSW of pgvector {version}", f"{built}; load {read_load()}")
        for far in (40, 100, 200, 400):
            db.execute(f"SET hnsw.ef_search = {far}")
            shares, times = [], []
            for one, true in zip(asked, nearest, strict=True):
                began = time.perf_counter()
                found = db.execute(
                    "SELECT n FROM said ORDER BY vector <#> %s::vector LIMIT 10", (write(one),)
                ).fetchall()
                times.append(time.perf_counter() - began)
                shares.append(len(true & {n for (n,) in found}) / 10)
            spent = " · ".join(f"p{round(100 * share)} {1000 * np.quantile(times, share):.1f}" for share in (0.5, 0.95))
            show(f"  ef_search {far}", f"recall {np.mean(shares):.3f}; {spent} ms; load {read_load()}")


if __name__ == "__main__":
    main()
