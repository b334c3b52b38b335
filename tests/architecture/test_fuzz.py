"""The laws that fuzzing looks after hold for a few thousand texts, and what breaks one is kept."""

import random
from pathlib import Path

import pytest

from bench.fuzz import TARGETS, guarded, mixed
from bench.fuzzlaws import LAWS, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_a_law_holds_for_known_texts_and_what_is_mixed_of_them(target: str) -> None:
    known, chance = seeds(target), random.Random(target)
    assert len(known) > 10
    for data in known:
        LAWS[target](data)
        for _ in range(4):
            data = mixed(data, known, chance)
            LAWS[target](data)


def test_what_breaks_a_law_is_kept_once_for_each_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def law(data: bytes) -> None:
        assert b"x" not in data, "an x"
        data.decode()

    monkeypatch.chdir(tmp_path)
    tried = guarded("codec", law)
    for data in (b"a", b"x1", b"x2", b"b"):
        tried(data)
    assert [path.read_bytes() for path in (tmp_path / ".fuzz").iterdir()] == [b"x1"]
    assert "an x" in capsys.readouterr().out
