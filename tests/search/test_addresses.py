"""Addresses: agent://<who>/<type>/<category>/<id>."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadInput, UnknownId
from kb.knowledge_base import Filter, KnowledgeBase, make
from kb.records.kinds import KINDS
from kb.records.model import Candidate
from kb.search.addresses import (
    SESSION,
    TYPES,
    Address,
    build_address,
    find_addressed,
    format_address,
    is_part,
    parse_address,
    resolve_place,
)
from tests.support.command_line import run

PARTS = st.one_of(
    st.sampled_from(["loan", "还款 方式", "a/b", "100%", "a?b#c", "D001", "..x", " x ", "é", "a&b=c", "~", "\\"]),
    st.text(min_size=1, max_size=30),
).filter(is_part)
TYPE_NAMES = st.sampled_from([*TYPES, SESSION, *(kind.name for kind in KINDS)])
IDS = st.sampled_from(["D001", "CK017", "DN123456", "01M85C9Y6P9MN96Y823TBT19MX", "lr-20261123-001", "dk-还款"])


@given(who=PARTS, kind=TYPE_NAMES, category=PARTS, record_id=IDS, depth=st.integers(0, 3))
def test_an_address_is_read_back_as_it_was_written(
    who: str, kind: str, category: str, record_id: str, depth: int
) -> None:
    parts = (who, kind, category)[:depth]
    folder, record = Address(*parts), Address(*parts, *[""] * (3 - depth), record_id)
    assert parse_address(format_address(folder)) == folder
    assert format_address(folder).isascii()
    if depth:
        assert parse_address(format_address(record)) == record


@given(text=st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        found = parse_address(f"agent://{text}")
    except BadInput:
        return
    assert all(is_part(part) for part in found if part)


@pytest.mark.parametrize(
    "text",
    [
        "agent://loan/..", "agent://../loan", "agent://loan/%2e%2e/D001", "agent://loan/knowledge/a%2F..%2Fb/D001",
        "agent://loan//D001", "agent://loan/./D001", "agent://loan/knowledge?x", "agent://loan/a/b/c/d", "kb://loan",
        "agent://loan/%00", "agent://loan/%zz", "agent://loan/knowledge/a\\b", "agent://loan/%FF", "agent://loan/nothing",
    ],
)  # fmt: skip
def test_what_leads_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_address(text)


def test_types_are_named_in_both_languages() -> None:
    for one, other in (("knowledge", "知识"), ("experience", "经验"), ("preference", "偏好"), ("session", "会话")):
        assert parse_address(f"agent://loan/{one}/") == parse_address(f"agent://loan/{other}/")
    assert parse_address("agent://loan/决策/") == parse_address("agent://loan/D/") == Address("loan", "decision")


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    def say(kind: str, title: str, text: str, scope: str, *tags: str, **more: object) -> Candidate:
        one = Candidate(kind, title, text, why="It was measured.", scope=scope, tags=tags, affects_future=True)
        return one._replace(reference_value=True, impact_areas=("architecture",), **more)

    said = [
        say("domain-note", "还款方式有三种", "还款方式包括等额本息、等额本金与先息后本三种。", "project/借贷",
            "还款 方式"),
        say("learning", "How are fees rounded?", "Fees are rounded half up to whole cents.", "project/借贷",
            fields={"domain": "fees/费用"}),
        say("pitfall", "Pika is missing in the image", "The worker stops with ModuleNotFoundError.", "project/shop",
            "q"),
        say("preference", "Answer in Chinese", "Always answer questions in Chinese.", "global", "a.b"),
        say("decision", "Orders are stored in PostgreSQL", "PostgreSQL 16 stores all orders of the shop.", "global"),
    ]  # fmt: skip
    assert {one.verdict for one in kb.write(said)} == {"created"}
    return root


def test_every_file_has_an_address_that_leads_back_to_it(filled: Path, kb: KnowledgeBase) -> None:
    records = kb.records()
    assert len(records) == 5
    for record in records:
        text = format_address(build_address(record))
        assert text.isascii()
        assert find_addressed(kb.index, parse_address(text)) == (record, None)
        assert run(filled, "show", text).out == (filled / record.path).read_text()
        place = resolve_place(kb.index, build_address(record)._replace(id="")).wanted
        assert record in kb.records(place)
        assert len({one.scope for one in kb.records(place)}) == 1


def test_the_middle_may_be_missing_or_out_of_date(filled: Path, kb: KnowledgeBase) -> None:
    now = format_address(Address("借贷", "knowledge", "还款 方式", "DN001"))
    for text in ("agent://借贷/DN001", "agent://借贷/知识/DN001", "agent://借贷/knowledge/还款%20方式/dn001"):
        assert find_addressed(kb.index, parse_address(text))[1] is None, text
    for text in (
        "agent://借贷/decision/x/DN001",
        "agent://gone/DN001",
        "agent://shop/gone/DN001",
        "agent://借贷/x/y/DN001",
    ):
        done = run(filled, "show", text)
        assert done.code == 0 and "还款方式有三种" in done.out and now in done.error, text
    with pytest.raises(UnknownId):
        find_addressed(kb.index, parse_address("agent://借贷/DN099"))


def test_the_address_of_an_agent_leads_a_person_to_its_records(root: Path, kb: KnowledgeBase) -> None:
    said = "Cat says what it did not do, and why it did not."
    kb.write([Candidate("preference", "Cat speaks plainly", said, scope="agent/cat", reusable=True)])
    assert "Cat speaks plainly" in run(root, "list", "agent://cat").out
    assert "Cat speaks plainly" in run(root, "list", "agent://cat/preference", KB_AGENT="cat").out
    assert "Cat speaks plainly" not in run(root, "list", "agent://cat", KB_AGENT="dog").out


def test_a_list_a_search_and_a_tree_read_addresses(filled: Path) -> None:
    def ids(*words: str) -> list[str]:
        return [line.split()[0] for line in run(filled, *words).out.splitlines() if line[:1] not in (" ", "")]

    assert ids("list", "agent://借贷") == ["借贷:DN001", "借贷:L001"]
    assert ids("list", "agent://借贷/knowledge/fees%2F费用/") == ["借贷:L001"]
    assert ids("list", "agent://global/preference") == ["U001"]
    assert ids("list", "agent://shop/experience/q/P001") == ["shop:P001"]
    assert ids("search", "--under", "agent://借贷/", "rounded cents fees") == ["借贷:L001"]
    assert ids("search", "--under", "agent://shop/knowledge") == []
    assert run(filled, "search", "--under", "agent://shop/P001").code == 2
    assert run(filled, "list", "agent://shop/..").code == 1
    tree = run(filled, "list", "--tree").out
    assert (
        "借贷 (2)\n  knowledge (2)\n    fees/费用 (1)\n      借贷:L001 How are fees rounded?\n    还款 方式 (1)\n"
        in tree
    )
    assert run(filled, "list", "--tree", "agent://shop").out == (
        "shop (1)\n  experience (1)\n    q (1)\n      shop:P001 Pika is missing in the image\n"
    )


def test_an_agent_without_a_scope_is_known_by_what_it_wrote(root: Path, kb: KnowledgeBase) -> None:
    one = Candidate(
        "domain-note", "Fees are in cents", "All fees are kept in whole cents.", scope="global", host="codex"
    )
    assert kb.write([one._replace(reference_value=True)])[0].verdict == "created"
    assert run(root, "list", "agent://codex").out.startswith("DN001 ")
    assert run(root, "search", "--under", "agent://codex", "cents").out.startswith("DN001 ")
    assert run(root, "list", "agent://claude").out == ""


def test_writing_at_an_address_sets_scope_kind_and_tag(root: Path) -> None:
    words = ("--title", "Fees are in cents", "--decision", "All fees are kept in whole cents.", "--reference", "yes")
    assert run(root, "write", "--at", f"agent://loan/knowledge/{quote('费 用')}", *words).code == 0
    with KnowledgeBase(str(root), os.environ) as kb:
        (record,) = kb.records(Filter(category="费 用"))
        assert (record.scope, record.kind, record.tags) == ("project/loan", "domain-note", ("费 用",))
    assert run(root, "write", "--at", "agent://loan/knowledge", "--kind", "decision", *words).code == 1
    assert run(root, "write", "--at", "agent://loan/session", *words).code == 1
    assert run(root, "write", "--at", "agent://loan/DN001", *words).code == 1
    assert run(root, "write", "--at", "agent://team%2Fx/knowledge", *words).code == 1


def test_me_is_the_users_own_knowledge_base(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ("--title", "Answer in Chinese", "--decision", "Always answer questions in Chinese.", "--reusable")
    done = run(root, "list", "agent://me", HOME=str(home))
    assert done.code == 1 and "kb init --user" in done.error
    make(str(home / ".kb"), {**os.environ, "HOME": str(home)})[0].close()
    assert run(root, "write", "--at", "agent://me/preference/language", *words, HOME=str(home)).code == 0
    assert run(root, "list", "agent://me/preference", HOME=str(home)).out.startswith("U001 ")
    assert "Always answer" in run(root, "show", "agent://me/U001", HOME=str(home)).out
    assert run(root, "list").out == ""
    off = {"HOME": str(home), "KB_OWN": "off"}  # where others than that person are answered
    for words in (("list", "agent://me"), ("show", "agent://me/U001"), ("search", "--under", "agent://me", "Chinese")):
        done = run(root, *words, **off)
        assert done.code == 1 and not done.out, words
