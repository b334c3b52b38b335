"""Measure the duplicate and contradiction rules: precision and recall on labelled pairs and on public data.

    python -m bench.dedup

The labelled pairs of bench/pairs come first: what was merged, and how many true duplicates a verdict shows among all
records of the half. Then the pairs of tests/data/pairs: `dev.tsv`, which the rules were written against, and
`heldout.tsv`, which was written after them; and every record against every other row's candidate, which should be
strangers.
With KB_BENCH_DATA, a folder of public data, also every pair of decision records inside one repository (`adr/`), an
issue tracker with known duplicates (`retrieval/gitbugs_hadoop/`) and sentence pairs (`pairs/`).
"""

import csv
import json
import os
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations

from bench.pairs import HALVES, empty, pairs, shown, table
from kb.records.kinds import resolve_section_name
from kb.records.model import Candidate, Record, Section
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import (
    THRESHOLD,
    compute_similarity,
    find_duplicate,
    find_similar_titles,
    is_equivalent_title,
)
from kb.text.segment import normalise

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

EXPECTED = {"duplicate": "same", "addition": "same", "contradiction": "contradiction"}
SHOWN = 12


def record(title: str, decision: str, number: int = 1) -> Record:
    """Return an accepted decision."""
    section = Section("decision", "Decision", decision)
    return Record(f"D{number:03}", "decision", title, "project/bench", "accepted", sections=(section,))


def outcome(old: Record, title: str, decision: str) -> str:
    """Return what the rules make of a candidate against one record: same, contradiction or other."""
    candidate = Candidate("decision", title, decision, scope=old.scope)
    if find_contradiction(candidate, old):
        return "contradiction"
    return "same" if find_duplicate(candidate, [old]) else "other"


def share(part: int, whole: int) -> str:
    """Return *part* of *whole* as a percentage with both numbers."""
    return f"{part / whole:6.1%} ({part}/{whole})" if whole else "     – (0/0)"


def labelled(path: str) -> None:
    """Print precision and recall of merging and of contradicting for each language of a file of labelled pairs."""
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    wrong: list[str] = []
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            expected = EXPECTED.get(row["label"], "other")
            old = record(row["record_title"], row["record_decision"])
            got = outcome(old, row["candidate_title"], row["candidate_decision"])
            counts[row["language"]][expected, got] += 1
            if got != expected:
                wrong.append(f"    {row['label']} → {got}: {row['record_title']} | {row['candidate_title']}")
    print(f"\n{os.path.relpath(path, ROOT)}")
    for language, count in counts.items():
        for what in ("same", "contradiction"):
            right = count[what, what]
            said = sum(n for (_, got), n in count.items() if got == what)
            there = sum(n for (expected, _), n in count.items() if expected == what)
            print(f"  {language} {what:14} precision {share(right, said)}  recall {share(right, there)}")
    print("\n".join(wrong))


def strangers(paths: Iterable[str]) -> None:
    """Print what the rules say of every record against the candidates of all other rows of its language."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                rows[row["language"]].append(row)
    print("\nrecords against the candidates of other rows")
    for language, those in rows.items():
        found = [
            f"    {got}: {a['record_title']} | {b['candidate_title']}"
            for a, b in permutations(those, 2)
            for old in (record(a["record_title"], a["record_decision"]),)
            if (got := outcome(old, b["candidate_title"], b["candidate_decision"])) != "other"
        ]
        print(f"  {language}: {len(found)} of {len(those) * (len(those) - 1)} are seen as the same or a contradiction")
        print("\n".join(found))


# -- public data ----------------------------------------------------------------------------------


def decision_records(folder: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (repository, path, title, decision) of every markdown file under *folder*."""
    for base, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(base, name), folder)
            if not name.endswith(".md") or os.sep not in path:
                continue
            with open(os.path.join(base, name), encoding="utf-8", errors="replace") as file:
                text = re.sub(r"\A---\n.*?\n---\n", "", file.read(), flags=re.DOTALL)
            title = re.search(r"(?m)^# +(.+)$", text)
            if title:
                repository, _, rest = path.partition(os.sep)
                plain = re.sub(r"^(?:ADR[- ]?)?\d+[.:：—– -]+\s*", "", title.group(1), flags=re.IGNORECASE)
                yield repository.replace("+", "/", 1), rest, plain.strip(), _decision_of(text)


def _decision_of(text: str) -> str:
    parts = re.split(r"(?m)^#{2,3} +(.+)$", text)
    bodies = zip(parts[1::2], parts[2::2], strict=True)
    return next((body for heading, body in bodies if resolve_section_name(heading) == "decision"), "").strip()


def decisions(folder: str) -> None:
    """Print how many pairs of decision records of one repository would merge or open a review."""
    by_repository: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for repository, path, title, decision in decision_records(folder):
        by_repository[repository].append((path, title, decision))
    with open(os.path.join(folder, "pairs.tsv"), encoding="utf-8") as file:
        related = {
            (row["repo"], frozenset((row["file_a"], row["file_b"]))): row["relation"]
            for row in csv.DictReader(file, delimiter="\t")
        }
    pairs, found = 0, []
    start = time.process_time()
    for repository, items in by_repository.items():
        for (path_a, title_a, text_a), (path_b, title_b, text_b) in combinations(items, 2):
            pairs += 1
            got = outcome(record(title_a, text_a), title_b, text_b)
            if got != "other":
                relation = related.get((repository, frozenset((path_a, path_b))), "")
                found.append((got, relation, f"{title_a} | {title_b}"))
    spent = (time.process_time() - start) / max(pairs, 1) * 1e6
    print(f"\ndecision records: {pairs} pairs inside {len(by_repository)} repositories, {spent:.0f} µs a pair")
    for what in ("same", "contradiction"):
        print(f"  {what:14} {sum(got == what for got, _, _ in found)}")
    for got, relation, titles in found:
        print(f"    {got} {f'({relation})' if relation else ''}: {titles}")
    partners = [key for key, relation in related.items() if relation == "supersedes"]
    caught = sum(relation == "supersedes" for _, relation, _ in found)
    print(f"  of {len(partners)} pairs of which one supersedes the other, seen: {caught}")


def issues(folder: str) -> None:
    """Print the precision of the title rule on an issue tracker with known duplicates."""
    with open(os.path.join(folder, "docs.jsonl"), encoding="utf-8") as file:
        docs = {doc["id"]: doc for doc in map(json.loads, file)}
    with open(os.path.join(folder, "queries.jsonl"), encoding="utf-8") as file:
        known = {frozenset((q["self"], other)) for q in map(json.loads, file) for other in q["rel"]}
    known = {pair for pair in known if len(pair) == 2 and pair <= docs.keys()}
    alike = [
        frozenset((a, b))
        for a, b in _near(docs)
        if compute_similarity(docs[a]["text"], docs[b]["text"], THRESHOLD) > THRESHOLD
    ]
    titles = [pair for pair in alike if is_equivalent_title(*(docs[i]["text"] for i in pair))]
    merged = [pair for pair in alike if _merges(*(docs[i] for i in sorted(pair)))]
    print(f"\nissue tracker: {len(docs)} titles, {len(known)} known duplicate pairs")
    for name, found in (("title alone", alike), ("and titles agree", titles), ("and bodies agree", merged)):
        right = sum(pair in known for pair in found)
        print(f"  {name:18} precision {share(right, len(found))}  recall {share(right, len(known))}")
    for pair in [pair for pair in merged if pair not in known][:SHOWN]:
        print("    not marked: " + " | ".join(docs[i]["text"] for i in pair))


def ranked(folder: str) -> None:
    """Print how often the known duplicate of an issue is among the records that are named as similar."""
    with open(os.path.join(folder, "docs.jsonl"), encoding="utf-8") as file:
        docs = [json.loads(line) for line in file]
    with open(os.path.join(folder, "queries.jsonl"), encoding="utf-8") as file:
        queries = [json.loads(line) for line in file]
    titles = {doc["id"]: doc["text"] for doc in docs}
    rows = [(doc["id"], "", doc["text"], normalise(doc["text"])) for doc in docs]
    asked = [(q["self"], set(q["rel"]) - {q["self"]}) for q in queries if q["self"] in titles]
    asked = [(own, known & titles.keys()) for own, known in asked if known & titles.keys()]
    places = []
    for own, known in asked:
        found = [one.id for one in find_similar_titles(titles[own], (row for row in rows if row[0] != own), 10)]
        places.append(next((at for at, id in enumerate(found) if id in known), 10))
    print(
        "  a known duplicate among the similar titles: "
        + ", ".join(f"R@{k} {share(sum(place < k for place in places), len(places))}" for k in (1, 3, 10))
    )


def _merges(a: dict[str, str], b: dict[str, str]) -> bool:
    return outcome(record(a["text"], a["body"]), b["text"], b["body"]) == "same"


def _near(docs: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of *docs* that share a rare word of their titles, or all their words."""
    by_word: dict[str, list[str]] = defaultdict(list)
    for key, doc in docs.items():
        for word in set(re.findall(r"\w+", doc["text"].lower())):
            by_word[word].append(key)
    seen: set[tuple[str, str]] = set()
    for keys in by_word.values():
        if len(keys) <= 40:
            seen.update(combinations(sorted(keys), 2))
    yield from sorted(seen)


def sentence_pairs(path: str) -> None:
    """Print precision and recall of the title rule on sentence pairs marked as one meaning or two."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    alike = [(a, b, same) for a, b, same in rows if compute_similarity(a, b, THRESHOLD) > THRESHOLD]
    agree = [row for row in alike if is_equivalent_title(row[0], row[1])]
    positive = sum(same == "1" for *_, same in rows)
    print(f"\n{os.path.basename(os.path.dirname(path))}: {len(rows)} pairs, {positive} of one meaning")
    for name, found in (("title alone", alike), ("and titles agree", agree)):
        right = sum(same == "1" for *_, same in found)
        print(f"  {name:18} precision {share(right, len(found))}  recall {share(right, positive)}")


def own_pairs() -> None:
    """Print how the pairs of bench/pairs are merged, and how many duplicates are shown."""
    for half in HALVES:
        of = pairs(half)
        print(f"\nbench/pairs, {half}: {len(of)} pairs")
        table(of, "merge")
        with tempfile.TemporaryDirectory() as folder, empty(folder, os.environ) as kb:
            seen = shown(of, kb)
        print(f"  true duplicates among the three shown or merged {share(seen.found, seen.due)}")


def main() -> None:
    """Print every measurement whose data is there."""
    own_pairs()
    paths = [os.path.join(ROOT, "tests", "data", "pairs", f"{name}.tsv") for name in ("dev", "heldout")]
    for path in paths:
        labelled(path)
    strangers(paths)
    data = os.environ.get("KB_BENCH_DATA", "")
    if not data:
        print("\nset KB_BENCH_DATA to a folder of public data for more")
        return
    decisions(os.path.join(data, "adr"))
    issues(os.path.join(data, "retrieval", "gitbugs_hadoop"))
    ranked(os.path.join(data, "retrieval", "gitbugs_hadoop"))
    for name in ("mrpc_train", "lcqmc_test"):
        sentence_pairs(os.path.join(data, "pairs", name, "pairs.tsv"))


if __name__ == "__main__":
    main()
