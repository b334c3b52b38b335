"""The wiki as a visitor meets it, in a real browser: nothing on the console, nothing asked for from elsewhere."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kb.records.model import Section
from tests.support.wiki_world import built, lost_links, world
from tests.wiki.test_wiki_pages import record
from tests.wiki.test_wiki_site import BROWSER, POLICY, shelved

sync = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here")

SHOTS = Path(__file__).parents[2] / "build" / "wiki"
RECORD = "anchors/projects/shop/D003.html"
SEEN = {
    "home": "index.html", "record": RECORD, "list": "records.html?kind=pitfall", "review": "reviews.html",
    "graph": "graph.html", "health": "health.html", "governs": "governs/index.html?path=src/pay", "inbox": "inbox.html",
}  # fmt: skip
"""The pages that are looked at closely."""
WIDE = (
    f"| {'a_long_word ' * 9}| b |\n| --- | --- |\n| {'x' * 90} | {'y' * 90} |\n\n" + f"```\n{'code ' * 60}\n```\n" * 2
)
"""A table and code that a phone has to scroll."""
PATIENCE = 30_000
"""Milliseconds that a page may take on a busy machine."""
ACTED = '.md-content :is(script, img, iframe, [onerror], [onload], [href^="javascript:"])'
"""What an attack would have left in a page."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built wiki of a team."""
    place = tmp_path_factory.mktemp("world")
    return built(world(place / "kb"), place / "site")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built wiki of 60 records: three of them are cited by all others."""
    place = tmp_path_factory.mktemp("large")
    records = [
        record(f"D{n:03}", f"Queue number {n}", decision=f"See [D{(n - 1) // 20 * 20 + 1:03}].", uid=f"U{n:025}")
        for n in range(1, 61)
    ]
    records[-1] = records[-1]._replace(sections=(Section("decision", "Decision", f"See [D041].\n\n{WIDE}"),))
    return built(shelved(place / "kb", [one._replace(status="accepted") for one in records]), place / "site")


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the wiki under a strict policy."""

    class Strict(SimpleHTTPRequestHandler):
        """Serves with the policy, and says nothing."""

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", POLICY)
            super().end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Strict, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser once."""
    with sync.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    """Return what opens a page of the wiki; afterwards its console must be empty, and nothing came from elsewhere."""
    heard: list[str] = []
    contexts: list[Any] = []

    def opened(uri: str = "index.html", *, phone: bool = False, dark: bool = False) -> Any:
        size = {"width": 390, "height": 800} if phone else {"width": 1280, "height": 900}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light")
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith((address, "data:", "blob:")) or heard.append(asked.url))
        page.goto(address + uri)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert heard == []


def polled(page: Any, ask: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """Return what *ask* answers as soon as it is as *wanted*; the last answer where it never is."""
    for _ in range(PATIENCE // 50):
        if wanted(answer := ask()):
            break
        page.wait_for_timeout(50)
    return answer


def keep_picture(page: Any, name: str) -> None:
    """Keep what the page shows, so that somebody can look at it; nothing shown is a failure."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    picture = SHOTS / f"{name}.png"
    page.screenshot(path=str(picture))
    assert picture.stat().st_size > 10_000


def texts(page: Any, selector: str) -> list[str]:
    """Return the visible text of what *selector* finds, on one line each."""
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


# -- finding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [("webhook queue", "anchors/projects/shop/D003"), ("幂等", "anchors/projects/shop/D004"), ("敏", "C001")],
)
def test_a_visitor_searches_by_keyboard_and_arrives(visit: Visit, asked: str, found: str) -> None:
    page = visit()
    page.keyboard.press("/")
    page.keyboard.type(asked)
    page.keyboard.press("End")  # what an input method ends with
    page.locator(f'.md-search-result__link[href*="{found}"]').first.wait_for()
    page.locator(f'.md-search-result__link[href*="{found}"]').first.click()
    page.wait_for_url(re.compile(found))
    assert page.locator(ACTED).count() == 0


def test_the_answers_are_narrowed_by_fields_and_by_what_is_typed(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("/")
    page.keyboard.type("owner")
    page.keyboard.press("End")
    links = page.locator(".md-search-result__link")
    links.first.wait_for()
    sync.expect(page.locator(".md-search-result__link .kb-said", has_text=re.compile("^…$"))).to_have_count(0)
    every, others = links.count(), page.locator(".kb-found").filter(has_not_text="Decision")
    others.first.wait_for()
    kinds = page.locator('.kb-find [name="kind"]')
    kinds.select_option("decision")
    assert page.locator("input.md-search__input").input_value().split() == ["owner", "kind:decision"]
    sync.expect(others).to_have_count(0)
    links.first.wait_for()
    kinds.select_option("")
    sync.expect(links).to_have_count(every)


def test_a_superseded_record_leads_to_what_came_in_its_place(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D001.html")
    note = page.get_by_role("note")
    assert "No longer accepted" in note.inner_text()
    note.get_by_role("link", name="D002").click()
    page.get_by_role("note").get_by_role("link", name="D003").click()
    page.wait_for_url("**/D003.html")
    page.locator("h1", has_text="D003 Put").wait_for()
    assert page.get_by_role("note").count() == 0 and texts(page, ".kb-plate .kb-status")[0].endswith("accepted")
    page.locator(".kb-chain").get_by_role("link", name="D001").click()
    page.wait_for_url("**/D001.html")


@pytest.mark.parametrize("uri", ["D004/", "anchors/projects/shop/D004.html"])
def test_an_address_that_stays_arrives(visit: Visit, uri: str) -> None:
    page = visit(uri)
    page.wait_for_url("**/shop/D004.html")
    page.get_by_role("link", name="Permalink").click()
    page.wait_for_url("**/shop/D004.html")
    assert "还款接口必须幂等" in page.locator("h1").inner_text()


def test_a_link_to_a_record_shows_a_card_to_the_pointer_and_to_the_keyboard(visit: Visit) -> None:
    page = visit(RECORD)
    link, card = page.locator(".kb-text a", has_text="[C001]"), page.get_by_role("tooltip")
    link.hover()
    card.get_by_text("C001 日志要脱敏").wait_for()
    assert "accepted" in card.inner_text() and "手机号、卡号一律脱敏" in card.inner_text()
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")
    page.locator(".kb-text a", has_text="[D001]").focus()
    card.get_by_text("No longer accepted. Read instead: D002").wait_for()
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")


def test_a_card_shows_hostile_words_as_words(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D006.html")
    page.locator(".kb-text a", has_text="[D005]").hover()
    card = page.get_by_role("tooltip")
    card.get_by_text("<script>").first.wait_for()
    assert card.locator("script, img").count() == 0 and page.title().startswith("D006")


def test_who_cites_a_record_by_its_title_is_named_with_the_sentence(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D004.html")
    cited = page.locator(".kb-cites li", has_text="D003").inner_text()
    assert "one consumer per order" in cited and "and 还款接口必须幂等" in cited


# -- lists ----------------------------------------------------------------------------------------


def test_the_records_are_narrowed_by_facets_over_the_whole_knowledge_base(visit: Visit) -> None:
    page = visit("records.html")
    count, titles = page.get_by_role("status"), ".kb-found .kb-row-title a"
    count.get_by_text("141 of 141 records").wait_for()
    facets = page.locator(".kb-facets")
    facets.get_by_role("button", name="Pitfall").click()
    facets.get_by_role("button", name="accepted", exact=False).first.click()
    page.get_by_label("Filter by words").fill("twice shop")
    count.get_by_text("1 of 141 records").wait_for()
    assert texts(page, titles) == ["P001 Two workers on one order charge twice"]
    assert "kind=pitfall" in page.url and "status=accepted" in page.url
    page.reload()
    count.get_by_text("1 of 141 records").wait_for()
    page.get_by_role("button", name="Remove the filter: Filter by words twice shop").click()
    sync.expect(count).not_to_have_text("1 of 141 records")
    assert {name[0] for name in texts(page, titles)} == {"P"}
    page.locator(".kb-clear").click()
    count.get_by_text("141 of 141").wait_for()
    page.get_by_label("Order").select_option("oldest")
    page.locator(".kb-found .kb-row").first.wait_for()

    def days() -> list[str]:
        return [" ".join(fact.split(" · ")[3:4]) for fact in texts(page, ".kb-found .kb-row-facts")]

    in_order = polled(page, days, lambda found: found == sorted(found) and len(found) == 60)
    assert in_order == sorted(in_order) and len(in_order) == 60
    page.get_by_role("button", name="Show more").last.click()
    page.locator(".kb-found .kb-row:nth-child(120)").wait_for()


def test_what_was_a_list_leads_to_its_facet(visit: Visit) -> None:
    page = visit("kinds/pitfall.html")
    page.wait_for_url("**/records.html?kind=pitfall")
    page.locator(".kb-found .kb-row").first.wait_for()
    assert {name[0] for name in texts(page, ".kb-found .kb-row-title a")} == {"P"}


def test_what_governs_a_file_has_an_address_of_its_own(visit: Visit) -> None:
    page = visit("governs/?path=src/auth/session.py")
    page.get_by_text("Records that govern src/auth/session.py: 1").wait_for()
    assert texts(page, ".kb-found .kb-row-title a") == ["I001 Sign-in answers with a session of thirty minutes"]
    page.get_by_label("Path, such as").fill("src/pay/queue.py")
    page.get_by_text("Records that govern src/pay/queue.py: 2").wait_for()
    page.get_by_role("heading", name="No longer accepted: 2").wait_for()
    assert "path=src/pay/queue.py" in page.url
    # What holds comes first, and the file itself before the folder above it.
    assert texts(page, ".kb-found .kb-row-title a")[0].startswith(("D003", "P001"))
    page.get_by_label("Path, such as").fill("src/script")
    page.get_by_text("No record governs src/script.").wait_for()
    record = visit(RECORD)
    record.locator(".kb-box").get_by_role("link", name="src/pay/queue.py").click()
    record.get_by_text("Records that govern src/pay/queue.py: 2").wait_for()


def test_keys_lead_to_the_next_record_and_the_palette_to_everything(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D002.html")
    page.keyboard.press("n")
    page.wait_for_url("**/shop/D003.html")
    page.keyboard.press("k")
    page.wait_for_url("**/shop/D002.html")
    page.locator(".md-sidebar--primary .kb-near a", has_text="D003").first.wait_for()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox")
    field.wait_for()
    page.get_by_role("option", name="Health").wait_for()
    field.fill("webhook queue")
    page.get_by_role("option", name="D003").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/shop/D003.html")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("#paym")
    page.get_by_role("option", name="#payments").click()
    page.wait_for_url("**/records.html?tag=payments")


def test_the_navigation_says_how_much_waits(visit: Visit) -> None:
    page = visit()
    entries = page.locator(".md-nav--primary .md-nav__link:visible")
    page.locator(".kb-badge").first.wait_for()
    shown = polled(
        page, lambda: [" ".join(text.split()) for text in entries.all_inner_texts()], lambda found: len(found) == 6
    )
    assert [text.split()[0] for text in shown] == ["Home", "Records", "Map", "Reviews", "Inbox", "Health"]
    assert shown[3:5] == ["Reviews 1", "Inbox 1"]


@pytest.mark.parametrize(
    ("asked", "first"), [("shop:D001", "D001 Poll"), ("D001", "D001 Poll"), ("why do we use a queue", "D003 Put")]
)
def test_the_search_shows_two_lines_and_marks_no_stop_word(visit: Visit, asked: str, first: str) -> None:
    page = visit()
    page.keyboard.press("/")
    page.keyboard.type(asked)
    page.keyboard.press("End")
    hit = page.locator(".md-search-result__link").first
    hit.wait_for()
    sync.expect(hit.locator("h1")).to_contain_text(first)
    sync.expect(hit.locator(".kb-status")).to_have_count(1)
    # Asked within the page, until it holds: the list is drawn anew when the texts arrive.
    page.wait_for_function(
        """() => {
            const height = document.querySelector(".md-search-result__link")?.getBoundingClientRect().height;
            return height > 0 && height < 75;
        }"""
    )
    assert set(texts(page, ".md-search-result mark")) & {"why", "do", "we", "a"} == set()
    assert set(texts(page, ".md-search-result__terms del")) & {"why", "do", "we", "a"} == set()
    assert "**" not in page.locator(".md-search-result__list").inner_text()


def test_a_page_is_light_and_a_question_asks_for_little(visit: Visit, address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, fetched = context.new_page(), []
    page.on("response", lambda response: fetched.append((response.url, len(response.body()))))
    page.goto(address + "index.html")
    page.locator(".kb-badge").first.wait_for()
    page.wait_for_load_state("networkidle")
    assert sum(size for _, size in fetched) <= 300_000
    page.keyboard.press("/")
    page.locator(".kb-find select").first.wait_for()
    fetched.clear()
    page.locator("input.md-search__input").fill("webhook queue")
    page.keyboard.press("End")
    page.locator('.md-search-result__link[href*="D003"]').first.wait_for()
    page.wait_for_load_state("networkidle")
    assert len([url for url, _ in fetched if "/search/kb/" in url]) <= 16
    context.close()


def test_titles_answer_before_any_text_is_here(address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, asked, withheld, is_released = context.new_page(), list[str](), list[Any](), [False]
    page.on("request", lambda request: asked.append(request.url))
    page.route("**/search/kb/d/*", lambda route: route.continue_() if is_released[0] else withheld.append(route))
    page.goto(address + "index.html")
    page.keyboard.press("/")
    page.locator("input.md-search__input").fill("webhook queue")
    page.keyboard.press("End")
    hit = page.locator('.md-search-result__link[href*="D003"]').first
    hit.wait_for()
    assert hit.locator(".kb-said").inner_text() == "…" and "Missing" not in hit.inner_text()
    assert len([url for url in asked if "/search/kb/t/" in url]) <= 2  # one for each word
    is_released[0] = True
    for route in withheld:
        route.continue_()
    page.locator('.md-search-result__link[href*="D003"] .kb-said mark').first.wait_for()
    context.close()


def test_a_long_question_asks_for_few_lists_before_its_first_answer(browser: Any) -> None:
    page = browser.new_page()
    engine = (files("kb.wiki") / "assets/search/rank.js").read_text(encoding="utf-8")
    asked = page.evaluate(
        """engine => {
            const firstTerms = new Function(`${engine}; return firstTerms;`)();
            const letters = [..."abcdefghijklmnopqrst"];
            const shelf = { titlesWith: term => letters.indexOf(term) };
            const terms = size => new Map(letters.slice(0, size).map(letter => [letter, 1]));
            return [8, 20].map(size => [...firstTerms(shelf, terms(size)).keys()].join(""));
        }""",
        engine,
    )
    assert asked == ["abcdefgh", "bcdefghi"], "all of a short one; of a long one the rarest that a title has"
    page.close()


def test_what_is_not_there_is_searched_for(visit: Visit, site: Path) -> None:
    page = visit()
    page.goto(page.url.replace("index.html", "404.html?/anchors/projects/shop/D007/"))
    page.get_by_role("heading", name="This page does not exist").wait_for()
    page.locator(".kb-open-search").click()
    page.locator("input.md-search__input").wait_for()


# -- deciding -------------------------------------------------------------------------------------


def test_a_review_shows_both_sides_and_where_it_is_decided(visit: Visit) -> None:
    page = visit()
    page.get_by_role("link", name="Reviews to decide").click()
    page.locator(".kb-sides del").first.wait_for()
    assert texts(page, ".kb-sides del")[:1] == ["FastAPI"] and texts(page, ".kb-sides ins")[:1] == ["Flask"]
    shown = page.locator(".md-content").inner_text()
    assert "let us take Flask, nobody here knows FastAPI" in shown and "claims backend.framework" in shown
    assert "open: today" in shown
    href = page.get_by_role("link", name="Open a pull request").get_attribute("href")
    assert href == "https://github.com/shop/knowledge/compare/kb%2Freview%2FD008-use-flask-as-the-backend-framework"


def test_a_record_can_be_edited_proposed_upon_and_copied(visit: Visit) -> None:
    page = visit(RECORD)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    edit = page.get_by_role("link", name="Edit this").get_attribute("href")
    assert edit.startswith("https://github.com/shop/knowledge/edit/main/content/anchors/projects/shop/D003-")
    asked = page.get_by_role("link", name="Propose a change").get_attribute("href")
    assert asked.startswith("https://github.com/shop/knowledge/issues/new?title=shop%3AD003%20Put%20webhook")
    page.get_by_role("button", name="Copy for an agent").click()
    page.locator("button.kb-done").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("[D003] Put webhook results") and "Decision: The webhook answers at once" in copied
    page.locator(".kb-command button").first.click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text === 'kb edit shop:D003')")


def test_the_history_tells_who_changed_which_words(visit: Visit) -> None:
    page = visit(RECORD)
    assert "by A Tester · instead of D002" in page.locator(".kb-plate").first.inner_text()
    page.locator(".kb-history summary").click()
    assert "in June" in page.locator(".kb-history ins").first.inner_text()


def test_every_status_has_a_drawing_of_its_own(visit: Visit) -> None:
    page = visit(RECORD)
    drawn = page.evaluate(
        """() => ["accepted", "proposed", "rejected", "deprecated", "superseded", "unknown"].map(status => {
          const mark = Object.assign(document.createElement("span"), { className: `kb-sign kb-${status}` });
          const around = Object.assign(document.createElement("li"), { className: "kb-superseded" });
          around.append(mark);
          document.querySelector(".kb-body").append(around);
          return getComputedStyle(mark, "::before").maskImage;
        })"""
    )
    assert all("svg" in one for one in drawn) and len({*drawn[:5]}) == 5


def test_the_head_of_a_record_leads_to_who_cites_it(visit: Visit) -> None:
    page = visit("anchors/global/C001.html")
    page.get_by_role("link", name=re.compile("^cited by ")).click()
    assert page.locator("#kb-cited-by").evaluate("one => one.getBoundingClientRect().top") < 900
    assert page.locator(".kb-box dt", has_text="Status").count() == 0


# -- the map --------------------------------------------------------------------------------------


def test_the_map_begins_at_a_record_and_goes_on_from_its_panel(visit: Visit) -> None:
    page = visit(RECORD)
    page.get_by_role("link", name="On the map").click()
    panel = page.locator(".kb-panel")
    panel.get_by_role("link", name="D003 Put webhook results").wait_for()
    assert "record=shop%3AD003" in page.url and "supersedes (1)" in panel.inner_text()
    panel.get_by_role("button", name="D002 Take payment").first.click()
    panel.get_by_role("link", name="D002 Take payment").wait_for()
    assert "record=shop%3AD002" in page.url and "superseded by (1)" in panel.inner_text()
    page.locator(".kb-graph-bar input[type=search]").fill("D004")
    page.keyboard.press("Enter")
    panel.get_by_role("link", name="D004").wait_for()
    panel.get_by_role("link", name="D004").click()
    page.wait_for_url("**/anchors/projects/shop/D004.html")


def test_the_map_is_walked_by_keyboard_and_touched_on_a_phone(visit: Visit) -> None:
    page = visit("graph.html")
    canvas = page.locator(".kb-graph canvas")
    canvas.wait_for()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.locator(".kb-panel a").first.wait_for()
    page.keyboard.press("Escape")
    page.locator(".kb-panel").wait_for(state="hidden")
    page.get_by_role("button", name="Timeline").click()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/anchors/**/*.html")
    phone = visit("graph.html?record=shop:D003", phone=True)
    phone.locator(".kb-panel a").first.wait_for()
    # Asked within the page, until it holds: the map takes its size when the panel has opened.
    phone.wait_for_function(
        """() => {
            const [canvas, panel] = [".kb-graph canvas", ".kb-panel"].map(
                (part) => document.querySelector(part).getBoundingClientRect());
            return panel.top >= canvas.bottom;
        }"""
    )


@pytest.mark.parametrize(("size", "shown"), [((1280, 900), 3), ((390, 844), 3)])
def test_a_large_map_begins_with_the_most_cited(size: tuple[int, int], shown: int, large: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, has_touch=size[0] < 500)
    page = context.new_page()
    page.goto(f"file://{large}/graph.html")
    canvas = page.locator(".kb-graph canvas")
    canvas.wait_for()
    assert page.locator('.kb-graph-bar [aria-pressed="true"]').inner_text() == "Most cited"
    box, columns = canvas.bounding_box(), 3 if size[0] > 500 else 2
    down = -(-shown // columns)
    for place, hub in enumerate(("D001", "D021", "D041")):
        x = box["x"] + (place % columns + 0.5) * box["width"] / columns
        y = box["y"] + (place // columns + 0.57) * box["height"] / down
        page.mouse.click(x, y)
        page.locator(".kb-panel").get_by_role("link", name=hub).wait_for()
        page.keyboard.press("Escape")
        page.locator(".kb-panel").wait_for(state="hidden")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.get_by_role("button", name="Show everything").click()
    assert page.url.endswith("#all")
    context.close()


CLASHES = """() => {
  const { labels, spots } = document.querySelector(".kb-graph canvas").kbDrawn;
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const found = [];
  labels.forEach((one, n) => {
    if (labels.some((other, m) => m > n && meet(one.area, other.area))) found.push(`${one.line} meets words`);
    if (!one.must && spots.some(spot => meet(one.area, spot))) found.push(`${one.line} is over a point`);
  });
  return found;
}"""
"""The words of a map that stand over other words or over points."""


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
@pytest.mark.parametrize("uri", ["graph.html", "graph.html#all", "graph.html?record=D001"])
def test_words_on_the_map_stand_over_nothing(size: tuple[int, int], uri: str, large: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    page.goto(f"file://{large}/{uri}")
    labels = "document.querySelector('.kb-graph canvas')?.kbDrawn?.labels.map(one => one.line)"
    page.wait_for_function(f"{labels}?.length > 3")
    if uri.endswith("#all"):  # it moves for a while
        for _ in range(100):
            before = page.evaluate(labels)
            page.wait_for_timeout(100)
            if page.evaluate(labels) == before:
                break
    said = page.evaluate(labels)
    assert page.evaluate(CLASHES) == []
    assert any("D001 Queue" in one for one in said), said
    if "record" in uri:
        # Who cites it stands on its left, a row for each, as many as there is room for; the rest is counted.
        assert len(said) > 12 and any(one.startswith("D003 ") for one in said)
    context.close()


def test_decisions_stand_on_a_line_and_lead_to_their_pages(visit: Visit) -> None:
    page = visit()
    page.locator(".kb-arcs .kb-bow").nth(1).wait_for(state="attached")
    page.locator(".kb-arcs a", has_text="D003").click()
    page.wait_for_url("**/shop/D003.html")


def test_the_line_leads_to_all_records_along_the_time(visit: Visit) -> None:
    page = visit()
    page.get_by_role("link", name="All of them on a timeline").click()
    page.locator(".kb-graph canvas").wait_for()
    assert page.locator('.kb-graph-bar [aria-pressed="true"]').inner_text() == "Timeline"


def test_every_link_of_every_page_arrives(site: Path) -> None:
    assert lost_links(site) == []


# -- for everybody --------------------------------------------------------------------------------


def test_a_visitor_turns_the_language_and_it_stays(visit: Visit) -> None:
    page = visit(RECORD)
    page.get_by_role("button", name="中文").click()
    page.locator(".kb-box dt", has_text="约束范围").wait_for()
    assert page.locator("html").get_attribute("lang") == "zh"
    assert "生效 自 2026-06-20 起" in page.locator(".kb-plate").first.inner_text()
    # The author's headings and words stay as they were written.
    assert "Decision" in texts(page, ".kb-words h2") and "queue" in page.locator(".kb-text").nth(1).inner_text()
    page.locator(".md-nav__link", has_text="记录").click()
    page.get_by_text("141 条记录中的 141 条").wait_for()
    page.locator(".md-nav__link", has_text="评审").click()
    page.locator(".kb-sides strong", has_text="理由").first.wait_for()
    assert "The backend uses" in page.locator(".kb-sides").inner_text()
    page.get_by_role("button", name="English").click()
    page.get_by_role("heading", name="Reviews").wait_for()
    page.locator(".kb-sides strong", has_text="Decision").first.wait_for()


LEFT = """() => {
  const theirs = ".kb-words, .kb-said, .kb-name, .kb-lead, .kb-person, .kb-diff, .kb-verdict, .kb-sides td,"
    + " .kb-sides th a, .kb-sides th > span, blockquote, code, pre, kbd, script, style, noscript, h1, .kb-row-title,"
    + " .kb-entries a, .kb-chain a, .kb-chain strong, .kb-near, .kb-waiting li, .kb-tag, .kb-crumbs li, .kb-told dd,"
    + " .kb-steps, .kb-arcs, .kb-history, .kb-plate a, .kb-language, .md-header__topic, .md-nav__title, .kb-programs,"
    + " .kb-findings a, .kb-waiting, .md-content h2, .kb-body table td, .kb-facets button, .kb-chips a,"
    + " .kb-row-facts, .kb-cites a, .md-search, .md-nav--secondary, [hidden]";
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, said = node.data.trim();
    if (said && !node.parentElement.closest(theirs)) found.push(said);
  }
  return found;
}"""
"""What the pages say of their own, without what people wrote and what records are called."""


@pytest.mark.parametrize("name", [name for name in SEEN if name != "graph"])
def test_no_word_stays_in_the_other_language(visit: Visit, name: str) -> None:
    page = visit(SEEN[name])
    page.locator(".kb-badge").first.wait_for()
    page.get_by_role("button", name="中文").click()
    page.locator(".md-nav__link", has_text="健康").first.wait_for(state="attached")
    kept = re.compile(
        r"shop|lend|data|kb |claude|GitHub|D\d{3}|A Tester|s\d|backend\.framework|src/|Flask|FastAPI|architecture"
    )

    def left(script: str) -> list[str]:
        return [text for text in page.evaluate(LEFT) if re.search(script, text)]

    def english() -> list[str]:
        return [text for text in left(r"[A-Za-z]{3,}") if not kept.search(text)]

    assert polled(page, english, lambda found: not found) == []
    page.get_by_role("button", name="English").click()
    page.locator(".md-nav__link", has_text="Health").first.wait_for(state="attached")
    assert polled(page, lambda: left(r"[\u4e00-\u9fff]"), lambda found: not found) == []


def test_a_visitor_turns_the_light_off_and_it_stays(visit: Visit) -> None:
    page = visit()
    assert page.locator("body").get_attribute("data-md-color-scheme") == "default"
    page.locator("label.md-header__button[for^=__palette]:visible").click()
    page.locator('body[data-md-color-scheme="slate"]').wait_for()
    page.locator(".md-nav__link", has_text="Health").click()
    page.locator('body[data-md-color-scheme="slate"]').wait_for()


OTHERS = {"choice": "D001/index.html", "sessions": "sessions/index.html", "hostile": "anchors/projects/shop/D005.html"}


@pytest.mark.parametrize(
    ("name", "dark"), [*((name, False) for name in (*SEEN, *OTHERS)), *((name, True) for name in SEEN)]
)
def test_a_phone_shows_every_page_without_moving_it_sideways(visit: Visit, name: str, dark: bool) -> None:
    page = visit({**SEEN, **OTHERS}[name], phone=True, dark=dark)
    page.locator("h1").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(ACTED).count() == 0 and page.title() != "taken"
    keep_picture(page, f"{name}-phone-{'dark' if dark else 'light'}")


def test_the_first_key_skips_to_the_content_and_paper_gets_the_words_alone(visit: Visit) -> None:
    page = visit(RECORD)
    page.keyboard.press("Tab")
    assert "md-skip" in page.evaluate("document.activeElement.className")
    page.emulate_media(media="print")
    assert not page.locator(".kb-actions").is_visible() and page.locator(".kb-text").first.is_visible()
    assert not page.locator(".md-header").is_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", SEEN)
def test_nobody_is_kept_out(browser: Any, site: Path, name: str, dark: bool) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme="dark" if dark else "light", bypass_csp=True
    )
    page = context.new_page()
    page.goto(f"{site.as_uri()}/{SEEN[name]}")
    page.locator(".kb-graph canvas" if name == "graph" else "h1").first.wait_for()
    keep_picture(page, f"{name}-desktop-{'dark' if dark else 'light'}")
    page.add_script_tag(content=files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    page.set_viewport_size({"width": 390, "height": 844})
    found += page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    context.close()
    assert not found, "\n".join(
        f"{one['id']}: {one['nodes'][0]['html']} {one['nodes'][0]['failureSummary']}" for one in found
    )


def test_what_scrolls_sideways_is_reached_by_the_keyboard(large: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
    page = context.new_page()
    page.goto((large / "anchors/global/D060.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.md-content [tabindex=\"0\"]').length > 1")
    page.wait_for_function("document.querySelector('nav.md-code__nav[role=none]')")
    page.add_script_tag(content=files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    context.close()
    assert [one["id"] for one in found] == []
