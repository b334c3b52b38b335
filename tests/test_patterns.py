"""Patterns behave as `re` makes them, and the cache holds none that is made of somebody's words."""

import os
import re
import subprocess
import sys
from pathlib import Path

from kb.startup.lazy_regex import IGNORECASE, regex


def test_a_pattern_behaves_as_one_that_is_compiled_at_once() -> None:
    lazy, plain = regex(r"(?P<word>\w+)-(\d+)", IGNORECASE), re.compile(r"(?P<word>\w+)-(\d+)", re.IGNORECASE)
    for text in ("Ab-12 cd-3", "退款-30", "none"):
        assert lazy.findall(text) == plain.findall(text)
        found, wanted = lazy.search(text), plain.search(text)
        assert (found and found.groupdict()) == (wanted and wanted.groupdict())
    assert (lazy.pattern, lazy.flags) == (plain.pattern, plain.flags)


def test_words_that_are_searched_for_are_not_kept(root: Path, tmp_path: Path) -> None:
    code = "from kb.search.snippet import snippet; print(snippet('a zebrafish here', 'zebrafish').marked('<', '>'))"
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "<zebrafish>" in done.stdout
    kept = list(tmp_path.rglob("*.marshal"))
    assert kept
    assert all(b"zebrafish" not in path.read_bytes() for path in kept)
