"""The status of foreign decision records: languages, slips, signs, badges, boxes, histories, remains of templates."""

import pytest

from kb.adr.adr_fields import list_status_rows, parse_status
from kb.adr.adr_file import read_adr
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
    ["Adapted", "Excepted", "proposed / accepted", "accepted | rejected", "Projected", "<!-- Accepted -->"],
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
