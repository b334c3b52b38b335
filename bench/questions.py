"""Does the prompt hook hand over the decision record that answers a question, and keep quiet otherwise?

    python -m bench.questions FILE CLONES [--show]

FILE has a row of JSON for each prompt: `repo` ("owner/name"), `lang`, `prompt`, and `answer`, the path of the ADR that
answers it, or null where none does. CLONES holds the repositories as `owner+name`. The ADRs of each are imported into a
base of their own and every prompt is asked in a session of its own. The rows are best written by somebody who has not
seen kb's rules.

Falsifier: kb does not help here if it names the answer for fewer than `kb search` finds first, by more than a third, or
if it speaks at more than one in twenty prompts that no record answers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.shares import format_share
from bench.timetravel import RECORD_ID, Base, git


def main() -> None:
    """Ask all prompts and print a row for each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="such as bench/unseen/questions_held.jsonl")
    parser.add_argument("clones", type=Path)
    parser.add_argument("--show", action="store_true", help="print the prompts that go wrong")
    given = parser.parse_args()
    by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in given.file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_repository[row["repo"]].append(row)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
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
            if row["answer"]:
                found = [base.sources.get(name) for name in base.search_records(row["prompt"])]
                count["answerable"] += 1
                count["first"] += found[:1] == [row["answer"]]
                count["in five"] += row["answer"] in found
                count["told"] += row["answer"] in told
                count["also wrong"] += len(set(told) - {row["answer"]})
            else:
                count["others"] += 1
                count["spoken"] += bool(told)
            if show and (row["answer"] is None) == bool(told):
                print(f"{row['lang']} {row['answer'] or 'nothing'}: {row['prompt']} → {', '.join(told) or 'nothing'}")


def report(language: str, count: Counter[str]) -> None:
    """Print the figures of one *language*."""
    n, others = count["answerable"], count["others"]
    shares = {name: format_share(count[name], n) for name in ("told", "first", "in five")}
    print(
        f"{language}: {n} questions: the hook tells the answer {shares['told']}, kb search first {shares['first']}, "
        f"in five {shares['in five']}; other records told {count['also wrong']}; "
        f"{others} other prompts: spoken at {format_share(count['spoken'], others)}"
    )


if __name__ == "__main__":
    main()
