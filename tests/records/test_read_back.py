"""What kb writes it can read back: sizes are bounded before the commit, and a record seen very often stays writable."""

import shutil
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.front_matter import MAX_FRONT
from kb.records.model import Candidate, Record
from kb.similarity import merge_candidate
from kb.similarity.merge_candidate import SOURCES, add_source
from kb.writing import inbox
from tests.support.clones import commits, decision, one
from tests.support.sealed import git

LONG = "x" * (MAX_FRONT + 1_000)

TOO_LARGE: list[tuple[str, dict[str, object]]] = [
    ("tags", {"tags": (LONG,)}),
    ("session", {"session": LONG, "host": "t"}),
    ("claims", {"claims": {"engine": LONG}}),
    ("impact", {"impact": ("src/" + LONG,)}),
    ("tags", {"tags": tuple(f"tag-{number}" for number in range(9_000))}),
    ("decision", {"decision": "x" * 4_200_000}),
    ("coexists_with", {"coexists_with": {"D009": LONG}}),
]


@pytest.mark.parametrize(("field", "given"), TOO_LARGE, ids=[f"{n}-{field}" for n, (field, _) in enumerate(TOO_LARGE)])
def test_what_could_not_be_read_back_is_refused(
    kb: KnowledgeBase, root: Path, field: str, given: dict[str, object]
) -> None:
    before = commits(root)
    verdict = one(kb, decision(0, **given))
    assert verdict.verdict == "refused" and commits(root) == before
    assert any(f"the field {field} has" in reason and "may have" in reason for reason in verdict.reasons)
    assert field in verdict.next


def test_what_fits_is_read_back_in_another_clone(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    tags = ("y" * 10_000,)
    assert one(kb, decision(0, tags=tags, session="s" * 900)).verdict == "created"
    git(tmp_path, "clone", "-q", str(root), "other")
    with KnowledgeBase.at(str(tmp_path / "other")) as other:
        assert other.record("D001").tags == tags and other.list_unreadable() == []


def test_an_imported_record_that_is_too_large_is_refused_alone(kb: KnowledgeBase) -> None:
    good = Record("D001", "decision", "Keep the ledger in one place", status="accepted")
    bad = Record("D002", "decision", "Keep the invoices in one place", tags=(LONG,), status="accepted")
    verdicts = kb.import_records([good, bad], origin="elsewhere")
    assert [verdict.verdict for verdict in verdicts] == ["created", "refused"]
    assert "larger than" in verdicts[1].reasons[0] and kb.list_unreadable() == [] and len(kb.records()) == 1


# -- seen very often -------------------------------------------------------------------------------


def seen_often(kb: KnowledgeBase, root: Path, times: int) -> Candidate:
    """Write a record that names *times* sessions, as kb did when it kept all of them."""
    candidate = decision(0, impact=("kb.toml",), session="s0", host="claude-code")
    path = root / one(kb, candidate).path
    names = ", ".join(f'"claude-code/{number:036}"' for number in range(times))
    text = path.read_text("utf-8").replace("sources: [claude-code/s0]", f"occurrences: {times}\nsources: [{names}]")
    assert f"occurrences: {times}" in text
    path.write_text(text, "utf-8")
    git(root, "commit", "-qam", "Seen often")
    return candidate


def test_a_record_seen_very_often_is_still_counted_and_confirmed(kb: KnowledgeBase, root: Path) -> None:
    times = 1_200
    candidate = seen_often(kb, root, times)
    assert kb.confirm("D001").verdict == "updated"
    verdict = one(kb, candidate._replace(session="new", why="The spring test measured nine thousand a second."))
    assert verdict.verdict == "appended"
    record = kb.record("D001")
    assert record.occurrences == times + 1 and len(record.sources) == SOURCES
    assert record.sources[0].endswith("/" + "0" * 36) and record.sources[-1] == "claude-code/new"


def test_thousands_of_sessions_leave_room(kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with thousands, so with the ninth where there is room for eight."""
    room = 8
    for module in (merge_candidate, inbox):
        monkeypatch.setattr(module, "SOURCES", room)
    candidate = decision(0, impact=("kb.toml",))
    for number in range(room + 5):
        (verdict,) = kb.write([candidate._replace(session=f"s{number}", host="t")], folder=kb.root)
        assert verdict.verdict in ("created", "updated"), verdict
    record = kb.record("D001")
    assert record.occurrences == room + 5 and len(record.sources) == room
    assert (record.sources[0], record.sources[-1]) == ("t/s0", f"t/s{room + 4}")
    shutil.rmtree(root / ".kb")
    with KnowledgeBase.at(str(root)) as again:
        assert again.record("D001").occurrences == room + 5


def test_the_first_source_and_the_last_ones_are_kept() -> None:
    many = tuple(f"t/{number}" for number in range(500))
    kept = add_source(many, "t/new")
    assert len(kept) == SOURCES and (kept[0], kept[-1]) == ("t/0", "t/new") and add_source(kept, "t/new") == kept
    assert add_source(("t/1",), "") == ("t/1",)
