"""A sealed environment: own HOME, no system configuration, fixed dates; real git, built once and copied."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from kb.knowledge_base import KnowledgeBase, make
from tests.support.sealed import Clock, copy_folder

settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("random", deadline=None, max_examples=400)
settings.load_profile("random" if os.environ.get("KB_RANDOM") else "fixed")

MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 4 << 30
"""Bytes free in `MEMORY` from which on the tests work there: every one of them makes repositories and deletes them."""


def pytest_configure(config: pytest.Config) -> None:
    """Let the tests work in memory where there is enough of it and the caller has named no folder of his own."""
    sys.dont_write_bytecode = False  # else every worker of every run rewrites the assertions of all tests anew
    if not (os.environ.keys() & {"TMPDIR", "PYTEST_DEBUG_TEMPROOT"} or config.option.basetemp) and is_roomy(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
    # A shell gives what it runs in the background no Ctrl-C: what the tests start is to end by it all the same.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave thousands of collected tests out of every search for garbage; a fork would even copy them for it."""
    gc.disable()
    collected = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return collected


def is_roomy(folder: Path) -> bool:
    """Return whether *folder* has room for the tests, and programs may be started in it."""
    if not (os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= _MEMORY_BYTES):
        return False
    with tempfile.TemporaryDirectory(dir=folder) as name:
        program = Path(name) / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
        try:
            return subprocess.run([program], check=False).returncode == 0
        except OSError:
            return False


_PASSED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "CHROMIUM")


@pytest.fixture(autouse=True, scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run all tests with a home of their own and without the machine's git configuration."""
    home = tmp_path_factory.mktemp("home")
    kept = {key: os.environ[key] for key in _PASSED if key in os.environ}
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(
        kept,
        HOME=str(home),
        XDG_CONFIG_HOME=str(home / ".config"),
        GIT_CONFIG_NOSYSTEM="1",
        GIT_AUTHOR_NAME="A Tester",
        GIT_AUTHOR_EMAIL="tester@example.com",
        GIT_COMMITTER_NAME="A Tester",
        GIT_COMMITTER_EMAIL="tester@example.com",
        GIT_AUTHOR_DATE="2026-11-21T00:00:00Z",
        GIT_COMMITTER_DATE="2026-11-21T00:00:00Z",
        GIT_EDITOR="false",
        TZ="UTC",
        PYTHONHASHSEED="0",
    )
    yield home
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def empty_kb(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base without records, to be copied."""
    place = tmp_path_factory.mktemp("base") / "kb"
    made, _ = make(str(place), os.environ, name="kb")
    made.close()
    for sample in (place / ".git" / "hooks").glob("*.sample"):  # a third of the files that every test would copy
        sample.unlink()
    return place


@pytest.fixture
def clock() -> Clock:
    """The test's clock."""
    return Clock()


@pytest.fixture
def root(empty_kb: Path, tmp_path: Path) -> Path:
    """The folder of a fresh knowledge base."""
    place = tmp_path / "kb"
    copy_folder(str(empty_kb), str(place))
    return place


@pytest.fixture
def kb(root: Path, clock: Clock) -> Iterator[KnowledgeBase]:
    """A fresh knowledge base."""
    with KnowledgeBase(str(root), os.environ, clock) as opened:
        yield opened
