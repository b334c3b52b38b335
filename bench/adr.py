"""Import every decision record under KB_BENCH_DATA/adr and compare with its lists of files and pairs.

    KB_BENCH_DATA=… python bench/adr.py [--all]

Prints how many files of each form were read, which were refused and why, how many statuses and relations agree with
`files.tsv` and `pairs.tsv`, how many links are broken once all is imported, and how long it took. Exits with 2 where
the data is missing.
"""

import csv
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kb.adr.adr_fields import parse_status
from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_set import ImportResolution, resolve_imports
from kb.errors import KbError
from kb.knowledge_base import make
from kb.records.front_matter import decode_record, find_body_start
from kb.records.record_file import read, render


def main() -> int:
    """Print the report."""
    data = os.environ.get("KB_BENCH_DATA", "")
    folder = Path(data) / "adr"
    if not data or not folder.is_dir():
        print("set KB_BENCH_DATA to a folder with adr/<owner+repository>/… and adr/files.tsv", file=sys.stderr)
        return 2
    every = "--all" in sys.argv
    rows = list(_table(folder / "files.tsv"))
    began = time.process_time()
    imports, refused = _imports(folder, rows)
    settled = {repo: resolve_imports(items) for repo, items in imports.items()}
    spent = time.process_time() - began
    count = sum(len(items) for items in imports.values())
    print(f"read {count} of {len(rows)} files in {spent:.2f} s CPU ({1000 * spent / max(len(rows), 1):.1f} ms each)")
    print("forms:", dict(Counter(item.format for items in imports.values() for item in items).most_common()))
    for place, reason in refused:
        print(f"  refused {place}: {reason}")
    _statuses(rows, imports)
    _pairs(folder, imports, settled, every)
    _round_trip(settled)
    _links(settled, every)
    _lost(folder, imports, every)
    _notes(imports, settled, every)
    return 0


def _table(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def _imports(folder: Path, rows: list[dict[str, str]]) -> tuple[dict[str, list[ImportedAdr]], list[tuple[str, str]]]:
    imports: dict[str, list[ImportedAdr]] = {}
    refused: list[tuple[str, str]] = []
    for row in rows:
        file = folder / row["repo"].replace("/", "+") / row["path"]
        if not file.is_file():
            refused.append((f"{row['repo']}/{row['path']}", "not stored"))
            continue
        try:
            item = read_adr(decode_record(file.read_bytes(), row["path"]), row["path"])
        except KbError as error:
            refused.append((row["repo"], str(error)))
        else:
            imports.setdefault(row["repo"], []).append(item)
    return imports, refused


def _statuses(rows: list[dict[str, str]], imports: dict[str, list[ImportedAdr]]) -> None:
    """Compare the status that was read with the one the list has for the file."""
    read_as = {(repo, item.path): item for repo, items in imports.items() for item in items}
    counts: Counter[str] = Counter()
    for row in rows:
        item = read_as.get((row["repo"], row["path"]))
        if item is None:
            continue
        unknown = any("is not known" in note.template for note in item.notes)
        silent = not item.has_status
        if not row["status"]:
            counts["none listed, none found" if silent else f"none listed, found {item.record.status}"] += 1
        elif silent:
            counts[f"listed, not found: {row['status']}"] += 1
        elif unknown:
            counts[f"not a known word, said so: {row['status'][:40]}"] += 1
        else:
            same = parse_status(row["status"]).status == item.record.status
            counts["same as listed" if same else f"{row['status'][:40]} read as {item.record.status}"] += 1
    print("statuses:")
    for what, count in counts.most_common():
        print(f"  {count:4} {what}")


def _pairs(
    folder: Path, imports: dict[str, list[ImportedAdr]], settled: dict[str, ImportResolution], every: bool
) -> None:
    """Compare the relations with the listed pairs: found at all, and found as the same relation."""
    edges = {edge for repo, items in imports.items() for edge in _edges(repo, items, settled[repo])}
    wanted = {
        (row["repo"], row["file_a"], row["file_b"]): "amends" if row["scope"] == "in-part" else row["relation"]
        for row in sorted(_table(folder / "pairs.tsv"), key=lambda row: row["relation"])
        if row["relation"] in ("supersedes", "amends")
    }
    found = {edge[:3]: edge[3] for edge in edges}
    hit = [key for key in wanted if key in found]
    same = [key for key in hit if wanted[key] == found[key]]
    print(f"relations: {len(wanted)} listed, {len(found)} found, {len(hit)} in both, {len(same)} of the same kind")
    print(f"  recall {len(hit) / max(len(wanted), 1):.2f}, precision {len(hit) / max(len(found), 1):.2f}")
    for label, keys in (("missed", set(wanted) - set(found)), ("not listed", set(found) - set(wanted))):
        for key in sorted(keys) if every else ():
            print(f"  {label}: {key[0]} {key[1]} {wanted.get(key) or found.get(key)} {key[2]}")
    for key in hit if every else ():
        if wanted[key] != found[key]:
            print(f"  listed as {wanted[key]}, read as {found[key]}: {key}")


def _edges(repo: str, items: list[ImportedAdr], settled: ImportResolution) -> Iterable[tuple[str, str, str, str]]:
    paths = {record.id: item.path for record, item in zip(settled.records, items, strict=True)}
    for record in settled.records:
        for relation in ("supersedes", "amends"):
            for old in getattr(record, relation):
                yield repo, paths[record.id], paths[old], relation


def _round_trip(settled: dict[str, ImportResolution]) -> None:
    """Write every record as a file, read it again and count those that came back different."""
    different = 0
    for resolution in settled.values():
        for record in resolution.records:
            again = read(render(record).encode(), record.sources[0])
            same = [(s.name, s.text) for s in again.sections] == [(s.name, s.text.strip("\n")) for s in record.sections]
            different += not (same and again.extra == record.extra and again.title == record.title)
    print(f"written as records and read again: {different} came back different")


def _links(settled: dict[str, ImportResolution], every: bool) -> None:
    """Import each repository into a knowledge base of its own, twice, and count the links that `kb check` warns of."""
    warnings: list[str] = []
    imported = again = 0
    began = time.perf_counter()
    for resolution in settled.values():
        with tempfile.TemporaryDirectory() as place:
            base, _ = make(f"{place}/kb", os.environ)
            with base:
                words = [verdict.verdict for verdict in base.import_records(resolution.records, origin="a bench")]
                imported += words.count("created")
                words = [verdict.verdict for verdict in base.import_records(resolution.records, origin="a bench")]
                again += words.count("created")
                warnings += [f"{item.path}:{item.line} {item.message}" for item in base.check() if item.rule == "link"]
    spent = time.perf_counter() - began
    print(f"imported {imported} and again {again}, checked, in {spent:.1f} s; broken links: {len(warnings)}")
    for warning in warnings if every else ():
        print(f"  {warning}")


def _lost(folder: Path, imports: dict[str, list[ImportedAdr]], every: bool) -> None:
    """Count the lines of every body that stand nowhere in its record; the titles and mapped fields are such lines."""
    lost: Counter[str] = Counter()
    for repo, items in imports.items():
        for item in items:
            text = (folder / repo.replace("/", "+") / item.path).read_text("utf-8-sig")
            body = text[find_body_start(text) :]
            kept = "\n".join(f"{section.heading}\n{section.text}" for section in item.record.sections)
            stand = {line.strip() for line in kept.splitlines()} | {f"{v}".strip() for v in item.record.extra.values()}
            for line in body.splitlines():
                bare = line.strip().strip("#").strip()
                if bare and bare != item.record.title and bare not in stand and line.strip() not in stand:
                    lost[bare] += 1
    print(f"body lines that are in no section: {sum(lost.values())} (titles with numbers, mapped fields and headings)")
    for line, count in lost.most_common() if every else ():
        print(f"  {count:4} {line[:110]}")


def _notes(imports: dict[str, list[ImportedAdr]], settled: dict[str, ImportResolution], every: bool) -> None:
    notes = Counter(note.template for items in imports.values() for item in items for note in item.notes)
    notes.update(problem.said.template for resolution in settled.values() for problem in resolution.problems)
    print("said:")
    for template, count in notes.most_common():
        print(f"  {count:4} {template}")
    for repo, resolution in settled.items() if every else ():
        for problem in resolution.problems:
            print(f"  {repo} {problem.path}: {problem.said}")


if __name__ == "__main__":
    sys.exit(main())
