"""What a regular expression of the user's own finds, within a time; and how many records there are."""

import json
import re
import time
from pathlib import Path

import pytest

from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.search import answer
from kb.search.answer import search_by_pattern
from tests.support.command_line import run


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    said = [
        Candidate("domain-note", "还款方式有三种", "还款方式包括等额本息、等额本金与先息后本。", tags=("本金",),
                  scope="global"),
        Candidate("domain-note", "Fees of the shop", "Fees are kept in cents.\nError E1234 means overdraft.",
                  scope="project/shop", host="codex"),
        Candidate("domain-note", "A line of letters", "a" * 40 + "!", scope="global"),
    ]  # fmt: skip
    for one in said:  # a commit names one host
        assert kb.write([one._replace(reference_value=True)])[0].verdict == "created"
    return root


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        (r"E\d{4}", ["shop:DN001"]),
        (r"等额本.、", ["DN001"]),
        (r"^Error .*overdraft\.$", ["shop:DN001"]),
        (r"(?i)FEES", ["shop:DN001"]),
        ("本金", ["DN001"]),
        (r"\Bzz\B", []),
    ],
)
def test_a_regular_expression_finds_lines(filled: Path, pattern: str, ids: list[str]) -> None:
    done = run(filled, "search", "--regex", pattern)
    assert done.code == 0 and [line.split()[0] for line in done.out.splitlines() if line[0] != " "] == ids
    found = re.findall("«(.*)»", done.out)
    assert len(found) == len(ids) and all(re.search(pattern, one) for one in found)


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", "(?P<x>a)(?P<x>b)", "a{99999999999}"])
def test_what_is_no_regular_expression_is_a_usage_error(filled: Path, pattern: str) -> None:
    done = run(filled, "search", "--regex", pattern)
    assert done.code == 2 and "not a regular expression" in done.error and not done.out


def test_it_goes_with_filters_and_not_with_words(filled: Path) -> None:
    assert run(filled, "search", "--regex", "e", "--scope", "project/shop").out.startswith("shop:DN001")
    assert run(filled, "search", "--regex", "e", "--under", "agent://shop").out.startswith("shop:DN001")
    assert run(filled, "search", "--regex", "e", "-n", "1").out.count("DN00") == 1
    assert run(filled, "search", "--regex", "e", "fees").code == 2


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*$", r"(a*)*b", r"(?:a?){40}a{40}b"])
def test_one_that_would_take_for_ever_is_stopped(
    kb: KnowledgeBase, filled: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = time.monotonic()
    with monkeypatch.context() as patch, pytest.raises(BadInput, match="takes longer"):
        patch.setattr(answer, "MAX_PATTERN_SECONDS", 0.2)
        search_by_pattern(kb, re.compile(pattern))
    assert time.monotonic() - begun < 30
    assert search_by_pattern(kb, re.compile("cents"))  # and no alarm is left behind


def test_counts_add_up(filled: Path, kb: KnowledgeBase) -> None:
    counted = json.loads(run(filled, "list", "--count", "--json").out)
    records = kb.records()
    assert counted["total"] == len(records) == 3
    for name in ("kinds", "statuses", "scopes"):
        assert sum(counted[name].values()) == 3
    assert counted["scopes"] == {"global": 2, "project/shop": 1} and counted["agents"]["codex"] == 1
    assert counted["bytes"] == sum((filled / record.path).stat().st_size for record in records)
    assert counted["first"] == counted["last"] == kb.today()
    shop = run(filled, "list", "--count", "--scope", "project/shop").out
    assert shop.startswith("records: 1\nkinds: Domain note 1\nstatuses: accepted 1\nscopes: project/shop 1\n")
    (filled / "kb.toml").write_text('language = "zh"\n')
    assert run(filled, "list", "--count").out.startswith("记录：3\n类型：领域笔记 3\n")
