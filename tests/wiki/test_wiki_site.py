"""The wiki as a site: its links, its settings, and its search in a real browser."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

import pytest

from kb.errors import BadInput, KbError
from kb.knowledge_base import KnowledgeBase, make
from kb.records.kinds import folder_for_scope
from kb.records.model import Record
from kb.records.record_file import render
from kb.text.segment import slugify
from kb.wiki.build import build
from tests.support.command_line import run
from tests.support.sealed import DAY, git
from tests.wiki.test_wiki_pages import ATTACK, Seen, record


def shelved(place: Path, records: Iterable[Record], language: str = "en", name: str = "kb", more: str = "") -> Path:
    """Make a knowledge base of *records* at *place*, as one commit; *more* are further settings."""
    made, _ = make(str(place), os.environ, name="kb")
    made.close()
    (place / "kb.toml").write_text(f'name = "{name}"\nlanguage = "{language}"\n{more}', "utf-8")
    for one in records:
        path = place / folder_for_scope(one.scope) / f"{one.id}-{slugify(one.title)}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(one, language), "utf-8")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Write records")
    return place


WITH_SESSIONS = 'wiki_sessions = "show"\n'
SESSION = "shop-20260503-101010-abcdefgh"


def archived(place: Path, name: str = SESSION) -> None:
    """Put an archived session into the knowledge base at *place*."""
    folder = place / "content" / "sessions" / name
    folder.mkdir(parents=True)
    told = {"timestamp": "2026-05-03T10:10:10", "context": {"task": "修复重复扣款"}, "session_id": "abcdefgh-1"}
    (folder / "hui-output.json").write_text(json.dumps(told), "utf-8")
    (folder / "shi-result.json").write_text("{}", "utf-8")
    (folder / "compact.md").write_text("# 会话\n\n引用 [D001] 与 [D404]\n", "utf-8")


def built(place: Path, out: Path, *, strict: bool = True, own_config: bool = False) -> str:
    """Build the wiki of the knowledge base at *place*."""
    with KnowledgeBase(str(place), os.environ, lambda: DAY) as kb:
        return build(kb, str(out), strict, own_config=own_config)


# -- the site -------------------------------------------------------------------------------------


def filled() -> list[Record]:
    """Return thirty records of which few speak of 脱敏, 还款 and 幂等."""
    words = ["缓存", "重试", "队列", "审计", "限流", "灰度", "分区", "回滚", "对账", "结算"]
    others = [
        record(
            f"D{100 + n}",
            f"{words[n % 10]}策略 handler{n}",
            scope=("global", "project/shop", "project/lend")[n % 3],
            status=("accepted", "proposed", "deprecated")[n % 3],
            date=f"2026-0{1 + n % 5}-1{n % 9}",
            tags=(words[n % 10],),
            decision=f"还是按老办法处理{words[n % 10]}，付款等到月底。",
        )
        for n in range(25)
    ]
    mine = [
        record("D001", "还款接口必须幂等", scope="project/shop", decision="见 [C001]、[D404]，不看 [x](0003-old.md)。"),
        record("C001", "日志要脱敏", status="accepted", decision="手机号一律脱敏。", user="[shop:D001]"),
        record("D002", "额度分层", scope="project/lend", decision="应还款项另算。"),
        record(
            "D003",
            f"bad {ATTACK}",
            tags=(ATTACK,),
            decision=f"{ATTACK}\n\n{{{{ config }}}} zebra {ATTACK}\n\n| a | b |\n| -: | :-: |\n| 1 | 2 |",
        ),
        record("P001", "retry storms", scope="project/shop", decision="The gateway retries getUserName twice."),
        record("D004", "日报每天凌晨生成", scope="project/shop", status="superseded"),
        record("D005", "日报改为整点生成", scope="project/shop", supersedes=("D004",)),
    ]
    return [one._replace(uid=f"U{n:025}") for n, one in enumerate([*mine, *others])]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built wiki."""
    root = shelved(tmp_path_factory.mktemp("kb") / "kb", filled(), "zh", "知识库 <b>", WITH_SESSIONS)
    archived(root)
    out = tmp_path_factory.mktemp("out") / "wiki"
    assert built(root, out, strict=False) == str(out / "index.html")
    assert git(root, "status", "--porcelain").split() == ["??", f"content/sessions/{SESSION}/"]
    return out


class Anchored(HTMLParser):
    """Where a whole page points, what it loads, and what it can be pointed to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.scripts = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        self.scripts += tag == "script"
        assert not [name for name in values if name.startswith("on")]
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in ("script", "img", "link", "iframe") and values.get("src" if tag != "link" else "href"):
            self.loads.append(str(values["src" if tag != "link" else "href"]))


def test_every_link_of_the_site_leads_to_a_page_and_its_anchor(site: Path) -> None:
    parsed = {path: Anchored(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(parsed) > 40
    links = 0
    for path, page in parsed.items():
        for href in page.links:
            if href.startswith(("https://squidfunk", "mailto:")):
                continue
            address, anchor = urldefrag(href)
            address = address.partition("?")[0]
            target = (path.parent / unquote(address)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if target.suffix in (".xml", ".json", ".js", ".txt"):
                assert target.is_file() and not anchor, f"{path}: {href}"
                continue
            assert target in parsed, f"{path}: {href}"
            assert not anchor or unquote(anchor) in parsed[target].ids, f"{path}: {href}"
            links += 1
    assert links > 400


def test_the_site_loads_nothing_from_elsewhere_and_no_record_adds_a_script(site: Path) -> None:
    parsed = {path: Anchored(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert all("//" not in load for page in parsed.values() for load in page.loads)
    assert len({page.scripts for page in parsed.values()} - {0}) == 1
    hostile = (site / "anchors/global/D003.html").read_text("utf-8")
    assert "<script>document" not in hostile and "<img src=x" not in hostile
    assert "{{ config }}" in hostile


def own_site(place: Path, guide: str = "# Guide\n", plugins: str = "[search, kb]") -> Path:
    """Make a knowledge base that has a site of its own."""
    shelved(place, [record("D001", "first")])
    (place / "docs").mkdir()
    (place / "docs" / "guide.md").write_text(guide, "utf-8")
    (place / "mkdocs.yml").write_text(f"site_name: Ours\ntheme: material\nplugins: {plugins}\n", "utf-8")
    return place


def test_a_site_of_its_own_keeps_its_settings_and_pages(tmp_path: Path) -> None:
    root = own_site(tmp_path / "kb")
    before = sorted(path.name for path in root.iterdir())
    built(root, root / "site", own_config=True)
    guide = (root / "site/guide/index.html").read_text("utf-8")
    assert "<title>Guide - Ours</title>" in guide
    assert 'href="../kb/records/"' in guide and 'href="../kb/graph/"' in guide
    assert "first" in (root / "site/kb/anchors/global/D001/index.html").read_text("utf-8")
    assert 'url=../anchors/global/D001/"' in (root / "site/kb/D001/index.html").read_text("utf-8")
    assert sorted(path.name for path in root.iterdir()) == [*before, "site"]


def test_a_site_without_the_plugin_is_told_so(tmp_path: Path) -> None:
    root = own_site(tmp_path / "kb", plugins="[search]")
    with pytest.raises(BadInput, match="the plugin kb is not enabled") as caught:
        built(root, root / "site", own_config=True)
    assert "- kb" in str(caught.value.hint)


def test_strict_names_the_broken_link(tmp_path: Path) -> None:
    root = own_site(tmp_path / "kb", guide="# Guide\n\n[x](gone.md)\n")
    with pytest.raises(KbError, match=r"gone\.md"):
        built(root, root / "site", own_config=True)
    built(root, root / "site", strict=False, own_config=True)


TRAPS = {
    "a hook": "hooks: [trap.py]\n",
    "a name": "markdown_extensions:\n- toc: {slugify: !!python/name:trap.slugify }\n",
    "a template": "theme: {name: material, custom_dir: over}\n",
    "a base": "INHERIT: other.yml\n",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_what_a_knowledge_base_names_for_its_site_is_run_only_after_a_yes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    mark = tmp_path / "ran"
    monkeypatch.syspath_prepend(str(root))
    (root / "docs").mkdir()
    (root / "docs" / "index.md").write_text("# Here\n", "utf-8")
    (root / "over").mkdir()
    (root / "over" / "main.html").write_text(f"{{{{ cycler.__init__.__globals__.os.makedirs('{mark}') }}}}", "utf-8")
    program = f"import os\nos.makedirs({str(mark)!r}, exist_ok=True)\ndef slugify(*_): return 'x'\n"
    (root / "trap.py").write_text(program, "utf-8")
    (root / "other.yml").write_text("hooks: [trap.py]\n", "utf-8")
    (root / "mkdocs.yml").write_text(f"site_name: Theirs\nplugins: [kb]\n{TRAPS[trap]}", "utf-8")
    done = run(root, "wiki", "build", "-o", str(tmp_path / "one"))
    assert done.code == 0 and not mark.exists() and "Theirs" not in Path(done.out.strip()).read_text("utf-8")
    assert "--own-config" in done.error and "programs to run" in done.error
    with contextlib.suppress(Exception):  # what a template does may end badly, and has been done
        run(root, "wiki", "build", "-o", str(tmp_path / "other"), "--own-config", "--no-strict")
    assert mark.exists(), "the trap is one"


def test_who_asks_for_settings_that_are_not_there_is_told_so(root: Path, tmp_path: Path) -> None:
    done = run(root, "wiki", "build", "-o", str(tmp_path / "site"), "--own-config")
    assert done.code == 1 and "there is no mkdocs.yml" in done.error and not (tmp_path / "site").exists()


@pytest.mark.parametrize("said", ["[D404]", "[shop:D001]", "[[no such title]]", "[x](D404-gone.md)"])
def test_strict_names_what_a_record_cites_in_vain(tmp_path: Path, said: str) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first", decision=f"See {said}.")])
    with pytest.raises(KbError, match=r"D001-first\.md: .*(404|shop:D001|no such title)"):
        built(root, tmp_path / "site")


def test_links_to_files_beside_the_records_are_no_mistake(tmp_path: Path) -> None:
    root = shelved(tmp_path / "kb", [record("D001", "first", decision="See [settings](../../../kb.toml).")])
    built(root, tmp_path / "site")


@pytest.mark.parametrize("where", [".", "..", "docs"])
def test_building_never_deletes_what_is_no_wiki(tmp_path: Path, where: str) -> None:
    root = shelved(tmp_path / "kb", [])
    (root / "docs").mkdir()
    (root / "docs" / "mine.txt").write_text("keep", "utf-8")
    with pytest.raises(BadInput):
        built(root, root / where)
    assert (root / "docs" / "mine.txt").read_text("utf-8") == "keep"


def test_a_wiki_is_built_over_the_one_before(tmp_path: Path) -> None:
    root, out = shelved(tmp_path / "kb", [record("D001"), record("D002", "second")]), tmp_path / "wiki"
    built(root, out)
    (root / "content/anchors/global/D002-second.md").unlink()
    built(root, out)
    assert (out / "anchors/global/D001.html").exists()
    assert not (out / "anchors/global/D002.html").exists()
    assert (out / "D001").exists() and not (out / "D002").exists()


def test_the_pages_need_no_mkdocs() -> None:
    heavy = "mkdocs markdown_it pygments jinja2 markdown material"
    program = f"import sys, kb.wiki.wiki_site, kb.wiki.build; print([m for m in '{heavy}'.split() if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


# -- search, in a browser -------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here")


def browsed(address: str, folder: Path) -> str:
    """Return the page at *address* as it stands after its scripts ran."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", f"--user-data-dir={folder}"]
    run = subprocess.run(
        [str(BROWSER), *options, "--dump-dom", address], capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout


def heard(address: str, folder: Path, *, patient: bool = False) -> tuple[str, list[str]]:
    """Return the page at *address* as it stands after its scripts ran, and what the console says.

    A *patient* one stands there until it is loaded: virtual time passes without a look at workers.
    """
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    options += ["--enable-logging=stderr", "--log-level=0"]
    options += [] if patient else ["--virtual-time-budget=8000"]
    run = subprocess.run(
        [str(BROWSER), *options, "--dump-dom", address], capture_output=True, text=True, timeout=110, check=True
    )
    return run.stdout, [line for line in run.stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(scope="module")
def answers(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """Return what the site's own search answers to each query: the pages, best first."""
    if BROWSER is None:
        pytest.skip("no chromium here")
    queries = [query for query, _ in QUERIES]
    probe = site / "probe.html"
    probe.write_text(
        f"""<meta charset=utf-8><script src=assets/kb-search.js></script>
        <script>const found = {{}}, asked = {json.dumps(queries)}, worker = new Worker("");
        worker.addEventListener("message", ({{data}}) => {{
          const places = () => data.data.items.map(parts => parts[0].location);
          if (data.type === 3) found[asked[Object.keys(found).length]] = places();
          const next = asked[Object.keys(found).length];
          if (next !== undefined) worker.postMessage({{type: 2, data: next}});
          else document.title = "done", document.body.textContent = JSON.stringify(found);
        }});
        worker.postMessage({{type: 0}});</script><body></body>""",
        "utf-8",
    )
    page = browsed(probe.as_uri(), tmp_path_factory.mktemp("profile"))
    probe.unlink()
    assert "<title>done</title>" in page
    yield json.loads(Seen(page[page.index("<body>") :]).text)


SHOP, GLOBAL_, LEND = "anchors/projects/shop/", "anchors/global/", "anchors/projects/lend/"
QUERIES = [
    ("脱敏", {GLOBAL_ + "C001"}),
    ("还款", {SHOP + "D001", LEND + "D002"}),
    ("幂等", {SHOP + "D001"}),
    ("敏", {GLOBAL_ + "C001"}),
    ("手机号 脱敏", {GLOBAL_ + "C001"}),
    ("还款 -幂等", {LEND + "D002"}),
    ("还款幂等", {SHOP + "D001", LEND + "D002"}),
    ("D001", {SHOP + "D001", GLOBAL_ + "C001"}),
    ("RETRIES gateway", {SHOP + "P001"}),
    ("getuser", {SHOP + "P001"}),
    ('"gateway retries"', {SHOP + "P001"}),
    ('"retries gateway"', set()),
    ("zebra", {GLOBAL_ + "D003"}),
    ("kind:Pitfall", {SHOP + "P001"}),
    ("类型:问题", {SHOP + "P001"}),
    ("状态:生效 脱敏", {GLOBAL_ + "C001"}),
    ("status:accepted 脱敏", {GLOBAL_ + "C001"}),
    ("D004", {SHOP + "D004", SHOP + "D005"}),
    ("量子", set()),
    ('"', set()),
    ("([", set()),
]


@needs_browser
@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_search_finds_the_words_and_nothing_else(answers: dict[str, list[str]], query: str, expected: set[str]) -> None:
    found = {location.removesuffix(".html") for location in answers[query]}
    assert {place for place in found if place.startswith("anchors/")} == expected


@needs_browser
def test_a_title_goes_before_a_mention(answers: dict[str, list[str]]) -> None:
    assert answers["D001"][0] == SHOP + "D001.html"
    assert answers["D004"][0] == SHOP + "D004.html", "a record asked for by its id comes before its successor"
    assert answers["还款"][0] == answers["还款幂等"][0] == SHOP + "D001.html"


@needs_browser
def test_the_search_field_of_the_theme_shows_the_answers(site: Path, tmp_path: Path) -> None:
    page = browsed(f"{site.as_uri()}/index.html?q=zebra", tmp_path)
    results = page[page.index("md-search-result__list") :]
    assert "anchors/global/D003.html" in results
    assert '<mark data-md-highlight="">zebra</mark>' in results
    assert "<title>taken</title>" not in page
    assert "<img" not in results


POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'"
"""No inline script, no inline style, nothing from elsewhere; the theme's icons are data: pictures."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the site under a strict policy; return its address and what was asked for."""
    asked: list[str] = []

    class Strict(SimpleHTTPRequestHandler):
        """Serves with the policy, and keeps what is asked for."""

        def do_GET(self) -> None:
            """Let a page with the question ?q=WORD&wait=SECONDS load for so long: until it has been answered."""
            asks = parse_qs(urlsplit(self.path).query)
            if self.path.startswith("/late.png"):
                time.sleep(float(asks["wait"][0]))
            if "q" not in asks:
                return super().do_GET()
            late = f'<img src="late.png?wait={asks["wait"][0]}"></body>'.encode()
            page = (site / "index.html").read_bytes().replace(b"</body>", late)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)
            return None

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", POLICY)
            super().end_headers()

        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Strict, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@needs_browser
def test_search_works_from_a_server_too(served: tuple[str, list[str]], tmp_path: Path) -> None:
    for seconds in (1.5, 6, 24):  # a busy machine takes longer to answer
        served[1].clear()
        address = f"{served[0]}/index.html?q=%E8%84%B1%E6%95%8F&wait={seconds}"
        page, said = heard(address, tmp_path, patient=True)
        results = page[page.index("md-search-result__list") :]
        if '<mark data-md-highlight="">脱敏</mark>' in results:
            break
    assert "anchors/global/C001.html" in results
    assert '<mark data-md-highlight="">脱敏</mark>' in results
    assert not said
    fetched = [path for path in served[1] if path.startswith("/search/kb/")]
    assert "/search/kb/start.js" in fetched and len(fetched) < 12, "a question fetches what it needs"


def test_no_page_has_a_script_or_a_style_of_its_own(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r"<script>|<style| style=|<script(?![^>]*(src=|application/json))", text) or (
            path.name == "404.html"
        ), path
