"""Find what a foreign decision record says of others: which it supersedes or amends, and which do so to it (see `adr`).

Only what has the record itself as its subject counts ("Superseded by …", "This ADR amends …", "被 … 取代"); a sentence
about other records is no link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from kb.adr.adr_text import REFERENCE, AdrLink, AdrReference, iter_references, may_relate
from kb.adr.adr_words import OF_WORDS, PART_WORDS, PLAIN_WORDS, RELATED_LABELS, RELATION_ENDINGS, RELATION_WORDS
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import split_lines

if TYPE_CHECKING:
    from typing import Any

# -- statements in prose --------------------------------------------------------------------------

_RELATIONS = {"supersede": ("supersedes", "superseded_by"), "amend": ("amends", "amended_by")}
"""What each verb states in the active and in the passive."""

_SELF = r"(?:this|the (?:present|current))\s+(?:adr|decision|record|document|proposal|rfc)(?:\s+record)?|this|it|we"
_PART_WORD = r"partial(?:ly)?|partly|in[- ]part"
_ADVERB = rf"(?:is|was|has been|are|also|now|hereby|therefore|{_PART_WORD}|deliberately|explicitly|fully|only)"
_ENGLISH = re.compile(
    rf"(?:(?:note|status|update|links?)\s*:\s*)?(?:if accepted,\s*)?(?:(?:{_SELF})\s+)?(?:{_ADVERB}\s+)*"
    r"(?:(?P<qualifier>[A-Z][a-z]{2,20}|(?:parts?|portions?|sections?|clauses?|decisions?|points?|D\d)\b[^:]{0,30}?)"
    r"\s+(?=(?:[a-z]{4,10}/)?(?:superseded|amended|replaced) by))?"
    r"(?:[a-z]+(?: [a-z]+)?\s?/\s?|(?:refined|narrowed|extended|clarified) and )?"
    r"(?P<verb>super[sc]e+de[sd]?|replace[sd]?|amend(?:s|ed)?|(?:invalidat|obsolet|overrul)ed|overridden)(?![\w])(?P<behind>.*)",
    re.IGNORECASE | re.DOTALL,
)
_BY = re.compile(
    rf"[\s-]{{1,4}}(?:(?:{_PART_WORD}|jointly|together|entirely|fully|wholly|completely|later|largely"
    rf"|for [^.\[\]]{{1,60}}?)[\s-]{{1,4}})?by\b|\s{{1,4}}when\s{{1,4}}(?=\[|ADR|DR)|\s{{0,4}}(?:→|⟶|➜|->|=>|⟵|←)"
    r"|[\s,;:.(—–-]{1,6}(?:please )?see(?: also)?\b|\s{1,4}in favou?r of\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"[\s:,]{0,4}(?:(?:on|as of|since|in)\s{1,4})?[(（]?\d{4}-\d\d-\d\d[)）]?,?"
    r"(?=\s{1,4}(?:(?:partially|partly|in part)\s{1,4})?by\b)"
    r"|\s{1,4}with(?=\s{1,4}(?:\[|ADR|DR))",
    re.IGNORECASE,
)
"""What may stand between the verb and its "by": “Superseded 2026-08-04 by ADR-23”."""
_IN_PART = re.compile(rf"(?i)\b(?:{_PART_WORD}|some (?:aspects|parts)|only|one clause)\b|部分")
_PART_OF = re.compile(
    r"(?i)^[\s:]{0,4}(?:only\s+|(?:these|the|a|one|two|some|its|that|decision|section|clause)\b).{0,120}"
    r"\b(?:of|in)(?:\s+(?:ADR|DR|decision|record))?[\s-]{0,4}$"
)
_PART_BEHIND = re.compile(
    r"['’]s\b|\s{1,9}in part\b|\s{1,9}on th(?:is|at|ese) (?:point|clause)s?\b"
    r"|,?\s{1,9}(?:decision )?(?:section|clause|point|amendment|option|rule|decision)s? \d|[\s\u4e00-\u9fff]{0,12}部分"
    r"|,?\s{0,9}\(?(?:§\s{0,9}|decisions? |D)\d|\s?\([^()\n]{0,80}\bonly\b|\s[^.;()\[\]\n]{1,60}\bonly\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s?\((?:[^()]|\([^()]*\))*\)|（[^（）]*）")
_SECTION = re.compile(r"\s?(?:§\s?[\d.]+|第[^节条章\[\]]{1,20}[节条章])")
"""What is in parentheses, those of a link left out: it does not end a list, as in "Amends: ADR-1 (why), ADR-2"."""
_QUOTE = re.compile(r"\"[^\"]{0,120}\"|“[^“”]{0,120}”")
_PLAIN_WORDS = re.compile(rf"(?i)\b(?:{PLAIN_WORDS})\b|\d{{4}}-\d\d-\d\d|[^\W_]{{1,2}}\b|[^\x00-\x7f]|\(\s*\)|[:,.()#]")
"""What may stand between “supersedes” and a record without making its object a part of that."""
_FOR = re.compile(r"\s{1,4}for [^.\[\]]{1,60}? by\b", re.IGNORECASE)
"""What a record no longer says: "superseded for the output layout by ADR 17" is a part."""
_PART_BY = re.compile(
    r"\S[^()（）\[\]]{0,40}?\s?(?P<verb>super[sc]eded?|replaced|amended|修订|取代)\s+by\s+(?P<refs>[^，。；]{1,200})",
    re.IGNORECASE,
)
"""A clause of a status whose subject is a part of the record: "端口约定部分 supersede by ADR-024"."""
_LABEL = re.compile(r"[\s-]{0,4}(?:by)?\s{0,4}[:：]", re.IGNORECASE)
_BY_THIS = re.compile(
    r"[\s:,*_|]{0,4}(?:[—–-]{1,2}\s|[(（]\s?(?:[^()（）\[\]\"“”]{0,80}?[—–,;]\s)?)?(?:is |was |now |partially ){0,3}"
    r"(?P<verb>superseded|replaced|obsoleted|amended|modified)[*_]{0,2}\s+"
    r"(?:by this\b|here\b|because\b|with this\b)"
    r"|\s?[(（:：|—–-]{1,2}\s?[^()（）\[\]\"“”]{0,80}?\b"
    r"(?:this|diese[rs]?|est[ae]|ce|cette) ?(?:adr|decision|record|entscheidung|decisión|décision)?\s+"
    r"(?:partially )?(?P<active>supersedes|replaces|obsoletes|amends|modifies|updates|ersetzt|ändert|reemplaza|remplace"
    r"|substitui)\b"
    r"|\s?[(（:：|—–-]\s?[^()（）\[\]]{0,120}?本\s?(?:ADR|决策|决定|記録|決定)\s?(?:已|将|所|により|によって|で|が|を)?"
    r"\s?(?P<here>取代|替代|替换|替換|修正|修订|修訂|改定|改訂|変更|置き換え|廃止)",
    re.IGNORECASE,
)
"""What stands behind a record that this one acts on: "[ADR-017](…) — superseded by this ADR", “（本 ADR で改定）”."""
_OF_THIS = re.compile(
    r"\s?(?:\([^()]{0,80}\)\s?)?(?:(?:now|has|have|later|since|also|then|subsequently|partially|partly)\s){0,3}"
    r"(?P<verb>supersed|replac|obsolet|amend|overrid|overrul|modif)(?:es|ed|s|ies|ied)\s"
    r"(?P<part>[^.;\[\]]{0,60}?\b(?:of|in)\s)?th(?:is|at) ?(?:adr|decision|record|one|document)?\b"
    r"|\s?(?:部分)?(?P<zh>取代|替代|替换|替換|修订|修訂|修正)了?(?:本|此)\s?(?:ADR|决策|记录|決策)?",
    re.IGNORECASE,
)
"""What stands behind a record that acts on this one: "ADR-027 replaces the persistence half of this decision"."""
_THE = re.compile(r"(?i)\bthe\s{0,4}$")
_NOUN_BEHIND = re.compile(r"\s[a-z]{3,}")
"""With `_THE` before the reference: "supersedes the ADR-0044 per-role tools" speaks of the tools."""
_SELF_ZH = r"(?:本\s?(?:ADR|决策|记录|决定|文档)|此决策|该决策)?\s*+(?:已|现)?(?:经)?\s*+"
_CHINESE_BY = re.compile(
    rf"{_SELF_ZH}(?P<part>部分)?\s*+(?:被|由)(?P<refs>.{{1,300}}?)(?P<tail>部分)?(?P<verb>取代|替代|替换|覆盖|覆蓋|推翻|修订|修正)",
    re.DOTALL,
)
_CHINESE = re.compile(
    rf"{_SELF_ZH}(?P<part>部分)?(?P<verb>取代|替代|替换|修订|修正)(?!者|方案|品)了?\s*[:：]?(?P<refs>.*)", re.DOTALL
)
_LEADS = re.compile(
    r"(?:(?:this|diese[rs]?|cette|ce|est[ae]|quest[ao]|deze|denne|dette|detta|tämä|ten|ta|это|本|此|该|この)\s{0,3}"
    r"(?:adr(?:-?e[nt])?|rfc|decision|record|entscheidung|décision|decisión|decisão|decisione|beslissing|beslutning(?:en)?"
    r"|beslut(?:et)?|päätös|decyzja|решение|决策|记录|決定)\s{0,3})?"
    rf"(?P<part>(?:{PART_WORDS})\s{{0,3}})?"
    r"(?:(?:also|now|hereby|auch|aussi|también|também|is an?|is|was|has been|wird|wurde|est|a été|es|fue|queda|ha sido"
    r"|foi|é|è stat[oa]|werd|был[аои]?|jest|został[aoy]?)\s{1,3})?(?:"
    + "|".join(f"(?P<{relation}>{words})" for relation, words in RELATION_WORDS.items())
    + rf")了?(?P<late>\s(?:{PART_WORDS}))?(?:\s?[:：]|\b)\s{{0,3}}"
    r"(?:(?:and|und|the|den|die|das|la|el|le|adr|decision|decisions|in)\s{1,3}){0,3}",
    re.IGNORECASE,
)
_OBJECT_OF = re.compile(rf"\s?(?:[^.;:!?()\[\]—]{{1,100}}\s)(?:{OF_WORDS})\s{{0,3}}(?:l['’])?", re.IGNORECASE)
"""What an active verb acts on where that is a part of the record behind it: “Herziet de clausule uit ADR-5”."""
_ENDS = re.compile("|".join(f"(?P<{relation}>{words})" for relation, words in RELATION_ENDINGS.items()))
_BESIDE = re.compile(r"[\s*_]{0,4}(?:(?:,|，|、|&|and|und|et|y|e|en|と|및|和|与)[\s*_]{0,4}){1,2}")
"""Between two records that one verb speaks of."""
_VERB = re.compile(
    rf"super[sc]|replace|amend|取代|替代|替换|修订|修正|overridden|overruled|obsoleted|invalidated"
    rf"|{'|'.join((*RELATION_WORDS.values(), *RELATION_ENDINGS.values()))}",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"^[ \t>]+|[*`]|(?<![\w])_+|_+(?![\w])")
_SENTENCE = re.compile(
    r"(?<=[.!?])\s+(?=[\[A-ZÀ-ÞА-Я*])(?![^\[\]]{0,200}\]\()|(?<=[。；！？;])\s*"
    r"|(?<!\s)\s++[|·•]\s++(?=[^\W\d_][\w -]{2,40}[:：])"
)
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]+")
_STATEMENT = re.compile(r"[ \t>]*(?:\*\*|__)?[A-Z][\w -]{2,40}(?::|\*\*|__| by )")
_REMARK = re.compile(
    r"(?i)[(（;]|\b(?:because|which|whose|while|but|as|see|under|per|from|with|by adding|alongside|unlike|than"
    r"|introduced)\b"
)
MAX_GAP_CHARACTERS = 160
"""Characters between a verb and the record it speaks of; farther away it speaks of something else."""


MAX_LEAD_CHARACTERS = 20
"""Characters before a record that a verb behind it speaks of: “本ADRは”."""


def find_text_links(*texts: str, label: str = "") -> tuple[AdrLink, ...]:
    """Return the links that the sentences of *texts* state; code says nothing. *label* is the heading over them."""
    return tuple(
        link
        for text in texts
        if may_relate(f"{label} {text}")
        for paragraph in _iter_paragraphs(text, label if _is_label(label) else "")
        if may_relate(paragraph) and REFERENCE.search(paragraph)
        for sentence in _SENTENCE.split(paragraph)
        for link in _iter_sentence_links(sentence)
    )


_EXTENDED_BY = re.compile(
    r"(?i)\b(?:extended|refined|clarified|narrowed|amended|revised)[\s-]+(?:by[:：]?\s+|(?:on\s+)?\d{4}-\d\d-\d\d\s*(?:by\s+|[(（]\s*))"
    r"(?P<refs>(?:(?:\[[^\[\]]{1,200}\]\([^()\s]{1,300}\)|(?:ADR|DR)[- #]?\d{1,5})(?:\s*(?:,|and|&)\s*)?){1,9})"
)
"""“Extended by ADR-7”, “Amended 2024-03-05 (ADR-7)” in the header of a record."""
_ACTING = re.compile(r"(?i)\A\W{0,9}[^\W\d_]{5,14}\W{1,6}((?:supersedes|replaces|amends|obsoletes)\s[^\n]{1,400})")
_STATUS_CLAUSE = re.compile(r"\s[—–-]{1,2}\s|[;；·•|。（]|\.\s|\s\((?!http)")


def find_status_links(text: str, header: str = "") -> tuple[AdrLink, ...]:
    """Return the links that the clauses of a status state: "Accepted — D4 superseded by ADR-90, amended by ADR-95".

    Of the *header* around it only what extended the record counts.
    """
    plain, whole = (
        " ".join(_MARKUP.sub("", line).strip() for line in split_lines(part)) for part in (text, f"{text}\n{header}")
    )
    found = [
        AdrLink("amended_by", one.target)
        for match in _EXTENDED_BY.finditer(whole)
        if not REFERENCE.search(re.split(r"[.;—–(（]\s?", whole[max(0, match.start() - 300) : match.start()])[-1])
        for one in iter_references(match["refs"])
    ]
    for clause in _STATUS_CLAUSE.split(plain)[1:] if may_relate(plain) else ():
        links = tuple(_iter_sentence_links(clause.strip()))
        if not links and (part := _PART_BY.match(clause.strip())):
            relation = _RELATIONS["amend" if part["verb"][0] in "aA修" else "supersede"][True]
            links = tuple(AdrLink(relation, one.target, True) for one in iter_references(part["refs"]))
        pieces = () if links else re.split(r"[,，]\s*", clause)
        found += [*links, *(link for piece in pieces for link in _iter_sentence_links(piece.strip()))]
    # "Accepted (supersedes ADR-7)" speaks of this record, "Accepted — the note on ADR-7 supersedes it" does not.
    acting = _ACTING.findall(plain)
    active = [link for words in acting for link in _iter_sentence_links(words) if not link.relation.endswith("_by")]
    return (*(link for link in found if link.relation.endswith("_by")), *active)


_LEAD_LABEL = re.compile(r"(?:#{1,6}[ \t]{1,4})?([^\W\d_][^\[\]\n:：|]{2,40})[:：]?")
_LABELS = re.compile(
    r"(?i)(?:partially |partly )?(?:super[sc]e+de[sd]?|replace[sd]?|amend(?:s|ed)|obsolete[sd]?)(?:[ -]by)?(?: \w+)?"
)


def _is_label(words: str) -> bool:
    """Return whether *words* say a relation and nothing else: “Supersedes”, “取代”, and not “Why X replaces Y”."""
    plain = words.strip().rstrip(":：")
    is_short = len(plain) <= MAX_LEAD_CHARACTERS // 2 and not plain.isascii() and _VERB.search(plain)
    return bool(_LABELS.fullmatch(plain) or _LEADS.fullmatch(f"{plain}: ") or is_short)


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
                label = lead[1] if _is_label(lead[1]) else ""
            yield f"{label}: {said}" if label and (first := REFERENCE.search(said)) and first.start() <= 1 else said
            rows = []
        if bare and number not in code:
            mark = _ITEM.match(bare) if begins else None
            cells = [cell.strip() for cell in bare.strip("|").split("|")] if line.lstrip().startswith("|") else []
            if len(cells) > 1 and _VERB.search(cells[0]):  # a row of a table is a field
                bare = f"{cells[0]}: {' — '.join(filter(None, cells[1:]))}"
            rows.append(bare[mark.end() :] if mark else bare)


_NEXT_VERB = re.compile(
    r"(?i)(?<!\s)(?:\s*+,)?\s++(?:(?:and|but)\s+)?(?=(?:also\s+|partially\s+|partly\s+)?(?:supersedes|replaces|amends|extends|refines"
    r"|clarifies|narrows|strengthens|complements|implements|updates|retires|keeps|relates\s+to|builds\s+on|depends\s+on)\b"
    r"|(?<=\band\s)[a-z]{3,14}s\s+the\b)"
)
"""Where a sentence goes on to another verb, which has objects of its own: "supersedes ADR-1, amends ADR-2"."""
_CLAUSE_END = re.compile(r"[.,;:)）。，；]")
_NOT = re.compile(r"(?i)\b(?:not|never|neither|without|nicht|kein\w*|no)\b|[不未没]|しない|せず")
_OBJECT = re.compile(r"\s(?!it\b|them\b|both\b|this\b|and\b)\w")
"""Behind a verb: it acts on something other than the whole record, “this ADR replaces its gate”."""
_SELF_WORD = re.compile(r"(?i)\b(?:this|here|because|diese[rs]?|est[ae]|cette)\b|[本此]")
_AMENDING = ("amend", "modif", "updat", "änder", "修", "改", "変")
_RELATED = re.compile(rf"(?i)(?:{RELATED_LABELS})\s{{0,3}}[:：|]\s{{0,3}}")
"""The name of a field whose words say themselves how the records are related."""
_MAX_VERBS = 9
_MAX_OBJECTS = 99
_OTHER_VERB = re.compile(
    r"(?i)(?<!\s)(?:\s*+/\s*+[a-z ]{3,30})?\s*+[:：]\s*+(?:it\s+)?"
    r"(?:(?P<amend>extends|refines|amends|clarifies|narrows|updates)"
    r"|strengthens|complements|implements|builds\s+on|relates\s+to|depends\s+on|reinforces)\b"
)
"""What a field “Supersedes:” may say instead: “Supersedes: Extends ADR-7” supersedes nothing."""


def _iter_sentence_links(sentence: str) -> Iterator[AdrLink]:
    """Yield the links that one *sentence* states about its own record, each verb with its own objects."""
    plain = re.sub(r"^[^\w\[]*(?:\d+[.)]\s+)?", "", sentence)
    if (related := _RELATED.match(plain)) and not _SELF_WORD.search(plain):
        plain = plain[related.end() :]
    start = 0
    for cut in islice(_NEXT_VERB.finditer(plain), _MAX_VERBS):
        clause = plain[start : cut.start()]
        is_whole = clause.count("[") == clause.count("]")  # else the verb is in the title of a link
        if is_whole and (links := tuple(_iter_clause_links(clause))):
            yield from links
            start = cut.end()
    yield from _iter_clause_links(plain[start:])


def _iter_clause_links(plain: str) -> Iterator[AdrLink]:
    marked = tuple(_iter_marked_links(plain))
    if marked:
        yield from marked
        return
    if english := _ENGLISH.match(plain):
        yield from _iter_english_links(plain, english)
        return
    if stated_abroad := tuple(_iter_plain_links(plain)):
        yield from stated_abroad
        return
    passive = _CHINESE_BY.match(plain)
    chinese = passive or _CHINESE.match(plain)
    if (
        chinese
        and passive
        and (first := REFERENCE.search(passive["refs"]))
        and "的" in passive["refs"][: first.start()]
    ):
        return  # 被取代的决策：ADR-3
    if chinese:
        relation = _RELATIONS["supersede" if chinese["verb"][0] in "取替覆推" else "amend"][bool(passive)]
        words = "" if passive else chinese["refs"]  # 取代 D003 中的…: a part of it
        in_part = bool(chinese["part"] or (passive and passive["tail"])) or "部分" in words or "中的" in words
        found = [*islice(iter_references(chinese["refs"]), _MAX_OBJECTS)]
        count = len(found) if passive else _count_beside(chinese["refs"], found)
        yield from (AdrLink(relation, one.target, in_part) for one in found[:count])


def _count_beside(text: str, found: list[AdrReference]) -> int:
    """Return how many of the records *found* in *text*, from the first on, stand in one list."""
    gaps = (text[one.end : other.start] for one, other in pairwise(found))
    ends = (n for n, gap in enumerate(gaps, 1) if not _BESIDE.fullmatch(_ASIDE.sub("", _SECTION.sub("", gap))))
    return next(ends, len(found))


def _iter_marked_links(plain: str) -> Iterator[AdrLink]:
    """Yield the links of a clause that names records and then says of each what this one does to it, or it to this."""
    if not _SELF_WORD.search(plain):
        return
    found = [*islice(iter_references(plain), _MAX_OBJECTS)]
    for number, one in enumerate(found):
        end = found[number + 1].start if number + 1 < len(found) else len(plain)
        behind = plain[one.end : min(end, one.end + MAX_GAP_CHARACTERS)]
        stated = _BY_THIS.match(behind)
        if stated and stated["active"] and end < len(plain) and not _CLAUSE_END.search(behind, stated.end()):
            continue  # "With ADR-1 this replaces ADR-2" says nothing of ADR-1
        if stated and not _NOT.search(stated.group()[stated.group().rfind("本") if stated["here"] else 0 :]):
            verb = (stated["verb"] or stated["active"] or stated["here"]).lower()
            is_part = bool(stated["active"] and _OBJECT.match(behind, stated.end()))
            yield AdrLink("amends" if verb.startswith(_AMENDING) else "supersedes", one.target, is_part)
        elif number == 0 and one.start < MAX_LEAD_CHARACTERS and (stated := _OF_THIS.match(behind)):
            verb = (stated["verb"] or stated["zh"]).lower()
            is_part = bool(stated["part"]) or "partial" in stated.group() or "部分" in stated.group()
            yield AdrLink("amended_by" if verb.startswith(_AMENDING) else "superseded_by", one.target, is_part)


def _iter_plain_links(plain: str) -> Iterator[AdrLink]:
    """Yield the links of a clause whose verb stands directly before or behind the records: “Extends ADR-7”."""
    found = [*islice(iter_references(plain), _MAX_OBJECTS)]
    if not found:
        return
    count = _count_beside(plain, found)
    behind = plain[found[count - 1].end :].lstrip("*_ ")
    lead = plain[: found[0].start]
    verb = _LEADS.fullmatch(lead.lstrip("*_ ")) or (_ENDS.match(behind) if len(lead) <= MAX_LEAD_CHARACTERS else None)
    is_of = False
    if verb is None and (begun := _LEADS.match(lead.lstrip("*_ "))) and (begun["supersedes"] or begun["amends"]):
        is_of = _OBJECT_OF.fullmatch(lead.lstrip("*_ "), begun.end()) is not None
        verb = begun if is_of else None
    if verb is None:
        return
    relation = next(name for name, said in verb.groupdict().items() if said and name not in ("part", "late"))
    is_part = (
        is_of
        or (verb.re is _LEADS and bool(verb["part"] or verb["late"]))
        or _PART_BEHIND.match(plain, found[count - 1].end) is not None
    )
    yield from (AdrLink(relation, one.target, is_part) for one in found[:count])


def _iter_english_links(sentence: str, match: re.Match[str]) -> Iterator[AdrLink]:
    verb, behind = match["verb"].lower(), match["behind"]
    if aside := _ASIDE.match(behind):  # "Superseded (it was never built) by ADR 32"
        behind = behind[aside.end() :] if _BY.match(behind, aside.end()) else behind
    if other := _OTHER_VERB.match(behind):
        found = (
            [*iter_references(behind[: behind.find(". ") if ". " in behind else None])][:1] if other["amend"] else []
        )
        yield from (AdrLink("amends", one.target) for one in found)
        return
    if dated := _DATED.match(behind):
        behind = " by" + behind[dated.end() :].removeprefix(" by")
    passive = _BY.match(behind)
    if verb.endswith("d") and not passive and not _IN_PART.match(behind.strip()):
        return  # "Superseded ADR 3 was …" speaks of ADR 3; "superseded in part: ADR 3" of this record
    if passive and passive.group().rstrip().lower().endswith(("see", "also")):
        behind = behind[passive.end() :]
    is_list = _LABEL.match(behind) is not None
    found = []
    for reference in islice(iter_references(behind), _MAX_OBJECTS):
        # What follows a remark, or stands far off, is not what the verb speaks of: "supersedes it, see ADR 3".
        between = _QUOTE.sub("", REFERENCE.sub("", behind[: reference.start]))
        between = _ASIDE.sub("", between) if is_list else between
        if len(between) <= MAX_GAP_CHARACTERS and not _REMARK.search(between):
            found.append(reference)
    if not found:
        return
    relation = _RELATIONS["amend" if verb.startswith("amend") else "supersede"][bool(passive)]
    lead = behind[: found[0].start]
    words = sentence[: match.start("behind")] + lead
    if not passive and _PLAIN_WORDS.sub("", lead).strip(" \t:*_|—–-"):
        words += " only"  # "replaces the list that ADR-14 asks for" acts on the list
    in_part = bool(_IN_PART.search(words) or _PART_OF.search(lead) or match["qualifier"] or _FOR.match(lead))
    in_part = in_part or bool(_THE.search(lead) and _NOUN_BEHIND.match(behind, found[0].end))
    for target, _, end in found:
        yield AdrLink(relation, target, in_part or _PART_BEHIND.match(behind, end) is not None)


# -- statements in the front ----------------------------------------------------------------------

_KEY = re.compile(
    r"(?P<early>(?:partially|partly|in_part)_)?(?P<verb>supersede|superceede|supercede|replace|obsolete|amend|modifie|modify|(?:update|revise)(?=s$|d_by))(?:ed|[sd])?(?P<part>(?:_in)?_(?:part|section|clause|portion)s?)?"
    r"(?:_of)?(?P<by>_by)?(?P<late>_in_part)?"
)
"""A key such as `supersedes`, `superseded-in-part-by`, `amends` or `supersedes-section-of`."""


def find_front_matter_links(values: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in frontmatter keys such as `supersedes` or `superseded-by`: one reference or a list."""
    found: list[AdrLink] = []
    for key, value in values.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|[- ]", "_", str(key)).lower()  # supersededBy
        match = _KEY.fullmatch(words)
        if not match:
            found += _find_item_links(words.replace("_", " "), value)
            continue
        relation = _RELATIONS["amend" if match["verb"][0] in "amu" or match["verb"] == "revise" else "supersede"][
            bool(match["by"])
        ]
        in_part = bool(match["part"] or match["late"] or match["early"])
        for item in value if isinstance(value, list) else [value]:
            text = "" if item is None else str(item).strip()
            targets = [reference.target for reference in iter_references(text)]
            targets = targets or [word for word in re.split(r"[,;\s]+", text) if re.search(r"\d|-", word)]
            found += [AdrLink(relation, target, in_part) for target in targets]
    return tuple(found)


_RELATION_LISTS = frozenset({"relations", "relationships", "links", "related", "references"})


def _find_item_links(label: str, value: Any) -> list[AdrLink]:
    """Return the links in the *value* of another key: in words of other languages, or listed with their kind.

    `ersetzt: ADR-3`, `relations: {supersedes: [3]}`, `links: [{type: supersedes, target: ADR-3}]`.
    """
    if label in _RELATION_LISTS and isinstance(value, Mapping):
        return [*find_front_matter_links(value)]
    found: list[AdrLink] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping):
            kind = next((item[key] for key in ("type", "relation", "rel", "kind") if key in item), "")
            target = next((item[key] for key in ("target", "id", "ref", "adr", "path", "to") if key in item), "")
            found += find_front_matter_links({str(kind): target}) if label in _RELATION_LISTS and kind else ()
        elif item and (_LEADS.fullmatch(f"{label}: ") or (not label.isascii() and _VERB.search(label))):
            words = re.split(r"[,;\s]+", str(item))
            targets = [f"ADR-{word}" if word.isdigit() else word for word in words]
            found += find_text_links(f"{label}: {', '.join(targets)}")
    return found


def find_successor(text: str) -> tuple[AdrLink, ...]:
    """Return the one record that the *text* of a status names, where it says no more of it: “superseded, use ADR-9”."""
    targets = {one.target for one in iter_references(text)}
    return tuple(AdrLink("superseded_by", target) for target in targets) if len(targets) == 1 else ()
