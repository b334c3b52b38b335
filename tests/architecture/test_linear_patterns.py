"""No regular expression of the package takes a time that grows faster than the text it is run on."""

import pytest

from tests.support import pumps

BOUNDED = {
    "kb.records.citations._BEHIND_TARGET": "run on the 1000 characters behind a link's destination",
    "kb.records.citations._BEHIND_DEFINITION": "run on the 1000 characters behind a destination",
    "kb.records.citations._RECORD_FILE": "run on the path of a link, 1000 characters at most",
    "kb.safety.injection_patterns._IMPERATIVE": "run on the 240 characters before an order",
    "kb.safety.injection_patterns._ACTING": "run on the 240 characters before an order",
    "kb.importers.project_layout._ARCHIVE": "run on names of files",
    "kb.adr.adr_front_matter._KEY_AND_TEXT": "run on one row that it matches from its beginning to its end",
    "kb.records.front_matter._COMMENT": "matched once behind the colon of a row, and once behind its value",
    "kb.hooks.text_edit._REST_OF_LINE": "matched once behind a value",
    "kb.capture.openings._SHOWS_ERROR": "run on the first 20,000 characters of a prompt, 200 at each place",
    "kb.capture.prove_quotes._TEST_COMMAND": "run on commands of 160 characters at most",
    "kb.sessions.handed_text._HANDOVER": "run on the first 400 characters of a prompt",
    "kb.similarity.failure_signatures._FOLDER": "run on lines of 300 characters at most",
    "kb.similarity.failure_signatures._SPECIFIC": "run on lines of 300 characters at most",
    "kb.wiki.mkdocs_plugin._UNUSED_VALUE": "run on the rules of the theme's own style sheet",
    "kb.wiki.mkdocs_plugin._COMMENT": "run on the theme's own style sheet",
    "kb.guard.shell._TOKEN": "matched where a token begins, which it takes whole",
    "kb.guard.shell._QUOTED_TOKEN": "matched where a token begins, which it takes whole",
}
"""Pattern → why its text is short, or it is run at one place alone."""


@pytest.mark.timeout(600)  # ten seconds of processor time, on however busy a machine
def test_every_pattern_is_linear() -> None:
    found = pumps.package_patterns()
    assert len(found) > 600
    names = {pattern.where for pattern in found}
    assert set(BOUNDED) <= names, "a pattern that is no more"
    slow = [pumps.find_slow(pattern) for pattern in found if pattern.where not in BOUNDED]
    assert [
        f"{one.pattern.where} {one.pattern.source[:80]} by {one.prefix!r} + {one.unit!r}" for one in slow if one
    ] == []


SLOW_FROM_THE_START = (
    r"[ \t]*=[ \t]*(.*?)[ \t]*$", r" {0,3}#{1,6}(?:[ \t]+(.*?))?[ \t]*$", r"\s*\s*x", r"(?:a|a)*b", r"(?:a+)+b",
    r"(\w+\s?)*$", r"(.*)(,.*)(;.*)x", r"[^:]*:?[^:]*\d", r'"(?:\\.|[^"])*"?x', r"(?:.*,){2}x", r"\d+\.?\d+x",
    r"^(?:-+\s*)*-+x", r"([a-z]+[.]?)+@",
)  # fmt: skip
"""Patterns that take too long where they are only matched at the beginning of a text, the classic shapes among them."""
SLOW_ANYWHERE = (
    r"=[ \t]*(.*?)[ \t]*$", r"\s*x", r"\s+$", r"\[[^\]\n]*\]\(", r"a.*b.*c", r"<[^>]*>", r"\w+@",
    r"https?://\S+\.x\b", r"(?s)<!--.*?-->", r"(?i)password\W*\w*=", r"[^\n]*+\n",
)  # fmt: skip
LINEAR_FROM_THE_START = (
    r"[ \t]*+=[ \t]*+((?:.*[^ \t\n])?)[ \t]*+$", r"[^\n]*+\n", r"(?:[^,\n]*+,){2}x", r"\s*x", r"<[^>]*>", r"\w+@",
)  # fmt: skip
LINEAR_ANYWHERE = (
    r"(?<!\s)\s*+x", r"\[[^\[\]\n]*+\]\(", r"\w{1,40}x", r"(?:ab|cd)+", r"(?m)^.*$", r"(?<!\w)\w++@", r"\S+", r"\s+",
    r'"(?:[^"\\\n]|\\.){0,80}"', r'"[^"\n]*\n', r"(?<=x)\s*\(", r"(?<![^\n])[ \t]{0,9}#", r"(?s).*", r"\bkb\b",
    r"(?:instead of|rather than)\s{1,9}(\w{1,40})", r"(?<!`)`{1,9}(?!`)", r"必须|一律|严禁",
)  # fmt: skip


def at_start_and_anywhere(first: tuple[str, ...], second: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [*((one, True) for one in first), *((one, False) for one in second)]


@pytest.mark.parametrize(("source", "at_start"), at_start_and_anywhere(SLOW_FROM_THE_START, SLOW_ANYWHERE))
def test_a_pattern_that_is_not_linear_is_found(source: str, at_start: bool) -> None:
    assert pumps.find_slow(pumps.Pattern(source, 0, "here", at_start)) is not None


@pytest.mark.parametrize(("source", "at_start"), at_start_and_anywhere(LINEAR_FROM_THE_START, LINEAR_ANYWHERE))
def test_a_linear_pattern_is_let_through(source: str, at_start: bool) -> None:
    assert pumps.find_slow(pumps.Pattern(source, 0, "here", at_start)) is None
