"""Cut the piece of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from kb.search.query import Query
from kb.search.word_lists import is_function_word
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, fold_text, one_line, stem

MIN_WIDTH = 8
_SHORT = 2
"""Letters of a word that is marked only where it stands alone."""
_LETTER = "[^\\W_\u2e80-\U0010ffff]"
"""A letter or digit of a script that puts spaces between words."""
_WIDENED, _ALONE, _ANYWHERE = "widened", "alone", "anywhere"
"""How a needle is looked for: as the beginning of a word, as a whole word, or wherever it stands."""
_MATCHES = 20
"""So many matches decide where the window stands; a long text may have thousands."""


class Snippet(NamedTuple):
    """A piece of a text on one line, and where in it the question's words stand."""

    text: str
    matches: tuple[tuple[int, int], ...] = ()
    """Start and end offsets in *text*, in order, not overlapping."""

    def highlight_matches(self, before: str, after: str) -> str:
        """Return the text with *before* and *after* around every match."""
        parts, at = [], 0
        for start, end in self.matches:
            parts += [self.text[at:start], before, self.text[start:end], after]
            at = end
        return "".join((*parts, self.text[at:]))


def build_snippet(text: str, query: Query, *, width: int = 100) -> Snippet:
    """Return the *width* characters of *text* around most words of *query*; its beginning where none stands there.

    "…" at an end says that something is missing there; it counts towards *width*.
    """
    line = one_line(text)
    width = max(width, MIN_WIDTH)
    found = _find_matches(line, query)
    start = _find_window_start(found, width, len(line))
    end = min(start + width, len(line))
    head, tail = start > 0, end < len(line)
    piece = ("…" if head else "") + line[start + head : end - tail] + ("…" if tail else "")
    inside = tuple((s - start, e - start) for s, e in found if s >= start + head and e <= end - tail)
    return Snippet(piece, inside)


def _find_matches(line: str, query: Query) -> list[tuple[int, int]]:
    """Return where the terms of *query* stand in *line*: its meaningful words as whole words, or else as it was asked.

    A function word is marked only where nothing else of the query stands there. A word is marked whole: "pay" in
    "payments" marks "payments", and "i" marks nothing in "in".
    """
    asked = [*query.text.split(), *query.folded]
    telling = [word for word in asked if not is_function_word(word)]
    stems = [stem(word) for word in (*map(fold_text, telling), *query.subjects) if word.isascii()]
    inside = [word for word in telling if len(word) > _SHORT or word[:1] >= FIRST_CJK]
    for needles, ends in (
        (telling, _WIDENED),
        (query.subjects, _WIDENED),
        (stems, _WIDENED),
        (asked, _ALONE),
        (inside, _ANYWHERE),
    ):
        pattern = _build_pattern(needles, ends)
        found = [match.span() for match in islice(pattern.finditer(line), _MATCHES)] if pattern else []
        if found:
            return found
    return []


def _build_pattern(needles: Sequence[str], ends: str) -> re.Pattern[str] | None:
    """Return the pattern for any of *needles*, the longest first so that a part does not hide the whole."""
    distinct = sorted(dict.fromkeys(needles), key=lambda needle: (-len(needle), needle))
    parts = [re.escape(needle) if ends == _ANYWHERE else _build_word_pattern(needle, ends) for needle in distinct]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _build_word_pattern(needle: str, ends: str) -> str:
    """Return the pattern for *needle* where a spaced word begins with it; beside CJK characters a word ends anyway.

    A needle of one or two letters is a word by itself: "is" does not mark "island".
    """
    before = f"(?<!{_LETTER})" if re.match(_LETTER, needle) else ""
    is_wider = ends == _WIDENED and len(needle) > _SHORT
    after = "" if not re.match(_LETTER, needle[-1]) else f"{_LETTER}*+" if is_wider else f"(?!{_LETTER})"
    return before + re.escape(needle) + after


def _find_window_start(found: Sequence[tuple[int, int]], width: int, length: int) -> int:
    """Return where the window begins that holds most of the matches *found*, a quarter of it before the first."""
    if not found or length <= width:
        return 0
    first = max(found, key=lambda span: sum(span[0] <= s and e <= span[0] + width * 3 // 4 for s, e in found))[0]
    return max(0, min(first - width // 4, length - width))
