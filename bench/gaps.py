"""Does `kb gaps` name the questions that no record answers, and leave out those that one does?

    python -m bench.gaps FILE [--words] [--same] [--show]

FILE has rows of JSON: records (`type` "record", `id`, `title`, `decision`, `why`), and questions (`type` "question",
`text`, `lang`, `answer`, the id of the record that answers it, or null, and `again`, the same question in the words of
somebody else). The records are written into a base; one session asks every `text`, another every `again`, or with
`--same` every `text` once more. A question is named where one of its two wordings belongs to a gap.

At the end the answers of all gaps are written, each under the gap's own wording: none may be left.

The rows are best written by somebody who has not seen kb's rules. Falsifier: the list of gaps is no help if it names
fewer than 90 of 100 questions that nothing answers, or more than 10 of 100 that a record does answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bench.shares import format_share
from kb.context.give_hints import note_questions
from kb.knowledge_base import KnowledgeBase
from kb.learning import gaps
from kb.learning.gaps import ASKED_QUESTION, Gap, find_gaps
from kb.records.model import GLOBAL, Record, Section

KB = Path(sys.executable).parent / "kb"


def main() -> None:
    """Ask all questions in two sessions and print what the gaps name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="such as bench/unseen/gaps_held.jsonl")
    parser.add_argument("--words", action="store_true", help="judge by words alone, as without the extra `vectors`")
    parser.add_argument("--same", action="store_true", help="the second session asks in the words of the first")
    parser.add_argument("--show", action="store_true", help="print the questions that go wrong")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.file.read_text(encoding="utf-8").splitlines()]
    questions = [row for row in rows if row["type"] == "question"]
    with tempfile.TemporaryDirectory(prefix="kb-gaps-") as folder:
        build_base(Path(folder))
        gaps.MAX_COMPARED = 0 if given.words else gaps.MAX_COMPARED
        with KnowledgeBase(folder, os.environ) as kb:
            write_records(kb, [row for row in rows if row["type"] == "record"])
            for session, key in (("one", "text"), ("two", "text" if given.same else "again")):
                note_questions(kb, [row[key] for row in questions], scope=GLOBAL, session=session)
            found = list_asked(kb)
            report(questions, {wording for gap in found for wording in gap.wordings}, show=given.show)
            write_answers(kb, found)
            print(f"gaps: {len(found)}; once each is answered under its own wording: {len(list_asked(kb))}")


def build_base(root: Path) -> None:
    """Make an empty knowledge base at *root*."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([KB, "init", str(root)], check=True, capture_output=True)


def write_records(kb: KnowledgeBase, rows: list[dict[str, Any]]) -> None:
    """Write the records of *rows* as they are, past the gate."""
    records = [
        Record(f"D{number:03d}", "decision", row["title"], status="accepted", date=kb.today(),
               sections=(Section("decision", "", row["decision"]), Section("why", "", row["why"])))
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip
    kb.import_records(records, origin="bench")


def list_asked(kb: KnowledgeBase) -> list[Gap]:
    """Return the gaps that were asked about."""
    return [gap for gap in find_gaps(kb) if gap.type == ASKED_QUESTION]


def write_answers(kb: KnowledgeBase, gaps: list[Gap]) -> None:
    """Write a record for each of *gaps* that has its wordings."""
    records = [
        Record(f"L{number:03d}", "learning", gap.wordings[0], status="accepted", date=kb.today(),
               extra={"asked": list(gap.wordings[1:])}, sections=(Section("decision", "", "It is so."),))
        for number, gap in enumerate(gaps, 1)
    ]  # fmt: skip
    kb.import_records(records, origin="answers")


def report(questions: list[dict[str, Any]], named: set[str], *, show: bool) -> None:
    """Print how many of the *questions* of each language and sort are *named*."""
    counts: dict[tuple[str, bool], Counter[str]] = {}
    for row in questions:
        is_named = bool({row["text"], row["again"]} & named)
        for lang in (row["lang"], "all"):
            count = counts.setdefault((lang, row["answer"] is None), Counter())
            count.update(n=1, named=is_named)
        if show and is_named == (row["answer"] is not None):
            print(f"{row['answer'] or 'nothing'}: {row['text']} | {row['again']}")
    for (lang, is_open), count in sorted(counts.items()):
        sort = "nothing answers" if is_open else "a record answers"
        print(f"{lang}: questions that {sort}: named {format_share(count['named'], count['n'])}")


if __name__ == "__main__":
    main()
