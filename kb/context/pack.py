"""ContextPack: quotes on a question, open questions, and contradictions with the code; values and JSON schema.

Nothing in it is made up. A summary line is a title and a first sentence, a quote is a piece of its file, and a word of
the question that no record has becomes an open question with the places to look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.records.front_matter import find_body_start
from kb.records.model import Record
from kb.search.query import Query, extract_keywords
from kb.text.segment import extract_ranking_terms, find_line_number, first_sentence, fold_text, one_line, stem

if TYPE_CHECKING:
    from typing import Any

VERSION = "kb/pack/v1"
MAX_QUOTE_CHARACTERS = 600  # characters of a quote, at most, unless one sentence is longer
MAX_QUOTES_PER_RECORD = 2  # quotes of one record, at most
_SECOND_QUOTE_SHARE = 0.5  # the share of the first quote's terms that a second one needs
_TERMS = 12

_PARAGRAPH = re.compile(r"(?m)^(?:[^\S\r\n]*\S[^\r\n]*(?:\r\n|\n|\r|\Z))+")
_NO_TEXT = re.compile(r"[ \t]*+(?:#{1,6}[ \t].*|<!--.*-->|[:|-][ \t:|-]*+|`{3,}.*|~{3,}.*)?[\r\n]*+\Z")
_SENTENCE = re.compile(r"[^。！？!?\r\n]+?(?:[。！？!?]+|\.(?=\s)|\r\n|\n|\r|\Z)\s*")


class QuotedEvidence(NamedTuple):
    """A piece of a record's file, word for word."""

    id: str
    scope: str
    title: str
    status: str
    file: str  # relative to the knowledge base, with forward slashes
    line: int  # 1-based, of the first character of the quote
    quote: str  # as it is in the file: its UTF-8 bytes occur there
    commit: str  # the commit that last changed the file; "" while the file has changes that are not committed
    date: str  # ISO 8601: of that commit; without one, of the file


class SummaryLine(NamedTuple):
    """What a record says in one line."""

    id: str
    scope: str
    text: str


class OpenQuestion(NamedTuple):
    """What the records do not say, and where to look."""

    question: str
    look: tuple[str, ...]


class FileConflict(NamedTuple):
    """A record and the project's files say different things of something that can be checked."""

    id: str
    scope: str
    kind: str  # path, symbol, version, port or env
    said: str
    found: str
    file: str
    line: int
    proposal: str


class UnverifiedClaim(NamedTuple):
    """A claim that no rule can check: a person has to look."""

    id: str
    scope: str
    said: str
    why: str


class Pack(NamedTuple):
    """An answer with its evidence and what is open."""

    version: str
    question: str
    summary: tuple[SummaryLine, ...] = ()
    evidence: tuple[QuotedEvidence, ...] = ()
    open_questions: tuple[OpenQuestion, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()
    needs_review: tuple[UnverifiedClaim, ...] = ()
    withheld: tuple[str, ...] = ()  # why records that answer too are not quoted: they speak to an agent


class Quote(NamedTuple):
    """A piece of a text and the line on which it begins."""

    text: str
    line: int


def select_quotes(text: str, question: Query) -> list[Quote]:
    """Return the pieces of the file *text* that say most of *question*; its first words where none says any."""
    wanted = question.weights
    quotes = list(_iter_paragraphs(text))
    scored = [(_score_text(quote.text, wanted), quote) for quote in quotes]
    scored.sort(key=lambda one: (-one[0], one[1].line))
    # A second quote that says little of the question only takes room; without any hit the first words must do.
    best = [
        quote
        for worth, quote in scored[:MAX_QUOTES_PER_RECORD]
        if worth and worth >= _SECOND_QUOTE_SHARE * scored[0][0]
    ] or quotes[:1]
    return sorted((_shorten_quote(quote, wanted) for quote in best), key=lambda quote: quote.line)


def _iter_paragraphs(text: str) -> Iterator[Quote]:
    """Yield the paragraphs of the body: no headings, markers, rulers or fences alone."""
    for match in _PARAGRAPH.finditer(text, find_body_start(text)):
        rows = match.group().splitlines(keepends=True)
        at = match.start()
        while rows and _NO_TEXT.match(rows[0]):
            at += len(rows.pop(0))
        while rows and _NO_TEXT.match(rows[-1]):
            rows.pop()
        if piece := "".join(rows).rstrip():
            yield Quote(piece, find_line_number(text, at))


def _score_text(text: str, wanted: Mapping[str, float]) -> float:
    held = set(extract_ranking_terms(text))
    return sum(weight for term, weight in wanted.items() if term in held)


def _shorten_quote(quote: Quote, wanted: Mapping[str, float]) -> Quote:
    """Return the sentences of *quote* around the one that says most, at most MAX_QUOTE_CHARACTERS."""
    if len(quote.text) <= MAX_QUOTE_CHARACTERS:
        return quote
    spans = [match.span() for match in _SENTENCE.finditer(quote.text)] or [(0, len(quote.text))]
    best = max(range(len(spans)), key=lambda n: (_score_text(quote.text[slice(*spans[n])], wanted), -n))
    start, end = spans[best]
    for _, further in spans[best + 1 :]:
        if further - start > MAX_QUOTE_CHARACTERS:
            break
        end = further
    piece = quote.text[start:end].rstrip()
    return Quote(piece, quote.line + len(re.findall(r"\r\n|\n|\r", quote.text[:start])))


def summarise_record(record: Record) -> SummaryLine:
    """Return what *record* says in one line: its title, and the first sentence of its decision or reason."""
    sections = map(record.section, ("decision", "why", "context"))
    first = first_sentence(next((text for text in sections if text.strip()), ""))
    title = one_line(record.title)
    return SummaryLine(record.id, record.scope, f"{title}: {first}" if first and first != title else title)


def find_uncovered_words(question: Query, texts: Iterable[str]) -> list[str]:
    """Return the words of *question* that none of *texts* has."""
    whole = fold_text("\n".join(texts))
    held = set(extract_ranking_terms(whole))
    return [word for word in extract_keywords(question, _TERMS) if stem(word) not in held and word not in whole]


# -- the form -------------------------------------------------------------------------------------

_TEXT: Mapping[str, Any] = {"type": "string"}
_LINE: Mapping[str, Any] = {"type": "integer", "minimum": 1}


def _build_array_schema(fields: Sequence[str], **others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects with *fields*, which are texts but for *others*."""
    properties = {field: others.get(field, _TEXT) for field in fields}
    item = {"type": "object", "properties": properties, "required": [*fields], "additionalProperties": False}
    return {"type": "array", "items": item}


_FIELDS: Mapping[str, Any] = {
    "version": {"const": VERSION},
    "question": _TEXT,
    "summary": _build_array_schema(SummaryLine._fields),
    "evidence": _build_array_schema(
        QuotedEvidence._fields,
        file={**_TEXT, "description": "Relative to the knowledge base."},
        line=_LINE,
        quote={**_TEXT, "minLength": 1, "description": "Occurs in the file, byte for byte."},
        commit={**_TEXT, "description": "Empty while the file has changes that are not committed."},
        date={**_TEXT, "format": "date-time"},
    ),
    "open_questions": _build_array_schema(OpenQuestion._fields, look={"type": "array", "items": _TEXT, "minItems": 1}),
    "conflicts": _build_array_schema(
        FileConflict._fields, kind={"enum": ["path", "symbol", "version", "port", "env"]}, line=_LINE
    ),
    "needs_review": _build_array_schema(UnverifiedClaim._fields),
    "withheld": {"type": "array", "items": _TEXT},
}
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A context pack",
    "type": "object",
    "properties": dict(_FIELDS),
    "required": [*_FIELDS],
    "additionalProperties": False,
}
"""The form of a pack, as JSON or YAML."""


def iter_schema_errors(value: object, schema: Mapping[str, Any] = SCHEMA, place: str = "pack") -> Iterator[str]:
    """Yield the places of *value* that are not as *schema* says; it knows what the schema of a pack is made of."""
    if "const" in schema or "enum" in schema:
        if value not in schema.get("enum", [schema.get("const")]):
            yield place
        return
    kinds: Mapping[str, Any] = {"string": str, "integer": int, "array": list, "object": dict}
    if not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool):
        yield place
    elif isinstance(value, dict):
        known = schema["properties"]
        yield from (f"{place}.{key}" for key in (*schema["required"], *value) if key not in value or key not in known)
        for key in known.keys() & value.keys():
            yield from iter_schema_errors(value[key], known[key], f"{place}.{key}")
    else:
        size = value if isinstance(value, int) else len(value)
        if size < max(schema.get(least, 0) for least in ("minimum", "minItems", "minLength")):
            yield place
        for number, item in enumerate(value if isinstance(value, list) else ()):
            yield from iter_schema_errors(item, schema["items"], f"{place}[{number}]")


def dump_yaml(value: object, indent: str = "") -> str:
    """Return *value*, made of values, mappings, lists, text and numbers, as YAML; every text as JSON writes it."""
    from kb.safety.injection import escape_hidden

    value = value._asdict() if hasattr(value, "_asdict") else value
    deeper = f"{indent}  "
    if isinstance(value, Mapping) and value:
        rows = []
        for key, item in value.items():
            is_nested = isinstance(item, Mapping | list | tuple) and item
            rows.append(f"{indent}{key}:" + ("\n" + dump_yaml(item, deeper) if is_nested else f" {dump_yaml(item)}"))
        return "".join(rows)
    if isinstance(value, list | tuple) and value:
        # The first row of an item follows its dash.
        return "".join(f"{indent}- {dump_yaml(item, deeper)[len(deeper) :]}" for item in value)
    return f"{indent}{escape_hidden(json.dumps(value, ensure_ascii=False))}\n"
