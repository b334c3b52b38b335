"""Read one sentence of a decision record: which relations it states between its own record and others.

A verb of `adr_verbs` counts where its own record is subject or object: by name (“this ADR”), because nothing else is
there (a field, a list item), or because the sentence stands where all is said of it (a status). What is said of other
records, of tools, under a condition or with “not” is no relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kb.adr.adr_fields import is_status_word
from kb.adr.adr_grammar import (
    AND_WORDS,
    ARTICLES,
    ASIDE,
    BESIDE,
    BESIDE_VERB,
    BY,
    BY_ENGLISH,
    BY_SELF,
    BY_SELF_BEFORE,
    FORMER,
    HEREBY,
    HYPOTHETIC,
    IN_PART,
    NEGATION,
    OBJECT_BEHIND,
    OF,
    PART_BEHIND,
    PART_NOUNS,
    PLAIN,
    RATHER,
    RECORD_NOUNS,
    RELATIVE_WORDS,
    REMARK,
    SECTION,
    SEE,
    SELF_WORDS,
)
from kb.adr.adr_text import AdrLink, AdrReference, iter_references
from kb.adr.adr_verbs import (
    AGENT_CASE,
    IS_ACTIVE,
    IS_RETIRED,
    PART_WORDS,
    VERB,
    choose_relation,
    read_verb,
)

MAX_GAP_CHARACTERS = 160
"""Characters between a verb and the record it speaks of; farther away it speaks of something else."""
MAX_OBJECTS = 99
MAX_VERBS = 24
_MAX_FIELD_CHARACTERS = 40
_TOKEN = re.compile(r"\x00+|[^\W_]+(?:['’-][^\W_]+)*['’]?|[^\w\s]")
_GRANTED = re.compile(r"(?i)\b(?:if|once|when|as soon as) (?:accepted|approved|adopted|ratified)\b")
"""A condition that is met by the time the record is read."""
_QUOTE = re.compile(
    r"\"[^\"\x00]{0,160}\"|“[^“”\x00]{0,160}”|„[^“”„\x00]{0,160}[“”]|«[^«»\x00]{0,160}»|「[^「」\x00]{0,160}」"
)
_FOREIGN_LINK = re.compile(r"\[[^\[\]]{0,200}\]\([^()\s]{1,300}\)")


class AdrClause(NamedTuple):
    """A sentence with its records blanked out."""

    text: str
    """Each record is \\0 as long as it was, what is quoted or leads to a page is one word."""
    records: Sequence[AdrReference]
    is_own: bool
    """Whether all in it is said of the record itself, as in a status."""

    def list_between(self, start: int, end: int) -> list[AdrReference]:
        """Return the records from *start* to *end*."""
        return [one for one in self.records if start <= one.start and one.end <= end]


def _blank_out(match: re.Match[str]) -> str:
    """Return a word as long as *match*: of x for what is quoted, of y for a link."""
    return ("y" if match.group().startswith("[") else "x") * len(match.group())


def parse_clause(sentence: str, *, is_own: bool = False) -> AdrClause | None:
    """Return *sentence* with its records blanked out, or None where it names none."""
    records = [*islice(iter_references(sentence), MAX_OBJECTS)]
    if not records:
        return None
    text = sentence
    for one in records:
        text = f"{text[: one.start]}{chr(0) * (one.end - one.start)}{text[one.end :]}"
    for pattern in (_QUOTE, _FOREIGN_LINK):
        text = pattern.sub(_blank_out, text)
    return AdrClause(_GRANTED.sub(lambda match: " " * len(match.group()), text), records, is_own)


# -- verbs and their objects ----------------------------------------------------------------------


def iter_spaced_links(clause: AdrClause) -> Iterator[AdrLink]:
    """Yield the relations that *clause* states of its own record with a verb between subject and object."""
    verbs = [*islice(VERB.finditer(clause.text), MAX_VERBS)]
    for number, match in enumerate(verbs):
        limit = verbs[number + 1].start() if number + 1 < len(verbs) else len(clause.text)
        kind, form = read_verb(match)
        behind = clause.text[match.end() : limit]
        left = _cut_left(clause.text, match.start())
        rather = RATHER.match(left)
        if HYPOTHETIC.search(left) or NEGATION.search(left[rather.end() if rather else 0 :][-60:]):
            continue
        aside = ASIDE.match(behind)  # "Superseded (it was never built) by ADR-9"
        skipped = aside.end() if aside and BY.match(behind, aside.end()) else 0
        behind = behind[skipped:]
        by = form == "acts" and BY_ENGLISH.match(behind)  # "supersede by"
        if form == "done":
            by = BY.match(behind) or (not IS_RETIRED.match(match.group()) and SEE.match(behind))
        by = by or (form == "heir" and HEIR.match(behind))
        is_agent = form == "done" and AGENT_CASE.fullmatch(match.group()) is not None
        is_agent = is_agent and bool(re.match(r"\s?:?\s{0,2}(?:na |на |is |on )?\x00", behind))
        subject = _find_subject(clause, left, match.start(), is_noun=form == "nouns")
        if match.start() < _MAX_FIELD_CHARACTERS and "/" in left and _LABEL.match(behind):
            subject = "self"  # "Builds on / amends: ADR-4"
        if by or is_agent:
            start = match.end() + skipped + (by.end() if by else 0)
            is_for = bool(by and by.groupdict().get("for"))
            yield from _iter_passive_links(clause, kind, subject, match, start, limit, is_for=is_for)
        elif form == "heir":
            continue
        elif form != "done" or IS_ACTIVE.fullmatch(match.group()) or subject == "named":
            yield from _iter_active_links(clause, kind, form, subject, match, limit)
        is_here = BY_SELF.match(clause.text, match.end()) or (
            subject == "beside" and re.match(r"\s(?:because|weil)\b", behind)
        )
        is_here = is_here or HEREBY.search(left[-20:]) or BY_SELF_BEFORE.search(left[-60:])
        is_told = subject in ("record", "beside", "attribute") or BY_SELF_BEFORE.search(left[-60:])
        if form == "done" and is_told and is_here:
            named = clause.list_between(match.start() - len(left), match.start()) or clause.list_between(
                max(0, match.start() - MAX_GAP_CHARACTERS), match.start()
            )
            is_part = subject not in ("record", "beside")  # "ADR-2 holds; its limit is replaced by this record"
            yield from (AdrLink(choose_relation(kind, is_passive=False), one.target, is_part) for one in named[-1:])


HEIR = re.compile(r"[\s*_]{0,3}(?:[:：]|is\b|ist\b|(?=\x00))")
_BOUNDARY = re.compile(r"[;；。：|(（·•]|:(?!\w)|\.\s|\s[—–-]{1,2}\s|—")


def _cut_left(text: str, end: int) -> str:
    """Return what stands in *text* before *end* in the same clause."""
    left = ASIDE.sub(lambda match: " " * len(match.group()), text[max(0, end - 240) : end])
    start = 0
    for match in _BOUNDARY.finditer(left):
        start = match.end()
    return left[start:]


_TAKEN_AS = frozenset("as recorded written filed added serves acts intended meant als festgehalten comme como".split())
"""“Recorded as an amendment to ADR-2”."""
_ENCLOSED = re.compile(r"\x00\W{0,3}[(（][^()（）]{0,200}\Z")


def _find_subject(clause: AdrClause, left: str, at: int, *, is_noun: bool) -> str:
    """Return what the verb at *at* has as its subject, from what stands before it in its clause.

    self (left out), named (this record in words), record (another one), attribute (something of another one), beside
    (nothing, but another record is named before), part, which, or noun.
    """
    tokens = [token.lower() for token in _TOKEN.findall(left)]
    while tokens and tokens[-1] != ",":
        is_idle = tokens[-1] in BESIDE_VERB or (is_noun and (tokens[-1] in ARTICLES or tokens[-1] in _TAKEN_AS))
        is_idle = (
            is_idle or tokens[-1].isdigit() or is_status_word(tokens[-1]) or VERB.fullmatch(tokens[-1]) is not None
        )
        if not is_idle and (tokens[-1][0].isalnum() or tokens[-1][0] == "\x00"):
            break
        tokens.pop()
    if not tokens:
        before = clause.text[: at - len(left)].rstrip(" (（—–-:：|*_")
        is_aside = clause.text[: at - len(left)].rstrip()[-1:] in ("(", "（")
        return "beside" if before.endswith("\x00") or (is_aside and "\x00" in before[-160:]) else "self"
    if tokens[-1] in (",", *AND_WORDS):
        opening = _find_first_subject(tokens)
        return "self" if opening == "noun" and clause.is_own else opening
    if tokens[-1] in RELATIVE_WORDS:
        return "record" if len(tokens) > 1 and ("\x00" in tokens[-2] or "\x00" in "".join(tokens[-3:])) else "which"
    tail = tokens[max((n + 1 for n, token in enumerate(tokens) if token == "," or token in AND_WORDS), default=0) :]
    named = [number for number, token in enumerate(tail) if "\x00" in token]
    if named:  # "the loop of ADR-2", "ADR-2 step 6"
        beside = " ".join((*tail[: named[0]], *tail[named[-1] + 1 :]))
        return "attribute" if PLAIN.sub("", beside).strip() else "record"
    if tail and (tail[0] in SELF_WORDS or tail[-1] in SELF_WORDS or (tail[0] in ARTICLES and tail[-1] in RECORD_NOUNS)):
        return "named" if not (tail[-1] == "it" and any("\x00" in token for token in tokens)) else "noun"
    if len(tail) > 1 and tail[-2] in SELF_WORDS:
        return "named"
    if "\x00" in tokens[0] and not clause.is_own:
        return "attribute"  # "ADR-2 (…), its loop is superseded by ADR-7"
    if _ENCLOSED.search(clause.text[max(0, at - 240) : at]):
        return "record"  # "ADR-2 (its loop is superseded by ADR-7)" speaks of ADR-2
    return "part" if any(token in PART_NOUNS for token in tail) else "noun"


def _find_first_subject(tokens: Sequence[str]) -> str:
    """Return the subject of a verb that goes on in a sentence: what the sentence begins with."""
    first = next((n for n, token in enumerate(tokens) if token not in BESIDE_VERB and token not in AND_WORDS), 0)
    head = [token for token in tokens[first : first + 3] if token not in ARTICLES - SELF_WORDS]
    if not head or is_status_word(head[0]) or VERB.fullmatch(head[0]):
        return "self"
    if "\x00" in head[0]:
        return "record"
    return "named" if any(token in SELF_WORDS for token in head) else "noun"


def _iter_passive_links(
    clause: AdrClause, kind: str, subject: str, verb: re.Match[str], start: int, limit: int, *, is_for: bool
) -> Iterator[AdrLink]:
    """Yield the records that did to this one what *verb* says; they are named from *start*."""
    if subject in ("record", "beside", "attribute") or (subject == "which" and not clause.is_own):
        return
    found = list_objects(clause, start, limit, is_agent=True)
    is_part = is_for or subject in ("part", "noun")
    left = clause.text[max(0, verb.start() - 40) : verb.start()]
    between = clause.text[verb.start() : found[0].start] if found else ""
    is_part = is_part or bool(IN_PART.search(f"{left} {between}"))
    is_open = subject == "noun" and not clause.is_own
    for one in found:
        is_of_part = is_part or PART_BEHIND.match(clause.text, one.end) is not None
        yield AdrLink(choose_relation(kind, is_passive=True), one.target, is_of_part, is_open)


_LABEL = re.compile(rf"[\s*_]{{0,3}}(?:adrs?|decisions?|records?|by|{PART_WORDS})?[\s*_]{{0,3}}[:：|]", re.IGNORECASE)
_IT = re.compile(r"\s(?:it|them|both|dies\w{0,2}|diesen?)\b(?!\s?\x00)", re.IGNORECASE)
_OF_SELF = re.compile(
    r"\s(?P<part>[^.;,:\x00]{0,60}?\b(?:of|in|de|von|der|van|z)\s)?(?P<head>th(?:is|at|ese)|it|dies\w{0,3}|cet?(?:te)?"
    r"|est[ae]"
    r"|quest[ao]|deze|dit|t[ęea]n?|denne|dette|denna|detta|это|этот|эту|tento|toto|bu)(?!\w)\s?(?P<noun>[^\W\d_]{0,20})"
)


def _iter_active_links(
    clause: AdrClause, kind: str, form: str, subject: str, verb: re.Match[str], limit: int
) -> Iterator[AdrLink]:
    """Yield the records that *verb* acts on, or where it acts on this one, the record that is its subject."""
    if subject in ("record", "beside", "which") and (of_self := _OF_SELF.match(clause.text, verb.end())):
        named = clause.list_between(max(0, verb.start() - MAX_GAP_CHARACTERS), verb.start())
        noun = of_self["noun"].lower()
        is_whole = of_self["head"].lower() in ("it", "this") or not noun or noun in RECORD_NOUNS or noun in BESIDE_VERB
        if subject != "which":
            for one in named[-1:]:
                yield AdrLink(
                    choose_relation(kind, is_passive=True),
                    one.target,
                    bool(of_self["part"]) or not is_whole or clause.text[of_self.end() :][:2] in ("'s", "’s"),
                    not is_whole,
                )
        return
    if subject not in ("self", "named"):
        return
    if _IT.match(clause.text, verb.end()):  # "ADR-2 (this record amends it)"
        named = clause.list_between(max(0, verb.start() - MAX_GAP_CHARACTERS), verb.start())
        yield from (AdrLink(choose_relation(kind, is_passive=False), one.target) for one in named[-1:])
        return
    is_label = _LABEL.match(clause.text, verb.end()) is not None
    is_said = is_label or subject == "named"
    if form == "bare" and not is_said and clause.text[: verb.start()].rstrip()[-1:] not in ("(", ",", "（"):
        return
    if kind == "update" and form != "nouns" and not (is_said or clause.is_own):
        return
    found = list_objects(clause, verb.end(), limit, is_label=is_label)
    if not found and subject == "named" and _PRONOUN_BEFORE.search(clause.text[: verb.start()]):  # "ten ADR go zmienia"
        named = clause.list_between(max(0, verb.start() - MAX_GAP_CHARACTERS), verb.start())
        yield from (AdrLink(choose_relation(kind, is_passive=False), one.target) for one in named[-1:])
        return
    if not found and subject == "named" and kind in ("supersede", "amend"):
        yield from _find_named_before(clause, kind, verb)
    if not found:
        return
    lead = clause.text[verb.end() : found[0].start]
    words = clause.text[max(0, verb.start() - 30) : found[0].start]
    is_said_part = IN_PART.search(words) is not None
    is_part = is_said_part or bool(PLAIN.sub("", lead).strip())
    is_part = is_part and not (FORMER.search(lead) and lead.rstrip().endswith("("))
    is_part = is_part or bool(re.search(r"(?i)\bthe\s{0,3}\Z", lead) and OBJECT_BEHIND.match(clause.text, found[0].end))
    for one in found:
        part = PART_BEHIND.match(clause.text, one.end)
        is_of_part = is_part or part is not None
        is_said_part = is_said_part or bool(part and part.group()[-1:].isdigit())  # "refines ADR-2 decision 3"
        is_vague = form == "bare" or (kind in ("refine", "update") and not (clause.is_own or is_label))
        if not (is_of_part and is_vague and not is_said_part):
            yield AdrLink(choose_relation(kind, is_passive=False), one.target, is_of_part)


_PRONOUN_BEFORE = re.compile(r"(?i)(?<!\w)(?:go|ją|je|ich|le|la|les|l['’]|lo|los|las|li|его|её|ее|их|його|ho|ji)\s?\Z")
"""An object before its verb."""
_BEHIND_RECORD = re.compile(
    r"\A\W{0,3}\x00+[^\x00]{0,120}?(?:\s[—–-]{1,2}|[:：(（])\s?"
    r"(?P<what>[^\x00.;]{2,60}\s(?:that|which|que|qui|che|die|das|den|dat|som|które|который)\s"
    r"|(?:introduced|added|brought|defined|set up|chose|proposed|created)\s[^\x00.;]{2,60}\s)?\Z"
)


def _find_named_before(clause: AdrClause, kind: str, verb: re.Match[str]) -> Iterator[AdrLink]:
    """Yield the record that an item names, then saying what this one does to a part of it.

    “ADR-2 — this replaces its gate”, “ADR-2 — the gate that this record replaces”.
    """
    start = max(0, verb.start() - 60)
    words = re.finditer(r"[^\W\d_]+", clause.text[start : verb.start()])
    subject = max((start + word.start() for word in words if word.group().lower() in SELF_WORDS), default=0)
    found = _BEHIND_RECORD.fullmatch(clause.text[:subject])
    if found and (found["what"] or not re.match(r"\s*[.;,)]", clause.text[verb.end() :])):
        yield AdrLink(choose_relation(kind, is_passive=False), clause.records[0].target, True, True)


def list_objects(
    clause: AdrClause, start: int, limit: int, *, is_label: bool = False, is_agent: bool = False
) -> list[AdrReference]:
    """Return the records between *start* and *limit* that stand there as one list, from the first on."""
    found: list[AdrReference] = []
    end = start
    for one in clause.list_between(start, limit):
        gap = clause.text[end : one.start]
        bare = ASIDE.sub("", SECTION.sub("", gap))
        bare = QUALIFIED.sub("", bare, count=1) if found else bare
        if NEGATION.search(gap) or len(gap) > MAX_GAP_CHARACTERS:
            break
        if found:
            beside = BESIDE.match(bare)
            if beside is None or not (beside.end() == len(bare) or _is_object(bare[beside.end() :])):
                break
        elif is_agent and not re.search(r"[.!?;]\s", bare) and not REMARK.search(bare):
            pass
        elif not _is_object(bare, is_label=is_label) and not re.fullmatch(r"[^.;:—]{2,90}\s?\(\s?", bare):
            break
        found.append(one)
        end = one.end
    return [] if _NOT_BEHIND.match(clause.text, end) and found else found


QUALIFIED = re.compile(
    r"(?i)\A\s?(?:(?:integralmente|completely|entirely|fully|in full|in its entirety|vollständig|komplett|totalement"
    r"|entièrement|por completo|totalmente|completamente|volledig|całkowicie|полностью|helt)\b"
    r"|(?:for|on|in|regarding|für|pour|para)\b[^;,\x00]{0,80}(?=[;,])|的[^，。；\x00]{1,40}(?=[与和及、]))"
)
"""What may follow a record of a list: “superseded by ADR-9 for decision 2; ADR-10 for the rest”."""
_NOT_BEHIND = re.compile(r"[\s*_]{1,4}(?:nicht|niet|inte|ikke|ej|ei)\b")
"""“Dieses ADR ersetzt ADR-3 nicht.”"""


_ATTRIBUTE = re.compile(r"(?i)(?:the|this|der|die|das|den|dem|la|le|el|o|a|de|het)\s[^,;:()]{0,40}")
"""“supersedes the retry rule ADR-3”."""


_JOINED = re.compile(r"(?i)(?:and|or|but|und|oder|et|ou|y|e|en|og|och|i|и)\b")


def _is_object(gap: str, *, is_label: bool = False) -> bool:
    """Return whether *gap*, behind a verb, leads to a record as what it acts on: plain words, or a part and “of”."""
    plain = gap.strip(" *_:：|")
    if _JOINED.match(plain):
        return False  # "is complete and ADR-3 asks for it"
    if gap.count(")") > gap.count("(") or re.search(r"[.!?]\s|[:;]\s" if not is_label else r"[.!?]\s", plain):
        return False
    rest = PLAIN.sub("", IN_PART.sub("", plain)).strip()
    joint = OF.search(f"{plain} ")
    is_led = joint is not None or _ATTRIBUTE.fullmatch(plain) is not None
    return not rest or (is_led and not REMARK.search(plain[: joint.start() if joint else None]))
