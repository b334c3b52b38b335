"""The language server: what kb knows, in any editor that speaks the Language Server Protocol.

The one home of pygls, which only the extra `lsp` brings. `OpenDocument` is what kb has to say of a file; its lines and
columns are 0-based and count characters. The server puts that into the protocol's own units. Every request opens the
knowledge base as it is now; a check, which takes longest, runs in a thread.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import NamedTuple

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from kb import __version__
from kb.checks.check_context import Finding
from kb.checks.run_checks import check_unsaved_record
from kb.errors import KbError, UnknownId
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
from kb.records.kinds import BY_NAME, is_record_path, kind_label, parse_path_scope, section_label, status_name
from kb.records.model import GLOBAL, LIVE, Record, Status, recency_key
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
"""What may follow the bracket in a program, where most brackets are none of kb's."""


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
        """Return the records in force that may be meant by what precedes *column* of a *row*, newest first.

        Those of the scope of the document and the global ones come before others; also whether these are all.
        """
        begun = _BEGUN.search(row, 0, column)
        if begun is None or (begun[1] and not self._is_prose and not _BEGUN_IN_CODE.fullmatch(begun[2])):
            return [], True
        # an editor that closes brackets by itself has one after the cursor
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
            rank = rank_impact(record.impact, path)
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


OPEN = "kb.open"
"""The command after a code lens: show a file in the editor."""
_PAUSE = 0.4
"""Seconds without a keystroke after which an open record is checked."""
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
_MARKDOWN = types.MarkupKind.Markdown
_SOURCE = "kb"


class EditorService:
    """Answers the requests of one editor."""

    def __init__(self, server: LanguageServer, root: str, environment: Mapping[str, str]) -> None:
        """Answer on *server* from the knowledge base at *root* ("": the one that holds for each document)."""
        self._server, self._root, self._environment = server, root, environment
        self._fixed: dict[str, str] = {}
        """URI of an open record → its text with what can be fixed safely."""
        self._checking = asyncio.Lock()

    def register_features(self) -> None:
        """Tell the server which methods are answered, and how."""
        brackets = types.CompletionOptions(trigger_characters=["[", ":"])
        fixes = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
        rows = (
            (types.TEXT_DOCUMENT_HOVER, self.show_hover, None),
            (types.TEXT_DOCUMENT_DEFINITION, self.find_definition, None),
            (types.TEXT_DOCUMENT_COMPLETION, self.complete_citation, brackets),
            (types.TEXT_DOCUMENT_CODE_LENS, self.show_governing, None),
            (types.TEXT_DOCUMENT_CODE_ACTION, self.offer_fixes, fixes),
            (types.TEXT_DOCUMENT_DID_OPEN, self.check_opened, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self.check_saved, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.check_changed, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.forget_closed, None),
        )
        for method, handler, options in rows:
            self._server.feature(method, options)(partial(handler))  # pygls marks what it is given, no bound method
        self._server.command(OPEN)(partial(self.open_file))

    @contextmanager
    def _open(self, uri: str) -> Iterator[tuple[OpenDocument | None, TextDocument]]:
        """Open the document *uri* with its knowledge base; None for one without, or which is no file."""
        document, path = self._server.workspace.get_text_document(uri), to_fs_path(uri)
        if path is None:
            yield None, document
            return
        with open_document(self._root, self._environment, path, document.source) as found:
            yield found, document

    # -- citations ----------------------------------------------------------------------------------

    def show_hover(self, params: types.HoverParams) -> types.Hover | None:
        """Tell what the citation under the cursor means."""
        with self._open(params.text_document.uri) as (found, document):
            row, column = _read_row(document, params.position)
            cited = found.find_cited(row, column) if found else None
            if found is None or cited is None:
                return None
            record, span = cited
            content = types.MarkupContent(_MARKDOWN, found.describe_record(record))
            return types.Hover(content, _build_range(document, params.position.line, span.start, span.end))

    def find_definition(self, params: types.DefinitionParams) -> types.Location | None:
        """Return the file of the record that is cited under the cursor."""
        with self._open(params.text_document.uri) as (found, document):
            cited = found.find_cited(*_read_row(document, params.position)) if found else None
            if found is None or cited is None:
                return None
            start = types.Position(0, 0)
            return types.Location(_build_uri(found, cited[0]), types.Range(start, start))

    def complete_citation(self, params: types.CompletionParams) -> types.CompletionList:
        """Offer the records that may be cited where the cursor is."""
        with self._open(params.text_document.uri) as (found, document):
            row, column = _read_row(document, params.position)
            rows, is_all = found.list_completions(row, column) if found else ([], True)
            items = []
            for number, one in enumerate(rows):
                where = _build_range(document, params.position.line, one.span.start, one.span.end)
                typed = row[one.span.start : column]
                items.append(
                    types.CompletionItem(
                        label=one.label,
                        kind=types.CompletionItemKind.Reference,
                        # an editor compares what is typed with this; what fits was chosen here already
                        filter_text=f"{typed} {one.label}",
                        sort_text=f"{number:05}",
                        text_edit=types.TextEdit(where, one.text),
                    )
                )
            return types.CompletionList(is_incomplete=not is_all, items=items)

    # -- what governs a file --------------------------------------------------------------------------

    def show_governing(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """Name the records that govern the file, above its first line."""
        with self._open(params.text_document.uri) as (found, _):
            if found is None:
                return []
            top = types.Range(types.Position(0, 0), types.Position(0, 0))
            lenses = []
            for record in found.list_governing()[:MAX_LENSES]:
                title = f"[{record.id}] {reveal_hidden(one_line(record.title))}"
                command = types.Command(title=title, command=OPEN, arguments=[_build_uri(found, record)])
                lenses.append(types.CodeLens(range=top, command=command))
            return lenses

    async def open_file(self, uri: str) -> None:
        """Show the file *uri* in the editor."""
        await self._server.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))

    # -- what is wrong with a record --------------------------------------------------------------------

    async def check_opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """Check a record that was opened."""
        await self._publish_findings(params.text_document.uri)

    async def check_saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """Check a record that was saved."""
        await self._publish_findings(params.text_document.uri)

    async def check_changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Check a record once nobody has typed in it for a moment."""
        document = self._server.workspace.get_text_document(params.text_document.uri)
        version = document.version
        await asyncio.sleep(_PAUSE)
        if document.version == version:
            await self._publish_findings(params.text_document.uri)

    def forget_closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """Take back what was said of a record that is closed."""
        self._fixed.pop(params.text_document.uri, None)
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    async def _publish_findings(self, uri: str) -> None:
        """Check the record *uri* in a thread and tell the editor, unless the text has changed meanwhile."""
        document = self._server.workspace.get_text_document(uri)
        version = document.version
        async with self._checking:  # one check at a time, and none of a text that has changed while it waited
            if document.version == version:
                await self._publish_version(uri, document)

    async def _publish_version(self, uri: str, document: TextDocument) -> None:
        version = document.version
        try:
            found, fixed = await asyncio.to_thread(self._check_document, uri)
        except KbError as error:
            said = types.LogMessageParams(types.MessageType.Warning, str(error))
            self._server.window_log_message(said)
            return
        if found is not None and document.version == version:
            self._fixed[uri] = fixed
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _check_document(self, uri: str) -> tuple[list[types.Diagnostic] | None, str]:
        """Return what is wrong with the record *uri*, None for what is no record, and its text with the safe fixes."""
        with self._open(uri) as (found, document):
            if found is None or not found.record_path:
                return None, ""
            findings, fixed = found.check_record()
            return [_build_diagnostic(found, document, one) for one in findings], fixed

    def offer_fixes(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Offer what `kb check --fix` would write into the open record."""
        uri = params.text_document.uri
        document, fixed = self._server.workspace.get_text_document(uri), self._fixed.get(uri, "")
        if not fixed or fixed == document.source:
            return []
        settled = [one for one in params.context.diagnostics if one.source == _SOURCE and one.data == {"fix": True}]
        whole = types.Range(types.Position(0, 0), types.Position(len(document.lines), 0))
        with self._open(uri) as (found, _):
            title = found.fix_title if found else ""
        edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(whole, fixed)]})
        kind = types.CodeActionKind.QuickFix
        return [types.CodeAction(title=title, kind=kind, diagnostics=settled, edit=edit)]


def _read_row(document: TextDocument, position: types.Position) -> tuple[str, int]:
    """Return the row at *position* and the column in characters; an empty row after the end of the text."""
    if position.line >= len(document.lines):
        return "", 0
    return document.lines[position.line], document.position_from_client_units(position).character


def _build_range(document: TextDocument, line: int, start: int, end: int) -> types.Range:
    """Return the columns *start* to *end*, in characters, of a *line* in the units of the editor."""
    row = document.lines[line] if line < len(document.lines) else ""
    units = (document.position_codec.client_num_units(row[:column]) for column in (start, end))
    first, last = (types.Position(line, unit) for unit in units)
    return types.Range(first, last)


def _build_diagnostic(found: OpenDocument, document: TextDocument, finding: Finding) -> types.Diagnostic:
    line = min(max(finding.line - 1, 0), max(len(document.lines) - 1, 0))
    row = document.lines[line].rstrip("\r\n") if document.lines else ""
    return types.Diagnostic(
        range=_build_range(document, line, 0, len(row)),
        message=reveal_hidden(found.localise(finding)),
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        source=_SOURCE,
        data={"fix": finding.is_fixable},
    )


def _build_uri(found: OpenDocument, record: Record) -> str:
    return str(from_fs_path(found.locate_record(record)))


def build_server(root: str, environment: Mapping[str, str]) -> LanguageServer:
    """Return the server that answers from the knowledge base at *root* ("": the one that holds for each document)."""
    server = LanguageServer("kb", __version__)
    EditorService(server, root, environment).register_features()
    return server


def serve_stdio(root: str, environment: Mapping[str, str]) -> None:
    """Answer an editor on stdin and stdout until it goes."""
    build_server(root, environment).start_io()
