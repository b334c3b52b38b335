"""Parse single values of foreign decision records: status words, dates, numbers, titles (see `adr`).

A word that is not certain is never guessed: the caller keeps the text and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from kb.adr.adr_words import CHANGE_HEADINGS, FIELD_BY_WORD, MISSPELT, MONTH_BY_NAME, STATUS_BY_WORD, STATUS_SIGNS
from kb.records.model import Status

_IN_PART = re.compile(
    r"\b(?:partial(?:ly)?|partly)[ -](?:be(?:en)? )?super[sc]e+ded"
    r"|\bsuper[sc]e+ded[*_ -]{1,3}(?:in[ -]part|partial|partly)"
    r"|\b(?:half|parts?|portions?|sections?|clauses?|aspects?)(?: of [^.;,\n]{1,60}?)?[*_ ]{1,4}"
    r"(?:(?:is|are|was|were|has been|have been|now)[*_ ]{1,4}){0,3}super[sc]e+ded"
    r"|\b(?:teilweise|in teilen) (?:ersetzt|abgelöst)|\bpartiellement remplac|\bremplacée? partiellement"
    r"|\bparcialmente (?:reemplaza|sustitu|substitu)|\bчастично замен|부분적으로 대체"
    r"|\bdelvi[st]t? (?:er )?(?:erstattet|ersatt|avløst|afløst|avlöst)|\bosittain korvattu|\bgedeeltelijk vervangen"
    r"|\bcz[ęe][śs]ciowo zast[ąa]pion|\bparzialmente sostitui|\b(?:erstattet|ersatt|vervangen) (?:delvis|gedeeltelijk)"
    r"|一部(?:が|は|を)?[^。；\n]{0,80}?(?:置き換え|置換)"
    r"|部分(?:被|由)?[^，。；\n]{0,80}?(?:取代|替代|替换)|(?:被|由)[^，。；\n]{0,80}?部分(?:取代|替代|替换)",
    re.IGNORECASE,
)
_SUPERSEDED_LATER = re.compile(
    r"(?:^|[;,.(\n·•|→/]|\band\b|\bbut\b|\bnow\b|^[\W_]{0,9}[^\W\d_]{5,12}[\s*_]{1,4}[—–])"
    r"[\s*_>-]{0,40}super[sc]e+ded[*_ ]{1,9}(?:jointly |entirely |fully )?by\b"
    r"|(?:^|[;,.(\n]|\band\b|\bbut\b|\bnow\b)[\s*_>-]{0,40}(?:replaced|obsoleted|invalidated|overridden|overruled)"
    r"[*_ ]{1,9}by\b"
    r"|(?<![不未])被[^，。；\n]{0,300}?(?:取代|替代|替换|覆盖|覆蓋|推翻)|に(?:よって|より)?\s?(?:置き換え|置換|差し替え)"
    r"|(?:^|[;,.(\n])[\s*_>-]{0,40}(?:ersetzt durch|abgelöst (?:durch|von)|remplacée? par|reemplazad[oa] por"
    r"|sustituid[oa] por|substitu[ií]d[oa] por|sostituit[oa] da|vervangen door|замен[её]н[аоы]?\s"
    r"|erstattet a[vf]|ersatt av|a[vf]løst a[vf]|avlöst av|korvattu\b|supersédée? par|zast[ąa]pion[aeoy] przez)",
    re.IGNORECASE,
)


class ParsedStatus(NamedTuple):
    """What a status text says."""

    status: Status
    certain: bool
    """False where no known word was found: the status is then `proposed`."""
    exact: bool
    """True where the text is the word and nothing else."""
    in_part: bool = False
    """True where a part of the record is superseded: it stays accepted for the rest."""


@lru_cache(maxsize=64)
def parse_status(text: str) -> ParsedStatus:
    """Return the status that the free *text* of a status field names, in English or Chinese."""
    text = _drop_legend(text)
    first = text.strip().partition("\n")[0]
    choices = [word for word in map(_find_status_word, _CHOICES.split(first)) if word]
    word, status, is_all = choices[0] if choices else ("", Status.PROPOSED, False)
    if len({one for _, one, _ in choices}) > 1 and not (len(choices) == 2 and status in _ENDED):
        return ParsedStatus(Status.PROPOSED, False, False)  # "proposed | accepted | rejected" is the form to fill in
    if _IN_PART.search(text):
        waiting = word and status in (Status.PROPOSED, Status.REJECTED)
        return ParsedStatus(status if waiting else Status.ACCEPTED, True, False, True)
    if _SUPERSEDED_LATER.search(text):
        return ParsedStatus(Status.SUPERSEDED, True, False)
    return ParsedStatus(status, bool(word), is_all and _strip_markup(text) == word)


_CHOICES = re.compile(r"(?<!\s)\s*+\|\s*|(?<!\s)\s++/\s+")
_ENDED = (Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED)
"""What is said twice for such a record, as in “Deprecated / Superseded by ADR-9”, is no choice."""
_CHECKED = re.compile(r"(?im)^[ \t]*(?:[-*+][ \t]+)?\[x\][ \t]*(.+)$")
_STRUCK = re.compile(r"~~[^~\n]*+~~")
_QUOTED = re.compile(r"(?m)^[ \t]*>.*(?:\n|\Z)")
_DEGREE = re.compile(
    r"(?:(?:fully|mostly|largely|substantially|already|now|currently|provisionally|tentatively|conditionally"
    r"|the decision is|decision|this (?:adr|decision) (?:is|has been)|当前|目前|暂时"
    r"|delvi[st]t?|teilweise|partiellement|parcialmente|parzialmente"
    r"|gedeeltelijk|cz[ęe][śs]ciowo|частично|osittain)[ :：]*)+"
)
"""What may stand before the word of a status: "Decision proposed", "Mostly implemented"."""


def _drop_legend(text: str) -> str:
    """Return what a status text says in its own voice: the ticked box of a list, nothing struck, no quoted legend."""
    if "<!--" in text:
        text = re.sub(r"<!--(?:[^-]|-(?!->))*+(?:-->|\Z)", "", text)
    text = read_badges(text)
    if checked := _CHECKED.findall(text):
        return "\n".join(checked)
    own = _STRUCK.sub("", text)
    if "\n" in own:  # “状态：提议/通过/已弃用” above the status itself
        told = [line for line in own.splitlines() if not _is_choice_of_all(line)]
        own = "\n".join(told) if any(map(str.strip, told)) else own
    return _QUOTED.sub("", own) if _QUOTED.sub("", own).strip() else own


def _is_choice_of_all(line: str) -> bool:
    """Return whether *line* lists the statuses that there are: three of them or more, and nothing else."""
    words = re.split(r"[/|｜、]", re.sub(r"^[^:：/|]{1,20}[:：]", "", line))
    return len(words) > 2 and all(map(is_status_word, words))


_BADGE = re.compile(r"!\[[^\[\]\n]{0,200}\]\([^()\s]{1,200}?/badge/([^()\s?]{1,200})[^()\s]{0,200}\)")


def read_badges(text: str) -> str:
    """Return *text* with the statuses that its badges show in their place."""
    return _BADGE.sub(_read_badge, text) if "/badge/" in text else text


def _read_badge(match: re.Match[str]) -> str:
    """Return the status in the address of a badge, `…/badge/adr-accepted-green`, or the picture as it is."""
    words = re.split(r"[-_/]|%20", match[1].removesuffix(".svg"))
    found = (word for word in words if (row := _find_status_word(word)) and row[0] == word.lower())
    return next(found, match.group())


def _strip_markup(text: str) -> str:
    """Return *text* without the emoji, braces and markup around it."""
    bare = re.sub(r"^[\W_]+", "", text.strip()).rstrip(" .。*_}\"'`").lower()
    return re.sub(r"(?<=[a-z])[_-](?=[a-z])", " ", bare.replace("’", "'"))


def _find_status_word(text: str) -> tuple[str, Status, bool] | None:
    """Return the row of the known word *text* begins with: word, status, and whether the word says all of it."""
    bare = _strip_markup(text)
    if degree := _DEGREE.match(bare):
        row = _find_status_word(bare[degree.end() :])
        return (bare, row[1], False) if row else None
    if dated := _DATE_BEFORE.match(bare):
        row = _find_status_word(bare[dated.end() :])
        return (bare, row[1], False) if row else None
    for row in STATUS_BY_WORD:
        # "acceptedly" is another word; a Chinese word may run on ("已接受并上线").
        if bare.startswith(row[0]) and not (row[0].isascii() and re.match(r"[a-z0-9]", bare[len(row[0]) :])):
            return row
    if not bare:
        return next(
            ((sign, status, False) for status, signs in STATUS_SIGNS.items() for sign in signs if sign in text), None
        )
    first = re.match(r"[a-z]{7,14}(?![\w-])", bare)
    meant = next((word for word in MISSPELT if _is_slip(first[0], word)), "") if first else ""
    return (bare, MISSPELT[meant], False) if meant else None


_WORDS = frozenset(word for word, _, _ in STATUS_BY_WORD)


def is_status_word(text: str) -> bool:
    """Return whether *text* is the word of a status and nothing else."""
    return _strip_markup(text) in _WORDS


_DATE_BEFORE = re.compile(r"\d{4}-\d\d-\d\d[\s:,–-]{1,4}(?=\D)")


def _is_slip(word: str, meant: str) -> bool:
    """Return whether *word* is *meant* but for one letter: too much, missing, wrong, or two that changed places."""
    if word[0] != meant[0] or abs(len(word) - len(meant)) > 1:
        return False
    start = next(
        (n for n, pair in enumerate(zip(word, meant, strict=False)) if pair[0] != pair[1]), min(len(word), len(meant))
    )
    left, right = word[start:], meant[start:]
    is_swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return left[1:] == right or left == right[1:] or left[1:] == right[1:] or is_swapped


# -- dates ----------------------------------------------------------------------------------------

_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})(?:(?:[-/.‐‑–]|\. )(\d{1,2})(?:[-/.‐‑–]|\. )(\d{1,2})(?!\d)"
    r"|\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일])"
)
_MONTH = "|".join(sorted(MONTH_BY_NAME, key=len, reverse=True))
_DAY_NAME = re.compile(
    rf"(?i)\b(\d{{1,2}})(?:st|nd|rd|th|\.|º|er|ª)?(?: de| of)?[ -]({_MONTH})\.?,?(?: del?)?[ -](\d{{4}})\b"
)
_NAME_DAY = re.compile(rf"(?i)\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b")
_YEAR_NAME = re.compile(rf"(?i)(?<!\d)(\d{{4}})[ -]({_MONTH})\.?[ -](\d{{1,2}})(?:st|nd|rd|th)?\b")
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|(?<=[./])\d\d)(?!\d)")
"""`23/11/2020`, and with dots also `23.11.20`; `10/04/18` only where the folder shows how it was meant."""
_COMPACT = re.compile(r"\A((?:19|20)\d\d)(\d\d)(\d\d)\Z")
_DATE_FORMS = (
    (_YEAR_FIRST, (0, 1, 2)),
    (_DAY_NAME, (2, 1, 0)),
    (_NAME_DAY, (2, 0, 1)),
    (_YEAR_NAME, (0, 1, 2)),
    (_YEAR_LAST, (3, 2, 0)),
)
"""Each form with the places of year, month and day among its groups; the last one may put the month first."""


class ParsedDate(NamedTuple):
    """What a date text says."""

    date: str
    """ISO, or "" where the text names no certain day."""
    exact: bool
    """True where the text is one date and nothing else."""


def parse_date(text: str, *, day_first: bool = False) -> ParsedDate:
    """Return the first day that *text* names.

    `05/02/2018` may be May or February and is no certain day, unless *day_first* says how it was meant; with dots, as
    in `05.02.2018`, the day stands first.
    """
    plain = _COMPACT.sub(r"\1-\2-\3", text.strip().strip("{}*_` "))
    found = ((match, places) for form, places in _DATE_FORMS if (match := form.search(plain)))
    match, places = next(found, (None, ()))
    if match is None:
        return ParsedDate("", False)
    is_exact = match.group() == plain
    groups = [group for group in match.groups() if group]
    year, month, day = (groups[place] for place in places)
    if match.re is _YEAR_LAST:
        first = is_day_first(match.group(), is_year_last=True)
        if _is_short(match) and not day_first and first is not False:  # 3/25/21 can be read in one way only
            return ParsedDate("", is_exact)
        if first is None and not day_first and day != month and "." not in match.group():
            return ParsedDate("", is_exact)
        month, day = (day, month) if first is False else (month, day)
        year = year if len(year) == 4 else f"20{year}"
    if match.re is _YEAR_FIRST and int(month) > 12 and int(day) <= 12:  # 2023-13-07 can be read in one way only
        month, day = day, month
    try:
        found_day = date(int(year), MONTH_BY_NAME.get(month.lower()) or int(month), int(day))
    except ValueError:
        return ParsedDate("", is_exact)
    return ParsedDate(found_day.isoformat(), is_exact)


_CLAUSE = re.compile(
    r"[;；\n]|[·•|]|\.\s|(?:super[sc]e+ded|replaced|amended|extended|revised|updated)[ -]|取代|替代|修订", re.IGNORECASE
)
"""Where a status text goes on to something else than the status: a date behind it is another event's."""


_BEGUN = re.compile(
    r"(?:proposed|drafted|created|written|提出|起草|创建)(?:\s{1,3}on)?\s{0,3}[:：]?\s{0,3}(\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)


DECIDED = re.compile(
    r"\b(?:accepted|approved|decided|adopted|ratified|agreed)[*_]{0,2}(?:[\s:,(（—–-]{1,4}(?:on\s)?)(\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
"""The day of the decision in a status that has gone on since: “Superseded by ADR-6 (was: Accepted, 2026-06-08)”."""
_DATE_WORD = re.compile(r"(?i)\A\s*+(?:date|dated|on|datum|日期|fecha|data)\b\s*[:：]?\s*")


def find_status_date(text: str) -> str:
    """Return the ISO day of a status text, or "": beside its word ("Accepted (2026-05-16)"), else of its proposal."""
    begun, decided = _BEGUN.search(text), DECIDED.search(text)
    first, *others = _CLAUSE.split(text.strip(), maxsplit=2)
    beside = parse_date(_DATE_WORD.sub("", others[0]).rstrip(" .")) if others else None  # "Accepted · 2026-05-16"
    day = parse_date(first).date or (beside.date if beside and beside.exact else "")
    return day or (parse_date(decided[1]).date if decided else "") or (parse_date(begun[1]).date if begun else "")


_HEADER_LINES = 12


def find_bare_date(text: str) -> str:
    """Return the line of *text*, what stands before the first section, that is a date and nothing else, or ""."""
    lines = (line.strip(" \t>*_#-") for line in text.splitlines()[:_HEADER_LINES])
    return next((line for line in lines if line and (day := parse_date(line, day_first=True)).exact and day.date), "")


_NUMBERING = re.compile(
    r"(?:\d{1,9}(?:\.\d{1,9}){0,9}[.)、]?\s++|\d{1,9}[.)、]\s*+|[一二三四五六七八九十]{1,9}[、.．]\s*+)(?=\S)"
)


def normalise_heading(heading: str) -> str:
    """Return *heading* without comments, emphasis and numbering."""
    bare = re.sub(r"^[^\w（(]+|[*_`]+", "", re.sub(r"<!--.*?(?:-->|\Z)", "", heading)).strip()
    return _NUMBERING.sub("", bare, count=1).strip()


def is_change_list(heading: str) -> bool:
    """Return whether a section under *heading* lists what was changed in the file."""
    return normalise_heading(heading).rstrip(":：").strip().lower() in CHANGE_HEADINGS


_ROW_MARKS = " \t-*+|#_[(（"


def name_field(word: str) -> str:
    """Return the field that *word* names ("Date", "Fecha", "Date (UTC)", "decided_at", "createdOn"), or ""."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", word.strip(" \t*_`:：")).lower()
    return FIELD_BY_WORD.get(plain) or FIELD_BY_WORD.get(re.split("[(（]", plain, maxsplit=1)[0].rstrip(), "")


def is_date_heading(heading: str) -> bool:
    """Return whether a section under *heading* says when the decision was taken."""
    return name_field(normalise_heading(heading)) in ("date", "day", "created")


def list_change_dates(heading: str, text: str) -> list[str]:
    """Return the texts that begin the dated lines of a section that lists changes: one date each, however written."""
    if not is_change_list(heading):
        return []
    starts = (line.lstrip(_ROW_MARKS)[:30] for line in text.splitlines())
    found = ((form.match(start), start) for start in starts for form, _ in _DATE_FORMS)
    return [match.group() for match, _ in found if match]


def find_first_day(texts: Iterable[str], *, day_first: bool) -> str:
    """Return the earliest ISO day of *texts*, or "" where one can be read in two ways: nobody knows which that is."""
    days = {text: parse_date(text, day_first=day_first).date for text in texts}
    is_doubtful = any(not day and parse_date(text, day_first=True).date for text, day in days.items())
    return "" if is_doubtful else min(filter(None, days.values()), default="")


_LINK = re.compile(r"\[([^\[\]\n]*+)\]\([^()\n]*+\)")
_ROW_DAY = re.compile(r"[(（]?(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{4}年\d{1,2}月\d{1,2}日)[)）]?[:：,–—-]?")
_STATUS_PAIR = re.compile(
    r"(?im)^[ \t]*+(?:-[ \t]++)?date:[ \t]*+(\S{8,12})[ \t]*+\n[ \t]*+status:[ \t]*+(\S[^\n]{2,39})$"
)


_MONTH_BEHIND = re.compile(
    r"(?i)[ ,:(–—-]{1,4}(?:(?:on|in|circa|ca\.?|am|le|el|em|il|op|den) )?(?:\d{1,2}\.? )?"
    rf"(?:{_MONTH})\.? \d{{4}}\)?\Z"
)
"""A month behind a status: “Accepted June 2021”."""
_CHANGED = re.compile(
    r"(?:amended|extended|refined|narrowed|clarified|revised|updated|reviewed|已?修订|已?修正|已扩展)\Z"
)
"""What a list of changes says of the text: it leaves the status as it is."""


class StatusRow(NamedTuple):
    """A line of a list or table of the statuses that a record has had."""

    status: str
    day: str
    """ISO, or "" where the row has none."""


def list_status_rows(text: str) -> list[StatusRow]:
    """Return the rows of *text* that are a status, the latest last: “- [approved](…) (2022-07-12)”, “| Accepted | … |”.

    “Updated after review” is no status. Rows on the same day, or without one, keep their order.
    """
    text = re.sub(r"(?s)<!--.*?(?:-->|\Z)", "", text)
    rows = [StatusRow(said.strip(), parse_date(day).date) for day, said in _STATUS_PAIR.findall(text)]
    for line in text.splitlines() if not rows else ():
        bare = line.strip().lstrip("-*+ \t")
        if bare == line.strip() and not bare.startswith("|") and not _ROW_DAY.search(bare):
            continue
        plain = _LINK.sub(r"\1", bare)
        day = _ROW_DAY.search(plain)
        cells = re.split(r"(?<!\s)\s*+\|\s*+|(?<!\s)\s++[—–-]\s++", _ROW_DAY.sub(" ", plain).strip("| "))
        words = (cell if is_status_word(cell) else _MONTH_BEHIND.sub("", cell) for cell in cells)
        said = next((cell for cell in words if is_status_word(cell) and not _CHANGED.match(_strip_markup(cell))), "")
        if said:
            rows.append(StatusRow(said, parse_date(day[1]).date if day else ""))
    return sorted(rows, key=lambda row: row.day) if all(row.day for row in rows) else rows


def find_history_day(texts: Iterable[str]) -> str:
    """Return the ISO day on which a record was accepted by the statuses that *texts* list, else the last, or ""."""
    rows = [row for text in texts for row in list_status_rows(text) if row.day]
    accepted = [row.day for row in rows if parse_status(row.status).status == Status.ACCEPTED]
    return next(iter((*reversed(accepted), *(row.day for row in reversed(rows)))), "")


def find_last_change_status(heading: str, text: str) -> str:
    """Return the status that a section listing changes ends with, or ""."""
    rows = list_status_rows(text) if is_change_list(heading) else []
    return rows[-1].status if rows else ""


def is_day_first(text: str, *, is_year_last: bool = False) -> bool | None:
    """Return whether a `05/02/2018`-like *text* must be day before month; None where it proves nothing.

    Nor does 23/03/21, unless *is_year_last*: only in East Asia, and Hungary, might the year stand first.
    """
    match = _YEAR_LAST.search(text)
    is_read = match and (is_year_last or not _is_short(match))
    first, second = (int(match[1]), int(match[3])) if match and is_read else (0, 0)
    return first > second if (first > 12) != (second > 12) else None


def _is_short(match: re.Match[str]) -> bool:
    """Return whether a date like `10/04/18` leaves open even which number is the year."""
    return match[2] == "/" and len(match[4]) == 2
