"""No regular expression of the package takes a time that grows faster than the text it is run on."""

import re

import pumps
import pytest

BOUNDED = {
    "kb.citations._BEHIND_TARGET": "run on the 1000 characters behind a link's destination",
    "kb.citations._BEHIND_DEFINITION": "run on the 1000 characters behind a destination",
    "kb.citations._RECORD_FILE": "run on the path of a link, 1000 characters at most",
    "kb.orders._IMPERATIVE": "run on the 240 characters before an order",
    "kb.orders._ACTING": "run on the 240 characters before an order",
    "kb.exchange.layout._ARCHIVE": "run on names of files",
    "kb.exchange.adr._KEY_AND_TEXT": "run on one row that it matches from its beginning to its end",
    "kb.front._COMMENT": "matched once behind the colon of a row, and once behind its value",
    "kb.jsontext._REST_OF_LINE": "matched once behind a value",
    "kb.guarding.shell._OUT": "matched where a word of a command begins",
    "kb.guarding.shell._DUPLICATED": "matched where a word of a command begins",
    "kb.guarding.shell._HERE": "matched where a word of a command begins",
}
"""Pattern → why its text is short, or it is run at one place alone."""


@pytest.mark.timeout(900)  # forty seconds of processor time, on however busy a machine
def test_every_pattern_is_linear() -> None:
    found = pumps.package_patterns()
    assert len(found) > 600
    names = {pattern.where for pattern in found}
    assert set(BOUNDED) <= names, "a pattern that is no more"
    slow = [pumps.find_slow(pattern) for pattern in found if pattern.where not in BOUNDED]
    assert [
        f"{one.pattern.where} {one.pattern.source[:80]} by {one.prefix!r} + {one.unit!r}" for one in slow if one
    ] == []


@pytest.mark.parametrize(
    ("source", "at_start"),
    [
        (r"\s*x", False), (r"\s*\s*x", True), (r"\[[^\]\n]*\]\(", False), (r"(?:a|a)*b", True), (r"a.*b.*c", False),
    ],
)  # fmt: skip
def test_a_pattern_that_is_not_linear_is_found(source: str, at_start: bool) -> None:
    assert pumps.find_slow(pumps.Pattern(source, 0, "here", at_start)) is not None


@pytest.mark.parametrize("source", [r"(?<!\s)\s*+x", r"\[[^\[\]\n]*+\]\(", r"\w{1,40}x", r"(?:ab|cd)+", r"^.*$"])
def test_a_linear_pattern_is_let_through(source: str) -> None:
    assert pumps.find_slow(pumps.Pattern(source, re.MULTILINE, "here", False)) is None
