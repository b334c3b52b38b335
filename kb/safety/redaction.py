"""Mask secrets and personal data before anything is stored, and remove private remarks.

The rules are in `kb.safety.secret_rules`, the search in `kb.safety.secret_search`. Masking repeats until a search finds
nothing, so masking the result again changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, islice

from kb.config import Masking
from kb.records.model import Candidate
from kb.safety.secret_rules import KEY_BLOCKS, RULES, SecretRule
from kb.safety.secret_search import (
    Area,
    SearchTask,
    SecretSpan,
    compile_private_word,
    find_secrets,
    prepare_text,
    select_rules,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Redaction(NamedTuple):
    """One place that was masked."""

    rule: str
    line: int  # 1-based line in the original text; in a candidate, in the text of the field
    field: str = ""  # The candidate's field, or "" for a plain text


def redact_text(text: str, masking: Sequence[str] | Masking = ()) -> tuple[str, tuple[Redaction, ...]]:
    """Return *text* with every secret as `[redacted:<rule>]`, and the redactions in the order of the text.

    *masking* is `Config.masking`, or only further regular expressions; raise BadInput for an invalid one.
    """
    return _mask_text(text, _build_search_task(masking))


def locate_secrets(text: str, masking: Sequence[str] | Masking = ()) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the rule of every place that `redact_text` would mask, in the order of *text*."""
    for found in _list_redactions(text, _find_spans(text, _build_search_task(masking))):
        yield found.line, found.rule


def redact_candidate(
    candidate: Candidate, masking: Sequence[str] | Masking = ()
) -> tuple[Candidate, tuple[Redaction, ...]]:
    """Return *candidate* with every text masked, including tags, claims and evidence, and the redactions."""
    found: list[Redaction] = []
    values: dict[str, Any] = {}
    fields = candidate._asdict()
    texts = "\n".join(_iter_texts(tuple(fields.values())))
    task = _build_search_task(masking)._replace(only=select_rules(prepare_text(texts)) or (-1,))
    for field, value in fields.items():
        places: list[Redaction] = []
        values[field] = value if field == "kind" else _mask_value(value, task, places)
        found += [masked._replace(field=field) for masked in places]
    return candidate._replace(**values), tuple(found)


def redact_json(value: object, masking: Sequence[str] | Masking = ()) -> Any:
    """Return a JSON *value* with every text masked; in an object, a value is masked as an assignment to its key."""
    return redact_value(value, masking)[0]


def redact_value(value: object, masking: Sequence[str] | Masking = ()) -> tuple[Any, set[str]]:
    """Return *value* (tuples, lists, mappings) masked as by `redact_json`, and the rules that matched."""
    found: list[Redaction] = []
    return _mask_value(value, _build_search_task(masking), found), {one.rule for one in found}


def _build_search_task(masking: Sequence[str] | Masking) -> SearchTask:
    words, kept = masking if isinstance(masking, Masking) else (masking, ())
    return SearchTask(tuple(SecretRule("private-word", (), compile_private_word(word)) for word in words), kept)


def _mask_text(text: str, task: SearchTask) -> tuple[str, tuple[Redaction, ...]]:
    spans = _find_spans(text, task)
    return _apply_masks(text, spans), _list_redactions(text, spans)


def _iter_texts(value: object) -> Iterator[str]:
    """Yield every text in *value*, and the assignments that its mappings stand for."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (f"{key}: {value[key]}" for key in value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _iter_texts(item)


def _mask_value(value: object, task: SearchTask, found: list[Redaction]) -> object:
    if isinstance(value, str):
        text, places = _mask_text(value, task)
        found += places
        return text
    if isinstance(value, Mapping):
        return {_mask_value(key, task, found): _mask_assignment(str(key), value[key], task, found) for key in value}
    if isinstance(value, tuple):
        items = [_mask_value(item, task, found) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    return [_mask_value(item, task, found) for item in value] if isinstance(value, list) else value


def _mask_assignment(key: str, value: object, task: SearchTask, found: list[Redaction]) -> object:
    """Return *value* masked like an assignment to *key*, because a key may mark its value as a secret."""
    if not isinstance(value, str):
        return _mask_value(value, task, found)
    text, places = _mask_text(f"{key}: {value}", task)
    if not text.startswith(f"{key}: "):
        return _mask_value(value, task, found)
    found += places
    return text[len(key) + 2 :]


# -- spans ----------------------------------------------------------------------------------------

_MAX_RESCANNED_CHARACTERS = (
    100_000  # Characters that may be searched again in any text; in a long one, twice its length more
)
_ROUND_COST = 8  # Minimum cost of another search as a part of the text, because the masks are applied to all of it
_MASK_REACH = 200  # Characters round a new mask in which it may uncover another secret


def _find_spans(text: str, task: SearchTask) -> list[SecretSpan]:
    """Return the disjoint places of *text* to mask, in order.

    A mask may uncover another secret: of adjacent keys without a gap, only the first is preceded by a boundary. So the
    text is searched again around each new mask, and finally everywhere. The cost is bounded; once a text has used it
    up, each further secret masks its whole line, then four, sixteen, … lines. A stretch of thousands of secrets is
    masked as one place from the beginning.
    """
    spans = _merge_overlapping(find_dense_secrets(text, task))
    now, left, lines, looks = _apply_masks(text, spans), _MAX_RESCANNED_CHARACTERS + 2 * len(text), 1, 0
    task = task._replace(only=()) if spans else task
    areas: list[Area] | None = None
    while True:
        found = _merge_overlapping(list(find_secrets(now, task, areas)))
        if not found and areas is None:
            return spans
        if found and left < 0:
            found, lines = _merge_overlapping(list(_widen_to_lines(found, now, lines))), 4 * lines
        left -= len(now) if areas is None else sum(end - start for start, end in areas) + len(now) // _ROUND_COST
        fresh = list(_map_to_original(found, spans))
        spans = _merge_overlapping([*spans, *fresh])
        now, looks = _apply_masks(text, spans), looks + 1
        areas = _find_rescan_areas(fresh, spans, len(now)) if fresh and looks > 1 else None
        task = task._replace(only=())  # a mask may contain a word that was not in the text


def _widen_to_lines(found: list[SecretSpan], text: str, lines: int) -> Iterator[SecretSpan]:
    """Yield *found*, each with its whole line and *lines* - 1 lines before and after it."""
    done = -1
    for span in found:
        start, end = span.start, span.end
        if end <= done:
            continue
        for further in range(lines):
            start = text.rfind("\n", 0, max(start - min(further, 1), 0)) + 1
            end = text.find("\n", end + min(further, 1))
            end = len(text) if end < 0 else end
        yield SecretSpan(start, end, span.rule)
        done = end


def _find_rescan_areas(fresh: list[SecretSpan], spans: list[SecretSpan], length: int) -> list[Area]:
    """Return the parts of the masked text (*length* characters) around those of *spans* with a *fresh* one."""
    starts = [span.start for span in spans]
    shifts = _compute_shifts(spans)
    areas: list[Area] = []
    for number in sorted({bisect_right(starts, span.start) - 1 for span in fresh}):
        start = starts[number] + shifts[number]
        end = min(start + len(_format_mask(spans[number].rule)) + _MASK_REACH, length)
        start = max(start - _MASK_REACH, 0)
        if areas and start <= areas[-1][1]:
            start = areas.pop()[0]
        areas.append((start, end))
    return areas


def _merge_overlapping(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Return *spans* with overlapping ones joined; the one of highest precedence (listed first) gives the name."""
    joined: list[tuple[int, SecretSpan]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            rule = span.rule if rank < best else last.rule
            joined[-1] = (min(best, rank), SecretSpan(last.start, max(last.end, span.end), rule))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _compute_shifts(applied: list[SecretSpan]) -> list[int]:
    """Return the offset shift before each of *applied*, and after the last one, when they are masked."""
    return [0, *accumulate(len(_format_mask(span.rule)) - (span.end - span.start) for span in applied)]


def _map_to_original(found: list[SecretSpan], applied: list[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield *found*, places in the text with *applied* masked, as places in the original text."""
    shifts = _compute_shifts(applied)
    starts = [span.start + shift for span, shift in zip(applied, shifts, strict=False)]
    for span in found:
        start, end = (place - shifts[bisect_left(starts, place)] for place in (span.start, span.end))
        yield SecretSpan(start, end, span.rule)


def _apply_masks(text: str, spans: list[SecretSpan]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], _format_mask(span.rule))
        end = span.end
    return "".join([*pieces, text[end:]])


def _format_mask(rule: str) -> str:
    return f"[redacted:{rule}]"


def _list_redactions(text: str, spans: list[SecretSpan]) -> tuple[Redaction, ...]:
    found: list[Redaction] = []
    line, at = 1, 0
    for span in spans:
        line += text.count("\n", at, span.start)
        at = span.start
        found.append(Redaction(span.rule, line))
    return tuple(found)


# -- crowds ---------------------------------------------------------------------------------------
# Checking thousands of adjacent assignments to secret names one by one takes seconds for a megabyte. If a few of them,
# sampled evenly, are secrets, the stretch is masked as one place with its whole lines, even if that is too much.

CROWD_SIZE = 2000  # Minimum number of adjacent assignments to sample
_MAX_GAP_CHARACTERS = 64  # Maximum characters between adjacent assignments
_SAMPLE_SIZE = 32  # Assignments to sample

_CHARACTERS_BEFORE, _CHARACTERS_BEHIND = 16, 200  # Characters of context before and after a sample

_NAMES = ("pass", "pwd", "secret", "token", "credential", "key", "密码", "密碼", "口令", "令牌", "密钥", "秘钥", "私钥")
_ASSIGNED = regex(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|key|密码|密碼|口令|令牌|密钥|秘钥|私钥)"
    r"[\"'`]?\s{0,2}[:=：＝]\s{0,2}[\"'`]?[^\s\"'`,;]{6}"
)
_KEY_BLOCKS = tuple(number for number, rule in enumerate(RULES) if rule in KEY_BLOCKS)


def find_dense_secrets(text: str, task: SearchTask) -> list[SecretSpan]:
    """Return the stretches of dense secrets in *text*, and secrets that extend from them into other lines."""
    if len(text) < CROWD_SIZE * 8 or sum(map(text.lower().count, _NAMES)) < CROWD_SIZE:
        return []
    crowds: list[list[re.Match[str]]] = [[]]
    for match in _ASSIGNED.finditer(text):
        if crowds[-1] and match.start() - crowds[-1][-1].end() > _MAX_GAP_CHARACTERS:
            crowds.append([])
        crowds[-1].append(match)
    spans: list[SecretSpan] = []
    for crowd in crowds:
        if len(crowd) >= CROWD_SIZE and (rule := _sample_rule(crowd, text, task)):
            # With their whole lines, the line before and the line after them
            start = text.rfind("\n", 0, max(text.rfind("\n", 0, crowd[0].start()), 0)) + 1
            end = text.find("\n", crowd[-1].end())
            end = text.find("\n", end + 1) if end >= 0 else end
            end = len(text) if end < 0 else end
            tail = (max(start, crowd[-1].start() - _CHARACTERS_BEHIND), end)
            spans += (SecretSpan(start, end, rule), *find_secrets(text, task, [tail]))
    if spans:  # the head of a key block or of a table may be in a line that is masked, and the rest below it
        spans += find_secrets(text, task._replace(private=(), only=_KEY_BLOCKS))
    return spans


def _sample_rule(crowd: Sequence[re.Match[str]], text: str, task: SearchTask) -> str:
    """Return the rule of a secret in *crowd*, or "" if less than half of the samples are secrets."""
    drawn = crowd[:: len(crowd) // _SAMPLE_SIZE]
    found: list[str] = []
    for match in drawn:
        # An assignment with what precedes it and the rest of its value
        rest = text[match.end() : match.end() + _CHARACTERS_BEHIND].split(None, 1)
        behind = rest[0] if rest and not text[match.end()].isspace() else ""
        assignment = text[max(0, match.start() - _CHARACTERS_BEFORE) : match.end()] + behind
        found += [span.rule for span in islice(find_secrets(assignment, task), 1)]
    return found[0] if 2 * len(found) >= len(drawn) else ""


# Private remarks, which people would not want to be stored. Their words also occur in business texts (“mortgage rates”,
# 工资模块), so a person must be mentioned next to them.
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
"""Replaces a private sentence in an archive."""
MAX_CHARACTERS = 20_000
"""Maximum characters of a text to check; a longer one is a document, not a personal remark."""


def is_private(sentence: str) -> bool:
    """Return whether *sentence* is about somebody's health, family, money or home, or about who is leaving.

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
    if _may_be_private(placeless):  # splitting a long text into sentences costs more than this check
        placeless = "".join(map(_mask_sentence, _SENTENCE_PART.findall(placeless)))
    return placeless + text[MAX_CHARACTERS:]


def _may_be_private(text: str) -> bool:
    """Return whether *text* has any word that a private sentence needs."""
    folded = text.casefold().replace("’", "'")
    return has_match((_PRIVATE,), folded) or compile_any((_LEAVES, _LIVES, _PRIVATE_ZH), 0).search(text) is not None


def _mask_sentence(part: str) -> str:
    """Return REMARK for a private sentence, with the white space around it."""
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
