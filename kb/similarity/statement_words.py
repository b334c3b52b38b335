"""Cut a title or a sentence into words that carry a meaning for the comparison of statements.

Words are looked up in `lexicon`: English by the longest phrase, Chinese by the longest known word from each character
on. Nothing is understood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from kb.similarity.lexicon import PHRASE_STARTS, RIVAL_ROWS, SENSES
from kb.similarity.word_marks import LABELS, NUMERALS, REASONS, SETTERS, UNITS
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, has_cjk, one_line, split_sentences, strip_inflection

LONGEST_PHRASE = 4
"""Words of the longest English phrase in the lexicon."""
LONGEST_WORD = 5
"""Characters of the longest Chinese word in the lexicon."""
LONGEST_STATEMENT = 400
"""Characters that are read of one statement; what is longer is no rule but a story."""

_TOKEN = regex(r"(\d+(?:[.,:]\d+)*)|([^\W\d](?:\w|[.+#'-](?=\w)|[+#])*)|[,，;；、:：=/|&()（）%％]")
_NUMERAL = regex(
    "[零一二两三四五六七八九十百千万]+(?=毫秒|秒|分钟|小时|个|天|日|周|星期|月|年|次|人|位|条|份|台|倍|层|级|轮|名)"
)
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_REASON = regex("|".join(re.escape(word) for word in REASONS.split("|")), re.IGNORECASE)
_MARKUP = regex(r"!?\[([^\[\]\n]*+)\]\([^()\n]*+\)|[*`]+|^\s*(?:[-+>]|\d+[.)])\s+|^#+\s+")
_ITEM_NUMBER = regex(r"(?:^|(?<=\s))\d{1,2}[.)、]\s*(?=\D)")
_QUESTION = regex(r"[?？吗呢]\s*$")
_NOT_AFTER_COMMA = regex(r"[,，]\s*(?=not\s)|[,，]\s*(?=(?:而不是|而非|不选|不采用))", re.IGNORECASE)


class Word(NamedTuple):
    """One word of a statement."""

    mark: str
    """A mark of MARKS, "term", "number", "unit", "comma", or "" for what has no weight."""
    text: str
    """The word that stands for it; of a number the amount in the measure of its unit, 60 for 1 minute."""
    is_name: bool = False
    """Whether it is written like the name of a product."""
    unit: str = ""
    """What a number measures: time, bytes, share or what is counted."""
    is_setting: bool = False
    """False for a number that belongs to a name: phase 2, CentOS 7."""
    lead: str = ""
    """In a clause, the mark of the word before where it leads a choice: use, in, is, …"""


_NO_WORD = Word("", "")


def split_plain_sentences(text: str) -> list[str]:
    """Return the sentences of *text* without markup of lists, emphasis, code and links."""
    parts = (_MARKUP.sub(r"\1", part) for part in split_sentences(_ITEM_NUMBER.sub("", text)))
    return [line for part in parts if (line := one_line(part))]


def is_question(text: str) -> bool:
    """Return whether *text* asks and so states nothing."""
    return _QUESTION.search(text) is not None


def tokenise(text: str) -> tuple[list[Word], list[Word]]:
    """Return the words of what *text*, a title or one sentence, states, and those of the reason it gives."""
    plain = unicodedata.normalize("NFKC", one_line(text))[:LONGEST_STATEMENT].replace("’", "'")
    plain = _NOT_AFTER_COMMA.sub(" but ", plain)  # “X, not Y” chooses as “X but not Y” does
    match = _REASON.search(plain)
    end = match.start() if match and match.start() > 3 else len(plain)
    unspaced = has_cjk(plain)
    said, reason = (list(_iter_words(part, unspaced)) for part in (plain[:end], plain[end:]))
    return mark_settings(_measure_numbers(said)), mark_settings(_measure_numbers(reason))


def _measure_numbers(words: list[Word]) -> list[Word]:
    """Return *words* with each number in the measure of the unit behind it, which is marked as its unit."""
    found: list[Word] = []
    for at, word in enumerate(words):
        if word.mark == "number":
            measure, factor = UNITS.get(words[at + 1].text if at + 1 < len(words) else "", ("", 1.0))
            word = Word("number", normalise_amount(word.text, factor), unit=measure)
        elif at and words[at - 1].mark == "number" and word.text in UNITS:
            word = word._replace(mark="unit")
        found.append(word)
    return found


def mark_settings(words: list[Word]) -> list[Word]:
    """Return *words*, of a statement or a clause, with each number marked that is a setting among them."""
    found = list(words)
    for at, word in enumerate(words):
        if word.mark == "number":
            before = words[at - 1] if at else _NO_WORD
            after = words[at + 1] if at + 1 < len(words) else _NO_WORD
            earlier = {word.mark for word in words[: max(at - 1, 0)]}
            found[at] = word._replace(is_setting=is_setting(before, after, earlier))
    return found


def is_setting(before: Word, after: Word, earlier: set[str]) -> bool:
    """Return whether a number is a setting (port 8000, 30 days, use Python 3.11), not a name (phase 2, CentOS 7)."""
    if before.text in LABELS:
        return False
    if after.text in UNITS or before.mark in ("is", "to", "must") or {before.text, after.text} & SETTERS:
        return True
    if after.mark == "term" and not before.is_name:
        return True
    return before.is_name and bool({"use", "must"} & earlier)


def normalise_amount(digits: str, factor: float) -> str:
    """Return what *digits* count, in the measure of which one is *factor*."""
    plain = digits.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits) else digits
    return f"{float(plain) * factor:.10g}" if re.fullmatch(r"\d+(?:\.\d+)?", plain) else plain


def _iter_words(text: str, has_unspaced: bool) -> Iterator[Word]:
    """Yield the words of *text*; phrases of the lexicon are one word."""
    run: list[str] = []
    for match in _TOKEN.finditer(_separate_scripts(_NUMERAL.sub(lambda m: str(_parse_numeral(m.group())), text))):
        number, word = match.groups()
        if word and word < FIRST_CJK:
            run.append(word)
            continue
        yield from _tokenise_spaced(run, has_unspaced)
        run = []
        if number:
            yield Word("number", number)
        elif word:
            yield from _tokenise_unspaced(word)
        elif (mark := match.group()) in "%％":
            yield Word("unit", "%")
        else:
            yield Word(SENSES[mark][0] if mark in SENSES else "comma", mark)
    yield from _tokenise_spaced(run, has_unspaced)


def _separate_scripts(text: str) -> str:
    """Return *text* with a space wherever a script with spaces meets one without."""
    if text.isascii():
        return text
    kinds = groupby(text, key=lambda character: character >= FIRST_CJK)
    return " ".join("".join(characters) for _, characters in kinds)


def _parse_numeral(text: str) -> int:
    """Return the value of a Chinese numeral up to 万."""
    total = section = digit = 0
    for character in text:
        if character == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        elif character in _POWERS:
            section, digit = section + (digit or 1) * _POWERS[character], 0
        else:
            digit = _DIGITS[character]
    return total + section + digit


def _tokenise_spaced(run: list[str], has_unspaced: bool) -> Iterator[Word]:
    """Yield the words of a *run* of spaced words, the longest known phrases first."""
    at = 0
    while at < len(run):
        longest = LONGEST_PHRASE if run[at].casefold() in PHRASE_STARTS else 1
        for size in range(min(longest, len(run) - at), 0, -1):
            raw = " ".join(run[at : at + size])
            phrase = raw.casefold() if size > 1 else _fold_word(raw)
            if phrase in SENSES or size == 1:
                break
        yield _resolve_sense(raw, phrase, has_unspaced or (at > 0 and raw[0].isupper()))
        at += size


def _resolve_sense(raw: str, phrase: str, is_name: bool) -> Word:
    if phrase in SENSES:
        mark, text = SENSES[phrase]
        return Word(mark, text, is_name or text in RIVAL_ROWS)
    if phrase in NUMERALS:
        return Word("number", str(NUMERALS[phrase]))
    root = strip_inflection(phrase)
    mark, text = SENSES.get(root, ("term", root)) if len(root) > 3 else ("term", root)
    return Word("term", text if mark == "term" else root, is_name or any(c.isupper() for c in raw[1:]))


def _fold_word(word: str) -> str:
    plain = word.casefold()
    return plain if plain in SENSES else plain.removesuffix("'s").replace("-", "").replace("_", "")


def _tokenise_unspaced(run: str) -> Iterator[Word]:
    """Yield the words of a Chinese *run*: the longest known word from each character on, else the character."""
    at = 0
    while at < len(run):
        sizes = range(min(LONGEST_WORD, len(run) - at), 1, -1)
        size = next((size for size in sizes if run[at : at + size] in SENSES), 1)
        mark, text = SENSES.get(run[at : at + size], ("term", run[at]))
        yield Word(mark, text, text in RIVAL_ROWS)
        at += size
