"""How far the wiki's search answers as `kb search` does, on the labelled questions of `bench.recall`; it needs node.

    KB_BENCH_DATA=… python -m bench.wikirecall [--questions 100]

For each set: how many of the first five answers are the same, how many of the right ones either finds, and what a
question costs in a browser: milliseconds, and bytes fetched beside those of the start, with nothing kept from before.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench import recallsets
from bench.recall import ARMS
from bench.recallsets import Part, Question
from kb.records.model import Record
from kb.search.rank import collect_word_lists
from kb.wiki.search_index import FOLDER, SearchDoc, build_engine_script, iter_index_files

FIRST = 5


class Asked(NamedTuple):
    """What both searches say to one question."""

    question: Question
    wiki: list[str]
    kb: list[str]
    bytes: int
    ms: float


def write_index(records: Iterable[Record], folder: str) -> str:
    """Write the index of *records* below *folder* and return where it is."""
    for path, text in iter_index_files(
        sorted((SearchDoc(one, one.id) for one in records), key=lambda doc: doc.sort_key), "en", collect_word_lists()
    ):
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    return os.path.join(folder, FOLDER)


def asked_in_node(index: str, questions: Sequence[str], folder: str) -> list[dict[str, Any]]:
    """Return what the wiki's search answers to each of *questions*."""
    script = os.path.join(folder, "engine.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(build_engine_script())
    program = ["node", os.path.join(os.path.dirname(__file__), "wikisearch.js"), script, index]
    lines = "\n".join(map(json.dumps, questions))
    done = subprocess.run(program, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def both(part: Part, number: int) -> list[Asked]:
    """Ask both searches *number* questions of *part*, always the same ones."""
    questions = random.Random(part.name).sample(part.rest, min(number, len(part.rest)))
    with tempfile.TemporaryDirectory() as folder:
        told = asked_in_node(write_index(part.records, folder), [q.text for q in questions], folder)
        search = ARMS["ours"](part, folder)
        return [
            Asked(q, one["found"], search(q.text, 10), one["bytes"], one["ms"])
            for q, one in zip(questions, told, strict=True)
        ]


def report(name: str, asked: Sequence[Asked]) -> None:
    """Print one line of the table."""
    if not asked:
        print(f"| {name} | no data | | | | | | |")
        return
    share = lambda figures: 100 * sum(figures) / len(asked)  # noqa: E731
    same = share(len({*one.wiki[:FIRST]} & {*one.kb[:FIRST]}) / max(len(one.kb[:FIRST]), 1) for one in asked)
    first = share(one.wiki[:1] == one.kb[:1] for one in asked)
    right = [share(len(one.question.right.intersection(found[:FIRST])) / len(one.question.right)
                   for one, found in pairs)
             for pairs in ([(one, one.wiki) for one in asked], [(one, one.kb) for one in asked])]  # fmt: skip
    kilobytes = sorted(one.bytes / 1000 for one in asked)
    milliseconds = sorted(one.ms for one in asked)
    print(
        f"| {name} | {len(asked)} | {same:.1f} | {first:.1f} | {right[0]:.1f} | {right[1]:.1f}"
        f" | {milliseconds[len(asked) // 2]:.0f} / {milliseconds[-1]:.0f}"
        f" | {kilobytes[len(asked) // 2]:.0f} / {kilobytes[-1]:.0f} |",
        flush=True,
    )


def main() -> int:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--questions", type=int, default=100, help="Of each set, at most.")
    given = words.parse_args()
    data = os.environ.get("KB_BENCH_DATA", "")
    if not os.path.isdir(data) or not shutil.which("node"):
        print("set KB_BENCH_DATA to a folder with retrieval/… and adr/…, and install node", file=sys.stderr)
        return 2
    chinese = recallsets.paragraphs(data, "zh")
    sets = {
        "XQuAD zh": chinese,
        "XQuAD en": recallsets.paragraphs(data, "en"),
        "Chinese words of 1 and 2 characters": recallsets.short_words(chinese),
        "GitBugs by title": recallsets.issues(data, bodies=False),
        "decision records": recallsets.decision_records(data),
    }
    heads = ("set", "questions", f"same of first {FIRST}, %", "same first, %", "R@5 wiki", "R@5 kb")
    print(f"| {' | '.join((*heads, 'ms median / most', 'kB median / most'))} |")
    print("|---|---|---|---|---|---|---|---|")
    for name, parts in sets.items():
        share = max(given.questions // max(len(parts), 1), 1)
        report(name, [one for part in parts for one in both(part, share)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
