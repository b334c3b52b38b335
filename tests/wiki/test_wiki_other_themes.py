"""The wiki's plugin in other hands: a docs site under ProperDocs, and the site of kb's own repository."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wiki_world import lost_links, world
from tests.wiki.test_wiki_site import Anchored, own_site

PROGRAMS = {"mkdocs": "mkdocs", "properdocs": "properdocs"}
OURS = Path(__file__).parents[2]


def made(program: str, folder: Path, out: Path) -> set[str]:
    """Build the site in *folder* with *program* and return the files below the wiki's folder."""
    command = [sys.executable, "-m", program, "build", "-q", "-f", str(folder / "mkdocs.yml"), "-d", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {path.relative_to(out).as_posix() for path in out.rglob("*.*")}


def test_properdocs_builds_what_mkdocs_builds(tmp_path: Path) -> None:
    pytest.importorskip("properdocs")
    root = own_site(tmp_path / "kb", guide="# Guide\n\nSee [the decision](kb/anchors/global/D001.md).\n")
    one, other = (made(program, root, tmp_path / program) for program in PROGRAMS)
    assert one == other and "kb/anchors/global/D001/index.html" in one and "kb/data/lists.js" in one
    guide = Anchored((tmp_path / "properdocs/guide/index.html").read_text("utf-8"))
    assert "../kb/anchors/global/D001/" in guide.links


def test_what_continues_mkdocs_builds_the_same_wiki(tmp_path: Path) -> None:
    pytest.importorskip("properdocs")
    root = world(tmp_path / "kb", count=12)
    sites = {}
    for program in PROGRAMS:
        out = tmp_path / program
        command = [sys.executable, "-c", "import sys; from kb.cli import main; main(sys.argv[1:])"]
        command += ["wiki", "build", "--builder", program, "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
        assert done.returncode == 0, done.stderr
        files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.*")}
        # Only who made it, and the day of the sitemap, may differ.
        told = {name: re.sub(rb'<meta name="generator"[^>]*>', b"", data) for name, data in files.items()}
        sites[program] = {name: data for name, data in told.items() if not name.startswith("sitemap")}
    assert sites["mkdocs"].keys() == sites["properdocs"].keys() and len(sites["mkdocs"]) > 100
    assert [name for name, data in sites["mkdocs"].items() if sites["properdocs"][name] != data] == []


@pytest.mark.parametrize("theme", ["mkdocs", "readthedocs"])
def test_a_site_with_another_theme_has_the_pages_too(tmp_path: Path, theme: str) -> None:
    root = own_site(tmp_path / "kb")
    settings = (root / "mkdocs.yml").read_text("utf-8").replace("theme: material", f"theme: {theme}")
    (root / "mkdocs.yml").write_text(settings, "utf-8")
    made("mkdocs", root, tmp_path / "site")
    page = (tmp_path / "site/kb/anchors/global/D001/index.html").read_text("utf-8")
    assert 'class="kb-status' in page and "assets/kb.css" in page and "assets/kb.js" in page and "first" in page


def test_the_site_of_this_repository_is_built_strictly_and_every_link_of_it_arrives(tmp_path: Path) -> None:
    files = made("mkdocs", OURS, tmp_path / "site")
    assert {"index.html", "wiki.html", "knowledge/index.html", "knowledge/anchors/projects/kb/D001.html"} <= files
    assert lost_links(tmp_path / "site") == []
