"""Let agents' commands loose on records: which are stopped before, which are found after, and which change in peace.

Each command is put to the hook before the call; where it is let through it is run in a copy of a small repository, and
the hook after the call is asked. A command counts as effective when it really changed what only kb writes: then it has
to be stopped or found. A harmless one has to pass without a word, before and after.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kb

HERE = Path(__file__).parent / "guarding"
LISTS = ("changing", "changing_held_out", "harmless", "harmless_held_out", "deciding")
"""The files of commands, parted by lines of %%; those held out were written before the rules, and not looked at."""
BIN = Path(sys.executable).parent
SECONDS = 20
KEPT = ("content", "memory-bank", ".kb", "kb.toml")
_OF_KB = ("active", "index", "uses", "log", "guard", "config.json", "locks", "clone", "mended", "risk.json", "stage")
"""Names in .kb/ that kb itself writes."""


Door = Callable[[str, Path, dict[str, Any]], str]
"""Returns what kb's hook says to an event with a payload, in a folder; a process of its own, where nothing is named."""


class Result(NamedTuple):
    """What became of one command."""

    command: str
    before: str
    """What the hook before the call said: deny, ask, other words, or nothing."""
    changed: tuple[str, ...]
    after: str
    """What the hook after the call said."""
    left: tuple[str, ...] = ()
    """What is still changed once that hook has run: with `block`, only what another commit has brought."""


class World:
    """A repository with a knowledge base, a memory bank and a record, to be copied for each command."""

    def __init__(self, folder: Path, mode: str, door: Door | None = None) -> None:
        self.folder = folder
        self.door = door or self._ask_process
        self.home = folder / "home"
        self.scratch = folder / "scratch"
        self.home.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home), "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "MEMORY_BANK_GUARD_MODE": mode, "TMPDIR": str(self.scratch),
            "PYTHONPATH": str(Path(kb.__file__).parent.parent), "FILTER_BRANCH_SQUELCH_WARNING": "1",
        }  # fmt: skip
        who = "[user]\n name=Somebody\n email=somebody@example.org\n[init]\n defaultBranch=main\n"
        (self.home / ".gitconfig").write_text(who)
        self.project = folder / "project"
        self.record = ""
        self._make()

    def run(self, words: list[str], cwd: Path, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=cwd, env=self.environment, input=given, capture_output=True, text=True,
                              timeout=SECONDS, errors="replace")  # fmt: skip

    def _make(self) -> None:
        files = {"src/pay/refund.py": "x = 1\n", "README.md": "# hi\nfoo\n", "notes.md": "foo\n",
                 "memory-bank/MEMORY.md": "# m\nfoo\n", "memory-bank/details/patterns.md": "# p\nfoo\n"}  # fmt: skip
        for name, text in files.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        for words in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "Begin"]):
            self.run(words, self.project)
        self.run([str(BIN / "kb"), "init", "--here"], self.project)
        candidate = {
            "kind": "decision", "title": "Use PostgreSQL for orders", "decision": "Orders are in PostgreSQL.",
            "why": "foo: an order and its ledger entry commit in one transaction", "alternatives": "none",
            "impact": ["src/pay/refund.py"], "verification": "look", "rollback": "revert",
            "impact_areas": ["architecture"], "scope": "global", "session": "s", "host": "person",
        }  # fmt: skip
        self.run([str(BIN / "kb"), "write", "-"], self.project, json.dumps(candidate))
        session = self.project / "content/sessions/shop-1/compact.md"
        session.parent.mkdir(parents=True, exist_ok=True)
        session.write_text("foo\n")
        self.run(["git", "add", "content"], self.project)
        self.run(["git", "commit", "-qm", "Keep a session"], self.project)
        (self.project / ".kb/state.txt").write_text("foo\n")
        [record] = (self.project / "content/anchors/global").glob("D001*.md")
        self.record = record.relative_to(self.project).as_posix()

    def copied(self) -> Path:
        """Return a fresh copy; its guard has looked at it once."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        shutil.copytree(self.project, copy, symlinks=True)
        self.hook("pre-tool", copy, "cat memory-bank/details/patterns.md")
        self.hook("post-tool", copy, "cat memory-bank/details/patterns.md")
        return copy

    def hook(self, event: str, place: Path, command: str) -> str:
        """Return what the hook says: a permission, words, or ""."""
        return self.door(event, place, {"session_id": "s1", "cwd": str(place), "transcript_path": "",
                                        "tool_name": "Bash", "tool_input": {"command": command},
                                        "tool_response": ""})  # fmt: skip

    def _ask_process(self, event: str, place: Path, payload: dict[str, Any]) -> str:
        done = self.run([str(BIN / "kb-hook"), event], place, json.dumps(payload))
        if not done.stdout.strip():
            return f"failed: {done.stderr.strip()[-200:]}" if done.returncode else ""
        answer = json.loads(done.stdout)
        inner = answer.get("hookSpecificOutput", {})
        return str(inner.get("permissionDecision") or inner.get("additionalContext") or answer.get("systemMessage"))

    def tried(self, command: str) -> Result:
        """Put one command to the hooks, and run it where it is let through; and again where it is not, to see what
        it would have done."""
        place = self.copied()
        plain = command.replace("@R", self.record).replace("@N", Path(self.record).name).replace("@P", str(place))
        plain = plain.replace("@T", str(self.scratch))
        before = _state(place)
        said = self.hook("pre-tool", place, plain)
        with contextlib.suppress(subprocess.TimeoutExpired):  # an editor that waits for a person
            self.run(["bash", "-c", plain], place)
        after = _state(place)
        changed = tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))
        told = "" if said in ("deny", "ask") else self.hook("post-tool", place, plain) if place.is_dir() else ""
        now = _state(place)
        left = tuple(path for path in changed if before.get(path) != now.get(path))
        return Result(command, said, changed, told, left)


def _state(place: Path) -> dict[str, str]:
    found = {}
    for top in KEPT:
        for folder, _, names in os.walk(place / top):
            found |= {f"{folder}/{name}": _content(Path(folder, name)) for name in names}
        if (place / top).is_file():
            found[str(place / top)] = _content(place / top)
    state = str(place / ".kb") + "/"
    return {path: text for path, text in found.items()
            if not (path.startswith(state) and any(word in path[len(state) :] for word in _OF_KB))}  # fmt: skip


def _content(path: Path) -> str:
    try:
        return f"{path.is_symlink()}{path.read_bytes()!r}"
    except OSError:
        return "gone"


def commands(name: str) -> list[str]:
    """Return the commands of a list."""
    return [part.strip("\n") for part in (HERE / f"{name}.txt").read_text(encoding="utf-8").split("\n%%\n")]


def measured(name: str, mode: str) -> Iterator[Result]:
    """Yield what becomes of the commands of the list *name*."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "world", mode)
        for command in commands(name):
            yield world.tried(command)


def counted(results: list[Result]) -> Counter[str]:
    """Return how many of *results* were effective, stopped, found, missed, or disturbed without need."""
    found: Counter[str] = Counter(commands=len(results))
    for one in results:
        stopped = one.before in ("deny", "ask")
        found["effective"] += bool(one.changed)
        found["stopped before"] += bool(one.changed) and stopped
        found["found after"] += bool(one.changed) and not stopped and bool(one.after)
        found["found, still changed"] += bool(one.changed) and not stopped and bool(one.after and one.left)
        found["missed"] += bool(one.changed) and not stopped and not one.after
        found["a word without need"] += not one.changed and bool(stopped or one.after or one.before)
    return found


def main() -> None:
    """Print the counts of every list, and what was missed or disturbed."""
    mode = "block" if "--block" in sys.argv else "warn"
    for name in [word for word in sys.argv[1:] if not word.startswith("--")] or LISTS:
        results = list(measured(name, mode))
        print(f"{name} ({mode}):", ", ".join(f"{count} {what}" for what, count in counted(results).items()))
        for one in results:
            wrong = one.changed and one.before not in ("deny", "ask") and not one.after
            if name.startswith("harmless"):
                wrong = bool(one.before or one.after)
            if name == "deciding":
                wrong = one.before not in ("deny", "ask")
            if mode == "block" and one.after and one.left and name.startswith("changing"):
                wrong = True
            if wrong:
                print("   ", json.dumps(one.command, ensure_ascii=False)[:300], one.before[:120], one.after[:200])


if __name__ == "__main__":
    main()
