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

from tests.support.wiki_world import built, lost_links, world
from tests.wiki.test_wiki_site import BROWSER, POLICY

sync = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
    pytest.mark.xdist_group("browser"),  # one browser, first of all: its tests take seconds each
]

SHOTS = Path(__file__).parents[2] / "build" / "wiki"
RECORD = "anchors/projects/shop/D003.html"
SEEN = {
    "home": "index.html", "record": RECORD, "list": "kinds/pitfall.html", "review": "reviews.html",
    "graph": "graph.html", "health": "health.html",
}  # fmt: skip
"""The pages that are looked at closely."""
ACTED = '.md-content :is(script, img, iframe, [onerror], [onload], [href^="javascript:"])'
"""What an attack would have left in a page."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built wiki of a team."""
    place = tmp_path_factory.mktemp("world")
    return built(world(place / "kb"), place / "site")


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
        context.set_default_timeout(8_000)
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
    every, others = links.count(), page.locator(".kb-found").filter(has_not_text="Decision")
    assert others.count()
    kinds = page.locator('.kb-find [name="kind"]')
    kinds.select_option("decision")
    assert page.locator("input.md-search__input").input_value().split() == ["owner", "kind:decision"]
    sync.expect(others).to_have_count(0)
    assert links.count()
    kinds.select_option("")
    sync.expect(links).to_have_count(every)


def test_a_superseded_record_leads_to_what_came_in_its_place(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D001.html")
    note = page.get_by_role("note")
    assert "No longer accepted" in note.inner_text()
    note.get_by_role("link", name="D002").click()
    page.get_by_role("note").get_by_role("link", name="D003").click()
    assert page.locator("h1").inner_text().startswith("[D003]")
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
    assert card.locator("script, img").count() == 0 and page.title().startswith("[D006]")


def test_who_cites_a_record_by_its_title_is_named_with_the_sentence(visit: Visit) -> None:
    page = visit("anchors/projects/shop/D004.html")
    cited = page.locator(".kb-cites li", has_text="D003").inner_text()
    assert "one consumer per order" in cited and "[[还款接口必须幂等]]" in cited


# -- lists ----------------------------------------------------------------------------------------


def test_a_list_is_filtered_and_sorted_over_the_whole_knowledge_base(visit: Visit) -> None:
    page = visit("records.html")
    count, rows = page.get_by_role("status"), page.locator(".kb-found tbody tr")
    count.get_by_text("301 of 301 records").wait_for()
    page.get_by_label("Kind", exact=True).select_option("pitfall")
    page.get_by_label("Status", exact=True).select_option("accepted")
    page.get_by_label("Filter", exact=True).fill("twice shop")
    count.get_by_text("1 of 301 records").wait_for()
    assert texts(page, ".kb-found tbody a") == ["P001 Two workers on one order charge twice"]
    page.reload()
    count.get_by_text("1 of 301 records").wait_for()
    page.locator(".kb-clear").click()
    count.get_by_text("301 of 301").wait_for()
    page.locator(".kb-found").get_by_role("button", name="Date").click()
    page.locator('.kb-found th[aria-sort="ascending"]').wait_for()
    days = texts(page, ".kb-found td:nth-child(4)")
    assert days == sorted(days) and rows.count() == 100
    page.get_by_role("button", name="Show more").click()
    page.locator(".kb-found tbody tr:nth-child(200)").wait_for()


def test_what_governs_a_path_is_asked_on_any_list(visit: Visit) -> None:
    page = visit("paths.html")
    page.get_by_label("Governs a path").fill("src/auth")
    page.get_by_text("1 of 301 records").wait_for()
    assert texts(page, ".kb-found tbody a") == ["I001 Sign-in answers with a session of thirty minutes"]
    page.get_by_label("Governs a path").fill("src/pay/queue.py")
    page.get_by_text("4 of 301 records").wait_for()
    page.get_by_label("Governs a path").fill("src/script")
    page.get_by_text("0 of 301 records").wait_for()
    page.locator(".kb-clear").click()
    page.locator(".kb-static").wait_for()


def test_the_list_of_a_kind_stays_with_its_kind(visit: Visit) -> None:
    page = visit("kinds/pitfall.html")
    page.get_by_label("Filter", exact=True).fill("policy")
    page.locator(".kb-found tbody tr").first.wait_for()
    assert {name[0] for name in texts(page, ".kb-found tbody a")} == {"P"}


# -- deciding -------------------------------------------------------------------------------------


def test_a_review_shows_both_sides_and_where_it_is_decided(visit: Visit) -> None:
    page = visit()
    page.get_by_role("link", name="open reviews").click()
    page.locator(".kb-sides del").first.wait_for()
    assert texts(page, ".kb-sides del")[:1] == ["FastAPI"] and texts(page, ".kb-sides ins")[:1] == ["Flask"]
    shown = page.locator(".md-content").inner_text()
    assert "let us take Flask, nobody here knows FastAPI" in shown and "claims backend.framework" in shown
    assert "open: today" in shown
    href = page.get_by_role("link", name="open a pull request").get_attribute("href")
    assert href == "https://github.com/shop/knowledge/compare/kb%2Freview%2FD008-use-flask-as-the-backend-framework"


def test_a_record_can_be_edited_proposed_upon_and_copied(visit: Visit) -> None:
    page = visit(RECORD)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    edit = page.get_by_role("link", name="Edit this").get_attribute("href")
    assert edit.startswith("https://github.com/shop/knowledge/edit/main/content/anchors/projects/shop/D003-")
    asked = page.get_by_role("link", name="Propose a change").get_attribute("href")
    assert asked.startswith("https://github.com/shop/knowledge/issues/new?title=shop%3AD003%20Put%20webhook")
    page.get_by_text("Copy for an agent").click()
    page.get_by_role("button", name="Copy", exact=True).click()
    page.locator("button.kb-done").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("[D003] Put webhook results")


def test_the_history_tells_who_changed_which_words(visit: Visit) -> None:
    page = visit(RECORD)
    assert "by A Tester, A Tester (claude-code) · changed " in page.locator(".kb-plate").inner_text()
    page.locator(".kb-history summary").click()
    assert "in June" in page.locator(".kb-history ins").first.inner_text()


# -- the map --------------------------------------------------------------------------------------


def test_the_map_is_filtered_searched_and_left_for_a_record_by_keyboard(visit: Visit) -> None:
    page = visit("graph.html")
    canvas = page.locator(".kb-graph canvas")
    canvas.wait_for()
    page.locator(".kb-graph-bar select").first.select_option("shop")
    page.get_by_label("Constraint").uncheck()
    page.locator(".kb-graph-bar input[type=search]").fill("webhook")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    told = page.locator(".kb-graph-said")
    told.get_by_role("link").wait_for()
    assert "shop" in told.inner_text()
    page.locator(".kb-graph-bar select").nth(1).select_option("t")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/anchors/projects/shop/*.html")


def test_decisions_stand_on_a_line_and_lead_to_their_pages(visit: Visit) -> None:
    page = visit()
    assert page.locator(".kb-arcs .kb-bow").count() >= 2
    page.locator(".kb-arcs a", has_text="D003").click()
    page.wait_for_url("**/shop/D003.html")


def test_the_line_leads_to_all_records_along_the_time(visit: Visit) -> None:
    page = visit("timeline.html")
    page.get_by_role("link", name="All of them, along the time").click()
    page.locator(".kb-graph canvas").wait_for()
    assert page.locator(".kb-graph-bar select").nth(1).input_value() == "t"


def test_every_link_of_every_page_arrives(site: Path) -> None:
    assert lost_links(site) == []


# -- for everybody --------------------------------------------------------------------------------


def test_a_visitor_turns_the_language_and_it_stays(visit: Visit) -> None:
    page = visit(RECORD)
    page.get_by_role("button", name="中文").click()
    page.get_by_role("heading", name="决策", exact=True).wait_for()
    assert page.locator("html").get_attribute("lang") == "zh"
    assert "生效" in page.locator(".kb-plate").inner_text() and "queue" in page.locator(".kb-text").nth(1).inner_text()
    page.locator(".md-nav__link", has_text="全部记录").click()
    page.get_by_text("301 条记录中的 301 条").wait_for()
    page.locator(".md-nav__link", has_text="评审").click()
    page.locator(".kb-sides strong", has_text="理由").first.wait_for()
    assert "The backend uses" in page.locator(".kb-sides").inner_text()
    page.get_by_role("button", name="English").click()
    page.get_by_role("heading", name="Reviews").wait_for()
    page.locator(".kb-sides strong", has_text="Decision").first.wait_for()


def test_a_visitor_turns_the_light_off_and_it_stays(visit: Visit) -> None:
    page = visit()
    assert page.locator("body").get_attribute("data-md-color-scheme") == "default"
    page.locator("label.md-header__button[for^=__palette]:visible").click()
    page.locator('body[data-md-color-scheme="slate"]').wait_for()
    page.locator(".md-nav__link", has_text="Health").click()
    page.locator('body[data-md-color-scheme="slate"]').wait_for()


@pytest.mark.parametrize("name", [*SEEN, "inbox", "tags", "sessions", "hostile"])
def test_a_phone_shows_every_page_without_moving_it_sideways(visit: Visit, name: str) -> None:
    others = {"inbox": "inbox.html", "tags": "tags.html", "sessions": "sessions/index.html"}
    page = visit(SEEN.get(name) or others.get(name, "anchors/projects/shop/D005.html"), phone=True)
    page.locator("h1").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(ACTED).count() == 0 and page.title() != "taken"


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
    page.goto((site / SEEN[name]).as_uri())
    page.wait_for_timeout(300)
    page.add_script_tag(content=files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    context.close()
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, "\n".join(
        f"{one['id']}: {one['nodes'][0]['html']} {one['nodes'][0]['failureSummary']}" for one in serious
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_pictures_are_kept_to_be_looked_at(visit: Visit, phone: bool, dark: bool) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = visit(phone=phone, dark=dark)
    for name, uri in SEEN.items():
        page.goto(page.url.rpartition("/")[0].partition("/kinds")[0].partition("/anchors")[0] + "/" + uri)
        page.wait_for_timeout(900 if name == "graph" else 150)
        picture = SHOTS / f"{name}-{'phone' if phone else 'desktop'}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=str(picture))
        assert picture.stat().st_size > 10_000
