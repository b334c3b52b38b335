"""Measure the masking of secrets: recall on made-up ones, and what is masked in texts that hold none.

    python -m bench.redact [--half dev|held-out] [--seed 1]

The secrets are those of `bench.pasted`. With KB_BENCH_DATA, a folder of public data, every line of the decision records
(`adr/`) and of the sessions (`transcripts/`) that loses something is listed; a real address among them is no mistake.
"""

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

from bench.pasted import Pasted, pasted
from kb.safety.redaction import redact_text

RECALL = 0.99
MASKED = 0.005


def main() -> int:
    """Print every figure; return 1 when one is worse than was promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("dev", "held-out"), default="")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = list(pasted(options.seed))
    good = True
    for half in (options.half,) if options.half else ("dev", "held-out"):
        good &= recall(half, [row for row in rows if row.held_out == (half == "held-out")])
    data = os.environ.get("KB_BENCH_DATA", "")
    for name in ("adr", "transcripts") if data else ():
        good &= corpus(name, lines(os.path.join(data, name)))
    return 0 if good else 1


def recall(half: str, rows: list[Pasted]) -> bool:
    """Print the recall on *rows*, for each kind and carrier, and every miss; say whether it is good enough."""
    missed = [(row, left) for row in rows if (left := row.left_in(redact_text(row.text)[0]))]
    share = 1 - len(missed) / len(rows)
    kinds, carriers = Counter(row.kind for row in rows), Counter(row.carrier for row in rows)
    found = f"recall {share:.2%} ({len(rows) - len(missed)}/{len(rows)})"
    print(f"\n{half}: {len(kinds)} kinds, {len(carriers)} carriers; {found}")
    for title, counts, lost in (
        ("kind", kinds, Counter(row.kind for row, _ in missed)),
        ("carrier", carriers, Counter(row.carrier for row, _ in missed)),
    ):
        whole = sum(not lost[name] for name in counts)
        print(f"  {whole} of {len(counts)} {title}s without a miss; the others:")
        for name, count in lost.most_common():
            print(f"    {name:24} {1 - count / counts[name]:7.1%} ({counts[name] - count}/{counts[name]})")
    for row, left in missed:
        print(f"    missed {row.kind} in {row.carrier}: {left!r} of {row.text[:160]!r}")
    return share >= RECALL


def corpus(name: str, texts: Iterator[tuple[str, str]]) -> bool:
    """Print every line of a corpus that loses something; say whether they are few enough."""
    total, rules = 0, Counter[str]()
    listed: dict[str, list[str]] = defaultdict(list)
    for place, text in texts:
        rows = text.splitlines()
        total += len(rows)
        masked = {place.line: place.rule for place in reversed(redact_text(text)[1])}
        rules.update(masked.values())
        for line, rule in masked.items():
            shown = text.split("\n")[line - 1].strip()
            listed[f"{rule:16} {shown[:200]}"].append(f"{place}:{line}")
    masked_lines = sum(rules.values())
    share = masked_lines / max(total, 1)
    print(f"\n{name}: {masked_lines} of {total} lines lose something ({share:.3%}), {len(listed)} distinct")
    print("  " + ", ".join(f"{rule} {count}" for rule, count in rules.most_common()))
    for shown, places in sorted(listed.items()):
        print(f"    {shown}  [{places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}]")
    return masked_lines <= MASKED * total


def lines(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the place and text of every markdown file under *folder*, and of every string in its JSON lines."""
    for base, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(base, name)
            if name.endswith((".md", ".jsonl")):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
            if name.endswith(".md"):
                yield os.path.relpath(path, folder), text
            elif name.endswith(".jsonl"):
                for number, row in enumerate(text.splitlines(), 1):
                    for string in strings(json.loads(row)):
                        yield f"{name}:{number}", string


def strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON *value*."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


if __name__ == "__main__":
    sys.exit(main())
