"""Lazy patterns behave as `re` makes them."""

import re

from kb.startup.lazy_regex import IGNORECASE, regex


def test_a_pattern_behaves_as_one_that_is_compiled_at_once() -> None:
    lazy, plain = regex(r"(?P<word>\w+)-(\d+)", IGNORECASE), re.compile(r"(?P<word>\w+)-(\d+)", re.IGNORECASE)
    for text in ("Ab-12 cd-3", "退款-30", "none"):
        assert lazy.findall(text) == plain.findall(text)
        found, wanted = lazy.search(text), plain.search(text)
        assert (found and found.groupdict()) == (wanted and wanted.groupdict())
    assert (lazy.pattern, lazy.flags) == (plain.pattern, plain.flags)
