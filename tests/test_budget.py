"""A budget is never exceeded, nothing is cut in half, and the best comes first."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.reading.budget import fit, fitting, joined
from kb.text import tokens

ITEMS = st.lists(st.text("ab 还款|-", min_size=1, max_size=40), max_size=12)


@settings(deadline=None)
@given(ITEMS, st.integers(0, 80), st.sampled_from(["", "head", "识"]), st.sampled_from(["", "仅供参考"]))
def test_law_whole_items_in_order_within_the_budget(items: list[str], budget: int, header: str, footer: str) -> None:
    taken = fit(items, budget, header=header, footer=footer)
    assert tokens(joined(taken, header=header, footer=footer)) <= budget
    rest = iter(items)
    assert all(item in rest for item in taken), "a subsequence of what was offered"


@settings(deadline=None)
@given(ITEMS, st.integers(0, 80))
def test_law_the_best_that_fits_alone_is_taken(items: list[str], budget: int) -> None:
    possible = [item for item in items if tokens(item) <= budget]
    assert fit(items, budget)[:1] == possible[:1]


@settings(deadline=None)
@given(ITEMS, st.integers(0, 80))
def test_law_what_is_left_out_at_the_end_had_no_room(items: list[str], budget: int) -> None:
    taken = fit(items, budget)
    if items and (not taken or taken[-1] is not items[-1]):
        assert tokens(joined([*taken, items[-1]])) > budget


@pytest.mark.parametrize(
    ("budget", "taken"),
    [
        (0, []),
        (1, ["上"]),
        (2, ["上"]),
        (4, ["上", "中"]),
        (5, ["上", "中"]),
        (6, ["上", "大小下"]),
        (8, ["上", "大小下", "中"]),
    ],
)
def test_a_long_item_does_not_silence_those_behind_it(budget: int, taken: list[str]) -> None:
    assert fit(["上", "大小下", "中"], budget) == taken


def test_header_and_footer_count() -> None:
    assert fit(["大小"], 2) == ["大小"]
    assert fit(["大小"], 2, header="上") == []
    assert fit(["大小"], 7, header="上", footer="下") == ["大小"]
    assert fit(["大小"], 6, header="上", footer="下") == []


def test_nothing_is_framed_without_items() -> None:
    assert joined([], header="head", footer="foot") == ""


def test_any_values_can_be_fitted_by_how_they_render() -> None:
    assert fitting([1, 30, 2], 4, lambda numbers: "字" * sum(numbers)) == [1, 2]
