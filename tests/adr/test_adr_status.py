"""The status of foreign decision records: languages, slips, signs, badges, boxes, histories, remains of templates."""

import pytest

from kb.adr.adr_fields import list_status_rows, parse_status
from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_style import set_status
from kb.errors import NoDecision
from kb.records.model import Record


def read(status: str, *, more: str = "") -> Record:
    text = f"# 1. Letters\n\n## Status\n\n{status}\n\n## Decision\n\nSend them.\n{more}"
    return read_adr(text, "0001-letters.md").record


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Implémenté", "accepted"),
        ("Godkänd", "accepted"),
        ("Vedtatt", "accepted"),
        ("Přijato", "accepted"),
        ("Прийнято", "accepted"),
        ("Kabul edildi", "accepted"),
        ("Đã chấp nhận", "accepted"),
        ("Disetujui", "accepted"),
        ("Hyväksytty", "accepted"),
        ("已裁决（拍板）", "accepted"),
        ("Föreslagen", "proposed"),
        ("Taslak", "proposed"),
        ("Provisional", "proposed"),
        ("已暂停（等待）", "proposed"),
        ("Zamítnuto", "rejected"),
        ("Ditolak", "rejected"),
        ("Zastaralé", "deprecated"),
        ("executed", "accepted"),
        ("IN_REVIEW", "proposed"),
        ("Won't-fix", "rejected"),
        ("Won’t do", "rejected"),
        ("Historical", "deprecated"),
        ("Prihvaćeno", "accepted"),
        ("採択済み", "accepted"),
        ("見送り", "rejected"),
        ("失効", "deprecated"),
        ("驳回", "rejected"),
        ("미승인", "proposed"),
        ("- Proposed May 2021\n- Accepted June 2021\n- Updated to match August 2021", "accepted"),
        ("Acepted", "accepted"),
        ("Accpeted (2021-03-03)", "accepted"),
        ("propossed", "proposed"),
        ("Rejectd", "rejected"),
        ("Depracated", "deprecated"),
        ("✅", "accepted"),
        ("❌", "rejected"),
        ("🚧", "proposed"),
        ("![Status](https://img.shields.io/badge/status-accepted-green)", "accepted"),
        ("[![badge](https://badgen.net/badge/ADR/rejected/red/)](https://x.example/README.md)", "rejected"),
        ("~~Proposed~~ Accepted", "accepted"),
        ("- [ ] proposed\n- [x] accepted\n- [ ] rejected", "accepted"),
        ("Accepted <!-- Proposed | Accepted | Deprecated | Superseded by ADR-NNNN -->", "accepted"),
        ("2020-03-25 accepted", "accepted"),
        ("2020-03-04 proposed\n2020-03-25 accepted", "accepted"),
        ("Deprecated / Superseded by [ADR 16](0016-x.md)", "superseded"),
        ("Superseded / not adopted (2026-07)", "superseded"),
        ("Accepted (direction) / Accepted (starter)", "accepted"),
        ("Draft (2026-05-25) · **Superseded by [ADR-30](0030-x.md)**", "superseded"),
        ("Accepted, superseded by ADR-30", "superseded"),
        ("Deprecated — superseded by ADR-30", "superseded"),
        ("Deprecated (one is built); part 2 was put off — superseded by ADR-30", "deprecated"),
        ("Accepted · §1 superseded by ADR-9", "accepted"),
    ],
)
def test_a_status_is_read_however_it_is_written(text: str, status: str) -> None:
    assert read(text).status == status


@pytest.mark.parametrize(
    "text",
    [
        "Adapted",
        "Excepted",
        "proposed / accepted",
        "accepted | rejected",
        "Projected",
        "<!-- Accepted -->",
        "Decide by May",
    ],
)
def test_what_is_no_status_is_not_guessed(text: str) -> None:
    assert not parse_status(text).certain


def test_an_empty_status_is_none() -> None:
    found = read_adr(
        "# 1. Letters\n\n## Status\n\n<!-- Accepted | Rejected -->\n\n## Decision\n\nx\n", "0001-letters.md"
    )
    assert (found.record.status, found.has_status) == ("proposed", False)


TABLE = (
    "| Status | Approver | Date |\n|---|---|---|\n| Accepted | Ann | 2025-02-03 |\n| Proposed | Ann | 2025-01-24 |\n"
)


@pytest.mark.parametrize(
    "history",
    [
        TABLE,
        "- 2025-01-24: Proposed\n- 2025-02-03: Accepted\n",
        "- [proposed](https://x.example/1) (2025-01-24)\n- [accepted](https://x.example/2) (2025-02-03)\n",
        "status_history:\n  - date: 2025-01-24\n    status: Proposed\n  - date: 2025-02-03\n    status: Accepted\n",
        "2025-01-24 proposed\n2025-02-03 accepted\n",
    ],
)
def test_of_a_history_the_latest_counts_and_the_day_it_was_accepted(history: str) -> None:
    text = f"# 1. Letters\n\n## Decision\n\nSend them.\n\n## Status history\n\n{history}"
    record = read_adr(text, "0001-letters.md").record
    assert (record.status, record.date) == ("accepted", "2025-02-03")
    assert [row.status.lower() for row in list_status_rows(history)] == ["proposed", "accepted"]


def test_a_history_below_the_status_gives_its_day() -> None:
    record = read(
        "Superseded by ADR-9", more="\n## Status history\n\n- 2025-02-03: Accepted\n- 2025-05-06: Superseded\n"
    )
    assert (record.status, record.date) == ("superseded", "2025-02-03")


@pytest.mark.parametrize("path", ["PLANTILLA.md", "adr/vorlage.md", "adr/0000-模板.md"])
def test_a_file_called_template_in_another_language_is_one(path: str) -> None:
    with pytest.raises(NoDecision):
        read_adr("# ADR\n\n- Estado: propuesto\n\n## Decisión\n\nDescribir la opción.\n", path)


def test_a_record_that_names_another_says_more_than_the_way_to_it() -> None:
    short = "# Moved\n\nThis has moved to [ADR 7](0007-x.md).\n"
    with pytest.raises(NoDecision):
        read_adr(short, "0004-scene.md")
    long = (
        "# Scene\n\n"
        + "两种模式共用提供者协议和场景语义，避免调用方为了运行模式维护两套集成。" * 4
        + "[ADR 7](0007-x.md) 不变。\n"
    )
    assert read_adr(long, "0004-scene.md").record.title == "Scene"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Implementert", "accepted"),
        ("Delvis implementert", "accepted"),
        ("Vedtaget", "accepted"),
        ("Beslutad", "accepted"),
        ("Päätetty", "accepted"),
        ("Planlagt", "proposed"),
        ("Under vurdering", "proposed"),
        ("Pågående", "proposed"),
        ("Luonnos", "proposed"),
        ("Avslått", "rejected"),
        ("Förkastad", "rejected"),
        ("Peruttu", "rejected"),
        ("Udfaset", "deprecated"),
        ("Avvecklad", "deprecated"),
        ("Erstattet av ADR-9", "superseded"),
        ("Afløst af ADR-9", "superseded"),
        ("Korvattu: ADR-9", "superseded"),
        ("Delvis erstattet av ADR-9", "accepted"),
        ("Geïmplementeerd", "accepted"),
        ("Geimplementeerd", "accepted"),
        ("zastapiony przez [ADR-9](0009-x.md) (2026-06-23)", "superseded"),
        ("Zaakceptowany", "accepted"),
        ("Hyvaksytty", "accepted"),
        ("完成", "accepted"),
        ("进行中", "proposed"),
        ("已被 [ADR-9](0009-x.md) 覆盖（2026-08-02）", "superseded"),
    ],
)
def test_further_languages_are_read_with_or_without_their_marks(text: str, status: str) -> None:
    assert read(text).status == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("2017-11-22 提议\n\n2017-11-26 完成", "accepted"),
        ("列表：提议/通过/完成/已弃用/被取代\n\n2017-11-23 提议\n\n2017-11-23 通过\n\n2017/11/24 已弃用", "deprecated"),
        ("列表：提议/通过/完成/已弃用/被取代\n\n2017-12-01 提议", "proposed"),
        ("2024-01-05 foreslått\n\n2024-02-01 vedtatt", "accepted"),
        ("- 2024-01-05: Vorgeschlagen\n- 2024-02-01: Umgesetzt", "accepted"),
        ("| 2024-01-05 | proposé |\n| 2024-02-01 | rejeté |", "rejected"),
        ("- 2024-01-05: proposed\n- 2024-02-01: revised", "proposed"),
        (
            "- [first](https://x.example/1) - approved (2023-01-03)\n"
            "- [revised](https://x.example/2) - rejected (2023-04-17)",
            "rejected",
        ),
    ],
)
def test_of_a_history_in_any_language_the_latest_status_counts(text: str, status: str) -> None:
    assert read(text).status == status


def test_a_record_on_templates_with_a_history_is_no_template() -> None:
    text = "# 24. 支持自定义模板\n\n## 状态\n\n列表：提议/通过/完成\n\n2017-12-01 提议\n\n## 决策\n\n是。\n"
    assert read_adr(text, "0024-支持自定义模板.md").record.status == "proposed"


def header(lines: str) -> ImportedAdr:
    return read_adr(f"# Lettres\n\n{lines}\n\nNous les envoyons.\n", "0012-lettres.md")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("> **Statut : accepté.** Supersède [ADR-0009](0009-x.md).", "accepted"),
        ("> **Status:** Rejected", "rejected"),
        ("> **状态：已废弃**", "deprecated"),
        (">- Status: vedtatt\n>- Dato: 2024-02-01", "accepted"),
        ("> Status: Proposed | Accepted | Rejected\n\nStatus: Rejected", "rejected"),
        ("**Status:**  \nGeaccepteerd", "accepted"),
        ("**Status:**\n\nGeaccepteerd", "accepted"),
    ],
)
def test_fields_are_read_in_quotations_and_with_their_value_below(lines: str, status: str) -> None:
    assert header(lines).record.status == status


def test_a_quoted_field_is_changed_where_it_stands() -> None:
    text = "# Letters\n\n> **Status:** Proposed\n\nWe send them.\n"
    assert set_status(text, "Accepted") == text.replace("Proposed", "Accepted")
    below = "# Letters\n\n**Status:**\nProposed\n\nWe send them.\n"
    assert set_status(below, "Accepted") == below.replace("Proposed", "Accepted")


def test_a_legend_in_a_status_section_is_not_the_status() -> None:
    assert read("Rejected\n\n> Status: Accepted").status == "rejected"


def test_a_record_without_a_status_that_says_what_replaced_it_is_superseded() -> None:
    text = (
        "# 7. Letters\n\n## Note\n\nThis document is superseded by {}.\n\n## Context\n\nx\n\n[next]: ./0009-next.md\n"
    )
    found = read_adr(text.format("[the next one][next]"), "0007-letters.md")
    assert (found.record.status, found.has_status) == ("superseded", True)
    assert [(one.relation, one.target) for one in found.links] == [("superseded_by", "./0009-next.md")]
    assert not read_adr(text.format("whatever comes"), "0007-letters.md").has_status


def test_a_quoted_status_alone_makes_no_record() -> None:
    with pytest.raises(NoDecision):
        read_adr("# How we write letters\n\n> **Status:** accepted\n\nBy hand.\n", "letters.md")
    assert read_adr("# Letters\n\n**Status:** accepted\n\nBy hand.\n", "letters.md").record.status == "accepted"


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("**Accepted** · 2021-03-03 · platform team", "accepted"),
        ("> Rejected — 2021-03-03", "rejected"),
        (":white_check_mark: Accepted", "accepted"),
        ("**Status** Accepted", "accepted"),
        ("- **Status** — Rejected", "rejected"),
        ("State: decided", "accepted"),
        ("문서 성격: **ADR (ACCEPTED 2021-03-03 — 합의됨).**", "accepted"),
        ("The queue was accepted 2021-03-03 by all.", "proposed"),
        ("<table><tr><td>Status</td><td>Accepted</td></tr></table>", "accepted"),
        ("<dl>\n<dt>Status</dt><dd>Rejected</dd>\n</dl>", "rejected"),
        ("Status\n: Accepted", "accepted"),
        ("<!-- status: accepted; date: 2021-03-03 -->", "accepted"),
        ("| Date | Status |\n|---|---|\n| 2021-01-01 | Proposed |\n| 2021-03-03 | Accepted |", "accepted"),
        ("### Status: Accepted", "accepted"),
        ("Accepted\n\nRejected", "proposed"),
        ("Accepted letters go out at once.", "proposed"),
    ],
)
def test_a_header_without_a_field_on_the_status_says_it_all_the_same(header: str, status: str) -> None:
    found = read_adr(f"# 1. Letters\n\n{header}\n\n## Decision\n\nSend them.\n", "0001-letters.md")
    assert found.record.status == status
    assert found.has_status == (status != "proposed")


def test_the_status_in_a_title_or_in_the_last_lines_counts_where_nothing_else_says_it() -> None:
    rest = "\n\n## Decision\n\nSend them.\n"
    assert read_adr(f"# 1. Letters [Rejected]{rest}", "0001-letters.md").record.status == "rejected"
    assert read_adr(f"# 1. Letters (to all){rest}", "0001-letters.md").has_status is False
    last = read_adr(f"# 1. Letters{rest}\n---\nDate: 2021-03-03 | Status: Accepted\n", "0001-letters.md").record
    assert (last.status, last.date) == ("accepted", "2021-03-03")


def test_a_page_on_all_records_is_none_though_it_has_a_status() -> None:
    page = "---\nstatus: proposed\n---\n# 架构决策记录（ADR）\n\n## 用途\n\n记录。\n"
    with pytest.raises(NoDecision):
        read_adr(page, "docs/adr/README.md")
    assert (
        read_adr(page.replace("架构决策记录（ADR）", "Letters"), "docs/letters/README.md").record.status == "proposed"
    )


def test_sections_with_the_rank_of_the_title_keep_what_stands_below_them() -> None:
    text = "# 1. Letters\n\n# Status\n\n## Rejected in May\n\nReplaced by ADR 4.\n\n# Decision\n\nSend them.\n"
    found = read_adr(text, "0001-letters.md")
    assert found.record.status == "superseded"
    assert [(link.relation, link.target) for link in found.links] == [("superseded_by", "4")]
