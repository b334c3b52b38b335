"""`kb hub serve` as a process of its own: what it says when it starts, how it stops, and what it refuses."""

import hmac
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.hub.conftest import ALPHA
from tests.support.command_line import run
from tests.support.hub_world import SECRET, TeamRecord, write_config, write_team

KB = [sys.executable, "-c", "from kb.cli import main; main()"]


@contextmanager
def serve(config: Path, *more: str, **told: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give the process of a hub and its address; it is killed in the end if it still runs."""
    words = [*KB, "hub", "serve", "--config", str(config), "--address", "127.0.0.1:0", *more]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=config.parent,
        env={**os.environ, **told},
    ) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_team(tmp_path / "alpha", ALPHA[:1])
    path = write_config(tmp_path, {"alpha": ["*"]})
    path.write_text(path.read_text().replace("polling = 0", "polling = 1"))
    return path


def test_it_fetches_answers_follows_and_stops(config: Path) -> None:
    with serve(config) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        with httpx2.Client(base_url=url) as client:

            def wait_for(word: str) -> str:
                until = time.monotonic() + 60
                while not (found := client.get("/api/v1/search", params={"query": word}).json()["answers"]):
                    assert time.monotonic() < until
                    time.sleep(0.1)
                return str(found[0]["name"])

            assert wait_for("card") == "alpha:D001"
            write_team(config.parent / "alpha", [*ALPHA[:1], TeamRecord("D009", "Fly by zeppelin", "We fly.")])
            assert wait_for("zeppelin") == "alpha:D009"
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) in (0, -signal.SIGTERM)
        assert process.stderr
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
        assert any(line.get("route") == "/api/v1/search" for line in lines) and "zeppelin" not in json.dumps(lines)


def list_children(pid: int) -> set[int]:
    """Return the processes that answer: those that were started with what one gives to another to begin with."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                found |= {int(stat.parent.name)} if b"spawn_main" in (stat.parent / "cmdline").read_bytes() else set()
    return found


def wait_until(is_so: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_several_processes_answer_and_one_fetches(config: Path) -> None:
    text = config.read_text().replace("polling = 1", "polling = 0")
    config.write_text(text + "[server]\nprocesses = 2\n")
    told = {"KB_HUB_METRICS_TOKEN": "m" * 20, "HOOK_ALPHA": SECRET}
    run(config.parent, "hub", "sync", "--config", str(config), **os.environ, **told)
    with serve(config, **told) as (process, url):
        wait_until(lambda: len(list_children(process.pid)) == 2)
        first = list_children(process.pid)

        def call(address: str, **more: Any) -> httpx2.Response:
            return httpx2.request(
                "POST" if "content" in more else "GET", url + address, timeout=60, **more
            )  # a connection each

        def count(word: str) -> int:
            return len(call("/api/v1/search", params={"query": word}).json()["answers"])

        assert [count("card") for _ in range(20)] == [1] * 20
        write_team(config.parent / "alpha", [*ALPHA[:1], TeamRecord("D009", "Fly by zeppelin", "We fly.")])
        signed = {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), b"{}", "sha256").hexdigest()}
        assert call("/hooks/github/alpha", content=b"{}", headers=signed).status_code == 202
        wait_until(lambda: count("zeppelin"))
        assert [count("zeppelin") for _ in range(20)] == [1] * 20, "whoever answers"

        def read_metrics() -> str:
            return call("/metrics", headers={"Authorization": "Bearer " + "m" * 20}).text

        wait_until(lambda: "kb_hub_syncs 1.0" in read_metrics())
        found = re.search(r'requests_total{route="/api/v1/search",status="200"} ([0-9.]+)', read_metrics())
        assert found and float(found[1]) >= 41, "those of all processes"

        os.kill(min(first), signal.SIGKILL)
        wait_until(lambda: len(list_children(process.pid) - first) == 1)
        assert count("card") == 1
        left = list_children(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not any(Path("/proc", str(pid)).exists() for pid in left)


def test_what_answers_stops_with_what_fetches(config: Path) -> None:
    config.write_text(config.read_text() + "[server]\nprocesses = 2\n")
    with serve(config) as (process, url):
        wait_until(lambda: len(list_children(process.pid)) == 2)
        wait_until(lambda: httpx2.get(url + "/readyz", timeout=60).status_code == 200)
        left = list_children(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: not any(Path("/proc", str(pid)).exists() for pid in left))


def test_it_listens_to_other_machines_only_where_it_knows_who_calls(config: Path) -> None:
    done = run(config.parent, "hub", "serve", "--config", str(config), "--address", "0.0.0.0:0", **os.environ)
    assert done.code == 1 and "other machines can reach 0.0.0.0" in done.error and "[identity]" in done.error


def test_a_wiki_is_built_from_the_command_line(config: Path) -> None:
    run(config.parent, "hub", "sync", "--config", str(config), **os.environ)
    done = run(config.parent, "hub", "wiki", "--config", str(config), "--out", "site", **os.environ)
    assert done.code == 0 and Path(done.out.strip()).name == "index.html"
    assert (config.parent / "site/alpha/index.html").is_file()
