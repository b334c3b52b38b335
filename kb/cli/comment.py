"""Render a comparison with the target branch: as a pull-request comment, or for a terminal.

What a record says is text of strangers in a pull request. It must not become a mention, a link, a reference to an
issue, a formula or HTML there, and the whole must fit into one comment.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kb.checks.check_context import Finding, format_json
from kb.checks.record_diff import STEPS, Comparison, RecordChange
from kb.cli.prints import translate_status
from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, kind_label, parse_path_scope, section_label
from kb.records.model import Record, Status, qualify_id
from kb.records.short_form import summarise_section
from kb.text.segment import clip, one_line

MARK = "<!-- kb-check -->"
"""The first line of a comment, by which the next run finds it."""
LABELS = {section.name for section in SECTIONS}

_LINE_LIMIT = 200
"""Characters of one line's text."""
_TITLE_LIMIT = 120
"""Characters of a title."""
_WORD_LIMIT = 60
"""Characters of a kind, a status, a scope or a heading."""
_MAX_UNFOLDED_ITEMS = 5
"""Items of a part that is folded away when it is longer."""
_MIN_TITLE_SIMILARITY = 0.3
"""Title similarity from which a record that is there already is named."""
_SHORT_FORM = ("decision", "why", "impact", "rollback")
_HEADINGS = {
    "new": (msg("New"), msg("{count} new")),
    "changed": (msg("Changed"), msg("{count} changed")),
    "superseded": (msg("Superseded"), msg("{count} superseded")),
    "amended": (msg("Amended"), msg("{count} amended")),
    "removed": (msg("Removed"), msg("{count} removed")),
}
"""Step → the heading of its part, and how the first line counts it."""
_REFERENCE = re.compile(r"(?:[@#!$%~^]|&amp;)(?=[\w\"'])|\bGH-(?=\d)|\bwww(?=\.)|:(?=//)", re.IGNORECASE)
"""What GitHub or GitLab would take for the beginning of a mention, a reference or an address."""
_ZERO_WIDTH_SPACE = "&#8203;"
"""A space of no width: after a reference's first letter it is one no more, and looks the same."""
_MARKUP = re.compile(r"[\\`*_~\[\]{}]")
_BLOCK = re.compile(r"^([0-9]{0,9})([#+=.)-])")
"""What would begin a heading, a list or a line below a heading."""


# -- words on a page, and how much of it fits --------------------------------------------------------


class PageStyle(NamedTuple):
    """How words are put on a page."""

    text: Callable[[str], str]
    code: Callable[[str], str]
    strong: Callable[[str], str]
    """Emphasises what `text` has returned."""
    heading: str
    limit: int
    """Characters of the page."""


class PageItem(NamedTuple):
    """One item of a part: as it is wanted, and on one line for where there is no room."""

    full: str
    brief: str


class PagePart(NamedTuple):
    """A heading and the items below it."""

    title: str
    items: Sequence[PageItem]
    end: str = ""
    """What is below the last one."""


def escape_markdown(text: str) -> str:
    """Return *text* as markdown that shows it on one line and does nothing else."""
    plain = html.escape(one_line(text), quote=False)
    apart = _REFERENCE.sub(lambda match: match.group() + _ZERO_WIDTH_SPACE, plain)
    # "$x$" would be a formula in a comment
    escaped = _MARKUP.sub(r"\\\g<0>", apart).replace("$", "&#36;")
    return _BLOCK.sub(r"\1\\\2", escaped)


def format_code(text: str) -> str:
    """Return *text* as a code span, whatever ticks it has itself."""
    plain = one_line(text)
    # a span ends at as many ticks as it begins with: "a``b" needs three, and a space where it has one at its edge
    ticks = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    room = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{room}{plain}{room}{ticks}" if plain else ""


MARKDOWN = PageStyle(escape_markdown, format_code, "**{}**".format, "### ", 60_000)
"""For a comment; GitHub takes 65,536 characters."""
PLAIN = PageStyle(one_line, one_line, str, "", 1_000_000)
"""For a terminal."""


def fit_parts(parts: Sequence[PagePart], room: int, more: Callable[[int], str]) -> str:
    """Return *parts*, those without items left out, in *room* characters.

    Where not everything fits, the parts share the room: items become brief, and what is left out is counted in words
    by *more*.
    """
    parts = [part for part in parts if part.items]
    whole = [_render_part(part, [item.full for item in part.items]) for part in parts]
    shown = [*whole]
    # the smallest first: what one does not need of its share is left to the others
    for done, number in enumerate(sorted(range(len(parts)), key=lambda number: len(whole[number]))):
        share = room // (len(parts) - done)
        if len(whole[number]) > share:
            shown[number] = _render_shortened(parts[number], share, more)
        room -= min(len(whole[number]), share)
    return "".join(shown)


def _render_part(part: PagePart, rows: Sequence[str]) -> str:
    return "\n" + part.title + "\n\n" + "".join(row + "\n" for row in rows) + part.end


def _render_shortened(part: PagePart, room: int, more: Callable[[int], str]) -> str:
    """Return as many of the items as fit into *room*, as many of those in full as fit too, and how many are missing."""
    room -= len(_render_part(part, ())) + len(more(len(part.items))) + 1
    kept: list[PageItem] = []
    for item in part.items:
        if room < len(item.brief) + 1:
            break
        room -= len(item.brief) + 1
        kept.append(item)
    rows = []
    for item in kept:
        further = len(item.full) - len(item.brief)
        rows.append(item.full if further <= room else item.brief)
        room -= further if further <= room else 0
    missing = len(part.items) - len(kept)
    return _render_part(part, [*rows, more(missing)] if missing else rows)


# -- the pages ---------------------------------------------------------------------------------------


def render_comparison(comparison: Comparison, name: str, language: str, style: PageStyle) -> str:
    """Return the page about *comparison*; *name* is that of the knowledge base."""
    page = _CommentPage(language, style, comparison.revision, comparison.shared)
    errors, warnings = page.split_findings(comparison.findings)
    meaning = ["- " + page.render_message(said) for said in comparison.meaning]
    parts = [
        PagePart(style.strong(page.render_message(msg("After the merge"))), [PageItem(row, row) for row in meaning]),
        page.build_part(msg("To resolve before the merge"), errors),
    ]
    for step in STEPS:
        changes = [page.build_change(change) for change in comparison.changes if change.step == step]
        parts.append(page.build_part(_HEADINGS[step][0], changes))
    parts.append(page.build_part(msg("Warnings"), warnings, may_fold=True))
    counts = Counter(change.step for change in comparison.changes)
    counted = [page.render_count(_HEADINGS[step][1], counts[step]) for step in STEPS if counts[step]]
    summary = ("，" if language == "zh" else ", ").join(counted) or page.render_message(msg("no record changes"))
    head = page.render_head(page.join_label(style.text(clip(name, _TITLE_LIMIT)), summary), len(errors), len(warnings))
    tail = "\n" + " · ".join(page.iter_footer(comparison)) + "\n"
    return head + fit_parts(parts, style.limit - len(head) - len(tail), page.render_more) + tail


def render_findings(findings: Sequence[Finding], name: str, language: str, shared: frozenset[str] = frozenset()) -> str:
    """Return the page about the *findings* of a whole check, as markdown; *shared* are the ids that projects have."""
    page = _CommentPage(language, MARKDOWN, "", shared)
    errors, warnings = page.split_findings(findings)
    parts = [page.build_part(msg("Errors"), errors), page.build_part(msg("Warnings"), warnings, may_fold=True)]
    head = page.render_head(escape_markdown(name), len(errors), len(warnings))
    return head + fit_parts(parts, MARKDOWN.limit - len(head), page.render_more)


def serialise_comparison(comparison: Comparison, language: str) -> dict[str, object]:
    """Return *comparison* as values for JSON, nothing cut."""
    fields = ("id", "uid", "scope", "kind", "title", "path", "status")
    changes = [
        {
            "step": change.step,
            **{field: getattr(change.record, field) for field in fields},
            "status_before": change.before.status if change.before else "",
            "parts": change.parts,
            "by": [one.id for one in change.by],
            "similar": change.similar,
            "meanwhile": change.elsewhere,
        }
        for change in comparison.changes
    ]
    return {
        "revision": comparison.revision,
        "base": comparison.base,
        "uncommitted": comparison.uncommitted,
        "changes": changes,
        "meaning": [said.translate(language) for said in comparison.meaning],
        "findings": format_json(comparison.findings, language),
        "elsewhere": dict(comparison.elsewhere),
        "branches": comparison.branches,
        "unseen": comparison.unseen,
        "uncompared": comparison.uncompared,
    }


class _CommentPage:
    """Writes for one reader: in a language, in a style, about a comparison with *revision*."""

    def __init__(self, language: str, style: PageStyle, revision: str, shared: frozenset[str]) -> None:
        self.language = language
        self.style = style
        self.revision = revision
        self.shared = shared

    def format_id(self, record_id: str, scope: str) -> str:
        """Return the name by which a reader finds the record *record_id* of *scope* wherever they stand."""
        return qualify_id("", scope, record_id, is_taken=record_id in self.shared)

    def render_message(self, said: Message) -> str:
        """Return *said* in the reader's language, for the page."""
        return self.style.text(said.translate(self.language))

    def render_count(self, said: Message, count: int) -> str:
        """Return *said*, a template with {count}, for the page."""
        return self.render_message(said._replace(values={"count": count}))

    def join_label(self, label: str, text: str) -> str:
        """Return a *label* and what it stands for."""
        return f"{label}{'：' if self.language == 'zh' else ': '}{text}"

    def render_head(self, title: str, errors: int, warnings: int) -> str:
        """Return the mark of the comment, its title, and the line that says whether the merge may go ahead."""
        mark = MARK + "\n" if self.style is MARKDOWN else ""
        if errors:
            counts = {"errors": errors, "warnings": warnings}
            message = msg("❌ To resolve before the merge: {errors}; warnings: {warnings}", **counts)
        elif warnings:
            message = msg("⚠️ No objections; warnings: {warnings}", warnings=warnings)
        else:
            message = msg("✅ No objections")
        return f"{mark}{self.style.heading}{title}\n\n{self.style.strong(self.render_message(message))}\n"

    def iter_footer(self, comparison: Comparison) -> Iterator[str]:
        """Yield what was compared, and what was not."""
        values = {"revision": comparison.revision, "commit": comparison.base[:10]}
        yield self.render_message(msg("Compared: the checkout with {revision}; they parted at {commit}", **values))
        others = sum(comparison.elsewhere.values())
        counted = (
            (comparison.uncommitted, msg("not committed yet, and counted here: {count} files")),
            (len(comparison.branches), msg("other open branches with records of their own: {count}")),
            (comparison.unseen, msg("other open branches that were not looked at: {count}")),
            (comparison.uncompared, msg("changed records that were not compared: {count}")),
            (others, msg("in files that stay as they are: findings: {count}; see: kb check")),
        )
        yield from (self.render_count(said, count) for count, said in counted if count)

    def render_more(self, count: int) -> str:
        """Return the line that counts what there is no room for."""
        message = msg("… and {count} more: kb check", count=count)
        if self.revision:
            message = msg("… and {count} more: kb check --against {revision}", count=count, revision=self.revision)
        return "- " + self.render_message(message)

    def build_part(self, title: Message, items: Sequence[PageItem], *, may_fold: bool = False) -> PagePart:
        """Return a part of the page under a title that counts its *items*; a long one is folded where it may be."""
        if may_fold and self.style is MARKDOWN and len(items) > _MAX_UNFOLDED_ITEMS:
            summary = f"<details><summary>{self.render_message(title)} ({len(items)})</summary>"
            return PagePart(summary, items, "\n</details>\n")
        return PagePart(self.style.strong(f"{self.render_message(title)} ({len(items)})"), items)

    def split_findings(self, findings: Sequence[Finding]) -> tuple[list[PageItem], list[PageItem]]:
        """Return the errors and the warnings among *findings*; what is wrong on several lines of a file once."""
        lines: dict[tuple[bool, str, str, str], list[int]] = {}
        for one in findings:
            texts = (one.message.translate(self.language), one.fix.translate(self.language))
            lines.setdefault((one.severity == "error", one.path, *texts), []).append(one.line)
        errors: list[PageItem] = []
        warnings: list[PageItem] = []
        for (is_error, path, message, fix), numbers in lines.items():
            # content/anchors/global/D001-use-postgresql.md → D001
            record_id = self.format_id(path.rpartition("/")[2].partition("-")[0], parse_path_scope(path))
            text, mark = self.style.text, "❌" if is_error else "⚠️"
            brief = f"- {mark} {self.style.strong(text(record_id))} — {text(clip(message, 2 * _LINE_LIMIT))}"
            where = self.style.code(f"{path}:{', '.join(map(str, dict.fromkeys(numbers)))}")
            item = PageItem(f"{brief}\n  - → {text(fix)}\n  - {where}", brief)
            (errors if is_error else warnings).append(item)
        return errors, warnings

    def build_change(self, change: RecordChange) -> PageItem:
        """Return what becomes of one record."""
        record, text = change.record, self.style.text
        title = f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE_LIMIT)}"
        status = " → ".join(translate_status(one, self.language) for one in change.status_change or (record.status,))
        about = (kind_label(record.kind, self.language), status, record.scope)
        brief = f"- {self.style.strong(text(title))} — {' · '.join(text(clip(part, _WORD_LIMIT)) for part in about)}"
        rows = [*self._iter_short_form(change), *self._iter_relations(change), *self._iter_parts(change)]
        if change.elsewhere:
            values = {"revision": self.revision, "parts": list(map(self._format_label, change.elsewhere))}
            rows.append("⚠️ " + self.render_message(msg("changed on {revision} in the meantime: {parts}", **values)))
        rows.append(self.style.code(record.path))
        return PageItem("\n".join([brief, *(f"  - {row}" if row[:1] != " " else f"  {row}" for row in rows)]), brief)

    def _iter_short_form(self, change: RecordChange) -> Iterator[str]:
        """Yield what a new record says, or of one that is replaced what it decided; a changed one shows its parts."""
        record = change.record
        names = {"new": _SHORT_FORM, "changed": ()}.get(change.step, _SHORT_FORM[:1])
        for name in names:
            text = summarise_section(record.section(name), name, _LINE_LIMIT)
            if name == "impact" and not text:
                text = clip(", ".join(record.impact), _LINE_LIMIT)
            if text:
                yield self.join_label(section_label(name, self.language, record.kind), self.style.text(text))

    def _iter_relations(self, change: RecordChange) -> Iterator[str]:
        record = change.record
        if change.step == "new":
            for label, ids in ((msg("supersedes"), record.supersedes), (msg("amends"), record.amends)):
                if ids:
                    yield self._label_text(label, ", ".join(f"[{one}]" for one in ids))
            for reference, reason in record.coexists_with.items():
                message = msg("coexists with {id}: {reason}", id=reference, reason=clip(reason, _LINE_LIMIT))
                yield self.render_message(message)
        if change.by:
            label = msg("superseded by") if change.step == "superseded" else msg("amended by")
            yield self._label_text(label, "; ".join(map(self._format_record, change.by)))
        alike = [
            f"[{self.format_id(one.id, one.scope)}] {clip(one.title, _TITLE_LIMIT)} ({one.score:.2f})"
            for one in change.similar
            if one.score >= _MIN_TITLE_SIMILARITY
        ]
        if alike:
            yield self._label_text(msg("similar existing records"), "; ".join(alike))

    def _iter_parts(self, change: RecordChange) -> Iterator[str]:
        """Yield what has changed in each part of a record."""
        for part in change.parts:
            label = self.style.text(self._format_label(part.name))
            if part.before or part.after:
                yield label
                yield "  - " + self._label_text(msg("before"), part.before or "–")
                yield "  - " + self._label_text(msg("now"), part.after or "–")
            else:
                yield self.join_label(label, self.render_message(msg("in another order")))

    def _label_text(self, label: Message, text: str) -> str:
        return self.join_label(self.render_message(label), self.style.text(text))

    def _format_record(self, record: Record) -> str:
        status = "" if record.status == Status.ACCEPTED else f" ({translate_status(record.status, self.language)})"
        return f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE_LIMIT)}{status}"

    def _format_label(self, name: str) -> str:
        return section_label(name, self.language) if name in LABELS else clip(name, _WORD_LIMIT)
