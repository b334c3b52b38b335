"""Somebody else in a storm, who fills the disk and makes room again, in place of the person at git."""

import contextlib
import os
import random
from pathlib import Path

from bench.stormacts import Storm
from bench.stormworld import DISK


def fill(storm: Storm) -> None:
    """Fill the disk, give back some of it while writers are at work, and all of it, until *storm* is over."""
    chance = random.Random(storm.seed + 17)
    filler = storm.world.top / DISK / "filler"
    while not storm.over.wait(chance.uniform(0.1, 0.8)):
        storm.counts["disk filled"] += 1
        _fill(filler, chance.choice((512, 4096, 65_536)))
        storm.over.wait(chance.uniform(0.1, 0.5))
        os.truncate(filler, max(0, filler.stat().st_size - chance.randrange(60_000)))
        storm.over.wait(chance.uniform(0.1, 0.9))
        filler.unlink()


def _fill(filler: Path, piece: int) -> None:
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * piece)
