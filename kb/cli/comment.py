"""What a reviewer reads: a comparison with the branch it is to be merged into, as a comment or in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kb.checks.findings import Finding, format_json
from kb.checks.record_diff import STEPS, Comparison, PartChange, RecordChange
from kb.cli.page_style import MARKDOWN, PageItem, PagePart, PageStyle, fit_parts
from kb.cli.prints import translate_status
from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, kind_label, section_label
from kb.records.model import Record, Status, qualify_id
from kb.records.record_paths import parse_path_scope
from kb.records.short_form import summarise_section
from kb.text.segment import clip

MARK = "<!-- kb-check -->"
"""The first line of a comment, by which the next run finds it."""

_LINE = 200
"""Characters of one line's text."""
_TITLE = 120
"""Characters of a title."""
_WORD = 60
"""Characters of a kind, a status, a scope or a heading."""
_UNFOLDED = 5
"""Items of a part that is folded away when it is longer."""
_ALIKE = 0.3
"""Title similarity from which a record that is there already is named."""
_SHORT_FORM = ("decision", "why", "impact", "rollback")
_LABELS = {section.name for section in SECTIONS}
_HEADINGS = {
    "new": msg("New"),
    "changed": msg("Changed"),
    "superseded": msg("Superseded"),
    "amended": msg("Amended"),
    "removed": msg("Removed"),
}


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
        parts.append(page.build_part(_HEADINGS[step], changes))
    parts.append(page.build_folded_part(msg("Worth a look"), warnings))
    head = page.render_head(name, page.render_counts(comparison)) + page.render_verdict(len(errors), len(warnings))
    tail = "\n" + " · ".join(page.iter_footer(comparison)) + "\n"
    return head + fit_parts(parts, style.limit - len(head) - len(tail), page.render_more) + tail


def render_findings(findings: Sequence[Finding], name: str, language: str, shared: frozenset[str] = frozenset()) -> str:
    """Return the page about the *findings* of a whole check, as markdown; *shared* are the ids that projects have."""
    page = _CommentPage(language, MARKDOWN, "", shared)
    errors, warnings = page.split_findings(findings)
    parts = [page.build_part(msg("Errors"), errors), page.build_folded_part(msg("Worth a look"), warnings)]
    head = page.render_head(name, "") + page.render_verdict(len(errors), len(warnings))
    return head + fit_parts(parts, MARKDOWN.limit - len(head), page.render_more)


def serialise_comparison(comparison: Comparison, language: str) -> dict[str, object]:
    """Return *comparison* as values for JSON, nothing cut."""
    return {
        "revision": comparison.revision,
        "base": comparison.base,
        "uncommitted": comparison.uncommitted,
        "changes": [_serialise_change(change) for change in comparison.changes],
        "meaning": [said.translate(language) for said in comparison.meaning],
        "findings": format_json(comparison.findings, language),
        "elsewhere": dict(comparison.elsewhere),
        "branches": list(comparison.branches),
        "unseen": comparison.unseen,
        "uncompared": comparison.uncompared,
    }


def _serialise_change(change: RecordChange) -> dict[str, object]:
    fields = ("id", "uid", "scope", "kind", "title", "path", "status")
    return {
        "step": change.step,
        **{field: getattr(change.record, field) for field in fields},
        "status_before": change.before.status if change.before else "",
        "parts": [part._asdict() for part in change.parts],
        "by": [one.id for one in change.by],
        "similar": [similar._asdict() for similar in change.similar],
        "meanwhile": list(change.elsewhere),
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

    def join_label(self, label: str, text: str) -> str:
        """Return a *label* and what it stands for."""
        return f"{label}{'：' if self.language == 'zh' else ': '}{text}"

    # around the parts

    def render_head(self, name: str, counts: str) -> str:
        """Return the mark of the comment and its title."""
        mark = MARK + "\n" if self.style is MARKDOWN else ""
        title = self.join_label(self.style.text(clip(name, _TITLE)), counts) if counts else self.style.text(name)
        return f"{mark}{self.style.heading}{title}\n\n"

    def render_counts(self, comparison: Comparison) -> str:
        """Return how many records are new, changed and so on."""
        counts = Counter(change.step for change in comparison.changes)
        texts = {
            "new": msg("{count} new", count=counts["new"]),
            "changed": msg("{count} changed", count=counts["changed"]),
            "superseded": msg("{count} superseded", count=counts["superseded"]),
            "amended": msg("{count} amended", count=counts["amended"]),
            "removed": msg("{count} removed", count=counts["removed"]),
        }
        shown = [self.render_message(texts[step]) for step in STEPS if counts[step]]
        return ("，" if self.language == "zh" else ", ").join(shown) or self.render_message(msg("no record changes"))

    def render_verdict(self, errors: int, warnings: int) -> str:
        """Return the line that says whether the merge may go ahead."""
        if errors:
            counts = {"errors": errors, "warnings": warnings}
            said = msg("❌ To resolve before the merge: {errors}; worth a look: {warnings}", **counts)
        elif warnings:
            said = msg("⚠️ No objections; worth a look: {warnings}", warnings=warnings)
        else:
            said = msg("✅ No objections")
        return self.style.strong(self.render_message(said)) + "\n"

    def iter_footer(self, comparison: Comparison) -> Iterator[str]:
        """Yield what was compared, and what was not."""
        values = {"revision": comparison.revision, "commit": comparison.base[:10]}
        yield self.render_message(msg("Compared: the checkout with {revision}; they parted at {commit}", **values))
        others = sum(comparison.elsewhere.values())
        counted = (
            (comparison.uncommitted, msg("not committed yet, and counted here: {count} files")),
            (len(comparison.branches), msg("other open branches with records of their own: {count}")),
            (comparison.unseen, msg("other open branches that were not looked at: {count}")),
            (comparison.uncompared, msg("changed records whose words were not compared: {count}")),
            (others, msg("in files that stay as they are: findings: {count}; see: kb check")),
        )
        yield from (self.render_message(said._replace(values={"count": n})) for n, said in counted if n)

    def render_more(self, count: int) -> str:
        """Return the line that counts what there is no room for."""
        if self.revision:
            values = {"count": count, "revision": self.revision}
            return "- " + self.render_message(msg("… and {count} more: kb check --against {revision}", **values))
        return "- " + self.render_message(msg("… and {count} more: kb check", count=count))

    # parts

    def build_part(self, title: Message, items: Sequence[PageItem]) -> PagePart:
        """Return a part of the page under a title that counts its *items*."""
        return PagePart(self.style.strong(f"{self.render_message(title)} ({len(items)})"), items)

    def build_folded_part(self, title: Message, items: Sequence[PageItem]) -> PagePart:
        """Return a part that is folded away where it is long and the page can do that."""
        if self.style is not MARKDOWN or len(items) <= _UNFOLDED:
            return self.build_part(title, items)
        summary = f"<details><summary>{self.render_message(title)} ({len(items)})</summary>"
        return PagePart(summary, items, "\n</details>\n")

    def split_findings(self, findings: Sequence[Finding]) -> tuple[list[PageItem], list[PageItem]]:
        """Return the errors and the warnings among *findings*."""
        errors = [finding for finding in findings if finding.severity == "error"]
        warnings = [finding for finding in findings if finding.severity != "error"]
        return self._build_findings(errors, "❌"), self._build_findings(warnings, "⚠️")

    def _build_findings(self, findings: Sequence[Finding], mark: str) -> list[PageItem]:
        """Return what is wrong, what to do and where; what is wrong on several lines of a file once."""
        lines: dict[tuple[str, str, str], list[int]] = {}
        for finding in findings:
            texts = (finding.message.translate(self.language), finding.fix.translate(self.language))
            lines.setdefault((finding.path, *texts), []).append(finding.line)
        items = []
        for (path, message, fix), numbers in lines.items():
            record_id = self.format_id(path.rpartition("/")[2].partition("-")[0], parse_path_scope(path))
            text = self.style.text
            brief = f"- {mark} {self.style.strong(text(record_id))} — {text(clip(message, 2 * _LINE))}"
            where = self.style.code(f"{path}:{', '.join(map(str, dict.fromkeys(numbers)))}")
            items.append(PageItem(f"{brief}\n  - → {text(fix)}\n  - {where}", brief))
        return items

    def build_change(self, change: RecordChange) -> PageItem:
        """Return what becomes of one record."""
        record, text = change.record, self.style.text
        title = f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE)}"
        status = " → ".join(translate_status(one, self.language) for one in change.status_change or (record.status,))
        about = (kind_label(record.kind, self.language), status, record.scope)
        brief = f"- {self.style.strong(text(title))} — {' · '.join(text(clip(part, _WORD)) for part in about)}"
        rows = [] if change.step == "changed" else list(self._iter_short_form(record, whole=change.step == "new"))
        rows += self._iter_relations(change)
        rows += (row for part in change.parts for row in self._iter_part_change(part))
        if change.elsewhere:
            values = {"revision": self.revision, "parts": ", ".join(map(self._format_label, change.elsewhere))}
            rows.append("⚠️ " + self.render_message(msg("changed on {revision} in the meantime: {parts}", **values)))
        rows.append(self.style.code(record.path))
        return PageItem("\n".join([brief, *(f"  - {row}" if row[:1] != " " else f"  {row}" for row in rows)]), brief)

    def _iter_short_form(self, record: Record, *, whole: bool) -> Iterator[str]:
        for name in _SHORT_FORM if whole else _SHORT_FORM[:1]:
            text = summarise_section(record.section(name), name, _LINE)
            if name == "impact" and not text:
                text = clip(", ".join(record.impact), _LINE)
            if text:
                yield self.join_label(section_label(name, self.language), self.style.text(text))

    def _iter_relations(self, change: RecordChange) -> Iterator[str]:
        record = change.record
        if change.step == "new":
            for label, ids in ((msg("supersedes"), record.supersedes), (msg("amends"), record.amends)):
                if ids:
                    yield self._label_list(label, ", ".join(f"[{one}]" for one in ids))
            for reference, reason in record.coexists_with.items():
                said = msg("coexists with {id}: {reason}", id=reference, reason=clip(reason, _LINE))
                yield self.render_message(said)
        if change.by:
            label = msg("superseded by") if change.step == "superseded" else msg("amended by")
            yield self._label_list(label, "; ".join(map(self._format_record, change.by)))
        alike = [
            f"[{self.format_id(one.id, one.scope)}] {clip(one.title, _TITLE)} ({one.score:.2f})"
            for one in change.similar
            if one.score >= _ALIKE
        ]
        if alike:
            yield self._label_list(msg("similar existing records"), "; ".join(alike))

    def _label_list(self, label: Message, text: str) -> str:
        return self.join_label(self.render_message(label), self.style.text(text))

    def _format_record(self, record: Record) -> str:
        status = "" if record.status == Status.ACCEPTED else f" ({translate_status(record.status, self.language)})"
        return f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE)}{status}"

    def _iter_part_change(self, part: PartChange) -> Iterator[str]:
        """Yield what has changed in one part of a record."""
        label = self.style.text(self._format_label(part.name))
        if not part.before and not part.after:
            yield self.join_label(label, self.render_message(msg("in another order")))
            return
        yield label
        for when, text in ((msg("before"), part.before), (msg("now"), part.after)):
            yield "  - " + self.join_label(self.render_message(when), self.style.text(text) if text else "–")

    def _format_label(self, name: str) -> str:
        return section_label(name, self.language) if name in _LABELS else clip(name, _WORD)
