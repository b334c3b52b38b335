"""Fit the model that tells whether a candidate is about the question of a record, and say how often it is right.

    python -m bench.subjects [--vectors] [FOLDER …]

It is fitted on pairs of records (`bench/unseen/pairs_*.jsonl`, those of `pairs_dev.jsonl` also cut to one sentence, and
`bench/pairs/short.jsonl`, all these once alone and once among others of their repository, and `bench/pairs`), and on
the decision records of each FOLDER, a repository, each beside those before it: of these none counts as right. Without a
FOLDER those under `KB_BENCH_DATA`/adr are taken.

The first shares are of a model fitted without the set that it is asked about. Then comes what is seen of each set of
strangers alone, by English and Chinese: merged, held to contradict or asked about by the model that had no part of that
set, from the likelihood on that counts beside a single record. At the end stand the factors for
`kb.similarity.subject`. `--vectors`: with the nearness of vectors as a further figure, and without `bench/pairs`.
"""

import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kb.errors import KbError
from kb.importers.formats import read_adr
from kb.index import models
from kb.records.front_matter import decode_record
from kb.records.kinds import BY_NAME
from kb.records.model import Candidate, Record, Section
from kb.similarity.contradictions import find_other_answer
from kb.similarity.duplicates import THRESHOLD
from kb.similarity.merge_candidate import decide_by_wording, get_least_likelihood, list_comparable
from kb.similarity.subject import (
    READ,
    Nearest,
    SubjectComparison,
    compare_nearest,
    scale_nearness,
    write_subject,
)
from kb.similarity.tokens import split_plain_sentences
from kb.text.segment import has_cjk

HERE = Path(__file__).parent
SCOPE = "project/bench"
SAME = frozenset({"duplicate", "contradiction", "contradicting"})
REPLAYED = "replayed"
CUT, CUT_FROM = "cut", "pairs_dev"  # One set: a model that is asked about either has seen neither
WEIGHTS: dict[str, float] = defaultdict(lambda: 1.0, {"bench": 0.4, REPLAYED: 0.3})
"""What a pair of each source counts: those of `bench/pairs` are worded alike more often than what strangers write."""
RIDGE = 1.0
SHOWN = (0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


class Pair(NamedTuple):
    """Two records, and what they are to each other."""

    source: str
    group: str
    label: str
    old: dict[str, str]
    new: dict[str, str]


class Case(NamedTuple):
    """A candidate and the records near it."""

    source: str
    group: str
    label: str
    candidate: Candidate
    near: Sequence[Record]


def main(arguments: list[str]) -> int:
    """Print the shares and the factors."""
    folders = [Path(one) for one in arguments if not one.startswith("--")]
    if not folders and (data := os.environ.get("KB_BENCH_DATA")):
        folders = [folder for folder in sorted((Path(data) / "adr").iterdir()) if folder.is_dir()]
    with_vectors = "--vectors" in arguments
    cases = [*iter_pairs(), *(case for folder in folders for case in iter_replayed(folder))]
    cases = [case for case in cases if not (with_vectors and case.source == "bench")]
    found = [(number, near) for number, case in enumerate(cases) for near in list_compared(case)]
    figures = np.array([list_figures(cases[number], near, with_vectors) for number, near in found], float)
    # among others it has to be the right record
    is_right = np.array([cases[n].label in SAME and near.record is cases[n].near[0] for n, near in found], float)
    weights = np.array([WEIGHTS[cases[number].source.rstrip("+")] for number, _ in found])
    groups = np.array([cases[number].source.rstrip("+").replace(CUT, CUT_FROM) for number, _ in found])
    known: dict[int, float] = {}
    for group in sorted(set(groups)):
        asked = groups == group
        factors = fit(figures[~asked], is_right[~asked], weights[~asked])
        for at, likelihood in zip(np.flatnonzero(asked), predict(figures[asked], factors), strict=True):
            known[found[at][0]] = max(known.get(found[at][0], 0.0), float(likelihood))
    print_shares(cases, known)
    print_seen(cases, known)
    names = ("bias", *SubjectComparison._fields, *(["nearness"] if with_vectors else []))
    factors = fit(figures, is_right, weights)
    print(", ".join(f"{name} {factor:.2f}" for name, factor in zip(names, (factors[-1], *factors[:-1]), strict=True)))
    return 0


def print_shares(cases: Sequence[Case], known: Mapping[int, float]) -> None:
    """Print how many of each source and label have a likelihood, *known* by number of the case, from SHOWN on."""
    for source in dict.fromkeys(case.source for case in cases):
        for label in sorted({case.label for case in cases if case.source == source}):
            of = [known.get(n, 0.0) for n, case in enumerate(cases) if (case.source, case.label) == (source, label)]
            shares = "  ".join(f"{least:.2f}: {sum(one >= least for one in of) / len(of):4.0%}" for least in SHOWN)
            print(f"{source:11} {label:14} {len(of):5}  asked from  {shares}")


def print_seen(cases: Sequence[Case], known: Mapping[int, float]) -> None:
    """Print of the sets of strangers what is seen of each label, and what is held to contradict."""
    seen: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    declared: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for number, case in enumerate(cases):
        if not case.source.startswith("pairs_") or case.source.endswith("+"):
            continue
        step = decide_by_wording(case.candidate, case.near, THRESHOLD).step
        is_asked = step == "create" and known.get(number, 0.0) >= get_least_likelihood(len(case.near))
        is_declared = step == "conflict" or (is_asked and find_other_answer(case.candidate, case.near[0]) is not None)
        language = "zh" if has_cjk(case.candidate.title + case.candidate.decision) else "en"
        for source, spoken in product((case.source, "all"), (language, "both")):
            seen[source, spoken, case.label].append(is_asked or step != "create")
            if is_declared:
                declared[source, spoken].append(case.label == "contradiction")
    for source, spoken in dict.fromkeys((source, spoken) for source, spoken, _ in sorted(seen)):
        of = {label: seen[source, spoken, label] for label in ("duplicate", "contradiction", "related", "unrelated")}
        shares = "  ".join(
            f"{name} {sum(all_):3}/{len(all_):3} {sum(all_) / len(all_):4.0%}" for name, all_ in of.items()
        )
        right = declared[source, spoken]
        print(f"{source:11} {spoken:4}  seen: {shares}  held to contradict, right: {sum(right)}/{len(right)}")


def list_compared(case: Case) -> list[Nearest]:
    """Return how the records near a candidate compare with it."""
    return compare_nearest(case.candidate, list_comparable(case.candidate, case.near))


def iter_pairs() -> Iterator[Case]:
    """Yield the labelled pairs, those of strangers and the short ones among others as well."""
    sets = [
        [Pair(name, row.get("repo", name), row["label"], row["a"], row["b"]) for row in read_rows(path)]
        for path in sorted((HERE / "unseen").glob("pairs_*.jsonl"))
        for name in [path.stem]
    ]
    cut_ones = [pair._replace(source=CUT, old=cut(pair.old), new=cut(pair.new)) for pair in sets[0]]
    short = [
        Pair("short", row["first"]["title"], row["label"], row["first"], row["second"])
        for row in read_rows(HERE / "pairs" / "short.jsonl")
    ]
    for pairs in (*sets, cut_ones, short):
        yield from (build_case(pair) for pair in pairs)
        yield from iter_crowded(pairs)
    for half in ("dev", "unseen"):
        for row in read_rows(HERE / "pairs" / f"{half}.jsonl"):
            yield build_case(Pair("bench", "bench", row["label"], row["first"], row["second"]))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def iter_crowded(pairs: Sequence[Pair]) -> Iterator[Case]:
    """Yield each of *pairs* among records of its repository that are about other questions than its two."""
    question = {side["title"]: side["title"] for pair in pairs for side in (pair.old, pair.new)}
    for pair in pairs:
        if pair.label in SAME:
            one, other = question[pair.old["title"]], question[pair.new["title"]]
            question = {title: one if name == other else name for title, name in question.items()}
    for pair in pairs:
        seen = {question[pair.old["title"]], question[pair.new["title"]]}
        others = []
        for each in pairs:
            is_near = pair.source == "short" or each.group == pair.group
            is_near = is_near and has_cjk(each.old["title"]) == has_cjk(pair.old["title"])
            if is_near and question[each.old["title"]] not in seen:
                seen.add(question[each.old["title"]])
                others.append(build_record(each.old))
        yield build_case(pair)._replace(source=f"{pair.source}+", near=(build_record(pair.old), *others))


def build_case(pair: Pair) -> Case:
    """Return *pair* as a record and a candidate."""
    return Case(pair.source, pair.group, pair.label, build_candidate(pair.new), [build_record(pair.old)])


def cut(side: dict[str, str]) -> dict[str, str]:
    """Return a record as somebody in a hurry writes it: the first sentence of its decision, and no reason."""
    return {**side, "why": "", "decision": next(iter(split_plain_sentences(side["decision"])), "")}


def build_candidate(side: dict[str, str]) -> Candidate:
    """Return *side* as a candidate."""
    return Candidate(read_kind(side), side["title"], side["decision"], why=side.get("why", ""), scope=SCOPE)


def build_record(side: dict[str, str]) -> Record:
    """Return *side* as an accepted record."""
    sections = (Section("decision", "", side["decision"]), Section("why", "", side.get("why", "")))
    return Record("D001", read_kind(side), side["title"], SCOPE, "accepted", sections=sections)


def read_kind(side: Mapping[str, str]) -> str:
    """Return the kind of a record; one that kb does not know is a decision."""
    return side["kind"] if side.get("kind") in BY_NAME else "decision"


def iter_replayed(folder: Path) -> Iterator[Case]:
    """Yield each decision record below *folder* beside those whose files stand before its own."""
    near: list[Record] = []
    for path in sorted(folder.rglob("*.md")):
        try:
            record = read_adr(decode_record(path.read_bytes(), path.name), path.name).record
        except KbError:
            continue
        decision = record.section("decision") or "\n".join(section.text for section in record.sections)[:READ]
        side = {"title": record.title, "decision": decision, "why": record.section("why")}
        if near:
            yield Case(REPLAYED, folder.name, REPLAYED, build_candidate(side), tuple(near))
        near.append(build_record(side))


def list_figures(case: Case, near: Nearest, with_vectors: bool) -> list[float]:
    """Return the figures of *case* and the record *near* it."""
    figures = [float(one) for one in near.comparison]
    if with_vectors:
        one, record = case.candidate, near.record
        theirs = write_subject(record.title, record.section("decision"), record.section("why"))
        measured = models.measure_nearness(write_subject(one.title, one.decision, one.why), [theirs])
        figures.append(scale_nearness(measured[0], is_unspaced=near.is_unspaced) if measured else 0.0)
    return figures


def fit(figures: Any, is_right: Any, weights: Any) -> Any:
    """Return the factors of a ridge logistic regression by Newton's method, the bias last."""
    rows = np.c_[figures, np.ones(len(figures))]
    ridge = RIDGE * np.eye(rows.shape[1])
    ridge[-1, -1] = 1e-6
    factors = np.zeros(rows.shape[1])
    for _ in range(100):
        likelihoods = 1 / (1 + np.exp(-rows @ factors))
        slope = rows.T @ (weights * (likelihoods - is_right)) + ridge @ factors
        curve = (rows * (weights * likelihoods * (1 - likelihoods))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curve, slope)
        factors -= step
        if math.isclose(float(np.abs(step).max()), 0.0, abs_tol=1e-8):
            break
    return factors


def predict(figures: Any, factors: Any) -> Any:
    """Return the likelihoods for *figures*."""
    return 1 / (1 + np.exp(-(np.c_[figures, np.ones(len(figures))] @ factors)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
