"""Find what a foreign decision record says of others: which it supersedes or amends, and which do so to it (see `adr`).

`adr_clauses` reads one sentence; here a file is cut into sentences, and its front matter, status, title and sections
are each read for what they are: a status speaks of its own record, an alternative of what was not done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from kb.adr.adr_clauses import (
    HEIR,
    MAX_GAP_CHARACTERS,
    MAX_VERBS,
    QUALIFIED,
    AdrClause,
    iter_spaced_links,
    list_objects,
    parse_clause,
)
from kb.adr.adr_grammar import (
    AND_WORDS,
    ASIDE,
    BESIDE,
    BESIDE_VERB,
    HYPOTHETIC,
    IN_PART,
    NEGATION,
    PART_BEHIND,
    RECORD_NOUNS,
    SECTION,
    SELF_WORDS,
)
from kb.adr.adr_text import REFERENCE, AdrLink, iter_references, quote_title
from kb.adr.adr_verbs import CHINESE_VERB, HERE_VERB, LAST_VERB, VERB, choose_relation, read_verb
from kb.adr.adr_words import RELATED_LABELS
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import split_lines

if TYPE_CHECKING:
    pass

# -- statements in prose --------------------------------------------------------------------------

_MARKUP = re.compile(r"^[ \t>]+|[*`]|(?<![\w])_+|_+(?![\w])")
_SENTENCE = re.compile(
    r"(?<=[.!?])\s+(?=[\[A-ZÀ-ÞА-Я*])(?![^\[\]]{0,200}\]\()|(?<=[。！？])\s*"
    r"|(?<!\s)\s++[|·•]\s++(?=[^\W\d_][\w -]{2,40}[:：])"
)
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]+")
_STATEMENT = re.compile(r"[ \t>]*(?:\*\*|__)?[A-Z][\w -]{2,40}(?::|\*\*|__| by )")
_LEAD_LABEL = re.compile(r"(?:#{1,6}[ \t]{1,4})?([^\W\d_][^\[\]\n:：|]{2,40})[:：]?")
_RELATED = re.compile(rf"(?i)(?:{RELATED_LABELS})\s{{0,3}}[:：|]\s{{0,3}}")
"""The name of a field whose words say themselves how the records are related."""
_NUMBERING = re.compile(r"^[^\w\[]*(?:\d+[.)]\s+)?")


def _strip_lead(sentence: str) -> str:
    """Return *sentence* without its number and the name of a field such as “Related:”."""
    plain = _NUMBERING.sub("", sentence, count=1)
    related = _RELATED.match(plain)
    return plain[related.end() :] if related else plain


def find_text_links(*texts: str, label: str = "", is_own: bool = False) -> tuple[AdrLink, ...]:
    """Return the links that the sentences of *texts* state; code says nothing. *label* is the heading over them."""
    found = dict.fromkeys(
        link
        for text in texts
        for paragraph in _iter_paragraphs(text, label if read_label(label) else "")
        for sentence in _split_sentences(paragraph)
        for link in _find_stated(_strip_lead(sentence), is_own=is_own)
    )
    return tuple(found)


def _find_stated(sentence: str, *, is_own: bool) -> Iterator[AdrLink]:
    find = _find_links if REFERENCE.search(sentence) else _find_titled_links
    yield from find(sentence, is_own=is_own)


def _split_sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of *paragraph*; “ADR-42. Superseded in part by …” is one, on another record."""
    before = ""
    for sentence in _SENTENCE.split(paragraph):
        subject = REFERENCE.match(before)
        yield f"{before[:-1]}: {sentence}" if subject and subject.end() == len(before) - 1 else sentence
        before = sentence.strip()


_TITLE = re.compile(r"[\"“„«「《]([^\"“”„«»「」《》\[\]]{4,120})[\"”“»」》]")
_FIELD = re.compile(r"([^\W\d_][^:：\[\]]{2,40})[:：]\s{0,3}([^\W\d_][^\[\]]{3,120}?)[.。]?\Z")
_MAX_TITLED_CHARACTERS = 240
_STANDING_IN = 90000
"""The number with which a sentence is read in place of a title."""


def _find_titled_links(sentence: str, *, is_own: bool) -> Iterator[AdrLink]:
    """Yield the links to records that *sentence* names by their titles alone: “Supersedes "Use a queue"”."""
    titles = _TITLE.findall(sentence) if len(sentence) <= _MAX_TITLED_CHARACTERS else []
    if titles and has_verb(sentence):
        numbers = iter(range(_STANDING_IN, _STANDING_IN + len(titles)))
        written = _TITLE.sub(lambda match: f"ADR-{next(numbers)}", sentence)
        for link in _find_links(written, is_own=is_own):
            if link.target.isdigit() and int(link.target) >= _STANDING_IN:
                yield link._replace(target=quote_title(titles[int(link.target) - _STANDING_IN]))
    elif (
        (field := _FIELD.fullmatch(sentence))
        and " " in field[2]
        and (said := read_label(field[1]))
        and not said.is_open
    ):
        yield said._replace(target=quote_title(field[2]))


def _find_links(sentence: str, *, is_own: bool = False) -> Iterator[AdrLink]:
    """Yield what *sentence* states, also as a note in an old record and as an exception from one that still holds."""
    if clause := parse_clause(sentence, is_own=is_own):
        stated = [*iter_spaced_links(clause), *_iter_verb_last_links(clause)]
        told = {link[:2] for link in stated}
        yield from (*stated, *(note for note in _iter_notes(clause) if note[:2] not in told))


def find_title_links(title: str) -> tuple[AdrLink, ...]:
    """Return the links that a *title* states: "Superseding ADR-017 for imports", "Partly undo ADR 109"."""
    return find_text_links(f"We {title[:1].lower()}{title[1:]}") or find_text_links(title, is_own=True)


_OF_LABEL = frozenset(
    "by of durch von par por da door przez av af the is are section sections part parts clause clauses portion portions"
    " adrs decisions records also in an a o la le el".split()
)
"""Words that a field may be called by beside its verb, besides those for the record itself."""


_LABEL_PART = re.compile(r"(?i)\s(?:sections?|parts?|clauses?|portions?)(?: of)?\b")


def read_label(words: str) -> AdrLink | None:
    """Return what a field or heading *words* says of the records below it, without their names; None where nothing.

    “Supersedes”, “superseded in part by”, “取代”, and not “Why the cache replaces the queue”.
    """
    plain = words.strip().rstrip(":：").strip()
    rest = VERB.sub("", plain)
    rest = rest if rest.isascii() else re.sub("被|由|本|部分", "", CHINESE_VERB.sub("", rest))
    known = (_OF_LABEL, SELF_WORDS, RECORD_NOUNS, BESIDE_VERB, AND_WORDS)
    others = [word for word in re.findall(r"\w+", rest.lower()) if not any(word in words for words in known)]
    if len(plain) > 60 or rest == plain or others:
        note = _NOTE.match(f"{plain}: \0")  # "Amendments"
        return AdrLink("amended_by", "1", True, True) if note and note.end() > len(plain) else None
    whole = _LABEL_PART.sub("", plain)
    found = next((one for end in (" ", ": ") for one in _find_links(f"{whole}{end}ADR-1")), None)
    return found._replace(in_part=True) if found and whole != plain else found


def has_verb(words: str) -> bool:
    """Return whether *words* have a verb for a relation."""
    return any(pattern.search(words) for pattern in (VERB, CHINESE_VERB, LAST_VERB))


def _iter_paragraphs(text: str, label: str = "") -> Iterator[str]:
    """Yield the paragraphs and list items of *text*, each on one line, without emphasis and quote marks.

    An item below a line that is only a label, such as “Supersedes:” or a heading, has that before it; *label* is the
    one of the section.
    """
    code = find_code_lines(text)
    rows: list[str] = []
    for number, line in enumerate([*split_lines(text), ""]):
        bare = _MARKUP.sub("", line).strip()
        # A list item, bold words and a field are statements of their own.
        begins = not bare or number in code or line.lstrip().startswith(("#", "|"))
        begins = begins or bool(_ITEM.match(line) or _STATEMENT.match(line))
        if begins and rows:
            said = " ".join(rows)
            if (lead := _LEAD_LABEL.fullmatch(said)) and (said.startswith("#") or said.endswith((":", "："))):
                label = lead[1] if read_label(lead[1]) else ""
            yield f"{label}: {said}" if label and (first := REFERENCE.search(said)) and first.start() <= 1 else said
            rows = []
        if bare and number not in code:
            mark = _ITEM.match(bare) if begins else None
            cells = [cell.strip() for cell in bare.strip("|").split("|")] if line.lstrip().startswith("|") else []
            if len(cells) > 1 and REFERENCE.search(line) and has_verb(cells[0]):  # a row of a table is a field
                bare = f"{cells[0]}: {' — '.join(filter(None, cells[1:]))}"
            elif len(cells) > 1 and REFERENCE.match(cells[0]):  # a row on another record
                bare = re.sub("[.;:—]", ",", ", ".join(filter(None, cells)))
            rows.append(bare[mark.end() :] if mark else bare)


# -- notes ----------------------------------------------------------------------------------------


_NOTE = re.compile(
    r"(?i)\W{0,9}(?:\d{4}-\d\d-\d\d\W{1,4})?(?:status )?(?:updated?|amendments?|amended|addend(?:um|a)|errat(?:um"
    r"|a)|corrigendum|corrections?|revis(?:ion|ed)"
    r"|postscript|superseding|evolution|nachtrag|nachträge|ergänzung|aktualisierung|korrektur|mise à jour|complément"
    r"|actualización|adenda|atualização|adendo|aggiornamento|aanvulling|aktualizacja|ewolucja|uzupełnienie|korekta"
    r"|обновление|дополнение|поправка|oppdatering|uppdatering|opdatering|tillegg|tillæg|tillägg|päivitys|aktualizace"
    r"|doplnění|güncelleme|更新|修订|修訂|补充|補充|后续[\u4e00-\u9fff]{0,4}|后来|勘误|追記|改訂|補足|업데이트|추가|수정)"
    r"(?: notes?)?(?:\s?\([^()\x00]{0,60}\))?"
    r"(?:\s{0,2}[:：,;—–(（*_~-]\s?|\s{0,2}\d|\s(?:by|from|on|in|of|via|per|durch|vom|par|du|de|del|przez|z|av|fra)\b"
    r"){1,4}"
    r"[^\w\x00]{0,6}(?:\d[\d./年月日 -]{3,12})?[^\w\x00]{0,6}"
    r"(?:(?:by|see|with|via|in|from|per|siehe|durch|voir|par|ver|véase|por|vedi|zie|patrz|zob|przez|см|se|av|viz|见|見"
    r"|參見|由|the|l)[^\w\x00]{1,3}){0,3}"
    r"[^\w\x00]{0,3}(?=\x00)"
)
"""A note in an old record: “Update 2023: see ADR-9”, “> **Aktualizacja 2026-07-09 (ADR-11):** …”."""
_HOLDS = re.compile(
    r"(?i)\b(?:still (?:holds|stands|applies|valid)|remains? (?:in force|in effect|valid|unchanged|accepted|in place)"
    r"|holds"
    r"|stands|stays|bleibt (?:\w{1,20} ){0,4}(?:gültig|in kraft|bestehen)|gilt weiter\w{0,3}|continues to \w{2,20}"
    r"|reste (?:en vigueur"
    r"|valable)"
    r"|sigue (?:vigente|siendo|gobernando)|continúa \w{2,20}|continua (?:válida|em vigor)|rimane valid[oa]"
    r"|blijft (?:\w{1,20} ){0,4}(?:geldig|van"
    r" kracht)|pozostaje w mocy|остаётся в силе|остается в силе|gäller fortfarande|gjelder fortsatt)\b"
    r"|仍然?有效|继续有效|保持有效|有効のまま"
)
_THIS = re.compile(r"(?i)\b(?:this|dies\w{0,2}|cett?e?|est[ae]|questa|deze|denne|denna)\s")
_EXCEPT = re.compile(
    r"(?i)\b(?:except(?: for| that)?|apart from|other than|with the exception of|save for|außer|abgesehen von|bis auf"
    r"|mit ausnahme|sauf|à l['’]exception|excepto|salvo|exceto|tranne|behalve|met uitzondering|z wyjątkiem|oprócz|poza"
    r"|кроме|за исключением|förutom|bortsett fra|bortset fra|undtagen)\b|除了?|以外|を除き"
)


def _iter_notes(clause: AdrClause) -> Iterator[AdrLink]:
    """Yield what changed this record by a note in it, and what it leaves in force but for an exception."""
    if note := _NOTE.match(clause.text):
        for one in list_objects(clause, note.end(), min(len(clause.text), note.end() + 200)):
            yield AdrLink("amended_by", one.target, True, True)
    holds = _HOLDS.search(clause.text)
    behind = clause.text[holds.end() :] if holds else ""
    is_changed = _THIS.search(behind) is not None and VERB.search(behind) is not None and not NEGATION.search(behind)
    if holds and (_EXCEPT.search(clause.text) or is_changed):
        named = clause.list_between(max(0, holds.start() - 60), holds.start())
        yield from (AdrLink("amends", one.target, True, True) for one in named[-1:])


def find_successor(text: str) -> tuple[AdrLink, ...]:
    """Return the one record that the *text* of a status names, where it says no more of it: “superseded, use ADR-9”."""
    targets = {one.target for one in iter_references(text)}
    return tuple(AdrLink("superseded_by", target) for target in targets) if len(targets) == 1 else ()


# -- languages without spaces between words, or whose verbs come last ------------------------------


def _iter_verb_last_links(clause: AdrClause) -> Iterator[AdrLink]:
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


_ZH_OF_IT = re.compile(
    r"了?(?:它|其|本|此|该|这一?)\s?(?:ADR|决策|决定|记录|文档|方案)?[^，。；\x00]{0,8}?的"
    r"(?:是|为|ADR|决策|决定|新|\s|[《*：:]){0,6}(?=\x00)"
)
"""“取代它的 ADR-9”."""
_ZH_LABEL = re.compile(r"\s?[*_]{0,2}\s?(?:ADR|决策|决定)?\s?[*_]{0,2}[:：]")


def _take_first(clause: AdrClause, kind: str, start: int) -> Iterator[AdrLink]:
    """Yield the first record behind *start* as the one that did to this one what the verb of *kind* says."""
    found = clause.list_between(start, start + MAX_GAP_CHARACTERS)[:1]
    yield from (AdrLink(choose_relation(kind, is_passive=True), one.target) for one in found)


def _iter_chinese_links(clause: AdrClause) -> Iterator[AdrLink]:
    text = clause.text
    for match in islice(CHINESE_VERB.finditer(text), MAX_VERBS):
        kind, form = read_verb(match)
        if form == "heir":
            if HEIR.match(text, match.end()):
                yield from _take_first(clause, kind, match.end())
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
        if (it := _ZH_OF_IT.match(text, match.end())) and "\x00" not in near:
            yield from _take_first(clause, kind, it.end())
            continue
        if near.endswith("被") and _ZH_LABEL.match(text, match.end()):
            yield from _take_first(clause, kind, match.end())
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
