"""Read what a title or a sentence states: its duty, its terms, its numbers and its choice.

Two statements can then be compared piece by piece. Nothing is understood here: words are looked up in `lexicon`, English
by words and Chinese by the longest known word from each character on.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from kb.text import has_cjk, one_line
from kb.writing.lexicon import (
    HOLDERS,
    LABELS,
    NUMERALS,
    PLACES,
    REASONS,
    RIVAL_ROWS,
    SENSES,
    SETTERS,
    SLOTS,
    UNITS,
)

LONGEST_PHRASE = 4
"""Words of the longest English phrase in the lexicon."""
LONGEST_WORD = 5
"""Characters of the longest Chinese word in the lexicon."""
LONGEST_STATEMENT = 400
"""Characters that are read of one statement; what is longer is no rule but a story."""

_TOKEN = re.compile(r"(\d+(?:[.,:]\d+)*)|([^\W\d](?:\w|[.+#'-](?=\w)|[+#])*)|[,，;；、:：=/|&()（）%％]")
_UNSPACED = "\u2e80"
"""The first character of the scripts that are written without spaces."""
_NUMERAL = re.compile("[零一二两三四五六七八九十百千万]+(?=毫秒|秒|分钟|小时|个|天|日|周|星期|月|年|次|人|位|条|份|台|倍|层|级|轮|名)")
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_REASON = re.compile("|".join(re.escape(word) for word in REASONS.split("|")), re.IGNORECASE)
_MARKUP = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)|[*`]+|^\s*(?:[-+>]|\d+[.)])\s+|^#+\s+")
_QUESTION = re.compile(r"[?？吗呢]\s*$")
_NOT_AFTER_COMMA = re.compile(r"[,，]\s*(?=not\s)|[,，]\s*(?=(?:而不是|而非|不选|不采用))", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;])\s*|(?<=\.)\s+(?=[^\sa-z])|\n+")
_IMMUTABLE = frozenset({"this", "does", "its", "status", "access", "process", "address", "redis", "kubernetes", "https"})


class Word(NamedTuple):
    """One word of a statement."""

    mark: str
    """A mark of the lexicon, "term", "number", "comma", or "" for what has no weight."""
    text: str
    is_name: bool = False
    """True where it is written like the name of a product."""


class Number(NamedTuple):
    """A number with what it measures."""

    amount: str
    unit: str
    is_setting: bool
    """False where the number belongs to a name: phase 2, CentOS 7."""


class Choice(NamedTuple):
    """What a statement picks, for what, and what it turns down."""

    picked: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    role: frozenset[str] = frozenset()
    slot: str = ""
    """"any": the role takes one thing; "names": one product; "": it may take several."""
    are_names: bool = False


class Statement(NamedTuple):
    """What one sentence states."""

    text: str
    terms: tuple[str, ...] = ()
    """The words that carry weight, in order, each once, one word for all of a meaning; numbers and units left out."""
    duty: str = "must"
    """must, may, need not, must not; "" where the sentence says more than one."""
    is_explicit: bool = False
    numbers: tuple[Number, ...] = ()
    places: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    choice: Choice | None = None


def sentences(text: str) -> list[str]:
    """Return the sentences of *text* without markup of lists, emphasis, code and links."""
    parts = (_MARKUP.sub(r"\1", part) for part in _SENTENCE_END.split(text))
    return [line for line in (one_line(part) for part in parts) if line]


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Return what *text*, a title or one sentence, states; the reason it gives is left out."""
    if _QUESTION.search(text):
        return Statement(text, duty="")
    words = _without_units(list(_words(_without_reason(text))))
    terms = tuple(dict.fromkeys(word.text for word in words if word.mark in ("term", "undo")))
    duty, is_explicit = _duty(words)
    return Statement(
        text,
        terms,
        duty,
        is_explicit,
        tuple(_numbers(words)),
        PLACES & set(terms),
        frozenset(word.mark for word in words),
        _choice(words, duty),
    )


def under(title: str, sentence: str) -> Statement:
    """Return what *sentence* states under *title*: the title says about what."""
    head, body = statement(title), statement(sentence)
    duty = body.duty if (body.is_explicit and body.duty == head.duty) or not head.is_explicit else head.duty
    if body.is_explicit and head.is_explicit and body.duty != head.duty:
        duty = ""
    choice = body.choice
    if head.choice is None and choice and not choice.role:
        words = [word for word in _words(title) if word.mark == "term"]
        choice = choice._replace(role=frozenset(word.text for word in words), slot=_slot(words))
    elif head.choice is None and choice is None:
        choice = statement(f"{title}: {sentence}").choice
    return Statement(
        sentence,
        tuple(dict.fromkeys(head.terms + body.terms)),
        duty,
        head.is_explicit or body.is_explicit,
        tuple(dict.fromkeys(head.numbers + body.numbers)),
        head.places | body.places,
        head.marks | body.marks,
        choice,
    )


def number_amounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return the numbers in *text* with what they measure, sorted: 1 minute equals 60 秒."""
    return tuple(sorted((number.amount, number.unit) for number in statement(text).numbers))


# -- words ----------------------------------------------------------------------------------------


def _without_reason(text: str) -> str:
    plain = unicodedata.normalize("NFKC", one_line(text))[:LONGEST_STATEMENT].replace("’", "'")
    plain = _NOT_AFTER_COMMA.sub(" but ", plain)
    match = _REASON.search(plain)
    return plain[: match.start()] if match and match.start() > 3 else plain


def _words(text: str) -> Iterator[Word]:
    """Yield the words of *text*; phrases of the lexicon are one word."""
    unspaced = has_cjk(text)
    run: list[str] = []
    for match in _TOKEN.finditer(_parted(_NUMERAL.sub(lambda m: str(_numeral(m.group())), text))):
        number, word = match.groups()
        if word and word < _UNSPACED:
            run.append(word)
            continue
        yield from _spaced(run, unspaced)
        run = []
        if number:
            yield Word("number", number)
        elif word:
            yield from _unspaced(word)
        else:
            yield _punctuation(match.group())
    yield from _spaced(run, unspaced)


def _parted(text: str) -> str:
    """Return *text* with a space wherever a script with spaces meets one without."""
    if text.isascii():
        return text
    kinds = groupby(text, key=lambda character: character >= _UNSPACED)
    return " ".join("".join(characters) for _, characters in kinds)


def _punctuation(mark: str) -> Word:
    if mark in "%％":
        return Word("unit", "%")
    return Word(SENSES[mark][0], mark) if mark in SENSES else Word("comma", mark)


def _numeral(text: str) -> int:
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


def _spaced(run: list[str], among_unspaced: bool) -> Iterator[Word]:
    """Yield the words of a *run* of spaced words, the longest known phrases first."""
    at = 0
    while at < len(run):
        for size in range(min(LONGEST_PHRASE, len(run) - at), 0, -1):
            raw = " ".join(run[at : at + size])
            phrase = raw.casefold() if size > 1 else _folded(raw)
            if phrase in SENSES or size == 1:
                break
        yield _sense(raw, phrase, among_unspaced or (at > 0 and raw[0].isupper()))
        at += size


def _sense(raw: str, phrase: str, is_name: bool) -> Word:
    if phrase in SENSES:
        mark, text = SENSES[phrase]
        return Word(mark, text, is_name or text in RIVAL_ROWS)
    if phrase in NUMERALS:
        return Word("number", str(NUMERALS[phrase]))
    root = stem(phrase)
    mark, text = SENSES.get(root, ("term", root)) if len(root) > 3 else ("term", root)
    return Word("term", text if mark == "term" else root, is_name or any(c.isupper() for c in raw[1:]))


def _folded(word: str) -> str:
    plain = word.casefold()
    if plain in SENSES:
        return plain
    return plain.removesuffix("'s").replace("-", "").replace("_", "")


def stem(word: str) -> str:
    """Return *word* without its English ending; only for comparison, not for eyes."""
    if len(word) < 4 or word in _IMMUTABLE or not word.isascii():
        return word
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _unspaced(run: str) -> Iterator[Word]:
    """Yield the words of a Chinese *run*: the longest known word from each character on, else the character."""
    at = 0
    while at < len(run):
        for size in range(min(LONGEST_WORD, len(run) - at), 0, -1):
            piece = run[at : at + size]
            if piece in SENSES:
                mark, text = SENSES[piece]
                yield Word(mark, text, text in RIVAL_ROWS)
                break
        else:
            size = 1
            yield Word("term", run[at])
        at += size


# -- duty -----------------------------------------------------------------------------------------

_OPPOSITE = {"must": "must not", "may": "must not", "need not": "must", "must not": "must"}
_OFF = {"must": "must not", "must not": "must", "may": "need not", "need not": "may"}


def _duty(words: list[Word]) -> tuple[str, bool]:
    """Return what *words* oblige to, and whether they say so expressly; "" where they say two things."""
    marks = [word.mark for word in words]
    said = {mark for mark in marks if mark in ("must", "may", "need not")}
    explicit = bool(said & {"need not", "may", "must"}) or any(m in ("not", "off", "on", "undo") for m in marks)
    if len(said) > 1:
        return "", True
    duty = said.pop() if said else "must"
    for mark in marks:
        if mark == "not":
            duty = _OPPOSITE[duty]
        elif mark in ("off", "undo"):
            duty = _OFF[duty]
    return duty, explicit


# -- numbers --------------------------------------------------------------------------------------


def _numbers(words: list[Word]) -> Iterator[Number]:
    for at, word in enumerate(words):
        if word.mark != "number":
            continue
        after = words[at + 1] if at + 1 < len(words) else Word("", "")
        before = words[at - 1] if at else Word("", "")
        unit, factor = UNITS.get(after.text, ("", 1.0))
        label = before.text in LABELS
        setting = bool(unit) or before.mark in ("is", "to", "must") or before.text in SETTERS or after.text in SETTERS
        setting = setting or (after.mark == "term" and not before.is_name)
        setting = setting or (before.is_name and any(w.mark in ("use", "must") for w in words[: at - 1]))
        yield Number(_amount(word.text, factor), unit, setting and not label)


def _without_units(words: list[Word]) -> list[Word]:
    """Return *words* with the mark "unit" on those that say what the number before them counts."""
    return [
        word._replace(mark="unit") if at and words[at - 1].mark == "number" and word.text in UNITS else word
        for at, word in enumerate(words)
    ]


def _amount(digits: str, factor: float) -> str:
    plain = digits.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits) else digits
    return f"{float(plain) * factor:.10g}" if re.fullmatch(r"\d+(?:\.\d+)?", plain) else plain


# -- choice ---------------------------------------------------------------------------------------

_CUTS = frozenset({"use", "as", "as the", "for", "over", "is", "in", "to", "from", "comma", "order", "except"})


def _choice(words: list[Word], duty: str) -> Choice | None:
    """Return what *words* choose, or None where they choose nothing that can be told."""
    if any(word.mark in ("also", "besides", "except", "may", "need not") for word in words):
        return None
    sole = any(word.mark == "sole" for word in words)
    words = [word for word in words if word.mark in _CUTS or word.mark in ("term", "and", "number")]
    found = _moved(words) or _used(words) or _named(words)
    if found is None:
        return None
    if sole and found.role:
        found = found._replace(slot="any")
    if duty == "must not":
        return Choice(rejected=found.picked, role=found.role) if found.picked else None
    return found if duty == "must" else None


def _pieces(words: list[Word]) -> list[tuple[str, list[Word]]]:
    """Cut *words* at the marks that part a choice from its role."""
    pieces: list[tuple[str, list[Word]]] = [("", [])]
    for word in words:
        if word.mark in _CUTS:
            pieces.append((word.mark, []))
        else:
            pieces[-1][1].append(word)
    return pieces


def _moved(words: list[Word]) -> Choice | None:
    """Read "move Y from A to B", "Y 从 A 迁移到 B", "replace A with B", "用 B 替换 A"."""
    pieces = _pieces(words)
    marks = [mark for mark, _ in pieces]
    if "from" in marks:
        at = marks.index("from")
        after = next((i for i in range(at + 1, len(pieces)) if marks[i] in ("to", "use")), 0)
        if not after or not pieces[at][1] or not pieces[after][1]:
            return None
        role = [w for _, part in pieces[:at] + pieces[after + 1 :] for w in part if w.text not in _MOVING]
        return _made(pieces[after][1], _items(pieces[at][1]), role, "names")
    head = pieces[0][1]
    if head and head[0].text in ("replac", "replace") and len(pieces) > 1 and marks[1] in ("in", "use"):
        role = [w for _, part in pieces[2:] for w in part]
        return _made(pieces[1][1], _items(head[1:]), role, "names")
    return None


_MOVING = frozenset({"migrat", "mov", "switch", "chang", "迁移", "切换", "迁", "移"})


def _used(words: list[Word]) -> Choice | None:
    """Read "use X as Y", "use X over W for Y", "Y 采用 X", "用 X 做 Y"."""
    at = next((i for i, word in enumerate(words) if word.mark == "use"), None)
    if at is None:
        return None
    before = [word for word in words[:at] if word.mark in ("term", "and", "comma")]
    (_, picked), *tail = _pieces(words[at + 1 :])
    picked, rest = _split_name(picked)
    rejected: frozenset[str] = frozenset()
    role, slot = [*before, *rest], _slot(before or rest)
    for mark, part in tail:
        if mark == "over":
            part, rest = _split_name(part)
            rejected, part = _items(part), rest
        elif mark == "comma":
            break
        elif mark in ("as", "as the"):
            slot = "any" if mark == "as the" else slot or _slot(part) or "names"
        elif mark == "for" and part:
            slot = slot or _slot(part)
        role += part
    if not slot and len(picked) > 1 and _slot(picked[-1:]) and picked[0].is_name:
        picked, role, slot = picked[:-1], [*role, picked[-1]], _slot(picked[-1:])
    return _made(picked, rejected, role, slot)


def _named(words: list[Word]) -> Choice | None:
    """Read "X as Y", "Y: X", "Y is X", "X for Y", and "do Y in X"."""
    pieces = _pieces(words)
    if len(pieces) < 2:
        return None
    first, (mark, second) = pieces[0][1], pieces[1]
    rest = [word for _, part in pieces[2:] for word in part]
    if mark in ("as", "as the"):
        return _made(first, frozenset(), second + rest, "any" if mark == "as the" else _slot(second) or "names")
    if mark == "is" and len(pieces) == 2:
        return _made(second, frozenset(), first, _slot(first))
    if mark == "for":
        return _made(first, frozenset(), second + rest, "names" if _slot(second) else "")
    if mark == "over":
        return None
    last_mark, last = pieces[-1]
    if last_mark in ("in", "to") and last and all(word.is_name for word in last):
        return _made(last, frozenset(), [w for _, part in pieces[:-1] for w in part], "")
    return None


def _made(picked: list[Word], rejected: frozenset[str], role: list[Word], slot: str) -> Choice | None:
    """Return the choice; None where what is picked is nothing, or too long to be a thing."""
    things = [word for word in picked if word.mark == "term"]
    if not things or len(things) > 6 or any(word.mark == "number" and not things for word in picked):
        return None
    names = all(word.is_name for word in things) and len(things) <= 3
    return Choice(_items(picked), rejected, frozenset(w.text for w in role if w.mark == "term"), slot, names)


def _items(words: list[Word]) -> frozenset[str]:
    """Return the things *words* list, each as one phrase."""
    items: list[list[str]] = [[]]
    for word in words:
        if word.mark == "and":
            items.append([])
        elif word.mark == "term":
            items[-1].append(word.text)
    return frozenset(" ".join(item) for item in items if item)


def _split_name(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """Part a name that is written in Latin letters from the Chinese that follows it: "Alembic 管理迁移"."""
    if not words or not words[0].text.isascii():
        return words, []
    end = next((i for i, word in enumerate(words) if not word.text.isascii() or word.mark == "comma"), len(words))
    if end == len(words):
        return words, []
    return words[:end], words[end:]


def _slot(words: list[Word]) -> str:
    """Return what the last of *words* takes: "any" one thing, "names" one product, "" several."""
    terms = [word.text for word in words if word.mark == "term"]
    if not terms:
        return ""
    if terms[-1] in SLOTS or " ".join(terms[-2:]) in SLOTS:
        return "any"
    return "names" if terms[-1] in HOLDERS else ""
