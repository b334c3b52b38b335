"""Links between decision records that are imported: they lead to the records, and nothing else of a body changes."""

import os
import re
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record, Section, Status
from tests.support.command_line import run
from tests.support.sealed import git


def adr(number: int, title: str, words: str, status: str = "Accepted") -> str:
    """Return a decision record whose decision says *words*."""
    return f"# {number}. {title}\n\n## Status\n\n{status}\n\n## Context\n\nIt came up.\n\n## Decision\n\n{words}\n"


def folder(place: Path, **files: str) -> Path:
    """Write *files* (name without .md → text) into the folder *place*."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / f"{name}.md").write_text(text, encoding="utf-8")
    return place


def imported(root: Path, *paths: Path) -> dict[str, str]:
    """Import *paths* and return path and text of every record there is."""
    assert run(root, "import", "adr", *map(str, paths)).code == 0
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "content").rglob("*.md"))}


def warned(root: Path) -> list[str]:
    """Return the targets of the links that `kb check` warns of."""
    with KnowledgeBase(str(root), os.environ) as kb:
        return [str(found.message.values["target"]) for found in kb.check() if found.rule == "link"]


def broken(root: Path) -> list[str]:
    """Return the targets of the broken links, also those of imported records, which are not warned of."""
    for path in (root / "content").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(?m)^(?:imported|adr): .*\n", "", text), encoding="utf-8")
    return warned(root)


SIBLINGS = {
    "0001-use-postgresql": adr(1, "Use PostgreSQL", "Do it."),
    "0002-使用 消息队列": adr(2, "使用消息队列", "采用 Kafka。"),
    "20200926-use-log4brains": adr(3, "Use Log4brains", "Do it."),
}


@pytest.mark.parametrize(
    ("written", "now"),
    [
        ("[ADR-0001](0001-use-postgresql.md)", "[ADR-0001](D001-use-postgresql.md)"),
        ("[ADR-0001](./0001-use-postgresql.md#decision)", "[ADR-0001](D001-use-postgresql.md#decision)"),
        ("[ADR-0001](../adr/0001-use-postgresql.md 'why')", "[ADR-0001](D001-use-postgresql.md 'why')"),
        ("[ADR-0001](0001-Use-PostgreSQL.md)", "[ADR-0001](D001-use-postgresql.md)"),
        ("[ADR-0001](0001-use-postgresql)", "[ADR-0001](D001-use-postgresql.md)"),
        ("[log](20200926-use-log4brains.md)", "[log](D003-use-log4brains.md)"),
        ("[二](<0002-使用 消息队列.md#状态>)", "[二](<D002-使用消息队列.md#状态>)"),
        ("[二](0002-使用%20消息队列.md)", "[二](D002-%E4%BD%BF%E7%94%A8%E6%B6%88%E6%81%AF%E9%98%9F%E5%88%97.md)"),
        ("See [ADR-1] and [二][].\n\n[ADR-1]: 0001-use-postgresql.md\n[二]: <0002-使用 消息队列.md>",
         "See [ADR-1] and [二][].\n\n[ADR-1]: D001-use-postgresql.md\n[二]: <D002-使用消息队列.md>"),
        ("[itself](0004-link.md)", "[itself](D004-link.md)"),
        ("Code `[a](0001-use-postgresql.md)` stays", "Code `[a](0001-use-postgresql.md)` stays"),
        ("```markdown\n[a](0001-use-postgresql.md)\n```", "```markdown\n[a](0001-use-postgresql.md)\n```"),
        ("- 列\n  ~~~\n  [a](0001-use-postgresql.md)\n  ~~~", "- 列\n  ~~~\n  [a](0001-use-postgresql.md)\n  ~~~"),
        ("[a](https://example.org/0001-use-postgresql.md)", "[a](https://example.org/0001-use-postgresql.md)"),
    ],
)  # fmt: skip
def test_a_link_to_a_sibling_leads_to_its_record(root: Path, tmp_path: Path, written: str, now: str) -> None:
    place = folder(tmp_path / "docs" / "adr", **SIBLINGS, **{"0004-link": adr(4, "Link", written)})
    files = imported(root, place)
    assert f"## Decision\n\n{now.rstrip()}\n" in files["D004-link.md"]
    assert "](0" not in re.sub("`[^`]*`|(?s:(```|~~~).*?\\1)", "", files["D004-link.md"])
    assert broken(root) == []


def test_what_adr_tools_writes_under_status_follows_too(root: Path, tmp_path: Path) -> None:
    one = adr(1, "Use MySQL", "Do it.", "Superseded by [2. Use X](0002-use-x.md)")
    two = adr(2, "Use X", "Do it.", "Accepted\n\nSupersedes [1. Use MySQL](0001-use-mysql.md)")
    files = imported(root, folder(tmp_path / "adr", **{"0001-use-mysql": one, "0002-use-x": two}))
    assert "\nSuperseded by [2. Use X](D002-use-x.md)\n" in files["D001-use-mysql.md"]
    assert "\nSupersedes [1. Use MySQL](D001-use-mysql.md)\n" in files["D002-use-x.md"]
    assert broken(root) == []


def test_a_link_follows_a_number_that_is_in_use_here(root: Path, tmp_path: Path) -> None:
    imported(root, folder(tmp_path / "other", **{"0001-first": adr(1, "First", "It was here before.")}))
    files = {"0001-one": adr(1, "One", "[二](0002-two.md)"), "0002-two": adr(2, "Two", "[一](0001-one.md)")}
    now = imported(root, folder(tmp_path / "adr", **files))
    assert "[二](D002-two.md)" in now["D003-one.md"] and "[一](D003-one.md)" in now["D002-two.md"]


def test_what_is_imported_again_is_unchanged_and_what_comes_later_finds_it(root: Path, tmp_path: Path) -> None:
    place = folder(tmp_path / "adr", **{"0001-一": adr(1, "一", "[二](0002-%E4%BA%8C.md) [图](a.png)")})
    place = folder(place, **{"0002-二": adr(2, "二", "[一](<0001-一.md>)\n\n[一]: 0001-一.md")})
    before = imported(root, place)
    assert imported(root, place) == before
    (place / "0001-一.md").unlink()
    (place / "0003-three.md").write_text(adr(3, "Three", "[一](0001-一.md#x) [二](0002-二.md)"), encoding="utf-8")
    after = imported(root, place)
    assert "[一](D001-一.md#x) [二](D002-二.md)" in after.pop("D003-three.md")
    assert after == before
    assert git(root, "rev-list", "--count", "HEAD").strip() == "3"


def test_a_file_that_comes_alone_finds_those_that_came_with_their_folder(root: Path, tmp_path: Path) -> None:
    place = folder(tmp_path / "x" / "adr", **{"0001-一": adr(1, "一", "Do it."), "0002-two": adr(2, "Two", "Do it.")})
    place = folder(place / "old", **{"0002-two": adr(4, "Old two", "It was so.")}).parent
    assert run(root, "import", "adr", str(place)).code == 0
    folder(
        place, **{"0003-three": adr(3, "Three", "[一](./0001-%E4%B8%80.md) [二](0002-two.md) [旧](old/0002-two.md)")}
    )
    now = imported(root, place / "0003-three.md")
    assert "[一](D001-%E4%B8%80.md) [二](0002-two.md) [旧](D003-old-two.md)" in now["D004-three.md"]


def test_files_of_one_name_in_two_places_are_not_mixed_up(root: Path, tmp_path: Path) -> None:
    files = {"0001-one": adr(1, "One", "Do it."), "0002-two": adr(2, "Two", "[1](0001-one.md) [2](0002-two.md)")}
    here, there = folder(tmp_path / "a" / "adr", **files), folder(tmp_path / "b" / "adr", **files)
    folder(there, **{"0001-one": adr(1, "One of B", "Do it.")})
    now = imported(root, here, there)
    assert all("[1](0001-one.md) [2](0002-two.md)" in text for name, text in now.items() if "two" in name)


def test_of_several_records_of_one_file_the_latest_of_the_kind_counts(kb: KnowledgeBase) -> None:
    def one(title: str, words: str, file: str, kind: str = "decision") -> Record:
        return Record("", kind, title, sources=(file,), sections=(Section("decision", "Decision", words),))

    kb.import_records([one("One", "Do it.", "adr/1.md")], origin="a test")
    kb.import_records([one("One", "Do it so.", "adr/1.md")], origin="a test")
    kb.import_records([one("No one", "Never.", "adr/1.md", "pitfall")], origin="a test")
    (verdict,) = kb.import_records([one("Two", "[1](1.md)", "adr/2.md")], origin="a test")
    assert kb.record(verdict.id).sections[0].text == "[1](D002-one.md)"


def test_only_records_of_the_own_scope_are_taken_for_earlier_siblings(root: Path, tmp_path: Path) -> None:
    shop, bank = tmp_path / "shop" / "adr", tmp_path / "bank" / "adr"
    folder(shop, **{"0001-one": adr(1, "One", "Do it.")})
    folder(bank, **{"0002-two": adr(2, "Two", "[一](0001-one.md)")})
    run(root, "import", "adr", str(shop), "--project", "shop")
    run(root, "import", "adr", str(bank), "--project", "bank")
    two = root / "content" / "anchors" / "projects" / "bank" / "D002-two.md"
    assert "[一](0001-one.md)" in two.read_text(encoding="utf-8")
    folder(shop, **{"0002-two": adr(2, "Two", "[一](0001-one.md)")})
    run(root, "import", "adr", str(shop), "--project", "shop")
    assert "[一](D001-one.md)" in (root / "content/anchors/projects/shop/D002-two.md").read_text(encoding="utf-8")


def test_files_that_are_not_imported_are_told_and_their_links_stay(root: Path, tmp_path: Path) -> None:
    words = "![图](图/a%20b.png) [code](../src/x.py#L1) [gone](0009-gone.md) [gone](0009-gone.md)"
    place = folder(tmp_path / "adr", **{"0001-one": adr(1, "One", words), "README": "# Index\n"})
    told = run(root, "import", "adr", str(place)).error.splitlines()[0].strip()
    assert told == "it links to files that were not imported: 图/a b.png, ../src/x.py, 0009-gone.md"
    assert words in next((root / "content").rglob("D001-one.md")).read_text(encoding="utf-8")
    assert warned(root) == [], "what the other repository has is not missing here"
    assert sorted(broken(root)) == ["../src/x.py#L1", "0009-gone.md", "图/a%20b.png"]


def test_many_lost_files_are_counted(kb: KnowledgeBase) -> None:
    words = " ".join(f"[{n}]({n}.png)" for n in range(8))
    one = Record("D001", "decision", "One", sources=("a/1.md",), sections=(Section("decision", "Decision", words),))
    (verdict,) = kb.import_records([one], origin="a test")
    assert verdict.reasons == ("it links to files that were not imported: 0.png, 1.png, 2.png, 3.png, 4.png, … (8)",)


def test_files_of_the_same_repository_are_still_reached(root: Path) -> None:
    words = "![图](../图/a%20b.png) [x](<../图/a b.png>) [readme](README.md) [up](../../../out.md) [no](no.md)"
    folder(root / "docs" / "adr", **{"0001-one": adr(1, "One", words), "README": "# Index\n"})
    (root / "docs" / "图").mkdir()
    (root / "docs" / "图" / "a b.png").write_bytes(b"")
    (root.parent / "out.md").write_text("# Out\n")
    files = imported(root, root / "docs" / "adr")
    assert (
        "![图](../../../docs/%E5%9B%BE/a%20b.png) [x](<../../../docs/图/a b.png>)"
        " [readme](../../../docs/adr/README.md) [up](../../../out.md) [no](no.md)"
    ) in files["D001-one.md"]
    assert broken(root) == ["../../../out.md", "no.md"]


def test_records_without_a_file_of_their_own_keep_their_links(kb: KnowledgeBase) -> None:
    text = Section("", "See [one](0001-one.md)", "[one](0001-one.md)")
    one = Record("D001", "decision", "One", sections=(text,))
    several = one._replace(id="D002", title="Two", sources=("adr/0001-one.md", "adr/2.md"))
    own = one._replace(id="D003", title="Three", sources=("adr/3.md",))
    first = Record("D004", "decision", "Four", sources=("adr/0001-one.md",), status=Status.ACCEPTED)
    kb.import_records([one, several, own, first], origin="a test")
    found = {record.id: (record.sections[0].heading, record.sections[0].text) for record in kb.records()[:3]}
    assert found["D001"] == found["D002"] == ("See [one](0001-one.md)", "[one](0001-one.md)")
    assert found["D003"] == ("See [one](D004-four.md)", "[one](D004-four.md)")
