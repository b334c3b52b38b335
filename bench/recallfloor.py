"""What a prompt, a task and a question are told: the right record where there is one, nothing where there is none.

    KB_BENCH_DATA=… python -m bench.recallfloor [--shown]

`prompts.tsv` has prompts about the records of tests/data/pairs/heldout.tsv, with the title of the right one, and
prompts about other things. With KB_BENCH_DATA, sentences of public sets (questions on Wikipedia, everyday questions,
news) are asked of the same knowledge base and of one with real decision records: about those neither has anything.
Each is asked as a prompt (told unasked), as the task of a sub-agent (`kb spawn`) and as a question (`kb context
build`).
"""

import csv
import os
import sys
import tempfile
from collections.abc import Callable, Sequence

from bench import recallsets
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Record, Section

HERE = os.path.dirname(os.path.abspath(__file__))
MUST_BE_TOLD, MUST_BE_SILENT = 90.0, 95.0
EVERY = 10
"""One of so many public sentences is asked."""

Asks = Callable[[KnowledgeBase, str], str]
WAYS: dict[str, Asks] = {
    "prompt": lambda kb, text: kb.answer_to_prompt(text),
    "task": lambda kb, text: kb.hint_for_avatar("意", text, quiet=True),
    "question": lambda kb, text: kb.context(text).text,
}


def records() -> list[Record]:
    """Return the records of the held-out pairs, each title once."""
    path = os.path.join(os.path.dirname(HERE), "tests", "data", "pairs", "heldout.tsv")
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = {row["record_title"]: row["record_decision"] for row in rows}
    return [_record(number, title, text) for number, (title, text) in enumerate(texts.items(), 1)]


def _record(number: int, title: str, text: str) -> Record:
    sections = (Section("decision", "Decision", text),)
    return Record(f"D{number:03}", "decision", title, status="accepted", date="2026-01-01", sections=sections)


def filled(folder: str, contents: Sequence[Record]) -> KnowledgeBase:
    """Return a knowledge base with *contents*."""
    kb, _ = make(folder, {**os.environ, "GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.com",
                          "GIT_COMMITTER_NAME": "bench", "GIT_COMMITTER_EMAIL": "bench@example.com"})  # fmt: skip
    kb.import_records(contents, origin="a bench")
    return kb


def labelled(kb: KnowledgeBase, way: str, *, shown: bool) -> None:
    """Print how many of the prompts in `prompts.tsv` are answered rightly when they are asked in this *way*."""
    titles = {record.title: record.id for record in kb.records()}
    with open(os.path.join(HERE, "prompts.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    related = [(prompt, titles[title], WAYS[way](kb, prompt)) for prompt, title in rows if title]
    silent = [(prompt, WAYS[way](kb, prompt)) for prompt, title in rows if not title]
    right = sum(f"[{id}]" in text for _, id, text in related)
    report(f"{way}s about a record: the right one is told", right, len(related), MUST_BE_TOLD)
    report(f"{way}s about other things: nothing is told", sum(not t for _, t in silent), len(silent), MUST_BE_SILENT)
    for prompt, id, text in related if shown else ():
        if f"[{id}]" not in text:
            print(f"    {prompt} → {id}, told: {text!r}")
    for prompt, text in silent if shown else ():
        if text:
            print(f"    {prompt}: {text!r}")


def strangers(kb: KnowledgeBase, way: str, name: str, sentences: dict[str, list[str]], *, shown: bool) -> None:
    """Print how often nothing is said to public *sentences*."""
    for source, asked in sentences.items():
        told = [(sentence, text) for sentence in asked if (text := WAYS[way](kb, sentence))]
        report(
            f"{source} as {way}, asked of {name}: nothing is told", len(asked) - len(told), len(asked), MUST_BE_SILENT
        )
        for sentence, text in told[:5] if shown else ():
            print(f"    {sentence}: {text!r}")


def report(what: str, good: int, whole: int, must: float) -> None:
    """Print one line of the table."""
    share = 100 * good / max(whole, 1)
    print(
        f"| {what:72} | {good:5} of {whole:5} | {share:5.1f} | ≥ {must} | {'yes' if share >= must else 'NO'} |",
        flush=True,
    )


def public(data: str) -> dict[str, list[str]]:
    """Return sentences of public sets."""
    found = {}
    for language in ("en", "zh"):
        found[f"XQuAD {language}"] = [q.text for p in recallsets.paragraphs(data, language) for q in (*p.dev, *p.rest)]
    for folder in recallsets.folders(data, "pairs", "*"):
        with open(os.path.join(folder, "pairs.tsv"), encoding="utf-8") as file:
            found[os.path.basename(folder)] = [line.split("\t")[0] for line in file]
    return {name: sentences[::EVERY] for name, sentences in found.items()}


def main() -> int:
    """Print the table."""
    data, shown = os.environ.get("KB_BENCH_DATA", ""), "--shown" in sys.argv
    print("| what | prompts | % | must | met |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        with filled(os.path.join(folder, "pairs"), records()) as kb:
            for way in WAYS:
                labelled(kb, way, shown=shown)
                strangers(kb, way, "the pairs", public(data) if data else {}, shown=shown)
        if not data:
            print("set KB_BENCH_DATA for more", file=sys.stderr)
            return 0
        parts = recallsets.decision_records(data)
        real = [r._replace(id=f"D{n:04}", uid="", path="") for n, r in enumerate(r for p in parts for r in p.records)]
        with filled(os.path.join(folder, "real"), real) as kb:
            for way in WAYS:
                strangers(kb, way, f"{len(real)} real records", public(data), shown=shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
