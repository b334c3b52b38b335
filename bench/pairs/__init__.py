"""Labelled pairs of engineering records, and what the rules make of each: see README.md beside this file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate, Record, Section
from kb.similarity.duplicates import THRESHOLD
from kb.similarity.merge_candidate import decide_candidate

HERE = Path(__file__).parent
HALVES = ("dev", "unseen")
LANGUAGES = ("en", "zh", "mixed")
PROJECT = "project/bench"
COMMITTER = {f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
STEPS = {"duplicate": "merge", "contradicting": "conflict"}
"""Label → the step it calls for; of every other label a new record is made."""


class Shown(NamedTuple):
    """How many true duplicates there are, and how many of them a verdict names."""

    found: int
    due: int


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


def empty(folder: str, environ: Mapping[str, str]) -> KnowledgeBase:
    """Return a new knowledge base in *folder*."""
    return make(folder, {**environ, **COMMITTER})[0]


def shown(of: list[Pair], kb: KnowledgeBase) -> Shown:
    """Return how often the record of a duplicate is among those a verdict names, beside all other records of *of*.

    *kb* is an empty knowledge base; every record of the pairs is written into one project of it.
    """
    records = [pair.record._replace(id="", scope=PROJECT, uid="") for pair in of]
    ids = [verdict.id for verdict in kb.import_records(records, origin="a bench")]
    due = [(pair, id) for pair, id in zip(of, ids, strict=True) if pair.label == "duplicate"]
    found = 0
    for pair, id in due:
        verdict = kb.write([pair.candidate._replace(scope=PROJECT)], dry_run=True)[0]
        named = [*(one.id for one in verdict.similar[:3]), verdict.id]
        found += id in named or any(f"[{id}]" in reason for reason in verdict.reasons)
    return Shown(found, len(due))


def step(pair: Pair) -> str:
    """Return what the rules make of the candidate of *pair* beside its record: merge, conflict or create."""
    return decide_candidate(pair.candidate, [pair.record], THRESHOLD).step


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


def table(of: list[Pair], what: str) -> None:
    """Print precision and recall of the step *what* for each language of the pairs *of* and for all."""
    for language in (*LANGUAGES, "all"):
        one = scored([pair for pair in of if language in (pair.language, "all")], what)
        if one.due:
            print(
                f"  {language:6} {what:9} precision {one.precision:6.1%} ({one.right}/{one.taken})"
                f"  recall {one.recall:6.1%} ({one.right}/{one.due})"
            )
