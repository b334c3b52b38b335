"""What building the wiki costs, beside plain mkdocs-material with a flat navigation on the same files.

python -m bench.wiki [--sizes 1000] [--place DIR] [--reload] [--browser CHROMIUM] [--site DIR]

Beside the build: building again after one edit, what a browser fetches for a first page and for a question (with node),
how soon a served wiki shows an edit, and how soon after the key a browser shows an answer.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

from mkdocs.livereload import LiveReloadServer

from bench import corpus
from bench.wikirecall import asked_in_node
from kb.knowledge_base import KnowledgeBase
from kb.wiki.build import ADDRESS, create_server, prepare_config_file
from kb.wiki.search_index import FOLDER

PLAIN = """import sys
from mkdocs.commands.build import build
from mkdocs.config import load_config
build(load_config(config_file=sys.argv[1], site_dir=sys.argv[2]))
"""
OURS = """import sys
from kb.knowledge_base import KnowledgeBase
from kb.wiki.build import build
with KnowledgeBase.at(sys.argv[1]) as kb:
    build(kb, sys.argv[2], strict=False)
"""


def measured(program: str, *arguments: str) -> tuple[float, float]:
    """Run *program* and return its CPU seconds and its peak memory in MB."""
    told = (
        "import resource,sys\n"
        f"exec({program!r})\n"
        "u=[resource.getrusage(w) for w in (resource.RUSAGE_SELF,resource.RUSAGE_CHILDREN)]\n"
        "print('\\n'+str(sum(x.ru_utime+x.ru_stime for x in u)), max(x.ru_maxrss for x in u)/1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.splitlines()[-1].split()
    return float(seconds), float(memory)


def flat_site(records: Path, place: Path) -> Path:
    """Make a plain mkdocs site of the files of *records*, a page of links for each folder in its navigation."""
    docs = place / "docs"
    docs.mkdir(parents=True)
    (docs / "anchors").symlink_to(records / "content" / "anchors")
    nav = ["index.md"]
    (docs / "index.md").write_text("# Records\n", encoding="utf-8")
    for folder in sorted({file.parent for file in (records / "content" / "anchors").rglob("*.md")}):
        rows = (f"- [{file.stem}]({file.relative_to(records / 'content')})" for file in sorted(folder.glob("*.md")))
        (docs / f"{folder.name}.md").write_text(f"# {folder.name}\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
        nav.append(f"{folder.name}.md")
    settings = {
        "site_name": "plain", "docs_dir": str(docs), "nav": nav, "not_in_nav": "*",
        "theme": {"name": "material", "font": False}, "plugins": ["search"],
    }  # fmt: skip
    path = place / "mkdocs.yml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def size(folder: Path) -> float:
    """Return the MB of all files below *folder*."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def first_page(site: Path) -> tuple[float, float]:
    """Return the kB that a first visit fetches: as they are, and compressed."""
    page = (site / "index.html").read_text("utf-8")
    names = re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^":]+\.(?:js|css|png|svg))"', page)
    return weigh(site, [*names, "index.html", "search/search_index.json", "data/badges.js"])


def start_of_search(site: Path) -> tuple[float, float]:
    """Return the kB that follow when somebody goes to the search: as they are, and compressed."""
    workers = [str(path.relative_to(site)) for path in site.glob("assets/javascripts/workers/search.*.js")]
    return weigh(site, [f"{FOLDER}start.js", f"{FOLDER}titles.js", *workers])


def weigh(site: Path, names: list[str]) -> tuple[float, float]:
    """Return the kB of the files *names* of *site*, each once: as they are, and compressed."""
    contents = [(site / name).read_bytes() for name in dict.fromkeys(names)]
    return sum(map(len, contents)) / 1000, sum(len(gzip.compress(content, 6)) for content in contents) / 1000


QUERIES = (
    "脱敏", "读", "回调重试 乐观锁", "灰度发布用于审计日志", "retry webhook", "kafka", "D001", "validte tracing",
    "how do we partition the audit log?", "order service postgres", "采用 SQLite 用于 支付网关", "kind:pitfall 缓存",
    "为什么我们采用读写分离而不是分布式锁来处理订单服务的缓存与消息队列？",
)  # fmt: skip


def asked(site: Path) -> str:
    """Return what questions cost in a browser that has kept nothing."""
    with tempfile.TemporaryDirectory() as folder:
        told = asked_in_node(str(site / FOLDER), QUERIES, folder)
    kilobytes, milliseconds = (sorted(one[key] for one in told) for key in ("bytes", "ms"))
    middle = len(told) // 2
    return (
        f"{kilobytes[middle] / 1000:.0f} kB in the middle, {kilobytes[-1] / 1000:.0f} at most;"
        f" {milliseconds[middle]:.0f} ms, {milliseconds[-1]:.0f} at most"
    )


ANSWERED = """() => {
  window.shown = [];
  const list = document.querySelector('.md-search-result__list');
  const field = document.querySelector('input.md-search__input');
  field.addEventListener('input', () => { window.pressed = performance.now(); }, true);
  const look = () => {
    if (list.querySelector('.md-search-result__link')) window.shown.push(performance.now() - window.pressed);
  };
  new MutationObserver(look).observe(list, { childList: true });
}"""
"""Notes in a page how many ms behind the last key each answer is shown."""


def answered(site: Path, chromium: str, pause: int) -> list[tuple[str, float, int]]:
    """Return each question, the ms from its last key to the first answer, and the requests it took until then.

    Each is the first of a browser that has kept nothing, *pause* ms after somebody went to the search.
    """
    from playwright.sync_api import sync_playwright

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing of a browser that is closed."""

    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

    found = []
    with (
        Server(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server,
        sync_playwright() as play,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for question in QUERIES:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page, asked = context.new_page(), list[str]()
            context.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.wait_for_load_state("networkidle")
            page.evaluate(ANSWERED)
            page.keyboard.press("/")
            page.wait_for_timeout(pause)
            asked.clear()
            page.locator("input.md-search__input").fill(question)
            page.keyboard.press("End")
            page.wait_for_function("window.shown.length", timeout=20_000)
            requests = sum("/search/kb/t/" in url for url in asked)
            found.append((question, float(page.evaluate("window.shown[0]")), requests))
            context.close()
        browser.close()
        server.shutdown()
    return found


def report_answers(site: Path, chromium: str) -> None:
    """Print how soon a browser shows answers from *site*, and how busy the machine was."""
    for pause in (400, 0):
        rows = sorted(answered(site, chromium, pause), key=lambda row: row[1])
        times = [time for _, time, _ in rows]
        print(
            f"- first answer, {pause} ms after going to the search: median {statistics.median(times):.0f} ms, "
            f"{times[-1]:.0f} at most ({rows[-1][0]!r}), {len(rows)} questions, load {os.getloadavg()[0]:.1f}"
        )
        print("  " + ", ".join(f"{question!r} {time:.0f} ms, {number} files" for question, time, number in rows))


@contextmanager
def edited(records: Path) -> Iterator[str]:
    """Let one record say another word, which is given, as long as the context lasts."""
    file = min((records / "content" / "anchors").rglob("D*.md"))
    before = file.read_text("utf-8")
    word = f"edited{time.time_ns()}"
    file.write_text(re.sub(r"(\n## .*\n)", rf"\1\n{word}\n", before, count=1), "utf-8")
    try:
        yield word
    finally:
        file.write_text(before, "utf-8")


def reloaded(records: Path) -> float:
    """Return the seconds from the edit of a record to its page in a served wiki."""
    page = f"http://{ADDRESS}/{page_of(records)}"
    seconds = []

    def shows(word: str) -> bool:
        with suppress(OSError):
            return word in urlopen(page, timeout=5).read().decode()
        return False

    def visit(server: LiveReloadServer) -> None:
        while not shows("<html"):
            time.sleep(0.1)
        for _ in range(3):
            with edited(records) as word:
                begun = time.monotonic()
                while not shows(word):
                    time.sleep(0.02)
                seconds.append(time.monotonic() - begun)
            time.sleep(2)
        server.shutdown()

    with KnowledgeBase.at(str(records)) as kb, prepare_config_file(kb, False) as config:
        server = create_server(kb, config, ADDRESS)
        Thread(target=visit, args=(server,), daemon=True).start()
        server.serve()
    return min(seconds)


def page_of(records: Path) -> str:
    """Return the page of the record that `edited` edits."""
    file = min((records / "content" / "anchors").rglob("D*.md"))
    folder = file.parent.relative_to(records / "content")
    return f"{folder}/{file.name.partition('-')[0]}.html"


def report(number: int, records: Path, place: Path) -> None:
    """Print what the wiki of *number* records costs, beside a plain site."""
    plain = measured(PLAIN, str(flat_site(records, place)), str(place / "plain"))
    ours = measured(OURS, str(records), str(place / "ours"))
    print("| records | site | CPU s | peak MB | site MB | search index MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (seconds, memory) in (("plain", plain), ("ours", ours)):
        index = size(place / name / "search")
        print(f"| {number} | {name} | {seconds:.1f} | {memory:.0f} | {size(place / name):.1f} | {index:.1f} |")
    print(f"\n- {ours[0] / plain[0]:.2f} times the CPU of plain mkdocs-material")
    with edited(records):
        begun = time.monotonic()
        seconds, _ = measured(OURS, str(records), str(place / "ours"))
        print(f"- one edited record: {time.monotonic() - begun:.1f} s, {seconds:.1f} s of CPU")
    print("- first page: {:.0f} kB, compressed {:.0f}".format(*first_page(place / "ours")))
    print("- going to the search adds {:.0f} kB, compressed {:.0f}".format(*start_of_search(place / "ours")))
    print(f"- a question: {asked(place / 'ours')}", flush=True)


def main() -> None:
    """Report each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000")
    parser.add_argument("--place", default=os.path.join(tempfile.gettempdir(), "kb-bench-wiki"))
    parser.add_argument("--reload", action="store_true", help="Measure how soon a served wiki shows an edit.")
    parser.add_argument("--browser", default="", help="The program of a chromium that asks.")
    parser.add_argument("--site", default="", help="With --browser: a site that is built already, and nothing else.")
    given = parser.parse_args()
    if given.site:
        report_answers(Path(given.site), given.browser)
        return
    for number in map(int, given.sizes.split(",")):
        records = corpus.build(Path(given.place) / str(number), number)
        with tempfile.TemporaryDirectory() as folder:
            report(number, records, Path(folder))
            if given.browser:
                report_answers(Path(folder) / "ours", given.browser)
        if given.reload:
            print(f"- a served wiki shows an edit after {reloaded(records):.2f} s", flush=True)


if __name__ == "__main__":
    main()
