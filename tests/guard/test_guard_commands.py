"""Some commands of `make bench-guard`, let loose on records: none is missed, and none disturbed."""

import os
from pathlib import Path
from typing import Any

import pytest

from bench.guard import World, commands, counted
from kb.hooks.events import handle_event
from kb.hooks.fast_path import can_skip_event
from kb.hosts import EVENTS


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One repository for all lists, whose hooks run in this process; the bench starts a process for each."""
    made = World(tmp_path_factory.mktemp("commands") / "world", "block", lambda *given: said(made, *given))
    return made


def said(world: World, event: str, place: Path, payload: dict[str, Any]) -> str:
    name = EVENTS[event]
    if can_skip_event(name, payload, str(place)):
        return ""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(world.environment)
    try:
        decision = handle_event(name, payload, str(place))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return decision.permission or decision.context or decision.message


@pytest.mark.parametrize(("name", "every"), [("changing", 24), ("changing_held_out", 13)])
def test_what_changes_records_is_stopped_or_found(world: World, name: str, every: int) -> None:
    found = counted([world.tried(command) for command in commands(name)[::every]])
    assert found["commands"] >= 4 and found["effective"] >= 0.8 * found["commands"]
    assert found["missed"] == 0


@pytest.mark.parametrize(("name", "every"), [("harmless", 14), ("harmless_held_out", 13)])
def test_what_is_harmless_passes_without_a_word(world: World, name: str, every: int) -> None:
    results = [world.tried(command) for command in commands(name)[::every]]
    assert len(results) >= 4
    assert [(one.command, one.before, one.after) for one in results if one.before or one.after] == []


def test_the_lists_are_read_whole() -> None:
    assert [len(commands(name)) for name in ("changing", "changing_held_out", "harmless", "harmless_held_out")] == [
        230, 52, 127, 52,
    ]  # fmt: skip
