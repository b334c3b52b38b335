"""One short storm of `make bench-storm`, and its audit: writers, kills and a person at git beside them."""

from pathlib import Path

from bench.storm import storm


def test_a_storm_loses_nothing_and_writes_nothing_twice(tmp_path: Path) -> None:
    running, wrong = storm(tmp_path, 7, "plain", seconds=1.0, writers=3, calm=False)
    assert wrong == []
    assert running.told and running.counts["killed"] + running.counts["stopped"]
