"""How often search finds what was meant, on public data, beside what plainer ways of searching find.

    KB_BENCH_DATA=… python -m bench.recall [--dev]

Each arm searches the same records: `scan` counts the question's words in a text, as grep would; `fts5` is SQLite's own
tokeniser and rank with any of the words; `fts5 + terms` the same over the terms kb cuts; `ours` is what `kb search`
does. With the extra `vectors` there are more: `e5` alone, and what is made of it and ours: `RRF` by their ranks,
`70/30` by their scores with 0.7 for vectors, and `ours + e5`, what `kb search` does then. They are asked where a figure
is wanted of them, and their vectors are kept in KB_BENCH_CACHE. With --dev the parts that the constants were chosen on
are reported, and not the others. A set whose data is missing is named. Exits with 2 where KB_BENCH_DATA names no
folder.
"""

import argparse
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bench import recallsets, recallvectors
from bench.recallsets import Part, Question
from kb.config import Config
from kb.search.query import FUNCTION_EN
from kb.text.segment import build_index_terms, fold_text, iter_runs

Search = Callable[[str, int], list[str]]
"""Question and number of answers → ids, best first."""

FEW = 50
"""Answers that an arm is asked for where those of one session or the question's own record do not count."""


# -- the arms -------------------------------------------------------------------------------------


def text_of(part: Part) -> dict[str, str]:
    """Return what there is to read of each record."""
    return {r.id: "\n".join((r.title, *(section.text for section in r.sections))) for r in part.records}


def scanning(part: Part, folder: str) -> Search:
    """Return the search that counts how many of the words stand in a text."""
    texts = {id: fold_text(text) for id, text in text_of(part).items()}

    def search(query: str, limit: int) -> list[str]:
        words = {fold_text(run) for run, _ in iter_runs(query)} - FUNCTION_EN
        counts = {id: sum(word in text for word in words) for id, text in texts.items()}
        found = [id for id, count in counts.items() if count]
        return sorted(found, key=lambda id: (-counts[id], id))[:limit]

    return search


def full_text(part: Part, cut: Callable[[str], str], tokenizer: str) -> Search:
    """Return the search of a full-text table with any of the words that *cut* makes."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(id UNINDEXED, body, tokenize='{tokenizer}')")
    db.executemany("INSERT INTO words VALUES (?, ?)", [(id, cut(text)) for id, text in text_of(part).items()])

    def search(query: str, limit: int) -> list[str]:
        words = [word for word in dict.fromkeys(cut(query).split()) if word.isalnum()]
        if not words:
            return []
        rows = db.execute(
            "SELECT id FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), limit),
        )
        return [id for (id,) in rows]

    return search


def default(part: Part, folder: str) -> Search:
    """Return the search of FTS5 as it comes."""
    return full_text(part, lambda text: " ".join(run for run, _ in iter_runs(text)), "unicode61")


def terms(part: Part, folder: str) -> Search:
    """Return the search of FTS5 with kb's terms and Porter's stems."""
    return full_text(part, build_index_terms, "porter unicode61")


ARMS: dict[str, Callable[[Part, str], Search]] = {
    "scan": scanning, "fts5": default, "fts5 + terms": terms, "ours": recallvectors.fused(0.0),
}  # fmt: skip
VECTOR_ARMS: dict[str, Callable[[Part, str], Search]] = {
    "e5": recallvectors.alone, "RRF": recallvectors.by_ranks, "70/30": recallvectors.fused(0.7),
    "ours + e5": recallvectors.fused(Config().meaning_share),
}  # fmt: skip
OURS = ("ours", "ours + e5")


# -- the measures ---------------------------------------------------------------------------------


class Measure(NamedTuple):
    """What is counted in a set, and what it must come to."""

    name: str
    parts: Sequence[Part]
    at: int
    """So many answers are looked at."""
    must: float
    """Without a model; 0: that is only told."""
    meant: float = 0.0
    """With vectors; 0: they are not asked."""
    sessions: bool = False
    """Whether an answer is a session, found by its best turns, and one of those meant is enough."""


def share(question: Question, answers: Sequence[str], at: int) -> float:
    """Return which share of the right answers is among the first *at*."""
    first = [id for id in answers if id != question.own][:at]
    return sum(id in first for id in question.right) / len(question.right)


def by_session(part: Part, question: Question, answers: Sequence[str], at: int) -> float:
    """Return 1.0 where one of the right sessions is among the first *at* that the answers come from."""
    source = {record.id: record.sources for record in part.records}
    first = list(dict.fromkeys(source[id] for id in answers))[:at]
    return float(any(source[id] in first for id in question.right))


def measured(measures: Sequence[Measure], *, dev: bool, lacks: str) -> None:
    """Print a line for each of *measures*: the share of right answers each arm finds, and the time of a question."""
    arms = ARMS | (VECTOR_ARMS if measures[0].meant and not lacks else {})
    found: dict[str, dict[str, list[float]]] = {m.name: {arm: [] for arm in arms} for m in measures}
    spent = dict.fromkeys(arms, 0.0)
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in measures[0].parts:
            questions = part.dev if dev else part.rest
            asked += len(questions)
            for arm, made in arms.items() if questions else ():
                search = made(part, folder)
                for question in questions:
                    began = time.perf_counter()
                    answers = search(question.text, FEW * 4 if measures[0].sessions else FEW)
                    spent[arm] += time.perf_counter() - began
                    for m in measures:
                        figure = (
                            by_session(part, question, answers, m.at) if m.sessions else share(question, answers, m.at)
                        )
                        found[m.name][arm].append(figure)
    for m in measures:
        report(m, found[m.name], asked, spent["ours"] / max(asked, 1))


def report(measure: Measure, found: dict[str, list[float]], asked: int, seconds: float) -> None:
    """Print one line of the table."""
    means = {arm: 100 * sum(figures) / max(len(figures), 1) for arm, figures in found.items()}
    cells = " | ".join(f"{means[arm]:5.1f}" if arm in means else "    –" for arm in (*ARMS, *VECTOR_ARMS))
    musts = [(arm, must) for arm, must in zip(OURS, (measure.must, measure.meant), strict=True) if must]
    wanted = ", ".join(f"≥ {must}" + (" with e5" if arm != OURS[0] else "") for arm, must in musts)
    met = ", ".join("–" if arm not in means else "yes" if means[arm] >= must else "NO" for arm, must in musts)
    print(f"| {measure.name:44} | {asked:5} | {cells} | {seconds * 1000:5.1f} | {wanted} | {met} |", flush=True)


def groups(data: str) -> Iterable[list[Measure]]:
    """Yield the measures that share their questions."""
    talks = recallsets.conversations(data)
    yield [Measure("LoCoMo turn, R@5", talks, 5, 66, 70), Measure("LoCoMo turn, R@10", talks, 10, 75, 79)]
    yield [
        Measure("LoCoMo session, H@5", talks, 5, 93.5, 94.5, sessions=True),
        Measure("LoCoMo session, H@10", talks, 10, 96.8, 97.6, sessions=True),
    ]
    chinese, english = recallsets.paragraphs(data, "zh"), recallsets.paragraphs(data, "en")
    yield [Measure("XQuAD zh, R@1", chinese, 1, 93.5, 95.2)]
    yield [Measure("XQuAD en, R@1", english, 1, 95, 96)]
    yield [Measure("Chinese words of 1 and 2 characters, R@20", recallsets.short_words(chinese), 20, 100)]
    for asked, told in (("zh", "en"), ("en", "zh")):
        across = recallsets.across(data, asked, told, mixed=False), recallsets.across(data, asked, told, mixed=True)
        yield [Measure(f"XQuAD, asked in {asked}, told in {told}, R@10", across[0], 10, 0, 93)]
        yield [Measure(f"the same, paragraphs in {asked} beside, R@10", across[1], 10, 0, 80)]
    yield [Measure("GitBugs, duplicate by title alone, R@10", recallsets.issues(data, bodies=False), 10, 66, 69)]
    yield [Measure("GitBugs, duplicate with bodies, R@10", recallsets.issues(data, bodies=True), 10, 66)]
    yield [Measure("which decision record is meant, R@5", recallsets.decision_records(data), 5, 85)]


def main() -> int:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--dev", action="store_true", help="Report the parts that were tuned on.")
    given = words.parse_args()
    data = os.environ.get("KB_BENCH_DATA", "")
    if not os.path.isdir(data):
        print("set KB_BENCH_DATA to a folder with retrieval/… and adr/…", file=sys.stderr)
        return 2
    arms, lacks = (*ARMS, *VECTOR_ARMS), recallvectors.missing()
    if lacks:
        print(f"the arms with vectors are left out: {lacks} (pip install '.[vectors]')", file=sys.stderr)
    print(f"| set | questions | {' | '.join(arms)} | ms a question | must | met |")
    print(f"|---|---|{'---|' * len(arms)}---|---|---|")
    for measures in groups(data):
        if any(part.dev if given.dev else part.rest for part in measures[0].parts):
            measured(measures, dev=given.dev, lacks=lacks)
        else:
            print(f"| {measures[0].name:44} | no data | {' | ' * len(arms)}| | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
