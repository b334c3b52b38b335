"""Whether the real agent programs take the plugins of this checkout: Claude Code, Codex, Gemini CLI.

    python -m bench.plugins FOLDER

The programs are installed from npm into FOLDER, once, and run with a home of their own there. Nothing is asked of a
model: each adds this checkout as a marketplace or an extension and lists what it then has. Exit 1 where one does not.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from docs import packaging

ROOT = Path(__file__).parents[1]
PROGRAMS = ("@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli")
NAME = "kb@kb-tools"
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "claude": (
        ("plugin", "validate", "CHECKOUT"),
        ("plugin", "marketplace", "add", "CHECKOUT"),
        ("plugin", "install", NAME),
        ("plugin", "list"),
    ),
    "codex": (
        ("plugin", "marketplace", "add", "CHECKOUT"),
        ("plugin", "add", NAME),
        ("plugin", "list"),
        ("mcp", "list"),
    ),
    "gemini": (
        ("extensions", "validate", "CHECKOUT"),
        ("extensions", "install", "EXTENSION", "--consent"),
        ("extensions", "list"),
    ),
}
"""What is asked of each program; the answer to the last of them has to name kb."""


def main() -> int:
    """Install what is missing, ask every program, and print what each says."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".plugins-bench").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in PROGRAMS if not (folder / "node_modules" / name).exists()]
    if missing:
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *missing]
        subprocess.run(words, check=True)
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    places = {"CHECKOUT": str(ROOT), "EXTENSION": str(copy_extension(home / "kb"))}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb"}
    failed = 0
    for program, calls in CALLS.items():
        said = ""
        for call in (("--version",), *calls):
            words = [str(folder / "node_modules/.bin" / program), *(places.get(word, word) for word in call)]
            done = subprocess.run(
                words,
                env=environment,
                cwd=home,
                input="y\n" * 9,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            said = done.stdout + done.stderr
            print(f"$ {program} {' '.join(call)}\n{said.strip()}\n")
            failed += done.returncode != 0
        failed += "kb" not in said
    print("every program took it" if not failed else f"{failed} calls failed")
    return 1 if failed else 0


def copy_extension(place: Path) -> Path:
    """Copy to *place* what Gemini reads of this checkout: it copies all it is given, and `.venv` is large."""
    context = packaging.build_gemini_extension()["contextFileName"]
    for name in ("gemini-extension.json", context):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place / name)
    return place


if __name__ == "__main__":
    sys.exit(main())
