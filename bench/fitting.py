"""Fit what the prompt hook goes by, and judge it by the prompts of the author that was left out.

    python -m bench.fitting --author FILE[@CLONES]... --author FILE[@CLONES]... [--commits CLONE...]

The files are those of `bench.questions` and `bench.gaps`; all that one author has written stands behind one
`--author`. Rows with `repo` are asked of the records of that repository below CLONES (FOLDER:FOLDER:…), and of
those of another author's repositories, where nothing answers them; the others bring their records. All rows are asked
of one base of the records of all repositories as well, which shows what the size of a base does. *commits*:
repositories whose commits cite their records, as in `bench.timetravel`; they count for prompts that ask nothing.

Printed is, for questions and for other prompts, what is told at the factors in `kb.context.relevance`, and what at
those fitted without the author whose prompts are judged; at the end the factors fitted on all. Each of the languages of
question and record counts the same, and in it what a record answers as much as the rest. The bias is that at which
`FALSE_SHARE` of those that nothing answers are answered, left out.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from bench.questions import build_own_records, load_rows
from bench.recallfloor import filled
from bench.shares import format_share
from bench.timetravel import Base, build_prompt, find_cases, git, read_commits
from kb.context.give_hints import measure_prompt
from kb.context.relevance import CLOSE_HITS, PromptFactors, score_figures
from kb.knowledge_base import KnowledgeBase
from kb.records.model import GLOBAL, Record, list_titles
from kb.search.query import parse_query
from kb.text.segment import has_cjk

FALSE_SHARE = {True: 0.032, False: 0.1}
"""Whether they ask something → the share of prompts, or of commits, that may be answered though nothing does."""
FACTORS = {
    True: ("held", "raw", "known", "size", "is_unspaced", "unknown_names"),
    False: ("covered", "title", "margin", "raw", "known", "size"),
}
"""Whether a prompt asks something → the figures that are fitted on."""
WEIGHTS = {"prompt": 1.0, "own": 0.5, "commit": 0.4, "elsewhere": 0.4, "near": 0.15, "large": 0.5, "lost": 0.4}
"""What a row of each sort counts. Near: a question about what a record is about that it does not answer. Large: one
asked of the records of all repositories together; lost: one on records that are not among these, asked there."""
RIDGE, ELSEWHERE, MOST_COMMITS = 1.0, 2, 40


class Row(NamedTuple):
    """A prompt as one base measured it."""

    author: str
    lang: str
    sort: str
    is_asked: bool
    has_answer: bool
    is_right: bool
    """Whether a record that answers is among those the hook would tell."""
    is_foreign: bool
    """Whether the best record has another script than the prompt."""
    figures: PromptFactors | None
    """Those of the best record."""


def main() -> None:
    """Measure all prompts, and print what is told at the factors of today and at those fitted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--author", action="append", nargs="+", required=True, metavar="FILE[@CLONES]")
    parser.add_argument("--commits", nargs="*", type=Path, default=[], metavar="CLONE")
    given = parser.parse_args()
    rows = [*measure_authors(given.author), *(row for clone in given.commits for row in measure_commits(clone))]
    for is_asked in (True, False):
        chosen = [row for row in rows if row.is_asked == is_asked]
        print(f"\n{'questions' if is_asked else 'other prompts'}: {len(chosen)}")
        judge(chosen, rows, is_asked=is_asked)


# -- what the hook measures -----------------------------------------------------------------------


def measure_authors(authors: Sequence[Sequence[str]]) -> Iterator[Row]:
    """Yield the rows of all *authors*, each given as FILE or FILE@CLONES."""
    asked: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    brought: list[tuple[str, list[dict[str, Any]]]] = []
    for number, sources in enumerate(authors):
        name = Path(sources[0].partition("@")[0]).parent.name + f" {number}"
        for source in sources:
            file, _, clones = source.partition("@")
            rows = load_rows(Path(file))
            if not clones:
                brought.append((name, rows))
                yield from measure_own(name, rows)
            for row in rows if clones else ():
                asked[clones, row["repo"]].append((name, row))
    own = [(author, row) for author, rows in brought for row in rows if row["type"] == "question"]
    chance = random.Random(3)
    together: dict[tuple[str, str], Record] = {}
    every = [(author, row) for rows in asked.values() for author, row in rows]
    for (clones, repository), rows in asked.items():
        names = (Path(folder, repository.replace("/", "+")) for folder in clones.split(":"))
        clone = next((path for path in names if path.is_dir()), None)
        if clone is None:
            print(f"{repository} is not there")
            continue
        here = {author for author, _ in rows}
        others = [(author, row) for author, row in every if author not in here]
        picked = chance.sample(others, min(ELSEWHERE * len(rows), len(others)))
        yield from measure_repository(clone, rows, picked, together)
    yield from measure_together(together, every, own)


def measure_repository(
    clone: Path,
    rows: Sequence[tuple[str, dict[str, Any]]],
    others: Iterable[tuple[str, dict[str, Any]]],
    together: dict[tuple[str, str], Record],
) -> Iterator[Row]:
    """Yield the *rows* asked of the ADRs of *clone*, and those of *others*, which nothing there answers.

    Add the ADRs to *together*, by repository and path.
    """
    with tempfile.TemporaryDirectory(prefix="kb-fitting-") as temporary:
        copy = Path(temporary) / "clone"
        git(temporary, "clone", "-q", "--shared", "--no-checkout", str(clone), str(copy))
        base = Base(copy, "HEAD", Path(temporary) / "base")
        ids = {source: name for name, source in base.sources.items()}
        with closing(KnowledgeBase(str(base.root), os.environ, folder=str(base.root))) as kb:
            for author, row in rows:
                if row["answer"] is None or row["answer"] in ids:
                    wanted = {ids[row["answer"]]} if row["answer"] else set()
                    yield measure_row(kb, row["prompt"], wanted, author, row["lang"], "prompt")
            repository = next(row["repo"] for _, row in rows)
            together |= {(repository, base.sources[r.id]): r for r in kb.records() if r.id in base.sources}
            for author, row in others:
                yield measure_row(kb, row["prompt"], set(), author, row["lang"], "elsewhere")


def measure_together(
    records: dict[tuple[str, str], Record],
    rows: Iterable[tuple[str, dict[str, Any]]],
    others: Iterable[tuple[str, dict[str, Any]]],
) -> Iterator[Row]:
    """Yield the *rows* and *others* asked of one base of all *records*, by repository and path."""
    ids = {place: f"D{number:04d}" for number, place in enumerate(records, 1)}
    stored = [
        record._replace(id=ids[place], uid="", path="", kind="decision", scope=GLOBAL)
        for place, record in records.items()
    ]
    with (
        tempfile.TemporaryDirectory(prefix="kb-fitting-") as temporary,
        filled(os.path.join(temporary, "kb"), stored) as kb,
    ):
        for author, row in rows:
            place = (row["repo"], row["answer"])
            if row["answer"] is None or place in ids:
                wanted = {ids[place]} if row["answer"] else set()
                yield measure_row(kb, row["prompt"], wanted, author, row["lang"], "large")
        for author, row in others:
            yield measure_row(kb, row["text"], set(), author, row["lang"], "lost")


def measure_own(author: str, rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Yield the questions among *rows*, asked of the records among them."""
    records, ids = build_own_records(rows)
    with (
        tempfile.TemporaryDirectory(prefix="kb-fitting-") as temporary,
        filled(os.path.join(temporary, "kb"), records) as kb,
    ):
        for row in rows:
            for text in {row[key] for key in ("text", "again") if row["type"] == "question" and key in row}:
                wanted = {ids[row["answer"]]} if row["answer"] else set()
                yield measure_row(kb, text, wanted, author, row["lang"], "own" if wanted else "near")


def measure_commits(clone: Path) -> Iterator[Row]:
    """Yield commits of *clone* that cite its records and others, asked of the records it has today."""
    citing, silent = find_cases(read_commits(clone))
    chance = random.Random(5)
    cases = [case for some in (citing, silent) for case in chance.sample(some, min(MOST_COMMITS, len(some)))]
    with tempfile.TemporaryDirectory(prefix="kb-fitting-") as temporary:
        copy = Path(temporary) / "clone"
        git(temporary, "clone", "-q", "--shared", "--no-checkout", str(clone), str(copy))
        base = Base(copy, "HEAD", Path(temporary) / "base")
        with closing(KnowledgeBase(str(base.root), os.environ, folder=str(base.root))) as kb:
            for case in cases:
                wanted = {name for name, number in base.numbers.items() if number in case.wanted}
                if prompt := build_prompt(case.commit.subject) if wanted or not case.wanted else "":
                    lang = "zh" if has_cjk(prompt) else "en"
                    yield measure_row(kb, prompt, wanted, str(clone), lang, "commit")


def measure_row(kb: KnowledgeBase, prompt: str, wanted: set[str], author: str, lang: str, sort: str) -> Row:
    """Return what the hook measures for *prompt*, which the records *wanted* answer."""
    measured = measure_prompt(kb, parse_query(prompt), kb.project(kb.folder))
    told = measured.first[: CLOSE_HITS if measured.is_asked else 1]
    is_right = any(hit.record.id in wanted for hit in told)
    is_foreign = bool(told) and has_cjk(prompt) and not has_cjk(" ".join(list_titles(told[0].record)))
    figures = measured.figures[0] if told else None
    return Row(author, lang, sort, measured.is_asked, bool(wanted), is_right, is_foreign, figures)


# -- what is fitted -------------------------------------------------------------------------------


def judge(rows: Sequence[Row], every: Sequence[Row], *, is_asked: bool) -> None:
    """Print what is told of *rows*, by author and language, and the factors; *every* row counts for the false share."""
    names = FACTORS[is_asked]
    today = [score_figures(row.figures, is_asked=is_asked) for row in rows]
    print("at the factors of today")
    report(rows, today, 0.0)
    left_out = numpy.full(len(rows), -numpy.inf)
    for author in sorted({row.author for row in rows}):
        factors = fit([row for row in rows if row.author != author], names)
        for number, row in enumerate(rows):
            if row.author == author and row.figures:
                left_out[number] = factors["bias"] + sum(factors[name] * getattr(row.figures, name) for name in names)
    sort = "prompt" if is_asked else "commit"
    silent = [score for row, score in zip(rows, left_out, strict=True) if row.sort == sort and not row.has_answer]
    # nothing answers most prompts that ask nothing: they count for the share of all prompts, and none of them is told
    whole = sum(row.sort == sort and not row.has_answer for row in (every if is_asked else rows))
    least = sorted(silent, reverse=True)[min(int(FALSE_SHARE[is_asked] * whole), len(silent) - 1)] if silent else 0.0
    print(f"each author left out, from {least:.2f} on")
    report(rows, left_out.tolist(), least)
    factors = fit(rows, names)
    factors["bias"] -= least
    print({name: round(float(value), 2) for name, value in factors.items()})


def fit(rows: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """Return the factors, by name, of a logistic regression on the figures *names* of *rows*."""
    rows = [row for row in rows if row.figures]
    weights = numpy.array([WEIGHTS[row.sort] for row in rows])
    for group in {(row.lang, row.is_foreign, row.has_answer) for row in rows}:
        of_group = numpy.array([(row.lang, row.is_foreign, row.has_answer) == group for row in rows])
        weights[of_group] *= 100 / weights[of_group].sum()
    figures = numpy.array([[getattr(row.figures, name) for name in names] for row in rows])
    mean, spread = figures.mean(axis=0), figures.std(axis=0) + 1e-9
    inputs = numpy.column_stack([numpy.ones(len(rows)), (figures - mean) / spread])
    right = numpy.array([float(row.is_right) for row in rows])
    ridge = numpy.diag([0.0, *[RIDGE] * len(names)])
    found = numpy.zeros(len(names) + 1)
    for _ in range(30):  # Newton's method
        likely = 1 / (1 + numpy.exp(-inputs @ found))
        slope = inputs.T @ (weights * (right - likely)) - ridge @ found
        found += numpy.linalg.solve(inputs.T @ (inputs * (weights * likely * (1 - likely))[:, None]) + ridge, slope)
    factors = found[1:] / spread
    return {"bias": float(found[0] - factors @ mean), **dict(zip(names, factors.tolist(), strict=True))}


def report(rows: Sequence[Row], scores: Sequence[float], least: float) -> None:
    """Print what is told rightly, and of what nothing answers, where the score is *least* or more."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row, score in zip(rows, scores, strict=True):
        for author in ("commits" if row.sort == "commit" else row.author, "all"):
            count = counts[author, row.lang]
            name = f"{row.sort}{'' if row.has_answer else ' without answer'}"
            count[name] += 1
            count[f"told {name}"] += score >= least and (row.is_right or not row.has_answer)
    for (author, lang), count in sorted(counts.items()):
        names = [name for name in sorted(count) if not name.startswith("told ")]
        told = [f"{name} {format_share(count[f'told {name}'], count[name])}" for name in names]
        print(f"  {author} {lang}: told {', '.join(told)}")


if __name__ == "__main__":
    main()
