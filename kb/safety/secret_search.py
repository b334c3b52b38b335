"""Find the places in a text with secrets or personal data.

The rules are in `kb.safety.secret_rules`. Patterns start at words that are searched first, and every repetition is
bounded, so a search takes linear time.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kb.errors import BadInput
from kb.i18n import msg
from kb.safety.secret_heuristics import has_letters_and_digits, is_name_like, is_plausible_value, is_random_looking
from kb.safety.secret_rules import NUMBER, RULES, RUN, SecretRule
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple


class SecretSpan(NamedTuple):
    """One place to mask, and its rule."""

    start: int
    end: int
    rule: str


Area = tuple[int, int]  # A part of a text: its start and its end

MASK = regex(r"\[redacted:[a-z0-9-]+\]")

# Characters at the end of a match in which another one may start; in longer ones looking again costs squared time
_MAX_OVERLAP_CHARACTERS = 400

# Characters after a word in which a rule that looks around it searches; what begins there is seen to its end
_LOOKAHEAD_CHARACTERS = 170

_NUMBERS = regex(r"[+(0-9][0-9 ().+-]{6,}")
_NUMBER_START = regex(r"(?:(?<![A-Za-z0-9_.+-])|(?<=\\[nrt]))(?=[+(]?[0-9][0-9 ().-]{6})")
_RUN = regex(r"[!-~]{16,}")
_REST = regex(r"\S*")


def _index_rules_by_word(*, in_run: bool) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return start word → numbers of its rules; most texts contain none, and need no further search."""
    rules: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        if rule.starts not in (NUMBER, RUN) and in_run == (rule.in_run and not rule.before):
            for word in rule.starts:
                rules.setdefault(word, []).append(number)
    return tuple((word, tuple(numbers)) for word, numbers in rules.items())


_ANYWHERE, _IN_RUNS = _index_rules_by_word(in_run=False), _index_rules_by_word(in_run=True)
_OF_RUNS = tuple(number for number, rule in enumerate(RULES) if rule.starts is RUN)
_OF_NUMBERS = tuple(number for number, rule in enumerate(RULES) if rule.starts is NUMBER)


class SearchTask(NamedTuple):
    """The rules to search for."""

    private: tuple[SecretRule, ...]  # The private words of the knowledge base, as rules
    kept: tuple[str, ...]  # The names of the disabled rules
    only: tuple[int, ...] = ()  # The numbers of the rules that can match at all, if known


class _PreparedText(NamedTuple):
    """A text with values that many rules need."""

    text: str
    lower: str
    areas: tuple[Area, ...]  # Where to search for words, runs and numbers
    runs: tuple[Area, ...]  # Where sixteen visible characters or more follow one another
    numbers: tuple[int, ...]
    places: dict[str, list[int]]  # Positions of each word; several rules start with the same one


def find_secrets(text: str, task: SearchTask, areas: Sequence[Area] | None = None) -> Iterator[SecretSpan]:
    """Yield the places to mask in *text*, in order of precedence, without those that touch a mask.

    With *areas*, sorted and disjoint, only matches that start in one of them, or around a word in one.
    """
    yield from _iter_rule_spans(text, task, areas)
    if areas is not None:
        return
    yield from (SecretSpan(start, end, "password") for start, end in find_table_secrets(text))
    if view := deobfuscate_text(text):
        wide = task._replace(only=())
        for span in _iter_rule_spans(view.text, wide, None):
            yield SecretSpan(view.map_start(span.start), view.map_end(span.end), span.rule)


def _iter_rule_spans(text: str, task: SearchTask, areas: Sequence[Area] | None) -> Iterator[SecretSpan]:
    masks = [match.span() for match in MASK.finditer(text)] if "[redacted:" in text else []
    starts = [start for start, _ in masks]
    seen = prepare_text(text, masks, areas)
    numbers = [n for n in select_rules(seen, task.only) if RULES[n].name not in task.kept]
    for rule in (*task.private, *(RULES[number] for number in numbers)):
        done = 0
        for match in _iter_matches(rule, seen):
            group = match.lastindex or 0
            start, end = match.span(group)
            before = bisect_right(starts, end - 1) - 1
            touches_mask = before >= 0 and masks[before][1] > start
            if done <= start < end and not touches_mask and rule.check(match, group):
                yield SecretSpan(start, end, rule.name)
                done = end


def prepare_text(text: str, masks: Sequence[Area] = (), areas: Sequence[Area] | None = None) -> _PreparedText:
    """Return *text* with the values that the rules need; words inside *masks* do not count."""
    lower = text.replace("İ", "I").lower()  # the only letter whose lower case is longer
    if masks:
        lower = MASK.sub(lambda mask: "-" * len(mask[0]), lower)
    areas = ((0, len(text)),) if areas is None else tuple(areas)
    runs = tuple([match.span() for area in areas for match in _RUN.finditer(text, *area)])
    zones = [match.span() for area in areas for match in _NUMBERS.finditer(text, *area)]
    numbers = tuple([match.start() for zone in zones for match in _NUMBER_START.finditer(text, *zone)])
    return _PreparedText(text, lower, areas, runs, numbers, {})


def select_rules(seen: _PreparedText, only: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the numbers of the rules, all or those of *only*, whose words are in the text."""
    if only:
        return tuple(n for n in only if n >= 0 and _can_match(RULES[n], seen))
    is_whole = seen.areas == ((0, len(seen.text)),)
    lower = seen.lower if is_whole else "\n".join([seen.lower[start:end] for start, end in seen.areas])
    found = {number for word, numbers in _ANYWHERE if word in lower for number in numbers}
    if seen.runs:
        visible = "\n".join([lower[start:end] for start, end in seen.runs])
        found |= {number for word, numbers in _IN_RUNS if word in visible for number in numbers}
        found.update(_OF_RUNS)
    if seen.numbers:
        found.update(_OF_NUMBERS)
    return tuple(sorted(found))


def _can_match(rule: SecretRule, seen: _PreparedText) -> bool:
    if rule.in_run and not seen.runs:
        return False
    if rule.starts is NUMBER:
        return bool(seen.numbers)
    return rule.starts is RUN or any(word in seen.lower for word in rule.starts)


def _iter_matches(rule: SecretRule, seen: _PreparedText) -> Iterator[re.Match[str]]:
    """Yield the matches of *rule*: from its starts, which is ten times faster than from every character."""
    text = seen.text
    if not rule.starts:
        yield from rule.pattern.finditer(text)
    elif rule.starts is RUN:
        for start, end in seen.runs:
            if end - start < rule.least or text.find(rule.holds, start, end) < 0:
                continue
            cut = text[end : end + 1].strip() and text[end].isascii()  # the area ends here, not the run
            found = rule.pattern.finditer(text, start, end)
            yield from (match for match in found if match.end() < end) if cut else found
    elif rule.before:
        for start, end in _iter_windows(_find_positions(rule.starts, seen), rule.before, text):
            yield from rule.pattern.finditer(text, start, end)
    else:
        done = 0
        for position in seen.numbers if rule.starts is NUMBER else _find_positions(rule.starts, seen):
            match = rule.pattern.match(text, position) if position >= done else None
            if match:
                yield match
                done = match.end() - _MAX_OVERLAP_CHARACTERS


def _iter_windows(positions: Sequence[int], before: int, text: str) -> Iterator[tuple[int, int]]:
    """Yield the disjoint parts of *text* round *positions*, each on one line and ending with a word."""
    start, end, is_joined = 0, -1, False
    for position, following in zip(positions, (*positions[1:], len(text) + before + 1), strict=False):
        if not is_joined:
            if position + _LOOKAHEAD_CHARACTERS <= end:
                continue
            first = max(position - before, 0)
            low = max(first, text.rfind("\n", first, position) + 1)
            if low > end >= 0:
                yield start, end
            start = low if low > end else start
        is_joined = following - before <= position and text.find("\n", position, following) < 0
        if is_joined:  # for positions this close together, search for the end only at the last
            end = max(end, position)
            continue
        line = text.find("\n", position, position + _LOOKAHEAD_CHARACTERS)
        rest = _REST.match(text, position + _LOOKAHEAD_CHARACTERS)
        end = line if line >= 0 else rest.end() if rest else len(text)
    if end >= 0:
        yield start, end


def _find_positions(words: Sequence[str], seen: _PreparedText) -> list[int]:
    """Return the positions of *words*, in order."""
    for word in words:
        if word not in seen.places:
            places = seen.places[word] = []
            for start, end in seen.areas:
                position = seen.lower.find(word, start, end)
                while position >= 0:
                    places.append(position)
                    position = seen.lower.find(word, position + 1, end)
    return sorted([position for word in words for position in seen.places[word]])


@functools.cache
def compile_private_word(pattern: str) -> re.Pattern[str]:
    """Compile a private word of the settings; raise BadInput if it is no regular expression."""
    try:
        return re.compile(pattern)
    except re.error as error:
        problem = msg("the private word {pattern} is no regular expression: {problem}", pattern=pattern, problem=error)
        raise BadInput(problem, hint=msg("correct private_words in kb.toml")) from None


# -- tables ---------------------------------------------------------------------------------------

_HEAD = regex(
    r"(?i)(?:[\w -]{0,30}[ _-])?(?:password|passwd|passphrase|pwd|secret|token|api[ _-]?key)"
    r"|[\u4e00-\u9fff]{0,6}(?:密码|口令|密钥|令牌)"
)
_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "密码", "口令", "密钥", "令牌")
_RULER = regex(r"[\s:=-]*")
_QUOTES = " \t\r\"'`*"
_MAX_HEAD_CHARACTERS = 4000  # Maximum characters of a line that may be a table header


def find_table_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every value below the name of a secret in a markdown, CSV or TSV table."""
    lower = text.lower()
    if len(lower) != len(text) or not any(word in lower for word in _WORDS):
        return
    columns: tuple[int, ...] = ()
    mark, width, at = "", 0, 0
    for line in text.splitlines(keepends=True):
        cells = line.split(mark) if columns else []
        if columns and len(cells) == width:
            start = at
            for number, cell in enumerate(cells):
                value = cell.strip().strip(_QUOTES)
                if number in columns and _is_secret(value):
                    yield start + cell.index(value), start + cell.index(value) + len(value)
                start += len(cell) + 1
        else:
            mark, width, columns = _parse_header(line)
        at += len(line)


def _parse_header(line: str) -> tuple[str, int, tuple[int, ...]]:
    """Return the cell separator of *line*, the number of cells, and which are names of secrets."""
    for mark in "|\t,;" if len(line) <= _MAX_HEAD_CHARACTERS else "":
        cells = line.split(mark)
        named = tuple(n for n, cell in enumerate(cells) if _HEAD.fullmatch(cell.strip().strip(_QUOTES)))
        if named and len(cells) > 1:
            return mark, len(cells), named
    return "", 0, ()


def _is_secret(value: str) -> bool:
    if len(value) < 6 or " " in value or _RULER.fullmatch(value) or not is_plausible_value(value):
        return False
    return is_random_looking(value) or (has_letters_and_digits(value) and not is_name_like(value))


# -- disguised text -------------------------------------------------------------------------------
# Remove what splits or disguises a token: invisible characters, terminal colours, a shell's line continuation inside a
# word. Full-width letters become ASCII. Chinese punctuation stays, because it ends a value.

_DISGUISE = regex(
    r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+|\x1b\[[0-9;?]{0,20}[A-Za-z]|(?<=[\w.+/=-])\\\r?\n(?=[\w.+/=-])"
    r"|[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff1d\uff20\uff3f\uff0d\uff0e\uff0b\uff0f]+"
)
_FULL_WIDTH = regex(r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]{4}")


class DeobfuscatedText(NamedTuple):
    """A text without disguises."""

    text: str
    starts: list[int]  # Start of each piece, ascending
    # Start and end of each piece in the original, and whether it is unchanged
    pieces: list[tuple[int, int, bool]]

    def map_start(self, place: int) -> int:
        """Map the start *place* of a match to its start in the original text."""
        number = bisect_right(self.starts, place) - 1
        start, _, is_same = self.pieces[number]
        return start + place - self.starts[number] if is_same or place == self.starts[number] else start

    def map_end(self, place: int) -> int:
        """Map the end *place* of a match to its end in the original text."""
        number = bisect_right(self.starts, place - 1) - 1
        start, end, is_same = self.pieces[number]
        return start + place - self.starts[number] if is_same else end


def deobfuscate_text(text: str) -> DeobfuscatedText | None:
    """Return *text* without disguises, or None if it has none."""
    if not _DISGUISE.search(text):
        return None
    folds = _FULL_WIDTH.search(text) is not None
    shown: list[str] = []
    starts: list[int] = []
    pieces: list[tuple[int, int, bool]] = []
    length = done = 0
    for match in (*_DISGUISE.finditer(text), None):
        start, end = match.span() if match else (len(text), len(text))
        instead = match[0] if match and "\uff01" <= match[0][0] <= "\uff5e" else ""
        if folds:
            instead = "".join(chr(ord(char) - 0xFEE0) for char in instead)
        for piece, first, last, is_same in (
            (text[done:start], done, start, True),
            (instead, start, end, len(instead) == end - start),
        ):
            if piece:
                shown.append(piece)
                starts.append(length)
                pieces.append((first, last, is_same))
                length += len(piece)
        done = end
    whole = "".join(shown)
    return DeobfuscatedText(whole, starts, pieces) if whole != text else None
