"""Measure the contradiction rules on the labelled pairs: precision and recall for each half and language.

    python -m bench.conflict

A false contradiction opens a review that wastes a person's time; a missed one leaves two records that cannot both hold.
Contradictions that are merged are counted apart: they are the worst of all errors.
"""

import sys

from bench.pairs import HALVES, pairs, step, table


def main() -> int:
    """Print the table and how many contradictions were merged."""
    for half in HALVES:
        of = pairs(half)
        print(f"\n{half}: {len(of)} pairs")
        table(of, "conflict")
        merged = sum(pair.label == "contradicting" and step(pair) == "merge" for pair in of)
        print(f"  contradictions that were merged: {merged}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
