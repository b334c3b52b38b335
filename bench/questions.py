"""Does the prompt hook hand over the decision record that answers a question, and keep quiet otherwise?

    python -m bench.questions FILE CLONES [--show]
    python -m bench.questions FILE-OR-FOLDER [--show]

FILE has a row of JSON for each prompt: `repo` ("owner/name"), `lang`, `prompt`, and `answer`, the path of the ADR that
answers it, or null where none does. CLONES holds the repositories as `owner+name`. The ADRs of each are imported into a
base of their own and every prompt is asked in a session of its own. The rows are best written by somebody who has not
seen kb's rules.

Without CLONES the rows bring their records: `type` "record" with `id`, `title`, `decision` and `why`; `type` "question"
with `text`, `lang` and `answer`, the id of a record or null. A FOLDER is XQuAD (`docs.jsonl`, `queries.jsonl`): of
every other article each paragraph is a note with its first question as the title; the other questions are asked, and
those of the articles that are not stored.

Falsifier: kb does not help here if it names the answer for fewer than `kb search` finds first, by more than a third, or
if it speaks at more than one in twenty prompts that no record answers.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.recallfloor import filled
from bench.recallsets import record
from bench.shares import format_share
from bench.timetravel import RECORD_ID, Base, git
from kb.records.model import Record
from kb.search.answer import search_records


def main() -> None:
    """Ask all prompts and print a row for each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="such as bench/unseen/questions_held.jsonl")
    parser.add_argument("clones", type=Path, nargs="?")
    parser.add_argument("--show", action="store_true", help="print the prompts that go wrong")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    if given.clones is None:
        ask_own_records(
            load_paragraphs(given.file) if given.file.is_dir() else load_rows(given.file), counts, show=given.show
        )
    else:
        by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in load_rows(given.file):
            by_repository[row["repo"]].append(row)
        for repository, rows in by_repository.items():
            ask_repository(given.clones / repository.replace("/", "+"), rows, counts, show=given.show)
    for language, row in sorted(counts.items()):
        report(language, row)


def ask_repository(clone: Path, rows: list[dict[str, Any]], counts: dict[str, Counter[str]], *, show: bool) -> None:
    """Import the ADRs of *clone*, ask the prompts of *rows*, and count what came of it by language."""
    with tempfile.TemporaryDirectory(prefix="kb-questions-") as temporary:
        copy = Path(temporary) / "clone"
        git(temporary, "clone", "-q", "--shared", "--no-checkout", str(clone), str(copy))
        base = Base(copy, "HEAD", Path(temporary) / "base")
        for number, row in enumerate(rows):
            count = counts[row["lang"]]
            text = base.call_hook("UserPromptSubmit", f"s{number}", prompt=row["prompt"])
            told = list(dict.fromkeys(base.sources.get(name, name) for name in RECORD_ID.findall(text)))
            found = [base.sources.get(name, name) for name in base.search_records(row["prompt"])]
            count_prompt(count, row["answer"], told, found)
            if show and (row["answer"] is None) == bool(told):
                print(f"{row['lang']} {row['answer'] or 'nothing'}: {row['prompt']} → {', '.join(told) or 'nothing'}")


def load_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of JSON of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def load_paragraphs(folder: Path) -> list[dict[str, Any]]:
    """Return notes and questions of the XQuAD in *folder*, whose name ends with its language."""
    asked: dict[str, list[str]] = defaultdict(list)
    for row in load_rows(folder / "queries.jsonl"):
        asked[row["rel"][0]].append(row["text"])
    found: list[dict[str, Any]] = []
    for row in load_rows(folder / "docs.jsonl"):
        name, language = row["id"], folder.name[-2:]
        is_stored = int(name[1:]) // 5 % 2 == 0  # an article has five paragraphs
        if is_stored:
            found.append({"type": "record", "id": name, "title": asked[name][0], "decision": row["text"]})
        for text in asked[name][is_stored:]:
            answer = name if is_stored else None
            found.append({"type": "question", "text": text, "lang": language, "answer": answer})
    return found


def build_own_records(rows: Iterable[dict[str, Any]]) -> tuple[list[Record], dict[str, str]]:
    """Return the records among *rows*, and the id that each has here by its name there."""
    ids: dict[str, str] = {}
    records: list[Record] = []
    for row in rows:
        if row["type"] == "record":
            text = f"{row['decision']}\n\n{row.get('why', '')}"
            records.append(record(len(records) + 1, row["title"], text)._replace(title=row["title"]))
            ids[row["id"]] = records[-1].id
    return records, ids


def ask_own_records(rows: Iterable[dict[str, Any]], counts: dict[str, Counter[str]], *, show: bool) -> None:
    """Store the records of *rows*, ask the questions, and count what came of it by language."""
    rows = list(rows)
    records, ids = build_own_records(rows)
    questions = [row for row in rows if row["type"] != "record"]
    with (
        tempfile.TemporaryDirectory(prefix="kb-questions-") as temporary,
        filled(os.path.join(temporary, "kb"), records) as kb,
    ):
        for row in questions:
            told = RECORD_ID.findall(kb.answer_to_prompt(row["text"]))
            found = [answer.record.id for answer in search_records(kb, row["text"], limit=5).answers]
            count_prompt(counts[row["lang"]], ids.get(row["answer"]), told, found)
            if show and (row["answer"] is None) == bool(told):
                print(f"{row['lang']} {row['answer'] or 'nothing'}: {row['text']} → {', '.join(told) or 'nothing'}")


def count_prompt(count: Counter[str], answer: str | None, told: list[str], found: list[str]) -> None:
    """Count one prompt: whether its *answer* was *told*, and at which place search *found* it."""
    if answer is None:
        count["others"] += 1
        count["spoken"] += bool(told)
        return
    count["answerable"] += 1
    count["first"] += found[:1] == [answer]
    count["in five"] += answer in found
    count["told"] += answer in told
    count["told of first"] += found[:1] == [answer] and answer in told
    count["also wrong"] += len({*told} - {answer})


def report(language: str, count: Counter[str]) -> None:
    """Print the figures of one *language*."""
    n, others = count["answerable"], count["others"]
    shares = {name: format_share(count[name], n) for name in ("told", "first", "in five")}
    of_first = format_share(count["told of first"], count["first"])
    print(
        f"{language}: {n} questions: the hook tells the answer {shares['told']}, kb search first {shares['first']} (of "
        f"these the hook tells {of_first}), in five {shares['in five']}; other records told {count['also wrong']}; "
        f"{others} other prompts: spoken at {format_share(count['spoken'], others)}"
    )


if __name__ == "__main__":
    main()
