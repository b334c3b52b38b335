"""The wiki of the organisation: whose records it has, where its links lead, and that markup in titles is text."""

import os
import re
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.hub.org_wiki import build_org_wiki, render_front_page
from kb.organisation.org_values import AcrossPair, AcrossReport, OrgRecord
from kb.records.model import Record
from tests.hub.conftest import World

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


def test_what_a_title_says_is_text() -> None:
    evil = OrgRecord("alpha", Record("D001", "decision", "<script>alert(1)</script>\u202e", uid='"><b>'))
    pair = AcrossPair(evil, evil, "<i>90</i> days")
    page = render_front_page([evil], {"alpha": 1}, NOTHING._replace(contradictions=(pair,)), "zh")
    assert "<script>alert" not in page and "\u202e" not in page and "<b>" not in page and "<i>" not in page
    assert "团队之间的矛盾" in page and page.count("<h2>") == 1
