"""The labelled prompts by which it is measured when kb speaks up."""

import pytest

from bench.triggers import PARTS, WRITTEN_LAST, rows, score


@pytest.mark.parametrize("language", ["zh", "en"])
def test_there_are_a_hundred_prompts_of_both_sorts_in_every_part(language: str) -> None:
    labelled = rows(language)
    assert len({row.text for row in labelled}) == len(labelled) >= 100
    for part in PARTS:
        those = [row for row in labelled if row.part == part]
        assert min(sum(row.read for row in those), sum(row.propose for row in those)) >= 4
        assert len(those) >= (20 if part == WRITTEN_LAST else 40)


def test_a_score_counts_both_ways_of_being_wrong() -> None:
    counted = score([True, True, False, False, True], [True, False, True, False, True])
    assert tuple(counted) == (2, 1, 1, 1)
    assert (counted.precision, counted.recall) == (2 / 3, 2 / 3)
    assert score([False], [False]).precision == score([False], [False]).recall == 1
