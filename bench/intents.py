"""How often the intent of a question is understood, on labelled questions in two languages.

    python -m bench.intents FILE [--wrong]

Each line of FILE is JSON: {"query": …, "lang": "en" or "zh", "intent": a label of `LABELS`}. The labels are a person's,
and coarser than kb's intents. Exits with 1 where fewer than 90 of 100 are understood.
"""

import argparse
import json
import sys
from collections import Counter

from kb.search.intent import CODE, EXPERIENCE, GENERAL, IDENTITY, KNOWLEDGE, NAMED, PREFERENCE, RECENT, detect_intent
from kb.search.query import parse_query

MUST = 90.0
LABELS = {
    # What the team has decided: “branching model” asks for it as much as “which branching model do we use”, and kb
    # looks for both alike.
    "knowledge": (KNOWLEDGE, GENERAL),
    "code": (CODE,),
    "experience": (EXPERIENCE,),
    # The person who asks: all that is known, or one preference
    "identity": (IDENTITY, PREFERENCE),
    "id": (NAMED,),
    "recent": (RECENT,),
}


def main() -> int:
    """Print the share that is understood of each label and language."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("file", help="JSON lines.")
    words.add_argument("--wrong", action="store_true", help="Print the questions that are not understood.")
    given = words.parse_args()
    asked: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    with open(given.file, encoding="utf-8") as file:
        for row in map(json.loads, file):
            intent, key = detect_intent(parse_query(row["query"])).intent, (row["intent"], row["lang"])
            asked[key] += 1
            right[key] += intent in LABELS[row["intent"]]
            if given.wrong and intent not in LABELS[row["intent"]]:
                print(f"{row['intent']}, not {intent}: {row['query']}", file=sys.stderr)
    print("| intent | language | understood |\n|---|---|---|")
    for label, language in sorted(asked):
        print(f"| {label} | {language} | {right[label, language]} of {asked[label, language]} |")
    share = 100 * right.total() / max(asked.total(), 1)
    print(f"| all | | {right.total()} of {asked.total()}: {share:.1f} %, must be ≥ {MUST} |")
    return int(share < MUST)


if __name__ == "__main__":
    sys.exit(main())
