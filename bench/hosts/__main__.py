"""Run real sessions of the agent programs and look at what reached their model.

    python -m bench.hosts [--agent claude]... [--folder FOLDER] [--keep]

Needs npm, iproute2, `unshare` and root or user namespaces. The programs are installed from npm into FOLDER once and run
where there is no network but the loopback, with a scripted model, in homes of their own: nobody's account is used.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.hosts.agents import AGENTS
from bench.hosts.session import Run

_OPENCODE_PLUGIN = "@opencode-ai/plugin"
_SEED = [
    {
        "kind": "decision",
        "title": "Keep idempotency keys of refunds in PostgreSQL",
        "decision": "Every refund carries a key; a unique row in refund_keys decides which request is the first.",
        "why": "The key commits or rolls back together with the ledger row.",
        "alternatives": "Redis with a TTL: rejected, it may lose keys on failover.",
        "impact": ["src/pay/refund.py"],
        "verification": "tests/ledger_check.py",
        "rollback": "Drop the table.",
        "affects_future": True,
    },
    {
        "kind": "constraint",
        "title": "Amounts are integer cents, never floats",
        "decision": "Amounts are integer cents in every table and function of payments.",
        "why": "Floats lose cents when they are summed.",
        "alternatives": "Decimal: rejected, rounded differently by each library.",
        "impact": ["src/pay/ledger.py"],
        "verification": "mypy and a test of types.",
        "rollback": "None.",
        "affects_future": True,
    },
    {
        "kind": "pitfall",
        "title": "The ledger check fails when the clock is not UTC",
        "decision": "`python3 tests/ledger_check.py`: ClockZoneError: booking_day needs TZ=UTC",
        "why": "Bookings are grouped by day of the local clock.",
        "sections": {"solution": "Run it with `TZ=UTC`."},
        "fields": {"signature": ["python3 ledger_check.py", "clockzoneerror: booking_day needs tz=utc"]},
        "prevents_repeat": True,
    },
]
_DECIDED = """The login is done and tested.

Decision: Login tokens expire after fifteen minutes and are renewed by a refresh token, because a stolen token is then
of little use, and security asked for a short life in the audit.

Alternatives: Tokens without end (rejected, a leak stays open).

Impact: src/auth/login.py"""
_FIRST, _SECOND = "How do refunds keep idempotency keys, and the login its tokens?", "When do login tokens expire?"


class Check(NamedTuple):
    """One thing that must hold for a host."""

    name: str
    is_right: bool


def main() -> int:
    """Run the sessions and print a table; return 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", action="append", choices=sorted(AGENTS), help="only this one; may be repeated")
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/kb-bench-hosts", help="for the programs")
    parser.add_argument("--keep", action="store_true", help="keep the runs and say where they are")
    given = parser.parse_args()
    names = given.agent or list(AGENTS)
    install_agents(given.folder, names)
    runs = Path(tempfile.mkdtemp(prefix="kb-hosts-"))
    failed = 0
    for name in names:
        for check in check_agent(Run(name, given.folder, runs / name)):
            failed += not check.is_right
            print(f"{name:9} {'yes' if check.is_right else 'NO ':3} {check.name}", flush=True)
    print(f"runs: {runs}" if given.keep else "")
    if not given.keep:
        shutil.rmtree(runs, ignore_errors=True)
    return 1 if failed else 0


def install_agents(folder: Path, names: list[str]) -> None:
    """Install the programs *names* from npm into *folder* where they are missing."""
    if not shutil.which("npm") or not shutil.which("unshare"):
        raise SystemExit("npm and unshare (util-linux) are needed: no program is run")
    wanted = {"npm": ["node@24", *(AGENTS[name].package for name in names)], "plugin": [_OPENCODE_PLUGIN]}
    for part, packages in wanted.items():
        place = folder / part
        missing = [name for name in packages if not (place / "node_modules" / name.partition("@24")[0]).is_dir()]
        if missing:
            place.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), *missing]
            subprocess.run(command, check=True)


def check_agent(run: Run) -> Iterator[Check]:
    """Yield what holds for the agent program of *run*, in the order of a session."""
    run.run("kb", "init", "--here")
    run.run("kb", "write", "-", given=json.dumps(_SEED), check=False)
    for name in run.run("kb", "list", "--json").split('"id": "')[1:]:
        run.run("kb", "status", name.partition('"')[0], "accepted", "--yes", check=False)
    before = run.read_settings()
    _install(run)
    _uninstall(run)
    changed = sorted(path for path, data in run.read_settings().items() if before.pop(path, None) != data) + list(
        before
    )
    yield Check("installed and removed, byte for byte" + f" {' '.join(changed)}".rstrip(), not changed)
    _install(run)
    if run.agent == "opencode":  # else it waits a minute for the package of its plugins, which the network has
        shutil.copytree(run.tools / "plugin", run.home / ".config/opencode", dirs_exist_ok=True)
    bodies, _ = run.ask(_FIRST, _write_script(run.project))
    texts = [json.dumps(body, ensure_ascii=False) for body in bodies]
    whole = texts[-1] if texts else ""
    yield Check("a session runs to its end", len(texts) >= 5)
    yield Check("the start is told: what always holds", bool(texts) and "Amounts are integer cents" in texts[0])
    yield Check("the prompt is answered with the record", bool(texts) and "Keep idempotency keys" in texts[0])
    yield Check("before an edit: what governs the file", "ledger.py" in whole and whole.count("integer cents") > 1)
    yield Check("at a failure: the cure that is known", "Run it with `TZ=UTC`" in whole)
    yield Check(
        "a tool of the MCP server answers", "Keep idempotency keys" in whole and '"answers' in whole.replace("\\", "")
    )
    yield Check("the decision of the session is kept", _wait_until_kept(run, "tokens expire after fifteen minutes"))
    bodies, _ = run.ask(_SECOND, [["When do login", [[["text", "After fifteen minutes."]]]]])
    first = json.dumps(bodies[0], ensure_ascii=False) if bodies else ""
    yield Check("the next session hears it with its first request", "expire after fifteen minutes" in first)
    seconds = [run.ask("Say yes.", [["Say yes", [[["text", "yes"]]]]])[1] for _ in range(3)]
    _uninstall(run)
    without = [run.ask("Say yes.", [["Say yes", [[["text", "yes"]]]]])[1] for _ in range(3)]
    added = statistics.median(seconds) - statistics.median(without)
    yield Check(f"a session of one prompt takes {added:.2f} s more", added < 3)
    left = [path for path, data in run.read_settings().items() if b"kb-hook" in data and "settings" in path]
    yield Check("nothing of kb is left in the settings" + f" {' '.join(left)}".rstrip(), not left)


def _wait_until_kept(run: Run, words: str) -> bool:
    """Return whether *words* are in a record or in the inbox: the last hook of a session may outlive the program."""
    for _ in range(20):
        if words in run.run("kb", "list", "--json", check=False) + run.run("kb", "inbox", "--json", check=False):
            return True
        time.sleep(1)
    return False


def _install(run: Run) -> None:
    run.run("kb", "hooks", "install", run.agent)
    run.run("kb", "mcp", "install", run.agent, check=False)


def _uninstall(run: Run) -> None:
    run.run("kb", "hooks", "uninstall", run.agent)
    run.run("kb", "mcp", "uninstall", run.agent, check=False)


def _write_script(project: Path) -> list[Any]:
    """Return what the model does with the first prompt."""
    ledger = str(project / "src/pay/ledger.py")
    edit = {"file_path": ledger, "old_string": "ENTRIES = []", "new_string": "ENTRIES = list()"}
    steps = [
        [["text", "I read the code first."], ["tool", "Read", {"file_path": ledger}]],
        [["tool", "Edit", edit]],
        [["tool", "Bash", {"command": "python3 tests/ledger_check.py", "description": "check the ledger"}]],
        [["tool", "mcp__kb__search", {"query": "idempotency keys of refunds"}]],
        [["text", _DECIDED]],
    ]
    return [["How do refunds keep", steps]]


if __name__ == "__main__":
    sys.exit(main())
