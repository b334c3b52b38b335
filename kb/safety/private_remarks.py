"""Find private remarks, and leave them out of what is kept: health, family, money, a home, who is to leave.

What nobody would have written down, neither of himself nor of others. The words alone are a business's too (“mortgage
rates”, 工资模块): a person must stand beside them.
"""

from __future__ import annotations

import re
from functools import cache

from kb.startup.lazy_regex import regex

_ONE = (
    r"\b(?:i|i'm|i'll|i've|i'd|my|me|wife|husband|kids?|daughter|son|child|mum|mom|dad|mother|father|parents"
    r"|he|she|his|her)\b"
)
_PRIVATE = (
    r"\b(?:(?:see|to|at|from|my) (?:the |a |my )?(?:doctor|dentist|hospital)(?:'s)?\b|surgery|pregnant|therapist"
    r"|(?:am|is|'m|'s|be|feel|feeling|got|home|called in|off) (?:sick|ill)\b|fever|blood test|migraines?"
    r"|burn(?:ed|t)? ?out|depress(?:ed|ion)|chemo(?:therapy)?|(?:my|his|her) (?:salary|bonus|mortgage|rent|debts?"
    r"|pay rise|divorce|funeral|diagnosis|medication|job interview|notice period|parole)"
    r"|(?:parcel|package|delivery) (?:for|to) me|my (?:mobile|phone|cell)(?: number)?,? [\d+])"
)
_LEAVES = (
    r"\b(?:[A-Z][a-z]+|[Hh]e|[Ss]he|I) (?:may|might|will|wants to|is going to|plans to|is about to) "
    r"(?:be (?:let go|laid off)"
    r"|leave(?= (?:us|the (?:team|company|firm)|at the end of the (?:year|month)|next|soon)\b))"
    r"|\b(?:he|she|I) (?:quit|quits|resigned|resigns|will (?:quit|resign)|(?:got|was) (?:fired|laid off))(?!\w)"
)
_LIVES = (
    r"\b[A-ZÄÖÜ][\wäöüß-]{2,30}(?:str\.|straße|strasse|gasse|allee) ?\d{1,4}\b"
    r"|\b\d{1,5} [A-Z][a-z]{2,20} (?:Street|St\.|Road|Rd\.|Avenue|Ave\.|Lane|Drive)(?!\w)"
    r"|[\u4e00-\u9fff]{2}(?:路|街|巷|弄|大道)\d{1,5}(?:号|弄)"
)
_ONE_ZH = r"我(?!们)|本人|孩子|娃|老婆|老公|媳妇|爸|妈|父母|家里|家人|女儿|儿子|爷爷|奶奶"
_PRIVATE_ZH = (
    r"复查|看病|看医生|体检|住院|动?手术|发烧|感冒|生病|医院|怀孕|产检|确诊|化疗|抑郁|失眠|结石|牙医|吃药|吊水"
    r"|年终奖|奖金|工资|薪水|房贷|车贷|房租|欠债|加薪|降薪|跳槽|离职|辞职|裁员|离婚|相亲|葬礼|去世"
)
_SENTENCE_PART = regex(r"[^。！？!?\n.]*(?:[.](?!\s|$)[^。！？!?\n.]*)*[。！？!?.\n]?")
REMARK = "[redacted:personal]"
"""What stands in an archive for a sentence that is nobody's business."""
MAX_CHARACTERS = 20_000
"""Characters of a text that are looked at: what is longer is a document, and nobody's introduction."""


def is_private(sentence: str) -> bool:
    """Return whether *sentence*, said by a person, is of the health, family, money or home of somebody, or who leaves.

    "I have to see the doctor at four", 我下午要去复查胆结石; not "the mortgage rate is rounded", 工资模块要重构.
    """
    folded = sentence.casefold().replace("’", "'")
    if compile_any((_LEAVES, _LIVES), 0).search(sentence):
        return True
    if has_match((_PRIVATE,), folded) and has_match((_ONE,), folded):
        return True
    found = set(compile_any((_PRIVATE_ZH,), 0).findall(sentence))
    return bool(found) and (len(found) > 1 or compile_any((_ONE_ZH,), 0).search(sentence) is not None)


def mask_private_remarks(text: str) -> str:
    """Return *text*, said by a person, with REMARK for each sentence that `is_private`."""
    placeless = compile_any((_LIVES,), 0).sub(REMARK, text[:MAX_CHARACTERS])
    if _may_be_private(placeless):  # cutting a long text into sentences costs more than the look
        placeless = "".join(map(_mask_sentence, _SENTENCE_PART.findall(placeless)))
    return placeless + text[MAX_CHARACTERS:]


def _may_be_private(text: str) -> bool:
    """Return whether *text* has any word without which none of its sentences is private."""
    folded = text.casefold().replace("’", "'")
    return has_match((_PRIVATE,), folded) or compile_any((_LEAVES, _LIVES, _PRIVATE_ZH), 0).search(text) is not None


def _mask_sentence(part: str) -> str:
    """Return REMARK for what is private, with the white space round it."""
    if not is_private(part):
        return part
    lead, tail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
    return f"{lead}{REMARK}{tail}"


def has_match(patterns: tuple[str, ...], text: str) -> bool:
    """Return whether one of *patterns* matches somewhere in *text*."""
    return compile_any(patterns).search(text) is not None


@cache
def compile_any(patterns: tuple[str, ...], flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return the pattern that matches where one of *patterns* does; compiled once, at its first use."""
    return re.compile("|".join(patterns), flags)
