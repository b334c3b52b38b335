"""What a reviewer reads: a comparison with the branch it is to be merged into, as a comment or in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kb.checks.findings import Finding
from kb.checks.findings import format_json as as_values
from kb.checks.record_diff import STEPS, Comparison, RecordChange
from kb.checks.record_diff import PartChange as Piece
from kb.cli.page_style import MARKDOWN, PageItem, PagePart, PageStyle, fit_parts
from kb.cli.prints import STATUSES
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
_UNFOLDED = 5
"""Items of a part that is folded away when it is longer."""
_ALIKE = 0.3
"""Title similarity from which a record that is there already is named."""
_TITLE = 120
_WORD = 60
_SHORT_FORM = ("decision", "why", "impact", "rollback")
_LABELS = {section.name for section in SECTIONS}
_HEADINGS = {
    "new": msg("New"),
    "changed": msg("Changed"),
    "superseded": msg("Superseded"),
    "amended": msg("Amended"),
    "removed": msg("Removed"),
}


def render_comparison(comparison: Comparison, name: str, language: str, ink: PageStyle) -> str:
    """Return the page about *comparison*; *name* is that of the knowledge base."""
    page = _CommentPage(language, ink, comparison.revision, comparison.shared)
    errors, warnings = page.split_findings(comparison.findings)
    parts = [
        page.build_part(
            msg("After the merge"), [page.build_sentence(said) for said in comparison.meaning], counted=False
        )
    ]
    parts.append(page.build_part(msg("To settle before the merge"), errors))
    for step in STEPS:
        changes = [change for change in comparison.changes if change.step == step]
        parts.append(page.build_part(_HEADINGS[step], [page.build_change(change) for change in changes]))
    parts.append(page.build_folded_part(msg("Worth a look"), warnings))
    head = page.render_head(name, page.render_counts(comparison)) + page.render_verdict(len(errors), len(warnings))
    tail = "\n" + " · ".join(page.iter_footer(comparison)) + "\n"
    return head + fit_parts(parts, ink.limit - len(head) - len(tail), page.render_more) + tail


def render_findings(findings: Sequence[Finding], name: str, language: str, shared: frozenset[str] = frozenset()) -> str:
    """Return the page about the *findings* of a whole check, as markdown; *shared* are the ids that projects have."""
    page = _CommentPage(language, MARKDOWN, "", shared)
    errors, warnings = page.split_findings(findings)
    parts = [
        page.build_part(msg("Errors"), errors),
        page.build_folded_part(msg("Worth a look"), warnings),
    ]
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
        "findings": as_values(comparison.findings, language),
        "elsewhere": dict(comparison.elsewhere),
        "branches": list(comparison.branches),
        "unseen": comparison.unseen,
        "uncompared": comparison.uncompared,
    }


def _serialise_change(change: RecordChange) -> dict[str, object]:
    record = change.record
    return {
        "step": change.step,
        "id": record.id,
        "uid": record.uid,
        "scope": record.scope,
        "kind": record.kind,
        "title": record.title,
        "path": record.path,
        "status": record.status,
        "status_before": change.before.status if change.before else "",
        "parts": [piece._asdict() for piece in change.parts],
        "by": [one.id for one in change.by],
        "similar": [similar._asdict() for similar in change.similar],
        "meanwhile": list(change.elsewhere),
    }


class _CommentPage:
    """Writes for one reader: in a language, with an ink, of a comparison with *revision*."""

    def __init__(self, language: str, ink: PageStyle, revision: str, shared: frozenset[str] = frozenset()) -> None:
        self.language = language
        self.ink = ink
        self.revision = revision
        self.shared = shared

    def format_id(self, record_id: str, scope: str) -> str:
        """Return the name by which a reader finds the record *record_id* of *scope* wherever they stand."""
        return qualify_id("", scope, record_id, is_taken=record_id in self.shared)

    def render_message(self, said: Message) -> str:
        """Return *said* in the reader's language, for the page."""
        return self.ink.text(said.translate(self.language))

    def join_label(self, label: str, text: str) -> str:
        """Return a *label* and what it stands for."""
        return f"{label}{'：' if self.language == 'zh' else ': '}{text}"

    # around the parts

    def render_head(self, name: str, counts: str) -> str:
        """Return the mark of the comment and its title."""
        mark = MARK + "\n" if self.ink is MARKDOWN else ""
        title = self.join_label(self.ink.text(clip(name, _TITLE)), counts) if counts else self.ink.text(name)
        return f"{mark}{self.ink.heading}{title}\n\n"

    def render_counts(self, comparison: Comparison) -> str:
        """Return how many records are new, changed and so on."""
        counts = Counter(change.step for change in comparison.changes)
        words = {
            "new": msg("{count} new", count=counts["new"]),
            "changed": msg("{count} changed", count=counts["changed"]),
            "superseded": msg("{count} superseded", count=counts["superseded"]),
            "amended": msg("{count} amended", count=counts["amended"]),
            "removed": msg("{count} removed", count=counts["removed"]),
        }
        told = [self.render_message(words[step]) for step in STEPS if counts[step]]
        return ("，" if self.language == "zh" else ", ").join(told) or self.render_message(msg("no record changes"))

    def render_verdict(self, errors: int, warnings: int) -> str:
        """Return the line that says whether the merge may go ahead."""
        said = (
            msg("❌ To settle before the merge: {errors}; worth a look: {warnings}", errors=errors, warnings=warnings)
            if errors
            else msg("⚠️ Nothing stands against it; worth a look: {warnings}", warnings=warnings)
            if warnings
            else msg("✅ Nothing stands against it")
        )
        return self.ink.strong(self.render_message(said)) + "\n"

    def iter_footer(self, comparison: Comparison) -> Iterator[str]:
        """Yield what was compared, and what was not."""
        yield self.render_message(
            msg("Compared: the checkout with {revision}; they parted at {commit}",
                revision=comparison.revision, commit=comparison.base[:10])
        )  # fmt: skip
        if comparison.uncommitted:
            yield self.render_message(
                msg("not committed yet, and counted here: {count} files", count=comparison.uncommitted)
            )
        if comparison.branches:
            yield self.render_message(
                msg("other open branches with records of their own: {count}", count=len(comparison.branches))
            )
        if comparison.unseen:
            yield self.render_message(
                msg("other open branches that were not looked at: {count}", count=comparison.unseen)
            )
        if comparison.uncompared:
            yield self.render_message(
                msg("changed records whose words were not compared: {count}", count=comparison.uncompared)
            )
        others = sum(comparison.elsewhere.values())
        if others:
            yield self.render_message(
                msg("in files that stay as they are: findings: {count}; see: kb check", count=others)
            )

    def render_more(self, count: int) -> str:
        """Return the line that counts what there is no room for."""
        words = msg("… and {count} more: kb check --against {revision}", count=count, revision=self.revision)
        return "- " + self.render_message(words if self.revision else msg("… and {count} more: kb check", count=count))

    # parts

    def build_part(self, title: Message, items: Sequence[PageItem], *, counted: bool = True) -> PagePart:
        """Return a part of the page."""
        return PagePart(
            self.ink.strong(self._format_counted_title(title, items) if counted else self.render_message(title)), items
        )

    def build_folded_part(self, title: Message, items: Sequence[PageItem]) -> PagePart:
        """Return a part that is folded away where it is long and the page can do that."""
        if self.ink is not MARKDOWN or len(items) <= _UNFOLDED:
            return self.build_part(title, items)
        return PagePart(
            f"<details><summary>{self._format_counted_title(title, items)}</summary>", items, "\n</details>\n"
        )

    def _format_counted_title(self, title: Message, items: Sequence[PageItem]) -> str:
        return f"{self.render_message(title)} ({len(items)})"

    def build_sentence(self, said: Message) -> PageItem:
        """Return one sentence as an item."""
        row = "- " + self.render_message(said)
        return PageItem(row, row)

    def split_findings(self, findings: Sequence[Finding]) -> tuple[list[PageItem], list[PageItem]]:
        """Return the errors and the warnings among *findings*."""
        errors = [finding for finding in findings if finding.severity == "error"]
        warnings = [finding for finding in findings if finding.severity != "error"]
        return self._build_findings(errors, "❌"), self._build_findings(warnings, "⚠️")

    def _build_findings(self, findings: Sequence[Finding], mark: str) -> list[PageItem]:
        """Return what is wrong, what to do and where; what is wrong on several lines of a file once."""
        places: dict[tuple[str, str, str], list[int]] = {}
        for finding in findings:
            said = (finding.message.translate(self.language), finding.fix.translate(self.language))
            places.setdefault((finding.path, *said), []).append(finding.line)
        return [self._build_finding(mark, *told, lines) for told, lines in places.items()]

    def _build_finding(self, mark: str, path: str, message: str, fix: str, lines: Sequence[int]) -> PageItem:
        record_id = self.format_id(path.rpartition("/")[2].partition("-")[0], parse_path_scope(path))
        brief = f"- {mark} {self.ink.strong(self.ink.text(record_id))} — {self.ink.text(clip(message, 2 * _LINE))}"
        place = self.ink.code(f"{path}:{', '.join(map(str, dict.fromkeys(lines)))}")
        return PageItem(f"{brief}\n  - → {self.ink.text(fix)}\n  - {place}", brief)

    def build_change(self, change: RecordChange) -> PageItem:
        """Return what becomes of one record."""
        record = change.record
        title = self.ink.strong(
            self.ink.text(f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE)}")
        )
        about = [kind_label(record.kind, self.language), self._format_status(change), record.scope]
        brief = f"- {title} — {' · '.join(self.ink.text(clip(word, _WORD)) for word in about)}"
        rows = [] if change.step == "changed" else list(self._iter_short_form(record, whole=change.step == "new"))
        rows += self._iter_relations(change)
        rows += (row for piece in change.parts for row in self._iter_part_change(piece))
        if change.elsewhere:
            names = ", ".join(map(self._format_label, change.elsewhere))
            words = msg("meanwhile changed on {revision} too: {parts}", revision=self.revision, parts=names)
            rows.append("⚠️ " + self.render_message(words))
        rows.append(self.ink.code(record.path))
        return PageItem("\n".join([brief, *(f"  - {row}" if row[:1] != " " else f"  {row}" for row in rows)]), brief)

    def _format_status(self, change: RecordChange) -> str:
        moved = change.status_change or (change.record.status,)
        return " → ".join(map(self._translate_status, moved))

    def _translate_status(self, status: str) -> str:
        return STATUSES[status].translate(self.language) if status in STATUSES else status

    def _iter_short_form(self, record: Record, *, whole: bool) -> Iterator[str]:
        for name in _SHORT_FORM if whole else _SHORT_FORM[:1]:
            text = summarise_section(record.section(name), name, _LINE)
            if name == "impact" and not text:
                text = clip(", ".join(record.impact), _LINE)
            if text:
                yield self.join_label(section_label(name, self.language), self.ink.text(text))

    def _iter_relations(self, change: RecordChange) -> Iterator[str]:
        record = change.record
        if change.step == "new":
            for words, ids in ((msg("supersedes"), record.supersedes), (msg("amends"), record.amends)):
                if ids:
                    yield self.join_label(
                        self.render_message(words), self.ink.text(", ".join(f"[{one}]" for one in ids))
                    )
            for reference, reason in record.coexists_with.items():
                words = msg("coexists with {id}: {reason}", id=reference, reason=clip(reason, _LINE))
                yield self.render_message(words)
        if change.by:
            words = msg("superseded by") if change.step == "superseded" else msg("amended by")
            yield self.join_label(
                self.render_message(words), self.ink.text("; ".join(map(self._format_record, change.by)))
            )
        alike = [one for one in change.similar if one.score >= _ALIKE]
        if alike:
            named = "; ".join(
                f"[{self.format_id(one.id, one.scope)}] {clip(one.title, _TITLE)} ({one.score:.2f})" for one in alike
            )
            yield self.join_label(self.render_message(msg("similar, there already")), self.ink.text(named))

    def _format_record(self, record: Record) -> str:
        label = "" if record.status == Status.ACCEPTED else f" ({self._translate_status(record.status)})"
        return f"[{self.format_id(record.id, record.scope)}] {clip(record.title, _TITLE)}{label}"

    def _iter_part_change(self, piece: Piece) -> Iterator[str]:
        """Yield what has changed in one part of a record."""
        label = self.ink.text(self._format_label(piece.name))
        if not piece.before and not piece.after:
            yield self.join_label(label, self.render_message(msg("in another order")))
            return
        yield label
        for words, text in ((msg("before"), piece.before), (msg("now"), piece.after)):
            yield "  - " + self.join_label(self.render_message(words), self.ink.text(text) if text else "–")

    def _format_label(self, name: str) -> str:
        return section_label(name, self.language) if name in _LABELS else clip(name, _WORD)
