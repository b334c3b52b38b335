"""With what a candidate is compared: with the live records of its scope, however many others say the like."""

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Record, Status
from tests.support.clones import FASTAPI, FLASK, decision, one

MANY = 40
"""More than are ever compared at once."""


def test_records_of_other_projects_crowd_out_none_of_ones_own(kb: KnowledgeBase) -> None:
    def said(title: str, scope: str) -> Candidate:
        return decision(0, scope=scope, decision="Orders live in PostgreSQL in every region.")._replace(title=title)

    others = [said("Use PostgreSQL for orders now", f"project/p{number}") for number in range(MANY)]
    assert {verdict.verdict for verdict in kb.write(others)} == {"created"}
    assert one(kb, said("Use PostgreSQL for the orders", "project/mine")).verdict == "created"
    verdict = one(kb, said("Use PostgreSQL for orders now", "project/mine"))
    assert [similar.title for similar in verdict.similar] == ["Use PostgreSQL for the orders"]


def test_a_claim_that_other_projects_make_too_is_still_ones_own(kb: KnowledgeBase) -> None:
    others = [FASTAPI._replace(scope=f"project/p{number}") for number in range(MANY)]
    assert {verdict.verdict for verdict in kb.write(others)} == {"created"}
    one(kb, FASTAPI._replace(title="Build every endpoint on one stack", scope="project/mine", impact=()))
    verdict = one(kb, FLASK._replace(title="Serve pages by another library", scope="project/mine", impact=()))
    assert verdict.verdict == "conflict", "the claim backend.framework says otherwise"


def test_records_that_hold_no_longer_crowd_out_none_that_do(kb: KnowledgeBase) -> None:
    gone = [
        Record(f"D{number:03}", "decision", f"Use PostgreSQL for orders in region {number}", status=Status.DEPRECATED)
        for number in range(1, MANY)
    ]
    kb.import_records(gone, origin="a test")
    kept = one(kb, decision(0)._replace(title="Use the PostgreSQL cluster for the orders of all the regions"))
    verdict = one(kb, decision(0)._replace(title="Use PostgreSQL for orders in region 99"))
    assert kept.id in [similar.id for similar in verdict.similar]
