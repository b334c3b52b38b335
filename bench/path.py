"""How much of kb one `kb write` goes through: the modules and functions that are entered.

    python -m bench.path [--list]

A candidate is handed in on standard input to a knowledge base that has one record near to it. Counted are the functions
of kb that are called at least once, and the modules these are in; what a module does while it is imported is not
counted, nor are `kb.startup` and `kb.i18n`, which everything uses. `--list` names them all.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from types import FrameType

import kb
from bench.faultcases import decision
from kb.files import json_bytes
from kb.knowledge_base import make
from kb.records.candidate import candidate_to_json

MOST_MODULES, MOST_FUNCTIONS = 38, 300
ROOT = str(Path(kb.__file__).parent)
EVERYWHERE = ("startup/", "i18n.py")

Calls = dict[str, set[str]]
"""Module → the qualified names of its functions that were called."""


_FIRST = decision(
    0, title="Use FastAPI as the backend framework", decision="The backend uses FastAPI.",
    claims={"backend.framework": "FastAPI"}, impact=("kb.toml",),
)  # fmt: skip
_NEAR = _FIRST._replace(title="FastAPI serves the public HTTP interface", session="s2")
"""About the same matter; it becomes a record of its own."""


def prepare(folder: str) -> bytes:
    """Make a knowledge base with one record in *folder* and return the candidate that is to be written, as JSON."""
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    for key, value in (("user.name", "Bench"), ("user.email", "bench@example.org")):
        subprocess.run(["git", "-C", folder, "config", key, value], check=True)
    base, _ = make(folder, os.environ, inside=True)
    with base:
        base.write([_FIRST], folder=folder)
    return json_bytes(candidate_to_json(_NEAR))


def trace_write(given: bytes) -> tuple[Calls, str]:
    """Run `kb write -` in this process and return what it called and what it printed."""
    from kb.cli import main

    calls: Calls = defaultdict(set)

    def record_call(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and "<" not in code.co_name:
            module = os.path.relpath(code.co_filename, ROOT)
            if not module.startswith(EVERYWHERE) and code.co_flags & 0x2:  # a function, and not the body of a class
                calls[module].add(code.co_qualname)

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    real = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            sys.setprofile(record_call)
            main(["write", "-"])
    finally:
        sys.setprofile(None)
        sys.stdin = real
    printed.flush()
    return calls, printed.buffer.getvalue().decode()


def main() -> int:
    """Print the two counts, and what they consist of; return 1 when one is over its limit."""
    with tempfile.TemporaryDirectory() as folder:
        given = prepare(folder)
        os.chdir(folder)
        calls, printed = trace_write(given)
        os.chdir(ROOT)
    functions = sum(map(len, calls.values()))
    if "--list" in sys.argv:
        for module, names in sorted(calls.items()):
            print(f"{module} ({len(names)}): {' '.join(sorted(names))}")
    print(printed.strip())
    print(f"modules entered: {len(calls)} (at most {MOST_MODULES})")
    print(f"functions called: {functions} (at most {MOST_FUNCTIONS})")
    return int(len(calls) > MOST_MODULES or functions > MOST_FUNCTIONS)


if __name__ == "__main__":
    sys.exit(main())
