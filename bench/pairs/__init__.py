"""Labelled pairs of engineering records, and what the rules make of each: see README.md beside this file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from kb.record import Candidate, Record, Section
from kb.writing.dedup import THRESHOLD
from kb.writing.verdict import decide

HERE = Path(__file__).parent
HALVES = ("dev", "unseen")
LANGUAGES = ("en", "zh", "mixed")
STEPS = {"duplicate": "merge", "contradicting": "conflict"}
"""Label → the step it calls for; of every other label a new record is made."""


class Pair(NamedTuple):
    """A record and a candidate that comes after it, and how the two stand to each other."""

    id: str
    label: str
    language: str
    record: Record
    candidate: Candidate


def pairs(half: str) -> list[Pair]:
    """Return the labelled pairs of one *half*, "dev" or "unseen"; no two of them share a project."""
    lines = (HERE / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_pair(json.loads(line)) for line in lines]


def _pair(row: dict[str, object]) -> Pair:
    first, second = dict(row["first"]), dict(row["second"])  # type: ignore[call-overload]
    kind, scope = str(row["kind"]), f"project/{row['id']}"
    sections = tuple(Section(name, name.title(), first[name]) for name in ("decision", "why") if name in first)
    record = Record("D001", kind, first["title"], scope, "accepted", sections=sections)
    candidate = Candidate(kind, second["title"], second["decision"], why=second.get("why", ""), scope=scope)
    return Pair(str(row["id"]), str(row["label"]), str(row["language"]), record, candidate)


def step(pair: Pair) -> str:
    """Return what the rules make of the candidate of *pair* beside its record: merge, conflict or create."""
    return decide(pair.candidate, [pair.record], THRESHOLD).step


class Score(NamedTuple):
    """How often one step was taken rightly, was taken, and was called for."""

    right: int
    taken: int
    due: int

    @property
    def precision(self) -> float:
        """Return the share of the steps taken that were right."""
        return self.right / self.taken if self.taken else 1.0

    @property
    def recall(self) -> float:
        """Return the share of the steps called for that were taken."""
        return self.right / self.due if self.due else 1.0


def scored(of: list[Pair], what: str) -> Score:
    """Return how well the rules take the step *what*, merge or conflict, on the pairs *of*."""
    counts = Counter((STEPS.get(pair.label, "create"), step(pair)) for pair in of)
    return Score(
        counts[what, what],
        sum(number for (_, taken), number in counts.items() if taken == what),
        sum(number for (due, _), number in counts.items() if due == what),
    )
