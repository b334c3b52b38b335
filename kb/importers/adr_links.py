"""Find which decision record supersedes or amends which, and settle it for a whole import: both ends agree.

Only statements whose subject is the record itself count ("Superseded by …", "This ADR amends …", "被 … 取代"); a
sentence about other records is no link.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.text.line_ends import split_lines
from kb.text.markdown_scan import find_code_lines

if TYPE_CHECKING:
    from typing import Any


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


class _AdrReference(NamedTuple):
    """A reference to another record, and where it stands."""

    target: str
    start: int
    end: int


def _iter_references(text: str) -> Iterator[_AdrReference]:
    """Yield the records that *text* refers to; links to anything else are none."""
    for match in _REF.finditer(text):
        url = (match["url"] or "").partition("#")[0]
        number = _NUMBERED.search(match["label"] or "")
        target = match["number"] or match["wiki"] or match["file"] or ""
        if url.lower().endswith(".md"):
            target = url.rpartition("/")[2] if "://" in url else url
        elif match["url"] and number:
            target = number.group(1) or number.group(2)
        if target:
            yield _AdrReference(target, match.start(), match.end())


# -- statements in prose --------------------------------------------------------------------------

_SELF = r"(?:this|the (?:present|current))\s+(?:adr|decision|record|document|proposal|rfc)(?:\s+record)?|this|it"
_PART_WORD = r"partial(?:ly)?|partly|in[- ]part"
_ADVERB = rf"(?:is|was|has been|are|also|now|hereby|therefore|{_PART_WORD}|fully|only)"
_ENGLISH = re.compile(
    rf"(?:(?:note|status|update|links?)\s*:\s*)?(?:if accepted,\s*)?(?:(?:{_SELF})\s+)?(?:{_ADVERB}\s+)*"
    r"(?:(?P<qualifier>[A-Z][a-z]{2,20})\s+(?=superseded by|amended by))?"
    r"(?P<verb>super[sc]e+de[sd]?|replace[sd]?|amend(?:s|ed)?)(?![\w])(?P<behind>.*)",
    re.IGNORECASE | re.DOTALL,
)
_BY = re.compile(
    rf"[\s-]{{1,4}}(?:(?:{_PART_WORD})[\s-]{{1,4}})?by\b|\s{{1,4}}when\s{{1,4}}(?=\[|ADR|DR)", re.IGNORECASE
)
_IN_PART = re.compile(rf"(?i)\b(?:{_PART_WORD}|some (?:aspects|parts)|only|one clause)\b|部分")
_PART_OF = re.compile(
    r"(?i)^[\s:]{0,4}(?:only\s+|(?:these|the|a|one|two|some|its|that|decision|section|clause)\b).{0,120}"
    r"\b(?:of|in)(?:\s+(?:ADR|DR|decision|record))?[\s-]{0,4}$"
)
_PART_BEHIND = re.compile(
    r"['’]s\b|\s{1,9}in part\b|\s{1,9}on th(?:is|at|ese) (?:point|clause)s?\b"
    r"|,?\s{1,9}(?:decision )?(?:section|clause|point)s? \d"
    r"|,?\s{0,9}\(?(?:§\s{0,9}|decisions? |D)\d|\s?\([^()\n]{0,80}\bonly\b",
    re.IGNORECASE,
)
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
_VERB = re.compile(r"super[sc]|replace|amend|取代|替代|替换|修订|修正", re.IGNORECASE)
_MARKUP = re.compile(r"^[ \t>]+|[*`]|(?<![\w])_+|_+(?![\w])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\[A-Z*])(?![^\[\]]{0,200}\]\()|(?<=[。；！？;])\s*")
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]+")
_KEEPS_SENTENCE = 160
"""Characters between a verb and the record it speaks of; farther away it speaks of something else."""


def find_text_links(*texts: str) -> tuple[AdrLink, ...]:
    """Return the links that the sentences of *texts* state; code says nothing."""
    return tuple(
        link
        for text in texts
        if _VERB.search(text) and _REF.search(text)
        for paragraph in _iter_paragraphs(text)
        if _REF.search(paragraph)
        for sentence in _SENTENCE.split(paragraph)
        for link in _iter_sentence_links(sentence)
    )


def _iter_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of *text*, each on one line, without emphasis and quote marks."""
    code = find_code_lines(text)
    rows: list[str] = []
    for number, line in enumerate([*split_lines(text), ""]):
        bare = _MARKUP.sub("", line).strip()
        begins = not bare or number in code or line.lstrip().startswith(("#", "|")) or _is_new_statement(line)
        if begins and rows:
            yield " ".join(rows)
            rows = []
        if bare and number not in code:
            rows.append(_ITEM.sub("", bare) if begins else bare)
    if rows:
        yield " ".join(rows)


def _is_new_statement(line: str) -> bool:
    """Return whether *line* begins a statement of its own: a list item, bold words, or a field."""
    return bool(_ITEM.match(line) or re.match(r"[ \t>]*(?:\*\*|__)?[A-Z][\w -]{2,40}(?::|\*\*|__| by )", line))


def _iter_sentence_links(sentence: str) -> Iterator[AdrLink]:
    """Yield the links that one *sentence* states about its own record."""
    plain = re.sub(r"^[^\w\[]*(?:\d+[.)]\s+)?", "", sentence)
    if english := _ENGLISH.match(plain):
        yield from _iter_english_links(plain, english)
    elif chinese := _CHINESE_BY.match(plain):
        relation = "superseded_by" if chinese["verb"][0] in "取替" else "amended_by"
        part = bool(chinese["part"] or chinese["tail"])
        yield from (AdrLink(relation, found.target, part) for found in _iter_references(chinese["refs"]))
    elif chinese := _CHINESE.match(plain):
        relation = "supersedes" if chinese["verb"][0] in "取替" else "amends"
        part = bool(chinese["part"]) or "部分" in chinese["refs"] or "中的" in chinese["refs"]
        yield from (AdrLink(relation, found.target, part) for found in _iter_references(chinese["refs"]))


def _iter_english_links(sentence: str, match: re.Match[str]) -> Iterator[AdrLink]:
    verb, behind = match["verb"].lower(), match["behind"]
    passive = _BY.match(behind)
    if verb.endswith("d") and not passive and not _IN_PART.match(behind.strip()):
        return
    found = [reference for reference in _iter_references(behind) if _is_verb_object(behind, reference.start)]
    if not found:
        return
    kind = "amend" if verb.startswith("amend") else "supersede"
    relation = {"amend": ("amends", "amended_by"), "supersede": ("supersedes", "superseded_by")}[kind]
    lead = behind[: found[0].start]
    said = sentence[: match.start("behind")] + lead
    part = bool(_IN_PART.search(said) or _PART_OF.search(lead) or match["qualifier"])
    part = part or (_THE.search(lead) is not None and _NOUN_BEHIND.match(behind, found[0].end) is not None)
    for target, _, end in found:
        yield AdrLink(relation[bool(passive)], target, part or _PART_BEHIND.match(behind, end) is not None)


def _is_verb_object(behind: str, offset: int) -> bool:
    """Return whether a reference at *offset* is what the verb speaks of, not a remark behind it."""
    before = _REF.sub("", behind[:offset])
    return len(before) <= _KEEPS_SENTENCE and not re.search(
        r"[(（;]|\b(?:because|which|whose|while|but|as|see|under|per|from|with|by adding)\b", before.lower()
    )


# -- statements in the front ----------------------------------------------------------------------

_KEY = re.compile(
    r"(?P<verb>supersede|superceede|supercede|replace|amend|modifie|modify)(?:ed|[sd])?(?P<part>(?:_in)?_(?:part|section|clause|portion)s?)?"
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
        kind = "supersede" if match["verb"][0] in "sr" else "amend"
        relation = {"supersede": ("supersedes", "superseded_by"), "amend": ("amends", "amended_by")}[kind]
        in_part = bool(match["part"] or match["late"])
        for item in value if isinstance(value, list) else [value]:
            if item not in (None, ""):
                found += [AdrLink(relation[bool(match["by"])], target, in_part) for target in _parse_targets(str(item))]
    return tuple(found)


def _parse_targets(text: str) -> list[str]:
    named = [reference.target for reference in _iter_references(text)]
    return named or [word for word in re.split(r"[,;\s]+", text.strip()) if re.search(r"\d|-", word)]


# -- where a target stands ------------------------------------------------------------------------


def resolve_target_path(path: str, target: str) -> str:
    """Return the path that *target*, as written in the file *path*, stands for."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
