"""Find what a foreign decision record says of others: which it supersedes or amends, and which do so to it (see `adr`).

`adr_clauses` reads one sentence; here a file is cut into sentences, and its front matter, status, title and sections
are each read for what they are: a status speaks of its own record, an alternative of what was not done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kb.adr.adr_clauses import AdrClause, iter_spaced_links, list_objects, parse_clause
from kb.adr.adr_east_asian import iter_verb_last_links
from kb.adr.adr_text import REFERENCE, AdrLink, iter_references, quote_title
from kb.adr.adr_verbs import CHINESE_VERB, LAST_VERB, VERB
from kb.adr.adr_words import AND_WORDS, BESIDE_VERB, NEGATION, RECORD_NOUNS, RELATED_LABELS, SELF_WORDS
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import split_lines

if TYPE_CHECKING:
    from typing import Any

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
        stated = [*iter_spaced_links(clause), *iter_verb_last_links(clause)]
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


# -- statements in the front ----------------------------------------------------------------------

_RELATION_LISTS = frozenset({"relations", "relationships", "links", "related", "references"})


def find_front_matter_links(values: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in front matter: one reference or a list under a key, or items that name their kind.

    `superseded-by: 9`, `supersededInPartBy: [ADR-9]`, `ersetzt: ADR-3`, `relations: {supersedes: [3]}`,
    `links: [{type: supersedes, target: ADR-3}]`.
    """
    found: list[AdrLink] = []
    for key, value in values.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]", " ", str(key)).lower()  # supersededBy
        items = value if isinstance(value, list) else [value]
        if words in _RELATION_LISTS:
            mappings = [item for item in items if isinstance(item, Mapping)]
            found += [link for item in mappings for link in _find_item_links(item)]
        elif (said := read_label(words)) and not said.is_open:
            targets = [target for item in items if item is not None for target in _list_targets(str(item).strip())]
            found += [said._replace(target=target) for target in targets]
    return tuple(found)


def _list_targets(text: str) -> list[str]:
    """Return the records that the value *text* of a key names."""
    targets = [reference.target for reference in iter_references(text)]
    return targets or [word for word in re.split(r"[,;\s]+", text) if re.search(r"\d|-", word)]


def _find_item_links(item: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in one *item* of a list of relations: its kind and target, or keys of its own."""
    kind = next((item[key] for key in ("type", "relation", "rel", "kind") if key in item), "")
    target = next((item[key] for key in ("target", "id", "ref", "adr", "path", "to") if key in item), "")
    return find_front_matter_links({str(kind): target} if kind else item)


def find_successor(text: str) -> tuple[AdrLink, ...]:
    """Return the one record that the *text* of a status names, where it says no more of it: “superseded, use ADR-9”."""
    targets = {one.target for one in iter_references(text)}
    return tuple(AdrLink("superseded_by", target) for target in targets) if len(targets) == 1 else ()
