"""Every id that kb prints leads its reader to the record it speaks of, wherever he stands."""

import json
import re
from pathlib import Path

import pytest

from kb.hooks.events import format_report
from kb.index.record_ids import qualify_name
from kb.knowledge_base import KnowledgeBase
from kb.records.model import GLOBAL, Record
from kb.wiki.library import build_library
from tests.support.clones import FASTAPI, FLASK, decision
from tests.support.command_line import run
from tests.support.sealed import git


class World:
    """A knowledge base with three records of one number: of two projects, and global."""

    def __init__(self, kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
        self.kb, self.root = kb, root
        self.folders = {name: tmp_path / name for name in ("api", "pay")}
        for folder in self.folders.values():
            folder.mkdir()
            git(folder, "init", "-q")
        self.folders["global"] = root
        for number, folder in enumerate(self.folders.values()):
            kb.write([decision(number)], folder=str(folder))

    def scope(self, name: str) -> str:
        return GLOBAL if name == "global" else f"project/{name}"

    def record(self, scope: str) -> Record:
        return next(record for record in self.kb.records() if record.scope == scope)

    def run(self, place: str, *arguments: str, stdin: bytes = b""):
        return run(self.folders[place], *arguments, stdin=stdin, KB_HOME=str(self.root))


@pytest.fixture
def world(kb: KnowledgeBase, root: Path, tmp_path: Path) -> World:
    return World(kb, root, tmp_path)


@pytest.mark.parametrize("place", ["api", "pay", "global"])
def test_a_bare_id_is_the_caller_s_own(world: World, place: str) -> None:
    assert {record.id for record in world.kb.records()} == {"D001"}
    shown = world.run(place, "show", "D001", "--json")
    assert json.loads(shown.out)["scope"] == world.scope(place)
    assert world.run(place, "rm", "D001").code == 0
    standing = {record.scope: record.status for record in world.kb.records()}
    assert [scope for scope, status in standing.items() if status == "deprecated"] == [world.scope(place)]


def test_a_global_record_is_reached_from_a_project_without_its_number(world: World) -> None:
    world.kb.write([decision(3)._replace(kind="constraint")], folder=str(world.root))
    assert json.loads(world.run("api", "show", "C001", "--json").out)["scope"] == GLOBAL


@pytest.mark.parametrize("command", [("rm", "D002"), ("show", "D002"), ("edit", "D002"), ("history", "D002")])
def test_a_bare_id_is_never_another_project_s(world: World, command: tuple[str, ...]) -> None:
    world.kb.write([decision(3)], folder=str(world.folders["pay"]))
    for place in ("api", "global"):
        ran = world.run(place, *command)
        assert ran.code == 1 and "pay:D002" in ran.error
    assert all(record.status != "deprecated" for record in world.kb.records())
    assert world.run("api", "show", "pay:D002").code == 0


def test_an_unreadable_record_of_the_project_is_not_the_global_one(world: World) -> None:
    path = world.root / world.record("project/api").path
    path.write_text(path.read_text().replace("<!-- MACHINE_BLOCK_START -->\n", ""))
    ran = world.run("api", "rm", "D001")
    assert ran.code == 1 and path.name in ran.error
    assert world.record(GLOBAL).status != "deprecated"


@pytest.mark.parametrize("place", ["api", "pay", "global"])
def test_what_is_printed_leads_back(world: World, place: str) -> None:
    """Whatever list names a record, that name, typed in the same folder, is that record."""
    titles = {record.title: record for record in world.kb.records()}
    lines = world.run(place, "list").out + world.run(place, "search", "amounts").out
    found = re.findall(r"^(\S+) .*?((?:\S+ )*\S+)  \((?:global|project/\w+)\)$", lines, re.M)
    seen = set()
    for name, said in found:
        title = next(title for title in titles if said.endswith(title))
        shown = json.loads(world.run(place, "show", name, "--json").out)
        assert shown["uid"] == titles[title].uid, (place, name)
        seen.add(title)
    assert seen == set(titles)


def test_names_for_a_caller_of_whom_nothing_is_known(world: World) -> None:
    names = {qualify_name(world.kb, record) for record in world.kb.records()}
    assert names == {"global:D001", "api:D001", "pay:D001"}
    for record in world.kb.records():
        assert world.kb.record(qualify_name(world.kb, record)).uid == record.uid


def test_findings_and_their_remedies_name_the_record(world: World) -> None:
    for scope in ("project/api", GLOBAL):
        path = world.root / world.record(scope).path
        path.write_text(path.read_text().replace("status: proposed", "status: superseded"))
    found = world.run("api", "check").out
    assert "kb supersede D001 --by NEW" in found and "kb supersede global:D001 --by NEW" in found
    found = world.run("pay", "check").out
    assert "kb supersede api:D001 --by NEW" in found and "kb supersede global:D001 --by NEW" in found


def test_a_verdict_names_what_it_wrote_elsewhere(world: World) -> None:
    ran = world.run(
        "pay", "write", "--kind", "decision", "--project", "api", "--area", "security",
        "--title", "Keep the tokens of couriers in Vault", "--why", "A file in the repository leaked them all in June",
    )  # fmt: skip
    assert "[api:D002]" in ran.out and "kb write --updates api:D002" in ran.error


def test_an_error_names_the_record_for_its_reader(world: World) -> None:
    ran = world.run("pay", "status", "api:D001", "accepted")
    assert ran.code == 1 and "[api:D001]" in ran.error and "kb write --updates api:D001" in ran.error


def test_a_hook_s_way_back_leads_to_what_it_wrote(world: World) -> None:
    with KnowledgeBase.at(str(world.root), folder=str(world.folders["api"])) as kb:
        verdicts = kb.write([decision(5, scope=GLOBAL)], folder=str(world.folders["api"]))
        kb.write([decision(6)], folder=str(world.folders["api"]))
        told = format_report(kb, verdicts)
    assert "undo it: kb rm global:D002" in told
    world.run("api", *re.findall(r"kb (rm \S+)$", told, re.MULTILINE)[0].split())
    standing = {(record.scope, record.id): record.status for record in world.kb.records()}
    assert standing[GLOBAL, "D002"] == "deprecated" != standing["project/api", "D002"]


def test_a_review_is_found_by_the_id_of_its_scope(world: World) -> None:
    for name in ("api", "pay"):
        folder = str(world.folders[name])
        world.kb.write([FASTAPI], folder=folder)
        assert world.kb.write([FLASK], folder=folder)[0].verdict == "conflict"
    listed = world.run("api", "review").out
    own, other = re.findall(r"\+ \[(\S+)\] Use Flask", listed)
    assert {own, other} == {"D003", "pay:D003"}
    assert world.run("api", "review", "accept", "D003", "--yes").code == 0
    assert [review.record.scope for review in world.kb.reviews()] == ["project/pay"]
    assert world.run("api", "review", "reject", "pay:D003", "--yes").code == 0


def test_the_other_ends_of_links_are_named_for_the_reader(world: World) -> None:
    world.kb.write([decision(8, why="It follows [D001] of the same project.")], folder=str(world.folders["api"]))
    assert "← cites       [D002]" in world.run("api", "refs", "D001").out
    assert "← cites       [api:D002]" in world.run("pay", "refs", "api:D001").out
    assert "→ cites       [api:D001]" in world.run("pay", "refs", "api:D002").out


def test_the_page_of_a_record_names_it_for_anybody(world: World) -> None:
    found = build_library(world.kb.records())
    assert {found.name_of(record) for record in found.records} == {"global:D001", "api:D001", "pay:D001"}
    assert build_library([world.record(GLOBAL)]).name_of(world.record(GLOBAL)) == "D001"


def test_a_citation_is_told_once_however_often_it_stands_there(world: World) -> None:
    why = "It follows [D001].\n\nAs [D001] says, 见 [D001]。"
    world.kb.write([decision(8, why=why)], folder=str(world.folders["api"]))
    assert world.run("api", "refs", "D002").out.count("[D001]") == 1
    assert world.run("api", "refs", "D001").out.count("[D002]") == 1
    lines = [link["line"] for link in json.loads(world.run("api", "refs", "D002", "--json").out)]
    assert len(lines) == len(set(lines)) >= 2, "a program is told each line"


@pytest.mark.parametrize("place", ["api", "global"])
def test_the_page_of_a_check_names_records_for_whoever_reads_it(world: World, place: str) -> None:
    """Three records are D001; the page is read as a comment, by nobody who stands in a project."""
    for record in world.kb.records():
        path = world.root / record.path
        path.write_text(path.read_text().replace("\nBecause", "\n[D404]\nBecause") + "\n[D404]\n")
    page = world.run(place, "check", "--format", "markdown").out
    assert {"global:D001", "api:D001", "pay:D001"} <= set(re.findall(r"\*\*([\w:]+)\*\*", page))
