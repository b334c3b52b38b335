"""Merge the branches of many agents over the same records: with git's lines, with `merge=union`, and with kb's driver.

    KB_BENCH_DATA=… python -m bench.merging [--agents 8] [--rounds 3] [--edits 8] [--records 40] [--seed 1]

In every round each agent branches off the main branch and edits records, some of them often; every edit adds a fact
that can be told from all others, counts a session, or changes a field. Then the branches are merged in random order.
What stops a merge is decided by a person (below) who overlooks nothing and changes nothing else.

- **lost**: a fact that some agent added and nobody removed, and that is in no record in the end; a session that was
  heard and not counted; a title or status that another one replaced without anybody being asked.
- **doubled**: a fact that stands more often than it was added, a session counted twice, a section that is there twice.

Only what happened without a person counts as lost or doubled; what a person had to place is counted apart. Exits with
1 where the driver lost or doubled anything or left a file that cannot be read.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench import corpus
from bench import merging_person as person
from kb.adr.adr_file import read_adr
from kb.adr.adr_set import resolve_imports
from kb.errors import KbError
from kb.git.repository import Repository
from kb.knowledge_base import make
from kb.records.blocks import append_to_section, edit_section
from kb.records.front_matter import decode_record, edit_front_matter, parse_front_matter
from kb.records.kinds import KINDS, folder_for_scope, generate_ulid
from kb.records.model import GLOBAL, TRANSITIONS, Record, Status
from kb.records.record_file import find_blocks, read, render
from kb.text.markdown_scan import find_headings
from kb.text.segment import slugify
from kb.writing import init_base

METHODS = {"lines": "merge", "union": "merge=union", "driver": "merge=kb"}
"""How records are merged → what `.git/info/attributes` says of them."""
WEIGHTS = {
    "note": 5, "hear": 4, "item": 3, "row": 2, "section": 2, "word": 3, "tag": 3, "claim": 2, "status": 1, "title": 1,
    "user": 2, "remove": 1,
}  # fmt: skip
"""How often an agent makes which edit."""
FACT = re.compile(r"fact\d+x")


class Truth(NamedTuple):
    """What the agents did: what a merge that keeps everything has in the end."""

    facts: dict[str, str]
    """Fact → the file it was added to."""
    gone: set[str]
    """Facts that an agent removed again."""
    heard: Counter[str]
    """File → how many sessions were counted in it, the first one included."""
    titles: dict[str, tuple[int, set[str]]]
    """File → the last round in which it got titles, and their facts."""
    statuses: dict[str, tuple[int, set[str]]]
    asked: set[tuple[str, str]]
    """(file, key) that a person was asked about."""


class Outcome(NamedTuple):
    """How one way of merging went."""

    count: Counter[str]
    seconds: float


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(prog="python -m bench.merging")
    for name, default in (("agents", 8), ("rounds", 3), ("edits", 8), ("records", 40), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    records = chosen(given.records, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "base")
        fill(base, records)
        outcomes = {method: measured(base, Path(folder, method), method, given) for method in METHODS}
    told(outcomes, given, len(records))
    bad = sum(outcomes["driver"].count[name] for name in ("lost", "doubled", "unreadable"))
    return 1 if bad else 0


def told(outcomes: dict[str, Outcome], given: argparse.Namespace, records: int) -> None:
    """Print the table."""
    source = "imported decision records" if os.environ.get("KB_BENCH_DATA") else "generated records"
    print(
        f"{records} {source}; {given.agents} agents, {given.rounds} rounds, {given.edits} edits each, seed {given.seed}"
    )
    rows = (
        "merges", "stopped", "files in conflict", "conflicts", "facts placed by a person", "facts", "lost", "doubled",
        "unreadable", "edits that were impossible",
    )  # fmt: skip
    print(f"{'':28}" + "".join(f"{method:>10}" for method in outcomes))
    for row in rows:
        print(f"{row:28}" + "".join(f"{outcome.count[row]:>10}" for outcome in outcomes.values()))
    print(f"{'ms for each merge':28}" + "".join(
        f"{1000 * outcome.seconds / max(1, outcome.count['merges']):>10.0f}" for outcome in outcomes.values()
    ))  # fmt: skip


# -- records ---------------------------------------------------------------------------------------


def chosen(size: int, seed: int) -> list[Record]:
    """Return *size* records: imported ones where there is data, else generated ones."""
    data = os.environ.get("KB_BENCH_DATA")
    if not data:
        numbers = range(1, size + 1)
        return [corpus.record(number * len(KINDS), GLOBAL, random.Random(number)) for number in numbers]
    found = [record for record in imported(Path(data) / "adr") if is_plain(record)]
    found = random.Random(seed).sample(found, min(size, len(found)))
    return [placed(record._replace(id=f"D{number:03d}"), number) for number, record in enumerate(found, 1)]


def imported(folder: Path) -> Iterator[Record]:
    """Yield the decision records in *folder*/<owner+repository>/…, as kb imports them."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        items = []
        for file in sorted(place.rglob("*.md")):
            with contextlib.suppress(KbError, UnicodeDecodeError):
                items.append(read_adr(decode_record(file.read_bytes()), str(file.relative_to(place))))
        yield from resolve_imports(items).records


def is_plain(record: Record) -> bool:
    """Return whether *record* comes back from its file."""
    try:
        read(render(record).encode())
    except KbError:
        return False
    return True


def placed(record: Record, number: int) -> Record:
    """Return *record* with a uid and a file of its own."""
    path = f"{folder_for_scope(GLOBAL)}/{record.id}-{slugify(record.title)}.md"
    return record._replace(uid=generate_ulid(1_790_000_000 + number), scope=GLOBAL, path=path, supersedes=(), amends=())


def fill(place: Path, records: list[Record]) -> None:
    """Make a knowledge base with *records*."""
    make(str(place), os.environ, name="bench")[0].close()
    for record in records:
        (place / record.path).write_text(render(record), encoding="utf-8", newline="")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Fill")


def git(place: Path, *words: str, check: bool = True) -> "subprocess.CompletedProcess[bytes]":
    """Run git."""
    settings = ["-c", "gc.auto=0", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    return subprocess.run(["git", "-C", str(place), *settings, *words], check=check, capture_output=True)


# -- edits -----------------------------------------------------------------------------------------

Edit = Callable[[str, str, random.Random], str]


def note(text: str, fact: str, chance: random.Random) -> str:
    """Add a dated note, as kb does for what a session adds."""
    return append_to_section(
        text, "additions", f"- 2026-09-{chance.randint(1, 30):02d} (bench/{fact}): {words(chance)}"
    )


def hear(text: str, fact: str, chance: random.Random) -> str:
    """Count a session, as kb does for what is said again."""
    values = parse_front_matter(text)
    sources = [*(values.get("sources") or []), f"bench/{fact}"]
    return edit_front_matter(text, {"occurrences": values.get("occurrences", 1) + 1, "sources": sources})


def item(text: str, fact: str, chance: random.Random) -> str:
    """Add an item at the end of a list of reasons."""
    return append_to_section(text, "why", f"- {fact} {words(chance)}")


def row(text: str, fact: str, chance: random.Random) -> str:
    """Add a row to a table, or a table."""
    new = f"| {fact} | {words(chance)} |"
    if "| store | note |" in text:
        return text.replace("| store | note |\n|---|---|\n", f"| store | note |\n|---|---|\n{new}\n", 1)
    return edit_section(text, "evidence", f"| store | note |\n|---|---|\n{new}")


def section(text: str, fact: str, chance: random.Random) -> str:
    """Write the first section that is missing, or say more in the last one."""
    there = {part.name for part in read(text.encode()).sections}
    names = [name for name in ("rollback", "verification", "impact", "alternatives", "context") if name not in there]
    if names:
        return edit_section(text, names[0], f"{fact} {words(chance)}.")
    return append_to_section(text, "rollback", f"\n{fact} {words(chance)}.")


def word(text: str, fact: str, chance: random.Random) -> str:
    """Say more in one of the lines."""
    start, end = find_blocks(text).machine
    rows = text[start:end].splitlines(keepends=True)
    free = [n for n, line in enumerate(rows) if re.match(r"\w.{20}", line)]
    if not free:
        return item(text, fact, chance)
    at = chance.choice(free)
    rows[at] = f"{rows[at].rstrip()} {fact}.\n"
    return text[:start] + "".join(rows) + text[end:]


def tag(text: str, fact: str, chance: random.Random) -> str:
    """Add a tag."""
    return edit_front_matter(text, {"tags": [*(parse_front_matter(text).get("tags") or []), fact]})


def claim(text: str, fact: str, chance: random.Random) -> str:
    """Add a claim."""
    return edit_front_matter(
        text, {"claims": {**(parse_front_matter(text).get("claims") or {}), fact: chance.choice(corpus.THINGS)}}
    )


def status(text: str, fact: str, chance: random.Random) -> str:
    """Give the record another status."""
    now = str(parse_front_matter(text).get("status", "proposed"))
    return edit_front_matter(text, {"status": str(chance.choice(sorted(TRANSITIONS[now])))})


def title(text: str, fact: str, chance: random.Random) -> str:
    """Give the record another title, in its heading too."""
    old = read(text.encode())
    new = f"{chance.choice(corpus.VERBS)} {chance.choice(corpus.THINGS)} {fact}"
    return edit_front_matter(text.replace(f"# [{old.id}] {old.title}\n", f"# [{old.id}] {new}\n", 1), {"title": new})


def user(text: str, fact: str, chance: random.Random) -> str:
    """Add a line of a person's."""
    end = find_blocks(text).user.end
    return text[:end] + f"{fact} {words(chance)}\n" + text[end:]


def remove(text: str, fact: str, chance: random.Random) -> str:
    """Remove a section or a tag."""
    span = find_blocks(text).machine
    found = find_headings(text[slice(*span)])
    if found and chance.random() < 0.5:
        one = chance.choice(found)
        return text[: span.start + one.start] + text[span.start + one.end :]
    tags = parse_front_matter(text).get("tags")
    return edit_front_matter(text, {"tags": tags[1:] or None}) if isinstance(tags, list) and tags else text


EDITS: dict[str, Edit] = {
    "note": note, "hear": hear, "item": item, "row": row, "section": section, "word": word, "tag": tag, "claim": claim,
    "status": status, "title": title, "user": user, "remove": remove,
}  # fmt: skip


def words(chance: random.Random) -> str:
    """Return a few words."""
    return f"{chance.choice(corpus.NOUNS)} {chance.choice(corpus.THINGS)}"


# -- agents ----------------------------------------------------------------------------------------


def measured(base: Path, place: Path, method: str, given: argparse.Namespace) -> Outcome:
    """Let the agents work and merge their branches by *method*."""
    shutil.copytree(base, place, symlinks=True)
    init_base.install_driver(Repository(str(place), os.environ))
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text(f"content/anchors/**/*.md {METHODS[method]}\n")
    paths = sorted(str(path.relative_to(place)) for path in place.glob("content/anchors/**/*.md"))
    started = {path: parse_front_matter(text(place, path)).get("occurrences", 1) for path in paths}
    truth = Truth({}, set(), Counter(started), {}, {}, set())
    count: Counter[str] = Counter()
    spent = 0.0
    for number in range(given.rounds):
        branches = [worked(place, paths, truth, number, agent, given, count) for agent in range(given.agents)]
        random.Random(f"{given.seed}/{number}").shuffle(branches)
        git(place, "switch", "-q", "main")
        for branch in branches:
            began = time.perf_counter()
            done = git(place, "merge", "-q", "--no-edit", branch, check=False)
            spent += time.perf_counter() - began
            count["merges"] += 1
            if done.returncode:
                decided(place, method, truth, count)
    judged(place, paths, truth, count)
    return Outcome(count, spent)


def text(place: Path, path: str) -> str:
    """Return the text of a file, line ends as they are."""
    return (place / path).read_bytes().decode("utf-8")


def worked(
    place: Path, paths: list[str], truth: Truth, number: int, agent: int, given: argparse.Namespace,
    count: Counter[str],
) -> str:  # fmt: skip
    """Let one agent edit records on a branch of its own and return the branch."""
    branch = f"agent-{number}-{agent}"
    git(place, "switch", "-qc", branch, "main")
    found: dict[str, str] = {}
    for edit in range(given.edits):
        chance = random.Random(f"{given.seed}/{number}/{agent}/{edit}")
        kind = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        path = paths[min(int(chance.expovariate(1 / (len(paths) / 6))), len(paths) - 1)]
        fact = f"fact{((number * 1000 + agent) * 1000 + edit)}x"
        old = text(place, path)
        try:
            read(old.encode(), path)
        except KbError:
            count["edits that were impossible"] += 1
            continue
        found.setdefault(path, old)
        (place / path).write_text(EDITS[kind](old, fact, chance), encoding="utf-8", newline="")
    for path, old in found.items():
        learned(truth, path, number, old, text(place, path), count)
    git(place, "commit", "-qam", f"Work of {branch}", "--allow-empty")
    return branch


def learned(truth: Truth, path: str, number: int, old: str, new: str, count: Counter[str]) -> None:
    """Note what a branch added, changed and removed in a file."""
    before, after = parse_front_matter(old), parse_front_matter(new)
    added, gone = (set(FACT.findall(one)) - set(FACT.findall(other)) for one, other in ((new, old), (old, new)))
    titles = set(FACT.findall(str(after.get("title")))) if before.get("title") != after.get("title") else set()
    truth.facts.update(dict.fromkeys(added - titles, path))
    truth.gone.update(gone)
    sessions = after.get("occurrences", 1) - before.get("occurrences", 1)
    truth.heard[path] += sessions
    steps: tuple[tuple[dict[str, tuple[int, set[str]]], set[str]], ...] = (
        (truth.titles, titles),
        (truth.statuses, {str(after.get("status"))} if before.get("status") != after.get("status") else set()),
    )
    for kept, said in steps:
        if said:
            last, known = kept.get(path, (number, set()))
            kept[path] = (number, known | said if last == number else said)
    count["facts"] += len(added) + sessions


# -- merging and judging ---------------------------------------------------------------------------


def decided(place: Path, method: str, truth: Truth, count: Counter[str]) -> None:
    """Let the person decide a merge that stopped, and commit it."""
    count["stopped"] += 1
    names = git(place, "diff", "--name-only", "--diff-filter=U", "-z").stdout.decode().split("\0")[:-1]
    for path in names:
        sides = [git(place, "show", f":{stage}:{path}").stdout.decode() for stage in (1, 2, 3)]
        found = person.decided(text(place, path), *sides, by_kb=method == "driver")
        count["files in conflict"] += 1
        count["conflicts"] += found.conflicts
        count["facts placed by a person"] += len(set(FACT.findall(found.disputed)))
        truth.asked.update((path, key) for key in found.keys)
        (place / path).write_text(found.text, encoding="utf-8", newline="")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Merge, decided by a person")


def judged(place: Path, paths: list[str], truth: Truth, count: Counter[str]) -> None:
    """Count what is missing and what is there too often."""
    texts = {path: text(place, path) for path in paths}
    facts = defaultdict(list)
    for fact, path in truth.facts.items():
        facts[path].append(fact)
    for path, now in texts.items():
        there = Counter(FACT.findall(now))
        count["lost"] += sum(not there[fact] and fact not in truth.gone for fact in facts[path])
        count["doubled"] += sum(there[fact] > 1 for fact in facts[path])
        try:
            record = read(now.encode(), path)
        except KbError:
            count["unreadable"] += 1
            continue
        count["lost"] += max(0, truth.heard[path] - record.occurrences) + sum(unasked(path, record, truth))
        count["doubled"] += max(0, record.occurrences - truth.heard[path])
        names = Counter(part.name for part in record.sections if part.name)
        count["doubled"] += sum(number - 1 for number in names.values())


def unasked(path: str, record: Record, truth: Truth) -> Iterator[int]:
    """Yield a number for each title or status that was overruled without anybody being asked."""
    if path in truth.titles and (path, "title") not in truth.asked:
        yield len(truth.titles[path][1] - set(FACT.findall(record.title)))
    if path in truth.statuses and (path, "status") not in truth.asked:
        yield sum(not follows(one, record.status) for one in truth.statuses[path][1])


def follows(before: str, after: str) -> bool:
    """Return whether a record can have gone on from the status *before* to *after*."""
    life: list[Any] = list(Status)
    return before == after or (after in TRANSITIONS[before] and life.index(before) < life.index(after))


if __name__ == "__main__":
    sys.exit(main())
