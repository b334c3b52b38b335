"""What every test stands on: the day it takes place, its clock, its data, and git."""

import subprocess
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
"""Golden files, labelled sets, stories and payloads."""

DAY = 1_795_219_200.0
"""2026-11-21 00:00:00 UTC, when every test takes place."""


class Clock:
    """A clock that moves when a test says so."""

    def __init__(self) -> None:
        self.seconds = DAY

    def __call__(self) -> float:
        return self.seconds


def git(place: Path | str, *arguments: str) -> str:
    """Run git in *place* and return what it prints; fail the test when it fails."""
    done = subprocess.run(["git", "-C", str(place), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
