"""Which records a verdict names as similar: the three likest, whether they share a word or only letters."""

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.support.clones import WHOLE, decision, one


def said(title: str, **more: str) -> Candidate:
    return Candidate("decision", title, **{**WHOLE, "decision": f"{title}.", "impact": (), **more})  # type: ignore[arg-type]


def test_letters_are_enough_where_no_word_is_shared(kb: KnowledgeBase) -> None:
    kb.write([said("Dedupe webhook deliveries"), said("缓存失效策略"), said("Zip quarterly dumps")], folder=kb.root)
    verdict = one(kb, said("Deduplicate hooks"))
    assert verdict.verdict == "created"
    assert verdict.similar[0].title == "Dedupe webhook deliveries"
    assert "缓存失效策略" not in [similar.title for similar in verdict.similar], "a likeness of 0 is none"
    assert all(0 < similar.score < 1 for similar in verdict.similar)


def test_there_are_three_at_most_the_likest_first(kb: KnowledgeBase) -> None:
    kb.write([decision(number) for number in range(8)], folder=kb.root)
    verdict = one(kb, said("Keep gateway deadlines strict"))
    assert len(verdict.similar) == 3 and verdict.similar[0].title == "Keep gateway deadlines simple"
    assert [s.score for s in verdict.similar] == sorted((s.score for s in verdict.similar), reverse=True)


def test_neither_itself_nor_another_scope_is_named(kb: KnowledgeBase) -> None:
    one(kb, said("Dedupe webhook deliveries", scope="project/other"))
    assert one(kb, said("Deduplicate hooks", scope="project/mine")).similar == ()
