"""Words of two languages: normalise text, split it into terms, count 字, estimate tokens, split lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from kb.startup.lazy_regex import regex

FIRST_CJK = "\u2e80"
"""First character of the scripts written without spaces."""

_CJK = "(?:(?![\\x00-\u2e7f])\\w)"
"""A character of a script written without spaces: any letter or digit from U+2E80 on, where CJK begins.

Written as a negative lookahead because `re` compiles a range character by character and the excluded one is smaller.
That still takes half a millisecond, so hooks that only look for such characters use no pattern.
"""

_CJK_CHARACTER = regex(_CJK)
_RUN = regex(r"[^\W_]+(?:_[^\W_]+)*")
_ASCII_RUN = regex(r"[a-zA-Z0-9]+(?:_[a-zA-Z0-9]+)*")
"""The same for ASCII text, compiled in a tenth of the time; most prompts need no other."""
_WORD = regex(r"[^\W_]+(?:['’.\-_/][^\W_]+)*")
_HUMP = regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_GAP = regex(r"[\W_]+")
_INVISIBLE = regex(
    "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
"""Invisible characters and those that change the reading order; U+200C and U+200D belong to words and emoji."""

_HALF = regex("[\ud800-\udfff]")
_ITEM = regex(r"(?m)^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")
_CLOSERS = "(?:[\"'”’」』)）]++[*]*+)?+"
"""Closing quotes and brackets that belong to the sentence: 他说“停。”, *"Stop."*; not **Why.** alone."""


def _build_sentence_end(closers: str, opening: str = "", following: str = "") -> str:
    return (
        rf"{opening}(?<![!?])[!?]++{closers}(?=\s|{following}\Z)"
        r"|(?<!\b[eE]\.[gG])(?<!\b[iI]\.[eE])(?<!\b[vV][sS])(?<!\b[cC][fF])"
        rf"(?<!^\d)(?<!^\d\d)(?<!\.)\.++{closers}(?=\s|\Z)"
    )


_SENTENCE_END = _build_sentence_end(_CLOSERS, rf"[。！？]++{_CLOSERS}|", f"{_CJK}|")
"""No sentence ends inside “a != b”, the query of a URL or “v1.2.3”, nor after “e.g.” or a list number."""
_CONTINUED = r"(?!\s+[a-z])"
"""A lower-case letter after a full stop continues the sentence: “ie. its name”, “1. take a dump 2. stop”."""
_FIRST_END = regex(f"(?m){_SENTENCE_END}")
_ENDS = regex(f"(?m)(?:{_SENTENCE_END}{_CONTINUED})")
_ENDS_OR_BREAKS = regex(rf"(?m)(?:{_SENTENCE_END}{_CONTINUED}|；|;(?=\s|{_CJK}|\Z)|\n)")
_ASCII_SENTENCE_END = _build_sentence_end("(?:[\"')]++[*]*+)?+")
"""The same for ASCII text, as are the patterns built from it: compiled in a fifth of the time."""
_ASCII_FIRST_END = regex(f"(?m){_ASCII_SENTENCE_END}")
_ASCII_ENDS_OR_BREAKS = regex(rf"(?m)(?:{_ASCII_SENTENCE_END}{_CONTINUED}|;(?=\s|\Z)|\n)")
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))])
"""Names that Windows reserves, also with an extension."""

_PIECES = (
    (regex(r"[A-Z]?[a-z]+|[A-Z]{1,2}(?![a-z])"), 98),
    (regex(r"[a-z]{4}"), 23),
    (regex(r"[a-z]{20}"), 400),
    (regex(r"[0-9]{1,3}"), 152),
    (regex(r"[!-/:-@\[-`{-~]{1,2}"), 90),
    (regex(r"[ \t]{2,}"), 50),
)
"""Roughly the pieces into which a tokenizer cuts ASCII, with the tokens of each in hundredths (as below)."""

_LINE_ENDS = regex(r"\n+")
_NEW_LINES, _COMMON_CJK, _RARE_CJK, _OTHER = 125, 98, 222, 127
_BEYOND_ASCII = "\x80"
_COMMON = frozenset(
    "あいうえおかがきくけこさしすせそただちっつてでとどなにのはばまみめもやよらりるれわをんアィイウェエオカキクグコサ"
    "シジスセタッテデトドパフブプマムメュョラリルレロンー一万三上下不与专业东两个中串为主么义之也书了事二于五些交产京"
    "人今从他付代以们件价任份企优会传但位体何余作你使例供保信修值停像元先入全公共关其具内册再写出击分列则初利别到制前"
    "力功加务动動包化北区十华单南即历原去县参及反发取变口只可台右号司合同名后向否含启告员周命和品哈商器四回因国图土在"
    "地场址型城基報場填增处备复外多大天失头好如始子字存学安完定实客家容密对导将小少尔就局展山州工左已市布常平年并广序"
    "库应店度建开异式引张当录形影径待後得微心必志态思性总息您情意感成我或户所手打找技投报拉持指按换据排接推提播支收改"
    "放政效数整文料断新方族无日时明易星是時景更最月有服期未本机权束条来板构析果查标样核格案检模次止正此步段每比民水求"
    "江没治法注活流海消清游源点然片版物特率环现理生用由电画界登的监目直相省看真知码确示社票种科秒称移程空立站章端符第"
    "等签简算管箱类系素索约级线组经结给络统编网置老考者而联能自至色节英藏行表装西要见规视角解言計计认议记论设证评试话"
    "询该详语误说请读调象责败账购费资起超路身车转软载辑输达过运近还这进连述退送选通速造道邮部都配释里重量金钮链销错键"
    "长開間関门闭问间队阳陆限院除集需非面音页项预频题额首验高黑가간값개게경고과구그기나내는니다당대도동되된드들라래러"
    "력로료를름리만면문미번보복부분사산상색서성세소수스습시식아야어에여열오와요용우원위으은을음의이인일입자작장재전정"
    "제주지째치크터트하한할해호화환０１２３４５６７８９"
)
"""CJK characters that are one token in both vocabularies of the estimate; others are two or three."""

SEPARATOR = "xsepx"
"""A term between two unspaced runs, so that no phrase matches across the gap."""


def has_cjk(text: str) -> bool:
    """Return whether *text* has a Chinese, Japanese or Korean character."""
    return not text.isascii() and any(map(str.isalnum, filter(FIRST_CJK.__le__, text)))


def count_words(text: str) -> int:
    """Return the length of *text* in 字: each CJK character and each other word counts one, punctuation nothing."""
    if text.isascii():
        return len(_WORD.findall(text))
    spaced, cjk = _CJK_CHARACTER.subn(" ", text)
    return cjk + len(_WORD.findall(spaced))


def count_characters(text: str) -> int:
    """Return the length of *text* in characters, comparable in both languages, without punctuation and spaces.

    A CJK character counts one, any other letter or digit one half; the sum is rounded up. So “Use tabs for indentation”
    (11) and “缩进一律使用制表符” (9) come out about equal. Limits on titles and texts use this unit; the forms of a
    session use `count_words`, as their protocol says.
    """
    cjk = sum(map(str.isalnum, filter(FIRST_CJK.__le__, text)))
    return cjk + (sum(map(str.isalnum, text)) - cjk + 1) // 2


def estimate_tokens(text: str) -> int:
    """Estimate the model tokens of *text*, erring on the high side.

    Calibrated on the larger count of two published vocabularies (cl100k and that of Claude): `python -m bench.tokens`.
    """
    cents = _NEW_LINES * len(_LINE_ENDS.findall(text)) + sum(map(_estimate_line_cents, text.split("\n")))
    return -(-cents // 100)


@lru_cache(maxsize=1 << 12)
def _estimate_line_cents(line: str) -> int:
    """Return the tokens of one line in hundredths."""
    cents = sum(worth * len(pattern.findall(line)) for pattern, worth in _PIECES)
    if line.isascii():
        return cents
    cjk = [letter for letter in line if letter >= FIRST_CJK and letter.isalnum()]
    common = sum(map(_COMMON.__contains__, cjk))
    others = sum(map(_BEYOND_ASCII.__le__, line)) - len(cjk)
    return cents + _COMMON_CJK * common + _RARE_CJK * (len(cjk) - common) + _OTHER * others


def normalise(text: str) -> str:
    """Return *text* for comparison: NFKC, lower case, each run of punctuation and spaces replaced by one space."""
    return _GAP.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def fold_text(text: str) -> str:
    """Return *text* for a plain substring search: NFKC and case-folded."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def one_line(text: str) -> str:
    """Return *text* on one line: white space collapsed; control, bidi and zero-width characters removed.

    A lone surrogate becomes U+FFFD.
    """
    if not text.replace("\n", " ").isprintable():  # everything removed is unprintable; most texts have none of it
        text = _HALF.sub("\ufffd", _INVISIBLE.sub("", text))
    return " ".join(text.split())


def clip(text: str, limit: int) -> str:
    """Return *text* on one line, cut to *limit* characters, with "…" if something was cut."""
    line = one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


_IN_WORD = regex(r"[A-Za-z0-9]{2}")


def clip_at_word(text: str, limit: int) -> str:
    """Cut *text* like `clip`, but at the end of a word; Chinese, which has no spaces, at any character."""
    line = one_line(text)
    cut = clip(line, limit)
    if cut == line or not _IN_WORD.fullmatch(line[len(cut) - 2 : len(cut)]):
        return cut
    whole = cut.rstrip("…").rpartition(" ")[0].rstrip(" ,;:")
    return f"{whole}…" if 2 * len(whole) > len(cut) else cut


def extract_bigrams(text: str) -> list[str]:
    """Return the character bigrams of the normalised *text* in order; a single character is its own bigram."""
    letters = normalise(text).replace(" ", "")
    return [letters[i : i + 2] for i in range(len(letters) - 1)] or ([letters] if letters else [])


def iter_runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of *text* in order, each with a flag for an unspaced (CJK) run."""
    if text.isascii():
        yield from ((run, False) for run in _ASCII_RUN.findall(text))
        return
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if min(run) >= FIRST_CJK or max(run) < FIRST_CJK:
            yield run, run >= FIRST_CJK
            continue
        for is_unspaced, letters in groupby(run, FIRST_CJK.__le__):  # 用 redis_cache缓存: redis_cache, 缓存
            if part := "".join(letters).strip("_"):
                yield part, is_unspaced


def extract_run_terms(run: str) -> list[str]:
    """Return the index terms of one unspaced run: its bigrams, then its last character."""
    return [run[i : i + 2] for i in range(len(run) - 1)] + [run[-1]]


def extract_word_terms(word: str) -> list[str]:
    """Return the index terms of one spaced word: the word, and its parts if it is camelCase or snake_case."""
    if word.islower() and "_" not in word:  # true of most words
        return [word.casefold()]
    parts = [part.casefold() for part in _HUMP.split(word) if part]
    return [word.casefold()] if len(parts) < 2 else [word.casefold().replace("_", ""), *parts]


def build_index_terms(text: str) -> str:
    """Return *text* as the space-separated terms of the full-text index."""
    terms: list[str] = []
    unspaced_before = False
    for run, unspaced in iter_runs(text):
        # “数据库。缓存” does not contain the phrase “库缓”
        if unspaced and unspaced_before:
            terms.append(SEPARATOR)
        terms += extract_run_terms(run) if unspaced else extract_word_terms(run)
        unspaced_before = unspaced
    return " ".join(terms)


_UNINFLECTED = frozenset(
    ("this", "does", "its", "status", "access", "process", "address", "redis", "kubernetes", "https")
)


def strip_inflection(word: str) -> str:
    """Return the lower-case *word* without an English inflection: plural, -ed, -ing, a mute e.

    Unlike `stem`, used for ranking, it keeps “migrate” and “migration”, “user” and “use” apart. Statements are compared
    with it (with `stem` instead, bench.conflict loses two contradictions of the dev half).
    """
    if len(word) < 4 or word in _UNINFLECTED or not word.isascii():
        return word
    # “caches” and “cache” both become “cach”; “class” stays, since an s after an s is not a plural
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    # “dropped” → “dropp” → “drop”; “calling” keeps its “call”
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_LAST_OF_ENDINGS = frozenset("sngdery")
"""Last letters of the endings that `stem` removes."""


def stem(word: str) -> str:
    """Return the common stem of the lower-case English *word*: the same for cache, caches, cached, caching."""
    if word[-1:] not in _LAST_OF_ENDINGS:
        return word
    for ending in ("ations", "ation", "ating", "ated", "ates", "ate", "ings", "ing", "ions", "ion", "ers"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    for ending in ("ies", "ied", "es", "ed", "er", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def extract_ranking_terms(text: str) -> list[str]:
    """Return the ranking terms of *text*: stems of words and their parts, CJK bigrams and characters."""
    return collect_ranking_terms(iter_runs(text))


def collect_ranking_terms(runs: Iterable[tuple[str, bool]]) -> list[str]:
    """Return the ranking terms of a text already split by `iter_runs`."""
    terms: list[str] = []
    for run, unspaced in runs:
        if unspaced:
            terms += [run[i : i + 2] for i in range(len(run) - 1)]
            terms += run
        else:
            terms += _stem_word_parts(run)
    return terms


@lru_cache(maxsize=1 << 14)
def _stem_word_parts(word: str) -> tuple[str, ...]:
    """Return the stems of one spaced word and its parts; cached because texts repeat most of their words."""
    return tuple(map(stem, extract_word_terms(word)))


def slugify(title: str, limit: int = 48) -> str:
    """Return *title* as a part of a file name valid on every system: letters and digits joined by hyphens.

    *limit* counts characters and is at least 8; the part has at most twice as many bytes.
    """
    slug = normalise(title[: 20 * limit]).replace(" ", "-")[:limit]
    # a Chinese title has three bytes a character; some file systems take 255 bytes
    while len(slug.encode()) > 2 * limit:
        slug = slug[:-1]
    slug = slug.strip("-")
    return f"on-{slug}" if slug in _DEVICES else slug or "untitled"


def iter_sentence_spans(text: str, *, with_breaks: bool = True) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence of *text*, including its end mark, without surrounding spaces.

    With *with_breaks*, semicolons and line ends also separate sentences: “3.11 起生效；旧版不变。” is two.
    """
    start = 0
    breaks = _ASCII_ENDS_OR_BREAKS if text.isascii() else _ENDS_OR_BREAKS
    ends = (breaks if with_breaks else _ENDS).finditer(text)
    for end in (*(match.end() for match in ends), len(text)):
        if sentence := text[start:end].strip():
            first = text.index(sentence[0], start)
            yield first, first + len(sentence)
        start = end


def split_sentences(text: str, *, with_breaks: bool = True) -> list[str]:
    """Return the sentences of *text* as written; see `iter_sentence_spans`."""
    return [text[start:end] for start, end in iter_sentence_spans(text, with_breaks=with_breaks)]


def first_sentence(text: str, limit: int = 120) -> str:
    """Return the first sentence of *text* on one line, at most *limit* characters; any full stop may end it."""
    plain = one_line(_ITEM.sub("", text))[: limit + 2]  # a sentence that goes past this limit is cut anyway
    ends = (_ASCII_FIRST_END if plain.isascii() else _FIRST_END).finditer(plain)
    end = next((match.end() for match in ends if match.start() > 0), len(plain))
    return clip(plain[:end], limit)


# -- lines ----------------------------------------------------------------------------------------

_LINE_END = regex(r"\r\n|\n|\r")
_LINE = regex(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


def detect_newline(text: str) -> str:
    """Return the first line ending in *text*, or a line feed if there is none."""
    match = _LINE_END.search(text)
    return match.group() if match else "\n"


def normalise_newlines(text: str) -> str:
    """Return *text* with every line ending replaced by a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def find_line_number(text: str, offset: int) -> int:
    """Return the 1-based line number of *offset*."""
    return len(_LINE_END.findall(text[:offset])) + 1


def iter_line_numbers(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """Yield the 1-based line numbers of *offsets*, which are ascending line starts, in one pass."""
    at, line = 0, 1
    for offset in offsets:
        line += len(_LINE_END.findall(text, at, offset))
        at = offset
        yield line


def skip_line_end(text: str, offset: int) -> int:
    """Return the offset after the line end at *offset*."""
    return offset + (2 if text.startswith("\r\n", offset) else 1)


def split_lines(text: str) -> list[str]:
    """Split *text* after each line ending that Markdown recognises (not at form feeds and the like)."""
    return _LINE.findall(text)
