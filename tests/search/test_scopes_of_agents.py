"""What belongs to one agent alone is told to that one, through whatever door; what a group has, to its projects."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.context.give_hints import build_start_context
from kb.context.memory_md import build_pages
from kb.history.snapshot import build_change_log, build_digest, search_history
from kb.index.schema import ALL, Filter
from kb.knowledge_base import KnowledgeBase
from kb.mcp import tool_functions
from kb.records.model import Candidate, list_groups
from tests.support.command_line import run
from tests.support.sealed import git

MARKS = {"cat": "zebrawood", "dog": "quartzite"}
"""A word that stands in the records of one agent and nowhere else."""
SHARED = "Ferries leave at dawn"
HELD = "Perhaps the {word} jetty is wide enough"
Ask = Callable[[KnowledgeBase, str], object]


def own(agent: str) -> list[Candidate]:
    word, scope = MARKS[agent], f"agent/{agent}"
    return [
        Candidate("constraint", f"The {word} pier is closed", decision=f"Nobody lands at the {word} pier; see [D001].",
                  why=f"The {word} planks are rotten.", alternatives="none", impact=("src/pier.py",), rollback="open",
                  verification=f"`ls {word}`", impact_areas=("security",), tags=(word,), scope=scope),
        Candidate("preference", f"Reports name the {word}", decision=f"Every report names the {word} berth.",
                  reusable=True, scope=scope),
        Candidate("pitfall", HELD.format(word=word), decision=f"The {word} jetty looked narrow.", scope=scope),
    ]  # fmt: skip


@pytest.fixture
def harbour(root: Path) -> Path:
    shared = Candidate("decision", SHARED, decision="Ferries leave at dawn, before the pier fills up.", scope="global",
                       why="The tide is high.", impact=("src/pier.py",), impact_areas=("architecture",))  # fmt: skip
    with KnowledgeBase(str(root), {**os.environ}) as kb:
        kb.write([shared])
    for agent in MARKS:
        with KnowledgeBase(str(root), {**os.environ, "KB_AGENT": agent}) as kb:
            verdicts = [verdict.verdict for verdict in kb.write(own(agent))]
            assert verdicts == ["created", "created", "held"]
    return root


def _export(kb: KnowledgeBase, _: str) -> object:
    return [kb.text(record) for record in kb.records()]


def _mcp(kb: KnowledgeBase, word: str) -> object:
    return [
        tool_functions.search_records(kb, kb.root, {"query": f"{word} pier"}),
        tool_functions.list_records(kb, kb.root, {}),
        tool_functions.get_context(kb, kb.root, {"query": f"{word} pier"}),
        tool_functions.get_hint(kb, kb.root, {"moment": "t1", "keywords": [word]}),
        tool_functions.read_resource(kb, kb.root, "kb://home"),
        tool_functions.complete_argument(kb, "id", ""),
    ]


DOORS: dict[str, Ask] = {
    "search": lambda kb, word: kb.recall(f"{word} pier"),
    "search by kind": lambda kb, word: kb.recall(word, wanted=Filter(kinds=("constraint",))),
    "search by path": lambda kb, word: kb.recall(word, wanted=Filter(path="src/pier.py")),
    "search by tag": lambda kb, word: kb.recall("", wanted=Filter(tag=word)),
    "search one character": lambda kb, word: kb.recall(word[0]),
    "identity": lambda kb, _: kb.recall("who am I"),
    "list": lambda kb, _: kb.records(),
    "list counts": lambda kb, _: kb.index.count_by_column("tag", ALL),
    "refs": lambda kb, _: kb.refs("D001"),
    "prompt": lambda kb, word: kb.answer_to_prompt(f"Why is the {word} pier closed, and who is named in reports?"),
    "start": lambda kb, _: build_start_context(kb, "s1", source="startup"),
    "hint": lambda kb, word: kb.hint("t1", [word]),
    "newest": lambda kb, _: kb.hint("t1", []),
    "agent": lambda kb, word: kb.hint_for_avatar("眼", f"look at the {word} pier"),
    "context": lambda kb, word: kb.context(f"{word} pier"),
    "pack": lambda kb, word: kb.pack(f"{word} pier"),
    "inbox": lambda kb, _: kb.held(),
    "as of": lambda kb, word: search_history(kb, f"{word} pier", wanted=ALL, project="global", limit=9,
                                             commit=git(kb.root, "rev-parse", "HEAD").strip()).answers,
    "changes": lambda kb, _: build_change_log(kb, git(kb.root, "rev-list", "--max-parents=0", "HEAD").strip(), "HEAD"),
    "digest": lambda kb, _: build_digest(kb, "2020-01-01"),
    "memory": lambda kb, _: [page.after.decode() for page in build_pages(kb)],
    "export": _export,
    "mcp": _mcp,
}  # fmt: skip
COMMANDS = (["search", "{word}", "--json"], ["list", "--json"], ["list", "--scope", "agent/{agent}"],
            ["list", "--tree"], ["show", "agent/{agent}:C001"], ["show", "C001"], ["refs", "agent/{agent}:C001"],
            ["impact", "D001"],
            ["history", "agent/{agent}:C001"], ["log", "-p", "agent/{agent}:C001"], ["inbox"], ["export", "json"],
            ["search", "--at", "HEAD", "{word}"], ["context", "build", "{word} pier"], ["list", "--count"])  # fmt: skip


@given(st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_door_tells_an_agent_what_is_anothers(harbour: Path, data: st.DataObject) -> None:
    asking = data.draw(st.sampled_from(["", *MARKS]))
    other = data.draw(st.sampled_from([agent for agent in MARKS if agent != asking]))
    door = data.draw(st.sampled_from(sorted(DOORS)))
    word = data.draw(st.sampled_from([*MARKS.values(), "pier", "reports", SHARED]))
    with KnowledgeBase(str(harbour), {**os.environ, "KB_AGENT": asking}) as kb:
        said = repr(DOORS[door](kb, word))
    assert MARKS[other] not in said.replace(word, "")


def test_each_agent_is_told_its_own(harbour: Path) -> None:
    for agent, word in MARKS.items():
        with KnowledgeBase(str(harbour), {**os.environ, "KB_AGENT": agent}) as kb:
            told = [name for name, ask in DOORS.items() if f"agent/{agent}" in repr(ask(kb, word)) or word in repr(
                ask(kb, "pier"))]  # fmt: skip
        assert {"search", "list", "start", "context", "inbox", "as of", "export", "mcp"} <= set(told)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_no_command_tells_it_either(harbour: Path, command: list[str]) -> None:
    words = [word.format(word=MARKS["dog"], agent="dog") for word in command]
    done = run(harbour, *words, KB_AGENT="cat")
    assert MARKS["dog"] not in (done.out + done.error).replace(" ".join(words), "").replace(f"“{MARKS['dog']}”", "")


def test_a_person_sees_it_where_they_name_it(harbour: Path) -> None:
    assert MARKS["dog"] in run(harbour, "show", "agent/dog:C001").out
    assert MARKS["dog"] in run(harbour, "list", "--scope", "agent/dog").out
    assert MARKS["dog"] not in run(harbour, "list").out


def test_it_is_on_no_page_of_the_wiki(harbour: Path, tmp_path: Path) -> None:
    assert run(harbour, "wiki", "build", "--no-strict", "-o", str(tmp_path / "site"), KB_AGENT="dog").code == 0
    pages = [path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.*") if path.suffix in (".html", ".json")]
    assert any(SHARED in page for page in pages)
    assert not [word for word in MARKS.values() for page in pages if word in page]


def test_nobody_writes_to_another_agents_scope(harbour: Path) -> None:
    with KnowledgeBase(str(harbour), {**os.environ, "KB_AGENT": "cat"}) as kb:
        [verdict] = kb.write(own("dog")[1:2])
    assert verdict.verdict == "refused" and "another agent" in verdict.reasons[0]


def test_a_group_is_told_to_its_projects_only(root: Path) -> None:
    (root / "kb.toml").write_text('groups = ["pay: shop, loan"]\n')
    text = "Amounts are integer cents, as group pay has agreed."
    rule = Candidate("constraint", "Amounts are integer cents", decision=text,
                     why="Floats lose cents.", impact_areas=("security",), scope="group/pay")  # fmt: skip
    with KnowledgeBase(str(root), {**os.environ}) as kb:
        [verdict] = kb.write([rule])
        assert verdict.path.startswith("content/anchors/groups/pay/")
        for project, is_told in (
            ("project/shop", True),
            ("project/loan", True),
            ("project/web", False),
            ("global", False),
        ):
            said = build_start_context(kb, f"s-{project}", source="startup", project=project)
            said += kb.answer_to_prompt("Are amounts integer cents or floats?", project=project)
            assert ("[group/pay:C001]" in said) is is_told
            assert ("group pay has agreed" in kb.context("integer cents", project=project).text) is is_told
        assert kb.record("group/pay:C001").title == rule.title
    assert json.loads(run(root, "list", "--json").out)[0]["scope"] == "group/pay"
    assert list_groups(["pay: shop, loan", "x: web"], "project/loan") == ["group/pay"]
