"""Shared parts of wiki pages: labels of statuses and kinds, the templates, and word-by-word text diffs."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape, quoteattr

from kb.adr.adopted import is_adopted
from kb.history.timeline import split_subject
from kb.i18n import Message, msg
from kb.records.kinds import FIXED_BY, list_own_fields
from kb.records.model import GLOBAL, LIVE, ORIGINAL_AUTHOR, Record, Status, is_imported, list_aliases
from kb.records.short_form import render_short_form
from kb.search.query import KEPT_ZH, STOP_ZH
from kb.text.segment import FIRST_CJK, clip_at_word, first_sentence, one_line
from kb.wiki.library import get_path_folder, is_wrapped, join_wrapped
from kb.wiki.render import Html, format_plain_title, join_html, parse_reference, render_title, strip_markup

if TYPE_CHECKING:
    from typing import Any

    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

    from kb.history.timeline import RecordVersion
    from kb.wiki.wiki_model import Wiki

MAX_BRIEF = 320
"""Characters of a decision at the top of its page, about."""
MAX_SCANNED_CHARACTERS = 100_000
"""Characters of a section in which its first sentence is looked for."""
MAX_REPLACED = 3
"""Records that one replaced, directly or not, that its page names at once."""
STATUSES: Mapping[str, tuple[str, Message]] = {
    Status.PROPOSED: ("⚠️", msg("proposed")),
    Status.ACCEPTED: ("✅", msg("accepted")),
    Status.REJECTED: ("❌", msg("rejected")),
    Status.DEPRECATED: ("❌", msg("deprecated")),
    Status.SUPERSEDED: ("❌", msg("superseded")),
}


# -- names ----------------------------------------------------------------------------------------


def get_status_sign(status: str) -> str:
    """Return the sign of *status*."""
    return STATUSES[status][0] if status in STATUSES else "❓"


def get_status_class(status: str) -> str:
    """Return the name of *status* in a CSS class."""
    return status if status in STATUSES else "unknown"


def translate_status(status: str, language: str) -> str:
    """Return the word for *status*; one the table does not have keeps its own name."""
    return STATUSES[status][1].translate(language) if status in STATUSES else one_line(status)


def format_title(record: Record) -> str:
    """Return id and title of *record* as text, for places that can show no code."""
    return f"{one_line(record.id)} {format_plain_title(record.title)}"


def render_record_title(record: Record) -> Html:
    """Return id and title of *record* as a link shows them, code as code."""
    return _render_names(record.id, record.title)


@lru_cache(maxsize=1 << 14)  # a title is on the pages of all its neighbours
def _render_names(record_id: str, title: str) -> Html:
    return Html(f'<span class="kb-id">{html.escape(one_line(record_id))}</span> {render_title(title)}')


def format_facet_uri(**chosen: str) -> str:
    """Return the page of the records that have what is *chosen*: a kind, scope, status, tag or month."""
    return f"records.md?{urlencode(chosen)}"


def render_brief(text: str) -> Html:
    """Return the first sentence of the markdown *text*, its code as code; headings are none.

    Where that announces a list (“We do three things:”), the first items follow.
    """
    rows = [row.strip() for row in unwrap_rows(text[:MAX_SCANNED_CHARACTERS]).split("\n")]
    rows = [row for row in rows if row and not row.startswith(("#", "```", "~~~"))]
    said = first_sentence(strip_markup(rows[0], code=True), MAX_BRIEF) if rows else ""
    if said.endswith((":", "：")):
        items = [strip_markup(row, code=True) for row in takewhile(_is_item, rows[1:])]
        is_chinese = said.endswith("：")
        joined = ("；" if is_chinese else "; ").join(item.rstrip(".;；。") for item in items if item)
        said = clip_at_word(f"{said}{'' if is_chinese else ' '}{joined}", MAX_BRIEF)
    return render_title(said)


def _is_item(row: str) -> bool:
    return row[:2] in ("- ", "* ", "+ ") or row.partition(" ")[0].rstrip(".)").isdecimal()


def list_authors(record: Record, names: Iterable[str]) -> list[str]:
    """Return who wrote *record*, each once: of an imported one who wrote it where it comes from, then *names*.

    *names* are the authors of its versions, the oldest first; who imported a record did not write it.
    """
    versions = [*names]
    if is_imported(record.extra) and not is_adopted(record):
        versions = versions[1:]
    return [*dict.fromkeys(filter(None, (str(record.extra.get(ORIGINAL_AUTHOR, "")), *versions)))]


def find_importer(record: Record, versions: Sequence[RecordVersion]) -> str:
    """Return who imported *record*, of which *versions*, newest first, are known; "" for one that was written here."""
    is_foreign = is_imported(record.extra) and not is_adopted(record)
    return format_author(versions[-1]) if is_foreign and versions else ""


def format_author(version: RecordVersion) -> str:
    """Return who wrote *version*: the person, and the agent that did it for them."""
    return f"{version.author} ({version.host})" if version.host else version.author


# -- templates ------------------------------------------------------------------------------------

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def load_macros(wiki: Wiki) -> Callable[[str], Any]:
    """Return a function that gives the macros of a template of TEMPLATES by its name; they know *wiki*."""
    templates = _load_templates(wiki.config.language)
    return cache(lambda name: templates.select_template([f"{name}.html", f"{name}.xml"]).make_module({"wiki": wiki}))


@cache
def get_compiled_templates() -> BytecodeCache:
    """Return the memory of this process for templates of themes; compiling them is half of what a small site takes."""
    from jinja2 import BytecodeCache

    class CompiledTemplates(BytecodeCache):
        """Keeps the code of each template as long as its text is the same."""

        def __init__(self) -> None:
            self._codes: dict[tuple[str, str], Any] = {}

        def load_bytecode(self, bucket: Bucket) -> None:
            bucket.code = self._codes.get((bucket.key, bucket.checksum))

        def dump_bytecode(self, bucket: Bucket) -> None:
            self._codes[bucket.key, bucket.checksum] = bucket.code

    return CompiledTemplates()


@cache
def _load_templates(language: str) -> Environment:
    """Return the templates, in which messages come out in *language* and all other values are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from jinja2.ext import Extension

    class OneLine(Extension):
        """Takes the line ends and the indentation out of a template of HTML: neither is meant for the page."""

        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            return source if name and name.endswith(".xml") else "".join(map(str.strip, source.splitlines()))

    # What a macro returns is markupsafe's Markup, what Python made is Html; both say so by __html__.
    def show(value: object) -> Html:
        if hasattr(value, "__html__"):
            return Html(value)
        return Html(html.escape(value.translate(language) if isinstance(value, Message) else str(value)))

    def join(values: Iterable[object], separator: str) -> Html:
        return Html(html.escape(separator).join(map(show, filter(None, values))))

    # Jinja's own escaping writes quotes in another way than html.escape: *show* is there first.
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        extensions=[OneLine],
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show,
        trim_blocks=True,
    )
    found.filters |= {"join": join, "one_line": one_line, "first_sentence": first_sentence, "quote": quote}
    found.filters |= {
        "title": render_record_title,
        "plain_title": format_title,
        "own_title": lambda record: render_title(record.title),
        "title_text": format_plain_title,
        "plain": strip_markup,
        "brief": render_brief,
        "commands": split_commands,
        "authors": list_authors,
        "importer": find_importer,
        "author": format_author,
        "subject": split_subject,
        "reference": parse_reference,
    }
    found.filters |= {"sign": get_status_sign, "class": get_status_class, "folder": get_path_folder}
    found.filters |= {"aliases": list_aliases, "extra": get_extra_field, "own_fields": list_own_fields}
    found.filters["short_form"] = partial(render_short_form, language=language, with_decision=True)
    found.filters |= {"xml": escape_xml, "quote_xml": lambda text: Html(quoteattr(text.translate(_NO_XML)))}
    found.globals |= {
        "msg": msg,
        "GLOBAL": GLOBAL,
        "LIVE": LIVE,
        "MAX_REPLACED": MAX_REPLACED,
        "diff_lines": diff_lines,
    }
    found.globals |= {"facet": format_facet_uri, "day_of": find_status_change}
    found.globals |= {"propose_url": build_proposal_url, "commit_url": build_commit_url}
    return found


_COMMAND = re.compile(r"(?:\A|(?<=[ :：;；(（]))kb [a-z][^;；)）\n]*")
_STATUS_ROW = re.compile(r"(?m)^status:[ \t]*(\S+)")


def split_commands(text: str) -> list[tuple[str, bool]]:
    """Return a next step in pieces, each with whether it is a command of kb that can be copied."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _COMMAND.finditer(text):
        pieces += [(text[at : match.start()], False)] if text[at : match.start()].strip() else []
        pieces.append((match.group().strip(), True))
        at = match.end()
    return pieces + ([(text[at:], False)] if text[at:].strip(" ;；.。") else [])


def find_status_change(record: Record, versions: Sequence[RecordVersion], replaced: str = "") -> tuple[str, str]:
    """Return the day on which *record* got the status it has and who gave it, as far as its *versions* tell.

    A record that has always had it has it since its own date, from who wrote it first; one that came here superseded,
    since it was *replaced*, the date of its successor.
    """
    for version in versions:
        rows = [_STATUS_ROW.search(text) for text in (version.before, version.after)]
        before, after = (row[1] if row else "" for row in rows)
        if after and before != after:
            return (version.time[:10], format_author(version)) if after == record.status else ("", "")
    authors = list_authors(record, (version.author for version in reversed(versions)))
    day = replaced if replaced and record.status == Status.SUPERSEDED else record.date
    return day[:10], authors[0] if authors else ""


_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))
"""Characters that no XML may hold and that `one_line` lets through."""


def escape_xml(text: str, *, lines: bool = False) -> Html:
    """Return *text* as XML: on one line, or with its *lines*."""
    return Html(escape((text if lines else one_line(text)).translate(_NO_XML)))


def get_extra_field(record: Record, key: str) -> str:
    """Return what the front matter says under *key*, which only some records have."""
    return one_line(str(record.extra.get(key) or ""))


def build_proposal_url(edit: str, title: str) -> str:
    """Return where the code host opens an issue with *title*; "" where *edit*, its way to edit files, is not known."""
    address, found, _ = edit.partition("/-/edit/") if "/-/edit/" in edit else edit.partition("/edit/")
    form = "/-/issues/new?issue%5Btitle%5D=" if "/-/" in found else "/issues/new?title="
    return address + form + quote(one_line(title), safe="") if found else ""


def build_commit_url(wiki: Wiki, record: Record) -> str:
    """Return where the code host shows the commit that has done away with a pitfall; "" where that is not known."""
    top, found, _ = wiki.sources.timeline.code.get(record.scope, "").partition("/blob/HEAD/")
    fixed_by = str(record.extra.get(FIXED_BY) or "")
    return f"{top}/commit/{quote(fixed_by, safe='')}" if found and fixed_by else ""


# -- what differs between two texts, word by word -------------------------------------------------

CONTEXT_LINES = 1
"""Unchanged lines shown before and after a change."""
MAX_DIFF_WORDS = 4_000
"""Words beyond which a changed passage is shown as taken out and put in as a whole."""
MIN_SHARED_WORDS = 0.4
"""Share of words (0.0–1.0) that two sides must have in common to be marked word by word. Our judgement."""

_WORD = re.compile("[^\\W\x00-\u2e7f]+|[^\\W\u2e80-\U0010ffff]+|\\s+|.")
"""A run of a script without spaces (期限), else a word, white space, or a sign."""
_MARKER = re.compile(r"(?m)^<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->\n?")


class DiffPiece(NamedTuple):
    """A run of text: in both ("="), only in the old ("-") or only in the new ("+")."""

    sign: str
    text: str

    def render(self) -> Html:
        """Return the text, marked where it is in one of the two only."""
        tag = {"-": "del", "+": "ins"}.get(self.sign, "")
        return Html(f"<{tag}>{html.escape(self.text)}</{tag}>") if tag else join_html(self.text)


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Return *old* and *new* as one run of pieces."""
    before, after = (_split_words(text) for text in (old, new))
    if len(before) + len(after) > MAX_DIFF_WORDS:
        return [DiffPiece("-", old), DiffPiece("+", new)]
    found: list[DiffPiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(DiffPiece("=", "".join(before[a:b])))
        else:
            pieces = (DiffPiece("-", "".join(before[a:b])), DiffPiece("+", "".join(after[c:d])))
            found += [piece for piece in pieces if piece.text]
    return found


def _split_words(text: str) -> list[str]:
    """Return *text* in words; a run without spaces is cut before and after its function words (客户端|和|前端)."""
    return [piece for word in _WORD.findall(text) for piece in (_cut_run(word) if word >= FIRST_CJK else (word,))]


def _cut_run(run: str) -> Iterator[str]:
    start, at = 0, 0
    while at < len(run):
        size = next((n for n in (4, 3, 2, 1) if run[at : at + n] in STOP_ZH and run[at : at + 2] not in KEPT_ZH), 0)
        if size:
            yield from (piece for piece in (run[start:at], run[at : at + size]) if piece)
            start = at + size
        at += size or 1
    if run[start:]:
        yield run[start:]


def unwrap_rows(text: str) -> str:
    """Return the markdown *text* with the rows of each paragraph joined; code and tables keep theirs."""
    rows: list[list[str]] = []
    last, in_code = "", False
    for row in text.split("\n"):
        is_fence = row.lstrip(" \t>").startswith(("```", "~~~"))
        if rows and not in_code and not is_fence and is_wrapped(last, row) and not last.endswith(("  ", "\\")):
            rows[-1].append(row.strip())
        else:
            rows.append([row.rstrip()])
        in_code ^= is_fence
        last = row
    return "\n".join(map(join_wrapped, rows))


def render_side_by_side(old: str, new: str) -> tuple[Html, Html]:
    """Return *old* with what is gone marked, and *new* with what has come; neither where they are quite different."""
    pieces = diff_words(old, new)
    shared = sum(len(_split_words(piece.text)) for piece in pieces if piece.sign == "=" and not piece.text.isspace())
    if 2 * shared < MIN_SHARED_WORDS * len(_split_words(old) + _split_words(new)):
        return join_html(old), join_html(new)
    left, right = ([piece.render() for piece in pieces if piece.sign != sign] for sign in "+-")
    return join_html(*left), join_html(*right)


def diff_lines(old: str, new: str) -> list[Html]:
    """Return what changed from one version of a record file to the next, line by line; "" between distant lines."""
    before, after = (_MARKER.sub("", text).splitlines() for text in (old, new))
    rows: list[Html] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        rows += [Html("")] if rows else []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [join_html(line) for line in before[a:b] if line.strip()]
            else:
                rows += _iter_diff_lines(diff_words("\n".join(before[a:b]), "\n".join(after[c:d])))
    return rows


def _iter_diff_lines(pieces: list[DiffPiece]) -> Iterator[Html]:
    """Yield *pieces* line by line, those of either text that have any letters."""
    row: list[Html] = []
    for piece in pieces:
        for number, line in enumerate(piece.text.split("\n")):
            if number:
                yield from [join_html(*row)] if row else []
                row = []
            row += [DiffPiece(piece.sign, line).render()] if line else []
    yield from [join_html(*row)] if row else []
