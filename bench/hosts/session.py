"""One run: a small project with a knowledge base, a home of its own, and sessions without a network."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.hosts.agents import AGENTS, PORT

REPOSITORY = Path(__file__).resolve().parents[2]
_SECONDS = 300
"""After which a session is ended."""
_FILES = {
    "src/pay/refund.py": '"""Refunds."""\n\n\ndef refund(order_id, amount):\n'
    '    return {"order": order_id, "amount": amount}\n',
    "src/pay/ledger.py": '"""The ledger."""\n\nENTRIES = []\n\n\ndef book(order_id, amount):\n'
    "    ENTRIES.append((order_id, amount))\n",
    "src/auth/login.py": '"""Login."""\n\n\ndef login(user, password):\n    return user == "ann" and bool(password)\n',
    "tests/ledger_check.py": "import sys\n\n"
    'print("ClockZoneError: booking_day needs TZ=UTC", file=sys.stderr)\nsys.exit(1)\n',
    "README.md": "# Shop\n\nA small shop with payments.\n",
}
_NO_NETWORK = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]


class Run:
    """One agent program with one project, from the installation of the hooks to their removal."""

    def __init__(self, agent: str, tools: Path, folder: Path) -> None:
        """Make the project and the home in *folder*; *tools* is where the programs are installed."""
        self.agent, self.tools, self.folder = agent, tools, folder
        self.home, self.project, self.requests = folder / "home", folder / "shop", folder / "requests"
        self.home.mkdir(parents=True)
        for name, text in _FILES.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.project = self.project.resolve()
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "config", "user.name", "Ann")
        self.run("git", "config", "user.email", "ann@example.com")
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "A shop")
        AGENTS[agent].prepare(self.home, self.project)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every program: nothing of the caller's."""
        own = self.tools / "npm/node_modules/.bin"
        path = f"{Path(sys.executable).parent}:{own}:/usr/bin:/bin:/usr/sbin:/sbin"
        temporary = self.home / "tmp"
        temporary.mkdir(exist_ok=True)
        values = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        return {**values, "TMPDIR": str(temporary), **AGENTS[self.agent].environment}

    def run(self, *words: str, given: str = "", check: bool = True) -> str:
        """Run a program in the project and return what it prints."""
        done = subprocess.run(
            words, cwd=self.project, env=self.environment, input=given, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise SystemExit(f"{shlex.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, prompt: str, script: list[Any]) -> tuple[list[dict[str, Any]], float]:
        """Run one session with *prompt* against the scripted model.

        Return the bodies of the requests that reached the model for the session itself, and the seconds it took.
        """
        log = self.requests / f"{len(list(self.requests.glob('*'))) if self.requests.exists() else 0:02d}"
        log.mkdir(parents=True)
        rules = self.folder / "script.json"
        rules.write_text(json.dumps(script))
        model = [
            sys.executable,
            "-m",
            "bench.hosts.model",
            "--port",
            str(PORT),
            "--log",
            str(log),
            "--script",
            str(rules),
        ]
        command = [word.replace("{prompt}", prompt) for word in AGENTS[self.agent].command]
        inside = (
            "ip link set lo up; "
            f"PYTHONPATH={shlex.quote(str(REPOSITORY))} {shlex.join(model)} 2>{shlex.quote(str(log))}.err & model=$!; "
            f"for _ in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/{PORT}) 2>/dev/null && break; sleep 0.1; done; "
            f"{shlex.join(command)}; code=$?; kill $model; exit $code"
        )
        begun = time.monotonic()
        with open(f"{log}.out", "w") as out:
            words = [*_NO_NETWORK, "timeout", str(_SECONDS), "bash", "-c", inside]
            subprocess.run(
                words,
                cwd=self.project,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
        seconds = time.monotonic() - begun
        return [json.loads(path.read_text())["body"] for path in sorted(log.glob("*-main.json"))], seconds

    def read_settings(self) -> dict[str, bytes]:
        """Return the content of every file of the home and the project that a person could own, by its path."""
        found = {}
        for top in (self.home, self.project):
            for path in top.rglob("*"):
                inside = path.relative_to(top).parts
                if path.is_file() and not {"tmp", ".git", ".kb", "content"} & set(inside):
                    found[str(path.relative_to(self.folder.resolve()))] = path.read_bytes()
        return found
