"""Contradictions that lie close together: each is a review of the record that it contradicts, and of no other."""

from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Record
from kb.similarity.contradictions import find_contradiction
from kb.similarity.merge_candidate import build_sections, decide_candidate
from tests.support.clones import decision, one
from tests.support.sealed import git

THINGS = {"en": ("invoices", "sessions", "search"), "zh": ("发票", "会话", "搜索")}


def storage(thing: str, engine: str, language: str = "en", **changes: object) -> Candidate:
    """Return a decision on where one thing is stored; all of them touch one file."""
    title = f"Use {engine} for {thing} storage" if language == "en" else f"使用 {engine} 存储{thing}数据"
    text = f"The {thing} storage is {engine}." if language == "en" else f"{thing}数据统一存放在 {engine}。"
    given = {"decision": text, "impact": ("kb.toml",), "claims": {f"{thing}.storage": engine}, **changes}
    return decision(0, **given)._replace(title=title)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("claims", [True, False], ids=["claims", "no claims"])
@pytest.mark.parametrize("together", [True, False], ids=["one call", "three calls"])
def test_three_contradictions_are_three_reviews(
    kb: KnowledgeBase, root: Path, language: str, claims: bool, together: bool
) -> None:
    more = {} if claims else {"claims": {}}
    old = [storage(thing, "PostgreSQL", language, session="s1", **more) for thing in THINGS[language]]
    new = [storage(thing, "MongoDB", language, session="s2", **more) for thing in THINGS[language]]
    assert [v.verdict for v in kb.write(old, folder=kb.root)] == ["created"] * 3
    verdicts = kb.write(new, folder=kb.root) if together else [one(kb, candidate) for candidate in new]
    assert [verdict.verdict for verdict in verdicts] == ["conflict"] * 3
    assert sorted(review.against for review in kb.reviews()) == [("D001",), ("D002",), ("D003",)]
    for candidate, verdict in zip(new, verdicts, strict=True):
        text = git(root, "show", f"{verdict.branch}:{verdict.path}")
        assert candidate.title in text and candidate.decision in text
        assert all(other.decision not in text for other in new if other is not candidate)
    for verdict in verdicts:
        kb.accept(verdict.branch)
    assert {r.id: str(r.status) for r in kb.records()} == {
        **dict.fromkeys(("D001", "D002", "D003"), "superseded"), **dict.fromkeys(("D004", "D005", "D006"), "accepted"),
    }  # fmt: skip


def as_record(candidate: Candidate, record_id: str) -> Record:
    """Return *candidate* as the accepted record that it becomes."""
    return Record(
        record_id, candidate.kind, candidate.title, candidate.scope, "accepted", date="2026-01-01",
        impact=candidate.impact, claims=candidate.claims, sections=build_sections(candidate),
    )  # fmt: skip


def test_the_closest_contradiction_is_the_one() -> None:
    """A broad record with the lower number is contradicted as well; the one of the same subject is what is replaced."""
    broad = storage("all", "PostgreSQL", scope="global", claims={})._replace(title="Use PostgreSQL for storage")
    own = storage("invoices", "PostgreSQL", scope="global", claims={})
    new = storage("invoices", "MongoDB", scope="global", claims={})
    near = [as_record(broad, "D001"), as_record(own, "D002")]
    assert all(find_contradiction(new, record) for record in near), "or this shows nothing"
    for records in (near, near[::-1]):
        found = decide_candidate(new, records, 0.8)
        assert found.step == "conflict" and found.record and found.record.id == "D002"


def test_a_path_in_common_is_no_subject_in_common() -> None:
    old = as_record(storage("invoices", "PostgreSQL", scope="global", claims={}), "D001")
    other = storage("sessions", "MongoDB", scope="global", claims={})
    assert find_contradiction(other, old) is None
