"""The wiki of the organisation: whose records it has, where its links lead, and that markup in titles is text."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.hub.org_wiki import build_org_wiki, render_front_page
from kb.knowledge_base import KnowledgeBase
from kb.organisation import hub_client
from kb.organisation.org_values import AcrossPair, AcrossReport, OrgRecord
from kb.records.model import Record
from kb.wiki.build_cache import PageFingerprints
from kb.wiki.wiki_site import collect_wiki, iter_drafts
from tests.hub.conftest import World
from tests.support.command_line import run
from tests.support.hub_world import TeamRecord, listen, open_hub, write_config, write_team
from tests.support.sealed import git

NOTHING = AcrossReport((), (), (), 0)


def test_it_has_what_the_members_of_a_group_may_read_and_every_link_leads_to_a_page(
    world: World, tmp_path: Path
) -> None:
    told: list[str] = []
    first = build_org_wiki(world.hub, ["b"], str(tmp_path / "site"), os.environ, "en", told.append)
    page = Path(first).read_text("utf-8")
    assert {path.name for path in (tmp_path / "site").iterdir() if path.is_dir()} == {"beta", "open"}
    assert "Keep card data for 30 days" in page and "90 days" not in page and "alpha" not in page
    links = re.findall(r'href="([^"]+)"', page)
    assert len(links) >= 4 and all((tmp_path / "site" / link).is_file() for link in links)
    with pytest.raises(BadInput, match="something else"):
        build_org_wiki(world.hub, ["b"], str(world.top), os.environ, "en", told.append)


@pytest.fixture
def rivals(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Two teams that contradict each other, one in Chinese, and a third that only one of them may read."""
    days = "Card data is kept for {} days."
    write_team(tmp_path / "pay", [TeamRecord("D001", "Keep card data for 90 days", days.format(90))])
    write_team(tmp_path / "web", [TeamRecord("D004", "Keep card data for 30 days", days.format(30))])
    write_team(tmp_path / "law", [TeamRecord("D002", "Keep card data for 7 days", days.format(7))])
    (tmp_path / "pay/kb.toml").write_text('name = "pay"\nlanguage = "zh"\nhub_repository = "pay"\n')
    (tmp_path / "web/kb.toml").write_text('name = "web"\nwiki_url = "https://web.example/wiki"\n')
    for name in ("pay", "web"):
        git(tmp_path / name, "commit", "-qam", "Settings")
    path = write_config(tmp_path, {"pay": ["p"], "web": ["w", "p"], "law": ["w"]})
    yield tmp_path, path


def test_the_wiki_of_each_team_shows_what_the_other_decided(rivals: tuple[Path, Path]) -> None:
    top, path = rivals
    with open_hub(path) as hub:
        build_org_wiki(hub, ["p"], str(top / "site"), os.environ, "en", str)
        pay, web = ((top / f"site/{name}/health.html").read_text("utf-8") for name in ("pay", "web"))
    assert "跨知识库" in pay and "另一个团队的决定不同" in pay and "Across bases" in web
    for name, page in (("web", pay), ("pay", web)):
        [link] = re.findall(rf'href="(\.\./{name}/r/[^"]+)"', page)
        assert (top / "site" / ("pay" if name == "web" else "web") / link).resolve().is_file()
    assert "7 days" not in pay + web


def test_a_file_of_the_comparison_is_shown_in_the_teams_own_wiki(rivals: tuple[Path, Path]) -> None:
    """`kb hub compare --for`: only from repositories that all its readers may read, in the language of the base."""
    top, path = rivals
    with open_hub(path):
        pass
    where = ["--config", str(path)]
    assert run(top, "hub", "compare", "--for", "pay", "--output", str(top / "pay/across.json"), *where).code == 0
    found = json.loads((top / "pay/across.json").read_text("utf-8"))
    assert [row["other"]["name"] for row in found["contradictions"]] == ["web:D004"], "law is not for all who read pay"
    assert found["contradictions"][0]["other"]["wiki"].startswith("https://web.example/wiki/r/")
    assert found["contradictions"][0]["reason"].endswith("的一个数字") or "改" in found["contradictions"][0]["reason"]
    for more, code in ((["--for", "nobody"], 1), (["--output", "x"], 2), (["--for", "web", "--group", "w"], 0)):
        done = run(top, "hub", "compare", *more, *where)
        assert done.code == code, done.error
    assert "law:D002" in done.out
    with (top / "pay/kb.toml").open("a") as file:
        file.write('wiki_across = "across.json"\n')
    with KnowledgeBase.at(str(top / "pay"), os.environ) as kb:
        page = next(
            draft for draft in iter_drafts(PageFingerprints(collect_wiki(kb))) if draft.uri == "health.md"
        ).make()
        assert "web:D004" in page.text and "https://web.example/wiki/r/" in page.text
    (top / "pay/across.json").write_text('{"repository": 3}')
    with KnowledgeBase.at(str(top / "pay"), os.environ) as kb:
        assert collect_wiki(kb).sources.across == {}


def test_a_wiki_asks_the_hub_itself_and_is_silent_without_one(
    rivals: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    top, path = rivals
    config = (
        path.read_text().replace('groups = ["p"]', 'groups = ["*"]').replace('groups = ["w", "p"]', 'groups = ["*"]')
    )
    path.write_text(config)
    mine = {**os.environ, "XDG_STATE_HOME": str(top / "state")}

    def show(**more: str) -> str:
        with KnowledgeBase.at(str(top / "pay"), {**mine, **more}) as kb:
            drafts = iter_drafts(PageFingerprints(collect_wiki(kb)))
            return next(draft for draft in drafts if draft.uri == "health.md").make().text

    assert "跨知识库" not in show()
    assert "跨知识库" not in show(KB_HUB_URL="http://127.0.0.1:9")
    with open_hub(path) as hub, listen(hub) as (address, _):
        assert "web:D004" in show(KB_HUB_URL=address)
        monkeypatch.setattr(hub_client, "SECONDS", 0.2)
    assert "web:D004" in show(KB_HUB_URL=address), "its last answer"


def test_what_a_title_says_is_text() -> None:
    evil = OrgRecord("alpha", Record("D001", "decision", "<script>alert(1)</script>\u202e", uid='"><b>'))
    pair = AcrossPair(evil, evil, "<i>90</i> days")
    page = render_front_page([evil], {"alpha": 1}, NOTHING._replace(contradictions=(pair,)), "zh")
    assert "<script>alert" not in page and "\u202e" not in page and "<b>" not in page and "<i>" not in page
    assert "团队之间的矛盾" in page and page.count("<h2>") == 1
