"""What a pull request shows of the wiki: the pages that change, and a report with both sides."""

import os
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.wiki.wiki_site import write_preview
from tests.support.command_line import run
from tests.support.sealed import DAY, git
from tests.wiki.test_wiki_pages import ATTACK, Seen, record
from tests.wiki.test_wiki_site import Anchored, shelved


def base(place: Path, more: str = "") -> Path:
    """Make a knowledge base with a branch on which one record changes and one is new."""
    old = record("D001", "Wait 5 seconds", decision="Wait 5 seconds, see [D002].", status="accepted", tags=("slow",))
    root = shelved(place, [old, record("D002", "kept", status="accepted")], more=more)
    git(root, "switch", "-qc", "change")
    changed = root / "content/anchors/global/D001-wait-5-seconds.md"
    changed.write_text(changed.read_text("utf-8").replace("Wait 5 seconds, see", "Wait 9 seconds, see"), "utf-8")
    return root


def seen(root: Path, out: Path, published: str = "") -> tuple[str, int]:
    """Write the preview of *root* against its main branch into *out*."""
    with KnowledgeBase(str(root), os.environ, lambda: DAY) as kb:
        return write_preview(kb, "main", str(out), published)


def test_a_preview_has_the_pages_that_change_and_says_what_changes(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    assert seen(root, out) == (str(out / "index.html"), 1)
    assert sorted(path.name for path in out.rglob("*.html")) == ["D001.html", "elsewhere.html", "index.html"]
    report = (out / "index.html").read_text("utf-8")
    assert "<del>5</del>" in report and "<ins>9</ins>" in report
    assert 'href="anchors/global/D001.html"' in report
    page = (out / "anchors/global/D001.html").read_text("utf-8")
    assert 'href="../../elsewhere.html"' in page and "D002.html" not in page


def test_links_that_leave_the_preview_lead_to_the_whole_wiki_where_it_is_known(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    seen(root, out, "https://kb.example/wiki/")
    page = (out / "anchors/global/D001.html").read_text("utf-8")
    assert 'href="https://kb.example/wiki/anchors/global/D002.html"' in page


def test_every_link_and_file_of_a_preview_is_there(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    seen(root, out)
    for path in out.rglob("*.html"):
        page = Anchored(path.read_text("utf-8"))
        assert page.scripts == 0
        for address in (*page.links, *page.loads):
            target, _, anchor = address.partition("#")
            target = target.partition("?")[0]
            assert address == "data:," or (path.parent / target).exists(), address
            assert not anchor or target.endswith("elsewhere.html") or anchor in page.ids, address


def test_a_change_of_the_front_a_new_record_and_a_removed_one_are_named(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    folder = root / "content/anchors/global"
    first = folder / "D001-wait-5-seconds.md"
    first.write_text(first.read_text("utf-8").replace("tags: [slow]", "tags: [fast]"), "utf-8")
    (folder / "D002-kept.md").unlink()
    (folder / "D003-new.md").write_text(first.read_text("utf-8").replace("D001", "D003"), "utf-8")
    assert seen(root, out)[1] == 3
    shown = Seen((out / "index.html").read_text("utf-8"))
    assert [heading.partition(":")[0] for heading in shown.headings[1:]] == ["New", "Changed", "Removed"]
    tags = shown.cells.index("tags")
    assert shown.cells[tags : tags + 3] == ["tags", "slow", "fast"]


def test_what_is_private_is_in_no_preview(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb", 'wiki_without = ["#slow"]\n'), tmp_path / "out"
    assert seen(root, out)[1] == 0
    assert sorted(path.name for path in out.rglob("*.html")) == ["elsewhere.html", "index.html"]
    assert "9 seconds" not in "".join(path.read_text("utf-8") for path in out.rglob("*.*"))


def test_a_private_record_that_goes_is_not_named_either(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb", 'wiki_without = ["#slow"]\n'), tmp_path / "out"
    (root / "content/anchors/global/D001-wait-5-seconds.md").unlink()
    assert seen(root, out)[1] == 0
    assert "Wait" not in "".join(path.read_text("utf-8") for path in out.rglob("*.html"))


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    first = root / "content/anchors/global/D001-wait-5-seconds.md"
    first.write_text(first.read_text("utf-8").replace("Wait 9 seconds", ATTACK), "utf-8")
    seen(root, out)
    for path in out.rglob("*.html"):
        assert not Seen(path.read_text("utf-8")).tags & {"script", "img", "iframe", "style"}


def test_a_preview_replaces_a_preview_and_nothing_else(tmp_path: Path) -> None:
    root, out = base(tmp_path / "kb"), tmp_path / "out"
    seen(root, out)
    (out / "old.html").write_text("", "utf-8")
    seen(root, out)
    assert not (out / "old.html").exists()
    with pytest.raises(BadInput, match="something else than a preview"):
        seen(root, root / "content")
    assert (root / "content").is_dir()


def test_the_command_names_the_report_and_how_many_change(tmp_path: Path) -> None:
    root = base(tmp_path / "kb")
    done = run(root, "wiki", "preview", "--against", "main", "-o", str(tmp_path / "out"))
    assert (done.code, done.out.strip()) == (0, str(tmp_path / "out/index.html"))
    assert "records that change: 1" in done.error
    assert run(root, "wiki", "preview", "--against", "nowhere", "-o", str(tmp_path / "none")).code == 1
    assert not (tmp_path / "none").exists()
