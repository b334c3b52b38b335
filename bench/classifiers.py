"""Fit the models that classify short sentences, and say how good they are on authors they have not seen.

    python -m bench.classifiers            leave each author out, train on the others, test on the one left out
    python -m bench.classifiers --fit      write kb/text/models/*.weights from every sentence that may be learned from
    python -m bench.classifiers --check    fit again, and exit with 1 where what is kept differs by a byte

The sentences are those of `bench/training`, `bench/unseen` and `tests/data` (`bench/training/README.md`); what is in
`*_later.jsonl` is left out of every fit that is kept, so that a figure on it is one on sentences nobody learned from.
A model is a linear support-vector machine with squared hinge loss, fitted by dual coordinate descent in plain Python:
only sums and products, in a fixed order, so that every machine gets the same bytes.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.text.classifier import ASKER, BITS, FOLDER, PERSON, WANTED, ZERO, hash_features
from kb.text.segment import one_line

HERE = Path(__file__).parent
AUTHORS = ("a", "b", "c", "d", "e", "f", "g", "dev", "held", "new", "later")
STRANGERS = ("a", "b", "e", "f", "dev", "held", "new", "later")
"""Those who had seen no rule and no model; what the others wrote is only learned from."""
KEPT_BACK = "later"
LABELS = {ASKER: ("identity",), PERSON: ("person",), WANTED: ("id", "recent", "experience", "code", "knowledge")}
COST = 1.0  # What a wrong example costs against large weights
FOREIGN = 0.3  # What an example counts that was written for another question
MAX_STATEMENT = 200  # characters of a record's text that is an example
EPOCHS = 20
_BIAS = 0.5


class Example(NamedTuple):
    """A sentence, who wrote it, what it is, and whether it was written for this question."""

    text: str
    author: str
    language: str
    label: str
    is_own: bool


def read_rows(name: str, author: str) -> list[tuple[str, str, str]]:
    """Return text, language and label of what *author* wrote for *name*: identity, profile, queries, prompts."""
    folder = "training" if len(author) == 1 else "unseen"
    path = HERE / folder / f"{name}_{author}.jsonl"
    if not path.exists():
        return []
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(row.get("text") or row["query"], row["lang"], row.get("label") or row["intent"]) for row in rows]


def read_statements(author: str) -> list[str]:
    """Return what records say in a sentence or two, from the pairs of records of *author*."""
    path = HERE / "unseen" / f"pairs_{author}.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    texts = [record[part] for row in rows for record in (row["a"], row["b"]) for part in ("title", "decision")]
    return [text for text in texts if len(text) <= MAX_STATEMENT]


def collect_examples(model: str) -> list[Example]:
    """Return the examples of *model*, no sentence twice: first what was written for it, then what else is certain."""
    own = {ASKER: "identity", PERSON: "profile", WANTED: "queries"}[model]
    found = [
        Example(one_line(text), author, language, label, True)
        for author in AUTHORS
        for text, language, label in read_rows(own, author)
    ]
    for author in AUTHORS if model != WANTED else ():
        # what somebody says of themselves asks nothing, and who asks about themselves says nothing
        others = {ASKER: ("profile", "queries", "prompts"), PERSON: ("identity", "queries", "prompts")}[model]
        for other in others:
            for text, language, label in read_rows(other, author):
                if model == PERSON and other == "identity" and label != "identity":
                    continue  # among these are statements
                label = "identity" if model == ASKER and label == "identity" else "other"
                found.append(Example(one_line(text), author, language, label, False))
    if model == PERSON:
        # titles and decisions of records are of the work, whoever wrote them
        found += [
            Example(one_line(text), author, "", "none", False) for author in AUTHORS for text in read_statements(author)
        ]
    if model == WANTED:
        found = [example for example in found if example.label in LABELS[WANTED]]
    return list({example.text: example for example in reversed(found)}.values())[::-1]


def fit(slots: Sequence[Sequence[int]], signs: Sequence[int], costs: Sequence[float], bits: int) -> list[float]:
    """Return the weight of each slot and, last, the bias; *signs* are 1 and -1."""
    size = 1 << bits
    weights = [0.0] * (size + 1)
    norms = [len(row) ** -0.5 for row in slots]
    alphas = [0.0] * len(slots)
    order, seed = list(range(len(slots))), 12345
    for _ in range(EPOCHS):
        for at in range(len(order) - 1, 0, -1):
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            other = seed % (at + 1)
            order[at], order[other] = order[other], order[at]
        most = 0.0
        for at in order:
            row, sign, norm = slots[at], signs[at], norms[at]
            damping = 0.5 / costs[at]
            total = 0.0  # a loop: `sum` rounds floats otherwise from Python 3.12 on
            for slot in row:
                total += weights[slot]
            gradient = sign * (norm * total + _BIAS * weights[size]) - 1.0 + damping * alphas[at]
            if alphas[at] == 0.0 and gradient >= 0.0:
                continue
            alpha = max(alphas[at] - gradient / (1.0 + _BIAS * _BIAS + damping), 0.0)
            step = alpha - alphas[at]
            if abs(step) < 1e-6:
                continue
            most = max(most, abs(step))
            alphas[at] = alpha
            step *= sign
            for slot in row:
                weights[slot] += step * norm
            weights[size] += step * _BIAS
        if most < 1e-3:
            break
    return weights


def fit_label(model: str, label: str, examples: Sequence[Example], slots: Sequence[Sequence[int]]) -> list[float]:
    """Return the weights by which *model* tells *label* from the rest."""
    signs = [1 if example.label == label else -1 for example in examples]
    costs = [COST * (1.0 if example.is_own else FOREIGN) for example in examples]
    return fit(slots, signs, costs, BITS[model])


def score(weights: Sequence[float], row: Sequence[int]) -> float:
    """Return the score of a sentence, as `kb.text.classifier` computes it but for the rounding."""
    norm: float = len(row) ** -0.5
    return norm * sum(weights[slot] for slot in row) + _BIAS * weights[-1]


def build_file(model: str, examples: Sequence[Example]) -> bytes:
    """Return the bytes of the file of *model*, fitted to *examples*."""
    slots = [hash_features(model, example.text) for example in examples]
    heads, tables = [], []
    for label in LABELS[model]:
        weights = fit_label(model, label, examples, slots)
        step = max(map(abs, weights[:-1])) / (ZERO - 1)
        heads.append(f"{label}={step:.9f},{_BIAS * weights[-1]:.9f}")
        tables.append(bytes(ZERO + round(weight / step) for weight in weights[:-1]))
    return " ".join((f"kb-{model}", *heads)).encode("ascii") + b"\n" + b"".join(tables)


def leave_authors_out(model: str, examples: Sequence[Example]) -> list[tuple[Example, dict[str, float]]]:
    """Return each stranger's own example with its scores by a model that has not seen this author."""
    slots = [hash_features(model, example.text) for example in examples]
    found = []
    for author in STRANGERS:
        learned = [at for at, example in enumerate(examples) if example.author != author]
        left = [at for at, example in enumerate(examples) if example.author == author and example.is_own]
        if not left:
            continue
        fitted = {
            label: fit_label(model, label, [examples[at] for at in learned], [slots[at] for at in learned])
            for label in LABELS[model]
        }
        found += [(examples[at], {label: score(fitted[label], slots[at]) for label in fitted}) for at in left]
    return found


def report_one(model: str, found: Iterable[tuple[Example, dict[str, float]]]) -> None:
    """Print of a model with one label how many of it are known, and how many of the rest, from which score on."""
    label = LABELS[model][0]
    scored = [(example, scores[label]) for example, scores in found]
    print(f"{model}: known and false, of what each author wrote, by models that saw nothing of it")
    for least in (-0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4):
        cells = []
        for author in (*STRANGERS, ""):
            own = [(e, s) for e, s in scored if author in ("", e.author)]
            if own:
                yes = [s >= least for e, s in own if e.label == label]
                no = [s >= least for e, s in own if e.label != label]
                cells.append(f"{author or 'all'} {sum(yes)}/{len(yes)} {sum(no)}/{len(no)}")
        print(f"  from {least:+.1f}: " + "; ".join(cells))


def report_wanted(found: Sequence[tuple[Example, dict[str, float]]]) -> None:
    """Print how often the highest score is that of what was wanted."""
    print(f"{WANTED}: the highest score is the right one")
    for author in (*STRANGERS, ""):
        own = [(e, max(s, key=s.__getitem__)) for e, s in found if author in ("", e.author)]
        if own:
            cells = [
                f"{label} {sum(top == label for e, top in own if e.label == label)}"
                f"/{sum(e.label == label for e, _ in own)}"
                for label in LABELS[WANTED]
            ]
            print(f"  {author or 'all'}: {sum(e.label == top for e, top in own)}/{len(own)}; " + ", ".join(cells))


def main(words: Sequence[str] | None = None) -> int:
    """Report, fit or check the models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(LABELS), help="asker, person, wanted; all without")
    parser.add_argument("--fit", action="store_true", help="Write the weights.")
    parser.add_argument("--check", action="store_true", help="Compare the weights that are kept with a new fit.")
    parser.add_argument("--wrong", action="store_true", help="Print what is taken for something else.")
    given = parser.parse_args(words)
    status = 0
    for model in given.models:
        examples = collect_examples(model)
        path = Path(FOLDER) / f"{model}.weights"
        if given.fit or given.check:
            made = build_file(model, [example for example in examples if example.author != KEPT_BACK])
            if given.check:
                same = path.read_bytes() == made
                print(f"{model}: {'as kept' if same else 'differs from what is kept'}")
                status |= not same
            else:
                path.write_bytes(made)
                print(f"{model}: {len(examples)} sentences, {len(made)} bytes")
            continue
        found = leave_authors_out(model, examples)
        if model == WANTED:
            report_wanted(found)
        else:
            report_one(model, found)
        for example, scores in found if given.wrong else ():
            top = max(scores, key=scores.__getitem__)
            if (example.label == top) != (scores[top] >= 0.0 or model == WANTED):
                print(f"{example.author} {example.label} {scores[top]:+.2f} {top}: {example.text}", file=sys.stderr)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
