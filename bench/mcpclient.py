"""Ask `kb mcp` by another implementation of the protocol than the one it is made with: the TypeScript SDK.

`make bench-mcp` needs node and npm. The client is installed into KB_BENCH_NODE, else into a folder for this run alone.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).with_suffix(".mjs")
PACKAGE = "@modelcontextprotocol/sdk"


def main() -> int:
    """Ask in both transports, print what the client measured and return 1 where an answer is not as it should be."""
    if not shutil.which("npm"):
        print("npm is not installed: nothing is asked", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        node = Path(os.environ.get("KB_BENCH_NODE", folder))
        if not (node / "node_modules" / PACKAGE).is_dir():
            words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", node, PACKAGE]
            subprocess.run(words, check=True)
        found = asked(Path(folder), node)
    for transport, answers in found.items():
        wrong = [what for what, is_right in judged(answers).items() if not is_right]
        print(f"{transport:6} ready {answers['ready']:5.0f} ms  search {answers['search_ms']:5.1f} ms  "
              + (f"wrong: {', '.join(wrong)}" if wrong else "all answers as they should be"))  # fmt: skip
        if wrong:
            return 1
    return 0


def asked(folder: Path, node: Path) -> dict[str, Any]:
    """Return what the client gets from a fresh knowledge base in *folder*, by transport."""
    kb = Path(sys.executable).with_name("kb")
    root = folder / "kb"
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "A bench", f"GIT_{who}_EMAIL": "bench@example.com"}
    subprocess.run([kb, "init", root], check=True, capture_output=True, env=environment)
    words = [kb, "mcp", "--http", "--address", "127.0.0.1:0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=root, env=environment, **pipes) as server:
        assert server.stdout and server.stderr
        url = server.stdout.readline().strip()
        token = server.stderr.readline().rpartition(" ")[2].strip()
        line = ["node", CLIENT, node, url, token, kb, "mcp"]
        done = subprocess.run(line, cwd=root, env=environment, capture_output=True, text=True, check=False)
        server.terminate()
    if done.returncode:
        raise SystemExit(done.stderr)
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def judged(answers: dict[str, Any]) -> dict[str, bool]:
    """Return for each answer whether it is as it should be."""
    return {
        "tools": {name for name, is_reading in answers["tools"] if not is_reading} == {"write"},
        "write": answers["written"]["verdicts"][0]["verdict"] in ("created", "unchanged"),
        "search": answers["search"]["answers"][0]["id"] == "D001",
        "show": answers["show"]["record"]["sections"][0]["text"] == "In PostgreSQL 16.",
        "context": answers["context"]["records"][0]["id"] == "D001",
        "pack": bool(answers["pack"]["pack"]["evidence"]),
        "check": answers["check"]["records"] == 1,
        "a mistake": answers["mistake"]["isError"] and "show.id" in answers["mistake"]["content"][0]["text"],
        "a resource": "> In PostgreSQL 16." in answers["resource"] and answers["templates"] == 3,
        "a prompt": "[D001]" in answers["prompt"],
        "a completion": answers["completed"] == ["D001"],
    }


if __name__ == "__main__":
    sys.exit(main())
