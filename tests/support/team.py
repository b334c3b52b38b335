"""What the tests of working together share: a bare remote, clones of it, and a server that speaks git over HTTP."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate
from tests.support.sealed import Clock, git

_WORDS = (
    "alpha bravo cobalt delta ember falcon garnet harbor indigo jasper kernel lumen marble nickel onyx pepper "
    "quartz raven saffron topaz umber velvet willow xenon yarrow zephyr "
    "北辰 青瓷 山岚 海棠 云雀 竹影 松烟 月白 石榴 琥珀 朝露 晚枫"
)


class Team:
    """A remote and clones of it."""

    def __init__(self, folder: Path, base: Path, clock: Clock) -> None:
        """Keep everything below *folder*, from the remote and the clone that *base* has."""
        self.folder = folder
        self.remote = folder / "remote.git"
        self.url = f"file://{self.remote}"
        self._base = base
        self._clock = clock
        self._open: list[KnowledgeBase] = []
        shutil.copytree(base / "remote.git", self.remote, symlinks=True)

    def clone(self, name: str, url: str = "") -> KnowledgeBase:
        """Open a new clone in the folder *name*."""
        place = self.folder / name
        shutil.copytree(self._base / "clone", place, symlinks=True)
        git(place, "remote", "set-url", "origin", url or self.url)
        return self.opened(place)

    def opened(self, place: Path) -> KnowledgeBase:
        """Open the knowledge base at *place*, to be closed at the end."""
        self._open.append(KnowledgeBase(str(place), os.environ, self._clock))
        return self._open[-1]

    def close(self) -> None:
        """Close every clone."""
        for kb in self._open:
            kb.close()

    def hook(self, name: str, script: str) -> None:
        """Let the remote run *script* as its hook *name*; "" takes the hook away."""
        path = self.remote / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if script:
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)

    def protect(self, branch: str = "main") -> None:
        """Let the remote take no pushes to *branch*."""
        refuse = f'case $ref in refs/heads/{branch}) echo "{branch} is protected: open a request" >&2; exit 1;; esac'
        self.hook("pre-receive", f"while read old new ref; do\n{refuse}\ndone")

    def tip(self, ref: str = "refs/heads/main") -> str:
        """Return where *ref* stands at the remote, or ""."""
        return git(self.remote, "for-each-ref", "--format=%(objectname)", ref).strip()

    def refs(self, pattern: str) -> list[str]:
        """Return the refs of the remote that begin with *pattern*."""
        return git(self.remote, "for-each-ref", "--format=%(refname)", pattern).split()


def made_base(place: Path) -> Path:
    """Make a remote with an empty knowledge base and a clone of it, to be copied."""
    git(place, "init", "-q", "--bare", "--template=", "-b", "main", "remote.git")
    kb, _ = make(str(place / "first"), os.environ, name="kb")
    kb.close()
    git(place / "first", "push", "-q", f"file://{place}/remote.git", "main")
    git(place, "clone", "-q", "--template=", f"file://{place}/remote.git", "clone")
    for name in ("remote.git", "clone/.git"):
        git(place / name, "config", "http.receivepack", "true")
    return place


def subject(number: int) -> str:
    """Return words for the *number*-th of many candidates that have nothing to do with each other."""
    words = _WORDS.split()
    size, state, found = len(words), number * 2_654_435_761 + 12_345, []
    while len(found) < 6:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % (1 << 64)
        word = words[(state >> 33) % size]
        found += [word] if word not in found else []
    return " ".join(found)


def thought(number: int, text: str = "", **changes: object) -> Candidate:
    """Return the *number*-th of many accepted decisions; *text* is added to what is decided."""
    words = subject(number)
    values: dict[str, object] = {
        "decision": f"In {words} there is one owner ({number}).{text and ' ' + text}",
        "alternatives": f"None for {words}.",
        "why": f"Because {subject(number + 5_000)} fails otherwise.",
        "verification": f"Look at {subject(number + 9_000)}.",
        "rollback": "Go back.",
        "impact_areas": ("architecture",),
        "session": f"s{number}",
    }
    return Candidate("decision", f"Keep {words}", **values | changes)  # type: ignore[arg-type]


def written(kb: KnowledgeBase, *candidates: Candidate) -> list[str]:
    """Write *candidates* one by one and return their ids."""
    ids = []
    for candidate in candidates:
        (verdict,) = kb.write([candidate], folder=kb.root, decided=True)
        assert verdict.verdict != "refused", verdict
        ids.append(verdict.id)
    return ids


def log(kb: KnowledgeBase, form: str, *revisions: str) -> list[str]:
    """Return one line in *form* for each commit, newest first."""
    return git(kb.root, "log", f"--format={form}", *revisions).splitlines()


def ids(kb: KnowledgeBase) -> dict[str, str]:
    """Return title and id of every record."""
    return {record.title: record.id for record in kb.records()}


def file_of(kb: KnowledgeBase, record_id: str) -> Path:
    """Return the file of a record."""
    return Path(kb.root, kb.record(record_id).path)


def edited(kb: KnowledgeBase, record_id: str, old: str, new: str) -> None:
    """Replace words in a record by hand, without committing."""
    path = file_of(kb, record_id)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def by_hand(kb: KnowledgeBase, words: str, *paths: str) -> str:
    """Commit as a person does and return the commit."""
    git(kb.root, "add", "--", *(paths or (".",)))
    git(kb.root, "commit", "-qm", words)
    return git(kb.root, "rev-parse", "HEAD").strip()


# -- git over HTTP --------------------------------------------------------------------------------


class _Backend(BaseHTTPRequestHandler):
    """Hands every request to `git http-backend`, which is a CGI program."""

    protocol_version = "HTTP/1.1"
    top: Path

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        said = {f"HTTP_{k.upper().replace('-', '_')}": v for k, v in self.headers.items()}
        environment = {
            **os.environ, **said, "GIT_PROJECT_ROOT": str(self.top), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=environment, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        rows = dict(row.split(": ", 1) for row in head.decode().split("\r\n"))
        self.send_response(int(rows.pop("Status", "200").split()[0]))
        for key, value in rows.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(top: Path) -> Iterator[str]:
    """Serve the repositories below *top* over HTTP on this machine and return the address."""
    handler = type("Backend", (_Backend,), {"top": top})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


# -- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _base(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A remote and a clone, to be copied."""
    return made_base(tmp_path_factory.mktemp("team"))


@pytest.fixture
def _team(base: Path, tmp_path: Path, clock: Clock) -> Iterator[Team]:
    """A remote and nobody yet."""
    team = Team(tmp_path, base, clock)
    yield team
    team.close()


FIXTURES = (_base, _team)
"""To be had in a test file by: base, team = FIXTURES."""
