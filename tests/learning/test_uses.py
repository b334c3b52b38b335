"""Told, used and contradicted are read off transcripts, summed over clones, and move a record's rank by 5 % at most."""

from pathlib import Path

import pytest

from kb.context.give_hints import build_prompt_hint
from kb.knowledge_base import KnowledgeBase
from kb.learning.uses import RecordUses, encode_uses, list_uses, load_uses, merge_uses
from kb.records.model import Candidate
from kb.search.rank import DORMANT_WEIGHT, MAX_USE_BONUS, weigh_uses
from kb.state.session_log import EDIT, SessionLog
from tests.support.clones import WHOLE
from tests.support.command_line import run
from tests.support.sealed import Clock, git
from tests.support.talk import answered, called, said

QUEUE = Candidate(
    "decision", "Orders are queued in RabbitMQ", **WHOLE | {"decision": "Orders go through RabbitMQ, never HTTP.",
    "verification": "Run `make check-queue` on the staging host.", "impact": ("src/queue.py",)},
)  # fmt: skip
LOCAL = {"decision": "会话缓存统一放在 Redis 集群里，不用本地内存。", "impact": ("src/cache.py",)}
CACHE = Candidate(
    "decision", "缓存统一使用 Redis 集群", **WHOLE | LOCAL
)  # fmt: skip
TASK = said("user", "Please finish the order service.")
Counts = dict[str, tuple[int, int, int]]


def count(kb: KnowledgeBase) -> Counts:
    """Return by id how often each record was told, used and contradicted."""
    of_uid = {record.uid: record.id for record in kb.records()}
    return {
        of_uid.get(uid, uid): (uses.count("told"), uses.count("used"), uses.count("contradicted"))
        for uid, uses in load_uses(kb).items()
    }


def save(kb: KnowledgeBase, folder: Path, *lines: str, session: str = "s-uses") -> None:
    path = folder / f"{session}.jsonl"
    path.write_text("".join((TASK, *lines)), encoding="utf-8")
    kb.save_session(str(path), session=session, folder=kb.root)


@pytest.fixture
def two(kb: KnowledgeBase) -> KnowledgeBase:
    kb.write([QUEUE, CACHE], folder=kb.root)
    return kb


def tell(kb: KnowledgeBase, *ids: str, session: str = "s-uses", beginning: str = "") -> None:
    SessionLog(kb, session).mark_told(*(beginning + kb.record(one).uid for one in ids))


def test_one_record_is_used_and_one_is_contradicted(two: KnowledgeBase, tmp_path: Path) -> None:
    log = SessionLog(two, "s-uses")
    assert "RabbitMQ" in build_prompt_hint(two, "Should orders be queued in RabbitMQ or Kafka?", told=log)
    assert "Redis" in build_prompt_hint(two, "会话缓存放在 Redis 集群还是本地内存？", told=log)
    lines = (
        said("assistant", "Orders go through the queue, as [D001] says."),
        said("user", "不对，缓存早就不用 Redis 集群了，改成本地内存。"),
        said("assistant", "明白。"),
    )
    save(two, tmp_path, *lines)
    assert count(two) == {"D001": (1, 1, 0), "D002": (1, 0, 1)}
    ref = two.repository.resolve_ref("refs/kb/uses")
    save(two, tmp_path, *lines)
    save(two, tmp_path, *lines, said("assistant", "Done, see [D001]."))
    assert two.repository.resolve_ref("refs/kb/uses") == ref, "a session that is saved again counts once"
    assert git(Path(two.root), "status", "--porcelain") == "", "no record changes when it is read"


@pytest.mark.parametrize(
    ("calls", "used"),
    [
        (called("Bash", {"command": "kb show D001"}) + answered(), 1),
        (called("Bash", {"command": "cd api && make  check-queue"}) + answered(), 1),
        (called("Edit", {"file_path": "src/queue.py", "old_string": "a", "new_string": "b"}) + answered(), 1),
        (called("Edit", {"file_path": "src/other.py", "old_string": "a", "new_string": "b"}) + answered(), 0),
        (said("assistant", "All right, I have finished."), 0),
    ],
)
def test_what_an_agent_does_says_what_was_used(two: KnowledgeBase, tmp_path: Path, calls: str, used: int) -> None:
    tell(two, "D001")
    save(two, tmp_path, calls)
    assert count(two) == {"D001": (1, used, 0)}


def test_the_edit_at_which_a_record_was_told_is_no_use_of_it(two: KnowledgeBase, tmp_path: Path) -> None:
    tell(two, "D001")
    tell(two, "D001", beginning=EDIT)
    save(two, tmp_path, called("Edit", {"file_path": "src/queue.py"}) + answered())
    assert count(two) == {"D001": (1, 0, 0)}


def test_what_was_done_before_the_telling_does_not_count(two: KnowledgeBase, tmp_path: Path, clock: Clock) -> None:
    tell(two, "D001")
    day = two.today()
    before = said("assistant", "", timestamp=f"{day}T00:00:00+00:00").replace('"text": ""', '"text": "I begin."')
    edit = called("Edit", {"file_path": "src/queue.py"}).replace(
        '{"type"', f'{{"timestamp": "{day}T00:00:01+00:00", "type"', 1
    )
    late = said("assistant", "Done.", timestamp="2099-01-01T00:00:00Z")
    path = tmp_path / "t.jsonl"
    path.write_text(before + edit + answered() + late, encoding="utf-8")
    two.save_session(str(path), session="s-uses", folder=two.root)
    assert count(two) == {"D001": (1, 0, 0)}


def test_who_wrote_a_record_has_not_used_it(two: KnowledgeBase, tmp_path: Path) -> None:
    two.write([QUEUE._replace(title="Invoices are numbered by year", decision="Invoices are numbered by year.",
                              session="s-uses", host="test", impact=())], folder=two.root)  # fmt: skip
    save(two, tmp_path, said("assistant", "I have recorded [D003]."))
    assert count(two) == {}


def test_two_clones_sum_up_and_count_no_session_twice(tmp_path: Path, two: KnowledgeBase) -> None:
    tell(two, "D001", session="first")
    save(two, tmp_path, said("assistant", "See [D001]."), session="first")
    root, remote, other = Path(two.root), tmp_path / "remote.git", tmp_path / "other"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(root, "remote", "add", "origin", str(remote))
    git(root, "push", "-q", "-u", "origin", "HEAD")
    run(root, "sync")
    git(tmp_path, "clone", "-q", "-b", "main", str(remote), str(other))
    with KnowledgeBase(str(other), two.environment) as clone:
        run(other, "sync")
        assert count(clone) == {"D001": (1, 1, 0)}
        tell(clone, "D001", session="second")
        save(clone, tmp_path, said("assistant", "As [D001] has it."), session="second")
        save(clone, tmp_path, said("assistant", "See [D001]."), session="first")
        tell(two, "D002", session="third")
        save(two, tmp_path, said("assistant", "I looked."), session="third")
        for place in (root, other, root):
            run(place, "sync")
        assert count(clone) == count(two) == {"D001": (2, 2, 0), "D002": (1, 0, 0)}


def test_the_rank_moves_by_five_percent_at_most_and_not_for_being_told(two: KnowledgeBase, tmp_path: Path) -> None:
    records = two.records()
    for number in range(9):
        save(two, tmp_path, said("assistant", "As [D001] says."), session=f"u{number}")
        tell(two, "D002", session=f"u{number}")
    weights = weigh_uses(two.index, records, two.today)
    assert weights == {records[0].uid: 1 + MAX_USE_BONUS}
    found = two.recall("orders RabbitMQ")
    assert found[0].parts["×used"] == 1 + MAX_USE_BONUS


def test_sets_of_sessions_are_united_in_any_order() -> None:
    one = encode_uses(RecordUses(told={"2026-11-20": frozenset({"a", "b"})}))
    other = encode_uses(RecordUses(told={"2026-11-21": frozenset({"a", "c"})}, used={"2026-11-21": frozenset({"c"})}))
    assert merge_uses(one, other) == merge_uses(other, one) != one
    assert merge_uses(merge_uses(one, other), other) == merge_uses(one, other)
    assert merge_uses(one, b"no json") == one


def test_a_dormant_record_is_not_told_and_is_still_found(two: KnowledgeBase, clock: Clock) -> None:
    asked = "Should orders be queued in RabbitMQ or Kafka?"
    clock.seconds += 179 * 86_400
    assert "RabbitMQ" in build_prompt_hint(two, asked, told=SessionLog(two, "early"))
    clock.seconds += 2 * 86_400
    assert build_prompt_hint(two, asked, told=SessionLog(two, "late")) == ""
    assert "RabbitMQ" in build_prompt_hint(two, "What does [D001] say of RabbitMQ?", told=SessionLog(two, "named"))
    found = two.recall("RabbitMQ")
    assert [one.record.id for one in found] == ["D001"] and found[0].parts["×used"] == DORMANT_WEIGHT
    two.confirm("D001")
    assert "RabbitMQ" in build_prompt_hint(two, asked, told=SessionLog(two, "confirmed"))


def test_a_telling_keeps_a_record_awake(two: KnowledgeBase, tmp_path: Path, clock: Clock) -> None:
    clock.seconds += 100 * 86_400
    tell(two, "D001")
    save(two, tmp_path, said("assistant", "Done."))
    clock.seconds += 100 * 86_400
    weights = weigh_uses(two.index, two.records(), two.today)
    assert weights == {two.record("D002").uid: DORMANT_WEIGHT}


def test_what_was_told_by_a_command_is_in_the_history(two: KnowledgeBase) -> None:
    record = two.record("D001")
    two.hint("t2", ["RabbitMQ"])
    assert [use.stage for use in list_uses(two, record)] == ["matured"]
    assert "told (×1)" in run(Path(two.root), "history", "D001").out
