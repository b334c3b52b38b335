"""The language server, asked by a client of the protocol over stdin and stdout."""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from kb.checks.run_checks import check_records, check_unsaved_record
from kb.knowledge_base import KnowledgeBase
from kb.lsp import open_document
from kb.records.model import Candidate, Record, Section
from tests.support.command_line import run
from tests.support.sealed import git

KB = [sys.executable, "-c", "from kb.cli import main; main()"]
REDIS = Candidate(
    "decision",
    "Use Redis for the session cache",
    "Sessions are cached in Redis 7.",
    why="Several processes share them.",
    impact=("src/cache.py",),
    sections={"alternatives": "Memcached.", "verification": "pytest tests/cache", "rollback": "Use a dict."},
)
REFUND = Candidate(
    "decision",
    "退款金额以分为单位保存",
    "退款金额在数据库与接口里一律是整数分。",
    why="浮点数会丢失精度，对账时差一分钱。",
    impact=("src/refund",),
    sections={"alternatives": "使用浮点数。", "verification": "运行退款测试。", "rollback": "恢复旧表。"},
)
LOGS = Candidate(
    "decision",
    "Use Kafka for the audit events",
    "Audit events go to Kafka 3.",
    why="Several services read them.",
    impact=("src/audit.py",),
    sections={"alternatives": "RabbitMQ.", "verification": "pytest tests/audit", "rollback": "Write a file."},
)
_SECONDS = 20


class Editor:
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.published: dict[str, list[types.Diagnostic]] = {}
        self.shown: list[str] = []
        self._news = asyncio.Event()
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(partial(self._keep))
        self.client.feature(types.WINDOW_SHOW_DOCUMENT)(partial(self._show))

    def _keep(self, params: types.PublishDiagnosticsParams) -> None:
        self.published[params.uri] = list(params.diagnostics)
        self._news.set()

    def _show(self, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        self.shown.append(params.uri)
        return types.ShowDocumentResult(success=True)

    async def wait_for(self, is_there: Callable[[], bool]) -> None:
        """Return once *is_there*; fail after a time."""
        async with asyncio.timeout(_SECONDS):
            while not is_there():
                self._news.clear()
                await self._news.wait()

    def open(self, path: Path, text: str = "") -> str:
        """Open a file, with *text* in place of what is in it, and return its URI."""
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, "markdown", 1, text or path.read_text("utf-8"))
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str, version: int) -> None:
        """Replace the whole text of an open file."""
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def complete(self, uri: str, line: int, character: int) -> list[types.CompletionItem]:
        """Return what is offered at a place."""
        where = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        found = await self.client.text_document_completion_async(where)
        assert isinstance(found, types.CompletionList)
        return list(found.items)


def talk(folder: Path, conversation: Callable[[Editor], Coroutine[Any, Any, None]], **environment: str) -> None:
    """Start the server in *folder*, hold a *conversation*, and end it as an editor does."""

    async def hold() -> None:
        editor = Editor()
        await editor.client.start_io(*KB, "lsp", cwd=str(folder), env={**os.environ, **environment})
        try:
            async with asyncio.timeout(3 * _SECONDS):
                given = types.InitializeParams(types.ClientCapabilities(), process_id=os.getpid())
                await editor.client.initialize_async(given)
                editor.client.initialized(types.InitializedParams())
                await conversation(editor)
                await editor.client.shutdown_async(None)
                editor.client.exit(None)
        except BaseException:
            editor.client._server.kill()  # stop() waits for a server that nobody has told to go
            raise
        finally:
            await editor.client.stop()

    asyncio.run(hold())


@pytest.fixture
def shop(root: Path, kb: KnowledgeBase) -> Path:
    """A knowledge base with two records, and a project that it governs beside it."""
    shop = root.parent / "shop"
    (shop / "src/refund").mkdir(parents=True)
    (shop / "src/cache.py").write_text("# sessions live here, kb:D001\ncache = {}\n", "utf-8")
    (shop / "src/refund/money.py").write_text("amount = 1\n", "utf-8")
    (shop / "README.md").write_text("Sessions: see 𝕏 [shop:D001].\n", "utf-8")
    git(shop, "init", "-q")
    verdicts = kb.write([one._replace(scope="project/shop") for one in (REDIS, REFUND)])
    assert [verdict.id for verdict in verdicts] == ["D001", "D002"]
    return shop


def locate(root: Path, record_id: str) -> Path:
    """Return the file of a record."""
    (found,) = root.glob(f"content/anchors/projects/shop/{record_id}-*.md")
    return found


def test_a_citation_is_explained_and_leads_to_its_file(shop: Path, root: Path) -> None:
    async def point(editor: Editor) -> None:
        uri = editor.open(shop / "README.md")
        # the letter before the citation is two units of UTF-16, in which an editor counts
        column = "Sessions: see 𝕏 [shop:".encode("utf-16-le").__len__() // 2
        here = (types.TextDocumentIdentifier(uri), types.Position(0, column))
        hover = await editor.client.text_document_hover_async(types.HoverParams(*here))
        assert hover and isinstance(hover.contents, types.MarkupContent)
        for word in (
            "Use Redis for the session cache",
            "accepted",
            "Sessions are cached in Redis 7",
            "Several processes",
        ):
            assert word in hover.contents.value
        assert hover.range and (hover.range.start.character, hover.range.end.character) == (17, 28)
        found = await editor.client.text_document_definition_async(types.DefinitionParams(*here))
        assert isinstance(found, types.Location) and found.uri == locate(root, "D001").as_uri()
        outside = types.HoverParams(here[0], types.Position(0, 2))
        assert await editor.client.text_document_hover_async(outside) is None
        code = editor.open(shop / "src/cache.py")
        in_code = types.HoverParams(types.TextDocumentIdentifier(code), types.Position(0, 25))
        assert (await editor.client.text_document_hover_async(in_code)) is not None

    talk(shop, point, KB_HOME=str(root))


def test_what_replaced_a_record_is_said(shop: Path, root: Path, kb: KnowledgeBase) -> None:
    assert kb.write([LOGS._replace(scope="project/shop")])[0].id == "D003"
    kb.supersede("D001", by="D003", scope="project/shop", decided=True)

    async def point(editor: Editor) -> None:
        uri = editor.open(shop / "README.md")
        where = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 20))
        hover = await editor.client.text_document_hover_async(where)
        assert hover and isinstance(hover.contents, types.MarkupContent)
        said = hover.contents.value.replace("\\", "")
        assert "superseded by [D003] Use Kafka" in said

    talk(shop, point, KB_HOME=str(root))


def test_records_are_offered_where_one_is_about_to_be_cited(shop: Path, root: Path) -> None:
    async def write(editor: Editor) -> None:
        uri = editor.open(shop / "README.md", "see [\nsee [退款\nsee kb:D\nsee []\nnothing here\n")
        first = await editor.complete(uri, 0, 5)
        assert {item.text_edit.new_text for item in first if item.text_edit} == {"[D001]", "[D002]"}
        assert [item.label for item in await editor.complete(uri, 1, 7)] == ["[D002] 退款金额以分为单位保存"]
        assert "kb:D001" in {item.text_edit.new_text for item in await editor.complete(uri, 2, 8) if item.text_edit}
        (closed, *_) = await editor.complete(uri, 3, 5)
        assert isinstance(closed.text_edit, types.TextEdit) and closed.text_edit.range.end.character == 6
        assert await editor.complete(uri, 4, 5) == []
        code = editor.open(shop / "src/cache.py", "row[\nrow[D0\n")
        assert await editor.complete(code, 0, 4) == [], "an index of a list is no citation"
        assert len(await editor.complete(code, 1, 6)) == 2

    talk(shop, write, KB_HOME=str(root))


def test_a_file_says_what_governs_it(shop: Path, root: Path) -> None:
    async def look(editor: Editor) -> None:
        told = {}
        for name in ("src/cache.py", "src/refund/money.py", "README.md"):
            uri = editor.open(shop / name)
            given = types.CodeLensParams(types.TextDocumentIdentifier(uri))
            lenses = await editor.client.text_document_code_lens_async(given) or []
            told[name] = [lens.command.title for lens in lenses if lens.command]
        assert told == {
            "src/cache.py": ["[D001] Use Redis for the session cache"],
            "src/refund/money.py": ["[D002] 退款金额以分为单位保存"],
            "README.md": [],
        }
        target = locate(root, "D001").as_uri()
        call = types.ExecuteCommandParams(command="kb.open", arguments=[target])
        await editor.client.workspace_execute_command_async(call)
        assert editor.shown == [target]

    talk(shop, look, KB_HOME=str(root))


def test_an_open_record_is_checked_as_it_stands_in_the_editor(shop: Path, root: Path) -> None:
    path = locate(root, "D001")
    text = path.read_text("utf-8")

    async def edit(editor: Editor) -> None:
        uri = editor.open(path)
        await editor.wait_for(lambda: uri in editor.published)
        before = {diagnostic.code for diagnostic in editor.published[uri]}
        broken = text.replace("Sessions are cached in Redis 7.", "Sessions are cached in Redis 7, see [D404].")
        editor.change(uri, broken, 2)
        await editor.wait_for(lambda: {one.code for one in editor.published[uri]} != before)
        (new,) = (one for one in editor.published[uri] if one.code not in before)
        assert new.source == "kb" and "D404" in new.message and "→" in new.message
        assert "[D404]" in broken.splitlines()[new.range.start.line]
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await editor.wait_for(lambda: editor.published[uri] == [])

    talk(root, edit)
    assert path.read_text("utf-8") == text


def test_what_an_editor_is_told_is_what_kb_check_says(shop: Path, root: Path) -> None:
    path = locate(root, "D001")
    path.write_text(path.read_text("utf-8").replace("Several processes", "[D404] Several processes"), "utf-8")
    rows = run(root, "check", str(path)).out.splitlines()[::2]

    async def look(editor: Editor) -> None:
        uri = editor.open(path)
        await editor.wait_for(lambda: uri in editor.published)
        told = {(one.range.start.line + 1, one.code) for one in editor.published[uri]}
        assert told == {(int(row.split(":")[1]), row.rpartition("[")[2].rstrip("]")) for row in rows} and told

    talk(root, look)


def test_what_can_be_fixed_is_offered_as_the_editor_s_own_fix(shop: Path, root: Path) -> None:
    path = locate(root, "D001")
    text = path.read_text("utf-8")
    line = next(row for row in text.splitlines() if row.startswith("uid:"))
    without = text.replace(line + "\n", "")

    async def fix(editor: Editor) -> None:
        uri = editor.open(path, without)
        await editor.wait_for(lambda: uri in editor.published)
        given = types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            types.Range(types.Position(0, 0), types.Position(0, 0)),
            types.CodeActionContext(editor.published[uri]),
        )
        (action,) = await editor.client.text_document_code_action_async(given) or []
        assert isinstance(action, types.CodeAction) and action.edit and action.edit.changes
        (edit,) = action.edit.changes[uri]
        (new,) = {*edit.new_text.splitlines()} - {*without.splitlines()}
        assert new.startswith("uid: ")

    talk(root, fix)


def test_a_file_without_a_knowledge_base_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("see [D001]\n", "utf-8")

    async def look(editor: Editor) -> None:
        uri = editor.open(tmp_path / "x.md")
        where = (types.TextDocumentIdentifier(uri), types.Position(0, 6))
        assert await editor.client.text_document_hover_async(types.HoverParams(*where)) is None
        assert await editor.complete(uri, 0, 5) == []

    talk(tmp_path, look, HOME=str(tmp_path))


CHANGES = {
    "citation": ("Several processes", "[D404] Several processes"),
    "status": ("status: accepted", "status: fine"),
    "superseded": ("status: accepted", "status: superseded"),
    "kind": ("kind: decision", "kind: D"),
    "id": ("id: D001", "id: D002"),
    "scope": ("scope: project/shop", "scope: global"),
    "date": ("date: 2026", "date: 3026"),
    "field": ("status: accepted", "status: accepted\nconfidence: [a]"),
    "supersedes": ("status: accepted", "status: accepted\nsupersedes: [D002]"),
    "ring": ("status: accepted", "status: accepted\nsupersedes: [D001]"),
    "typo": ("status: accepted", "status: accepted\nsupercedes: [D002]"),
    "impact": ("impact: [src/cache.py]", "impact: [src/gone.py]"),
    "secret": ("Several processes", "The key is AKIA" + "Q7ZP4XN2LWVJ5RTB; several processes"),
    "heading": ("# [D001] Use Redis", "# [D009] Use Redis"),
    "section": ("## Rollback", "## Rollback\n\nTwice.\n\n## Rollback"),
    "markers": ("<!-- MACHINE_BLOCK_END -->\n", ""),
    "yaml": ("kind: decision", "kind: [decision"),
    "empty": ("Several processes share them.", "TODO"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_unsaved_record_is_judged_like_a_saved_one(name: str, shop: Path, root: Path, kb: KnowledgeBase) -> None:
    path, (old, new) = locate(root, "D001"), CHANGES[name]
    inside, text = path.relative_to(root).as_posix(), path.read_text("utf-8")
    changed = text.replace(old, new, 1)
    assert changed != text
    unsaved, _ = check_unsaved_record(kb, inside, changed)
    assert path.read_text("utf-8") == text
    path.write_text(changed, "utf-8")
    saved = check_records(kb, below=[inside])
    # what other branches and git's index have is compared with the file as it was saved
    assert [str(one) for one in unsaved] == [str(one) for one in saved if one.rule not in ("index", "branch-id")]


def test_a_chinese_base_speaks_chinese(shop: Path, root: Path) -> None:
    with (root / "kb.toml").open("a", encoding="utf-8") as file:
        file.write('\nlanguage = "zh"\n')
    with (
        KnowledgeBase.at(str(root), os.environ, folder=str(shop)) as kb,
        open_document(str(root), os.environ, str(shop / "README.md"), "见 [D002]") as document,
    ):
        assert kb.config.language == "zh" and document
        cited = document.find_cited("见 [D002]", 3)
        assert cited
        said = document.describe_record(cited[0])
        assert (
            "**决策**: 退款金额在数据库与接口里一律是整数分。" in said and "**理由**" in said and "accepted" not in said
        )
        assert re.search("[\u4e00-\u9fff]", document.fix_title)


def test_what_a_record_says_is_shown_and_not_rendered(root: Path) -> None:
    title = "Use <img src=x onerror=a> and ![x](https://t.example/p.png) [here](command:a) \u202e`b`"
    record = Record("D001", "decision", title, sections=(Section("decision", "Decision", f"{title}."),))
    with open_document(str(root), os.environ, str(root / "x.md"), "") as document:
        assert document
        said = document.describe_record(record)
    bare = re.sub(r"\\.", "", said)
    assert not re.search(r"<|\]\(|!\[|`|\u202e", bare), "no element, link, image or code, and nothing hidden"
