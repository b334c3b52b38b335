"""Read a sentence of a decision record in languages without spaces between words, or whose verbs come last.

Chinese, Japanese, Korean and Turkish: the same statements as `adr_clauses` finds in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kb.adr.adr_clauses import (
    ASIDE,
    BESIDE,
    HEIR,
    IN_PART,
    MAX_GAP_CHARACTERS,
    MAX_VERBS,
    PART_BEHIND,
    QUALIFIED,
    SECTION,
    AdrClause,
)
from kb.adr.adr_text import AdrLink
from kb.adr.adr_verbs import CHINESE_VERB, HERE_VERB, LAST_VERB, choose_relation, read_verb
from kb.adr.adr_words import HYPOTHETIC, NEGATION

# -- Chinese --------------------------------------------------------------------------------------


def iter_verb_last_links(clause: AdrClause) -> Iterator[AdrLink]:
    """Yield the relations that *clause* states of its own record in Chinese, Japanese, Korean or Turkish."""
    if not clause.text.isascii():
        yield from _iter_chinese_links(clause)
        yield from _iter_here_links(clause)
        yield from _iter_last_verb_links(clause)


# -- Chinese --------------------------------------------------------------------------------------

_ZH_BY = re.compile(r"(?P<part>部分)?(?:被|由)(?P<refs>[^。；;]{1,300}?)(?P<tail>部分|所)?\Z")
_ZH_LEAD = re.compile(
    r"(?:[\s:：了原旧的《*_]|之前|此前|早期|现有|决策|决定|记录|架构|ADR|adr|已|中|部分|全部|整个|关于|文档|以下)*\Z"
)
_ZH_SELF = re.compile(r"\W{0,3}(?:本|此|该|这|我们|新)")
_ZH_JOIN = re.compile(r"(?:[^\w]|且|并|並|而|同时|以|也|将|已|现|只|仅|部分|局部|从而|因此|故|即|予以|用于){1,24}")
_ZH_OF = re.compile(
    r"(?:对|對|針對|针对)\s?(?P<refs>\x00[^。；;]{0,80}?)(?:的|作|做|进行|進行|作出|做出)(?:了)?(?:局部|部分|进一步|一次)?\Z"
)


def _iter_chinese_links(clause: AdrClause) -> Iterator[AdrLink]:
    text = clause.text
    for match in islice(CHINESE_VERB.finditer(text), MAX_VERBS):
        kind, form = read_verb(match)
        if form == "heir":
            if HEIR.match(text, match.end()):
                found = clause.list_between(match.end(), match.end() + MAX_GAP_CHARACTERS)[:1]
                yield from (AdrLink(choose_relation(kind, is_passive=True), one.target) for one in found)
            continue
        left = text[max(0, match.start() - 300) : match.start()]
        stop = max(left.rfind(sign) for sign in "。；;（(") + 1
        left = left[stop:]
        comma = max(
            left.rfind("，"), left.rfind(","), left.rfind("：") if "\x00" not in left[left.rfind("：") :] else -1
        )
        near = left[comma + 1 :]
        if HYPOTHETIC.search(near) or NEGATION.search(near[-6:]):
            continue
        if (by := _ZH_BY.search(left)) and "\x00" in by["refs"] and "的" not in by["refs"].partition("\x00")[0]:
            head = left[: by.start()]
            if NEGATION.search(head[-3:]) or "\x00" in head[max(head.rfind("，"), head.rfind(",")) + 1 :]:
                continue
            start = match.start() - len(left) + by.start("refs")
            is_part = bool(by["part"] or by["tail"] == "部分" or "部分" in head[-12:])
            for one in clause.list_between(start, match.start()):
                yield AdrLink(choose_relation(kind, is_passive=True), one.target, is_part)
            continue
        if of := _ZH_OF.search(left):
            start = match.start() - len(left) + of.start("refs")
            for one in clause.list_between(start, match.start())[:1]:
                yield AdrLink(choose_relation(kind, is_passive=False), one.target, True)
            continue
        yield from _iter_chinese_active(clause, kind, near, match)


_ZH_THIS = re.compile(r"了?(?:本|此|该|这一?)\s?(?:ADR|决策|决定|记录|文档|文|方案)?")
_ZH_TO_THIS = re.compile(
    r"\s?(?:对|對)(?:本|此|该)\s?(?:ADR|决策|决定|记录|文档)?(?:作|做|进行|进行了|的|有)?[^，。；\x00]{0,6}\Z"
)
_ZH_HERE = re.compile(r"(?:本|此)\s?(?:ADR|决策|决定|记录|文档)?\s?(?:已|将|所|予以)?\Z")


def _iter_chinese_active(clause: AdrClause, kind: str, near: str, match: re.Match[str]) -> Iterator[AdrLink]:
    text = clause.text
    if "\x00" in near:
        named = clause.list_between(match.start() - len(near), match.start())
        behind = near[near.rfind("\x00") + 1 :]
        is_of_this = len(behind) < 12 and _ZH_THIS.match(text, match.end()) is not None
        if (is_of_this or _ZH_TO_THIS.fullmatch(behind)) and not NEGATION.search(behind):
            yield AdrLink(choose_relation(kind, is_passive=True), named[-1].target, "部分" in behind)
        elif _ZH_HERE.search(near) and not NEGATION.search(behind):
            yield AdrLink(choose_relation(kind, is_passive=False), named[-1].target)
        return
    found = clause.list_between(match.end(), min(len(text), match.end() + MAX_GAP_CHARACTERS))
    if not found or not _ZH_LEAD.fullmatch(text[match.end() : found[0].start]):
        return
    own = near.strip(" *_-—|：:")
    if own and not (_ZH_JOIN.fullmatch(own) or _ZH_SELF.match(own) or clause.is_own):
        return
    is_label = text[match.end() : match.end() + 2].strip(" *_")[:1] in (":", "：")
    if kind == "update" and not (is_label or clause.is_own or _ZH_SELF.match(own)):
        return
    lead = f"{near[-6:]}{text[match.end() : found[0].start]}"
    count = 1
    while count < len(found) and BESIDE.fullmatch(
        QUALIFIED.sub("", ASIDE.sub("", SECTION.sub("", text[found[count - 1].end : found[count].start])), count=1)
    ):
        count += 1
    for one in found[:count]:
        is_part = bool(IN_PART.search(lead)) or PART_BEHIND.match(text, one.end) is not None
        yield AdrLink(choose_relation(kind, is_passive=False), one.target, is_part)


_ELSEWHERE = re.compile(r"。|[）)]\s?[、,，]|yy")
"""Between a record and “this one changes …”: another sentence, or something else that is named."""


def _iter_here_links(clause: AdrClause) -> Iterator[AdrLink]:
    """Yield the records of which it is said behind them that this one acts on them: “ADR-3（本 ADR で改定）”."""
    for match in islice(HERE_VERB.finditer(clause.text), MAX_VERBS):
        kind, _ = read_verb(match)
        named = clause.list_between(max(0, match.start() - 100), match.start())
        behind = clause.text[match.end() : match.end() + 6]
        if not named or NEGATION.search(behind) or "\x00" in behind.lstrip("了 ")[:2]:
            continue
        between = clause.text[named[-1].end : match.start()]
        if not _ELSEWHERE.search(between) and not NEGATION.search(between[-3:]):
            yield AdrLink(choose_relation(kind, is_passive=False), named[-1].target, len(between) > 20, True)


# -- verbs behind their objects -------------------------------------------------------------------

_LAST_TAIL = re.compile(r"[\s」』)）*_]{0,3}(?:の[^。、を\x00]{1,40}(?=を)|의\s?[^.,을를\x00]{1,40}(?=[을를]))?")
_MAX_LEAD_CHARACTERS = 20
"""Characters before a record that a verb behind it speaks of: “本ADRは”."""


def _iter_last_verb_links(clause: AdrClause) -> Iterator[AdrLink]:
    for number, one in enumerate(clause.records):
        tail = _LAST_TAIL.match(clause.text, one.end)
        at = tail.end() if tail else one.end
        verb = LAST_VERB.match(clause.text, one.end) or LAST_VERB.match(clause.text, at)
        if verb is None:
            continue
        kind, form = read_verb(verb)
        behind = clause.text[verb.end() : verb.end() + 8]
        left = re.split(r"[、。，,(（:：—–]", clause.text[max(0, one.start - 60) : one.start])[-1]
        is_other = re.search(
            r"\x00[^、。]{0,20}(?:は|が|는|은|이|가)\s?\Z", clause.text[max(0, one.start - 40) : one.start]
        )
        if NEGATION.search(behind) or is_other or len(left.strip(" \x00")) > _MAX_LEAD_CHARACTERS:
            continue
        first = number
        while first and BESIDE.fullmatch(clause.text[clause.records[first - 1].end : clause.records[first].start]):
            first -= 1
        is_part = verb.start() > one.end + 3 or "一部" in verb.group()
        for each in clause.records[first : number + 1]:
            yield AdrLink(choose_relation(kind, is_passive=form == "ends_done"), each.target, is_part)
