"""Measure what is taken for untrusted: recall on written attacks, what real texts trip over, and the time it takes.

    KB_BENCH_DATA=… python -m bench.untrusted

The attacks are those of `tests/data/attacks.jsonl`, half of which the patterns were not tried on. Of the decision
records (`adr/`) and the sessions (`transcripts/`) every hit is listed: what candidates are made of (what people and
agents say) counts, what tools print does not. Exits with 1 when more is tripped over than was promised.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kb.safety.injection import COMMENT, find_instruction, find_threats
from kb.sessions import transcript as transcripts
from kb.sessions.transcript import AGENT, HUMAN

ATTACKS = Path(__file__).parent.parent / "tests" / "data" / "attacks.jsonl"
TRIPPED = 0.001
"""Share of the decision records that may be taken for what they are not."""
_CANDIDATE = 1500
"""Characters of a long candidate."""


def main() -> int:
    """Print every figure; return 1 when one is worse than was promised."""
    for half in ("tried", "held out"):
        rows = [row["text"] for row in map(json.loads, ATTACKS.read_text("utf-8").splitlines()) if row["set"] == half]
        print(f"attacks, {half}: {sum(find_instruction(text) is not None for text in rows)} of {len(rows)} found")
    data = os.environ.get("KB_BENCH_DATA", "")
    if not data:
        print("KB_BENCH_DATA is not set: the corpora are left out", file=sys.stderr)
        return 0
    records = list(_records(Path(data) / "adr"))
    good = _tripped("decision records", records) <= TRIPPED
    _tripped("turns of people and agents", list(_turns(Path(data) / "transcripts")))
    _times([text[:_CANDIDATE] for _, text in records])
    return 0 if good else 1


def _records(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.md")):
        yield str(path.relative_to(folder)), path.read_text("utf-8", "replace")


def _turns(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.jsonl")):
        for message in transcripts.parse_transcript(path.read_bytes()).messages:
            if message.origin in (HUMAN, AGENT):
                yield from ((f"{path.name}:{message.line}", text) for text in message.texts)


def _tripped(name: str, texts: list[tuple[str, str]]) -> float:
    """List the texts with a trouble and return their share; bare comments are held of candidates and told of apart."""
    hits = {place: found for place, text in texts if (found := find_threats(text))}
    for place, found in hits.items():
        for one in found[:5]:
            print(f"    {place}:{one.line} {one.kind} {one.words!r}")
    bad = [found for found in hits.values() if any(one.kind != COMMENT for one in found)]
    print(f"{name}: {len(bad)} of {len(texts)} tripped; with prose in comments {len(hits)}")
    return len(bad) / max(len(texts), 1)


def _times(texts: list[str]) -> None:
    for text in texts:
        find_threats(text)
    spent = [min(_time(text) for _ in range(3)) for text in texts]
    p95 = sorted(spent)[len(spent) * 95 // 100]
    print(f"{_CANDIDATE} characters: median {statistics.median(spent):.0f} µs, p95 {p95:.0f} µs")


def _time(text: str) -> float:
    began = time.perf_counter()
    find_threats(text)
    return (time.perf_counter() - began) * 1e6


if __name__ == "__main__":
    sys.exit(main())
