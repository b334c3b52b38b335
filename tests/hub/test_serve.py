"""`kb hub serve` as a process of its own: what it says when it starts, how it stops, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.hub.conftest import ALPHA
from tests.support.command_line import run
from tests.support.hub_world import TeamRecord, write_config, write_team

KB = [sys.executable, "-c", "from kb.cli import main; main()"]


@contextmanager
def serve(config: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give the process of a hub and its address; it is killed in the end if it still runs."""
    words = [*KB, "hub", "serve", "--config", str(config), "--address", "127.0.0.1:0", *more]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=config.parent
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


def test_it_listens_to_other_machines_only_where_it_knows_who_calls(config: Path) -> None:
    done = run(config.parent, "hub", "serve", "--config", str(config), "--address", "0.0.0.0:0", **os.environ)
    assert done.code == 1 and "other machines can reach 0.0.0.0" in done.error and "[identity]" in done.error


def test_a_wiki_is_built_from_the_command_line(config: Path) -> None:
    run(config.parent, "hub", "sync", "--config", str(config), **os.environ)
    done = run(config.parent, "hub", "wiki", "--config", str(config), "--out", "site", **os.environ)
    assert done.code == 0 and Path(done.out.strip()).name == "index.html"
    assert (config.parent / "site/alpha/index.html").is_file()
