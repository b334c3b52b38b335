"""Does a hub answer as a laptop does? `KB_BENCH_DATA=… python -m bench.huborder`.

Each part of the recall sets (`bench.recallsets`) is indexed twice, as the one base of a laptop and as the one
repository of a hub, and asked the same questions: for how many are the first ten answers the same, in the same order?
"""

import argparse
import os
import random
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from bench.recallsets import Part, conversations, decision_records, issues, paragraphs, short_words
from kb.index.database import Index
from kb.knowledge_base import KnowledgeBase
from kb.organisation.hub_engine import Engine
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_search import search_repositories
from kb.organisation.sqlite_engine import SqliteEngine
from kb.records.model import Record
from kb.search.answer import search_records

LIMIT = 10


class Agreement(NamedTuple):
    """One question, and what each of the two answers: ids, the best first."""

    question: str
    laptop: list[str]
    hub: list[str]


@contextmanager
def open_base() -> Iterator[KnowledgeBase]:
    """Give a knowledge base without records, whose settings a search on a laptop takes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        with open(os.path.join(folder, "kb.toml"), "w", encoding="utf-8") as file:
            file.write('name = "x"\n')
        with KnowledgeBase.at(folder, os.environ) as kb:
            yield kb


def compare_answers(
    records: Sequence[Record], questions: Iterable[str], engines: Sequence[Engine], limit: int = LIMIT
) -> Iterator[list[Agreement]]:
    """Yield for each question what a laptop answers, and what a hub on each of the *engines*, which are empty."""
    with open_base() as kb, tempfile.TemporaryDirectory() as folder:
        index = Index(os.path.join(folder, "index.db"), folder, ())
        with index.batch_changes():
            for record in records:
                index.put_record(record)
        for engine in engines:
            looked = frozenset(record.path for record in records)
            engine.apply_change("base", RepositoryChange("", "c", tuple(records), looked, True))
        for question in questions:
            found = search_records(kb, question, limit=limit, index=index)
            laptop = [answer.record.id for answer in found.answers]
            rows = []
            for engine in engines:
                with engine.open_reader(frozenset(["base"])) as reader:
                    hits = search_repositories(reader, question, limit=limit).hits
                rows.append(Agreement(question, laptop, [hit.record.id for hit in hits]))
            yield rows
        index.close()


def load_sets(data: str) -> dict[str, list[Part]]:
    """Return the recall sets by what is told of them."""
    chinese = paragraphs(data, "zh")
    return {
        "paragraphs, English": paragraphs(data, "en"),
        "paragraphs, Chinese": chinese,
        "words of one and two characters": short_words(chinese),
        "decision records": decision_records(data),
        "issues with their texts": issues(data, bodies=True),
        "conversations": conversations(data),
    }


def choose_questions(part: Part, most: int) -> list[str]:
    """Return at most *most* questions of *part*, by chance and always the same."""
    questions = [question.text for question in (*part.dev, *part.rest)]
    random.Random(part.name).shuffle(questions)
    return questions[:most]


def main() -> None:
    """Print for each set how many questions are answered alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200, help="of each set, at most")
    parser.add_argument("--different", action="store_true", help="show the questions that are answered otherwise")
    options = parser.parse_args()
    for name, parts in load_sets(os.environ["KB_BENCH_DATA"]).items():
        found: list[Agreement] = []
        for part in parts:
            with tempfile.TemporaryDirectory() as folder:
                engine = SqliteEngine(folder)
                asked = choose_questions(part, max(1, options.questions // len(parts)))
                found += [rows[0] for rows in compare_answers(part.records, asked, [engine])]
                engine.close()
        first, same, alike = (
            sum(compare(one.laptop, one.hub) for one in found) / max(len(found), 1)
            for compare in (lambda a, b: a[:1] == b[:1], lambda a, b: a == b, lambda a, b: {*a} == {*b})
        )
        figures = f"same first answer {first:.3f}, order {same:.3f}, answers {alike:.3f}"
        print(f"{name}: {len(found)} questions, {figures}", flush=True)
        for one in found if options.different else ():
            if one.laptop != one.hub:
                print(f"  {one.question[:90]!r}\n    {one.laptop}\n    {one.hub}")


if __name__ == "__main__":
    main()
