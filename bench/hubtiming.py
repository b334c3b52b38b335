"""Can somebody tell by the clock whether a repository exists that they may not read?

    python -m bench.hubtiming [--engine sqlite|postgres] [--records 1000] [--times 500]

A hub has a repository that the caller may read, and one that they may not. Every question is asked about that one and
about a name that no repository has, in random order, and each answer is timed. A search is also asked for words that
only the one has that may not be read, and for words that none has; which of the words are which is drawn, anew in each
run, so that nothing else tells them apart. The figure is the chance that an answer takes longer where the repository,
or the word, exists: 0.5 where nothing can be told. Beside it stands by how many standard deviations it is off (Mann and
Whitney): of eight figures one beyond 2 is what chance does.
"""

import argparse
import math
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from kb.hub import build_hub_server, choose_address, open_settings
from kb.organisation.hub import Hub
from kb.records.model import Record, Section
from kb.records.record_file import render
from tests.support.postgres import PostgresServer

THERE, ABSENT = "secret", "absent"
WORDS = "search for its words"
CANDIDATE = {"kind": "decision", "title": "Use one vault for all secrets", "decision": "One vault has all secrets."}
DRAWN: dict[str, Iterator[str]] = {}
"""Of the one that may not be read, and of none, words that a search asks for in turn."""
QUESTIONS: dict[str, Callable[[TestClient, str], object]] = {
    "show a record": lambda client, name: client.get(f"/api/v1/repositories/{name}/records/D001"),
    "search in it": lambda client, name: client.get(f"/api/v1/search?query=card+data&repository={name}"),
    WORDS: lambda client, name: client.get(f"/api/v1/search?query=card+{next(DRAWN[name])}"),
    "list its records": lambda client, name: client.get(f"/api/v1/records?repository={name}"),
    "feed of it": lambda client, name: client.get(f"/api/v1/repositories/{name}/records.json"),
    "compare it": lambda client, name: client.get(f"/api/v1/compare?repository={name}"),
    "webhook for it": lambda client, name: client.post(f"/hooks/github/{name}", content=b"{}"),
    "write to it": lambda client, name: client.post(
        f"/api/v1/repositories/{name}/proposals", json={"candidates": [CANDIDATE]}
    ),
}


def draw_words(count: int) -> tuple[list[str], list[str]]:
    """Return twice *count* words that nobody says, in two parts: each word has another one in the other part that
    begins with the same two letters, for what a word may be a slip for is looked up by its beginning."""
    chance = random.Random()
    letters = "bcdfghjklmnpqrstvwz", "aiou"
    made = {"".join(chance.choice(letters[at % 2]) for at in range(8)) for _ in range(60 * count)}
    pairs: dict[str, list[str]] = {}
    for word in sorted(made):
        pairs.setdefault(word[:2], []).append(word)
    drawn = [chance.sample(words, 2) for words in pairs.values() if len(words) > 1]
    one, other = zip(*chance.sample(drawn, count), strict=True)
    return list(one), list(other)


def write_repository(place: Path, count: int, words: Sequence[str]) -> None:
    """Make a repository with *count* records, each of which has its name and one of *words*."""
    folder = place / "content/anchors/global"
    folder.mkdir(parents=True)
    (place / "kb.toml").write_text(f'name = "{place.name}"\n')
    for number in range(1, count + 1):
        text = f"Card data of {place.name} {number} is kept in {words[number % len(words)]}."
        id, path = f"D{number:03d}", f"content/anchors/global/D{number:03d}-x.md"
        sections = (Section("decision", "Decision", text),)
        record = Record(id, "decision", f"Keep card data {number}", status="accepted", sections=sections, path=path)
        (place / path).write_text(render(record))
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    for words in (["add", "-A"], ["commit", "-qm", "Records"]):
        told = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
        subprocess.run(["git", "-C", str(place), *told, *words], check=True)


@contextmanager
def open_client(records: int, words: Sequence[str], dsn: str) -> Iterator[TestClient]:
    """Give a client who may read one of the two repositories of a hub, each with so many *records*.

    *words*: those of the other one. *dsn*: a database of PostgreSQL that is empty; "": SQLite.
    """
    with tempfile.TemporaryDirectory() as folder:
        top, rows = Path(folder), ['data = "data"\nallow_local = true\npolling = 0\n']
        for name, group, own in (("open", "*", ["cupboards"]), (THERE, "nobody", words)):
            write_repository(top / name, records, own)
            url, secret = (top / name).as_uri(), f"HOOK_{name.upper()}"
            rows.append(f'[[repository]]\nname = "{name}"\nurl = "{url}"\ngroups = ["{group}"]\n')
            rows.append(f'webhook_secret = "{secret}"\n')
        (top / "hub.toml").write_text("".join(rows))
        environment = {**os.environ, "KB_HUB_DSN": dsn, "HOOK_OPEN": "o" * 20, "HOOK_SECRET": "s" * 20}
        hub = Hub.open(str(top / "hub.toml"), environment)
        hub.sync()
        settings = open_settings(hub)
        server = build_hub_server(hub, environment, choose_address(settings), settings, lambda line: None)
        with TestClient(server.app, server.reception.url, raise_server_exceptions=False) as client:
            yield client
        hub.close()


def measure_chance(ask: Callable[[str], object], times: int, chance: random.Random) -> tuple[float, float, list[float]]:
    """Return how likely the one that exists takes longer, how far that is off by chance, and both medians in ms."""
    names = [THERE, ABSENT] * times
    chance.shuffle(names)
    spent: dict[str, list[float]] = {THERE: [], ABSENT: []}
    for name in names:
        began = time.perf_counter()
        ask(name)
        spent[name].append(time.perf_counter() - began)
    there, absent = (np.asarray(spent[name]) for name in (THERE, ABSENT))
    longer = np.searchsorted(np.sort(absent), there).sum() / (times * times)
    deviation = math.sqrt((2 * times + 1) / (12 * times * times))
    return float(longer), float(longer - 0.5) / deviation, [float(np.median(one)) * 1e3 for one in (there, absent)]


def main() -> None:
    """Print for each question whether the clock tells the two apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--records", type=int, default=1000, help="of each repository")
    parser.add_argument("--times", type=int, default=500, help="that each question is asked about each of the two")
    options = parser.parse_args()
    chance = random.Random("timing")
    with ExitStack() as stack:
        said, unsaid = draw_words(40)
        DRAWN.update({THERE: cycle(said), ABSENT: cycle(unsaid)})
        dsn = stack.enter_context(closing(PostgresServer())).dsn if options.engine == "postgres" else ""
        client = stack.enter_context(open_client(options.records, said, dsn))
        for name, ask in QUESTIONS.items():
            for about in (THERE, ABSENT) * 80:  # what is read once is read
                ask(client, about)
            longer, off, medians = measure_chance(partial(ask, client), options.times, chance)
            shown = " and ".join(f"{median:.2f}" for median in medians)
            print(f"{name}: {longer:.3f} ({off:+.1f} σ), medians {shown} ms", flush=True)


if __name__ == "__main__":
    main()
