"""What kb has to say of a document that is open in an editor: its citations, what governs it, what is wrong with it.

Lines and columns are 0-based and count characters; the protocol's own units are the door's business.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from kb.checks.check_context import Finding
from kb.checks.run_checks import check_unsaved_record
from kb.errors import UnknownId
from kb.git.git_process import find_git_dir
from kb.guard.action_hints import MAX_IMPACT, rank_impact
from kb.history.dependents import list_links, resolve_citation
from kb.i18n import msg
from kb.index.record_ids import qualify_name_for
from kb.index.schema import Filter
from kb.knowledge_base import KnowledgeBase
from kb.paths import find_root
from kb.records.citations import find_reference_at
from kb.records.front_matter import TextSpan
from kb.records.kinds import BY_NAME, kind_label, section_label, status_name
from kb.records.model import GLOBAL, LIVE, Record, Status, recency_key
from kb.records.record_paths import is_record_path, parse_path_scope
from kb.records.short_form import summarise_section
from kb.safety.injection import reveal_hidden
from kb.text.segment import one_line

MAX_COMPLETIONS = 200
"""Records that are offered at once; what is typed further narrows them down."""
MAX_LENSES = 5
"""Records above a file."""
_MAX_TITLES = 100_000
"""Titles that are searched for what is typed."""
_SECTION_CHARACTERS = 300
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#!|~])")
_BEGUN = re.compile(r"(?:(\[)|(?<![\w/.-])kb:)([^\[\]\r\n]{0,60})$")
"""A citation that is being written: `[`, `[D0`, `[shop:D`, `[refund window`, `kb:D`."""
_BEGUN_IN_CODE = re.compile(r"(?:[\w.-]+:)?[A-Za-z]{1,2}\d{1,9}")
"""What may stand behind the bracket in a program, where most brackets are none of kb's."""


class Completion(NamedTuple):
    """A record in force that may be cited where the cursor is."""

    label: str
    text: str
    """What replaces the span."""
    span: TextSpan


class OpenDocument:
    """A file as an editor has it, saved or not, and the knowledge base that holds for it."""

    def __init__(self, kb: KnowledgeBase, path: str, text: str) -> None:
        """Take the absolute *path* and the *text* of the editor."""
        self._kb, self.path, self.text = kb, os.path.realpath(path), text

    @cached_property
    def record_path(self) -> str:
        """The path within the knowledge base, where the file is a record; else ""."""
        inside = os.path.relpath(self.path, self._kb.root).replace(os.sep, "/")
        return inside if is_record_path(inside) else ""

    @cached_property
    def scope(self) -> str:
        """The scope in which its citations are read."""
        own = parse_path_scope(self.record_path) if self.record_path else ""
        return own or self._kb.project(os.path.dirname(self.path))

    @cached_property
    def _is_prose(self) -> bool:
        return self.path.casefold().endswith((".md", ".markdown", ".txt", ".rst", ".adoc"))

    # -- citations ----------------------------------------------------------------------------------

    def find_cited(self, row: str, column: int) -> tuple[Record, TextSpan] | None:
        """Return the record that is cited at *column* of a *row*, and where the citation stands."""
        found = find_reference_at(row, column)
        if found is None:
            return None
        project, record_id, span = found
        citing = Record("", "", "", self.scope)
        record = resolve_citation(self._kb.sync_index(), citing, project, record_id)
        return (record, span) if record else None

    def describe_record(self, record: Record) -> str:
        """Return what a person wants to know of a cited *record*, as markdown without links and images."""
        kb, language = self._kb, self._kb.config.language
        scope = [] if record.scope == GLOBAL else [record.scope.rpartition("/")[2]]
        about = [kb.localise(status_name(record.status)), kind_label(record.kind, language), *scope, record.date]
        parts = [f"**{_escape(f'[{record.id}] {record.title}')}**", " · ".join(map(_escape, filter(None, about)))]
        if record.status not in LIVE:
            parts += [_escape(kb.localise(said)) for said in self._iter_successors(record)]
        row = BY_NAME.get(record.kind)
        for name in ("decision", "why", *(row.sections if row else ())):
            if said := summarise_section(record.section(name), limit=_SECTION_CHARACTERS):
                parts.append(f"**{section_label(name, language, record.kind)}**: {_escape(said)}")
        return "\n\n".join(parts)

    def _iter_successors(self, record: Record) -> Iterator[str]:
        for link in list_links(self._kb, record.id, scope=record.scope):
            if link.relation == "supersedes" and not link.outward:
                yield self._kb.localise(msg("superseded by [{id}] {title}", id=link.name, title=link.title))

    def list_completions(self, row: str, column: int) -> tuple[list[Completion], bool]:
        """Return the records in force that may be meant by what stands before *column* of a *row*, newest first.

        Those of the scope of the document and the global ones come before others; also whether these are all.
        """
        begun = _BEGUN.search(row, 0, column)
        if begun is None or (begun[1] and not self._is_prose and not _BEGUN_IN_CODE.fullmatch(begun[2])):
            return [], True
        # an editor that closes brackets by itself has one behind the cursor
        span = TextSpan(begun.start(), column + (bool(begun[1]) and row[column : column + 1] == "]"))
        words, found = begun[2].casefold().split(), []
        for record_id, scope, title in self._list_titles():
            name = qualify_name_for(self._kb.index.list_scopes, record_id, scope, self.scope) if begun[1] else record_id
            if all(word in f"{name} {title}".casefold() for word in words):
                label = f"[{name}] {reveal_hidden(one_line(title))}"
                found.append(Completion(label, f"[{name}]" if begun[1] else f"kb:{name}", span))
        return found[:MAX_COMPLETIONS], len(found) <= MAX_COMPLETIONS

    def _list_titles(self) -> list[tuple[str, str, str]]:
        """Return id, scope and title of the records in force, those of this scope and the global ones first."""
        index = self._kb.sync_index(thorough=False)
        scopes = [scope for scope in index.count_by_column("scope") if self._kb.can_see(scope)]
        rows = [(record_id, scope, title) for record_id, scope, title, _ in index.list_titles(scopes, _MAX_TITLES)]
        return sorted(rows, key=lambda one: one[1] not in (self.scope, GLOBAL))

    # -- what governs the file ------------------------------------------------------------------------

    def list_governing(self) -> list[Record]:
        """Return the accepted records whose impact names the file or a folder it is in, the closest first."""
        around = find_git_dir(os.path.dirname(self.path))
        if self.record_path or around is None:
            return []
        path = os.path.relpath(self.path, around[0]).replace(os.sep, "/")
        wanted = Filter(statuses=(Status.ACCEPTED,), scopes=self._kb.own_scopes(self.scope), path=path)
        ranked = []
        for record in self._kb.records(wanted):
            rank = max((rank_impact(one, path) for one in record.impact), default=(0, 0))
            if rank[0] and len(record.impact) <= MAX_IMPACT:
                ranked.append((rank, recency_key(record), record))
        return [record for _, _, record in sorted(ranked, key=lambda one: one[:2], reverse=True)]

    # -- what is wrong with it ------------------------------------------------------------------------

    def check_record(self) -> tuple[list[Finding], str]:
        """Return what `kb check` finds in the record as it stands here, and its text with what can be fixed safely."""
        if not self.record_path:
            return [], ""
        try:
            return check_unsaved_record(self._kb, self.record_path, self.text)
        except UnknownId:  # the base changes while it is being read
            return [], ""

    @property
    def fix_title(self) -> str:
        """What the editor calls the fix it offers."""
        return self._kb.localise(msg("Fix what kb check --fix can fix"))

    def locate_record(self, record: Record) -> str:
        """Return the absolute path of the file of *record*."""
        return os.path.join(self._kb.root, *record.path.split("/"))

    def localise(self, finding: Finding) -> str:
        """Return what a *finding* says, with the next step on a line of its own."""
        return f"{self._kb.localise(finding.message)}\n→ {self._kb.localise(finding.fix)}"


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", reveal_hidden(one_line(text)))


@contextmanager
def open_document(root: str, environment: Mapping[str, str], path: str, text: str) -> Iterator[OpenDocument | None]:
    """Open the *text* of the file *path* with the knowledge base at *root* ("": the one that holds for its folder).

    None where there is no knowledge base for it.
    """
    folder = os.path.dirname(os.path.realpath(path))
    found = root or find_root(folder, environment)
    if not found or not os.path.isdir(folder):
        yield None
        return
    with KnowledgeBase.at(found, environment, folder=folder) as kb:
        yield OpenDocument(kb, path, text)
