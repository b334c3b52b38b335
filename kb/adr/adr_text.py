"""Find what the text of a foreign decision record means: section names, reasons, relations to others (see `adr`).

Which record supersedes or amends which counts only where the subject is the record itself ("Superseded by …", "This ADR
amends …", "被 … 取代"); a sentence about other records is no link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adr_fields import normalise_heading
from kb.adr.adr_words import RELATION_ENDINGS, RELATION_WORDS, SECTION_BY_HEADING
from kb.records.kinds import resolve_section_name
from kb.records.model import Section
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import split_lines

if TYPE_CHECKING:
    from typing import Any


# -- section names --------------------------------------------------------------------------------

_PARENTHESIS_TAIL = re.compile(r"(?<!\s)\s*+(?=[(（/])")


@lru_cache(maxsize=256)
def match_section(heading: str) -> str:
    """Return the canonical name of the section that *heading* begins, "status", or "".

    Consequences are the record's impact (what follows from the decision); drivers, links and the like have no name.
    """
    plain = normalise_heading(heading)
    return _match_heading(plain) or _match_heading(_PARENTHESIS_TAIL.split(plain, maxsplit=1)[0])


def extract_remark(heading: str) -> str:
    """Return what *heading* says beside its section's name: "(2024, staging)" of "Evidence (2024, staging)"."""
    head, *tail = _PARENTHESIS_TAIL.split(normalise_heading(heading), maxsplit=1)
    return tail[0] if tail and _match_heading(head) and not _match_heading(tail[0].strip("()（）/ ")) else ""


def _match_heading(plain: str) -> str:
    word = plain.rstrip(":：").strip().lower()
    return resolve_section_name(word) or SECTION_BY_HEADING.get(word, "")


# -- the outcome ---------------------------------------------------------------------------------

_SUBSECTION = re.compile(r"(?m)^### ++([^\n](?:[^\n]*[^\n \t#])?)[ \t#]*$")
_CHOSEN = re.compile(r"\W*(?:Chosen (?:option|solution|alternative)|选择|选定|选中|所选|采用|决定)", re.IGNORECASE)
_BECAUSE = re.compile(r"(?i)(?:[,;.]\s*|\s)because\b[ \t:,]*|[，；]?因为[：:，]?\s*")
_LIST = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")


def split_outcome(text: str, taken: set[str]) -> tuple[str, list[Section]]:
    """Return the outcome's own text, then its subsections on consequences and confirmation as sections of their own."""
    code = find_code_lines(text)
    marks = [match for match in _SUBSECTION.finditer(text) if text.count("\n", 0, match.start()) not in code]
    if not marks:
        return text, []
    ends = [match.start() for match in marks[1:]] + [len(text)]
    own = text[: marks[0].start()]
    split: dict[str, Section] = {}
    for match, end in zip(marks, ends, strict=True):
        heading, whole = match[1], text[match.start() : end]
        name = "impact" if re.search(r"(?i)\bconsequences\b|后果", heading) else match_section(heading)
        if name not in ("impact", "verification") or name in taken:
            own += whole
        elif name in split:
            split[name] = split[name]._replace(text="\n\n".join((split[name].text, whole.strip("\n"))))
        else:
            # "Positive Consequences" is more than the name of the section: the heading stays in the text.
            inside = text[match.end() : end] if match_section(heading) == name else whole
            split[name] = Section(name, heading, inside.strip("\n"))
    return own.strip("\n"), [*split.values()]


def extract_reason(decision: str) -> str:
    """Return what a MADR outcome ("Chosen option: …, because …") gives as its reason, word for word, or ""."""
    paragraphs = re.split(r"\n[ \t]*\n", decision)
    for number, paragraph in enumerate(paragraphs):
        match = _BECAUSE.search(paragraph) if _CHOSEN.match(paragraph) else None
        if match is None:
            continue
        clause = paragraph[match.end() :].strip()
        following = paragraphs[number + 1] if number + 1 < len(paragraphs) else ""
        if not clause or clause[-1] in ":：":
            clause = f"{clause}\n\n{following}".strip("\n") if _LIST.match(following) else ""
        return "" if clause.startswith("{") else clause
    return ""


# -- references to other records ------------------------------------------------------------------


class AdrLink(NamedTuple):
    """One statement of a record about another."""

    relation: str
    """supersedes, superseded_by, amends or amended_by, seen from the record that says it."""
    target: str
    """A path as it is written, a file name or slug, or a number."""
    in_part: bool = False


_REF = re.compile(
    r"\[(?P<label>[^\[\]]{0,200})\]\((?P<url>[^()\s]{1,300})\)|(?<![\w/#-])(?:ADR|DR)[- #]?(?P<number>\d{1,5})(?!\d)"
    r"|\[\[(?P<wiki>[^\[\]|]{1,200})(?:\|[^\]]{0,200})?\]\]|(?<![\w/.-])(?P<file>\d{1,8}-[\w.-]{3,150}\.md)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?i)\b(?:ADR|DR)[- #]?(\d{1,5})\b|^0*(\d{1,5})(?:[.:]|$)")


_RECORD_FOLDER = re.compile(r"(?:^|/)(?:\d{4}-\d\d-\d\d|\d{2,5})[-_][\w-]{1,100}/?$")


class _AdrReference(NamedTuple):
    """A reference to another record, and where it stands."""

    target: str
    start: int
    end: int


def _iter_references(text: str) -> Iterator[_AdrReference]:
    """Yield the records that *text* refers to; links to anything else are none."""
    for match in _REF.finditer(text):
        url = (match["url"] or "").partition("#")[0]
        if "://" not in url and _RECORD_FOLDER.search(url):  # a folder that is one record
            url = f"{url.rstrip('/')}/README.md"
        number = _NUMBERED.search(match["label"] or "")
        target = match["number"] or match["wiki"] or match["file"] or ""
        if url.lower().endswith(".md"):
            target = url.rpartition("/")[2] if "://" in url else url
        elif match["url"] and number:
            target = number[1] or number[2]
        if target:
            yield _AdrReference(target, match.start(), match.end())


def has_reference(text: str) -> bool:
    """Return whether *text* names another record."""
    return next(_iter_references(text), None) is not None


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
    rf"|for [^.\[\]]{{1,60}}?)[\s-]{{1,4}})?by\b|\s{{1,4}}when\s{{1,4}}(?=\[|ADR|DR)",
    re.IGNORECASE,
)
_IN_PART = re.compile(rf"(?i)\b(?:{_PART_WORD}|some (?:aspects|parts)|only|one clause)\b|部分")
_PART_OF = re.compile(
    r"(?i)^[\s:]{0,4}(?:only\s+|(?:these|the|a|one|two|some|its|that|decision|section|clause)\b).{0,120}"
    r"\b(?:of|in)(?:\s+(?:ADR|DR|decision|record))?[\s-]{0,4}$"
)
_PART_BEHIND = re.compile(
    r"['’]s\b|\s{1,9}in part\b|\s{1,9}on th(?:is|at|ese) (?:point|clause)s?\b"
    r"|,?\s{1,9}(?:decision )?(?:section|clause|point|amendment|option|rule|decision)s? \d|[\s\u4e00-\u9fff]{0,12}部分"
    r"|,?\s{0,9}\(?(?:§\s{0,9}|decisions? |D)\d|\s?\([^()\n]{0,80}\bonly\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s?\((?:[^()]|\([^()]*\))*\)")
"""What is in parentheses, those of a link left out: it does not end a list, as in "Amends: ADR-1 (why), ADR-2"."""
_QUOTE = re.compile(r"\"[^\"]{0,120}\"|“[^“”]{0,120}”")
_FOR = re.compile(r"\s{1,4}for [^.\[\]]{1,60}? by\b", re.IGNORECASE)
"""What a record no longer says: "superseded for the output layout by ADR 17" is a part."""
_PART_BY = re.compile(
    r"\S[^()（）\[\]]{0,40}?\s?(?P<verb>super[sc]eded?|replaced|amended|修订|取代)\s+by\s+(?P<refs>[^，。；]{1,200})",
    re.IGNORECASE,
)
"""A clause of a status whose subject is a part of the record: "端口约定部分 supersede by ADR-024"."""
_LABEL = re.compile(r"[\s-]{0,4}(?:by)?\s{0,4}[:：]", re.IGNORECASE)
_BY_THIS = re.compile(
    r"(?:[*_]{0,2})(?P<ref>\[[^\[\]]{1,200}\]\([^()\s]{1,300}\)|(?:ADR|DR)[- #]?\d{1,5})(?:[*_]{0,2})"
    r"[\s:,(]{0,3}(?:[—–-]{1,2}\s)?(?:is |was |now )?(?P<verb>superseded|replaced|amended)"
    r"\s+(?:by this\b|here\b|because\b|with this\b)",
    re.IGNORECASE,
)
"""A list item on another record: "[ADR-017](…) — superseded by this ADR"."""
_THE = re.compile(r"(?i)\bthe\s{0,4}$")
_NOUN_BEHIND = re.compile(r"\s[a-z]{3,}")
"""With `_THE` before the reference: "supersedes the ADR-0044 per-role tools" speaks of the tools."""
_SELF_ZH = r"(?:本\s?(?:ADR|决策|记录|决定|文档)|此决策|该决策)?\s*+(?:已|现)?(?:经)?\s*+"
_CHINESE_BY = re.compile(
    rf"{_SELF_ZH}(?P<part>部分)?\s*+(?:被|由)(?P<refs>.{{1,300}}?)(?P<tail>部分)?(?P<verb>取代|替代|替换|修订|修正)",
    re.DOTALL,
)
_CHINESE = re.compile(
    rf"{_SELF_ZH}(?P<part>部分)?(?P<verb>取代|替代|替换|修订|修正)(?!者|方案|品)了?\s*[:：]?(?P<refs>.*)", re.DOTALL
)
_LEADS = re.compile(
    r"(?:(?:this|diese[rs]?|cette|ce|est[ae]|quest[ao]|deze|это|本|此|该|この)\s{0,3}"
    r"(?:adr|rfc|decision|record|entscheidung|décision|decisión|decisão|decisione|beslissing|решение|决策|记录|決定)\s{0,3})?"
    r"(?P<part>(?:teilweise|partiellement|parcialmente|частично|一部を?)\s{0,3})?"
    r"(?:(?:also|now|hereby|auch|aussi|también|também|is an?|is|wird|est)\s{1,3})?(?:"
    + "|".join(f"(?P<{relation}>{words})" for relation, words in RELATION_WORDS.items())
    + r")了?(?:\s?[:：]|\b)\s{0,3}(?:(?:and|und|the|den|die|das|la|el|le|adr|decision|decisions|in)\s{1,3}){0,3}",
    re.IGNORECASE,
)
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
    r"(?<=[.!?])\s+(?=[\[A-Z*])(?![^\[\]]{0,200}\]\()|(?<=[。；！？;])\s*"
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


def find_text_links(*texts: str) -> tuple[AdrLink, ...]:
    """Return the links that the sentences of *texts* state; code says nothing."""
    return tuple(
        link
        for text in texts
        if _REF.search(text)
        for paragraph in _iter_paragraphs(text)
        if _REF.search(paragraph)
        for sentence in _SENTENCE.split(paragraph)
        for link in _iter_sentence_links(sentence)
    )


_TITLE_VERB = re.compile(
    r"\b(?:(?P<part>partly|partially)\s+)?(?P<verb>supersed|replac|revert|undo|amend)(?:e|es|s|ing)?\s+(?:the\s+)?"
    r"(?P<ref>(?:ADR|DR)[- #]?\d{1,5})\b(?P<behind>['’]s\b)?",
    re.IGNORECASE,
)


def find_title_links(title: str) -> tuple[AdrLink, ...]:
    """Return the links that a *title* states: "Superseding ADR-017 for imports", "Partly undo ADR 109"."""
    return tuple(
        AdrLink(
            _RELATIONS["amend" if match["verb"].lower() == "amend" else "supersede"][False],
            next(_iter_references(match["ref"])).target,
            bool(match["part"] or match["behind"]),
        )
        for match in _TITLE_VERB.finditer(title)
    )


_EXTENDED_BY = re.compile(
    r"(?i)\b(?:extended|refined|clarified|narrowed|amended|revised)\s+(?:by\s+|(?:on\s+)?\d{4}-\d\d-\d\d\s*(?:by\s+|[(（]\s*))"
    r"(?P<refs>(?:(?:\[[^\[\]]{1,200}\]\([^()\s]{1,300}\)|(?:ADR|DR)[- #]?\d{1,5})(?:\s*(?:,|and|&)\s*)?){1,9})"
)
"""“Extended by ADR-7”, “Amended 2024-03-05 (ADR-7)” in the header of a record."""
_STATUS_CLAUSE = re.compile(r"\s[—–-]{1,2}\s|[;；·•|。（]|\.\s|\s\((?!http)")


def find_status_links(text: str) -> tuple[AdrLink, ...]:
    """Return the links that the clauses of a status state: "Accepted — D4 superseded by ADR-90, amended by ADR-95"."""
    plain = " ".join(_MARKUP.sub("", line).strip() for line in split_lines(text))
    found = [
        AdrLink("amended_by", one.target)
        for match in _EXTENDED_BY.finditer(plain)
        if not _REF.search(re.split(r"[.;—–(（]\s?", plain[max(0, match.start() - 300) : match.start()])[-1])
        for one in _iter_references(match["refs"])
    ]
    for clause in _STATUS_CLAUSE.split(plain)[1:] if _VERB.search(plain) else ():
        links = tuple(_iter_sentence_links(clause.strip()))
        if not links and (part := _PART_BY.match(clause.strip())):
            relation = _RELATIONS["amend" if part["verb"][0] in "aA修" else "supersede"][True]
            links = tuple(AdrLink(relation, one.target, True) for one in _iter_references(part["refs"]))
        pieces = () if links else re.split(r"[,，]\s*", clause)
        found += [*links, *(link for piece in pieces for link in _iter_sentence_links(piece.strip()))]
    return tuple(link for link in found if link.relation.endswith("_by"))


def _iter_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of *text*, each on one line, without emphasis and quote marks."""
    code = find_code_lines(text)
    rows: list[str] = []
    for number, line in enumerate([*split_lines(text), ""]):
        bare = _MARKUP.sub("", line).strip()
        # A list item, bold words and a field are statements of their own.
        begins = not bare or number in code or line.lstrip().startswith(("#", "|"))
        begins = begins or bool(_ITEM.match(line) or _STATEMENT.match(line))
        if begins and rows:
            yield " ".join(rows)
            rows = []
        if bare and number not in code:
            mark = _ITEM.match(bare) if begins else None
            rows.append(bare[mark.end() :] if mark else bare)


_NEXT_VERB = re.compile(
    r"(?i)(?<!\s)(?:\s*+,)?\s++(?:(?:and|but)\s+)?(?=(?:also\s+|partially\s+|partly\s+)?(?:supersedes|replaces|amends|extends|refines"
    r"|clarifies|narrows|strengthens|complements|implements|updates|retires|keeps|relates\s+to|builds\s+on|depends\s+on)\b"
    r"|(?<=\band\s)[a-z]{3,14}s\s+the\b)"
)
"""Where a sentence goes on to another verb, which has objects of its own: "supersedes ADR-1, amends ADR-2"."""
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
    start = 0
    for cut in islice(_NEXT_VERB.finditer(plain), _MAX_VERBS):
        clause = plain[start : cut.start()]
        is_whole = clause.count("[") == clause.count("]")  # else the verb is in the title of a link
        if is_whole and (links := tuple(_iter_clause_links(clause))):
            yield from links
            start = cut.end()
    yield from _iter_clause_links(plain[start:])


def _iter_clause_links(plain: str) -> Iterator[AdrLink]:
    if stated := _BY_THIS.match(plain):
        relation = _RELATIONS["amend" if stated["verb"][0] in "aA" else "supersede"][False]
        yield from (AdrLink(relation, found.target) for found in _iter_references(stated["ref"]))
        return
    if english := _ENGLISH.match(plain):
        yield from _iter_english_links(plain, english)
        return
    if stated_abroad := tuple(_iter_plain_links(plain)):
        yield from stated_abroad
        return
    passive = _CHINESE_BY.match(plain)
    chinese = passive or _CHINESE.match(plain)
    if chinese:
        relation = _RELATIONS["supersede" if chinese["verb"][0] in "取替" else "amend"][bool(passive)]
        words = "" if passive else chinese["refs"]  # 取代 D003 中的…: a part of it
        in_part = bool(chinese["part"] or (passive and passive["tail"])) or "部分" in words or "中的" in words
        yield from (AdrLink(relation, found.target, in_part) for found in _iter_references(chinese["refs"]))


def _iter_plain_links(plain: str) -> Iterator[AdrLink]:
    """Yield the links of a clause whose verb stands directly before or behind the records: “Extends ADR-7”."""
    found = [*islice(_iter_references(plain), _MAX_OBJECTS)]
    if not found:
        return
    count = next(
        (
            n
            for n in range(1, len(found))
            if not _BESIDE.fullmatch(_ASIDE.sub("", plain[found[n - 1].end : found[n].start]))
        ),
        len(found),
    )
    behind = plain[found[count - 1].end :].lstrip("*_ ")
    lead = plain[: found[0].start]
    verb = _LEADS.fullmatch(lead.lstrip("*_ ")) or (_ENDS.match(behind) if len(lead) <= MAX_LEAD_CHARACTERS else None)
    if verb is None:
        return
    relation = next(name for name, said in verb.groupdict().items() if said and name != "part")
    is_part = (verb.re is _LEADS and bool(verb["part"])) or _PART_BEHIND.match(plain, found[count - 1].end) is not None
    yield from (AdrLink(relation, one.target, is_part) for one in found[:count])


def _iter_english_links(sentence: str, match: re.Match[str]) -> Iterator[AdrLink]:
    verb, behind = match["verb"].lower(), match["behind"]
    if aside := _ASIDE.match(behind):  # "Superseded (it was never built) by ADR 32"
        behind = behind[aside.end() :] if _BY.match(behind, aside.end()) else behind
    if other := _OTHER_VERB.match(behind):
        found = (
            [*_iter_references(behind[: behind.find(". ") if ". " in behind else None])][:1] if other["amend"] else []
        )
        yield from (AdrLink("amends", one.target) for one in found)
        return
    passive = _BY.match(behind)
    if verb.endswith("d") and not passive and not _IN_PART.match(behind.strip()):
        return  # "Superseded ADR 3 was …" speaks of ADR 3; "superseded in part: ADR 3" of this record
    is_list = _LABEL.match(behind) is not None
    found = []
    for reference in islice(_iter_references(behind), _MAX_OBJECTS):
        # What follows a remark, or stands far off, is not what the verb speaks of: "supersedes it, see ADR 3".
        between = _QUOTE.sub("", _REF.sub("", behind[: reference.start]))
        between = _ASIDE.sub("", between) if is_list else between
        if len(between) <= MAX_GAP_CHARACTERS and not _REMARK.search(between):
            found.append(reference)
    if not found:
        return
    relation = _RELATIONS["amend" if verb.startswith("amend") else "supersede"][bool(passive)]
    lead = behind[: found[0].start]
    words = sentence[: match.start("behind")] + lead
    in_part = bool(_IN_PART.search(words) or _PART_OF.search(lead) or match["qualifier"] or _FOR.match(lead))
    in_part = in_part or bool(_THE.search(lead) and _NOUN_BEHIND.match(behind, found[0].end))
    for target, _, end in found:
        yield AdrLink(relation, target, in_part or _PART_BEHIND.match(behind, end) is not None)


# -- statements in the front ----------------------------------------------------------------------

_KEY = re.compile(
    r"(?P<verb>supersede|superceede|supercede|replace|obsolete|amend|modifie|modify|(?:update|revise)(?=s$|d_by))(?:ed|[sd])?(?P<part>(?:_in)?_(?:part|section|clause|portion)s?)?"
    r"(?:_of)?(?P<by>_by)?(?P<late>_in_part)?"
)
"""A key such as `supersedes`, `superseded-in-part-by`, `amends` or `supersedes-section-of`."""


def find_front_matter_links(values: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in frontmatter keys such as `supersedes` or `superseded-by`: one reference or a list."""
    found: list[AdrLink] = []
    for key, value in values.items():
        match = _KEY.fullmatch(key.lower().replace("-", "_").replace(" ", "_"))
        if not match:
            continue
        relation = _RELATIONS["amend" if match["verb"][0] in "amu" or match["verb"] == "revise" else "supersede"][
            bool(match["by"])
        ]
        in_part = bool(match["part"] or match["late"])
        for item in value if isinstance(value, list) else [value]:
            text = "" if item is None else str(item).strip()
            targets = [reference.target for reference in _iter_references(text)]
            targets = targets or [word for word in re.split(r"[,;\s]+", text) if re.search(r"\d|-", word)]
            found += [AdrLink(relation, target, in_part) for target in targets]
    return tuple(found)
