"""Decision records as people really keep them: statuses in part, dates in odd places, slips in YAML, index pages."""

import json
import os
from pathlib import Path

import pytest

from kb.adr.adr_file import read_adr
from kb.adr.adr_links import find_text_links, find_title_links
from kb.adr.adr_set import resolve_imports
from kb.adr.adr_text import AdrLink
from kb.errors import BadRecord
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record, Section
from tests.support.command_line import run
from tests.support.sealed import git


def written(status: str, *, body: str = "Do it.", front: str = "") -> str:
    """Return a file whose status line is *status*."""
    head = f"---\n{front}---\n" if front else ""
    return f"{head}# 7. Use a queue\n\nStatus: {status}\n\n## Decision\n\n{body}\n"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("amended-in-part by [0009](0009-x.md)", "accepted"),
        ("Amended by ADR-9, see there", "accepted"),
        ("extended-in-part by [0009](0009-x.md)", "accepted"),
        ("superseded-in-part by [0009](0009-x.md)", "accepted"),
        ("Superseded in part by ADR 9", "accepted"),
        ("Partially Accepted", "accepted"),
        ("proposed; amended-in-part by [0009](0009-x.md)", "proposed"),
        ("superseded by [0009](0009-x.md)", "superseded"),
        ("Reverted (2026-02-03)", "deprecated"),
        ("moot", "deprecated"),
        ("retired by [0009](0009-x.md)", "deprecated"),
        ("已修订，见 ADR 9", "accepted"),
        ("部分接受", "accepted"),
        ("部分被 ADR-9 取代", "accepted"),
        ("已撤销", "deprecated"),
    ],
)
def test_a_status_that_another_record_changed_is_understood(said: str, status: str) -> None:
    found = read_adr(written(said), "0007-queue.md")
    assert found.record.status == status
    assert not [note for note in found.notes if "not known" in str(note)]
    assert found.record.extra["original_status"] == said, "the words that say more are kept"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("# 7. Q\n\n**Status**: Accepted (2026-05-16) · Amended 2026-06-01\n\n## Decision\n\nDo.\n", "2026-05-16"),
        ("# 7. Q\n\n## Status\n\nAccepted, 16 May 2026\n\n## Decision\n\nDo.\n", "2026-05-16"),
        ("# 7. Q\n\n状态：已接受（2026年5月16日）\n\n## 决策\n\n采用队列。\n", "2026-05-16"),
        ("# 7. Q\n\nStatus: Superseded by ADR 9 on 2026-07-01\n\n## Decision\n\nDo.\n", ""),
        (
            "# 7. Q\n\nStatus: Accepted\n\n## Decision\n\nDo.\n\n## Changelog\n\n"
            "- 2026-06-02: numbers\n- 2026-05-16: created\n",
            "2026-05-16",
        ),
        ("# 7. Q\n\nStatus: Accepted\n\n## Decision\n\nSince 2019-01-01 it fails.\n", ""),
    ],
)
def test_the_day_is_found_where_it_is_written(text: str, day: str) -> None:
    assert read_adr(text, "0007-q.md").record.date == day


def edges(**files: str) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Return what each of *files* supersedes and amends, and its status, once all are settled."""
    items = [read_adr(text, f"{name.replace('_', '-')[1:]}.md") for name, text in files.items()]
    return {r.id: (r.supersedes, r.amends, str(r.status)) for r in resolve_imports(items).records}


@pytest.mark.parametrize(
    "statement",
    [
        "Supersedes the *runtime portions* of [0006](0006-old.md).",
        "Supersedes the exclusive premise of ADR [0006](0006-old.md).",
        "Amends / supersedes ADR-0006 **D7**.",
        "Supersedes ADR-0006 §3.",
        'Supersedes: the "never log ids" decision in [ADR-0006](0006-old.md)',
        "Supersedes [ADR-0006](0006-old.md) (the retry limit only).",
        "This supersedes the ADR-0006 per-tenant limits.",
        "部分取代 [ADR-0006](0006-old.md)。",
    ],
)
def test_what_replaces_a_part_leaves_the_rest_in_force(statement: str) -> None:
    old = "# 6. Old\n\nStatus: Accepted\n\n## Decision\n\nDo so.\n"
    found = edges(_0006_old=old, _0007_new=written("Accepted", body=statement))
    assert found["D007"][:2] == ((), ("D006",))
    assert found["D006"][2] == "accepted"


def test_a_paragraph_replaced_in_the_middle_of_an_accepted_record_is_a_part() -> None:
    old = written("Accepted", body="One.\n\n**SUPERSEDED by ADR [0009](0009-new.md):** the check runs in the tree.")
    found = edges(_0007_old=old, _0009_new="# 9. New\n\nStatus: Accepted\n\n## Decision\n\nDo.\n")
    assert found["D009"][:2] == ((), ("D007",))
    assert found["D007"][2] == "accepted"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("superseded-in-part-by", ((), ("D007",))),
        ("superseded_section_by", ((), ("D007",))),
        ("superseded_by", (("D007",), ())),
        ("amended-by", ((), ("D007",))),
    ],
)
def test_relations_in_the_front_matter_are_read_however_they_are_spelled(
    key: str, expected: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    old = written("Accepted", front=f"{key}: 0009-new.md\n")
    assert edges(_0007_old=old, _0009_new="# 9. New\n\nStatus: Accepted\n")["D009"][:2] == expected


def test_supersedes_section_of_is_a_part() -> None:
    new = "---\nsupersedes-section-of: '0007'\n---\n# 9. New\n\nStatus: Accepted\n"
    assert edges(_0007_old=written("Accepted"), _0009_new=new)["D009"][:2] == ((), ("D007",))


@pytest.mark.parametrize(
    "line", ["title: Guards: what they stop", "title: [Spike] Guards: what they stop", "标题: 守卫: 拦什么"]
)
def test_a_value_that_lacks_its_quotes_is_read_as_text(line: str) -> None:
    front = f"{line}\nstatus: accepted\n"
    if not line.isascii():
        with pytest.raises(BadRecord):
            read_adr(f"---\n{front}---\n## Decision\n\nDo.\n", "0007-q.md")
        return
    found = read_adr(f"---\n{front}---\n## Decision\n\nDo.\n", "0007-q.md")
    assert found.record.title == line.partition(": ")[2]
    assert found.record.status == "accepted"
    assert "not valid YAML" in str(found.notes[0])


@pytest.mark.parametrize("name", ["README.md", "000-index.md", "progress.md", "目录.md", "docs/adr/README.md"])
def test_a_page_about_the_folder_is_no_decision(name: str) -> None:
    text = "# Decisions\n\n## Status\n\nAccepted\n\n## Decision\n\n- [1](0001-a.md)\n- [2](0002-b.md)\n"
    with pytest.raises(BadRecord, match=r"index of a folder|nothing shows"):
        read_adr(text, name)


def test_a_record_in_a_folder_of_its_own_may_be_called_readme() -> None:
    assert read_adr(written("Accepted"), "adr/0007-queue/README.md").record.title == "Use a queue"


def folder(place: Path, number: int = 2, body: str = "Do it.") -> Path:
    """Write *number* decision records into *place*."""
    place.mkdir(parents=True)
    for n in range(1, number + 1):
        text = f"# {n}. Decision {n} of the team\n\nStatus: Accepted\n\n## Decision\n\n{body}\n"
        (place / f"{n:04d}-decision-{n}.md").write_text(text, encoding="utf-8")
    return place


def test_folders_that_begin_with_a_dot_are_read(root: Path, tmp_path: Path) -> None:
    folder(tmp_path / "repo" / ".decisions")
    folder(tmp_path / "repo" / ".git" / "adr")
    told = run(root, "import", "adr", str(tmp_path / "repo"), "--json")
    assert [verdict["verdict"] for verdict in json.loads(told.out)["verdicts"]] == ["created", "created"]


def test_a_check_after_an_import_has_nothing_to_say(root: Path, tmp_path: Path) -> None:
    place = folder(tmp_path / "adr", body="See [code](../src/x.py) and [one](0001-decision-1.md).")
    (place / "0003-dropped.md").write_text("# 3. Dropped\n\nStatus: Superseded\n\n## Decision\n\nNo.\n", "utf-8")
    assert run(root, "import", "adr", str(place)).code == 0
    checked = run(root, "check")
    assert checked.code == 0 and "no problems found" in checked.error


def test_the_commit_does_not_name_the_folders_of_this_machine(root: Path, tmp_path: Path) -> None:
    run(root, "import", "adr", str(folder(tmp_path / "adr")))
    assert git(root, "log", "-1", "--format=%s").strip() == "Import records from adr"


def test_a_large_import_is_told_in_short(root: Path, tmp_path: Path) -> None:
    place = folder(tmp_path / "adr", 30, "See [code](../src/x.py).")
    short = run(root, "import", "adr", str(place), "--dry-run")
    assert len((short.out + short.error).splitlines()) < 20
    assert "30" in short.out and "more remarks" in short.error
    whole = run(root, "import", "adr", str(place), "--dry-run", "--verbose")
    assert len(whole.out.splitlines()) == 30


def imported(kb: KnowledgeBase) -> None:
    """Import three records of which the third cites the others by links and by number."""
    texts = ("Deliver once.", "The [outbox](0001-x.md) stays.", "Keep [the queue](D002-two.md), says ADR-0001.")
    kb.import_records(
        [
            Record(f"D00{n}", "decision", title, date="2026-01-01", extra={"imported": "nygard", "adr": n + 300},
                   status="accepted", sections=(Section("decision", "Decision", text),))
            for n, title, text in zip((1, 2, 3), ("One", "Two", "Three"), texts, strict=True)
        ],
        origin="a test",
    )  # fmt: skip


@pytest.mark.parametrize("query", ["ADR 302", "ADR-0302", "adr302", "0302", "决策记录 302"])
def test_an_imported_record_is_found_by_its_old_number(kb: KnowledgeBase, query: str) -> None:
    imported(kb)
    assert [answer.record.id for answer in kb.recall(query)][:1] == ["D002"]


def test_a_link_to_the_file_of_a_record_is_a_citation(kb: KnowledgeBase) -> None:
    imported(kb)
    cites = [link for link in kb.refs("D002") if link.relation == "cites" and not link.outward]
    assert [link.name for link in cites] == ["D003"]
    assert [link.name for link in kb.refs("D003") if link.outward] == ["D002"]


def test_a_failed_strict_build_names_ten_problems_one_a_line(root: Path) -> None:
    with KnowledgeBase(str(root), os.environ) as kb:
        cited = Section("decision", "Decision", " ".join(f"[D{n}]" for n in range(400, 430)))
        kb.import_records([Record("D001", "decision", "One", sections=(cited,))], origin="a test")
    told = run(root, "wiki", "build", "--strict", "-o", str(root.parent / "site"))
    assert told.code == 1
    lines = told.error.splitlines()
    assert "30 problems" in told.error and len([line for line in lines if "[D4" in line]) == 10


# -- what stands beside the record ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ("- [proposed](https://x.example/1) (2021-12-28)\n- [approved](https://x.example/2) (2023-02-18)", "accepted"),
        ("* 2023-02-18: Rejected\n", "rejected"),
        ("- 2020-01-01: Initial draft\n- 2020-02-01: Updated after review", "proposed"),
        ("- 2020-01-01：草案\n- 2020-02-01：已接受", "accepted"),
    ],
)
def test_a_status_that_only_the_list_of_changes_says(rows: str, status: str) -> None:
    found = read_adr(
        f"# Send system events\n\n## Change Log\n{rows}\n\n## Context\n\nWe need them.\n", "0024-events.md"
    )
    assert str(found.record.status) == status


def test_a_template_with_a_number_and_a_title_in_brackets_is_no_record() -> None:
    title = "ADR 0000: [Decision Statement]"
    text = f'---\ntitle: "{title}"\nstatus: Proposed\n---\n# {title}\n\n## Context\n'
    with pytest.raises(BadRecord, match="template"):
        read_adr(text, "0000-template.md")
    assert read_adr("# 7. Use a [template]\n\n## Context\n\nIt came up.\n", "0007-use-a-template.md").record.title


def test_invisible_characters_are_taken_out_and_counted() -> None:
    found = read_adr(
        "# 1. Name\u200b topics\n\n## Decision\n\n- \ufe0f✅ Yes ✔️ \U0001f469\u200d\U0001f680 \u202eno\u202c\n",
        "0001-x.md",
    )
    text = found.record.section("decision")
    assert found.record.title == "Name topics" and text == "- ✅ Yes ✔️ \U0001f469\u200d\U0001f680 \u202eno\u202c"
    assert next(note.translate("en") for note in found.notes) == "2 invisible characters were removed"


def test_half_an_emphasis_is_no_part_of_the_status() -> None:
    head = "- **Status**: **Proposed.** `order_changes` does not exist.\n- **Date**: 2026-08-13\n"
    found = read_adr(f"# 1. Take orders\n\n{head}\n## Context\n", "1.md")
    assert str(found.record.status) == "proposed" and "**" not in found.record.extra["original_status"]


def test_day_and_author_come_from_the_history(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "doc").mkdir(parents=True)
    git(code, "init", "-q")
    text = (
        "# {}. Use {}\n\n## Status\n\nAccepted\n\n## Context\n\nIt came up.\n\n## Decision\n\nWe use {} from now on.\n"
    )
    (code / "doc" / "0001-one.md").write_text(text.format(1, "Kafka", "Kafka"))
    git(code, "add", "-A")
    git(code, "commit", "-qm", "One", "--author", "Ada <a@example.org>", "--date", "2021-05-06T12:00:00+02:00")
    git(code, "mv", "doc", "decisions")
    dated = text.format(2, "Redis", "Redis").replace("## Status", "Date: 2020-02-02\n\n## Status", 1)
    (code / "decisions" / "0002-two.md").write_text(dated)
    git(code, "add", "-A")
    git(code, "commit", "-qm", "Move", "--author", "Bob <b@example.org>", "--date", "2022-01-01")
    assert run(root, "import", "adr", str(code / "decisions"), "--scope", "global").code == 0
    found = {record.title: (record.date, record.extra.get("original_author")) for record in kb.records()}
    assert found == {"Use Kafka": ("2021-05-06", "Ada"), "Use Redis": ("2020-02-02", "Bob")}
    assert run(root, "import", "adr", str(code / "decisions"), "--scope", "global").error.count("unchanged: 2") == 1


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Decided", "accepted"),
        ("Decision proposed; accepting feedback", "proposed"),
        ("Mostly implemented", "accepted"),
        ("- [ ] Proposed\n- [x] Accepted", "accepted"),
        ("~~Proposed~~ Accepted", "accepted"),
        ('> A decision may be "proposed" or "accepted".\n\nDeclined', "rejected"),
        ("Not accepted", "rejected"),
        ("No longer in use", "deprecated"),
        ("Deferred (2026-07-16)", "proposed"),
        ("已定稿", "accepted"),
        ("待讨论", "proposed"),
        ("未通过", "rejected"),
        ("已停用", "deprecated"),
    ],
)
def test_the_words_people_use_for_a_status_are_known(said: str, status: str) -> None:
    found = read_adr(f"# 7. Queue\n\n## Status\n\n{said}\n\n## Decision\n\nUse a queue.\n", "0007-queue.md")
    assert found.record.status == status
    assert not [note for note in found.notes if "not known" in str(note)]


@pytest.mark.parametrize(
    ("rows", "day"),
    [
        ("- *2018-09-02* errors\n- *2018-07-12* first", "2018-07-12"),
        ("- July 15 2021: created\n- Aug 4 2021: done", "2021-07-15"),
        ("### November 2nd 2018\n\n- first", "2018-11-02"),
        ("- 2019 Oct 22: draft", "2019-10-22"),
        ("- 02.04.20: draft", "2020-04-02"),
        ("- 07-03-2019: draft\n- 14-03-2019: reviewed", "2019-03-07"),
        ("- 05/01/2022: draft", ""),
        ("- 2023-05-05: draft\n- 2023-24-05: slip", "2023-05-05"),
    ],
)
def test_a_list_of_changes_gives_the_day_it_begins_with(rows: str, day: str) -> None:
    assert read_adr(f"# 7. Q\n\n## Changelog\n\n{rows}\n\n## Decision\n\nDo.\n", "0007-q.md").record.date == day


def test_a_day_of_two_readings_is_read_as_the_folder_writes_days() -> None:
    form = "# Q\n\n## Changelog\n\n- {}: draft\n\n## Decision\n\nDo.\n"
    made = [read_adr(form.format(day), f"000{n}-q.md") for n, day in enumerate(("05/01/2022", "25/04/2022"))]
    assert [one.date for one in resolve_imports(made).records] == ["2022-01-05", "2022-04-25"]


def test_a_number_behind_a_date_is_the_number() -> None:
    found = read_adr(written("Accepted"), "2021-06-05_001-queue.md")
    assert (found.number, found.record.date) == (1, "2021-06-05")
    assert read_adr(written("Accepted"), "2026-01-queue.md").number != 2026


def test_fields_under_a_second_title_are_fields() -> None:
    text = "# Kafka\n\n## Kafka\n\n* Status: accepted\n* Date: 2026-01-02\n\n### Decision Outcome\n\nKafka.\n"
    record = read_adr(text, "0007-kafka.md").record
    assert (record.status, record.date) == ("accepted", "2026-01-02")


def test_a_numbered_chapter_is_no_record() -> None:
    with pytest.raises(BadRecord):
        read_adr("## 1. Test platform\n\nAscend 910B\n\n## 2. Install\n\nRun it.\n", "Ascend.md")


@pytest.mark.parametrize(
    ("said", "links"),
    [
        (
            "Superseded by [ADR 23](/adr/23) and [ADR 26](/adr/26)",
            [("superseded_by", "23", False), ("superseded_by", "26", False)],
        ),
        ("Superseded (it was never built) by [ADR 32](/adr/32)", [("superseded_by", "32", False)]),
        ("We supersede [ADR 18](/adr/18) with this.", [("supersedes", "18", False)]),
        (
            "**Amends**: [ADR-6](0006-a.md) (why), [ADR-8](0008-b.md)",
            [("amends", "0006-a.md", False), ("amends", "0008-b.md", False)],
        ),
        ("**Builds on / amends**: [ADR-4](0004-a.md) (**amended**: ADR-4 keeps)", [("amends", "0004-a.md", False)]),
        ("- [ADR-17](0017-c.md) — superseded because it guards too much", [("supersedes", "0017-c.md", False)]),
        ("Parts refined/superseded by ADR-9", [("superseded_by", "9", True)]),
        ("- Superseding ADR-66 with a new contract: rejected", []),
        ("**Supersedes**: the flat model introduced alongside ADR-2", []),
    ],
)
def test_what_a_sentence_says_of_another_record_is_heard(said: str, links: list[tuple[str, str, bool]]) -> None:
    assert [link[:3] for link in find_text_links(said)] == links


def test_a_status_and_a_title_say_what_they_change() -> None:
    status = "Accepted (2026-06-21) — D1–D3 built; **D4–D7 superseded by ADR-90 D3 / ADR-95**: the role"
    links = find_text_links(status, is_own=True)
    assert [link.target for link in links] == ["90", "95"]
    assert {link.in_part for link in links} == {True}
    assert find_title_links("Superseding ADR-017 for imports") == (AdrLink("supersedes", "017"),)
    assert find_title_links("Partly undo ADR 109") == (AdrLink("supersedes", "109", True),)
    assert find_title_links("Superseded records stay") == ()


# -- the seam for other formats, what is said, and the way back -------------------------------------------------------


def test_remarks_that_say_the_same_are_one_line_and_the_way_back_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "adr"
    folder.mkdir()
    for number in range(1, 21):
        (folder / f"{number:04d}-x.md").write_text(f"# Decide {number}\n\n## Decision\n\nTake number {number}.\n")
    said = run(Path(kb.root), "import", "adr", str(folder))
    assert said.code == 0
    remark = "it has no status, as most records in its folder; its decision is taken as accepted"
    assert f"0001-x.md: {remark} (and so 19 more files)" in said.error
    assert len(said.error.splitlines()) < 6
    command = next(line for line in said.error.splitlines() if "git -C" in line).partition("back: ")[2]
    git(kb.root, *command.split()[3:])
    assert kb.records() == []


def test_a_part_that_is_replaced_leaves_the_rest_in_force() -> None:
    old = read_adr(
        written("Accepted（端口约定部分 supersede by [ADR-024](0024-b.md)；切库语义 supersede by ADR-028）"),
        "0004-a.md",
    )
    new = read_adr(written("Accepted", body="- supersede ADR-004 端口约定部分：双实例保留"), "0024-b.md")
    last = read_adr(written("Accepted"), "0028-c.md")
    records = resolve_imports([old, new, last]).records
    assert [record.status for record in records] == ["accepted"] * 3
    assert [record.amends for record in records] == [(), ("D004",), ("D004",)]


def test_a_record_that_two_replace_together_is_superseded() -> None:
    said = "**Retired (2026-07-19). Superseded jointly by [4](0004-b.md) and [5](0005-c.md).**"
    made = [read_adr(written(said), "0003-a.md"), read_adr(written("Accepted"), "0004-b.md")]
    made.append(read_adr(written("Accepted", body="It supersedes ADR 9, as the table says."), "0005-c.md"))
    made.append(read_adr(written("Accepted"), "0009-d.md"))
    records = resolve_imports(made).records
    assert [record.status for record in records] == ["superseded", "accepted", "accepted", "accepted"]
    assert [record.supersedes for record in records] == [(), ("D003",), ("D003",), ()]


def test_a_line_that_says_when_it_was_accepted_is_the_date() -> None:
    text = "# 9. Q\n\n- **Status:** Accepted\n- **Originally accepted:** 2026-06-30\n\n## Decision\n\nDo.\n"
    assert read_adr(text, "0009-q.md").record.date == "2026-06-30"


@pytest.mark.parametrize(
    "text",
    [
        "# 9. Q\n\n## Status\n\nAccepted\n\n## Date\n\n2026-06-30\n\n## Decision\n\nDo.\n",
        "# 9. 队列\n\n## 变更日志\n\n* 2026年6月30日：初稿\n\n## 决策\n\n采用队列。\n",
        "<!-- SPDX: MIT -->\n\n---\nstatus: accepted\ndate: 2026-06-30\n---\n# Q\n\n## Decision\n\nDo.\n",
    ],
)
def test_a_date_in_a_section_or_behind_a_notice_is_found(text: str) -> None:
    assert read_adr(text, "0009-q.md").record.date == "2026-06-30"
