"""The day of foreign decision records: in the languages, orders and places in which people write it."""

import pytest

from kb.adr.adr_fields import parse_date
from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_front_matter import lift_decision_values
from kb.adr.adr_set import resolve_imports


def read(header: str, *, sections: str = "## Decision\n\nSend them.\n", number: int = 1) -> ImportedAdr:
    return read_adr(f"# {number}. Letters\n\n{header}\n\n{sections}", f"{number:04d}-letters.md")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3. März 2021", "2021-03-03"),
        ("3 de marzo de 2021", "2021-03-03"),
        ("3 de março de 2021", "2021-03-03"),
        ("1er août 2021", "2021-08-01"),
        ("3 марта 2021", "2021-03-03"),
        ("3 marca 2021", "2021-03-03"),
        ("3 maart 2021", "2021-03-03"),
        ("3rd of March 2021", "2021-03-03"),
        ("Sept 3, 2021", "2021-09-03"),
        ("2021년 3월 3일", "2021-03-03"),
        ("2021年3月3日", "2021-03-03"),
        ("3. marts 2021", "2021-03-03"),
        ("3. maaliskuuta 2021", "2021-03-03"),
        ("3/25/21", "2021-03-25"),
        ("25/03/21", ""),
        ("3/4/21", ""),
        ("3 Margarine 2021", ""),
    ],
)
def test_a_day_is_read_in_many_languages(text: str, day: str) -> None:
    assert parse_date(text).date == day


@pytest.mark.parametrize(
    "header",
    [
        "Accepted on 3 March 2021",
        "decided_at: 2021-03-03T10:00:00Z",
        "createdOn: 2021-03-03\nlastModified: 2022-01-01",
        "Ratification date: 2021-03-03",
        "- Date d’acceptation : 3 mars 2021",
        "- 날짜: 2021. 3. 3.",
        "- 采纳日期：2021年3月3日",
        "- 起票日: 2021/03/03",
        "Status: Accepted\nVersion: 1.2 (2021-03-03)",
        "Kind: decision (ACCEPTED 2021-03-03)\n\n> Note: checked 2022-01-01",
        "Authors: Ann (2021-03-03)\n\nReview until 2022-01-01",
        "<table><tr><td>Date</td><td>2021-03-03</td></tr></table>",
        "3 March 2021",
        "*3rd March 2021*",
        "Date (UTC): 2021-03-03 19:40",
        "- Fecha: 3 de marzo de 2021",
        "- Created: 2021-03-03\n- Last updated: 2022-01-01",
        "- Last updated: 2021-03-03",
        "- Status: draft\n- Proposed: 2021-03-03\n- Completed: 2022-01-01",
        "- Date: YYYY-MM-DD\n- Created: 2021-03-03",
        "- Date closed: 2021-03-03\n- Date opened: 2020-01-01",
        "Status: Superseded by ADR-9, 2022-02-02 (was: Accepted, 2021-03-03)",
        "## Status\n\nAccepted. Date: 2021-03-03.",
        "### **Date:** 3rd March 2021",
        "## Datum\n\n3. März 2021",
    ],
)
def test_the_day_of_the_decision_is_found_where_it_stands(header: str) -> None:
    header = f"## Status\n\n{header}" if header.startswith("Accepted on") else header
    assert read(header).record.date == "2021-03-03"


def test_other_days_are_not_that_of_the_decision() -> None:
    assert read("Reviewed by Ann on 2021-03-03").record.date == ""
    assert read("- Next review: 2021-03-03").record.date == ""
    assert read("Date: 2021-03-03\nLast updated: 2022-01-01").record.date == "2021-03-03"


@pytest.mark.parametrize(
    ("sections", "day"),
    [
        ("## Decisión\n\nUna.\n", "2021-02-05"),
        ("## Entscheidung\n\nEine.\n", "2021-02-05"),
        ("## Decision\n\nOne.\n", ""),
    ],
)
def test_a_language_that_writes_the_day_first_says_which_number_is_the_month(sections: str, day: str) -> None:
    assert read("Date: 05/02/2021", sections=sections).record.date == day


def test_the_other_files_of_a_folder_say_which_number_is_the_month() -> None:
    files = [read("Date: 05/02/21", number=1), read("Date: 23/03/21", number=2)]
    assert [record.date for record in resolve_imports(files).records] == ["2021-02-05", "2021-03-23"]
    files = [read("Date: 05/02/21", number=1), read("Date: 03/23/21", number=2)]
    assert resolve_imports(files).records[0].date == ""


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"author": {"status": "accepted"}}, None),
        ({"ci": {"status": "rejected"}, "adr": {"status": "accepted"}}, "accepted"),
        ({"Decision-Record": {"status": "accepted"}}, "accepted"),
        ({"metadata": {"status": "accepted"}, "status": "rejected"}, "rejected"),
    ],
)
def test_only_what_names_the_record_itself_gives_its_fields(values: dict[str, object], status: str | None) -> None:
    assert lift_decision_values(values).get("status") == status


def test_the_day_in_the_example_of_a_form_is_none() -> None:
    changes = "<!-- E.g.:\n- [approved](URL) (2022-04-01)\n-->\n- proposed (2025-07-03)\n- approved (2025-08-05)\n"
    assert read("", sections=f"## Changelog\n\n{changes}\n## Decision\n\nx\n").record.date == "2025-08-05"


@pytest.mark.parametrize(
    "front",
    [
        "---\nstatus: executed\ntimestamp: 2021-03-03T10:50:00Z\n---",
        "---\nStatus: Accepted\nDate: 03.03.2021\n---",
        "---\nstatus: accepted\ndate:\n  created: 2021-01-01\n  decided: 2021-03-03\n---",
        "---\nstatus:\n  value: accepted\n  date: 2021-03-03\n---",
        "---\nstatus: accepted\ncreatedAt: 2021-03-03\nupdatedAt: 2022-01-01\n---",
        '+++\nstatus = "accepted"\ndate = 2021-03-03\n+++',
    ],
)
def test_front_matter_names_status_and_day_in_many_ways(front: str) -> None:
    found = read_adr(f"{front}\n\n# Letters\n\n## Decision\n\nSend them.\n", "letters.md").record
    assert (found.status, found.date) == ("accepted", "2021-03-03")


def test_a_name_of_the_house_for_its_records_keeps_their_number() -> None:
    found = read_adr("# Letters\n\n## Decision\n\nSend them.\n", "AgDR-0004-letters.md")
    assert found.number == 4
