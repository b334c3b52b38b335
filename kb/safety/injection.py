"""Detect prompt injection and hidden text: orders to an agent, and characters that hide from the eye.

Agents read records, candidates and transcripts written by many people. A text that only quotes orders to discuss them
gives none, and a joiner in an emoji or in Persian hides nothing. This is a filter, not a guarantee: text that passes it
is still only passed on as quoted data.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from kb.i18n import Message, msg
from kb.safety.injection_patterns import AGENT, OVERRULES, SIGN, SIGNS, WORD, WORDS, InjectionPattern
from kb.startup.lazy_regex import DOTALL, MULTILINE, regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import clip, iter_line_numbers

INSTRUCTION, COMMENT, HIDDEN = "instruction", "comment", "hidden"
_MAX_SHOWN_CHARACTERS = 60  # Characters of a text that a message repeats


class Threat(NamedTuple):
    """One untrustworthy place in a text."""

    kind: str  # instruction: it speaks to an agent; comment: prose that a page does not show; hidden: what nobody sees
    problem: Message  # What it does: a sentence whose subject is the text
    words: str  # The words, in lower case and without what hides in them, or the code of the character
    line: int  # 1-based


class _LocatedThreat(NamedTuple):
    """A threat and its offset in the text."""

    place: int
    kind: str
    problem: Message
    words: str


def find_threats(text: str) -> list[Threat]:
    """Return the threats in *text*, at most one of a kind per line; usually there are none."""
    shown = _normalise_text(text)
    found = [
        *_iter_threats(shown, [*_iter_instructions(shown), *_iter_comments(shown)]),
        *_iter_threats(text, _iter_hidden(text)),
    ]
    first = {(threat.line, threat.kind): threat for threat in reversed(found)}
    return [first[key] for key in sorted(first)]


def find_instruction(text: str) -> Threat | None:
    """Return the first place where *text* speaks to an agent, or None."""
    shown = _normalise_text(text)
    found = [*_iter_instructions(shown), *(found for found in _iter_comments(shown) if found.kind == INSTRUCTION)]
    return next(_iter_threats(shown, found), None)


def _iter_threats(text: str, found: Iterable[_LocatedThreat]) -> Iterator[Threat]:
    """Yield the threats *found* in *text*, in order, with their lines."""
    rising = sorted(found)
    for one, line in zip(rising, iter_line_numbers(text, (one.place for one in rising)), strict=True):
        yield Threat(one.kind, one.problem, clip(one.words, _MAX_SHOWN_CHARACTERS), line)


# -- what nobody sees -----------------------------------------------------------------------------

_EMOJI = "\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff"
_JOINED = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BIDI = "\u202a-\u202e\u2066-\u2069"
_MARKS = "\u061c\u200e\u200f"
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_INVISIBLE_CHARACTERS = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ANY = f"{_CONTROL}{_BIDI}{_MARKS}{_INVISIBLE_CHARACTERS}"
_SUSPECT = regex(f"[{_ANY}]")
_ORDINARY = regex(
    # What begins a file, holds an emoji, a word or a flag together, or says where a word may be cut.
    rf"\A\ufeff|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_JOINED}])[\u200c\u200d](?![{_ANY}])"
    rf"|(?<=[{_UNSPACED}])\u200b(?!\u200b)|(?<!\u00ad)\u00ad(?!\u00ad)"
    "|(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
    rf"|(?<=[^\sA-Za-z{_ANY}])[\ufe00-\ufe0f]|(?<=[{_IDEOGRAPH}])[\U000e0100-\U000e01ef]"
    r"|(?<=[\u1800-\u18af])[\u180b-\u180f]|(?<=[\u1100-\u11ff])[\u115f\u1160]|[\u115f\u1160](?=[\u1100-\u11ff])"
    r"|\u2800{1,80}(?=[\u2801-\u28ff])|(?<=[\u2801-\u28ff])\u2800{1,80}|(?<=[\u0300-\u036f\u0591-\u05c7])\u034f"
)
_KIND = regex(f"(?P<bidi>[{_BIDI}])|(?P<mark>[{_MARKS}])|(?P<control>[{_CONTROL}])|(?P<unseen>.)", DOTALL)
_RIGHT_TO_LEFT = regex(
    "[\u05d0-\u05f2\u0620-\u064a\u066e-\u06d3\u0700-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]"
)
_DIRECTION_REACH = 120  # So near to a mark of direction a letter of a script from the right makes it an ordinary one
_BREAK = regex("\r(?!\n)|[\u2028\u2029]")
_TAG = regex("[\U000e0020-\U000e007e]")  # Invisible copies of the characters of ASCII, in which a text can be smuggled

TURNS = msg("reverses the text direction, so that the line is displayed differently from what it says")
_PROBLEMS = {
    "bidi": TURNS,
    "mark": TURNS,
    "control": msg("has a control character"),
    "unseen": msg("has an invisible character"),
}
_LOOKALIKE = msg("mixes look-alike letters of different scripts")


def remove_invisible(text: str) -> tuple[str, int]:
    """Return *text* without illegitimate invisible and control characters, and their number.

    Bidirectional controls stay: without them the text may read differently from what its author saw.
    """
    parts, done, count = [], 0, 0
    for start, end, kind in _iter_hidden_runs(text):
        if kind in ("unseen", "control"):
            parts.append(text[done:start])
            done, count = end, count + end - start
    return "".join((*parts, text[done:])), count


def _iter_hidden_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each run of illegitimate invisible or bidirectional characters in *text*."""
    start = end = done = 0
    kind = ""
    for match in _SUSPECT.finditer(text) if not _is_all_shown(text) else ():
        place = match.start()
        if place < done:
            continue
        ordinary = _ORDINARY.match(text, place)
        done = ordinary.end() if ordinary else match.end()
        found = "" if ordinary else _classify_character(text, place)
        if found and kind and end == place:
            end = done
        elif found:
            if kind:
                yield start, end, kind
            start, end, kind = place, done, found
    if kind:
        yield start, end, kind


def _classify_character(text: str, place: int) -> str:
    """Return the kind of strange character at *place*, or "" for a direction mark in right-to-left text."""
    match = _KIND.match(text, place)
    kind = (match.lastgroup if match else None) or ""
    # U+200F is normal beside Hebrew or Arabic letters
    return (
        ""
        if kind == "mark" and _RIGHT_TO_LEFT.search(text, max(0, place - _DIRECTION_REACH), place + _DIRECTION_REACH)
        else kind
    )


def _iter_hidden(text: str) -> Iterator[_LocatedThreat]:
    for start, end, kind in _iter_hidden_runs(text):
        yield _LocatedThreat(start, HIDDEN, _PROBLEMS[kind], _format_code_points(text[start:end]))
    for word in _WORD.finditer(text) if _FOREIGN.search(text) else ():
        # Latin to the eye alone: "pаypal" with a Cyrillic а, but neither "PRы" nor "NFκB"
        foreign = [place for place, letter in enumerate(word[0]) if _FOREIGN.match(letter)]
        if foreign and all(word[0][n] in _ALIKE for n in foreign) and _LATIN.search(word[0], foreign[0]):
            yield _LocatedThreat(word.start(), HIDDEN, _LOOKALIKE, word[0])


def _format_code_points(run: str) -> str:
    codes = [f"U+{ord(letter):04X}" for letter in run]
    return " ".join(codes) if len(codes) < 4 else f"{codes[0]}…{codes[-1]} ×{len(codes)}"


def _replace_hidden(text: str, replace: Callable[[str], str]) -> str:
    parts, at = [], 0
    for start, end, _ in _iter_hidden_runs(text):
        parts += [text[at:start], replace(text[start:end])]
        at = end
    return "".join((*parts, text[at:]))


def reveal_hidden(text: str) -> str:
    """Return *text* with every invisible, bidirectional or terminal control character as its code: ⟨U+202E⟩."""
    return _BREAK.sub("\n", _replace_hidden(text, lambda run: f"⟨{_format_code_points(run)}⟩"))


def escape_hidden(text: str) -> str:
    """Return the JSON *text* with the characters that `reveal_hidden` shows as JSON escapes: it parses to the same."""

    def escape_run(run: str) -> str:
        codes = run.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{codes[n : n + 4]}" for n in range(0, len(codes), 4))

    # a line separator is harmless in JSON, but would break the line when printed
    return _replace_hidden(text, escape_run).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def strip_hidden(text: str) -> str:
    """Return *text* without any invisible characters, even legitimate ones."""
    return text if _is_all_shown(text) else _SUSPECT.sub("", text)


def _is_all_shown(text: str) -> bool:
    """Return whether *text* surely hides nothing, because it is plain ASCII."""
    return text.isascii() and text.replace("\n", " ").isprintable()


# -- letters that look alike ----------------------------------------------------------------------

# Cyrillic and Greek letters that look like Latin ones
_ALIKE = dict(
    zip("асԁеһіјӏорԛѕухԝАВСЕНІЈКМОРЅТХοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "acdehijlopqsyxwABCEHIJKMOPSTXoABEZHIKMNOPTYX", strict=True)
)
_LIKE = {"к": "k", "т": "t", "м": "m", "ѵ": "v", "ν": "v", "ι": "i", "υ": "u", "ρ": "p", "α": "a"}
_FOLDED = str.maketrans({**_ALIKE, **_LIKE})
_FOREIGN = regex("[\u0370-\u03ff\u0400-\u052f]")
_WORD = regex("[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f]+")
_LATIN = regex("[A-Za-z]")


def _normalise_text(text: str) -> str:
    """Return *text* as a model reads it: without hidden characters, letters folded, with the same lines."""
    if not text.isascii():
        text = _TAG.sub(lambda match: chr(ord(match[0]) - 0xE0000), text)
    text = strip_hidden(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.translate(_FOLDED) if _FOREIGN.search(text) else text
    if "&#" in text:
        from html import unescape

        text = unescape(text)
    return text.casefold()


# -- orders ---------------------------------------------------------------------------------------

# Who writes of such texts says why.
_ABOUT = regex(
    r"attack|inject|malicious|adversar|jailbreak|untrusted|hostile|exploit|payload|threat|phish|poison|smuggl|guardrail"
    r"|detect|filter|saniti[sz]e|block(?:s|ed|list)|flag(?:s|ged)|\bh(?:old|eld)\b|refus|reject|red.team|prevent"
    r"|defen[cds]|注入|攻击|恶意|越狱|威胁|对抗|不可信|投毒|检测|过滤|拦截|识别|防御|防止|拒绝|扣留"
)
# Precedes an order that is only reported, in a text about such orders.
_REPORTED = regex(
    r"(?<!you )(?<!have )(?<!need )(?:\b(?:to|that|which|may|might|could|can|cannot|would|will|not|never|of|like|says?"
    r"|said|or|and|as|with|from|to the agent)|(?:让|使|令|诱导|诱使|要求|试图|企图|指示|尝试|诸如|例如|比如|如|等|包含"
    r"|含有|含|出现|类似|的|是否)[^,，。\n]{0,8})[\s:,\"'“‘`(*]*\Z"
)
# The same at any place: "a page that instructs the model to …".
_SOMEBODY_TOLD = regex(
    r"\b(?:instruct|tell|ask|trick|convinc|caus|persuad|forc|induc|coerc|command"
    r"|lead)\w{0,5} (?:(?!you\b)[\w'-]+ ){1,5}to\s*\Z"
)
_CHARACTERS_BEFORE, _CHARACTERS_AFTER = 240, 160
_OPENING = {"“": "”", "‘": "’", "「": "」", "『": "』", "«": "»", "《": "》"}
_FENCE = regex(r"^[ >\t]{0,20}(?:```|~~~)", MULTILINE)
_INLINE = regex(r"`[^`\n]*`")
_ASCII_SIGNS = tuple(filter(str.isascii, SIGNS))
# every search word contains one of these letters
_ALONE = regex(r"[g略视记](?<=[ .\-_*].)[ .\-_*]")
_APART = regex(r"(?:(?<!\w)[^\W_][ .\-_*]{1,3}){5,}")
_CLOSED_UP = regex(
    r"(?:ignore|disregard|forget)(?:all|any|the|your|of)*(?:previous|prior|above|earlier)+(?:instruction|prompt|rule)"
    r"|(?:忽略|无视|忘记)(?:掉|你|所有|全部|一切)*(?:之前|以前|以上|前面|上面)(?:的|所有|全部)*(?:指令|指示|提示|规则)"
)


def _iter_instructions(shown: str) -> Iterator[_LocatedThreat]:
    """Yield the orders in *shown*, the first of each way of giving one."""
    found: set[str] = set()
    edges: list[int] | None = None
    for match, order in _match_patterns(shown):
        if order.problem.template in found:
            continue
        edges = _find_code_edges(shown) if edges is None else edges
        in_code = _is_in_code(edges, match.start())
        if (order.in_code or not in_code) and not _is_reported(shown, match, in_code):
            found.add(order.problem.template)
            yield _locate_threat(INSTRUCTION, order.problem, match.start(), match[0])
    # Spaced letters: "i g n o r e  a l l  p r i o r  r u l e s", 忽 略 之 前 的 指 令
    for match in _APART.finditer(shown) if _ALONE.search(shown) else ():
        closed_up = re.sub(r"[\W_]", "", match[0] + shown[match.end() : match.end() + 1])
        if _CLOSED_UP.search(closed_up):
            yield _locate_threat(INSTRUCTION, OVERRULES, match.start(), match[0])


def _match_patterns(shown: str) -> Iterator[tuple[re.Match[str], InjectionPattern]]:
    """Yield the matches in *shown* that read as an order, given or reported."""
    signs = SIGN.findall(shown) if not shown.isascii() else [sign for sign in _ASCII_SIGNS if sign in shown]
    for heads, table, there in ((WORD, WORDS, WORD.findall(shown)), (SIGN, SIGNS, signs)):
        # heads and required words rule out most patterns; matching at each word takes ten times as long
        possible = {
            word: [order for order in table[word] if not order.needs or any(part in shown for part in order.needs)]
            for word in table.keys() & {*there}
        }
        for head in heads.finditer(shown) if any(possible.values()) else ():
            for order in possible.get(head[0], ()):
                at = head.start()
                match = order.pattern.match(shown, at)
                if match and (order.before is None or order.before.search(shown[max(0, at - _CHARACTERS_BEFORE) : at])):
                    yield match, order


def _locate_threat(kind: str, problem: Message, place: int, words: str) -> _LocatedThreat:
    return _LocatedThreat(place + len(words) - len(words.lstrip()), kind, problem, words)


def _is_reported(shown: str, match: re.Match[str], in_code: bool) -> bool:
    """Return whether the order is only quoted or reported in a text about such orders."""
    start, end = match.span()
    near = shown[max(0, start - _CHARACTERS_BEFORE) : start]
    before = near[near.rfind("\n") + 1 :]
    if _SOMEBODY_TOLD.search(before[-_DIRECTION_REACH:]):
        return True
    if not _ABOUT.search(f"{near} {shown[end : end + _CHARACTERS_AFTER]}"):
        return False
    # Cells of a table count as quotes
    in_quotes = before.count('"') % 2 or before.count("`") % 2 or before.lstrip().startswith("|")
    is_open = any(before.rfind(opening) > before.rfind(closing) for opening, closing in _OPENING.items())
    return bool(in_code or in_quotes or is_open or _REPORTED.search(before))


def _find_code_edges(shown: str) -> list[int]:
    """Return the offsets where code starts and ends, alternating: fenced code, and backticks outside of it."""
    edges = [match.start() for match in _FENCE.finditer(shown)]
    edges += [len(shown)] * (len(edges) % 2)
    spans = [match.span() for match in _INLINE.finditer(shown) if not _is_in_code(edges, match.start())]
    return sorted([*edges, *(edge for span in spans for edge in span)])


def _is_in_code(edges: list[int], place: int) -> bool:
    return bisect_right(edges, place) % 2 == 1


# -- what a page does not show --------------------------------------------------------------------

_COMMENT = regex(
    r"<!--(?P<html>.*?)(?:-->|\Z)|^ {0,3}\[(?://|comment|#|\.|_)[^\]\n]{0,40}\]:[ \t]*(?:#"
    r"|<>)[ \t]+[\"'(](?P<link>[^\n]*)|<[a-z][^<>]{0,200}?(?:display\s?:\s?none|visibility\s?:\s?hidden"
    r"|font-size\s?:\s?0|opacity\s?:\s?0(?![.\d])"
    r"|color\s?:\s?(?:white|#fff|transparent)|\shidden(?=[\s/=>]))[^<>]{0,200}>(?P<style>[^<]*)",
    DOTALL | MULTILINE,
)
# every match contains one of these
_UNSEEN_SIGNS = ("<!--", "]:", "display", "visibility", "font-size", "opacity", "color", "hidden")
_LINK = regex(r"!?\[[^\[\]\n]*+\]\([^()\n]*+\)|https?://\S+")
_PROSE = regex(r"(?<!\S)[^\W\d_]{2,}[,.;:!?]*(?!\S)")
_IDEOGRAPHS = regex(f"[{_IDEOGRAPH}]")
_WORDS, _CHARACTERS = 4, 6  # So many words, or characters of Chinese, are prose
# Comments of tools, of templates and of authors to themselves.
_FOR_AUTHORS = regex(
    r"markdownlint|prettier|eslint|vale |cspell|spell|textlint|lint|gitleaks|nosec|noqa|pragma|spdx|licen[cs]e"
    r"|copyright|toc\b|generated|do not edit|(?:end|start|begin) of|todo|fixme|xxx\b|tbd|note to self|disable md\d"
    r"|optional|can vary|feel free|template|placeholder|if applicable|fill (?:in|out)|(?:remove|delete) (?:this|if|when"
    r"|the)|^\W*(?:describe|list|what|which|who|how|why|when|where|e\.g|for example|example|explain|provide|add|write"
    r"|state|summar|identify|see|cf\.?|link|reference|insert|replace|use this|this is|these are|here|you (?:may|might"
    r"|can))\b|可选|待补充|待定|待办|填写|说明|描述|示例|例如|如有|如适用|请补充|删除此|模板|在此|列出|参考|占位"
)
_SPEAKS_UNSEEN = msg("addresses an agent in text that a page does not show")
_UNSHOWN = msg("has prose in a comment that a page does not show")


def _iter_comments(shown: str) -> Iterator[_LocatedThreat]:
    if not any(sign in shown for sign in _UNSEEN_SIGNS):
        return
    edges: list[int] | None = None
    for match in _COMMENT.finditer(shown):
        edges = _find_code_edges(shown) if edges is None else edges
        words, start = _LINK.sub(" ", match[match.lastgroup or 0]), match.start(match.lastgroup or 0)
        is_prose = len(_PROSE.findall(words)) >= _WORDS or len(_IDEOGRAPHS.findall(words)) >= _CHARACTERS
        if not words.strip() or _is_in_code(edges, match.start()):
            continue
        if AGENT.search(words):
            yield _locate_threat(INSTRUCTION, _SPEAKS_UNSEEN, start, words)
        elif is_prose and not _FOR_AUTHORS.search(words.strip()):
            yield _locate_threat(COMMENT, _UNSHOWN, start, words)
