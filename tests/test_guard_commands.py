"""Some commands of `make bench-guard`, let loose on records: none is missed, and none disturbed."""

import pytest

from bench.guard import commands, counted, measured


@pytest.mark.parametrize(("name", "every"), [("changing", 46), ("changing_held_out", 26)])
def test_what_changes_records_is_stopped_or_found(name: str, every: int) -> None:
    found = counted(list(measured(name, "block", every)))
    assert found["commands"] >= 2 and found["effective"] >= 0.8 * found["commands"]
    assert found["missed"] == 0


@pytest.mark.parametrize(("name", "every"), [("harmless", 38), ("harmless_held_out", 26)])
def test_what_is_harmless_passes_without_a_word(name: str, every: int) -> None:
    results = list(measured(name, "block", every))
    assert len(results) >= 2
    assert [(one.command, one.before, one.after) for one in results if one.before or one.after] == []


def test_the_lists_are_read_whole() -> None:
    assert [len(commands(name)) for name in ("changing", "changing_held_out", "harmless", "harmless_held_out")] == [
        230, 52, 127, 52,
    ]  # fmt: skip
