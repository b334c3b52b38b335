"""End to end: what a caller hands in with secrets leaves none, in no file, no git object, no ref and no output.

Every way in is gone through once, with secrets of its own; then everything that could hold one is searched. Each act
also carries a harmless word, so that a clean search does not mean that nothing arrived.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.pasted import made
from kb.knowledge_base import KnowledgeBase
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.talk import said

TOKENS = (
    "ghp_{an36}", "sk-ant-api03-{url93}AA", "AKIA{b3216}", "glpat-{an20}", "xoxb-{d12}-{d13}-{an24}", "npm_{an36}",
    "sk_live_{an24}", "hf_{an34}", "AIza{url35}", "{jwt}", "SG.{url22}.{url43}", "dop_v1_{hex64}", "SK{hex32}",
)  # fmt: skip


class Act(NamedTuple):
    """One way in: its harmless word, and the secrets that went along."""

    word: str
    secrets: tuple[str, ...]


class Used:
    """A knowledge base that has been written to in every way, and what was printed meanwhile."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.printed, self.seen = root, folder, "", b""
        self.acts: list[Act] = []
        self._chance = random.Random(7)

    def act(self, word: str) -> tuple[str, str, str, str]:
        """Begin an act; return a token, a password, an e-mail address and a phone number for it."""
        token = made(TOKENS[len(self.acts) % len(TOKENS)], self._chance)[0]
        rest = [made(template, self._chance)[0] for template in ("{an14}9x", "{email}", "+86 1380013{d4}")]
        self.acts.append(Act(word, (token, rest[0], rest[1], rest[2].removeprefix("+86 "))))
        return token, rest[0], rest[1], rest[2]

    def hook(self, word: str, data: object, **environment: str) -> str:
        """Run kb-hook as a process of its own and keep what it prints."""
        given = data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode()
        done = subprocess.run(
            [sys.executable, "-c", "from kb.hooks import main; main()", word], input=given, capture_output=True,
            env={**os.environ, "KB_HOME": str(self.root), **environment}, cwd=self.folder, check=False,
        )  # fmt: skip
        self.printed += (done.stdout + done.stderr).decode()
        return done.stdout.decode()

    def kb(self, *arguments: str, stdin: object = b"", code: int | None = None, **environment: str) -> str:
        """Run kb and keep what it prints."""
        data = stdin if isinstance(stdin, bytes) else json.dumps(stdin, ensure_ascii=False).encode()
        ran = run(self.root, *arguments, stdin=data, **environment)
        self.printed += ran.out + ran.error
        assert code is None or ran.code == code, ran
        return ran.out

    def look(self) -> None:
        """Take down what stands in the state folder now: some of it goes with the next call."""
        self.seen += b"\n".join(data for _, data in files(self.root / ".kb"))


def files(top: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of every file below *top*; the name counts, too."""
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder, name)
            yield str(path), str(path.relative_to(top)).encode() + b"\n" + path.read_bytes()


def objects(root: Path) -> bytes:
    """Return every object of the repository, reachable or not, unpacked."""
    return subprocess.run(
        ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    ).stdout


def candidate(word: str, token: str, password: str, email: str, phone: str, **more: object) -> dict[str, object]:
    """Return a candidate that has a secret in every field and passes the gate."""
    return {
        "kind": "decision", "title": f"Use {word} for the login of {token}",
        "decision": f"The {word} service logs in with {token}; DB_PASSWORD={password}; ask {email} or {phone}.",
        "alternatives": f"Another account, whose password is {password}.",
        "why": f"Because {word} asks for {token} and the vendor at {email} wants it so for every later call.",
        "impact": [f"src/{word.lower()}/{token}.py"], "verification": f"curl -u root:{password} https://x.corp.cn",
        "rollback": f"Call {phone} and take {token} back.", "tags": [token, word.lower()],
        "claims": {f"{word.lower()}.password": password, f"{word.lower()}.token": token},
        "impact_areas": ["architecture", "security"], "affects_future": True, "reusable": True, "reference_value": True,
        "evidence": [{"quote": f"we take {token} for {word}", "source": token}], "session": "s1", "host": "test",
        **more,
    }  # fmt: skip


def told(word: str, token: str, password: str, email: str, phone: str) -> list[str]:
    """Return what an agent says in a session: choices that are extracted, each with secrets in it."""
    return [
        f"Decision: every {word} call is signed with {token} because the audit requires a signature on all of them.",
        f"决定：{word} 的数据库密码统一使用 {password}，因为运维要求，影响整体架构，联系人 {email}。",
        f"Constraint: {word} must never be called without the token {token} because the gateway rejects it otherwise.",
        f"```kb\n{json.dumps(candidate(word + 'Block', token, password, email, phone))}\n```",
        f"The hotline for {word} is {phone}, mail goes to {email}.",
    ]


def transcript(place: Path, word: str, *secrets: str) -> str:
    """Write a session with secrets in prompts, answers, tool calls and results; return its path."""
    token, password, email, phone = secrets
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"mysql -u root -p{password} {word}"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": f"Error: token {token} rejected"}
    todo = {"type": "tool_use", "id": "t2", "name": "TodoWrite",
            "input": {"todos": [{"content": f"Rotate {token} of {word}", "status": "in_progress"}]}}  # fmt: skip
    lines = [
        said("user", f"Set up {word} with token {token} and password: {password}, contact {email}, {phone}"),
        *(said("assistant", text) for text in told(word, *secrets)),
        *(json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [one]}}) + "\n"
          for one in (call, todo)),
        json.dumps({"type": "user", "message": {"role": "user", "content": [result]}}) + "\n",
        said("assistant", f"The login failed because the token {token} had expired; the fix is a new one for {word}."),
    ]  # fmt: skip
    place.write_text("".join(lines), encoding="utf-8")
    return str(place)


@pytest.fixture(scope="module")
def used(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Used:
    """A knowledge base after one of every act."""
    import shutil

    place = tmp_path_factory.mktemp("nowhere")
    shutil.copytree(empty_kb, place / "kb", symlinks=True)
    (place / "work").mkdir()
    one = Used(place / "kb", place / "work")
    for act in (
        _written,
        _contradicted,
        _held,
        _spooled,
        _queued,
        _in_sessions,
        _by_hand,
        _imported,
        _refused,
        _failing,
    ):
        act(one)
        one.look()
    return one


def _written(one: Used) -> None:
    one.kb("write", "-", stdin=[candidate("Alphasvc", *one.act("Alphasvc"))], code=0)
    one.hook("write", [candidate("Bravosvc", *one.act("Bravosvc"))])
    token, password, email, _ = one.act("Charliesvc")
    one.kb(
        "write", "--kind", "constraint", "--title", f"Charliesvc calls carry {token}", "--area", "security",
        "--decision", f"Every Charliesvc call carries {token}; its password is {password}.",
        "--why", f"Because the vendor at {email} rejects all others for good.", "--dry-run",
        "--claim", f"charlie.password={password}",
    )  # fmt: skip
    one.kb("write", "-", "--json", stdin=[candidate("Deltasvc", *one.act("Deltasvc"))])


def _contradicted(one: Used) -> None:
    secrets = one.act("Echosvc")
    base = {"affects_future": True, "impact_areas": ["architecture"], "scope": "global", "why": "The team can run it."}
    first = {"kind": "decision", "title": "Use Flask as the backend framework",
             "claims": {"backend.framework": "Flask"}, "decision": "The backend of Echosvc uses Flask.",
             **base}  # fmt: skip
    other = {"kind": "decision", "title": f"Use FastAPI as the backend framework {secrets[0]}",
             "decision": f"The backend of Echosvc uses FastAPI, password={secrets[1]}.",
             "claims": {"backend.framework": "FastAPI"}, **base}  # fmt: skip
    one.kb("write", "-", stdin=[first], code=0)
    one.hook("write", [other])
    assert "kb/review/" in git(one.root, "branch", "--list", "kb/review/*")
    for words in (("review",), ("review", "show", git(one.root, "branch", "--list", "kb/review/*").split()[-1])):
        one.kb(*words)


def _held(one: Used) -> None:
    token, password, email, phone = one.act("Foxtrotsvc")
    small = {"kind": "domain-note", "title": f"Foxtrotsvc tabs over {token}",
             "decision": f"Foxtrotsvc: mail {email} about {phone}, pass={password}."}  # fmt: skip
    one.kb("write", "-", stdin=[small])
    assert git(one.root, "for-each-ref", "refs/kb/inbox")
    one.kb("inbox")


def _spooled(one: Used) -> None:
    busy = one.root / ".git" / "MERGE_HEAD"
    busy.write_text("0" * 40)
    one.hook("write", [candidate("Golfsvc", *one.act("Golfsvc"))])
    assert any((one.root / ".kb" / "spool").iterdir())
    one.look()
    busy.unlink()
    locked = one.root / ".git" / "index.lock"
    locked.touch()
    one.hook("write", [candidate("Hotelsvc", *one.act("Hotelsvc"))])
    one.look()
    locked.unlink()
    one.hook("session-start", {"session_id": "s2", "cwd": str(one.folder), "source": "startup"})


def _queued(one: Used) -> None:
    data = json.dumps([candidate("Indiasvc", *one.act("Indiasvc"))]).encode()
    with KnowledgeBase(str(one.root), os.environ) as kb, kb.repository.hold_lock():
        process = subprocess.Popen(
            [sys.executable, "-c", "from kb.hooks import main; main()", "write"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=one.folder, env={**os.environ, "KB_HOME": kb.root},
        )  # fmt: skip
        assert process.stdin and process.stdout
        process.stdin.write(data)
        process.stdin.close()
        queue, end = one.root / ".kb" / "queue", time.monotonic() + 20
        while not (queue.is_dir() and list(queue.glob("*.json"))) and time.monotonic() < end:
            time.sleep(0.01)
        one.look()
    one.printed += process.stdout.read().decode()
    process.stdout.close()
    assert process.wait(30) == 0


def _in_sessions(one: Used) -> None:
    for word, event in (("Juliettsvc", "pre-compact"), ("Kilosvc", "stop"), ("Limasvc", "session-end")):
        path = transcript(one.folder / f"{word}.jsonl", word, *one.act(word))
        one.hook(event, {"session_id": f"s-{word}", "cwd": str(one.folder), "transcript_path": path})
        one.look()
    one.hook("user-prompt", {"session_id": "s-x", "cwd": str(one.folder), "prompt": "Juliettsvc login " + _last(one)})
    one.hook("session-start", {"session_id": "s3", "cwd": str(one.folder), "source": "compact"})
    path = transcript(one.folder / "Mikesvc.jsonl", "Mikesvc", *one.act("Mikesvc"))
    one.kb("session", "save", "--transcript", path)
    for words in (("session", "list"), ("list",), ("hint", "T1", "Juliettsvc")):
        one.kb(*words)
    assert list((one.root / "content" / "sessions").iterdir())


def _last(one: Used) -> str:
    return one.acts[-1].secrets[0]


def _by_hand(one: Used) -> None:
    token, password, _, _ = one.act("Novembersvc")
    one.kb("status", "D001", "deprecated", "--why", f"Novembersvc: {token} is gone, password: {password}")


def _imported(one: Used) -> None:
    token, password, email, _ = one.act("Oscarsvc")
    place = one.folder / "adr"
    place.mkdir()
    body = f"We give Oscarsvc {token}; DB_PASSWORD={password}. Ask {email}."
    (place / "0001-oscarsvc.md").write_text(
        f"# 1. Use Oscarsvc with {token}\n\nDate: 2025-03-01\n\n## Status\n\nAccepted\n\n## Context\n\n{body}\n\n"
        f"## Decision\n\n{body}\n\n## Consequences\n\n{body}\n"
    )
    one.kb("import", "adr", str(place))


def _refused(one: Used) -> None:
    token, password, email, _ = one.act("Papasvc")
    wrong = {"kind": "decision", "title": f"Papasvc {token}", "decision": f"Papasvc password={password}", "why": email}
    for more in ({"scope": "global", "supersedes": [token]}, {"scope": token}, {"kind": token}, {token: "x"},
                 {"confidence": f"password={password}"}):  # fmt: skip
        one.hook("write", [{**wrong, **more}])
    one.hook("write", f'[{{"kind": {token}}}]'.encode())
    one.kb("show", token, code=1)
    one.kb("write", "--kind", "decision", "--title", "Papasvc", "--claim", token, code=2)
    one.kb(token, code=2)


def _failing(one: Used) -> None:
    secrets = one.act("Quebecsvc")
    path = transcript(one.folder / "Quebecsvc.jsonl", "Quebecsvc", *secrets)
    one.hook(
        "pre-compact", {"session_id": "s-q", "cwd": str(one.folder), "transcript_path": f"/gone/{secrets[0]}.jsonl"}
    )
    one.kb("doctor")
    model = one.folder / "model"
    model.write_text(f"#!/bin/sh\ncat >/dev/null\necho 401 {secrets[0]} is no key >&2\nexit 1\n")
    model.chmod(0o700)
    one.kb("session", "save", "--json", "--transcript", path, KB_LLM_CMD=str(model))


# -- the search -------------------------------------------------------------------------------------


def missed(used: Used, data: bytes) -> list[tuple[str, str]]:
    """Return the acts and secrets of which twelve characters or more stand in *data*."""
    found = []
    for act in used.acts:
        for secret in act.secrets:
            pieces = {secret[at : at + 12] for at in range(max(1, len(secret) - 11))}
            if any(piece.encode() in data for piece in pieces):
                found.append((act.word, secret))
    return found


def test_every_act_has_left_something(used: Used) -> None:
    everything = b"".join(data for _, data in files(used.root)) + objects(used.root) + used.printed.encode() + used.seen
    lost = [act.word for act in used.acts if act.word.encode() not in everything]
    assert lost == [] and len(used.acts) >= 15


def test_what_was_masked_shows(used: Used) -> None:
    assert objects(used.root).count(b"[redacted:") > 50


def test_no_output_holds_a_secret(used: Used) -> None:
    assert missed(used, used.printed.encode()) == []


def test_no_file_holds_a_secret(used: Used) -> None:
    found = {name: missed(used, data) for name, data in files(used.root)}
    assert {name: secrets for name, secrets in found.items() if secrets} == {}


def test_no_file_held_a_secret_for_a_while(used: Used) -> None:
    assert missed(used, used.seen) == []


def test_no_object_ref_or_reflog_holds_a_secret(used: Used) -> None:
    assert missed(used, objects(used.root)) == []
    assert missed(used, git(used.root, "for-each-ref").encode()) == []
    assert missed(used, git(used.root, "log", "--all", "--reflog", "-p", "--format=raw").encode()) == []


def test_nothing_stands_in_the_home_folder_either(used: Used, sealed: Path) -> None:
    assert [name for name, data in files(sealed) if missed(used, data)] == []


def test_packing_brings_nothing_up(used: Used) -> None:
    git(used.root, "gc", "--quiet", "--prune=now")
    assert missed(used, objects(used.root)) == []
    assert [name for name, data in files(used.root / ".git") if missed(used, data)] == []


def test_the_search_finds_what_is_there(used: Used, tmp_path: Path) -> None:
    secret = used.acts[0].secrets[0]
    assert missed(used, b"x" + secret.encode()[3:18]) == [(used.acts[0].word, secret)]


def test_an_address_stays_where_the_settings_say_so(root: Path) -> None:
    """The other way round: what is not to be masked goes through all of it."""
    with open(root / "kb.toml", "a", encoding="utf-8") as file:
        file.write('\nemails = "keep"\n')
    token, email = made("ghp_{an36}", random.Random(9))[0], "anna.miller@gmx.de"
    assert (
        run(root, "write", "-", stdin=json.dumps(candidate("Romeosvc", token, "Zx9Qw3Er", email, "none")).encode()).code
        == 0
    )
    shown = objects(root).decode("utf-8", "replace")
    assert email in shown and token not in shown
