"""Lazy patterns behave as `re` makes them."""

import importlib
import pkgutil
import re
import sys

import pytest

import kb
from kb.safety.injection_patterns import ORDERS
from kb.startup.lazy_regex import IGNORECASE, PatternRows, regex, regex_rows
from tests.support.required_text import find_without


def test_a_pattern_behaves_as_one_that_is_compiled_at_once() -> None:
    lazy, plain = regex(r"(?P<word>\w+)-(\d+)", IGNORECASE), re.compile(r"(?P<word>\w+)-(\d+)", re.IGNORECASE)
    for text in ("Ab-12 cd-3", "退款-30", "none"):
        assert lazy.findall(text) == plain.findall(text)
        found, wanted = lazy.search(text), plain.search(text)
        assert (found and found.groupdict()) == (wanted and wanted.groupdict())
    assert (lazy.pattern, lazy.flags) == (plain.pattern, plain.flags)


ROWS = (
    (("no ",), r"\bno (?:longer|more)\b"),
    (("不再", "停"), r"不再|停[用止]"),
    (("long", "more"), r"\w*(?:longer|more)"),
)


@pytest.mark.parametrize("flags", [0, IGNORECASE])
def test_rows_search_as_their_alternation_does(flags: int) -> None:
    rows, whole = regex_rows(*ROWS, flags=flags), re.compile("|".join(source for _, source in ROWS), flags)
    for text in ("", "no longer, no more", "我们不再停用 NO LONGER more", "furthermore 停 no", "ſtop no LOnger"):
        for start, end in ((0, len(text)), (1, len(text) - 1)):
            assert [m.span() for m in rows.finditer(text, start, end)] == [
                m.span() for m in whole.finditer(text, start, end)
            ]
            found, wanted = rows.search(text, start, end), whole.search(text, start, end)
            assert (found and found.group()) == (wanted and wanted.group())


def test_only_rows_that_may_match_are_compiled() -> None:
    rows = regex_rows(*ROWS)
    assert rows.search("nothing of all this") is None
    assert [row.__dict__.keys() & {"search"} for _, row in rows.rows] == [set(), set(), set()]
    assert rows.search("no longer") is not None
    assert [bool(row.__dict__.keys() & {"search"}) for _, row in rows.rows] == [True, False, True]


def test_needs_are_folded_as_the_pattern_ignores_case() -> None:
    for letter in "abcdefghijklmnopqrstuvwxyz":
        rows, plain = regex_rows(((letter,), letter), flags=IGNORECASE), re.compile(letter, IGNORECASE)
        alike = [chr(code) for code in range(0x3000) if plain.fullmatch(chr(code))]
        assert [other for other in alike if rows.search(other) is None] == []


def list_rows() -> dict[str, PatternRows]:
    """Return every pattern of the package that is made of rows, by its name."""
    names = [found.name for found in pkgutil.walk_packages(kb.__path__, "kb.") if "mkdocs" not in found.name]
    for name in names:
        importlib.import_module(name)
    modules = [(name, sys.modules[name]) for name in names]
    return {
        f"{module}.{name}": value
        for module, held in modules
        for name, value in vars(held).items()
        if isinstance(value, PatternRows)
    }


def test_one_of_the_needs_is_in_all_that_a_row_matches() -> None:
    found = list_rows()
    assert len(found) > 10
    rows = [(name, needs, row) for name, value in found.items() for needs, row in value.rows]
    without = [(name, find_without(row.pattern, row.flags & IGNORECASE, needs)) for name, needs, row in rows]
    assert [one for one in without if one[1] is not None] == []


@pytest.mark.parametrize("order", [order for order in ORDERS if order.needs and "阅读" not in order.heads])
def test_one_of_the_needs_is_in_every_order(order) -> None:  # type: ignore[no-untyped-def]
    assert find_without(order.pattern.pattern, 0, order.needs) is None


@pytest.mark.parametrize(
    ("source", "needs", "wanted"),
    [
        (r"ab(?:c|d)e?", ("abc", "abd"), None),
        (r"ab(?:c|d)e?", ("abc",), "abd"),
        (r"a.b", ("ab",), "a…b"),
        (r"(?:very )?(?:new|old) x", ("new x", "old x"), None),
        (r"a(?:bc)?d", ("ad",), "abcd"),
        (r"(?:ab){2,3}", ("abab",), "ab…ab"),
    ],
)
def test_what_a_pattern_matches_without_its_needs_is_found(source: str, needs: list[str], wanted: str | None) -> None:
    assert find_without(source, 0, needs) == wanted
