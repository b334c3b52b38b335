"""Merging: what a repetition or an addition does to the record that is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.records.model import Candidate, Evidence, Record, Section
from kb.records.record_file import read, render
from kb.similarity.merge_candidate import (
    CandidateMerge,
    apply_merge,
    find_new_facts,
    format_source,
    plan_merge,
    split_facts,
)

DAY = "2026-11-21"


def a_record(**fields: object) -> Record:
    """Return the record that outputs are masked."""
    values: dict[str, object] = {
        "id": "D001",
        "kind": "decision",
        "title": "所有输出必须脱敏",
        "scope": "project/shop",
        "status": "accepted",
        "sources": ("claude/s1",),
        "sections": (
            Section("decision", "决策", "对外输出先经过脱敏模块。邮箱和手机号用哈希替换。"),
            Section("why", "理由", "隐私合规要求。"),
        ),
        "user": "负责人：小王\n",
    }
    return Record(**{**values, **fields})  # type: ignore[arg-type]


def a_candidate(**fields: object) -> Candidate:
    """Return the same said again by another session."""
    values: dict[str, object] = {
        "kind": "decision",
        "title": "输出必须脱敏",
        "decision": "对外输出先经过脱敏模块。",
        "scope": "project/shop",
        "host": "claude",
        "session": "s2",
    }
    return Candidate(**{**values, **fields})  # type: ignore[arg-type]


# -- repetition -----------------------------------------------------------------------------------


def test_the_same_from_the_same_session_changes_nothing() -> None:
    """Adding the same content again makes no duplicate and no commit (ZCLAW-22)."""
    merge = plan_merge(a_candidate(session="s1"), a_record(), day=DAY)
    assert merge == CandidateMerge("unchanged")
    text = render(a_record(), "zh")
    assert apply_merge(text, merge, "zh") == text


@pytest.mark.parametrize("host", ["cli", "codex", ""])
def test_a_session_that_another_program_hands_in_is_no_repetition(host: str) -> None:
    """A hook writes what a session said, and `kb archive` finds it again in the same session."""
    again = a_candidate(session="s1")._replace(host=host)
    assert plan_merge(again, a_record(), day=DAY) == CandidateMerge("unchanged")


def test_the_same_from_another_session_is_counted() -> None:
    merge = plan_merge(a_candidate(), a_record(occurrences=2), day=DAY)
    assert merge.verdict == "updated"
    assert merge.changes == {"occurrences": 3, "sources": ("claude/s1", "claude/s2")}
    assert not merge.lines
    assert not merge.filled


def test_what_a_person_hands_in_twice_is_not_counted() -> None:
    assert plan_merge(a_candidate(session="", host=""), a_record(), day=DAY) == CandidateMerge("unchanged")


@pytest.mark.parametrize(
    ("host", "session", "source"),
    [("claude", "s1", "claude/s1"), ("", "s1", "s1"), ("claude", "", ""), ("", "", "")],
)
def test_a_source_is_host_and_session(host: str, session: str, source: str) -> None:
    assert format_source(a_candidate(host=host, session=session)) == source


# -- additions ------------------------------------------------------------------------------------


def test_a_new_fact_becomes_a_dated_line_with_its_source() -> None:
    """Additional information is appended with date and source (SHI-25)."""
    merge = plan_merge(
        a_candidate(decision="对外输出先经过脱敏模块。导出的报表也要脱敏。"), a_record(), day=DAY, language="zh"
    )
    assert merge.verdict == "appended"
    assert merge.lines == (("additions", "- 2026-11-21 (claude/s2): 导出的报表也要脱敏。"),)


def test_a_third_fact_joins_the_second() -> None:
    text = render(a_record(), "zh")
    for session, fact in (("s2", "导出的报表也要脱敏。"), ("s3", "日志保留 30 天。")):
        record = read(text.encode())
        merge = plan_merge(a_candidate(decision=fact, session=session), record, day=DAY, language="zh")
        text = apply_merge(text, merge, "zh")
    record = read(text.encode())
    assert record.id == "D001"
    assert record.occurrences == 3
    assert record.section("additions") == (
        "- 2026-11-21 (claude/s2): 导出的报表也要脱敏。\n- 2026-11-21 (claude/s3): 日志保留 30 天。"
    )


@pytest.mark.parametrize(("language", "label"), [("zh", "理由："), ("en", "Why: ")])
def test_a_fact_of_another_section_names_it(language: str, label: str) -> None:
    merge = plan_merge(a_candidate(why="客户合同禁止外传手机号。"), a_record(), day=DAY, language=language)
    assert merge.lines == (("additions", f"- 2026-11-21 (claude/s2): {label}客户合同禁止外传手机号。"),)


def test_without_a_session_the_line_has_its_date() -> None:
    merge = plan_merge(a_candidate(session="", host="", decision="导出的报表也要脱敏。"), a_record(), day=DAY)
    assert merge.lines == (("additions", "- 2026-11-21: 导出的报表也要脱敏。"),)
    assert not merge.changes


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("对外输出先经过脱敏模块。", "对外输出都先经过脱敏模块"),
        ("- `mask()` runs before **every** log call.", "mask() runs before every log call"),
        ("The collector keeps 10% of all traces.", "Collectors keep 10 % of the traces."),
        ("Retry webhooks three times, then give up.", "Retry webhooks 3 times."),
        ("见 [脱敏说明](docs/mask.md)。", "见脱敏说明"),
    ],
)
def test_what_has_been_said_is_no_new_fact(said: str, again: str) -> None:
    assert find_new_facts({"decision": again}, [said]) == []


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("The key is kept for 24 hours.", "The key is kept for 48 hours."),
        ("The key is kept for 30 days.", "The key is kept for 30 seconds."),
        ("Guests must log in.", "Guests may log in."),
        ("日志必须脱敏。", "日志不必脱敏。"),
        ("Use Redis.", "Use Redis because it is already there."),
        ("Mask logs before sending traces.", "Send traces before masking logs."),
        ("Mask logs.", "Mask logs and traces."),
        ("脱敏邮箱。", "脱敏邮箱和手机号。"),
    ],
)
def test_what_differs_is_a_new_fact(said: str, new: str) -> None:
    assert find_new_facts({"decision": new}, [said]) == [("decision", new)]


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("The cluster measured 9 requests a second.", "The cluster measured 11 requests a second."),
        ("集群每秒处理 9 个请求。", "集群每秒处理 21 个请求。"),
        ("The limit is 9 uploads.", "The limit is 7 uploads."),
        ("上传上限为 9 个。", "上传上限为 7 个。"),
    ],
)
def test_the_date_and_the_session_of_an_addition_say_nothing(said: str, new: str) -> None:
    """The numbers of "2026-11-21 (claude/s7)" are no numbers of the fact behind them."""
    first = plan_merge(a_candidate(why=said, session="s7"), a_record(), day=DAY)
    record = a_record(sections=(*a_record().sections, Section("additions", "Additions", first.lines[0][1])))
    assert plan_merge(a_candidate(why=new, session="s8"), record, day=DAY).verdict == "appended"
    assert plan_merge(a_candidate(why=said, session="s8"), record, day=DAY).verdict == "updated"


def test_a_fact_is_new_only_once_and_a_person_may_have_said_it() -> None:
    told = {"decision": "报表也要脱敏。报表也要脱敏！", "why": "报表也要脱敏。"}
    assert find_new_facts(told, []) == [("decision", "报表也要脱敏。")]
    assert plan_merge(a_candidate(decision="负责人：小王", session="s1"), a_record(), day=DAY) == CandidateMerge(
        "unchanged"
    )


def test_pieces_keep_their_writing_and_code_stays_whole() -> None:
    text = "1. Use `mask()`. See [docs](a.md)!\n\n```py\nmask(x)\n\nmask(y)\n```\n> 版本 3.11 起生效；旧版不变。"
    assert list(split_facts(text)) == [
        "Use `mask()`.",
        "See [docs](a.md)!",
        "```py\nmask(x)\n\nmask(y)\n```",
        "版本 3.11 起生效；",
        "旧版不变。",
    ]
    assert list(split_facts("~~~\nopen")) == ["~~~\nopen\n~~~"]
    assert list(split_facts("- 步骤：\n  ```sh\n  a\n    b\n  ```\n> ~~~\n> c\n")) == [
        "步骤：",
        "```sh\na\n  b\n```",
        "~~~\nc\n~~~",
    ]


def test_code_in_an_addition_swallows_nothing_behind_it() -> None:
    text = render(a_record(), "en")
    first = plan_merge(a_candidate(decision="```py\nmask(x)\n## no heading\n```"), a_record(), day=DAY)
    text = apply_merge(text, first)
    assert "- 2026-11-21 (claude/s2):\n  ```py\n  mask(x)\n  ## no heading\n  ```\n" in text
    again = plan_merge(a_candidate(decision="```py\nmask(x)\n## no heading\n```"), read(text.encode()), day=DAY)
    assert again == CandidateMerge("unchanged")
    later = plan_merge(a_candidate(decision="报表也要脱敏。", session="s3"), read(text.encode()), day=DAY)
    assert (
        read(apply_merge(text, later).encode())
        .section("additions")
        .endswith("- 2026-11-21 (claude/s3): 报表也要脱敏。")
    )


# -- gaps -----------------------------------------------------------------------------------------


def test_what_the_record_lacks_is_filled_in_its_place() -> None:
    new = a_candidate(
        session="s1",
        verification="pytest tests/test_mask.py",
        rollback="回退提交。",
        evidence=(Evidence("输出都要脱敏", "t.jsonl", 7),),
    )
    merge = plan_merge(new, a_record(), day=DAY, language="zh")
    assert merge.verdict == "updated"
    assert [name for name, _ in merge.filled] == ["verification", "rollback", "evidence"]
    record = read(apply_merge(render(a_record(), "zh"), merge, "zh").encode())
    assert [section.heading for section in record.sections] == ["决策", "理由", "验证方式", "回滚方式", "证据"]
    assert record.section("verification") == "pytest tests/test_mask.py"


def test_tags_paths_claims_and_relations_are_joined() -> None:
    old = a_record(
        tags=("Privacy",),
        impact=("api/a.py",),
        claims={"mask.hash": "sha256"},
        sections=(*a_record().sections, Section("impact", "影响范围", "- `api/a.py`")),
    )
    new = a_candidate(
        session="s1",
        tags=("privacy", "log", "log"),
        impact=("api/a.py", "api/b.py"),
        claims={"mask.hash": "sha256", "mask.salt": "yes"},
        coexists_with={"D009": "只在内网"},
    )
    merge = plan_merge(new, old, day=DAY)
    assert merge.verdict == "updated"
    assert merge.changes == {
        "tags": ("Privacy", "log"),
        "impact": ("api/a.py", "api/b.py"),
        "claims": {"mask.hash": "sha256", "mask.salt": "yes"},
        "coexists_with": {"D009": "只在内网"},
    }
    assert merge.lines == (("impact", "- `api/b.py`"),)
    record = read(apply_merge(render(old), merge).encode())
    assert record.section("impact") == "- `api/a.py`\n- `api/b.py`"
    assert record.claims == {"mask.hash": "sha256", "mask.salt": "yes"}


# -- bytes and laws -------------------------------------------------------------------------------

BY_HAND = (
    "\ufeff---\r\n# kept\r\nid: D001 # the id\r\nkind: decision\r\ntitle: '所有输出必须脱敏'\r\nowner: [a,   b]\r\n"
    "sources: [claude/s1]\r\n---\r\n<!-- MACHINE_BLOCK_START -->\r\n# [D001]  所有输出必须脱敏\r\n\r\n## 决策  \r\n"
    "对外输出先经过脱敏模块。  \r\n\r\n## 自拟\r\n随手写的\r\n<!-- MACHINE_BLOCK_END -->\r\nin between\r\n"
    "<!-- USER_BLOCK_START -->\r\n## 决策\r\n我的话  \r\n<!-- USER_BLOCK_END -->"
)


def test_no_other_byte_changes() -> None:
    record = read(BY_HAND.encode())
    merge = plan_merge(a_candidate(decision="报表也要脱敏。", why="合规。"), record, day=DAY, language="zh")
    text = apply_merge(BY_HAND, merge, "zh")
    expected = (
        BY_HAND.replace("owner:", "occurrences: 2\r\nowner:")
        .replace("[claude/s1]", "[claude/s1, claude/s2]")
        .replace(
            "随手写的\r\n",
            "随手写的\r\n\r\n## 理由\r\n\r\n合规。\r\n\r\n## 补充\r\n\r\n- 2026-11-21 (claude/s2): 报表也要脱敏。\r\n",
        )
    )
    assert text == expected


FACTS = st.lists(
    st.sampled_from(
        [
            "导出的报表也要脱敏。",
            "日志保留 30 天。",
            "Mask e-mails before logging.",
            "# Heading\n\n- item one\n- item two",
            "```\ncode <!-- USER_BLOCK_END -->\n```",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "<!-- MACHINE_BLOCK_END -->",
            "对外输出先经过脱敏模块。",
            "## Why\n\nBecause.",
        ]
    ),
    max_size=5,
)


@given(FACTS, FACTS, st.sampled_from(["zh", "en"]), st.sampled_from(["s1", "s2", ""]))
def test_merging_twice_is_merging_once_and_the_user_block_stays(
    decision: list[str], why: list[str], language: str, session: str
) -> None:
    new = a_candidate(decision="\n".join(decision), why="\n\n".join(why), session=session)
    text = render(a_record(), language)
    once = apply_merge(text, plan_merge(new, a_record(), day=DAY, language=language), language)
    record = read(once.encode())
    assert record.user == a_record().user
    assert record.section("decision") == a_record().section("decision")
    assert plan_merge(new, record, day="2027-01-01", language=language) == CandidateMerge("unchanged")
