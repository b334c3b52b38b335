"""A second look at a text: without what splits or disguises a token, with every place known in the text itself.

Characters that show nothing, colours of a terminal and a shell's line ends inside a word are left out; letters of full
width become plain ones. Chinese punctuation stays, as it ends a value.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

_DISGUISE = regex(
    r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+|\x1b\[[0-9;?]{0,20}[A-Za-z]|(?<=[\w.+/=-])\\\r?\n(?=[\w.+/=-])"
    r"|[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff1d\uff20\uff3f\uff0d\uff0e\uff0b\uff0f]+"
)
_FULL_WIDTH = regex(r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]{4}")


class DeobfuscatedText(NamedTuple):
    """A text as it reads without its disguise."""

    text: str
    starts: list[int]
    """Where a piece of it begins, rising."""
    pieces: list[tuple[int, int, bool]]
    """Start and end of each piece in the text itself, and whether it stands there as it is."""

    def map_start(self, place: int) -> int:
        """Return where in the text itself begins what begins at *place* of the view."""
        number = bisect_right(self.starts, place) - 1
        start, _, is_same = self.pieces[number]
        return start + place - self.starts[number] if is_same or place == self.starts[number] else start

    def map_end(self, place: int) -> int:
        """Return where in the text itself ends what ends at *place* of the view."""
        number = bisect_right(self.starts, place - 1) - 1
        start, end, is_same = self.pieces[number]
        return start + place - self.starts[number] if is_same else end


def deobfuscate_text(text: str) -> DeobfuscatedText | None:
    """Return *text* without its disguise; None where it has none."""
    if not _DISGUISE.search(text):
        return None
    folds = _FULL_WIDTH.search(text) is not None
    shown: list[str] = []
    starts: list[int] = []
    pieces: list[tuple[int, int, bool]] = []
    length = done = 0
    for match in _DISGUISE.finditer(text):
        instead = _replace_disguise(match, folds)
        for piece, start, end, is_same in (
            (text[done : match.start()], done, match.start(), True),
            (instead, match.start(), match.end(), len(instead) == len(match[0])),
        ):
            if piece:
                shown.append(piece)
                starts.append(length)
                pieces.append((start, end, is_same))
                length += len(piece)
        done = match.end()
    shown.append(text[done:])
    starts.append(length)
    pieces.append((done, len(text), True))
    whole = "".join(shown)
    return DeobfuscatedText(whole, starts, pieces) if whole != text else None


def _replace_disguise(match: re.Match[str], folds: bool) -> str:
    if not "\uff01" <= match[0][0] <= "\uff5e":
        return ""
    return "".join(chr(ord(char) - 0xFEE0) for char in match[0]) if folds else match[0]
