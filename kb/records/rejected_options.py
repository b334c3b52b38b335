"""Extract the names of the options that a decision turned down, for the index; `guard.taken_options` looks for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.records.model import Record
from kb.startup.lazy_regex import regex

NAME, WORD, CODE, SORT = "name", "word", "code", "sort"
"""What names an option: a product ("RabbitMQ") counts wherever code uses it, an ordinary word ("memcached sidecar")
only as a package, a piece of code (`approved: bool`) as it is written, a sort ("a shared database") by any of its
products."""

SORTS = {
    "database": "database", "databases": "database", "db": "database", "数据库": "database", "cache": "cache",
    "缓存": "cache", "queue": "queue", "broker": "queue", "队列": "queue", "orm": "orm", "service": "server",
    "server": "server", "daemon": "server", "microservice": "server", "服务": "server", "服务器": "server",
}  # fmt: skip
"""Word → the sort of product that it means where no product is named."""

_MAX_OPTIONS, _MAX_HEAD_CHARACTERS, _MAX_CODE_CHARACTERS = 12, 90, 60
_KINDS = ("decision", "constraint", "interface")
_ITEM = regex(r"\A\s*+(?:[-*+•]|\d{1,2}[.)、]|#{2,6}|\|)\s++")
# what stands behind the option: "Redis — ops refuses it", "Flask：更底层", "Kafka (too heavy)", "Django because …"
_REASON = regex(r"\s[—–|-]+\s|[:：(（|]|[,，;；。]|\.\s|\.$|\s(?:because|since|as it|but)\s|因为|由于|但")
_CODE_SPAN = regex(r"`([^`\n]{2,80})`")
_TOKEN = regex(r"[A-Za-z][A-Za-z0-9]*(?:[.+#/-][A-Za-z0-9]+)*(?:\+\+|#)?")
_IDENTIFIER = regex(r"@?[A-Za-z_][\w./-]*")
_CHOSEN = regex(r"(?i)\b(?:chosen|selected|accepted|adopted|this (?:one|option))\b|✅|✔|选定|选中|采纳|最终选择")
# “Use X instead of Y”, 用 X 而不是 Y: what follows is turned down, not chosen
_CONTRAST = regex(
    r"(?i)(?:\b(?:instead of|rather than|over|not|without|no longer|replac\w+|drop\w*|versus|vs)\b|而不是|而非|"
    r"代替|替代|取代|不用|不使用|不采用|弃用)[^.;；。，,\n]*"
)
_GENERIC = frozenset(
    """option alternative approach solution keep nothing none good bad neutral pros cons current existing custom own
    simple plain single shared separate central common use using build make write store load service server client
    library framework tool tools cache database queue table file files code data type types class model module package
    test tests config string object value field method function parameter request response session token user time
    based only first both each every with without from into through more less same other standard default native
    static dynamic local remote global internal external manual automatic java python javascript typescript
    golang rust kotlin http https json yaml html rest base core util utils common main index src docs web app api sql
    system path json xml""".split()
)  # words under which packages exist, and with which any option may begin


def extract_rejected_options(record: Record) -> list[tuple[str, str]]:
    """Return (folded text, NAME | WORD | CODE) for what names the options that *record* turned down.

    What the record chose is left out, by its title and the beginning of its decision: lists of considered options
    mostly hold it as well.
    """
    text = record.section("alternatives")
    if record.kind not in _KINDS or len(text) < 3:
        return []
    chosen = {*_iter_tokens(_CONTRAST.sub(" ", f"{record.title}\n{record.section('decision')[:300]}"))}
    parts = {part for token in chosen for part in (token, *re.split(r"[.+#/-]", token))}
    found: dict[str, str] = {}
    for row in _iter_rows(text):
        head = _cut_reason(row)[:_MAX_HEAD_CHARACTERS]
        names = dict(_iter_names(head))
        for value, sort in names.items():
            if value not in parts and found.get(value) != NAME:
                found[value] = sort
        if not {NAME, CODE} & set(names.values()):
            found |= {meant: SORT for word, meant in SORTS.items() if _has_term(head, word)}
    return list(found.items())


def find_option_row(record: Record, value: str) -> str:
    """Return the row of the alternatives of *record* in which `extract_rejected_options` found *value*; "" for none."""
    for row in _iter_rows(record.section("alternatives")):
        head = _cut_reason(row)[:_MAX_HEAD_CHARACTERS]
        if value in dict(_iter_names(head)) or any(_has_term(head, word) for word in SORTS if SORTS[word] == value):
            return row
    return ""


def _has_term(head: str, word: str) -> bool:
    return word in head if not word.isascii() else re.search(rf"\b{word}\b", head, re.IGNORECASE) is not None


def _iter_rows(text: str) -> Iterator[str]:
    """Yield the options in *text*, those not marked as chosen: the items of its list, or else its sentences."""
    rows = [row for row in text.splitlines() if row.strip()]
    items = [row for row in rows if _ITEM.match(row)]
    pieces = items or [piece for row in rows for piece in re.split(r"(?<=[.;；。])\s*", row)]
    for piece in pieces[:_MAX_OPTIONS]:
        plain = _ITEM.sub("", piece, count=1).replace("**", "").strip()
        if not _CHOSEN.search(plain):
            yield plain


def _cut_reason(row: str) -> str:
    """Return *row* up to its reason; a code span is not cut: `approved: bool` has a colon of its own."""
    spans = [match.span() for match in _CODE_SPAN.finditer(row)]
    for match in _REASON.finditer(row):
        if match.start() and not any(start <= match.start() < end for start, end in spans):
            return row[: match.start()]
    return row


def _iter_names(head: str) -> Iterator[tuple[str, str]]:
    for span in _CODE_SPAN.findall(head):
        squeezed = re.sub(r"\s+", "", span).casefold()
        if _IDENTIFIER.fullmatch(span.strip()):
            yield squeezed.strip("@./"), NAME
        elif 4 < len(squeezed) <= _MAX_CODE_CHARACTERS:
            yield squeezed, CODE
    plain = _CODE_SPAN.sub(" ", head)
    tokens = list(_TOKEN.finditer(plain))
    for match in tokens:
        token, folded = match[0], match[0].casefold()
        if folded in _GENERIC or len(folded) < 3:
            continue
        # a capital says nothing at the beginning of a sentence, unless the option is this one word
        begins = not plain[: match.start()].strip() and len(tokens) > 1
        is_name = not token.isupper() and (
            any(map(str.isupper, token[1:])) or any(map(str.isdigit, token)) or (token[0].isupper() and not begins)
        )
        if is_name or len(folded) > 3:
            yield folded, NAME if is_name else WORD


def _iter_tokens(text: str) -> Iterator[str]:
    yield from (match[0].casefold() for match in _TOKEN.finditer(text))
