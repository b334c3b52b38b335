"""Ten clones, fifty writes each, syncs at random: nothing is lost, all numbers are unique, all end up alike.

A tenth of that in the ordinary run; all of it with KB_MANY=1.
"""

import os
import random

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record
from kb.sync.sync import SyncRun, sync_with_remote
from tests.support.clones import SMALL
from tests.support.sealed import Clock, git
from tests.support.team import FIXTURES, Team, thought, written

base, team = FIXTURES

CLONES, WRITES, SEEDS = (10, 50, (1,)) if os.environ.get("KB_MANY") else (3, 6, (1, 2))


class Crowd:
    """Clones that write and sync as chance has it."""

    def __init__(self, team: Team, seed: int, clock: Clock) -> None:
        self.random = random.Random(seed)
        self.clock = clock
        self.clones = [team.clone(f"clone{number}") for number in range(CLONES)]
        self.wrote: dict[str, tuple[str, str]] = {}
        """Uid → title, and the uid that the record cites."""
        self.heard: dict[str, int] = {}
        """Uid → how often a record was heard again."""
        self.held: set[str] = set()
        """The titles of what the gate held back."""
        self.syncs = 0

    def live(self) -> None:
        """Write until everybody has written enough."""
        left = [number for number in range(CLONES) for _ in range(WRITES)]
        self.random.shuffle(left)
        for serial, number in enumerate(left):
            self.clock.seconds += 1
            self._write(self.clones[number], serial)
            while self.random.random() < 0.25:
                self._sync(self.random.choice(self.clones))

    def _write(self, kb: KnowledgeBase, serial: int) -> None:
        known = [record for record in kb.records() if record.uid in self.wrote]
        again = self.random.choice(known) if known and self.random.random() < 0.15 else None
        if again and not again.sources[0].endswith("x"):
            number = int(again.sources[0].rpartition("s")[2])
            written(kb, thought(number, why=f"Reason {serial} was heard later.", session=f"s{number}x{serial}"))
            self.heard[again.uid] = self.heard.get(again.uid, 0) + 1
            return
        cited = self.random.choice(known) if known and self.random.random() < 0.5 else None
        (verdict,) = kb.write([thought(serial, f"See [{cited.id}]." if cited else "")], folder=kb.root, decided=True)
        assert verdict.verdict == "created", verdict
        self.wrote[verdict.uid] = (verdict.title, cited.uid if cited else "")
        if self.random.random() < 0.1:
            door = f"door {serial} of {verdict.uid}"
            held = SMALL._replace(title=f"Paint {door}", decision=f"The {door} is painted blue.", session=f"s{serial}")
            assert kb.write([held], folder=kb.root)[0].verdict == "held"
            self.held.add(held.title)

    def _sync(self, kb: KnowledgeBase) -> None:
        """Sync one clone; now and then somebody else is faster than its push."""
        self.syncs += 1
        step = SyncRun(kb)
        step.fetch()
        step.integrate()
        if self.random.random() < 0.2:
            sync_with_remote(self.random.choice(self.clones))
        if not step.push():
            sync_with_remote(kb)


def ends(kb: KnowledgeBase) -> dict[str, Record]:
    """Return the records by uid."""
    return {record.uid: record for record in kb.records()}


@pytest.mark.timeout(1_800 if CLONES > 3 else 120)
@pytest.mark.parametrize("seed", SEEDS)
def test_many_clones_end_up_alike(team: Team, clock: Clock, seed: int) -> None:
    crowd = Crowd(team, seed, clock)
    crowd.live()
    for kb in crowd.clones * 2:
        sync_with_remote(kb)
    assert {git(kb.root, "rev-parse", "HEAD").strip() for kb in crowd.clones} == {team.tip()}
    assert len({git(kb.root, "rev-parse", "refs/kb/inbox") for kb in crowd.clones}) == 1
    found = ends(crowd.clones[0])
    assert all(ends(kb) == found for kb in crowd.clones)
    assert set(found) == set(crowd.wrote), "nothing is lost, and nothing is there that nobody wrote"
    assert len({record.id for record in found.values()}) == len(found)
    for uid, (title, cited) in crowd.wrote.items():
        assert found[uid].title == title
        assert not cited or f"See [{found[cited].id}]." in found[uid].section("decision")
        assert found[uid].occurrences == 1 + crowd.heard.get(uid, 0)
    for kb in crowd.clones:
        assert {entry.candidate.title for entry in kb.held()} == crowd.held
        assert git(kb.root, "status", "--porcelain") == "" and kb.reviews() == []
    assert [finding for finding in crowd.clones[0].check() if finding.severity == "error"] == []
    assert git(team.remote, "fsck", "--strict", "--no-dangling") == ""
    print(f"{len(found)} records, {crowd.syncs} syncs")
