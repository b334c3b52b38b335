"""Decision records of other tools: what is read, what is kept, and that both ends of a link agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.adr.adr_fields import parse_date, parse_status
from kb.adr.adr_file import read_adr
from kb.adr.adr_front_matter import find_front_matter_links
from kb.adr.adr_links import find_text_links
from kb.adr.adr_set import find_side_files, resolve_imports
from kb.adr.adr_text import AdrLink, extract_reason, match_section, split_title_number
from kb.errors import BadRecord, NoDecision
from kb.records.model import Section, Status
from kb.records.record_file import read, render

ADR_TOOLS = """# 4. DNS for hosts

Date: 2017-07-05

## Status

Superceded by [15. DNS](0015-dns.md)

Amended by [9. Names](0009-names.md)

## Context

Hosts need names.

## Decision

Keep one zone.

## Consequences

Everything in one place.
"""
NYGARD_ZH = """# ADR 3：使用 PostgreSQL

## 状态

已接受

## 背景

需要事务。

## 决策

使用 PostgreSQL。

## 后果

- 运维要懂它
"""
MADR2 = """# Use Markdown

* Status: accepted
* Deciders: Ann, Bo
* Date: 2020-01-02

Technical Story: issue 7

## Context and Problem Statement

Where to write?

## Considered Options

* Markdown
* AsciiDoc

## Decision Outcome

Chosen option: "Markdown", because everybody reads it.

### Positive Consequences

* fast

### Negative Consequences

* plain

## Links

* Supersedes [ADR-0001](0001-wiki.md)
"""
MADR4 = """---
# These are optional metadata elements.
status: "superseded by [ADR-0123](0123-example.md)"
date: 2024-03-04
decision-makers: [Ann, Bo]
tags: [db, api]
nav_order: 12
id: ADR-12
---
# Use a queue

## Context and Problem Statement

How do jobs wait?

## Decision Drivers

* simple

## Considered Options

* queue
* cron

## Decision Outcome

Chosen option: "queue", because

* it waits
* it retries

### Consequences

* Good, because jobs survive

### Confirmation

Kill a worker and look.

## More Information

See the wiki.
"""
LOG4BRAINS = """# Use the slug as id

- Status: superseded by [20201016-slug](20201016-slug.md)
- Date: 2020-09-26
- Tags: ids, files

## Context and Problem Statement

Numbers collide.

## Considered Options

- slug

## Decision Outcome

Chosen option: "slug".
"""

SETEXT = "ADR 8: Setext\n=============\n\nStatus\n------\n\nAccepted\n\nDecision\n--------\n\nYes.\n"

FORMS = [
    (ADR_TOOLS, "doc/adr/0004-dns.md", "adr-tools", 4, "DNS for hosts", "superseded", "2017-07-05"),
    (NYGARD_ZH, "adr/0003-pg.md", "nygard", 3, "使用 PostgreSQL", "accepted", ""),
    (MADR2, "docs/adr/0002-md.md", "madr2", 2, "Use Markdown", "accepted", "2020-01-02"),
    (MADR4, "d/0012-queue.md", "madr4", 12, "Use a queue", "superseded", "2024-03-04"),
    (LOG4BRAINS, "docs/adr/20200926-slug-id.md", "log4brains", None, "Use the slug as id", "superseded", "2020-09-26"),
    (MADR4.replace("decision-makers", "deciders").replace("### Confirmation", "### Proof"), "d/0012-q.md", "madr3", 12,
     "Use a queue", "superseded", "2024-03-04"),
    ("# Status quo\n\n## Ideas\n\nx\n", "d/0007-x.md", "plain", 7, "Status quo", "proposed", ""),
    (SETEXT, "8-x.md", "nygard", 8, "Setext", "accepted", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "form", "number", "title", "status", "date"), FORMS)
def test_each_form_is_recognised(text, path, form, number, title, status, date):
    found = read_adr(text, path)
    record = found.record
    assert (found.format, found.number, record.title, record.status, record.date) == (form, number, title, status, date)
    assert record.kind == "decision"
    assert record.extra.get("adr") == number
    assert record.sources == (path,)


def test_sections_have_canonical_names_and_others_their_headings():
    record = read_adr(MADR4, "0012-queue.md").record
    assert [(s.name, s.heading) for s in record.sections] == [
        ("context", "Context and Problem Statement"),
        ("", "Decision Drivers"),
        ("alternatives", "Considered Options"),
        ("decision", "Decision Outcome"),
        ("why", "Why"),
        ("impact", "Consequences"),
        ("verification", "Confirmation"),
        ("", "More Information"),
    ]
    assert record.section("why") == "* it waits\n* it retries"
    assert record.section("impact") == "* Good, because jobs survive"
    assert record.section("verification") == "Kill a worker and look."


def test_positive_and_negative_consequences_stay_apart():
    impact = read_adr(MADR2, "0002-md.md").record.section("impact")
    assert impact == "### Positive Consequences\n\n* fast\n\n### Negative Consequences\n\n* plain"


def test_unknown_front_and_fields_are_kept():
    record = read_adr(MADR4, "0012-queue.md").record
    assert record.extra == {
        "imported": "madr4",
        "adr": 12,
        "original_status": "superseded by [ADR-0123](0123-example.md)",
        "decision-makers": ["Ann", "Bo"],
        "nav_order": 12,
        "original_id": "ADR-12",
    }
    assert record.tags == ("db", "api")
    assert read_adr(MADR2, "2-x.md").record.extra["deciders"] == "Ann, Bo"
    assert read_adr(MADR2, "2-x.md").record.section("") == "Technical Story: issue 7"


def test_chinese_headings_are_sections():
    record = read_adr(NYGARD_ZH, "0003-pg.md").record
    assert [s.name for s in record.sections] == ["context", "decision", "impact"]
    assert record.section("decision") == "使用 PostgreSQL。"


@pytest.mark.parametrize(("text", "path"), [form[:2] for form in FORMS])
def test_no_line_of_a_body_is_lost(text, path):
    record = read_adr(text, path).record
    kept = "\n".join(f"{s.heading}\n{s.text}" for s in record.sections) + str(record.extra) + " ".join(record.tags)
    body = text.split("---\n", 2)[2] if text.startswith("---") else text
    rows = [row.strip("#* -=") for row in body.splitlines()]
    mapped = ("Status", "Date", "状态", "Superceded", "Amended", "Tags", "Accepted", "已接受", "Deciders")
    for row in filter(None, rows):
        assert row in kept or row.endswith(record.title) or row.startswith(mapped), row
    if "Superceded" in text:
        assert "Superceded by [15. DNS](0015-dns.md)\n\nAmended by" in kept


@pytest.mark.parametrize(("text", "path"), [form[:2] for form in FORMS])
def test_an_import_is_written_and_read_as_a_record(text, path):
    record = resolve_imports([read_adr(text, path)]).records[0]
    again = read(render(record).encode(), path)
    assert again.extra == record.extra
    assert (again.title, again.status, again.date, again.sources) == (
        record.title, record.status, record.date, record.sources,
    )  # fmt: skip
    assert [s.text for s in again.sections] == [s.text for s in record.sections]


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("", "1-x.md", "empty"),
        (" \n\n", "1-x.md", "empty"),
        ("just words\n", "1-x.md", "no heading"),
        ("```\n# code only\n```\n", "1-x.md", "no heading"),
        ("# A\0B\n", "1-x.md", "binary"),
        ("# How to help\n\n## Steps\n\nx\n", "CONTRIBUTING.md", "not a decision record"),
        ("# 决策记录\n\n- [1](1.md)\n", "README.md", "not a decision record"),
        ("# {short title}\n\n## Decision Outcome\n", "adr-template.md", "template"),
        ("---\nstatus: [broken\n---\n# X\n", "1-x.md", "frontmatter"),
        ("---\nstatus: x\n# X\n", "1-x.md", "frontmatter"),
    ],
)
def test_what_is_no_record_is_named_with_the_reason(text, path, reason):
    with pytest.raises(BadRecord, match=reason) as caught:
        read_adr(text, path)
    assert caught.value.path == path


def test_headings_in_code_are_text():
    text = "# 1. X\n\n## Decision\n\n```\n## Status\nRejected\n```\n"
    record = read_adr(text, "0001-x.md").record
    assert record.section("decision") == "```\n## Status\nRejected\n```"
    assert record.status == Status.PROPOSED


def test_crlf_and_byte_order_mark_read_the_same():
    plain = read_adr(MADR4, "12-q.md")
    assert read_adr("\ufeff" + MADR4.replace("\n", "\r\n"), "12-q.md") == plain


def test_a_second_section_of_a_name_keeps_its_heading():
    record = read_adr("# X\n\n## Options\n\na\n\n## Rejected alternatives\n\nb\n\n## Decision\n\nc\n", "1-x.md").record
    assert [(s.name, s.heading) for s in record.sections][:2] == [
        ("alternatives", "Options"),
        ("", "Rejected alternatives"),
    ]


def test_a_remark_in_a_heading_stays():
    record = read_adr("# X\n\n## Decision\n\nc\n\n## Consequences (2024, staging)\n\nd\n", "1-x.md").record
    assert record.section("impact") == "(2024, staging)\n\nd"


def test_what_front_and_text_say_differently_is_all_kept():
    text = "---\nstatus: accepted\ndate: 2024-01-02\ntitle: Short\ntags: a\n---\n# Long\n\nStatus: Draft\n"
    record = read_adr(text + "Date: 2023-01-01\nTags: b\n\n## Status\n\nRejected\n", "1-x.md").record
    assert (record.title, record.status, record.date, record.tags) == ("Long", "accepted", "2024-01-02", ("a", "b"))
    assert record.extra == {
        "imported": "plain",
        "adr": 1,
        "status_in_text": "Draft",
        "date_in_text": "2023-01-01",
        "original_title": "Short",
    }
    assert record.sections == (Section("", "Status", "Rejected"),)


STATUSES = [
    ("Accepted", "accepted", True, True),
    ("✅ Accepted", "accepted", True, True),
    ("{ accepted }", "accepted", True, True),
    ("**Approved.**", "accepted", True, True),
    ("Accepted (2024-01-02)", "accepted", True, False),
    ("Accepted（随 #640 落地）", "accepted", True, False),
    ("accepted; supersedes ADR-0045", "accepted", True, False),
    ("Draft", "proposed", True, True),
    ("草案", "proposed", True, True),
    ("❌ Rejected (see [019](019-x.md))", "rejected", True, False),
    ("Withdrawn", "rejected", True, False),
    ("已废弃", "deprecated", True, True),
    ("Superceded by [15](0015-x.md)", "superseded", True, False),
    ("已被 ADR-0005 取代", "superseded", True, False),
    ("被 [ADR-5](0005-x.md) 替代", "superseded", True, False),
    ("Accepted\n\nSuperseded by [15](0015-x.md)", "superseded", True, False),
    ("Superseded in part by ADR-0007", "accepted", True, False),
    ("Partially superseded", "accepted", True, False),
    ("部分被 ADR-0007 取代", "accepted", True, False),
    ("不被取代", "proposed", False, False),
    ("in limbo", "proposed", False, False),
    ("Acceptedish", "proposed", False, False),
    ("proposed | accepted | rejected", "proposed", False, False),
    ("✅ 生效 / ⚠️ 待验证 / ❌ 已废弃", "proposed", False, False),
    ("", "proposed", False, False),
]


@pytest.mark.parametrize(("text", "status", "certain", "exact"), STATUSES)
def test_status_words(text, status, certain, exact):
    assert parse_status(text)[:3] == (status, certain, exact)


def test_an_unknown_status_is_kept_and_said():
    found = read_adr("# 1. X\n\n## Status\n\nin limbo\n\n## Decision\n\nx\n", "1-x.md")
    assert found.record.status == Status.PROPOSED
    assert found.record.extra["original_status"] == "in limbo"
    assert [note.template for note in found.notes] == ["the status “{status}” is not known; it is taken as proposed"]


DATES = [
    ("2024-01-15", "2024-01-15", True),
    ("{ 2024-1-5 }", "2024-01-05", True),
    ("2024年1月5日", "2024-01-05", True),
    ("2024/01/05 （决策）", "2024-01-05", False),
    ("September 23, 2023", "2023-09-23", True),
    ("3rd Oct 2023", "2023-10-03", True),
    ("23/02/2018", "2018-02-23", True),
    ("02/23/2018", "2018-02-23", True),
    ("05/05/2018", "2018-05-05", True),
    ("05/02/2018", "", True),
    ("2024-02-30", "", True),
    ("soon", "", False),
]


@pytest.mark.parametrize(("text", "date", "exact"), DATES)
def test_dates(text, date, exact):
    assert parse_date(text) == (date, exact)


def test_an_unclear_date_is_read_as_its_folder_shows():
    def dated(name, date):
        return read_adr(f"# {name}\n\nDate: {date}\n\n## Decision\n\nx\n", f"d/{name}.md")

    records = resolve_imports([dated("1-a", "05/02/2018"), dated("2-b", "23/02/2018")]).records
    assert [record.date for record in records] == ["2018-02-05", "2018-02-23"]
    alone = resolve_imports([dated("1-a", "05/02/2018")]).records[0]
    assert (alone.date, alone.extra["original_date"]) == ("", "05/02/2018")
    mixed = resolve_imports(
        [dated("1-a", "05/02/2018"), dated("2-b", "23/02/2018"), dated("3-c", "02/23/2018")]
    ).records
    assert mixed[0].date == ""


@pytest.mark.parametrize(
    ("heading", "title", "number"),
    [
        ("12. Use X", "Use X", 12),
        ("0002. 用检查", "用检查", 2),
        ("ADR-012: Use X", "Use X", 12),
        ("ADR：鉴权", "鉴权", None),
        ("[ADR-7] Use X", "Use X", 7),
        ("Architecture Decision Record: Config", "Config", None),
        ("3、缓存", "缓存", 3),
        ("28 Scanning", "Scanning", 28),
        ("3.5 roadmap", "3.5 roadmap", None),
        ("10 things to know", "10 things to know", None),
    ],
)
def test_titles_lose_their_number(heading, title, number):
    assert split_title_number(heading, 28) == (title, number)


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Consequences", "impact"),
        ("2. 决策", "decision"),
        ("二、背景", "context"),
        ("Decision (决策)", "decision"),
        ("Considered Options <!-- optional -->", "alternatives"),
        ("**Status:**", "status"),
        ("Decision Drivers", ""),
    ],
)
def test_section_names(heading, name):
    assert match_section(heading) == name


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ('Chosen option: "A", because it is small.', "it is small."),
        ("选择方案 A，因为它小。", "它小。"),
        ("Chosen option: A, because:\n\n* one\n* two\n\nMore.", "* one\n* two"),
        ('Chosen option: "A".', ""),
        ("We do A because B.", ""),
        ("Chosen option: A, because {justification}.", ""),
    ],
)
def test_reasons_are_verbatim(outcome, reason):
    assert extract_reason(outcome) == reason
    assert reason in outcome


LINKS = [
    (
        "Superseded by [ADR-0060](0060-x.md) and [ADR-0061](0061-y.md)",
        [("superseded_by", "0060-x.md", False), ("superseded_by", "0061-y.md", False)],
    ),
    ("**Superseded in part by [ADR-0013](0013-x.md)**", [("superseded_by", "0013-x.md", True)]),
    ("⌛️ Superseded by [036. Multi](036-multi.md)", [("superseded_by", "036-multi.md", False)]),
    ("This decision **supersedes [ADR-0045](0045-x.md)**.", [("supersedes", "0045-x.md", False)]),
    ("- Supersedes ADR-7", [("supersedes", "7", False)]),
    ("Note: this ADR supersedes some aspects of [ADR-15](adr-015.md)", [("supersedes", "adr-015.md", True)]),
    ("This supersedes ADR-0078's mechanism", [("supersedes", "0078", True)]),
    ("Amends [ADR-0058](0058-x.md) in part", [("amends", "0058-x.md", True)]),
    ("> Amended by [9. Names](0009-names.md)", [("amended_by", "0009-names.md", False)]),
    ("Partially superseded by [a](https://a.org/o/r/blob/main/adr/0003-a.md)", [("superseded_by", "0003-a.md", True)]),
    ("本决策取代 [ADR-0003](0003-x.md)。", [("supersedes", "0003-x.md", False)]),
    ("已被 ADR-0005 取代", [("superseded_by", "0005", False)]),
    ("部分被 [ADR-0005](0005-x.md) 取代", [("superseded_by", "0005-x.md", True)]),
    ("被 ADR-9 修订", [("amended_by", "9", False)]),
    ("Supersedes nothing. Motivated by [ADR-0001](0001-x.md).", []),
    ("It does not supersede ADR-0007.", []),
    ("ADR-0040 is superseded by ADR-0041.", []),
    ("ADR-0007 不被取代。", []),
    ("This replaces [the old page](https://example.org/page).", []),
    ("Supersedes the deploy clause of\n[ADR-0024](0024-x.md)", [("supersedes", "0024-x.md", True)]),
    ("```\nSupersedes ADR-7\n```", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "links"), LINKS)
def test_links_are_statements_about_oneself(text, links):
    assert find_text_links(text) == tuple(AdrLink(*link) for link in links)


def test_links_in_front():
    values = {"supersedes": ["0003-x.md", 7], "superseded-by": "[ADR-9](0009-y.md)", "amends": None, "title": "ADR-1"}
    assert find_front_matter_links(values) == (
        AdrLink("supersedes", "0003-x.md"),
        AdrLink("supersedes", "7"),
        AdrLink("superseded_by", "0009-y.md"),
    )


def adr(number, status="Accepted", words="", path=""):
    text = f"# {number}. Choice {number}\n\n## Status\n\n{status}\n\n## Decision\n\nDo {number}.\n\n{words}\n"
    return read_adr(text, path or f"adr/{number:04d}-choice.md")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (adr(1, "Superseded by [2](0002-choice.md)"), adr(2)),
        (adr(1), adr(2, "Accepted\n\nSupersedes [1](0001-choice.md)")),
        (adr(1, "Superseded by ADR-0002"), adr(2, words="Supersedes ADR-1")),
        (adr(1, "Superseded by [2](../adr/0002-choice.md#status)"), adr(2)),
        (adr(1, "被 ADR-2 取代"), adr(2)),
    ],
)
def test_both_ends_agree_whichever_says_it(old, new):
    result = resolve_imports([new, old])
    assert result.records[0].supersedes == ("D001",)
    assert result.records[1].status == Status.SUPERSEDED
    assert not any("answers" in problem.said.template for problem in result.problems)


def test_a_mark_that_was_missing_is_set_and_said():
    result = resolve_imports([adr(1), adr(2, words="Supersedes ADR-1")])
    assert [(p.path, str(p.said)) for p in result.problems] == [
        ("adr/0001-choice.md", "D002 supersedes it, but its own status does not say so")
    ]


def test_a_proposal_supersedes_nothing_yet():
    result = resolve_imports([adr(1), adr(2, "Proposed", "Supersedes ADR-1")])
    assert [record.status for record in result.records] == ["accepted", "proposed"]
    assert result.records[1].supersedes == ("D001",)
    assert str(result.problems[0].said) == "D002 would supersede it, but is proposed"


def test_what_supersedes_in_part_amends():
    result = resolve_imports([adr(1, "Superseded in part by ADR-2"), adr(2, words="Supersedes ADR-1")])
    assert [record.status for record in result.records] == ["accepted", "accepted"]
    assert (result.records[1].supersedes, result.records[1].amends) == ((), ("D001",))


def test_links_that_lead_nowhere_are_said():
    result = resolve_imports([adr(1, "Superseded by [9](0009-gone.md)"), adr(2, words="Amends ADR-2")])
    assert [str(problem.said) for problem in result.problems] == [
        "superseded_by 0009-gone.md: no imported file matches that",
        "superseded, but no imported record supersedes it",
    ]


def test_a_number_two_files_have_is_ambiguous():
    twins = [adr(1, path="adr/0001-a.md"), adr(1, path="adr/0001-b.md")]
    result = resolve_imports([*twins, adr(2, words="Supersedes ADR-1")])
    assert [record.id for record in result.records] == ["D001", "D003", "D002"]
    assert result.records[2].supersedes == ()
    assert {problem.said.template for problem in result.problems} == {
        "the number {number} belongs to {path} too",
        "{relation} {target}: several files match that: {paths}",
    }


def test_the_same_number_in_another_folder_is_found_beside_the_link():
    imports = [
        adr(1, path="a/0001-x.md"),
        adr(1, path="b/0001-y.md"),
        adr(2, words="Supersedes ADR-1", path="b/2-z.md"),
    ]
    result = resolve_imports(imports)
    assert result.records[2].supersedes == (result.records[1].id,) == ("D003",)


def test_two_that_supersede_each_other_are_said():
    result = resolve_imports([adr(1, "Accepted; supersedes ADR-2"), adr(2, "Accepted; supersedes ADR-1")])
    assert sorted(len(record.supersedes) for record in result.records) == [0, 1]
    assert any("each other" in problem.said.template for problem in result.problems)


def test_ids_in_use_stay_free_of_imports():
    result = resolve_imports([adr(1), adr(5)], taken=["D001", "D009", "C020"])
    assert [record.id for record in result.records] == ["D010", "D005"]
    assert str(result.problems[0].said) == "the id D001 is in use already"


def test_records_without_a_number_follow_by_date():
    later = read_adr(LOG4BRAINS.replace("2020-09-26", "2021-01-01"), "20210101-b.md")
    result = resolve_imports([later, read_adr(LOG4BRAINS, "20200926-a.md"), adr(7)])
    assert [record.id for record in result.records] == ["D009", "D008", "D007"]


STARTS = ["", "- ", "> ", "# ", "## ", "### ", "#### ", "| ", "    ", "Note: ", "Status: Accepted ", "Date: 2020 ",
          "## Decision ", "## 决策 (",
          "### Consequences ", "## Status ", "Deciders: ", "标签: ", "<!-- ", "1. "]  # fmt: skip
FIXED = [
    "",
    "---",
    "===",
    "```",
    "~~~",
    "## Status",
    "## Decision Outcome",
    "### Consequences",
    "## Options",
    "## 后果",
]
rows = st.lists(st.one_of(st.sampled_from(STARTS), st.sampled_from(FIXED).map(lambda row: f"={row}")), max_size=16)


@given(rows)
def test_no_word_of_any_body_is_lost(starts):
    body = [row[1:] if row.startswith("=") else f"{row}word{n}" for n, row in enumerate(starts)]
    found = read_adr("# 1. X\n\n" + "\n".join(body) + "\n", "0001-x.md")
    record = found.record
    kept = " ".join(f"{s.heading} {s.text}" for s in record.sections) + f"{dict(record.extra)}{record.tags}"
    lost = [row for row in body if "word" in row and "word" + row.split("word")[1] not in kept]
    assert not lost
    assert resolve_imports([found]).records[0].id == "D001"


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        found = read_adr(text, "0001-x.md")
    except BadRecord:
        return
    assert found.record.title


def test_a_long_line_takes_no_long_time():
    text = (
        "# 1. X\n\n"
        + "supersedes ADR-2 " * 20_000
        + "\n\n"
        + "supersedes [" * 20_000
        + "\n\n"
        + "被" * 50_000
        + "\n\n## Status\n\n"
        + "superseded " * 20_000
    )
    assert read_adr(text, "0001-x.md").number == 1


PLAIN = "# 4. Use a queue\n\n{head}\n\n## Context\n\nLoad.\n\n## Decision\n\nA queue.\n"


@pytest.mark.parametrize(
    "front",
    ["decision_date: 2024-03-05", "decided: 2024-03-05", "Introduced: 2024-03-05", "created: 2024-03-05"],
)
def test_front_matter_gives_the_day_under_another_key(front):
    text = f"---\nstatus: accepted\n{front}\n---\n{PLAIN.format(head='')}"
    assert read_adr(text, "0004-queue.md").record.date == "2024-03-05"


def test_the_day_of_the_decision_goes_before_the_day_of_the_file():
    text = f"---\ndecision_date: 2024-03-05\ncreated: 2024-01-01\n---\n{PLAIN.format(head='Date: 2024-02-02')}"
    record = read_adr(text, "0004-queue.md").record
    assert (record.date, record.extra["date_in_text"]) == ("2024-03-05", "2024-02-02")
    record = read_adr(text.replace("decision_date: 2024-03-05\n", ""), "0004-queue.md").record
    assert record.date == "2024-02-02"


@pytest.mark.parametrize("head", ["Introduced: 20240305", "**Datum:** 2024-03-05", "| Date | 5-March-2024"])
def test_a_line_gives_the_day_under_another_name(head):
    assert read_adr(PLAIN.format(head=head), "0004-queue.md").record.date == "2024-03-05"


def test_fields_may_share_a_line():
    head = "**Status:** Accepted | **Date:** 2024-03-05 | **Review:** 2025-03-05"
    record = read_adr(PLAIN.format(head=head), "0004-queue.md").record
    assert (record.status, record.date) == (Status.ACCEPTED, "2024-03-05")
    assert "original_status" not in record.extra
    assert head in record.sections[0].text


@pytest.mark.parametrize(
    "fields",
    [
        "## Status\n\n- **Status**: Accepted\n- **Date**: 2024-03-05",
        "## 状态\n\n- **状态**: 已接受\n- **日期**: 2024-03-05",
    ],
)
def test_a_status_section_may_be_a_list_of_fields(fields):
    record = read_adr(PLAIN.format(head=fields), "0004-queue.md").record
    assert (record.status, record.date) == (Status.ACCEPTED, "2024-03-05")


def test_a_short_slashed_date_is_read_as_the_folder_writes_them():
    short = read_adr(PLAIN.format(head="Date: 10/04/18"), "0004-queue.md")
    other = read_adr(PLAIN.format(head="Date: 23/04/2018"), "0005-queue.md")
    assert resolve_imports([short]).records[0].date == ""
    assert resolve_imports([short, other]).records[0].date == "2018-04-10"


def test_the_status_in_front_goes_before_a_later_section():
    text = (
        f"---\nstatus: accepted\n---\n{PLAIN.format(head='')}\n## Status / next steps\n\n- [x] rejected the old one\n"
    )
    assert read_adr(text, "0004-queue.md").record.status == Status.ACCEPTED


@pytest.mark.parametrize("word", ["void", "moved", "obsolete", "无效", "hinfällig"])
def test_a_word_for_out_of_force_is_no_proposal(word):
    text = f"---\nstatus: {word}\n---\n{PLAIN.format(head='')}"
    assert read_adr(text, "0004-queue.md").record.status == Status.DEPRECATED


def test_a_record_that_moved_to_another_is_superseded():
    text = f"---\nstatus: moved\nsuperseded_by: ADR-9\n---\n{PLAIN.format(head='')}"
    assert read_adr(text, "0004-queue.md").record.status == Status.SUPERSEDED


@pytest.mark.parametrize(
    "half", ["but the **graph half is Superseded by ADR-9**", "one section of it was superseded by ADR-9"]
)
def test_a_record_of_which_a_half_was_superseded_holds(half):
    record = read_adr(PLAIN.format(head=f"Status: Accepted, {half}"), "0004-queue.md").record
    assert record.status == Status.ACCEPTED


def test_reviews_and_drafts_beside_the_records_are_none():
    text = PLAIN.format(head="Status: Proposed")
    paths = ["adr/ADR-4-queue.md", "adr/reviews/ADR-4-queue.md", "adr/inputs/notes.md", "adr/reviews/ADR-5-cache.md"]
    review = read_adr("# Review of ADR-4\n\n## Findings\n\nNone.\n", "adr/ADR-4-review-2024-03-05.md")
    topic = read_adr(text, "adr/ADR-4-split-review-config.md")
    found = [*(read_adr(text, path) for path in paths), review, topic]
    assert find_side_files(found) == {paths[1], paths[2], review.path}
    assert find_side_files([found[3], read_adr(text, "adr/ADR-6-review.md")]) == set()


def test_an_index_of_records_is_none():
    with pytest.raises(NoDecision):
        read_adr("# Records\n\n## Status\n\nAccepted\n\n## Context\n\nAll.\n", "ADR_INDEX.md")


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Supersedes ADR-7, amends ADR-8.", [("supersedes", "7"), ("amends", "8")]),
        ("This ADR supersedes ADR-7 and retires the reasoning recorded in ADR-8.", [("supersedes", "7")]),
        ("Supersedes: Extends ADR-7", [("amends", "7")]),
        ("ADR-3 supersedes ADR-7", []),
        ("**Supersedes / relates to:** strengthens ADR-7", []),
    ],
)
def test_each_verb_has_its_own_objects(text, links):
    assert [link[:2] for link in find_text_links(text)] == links


@pytest.mark.parametrize(
    "text",
    [
        'This ADR supersedes the "Scans with a linter" subsection of ADR 7.',
        "This deliberately supersedes ADR-7's promise of silence.",
    ],
)
def test_a_section_of_another_record_is_a_part(text):
    assert find_text_links(text) == (AdrLink("supersedes", "7", True),)


@pytest.mark.parametrize(
    "status",
    [
        "Accepted\nExtended by [ADR 7](0007-cache.md)",
        "Accepted (retries refined by [ADR-7](0007-cache.md): twice)",
        "Accepted. Amended 2024-03-05 ([ADR-7](0007-cache.md))",
    ],
)
def test_a_header_names_what_extends_it(status):
    found = read_adr(PLAIN.format(head=f"## Status\n\n{status}"), "0004-queue.md")
    assert ("amended_by", "0007-cache.md") in [link[:2] for link in found.links]
    assert found.record.status == Status.ACCEPTED
    assert read_adr(PLAIN.format(head="ADR-3 was extended by ADR-7"), "0004-q.md").links == ()


def test_a_list_of_changes_supersedes_no_record():
    log = "\n## Changelog\n\n- Supersedes ADR-7\n- Amends ADR-8\n"
    found = read_adr(PLAIN.format(head="Status: Accepted") + log, "0004-queue.md")
    assert [link[:2] for link in found.links] == [("amends", "8")]
