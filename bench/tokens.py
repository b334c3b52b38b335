"""How near the estimate of tokens comes to what tokenizers count.

    pip install '.[bench]'
    KB_BENCH_DATA=… python -m bench.tokens

`kb.text.segment.estimate_tokens` is measured against three vocabularies: it is meant for the larger count of Claude's
published one and of cl100k; o200k takes half as many for Chinese and is shown beside them. Every other text was used
for the calibration; these are the others. A text of fewer than `LONG` tokens is reported apart: in a sentence one rare
word is a tenth. Then packs of real decision records are built, and none may pass its budget by any of the three.
"""

import glob
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from statistics import mean

from bench import recallsets
from bench.recallfloor import filled
from kb.context.build_context import compose_context
from kb.text.segment import estimate_tokens

LONG = 100
MUST_NOT_BE_UNDER = 0.05
BUDGETS = (50, 150, 400, 1500, 4000)
EVERY = 12
"""One of so many questions is asked for a pack."""

Counts = Mapping[str, Callable[[str], int]]


def vocabularies() -> Counts:
    """Return what counts tokens, by the name of the vocabulary; none where the packages are missing."""
    try:
        import anthropic_tokenizer
        import bpe_openai
    except ImportError:
        return {}
    cl100k, o200k = (bpe_openai.get_encoding(name) for name in ("cl100k_base", "o200k_base"))
    return {
        "claude": anthropic_tokenizer.count_tokens,
        "cl100k": lambda text: len(cl100k.encode_ordinary(text)),
        "o200k": lambda text: len(o200k.encode_ordinary(text)),
    }


def sets(data: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts that the estimate was not calibrated on, by where they are from."""
    for folder in recallsets.folders(data, "adr", "*"):
        names = sorted(glob.glob(os.path.join(folder, "**", "*.md"), recursive=True))
        yield os.path.basename(folder), [_read(name) for name in names][::2]
    for folder in recallsets.folders(data, "retrieval", "*"):
        texts = [str(row["text"]) for row in recallsets.rows(os.path.join(folder, "docs.jsonl"))]
        yield os.path.basename(folder), texts[:400:2]
    for folder in recallsets.folders(data, "pairs", "*"):
        with open(os.path.join(folder, "pairs.tsv"), encoding="utf-8") as file:
            yield os.path.basename(folder), [row.split("\t")[0] for row in file][1:401:2]
    said = [text for name in sorted(glob.glob(os.path.join(data, "transcripts", "*.jsonl"))) for text in _said(name)]
    yield "transcripts", said[:: max(len(said) // 200, 1)]


def _read(name: str) -> str:
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


def _said(name: str) -> Iterator[str]:
    """Yield the texts and results of a transcript, cut to what a pack could hold."""
    for row in recallsets.rows(name):
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            text = part.get("text") or part.get("content")
            if isinstance(text, str) and len(text) > 50:
                yield text[:20_000]


def main() -> int:
    """Print the tables."""
    data, counts = os.environ.get("KB_BENCH_DATA", ""), vocabularies()
    if not data or not counts:
        print("set KB_BENCH_DATA, and: pip install '.[bench]'", file=sys.stderr)
        return 2
    print("| texts | n | mean error % | lowest % | under by > 5 % | of claude | of cl100k | of o200k |")
    print("|---|---|---|---|---|---|---|---|")
    everything: list[tuple[int, int]] = []
    short: list[tuple[int, int]] = []
    for name, texts in sets(data):
        measured = [
            (estimate_tokens(text), *(count(text) for count in counts.values())) for text in texts if text.strip()
        ]
        own = [(row[0], max(row[1], row[2])) for row in measured]
        everything += [row for row in own if row[1] >= LONG]
        short += [row for row in own if row[1] < LONG]
        shares = [100 * sum(r[0] for r in measured) / sum(r[n] for r in measured) for n in (1, 2, 3)]
        print(line(name, own, [f"{share:.0f}" for share in shares]), flush=True)
    print(line(f"all of {LONG} tokens and more", everything, ["", "", ""]))
    print(line(f"all of fewer than {LONG} tokens", short, ["", "", ""]))
    print(line("all", everything + short, ["", "", ""]))
    return packs(data, counts)


def line(name: str, rows: list[tuple[int, int]], more: list[str]) -> str:
    """Return a row of the table: estimate against count."""
    ratios = [estimate / count for estimate, count in rows if count] or [1.0]
    under = sum(ratio < 1 - MUST_NOT_BE_UNDER for ratio in ratios)
    error = 100 * mean(abs(ratio - 1) for ratio in ratios)
    cells = [name, str(len(rows)), f"{error:.1f}", f"{100 * min(ratios) - 100:+.0f}", str(under), *more]
    return f"| {' | '.join(cells)} |"


def packs(data: str, counts: Counts) -> int:
    """Print how full contexts are and how many pass their budget; return 1 where one does."""
    print("\n| budget | contexts | filled by the estimate % | fullest by claude % | by cl100k % | by o200k % | over |")
    print("|---|---|---|---|---|---|---|")
    parts = recallsets.decision_records(data)
    records = [r._replace(id=f"D{n:04}", uid="", path="") for n, r in enumerate(r for p in parts for r in p.records)]
    questions = [question.text for part in parts for question in (*part.dev, *part.rest)][::EVERY]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, filled(os.path.join(folder, "kb"), records) as kb:
        for budget in BUDGETS:
            texts = [text for question in questions if (text := compose_context(kb, question, budget=budget).text)]
            most = {name: max((count(t) / budget for t in texts), default=0) for name, count in counts.items()}
            over = sum(any(count(text) > budget for count in counts.values()) for text in texts)
            failed += over
            full = mean(estimate_tokens(t) / budget for t in texts) if texts else 0
            fullest = " | ".join(f"{100 * share:.0f}" for share in most.values())
            print(f"| {budget} | {len(texts)} | {100 * full:.0f} | {fullest} | {over} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
