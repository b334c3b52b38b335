"""Decision records in the forms of other houses: tables, folders, other languages, no status at all."""

from pathlib import Path

import pytest

from kb.adr.adr_fields import parse_date, parse_status
from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_front_matter import find_front_matter_links
from kb.adr.adr_links import find_text_links
from kb.adr.adr_outline import iter_field_lines, parse_fields, read_status
from kb.adr.adr_set import find_side_files, resolve_imports
from kb.adr.adr_style import set_status
from kb.adr.adr_text import parse_file_date, parse_file_number
from kb.errors import NoDecision
from kb.records.model import Status
from tests.support.command_line import run

TABLE = """| Status | Date | Author(s) |
|:-------|:----:|-----------|
| {status} | 2024-03-09 | [@ann](https://example.org/ann) |

## Context

Letters get lost.

| Kind | Status |
|------|--------|
| old  | Rejected |

## Decision

Send them twice.
"""
SILENT = "# {title}\n\n## Decision\n\n{title}.\n\n## Rationale\n\nIt is cheaper.\n"


def said(status: str, path: str = "0001-x.md") -> Status:
    return read_adr(f"# 1. X\n\n## Status\n\n{status}\n\n## Decision\n\nDo x.\n", path).record.status


def refuse(text: str, path: str) -> str:
    with pytest.raises(NoDecision) as caught:
        read_adr(text, path)
    return caught.value.message.template


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["Accepted", "Rejected"])
def test_a_table_whose_first_row_names_the_fields_is_read(status: str) -> None:
    found = read_adr(TABLE.format(status=status), "004-letters.md")
    assert (found.record.status, found.record.date) == (status.lower(), "2024-03-09")
    assert found.record.extra["author"] == "@ann"
    assert [section.name for section in found.record.sections] == ["context", "decision"]  # nothing of it is left over


def test_a_table_that_says_more_stays_in_the_text() -> None:
    fields = parse_fields("| Status | Date | Budget |\n|---|---|---|\n| Accepted | 2024-03-09 | 7 days |\n")
    assert (fields.status, fields.date) == ("Accepted", "2024-03-09")
    assert fields.rest.splitlines()[-1].endswith("7 days |") and fields.rest.count("\n") == 2


@pytest.mark.parametrize(
    "table",
    [
        "| Version | Date | Status |\n|---|---|---|\n| 1 | 2024-03-09 | Proposed |\n| 2 | 2024-04-09 | Accepted |\n",
        "| Budget | Days |\n|---|---|\n| 9 | 2024-03-09 |\n",
    ],
)
def test_other_tables_are_no_header(table: str) -> None:
    assert parse_fields(table)[:2] == ("", "") and parse_fields(table).rest == table.strip()


def test_a_first_row_may_itself_be_name_and_value() -> None:
    assert parse_fields("| Status | Accepted |\n|---|---|\n| Date | 2024-03-09 |\n")[:2] == ("Accepted", "2024-03-09")


def test_the_status_in_a_table_can_be_changed_where_it_is() -> None:
    text = TABLE.format(status="Accepted")
    assert read_status(text) == "Accepted"
    assert set_status(text, "Deprecated") == TABLE.format(status="Deprecated")
    assert [field.name for _, field in iter_field_lines(text)] == ["status", "date", "author"]


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Invalidated by [9. Y](0009-y.md)", "superseded"),
        ("Obsoleted by ADR-9", "superseded"),
        ("Accepted, but overruled by ADR-9", "superseded"),
        ("Invalidated", "deprecated"),
        ("Review", "proposed"),
        ("Awaiting approval", "proposed"),
        ("Ersetzt durch ADR-9", "superseded"),
        ("Freigegeben am 3. Mai", "accepted"),
        ("In Prüfung", "proposed"),
        ("Außer Kraft", "deprecated"),
        ("Accepté", "accepted"),
        ("Remplacée par ADR-9", "superseded"),
        ("Rechazada", "rejected"),
        ("Substituído por ADR-9", "superseded"),
        ("採用", "accepted"),
        ("決定待ち", "proposed"),
        ("不採用", "rejected"),
        ("ADR-9 に置き換えられました", "superseded"),
        ("非推奨", "deprecated"),
        ("승인됨", "accepted"),
        ("거부", "rejected"),
        ("Принято", "accepted"),
        ("Отклонено", "rejected"),
        ("已採納", "accepted"),
    ],
)
def test_the_words_of_a_status(text: str, status: str) -> None:
    assert said(text) == status
    assert parse_status(text).certain


@pytest.mark.parametrize(
    ("headings", "date"),
    [
        (("ステータス: 承認済み", "決定日: 2024-03-09", "コンテキスト", "決定", "結果"), "2024-03-09"),
        (("**Status:** Angenommen", "**Datum:** 09.03.2024", "Kontext", "Entscheidung", "Konsequenzen"), "2024-03-09"),
        (("Estado: Aceptado", "Fecha: 2024-03-09", "Contexto", "Decisión", "Consecuencias"), "2024-03-09"),
        (("- Statut : Adopté", "- Date : 2024-03-09", "Contexte", "Décision", "Conséquences"), "2024-03-09"),
        (("状态：已采纳", "日期：2024年3月9日", "背景", "决策", "后果"), "2024-03-09"),
        (("상태: 채택", "날짜: 2024-03-09", "배경", "결정", "결과"), "2024-03-09"),
        (("Статус: Принято", "Дата: 2024-03-09", "Контекст", "Решение", "Последствия"), "2024-03-09"),
    ],
)
def test_records_of_other_languages(headings: tuple[str, ...], date: str) -> None:
    status, day, context, decision, impact = headings
    text = f"# 5. X\n\n{status}\n{day}\n\n## {context}\n\na\n\n## {decision}\n\nb\n\n## {impact}\n\nc\n"
    record = read_adr(text, "0005-x.md").record
    assert (record.status, record.date) == ("accepted", date)
    assert [section.name for section in record.sections if section.name] == ["context", "decision", "impact"]


def test_the_day_of_a_decision_goes_before_the_day_of_its_file() -> None:
    text = "# 1. X\n\nStatus: Accepted\nDate created: 2024-03-01\nDate accepted: 2024-03-09\n\n## Decision\n\nx\n"
    assert read_adr(text, "0001-x.md").record.date == "2024-03-09"
    assert read_adr(text.replace("Date accepted", "Nothing"), "0001-x.md").record.date == "2024-03-01"


def test_a_month_that_there_is_not_was_a_day() -> None:
    assert parse_date("2024-19-03").date == "2024-03-19"
    assert parse_date("2024-19-13").date == ""


# -- folders --------------------------------------------------------------------------------------


def test_a_record_with_a_folder_of_its_own_has_its_name() -> None:
    assert parse_file_date("adr/2024-03-09_letters/README.md") == "2024-03-09"
    assert parse_file_number("adr/0007-letters/index.md") == 7
    found = read_adr(SILENT.format(title="Send letters twice"), "adr/2024-03-09_letters/README.md")
    assert (found.record.date, found.record.title) == ("2024-03-09", "Send letters twice")


def test_a_page_about_a_numbered_folder_is_no_record() -> None:
    assert refuse("# Architecture\n\nHow it hangs together.\n", "docs/01_architecture/README.md").startswith("not a")


STATED = "---\nstate: {state}\ncreation_date: 2024-03-09\nowners: [ann]\n---\n\n# {title}\n\nWe send letters twice.\n"


@pytest.mark.parametrize(
    ("state", "status"), [("approved", "accepted"), ("review", "proposed"), ("obsolete", "deprecated")]
)
def test_a_readme_that_states_a_status_is_a_record(state: str, status: str) -> None:
    record = read_adr(STATED.format(state=state, title="Letters"), "rfc/letters/README.md").record
    assert (record.status, record.date, record.title) == (status, "2024-03-09", "Letters")
    assert "state" not in record.extra


def test_what_lies_beside_the_readme_of_a_record_belongs_to_it() -> None:
    texts = {
        "rfc/letters/README.md": STATED.format(state="approved", title="Letters"),
        "rfc/letters/0_stamps.md": "# Stamps\n\n## Context\n\nThey are dear.\n",
        "rfc/parcels/README.md": STATED.format(state="review", title="Parcels"),
        "rfc/parcels/0002-strings.md": "# 2. Strings\n\nStatus: accepted\n\n## Decision\n\nUse string.\n",
    }
    assert find_side_files([read_adr(text, path) for path, text in texts.items()]) == {"rfc/letters/0_stamps.md"}


def test_records_beside_an_index_that_states_a_status_stay() -> None:
    texts = {
        "adr/README.md": STATED.format(state="approved", title="Our records"),
        "adr/0001-letters.md": SILENT.format(title="Send letters twice"),
    }
    assert find_side_files([read_adr(text, path) for path, text in texts.items()]) == set()


# -- no status ------------------------------------------------------------------------------------


def resolve(*texts: str) -> list[tuple[Status, str]]:
    imports: list[ImportedAdr] = [read_adr(text, f"adr/{at:04}-x.md") for at, text in enumerate(texts, 1)]
    found = resolve_imports(imports)
    notes = {problem.path: problem.said.template for problem in found.problems}
    return [(r.status, notes.get(i.path, "")) for i, r in zip(imports, found.records, strict=True)]


def test_where_nobody_writes_a_status_a_merged_decision_is_accepted() -> None:
    found = resolve(*(SILENT.format(title=title) for title in ("Send letters twice", "Buy stamps")))
    assert [status for status, _ in found] == ["accepted", "accepted"]
    assert all(note.startswith("it has no status, as most") for _, note in found)


def test_a_word_that_takes_one_out_of_force_leaves_the_others_in_it() -> None:
    gone = SILENT.format(title="Buy stamps").replace("## Decision", "Status: Deprecated\n\n## Decision")
    found = resolve(*(SILENT.format(title=title) for title in ("Send twice", "Send thrice")), gone)
    assert [status for status, _ in found] == ["accepted", "accepted", "deprecated"]


def test_where_others_write_a_status_one_without_is_proposed() -> None:
    stated = SILENT.format(title="Buy stamps").replace("## Decision", "Status: Accepted\n\n## Decision")
    found = resolve(stated, SILENT.format(title="Send letters twice"))
    assert [status for status, _ in found] == ["accepted", "proposed"]
    assert found[1][1] == "the file has no status; it is taken as proposed"


def test_what_has_no_decision_is_not_accepted() -> None:
    assert [status for status, _ in resolve("# 1. Install\n\nRun it.\n", "# 2. Start\n\nRun it.\n")] == ["proposed"] * 2


def test_adopted_records_without_a_status_are_accepted_as_imported_ones_are(root: Path) -> None:
    folder = root / "docs" / "adr"
    folder.mkdir(parents=True)
    for number, title in enumerate(("Send letters twice", "Buy stamps", "Sell stamps"), 1):
        (folder / f"{number:04}-x{number}.md").write_text(SILENT.format(title=title))
    assert "3 accepted" in run(root, "init", "--adopt", "docs/adr").error
    gone = SILENT.format(title="Buy stamps").replace("## Decision", "Status: Deprecated\n\n## Decision")
    (folder / "0002-x2.md").write_text(gone)
    listed = run(root, "list", "--json").out
    assert listed.count('"status": "accepted"') == 2 and listed.count('"status": "deprecated"') == 1


# -- no records -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "title", "status"),
    [
        ("0000-adr-template-de.md", "ADR-0000: Vorlage für Entscheidungen", "[Vorgeschlagen | Akzeptiert | Ersetzt]"),
        ("0000-mb.md", "模板", "提议 | 已接受 | 已废弃"),
        ("0000-title.md", "[Short title]", "{proposed / accepted}"),
        (".github/ISSUE_TEMPLATE/adr.md", "ADR", "Proposed"),
        (".gitlab/issue_templates/default.md", "ADR about {...}", ""),
    ],
)
def test_templates_are_no_records(path: str, title: str, status: str) -> None:
    text = f"# {title}\n\n## Status\n\n{status}\n\n## Context\n\nSay why.\n"
    assert refuse(text, path) == "the file is a template, no decision record"


@pytest.mark.parametrize("status", ["Accepted", ""])
def test_a_decision_about_templates_is_a_record(status: str) -> None:
    text = f"# 12. Use a template engine\n\n## Status\n\n{status}\n\n## Decision\n\nUse one.\n"
    assert read_adr(text, "0012-use-a-template-engine.md").record.title == "Use a template engine"


def test_what_only_leads_to_a_record_is_none() -> None:
    text = "# PENDING: Letters\n\n**Status:** RESOLVED\n**See:** [ADR 1](001-x.md)\n\n---\n\n*It is in ADR 1 now.*\n"
    assert refuse(text, "000-PENDING-letters.md").startswith("the file only leads")
    assert read_adr("# 7. Letters\n\nWe send them twice.\n", "0007-letters.md").number == 7
    assert (
        read_adr("# 7. Letters\n\nStatus: Superseded\n\nSee ADR 9.\n", "0007-letters.md").record.status == "superseded"
    )


# -- relations ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Invalidated by [9. Y](0009-y.md)", [("superseded_by", "0009-y.md")]),
        ("Overruled by ADR-9", [("superseded_by", "9")]),
        ("Deprecated by ADR-9", [("superseded_by", "9")]),
        ("Obsoletes: ADR-3 and ADR-4", [("supersedes", "3"), ("supersedes", "4")]),
        ("Amendment to [3. Y](0003-y.md)", [("amends", "0003-y.md")]),
        ("This ADR modifies the decision ADR-3.", [("amends", "3")]),
        ("Updated by ADR-9", [("amended_by", "9")]),
        ("**Ersetzt durch** [ADR-9](0009-y.md)", [("superseded_by", "0009-y.md")]),
        ("Diese Entscheidung ersetzt ADR-3.", [("supersedes", "3")]),
        ("Ersetzt: ADR-3, ADR-4", [("supersedes", "3"), ("supersedes", "4")]),
        ("Geändert durch ADR-9", [("amended_by", "9")]),
        ("Remplacée par ADR-9", [("superseded_by", "9")]),
        ("Esta decisión reemplaza a ADR-3.", [("supersedes", "3")]),
        ("Substituído por ADR-9", [("superseded_by", "9")]),
        ("Заменено на ADR-9", [("superseded_by", "9")]),
        ("[ADR-9](0009-y.md) に置き換えられました。", [("superseded_by", "0009-y.md")]),
        ("本ADRは ADR-3 を置き換える。", [("supersedes", "3")]),
        ("ADR-9로 대체됨", [("superseded_by", "9")]),
        ("废止 ADR-3", [("supersedes", "3")]),
        ("Extends ADR-3", [("amends", "3")]),
        ("Ergänzt ADR-3", [("amends", "3")]),
        ("Builds on ADR-3", []),  # it stays as it is
        ("Our design ersetzt nothing of ADR-3", []),
        ("Teams that still follow the rules of ADR-3 を置き換える", []),
    ],
)
def test_relations_in_the_words_of_the_record(text: str, links: list[tuple[str, str]]) -> None:
    assert [(link.relation, link.target) for link in find_text_links(text) if not link.in_part] == links


@pytest.mark.parametrize(
    ("values", "links"),
    [
        ({"obsoletes": "ADR-3"}, [("supersedes", "3")]),
        ({"obsoleted-by": [9]}, [("superseded_by", "9")]),
        ({"updates": "0003-y"}, [("amends", "0003-y")]),
        ({"revised_by": "ADR-9"}, [("amended_by", "9")]),
        ({"updated": "2024-03-09", "revised": "2024-03-09", "obsolete": True}, []),
    ],
)
def test_relations_in_front_matter(values: dict[str, object], links: list[tuple[str, str]]) -> None:
    assert [(link.relation, link.target) for link in find_front_matter_links(values)] == links


def test_a_link_to_the_folder_of_a_record_leads_to_it() -> None:
    new = SILENT.format(title="Send letters thrice") + "\nThis replaces [the former rule](../2024-03-09_twice).\n"
    imports = [
        read_adr(SILENT.format(title="Send letters twice"), "adr/2024-03-09_twice/README.md"),
        read_adr(new, "adr/2024-05-09_thrice/README.md"),
    ]
    found = resolve_imports(imports).records
    assert found[1].supersedes == (found[0].id,) and found[0].status == "superseded"


# -- lines that fields share ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "status", "date"),
    [
        ("- **Status:** Akzeptiert · **Datum:** 2024-03-09", "accepted", "2024-03-09"),
        ("Статус: принято. Дата: 2024-03-09. Уточняет ADR-2", "accepted", "2024-03-09"),
        ("**Status:** Accepted, **Date:** 2024-03-09", "accepted", "2024-03-09"),
        ("**Date:** 2024-03-09 — **Status:** Rejected", "rejected", "2024-03-09"),
        ("Status: Accepted · 2024-03-09", "accepted", "2024-03-09"),
        ("- Statut : accepté (2024-03-09)", "accepted", "2024-03-09"),
        ("We spoke about it, date: 2024-03-09", "proposed", ""),
    ],
)
def test_fields_that_share_a_line(line: str, status: str, date: str) -> None:
    record = read_adr(f"# 1. X\n\n{line}\n\n## Decision\n\nDo x.\n", "0001-x.md").record
    assert (record.status, record.date) == (status, date)


@pytest.mark.parametrize(
    ("line", "links"),
    [
        ("**Supersedes:** _none_ · **Superseded by:** [Y](0009-y.md)", {("superseded_by", "0009-y.md", False)}),
        ("Supersedes: ADR-3 | Superseded by: ADR-9", {("supersedes", "3", False), ("superseded_by", "9", False)}),
        ("- Amende : ADR 3 (§3 jetons), ADR 4 (§1)", {("amends", "3", True), ("amends", "4", True)}),
        ("Teilweise ersetzt durch ADR-9", {("superseded_by", "9", True)}),
        ("Частично заменяет ADR-3", {("supersedes", "3", True)}),
    ],
)
def test_relations_that_share_a_line_keep_their_directions(line: str, links: set[tuple[str, str, bool]]) -> None:
    assert {(link.relation, link.target, link.in_part) for link in find_text_links(line)} == links


@pytest.mark.parametrize(
    "text", ["Teilweise ersetzt durch ADR-9", "Partiellement remplacé par ADR-9", "Частично заменено"]
)
def test_what_is_replaced_in_part_is_in_force(text: str) -> None:
    assert (said(text), parse_status(text).in_part) == ("accepted", True)


def test_a_heading_may_say_the_status_itself() -> None:
    text = "# Letters\n# Status: rejected\n\n# Decision\n\nSend them twice.\n"
    record = read_adr(text, "ADR-004-letters.md").record
    assert (record.status, record.title) == ("rejected", "Letters")
    assert set_status(text, "accepted") == text.replace("rejected", "accepted")


def test_a_first_heading_of_the_highest_rank_may_be_a_section() -> None:
    text = "Letters\n\n# Status\n\n- Draft: still being written\n\n# Decision\n\nSend them twice.\n"
    record = read_adr(text, "ADR-006-send-letters.md").record
    assert (record.status, record.title) == ("proposed", "send letters")
    assert read_adr("# Decision\n\nSend letters.\n\n## Status\n\nAccepted\n", "0001-x.md").record.title == "Decision"


@pytest.mark.parametrize(
    "path", ["ADR-000-template.md", "0000-template.md", "template/README.md", "adr-template-en.md"]
)
def test_a_file_called_template_is_one_whatever_it_states(path: str) -> None:
    text = "# Letters\n\n## Status\n\n- Draft: being written\n- Accepted: in force\n\n## Decision\n\nSay it.\n"
    assert refuse(text, path) == "the file is a template, no decision record"


# -- front matter of other programs ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("front", "status"),
    [
        ("status: stable\ndecision_status: Rejected", Status.REJECTED),
        ("decision-status: Superseded", Status.SUPERSEDED),
        ("status: rejected\nstate: open", Status.REJECTED),
        ("state: rejected", Status.REJECTED),
        ("adr:\n    author: Ann\n    created: 22-Dec-2023\n    status: rejected", Status.REJECTED),
        ("    title: X\n    adr:\n        status: 已拒绝", Status.REJECTED),
    ],
)
def test_a_status_beside_the_one_of_the_page_is_that_of_the_decision(front: str, status: Status) -> None:
    found = read_adr(f"---\n{front}\n---\n\n# 4. Send letters\n\n## Decision\n\nSend them.\n", "0004-letters.md")
    assert found.record.status == status
    assert found.record.date == ("2023-12-22" if "2023" in front else "")


def test_round_bullets_hold_fields_as_dashes_do() -> None:
    found = read_adr("# Letters\n•\tStatus: Rejected\n•\tDate: 2022-03-04\n\n## Decision\n\nNone.\n", "004-letters.md")
    assert (found.record.status, found.record.date) == (Status.REJECTED, "2022-03-04")
