"""Both engines of a hub, each on a database of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kb.organisation.hub_engine import Engine
from kb.organisation.postgres_engine import PostgresEngine
from kb.organisation.sqlite_engine import SqliteEngine
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def open_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
    """Open one of the engines, again and again on the same data."""
    opened: list[Engine] = []
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        server.execute("SET client_min_messages = error", "DROP SCHEMA IF EXISTS kb_hub CASCADE")

    def open_one() -> Engine:
        made: Engine = PostgresEngine(server.dsn) if request.param == "postgres" else SqliteEngine(str(tmp_path / "ix"))
        opened.append(made)
        return made

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[[], Engine]) -> Engine:
    return open_engine()
