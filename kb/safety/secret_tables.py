"""Find the secrets in a table: what stands below a column that is called "password" or "token"."""

from __future__ import annotations

from collections.abc import Iterator

from kb.safety.randomness import has_letters_and_digits, is_name_like, is_plausible_value, is_random_looking
from kb.startup.lazy_regex import regex

_HEAD = regex(
    r"(?i)(?:[\w -]{0,30}[ _-])?(?:password|passwd|passphrase|pwd|secret|token|api[ _-]?key)"
    r"|[\u4e00-\u9fff]{0,6}(?:密码|口令|密钥|令牌)"
)
_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "密码", "口令", "密钥", "令牌")
_RULER = regex(r"[\s:=-]*")
_QUOTES = " \t\r\"'`*"
_LONGEST = 4000
"""Characters of a line that may be the head of a table."""


def find_table_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every value that stands below the name of a secret, in markdown, CSV or TSV."""
    lower = text.lower()
    if len(lower) != len(text) or not any(word in lower for word in _WORDS):
        return
    columns: tuple[int, ...] = ()
    mark, width, at = "", 0, 0
    for line in text.splitlines(keepends=True):
        cells = line.split(mark) if columns else []
        if columns and len(cells) == width:
            yield from _iter_secret_cells(cells, columns, at)
        else:
            mark, width, columns = _parse_header(line)
        at += len(line)


def _parse_header(line: str) -> tuple[str, int, tuple[int, ...]]:
    """Return what parts the cells of *line*, how many there are, and which are names of secrets."""
    if len(line) <= _LONGEST:
        for mark in "|\t,;":
            cells = line.split(mark)
            named = tuple(n for n, cell in enumerate(cells) if _HEAD.fullmatch(cell.strip().strip(_QUOTES)))
            if named and len(cells) > 1:
                return mark, len(cells), named
    return "", 0, ()


def _iter_secret_cells(cells: list[str], columns: tuple[int, ...], at: int) -> Iterator[tuple[int, int]]:
    for number, cell in enumerate(cells):
        value = cell.strip().strip(_QUOTES)
        if number in columns and _is_secret(value):
            start = at + cell.index(value)
            yield start, start + len(value)
        at += len(cell) + 1


def _is_secret(value: str) -> bool:
    if len(value) < 6 or " " in value or _RULER.fullmatch(value) or not is_plausible_value(value):
        return False
    return is_random_looking(value) or (has_letters_and_digits(value) and not is_name_like(value))
