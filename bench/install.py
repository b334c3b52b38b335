"""How large an installation of kb is, and how long it takes: from a built wheel, for the core and each extra.

    python -m bench.install [--revision REVISION] [--extras core,wiki,all] [--keep FOLDER]

A wheel is built of this checkout, or of the REVISION, and everything it needs is downloaded first. What is timed is
pip, without a network, into an empty environment; pip itself is not counted. Each environment must then make a
knowledge base, write a record and find it; that is done without a network, too, where `unshare` allows it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
EXTRAS = ("core", "wiki", "mcp", "lsp", "all")
RECORD = ("write", "--kind", "decision", "--title", "Use PostgreSQL", "--why", "It has transactions.", "--decision")
CALLS = ((*RECORD, "Orders are kept in PostgreSQL.", "--impact", "architecture"), ("search", "where are orders kept"))


class Installation(NamedTuple):
    """What one environment measures."""

    extra: str
    packages: int
    megabytes: float
    """Of everything in site-packages and bin."""
    download: float
    """Megabytes of the wheels that were installed."""
    seconds: float
    """Of pip, from wheels on the disk."""
    first: float
    """Seconds of `kb init`, `kb write` and `kb search` together, the first time."""


def build_wheel(folder: Path, revision: str = "") -> Path:
    """Build the wheel of this checkout, or of *revision*, in *folder* and return its path."""
    source = ROOT
    if revision:
        source = folder / "source"
        source.mkdir()
        archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", source], input=archive, check=True)
    run_pip("wheel", "--no-deps", "-w", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def run_pip(*words: str) -> None:
    """Run pip with *words*; stop with what it says where it fails."""
    done = subprocess.run([*PIP, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)


def list_extras(wheel: Path) -> set[str]:
    """Return the extras that *wheel* offers."""
    words = ["unzip", "-p", str(wheel), "*.dist-info/METADATA"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.partition(": ")[2] for line in lines if line.startswith("Provides-Extra: ")}


def measure(wheel: Path, extra: str, folder: Path) -> Installation:
    """Install *wheel* with *extra* ("core": none) below *folder*, try it, and return what it measures."""
    wanted = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    wheels, place = folder / f"wheels-{extra}", folder / f"env-{extra}"
    run_pip("download", "--prefer-binary", "-d", str(wheels), wanted)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    began = time.perf_counter()
    run_pip("--python", str(place / "bin/python"), "install", "--no-index", "--find-links", str(wheels), wanted)
    seconds = time.perf_counter() - began
    return Installation(
        extra,
        len(list(place.glob("lib/*/site-packages/*.dist-info"))),
        sum(map(count_bytes, (place / "lib", place / "bin"))) / 1e6,
        count_bytes(wheels) / 1e6,
        seconds,
        try_offline(place, folder / f"base-{extra}"),
    )


def count_bytes(folder: Path) -> int:
    """Return the bytes of the files below *folder*; links are not followed."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def try_offline(place: Path, base: Path) -> float:
    """Make a knowledge base at *base*, write a record and find it; return the seconds, or stop where it fails."""
    alone = ["unshare", "-rn"] if can_unshare() else []
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(base.parent), "KB_HOME": str(base), **who}
    said, began = "", time.perf_counter()
    for words in (("init", str(base)), *CALLS):
        done = subprocess.run(
            [*alone, place / "bin/kb", *words],
            env=environment,
            cwd=base.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"kb {words[0]} failed in {place}: {done.stderr}")
        said = done.stdout
    if "D001" not in said:
        raise SystemExit(f"kb search did not find the record in {place}: {said}")
    return time.perf_counter() - began


def can_unshare() -> bool:
    """Return whether a process without a network can be started."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revision", default="")
    parser.add_argument("--extras", default=",".join(EXTRAS))
    parser.add_argument("--keep", default="", metavar="FOLDER")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.keep or name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wheel = build_wheel(folder, given.revision)
        offered = {"core", *list_extras(wheel)}
        offline = "without a network" if can_unshare() else "a network was not kept out"
        print(f"{wheel.name}, Python {sys.version.split()[0]}, {offline}\n")
        print("| extra | packages | MB installed | MB downloaded | seconds of pip | init, write and search |")
        print("| --- | --- | --- | --- | --- | --- |")
        for extra in (word for word in given.extras.split(",") if word in offered):
            one = measure(wheel, extra, folder)
            print(
                f"| {one.extra} | {one.packages} | {one.megabytes:.1f} | {one.download:.1f} | {one.seconds:.1f} "
                f"| {one.first:.1f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
