"""How often a question about the person who asks is known, and whose what a person says is, on sets written unseen.

    python -m bench.identity bench/unseen/identity_held.jsonl [--wrong]
    python -m bench.identity bench/unseen/profile_held.jsonl [--wrong]

Each line is JSON: {"text", "lang": "en" or "zh", "label"}. Labels of questions are identity and other: at least 90 of
100 must be known, and none of the others be taken for one. Labels of sayings are person (a fact or wish about who says
it), work and none: of the person's, at least 90 of 100 must be known as such, and of the others at most 5 be. Person is
what goes into the person's own base; in doubt is what is proposed to them. Leaves with 1 below that.
"""

import argparse
import json
import sys
from collections import Counter

from kb.records.model import Candidate
from kb.safety.personal_facts import can_be_personal_fact, is_personal
from kb.search.intent import is_about_asker
from kb.text.segment import one_line

MUST = 90.0
MOST_FALSE = {"identity": 0.0, "person": 5.0}


def judge(text: str, label: str) -> str:
    """Return what kb takes *text* for, in the words of the set that has *label*."""
    if label in ("identity", "other"):
        return "identity" if is_about_asker(one_line(text)) else "other"
    if is_personal(text):
        return "person"
    return "in doubt" if can_be_personal_fact(Candidate("preference", text, decision=text)) else "not theirs"


def main() -> int:
    """Print for each label and language what its texts were taken for."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("file", help="JSON lines.")
    words.add_argument("--wrong", action="store_true", help="Print what is taken for something else.")
    given = words.parse_args()
    with open(given.file, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    wanted = "identity" if any(row["label"] == "identity" for row in rows) else "person"
    judged = [(row["label"], row["lang"], judge(row["text"], row["label"]), row["text"]) for row in rows]
    table = Counter((label, lang, verdict) for label, lang, verdict, _ in judged)
    print("| label | language | taken for | of the texts |\n|---|---|---|---|")
    totals = Counter((label, lang) for label, lang, _, _ in judged)
    for label, lang, verdict in sorted(table):
        print(f"| {label} | {lang} | {verdict} | {table[label, lang, verdict]} of {totals[label, lang]} |")
    for label, _, verdict, text in judged:
        if given.wrong and (label == wanted) != (verdict == wanted):
            print(f"{label}, not {verdict}: {text}", file=sys.stderr)
    known = [verdict == wanted for label, _, verdict, _ in judged if label == wanted]
    false = [verdict == wanted for label, _, verdict, _ in judged if label != wanted]
    if wanted == "person":
        kept = [verdict != "not theirs" for label, _, verdict, _ in judged if label == wanted]
        print(f"kept from a base that others read, written or proposed to the person: {sum(kept)} of {len(kept)}")
    share, wrong = 100 * sum(known) / max(len(known), 1), 100 * sum(false) / max(len(false), 1)
    print(f"known: {sum(known)} of {len(known)} ({share:.1f} %, must be ≥ {MUST}); false: {sum(false)} of {len(false)}")
    return int(share < MUST or wrong > MOST_FALSE[wanted])


if __name__ == "__main__":
    sys.exit(main())
