"""Cut a title or a sentence into words that carry a meaning for the comparison of statements.

Words are looked up in `lexicon`: English by the longest phrase, Chinese by the longest known word from each character
on. Nothing is understood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from kb.similarity.lexicon import NUMERALS, PHRASE_STARTS, REASONS, RIVAL_ROWS, SENSES, UNITS
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import has_cjk, one_line

LONGEST_PHRASE = 4
"""Words of the longest English phrase in the lexicon."""
LONGEST_WORD = 5
"""Characters of the longest Chinese word in the lexicon."""
LONGEST_STATEMENT = 400
"""Characters that are read of one statement; what is longer is no rule but a story."""

_TOKEN = regex(r"(\d+(?:[.,:]\d+)*)|([^\W\d](?:\w|[.+#'-](?=\w)|[+#])*)|[,，;；、:：=/|&()（）%％]")
_UNSPACED = "\u2e80"
"""The first character of the scripts that are written without spaces."""
_NUMERAL = regex(
    "[零一二两三四五六七八九十百千万]+(?=毫秒|秒|分钟|小时|个|天|日|周|星期|月|年|次|人|位|条|份|台|倍|层|级|轮|名)"
)
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_REASON = regex("|".join(re.escape(word) for word in REASONS.split("|")), re.IGNORECASE)
_MARKUP = regex(r"!?\[([^\[\]\n]*+)\]\([^()\n]*+\)|[*`]+|^\s*(?:[-+>]|\d+[.)])\s+|^#+\s+")
_QUESTION = regex(r"[?？吗呢]\s*$")
_NOT_AFTER_COMMA = regex(r"[,，]\s*(?=not\s)|[,，]\s*(?=(?:而不是|而非|不选|不采用))", re.IGNORECASE)
SENTENCE_END = regex(r"(?<=[。！？!?；;])\s*|(?<=\.)\s+(?=[^\sa-z])|\n+")
_WHOLE = frozenset(("this", "does", "its", "status", "access", "process", "address", "redis", "kubernetes", "https"))


class MarkedWord(NamedTuple):
    """One word of a statement."""

    mark: str
    """A mark of the lexicon, "term", "number", "comma", or "" for what has no weight."""
    text: str
    is_name: bool = False
    """True where it is written like the name of a product."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of *text* without markup of lists, emphasis, code and links."""
    parts = (_MARKUP.sub(r"\1", part) for part in SENTENCE_END.split(text))
    return [line for line in (one_line(part) for part in parts) if line]


def tokenise_statement(text: str, *, with_reason: bool = False) -> list[MarkedWord]:
    """Return the words of *text*, a title or one sentence, as far as the reason it gives or *with_reason*."""
    plain = unicodedata.normalize("NFKC", one_line(text))[:LONGEST_STATEMENT].replace("’", "'")
    found = list(_iter_words(plain if with_reason else _strip_reason(plain)))
    return [
        word._replace(mark="unit") if at and found[at - 1].mark == "number" and word.text in UNITS else word
        for at, word in enumerate(found)
    ]


def is_question(text: str) -> bool:
    """Return whether *text* asks and so states nothing."""
    return _QUESTION.search(text) is not None


def _strip_reason(plain: str) -> str:
    plain = _NOT_AFTER_COMMA.sub(" but ", plain)
    match = _REASON.search(plain)
    return plain[: match.start()] if match and match.start() > 3 else plain


def _iter_words(text: str) -> Iterator[MarkedWord]:
    """Yield the words of *text*; phrases of the lexicon are one word."""
    unspaced = has_cjk(text)
    run: list[str] = []
    for match in _TOKEN.finditer(_separate_scripts(_NUMERAL.sub(lambda m: str(_parse_numeral(m.group())), text))):
        number, word = match.groups()
        if word and word < _UNSPACED:
            run.append(word)
            continue
        yield from _tokenise_spaced(run, unspaced)
        run = []
        if number:
            yield MarkedWord("number", number)
        elif word:
            yield from _tokenise_unspaced(word)
        else:
            yield _resolve_punctuation(match.group())
    yield from _tokenise_spaced(run, unspaced)


def _separate_scripts(text: str) -> str:
    """Return *text* with a space wherever a script with spaces meets one without."""
    if text.isascii():
        return text
    kinds = groupby(text, key=lambda character: character >= _UNSPACED)
    return " ".join("".join(characters) for _, characters in kinds)


def _resolve_punctuation(mark: str) -> MarkedWord:
    if mark in "%％":
        return MarkedWord("unit", "%")
    return MarkedWord(SENSES[mark][0], mark) if mark in SENSES else MarkedWord("comma", mark)


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


def _tokenise_spaced(run: list[str], among_unspaced: bool) -> Iterator[MarkedWord]:
    """Yield the words of a *run* of spaced words, the longest known phrases first."""
    at = 0
    while at < len(run):
        longest = LONGEST_PHRASE if run[at].casefold() in PHRASE_STARTS else 1
        for size in range(min(longest, len(run) - at), 0, -1):
            raw = " ".join(run[at : at + size])
            phrase = raw.casefold() if size > 1 else _fold_word(raw)
            if phrase in SENSES or size == 1:
                break
        yield _resolve_sense(raw, phrase, among_unspaced or (at > 0 and raw[0].isupper()))
        at += size


def _resolve_sense(raw: str, phrase: str, is_name: bool) -> MarkedWord:
    if phrase in SENSES:
        mark, text = SENSES[phrase]
        return MarkedWord(mark, text, is_name or text in RIVAL_ROWS)
    if phrase in NUMERALS:
        return MarkedWord("number", str(NUMERALS[phrase]))
    root = stem(phrase)
    mark, text = SENSES.get(root, ("term", root)) if len(root) > 3 else ("term", root)
    return MarkedWord("term", text if mark == "term" else root, is_name or any(c.isupper() for c in raw[1:]))


def _fold_word(word: str) -> str:
    plain = word.casefold()
    if plain in SENSES:
        return plain
    return plain.removesuffix("'s").replace("-", "").replace("_", "")


def stem(word: str) -> str:
    """Return *word* without its English ending; only for comparison, not for eyes."""
    if len(word) < 4 or word in _WHOLE or not word.isascii():
        return word
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _tokenise_unspaced(run: str) -> Iterator[MarkedWord]:
    """Yield the words of a Chinese *run*: the longest known word from each character on, else the character."""
    at = 0
    while at < len(run):
        for size in range(min(LONGEST_WORD, len(run) - at), 0, -1):
            piece = run[at : at + size]
            if piece in SENSES:
                mark, text = SENSES[piece]
                yield MarkedWord(mark, text, text in RIVAL_ROWS)
                break
        else:
            size = 1
            yield MarkedWord("term", run[at])
        at += size
